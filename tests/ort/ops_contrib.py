"""Generators for ONNX Runtime's own operators."""
import numpy

import draw
from draw import Case
from ops_linear import window

Q8 = (numpy.uint8, numpy.int8)


def microsoft(*names, **options):
    return draw.operator(*("com.microsoft." + name for name in names), **options)


def scale(d):
    return numpy.array(d.real(0.01, 0.1), numpy.float32)


def quantized(d, dtype, shape):
    """An 8-bit tensor, its scale and zero point."""
    return [d.full_range(dtype, shape), scale(d), d.full_range(dtype, [])]


# ---- Elementwise, normalisation


@microsoft("Gelu", "QuickGelu", "BiasGelu", "FastGelu")
def gelu(d):
    shape = d.shape(1, 4, empty=0)
    inputs = [d.array(numpy.float32, shape)]
    if d.op == "BiasGelu" or (d.op == "FastGelu" and d.chance(0.5)):
        inputs.append(d.array(numpy.float32, shape[-1:]))
    return Case(inputs, {"alpha": d.real(0.5, 2)} if d.op == "QuickGelu" and d.chance(0.5) else {})


@microsoft("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_layer_norm(d):
    dtype = d.choice([numpy.float32, numpy.float32, numpy.float16])
    shape = [d.extent(4), d.extent(5), d.integer(3, 9)]
    size = shape[-1:]
    skip = d.choice([shape, shape, [1, *shape[1:]], shape[1:]])
    inputs = [d.array(dtype, shape), d.array(dtype, skip), d.array(dtype, size)]
    if d.op == "SkipLayerNormalization":
        inputs.append(d.array(dtype, size) if d.chance(0.7) else None)
    if d.chance(0.5):
        inputs.append(d.array(dtype, size))
    return Case(inputs, {"epsilon": 1e-3} if d.chance(0.5) else {}, depth=8)


@draw.operator("SimplifiedLayerNormalization")
def simplified_layer_norm(d):
    shape = d.shape(2, 4, empty=0)
    axis = d.axis(len(shape))
    return Case([d.array(numpy.float32, shape), d.array(numpy.float32, shape[axis:])], {"axis": axis}, depth=8)


@microsoft("EmbedLayerNormalization")
def embed_layer_norm(d):
    batch, length, size = d.extent(3), d.extent(5), d.integer(4, 8)
    ids = d.array(numpy.int32, [batch, length], 0, 9)
    segments = d.array(numpy.int32, [batch, length], 0, 1) if d.chance(0.7) else None
    table = [d.array(numpy.float32, [rows, size]) for rows in (10, 7, 2)]
    inputs = [ids, segments, table[0], table[1], table[2] if segments is not None else None,
              d.array(numpy.float32, [size]), d.array(numpy.float32, [size])]
    if d.chance(0.5):
        inputs.append(d.array(numpy.int32, [batch, length], 0, 1))
    return Case(inputs, outputs=d.choice([2, 3]), depth=8)


# ---- Products


@microsoft("FusedMatMul", "TransposeMatMul")
def fused_matmul(d):
    m, k, n = d.extent(6), d.extent(6), d.extent(6)
    batch = d.shape(0, 2, largest=3, empty=0)
    attrs = {"alpha": d.real(-2, 2)} if d.chance(0.5) else {}
    shapes = []
    for operand, pair in (("A", [m, k]), ("B", [k, n])):
        if d.chance(0.5):
            attrs["trans" + operand] = 1
            pair = pair[::-1]
        if d.chance(0.3) and batch and d.op == "FusedMatMul":
            attrs["transBatch" + operand] = 1
            shapes.append([pair[0], *batch, pair[1]])
        else:
            shapes.append([*batch, *pair])
    return Case([d.array(numpy.float32, shape) for shape in shapes], attrs, depth=k)


ACTIVATIONS = {"HardSwish": None, "Relu": [], "Tanh": [], "Sigmoid": [], "LeakyRelu": [0.1], "Clip": [-1.0, 2.0], "HardSigmoid": [0.3, 0.4]}


@microsoft("FusedConv")
def fused_conv(d):
    kernel = d.some(1, 3, 2)
    x, w = [d.integer(1, 2), 4, d.integer(5, 7), d.integer(5, 7)], [d.choice([2, 4]), 2, *kernel]
    activation = d.choice(list(ACTIVATIONS))
    attrs = {**window(d, 2, kernel), "group": 2, "activation": activation}
    if ACTIVATIONS[activation]:
        attrs["activation_params"] = ACTIVATIONS[activation]
    return Case([d.array(numpy.float32, x), d.array(numpy.float32, w), d.array(numpy.float32, w[:1])], attrs, depth=18)


@microsoft("FusedGemm")
def fused_gemm(d):
    m, k, n = d.extent(6), d.extent(6), d.extent(6)
    alpha, beta, gamma = "activation_alpha", "activation_beta", "activation_gamma"
    needs = {"Relu": (), "Tanh": (), "Sigmoid": (), "Softsign": (), "Softplus": (), "LeakyRelu": (alpha,), "Elu": (alpha,),
             "Celu": (alpha,), "ThresholdedRelu": (alpha,), "HardSigmoid": (alpha, beta), "ScaledTanh": (alpha, beta),
             "ParametricSoftplus": (alpha, beta), "Selu": (alpha, gamma)}
    attrs = {"activation": d.choice(list(needs)), "transB": d.integer(0, 1)}
    attrs.update({name: d.real(0.1, 1.5) for name in (needs[attrs["activation"]] if d.chance(0.8) else (alpha, beta, gamma))})
    b = [n, k] if attrs["transB"] else [k, n]
    return Case([d.array(numpy.float32, [m, k]), d.array(numpy.float32, b), d.array(numpy.float32, [n])], attrs, depth=k)


@microsoft("MatMulIntegerToFloat")
def matmul_integer_to_float(d):
    m, k, n = d.extent(6), d.extent(9), d.extent(6)
    ta, tb = numpy.uint8, d.choice(Q8)
    column = [n] if d.chance(0.5) else []
    inputs = [d.full_range(ta, [m, k]), d.full_range(tb, [k, n]), scale(d),
              d.array(numpy.float32, column, 0.01, 0.1), d.full_range(ta, []) if d.chance(0.6) else None,
              d.full_range(tb, column) if d.chance(0.6) else None]
    if d.chance(0.5):
        inputs.append(d.array(numpy.float32, [n]))
    return Case(inputs, depth=k * 10)


@microsoft("DynamicQuantizeMatMul")
def dynamic_quantize_matmul(d):
    m, k, n = d.extent(6), d.extent(9), d.extent(6)
    tb = d.choice(Q8)
    column = [n] if d.chance(0.5) else []
    # Finite: the range of a row with infinities gives no scale.
    inputs = [d.array(numpy.float32, [m, k], finite=True), d.full_range(tb, [k, n]),
              d.array(numpy.float32, column, 0.01, 0.1, finite=True), d.full_range(tb, column) if d.chance(0.6) else None]
    if d.chance(0.5):
        inputs.append(d.array(numpy.float32, [n]))
    return Case(inputs, depth=k * 10)


@microsoft("MatMulNBits")
def matmul_nbits(d):
    m, k, n, block, bits = d.extent(5), d.integer(1, 70), d.integer(1, 9), d.choice([16, 32]), d.choice([4, 4, 8])
    blocks = -(-k // block)
    inputs = [d.array(numpy.float32, [d.extent(3), m, k]), d.full_range(numpy.uint8, [n, blocks, block * bits // 8]),
              d.array(numpy.float32, [n * blocks], 0.01, 0.1)]
    if d.chance(0.5):
        inputs.append(d.full_range(numpy.uint8, [n * -(-blocks * bits // 8)]))
    return Case(inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, depth=10 * k)


# ---- 8-bit


@microsoft("QGemm")
def qgemm(d):
    m, k, n, ta, tb = d.extent(6), d.extent(9), d.extent(6), numpy.uint8, d.choice(Q8)
    attrs = {"transA": d.integer(0, 1), "transB": d.integer(0, 1), "alpha": d.choice([1.0, 0.5])}
    column = [n] if d.chance(0.5) else []
    inputs = [d.full_range(ta, [k, m] if attrs["transA"] else [m, k]), scale(d), d.full_range(ta, []),
              d.full_range(tb, [n, k] if attrs["transB"] else [k, n]), d.array(numpy.float32, column, 0.01, 0.1),
              d.full_range(tb, column)]
    quantizes = d.chance(0.5)
    if quantizes or d.chance(0.5):
        inputs.append(d.array(numpy.int32, [n], -1000, 1000) if d.chance(0.7) else None)
    if quantizes:
        inputs += [numpy.array(d.real(0.5, 2), numpy.float32), d.full_range(ta, [])]
    return Case(inputs, attrs, tolerance=(0, 1) if quantizes else (1e-4, 1e-3))


@microsoft("QuantizeLinear", "DequantizeLinear", finite=True)  # NaN to integer is unspecified
def quantize(d):
    dtype, shape = d.choice([numpy.uint8, numpy.int8, numpy.uint16, numpy.int16, *d.narrow()]), d.shape(2, 3, empty=0)
    axis = d.axis(len(shape))
    one = [shape[axis]] if d.chance(0.5) else []
    x = d.full_range(dtype, shape)
    if d.op == "QuantizeLinear":
        x = d.array(numpy.float32, shape, nan=False, finite=dtype in d.narrow())
    return Case([x, d.array(numpy.float32, one, 0.01, 0.1, finite=True), d.full_range(dtype, one)], {"axis": axis})


@microsoft("QLinearAdd", "QLinearMul")
def qlinear_binary(d):
    dtype, shape = d.choice(Q8), d.shape(1, 3)
    y_scale = numpy.array(d.real(0.05, 0.3), numpy.float32)
    return Case([*quantized(d, dtype, shape), *quantized(d, dtype, d.shrunk(shape)), y_scale, d.full_range(dtype, [])],
                tolerance=(0, 1))


@microsoft("QLinearSigmoid", "QLinearLeakyRelu")
def qlinear_unary(d):
    dtype = d.choice(Q8)
    attrs = {"alpha": d.real(0.01, 0.5)} if d.op == "QLinearLeakyRelu" else {}
    return Case([*quantized(d, dtype, d.shape(1, 3)), scale(d), d.full_range(dtype, [])], attrs, tolerance=(0, 1))


@microsoft("QLinearSoftmax")
def qlinear_softmax(d):
    dtype, shape = d.choice(Q8), d.some(2, 6, d.integer(2, 4))  # for one element ONNX Runtime gives zero, not one
    y_scale = numpy.array(1 / 255, numpy.float32)
    zero = numpy.array(0 if dtype == numpy.uint8 else -128, dtype)
    return Case([*quantized(d, dtype, shape), y_scale, zero], {"axis": d.axis(len(shape)), "opset": d.choice([11, 13])},
                constant=(1, 2, 3, 4), tolerance=(0, 1))


@microsoft("QLinearConcat")
def qlinear_concat(d):
    dtype, shape = d.choice(Q8), d.shape(1, 3, empty=0)
    axis = d.axis(len(shape))
    inputs = [scale(d), d.full_range(dtype, [])]
    for _ in range(d.integer(1, 3)):
        part = list(shape)
        part[axis] = d.extent(4)
        inputs += quantized(d, dtype, part)
    constant = tuple(i for i in range(len(inputs)) if i < 2 or i % 3 != 2)
    return Case(inputs, {"axis": axis}, constant=constant, tolerance=(0, 1))


@microsoft("QLinearWhere")
def qlinear_where(d):
    dtype, shape = d.choice(Q8), d.shape(1, 3, empty=0)
    inputs = [d.array(numpy.bool_, d.shrunk(shape)), *quantized(d, dtype, shape), *quantized(d, dtype, d.shrunk(shape)),
              scale(d), d.full_range(dtype, [])]
    return Case(inputs, constant=(2, 3, 5, 6, 7, 8), tolerance=(0, 1))


@microsoft("QLinearAveragePool", "QLinearGlobalAveragePool")
def qlinear_pool(d):
    dtype, last = d.choice(Q8), d.integer(0, 1)
    spatial = [d.integer(4, 7), d.integer(4, 7)]
    shape = [d.integer(1, 2), *spatial, 3] if last else [d.integer(1, 2), 3, *spatial]
    attrs = {"channels_last": last}
    if d.op == "QLinearAveragePool":
        kernel = d.some(1, 3, 2)
        attrs.update({**window(d, 2, kernel, pooled=True), "kernel_shape": kernel})
        attrs.pop("dilations", None)
        if d.chance(0.5):
            attrs["count_include_pad"] = 1
    return Case([*quantized(d, dtype, shape), scale(d), d.full_range(dtype, [])], attrs, tolerance=(0, 1))


# ---- Attention

MASKED = (1e-3, 2e-3)  # -10000 is added to scores: they keep only three decimals


@microsoft("RotaryEmbedding")
def rotary_embedding(d):
    batch, length, heads, size = d.extent(3), d.extent(5), d.integer(1, 3), 2 * d.integer(1, 4)
    offset = d.chance(0.3)
    position = d.array(numpy.int64, [1], 0, 4) if offset else d.array(numpy.int64, [batch, length], 0, 9)
    shape = [batch, length, heads * size] if d.chance(0.6) else [batch, heads, length, size]
    attrs = {"interleaved": d.integer(0, 1)}
    turned = size
    if len(shape) == 3 and d.chance(0.5):
        attrs["num_heads"] = heads
    if "num_heads" in attrs and d.chance(0.5) and size > 2:
        attrs["rotary_embedding_dim"] = turned = 2
    cache = [d.array(numpy.float32, [10, turned // 2], -1, 1) for _ in range(2)]
    return Case([d.array(numpy.float32, shape), position, *cache], attrs)


@microsoft("MultiHeadAttention", finite=True)  # masked elements may be multiplied by zero or left out
def multi_head_attention(d):
    batch, length, keys, heads, size = d.extent(3), d.extent(4), d.extent(5), d.integer(1, 3), d.integer(1, 4)
    value_size, past = d.integer(1, 4), d.integer(1, 3) if d.chance(0.3) else 0
    causal = d.chance(0.3)  # as many keys as queries: else ONNX Runtime lets the last query attend to all keys
    if past or causal:
        keys = length
    value_size = size if past else value_size
    hidden, total = heads * size, keys + past
    inputs = [d.array(numpy.float32, [batch, length, hidden], -2, 2), d.array(numpy.float32, [batch, keys, hidden], -2, 2),
              d.array(numpy.float32, [batch, keys, heads * value_size], -2, 2)]
    inputs.append(d.array(numpy.float32, [2 * hidden + heads * value_size]) if d.chance(0.4) else None)
    mask = d.array(numpy.int32, [batch, total], 0, 1)
    inputs.append(mask if d.chance(0.4) else None)
    inputs.append(d.array(numpy.float32, [1, heads, length, total]) if d.chance(0.3) else None)
    if past:
        inputs += [d.array(numpy.float32, [batch, heads, past, size]) for _ in range(2)]
    attrs = {"num_heads": heads, "unidirectional": int(causal)}
    if d.chance(0.3):
        attrs["scale"] = d.real(0.1, 1)
    return Case(inputs, attrs, outputs=3 if past else 1, tolerance=MASKED)


@microsoft("Attention", finite=True)
def attention(d):
    batch, length, heads, size, width = d.extent(3), d.extent(4), d.integer(1, 3), d.integer(1, 4), d.integer(1, 5)
    past = d.integer(1, 3) if d.chance(0.3) else 0
    hidden, total = heads * size, length + past
    attrs = {"num_heads": heads}
    columns = 3 * hidden
    if not past and d.chance(0.4):
        attrs["qkv_hidden_sizes"] = [hidden, hidden, heads * 2]
        columns = 2 * hidden + heads * 2
    inputs = [d.array(numpy.float32, [batch, length, width], -1, 1), d.array(numpy.float32, [width, columns], -1, 1),
              d.array(numpy.float32, [columns])]
    style = d.choice(["none", "end", "2d", "3d"])
    inputs.append({"none": None, "end": d.array(numpy.int32, [batch], 1, total),
                   "2d": d.array(numpy.int32, [batch, total], 0, 1),
                   "3d": d.array(numpy.int32, [batch, length, total], 0, 1)}[style])
    inputs.append(d.array(numpy.float32, [2, batch, heads, past, size]) if past else None)
    if d.chance(0.3):
        inputs.append(d.array(numpy.float32, [batch, heads, length, total]))
    if d.chance(0.3):
        attrs["unidirectional"] = 1
    return Case(inputs, attrs, outputs=2 if past else 1, tolerance=MASKED)


@microsoft("QAttention", finite=True)
def qattention(d):
    batch, length, heads, size, width = d.extent(3), d.extent(4), d.integer(1, 3), d.integer(1, 4), d.integer(1, 5)
    columns, tw = 3 * heads * size, d.choice(Q8)
    each = [columns] if d.chance(0.4) else []
    inputs = [d.full_range(numpy.uint8, [batch, length, width]), d.full_range(tw, [width, columns]),
              d.array(numpy.float32, [columns]), numpy.array(0.01, numpy.float32),
              d.array(numpy.float32, each, 0.01, 0.02), d.array(numpy.int32, [batch], 1, length) if d.chance(0.5) else None,
              d.full_range(numpy.uint8, []), d.full_range(tw, each)]
    attrs = {"num_heads": heads, "unidirectional": d.integer(0, 1)}
    return Case(inputs, attrs, constant=(1, 3, 4, 6, 7), tolerance=MASKED)


@microsoft("GroupQueryAttention", finite=True)
def group_query_attention(d):
    batch, kv_heads, group, size = d.extent(3), d.integer(1, 2), d.integer(1, 3), 16
    heads = kv_heads * group
    prompt = d.chance(0.4)
    length, buffer = (d.integer(2, 5), 0) if prompt else (d.integer(1, 2), d.integer(3, 6))
    packed = d.chance(0.3)
    if packed:
        query = [d.array(numpy.float32, [batch, length, (heads + 2 * kv_heads) * size]), None, None]
    else:
        query = [d.array(numpy.float32, [batch, length, n * size]) for n in (heads, kv_heads, kv_heads)]
    past = [d.array(numpy.float32, [batch, kv_heads, buffer, size]) for _ in range(2)]
    total = length if prompt else buffer + length
    lengths = numpy.full([batch], total - 1, numpy.int32)
    if not prompt:
        lengths = d.array(numpy.int32, [batch], length, total - 1)
        lengths[0] = total - 1
    attrs = {"num_heads": heads, "kv_num_heads": kv_heads}
    rotary = [None, None]
    if d.chance(0.5):
        attrs.update(do_rotary=1, rotary_interleaved=d.integer(0, 1))
        rotary = [d.array(numpy.float32, [16, size // 2], -1, 1) for _ in range(2)]
    inputs = [*query, *past, lengths, numpy.array(total, numpy.int32), *rotary]
    if d.chance(0.3):
        attrs["local_window_size"] = d.integer(1, 4)
    if d.chance(0.3):
        attrs["softcap"] = d.real(1, 5)
    if d.chance(0.3):
        attrs["scale"] = d.real(0.1, 1)
    if d.chance(0.2):
        attrs["smooth_softmax"] = 1
    return Case(inputs, attrs, outputs=3, constant=(6,), depth=16)
