"""Weights whose axes plugins read in another order: turned.py PROGRAM FOLDER SEED COUNT

Draws models of one product or convolution with constant weights, as row-major ones of integers are: MatMulInteger, ConvInteger,
QLinearMatMul, QLinearConv, products between DequantizeLinear, f16. Some weights have other readers, or are outputs. PROGRAM builds
each for its nodes; ONNX Runtime must give the same results for both models where it runs the first, `verify` must agree, and the
rewritten model may not have weights twice."""
import os
import random
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

TYPE = {np.int8: TensorProto.INT8, np.uint8: TensorProto.UINT8, np.float16: TensorProto.FLOAT16, np.float32: TensorProto.FLOAT}


class Drawn:
    """A model in the making."""

    def __init__(self, rng):
        self.rng, self.numbers = rng, np.random.default_rng(rng.randrange(1 << 30))
        self.nodes, self.inputs, self.outputs, self.constants, self.text = [], [], [], [], []

    def pick(self, *choices):
        chosen = self.rng.choice(choices)
        self.text.append(getattr(chosen, "__name__", str(chosen)))
        return chosen

    def values(self, t, shape):
        if issubclass(t, np.integer):
            return self.numbers.integers(np.iinfo(t).min, np.iinfo(t).max + 1, shape).astype(t)
        return (self.numbers.random(shape) - 0.5).astype(t)

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def scalar(self, name, t, value):
        return self.constant(name, np.array(value, t))

    def input(self, name, t, shape):
        self.inputs.append((name, t, shape))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output + "_node", **attributes))
        return output


def product(d):
    """Operands' shapes of a product, and its operator: (x, w, attributes) or with an image."""
    m, k, n = (d.pick(1, 5, 64, 300), d.pick(96, 100, 256, 512), d.pick(48, 129, 384))
    batch = d.pick((), (), (3,))
    return [*batch, m, k], [*(batch if d.pick("one", "each") == "each" else ()), k, n], {}


def convolution(d):
    c, o, size, taps = d.pick(3, 48, 128), d.pick(32, 40, 256), d.pick(7, 16, 20), d.pick(1, 3)
    groups = d.pick(1, 1, 1, 2) if c % 2 == 0 else 1
    return [d.pick(1, 2), c, size, size], [o, c // groups, taps, taps], {"pads": [taps // 2] * 4, "group": groups}


def drawn(rng):
    """A model, its inputs, the names of the nodes to build, and what it is as text."""
    d = Drawn(rng)
    kind = d.pick("integer", "integer", "quantised", "dequantised", "half")
    conv = d.pick(True, False)
    x, w, more = convolution(d) if conv else product(d)
    t = d.pick(np.int8, np.uint8)
    u = np.float16 if kind == "half" else d.pick(np.int8, np.int8, np.uint8) if kind != "dequantised" else np.int8
    weight = d.constant("w", d.values(u, w))
    nodes = ["y_node"]
    if kind == "integer":
        y = d.node("ConvInteger" if conv else "MatMulInteger", [d.input("x", t, x), weight], "y", **more)
    elif kind == "half":
        y = d.node("Conv" if conv else "MatMul", [d.input("x", np.float16, x), weight], "y", **more)
    elif kind == "quantised":
        scales = [d.scalar(f"s{i}", np.float32, s) for i, s in enumerate((0.02, 0.01, 0.5))]
        zeros = [d.scalar(f"z{i}", z, v) for i, (z, v) in enumerate(((t, 3), (u, 0 if u is np.int8 else 128), (t, 1)))]
        inputs = [d.input("x", t, x), scales[0], zeros[0], weight, scales[1], zeros[1], scales[2], zeros[2]]
        y = d.node("QLinearConv" if conv else "QLinearMatMul", inputs, "y", **more)
    else:
        s = d.scalar("s", np.float32, 1 / 64)
        a = d.node("DequantizeLinear", [d.input("x", t, x), s, d.scalar("zx", t, 2)], "a")
        b = d.node("DequantizeLinear", [weight, s, d.scalar("zw", u, 0)], "b")
        y = d.node("Conv" if conv else "MatMul", [a, b], "y", **more)
        nodes = ["a_node", "b_node", "y_node"]
    outputs = [y]
    other = d.pick("no", "no", "no", "reader", "output")
    if other == "reader":
        outputs.append(d.node("Cast", [weight], "other", to=TensorProto.INT32))
    elif other == "output":
        outputs.append(d.node("Identity", [weight], "other"))
    infos = [helper.make_tensor_value_info(n, TYPE[t], ["N", *shape[1:]] if d.pick("open", "fixed") == "open" else shape)
             for n, t, shape in d.inputs]
    graph = helper.make_graph(d.nodes, "turned", infos, [helper.make_empty_tensor_value_info(o) for o in outputs], d.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", d.pick(13, 17, 21))])
    model.ir_version = 8
    return onnx.shape_inference.infer_shapes(model), {n: d.values(t, shape) for n, t, shape in d.inputs}, nodes, " ".join(d.text)


def run_ort(path, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feed)


def fault_of(program, folder, model, feed, nodes):
    """Returns what is wrong as text, or None; and whether a weight was turned."""
    given, made = os.path.join(folder, "given.onnx"), os.path.join(folder, "made.onnx")
    onnx.save(model, given)
    built = subprocess.run([program, "build", given, "--region", ",".join(nodes), "--gpu", "H200", "--arch", "sm_90", "--tactics", "1",
                            "--no-db", "--force", "-o", made], capture_output=True, text=True, timeout=300)
    if built.returncode:
        return built.stderr.strip() or f"exit status {built.returncode}", False
    verified = subprocess.run([program, "verify", made, "--device", "cpu", "--runs", "2"], capture_output=True, text=True, timeout=300)
    if verified.returncode:
        return (verified.stdout + verified.stderr)[-300:], False
    turned = any("_transposed" in i.name for i in onnx.load(made).graph.initializer)
    if turned and os.path.getsize(made) > os.path.getsize(given) + 4000:
        return f"{os.path.getsize(made)} bytes of {os.path.getsize(given)}", turned
    try:
        want = run_ort(given, feed)
    except Exception:  # noqa: BLE001 - it has no kernel for these types
        return None, turned
    for got, w in zip(run_ort(made, feed), want):
        if got.dtype != w.dtype or got.shape != w.shape or not np.array_equal(got, w):
            return "ONNX Runtime gives other results for the rewritten model", turned
    return None, turned


def main():
    program, folder, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    os.makedirs(folder, exist_ok=True)
    failed = turned = 0
    for k in range(count):
        model, feed, nodes, text = drawn(random.Random(seed * 1000 + k))
        fault, changed = fault_of(program, folder, model, feed, nodes)
        turned += changed
        if fault:
            failed += 1
            print(f"FAIL {seed} {k} {text}: {fault}")
    if not turned:
        print("FAIL no weight was turned")
        failed += 1
    print(f"{turned} of {count} models have weights in another order")
    print(f"{count - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
