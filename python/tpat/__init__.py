"""tpat turns operators of an ONNX model into tuned CUDA kernels in a TensorRT plugin library.

>>> import tpat
>>> built = tpat.build("net.onnx", automatic=True, arch="sm_90")
>>> built.output, built.libraries
>>> tpat.verify(built.output)
>>> tpat.run("net.onnx", {"x": array})["y"]

Each function is the C call of the same name in tpat.h, with its options as keywords."""
import importlib.util

if importlib.util.find_spec("._calls", __name__) is None:
    raise ImportError(f"{__path__[0]} is tpat's source folder, without the generated part of the package. `make python` in the repository "
                      "makes build/python: set PYTHONPATH to it. `make wheel` makes a package to install.")

from . import _calls
from ._calls import *  # noqa: F403
from ._lib import (Cancelled, DeviceError, DifferError, Error, ModelError, Result, UnsupportedError, UsageError, library)
from .migrate import onnx2plugin, pipeline
from .report import Report, report
from .session import Session, TensorInfo, run

__version__ = library.tpat_version().decode()
__all__ = [*_calls.CALLS, "Cancelled", "DeviceError", "DifferError", "Error", "ModelError", "Report", "Result", "UnsupportedError",
           "Session", "TensorInfo", "UsageError", "onnx2plugin", "pipeline", "report"]
