"""Writes models over the types narrower than a byte and float8e8m0: narrow.py FOLDER. Every value of every such type goes
through Cast to every other type, and values around all their steps come back; further all operators that move them, and
QuantizeLinear and DequantizeLinear in each granularity. Expected values are numpy's and ml_dtypes', and where ONNX leaves
something open (operator Cast, opset 25) they follow its reference implementation: integers narrower than a byte wrap."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import numpy  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import cases  # noqa: E402

WIDTH = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2, "FLOAT8E8M0": 8}
INTEGERS = ["INT4", "UINT4", "INT2", "UINT2"]
PACKED = INTEGERS + ["FLOAT4E2M1"]
SMALL_FLOATS = ["FLOAT16", "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"]
WIDE = ["FLOAT", "DOUBLE", "INT8", "UINT8", "INT16", "INT32", "INT64", "UINT64", "BOOL"]


def number(name):
    return getattr(TensorProto, name)


def dtype(name):
    return numpy.dtype(helper.tensor_dtype_to_np_dtype(number(name)))


def is_float(name):
    return "FLOAT" in name or name == "DOUBLE"


def powers_of_two(x, mode, saturate):
    """float8e8m0, exactly: the codes c of 2^(c - 127), 255 for NaN; from the float32 nearest to x."""
    codes = []
    for value in x.astype(numpy.float32).astype(numpy.float64).ravel():
        inside = 2.0**-127 <= value <= 2.0**127
        if numpy.isnan(value) or (not saturate and not inside):
            codes.append(255)
            continue
        half, exponent = numpy.frexp(min(max(abs(value), 2.0**-127), 2.0**127))  # 0.5 <= half < 1
        codes.append(int(exponent) - 1 + 127 + int({"down": False, "up": half > 0.5, "nearest": half >= 0.75}[mode]))
    return numpy.array(codes, numpy.uint8).view(dtype("FLOAT8E8M0")).reshape(x.shape)


def converted(x, source, target, mode="up", saturate=True):
    """Cast's result for an array of type `source`."""
    if source == target:
        return x
    wide = x.astype(numpy.float64) if source in WIDTH or is_float(source) else x
    if target == "FLOAT8E8M0":
        return powers_of_two(wide, mode, saturate)
    if target == "BOOL":
        return wide != 0
    if target in INTEGERS:
        bits = WIDTH[target]
        low = numpy.nan_to_num(wide).astype(numpy.int64) & ((1 << bits) - 1)
        signed = low - (low >> (bits - 1) << bits) if target.startswith("INT") else low
        return signed.astype(numpy.int8 if target.startswith("INT") else numpy.uint8).astype(dtype(target))
    if target.startswith("FLOAT8") and saturate:
        return numpy_helper.saturate_cast(wide.astype(numpy.float32), dtype(target))
    return wide.astype(dtype(target))


def every_value(name):
    bits = WIDTH[name]
    if name == "FLOAT8E8M0":
        return numpy.arange(256, dtype=numpy.uint8).view(dtype(name))
    if is_float(name):
        return numpy.arange(16, dtype=numpy.uint8).view(dtype(name))
    low = -(1 << (bits - 1)) if name.startswith("INT") else 0
    return numpy.arange(low, low + (1 << bits)).astype(numpy.int8).astype(dtype(name))


class Model:
    """A model being built: nodes, inputs, outputs and their expected values."""

    def __init__(self):
        self.nodes, self.inputs, self.outputs, self.values, self.wanted = [], [], [], [], []

    def input(self, value, name, type_name):
        self.inputs.append(helper.make_tensor_value_info(name, number(type_name), value.shape))
        self.values.append(value)
        return name

    def node(self, op, inputs, wanted, type_name, **attributes):
        name = f"y{len(self.outputs)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        self.outputs.append(helper.make_tensor_value_info(name, number(type_name), wanted.shape))
        self.wanted.append(wanted)

    def write(self, index, name, opset=25):
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13)
        onnx.checker.check_model(model)
        index.add(name, model, [(self.values, self.wanted)], "narrow", 0, 0)


def cast_from(index, source):
    m, x = Model(), every_value(source)
    numbers = x.astype(numpy.float64)
    for target in WIDE + SMALL_FLOATS + list(WIDTH):
        value = x
        if source == "FLOAT8E8M0" and not is_float(target) and target != "BOOL":
            value = x[(numbers >= 2.0**-3) & (numbers < 2.0**7)]  # the others are out of range, or NaN
        if source == "FLOAT4E2M1" and target.startswith("UINT") and target not in WIDTH:
            value = x[numbers >= 0]
        if target in SMALL_FLOATS and source == "FLOAT8E8M0":
            value = x[numbers <= 2.0**7]
        name = m.input(value, f"x{len(m.inputs)}", source)
        m.node("Cast", [name], converted(value, source, target), target, to=number(target))
    m.write(index, f"cast_from_{source.lower()}")


def steps(source):
    """The narrow types' values, values between them and beyond, as far as `source` has them."""
    if not is_float(source):
        limits = (0, 1) if source == "BOOL" else (numpy.iinfo(dtype(source)).min, numpy.iinfo(dtype(source)).max)
        return numpy.clip(numpy.arange(-20, 300, 3), *limits).astype(dtype(source))
    x = numpy.arange(-9, 17, 0.125)
    near = numpy.concatenate([x, x * (1 + 2.0**-9), x * (1 - 2.0**-9), [1e-30, -1e-30, 1e4, -1e4, 2.0**-126, 0.0, -0.0]])
    return near.astype(dtype(source))


def cast_to(index, source):
    m, x = Model(), steps(source)
    for target in PACKED:
        name = m.input(x, f"x{len(m.inputs)}", source)
        m.node("Cast", [name], converted(x, source, target), target, to=number(target))
    if is_float(source):
        beyond = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 7, -7], numpy.float32).astype(dtype(source))
        wanted = numpy.clip(numpy.nan_to_num(beyond.astype(numpy.float32)), -6, 6)
        m.node("Cast", [m.input(beyond, "beyond", source)], wanted.astype(dtype("FLOAT4E2M1")), "FLOAT4E2M1",
               to=number("FLOAT4E2M1"))
    m.write(index, f"cast_{source.lower()}_to_narrow")


def cast_to_e8m0(index, mode, saturate):
    m = Model()
    exponents = numpy.arange(-149, 128).astype(numpy.float64)
    x = numpy.concatenate([2.0**exponents * k for k in (1, 1.125, 1.25, 1.5 - 2.0**-10, 1.5, 1.75)])
    x = numpy.concatenate([x, [0, numpy.inf, numpy.nan, 3.4e38, 1.2 * 2.0**127, 2.0**-127, 2.0**-128, 0.8 * 2.0**-127]])
    for source in ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT32", "UINT8"]:
        value = x
        if not is_float(source):
            value = numpy.array([1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 200])
        elif source == "FLOAT16":
            value = x[~(x > 65504)]
        value = value.astype(numpy.float32).astype(dtype(source))
        name = m.input(value, source.lower(), source)
        m.node("Cast", [name], converted(value, source, "FLOAT8E8M0", mode, saturate), "FLOAT8E8M0", to=number("FLOAT8E8M0"),
               round_mode=mode, saturate=int(saturate))
        m.node("CastLike", [name, m.input(every_value("FLOAT8E8M0")[:1], f"like_{source.lower()}", "FLOAT8E8M0")],
               converted(value, source, "FLOAT8E8M0", mode, saturate), "FLOAT8E8M0", round_mode=mode, saturate=int(saturate))
    m.write(index, f"cast_to_e8m0_{mode}_{'saturates' if saturate else 'nan'}")


def moved(index, name):
    """Odd numbers of elements, so that no axis ends at a byte boundary."""
    m, values = Model(), every_value(name)
    x = numpy.resize(values[::-1], 3 * 5 * 7).reshape(3, 5, 7)
    data, one = m.input(x, "x", name), m.input(values[2:3], "one", name)
    m.node("Identity", [data], x, name)
    m.node("Transpose", [data], x.transpose(2, 0, 1), name, perm=[2, 0, 1])
    m.node("Flatten", [data], x.reshape(15, 7), name, axis=2)
    m.node("Shape", [data], numpy.array(x.shape), "INT64")
    m.node("Size", [data], numpy.array(x.size), "INT64")
    m.node("Squeeze", [one], values[2], name)
    m.node("CastLike", [m.input(numpy.array([3.0, 1.0, -1.5], numpy.float32), "f", "FLOAT"), data],
           converted(numpy.array([3.0, 1.0, -1.5], numpy.float32), "FLOAT", name), name)
    for op, numbers, wanted, more in (
            ("Reshape", [7, -1], x.reshape(7, 15), {}),
            ("Unsqueeze", [1, 2], x.reshape(3, 1, 1, 5, 7), {}),
            ("Pad", [0, 1, 2, 1, 0, 1], padded(x, values[2], "constant"), {}),
            ("Pad", [0, 1, 2, 1, 0, 1], padded(x, None, "edge"), {"mode": "edge"}),
            ("Pad", [0, 1, 2, 1, 0, 1], padded(x, None, "reflect"), {"mode": "reflect"})):
        constant = f"c{len(m.nodes)}"
        m.nodes.append(helper.make_node("Constant", [], [constant],
                                        value=numpy_helper.from_array(numpy.array(numbers, numpy.int64), constant)))
        m.node(op, [data, constant] + ([one_scalar(m, one)] if op == "Pad" and not more else []), wanted, name, **more)
    table = numpy.resize(values, 15).reshape(3, 5)
    m.node("Constant", [], table, name, value=numpy_helper.from_array(table, "table"))
    m.node("ConstantOfShape", [data_shape(m)], numpy.full((5, 3), values[1]), name,
           value=numpy_helper.from_array(values[1:2], "fill"))
    if name in ("INT4", "UINT4", "FLOAT4E2M1", "FLOAT8E8M0"):
        cache, update = x.reshape(3, 1, 5, 7), numpy.resize(values, 3 * 2 * 7).reshape(3, 1, 2, 7)
        at, wanted = numpy.array([0, 1, 3], numpy.int64), cache.copy()
        for b in range(3):
            wanted[b, :, at[b]:at[b] + 2] = update[b]
        m.node("TensorScatter", [m.input(cache, "cache", name), m.input(update, "update", name), m.input(at, "at", "INT64")],
               wanted, name)
    for target in WIDTH:
        if WIDTH[target] == WIDTH[name] and target != name:
            m.node("BitCast", [data], same_bits(x, target), target, to=number(target))
    m.write(index, f"moved_{name.lower()}", 26)


def padded(x, value, mode):
    widths = ((0, 1), (1, 0), (2, 1))
    code = x.view(numpy.uint8)
    more = {"constant_values": value.reshape(1).view(numpy.uint8)[0]} if mode == "constant" else {}
    return numpy.pad(code, widths, mode, **more).view(x.dtype)


def one_scalar(m, one):
    m.nodes.append(helper.make_node("Squeeze", [one], ["one_scalar"]))
    return "one_scalar"


def data_shape(m):
    m.nodes.append(helper.make_node("Constant", [], ["extents"],
                                    value=numpy_helper.from_array(numpy.array([5, 3], numpy.int64), "extents")))
    return "extents"


def same_bits(x, target):
    """ml_dtypes keeps integers of 4 and 2 bits sign-extended in their bytes."""
    bits = WIDTH[target]
    code = x.view(numpy.uint8) & ((1 << bits) - 1)
    if target in ("INT4", "INT2"):
        code = code | (0xff << bits & 0xff) * (code >> (bits - 1))
    return code.astype(numpy.uint8).view(dtype(target))


def quantised(index, name):
    """Scales for the tensor, an axis, and blocks of 4, the last of which is incomplete."""
    m = Model()
    random = numpy.random.default_rng(7)
    low, high = (-6, 6) if is_float(name) else (int(every_value(name).astype(int).min()), int(every_value(name).astype(int).max()))
    x = (random.integers(-40, 40, (3, 5, 7)) / 8).astype(numpy.float32)
    for kind, shape, more in (("tensor", (), {}), ("axis", (5,), {"axis": 1}), ("blocks", (3, 2, 7), {"axis": 1, "block_size": 4})):
        scale = numpy.resize(numpy.array([0.5, 1, 0.25, 2], numpy.float32), shape or (1,)).reshape(shape)
        zero = numpy.resize(every_value(name)[1:3], shape or (1,)).reshape(shape)
        if is_float(name):
            zero = zero * zero.dtype.type(0)
        spread = {"tensor": lambda v: v, "axis": lambda v: v.reshape(1, 5, 1), "blocks": lambda v: v.repeat(4, 1)[:, :5]}[kind]
        wide = zero.astype(numpy.float32)
        data = m.input(x, f"x_{kind}", "FLOAT")
        step, offset = m.input(scale, f"scale_{kind}", "FLOAT"), m.input(zero, f"zero_{kind}", name)
        for given, places in ((True, [data, step, offset]), (False, [data, step])):
            y = x / spread(scale)
            if is_float(name):
                y = y.astype(dtype(name))
            else:
                y = numpy.clip(numpy.rint(y) + (spread(wide) if given else 0), low, high)
                y = y.astype(numpy.int8 if low < 0 else numpy.uint8).astype(dtype(name))
            m.node("QuantizeLinear", places, y, name, **more, **({} if given else {"output_dtype": number(name)}))
        back = m.input(y, f"y_{kind}", name)
        for type_name in ("FLOAT", "FLOAT16"):
            s = m.input(scale.astype(dtype(type_name)), f"scale_{kind}_{type_name.lower()}", type_name)
            wanted = (y.astype(numpy.float32) - spread(wide)) * spread(scale)
            m.node("DequantizeLinear", [back, s, offset], wanted.astype(dtype(type_name)), type_name, **more)
        power = m.input(scale.astype(dtype("FLOAT8E8M0")), f"power_{kind}", "FLOAT8E8M0")
        m.node("DequantizeLinear", [back, power], (y.astype(numpy.float32) * spread(scale)).astype(dtype("FLOAT")), "FLOAT", **more,
               output_dtype=number("FLOAT"))
    m.write(index, f"quantised_{name.lower()}", 28)


def main():
    index = cases.Index(sys.argv[1], f"narrow, onnx {onnx.__version__}", [__file__])
    if index.current():
        return
    index.begin()
    for name in WIDTH:
        cast_from(index, name)
        moved(index, name)
    for name in WIDE + SMALL_FLOATS:
        cast_to(index, name)
    for mode in ("up", "down", "nearest"):
        for saturate in (True, False):
            cast_to_e8m0(index, mode, saturate)
    for name in PACKED:
        quantised(index, name)
    index.close()
    print(f"{sys.argv[1]}: {len(index.rows)} cases")


main()
