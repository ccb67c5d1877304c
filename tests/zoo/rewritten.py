"""Runs the rewritten models of the zoo in ONNX Runtime, where each plugin is a local function: rewritten.py DATA REWRITTEN.

Each REWRITTEN/NAME.CUT.onnx must pass ONNX's checker, and give the very outputs of DATA/NAME/model.onnx for the inputs in
DATA/NAME/tensors_0.onnx. Models of f16 have a tolerance: ONNX Runtime computes them in f32 on a processor, and rounds where it
happens to store."""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402

import oracle  # noqa: E402


def half_models(data):
    """The f16 models and their tolerances."""
    with open(os.path.join(data, "index.tsv"), encoding="utf-8") as file:
        rows = [line.split("\t") for line in file.read().splitlines() if not line.startswith("#")]
    return {name: (float(relative), float(absolute)) for name, relative, absolute, half, *_ in rows if half == "half"}


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
    held, half = None, half_models(data)
    for path in sorted(glob.glob(os.path.join(folder, "*.onnx"))):
        name = os.path.basename(path).rsplit(".", 2)[0]
        if name != held:
            held = name
            feeds, wanted = run_original(os.path.join(data, name))
        why = failure_of(path, feeds, wanted, half.get(name))
        passed, failed = passed + (why is None), failed + (why is not None)
        if why:
            print(f"FAIL {os.path.basename(path)}: {why}")
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or not passed)


sys.exit(main())
