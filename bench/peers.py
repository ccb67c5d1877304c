#!/usr/bin/env python3
"""Measures tpat's kernels beside PyTorch's in one run on one GPU, and prints a table with ratios.

    bench/peers.py --tpat build/tpat [--filter A,B] [--skip A,B] [--only-tpat] [--no-compile] [--json FILE]

For each case of bench/cases.py: tpat (`tpat bench`, which checks its results against the interpreter), PyTorch eager and
torch.compile (max-autotune). All are replays of recorded CUDA graphs over inputs and outputs that rotate over more than 160 MB; the
median counts. floor: the case's own bytes at the rate of the best copy kernel of the run. PyTorch's results are compared with
float64."""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases as case_list  # noqa: E402
import onnx  # noqa: E402

ROTATE = 256 << 20
REPLAYS = 21


def tpat_time(tpat, case, folder, unchecked):
    """The timing of the case's region as `tpat bench --json` gives it."""
    path = os.path.join(folder, "case.onnx")
    onnx.save(case.model(), path)
    argv = [tpat, "bench", path, "--region", case.region(), "--json"] + (["--unchecked"] if unchecked else [])
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    if not done.stdout.strip():
        return {"error": done.stderr.strip()[:200]}, None
    answer = json.loads(done.stdout)
    return answer["timings"][0], answer


def torch_inputs(case, torch):
    types = {"f32": torch.float32, "f16": torch.float16, "i64": torch.int64, "i32": torch.int32, "i8": torch.int8,
             "u8": torch.uint8}
    made = []
    for spec in case.inputs:
        kind, shape = types[spec[1]], spec[2]
        if kind.is_floating_point:
            made.append(torch.empty(shape, device="cuda", dtype=torch.float32).uniform_(-2, 2).to(kind))
        else:
            made.append(torch.randint(0, spec[3] if len(spec) > 3 else 100, shape, device="cuda", dtype=kind))
    return made


def torch_time(case, fn, torch):
    """Microseconds of one call, by the median of graph replays over rotated inputs."""
    first = torch_inputs(case, torch)
    result = fn(*first)
    parts = result if isinstance(result, (tuple, list)) else [result]
    moved = sum(x.numel() * x.element_size() for x in list(first) + list(parts))
    sets = [first] + [[x.clone() for x in first] for _ in range(min(63, ROTATE // max(moved, 1)))]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for s in sets[:3] * 2:
            fn(*s)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    rounds = max(1, min(16, 64 // len(sets)))
    keep = []
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(rounds):
            for s in sets:
                keep.append(fn(*s))
                if len(keep) > len(sets):
                    keep.pop(0)
    times = []
    for _ in range(REPLAYS + 3):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(stream):
            a.record()
            graph.replay()
            b.record()
        b.synchronize()
        times.append(a.elapsed_time(b) * 1e3 / (rounds * len(sets)))
    return statistics.median(times[3:])


def torch_error(case, fn, torch):
    """||out - reference|| / ||reference||, the reference in float64."""
    inputs = torch_inputs(case, torch)
    got = fn(*inputs)
    want = case.torch(*[x.double() if x.is_floating_point() else x for x in inputs])
    if isinstance(got, (tuple, list)):
        got, want = got[0], want[0]
    want = want.double()
    return float((got.double() - want).norm() / want.norm().clamp_min(1e-30))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tpat", default="build/tpat")
    parser.add_argument("--filter", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--only-tpat", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--unchecked", action="store_true")
    parser.add_argument("--json", default="")
    o = parser.parse_args()
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    rows, rates = [], []
    with tempfile.TemporaryDirectory() as folder:
        for case in case_list.cases():
            if not any(w in case.name for w in o.filter.split(",")) or any(w in case.name for w in o.skip.split(",") if w):
                continue
            row = {"case": case.name, "contraction": case.contraction}
            mine, answer = tpat_time(o.tpat, case, folder, o.unchecked)
            row["tpat_us"] = mine["ns"] / 1e3 if not mine.get("error") else None
            row["wrong"] = mine.get("wrong") or mine.get("error")
            row["schedule"], row["kernels"] = mine.get("schedule"), mine.get("kernels")
            if answer:
                row["device"], row["bytes"] = answer["device"], mine["bytes"]
                rates.append(answer["bytes_per_ns"])
            ways = {} if o.only_tpat or not case.torch else {"eager": case.torch}
            if ways and not o.no_compile:
                ways["compile"] = None
            for name, fn in ways.items():
                try:
                    if fn is None:
                        torch._dynamo.reset()
                        fn = torch.compile(case.torch, mode="max-autotune-no-cudagraphs", dynamic=False)
                    row[f"{name}_error"] = torch_error(case, fn, torch)
                    row[f"{name}_us"] = torch_time(case, fn, torch)
                except Exception as error:  # noqa: BLE001 - a peer that cannot run is part of the result
                    row[f"{name}_why"] = str(error)[:160]
            rows.append(row)
            print(row["case"], row["tpat_us"], row.get("eager_us"), row.get("compile_us"), row["wrong"] or "", flush=True)
    best = max(rates) if rates else 0
    ratios = []
    print(f"\n{rows[0].get('device') if rows else ''}; best copy kernel {best:.0f} GB/s")
    print(f"{'case':44} {'tpat us':>9} {'floor':>6} {'eager':>9} {'compile':>9} {'speed':>6}")
    for row in rows:
        mine, peers = row["tpat_us"], [row[k] for k in ("eager_us", "compile_us") if row.get(k)]
        row["floor_us"] = row["bytes"] / best / 1e3 if best and row.get("bytes") else None
        row["speed"] = min(peers) / mine if mine and peers else None
        if row["speed"] and not row["contraction"]:
            ratios.append(row["speed"])
        text = [f"{x:9.2f}" if x else "        -" for x in (mine, row.get("eager_us"), row.get("compile_us"))]
        over = f"{mine / row['floor_us']:6.2f}" if mine and row["floor_us"] else "     -"
        speed = f"{row['speed']:6.2f}" if row["speed"] else "     -"
        print(f"{row['case']:44} {text[0]} {over} {text[1]} {text[2]} {speed}  {row['wrong'] or ''}  {row['schedule'] or ''}")
    if ratios:
        print(f"geometric mean over {len(ratios)} cases without contractions: "
              f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f} x the better of eager and torch.compile")
    if o.json:
        with open(o.json + ".tmp", "w", encoding="utf-8") as file:
            json.dump({"best_copy_GBps": best, "rows": rows}, file, indent=1)
        os.replace(o.json + ".tmp", o.json)
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
