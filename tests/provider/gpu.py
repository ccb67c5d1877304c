"""What a GPU adds: device memory, I/O binding, streams, threads. Each test takes the Host and the folder of models."""
import concurrent.futures
import ctypes
import gc
import os
import threading

import numpy
import onnxruntime
from onnx import TensorProto as T
from onnx import helper

from host import NVIDIA, expect, feeds_of, groups_of, made, plain

RTOL, ATOL = 1e-3, 1e-4


def on_gpu(array):
    return onnxruntime.OrtValue.ortvalue_from_numpy(array, "gpu", 0, NVIDIA)


def same(got, want, what=""):
    expect(got.shape == want.shape and numpy.allclose(got, want, RTOL, ATOL * max(1, numpy.abs(want).max(initial=0))), f"{what} differs")


def sum_model(n="N"):
    """y = exp(x) + z, m = max of each row of y."""
    nodes = [helper.make_node("Exp", ["x"], ["a"], name="exp"), helper.make_node("Add", ["a", "z"], ["y"], name="add"),
             helper.make_node("ReduceMax", ["y", "axes"], ["m"], name="max")]
    return made(nodes, [("x", T.FLOAT, [n, 8]), ("z", T.FLOAT, [n, 8])], [("y", T.FLOAT, [n, 8]), ("m", T.FLOAT, [n, 1])],
                [helper.make_tensor("axes", T.INT64, [1], [1])])


def drawn(n, seed):
    rng = numpy.random.default_rng(seed)
    x, z = (rng.uniform(-1, 1, (n, 8)).astype(numpy.float32) for _ in range(2))
    y = numpy.exp(x) + z
    return x, z, y, y.max(1, keepdims=True)


def values(_host, _models):
    """Tensors go to the GPU and come back, also empty ones."""
    for shape in (3, 5), (0, 4), (), (1 << 18,):
        x = numpy.asarray(numpy.random.default_rng(1).uniform(-1, 1, shape), numpy.float32)
        value = on_gpu(x)
        expect(value.device_name().lower() in ("gpu", "cuda"), value.device_name())
        same(value.numpy(), x, f"{shape}")


def bound(host, _models):
    """Inputs and outputs stay on the GPU; the same binding runs again with other values and extents."""
    session = host.session(sum_model())
    binding = session.io_binding()
    for n, seed in (4, 1), (4, 2), (7, 3), (4, 4):
        x, z, y, m = drawn(n, seed)
        binding.bind_ortvalue_input("x", on_gpu(x))
        binding.bind_ortvalue_input("z", on_gpu(z))
        out = on_gpu(numpy.zeros((n, 8), numpy.float32))
        binding.bind_ortvalue_output("y", out)
        binding.bind_output("m", "cuda", 0)
        session.run_with_iobinding(binding)
        same(out.numpy(), y, "y")
        _, found = binding.get_outputs()
        expect(found.device_name().lower() in ("gpu", "cuda"), found.device_name())
        same(found.numpy(), m, "m")
        same(binding.copy_outputs_to_cpu()[1], m, "copied m")


def in_place(host, _models):
    """An output is bound to the memory of an input that each element needs once."""
    model = made([helper.make_node("Neg", ["x"], ["y"], name="neg")], [("x", T.FLOAT, [64])], [("y", T.FLOAT, [64])])
    session = host.session(model)
    x = numpy.arange(64, dtype=numpy.float32)
    value, binding = on_gpu(x), session.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_output("y", value)
    for want in -x, x, -x:
        session.run_with_iobinding(binding)
        same(value.numpy(), want)


def odd_addresses(host, _models):
    """Tensors that start anywhere in a larger one."""
    session = host.session(sum_model())
    x, z, y, m = drawn(6, 5)
    room = [on_gpu(numpy.zeros(4 + array.size, numpy.float32)) for array in (x, z, y, m)]
    for array, value in zip((x, z), room):
        value.update_inplace(numpy.concatenate([numpy.zeros(4, numpy.float32), array.ravel()]))
    binding = session.io_binding()
    for name, array, value in zip("xz", (x, z), room):
        binding.bind_input(name, "cuda", 0, numpy.float32, array.shape, value.data_ptr() + 16)
    for name, array, value in zip("ym", (y, m), room[2:]):
        binding.bind_output(name, "cuda", 0, numpy.float32, array.shape, value.data_ptr() + 16)
    session.run_with_iobinding(binding)
    for name, array, value in zip("ym", (y, m), room[2:]):
        got = value.numpy()
        same(got[4:].reshape(array.shape), array, name)
        same(got[:4], numpy.zeros(4, numpy.float32), f"what is before {name}")


def repeats(host, _models):
    """Runs repeat each other's launches, whichever addresses and extents come: one tensor for both inputs, outputs in the memory of
    earlier inputs, an output that is an input, the host's memory, extents in turns. With CUDA graphs and without."""
    nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Add", ["a", "z"], ["y"]), helper.make_node("Identity", ["z"], ["copy"]),
             helper.make_node("ReduceMax", ["y", "axes"], ["m"]), helper.make_node("Softmax", ["y"], ["s"]),
             helper.make_node("MatMul", ["s", "w"], ["p"]), helper.make_node("Shape", ["y"], ["extents"])]
    rng = numpy.random.default_rng(3)
    w = rng.uniform(-1, 1, (8, 8)).astype(numpy.float32)
    outputs = [("y", T.FLOAT, ["N", 8]), ("copy", T.FLOAT, ["N", 8]), ("m", T.FLOAT, ["N", 1]), ("p", T.FLOAT, ["N", 8]),
               ("extents", T.INT64, [2])]
    model = made(nodes, [("x", T.FLOAT, ["N", 8]), ("z", T.FLOAT, ["N", 8])], outputs,
                 [helper.make_tensor("axes", T.INT64, [1], [1]), helper.make_tensor("w", T.FLOAT, [8, 8], w.ravel())])
    reference = plain(model)
    for graphs in "1", "0":
        session = host.session(model, {"cuda_graph": graphs})
        binding, steady = session.io_binding(), {}
        for turn in range(40):
            n = (5, 5, 3, 9)[rng.integers(4)]
            x, z = (rng.uniform(-1, 1, (n, 8)).astype(numpy.float32) for _ in range(2))
            way = ("steady", "steady", "steady", "new", "alias", "host")[rng.integers(6)]
            z = x if way == "alias" else z
            want = dict(zip([output[0] for output in outputs], reference.run(None, {"x": x, "z": z})))
            if way == "host":
                got = dict(zip(want, session.run(None, {"x": x, "z": z})))
            else:
                if way == "steady" and n in steady:
                    values = steady[n]
                    values["x"].update_inplace(x)
                    values["z"].update_inplace(z)
                else:
                    values = {name: on_gpu(array) for name, array in (("x", x), ("z", z))}
                    values.update({name: on_gpu(numpy.zeros_like(array)) for name, array in want.items()})
                    if way == "steady":
                        steady[n] = values
                binding.bind_ortvalue_input("x", values["x"])
                binding.bind_ortvalue_input("z", values["x" if way == "alias" else "z"])
                for name in want:
                    binding.bind_ortvalue_output(name, values[name])
                for _ in range(rng.integers(1, 5) if way == "steady" else 1):
                    session.run_with_iobinding(binding)
                got = {name: values[name].numpy() for name in want}
            for name in want:
                same(got[name], want[name], f"turn {turn}, {way}, {n} rows, cuda_graph {graphs}: {name}")


def counted(what):
    """A number that fake_gpu.c counts, such as "replays", the graphs that it launched; None on a GPU."""
    count = getattr(ctypes.CDLL("libcuda.so.1"), "fake_gpu_" + what, None)
    return count and count()


def turns(host, _models):
    """Sets of tensors in turns, and one set for each of some threads: each gets a graph of its own. Tensors that are always new."""
    nodes = [helper.make_node("Softmax", ["x"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["b"]),
             helper.make_node("Softmax", ["b"], ["c"]), helper.make_node("MatMul", ["c", "w"], ["y"])]
    rng = numpy.random.default_rng(5)
    w = rng.uniform(-1, 1, (8, 8)).astype(numpy.float32)
    model = made(nodes, [("x", T.FLOAT, ["N", 8])], [("y", T.FLOAT, ["N", 8])], [helper.make_tensor("w", T.FLOAT, [8, 8], w.ravel())])
    session, reference = host.session(model), plain(model)

    def new(seed):
        x = numpy.random.default_rng(seed).uniform(-1, 1, (5, 8)).astype(numpy.float32)
        out, binding = on_gpu(numpy.zeros_like(x)), session.io_binding()
        binding.bind_ortvalue_input("x", on_gpu(x))
        binding.bind_ortvalue_output("y", out)
        return binding, out, reference.run(None, {"x": x})[0], seed

    def run(one, times=1):
        for _ in range(times):
            session.run_with_iobinding(one[0])
            same(one[1].numpy(), one[2], f"set {one[3]}")
    sets = [new(i) for i in range(3)]
    before = counted("replays")
    for i in range(36):
        run(sets[i % 3])
    after = counted("replays")
    expect(after is None or after - before >= 18, f"{after} graphs after {before} in 36 runs")
    for i in range(12):
        run(new(10 + i))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(run, one, 8) for one in sets]:
            done.result()
    for i in range(8):
        run(new(30 + i) if i % 2 else sets[i % 3])


def chained(host, _models):
    """One session's outputs are another's inputs, on the GPU."""
    first, second = host.session(sum_model()), host.session(sum_model())
    x, z, y, _ = drawn(5, 6)
    got = first.run_with_ort_values(["y"], {"x": on_gpu(x), "z": on_gpu(z)})[0]
    del first
    gc.collect()
    last = second.run_with_ort_values(["y"], {"x": got, "z": got})[0]
    same(last.numpy(), numpy.exp(y) + y)


def without_waiting(host, _models):
    """Runs that do not wait for the GPU, then one wait."""
    session, options = host.session(sum_model(6)), onnxruntime.RunOptions()
    options.add_run_config_entry("disable_synchronize_execution_providers", "1")
    x, z, y, _ = drawn(6, 7)
    value, binding = on_gpu(x), session.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_ortvalue_input("z", on_gpu(z))
    out = on_gpu(numpy.zeros((6, 8), numpy.float32))
    binding.bind_ortvalue_output("y", out)
    binding.bind_output("m", "cuda", 0)
    for _ in range(5):
        session.run_with_iobinding(binding, options)
    same(out.numpy(), y)


def copies_on_streams(host, _models):
    """copy_tensors() with a stream of the provider."""
    stream = host.devices[0].create_sync_stream()
    x = numpy.arange(1000, dtype=numpy.float32)
    there, back = on_gpu(numpy.zeros(1000, numpy.float32)), onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros(1000, numpy.float32))
    again = on_gpu(numpy.zeros(1000, numpy.float32))
    onnxruntime.copy_tensors([onnxruntime.OrtValue.ortvalue_from_numpy(x)], [there], stream)
    onnxruntime.copy_tensors([there], [again], stream)
    onnxruntime.copy_tensors([again], [back], stream)
    same(back.numpy(), x)


def across(host, _models):
    """Nodes of the CPU provider between two of tpat's groups: tensors go there and back in one run."""
    nodes = [helper.make_node("Exp", ["x"], ["a"], name="before"),
             helper.make_node("Cast", ["a"], ["text"], name="to_text", to=T.STRING),
             helper.make_node("Cast", ["text"], ["b"], name="from_text", to=T.FLOAT),
             helper.make_node("Mul", ["a", "b"], ["c"], name="after"), helper.make_node("Neg", ["c"], ["y"], name="neg")]
    model = made(nodes, [("x", T.FLOAT, ["N", 4])], [("y", T.FLOAT, ["N", 4])])
    session, reference = host.session(model), plain(model)
    expect(groups_of(session) == [["before"], ["after", "neg"]], groups_of(session))
    for size in 3, 5, 3:
        feeds = feeds_of(reference, size, size)
        same(session.run(None, feeds)[0], reference.run(None, feeds)[0])


def many_threads(host, models):
    """Several sessions of two models, each in several threads, at several extents."""
    paths = [os.path.join(models, f"{name}.onnx") for name in ("chains", "layers")]
    sessions = [(host.session(path), plain(path)) for path in paths for _ in range(2)]
    model = sum_model()
    bound_one = host.session(model)

    def one(i):
        session, reference = sessions[i % len(sessions)]
        feeds = feeds_of(reference, 3 + i % 5, i)
        for got, want in zip(session.run(None, feeds), reference.run(None, feeds)):
            same(got, want, f"run {i}")

    def with_values(i):
        x, z, y, m = drawn(2 + i % 7, i)
        got = bound_one.run_with_ort_values(["y", "m"], {"x": on_gpu(x), "z": on_gpu(z)})
        same(got[0].numpy(), y, f"y of {i}")
        same(got[1].numpy(), m, f"m of {i}")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for done in [pool.submit((one, with_values)[i % 2], i // 2) for i in range(60)]:
            done.result()


def at_once(fn, threads, times):
    """fn(thread, time) in some threads, whose turns begin together."""
    barrier = threading.Barrier(threads, timeout=300)

    def one(thread):
        for i in range(times):
            barrier.wait()
            fn(thread, i)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(one, i) for i in range(threads)]:
            done.result()


def streams(host, _models):
    """Runs of one session at the same time have a stream and memory each, repeat with graphs of their own, and take no more memory
    however many they are. After a run nothing is under way, unless it does not wait. Results outlive the session."""
    session, threads = host.session(sum_model()), 4
    fixed = [(drawn(5, i), session.io_binding()) for i in range(threads)]
    for (x, z, y, m), binding in fixed:
        for name, array in ("x", x), ("z", z):
            binding.bind_ortvalue_input(name, on_gpu(array))
        binding.bind_output("y", "cuda", 0)
        binding.bind_output("m", "cuda", 0)
    late = onnxruntime.RunOptions()
    late.add_run_config_entry("disable_synchronize_execution_providers", "1")

    def bound_run(thread, i):
        (_, _, y, m), binding = fixed[thread]
        session.run_with_iobinding(binding, late if i % 3 == 2 else None)
        got = binding.copy_outputs_to_cpu()
        same(got[0], y, f"y of {thread}")
        same(got[1], m, f"m of {thread}")

    def drawn_run(thread, i):
        x, z, y, m = drawn(2 + (thread + i) % 5, 100 * thread + i)
        got = session.run(None, {"x": x, "z": z})
        same(got[0], y, f"y of {thread}, {i}")
        same(got[1], m, f"m of {thread}, {i}")

    def kept_run(thread, i):
        x, z, y, m = drawn(3, 7 * thread + i)
        kept.append((session.run_with_ort_values(["y", "m"], {"x": on_gpu(x), "z": on_gpu(z)}, late if i % 2 else None), y, m))
    before = counted("streams")
    for _ in range(20):
        at_once(drawn_run, threads, 3)
        if before is None or counted("streams") > before + 1:
            break
    else:
        raise AssertionError("all runs have one stream")
    at_once(bound_run, threads, 12)
    session.run_with_iobinding(fixed[0][1], late)
    expect(counted("pending") != 0, "a run waits that should not")
    session.run_with_iobinding(fixed[0][1])
    expect(not counted("pending"), f"{counted('pending')} operations after a run")
    memory = []
    for _ in range(4):
        at_once(drawn_run, threads, 10)
        at_once(bound_run, threads, 10)
        memory.append(counted("memory"))
    expect(memory[0] is None or memory[-1] <= 2 * memory[0], f"blocks of memory: {memory}")
    expect(before is None or counted("streams") - before <= 2 * threads, f"{counted('streams')} streams after {before}")
    kept = []
    at_once(kept_run, threads, 4)
    fixed.clear()
    del session
    gc.collect()
    for (got, found), y, m in kept:
        same(got.numpy(), y, "y after the session")
        same(found.numpy(), m, "m after the session")


def too_large(host, _models):
    """Memory that the GPU does not have is an error, and the session goes on."""
    model = made([helper.make_node("Expand", ["x", "shape"], ["y"], name="expand")], [("x", T.FLOAT, [1]), ("shape", T.INT64, [3])],
                 [("y", T.FLOAT, [None, None, None])])
    session = host.session(model)
    x = numpy.ones(1, numpy.float32)
    try:
        session.run(None, {"x": x, "shape": numpy.array([1 << 20, 1 << 20, 2])})
    except Exception as error:  # ONNX Runtime's own class
        expect("memory" in str(error).lower(), error)
    else:
        raise AssertionError("it runs")
    got, = session.run(None, {"x": x, "shape": numpy.array([2, 3, 4])})
    same(got, numpy.ones((2, 3, 4), numpy.float32))


def forked(host, _models):
    """In a child process of one that used CUDA a session is an error that says what to do."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            host.session(sum_model()).run(None, dict(zip("xz", drawn(4, 1))))
            os.write(write, b"it runs")
        except Exception as error:  # ONNX Runtime's own class
            os.write(write, str(error).encode()[:4000])
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    expect("with spawn" in said, said)


TESTS = values, bound, in_place, odd_addresses, repeats, turns, chained, without_waiting, copies_on_streams, across, many_threads, streams, too_large, \
    forked
