"""A case of the benchmarks: an ONNX model of one or a few nodes, and the same in PyTorch."""
import numpy as np
import onnx
from onnx import TensorProto, helper

try:
    import torch
    import torch.nn.functional as F
except ImportError:  # not needed to write the models
    torch = F = None

OPSET = 23
ONNX_TYPE = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "i64": TensorProto.INT64, "i32": TensorProto.INT32,
             "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "bool": TensorProto.BOOL, "f8": TensorProto.FLOAT8E4M3FN}
NUMPY_TYPE = {"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i8": np.int8, "u8": np.uint8,
              "bool": np.bool_}


class Case:
    """name; inputs: (name, type, shape[, how values are drawn]); nodes: (operator, inputs, outputs, attributes); constants:
    name -> array; torch: a function of the inputs in their order, which gives the graph's outputs in their order; reference:
    what the results are compared with, where that is another function (floats come as float64); contraction: its goal is a
    library's speed, so that torch.compile is left out."""

    def __init__(self, name, inputs, nodes, torch, outputs=("y",), constants=None, contraction=False, reference=None):
        self.name, self.inputs, self.nodes, self.torch = name, inputs, nodes, torch
        self.outputs, self.constants, self.contraction = outputs, constants or {}, contraction
        self.reference = reference or torch

    def draw(self, torch):
        """The inputs as tensors on the GPU, always the same: floats from -2 to 2, integers of the type's whole range. Other
        kinds: "sparse": half zeros, else from 0 to 1; "mask": 0 or 1; a number: integers below it, floats from its negative
        to it; a shape: positions in it, each once."""
        random, made = torch.Generator("cuda").manual_seed(1), []
        more = {"generator": random, "device": "cuda"}
        for _, kind, shape, *how in self.inputs:
            t = torch.float8_e4m3fn if kind == "f8" else torch.from_numpy(np.zeros(1, NUMPY_TYPE[kind])).dtype
            how = how[0] if how else None
            if how == "sparse":
                x = torch.rand(shape, **more) * torch.randint(0, 2, shape, **more)
            elif how == "mask":
                x = torch.randint(0, 2, shape, **more)
            elif isinstance(how, tuple):
                flat = torch.randperm(int(np.prod(how)), **more)[:int(np.prod(shape[:-1]))]
                x = torch.stack(torch.unravel_index(flat, how), -1).reshape(shape)
            elif t.is_floating_point:
                x = (torch.rand(shape, **more) * 2 - 1) * (how or 2)
            else:
                x = torch.randint(0 if how else torch.iinfo(t).min, how or torch.iinfo(t).max + 1, shape, **more)
            made.append(x.to(t))
        return made

    def model(self, extent=int):
        """The ONNX model. extent: what stands for a number in the inputs' shapes, itself or a name."""
        nodes = [helper.make_node(op, ins, outs, name=f"n{i}", **attributes)
                 for i, (op, ins, outs, attributes) in enumerate(self.nodes)]
        inputs = [helper.make_tensor_value_info(i[0], ONNX_TYPE[i[1]], [extent(n) for n in i[2]]) for i in self.inputs]
        outputs = [helper.make_empty_tensor_value_info(o) for o in self.outputs]
        constants = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in self.constants.items()]
        graph = helper.make_graph(nodes, "bench", inputs, outputs, constants)
        domains = {attributes["domain"] for _, _, _, attributes in self.nodes if "domain" in attributes}
        imports = [helper.make_opsetid("", OPSET)] + [helper.make_opsetid(domain, 1) for domain in domains]
        model = helper.make_model(graph, opset_imports=imports, ir_version=11)
        model = onnx.shape_inference.infer_shapes(model)
        return model

    def region(self):
        return ",".join(f"n{i}" for i in range(len(self.nodes)))


def scalars(t, **values):
    return {k: np.array(v, np.int64 if isinstance(v, (int, list)) else NUMPY_TYPE[t]) for k, v in values.items()}
