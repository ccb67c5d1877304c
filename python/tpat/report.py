"""The report of a build as an object that a notebook shows."""
from __future__ import annotations

import ctypes
import html
import os
from typing import Any

from ._given import Model
from ._lib import Result, call, encode


class Report:
    """A page that `report` wrote: `path`, `bytes`, and the numbers of `nodes`, `regions` and `plugins` in it; `left_out` plugins
    are without their kernels, since the page would be too long. A notebook shows the page itself."""

    def __init__(self, result: Result) -> None:
        self.path: str = result.path
        self.bytes: int = result.bytes
        self.nodes: int = result.nodes
        self.regions: int = result.regions
        self.plugins: int = result.plugins
        self.left_out: int = result.left_out

    def __repr__(self) -> str:
        return f"Report({self.path!r}, nodes={self.nodes}, regions={self.regions}, plugins={self.plugins})"

    @property
    def html(self) -> str:
        """The page's text."""
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def _repr_html_(self) -> str:
        # A frame of its own, so that the styles of page and notebook do not meet; the page has no scripts, and gets no rights.
        return (f'<iframe sandbox="" title="{html.escape(os.path.basename(self.path))}" style="width:100%;height:40rem;border:1px '
                f'solid #888" srcdoc="{html.escape(self.html)}"></iframe>')


def report(model: Model, path: str | os.PathLike[str] | None = None, *, verified: Result | None = None,
           cancel: Any = None, log: Any = None, **options: Any) -> Report:
    """tpat_report() of tpat.h: writes what `build` would make with these options as one HTML file. `path`: the file; by default
    MODEL.html next to the model. `verified`: the result of `verify`, whose errors the page then shows. Raises tpat.Error."""
    from ._calls import STRUCTS
    known = {n: n for n, _, _ in STRUCTS["tpat_build_options"]} | {"from_": "from", "except_": "except"}
    given: dict[str, Any] = {"model": model}
    for name, value in options.items():
        if name not in known or name in ("version", "model", "user"):
            raise TypeError(f"report() has no option {name}")
        given[known[name]] = value
    before = (ctypes.c_char_p(encode(path) if path is not None else None),)
    return Report(call("report", "tpat_page", "tpat_build_options", cancel, log, {**given, "verified": verified}, before=before,
                       version="TPAT_BUILD_VERSION"))
