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
