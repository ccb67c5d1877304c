"""What `tpat build --auto` makes of whole models, without compiling; bench/models.py calls this."""
import json
import os
import re
import subprocess

COLUMNS = ["options", "model", "nodes", "refused", "plain", "plain_nodes", "plugins", "edges_before", "edges", "left", "seconds"]
ABOUT = """
## Models with `--auto`

*refused*: nodes that TensorRT refuses according to tpat's table (`--tensorrt 11.5` is the full TensorRT 11). *plain*: how many of
these nodes `--auto` replaces without a plugin, and by how many nodes of TensorRT. *boundaries*: tensors at the edges of plugins,
with one plugin for each refused node, and with the regions that `--auto` makes. *left*: refused nodes that remain. The last
columns: seconds of `tpat build --auto --dry-run`, which compiles nothing, on two busy processor cores; and options. Models without
a package have random weights (`bench/exports.py`). `bench/models.py auto` writes the numbers (`bench/auto.tsv`).

ONNX Runtime gives bit-identical outputs for the original and the rewritten faster_rcnn, mask_rcnn and bert_dynamic, without fixed
shapes, at two sizes each, for smart_turn_v3.2 and caustic_nmr at two sizes each, and for rt_detr. In whisper_decoder nothing is
replaced. The six nodes of swift_f0 compute an output of type double, which TensorRT lacks.

| model | nodes | refused | plain | plugins | boundaries | left | seconds | options |
|---|---|---|---|---|---|---|---|---|"""


def tpat(*arguments):
    done = subprocess.run(["build/tpat", *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def refused_left(model, options, plain):
    """The nodes that TensorRT refuses, and that tpat does not take."""
    status, out, _ = tpat("list", model, "--json", *options)
    if status:
        return "?"
    replaced = {p["node"] for p in plain}
    return sum(n["tensorrt"] == "no" and not n["taken"] and not n["constant"] and n["label"] not in replaced
               for n in json.loads(out)["nodes"])


def row_of(model, options):
    import time
    start = time.monotonic()
    status, out, complaint = tpat("build", model, "--auto", "--dry-run", "--json", *options)
    row = {"model": os.path.basename(model)[:-5], "seconds": f"{time.monotonic() - start:.1f}", "options": " ".join(options)}
    if status == 4:
        _, listed, _ = tpat("list", model, *options)
        nodes = re.search(r"(\d+) nodes", listed)
        refused = re.search(r"refuses (\d+|none) of", listed).group(1).replace("none", "0")
        row.update(nodes=nodes.group(1), refused=refused, plain=0, plain_nodes=0, plugins=0, edges_before=0, edges=0, left=refused)
        return row
    if status:
        row["left"] = complaint.splitlines()[0]
        return row
    built = json.loads(out)
    joined = built["joined"]
    row.update(nodes=built["model_nodes"], refused=built["refused"], plain=len(built["plain"]),
               plain_nodes=sum(p["nodes"] for p in built["plain"]), plugins=len(joined),
               edges_before=sum(j["edges_apart"] for j in joined), edges=sum(j["edges"] for j in joined),
               left=refused_left(model, options, built["plain"]))
    return row


def table(rows):
    print(ABOUT)
    for r in rows:
        plain = f"{r['plain']} -> {r['plain_nodes']}" if r["plain"] not in ("", "0") else "0"
        options = f"`{r['options']}`" if r["options"] else ""
        print(f"| {r['model']} | {r['nodes']} | {r['refused']} | {plain} | {r['plugins']} | {r['edges_before']} -> {r['edges']} | "
              f"{r['left']} | {r['seconds']} | {options} |")
