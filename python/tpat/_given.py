"""What a user gives, as the texts and files of the C interface: dicts, arrays, numbers of NumPy, models in memory."""
from __future__ import annotations

import operator
import os
import tempfile
from typing import Any, Iterable, Mapping, Protocol, Sequence, Union  # Python 3.8 cannot index those of collections.abc


class InMemory(Protocol):
    """A model in memory: onnx.ModelProto."""

    def SerializeToString(self) -> bytes: ...


Model = Union[str, "os.PathLike[str]", InMemory]
Texts = Union[str, Sequence[str]]
Named = Union[str, Sequence[str], Mapping[str, Any]]  #: also a dict by the name of an input or a node


def encode(value: Any, option: str = "") -> bytes:
    """A text or a path as bytes."""
    data = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(data, (str, bytes)):
        raise TypeError(f"{option or repr(value)} {'takes' if option else 'is not'} a text or a path{f', not {value!r}' if option else ''}")
    data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    if b"\0" in data:
        raise ValueError(f"{value!r} contains a zero byte")
    return data


def number(value: Any, kind: str, option: str) -> Any:
    """A number for a member of this ctypes type; NumPy's scalars, too."""
    try:
        if kind == "c_double":
            return float(value)
        if kind == "c_bool" and isinstance(value, (bool, int)) or type(value).__name__ in ("bool_", "bool"):
            return bool(value)
        if kind != "c_bool":
            return operator.index(value)
    except (TypeError, ValueError):
        pass
    wanted = {"c_double": "a number", "c_bool": "True or False"}.get(kind, "a whole number")
    raise TypeError(f"{option} takes {wanted}, not {value!r}")


def _shape(value: Any, option: str, name: str) -> str:
    """A shape, of numbers and names of open extents, as "1x3xH"."""
    if isinstance(value, str):
        return value
    try:
        extents = [value] if not isinstance(value, Iterable) else list(value)
        return "x".join(x if isinstance(x, str) else str(operator.index(x)) for x in extents)
    except TypeError:
        raise TypeError(f"{option}[{name!r}] takes a shape such as (1, 3, \"H\", 224), not {value!r}") from None


def _profile(value: Any, name: str) -> str:
    """Three shapes, in a list or by the names min, opt and max, as "1x3,8x3,32x3"."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = [value.get(which) for which in ("min", "opt", "max")] if set(value) == {"min", "opt", "max"} else None
    shapes = list(value) if isinstance(value, Iterable) else []
    if len(shapes) != 3 or any(x is None for x in shapes) or (name != "*" and not all(isinstance(x, (str, Iterable)) for x in shapes)):
        raise TypeError(f"profile[{name!r}] takes three shapes, such as [(1, 3), (8, 3), (32, 3)]")
    return ",".join(_shape(x, "profile", name) for x in shapes)


def _value(value: Any, name: str) -> str:
    """A number, or numbers in lists or an array, as "1,2,3"."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return ",".join(_value(x, name) for x in value)
    if not isinstance(value, (bool, int, float)):
        raise TypeError(f"value[{name!r}] takes a number or a list of numbers, not {value!r}")
    return str(int(value)) if isinstance(value, bool) else repr(value)


def _pair(option: str, name: Any, value: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{option} takes a dict by names, not by {name!r}")
    if option == "shape":
        return f"{name}:{_shape(value, option, name)}"
    if option == "profile":
        return f"{name}:{_profile(value, name)}"
    if option == "value":
        return f"{name}={_value(value, name)}"
    if option == "input" and hasattr(value, "__array__"):
        raise TypeError(f"input[{name!r}] takes a file: save the array with numpy.save(), or use tpat.run(model, inputs)")
    return f"{name}={os.fsdecode(encode(value, f'{option}[{name!r}]'))}"


def texts(value: Any, option: str) -> list[Any]:
    """A list of texts, a single one, or a dict, as a list of texts."""
    if isinstance(value, Mapping):
        if option not in ("shape", "profile", "value", "name", "input"):
            raise TypeError(f"{option} takes a text or a list of texts, not a dict")
        return [_pair(option, name, x) for name, x in value.items()]
    if isinstance(value, (str, bytes, os.PathLike)):
        return [value]
    if not isinstance(value, Iterable):
        raise TypeError(f"{option} takes a text or a list of texts, not {value!r}")
    return list(value)


def model_file(value: Any) -> tuple[Any, Any]:
    """The path of a model, and what keeps the file: a model in memory is in a temporary one."""
    if not hasattr(value, "SerializeToString"):
        return value, None
    folder = tempfile.TemporaryDirectory(prefix="tpat-")
    path = os.path.join(folder.name, "model.onnx")
    with open(path, "wb") as file:
        file.write(value.SerializeToString())
    return path, folder
