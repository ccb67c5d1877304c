"""Random models with operators on extents that are not plain symbols: an input [R,D] is concatenated, tiled, padded, sliced
or reshaped, so that rows have w*D, w*D+c, D+E or floordiv(D-1,k)+1 elements. Each model runs at several D and E: 0, 1, primes and
multiples of vectors' widths."""
import os

import numpy
import onnx

from draw import Model, i64, operator

make = onnx.helper.make_node
EXTENTS = (1, 2, 3, 5, 7, 8, 13, 16, 24, 31, 32, 40)
LONG = os.environ.get("LONG", "0") not in ("", "0")


class Net:
    """Nodes, and inputs with the names of their axes."""

    def __init__(self, d, dtype):
        self.d, self.dtype, self.nodes, self.constants, self.inputs = d, dtype, [], [], []

    def node(self, op, *inputs, **attrs):
        name = f"t{len(self.nodes)}"
        self.nodes.append(make(op, list(inputs), [name], **attrs))
        return name

    def constant(self, value):
        name = f"k{len(self.constants)}"
        self.constants.append(name)
        self.nodes.append(make("Constant", [], [name], value=onnx.numpy_helper.from_array(value)))
        return name

    def input(self, *axes):
        self.inputs.append(axes)
        return f"x{len(self.inputs) - 1}"


def rows(net, r):
    """A tensor [r, some form of D]; `r`: a number."""
    d = net.d
    x = net.input(r, "D")
    for _ in range(d.integer(1, 2)):
        way, times = d.integer(0, 6), d.integer(2, 8)
        if way == 0:
            x = net.node("Concat", *[x] * times, axis=1)
        elif way == 1:
            ends = net.constant(d.array(net.dtype, [r, d.integer(1, 5)]))
            x = net.node("Concat", *([x] * d.choice([1, 2, 4, 8]) + [ends]), axis=1)
        elif way == 2:
            x = net.node("Concat", x, net.input(r, "E"), axis=1)
        elif way == 3:
            x = net.node("Tile", x, net.constant(i64([1, times])))
        elif way == 4:
            x = net.node("Pad", x, net.constant(i64([0, d.integer(0, 3), 0, d.integer(0, 5)])))
        elif way == 5:
            x = net.node("Slice", x, net.constant(i64([0])), net.constant(i64([2**31])), net.constant(i64([1])),
                         net.constant(i64([d.integer(1, 4)])))
        else:
            x = net.node("Reshape", net.node("Concat", *[x] * times, axis=0), net.constant(i64([r, -1])))
    return x


def whole(net, x, r):
    """Maps, of one or several inputs."""
    y = net.node("Mul", net.node("Abs", x), net.constant(net.d.array(net.dtype, [r, 1])))
    return net.node("Add", y, x) if net.d.chance(0.5) else net.node("Neg", y)


def transposed(net, x, r):
    return net.node("Transpose", net.node("Neg", x), perm=[1, 0])


def reduced(net, x, r):
    op, axis = net.d.choice(["ReduceMax", "ReduceMean", "ReduceL2"]), net.d.integer(0, 1)
    return net.node(op, x, axes=[axis])


def normed(net, x, r):
    if net.d.chance(0.5):
        return net.node("Softmax", x, axis=net.d.integer(0, 1))
    mean = net.node("ReduceMean", x, axes=[1])
    return net.node("Sub", x, mean)


def product(net, x, r):
    other = x if net.d.chance(0.5) else rows(net, r)
    if other == x:
        return net.node("MatMul", x, net.node("Transpose", other, perm=[1, 0]))
    return net.node("MatMul", net.node("Transpose", x, perm=[1, 0]), other)


def attention(net, x, r):
    """Self-attention over the columns of x."""
    q = net.node("Transpose", x, perm=[1, 0])
    scores = net.node("Softmax", net.node("MatMul", q, x), axis=-1)
    return net.node("MatMul", scores, q)


def convolved(net, x, r):
    image = net.node("Unsqueeze", x, net.constant(i64([0])))
    weight = net.constant(net.d.array(net.dtype, [net.d.integer(1, 5), r, 3]))
    return net.node("Conv", image, weight, pads=[1, 1], strides=[net.d.integer(1, 2)])


def scanned(net, x, r):
    return net.node("CumSum", x, net.constant(numpy.array(net.d.integer(0, 1), numpy.int64)), reverse=net.d.integer(0, 1))


def sorted_(net, x, r):
    net.nodes.append(make("TopK", [x, net.constant(i64([1]))], ["best", "best_at"], axis=1))
    return net.node("Add", "best", net.node("Cast", "best_at", to=onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(net.dtype))))


def resized(net, x, r):
    image = net.node("Unsqueeze", x, net.constant(i64([0, 1])))
    scales = net.constant(numpy.array([1, 1, 1, net.d.choice([2, 3, 0.5])], numpy.float32))
    return net.node("Resize", image, "", scales, mode=net.d.choice(["nearest", "linear"]))


def moved(net, x, r):
    """Windows and padding."""
    image = net.node("Unsqueeze", x, net.constant(i64([0])))
    return net.node(net.d.choice(["MaxPool", "AveragePool"]), image, kernel_shape=[3], pads=[1, 1], strides=[net.d.integer(1, 2)])


def gathered(net, x, r):
    at = net.constant(i64(net.d.some(0, r - 1, net.d.integer(1, 4))))
    return net.node("Gather", x, at, axis=0)


ANY = (whole, transposed, gathered)
FLOATS = (reduced, normed, product, attention, convolved, scanned, sorted_, resized, moved)


def bound(d, net, values):
    """Inputs with these extents."""
    return [d.array(net.dtype, [values.get(axis, axis) for axis in axes], -2, 2, finite=True) for axes in net.inputs]


@operator("Extents", plain=True, times=200 if LONG else 2)
def extents(d):
    family = d.choice(ANY + FLOATS + FLOATS)
    dtype = d.choice([numpy.float32, numpy.float16, numpy.float64, numpy.int32, numpy.int8]) if family in ANY else numpy.float32
    r = d.choice([1, 2, 3, 4, 8])
    net = Net(d, dtype)
    made = family(net, rows(net, r), r)
    nodes = net.nodes + [make("Identity", [made], ["y0"])]
    runs = [{"D": d.choice(EXTENTS + ((0,) if family in ANY else ())), "E": d.choice(EXTENTS)} for _ in range(3)]
    inputs = [bound(d, net, values) for values in runs]
    depth = 400 if family in (product, attention, convolved, scanned, reduced, normed) else 1
    # ONNX Runtime's coordinates are f32: at 960 elements their weights are off by some 1e-5.
    tolerance = (1e-3, 1e-3) if family is resized else None
    return Model(inputs[0], nodes=nodes, depth=depth, tolerance=tolerance, again=inputs[1:], shapes=[list(axes) for axes in net.inputs])
