"""Models in which plain nodes replace others, in ONNX Runtime: plain.py FOLDER ...

FOLDER holds models with data, as tests/nodes/export.py and generate.py write them, and next to some of them plain.onnx, which
`node_test --plain` wrote. ONNX Runtime must take each of these and give the outputs of model.onnx."""
import glob
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def tensors(folder, what):
    files = sorted(glob.glob(os.path.join(folder, what + "_*.pb")), key=lambda p: int(p.rsplit("_", 1)[1][:-3]))
    return [numpy_helper.to_array(onnx.load_tensor(p)) for p in files]


def differs(got, want, steps=0):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    if want.dtype.kind not in "fV":
        off = numpy.abs(got.astype(numpy.int64) - want.astype(numpy.int64)) > steps
        return f"{off.sum()} of {want.size} integers differ" if off.any() else None
    relative = {"float16": 4e-3, "float32": 2e-4}.get(want.dtype.name, 1e-5)
    got, want = got.astype(numpy.float64), want.astype(numpy.float64)
    finite = numpy.abs(want[numpy.isfinite(want)])
    same = numpy.isclose(got, want, rtol=relative, atol=relative * max(finite.max() if finite.size else 0, 1e-3), equal_nan=True)
    return None if same.all() else f"{(~same).sum()} of {same.size} differ, by {numpy.nanmax(numpy.abs(got - want)):.3g}"


def check(path):
    """What is wrong as text; None: nothing; "": ONNX Runtime does not run the model itself."""
    folder = os.path.dirname(path)
    plain = onnx.load(path)
    if any(v.type.tensor_type.elem_type not in RUN for v in [*plain.graph.input, *plain.graph.output]):
        return ""
    try:
        original = session_of(os.path.join(folder, "model.onnx"))
    except Exception:  # its exceptions have no common class
        return ""
    try:
        changed = session_of(path)
    except Exception as error:
        return str(error).splitlines()[0][:200]
    values = dict(zip((i.name for i in onnx.load(os.path.join(folder, "model.onnx")).graph.input),
                      tensors(os.path.join(folder, "test_data_set_0"), "input")))
    try:
        want = original.run(None, {i.name: values[i.name] for i in original.get_inputs()})
    except Exception:
        return ""
    try:
        got = changed.run(None, {i.name: values[i.name] for i in changed.get_inputs()})
    except Exception as error:
        return str(error).splitlines()[0][:200]
    steps = 1 if "QLinearSoftmax" in folder else 0  # ONNX Runtime takes its exponentials from a table
    faults = [fault for g, w in zip(got, want) if (fault := differs(g, w, steps))]
    return faults[0] if faults else None


RUN = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BOOL, onnx.TensorProto.UINT8,
       onnx.TensorProto.INT8, onnx.TensorProto.INT16, onnx.TensorProto.UINT16, onnx.TensorProto.INT32, onnx.TensorProto.INT64}


def main():
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for folder in sys.argv[1:]:
        for path in sorted(glob.glob(os.path.join(folder, "*", "plain.onnx"))):
            fault = check(path)
            count["passed" if fault is None else "skipped" if fault == "" else "failed"] += 1
            if fault:
                print(f"FAIL {path}: {fault}")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return count["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
