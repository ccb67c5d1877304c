"""Random cases of label encoders and n-grams."""
import numpy
from onnx import numpy_helper

import draw
from draw import Case
from ops_ml import floats, ml


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
