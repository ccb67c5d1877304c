#!/usr/bin/env python3
"""tpat as an execution provider of stock ONNX Runtime, against ONNX Runtime's own CPU provider:

    provider.py LIBRARY MODELS ZOO [NAME ...]

LIBRARY is build/libtpat_ep.so, MODELS what tests/models.py wrote, ZOO what tests/zoo/data.py wrote; NAMEs are models of the zoo,
"all" is every one.
Which nodes tpat took is known from ONNX Runtime's record of each node's provider."""
import concurrent.futures
import ctypes
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "zoo"))
import whole  # noqa: E402

PROVIDER = "TpatExecutionProvider"
MODELS = "small", "layers", "scaled_layers", "chains", "contrib", "branches", "bodies", "found", "perhaps_boxes", "two_rates", "counted", \
    "totals", "packed_weights", "external", "odd_names", "neck", "reserved_names"
GIVEN = {"counted": {"times": [2, 3], "k": [2]}}  # inputs whose values must fit
library, models, zoo, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
passed, failed = 0, 0
onnxruntime.set_default_logger_severity(4)
onnxruntime.register_execution_provider_library("tpat", library)
DEVICES = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]


def check(what, run, *arguments):
    """Count `run`, and print why it failed."""
    global passed, failed
    try:
        run(*arguments)
        passed += 1
    except Exception as error:  # any failure is one of the model's
        failed += 1
        print(f"FAIL {what}: {type(error).__name__}: {error}"[:2000], flush=True)


def expect(true, what):
    if not true:
        raise AssertionError(what)


# ---- Sessions.

def plain(model):
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def ours(model, **entries):
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(DEVICES, {})
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    return onnxruntime.InferenceSession(model, options)


def groups_of(session, provider=PROVIDER):
    """The names of the nodes of each group that the provider took."""
    return [[node.name for node in part.get_nodes()] for part in session.get_provider_graph_assignment_info()
            if part.ep_name == provider]


def compare(session, feeds, wanted=None, tolerance=(1e-3, 1e-4, 0), reference=None):
    got = session.run(None, feeds)
    wanted = wanted if wanted is not None else reference.run(None, feeds)
    for output, value, want in zip(session.get_outputs(), got, wanted):
        fault = whole.differs(value, want, *(tolerance if want.dtype.kind == "f" else (0, 0, tolerance[2])))
        expect(not fault, f"{output.name} {fault}")


def feeds_of(session, size, seed, given=None):
    """Random values for a session's inputs; open extents are `size`."""
    rng, feeds = numpy.random.default_rng(seed), {}
    for value in session.get_inputs():
        kind = value.type[len("tensor("):-1]
        dtype = numpy.dtype({"float": "f4", "double": "f8", "float16": "f2"}.get(kind, kind))
        shape = [dim if isinstance(dim, int) else size for dim in value.shape]
        drawn = rng.uniform(-1, 1, shape) if dtype.kind == "f" else rng.integers(0, 2, shape)
        feeds[value.name] = numpy.asarray((given or {}).get(value.name, drawn)).astype(dtype)
    return feeds


def made(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*value) for value in inputs],
                              [helper.make_tensor_value_info(*value) for value in outputs], list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 9
    return model.SerializeToString()


# ---- The tests.

def device():
    expect(len(DEVICES) == 1, f"{len(DEVICES)} devices")
    expect(DEVICES[0].device.type == onnxruntime.OrtHardwareDeviceType.CPU, "it is no CPU")
    expect(DEVICES[0].ep_vendor == "tpat", DEVICES[0].ep_vendor)


def small_model(name):
    path = os.path.join(models, name + ".onnx")
    session, reference = ours(path), plain(path)
    expect(groups_of(session), "tpat takes nothing")
    for size, seed in (4, 1), (7, 2), (4, 3):
        compare(session, feeds_of(reference, size, seed, GIVEN.get(name, {})), reference=reference)


def zoo_model(name, tolerance):
    path = os.path.join(zoo, name, "model.onnx")
    session = ours(path)
    expect(groups_of(session), "tpat takes nothing")
    for k in range(2):
        tensors = os.path.join(zoo, name, f"tensors_{k}.onnx")
        if os.path.exists(tensors):
            values = {t.name: numpy_helper.to_array(t) for t in onnx.load(tensors).graph.initializer}
            compare(session, {value.name: values[value.name] for value in session.get_inputs()},
                    [values[value.name] for value in session.get_outputs()], tolerance)


def threads():
    """One session in several threads at several extents."""
    path = os.path.join(models, "chains.onnx")
    session, reference = ours(path), plain(path)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(compare, session, feeds_of(reference, 3 + i % 5, i), None, (1e-3, 1e-4, 0), reference)
                     for i in range(20)]:
            done.result()


def sessions():
    """Two sessions of different models, made and used at the same time."""
    def one(name):
        for _ in range(2):
            small_model(name)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(one, name) for name in ("chains", "layers")]:
            done.result()


def left_to_others():
    """Nodes that only ONNX Runtime has are on one of two ways between nodes of tpat."""
    nodes = [helper.make_node("Exp", ["x"], ["a"], name="before"),
             helper.make_node("Cast", ["a"], ["text"], name="to_text", to=T.STRING),
             helper.make_node("Cast", ["text"], ["b"], name="from_text", to=T.FLOAT),
             helper.make_node("Mul", ["a", "a"], ["c"], name="beside"),
             helper.make_node("ReduceSum", ["c"], ["d"], name="sum"),
             helper.make_node("Add", ["b", "d"], ["y"], name="after")]
    model = made(nodes, [("x", T.FLOAT, ["N", 4])], [("y", T.FLOAT, [None, None]), ("c", T.FLOAT, ["N", 4])])
    session, reference = ours(model), plain(model)
    expect([sorted(group) for group in groups_of(session)] == [["before", "beside", "sum"], ["after"]],
           f"tpat took {groups_of(session)}")
    expect(groups_of(session, "CPUExecutionProvider") == [["to_text"], ["from_text"]], "the CPU provider has others")
    for size in 3, 5:
        compare(session, feeds_of(reference, size, size), reference=reference)


def strings():
    """Constants that are strings: their nodes are left to others."""
    nodes = [helper.make_node("Equal", ["s", "yes"], ["same"], name="compare"),
             helper.make_node("Cast", ["same"], ["number"], name="number", to=T.FLOAT),
             helper.make_node("Mul", ["number", "x"], ["y"], name="times")]
    model = made(nodes, [("s", T.STRING, ["N"]), ("x", T.FLOAT, ["N"])], [("y", T.FLOAT, ["N"])],
                 [helper.make_tensor("yes", T.STRING, [1], [b"yes"])])
    session = ours(model)
    expect(groups_of(session) == [["number", "times"]], f"tpat took {groups_of(session)}")
    got, = session.run(None, {"s": numpy.array(["yes", "no", "yes"], object), "x": numpy.array([1, 2, 3], numpy.float32)})
    expect(got.tolist() == [1, 0, 3], got)


def reasons():
    """The log says which nodes are left, and why."""
    program = "import onnxruntime as r; r.register_execution_provider_library('tpat', sys.argv[1]); o = r.SessionOptions(); " \
        "o.log_severity_level = 1; o.add_provider_for_devices([d for d in r.get_ep_devices() if d.ep_name == sys.argv[2]], {}); " \
        "r.InferenceSession(sys.stdin.buffer.read(), o)"
    model = made([helper.make_node("Cast", ["x"], ["y"], name="to_text", to=T.STRING)], [("x", T.FLOAT, ["N"])], [("y", T.STRING, ["N"])])
    done = subprocess.run([sys.executable, "-c", "import sys; " + program, library, PROVIDER], input=model, capture_output=True, timeout=300,
                          check=True)
    expect(f"{PROVIDER} leaves the node \"to_text\" (Cast) to others: " in done.stderr.decode(), done.stderr.decode()[-500:])


def extents_that_differ():
    """The error names both tensors."""
    model = made([helper.make_node("Add", ["x", "z"], ["y"], name="sum")],
                 [("x", T.FLOAT, ["N"]), ("z", T.FLOAT, ["M"])], [("y", T.FLOAT, [None])])
    session = ours(model)
    try:
        session.run(None, {"x": numpy.zeros(3, numpy.float32), "z": numpy.zeros(4, numpy.float32)})
    except Exception as error:
        expect(PROVIDER in str(error) and "extent 0 of x is 3 and extent 0 of z is 4" in str(error), error)
    else:
        raise AssertionError("it runs")
    compare(session, {"x": numpy.ones(3, numpy.float32), "z": numpy.ones(3, numpy.float32)}, [numpy.full(3, 2, numpy.float32)])


def empty():
    """Tensors without elements."""
    path = os.path.join(models, "small.onnx")
    compare(ours(path), {"x": numpy.zeros((0, 4), numpy.float32)}, reference=plain(path))


def old_host():
    """An ONNX Runtime before 1.24 gets a status that says so, and none of its later entries is called."""
    said = []
    create_status = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int, ctypes.c_char_p)(lambda code, text: said.append(text) or 0)
    table = (ctypes.c_void_p * 200)(ctypes.cast(create_status, ctypes.c_void_p))
    get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(lambda version: ctypes.addressof(table) if version <= 16 else None)
    text = ctypes.create_string_buffer(b"1.16.3")
    version = ctypes.CFUNCTYPE(ctypes.c_size_t)(lambda: ctypes.addressof(text))
    base = (ctypes.c_void_p * 2)(ctypes.cast(get, ctypes.c_void_p), ctypes.cast(version, ctypes.c_void_p))
    factory, count = (ctypes.c_void_p * 4)(), ctypes.c_size_t(9)
    ctypes.CDLL(library).CreateEpFactories(b"tpat", base, None, factory, ctypes.c_size_t(4), ctypes.byref(count))
    expect(count.value == 0, f"{count.value} factories")
    expect(said == [b"TpatExecutionProvider: ONNX Runtime 1.24 or later is needed; this is 1.16.3."], said)


def main():
    check("device", device)
    for name in MODELS:
        check(name, small_model, name)
    for name, tolerance in whole.models_of(zoo, [] if names == ["all"] else names) if names else ():
        check(f"zoo/{name}", zoo_model, name, tolerance)
    for run in threads, sessions, left_to_others, strings, reasons, extents_that_differ, empty, old_host:
        check(run.__name__, run)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
