"""Runs the rewritten models of the zoo in ONNX Runtime, where each plugin is a local function: rewritten.py DATA REWRITTEN.

Each REWRITTEN/NAME.CUT.onnx must pass ONNX's checker, and give the very outputs of DATA/NAME/model.onnx for the inputs in
DATA/NAME/tensors_0.onnx. Two kinds have the tolerance of DATA/index.tsv instead: models of f16, which ONNX Runtime computes in f32
on a processor, rounding where it happens to store; and NAME.auto.onnx, whose plain nodes may round otherwise than the node that
they replace (a FusedConv's own activation is not Conv's and Relu's on every processor)."""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402

import oracle  # noqa: E402


def tolerances(data):
    """For each model its tolerance, and whether it is an f16 model."""
    with open(os.path.join(data, "index.tsv"), encoding="utf-8") as file:
        rows = [line.split("\t") for line in file.read().splitlines() if not line.startswith("#")]
    return {name: (float(relative), float(absolute), half == "half") for name, relative, absolute, half, *_ in rows}


def equal(got, want, tolerance):
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if tolerance and want.dtype.kind == "f" and want.size:
        largest = float(numpy.max(numpy.abs(want.astype(numpy.float64))))
        return numpy.allclose(got.astype(numpy.float64), want.astype(numpy.float64), tolerance[0], tolerance[1] * largest)
    return got.tobytes() == want.tobytes()


def failure_of(path, feeds, wanted, tolerance):
    """The reason why the model is wrong, or None."""
    model = onnx.load(path)
    try:
        onnx.checker.check_model(model, full_check=True)
        session = oracle.session(model)
        results = session.run(None, feeds)
    except Exception as error:  # the checker's and ONNX Runtime's have no common base
        return f"{type(error).__name__}: {str(error)[:400]}"
    for out, result in zip(session.get_outputs(), results):
        if not equal(result, wanted[out.name], tolerance):
            return f"output {out.name} differs"
    return None


def run_original(folder):
    """The inputs, and the outputs by name."""
    session = oracle.session(os.path.join(folder, "model.onnx"))
    held = {tensor.name: tensor for tensor in onnx.load(os.path.join(folder, "tensors_0.onnx")).graph.initializer}
    feeds = {info.name: numpy_helper.to_array(held[info.name]) for info in session.get_inputs()}
    return feeds, dict(zip((out.name for out in session.get_outputs()), session.run(None, feeds)))


def main():
    data, folder = sys.argv[1:]
    passed = failed = 0
    held, known = None, tolerances(data)
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        name, cut, _ = os.path.basename(path).rsplit(".", 2)
        if name != held:
            held = name
            feeds, wanted = run_original(os.path.join(data, name))
        *tolerance, half = known[name]
        why = failure_of(path, feeds, wanted, tolerance if half or cut == "auto" else None)
        passed, failed = passed + (why is None), failed + (why is not None)
        if why:
            print(f"FAIL {os.path.basename(path)}: {why}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or not passed)


sys.exit(main())
