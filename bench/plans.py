#!/usr/bin/env python3
"""The schedules that the cost model chooses for the benchmarks' cases: a line for each case and GPU.

    make build/bench/plans; bench/plans.py FOLDER "H100 SXM" A10 > before.tsv

Needs no GPU and no PyTorch. FOLDER gets the models. The diff of two outputs shows the choices that a change to the cost model
affects."""
import os
import subprocess
import sys

import onnx

from cases import cases


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, gpus = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    index = os.path.join(folder, "index.tsv")
    with open(index, "w", encoding="utf-8") as out:
        for case in cases():
            path = os.path.join(folder, case.name.replace(" ", "_") + ".onnx")
            if not os.path.exists(path):
                onnx.save(case.model(), path)
            out.write(f"{case.name}\t{path}\t{case.region()}\n")
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    sys.exit(subprocess.run([os.path.join(root, "build/bench/plans"), index, *gpus], check=False).returncode)


if __name__ == "__main__":
    main()
