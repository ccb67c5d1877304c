"""Random cases of reductions, softmax, normalizations."""
import numpy

from draw import SPECIAL, Case, i64, operator


def product(values):
    return int(numpy.prod(values, dtype=numpy.int64))


@operator("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2",
          "ReduceLogSum", "ReduceLogSumExp")
def reduction(d):
    # The mean of nothing is undefined: NaN here and in NumPy, 0 in ONNX Runtime.
    shape = d.shape(0, 4, empty=None if d.op == "ReduceMean" else 0.06)
    axes, attrs = d.axes(len(shape), least=1), {}
    if 0 in shape:
        axes = [axis % len(shape) for axis in axes]  # for an empty tensor ONNX Runtime ignores negative axes
    # ONNX does not specify logarithms of integers.
    types = (numpy.float32, numpy.float64, numpy.float16) if d.op.startswith("ReduceLog") else None
    # The maximum of numbers and a NaN is unspecified: in ONNX Runtime it depends on the order.
    x = d.array(d.dtype(among=types) if types else d.dtype(), shape, 1 if d.op == "ReduceLogSum" else -2, 3,
                nan=d.op not in ("ReduceMax", "ReduceMin", "ReduceLogSumExp"))
    if d.chance(0.7):
        attrs["keepdims"] = d.integer(0, 1)
    inputs, constant = [x], ()
    if d.opset < (13 if d.op == "ReduceSum" else 18):
        if axes and d.chance(0.8):
            attrs["axes"] = axes
    else:
        if d.chance(0.4):
            attrs["noop_with_empty_axes"] = d.integer(0, 1)
        if d.chance(0.85):
            inputs.append(i64([] if d.chance(0.15) else axes))
            constant = (1,) if d.chance(0.7) else ()
    return Case(inputs, attrs, constant=constant, depth=product(shape))


@operator("ArgMax", "ArgMin")
def arg_reduction(d):
    shape = d.shape(1, 4, empty=None)  # for an empty tensor ONNX Runtime keeps the reduced axis' extent
    attrs = {"axis": d.axis(len(shape))} if d.chance(0.8) else {}
    if d.chance(0.6):
        attrs["keepdims"] = d.integer(0, 1)
    if d.opset >= 12 and d.chance(0.6):
        attrs["select_last_index"] = d.integer(0, 1)
    x = d.array(d.dtype(), shape, -3, 3, nan=False)
    if d.chance(0.5):  # with ties
        x = numpy.round(x).astype(x.dtype)
    return Case([x], attrs)


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(d):
    shape = d.shape(1, 4)
    attrs = {"axis": d.integer(0 if d.opset < 11 else -len(shape), len(shape) - 1)} if d.chance(0.8) else {}
    dtype = d.dtype()
    # For an infinity ONNX Runtime's LogSoftmax gives NaN, except for doubles.
    finite = d.op == "LogSoftmax" and dtype == numpy.float64
    return Case([d.array(dtype, shape, -9, 9, nan=d.op != "Hardmax", finite=finite)], attrs, depth=8)


@operator("CumSum", "CumProd")
def cumulative(d):
    shape = d.shape(1, 4)
    attrs = {name: d.integer(0, 1) for name in ("exclusive", "reverse") if d.chance(0.7)}
    axis = numpy.array(d.axis(len(shape)), d.choice([numpy.int32, numpy.int64]))
    return Case([d.array(d.dtype(), shape), axis], attrs, constant=(1,) if d.chance(0.7) else (), depth=8)


@operator("LayerNormalization")
def layer_normalization(d):
    shape = d.shape(1, 4, largest=12, empty=0.03)
    axis = d.axis(len(shape))
    dtype, inner = d.dtype(), shape[axis:]
    attrs = {"axis": axis} if axis != -1 or d.chance(0.5) else {}
    if d.chance(0.5):
        attrs["epsilon"] = d.choice([1e-3, 1e-5, 0.1])
    inputs = [d.array(dtype, shape), d.array(dtype, inner)] + ([d.array(dtype, inner)] if d.chance(0.6) else [])
    # ONNX Runtime's mean of numbers and an infinity is NaN.
    return Case(inputs, attrs, outputs=d.choice([1, 1, 3]) if d.flavour != SPECIAL else 1, depth=16)


@operator("RMSNormalization")
def rms_normalization(d):
    shape = d.shape(1, 4, largest=12, empty=0)
    axis, dtype = d.axis(len(shape)), d.dtype()
    attrs = {"axis": axis, "epsilon": d.choice([1e-3, 1e-5, 0.1])}
    return Case([d.array(dtype, shape), d.array(dtype, shape[axis:])], attrs, depth=16)


@operator("InstanceNormalization")
def instance_normalization(d):
    shape, dtype = d.shape(3, 5, empty=None), d.dtype()  # ONNX Runtime crashes on an empty tensor
    attrs = {"epsilon": d.choice([1e-3, 1e-5, 0.1])} if d.chance(0.5) else {}
    # ONNX Runtime multiplies the scale by 1 / deviation first: with an infinite one, inf * 0 is elsewhere.
    scale = d.array(dtype, shape[1:2], finite=True)
    return Case([d.array(dtype, shape), scale, d.array(dtype, shape[1:2])], attrs, depth=32)


@operator("GroupNormalization")
def group_normalization(d):
    shape, dtype, groups = d.shape(3, 4, empty=0), d.dtype(), d.integer(1, 3)
    shape[1] = groups * d.integer(1, 3)
    affine = [shape[1] if d.opset >= 21 else groups]
    return Case([d.array(dtype, shape), d.array(dtype, affine), d.array(dtype, affine)],
                {"num_groups": groups, "epsilon": d.choice([1e-3, 1e-5])}, depth=32,
                # The statistics are float32 by definition (stash_type), whatever the type of x.
                **({"tolerance": (1e-5, 1e-5)} if dtype == numpy.float64 else {}))


@operator("BatchNormalization")
def batch_normalization(d):
    shape, dtype = d.shape(2, 5), d.dtype()
    attrs = {"epsilon": d.choice([1e-3, 1e-5, 0.1])} if d.chance(0.5) else {}
    # Finite: ONNX Runtime multiplies scale and deviation before the data, where an infinity then becomes a NaN.
    channel = [d.array(dtype, shape[1:2], finite=True) for _ in range(3)] + [d.array(dtype, shape[1:2], 0.5, 3, finite=True)]
    return Case([d.array(dtype, shape), *channel], attrs, depth=4)


@operator("LpNormalization")
def lp_normalization(d):
    shape = d.shape(1, 4, empty=0)
    return Case([d.array(d.dtype(), shape, 1, 4)], {"axis": d.axis(len(shape)), "p": d.integer(1, 2)}, depth=8)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(d):
    shape = d.some(2, 6, 4)  # the variance of one element is 0, and ONNX Runtime divides by it
    return Case([d.array(d.dtype(), shape)], {"axes": sorted(a % 4 for a in d.axes(4, least=1))}, depth=64)


@operator("LRN")
def local_response_normalization(d):
    attrs = {"size": d.choice([1, 3, 5])}
    attrs.update({name: d.real(0.1, 1) for name in ("alpha", "beta", "bias") if d.chance(0.6)})
    if d.chance(0.4):
        attrs["beta"] = d.choice([0.25, 0.5, 0.75, 1.25, 2, 3])
    # Finite: ONNX Runtime subtracts elements that leave the window from a running sum, also infinities.
    return Case([d.array(d.dtype(), d.shape(4, 4, empty=0), finite=True)], attrs, depth=8)
