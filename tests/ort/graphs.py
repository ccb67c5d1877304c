"""Writes graphs of 3 to 12 nodes of mixed operators and types, with what ONNX Runtime computes: graphs.py FOLDER SEED COUNT.

Nodes are drawn one after the other. Each is run at once, for every set of extents of the model, and drawn again if ONNX Runtime
refuses it; so no step here keeps shapes. The steps are graph_steps.py's, and every few nodes an operator as the other files draw
it, one of whose inputs is made of an earlier tensor. A tensor is *exact* if no order of computing it can give other bits; only
such tensors reach operators where a rounding error decides (comparisons, roundings, indices)."""
import glob
import importlib
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

import cases  # noqa: E402
import draw  # noqa: E402
import graph_steps  # noqa: E402
import oracle  # noqa: E402

for path in sorted(glob.glob(os.path.join(HERE, "ops_*.py"))):
    importlib.import_module(os.path.basename(path)[:-3])

EXTENTS = [1, 2, 3, 3, 4, 5, 7, 8, 8, 9, 13, 16, 17, 24, 31, 33, 64, 65]
TYPES = [numpy.float32] * 6 + [numpy.float16] * 4 + [numpy.float64, numpy.int8, numpy.uint8, numpy.int32, numpy.int32, numpy.int64,
                                                    numpy.int64, numpy.bool_, numpy.int16, numpy.uint16, numpy.uint32, numpy.uint64]
LARGE = EXTENTS + [100, 127, 128, 200, 255, 257, 300, 511, 513, 777, 1000, 1025, 2048, 4097]
MOST, MOST_LARGE = 6000, 60000  # elements of a tensor
SETS = 2  # of extents
STREWN = (numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0)
# Other files' operators whose results rounding errors or ties decide.
NOT_HERE = {"com.microsoft.QMoE", "com.microsoft.MoE", "com.microsoft.DynamicQuantizeLSTM", "com.microsoft.Inverse", "OneHot",
            "MeanVarianceNormalization"}


class Refused(Exception):
    """This draw of a step is no valid node."""


class Tensor:
    """`values`: one for each set of extents."""

    def __init__(self, name, values, exact, constant=False):
        self.name, self.values, self.exact, self.constant = name, values, exact, constant
        self.shape, self.dtype = values[0].shape, values[0].dtype
        self.rank = len(self.shape)
        self.float = self.dtype.kind == "f"


def few_bits(value):
    """True if sums and products of some such numbers are exact in their type."""
    if value.dtype.kind != "f":
        return value.dtype.kind == "b" or not value.size or int(value.max()) < 1 << 30 and int(value.min()) > -(1 << 30)
    most, step = (64, 8) if value.dtype == numpy.float16 else (2048, 64)
    finite = value[numpy.isfinite(value)].astype(numpy.float64)
    return bool((abs(finite) <= most).all() and (finite * step == numpy.rint(finite * step)).all())


class Graph:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.data = numpy.random.default_rng(self.rng.randrange(1 << 30))
        self.opset = self.rng.choice([18, 19, 20, 21, 22])
        self.nodes, self.pool, self.constants, self.inputs, self.infos, self.names = [], [], [], [], [], 0
        self.special = self.rng.random() < 0.15
        self.only_exact = self.rng.random() < 0.35
        self.large = self.rng.random() < 0.15
        self.extents, self.most = (LARGE, MOST_LARGE) if self.large else (EXTENTS, MOST)
        self.symbols = {f"n{k}": [self.rng.choice(self.extents) for _ in range(SETS)] for k in range(3)}
        self.half = False
        for _ in range(self.rng.choice([1, 1, 2, 2, 3])):
            self.input()

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def random_values(self, dtype, shape):
        dtype = numpy.dtype(dtype)
        if dtype == numpy.bool_:
            return self.data.random(shape) < 0.5
        if dtype.kind in "iu":
            return self.data.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
        values = numpy.asarray(self.data.integers(-12, 13, shape) / 4).astype(dtype)
        if self.special:
            strewn = self.data.random(shape) < 0.05
            values = numpy.where(strewn, self.data.choice(numpy.array(STREWN, dtype), shape), values).astype(dtype)
        return values

    def input(self):
        rank, dtype = self.rng.choice([1, 2, 2, 3, 3, 4, 4, 5]), self.rng.choice(TYPES)
        while True:
            dims = [self.rng.choice(list(self.symbols)) if self.rng.random() < 0.4 else self.rng.choice(self.extents)
                    for _ in range(rank)]
            shapes = [[self.symbols[d][k] if isinstance(d, str) else d for d in dims] for k in range(SETS)]
            if all(numpy.prod(shape) <= self.most for shape in shapes):
                break
        name = self.name("x")
        tensor = Tensor(name, [self.random_values(dtype, shape) for shape in shapes], True)
        self.infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)), dims))
        self.inputs.append(tensor)
        self.pool.append(tensor)
        self.half |= dtype == numpy.float16

    # ---- What steps call.

    def constant(self, value, dtype=numpy.int64):
        value = numpy.asarray(value, dtype)
        tensor = Tensor(self.name("c"), [value] * SETS, few_bits(value), True)
        self.constants.append(tensor)
        return tensor

    def pick(self, *kinds, rank=None, exact=False):
        """A tensor, one of the last more often; `kinds`: letters of NumPy's kinds of types."""
        kinds = "".join(kinds) or "fiub"
        found = [t for t in self.pool if t.dtype.kind in kinds and (rank is None or t.rank in rank) and (t.exact or not exact)]
        if not found:
            raise Refused
        return self.rng.choice(found[-2:] if self.rng.random() < 0.7 else found)

    def need(self, condition):
        if not condition:
            raise Refused

    def node(self, kind, inputs, outputs=1, exact=False, domain="", **attributes):
        """Adds a node, and runs it. `exact`: the operator only moves, or computes without rounding if the results have few bits.
        Returns its result, or a list of several."""
        if self.only_exact and not exact:
            raise Refused
        names = [self.name("t") for _ in range(outputs)]
        self.need(not any(v == [] for v in attributes.values()))
        proto = helper.make_node(kind, [t.name if t else "" for t in inputs], names, name=self.name("node"), domain=domain,
                                 **attributes)
        given = [t for t in inputs if t]
        results = self.run([proto], given, names)
        self.nodes.append(proto)
        tensors = []
        for k, name in enumerate(names):
            values = [values[k] for values in results]
            if any(not isinstance(v, numpy.ndarray) or v.size > self.most * 4 for v in values) or values[0].dtype.kind not in "fiub":
                raise Refused
            self.need(self.special or values[0].dtype.kind != "f" or all(numpy.isfinite(v).all() for v in values))
            right = exact and all(t.exact for t in given) and all(map(few_bits, values))
            if not right:
                self.need(not self.only_exact and values[0].dtype.kind == "f")
                self.need(all(abs(v[numpy.isfinite(v)]).max(initial=0) < 1000 for v in values))
            self.half |= values[0].dtype == numpy.float16
            tensors.append(Tensor(name, values, right))
        return tensors[0] if outputs == 1 else tensors

    def run(self, nodes, given, names):
        unique = {t.name: t for t in given}
        infos = [helper.make_tensor_value_info(t.name, helper.np_dtype_to_tensor_dtype(t.dtype), [None] * t.rank)
                 for t in unique.values() if not t.constant]
        weights = [numpy_helper.from_array(t.values[0], t.name) for t in unique.values() if t.constant]
        graph = helper.make_graph(nodes, "step", infos, [onnx.ValueInfoProto(name=name) for name in names], weights)
        try:
            session = oracle.session(self.whole(graph, nodes))
            return [session.run(None, {t.name: t.values[k] for t in unique.values() if not t.constant}) for k in range(SETS)]
        except Exception as error:  # ONNX Runtime has many
            raise Refused(str(error)) from None

    def whole(self, graph, nodes):
        domains = {node.domain for node in nodes} - {""}
        opsets = [("", self.opset)] + [(d, 1 if d == "com.microsoft" else 3) for d in sorted(domains)]
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*opset) for opset in opsets], producer_name="test")
        model.ir_version = 10
        return model

    # ---- The model.

    def step(self, steps):
        marks = len(self.nodes), len(self.constants), self.half
        try:
            made = self.rng.choice(steps)(self)
            made = made if isinstance(made, list) else [made]
            self.need(all(v.size for t in made for v in t.values) or self.rng.random() < 0.05)
            self.pool += made
        except Refused:
            del self.nodes[marks[0]:], self.constants[marks[1]:]
            self.half = marks[2]

    def model(self):
        steps = graph_steps.STEPS + [drawn_operator] * (len(graph_steps.STEPS) // 4)
        wanted, tries = self.rng.randint(3, 12), 0
        while len(self.nodes) < wanted and tries < 200:
            self.step(steps)
            tries += 1
        read = {name for node in self.nodes for name in node.input}
        made = [t for t in self.pool if t not in self.inputs]
        ends = [t for t in made if t.name not in read]
        if not ends:
            return None
        ends.sort(key=lambda t: -self.depth(t.name))
        self.outputs = ends[:self.rng.choice([1, 2, 3, 4])]
        self.outputs += [t for t in made if t not in self.outputs and self.rng.random() < 0.08]
        needed, kept = {t.name for t in self.outputs}, []
        for node in reversed(self.nodes):
            if needed & set(node.output):
                needed |= set(node.input)
                kept.insert(0, node)
        self.inputs = [t for t in self.inputs if t.name in needed]
        infos = [info for info in self.infos if info.name in needed]
        outs = [helper.make_tensor_value_info(t.name, helper.np_dtype_to_tensor_dtype(t.dtype), [None] * t.rank)
                for t in self.outputs]
        weights = [numpy_helper.from_array(t.values[0], t.name) for t in self.constants if t.name in needed]
        return self.whole(helper.make_graph(kept, "graph", infos, outs, weights), kept)

    def depth(self, name):
        """The number of nodes that a tensor needs."""
        needed = {name}
        for node in reversed(self.nodes):
            if needed & set(node.output):
                needed |= set(node.input)
        return len(needed)

    def tolerance(self):
        inexact = [t for t in self.outputs if not t.exact]
        if not inexact:
            return 0, 0
        size = max(float(abs(v[numpy.isfinite(v)]).max(initial=0)) for t in inexact for v in t.values)
        return (2e-2, 2e-2 * size) if self.half else (1e-3, 1e-4 * size)


def drawn_operator(g):
    """An operator as another file draws it; one of its inputs is made of an earlier tensor."""
    op = g.rng.choice(sorted(draw.GENERATORS))
    g.need(not g.special and op not in NOT_HERE)
    try:
        d = draw.Draw(op, g.opset, g.rng.randrange(1 << 30))
        case = draw.GENERATORS[op](d)
    except Exception:  # of another opset
        raise Refused from None
    g.need(not isinstance(case, draw.Model) and case.results is None and case.version == 1)
    floats = [k for k, value in enumerate(case.inputs)
              if k not in case.constant and isinstance(value, numpy.ndarray) and value.dtype.kind == "f" and value.size]
    g.need(floats and all(value is None or isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub"
                          for value in case.inputs))
    replaced = g.rng.sample(floats, g.rng.randint(1, len(floats)))
    inputs = []
    for k, value in enumerate(case.inputs):
        inputs.append(None if value is None else graph_steps.as_shape(g, g.pick("f"), value.shape, value.dtype) if k in replaced
                      else g.constant(value, value.dtype))
    while inputs and inputs[-1] is None:
        inputs.pop()
    domain = d.domain if case.domain is None else case.domain
    return g.node(d.op, inputs, case.outputs, domain=domain, **case.attrs)


def write(folder, seed, count):
    index = cases.Index(folder, f"graphs {seed} {count}, onnx {onnx.__version__}", [__file__, graph_steps.__file__])
    if index.current():
        return
    index.begin()
    for number in range(count):
        graph = Graph(seed * 1000003 + number)
        model = graph.model()
        if not model:
            continue
        try:
            session = oracle.session(model)
        except Exception as error:
            print(number, str(error)[-150:])
            continue
        sets = []
        for k in range(SETS):
            sets.append(([t.values[k] for t in graph.inputs], session.run(None, {t.name: t.values[k] for t in graph.inputs})))
            for t, value in zip(graph.outputs, sets[-1][1]):
                if t.exact and not numpy.array_equal(value, t.values[k], equal_nan=value.dtype.kind == "f"):
                    print(f"{number}: {t.name} differs between node by node and whole")
        index.add(f"{'large' if graph.large else 'graph'}_{seed}_{number}", model, sets, "graph", *graph.tolerance())
    index.close()
    print(f"{folder}: {len(index.rows)} models of seed {seed}")


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
