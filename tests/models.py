"""Small models, valid and invalid, for the tests of the program: models.py FOLDER. Always the same bytes."""
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = sys.argv[1]
os.makedirs(os.path.join(folder, "long"), exist_ok=True)  # those that take minutes, apart from what is built whole
F32 = TensorProto.FLOAT


def info(name, shape, dtype=F32):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17, domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    made = helper.make_model(graph, producer_name="test",
                             opset_imports=[helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains])
    made.ir_version = 8
    return made


def write(name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.SerializeToString(deterministic=True))


def doubled(levels):
    """A call of a function that calls another one twice, and so on: 2^levels nodes, for which every command takes long."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    functions = [helper.make_function("my", "D0", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], opsets)]
    for level in range(1, levels + 1):
        calls = [helper.make_node(f"D{level - 1}", [a], [b], domain="my") for a, b in (("a", "t"), ("t", "b"))]
        functions.append(helper.make_function("my", f"D{level}", ["a"], ["b"], calls, opsets))
    made = model([helper.make_node(f"D{levels}", ["x"], ["y"], domain="my")], [info("x", ["N", 4])], [info("y", ["N", 4])],
                 domains=["my"])
    made.functions.extend(functions)
    return made


def weights():
    return numpy_helper.from_array(numpy.arange(12, dtype=numpy.float32).reshape(4, 3) / 8 - 0.5, "w")


def small():
    """MatMul, Add, Relu, Softmax; the batch has a name."""
    bias = numpy_helper.from_array(numpy.array([0.5, -1, 2], numpy.float32), "b")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"], name="product"),
             helper.make_node("Add", ["xw", "b"], ["sum"], name="bias"),
             helper.make_node("Relu", ["sum"], ["positive"], name="activation"),
             helper.make_node("Softmax", ["positive"], ["y"], name="probabilities", axis=-1)]
    return model(nodes, [info("x", ["N", 4])], [info("y", ["N", 3])], [weights(), bias])


def defaults():
    """A weight and a shape that are also inputs, before the only input without a value."""
    shape = numpy_helper.from_array(numpy.array([-1], numpy.int64), "shape")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"], name="product"),
             helper.make_node("Erf", ["xw"], ["bent"], name="bend"),
             helper.make_node("Reshape", ["bent", "shape"], ["y"], name="flat")]
    return model(nodes, [info("w", [4, 3]), info("shape", [1], TensorProto.INT64), info("x", ["N", 4])], [info("y", ["M"])],
                 [weights(), shape])


def layers():
    """Three equal layers, each a product with weights of its own and a softmax that the next product reads."""
    nodes, weight = [], []
    for i in range(3):
        weight.append(numpy_helper.from_array(numpy.sin(numpy.arange(64, dtype=numpy.float32) + i).reshape(8, 8), f"w{i}"))
        nodes += [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"xw{i}"], name=f"product{i}"),
                  helper.make_node("Softmax", [f"xw{i}"], [f"x{i + 1}"], name=f"softmax{i}", axis=-1)]
    return model(nodes, [info("x0", ["N", 8])], [info("x3", ["N", 8])], weight)


def scaled_layers():
    """Four layers of one width and two of another, each with weights, scales, zero points and a slope of its own."""
    nodes, constant, value = [], [], numpy.random.default_rng(5)
    def number(name, x, dtype=numpy.float32):
        constant.append(numpy_helper.from_array(numpy.asarray(x, dtype), name))
        return name
    def node(op, inputs, *outputs, **attributes):
        nodes.append(helper.make_node(op, inputs, outputs, name=f"{outputs[0]}_node", **attributes))
    for i, (a, b) in enumerate(((8, 8), (8, 8), (8, 8), (8, 8), (8, 16), (16, 16))):
        weight = number(f"w{i}", value.integers(0, 255, (a, b)), numpy.uint8)
        zero = number(f"w_zero{i}", 120 + i, numpy.uint8)
        scale, step = number(f"w_scale{i}", 0.002 + 0.0003 * i), number(f"step{i}", 0.01 + 0.002 * i)
        step_zero = number(f"step_zero{i}", 126 + i, numpy.uint8)
        node("DynamicQuantizeLinear", [f"x{i}"], f"q{i}", f"scale{i}", f"zero{i}")
        node("MatMulInteger", [f"q{i}", weight, f"zero{i}", zero], f"sum{i}")
        node("Cast", [f"sum{i}"], f"wide{i}", to=TensorProto.FLOAT)
        node("Mul", [f"scale{i}", scale], f"scales{i}")
        node("Mul", [f"wide{i}", f"scales{i}"], f"product{i}")
        node("LeakyRelu", [f"product{i}"], f"leaky{i}", alpha=0.1 + 0.02 * i)
        node("QuantizeLinear", [f"leaky{i}", step, step_zero], f"steps{i}")
        node("DequantizeLinear", [f"steps{i}", step, step_zero], f"x{i + 1}")
    return model(nodes, [info("x0", ["N", 8])], [info("x6", ["N", 16])], constant)


def deep():
    """Layers of 30 different widths, whose kernels are too many for one text."""
    nodes, weight, width = [], [], [7 + 3 * i for i in range(31)]
    for i, (a, b) in enumerate(zip(width, width[1:])):
        weight.append(numpy_helper.from_array(numpy.sin(numpy.arange(a * b, dtype=numpy.float32)).reshape(a, b), f"w{i}"))
        nodes += [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"xw{i}"], name=f"product{i}"),
                  helper.make_node("Softmax", [f"xw{i}"], [f"x{i + 1}"], name=f"softmax{i}", axis=-1)]
    return model(nodes, [info("x0", ["N", width[0]])], [info("x30", ["N", width[-1]])], weight)


def chains():
    """A norm spelled in nine nodes after a product, moves of elements before it, and attention."""
    def node(op, inputs, output, **attributes):
        return helper.make_node(op, inputs.split(), [output], name=output, **attributes)

    rows = numpy_helper.from_array(numpy.sin(numpy.arange(4096, dtype=numpy.float32)).reshape(64, 64), "w")
    small = [numpy_helper.from_array(numpy.array(x, numpy.float32), n) for x, n in ((2, "two"), (1e-5, "epsilon"))]
    ends = [numpy_helper.from_array(numpy.array([x]), n) for x, n in ((0, "zero"), (32, "half"), (64, "all"), (1, "axis"))]
    nodes = [node("MatMul", "x w", "product"), node("Slice", "product zero half axis", "first"),
             node("Slice", "product half all axis", "second"), node("Neg", "second", "negative"),
             node("Concat", "negative first", "turned", axis=1), node("Add", "turned product", "sum"),
             node("ReduceMean", "sum", "mean", axes=[1]), node("Sub", "sum mean", "centred"),
             node("Pow", "centred two", "square"), node("ReduceMean", "square", "variance", axes=[1]),
             node("Add", "variance epsilon", "safe"), node("Sqrt", "safe", "deviation"),
             node("Div", "centred deviation", "norm"), node("MatMul", "norm w", "q"),
             node("Transpose", "q", "k", perm=[1, 0]), node("MatMul", "q k", "scores"), node("Mul", "scores two", "scaled"),
             node("Softmax", "scaled", "weights", axis=1), node("MatMul", "weights q", "y")]
    return model(nodes, [info("x", ["N", 64])], [info("y", ["N", 64])], [rows, *small, *ends])


def other_domain():
    """One node of its own domain, and no import of ONNX's operators."""
    nodes = [helper.make_node("Adagrad", ["R", "T", "X", "G", "H"], ["X_new", "H_new"], name="step",
                              domain="ai.onnx.preview.training", decay_factor=0.1)]
    pairs = [info(name, [2]) for name in ("X", "G")]
    made = model(nodes, [info("R", []), info("T", [], TensorProto.INT64), *pairs], [info("X_new", [2]), info("H_new", [2])],
                 [numpy_helper.from_array(numpy.array([1, 2], numpy.float32), "H")], domains=["ai.onnx.preview.training"])
    del made.opset_import[0]
    return made


def contrib():
    """An operator of ONNX Runtime, whose result type ONNX's checker does not know, before one of ONNX."""
    nodes = [helper.make_node("FusedMatMul", ["x", "w"], ["xw"], name="product", domain="com.microsoft", alpha=2.0),
             helper.make_node("Relu", ["xw"], ["y"], name="activation")]
    return model(nodes, [info("x", ["N", 4])], [info("y", ["N", 3])], [weights()], domains=["com.microsoft"])


def branches():
    """An If in an If, whose branches capture tensors and bools from all enclosing graphs; and a local function in a branch."""
    bools = TensorProto.BOOL
    half = helper.make_function("own", "Half", ["v"], ["w"], [helper.make_node("LeakyRelu", ["v"], ["w"], alpha=0.5)],
                                [helper.make_opsetid("", 17)])
    inner = [helper.make_graph([helper.make_node("Where", ["mask", "twice", "x"], ["t2"])], "then", [], [info("t2", None)]),
             helper.make_graph([helper.make_node("Half", ["twice"], ["t2"], domain="own")], "else", [], [info("t2", None)])]
    outer = [helper.make_graph([helper.make_node("Add", ["positive", "positive"], ["twice"]),
                                helper.make_node("If", ["d"], ["t"], then_branch=inner[0], else_branch=inner[1]),
                                helper.make_node("Not", ["mask"], ["s"])], "then", [], [info("t", None), info("s", None, bools)]),
             helper.make_graph([helper.make_node("Mul", ["positive", "w"], ["t"]), helper.make_node("Identity", ["mask"], ["s"])],
                               "else", [], [info("t", None), info("s", None, bools)])]
    nodes = [helper.make_node("Relu", ["x"], ["positive"], name="activation"),
             helper.make_node("Less", ["x", "w"], ["mask"], name="compare"),
             helper.make_node("If", ["c"], ["y", "z"], name="choose", then_branch=outer[0], else_branch=outer[1])]
    made = model(nodes, [info("x", ["N", 4, 3]), info("c", [], bools), info("d", [1], bools)],
                 [info("y", ["N", 4, 3]), info("z", ["N", 4, 3], bools)], [weights()], domains=["own"])
    made.functions.append(half)
    return made


def bodies():
    """Graphs inside nodes: an If with a Loop in one branch, and a Scan. The branches capture a tensor, a bool and a weight,
    the Loop another one from its branch; names of nodes and tensors repeat. TensorRT refuses quantisation to uint8."""
    bools, ints = TensorProto.BOOL, TensorProto.INT64

    def quantised(tensor, out):
        return [helper.make_node("DynamicQuantizeLinear", [tensor], ["q", "scale", "zero"], name="quantise"),
                helper.make_node("DequantizeLinear", ["q", "scale", "zero"], [out], name="dequantise")]

    turn = helper.make_graph(
        [helper.make_node("Cast", ["turn"], ["number"], name="number", to=F32),
         helper.make_node("Add", ["s", "number"], ["moved"], name="move"), *quantised("moved", "rough"),
         helper.make_node("Where", ["mask", "rough", "half"], ["next"], name="choose_next"),
         helper.make_node("Erf", ["next"], ["kept"], name="error"),
         helper.make_node("Identity", ["go_on"], ["still"], name="go_on")],
        "turn", [info("turn", [], ints), info("go_on", [], bools), info("s", None)],
        [info("still", [], bools), info("next", None), info("kept", None)])
    step = helper.make_graph(
        [helper.make_node("Add", ["sum", "row"], ["sum_out"], name="add"),
         helper.make_node("Softplus", ["row"], ["soft_row"], name="soft"),
         helper.make_node("Mul", ["soft_row", "sum_out"], ["row_out"])],
        "step", [info("sum", [3]), info("row", [3])], [info("sum_out", [3]), info("row_out", [3])])
    then = helper.make_graph([helper.make_node("Mul", ["positive", "w"], ["t1"], name="weigh"),
                              helper.make_node("Softplus", ["t1"], ["t2"], name="soft"),
                              helper.make_node("Where", ["mask", "t2", "positive"], ["t"], name="pick"),
                              helper.make_node("Concat", ["t", "t"], ["twice"], name="twice", axis=0)],
                             "then", [], [info("t", None), info("twice", None)])
    other = helper.make_graph([helper.make_node("Mul", ["x", "a_half"], ["half"], name="halve"),
                               helper.make_node("Softplus", ["half"], ["t1"], name="soft"),
                               helper.make_node("Loop", ["three", "", "t1"], ["t", "all"], name="turns", body=turn),
                               helper.make_node("Reshape", ["all", "rows"], ["twice"], name="flat")],
                              "else", [], [info("t", None), info("twice", None)],
                              [numpy_helper.from_array(numpy.array(0.5, numpy.float32), "a_half")])
    nodes = [helper.make_node("Relu", ["x"], ["positive"], name="activation"),
             helper.make_node("Less", ["x", "w"], ["mask"], name="compare"),
             helper.make_node("If", ["c"], ["y", "z"], name="choose", then_branch=then, else_branch=other),
             helper.make_node("Scan", ["start", "y"], ["sum", "rows_out"], body=step, num_scan_inputs=1)]
    numbers = [numpy_helper.from_array(numpy.array(value, dtype), name) for name, value, dtype in (
        ("three", 3, numpy.int64), ("rows", [-1, 3], numpy.int64), ("start", [1, 2, 3], numpy.float32))]
    return model(nodes, [info("x", [4, 3]), info("c", [], bools)],
                 [info("y", [4, 3]), info("z", [None, 3]), info("sum", [3]), info("rows_out", [4, 3])], [weights(), *numbers])


def found():
    """Two consecutive nodes with run-time sizes; their sum; and the columns that a condition keeps."""
    ints = TensorProto.INT64
    nodes = [helper.make_node("Greater", ["x", "half"], ["large"], name="compare"),
             helper.make_node("NonZero", ["large"], ["at"], name="search"),
             helper.make_node("Transpose", ["at"], ["points"], name="points"),
             helper.make_node("GatherND", ["x", "points"], ["values"], name="pick"),
             helper.make_node("Concat", ["values", "values"], ["twice"], name="twice", axis=0),
             helper.make_node("ReduceSum", ["values"], ["sum"], name="sum", keepdims=0),
             helper.make_node("ReduceMax", ["x"], ["most"], name="most", axes=[0], keepdims=0),
             helper.make_node("Greater", ["most", "half"], ["columns"], name="columns"),
             helper.make_node("Compress", ["x", "columns"], ["kept"], name="keep", axis=1)]
    half = numpy_helper.from_array(numpy.array(0.5, numpy.float32), "half")
    return model(nodes, [info("x", ["N", "M"])],
                 [info("at", [2, "K"], ints), info("twice", [None]), info("sum", []), info("kept", ["N", None])], [half])


def counts():
    """How often each number below 4 occurs, as torch.bincount counts: the length before the slice follows from an element."""
    ints = TensorProto.INT64
    nodes = [helper.make_node("ReduceMax", ["ids"], ["most"], name="most", keepdims=1),
             helper.make_node("Add", ["most", "five"], ["length"], name="length"),
             helper.make_node("Expand", ["zero", "length"], ["zeros"], name="zeros"),
             helper.make_node("Expand", ["one", "shape"], ["ones"], name="ones"),
             helper.make_node("ScatterElements", ["zeros", "ids", "ones"], ["all"], name="count", reduction="add"),
             helper.make_node("Slice", ["all", "start", "end"], ["counts"], name="first")]
    values = {"five": [5], "zero": 0, "one": 1, "start": [0], "end": [4]}
    constants = [numpy_helper.from_array(numpy.array(value, numpy.int64), name) for name, value in values.items()]
    nodes.insert(0, helper.make_node("Shape", ["ids"], ["shape"], name="shape"))
    return model(nodes, [info("ids", ["N"], ints)], [info("counts", [None], ints)], constants, opset=18)


def perhaps_boxes():
    """Boxes left after a suppression, as in torchvision's batched_nms: in a branch that is taken if there are any. The nodes
    after it have that many boxes."""
    ints = TensorProto.INT64
    nothing = helper.make_graph(
        [helper.make_node("ConstantOfShape", ["none"], ["e"], value=helper.make_tensor("value", ints, [1], [0]))], "nothing", [],
        [info("e", [0], ints)], [numpy_helper.from_array(numpy.array([0], numpy.int64), "none")])
    some = helper.make_graph([
        helper.make_node("Unsqueeze", ["boxes", "first"], ["b3"], name="batch_of_boxes"),
        helper.make_node("Unsqueeze", ["scores", "both"], ["s3"], name="batch_of_scores"),
        helper.make_node("NonMaxSuppression", ["b3", "s3", "most", "overlap"], ["picked"], name="suppress"),
        helper.make_node("Gather", ["picked", "two"], ["p"], name="third", axis=1)], "some", [], [info("p", [None], ints)])
    nodes = [helper.make_node("Size", ["boxes"], ["count"], name="count"),
             helper.make_node("Equal", ["count", "zero"], ["empty"], name="is_empty"),
             helper.make_node("If", ["empty"], ["keep"], name="choose", then_branch=nothing, else_branch=some),
             helper.make_node("Gather", ["boxes", "keep"], ["kept"], name="take", axis=0),
             helper.make_node("Split", ["kept"], ["x0", "y0", "x1", "y1"], name="sides", axis=1),
             helper.make_node("Sub", ["x1", "x0"], ["w"], name="width"),
             helper.make_node("Sub", ["y1", "y0"], ["h"], name="height"),
             helper.make_node("Mul", ["w", "h"], ["area"], name="area"),
             helper.make_node("ReduceSum", ["area"], ["sum"], name="sum", keepdims=0)]
    numbers = {"first": [0], "both": [0, 1], "most": [100], "two": 2, "zero": 0}
    constants = [numpy_helper.from_array(numpy.array(value, numpy.int64), name) for name, value in numbers.items()]
    constants.append(numpy_helper.from_array(numpy.array([0.5], numpy.float32), "overlap"))
    return model(nodes, [info("boxes", ["N", 4]), info("scores", ["N"])], [info("area", [None, 1]), info("sum", [])], constants)


def two_rates():
    """Speech at one of two sample rates, as in Silero's detector: an If on the rate, whose branches frame the samples
    differently and so have different ranks. And a list of positions."""
    ints = TensorProto.INT64

    def branch(name, width, at):
        size = numpy_helper.from_array(numpy.array([-1, width] if at else [-1], numpy.int64), f"size_{name}")
        return helper.make_graph([helper.make_node("Reshape", ["x", f"size_{name}"], [f"f_{name}"], name="frames"),
                                  helper.make_node("Softplus", [f"f_{name}"], [f"s_{name}"], name="soft"),
                                  helper.make_node("Abs", [f"s_{name}"], [f"o_{name}"], name="size")],
                                 name, [], [info(f"o_{name}", None)], [size])

    nodes = [helper.make_node("Equal", ["sr", "wide"], ["is_wide"], name="compare"),
             helper.make_node("If", ["is_wide"], ["framed"], name="rate", then_branch=branch("wide", 8, True),
                              else_branch=branch("narrow", 4, False)),
             helper.make_node("ReduceSum", ["framed", "axes"], ["sums"], name="sum", keepdims=0),
             helper.make_node("Erf", ["sums"], ["y"], name="last")]
    wide = numpy_helper.from_array(numpy.array(16000, numpy.int64), "wide")
    return model(nodes, [info("x", ["N", 64]), info("sr", [], ints), info("axes", [1], ints)], [info("y", [None])], [wide])


def counted():
    """Extents given by input values: the best K of a tiled tensor."""
    ints = TensorProto.INT64
    nodes = [helper.make_node("Tile", ["x", "times"], ["tiled"], name="tiles"),
             helper.make_node("TopK", ["tiled", "k"], ["y", "at"], name="best", axis=1),
             helper.make_node("ReduceSum", ["y"], ["sum"], name="sum", keepdims=0)]
    return model(nodes, [info("x", ["N", "M"]), info("times", [2], ints), info("k", [1], ints)],
                 [info("y", [None, None]), info("at", [None, None], ints), info("sum", [])])


def totals():
    """Rows and a sum over everything, with dynamic extents: the best schedule depends on them."""
    nodes = [helper.make_node("Softmax", ["x"], ["rows"], name="rows", axis=-1),
             helper.make_node("ReduceSum", ["x"], ["total"], name="total", keepdims=0)]
    return model(nodes, [info("x", ["N", "M"])], [info("rows", ["N", "M"]), info("total", [])])


def one(op, inputs=("x",), outputs=("y",), domain="", **attrs):
    return helper.make_node(op, list(inputs), list(outputs), name="node", domain=domain, **attrs)


X, Y = [info("x", [2, 4])], [info("y", [2, 4])]


def packed_weights():
    """Three products with weights of 4 bits, the first and the last with the same; then a sum with a table of bool."""
    random = numpy.random.default_rng(5)
    packed = [numpy_helper.from_array(random.integers(0, 256, (64, 2, 16), numpy.uint8), name) for name in ("p", "q")]
    scales = numpy_helper.from_array((random.random(128) / 64).astype(numpy.float16), "s")
    table = numpy_helper.from_array(random.integers(0, 2, (16, 64)).astype(bool), "t")
    attributes = {"K": 64, "N": 64, "bits": 4, "block_size": 32, "domain": "com.microsoft"}
    nodes = [helper.make_node("MatMulNBits", ["x", "p", "s"], ["a"], name="first", **attributes),
             helper.make_node("MatMulNBits", ["a", "q", "s"], ["b"], name="second", **attributes),
             helper.make_node("MatMulNBits", ["b", "p", "s"], ["c"], name="third", **attributes),
             helper.make_node("Where", ["t", "c", "x"], ["y"], name="choice")]
    half = TensorProto.FLOAT16
    return model(nodes, [info("x", [16, 64], half)], [info("y", [16, 64], half)], [*packed, scales, table],
                 domains=["com.microsoft"])



def external(location, offset=0, length=48):
    made = model([one("MatMul", ("x", "w"))], X, [info("y", [2, 3])], [weights()])
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        tensor.external_data.add(key=key, value=value)
    return made


small_bytes = small().SerializeToString(deterministic=True)
write("small.onnx", small_bytes)
write("long/doubled.onnx", doubled(16))
write("layers.onnx", layers())
write("defaults.onnx", defaults())
write("scaled_layers.onnx", scaled_layers())
write("deep.onnx", deep())
write("chains.onnx", chains())
write("other_domain.onnx", other_domain())
write("contrib.onnx", contrib())
write("branches.onnx", branches())
write("bodies.onnx", bodies())
write("found.onnx", found())
write("counted.onnx", counted())
write("two_rates.onnx", two_rates())
write("counts.onnx", counts())
write("perhaps_boxes.onnx", perhaps_boxes())
write("totals.onnx", totals())
write("truncated.onnx", small_bytes[:len(small_bytes) // 2])
write("empty.onnx", b"")
write("random.onnx", numpy.random.default_rng(1).bytes(1000))
write("text.onnx", b"this is a text, not a model\n")
write("weights.bin", numpy_helper.to_array(weights()).tobytes())
write("packed_weights.onnx", packed_weights())
write("external.onnx", external("weights.bin"))
beside = external("weights.bin")  # and a node that a build can take without them
beside.graph.node[0].output[0] = "product"
beside.graph.node.append(one("Softmax", ("product",)))
write("external_beside.onnx", beside)
write("external_missing.onnx", external("no_such_file.bin"))
write("external_short.onnx", external("weights.bin", offset=40))
write("external_outside.onnx", external("../weights.bin"))
write("undefined_tensor.onnx", model([one("Add", ("x", "nowhere"))], X, Y))
write("cycle.onnx", model([one("Add", ("x", "b"), ("a",)), one("Relu", ("a",), ("b",)), one("Relu", ("a",))], X, Y))
write("defined_twice.onnx", model([one("Relu"), one("Abs")], X, Y))
write("custom_operator.onnx", model([one("Secret", domain="my.domain")], X, Y, domains=["my.domain"]))
no_opset = model([one("Relu")], X, Y, domains=["my.domain"])
del no_opset.opset_import[0]
write("no_opset_of_domain.onnx", no_opset)
write("unknown_operator.onnx", model([one("Rellu")], X, Y))
write("bad_attribute.onnx", model([one("Softmax", axis=7)], X, Y))
write("bad_broadcast.onnx", model([one("Add", ("x", "w"))], X, Y, [weights()]))
write("missing_input.onnx", model([one("MatMul", ("x",))], X, Y))
write("string_tensor.onnx", model([one("Identity")], [info("x", [2], TensorProto.STRING)], [info("y", [2], TensorProto.STRING)]))
# Tensors of nine axes between nodes, more than TensorRT has.
write("nine_axes.onnx", model([helper.make_node("Reshape", ["x", "split"], ["a"], name="split"),
                               helper.make_node("Transpose", ["a"], ["b"], name="turn", perm=[8, 7, 6, 5, 4, 3, 2, 1, 0]),
                               helper.make_node("Reshape", ["b", "whole"], ["y"], name="join")],
                              [info("x", [2, 512])], [info("y", [2, 512])],
                              [numpy_helper.from_array(numpy.array([2] * 8 + [4], numpy.int64), "split"),
                               numpy_helper.from_array(numpy.array([2, 512], numpy.int64), "whole")]))
# An input of nine axes, and nodes that need no tensor of so many.
write("nine_axes_input.onnx", model([helper.make_node("ReduceSum", ["x", "axes"], ["a"], name="sum", keepdims=0),
                                     helper.make_node("Erf", ["a"], ["b"], name="erf"),
                                     helper.make_node("Det", ["b"], ["y"], name="det")],
                                    [info("x", [2] * 9)], [info("y", [])],
                                    [numpy_helper.from_array(numpy.arange(7), "axes")]))
# ONNX Runtime crashes at this operator in a function: it is in ONNX's domain, but not ONNX's.
for opset in (17, 18):
    write(f"simplified_norm_{opset}.onnx", model(
        [helper.make_node("SimplifiedLayerNormalization", ["x", "scale"], ["y", "inverse"], name="norm", axis=-2, epsilon=1e-3)],
        [info("x", ["N", 3, 4], TensorProto.FLOAT16)], [info("y", ["N", 3, 4], TensorProto.FLOAT16), info("inverse", ["N", 1, 1])],
        [numpy_helper.from_array((numpy.arange(12) / 8).astype(numpy.float16).reshape(3, 4), "scale")], opset=opset))
# ONNX Runtime refuses QLinearConcat in a function.
write("q_concat.onnx", model([helper.make_node("QuantizeLinear", ["x", "a_scale", "a_zero"], ["a"], name="quantize"),
                              helper.make_node("QLinearConcat", ["scale", "zero", "a", "a_scale", "a_zero", "a", "b_scale", "a_zero"], ["q"],
                                               name="concat", domain="com.microsoft", axis=1),
                              helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"], name="dequantize")],
                             [info("x", ["N", 3])], [info("y", ["N", 6])],
                             [numpy_helper.from_array(numpy.array(value, kind), name) for name, value, kind in (
                                 ("scale", 0.05, numpy.float32), ("zero", 3, numpy.uint8), ("a_scale", 0.1, numpy.float32),
                                 ("a_zero", 120, numpy.uint8), ("b_scale", 0.03, numpy.float32))], domains=["com.microsoft"]))
# Its plugin sorts rows of any length by keys of 64 bits.
write("sort_64.onnx", model([helper.make_node("Unique", ["x"], ["y"], name="unique")], [info("x", ["N"], TensorProto.INT64)],
                            [info("y", ["M"], TensorProto.INT64)]))
write("double_tensor.onnx", model([one("Erf")], [info("x", [2], TensorProto.DOUBLE)], [info("y", [2], TensorProto.DOUBLE)]))
write("double_inside.onnx", model([helper.make_node("Cast", ["x"], ["a"], name="widen", to=TensorProto.DOUBLE),
                                   helper.make_node("Erf", ["a"], ["b"], name="erf"),
                                   helper.make_node("Cast", ["b"], ["y"], name="narrow", to=F32)], X, Y))


def refused():
    """Nodes that no plugin can replace, and some that only come after them."""
    string, u8 = TensorProto.STRING, TensorProto.UINT8
    tensor = helper.make_tensor_type_proto(F32, [2, 4])
    tensors = helper.make_sequence_type_proto(tensor)
    nodes = [helper.make_node(op, inputs, outputs, name=name, domain=domain, **attrs) for name, op, domain, inputs, outputs, attrs in (
        ("split_words", "StringSplit", "", ["text"], ["words", "counts"], {}),
        ("copy_text", "Identity", "", ["text"], ["text2"], {}),
        ("bundle", "SequenceInsert", "", ["parts", "x"], ["bundled"], {}),
        ("join", "ConcatFromSequence", "", ["bundled"], ["joined"], {"axis": 0}),
        ("behind", "Relu", "", ["joined"], ["joined2"], {}),
        ("copy_parts", "Identity", "", ["parts"], ["parts2"], {}),
        ("cut", "SplitToSequence", "", ["x", "extent"], ["halves"], {"axis": 1}),
        ("half", "SequenceAt", "", ["halves", "zero"], ["half0"], {}),
        ("present", "OptionalHasElement", "", ["perhaps"], ["is_there"], {}),
        ("copy_perhaps", "Identity", "", ["perhaps"], ["perhaps2"], {}),
        ("decode", "ImageDecoder", "", ["file"], ["pixels"], {}),
        ("names", "ZipMap", "ai.onnx.ml", ["x"], ["maps"], {"classlabels_int64s": [1, 2, 3, 4]}),
        ("slope", "Gradient", "ai.onnx.preview.training", ["x"], ["x2"], {"xs": ["x"], "y": "x"}),
        ("compare", "BifurcationDetector", "com.microsoft", ["ids", "ids", "zero"], ["tokens", "match"], {}))]
    inputs = [info("x", [2, 4]), info("text", [3], string), info("file", ["bytes"], u8), info("ids", [5], TensorProto.INT64),
              info("extent", [], TensorProto.INT64), helper.make_value_info("parts", tensors),
              helper.make_value_info("perhaps", helper.make_optional_type_proto(tensor))]
    outputs = [info("joined2", None), info("counts", [3], TensorProto.INT64)]
    zero = numpy_helper.from_array(numpy.array(0, numpy.int64), "zero")
    return model(nodes, inputs, outputs, [zero], opset=20, domains=["ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft"])


def sequences():
    """Halves of a tensor, as PyTorch's exporter writes chunk() and stack(); one of them goes through a node for a plugin."""
    nodes = [helper.make_node("SplitToSequence", ["x", "three"], ["halves"], name="cut", axis=1),
             helper.make_node("SequenceAt", ["halves", "zero"], ["a"], name="first"),
             helper.make_node("SequenceAt", ["halves", "one"], ["b"]),
             helper.make_node("DynamicQuantizeLinear", ["b"], ["q", "scale", "point"], name="narrow"),
             helper.make_node("DequantizeLinear", ["q", "scale", "point"], ["c"], name="wide"),
             helper.make_node("SequenceConstruct", ["a", "c"], ["pair"], name="pair"),
             helper.make_node("ConcatFromSequence", ["pair"], ["y"], name="stack", axis=0, new_axis=1)]
    numbers = [numpy_helper.from_array(numpy.array(k, numpy.int64), name) for k, name in ((3, "three"), (0, "zero"), (1, "one"))]
    return model(nodes, [info("x", ["N", 6])], [info("y", [2, "N", 3])], numbers)


def plain():
    """Refused nodes that nodes of TensorRT's own can replace: by the table, by their programs, and bytes between them."""
    bf16, u8 = TensorProto.BFLOAT16, TensorProto.UINT8
    nodes = [helper.make_node("CenterCropPad", ["x", "size"], ["cut"], name="crop", axes=[2, 3]),
             helper.make_node("QuantizeLinear", ["cut", "scale", "middle"], ["bytes"], name="quantise"),
             helper.make_node("Reshape", ["bytes", "rows"], ["flat"]),
             helper.make_node("DequantizeLinear", ["flat", "scale", "middle"], ["back"], name="dequantise"),
             helper.make_node("QuantizeLinear", ["back", "scale", "three"], ["other"]),
             helper.make_node("DequantizeLinear", ["other", "scale", "three"], ["z"], name="last"),
             helper.make_node("Cast", ["z"], ["half"], name="half", to=bf16),
             helper.make_node("HardSwish", ["half"], ["y"], name="swish")]
    number = numpy_helper.from_array
    constants = [number(numpy.array([4, 8]), "size"), number(numpy.float32(0.02), "scale"), number(numpy.uint8(128), "middle"),
                 number(numpy.uint8(3), "three"), number(numpy.array([0, -1]), "rows")]
    return model(nodes, [info("x", ["N", 3, 7, 5])], [info("y", ["N", 96], bf16)], constants, opset=21)


def narrow():
    """Types narrower than a byte and float8e8m0: those that a plugin can have, and others."""
    types = (TensorProto.INT4, TensorProto.FLOAT4E2M1, TensorProto.UINT2, TensorProto.FLOAT8E8M0)
    nodes = [node for name, elem in zip(("int4", "float4", "uint2", "power"), types) for node in (
        helper.make_node("Cast", ["x"], [name], name=f"to_{name}", to=elem),
        helper.make_node("Cast", [name], [f"{name}_back"], name=f"from_{name}", to=F32))]
    outputs = [info(f"{name}_back", [3, 5]) for name in ("int4", "float4", "uint2", "power")]
    return model(nodes, [info("x", [3, 5])], outputs, opset=25)


def odd_names():
    """Names that mean something to a shell, to make, to trtexec, and to C; and characters of several bytes."""
    nodes = [helper.make_node("Softmax", ["größe:0"], ["b"], name="a, 'b' $(c) */ %s #"),
             helper.make_node("Relu", ["b"], ["y"], name="größte Werte")]
    return model(nodes, [info("größe:0", ["batch size", 4])], [info("y", ["batch size", 4])])


def three_inputs():
    """Three inputs; the name of one reads like a shape of the others."""
    names = ["x", "y", "x:2x4,y"]
    nodes = [helper.make_node("Softmax", [name], [out], name=f"soft_{out}") for name, out in zip(names, "abc")]
    inputs = [info(name, [extent, 4]) for name, extent in zip(names, "NMK")]
    return model(nodes, inputs, [info(out, [extent, 4]) for out, extent in zip("abc", "NMK")])


def neck():
    """Two levels of a feature pyramid: the enlarged lower one is joined with the upper one. Their extents agree for some
    images."""
    def filters(name, count, depth):
        return numpy_helper.from_array(numpy.arange(count * depth * 9, dtype=numpy.float32).reshape(count, depth, 3, 3) / 64, name)
    conv = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    scales = numpy_helper.from_array(numpy.array([1, 1, 2, 2], numpy.float32), "scales")
    nodes = [helper.make_node("Conv", ["image", "f"], ["upper"], name="first", **conv),
             helper.make_node("Conv", ["upper", "g"], ["lower"], name="second", **conv),
             helper.make_node("Resize", ["lower", "", "scales"], ["enlarged"], name="enlarge", mode="nearest",
                              coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
             helper.make_node("Concat", ["enlarged", "upper"], ["y"], name="join", axis=1)]
    return model(nodes, [info("image", ["N", 1, "H", "W"])], [info("y", ["N", 5, "h", "w"])],
                 [filters("f", 2, 1), filters("g", 3, 2), scales])


def between_convolutions():
    """A gate between two convolutions of f16, a softmax behind a reshape, and a cache of which some rows are replaced."""
    half = TensorProto.FLOAT16

    def filters(name, count, depth):
        values = numpy.arange(count * depth * 9, dtype=numpy.float16).reshape(count, depth, 3, 3)
        return numpy_helper.from_array(values / numpy.float16(1024), name)
    to = numpy_helper.from_array(numpy.array([0, -1], numpy.int64), "to")
    nodes = [helper.make_node("Conv", ["image", "f"], ["wide"], name="first", pads=[1] * 4),
             helper.make_node("Relu", ["wide"], ["positive"], name="relu"),
             helper.make_node("Sigmoid", ["positive"], ["open"], name="gate"),
             helper.make_node("Mul", ["open", "positive"], ["gated"], name="times"),
             helper.make_node("MaxPool", ["gated"], ["small"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["small", "g"], ["narrow"], name="second", pads=[1] * 4),
             helper.make_node("Reshape", ["narrow", "to"], ["flat"], name="flat"),
             helper.make_node("Softmax", ["flat"], ["y"], name="soft"),
             helper.make_node("ScatterND", ["cache", "rows", "new"], ["kept"], name="update")]
    return model(nodes, [info("image", ["N", 3, 16, 16], half), info("cache", [8, 4]), info("rows", [2, 1], TensorProto.INT64),
                         info("new", [2, 4])], [info("y", ["N", 512], half), info("kept", [8, 4])],
                 [filters("f", 24, 3), filters("g", 8, 24), to])


def reserved_names():
    """Extents and tensors with names that C, C++, CUDA, their headers or kernels use for something else."""
    extents = ["NULL", "nullptr", "alignas", "constexpr", "xor", "TPAT_ARCH", "__global__", "threadIdx", "EOF"]
    tensors = ["end", "ring", "number", "group_row", "element", "thread", "signbit", "wait_for_last_kernel", "SEEK_SET"]
    constants = [numpy_helper.from_array(numpy.arange(k, k + 600, dtype=numpy.float32) / 600, name)
                 for k, name in enumerate(["buffer", "w", "w_end"])]
    nodes = [helper.make_node("Concat", tensors, ["template"], axis=0, name="joined"),
             helper.make_node("Sum", ["template", "buffer", "w", "w_end"], ["continue"], name="added"),
             helper.make_node("Softmax", ["continue"], ["int"], axis=1, name="softened")]
    return model(nodes, [info(t, [e, 600]) for e, t in zip(extents, tensors)], [info("int", [None, 600])], constants)


def control_names():
    """Names that would clear a terminal's screen, ring its bell or break the line if printed unescaped."""
    nodes = [helper.make_node("Softmax", ["x\x1b[2J"], ["b\x07"], name="soft\x1b]0;title\x07max"),
             helper.make_node("Relu", ["b\x07"], ["y\nz"], name="re\u009blu"),
             helper.make_node("Bad\x1bOperator", ["b\x07"], ["w\r"], name="last\n")]
    return model(nodes, [info("x\x1b[2J", ["N", 4])], [info("y\nz", ["N", 4]), info("w\r", ["N", 4])])


def necks(known=None):
    """Convolutions of stride 2, one of them enlarged again and joined: the images' extents must fit. `known`: the third one's
    extents in the model, as an export at a fixed size leaves them."""
    def conv(name, source, channels):
        weight = numpy.zeros((4, channels, 3, 3), numpy.float32)
        nodes.append(helper.make_node("Conv", [source, name + "_w"], [name], name=name, strides=[2, 2], pads=[1] * 4))
        initializers.append(numpy_helper.from_array(weight, name + "_w"))

    nodes, initializers = [], [numpy_helper.from_array(numpy.array([1, 1, 2, 2], numpy.float32), "scale")]
    conv("half", "images", 3)
    conv("quarter", "half", 4)
    conv("eighth", "quarter", 4)
    nodes.append(helper.make_node("Resize", ["eighth", "", "scale"], ["larger"], name="larger", mode="nearest"))
    nodes.append(helper.make_node("Concat", ["larger", "quarter"], ["both"], name="join", axis=1))
    nodes.append(helper.make_node("Relu", ["both"], ["y"], name="activation"))
    made = model(nodes, [info("images", ["batch", 3, "rows", "columns"])], [info("y", ["batch", 8, "r", "c"])], initializers)
    if known:
        made.graph.value_info.append(info("eighth", ["batch", 4, known, known]))
    return made


def words():
    """A table's rows by number, and a product whose inner extent is folded from blocks of 50."""
    table = numpy_helper.from_array(numpy.zeros((10, 8), numpy.float32), "table")
    to = numpy_helper.from_array(numpy.array([0, -1, 50, 8], numpy.int64), "to")
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"], name="rows"),
             helper.make_node("Reshape", ["rows", "to"], ["blocks"], name="blocks"),
             helper.make_node("Softmax", ["blocks"], ["y"], name="weights")]
    return model(nodes, [info("ids", ["batch", "tokens"], TensorProto.INT64)], [info("y", None)], [table, to])


def stray_size():
    """A Range whose length is an extent of a tensor that no plugin can read, and a node that is refused."""
    nodes = [helper.make_node("Shape", ["x"], ["shape"], name="shape"),
             helper.make_node("Gather", ["shape", "first"], ["count"], name="count"),
             helper.make_node("Range", ["zero", "count", "one"], ["places"], name="places"),
             helper.make_node("Mod", ["y", "y"], ["z"], name="modulus", fmod=1)]
    constants = [numpy_helper.from_array(numpy.array(i, numpy.int64), name)
                 for i, name in ((0, "first"), (0, "zero"), (1, "one"))]
    return model(nodes, [info("x", ["N"], TensorProto.DOUBLE), info("y", ["M", 4])],
                 [info("places", None, TensorProto.INT64), info("z", None)], constants)


write("stray_size.onnx", stray_size())
def shared_weights():
    """Two quantised convolutions with the same few weights, and two products, of which the second has them transposed."""
    random = numpy.random.default_rng(6)
    bytes_of = {"w": (4, 4, 1, 1), "m": (72, 72)}
    made = [numpy_helper.from_array(random.integers(-127, 128, shape).astype(numpy.int8), name) for name, shape in bytes_of.items()]
    made += [numpy_helper.from_array(numpy.array(value, dtype), name) for name, value, dtype in (
        ("s", 0.25, numpy.float32), ("z", 3, numpy.int8), ("none", 0, numpy.int8),
        ("square", [1, 72], numpy.int64))]

    def node(op, inputs, out, **attributes):
        return helper.make_node(op, inputs, [out], name=out, **attributes)

    nodes = [node("DequantizeLinear", ["w", "s", "none"], "kernel"), node("DequantizeLinear", ["m", "s", "none"], "matrix"),
             node("Transpose", ["matrix"], "turned"), node("DequantizeLinear", ["x", "s", "z"], "first"),
             node("Conv", ["first", "kernel"], "a"), node("QuantizeLinear", ["a", "s", "z"], "a8"),
             node("DequantizeLinear", ["a8", "s", "z"], "second"), node("Conv", ["second", "kernel"], "b"),
             node("QuantizeLinear", ["b", "s", "z"], "b8"), node("DequantizeLinear", ["b8", "s", "z"], "images"),
             node("Reshape", ["images", "square"], "rows"), node("MatMul", ["rows", "matrix"], "c"),
             node("QuantizeLinear", ["c", "s", "z"], "c8"), node("DequantizeLinear", ["c8", "s", "z"], "third"),
             node("MatMul", ["third", "turned"], "d"), node("QuantizeLinear", ["d", "s", "z"], "y")]
    return model(nodes, [info("x", [1, 4, 18, 1], TensorProto.INT8)], [info("y", [1, 72], TensorProto.INT8)], made)


write("shared_weights.onnx", shared_weights())
write("neck.onnx", neck())
write("between_convolutions.onnx", between_convolutions())
write("necks.onnx", necks())
write("necks_at_224.onnx", necks(28))
write("words.onnx", words())
write("control_names.onnx", control_names())
write("odd_names.onnx", odd_names())
write("three_inputs.onnx", three_inputs())
write("reserved_names.onnx", reserved_names())
write("narrow.onnx", narrow())
write("plain.onnx", plain())
# GCC 12 makes wrong code of its kernels in C with vectors of straight-line code.
write("any.onnx", model([helper.make_node("Cast", ["x"], ["numbers"], name="numbers", to=TensorProto.INT32),
                         helper.make_node("ReduceMax", ["numbers"], ["most"], name="most", axes=[1]),
                         helper.make_node("Cast", ["most"], ["y"], name="any", to=TensorProto.BOOL)],
                        [info("x", ["N", 4], TensorProto.BOOL)], [info("y", ["N", 1], TensorProto.BOOL)]))
write("sequences.onnx", sequences())
write("refused.onnx", refused())
write("shape_as_data.onnx", model([one("Reshape", ("x", "to"))], [*X, info("to", [2], TensorProto.INT64)], [info("y", None)]))
write("no_rank.onnx", model([one("Softmax")], [info("x", None)], [info("y", None)]))
write("same_names.onnx", model([one("Relu"), one("Abs", outputs=("z",))], X, [*Y, info("z", [2, 4])]))
write("huge_dimensions.onnx", model([one("Relu")], [info("x", [2**40, 2**40])], [info("y", [2**40, 2**40])]))
short = weights()
short.raw_data = short.raw_data[:20]
write("initializer_short.onnx", model([one("MatMul", ("x", "w"))], X, [info("y", [2, 3])], [short]))

# Models that once crashed the process or took exponential time.
weight = onnx.numpy_helper.from_array(numpy.ones((2, 2, 2, 2), numpy.float32), "w")
write("many_axes.onnx", model([
    onnx.helper.make_node("Einsum", ["w"] * 4, ["a"], name="product", equation="abcd,efgh,ijkl,mnop->abcdefghijklmnop"),
    onnx.helper.make_node("ReduceSum", ["a"], ["r"], name="total")], [], [info("r", [1] * 16)], [weight]))
write("mixed_types.onnx", model([onnx.helper.make_node("Attention", ["q", "k", "v"], ["y"], name="mixed")], [
    info("q", [2, 3, 4, 8], onnx.TensorProto.DOUBLE), info("k", [2, 3, 6, 8]), info("v", [2, 3, 6, 8])],
    [info("y", [2, 3, 4, 8])], opset=23))
write("endless_axis.onnx", model([onnx.helper.make_node("MaxPool", ["x"], ["y"], name="pool", kernel_shape=[1, 2])], [
    info("x", [1, 2, 2, 2**63 - 1])], [info("y", [1, 2, 2, 2**63 - 2])]))
growing = []
for i in range(64):
    growing += [onnx.helper.make_node("Shape", [f"x{i}"], [f"s{i}"]),
                onnx.helper.make_node("Mul", [f"s{i}", f"s{i}"], [f"t{i}"]),
                onnx.helper.make_node("Expand", ["one", f"t{i}"], [f"x{i + 1}"])]
write("growing.onnx", model(growing, [info("x0", ["N", "M"])], [info("x64", [None, None])], [
    onnx.numpy_helper.from_array(numpy.ones((1, 1), numpy.float32), "one")]))
many = [f"x{i}" for i in range(8000)]
write("many_inputs.onnx", model([onnx.helper.make_node("Concat", many, ["y"], name="all", axis=0)], [
    info(name, ["N", 3]) for name in many], [info("y", [None, 3])]))
layers = [("a_layer_whose_name_no_table_has_room_for/" + "block/" * 8 if i == 2 else f"layer{i}") for i in range(14)]
long = []
for i, layer in enumerate(layers):  # refused alike; then an axis of unknown extent, and what follows it
    quantised, scale, zero = f"q{i}", f"scale{i}", f"zero{i}"
    long += [helper.make_node("DynamicQuantizeLinear", [f"x{i}"], [quantised, scale, zero], name=layer + "/quantise"),
             helper.make_node("DequantizeLinear", [quantised, scale, zero], [f"d{i}"], name=layer + "/dequantise"),
             helper.make_node("Concat", [f"d{i}", f"d{i}"], [f"x{i + 1}"], name=layer + "/double", axis=0)]
long += [helper.make_node("ArgMax", ["x14"], ["places"], name="places", axis=0, keepdims=0),
         helper.make_node("Expand", ["x14", "places"], ["expanded"], name="expand"),
         helper.make_node("Relu", ["expanded"], ["positive"], name="positive"),
         helper.make_node("Sigmoid", ["positive"], ["y"], name="sigmoid")]
write("squeeze.onnx", model([helper.make_node("Squeeze", ["x"], ["s"], name="squeeze"), helper.make_node("Relu", ["s"], ["y"])], [
    info("x", ["N", 1, 4])], [info("y", None)]))
write("long.onnx", model(long, [info("x0", ["number_of_sequences", "number_of_tokens"])], [info("y", None)]))
# Extents with long names; the same reason in several operators.
wide = [helper.make_node("Concat", [x, x], [f"twice_{x}"], axis=0) for x in "abcdefgh"]
wide += [helper.make_node("Concat", [f"twice_{x}" for x in "abcdefgh"], ["r0"], axis=0)]
wide += [helper.make_node("Relu", [f"r{i}"], [f"r{i + 1}"]) for i in range(36)]
for i in range(3):
    wide += [helper.make_node("Cast", ["a"], [f"d{i}"], name=f"cast{i}", to=TensorProto.DOUBLE),
             helper.make_node("Exp", [f"d{i}"], [f"e{i}"], name=f"exp{i}")]
write("wide.onnx", model(wide, [info(x, [f"a_long_name_of_the_extent_{x}", 4]) for x in "abcdefgh"], [info("r36", None)] + [
    info(f"e{i}", None, TensorProto.DOUBLE) for i in range(3)]))
