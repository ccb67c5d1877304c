"""Random cases of Fourier transforms, window functions, losses and attention."""
import numpy

from draw import Case, operator


def tolerance(length):
    """ONNX Runtime takes any length but a power of two by Bluestein's convolution, all in the signal's type: what it
    gives is some 1e-5 of the largest frequency away from numpy's."""
    return (1e-4, 1e-4 if length < 16 or length & (length - 1) == 0 else 2e-2)


@operator("DFT", plain=True)  # a transform's sums include every element: an infinity makes all of them NaN
def dft(d):
    dtype = d.dtype(among=(numpy.float32, numpy.float64))
    shape = [d.integer(1, 3), *d.some(2, 9, d.integer(1, 2))]
    if d.chance(0.5):  # several steps, or a convolution
        shape[d.integer(1, len(shape) - 1)] = d.choice([26, 60, 64, 75, 128, 131, 200, 289, 360])
    inverse, onesided = d.choice([(0, 0), (0, 1), (1, 0)])
    parts = 1 if onesided else d.choice([1, 2]) if not inverse else 2
    axis = d.integer(1, len(shape) - 1)
    length = numpy.array(shape[axis] + d.integer(-1, 2), numpy.int64) if d.chance(0.4) else None
    inputs, attrs = [d.array(dtype, [*shape, parts]), length], {"inverse": inverse, "onesided": onesided}
    if d.opset < 20:
        attrs["axis"] = axis
    else:
        inputs.append(numpy.array(axis, numpy.int64))
    extent = shape[axis] if length is None else int(length)
    return Case(inputs, attrs, constant=(1, 2), tolerance=tolerance(extent))


@operator("STFT", plain=True)
def stft(d):
    length = d.choice([d.integer(2, 8), d.integer(9, 150)])
    dtype = d.dtype(among=(numpy.float32, numpy.float64))
    signal = d.array(dtype, [d.integer(1, 2), length + d.integer(0, 12), 1])
    inputs = [signal, numpy.array(d.integer(1, 4), numpy.int64)]
    inputs += [d.array(dtype, [length])] if d.chance(0.5) else [None, numpy.array(length, numpy.int64)]
    return Case(inputs, {"onesided": d.integer(0, 1)}, constant=(1, 3), tolerance=tolerance(length))


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window_function(d):
    attrs = {"periodic": d.integer(0, 1), "output_datatype": d.choice([1, 11])}
    return Case([numpy.array(d.integer(2, 20), d.choice([numpy.int32, numpy.int64]))], attrs, constant=(0,),
                tolerance=(1e-4, 1e-5))


@operator("MelWeightMatrix")
def mel_weight_matrix(d):
    rate = d.choice([8000, 16000])
    inputs = [numpy.array(v, numpy.int64) for v in (d.integer(1, 8), d.choice([16, 64, 100]), rate)]
    edges = [numpy.array(v, numpy.float32) for v in (d.choice([0, 80]), rate / 2)]
    return Case(inputs + edges, constant=(0, 1))


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def likelihood_loss(d):
    n, classes, space = d.extent(4), d.integer(2, 6), d.some(1, 4, d.integer(0, 2))
    inputs = [d.array(numpy.float32, [n, classes, *space]), d.array(numpy.int64, [n, *space], 0, classes - 1)]
    if d.chance(0.5):
        inputs.append(d.array(numpy.float32, [classes], 0.5, 2))
    attrs = {"reduction": d.choice(["none", "sum", "mean"])}
    if d.chance(0.3):
        attrs["ignore_index"] = d.integer(0, classes - 1)
        inputs[1][0] = (attrs["ignore_index"] + 1) % classes  # the mean is not over nothing
    return Case(inputs, attrs, depth=50)


@operator("Dropout")
def dropout(d):
    x = d.array(d.dtype(), d.shape(1, 4))
    return Case([x], {"ratio": 0.3} if d.opset < 12 else {}, outputs=d.choice([1, 2]) if d.opset >= 12 else 1)


@operator("Attention", finite=True)  # masked elements may be multiplied by zero or left out
def attention(d):
    batch, length, keys, size, value_size = d.extent(3), d.extent(4), d.extent(5), d.integer(1, 5), d.integer(1, 4)
    kv_heads, group, past = d.integer(1, 2), d.integer(1, 3), d.integer(1, 3) if d.chance(0.3) else 0
    heads, flat, dtype = kv_heads * group, d.chance(0.5), numpy.float32

    def tensor(count, extent, width):
        return d.array(dtype, [batch, extent, count * width] if flat else [batch, count, extent, width], -2, 2)

    inputs = [tensor(heads, length, size), tensor(kv_heads, keys, size), tensor(kv_heads, keys, value_size)]
    total = keys + past
    mask = d.shrunk([batch, heads])[:d.integer(0, 2)] + [length, total]
    inputs.append(d.choice([None, d.array(dtype, mask), d.array(numpy.bool_, mask)]))
    if past:
        inputs += [d.array(dtype, [batch, kv_heads, past, width]) for width in (size, value_size)]
    # ONNX Runtime lets a single query attend to all keys, also later ones.
    attrs = {"is_causal": int(d.chance(0.3) and (length > 1 or keys == 1))}
    if flat:
        attrs.update(q_num_heads=heads, kv_num_heads=kv_heads)
    if d.chance(0.3):
        attrs["scale"] = d.real(0.1, 1)
    if d.chance(0.3):
        attrs["softcap"] = d.real(1, 4)
    outputs = 3 if past else 1
    if outputs == 3 and d.chance(0.5):
        outputs, attrs["qk_matmul_output_mode"] = 4, d.choice([0, 1, 3])  # 2: it has no infinities
    return Case(inputs, attrs, outputs=outputs, depth=20)


@operator("RotaryEmbedding")
def rotary_embedding(d):
    batch, length, heads, size = d.extent(3), d.extent(5), d.integer(1, 3), 2 * d.integer(1, 4)
    flat, given, turned, attrs = d.chance(0.5), d.chance(0.6), size, {"interleaved": d.integer(0, 1)}
    if flat:
        attrs["num_heads"] = heads
    if size > 2 and d.chance(0.4):
        attrs["rotary_embedding_dim"] = turned = 2
    rows = [9] if given else [batch, length]
    inputs = [d.array(numpy.float32, [batch, length, heads * size] if flat else [batch, heads, length, size])]
    inputs += [d.array(numpy.float32, [*rows, turned // 2], -1, 1) for _ in range(2)]
    if given:
        inputs.append(d.array(numpy.int64, [batch, length], 0, 8))
    return Case(inputs, attrs)


@operator("TensorScatter")
def tensor_scatter(d):
    batch, most, width = d.integer(1, 3), d.integer(3, 6), d.integer(1, 4)
    length, circular = d.integer(1, 3), d.chance(0.5)
    start = d.array(numpy.int64, [batch], 0, most - 1 if circular else most - length)
    dtype = d.dtype()
    inputs = [d.array(dtype, [batch, 2, extent, width]) for extent in (most, length)]
    return Case(inputs + [start], {"mode": "circular" if circular else "linear"})
