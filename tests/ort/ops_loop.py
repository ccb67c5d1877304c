"""Loop and Scan: bodies of random nodes that read states, scanned inputs, the iteration number, and captured values."""
import numpy
from onnx import TensorProto, helper, numpy_helper

from draw import Model, i64, operator
from ops_control import Body, functions, walk

DTYPES = [numpy.float32, numpy.float32, numpy.float32, numpy.float64, numpy.int32, numpy.int64]


def info(name, dtype, shape=None):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)), shape)


def constant(body, value):
    name = body.name()
    body.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(numpy.asarray(value), name)))
    return name


def bounded(body, name):
    """A value that does not grow between iterations."""
    if body.dtype.kind == "f":
        return body.node("Tanh", [name])
    return body.node("Sub", [name, body.node("Mul", [body.node("Div", [name, constant(body, body.dtype.type(97))]),
                                                     constant(body, body.dtype.type(97))])])


def packed(body):
    """A value through a type narrower than a byte."""
    zero = body.name()
    body.nodes.append(helper.make_node("Constant", [], [zero], value=helper.make_tensor(
        zero, body.d.choice([TensorProto.INT4, TensorProto.UINT4]), [], [0])))
    quantisation = constant(body, numpy.float32(0.25)), zero
    made = body.name()
    body.nodes.append(helper.make_node("QuantizeLinear", [body.any(), *quantisation], [made]))
    body.node("DequantizeLinear", [made, *quantisation])


def results(body, states, collected):
    """The next values of states, which may be states themselves, and the collected values."""
    d, names = body.d, []
    for _ in range(d.integer(1, 5)):
        body.grow()
    if d.opset >= 21 and body.dtype == numpy.float32 and d.chance(0.3):
        packed(body)
    for _ in range(states):
        name = body.any() if d.chance(0.2) else bounded(body, body.grow())
        names.append(body.node("Identity", [name]))  # an output of its own
    for _ in range(collected):
        name = body.any()
        if body.shape and d.chance(0.3):  # of another shape
            body.values.remove(body.node("ReduceMax", [name], keepdims=0))
            name = body.nodes[-1].output[0]
        body.nodes.append(helper.make_node("Identity", [name], [body.name()]))
        names.append(body.nodes[-1].output[0])
    return names


def finish(d, inputs, node, outputs, constants, body):
    nodes = [node]
    used = {inner.domain for inner in walk(nodes)}
    return Model(inputs, nodes=nodes, outputs=outputs, constant=constants, fixed=body.fixed,
                 functions=functions(d) if "own" in used else [], domains=("own",) if "own" in used else (), depth=20)


def counted(d):
    """A loop with no iteration count, or an unlimited one: its condition compares a counting state."""
    dtype, counter = d.choice(DTYPES), d.choice([numpy.int32, numpy.int64])
    shape, fixed = d.shape(0, 2, 4, empty=0), d.chance(0.6)
    start, step, limit = d.integer(-3, 3), d.integer(1, 3), d.integer(-2, 9)
    going, collected = start < limit, d.integer(0, 2)
    first = not d.chance(0.3)  # the condition is not tested before the loop, as in "do while"
    collected *= going or not first
    inputs = [numpy.array(2**63 - 1), numpy.array(going or not first), numpy.array(start, counter), numpy.array(limit, counter),
              d.array(dtype, shape, -2, 2), d.array(dtype, shape, -2, 2)]
    body = Body(d, dtype, shape, ["s2", "x5"], 1, fixed)
    names = results(body, 1, collected)
    body.nodes.append(helper.make_node("Add", ["s0", constant(body, counter(step))], ["next"]))
    sides = ["next", "s1"]
    if d.chance(0.5):
        for side in ("next", "s1"):
            body.nodes.append(helper.make_node("Cast", [side], [f"{side}_f"], to=TensorProto.FLOAT))
        sides = ["next_f", "s1_f"]
    if d.chance(0.3) and d.opset >= 12:
        body.nodes.append(helper.make_node("LessOrEqual", sides, ["going_on"]))
    else:
        body.nodes.append(helper.make_node("Less", sides, ["going_on"]))
    states = [info("s0", counter, []), info("s1", counter, []), info("s2", dtype)]
    results_info = [info("next", counter, []), info("s1", counter, []), *(info(name, dtype) for name in names)]
    graph = helper.make_graph(body.nodes, "body", [info("turn", numpy.int64, []), info("going", numpy.bool_, []), *states],
                              [info("going_on", numpy.bool_, []), *results_info], body.initializers)
    node = helper.make_node("Loop", ["x0" if d.chance(0.3) else "", "x1" if first and d.chance(0.8) else "", "x2", "x3", "x4"],
                            [f"y{i}" for i in range(3 + collected)], body=graph)
    return finish(d, inputs, node, 3 + collected, (0, 1, 2, 3), body)


def grown(d):
    """A loop with a known number of iterations, each of which changes a state's shape."""
    dtype, turns, shape = d.choice(DTYPES), d.integer(0, 4), d.shape(1, 2, 3, empty=0)
    inputs = [i64(turns), numpy.array(True), d.array(dtype, shape, -2, 2), d.array(dtype, shape, -2, 2)]
    collected = turns > 0 and d.chance(0.5)
    parts = d.choice([["s0", "s0"], ["s0", "x3"], ["x3", "s0", "s0"], ["x3", "x3"]])
    nodes = [helper.make_node("Identity", ["going"], ["going_on"]),
             helper.make_node("Concat", parts, ["next"], axis=d.axis(len(shape)))]
    results_info = [info("going_on", numpy.bool_, []), info("next", dtype)]
    if collected:
        nodes.append(helper.make_node("ReduceSum", ["s0"], ["sum"], keepdims=0))
        nodes.append(helper.make_node("Cast", ["turn"], ["turn_as"], to=helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))))
        nodes.append(helper.make_node("Add", ["sum", "turn_as"], ["total"]))
        results_info.append(info("total", dtype, []))
    states = [info("turn", numpy.int64, []), info("going", numpy.bool_, []), info("s0", dtype)]
    node = helper.make_node("Loop", ["x0", d.choice(["", "x1"]), "x2"], [f"y{i}" for i in range(1 + collected)],
                            body=helper.make_graph(nodes, "body", states, results_info))
    return Model(inputs, nodes=[node], outputs=1 + collected, constant=(0, 1), fixed=d.chance(0.5), depth=20)


def windowed(d):
    """A loop that slices a captured tensor at its iteration number, or at a state that counts, inside it in every iteration."""
    dtype, counter, turns = d.choice(DTYPES), d.choice([numpy.int32, numpy.int64]), d.integer(1, 5)
    hop, width, stride, first = d.integer(1, 3), d.integer(1, 3), d.integer(1, 2), d.integer(0, 2)
    span = (width - 1) * stride + 1
    shape = d.shape(1, 3, 4, empty=0)
    axis, counts, fixed = d.integer(0, len(shape) - 1), d.chance(0.6), d.chance(0.4)
    down = counts and fixed and d.chance(0.4)
    shape[axis] = first + (turns - 1) * hop + span + d.integer(0, 2)
    start, step = (first + (turns - 1) * hop, -hop) if down else (first, hop)
    inputs = [i64(turns), numpy.array(True), d.array(dtype, shape, -2, 2), *([numpy.array(start, counter)] if counts else [])]

    def fixed_at(name, value):
        nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        return name

    outside = []
    if not down and d.chance(0.5):  # as many windows as fit
        nodes = outside
        nodes += [helper.make_node("Shape", ["x2"], ["shape"]),
                  helper.make_node("Gather", ["shape", fixed_at("axis", i64(axis))], ["extent"]),
                  helper.make_node("Sub", ["extent", fixed_at("rest", i64(first + span))], ["room"]),
                  helper.make_node("Div", ["room", fixed_at("hop", i64(hop))], ["steps"]),
                  helper.make_node("Add", ["steps", fixed_at("one", i64(1))], ["trip"])]
    nodes, made = [], [info("window", dtype)]
    states = [info("turn", numpy.int64, []), info("going", numpy.bool_, [])]
    nodes.append(helper.make_node("Identity", ["going"], ["going_on"]))
    if counts:
        states.append(info("s0", counter, []))
        made.insert(0, info("next", counter, []))
        nodes += [helper.make_node("Add", ["s0", fixed_at("by", numpy.array(step, counter))], ["next"]),
                  helper.make_node("Cast", ["s0"], ["at"], to=TensorProto.INT64)]
    else:
        nodes += [helper.make_node("Mul", ["turn", fixed_at("by", i64(hop))], ["moved"]),
                  helper.make_node("Add", ["moved", fixed_at("first", i64(first))], ["at"])]
    nodes += [helper.make_node("Reshape", ["at", fixed_at("list", i64([1]))], ["start"]),
              helper.make_node("Add", ["start", fixed_at("span", i64([span]))], ["end"]),
              helper.make_node("Slice", ["x2", "start", "end", fixed_at("axes", i64([axis])), fixed_at("steps", i64([stride]))], ["window"])]
    graph = helper.make_graph(nodes, "body", states, [info("going_on", numpy.bool_, []), *made])
    node = helper.make_node("Loop", ["trip" if outside else "x0", "x1", *(["x3"] if counts else [])],
                            [f"y{i}" for i in range(1 + counts)], body=graph)
    return Model(inputs, nodes=[*outside, node], outputs=1 + counts, constant=(0, 1, 3) if counts else (0, 1), fixed=fixed, depth=20)


def widening(d):
    """A loop whose iteration number decides the extent of a part of a captured tensor, which a sum reduces."""
    dtype, turns, shape = d.choice(DTYPES), d.integer(1, 5), d.shape(1, 3, 4, empty=0)
    axis, prefix, collected = d.integer(0, len(shape) - 1), d.chance(0.5), d.integer(0, 1)
    shape[axis] = turns + d.integer(0, 2)
    reduced = [1 if k == axis else n for k, n in enumerate(shape)]
    inputs = [i64(turns), numpy.array(True), d.array(dtype, shape, -2, 2), d.array(dtype, reduced, -2, 2)]
    nodes = []

    def fixed_at(name, value):
        nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        return name

    ends = ["none", "end"] if prefix else ["at", "all"]
    nodes += [helper.make_node("Reshape", ["turn", fixed_at("list", i64([1]))], ["at"]),
              helper.make_node("Add", ["at", fixed_at("one", i64([1]))], ["end"])]
    fixed_at("none", i64([0]))
    fixed_at("all", i64([2**63 - 1]))
    nodes += [helper.make_node("Slice", ["x2", *ends, fixed_at("axes", i64([axis]))], ["part"]),
              helper.make_node("ReduceSum", ["part", "axes"], ["sum"], keepdims=1),
              helper.make_node("Add", ["s0", "sum"], ["next"]),
              helper.make_node("Identity", ["going"], ["going_on"])]
    made = [info("going_on", numpy.bool_, []), info("next", dtype), *([info("sum", dtype)] if collected else [])]
    states = [info("turn", numpy.int64, []), info("going", numpy.bool_, []), info("s0", dtype)]
    node = helper.make_node("Loop", ["x0", d.choice(["", "x1"]), "x3"], [f"y{i}" for i in range(1 + collected)],
                            body=helper.make_graph(nodes, "body", states, made))
    return Model(inputs, nodes=[node], outputs=1 + collected, constant=(0, 1), fixed=d.chance(0.5), depth=20)


@operator("Loop", plain=True, times=4)
def loop(d):
    if d.opset >= 13 and d.chance(0.2):
        return widening(d) if d.chance(0.3) else windowed(d)
    if d.chance(0.25):
        return counted(d)
    if d.chance(0.2):
        return grown(d)
    dtype = d.choice(DTYPES)
    shape, states, fixed = d.shape(0, 2, 4, empty=0), d.integer(1, 3), d.chance(0.6)
    turns = d.integer(0, 5)
    kind = d.choice(["always", "handed on", "turn", "state"])  # the body's condition to continue
    known = d.chance(0.75)  # the number of iterations
    collected = d.integer(0, 2) if known else 0
    turns += collected > 0 and not turns  # after no iteration ONNX Runtime does not know the shape
    inputs = [i64(turns), numpy.array(collected > 0 or d.chance(0.85)), *(d.array(dtype, shape, -2, 2) for _ in range(states + 1))]
    body = Body(d, dtype, shape, [f"s{i}" for i in range(states)] + [f"x{states + 2}"], 1, fixed)
    if d.chance(0.5):  # the iteration number as a value like others
        turn = body.node("Cast", ["turn"], to=helper.np_dtype_to_tensor_dtype(body.dtype))
        body.values.remove(turn)  # it has another shape
        body.node("Add", [turn, body.any()])
    names = results(body, states, collected)
    going = "going_on"
    if kind == "always":
        body.nodes.append(helper.make_node("Constant", [], [going], value=helper.make_tensor("t", TensorProto.BOOL, [], [1])))
    elif kind == "handed on":
        body.nodes.append(helper.make_node("Identity", ["going"], [going]))
    elif kind == "turn":
        body.nodes.append(helper.make_node("Less", ["turn", constant(body, numpy.int64(d.integer(0, 4)))], [going]))
    else:
        first = body.node("ReduceMax", [body.node("Cast", [names[0]], to=TensorProto.FLOAT)], keepdims=0)
        body.nodes.append(helper.make_node("Less", [first, constant(body, numpy.float32(d.real(0.2, 1)))], [going]))
    graph = helper.make_graph(body.nodes, "body", [info("turn", numpy.int64, []), info("going", numpy.bool_, []),
                                                   *(info(f"s{i}", dtype) for i in range(states))],
                              [info(going, numpy.bool_, []), *(info(name, dtype) for name in names)], body.initializers)
    given = d.chance(0.6)
    if not given and not known and kind in ("always", "handed on"):
        given = True
    node = helper.make_node("Loop", ["x0", "x1" if given else "", *(f"x{i + 2}" for i in range(states))],
                            [f"y{i}" for i in range(states + collected)], body=graph)
    # the condition may be data; so may the number of iterations if nothing is collected
    constants = (0,) if known else ()
    if d.chance(0.5):
        constants += (1,)
    return finish(d, inputs, node, states + collected, constants, body)


def scan_8(d, dtype, shape, states, scanned, collected):
    """Of a batch of sequences."""
    batch, steps = d.integer(1, 3), d.integer(1, 4)
    inputs = [numpy.array([d.integer(1, steps) for _ in range(batch)], numpy.int64) if d.chance(0.5) else None]
    inputs += [d.array(dtype, [batch, *shape], -2, 2) for _ in range(states)]
    inputs += [d.array(dtype, [batch, steps, *shape], -2, 2) for _ in range(scanned)]
    attrs = {"directions": d.some(0, 1, scanned)} if d.chance(0.5) else {}
    if inputs[0] is not None:  # elements after the end of a sequence are undefined
        collected = 0
    return inputs, attrs, collected


def scan_9(d, dtype, shape, states, scanned, collected):
    steps = d.integer(1, 5)
    attrs, axes = {}, [0] * scanned
    if d.chance(0.5):
        axes = [d.axis(len(shape) + 1) for _ in range(scanned)]
        attrs["scan_input_axes"] = axes
    if d.chance(0.5):
        attrs["scan_input_directions"] = d.some(0, 1, scanned)
    if d.chance(0.5) and collected:
        attrs["scan_output_directions"] = d.some(0, 1, collected)
    inputs = [d.array(dtype, shape, -2, 2) for _ in range(states)]
    for axis in axes:
        place = axis % (len(shape) + 1)
        inputs.append(d.array(dtype, [*shape[:place], steps, *shape[place:]], -2, 2))
    return inputs, attrs, collected


@operator("Scan", plain=True, times=3)
def scan(d):
    dtype = d.choice(DTYPES)
    shape, states, scanned, collected = d.shape(0, 2, 4, empty=0), d.integer(0, 2), d.integer(1, 2), d.integer(1, 2)
    old = d.opset < 9
    states += not states and old
    inputs, attrs, collected = (scan_8 if old else scan_9)(d, dtype, shape, states, scanned, collected)
    first = int(old)
    fixed = d.chance(0.6)
    around = []
    if d.chance(0.6):
        inputs.append(d.array(dtype, shape, -2, 2))
        around = [f"x{len(inputs) - 1}"]
    body = Body(d, dtype, shape, [f"s{i}" for i in range(states + scanned)] + around, 1, fixed)
    names = results(body, states, collected)
    if d.chance(0.5) and collected and not old:
        made = [0 if node.op_type == "ReduceMax" else len(shape) for name in names[states:]
                for node in body.nodes if node.output[0] == next(n.input[0] for n in body.nodes if n.output[0] == name)]
        if len(made) == collected:
            attrs["scan_output_axes"] = [d.axis(rank + 1) for rank in made]
    graph = helper.make_graph(body.nodes, "body", [info(f"s{i}", dtype) for i in range(states + scanned)],
                              [info(name, dtype) for name in names], body.initializers)
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)][:first + states + scanned]
    node = helper.make_node("Scan", names, [f"y{i}" for i in range(states + collected)], body=graph, num_scan_inputs=scanned,
                            **attrs)
    return finish(d, inputs, node, states + collected, (), body)
