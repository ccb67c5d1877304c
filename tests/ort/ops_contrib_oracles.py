"""Random cases of operators for which ONNX Runtime has no CPU kernel: results are computed here, from the operators'
definitions."""
import math

import numpy

from draw import Case, i64
from ops_contrib import Q8, microsoft

F32, F16 = numpy.float32, numpy.float16


def doubles(*arrays):
    return [array.astype(numpy.float64) for array in arrays]


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def rounded(x, zero, dtype):
    limits = numpy.iinfo(dtype)
    return numpy.clip(numpy.rint(x) + zero, limits.min, limits.max).astype(dtype)


@microsoft("IsAllFinite", plain=True)
def is_all_finite(d):
    only = d.choice([{}, {}, {"isnan_only": 1}, {"isinf_only": 1}])
    special = d.choice([(), (), (math.nan,), (math.inf,), (-math.inf,)])
    inputs = [d.array(F32, d.shape(0, 3, empty=0), special=special) for _ in range(d.integer(1, 3))]
    nan, inf = (any(test(x).any() for x in inputs) for test in (numpy.isnan, numpy.isinf))
    bad = nan if "isnan_only" in only else inf if "isinf_only" in only else nan or inf
    return Case(inputs, only, results=[numpy.array(not bad)])


@microsoft("ReduceSumInteger", "QLinearReduceMean", plain=True)
def reduce_integers(d):
    x = d.full_range(d.choice(Q8), d.shape(1, 4, empty=0))
    axes, keep = d.axes(x.ndim, least=1), d.integer(0, 1)
    attrs, along = {"axes": axes, "keepdims": keep}, tuple(axis % x.ndim for axis in axes)
    if d.op == "ReduceSumInteger":
        wanted = x.astype(numpy.int64).sum(along, keepdims=bool(keep))
        return Case([x], attrs, results=[numpy.asarray(wanted, numpy.uint32 if x.dtype == numpy.uint8 else numpy.int32)])
    zeros = [d.full_range(x.dtype, []) for _ in range(2)]
    scales = [numpy.array(2.0 ** d.integer(-3, 3), F32) for _ in range(2)]  # a mean on a half must not depend on rounding
    mean = (x.astype(numpy.int64) - int(zeros[0])).sum(along, keepdims=bool(keep)).astype(F32)
    mean = mean / F32(math.prod(x.shape[axis] for axis in along))
    wanted = rounded(mean * scales[0] / scales[1], int(zeros[1]), x.dtype)
    return Case([x, scales[0], zeros[0], scales[1], zeros[1]], attrs, results=[numpy.asarray(wanted)])


@microsoft("BiasSoftmax", plain=True)
def bias_softmax(d):
    x = d.array(F32, d.shape(2, 4, empty=0))
    axis, inner = d.integer(1, x.ndim - 1), d.integer(0, 1)
    middle = d.integer(0, axis)
    shape = [1 if (middle <= i < axis if inner else i < middle) else extent for i, extent in enumerate(x.shape)]
    bias = d.array(F32, shape)
    z = numpy.add(*doubles(x, bias)).reshape(*x.shape[:axis], -1)
    e = numpy.exp(z - z.max(-1, keepdims=True))
    wanted = (e / e.sum(-1, keepdims=True)).reshape(x.shape)
    return Case([x, bias], {"axis": axis - (x.ndim if d.chance(0.3) else 0), "is_inner_broadcast": inner},
                results=[wanted.astype(F32)])


def bucket(distance, buckets, most, both):
    first = 0
    if both:
        buckets //= 2
        first, distance = (buckets if distance > 0 else 0), abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    part = numpy.log(F32(distance) / F32(exact)) / numpy.log(F32(most) / F32(exact))
    return first + min(exact + int(part * F32(buckets - exact)), buckets - 1)


@microsoft("RelativePositionBias", plain=True)
def relative_position_bias(d):
    buckets, heads, length, both = d.choice([8, 16, 32]), d.integer(1, 3), d.integer(1, 30), d.integer(0, 1)
    most = d.choice([20, 35, 100])  # no boundary between buckets is a whole number
    table = d.array(d.choice([F32, F16]), [buckets, heads])
    by_heads = table.reshape(heads, buckets)
    wanted = [[[by_heads[h, bucket(j - i, buckets, most, both)] for j in range(length)] for i in range(length)]
              for h in range(heads)]
    attrs = {"max_distance": most, "is_bidirectional": both}
    return Case([table, i64([length]), i64([length])], attrs, constant=(1, 2), results=[numpy.array([wanted], table.dtype)])


@microsoft("GatedRelativePositionBias", plain=True)
def gated_relative_position_bias(d):
    b, s, heads, size, half = d.extent(3), d.extent(6), d.integer(1, 3), d.extent(8), d.integer(1, 4)
    inputs = [d.array(F32, [b, s, heads * size], -1, 1), d.array(F32, [heads * size], -1, 1), d.array(F32, [1, heads, s, s]),
              d.array(F32, [size, 2 * half], -1, 1), d.array(F32, [2 * half], -1, 1), d.array(F32, [1, heads, 1, 1])]
    query, more, position, weight, bias, eco = doubles(*inputs)
    query = (query + more).reshape(b, s, heads, size).transpose(0, 2, 1, 3)
    u, r = numpy.moveaxis(sigmoid((query @ weight + bias).reshape(b, heads, s, 2, half).sum(-1)), -1, 0)
    gate = u * (r * eco.reshape(1, heads, 1) - 1) + 2
    return Case(inputs, {"num_heads": heads}, depth=size * half, results=[(gate[..., None] * position).astype(F32)])


@microsoft("RemovePadding", "RestorePadding", plain=True)
def padding(d):
    b, s, h = d.integer(1, 4), d.integer(1, 5), d.extent(5)
    counts = numpy.array(d.some(0, s, b), numpy.int32)
    counts[0] = max(counts[0], 1)
    token = (numpy.arange(s) < counts[:, None]).reshape(-1)
    offset = numpy.argsort(~token, kind="stable").astype(numpy.int32).reshape(b, s)
    x = d.array(d.choice([F32, F16]), [b, s, h])
    rows = x.reshape(-1, h)[token]
    if d.op == "RestorePadding":
        wanted = numpy.where(token.reshape(b, s, 1), x, 0).astype(x.dtype)
        return Case([rows, offset], results=[wanted])
    total = numpy.concatenate([[0], numpy.cumsum(counts)]).astype(numpy.int32)
    return Case([x, counts], outputs=4, results=[rows, offset, total, numpy.array([counts.max()], numpy.int32)])


def fast_gelu(x):
    return 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


@microsoft("GemmFastGelu", plain=True)
def gemm_fast_gelu(d):
    k, n = d.extent(9), d.extent(6)
    inputs = [d.array(F32, d.shape(1, 3, empty=0) + [k], -2, 2), d.array(F32, [k, n], -1, 1)]
    y = numpy.matmul(*doubles(*inputs))
    if d.chance(0.6):
        inputs.append(d.array(F32, [n]))
        y = y + inputs[2]
    return Case(inputs, depth=k, results=[fast_gelu(y).astype(F32)])


@microsoft("FusedMatMulActivation", plain=True)
def fused_matmul_activation(d):
    lead, m, k, n, turned = d.shape(0, 2, empty=0), d.extent(5), d.extent(9), d.extent(5), d.integer(0, 1)
    a, b = d.array(F32, [*lead, m, k], -2, 2), d.array(F32, [*lead, n, k] if turned else [*lead, k, n], -1, 1)
    alpha, first = d.real(-2, 2), d.real(0.1, 1)
    x, w = doubles(a, b)
    y = numpy.float64(F32(alpha)) * (x @ (w.swapaxes(-1, -2) if turned else w))
    name, wanted = d.choice([("Relu", numpy.maximum(y, 0)), ("Sigmoid", sigmoid(y)), ("Softplus", numpy.logaddexp(y, 0)),
                             ("LeakyRelu", numpy.where(y < 0, F32(first) * y, y)),
                             ("Elu", numpy.where(y > 0, y, F32(first) * numpy.expm1(numpy.minimum(y, 0))))])
    attrs = {"activation": name, "activation_alpha": first, "alpha": alpha, "transB": turned}
    return Case([a, b], attrs, depth=k, results=[wanted.astype(F32)])


@microsoft("GemmaRotaryEmbedding", plain=True)
def gemma_rotary(d):
    b, h, s, size = d.extent(3), d.extent(3), d.extent(5), d.extent(8)
    emb, states = d.array(F32, [b, s, size]), [d.array(F16, [b, h, s, size]) for _ in range(4)]
    cosine, sine = (f(emb.astype(numpy.float64)).astype(F16).astype(numpy.float64)[:, None] for f in (numpy.cos, numpy.sin))
    q, q_rot, k, k_rot = doubles(*states)
    wanted = [(q * cosine + q_rot * sine).astype(F16), (k * cosine + k_rot * sine).astype(F16)]
    return Case([emb, *states], outputs=2, results=wanted)


@microsoft("BitmaskDropout", "BitmaskBiasDropout", plain=True)
def bitmask_dropout(d):
    """Without training: other engines draw other random values."""
    x = d.array(F32, d.shape(1, 3, empty=0))
    inputs, y = [x], x
    if d.op == "BitmaskBiasDropout":
        inputs += [d.array(F32, x.shape[-1:]), d.array(F32, x.shape)]
        y = x + inputs[1] + inputs[2]
    mask = numpy.full([-(-x.size // 32)], 2**32 - 1, numpy.uint32)
    return Case(inputs, outputs=2, results=[y, mask])


def attend(q, k, v, scale=None, bias=0.0):
    """For [heads, length, size]."""
    score = q @ k.swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1])) + bias
    e = numpy.exp(score - score.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@microsoft("PackedMultiHeadAttention", "PackedAttention", plain=True)
def packed_attention(d):
    lengths, heads, size, values = d.some(1, 5, d.integer(1, 4)), d.integer(1, 3), d.integer(1, 8), d.integer(1, 8)
    tokens, longest, projected = sum(lengths), max(lengths), d.op == "PackedAttention"
    sums = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int32)
    token = (numpy.arange(longest) < numpy.array(lengths)[:, None]).reshape(-1)
    offset = numpy.argsort(~token, kind="stable").astype(numpy.int32).reshape(len(lengths), longest)
    attrs, packed = {"num_heads": heads}, not projected and d.chance(0.4)
    values = size if packed else values
    columns = heads * (2 * size + values)
    bias = d.array(F32, [columns]) if projected or d.chance(0.5) else None
    if d.chance(0.3):
        attrs["scale"] = d.real(0.1, 1)
    if projected:
        width = d.extent(9)
        inputs = [d.array(F32, [tokens, width], -1, 1), d.array(F32, [width, columns], -1, 1), bias]
        rows = numpy.matmul(*doubles(*inputs[:2]))
        attrs["qkv_hidden_sizes"] = [heads * size, heads * size, heads * values]
        parts = numpy.split(rows, [heads * size, 2 * heads * size], -1)
    elif packed:
        inputs = [d.array(F32, [tokens, heads, 3, size]), None, None, bias]
        parts = [inputs[0][:, :, i].reshape(tokens, -1).astype(numpy.float64) for i in range(3)]
    else:
        inputs = [d.array(F32, [tokens, heads * n]) for n in (size, size, values)] + [bias]
        parts = doubles(*inputs[:3])
    if bias is not None:
        parts = [part + more for part, more in zip(parts, numpy.split(bias, [heads * size, 2 * heads * size]))]
    inputs += [offset, sums]
    more = None
    if d.chance(0.4):
        more = d.array(F32, [d.choice([1, len(lengths)]), d.choice([1, heads]), longest, longest])
        inputs.append(more)
    wanted = numpy.zeros([tokens, heads * values])
    for b, (start, end) in enumerate(zip(sums, sums[1:])):
        q, k, v = (part[start:end].reshape(end - start, heads, -1).transpose(1, 0, 2) for part in parts)
        add = 0.0 if more is None else more[b % more.shape[0]][:, :end - start, :end - start].astype(numpy.float64)
        wanted[start:end] = attend(q, k, v, attrs.get("scale"), add).transpose(1, 0, 2).reshape(end - start, -1)
    return Case(inputs, attrs, depth=20, results=[wanted.astype(F32)])


@microsoft("DecoderMaskedMultiHeadAttention", plain=True)
def decoder_masked(d):
    """ONNX Runtime has a CPU kernel."""
    b, heads, size, past = d.extent(3), d.integer(1, 3), 2 * d.integer(1, 4), d.integer(1, 6)
    query, width = d.array(F32, [b, 1, heads * size]), heads * size
    bias = d.array(F32, [3 * width]) if d.chance(0.4) else None
    if d.chance(0.4):  # another sequence's keys
        keys = [d.array(F32, [b, heads, past, size]) for _ in range(2)]
        mask = d.array(numpy.int32, [b, past], 0, 1) if d.chance(0.5) else None
        return Case([query, *keys, mask, *[None] * 6, bias], {"num_heads": heads}, depth=10)
    keys = [d.array(F32, [b, 1, width]) for _ in range(2)]
    held = d.integer(0, past - 1)  # ONNX Runtime requires a longer cache
    mask = d.array(numpy.int32, [b, held + 1], 0, 1) if d.chance(0.5) else None
    if mask is not None:
        mask[:, -1] = 1
    before = [d.array(F32, [b, heads, past, size]) for _ in range(2)]
    more = d.array(F32, [1, heads, 1, held + 1]) if d.chance(0.4) else None
    inputs = [query, *keys, mask, more, *before, numpy.array([held], numpy.int32), None, None, bias]
    return Case(inputs, {"num_heads": heads, "past_present_share_buffer": 1}, outputs=3, depth=10)


def laid_out(x, order):
    """The numbers of the matrices, reordered, in the original shape."""
    rows = x.reshape(-1, *((x.shape[-2], x.shape[-1]) if x.ndim > 1 else (1, x.shape[0])))
    if order == 0:
        rows = rows.swapaxes(1, 2)
    elif order == 2:
        rows = rows.reshape(rows.shape[0], rows.shape[1], -1, 32).swapaxes(1, 2)
    return numpy.ascontiguousarray(rows).reshape(x.shape)


@microsoft("QuantizeWithOrder", "DequantizeWithOrder", plain=True)
def with_order(d):
    orders = d.some(0, 2, 2)
    shape = d.shape(0, 2, largest=4, empty=0) + [32 * d.integer(1, 2) if 2 in orders else d.extent(9)]
    scale, attrs = numpy.array(2.0 ** d.integer(-4, 0), F32), {"order_input": orders[0], "order_output": orders[1]}
    if d.op == "DequantizeWithOrder":
        x, dtype = d.full_range(numpy.int8, shape), d.choice([F32, F16])
        attrs["to"] = 1 if dtype == F32 else 10
        wanted = (x * scale).astype(dtype)
    else:
        x = d.array(d.choice([F32, F16]), shape, -9, 9)
        wanted = rounded(x.astype(F32) / scale, 0, numpy.int8)
    return Case([laid_out(x, orders[0]), scale], attrs, results=[laid_out(wanted, orders[1])])


@microsoft("QOrderedGelu", "QOrderedLayerNormalization", "QOrderedMatMul", plain=True)
def ordered(d):
    x, scale, to = d.full_range(numpy.int8, d.shape(2, 3, empty=0)), *(numpy.array(d.real(0.01, 0.1), F32) for _ in range(2))
    v, n, tolerance = x.astype(numpy.float64) * scale, x.shape[-1], (0, 1)  # a half may go either way
    if d.op == "QOrderedGelu":
        erf = numpy.vectorize(math.erf, otypes=[numpy.float64])
        wanted, inputs = v / 2 * (1 + erf(v / math.sqrt(2))), [x, scale, to]
    elif d.op == "QOrderedLayerNormalization":
        gamma, beta = d.array(F32, [n]), d.array(F32, [n]) if d.chance(0.5) else None
        wanted = (v - v.mean(-1, keepdims=True)) / numpy.sqrt(v.var(-1, keepdims=True) + 1e-5) * gamma
        wanted, inputs = wanted + (0 if beta is None else beta), [x, scale, gamma, beta, to]
    else:
        m = d.extent(6)
        b, by = d.full_range(numpy.int8, [m, n]), d.array(F32, d.choice([[], [m]]), 0.01, 0.1)
        wanted, inputs = v @ (b.astype(numpy.float64) * by.reshape(-1, 1)).T, [x, scale, b, by, to]
        if d.chance(0.5):
            inputs.append(d.array(F32, [m]))
            wanted = wanted + inputs[-1]
        attrs = {"order_A": 1, "order_B": 0, "order_Y": 1}
        return Case(inputs, attrs, results=[rounded(wanted / to, 0, numpy.int8)], tolerance=tolerance)
    return Case(inputs, results=[rounded(wanted / to, 0, numpy.int8)], tolerance=tolerance)
