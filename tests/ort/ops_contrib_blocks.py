"""Random cases of operators of numbers that are quantised in blocks."""
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
    # ONNX Runtime's processor multiplies with memory that nobody has written.
    a, b, absmax = inputs
    numbers = numpy.stack([b >> 4, b & 15], -1).reshape(-1)[:count]
    weights = BNB4[attrs["quant_type"]][numbers] * absmax[numpy.arange(count) // block]
    wanted = a.astype(numpy.float64) @ weights.reshape(n, k).astype(numpy.float64)
    return Case(inputs, attrs, depth=n, constant=(1, 2), results=[wanted.astype(numpy.float32)])
