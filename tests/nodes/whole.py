"""Writes whole models from PyPI packages as cases: whole.py FOLDER. Inputs are drawn, outputs are ONNX Runtime's with its
optimisations off. Does nothing when they are there."""
import glob
import os
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import cases  # noqa: E402

# name: package, file in its wheel, extents of unknown axes (those of the whole input)
MODELS = {
    "ppocr_cls": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                  [1, 3, 48, 192]),
    "ppocr_rec": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
                  [2, 3, 48, 160]),
    "ppocr_det": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
                  [1, 3, 96, 128]),
    "ddddocr_det": ("ddddocr==1.6.1", "ddddocr/common_det.onnx", [1, 3, 416, 416]),
    "magika": ("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", [3, 2048]),
}
TYPES = {"tensor(float)": numpy.float32, "tensor(int32)": numpy.int32, "tensor(int64)": numpy.int64}


def wheel_of(package):
    """The package's wheel, downloaded once (the demo may have it)."""
    name = package.split("==")[0].replace("-", "_")
    for folder in ("build/demo", "build/wheels"):
        found = glob.glob(f"{folder}/{name}-*.whl")
        if found:
            return found[0]
    os.makedirs("build/wheels", exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "-d",
                    "build/wheels", package], check=True)
    return wheel_of(package)


def draw(value, extents, rng):
    shape = [n if isinstance(n, int) and n > 0 else extents[axis] for axis, n in enumerate(value.shape)]
    dtype = TYPES[value.type]
    if numpy.issubdtype(dtype, numpy.floating):
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(0, 256, shape).astype(dtype)


index = cases.Index(sys.argv[1], f"onnxruntime {onnxruntime.__version__}", [__file__])
if index.current():
    sys.exit(0)
index.begin()
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.log_severity_level = 3
for name, (package, path, extents) in MODELS.items():
    with zipfile.ZipFile(wheel_of(package)) as wheel:
        data = wheel.read(path)
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    feeds = {value.name: draw(value, extents, numpy.random.default_rng(0)) for value in session.get_inputs()}
    model = onnx.load_from_string(data)
    inputs = [feeds[value.name] for value in model.graph.input if value.name in feeds]
    index.add(name, model, [(inputs, session.run(None, feeds))], "whole", 1e-3, 1e-4)
index.close()
print(f"{sys.argv[1]}: {len(index.rows)} models")
