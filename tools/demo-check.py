"""Second opinion on a rewritten model: demo-check.py ORIGINAL REWRITTEN [RUNS].

The rewritten model must pass the ONNX checker, and ONNX Runtime must give bit-equal outputs for both on random inputs
(where no plugin is loaded, the rewritten model runs the original operators as a local function)."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))

import numpy  # noqa: E402
import onnx  # noqa: E402

import oracle  # noqa: E402

original, rewritten = sys.argv[1:3]
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 5

onnx.checker.check_model(rewritten, full_check=True)
print(f"{rewritten}: the ONNX checker accepts it")

# Optimizations could fuse the two models differently, so they are off.
sessions = [oracle.session(path, threads=0) for path in (original, rewritten)]

TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16,
         "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(uint8)": numpy.uint8,
         "tensor(int8)": numpy.int8, "tensor(bool)": numpy.bool_}


def random_input(value, rng):
    """Uniform in [-1, 1) or a small integer; unknown extents are 1 in front (the batch) and 64 to 160 elsewhere."""
    shape = [extent if isinstance(extent, int) and extent > 0 else 1 if axis == 0 else int(rng.integers(64, 161))
             for axis, extent in enumerate(value.shape)]
    dtype = TYPES[value.type]
    if numpy.issubdtype(dtype, numpy.floating):
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


rng = numpy.random.default_rng(1)
spent = [0.0, 0.0]
for run in range(runs):
    inputs = {value.name: random_input(value, rng) for value in sessions[0].get_inputs()}
    results = []
    for i, session in enumerate(sessions):
        start = time.perf_counter()
        results.append(session.run(None, inputs))
        spent[i] += time.perf_counter() - start
    for value, a, b in zip(sessions[0].get_outputs(), *results):
        if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
            sys.exit(f"{rewritten}: output {value.name} differs from the original's in run {run}, inputs "
                     + ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.items()))
    print(f"run {run}: " + ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.items()) + ": bit-equal")
print(f"ONNX Runtime on the CPU: original {spent[0] / runs * 1e3:.1f} ms, rewritten {spent[1] / runs * 1e3:.1f} ms a run")
