#!/usr/bin/env python3
"""Measures tpat's and PyTorch's kernels in one run on one GPU, and prints a table with ratios.

    bench/peers.py --tpat build/tpat [--drawn SEED [--count N]] [--filter A,B] [--skip A,B] [--only-tpat] [--no-compile]
                   [--plugins] [--every K [--from N]] [--seconds N] [--json FILE]

For each case of bench/cases.py, or N cases that bench/drawn.py draws by a seed: tpat (`tpat bench`), PyTorch eager and torch.compile (max-autotune; not where a library is the
peer). With --plugins, tpat is the plugin that `tpat build` makes, run through its ABI by build/bench/hosted, with inputs of
the types that TensorRT has. All are replays of recorded CUDA graphs over inputs and outputs that rotate over more than 160 MB; the median counts.
floor: the case's own bytes at the rate of the best copy kernel of the run. tpat's and PyTorch's results for the same inputs are
compared with PyTorch's in float64, at the extents that are timed."""
import argparse
import fcntl
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from case import ONNX_TYPE  # noqa: E402
from replay import replay_us  # noqa: E402
from report import add_case_options, case_list, chosen, geometric_mean, write_json  # noqa: E402

ROTATE = 256 << 20
REPLAYS = 21
COMPILE_SHARE = 0.35  # of --seconds, at most, for PyTorch's compiler
AHEAD = max(2, min(8, (os.cpu_count() or 1) // 2))  # cases that are being built while one is measured


# The tolerance of ||out - reference|| / ||reference||, by the type of the result.
TOLERANCE = {"float16": 4e-3, "float32": 2e-5, "uint8": 1e-3, "int8": 1e-2}


def said(argv):
    return output_of(subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def output_of(process):
    """The output and the complaints of a process, which is stopped after 300 seconds."""
    try:
        return process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        return "", "not done in 300 s"


def save_input(x, stem):
    """Writes a tensor for `tpat bench --input` and returns the file's path: .pb for a type that NumPy lacks."""
    if x.element_size() > 1 or not x.is_floating_point():
        np.save(stem, x.cpu().numpy())
        return stem + ".npy"
    bits = x.cpu().view(x.new_empty(0).byte().dtype).numpy()
    with open(stem + ".pb", "wb") as file:
        file.write(onnx.helper.make_tensor("", ONNX_TYPE["f8"], x.shape, bits.tobytes(), raw=True).SerializeToString())
    return stem + ".pb"


class Timing:
    """Starts `tpat bench` of a case as a process: it compiles while something else is timed, and waits for `lock` before
    timing."""

    def __init__(self, tpat, case, inputs, folder, lock):
        self.case, self.folder = case, folder
        path = os.path.join(folder, "case.onnx")
        onnx.save(case.model(), path)
        argv = [tpat, "bench", path, "--region", case.region(), "--json", "--unchecked", "--lock", lock, "--save-outputs", folder]
        for (name, *_), x in zip(case.inputs, inputs):
            argv += ["--input", f"{name}={save_input(x, os.path.join(folder, name))}"]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def result(self):
        """The timing of the case's region from `tpat bench --json`, the whole report, and the outputs."""
        out, complaint = output_of(self.process)
        if not out.strip():
            return {"error": complaint.strip()[:200]}, None, []
        answer = json.loads(out)
        timing = answer["timings"][0]
        if timing.get("error"):
            return timing, None, []
        return timing, answer, [np.load(os.path.join(self.folder, f"{name}.npy")) for name in self.case.outputs]


class PluginTiming(Timing):
    """The same for the case built as a plugin."""

    def __init__(self, tpat, case, inputs, folder, lock):
        self.case, self.tpat, self.folder, self.lock = case, tpat, folder, lock
        self.bytes = sum(x.numel() * x.element_size() for x in inputs)
        self.values = {name: x.cpu().numpy() for (name, *_), x in zip(case.inputs, inputs)}
        self.answer, self.made = None, []
        self.thread = threading.Thread(target=self.build_and_time)
        self.thread.start()

    def build_and_time(self):
        """Gives the plugin the inputs of its node in the rewritten model, of which some are the model's constants."""
        model, jobs, out = (os.path.join(self.folder, name) for name in ("case.onnx", "jobs.tsv", "out.onnx"))
        onnx.save(self.case.model(), model)
        complaint = said([self.tpat, "build", model, "--region", self.case.region(), "-o", out, "--arch", "native", "--no-db"])[1]
        if not os.path.exists(out):
            self.answer = "", complaint
            return
        graph = onnx.load(out).graph
        plugin = next(node for node in graph.node if node.domain == "tpat")
        cast = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Cast"}
        self.made = [list(plugin.output).index(cast.get(name, name)) for name in self.case.outputs]
        values = self.values | {x.name: onnx.numpy_helper.to_array(x) for x in graph.initializer}
        fields = [self.case.name.replace("\t", " "), os.path.join(self.folder, "libtpat_out.so")]
        for name in (cast.get(name, name) for name in plugin.input):
            file = os.path.join(self.folder, f"in_{len(fields)}.npy")
            np.save(file, values[name])
            fields.append(":".join(["x".join(map(str, values[name].shape))] * 4 + [file]))
        with open(jobs, "w", encoding="utf-8") as file:
            file.write("\t".join(fields) + "\n")
        hosted = os.path.join(os.path.dirname(os.path.abspath(self.tpat)), "bench/hosted")
        self.answer = said([hosted, jobs, self.folder, self.lock])

    def result(self):
        self.thread.join()
        out, complaint = self.answer or ("", "tpat's output could not be read")
        fields = out.rstrip("\n").split("\t")
        if len(fields) != 5 or not fields[3]:
            return {"error": (fields[-1] or complaint.strip())[-200:]}, None, []
        outputs = [np.load(os.path.join(self.folder, f"{k}.npy")) for k in self.made]
        moved = self.bytes + sum(x.nbytes for x in outputs)
        return {"ns": float(fields[3]) * 1e3, "kernels": int(fields[2]), "bytes": moved}, device_facts(), outputs


def device_facts():
    """The device's name, and the rate of PyTorch's copies, measured once."""
    import torch
    if not device_facts.known:
        x = torch.empty(ROTATE // 4, device="cuda")
        us = torch_time(lambda x: x.clone(), [x], torch)
        device_facts.known = {"device": torch.cuda.get_device_name(), "bytes_per_ns": 2 * ROTATE / us / 1e3}
    return device_facts.known


device_facts.known = None


def as_list(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


def error_of(got, want):
    """||got - want|| / ||want|| of the worst output. If an output has fewer results than room, they are at its start."""
    worst = 0.0
    for g, w in zip(got, want):
        w = w.reshape(-1).double()
        g = g.reshape(-1)[:w.numel()].double()
        worst = max(worst, float((g - w).norm() / w.norm().clamp_min(1e-30)))
    return worst


def torch_time(fn, first, torch):
    """Microseconds of one call, by the median of graph replays over rotated inputs."""
    parts = as_list(fn(*first))
    moved = sum(x.numel() * x.element_size() for x in list(first) + parts)
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
    return statistics.median(replay_us(torch, graph, stream, REPLAYS)) / (rounds * len(sets))


def compiled(case, torch):
    torch._dynamo.reset()
    return torch.compile(case.torch, mode="max-autotune-no-cudagraphs", dynamic=False)


def compile_all(argv, cases, seconds):
    """Has PyTorch compile the cases into its cache, with all processors, for `seconds` at most. The choice of the best
    kernel follows later, when nothing else runs, and is not cached (autotune_local_cache). Returns the cases, those first
    that were compiled in time, and the number of the others."""
    with tempfile.TemporaryDirectory() as folder:
        end = time.monotonic() + seconds
        parts = [subprocess.Popen([sys.executable, os.path.abspath(__file__), *argv, "--compile-into", folder],
                                  env={**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) for _ in range(os.cpu_count() or 1)]
        for part in parts:
            try:
                part.wait(max(0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                part.kill()
                part.wait()
        late = [k for k, case in enumerate(cases) if not case.contraction and not os.path.exists(f"{folder}/{k}.done")]
    return [c for k, c in enumerate(cases) if k not in late] + [cases[k] for k in late], len(late)


def compile_into(folder, cases, torch):
    """Compiles the cases that no other process has taken, and does not time the variants of a kernel: processes that share
    the GPU would wait for each other."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner
    CachingAutotuner.bench = lambda *_, **__: 1.0
    for k, case in enumerate(cases):
        if case.contraction:
            continue
        try:
            os.close(os.open(f"{folder}/{k}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        try:
            compiled(case, torch)(*case.draw(torch))
        except Exception:  # noqa: BLE001 - it is said when the case is measured
            pass
        os.close(os.open(f"{folder}/{k}.done", os.O_CREAT))
        torch.cuda.empty_cache()


def measure_torch(row, case, inputs, want, compile_too, torch):
    ways = {"eager": case.torch, "compile": None} if compile_too and not case.contraction else {"eager": case.torch}
    for name, fn in ways.items():
        try:
            if fn is None:
                fn = compiled(case, torch)
            if case.reference is case.torch:
                row[f"{name}_error"] = error_of(as_list(fn(*inputs)), want)
            row[f"{name}_us"] = torch_time(fn, inputs, torch)
        except Exception as error:  # noqa: BLE001 - a peer that cannot run is part of the result
            row[f"{name}_why"] = str(error)[:160]


class Measured:
    """One case, from its inputs to its row of the table. finish() removes its files."""

    def __init__(self, case, o, lock, torch):
        self.case, self.torch, self.inputs = case, torch, case.draw(torch)
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.tpat = (PluginTiming if o.plugins else Timing)(o.tpat, case, self.inputs, self.folder.name, lock)
        self.row = {"case": case.name, "contraction": case.contraction}

    def peers(self, o):
        start = time.monotonic()
        self.want = as_list(self.case.reference(*[x.double() if x.is_floating_point() else x for x in self.inputs]))
        if not o.only_tpat:
            measure_torch(self.row, self.case, self.inputs, self.want, not o.no_compile, self.torch)
        self.torch.cuda.synchronize()
        self.row["peers_s"] = time.monotonic() - start

    def finish(self):
        """The row, and the device's copy rate."""
        start = time.monotonic()
        row, (mine, answer, outputs) = self.row, self.tpat.result()
        row["waited_s"] = time.monotonic() - start
        row["wrong"] = mine.get("error")
        row["tpat_us"] = mine["ns"] / 1e3 if answer else None
        row["schedule"], row["kernels"] = mine.get("schedule"), mine.get("kernels")
        if answer:
            row["device"], row["bytes"] = answer["device"], mine["bytes"]
            row["tpat_error"] = error_of([self.torch.from_numpy(x).cuda() for x in outputs], self.want)
            # Values between the nodes of a chain are rounded to their type, as in PyTorch's eager mode.
            limit = max([row.get("eager_error", 0)] + [TOLERANCE.get(x.dtype.name, 0) for x in outputs])
            if not row["tpat_error"] <= limit:
                row["wrong"] = f"differs by {row['tpat_error']:.2g} of the norm"
        self.folder.cleanup()
        return row, answer["bytes_per_ns"] if answer else 0


def measure_all(cases, o, end, torch):
    """The rows and the copy rates. PyTorch measures a case while tpat prepares it and the next ones. Only the holder of the
    lock uses the device."""
    rows, rates, begun, left = [], [], deque(), deque(cases)
    with tempfile.NamedTemporaryFile() as lock:
        while begun or (left and time.monotonic() < end):
            fcntl.flock(lock, fcntl.LOCK_EX)
            while left and len(begun) < AHEAD and time.monotonic() < end:
                begun.append(Measured(left.popleft(), o, lock.name, torch))
            now = begun.popleft()
            now.peers(o)
            fcntl.flock(lock, fcntl.LOCK_UN)
            row, rate = now.finish()
            rows.append(row)
            rates.append(rate)
            if o.json:
                write_json(o.json, {"rows": rows})
            print(row["case"], row["tpat_us"], row.get("eager_us"), row.get("compile_us"), row["wrong"] or "", flush=True)
            torch.cuda.empty_cache()
    for case in left:
        print(f"{case.name}: left out, {o.seconds} s are over", flush=True)
    return rows, rates


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tpat", default="build/tpat")
    parser.add_argument("--filter", default="")
    parser.add_argument("--skip", default="")
    add_case_options(parser)
    parser.add_argument("--only-tpat", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--plugins", action="store_true", help="time plugins through their ABI")
    parser.add_argument("--every", type=int, default=1, help="of the cases only every K-th")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first of these, from 0")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after so long")
    parser.add_argument("--json", default="")
    parser.add_argument("--compile-into", default="", help=argparse.SUPPRESS)
    o = parser.parse_args()
    import torch
    import torch._inductor.config
    torch._inductor.config.autotune_local_cache = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    cases = chosen(case_list(o), o.filter.split(","), o.skip)[o.first::o.every]
    if o.compile_into:
        return compile_into(o.compile_into, cases, torch)
    start = time.monotonic()
    if not o.no_compile and not o.only_tpat:
        cases, late = compile_all(sys.argv[1:], cases, o.seconds * COMPILE_SHARE)
        print(f"compiled by PyTorch in {time.monotonic() - start:.0f} s; {late} cases are not, and come last", flush=True)
    rows, rates = measure_all(cases, o, start + o.seconds, torch)
    print(f"seconds of {time.monotonic() - start:.0f}: peers {sum(row['peers_s'] for row in rows):.0f}, waiting for tpat "
          f"{sum(row['waited_s'] for row in rows):.0f}")
    best = max(rates, default=0)
    print(f"\n{rows[0].get('device') if rows else ''}; best copy kernel {best:.0f} GB/s")
    print(f"{'case':44} {'tpat us':>9} {'floor':>6} {'eager':>9} {'compile':>9} {'speed':>6}")
    for row in rows:
        mine, peers = row["tpat_us"], [row[k] for k in ("eager_us", "compile_us") if row.get(k)]
        row["floor_us"] = row["bytes"] / best / 1e3 if best and row.get("bytes") else None
        row["speed"] = min(peers) / mine if mine and peers else None
    if o.drawn:
        rows.sort(key=lambda row: row["speed"] or 0)
    for row in rows:
        mine = row["tpat_us"]
        text = [f"{x:9.2f}" if x else "        -" for x in (mine, row.get("eager_us"), row.get("compile_us"))]
        over = f"{mine / row['floor_us']:6.2f}" if mine and row["floor_us"] else "     -"
        speed = f"{row['speed']:6.2f}" if row["speed"] else "     -"
        print(f"{row['case']:44} {text[0]} {over} {text[1]} {text[2]} {speed}  {row['wrong'] or ''}  {row['schedule'] or ''}")
    for contraction, words in ((False, "without contractions"), (True, "of contractions")):
        ratios = [row["speed"] for row in rows if row["speed"] and row["contraction"] == contraction]
        if ratios:
            print(f"geometric mean over {len(ratios)} cases {words}: {geometric_mean(ratios):.3f} x the better of eager and "
                  f"torch.compile; {sum(r < 0.97 for r in ratios)} below 0.97, the lowest {min(ratios):.2f}")
    if o.json:
        write_json(o.json, {"best_copy_GBps": best, "rows": rows})
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
