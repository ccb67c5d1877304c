"""Cases drawn by a seed: operators at random shapes, or with a seed such as "chains:7" the chains of drawn_chains.py.
Sizes are log-uniform and odd as often as not, batches go from 1 up, types are f32 and f16. A schedule that fits only the
shapes of cases.py shows here."""
import numpy as np

from case import Case, F, scalars, torch
from draw import ELEMENTS, Draw, Families, text
from drawn_chains import CHAINS

FAMILIES = Families()
family = FAMILIES.add


@family()
def softmax(d, t):
    shape = d.rows()
    op, fn = d.pick(("Softmax", lambda x: F.softmax(x, -1)), ("LogSoftmax", lambda x: F.log_softmax(x, -1)))
    return f"{op.lower()}_{text(shape)}", [("x", t, shape)], [(op, ["x"], ["y"], {"axis": -1})], fn


@family()
def masked_softmax(d, t):
    n, q, k = d.size(1, 64), d.size(1, 512), d.size(16, 2048)
    h = d.pick(1, 8, 12, 32)
    n = max(1, min(n, ELEMENTS // (h * q * k)))
    return (f"masked_softmax_{n}x{h}x{q}x{k}", [("x", t, [n, h, q, k]), ("m", t, [n, 1, 1, k])],
            [("Mul", ["x", "scale"], ["s"], {}), ("Add", ["s", "m"], ["a"], {}), ("Softmax", ["a"], ["y"], {"axis": -1})],
            lambda x, m: F.softmax(x * 0.125 + m, -1), {"constants": scalars(t, scale=0.125)})


@family()
def norm(d, t):
    n, m = d.rows(width=(32, 16384))
    return d.pick(
        (f"layernorm_{n}x{m}", [("x", t, [n, m]), ("w", t, [m]), ("b", t, [m])],
         [("LayerNormalization", ["x", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
         lambda x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5)),
        (f"rmsnorm_{n}x{m}", [("x", t, [n, m]), ("w", t, [m])],
         [("RMSNormalization", ["x", "w"], ["y"], {"axis": -1, "epsilon": 1e-5})],
         lambda x, w: F.rms_norm(x, w.shape, w, 1e-5)),
        (f"add_layernorm_gelu_{n}x{m}", [("x", t, [n, m]), ("z", t, [n, m]), ("w", t, [m]), ("b", t, [m])],
         [("Add", ["x", "z"], ["s"], {}), ("LayerNormalization", ["s", "w", "b"], ["n"], {"axis": -1, "epsilon": 1e-5}),
          ("Gelu", ["n"], ["y"], {})],
         lambda x, z, w, b: F.gelu(F.layer_norm(x + z, w.shape, w, b, 1e-5))))


@family()
def image_norm(d, t):
    groups = d.pick(1, 4, 32)
    n, c, h, w = d.image(channels=(32, 1024), side=(4, 256))
    c = max(groups, c // groups * groups)
    return d.pick(
        (f"groupnorm{groups}_silu_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w]), ("w", t, [c]), ("b", t, [c])],
         [("GroupNormalization", ["x", "w", "b"], ["g"], {"epsilon": 1e-5, "num_groups": groups}), ("Sigmoid", ["g"], ["s"], {}),
          ("Mul", ["g", "s"], ["y"], {})], lambda x, w, b: F.silu(F.group_norm(x, groups, w, b, 1e-5))),
        (f"instancenorm_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w]), ("w", t, [c]), ("b", t, [c])],
         [("InstanceNormalization", ["x", "w", "b"], ["y"], {"epsilon": 1e-5})],
         lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-5)),
        (f"batchnorm_relu_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w])] + [(k, t, [c]) for k in "wbm"] + [("v", t, [c], "sparse")],
         [("BatchNormalization", ["x", "w", "b", "m", "v"], ["n"], {"epsilon": 1e-3}), ("Relu", ["n"], ["y"], {})],
         lambda x, w, b, m, v: F.relu(F.batch_norm(x, m, v, w, b, eps=1e-3))))


@family()
def reduction(d, t):
    a, b, c = d.size(1, 512), d.size(2, 4096), d.size(1, 1024)
    a = max(1, min(a, ELEMENTS // (b * c)))
    axis = d.pick(0, 1, 2)
    op, fn = d.pick(("ReduceMean", lambda x: x.mean(axis)), ("ReduceMax", lambda x: x.amax(axis)),
                    ("ReduceSum", lambda x: x.sum(axis)), ("ReduceLogSumExp", lambda x: x.logsumexp(axis)))
    return (f"{op.lower()}_{a}x{b}x{c}_axis{axis}", [("x", t, [a, b, c])], [(op, ["x", "axes"], ["y"], {"keepdims": 0})],
            fn, {"constants": scalars(t, axes=[axis])})


@family()
def argmax(d, t):
    n, c, m = d.size(1, 1024), d.size(2, 8192), d.pick(1, 1, d.size(1, 4096))
    n = max(1, min(n, ELEMENTS // (c * m)))
    return (f"argmax_{n}x{c}x{m}", [("x", t, [n, c, m])], [("ArgMax", ["x"], ["y"], {"axis": 1, "keepdims": 0})],
            lambda x: x.argmax(1))


@family()
def cumulative_sum(d, t):
    n, m = d.rows(width=(64, 1 << 20), most=1 << 23)
    kind = d.pick(t, "i64") if t == "f32" else t
    return (f"cumsum_{n}x{m}" + ("_i64" if kind == "i64" else ""), [("x", kind, [n, m])] if kind == t else
            [("x", kind, [n, m], 1000)], [("CumSum", ["x", "axis"], ["y"], {})],
            lambda x: x.cumsum(1), {"constants": {"axis": np.array(1, np.int64)}})


@family()
def topk(d, t):
    n, m = d.rows(width=(100, 200000), most=1 << 23)
    n = min(n, 4096)
    k = int(min(m, d.size(1, 1000)))
    m.low = max(m.low, k)
    return (f"topk{k}_{n}x{m}", [("x", t, [n, m])], [("TopK", ["x", "k"], ["y", "j"], {})],
            lambda x: torch.topk(x, k), {"constants": scalars(t, k=[k]), "outputs": ("y",)})


@family()
def transpose(d, t):
    rank = d.pick(2, 3, 4, 4, 5)
    shape = [d.size(2, 2 << (24 // rank)) for _ in range(rank)]
    while np.prod(shape) > ELEMENTS:
        shape[int(np.argmax(shape))] //= 2
    perm = list(range(rank))
    while perm == sorted(perm):
        d.random.shuffle(perm)
    return (f"transpose_{''.join(map(str, perm))}_{text(shape)}", [("x", t, shape)], [("Transpose", ["x"], ["y"], {"perm": perm})],
            lambda x: x.permute(perm).contiguous())


@family()
def elementwise(d, t):
    n, m = d.rows(width=(8, 16384))
    return d.pick(
        (f"bias_gelu_{n}x{m}", [("x", t, [n, m]), ("b", t, [m])], [("Add", ["x", "b"], ["s"], {}), ("Gelu", ["s"], ["y"], {})],
         lambda x, b: F.gelu(x + b)),
        (f"mish_{n}x{m}", [("x", t, [n, m])], [("Mish", ["x"], ["y"], {})], lambda x: F.mish(x)),
        (f"swiglu_{n}x{m}", [("x", t, [n, 2 * m])],
         [("Split", ["x"], ["a", "g"], {"axis": -1, "num_outputs": 2}), ("Sigmoid", ["a"], ["s"], {}), ("Mul", ["a", "s"], ["u"], {}),
          ("Mul", ["u", "g"], ["y"], {})], lambda x: F.silu(x[:, :m]) * x[:, m:]),
        (f"row_scale_{n}x{m}", [("x", t, [n, m]), ("r", t, [n, 1]), ("b", t, [m])],
         [("Mul", ["x", "r"], ["p"], {}), ("Add", ["p", "b"], ["s"], {}), ("Clip", ["s", "low", "high"], ["y"], {})],
         lambda x, r, b: (x * r + b).clamp(-1, 1), {"constants": scalars(t, low=-1.0, high=1.0)}))


@family()
def moves(d, t):
    n, c, h, w = d.image(most=1 << 24)
    k = d.size(1, 128)
    return d.pick(
        (f"concat_{n}x{c}+{k}x{h}x{w}", [("x", t, [n, c, h, w]), ("z", t, [n, k, h, w])],
         [("Concat", ["x", "z"], ["y"], {"axis": 1})], lambda x, z: torch.cat([x, z], 1)),
        (f"pad_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w])], [("Pad", ["x", "pads"], ["y"], {"mode": "reflect"})],
         lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), {"constants": scalars(t, pads=[0, 0, 3, 3, 0, 0, 3, 3])}),
        (f"slice_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w])],
         [("Slice", ["x", "from", "to", "axes", "steps"], ["y"], {})], lambda x: x[:, :, 1::2, 1:-1].contiguous(),
         {"constants": scalars(t, **{"from": [1, 1], "to": [h, w - 1], "axes": [2, 3], "steps": [2, 1]})}))


@family()
def resample(d, t):
    n, c, h, w = d.image(channels=(3, 256), side=(8, 256), most=1 << 22)
    out = [d.size(max(4, h // 2), h * 3), d.size(max(4, w // 2), w * 3)]
    mode, name = d.pick(("linear", "bilinear"), ("nearest", "nearest"), ("cubic", "bicubic"))
    attributes = {"mode": mode, "coordinate_transformation_mode": "asymmetric" if mode == "nearest" else "half_pixel",
                  **({"nearest_mode": "floor"} if mode == "nearest" else {})}
    return (f"resize_{mode}_{n}x{c}x{h}x{w}_{text(out)}", [("x", t, [n, c, h, w])],
            [("Resize", ["x", "", "", "sizes"], ["y"], {"axes": [2, 3], **attributes})],
            lambda x: F.interpolate(x, out, mode=name), {"constants": scalars(t, sizes=out)})


@family()
def grid_sample(d, t):
    n, c, h, w = d.image(channels=(3, 128), side=(16, 256), most=1 << 23)
    out = [d.size(8, 256), d.size(8, 256)]
    return (f"gridsample_{n}x{c}x{h}x{w}_{text(out)}", [("x", t, [n, c, h, w]), ("g", t, [n, *out, 2])],
            [("GridSample", ["x", "g"], ["y"], {"mode": "linear", "align_corners": 0})],
            lambda x, g: F.grid_sample(x, g, align_corners=False))


@family()
def pool(d, t):
    k, stride = d.pick((2, 2), (3, 2), (3, 1), (5, 1))
    n, c, h, w = d.image(side=(k + 2, 256))
    return d.pick(
        (f"maxpool{k}s{stride}_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w])],
         [("MaxPool", ["x"], ["y"], {"kernel_shape": [k, k], "strides": [stride] * 2, "pads": [k // 2] * 4})],
         lambda x: F.max_pool2d(x, k, stride, k // 2)),
        (f"averagepool{k}s{stride}_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w])],
         [("AveragePool", ["x"], ["y"], {"kernel_shape": [k, k], "strides": [stride] * 2})],
         lambda x: F.avg_pool2d(x, k, stride)))


@family()
def depthwise(d, t):
    k, stride = d.pick((3, 1), (3, 2), (5, 1), (7, 1))
    n, c, h, w = d.image(channels=(16, 1024), side=(7, 224))
    c = int(c)  # the attribute group fixes the channels
    return (f"depthwise{k}s{stride}_{n}x{c}x{h}x{w}", [("x", t, [n, c, h, w]), ("w", t, [c, 1, k, k]), ("b", t, [c])],
            [("Conv", ["x", "w", "b"], ["y"], {"group": c, "pads": [k // 2] * 4, "strides": [stride] * 2})],
            lambda x, w, b: F.conv2d(x, w, b, padding=k // 2, stride=stride, groups=c))


@family()
def gather(d, t):
    n, m, k = d.size(100, 100000), d.size(8, 2048), d.size(1, 16384)
    n, k = min(n, ELEMENTS // m), min(k, ELEMENTS // m)
    return d.pick(
        (f"gather_rows_{n}x{m}_{k}", [("x", t, [n, m]), ("i", "i64", [k], n)], [("Gather", ["x", "i"], ["y"], {"axis": 0})],
         lambda x, i: x[i]),
        (f"gather_elements_{k}x{m}", [("x", t, [k, m]), ("i", "i64", [k, m], m)],
         [("GatherElements", ["x", "i"], ["y"], {"axis": 1})], lambda x, i: torch.gather(x, 1, i)))


@family()
def scatter(d, t):
    n, m, k = d.size(100, 50000), d.size(8, 1024), d.size(10, 16384)
    n, k = min(n, ELEMENTS // m), min(k, ELEMENTS // m)
    return d.pick(
        (f"segment_sum_{n}x{m}_{k}", [("x", t, [n, m]), ("i", "i64", [k, 1], n), ("u", t, [k, m])],
         [("ScatterND", ["x", "i", "u"], ["y"], {"reduction": "add"})], lambda x, i, u: x.index_add(0, i[:, 0], u)),
        (f"scatter_add_{k}x{m}", [("x", t, [k, m]), ("i", "i64", [k, m], m), ("u", t, [k, m])],
         [("ScatterElements", ["x", "i", "u"], ["y"], {"axis": 1, "reduction": "add"})], lambda x, i, u: x.scatter_add(1, i, u)))


@family()
def quantize(d, t):
    n, m = d.rows(width=(32, 8192))
    zero = {"z": np.array(0, np.int8)}
    return d.pick(
        (f"quantize_{n}x{m}", [("x", t, [n, m])], [("QuantizeLinear", ["x", "s", "z"], ["y"], {})],
         lambda x: torch.clamp(torch.round(x / 0.0625), -128, 127).to(torch.int8),
         {"constants": {**scalars(t, s=0.0625), **zero}}),
        (f"dequantize_add_relu_{n}x{m}", [("q", "i8", [n, m]), ("s", t, [m]), ("z", t, [n, m])],
         [("DequantizeLinear", ["q", "s"], ["d"], {"axis": 1}), ("Add", ["d", "z"], ["a"], {}), ("Relu", ["a"], ["y"], {})],
         lambda q, s, z: F.relu(q.to(z.dtype) * s + z)))


@family(contraction=True)
def product(d, t):
    m, k, n = d.size(1, 8192), d.size(32, 8192), d.size(32, 8192)
    while m * k * n > 1 << 36:
        m //= 2
    b = d.pick(1, 1, 1, min(64, ELEMENTS // max(m * k, k * n, m * n)))
    batch = [b] if b > 1 else []
    return d.pick(
        (f"matmul_{text(batch + [m, k, n])}", [("x", t, batch + [m, k]), ("w", t, batch + [k, n])],
         [("MatMul", ["x", "w"], ["y"], {})], lambda x, w: torch.matmul(x, w)),
        (f"gemm_bias_relu_{m}x{k}x{n}", [("x", t, [m, k]), ("w", t, [n, k]), ("b", t, [n])],
         [("Gemm", ["x", "w", "b"], ["g"], {"transB": 1}), ("Relu", ["g"], ["y"], {})],
         lambda x, w, b: F.relu(F.linear(x, w, b))))


@family(contraction=True)
def conv(d, t):
    k, stride = d.pick((1, 1), (3, 1), (3, 1), (3, 2), (5, 2), (7, 2))
    groups = d.pick(1, 1, 1, 2, 4, 32)
    n, c, h, w = d.image(channels=(3 if groups == 1 else 4 * groups, 512), side=(k + 2, 224), most=1 << 22)
    n, c, o = min(n, 16), c // groups * groups, d.size(max(8, groups), 512) // groups * groups
    return (f"conv{k}s{stride}g{groups}_{n}x{c}x{h}x{w}_{o}", [("x", t, [n, c, h, w]), ("w", t, [o, c // groups, k, k]), ("b", t, [o])],
            [("Conv", ["x", "w", "b"], ["y"], {"group": groups, "pads": [k // 2] * 4, "strides": [stride] * 2})],
            lambda x, w, b: F.conv2d(x, w, b, padding=k // 2, stride=stride, groups=groups))


@family(contraction=True)
def conv_transpose(d, t):
    k, stride, pad = d.pick((2, 2, 0), (4, 2, 1), (3, 2, 1), (4, 4, 0), (3, 1, 1))
    n, c, h, w = d.image(channels=(16, 512), side=(4, 64), most=1 << 20)
    n, o = min(n, 8), d.size(8, 256)
    return (f"convtranspose{k}s{stride}_{n}x{c}x{h}x{w}_{o}", [("x", t, [n, c, h, w]), ("w", t, [c, o, k, k]), ("b", t, [o])],
            [("ConvTranspose", ["x", "w", "b"], ["y"], {"pads": [pad] * 4, "strides": [stride] * 2})],
            lambda x, w, b: F.conv_transpose2d(x, w, b, stride=stride, padding=pad))


@family(contraction=True)
def attention(d, t):
    head, h = d.pick(32, 64, 64, 72, 80, 96, 128, 128), d.pick(1, 8, 12, 32)
    kv = h // d.pick(1, 1, 4) or 1
    q, k = d.pick(1, d.size(8, 2048), d.size(8, 2048)), d.size(16, 4096)
    n = d.size(1, max(1, min(32, (1 << 28) // (h * q * k + h * k * head))))
    causal = q > 1 and d.pick(True, False)
    k = q if causal else k
    group = h // kv

    def reference(x, k, v):
        k, v = (z.repeat_interleave(group, 1) for z in (k, v)) if group > 1 else (k, v)
        return F.scaled_dot_product_attention(x, k, v, is_causal=causal)

    def fn(x, k, v):
        return F.scaled_dot_product_attention(x, k, v, is_causal=causal, enable_gqa=group > 1)

    return (f"attention_{n}x{h}/{kv}x{q}x{k}x{head}{'_causal' if causal else ''}",
            [("q", t, [n, h, q, head]), ("k", t, [n, kv, k, head]), ("v", t, [n, kv, k, head])],
            [("Attention", ["q", "k", "v"], ["y"], {"is_causal": int(causal)})], fn, {"reference": reference})


@family(contraction=True)
def recurrent(d, t):
    steps, batch, size, hidden = d.size(4, 100), d.size(1, 64), int(d.size(16, 512)), int(d.size(16, 512))
    op, gates = d.pick(("LSTM", 4), ("GRU", 3))

    def order(x):  # ONNX's i, o, f, c and z, r, h in PyTorch's i, f, c, o and r, z, h
        p = x.split(hidden, 0)
        return torch.cat([p[j] for j in ((0, 2, 3, 1) if op == "LSTM" else (1, 0, 2))])

    def fn(x, w, r, b):
        module = torch.nn.LSTM if op == "LSTM" else torch.nn.GRU
        if x.dtype not in fn.made:
            m = module(size, hidden).to(x.device, x.dtype)
            with torch.no_grad():
                for name, value in (("weight_ih_l0", w[0]), ("weight_hh_l0", r[0]), ("bias_ih_l0", b[0, :gates * hidden]),
                                    ("bias_hh_l0", b[0, gates * hidden:])):
                    getattr(m, name).copy_(order(value))
            fn.made[x.dtype] = m
        with torch.no_grad():
            return fn.made[x.dtype](x)[0][:, None]

    fn.made = {}
    weight = hidden ** -0.5  # PyTorch's own range: with larger weights rounding errors grow in each step
    more = {"linear_before_reset": 1} if op == "GRU" else {}
    return (f"{op.lower()}_{steps}x{batch}x{size}_{hidden}",
            [("x", t, [steps, batch, size]), ("w", t, [1, gates * hidden, size], weight),
             ("r", t, [1, gates * hidden, hidden], weight), ("b", t, [1, 2 * gates * hidden], weight)],
            [(op, ["x", "w", "r", "b"], ["y"], {"hidden_size": hidden, **more})], fn)


@family(contraction=True)
def fourier(d, t):
    length = int(d.pick(1 << d.pick(6, 8, 10, 12), d.size(16, 5000), d.pick(400, 480, 1000, 1920)))
    n = d.size(1, max(1, min(2048, (1 << 22) // length)))
    return (f"dft_{n}x{length}", [("x", "f32", [n, length, 1])], [("DFT", ["x", "", "axis"], ["y"], {})],
            lambda x: torch.view_as_real(torch.fft.fft(x[..., 0])), {"constants": {"axis": np.array(1, np.int64)}})


def drawn(seed, count):
    """count cases, the families in turn, and the types."""
    families = CHAINS if str(seed).startswith("chains:") else FAMILIES
    cases = []
    for i in range(count):
        make, contraction = families[i % len(families)]
        t = ("f32", "f16")[i // len(families) % 2]
        name, inputs, nodes, fn, *more = make(Draw(f"{seed}/{i}"), t)
        cases.append(Case(f"{name} {t}", inputs, nodes, fn, contraction=contraction, **(more[0] if more else {})))
    return cases
