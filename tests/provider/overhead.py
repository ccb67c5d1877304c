#!/usr/bin/env python3
"""The host's cost of a region in the execution provider on a GPU: overhead.py LIBRARY [LIMIT_US]

For some regions, with inputs and outputs bound to GPU memory: the time inside the provider's compute function (libtimed_ep.so's clock),
and the time of a whole run from Python, which waits for the GPU; beside a run of ONNX Runtime that does nothing. Then the same
from four threads of one session, each with memory of its own: the time from one run's end to the next one's, of any thread. Fails if
the first is above the limit (10 us) for a small region, or if a result is wrong. With FAKE_GPU_IDLE (fake_gpu.c) results are not looked
at."""
import concurrent.futures
import ctypes
import gc
import os
import sys
import time

import numpy
import onnxruntime
from onnx import TensorProto as T
from onnx import helper

from host import NVIDIA, Host, made, plain

RUNS, BATCHES, THREADS = 200, 15, 4
TIMED = os.path.abspath("build/tests/provider/libtimed_ep.so")


def nothing():
    """ONNX Runtime alone: an output that is an input."""
    return made([helper.make_node("Identity", ["x"], ["y"])], [("x", T.FLOAT, [64, 64])], [("y", T.FLOAT, [64, 64])])


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


class Case:
    """A session, and bindings of GPU memory for it."""

    def __init__(self, host, model):
        self.host, self.session, self.reference = host, host.session(model), plain(model)

    def binding(self, seed):
        rng, binding = numpy.random.default_rng(seed), self.session.io_binding()
        feeds = {name: rng.uniform(-1, 1, (64, 64)).astype(numpy.float32) for name in ("x", "z")}
        want, = self.reference.run(None, feeds)
        for name, value in feeds.items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(value, "gpu", 0, NVIDIA))
        out = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros_like(want), "gpu", 0, NVIDIA)
        binding.bind_ortvalue_output("y", out)
        return binding, out, want

    def error(self, bound):
        return 0 if "FAKE_GPU_IDLE" in os.environ else numpy.abs(bound[1].numpy() - bound[2]).max()

    def run(self):
        """Microseconds of a run, the fastest batch's mean; and the error of the result."""
        bound = self.binding(1)
        return fastest(lambda: self.session.run_with_iobinding(bound[0])), self.error(bound)

    def run_many(self):
        """The same of runs in threads."""
        bound = [self.binding(2 + i) for i in range(THREADS)]

        def one(k):
            for _ in range(BATCHES * RUNS):
                self.session.run_with_iobinding(bound[k][0])
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            start = time.perf_counter()
            for done in [pool.submit(one, k) for k in range(THREADS)]:
                done.result()
            each = (time.perf_counter() - start) / (THREADS * BATCHES * RUNS) * 1e6
        return each, max(map(self.error, bound))


def fastest(run):
    for _ in range(20):
        run()
    best = float("inf")
    for _ in range(BATCHES):
        start = time.perf_counter()
        for _ in range(RUNS):
            run()
        best = min(best, (time.perf_counter() - start) / RUNS * 1e6)
    return best


def alone():
    """Microseconds of a run in which nothing is computed."""
    session = plain(nothing())
    binding = session.io_binding()
    for bind, name in (binding.bind_ortvalue_input, "x"), (binding.bind_ortvalue_output, "y"):
        bind(name, onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros((64, 64), numpy.float32)))
    return fastest(lambda: session.run_with_iobinding(binding))


def main():
    os.environ["TIMED_EP"] = os.path.abspath(sys.argv[1])
    host, limit = Host(TIMED), float(sys.argv[2]) if len(sys.argv) > 2 else 10
    median = ctypes.CDLL(TIMED).timed_median
    median.restype = ctypes.c_int64
    failed = 0
    print(f"A run of ONNX Runtime alone: {alone():.1f} us\n")
    print(f"region            in the provider          a run   a run of {THREADS} threads")
    for what in elementwise, open_extents, softmax, layers:
        case = Case(host, what())
        median()
        run, error = case.run()
        inside = median() / 1e3
        many, others = case.run_many()
        error = max(error, others)
        bad = error > 1e-4 or (what is not layers and inside > limit)
        failed += bad
        print(f"{what.__name__:<16} {inside:13.2f} us {run:12.1f} us {many:15.1f} us{'  FAIL' if bad else ''}  error {error:.2g}", flush=True)
    del case  # sessions end before their library
    gc.collect()
    host.close()
    print(f"{4 - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
