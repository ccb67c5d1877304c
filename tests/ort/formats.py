#!/usr/bin/env python3
"""Plugins with tensors in TensorRT's formats: tpat build --format, and the host that asks for them.

    formats.py [COUNT [SEED]] [--device D] [--jobs N] [--auto N]

Draws models of one to three operators on images and volumes (elementwise, norms, softmax, resize, pooling, padding, joins,
convolutions), of random types, extents, some open, and formats; builds each as one plugin and verifies it: tpat verify runs a
plugin row-major and in every format that it offers, with inputs whose padding is not a number, and demands zeros in the
outputs' padding. The library's tables tell which formats there are: HWC8 for f16, and none for a type that a format lacks. It
verifies with D, such as cuda; without it with the processor, and each fourth with the emulator. With --auto it also builds N models in which
a way leads, or does not lead, from a plugin to a convolution, with --format auto."""
import argparse
import concurrent.futures
import glob
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper

TPAT = os.path.abspath("build/tpat")
# Formats by type, and the least rank: as in TensorRT's headers.
TAKES = {"HWC8": ("f16",), "HWC16": ("f16",), "CHW2": ("f16",), "CHW4": ("f16", "i8"), "CHW16": ("f16",),
         "CHW32": ("f32", "f16", "i8"), "HWC": ("f32",), "DHWC8": ("f16",), "DHWC": ("f32",), "CDHW32": ("f16", "i8")}
NUMBER = {"CHW2": 1, "HWC8": 2, "CHW4": 3, "CHW16": 4, "CHW32": 5, "DHWC8": 6, "CDHW32": 7, "HWC": 8, "HWC16": 11, "DHWC": 12}
TYPES = {"f32": T.FLOAT, "f16": T.FLOAT16, "i8": T.INT8}


class Net:
    """Nodes of a model, from the tensor x of the given extents."""

    def __init__(self, draw, kind, shape):
        self.draw, self.kind, self.shape, self.nodes, self.made, self.inputs = draw, kind, shape, [], [], {"x": list(shape)}
        self.last = "x"

    def constant(self, array):
        self.made.append(onnx.numpy_helper.from_array(array, f"c{len(self.made)}"))
        return self.made[-1].name

    def node(self, op, inputs, **attributes):
        self.last = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [self.last], name=f"n{len(self.nodes)}", **attributes))

    def numbers(self, shape):
        return (np.random.default_rng(self.draw.randrange(9999)).random(shape) - 0.5).astype(
            np.float16 if self.kind == "f16" else np.float32)

    def another(self):
        name = f"in{len(self.inputs)}"
        self.inputs[name] = list(self.shape)
        return name

    def grow(self):
        draw, x, rank, channels = self.draw, self.last, len(self.shape), self.shape[1]
        spatial = rank - 2
        if self.kind == "i8":
            op = draw.choice(["Max", "Neg", "Concat", "Abs"])
            if op == "Max":
                return self.node(op, [x, self.another()])
            if op == "Concat":
                self.node(op, [x, self.another()], axis=1)
                self.shape[1] *= 2
                return None
            return self.node(op, [x])
        op = draw.choice(["Sigmoid", "Add", "Mul", "InstanceNormalization", "Softmax", "Resize", "MaxPool", "AveragePool", "Concat",
                          "Pad", "LayerNormalization", "ReduceMean", "Split", "Conv", "Transpose"])
        if op in ("Add",):
            return self.node(op, [x, self.another()])
        if op == "Mul":
            return self.node(op, [x, self.constant(self.numbers([channels] + [1] * spatial))])
        if op == "InstanceNormalization":
            return self.node(op, [x, self.constant(self.numbers([channels])), self.constant(self.numbers([channels]))])
        if op == "LayerNormalization":
            return self.node(op, [x, self.constant(self.numbers([self.shape[-1]]))], axis=-1)
        if op == "Softmax":
            return self.node(op, [x], axis=draw.choice([1, rank - 1]))
        if op == "Resize":
            factors = np.array([1, 1] + [2] * spatial, np.float32)
            self.node(op, [x, "", self.constant(factors)], mode=draw.choice(["nearest", "linear"]))
            self.shape[2:] = [2 * n for n in self.shape[2:]]
        elif op in ("MaxPool", "AveragePool"):
            self.node(op, [x], kernel_shape=[2] * spatial, pads=[1] * (2 * spatial))
            self.shape[2:] = [n + 1 for n in self.shape[2:]]
        elif op == "Concat":
            self.node(op, [x, self.another()], axis=1)
            self.shape[1] *= 2
        elif op == "Pad":
            self.node(op, [x, self.constant(np.array([0, 1] + [0] * spatial + [0, 0] + [1] * spatial, np.int64))])
            self.shape[1:] = [n + 1 for n in self.shape[1:]]
        elif op == "ReduceMean":
            self.node(op, [x, self.constant(np.array([1], np.int64))], keepdims=1)
            self.shape[1] = 1
        elif op == "Split" and channels > 1:
            self.node("Slice", [x, self.constant(np.array([1], np.int64)), self.constant(np.array([channels], np.int64)),
                                self.constant(np.array([1], np.int64))])
            self.shape[1] -= 1
        elif op == "Conv":
            made = draw.choice([3, 8, 12])
            self.node(op, [x, self.constant(self.numbers([made, channels] + [3] * spatial))], pads=[1] * (2 * spatial))
            self.shape[1] = made
        elif op == "Transpose":
            self.node(op, [x], perm=[0, 2, 1] + list(range(3, rank)))
            self.shape[1], self.shape[2] = self.shape[2], self.shape[1]
        else:
            self.node("Sigmoid", [x])
        return None


def make(draw):
    kind = draw.choice(["f16", "f16", "f16", "f32", "i8"])
    rank = draw.choice([3, 4, 4, 4, 5])
    shape = [draw.randint(1, 2), draw.choice([1, 3, 5, 8, 9, 16, 33]), *(draw.randint(2, 6) for _ in range(rank - 2))]
    net = Net(draw, kind, shape)
    for _ in range(draw.randint(1, 3)):
        net.grow()
    opened = draw.random() < 0.3 and all(n.op_type in ("Sigmoid", "Add", "Max", "Neg", "Abs", "InstanceNormalization", "Softmax")
                                         for n in net.nodes)
    for extents in net.inputs.values():
        if opened:
            extents[0], extents[-1] = "N", "W"
    names = draw.sample(sorted(TAKES), draw.randint(1, 3))
    inputs = [helper.make_tensor_value_info(n, TYPES[kind], s) for n, s in net.inputs.items()]
    outputs = [helper.make_tensor_value_info(net.last, TYPES[kind], None)]
    model = helper.make_model(helper.make_graph(net.nodes, "formats", inputs, outputs, net.made),
                              opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    return kind, rank, net, names, model


def channels_open(extents, rank, name):
    axis = rank - (4 if name.startswith(("D", "CD")) else 3)
    return axis < 0 or isinstance(extents[axis], str)


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


def one(number, seed, device):
    """The number of formats that a plugin offers, and what is wrong, or None."""
    kind, rank, net, names, model = make(random.Random(seed * 1000 + number))
    about = f"{kind} {list(net.inputs.values())} {'+'.join(n.op_type for n in net.nodes)} {','.join(names)}"
    want = {NUMBER[n] for n in names if kind in TAKES[n] and not channels_open(net.inputs["x"], rank, n)}
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/some model.onnx")
        status, said = run(TPAT, "build", f"{folder}/some model.onnx", "--region", ",".join(n.name for n in net.nodes),
                           "--format", ",".join(names).lower(), "--arch", "native" if device == "cuda" else "compute_90", "--no-db",
                           "-q", "-o", f"{folder}/out.onnx")
        tables = "".join(open(f).read() for f in glob.glob(f"{folder}/out.tpat/plugins/*.h"))
        found = {int(n) for n in re.findall(r"\.format = (\d+)", tables)}
        if status == 0:
            device = device or ("emulator" if number % 4 == 0 else "cpu")
            status, said = run(TPAT, "verify", f"{folder}/out.onnx", "--device", device, "--runs", "2")
    wrong = status != 0 or found != want
    return len(found), wrong and f"{number}: {about}: status {status}, formats {sorted(found)}, expected {sorted(want)}\n{said}"


def around(draw):
    """A plugin between two nodes or graph inputs, with some nodes between: model, its nodes, and the format that it should have."""
    kind, spatial = draw.choice(["f16", "f32"]), draw.choice([2, 2, 3])
    channels, net = draw.choice([8, 16, 40]), Net(draw, kind, [])
    net.inputs = {"x": ["N", channels] + [draw.randint(4, 9)] * spatial}
    back = [0, 1] + list(range(2, spatial + 2))

    def way():
        """Some nodes; true if a convolution's format goes through all of them."""
        through = True
        for _ in range(draw.randint(0, 3)):
            op = draw.choice(["Relu", "Add", "MaxPool", "Softmax", "Transpose"])
            through &= op not in ("Softmax", "Transpose")
            if op == "Add":
                net.node(op, [net.last, net.constant(net.numbers([channels] + [1] * spatial))])
            elif op == "MaxPool":
                net.node(op, [net.last], kernel_shape=[1] * spatial)
            elif op == "Softmax":
                net.node(op, [net.last], axis=1)
            elif op == "Transpose":
                net.node(op, [net.last], perm=back[:2] + back[:1:-1])
            else:
                net.node(op, [net.last])
        return through

    def convolution():
        weight = net.constant(net.numbers([channels, channels] + [3] * spatial))
        net.node(draw.choice(["Conv", "ConvTranspose"]), [net.last, weight], pads=[1] * (2 * spatial))

    before, after = draw.random() < 0.6, draw.random() < 0.6
    if before:
        convolution()
    meets = way() and before
    net.node("Sigmoid", [net.last])
    plugin = net.nodes[-1].name
    meets |= way() and after
    if after:
        convolution()
    want = {"f16": {2: "HWC8", 3: "DHWC8"}, "f32": {2: "HWC", 3: "DHWC"}}[kind][spatial]
    inputs = [helper.make_tensor_value_info("x", TYPES[kind], net.inputs["x"])]
    model = helper.make_model(helper.make_graph(net.nodes, "around", inputs, [helper.make_tensor_value_info(net.last, TYPES[kind], None)],
                                                net.made), opset_imports=[helper.make_opsetid("", 20)])
    model.ir_version = 10
    return model, net, plugin, {NUMBER[want]} if meets else set()


def automatic(number, seed):
    """What is wrong with the formats that --format auto gives a plugin, or None."""
    model, net, plugin, want = around(random.Random(seed * 1000 + number))
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/model.onnx")
        status, said = run(TPAT, "build", f"{folder}/model.onnx", "-n", plugin, "--format", "auto", "--arch", "compute_90", "--no-db", "-q",
                           "-o", f"{folder}/out.onnx")
        tables = "".join(open(f).read() for f in glob.glob(f"{folder}/out.tpat/plugins/*.h"))
    found = {int(n) for n in re.findall(r"\.format = (\d+)", tables)}
    about = f"auto {number}: {plugin} of {'+'.join(n.op_type for n in net.nodes)} {net.inputs['x']}"
    return f"{about}: status {status}, formats {sorted(found)}, expected {sorted(want)}\n{said}" if status or found != want else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=24)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--device", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--auto", type=int, default=0)
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        done = list(pool.map(lambda number: one(number, options.seed, options.device), range(options.count)))
        done += [(0, wrong) for wrong in pool.map(lambda number: automatic(number, options.seed), range(options.auto))]
    for _, wrong in done:
        if wrong:
            print(wrong)
    failed = sum(bool(wrong) for _, wrong in done)
    print(f"{sum(offered for offered, _ in done)} formats")
    print(f"{len(done) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
