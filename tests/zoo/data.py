"""Writes for each model of the zoo what a run of it gives: data.py FOLDER.

    FOLDER/index.tsv             a model a line: its name and tolerances
    FOLDER/NAME/model.onnx       the model
    FOLDER/NAME/tensors_0.onnx   all of its tensors as ONNX Runtime has them, its inputs among them, as initializers
    FOLDER/NAME/tensors_1.onnx   the same of other extents, where the model has names for them: small ones are 1, others larger,
                                 a cache is empty; as many as the model can be run with

Inputs are drawn as the model's metadata says (export.py). Does nothing when all is there."""
import glob
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402

import cases  # noqa: E402
import oracle  # noqa: E402

ZOO = os.path.dirname(os.path.abspath(__file__))
# Tolerances: relative; absolute, times the tensor's largest element; for integers. If floats become bytes, some steps.
SINGLE, HALF, ROUNDED = (1e-3, 1e-4, "single", 0), (2e-2, 2e-2, "half", 0), (2e-2, 3e-2, "rounded", 8)


def extents_of(model):
    notes = {entry.key: entry.value for entry in model.metadata_props}
    return {name: int(value) for name, value in (pair.split("=") for pair in notes.get("extents", "").split())}, notes


def draw(info, extents, notes, rng):
    tensor, name = info.type.tensor_type, info.name
    shape = [extents[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if "boxes " + name in notes:  # corners, the first above and left of the second
        return numpy.sort(rng.uniform(0, int(notes["boxes " + name]), (shape[0], 2, 2)), 1).reshape(shape).astype(dtype)
    if "places " + name in notes:
        width = int(notes["places " + name])
        at = rng.permutation(width * width)[:shape[0]]
        return numpy.stack([at // width, at % width], 1).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(int(notes.get("low " + name, 0)), int(notes["high " + name]) + 1, shape).astype(dtype)
    return rng.uniform(-1, 1, shape).astype(dtype)


def tolerance_of(model):
    types = {tensor.data_type for tensor in model.graph.initializer}
    nodes = {node.op_type for node in oracle.every_node(model.graph)}
    if nodes & {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"}:
        return ROUNDED
    return HALF if onnx.TensorProto.FLOAT16 in types else SINGLE


def other_extents(extents):
    """Further extents to run the model with."""
    found = [{name: 1 if value < 10 else value for name, value in extents.items()},
             {name: value + (1 if value < 10 else 32) for name, value in extents.items()},
             {name: 0 if name == "P" else value for name, value in extents.items()}]
    return [new for i, new in enumerate(found) if new != extents and new not in found[:i]]


def tensors_of(model, extents, notes, rng):
    """A model that contains all tensors of a run."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in constants]
    feeds = {info.name: draw(info, extents, notes, rng) for info in inputs}
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    known = {info.name for info in whole.graph.output}
    names = [name for node in whole.graph.node for name in node.output if name and name not in known]
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = oracle.session(whole)
    results = session.run(None, feeds)
    graph = onnx.helper.make_graph([], "tensors", [], [])
    for name, value in [*feeds.items(), *zip((out.name for out in session.get_outputs()), results)]:
        if isinstance(value, numpy.ndarray) and value.dtype.kind != "O":
            graph.initializer.append(numpy_helper.from_array(value, name))
    return onnx.helper.make_model(graph)


def write_runs(model, folder):
    extents, notes = extents_of(model)
    runs = [tensors_of(model, extents, notes, numpy.random.default_rng(0))]
    for new in other_extents(extents):
        try:
            runs.append(tensors_of(model, new, notes, numpy.random.default_rng(len(runs))))
        except Exception:  # the trace has fixed its extents
            continue
    for number, run in enumerate(runs):
        with open(os.path.join(folder, f"tensors_{number}.onnx"), "wb") as file:
            file.write(run.SerializeToString())


def main():
    paths = sorted(glob.glob(os.path.join(ZOO, "*.onnx")))
    index = cases.Index(sys.argv[1], f"onnxruntime {onnxruntime.__version__}", [__file__, oracle.__file__, *paths])
    if index.current():
        return
    index.begin()
    index.COLUMNS = ("name", "rtol", "atol", "kind", "steps")
    for path in paths:
        name = os.path.basename(path)[:-5]
        model, folder = onnx.load(path), os.path.join(sys.argv[1], name)
        os.makedirs(folder)
        shutil.copyfile(path, os.path.join(folder, "model.onnx"))
        write_runs(model, folder)
        index.rows.append((name, *map(str, tolerance_of(model))))
    index.close()
    print(f"{sys.argv[1]}: {len(index.rows)} models")


main()
