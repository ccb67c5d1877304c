"""Generators of the attention operators that ONNX Runtime lacks: the wanted results are computed here with NumPy, in double
precision, from the operators' definitions."""
import ml_dtypes
import numpy

import draw
from draw import Case

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
    # Keys of a length of at most one: a delta rule does not grow its state.
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
