"""Writes whole models from PyPI packages as cases: whole.py FOLDER. Inputs are drawn, outputs are ONNX Runtime's with its
optimisations off. Does nothing when they are there."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools"))

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import cases  # noqa: E402
import model_files  # noqa: E402
import oracle  # noqa: E402

SILERO = {"input": [1, 512], "state": [2, 1, 128], "sr": numpy.array(16000, numpy.int64)}
# name: file (tools/requirements/models.tsv), and the inputs, all alike or by name: the extents of unknown axes, preceded by the
# highest value for integers; or the value itself
MODELS = {
    "ppocr_cls": ("ch_ppocr_mobile_v2.0_cls_infer.onnx", [1, 3, 48, 192]),
    "ppocr_rec": ("ch_PP-OCRv4_rec_infer.onnx", [2, 3, 48, 160]),
    "ppocr_det": ("ch_PP-OCRv4_det_infer.onnx", [1, 3, 96, 128]),
    "ddddocr_det": ("common_det.onnx", [1, 3, 416, 416]),
    "ddddocr": ("common.onnx", [1, 1, 64, 96]),
    "ddddocr_old": ("common_old.onnx", [1, 1, 64, 96]),
    "silero_vad": ("silero_vad.onnx", SILERO),
    "silero_vad_8k": ("silero_vad.onnx", {**SILERO, "input": [1, 256], "sr": numpy.array(8000, numpy.int64)}),
    "silero_vad_half": ("silero_vad_half.onnx", SILERO),
    "silero_vad_op15": ("silero_vad_16k_op15.onnx", SILERO),
    "silero_vad_ifless": ("silero_vad_op18_ifless.onnx", SILERO),
    "silero_vad_openvino": ("silero_vad_openvino_16k.onnx", [2, 1, 128]),
    "silero_vad_sequence": ("silero_vad_16k_sequence.onnx", [5, 576]),
    "nakdimon": ("nakdimon.onnx", (42, [2, 20])),
    "tashkeel": ("tashkeel.onnx",
                 {"char_inputs": (53, [2, 24]), "diac_inputs": (15, [2, 24]), "input_lengths": numpy.array([24, 17])}),
    "magika": ("magika.onnx", [3, 2048]),
}
TYPES = {"tensor(float)": numpy.float32, "tensor(int32)": numpy.int32, "tensor(int64)": numpy.int64}


def draw(value, about, rng):
    about = about.get(value.name) if isinstance(about, dict) else about
    if isinstance(about, numpy.ndarray):
        return about
    highest, extents = about if isinstance(about, tuple) else (None, about)
    shape = [n if isinstance(n, int) and n > 0 else extents[axis] for axis, n in enumerate(value.shape)]
    dtype = TYPES[value.type]
    if numpy.issubdtype(dtype, numpy.floating) and highest is None:
        return rng.uniform(-1, 1, shape).astype(dtype)
    return rng.integers(0, 256 if highest is None else highest + 1, shape).astype(dtype)


index = cases.Index(sys.argv[1], f"onnxruntime {onnxruntime.__version__}", [__file__, oracle.__file__])
if index.current():
    sys.exit(0)
index.begin()
for name, (file, about) in MODELS.items():
    data = model_files.read(file)
    session = oracle.session(data, threads=0)
    feeds = {value.name: draw(value, about, numpy.random.default_rng(0)) for value in session.get_inputs()}
    model = onnx.load_from_string(data)
    inputs = [feeds[value.name] for value in model.graph.input if value.name in feeds]
    index.add(name, model, [(inputs, session.run(None, feeds))], "whole", 1e-3, 1e-4)
index.close()
print(f"{sys.argv[1]}: {len(index.rows)} models")
