#!/usr/bin/env python3
"""Writes quantized.onnx, a classifier of 64 features with 8-bit weights, in the form that ONNX Runtime's quantize_dynamic() gives
to a model: quantized.py [FILE]. Needs the packages onnx and numpy."""
import os
import sys

import numpy
from onnx import TensorProto, helper, numpy_helper

node, weights = [], []


def layer(name, x, inputs, outputs):
    """Quantises x, multiplies it by 8-bit weights, and adds a bias: returns the sum's name."""
    w = 127 * numpy.sin(numpy.arange(inputs * outputs, dtype=numpy.float64).reshape(inputs, outputs) * 1.7)
    weights.extend([
        numpy_helper.from_array(w.round().astype(numpy.int8), name + "_weight"),
        numpy_helper.from_array(numpy.float32(1 / 512), name + "_weight_scale"),
        numpy_helper.from_array((numpy.arange(outputs) / outputs - 0.5).astype(numpy.float32), name + "_bias"),
    ])
    for op, suffix, read, write in (
            ("DynamicQuantizeLinear", "_quantize", [x], [name + "_u8", name + "_x_scale", name + "_x_zero"]),
            ("MatMulInteger", "_product", [name + "_u8", name + "_weight", name + "_x_zero"], [name + "_i32"]),
            ("Cast", "_cast", [name + "_i32"], [name + "_f32"]),
            ("Mul", "_scales", [name + "_x_scale", name + "_weight_scale"], [name + "_scale"]),
            ("Mul", "_scaled", [name + "_f32", name + "_scale"], [name + "_scaled"]),
            ("Add", "_add", [name + "_scaled", name + "_bias"], [name + "_sum"])):
        node.append(helper.make_node(op, read, write, name + suffix, **({"to": TensorProto.FLOAT} if op == "Cast" else {})))
    return name + "_sum"


node.append(helper.make_node("Relu", [layer("hidden", "features", 64, 32)], ["positive"], "hidden_relu"))
node.append(helper.make_node("Softmax", [layer("output", "positive", 32, 10)], ["probabilities"], "softmax", axis=-1))
graph = helper.make_graph(node, "quantized", [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", 64])],
                          [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantized.onnx")
with open(path, "wb") as file:
    file.write(model.SerializeToString(deterministic=True))
