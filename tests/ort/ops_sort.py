"""Random cases of sorting."""
import numpy

from draw import Case, i64, operator


def with_ties(d, dtype, shape):
    """Few different values, or many; floats include infinities and zeros of both signs, but no NaN, which ONNX Runtime's
    comparison does not order. tests/schedule checks their positions."""
    if d.chance(0.5):
        return d.array(dtype, shape, -2, 2, nan=False).round().astype(dtype)
    return d.array(dtype, shape, -90, 90, nan=False)


@operator("TopK")
def top_k(d):
    shape = d.shape(1, 4, largest=d.choice([7, 40]) if d.chance(0.8) else 7, empty=0)
    if d.chance(0.15):
        shape = [d.integer(1, 2), d.integer(300, 6000)]
    axis = d.axis(len(shape)) if d.opset >= 11 else d.integer(0, len(shape) - 1)
    k = d.integer(0 if d.chance(0.1) else min(1, shape[axis]), min(shape[axis], 5) if d.chance(0.5) else shape[axis])
    attrs = {"axis": axis}
    if d.opset >= 11 and d.chance(0.6):
        attrs["largest"] = d.integer(0, 1)
    x = with_ties(d, d.dtype(), shape)
    if d.opset < 10:
        return Case([x], {**attrs, "k": k}, outputs=2)
    return Case([x, i64([k])], attrs, outputs=2, constant=(1,) if d.chance(0.7) else ())


@operator("Unique")
def unique(d):
    """Elements and slices with many repetitions. No NaN: ONNX Runtime treats it as equal to everything."""
    shape = d.shape(1, 4) if d.chance(0.8) else [d.integer(300, 3000)]
    dtype = d.dtype(among=(numpy.float32, numpy.float64, numpy.int64, numpy.int8))
    attrs = {"sorted": d.integer(0, 1)} if d.chance(0.8) else {}
    x = with_ties(d, dtype, shape)
    if len(shape) < 4 and len(x) < 100 and d.chance(0.6):
        axis = d.axis(len(shape))
        attrs["axis"] = axis
        x = d.array(dtype, shape, 0, 1, nan=False).round().astype(dtype)
        if x.size:
            x = x.take(d.some(0, shape[axis] - 1, shape[axis]), axis)
    return Case([x], attrs, outputs=d.integer(1, 4))


@operator("com.microsoft.Unique")
def unique_contrib(d):
    return Case([with_ties(d, numpy.float32, [d.integer(1, 300)])], outputs=3)
