"""Models whose every extent is a symbol, for `tpat build` and `tpat verify`: dynamic.py FOLDER writes one file a model."""
import os
import sys

from onnx import TensorProto, checker, helper, numpy_helper, save
import numpy

F, H, I = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64


def model(name, op, inputs, output, attributes=None, initializers=(), extra=()):
    """One node; inputs: (name, type, extents); `extra` names further inputs of the node, which are initializers."""
    names = [i[0] for i in inputs]
    node = helper.make_node(op, names + list(extra), ["y"], name="node", **(attributes or {}))
    graph = helper.make_graph([node], name, [helper.make_tensor_value_info(*i) for i in inputs],
                              [helper.make_tensor_value_info("y", *output)],
                              [numpy_helper.from_array(value, key) for key, value in initializers])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    checker.check_model(made)
    return name, made


X = ("x", F, ["N", "C", "H", "W"])
XH = ("x", H, ["N", "C", "H", "W"])
MODELS = [
    model("resize", "Resize", [X], (F, ["N", "C", "OH", "OW"]), {"mode": "linear"},
          [("scales", numpy.array([1, 1, 2, 1.5], numpy.float32))], ["", "scales"]),
    model("layer_norm", "LayerNormalization", [XH, ("scale", H, ["C", "H", "W"]), ("bias", H, ["C", "H", "W"])],
          (H, ["N", "C", "H", "W"]), {"axis": 1}),
    model("matmul", "MatMul", [("x", F, ["N", "C", "H", "W"]), ("w", F, ["C", "W", "K"])], (F, ["N", "C", "H", "K"])),
    model("conv", "Conv", [X, ("w", F, ["M", "C", 3, 3]), ("b", F, ["M"])], (F, ["N", "M", "OH", "OW"]),
          {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
    model("gather_nd", "GatherND", [XH, ("indices", I, ["P", 2])], (H, ["P", "H", "W"])),
    model("scatter_nd", "ScatterND", [X, ("indices", I, ["P", 2]), ("updates", F, ["P", "H", "W"])],
          (F, ["N", "C", "H", "W"]), {"reduction": "add"}),
    model("non_zero", "NonZero", [("x", TensorProto.INT8, ["N", "C"])], (I, [2, "K"])),
    model("cumsum", "CumSum", [("x", TensorProto.INT32, ["N"])], (TensorProto.INT32, ["N"]), {"reverse": 1},
          [("axis", numpy.array(0, numpy.int64))], ["axis"]),
]

os.makedirs(sys.argv[1], exist_ok=True)
for name, made in MODELS:
    save(made, os.path.join(sys.argv[1], name + ".onnx"))
