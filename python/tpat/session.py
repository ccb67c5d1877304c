"""Runs whole models with tpat's own kernels, on NumPy arrays and on tensors of the DLPack protocol."""
from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Sequence, Union, overload

from . import _calls, _dlpack
from ._given import Model, Named
from ._lib import Callbacks, Result, UnsupportedError, UsageError, encode, failure, library, new_context, options_of, struct, text

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Inputs = Union[Mapping[str, Any], Sequence[Any]]

# NumPy's names of tpat's types; of the second kind they are the package ml_dtypes's.
NUMPY = {"f32": "float32", "f64": "float64", "f16": "float16", "bool": "bool", "u8": "uint8", "i8": "int8", "u16": "uint16",
         "i16": "int16", "u32": "uint32", "i32": "int32", "u64": "uint64", "i64": "int64", "c64": "complex64", "c128": "complex128"}
ML = {"bf16": "bfloat16", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2": "float8_e5m2",
      "f8e5m2fnuz": "float8_e5m2fnuz", "f8e8m0": "float8_e8m0fnu"}
TYPES = {_calls.NUMBERS["TPAT_" + name.upper()]: name for name in (*NUMPY, *ML, "u4", "i4", "f4e2m1", "u2", "i2")}
OF_NUMPY = {numpy_name: name for name, numpy_name in {**NUMPY, **ML}.items()}


class TensorInfo(NamedTuple):
    """An input or output of a model."""
    name: str
    type: str  #: "f32", "bf16"
    shape: tuple[int | None, ...] | None  #: None: an open extent, or an unknown rank


def _dtype(type_name: str) -> numpy.dtype[Any]:
    """The NumPy type. For a type that NumPy lacks: that of ml_dtypes, or unsigned integers if it is not installed."""
    import numpy
    if type_name in NUMPY:
        return numpy.dtype(NUMPY[type_name])
    try:
        import ml_dtypes
        return numpy.dtype(getattr(ml_dtypes, ML[type_name]))
    except (ImportError, AttributeError):
        return numpy.dtype("uint16" if type_name == "bf16" else "uint8")


def _infos(at: int, n: int) -> list[TensorInfo]:
    c, found = struct("tpat_tensor"), []
    for k in range(n):
        x = c.from_address(at + k * ctypes.sizeof(c))
        dim = (ctypes.c_int64 * max(x.rank, 0)).from_address(x.dim) if x.rank > 0 else ()
        found.append(TensorInfo(text(x.name) or "", TYPES.get(x.type, ""), None if x.rank < 0 else tuple(None if d < 0 else d for d in dim)))
    return found


def _array(x: Any, info: TensorInfo) -> tuple[Array, str]:
    """A contiguous array with the elements of `x`, and tpat's name of its type."""
    import numpy
    other = None
    if isinstance(x, numpy.ndarray):
        found = x
    elif hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        if not _dlpack.is_on_host(x):
            raise UsageError(-2, f'The tensor for input "{info.name}" is on another device than the CPU.', advice="Copy it to the CPU.",
                             tensor=info.name)
        found, other = _dlpack.read(x)
    elif hasattr(x, "__array_interface__") or hasattr(x, "__array__"):
        found = numpy.asarray(x)
    else:  # a number, or lists of numbers
        found = numpy.asarray(x, _dtype(info.type))
    if not found.dtype.isnative:
        found = found.astype(found.dtype.newbyteorder("="))
    name = other or OF_NUMPY.get(found.dtype.name, "")
    bits = {"bf16": "uint16"}.get(info.type, "uint8") if info.type in ML else None
    if found.dtype.name == bits:
        name = info.type
    if not name:
        raise UsageError(-2, f'The tensor for input "{info.name}" has the type {found.dtype}, which tpat lacks.', tensor=info.name)
    shape = found.shape  # of a scalar ascontiguousarray() makes an array of one axis
    return numpy.ascontiguousarray(found).reshape(shape), name


class Session:
    """A model that runs many times. The first run compiles its kernels for the device; later runs use them again, also with inputs
    of other extents.

    >>> with tpat.Session("net.onnx") as session:
    ...     y = session.run({"x": numpy.zeros((8, 4), numpy.float32)})["y"]

    `device` is "cuda", "cuda:1", "cpu" (also if None), "emulator" or "interpreter". `shape` fixes extents of inputs ("x:4x3xHxW"),
    which makes faster kernels; `value` makes inputs constant ("sr=16000"); both may be dicts. Needs NumPy. Any thread may call any method; runs of one
    session wait for each other. `cancel` is asked before each piece of the model and returns true to stop a run, which compiles
    for minutes if the model is large; `log` gets a level, "warning" or "note", and a line. Raises tpat.Error: UnsupportedError for a node that tpat does not support, or a type that NumPy
    cannot hold."""

    inputs: list[TensorInfo]  #: in the model's order
    outputs: list[TensorInfo]
    device: str  #: its name: "NVIDIA H100 80GB HBM3"

    def __init__(self, model: Model, *, device: str | None = None, shape: Named = (), value: Named = (),
                 cancel: Callable[[], object] | None = None,
                 log: Callable[[str, str], object] | None = None) -> None:
        self._lock = threading.Lock()
        self._session = ctypes.c_void_p()
        self._context: ctypes.c_void_p | None = new_context()
        self._cancel, self._log = cancel, log
        options, keep = options_of("tpat_session_options", "TPAT_SESSION_VERSION",
                                   {"model": model, "device": device, "shape": shape, "value": value})
        code = library.tpat_session_open(self._context, ctypes.byref(self._session), ctypes.byref(options))
        self._keep = keep  # of a model in memory the file
        if code < 0:
            error = failure(self._context, code)
            self.close()
            raise error
        about = struct("tpat_session_about").from_address(library.tpat_session_about(self._session))
        self.device = text(about.device) or ""
        self.inputs, self.outputs = _infos(about.input, about.inputs), _infos(about.output, about.outputs)
        for info in self.inputs + self.outputs:
            if info.type not in NUMPY and info.type not in ML:
                self.close()
                raise UnsupportedError(-4, f'NumPy has no type for "{info.name}", which is {info.type or "no tensor"}.', tensor=info.name)

    def run(self, inputs: Inputs) -> dict[str, Array]:
        """Runs the model and returns its outputs by name, as new arrays.

        `inputs`: a tensor for each input, by name, or in the model's order. A tensor is a NumPy array, anything with __dlpack__ on
        the CPU, or numbers in lists. Its type must be the model's; lists take it. Types that NumPy lacks, such as bf16, are those
        of the package ml_dtypes if it is installed, and otherwise unsigned integers with the same bits, which inputs may always be.
        Arrays are read in place where they are contiguous. After an error the session can run again."""
        by_name = dict(inputs) if isinstance(inputs, Mapping) else self._in_order(inputs)
        known = {info.name: info for info in self.inputs}
        c = struct("tpat_tensor")
        tensor, keep = (c * max(len(by_name), 1))(), []
        for k, (name, x) in enumerate(by_name.items()):
            # The library names an unknown input in its error.
            array, kind = _array(x, known.get(name) or TensorInfo(name, "f32", None))
            dim = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
            keep.append((array, dim))
            tensor[k] = c(name=encode(name), type=_calls.NUMBERS["TPAT_" + kind.upper()], rank=array.ndim, dim=ctypes.addressof(dim),
                          data=array.ctypes.data)
        out = ctypes.c_void_p()
        with self._lock:
            if not self._session:
                raise UsageError(-2, "The session is closed.")
            callbacks = Callbacks(self._cancel, self._log)
            library.tpat_set_callbacks(self._context, ctypes.byref(callbacks.struct))
            code = library.tpat_session_run(self._context, ctypes.byref(out), self._session, tensor, ctypes.c_int(len(by_name)))
            library.tpat_set_callbacks(self._context, None)
            callbacks.finish()
            if code < 0:
                raise failure(self._context, code)
            return self._results(struct("tpat_session_ran").from_address(out.value or 0))

    def _in_order(self, inputs: Sequence[Any]) -> dict[str, Any]:
        if len(inputs) != len(self.inputs):
            raise UsageError(-2, f"The model has {len(self.inputs)} inputs, but {len(inputs)} tensors are given.")
        return {info.name: x for info, x in zip(self.inputs, inputs)}

    def _results(self, ran: Any) -> dict[str, Array]:
        import numpy
        c, found = struct("tpat_tensor"), {}
        for k in range(ran.outputs):
            x = c.from_address(ran.output + k * ctypes.sizeof(c))
            dtype = _dtype(TYPES[x.type])
            shape = tuple((ctypes.c_int64 * x.rank).from_address(x.dim)) if x.rank else ()
            made = numpy.empty(shape, dtype)
            if made.nbytes:
                ctypes.memmove(made.ctypes.data, x.data, made.nbytes)
            found[text(x.name) or ""] = made
        return found

    def close(self) -> None:
        """Frees the model, its kernels and its memory. The session cannot run again."""
        with self._lock:
            if self._session:
                library.tpat_session_close(self._session)
                self._session = ctypes.c_void_p()
            if self._context:
                library.tpat_free(self._context)
                self._context = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_context", None) and ctypes:  # ctypes is gone when the interpreter ends
            self.close()


@overload
def run(model: Model, inputs: None = None, **options: Any) -> Result: ...


@overload
def run(model: Model, inputs: Inputs, **options: Any) -> dict[str, Array]: ...


def run(model: Model, inputs: Inputs | None = None, **options: Any) -> Result | dict[str, Array]:
    """Runs a whole model once with tpat's own kernels.

    With `inputs`: as Session(model, device=, shape=, value=).run(inputs), and returns the outputs by name. Use a Session to run a
    model more than once.

    >>> tpat.run("net.onnx", {"x": numpy.zeros((8, 4), numpy.float32)})["y"]

    Without: tpat_run() of tpat.h, on files or random values. The keywords are the members of tpat_run_options, such as `input`,
    `time` and `expect`; the result is its tpat_ran."""
    if inputs is None:
        return _calls.run(model, **options)
    with Session(model, **options) as session:
        return session.run(inputs)
