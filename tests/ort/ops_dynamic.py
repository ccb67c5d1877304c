"""Random cases of operators whose result sizes are known only at run time: empty inputs, and inputs of which nothing,
everything or a part is kept."""
import numpy
import onnx

from draw import Case, Model, operator


def bools(d, shape):
    """Nothing, everything, or a random part of it."""
    return numpy.asarray(d.rng.random(shape) < d.choice([0.0, 1.0, 0.1, 0.5, 0.9]))


def sparse(d, dtype, shape):
    """As many zeros as bools() gives."""
    x = d.array(dtype, shape, -9, 9)
    return numpy.where(bools(d, shape), x, numpy.zeros_like(x))


def larger(d):
    """A shape; sometimes one of several tiles."""
    return [d.integer(20, 90), d.integer(100, 300)] if d.chance(0.15) else d.shape(1, 4)


@operator("NonZero")
def nonzero(d):
    if d.chance(0.3):
        return found_then_read(d)
    return Case([sparse(d, d.dtype(), larger(d))])


def found_then_read(d):
    """The kept elements, their sum, and their number."""
    shape = larger(d)
    make = onnx.helper.make_node
    nodes = [make("NonZero", ["x0"], ["at"]), make("Transpose", ["at"], ["points"], perm=[1, 0]),
             make("GatherND", ["x0", "points"], ["y0"]), make("Concat", ["y0", "y0"], ["y1"], axis=0),
             make("Size", ["y1"], ["y2"]), make("Shape", ["at"], ["y3"])]
    d.opset = max(d.opset, 13)
    return Model([sparse(d, numpy.float32, shape)], nodes=nodes, outputs=4, fixed=d.chance(0.3))


@operator("Compress")
def compress(d):
    shape = larger(d)
    attrs, extent = {}, int(numpy.prod(shape))
    if d.chance(0.7):
        axis = d.integer(-len(shape) if d.opset >= 11 else 0, len(shape) - 1)
        attrs, extent = {"axis": axis}, shape[axis]
    length = d.integer(min(1, extent), extent) if d.chance(0.3) else extent
    return Case([d.array(d.dtype(), shape, -9, 9), bools(d, [length])], attrs, constant=(1,) if d.chance(0.2) else ())
