"""Patterns that one plugin fuses, in many spellings: residual and norm, bias, GELU and product, masked softmax, a convolution
between dequantise and quantise, SwiGLU, rotary embedding, decoding of a detector's boxes, an integer product between dynamic
quantise and rescale, a product of 8-bit floats, attention with folded heads, relative positions or shared keys. Each case is
drawn by a seed. Its small form has inputs and results, computed here in float64. Its large form has a model's sizes, sometimes
odd ones, and the plan for an H100 must have at most two kernels (PRODUCTS tells the exceptions).

    fused.py FOLDER SEED COUNT            writes COUNT small cases and a quarter as many of attention, their index, and large/
                                          with an index for bench/plans
    fused.py --plans PROGRAM FOLDER       checks the number of kernels that build/bench/plans prints for the large cases"""
import math
import os
import random
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cases  # noqa: E402
import spelled  # noqa: E402

F16, F32, I8, U8, BOOL = TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.INT8, TensorProto.UINT8, TensorProto.BOOL
F8 = TensorProto.FLOAT8E4M3FN
spelled.NUMPY.update({I8: np.int8, U8: np.uint8})
MOST = 2  # kernels
ERF = np.vectorize(math.erf)


class Graph(spelled.Graph):
    """Also draws how numbers, axes and halves are written."""

    def __init__(self, rng, t, opset, large):
        super().__init__(rng, t)
        self.opset, self.large, self.out, self.now = opset, large, None, t

    def number(self, value):
        """A constant in the model's type: a scalar, or of one element."""
        return self.constant(np.array(value if self.pick("number", "scalar", "[1]") == "scalar" else [value]), self.now)

    def reduce(self, op, x, axis):
        if self.opset >= (13 if op == "ReduceSum" else 18):
            return self.node(op, x, self.ints(axis))
        return self.node(op, x, axes=[axis])

    def axes(self, op, x, axis):
        """Unsqueeze or Squeeze."""
        return self.node(op, x, self.ints(axis)) if self.opset >= 13 else self.node(op, x, axes=[axis])

    def halves(self, x, size):
        """The first and second half of the last axis."""
        how = self.pick("halves", "Split", "Slice", "Gather")
        if how == "Split":
            if self.opset < 13:
                return self.node("Split", x, outputs=2, axis=-1, split=[size, size])
            return self.node("Split", x, self.ints(size, size), outputs=2, axis=-1)
        if how == "Gather":
            return [self.node("Gather", x, self.ints(*range(i * size, (i + 1) * size)), axis=-1) for i in (0, 1)]
        end = self.pick("end", 2 * size, 2**63 - 1)
        return [self.node("Slice", x, self.ints(a), self.ints(b), self.ints(-1)) for a, b in ((0, size), (size, end))]

    def floats(self, x):
        """x in f32 where an f16 model computes a part in f32; `now` is the type from here on."""
        if self.t == F16 and self.pick("part in", "f32", "f16") == "f32":
            self.now = F32
            return self.cast(x, F32)
        self.now = self.t
        return x

    def back(self, x):
        """x in the model's type again."""
        x = self.cast(x, self.t) if self.now != self.t else x
        self.now = self.t
        return x

    def both(self, op, a, b):
        return self.node(op, *((a, b) if self.rng.random() < 0.5 else (b, a)))

    def square(self, x):
        if self.pick("square", "Mul", "Pow") == "Mul":
            return self.node("Mul", x, x)
        return self.node("Pow", x, self.number(2.0))

    def sigmoid(self, x):
        if self.pick("sigmoid", "Sigmoid", "Exp") == "Sigmoid":
            return self.node("Sigmoid", x)
        return self.node("Div", self.number(1.0), self.both("Add", self.number(1.0), self.node("Exp", self.node("Neg", x))))


    def tokens(self, n, m, k):
        """A tensor [n, m, k], perhaps one that was transposed."""
        if self.pick("layout", "rows", "rows", "columns") == "rows":
            return self.input([n, m, k])
        x, value = self.input([n, k, m])
        return self.transpose(x, 0, 2, 1), value.transpose(0, 2, 1)

    def turned(self, y, value):
        """A result [n, m, k], perhaps transposed."""
        if self.pick("result", "rows", "rows", "columns") == "rows":
            return y, value
        return self.transpose(y, 0, 2, 1), value.transpose(0, 2, 1)

    def model(self, result):
        self.nodes[-1].output[0] = "y"
        out = helper.make_tensor_value_info("y", self.out or self.t, None)
        graph = helper.make_graph(self.nodes, "fused", self.inputs, [out], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], producer_name="test")
        model.ir_version = 9 if self.opset > 18 else 8
        return onnx.shape_inference.infer_shapes(model)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def extents(g, *ranges):
    """Sizes of a model, or small ones; every other draw has odd ones."""
    odd = g.pick("extents", "even", "odd") == "odd"
    made = []
    for low, high, unit in ranges:
        n = g.rng.randint(low, high) * unit if g.large else g.rng.randint(2, 6) * min(unit, 8)
        made.append(n + 1 if odd and unit > 1 else n)
    g.text.append("x".join(map(str, made)))
    return made


# ---- Norms.

def residual_norm(g):
    n, m, k = extents(g, (1, 4, 1), (20, 300, 1), (16, 64, 64))
    x, a = g.tokens(n, m, k)
    r, b = g.tokens(n, m, k)
    s, value = g.both("Add", x, r), a + b
    if g.pick("bias", False, True):
        bias, c = g.input([k])
        s, value = g.both("Add", s, bias), value + c
    scale, d = g.input([k])
    kind = g.pick("norm", "layer", "rms")
    centred = value - (value.mean(-1, keepdims=True) if kind == "layer" else 0)
    value = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * d
    if kind == "layer" and g.opset >= 17 and g.pick("written as", "operator", "nodes") == "operator":
        return g.turned(g.node("LayerNormalization", s, scale, axis=-1, epsilon=1e-5), value)
    s = g.floats(s)
    if kind == "layer":
        s = g.node("Sub", s, g.reduce("ReduceMean", s, -1))
    power = g.both("Add", g.reduce("ReduceMean", g.square(s), -1), g.number(1e-5))
    how = g.pick("root", "Sqrt Div", "Reciprocal", "Pow")
    if how == "Pow":
        y = g.both("Mul", s, g.node("Pow", power, g.number(-0.5)))
    elif how == "Reciprocal":
        y = g.both("Mul", s, g.node("Reciprocal", g.node("Sqrt", power)))
    else:
        y = g.node("Div", s, g.node("Sqrt", power))
    return g.turned(g.both("Mul", g.back(y), scale), value)


# ---- GELU.

def gelu(g, x):
    how = g.pick("gelu", "erf", "tanh", *(("Gelu",) if g.opset >= 20 else ()))
    if how == "Gelu":
        return g.node("Gelu", x)
    x = g.floats(x)
    if how == "erf":
        inner = g.node("Div", x, g.number(math.sqrt(2))) if g.pick("root", "Div", "Mul") == "Div" else \
            g.both("Mul", x, g.number(math.sqrt(0.5)))
        inner = g.node("Erf", inner)
    else:
        cube = g.node("Pow", x, g.number(3.0)) if g.pick("cube", "Pow", "Mul") == "Pow" else \
            g.node("Mul", x, g.node("Mul", x, x))
        inner = g.both("Add", x, g.both("Mul", cube, g.number(0.044715)))
        inner = g.node("Tanh", g.both("Mul", inner, g.number(math.sqrt(2 / math.pi))))
    inner = g.both("Add", inner, g.number(1.0))
    if g.pick("half", "first", "last") == "first":
        return g.back(g.both("Mul", g.both("Mul", x, g.number(0.5)), inner))
    return g.back(g.both("Mul", g.both("Mul", x, inner), g.number(0.5)))


def whole_tensor(g):
    """All of a tensor by numbers of all of it, which many blocks compute: their parts and the rest are a launch each."""
    n, m = [g.rng.randint(100, 500 if g.large else 160) * unit for unit in (1, 4 if g.large else 1)]
    m += g.pick("odd", 0, 1) * (not g.large)
    g.text.append(f"{n}x{m}")
    x, a = g.input([n, m], F32)
    g.t = g.now = F32
    axes = [0, 1]

    def of_all(op, x):
        if g.opset >= (13 if op == "ReduceSum" else 18):
            return g.node(op, x, g.ints(*axes), keepdims=0)
        return g.node(op, x, axes=axes, keepdims=0)

    kind = g.pick("by", "quantise", "range", "largest", "norm", "softmax")
    if kind == "quantise":
        y = g.node("DynamicQuantizeLinear", x, outputs=3)
        low, high = min(a.min(), 0), max(a.max(), 0)
        step = np.float32((np.float32(high) - np.float32(low)) / np.float32(255))
        zero = np.clip(np.rint(-np.float32(low) / step), 0, 255)
        value = (np.clip(np.rint(a.astype(np.float32) / step) + zero, 0, 255) - zero) * step
        return g.both("Mul", g.node("Sub", g.cast(y[0], F32), g.cast(y[2], F32)), y[1]), value
    if kind == "range":
        low = of_all("ReduceMin", x)
        y = g.node("Div", g.node("Sub", x, low), g.node("Sub", of_all("ReduceMax", x), low))
        return y, (a - a.min()) / (a.max() - a.min())
    if kind == "largest":
        return g.node("Div", x, of_all("ReduceMax", g.node("Abs", x))), a / np.abs(a).max()
    if kind == "norm":
        s = g.node("Sub", x, of_all("ReduceMean", x))
        y = g.node("Div", s, g.node("Sqrt", of_all("ReduceMean", g.square(s))))
        return y, (a - a.mean()) / a.std()
    e = g.node("Exp", g.node("Sub", x, of_all("ReduceMax", x)))
    value = np.exp(a - a.max())
    return g.node("Div", e, of_all("ReduceSum", e)), value / value.sum()


def gelu_product(g):
    m, n, k = extents(g, (8, 60, 8), (16, 64, 16), (16, 64, 16))
    x, a = g.input([m, k])
    turned = g.pick("weight", "as it is", "transposed") == "transposed"
    w, b = g.input([n, k] if turned else [k, n])
    b = b.T if turned else b
    first = g.pick("GELU", "first", "last") == "first"
    bias, c = g.input([k if first else n])
    exact = lambda v: v * (1 + ERF(v / math.sqrt(2))) / 2  # noqa: E731
    if first:
        x = gelu(g, g.both("Add", x, bias))
        return (g.node("Gemm", x, w, transB=1) if turned else g.node("MatMul", x, w)), exact(a + c) @ b
    if g.pick("product", "Gemm", "MatMul") == "Gemm":
        y = g.node("Gemm", x, w, bias, transB=int(turned))
    else:
        y = g.both("Add", g.node("MatMul", x, g.transpose(w, 1, 0) if turned else w), bias)
    return gelu(g, y), exact(a @ b + c)


# ---- Softmax.

def masked_softmax(g):
    n, heads, q, k = extents(g, (1, 2, 1), (4, 12, 1), (16, 128, 1), (2, 8, 64))
    s, a = g.input([n, heads, q, k])
    keep = np.random.default_rng(g.rng.randrange(1 << 30)).random([n, 1, q, k]) < 0.7
    keep[..., 0] = True
    if g.pick("scale", False, True):
        s, a = g.both("Mul", s, g.constant(np.array(0.125), g.t)), a * 0.125
    how = g.pick("mask", "Where", "Add", "Mul")
    if how == "Add":
        mask, hidden = g.input([n, 1, q, k], None, np.where(keep, 0, -1e4))
        s = g.both("Add", s, mask)
    elif how == "Where":
        mask, _ = g.input([n, 1, q, k], BOOL, keep)
        s = g.node("Where", mask, s, g.constant(np.array(g.pick("hidden", -1e4, -np.inf)), g.t))
    else:
        mask, _ = g.input([n, 1, q, k], BOOL, keep)
        kept = g.node("Sub", g.constant(np.array(1.0), g.t), g.cast(mask, g.t))
        s = g.both("Add", s, g.both("Mul", kept, g.constant(np.array(-1e4), g.t)))
    value = np.exp(np.where(keep, a, -1e9) - np.where(keep, a, -1e9).max(-1, keepdims=True))
    value /= value.sum(-1, keepdims=True)
    s = g.floats(s)
    if g.pick("softmax", "operator", "nodes") == "operator":
        return g.back(g.node("Softmax", s, axis=g.pick("axis", -1, 3))), value
    e = g.node("Exp", g.node("Sub", s, g.reduce("ReduceMax", s, -1)))
    return g.back(g.node("Div", e, g.reduce("ReduceSum", e, -1))), value


# ---- Gates.

def swiglu(g):
    n, m, h = extents(g, (1, 4, 1), (20, 300, 1), (16, 64, 64))
    if g.pick("operands", "one", "two") == "one":
        x, a = g.tokens(n, m, 2 * h)
        gate, up = g.halves(x, h)
        a, b = a[..., :h], a[..., h:]
    else:
        (gate, a), (up, b) = g.tokens(n, m, h), g.tokens(n, m, h)
    gate = g.floats(gate)
    silu = g.back(g.both("Mul", gate, g.sigmoid(gate)))
    return g.turned(g.both("Mul", silu, up), a * sigmoid(a) * b)


def rotary(g):
    n, heads, rows, half = extents(g, (1, 2, 1), (4, 16, 1), (20, 300, 1), (32, 64, 1))
    half = half // 2 * 2
    if g.pick("heads", "first", "last") == "first":
        x, a = g.input([n, heads, rows, 2 * half])
    else:
        x, a = g.input([n, rows, heads, 2 * half])
        x, a = g.transpose(x, 0, 2, 1, 3), a.transpose(0, 2, 1, 3)
    angle = np.random.default_rng(rows).random([rows, half])
    wide = np.concatenate([angle, angle], -1)
    cos, c = g.input([rows, 2 * half], None, np.cos(wide))
    sin, s = g.input([rows, 2 * half], None, np.sin(wide))
    if g.pick("tables", "as they are", "unsqueezed") == "unsqueezed":
        cos, sin = (g.axes("Unsqueeze", t, 0) for t in (cos, sin))
    low, high = g.halves(x, half)
    minus = g.node("Neg", high) if g.pick("minus", "Neg", "Mul") == "Neg" else \
        g.both("Mul", high, g.constant(np.array(-1.0), g.t))
    turned = g.node("Concat", minus, low, axis=g.pick("axis", -1, 3))
    value = a * c + np.concatenate([-a[..., half:], a[..., :half]], -1) * s
    return g.both("Add", g.both("Mul", x, cos), g.both("Mul", turned, sin)), value


# ---- Detectors.

def yolo(g):
    h, w, classes = extents(g, (10, 40, 2), (10, 40, 2), (20, 80, 1))
    n, anchors = 1, 3
    x, a = g.input([n, anchors * (5 + classes), h, w])
    x = g.transpose(g.reshape(x, n, anchors, 5 + classes, h, w), 0, 1, 3, 4, 2)
    a = a.reshape(n, anchors, 5 + classes, h, w).transpose(0, 1, 3, 4, 2)
    grid = np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1).astype(np.float64)[None, None]
    size = np.array([[10, 13], [16, 30], [33, 23]], np.float64).reshape(1, 3, 1, 1, 2)
    g.now = g.t
    p = g.sigmoid(x)
    parts = [(0, 2), (2, 4), (4, 5), (5, 5 + classes)]
    if g.pick("parts", "Split", "Slice") == "Split" and g.opset >= 13:
        xy, wh, sure, score = g.node("Split", p, g.ints(2, 2, 1, classes), outputs=4, axis=-1)
    else:
        xy, wh, sure, score = (g.node("Slice", p, g.ints(i), g.ints(k), g.ints(-1)) for i, k in parts)
    xy = g.both("Add", g.node("Sub", g.both("Mul", xy, g.number(2.0)), g.number(0.5)), g.constant(grid, g.t))
    xy = g.both("Mul", xy, g.number(8.0))
    wh = g.both("Mul", g.square(g.both("Mul", wh, g.number(2.0))), g.constant(size, g.t))
    score = g.reduce("ReduceMax", g.both("Mul", score, sure), -1)
    keep = g.node("Greater", score, g.constant(np.array(0.3), g.t))
    if g.pick("filter", "Where", "Mul") == "Where":
        score = g.node("Where", keep, score, g.constant(np.array(0.0), g.t))
    else:
        score = g.both("Mul", score, g.cast(keep, g.t))
    out = g.reshape(g.node("Concat", xy, wh, score, axis=-1), n, -1, 5)
    v = sigmoid(a)
    best = (v[..., 5:] * v[..., 4:5]).max(-1, keepdims=True)
    value = np.concatenate([(v[..., :2] * 2 - 0.5 + grid) * 8, (v[..., 2:4] * 2)**2 * size, np.where(best > 0.3, best, 0)], -1)
    return out, value.reshape(n, -1, 5)


# ---- Quantised arithmetic. All scales are powers of two, so that every spelling gives the same integers.

def dequantized(g, x, scale, zero, t, axis):
    """(x - zero) * scale; scale and zero: arrays, of one element an index of the axis or scalars."""
    if g.pick("dequantise", "operator", "nodes") == "operator":
        more = {"axis": axis} if scale.ndim else {}
        return g.node("DequantizeLinear", x, g.constant(scale, F32), g.constant(zero, t), **more)
    shape = [-1, 1, 1, 1] if scale.ndim else []
    x = g.cast(x, F32)
    if zero.any():
        x = g.node("Sub", x, g.constant(zero.reshape(shape), F32))
    return g.both("Mul", x, g.constant(scale.reshape(shape), F32))


def convolved(a, w):
    a = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    h, v = a.shape[2] - 2, a.shape[3] - 2
    return sum(np.einsum("nchw,oc->nohw", a[:, :, i:i + h, j:j + v], w[:, :, i, j]) for i in range(3) for j in range(3))


def quantized_conv(g):
    g.t = F32
    c, o, h, w = extents(g, (2, 16, 16), (2, 16, 16), (10, 56, 1), (10, 56, 1))
    rng = np.random.default_rng(g.rng.randrange(1 << 30))
    t = g.pick("activations", U8, I8)
    low, zero = (0, 128) if t == U8 else (-128, 0)
    x, a = g.input([1, c, h, w], t, rng.integers(low, low + 256, [1, c, h, w]))
    b = rng.integers(-127, 128, [o, c, 3, 3])
    k = g.constant(b, I8) if g.pick("weights", "input", "constant") == "constant" else g.input([o, c, 3, 3], I8, b)[0]
    each = g.pick("weights' scale", "one", "each") == "each"
    scale = 2.0**-rng.integers(6, 9, [o]) if each else np.array(2.0**-7)
    a = (a.astype(np.float64) - zero) / 32
    b = b.astype(np.float64) * (scale.reshape(-1, 1, 1, 1) if each else scale)
    x = dequantized(g, x, np.array(1 / 32), np.array(zero), t, 1)
    k = dequantized(g, k, scale, np.zeros(scale.shape), I8, 0)
    bias = rng.integers(-64, 65, [o]) / 8
    value = convolved(a, b) + bias.reshape(-1, 1, 1)
    y = g.node("Conv", x, k, g.constant(bias, F32), pads=[1, 1, 1, 1])
    if g.pick("relu", False, True):
        y, value = g.node("Relu", y), np.maximum(value, 0)
    g.out = t
    y = g.node("QuantizeLinear", y, g.constant(np.array(1 / 4), F32), g.constant(np.array(zero), t))
    return y, np.clip(np.rint(value * 4) + zero, low, low + 255)


def dynamic_product(g):
    g.t = F32
    m, n, k = extents(g, (8, 60, 8), (16, 48, 16), (16, 48, 16))
    x, a = g.input([m, k])
    rng = np.random.default_rng(g.rng.randrange(1 << 30))
    w, b = g.input([k, n], I8, rng.integers(-127, 128, [k, n]))
    scale = g.pick("weights' scale", 0.0078125, 0.01)
    q, s, zero = g.node("DynamicQuantizeLinear", x, outputs=3)
    y = g.cast(g.node("MatMulInteger", q, w, zero, *([g.constant(np.array(0), I8)] if g.pick("zero", False, True) else [])), F32)
    if g.pick("scales", "together", "one by one") == "together":
        y = g.both("Mul", y, g.both("Mul", s, g.constant(np.array(scale), F32)))
    else:
        y = g.both("Mul", g.both("Mul", y, s), g.constant(np.array(scale), F32))
    low, high = min(a.min(), 0), max(a.max(), 0)
    step = np.float32((np.float32(high) - np.float32(low)) / np.float32(255))
    first = np.clip(np.rint(-np.float32(low) / step), 0, 255)
    numbers = np.clip(np.rint(a.astype(np.float32) / step) + first, 0, 255) - first
    value = numbers.astype(np.float64) @ b.astype(np.float64) * step * scale
    if g.pick("bias", False, True):
        bias, c = g.input([n])
        y, value = g.both("Add", y, bias), value + c
    return y, value


def float8_product(g):
    """All numbers are integers of at most 5 bits times powers of two, which f8e4m3fn has."""
    g.t, g.opset = F32, 19
    m, n, k = extents(g, (8, 60, 8), (16, 48, 16), (16, 48, 16))
    rng = np.random.default_rng(g.rng.randrange(1 << 30))
    x, a = g.input([m, k], F32, rng.integers(-16, 17, [m, k]) / 8)
    b = rng.integers(-16, 17, [k, n])
    turned = g.pick("weights", "as they are", "transposed") == "transposed"
    stored = b.T if turned else b
    each = g.pick("weights' scale", "one", "each") == "each"
    scale = 2.0**-rng.integers(3, 6, [n]) if each else np.array(2.0**-4)
    zero = g.proto(F8, [], b"\0")
    step = g.constant(np.array(1 / 8), F32)
    x = g.node("DequantizeLinear", g.node("QuantizeLinear", x, step, zero), step, zero)
    w = g.proto(F8, stored.shape, np.asarray(stored, ml_dtypes.float8_e4m3fn).tobytes())
    w = g.node("DequantizeLinear", w, g.constant(scale, F32), axis=0 if turned else 1)
    y, value = g.node("MatMul", x, g.transpose(w, 1, 0) if turned else w), a @ (b * scale)
    if g.pick("bias", False, True):
        bias, c = g.input([n])
        y, value = g.both("Add", y, bias), value + c
    return y, value


# ---- Attention whose heads and batch are one axis.

def attended(g, q, k, v, bias=None):
    """Queries, keys and values [heads, rows, size], each a pair of tensor and value; bias(scores, value) adds to the scores."""
    scores = g.node("MatMul", g.node("Mul", q[0], g.number(q[1].shape[-1] ** -0.5)), g.transpose(k[0], 0, 2, 1))
    value = q[1] @ k[1].transpose(0, 2, 1) * q[1].shape[-1] ** -0.5
    if bias:
        scores, value = bias(scores, value)
    value = np.exp(value - value.max(-1, keepdims=True))
    return g.node("MatMul", g.node("Softmax", scores, axis=-1), v[0]), value / value.sum(-1, keepdims=True) @ v[1]


def folded_attention(g):
    """nn.MultiheadAttention, whose rows come first, and the attention of many a decoder."""
    n, heads, rows, size = extents(g, (2, 4, 1), (4, 12, 1), (16, 64, 8), (4, 8, 8))
    size = size // 8 * 8  # the matrix products of attention
    first = g.pick("rows", "first", "after the batch") == "first"
    shape = [rows, n, heads * size] if first else [n, rows, heads * size]
    parts = []
    for _ in range(3):
        x, value = g.input(shape)
        if first:
            x, value = g.reshape(x, rows, n * heads, size), value.reshape(rows, n * heads, size)
            parts.append((g.transpose(x, 1, 0, 2), value.transpose(1, 0, 2)))
        else:
            x = g.reshape(g.transpose(g.reshape(x, n, rows, heads, size), 0, 2, 1, 3), n * heads, rows, size)
            parts.append((x, value.reshape(n, rows, heads, size).transpose(0, 2, 1, 3).reshape(n * heads, rows, size)))
    y, value = attended(g, *parts)
    if first:
        return g.reshape(g.transpose(y, 1, 0, 2), rows * n, heads * size), value.transpose(1, 0, 2).reshape(rows * n, heads * size)
    y = g.reshape(g.transpose(g.reshape(y, n, heads, rows, size), 0, 2, 1, 3), n, rows, heads * size)
    return y, value.reshape(n, heads, rows, size).transpose(0, 2, 1, 3).reshape(n, rows, heads * size)


def relative_attention(g):
    """That of Segment Anything: products of the queries with relative positions of rows and columns, between scores and softmax."""
    heads, h, w, size = extents(g, (12, 48, 1), (14, 20, 1), (14, 20, 1), (4, 8, 8))
    size = size // 8 * 8
    parts = [g.input([heads, h * w, size]) for _ in range(3)]
    (by_row, row_value), (by_column, column_value) = (g.input([n, n, size]) for n in (h, w))

    def bias(scores, value):
        q, q_value = g.reshape(parts[0][0], heads, h, w, size), parts[0][1].reshape(heads, h, w, size)
        a, b = g.node("Einsum", q, by_row, equation="bhwc,hkc->bhwk"), g.node("Einsum", q, by_column, equation="bhwc,wkc->bhwk")
        scores = g.node("Add", g.reshape(scores, heads, h, w, h, w), g.axes("Unsqueeze", a, -1))
        scores = g.reshape(g.node("Add", scores, g.axes("Unsqueeze", b, -2)), heads, h * w, h * w)
        more = np.einsum("bhwc,hkc->bhwk", q_value, row_value)[..., :, None] + \
            np.einsum("bhwc,wkc->bhwk", q_value, column_value)[..., None, :]
        return scores, value + more.reshape(value.shape)

    return attended(g, *parts, bias)


def shared_keys(g):
    """Query heads that share keys and values, which are repeated for each of them."""
    n, kv, group, keys, size = extents(g, (1, 3, 1), (4, 8, 1), (2, 4, 1), (64, 200, 8), (8, 16, 8))
    kv, size, rows = max(kv, 4), size // 8 * 8, g.rng.choice((1, 40))
    q = g.input([n, kv * group, rows, size])
    q = g.reshape(q[0], n * kv * group, rows, size), q[1].reshape(-1, rows, size)
    how, parts = g.pick("repeated by", "Gather", "Expand"), []
    for _ in range(2):
        x, value = g.input([n, kv, keys, size])
        if how == "Gather":
            x = g.node("Gather", x, g.ints(*np.repeat(np.arange(kv), group)), axis=1)
        else:
            x = g.node("Expand", g.axes("Unsqueeze", x, 2), g.ints(n, kv, group, keys, size))
        x = g.reshape(x, n * kv * group, keys, size)
        parts.append((x, value.repeat(group, 1).reshape(-1, keys, size)))
    return attended(g, q, *parts)


PATTERNS = (residual_norm, whole_tensor, gelu_product, masked_softmax, swiglu, rotary, yolo, quantized_conv, dynamic_product, float8_product)
ATTENTION = folded_attention, relative_attention, shared_keys
# Of a product only its parts count: sums of its shares, and copies that align operands, are launched where the estimate says that
# they pay. Quantised 8-bit floats are stored, and weights transposed. A dynamic scale needs all of the tensor before its first
# element is quantised.
PRODUCTS = {"gelu_product": 2, "quantized_conv": 1, "dynamic_product": 3, "float8_product": 3, "folded_attention": 1,
            "relative_attention": 3, "shared_keys": 1}


def draw(seed, pattern, large):
    """A case's graph builder, model and expected result."""
    rng = random.Random(seed)
    g = Graph(rng, rng.choice((F16, F32)), rng.choice((11, 13, 17, 18, 20)), large)
    if pattern in (quantized_conv, relative_attention):
        g.opset = max(g.opset, 13)
    result, value = pattern(g)
    g.text.append(f"opset {g.opset}, type {g.t}")
    return g, g.model(result), value


def write(folder, seed, count):
    index = cases.Index(folder, f"fused {seed} {count}, onnx {onnx.__version__}", [__file__])
    if index.current():
        return
    index.begin()
    os.makedirs(f"{folder}/large")
    with open(f"{folder}/large/index.tsv", "w", encoding="utf-8") as large, \
            open(f"{folder}/large/text.tsv", "w", encoding="utf-8") as text:
        for number in range(count + count // 4):
            pattern = PATTERNS[number % len(PATTERNS)] if number < count else ATTENTION[number % len(ATTENTION)]
            name = f"{pattern.__name__}_{seed}_{number}"
            g, model, value = draw(seed * 1000003 + number, pattern, False)
            half, size = g.t == F16, float(np.abs(value).max())
            index.add(name, model, [(g.given, [value.astype(spelled.NUMPY[g.out or g.t])])], "fused", rtol=2e-2 if half else 1e-3,
                      atol=size * (1e-2 if half else 1e-3))
            g, model, _ = draw(seed * 1000003 + number, pattern, True)
            onnx.save(model, f"{folder}/large/{name}.onnx")
            large.write(f"{name}\t{folder}/large/{name}.onnx\t{','.join(n.name for n in model.graph.node)}\n")
            text.write(f"{name}\t{'; '.join(g.text)}\n")
    index.close()
    print(f"{folder}: {count + count // 4} models of seed {seed}")


def check_plans(program, folder):
    done = subprocess.run([program, f"{folder}/large/index.tsv", "H100 SXM"], stdout=subprocess.PIPE, text=True, check=False)
    plans = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    failed = rows = 0
    for line in open(f"{folder}/large/text.tsv", encoding="utf-8"):
        name, text = line.rstrip("\n").split("\t")
        plan = plans.get(name)
        pattern = name.rsplit("_", 2)[0]
        _, parts, kernels = plan.split("\t")[:3] if plan else ("", "", "0")
        kernels = parts.count(";") + 1 if plan and pattern in PRODUCTS else int(kernels)
        rows += 1
        if not 1 <= kernels <= PRODUCTS.get(pattern, MOST):
            failed += 1
            print(f"{name}: {text}\n    {f'{kernels} kernels: {plan}' if plan else 'has no plan'}")
    print(f"{rows - failed} passed, {failed} failed")
    return failed > 0 or done.returncode


if __name__ == "__main__":
    if sys.argv[1] == "--plans":
        sys.exit(check_plans(*sys.argv[2:4]))
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
