"""The cases of the benchmarks: for each an ONNX model of one or a few nodes, and the same in PyTorch. Shapes are those that users
measure by: transformers' rows, vision's images, and the shapes of TPAT's published table."""
import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 20
ONNX_TYPE = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "i64": TensorProto.INT64, "i32": TensorProto.INT32,
             "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "bool": TensorProto.BOOL}
NUMPY_TYPE = {"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i8": np.int8, "u8": np.uint8,
              "bool": np.bool_}


class Case:
    """name; inputs: (name, type, shape[, highest integer]); nodes: (operator, inputs, outputs, attributes); constants: name ->
    array; torch: a function of the inputs in their order; output: of the graph."""

    def __init__(self, name, inputs, nodes, torch, output="y", constants=None, contraction=False):
        self.name, self.inputs, self.nodes, self.torch = name, inputs, nodes, torch
        self.output, self.constants, self.contraction = output, constants or {}, contraction

    def model(self):
        nodes = [helper.make_node(op, ins, outs, name=f"n{i}", **attributes)
                 for i, (op, ins, outs, attributes) in enumerate(self.nodes)]
        inputs = [helper.make_tensor_value_info(i[0], ONNX_TYPE[i[1]], i[2]) for i in self.inputs]
        outputs = [helper.make_empty_tensor_value_info(self.output)]
        constants = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in self.constants.items()]
        graph = helper.make_graph(nodes, "bench", inputs, outputs, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        model = onnx.shape_inference.infer_shapes(model)
        return model

    def region(self):
        return ",".join(f"n{i}" for i in range(len(self.nodes)))


def cases():
    """All cases; `t` is f32 or f16. PyTorch is imported only where its functions run."""
    import torch
    import torch.nn.functional as F

    out = []
    for t in ("f32", "f16"):
        dt = torch.float32 if t == "f32" else torch.float16
        npt = NUMPY_TYPE[t]

        def add(name, inputs, nodes, fn, t=t, **more):
            out.append(Case(f"{name} {t}", inputs, nodes, fn, **more))

        half = {k: np.array(v, npt) for k, v in {"half": 0.5, "one": 1.0, "root": 2 ** 0.5}.items()}
        add("bias_gelu_8192x3072", [("x", t, [8192, 3072]), ("b", t, [3072])],
            [("Add", ["x", "b"], ["s"], {}), ("Gelu", ["s"], ["y"], {})], lambda x, b: F.gelu(x + b))
        add("gelu_spelled_8192x3072", [("x", t, [8192, 3072])],
            [("Div", ["x", "root"], ["d"], {}), ("Erf", ["d"], ["e"], {}), ("Add", ["e", "one"], ["a"], {}),
             ("Mul", ["x", "a"], ["m"], {}), ("Mul", ["m", "half"], ["y"], {})],
            lambda x: 0.5 * (x * (1 + torch.erf(x / 2 ** 0.5))), constants=half)
        add("silu_mul_8192x4096", [("x", t, [8192, 4096]), ("g", t, [8192, 4096])],
            [("Sigmoid", ["x"], ["s"], {}), ("Mul", ["x", "s"], ["m"], {}), ("Mul", ["m", "g"], ["y"], {})],
            lambda x, g: F.silu(x) * g)
        for rows, n in ((16384, 768), (8192, 4096), (128, 65536)):
            add(f"layernorm_{rows}x{n}", [("x", t, [rows, n]), ("w", t, [n]), ("b", t, [n])],
                [("LayerNormalization", ["x", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
                lambda x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5))
            add(f"softmax_{rows}x{n}", [("x", t, [rows, n])], [("Softmax", ["x"], ["y"], {"axis": -1})],
                lambda x: F.softmax(x, -1))
        two = {"two": np.array(2.0, npt), "eps": np.array(1e-5, npt), "last": np.array([-1], np.int64)}
        for rows, n in ((16384, 768), (8192, 4096)):
            add(f"rmsnorm_{rows}x{n}", [("x", t, [rows, n]), ("w", t, [n])],
                [("Mul", ["x", "x"], ["q"], {}), ("ReduceMean", ["q", "last"], ["m"], {}), ("Add", ["m", "eps"], ["a"], {}),
                 ("Sqrt", ["a"], ["r"], {}), ("Div", ["x", "r"], ["d"], {}), ("Mul", ["d", "w"], ["y"], {})],
                lambda x, w: F.rms_norm(x, w.shape, w, 1e-5), constants=two)
            add(f"add_layernorm_{rows}x{n}", [("x", t, [rows, n]), ("z", t, [rows, n]), ("w", t, [n]), ("b", t, [n])],
                [("Add", ["x", "z"], ["s"], {}),
                 ("LayerNormalization", ["s", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
                lambda x, z, w, b: F.layer_norm(x + z, w.shape, w, b, 1e-5))
        add("instancenorm_16x64x128x128", [("x", t, [16, 64, 128, 128]), ("w", t, [64]), ("b", t, [64])],
            [("InstanceNormalization", ["x", "w", "b"], ["y"], {"epsilon": 1e-5})],
            lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-5))
        add("groupnorm32_16x256x64x64", [("x", t, [16, 256, 64, 64]), ("w", t, [32]), ("b", t, [32])],
            [("GroupNormalization", ["x", "w", "b"], ["y"], {"epsilon": 1e-5, "num_groups": 32})],
            lambda x, w, b: F.group_norm(x, 32, w.repeat_interleave(8), b.repeat_interleave(8), 1e-5))
        add("transpose_0213_32x512x16x64", [("x", t, [32, 512, 16, 64])], [("Transpose", ["x"], ["y"], {"perm": [0, 2, 1, 3]})],
            lambda x: x.transpose(1, 2).contiguous())
        add("transpose2d_8192", [("x", t, [8192, 8192])], [("Transpose", ["x"], ["y"], {"perm": [1, 0]})],
            lambda x: x.t().contiguous())
        add("nchw_to_nhwc_32x64x112x112", [("x", t, [32, 64, 112, 112])],
            [("Transpose", ["x"], ["y"], {"perm": [0, 2, 3, 1]})], lambda x: x.permute(0, 2, 3, 1).contiguous())
        add("reducesum_rows_8192", [("x", t, [8192, 8192])], [("ReduceSum", ["x", "axis"], ["y"], {})],
            lambda x: x.sum(-1, keepdim=True), constants={"axis": np.array([1], np.int64)})
        add("reducesum_columns_8192", [("x", t, [8192, 8192])], [("ReduceSum", ["x", "axis"], ["y"], {})],
            lambda x: x.sum(0, keepdim=True), constants={"axis": np.array([0], np.int64)})
        add("reducemax_256x82x128_axis1", [("x", t, [256, 82, 128])],
            [("ReduceMax", ["x", "axis"], ["y"], {"keepdims": 0})], lambda x: x.amax(1),
            constants={"axis": np.array([1], np.int64)})
        for c, h, w in ((32, 44, 50), (64, 11, 12)):
            for mode in ("linear", "nearest"):
                extra = {"coordinate_transformation_mode": "half_pixel" if mode == "linear" else "asymmetric"}
                if mode == "nearest":
                    extra["nearest_mode"] = "floor"
                add(f"resize_{mode}_32x{c}x{h}x{w}_176x200", [("x", t, [32, c, h, w])],
                    [("Resize", ["x", "", "", "sizes"], ["y"], {"mode": mode, **extra})],
                    (lambda x: F.interpolate(x, (176, 200), mode="bilinear")) if mode == "linear" else
                    (lambda x: F.interpolate(x, (176, 200), mode="nearest")),
                    constants={"sizes": np.array([32, c, 176, 200], np.int64)})
        add("gridsample_16x32x128x128", [("x", t, [16, 32, 128, 128]), ("g", t, [16, 128, 128, 2])],
            [("GridSample", ["x", "g"], ["y"], {"mode": "linear", "align_corners": 0})],
            lambda x, g: F.grid_sample(x, g, align_corners=False))
        add("maxpool3_32x64x112x112", [("x", t, [32, 64, 112, 112])],
            [("MaxPool", ["x"], ["y"], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})],
            lambda x: F.max_pool2d(x, 3, 2, 1))
        add("depthwise3_32x128x56x56", [("x", t, [32, 128, 56, 56]), ("w", t, [128, 1, 3, 3])],
            [("Conv", ["x", "w"], ["y"], {"group": 128, "pads": [1, 1, 1, 1]})],
            lambda x, w: F.conv2d(x, w, padding=1, groups=128))
        add("cumsum_4096x8192", [("x", t, [4096, 8192])], [("CumSum", ["x", "axis"], ["y"], {})],
            lambda x: x.cumsum(1), constants={"axis": np.array(1, np.int64)})
        add("gathernd_1x128x128x224_600x3", [("x", t, [1, 128, 128, 224]), ("i", "i64", [1, 1600, 3], 1)],
            [("GatherND", ["x", "i"], ["y"], {"batch_dims": 0})], lambda x, i: x[i[..., 0], i[..., 1], i[..., 2]])
        add("gathernd_1x158x128x128_1x2", [("x", t, [1, 158, 128, 128]), ("i", "i64", [1, 2], 1)],
            [("GatherND", ["x", "i"], ["y"], {"batch_dims": 0})], lambda x, i: x[i[..., 0], i[..., 1]])
        for reduction in ("none", "add"):
            add(f"scatternd_{reduction}_32x128x128x256_600", [("x", t, [32, 128, 128, 256]), ("i", "i64", [32, 600, 3], 32),
                                                           ("u", t, [32, 600, 256])],
                [("ScatterND", ["x", "i", "u"], ["y"], {"reduction": reduction})],
                lambda x, i, u, add=reduction == "add": x.index_put((i[..., 0], i[..., 1], i[..., 2]), u, accumulate=add))
        add("onehot_16_16384", [("i", "i64", [16], 16384)], [("OneHot", ["i", "depth", "values"], ["y"], {})],
            lambda i, dt=dt: F.one_hot(i, 16384).to(dt), constants={"depth": np.array(16384, np.int64),
                                                                "values": np.array([0, 1], npt)})
        add("concat_slice_pad_32x64x112x112", [("x", t, [32, 64, 112, 112]), ("z", t, [32, 64, 112, 112])],
            [("Concat", ["x", "z"], ["c"], {"axis": 1}), ("Pad", ["c", "pads"], ["y"], {})],
            lambda x, z: F.pad(torch.cat([x, z], 1), (1, 1, 1, 1)),
            constants={"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)})
        add("dynamic_quantize_8192x4096", [("x", "f32", [8192, 4096])],
            [("DynamicQuantizeLinear", ["x"], ["y", "s", "z"], {})], None) if t == "f32" else None
        add("quantize_dequantize_8192x4096", [("x", t, [8192, 4096])],
            [("QuantizeLinear", ["x", "s", "z"], ["q"], {}), ("DequantizeLinear", ["q", "s", "z"], ["y"], {})],
            lambda x, dt=dt: (torch.clamp(torch.round(x.float() / 0.05), -128, 127) * 0.05).to(dt),
            constants={"s": np.array(0.05, npt), "z": np.array(0, np.int8)})
        add("topk50_1024x50000", [("x", t, [1024, 50000])], [("TopK", ["x", "k"], ["y", "j"], {})],
            lambda x: torch.topk(x, 50), constants={"k": np.array([50], np.int64)})
        for m, k, n in ((1024, 1024, 1024), (4096, 4096, 4096), (8192, 1024, 4096)):
            add(f"matmul_{m}x{k}x{n}", [("x", t, [m, k]), ("w", t, [k, n])], [("MatMul", ["x", "w"], ["y"], {})],
                torch.matmul, contraction=True)
        add("matmul_64x128x128x128", [("x", t, [64, 128, 128]), ("w", t, [64, 128, 128])], [("MatMul", ["x", "w"], ["y"], {})],
            torch.matmul, contraction=True)
        add("conv3x3_32x64x56x56", [("x", t, [32, 64, 56, 56]), ("w", t, [64, 64, 3, 3])],
            [("Conv", ["x", "w"], ["y"], {"pads": [1, 1, 1, 1]})], lambda x, w: F.conv2d(x, w, padding=1), contraction=True)
        add("conv3x3_8x256x28x28", [("x", t, [8, 256, 28, 28]), ("w", t, [256, 256, 3, 3])],
            [("Conv", ["x", "w"], ["y"], {"pads": [1, 1, 1, 1]})], lambda x, w: F.conv2d(x, w, padding=1), contraction=True)
    return out
