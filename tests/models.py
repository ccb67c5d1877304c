"""Small models, right and wrong, for the tests of the program: models.py FOLDER. Always the same bytes."""
import os
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
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


def branches():
    """An If in an If, whose branches take tensors and bools from all around them; and a local function in a branch."""
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


def found():
    """Elements that are found at run time, twice behind each other; their sum; and the columns that a condition keeps."""
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


def counted():
    """Extents that inputs say: the best K of what is tiled."""
    ints = TensorProto.INT64
    nodes = [helper.make_node("Tile", ["x", "times"], ["tiled"], name="tiles"),
             helper.make_node("TopK", ["tiled", "k"], ["y", "at"], name="best", axis=1),
             helper.make_node("ReduceSum", ["y"], ["sum"], name="sum", keepdims=0)]
    return model(nodes, [info("x", ["N", "M"]), info("times", [2], ints), info("k", [1], ints)],
                 [info("y", [None, None]), info("at", [None, None], ints), info("sum", [])])


def totals():
    """Rows and a sum over everything, of open extents: different schedules suit different ones."""
    nodes = [helper.make_node("Softmax", ["x"], ["rows"], name="rows", axis=-1),
             helper.make_node("ReduceSum", ["x"], ["total"], name="total", keepdims=0)]
    return model(nodes, [info("x", ["N", "M"])], [info("rows", ["N", "M"]), info("total", [])])


def one(op, inputs=("x",), outputs=("y",), domain="", **attrs):
    return helper.make_node(op, list(inputs), list(outputs), name="node", domain=domain, **attrs)


X, Y = [info("x", [2, 4])], [info("y", [2, 4])]


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
write("branches.onnx", branches())
write("found.onnx", found())
write("counted.onnx", counted())
write("totals.onnx", totals())
write("truncated.onnx", small_bytes[:len(small_bytes) // 2])
write("empty.onnx", b"")
write("random.onnx", numpy.random.default_rng(1).bytes(1000))
write("text.onnx", b"this is a text, not a model\n")
write("weights.bin", numpy_helper.to_array(weights()).tobytes())
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
write("no_opset_of_domain.onnx", model([one("Secret", domain="my.domain")], X, Y))
write("unknown_operator.onnx", model([one("Rellu")], X, Y))
write("bad_attribute.onnx", model([one("Softmax", axis=7)], X, Y))
write("bad_broadcast.onnx", model([one("Add", ("x", "w"))], X, Y, [weights()]))
write("missing_input.onnx", model([one("MatMul", ("x",))], X, Y))
write("string_tensor.onnx", model([one("Identity")], [info("x", [2], TensorProto.STRING)], [info("y", [2], TensorProto.STRING)]))
write("double_tensor.onnx", model([one("Erf")], [info("x", [2], TensorProto.DOUBLE)], [info("y", [2], TensorProto.DOUBLE)]))


def refused():
    """Nodes that no plugin can be, and some that only stand behind them."""
    string, u8 = TensorProto.STRING, TensorProto.UINT8
    tensor = helper.make_tensor_type_proto(F32, [2, 4])
    tensors = helper.make_sequence_type_proto(tensor)
    nodes = [helper.make_node(op, inputs, outputs, name=name, domain=domain, **attrs) for name, op, domain, inputs, outputs, attrs in (
        ("split_words", "StringSplit", "", ["text"], ["words", "counts"], {}),
        ("copy_text", "Identity", "", ["text"], ["text2"], {}),
        ("bundle", "SequenceConstruct", "", ["x", "x"], ["bundled"], {}),
        ("join", "ConcatFromSequence", "", ["bundled"], ["joined"], {"axis": 0}),
        ("behind", "Relu", "", ["joined"], ["joined2"], {}),
        ("copy_parts", "Identity", "", ["parts"], ["parts2"], {}),
        ("cut", "SplitToSequence", "", ["x"], ["halves"], {"axis": 1}),
        ("half", "SequenceAt", "", ["halves", "zero"], ["half0"], {}),
        ("present", "OptionalHasElement", "", ["perhaps"], ["is_there"], {}),
        ("copy_perhaps", "Identity", "", ["perhaps"], ["perhaps2"], {}),
        ("decode", "ImageDecoder", "", ["file"], ["pixels"], {}),
        ("names", "ZipMap", "ai.onnx.ml", ["x"], ["maps"], {"classlabels_int64s": [1, 2, 3, 4]}),
        ("slope", "Gradient", "ai.onnx.preview.training", ["x"], ["x2"], {"xs": ["x"], "y": "x"}),
        ("compare", "BifurcationDetector", "com.microsoft", ["ids", "ids", "zero"], ["tokens", "match"], {}))]
    inputs = [info("x", [2, 4]), info("text", [3], string), info("file", ["bytes"], u8), info("ids", [5], TensorProto.INT64),
              helper.make_value_info("parts", tensors),
              helper.make_value_info("perhaps", helper.make_optional_type_proto(tensor))]
    outputs = [info("joined2", None), info("counts", [3], TensorProto.INT64)]
    zero = numpy_helper.from_array(numpy.array(0, numpy.int64), "zero")
    return model(nodes, inputs, outputs, [zero], opset=20, domains=["ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft"])


def narrow():
    """What a plugin can have of types narrower than a byte and float8e8m0, and what it cannot."""
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


def control_names():
    """Names that would have a terminal clear its screen, ring or begin a line, were they printed as they are."""
    nodes = [helper.make_node("Softmax", ["x\x1b[2J"], ["b\x07"], name="soft\x1b]0;title\x07max"),
             helper.make_node("Relu", ["b\x07"], ["y\nz"], name="re\u009blu"),
             helper.make_node("Bad\x1bOperator", ["b\x07"], ["w\r"], name="last\n")]
    return model(nodes, [info("x\x1b[2J", ["N", 4])], [info("y\nz", ["N", 4]), info("w\r", ["N", 4])])


def necks(known=None):
    """Convolutions of stride 2, of which one is made larger again and joined: extents of images must fit. `known`: what the model
    says of the third one's extents, as an export at a fixed size leaves it."""
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


write("necks.onnx", necks())
write("necks_at_224.onnx", necks(28))
write("words.onnx", words())
write("control_names.onnx", control_names())
write("odd_names.onnx", odd_names())
write("narrow.onnx", narrow())
write("refused.onnx", refused())
write("shape_as_data.onnx", model([one("Reshape", ("x", "to"))], [*X, info("to", [2], TensorProto.INT64)], [info("y", None)]))
write("no_rank.onnx", model([one("Softmax")], [info("x", None)], [info("y", None)]))
write("same_names.onnx", model([one("Relu"), one("Abs", outputs=("z",))], X, [*Y, info("z", [2, 4])]))
write("huge_dimensions.onnx", model([one("Relu")], [info("x", [2**40, 2**40])], [info("y", [2**40, 2**40])]))
short = weights()
short.raw_data = short.raw_data[:20]
write("initializer_short.onnx", model([one("MatMul", ("x", "w"))], X, [info("y", [2, 3])], [short]))
