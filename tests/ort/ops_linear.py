"""Random cases of matrix products, convolutions, pools and image resizing."""
import numpy

from draw import Case, i64, operator


def product(values):
    return int(numpy.prod(values, dtype=numpy.int64))


def matmul_shapes(d):
    m, k, n = d.extent(9), d.extent(9), d.extent(9)
    if d.chance(0.06):
        m, k, n = d.choice([(0, k, n), (m, 0, n), (m, k, 0)])
    batch = d.shape(0, 2, largest=4, empty=0)
    a, b = [*d.shrunk(batch), m, k], [*(batch if d.chance(0.7) else d.shrunk(batch)), k, n]
    if d.chance(0.12):
        a = [k]
    if d.chance(0.12):
        b = [k]
    return a, b, k


@operator("MatMul")
def matmul(d):
    dtype, (a, b, k) = d.dtype(), matmul_shapes(d)
    return Case([d.array(dtype, a), d.array(dtype, b)], depth=max(k, 1), constant=(1,) if d.chance(0.4) else ())


@operator("Gemm")
def gemm(d):
    dtype = d.dtype()
    m, k, n = d.extent(9), d.extent(9), d.extent(9)
    attrs = {name: d.integer(0, 1) for name in ("transA", "transB") if d.chance(0.7)}
    attrs.update({name: d.real(-2, 2) for name in ("alpha", "beta") if d.chance(0.5)})
    if numpy.dtype(dtype).kind in "iu":
        attrs.update({name: 1.0 for name in ("alpha", "beta")})
    a = [k, m] if attrs.get("transA") else [m, k]
    b = [n, k] if attrs.get("transB") else [k, n]
    inputs = [d.array(dtype, a), d.array(dtype, b)]
    if d.opset < 11 or d.chance(0.7):
        inputs.append(d.array(dtype, d.shrunk([m, n])))
    return Case(inputs, attrs, depth=k, constant=(1, 2) if d.chance(0.5) else ())


def zero_point(d, dtype, shape, given=0.7):
    return d.full_range(dtype, shape) if d.chance(given) else None


@operator("MatMulInteger")
def matmul_integer(d):
    (a, b, _), types = matmul_shapes(d), (numpy.uint8, numpy.int8)
    if 0 in (a[-1], b[-1]):
        return Case([])  # refused: for an empty sum ONNX Runtime leaves the result uninitialised
    ta, tb = d.choice(types), d.choice(types)
    b_zero = [b[-1]] if len(b) == 2 and d.chance(0.4) else []
    return Case([d.full_range(ta, a), d.full_range(tb, b), zero_point(d, ta, []), zero_point(d, tb, b_zero)],
                constant=(1, 2, 3) if d.chance(0.6) else ())


@operator("Einsum")
def einsum(d):
    equation, ranks = d.choice([("ij,jk->ik", "ij jk"), ("bij,bjk->bik", "bij bjk"), ("i,i->", "i i"), ("ij->ji", "ij"),
                                ("ij->", "ij"), ("i,j->ij", "i j"), ("bhqd,bhkd->bhqk", "bhqd bhkd"), ("ii->i", "ii")])
    extent = {letter: d.extent(5) for letter in equation if letter.isalpha()}
    dtype = d.dtype(among=(numpy.float32, numpy.float64, numpy.int32))
    return Case([d.array(dtype, [extent[c] for c in term]) for term in ranks.split()], {"equation": equation}, depth=25)


def window(d, space, kernel, transposed=False, pooled=False):
    """Strides, dilations and padding; sometimes by auto_pad, sometimes left to their defaults."""
    attrs = {}
    if d.chance(0.6):
        attrs["strides"] = d.some(1, 3, space)
    if d.chance(0.4):
        attrs["dilations"] = d.some(1, 2, space)
    style = d.choice(["none", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if style == "pads":
        attrs["pads"] = [d.integer(0, min(2, kernel[i % space] - 1)) for i in range(2 * space)]
    elif style != "none":
        attrs["auto_pad"] = style
    if style.startswith("SAME") and not transposed:
        attrs.pop("dilations", None)
        # If the stride is larger than the window, SAME needs no padding (ONNX's shape inference clamps it to 0); ONNX
        # Runtime's pools use negative padding and start inside the image.
        if pooled and "strides" in attrs:
            attrs["strides"] = [min(stride, extent) for stride, extent in zip(attrs["strides"], kernel)]
    return attrs


def convolution_shapes(d):
    space, group = d.integer(1, 3), d.choice([1, 1, 2, 3])
    kernel = d.some(1, 3, space)
    per_group, out = d.integer(1, 3), group * d.integer(1, 3)
    x = [d.integer(1, 2), per_group * group, *(d.integer(5, 8 if space < 3 else 6) for _ in range(space))]
    return x, [out, per_group, *kernel], group, kernel


@operator("Conv")
def conv(d):
    x, w, group, kernel = convolution_shapes(d)
    dtype, attrs = d.dtype(), window(d, len(kernel), kernel)
    attrs.update({"group": group} if group > 1 else {})
    attrs.update({"kernel_shape": kernel} if d.chance(0.6) else {})
    inputs = [d.array(dtype, x), d.array(dtype, w)] + ([d.array(dtype, w[:1])] if d.chance(0.5) else [])
    return Case(inputs, attrs, depth=product(w[1:]), constant=(1, 2) if d.chance(0.6) else ())


@operator("ConvInteger")
def conv_integer(d):
    x, w, group, kernel = convolution_shapes(d)
    attrs = {**window(d, len(kernel), kernel), "group": group}
    tx, tw = numpy.uint8, d.choice([numpy.uint8, numpy.int8])
    return Case([d.full_range(tx, x), d.full_range(tw, w), zero_point(d, tx, []), zero_point(d, tw, [])], attrs,
                constant=(1, 2, 3) if d.chance(0.6) else ())


@operator("ConvTranspose")
def conv_transpose(d):
    x, w, group, kernel = convolution_shapes(d)
    w[0], w[1] = x[1], w[0] // group
    dtype, attrs = d.dtype(), window(d, len(kernel), kernel, transposed=True)
    attrs["group"] = group
    if "strides" in attrs and d.chance(0.4):
        attrs["output_padding"] = [d.integer(0, s - 1) for s in attrs["strides"]]
    # Finite weights: whether they are multiplied by the zeros outside of the input, as in a convolution, is open.
    inputs = [d.array(dtype, x), d.array(dtype, w, finite=True)] + ([d.array(dtype, [w[1] * group])] if d.chance(0.5) else [])
    return Case(inputs, attrs, depth=product(w[2:]) * x[1], constant=(1, 2) if d.chance(0.6) else ())


@operator("MaxPool", "AveragePool", "LpPool")
def pool(d):
    space = d.integer(1, 3)
    kernel = d.some(1, 3, space)
    attrs = {**window(d, space, kernel, pooled=True), "kernel_shape": kernel}
    if d.opset < (19 if d.op == "AveragePool" else 18 if d.op == "LpPool" else 10):
        attrs.pop("dilations", None)
    if d.op != "LpPool" and d.opset >= 10 and d.chance(0.4) and "auto_pad" not in attrs:
        attrs["ceil_mode"] = d.integer(0, 1)
    if d.op == "AveragePool" and d.chance(0.5):
        attrs["count_include_pad"] = d.integer(0, 1)
    if d.op == "LpPool":
        attrs["p"] = d.integer(1, 3)
    # The maximum of a NaN and a number is unspecified: ONNX Runtime takes the number, NumPy the NaN. For only negative
    # infinities ONNX Runtime gives the lowest finite number.
    x = d.array(d.dtype(), [d.integer(1, 2), d.integer(1, 3), *(d.integer(5, 8) for _ in range(space))],
                finite=d.op == "MaxPool")
    return Case([x], attrs, outputs=d.choice([1, 1, 2]) if d.op == "MaxPool" and d.opset >= 8 else 1,
                depth=product(kernel))


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d):
    shape = d.shape(3, 5, empty=0)
    return Case([d.array(d.dtype(), shape, -2, 2, finite=d.op == "GlobalMaxPool")], {"p": d.integer(1, 3)} if d.op == "GlobalLpPool" else {},
                depth=product(shape[2:]))


@operator("Upsample")
def upsample(d):
    mode, rank = d.choice(["nearest", "linear"]), d.choice([2, 4]) if d.chance(0.5) else d.integer(1, 4)
    types = d.types() if mode == "nearest" else (numpy.float32,)
    scales = [d.choice([1, 1.5, 2, 2.5, 3]) if i >= rank - 2 or mode == "nearest" else 1 for i in range(rank)]
    x = d.array(d.dtype(among=types), d.some(1, 5, rank), finite=mode == "linear")
    if d.opset < 9:
        return Case([x], {"mode": mode, "scales": [float(s) for s in scales]}, tolerance=(1e-4, 1e-4))
    return Case([x, numpy.array(scales, numpy.float32)], {"mode": mode}, constant=(1,), tolerance=(1e-4, 1e-4))


@operator("Col2Im")
def col2im(d):
    space = d.integer(1, 3)
    block, dilation, stride = d.some(1, 3, space), d.some(1, 2, space), d.some(1, 3, space)
    pads, image = d.some(0, 1, 2 * space), d.some(5, 8, space)
    if space != 2:
        dilation = [1] * space  # ONNX Runtime misplaces dilated blocks except in images of two axes; ONNX's reference does not
    count = product([(image[i] + pads[i] + pads[space + i] - dilation[i] * (block[i] - 1) - 1) // stride[i] + 1
                     for i in range(space)])
    attrs = {"dilations": dilation, "strides": stride, "pads": pads}
    dtype = d.choice([numpy.float32, numpy.float32, numpy.float16, numpy.float64])
    inputs = [d.array(dtype, [d.extent(3), d.extent(3) * product(block), count]), i64(image), i64(block)]
    return Case(inputs, {name: value for name, value in attrs.items() if set(value) not in ({1}, {0}) or d.chance(0.5)},
                constant=(1, 2) if d.chance(0.7) else (), depth=9)


@operator("Resize")
def resize(d):
    rank = d.choice([2, 3, 4, 4, 4, 5])
    attrs = {"mode": d.choice(["nearest", "linear", "cubic"])}
    # ONNX's reference rounds interpolated integers, ONNX Runtime truncates them.
    types = (numpy.float32, numpy.uint8, numpy.int8, numpy.int32) if attrs["mode"] == "nearest" else (numpy.float32,)
    # Finite: a neighbour of weight zero may be read or not, and makes a NaN of an infinity.
    x = d.array(d.dtype(among=types), [d.integer(2, 6) for _ in range(rank)], finite=attrs["mode"] != "nearest")
    scaled = range(rank) if d.chance(0.2) and attrs["mode"] == "nearest" else range(max(0, rank - 2), rank)
    scales = numpy.array([d.choice([0.5, 0.6, 1, 1.5, 2, 2.5, 3]) if i in scaled else 1 for i in range(rank)], numpy.float32)
    if d.opset < 11:
        return Case([x, scales], attrs if attrs["mode"] != "cubic" else {}, constant=(1,), tolerance=(1e-4, 1e-4))
    transforms = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize"]
    transforms += ["half_pixel_symmetric"] if d.opset >= 19 else []
    attrs["coordinate_transformation_mode"] = transform = d.choice(transforms)
    if attrs["mode"] == "nearest":
        attrs["nearest_mode"] = d.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if attrs["mode"] == "cubic" and d.chance(0.5):
        attrs["cubic_coeff_a"] = d.choice([-0.5, -0.75])
    if attrs["mode"] != "nearest" and d.chance(0.3):
        attrs["exclude_outside"] = d.integer(0, 1)
    if d.opset >= 18 and attrs["mode"] != "nearest" and d.chance(0.3):
        attrs["antialias"] = 1
    roi = numpy.array([], numpy.float32)
    if transform == "tf_crop_and_resize":
        # ONNX Runtime ignores the region along axes whose extent stays.
        scaled = [i for i in scaled if int(x.shape[i] * scales[i]) != x.shape[i]]
        # Exact in float32: elsewhere rounding decides whether a point on the edge is outside.
        start = [d.choice([0.125, 0.1875, 0.25]) if i in scaled else 0 for i in range(rank)]
        end = [d.choice([0.6875, 0.8125, 1.1875]) if i in scaled else 1 for i in range(rank)]
        roi = numpy.array(start + end, numpy.float32)
        attrs["extrapolation_value"] = d.real(0 if x.dtype == numpy.uint8 else -3, 3)
    if d.chance(0.5):
        inputs = [x, roi, scales]
    elif d.opset >= 18 and transform != "tf_crop_and_resize" and d.chance(0.5):
        # With a policy ONNX Runtime ignores some axes counted from the end.
        axes = [axis % rank for axis in d.axes(rank, least=1)[:2]]
        attrs["axes"] = axes
        attrs["keep_aspect_ratio_policy"] = d.choice(["stretch", "not_larger", "not_smaller"])
        inputs = [x, None, None, i64(d.some(1, 9, len(axes)))]
    else:
        sizes = numpy.array([max(1, int(extent * s)) for extent, s in zip(x.shape, scales)], numpy.int64)
        inputs = [x, roi, None if d.opset >= 13 else numpy.array([], numpy.float32), sizes]
    return Case(inputs, attrs, constant=(1, 2, 3), tolerance=(1e-4, 1e-4))


@operator("GridSample")
def grid_sample(d):
    n, c, h, w = d.integer(1, 2), d.integer(1, 3), d.integer(2, 5), d.integer(2, 5)
    modes = ["bilinear", "nearest", "bicubic"] if d.opset < 20 else ["linear", "nearest", "cubic"]
    attrs = {"mode": d.choice(modes), "padding_mode": d.choice(["zeros", "border", "reflection"]),
             "align_corners": d.integer(0, 1)}
    grid = d.array(numpy.float32, [n, d.integer(1, 5), d.integer(1, 5), 2], -1.2, 1.2, finite=True)  # no coordinate is NaN
    return Case([d.array(numpy.float32, [n, c, h, w], finite=True), grid], attrs, tolerance=(1e-3, 1e-3))
