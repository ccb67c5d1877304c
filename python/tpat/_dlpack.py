"""Reads tensors of the DLPack protocol as NumPy arrays, without a copy. Unlike numpy.from_dlpack() also read-only ones, and types
that NumPy lacks, as unsigned integers of the same width."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

HOST = 1, 3  # kDLCPU, kDLCUDAHost
# kind of DLPack's type codes in NumPy; tpat's names of types that NumPy lacks. Source: dlpack.h 1.1
CODES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
OTHER = {4: "bf16", 10: "f8e4m3fn", 11: "f8e4m3fnuz", 12: "f8e5m2", 13: "f8e5m2fnuz", 14: "f8e8m0"}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


class _Memory:
    """A tensor's memory for numpy.asarray(), which keeps this object. The capsule is never renamed, so its destructor frees the tensor."""

    def __init__(self, capsule: Any, interface: dict[str, Any]) -> None:
        self.capsule, self.__array_interface__ = capsule, interface


def is_on_host(x: Any) -> bool:
    return int(x.__dlpack_device__()[0]) in HOST


def read(x: Any) -> tuple[numpy.ndarray[Any, Any], str | None]:
    """A view of a tensor in host memory, and tpat's name of its type if NumPy lacks it; the view then has unsigned integers. Raises
    TypeError for a type of several lanes, or an unknown one."""
    import numpy
    capsule = x.__dlpack__()
    t = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    kind, other = CODES.get(t.code), OTHER.get(t.code)
    if t.lanes != 1 or t.bits % 8 or not (kind or other):
        raise TypeError(f"no element type of tpat has DLPack's code {t.code}, {t.bits} bits and {t.lanes} lanes")
    size = t.bits // 8
    shape = tuple(t.shape[k] for k in range(t.ndim))
    strides = tuple(t.strides[k] * size for k in range(t.ndim)) if t.strides else None
    if 0 in shape:
        return numpy.empty(shape, f"{kind or 'u'}{size}"), other
    interface = {"version": 3, "shape": shape, "strides": strides, "typestr": f"{'|' if size == 1 else '<'}{kind or 'u'}{size}",
                 "data": ((t.data or 0) + t.byte_offset, True)}
    return numpy.asarray(_Memory(capsule, interface)), other
