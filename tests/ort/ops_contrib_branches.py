"""Random cases of norms, gates and mixes of branches."""
import numpy

from draw import Case
from ops_contrib import microsoft

HALF = (numpy.float32, numpy.float32, numpy.float16)


def gates(d, lead, c, h, flat, dtype):
    shape = d.choice([[c], [c, 1], [c, h]] + [[c * h]] * flat)
    return d.array(dtype, lead + shape, -2, 2)


@microsoft("BranchwiseRMSNorm", plain=True)
def branchwise(d):
    dtype, lead, c, h, flat = d.choice(HALF), d.shape(0, 3), d.integer(1, 4), d.extent(9), d.chance(0.5)
    inputs = [d.array(dtype, lead + ([c * h] if flat else [c, h]))]
    if d.chance(0.7):
        inputs.append(d.array(dtype, d.choice([[c * h], [c, h], [h]])))
    return Case(inputs, {"num_branches": c} if flat else {}, depth=h)


@microsoft("GatedRMSNorm", plain=True)
def gated(d):
    dtype, c = d.choice(HALF), d.extent(9)
    shape = d.shape(0, 3) + [c * d.integer(1, 4)]
    inputs = [d.array(dtype, shape), d.array(dtype, [c]), d.array(dtype, shape)]
    return Case(inputs, {"activation": d.choice(["silu", "swish", "sigmoid"])} if d.chance(0.7) else {}, depth=c)


@microsoft("EngramGate", plain=True)
def engram(d):
    dtype, b, s, c, h = d.choice(HALF), d.extent(3), d.extent(4), d.integer(1, 3), d.extent(9)
    inputs = [d.array(dtype, [b, s, c, h]), d.array(dtype, [b, s, c, h]), d.array(dtype, [b, s, h]),
              d.array(dtype, [c, h], -1, 1), d.array(dtype, [c, h], -1, 1)]
    outputs = d.integer(1, 2)
    if outputs == 2:
        inputs.append(d.array(dtype, [c, h]))
    return Case(inputs, outputs=outputs, depth=h)


@microsoft("HyperConnectionPreMix", plain=True)
def pre_mix(d):
    dtype, lead, c, h, flat = d.choice(HALF), d.shape(1, 2), d.integer(1, 4), d.extent(9), d.chance(0.5)
    streams = d.array(dtype, lead + ([c * h] if flat else [c, h]))
    attrs = {"num_branches": c} if flat else {}
    if d.chance(0.5):
        attrs["reduction_scale"] = d.real(-2, 2)
    return Case([streams, gates(d, lead, c, h, flat, dtype)], attrs, depth=c)


@microsoft("HyperConnectionPostMix", plain=True)
def post_mix(d):
    dtype, lead, c, h, flat = d.choice(HALF), d.shape(1, 2), d.integer(1, 4), d.extent(9), d.chance(0.5)
    inputs = [d.array(dtype, lead + ([c * h] if flat else [c, h])), d.array(dtype, lead + [h]),
              gates(d, lead, c, h, False, dtype)]
    if d.chance(0.7):
        inputs.append(d.array(dtype, lead + [c, c]))
    return Case(inputs, {"num_branches": c} if flat else {}, depth=2 * c)


@microsoft("LinearAttentionGate", plain=True)
def attention_gate(d):
    dtype, shape = d.choice(HALF), [d.extent(3), d.extent(5), d.extent(6)]
    inputs = [d.array(dtype, shape), d.array(numpy.float32, shape[-1:]), d.array(numpy.float32, shape[-1:])]
    if d.chance(0.5):
        return Case(inputs, depth=4)
    return Case([*inputs, d.array(dtype, shape)], outputs=2, depth=4)


@microsoft("CausalConvWithState", plain=True)
def causal_conv(d):
    dtype, b, length, taps = d.choice(HALF), d.extent(3), d.integer(1, 7), d.integer(2, 4)
    channels = d.shape(1, 2, largest=4, empty=None) if d.chance(0.4) else None
    attrs = {"activation": d.choice(["none", "silu", "swish"])}
    dilation = d.choice([1, 1, 2, 3])
    if dilation > 1:
        attrs["dilation"] = dilation
    window = d.choice([0, 0, 1, 3])
    if window:
        attrs["state_window"] = window
    before = (taps - 1) * dilation
    if channels:
        attrs["channels_last"] = 1
        c, shape, state = int(numpy.prod(channels)), [b, length, *channels], [b, before, *channels]
    else:
        c = d.extent(5)
        shape, state = [b, c, length], [b, c, before]
    inputs = [d.array(dtype, shape), d.array(dtype, [c, 1, taps], -1, 1), d.array(dtype, [c]) if d.chance(0.6) else None]
    if d.chance(0.6):
        inputs.append(d.array(dtype, ([window] if window else []) + state))
    results = windowed(inputs, attrs, before, bool(channels)) if window else None  # ONNX Runtime has no CPU kernel
    return Case(inputs, attrs, outputs=2, depth=2 * taps, results=results)


def windowed(inputs, attrs, before, last):
    """Results of CausalConvWithState with a window of states."""
    x, weight, bias, past = (inputs + [None])[:4]
    shape, dilation, window = x.shape, attrs.get("dilation", 1), attrs["state_window"]
    flat = x.reshape(shape[0], shape[1], -1).swapaxes(1, 2) if last else x  # [n, c, t]
    n, c, length = flat.shape
    if past is None:
        state = numpy.zeros([n, c, before], x.dtype)
    else:
        state = past[-1].reshape(n, before, c).swapaxes(1, 2) if last else past[-1]
    p = numpy.concatenate([state, flat], -1)
    y = sum(p[..., k * dilation:k * dilation + length].astype(numpy.float64) * weight[:, 0, k:k + 1]
            for k in range(weight.shape[2]))
    y = y if bias is None else y + bias.astype(numpy.float64)[:, None]
    y = y if attrs["activation"] == "none" else y / (1 + numpy.exp(-y))
    slots = [length - window + j + 1 for j in range(window)]
    states = numpy.stack([p[..., end:end + before] if end > 0 else numpy.zeros_like(state) for end in slots])
    if last:
        y = y.swapaxes(1, 2).reshape(shape)
        states = states.swapaxes(2, 3).reshape(window, n, before, *shape[2:])
    return [y.astype(x.dtype), states]


@microsoft("MRotaryEmbedding", plain=True)
def mrotary(d):
    batch, length, heads, half = d.extent(3), d.extent(5), d.integer(1, 3), d.integer(3, 9)
    third = half // 3
    section = d.choice([[half - 2 * third, third, third], [half, 0, 0], [half - third, third, 0]])
    attrs = {"mrope_section": section, "mrope_layout": d.integer(0, 1), "interleaved": d.integer(0, 1)}
    size = 2 * half
    shape = [batch, length, heads * size] if d.chance(0.6) else [batch, heads, length, size]
    if len(shape) == 3 and d.chance(0.5):
        attrs["num_heads"] = heads
    cache = [d.array(numpy.float32, [10, half], -1, 1) for _ in range(2)]
    return Case([d.array(numpy.float32, shape), d.array(numpy.int64, [3, batch, length], 0, 9), *cache], attrs)


@microsoft("QEmbedLayerNormalization", plain=True)
def quantised_embed(d):
    batch, length, size, dtype = d.extent(3), d.extent(5), d.integer(4, 8), numpy.uint8
    ids, mask = d.array(numpy.int32, [batch, length], 0, 9), d.array(numpy.int32, [batch, length], 0, 1)
    segments = d.array(numpy.int32, [batch, length], 0, 1) if d.chance(0.6) else None
    has = segments is not None
    tables = [d.full_range(dtype, [rows, size]) for rows in (10, 7, 2)] + [d.full_range(dtype, [size]) for _ in range(2)]
    scales = [numpy.array(d.real(0.01, 0.1), numpy.float32) for _ in range(5)]
    zeros = [d.full_range(dtype, []) for _ in range(5)]
    for part in (tables, scales, zeros):
        part[2] = part[2] if has else None
    return Case([ids, segments, *tables, mask if d.chance(0.5) else None, *scales, *zeros], outputs=2, depth=20,
                constant=tuple(range(8, 18)))


@microsoft("ConvTransposeWithDynamicPads", plain=True)
def conv_transpose_dynamic(d):
    group, kernel = d.choice([1, 1, 2]), d.some(1, 3, 2)
    c, m = group * d.integer(1, 3), d.integer(1, 3)
    x = d.array(numpy.float32, [d.integer(1, 2), c, d.integer(3, 6), d.integer(3, 6)])
    inputs = [x, d.array(numpy.float32, [c, m, *kernel]), numpy.array(d.some(0, 1, 4), numpy.int64)]
    if d.chance(0.5):
        inputs.append(d.array(numpy.float32, [m * group]))
    attrs = {"group": group, "strides": d.some(1, 3, 2), "dilations": d.some(1, 2, 2), "kernel_shape": kernel}
    return Case(inputs, attrs, constant=(2,), depth=9 * c)


@microsoft("MoE", plain=True)
def moe(d):
    f32, experts, width, inner, tokens = numpy.float32, d.integer(1, 5), d.extent(9), d.extent(9), d.integer(1, 6)
    kind = d.choice(["relu", "gelu", "silu", "identity", "swiglu"])
    fusion = d.integer(1, 2) if kind == "swiglu" else 0
    rows = inner * (2 if fusion else 1)
    shape = [tokens, width] if d.chance(0.6) else [1, tokens, width]
    inputs = [d.array(f32, shape, -1, 1), d.array(f32, [tokens, experts], -2, 2), d.array(f32, [experts, rows, width], -1, 1),
              d.array(f32, [experts, rows]) if d.chance(0.6) else None, d.array(f32, [experts, width, inner], -1, 1),
              d.array(f32, [experts, width]) if d.chance(0.6) else None]
    attrs = {"k": d.integer(1, experts), "activation_type": kind, "normalize_routing_weights": d.integer(0, 1)}
    if fusion:
        attrs.update(swiglu_fusion=fusion, activation_alpha=1.702, activation_beta=d.choice([0.0, 1.0]))
        if d.chance(0.5):
            attrs["swiglu_limit"] = d.real(1, 7)
    elif kind in ("silu", "relu") and d.chance(0.4):
        inputs += [d.array(f32, [experts, inner, width], -1, 1), d.array(f32, [experts, inner])]
    own = fusion == 2 or len(inputs) > 6  # ONNX Runtime has a CPU kernel of neither
    return Case(inputs, attrs, depth=width * inner, results=[mixture(inputs, attrs)] if own else None)


def mixture(inputs, attrs):
    """MoE, in doubles."""
    x, scores, w1, b1, w2, b2, w3, b3 = [None if i is None else i.astype(numpy.float64) for i in (inputs + [None] * 2)[:8]]
    rows = x.reshape(-1, x.shape[-1])
    p = numpy.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    y = numpy.zeros_like(rows)
    for t, row in enumerate(rows):
        chosen = numpy.argsort(-scores[t], kind="stable")[:attrs["k"]]
        shares = p[t, chosen] / (p[t, chosen].sum() if attrs["normalize_routing_weights"] else 1)
        for e, share in zip(chosen, shares):
            h = w1[e] @ row + (0 if b1 is None else b1[e])
            if attrs["activation_type"] == "swiglu":
                g, l = (h[::2], h[1::2]) if attrs["swiglu_fusion"] == 1 else numpy.split(h, 2)
                limit = attrs.get("swiglu_limit", numpy.inf)
                g, l = numpy.minimum(g, limit), numpy.clip(l, -limit, limit)
                h = g / (1 + numpy.exp(-attrs["activation_alpha"] * g)) * (l + attrs["activation_beta"])
            else:
                h = numpy.maximum(h, 0) if attrs["activation_type"] == "relu" else h / (1 + numpy.exp(-h))
                h = h if w3 is None else h * (w3[e] @ row + b3[e])
            y[t] += share * (w2[e] @ h + (0 if b2 is None else b2[e]))
    return y.reshape(x.shape).astype(inputs[0].dtype)


@microsoft("QMoE", plain=True)
def quantised_moe(d):
    """Only 4-bit blocks: ONNX Runtime rounds the other operand of 8-bit blocks."""
    f32, experts, tokens = numpy.float32, d.integer(1, 4), d.integer(1, 5)
    block = d.choice([0, 0, 16, 32])
    bits = 4 if block else d.choice([4, 8])
    width, inner = (d.integer(1, 3) * (block or 16) for _ in range(2))
    kind = d.choice(["relu", "gelu", "silu", "identity", "swiglu"])
    rows = inner * 2 if kind == "swiglu" else inner
    inputs = [d.array(f32, [tokens, width], -1, 1), d.array(f32, [tokens, experts], -2, 2)]
    zeros = []
    for n, k in ((rows, width), (width, inner)):
        inputs += [d.full_range(numpy.uint8, [experts, n, k * bits // 8]),
                   d.array(f32, [experts, n, k // block] if block else [experts, n], 0.001, 0.02),
                   d.array(f32, [experts, n]) if d.chance(0.5) else None]
        packed = [experts, n, -(-(k // block) * bits // 8)] if block else [experts, -(-n * bits // 8)]
        zeros.append(d.full_range(numpy.uint8, packed))
    inputs += [None, None, None] + (zeros + [None] if d.chance(0.5) else [None] * 3)
    if d.chance(0.3):
        inputs.append(d.array(f32, [tokens, experts], 0, 1))
    attrs = {"k": d.integer(1, experts), "activation_type": kind, "normalize_routing_weights": d.integer(0, 1),
             "expert_weight_bits": bits}
    if block:
        attrs["block_size"] = block
    if kind == "swiglu":
        attrs.update(swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0)
    return Case(inputs, attrs, depth=width, tolerance=(1e-3, 2e-3), constant=tuple(range(2, 14)))
