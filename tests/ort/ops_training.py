"""Generators of ONNX's optimizers, for which ONNX Runtime has no CPU kernels: the expected results are computed here with
NumPy,
in double precision, from the operators' definitions."""
import numpy

import draw
from draw import Case

DOMAIN = "ai.onnx.preview.training."


def optimizer(d, attrs, states, step):
    """Random tensors, gradients and `states` kinds of states; step(r, t, x, g, *states) returns x' and the new states."""
    dtype, rate = d.choice([numpy.float32, numpy.float64]), d.choice([numpy.float32, numpy.float64])
    shapes = [d.shape(0, 3) for _ in range(d.integer(1, 3))]
    r, t = d.array(rate, d.choice([[], [1]]), 0.01, 1), d.array(numpy.int64, d.choice([[], [1]]), 0, 20)
    groups = [[d.array(dtype, shape) for shape in shapes] for _ in range(2)]
    groups += [[d.array(dtype, shape, 0, 4) for shape in shapes] for _ in range(states)]
    results = []
    for parts in zip(*groups):
        x, g, *rest = [part.astype(numpy.float64) for part in parts]
        g = attrs.get("norm_coefficient", 0) * x + g
        results.append(step(float(r.reshape(-1)[0]), int(t.reshape(-1)[0]), x, g, *rest))
    results = [numpy.asarray(result, dtype) for kind in zip(*results) for result in kind]
    return Case([r, t] + [part for group in groups for part in group], attrs, results=results, outputs=len(results),
                tolerance=(1e-4, 1e-5) if numpy.float32 in (dtype, rate) else None)


def some(d, **ranges):
    """Attributes, each of which is sometimes omitted."""
    return {name: d.real(*span) for name, span in ranges.items() if d.chance(0.7)}


@draw.operator(DOMAIN + "Adagrad", plain=True)
def adagrad(d):
    attrs = some(d, norm_coefficient=(0, 0.1), decay_factor=(0, 0.5), epsilon=(1e-6, 0.1))

    def step(r, t, x, g, h):
        h = h + g * g
        return x - r / (1 + t * attrs.get("decay_factor", 0)) * g / (numpy.sqrt(h) + attrs.get("epsilon", 1e-6)), h
    return optimizer(d, attrs, 1, step)


@draw.operator(DOMAIN + "Adam", plain=True)
def adam(d):
    attrs = some(d, norm_coefficient=(0, 0.1), norm_coefficient_post=(0, 0.1), epsilon=(1e-6, 0.1), alpha=(0, 0.95),
                 beta=(0, 0.999))

    def step(r, t, x, g, v, h):
        alpha, beta = attrs.get("alpha", numpy.float32(0.9)), attrs.get("beta", numpy.float32(0.999))
        alpha, beta = float(alpha), float(beta)
        v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
        rate = r * numpy.sqrt(1 - beta**t) / (1 - alpha**t) if t > 0 else r
        x = x - rate * v / (numpy.sqrt(h) + attrs.get("epsilon", 1e-6))
        return (1 - attrs.get("norm_coefficient_post", 0)) * x, v, h
    return optimizer(d, attrs, 2, step)


@draw.operator(DOMAIN + "Momentum", plain=True)
def momentum(d):
    attrs = {"norm_coefficient": d.real(0, 0.1), "alpha": d.real(0, 1), "beta": d.real(0, 1),
             "mode": d.choice(["standard", "nesterov"])}

    def step(r, t, x, g, v):
        v = attrs["alpha"] * v + (attrs["beta"] if t > 0 else 1) * g
        return x - r * (g + attrs["alpha"] * v if attrs["mode"] == "nesterov" else v), v
    return optimizer(d, attrs, 1, step)
