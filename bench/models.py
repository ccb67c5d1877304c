#!/usr/bin/env python3
"""Times whole models: tpat's own kernels (`tpat run`) next to ONNX Runtime on the processor.

    bench/models.py measure FOLDER FILE [--device cuda] [--models A,B] [--jobs N] [--seconds S]
                                       FOLDER: what tests/zoo/data.py wrote; writes FILE, a line per model
    bench/models.py torch FOLDER FILE [--device cuda] [--models A,B] [--jobs N] [--seconds S]
                                       the same in PyTorch, eager and compiled, where tests/zoo has the model's source
    bench/models.py provider FOLDER FILE [--torch FILE] [--models A,B] [--seconds S]
                                       in ONNX Runtime with tpat's execution provider, next to PyTorch's times
    bench/models.py auto FILE MODEL[,OPTION ...] ...
                                       what --auto makes of each model, with these options of tpat build; adds to FILE
    bench/models.py table [FILE] [--torch FILE] [--when DATES]
                                       prints docs/models.md from such files, bench/provider.tsv and bench/auto.tsv; without FILE it
                                       has no times of tpat run

Every run is checked against the expected outputs first, N models at a time, which also fills the cache of compiled kernels. Then
each model is timed alone, as single launches and as a CUDA graph."""
import argparse
import concurrent.futures
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "zoo"))

PROVIDED = os.path.join(ROOT, "bench", "provider.tsv")
COLUMNS = ["model", "check", "device", "nodes", "pieces", "launches", "tpat_us", "graph_us", "held_mb", "ort_us"]
TORCH = """
*eager* and *compile* are PyTorch's times for the same model, weights and inputs, where it comes from a PyTorch module: single calls
in eager mode, and the kernels of `torch.compile` as a CUDA graph (in brackets: PyTorch could not record one). *gain* is compile / tpat,
graph against graph.
"""
HEAD = """# Whole models

`tpat run` executes a whole model with tpat's own kernels, without an inference engine. This table has its times for the models of
the zoo (`tests/zoo/`): small versions of architectures that people export, so that launches matter more than bandwidth. Times are
medians of one run in microseconds, with inputs and outputs on the device. *Graph*: the same launches, recorded as a CUDA graph.
*ONNX Runtime*: its CPU provider on the same machine, which has no GPU build of it. Every timed run agrees with ONNX Runtime's
outputs. `bench/models.py` measures the numbers and writes this page.
"""


def run_tpat(model, tensors, device, tolerance, extra):
    """Returns the program's output and what is wrong as text, or None."""
    import whole
    with tempfile.TemporaryDirectory() as folder:
        command, wanted = whole.command_of(model, tensors, device, folder)
        try:
            done = subprocess.run(command + extra, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "", "stopped after 300 seconds"
        if done.returncode:
            return "", done.stderr.strip().replace("\n", " ") or f"exit status {done.returncode}"
        return done.stdout, whole.fault_of(folder, wanted, tolerance)


def number(pattern, text):
    found = re.search(pattern, text)
    return found.group(1) if found else ""


def time_ort(model, tensors):
    """Microseconds of one run on the processor, or an empty text if this ONNX Runtime cannot run the model."""
    try:
        import onnx
        import onnxruntime
        from onnx import numpy_helper
        values = {t.name: numpy_helper.to_array(t) for t in onnx.load(tensors).graph.initializer}
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        feed = {i.name: values[i.name] for i in session.get_inputs()}
        session.run(None, feed)
        times, end = [], time.perf_counter() + 0.2
        while len(times) < 5 or time.perf_counter() < end and len(times) < 1000:
            start = time.perf_counter()
            session.run(None, feed)
            times.append(time.perf_counter() - start)
        return f"{1e6 * statistics.median(times):.0f}"
    except Exception as error:  # its exceptions have no common class
        print(f"ONNX Runtime: {model}: {str(error).splitlines()[0]}", file=sys.stderr)
        return ""


def measure(options):
    import whole
    names = list(whole.models_of(options.folder, options.models.split(",") if options.models else []))
    end = time.monotonic() + options.seconds
    row = {}

    def paths(name):
        return os.path.join(options.folder, name, "model.onnx"), os.path.join(options.folder, name, "tensors_0.onnx")

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        checks = [(name, tolerance, pool.submit(run_tpat, *paths(name), options.device, tolerance, [])) for name, tolerance in names]
        for name, tolerance, future in checks:
            text, fault = future.result()
            row[name] = {"model": name, "check": fault or "ok"}
            if fault:
                print(f"FAIL {name}: {fault}", flush=True)
    for name, tolerance in names:
        if row[name]["check"] != "ok" or time.monotonic() > end:
            continue
        text, fault = run_tpat(*paths(name), options.device, tolerance, ["--time", "50", "--cuda-graph"])
        row[name].update(device=number(r" on (.*): \d+ nodes", text), nodes=number(r"(\d+) nodes", text),
                         pieces=number(r"(\d+) pieces?", text), launches=number(r"(\d+) launch(?:es)?", text),
                         tpat_us=number(r"time: ([0-9.]+) us", text), held_mb=number(r"memory: ([0-9.]+) MB", text))
        row[name].update(graph_us=number(r"([0-9.]+) us as one CUDA graph", text), ort_us=time_ort(*paths(name)))
        print(*row[name].values(), flush=True)
        write(options.file, row, COLUMNS)
    write(options.file, row, COLUMNS)
    good = sum(r["check"] == "ok" for r in row.values())
    print(f"{good} passed, {len(row) - good} failed")
    return good < len(row)


def measure_torch(options):
    import models_torch
    import whole
    names = list(whole.models_of(options.folder, options.models.split(",") if options.models else []))
    return models_torch.measure(options, names, lambda rows: write(options.file, rows, models_torch.COLUMNS))


def measure_provider(options):
    import models_provider
    import whole
    names = list(whole.models_of(options.folder, options.models.split(",") if options.models else []))
    return models_provider.measure(options, names, torch_rows(options.torch), lambda rows: write(options.file, rows, models_provider.COLUMNS))


def auto(options):
    import models_auto
    row = {r["model"] + r["options"]: r for r in (read(options.file) if os.path.exists(options.file) else [])}
    for text in options.models:
        made = models_auto.row_of(*[text.split(",")[0], text.split(",")[1:]])
        row[made["model"] + made["options"]] = made
        print(*made.values(), flush=True)
        write(options.file, row, models_auto.COLUMNS)
    return 0


def write(path, row, columns):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write("\t".join(columns) + "\n")
        for r in row.values():
            file.write("\t".join(str(r.get(c, "")).replace("\t", " ") for c in columns) + "\n")
    os.replace(path + ".new", path)


def read(path):
    lines = open(path, encoding="utf-8").read().splitlines() if path else [""]
    return [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]


def torch_rows(path):
    """What the command torch wrote, by model."""
    return {r["model"]: r for r in read(path) if r["torch_check"] == "ok"}


def rounded(text):
    return f"{float(text):.0f}" if text else ""


def torch_cells(mine, theirs, gains):
    """The table's cells for PyTorch's times."""
    compiled, plain = theirs.get("compile_graph_us"), theirs.get("compile_us")
    if compiled and mine["graph_us"] and float(mine["graph_us"]):
        gains.append(float(compiled) / float(mine["graph_us"]))
        return [rounded(theirs["eager_us"]), rounded(compiled), f"{gains[-1]:.2f}"]
    return [rounded(theirs.get("eager_us")), f"({rounded(plain)})" if plain else "", ""]


def table(options):
    import models_auto
    import models_provider
    from report import geometric_mean
    print(HEAD)
    rows = read(options.file)
    theirs = torch_rows(options.torch)
    devices, versions = sorted({r["device"] for r in rows if r["device"]}), sorted({r["torch"] for r in theirs.values()})
    if devices:
        when = f" on {options.when}" if options.when else ""
        print(f"Measured{when}: {', '.join(devices)}{', PyTorch ' + ', '.join(versions) if versions else ''}.")
    else:
        print("No numbers have been measured yet.")
    print(TORCH if theirs else "")
    head = ["model", "nodes", "pieces", "launches", "tpat", "graph", "memory, MB", "ONNX Runtime, CPU"]
    head += ["eager", "compile", "gain"] if theirs else []
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    gains = []
    for r in rows:
        if r["check"] == "ok" and r["tpat_us"]:
            us = [rounded(r[name]) for name in ("tpat_us", "graph_us", "ort_us")]
            cells = [r["model"], r["nodes"], r["pieces"], r["launches"], us[0], us[1], r["held_mb"], us[2]]
            cells += torch_cells(r, theirs.get(r["model"], {}), gains) if theirs else []
            print(f"| {' | '.join(cells)} |")
    if gains:
        print(f"\nGeometric mean of the gain over {len(gains)} models: {geometric_mean(gains):.2f}; {sum(g < 1 for g in gains)} below 1, "
              f"the lowest {min(gains):.2f}.")
    models_provider.table(read(PROVIDED) if os.path.exists(PROVIDED) else [])
    models_auto.table(read(os.path.join(ROOT, "bench", "auto.tsv")))
    return 0


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    for name, call in (("measure", measure), ("torch", measure_torch), ("provider", measure_provider)):
        one = commands.add_parser(name)
        one.add_argument("folder")
        one.add_argument("file")
        one.add_argument("--device", default="cuda")
        one.add_argument("--models", default="")
        one.add_argument("--jobs", type=int, default=os.cpu_count())
        one.add_argument("--seconds", type=float, default=3600, help="start timing no further models after this time")
        one.add_argument("--eager", action="store_true", help="without torch.compile")
        one.add_argument("--torch", default="", help="what the command torch wrote")
        one.add_argument("--part", default="", help=argparse.SUPPRESS)
        one.set_defaults(call=call)
    three = commands.add_parser("auto")
    three.add_argument("file")
    three.add_argument("models", nargs="+", metavar="MODEL[,OPTION ...]")
    three.set_defaults(call=auto)
    two = commands.add_parser("table")
    two.add_argument("file", nargs="?")
    two.add_argument("--torch", default="", help="what the command torch wrote")
    two.add_argument("--when", default="", help="dates, for the reader")
    two.set_defaults(call=table)
    options = parser.parse_args()
    return options.call(options)


if __name__ == "__main__":
    sys.exit(main())
