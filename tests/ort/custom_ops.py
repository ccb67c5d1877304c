#!/usr/bin/env python3
"""Rewritten models in stock ONNX Runtime with the plugin library's custom operators, against the original models:

    custom_ops.py TPAT FOLDER [SEED [COUNT]]

Builds each model with tpat and runs it in a session that registered the library. That the operators ran, and not the local
functions, is known from ONNX Runtime's profile and from a copy of the model without its functions. Further: random chains of
operators with awkward names; several sessions and threads; two libraries; a process's end."""
import concurrent.futures
import json
import os
import random
import shlex
import subprocess
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

tpat, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
seed, count = (int(sys.argv[3]) if len(sys.argv) > 3 else 1), (int(sys.argv[4]) if len(sys.argv) > 4 else 6)
os.makedirs(folder, exist_ok=True)
os.chdir(folder)
onnxruntime.set_default_logger_severity(4)
NUMPY = {T.FLOAT: numpy.float32, T.FLOAT16: numpy.float16, T.UINT8: numpy.uint8, T.INT8: numpy.int8, T.INT64: numpy.int64,
         T.INT32: numpy.int32, T.BOOL: numpy.bool_}
passed, failed = 0, 0


def check(what, run):
    """Count `run`, and print why it failed."""
    global passed, failed
    try:
        run()
        passed += 1
    except Exception as error:  # any failure is one of the model's
        failed += 1
        print(f"{what}: {type(error).__name__}: {error}"[:2000])


def model(nodes, inputs, outputs, initializers=(), opset=17):
    def info(values):
        return [helper.make_tensor_value_info(name, dtype, dim) for name, dtype, dim in values]
    made = helper.make_model(helper.make_graph(nodes, "g", info(inputs), info(outputs), list(initializers)),
                             opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    return made


def build(name, made, nodes=None):
    """Write NAME.onnx and build it: all nodes as one region, or each named one as a plugin."""
    onnx.save(made, f"{name}.onnx")
    selected = [word for node in nodes for word in ("-n", node)] if nodes else \
        ["--region", ",".join(f"#{i}" for i in range(len(made.graph.node)))]
    command = [tpat, "build", f"{name}.onnx", "-o", f"{name}_tpat.onnx", "--force", "--arch", "sm_90", "--tactics", "1", *selected]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}: {done.stdout}{done.stderr}")


def session(path, libraries=(), profile=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    for library in libraries:
        options.register_custom_ops_library(os.path.abspath(library))
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def random_inputs(made, extents, draw):
    feeds = {}
    for value in made.graph.input:
        dtype = NUMPY[value.type.tensor_type.elem_type]
        shape = [extents[dim.dim_param] if dim.dim_param else dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if dtype is numpy.bool_:
            feeds[value.name] = draw.random(shape) < 0.5
        elif numpy.issubdtype(dtype, numpy.integer):
            feeds[value.name] = draw.integers(0, 4, shape).astype(dtype)
        else:
            feeds[value.name] = draw.standard_normal(shape).astype(dtype)
    return feeds


def compare(got, want):
    assert len(got) == len(want)
    for i, (a, b) in enumerate(zip(got, want)):
        assert a.dtype == b.dtype and a.shape == b.shape, f"output {i}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
        if numpy.issubdtype(a.dtype, numpy.floating):
            near = 4e-3 if a.dtype == numpy.float16 else 1e-4
            numpy.testing.assert_allclose(a.astype(numpy.float64), b.astype(numpy.float64), rtol=near, atol=near,
                                          err_msg=f"output {i}")
        else:
            numpy.testing.assert_array_equal(a, b, err_msg=f"output {i}")


def plugin_names(rewritten):
    return {node.op_type for node in rewritten.graph.node if node.domain == "tpat"}


def ran(profile):
    """Reads from the profile of a session which operators it ran."""
    with open(profile, encoding="utf-8") as file:
        return {event["args"]["op_name"] for event in json.load(file)
                if event.get("cat") == "Node" and "op_name" in event.get("args", {})}


def run_model(name, made, extents, nodes=None):
    """Build, and compare at several extents."""
    build(name, made, nodes)
    draw = numpy.random.default_rng(seed)
    original, rewritten = session(f"{name}.onnx"), session(f"{name}_tpat.onnx", [f"libtpat_{name}.so"], f"{name}_profile")
    for at in extents:
        feeds = random_inputs(made, at, draw)
        compare(rewritten.run(None, feeds), original.run(None, feeds))
    both = onnx.load(f"{name}_tpat.onnx")
    missing = plugin_names(both) - ran(rewritten.end_profiling())
    assert plugin_names(both) and not missing, f"not run as operators: {missing}"
    # Neither fails without the other: the functions without the library, the library without the functions.
    compare(session(f"{name}_tpat.onnx").run(None, feeds), original.run(None, feeds))
    del both.functions[:]
    onnx.save(both, f"{name}_bare.onnx")
    compare(session(f"{name}_bare.onnx", [f"libtpat_{name}.so"]).run(None, feeds), original.run(None, feeds))


# ---- Models of the types and extents that matter.

def softmax(dtype=T.FLOAT, name='a/b "c"', axis="N"):
    return model([helper.make_node("Softmax", [name], ["float"], axis=-1),
                  helper.make_node("Relu", ["float"], ["x\"\n"])], [(name, dtype, [axis, 8])], [("x\"\n", dtype, [axis, 8])])


def mixed():
    """Bool, uint8 and int64 at the edge, several outputs, one of them a scalar."""
    nodes = [helper.make_node("Cast", ["bytes"], ["wide"], to=T.FLOAT), helper.make_node("Mul", ["wide", "end"], ["product"]),
             helper.make_node("Where", ["mask", "product", "end"], ["y"]), helper.make_node("Greater", ["y", "end"], ["above"]),
             helper.make_node("Add", ["bytes", "bytes"], ["double"]), helper.make_node("Mul", ["whole", "whole"], ["square"]),
             helper.make_node("ReduceMax", ["y"], ["most"], keepdims=0)]
    shape = ["N", "M"]
    return model(nodes, [("bytes", T.UINT8, shape), ("end", T.FLOAT, shape), ("mask", T.BOOL, shape), ("whole", T.INT64, ["M"])],
                 [("y", T.FLOAT, shape), ("above", T.BOOL, shape), ("double", T.UINT8, shape), ("square", T.INT64, ["M"]),
                  ("most", T.FLOAT, [])])


def found():
    """Extents that the data decide: before and after the kernels that use them."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("NonZero", ["r"], ["where"]),
             helper.make_node("Transpose", ["where"], ["points"]), helper.make_node("GatherND", ["x", "points"], ["values"])]
    return model(nodes, [("x", T.FLOAT, ["N", "M"])], [("where", T.INT64, [2, None]), ("values", T.FLOAT, [None])])


def top():
    """K is an input: an extent that a value decides."""
    nodes = [helper.make_node("TopK", ["x", "k"], ["v", "i"]), helper.make_node("Neg", ["v"], ["n"])]
    return model(nodes, [("x", T.FLOAT, ["N", 9]), ("k", T.INT64, [1])], [("n", T.FLOAT, ["N", None]), ("i", T.INT64, ["N", None])])


def product():
    """A product with weights, a convolution of quantised numbers, and float16."""
    draw = numpy.random.default_rng(3)
    weights = numpy_helper.from_array(draw.standard_normal((32, 24)).astype(numpy.float16), "w")
    bytes_ = numpy_helper.from_array(draw.integers(-9, 9, (24, 40)).astype(numpy.int8), "b")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Softmax", ["xw"], ["p"], axis=0),
             helper.make_node("MatMulInteger", ["q", "b"], ["i"])]
    return model(nodes, [("x", T.FLOAT16, ["N", 32]), ("q", T.UINT8, ["N", 24])],
                 [("p", T.FLOAT16, ["N", 24]), ("i", T.INT32, ["N", 40])], [weights, bytes_])


def grid():
    """Many blocks: the threads of ONNX Runtime share them."""
    nodes = [helper.make_node("Erf", ["x"], ["e"]), helper.make_node("CumSum", ["e", "axis"], ["s"]),
             helper.make_node("ReduceMean", ["e"], ["m"], axes=[0])]
    return model(nodes, [("x", T.FLOAT, ["N", "M"])], [("s", T.FLOAT, ["N", "M"]), ("m", T.FLOAT, [1, "M"])],
                 [numpy_helper.from_array(numpy.array(1, numpy.int64), "axis")])


N, NM = [{"N": n} for n in (3, 1, 17, 0, 3)], [{"N": 5, "M": 7}, {"N": 1, "M": 1}, {"N": 9, "M": 64}]
check("softmax", lambda: run_model("softmax", softmax(), N))
check("half", lambda: run_model("half", softmax(T.FLOAT16, "while"), N))
check("mixed", lambda: run_model("mixed", mixed(), NM))
check("found", lambda: run_model("found", found(), [*NM, {"N": 0, "M": 4}]))
check("product", lambda: run_model("product", product(), [{"N": 5}, {"N": 64}, {"N": 1}]))
check("grid", lambda: run_model("grid", grid(), [{"N": 700, "M": 300}, {"N": 2, "M": 5000}]))
check("each node a plugin", lambda: run_model("apart", softmax(), N, ["#0", "#1"]))


def run_top():
    build("top", top())
    original, rewritten = session("top.onnx"), session("top_tpat.onnx", ["libtpat_top.so"])
    x = numpy.random.default_rng(seed).standard_normal((4, 9)).astype(numpy.float32)
    for k in (3, 9, 0, 1):
        feeds = {"x": x, "k": numpy.array([k], numpy.int64)}
        compare(rewritten.run(None, feeds), original.run(None, feeds))
    try:
        rewritten.run(None, {"x": x, "k": numpy.array([10], numpy.int64)})
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        assert "tpat plugin" in str(error), error
    else:
        raise AssertionError("10 of 9 elements: no error")


check("top", run_top)


def run_chain(number):
    """A random chain with random names, extents and types."""
    pick = random.Random(seed * 1000 + number)
    words = ["end", "float", "if", 'x"\n', "a b", "θ", "tpat", "0", "N_extent", "//", "*/", "args"]
    pick.shuffle(words)
    dtype, columns = pick.choice([T.FLOAT, T.FLOAT16]), pick.choice([1, 3, 8, 33])
    nodes, last = [], words[0]
    for step, word in enumerate(words[1:pick.randint(3, 6)]):
        kind = pick.choice(["Sigmoid", "Softmax", "Neg", "Tanh", "Add", "ReduceSum", "LayerNormalization", "LeakyRelu"])
        if kind == "Add":
            nodes.append(helper.make_node(kind, [last, words[0]], [word], name=f"{word}{step}"))
        elif kind == "ReduceSum":
            nodes.append(helper.make_node("ReduceMax", [last], [f"{word} most"], axes=[-1]))
            nodes.append(helper.make_node("Sub", [last, f"{word} most"], [word]))
        elif kind == "LayerNormalization":
            nodes.append(helper.make_node(kind, [last, "scale"], [word]))
        else:
            nodes.append(helper.make_node(kind, [last], [word]))
        last = word
    scale = numpy_helper.from_array(numpy.linspace(0.5, 2, columns).astype(NUMPY[dtype]), "scale")
    made = model(nodes, [(words[0], dtype, ["N", columns])], [(last, dtype, ["N", columns])],
                 [scale] if any("scale" in node.input for node in nodes) else [])
    run_model(f"chain_{number}", made, [{"N": pick.randint(1, 40)} for _ in range(3)])


for n in range(count):
    check(f"chain {n} of seed {seed}", lambda n=n: run_chain(n))


def run_threads():
    """Sessions of two models at the same time, each with several threads and extents."""
    sessions = [(session(f"{name}.onnx"), session(f"{name}_tpat.onnx", [f"libtpat_{name}.so"]), make())
                for name, make in (("softmax", softmax), ("mixed", mixed)) for _ in range(2)]

    def one(task):
        original, rewritten, made = sessions[task % len(sessions)]
        feeds = random_inputs(made, {"N": task % 7 + 1, "M": task % 5 + 1}, numpy.random.default_rng(task))
        compare(rewritten.run(None, feeds), original.run(None, feeds))
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(200)))


check("threads", run_threads)


def run_two_libraries():
    """ONNX Runtime takes one library with operators of a domain; the functions of the other's plugins run."""
    build("again", softmax(), ["#0"])
    build("again_2", onnx.load("again_tpat.onnx"), ["#1"])
    feeds = random_inputs(softmax(), {"N": 6}, numpy.random.default_rng(seed))
    want = session("again.onnx").run(None, feeds)
    for library in ("libtpat_again.so", "libtpat_again_2.so"):
        compare(session("again_2_tpat.onnx", [library]).run(None, feeds), want)
    try:
        session("again_2_tpat.onnx", ["libtpat_again.so", "libtpat_again_2.so"])
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        assert "Domain already set" in str(error), error
    else:
        raise AssertionError("two libraries work: say so in docs/onnxruntime.md")


check("two libraries", run_two_libraries)


def run_alone():
    """A process that ends with its sessions open, and one that closes them first, ends well."""
    for end in ("", "; del s, o; import gc; gc.collect()"):
        text = ("import onnxruntime as r, numpy as n; o = r.SessionOptions(); o.register_custom_ops_library('./libtpat_softmax.so'); "
                "s = r.InferenceSession('softmax_tpat.onnx', o); i = s.get_inputs()[0].name; "
                "print(s.run(None, {i: n.zeros((2, 8), n.float32)})[0].sum())" + end)
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 and done.stdout == "2.0\n" and not done.stderr, (done.returncode, done.stdout, done.stderr)


check("alone", run_alone)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
