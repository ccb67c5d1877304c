"""Writes ONNX's own node tests as folders: export.py FOLDER. Does nothing when this version's are there."""
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import onnx  # noqa: E402
from onnx.backend.test.loader import load_node_model_tests  # noqa: E402

import cases  # noqa: E402

index = cases.Index(sys.argv[1], f"onnx {onnx.__version__}", [__file__])
if index.current():
    sys.exit(0)
warnings.simplefilter("ignore")  # numpy's, about overflow in its own reference results
index.begin()
for case in load_node_model_tests():
    kind = "expanded" if "_expanded" in case.name else "node"
    index.add(case.name, case.model, case.data_sets, kind, case.rtol, case.atol)
index.close()
print(f"{sys.argv[1]}: {len(index.rows)} cases of onnx {onnx.__version__}")
