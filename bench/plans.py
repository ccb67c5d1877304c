#!/usr/bin/env python3
"""The schedules that the cost model chooses for the benchmarks' cases: a line for each case and GPU.

    make build/bench/plans; bench/plans.py FOLDER "H100 SXM" A10 > before.tsv
    make build/bench/fitted; bench/plans.py FOLDER --drawn SEED --count N --tuned DB H200

Needs no GPU and no PyTorch. FOLDER keeps the models. The difference of two outputs shows which choices a change affects.
--drawn: the cases that bench/drawn.py draws by a seed. --tuned: for the cases of which a tuning database has trials on this
GPU's architecture, the time of the trial with the best estimate over that of the fastest (build/bench/fitted); the database
is one that bench/tuned.py --db has written for the same cases."""
import argparse
import os
import subprocess
import sys

import onnx

from report import add_case_options, case_list


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder")
    parser.add_argument("gpus", nargs="+")
    add_case_options(parser)
    parser.add_argument("--tuned", default="")
    o = parser.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    index = os.path.join(o.folder, "index.tsv")
    with open(index, "w", encoding="utf-8") as out:
        for k, case in enumerate(case_list(o)):
            name = f"{o.drawn}_{k}" if o.drawn else case.name.replace(" ", "_")
            path = os.path.join(o.folder, name + ".onnx")
            if not os.path.exists(path):
                onnx.save(case.model(), path)
            out.write(f"{case.name}\t{path}\t{case.region()}\n")
    programs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/bench")
    argv = ["fitted", o.tuned, index, *o.gpus] if o.tuned else ["plans", index, *o.gpus]
    sys.exit(subprocess.run([os.path.join(programs, argv[0]), *argv[1:]], check=False).returncode)


if __name__ == "__main__":
    main()
