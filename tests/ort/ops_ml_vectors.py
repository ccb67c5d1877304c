"""Random cases of support vector machines, label encoders, n-grams.

Without PROBIT for one pair of classes with support vectors: ONNX Runtime's second score is uninitialised memory."""
import numpy
from onnx import numpy_helper

import draw
from draw import Case
from ops_ml import floats, ml


def kernel(d):
    kind = d.choice(["LINEAR", "POLY", "RBF", "SIGMOID"])
    return {"kernel_type": kind, "kernel_params": [d.real(0.1, 0.5), d.real(-1, 1), float(d.integer(1, 4))]}


@ml("SVMRegressor", plain=True)
def svm_regressor(d):
    features, vectors = d.integer(1, 6), d.choice([0, 1, 3, 10])
    attrs = {**kernel(d), "n_supports": vectors, "rho": floats(d, 1), "coefficients": floats(d, vectors or features)}
    if vectors:
        attrs["support_vectors"] = floats(d, vectors * features)
    else:
        attrs["kernel_type"] = "LINEAR"
    if d.chance(0.3):
        attrs["one_class"] = 1
    if d.chance(0.4):
        attrs["post_transform"] = d.choice(["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
    return Case([d.array(numpy.float32, [d.extent(6), features], -2, 2)], attrs, depth=10)


@ml("SVMClassifier", plain=True)
def svm_classifier(d):
    features, classes, linear = d.integer(1, 6), d.choice([2, 2, 3, 4, 6]), d.chance(0.3)
    if linear:
        classes = d.choice([1, 2, 2, 3, 4])
    attrs = {**kernel(d), "classlabels_ints": [4, 1, 7, 3, 9, 0][:classes]}
    pairs = classes * (classes - 1) // 2
    probable = not linear and d.chance(0.5)
    if linear:
        positive = d.chance(0.4)
        attrs.update(coefficients=[abs(c) if positive else c for c in floats(d, classes * features)], rho=floats(d, 1))
    else:
        counts = d.some(1, 4, classes)
        attrs.update(vectors_per_class=counts, support_vectors=floats(d, sum(counts) * features), rho=floats(d, pairs),
                     coefficients=floats(d, (classes - 1) * sum(counts)))
    if probable:
        attrs.update(prob_a=[d.real(-2, -0.5) for _ in range(pairs)], prob_b=floats(d, pairs))
    single = classes == 2 and not linear and not probable
    attrs["post_transform"] = d.choice(["NONE", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"] + ["PROBIT"] * (not single))
    dtype = d.choice([numpy.float32, numpy.float32, numpy.float64, numpy.int64, numpy.int32])
    return Case([d.array(dtype, [d.extent(6), features], -2, 2)], attrs, outputs=2,
                tolerance=(1e-3, 2e-3) if probable else (1e-4, 1e-3))


@ml("LabelEncoder", plain=True)
def label_encoder(d):
    version = d.choice([2, 4, 4])
    one, other = (d.choice([numpy.int64, numpy.float32]) for _ in range(2))
    if version == 4 and d.chance(0.6):
        one, other = d.choice([(numpy.float64, numpy.float64), (numpy.int16, numpy.int16), (numpy.int64, numpy.int64),
                               (numpy.float32, numpy.float32), (numpy.int64, numpy.float32)])
    count = d.choice([1, 2, 5, 40])
    keys = d.rng.permutation(numpy.arange(-60, 60))[:count].astype(one)
    values = d.array(other, [count], -9, 9)
    x = d.array(one, d.shape(1, 3, empty=None), -60, 60)
    if keys.dtype.kind == "f":
        x = numpy.round(x)
        if d.chance(0.5):
            keys[0] = numpy.nan
            x = numpy.where(d.rng.random(x.shape) < 0.2, numpy.nan, x).astype(one)
    x = numpy.where(d.rng.random(x.shape) < 0.6, d.rng.choice(keys, x.shape), x).astype(one)
    attrs = {}
    for name, list_ in (("keys", keys), ("values", values)):
        suffix = {numpy.dtype(numpy.int64): "int64s", numpy.dtype(numpy.float32): "floats"}.get(list_.dtype)
        if suffix and (version == 2 or d.chance(0.5)):
            attrs[f"{name}_{suffix}"] = list_.tolist()
        else:
            attrs[f"{name}_tensor"] = numpy_helper.from_array(list_)
    if "values_tensor" in attrs:
        attrs["default_tensor"] = numpy_helper.from_array(d.array(other, [1], -9, 9))
    elif d.chance(0.5):
        attrs.update({"default_int64": 77} if other == numpy.int64 else {"default_float": 0.5})
    return Case([x], attrs, version=version)


@draw.operator("TfIdfVectorizer", plain=True)
def tfidf(d):
    tokens, most = d.integer(2, 5), d.integer(1, 4)
    pool, counts = [], []
    for n in range(1, most + 1):
        counts.append(len(pool))
        grams = {tuple(d.some(0, tokens, n)) for _ in range(d.choice([0, 1, 3, 20]))}
        pool += [token for gram in sorted(grams, key=lambda gram: d.rng.random()) for token in gram]
    total = sum((end - start) // (n + 1) for n, (start, end) in enumerate(zip(counts, counts[1:] + [len(pool)])))
    columns = [int(column) for column in d.rng.permutation(total)]
    least = d.integer(1, most)
    attrs = {"mode": d.choice(["TF", "IDF", "TFIDF"]), "min_gram_length": least, "max_gram_length": d.integer(least, most),
             "max_skip_count": d.choice([0, 1, 5]), "ngram_counts": counts, "ngram_indexes": columns, "pool_int64s": pool}
    if d.chance(0.7):
        attrs["weights"] = floats(d, total)
    shape = d.choice([[d.integer(1, 12)], [d.integer(1, 4), d.integer(1, 12)]])
    return Case([d.array(d.choice([numpy.int32, numpy.int64]), shape, 0, tokens)], attrs)
