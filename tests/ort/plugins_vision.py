"""What the plugins of ops_plugins.py compute, written plainly with NumPy in double precision: image sampling."""
import itertools

import numpy


def bilinear(image, y, x):
    """image[..., y, x] between its elements; those outside are zero."""
    y0, x0 = int(numpy.floor(y)), int(numpy.floor(x))
    total = numpy.zeros(image.shape[:-2])
    for i, j in itertools.product(range(2), range(2)):
        if 0 <= y0 + i < image.shape[-2] and 0 <= x0 + j < image.shape[-1]:
            total = total + (1 - abs(y - y0 - i)) * (1 - abs(x - x0 - j)) * image[..., y0 + i, x0 + j]
    return total


def deformable_attention(value, shapes, start, places, weights):
    value, places, weights = (a.astype(numpy.float64) for a in (value, places, weights))
    n, queries, heads, levels, points, _ = places.shape
    out = numpy.zeros([n, queries, heads, value.shape[3]])
    for b, q, m, k, p in numpy.ndindex(n, queries, heads, levels, points):
        h, w = shapes[k]
        level = value[b, start[k]:start[k] + h * w, m].reshape(h, w, -1).transpose(2, 0, 1)
        x, y = places[b, q, m, k, p] * (w, h) - 0.5
        out[b, q, m] += weights[b, q, m, k, p] * bilinear(level, y, x)
    return out


def deformable_convolution(x, w, offset, mask, bias, stride, pads, dilation, groups, shared):
    x, w, offset = (a.astype(numpy.float64) for a in (x, w, offset))
    n, channels = x.shape[:2]
    rows, columns = w.shape[2:]
    out = numpy.zeros([n, w.shape[0], *offset.shape[2:]])
    filters, part = w.shape[0] // groups, channels // groups
    for b, oy, ox, ky, kx, g in numpy.ndindex(n, *offset.shape[2:], rows, columns, shared):
        place = (g * rows + ky) * columns + kx
        dy, dx = offset[b, 2 * place:2 * place + 2, oy, ox]
        mine = slice(g * channels // shared, (g + 1) * channels // shared)
        read = bilinear(x[b, mine], oy * stride[0] - pads[0] + ky * dilation[0] + dy,
                        ox * stride[1] - pads[1] + kx * dilation[1] + dx)
        if mask is not None:
            read = read * float(mask[b, place, oy, ox])
        for i, c in enumerate(range(mine.start, mine.stop)):
            group = c // part
            out[b, group * filters:(group + 1) * filters, oy, ox] += (
                w[group * filters:(group + 1) * filters, c % part, ky, kx] * read[i])
    return out if bias is None else out + bias.astype(numpy.float64)[None, :, None, None]


def mirrored(x, low, high):
    """x, reflected at both borders until it lies between them."""
    if low == high:
        return 0.0
    while not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return x


def grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners):
    x, grid = x.astype(numpy.float64), grid.astype(numpy.float64)
    out = numpy.zeros([*x.shape[:2], *grid.shape[1:3]])
    for b, i, j in numpy.ndindex(grid.shape[:3]):
        at = []
        for place, extent in zip(grid[b, i, j, ::-1], x.shape[2:]):
            p = (place + 1) / 2 * (extent - 1) if align_corners else ((place + 1) * extent - 1) / 2
            if padding_mode == 2:
                p = mirrored(p, 0, extent - 1) if align_corners else mirrored(p, -0.5, extent - 0.5)
            at.append(numpy.clip(p, 0, extent - 1) if padding_mode else p)
        if interpolation_mode == 1:
            at = [numpy.round(p) for p in at]
        out[b, :, i, j] = bilinear(x[b], *at)
    return out


def held(image, y, x):
    """image[..., y, x] between its elements, with y and x clamped to it."""
    y, x = (numpy.clip(p, 0, extent - 1) for p, extent in zip((y, x), image.shape[-2:]))
    return bilinear(image, y, x)


def zero_outside(image, y, x):
    """The same, where more than one element outside is zero."""
    if not (-1 <= y <= image.shape[-2] and -1 <= x <= image.shape[-1]):
        return numpy.zeros(image.shape[:-2])
    return held(image, y, x)


def corners(image, y, x):
    """The maximum of the four elements around (y, x), each times its weight."""
    if not (-1 <= y <= image.shape[-2] and -1 <= x <= image.shape[-1]):
        return numpy.zeros(image.shape[:-2])
    y, x = (numpy.clip(p, 0, extent - 1) for p, extent in zip((y, x), image.shape[-2:]))
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, image.shape[-2] - 1), min(x0 + 1, image.shape[-1] - 1)
    parts = [(1 - y + y0) * (1 - x + x0) * image[..., y0, x0], (1 - y + y0) * (x - x0) * image[..., y0, x1],
             (y - y0) * (1 - x + x0) * image[..., y1, x0], (y - y0) * (x - x0) * image[..., y1, x1]]
    return numpy.max(parts, axis=0)


def align(image, start, size, bins, ratio, largest=False, read=zero_outside):
    """One region of an image [c, h, w]; start, size and bins are (y, x)."""
    out = numpy.zeros([image.shape[0], *bins])
    step = [s / b for s, b in zip(size, bins)]
    grid = [ratio if ratio > 0 else int(numpy.ceil(s)) for s in step]
    for p, q in numpy.ndindex(*bins):
        values = [read(image, start[0] + p * step[0] + (i + 0.5) * step[0] / grid[0],
                       start[1] + q * step[1] + (j + 0.5) * step[1] / grid[1])
                  for i, j in itertools.product(range(grid[0]), range(grid[1]))]
        if values:
            out[:, p, q] = numpy.max(values, axis=0) if largest else numpy.mean(values, axis=0)
    return out


def roi_align(x, rois, images, bins, scale, ratio, shifted, largest, read=zero_outside):
    out = []
    for roi, image in zip(rois.astype(numpy.float64), images):
        edges = roi * scale - (0.5 if shifted else 0)
        start, size = edges[1::-1], edges[3:1:-1] - edges[1::-1]
        out.append(align(x[int(image)].astype(numpy.float64), start, size if shifted else numpy.maximum(size, 1), bins, ratio,
                         largest, read))
    return numpy.array(out).reshape(len(rois), x.shape[1], *bins)


def rotated(image, centre, size, angle, bins, ratio):
    """One region of an image [c, h, w], rotated by an angle."""
    def turned(image, y, x):
        return zero_outside(image, y * numpy.cos(angle) - x * numpy.sin(angle) + centre[0],
                            y * numpy.sin(angle) + x * numpy.cos(angle) + centre[1])
    return align(image, [-s / 2 for s in size], size, bins, ratio, read=turned)


def roi_align_rotated(x, rois, bins, scale, ratio, aligned, clockwise):
    out = []
    for image, cx, cy, width, height, angle in rois.astype(numpy.float64):
        size = numpy.array([height, width]) * scale
        centre = numpy.array([cy, cx]) * scale - (0.5 if aligned else 0)
        out.append(rotated(x[int(image)].astype(numpy.float64), centre, size if aligned else numpy.maximum(size, 1),
                           -angle if clockwise else angle, bins, ratio))
    return numpy.array(out).reshape(len(rois), x.shape[1], *bins)


def level_of(height, width, finest, count):
    return int(numpy.clip(numpy.floor(numpy.log2(numpy.sqrt(height * width) / finest + 1e-6)), 0, count - 1))


def multi_level(rois, maps, bins, strides, ratio, factor, finest, aligned, largest, clockwise=None):
    """clockwise None: regions that are not rotated."""
    out = []
    for image, a, b, c, d, *angle in rois.astype(numpy.float64):
        level = level_of(d if angle else d - b, c if angle else c - a, finest, len(maps))
        x, scale, shift = maps[level][int(image)].astype(numpy.float64), 1 / strides[level], 0.5 if aligned else 0
        if angle:
            size = numpy.maximum(numpy.array([d, c]) * (factor if factor > 0 else 1) * scale, 1)
            centre = numpy.array([b, a]) * scale - shift
            out.append(rotated(x, centre, size, -angle[0] if clockwise else angle[0], bins, ratio))
            continue
        edges = numpy.array([[b, d], [a, c]])
        if factor > 0:
            half = (edges[:, 1] - edges[:, 0] + 1) * factor / 2 - 0.5
            edges = edges.mean(1)[:, None] + numpy.stack([-half, half], 1)
        edges = edges * scale - shift
        out.append(align(x, edges[:, 0], numpy.maximum(edges[:, 1] - edges[:, 0], 0 if aligned else 1), bins, ratio, largest))
    return numpy.array(out).reshape(len(rois), maps[0].shape[1], *bins)


def pyramid(rois, maps, pooled, size, fpn, ratio, absolute, swap, plus_one, transform):
    out = numpy.zeros([*rois.shape[:2], maps[0].shape[1], pooled, pooled])
    for n, r in numpy.ndindex(rois.shape[:2]):
        corner = rois[n, r].astype(numpy.float64).reshape(2, 2)
        corner = numpy.array([corner.min(0), corner.max(0)])
        if not swap:
            corner = corner[:, ::-1]
        corner = numpy.clip(corner, 0, size) / size if absolute else numpy.clip(corner, 0, 1)
        area = numpy.prod(corner[1] - corner[0] + (1 / numpy.array(size) if plus_one else 0))
        first = fpn * fpn / (size[0] * size[1]) / 4
        level = sum(area > first * 4 ** k for k in range(3))
        x = maps[level][n].astype(numpy.float64)
        extent = numpy.array(x.shape[1:])
        corner = corner * (extent - 1) if transform < 0 else corner * extent - (0.5 if transform == 2 else 0)
        step = (corner[1] - corner[0]) / (pooled - 1 if transform < 0 else pooled)
        grid = [ratio or max(1, int(numpy.ceil(s))) for s in (corner[1] - corner[0]) / pooled]
        for p, q in numpy.ndindex(pooled, pooled):
            values = [held(x, *(corner[0] + step * ((p, q) + (numpy.array([i, j]) + (0.5 if transform > 0 else 0)) / grid)))
                      for i, j in itertools.product(range(grid[0]), range(grid[1]))]
            out[n, r, :, p, q] = numpy.mean(values, axis=0)
    return out
