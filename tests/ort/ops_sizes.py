"""Random models that compute a size in floats from the shape of an input, as exporters write image sizes, patch counts and
padding: casts, halves, quotients, minima, maxima over several extents and roundings, in f32 or f64. The sizes are a target of
Expand, Reshape, Pad, Resize, Slice, Tile or ConstantOfShape. Each model runs at several extents."""
import os

import numpy
import onnx

from draw import Model, i64, operator

make = onnx.helper.make_node
LONG = os.environ.get("LONG", "0") not in ("", "0")
KINDS = {numpy.float32: onnx.TensorProto.FLOAT, numpy.float64: onnx.TensorProto.DOUBLE}


class Net:
    def __init__(self, d):
        self.d, self.nodes, self.dtype = d, [], d.choice(list(KINDS))

    def node(self, op, *inputs, **attrs):
        name = f"t{len(self.nodes)}"
        self.nodes.append(make(op, list(inputs), [name], **attrs))
        return name

    def constant(self, value):
        return self.node("Constant", value=onnx.numpy_helper.from_array(value))

    def number(self, value):
        return self.constant(numpy.array(value if self.d.chance(0.7) else [value], self.dtype))

    def cast(self, x, to):
        return self.node("Cast", x, to=to)


def extent(net, axis):
    shape = net.node("Shape", "x0")
    if net.d.chance(0.5):
        return net.node("Gather", shape, net.constant(numpy.array(axis, numpy.int64)))
    part = net.node("Slice", shape, net.constant(i64([axis])), net.constant(i64([axis + 1])), net.constant(i64([0])))
    return net.node("Squeeze", part, net.constant(i64([0])))


def widest(net):
    """The larger or smaller of both extents, found by a reduction."""
    d, shape = net.d, net.node("Shape", "x0")
    op = d.choice(["ReduceMax", "ReduceMin"])
    if d.chance(0.5):
        shape = net.cast(shape, KINDS[net.dtype])
    found = net.node(op, shape, keepdims=0)
    return net.cast(found, KINDS[net.dtype])


def changed(net, x):
    d = net.d
    way = d.integer(0, 4)
    if way == 0:
        return net.node("Mul", x, net.number(d.choice([0.5, 2, 0.25, 1.5, 0.125])))
    if way == 1:
        return net.node("Div", x, net.number(d.choice([2, 4, 8, 3, 7, 5])))
    if way == 2:
        return net.node(d.choice(["Add", "Sub"]), x, net.number(d.choice([0.5, 1, -1, 2, 0.25])))
    if way == 3:
        return net.node(d.choice(["Max", "Min"]), x, net.number(d.choice([3, 2.5, 8])))
    return net.node(d.choice(["Floor", "Ceil", "Round"]), x)


def size(net):
    """A scalar i64 of at least 1."""
    d = net.d
    x = widest(net) if d.chance(0.3) else net.cast(extent(net, d.integer(0, 1)), KINDS[net.dtype])
    scaled = net.node("Div", x, net.number(d.choice([4, 3, 8]))) if d.chance(0.3) else None
    if scaled:  # as padding to a multiple is written
        x = net.node("Mul", net.node(d.choice(["Ceil", "Floor"]), scaled), net.number(d.choice([4, 3, 8])))
    for _ in range(d.integer(0, 2)):
        x = net.node(d.choice(["Floor", "Ceil", "Round"]), changed(net, x)) if d.chance(0.5) else changed(net, x)
        if d.chance(0.5):
            x = net.node("Floor", x)
    x = net.node("Min", net.node("Max", net.node("Floor", x), net.number(1)), net.number(40))
    return net.node("Reshape", net.cast(x, onnx.TensorProto.INT64), net.constant(i64([1])))


def scaled(net):
    """A Resize by the quotient of two sizes, which is the same for all of them."""
    d = net.d
    now = net.node("Slice", net.node("Shape", "x0"), net.constant(i64([0])), net.constant(i64([2])))
    then = net.node("Mul", now, net.constant(numpy.array(d.choice([1, 2, 3, 4]), numpy.int64)))
    scale = net.node("Div", net.cast(then, onnx.TensorProto.FLOAT), net.cast(now, onnx.TensorProto.FLOAT))
    ones = net.constant(numpy.ones(2, numpy.float32))
    image = net.node("Unsqueeze", "x0", net.constant(i64([0, 1])))
    return net.node("Resize", image, "", net.node("Concat", ones, scale, axis=0), mode="linear")


def used(net):
    d = net.d
    if d.chance(0.15):
        return scaled(net)
    way = d.choice(["expand", "constant", "pad", "resize", "slice", "tile", "reshape"])
    h, w = size(net), size(net)
    if way == "expand":
        return net.node("Expand", net.node("ReduceMax", "x0", keepdims=1), net.node("Concat", h, w, axis=0))
    if way == "constant":
        return net.node("ConstantOfShape", net.node("Concat", h, w, axis=0))
    if way == "pad":
        zero = net.constant(i64([0]))
        return net.node("Pad", "x0", net.node("Concat", zero, h, w, zero, axis=0))
    if way == "resize":
        image = net.node("Unsqueeze", "x0", net.constant(i64([0, 1])))
        ones = net.constant(i64([1, 1]))
        return net.node("Resize", image, "", "", net.node("Concat", ones, h, w, axis=0), mode="linear")
    if way == "slice":
        return net.node("Slice", "x0", net.constant(i64([0, 0])), net.node("Concat", h, w, axis=0))
    if way == "tile":
        return net.node("Tile", net.node("ReduceMin", "x0", keepdims=1), net.node("Concat", h, w, axis=0))
    filled = net.node("ConstantOfShape", net.node("Concat", h, w, axis=0))
    return net.node("Reshape", filled, net.node("Concat", w, h, axis=0))


@operator("Sizes", plain=True, times=10 if LONG else 1)
def sizes(d):
    d.opset = d.choice([13, 17])
    net = Net(d)
    made = used(net)
    inputs = [[d.array(numpy.float32, [d.integer(1, 33), d.integer(1, 33)], -2, 2, finite=True)] for _ in range(4)]
    # ONNX Runtime's coordinates of a Resize are f32.
    return Model(inputs[0], tolerance=(1e-3, 1e-3), nodes=net.nodes + [make("Identity", [made], ["y0"])], again=inputs[1:], shapes=[["H", "W"]])
