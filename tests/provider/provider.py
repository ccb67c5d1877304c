#!/usr/bin/env python3
"""tpat as an execution provider of stock ONNX Runtime, against ONNX Runtime's own CPU provider:

    provider.py LIBRARY MODELS ZOO [NAME ...]

LIBRARY is build/libtpat_ep.so, MODELS what tests/models.py wrote, ZOO what tests/zoo/data.py wrote; NAMEs are models of the zoo,
"all" is every one. It tests on the GPU if the driver shows one, which may be fake_gpu.c's.
Which nodes tpat took is known from ONNX Runtime's record of each node's provider."""
import concurrent.futures
import ctypes
import os
import subprocess
import sys
import tempfile

import numpy
from onnx import TensorProto as T
from onnx import helper

import compiled
import gpu
from host import PROVIDER, Host, expect, feeds_of, groups_of, made, plain, tensors_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "zoo"))
import whole  # noqa: E402

MODELS = "small", "layers", "scaled_layers", "chains", "contrib", "branches", "bodies", "found", "perhaps_boxes", "two_rates", "counted", \
    "totals", "packed_weights", "external", "odd_names", "neck", "reserved_names"
GIVEN = {"counted": {"times": [2, 3], "k": [2]}}  # inputs whose values must fit
library, models, zoo, names = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
passed, failed = 0, 0
host = Host(library)
ours = host.session


def check(what, run, *arguments):
    """Count `run`, and print why it failed."""
    global passed, failed
    try:
        run(*arguments)
        passed += 1
    except Exception as error:  # any failure is one of the model's
        failed += 1
        print(f"FAIL {what}: {type(error).__name__}: {error}"[:2000], flush=True)


# ---- Sessions.

def compare(session, feeds, wanted=None, tolerance=(1e-3, 1e-4, 0), reference=None):
    got = session.run(None, feeds)
    wanted = wanted if wanted is not None else reference.run(None, feeds)
    for output, value, want in zip(session.get_outputs(), got, wanted):
        fault = whole.differs(value, want, *(tolerance if want.dtype.kind == "f" else (0, 0, tolerance[2])))
        expect(not fault, f"{output.name} {fault}")


# ---- The tests.

def device():
    expect(len(host.devices) == 1, f"{len(host.devices)} devices")
    expect(host.devices[0].ep_vendor == "tpat", host.devices[0].ep_vendor)


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
            values = tensors_of(tensors)
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


def log_of(model, **given):
    """What a session and its first run print at the level of information."""
    program = "import sys, numpy as n, onnxruntime as r; r.register_execution_provider_library('tpat', sys.argv[1])\n" \
        "o = r.SessionOptions(); o.log_severity_level = 1; options = dict(a.split('=') for a in sys.argv[3:])\n" \
        "o.add_provider_for_devices([d for d in r.get_ep_devices() if d.ep_name == sys.argv[2]][:1], options)\n" \
        "s = r.InferenceSession(sys.stdin.buffer.read(), o, enable_fallback=False)\n" \
        "s.run(None, {v.name: n.ones([d if isinstance(d, int) else 4 for d in v.shape], n.float32) for v in s.get_inputs()})"
    done = subprocess.run([sys.executable, "-c", program, library, PROVIDER, *(f"{key}={value}" for key, value in given.items())],
                          input=model, capture_output=True, timeout=600, check=False)
    expect(done.returncode == 0, done.stderr.decode()[-500:])
    return done.stderr.decode()


def reasons():
    """The log says which nodes are left, and why."""
    model = made([helper.make_node("Cast", ["x"], ["y"], name="to_text", to=T.STRING)], [("x", T.FLOAT, ["N"])], [("y", T.STRING, ["N"])])
    log = log_of(model)
    expect(f"{PROVIDER} leaves the node \"to_text\" (Cast) to others: " in log, log[-500:])


def tpat(*arguments):
    """tpat itself, with the real NVRTC."""
    own = {key: value for key, value in os.environ.items() if key not in ("TPAT_NVRTC", "TPAT_CACHE", "LD_LIBRARY_PATH", "FAKE_GPU_LOG")}
    done = subprocess.run(["build/tpat", *arguments], capture_output=True, text=True, timeout=900, check=False,
                          env=own if "FAKE_GPU_LOG" in os.environ else None)
    expect(done.returncode == 0, done.stderr[-500:])


def tuned():
    """Schedules come from the tuning database; one that is not there is an error."""
    model = made([helper.make_node("Softmax", ["x"], ["y"], name="soft")], [("x", T.FLOAT, ["N", 96])], [("y", T.FLOAT, ["N", 96])])
    with tempfile.TemporaryDirectory() as folder:
        path, database = os.path.join(folder, "m.onnx"), os.path.join(folder, "t.db")
        with open(path, "wb") as file:
            file.write(model)
        tpat("tune", path, "-n", "soft", "--device", "cpu", "--budget", "1s", "--db", database)
        expect(f"{PROVIDER} takes the tuned schedule of soft" in log_of(model, device="cpu", database=database), "it is not used")
        for value in "none", os.path.join(folder, "other.db"):
            try:
                expect("takes the tuned" not in log_of(model, device="cpu", database=value), f"it is used with {value}")
                expect(value == "none", f"no error with {value}")
            except AssertionError as error:
                expect(value != "none" and "other.db" in str(error), error)


def rewritten():
    """A model that tpat build rewrote: the local functions' nodes run."""
    original = os.path.join(models, "small.onnx")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "small_tpat.onnx")
        tpat("build", original, "-n", "product,probabilities", "--arch", "sm_90", "-q", "-o", path)
        session, reference = ours(path), plain(original)
        expect(groups_of(session), "tpat takes nothing")
        for size in 3, 6:
            compare(session, feeds_of(reference, size, size), reference=reference)


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


def options():
    """Wrong options are errors that say what there is."""
    path = os.path.join(models, "small.onnx")
    for given, words in ({"devise": "cpu"}, ('no option "devise"', "device")), ({"device": "gpu"}, ('"device" cannot be "gpu"', "cpu, cuda")), \
            ({"cuda_graph": "yes"}, ('"cuda_graph" cannot be "yes"', "0 or 1")), ({"database": "/none/such.db"}, ("/none/such.db",)):
        try:
            ours(path, given)
        except Exception as error:  # ONNX Runtime's own class
            for word in words:
                expect(word in str(error), error)
        else:
            raise AssertionError(f"it takes {given}")
    for device in ("cpu",) if "FAKE_GPU_LOG" in os.environ else ("cpu", "emulator"):  # a process has one emulator
        session, reference = ours(path, {"device": device}), plain(path)
        compare(session, feeds_of(reference, 3, 1), reference=reference)


def main():
    check("device", device)
    for name in MODELS:
        check(name, small_model, name)
    for name, tolerance in whole.models_of(zoo, [] if names == ["all"] else names) if names else ():
        check(f"zoo/{name}", zoo_model, name, tolerance)
    for run in threads, sessions, left_to_others, strings, reasons, tuned, rewritten, extents_that_differ, empty, old_host, options:
        check(run.__name__, run)
    for run in compiled.TESTS:
        check(run.__name__, run, host, models)
    for run in gpu.TESTS if host.on_gpu else ():
        check(run.__name__, run, host, models)
    host.close()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
