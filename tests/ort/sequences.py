#!/usr/bin/env python3
"""Sequences and optional values of known length: sequences.py [--draws COUNT FIRST] [NAME ...]

Each model is written as exporters write it. tpat resolves its sequences: `tpat run` gives ONNX Runtime's outputs of the model,
and so does ONNX Runtime with the model that `tpat build --auto` writes, in which none is left. The models of KEPT have
sequences whose length nothing says; they stay. --draws: also random models, from this seed on, in the interpreter."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import sequence_draw

TPAT = os.path.abspath(os.environ.get("TPAT", "build/tpat"))
HEAD = '<ir_version: 8, opset_import: ["" : {}{}]>\n'
LOOP = """agraph (float[4,6] x) => (float[{t},{n}] y) {{
  m = Constant <value = int64 {{{t}}}> ()
  on = Constant <value = bool {{1}}> ()
  empty = SequenceEmpty <dtype = 1> ()
  all = Loop (m, on, empty) <body = turn (int64 i, bool go, seq(float[4,6]) before) => (bool next, seq(float[4,6]) after) {{
    next = Identity (go)
    f = Cast <to = 1> (i)
    part = {op}
    after = SequenceInsert (before, part)
  }}>
  y = ConcatFromSequence <axis = 0, new_axis = {new}> (all)
}}"""
# The extents of the inputs: those of the type, and for open ones, what is listed in SIZES.
SIZES = {"N": 5, "M": 7, "K": 8}
MODELS = {
    "split_at": (13, """agraph (float[2,9,N] x) => (float[2,2,N] a, float[2,1,N] b) {
      two = Constant <value = int64 {2}> ()
      zero = Constant <value = int64 {0}> ()
      last = Constant <value = int64 {-1}> ()
      s = SplitToSequence <axis = 1> (x, two)
      p = SequenceAt (s, zero)
      a = Relu (p)
      b = SequenceAt (s, last)
    }"""),
    "split_old": (11, """agraph (float[2,9] x) => (float[2,4] a, float[2,5] b) {
      sizes = Constant <value = int64[2] {4, 5}> ()
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      s = SplitToSequence <axis = -1> (x, sizes)
      a = SequenceAt (s, zero)
      b = SequenceAt (s, one)
    }"""),
    "unbind": (17, """agraph (float[N,3,4] x) => (float[N,4] y, int64 n, float[N,4,3] z) {
      one = Constant <value = int64 {1}> ()
      s = SplitToSequence <axis = 1, keepdims = 0> (x)
      p = SequenceAt (s, one)
      y = Sigmoid (p)
      n = SequenceLength (s)
      z = ConcatFromSequence <axis = -1, new_axis = 1> (s)
    }"""),
    "unbind_open": (17, """agraph (float[3,N,4] x) => (float[3,4] y, int64 n, float[N,3,4] z, float[M] w, float[3,4] v) {
      one = Constant <value = int64 {1}> ()
      last = Constant <value = int64 {-2}> ()
      s = SplitToSequence <axis = 1, keepdims = 0> (x)
      y = SequenceAt (s, one)
      v = SequenceAt (s, last)
      n = SequenceLength (s)
      z = ConcatFromSequence <axis = 0, new_axis = 1> (s)
      j = ConcatFromSequence <axis = 0> (s)
      k = Constant <value = int64[1] {-1}> ()
      w = Reshape (j, k)
    }"""),
    "split_open": (18, """agraph (float[N,4] x) => (float[2,4] y, int64 n, float[N,4] z, float[A,4] w) {
      last = Constant <value = int64 {-1}> ()
      two = Constant <value = int64 {2}> ()
      one = Constant <value = int64 {1}> ()
      s = SplitToSequence <axis = 0> (x, two)
      y = SequenceAt (s, one)
      w = SequenceAt (s, last)
      n = SequenceLength (s)
      z = ConcatFromSequence <axis = 0> (s)
    }"""),
    "stack": (17, """agraph (float[N,4] x, float[N,4] w) => (float[3,N,4] y, float[N,12] z) {
      r = Relu (x)
      s = SequenceConstruct (x, w, r)
      y = ConcatFromSequence <axis = 0, new_axis = 1> (s)
      z = ConcatFromSequence <axis = 1> (s)
    }"""),
    "insert_erase": (13, """agraph (float[N,4] x, float[N,4] w) => (float[N,16] y, int64 n) {
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      minus = Constant <value = int64 {-1}> ()
      a = SequenceEmpty <dtype = 1> ()
      b = SequenceInsert (a, x)
      c = SequenceInsert (b, w, zero)
      d = SequenceInsert (c, x, one)
      e = SequenceErase (d, minus)
      f = SequenceErase (e)
      r = Neg (w)
      g = SequenceInsert (f, r)
      h = SequenceInsert (g, w, minus)
      i = SequenceInsert (h, x)
      n = SequenceLength (i)
      y = ConcatFromSequence <axis = 1> (i)
    }"""),
    "picked": (17, """agraph (float[4,N] x, int64 k) => (float[N] y, float[2,N] z, float[1,N] w) {
      two = Constant <value = int64 {2}> ()
      rest = Mod (k, two)
      s = SplitToSequence <axis = 0, keepdims = 0> (x)
      y = SequenceAt (s, k)
      t = SplitToSequence <axis = 0> (x, two)
      z = SequenceAt (t, rest)
      u = SplitToSequence <axis = 0> (x)
      w = SequenceAt (u, k)
    }"""),
    "unrolled": (17, LOOP.format(t=5, n="4,6", op="Mul (x, f)", new=1)),
    "scanned": (17, LOOP.format(t=40, n="4,6", op="Mul (x, f)", new=1)),
    "scan_joined": (17, LOOP.format(t=40, n="6", op="Mul (x, f)", new=0).replace("[40,6] y", "[160,6] y")),
    "while_scanned": (17, """agraph (float[4,6] x, int64 k) => (float[K,4,6] y, float y2) {
      on = Constant <value = bool {1}> ()
      zero = Constant <value = float {0}> ()
      empty = SequenceEmpty <dtype = 1> ()
      all, y2 = Loop (k, on, empty, zero) <body = turn (int64 i, bool go, seq(float[4,6]) before, float sum)
                                    => (bool next, seq(float[4,6]) after, float more) {
        next = Identity (go)
        f = Cast <to = 1> (i)
        more = Add (sum, f)
        part = Mul (x, f)
        after = SequenceInsert (before, part)
      }>
      y = ConcatFromSequence <axis = 0, new_axis = 1> (all)
    }"""),
    "list_loop": (17, """agraph (float[4,N] x, float[4,N] w) => (float[3,4,N] y, float[4,N] z) {
      m = Constant <value = int64 {3}> ()
      on = Constant <value = bool {1}> ()
      r = Exp (x)
      parts = SequenceConstruct (x, w, r)
      empty = SequenceEmpty <dtype = 1> ()
      all, z = Loop (m, on, empty, x) <body = turn (int64 i, bool go, seq(float) before, float[4,N] sum)
                                    => (bool next, seq(float) after, float[4,N] more) {
        next = Identity (go)
        p = SequenceAt (parts, i)
        more = Add (sum, p)
        after = SequenceInsert (before, more)
      }>
      y = ConcatFromSequence <axis = 0, new_axis = 1> (all)
    }"""),
    "ragged_loop": (17, """agraph (float[7,N] x) => (float[7,N] y) {
      m = Constant <value = int64 {2}> ()
      on = Constant <value = bool {1}> ()
      sizes = Constant <value = int64[2] {3, 4}> ()
      parts = SplitToSequence <axis = 0> (x, sizes)
      empty = SequenceEmpty <dtype = 1> ()
      all = Loop (m, on, empty) <body = turn (int64 i, bool go, seq(float) before) => (bool go2, seq(float) after) {
        go2 = Identity (go)
        p = SequenceAt (parts, i)
        q = Softmax <axis = 0> (p)
        after = SequenceInsert (before, q)
      }>
      y = ConcatFromSequence <axis = 0> (all)
    }"""),
    "picks_in_loop": (17, """agraph (float[20,N] x, float[N] w) => (float[N] y) {
      m = Constant <value = int64 {20}> ()
      on = Constant <value = bool {1}> ()
      parts = SplitToSequence <axis = 0, keepdims = 0> (x)
      y = Loop (m, on, w) <body = turn (int64 i, bool go, float[N] sum) => (bool go2, float[N] more) {
        go2 = Identity (go)
        p = SequenceAt (parts, i)
        q = Mul (p, w)
        more = Add (sum, q)
      }>
    }"""),
    "known_branch": (17, """agraph (float[2,4] x) => (float[2,4] y) {
      yes = Constant <value = bool {1}> ()
      zero = Constant <value = int64 {0}> ()
      s = If (yes) <then_branch = a () => (seq(float[2,4]) p) { r = Relu (x) p = SequenceConstruct (r, x) },
                    else_branch = b () => (seq(float[2,4]) q) { q = SequenceEmpty <dtype = 1> () }>
      y = SequenceAt (s, zero)
    }"""),
    "branches": (17, """agraph (float[2,4] x, bool c) => (float[2,4] y, float[4,4] z) {
      one = Constant <value = int64 {1}> ()
      s = If (c) <then_branch = a () => (seq(float[2,4]) p) { r = Relu (x) p = SequenceConstruct (r, x) },
                  else_branch = b () => (seq(float[2,4]) q) { n = Neg (x) q = SequenceConstruct (x, n) }>
      y = SequenceAt (s, one)
      z = ConcatFromSequence <axis = 0> (s)
    }"""),
    "map": (17, """agraph (float[2,4] x, float[3,4] w, float[4] b) => (float[5,4] y) {
      s = SequenceConstruct (x, w)
      t = SequenceMap (s, b) <body = each (float[A,4] e, float[4] c) => (float[A,4] f) { d = Add (e, c) f = Tanh (d) }>
      y = ConcatFromSequence <axis = 0> (t)
    }"""),
    "optional": (18, """agraph (float[2,4] x) => (float[2,4] y) {
      o = Optional (x)
      has = OptionalHasElement (o)
      y = If (has) <then_branch = a () => (float[2,4] p) { e = OptionalGetElement (o) p = Relu (e) },
                    else_branch = b () => (float[2,4] q) { q = Neg (x) }>
    }"""),
    "plugins_around": (17, """agraph (float[2,6,N] x) => (float[2,3,N] y, float[2,6,N] z) {
      three = Constant <value = int64 {3}> ()
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      q, scale, point = DynamicQuantizeLinear (x)
      h = DequantizeLinear (q, scale, point)
      s = SplitToSequence <axis = 1> (h, three)
      p = SequenceAt (s, zero)
      o = SequenceAt (s, one)
      u, scale2, point2 = DynamicQuantizeLinear (p)
      r = DequantizeLinear (u, scale2, point2)
      y = Add (r, o)
      t = SequenceConstruct (y, r)
      z = ConcatFromSequence <axis = 1> (t)
    }"""),
    "functions": (18, """agraph (float[N,6] x) => (float[N,3] y, float[2,N,3] z) {
      s = my.split <n = 3> (x)
      y = my.at (s)
      z = my.stack (s)
    }
    <domain: "my", opset_import: ["" : 18]>
    split <n> (x) => (s) {
      k = Constant <value_int : int = @n> ()
      s = SplitToSequence <axis = 1> (x, k)
    }
    <domain: "my", opset_import: ["" : 18]>
    at (s) => (y) {
      k = Constant <value_int = 1> ()
      y = SequenceAt (s, k)
    }
    <domain: "my", opset_import: ["" : 18]>
    stack (s) => (y) { y = ConcatFromSequence <axis = 0, new_axis = 1> (s) }"""),
    "chained": (17, """agraph (float[8,4] x) => (float[8,4] y) {
      four = Constant <value = int64 {4}> ()
      two = Constant <value = int64 {2}> ()
      one = Constant <value = int64 {1}> ()
      zero = Constant <value = int64 {0}> ()
      s = SplitToSequence <axis = 0> (x, four)
      a = SequenceAt (s, one)
      t = SplitToSequence <axis = 1> (a, two)
      b = SequenceAt (t, zero)
      c = SequenceAt (t, one)
      u = SequenceConstruct (c, b)
      d = ConcatFromSequence <axis = 1> (u)
      f = SequenceAt (s, zero)
      v = SequenceConstruct (d, f)
      y = ConcatFromSequence <axis = 0> (v)
    }"""),
}
KEPT = {
    "open_list": (17, """agraph (float[N,4] x, int64 k, float[4] w) => (float[A,4] y) {
      on = Constant <value = bool {1}> ()
      empty = SequenceEmpty <dtype = 1> ()
      all = Loop (k, on, empty) <body = turn (int64 i, bool go, seq(float) before) => (bool go2, seq(float) after) {
        go2 = Identity (go)
        j = Unsqueeze (i, zeros)
        e = Concat <axis = 0> (j, four)
        p = Expand (w, e)
        after = SequenceInsert (before, p)
      }>
      zeros = Constant <value = int64[1] {0}> ()
      four = Constant <value = int64[1] {4}> ()
      y = ConcatFromSequence <axis = 0> (all)
    }"""),
}
OPERATORS = {"SplitToSequence", "SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceAt",
             "SequenceLength", "SequenceMap", "ConcatFromSequence", "Optional", "OptionalHasElement", "OptionalGetElement"}


def model_of(opset, text):
    model = onnx.parser.parse_model(HEAD.format(opset, ', "my" : 1' if "my." in text else "") + text)
    nodes = list(model.graph.node)  # constants before what reads them
    del model.graph.node[:]
    model.graph.node.extend(sorted(nodes, key=lambda n: n.op_type != "Constant"))
    return model


def values_of(model, sizes=SIZES):
    random, values = np.random.default_rng(1), {}
    for v in model.graph.input:
        t = v.type.tensor_type
        shape = [d.dim_value or sizes[d.dim_param] for d in t.shape.dim]
        values[v.name] = {1: lambda s: random.standard_normal(s).astype(np.float32), 7: lambda s: np.full(s, 3, np.int64),
                          9: lambda s: np.ones(s, bool)}[t.elem_type](shape)
    return values


def outputs_of(path, values):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, values)


def operators(graph):
    for node in graph.node:
        yield node.op_type
        for a in node.attribute:
            if a.HasField("g"):
                yield from operators(a.g)


def run_fault(path, values, outputs, want, folder, *options):
    """What is wrong with the outputs of tpat run; None: nothing."""
    np.savez(os.path.join(folder, "want.npz"), **{o.name: w for o, w in zip(outputs, want)})
    np.savez(os.path.join(folder, "given.npz"), **values)
    ran = subprocess.run([TPAT, "run", path, "-i", folder + "/given.npz", "-e", folder + "/want.npz", *options],
                         capture_output=True, text=True)
    return "run: " + ran.stdout + ran.stderr if ran.returncode else None


def draw_fault(seed, folder):
    path = os.path.join(folder, "draw.onnx")
    try:
        model = sequence_draw.draw(seed)
        onnx.save(model, path)
        values = values_of(model, sequence_draw.SIZES)
        want = outputs_of(path, values)
    except Exception:  # wrong models are not tpat's; their errors have no common class
        return ""
    return run_fault(path, values, model.graph.output, want, folder, "-d", "interpreter")


def fault_of(name, opset, text, folder):
    path = os.path.join(folder, name + ".onnx")
    rewritten = os.path.join(folder, name + "_tpat.onnx")
    model = model_of(opset, text)
    onnx.save(model, path)
    values = values_of(model)
    want = outputs_of(path, values)
    fault = run_fault(path, values, model.graph.output, want, folder)
    if fault:
        return fault
    built = subprocess.run([TPAT, "build", path, "--auto", "--force", "-o", rewritten], capture_output=True, text=True)
    if built.returncode:
        return "build: " + built.stdout + built.stderr
    left = OPERATORS & set(operators(onnx.load(rewritten).graph))
    if left:
        return f"left: {left}"
    onnx.checker.check_model(onnx.load(rewritten))
    for got, one in zip(outputs_of(rewritten, values), want):
        if got.shape != one.shape or not np.allclose(got, one, 1e-5, 1e-5):
            return "other outputs in ONNX Runtime"
    return None


def main():
    passed = failed = 0
    names, draws, first = sys.argv[1:], 0, 0
    if names[:1] == ["--draws"]:
        draws, first, names = int(names[1]), int(names[2]), names[3:]
    with tempfile.TemporaryDirectory() as folder:
        for name, (opset, text) in MODELS.items():
            if names and name not in names:
                continue
            fault = fault_of(name, opset, text, folder)
            passed, failed = passed + (not fault), failed + bool(fault)
            if fault:
                print(f"{name}: {fault}")
        for name, (opset, text) in KEPT.items():
            path = os.path.join(folder, name + ".onnx")
            onnx.save(model_of(opset, text), path)
            listed = subprocess.run([TPAT, "list", path, "--refused"], capture_output=True, text=True)
            kept = listed.returncode == 0 and "ConcatFromSequence" in listed.stdout
            passed, failed = passed + kept, failed + (not kept)
            if not kept:
                print(f"{name}: {listed.stdout}{listed.stderr}")
        for seed in range(first, first + draws):
            fault = draw_fault(seed, folder)
            passed, failed = passed + (fault is None), failed + bool(fault)
            if fault:
                print(f"draw {seed}: {fault}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
