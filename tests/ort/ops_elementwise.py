"""Random cases of elementwise operators: arithmetic, comparison, logic, functions, casts."""
import numpy

from draw import FLOATS, POWER, Case, is_integer, limits, operator

INF, NAN = numpy.inf, numpy.nan
SPECIAL = (NAN, INF, -INF, 0.0, -0.0)


def broadcast_pair(d, dtype, **values):
    shape = d.shape(0, 4)
    pair = [d.array(dtype, shape, **values), d.array(dtype, d.shrunk(shape), **values)]
    return pair[::-1] if d.chance(0.5) else pair


@operator("Add", "Sub", "Mul")
def arithmetic(d):
    dtype = d.dtype()
    return Case(broadcast_pair(d, dtype, special=SPECIAL if d.chance(0.4) else ()))


@operator("Div")
def division(d):
    a, b = broadcast_pair(d, d.dtype())
    if b.dtype.kind in "iu":
        b = numpy.where(b == 0, 1, b).astype(b.dtype)
    return Case([a, b])


@operator("Mod")
def modulo(d):
    a, b = broadcast_pair(d, d.dtype())
    b = numpy.where(b == 0, 1, b).astype(b.dtype)
    return Case([a, b], {"fmod": 1 if a.dtype.kind == "f" else d.integer(0, 1)})


@operator("Pow")
def power(d):
    shape = d.shape(0, 4)
    base, exponent = d.dtype(0), d.dtype(1)
    whole = base not in FLOATS  # an infinite power is not an integer
    if base in FLOATS and d.chance(0.3):  # constant quarters, which are products and roots where the base allows it
        y = numpy.asarray(d.rng.choice([-3, -2, -1.5, -1, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.75, 4, 5])).astype(base)
        least = d.choice([-4, 0])
        return Case([d.array(base, shape, least, 4, special=SPECIAL[:2] if least else ()), y], constant=(1,))
    least, small = 1 if whole else 0.1, d.shrunk(shape)
    x, y = d.array(base, shape, least, 4), d.array(exponent, small, 0, 3, finite=whole)
    if not whole and exponent not in FLOATS:  # parity matters, and f32 loses it beyond 2^24
        x = d.array(base, shape, -4, 4)
        y = d.array(exponent, small, -3, 3)
        if d.chance(0.5):
            x = numpy.asarray(d.rng.choice(numpy.array([-1, 1], base), shape))
            y = numpy.asarray(d.rng.choice([2**24 - 1, 2**24, 2**24 + 1, 2**24 + 3, 2**31 - 1], small)).astype(exponent)
    elif exponent == numpy.float64 and base != exponent and not whole:
        x, y = numpy.asarray(d.rng.choice(numpy.array([-1, 1, 1.0000001], base), shape)), d.array(exponent, small, -1e8, 1e8)
        y = numpy.where(d.rng.random(small) < 0.5, numpy.round(y), y)
    return Case([x, y], constant=(1,) if d.chance(0.2) else ())


@operator("PRelu")
def prelu(d):
    dtype, shape = d.dtype(), d.shape(1, 4)
    return Case([d.array(dtype, shape), d.array(dtype, d.shrunk(shape))])


@operator("Max", "Min", "Sum", "Mean")
def variadic(d):
    dtype, shape = d.dtype(), d.shape(0, 3)
    special = SPECIAL[:3] if d.chance(0.3) else ()
    inputs = d.integer(120, 140) if d.chance(0.05) else d.integer(1, 4)
    return Case([d.array(dtype, shape if i == 0 else d.shrunk(shape), special=special) for i in range(inputs)],
                depth=max(4, inputs))


@operator("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def comparison(d):
    return Case(broadcast_pair(d, d.dtype(), low=-2, high=2, special=SPECIAL))


@operator("And", "Or", "Xor")
def logic(d):
    return Case(broadcast_pair(d, numpy.bool_))


@operator("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(d):
    dtype, shape = d.dtype(), d.shape(0, 4)
    return Case([d.full_range(dtype, shape), d.full_range(dtype, d.shrunk(shape))])


@operator("BitShift")
def shift(d):
    dtype, shape = d.dtype(), d.shape(0, 4)
    return Case([d.full_range(dtype, shape), d.array(dtype, d.shrunk(shape), 0, 7)],
                {"direction": d.choice(["LEFT", "RIGHT"])})


@operator("Not", "BitwiseNot")
def bit_function(d):
    dtype = d.dtype()
    return Case([d.array(dtype, d.shape(0, 4))])


# Functions of one argument, with the argument's interval; an infinite one means that the function is defined everywhere.
DOMAIN = {
    "Abs": (-5, 5, SPECIAL), "Neg": (-5, 5, SPECIAL), "Sign": (-5, 5, (INF, -INF, 0.0)), "Ceil": (-5, 5, SPECIAL),
    "Floor": (-5, 5, SPECIAL), "Round": (-5, 5, (0.5, 1.5, -0.5, -2.5, INF, NAN)), "Sqrt": (0, 9, (NAN, INF, -1.0, -0.0)),
    "Reciprocal": (0.2, 5, (INF, -INF)), "Exp": (-6, 6, (INF, -INF, NAN)), "Log": (0.01, 9, (0.0, -1.0, INF, NAN)),
    "Sin": (-9, 9, ()), "Cos": (-9, 9, ()), "Tan": (-1.4, 1.4, ()), "Asin": (-1, 1, (2.0,)), "Acos": (-1, 1, (2.0,)),
    "Atan": (-9, 9, (INF, -INF)), "Sinh": (-4, 4, ()), "Cosh": (-4, 4, ()), "Tanh": (-4, 4, (INF, -INF)),
    "Asinh": (-9, 9, ()), "Acosh": (1, 9, (0.5,)), "Atanh": (-0.95, 0.95, ()), "Erf": (-3, 3, (INF, -INF)),
    "IsNaN": (-5, 5, SPECIAL), "Relu": (-5, 5, (INF, -INF)), "Sigmoid": (-8, 8, (INF, -INF)), "Softplus": (-8, 8, ()),
    "Softsign": (-8, 8, ()), "HardSwish": (-5, 5, ()), "Mish": (-5, 5, ()),
}


@operator(*DOMAIN)
def function(d):
    low, high, special = DOMAIN[d.op]
    dtype = d.dtype()
    return Case([d.array(dtype, d.shape(0, 4), low, high, special if d.chance(0.6) else ())])


@operator("IsInf")
def is_inf(d):
    attrs = {name: d.integer(0, 1) for name in ("detect_negative", "detect_positive") if d.chance(0.5)}
    return Case([d.array(d.dtype(), d.shape(0, 4), special=SPECIAL)], attrs)


PARAMETERS = {"LeakyRelu": ("alpha",), "Elu": ("alpha",), "Celu": ("alpha",), "Selu": ("alpha", "gamma"),
              "ThresholdedRelu": ("alpha",), "HardSigmoid": ("alpha", "beta"), "Shrink": ("lambd", "bias")}


@operator(*PARAMETERS)
def parametric(d):
    attrs, x = {name: d.real(0.1, 1.5) for name in PARAMETERS[d.op] if d.chance(0.7)}, d.array(d.dtype(), d.shape(0, 4))
    # ONNX Runtime computes Shrink of doubles in float32.
    return Case([x], attrs, tolerance=(1e-6, 1e-6) if d.op == "Shrink" and x.dtype == numpy.float64 else None)


@operator("Swish")
def swish(d):
    return Case([d.array(d.dtype(), d.shape(0, 4))], {"alpha": d.real(-1.5, 1.5)} if d.chance(0.7) else {})


@operator("Gelu")
def gelu(d):
    attrs = {"approximate": d.choice(["none", "tanh"])} if d.chance(0.7) else {}
    x = d.array(d.dtype(), d.shape(0, 4))
    # The constants of ONNX's function are float32.
    return Case([x], attrs, tolerance=(1e-6, 1e-6) if x.dtype == numpy.float64 else None)


@operator("Clip")
def clip(d):
    dtype = d.dtype()
    low, high = sorted(d.some(-4, 4, 2))
    # Without a limit, ONNX's text turns infinities into the largest numbers; its reference keeps them.
    x = d.array(dtype, d.shape(0, 4), finite=True)
    if d.opset < 11:
        return Case([x], {k: float(v) for k, v in (("min", low), ("max", high)) if d.chance(0.7)})
    if numpy.dtype(dtype).kind == "u":
        low, high = abs(low), abs(low) + abs(high)
    limits = [numpy.array(value, dtype) if d.chance(0.7) else None for value in (low, high)]
    return Case([x, *limits], constant=(1, 2) if d.chance(0.6) else ())


@operator("Where")
def where(d):
    dtype, shape = d.dtype(1), d.shape(0, 4)
    return Case([d.array(numpy.bool_, d.shrunk(shape)), d.array(dtype, shape, special=SPECIAL),
                 d.array(dtype, d.shrunk(shape))])


@operator("BitCast")
def bit_cast(d):
    source = d.dtype(among=(numpy.float32, numpy.float64, numpy.float16, numpy.int8, numpy.uint8, numpy.int16, numpy.uint16,
                            numpy.int32, numpy.uint32, numpy.int64, numpy.uint64))
    size = numpy.dtype(source).itemsize
    target = d.choice([t for t in d.types() if numpy.dtype(t).itemsize == size and t != numpy.bool_])
    return Case([d.array(source, d.shape(0, 4), special=SPECIAL)], {"to": element_type(target)})


@operator("CastLike")
def cast_like(d):
    case, target = cast(d), d.dtype(1)
    low = 0 if numpy.dtype(target).kind == "u" else -100
    x = case.inputs[0]
    if low == 0 and x.dtype.kind in "if":
        x = numpy.abs(x)
    if target not in FLOATS:
        x = numpy.nan_to_num(x, nan=1, posinf=2, neginf=3)
    x = numpy.asarray(x)
    return Case([x, d.array(target, d.shape(0, 2))])


def element_type(dtype):
    import onnx
    return onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))


@operator("Cast")
def cast(d):
    """Values in the target's range: the results of others are undefined. To integers narrower than a byte ONNX Runtime rounds
    floats, which ONNX's reference implementation truncates as other integers do: they get whole numbers."""
    if d.narrow() and d.chance(0.4):
        source, target = d.choice(d.narrow()), d.choice(d.narrow() + d.types())
        if d.chance(0.5):
            source, target = d.choice(d.narrow() + d.types()), source
        low, high = max([limits(t)[0] for t in (source, target) if is_integer(t)], default=0), 15
        return Case([d.array(numpy.int8, d.shape(0, 4), max(low, -8), high).astype(source)], {"to": element_type(target)})
    if "tensor(float8e8m0)" in d.allowed(0) and d.chance(0.2):
        source = d.choice(FLOATS)
        return Case([numpy.asarray(2.0 ** d.array(numpy.float64, d.shape(0, 4), -20, 15)).astype(source)],
                    {"to": element_type(POWER), "round_mode": d.choice(["up", "down", "nearest"]), "saturate": d.integer(0, 1)})
    source, target = d.dtype(), d.dtype()
    low, high = (0, 100) if "u" in (numpy.dtype(source).kind, numpy.dtype(target).kind) else (-100, 100)
    special = SPECIAL if target in FLOATS else ()
    return Case([d.array(source, d.shape(0, 4), low, high, special, finite=True)],
                {"to": element_type(target)})
