"""Random one-node models with ONNX Runtime's results: generate.py FOLDER [--count N] [--seed S] [--only OP,OP] [--verbose].

For each operator in the tables of ops_*.py, N models with random shapes, types, attributes and opset versions, in the
same form as ONNX's node tests (tests/cases.py). A draw that ONNX's checker or ONNX Runtime refuses is repeated. The kind in
the index is "ort", or "disputed" where ONNX's own reference implementation gives something else; those looked at so far
were errors of the reference (old versions of Softmax, ranks other than 4 in GlobalMaxPool, LRN over batches), so they are
tests like the others. Operators that ONNX Runtime lacks (ops_plugins.py) come with results of their own, from NumPy; their
kind is "numpy". The same N and seed give the same cases."""
import argparse
import os
import sys
import warnings
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import cases  # noqa: E402
import draw  # noqa: E402
import ops_contrib  # noqa: E402, F401
import ops_control  # noqa: E402, F401
import ops_elementwise  # noqa: E402, F401
import ops_linear  # noqa: E402, F401
import ops_ml  # noqa: E402, F401
import ops_movement  # noqa: E402, F401
import ops_plugins  # noqa: E402, F401
import ops_quantize  # noqa: E402, F401
import ops_reduction  # noqa: E402, F401
import ops_signal  # noqa: E402, F401
import ops_vision  # noqa: E402, F401

NAMES = ops_contrib.NAMES | ops_ml.NAMES | ops_plugins.NAMES  # that have no schema
FIRST_OPSET = 7  # what ONNX Runtime promises to run
CONTRIB_OPSET = 17  # of ai.onnx, in models of ONNX Runtime's own operators
ATTEMPTS = 30
TOLERANCE = {numpy.dtype(numpy.float32): (1e-4, 1e-5), numpy.dtype(numpy.float64): (1e-9, 1e-10),
             numpy.dtype(numpy.float16): (4e-3, 4e-3)}


def opsets_of(op):
    """The opset in which each version of the operator came, the oldest first; the first one at least FIRST_OPSET."""
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
    symbolic = not case.fixed if whole else d.chance(0.25)  # extents by name, known only with the data
    infos, initializers = [], []
    for i, (name, value) in enumerate(zip(names, case.inputs)):
        if value is None:
            continue
        if i in case.constant:
            initializers.append(onnx.numpy_helper.from_array(value, name))
            continue
        shape = [(f"n{extent}" if whole else f"{name}_{axis}") if symbolic and extent > 1 else extent
                 for axis, extent in enumerate(value.shape)]
        infos.append(onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    graph = onnx.helper.make_graph(nodes, d.op, infos, [onnx.ValueInfoProto(name=name) for name in outputs], initializers)
    opset = onnx.helper.make_opsetid("", d.opset)
    domains = case.domains if whole else (domain,) if domain else ()
    opsets = [opset] + [onnx.helper.make_opsetid(domain, 1) for domain in domains]
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
    """Whether ONNX's reference implementation gives the same; true where it cannot run the model."""
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


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def attempt(op, opset, seed):
    """One case as (model, inputs, results, tolerance, kind), or the reason why this draw is none."""
    d = draw.Draw(op, opset, seed)
    case = draw.GENERATORS[op](d)
    try:
        model, feeds, symbolic = model_of(d, case)
        results = case.results or run(model, feeds)
        for info, result in zip(model.graph.output, results):
            shape = [None] * result.ndim if symbolic else result.shape
            dtype = onnx.helper.np_dtype_to_tensor_dtype(result.dtype)
            info.CopyFrom(onnx.helper.make_tensor_value_info(info.name, dtype, shape))
        if d.schema:
            onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # ONNX Runtime's and the checker's have no common base
        return str(error)
    tolerance = tolerance_of(case, results)
    kind = "numpy" if case.results else "ort" if agrees(model, feeds, results, *tolerance) else "disputed"
    return model, list(feeds.values()), results, tolerance, kind


def generate(index, op, count, seed, verbose):
    opsets, made, refused = opsets_of(op), 0, []
    for i in range(count):
        for again in range(ATTEMPTS):
            # every version of the operator in turn, the newest first; then whatever can be had
            opset = opsets[-1 - (i + again) % len(opsets)]
            got = attempt(op, opset, [zlib.crc32(op.encode()), seed, i, again])
            if not isinstance(got, str):
                model, inputs, results, (rtol, atol), kind = got
                index.add(f"{op}_{i}", model, [(inputs, results)], kind, rtol, atol)
                made += 1
                break
            refused.append(f"opset {opset}: {got.strip().splitlines()[0][:300]}")
    disputed = sum(row[8] == "disputed" for row in index.rows[-made:]) if made else 0
    if verbose:
        print(f"{op}: {made} cases, {disputed} disputed, {len(refused)} refused", *sorted(set(refused)), sep="\n    ")
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    sources = [os.path.join(here, name) for name in sorted(os.listdir(here)) if name.endswith(".py")]
    index = cases.Index(args.folder, f"onnx {onnx.__version__} onnxruntime {onnxruntime.__version__} "
                                     f"{args.count} {args.seed} {args.only}", sources)
    if index.current():
        return 0
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")
    index.begin()
    only = args.only.split(",") if args.only else list(draw.GENERATORS)
    wanted = [op for op in draw.GENERATORS if op in only and (draw.has_schema(op) or op in NAMES)]
    without = [op for op in wanted if not generate(index, op, args.count * draw.TIMES[op], args.seed, args.verbose)]
    index.close()
    print(f"{args.folder}: {len(index.rows)} cases of {len(wanted)} operators")
    if without:
        print(f"no case at all of {', '.join(without)}", file=sys.stderr)
    return int(bool(without))


sys.exit(main())
