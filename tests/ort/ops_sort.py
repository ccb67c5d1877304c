"""Random cases of sorting."""
import numpy

from draw import Case, i64, operator


def with_ties(d, dtype, shape):
    """Few different values, or many; among floats infinities, and zeros of both signs. ONNX Runtime puts a NaN anywhere
    (its comparison is not an order then), so that there are none: their place is what tests/schedule holds to."""
    if d.chance(0.5):
        return d.array(dtype, shape, -2, 2, nan=False).round().astype(dtype)
    special = (numpy.inf, -numpy.inf, 0.0, -0.0) if numpy.dtype(dtype).kind == "f" else ()
    return d.array(dtype, shape, -90, 90, special=special)


@operator("TopK")
def top_k(d):
    shape = d.shape(1, 4, largest=d.choice([7, 40]) if d.chance(0.8) else 7, empty=0)
    if d.chance(0.15):
        shape = [d.integer(1, 2), d.integer(300, 6000)]
    axis = d.axis(len(shape)) if d.opset >= 11 else d.integer(0, len(shape) - 1)
    k = d.integer(0 if d.chance(0.1) else 1, min(shape[axis], 5) if d.chance(0.5) else shape[axis])
    attrs = {"axis": axis}
    if d.opset >= 11 and d.chance(0.6):
        attrs["largest"] = d.integer(0, 1)
    x = with_ties(d, d.dtype(), shape)
    if d.opset < 10:
        return Case([x], {**attrs, "k": max(k, 1)}, outputs=2)
    return Case([x, i64([k])], attrs, outputs=2, constant=(1,) if d.chance(0.7) else ())
