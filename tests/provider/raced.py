#!/usr/bin/env python3
"""Threads in one session, sessions that come and go, and runs that CUDA graphs repeat, under ThreadSanitizer:

    raced.py LIBRARY LOG

LIBRARY was compiled with -fsanitize=thread; with FAKE_GPU_IDLE the driver neither computes nor waits, so it puts threads in no
order. This program runs itself with the sanitizer's runtime. Reports of ONNX Runtime, which is not compiled so, are left out."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

import numpy
from onnx import TensorProto as T
from onnx import helper

from gpu import drawn, on_gpu
from host import Host, expect, made


def model():
    """Two regions with a node of ONNX Runtime between them; each has several kernels."""
    nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Add", ["a", "z"], ["y"]), helper.make_node("Softmax", ["y"], ["s"]),
             helper.make_node("MatMul", ["s", "w"], ["p"]), helper.make_node("Cast", ["p"], ["text"], to=T.STRING),
             helper.make_node("Cast", ["text"], ["q"], to=T.FLOAT), helper.make_node("TopK", ["q", "k"], ["v", "i"])]
    return made(nodes, [("x", T.FLOAT, ["N", 8]), ("z", T.FLOAT, ["N", 8])],
                [("y", T.FLOAT, ["N", 8]), ("v", T.FLOAT, ["N", 3]), ("i", T.INT64, ["N", 3])],
                [helper.make_tensor("w", T.FLOAT, [8, 8], numpy.ones(64)), helper.make_tensor("k", T.INT64, [1], [3])])


def some(session, seed):
    for k in range(6):
        x, z, _, _ = drawn((3, 5, 9, 1)[(seed + k) % 4], seed * 10 + k)
        session.run(None, {"x": x, "z": z})


def bound(session, seed):
    binding = session.io_binding()
    x, z, y, _ = drawn(5, seed)
    for name, array in ("x", x), ("z", z):
        binding.bind_ortvalue_input(name, on_gpu(array))
    binding.bind_ortvalue_output("y", on_gpu(numpy.zeros_like(y)))
    for name in "vi":
        binding.bind_output(name, "cuda", 0)
    for _ in range(5):
        session.run_with_iobinding(binding)


def at_once(*calls):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(*call) for call in calls]:
            done.result()


def threads(library):
    host = Host(library)
    session = host.session(model())
    at_once(*((call, session, seed) for seed in range(4) for call in (some, bound)))

    def come_and_go(seed):
        for _ in range(2):
            some(host.session(model()), seed)
    at_once(*((come_and_go, seed) for seed in range(3)), (bound, session, 9))
    print("ran", flush=True)


def main(library, log):
    for old in glob.glob(log + ".*"):
        os.remove(old)
    runtime = subprocess.run(["gcc", "-print-file-name=libtsan.so"], check=True, capture_output=True, text=True).stdout.strip()
    done = subprocess.run(["setarch", "-R", sys.executable, __file__, "--threads", library], capture_output=True, text=True, check=False,
                          env={**os.environ, "LD_PRELOAD": runtime, "TSAN_OPTIONS": f"log_path={log} history_size=4"})
    expect(done.stdout == "ran\n", done.stdout + done.stderr)
    reports = [report for path in glob.glob(log + ".*") for report in open(path, encoding="utf-8").read().split("=" * 18 + "\n")
               if re.search(r"^    #0 .*\(" + re.escape(os.path.basename(library)), report, re.M)]
    print(*reports, f"{not reports:d} passed, {len(reports)} failed", sep="\n")
    return bool(reports)


if __name__ == "__main__":
    sys.exit(threads(sys.argv[2]) if sys.argv[1] == "--threads" else main(*sys.argv[1:]))
