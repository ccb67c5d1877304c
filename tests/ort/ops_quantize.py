"""Random cases of quantization operators."""
import numpy
import onnx

from draw import Case, operator

BYTES = (numpy.uint8, numpy.int8)


def scale_and_zero(d, shape, axis, types, scale_type=numpy.float32):
    """A scale and a zero point for the whole tensor, or one each along `axis` or for blocks of it; the attributes."""
    dtype = d.choice(types)
    extent = [] if d.chance(0.5) else [shape[axis]]
    attrs = {"axis": axis} if d.opset >= 13 else {}
    if d.opset >= 21 and 0 not in shape and d.chance(0.4):  # empty blocks crash ONNX Runtime
        block = d.choice([2, 3, 4])
        attrs["block_size"] = block
        extent = list(shape)
        extent[axis] = -(-shape[axis] // block)
    scale = d.array(scale_type, extent, 0.01, 0.5, finite=True)
    return scale, d.full_range(dtype, extent) if d.chance(0.8) else None, dtype, attrs


@operator("QuantizeLinear")
def quantize(d):
    shape = d.shape(1, 4)
    axis = d.axis(len(shape))
    types = BYTES + ((numpy.uint16, numpy.int16) if d.opset >= 21 else ()) + tuple(d.narrow(2))
    scale, zero, dtype, attrs = scale_and_zero(d, shape, axis, types)
    narrow = dtype in d.narrow(2)  # ONNX Runtime converts infinities through an integer, which lacks them
    x = d.array(numpy.float32, shape, *((-3, 3) if narrow else (-30, 30)), nan=False, finite=narrow)  # NaN is unspecified
    if zero is None and narrow:
        attrs["output_dtype"] = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
    return Case([x, scale] + ([zero] if zero is not None else []), attrs, constant=(1, 2) if d.chance(0.6) else ())


@operator("DequantizeLinear")
def dequantize(d):
    shape = d.shape(1, 4)
    axis = d.axis(len(shape))
    types = BYTES + ((numpy.uint16, numpy.int16) if d.opset >= 21 else ()) + tuple(d.narrow(0))
    scale, zero, dtype, attrs = scale_and_zero(d, shape, axis, types)
    return Case([d.full_range(dtype, shape), scale] + ([zero] if zero is not None else []), attrs,
                constant=(1, 2) if d.chance(0.6) else ())


@operator("DynamicQuantizeLinear")
def dynamic_quantize(d):
    low = d.choice([-30, -1, 0, 2])
    # Finite: a range with infinities gives no scale, nor does an empty one.
    return Case([d.array(numpy.float32, d.shape(0, 4, empty=None), low, low + d.choice([0, 1, 50]), finite=True)],
                outputs=3)


@operator("QLinearMatMul")
def qlinear_matmul(d):
    m, k, n = d.extent(), d.extent(), d.extent()
    inputs = []
    for shape in ([m, k], [k, n], None):
        dtype = d.choice(BYTES)
        inputs += [d.full_range(dtype, shape)] if shape else []
        inputs += [numpy.array(d.real(0.01, 0.1) * (1 if shape else 50), numpy.float32), d.full_range(dtype, [])]
    return Case(inputs, constant=(1, 2, 3, 4, 5, 6, 7), tolerance=(0, 1))


@operator("QLinearConv")
def qlinear_conv(d):
    group = d.choice([1, 1, 2])
    x = [d.integer(1, 2), group * d.integer(1, 3), d.integer(4, 7), d.integer(4, 7)]
    w = [group * d.integer(1, 3), x[1] // group, d.integer(1, 3), d.integer(1, 3)]
    tx, tw = numpy.uint8, d.choice(BYTES)
    w_zero = numpy.zeros([], tw) if tw == numpy.int8 else d.full_range(tw, [])
    inputs = [d.full_range(tx, x), numpy.array(d.real(0.01, 0.1), numpy.float32), d.full_range(tx, []),
              d.full_range(tw, w), d.array(numpy.float32, d.choice([[], w[:1]]), 0.01, 0.1), w_zero,
              numpy.array(d.real(0.5, 5), numpy.float32), d.full_range(tx, [])]
    if inputs[4].ndim:
        inputs[5] = numpy.full(w[:1], inputs[5], tw)
    if d.chance(0.5):
        inputs.append(d.array(numpy.int32, w[:1], -500, 500))
    return Case(inputs, {"group": group, "strides": d.some(1, 2, 2), "pads": d.some(0, 1, 4)},
                constant=tuple(range(1, 9)), tolerance=(0, 1))
