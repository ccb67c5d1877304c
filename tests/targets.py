#!/usr/bin/env python3
"""Random models whose shape operators have computed targets: plugins of random nodes, verified on the processor; and `tpat run` of
the whole model, compared with ONNX Runtime.

    tests/targets.py [--first N] [--count N] [--device DEVICE] [--keep FOLDER]

Targets of Reshape, Expand, Slice, Pad, Tile, Resize, ConstantOfShape, Range and OneHot are computed from other tensors' shapes in
the ways of exporters, or depend on an integer input of the model, such as a Tile's repeats. Others depend on the data,
which only `tpat run` can take. It also takes these operators inside branches, loops and functions. Verification must find extents and values that fit each other. A build may refuse a node with a reason; it may not call it a bug."""
import argparse
import os
import random
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

import oracle

TPAT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "tpat")


def names_in(graph):
    """The names that the nodes of a graph read, also in the graphs inside them."""
    for node in graph.node:
        yield from node.input
        for a in node.attribute:
            if a.HasField("g"):
                yield from names_in(a.g)


class Model:
    """With `held`, most operators are inside an If, a Loop or a function."""

    def __init__(self, seed, held=False):
        self.random = random.Random(seed)
        self.holds, self.held, self.functions = random.Random(f"{seed} held"), held, []
        self.nodes, self.weights, self.inputs, self.names = [], [], [], 0
        self.values = {}  # by input

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def constant(self, value, dtype=numpy.int64):
        self.weights.append(numpy_helper.from_array(numpy.array(value, dtype), self.name("constant")))
        return self.weights[-1].name

    def node(self, operator, inputs, **attributes):
        result = self.name(operator.lower())
        self.nodes.append(helper.make_node(operator, inputs, [result], name=self.name("node"), **attributes))
        return result

    def extent(self, x, axis):
        """i64[1]: an extent of x, spelled in one of several ways."""
        way = self.random.randrange(4)
        if way == 0:
            return self.node("Shape", [x], start=axis, end=axis + 1)
        shape = self.node("Shape", [x])
        if way == 1:
            return self.node("Slice", [shape, self.constant([axis]), self.constant([axis + 1])])
        number = self.node("Gather", [shape, self.constant(axis)])
        if way == 3:  # int(x.shape[axis] / 1)
            number = self.node("Cast", [number], to=TensorProto.FLOAT)
            number = self.node("Floor", [self.node("Div", [number, self.constant(1, numpy.float32)])])
            number = self.node("Cast", [number], to=TensorProto.INT64)
        return self.node("Unsqueeze", [number, self.constant([0])])

    def list(self, *parts):
        return self.node("Concat", list(parts), axis=0)

    def times(self, extent, factor):
        return self.node("Mul", [extent, self.constant([factor])])

    def number_of(self, x, most):
        """A number of 1 to `most` that depends on the data: i64[]."""
        share = self.node("ReduceMax", [self.node("Sigmoid", [x])], keepdims=0)
        number = self.node("Cast", [self.node("Mul", [share, self.constant(most - 0.01, numpy.float32)])], to=TensorProto.INT64)
        return self.node("Add", [number, self.constant(1)])

    def inside(self, x, make):
        """The nodes that make(x) adds, and its result."""
        before, self.nodes = self.nodes, []
        result = make(x)
        nodes, self.nodes = self.nodes, before
        return nodes, result

    def graph(self, nodes, inputs, outputs):
        return helper.make_graph(nodes, self.name("body"), [helper.make_tensor_value_info(*i) for i in inputs],
                                 [helper.make_tensor_value_info(*o) for o in outputs])

    def step(self, x):
        way = self.holds.randrange(4) if self.held else 3
        return [self.in_branch, self.in_loop, self.in_function, self.operator][way](x)

    def in_branch(self, x):
        branches = {}
        for name in "then_branch", "else_branch":
            nodes, result = self.inside(x, self.step if self.holds.random() < 0.3 else self.operator)
            if not nodes or self.holds.random() < 0.3:
                result = self.name("same")
                nodes.append(helper.make_node("Identity", [x], [result], name=self.name("node")))
            branches[name] = self.graph(nodes, [], [(result, TensorProto.FLOAT, None)])
        holds = self.node("Equal", [self.number_of(x, 2), self.constant(self.holds.randint(1, 2))])
        return self.node("If", [self.constant(self.holds.random() < 0.5, bool) if self.holds.random() < 0.3 else holds], **branches)

    def in_loop(self, x):
        """A state that each turn may make larger, and sometimes its sizes, in 0 to 3 turns."""
        state, turn, holds, goes_on = (self.name(n) for n in ("state", "turn", "holds", "goes_on"))
        nodes, result = self.inside(state, self.step if self.holds.random() < 0.3 else self.operator)
        if len(nodes) > 40:  # loops in loops
            return self.operator(x)
        ends = self.holds.random() < 0.4  # the data decide in each turn whether there is another one
        if ends:
            more, number = self.inside(state, lambda x: self.number_of(x, 2))
            nodes += [*more, helper.make_node("Less", [turn, number], [goes_on], name=self.name("node"))]
        else:
            nodes.append(helper.make_node("Identity", [holds], [goes_on], name=self.name("node")))
        inputs = [(turn, TensorProto.INT64, []), (holds, TensorProto.BOOL, []), (state, TensorProto.FLOAT, None)]
        outputs = [(goes_on, TensorProto.BOOL, []), (result, TensorProto.FLOAT, None)]
        results = [self.name("loop")]
        most = self.holds.choice(["", self.constant(2)]) if ends else self.constant(self.holds.randint(0, 2))
        turns = most if ends or self.holds.random() < 0.5 else self.number_of(x, 2)
        if (ends or turns != most) and self.holds.random() < 0.3:
            sizes = self.name("sizes")
            nodes.append(helper.make_node("Shape", [state], [sizes], name=self.name("node")))
            outputs.append((sizes, TensorProto.INT64, [3]))
            results.append(self.name("all"))
        self.nodes.append(helper.make_node("Loop", [turns, "" if turns and self.holds.random() < 0.5 else self.constant(True, bool), x], results,
                                           name=self.name("node"), body=self.graph(nodes, inputs, outputs)))
        if len(results) == 1:
            return results[0]
        total = self.node("Cast", [self.node("ReduceSum", [results[1]], keepdims=0)], to=TensorProto.FLOAT)
        return self.node("Add", [results[0], total])

    def in_function(self, x):
        formal, name = self.name("formal"), self.name("Function")
        nodes, result = self.inside(formal, self.operator)
        inner = {w.name for w in self.weights} | {i.name for i in self.inputs}
        read = sorted({i for node in nodes for i in node.input} & inner)
        if not nodes:
            return x
        self.functions.append(helper.make_function("local", name, [formal, *read], [result], nodes, [helper.make_opsetid("", 17)]))
        return self.node(name, [x, *read], domain="local")

    def operator(self, x):
        """One operator with a target; x and the result have three axes."""
        e = [self.extent(x, k) for k in range(3)]
        zero, one = self.constant([0]), self.constant([1])

        def flat():
            return self.node("Reshape", [self.node("Sigmoid", [self.node("Reshape", [x, self.list(e[0], self.node("Mul", e[1:]))])]),
                                         self.list(*e)])

        def swapped():
            return self.node("Reshape", [x, self.list(e[1], e[0], self.constant([-1]))])

        def split():
            parts = self.node("Reshape", [x, self.list(e[0], e[1], self.node("Div", [e[2], self.constant([2])]), self.constant([2]))])
            return self.node("Reshape", [self.node("Transpose", [parts], perm=[0, 1, 3, 2]), self.list(*e)])

        def expanded():
            return self.node("Expand", [self.node("ReduceMax", [x], axes=[1], keepdims=1), self.list(*e)])

        def sliced():
            return self.node("Slice", [x, zero, self.node("Sub", [e[1], one]), one])

        def padded():
            more = self.node("Sub", [self.times(e[1], 2), e[1]])
            return self.node("Pad", [x, self.list(zero, zero, zero, zero, more, zero)])

        def tiled():
            return self.node("Tile", [x, self.list(one, self.node("Div", [e[1], e[1]]), self.constant([2]))])

        def resized():
            return self.node("Resize", [x, "", "", self.list(e[0], e[1], self.times(e[2], 2))], mode="nearest")

        def filled():
            two = numpy_helper.from_array(numpy.array([2], numpy.float32))
            return self.node("Add", [x, self.node("ConstantOfShape", [self.list(*e)], value=two)])

        def counted():
            numbers = self.node("Range", [self.constant(0), self.node("Squeeze", [e[2], zero]), self.constant(1)])
            return self.node("Add", [x, self.node("Cast", [numbers], to=TensorProto.FLOAT)])

        def one_hot():
            depth = self.node("Squeeze", [e[2], zero])
            return self.node("OneHot", [self.node("ArgMax", [x], axis=2, keepdims=0), depth, self.constant([0, 1], numpy.float32)], axis=-1)

        def repeated():  # a product of unknown repeats must be what Reshape demands
            repeats = self.name("repeats")
            self.inputs.append(helper.make_tensor_value_info(repeats, TensorProto.INT64, [3]))
            factors = [self.random.choice([1, 2, 3]) for _ in e]
            self.values[repeats] = numpy.array(self.random.sample(factors, 3), numpy.int64)
            target = self.list(*(self.times(extent, factor) for extent, factor in zip(e, factors)))
            return self.node("Reshape", [self.node("Tile", [x, repeats]), target])

        def measured():  # an extent that depends on the data
            most = self.node("ReduceMax", [self.node("Sigmoid", [x])], keepdims=0)
            number = self.node("Cast", [self.node("Mul", [most, self.constant(3.5, numpy.float32)])], to=TensorProto.INT64)
            more = self.node("ConstantOfShape", [self.list(e[0], e[1], self.node("Unsqueeze", [number, zero]))])
            return self.node("Concat", [x, more], axis=2)

        def masked():  # y[mask] = -y[mask], whose sizes are two numbers of the same data
            mask = self.node("Greater", [x, self.constant(0, numpy.float32)])
            found = self.node("Transpose", [self.node("NonZero", [mask])])
            sizes = self.node("Mul", [self.list(*e), self.number_of(x, 1)])  # only the data say that it is 1
            again = self.node("Resize", [self.node("Cast", [mask], to=TensorProto.FLOAT), "", "", sizes], mode="nearest")
            places = self.node("Transpose", [self.node("NonZero", [again])])
            values = self.node("Neg", [self.node("Reshape", [self.node("GatherND", [x, found]), self.constant([-1])])])
            return self.node("ScatterND", [x, places, self.node("Slice", [values, zero, self.extent(places, 0), zero])])

        if self.held and self.holds.random() < 0.2:
            return masked()
        return self.random.choice([flat, swapped, split, expanded, sliced, padded, tiled, resized, filled, counted, one_hot, repeated,
                                   repeated, measured])()

    def build(self):
        result = "x"
        for _ in range(self.random.randint(1, 4)):
            result = self.step(result)
            if self.random.random() < 0.4:
                result = self.node(self.random.choice(["Relu", "Softmax", "Exp"]), [result])
        live, kept = {result}, []
        for node in reversed(self.nodes):
            if live & set(node.output):
                kept.append(node)
                live |= set(node.input) | {i for a in node.attribute if a.HasField("g") for i in names_in(a.g)}
        self.nodes = kept[::-1]
        known = {"A": self.random.randint(1, 5), "B": self.random.randint(1, 5), "C": 2 * self.random.randint(1, 4)}
        extents = ["A" if self.random.random() < 0.7 else 3, "B" if self.random.random() < 0.5 else 4, "C" if self.random.random() < 0.3 else 6]
        self.values["x"] = numpy.random.default_rng(self.random.randrange(1 << 30)).uniform(
            -2, 2, [known.get(n, n) for n in extents]).astype(numpy.float32)
        graph = helper.make_graph(self.nodes, "targets", [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents), *self.inputs],
                                  [helper.make_tensor_value_info(result, TensorProto.FLOAT, [None] * 3)],
                                  [w for w in self.weights if w.name in live])
        made = helper.make_model(graph, functions=self.functions,
                                 opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
        made.ir_version = 8
        return made


def call(*arguments):
    return subprocess.run([TPAT, *arguments], capture_output=True, text=True, timeout=300)


def check(model, rest, folder):
    """Returns (True, None) if the plugins agree, (False, None) if the build refused, or (False, the fault)."""
    path, made = os.path.join(folder, "model.onnx"), os.path.join(folder, "made.onnx")
    onnx.save(model, path)
    built = call("build", path, *rest, "--arch", "compute_90", "--no-db", "--force", "-o", made)
    if built.returncode:
        wrong = "This is a bug in tpat" in built.stderr or built.returncode not in (2, 3, 4)
        return False, f"build {' '.join(rest)}: {built.stderr.strip()}" if wrong else None
    if not any(node.domain == "tpat" for node in onnx.load(made).graph.node):
        return False, None  # all of them were constants
    verified = call("verify", made, "--device", "cpu", "--runs", "4", "--dump", folder)
    return verified.returncode == 0, None if verified.returncode == 0 else f"verify {' '.join(rest)}: {verified.stdout}{verified.stderr}"


def run(model, values, folder, device):
    """Returns (True, None) if `tpat run` gives ONNX Runtime's output, (False, None) if ONNX Runtime cannot run the model, or
    (False, the fault)."""
    path, wanted = os.path.join(folder, "model.onnx"), os.path.join(folder, "want.npz")
    onnx.save(model, path)
    live = {i.name for i in model.graph.input}
    values = {name: value for name, value in values.items() if name in live}
    try:
        result, = oracle.session(model).run(None, values)
    except Exception:  # its exceptions have no common class
        return False, None
    numpy.savez(wanted, **{model.graph.output[0].name: result})
    given = []
    for i, (name, value) in enumerate(values.items()):
        numpy.save(os.path.join(folder, f"{i}.npy"), value)
        given += ["-i", f"{name}={folder}/{i}.npy"]
    done = call("run", path, *given, "--device", device, "--expect", wanted)
    return done.returncode == 0, None if done.returncode == 0 else f"run: {done.stdout}{done.stderr}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--device", default="interpreter", help="for operators inside branches, loops and functions")
    parser.add_argument("--keep", help="a folder for the models that fail")
    options = parser.parse_args()
    passed = failed = 0
    for seed in range(options.first, options.first + options.count):
        drawn = Model(seed)
        model = drawn.build()
        names = [node.name for node in model.graph.node]
        some = [name for name in names if drawn.random.random() < 0.5] or names[-1:]
        with tempfile.TemporaryDirectory() as folder:
            results = [run(model, drawn.values, folder, "cpu")]
        drawn = Model(seed, held=True)
        with tempfile.TemporaryDirectory() as folder:
            results.append(run(drawn.build(), drawn.values, folder, options.device))
        for rest in (["-n", ",".join(some)], ["-r", ",".join(names[drawn.random.randrange(len(names)):])]):
            with tempfile.TemporaryDirectory() as folder:
                results.append(check(model, rest, folder))
        for good, fault in results:
            passed, failed = passed + good, failed + bool(fault)
            if fault:
                print(f"FAIL {seed}: {fault}", flush=True)
                if options.keep:
                    os.makedirs(options.keep, exist_ok=True)
                    onnx.save(model, os.path.join(options.keep, f"{seed}.onnx"))
    print(f"{passed} passed, {failed} failed")
    return failed > 0 or not passed


if __name__ == "__main__":
    sys.exit(main())
