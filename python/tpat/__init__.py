"""tpat turns operators of an ONNX model into tuned CUDA kernels in a TensorRT plugin library.

>>> import tpat
>>> built = tpat.build("net.onnx", automatic=True, arch="sm_90")
>>> built.output, built.libraries
>>> tpat.verify(built.output)
>>> tpat.run("net.onnx", {"x": array})["y"]

Each function is the C call of the same name in tpat.h, with its options as keywords."""
from . import _calls
from ._calls import *  # noqa: F403
from ._lib import (Cancelled, DeviceError, DifferError, Error, ModelError, Result, UnsupportedError, UsageError, library)
from .migrate import onnx2plugin, pipeline
from .report import Report, report
from .session import Session, TensorInfo, run

__version__ = library.tpat_version().decode()
__all__ = [*_calls.CALLS, "Cancelled", "DeviceError", "DifferError", "Error", "ModelError", "Report", "Result", "UnsupportedError",
           "Session", "TensorInfo", "UsageError", "onnx2plugin", "pipeline", "report"]
