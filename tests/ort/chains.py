"""Writes models of 3 to 8 operators in a chain, with awkward names and extents, and what ONNX Runtime computes:
chains.py FOLDER SEED COUNT. A name is a keyword, a path, a format or not ASCII; extents are odd, or have names and grow
to 4*W+1; projections of one tensor, each with a bias, stand next to each other. The files are spelled as by several exporters.

chains.py --build TPAT FOLDER EVERY builds the whole of every EVERY-th model as one plugin for some GPU, verifies it on the
emulator, and compares the rewritten model with the original in ONNX Runtime."""
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import cases  # noqa: E402
import oracle  # noqa: E402

NAMES = ["end", "template", "../norm", "while", "int", "blockIdx", 'weight "ä" %s', "a b", "100%", "%d%n", "名前", "default",
         "x\\y", "__shared__", "thread", "struct", "-1", "a,b", "#0", "NULL", "operator", "/model/layers.0/Add", "i", "element",
         "x::y", "float", "restrict", "'", "$HOME", "~", "k[0]", "a/../b", "this", "N", "sum", "x_v", "for", "\u00a0", "0"]
SYMBOLS = ["W", "batch size", "int", "end", "N", "élan", "%d", "block"]
ODD = [1, 3, 5, 7, 9, 13, 17, 31, 33, 37, 65]
GPUS = [("T4", "sm_75"), ("A10", "sm_86"), ("Jetson Orin Nano 8GB", "sm_87"), ("RTX 4090", "sm_89"), ("H100 SXM", "sm_90"),
        ("B200", "sm_100")]
# All operators here are continuous, so that a rounding error stays one.
UNARY = ["Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Erf", "Softplus", "HardSwish", "LeakyRelu", "Softsign"]


class Chain:
    """One model under construction: the current tensor with its extents in the run; those with names are not `fixed`."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.data = numpy.random.default_rng(self.rng.randrange(1 << 30))
        self.free = self.rng.sample(NAMES, len(NAMES))
        self.nodes, self.constants, self.earlier = [], [], []
        self.dtype = self.rng.choice([numpy.float32, numpy.float32, numpy.float16])
        rank = self.rng.choice([2, 3, 3, 4])
        self.shape = [self.rng.choice(ODD) for _ in range(rank)]
        while numpy.prod(self.shape) > 20000:
            self.shape[self.rng.randrange(rank)] = self.rng.choice(ODD[:5])
        self.fixed = [self.rng.random() < 0.4 for _ in range(rank)]
        self.fixed[-1] = True
        symbols = self.rng.sample(SYMBOLS, rank)
        self.input = self.name()
        self.x = self.input
        self.given = (self.data.standard_normal(self.shape) * 2).astype(self.dtype)
        self.info = helper.make_tensor_value_info(
            self.input, helper.np_dtype_to_tensor_dtype(numpy.dtype(self.dtype)),
            [n if fixed else symbol for n, fixed, symbol in zip(self.shape, self.fixed, symbols)])

    def name(self):
        return self.free.pop() if self.free else f"{self.rng.choice(NAMES)} {len(self.nodes)} {len(self.constants)}"

    def constant(self, value, dtype=None):
        name = self.name()
        self.constants.append(numpy_helper.from_array(numpy.asarray(value, dtype or self.dtype), name))
        return name

    def weights(self, *shape):
        return self.constant(self.data.standard_normal(shape) / max(1, shape[0]) ** 0.5)

    def node(self, kind, inputs, **attributes):
        out = self.name()
        self.nodes.append(helper.make_node(kind, inputs, [out], name=self.name(), **attributes))
        return out

    # Each of these makes self.x another tensor and keeps its extents up to date.

    def unary(self):
        self.x = self.node(self.rng.choice(UNARY), [self.x])

    def with_constant(self):
        self.x = self.node(self.rng.choice(["Add", "Mul", "Sub", "Max"]), [self.x, self.weights(self.shape[-1])])

    def residual(self):
        same = [name for name, shape in self.earlier if shape == self.shape]
        self.x = self.node(self.rng.choice(["Add", "Mul"]), [self.x, self.rng.choice(same or [self.x])])

    def projections(self):
        width = self.rng.choice(ODD)
        sides = [self.node("Add", [self.node("MatMul", [self.x, self.weights(self.shape[-1], width)]), self.weights(width)])
                 for _ in range(2)]
        if self.rng.random() < 0.5:
            sides[1] = self.node("Sigmoid", [sides[1]])
        kind = self.rng.choice(["Mul", "Add", "Concat"])
        self.x = self.node(kind, sides, **({"axis": -1} if kind == "Concat" else {}))
        self.shape[-1] = width * (2 if kind == "Concat" else 1)

    def concat(self):
        axis = self.rng.randrange(len(self.shape))
        if numpy.prod(self.shape) > 20000:
            return self.unary()
        first = self.node("Slice", [self.x, *(self.constant([k], numpy.int64) for k in (0, 1, axis))])
        times = self.rng.choice([2, 4])
        self.x = self.node("Concat", [self.x] * times + [first], axis=axis)
        self.shape[axis] = self.shape[axis] * times + 1

    def normalise(self):
        if self.rng.random() < 0.5:
            self.x = self.node("Softmax", [self.x], axis=self.rng.choice([-1, 0, 1]))
        else:
            self.x = self.node("LayerNormalization",
                               [self.x, self.weights(self.shape[-1]), self.weights(self.shape[-1])], axis=-1)

    def centre(self):
        axes = self.constant([self.rng.randrange(len(self.shape))], numpy.int64)
        other = self.node(self.rng.choice(["ReduceMean", "ReduceMax", "ReduceSum", "ReduceL2"]), [self.x, axes], keepdims=1)
        self.x = self.node("Sub", [self.x, other])

    def transpose(self):
        order = list(range(len(self.shape) - 1))
        self.rng.shuffle(order)
        order.append(len(self.shape) - 1)
        self.x = self.node("Transpose", [self.x], perm=order)
        self.shape, self.fixed = [self.shape[k] for k in order], [self.fixed[k] for k in order]

    def every_second(self):
        axis = self.rng.randrange(len(self.shape))
        big = numpy.iinfo(numpy.int64).max
        self.x = self.node("Slice", [self.x, *(self.constant([k], numpy.int64) for k in (0, big, axis, 2))])
        self.shape[axis] = (self.shape[axis] + 1) // 2

    def pad(self):
        pads = [self.rng.choice([0, 1, 2]) for _ in range(2 * len(self.shape))]
        self.x = self.node("Pad", [self.x, self.constant(pads, numpy.int64)], mode="constant")
        self.shape = [n + pads[k] + pads[k + len(self.shape)] for k, n in enumerate(self.shape)]

    def gather(self):
        index = self.data.integers(0, self.shape[-1], self.rng.choice(ODD))
        self.x = self.node("Gather", [self.x, self.constant(index, numpy.int64)], axis=-1)
        self.shape[-1] = len(index)

    def running(self):
        if self.dtype == numpy.float16:  # ONNX Runtime has no CumSum of f16
            return self.unary()
        axis = self.constant(self.rng.randrange(len(self.shape)), numpy.int64)
        self.x = self.node("CumSum", [self.node("Tanh", [self.x]), axis])

    def select(self):
        least = self.constant(self.data.standard_normal())
        above = self.node(self.rng.choice(["Greater", "GreaterOrEqual"]), [self.x, least])
        self.x = self.node("Where", [above, self.x, least])

    def model(self):
        steps = [self.unary, self.with_constant, self.residual, self.projections, self.projections, self.concat, self.concat,
                 self.normalise, self.centre, self.transpose, self.every_second, self.pad, self.gather, self.running, self.select]
        wanted = self.rng.randint(3, 8)
        while len(self.nodes) < wanted:
            self.earlier.append((self.x, list(self.shape)))
            self.rng.choice(steps)()
        out = helper.make_tensor_value_info(self.x, self.info.type.tensor_type.elem_type, [None] * len(self.shape))
        graph = helper.make_graph(self.nodes, "chain", [self.info], [out], self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="test")
        made.ir_version = 9
        onnx.checker.check_model(made)
        made = onnx.shape_inference.infer_shapes(made)
        self.spell(made)
        return made

    def spell(self, made):
        """Spells the same model as other exporters do: of another IR version, with weights also among the inputs, with some of
        them as nodes, with nodes in any order, and with an operator of a domain that is not imported."""
        rng, graph = random.Random(self.rng.random()), made.graph
        made.ir_version = rng.choice([3, 4, 6, 8, 9, 9, 10, 11])
        if rng.random() < 0.3:
            for weight in list(graph.initializer):
                if rng.random() < 0.5:
                    graph.initializer.remove(weight)
                    graph.node.insert(0, helper.make_node("Constant", [], [weight.name], value=weight))
        if made.ir_version == 3 or rng.random() < 0.5:
            listed = [info for info in graph.input] + [helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims)
                                                       for weight in graph.initializer]
            rng.shuffle(listed)
            del graph.input[:]
            graph.input.extend(listed)
        if rng.random() < 0.2:
            last = next(node for node in graph.node if node.output[0] == self.x)
            last.output[0] = self.name()
            graph.node.append(helper.make_node("QuickGelu", [last.output[0]], [self.x], domain="com.microsoft"))
        if rng.random() < 0.3:
            nodes = list(graph.node)
            rng.shuffle(nodes)
            del graph.node[:]
            graph.node.extend(nodes)


def write(folder, seed, count):
    index = cases.Index(folder, f"chains {seed} {count}, onnx {onnx.__version__}", [__file__])
    if index.current():
        return
    index.begin()
    for number in range(count):
        chain = Chain(seed * 1000003 + number)
        model = chain.model()
        output, = oracle.session(model).run(None, {chain.input: chain.given})
        assert list(output.shape) == chain.shape, (number, output.shape, chain.shape)
        size = float(numpy.abs(output[numpy.isfinite(output)]).max(initial=0))
        half = chain.dtype == numpy.float16
        index.add(f"chain_{seed}_{number}", model, [([chain.given], [output])], "chain",
                  rtol=1e-2 if half else 1e-4, atol=size * (2e-2 if half else 1e-5))
    index.close()
    print(f"{folder}: {count} models of seed {seed}")


def build(tpat, folder, every):
    rows = [line.split("\t")[0] for line in open(f"{folder}/index.tsv", encoding="utf-8") if line[0] != "#"][::every]
    passed = 0
    for number, row in enumerate(rows):
        model, made = f"{folder}/{row}/model.onnx", f"{folder}/{row}/built"
        nodes = ",".join(f"#{k}" for k in range(len(onnx.load(model).graph.node)))
        gpu, arch = GPUS[(number * 5 + len(row)) % len(GPUS)]
        os.makedirs(made, exist_ok=True)
        steps = [[tpat, "build", model, "--region", nodes, "--gpu", gpu, "--arch", arch, "--any-types", "-o", f"{made}/net.onnx"],
                 [tpat, "verify", f"{made}/net.onnx", "--device", "emulator", "--runs", "1", "--dump", made],
                 [sys.executable, "tools/demo-check.py", model, f"{made}/net.onnx", "1"]]
        for step in steps:
            done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode:
                print(f"{row} for {gpu}: {' '.join(step[:2])}: exit {done.returncode}\n{done.stdout}")
                break
        else:
            passed += 1
    print(f"{passed} passed, {len(rows) - passed} failed")
    return passed < len(rows)


if sys.argv[1] == "--build":
    sys.exit(build(sys.argv[2], sys.argv[3], int(sys.argv[4])))
write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
