"""Random models of operators on sequences: draw(seed) gives a model whose inputs have the extents of SIZES. Some are wrong."""
import random

import numpy as np
from onnx import TensorProto as T, helper, numpy_helper, shape_inference

SIZES = {"N": 4, "M": 6}


class Draw:
    """Tensors and sequences, each with the shape, or the list of shapes, that it has at run time."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.opset = self.random.choice([11, 12, 13, 17, 18, 21])
        self.nodes, self.constants, self.tensors, self.sequences, self.inputs, self.names = [], [], [], [], {}, 0
        for i in range(self.random.randint(1, 3)):
            shape = [self.random.choice([2, 3, 4, 6, "N", "M"]) for _ in range(self.random.randint(1, 3))]
            self.inputs[f"x{i}"] = shape
            self.tensors.append((f"x{i}", [SIZES.get(d, d) for d in shape]))

    def constant(self, value, dtype=np.int64):
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def position(self, value):
        return self.constant(value, self.random.choice([np.int64, np.int32]))

    def node(self, op, inputs, **attributes):
        self.names += 1
        self.nodes.append(helper.make_node(op, inputs, [f"t{self.names}"], name=self.random.choice(["", f"n{self.names}"]), **attributes))
        return f"t{self.names}"

    def split(self, x, shape):
        if not shape:
            return
        axis = self.random.randrange(len(shape))
        extent, written = shape[axis], axis - self.random.choice([0, len(shape)])
        way = self.random.randrange(3)
        size = self.random.randint(1, extent)
        sizes = [size, extent - size][: 1 + (extent > size)]
        if way == 0:
            keep = self.random.randrange(2)
            made = self.node("SplitToSequence", [x], axis=written, keepdims=keep)
            self.sequences.append((made, [shape[:axis] + [1] * keep + shape[axis + 1:]] * extent))
            return
        if way == 1:
            sizes = [size] * (extent // size) + [extent % size] * (extent % size > 0)
        made = self.node("SplitToSequence", [x, self.position(size) if way == 1 else self.constant(sizes)], axis=written)
        self.sequences.append((made, [shape[:axis] + [s] + shape[axis + 1:] for s in sizes]))

    def insert(self, sequence, shapes, x, shape):
        at = self.random.randint(-len(shapes), len(shapes))
        given = self.random.random() < 0.6
        made = self.node("SequenceInsert", [sequence, x] + ([self.position(at)] if given else []))
        at = at + len(shapes) * (at < 0) if given else len(shapes)
        self.sequences.append((made, shapes[:at] + [shape] + shapes[at:]))

    def erase(self, sequence, shapes):
        at = self.random.randint(-len(shapes), len(shapes) - 1)
        given = self.random.random() < 0.7
        made = self.node("SequenceErase", [sequence] + ([self.position(at)] if given else []))
        at = at % len(shapes) if given else len(shapes) - 1
        self.sequences.append((made, shapes[:at] + shapes[at + 1:]))

    def concat(self, sequence, shapes):
        first = shapes[0]
        rank = len(first)
        if self.random.randrange(2) and all(s == first for s in shapes):
            axis = self.random.randrange(rank + 1)
            made = self.node("ConcatFromSequence", [sequence], axis=axis - self.random.choice([0, rank + 1]), new_axis=1)
            self.tensors.append((made, first[:axis] + [len(shapes)] + first[axis:]))
            return
        axes = [k for k in range(rank) if all(len(s) == rank and s[:k] + s[k + 1:] == first[:k] + first[k + 1:] for s in shapes)]
        if axes:
            axis = self.random.choice(axes)
            made = self.node("ConcatFromSequence", [sequence], axis=axis - self.random.choice([0, rank]))
            self.tensors.append((made, first[:axis] + [sum(s[axis] for s in shapes)] + first[axis + 1:]))

    def loop(self, sequence, shapes, x, shape):
        turns, b = self.random.choice([2, 3, 20]), f"b{len(self.nodes)}_"
        inputs = [helper.make_tensor_value_info(b + "i", T.INT64, []), helper.make_tensor_value_info(b + "on", T.BOOL, []),
                  helper.make_tensor_sequence_value_info(b + "s", T.FLOAT, None)]
        outputs = [helper.make_tensor_value_info(b + "next", T.BOOL, []),
                   helper.make_tensor_sequence_value_info(b + "after", T.FLOAT, None)]
        nodes = [helper.make_node("Identity", [b + "on"], [b + "next"]), helper.make_node("Cast", [b + "i"], [b + "f"], to=T.FLOAT),
                 helper.make_node("Add", [x, b + "f"], [b + "t"]), helper.make_node("SequenceInsert", [b + "s", b + "t"], [b + "after"])]
        made = self.node("Loop", [self.constant(turns), self.constant(True, bool), sequence],
                         body=helper.make_graph(nodes, b, inputs, outputs))
        self.sequences.append((made, shapes + [shape] * turns))

    def carry(self, sequence, shapes):
        """A loop whose state is a sequence of a fixed length: each turn computes one element anew."""
        b, at = f"b{len(self.nodes)}_", self.random.randrange(len(shapes))
        place = self.position(at - self.random.choice([0, len(shapes)]))
        back = self.position(at)
        inputs = [helper.make_tensor_value_info(b + "i", T.INT64, []), helper.make_tensor_value_info(b + "on", T.BOOL, []),
                  helper.make_tensor_sequence_value_info(b + "s", T.FLOAT, None)]
        outputs = [helper.make_tensor_value_info(b + "next", T.BOOL, []),
                   helper.make_tensor_sequence_value_info(b + "after", T.FLOAT, None)]
        nodes = [helper.make_node("Identity", [b + "on"], [b + "next"]), helper.make_node("Cast", [b + "i"], [b + "f"], to=T.FLOAT),
                 helper.make_node("SequenceAt", [b + "s", place], [b + "old"]), helper.make_node("Add", [b + "old", b + "f"], [b + "sum"]),
                 helper.make_node("Sin", [b + "sum"], [b + "new"]), helper.make_node("SequenceErase", [b + "s", place], [b + "less"]),
                 helper.make_node("SequenceInsert", [b + "less", b + "new", back], [b + "after"])]
        turns = self.constant(self.random.choice([1, 20, 300]))
        if self.random.randrange(2):  # a number that only extents tell
            x, shape = self.random.choice(self.tensors)
            turns = self.node("Size", [x])
        made = self.node("Loop", [turns, self.constant(True, bool), sequence], body=helper.make_graph(nodes, b, inputs, outputs))
        self.sequences.append((made, shapes))

    def step(self):
        x, shape = self.random.choice(self.tensors)
        sequence, shapes = self.random.choice(self.sequences) if self.sequences else ("", [])
        way = self.random.randrange(13) if sequence else self.random.choice([0, 1, 2, 3])
        if way == 0:
            self.split(x, shape)
        elif way == 1:
            parts = [self.random.choice(self.tensors) for _ in range(self.random.randint(1, 4))]
            self.sequences.append((self.node("SequenceConstruct", [p[0] for p in parts]), [p[1] for p in parts]))
        elif way == 2:
            self.sequences.append((self.node("SequenceEmpty", [], dtype=T.FLOAT), []))
        elif way in (4, 5):
            self.insert(sequence, shapes, x, shape)
        elif way == 6 and shapes:
            self.erase(sequence, shapes)
        elif way == 7 and shapes:
            at = self.random.randrange(len(shapes))
            self.tensors.append((self.node("SequenceAt", [sequence, self.position(at - self.random.choice([0, len(shapes)]))]), shapes[at]))
        elif way == 8:
            self.tensors.append((self.node("Cast", [self.node("SequenceLength", [sequence])], to=T.FLOAT), []))
        elif way == 9 and shapes:
            self.concat(sequence, shapes)
        elif way == 10 and all(s == shape for s in shapes):
            self.loop(sequence, shapes, x, shape)
        elif way == 12 and shapes:
            self.carry(sequence, shapes)
        elif way == 11 and self.opset >= 14:
            self.sequences.append((self.node("Identity", [sequence]), shapes))
        else:
            self.tensors.append((self.node(self.random.choice(["Relu", "Neg", "Abs"]), [x]), shape))


def draw(seed):
    d = Draw(seed)
    for _ in range(d.random.randint(4, 14)):
        d.step()
    outputs = [d.node("Identity", [x]) if x in d.inputs else x for x, _ in d.tensors[-3:]]
    if d.sequences:
        sequence, shapes = d.sequences[-1]
        outputs.append(d.node("SequenceLength", [sequence]))
        outputs += [d.node("SequenceAt", [sequence, d.constant(len(shapes) - 1)])] if shapes else []
    graph = helper.make_graph(d.nodes, "g", [helper.make_tensor_value_info(n, T.FLOAT, s) for n, s in d.inputs.items()],
                              [helper.make_empty_tensor_value_info(o) for o in dict.fromkeys(outputs)], d.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", d.opset)])
    model.ir_version = 7
    return shape_inference.infer_shapes(model)
