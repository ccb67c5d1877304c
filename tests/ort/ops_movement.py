"""Random cases of operators that move elements: shapes, slices, gathers, scatters."""
import numpy
import onnx

from draw import Case, Model, i64, operator

ANY = (-9, 9)


def data(d, shape, index=0):
    return d.array(d.dtype(index), shape, *ANY)


@operator("Identity", "Shape", "Size")
def whole(d):
    x, attrs = data(d, d.shape(0, 4)), {}
    if d.op == "Shape" and d.opset >= 15:
        attrs = {name: d.integer(-5, 5) for name in ("start", "end") if d.chance(0.5)}
    return Case([x], attrs)


@operator("Reshape")
def reshape(d):
    shape = d.shape(0, 4)
    target = list(d.rng.permutation(shape)) if d.chance(0.5) else [int(numpy.prod(shape))]
    for _ in range(d.integer(0, 2)):
        target.insert(d.integer(0, len(target)), 1)
    attrs = {}
    if d.opset >= 14 and d.chance(0.4):
        attrs["allowzero"] = d.integer(0, 1)
    if target and d.chance(0.5):
        target[d.integer(0, len(target) - 1)] = d.choice([-1, -1, 0])
    return Case([data(d, shape), i64(target)], attrs, constant=(1,) if d.chance(0.7) else ())


def with_axes(d, x, axes, given=1.0):
    """Axes as an attribute before opset 13, as an input from then on."""
    if not d.chance(given):
        return Case([x])
    if d.opset < 13:
        return Case([x], {"axes": axes})
    return Case([x, i64(axes)], constant=(1,) if d.chance(0.7) else ())


@operator("Squeeze")
def squeeze(d):
    shape = d.shape(0, 3)
    for _ in range(d.integer(1, 3)):
        shape.insert(d.integer(0, len(shape)), 1)
    ones = [axis - (len(shape) if d.chance(0.3) and d.opset >= 11 else 0) for axis, e in enumerate(shape) if e == 1]
    return with_axes(d, data(d, shape), ones[:d.integer(1, len(ones))], given=0.8)


@operator("Unsqueeze")
def unsqueeze(d):
    shape, new = d.shape(0, 3), d.integer(1, 3)
    rank = len(shape) + new
    picked = d.rng.permutation(rank)[:new]
    return with_axes(d, data(d, shape), [int(a) - (rank if d.opset >= 11 and d.chance(0.3) else 0) for a in picked])


@operator("Flatten")
def flatten(d):
    shape = d.shape(1, 4)
    return Case([data(d, shape)], {"axis": d.integer(-len(shape) if d.opset >= 11 else 0, len(shape))})


@operator("Transpose")
def transpose(d):
    shape = d.shape(0, 5, largest=5)
    attrs = {"perm": [int(a) for a in d.rng.permutation(len(shape))]} if shape and d.chance(0.8) else {}
    if d.narrow() and d.chance(0.4):
        return Case([d.full_range(d.choice(d.narrow()), shape)], attrs)
    return Case([data(d, shape)], attrs)


@operator("Slice")
def slice_(d):
    shape = d.shape(1, 4)
    axes = d.axes(len(shape), least=1)
    if d.opset < 10:
        axes = sorted(a % len(shape) for a in axes)
    starts, ends = d.some(-9, 9, len(axes)), d.some(-9, 9, len(axes))
    steps = [d.choice([1, 1, 2, 3, -1, -2, 50, -50, 2**31 - 1, -2**31, 2**62, -2**62]) for _ in axes]
    far = [2**31 - 1, 2**31, -2**31, 2**63 - 1, -2**63, -2**63 + 1, 1000, -1000]
    starts = [start if d.chance(0.8) else d.choice(far) for start in starts]
    ends = [end if d.chance(0.7) else d.choice(far) for end in ends]
    x = data(d, shape)
    if d.opset < 10:
        return Case([x], {"starts": starts, "ends": ends, "axes": axes})
    inputs = [x, i64(starts), i64(ends)]
    if d.chance(0.85) or len(axes) < len(shape):
        inputs += [i64(axes), i64(steps)][:d.integer(1, 2)]
    return Case(inputs, constant=(1, 2, 3, 4) if d.chance(0.7) else ())


@operator("Pad")
def pad(d):
    shape = d.shape(1, 4, empty=0.03)
    modes = ["constant", "edge", "reflect"] + (["wrap"] if d.opset >= 19 else [])
    attrs = {"mode": d.choice(modes)}
    largest = 4 if attrs["mode"] == "constant" else min(2, max(0, min(shape) - 1))
    axes = sorted(a % len(shape) for a in d.axes(len(shape), least=1)) if d.opset >= 18 and d.chance(0.4) else None
    count = 2 * len(axes if axes else shape)
    pads = d.some(-1 if attrs["mode"] == "constant" and d.chance(0.3) else 0, largest, count)
    x = data(d, shape)
    if d.opset < 11:
        if d.chance(0.5):
            attrs["value"] = d.real(-3, 3)
        return Case([x], {**attrs, "pads": pads})
    value = d.array(x.dtype, [], 1, 5) if d.chance(0.6) else None
    inputs = [x, i64(pads), value] + ([i64(axes)] if axes else [])
    return Case(inputs, attrs, constant=(1, 2, 3) if d.chance(0.7) else (1,))


@operator("CenterCropPad")
def center_crop_pad(d):
    shape = d.shape(1, 4)
    axes = d.axes(len(shape), least=1) if d.chance(0.6) else None
    size = d.array(d.choice([numpy.int32, numpy.int64]), [len(shape) if axes is None else len(axes)], 1, 9)
    return Case([data(d, shape), size], {} if axes is None else {"axes": axes}, constant=(1,) if d.chance(0.7) else ())


@operator("Concat")
def concat(d):
    shape, dtype = d.shape(1, 4), d.dtype()
    axis = d.axis(len(shape)) if d.opset >= 11 else d.integer(0, len(shape) - 1)
    parts = []
    for _ in range(d.integer(120, 140) if d.chance(0.05) else d.integer(1, 4)):
        part = list(shape)
        part[axis] = d.integer(0, 4)
        parts.append(d.array(dtype, part, *ANY))
    return Case(parts, {"axis": axis})


@operator("Split")
def split(d):
    shape = d.shape(1, 4)
    axis = d.axis(len(shape)) if d.opset >= 11 else d.integer(0, len(shape) - 1)
    sizes = d.some(1 if d.opset < 13 else 0, 4, d.integer(50, 90) if d.chance(0.1) else d.integer(1, 4))
    attrs = {"axis": axis}
    if d.chance(0.4):  # equal parts
        sizes = [d.integer(1, 4)] * len(sizes)
        shape[axis] = sum(sizes)
        if d.opset >= 18:
            shape[axis] -= d.integer(0, sizes[0] - 1) if d.chance(0.5) else 0  # the last part is smaller
            attrs["num_outputs"] = len(sizes)
        return Case([data(d, shape)], attrs, outputs=len(sizes))
    shape[axis] = sum(sizes)
    if d.opset < 13:
        return Case([data(d, shape)], {**attrs, "split": sizes}, outputs=len(sizes))
    return Case([data(d, shape), i64(sizes)], attrs, outputs=len(sizes), constant=(1,) if d.chance(0.7) else ())


@operator("Tile")
def tile(d):
    shape = d.shape(0, 4, largest=4)
    return Case([data(d, shape), i64(d.some(0 if d.chance(0.1) else 1, 3, len(shape)))],
                constant=(1,) if d.chance(0.7) else ())


@operator("Expand")
def expand(d):
    shape = d.shape(0, 4, largest=4)
    target = d.shrunk(shape)
    x = data(d, d.shrunk(shape))
    if d.chance(0.3):
        target = d.some(1, 3, 1) + list(shape)
    return Case([x, i64(target)], constant=(1,) if d.chance(0.7) else ())


@operator("Range")
def range_(d):
    dtype = d.choice([numpy.float32, numpy.float64, numpy.int32, numpy.int64, numpy.int16])
    step = d.choice([1, 2, -1, -3]) if dtype not in (numpy.float32, numpy.float64) else d.choice([0.5, -0.25, 1.5])
    values = [numpy.array(value, dtype) for value in (*d.some(-9, 9, 2), step)]
    if d.chance(0.2):
        return range_of_extent(d)
    return Case(values, constant=(0, 1, 2) if d.chance(0.6) else ())


def range_of_extent(d):
    """Floats up to an extent, or a part of it, as PyTorch writes arange(x.shape[2])."""
    node, x = onnx.helper.make_node, d.array(numpy.float32, d.some(1, 9, 3))
    low, step, factor = d.choice([0, 0, 0.5, 1]), d.choice([1, 1, 0.5, 2]), d.choice([1, 1, 0.5, 2])
    values = [numpy.array(value, numpy.float32) for value in (low, step, factor)]
    nodes = [node("Shape", ["x0"], ["shape"]), node("Gather", ["shape", "x4"], ["extent"], axis=0),
             node("Cast", ["extent"], ["float"], to=onnx.TensorProto.FLOAT), node("Mul", ["float", "x3"], ["limit"]),
             node("Range", ["x1", "limit", "x2"], ["y0"])]
    return Model([x, *values, i64(d.integer(0, 2))], nodes=nodes, constant=(1, 2, 3, 4))


@operator("ConstantOfShape")
def constant_of_shape(d):
    from onnx import numpy_helper
    attrs = {}
    if d.chance(0.8):
        dtype = d.choice([numpy.float32, numpy.float16, numpy.float64, numpy.int64, numpy.int32, numpy.uint8, numpy.bool_])
        attrs["value"] = numpy_helper.from_array(d.array(dtype, [1], 1, 5))
    return Case([i64(d.shape(0, 4))], attrs, constant=(0,) if d.chance(0.6) else ())


def indices(d, extent, shape):
    return d.array(d.choice([numpy.int64, numpy.int32]), shape, -extent if d.opset >= 11 else 0, extent - 1)


@operator("Gather")
def gather(d):
    shape = d.shape(1, 4, empty=0)
    axis = d.axis(len(shape))
    return Case([data(d, shape), indices(d, shape[axis], d.shape(0, 3, largest=4))],
                {"axis": axis} if d.chance(0.8) or axis else {}, constant=(1,) if d.chance(0.3) else ())


@operator("GatherElements")
def gather_elements(d):
    shape = d.shape(1, 4, empty=0)
    axis = d.axis(len(shape))
    where = [d.integer(1, extent) for extent in shape]
    where[axis] = d.integer(0, 6)
    return Case([data(d, shape), indices(d, shape[axis], where)], {"axis": axis})


def tuples(d, shape, batch, width, outer):
    """Index tuples of `width` axes after `batch` axes, of shape outer + [width]."""
    parts = [d.array(numpy.int64, outer, -shape[batch + i], shape[batch + i] - 1) for i in range(width)]
    return numpy.stack(parts, axis=-1) if parts else numpy.zeros([*outer, 0], numpy.int64)


@operator("GatherND")
def gather_nd(d):
    shape = d.shape(1, 4, empty=0)
    batch = d.integer(0, min(2, len(shape) - 1)) if d.opset >= 12 else 0
    outer = shape[:batch] + d.shape(0 if batch else 1, 2, largest=4)
    width = d.integer(1, len(shape) - batch)
    return Case([data(d, shape), tuples(d, shape, batch, width, outer)],
                {"batch_dims": batch} if d.opset >= 12 else {})


def scatter_reduction(d):
    options = ["none"] + (["add", "mul"] if d.opset >= 16 else []) + (["max", "min"] if d.opset >= 18 else [])
    return {"reduction": d.choice(options)} if len(options) > 1 and d.chance(0.85) else {}


@operator("ScatterElements")
def scatter_elements(d):
    shape, attrs = d.shape(1, 4, empty=0), scatter_reduction(d)
    axis, dtype = d.axis(len(shape)), d.dtype()
    where = [d.integer(1, extent) for extent in shape]
    index = indices(d, shape[axis], where)
    if attrs.get("reduction", "none") == "none":  # no duplicate index: which one wins is undefined
        order = d.rng.permuted(numpy.broadcast_to(numpy.arange(shape[axis]).reshape(
            [-1 if i == axis % len(shape) else 1 for i in range(len(shape))]), shape), axis=axis)
        index = order[tuple(slice(0, extent) for extent in where)].astype(index.dtype)
    nan = attrs.get("reduction") not in ("max", "min")  # the larger of a NaN and a number is open
    return Case([d.array(dtype, shape, 1, 4, nan=nan), index, d.array(dtype, where, 1, 4, nan=nan)],
                {**attrs, "axis": axis}, depth=8)


@operator("Scatter")
def scatter(d):
    case = scatter_elements(d)
    case.inputs[1] = numpy.abs(case.inputs[1])
    return case


@operator("ScatterND")
def scatter_nd(d):
    shape, attrs = d.shape(1, 4, empty=0), scatter_reduction(d)
    width, dtype = d.integer(1, len(shape)), d.dtype()
    if attrs.get("reduction", "none") == "none":
        total = int(numpy.prod(shape[:width]))
        flat = d.rng.permutation(total)[:d.integer(1, total)]
        index = i64(numpy.stack(numpy.unravel_index(flat, shape[:width]), axis=-1))
        index = numpy.where(d.rng.random(index.shape) < 0.3, index - i64(shape[:width]), index)
    else:
        index = tuples(d, shape, 0, width, d.shape(1, 2, largest=5))
    nan = attrs.get("reduction") not in ("max", "min")  # the larger of a NaN and a number is open
    updates = d.array(dtype, list(index.shape[:-1]) + shape[width:], 1, 4, nan=nan)
    return Case([d.array(dtype, shape, 1, 4, nan=nan), index, updates], attrs, depth=8)


@operator("OneHot")
def one_hot(d):
    depth = d.integer(1, 6)
    kind = d.choice([numpy.int64, numpy.int32, numpy.float32])
    index = d.array(kind, d.shape(1, 3, largest=5), -depth if d.opset >= 11 else 0, depth, finite=True)
    if kind == numpy.float32:
        index = numpy.round(index)
    count = numpy.array(depth, d.choice([numpy.int64, numpy.int32, numpy.float32]))
    values = d.array(d.choice([numpy.float32, numpy.int64, numpy.int32]), [2])
    return Case([index, count if d.chance(0.5) else count.reshape(1), values],
                {"axis": d.axis(index.ndim + 1)} if d.chance(0.8) else {}, constant=(1, 2) if d.chance(0.7) else ())


@operator("DepthToSpace", "SpaceToDepth")
def depth_space(d):
    block = d.integer(1, 3)
    n, c, h, w = d.integer(1, 2), d.integer(1, 3), d.integer(1, 3), d.integer(1, 3)
    if d.op == "SpaceToDepth":
        return Case([data(d, [n, c, h * block, w * block])], {"blocksize": block})
    attrs = {"mode": d.choice(["DCR", "CRD"])} if d.opset >= 11 and d.chance(0.8) else {}
    return Case([data(d, [n, c * block * block, h, w])], {**attrs, "blocksize": block})


@operator("Trilu")
def trilu(d):
    x = data(d, d.shape(2, 4))
    k = [i64(d.integer(-4, 4))] if d.chance(0.7) else []
    return Case([x, *k], {"upper": d.integer(0, 1)} if d.chance(0.7) else {}, constant=(1,) if d.chance(0.7) else ())


@operator("EyeLike")
def eye_like(d):
    return Case([data(d, d.shape(2, 2))], {"k": d.integer(-3, 3)} if d.chance(0.7) else {})


@operator("ReverseSequence")
def reverse_sequence(d):
    shape = d.shape(2, 4, empty=0)
    time = d.integer(0, 1)
    lengths = d.array(numpy.int64, [shape[1 - time]], 1, shape[time])
    return Case([data(d, shape), lengths], {"time_axis": time, "batch_axis": 1 - time})


@operator("NonZero")
def non_zero(d):
    return Case([d.array(d.dtype(), d.shape(0, 4), -1, 1).round() if d.chance(0.5) else d.array(numpy.bool_, d.shape(1, 3))])


@operator("Compress")
def compress(d):
    shape = d.shape(1, 4, empty=0)
    axis = d.axis(len(shape)) if d.opset >= 11 else d.integer(0, len(shape) - 1)
    if d.chance(0.3):
        return Case([data(d, shape), d.array(numpy.bool_, [d.integer(1, int(numpy.prod(shape)))])])
    return Case([data(d, shape), d.array(numpy.bool_, [d.integer(1, shape[axis])])], {"axis": axis})


@operator("OptionalGetElement", "OptionalHasElement")
def optional(d):
    """For operators that take a tensor, or nothing."""
    none = d.op == "OptionalHasElement" and d.chance(0.3)
    dtype = d.choice([numpy.float32, numpy.float16, numpy.float64, numpy.int8, numpy.int32, numpy.int64, numpy.uint8, numpy.bool_])
    return Case([None if none else d.array(dtype, d.shape(0))])
