"""Random ensembles of decision trees.

Without the cases in which ONNX Runtime deviates from ONNX: a target without votes has no base value there; for two classes with votes the label is not a class; in TreeEnsemble 1 is LOGISTIC and 2 SOFTMAX, and ONNX has them the other way round."""
import numpy

from draw import Case
from ops_ml import floats, ml

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
MEMBER = 6


class Forest:
    """Trees as nested tuples: (feature, mode, value, missing, true, false), or a leaf's number."""

    def __init__(self, d, features, deepest):
        self.d, self.features, self.leaves = d, features, 0
        self.modes = d.choice([[0], [d.integer(0, 5)], d.some(0, 5, 2), list(range(6))])
        self.missing = d.chance(0.4)
        self.trees = [self.grow(d.integer(0, deepest)) for _ in range(d.integer(1, 6))]

    def grow(self, depth):
        d = self.d
        if depth == 0 or (self.leaves and d.chance(0.1)):
            self.leaves += 1
            return self.leaves - 1
        value = d.real(-2, 2) if d.chance(0.5) else float(d.integer(-2, 2))
        return (d.integer(0, self.features - 1), d.choice(self.modes), value, int(self.missing and d.chance(0.5)),
                self.grow(depth - 1), self.grow(depth - 1))

    def rows(self):
        dtype = self.d.choice([numpy.float32, numpy.float32, numpy.float64, numpy.int64])
        rows = self.d.array(dtype, [self.d.extent(9), self.features], -2, 2)
        if dtype == numpy.int64:
            return rows
        rows = numpy.where(self.d.rng.random(rows.shape) < 0.4, numpy.round(rows), rows)
        return numpy.where(self.d.rng.random(rows.shape) < 0.1, numpy.nan, rows).astype(dtype)


def listed(forest):
    """The attributes nodes_*, and tree and node of each leaf."""
    names = ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
             "missing_value_tracks_true")
    rows, places = [], {}

    def visit(number, tree, at):
        row = [number, at, 0, "LEAF", 0.0, 0, 0, 0]
        rows.append(row)
        if not isinstance(tree, tuple):
            places[tree] = (number, at)
            return at + 1
        feature, mode, value, missing, yes, no = tree
        middle = visit(number, yes, at + 1)
        end = visit(number, no, middle)
        row[2:] = [feature, MODES[mode], value, at + 1, middle, missing]
        return end

    for number, tree in enumerate(forest.trees):
        visit(number, tree, 0)
    attrs = {"nodes_" + name: [row[i] for row in rows] for i, name in enumerate(names)}
    if not forest.missing:
        del attrs["nodes_missing_value_tracks_true"]
    return attrs, [places[i] for i in range(forest.leaves)]


def votes(d, what, places, targets, most):
    """`most`: votes of a leaf; 0: one for each target."""
    chosen = [(tree, node, target) for tree, node in places
              for target in d.rng.permutation(targets)[:d.integer(1, min(most, len(targets))) if most else None]]
    return {what + "_treeids": [row[0] for row in chosen], what + "_nodeids": [row[1] for row in chosen],
            what + "_ids": [int(row[2]) for row in chosen], what + "_weights": floats(d, len(chosen))}


def as_tensors(attrs, names):
    """Lists of floats as tensors of doubles, which an input of doubles requires."""
    for name in names:
        if name in attrs:
            values = numpy.array(attrs.pop(name), numpy.float64)
            attrs[name + "_as_tensor"] = tensor(values)


def tensor(values):
    from onnx import numpy_helper
    return numpy_helper.from_array(values)


@ml("TreeEnsembleRegressor")
def regressor(d):
    forest, targets = Forest(d, d.integer(1, 5), 5), d.choice([1, 2, 3, 9])
    attrs, places = listed(forest)
    based = d.chance(0.5)
    attrs.update(votes(d, "target", places, range(targets), 0 if based else d.choice([1, 3]) if targets > 1 else 1))
    attrs.update(n_targets=targets, aggregate_function=d.choice(["SUM", "AVERAGE", "MIN", "MAX"]))
    attrs["post_transform"] = d.choice(["NONE", "NONE", "PROBIT", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
    if based:
        attrs["base_values"] = floats(d, targets)
    x, version = forest.rows(), 1
    if x.dtype == numpy.float64:
        as_tensors(attrs, ("nodes_values", "target_weights", "base_values"))
        version = 3
    return Case([x], attrs, depth=10, version=version)


@ml("TreeEnsembleClassifier")
def classifier(d):
    forest, classes = Forest(d, d.integer(1, 5), 5), d.choice([1, 2, 2, 3, 9])
    only = d.integer(0, 1) if classes == 2 else None
    attrs, places = listed(forest)
    attrs.update(votes(d, "class", places, range(classes) if only is None else [only], d.choice([1, 3])))
    if d.chance(0.4):
        attrs["class_weights"] = [abs(weight) for weight in attrs["class_weights"]]
    attrs["classlabels_int64s"] = [1] if classes == 1 else [3, 1, 7, 5, 11, 4, 2, 0, 9][:classes]
    pair = ["SOFTMAX_ZERO", "SOFTMAX", "LOGISTIC"] * (classes > 1)
    attrs["post_transform"] = d.choice(["NONE", "NONE"] + pair + ["PROBIT"] * (only != 0))
    if d.chance(0.5) and only != 1:
        attrs["base_values"] = floats(d, 1 if only == 0 else classes)
    x, version = forest.rows(), 1
    if x.dtype == numpy.float64:
        as_tensors(attrs, ("nodes_values", "class_weights", "base_values"))
        version = 3
    return Case([x], attrs, outputs=2, depth=10, version=version)


@ml("TreeEnsemble")
def ensemble(d):
    forest, targets = Forest(d, d.integer(1, 5), 5), d.choice([1, 2, 3, 9])
    dtype = d.choice([numpy.float32, numpy.float64])
    forest.modes = forest.modes + ([MEMBER] if d.chance(0.5) else [])
    forest.leaves, count = 0, len(forest.trees)
    forest.trees = [forest.grow(d.integer(1, 5)) for _ in range(count)]
    nodes, members, roots = [], [], []

    def visit(tree):
        if not isinstance(tree, tuple):
            return tree, 1
        at = len(nodes)
        feature, mode, value, missing, yes, no = tree
        nodes.append([feature, mode, value, missing, 0, 0, 0, 0])
        if mode == MEMBER:
            members.extend([*{float(d.integer(1, 4)) for _ in range(d.integer(1, 4))}, float("nan")])
        nodes[at][4:6] = visit(yes)
        nodes[at][6:8] = visit(no)
        return at, 0

    for tree in forest.trees:
        if not isinstance(tree, tuple):
            tree = (0, 0, 0.0, 0, tree, tree)
        roots.append(visit(tree)[0])
    names = ("featureids", None, None, "missing_value_tracks_true", "truenodeids", "trueleafs", "falsenodeids",
             "falseleafs")
    attrs = {"nodes_" + name: [row[i] for row in nodes] for i, name in enumerate(names) if name}
    attrs.update(tree_roots=roots, nodes_modes=tensor(numpy.array([row[1] for row in nodes], numpy.uint8)),
                 nodes_splits=tensor(numpy.array([row[2] for row in nodes], dtype)), n_targets=targets,
                 leaf_targetids=d.some(0, targets - 1, forest.leaves),
                 leaf_weights=tensor(numpy.array(floats(d, forest.leaves), dtype)),
                 aggregate_function=d.integer(0, 3),
                 post_transform=d.choice([0, 0, 3, 4] + [1, 2] * (targets == 1)))
    x = forest.rows().astype(dtype)
    if members:  # ONNX Runtime truncates x to find set members, which it stores as bits
        attrs["membership_values"] = tensor(numpy.array(members, dtype))
        x = numpy.abs(numpy.round(2 * x))
    return Case([x], attrs, tolerance=(1e-4, 1e-4), version=5)
