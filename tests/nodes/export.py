"""Writes ONNX's own node tests as folders: export.py FOLDER. Does nothing when this version's are there. And
FOLDER/operators.tsv, all operators of ONNX and of ONNX Runtime: domain, name, "deprecated" or "", who defines it."""
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import onnx  # noqa: E402
from onnx.backend.test.loader import load_node_model_tests  # noqa: E402

import onnxruntime  # noqa: E402
from onnxruntime.capi import onnxruntime_pybind11_state  # noqa: E402

import cases  # noqa: E402

# Data that contradict the operator's specification; ONNX Runtime's results replace them. align_corners uses the length of the
# resized tensor; the reference implementation, which made the data, uses the scale times the input's length.
CORRECTED = ("test_resize_downsample_scales_cubic_align_corners", "test_resize_downsample_scales_linear_align_corners")


def corrected(case):
    """The case's inputs, with ONNX Runtime's results."""
    session = onnxruntime.InferenceSession(case.model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [info.name for info in session.get_inputs()]
    return [(inputs, session.run(None, dict(zip(names, inputs)))) for inputs, _ in case.data_sets]


def write_operators(path):
    """ONNX's operators in their newest version, and those that ONNX Runtime adds in its domains for models."""
    rows = {(s.domain, s.name): ("deprecated" if s.deprecated else "", "onnx") for s in onnx.defs.get_all_schemas()}
    for s in onnxruntime_pybind11_state.get_all_operator_schema():
        if s.domain in ("", "com.microsoft"):
            rows.setdefault((s.domain, s.name), ("deprecated" if s.deprecated else "", "onnxruntime"))
    with open(path, "w", encoding="utf-8") as file:
        for key in sorted(rows):
            file.write("\t".join(key + rows[key]) + "\n")


index = cases.Index(sys.argv[1], f"onnx {onnx.__version__} onnxruntime {onnxruntime.__version__}", [__file__])
if index.current():
    sys.exit(0)
warnings.simplefilter("ignore")  # numpy's, about overflow in its own reference results
index.begin()
for case in load_node_model_tests():
    kind = "expanded" if "_expanded" in case.name else "node"
    data = corrected(case) if case.name in CORRECTED else case.data_sets
    index.add(case.name, case.model, data, kind, case.rtol, case.atol)
write_operators(os.path.join(sys.argv[1], "operators.tsv"))
index.close()
print(f"{sys.argv[1]}: {len(index.rows)} cases of onnx {onnx.__version__}")
