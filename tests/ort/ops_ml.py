"""Random cases of the operators of ai.onnx.ml."""
import numpy

import draw
from draw import Case


def ml(*names, **options):
    return draw.operator(*("ai.onnx.ml." + name for name in names), **options)


def floats(d, count):
    return [d.real(-2, 2) for _ in range(count)]


@ml("Scaler", "Normalizer", "Binarizer", "Imputer")
def feature(d):
    n, c = d.extent(5), d.extent(5)
    dtype = d.choice([numpy.float32, numpy.float32, numpy.int64]) if d.op != "Binarizer" else numpy.float32
    if d.op == "Scaler":
        attrs = {"offset": floats(d, c), "scale": floats(d, c)}
    elif d.op == "Normalizer":
        attrs = {"norm": d.choice(["MAX", "L1", "L2"])}
    elif d.op == "Binarizer":
        attrs = {"threshold": d.real(-1, 1)}
    elif dtype == numpy.int64:
        attrs = {"imputed_value_int64s": d.some(1, 5, d.choice([1, c])), "replaced_value_int64": d.integer(-2, 2)}
    else:
        attrs = {"imputed_value_floats": floats(d, d.choice([1, c])), "replaced_value_float": float("nan")}
    special = [float("nan")] if d.op == "Imputer" and dtype == numpy.float32 else []
    # The maximum of numbers and a NaN is unspecified.
    return Case([d.array(dtype, [n, c], special=special, nan=d.op != "Normalizer")], attrs, depth=c)


@ml("OneHotEncoder")
def one_hot_encoder(d):
    x = d.array(d.choice([numpy.int64, numpy.float32]), d.shape(1, 2, empty=0), 0, 6)
    return Case([numpy.trunc(x).astype(x.dtype)], {"cats_int64s": [1, 3, 4, 6], "zeros": 1})


@ml("ArrayFeatureExtractor")
def array_feature_extractor(d):
    shape = d.shape(1, 3, empty=0)
    return Case([d.array(numpy.float32, shape), d.array(numpy.int64, [d.integer(1, 4)], 0, shape[-1] - 1)])


@ml("FeatureVectorizer")
def feature_vectorizer(d):
    n, widths = d.extent(4), d.some(1, 4, d.integer(50, 90) if d.chance(0.1) else d.integer(1, 3))
    return Case([d.array(numpy.float32, [n, width]) for width in widths], {"inputdimensions": widths})


@ml("LinearRegressor")
def linear_regressor(d):
    n, c, rows = d.extent(5), d.extent(5), d.integer(1, 4)
    attrs = {"targets": rows, "coefficients": floats(d, rows * c),
             "post_transform": d.choice(["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])}
    if d.chance(0.7):
        attrs["intercepts"] = floats(d, rows)
    return Case([d.array(numpy.float32, [n, c])], attrs, depth=c * 4)


@ml("LinearClassifier")
def linear_classifier(d):
    """Without PROBIT for one score and two labels: ONNX Runtime returns uninitialised memory."""
    n, c, rows = d.extent(5), d.extent(5), d.choice([1, 1, 2, 3, 4])
    transforms = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"] + ["PROBIT"] * (rows > 1)
    attrs = {"post_transform": d.choice(transforms), "classlabels_ints": [3, 1, 7, 5][:max(rows, 2)],
             "coefficients": floats(d, rows * c), "intercepts": floats(d, rows)}
    if d.chance(0.3):
        attrs["multi_class"] = d.integer(0, 1)
    x = d.array(d.choice([numpy.float32, numpy.float32, numpy.float64, numpy.int64, numpy.int32]), [n, c])
    return Case([x], attrs, outputs=2, depth=c * 4)
