"""The steps of graphs.py: each adds a node or some to a graph, and returns the new tensors."""
import numpy
from onnx import TensorProto, helper

STEPS = []
BIG = numpy.iinfo(numpy.int64).max


def step(times=1):
    def register(function):
        STEPS.extend([function] * times)
        return function
    return register


def axis_of(g, x):
    g.need(x.rank)
    return g.rng.randrange(-x.rank, x.rank)


def cast(g, x, dtype, exact=True):
    return g.node("Cast", [x], exact=exact, to=helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)))


def flat(g, x):
    return g.node("Reshape", [x, g.constant([-1])], exact=True)


def as_shape(g, x, shape, dtype):
    """A tensor of this shape and type made of the elements of x."""
    count = int(numpy.prod(shape))
    least = min(v.size for v in x.values)
    g.need(least and count)
    x = flat(g, x)
    if least < count:
        g.need(count // least < 64)
        x = g.node("Tile", [x, g.constant([-(-count // least)])], exact=True)
    start = g.rng.choice([0, 0, -count])
    x = g.node("Slice", [x, g.constant([start]), g.constant([count if start == 0 else BIG]), g.constant([0])], exact=True)
    x = g.node("Reshape", [x, g.constant(list(shape))], exact=True)
    return x if x.dtype == dtype else cast(g, x, dtype)


def shape_of(g, x):
    return g.node("Shape", [x], exact=True)


# ---- Movement.

@step(3)
def transpose(g):
    x = g.pick()
    order = list(range(x.rank))
    g.rng.shuffle(order)
    return g.node("Transpose", [x], exact=True, perm=order)


@step(3)
def reshape(g):
    x = g.pick()
    g.need(x.rank)
    way = g.rng.randrange(6)
    if way == 0:
        return g.node("Flatten", [x], exact=True, axis=g.rng.randrange(x.rank + 1))
    if way == 1:
        return g.node("Unsqueeze", [x, g.constant([g.rng.randrange(x.rank + 1)])], exact=True)
    if way == 2:
        ones = [k for k in range(x.rank) if all(v.shape[k] == 1 for v in x.values)]
        g.need(ones)
        return g.node("Squeeze", [x, g.constant(ones)], exact=True)
    if way == 3:  # two axes into one
        k = g.rng.randrange(x.rank)
        return g.node("Reshape", [x, g.constant([0] * k + [-1] + list(x.shape[k + 2:]))], exact=True)
    if way == 4:  # an axis into two
        k = g.rng.randrange(x.rank)
        factors = [f for f in (2, 3, 4, 5, 8) if all(v.shape[k] % f == 0 for v in x.values)]
        g.need(factors)
        f = g.rng.choice(factors)
        both = [f, -1] if g.rng.random() < 0.5 else [-1, f]
        fixed = [n if all(v.shape[k + 1 + j] == n for v in x.values) else None for j, n in enumerate(x.shape[k + 1:])]
        g.need(None not in fixed)
        return g.node("Reshape", [x, g.constant([0] * k + both + fixed)], exact=True)
    other = g.pick()
    g.need(all(a.size == b.size for a, b in zip(x.values, other.values)))
    return g.node("Reshape", [x, shape_of(g, other)], exact=True)


@step(3)
def slices(g):
    x = g.pick()
    g.need(x.rank)
    axes = g.rng.sample(range(x.rank), g.rng.randint(1, x.rank))
    starts, ends, steps = [], [], []
    for _ in axes:
        n = g.rng.choice([1, 1, 1, 2, 3, -1, -2])
        starts.append(g.rng.choice([0, 0, 1, 2, -3, -5]) if n > 0 else g.rng.choice([-1, -2, BIG, 3]))
        ends.append(g.rng.choice([BIG, BIG, -1, 4, 3, 7]) if n > 0 else g.rng.choice([-BIG, -BIG, 0]))
        steps.append(n)
    return g.node("Slice", [x, *map(g.constant, (starts, ends, axes, steps))], exact=True)


@step(3)
def pad(g):
    x = g.pick()
    g.need(x.rank)
    mode = g.rng.choice(["constant", "constant", "reflect", "edge", "wrap"])
    low = -1 if mode == "constant" and g.rng.random() < 0.3 else 0
    pads = [g.rng.choice([0, 0, 1, 2, 3, low]) for _ in range(2 * x.rank)]
    value = [g.constant(g.rng.choice([0, 1, 3]), x.dtype)] if mode == "constant" and g.rng.random() < 0.5 else []
    return g.node("Pad", [x, g.constant(pads), *value], exact=True, mode=mode)


@step(4)
def concat(g):
    x = g.pick()
    axis = axis_of(g, x)
    same = [t for t in g.pool if t.dtype == x.dtype and t.rank == x.rank and
            all(a.shape[k] == b.shape[k] for a, b in zip(t.values, x.values) for k in range(x.rank) if k != axis % x.rank)]
    others = [g.rng.choice(same) for _ in range(g.rng.randint(1, 3))]
    if g.rng.random() < 0.3:
        shape = [1 if k == axis % x.rank else n for k, n in enumerate(x.shape)]
        others.append(g.constant(g.random_values(x.dtype, shape), x.dtype))
    parts = [x, *others]
    g.rng.shuffle(parts)
    return g.node("Concat", parts, exact=True, axis=axis)


@step(2)
def split(g):
    x = g.pick()
    axis = axis_of(g, x)
    n = x.shape[axis]
    g.need(n > 1)
    if g.rng.random() < 0.6 and all(v.shape[axis] == n for v in x.values):
        cut = g.rng.randrange(1, n)
        return g.node("Split", [x, g.constant([cut, n - cut])], 2, exact=True, axis=axis)
    k = g.rng.randint(2, 3)
    return g.node("Split", [x], k, exact=True, axis=axis, num_outputs=k)


@step()
def tile(g):
    x = g.pick()
    return g.node("Tile", [x, g.constant([g.rng.choice([1, 1, 2, 3]) for _ in range(x.rank)])], exact=True)


@step(2)
def expand(g):
    x = g.pick()
    if g.rng.random() < 0.5:
        other = g.pick()
        return g.node("Expand", [x, shape_of(g, other)], exact=True)
    target = [n if n == 1 or g.rng.random() < 0.5 else 1 for n in x.shape]
    return g.node("Expand", [x, g.constant([g.rng.choice([1, 2, 3])] * g.rng.randint(0, 1) + target)], exact=True)


def indices(g, x, axis, shape=None):
    """i32 or i64 within all extents of the axis."""
    least = min(v.shape[axis] for v in x.values)
    g.need(least)
    shape = [g.rng.choice([1, 2, 3, 5, 9]) for _ in range(g.rng.choice([0, 1, 1, 2]))] if shape is None else shape
    return g.constant(g.data.integers(-least, least, shape), g.rng.choice([numpy.int32, numpy.int64]))


@step(3)
def gather(g):
    x = g.pick()
    axis = axis_of(g, x)
    if g.rng.random() < 0.3:  # indices that the model computes
        index = g.pick("iu", exact=True)
        least = min(v.shape[axis] for v in x.values)
        g.need(least and all(v.size <= 64 for v in index.values))
        index = g.node("Mod", [cast(g, index, numpy.int64), g.constant(least)], exact=True)
    else:
        index = indices(g, x, axis)
    return g.node("Gather", [x, index], exact=True, axis=axis)


@step(2)
def gather_elements(g):
    x = g.pick()
    axis = axis_of(g, x)
    shape = [g.rng.randint(1, max(1, min(v.shape[k] for v in x.values))) for k in range(x.rank)]
    shape[axis] = g.rng.choice([1, 3, 7])
    return g.node("GatherElements", [x, indices(g, x, axis, shape)], exact=True, axis=axis)


def tuples(g, x, distinct):
    """Indices for GatherND and ScatterND."""
    depth = g.rng.randint(1, x.rank)
    least = [min(v.shape[k] for v in x.values) for k in range(depth)]
    g.need(all(least))
    count = g.rng.choice([1, 2, 5])
    places = numpy.stack([g.data.integers(0, n, count) for n in least], -1)
    if distinct:
        places = numpy.unique(places, axis=0)
    return places


@step(2)
def gather_nd(g):
    x = g.pick()
    g.need(x.rank)
    return g.node("GatherND", [x, g.constant(tuples(g, x, False))], exact=True)


def reduction_of(g):
    return g.rng.choice(["none", "none", "add", "mul"] + ([] if g.special else ["max", "min"]))


@step(2)
def scatter_nd(g):
    x = g.pick()
    g.need(x.rank)
    reduction = reduction_of(g)
    places = g.constant(tuples(g, x, reduction == "none"))
    like = g.node("GatherND", [x, places], exact=True)
    others = [t for t in g.pool if t.dtype == x.dtype and all(a.shape == b.shape for a, b in zip(t.values, like.values))]
    updates = g.rng.choice(others) if others else g.node("Neg", [like], exact=True) if x.dtype.kind in "fi" else like
    return g.node("ScatterND", [x, places, updates], exact=True, reduction=reduction)


@step(2)
def scatter_elements(g):
    x = g.pick()
    axis = axis_of(g, x)
    reduction = reduction_of(g)
    shape = [g.rng.randint(1, max(1, min(v.shape[k] for v in x.values))) for k in range(x.rank)]
    least = min(v.shape[axis] for v in x.values)
    g.need(least)
    shape[axis] = g.rng.randint(1, least)
    order = numpy.argsort(g.data.random([*numpy.delete(shape, axis), least]), -1)[..., :shape[axis]]
    index = g.constant(numpy.moveaxis(order, -1, axis))
    updates = g.constant(g.random_values(x.dtype, shape), x.dtype)
    return g.node("ScatterElements", [x, index, updates], exact=True, axis=axis, reduction=reduction)


@step(2)
def resize(g):
    g.need(not g.special)
    x = g.pick("f", rank=(2, 3, 4))
    mode = g.rng.choice(["nearest", "nearest", "linear", "cubic"])
    where = g.rng.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    scales = [1.0] * max(0, x.rank - 2) + [g.rng.choice([1, 2, 0.5, 1.5, 3, 0.75]) for _ in range(min(2, x.rank))]
    more = {"nearest_mode": g.rng.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])} if mode == "nearest" else {}
    return g.node("Resize", [x, None, g.constant(scales, numpy.float32)], exact=mode == "nearest", mode=mode,
                  coordinate_transformation_mode=where, **more)


@step()
def depth(g):
    x = g.pick(rank=(4,))
    if g.rng.random() < 0.5:
        return g.node("DepthToSpace", [x], exact=True, blocksize=2, mode=g.rng.choice(["DCR", "CRD"]))
    return g.node("SpaceToDepth", [x], exact=True, blocksize=g.rng.choice([2, 3]))


@step()
def trilu(g):
    x = g.pick()
    return g.node("Trilu", [x, g.constant(g.rng.choice([-2, -1, 0, 1, 3]))], exact=True, upper=g.rng.randrange(2))


@step()
def one_hot(g):
    x = g.pick("iuf", exact=True)
    g.need(x.rank < 4 and all(numpy.isfinite(v).all() for v in x.values))
    dtype = g.rng.choice([numpy.float32, numpy.int64, numpy.float16])
    return g.node("OneHot", [cast(g, x, numpy.int64), g.constant(g.rng.choice([3, 5, 8])), g.constant([0, 1], dtype)], exact=True,
                  axis=g.rng.randrange(-1, x.rank + 1))


@step()
def reverse(g):
    x = g.pick()
    g.need(x.rank >= 2 and all(v.shape[1] == x.shape[1] for v in x.values))
    lengths = g.data.integers(1, min(v.shape[0] for v in x.values) + 1, x.shape[1])
    return g.node("ReverseSequence", [x, g.constant(lengths)], exact=True, time_axis=0, batch_axis=1)


# ---- Arithmetic.

def partner(g, x, *kinds):
    """Another operand that broadcasts with x: an earlier tensor, a row, a column or a number."""
    fits = [t for t in g.pool if t.dtype == x.dtype and broadcasts(t, x)]
    way = g.rng.random()
    if fits and way < 0.6:
        return g.rng.choice(fits)
    shape = [n if all(v.shape[k] == n for v in x.values) and g.rng.random() < 0.6 else 1 for k, n in enumerate(x.shape)]
    return g.constant(g.random_values(x.dtype, shape[g.rng.randint(0, len(shape)):]), x.dtype)


def broadcasts(t, x):
    try:
        return all(numpy.broadcast_shapes(a.shape, b.shape) and True for a, b in zip(t.values, x.values))
    except ValueError:
        return False


def shuffled(g, *operands):
    operands = list(operands)
    g.rng.shuffle(operands)
    return operands


@step(8)
def binary(g):
    x = g.pick("fiu")
    return g.node(g.rng.choice(["Add", "Add", "Sub", "Mul", "Mul", "Max", "Min"]), shuffled(g, x, partner(g, x)), exact=True)


@step(2)
def division(g):
    x = g.pick("fiu")
    divisor = g.constant(g.rng.choice([2, 3, 4, 5, 7]), x.dtype)
    if x.float:
        return g.node("Div", [x, divisor])
    way = g.rng.randrange(3)
    if way == 0:
        return g.node("Mod", [x, divisor], exact=True)
    if way == 1 and x.dtype.kind == "i":
        return g.node("Mod", [x, divisor], exact=True, fmod=1)
    return g.node("Div", [x, divisor], exact=True)


@step(4)
def unary(g):
    x = g.pick("f")
    op = g.rng.choice(["Tanh", "Sigmoid", "Erf", "Softplus", "HardSwish", "Softsign", "Sin", "Cos", "Atan", "Gelu", "Elu", "Selu",
                       "Mish", "HardSigmoid", "Celu", "LeakyRelu", "Asinh"])
    return g.node(op, [x])


@step(2)
def powers(g):
    x = g.pick("f")
    positive = g.node("Add", [g.node("Abs", [x], exact=True), g.constant(0.5, x.dtype)], exact=True)
    op = g.rng.choice(["Sqrt", "Log", "Reciprocal", "Pow"])
    if op == "Pow":
        return g.node("Pow", [positive, g.constant(g.rng.choice([0.5, 2, -1, 1.5]), x.dtype)])
    return g.node(op, [positive])


@step(4)
def simple(g):
    x = g.pick("fi")
    op = g.rng.choice(["Neg", "Abs", "Relu", "Clip", "ThresholdedRelu", "Identity"])
    if op == "Clip":
        return g.node("Clip", [x, g.constant(-1, x.dtype), g.constant(g.rng.choice([2, 6]), x.dtype)], exact=True)
    return g.node(op, [x], exact=True)


@step(3)
def steps(g):
    x = g.pick("f", exact=True)
    return g.node(g.rng.choice(["Floor", "Ceil", "Round", "IsNaN", "IsInf"] + ([] if g.special else ["Sign"])), [x], exact=True)


@step(4)
def compare(g):
    x = g.pick("fiu", exact=True)
    y = partner(g, x)
    g.need(y.exact)
    return g.node(g.rng.choice(["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"]), [x, y], exact=True)


@step(2)
def logic(g):
    x = g.pick("b")
    op = g.rng.choice(["Not", "And", "Or", "Xor"])
    return g.node(op, [x] if op == "Not" else [x, partner(g, x)], exact=True)


@step(2)
def bits(g):
    x = g.pick("iu")
    op = g.rng.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift"])
    if op == "BitwiseNot":
        return g.node(op, [x], exact=True)
    if op == "BitShift":
        return g.node(op, [x, g.constant(g.rng.choice([1, 3]), x.dtype)], exact=True, direction=g.rng.choice(["LEFT", "RIGHT"]))
    return g.node(op, [x, partner(g, x)], exact=True)


@step(3)
def where(g):
    condition, x = g.pick("b"), g.pick()
    return g.node("Where", [condition, *shuffled(g, x, partner(g, x))], exact=True)


@step(4)
def to_type(g):
    x = g.pick()
    types = [numpy.float32] * 2 + [numpy.float16, numpy.float64, numpy.int32, numpy.int64, numpy.int8, numpy.uint8, numpy.bool_]
    dtype = numpy.dtype(g.rng.choice(types))
    g.need(dtype.kind == "f" or x.exact)
    if dtype.kind in "iu" and x.float:  # what does not fit has no defined result
        g.need(all(numpy.isfinite(v).all() and abs(v).max(initial=0) < 127 for v in x.values))
        g.need(dtype.kind == "i" or all(v.min(initial=0) >= 0 for v in x.values))
    return cast(g, x, dtype)


@step()
def bf16(g):
    x = g.pick("f")
    g.half = True
    name = g.name("t")
    nodes = [helper.make_node("Cast", [x.name], [name], name=g.name("node"), to=TensorProto.BFLOAT16),
             helper.make_node("Cast", [name], [g.name("t")], name=g.name("node"), to=TensorProto.FLOAT)]
    results = g.run(nodes, [x], [nodes[1].output[0]])
    g.need(x.exact)
    g.nodes += nodes
    return type(x)(nodes[1].output[0], [r[0] for r in results], True)


# ---- Reductions, orders.

def axes_of(g, x):
    return g.constant(g.rng.sample(range(x.rank), g.rng.randint(1, x.rank)))


@step(5)
def reduce(g):
    x = g.pick("fiu")
    g.need(x.rank)
    ops = ["ReduceSum", "ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare"]
    op = g.rng.choice(ops + ([] if g.special else ["ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp"]))
    exact = op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare", "ReduceProd") or not x.float
    return g.node(op, [x, axes_of(g, x)], exact=exact and op not in ("ReduceL2", "ReduceLogSumExp"), keepdims=g.rng.randrange(2))


@step(2)
def arg(g):
    x = g.pick("fi", exact=True)
    g.need(not g.special or not x.float)
    return g.node(g.rng.choice(["ArgMax", "ArgMin"]), [x], exact=True, axis=axis_of(g, x), keepdims=g.rng.randrange(2),
                  select_last_index=g.rng.randrange(2))


@step(2)
def top(g):
    x = g.pick("fi", exact=True)
    g.need(not g.special or not x.float)
    axis = axis_of(g, x)
    k = g.rng.randint(1, max(1, min(v.shape[axis] for v in x.values)))
    return g.node("TopK", [x, g.constant([k])], 2, exact=True, axis=axis, largest=g.rng.randrange(2))


@step(2)
def running(g):
    x = g.pick("fi")
    return g.node("CumSum", [x, g.constant(axis_of(g, x))], exact=True, exclusive=g.rng.randrange(2), reverse=g.rng.randrange(2))


@step(2)
def softmax(g):
    x = g.pick("f")
    g.need(not g.special)
    return g.node(g.rng.choice(["Softmax", "Softmax", "LogSoftmax"]), [x], axis=axis_of(g, x))


@step(2)
def norm(g):
    x = g.pick("f")
    g.need(x.rank >= 2 and not g.special)
    last = x.shape[-1]
    kind = g.rng.choice(["LayerNormalization", "LpNormalization", "InstanceNormalization", "GroupNormalization",
                         "MeanVarianceNormalization"])
    if kind == "LayerNormalization":
        g.need(all(v.shape[-1] == last for v in x.values))
        w = g.constant(g.random_values(x.dtype, [last]), x.dtype)
        return g.node(kind, [x, w], axis=-1)
    if kind == "LpNormalization":
        return g.node(kind, [x], axis=-1, p=g.rng.choice([1, 2]))
    if kind == "MeanVarianceNormalization":
        return g.node(kind, [x], axes=[0, x.rank - 1])
    channels = x.shape[1]
    g.need(x.rank >= 3 and all(v.shape[1] == channels for v in x.values))
    groups = {"num_groups": g.rng.choice([k for k in range(1, channels + 1) if channels % k == 0])} if kind[0] == "G" else {}
    n = groups["num_groups"] if groups and g.opset < 21 else channels
    w, b = (g.constant(g.random_values(x.dtype, [n]), x.dtype) for _ in range(2))
    return g.node(kind, [x, w, b], epsilon=1e-2, **groups)


# ---- Products and windows.

@step(4)
def product(g):
    x = g.pick("fiu")
    g.need(x.rank)
    inner = x.shape[-1]
    fits = [t for t in g.pool if t.dtype == x.dtype and t.rank >= 2 and
            all(a.shape[-1] == b.shape[-2] for a, b in zip(x.values, t.values))]
    if fits and g.rng.random() < 0.6:
        other = g.rng.choice(fits)
    else:
        g.need(all(v.shape[-1] == inner for v in x.values))
        other = g.constant(g.random_values(x.dtype, [inner, g.rng.choice([1, 3, 8, 17, 32])]), x.dtype)
    return g.node("MatMul", [x, other], exact=True)


@step()
def square(g):
    """A product with its own transpose, as in attention."""
    x = g.pick("f")
    g.need(x.rank >= 2)
    order = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    scores = g.node("MatMul", [x, g.node("Transpose", [x], exact=True, perm=order)], exact=True)
    if g.rng.random() < 0.5 and not g.only_exact:
        scores = g.node("Softmax", [g.node("Mul", [scores, g.constant(0.25, x.dtype)], exact=True)], axis=-1)
        return g.node("MatMul", [scores, x])
    return scores


@step()
def gemm(g):
    x = g.pick("f", rank=(2,))
    turned = g.rng.randrange(2)
    inner = x.shape[0 if turned else 1]
    g.need(all(v.shape[0 if turned else 1] == inner for v in x.values))
    width = g.rng.choice([1, 5, 16])
    other = g.rng.randrange(2)
    w = g.constant(g.random_values(x.dtype, [width, inner] if other else [inner, width]), x.dtype)
    return g.node("Gemm", [x, w, g.constant(g.random_values(x.dtype, [width]), x.dtype)], exact=True, transA=turned, transB=other,
                  alpha=g.rng.choice([1.0, 0.5]))


def window(g, x):
    rank = x.rank - 2
    attributes = {"kernel_shape": [g.rng.choice([1, 2, 3, 3, 5]) for _ in range(rank)],
                  "strides": [g.rng.choice([1, 1, 2, 3]) for _ in range(rank)]}
    if g.rng.random() < 0.3:
        attributes["auto_pad"] = g.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    else:
        attributes["pads"] = [g.rng.randrange(0, (k + 1) // 2 + (k > 1)) for k in attributes["kernel_shape"]] * 2
    if g.rng.random() < 0.4:
        attributes["dilations"] = [g.rng.choice([1, 2]) for _ in range(rank)]
    return attributes


@step(4)
def convolution(g):
    g.need(not g.special)
    x = g.pick("f", rank=(3, 4, 5))
    channels = x.shape[1]
    g.need(channels <= 32 and all(v.shape[1] == channels for v in x.values))
    group = g.rng.choice([1, 1, channels] + [k for k in (2, 4) if channels % k == 0])
    attributes = window(g, x)
    if g.rng.random() < 0.25:
        out = g.rng.choice([1, 2, 3, 8])
        w = g.constant(g.random_values(x.dtype, [channels, out, *attributes["kernel_shape"]]), x.dtype)
        return g.node("ConvTranspose", [x, w], exact=True, group=group, **attributes)
    out = group * g.rng.choice([1, 1, 2, 3, 8])
    w = g.constant(g.random_values(x.dtype, [out, channels // group, *attributes["kernel_shape"]]), x.dtype)
    bias = [g.constant(g.random_values(x.dtype, [out]), x.dtype)] if g.rng.random() < 0.5 else []
    return g.node("Conv", [x, w, *bias], exact=True, group=group, **attributes)


@step(3)
def pool(g):
    g.need(not g.special)
    x = g.pick("f", rank=(3, 4, 5))
    kind = g.rng.choice(["MaxPool", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"])
    if kind.startswith("Global"):
        return g.node(kind, [x], exact="Max" in kind)
    attributes = window(g, x)
    if "auto_pad" in attributes:  # ONNX Runtime's pools forget the dilation there, and pad by less than nothing
        attributes.pop("dilations", None)
        attributes["strides"] = [min(pair) for pair in zip(attributes["strides"], attributes["kernel_shape"])]
    fits = [k * d + s for k, d, s in zip(attributes["kernel_shape"], attributes.get("dilations", [1] * 3), attributes["strides"])]
    g.need(all(n >= most for v in x.values for n, most in zip(v.shape[2:], fits)))  # of less it makes one result
    if kind == "AveragePool":
        attributes["count_include_pad"] = g.rng.randrange(2)
        if g.opset < 19:
            attributes.pop("dilations", None)
    if "auto_pad" not in attributes:
        attributes["ceil_mode"] = g.rng.randrange(2)
    if kind == "MaxPool" and g.rng.random() < 0.4 and x.exact and not g.special:
        return g.node(kind, [x], 2, exact=True, **attributes)
    return g.node(kind, [x], exact=kind == "MaxPool", **attributes)


# ---- Quantisation.

@step(3)
def quantise(g):
    x = g.pick("f", exact=True)
    g.need(not g.special)
    kind = g.rng.choice([numpy.uint8, numpy.int8])
    scale, zero = g.constant(g.rng.choice([0.25, 0.5, 1]), x.dtype), g.constant(g.rng.choice([0, 3]), kind)
    q = g.node("QuantizeLinear", [x, scale, zero], exact=True)
    if g.rng.random() < 0.5:
        return q
    return [q, g.node("DequantizeLinear", [q, scale, zero], exact=True)]


@step()
def dequantise(g):
    x = g.pick("iu", exact=True)
    g.need(x.dtype.itemsize == 1)
    return g.node("DequantizeLinear", [x, g.constant(0.25, numpy.float32)], exact=True)


@step()
def dynamic_quantise(g):
    x = g.pick("f", exact=True)
    g.need(x.dtype == numpy.float32 and not g.special)
    return g.node("DynamicQuantizeLinear", [x], 3, exact=True)


@step(2)
def integer_product(g):
    x = g.pick("iu")
    inner = x.shape[-1] if x.rank else 0
    g.need(x.dtype.itemsize == 1 and inner and all(v.shape[-1] == inner for v in x.values))
    w = g.constant(g.random_values(numpy.int8, [inner, g.rng.choice([1, 8, 17])]), numpy.int8)
    zero = [g.constant(3, x.dtype)] if g.rng.random() < 0.5 else []
    return g.node("MatMulInteger", [x, w, *zero], exact=True)


@step()
def recurrent(g):
    x = g.pick("f", rank=(3,))
    width, hidden = x.shape[2], g.rng.choice([1, 3, 8])
    g.need(x.dtype == numpy.float32 and all(v.shape[2] == width for v in x.values) and all(v.shape[0] <= 17 for v in x.values))
    kind = g.rng.choice(["LSTM", "GRU", "RNN"])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    both = g.rng.choice(["forward", "reverse", "bidirectional"])
    d = 2 if both == "bidirectional" else 1
    w = g.constant(g.data.standard_normal([d, gates * hidden, width]) / 4, x.dtype)
    r = g.constant(g.data.standard_normal([d, gates * hidden, hidden]) / 4, x.dtype)
    return g.node(kind, [x, w, r], 2, hidden_size=hidden, direction=both)
