"""Random cases of regions, deformed convolutions, grids and unpooling."""
import numpy

from draw import Case, operator
from ops_linear import product


@operator("RoiAlign", finite=True)  # neighbours of weight zero may be read or not
def roi_align(d):
    n, c, h, w = d.integer(1, 2), d.integer(1, 3), d.integer(3, 8), d.integer(3, 8)
    rois = d.integer(0 if d.chance(0.1) else 1, 4)
    dtype = d.dtype(among=(numpy.float32, numpy.float64))
    start = d.array(dtype, [rois, 2], -2, 6)
    region = numpy.concatenate([start, start + d.array(dtype, [rois, 2], -1 if d.chance(0.2) else 0.5, 12)], 1)
    attrs = {"output_height": d.integer(1, 3), "output_width": d.integer(1, 3), "sampling_ratio": d.integer(0, 3),
             "mode": d.choice(["avg", "avg", "max"]), "spatial_scale": d.choice([1.0, 0.5, 2.0])}
    if d.opset >= 16 and d.chance(0.7):
        attrs["coordinate_transformation_mode"] = d.choice(["half_pixel", "output_half_pixel"])
    return Case([d.array(dtype, [n, c, h, w]), region.astype(dtype), d.array(numpy.int64, [rois], 0, n - 1)], attrs,
                tolerance=(1e-4, 1e-4))


@operator("MaxRoiPool", finite=True)  # in ONNX Runtime the maximum of negative infinities is the lowest finite number
def max_roi_pool(d):
    n, rois = d.integer(1, 2), d.integer(1, 4)
    corner = d.array(numpy.float32, [rois, 2], 0, 5)
    region = numpy.concatenate([d.array(numpy.int64, [rois, 1], 0, n - 1), corner,
                                corner + d.array(numpy.float32, [rois, 2], 0, 6)], 1).astype(numpy.float32)
    return Case([d.array(numpy.float32, [n, 2, d.integer(3, 7), d.integer(3, 7)]), region],
                {"pooled_shape": d.some(1, 3, 2), "spatial_scale": d.choice([1.0, 0.5])})


@operator("DeformConv", plain=True)  # no coordinate is NaN, and neighbours of weight zero may be read or not
def deform_conv(d):
    kernel, stride, dilation, pads = d.some(1, 3, 2), d.some(1, 2, 2), d.some(1, 2, 2), d.some(0, 1, 4)
    group, shared, size = d.choice([1, 2]), d.choice([1, 2]), d.some(4, 7, 2)
    out = [(size[i] + pads[i] + pads[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    if min(out) < 1:
        return Case([])  # refused: repeated
    n, places, dtype = d.integer(1, 2), shared * product(kernel), d.dtype(among=(numpy.float32, numpy.float64))
    inputs = [d.array(dtype, [n, 4, *size]), d.array(dtype, [4, 4 // group, *kernel]),
              d.array(dtype, [n, 2 * places, *out], -3, 3), d.array(dtype, [4]) if d.chance(0.5) else None]
    if d.chance(0.5):
        inputs.append(d.array(dtype, [n, places, *out]))
    attrs = {"group": group, "offset_group": shared, "strides": stride, "dilations": dilation, "pads": pads}
    return Case(inputs, attrs, depth=36)


@operator("AffineGrid")
def affine_grid(d):
    space, n = d.integer(2, 3), d.integer(1, 3)
    size = numpy.array([n, 2, *d.some(2, 5, space)], numpy.int64)
    return Case([d.array(numpy.float32, [n, space, space + 1]), size], {"align_corners": d.integer(0, 1)}, constant=(1,),
                depth=4)


@operator("MaxUnpool")
def max_unpool(d):
    size = d.some(1, 4, 2)
    places = size[0] * size[1] * 4
    index = d.rng.permutation(places)[:size[0] * size[1]].reshape(1, 1, *size).astype(numpy.int64)
    return Case([d.array(numpy.float32, [1, 1, *size]), index], {"kernel_shape": [2, 2], "strides": [2, 2]})


@operator("NonMaxSuppression")
def non_max_suppression(d):
    n, classes, limit = d.integer(1, 2), d.integer(1, 3), d.choice([0, 1, 3, 20, 2 ** 62])
    count, attrs = d.choice([d.integer(0, 20), d.integer(21, 200), 31, 32, 33, 64, 65]), {}
    given = d.choice([1, 2, 3, 3, 3])
    boxes = d.array(numpy.float32, [n, count, 4], 0, 1)
    # ONNX Runtime has the boxes in a heap, whose order a NaN breaks, unless a threshold excludes it.
    scores = d.array(numpy.float32, [n, classes, count], 0, 1, nan=given == 3)
    if d.chance(0.4):
        attrs["center_point_box"] = 1
    if d.chance(0.3):  # corners on a grid: empty boxes, equal ones, overlaps equal to the threshold
        boxes = numpy.round(boxes * d.integer(1, 5)).astype(numpy.float32)
    elif d.chance(0.3):  # around few centres; some sizes are negative
        boxes *= numpy.float32(0.2)
        boxes += d.array(numpy.float32, [1, 3, 4], -0.1, 1)[:, d.rng.integers(0, 3, count)]
    if d.chance(0.4):  # many equal scores
        scores = (numpy.round(scores * 4) / 4).astype(numpy.float32)
    inputs = [boxes, scores]
    rest = [numpy.array([limit], numpy.int64), numpy.array([d.choice([0.1, 0.3, 0.5])], numpy.float32),
            numpy.array([d.choice([0.0, 0.2, 0.6])], numpy.float32)][:given]
    rest = [value.reshape(d.choice([[], [1]])) for value in rest]
    constant = tuple(range(2, 2 + len(rest))) if d.chance(0.7) else ()
    return Case(inputs + rest, attrs, constant=constant)
