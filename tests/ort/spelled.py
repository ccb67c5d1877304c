"""One computation in many spellings: attention as exporters write it, products with packed weights, and products with a
one-hot matrix, which gather rows. A case is drawn by a seed: its small form has inputs and results, computed here in float64; its large form has a model's sizes, and the
schedule chosen for an H100 must be a rule for this computation.

    spelled.py FOLDER SEED COUNT            writes the small cases and their index, and large/ with an index for bench/plans
    spelled.py --plans PROGRAM FOLDER       checks the rules that build/bench/plans prints for the large cases"""
import collections
import os
import random
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import cases  # noqa: E402

F16, F32, I64, I32, BOOL = (TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32,
                            TensorProto.BOOL)
NUMPY = {F16: np.float16, F32: np.float32, I64: np.int64, I32: np.int32, BOOL: np.bool_}
NAMES = ["end", "float", "x\"\n", "a.b/c", "thread", "int", "out", "K", "é", "0", "mask "]


class Graph:
    """A model under construction. Every method that makes a node returns the name of its result."""

    def __init__(self, rng, t):
        self.rng, self.t = rng, t
        self.nodes, self.constants, self.inputs, self.given, self.made = [], [], [], [], 0
        self.domains = {}
        self.only = False  # the plan is to be one kernel
        self.hides = False  # a mask hides all keys of some query
        self.text = []  # what was drawn, for the case's message

    def pick(self, what, *options):
        choice = self.rng.choice(options)
        self.text.append(f"{what} {choice}")
        return choice

    def name(self):
        self.made += 1
        return f"{self.rng.choice(NAMES)}_{self.made}"

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"n{len(self.nodes)}", **attributes))
        domain = attributes.get("domain", "")
        self.domains[domain] = 1 if domain else 21
        return names[0] if outputs == 1 else names

    def constant(self, value, t=None):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.array(value, dtype=NUMPY[t] if t else None, order="C"), name))
        return name

    def proto(self, t, shape, raw):
        name = self.name()
        self.constants.append(helper.make_tensor(name, t, shape, raw, raw=True))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def scalar(self, value):
        return self.constant(np.array(value), self.t)

    def input(self, shape, t=None, value=None):
        name, t = self.name(), t or self.t
        self.inputs.append(helper.make_tensor_value_info(name, t, shape))
        if value is None:
            value = np.random.default_rng(self.made).uniform(-1, 1, shape)
        value = np.asarray(value).astype(NUMPY[t])
        self.given.append(value)
        return name, value.astype(np.float64) if t in (F16, F32) else value

    def reshape(self, x, *shape):
        return self.node("Reshape", x, self.ints(*shape))

    def transpose(self, x, *perm):
        return self.node("Transpose", x, perm=perm)

    def unsqueeze(self, x, *axes):
        return self.node("Unsqueeze", x, self.ints(*axes))

    def cast(self, x, t):
        return self.node("Cast", x, to=t)

    def model(self, result):
        self.nodes[-1].output[0] = "y"
        out = helper.make_tensor_value_info("y", self.t, None)
        graph = helper.make_graph(self.nodes, "spelled", self.inputs, [out], self.constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in {"": 21, **self.domains}.items()]
        model = helper.make_model(graph, opset_imports=imports, producer_name="test")
        model.ir_version = 10
        return onnx.shape_inference.infer_shapes(model)


# ---- Attention.

Sizes = collections.namedtuple("Sizes", "n heads group queries past keys size causal t")


def heads_of(g, n, heads, rows, size):
    """An operand [n, heads, rows, size], from one of the layouts that projections leave."""
    how = g.pick("operand", "heads", "rows", "transposed")
    if how == "heads":
        return g.input([n, heads, rows, size])
    if how == "transposed":
        x, value = g.input([n, rows, heads, size])
        return g.transpose(x, 0, 2, 1, 3), value.transpose(0, 2, 1, 3)
    x, value = g.input([n, rows, heads * size])
    return g.transpose(g.reshape(x, 0, 0, heads, size), 0, 2, 1, 3), value.reshape(n, rows, heads, size).transpose(0, 2, 1, 3)


def packed_heads(g, s):
    """Queries, keys and values from one tensor [n, rows, 3 * heads * size]."""
    x, value = g.input([s.n, s.queries, 3 * s.heads * s.size])
    parts = value.reshape(s.n, s.queries, 3, s.heads, s.size).transpose(2, 0, 3, 1, 4)
    if g.pick("unpacked by", "Split", "Gather") == "Split":
        made = g.node("Split", x, outputs=3, axis=-1, num_outputs=3)
        made = [g.transpose(g.reshape(m, 0, -1, s.heads, s.size), 0, 2, 1, 3) for m in made]
    else:
        x = g.transpose(g.reshape(x, s.n, s.queries, 3, s.heads, s.size), 2, 0, 3, 1, 4)
        made = [g.node("Gather", x, g.constant(np.array(i, np.int64)), axis=0) for i in range(3)]
    return list(zip(made, parts))


def repeated(g, x, s):
    """Keys or values of each group of query heads, once for each head of it."""
    kv, keys = s.heads // s.group, s.past + s.keys
    how = g.pick("groups by", "Expand", "Tile", "Concat")
    x = g.unsqueeze(x, 2)
    if how == "Expand":
        x = g.node("Expand", x, g.ints(s.n, kv, s.group, keys, s.size))
    elif how == "Tile":
        x = g.node("Tile", x, g.ints(1, 1, s.group, 1, 1))
    else:
        x = g.node("Concat", *[x] * s.group, axis=2)
    return g.reshape(x, s.n, s.heads, keys, s.size)


def causal_mask(g, s):
    """True where a query sees a key: the last query sees all."""
    keys = s.past + s.keys
    value = np.arange(keys)[None, :] <= np.arange(s.queries)[:, None] + keys - s.queries
    how = g.pick("causal by", "Trilu", "Range", "constant", "Slice")
    if how == "Trilu":
        ones = g.node("ConstantOfShape", g.ints(s.queries, keys), value=numpy_helper.from_array(np.ones(1, np.float32)))
        mask = g.cast(g.node("Trilu", ones, g.constant(np.array(keys - s.queries, np.int64)), upper=0), BOOL)
    elif how == "Range":
        def places(start, n, axis):
            ends = [g.constant(np.array(v, np.int64)) for v in (start, start + n, 1)]
            return g.unsqueeze(g.node("Range", *ends), axis)
        q, k = places(keys - s.queries, s.queries, 1), places(0, keys, 0)
        mask = g.node("LessOrEqual", k, q) if g.pick("compared", "<=", "not >") == "<=" else g.node("Not", g.node("Greater", k, q))
    elif how == "constant":
        mask = g.constant(value)
    else:
        most = keys + 3
        whole = g.constant(np.tril(np.ones((1, 1, most, most), np.bool_)))
        mask = g.node("Slice", whole, g.ints(keys - s.queries, 0), g.ints(keys, keys), g.ints(2, 3))
    return mask, value


def masked(g, scores, value, s, t):
    """The scores with a mask; t: their type."""
    keys, none = s.past + s.keys, g.pick("hidden", -np.inf, -1e4, "least")
    none = float(np.finfo(NUMPY[t]).min) if none == "least" else none
    shape = [(s.n, 1, s.queries, keys), (s.queries, keys), (s.n, 1, 1, keys), (1, 1, s.queries, keys)][g.rng.randrange(4)]
    how = g.pick("mask", "none", "float", "bool", "ones", "hidden") if not s.causal else "causal"
    random_bits = np.random.default_rng(s.size).random(shape) < 0.7
    random_bits[..., 0] = True
    if how in ("bool", "hidden") and none == -np.inf and g.rng.random() < 0.6:
        random_bits[..., 0, :], g.hides = False, True
    if how == "none":
        return scores, value
    if how == "float":
        mask, numbers = g.input(shape, t)
        return g.node("Add", *g.rng.sample([scores, mask], 2)), value + numbers
    if how == "ones":  # 1 for what is seen, of one type or another, turned into zeros and large negative numbers
        mask, bits = g.input([s.n, keys], I64, random_bits.reshape(-1, keys)[:1].repeat(s.n, 0))
        mask = g.unsqueeze(g.cast(mask, t), 1, 2)
        mask = g.node("Mul", g.node("Sub", g.constant(np.array(1), t), mask), g.constant(np.array(-1e4), t))
        return g.node("Add", scores, mask), value + (1.0 - bits[:, None, None]) * -1e4
    if how == "causal":
        mask, bits = causal_mask(g, s)
    else:
        mask, bits = g.input(shape, BOOL, random_bits)
    hidden = g.constant(np.array(none), t)
    if how == "hidden" or g.pick("selected by", "seen", "hidden", "added") == "hidden":
        return g.node("Where", g.node("Not", mask), hidden, scores), np.where(bits, value, none)
    if "added" in g.text[-1]:
        mask = g.node("Where", mask, g.constant(np.array(0), t), hidden)
        return g.node("Add", scores, mask), value + np.where(bits, 0, none)
    return g.node("Where", mask, scores, hidden), np.where(bits, value, none)


def softmax(g, x, value, t):
    how = g.pick("softmax", "operator", "spelled", "operator without NaN")
    if g.hides:
        how = "operator without NaN"
    with np.errstate(invalid="ignore"):
        value = np.exp(value - value.max(-1, keepdims=True))
    value = np.nan_to_num(value / value.sum(-1, keepdims=True))
    if how != "spelled":
        x = g.node("Softmax", x, axis=-1)
        if how != "operator":  # as PyTorch exports scaled_dot_product_attention with a mask
            x = g.node("Where", g.node("IsNaN", x), g.constant(np.array(0), t), x)
        return x, value
    axes = g.ints(-1)
    x = g.node("Exp", g.node("Sub", x, g.node("ReduceMax", x, axes, keepdims=1)))
    return g.node("Div", x, g.node("ReduceSum", x, axes, keepdims=1)), value


def scaled(g, x, by):
    if g.pick("scaled by", "Mul", "Div") == "Mul":
        return g.node("Mul", x, g.scalar(by))
    return g.node("Div", x, g.scalar(1 / by))


def attention(g, sizes):
    s = sizes(g)
    if s.group == 1 and s.past == 0 and s.queries == s.keys and g.pick("operands", "apart", "packed") == "packed":
        (q, qv), (k, kv), (v, vv) = packed_heads(g, s)
    else:
        (q, qv), (k, kv), (v, vv) = (heads_of(g, s.n, h, rows, s.size) for h, rows in
                                     ((s.heads, s.queries), (s.heads // s.group, s.keys), (s.heads // s.group, s.keys)))
    if s.past:
        (pk, pkv), (pv, pvv) = (g.input([s.n, s.heads // s.group, s.past, s.size]) for _ in range(2))
        k, v = g.node("Concat", pk, k, axis=2), g.node("Concat", pv, v, axis=2)
        kv, vv = np.concatenate([pkv, kv], 2), np.concatenate([pvv, vv], 2)
    keys, scale, t = s.past + s.keys, s.size ** -0.5, g.t
    folded = g.pick("heads", "apart", "folded", "grouped") if not s.causal else "apart"
    if s.group > 1 and folded != "grouped":
        k, v = repeated(g, k, s), repeated(g, v, s)
    where = g.pick("scale", "query", "scores", "both", "key")
    if where == "query":
        q = scaled(g, q, scale)
    elif where == "both":
        q, k = scaled(g, q, scale ** 0.5), scaled(g, k, scale ** 0.5)
    elif where == "key":
        k = scaled(g, k, scale)
    kv, vv = (z.repeat(s.group, 1) for z in (kv, vv))
    how = g.pick("product", "MatMul", "Einsum") if folded == "apart" else "MatMul"
    if folded == "folded":
        q, k, v = (g.reshape(z, s.n * s.heads, rows, s.size) for z, rows in ((q, s.queries), (k, keys), (v, keys)))
    elif folded == "grouped" and s.group > 1:
        q, k, v = g.reshape(q, s.n, s.heads // s.group, s.group, s.queries, s.size), g.unsqueeze(k, 2), g.unsqueeze(v, 2)
    rank = 3 if folded == "folded" else 5 if folded == "grouped" and s.group > 1 else 4
    if how == "Einsum":
        x = g.node("Einsum", q, k, equation="bhqd,bhkd->bhqk")
    else:
        x = g.node("MatMul", q, g.transpose(k, *range(rank - 2), rank - 1, rank - 2))
    value = qv @ kv.transpose(0, 1, 3, 2) * scale
    if where == "scores":
        x = scaled(g, x, scale)
    if rank != 4 and g.pick("mask at", "rank 4", "no mask") == "rank 4":
        x, rank = g.reshape(x, s.n, s.heads, s.queries, keys), -rank
    wide = F32 if t == F16 and g.pick("softmax in", "f32", "the model's type") == "f32" else t
    if wide != t:
        x = g.cast(x, wide)
    if abs(rank) == 4 or rank < 0:
        x, value = masked(g, x, value, s, wide)
    x, value = softmax(g, x, value, wide)
    if wide != t:
        x = g.cast(x, t)
    if rank in (-3, -5):
        x = g.reshape(x, s.n * s.heads, s.queries, keys) if rank == -3 else \
            g.reshape(x, s.n, s.heads // s.group, s.group, s.queries, keys)
    x = g.node("Einsum", x, v, equation="bhqk,bhkd->bhqd") if how == "Einsum" else g.node("MatMul", x, v)
    value = value @ vv
    if rank != 4:
        x = g.reshape(x, s.n, s.heads, s.queries, s.size)
    if g.pick("result", "heads", "rows") == "rows":
        x = g.reshape(g.transpose(x, 0, 2, 1, 3), s.n, s.queries, s.heads * s.size)
        value = value.transpose(0, 2, 1, 3).reshape(s.n, s.queries, s.heads * s.size)
    return x, value


def attention_sizes(large):
    def draw(g):
        r = g.rng
        group = r.choice([1, 1, 1, 2, 4])
        past = r.choice([0, 0, 1])
        causal = r.random() < 0.4
        if large:
            size, heads = 8 * r.randint(4, 24), group * r.choice([2, 3, 4, 8])
            queries = r.choice([1, 128, 197, 384, 1000]) if not causal else r.choice([128, 200, 1000])
            keys = r.choice([queries, queries + 77]) if not past else queries
            keys += 900 * (queries == 1 and not past)
            past = r.choice([64, 500, 1023]) if past else 0
        else:
            size, heads = 8 * r.randint(1, 5), group * r.choice([1, 2, 3])
            queries = r.choice([1, 3, 17, 33]) if not causal else r.choice([3, 17, 33])
            keys = r.choice([queries, queries + 9]) if not past else queries
            past = r.choice([1, 8, 37]) if past else 0
        s = Sizes(r.choice([1, 2]), heads, group, queries, past, keys, size, causal, g.t)
        g.text.append(str(s))
        return s
    return draw


# ---- Products with packed weights.

def nibbles(rows, first_low=True):
    """Rows of numbers of 4 bits, two a byte."""
    low, high = rows[..., 0::2], rows[..., 1::2]
    return (low & 15 | (high & 15) << 4).astype(np.uint8)


def weight(g, n, k, draw):
    """Weights [n, k] as numbers, their scales [n, blocks] and zero points, by one of the ways to store them. Returns the
    tensor that a MatMul takes as its right operand, [k, n], and its values [n, k]; or a product as a whole."""
    r, bits = draw, g.pick("bits", 4, 8)
    block = g.pick("block", *[b for b in (32, 64, 128, k) if k % b == 0])
    signed = g.pick("numbers", "signed", "unsigned") == "signed"
    low = -(1 << bits - 1) if signed else 0
    numbers = r.integers(low, low + (1 << bits), (n, k))
    zeros = r.integers(low + 1, low + (1 << bits) - 1, (n, k // block)) if g.pick("zero points", 0, 1) else None
    scales = r.uniform(0.002, 0.01, (n, k // block)).astype(np.float16)
    value = numbers - (0 if zeros is None else zeros.repeat(block, 1))
    value = value * scales.astype(np.float64).repeat(block, 1)
    return bits, block, signed, numbers, zeros, scales, value


def stored(g, numbers, bits, signed):
    """A constant of these numbers, of their own type."""
    t = getattr(TensorProto, ("" if signed else "U") + f"INT{bits}")
    if bits == 8:
        return g.constant(numbers.astype(np.int8 if signed else np.uint8))
    flat = numbers.reshape(-1)
    flat = np.concatenate([flat, np.zeros(len(flat) % 2, flat.dtype)])
    return g.proto(t, numbers.shape, nibbles(flat).tobytes())


def weights(g, sizes):
    m, n, k = sizes(g)
    x, value = g.input([m, k])
    random_numbers = np.random.default_rng(g.rng.randrange(1 << 30))
    bits, block, signed, numbers, zeros, scales, w = weight(g, n, k, random_numbers)
    whole = block == k
    how = g.pick("spelled", "MatMulNBits", "DequantizeLinear", "by hand")
    if how == "MatMulNBits":
        base = 1 << bits - 1
        numbers = numbers + (base if signed else 0)
        points = None if zeros is None else zeros + (base if signed else 0)
        if zeros is None and not signed:  # the operator's own zero point
            w = (numbers - base) * scales.astype(np.float64).repeat(block, 1)
        packed = numbers.reshape(n, k // block, block)
        packed = nibbles(packed) if bits == 4 else packed.astype(np.uint8)
        inputs = [x, g.constant(packed), g.constant(scales.reshape(-1) if g.rng.random() < 0.5 else scales)]
        if points is not None:
            if g.pick("points", "numbers", "floats") == "floats":
                inputs.append(g.constant(points.astype(np.float16)))
            else:
                if bits == 4 and points.shape[1] % 2:
                    points = np.concatenate([points, points[:, :1]], 1)
                inputs.append(g.constant(nibbles(points) if bits == 4 else points.astype(np.uint8)))
        y = g.node("MatMulNBits", *inputs, K=k, N=n, bits=bits, block_size=block, domain="com.microsoft")
        return y, value @ w.T
    turned = g.pick("stored", "[n, k]", "[k, n]") == "[k, n]"
    if turned:
        numbers, scales, zeros = numbers.T, scales.T, zeros if zeros is None else zeros.T
    axis = 0 if turned else 1
    if how == "DequantizeLinear":
        attributes = {"axis": axis, "block_size": block}
        if whole and g.pick("one scale a row", 0, 1):
            attributes = {"axis": 1 - axis}
            scales, zeros = scales.reshape(-1), zeros if zeros is None else zeros.reshape(-1)
        inputs = [stored(g, numbers, bits, signed), g.constant(scales)]
        if zeros is not None:
            inputs.append(stored(g, zeros, bits, signed))
        y = g.node("DequantizeLinear", *inputs, **attributes)
    else:
        grouped = not whole
        shape = ([k // block, block, n] if turned else [n, k // block, block]) if grouped else numbers.shape
        each = (lambda z: np.expand_dims(z, axis + 1)) if grouped else lambda z: z
        if bits == 8:
            y = g.cast(g.constant(numbers.reshape(shape).astype(np.int8 if signed else np.uint8)), F16)
        else:
            y = g.cast(g.reshape(stored(g, numbers, bits, signed), *shape), F16)
        if zeros is not None:
            y = g.node("Sub", y, g.constant(each(zeros).astype(np.float16)))
        y = g.node("Mul", y, g.constant(each(scales)))
        if grouped:
            y = g.reshape(y, *numbers.shape)
    if not turned:
        if g.pick("product", "MatMul", "Gemm") == "Gemm":
            return g.node("Gemm", x, y, transB=1), value @ w.T
        y = g.transpose(y, 1, 0)
    return g.node("MatMul", x, y), value @ w.T


def weight_sizes(large):
    def draw(g):
        r = g.rng
        m, n, k = (r.choice([1, 2, 8, 16]), 8 * r.randint(64, 256), 128 * r.randint(8, 24)) if large else \
            (r.choice([1, 3, 9]), 8 * r.randint(2, 5), 128 * r.randint(1, 3))
        g.text.append(f"{m}x{n}x{k}")
        return m, n, k
    return draw


# ---- Products with a one-hot matrix.

def one_hot(g, sizes):
    count, rows, columns = sizes(g)
    t = g.pick("numbers", I64, I32)
    numbers = np.random.default_rng(g.rng.randrange(1 << 30)).integers(-2, rows + 2, count)
    i, numbers = g.input(list(count), t, numbers)
    if g.pick("table", "input", "constant") == "constant":  # known to be finite: the product is one map
        table = np.random.default_rng(g.rng.randrange(1 << 30)).uniform(-1, 1, (rows, columns)).astype(NUMPY[g.t])
        w, g.only = g.constant(table), True
    else:
        w, table = g.input([rows, columns])
    how = g.pick("positions", "constant", "Range")
    if how == "Range":
        positions = g.node("Range", *(g.constant(np.array(x, NUMPY[t])) for x in (0, rows, 1)))
    else:
        positions = g.constant(np.arange(rows, dtype=NUMPY[t]).reshape(g.pick("shape", (rows,), (1, rows))))
    both = [g.unsqueeze(i, len(count)), positions]
    same = g.node("Equal", *(both if g.pick("first", "numbers", "positions") == "numbers" else both[::-1]))
    chosen = g.pick("matrix", "Cast", "Cast twice", "Where")
    if chosen == "Where":
        hot = g.node("Where", same, g.scalar(1), g.scalar(0))
    else:
        hot = g.cast(g.cast(same, t) if chosen == "Cast twice" else same, g.t)
    matrix = (numbers[..., None] == np.arange(rows)).astype(np.float64)
    return g.node("MatMul", hot, w), matrix @ table


def one_hot_sizes(large):
    def draw(g):
        r = g.rng
        rows, columns = (r.randint(500, 5000), 8 * r.randint(16, 64)) if large else (r.randint(20, 100), r.randint(1, 20))
        count = [r.randint(20, 60), r.randint(20, 60)] if large else [r.randint(1, 9)] * r.randint(1, 2)
        g.text.append(f"{count} of {rows}x{columns}")
        return count, rows, columns
    return draw


KINDS = [(attention, attention_sizes, "attention", (F16, F16, F32)), (weights, weight_sizes, "packed", (F16,)),
         (one_hot, one_hot_sizes, "map", (F16, F32))]


def draw(seed, large):
    """A case's graph builder, model and expected result."""
    kind, sizes, rule, types = KINDS[2 if seed % 8 == 5 else 0 if seed % 3 else 1]
    rng = random.Random(seed)
    g = Graph(rng, rng.choice(types))
    result, value = kind(g, sizes(large))
    return g, g.model(result), value, f"only {rule}" if g.only else rule


def write(folder, seed, count):
    index = cases.Index(folder, f"spelled {seed} {count}, onnx {onnx.__version__}", [__file__])
    if index.current():
        return
    index.begin()
    os.makedirs(f"{folder}/large")
    with open(f"{folder}/large/index.tsv", "w", encoding="utf-8") as large, \
            open(f"{folder}/large/wanted.tsv", "w", encoding="utf-8") as wanted:
        for number in range(count):
            name = f"spelled_{seed}_{number}"
            g, model, value, rule = draw(seed * 1000003 + number, False)
            size = float(np.abs(value).max())
            half = g.t == F16
            index.add(name, model, [(g.given, [value.astype(NUMPY[g.t])])], "spelled", rtol=2e-2 if half else 1e-4,
                      atol=size * (1e-2 if half else 1e-5))
            g, model, _, rule = draw(seed * 1000003 + number, True)
            onnx.save(model, f"{folder}/large/{name}.onnx")
            large.write(f"{name}\t{folder}/large/{name}.onnx\t{','.join(n.name for n in model.graph.node)}\n")
            wanted.write(f"{name}\t{rule}\t{'; '.join(g.text)}\n")
    index.close()
    print(f"{folder}: {count} models of seed {seed}")


def check_plans(program, folder):
    done = subprocess.run([program, f"{folder}/large/index.tsv", "H100 SXM"], stdout=subprocess.PIPE, text=True, check=False)
    plans = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    failed = rows = 0
    for line in open(f"{folder}/large/wanted.tsv", encoding="utf-8"):
        name, rule, text = line.rstrip("\n").split("\t")
        plan = plans.get(name, "no plan")
        only, rule, rows = rule.startswith("only "), rule.removeprefix("only "), rows + 1
        if not re.search(rf"\b\d+ {rule}\w*@", plan) or (only and "; " in plan):
            failed += 1
            print(f"{name}: {text}\n    has no kernel of rule {rule}{' alone' if only else ''}: {plan}")
    print(f"{rows - failed} passed, {failed} failed")
    return failed > 0 or done.returncode


if __name__ == "__main__":
    if sys.argv[1] == "--plans":
        sys.exit(check_plans(*sys.argv[2:4]))
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
