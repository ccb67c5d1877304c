#!/usr/bin/env python3
"""Times patterns that one plugin fuses, and compares them with the least time possible, on one GPU in one run.

    bench/fused.py [--tpat build/tpat] [--filter A,B] [--seconds N] [--json FILE]

Eight patterns, each in f16 and f32 and at three shapes, two of them odd. Floor: the region's inputs and outputs at the rate of the
best copy kernel of the run; for a region with a product or convolution, this contraction alone in tpat. One line a case: microseconds
of tpat (`tpat bench`, the cost model's choice), of the floor, their ratio, and the number of kernels. Inputs rotate over more than
160 MB, and results are compared with PyTorch's in float64, as in bench/peers.py."""
import argparse
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
import peers  # noqa: E402
from case import NUMPY_TYPE, Case, F, scalars, torch  # noqa: E402
from drawn_chains import CAST  # noqa: E402
from report import geometric_mean, write_json  # noqa: E402

GOAL = 1.15


class Fused:
    """A case, and its contraction alone, or None where bytes are the floor."""

    def __init__(self, case, alone=None):
        self.case, self.alone = case, alone


# ---- The patterns: functions of the elements' type. Names of tensors: x and z are inputs, y is the result.

def residual_norm(t):
    for n, m in ((16384, 4096), (8191, 4095), (33001, 1023)):
        nodes = [("Add", ["x", "z"], ["s"], {}), ("LayerNormalization", ["s", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})]
        yield Fused(Case(f"residual + norm {n}x{m} {t}", [("x", t, [n, m]), ("z", t, [n, m]), ("w", t, [m]), ("b", t, [m])], nodes,
                         lambda x, z, w, b: F.layer_norm(x + z, w.shape, w, b, 1e-5)))


def gelu_product(t):
    for m, k, n in ((8192, 768, 3072), (4095, 1023, 2049), (8191, 771, 1537)):
        inputs = [("x", t, [m, k]), ("w", t, [k, n]), ("b", t, [n])]
        nodes = [("MatMul", ["x", "w"], ["p"], {}), ("Add", ["p", "b"], ["a"], {}), ("Gelu", ["a"], ["y"], {})]
        name = f"bias + GELU + matmul {m}x{k}x{n} {t}"
        yield Fused(Case(name, inputs, nodes, lambda x, w, b: F.gelu(x @ w + b)),
                    Case(name, inputs[:2], [("MatMul", ["x", "w"], ["y"], {})], lambda x, w: x @ w))


def masked_softmax(t):
    for n, h, q, k in ((32, 12, 384, 384), (31, 11, 383, 385), (7, 13, 511, 1001)):
        nodes = [("Mul", ["x", "scale"], ["s"], {}), ("Where", ["m", "s", "low"], ["a"], {}), ("Softmax", ["a"], ["y"], {"axis": -1})]
        yield Fused(Case(f"masked softmax {n}x{h}x{q}x{k} {t}", [("x", t, [n, h, q, k]), ("m", "bool", [n, 1, q, k], "mask")], nodes,
                         lambda x, m: F.softmax((x * 0.125).masked_fill(~m, -10000.0), -1),
                         constants=scalars(t, scale=0.125, low=-10000.0)))


def quantized_conv(t):
    for n, c, h, w in ((32, 256, 28, 28), (15, 192, 57, 55), (17, 131, 37, 29)):
        inputs = [("x", "i8", [n, c, h, w]), ("k", "i8", [c, c, 3, 3])]
        nodes = [("DequantizeLinear", ["x", "sx", "zero"], ["a"], {}), ("DequantizeLinear", ["k", "sk", "zero"], ["b"], {}),
                 ("Conv", ["a", "b"], ["c"], {"pads": [1] * 4}), ("Relu", ["c"], ["r"], {}),
                 ("QuantizeLinear", ["r", "sy", "zero"], ["y"], {})]

        def fn(x, k):
            r = F.relu(F.conv2d(x.double() / 32, k.double() / 128, padding=1))
            return torch.clamp(torch.round(r / 2), -128, 127).to(torch.int8)

        name = f"dequantise, conv, quantise {n}x{c}x{h}x{w} {t}"
        yield Fused(Case(name, inputs, nodes, fn, constants={**scalars(t, sx=1 / 32, sk=1 / 128, sy=2.0), "zero": np.array(0, np.int8)}),
                    Case(name, inputs, [("ConvInteger", ["x", "k"], ["y"], {"pads": [1] * 4})],
                         lambda x, k: F.conv2d(x.double(), k.double(), padding=1)))


def swiglu(t):
    for n, h in ((8192, 11008), (4095, 2731), (8191, 1365)):
        nodes = [("Split", ["x"], ["g", "u"], {"axis": -1, "num_outputs": 2}), ("Sigmoid", ["g"], ["s"], {}),
                 ("Mul", ["g", "s"], ["l"], {}), ("Mul", ["l", "u"], ["y"], {})]
        yield Fused(Case(f"SwiGLU {n}x{h} {t}", [("x", t, [n, 2 * h])], nodes, lambda x: F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1]))


def rotary(t):
    for n, h, s, d in ((8, 32, 2048, 128), (7, 31, 1023, 80), (5, 13, 2047, 90)):
        half = d // 2
        nodes = [("Slice", ["x", "zero", "half", "last"], ["a"], {}), ("Slice", ["x", "half", "end", "last"], ["b"], {}),
                 ("Neg", ["b"], ["nb"], {}), ("Concat", ["nb", "a"], ["r"], {"axis": -1}), ("Mul", ["x", "c"], ["p"], {}),
                 ("Mul", ["r", "s"], ["q"], {}), ("Add", ["p", "q"], ["y"], {})]
        yield Fused(Case(f"rotary embedding {n}x{h}x{s}x{d} {t}", [("x", t, [n, h, s, d]), ("c", t, [s, d]), ("s", t, [s, d])], nodes,
                         lambda x, c, s, half=half: x * c + torch.cat([-x[..., half:], x[..., :half]], -1) * s,
                         constants=scalars(t, zero=[0], half=[half], end=[d], last=[-1])))


def yolo(t):
    for n, classes, h, w in ((32, 80, 80, 80), (31, 20, 81, 79), (17, 80, 77, 83)):
        grid = np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1).reshape(1, 1, h, w, 2)
        anchors = np.array([[10, 13], [16, 30], [33, 23]]).reshape(1, 3, 1, 1, 2)
        nodes = [("Reshape", ["x", "parts"], ["v"], {}), ("Transpose", ["v"], ["t"], {"perm": [0, 1, 3, 4, 2]}),
                 ("Sigmoid", ["t"], ["p"], {}), ("Split", ["p", "lengths"], ["xy", "wh", "sure", "score"], {"axis": -1}),
                 ("Mul", ["xy", "two"], ["xy2"], {}), ("Add", ["xy2", "grid"], ["xyg"], {}), ("Mul", ["xyg", "eight"], ["place"], {}),
                 ("Mul", ["wh", "two"], ["wh2"], {}), ("Mul", ["wh2", "wh2"], ["whs"], {}), ("Mul", ["whs", "anchors"], ["size"], {}),
                 ("Mul", ["score", "sure"], ["each"], {}), ("ReduceMax", ["each", "last"], ["best"], {}),
                 ("Greater", ["best", "least"], ["keep"], {}), ("Where", ["keep", "best", "none"], ["kept"], {}),
                 ("Concat", ["place", "size", "kept"], ["rows"], {"axis": -1}), ("Reshape", ["rows", "flat"], ["y"], {})]
        constants = {**scalars(t, parts=[n, 3, 5 + classes, h, w], lengths=[2, 2, 1, classes], flat=[n, 3 * h * w, 5], last=[-1], two=2.0,
                               eight=8.0, least=0.3, none=0.0), "grid": (grid - 0.5).astype(NUMPY_TYPE[t]),
                     "anchors": anchors.astype(NUMPY_TYPE[t])}

        def fn(x, n=n, classes=classes, h=h, w=w, grid=grid, anchors=anchors):
            p = torch.sigmoid(x.view(n, 3, 5 + classes, h, w).permute(0, 1, 3, 4, 2))
            best = (p[..., 5:] * p[..., 4:5]).amax(-1, keepdim=True)
            place = (p[..., :2] * 2 + torch.from_numpy(grid - 0.5).to(p)) * 8
            size = (p[..., 2:4] * 2)**2 * torch.from_numpy(anchors).to(p)
            return torch.cat([place, size, torch.where(best > 0.3, best, 0)], -1).reshape(n, -1, 5)

        yield Fused(Case(f"YOLO decode + filter {n}x{classes}x{h}x{w} {t}", [("x", t, [n, 3 * (5 + classes), h, w])], nodes, fn,
                         constants=constants))


def dynamic_product(t):
    for m, k, n in ((4096, 4096, 4096), (4095, 1023, 2049), (8191, 769, 1537)):
        cast = t != "f32"
        nodes = [("Cast", ["x"], ["f"], {"to": CAST["f32"]})] if cast else []
        nodes += [("DynamicQuantizeLinear", ["f" if cast else "x"], ["q", "sx", "zx"], {}),
                  ("MatMulInteger", ["q", "w", "zx"], ["p"], {}), ("Cast", ["p"], ["pf"], {"to": CAST["f32"]}),
                  ("Mul", ["sx", "sw"], ["s"], {}), ("Mul", ["pf", "s"], ["r" if cast else "y"], {})]
        nodes += [("Cast", ["r"], ["y"], {"to": CAST[t]})] if cast else []

        def fn(x, w):
            x = x.float()
            low, high = x.amin().clamp(max=0), x.amax().clamp(min=0)
            step = (high - low) / 255
            zero = torch.clamp(torch.round(-low / step), 0, 255)
            q = torch.clamp(torch.round(x / step) + zero, 0, 255) - zero
            return (q.double() @ w.double()) * step.double() / 1024

        name = f"dynamic quantise, product, rescale {m}x{k}x{n} {t}"
        yield Fused(Case(name, [("x", t, [m, k]), ("w", "i8", [k, n])], nodes, fn, constants=scalars("f32", sw=1 / 1024)),
                    Case(name, [("x", "u8", [m, k]), ("w", "i8", [k, n])], [("MatMulInteger", ["x", "w"], ["y"], {})],
                         lambda x, w: x.double() @ w.double()))


PATTERNS = (residual_norm, masked_softmax, swiglu, rotary, yolo, gelu_product, quantized_conv, dynamic_product)


class Run:
    """A case whose kernels are being compiled; result() waits for its time."""

    def __init__(self, case, tpat, lock):
        self.case, self.inputs = case, case.draw(torch)
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.timing = peers.Timing(tpat, case, self.inputs, self.folder.name, lock)

    def result(self):
        """The timing, what is wrong or None, and the rate of the best copy kernel in bytes a nanosecond."""
        timing, answer, outputs = self.timing.result()
        self.folder.cleanup()
        wrong = timing.get("error")
        if answer:
            want = peers.as_list(self.case.torch(*[x.double() if x.is_floating_point() else x for x in self.inputs]))
            error = peers.error_of([torch.from_numpy(x).cuda() for x in outputs], want)
            limit = max(peers.TOLERANCE.get(x.dtype.name, 0) for x in outputs)
            wrong = None if error <= limit else f"differs by {error:.2g} of the norm"
        self.inputs = None
        torch.cuda.empty_cache()
        return timing, wrong, answer["bytes_per_ns"] if answer else 0


def measured(todo, o):
    """The rows, without floors that are bytes, and the best copy rate."""
    rows, best, left, begun, end = [], 0, list(todo), [], time.monotonic() + o.seconds
    with tempfile.NamedTemporaryFile() as lock:
        while begun or (left and time.monotonic() < end):
            while left and len(begun) < peers.AHEAD and time.monotonic() < end:
                fused = left.pop(0)
                begun.append((fused, [Run(case, o.tpat, lock.name) for case in (fused.case, fused.alone) if case]))
            fused, runs = begun.pop(0)
            results = [run.result() for run in runs]
            timing, wrong, rate = results[0]
            best = max(best, rate)
            row = {"case": fused.case.name, "wrong": next((w for _, w, _ in results if w), None), "tpat_us": timing.get("ns", 0) / 1e3,
                   "kernels": timing.get("kernels"), "bytes": timing.get("bytes", 0), "schedule": timing.get("schedule")}
            if fused.alone:
                row["floor_us"] = results[1][0].get("ns", 0) / 1e3
            rows.append(row)
            print(row["case"], row["tpat_us"], row.get("floor_us", ""), row["wrong"] or "", flush=True)
    for fused in left:
        print(f"{fused.case.name}: left out, {o.seconds} s are over")
    return rows, best


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tpat", default="build/tpat")
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after so long")
    parser.add_argument("--json", default="")
    o = parser.parse_args()
    todo = [fused for t in ("f16", "f32") for pattern in PATTERNS for fused in pattern(t)
            if any(word in fused.case.name for word in o.filter.split(","))]
    rows, best = measured(todo, o)
    print(f"\n{torch.cuda.get_device_name()}; best copy kernel {best:.0f} GB/s")
    print(f"{'case':58} {'tpat us':>9} {'floor us':>9} {'ratio':>6} {'kernels':>7}")
    ratios = []
    for row in rows:
        floor = row.setdefault("floor_us", row["bytes"] / best / 1e3 if best else 0)
        row["ratio"] = row["tpat_us"] / floor if floor and row["tpat_us"] else None
        ratios += [row["ratio"]] if row["ratio"] else []
        print(f"{row['case']:58} {row['tpat_us']:9.2f} {floor:9.2f} {row['ratio'] or 0:6.2f} {row['kernels'] or 0:7}  {row['wrong'] or ''}"
              f"{'' if (row['ratio'] or 0) <= GOAL else row['schedule']}")
    print(f"geometric mean over {len(ratios)} cases: {geometric_mean(ratios):.2f} x the floor; {sum(r > GOAL for r in ratios)} above {GOAL}, "
          f"the highest {max(ratios, default=0):.2f}; {sum(bool(row['wrong']) for row in rows)} wrong")
    if o.json:
        write_json(o.json, {"copy_bytes_per_ns": best, "rows": rows})
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
