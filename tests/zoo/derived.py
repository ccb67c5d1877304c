"""Models of the zoo as rewritten by ONNX Runtime's quantisers and optimisers."""
import os
import tempfile

import numpy
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, matmul_nbits_quantizer
from onnxruntime.quantization import quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.float16 import convert_float_to_float16
from onnxruntime.transformers.onnx_model import OnnxModel

SIZES = {"N": 2, "T": 7, "H": 32, "W": 48, "P": 5}


class Reader(CalibrationDataReader):
    def __init__(self, path):
        rng = numpy.random.default_rng(1)
        inputs = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs()
        self.sets = iter([{i.name: self.draw(i, rng) for i in inputs} for _ in range(4)])

    @staticmethod
    def draw(value, rng):
        shape = [n if isinstance(n, int) else SIZES[n] for n in value.shape]
        if value.type == "tensor(int64)":
            return rng.integers(0, 2, shape)
        return rng.uniform(-1, 1, shape).astype(numpy.float32)

    def get_next(self):
        return next(self.sets, None)


def static(source, work, form, activations, weights, **more):
    prepared, path = os.path.join(work, "prepared.onnx"), os.path.join(work, "static.onnx")
    quant_pre_process(source, prepared, skip_symbolic_shape=True)
    quantize_static(prepared, path, Reader(prepared), quant_format=form, activation_type=activations, weight_type=weights,
                    **more)
    return onnx.load(path)


def dynamic(source, work, **more):
    path = os.path.join(work, "dynamic.onnx")
    quantize_dynamic(source, path, **more)
    return onnx.load(path)


def nbits(source, bits, block, symmetric, level=None):
    quantizer = matmul_nbits_quantizer.MatMulNBitsQuantizer(onnx.load(source), bits=bits, block_size=block,
                                                            is_symmetric=symmetric, accuracy_level=level)
    quantizer.process()
    return quantizer.model.model


def fused(source, kind, heads, hidden):
    return optimizer.optimize_model(source, model_type=kind, num_heads=heads, hidden_size=hidden, opt_level=0).model


def optimised(source, work):
    """Optimised as ONNX Runtime does for a CPU, but without processor-specific layouts."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = os.path.join(work, "optimised.onnx")
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return onnx.load(options.optimized_model_filepath)


def makers(at, work):
    """name: (the original model, a function that derives it)."""
    u8, i8 = QuantType.QUInt8, QuantType.QInt8
    qdq, operators = QuantFormat.QDQ, QuantFormat.QOperator
    return {
        "resnet_qdq": ("resnet", lambda path: static(path, work, qdq, u8, i8, per_channel=True)),
        "resnet_qoperator": ("resnet", lambda path: static(path, work, operators, u8, i8)),
        "mobilenet_v3_qdq": ("mobilenet_v3", lambda path: static(path, work, qdq, i8, i8)),
        "yolo_qdq": ("yolo_dynamo", lambda path: static(path, work, qdq, u8, u8)),
        "vit_qoperator": ("vit", lambda path: static(path, work, operators, u8, u8)),
        "convnext_qdq": ("convnext", lambda path: static(path, work, qdq, i8, i8, per_channel=True)),
        "bert_int8": ("bert", lambda path: dynamic(path, work, weight_type=i8, per_channel=True)),
        "crnn_int8": ("crnn", lambda path: dynamic(path, work, weight_type=u8)),
        "whisper_int8": ("whisper", lambda path: dynamic(path, work, weight_type=u8)),
        "llama_4bits": ("llama", lambda path: nbits(path, 4, 16, False)),
        "gpt2_8bits": ("gpt2", lambda path: nbits(path, 8, 32, True)),
        "bert_fused": ("bert", lambda path: fused(path, "bert", 4, 32)),
        "gpt2_fused": ("gpt2", lambda path: fused(path, "gpt2", 4, 32)),
        "vit_fused": ("vit_dynamo", lambda path: fused(path, "vit", 4, 32)),
        "swin_extended": ("swin", lambda path: optimised(path, work)),
        "conformer_extended": ("conformer", lambda path: optimised(path, work)),
        "resnet_extended": ("resnet_dynamo", lambda path: optimised(path, work)),
        "whisper_half": ("whisper_dynamo", lambda path: convert_float_to_float16(onnx.load(path), keep_io_types=True)),
        "yolo_half": ("yolo_open", lambda path: convert_float_to_float16(onnx.load(path))),
        "diffusion_half": ("diffusion_open", lambda path: convert_float_to_float16(onnx.load(path), keep_io_types=True)),
    }


def models(folder, wanted):
    """The models' names and functions that make them; the originals are in the folder."""
    work = tempfile.mkdtemp()
    for name, (source, make) in makers(folder, work).items():
        if not wanted or name in wanted:
            path = os.path.join(folder, source + ".onnx")
            yield name, lambda make=make, path=path: finish(make(path), onnx.load(path))


def finish(model, source):
    """Sorts the nodes, and adds the import of ONNX Runtime's operators, which its optimiser omits, and the notes on the
    inputs."""
    OnnxModel(model).topological_sort()
    if not any(entry.domain == "com.microsoft" for entry in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    del model.metadata_props[:]
    model.metadata_props.extend(source.metadata_props)
    return model
