"""Runs whole models of the zoo with `tpat run` and compares their outputs with ONNX Runtime's: whole.py FOLDER [OPTION ...]

    FOLDER             what data.py wrote
    --device DEVICE    as for tpat run (default: cpu)
    --models A,B       only these
    --jobs N           so many runs at a time (default: 1)

Each run of data.py is one here: its inputs go in as .npy files, and its outputs come back as an .npz file. Tolerances are those of
the zoo's index."""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper


def differs(got, want, relative, absolute, step):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, want {want.dtype}{list(want.shape)}"
    if want.size == 0:
        return None
    got, want = got.astype(numpy.float64), want.astype(numpy.float64)
    finite = numpy.abs(want[numpy.isfinite(want)])
    allowed = relative * numpy.abs(want) + absolute * (finite.max() if finite.size else 0) + step
    same = (got == want) | (numpy.isnan(got) & numpy.isnan(want)) | (numpy.abs(got - want) <= allowed)
    return None if same.all() else f"{(~same).sum()} of {same.size} elements differ, by {numpy.nanmax(numpy.abs(got - want)):.3g}"


def command_of(model, tensors, device, folder):
    """Returns the call of `tpat run` on these inputs, and the model's outputs with their values."""
    graph = onnx.load(model, load_external_data=False).graph
    values = {t.name: numpy_helper.to_array(t) for t in onnx.load(tensors).graph.initializer}
    constants = {t.name for t in graph.initializer}
    command = ["build/tpat", "run", model, "--device", device, "-o", os.path.join(folder, "out.npz")]
    for i, name in enumerate(v.name for v in graph.input if v.name not in constants):
        path = os.path.join(folder, f"{i}.npy")
        numpy.save(path, values[name])
        command += ["-i", f"{name}={path}"]
    return command, {v.name: values[v.name] for v in graph.output}


def fault_of(folder, wanted, tolerance):
    """Returns how the outputs in the folder differ from the wanted ones as text, or None."""
    got = numpy.load(os.path.join(folder, "out.npz"))
    for name, want in wanted.items():
        fault = differs(got[name], want, *(tolerance if want.dtype.kind == "f" else (0, 0, tolerance[2])))
        if fault:
            return f"{name} {fault}"
    return None


def run(model, tensors, device, tolerance):
    """Returns what is wrong as text, or None."""
    with tempfile.TemporaryDirectory() as folder:
        command, wanted = command_of(model, tensors, device, folder)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            return "stopped after 600 seconds"
        if done.returncode:
            return done.stderr.strip().replace("\n", " ") or f"exit status {done.returncode}"
        return fault_of(folder, wanted, tolerance)


def models_of(folder, chosen):
    """Yields the name and the tolerances of each model of the index; `chosen`: only these, if any."""
    for line in open(os.path.join(folder, "index.tsv"), encoding="utf-8"):
        name, *rest = line.split()
        if name != "#" and (not chosen or name in chosen):
            yield name, (float(rest[0]), float(rest[1]), float(rest[-1]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--models", default="")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = []
        for name, tolerance in models_of(options.folder, options.models.split(",") if options.models else []):
            own = os.path.join(options.folder, name)
            for k in range(2):
                tensors = os.path.join(own, f"tensors_{k}.onnx")
                if os.path.exists(tensors):
                    arguments = os.path.join(own, "model.onnx"), tensors, options.device, tolerance
                    runs.append((name, k, pool.submit(run, *arguments)))
        for name, k, future in runs:
            fault = future.result()
            passed, failed = passed + (not fault), failed + bool(fault)
            if fault:
                print(f"FAIL {name} {k}: {fault}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
