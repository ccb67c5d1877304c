#!/usr/bin/env python3
"""Compares dynamic builds of drawn cases with static builds of the same shapes, through the plugins' ABI, on a GPU.

    make build/bench/hosted; bench/dynamic.py --tpat build/tpat SEED [--count N] [--filter A,B] [--skip A,B] [--points N]
                                              [--seconds N] [--json FILE]

bench/drawn.py draws the cases. A dynamic build leaves the first axis open, or all drawn sizes; its profile goes from an
eighth of the drawn sizes to four times of them. The points are the drawn sizes and random ones between. build/bench/hosted
times all builds of one point in turn, with inputs and outputs that rotate over more than the L2 cache. Prints the ratio
dynamic / static of every point, the worst first."""
import argparse
import concurrent.futures
import glob
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from draw import ELEMENTS, Extent  # noqa: E402
from drawn import drawn  # noqa: E402
from report import chosen, geometric_mean, write_json  # noqa: E402

# The largest difference of the outputs' norms: a dynamic kernel may sum in another order.
TOLERANCE = 4e-3
# Of the cost model's 2.5 us for a launch, what one in a graph does not take.
HIDDEN_US = 1.9


class Open:
    """A drawn case some of whose sizes are open: the profile and the points, as name -> size."""

    def __init__(self, case, seed, points):
        self.case, self.name, self.random = case, case.name, random.Random(seed)
        sizes = {}
        for i in case.inputs:
            for n in i[2]:
                if isinstance(n, Extent):
                    sizes.setdefault(n.name, n)
        first = case.inputs[0][2][0]
        self.way = self.random.choice(("all", "first")) if isinstance(first, Extent) else "all"
        self.open = [first] if self.way == "first" else list(sizes.values())
        self.opt = {n.name: int(n) for n in self.open}
        self.min = {n.name: max(n.low, n // 8) for n in self.open}
        for factor in (4, 3, 2, 1.5, 1):
            self.max = {n.name: max(int(n), min(n.high, int(n * factor))) for n in self.open}
            if all(np.prod([float(self.at(k, self.max)) for k in i[2]]) <= ELEMENTS for i in case.inputs):
                break
        self.points = [self.opt] + [self.between(*((self.min, self.opt), (self.opt, self.max))[k % 2])
                                    for k in range(points - 1)]

    def between(self, low, high):
        return {k: round(low[k] * (high[k] / low[k]) ** self.random.random()) for k in low}

    @staticmethod
    def at(n, sizes):
        return sizes.get(n.name, int(n)) if isinstance(n, Extent) else n

    def shape(self, i, sizes):
        return "x".join(str(self.at(n, sizes)) for n in i[2])

    def model(self, sizes=None):
        """The model at these sizes, or with the open ones as symbols."""
        if sizes is None:
            return self.case.model(lambda n: n.name if getattr(n, "name", None) in self.opt else int(n))
        return self.case.model(lambda n: self.at(n, sizes))

    def profile(self):
        return [a for i in self.case.inputs for a in
                ("--profile", f"{i[0]}:{','.join(self.shape(i, s) for s in (self.min, self.opt, self.max))}")]

    def at_point(self, sizes):
        """Profiles of one point."""
        return " ".join(f"{i[0]}:{','.join([self.shape(i, sizes)] * 3)}" for i in self.case.inputs)

    def values(self, i, sizes):
        how = i[3] if len(i) > 3 else None
        if isinstance(how, (int, np.integer)):
            return f"0,{self.at(how, sizes) - 1}"
        if isinstance(how, float):
            return f"{-how},{how}"
        if isinstance(how, tuple):
            return f"0,{min(self.at(n, sizes) for n in how) - 1}"
        return {"sparse": "0,1", "mask": "0,1"}.get(how, "-2,2" if i[1] in ("f32", "f16") else "-100,100")

    def job(self, label, library, sizes, profile):
        fields = [":".join([self.shape(i, s) for s in profile] + [self.shape(i, sizes), self.values(i, sizes)])
                  for i in self.case.inputs]
        return "\t".join([label, library, *fields]) + "\n"


def build(tpat, folder, model, region, more):
    """The library, or the complaint."""
    os.makedirs(folder)
    path = os.path.join(folder, "case.onnx")
    onnx.save(model, path)
    argv = [tpat, "build", path, "--region", region, "-o", os.path.join(folder, "out.onnx"), "--arch", "sm_90", "--no-db",
            "-j", "1", *more]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    library = glob.glob(os.path.join(folder, "*.so"))
    return (library[0], "") if done.returncode == 0 and library else ("", (done.stderr.strip() or "no library")[:200])


def build_all(cases, o, folder):
    """For each case the library of the dynamic build and those of its points."""
    made = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for k, c in enumerate(cases):
            made[k, -1] = pool.submit(build, o.tpat, f"{folder}/{k}_dynamic", c.model(), c.case.region(), c.profile())
            for p, sizes in enumerate(c.points):
                made[k, p] = pool.submit(build, o.tpat, f"{folder}/{k}_{p}", c.model(sizes), c.case.region(), [])
    return {key: job.result() for key, job in made.items()}


def jobs_of(cases, made):
    lines = []
    for k, c in enumerate(cases):
        for p, sizes in enumerate(c.points):
            (dynamic, why), (static, why_not) = made[k, -1], made[k, p]
            if not dynamic or not static:
                print(f"{c.case.name}: left out: {why or why_not}")
                continue
            lines.append(c.job(f"{k}/{p}", static, sizes, (sizes, sizes, sizes)))
            lines.append(c.job(f"{k}/{p}", dynamic, sizes, (c.min, c.opt, c.max)))
    return lines


def rows_of(cases, lines):
    """The measured points, from the lines that build/bench/hosted prints: static, then dynamic."""
    rows, static = [], None
    for line in lines:
        label, _, launches, us, norm = line.rstrip("\n").split("\t")
        k, p = map(int, label.split("/"))
        if static is None:
            static = (us, launches, norm)
            continue
        c = cases[k]
        row = {"case": c.case.name, "open": c.way, "sizes": c.points[p], "inputs": [c.shape(i, c.points[p]) for i in c.case.inputs]}
        if us:
            row.update(static_us=float(static[0]), dynamic_us=float(us), norm=float(norm), ratio=float(us) / float(static[0]),
                       launches=[int(static[1]), int(launches)])
        else:
            row["error"] = max(static[2], norm, key=len)
        rows.append(row)
        static = None
    return rows


def print_rows(rows):
    good = [r for r in rows if "ratio" in r]
    for r in sorted(good, key=lambda r: -r["ratio"]):
        wrong = "  WRONG: differs by %.2g" % r["norm"] if not r["norm"] <= TOLERANCE else ""
        print(f"{r['ratio']:6.3f} {r['dynamic_us']:9.2f} {r['static_us']:9.2f}  {r['case']}, open: {r['open']}, at "
              f"{' '.join(r['inputs'])}{wrong}")
    for r in rows:
        if "error" in r:
            print(f"failed: {r['case']}: {r['error']}")
    if good:
        ratios = [r["ratio"] for r in good]
        print(f"{len(good)} points of {len({r['case'] for r in good})} cases: dynamic / static {geometric_mean(ratios):.3f}, "
              f"{sum(x > 1.5 for x in ratios)} above 1.5, {sum(x > 1.08 for x in ratios)} above 1.08, the worst {max(ratios):.2f}")


def planned(program, gpu, folder, c, sizes, model, profile):
    """The kernels that run at a point, and two estimates: of them, and of the best choices there. Then those of a second tactic,
    or of the same."""
    path, index = os.path.join(folder, "case.onnx"), os.path.join(folder, "index.tsv")
    onnx.save(model, path)
    with open(index, "w", encoding="utf-8") as file:
        file.write(f"{c.case.name}\t{path}\t{c.case.region()}\t{profile}\t{c.at_point(sizes)}\n")
    done = subprocess.run([program, index, gpu], capture_output=True, text=True, check=False)
    if done.returncode:
        return "fails: " + done.stderr.strip(), float("nan"), float("nan"), "", float("nan")
    field = done.stdout.rstrip("\n").split("\t")
    other = field[6:] or field[2:]
    return field[2], float(field[4]), float(field[5]), other[0], float(other[2])


def compare_plans(cases, folder, gpu):
    """Prints the kernels that run at each point where a dynamic build runs others than a static one, the largest ratio of
    their estimates first, without most of a launch: between others, it takes less than the estimates say. Needs no GPU."""
    program, same, points = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/bench/plans"), 0, []
    for c in cases:
        for sizes in c.points:
            static, static_us, *_ = planned(program, gpu, folder, c, sizes, c.model(sizes), c.at_point(sizes))
            dynamic, dynamic_us, best_us, other, other_us = planned(program, gpu, folder, c, sizes, c.model(), " ".join(c.profile()[1::2]))
            same += static == dynamic
            less = static_us - HIDDEN_US
            points.append(((dynamic_us - HIDDEN_US) / less, (best_us - HIDDEN_US) / less, (other_us - HIDDEN_US) / less,
                           static == dynamic, f"{dynamic_us:.2f} us instead of {static_us:.2f}: {c.name}, open: {c.way}, at "
                           f"{' '.join(c.shape(i, sizes) for i in c.case.inputs)}\n"
                           f"    static  {static}\n    dynamic {dynamic}\n    tactic  {other}"))
    for ratio, best, other, equal, text in sorted(points, key=lambda x: -max(x[0], x[2])):
        if not equal or max(ratio, other) > 1.02:
            print(f"{ratio:.2f} (the best choices there: {best:.2f}, the second tactic: {other:.2f}) {text}")
    known = [x for x in points if x[0] == x[0]]
    print(f"{same} of {len(points)} points run the same kernels; " + "; ".join(
        f"{name}: {geometric_mean([x[k] for x in known]):.3f}, {sum(x[k] > 1.5 for x in known)} above 1.5"
        for name, k in (("estimates", 0), ("of the second tactic", 2))))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("seed")
    parser.add_argument("--tpat", default="build/tpat")
    parser.add_argument("--hosted", default="build/bench/hosted")
    parser.add_argument("--count", type=int, default=58)
    parser.add_argument("--points", type=int, default=3)
    parser.add_argument("--filter", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--seconds", type=float, default=3600, help="stop timing after so long")
    parser.add_argument("--json", default="")
    parser.add_argument("--keep", default="", metavar="FOLDER", help="keep models, libraries and jobs there")
    parser.add_argument("--plans", default="", metavar="GPU", help="only compare the kernels that run; needs no GPU")
    o = parser.parse_args()
    start = time.monotonic()
    cases = [Open(c, f"{o.seed}/{k}", o.points) for k, c in enumerate(drawn(o.seed, o.count))]
    cases = chosen(cases, o.filter.split(","), o.skip)
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(o.keep or temporary)
        if o.plans:
            return compare_plans(cases, folder, o.plans)
        lines = jobs_of(cases, build_all(cases, o, folder))
        jobs = os.path.join(folder, "jobs.tsv")
        with open(jobs, "w", encoding="utf-8") as file:
            file.writelines(lines)
        print(f"built in {time.monotonic() - start:.0f} s", flush=True)
        out = os.path.join(folder, "times.tsv")
        with open(out, "w", encoding="utf-8") as file:
            left = max(1.0, o.seconds - (time.monotonic() - start))
            try:
                subprocess.run([o.hosted, jobs], stdout=file, timeout=left, check=False)
            except subprocess.TimeoutExpired:
                print(f"{o.seconds:.0f} s are over")
        with open(out, encoding="utf-8") as file:
            rows = rows_of(cases, [line for line in file if line.endswith("\n")])
    print_rows(rows)
    if o.json:
        write_json(o.json, {"seed": o.seed, "rows": rows})


if __name__ == "__main__":
    main()
