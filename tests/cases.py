"""Writes test cases, each a folder as ONNX's own backend tests have them, and an index of them for tests/nodes/node_test.

    FOLDER/index.tsv                          one line a case, see Index
    FOLDER/<name>/model.onnx
    FOLDER/<name>/tolerance                   "rtol atol": |got - want| <= atol + rtol * |want|
    FOLDER/<name>/test_data_set_0/input_0.pb  TensorProto, SequenceProto or OptionalProto, in the order of the graph's
    FOLDER/<name>/test_data_set_0/output_0.pb inputs and outputs"""
import hashlib
import os
import shutil

import numpy
import onnx
from onnx import numpy_helper

TYPE_NAMES = {
    "FLOAT": "f32", "UINT8": "u8", "INT8": "i8", "UINT16": "u16", "INT16": "i16", "INT32": "i32", "INT64": "i64",
    "STRING": "string", "BOOL": "bool", "FLOAT16": "f16", "DOUBLE": "f64", "UINT32": "u32", "UINT64": "u64",
    "COMPLEX64": "c64", "COMPLEX128": "c128", "BFLOAT16": "bf16", "FLOAT8E4M3FN": "f8e4m3fn",
    "FLOAT8E4M3FNUZ": "f8e4m3fnuz", "FLOAT8E5M2": "f8e5m2", "FLOAT8E5M2FNUZ": "f8e5m2fnuz", "FLOAT8E8M0": "f8e8m0",
    "UINT4": "u4", "INT4": "i4", "UINT2": "u2", "INT2": "i2", "FLOAT4E2M1": "f4e2m1",
}


def type_name(value_type):
    """"f32"; "sequence(f32)", "optional(f32)", "map(...)" for values that are not tensors."""
    kind = value_type.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        name = onnx.TensorProto.DataType.Name(getattr(value_type, kind).elem_type)
        name = TYPE_NAMES.get(name, name.lower())
        return name if kind == "tensor_type" else f"sparse({name})"
    if kind in ("sequence_type", "optional_type"):
        return f"{kind[:-5]}({type_name(getattr(value_type, kind).elem_type)})"
    if kind == "map_type":
        return f"map({type_name(value_type.map_type.value_type)})"
    return "?"


def op_types(model):
    """The operators of the graph, its subgraphs and local functions, once each; with their domains, except ONNX's own."""
    found = {}

    def walk(nodes):
        for node in nodes:
            found[(node.domain + "." if node.domain not in ("", "ai.onnx") else "") + node.op_type] = True
            for attribute in node.attribute:
                for graph in [attribute.g, *attribute.graphs]:
                    walk(graph.node)

    walk(model.graph.node)
    for function in model.functions:
        walk(function.node)
    return list(found)


def opset_of(model):
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)


def to_proto(value, value_type, name):
    kind = value_type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name)
    if isinstance(value, onnx.TensorProto):
        return value
    return numpy_helper.from_array(numpy.asarray(value), name)


class Index:
    """Cases written into one folder; close() writes the index, whose columns are tab-separated:
    name, operators, opset, input types, output types (commas between), rtol, atol, data sets, kind."""
    COLUMNS = ("name", "operators", "opset", "inputs", "outputs", "rtol", "atol", "data sets", "kind")

    def __init__(self, folder, stamp, sources):
        """`stamp` and the texts of `sources` are the inputs of the cases; current() is true if all cases are up to date."""
        self.folder, self.rows = folder, []
        digest = hashlib.sha256()
        for path in (__file__, *sources):
            with open(path, "rb") as file:
                digest.update(file.read())
        self.stamp = f"{stamp} {digest.hexdigest()}\n"

    def current(self):
        try:
            with open(os.path.join(self.folder, "stamp"), encoding="utf-8") as file:
                return file.read() == self.stamp and os.path.exists(os.path.join(self.folder, "index.tsv"))
        except FileNotFoundError:
            return False

    def begin(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def add(self, name, model, data_sets, kind, rtol=1e-3, atol=1e-7):
        """`data_sets`: pairs of the lists of input and output values (arrays, lists of arrays, protos)."""
        folder = os.path.join(self.folder, name)
        os.makedirs(folder)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        with open(os.path.join(folder, "tolerance"), "w", encoding="utf-8") as file:
            file.write(f"{rtol:g} {atol:g}\n")
        for number, (inputs, outputs) in enumerate(data_sets):
            data = os.path.join(folder, f"test_data_set_{number}")
            os.makedirs(data)
            for what, values, infos in (("input", inputs, model.graph.input), ("output", outputs, model.graph.output)):
                for i, (value, info) in enumerate(zip(values, infos)):
                    with open(os.path.join(data, f"{what}_{i}.pb"), "wb") as file:
                        file.write(to_proto(value, info.type, info.name).SerializeToString())
        types = [",".join(type_name(info.type) for info in infos) for infos in (model.graph.input, model.graph.output)]
        self.rows.append((name, ",".join(op_types(model)), opset_of(model), *types, f"{rtol:g}", f"{atol:g}",
                          len(data_sets), kind))

    def close(self):
        with open(os.path.join(self.folder, "index.tsv"), "w", encoding="utf-8") as file:
            for row in (("# " + self.COLUMNS[0], *self.COLUMNS[1:]), *self.rows):
                file.write("\t".join(str(column) for column in row) + "\n")
        with open(os.path.join(self.folder, "stamp"), "w", encoding="utf-8") as file:
            file.write(self.stamp)
