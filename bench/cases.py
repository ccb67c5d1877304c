"""The benchmark cases, with shapes that users measure: transformers' rows, vision's images, and the shapes of TPAT's
published table. deployed.py has cases that users have because TensorRT refuses them."""
import numpy as np

from case import NUMPY_TYPE, Case, F, scalars, torch
from deployed import deployed


def cases():
    """All cases in f32 and f16, then cases in other types."""
    out = []
    for t in ("f32", "f16"):
        def add(name, inputs, nodes, fn, t=t, **more):
            out.append(Case(f"{name} {t}", inputs, nodes, fn, **more))
        rows(add, t)
        moves(add, t)
        windows(add, t)
        chains(add, t)
        irregular(add, t)
        contractions(add, t)
        deployed(add, t)
    integers(lambda name, *given, **more: out.append(Case(name, *given, **more)))
    transforms(lambda name, *given, **more: out.append(Case(name + " f32", *given, **more)))
    return out


def rows(add, t):
    """Maps, norms, softmax and reductions."""
    add("bias_gelu_8192x3072", [("x", t, [8192, 3072]), ("b", t, [3072])],
        [("Add", ["x", "b"], ["s"], {}), ("Gelu", ["s"], ["y"], {})], lambda x, b: F.gelu(x + b))
    add("gelu_spelled_8192x3072", [("x", t, [8192, 3072])],
        [("Div", ["x", "root"], ["d"], {}), ("Erf", ["d"], ["e"], {}), ("Add", ["e", "one"], ["a"], {}),
         ("Mul", ["x", "a"], ["m"], {}), ("Mul", ["m", "half"], ["y"], {})],
        lambda x: 0.5 * (x * (1 + torch.erf(x / 2 ** 0.5))), constants=scalars(t, half=0.5, one=1.0, root=2 ** 0.5))
    add("silu_mul_8192x4096", [("x", t, [8192, 4096]), ("g", t, [8192, 4096])],
        [("Sigmoid", ["x"], ["s"], {}), ("Mul", ["x", "s"], ["m"], {}), ("Mul", ["m", "g"], ["y"], {})],
        lambda x, g: F.silu(x) * g)
    for n, m in ((16384, 768), (8192, 4096), (128, 65536)):
        add(f"layernorm_{n}x{m}", [("x", t, [n, m]), ("w", t, [m]), ("b", t, [m])],
            [("LayerNormalization", ["x", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
            lambda x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5))
        add(f"softmax_{n}x{m}", [("x", t, [n, m])], [("Softmax", ["x"], ["y"], {"axis": -1})], lambda x: F.softmax(x, -1))
    for n, m in ((16384, 768), (8192, 4096)):
        add(f"rmsnorm_{n}x{m}", [("x", t, [n, m]), ("w", t, [m])],
            [("Mul", ["x", "x"], ["q"], {}), ("ReduceMean", ["q", "last"], ["m"], {}), ("Add", ["m", "eps"], ["a"], {}),
             ("Sqrt", ["a"], ["r"], {}), ("Div", ["x", "r"], ["d"], {}), ("Mul", ["d", "w"], ["y"], {})],
            lambda x, w: F.rms_norm(x, w.shape, w, 1e-5), constants=scalars(t, eps=1e-5, last=[-1]))
        add(f"add_layernorm_{n}x{m}", [("x", t, [n, m]), ("z", t, [n, m]), ("w", t, [m]), ("b", t, [m])],
            [("Add", ["x", "z"], ["s"], {}), ("LayerNormalization", ["s", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
            lambda x, z, w, b: F.layer_norm(x + z, w.shape, w, b, 1e-5))
    add("instancenorm_16x64x128x128", [("x", t, [16, 64, 128, 128]), ("w", t, [64]), ("b", t, [64])],
        [("InstanceNormalization", ["x", "w", "b"], ["y"], {"epsilon": 1e-5})],
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-5))
    add("groupnorm32_16x256x64x64", [("x", t, [16, 256, 64, 64]), ("w", t, [256]), ("b", t, [256])],
        [("GroupNormalization", ["x", "w", "b"], ["y"], {"epsilon": 1e-5, "num_groups": 32})],
        lambda x, w, b: F.group_norm(x, 32, w, b, 1e-5))
    add("reducesum_rows_8192", [("x", t, [8192, 8192])], [("ReduceSum", ["x", "axis"], ["y"], {})],
        lambda x: x.sum(-1, keepdim=True), constants=scalars(t, axis=[1]))
    add("reducesum_columns_8192", [("x", t, [8192, 8192])], [("ReduceSum", ["x", "axis"], ["y"], {})],
        lambda x: x.sum(0, keepdim=True), constants=scalars(t, axis=[0]))
    add("reducemax_256x82x128_axis1", [("x", t, [256, 82, 128])], [("ReduceMax", ["x", "axis"], ["y"], {"keepdims": 0})],
        lambda x: x.amax(1), constants=scalars(t, axis=[1]))
    add("argmax_8192x8192", [("x", t, [8192, 8192])], [("ArgMax", ["x"], ["y"], {"axis": 1, "keepdims": 0})],
        lambda x: x.argmax(1))
    add("globalaveragepool_32x512x28x28", [("x", t, [32, 512, 28, 28])], [("GlobalAveragePool", ["x"], ["y"], {})],
        lambda x: x.mean((2, 3), keepdim=True))
    add("logsoftmax_8192x4096", [("x", t, [8192, 4096])], [("LogSoftmax", ["x"], ["y"], {"axis": -1})],
        lambda x: F.log_softmax(x, -1))
    add("lpnorm_16384x768", [("x", t, [16384, 768])], [("LpNormalization", ["x"], ["y"], {"axis": -1, "p": 2})],
        lambda x: F.normalize(x, dim=-1))
    add("cumsum_4096x8192", [("x", t, [4096, 8192])], [("CumSum", ["x", "axis"], ["y"], {})],
        lambda x: x.cumsum(1), constants={"axis": np.array(1, np.int64)})


def moves(add, t):
    """No arithmetic: transpositions, concatenations, padding."""
    add("transpose_0213_32x512x16x64", [("x", t, [32, 512, 16, 64])], [("Transpose", ["x"], ["y"], {"perm": [0, 2, 1, 3]})],
        lambda x: x.transpose(1, 2).contiguous())
    add("transpose2d_8192", [("x", t, [8192, 8192])], [("Transpose", ["x"], ["y"], {"perm": [1, 0]})],
        lambda x: x.t().contiguous())
    add("nchw_to_nhwc_32x64x112x112", [("x", t, [32, 64, 112, 112])],
        [("Transpose", ["x"], ["y"], {"perm": [0, 2, 3, 1]})], lambda x: x.permute(0, 2, 3, 1).contiguous())
    add("concat_slice_pad_32x64x112x112", [("x", t, [32, 64, 112, 112]), ("z", t, [32, 64, 112, 112])],
        [("Concat", ["x", "z"], ["c"], {"axis": 1}), ("Pad", ["c", "pads"], ["y"], {})],
        lambda x, z: F.pad(torch.cat([x, z], 1), (1, 1, 1, 1)), constants=scalars(t, pads=[0, 0, 1, 1, 0, 0, 1, 1]))
    add("pad_reflect_16x32x256x256", [("x", t, [16, 32, 256, 256])], [("Pad", ["x", "pads"], ["y"], {"mode": "reflect"})],
        lambda x: F.pad(x, (4, 4, 4, 4), mode="reflect"), constants=scalars(t, pads=[0, 0, 4, 4, 0, 0, 4, 4]))
    add("depth_to_space_16x128x128x128", [("x", t, [16, 128, 128, 128])],
        [("DepthToSpace", ["x"], ["y"], {"blocksize": 2, "mode": "CRD"})], lambda x: F.pixel_shuffle(x, 2))
    quarter = {f"{k}{i}": np.array(v, np.int64) for i, (h, w) in enumerate(((0, 0), (1, 0), (0, 1), (1, 1)))
               for k, v in (("from", [h, w]), ("to", [640, 640]))}
    add("focus_16x3x640x640", [("x", t, [16, 3, 640, 640])],
        [("Slice", ["x", f"from{i}", f"to{i}", "axes", "steps"], [f"q{i}"], {}) for i in range(4)] +
        [("Concat", [f"q{i}" for i in range(4)], ["y"], {"axis": 1})],
        lambda x: torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1),
        constants={**quarter, **scalars(t, axes=[2, 3], steps=[2, 2])})
    add("expand_tile_64x1x512_256", [("x", t, [64, 1, 512]), ("z", t, [64, 256, 512])], [("Add", ["x", "z"], ["y"], {})],
        lambda x, z: x + z)


def windows(add, t):
    """Resampling, pooling, depthwise convolution."""
    for c, h, w in ((32, 44, 50), (64, 11, 12)):
        sizes = scalars(t, sizes=[32, c, 176, 200])
        add(f"resize_linear_32x{c}x{h}x{w}_176x200", [("x", t, [32, c, h, w])],
            [("Resize", ["x", "", "", "sizes"], ["y"],
              {"mode": "linear", "coordinate_transformation_mode": "half_pixel"})],
            lambda x: F.interpolate(x, (176, 200), mode="bilinear"), constants=sizes)
        add(f"resize_nearest_32x{c}x{h}x{w}_176x200", [("x", t, [32, c, h, w])],
            [("Resize", ["x", "", "", "sizes"], ["y"],
              {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"})],
            lambda x: F.interpolate(x, (176, 200), mode="nearest"), constants=sizes)
    add("gridsample_16x32x128x128", [("x", t, [16, 32, 128, 128]), ("g", t, [16, 128, 128, 2])],
        [("GridSample", ["x", "g"], ["y"], {"mode": "linear", "align_corners": 0})],
        lambda x, g: F.grid_sample(x, g, align_corners=False))
    add("maxpool3_32x64x112x112", [("x", t, [32, 64, 112, 112])],
        [("MaxPool", ["x"], ["y"], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})],
        lambda x: F.max_pool2d(x, 3, 2, 1))
    add("averagepool2_32x64x112x112", [("x", t, [32, 64, 112, 112])],
        [("AveragePool", ["x"], ["y"], {"kernel_shape": [2, 2], "strides": [2, 2]})], lambda x: F.avg_pool2d(x, 2))
    add("depthwise3_32x128x56x56", [("x", t, [32, 128, 56, 56]), ("w", t, [128, 1, 3, 3])],
        [("Conv", ["x", "w"], ["y"], {"group": 128, "pads": [1, 1, 1, 1]})],
        lambda x, w: F.conv2d(x, w, padding=1, groups=128))


def chains(add, t):
    """Chains between a model's products: several nodes, one kernel."""
    add("batchnorm_relu_add_32x64x112x112", [("x", t, [32, 64, 112, 112]), ("z", t, [32, 64, 112, 112]), ("w", t, [64]),
                                             ("b", t, [64]), ("m", t, [64]), ("v", t, [64], "sparse")],
        [("BatchNormalization", ["x", "w", "b", "m", "v"], ["n"], {"epsilon": 1e-3}), ("Add", ["n", "z"], ["s"], {}),
         ("Relu", ["s"], ["y"], {})],
        lambda x, z, w, b, m, v: F.relu(F.batch_norm(x, m, v, w, b, eps=1e-3) + z))
    add("hardswish_32x64x112x112", [("x", t, [32, 64, 112, 112])], [("HardSwish", ["x"], ["y"], {})],
        lambda x: F.hardswish(x))
    add("mish_8192x4096", [("x", t, [8192, 4096])],
        [("Softplus", ["x"], ["p"], {}), ("Tanh", ["p"], ["h"], {}), ("Mul", ["x", "h"], ["y"], {})], lambda x: F.mish(x))
    add("masked_softmax_32x12x384x384", [("x", t, [32, 12, 384, 384]), ("k", t, [32, 1, 1, 384])],
        [("Mul", ["x", "scale"], ["s"], {}), ("Add", ["s", "k"], ["a"], {}), ("Softmax", ["a"], ["y"], {"axis": -1})],
        lambda x, k: F.softmax(x * 0.125 + k, -1), constants=scalars(t, scale=0.125))
    add("causal_softmax_16x16x512x512", [("x", t, [16, 16, 512, 512])],
        [("Where", ["mask", "x", "low"], ["a"], {}), ("Softmax", ["a"], ["y"], {"axis": -1})],
        lambda x: F.softmax(torch.where(torch.ones(512, 512, dtype=torch.bool, device=x.device).tril(), x, -60000.0), -1),
        constants={"mask": np.tril(np.ones((512, 512), bool)), **scalars(t, low=-60000.0)})
    add("rope_8x32x2048x128", [("x", t, [8, 32, 2048, 128]), ("c", t, [2048, 128]), ("s", t, [2048, 128])],
        [("Split", ["x"], ["l", "r"], {"axis": -1, "num_outputs": 2}), ("Neg", ["r"], ["n"], {}),
         ("Concat", ["n", "l"], ["h"], {"axis": -1}), ("Mul", ["x", "c"], ["a"], {}), ("Mul", ["h", "s"], ["d"], {}),
         ("Add", ["a", "d"], ["y"], {})],
        lambda x, c, s: x * c + torch.cat([-x[..., 64:], x[..., :64]], -1) * s)
    add("add_rmsnorm_mul_8192x4096", [("x", t, [8192, 4096]), ("z", t, [8192, 4096]), ("w", t, [4096])],
        [("Add", ["x", "z"], ["s"], {}), ("RMSNormalization", ["s", "w"], ["y"], {"axis": -1, "epsilon": 1e-5})],
        lambda x, z, w: F.rms_norm(x + z, w.shape, w, 1e-5))
    add("layernorm_gelu_16384x1024", [("x", t, [16384, 1024]), ("w", t, [1024]), ("b", t, [1024])],
        [("LayerNormalization", ["x", "w", "b"], ["n"], {"axis": -1, "epsilon": 1e-5}), ("Gelu", ["n"], ["y"], {})],
        lambda x, w, b: F.gelu(F.layer_norm(x, w.shape, w, b, 1e-5)))
    add("instancenorm_relu_16x64x128x128", [("x", t, [16, 64, 128, 128]), ("w", t, [64]), ("b", t, [64])],
        [("InstanceNormalization", ["x", "w", "b"], ["n"], {"epsilon": 1e-5}), ("Relu", ["n"], ["y"], {})],
        lambda x, w, b: F.relu(F.instance_norm(x, weight=w, bias=b, eps=1e-5)))
    add("add_transpose_32x512x16x64", [("x", t, [32, 512, 1024]), ("b", t, [1024])],
        [("Add", ["x", "b"], ["s"], {}), ("Reshape", ["s", "shape"], ["r"], {}),
         ("Transpose", ["r"], ["y"], {"perm": [0, 2, 1, 3]})],
        lambda x, b: (x + b).view(32, 512, 16, 64).transpose(1, 2).contiguous(),
        constants=scalars(t, shape=[32, 512, 16, 64]))
    add("upsample_concat_16x64x64x64", [("x", t, [16, 64, 64, 64]), ("z", t, [16, 64, 128, 128])],
        [("Resize", ["x", "", "scales"], ["u"],
          {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
         ("Concat", ["u", "z"], ["y"], {"axis": 1})],
        lambda x, z: torch.cat([F.interpolate(x, scale_factor=2, mode="nearest"), z], 1),
        constants={"scales": np.array([1, 1, 2, 2], np.float32)})
    add("quantize_dequantize_8192x4096", [("x", t, [8192, 4096])],
        [("QuantizeLinear", ["x", "s", "z"], ["q"], {}), ("DequantizeLinear", ["q", "s", "z"], ["y"], {})],
        lambda x: (torch.clamp(torch.round(x / 0.0625), -128, 127) * 0.0625).to(x.dtype),
        constants={**scalars(t, s=0.0625), "z": np.array(0, np.int8)})
    add("layernorm_quantize_16384x768", [("x", t, [16384, 768]), ("w", t, [768]), ("b", t, [768])],
        [("LayerNormalization", ["x", "w", "b"], ["n"], {"axis": -1, "epsilon": 1e-5}),
         ("QuantizeLinear", ["n", "s", "z"], ["y"], {})],
        lambda x, w, b: torch.clamp(torch.round(F.layer_norm(x, w.shape, w, b, 1e-5) / 0.0625), -128, 127).to(torch.int8),
        constants={**scalars(t, s=0.0625), "z": np.array(0, np.int8)})
    add("dequantize_add_relu_32x256x56x56", [("x", "i8", [32, 256, 56, 56]), ("z", t, [32, 256, 56, 56]), ("s", t, [256])],
        [("DequantizeLinear", ["x", "s"], ["d"], {"axis": 1}), ("Add", ["d", "z"], ["a"], {}), ("Relu", ["a"], ["y"], {})],
        lambda x, z, s: F.relu(x.to(z.dtype) * s[:, None, None] + z))


def irregular(add, t):
    """Gathers, scatters, sorts and selections."""
    dt = {"f32": "float32", "f16": "float16"}[t]  # in PyTorch
    add("gathernd_1x128x128x224_1600x3", [("x", t, [1, 128, 128, 224]), ("i", "i64", [1, 1600, 3], (1, 128, 128))],
        [("GatherND", ["x", "i"], ["y"], {"batch_dims": 0})], lambda x, i: x[i[..., 0], i[..., 1], i[..., 2]])
    add("gathernd_1x158x128x128_1x2", [("x", t, [1, 158, 128, 128]), ("i", "i64", [1, 1, 2], (1, 158))],
        [("GatherND", ["x", "i"], ["y"], {"batch_dims": 0})], lambda x, i: x[i[..., 0], i[..., 1]])
    for reduction in ("none", "add"):
        add(f"scatternd_{reduction}_32x128x128x256_600",
            [("x", t, [32, 128, 128, 256]), ("i", "i64", [32, 600, 3], (32, 128, 128)), ("u", t, [32, 600, 256])],
            [("ScatterND", ["x", "i", "u"], ["y"], {"reduction": reduction})],
            lambda x, i, u, add=reduction == "add": x.index_put((i[..., 0], i[..., 1], i[..., 2]), u, accumulate=add))
    add("onehot_16_16384", [("i", "i64", [16], 16384)], [("OneHot", ["i", "depth", "values"], ["y"], {})],
        lambda i: F.one_hot(i, 16384).to(getattr(torch, dt)), constants={"depth": np.array(16384, np.int64),
                                                       "values": np.array([0, 1], NUMPY_TYPE[t])})
    add("gather_rows_32768x768_16384", [("x", t, [32768, 768]), ("i", "i64", [16384], 32768)],
        [("Gather", ["x", "i"], ["y"], {"axis": 0})], lambda x, i: x[i])
    add("embedding_layernorm_32768x768_16384", [("x", t, [32768, 768]), ("i", "i64", [16384], 32768), ("w", t, [768]),
                                                ("b", t, [768])],
        [("Gather", ["x", "i"], ["g"], {"axis": 0}),
         ("LayerNormalization", ["g", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
        lambda x, i, w, b: F.layer_norm(x[i], w.shape, w, b, 1e-5))
    add("gather_elements_4096x4096", [("x", t, [4096, 4096]), ("i", "i64", [4096, 4096], 4096)],
        [("GatherElements", ["x", "i"], ["y"], {"axis": 1})], lambda x, i: torch.gather(x, 1, i))
    add("where_4096x8192", [("c", "bool", [4096, 8192], "mask"), ("x", t, [4096, 8192]), ("z", t, [8192])],
        [("Where", ["c", "x", "z"], ["y"], {})], lambda c, x, z: torch.where(c, x, z))
    add("topk50_1024x50000", [("x", t, [1024, 50000])], [("TopK", ["x", "k"], ["y", "j"], {})],
        lambda x: torch.topk(x, 50), outputs=("y",), constants=scalars(t, k=[50]))
    if t == "f32":
        add("sort_1048576", [("x", t, [1 << 20])], [("TopK", ["x", "k"], ["y", "j"], {})],
            lambda x: torch.sort(x, descending=True), outputs=("y",), constants=scalars(t, k=[1 << 20]))
        add("nonzero_4096x4096", [("x", t, [4096, 4096], "sparse")], [("NonZero", ["x"], ["y"], {})],
            lambda x: torch.nonzero_static(x, size=1 << 23), reference=lambda x: torch.nonzero(x).t())


def contractions(add, t):
    """Products, convolutions and attention."""
    for m, k, n in ((1024, 1024, 1024), (4096, 4096, 4096), (8192, 1024, 4096)):
        add(f"matmul_{m}x{k}x{n}", [("x", t, [m, k]), ("w", t, [k, n])], [("MatMul", ["x", "w"], ["y"], {})],
            lambda x, w: torch.matmul(x, w), contraction=True)
    add("matmul_64x128x128x128", [("x", t, [64, 128, 128]), ("w", t, [64, 128, 128])], [("MatMul", ["x", "w"], ["y"], {})],
        lambda x, w: torch.matmul(x, w), contraction=True)
    add("gemm_bias_gelu_8192x768x3072", [("x", t, [8192, 768]), ("w", t, [3072, 768]), ("b", t, [3072])],
        [("Gemm", ["x", "w", "b"], ["g"], {"transB": 1}), ("Gelu", ["g"], ["y"], {})],
        lambda x, w, b: F.gelu(F.linear(x, w, b)), contraction=True)
    for n, c, h in ((32, 64, 56), (8, 256, 28)):
        add(f"conv3x3_{n}x{c}x{h}x{h}", [("x", t, [n, c, h, h]), ("w", t, [c, c, 3, 3])],
            [("Conv", ["x", "w"], ["y"], {"pads": [1, 1, 1, 1]})], lambda x, w: F.conv2d(x, w, padding=1), contraction=True)
    add("conv5x5s2_8x64x112x112", [("x", t, [8, 64, 112, 112]), ("w", t, [64, 64, 5, 5])],
        [("Conv", ["x", "w"], ["y"], {"pads": [2] * 4, "strides": [2, 2]})],
        lambda x, w: F.conv2d(x, w, padding=2, stride=2), contraction=True)
    add("conv3x3_groups4_8x256x28x28", [("x", t, [8, 256, 28, 28]), ("w", t, [256, 64, 3, 3])],
        [("Conv", ["x", "w"], ["y"], {"pads": [1] * 4, "group": 4})],
        lambda x, w: F.conv2d(x, w, padding=1, groups=4), contraction=True)
    for k, extra in ((3, 1), (4, 0)):
        add(f"conv_transpose{k}x{k}s2_8x128x32x32", [("x", t, [8, 128, 32, 32]), ("w", t, [128, 64, k, k])],
            [("ConvTranspose", ["x", "w"], ["y"], {"pads": [1] * 4, "strides": [2, 2], "output_padding": [extra] * 2})],
            lambda x, w, extra=extra: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=extra), contraction=True)
    if t == "f32":
        return
    for causal in (0, 1):
        add(f"attention_{'causal_' if causal else ''}8x16x2048x64", [(k, t, [8, 16, 2048, 64]) for k in "qkv"],
            [("Attention", ["q", "k", "v"], ["y"], {"is_causal": causal})],
            lambda q, k, v, causal=causal == 1: F.scaled_dot_product_attention(q, k, v, is_causal=causal), contraction=True)
    add("attention_spelled_32x12x384x64", [(k, t, [32, 12, 384, 64]) for k in "qkv"] + [("m", t, [32, 1, 1, 384])],
        [("Transpose", ["k"], ["kt"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["q", "kt"], ["p"], {}),
         ("Mul", ["p", "scale"], ["s"], {}), ("Add", ["s", "m"], ["a"], {}), ("Softmax", ["a"], ["e"], {"axis": -1}),
         ("MatMul", ["e", "v"], ["y"], {})],
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, scale=0.125), contraction=True,
        constants=scalars(t, scale=0.125))


def integers(add):
    """Quantised operators. PyTorch has no integer convolution, so these are compared with the product of the same size."""

    def dynamic_quantize(x):
        low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
        scale = (high - low) / 255
        zero = torch.clamp(torch.round(-low / scale), 0, 255)
        return torch.clamp(torch.round(x / scale) + zero, 0, 255).to(torch.uint8), scale, zero.to(torch.uint8)

    add("dynamic_quantize_8192x4096 u8", [("x", "f32", [8192, 4096])], [("DynamicQuantizeLinear", ["x"], ["y", "s", "z"], {})],
        dynamic_quantize, outputs=("y", "s", "z"))
    for n in (1024, 4096):
        add(f"matmul_integer_{n} i8", [("x", "i8", [n, n]), ("w", "i8", [n, n])], [("MatMulInteger", ["x", "w"], ["y"], {})],
            lambda x, w: torch._int_mm(x, w), contraction=True)
    product = []

    def as_product(x, w):
        if not product:
            product.extend(torch.randint(-128, 128, shape, device=x.device, dtype=x.dtype)
                           for shape in ((32 * 28 * 28, 256 * 9), (256 * 9, 256)))
        return torch._int_mm(*product)

    add("conv_integer3x3_32x256x28x28 i8", [("x", "i8", [32, 256, 28, 28]), ("w", "i8", [256, 256, 3, 3])],
        [("ConvInteger", ["x", "w"], ["y"], {"pads": [1, 1, 1, 1]})], as_product, contraction=True,
        reference=lambda x, w: torch.nn.functional.conv2d(x.double(), w.double(), padding=1))


def transforms(add):
    """Fourier transforms, compared with cuFFT."""

    def dft(name, shape, axis, fn, **attributes):
        add(name, [("x", "f32", shape)], [("DFT", ["x", "", "axis"], ["y"], attributes)], fn, contraction=True,
            constants={"axis": np.array(axis, np.int64)})

    def complex_dft(n, m):
        dft(f"dft_{n}x{m}", [n, m, 2], 1, lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x))))

    for n, m in ((64, 4096), (8192, 1024), (4096, 400), (32768, 64), (1024, 1000), (64, 1021), (16, 30000), (16, 65536),
                 (1, 1 << 20)):
        complex_dft(n, m)
    for n, m in ((64, 4096), (8192, 1024)):
        dft(f"rfft_{n}x{m}", [n, m, 1], 1, lambda x: torch.view_as_real(torch.fft.rfft(x[..., 0])), onesided=1)
        dft(f"irfft_{n}x{m}", [n, m // 2 + 1, 2], 1,
            lambda x: torch.fft.irfft(torch.view_as_complex(x)).unsqueeze(-1), onesided=1, inverse=1)
    dft("dft_columns_16x512x512", [16, 512, 512, 2], 1,
        lambda x: torch.view_as_real(torch.fft.fft(torch.view_as_complex(x), dim=1).contiguous()))
    for n, m, frame, step in ((1, 16000, 400, 160), (8, 160000, 400, 160), (8, 160000, 512, 128)):
        add(f"stft_{n}x{m}_{frame}_{step}", [("x", "f32", [n, m, 1]), ("w", "f32", [frame])],
            [("STFT", ["x", "step", "w"], ["y"], {})],
            lambda x, w, step=step: torch.view_as_real(torch.fft.rfft(x[..., 0].unfold(1, len(w), step) * w)),
            contraction=True, constants={"step": np.array(step, np.int64)})
