#!/usr/bin/env python3
"""Times attention on one GPU: tpat (`tpat bench`), and each backend of PyTorch's scaled_dot_product_attention.

    bench/attention.py [--tpat build/tpat] [SHAPE ...]

SHAPE: batch,heads,key heads,queries,keys,head size[,causal][,f32], such as 1,32,8,1,2048,128 or 2,16,16,512,512,64,causal. Without
shapes: those of docs/benchmarks.md. As in bench/peers.py, inputs rotate over more than 160 MB, and tpat's result is compared
with PyTorch's in float64. Prints microseconds, the ratio of the fastest backend to tpat, the bytes and operations per second
that tpat reaches, the error and the schedule."""
import argparse
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peers  # noqa: E402
from case import Case  # noqa: E402

SHAPES = """1,32,32,1,2048,128 1,32,8,1,2048,128 8,32,8,1,4096,128 64,32,8,1,2048,128 16,12,12,1,1024,64 1,8,8,32,4096,64 4,32,4,4,3001,128
1,32,8,2048,2048,128,causal 2,32,8,3000,3000,128,causal 8,16,16,2048,2048,64 8,16,16,2048,2048,64,causal 2,16,16,4096,4096,128
1,8,8,8192,8192,128 2,8,8,1024,1024,72 2,8,8,1024,1024,80 4,16,16,1000,1000,96 2,8,8,1024,1024,160 32,12,12,384,384,64 3,20,4,200,777,40
1,8,8,1024,1024,64,f32 4,12,12,384,384,80,f32 2,16,16,2048,2048,128,causal,f32 1,32,8,1,2048,128,f32""".split()
BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "math": "MATH"}
MOST_SCORES = 1 << 31  # of all heads at once, which the reference in float64 holds
MOST_MATH = 3e10  # operations; larger ones take PyTorch's plain products too long


def case_of(shape, torch):
    """The case of a shape, its bytes and its operations."""
    words = shape.split(",")
    n, h, kv, q, k, d = map(int, words[:6])
    causal, t, group = "causal" in words, "f32" if "f32" in words else "f16", h // kv
    attention = torch.nn.functional.scaled_dot_product_attention

    def repeated(*x):  # backends without groups of heads
        x = [x[0]] + [z.repeat_interleave(group, 1) for z in x[1:]] if group > 1 else x
        parts = [[z[:, i:i + 1] for z in x] for i in range(h)] if n * h * q * k > MOST_SCORES else [x]
        return torch.cat([attention(*part, is_causal=causal) for part in parts], 1)

    case = Case(shape, [("q", t, [n, h, q, d]), ("k", t, [n, kv, k, d]), ("v", t, [n, kv, k, d])],
                [("Attention", ["q", "k", "v"], ["y"], {"is_causal": int(causal)})],
                lambda x, k, v: attention(x, k, v, is_causal=causal, enable_gqa=group > 1), reference=repeated)
    size = 4 if t == "f32" else 2
    return case, size * 2 * d * n * (kv * k + h * q), 4.0 * n * h * q * k * d / (2 if causal else 1)


def backend_times(case, inputs, operations, torch):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    times = {}
    for name, backend in BACKENDS.items():
        for fn in (case.torch, case.reference) if name != "math" or operations < MOST_MATH else ():
            try:
                with sdpa_kernel(getattr(SDPBackend, backend)):
                    times[name] = peers.torch_time(fn, inputs, torch)
                break
            except RuntimeError:  # this backend does not take the shape
                torch.cuda.synchronize()
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tpat", default="build/tpat")
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    o = parser.parse_args()
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{torch.cuda.get_device_name()}\n{'shape':32} {'tpat':>9} " + " ".join(f"{name:>9}" for name in BACKENDS) +
          "  ratio   GB/s TFLOP/s   error  schedule")
    wrong = 0
    for shape in o.shapes:
        case, size, operations = case_of(shape, torch)
        inputs = case.draw(torch)
        want = [case.reference(*[x.double() for x in inputs])]
        with tempfile.NamedTemporaryFile() as lock, tempfile.TemporaryDirectory() as folder:
            timing, answer, outputs = peers.Timing(o.tpat, case, inputs, folder, lock.name).result()
        times = backend_times(case, inputs, operations, torch)
        best = min(times.values(), default=0)
        row = " ".join(f"{times[name]:9.2f}" if name in times else "        -" for name in BACKENDS)
        if not answer:
            print(f"{shape:32} {timing['error']}")
            wrong += 1
            continue
        mine = timing["ns"] / 1e3
        error = peers.error_of([torch.from_numpy(x).cuda() for x in outputs], want)
        wrong += not error <= peers.TOLERANCE[outputs[0].dtype.name]
        print(f"{shape:32} {mine:9.2f} {row} {best / mine:6.2f} {size / mine / 1e3:6.0f} {operations / mine / 1e6:7.1f} {error:7.1e}  "
              f"{timing['schedule']}", flush=True)
        del inputs, want
        torch.cuda.empty_cache()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
