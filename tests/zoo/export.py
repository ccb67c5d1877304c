"""Writes the zoo: models of the architectures of today with small random weights. export.py FOLDER [NAME ...].

Needs torch, torchvision, onnxscript, onnx, onnxruntime, scikit-learn and skl2onnx, which the tests do not: they take the
files as they stand next to this script. MODEL.onnx is written by PyTorch's exporter that goes by traces, MODEL_dynamo.onnx
by the one that goes by torch.export; others by ONNX Runtime's optimiser and quantisers, and by skl2onnx.

What a model's inputs may hold stands in its metadata: "extents" is "N=2 T=7", the extents of the axes that have names;
"low NAME" and "high NAME" are the range of an input, "boxes NAME" the size of the image that its boxes lie in, "places
NAME" the extent of the square canvas that its rows lie in, each a place of its own."""
import argparse
import copy
import io
import logging
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import onnx
import torch

import classic
import derived
import detection  # noqa: F401
import language  # noqa: F401
import other  # noqa: F401
import sound  # noqa: F401
import vision  # noqa: F401
from registry import MODELS
from weights import fill


def symbols(spec):
    return {axis: name for axis, name in spec.items() if isinstance(axis, int)}


def export(module, inputs, m, dynamo):
    names = list(m.inputs)
    module = copy.deepcopy(module).eval()
    if not dynamo:
        file = io.BytesIO()
        if m.scripted:
            module = torch.jit.script(module)
        torch.onnx.export(module, inputs, file, dynamo=False, opset_version=m.opset, input_names=names,
                          dynamic_axes={name: symbols(spec) for name, spec in m.inputs.items() if symbols(spec)})
        return onnx.load_from_string(file.getvalue())
    shapes = tuple({axis: torch.export.Dim(name, min=1, max=512) for axis, name in symbols(spec).items()}
                   for spec in m.inputs.values())
    program = torch.onnx.export(module, inputs, dynamo=True, opset_version=max(m.opset, 18), input_names=names,
                                dynamic_shapes=shapes if any(shapes) else None, verbose=False)
    return program.model_proto


def tidy(model, m=None):
    """Removes the exporter's notes on its own run, and adds the test's notes on random inputs."""
    for field in ("doc_string", "producer_version"):
        model.ClearField(field)
    if m:
        del model.metadata_props[:]
    todo = [model.graph, *model.functions]
    while todo:
        part = todo.pop()
        part.ClearField("doc_string")
        del part.metadata_props[:]
        for node in part.node:
            node.ClearField("doc_string")
            del node.metadata_props[:]
            todo += [a.g for a in node.attribute if a.HasField("g")] + [g for a in node.attribute for g in a.graphs]
        for value in [*getattr(part, "value_info", []), *getattr(part, "initializer", [])]:
            value.ClearField("doc_string")
            if hasattr(value, "metadata_props"):
                del value.metadata_props[:]
        if isinstance(part, onnx.GraphProto):
            for value in [*part.input, *part.output]:
                value.ClearField("doc_string")
                del value.metadata_props[:]
    if m:
        notes = {f"{key} {name}": str(value) for name, spec in m.inputs.items() for key, value in spec.items()
                 if not isinstance(key, int)}
        if m.extents:
            notes["extents"] = " ".join(f"{name}={value}" for name, value in m.extents.items())
        onnx.helper.set_model_props(model, notes)
    return model


def save(model, folder, name):
    onnx.checker.check_model(model, full_check=True)
    path = os.path.join(folder, name + ".onnx")
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))
    print(f"{name}: {os.path.getsize(path) / 1024:.0f} KB, {len(model.graph.node)} nodes")


def write(folder, label, make, m=None):
    """Writes one file; a failure is reported and does not stop the others."""
    try:
        save(tidy(make(), m), folder, label)
    except Exception as error:  # exporters' errors have no common base class
        print(f"{label}: {type(error).__name__}: {str(error)[:600]}", file=sys.stderr)
        FAILED.append(label)


def write_traced(folder, name, m, wanted):
    for dynamo in (False, True):
        label = name + ("_dynamo" if dynamo else "")
        if (m.by == "both" or (m.by == "dynamo") == dynamo) and (not wanted or label in wanted):
            module, inputs = m.make()
            write(folder, label, lambda: export(fill(module, len(name)), inputs, m, dynamo), m)


FAILED = []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for name, m in MODELS.items():
        write_traced(args.folder, name, m, args.names)
    for name, make in [*classic.models(args.names), *derived.models(args.folder, args.names)]:
        write(args.folder, name, make)
    return int(bool(FAILED))


if __name__ == "__main__":
    sys.exit(main())
