"""Greedy non-maximum suppression as the plugins of ops_plugins.py have it, written plainly with NumPy."""
import numpy


def overlap(a, b, more=0.0):
    """Intersection over union of boxes (y1, x1, y2, x2); `more` is added to each side."""
    low, high = numpy.maximum(a[:2], b[:2]), numpy.minimum(a[2:], b[2:])
    if (high - low <= -more).any():
        return 0.0
    both = numpy.prod(high - low + more)
    either = numpy.prod(a[2:] - a[:2] + more) + numpy.prod(b[2:] - b[:2] + more) - both
    return both / either if either > 0 else 0.0


def greedy(order, suppresses):
    """The boxes kept from `order`, the best first."""
    kept = []
    for k in order:
        if not any(suppresses(j, k) for j in kept):
            kept.append(k)
    return kept


def in_order(box):
    return numpy.concatenate([numpy.minimum(box[:2], box[2:]), numpy.maximum(box[:2], box[2:])])


def corners(box):
    return numpy.concatenate([box[:2] - box[2:] / 2, box[:2] + box[2:] / 2])


def efficient(boxes, scores, anchors, score_threshold, iou_threshold, max_output_boxes, background_class, score_activation,
              class_agnostic, box_coding):
    images, count, classes = scores.shape
    number, places = numpy.zeros([images, 1], numpy.int32), numpy.zeros([images, max_output_boxes, 4])
    best, found = numpy.zeros([images, max_output_boxes]), numpy.zeros([images, max_output_boxes], numpy.int32)
    least = numpy.float32(score_threshold)
    if score_activation:
        least = numpy.float32(numpy.log(least / (1 - least)) if least > 0 else -2.0 ** 15)
    for n in range(images):
        def box_of(k):
            box = boxes[n, k[0]] if boxes.ndim == 3 else boxes[n, k[0], min(k[1], boxes.shape[2] - 1)]
            box = box.astype(numpy.float64)
            if anchors is not None:
                anchor = anchors[min(n, len(anchors) - 1), k[0]].astype(numpy.float64)
                box = (in_order(box) + in_order(anchor) if not box_coding else
                       numpy.concatenate([box[:2] * anchor[2:] + anchor[:2], anchor[2:] * numpy.exp(box[2:])]))
            return corners(box) if box_coding else box

        order = sorted((k for k in numpy.ndindex(count, classes)
                        if scores[n][k] >= least.astype(scores.dtype) and k[1] != background_class),
                       key=lambda k: -scores[n][k].astype(numpy.float64))[:4096]
        kept = greedy(order, lambda j, k: (class_agnostic or j[1] == k[1]) and
                      overlap(in_order(box_of(j)), in_order(box_of(k))) >= iou_threshold)[:max_output_boxes]
        number[n, 0] = len(kept)
        for i, k in enumerate(kept):
            score = numpy.float64(scores[n][k])
            places[n, i], found[n, i] = box_of(k), k[1]
            best[n, i] = 1 / (1 + numpy.exp(-score)) if score_activation else score
    return number, places, best, found


def batched(boxes, scores, top, keep, score_threshold, iou_threshold, background, measure, clip):
    """For each image the positions, scores, classes and boxes that are kept; `measure` gives the overlap of two boxes."""
    scores = scores.reshape(scores.shape[:3])
    images, count, classes = scores.shape
    places, best = numpy.zeros([images, keep, boxes.shape[-1]]), numpy.zeros([images, keep])
    found, index = numpy.full([images, keep], -1), numpy.full([images, keep], -1)
    for n in range(images):
        kept = []
        for c in range(classes):
            def box_of(k):
                return boxes[n, k, min(c, boxes.shape[2] - 1)].astype(numpy.float64)

            order = sorted((k for k in range(count) if scores[n, k, c] > numpy.float32(score_threshold) and c != background),
                           key=lambda k: -scores[n, k, c].astype(numpy.float64))
            order = order[:top] if top > 0 else order
            kept += [(c, k, box_of(k)) for k in greedy(order, lambda j, k: measure(box_of(j), box_of(k)) > iou_threshold)]
        kept = sorted(kept, key=lambda k: -scores[n, k[1], k[0]].astype(numpy.float64))[:keep]
        for i, (c, k, box) in enumerate(kept):
            places[n, i], best[n, i] = numpy.clip(box, 0, 1) if clip else box, scores[n, k, c]
            found[n, i], index[n, i] = c, k
    return places, best, found, index


def polygon(box):
    x, y, width, height, angle = box
    sides = numpy.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [width / 2, height / 2]
    turn = numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
    return sides @ turn.T + [x, y]


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def area(corner):
    return sum(cross(corner[i - 1], corner[i]) for i in range(len(corner))) / 2


def turned_overlap(a, b):
    """Intersection over union of rotated boxes: one is clipped at each of the other's edges."""
    left, other = list(polygon(a)), polygon(b)
    for i in range(4):
        edge, before = other[(i + 1) % 4] - other[i], left
        side, left = [cross(edge, p - other[i]) for p in before], []
        for k in range(len(before)):
            if side[k - 1] * side[k] < 0:
                left.append(before[k - 1] + side[k - 1] / (side[k - 1] - side[k]) * (before[k] - before[k - 1]))
            if side[k] >= 0:
                left.append(before[k])
    both = area(left) if len(left) > 2 else 0.0
    return both / (a[2] * a[3] + b[2] * b[3] - both)
