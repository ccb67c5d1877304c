#!/usr/bin/env python3
"""Times what the project has set itself goals for beside the best that PyTorch offers, on one GPU in one run.

    bench/goals.py [--tpat build/tpat] [--filter A,B] [--seconds N] [--json FILE]

One line a case: microseconds of tpat (`tpat bench`, the cost model's choice) and of the fastest peer, their ratio, and what tpat
reaches: TB/s of the bytes that must be read and written, or operations per second. Attention is compared with each backend of
scaled_dot_product_attention, packed weights with a product of f16 weights, recurrences with cuDNN, transforms with cuFFT. Inputs rotate
over more than 160 MB, and results are compared with PyTorch's in float64, as in bench/peers.py."""
import argparse
import math
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
import peers  # noqa: E402
from attention import backend_times, case_of  # noqa: E402
from case import Case, F, scalars, torch  # noqa: E402
from cases import cases  # noqa: E402
from drawn import recurrent  # noqa: E402
from report import write_json  # noqa: E402


class Goal:
    """A case, what it is compared with where that is not case.torch, and its operations (0: bytes count)."""

    def __init__(self, group, case, operations=0, size=0, times=None):
        self.group, self.case, self.operations, self.size, self.times = group, case, operations, size, times


def attentions():
    for d, heads in ((64, 32), (128, 16)):
        for length in (512, 2048, 8192, 16384):
            for causal in ("", ",causal"):
                yield "attention", f"{16384 // length},{heads},{heads},{length},{length},{d}{causal}"
    for n in (1, 4, 16, 64):
        yield "decode", f"{n},32,8,1,4096,128"


def packed(m, n=8192, block=128):
    """MatMulNBits: 4-bit weights, a scale for each block. Peer: a product of f16 weights."""
    def weights(q, s, t):
        pairs = torch.stack((q & 15, q >> 4), -1).reshape(n, n // block, block).to(t) - 8
        return (pairs * s.to(t).reshape(n, n // block, 1)).reshape(n, n)

    made = []

    def product(x, q, s):
        if not made:
            made.append(weights(q, s, torch.float16).t().contiguous())
        return x @ made[0]

    return Case(f"weights of 4 bits {m}x{n}x{n} f16", [("x", "f16", [m, n]), ("q", "u8", [n, n // block, block // 2]),
                                                      ("s", "f16", [n * n // block], 0.01)],
                [("MatMulNBits", ["x", "q", "s"], ["y"],
                  {"domain": "com.microsoft", "K": n, "N": n, "bits": 4, "block_size": block})],
                product, contraction=True, reference=lambda x, q, s: x @ weights(q, s, x.dtype).t())


def float8(m, n, k):
    """x and w as an exporter quantises them: w transposed, so that both run along k. Peer: cuBLAS with sums in f32."""
    def product(x, w):
        one = torch.ones((), device=x.device)
        return torch._scaled_mm(x, w.t(), one, one, out_dtype=torch.float16)

    return Case(f"product of FP8 {m}x{n}x{k}", [("x", "f8", [m, k]), ("w", "f8", [n, k])],
                [("DequantizeLinear", ["x", "s"], ["a"], {}), ("DequantizeLinear", ["w", "s"], ["b"], {}),
                 ("Transpose", ["b"], ["t"], {"perm": [1, 0]}), ("MatMul", ["a", "t"], ["y"], {})],
                product, constants=scalars("f16", s=1.0), contraction=True, reference=lambda x, w: x @ w.t())


class Sizes:
    """Named sizes in place of drawn ones, in the order in which a family asks for them."""

    def __init__(self, op, *sizes):
        self.op, self.sizes = op, list(sizes)

    def size(self, *_):
        return self.sizes.pop(0)

    def pick(self, *values):
        return next(v for v in values if v[0] == self.op)


def recurrences():
    for op, t, steps, batch, size, hidden in (
            ("LSTM", "f32", 50, 1, 256, 256), ("LSTM", "f16", 50, 32, 256, 256), ("LSTM", "f16", 50, 1, 1024, 1024),
            ("LSTM", "f32", 50, 8, 512, 512), ("LSTM", "f32", 100, 4, 128, 32), ("GRU", "f32", 50, 1, 256, 256),
            ("GRU", "f16", 64, 32, 512, 512), ("GRU", "f32", 100, 4, 128, 32)):
        name, inputs, nodes, fn, *_ = recurrent(Sizes(op, steps, batch, size, hidden), t)
        yield Case(f"{name} {t}", inputs, nodes, fn, contraction=True)


def sorts():
    for power in (20, 24, 28):
        n = 1 << power
        yield Case(f"sort 2^{power} f32", [("x", "f32", [n])], [("TopK", ["x", "k"], ["y", "j"], {})],
                   lambda x: torch.sort(x, descending=True), outputs=("y",), constants=scalars("f32", k=[n]))
    yield Case("top 50 of 8x151936 f32", [("x", "f32", [8, 151936])], [("TopK", ["x", "k"], ["y", "j"], {})],
               lambda x: torch.topk(x, 50), outputs=("y",), constants=scalars("f32", k=[50]))


def rows():
    for n, m in ((8192, 131072), (4096, 262144)):
        yield Case(f"softmax {n}x{m} f16", [("x", "f16", [n, m])], [("Softmax", ["x"], ["y"], {"axis": -1})],
                   lambda x: F.softmax(x, -1))
        yield Case(f"layer norm {n}x{m} f16", [("x", "f16", [n, m]), ("w", "f16", [m]), ("b", "f16", [m])],
                   [("LayerNormalization", ["x", "w", "b"], ["y"], {"axis": -1, "epsilon": 1e-5})],
                   lambda x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5))


def goals():
    for group, shape in attentions():
        case, size, operations = case_of(shape, torch)
        yield Goal(group, case, operations if group == "attention" else 0, size,
                   lambda inputs, case=case, operations=operations: backend_times(case, inputs, operations, torch))
    for m in (1, 4, 16):
        yield Goal("packed weights", packed(m))
    known = {case.name: case for case in cases()}
    yield Goal("integer product", known["matmul_integer_4096 i8"], 2 * 4096 ** 3)
    for m, n, k in ((4096, 4096, 4096), (4096, 7168, 16384)):
        yield Goal("FP8 product", float8(m, n, k), 2 * m * n * k)
    for case in recurrences():
        yield Goal("recurrence", case)
    for name in ("dft_64x4096", "dft_8192x1024", "dft_1024x1000", "dft_64x1021", "dft_16x65536", "dft_1x1048576", "stft_1x16000_400_160",
                 "stft_8x160000_512_128"):
        yield Goal("transform", known[f"{name} f32"])
    for case in sorts():
        yield Goal("sort", case)
    for case in rows():
        yield Goal("long rows", case)


def measured(goal, o):
    case, inputs = goal.case, goal.case.draw(torch)
    want = peers.as_list(case.reference(*[x.double() if x.is_floating_point() else x for x in inputs]))
    torch.cuda.empty_cache()
    room = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.NamedTemporaryFile() as lock, tempfile.TemporaryDirectory(dir=room) as folder:
        timing, answer, outputs = peers.Timing(o.tpat, case, inputs, folder, lock.name).result()
    row = {"group": goal.group, "case": case.name, "wrong": timing.get("error"), "schedule": timing.get("schedule")}
    if answer:
        row["device"], row["tpat_us"] = answer["device"], timing["ns"] / 1e3
        row["error"] = peers.error_of([torch.from_numpy(x).cuda() for x in outputs], want)
        row["bytes"] = goal.size or sum(x.numel() * x.element_size() for x in inputs) + sum(x.nbytes for x in outputs)
        if not row["error"] <= max(peers.TOLERANCE.get(x.dtype.name, 0) for x in outputs):
            row["wrong"] = f"differs by {row['error']:.2g} of the norm"
    del want
    torch.cuda.empty_cache()
    times = goal.times(inputs) if goal.times else {"torch": peers.torch_time(case.torch, inputs, torch)}
    row["peer"], row["peer_us"] = min(times.items(), key=lambda x: x[1], default=("", None))
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tpat", default="build/tpat")
    parser.add_argument("--filter", default="")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after so long")
    parser.add_argument("--json", default="")
    o = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    print(f"{torch.cuda.get_device_name()}\n{'case':42} {'tpat us':>9} {'peer us':>9} {'ratio':>6}   reached", flush=True)
    end, rows_made, ratios = time.monotonic() + o.seconds, [], {}
    for goal in goals():
        if not any(word in goal.case.name or word in goal.group for word in o.filter.split(",")) or time.monotonic() > end:
            continue
        try:
            row = measured(goal, o)
        except Exception as error:  # noqa: BLE001 - a peer that cannot run is part of the result
            row = {"group": goal.group, "case": goal.case.name, "wrong": str(error)[:120]}
        rows_made.append(row)
        mine, peer = row.get("tpat_us"), row.get("peer_us")
        ratio = peer / mine if mine and peer else None
        if ratio:
            ratios.setdefault(goal.group, []).append(ratio)
        reached = "" if not mine else f"{goal.operations / mine / 1e6:.0f} T/s" if goal.operations else f"{row['bytes'] / mine / 1e6:.2f} TB/s"
        text = [f"{x:{width}.2f}" if x else " " * (width - 1) + "-" for x, width in ((mine, 9), (peer, 9), (ratio, 6))]
        print(f"{goal.group + ' ' + goal.case.name:42} {' '.join(text)}   {reached}  {row.get('peer') or ''}  {row['wrong'] or ''}  "
              f"{row.get('schedule') or ''}", flush=True)
        torch.cuda.empty_cache()
        if o.json:
            write_json(o.json, {"rows": rows_made})
    for group, values in ratios.items():
        print(f"{group}: geometric mean {math.exp(sum(map(math.log, values)) / len(values)):.2f}, lowest {min(values):.2f} of {len(values)}")
    return 1 if any(row["wrong"] for row in rows_made) else 0


if __name__ == "__main__":
    sys.exit(main())
