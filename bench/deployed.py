"""Cases of deployed models: operators that TensorRT's parser refuses or supports only partly, the operators between a
quantised model's products, and chains of detectors, segmenters and language models around the work of GPU libraries."""
import numpy as np

from case import F, NUMPY_TYPE, scalars, torch


def refused(add, t):
    """Operators and attributes that TensorRT does not support."""
    add("scatter_elements_add_4096x4096_1024",
        [("x", t, [4096, 4096]), ("i", "i64", [4096, 1024], 4096), ("u", t, [4096, 1024])],
        [("ScatterElements", ["x", "i", "u"], ["y"], {"axis": 1, "reduction": "add"})],
        lambda x, i, u: x.scatter_add(1, i, u))
    add("gridsample3d_2x16x32x64x64", [("x", t, [2, 16, 32, 64, 64]), ("g", t, [2, 32, 64, 64, 3])],
        [("GridSample", ["x", "g"], ["y"], {"mode": "linear", "align_corners": 0})],
        lambda x, g: F.grid_sample(x, g, align_corners=False))
    add("gridsample_cubic_8x32x128x128", [("x", t, [8, 32, 128, 128]), ("g", t, [8, 128, 128, 2])],
        [("GridSample", ["x", "g"], ["y"], {"mode": "cubic", "align_corners": 0})],
        lambda x, g: F.grid_sample(x, g, mode="bicubic", align_corners=False))
    add("affine_grid_sample_16x32x128x128", [("x", t, [16, 32, 128, 128]), ("a", t, [16, 2, 3])],
        [("AffineGrid", ["a", "size"], ["g"], {}), ("GridSample", ["x", "g"], ["y"], {})],
        lambda x, a: F.grid_sample(x, F.affine_grid(a, x.shape, align_corners=False), align_corners=False),
        constants=scalars(t, size=[16, 32, 128, 128]))
    add("unpool2_32x64x112x112", [("x", t, [32, 64, 112, 112])],
        [("MaxPool", ["x"], ["p", "i"], {"kernel_shape": [2, 2], "strides": [2, 2]}),
         ("MaxUnpool", ["p", "i"], ["y"], {"kernel_shape": [2, 2], "strides": [2, 2]})],
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, 2, return_indices=True), 2, 2))
    add("col2im_16x64x64x64_3x3", [("x", t, [16, 576, 4096])],
        [("Col2Im", ["x", "image", "block"], ["y"], {"pads": [1, 1, 1, 1]})],
        lambda x: F.fold(x, (64, 64), (3, 3), padding=1), constants=scalars(t, image=[64, 64], block=[3, 3]))
    add("cross_entropy_8192x32000", [("x", t, [8192, 32000]), ("k", "i64", [8192], 32000)],
        [("SoftmaxCrossEntropyLoss", ["x", "k"], ["y"], {"reduction": "none"})],
        lambda x, k: F.cross_entropy(x, k, reduction="none"))
    add("hardmax_8192x4096", [("x", t, [8192, 4096])], [("Hardmax", ["x"], ["y"], {"axis": -1})],
        lambda x: torch.zeros_like(x).scatter(1, x.argmax(1, True), 1.0))
    for n, m, k in ((4096, 1000, 5), (8, 151936, 50), (32, 100000, 5000), (4096, 1024, 1024)):
        add(f"topk{k}_{n}x{m}", [("x", t, [n, m])], [("TopK", ["x", "k"], ["y", "j"], {})],
            lambda x, k=k: torch.topk(x, k), outputs=("y",), constants=scalars(t, k=[k]))
    add("rotary_embedding_8x32x2048x128", [("x", t, [8, 32, 2048, 128]), ("c", t, [8, 2048, 64]), ("s", t, [8, 2048, 64])],
        [("RotaryEmbedding", ["x", "c", "s"], ["y"], {"interleaved": 1})], rotary)


def rotary(x, c, s):
    a, b, c, s = x[..., ::2], x[..., 1::2], c[:, None], s[:, None]
    return torch.stack([a * c - b * s, a * s + b * c], -1).flatten(-2)


def resampled(add, t):
    """Preprocessing of images, and upsampling."""
    for name, n, before, after, attributes, way in (
            ("cubic", [32, 3], [256, 256], [512, 512], {"mode": "cubic", "cubic_coeff_a": -0.75}, {"mode": "bicubic"}),
            ("antialias", [32, 3], [512, 512], [224, 224], {"mode": "linear", "antialias": 1, "exclude_outside": 1},
             {"mode": "bilinear", "antialias": True}),
            ("trilinear", [2, 32], [16, 64, 64], [32, 128, 128], {"mode": "linear"}, {"mode": "trilinear"})):
        add(f"resize_{name}_{'x'.join(map(str, n + before))}_{'x'.join(map(str, after))}", [("x", t, n + before)],
            [("Resize", ["x", "", "", "sizes"], ["y"], {"coordinate_transformation_mode": "half_pixel", **attributes})],
            lambda x, after=after, way=way: F.interpolate(x, after, **way), constants=scalars(t, sizes=n + after))
    add("preprocess_16x1080x1920x3", [("x", "u8", [16, 1080, 1920, 3]), ("m", t, [3]), ("s", t, [3])],
        [("Cast", ["x"], ["c"], {"to": {"f32": 1, "f16": 10}[t]}), ("Sub", ["c", "m"], ["d"], {}),
         ("Mul", ["d", "s"], ["e"], {}), ("Transpose", ["e"], ["y"], {"perm": [0, 3, 1, 2]})],
        lambda x, m, s: ((x.to(m.dtype) - m) * s).permute(0, 3, 1, 2).contiguous())


def quantised(add, t):
    """8-bit and 4-bit elements between the products."""
    add("unpack_int4_4096x4096", [("x", "u8", [4096, 2048]), ("s", t, [4096, 1])],
        [("BitwiseAnd", ["x", "fifteen"], ["l"], {}), ("BitShift", ["x", "four"], ["h"], {"direction": "RIGHT"}),
         ("Unsqueeze", ["l", "last"], ["lu"], {}), ("Unsqueeze", ["h", "last"], ["hu"], {}),
         ("Concat", ["lu", "hu"], ["c"], {"axis": -1}), ("Reshape", ["c", "shape"], ["r"], {}),
         ("Cast", ["r"], ["f"], {"to": {"f32": 1, "f16": 10}[t]}), ("Sub", ["f", "eight"], ["d"], {}),
         ("Mul", ["d", "s"], ["y"], {})],
        lambda x, s: (torch.stack([x & 15, x >> 4], -1).view(4096, 4096).to(s.dtype) - 8) * s,
        constants={"fifteen": np.array(15, np.uint8), "four": np.array(4, np.uint8),
                   **scalars(t, last=[-1], shape=[4096, 4096], eight=8.0)})
    add("dequantize_blocks_4096x4096_128", [("x", "i8", [4096, 4096]), ("s", t, [32, 4096])],
        [("DequantizeLinear", ["x", "s"], ["y"], {"axis": 0, "block_size": 128})],
        lambda x, s: (x.view(32, 128, 4096).to(s.dtype) * s[:, None]).view(4096, 4096))
    one_scale = {**scalars(t, sx=0.03125, sz=0.0625, sy=0.125), "zero": np.array(0, np.int8)}
    add("requantized_add_32x256x56x56", [("x", "i8", [32, 256, 56, 56]), ("z", "i8", [32, 256, 56, 56])],
        [("DequantizeLinear", ["x", "sx"], ["a"], {}), ("DequantizeLinear", ["z", "sz"], ["b"], {}),
         ("Add", ["a", "b"], ["c"], {}), ("QuantizeLinear", ["c", "sy", "zero"], ["y"], {})],
        lambda x, z, t=t: torch.clamp(torch.round((x.to(dtype(t)) * 0.03125 + z.to(dtype(t)) * 0.0625) / 0.125),
                                      -128, 127).to(torch.int8), constants=one_scale)
    add("requantized_gelu_8192x3072", [("x", "i8", [8192, 3072])],
        [("DequantizeLinear", ["x", "sx"], ["a"], {}), ("Gelu", ["a"], ["b"], {}),
         ("QuantizeLinear", ["b", "sx", "zero"], ["y"], {})],
        lambda x, t=t: torch.clamp(torch.round(F.gelu(x.to(dtype(t)) * 0.03125) / 0.03125), -128, 127).to(torch.int8),
        constants=one_scale)


def dtype(t):
    return {"f32": torch.float32, "f16": torch.float16}[t]


def of_transformers(add, t):
    """Embeddings, gates, windows and pooling."""
    add("swiglu_8192x11264", [("x", t, [8192, 11264])],
        [("Split", ["x"], ["l", "r"], {"axis": -1, "num_outputs": 2}), ("Sigmoid", ["l"], ["s"], {}),
         ("Mul", ["l", "s"], ["m"], {}), ("Mul", ["m", "r"], ["y"], {})], lambda x: F.silu(x[:, :5632]) * x[:, 5632:])
    add("bert_embeddings_64x512x768",
        [("w", t, [30522, 768]), ("p", t, [512, 768]), ("k", t, [2, 768]), ("i", "i64", [64, 512], 30522),
         ("j", "i64", [64, 512], 2), ("g", t, [768]), ("b", t, [768])],
        [("Gather", ["w", "i"], ["a"], {}), ("Gather", ["k", "j"], ["c"], {}), ("Add", ["a", "c"], ["d"], {}),
         ("Add", ["d", "p"], ["e"], {}), ("LayerNormalization", ["e", "g", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
        lambda w, p, k, i, j, g, b: F.layer_norm(w[i] + k[j] + p, g.shape, g, b, 1e-5))
    add("mean_pooling_64x512x768", [("x", t, [64, 512, 768]), ("m", "i64", [64, 512], 2)],
        [("Cast", ["m"], ["f"], {"to": {"f32": 1, "f16": 10}[t]}), ("Unsqueeze", ["f", "last"], ["u"], {}),
         ("Mul", ["x", "u"], ["w"], {}), ("ReduceSum", ["w", "one"], ["s"], {"keepdims": 0}),
         ("ReduceSum", ["u", "one"], ["n"], {"keepdims": 0}), ("Div", ["s", "n"], ["y"], {})],
        lambda x, m: (x * m[..., None].to(x.dtype)).sum(1) / m[..., None].to(x.dtype).sum(1),
        constants=scalars(t, last=[-1], one=[1]))
    rolled = [("Slice", ["x", "three", "end", "rows"], ["r0"], {}), ("Slice", ["x", "none", "three", "rows"], ["r1"], {}),
              ("Concat", ["r0", "r1"], ["r"], {"axis": 1}), ("Slice", ["r", "three", "end", "columns"], ["c0"], {}),
              ("Slice", ["r", "none", "three", "columns"], ["c1"], {}), ("Concat", ["c0", "c1"], ["c"], {"axis": 2})]
    add("window_partition_64x56x56x96", [("x", t, [64, 56, 56, 96])],
        rolled + [("Reshape", ["c", "cut"], ["w"], {}), ("Transpose", ["w"], ["t"], {"perm": [0, 1, 3, 2, 4, 5]}),
                  ("Reshape", ["t", "windows"], ["y"], {})],
        lambda x: x.roll((-3, -3), (1, 2)).view(64, 8, 7, 8, 7, 96).permute(0, 1, 3, 2, 4, 5).reshape(4096, 49, 96),
        constants=scalars(t, three=[3], none=[0], end=[56], rows=[1], columns=[2], cut=[64, 8, 7, 8, 7, 96],
                          windows=[4096, 49, 96]))
    add("layernorm_200704x96", [("x", t, [200704, 96]), ("w", t, [96]), ("b", t, [96])],
        [("LayerNormalization", ["x", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
        lambda x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5))
    add("add_rmsnorm_8x4096", [("x", t, [8, 4096]), ("z", t, [8, 4096]), ("w", t, [4096])],
        [("Add", ["x", "z"], ["s"], {}), ("RMSNormalization", ["s", "w"], ["y"], {"axis": -1, "epsilon": 1e-5})],
        lambda x, z, w: F.rms_norm(x + z, w.shape, w, 1e-5))


def of_images(add, t):
    """Heads of detectors and segmenters, norms of generators."""
    add("layernorm_channels_32x96x56x56", [("x", t, [32, 96, 56, 56]), ("w", t, [96]), ("b", t, [96])],
        [("Transpose", ["x"], ["l"], {"perm": [0, 2, 3, 1]}),
         ("LayerNormalization", ["l", "w", "b"], ["n"], {"axis": -1, "epsilon": 1e-5}),
         ("Transpose", ["n"], ["y"], {"perm": [0, 3, 1, 2]})],
        lambda x, w, b: F.layer_norm(x.permute(0, 2, 3, 1), w.shape, w, b, 1e-5).permute(0, 3, 1, 2).contiguous())
    add("softmax_channels_8x150x128x128", [("x", t, [8, 150, 128, 128])], [("Softmax", ["x"], ["y"], {"axis": 1})],
        lambda x: F.softmax(x, 1))
    add("argmax_channels_8x19x512x1024", [("x", t, [8, 19, 512, 1024])],
        [("ArgMax", ["x"], ["y"], {"axis": 1, "keepdims": 0})], lambda x: x.argmax(1))
    add("groupnorm_silu_8x320x64x64", [("x", t, [8, 320, 64, 64]), ("w", t, [320]), ("b", t, [320])],
        [("GroupNormalization", ["x", "w", "b"], ["n"], {"epsilon": 1e-5, "num_groups": 32}), ("Sigmoid", ["n"], ["s"], {}),
         ("Mul", ["n", "s"], ["y"], {})], lambda x, w, b: F.silu(F.group_norm(x, 32, w, b, 1e-5)))
    add("instancenorm3d_leaky_2x32x64x128x128", [("x", t, [2, 32, 64, 128, 128]), ("w", t, [32]), ("b", t, [32])],
        [("InstanceNormalization", ["x", "w", "b"], ["n"], {"epsilon": 1e-5}), ("LeakyRelu", ["n"], ["y"], {"alpha": 0.01})],
        lambda x, w, b: F.leaky_relu(F.instance_norm(x, weight=w, bias=b, eps=1e-5), 0.01))
    add("yolo_head_8x255x80x80", [("x", t, [8, 255, 80, 80]), ("g", t, [1, 1, 80, 80, 2]), ("a", t, [1, 3, 1, 1, 2])],
        [("Reshape", ["x", "cut"], ["r"], {}), ("Transpose", ["r"], ["p"], {"perm": [0, 1, 3, 4, 2]}),
         ("Sigmoid", ["p"], ["s"], {}), ("Split", ["s", "parts"], ["c", "d", "rest"], {"axis": -1}),
         ("Mul", ["c", "two"], ["c2"], {}), ("Add", ["c2", "g"], ["c3"], {}), ("Mul", ["c3", "stride"], ["xy"], {}),
         ("Mul", ["d", "two"], ["d2"], {}), ("Mul", ["d2", "d2"], ["d3"], {}), ("Mul", ["d3", "a"], ["wh"], {}),
         ("Concat", ["xy", "wh", "rest"], ["o"], {"axis": -1}), ("Reshape", ["o", "boxes"], ["y"], {})], yolo_head,
        constants=scalars(t, cut=[8, 3, 85, 80, 80], parts=[2, 2, 81], boxes=[8, 19200, 85], two=2.0, stride=8.0))
    add("box_decode_8x76725x4", [("x", t, [8, 76725, 4]), ("a", t, [76725, 4])],
        [("Split", ["x"], ["d", "e"], {"axis": -1, "num_outputs": 2}), ("Split", ["a"], ["c", "w"], {"axis": -1, "num_outputs": 2}),
         ("Mul", ["d", "w"], ["dw"], {}), ("Add", ["dw", "c"], ["p"], {}), ("Exp", ["e"], ["ee"], {}),
         ("Mul", ["ee", "w"], ["ew"], {}), ("Mul", ["ew", "half"], ["h"], {}), ("Sub", ["p", "h"], ["from"], {}),
         ("Add", ["p", "h"], ["to"], {}), ("Concat", ["from", "to"], ["y"], {"axis": -1})], box_decode,
        constants=scalars(t, half=0.5))
    canvas = {"shape": np.array([496 * 432, 64], np.int64), "image": np.array([1, 64, 496, 432], np.int64)}
    add("pillars_64x496x432_12000", [("i", "i64", [12000, 1], (496 * 432,)), ("u", t, [12000, 64])],
        [("ConstantOfShape", ["shape"], ["z"], {"value": zero(t)}), ("ScatterND", ["z", "i", "u"], ["s"], {}),
         ("Transpose", ["s"], ["p"], {"perm": [1, 0]}), ("Reshape", ["p", "image"], ["y"], {})],
        lambda i, u: u.new_zeros(496 * 432, 64).index_put((i[:, 0],), u).t().reshape(1, 64, 496, 432).contiguous(),
        constants=canvas)


def zero(t):
    from onnx import numpy_helper
    return numpy_helper.from_array(np.zeros(1, NUMPY_TYPE[t]))


def yolo_head(x, g, a):
    c, d, rest = x.view(8, 3, 85, 80, 80).permute(0, 1, 3, 4, 2).sigmoid().split([2, 2, 81], -1)
    return torch.cat([(c * 2 + g) * 8, (d * 2) ** 2 * a, rest], -1).view(8, 19200, 85)


def box_decode(x, a):
    p, h = x[..., :2] * a[:, 2:] + a[:, :2], x[..., 2:].exp() * a[:, 2:] * 0.5
    return torch.cat([p - h, p + h], -1)


def deployed(add, t):
    for group in (refused, resampled, quantised, of_transformers, of_images):
        group(add, t)
