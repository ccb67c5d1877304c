"""Random cases of small operators of ONNX Runtime: those once experimental in ai.onnx, and copies of others. Results without
a CPU kernel are computed here."""
import math

import numpy

import draw
from draw import Case
from ops_contrib import Q8, microsoft, quantized
from ops_linear import window

TRIAL_OPSET = 7  # the experimental operators' opset: opset 10 removed them


@draw.operator("Affine", "ParametricSoftplus", "Scale", "ScaledTanh")
def on_trial(d):
    d.opset = TRIAL_OPSET
    names = ["scale"] if d.op == "Scale" else ["alpha", "beta"]
    return Case([d.array(numpy.float32, d.shape())], {name: d.real(-2, 2) for name in names})


@draw.operator("ImageScaler", "Crop")
def images(d):
    d.opset = TRIAL_OPSET
    shape = [d.extent(3), d.integer(1, 4), d.integer(6, 9), d.integer(6, 9)]
    if d.op == "ImageScaler":
        attrs = {"scale": d.real(-2, 2), "bias": [d.real(-2, 2) for _ in range(shape[1])]}
    else:
        attrs = {"border": d.some(0, 2, 4)}
        if d.chance(0.5):
            attrs["scale"] = d.some(1, 3, 2)
    return Case([d.array(numpy.float32, shape)], attrs)


@microsoft("ScaledSiLU")
def scaled_silu(d):
    dtype = d.choice([numpy.float32, numpy.float16])
    inputs = [d.array(dtype, d.shape())]
    if d.chance(0.5):
        inputs.append(numpy.array(d.real(-2, 2), dtype))
    return Case(inputs, {"alpha": d.real(-2, 2)})


@microsoft("GatedAdd")
def gated_add(d):
    dtype, shape = d.choice([numpy.float32, numpy.float16]), d.shape(1, 3, empty=0)
    return Case([d.array(dtype, shape), d.array(dtype, shape), d.array(dtype, [*shape[:-1], 1])])


@microsoft("CDist", plain=True)
def cdist(d):
    dtype, width = d.choice([numpy.float32, numpy.float64]), d.extent(9)
    metric = d.choice(["sqeuclidean", "euclidean"])
    inputs = [d.array(dtype, [d.extent(6), width]), d.array(dtype, [d.extent(6), width])]
    return Case(inputs, {"metric": metric}, depth=100)


@microsoft("MurmurHash3")
def murmur_hash(d):
    dtype = d.choice([numpy.int32, numpy.uint32, numpy.int64, numpy.uint64, numpy.float32, numpy.float64])
    shape = d.shape(1, 3, empty=0)
    x = d.array(dtype, shape) if numpy.dtype(dtype).kind == "f" else d.full_range(dtype, shape)
    return Case([x], {"seed": d.integer(0, 99), "positive": d.integer(0, 1)})


@microsoft("SampleOp")
def sample(d):
    return Case([d.array(numpy.float32, d.shape())])


@microsoft("ExpandDims")
def expand_dims(d):
    shape = d.shape(1, 4)
    return Case([d.array(numpy.float32, shape), numpy.array(d.axis(len(shape) + 1), numpy.int32)], constant=(1,))


@microsoft("UnfoldTensor")
def unfold(d):
    shape = d.shape(1, 4, empty=0)
    axis = d.axis(len(shape))
    dtype = d.choice([numpy.float32, numpy.int64, numpy.float64])
    return Case([d.array(dtype, shape)], {"dim": axis, "size": d.integer(1, shape[axis]), "step": d.integer(1, 3)})


@microsoft("NGramRepeatBlock", plain=True)
def ngram_repeat_block(d):
    rows, length, tokens = d.extent(4), d.integer(1, 9), d.integer(2, 4)
    return Case([d.array(numpy.int64, [rows, length], 0, tokens - 1), d.array(numpy.float32, [rows, tokens])],
                {"ngram_size": d.integer(1, 4)})


@microsoft("CropAndResize", plain=True)
def crop_and_resize(d):
    n, regions = d.extent(3), d.extent(5)
    x = d.array(numpy.float32, [n, d.extent(3), d.extent(7), d.extent(7)])
    crop = numpy.array(d.some(1, 5, 2), numpy.int32)
    attrs = {"mode": d.choice(["bilinear", "nearest"]), "extrapolation_value": d.real(-9, 9)}
    return Case([x, d.array(numpy.float32, [regions, 4], -0.2, 1.2), d.array(numpy.int32, [regions], 0, n - 1), crop], attrs,
                constant=(3,), depth=10)


@microsoft("GatherND")
def gather_nd(d):
    data = d.shape(1, 4, empty=0)
    named = d.integer(1, len(data))
    outer = d.shape(1, 2, largest=4, empty=0)
    index = numpy.stack([d.array(d.choice([numpy.int32, numpy.int64]), outer, 0, extent - 1) for extent in data[:named]], -1)
    return Case([d.array(d.choice([numpy.float32, numpy.int32]), data), index])


@microsoft("Pad")
def pad(d):
    shape = d.shape(1, 4, empty=0)
    mode = d.choice(["constant", "constant", "reflect", "edge"])
    pads = [d.integer(0, extent - 1 if mode == "reflect" else 3) for extent in shape + shape]
    inputs = [d.array(numpy.float32, shape), draw.i64(pads)]
    if mode == "constant" and d.chance(0.6):
        inputs.append(d.array(numpy.float32, [1]))
    return Case(inputs, {"mode": mode}, constant=(1,))


@microsoft("Range")
def range_(d):
    dtype = d.choice([numpy.float32, numpy.float64, numpy.int32, numpy.int64, numpy.int16])
    values = [numpy.array([value], dtype) for value in (d.integer(-9, 9), d.integer(-9, 9), d.choice([-2, -1, 1, 2, 3]))]
    return Case(values[:d.choice([2, 3])], constant=(0, 1, 2))


@microsoft("Trilu")
def trilu(d):
    shape = [*d.shape(0, 2), d.extent(6), d.extent(6)]
    inputs = [d.array(d.choice([numpy.float32, numpy.int64]), shape)]
    if d.chance(0.6):
        inputs.append(draw.i64(d.integer(-3, 3)))
    return Case(inputs, {"upper": d.integer(0, 1)})


@microsoft("GridSample", plain=True)
def grid_sample(d):
    n, channels = d.extent(3), d.extent(3)
    attrs = {"mode": d.choice(["bilinear", "nearest", "bicubic"]), "align_corners": d.integer(0, 1),
             "padding_mode": d.choice(["zeros", "border", "reflection"])}
    x = d.array(numpy.float32, [n, channels, d.integer(2, 6), d.integer(2, 6)])
    return Case([x, d.array(numpy.float32, [n, d.extent(4), d.extent(4), 2], -1.3, 1.3)], attrs, depth=20)


@microsoft("QLinearConv")
def qlinear_conv(d):
    kernel, group = d.some(1, 3, 2), d.choice([1, 2])
    out, inner = group * d.integer(1, 3), d.integer(1, 3)
    spatial = [d.integer(4, 7), d.integer(4, 7)]
    last = d.integer(0, 1)
    x = [d.integer(1, 2), *spatial, group * inner] if last else [d.integer(1, 2), group * inner, *spatial]
    tx, tw = numpy.uint8, d.choice(Q8)
    each = [out] if d.chance(0.5) else []
    inputs = [*quantized(d, tx, x), d.full_range(tw, [out, inner, *kernel]), d.array(numpy.float32, each, 0.01, 0.1),
              numpy.zeros(each, tw), numpy.array(d.real(0.5, 2), numpy.float32), d.full_range(tx, [])]
    if d.chance(0.5):
        inputs.append(d.array(numpy.int32, [out], -1000, 1000))
    attrs = {**window(d, 2, kernel), "group": group, "channels_last": last}
    return Case(inputs, attrs, constant=tuple(range(1, len(inputs))), tolerance=(0, 1))


@microsoft("NhwcMaxPool")
def nhwc_max_pool(d):
    kernel = d.some(1, 3, 2)
    x = [d.integer(1, 2), d.integer(4, 7), d.integer(4, 7), d.integer(1, 5)]
    return Case([d.full_range(d.choice(Q8), x)], {**window(d, 2, kernel), "kernel_shape": kernel})


@microsoft("MaxpoolWithMask", plain=True)
def maxpool_with_mask(d):
    axes = d.integer(1, 3)
    kernel, spatial = d.some(1, 3, axes), d.some(3, 6, axes)
    attrs = {**window(d, axes, kernel), "kernel_shape": kernel}
    attrs.pop("dilations", None)
    attrs.pop("auto_pad", None)  # ONNX Runtime crops the image if windows are smaller than their strides
    images = [d.integer(1, 2), d.integer(1, 3)]
    masks = d.choice([[1, 1], [1, 1], images, [1, images[1]]])
    mask = (d.rng.random([*masks, *spatial]) < 0.7).astype(numpy.int32)
    return Case([d.array(numpy.float32, [*images, *spatial]), mask], attrs)


@microsoft("MatMulInteger16")
def matmul_integer16(d):
    m, k, n = d.extent(6), d.extent(6), d.extent(6)
    return Case([d.array(numpy.int16, [m, k], -999, 999), d.array(numpy.int16, [k, n], -999, 999)])


# ---- Operators without a CPU kernel in ONNX Runtime


def gelu(x):
    return 0.5 * x * (1 + numpy.vectorize(math.erf, otypes=[numpy.float64])(x / math.sqrt(2)))


def floats64(*arrays):
    return [array.astype(numpy.float64) for array in arrays]


@microsoft("BiasAdd", "BiasSplitGelu", "BiasDropout", plain=True)
def biased(d):
    shape = [d.extent(3), d.extent(4), 2 * d.integer(1, 4)]
    inputs = [d.array(numpy.float32, shape), d.array(numpy.float32, shape[-1:]), d.array(numpy.float32, shape)]
    x, bias, skip = floats64(*inputs)
    if d.op == "BiasSplitGelu":
        left, right = numpy.split(x + bias, 2, axis=-1)
        return Case(inputs[:2], results=[(left * gelu(right)).astype(numpy.float32)])
    if d.op == "BiasDropout" and d.chance(0.3):
        return Case(inputs[:2], outputs=2, results=[(x + bias).astype(numpy.float32), numpy.ones(shape, numpy.bool_)])
    return Case(inputs, results=[(x + bias + skip).astype(numpy.float32)])


@microsoft("MulInteger", plain=True)
def mul_integer(d):
    dtype, shape = d.choice(Q8), d.shape(1, 3)
    a, b = d.full_range(dtype, shape), d.full_range(dtype, d.shrunk(shape))
    zero = [d.full_range(dtype, []) if d.chance(0.7) else None for _ in range(2)]
    wanted = (a.astype(numpy.int32) - (0 if zero[0] is None else int(zero[0]))) * (
        b.astype(numpy.int32) - (0 if zero[1] is None else int(zero[1])))
    return Case([a, zero[0], b, zero[1]], results=[wanted.astype(numpy.int32)])


@microsoft("ComplexMul", "ComplexMulConj", plain=True)
def complex_mul(d):
    shape = [*d.shape(1, 3), 2]
    inputs = [d.array(numpy.float32, shape), d.array(numpy.float32, shape)]
    a, b = (x[..., 0] + 1j * x[..., 1] for x in floats64(*inputs))
    y = a * (b.conj() if d.op == "ComplexMulConj" else b)
    return Case(inputs, results=[numpy.stack([y.real, y.imag], -1).astype(numpy.float32)])


@microsoft("Rfft", "Irfft", plain=True)
def rfft(d):
    length = 2 * d.choice([d.integer(1, 8), 30, 64, 77, 131, 180])
    shape = [*d.shape(0, 2, empty=0), length]
    attrs = {"signal_ndim": 1, "onesided": 1, "normalized": 0}
    x = d.array(numpy.float32, shape)
    y = numpy.fft.rfft(x.astype(numpy.float64))
    pairs = numpy.stack([y.real, y.imag], -1).astype(numpy.float32)
    if d.op == "Rfft":
        return Case([x], attrs, results=[pairs], depth=4 * length)
    return Case([pairs], attrs, results=[x], depth=4 * length)


@microsoft("TorchEmbedding", plain=True)
def torch_embedding(d):
    rows = d.integer(1, 9)
    weight, which = d.array(numpy.float32, [rows, d.extent(5)]), d.array(numpy.int64, d.shape(1, 3), 0, rows - 1)
    return Case([weight, which], results=[weight[which]])


@microsoft("GroupNorm", "SkipGroupNorm", plain=True)
def group_norm(d):
    groups = d.integer(1, 4)
    last, active = d.integer(0, 1), d.integer(0, 1)
    n, c, h, w = d.extent(3), groups * d.integer(1, 3), d.integer(1, 4), d.integer(2, 4)
    x = d.array(numpy.float32, [n, h, w, c])
    inputs = [x, d.array(numpy.float32, [c]), d.array(numpy.float32, [c])]
    s, gamma, beta = floats64(*inputs)
    if d.op == "SkipGroupNorm":
        skip = d.array(numpy.float32, d.choice([[n, h, w, c], [n, c], [n, 1, 1, c]]) if last else [n, h, w, c])
        bias = d.array(numpy.float32, [c])
        s = s + (skip[:, None, None] if skip.ndim == 2 else skip) + bias
        inputs += [skip, bias]
    split = s.reshape(n, h, w, groups, c // groups)
    mean, var = split.mean((1, 2, 4), keepdims=True), split.var((1, 2, 4), keepdims=True)
    y = ((split - mean) / numpy.sqrt(var + 1e-3)).reshape(s.shape) * gamma + beta
    if active:
        y = y / (1 + numpy.exp(-y))
    results = [y, s] if d.op == "SkipGroupNorm" else [y]
    if not last:
        inputs = [array.transpose(0, 3, 1, 2).copy() if array.ndim == 4 else array for array in inputs]
        results = [array.transpose(0, 3, 1, 2) for array in results]
    attrs = {"groups": groups, "epsilon": 1e-3, "activation": active, "channels_last": last}
    return Case(inputs, attrs, outputs=len(results), results=[array.astype(numpy.float32) for array in results], depth=10)


@microsoft("NhwcConv", "NhwcFusedConv", plain=True)
def nhwc_conv(d):
    kernel, group, stride = d.some(1, 3, 2), d.choice([1, 2]), d.some(1, 2, 2)
    pads, out, inner = d.some(0, 2, 4), group * d.integer(1, 3), d.integer(1, 3)
    inputs = [d.array(numpy.float32, [d.integer(1, 2), d.integer(4, 6), d.integer(4, 6), group * inner]),
              d.array(numpy.float32, [out, inner, *kernel]), d.array(numpy.float32, [out])]
    x, w, bias = floats64(*inputs)
    x = numpy.pad(x, [(0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)])
    extent = [(x.shape[1 + i] - kernel[i]) // stride[i] + 1 for i in range(2)]
    y = numpy.zeros([x.shape[0], *extent, out])
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            part = x[:, i:i + stride[0] * extent[0]:stride[0], j:j + stride[1] * extent[1]:stride[1]]
            for m in range(out):
                first = m // (out // group) * inner
                y[..., m] += part[..., first:first + inner] @ w[m, :, i, j]
    y += bias
    attrs = {"kernel_shape": kernel, "strides": stride, "pads": pads, "group": group}
    if d.op == "NhwcFusedConv":
        attrs["activation"] = "Relu"
        inputs.append(d.array(numpy.float32, y.shape))
        y = numpy.maximum(y + inputs[-1], 0)
    return Case(inputs, attrs, results=[y.astype(numpy.float32)], depth=30)
