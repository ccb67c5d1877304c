"""Generators of nodes that exporters write for plugins of TensorRT, mmcv and mmdeploy. ONNX Runtime has none of them: the
expected results are computed here with NumPy, in double precision, from the operators' definitions."""
import numpy
import onnx

import draw
import plugins_nms as nms
import plugins_other as other
import plugins_vision as vision
from draw import Case

DOMAINS = ("", "", "TRT", "trt.plugins", "mmdeploy", "mmcv")


def plugin(*names):
    return draw.operator(*names, plain=True)


def case(d, inputs, attrs, results, **more):
    """Numbers may come as lists of one, and every plugin's node may have a version and a namespace."""
    if d.chance(0.3):
        attrs["plugin_version"] = "1"
        attrs["plugin_namespace"] = ""
    for name, value in attrs.items():
        if isinstance(value, (int, float)) and d.chance(0.1):
            attrs[name] = [value]
    dtype = next(value.dtype for value in inputs if value is not None and value.dtype.kind == "f")
    results = [numpy.asarray(r, dtype if numpy.asarray(r).dtype.kind == "f" else None) for r in results]
    if dtype == numpy.float16:
        more["tolerance"] = (4e-3, 4e-3)
    return Case(inputs, attrs, results=results, outputs=len(results), domain=d.choice(DOMAINS), **more)


def floating(d):
    return d.choice([numpy.float32, numpy.float32, numpy.float16])


@plugin("MultiscaleDeformableAttnPlugin_TRT", "MMCVMultiScaleDeformableAttention", "MultiScaleDeformableAttention")
def deformable_attention(d):
    dtype, levels = floating(d), d.integer(1, 4)
    n, queries, heads, channels, points = d.integer(1, 2), d.extent(5), d.integer(1, 3), d.integer(1, 5), d.integer(1, 4)
    shapes = d.array(d.choice([numpy.int32, numpy.int64]), [levels, 2], 1, 6)
    areas = shapes[:, 0] * shapes[:, 1]
    start = (numpy.cumsum(areas) - areas).astype(shapes.dtype)
    value = d.array(dtype, [n, int(areas.sum()), heads, channels])
    places = d.array(dtype, [n, queries, heads, levels, points, 2], -0.4, 1.4)
    weights = d.array(dtype, [n, queries, heads, levels, points], 0, 1)
    result = vision.deformable_attention(value, shapes, start, places, weights)
    if d.op != "MultiscaleDeformableAttnPlugin_TRT":
        result = result.reshape(n, queries, heads * channels)
    attrs = {"im2col_step": 64} if d.op == "MultiScaleDeformableAttention" else {}
    return case(d, [value, shapes, start, places, weights], attrs, [result], constant=(1, 2) if d.chance(0.5) else (),
                tolerance=(1e-4, 1e-4))


@plugin("ModulatedDeformConv2d", "MMCVModulatedDeformConv2d", "MMCVDeformConv2d")
def deformable_convolution(d):
    kernel, stride, dilation, pads, size = d.some(1, 3, 2), d.some(1, 2, 2), d.some(1, 2, 2), d.some(0, 2, 2), d.some(5, 8, 2)
    groups, shared, dtype, n = d.choice([1, 2]), d.choice([1, 2]), floating(d), d.integer(1, 2)
    out = [(size[i] + 2 * pads[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    places = shared * kernel[0] * kernel[1]
    x, w = d.array(dtype, [n, 4, *size], -1, 1), d.array(dtype, [6, 4 // groups, *kernel], -1, 1)
    offset = d.array(dtype, [n, 2 * places, *out], -3, 3)
    mask, bias = d.array(dtype, [n, places, *out], 0, 1), d.array(dtype, [6]) if d.chance(0.5) else None
    attrs = {"stride": stride, "padding": pads, "dilation": dilation}
    if d.op == "MMCVDeformConv2d":
        mask, bias, inputs = None, None, [x, offset, w]
        attrs |= {"groups": groups, "deform_groups": shared}
        if d.chance(0.5):
            attrs["padding"] = [pads[0], pads[0], pads[1], pads[1]]
        if d.chance(0.5):
            attrs |= {"bias": 0, "im2col_step": 32}
    else:
        inputs = [x, offset, mask, w, bias]
        names = ("group", "deformable_group") if d.op == "ModulatedDeformConv2d" else ("groups", "deform_groups")
        attrs |= dict(zip(names, (groups, shared)))
    result = vision.deformable_convolution(x, w, offset, mask, bias, stride, pads, dilation, groups, shared)
    return case(d, inputs, attrs, [result], tolerance=(1e-4, 1e-4))


@plugin("grid_sampler")
def grid_sampler(d):
    dtype, n, size = floating(d), d.integer(1, 2), d.some(2, 6, 2)
    x = d.array(dtype, [n, 2, *size])
    grid = d.array(dtype, [n, d.extent(5), d.extent(5), 2], -1.5, 1.5)
    attrs = {"interpolation_mode": d.integer(0, 1), "padding_mode": d.integer(0, 2), "align_corners": d.integer(0, 1)}
    result = vision.grid_sampler(x, grid, **attrs)
    return case(d, [x, grid], attrs, [result], tolerance=(1e-3, 1e-3))


# ---- Regions


def regions(d, count, span, dtype=numpy.float32):
    """x1, y1, x2, y2, some of them outside."""
    start = d.array(dtype, [count, 2], -0.2 * span, 0.8 * span)
    return numpy.concatenate([start, start + d.array(dtype, [count, 2], 0.05 * span, 0.8 * span)], 1)


def image_numbers(d, count, images, dtype=numpy.float32):
    return d.array(numpy.int64, [count, 1], 0, images - 1).astype(dtype)


@plugin("ROIAlign_TRT")
def roi_align_trt(d):
    n, rois, scale, bins = d.integer(1, 2), d.extent(4), d.choice([1.0, 0.5]), d.some(1, 3, 2)
    x = d.array(numpy.float32, [n, 2, *d.some(3, 8, 2)])
    region, images = regions(d, rois, 8 / scale), d.array(d.choice([numpy.int32, numpy.int64]), [rois], 0, n - 1)
    attrs = {"mode": d.integer(0, 1), "output_height": bins[0], "output_width": bins[1], "sampling_ratio": d.integer(0, 3),
             "spatial_scale": scale, "coordinate_transformation_mode": d.integer(0, 1)}
    result = vision.roi_align(x, region, images, bins, scale, attrs["sampling_ratio"],
                              attrs["coordinate_transformation_mode"], not attrs["mode"],
                              vision.zero_outside if attrs["mode"] else vision.corners)
    return case(d, [x, region, images], attrs, [result], tolerance=(1e-3, 1e-3))


@plugin("MMCVRoiAlign")
def roi_align_mmcv(d):
    n, rois, scale, bins = d.integer(1, 2), d.extent(4), d.choice([1.0, 0.25]), d.some(1, 3, 2)
    x = d.array(numpy.float32, [n, 2, *d.some(3, 8, 2)])
    region = numpy.concatenate([image_numbers(d, rois, n), regions(d, rois, 8 / scale)], 1)
    attrs = {"mode": d.choice(["avg", "max"]), "output_height": bins[0], "output_width": bins[1],
             "sampling_ratio": d.integer(0, 3), "spatial_scale": scale, "aligned": d.integer(0, 1)}
    result = vision.roi_align(x, region[:, 1:], region[:, 0], bins, scale, attrs["sampling_ratio"], attrs["aligned"],
                              attrs["mode"] == "max")
    return case(d, [x, region], attrs, [result], tolerance=(1e-3, 1e-3))


def turned(d, count, images, span):
    return numpy.concatenate([image_numbers(d, count, images), d.array(numpy.float32, [count, 2], 0, span),
                              d.array(numpy.float32, [count, 2], 0.05 * span, span),
                              d.array(numpy.float32, [count, 1], -3.2, 3.2)], 1)


@plugin("MMCVRoIAlignRotated")
def roi_align_rotated(d):
    n, rois, scale, bins = d.integer(1, 2), d.extent(4), d.choice([1.0, 0.25]), d.some(1, 3, 2)
    x, region = d.array(numpy.float32, [n, 2, *d.some(3, 8, 2)]), turned(d, rois, n, 8 / scale)
    attrs = {"output_height": bins[0], "output_width": bins[1], "sampling_ratio": d.integer(1, 3), "spatial_scale": scale,
             "aligned": d.integer(0, 1), "clockwise": d.integer(0, 1)}
    result = vision.roi_align_rotated(x, region, bins, scale, attrs["sampling_ratio"], attrs["aligned"], attrs["clockwise"])
    return case(d, [x, region], attrs, [result], tolerance=(1e-3, 1e-3))


@plugin("MMCVMultiLevelRoiAlign", "MMCVMultiLevelRotatedRoiAlign")
def multi_level_roi_align(d):
    n, rois, levels, bins, rotated = d.integer(1, 2), d.extent(5), d.integer(1, 4), d.some(1, 3, 2), "Rotated" in d.op
    maps = [d.array(numpy.float32, [n, 2, *[max(1, extent >> k) for extent in d.some(8, 16, 2)]]) for k in range(levels)]
    strides = [float(4 << k) for k in range(levels)]
    region = turned(d, rois, n, 64) if rotated else numpy.concatenate([image_numbers(d, rois, n), regions(d, rois, 64)], 1)
    attrs = {"output_height": bins[0], "output_width": bins[1], "sampling_ratio": d.integer(int(rotated), 3),
             "featmap_strides": strides, "roi_scale_factor": d.choice([-1.0, 1.3]), "finest_scale": d.integer(8, 16),
             "aligned": d.integer(0, 1), ("clockwise" if rotated else "pool_mode"): d.integer(0, 1)}
    result = vision.multi_level(region, maps, bins, strides, attrs["sampling_ratio"], attrs["roi_scale_factor"],
                                attrs["finest_scale"], attrs["aligned"], not attrs.get("pool_mode", 1), attrs.get("clockwise"))
    return case(d, [region, *maps], attrs, [result], tolerance=(1e-3, 1e-3))


@plugin("PyramidROIAlign_TRT")
def pyramid_roi_align(d):
    n, rois, pooled, size = d.integer(1, 2), d.extent(4), d.integer(2, 3), d.some(32, 64, 2)
    maps = [d.array(numpy.float32, [n, 2, *[max(1, extent >> 2 + k) for extent in size]]) for k in range(4)]
    transform, absolute, swap = d.integer(-1, 2), d.integer(0, 1), d.integer(0, 1)
    region = d.array(numpy.float32, [n, rois, 4], -5, 70) if absolute else d.array(numpy.float32, [n, rois, 4], -0.1, 1.1)
    attrs = {"pooled_size": pooled, "image_size": size, "fpn_scale": d.integer(16, 48), "sampling_ratio": d.integer(0, 2),
             "roi_coords_absolute": absolute, "roi_coords_swap": swap, "roi_coords_plusone": d.integer(0, 1),
             "roi_coords_transform": transform}
    asked = [size, attrs["fpn_scale"], attrs["sampling_ratio"], absolute, swap, attrs["roi_coords_plusone"], transform]
    if d.chance(0.15):
        attrs["legacy"] = 1
        asked = [[1024, 1024], 224 * numpy.sqrt(0.5), 1, 0, 1, 0, -1]
    return case(d, [region, *maps], attrs, [vision.pyramid(region, maps, pooled, *asked)], tolerance=(1e-3, 1e-3))


@plugin("CropAndResize", "CropAndResizeDynamic")
def crop_and_resize(d):
    dtype, n, rois, size = floating(d), d.integer(1, 2), d.extent(4), d.some(1, 4, 2)
    x, region = d.array(dtype, [n, 2, *d.some(1, 6, 2)]), d.array(dtype, [n, rois, 4] + [1] * d.integer(0, 1), -0.1, 1.1)
    result = other.crop_and_resize(x, region, *size)
    return case(d, [x, region], {"crop_height": size[0], "crop_width": size[1]}, [result], tolerance=(1e-3, 1e-3))


# ---- Normalisation, attention, single elements


@plugin("InstanceNormalization_TRT", "TRTInstanceNormalization", "MMCVInstanceNormalization", "GroupNormalizationPlugin")
def normalise(d):
    dtype, groups, own = floating(d), d.integer(1, 3), d.op == "GroupNormalizationPlugin"
    channels, epsilon = groups * d.integer(1, 3), d.choice([1e-5, 1e-3])
    x = d.array(dtype, [d.integer(1, 3), channels, *d.some(1, 5, d.integer(1, 3))])
    weights = [d.array(dtype, [channels]), d.array(dtype, [channels])]
    attrs = {"eps": epsilon, "num_groups": groups} if own else {"epsilon": epsilon}
    result = other.normalise(x, *weights, groups if own else channels, epsilon)
    inputs = [x, *weights]
    if d.op == "InstanceNormalization_TRT":
        if d.chance(0.5):
            attrs |= {"relu": 1, "alpha": 0.25}
            result = numpy.where(result < 0, 0.25 * result, result)
        if d.chance(0.5):
            as_tensor = d.chance(0.5)
            for name, value in zip(("scales", "bias"), weights):
                value = value.astype(numpy.float32)
                attrs[name] = onnx.numpy_helper.from_array(value) if as_tensor else [float(v) for v in value]
            inputs = [x]
    return case(d, inputs, attrs, [result], tolerance=(1e-3, 1e-3))


@plugin("ScaledDotProductAttentionTRT")
def scaled_attention(d):
    dtype, n, rows, columns, size = floating(d), d.integer(1, 3), d.extent(5), d.extent(6), d.integer(1, 8)
    q, k, v = (d.array(dtype, [n, extent, size], -2, 2) for extent in (rows, columns, columns))
    mask = d.choice([None, [rows, columns], [n, rows, columns]])
    mask = None if mask is None else d.array(dtype, mask)
    results = other.attention(q, k, v, mask)
    return case(d, [q, k, v, mask], {}, list(results[:d.integer(1, 2)]), tolerance=(1e-3, 1e-3))


@plugin("DisentangledAttention_TRT")
def disentangled_attention(d):
    dtype, n, length, span = floating(d), d.integer(1, 2), d.integer(1, 24), d.integer(2, 8) * 2
    inputs = [d.array(dtype, [n, length, width]) for width in (length, 2 * span, 2 * span)]
    attrs = {"span": span, "factor": d.real(0.05, 0.5)}
    return case(d, inputs, attrs, [other.disentangled(*inputs, **attrs)])


@plugin("LReLU_TRT", "Clip_TRT")
def single_elements(d):
    x, first, second = d.array(floating(d), d.shape()), d.real(-2, 0.5), d.real(0.5, 2)
    if d.op == "Clip_TRT":
        return case(d, [x], {"clipMin": first, "clipMax": second}, [numpy.clip(x.astype(numpy.float64), first, second)])
    return case(d, [x], {"negSlope": first}, [numpy.where(x > 0, x, x.astype(numpy.float64) * first)])


# ---- Movement


@plugin("FlattenConcat_TRT")
def flatten_concat(d):
    dtype, n = floating(d), d.integer(1, 3)
    inputs = [d.array(dtype, [n, *d.shape(1, 3, 4)]) for _ in range(d.integer(1, 5))]
    result = numpy.concatenate([x.reshape(n, int(numpy.prod(x.shape[1:]))) for x in inputs], 1)[:, :, None, None]
    return case(d, inputs, {"axis": 1, "ignoreBatch": 0} if d.chance(0.5) else {}, [result])


@plugin("BatchTilePlugin_TRT")
def batch_tile(d):
    dtype, n = floating(d), d.extent(4)
    x, tile = d.array(dtype, [n, *d.shape(0, 3)]), d.array(dtype, [1, *d.shape(0, 3)])
    return case(d, [x, tile], {}, [numpy.repeat(tile, n, 0)])


@plugin("SpecialSlice_TRT")
def special_slice(d):
    x = d.array(floating(d), [*d.shape(1, 2), 6])
    return case(d, [x], {}, [x[..., :4]])


@plugin("Reorg_TRT")
def reorg(d):
    step = d.integer(1, 3)
    x = d.array(floating(d), [d.integer(1, 2), step * step * d.integer(1, 2), step * d.integer(1, 3), step * d.integer(1, 3)])
    return case(d, [x], {"stride": step}, [other.reorg(x, step)])


@plugin("ResizeNearest_TRT")
def resize_nearest(d):
    x, scale = d.array(floating(d), [d.integer(1, 2), 2, *d.some(2, 6, 2)]), d.choice([2.0, 2.0, 1.5, 4.0, 0.5])
    return case(d, [x], {"scale": scale}, [other.resize_nearest(x, scale)])


@plugin("GatherTopk")
def gather_topk(d):
    batch, rows, picked = d.shape(0, 2, 3), d.integer(1, 6), d.extent(5)
    x = d.array(floating(d), [*batch, rows, *d.shape(0, 2, 3, 0)])
    index = d.array(d.choice([numpy.int32, numpy.int64]), [*batch, picked], 0, rows - 1)
    return case(d, [x, index], {}, [other.gather_topk(x, index)])


@plugin("PillarScatterPlugin")
def pillar_scatter(d):
    n, pillars, size = d.integer(1, 2), d.integer(1, 6), d.some(3, 6, 2)
    voxels, coords = d.array(floating(d), [n, pillars, d.integer(1, 5)]), numpy.zeros([n, pillars, 4], numpy.int32)
    for i in range(n):  # no two pillars at one position
        places = d.rng.permutation(size[0] * size[1])[:pillars]
        coords[i, :, 0], coords[i, :, 2], coords[i, :, 3] = i, places // size[1], places % size[1]
    counts = d.array(numpy.int32, [n], 0, pillars)
    return case(d, [voxels, coords, counts], {"dense_shape": size}, [other.pillar_scatter(voxels, coords, counts, *size)])


@plugin("GridPriorsTRT")
def grid_priors(d):
    size, strides = [d.extent(5), d.extent(5)], d.some(1, 16, 2)
    base = d.array(numpy.float32, [d.integer(1, 4), 4])
    inputs = [base, numpy.zeros(size[0], numpy.int64), numpy.zeros(size[1], numpy.int64)]
    return case(d, inputs, {"stride_h": strides[0], "stride_w": strides[1]}, [other.grid_priors(base, *size, *strides)])


@plugin("Region_TRT")
def region(d):
    boxes, classes = d.integer(1, 3), d.integer(1, 5)
    x = d.array(floating(d), [d.integer(1, 2), boxes * (5 + classes), d.extent(4), d.extent(4)], -3, 3)
    return case(d, [x], {"num": boxes, "coords": 4, "classes": classes}, [other.region(x, boxes, classes)],
                tolerance=(1e-3, 1e-4))


# ---- Running extremes, bird's-eye views


@plugin("cummax", "cummin")
def running_extreme(d):
    x = d.array(d.choice([numpy.float32, numpy.float16]), d.shape(1, 4), -4, 4)
    if d.chance(0.4):
        x = numpy.round(x)  # equal ones
    axis, indices = d.axis(x.ndim), numpy.zeros(x.shape, numpy.int64)
    values = (numpy.maximum if d.op == "cummax" else numpy.minimum).accumulate(x, axis)
    for at in numpy.ndindex(x.shape):
        line = numpy.moveaxis(x, axis, -1)[tuple(numpy.delete(at, axis % x.ndim))][:at[axis] + 1]
        indices[at] = numpy.flatnonzero(line == values[at])[-1]
    return case(d, [x], {"dim": axis}, [values, indices][:d.integer(1, 2)])


@plugin("MMCVCornerPool")
def corner_pool(d):
    x, mode = d.array(floating(d), [d.integer(1, 2), 2, d.extent(), d.extent()]), d.integer(0, 3)
    axis, flip = 2 + mode // 2, mode % 2 == 0
    y = numpy.flip(x, axis) if flip else x
    y = numpy.maximum.accumulate(y, axis)
    return case(d, [x], {"mode": mode}, [numpy.flip(y, axis) if flip else y])


@plugin("bev_pool_v2", "BEVPoolV2TRT")
def bev_pool(d):
    cameras, bins, size, view, channels = d.integer(1, 3), d.integer(1, 4), d.some(1, 4, 2), d.some(1, 5, 2), d.integer(1, 6)
    depth, feat = d.array(numpy.float32, [cameras, bins, *size], 0, 1), d.array(numpy.float32, [cameras, *size, channels])
    places = numpy.sort(d.array(numpy.int32, [d.integer(1, 20)], 0, view[0] * view[1] - 1))
    starts = numpy.flatnonzero(numpy.diff(places, prepend=-1)).astype(numpy.int32)
    lengths = numpy.diff(starts, append=len(places)).astype(numpy.int32)
    kept = numpy.sort(d.rng.permutation(len(starts))[:d.integer(1, len(starts))])  # some points belong to no interval
    starts, lengths = starts[kept], lengths[kept]
    at_depth = d.array(numpy.int32, [len(places)], 0, depth.size - 1)
    at_feat = d.array(numpy.int32, [len(places)], 0, feat.size // channels - 1)
    out = numpy.zeros([view[0] * view[1], channels])
    for start, length in zip(starts, lengths):
        for i in range(start, start + length):
            out[places[i]] += depth.reshape(-1)[at_depth[i]] * feat.reshape(-1, channels)[at_feat[i]].astype(numpy.float64)
    return case(d, [depth, feat, at_depth, at_feat, places, starts, lengths], {"out_height": view[0], "out_width": view[1]},
                [out.reshape(1, *view, channels)], depth=20)

# ---- Suppression


def distinct(d, dtype, shape, low, high):
    """Distinct values, so that their order is unique."""
    count = int(numpy.prod(shape))
    return (d.rng.permutation(count).reshape(shape) / max(count, 1) * (high - low) + low).astype(dtype)


@plugin("EfficientNMS_TRT")
def efficient_nms(d):
    n, count, classes, coding = d.integer(1, 2), d.integer(1, 24), d.integer(1, 4), d.integer(0, 1)
    scores = distinct(d, numpy.float32, [n, count, classes], -3 if d.chance(0.3) else 0.01, 1)
    shape = [n, count] + ([] if d.chance(0.6) else [d.choice([1, classes])]) + [4]
    boxes, anchors = d.array(numpy.float32, shape, 0, 1), None
    if d.chance(0.05):  # more than are considered; most overlap
        n, count, classes, shape = 1, 4200, 1, [1, 4200, 4]
        scores = distinct(d, numpy.float32, [n, count, classes], 0.01, 1)
        boxes = numpy.tile(numpy.array([0.4, 0.4, 0.6, 0.6], numpy.float32), [n, count, 1])
        far = numpy.append(d.rng.permutation(count)[:8], scores[0, :, 0].argmin())
        boxes[0, far] = d.array(numpy.float32, [9, 4], 0, 1)
    elif d.chance(0.3):
        anchors = d.array(numpy.float32, [d.choice([1, n]), count, 4], 0.1, 1)
    attrs = {"score_threshold": d.choice([0.0, 0.2, 0.5]), "iou_threshold": d.choice([0.1, 0.3, 0.5]),
             "max_output_boxes": d.choice([1, 5, 20, 40]), "background_class": d.choice([-1, -1, 0]),
             "score_activation": d.integer(0, 1), "class_agnostic": d.integer(0, 1), "box_coding": coding}
    results = nms.efficient(boxes, scores, anchors, **attrs)
    return case(d, [boxes, scores, anchors], attrs, list(results), tolerance=(1e-4, 1e-5))


def boxes_and_scores(d, scale, turned=False):
    n, count, classes = d.integer(1, 2), d.integer(1, 20), d.integer(1, 4)
    start = d.array(numpy.float32, [n, count, d.choice([1, classes]), 2], -0.1 * scale, 0.7 * scale)
    size = d.array(numpy.float32, start.shape, 0.1 * scale, 0.5 * scale)
    if turned:
        boxes = numpy.concatenate([start, size, d.array(numpy.float32, [*start.shape[:3], 1], -3.2, 3.2)], -1)
        if count > 1 and d.chance(0.3):
            boxes[:, 1] = boxes[:, 0]  # full overlap
    else:
        boxes = numpy.concatenate([start, start + size], -1)
    return boxes, distinct(d, numpy.float32, [n, count, classes] + [1] * d.integer(0, 1), 0.01, 1)


@plugin("BatchedNMS_TRT", "BatchedNMSDynamic_TRT", "TRTBatchedNMS", "TRTBatchedRotatedNMS")
def batched_nms(d):
    mmdeploy, turned, normal = d.op.startswith("TRT"), "Rotated" in d.op, d.integer(0, 1)
    boxes, scores = boxes_and_scores(d, 1 if normal else 20, turned)
    top, keep, clip, background = d.choice([-1, 3, 8, 30]), d.choice([1, 5, 30]), d.integer(0, 1), d.choice([-1, -1, 0])
    score, iou, caffe = d.choice([0.0, 0.3]), d.choice([0.1, 0.3, 0.5]), d.integer(0, 1)
    if mmdeploy:
        scores = scores.reshape(scores.shape[:3])
    more = 0 if mmdeploy or normal or not caffe else 1
    measure = nms.turned_overlap if turned else lambda a, b: nms.overlap(a, b, more)
    places, best, found, index = nms.batched(boxes, scores, top, keep, score, iou, background, measure, clip)
    if mmdeploy:
        attrs = {"background_label_id": background, "num_classes": scores.shape[2], "topk": top, "keep_topk": keep,
                 "score_threshold": score, "iou_threshold": iou, "is_normalized": normal, "clip_boxes": clip}
        results = [numpy.concatenate([places, best[..., None]], -1), found.astype(numpy.int32), index.astype(numpy.int32)]
        outputs = 2 if turned else d.integer(2, 3)
        return case(d, [boxes, scores], attrs | {"return_index": outputs - 2}, results[:outputs])
    attrs = {"shareLocation": int(boxes.shape[2] == 1), "backgroundLabelId": background, "numClasses": scores.shape[2],
             "topK": top, "keepTopK": keep, "scoreThreshold": score, "iouThreshold": iou, "isNormalized": normal,
             "clipBoxes": clip, "caffeSemantics": caffe}
    number = (found >= 0).sum(1, keepdims=True).astype(numpy.int32)
    return case(d, [boxes, scores], attrs, [number, places, best, found.astype(numpy.float32)])


@plugin("NMSRotated")
def nms_rotated(d):
    boxes, scores = boxes_and_scores(d, 20, True)
    boxes, scores = boxes[:, :, 0], numpy.ascontiguousarray(scores.reshape(scores.shape[:3]).transpose(0, 2, 1))
    score, iou, rows = d.choice([0.0, 0.3]), d.choice([0.1, 0.3, 0.5]), []
    for n, c in numpy.ndindex(scores.shape[:2]):
        order = [k for k in numpy.argsort(-scores[n, c], kind="stable") if scores[n, c, k] > numpy.float32(score)]
        kept = nms.greedy(order, lambda j, k, n=n: nms.turned_overlap(*boxes[n, [j, k]].astype(numpy.float64)) > iou)
        rows += [[n, c, k] for k in kept]
    return case(d, [boxes, scores], {"iou_threshold": iou, "score_threshold": score},
                [numpy.array(rows, numpy.int64).reshape(-1, 3)])
