#!/usr/bin/env python3
"""The host's cost of a region in the execution provider on a GPU: overhead.py LIBRARY [LIMIT_US]

For some regions, with inputs and outputs bound to GPU memory: the time inside the provider's compute function, as ONNX Runtime's
profile has it, and the time of a whole run from Python, with and without waiting for the GPU. Fails if the first is above the limit
(10 us) for the small elementwise region, or if a result is wrong."""
import json
import os
import statistics
import sys
import tempfile
import time

import numpy
import onnxruntime
from onnx import TensorProto as T
from onnx import helper

from host import NVIDIA, Host, made, plain

RUNS = 300


def elementwise():
    nodes = [helper.make_node("Mul", ["x", "x"], ["a"]), helper.make_node("Add", ["a", "z"], ["y"])]
    return made(nodes, [("x", T.FLOAT, [64, 64]), ("z", T.FLOAT, [64, 64])], [("y", T.FLOAT, [64, 64])])


def open_extents():
    nodes = [helper.make_node("Mul", ["x", "x"], ["a"]), helper.make_node("Add", ["a", "z"], ["y"])]
    return made(nodes, [("x", T.FLOAT, ["N", 64]), ("z", T.FLOAT, ["N", 64])], [("y", T.FLOAT, ["N", 64])])


def softmax():
    return made([helper.make_node("Add", ["x", "z"], ["a"]), helper.make_node("Softmax", ["a"], ["y"])],
                [("x", T.FLOAT, [64, 64]), ("z", T.FLOAT, [64, 64])], [("y", T.FLOAT, [64, 64])])


def layers():
    """Twelve layers of a product, a normalisation and a residual: many launches."""
    rng, nodes, constants, x = numpy.random.default_rng(1), [], [], "x"
    for i in range(12):
        weights = rng.uniform(-0.2, 0.2, (64, 64)).astype(numpy.float32)
        constants.append(helper.make_tensor(f"w{i}", T.FLOAT, [64, 64], weights.tobytes(), raw=True))
        nodes += [helper.make_node("MatMul", [x, f"w{i}"], [f"a{i}"]), helper.make_node("Softmax", [f"a{i}"], [f"b{i}"]),
                  helper.make_node("Add", [f"b{i}", x], [f"c{i}"])]
        x = f"c{i}"
    nodes.append(helper.make_node("Add", [x, "z"], ["y"]))
    return made(nodes, [("x", T.FLOAT, [64, 64]), ("z", T.FLOAT, [64, 64])], [("y", T.FLOAT, [64, 64])], constants)


def profiled(path):
    """Microseconds inside each call of a fused node."""
    with open(path, encoding="utf-8") as file:
        return [event["dur"] for event in json.load(file)
                if event.get("cat") == "Node" and event["name"].startswith("Tpat") and event["name"].endswith("kernel_time")]


def measure(host, model):
    """Microseconds: in the provider, of a run without waiting, of a run with waiting; and the largest error."""
    rng = numpy.random.default_rng(2)
    x, z = (rng.uniform(-1, 1, (64, 64)).astype(numpy.float32) for _ in range(2))
    want, = plain(model).run(None, {"x": x, "z": z})
    out = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros_like(want), "gpu", 0, NVIDIA)
    inputs = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value, "gpu", 0, NVIDIA) for name, value in (("x", x), ("z", z))}
    free = onnxruntime.RunOptions()
    free.add_run_config_entry("disable_synchronize_execution_providers", "1")

    def bind(session):
        binding = session.io_binding()
        for name, value in inputs.items():
            binding.bind_ortvalue_input(name, value)
        binding.bind_ortvalue_output("y", out)
        return binding
    with tempfile.TemporaryDirectory() as folder:
        session = host.session(model, profile=os.path.join(folder, "p"))
        binding = bind(session)
        for _ in range(RUNS):
            session.run_with_iobinding(binding)
        inside = statistics.median(profiled(session.end_profiling())[RUNS // 3:])
    session = host.session(model)
    binding, times = bind(session), []
    for options in free, None:
        for _ in range(20):
            session.run_with_iobinding(binding)
        start = time.perf_counter()
        for _ in range(RUNS):
            session.run_with_iobinding(binding, options)
        times.append((time.perf_counter() - start) / RUNS * 1e6)
        session.run_with_iobinding(binding)
    return inside, *times, numpy.abs(out.numpy() - want).max()


def main():
    host, limit = Host(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 10
    failed = 0
    print("region            in the provider  a run, not waiting  a run, waiting")
    for what in elementwise, open_extents, softmax, layers:
        inside, loose, waiting, error = measure(host, what())
        bad = error > 1e-4 or (what is not layers and inside > limit)
        failed += bad
        print(f"{what.__name__:<16} {inside:13.1f} us {loose:16.1f} us {waiting:12.1f} us{'  FAIL' if bad else ''}  error {error:.2g}")
    print(f"{4 - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
