"""What the plugins of ops_plugins.py compute, written plainly with NumPy in double precision: sampling of images."""
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
    """x, reflected at both borders until it is between them."""
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
