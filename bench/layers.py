#!/usr/bin/env python3
"""Writes a synthetic quantised network of many like layers, to measure what a large joined region costs to compile.

    bench/layers.py FILE [--layers N] [--widths A,B,...] [--seed S]

A layer: DynamicQuantizeLinear, MatMulInteger, Cast, Mul by the scales, Add of a bias, LeakyRelu, then a residual sum and
a static quantisation (QuantizeLinear, DequantizeLinear). TensorRT refuses the first two. Scales, zero points and slopes are
scalars that differ in every layer, as in a real model. Layers of one width follow each other; a MatMulInteger of its own leads
from a width to the next. Then:

    time tpat build FILE --auto --gpu H100"""
import argparse

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save


class Net:
    """The nodes and initializers so far."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.tensors = [], []

    def constant(self, name, value, dtype=np.float32):
        self.tensors.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def node(self, op, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, f"{outputs[0]}_{op}", **attributes))
        return outputs[0]

    def product(self, x, layer, rows, columns):
        """Dynamic quantisation and the product, as ONNX Runtime's quantiser writes them. Returns f32[N,columns]."""
        weight = self.constant(f"{layer}_w", self.random.integers(0, 255, (rows, columns)), np.uint8)
        zero = self.constant(f"{layer}_w_zero", self.random.integers(120, 136), np.uint8)
        scale = self.constant(f"{layer}_w_scale", self.random.uniform(0.001, 0.002))
        self.node("DynamicQuantizeLinear", [x], [f"{layer}_q", f"{layer}_scale", f"{layer}_zero"])
        self.node("MatMulInteger", [f"{layer}_q", weight, f"{layer}_zero", zero], [f"{layer}_sum"])
        self.node("Cast", [f"{layer}_sum"], [f"{layer}_wide"], to=TensorProto.FLOAT)
        self.node("Mul", [f"{layer}_scale", scale], [f"{layer}_scales"])
        return self.node("Mul", [f"{layer}_wide", f"{layer}_scales"], [f"{layer}_product"])

    def layer(self, x, layer, width):
        bias = self.constant(f"{layer}_bias", self.random.normal(0, 0.1, width))
        share = self.constant(f"{layer}_share", self.random.uniform(0.1, 0.4))
        step = self.constant(f"{layer}_step", self.random.uniform(0.01, 0.03))
        zero = self.constant(f"{layer}_step_zero", self.random.integers(100, 140), np.uint8)
        y = self.product(x, layer, width, width)
        y = self.node("Add", [y, bias], [f"{layer}_sum_bias"])
        y = self.node("LeakyRelu", [y], [f"{layer}_leaky"], alpha=float(self.random.uniform(0.01, 0.2)))
        y = self.node("Mul", [y, share], [f"{layer}_part"])
        y = self.node("Add", [x, y], [f"{layer}_residual"])
        y = self.node("QuantizeLinear", [y, step, zero], [f"{layer}_quantized"])
        return self.node("DequantizeLinear", [y, step, zero], [f"{layer}_y"])


def model(layers, widths, seed):
    net, x = Net(seed), "x"
    for i in range(layers):
        width, last = widths[i * len(widths) // layers], widths[max(i - 1, 0) * len(widths) // layers]
        if width != last:
            x = net.product(x, f"to{width}", last, width)
        x = net.layer(x, f"l{i}", width)
    shape = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", w])] for n, w in (("x", widths[0]), (x, widths[-1]))]
    graph = helper.make_graph(net.nodes, "layers", shape[0], shape[1], net.tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def main():
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("file")
    say.add_argument("--layers", type=int, default=75)
    say.add_argument("--widths", default="256,384,512")
    say.add_argument("--seed", type=int, default=1)
    given = say.parse_args()
    made = model(given.layers, [int(w) for w in given.widths.split(",")], given.seed)
    checker.check_model(made)
    save(made, given.file)
    print(f"{given.file}: {len(made.graph.node)} nodes")


if __name__ == "__main__":
    main()
