"""tpat turns operators of an ONNX model into tuned CUDA kernels in a TensorRT plugin library.

>>> import tpat
>>> built = tpat.build("net.onnx", automatic=True, arch="sm_90")
>>> built.output, built.libraries
>>> tpat.verify(built.output)

Each function is the C call of the same name in tpat.h, with its options as keywords."""
from . import _calls
from ._calls import *  # noqa: F403
from ._lib import (Cancelled, DeviceError, DifferError, Error, ModelError, Result, UnsupportedError, UsageError, library)
from .migrate import onnx2plugin, pipeline

__version__ = library.tpat_version().decode()
__all__ = [*_calls.CALLS, "Cancelled", "DeviceError", "DifferError", "Error", "ModelError", "Result", "UnsupportedError",
           "UsageError", "onnx2plugin", "pipeline"]
