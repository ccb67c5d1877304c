#!/usr/bin/env python3
"""Updates of caches in place: tpat build --in-place, and the host that lets outputs have the memory of inputs.

    in_place.py [COUNT [SEED]] [--device D] [--jobs N]

Draws models in which an output is an input with some elements replaced (TensorScatter, ScatterND, ScatterElements, Where),
of random types and extents, some open, builds and verifies each: tpat verify runs a plugin with memory of its own, and again
in the input's memory. The library's tables tell which outputs may have it. Some models must not: another node reads the
cache, the model gives it back as well, it is a constant, the region itself reads it again, or --in-place is not given.
It verifies with D, such as cuda; without it with the processor, and each sixth with the emulator."""
import argparse
import concurrent.futures
import glob
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper

TPAT = os.path.abspath("build/tpat")
TYPES = {T.FLOAT: np.float32, T.FLOAT16: np.float16, T.INT32: np.int32}
WHY_NOT = ["read", "output", "constant", "again", "option"]


def update(draw, kind, shape):
    """Nodes that make present from cache, other inputs with their types and extents, and constants."""
    rank = len(shape)
    if kind == "TensorScatter":
        axis = draw.randrange(1, rank)
        shape[axis] += 1
        new = [draw.randrange(1, n) if k == axis else n for k, n in enumerate(shape)]
        mode = draw.choice(["linear", "circular"])
        node = helper.make_node("TensorScatter", ["cache", "new", "where"], ["present"], name="node", axis=axis, mode=mode)
        most = shape[axis] - new[axis] if mode == "linear" else shape[axis] - 1
        return [node], {"new": new}, {"where": np.array([draw.randint(0, most) for _ in range(shape[0])], np.int64)}
    if kind == "ScatterND":
        lead, count = draw.randint(1, rank), draw.randint(1, 5)
        places = draw.sample(range(int(np.prod(shape[:lead]))), min(count, int(np.prod(shape[:lead]))))
        index = np.stack(np.unravel_index(places, shape[:lead]), -1).astype(np.int64)
        return ([helper.make_node("ScatterND", ["cache", "where", "new"], ["present"], name="node",
                                  reduction=draw.choice(["none", "none", "add", "max"]))],
                {"new": [len(places), *shape[lead:]]}, {"where": index})
    if kind == "ScatterElements":
        axis = draw.randrange(rank)
        new = [draw.randint(1, n) for n in shape]
        index = np.argsort(np.random.default_rng(draw.randrange(9999)).random(
            [shape[axis] if k == axis else n for k, n in enumerate(new)]), axis)
        index = np.take(index, range(new[axis]), axis).astype(np.int64)
        return ([helper.make_node("ScatterElements", ["cache", "where", "new"], ["present"], name="node", axis=axis,
                                  reduction=draw.choice(["none", "none", "add"]))], {"new": new}, {"where": index})
    shape[-1] += 1
    mask = np.random.default_rng(draw.randrange(9999)).random([1] * (rank - 1) + [shape[-1]]) < 0.3
    mask.flat[0], mask.flat[-1] = draw.choice([(True, False), (False, True)])
    names = ["where", "new", "cache"] if draw.random() < 0.5 else ["where", "cache", "new"]
    return [helper.make_node("Where", names, ["present"], name="node")], {"new": [1] * rank}, {"where": mask}


def make(draw, kind, why_not):
    """The model's text for messages, and the model."""
    dtype = draw.choice(sorted(TYPES))
    shape = [draw.randint(1, 7) for _ in range(draw.randint(2, 4))]
    nodes, others, constants = update(draw, kind, shape)
    open_extents = why_not != "constant" and kind != "ScatterElements" and draw.random() < 0.4 and kind != "ScatterND"
    given = {name: list(s) for name, s in [("cache", shape), *others.items()]}
    if open_extents and kind == "TensorScatter":
        for s in given.values():
            s[0] = "batch"
        constants["where"] = constants["where"][:1] * 0
        nodes.insert(0, helper.make_node("Shape", ["new"], ["batch_of_new"], end=1))
        nodes.insert(1, helper.make_node("Expand", ["zero", "batch_of_new"], ["where"]))
        constants = {"zero": np.zeros(1, np.int64)}
    inputs = [helper.make_tensor_value_info(n, dtype, s) for n, s in given.items()]
    outputs = [helper.make_tensor_value_info("present", dtype, given["cache"])]
    made = [onnx.numpy_helper.from_array(v, n) for n, v in constants.items()]
    inner = why_not is None and draw.random() < 0.4
    if inner:  # a node of the engine's makes the cache
        nodes[-1].input[list(nodes[-1].input).index("cache")] = "held"
        nodes.insert(0, helper.make_node("Abs", ["cache"], ["held"]))
    if why_not == "read":
        nodes.append(helper.make_node("Abs", ["cache"], ["also"]))
    if why_not == "output":
        nodes[-1].input[list(nodes[-1].input).index("cache")] = "held"
        nodes.insert(0, helper.make_node("Abs", ["cache"], ["held"]))
        outputs.append(helper.make_tensor_value_info("held", dtype, given["cache"]))
    if why_not == "constant":
        inputs.pop(0)
        made.append(onnx.numpy_helper.from_array((np.random.default_rng(1).random(shape) * 9).astype(TYPES[dtype]), "cache"))
    if why_not == "again":
        nodes[-1].output[0] = "changed"
        nodes.append(helper.make_node("Neg", ["cache"], ["negative"], name="negative"))
        nodes.append(helper.make_node("ReduceSum", ["negative"], ["sum"], name="sum", keepdims=0))
        nodes.append(helper.make_node("Identity", ["changed"], ["present"], name="same"))
        outputs.append(helper.make_tensor_value_info("sum", dtype, []))
    if why_not == "read":
        outputs.append(helper.make_tensor_value_info("also", dtype, given["cache"]))
    graph = helper.make_graph(nodes, "update", inputs, outputs, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
    model.ir_version = 10
    return f"{kind} {shape} {TYPES[dtype].__name__}{' open' if open_extents else ''}", model


def run(*argv):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


def one(number, seed, device):
    """What is wrong, or False."""
    draw = random.Random(seed * 1000 + number)
    kind = ["TensorScatter", "ScatterND", "ScatterElements", "Where"][number % 4]
    why_not = WHY_NOT[number // 4 % 8] if number // 4 % 8 < len(WHY_NOT) else None
    about, model = make(draw, kind, why_not)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a cache.onnx"
        onnx.save(model, path)
        select = ["--region", "node,negative,sum,same"] if why_not == "again" else ["-n", "node"]
        arch = "native" if device == "cuda" else "compute_90"
        # A TensorScatter of an input is what TensorRT refuses, so that fix takes it by itself.
        by_itself = not why_not and kind == "TensorScatter" and "held" not in model.graph.node[-1].input
        how = [] if by_itself else ["--no-db", *select]
        status, said = run(TPAT, "build" if how else "fix", path, *how, *(["--in-place"] if why_not != "option" else []),
                           "--arch", arch, "-q", "-o", f"{folder}/out.onnx", *(() if how else ("-d", device or "cpu")))
        tables = "".join(open(f).read() for f in glob.glob(f"{folder}/out.tpat/plugins/*.h"))
        placed = ".replaces" in tables and ".fills" in tables
        if status == 0:
            device = device or ("emulator" if number % 6 == 0 else "cpu")
            status, said = run(TPAT, "verify", f"{folder}/out.onnx", "--device", device, "--runs", "3")
    wrong = status != 0 or placed != (why_not is None)
    return wrong and f"{number}: {about}, {why_not or 'in place'}: status {status}, {'has' if placed else 'lacks'} .replaces\n{said}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=24)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--device", default="")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        done = list(pool.map(lambda number: one(number, options.seed, options.device), range(options.count)))
    for wrong in done:
        if wrong:
            print(wrong)
    failed = sum(map(bool, done))
    print(f"{len(done) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
