"""Calls libtpat.so: turns keywords into option structs, results into objects, and failures into exceptions."""
from __future__ import annotations

import ctypes
import html
import os
import threading
from typing import Any, Callable

from ._given import encode, model_file, number, texts


class Error(Exception):
    """A failed call. `message` is a sentence; `where` its place as text; `advice` what to do, or "". `file`, `node` and
    `tensor` are the names that it concerns, or "". `code` is the exit status of the program for such a failure, negative.
    `result` is the result of a call that failed and yet has one, such as a verification in which results differ."""

    def __init__(self, code: int, message: str, where: str = "", advice: str = "", file: str = "", node: str = "",
                 tensor: str = "", result: Any = None) -> None:
        super().__init__(f"{where}{message}" + (f" {advice}" if advice else ""))
        self.code, self.message, self.where, self.advice = code, message, where, advice
        self.file, self.node, self.tensor, self.result = file, node, tensor, result


class DifferError(Error):
    """Results differ, or some nodes gave none; `result` has all of them."""


class UsageError(Error):
    """An option is wrong, or a path cannot be written."""


class ModelError(Error):
    """The model, or another input file, is wrong."""


class UnsupportedError(Error):
    """The model is valid, but tpat does not support it."""


class DeviceError(Error):
    """GPU, driver, NVRTC, C compiler or memory failed."""


class Cancelled(Error):
    """A callback asked to stop. Of `verify`, `result` has the plugins that were checked."""


KINDS = {-1: DifferError, -2: UsageError, -3: ModelError, -4: UnsupportedError, -5: DeviceError, -6: Cancelled}
for _kind in (Error, *KINDS.values()):
    _kind.__module__ = "tpat"  # as tracebacks name it, and users catch it


class Result:
    """A struct of tpat.h: its members are attributes, lists of structs are lists of Result."""

    def __init__(self, kind: str, members: dict[str, Any]) -> None:
        self.__dict__.update(members)
        self._kind = kind

    def __getattr__(self, name: str) -> Any:  # for type checkers: members are in __dict__
        raise AttributeError(f"{self._kind} has no member {name}; it has {', '.join(self.asdict())}")

    def __repr__(self) -> str:
        return f"{self._kind}({', '.join(f'{k}={v!r}' for k, v in self.asdict().items())})"

    def asdict(self) -> dict[str, Any]:
        """The members by name."""
        return {k: v for k, v in self.__dict__.items() if k != "_kind"}

    def _repr_html_(self) -> str:
        """For notebooks: the members, and a table for each list of structs."""
        def cell(value: Any) -> str:
            return html.escape(", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value))

        def is_structs(value: Any) -> bool:
            return isinstance(value, list) and bool(value) and isinstance(value[0], Result)

        members = self.asdict()
        parts = ["<table>"] + [f"<tr><th>{cell(name)}</th><td>{cell(value)}</td></tr>" for name, value in members.items()
                               if not is_structs(value) and not isinstance(value, Result)] + ["</table>"]
        for name, value in members.items():
            if is_structs(value):
                columns = [n for n, x in value[0].asdict().items() if not is_structs(x) and not isinstance(x, Result)]
                parts += [f"<table><caption>{cell(name)}</caption><tr>", *(f"<th>{cell(n)}</th>" for n in columns), "</tr>"]
                parts += ["<tr>" + "".join(f"<td>{cell(getattr(row, n))}</td>" for n in columns) + "</tr>" for row in value[:200]]
                parts += ["</table>"] + ([f"<p>{len(value) - 200} more</p>"] if len(value) > 200 else [])
        return "".join(parts)


class Strings(ctypes.Structure):
    _fields_ = [("at", ctypes.POINTER(ctypes.c_char_p)), ("n", ctypes.c_int)]


_types: dict[str, type[ctypes.Structure]] = {}


def struct(name: str) -> type[ctypes.Structure]:
    """The ctypes struct of this name."""
    from ._calls import STRUCTS
    if name not in _types:
        simple = {"text": ctypes.c_char_p, "strings": Strings}
        made = type(name, (ctypes.Structure,), {})
        made._fields_ = [(n, simple.get(k) or (getattr(ctypes, k) if k.startswith("c_") else struct(s) if k == "inside"
                                               else ctypes.c_void_p)) for n, k, s in STRUCTS[name]]
        _types[name] = made
    return _types[name]


def text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "surrogateescape")


def read(name: str, value: Any) -> Result:
    """A copy of a C struct and all that it points to."""
    from ._calls import STRUCTS
    members: dict[str, Any] = {}
    fields = STRUCTS[name]
    for i, (n, kind, inner) in enumerate(fields):
        x = getattr(value, n)
        if kind == "text":
            x = text(x)
        elif kind == "strings":
            x = [text(x.at[k]) for k in range(x.n)]
        elif kind == "one":
            x = read(inner, struct(inner).from_address(x)) if x else None
        elif kind == "array":
            c = struct(inner)
            x = [read(inner, c.from_address(x + k * ctypes.sizeof(c))) for k in range(getattr(value, fields[i + 1][0]) if x else 0)]
        elif kind == "list":
            count = getattr(value, fields[i + 1][0]) if x else 0
            at = (ctypes.c_void_p * count).from_address(x) if count else []
            x = [read(inner, struct(inner).from_address(a)) for a in at]
        elif kind == "inside":
            x = read(inner, x)
        members[n] = x
    return Result(name, members)


def _load() -> ctypes.CDLL:
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtpat.so")
    path = os.environ.get("TPAT_LIBRARY") or (own if os.path.exists(own) else "libtpat.so.0")
    found = ctypes.CDLL(path)
    found.tpat_new.restype = ctypes.c_void_p
    for name in ("error", "error_where", "error_advice", "error_file", "error_node", "error_tensor", "version"):
        getattr(found, "tpat_" + name).restype = ctypes.c_char_p
    found.tpat_session_about.restype = ctypes.c_void_p
    return found


library = _load()


def new_context() -> ctypes.c_void_p:
    """A struct tpat, for tpat_free()."""
    context = ctypes.c_void_p(library.tpat_new())
    if not context:
        raise MemoryError("libtpat has no memory")
    return context


class Callbacks:
    """The functions `cancel` and `log` of a user as a struct tpat_callbacks. An exception in one of them stops the call."""

    LEVELS = "warning", "note"

    def __init__(self, cancel: Callable[[], object] | None, log: Callable[[str, str], object] | None) -> None:
        self.raised: list[BaseException] = []
        self.stop = threading.Event()

        def ask(_user: Any) -> bool:
            return self.guard(lambda: cancel and cancel())

        def tell(_user: Any, level: int, line: bytes) -> None:
            self.guard(lambda: log and log(self.LEVELS[level], text(line) or "") and False)

        self._ask = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(ask)
        self._tell = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(tell)
        self.struct = struct("tpat_callbacks")(cancel=ctypes.cast(self._ask, ctypes.c_void_p),
                                               log=ctypes.cast(self._tell, ctypes.c_void_p) if log else None)

    def guard(self, function: Callable[[], object]) -> bool:
        """Whether the call is to stop: `function` returns true or raises, or another callback did."""
        try:
            if function():
                self.stop.set()
        except BaseException as error:  # raised again when the library is done
            self.raised.append(error)
            self.stop.set()
        return self.stop.is_set()

    def finish(self) -> None:
        """Raises what a callback raised."""
        if self.raised:
            raise self.raised[0]


def failure(context: ctypes.c_void_p, code: int, result: Any = None) -> Error:
    """The exception for a call that failed with this code."""
    where = [text(getattr(library, "tpat_error" + part)(context)) or "" for part in
             ("", "_where", "_advice", "_file", "_node", "_tensor")]
    return KINDS.get(code, Error)(code, *where, result=result)


def strings(value: Any, option: str) -> tuple[Strings, Any]:
    """A list of strings, a single one or a dict, for an option; and what must live as long."""
    items = [encode(v, option) for v in texts(value, option)]
    array = (ctypes.c_char_p * max(len(items), 1))(*items)
    return Strings(ctypes.cast(array, ctypes.POINTER(ctypes.c_char_p)), len(items)), (items, array)


def write(value: Result) -> tuple[Any, list[Any]]:
    """The C struct of a Result, and what must live as long: the opposite of read(), for numbers, texts and lists of structs. Other
    members are 0."""
    from ._calls import STRUCTS
    made, keep = struct(value._kind)(), []
    for n, kind, inner in STRUCTS[value._kind]:
        given = getattr(value, n)
        if kind == "text" and given is not None:
            setattr(made, n, encode(given))
        elif kind.startswith("c_"):
            setattr(made, n, given)
        elif kind == "array" and given:
            parts = [write(x) for x in given]
            array = (struct(inner) * len(parts))(*[part for part, _ in parts])
            keep += [array, parts]
            setattr(made, n, ctypes.addressof(array))
    return made, keep


def options_of(name: str, version: str, given: dict[str, Any]) -> tuple[Any, list[Any]]:
    """A struct of options without callbacks, and what must live as long. None: its default."""
    from ._calls import NUMBERS, STRUCTS
    options, keep = struct(name)(version=NUMBERS[version]), []
    for n, kind, _ in STRUCTS[name]:
        if given.get(n) is None or kind == "callback":
            continue
        if kind == "strings":
            value, kept = strings(given[n], n)
            keep.append(kept)
        elif kind == "one":
            made, kept = write(given[n])
            keep += [made, kept]
            value = ctypes.addressof(made)
        elif n == "model":
            path, kept = model_file(given[n])
            keep.append(kept)
            value = encode(path, n)
        elif kind == "text":
            value = encode(given[n], n)
        else:
            value = number(given[n], kind, n) if kind.startswith("c_") else given[n]
        setattr(options, n, value)
    return options, keep


def check_model(name: str, given: dict[str, Any], has_path: bool) -> None:
    """Raises if there is no model, or if nothing names the files that a call makes of one in memory."""
    if "model" in given and given["model"] is None:
        raise TypeError("model takes a path or an onnx.ModelProto, not None")
    makes = name == "report" or (name == "build" and not given.get("dry_run"))
    if makes and hasattr(given["model"], "SerializeToString") and not has_path and given.get("output") is None:
        raise UsageError(-2, "A model in memory has no path, from which the result gets its name.",
                         advice=f"Give {'output' if name == 'build' else 'path'}.")


def call(name: str, result: str, options: str, cancel: Any, log: Any, given: dict[str, Any], *, before: tuple[Any, ...] = (),
         version: str = "") -> Result:
    """One call of the library, in a thread of its own, so that Ctrl-C reaches Python: it stops the call and is raised. `before`:
    the arguments before the options."""
    from ._calls import STRUCTS
    check_model(name, given, bool(before and before[0].value))
    o, keep = options_of(options, version or f"TPAT_{name.upper()}_VERSION", given) if options else (encode(given["library"]), [])
    callbacks = Callbacks(cancel, log)

    def wrap(function: Any, stops: bool, kinds: list[str]) -> Any:
        def convert(kind: str, value: int) -> Any:
            if kind != "text":
                return read(kind, struct(kind).from_address(value))
            return text(ctypes.cast(value, ctypes.c_char_p).value) if value else None

        def run(_user: Any, *values: Any) -> bool:
            return callbacks.guard(lambda: function(*map(convert, kinds, values)))

        made = ctypes.CFUNCTYPE(ctypes.c_bool if stops else None, ctypes.c_void_p, *[ctypes.c_void_p] * len(kinds))(
            run if stops else lambda *a: run(*a) and None)
        keep.append(made)
        return ctypes.cast(made, ctypes.c_void_p).value

    for n, kind, about in STRUCTS[options] if options else ():
        if kind == "callback" and given.get(n):
            setattr(o, n, wrap(given.get(n), about[0], about[1:]))

    context = new_context()
    library.tpat_set_callbacks(context, ctypes.byref(callbacks.struct))
    out = ctypes.c_void_p()
    code = [0]

    def run() -> None:
        code[0] = getattr(library, "tpat_" + name)(context, ctypes.byref(out), *before, ctypes.byref(o) if options else o)

    try:
        thread = threading.Thread(target=run, name="tpat_" + name)
        thread.start()
        while thread.is_alive():
            try:
                thread.join()
            except KeyboardInterrupt as error:
                callbacks.raised.append(error)
                callbacks.stop.set()
        callbacks.finish()
        made = read(result, struct(result).from_address(out.value)) if out.value else None
        if code[0] < 0:
            raise failure(context, code[0], made)
        if made is None:
            raise Error(-5, "The library returned no result.")
        return made
    finally:
        library.tpat_free(context)
