#!/usr/bin/env python3
"""Models with data through the execution provider on a GPU, against ONNX Runtime's CPU provider:

    cases.py LIBRARY INDEX ... [--jobs N] [--every N] [--device D] [--compiled]

An INDEX is one of tests/cases.py (build/nodes/index.tsv) or the zoo's. Each case is a session in one of N processes. Results must
be those of ONNX Runtime's CPU provider, or those that come with the case: the two differ in places. Tolerances are the index's, by
the type of each output. Cases without a node that tpat takes, and those with types that numpy lacks, count as left out.
With --compiled each model is compiled to one with nodes EPContext, which runs."""
import argparse
import concurrent.futures
import os
import subprocess
import sys

import numpy
import onnx
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "zoo"))
import whole  # noqa: E402

NATIVE = "float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"


def cases_of(index):
    """Each case as one line: folder, relative, absolute, step, kind."""
    folder = os.path.dirname(index)
    for line in open(index, encoding="utf-8"):
        columns = line.rstrip("\n").split("\t") if "\t" in line else line.split()
        if columns[0].startswith("#"):
            continue
        zoo = os.path.exists(os.path.join(folder, columns[0], "tensors_0.onnx"))
        numbers = (columns[1], columns[2], columns[-1]) if zoo else (columns[5], columns[6], "0")
        yield "\t".join((os.path.join(folder, columns[0]), *numbers, "zoo" if zoo else "node"))


# ---- One process.

def read(path):
    with open(path, "rb") as file:
        proto = onnx.TensorProto.FromString(file.read())
    return numpy_helper.to_array(proto)


def data_of(folder, kind, model):
    """Inputs and wanted outputs by name, each a list of arrays in the graph's order."""
    constants = {t.name for t in model.graph.initializer}
    inputs = [v.name for v in model.graph.input if v.name not in constants]
    if kind == "zoo":
        values = {t.name: numpy_helper.to_array(t) for t in onnx.load(os.path.join(folder, "tensors_0.onnx")).graph.initializer}
        return {name: values[name] for name in inputs}, [values[v.name] for v in model.graph.output]
    data = os.path.join(folder, "test_data_set_0")
    return ({v.name: read(os.path.join(data, f"input_{i}.pb")) for i, v in enumerate(model.graph.input) if v.name},
            [read(os.path.join(data, f"output_{i}.pb")) for i in range(len(model.graph.output))])


def is_tensors(model):
    for value in (*model.graph.input, *model.graph.output):
        kind = value.type.tensor_type.elem_type
        if value.type.WhichOneof("value") != "tensor_type" or kind in (0, onnx.TensorProto.STRING) or \
                numpy.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind)).name not in NATIVE:
            return False
    return True


def first_difference(got, want, tolerance):
    for i, (value, wanted) in enumerate(zip(got, want)):
        exact = wanted.dtype.kind != "f"
        fault = whole.differs(value, wanted, *((0, 0, tolerance[2]) if exact else tolerance))
        if fault:
            return f"output {i} {fault}"
    return None


def run_case(host, module, line, compiled):
    """"ok", "left out: why", or what is wrong."""
    folder, *numbers, kind = line.split("\t")
    path = os.path.join(folder, "model.onnx")
    tolerance = [float(number) for number in numbers]
    model = onnx.load(path, load_external_data=False)
    if not is_tensors(model):
        return "left out: types"
    if kind == "node":  # relative, and absolute to the largest
        tolerance[1] = max(tolerance[1], 1e-5)
    feeds, wanted = data_of(folder, kind, model)
    try:
        session = (host.compiled if compiled else host.session)(path)
    except Exception as error:  # ONNX Runtime's own classes
        if compiled and "Encountered an invalid node while compiling a model" in str(error):
            return "left out: ONNX Runtime 1.31 does not compile it"  # seen with functions that it inlines; the cause is not known
        try:
            module.plain(path)
        except Exception:
            return "left out: ONNX Runtime does not load it"
        return f"no session: {error}"
    if not module.groups_of(session):
        return "left out: no node is taken"
    try:
        got = session.run(None, feeds)
    except Exception as error:
        try:
            module.plain(path).run(None, feeds)
        except Exception:
            return "left out: ONNX Runtime does not run it"
        return f"{error}"
    fault = first_difference(got, wanted, tolerance)
    if not fault:
        return "ok"
    try:
        reference = module.plain(path)
        want, again = reference.run(None, feeds), reference.run(None, feeds)
    except Exception:
        return fault
    if first_difference(want, again, (0, 0, 0)):
        return "left out: its results are random"
    return first_difference(got, want, tolerance) and fault or "ok"


def work(library, device, compiled):
    """Cases come in on lines, results go out on lines."""
    import host as module
    numpy.seterr(all="ignore")
    host = module.Host(library, **({"device": device} if device else {}))
    print(f"on {'GPU' if host.on_gpu else 'CPU'}", flush=True)
    for line in sys.stdin:
        try:
            result = run_case(host, module, line.rstrip("\n"), compiled)
        except Exception as error:  # a case that cannot be read
            result = f"{type(error).__name__}: {error}"
        print(result.replace("\n", " ")[:600], flush=True)


# ---- All of them.

def run_chunk(lines, library, device, compiled):
    """Pairs of lines and results. A process that dies fails its case, and another one goes on."""
    done = []
    while len(done) < len(lines):
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), library, "--work", "--device", device,
                                    *["--compiled"] * compiled], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if not process.stdout.readline():
            return done + [(line, "the library cannot be used") for line in lines[len(done):]]
        while len(done) < len(lines):
            process.stdin.write(lines[len(done)] + "\n")
            process.stdin.flush()
            result = process.stdout.readline().rstrip("\n")
            if not result:
                done.append((lines[len(done)], f"the process ended with {process.wait()}"))
                break
            done.append((lines[len(done)], result))
        process.stdin.close()
        process.wait()
    return done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("index", nargs="*")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--device", default="")
    parser.add_argument("--work", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    if options.work:
        work(options.library, options.device, options.compiled)
        return 0
    lines = [line for index in options.index for line in list(cases_of(index))[::options.every]]
    passed, failed, left = 0, 0, {}
    chunk = max(1, min(20, len(lines) // options.jobs))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(run_chunk, lines[i:i + chunk], options.library, options.device, options.compiled) for i in range(0, len(lines), chunk)]
        for line, result in (pair for run in concurrent.futures.as_completed(runs) for pair in run.result()):
            if result == "ok":
                passed += 1
            elif result.startswith("left out"):
                left[result] = left.get(result, 0) + 1
            else:
                failed += 1
                print(f"FAIL {line.split(chr(9))[0]}: {result}", flush=True)
    for why, n in sorted(left.items()):
        print(f"{n} {why}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
