#!/usr/bin/env python3
"""Tunes the kernels of benchmark cases on the GPU, and prints how far the cost model's own choice is from the best found.

    bench/tuned.py --tpat build/tpat [--drawn SEED [--count N]] [--filter A,B] [--skip A,B] [--budget 2s] [--trials N]
                   [--db FILE] [--device cuda] [--limit SECONDS] [--more 8s] [--json FILE]

All cases of bench/cases.py, or N that bench/drawn.py draws by a seed, whose name holds one of the words (without --filter: a
list of about 20 of the former that stands for all, or all of the latter) become regions of one model, at their real extents,
for `tpat tune`. Before, tuned: microseconds of one run by the cost
model's choice and by the best schedule found; ratio: of the two; floor: what the case's own bytes take at the rate of the best
copy kernel. end: "nothing left to gain" means that the rules' choices are exhausted, so that more time finds no more.

--limit leaves out the last cases where the budgets together would take longer. --more tunes a second time from the same
database with another budget, and prints what the first one had missed: a short search is compared with a long one.
The database is a new one unless --db names one, from which `tpat build` can then take the schedules."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from case import OPSET  # noqa: E402
import onnx  # noqa: E402
from onnx import compose, helper  # noqa: E402
from report import add_case_options, case_list, chosen, geometric_mean, write_json  # noqa: E402

USUAL = ["layernorm_8192x4096", "layernorm_16384x768", "softmax_16384x768", "softmax_128x65536", "transpose2d",
         "nchw_to_nhwc", "resize_linear_32x64", "reducemax", "maxpool3", "conv3x3_32", "matmul_1024", "bias_gelu"]
OVERHEAD = 0.8  # seconds per case besides its budget: inputs, the reference, opening the device


def seconds(text):
    return float(text.rstrip("sm")) * (60 if text.endswith("m") else 1)


def one_model(cases, path):
    """All cases together in one graph; the names of case k begin with c{k}_."""
    graph = helper.make_graph([], "cases", [], [])
    for k, case in enumerate(cases):
        part = compose.add_prefix(case.model(), f"c{k}_").graph
        for field in ("node", "input", "output", "initializer", "value_info"):
            getattr(graph, field).extend(getattr(part, field))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11), path)


def tune(o, cases, path, db, budget):
    argv = [o.tpat, "tune", path, "--json", "--budget", budget, "--db", db, "--device", o.device]
    argv += ["--trials", str(o.trials)] if o.trials else []
    for k, case in enumerate(cases):
        argv += ["--region", ",".join(f"c{k}_{name}" for name in case.region().split(","))]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout.strip():
        sys.exit(done.returncode or 1)
    answer = json.loads(done.stdout)
    found = {}
    for row in answer["tuned"]:
        found[int(row["node"][1:].split("_")[0])] = row
    return answer, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tpat", default="build/tpat")
    add_case_options(parser)
    parser.add_argument("--filter", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--budget", default="2s")
    parser.add_argument("--more", default="")
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=float, default=0)
    parser.add_argument("--db", default="")
    parser.add_argument("--json", default="")
    o = parser.parse_args()
    words = o.filter.split(",") if o.filter or o.drawn else USUAL
    cases = chosen(case_list(o), words, o.skip)
    a_case = seconds(o.budget) + (seconds(o.more) if o.more else 0) + OVERHEAD
    cases = cases[:max(1, int(o.limit / a_case))] if o.limit else cases
    with tempfile.TemporaryDirectory() as folder:
        path, db = os.path.join(folder, "cases.onnx"), o.db or os.path.join(folder, "tuned.db")
        one_model(cases, path)
        answer, found = tune(o, cases, path, db, o.budget)
        again = tune(o, cases, path, db, o.more)[1] if o.more else {}
    print(f"{answer['device']}; best copy kernel {answer['bytes_per_ns']:.0f} GB/s; budget {o.budget} a case"
          + (f", then {o.more}" if o.more else ""))
    more = f" {'more us':>9} {'missed':>7}" if o.more else ""
    print(f"{'case':42} {'before us':>10} {'tuned us':>9} {'ratio':>6} {'floor':>6}{more} {'trials':>6} {'time':>5}  end; before -> tuned")
    ratios, missed = [], []
    for k, case in enumerate(cases):
        row = found.get(k)
        if not row or not row["ns"]:
            print(f"{case.name:42} {row['error'] if row else 'not reached'}")
            continue
        later = again.get(k, row)
        best = min(row["ns"], later["ns"] or row["ns"])
        ratio = row["before_ns"] / best if row["before_ns"] else 0
        if ratio:
            ratios.append(max(ratio, 1))
        missed.append(row["ns"] / best)
        text = f" {best / 1e3:9.2f} {row['ns'] / best:7.3f}" if o.more else ""
        change = "the same" if row["before"] == row["schedule"] else f"{row['before']} -> {row['schedule']}"
        print(f"{case.name:42} {row['before_ns'] / 1e3:10.2f} {row['ns'] / 1e3:9.2f} {ratio:6.2f} "
              f"{best / row['floor_ns'] if row['floor_ns'] else 0:6.2f}{text} {row['trials']:6} {row['seconds']:5.1f}  {later['end']}"
              f"{', %d failed' % row['failed'] if row['failed'] else ''}; {change}", flush=True)
    if ratios:
        print(f"geometric mean over {len(ratios)} cases: the cost model's choice takes {geometric_mean(ratios):.3f} x the best found")
    if o.more and missed:
        print(f"what {o.budget} missed of what {o.budget} and {o.more} found: {max(missed):.3f} x at most, "
              f"{geometric_mean(missed):.3f} x on average")
    if o.json:
        write_json(o.json, {"first": answer, "more": list(again.values()), "cases": [c.name for c in cases]})
    return int(any(k not in found or found[k]["error"] for k in range(len(cases))))


if __name__ == "__main__":
    sys.exit(main())
