"""What the plugins of ops_plugins.py compute, written plainly with NumPy in double precision: all except image sampling."""
import itertools

import numpy


def normalise(x, scale, bias, groups, epsilon):
    x, scale, bias = (a.astype(numpy.float64) for a in (x, scale, bias))
    seen = x.reshape(x.shape[0], groups, -1)
    y = (seen - seen.mean(2, keepdims=True)) / numpy.sqrt(seen.var(2, keepdims=True) + epsilon)
    each = [1, -1] + [1] * (x.ndim - 2)
    return y.reshape(x.shape) * scale.reshape(each) + bias.reshape(each)


def reorg(x, step):
    """The loops of the README's figure: parts of the input, viewed as a larger image of fewer channels."""
    n, channels, height, width = x.shape
    seen = x.reshape(n, channels // step ** 2, height * step, width * step)
    parts = [seen[:, :, p::step, q::step] for p, q in itertools.product(range(step), range(step))]
    return numpy.concatenate(parts, 1).reshape(n, channels * step ** 2, height // step, width // step)


def resize_nearest(x, scale):
    rows, columns = ([int(i / scale) for i in range(int(extent * scale))] for extent in x.shape[2:])
    return x[:, :, rows][:, :, :, columns]


def gather_topk(x, index):
    out = numpy.zeros([*index.shape, *x.shape[index.ndim:]], x.dtype)
    for at in numpy.ndindex(index.shape):
        out[at] = x[(*at[:-1], index[at])]
    return out


def crop_and_resize(x, rois, height, width):
    x, rois = x.astype(numpy.float64), rois.astype(numpy.float64).reshape(*rois.shape[:2], 4)
    out = numpy.zeros([*rois.shape[:2], x.shape[1], height, width])
    for n, b, i, j in numpy.ndindex(*rois.shape[:2], height, width):
        at = []
        for k, size in ((0, height), (1, width)):
            first, second, last = rois[n, b, k], rois[n, b, 2 + k], x.shape[2 + k] - 1
            at.append(first * last + (i, j)[k] * (second - first) * last / (size - 1) if size > 1
                      else (first + second) / 2 * last)
        if all(0 <= p <= extent - 1 for p, extent in zip(at, x.shape[2:])):
            for p, q in itertools.product(*({int(numpy.floor(c)), int(numpy.ceil(c))} for c in at)):
                out[n, b, :, i, j] += (1 - abs(at[0] - p)) * (1 - abs(at[1] - q)) * x[n, :, p, q]
    return out


def pillar_scatter(voxels, coords, counts, height, width):
    out = numpy.zeros([voxels.shape[0], voxels.shape[2], height, width], voxels.dtype)
    for n in range(voxels.shape[0]):
        for p in range(int(counts[n])):
            out[n, :, coords[n, p, 2], coords[n, p, 3]] = voxels[n, p]
    return out


def grid_priors(base, height, width, stride_h, stride_w):
    return numpy.array([row + [j * stride_w, i * stride_h, j * stride_w, i * stride_h]
                        for i in range(height) for j in range(width) for row in base.astype(numpy.float64)])


def region(x, boxes, classes):
    y = x.astype(numpy.float64).reshape(x.shape[0], boxes, 5 + classes, *x.shape[2:])
    for k in (0, 1, 4):
        y[:, :, k] = 1 / (1 + numpy.exp(-y[:, :, k]))
    y[:, :, 5:] = numpy.exp(y[:, :, 5:]) / numpy.exp(y[:, :, 5:]).sum(2, keepdims=True)
    return y.reshape(x.shape)


def attention(q, k, v, mask):
    q, k, v = (a.astype(numpy.float64) for a in (q, k, v))
    score = q @ k.transpose(0, 2, 1) / numpy.sqrt(q.shape[2]) + (0 if mask is None else mask.astype(numpy.float64))
    p = numpy.exp(score - score.max(2, keepdims=True))
    p /= p.sum(2, keepdims=True)
    return p @ v, p


def disentangled(c2c, c2p, p2c, span, factor):
    c2c, c2p, p2c = (a.astype(numpy.float64) for a in (c2c, c2p, p2c))
    out, middle = numpy.zeros(c2c.shape), span // 2
    for n, i, j in numpy.ndindex(c2c.shape):
        bucket = distance = i - j
        if abs(distance) > middle:
            far = numpy.log(abs(distance) / middle) / numpy.log((2 * span - 1) / middle) * (middle - 1)
            bucket = int(numpy.sign(distance)) * (int(numpy.ceil(far * (1 - 1e-7))) + middle)
        at = min(max(bucket + span, 0), 2 * span - 1)
        out[n, i, j] = (c2c[n, i, j] + c2p[n, i, at] + p2c[n, j, at]) * factor
    return out
