"""If: branches of random nodes that read each other, constants, captured values, and values of the enclosing branches; and
local functions called inside and outside them."""
import numpy
from onnx import TensorProto, helper, numpy_helper

from draw import Model, i64, operator

UNARY = ["Neg", "Abs", "Identity"]
UNARY_FLOAT = ["Sigmoid", "Exp", "Floor", "LeakyRelu", "own.Soft", "own.Twice", "own.Bounded"]
BINARY = ["Add", "Sub", "Mul"]


def functions(d):
    """Local functions: an attribute with a default, a function that calls another and passes its attribute on, and optional
    inputs."""
    opsets = [helper.make_opsetid("", d.opset), helper.make_opsetid("own", 1)]
    soft = helper.make_function("own", "Soft", ["x"], ["y"], [helper.make_node("LeakyRelu", ["x"], ["y"])], opsets, [],
                                [helper.make_attribute("alpha", 0.25)])
    soft.node[0].attribute.append(reference("alpha", "alpha"))
    twice = helper.make_function("own", "Twice", ["x"], ["y"], [
        helper.make_node("Soft", ["x"], ["t"], domain="own"), helper.make_node("Soft", ["t"], ["y"], domain="own", alpha=0.5),
    ], opsets, ["slope"])
    twice.node[0].attribute.append(reference("alpha", "slope"))
    bounded = helper.make_function("own", "Bounded", ["x", "low", "high"], ["y"], [
        helper.make_node("Neg", ["x"], ["t"]), helper.make_node("Clip", ["t", "low", "high"], ["y"])], opsets)
    return [soft, twice, bounded]


def reference(name, of):
    """An attribute with the value given by the function's call."""
    attribute = helper.make_attribute(name, 1.0)
    attribute.ClearField("f")
    attribute.ref_attr_name = of
    return attribute


class Body:
    """Random nodes of a graph or of a branch; `around`: names of values with the wanted shape and type. `fixed`:
    extents have no names, so that a constant may have the shape too."""
    def __init__(self, d, dtype, shape, around, depth, fixed):
        self.d, self.dtype, self.shape, self.depth, self.fixed = d, numpy.dtype(dtype), shape, depth, fixed
        self.values, self.nodes, self.initializers = list(around), [], []
        self.own = 0

    def name(self):
        # sibling branches share names, nested ones never do
        self.own += 1
        return f"t{self.depth}_{self.own}"

    def constant(self, shape=None):
        value = numpy_helper.from_array(self.d.array(self.dtype, self.shape if shape is None else shape, -3, 3), self.name())
        if self.depth and self.d.chance(0.5):
            self.initializers.append(value)
        else:
            self.nodes.append(helper.make_node("Constant", [], [value.name], value=value))
        return value.name

    def node(self, op, inputs, **attrs):
        out = self.name()
        domain, _, op = op.rpartition(".")
        self.nodes.append(helper.make_node(op, inputs, [out], domain=domain, **attrs))
        self.values.append(out)
        return out

    def any(self):
        return self.d.choice(self.values) if self.values else self.constant()

    def grow(self):
        """One more value."""
        d, kind = self.d, self.d.integer(0, 9)
        if kind < 3:
            op = d.choice(UNARY + (UNARY_FLOAT if self.dtype.kind == "f" else []))
            attrs = {"alpha": d.real(0, 1)} if op in ("LeakyRelu", "own.Soft") and d.chance(0.7) else {}
            attrs |= {"slope": d.real(0, 1)} if op == "own.Twice" else {}
            inputs = [self.any()]
            if op == "own.Bounded":
                inputs += ["" if d.chance(0.3) else self.constant([]) for _ in range(d.integer(0, 2))]
            return self.node(op, inputs, **attrs)
        if kind < 7:
            small = d.shrunk(self.shape) if self.fixed else d.shrunk([1] * len(self.shape))
            right = self.constant(small) if d.chance(0.3) else self.any()
            return self.node(d.choice(BINARY), [self.any(), right])
        if kind == 7 and self.depth < 3:
            return branches(self, self.condition(), 1)[0]
        if kind == 8 and self.shape:
            perm = list(range(len(self.shape)))[::-1]
            return self.node("Transpose", [self.node("Transpose", [self.any()], perm=perm)], perm=perm) if (
                list(self.shape) == list(self.shape)[::-1]) else self.node("Neg", [self.any()])
        if not self.fixed:
            return self.node("Add", [self.any(), self.constant([1] * len(self.shape))])
        self.values.append(self.constant())
        return self.values[-1]

    def condition(self):
        """A bool of one element: an input of the model, constant, or computed from values or from extents."""
        d, kind = self.d, self.d.integer(0, 4)
        if kind == 0:
            return "x0"
        if kind == 1:
            name = self.name()
            self.nodes.append(helper.make_node("Constant", [], [name], value=helper.make_tensor(
                name, TensorProto.BOOL, [1] if d.chance(0.5) else [], [d.chance(0.5)])))
            return name
        names = [self.name() for _ in range(4)]
        if kind == 2 or not self.shape:
            return "x0"
        if kind == 3:  # the rank, or the number of elements
            self.nodes += [helper.make_node("Size", [self.any()], [names[0]]),
                           helper.make_node("Constant", [], [names[1]], value=numpy_helper.from_array(i64(d.integer(0, 40)))),
                           helper.make_node("Greater", names[:2], [names[2]])]
            return names[2]
        self.nodes += [helper.make_node("Cast", [self.any()], [names[0]], to=TensorProto.FLOAT),
                       helper.make_node("ReduceMax", [names[0]], [names[1]], keepdims=0),
                       helper.make_node("Constant", [], [names[2]], value=numpy_helper.from_array(numpy.float32(d.real(0, 5)))),
                       helper.make_node("Less", names[1:3], [names[3]])]
        return names[3]


def longer(axis):
    """Instead of a shape: the body's, with some value repeated along that axis."""
    return ("longer", axis)


def branch(body, outputs, shapes, name):
    """A graph with as many outputs; extra nodes make shapes other than the body's."""
    d = body.d
    inner = Body(d, body.dtype, body.shape, body.values, body.depth + 1, body.fixed)
    for _ in range(d.integer(0, 4)):
        inner.grow()
    results = []
    for shape in shapes[:outputs]:
        if shape is None:
            inner.grow()
            results.append(inner.node("Identity", [inner.any()]) if inner.values[-1] in results or d.chance(0.3)
                           or not inner.nodes or inner.values[-1] not in inner.nodes[-1].output else inner.values[-1])
        elif shape[:1] == ("longer",):
            results.append(inner.node("Concat", [inner.any()] * d.integer(2, 3), axis=shape[1]))
            inner.values.pop()
        else:
            results.append(inner.node("Identity", [inner.constant(shape)]))
            inner.values.pop()
    infos = [helper.make_tensor_value_info(result, helper.np_dtype_to_tensor_dtype(inner.dtype), None) for result in results]
    return helper.make_graph(inner.nodes, name, [], infos, inner.initializers)


def branches(body, condition, outputs, shapes=None):
    """An If in the body; its outputs."""
    shapes = shapes or [[None] * outputs] * 2
    made = [branch(body, outputs, shape, name) for shape, name in zip(shapes, ("then", "else"))]
    names = [body.name() for _ in range(outputs)]
    body.nodes.append(helper.make_node("If", [condition], names, then_branch=made[0], else_branch=made[1]))
    body.values += [name for name, one, other in zip(names, *shapes) if one is None and other is None]
    return names


def unlike(d, shape, fixed):
    """Shapes of one rank for the two branches, with different extents: the size is known only at run time."""
    if not fixed or d.chance(0.5):
        pair = [longer(d.integer(0, len(shape) - 1)), None]
    else:
        pair = [shape, [extent if d.chance(0.5) else d.integer(0, 5) for extent in shape]]
    return pair if d.chance(0.5) else pair[::-1]


def misfit(d, dtype, nodes, same, other):
    """A node over x1 and x2 with x1's rank, whose extents do not fit if it does not run."""
    kind = d.choice(["Add", "Sub", "Mul", "Where", "Concat", "MatMul", "Reshape", "GatherElements"])
    axis = d.axis(2)
    if kind == "Where":
        nodes.append(helper.make_node("Less", [same, same], ["less"]))
        nodes.append(helper.make_node("Where", ["less", same, other], ["t0"]))
    elif kind == "Concat":
        nodes.append(helper.make_node("Concat", [same, other], ["t0"], axis=axis))
    elif kind == "Reshape":
        nodes.append(helper.make_node("Shape", [same], ["shape"]))
        nodes.append(helper.make_node("Reshape", [other, "shape"], ["t0"]))
    elif kind == "GatherElements":
        nodes.append(helper.make_node("ArgMax", [other], ["at"], axis=axis))
        nodes.append(helper.make_node("GatherElements", [same, "at"], ["t0"], axis=axis))
    else:
        nodes.append(helper.make_node(kind, [same, other], ["t0"]))
    return "t0"


def untaken(d):
    """A branch that is not taken when its extents do not fit; the condition is data, or follows from extents."""
    dtype = d.choice([numpy.float32, numpy.float64, numpy.int32, numpy.int64])
    rows, columns = d.integer(2, 4), d.integer(2, 4)
    by_extent, taken = d.chance(0.4), d.integer(0, 1)  # taken: the branch that fits
    inputs = [numpy.array(taken == 0), d.array(dtype, [rows, columns], -3, 3),
              d.array(dtype, [rows + d.integer(1, 4), columns + d.integer(1, 4)], -3, 3)]
    nodes, name = [], "x0"
    if by_extent:
        for i in (1, 2):
            nodes.append(helper.make_node("Shape", [f"x{i}"], [f"shape{i}"]))
            nodes.append(helper.make_node("Gather", [f"shape{i}", "zero"], [f"rows{i}"]))
        nodes.insert(0, helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(numpy.array(0), "zero")))
        nodes.append(helper.make_node("Less", ["rows1", "rows2"] if taken == 0 else ["rows2", "rows1"], ["less12"]))
        name = "less12"
    graphs = []
    for branch in range(2):
        inner = []
        result = "x1" if branch == taken else misfit(d, dtype, inner, *d.choice([("x1", "x2"), ("x2", "x1")]))
        inner.append(helper.make_node(d.choice(UNARY), [result], ["t"]))
        graphs.append(helper.make_graph(inner, f"branch{branch}", [], [helper.make_tensor_value_info(
            "t", helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)), None)]))
    nodes.append(helper.make_node("If", [name], ["y0"], then_branch=graphs[0], else_branch=graphs[1]))
    return Model(inputs, outputs=1, nodes=nodes, depth=4)


@operator("If", plain=True, times=3)  # conditions take the largest element: with a NaN it is open
def if_(d):
    if d.chance(0.2):
        return untaken(d)
    dtype = d.choice([numpy.float32, numpy.float32, numpy.float16, numpy.float64, numpy.int32, numpy.int64])
    shape = d.shape(0, 3, 5, empty=0)
    inputs = [d.array(numpy.bool_, [1] if d.chance(0.5) else [])]
    inputs += [d.array(dtype, shape, -3, 3) for _ in range(d.integer(1, 2))]
    # if the branches' ranks differ, the condition must be known
    known = d.chance(0.25)
    fixed = known or d.chance(0.6)
    body = Body(d, dtype, shape, [f"x{i}" for i in range(1, len(inputs))], 0, fixed)
    for _ in range(d.integer(0, 2)):
        body.grow()
    outputs = d.integer(1, 3)
    shapes = [[d.shape(0, 2, 4) if known and d.chance(0.6) else None for _ in range(outputs)] for _ in range(2)]
    shapes[1] = [other if shape is not None else None for shape, other in zip(*shapes)] if known else shapes[1]
    shapes[1] = [d.shape(0, 2, 4) if shape is not None and other is None else other for shape, other in zip(*shapes)]
    open_ = [not known and bool(shape) and d.chance(0.4) for _ in range(outputs)]
    for i in range(outputs):
        if open_[i]:
            shapes[0][i], shapes[1][i] = unlike(d, shape, fixed)
    names = branches(body, "x0" if known else body.condition(), outputs, shapes)
    for i, name in enumerate(names):
        if open_[i] and d.chance(0.6):
            name = body.node(d.choice(UNARY), [name])
        elif shapes[0][i] is None and not open_[i] and d.chance(0.5):
            name = body.node(d.choice(BINARY), [name, body.any()])
        body.nodes.append(helper.make_node("Identity", [name], [f"y{i}"]))
    used = {node.domain for node in walk(body.nodes)}
    return Model(inputs, outputs=outputs, nodes=body.nodes, constant=(0,) if known and d.chance(0.3) else (), fixed=fixed,
                 functions=functions(d) if "own" in used else [], domains=("own",) if "own" in used else (), depth=4)


def walk(nodes):
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from walk(attribute.g.node)
