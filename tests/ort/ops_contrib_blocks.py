"""Random cases of operators on block-quantised numbers."""
import ml_dtypes
import numpy

from draw import Case
from ops_contrib import microsoft

FP4 = [0, 5.208333333e-03, 2 / 3, 1, 1 / 3, 0.5, 1 / 6, 0.25]
NF4 = [-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
       -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
       0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1]
BNB4 = [numpy.array(FP4 + [-x for x in FP4]), numpy.array(NF4)]


@microsoft("GatherBlockQuantized", plain=True)
def gather_block_quantized(d):
    block = d.choice([16, 32])
    dtype, indices_type = d.choice([numpy.float32, numpy.float32, numpy.float16]), d.choice([numpy.int32, numpy.int64])
    kind = d.choice(["u8", "u8", "i4", "u4"])
    rank = d.integer(2, 3)
    shape = [d.integer(1, 5) for _ in range(rank)]
    if kind == "u8":
        bits = d.choice([2, 4, 8])
        gather, axis, each = 0, rank - 1, 8 // bits
        shape[axis] = d.integer(1, 12)
        numbers = shape[:-1] + [shape[-1] * each]
        data = d.full_range(numpy.uint8, shape)
    else:
        gather, axis, each, bits = d.integer(0, rank - 1), d.integer(0, rank - 1), 1, 4
        shape[axis] = d.integer(1, 40)
        numbers = shape
        data = d.full_range(ml_dtypes.int4 if kind == "i4" else ml_dtypes.uint4, shape)
        d.opset = max(d.opset, 21)  # the first with these types
    blocks = list(numbers)
    blocks[axis] = -(-numbers[axis] // block)
    inputs = [data, d.array(indices_type, d.shape(0, 2), -shape[gather], shape[gather] - 1), d.array(dtype, blocks)]
    if d.chance(0.5):
        packed = list(blocks)
        packed[axis] = -(-blocks[axis] // each)
        inputs.append(d.full_range(data.dtype, packed))
    attrs = {"block_size": block, "gather_axis": gather - (rank if d.chance(0.3) else 0), "quantize_axis": axis, "bits": bits}
    return Case(inputs, attrs, constant=(0, 2, 3))


@microsoft("MatMulBnb4", plain=True)
def matmul_bnb4(d):
    block, n, k, turned = d.choice([16, 32, 64]), d.extent(20), d.extent(40), d.choice([0, 1, 1])
    count = n * k
    inputs = [d.array(numpy.float32, d.shape(1, 2) + [k if turned else n]),
              d.full_range(numpy.uint8, [(count + 1) // 2]), d.array(numpy.float32, [-(-count // block)])]
    attrs = {"K": k, "N": n, "block_size": block, "quant_type": d.integer(0, 1), "transB": turned}
    if turned:
        return Case(inputs, attrs, depth=k, constant=(1, 2))
    # ONNX Runtime's CPU kernel multiplies with uninitialised memory.
    a, b, absmax = inputs
    numbers = numpy.stack([b >> 4, b & 15], -1).reshape(-1)[:count]
    weights = BNB4[attrs["quant_type"]][numbers] * absmax[numpy.arange(count) // block]
    wanted = a.astype(numpy.float64) @ weights.reshape(n, k).astype(numpy.float64)
    return Case(inputs, attrs, depth=n, constant=(1, 2), results=[wanted.astype(numpy.float32)])


def nbits(d, rows, k, block, bits, dtype=numpy.float32):
    """Numbers, scales and the matrix that they represent."""
    blocks, each = -(-k // block), 8 // bits
    numbers, scales = d.full_range(numpy.uint8, [rows, blocks, block // each]), d.array(dtype, [rows * blocks], 0.01, 0.1)
    parts = numpy.stack([numbers >> (bits * i) & (2 ** bits - 1) for i in range(each)], -1).reshape(rows, blocks, block)
    matrix = (parts.astype(numpy.float64) - 2 ** (bits - 1)) * scales.reshape(rows, blocks, 1)
    return numbers, scales, matrix.reshape(rows, -1)[:, :k]


@microsoft("MatMulNBitsMlp", "MatMulNBitsQkv", plain=True)
def matmul_nbits_fused(d):
    """ONNX Runtime's processor has no kernels of these."""
    k, block, bits, mlp = d.integer(1, 40), d.choice([16, 32]), d.choice([4, 4, 8]), d.op == "MatMulNBitsMlp"
    shape, f32 = d.shape(1, 2, empty=0) + [k], numpy.float32
    a, normed = d.array(f32, shape, -1, 1), not mlp or d.chance(0.6)
    skip = d.array(f32, shape, -1, 1) if normed and d.chance(0.5) else None
    scale = d.array(f32, [k], -1, 1) if normed else None
    total = x = a.astype(numpy.float64) if skip is None else (a + skip).astype(numpy.float64)
    epsilon = 1e-5 if mlp else 1e-6
    if normed:
        x = x / numpy.sqrt((x ** 2).mean(-1, keepdims=True) + epsilon) * scale
    rows = [d.integer(1, 9)] * 2 if mlp else [d.integer(1, 9)] + [d.integer(1, 9)] * 2
    inputs, made = [a, skip, scale], []
    for count in rows:
        numbers, scales, matrix = nbits(d, count, k, block, bits)
        bias = d.array(f32, [count]) if d.chance(0.5) else None
        inputs += [numbers, scales, bias]
        made.append(x @ matrix.T + (0 if bias is None else bias))
    attrs = {"K": k, "bits": bits, "block_size": block}
    if mlp:
        gate, up = made
        attrs.update(N=rows[0], activation="silu")
        made = [gate / (1 + numpy.exp(-gate)) * up]
    else:
        attrs.update(Nq=rows[0], Nkv=rows[1])
    made.append(total)
    return Case(inputs, attrs, outputs=len(made), results=[y.astype(f32) for y in made], depth=10 * k)


E2M1 = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@microsoft("MatMulBlockQuantizedFp8Weight", "MatMulBlockQuantizedFp4Weight", plain=True)
def matmul_small_floats(d):
    """ONNX Runtime's processor has no kernels of these."""
    block, n, k, small, f16, f8 = d.choice([16, 32]), d.integer(1, 9), 2 * d.integer(1, 20), d.op.endswith("Fp8Weight"), \
        numpy.float16, ml_dtypes.float8_e4m3fn
    a, blocks = d.array(f16, d.shape(1, 2, empty=0) + [k], -1, 1), -(-k // block)
    x, bias, attrs = a.astype(numpy.float64), d.array(f16, [n], -1, 1) if d.chance(0.5) else None, {"block_size": block}
    which = numpy.arange(k) // block
    if small:
        b, scale = d.array(numpy.float32, [n, k], -4, 4).astype(f8), d.array(numpy.float32, [n, blocks], 0.1, 1)
        by = numpy.array(0.25, numpy.float32) if d.chance(0.5) else None
        weights = b.astype(numpy.float64) * scale[:, which]
        x = x if by is None else (a.astype(numpy.float32) / by).astype(f8).astype(numpy.float64) * by
        inputs = [a, b, scale, by, bias]
    else:
        b = d.full_range(numpy.uint8, [n, k // 2])
        scale = d.array(numpy.float32, [n, blocks], 0.1, 1).astype(f8)
        whole = numpy.array(d.real(0.1, 0.5), numpy.float32)
        numbers = E2M1[numpy.stack([b & 15, b >> 4], -1).reshape(n, k)]
        weights = numbers * scale.astype(numpy.float64)[:, which] * whole
        inputs = [a, b, scale.view(numpy.uint8), whole, None, bias]
    wanted = x @ weights.T + (0 if bias is None else bias.astype(numpy.float64))
    return Case(inputs, attrs, results=[wanted.astype(f16)], tolerance=(4e-3, 4e-3 * k))
