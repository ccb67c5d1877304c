"""Chains of models and less common operators at random shapes: what bench/drawn.py draws with a seed such as "chains:7".
Each family is a spelling that exporters write, and the PyTorch function that it came from."""
import numpy as np

from case import F, NUMPY_TYPE, scalars, torch
from draw import ELEMENTS, Families, text

CHAINS = Families()
chain = CHAINS.add
CAST = {"f32": 1, "f16": 10}


def dtype(t):
    return {"f32": torch.float32, "f16": torch.float16}[t]


def at_most(n, per):
    """n, or fewer so that n * per elements are few enough."""
    return max(1, min(n, ELEMENTS // per))


# ---- Transformers.

@chain()
def rotary(d, t):
    h, s, head = d.pick(1, 8, 12, 32), d.size(1, 4096), d.pick(32, 64, 80, 128)
    n, half = at_most(d.size(1, 16), h * s * head), head // 2
    parts = scalars(t, zero=[0], half=[half], end=[head], last=[-1])
    nodes = [("Slice", ["x", "zero", "half", "last"], ["a"], {}), ("Slice", ["x", "half", "end", "last"], ["b"], {}),
             ("Neg", ["b"], ["nb"], {}), ("Concat", ["nb", "a"], ["r"], {"axis": -1}), ("Mul", ["x", "c"], ["p"], {}),
             ("Mul", ["r", "s"], ["q"], {}), ("Add", ["p", "q"], ["y"], {})]
    return (f"rotary_{n}x{h}x{s}x{head}", [("x", t, [n, h, s, head]), ("c", t, [s, head]), ("s", t, [s, head])], nodes,
            lambda x, c, s: x * c + torch.cat([-x[..., half:], x[..., :half]], -1) * s, {"constants": parts})


@chain()
def residual_norm(d, t):
    n, m = d.rows(width=(64, 16384))
    nodes = [("Add", ["x", "z"], ["s"], {}), ("Cast", ["s"], ["f"], {"to": 1}), ("Mul", ["f", "f"], ["q"], {}),
             ("ReduceMean", ["q", "last"], ["v"], {}), ("Add", ["v", "eps"], ["e"], {}), ("Sqrt", ["e"], ["r"], {}),
             ("Div", ["f", "r"], ["o"], {}), ("Cast", ["o"], ["g"], {"to": CAST[t]}), ("Mul", ["g", "w"], ["y"], {})]

    def fn(x, z, w):
        s = x + z
        return F.rms_norm(s.float() if s.dtype == torch.float16 else s, w.shape, None, 1e-6).to(s.dtype) * w, s

    return (f"residual_rmsnorm_{n}x{m}", [("x", t, [n, m]), ("z", t, [n, m]), ("w", t, [m])], nodes, fn,
            {"constants": scalars("f32", last=[-1], eps=1e-6), "outputs": ("y", "s")})


@chain()
def masked_softmax(d, t):
    h, q, k = d.pick(1, 8, 12), d.size(1, 1024), d.size(8, 2048)
    n = at_most(d.size(1, 32), h * q * k)
    nodes = [("Where", ["m", "x", "low"], ["a"], {}), ("Softmax", ["a"], ["y"], {"axis": -1})]
    return (f"where_softmax_{n}x{h}x{q}x{k}", [("x", t, [n, h, q, k]), ("m", "bool", [n, 1, q, k], "mask")], nodes,
            lambda x, m: F.softmax(x.masked_fill(~m, -10000.0), -1), {"constants": scalars(t, low=-10000.0)})


@chain()
def window_attention_softmax(d, t):
    w, h, k = d.size(1, 64), d.pick(3, 4, 6, 12), d.pick(16, 49, 64, 144)
    n = at_most(d.size(1, 64), w * h * k * k)
    nodes = [("Reshape", ["x", "windows"], ["r"], {}), ("Add", ["r", "b"], ["a"], {}), ("Add", ["a", "m"], ["c"], {}),
             ("Softmax", ["c"], ["p"], {"axis": -1}), ("Reshape", ["p", "heads"], ["y"], {})]
    return (f"window_softmax_{n}x{w}x{h}x{k}", [("x", t, [n * w, h, k, k]), ("b", t, [1, h, k, k]), ("m", t, [1, w, 1, k, k])],
            nodes, lambda x, b, m: F.softmax(x.view(n, w, h, k, k) + b + m, -1).view(n * w, h, k, k),
            {"constants": scalars(t, windows=[n, w, h, k, k], heads=[n * w, h, k, k])})


@chain()
def window_partition(d, t):
    w, c = d.pick(4, 7, 8), d.size(16, 384)
    a, b = d.size(2, 16), d.size(2, 16)
    n = at_most(d.size(1, 64), a * b * w * w * c)
    nodes = [("Reshape", ["x", "cut"], ["r"], {}), ("Transpose", ["r"], ["t"], {"perm": [0, 1, 3, 2, 4, 5]}),
             ("Reshape", ["t", "windows"], ["y"], {})]
    return (f"windows_{n}x{a * w}x{b * w}x{c}", [("x", t, [n, a * w, b * w, c])], nodes,
            lambda x: x.view(n, a, w, b, w, c).permute(0, 1, 3, 2, 4, 5).contiguous().view(n * a * b, w * w, c),
            {"constants": scalars(t, cut=[n, a, w, b, w, c], windows=[n * a * b, w * w, c])})


@chain()
def split_heads(d, t):
    s, h, head = d.size(1, 4096), d.pick(1, 6, 12, 16), d.pick(32, 64, 80)
    n = at_most(d.size(1, 32), 3 * s * h * head)
    nodes = [("Reshape", ["x", "cut"], ["r"], {}), ("Transpose", ["r"], ["t"], {"perm": [2, 0, 3, 1, 4]}),
             ("Split", ["t"], ["q", "k", "v"], {"axis": 0, "num_outputs": 3})]
    return (f"split_heads_{n}x{s}x{h}x{head}", [("x", t, [n, s, 3 * h * head])], nodes,
            lambda x: [z.contiguous() for z in x.view(n, s, 3, h, head).permute(2, 0, 3, 1, 4).split(1)],
            {"constants": scalars(t, cut=[n, s, 3, h, head]), "outputs": ("q", "k", "v")})


@chain()
def embeddings(d, t):
    v, m, s = d.size(100, 60000), d.size(32, 2048), d.size(1, 1024)
    v, n = at_most(v, m), at_most(d.size(1, 64), s * m)
    nodes = [("Gather", ["e", "i"], ["a"], {}), ("Add", ["a", "p"], ["b"], {}),
             ("LayerNormalization", ["b", "g", "c"], ["y"], {"axis": -1, "epsilon": 1e-5})]
    return (f"embeddings_{v}x{m}_{n}x{s}", [("e", t, [v, m]), ("i", "i64", [n, s], v), ("p", t, [s, m]), ("g", t, [m]), ("c", t, [m])],
            nodes, lambda e, i, p, g, c: F.layer_norm(e[i] + p, g.shape, g, c, 1e-5))


@chain()
def gated(d, t):
    n, m = d.rows(width=(64, 16384), most=ELEMENTS // 2)
    nodes = [("Sigmoid", ["x"], ["s"], {}), ("Mul", ["x", "s"], ["u"], {}), ("Mul", ["u", "g"], ["y"], {})]
    geglu = [("Split", ["x"], ["a", "b"], {"axis": -1, "num_outputs": 2}), ("Gelu", ["b"], ["g"], {}), ("Mul", ["a", "g"], ["y"], {})]
    return d.pick((f"silu_gate_{n}x{m}", [("x", t, [n, m]), ("g", t, [n, m])], nodes, lambda x, g: F.silu(x) * g),
                  (f"geglu_{n}x{m}", [("x", t, [n, 2 * m])], geglu, lambda x: x[:, :m] * F.gelu(x[:, m:])))


@chain()
def mean_pooling(d, t):
    s, m = d.size(4, 1024), d.size(32, 2048)
    n = at_most(d.size(1, 128), s * m)
    nodes = [("Cast", ["m"], ["f"], {"to": CAST[t]}), ("Unsqueeze", ["f", "last"], ["u"], {}), ("Mul", ["x", "u"], ["w"], {}),
             ("ReduceSum", ["w", "one"], ["s"], {"keepdims": 0}), ("ReduceSum", ["u", "one"], ["c"], {"keepdims": 0}),
             ("Div", ["s", "c"], ["v"], {}), ("LpNormalization", ["v"], ["y"], {"axis": -1, "p": 2})]
    return (f"mean_pooling_{n}x{s}x{m}", [("x", t, [n, s, m]), ("m", "bool", [n, s], "mask")], nodes,
            lambda x, m: F.normalize((x * m[..., None]).sum(1) / m[..., None].to(x.dtype).sum(1), dim=-1),
            {"constants": scalars(t, last=[-1], one=[1])})


@chain()
def routing(d, t):
    e = d.pick(8, 16, 60, 64, 128, 256)
    k, n = d.pick(1, 2, 4, 8), d.size(1, 16384)
    nodes = [("Softmax", ["x"], ["p"], {"axis": -1}), ("TopK", ["p", "k"], ["v", "j"], {}),
             ("ReduceSum", ["v", "last"], ["s"], {}), ("Div", ["v", "s"], ["y"], {})]

    def fn(x):
        v = torch.topk(F.softmax(x, -1), k)[0]
        return v / v.sum(-1, True)

    return f"routing{k}_{n}x{e}", [("x", t, [n, e])], nodes, fn, {"constants": scalars(t, k=[k], last=[-1])}


# ---- Images.

@chain()
def preprocess(d, t):
    h, w = d.size(16, 1080), d.size(16, 1920)
    n = at_most(d.size(1, 16), h * w * 3)
    nodes = [("Cast", ["x"], ["c"], {"to": CAST[t]}), ("Div", ["c", "most"], ["q"], {}), ("Sub", ["q", "m"], ["e"], {}),
             ("Div", ["e", "s"], ["f"], {}), ("Transpose", ["f"], ["y"], {"perm": [0, 3, 1, 2]})]
    return (f"preprocess_{n}x{h}x{w}", [("x", "u8", [n, h, w, 3])], nodes,
            lambda x: ((x.to(dtype(t)) / 255 - 0.45) / 0.225).permute(0, 3, 1, 2).contiguous(),
            {"constants": scalars(t, most=255.0, m=[0.45, 0.45, 0.45], s=[0.225, 0.225, 0.225])
             | {k: np.full(3, v, NUMPY_TYPE[t]) for k, v in (("m", 0.45), ("s", 0.225))},
             "reference": lambda x: ((x.double() / 255 - 0.45) / 0.225).permute(0, 3, 1, 2)})


@chain()
def letterbox(d, t):
    h, w, side = d.size(64, 1080), d.size(64, 1920), d.pick(224, 320, 512, 640)
    n = d.size(1, 8)
    nodes = [("Transpose", ["x"], ["p"], {"perm": [0, 3, 1, 2]}), ("Cast", ["p"], ["c"], {"to": CAST[t]}),
             ("Resize", ["c", "", "", "sizes"], ["r"], {"axes": [2, 3], "mode": "linear",
                                                       "coordinate_transformation_mode": "half_pixel"}),
             ("Mul", ["r", "scale"], ["y"], {})]

    def fn(x, of=None):
        return F.interpolate(x.permute(0, 3, 1, 2).to(of or dtype(t)), (side, side), mode="bilinear") * (1 / 256)

    return (f"letterbox_{n}x{h}x{w}_{side}", [("x", "u8", [n, h, w, 3])], nodes, fn,
            {"constants": scalars(t, sizes=[side, side], scale=1 / 256), "reference": lambda x: fn(x, torch.float64)})


@chain()
def squeeze_excite(d, t):
    n, c, h, w = d.image(channels=(16, 1024), side=(4, 128))
    nodes = [("Mul", ["x", "s"], ["m"], {}), ("Add", ["m", "z"], ["a"], {}), ("HardSwish", ["a"], ["y"], {})]
    return (f"excite_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w]), ("s", t, [n, c, 1, 1]), ("z", t, [n, c, h, w])], nodes,
            lambda x, s, z: F.hardswish(x * s + z))


@chain()
def channels_norm(d, t):
    n, c, h, w = d.image(channels=(16, 1024), side=(4, 128))
    nodes = [("Transpose", ["x"], ["l"], {"perm": [0, 2, 3, 1]}),
             ("LayerNormalization", ["l", "w", "b"], ["n"], {"axis": -1, "epsilon": 1e-6}),
             ("Transpose", ["n"], ["y"], {"perm": [0, 3, 1, 2]})]
    return (f"layernorm_channels_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w]), ("w", t, [c]), ("b", t, [c])], nodes,
            lambda x, w, b: F.layer_norm(x.permute(0, 2, 3, 1), w.shape, w, b, 1e-6).permute(0, 3, 1, 2).contiguous())


@chain()
def pyramid(d, t):
    n, c, h, w = d.image(channels=(8, 256), side=(4, 64), most=1 << 22)
    nodes = [("Resize", ["x", "", "scales"], ["r"], {"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
                                                     "nearest_mode": "floor"}),
             ("Concat", ["r", "z"], ["y"], {"axis": 1})]
    return (f"upsample_concat_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w]), ("z", t, [n, c, 2 * h, 2 * w])], nodes,
            lambda x, z: torch.cat([F.interpolate(x, scale_factor=2), z], 1),
            {"constants": {"scales": np.array([1, 1, 2, 2], np.float32)}})


@chain()
def shuffle(d, t):
    n, c, h, w = d.image(channels=(1, 64), side=(7, 256), most=1 << 22)
    k = d.pick(2, 3, 4)
    groups = d.pick(2, 3, 4)
    return d.pick(
        (f"pixel_shuffle{k}_{n}x{c}x{h}x{w}", [("x", t, [n, c * k * k, h, w])],
         [("DepthToSpace", ["x"], ["s"], {"blocksize": k, "mode": "CRD"}), ("Clip", ["s", "zero", "one"], ["y"], {})],
         lambda x: F.pixel_shuffle(x, k).clamp(0, 1), {"constants": scalars(t, zero=0.0, one=1.0)}),
        (f"space_to_depth{k}_{n}x{c}x{h}x{w}", [("x", t, [n, c, h * k, w * k])], [("SpaceToDepth", ["x"], ["y"], {"blocksize": k})],
         lambda x: x.view(n, c, h, k, w, k).permute(0, 3, 5, 1, 2, 4).reshape(n, c * k * k, h, w)),
        (f"channel_shuffle{groups}_{n}x{c}x{h}x{w}", [("x", t, [n, c * groups, h, w])],
         [("Reshape", ["x", "cut"], ["r"], {}), ("Transpose", ["r"], ["t"], {"perm": [0, 2, 1, 3, 4]}),
          ("Reshape", ["t", "image"], ["y"], {})],
         lambda x: x.view(n, groups, c, h, w).transpose(1, 2).reshape(n, c * groups, h, w),
         {"constants": scalars(t, cut=[n, groups, c, h, w], image=[n, c * groups, h, w])}))


@chain()
def detector_head(d, t):
    a, c, h, w = d.pick(1, 3), d.pick(1, 20, 80), d.size(5, 160), d.size(5, 160)
    n = at_most(d.size(1, 32), a * (c + 5) * h * w)
    nodes = [("Reshape", ["x", "cut"], ["r"], {}), ("Transpose", ["r"], ["p"], {"perm": [0, 1, 3, 4, 2]}),
             ("Sigmoid", ["p"], ["s"], {}), ("Split", ["s", "parts"], ["xy", "wh", "rest"], {"axis": -1}),
             ("Add", ["xy", "g"], ["c3"], {}), ("Mul", ["c3", "stride"], ["at"], {}), ("Mul", ["wh", "wh"], ["d3"], {}),
             ("Mul", ["d3", "stride"], ["size"], {}), ("Concat", ["at", "size", "rest"], ["o"], {"axis": -1}),
             ("Reshape", ["o", "boxes"], ["y"], {})]

    def fn(x, g):
        xy, wh, rest = x.view(n, a, c + 5, h, w).permute(0, 1, 3, 4, 2).sigmoid().split([2, 2, c + 1], -1)
        return torch.cat([(xy + g) * 8, wh ** 2 * 8, rest], -1).view(n, a * h * w, c + 5)

    return (f"detector_head_{n}x{a}x{c + 5}x{h}x{w}", [("x", t, [n, a * (c + 5), h, w]), ("g", t, [1, 1, h, w, 2])], nodes, fn,
            {"constants": scalars(t, cut=[n, a, c + 5, h, w], parts=[2, 2, c + 1], boxes=[n, a * h * w, c + 5], stride=8.0)})


@chain()
def scores(d, t):
    n, c, h, w = d.image(channels=(2, 150), side=(8, 512))
    nodes = [("Softmax", ["x"], ["p"], {"axis": 1}), ("ReduceMax", ["p", "one"], ["v"], {"keepdims": 0}),
             ("ArgMax", ["x"], ["j"], {"axis": 1, "keepdims": 0})]
    return (f"segment_scores_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w])], nodes,
            lambda x: (F.softmax(x, 1).amax(1), x.argmax(1)), {"constants": scalars(t, one=[1]), "outputs": ("v", "j")})


@chain()
def boxes_iou(d, t):
    n, m = d.size(1, 4096), d.size(1, 4096)
    n = at_most(n, m * 4)
    nodes = [("Unsqueeze", ["x", "one"], ["a"], {}), ("Split", ["a"], ["a0", "a1"], {"axis": -1, "num_outputs": 2}),
             ("Split", ["z"], ["b0", "b1"], {"axis": -1, "num_outputs": 2}), ("Max", ["a0", "b0"], ["l"], {}),
             ("Min", ["a1", "b1"], ["r"], {}), ("Sub", ["r", "l"], ["s"], {}), ("Relu", ["s"], ["u"], {}),
             ("ReduceProd", ["u", "last"], ["i"], {"keepdims": 0}), ("Sub", ["a1", "a0"], ["da"], {}),
             ("Sub", ["b1", "b0"], ["db"], {}), ("ReduceProd", ["da", "last"], ["sa"], {"keepdims": 0}),
             ("ReduceProd", ["db", "last"], ["sb"], {"keepdims": 0}), ("Add", ["sa", "sb"], ["sum"], {}),
             ("Sub", ["sum", "i"], ["union"], {}), ("Abs", ["union"], ["some"], {}), ("Add", ["some", "eps"], ["more"], {}),
             ("Div", ["i", "more"], ["y"], {})]

    def fn(x, z):
        a = x[:, None]
        i = (torch.minimum(a[..., 2:], z[..., 2:]) - torch.maximum(a[..., :2], z[..., :2])).relu().prod(-1)
        return i / (((a[..., 2:] - a[..., :2]).prod(-1) + (z[..., 2:] - z[..., :2]).prod(-1) - i).abs() + 1)

    return (f"iou_{n}x{m}", [("x", t, [n, 4]), ("z", t, [m, 4])], nodes, fn, {"constants": scalars(t, one=[1], last=[-1], eps=1.0)})


@chain()
def local_response(d, t):
    n, c, h, w = d.image(channels=(8, 512), side=(4, 128))
    size = d.pick(3, 5)
    nodes = [("LRN", ["x"], ["y"], {"size": size, "alpha": 1e-4, "beta": 0.75, "bias": 1.0})]
    return f"lrn{size}_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w])], nodes, lambda x: F.local_response_norm(x, size, 1e-4, 0.75, 1.0)


@chain()
def pooled(d, t):
    n, c, h, w = d.image(channels=(8, 512), side=(8, 128))
    m, l = d.size(8, 512), d.size(16, 8192)
    b = at_most(d.size(1, 32), m * l)
    k = d.pick(3, 5, 8)
    return d.pick(
        (f"spp_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w])],
         [("MaxPool", ["x"], ["p"], {"kernel_shape": [5, 5], "strides": [1, 1], "pads": [2] * 4}), ("Concat", ["x", "p"], ["y"], {"axis": 1})],
         lambda x: torch.cat([x, F.max_pool2d(x, 5, 1, 2)], 1)),
        (f"maxpool1d{k}_{b}x{m}x{l}", [("x", t, [b, m, l])], [("MaxPool", ["x"], ["y"], {"kernel_shape": [k], "strides": [k]})],
         lambda x: F.max_pool1d(x, k, k)),
        (f"averagepool1d{k}_{b}x{m}x{l}", [("x", t, [b, m, l])],
         [("AveragePool", ["x"], ["y"], {"kernel_shape": [k], "strides": [1], "pads": [k // 2, k // 2], "count_include_pad": 1})],
         lambda x: F.avg_pool1d(x, k, 1, k // 2)))


@chain()
def volumes(d, t):
    n, c, a, h, w = 1, d.size(2, 64), d.size(4, 64), d.size(8, 128), d.size(8, 128)
    n = at_most(d.size(1, 4), c * a * h * w * 8)
    c = min(c, max(1, ELEMENTS // (a * h * w * 8)))
    return d.pick(
        (f"resize3d_{n}x{c}x{a}x{h}x{w}", [("x", t, [n, c, a, h, w])],
         [("Resize", ["x", "", "scales"], ["y"], {"mode": "linear", "coordinate_transformation_mode": "half_pixel"})],
         lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), {"constants": {"scales": np.array([1, 1, 2, 2, 2], np.float32)}}),
        (f"maxpool3d_{n}x{c}x{a}x{h}x{w}", [("x", t, [n, c, a, h, w])],
         [("MaxPool", ["x"], ["y"], {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]})], lambda x: F.max_pool3d(x, 2)),
        (f"instancenorm3d_{n}x{c}x{a}x{h}x{w}", [("x", t, [n, c, a, h, w]), ("w", t, [c]), ("b", t, [c])],
         [("InstanceNormalization", ["x", "w", "b"], ["i"], {}), ("LeakyRelu", ["i"], ["y"], {"alpha": 0.01})],
         lambda x, w, b: F.leaky_relu(F.instance_norm(x, weight=w, bias=b), 0.01)))


# ---- Sound, sequences, graphs.

@chain()
def causal_conv(d, t):
    c, l, k = int(d.size(16, 4096)), d.size(8, 4096), d.pick(3, 4, 7, 31)
    n = at_most(d.size(1, 16), c * l)
    nodes = [("Conv", ["x", "w", "b"], ["c"], {"group": c, "pads": [k - 1, 0]}), ("Sigmoid", ["c"], ["s"], {}), ("Mul", ["c", "s"], ["y"], {})]
    return (f"causal_conv{k}_{n}x{c}x{l}", [("x", t, [n, c, l]), ("w", t, [c, 1, k], 0.5), ("b", t, [c])], nodes,
            lambda x, w, b: F.silu(F.conv1d(F.pad(x, (k - 1, 0)), w, b, groups=c)))


@chain()
def glu_channels(d, t):
    c, l = d.size(16, 1024), d.size(8, 4096)
    n = at_most(d.size(1, 32), 2 * c * l)
    nodes = [("Split", ["x"], ["a", "b"], {"axis": 1, "num_outputs": 2}), ("Sigmoid", ["b"], ["s"], {}), ("Mul", ["a", "s"], ["y"], {})]
    return f"glu_{n}x{2 * c}x{l}", [("x", t, [n, 2 * c, l])], nodes, lambda x: F.glu(x, 1)


@chain()
def log_mel(d, t):
    l, f, m = d.size(8, 3000), d.pick(201, 257, 513), d.pick(40, 80, 128)
    n = at_most(d.size(1, 16), l * f * 2)
    nodes = [("ReduceSumSquare", ["x", "last"], ["p"], {"keepdims": 0}), ("MatMul", ["p", "w"], ["m"], {}),
             ("Max", ["m", "least"], ["c"], {}), ("Log", ["c"], ["y"], {})]
    return (f"log_mel_{n}x{l}x{f}_{m}", [("x", t, [n, l, f, 2]), ("w", t, [f, m], "sparse")], nodes,
            lambda x, w: torch.matmul(x.square().sum(-1), w).clamp(min=1e-4).log(), {"constants": scalars(t, last=[-1], least=1e-4)})


@chain()
def message_passing(d, t):
    n, m, k = d.size(16, 20000), d.size(8, 256), d.size(16, 60000)
    n, k = at_most(n, m), at_most(k, m)
    nodes = [("Gather", ["x", "from"], ["g"], {"axis": 0}), ("Mul", ["g", "e"], ["w"], {}),
             ("ScatterND", ["z", "to", "w"], ["s"], {"reduction": "add"}), ("Relu", ["s"], ["y"], {})]
    return (f"messages_{n}x{m}_{k}", [("x", t, [n, m]), ("from", "i64", [k], n), ("e", t, [k, 1]), ("to", "i64", [k, 1], n), ("z", t, [n, m])],
            nodes, lambda x, a, e, b, z: z.index_add(0, b[:, 0], x[a] * e).relu())


@chain()
def gather_nd(d, t):
    b, n, m, k = d.size(1, 64), d.size(8, 4096), d.size(1, 512), d.size(1, 2048)
    n, k = at_most(n, b * m), at_most(k, b * m)
    nodes = [("GatherND", ["x", "i"], ["y"], {"batch_dims": 1})]
    return (f"gathernd_{b}x{n}x{m}_{k}", [("x", t, [b, n, m]), ("i", "i64", [b, k, 1], n)], nodes,
            lambda x, i: torch.gather(x, 1, i.expand(-1, -1, m)))


@chain()
def sums_over_time(d, t):
    n, l, m = d.size(1, 64), d.size(8, 4096), d.size(1, 512)
    n = at_most(n, l * m)
    return (f"cumsum_middle_{n}x{l}x{m}", [("x", t, [n, l, m])], [("CumSum", ["x", "axis"], ["y"], {"exclusive": 1})],
            lambda x: x.cumsum(1) - x, {"constants": {"axis": np.array(1, np.int64)}})


@chain()
def distances(d, t):
    n, m, k = d.size(1, 2048), d.size(1, 2048), d.size(2, 256)
    while n * m * k > 1 << 28:
        n = max(1, n // 2)
    nodes = [("Unsqueeze", ["x", "one"], ["a"], {}), ("Sub", ["a", "z"], ["d"], {}), ("ReduceL2", ["d", "last"], ["y"], {"keepdims": 0})]
    return (f"distances_{n}x{m}x{k}", [("x", t, [n, k]), ("z", t, [m, k])], nodes,
            lambda x, z: torch.cdist(x, z, compute_mode="donot_use_mm_for_euclid_dist") if x.dtype != torch.float16
            else (x[:, None] - z).norm(dim=-1), {"constants": scalars(t, one=[1], last=[-1])})


@chain()
def statistics(d, t):
    n, c, l = d.size(1, 64), d.size(8, 1024), d.size(4, 4096)
    n = at_most(n, c * l)
    nodes = [("ReduceMean", ["x", "last"], ["m"], {}), ("Sub", ["x", "m"], ["c"], {}), ("Mul", ["c", "c"], ["q"], {}),
             ("ReduceMean", ["q", "last"], ["v"], {}), ("Add", ["v", "eps"], ["e"], {}), ("Sqrt", ["e"], ["s"], {}),
             ("Concat", ["m", "s"], ["y"], {"axis": 1})]

    def fn(x):
        m = x.mean(-1, True)
        return torch.cat([m, ((x - m).square().mean(-1, True) + 1e-5).sqrt()], 1)

    return f"mean_deviation_{n}x{c}x{l}", [("x", t, [n, c, l])], nodes, fn, {"constants": scalars(t, last=[-1], eps=1e-5)}


# ---- Integers, bytes and conditions.

@chain()
def thresholds(d, t):
    n, m = d.rows(width=(16, 16384))
    nodes = [("Greater", ["x", "z"], ["a"], {}), ("LessOrEqual", ["x", "one"], ["b"], {}), ("And", ["a", "b"], ["c"], {}),
             ("Where", ["c", "x", "zero"], ["y"], {})]
    return (f"between_{n}x{m}", [("x", t, [n, m]), ("z", t, [n, 1])], nodes,
            lambda x, z: torch.where((x > z) & (x <= 1), x, torch.zeros_like(x)), {"constants": scalars(t, one=1.0, zero=0.0)})


@chain()
def positions(d, t):
    n, m = d.rows(width=(16, 8192), most=1 << 23)
    nodes = [("Div", ["x", "w"], ["a"], {}), ("Mod", ["x", "w"], ["b"], {}), ("Mul", ["b", "h"], ["c"], {}), ("Add", ["a", "c"], ["y"], {})]
    return (f"positions_{n}x{m}", [("x", "i64", [n, m], 1 << 30)], nodes,
            lambda x: torch.div(x, 37, rounding_mode="floor") + x % 37 * 41, {"constants": scalars(t, w=37, h=41)})


@chain()
def requantised(d, t):
    n, c, h, w = d.image(channels=(8, 512), side=(4, 256))
    constants = {**scalars(t, sx=0.03125, sz=0.0625, sy=0.125), "zero": np.array(0, np.int8)}
    nodes = [("DequantizeLinear", ["x", "sx"], ["a"], {}), ("DequantizeLinear", ["z", "sz"], ["b"], {}), ("Add", ["a", "b"], ["c"], {}),
             ("Relu", ["c"], ["r"], {}), ("QuantizeLinear", ["r", "sy", "zero"], ["y"], {})]
    return (f"requantised_add_{n}x{c}x{h}x{w}", [("x", "i8", [n, c, h, w]), ("z", "i8", [n, c, h, w])], nodes,
            lambda x, z: torch.clamp(torch.round((x.to(dtype(t)) * 0.03125 + z.to(dtype(t)) * 0.0625).relu() / 0.125), -128, 127)
            .to(torch.int8), {"constants": constants})


@chain()
def row_quantised(d, t):
    n, m = d.rows(width=(32, 16384))
    nodes = [("Abs", ["x"], ["a"], {}), ("ReduceMax", ["a", "last"], ["v"], {}), ("Div", ["v", "most"], ["s"], {}),
             ("Div", ["x", "s"], ["q"], {}), ("Round", ["q"], ["r"], {}), ("Cast", ["r"], ["y"], {"to": 3})]

    def fn(x):
        s = x.abs().amax(-1, True) / 127
        return torch.round(x / s).to(torch.int8), s

    return f"row_quantised_{n}x{m}", [("x", t, [n, m])], nodes, fn, {"constants": scalars(t, last=[-1], most=127.0), "outputs": ("y", "s")}


@chain()
def joined(d, t):
    n, h = d.size(1, 512), d.size(1, 512)
    widths = [d.size(1, 512) for _ in range(d.pick(3, 4, 7))]
    n = at_most(n, h * sum(widths))
    nodes = [("Concat", [f"x{i}" for i in range(len(widths))], ["y"], {"axis": -1})]
    return (f"concat{len(widths)}_{n}x{h}x{sum(widths)}", [(f"x{i}", t, [n, h, w]) for i, w in enumerate(widths)], nodes,
            lambda *x: torch.cat(x, -1))


# ---- Chains around products and convolutions.

@chain(contraction=True)
def conv_residual(d, t):
    k, stride = d.pick((1, 1), (3, 1), (3, 2))
    n, c, h, w = d.image(channels=(8, 512), side=(7, 112), most=1 << 21)
    n, o = min(n, 16), d.size(8, 512)
    oh, ow = (h - 1) // stride + 1, (w - 1) // stride + 1
    nodes = [("Conv", ["x", "w", "b"], ["c"], {"pads": [k // 2] * 4, "strides": [stride] * 2}), ("Add", ["c", "z"], ["a"], {}), ("Relu", ["a"], ["y"], {})]
    return (f"conv{k}s{stride}_residual_{n}x{c}x{h}x{w}_{o}", [("x", t, [n, c, h, w]), ("w", t, [o, c, k, k]), ("b", t, [o]), ("z", t, [n, o, oh, ow])],
            nodes, lambda x, w, b, z: F.relu(F.conv2d(x, w, b, padding=k // 2, stride=stride) + z))


@chain(contraction=True)
def activated_conv(d, t):
    """Activations before a convolution, as in networks of pre-activated residual blocks."""
    k, o, (n, c, h, w) = d.pick(1, 3), d.size(16, 512), d.image(channels=(16, 512), side=(7, 128))
    nodes = [("Mul", ["x", "g"], ["m"], {}), ("Add", ["m", "b"], ["a"], {}), ("Relu", ["a"], ["r"], {}),
             ("Conv", ["r", "w"], ["y"], {"pads": [k // 2] * 4})]
    return (f"activated_conv{k}_{n}x{c}x{h}x{w}_{o}", [("x", t, [n, c, h, w]), ("g", t, [c, 1, 1]), ("b", t, [c, 1, 1]), ("w", t, [o, c, k, k])],
            nodes, lambda x, g, b, w: F.conv2d(F.relu(x * g + b), w, padding=k // 2))


@chain(contraction=True)
def squeeze_excite(d, t):
    """The end of an inverted residual block: channels are weighted by a function of their means, then projected."""
    o, r, (n, c, h, w) = d.size(16, 256), d.size(8, 64), d.image(channels=(32, 960), side=(7, 112))
    nodes = [("GlobalAveragePool", ["x"], ["p"], {}), ("Conv", ["p", "w1"], ["q"], {}), ("Relu", ["q"], ["q1"], {}),
             ("Conv", ["q1", "w2"], ["e"], {}), ("HardSigmoid", ["e"], ["e1"], {"alpha": 1 / 6, "beta": 0.5}), ("Mul", ["x", "e1"], ["s"], {}),
             ("Conv", ["s", "w"], ["y"], {})]
    return (f"squeeze_excite_{n}x{c}x{h}x{w}_{r}_{o}",
            [("x", t, [n, c, h, w]), ("w1", t, [r, c, 1, 1]), ("w2", t, [c, r, 1, 1]), ("w", t, [o, c, 1, 1])], nodes,
            lambda x, w1, w2, w: F.conv2d(x * F.hardsigmoid(F.conv2d(F.relu(F.conv2d(x.mean((2, 3), keepdim=True), w1)), w2)), w))


@chain(contraction=True)
def squared_relu(d, t):
    """The second product of a feed-forward layer with squared ReLU."""
    n, k, m = d.size(1, 4096), d.size(64, 4096), d.size(64, 4096)
    nodes = [("Relu", ["x"], ["r"], {}), ("Mul", ["r", "r"], ["q"], {}), ("MatMul", ["q", "w"], ["p"], {}), ("Add", ["p", "z"], ["y"], {})]
    return (f"squared_relu_{n}x{k}x{m}", [("x", t, [n, k]), ("w", t, [k, m]), ("z", t, [n, m])], nodes,
            lambda x, w, z: F.relu(x).square() @ w + z)


@chain(contraction=True)
def moved_conv(d, t):
    """A decoder's convolution of an image of twice the size, or one with reflected edges."""
    o, (n, c, h, w) = d.size(16, 256), d.image(channels=(16, 512), side=(7, 64), most=1 << 22)
    n = min(n, 8)
    if d.pick(False, True):
        return (f"upsampled_conv_{n}x{c}x{h}x{w}_{o}", [("x", t, [n, c, h, w]), ("w", t, [o, c, 3, 3])],
                [("Resize", ["x", "", "scales"], ["a"], {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
                 ("Conv", ["a", "w"], ["y"], {"pads": [1] * 4})],
                lambda x, w: F.conv2d(F.interpolate(x, scale_factor=2, mode="nearest"), w, padding=1),
                {"constants": {"scales": np.array([1, 1, 2, 2], np.float32)}})
    return (f"reflected_conv_{n}x{c}x{h}x{w}_{o}", [("x", t, [n, c, h, w]), ("w", t, [o, c, 3, 3])],
            [("Pad", ["x", "pads"], ["a"], {"mode": "reflect"}), ("Conv", ["a", "w"], ["y"], {})],
            lambda x, w: F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), w), {"constants": {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}})


@chain(contraction=True)
def window_product(d, t):
    """Windows of an image as rows of a product, as in Swin and MaxViT."""
    n, c, k, m = d.size(1, 16), d.pick(32, 48, 64, 96, 128, 192), d.pick(4, 7, 8), d.size(32, 768)
    rows, columns = d.pick(2, 3, 7, 8), d.pick(2, 4, 7)
    nodes = [("Reshape", ["x", "split"], ["a"], {}), ("Transpose", ["a"], ["b"], {"perm": [0, 2, 4, 3, 5, 1]}),
             ("Reshape", ["b", "rows"], ["r"], {}), ("MatMul", ["r", "w"], ["y"], {})]

    def fn(x, w):
        return x.reshape(n, c, rows, k, columns, k).permute(0, 2, 4, 3, 5, 1).reshape(-1, k * k, c) @ w

    return (f"window_product_{n}x{c}x{rows * k}x{columns * k}_{k}_{m}", [("x", t, [n, c, rows * k, columns * k]), ("w", t, [c, m])], nodes, fn,
            {"constants": {"split": np.array([0, c, rows, k, columns, k]), "rows": np.array([-1, k * k, c])}})


@chain(contraction=True)
def branches(d, t):
    """A block of RepVGG before its branches are merged, whose result three branches of the next one read."""
    n, c, h, w = d.image(channels=(16, 384), side=(7, 56))
    nodes, last = [], "x"
    for k in range(2):
        nodes += [("Conv", [last, "w3"], [f"a{k}"], {"pads": [1] * 4}), ("Conv", [last, "w1"], [f"b{k}"], {}), ("Add", [f"a{k}", f"b{k}"], [f"c{k}"], {}),
                  ("Mul", [last, "g"], [f"d{k}"], {}), ("Add", [f"c{k}", f"d{k}"], [f"e{k}"], {}), ("Relu", [f"e{k}"], [f"r{k}" if k == 0 else "y"], {})]
        last = f"r{k}"

    def fn(x, w3, w1, g):
        for _ in range(2):
            x = F.relu(F.conv2d(x, w3, padding=1) + F.conv2d(x, w1) + x * g)
        return x

    return f"branches_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w]), ("w3", t, [c, c, 3, 3], 0.1), ("w1", t, [c, c, 1, 1], 0.1), ("g", t, [c, 1, 1])], nodes, fn


@chain(contraction=True)
def conv_long(d, t):
    c, l, o, k, dilation = d.size(8, 512), d.size(16, 8192), d.size(8, 512), d.pick(1, 3, 7, 11), d.pick(1, 1, 3)
    n = max(1, min(d.size(1, 16), (1 << 21) // (c * l)))
    pad = (k - 1) * dilation // 2
    nodes = [("Conv", ["x", "w", "b"], ["c"], {"pads": [pad, pad], "dilations": [dilation]}), ("LeakyRelu", ["c"], ["y"], {"alpha": 0.1})]
    return (f"conv1d{k}d{dilation}_{n}x{c}x{l}_{o}", [("x", t, [n, c, l]), ("w", t, [o, c, k]), ("b", t, [o])], nodes,
            lambda x, w, b: F.leaky_relu(F.conv1d(x, w, b, padding=pad, dilation=dilation), 0.1))


@chain(contraction=True)
def conv_volume(d, t):
    c, o, a, h, w = d.size(4, 128), d.size(4, 128), d.size(4, 32), d.size(7, 64), d.size(7, 64)
    while c * a * h * w > 1 << 21:
        a = max(3, a // 2)
        h = max(5, h // 2)
    nodes = [("Conv", ["x", "w", "b"], ["y"], {"pads": [1] * 6})]
    return (f"conv3d_1x{c}x{a}x{h}x{w}_{o}", [("x", t, [1, c, a, h, w]), ("w", t, [o, c, 3, 3, 3]), ("b", t, [o])], nodes,
            lambda x, w, b: F.conv3d(x, w, b, padding=1))


@chain(contraction=True)
def one_hot_product(d, t):
    n, v, m = d.size(1, 4096), d.size(8, 4096), d.size(8, 1024)
    nodes = [("OneHot", ["i", "depth", "values"], ["h"], {}), ("MatMul", ["h", "w"], ["y"], {})]
    table = np.random.default_rng(v * m).uniform(-2, 2, (v, m)).astype(NUMPY_TYPE[t])
    on = []

    def fn(i):
        if not on:
            on.append(torch.from_numpy(table).to(i.device))
        return on[0][i]

    return (f"one_hot_{n}x{v}x{m}", [("i", "i64", [n], v)], nodes, fn,
            {"constants": {"depth": np.array(v, np.int64), "values": np.array([0, 1], NUMPY_TYPE[t]), "w": table}})


@chain(contraction=True)
def weight_only(d, t):
    m, block = d.size(1, 64), d.pick(32, 64, 128)
    k, n = d.size(256, 8192) // block * block or block, d.size(64, 8192)
    nodes = [("DequantizeLinear", ["w", "s"], ["f"], {"axis": 0, "block_size": block}), ("MatMul", ["x", "f"], ["y"], {})]
    return (f"weights8_{m}x{k}x{n}_{block}", [("x", t, [m, k]), ("w", "i8", [k, n]), ("s", t, [k // block, n], 0.05)], nodes,
            lambda x, w, s: x @ (w.to(x.dtype) * s.repeat_interleave(block, 0)))


@chain(contraction=True)
def cross_attention(d, t):
    h, head, q, k = d.pick(1, 4, 8, 12), d.pick(32, 64, 80), d.size(1, 1024), d.size(8, 1024)
    n = max(1, min(d.size(1, 16), (1 << 25) // (h * q * k)))
    scale = head ** -0.5
    nodes = [("Transpose", ["k"], ["kt"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["q", "kt"], ["p"], {}), ("Mul", ["p", "scale"], ["s"], {}),
             ("Add", ["s", "b"], ["a"], {}), ("Softmax", ["a"], ["e"], {"axis": -1}), ("MatMul", ["e", "v"], ["o"], {}),
             ("Transpose", ["o"], ["t"], {"perm": [0, 2, 1, 3]}), ("Reshape", ["t", "shape"], ["y"], {})]
    return (f"attention_bias_{n}x{h}x{q}x{k}x{head}",
            [("q", t, [n, h, q, head]), ("k", t, [n, h, k, head]), ("v", t, [n, h, k, head]), ("b", t, [1, h, q, k])], nodes,
            lambda q_, k_, v_, b_: F.scaled_dot_product_attention(q_, k_, v_, attn_mask=b_.to(q_.dtype).expand(n, -1, -1, -1), scale=scale)
            .transpose(1, 2).reshape(n, q, h * head), {"constants": scalars(t, scale=scale, shape=[n, q, h * head])})


@chain(contraction=True)
def small_products(d, t):
    n, m, k, o = d.size(16, 16384), d.size(1, 16), d.size(1, 32), d.size(1, 32)
    n = at_most(n, max(m * k, k * o, m * o))
    return (f"small_products_{n}x{m}x{k}x{o}", [("x", t, [n, m, k]), ("w", t, [n, k, o])], [("MatMul", ["x", "w"], ["y"], {})],
            lambda x, w: torch.matmul(x, w))


@chain(contraction=True)
def two_layers(d, t):
    n, k, m, o = d.size(1, 2048), d.size(8, 1024), d.size(8, 1024), d.size(1, 1024)
    nodes = [("Gemm", ["x", "w", "b"], ["h"], {"transB": 1}), ("Gelu", ["h"], ["g"], {}), ("Gemm", ["g", "u", "c"], ["y"], {"transB": 1})]
    return (f"perceptron_{n}x{k}x{m}x{o}", [("x", t, [n, k]), ("w", t, [m, k], 0.1), ("b", t, [m]), ("u", t, [o, m], 0.1), ("c", t, [o])], nodes,
            lambda x, w, b, u, c: F.linear(F.gelu(F.linear(x, w, b)), u, c))


@chain(contraction=True)
def correlation(d, t):
    n, c, h, w = d.image(channels=(8, 256), side=(7, 64), most=1 << 20)
    n = min(n, 4)
    nodes = [("Reshape", ["x", "flat"], ["a"], {}), ("Transpose", ["a"], ["at"], {"perm": [0, 2, 1]}), ("Reshape", ["z", "flat"], ["b"], {}),
             ("MatMul", ["at", "b"], ["p"], {}), ("Mul", ["p", "scale"], ["y"], {})]
    return (f"correlation_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w]), ("z", t, [n, c, h, w])], nodes,
            lambda x, z: torch.bmm(x.flatten(2).transpose(1, 2), z.flatten(2)) * 0.0625, {"constants": scalars(t, flat=[n, c, h * w], scale=0.0625)})


@chain(contraction=True)
def cast_weights(d, t):
    m, k, n, other = d.size(1, 2048), d.size(16, 2048), d.size(16, 2048), {"f32": "f16", "f16": "f32"}[t]
    nodes = [("Cast", ["w"], ["c"], {"to": CAST[t]}), ("MatMul", ["x", "c"], ["p"], {}), ("Add", ["p", "b"], ["y"], {})]
    return (f"cast_weights_{m}x{k}x{n}", [("x", t, [m, k]), ("w", other, [k, n], 0.1), ("b", t, [n])], nodes,
            lambda x, w, b: F.linear(x, w.to(x.dtype).T, b))


@chain()
def depthwise_channels_last(d, t):
    n, c, h, w = d.image(channels=(8, 512), side=(7, 128), most=1 << 22)
    nodes = [("Transpose", ["x"], ["a"], {"perm": [0, 3, 1, 2]}), ("Conv", ["a", "w", "b"], ["c"], {"group": c, "pads": [1] * 4}),
             ("Clip", ["c", "low", "high"], ["e"], {}), ("Transpose", ["e"], ["y"], {"perm": [0, 2, 3, 1]})]
    return (f"depthwise_last_{n}x{h}x{w}x{c}", [("x", t, [n, h, w, c]), ("w", t, [c, 1, 3, 3]), ("b", t, [c])], nodes,
            lambda x, w_, b: F.conv2d(x.permute(0, 3, 1, 2), w_, b, padding=1, groups=c).clamp(0, 6).permute(0, 2, 3, 1).contiguous(),
            {"constants": scalars(t, low=0.0, high=6.0)})


@chain(contraction=True)
def rotary_attention(d, t):
    h, head, s = d.pick(1, 8, 12), d.pick(32, 64, 80, 128), d.size(8, 1024)
    n, half, scale = max(1, min(d.size(1, 8), (1 << 23) // (h * s * head))), head // 2, head ** -0.5
    nodes = []
    for x in "qk":
        nodes += [("Slice", [x, "zero", "half", "last"], [x + "a"], {}), ("Slice", [x, "half", "end", "last"], [x + "b"], {}),
                  ("Neg", [x + "b"], [x + "n"], {}), ("Concat", [x + "n", x + "a"], [x + "h"], {"axis": -1}),
                  ("Mul", [x, "cos"], [x + "c"], {}), ("Mul", [x + "h", "sin"], [x + "s"], {}), ("Add", [x + "c", x + "s"], [x + "r"], {})]
    nodes += [("Transpose", ["kr"], ["kt"], {"perm": [0, 1, 3, 2]}), ("MatMul", ["qr", "kt"], ["p"], {}), ("Mul", ["p", "scale"], ["z"], {}),
              ("Softmax", ["z"], ["e"], {"axis": -1}), ("MatMul", ["e", "v"], ["y"], {})]

    def turn(x, cos, sin):
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

    return (f"rotary_attention_{n}x{h}x{s}x{head}", [(x, t, [n, h, s, head]) for x in "qkv"] + [(x, t, [s, head]) for x in ("cos", "sin")],
            nodes, lambda q, k, v, cos, sin: F.scaled_dot_product_attention(turn(q, cos, sin), turn(k, cos, sin), v, scale=scale),
            {"constants": scalars(t, zero=[0], half=[half], end=[head], last=[-1]) | scalars(t, scale=scale)})
