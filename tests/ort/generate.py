"""Random one-node models with ONNX Runtime's results:

    generate.py FOLDER [--count N] [--seed S] [--only OP,OP] [--jobs N] [--operators PROGRAM] [--verbose]

For each operator that a file ops_*.py next to this one registers (draw.py says how; there is no list to edit), N models
with random shapes, types, attributes and opset versions, in the same form as ONNX's node tests (tests/cases.py): of five
draws one has degenerate shapes and one NaN and infinities. A draw that ONNX's checker or ONNX Runtime refuses is repeated.
The kind in the index is "ort", or "disputed" where ONNX's own reference implementation gives something else; those looked
at so far were errors of the reference (old versions of Softmax, ranks other than 4 in GlobalMaxPool, LRN over batches),
so they are tests like the others. Operators that ONNX Runtime lacks (ops_plugins.py) come with results of their own, from
NumPy; their kind is "numpy". The same N and seed give the same cases; operators whose files did not change are kept.

PROGRAM --names (tools/operators) says which operators stand. It is an error when ONNX Runtime runs one of them on the
processor and nothing here draws it, but for those in UNCOVERED."""
import argparse
import glob
import hashlib
import importlib
import multiprocessing
import multiprocessing.connection
import os
import re
import shutil
import subprocess
import sys
import warnings
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnxruntime.capi import onnxruntime_pybind11_state  # noqa: E402

import cases  # noqa: E402
import draw  # noqa: E402
import oracle  # noqa: E402

for path in sorted(glob.glob(os.path.join(HERE, "ops_*.py"))):
    importlib.import_module(os.path.basename(path)[:-3])

# Operators that tpat and ONNX Runtime support and no ops_*.py generates, with the reason.
DRAWN_OTHERWISE = "ONNX Runtime draws other numbers; tests/unit/random_op_test.c looks at their distribution"
UNCOVERED = {
    **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),
                    DRAWN_OTHERWISE),
    "CausalConvWithState": "ONNX Runtime ends before its opset, 27",
    "SwiGLU": "ONNX Runtime ends before its opset, 28",
}
FIRST_OPSET = 7  # the highest that ONNX Runtime supports
CONTRIB_OPSET = 17  # of ai.onnx, in models with ONNX Runtime's own operators
ATTEMPTS = 30
TOLERANCE = {numpy.dtype(numpy.float32): (1e-4, 1e-5), numpy.dtype(numpy.float64): (1e-9, 1e-10),
             numpy.dtype(numpy.float16): (4e-3, 4e-3)}


def opsets_of(op):
    """The opset of each version of the operator, the oldest first; the first is at least FIRST_OPSET."""
    if not draw.has_schema(op):
        return [CONTRIB_OPSET]
    since = sorted(s.since_version for s in onnx.defs.get_all_schemas_with_history()
                   if s.name == op and s.domain == "" and not s.deprecated)
    return sorted({max(version, FIRST_OPSET) for i, version in enumerate(since)
                   if i + 1 == len(since) or since[i + 1] > FIRST_OPSET})


def model_of(d, case):
    """The model, without types of its outputs."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(case.inputs)]
    while names and not names[-1]:
        names.pop()
    outputs = [f"y{i}" for i in range(case.outputs)]
    whole = isinstance(case, draw.Model)
    domain = d.domain if whole or case.domain is None else case.domain
    nodes = case.nodes if whole else [onnx.helper.make_node(d.op, names, outputs, name=d.op, domain=domain, **case.attrs)]
    symbolic = not case.fixed if whole else d.chance(0.25)  # extents with names, known only with the data
    infos, initializers = [], []
    for i, (name, value) in enumerate(zip(names, case.inputs)):
        if value is None:
            continue
        if i in case.constant:
            initializers.append(onnx.numpy_helper.from_array(value, name))
            continue
        shape = [(f"n{extent}" if whole else f"{name}_{axis}") if symbolic and extent > 1 else extent
                 for axis, extent in enumerate(value.shape)]
        if whole and case.shapes:
            shape = case.shapes[i]
        infos.append(onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    graph = onnx.helper.make_graph(nodes, d.op, infos, [onnx.ValueInfoProto(name=name) for name in outputs], initializers)
    opset = onnx.helper.make_opsetid("", d.opset)
    domains = case.domains if whole else (domain,) if domain else ()
    opsets = [opset] + [onnx.helper.make_opsetid(domain, 1 if whole else case.version) for domain in domains]
    model = onnx.helper.make_model(graph, opset_imports=opsets, functions=case.functions if whole else [], producer_name="tpat")
    model.ir_version = max(8, onnx.helper.find_min_ir_version_for([opset]))
    return model, {info.name: case.inputs[int(info.name[1:])] for info in infos}, symbolic


def tolerance_of(case, results):
    if case.tolerance:
        return case.tolerance
    floats = [result.dtype for result in results if result.dtype.kind == "f"]
    floats += [value.dtype for value in case.inputs if value is not None and value.dtype.kind == "f" and floats]
    if not floats:
        return 0, 0
    rtol, atol = max(TOLERANCE[dtype] for dtype in floats)
    return rtol, atol * max(1, case.depth)


def agrees(model, feeds, results, rtol, atol):
    """True if ONNX's reference implementation gives the same, or cannot run the model."""
    try:
        wanted = ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # it fails in many ways
        return True
    for got, want in zip(results, wanted):
        want = numpy.asarray(want)
        if got.shape != want.shape or got.dtype != want.dtype or not numpy.allclose(
                got.astype(numpy.float64), want.astype(numpy.float64), rtol, atol, equal_nan=True):
            return False
    return True


def carrier_of(dtype):
    """The type that replaces one which ONNX Runtime does not exchange with NumPy; None: no need."""
    if numpy.dtype(dtype).kind != "V":
        return None
    return numpy.dtype(numpy.int8 if draw.is_integer(dtype) and draw.limits(dtype)[0] < 0 else
                       numpy.uint8 if draw.is_integer(dtype) else numpy.float32)


def run(model, feeds):
    """ONNX Runtime's results. Types that NumPy lacks are converted by a Cast at inputs and outputs."""
    asked, feeds = model, dict(feeds)
    model = onnx.ModelProto()
    model.CopyFrom(asked)
    element = onnx.helper.np_dtype_to_tensor_dtype
    casts = []
    for info in model.graph.input:
        value = feeds.get(info.name)
        carrier = carrier_of(value.dtype) if value is not None else None
        if carrier is None:
            continue
        name = info.name + "_carrier"
        casts.append(onnx.helper.make_node("Cast", [name], [info.name], to=element(value.dtype)))
        feeds[name] = feeds.pop(info.name).astype(carrier)
        info.name, info.type.tensor_type.elem_type = name, element(carrier)
    nodes = casts + list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    session, wanted = oracle.session(model), []
    for info, out in zip(model.graph.output, session.get_outputs()):
        narrow = {**draw.NARROW, "tensor(float8e8m0)": draw.POWER}.get(out.type)
        wanted.append(narrow)
        if narrow is not None:
            name = info.name + "_carrier"
            model.graph.node.append(onnx.helper.make_node("Cast", [info.name], [name], to=element(carrier_of(narrow))))
            info.name = name
    if any(wanted):
        for opset in model.opset_import:  # if Cast supports them
            opset.version = max(opset.version, 21 if opset.domain == "" else 1)
        session = oracle.session(model)
    return [result if narrow is None else result.astype(narrow) for result, narrow in zip(session.run(None, feeds), wanted)]


def attempt(op, opset, seed, flavour):
    """One case as (model, pairs of inputs and results, tolerance, kind), or the reason why there is none."""
    d = draw.Draw(op, opset, seed, flavour)
    try:
        case = draw.GENERATORS[op](d)
    except (ValueError, IndexError, ZeroDivisionError) as error:
        if flavour != draw.DEGENERATE:  # else: nothing can be picked from an empty axis
            raise
        return f"cannot be drawn: {error}"
    try:
        model, feeds, symbolic = model_of(d, case)
        results = case.results or run(model, feeds)
        again = [({info: inputs[int(info[1:])] for info in feeds}) for inputs in getattr(case, "again", [])]
        data = [(list(other.values()), run(model, other)) for other in again]
        for info, result in zip(model.graph.output, results):
            shape = [None] * result.ndim if symbolic else result.shape
            dtype = onnx.helper.np_dtype_to_tensor_dtype(result.dtype)
            info.CopyFrom(onnx.helper.make_tensor_value_info(info.name, dtype, shape))
        if d.schema:
            onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # ONNX Runtime's and the checker's errors have no common base
        return str(error)
    tolerance = tolerance_of(case, results)
    kind = "numpy" if case.results else "ort" if agrees(model, feeds, results, *tolerance) else "disputed"
    return model, [(list(feeds.values()), results)] + data, tolerance, kind


def flavour_of(op, i, again):
    """One of five cases is degenerate and one has special values; after too many refusals a case becomes ordinary."""
    if op in draw.PLAIN or again > ATTEMPTS // 2:
        return draw.ORDINARY
    flavour = {3: draw.DEGENERATE, 4: draw.SPECIAL}.get(i % 5, draw.ORDINARY)
    return draw.ORDINARY if flavour == draw.SPECIAL and op in draw.FINITE else flavour


def generate(index, op, count, seed, verbose):
    opsets, made, refused = opsets_of(op), 0, []
    for i in range(count):
        for again in range(ATTEMPTS):
            # every version of the operator in turn, the newest first; then any that works
            opset, flavour = opsets[-1 - (i + again) % len(opsets)], flavour_of(op, i, again)
            got = attempt(op, opset, [zlib.crc32(op.encode()), seed, i, again], flavour)
            if not isinstance(got, str):
                model, data, (rtol, atol), kind = got
                index.add(f"{op}_{i}", model, data, kind, rtol, atol)
                made += 1
                break
            refused.append(f"opset {opset}, {flavour}: {got.strip().splitlines()[0][:300]}")
    if verbose:
        disputed = sum(row[8] == "disputed" for row in index.rows)
        print(f"{op}: {made} cases, {disputed} disputed, {len(refused)} refused", *sorted(set(refused)), sep="\n    ")


# ---- The cases of one operator, kept as long as their generator is unchanged


def module_text(name, seen):
    """The text of a file in this folder and of those that it imports."""
    path = os.path.join(HERE, name + ".py")
    if name in seen or not os.path.exists(path):
        return ""
    seen.add(name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return text + "".join(module_text(found, seen) for found in re.findall(r"^(?:from|import) (\w+)", text, re.M))


def stamp_of(op, args):
    texts = module_text(draw.GENERATORS[op].__module__, set())
    for path in (os.path.abspath(__file__), cases.__file__, oracle.__file__):
        with open(path, encoding="utf-8") as file:
            texts += file.read()
    what = f"{onnx.__version__} {onnxruntime.__version__} {numpy.__version__} {args.count * draw.TIMES[op]} {args.seed}\n{texts}"
    return hashlib.sha256(what.encode()).hexdigest()


def rows_path(folder, op):
    return os.path.join(folder, "rows", op + ".tsv")


def kept_rows(folder, op, stamp):
    """The index rows of the operator's cases, or None if they must be made."""
    try:
        with open(rows_path(folder, op), encoding="utf-8") as file:
            first, *rows = file.read().splitlines()
    except FileNotFoundError:
        return None
    return [row.split("\t") for row in rows] if first == stamp else None


def make_rows(job):
    """Makes the cases of one operator, in its own process."""
    op, stamp, args = job
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    for path in glob.glob(os.path.join(args.folder, glob.escape(op) + "_*")):
        if re.fullmatch(r"\d+", os.path.basename(path)[len(op) + 1:]):
            shutil.rmtree(path)
    index = cases.Index(args.folder, "", [])
    generate(index, op, args.count * draw.TIMES[op], args.seed, args.verbose)
    with open(rows_path(args.folder, op), "w", encoding="utf-8") as file:
        print(stamp, *("\t".join(str(column) for column in row) for row in index.rows), sep="\n", file=file)
    sys.stdout.flush()


def make_all(jobs, workers):
    """Makes the cases of several operators at once; returns those whose process died: ONNX Runtime can crash."""
    died, running, waiting = [], {}, list(jobs)
    context = multiprocessing.get_context("fork")
    while waiting or running:
        while waiting and len(running) < workers:
            job = waiting.pop(0)
            process = context.Process(target=make_rows, args=(job,))
            process.start()
            running[process.sentinel] = (process, job[0])
        for sentinel in multiprocessing.connection.wait(list(running)):
            process, op = running.pop(sentinel)
            process.join()
            if process.exitcode:
                died.append(op)
    return died


# ---- Coverage


def uncovered(program):
    """Operators that tpat supports and ONNX Runtime has, as a kernel or by ONNX's function, without a generator here."""
    if not program:
        return []
    listed = subprocess.run([program, "--names"], stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout.split()
    kernels = {(k.domain + "." if k.domain not in ("", "ai.onnx") else "") + k.op_name
               for k in onnxruntime_pybind11_state.get_all_opkernel_def() if k.provider == "CPUExecutionProvider"}
    functions = {s.name for s in onnx.defs.get_all_schemas() if s.domain == "" and (
        s.has_function or s.has_context_dependent_function)}
    return sorted((set(listed) & (kernels | functions)) - set(draw.GENERATORS) - set(UNCOVERED))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--operators", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    missing = uncovered(args.operators)
    needless = sorted(set(UNCOVERED) & set(draw.GENERATORS))
    if needless:
        print(f"in UNCOVERED, and drawn: {', '.join(needless)}", file=sys.stderr)
    if missing:
        print(f"nothing in tests/ort draws {', '.join(missing)}", file=sys.stderr)
    os.makedirs(os.path.join(args.folder, "rows"), exist_ok=True)
    only = args.only.split(",") if args.only else list(draw.GENERATORS)
    wanted = {op: stamp_of(op, args) for op in draw.GENERATORS if op in only}
    jobs = [(op, stamp, args) for op, stamp in wanted.items() if kept_rows(args.folder, op, stamp) is None]
    died = make_all(jobs, args.jobs)
    index = cases.Index(args.folder, "", [])
    rows = {op: kept_rows(args.folder, op, stamp) or [] for op, stamp in wanted.items()}
    index.rows = [row for part in rows.values() for row in part]
    index.close()
    if jobs:
        print(f"{args.folder}: {len(index.rows)} cases of {len(wanted)} operators, of which {len(jobs)} made now")
    without = [op for op, part in rows.items() if len(part) < min(args.count, 1)]
    if without:
        print(f"no case at all of {', '.join(without)}", file=sys.stderr)
    few = [f"{op} ({len(part)})" for op, part in rows.items() if 0 < len(part) < args.count * draw.TIMES[op]]
    if few:
        print(f"fewer than {args.count} cases of {', '.join(few)}", file=sys.stderr)
    if died:
        print(f"the process died that made those of {', '.join(died)}", file=sys.stderr)
    return int(bool(without or few or died or missing or needless))


sys.exit(main())
