"""Generators of the attention operators that ONNX Runtime lacks: the expected results are computed here with NumPy, in double
precision, from the operators' definitions."""
import ml_dtypes
import numpy
from onnx import TensorProto, helper, numpy_helper

import draw
from draw import Case, Model

TOLERANCE = {numpy.dtype(numpy.float32): (1e-4, 1e-4), numpy.dtype(numpy.float64): (1e-9, 1e-9),
             numpy.dtype(numpy.float16): (4e-3, 4e-3), numpy.dtype(ml_dtypes.bfloat16): (2e-2, 2e-2)}


def wide(x):
    return None if x is None else numpy.asarray(x, numpy.float64)


# ---- LinearAttention


def heads_of(x, heads):
    """[batch, steps, heads * size] as [batch, steps, heads, size]."""
    return wide(x).reshape(*x.shape[:2], heads, x.shape[2] // heads)


def recurrence(q, k, v, state, decay, beta, scale):
    """All arguments with heads, [batch, steps, heads, size]; state [batch, heads, key, value], decay and beta may be None."""
    results, shared = [], q.shape[2] // k.shape[2]
    for t in range(q.shape[1]):
        if decay is not None:
            state = state * numpy.exp(decay[:, t])[..., None]
        write = v[:, t]
        if beta is not None:
            write = beta[:, t] * (write - numpy.einsum("bhdm,bhd->bhm", state, k[:, t]))
        state = state + k[:, t][..., None] * write[:, :, None]
        results.append(scale * numpy.einsum("bhd,bhdm->bhm", q[:, t], numpy.repeat(state, shared, 1)))
    if not results:
        return numpy.zeros((q.shape[0], 0, q.shape[2] * v.shape[3])), state
    results = numpy.stack(results, 1)
    return results.reshape(*results.shape[:2], -1), state


@draw.operator("LinearAttention", plain=True)
def linear_attention(d):
    dtype = d.choice([numpy.float32, numpy.float32, numpy.float16, ml_dtypes.bfloat16])
    kept = dtype if d.chance(0.6) else d.choice([numpy.float32, numpy.float16, ml_dtypes.bfloat16])
    batch, steps, heads, group = d.integer(1, 2), d.extent(6), d.integer(1, 3), d.integer(1, 3)
    size, values = d.extent(6), d.extent(6)
    rule = d.choice(["linear", "gated", "delta", "gated_delta"])
    attrs = {"q_num_heads": heads * group, "kv_num_heads": heads}
    if rule != "gated_delta" or d.chance(0.5):
        attrs["update_rule"] = rule
    if d.chance(0.4):
        attrs["scale"] = d.real(0.1, 2)
    if d.chance(0.3):
        attrs["chunk_size"] = d.integer(1, 64)
    q = d.array(dtype, [batch, steps, heads * group * size], -1, 1)
    # Keys of length at most one, so that a delta rule does not grow its state.
    k = d.array(dtype, [batch, steps, heads * size], -1 / size**0.5, 1 / size**0.5)
    v = d.array(dtype, [batch, steps, heads * values], -1, 1)
    past = d.array(kept, [batch, heads, size, values], -1, 1) if d.chance(0.6) else None
    decay = d.array(dtype, [batch, steps, heads * d.choice([1, size])], -2, 0) if "gated" in rule else None
    beta = d.array(dtype, [batch, steps, d.choice([1, heads])], 0, 1) if "delta" in rule else None
    state = numpy.zeros((batch, heads, size, values)) if past is None else wide(past)
    result, state = recurrence(heads_of(q, heads * group), heads_of(k, heads), heads_of(v, heads), state,
                               None if decay is None else heads_of(decay, heads),
                               None if beta is None else heads_of(beta, beta.shape[2]), attrs.get("scale", size**-0.5))
    results = [result.astype(dtype), state.astype(dtype if past is None else kept)]
    tolerance = max(TOLERANCE[numpy.dtype(t)] for t in (dtype, kept if past is not None else dtype))
    return Case([q, k, v, past, decay, beta], attrs, results=results, outputs=2, tolerance=tolerance)


# ---- FlexAttention

PRECISIONS = {numpy.dtype(numpy.float32): TensorProto.FLOAT, numpy.dtype(numpy.float64): TensorProto.DOUBLE,
              numpy.dtype(numpy.float16): TensorProto.FLOAT16}


class Modifier:
    """A graph from one value to one, whose nodes NumPy computes, too. `around`: outer values, by name."""
    def __init__(self, d, dtype, around, value):
        self.d, self.dtype, self.around, self.value = d, dtype, around, value
        self.nodes, self.last = [], "m_in"

    def node(self, op, value, *others, last=True):
        name = f"m{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.last, *others] if last else list(others), [name]))
        self.last, self.value = name, wide(value)

    def constant(self, value):
        name = f"m{len(self.nodes)}"
        value = numpy.asarray(value, self.dtype)
        self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        return name, wide(value)

    def grow(self):
        d, kind = self.d, self.d.integer(0, 4)
        if kind == 0:
            self.node("Tanh", numpy.tanh(self.value))
        elif kind == 1:
            name, value = self.constant(d.real(-2, 2))
            self.node("Mul", self.value * value, name)
        elif kind == 2:
            name, value = self.constant(d.array(self.dtype, d.shrunk(self.value.shape), -1, 1, finite=True))
            self.node("Add", self.value + value, name)
        elif kind == 3:
            name = d.choice(list(self.around))
            self.node("Add", self.value + wide(self.around[name]), name)
        else:  # the lower triangle: keys up to the query's own
            name, value = self.constant(-30)
            condition, lower = f"c{len(self.nodes)}", numpy.tri(*self.value.shape[2:], dtype=bool)
            self.nodes.append(helper.make_node("Constant", [], [condition], value=numpy_helper.from_array(lower)))
            kept = self.last
            self.nodes.append(helper.make_node("Where", [condition, kept, name], [f"m{len(self.nodes)}"]))
            self.last, self.value = self.nodes[-1].output[0], numpy.where(lower, self.value, value)

    def graph(self):
        elem = PRECISIONS[numpy.dtype(self.dtype)]
        if not self.nodes:
            self.node("Identity", self.value)
        return helper.make_graph(self.nodes, "modifier", [helper.make_tensor_value_info("m_in", elem, [None] * 4)],
                                 [helper.make_tensor_value_info(self.last, elem, [None] * 4)])


def modified(d, attrs, name, dtype, around, value):
    if d.chance(0.4):
        return value
    modifier = Modifier(d, dtype, around, value)
    for _ in range(d.integer(0, 3)):
        modifier.grow()
    attrs[name] = modifier.graph()
    return modifier.value


@draw.operator("ai.onnx.preview.FlexAttention", plain=True)
def flex_attention(d):
    dtype = d.choice([numpy.float32, numpy.float32, numpy.float16, numpy.float64])
    batch, heads, group, queries, keys = d.integer(1, 2), d.integer(1, 3), d.integer(1, 3), d.extent(6), d.extent(6)
    size, values = d.extent(6), d.extent(6)
    soft = numpy.float64 if dtype == numpy.float64 else numpy.float32
    attrs = {}
    if d.chance(0.4):
        soft = d.choice([numpy.float32, numpy.float64, dtype])
        attrs["softmax_precision"] = PRECISIONS[numpy.dtype(soft)]
    if d.chance(0.4):
        attrs["scale"] = d.real(0.1, 2)
    inputs = [d.array(dtype, [batch, heads * group, queries, size], -1, 1), d.array(dtype, [batch, heads, keys, size], -1, 1),
              d.array(dtype, [batch, heads, keys, values], -1, 1)]
    shape = [batch, heads * group, queries, keys]
    around = {"x3": d.array(soft, d.shrunk(shape), -1, 1)}  # values that the graphs capture
    q, k, v = wide(inputs[0]), *(numpy.repeat(wide(x), group, 1) for x in inputs[1:])
    score = attrs.get("scale", size**-0.5) * (q @ numpy.swapaxes(k, 2, 3))
    score = modified(d, attrs, "score_mod", soft, around, score)
    p = numpy.exp(score - score.max(-1, keepdims=True))
    p = modified(d, attrs, "prob_mod", soft, around, p / p.sum(-1, keepdims=True))
    node = helper.make_node("FlexAttention", ["x0", "x1", "x2"], ["y0"], name="FlexAttention", domain=d.domain, **attrs)
    return Model(inputs + [around["x3"]], attrs, nodes=[node], domains=("ai.onnx.preview",), fixed=True,
                 results=[(p @ v).astype(dtype)], tolerance=max(TOLERANCE[numpy.dtype(t)] for t in (dtype, soft)))
