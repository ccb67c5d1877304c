"""The entry points of TPAT and of TVM's RFC 0103, for programs written for them."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _calls
from ._lib import UsageError


def pipeline(onnx_file: str | os.PathLike[str], node_names: Sequence[str], enable_tunning: bool = False,
             tunning_option: Mapping[str, Any] | None = None, output_onnx: str | os.PathLike[str] | None = None, *,
             enable_tuning: bool | None = None, tuning_option: Mapping[str, Any] | None = None,
             **options: Any) -> tuple[str, list[str]]:
    """Build one plugin library for each node of `node_names`, and a model that uses them.

    With `enable_tunning` the nodes are first tuned on this machine's GPU; `tunning_option` has keywords of `tpat.tune`, such
    as seconds or trials. `enable_tuning` and `tuning_option` are the same. Further keywords go to `tpat.build`. Returns the
    path of the written model and the paths of the libraries. Raises tpat.Error."""
    names = [node_names] if isinstance(node_names, str) else list(node_names)
    tune = enable_tunning if enable_tuning is None else enable_tuning
    if tune:
        extra = dict(tunning_option or {}, **(tuning_option or {}))
        same = {k: options[k] for k in ("shape", "value", "profile", "db", "keep_types", "any_types") if k in options}
        _calls.tune(onnx_file, node=names, **{**same, **extra})
        options.setdefault("gpu", "native")
    built = _calls.build(onnx_file, node=names, output=output_onnx, split=True, **options)
    return built.output, built.libraries


def onnx2plugin(input_model_path: str | os.PathLike[str], output_model_path: str | os.PathLike[str],
                node_names: Sequence[str] | None = None, node_types: Sequence[str] | None = None,
                plugin_name_dict: Mapping[str, str] | None = None, dynamic_bs: bool | str = False, min_bs: int = 1,
                max_bs: int = 256, opt_bs: int = 128, **options: Any) -> list[str]:
    """Build plugins as TPAT does, and return their names.

    `plugin_name_dict` maps a node to its plugin's name. With `dynamic_bs` the first extent is the batch of each input that has no other open extent,
    from `min_bs` over `opt_bs` to `max_bs`. Further keywords go to `tpat.build`."""
    if isinstance(dynamic_bs, str):  # TPAT took every text for true, "false" too
        if dynamic_bs.lower() not in ("true", "false", "1", "0"):
            raise UsageError(-2, f"dynamic_bs is true or false, not {dynamic_bs!r}.")
        dynamic_bs = dynamic_bs.lower() in ("true", "1")
    if dynamic_bs:
        if not 0 < min_bs <= opt_bs <= max_bs:
            raise UsageError(-2, f"min_bs {min_bs}, opt_bs {opt_bs} and max_bs {max_bs} are not in ascending order.")
        options.setdefault("profile", [f"*:{min_bs},{opt_bs},{max_bs}"])
    names = [f"{node}={plugin}" for node, plugin in (plugin_name_dict or {}).items()]
    built = _calls.build(input_model_path, output=output_model_path, node=list(node_names or ()), type=list(node_types or ()),
                         name=names, **options)
    return [plugin.name for plugin in built.plugin]
