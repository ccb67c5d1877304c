"""Random cases of the operators with recurrences."""
import numpy

from draw import Case, operator

PLAIN_FUNCTIONS = ["Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"]
ALPHA = {"LeakyRelu": (0.01, 0.5), "ThresholdedRelu": (0.1, 1.0), "Elu": (0.5, 1.5)}
BOTH = {"Affine": ((0.5, 1.0), (-0.5, 0.5)), "ScaledTanh": ((0.5, 1.5), (0.5, 1.5)), "HardSigmoid": ((0.1, 0.5), (0.2, 0.8))}


def activations(d, count, functions):
    """Names, and the numbers of those that take some. Where there are several, the first is that of gates: bounded, so that
    states do not grow from step to step."""
    names, alpha, beta = [], [], []
    for number in range(count):
        name = d.choice(PLAIN_FUNCTIONS + list(ALPHA) + list(BOTH)) if d.chance(0.6) else d.choice(["Sigmoid", "Tanh"])
        if functions > 1 and number % functions == 0:
            name = d.choice(["Sigmoid", "Tanh", "HardSigmoid", "Softsign"])
        names.append(name)
        if name in ALPHA:
            alpha.append(d.real(*ALPHA[name]))
        if name in BOTH:
            alpha.append(d.real(*BOTH[name][0]))
            beta.append(d.real(*BOTH[name][1]))
    attrs = {"activations": names}
    attrs.update({"activation_alpha": alpha} if alpha else {})
    attrs.update({"activation_beta": beta} if beta else {})
    return attrs


def small(d, shape):
    """Weights that do not let a step's error grow."""
    return (d.array(numpy.float32, shape, finite=True) / numpy.float32(max(shape[-1], 1))).astype(numpy.float32)


def recurrent(d, gates, functions, states, peepholes=False):
    steps, batch, inputs, hidden = d.integer(1, 6), d.extent(4), d.extent(6), d.extent(9)
    attrs = {"hidden_size": hidden}
    direction = d.choice(["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    if direction != "forward" or d.chance(0.3):
        attrs["direction"] = direction
    if d.chance(0.5):
        attrs.update(activations(d, functions * directions, functions))
    if d.chance(0.2):
        attrs["clip"] = d.real(0.1, 2)
    lens = numpy.array([d.integer(1, steps) for _ in range(batch)], numpy.int32) if d.chance(0.5) else None
    values = [d.array(numpy.float32, [steps, batch, inputs], finite=True),
              small(d, [directions, gates * hidden, inputs]), small(d, [directions, gates * hidden, hidden]),
              small(d, [directions, 2 * gates * hidden]) if d.chance(0.6) else None, lens]
    values += [d.array(numpy.float32, [directions, batch, hidden], finite=True) if d.chance(0.5) else None
               for _ in range(states)]
    if peepholes:
        values.append(small(d, [directions, 3 * hidden]) if d.chance(0.5) else None)
    return values, attrs


# ONNX Runtime's activations do not hand on every NaN, and it does not run layout 1.
@operator("RNN", plain=True)
def rnn(d):
    values, attrs = recurrent(d, 1, 1, 1)
    return Case(values, attrs, outputs=2, depth=10, constant=(1, 2, 3) if d.chance(0.5) else ())


@operator("GRU", plain=True, times=2)
def gru(d):
    values, attrs = recurrent(d, 3, 2, 1)
    if d.chance(0.5):
        attrs["linear_before_reset"] = 1
    return Case(values, attrs, outputs=2, depth=10, constant=(1, 2, 3) if d.chance(0.5) else ())


@operator("LSTM", plain=True, times=2)
def lstm(d):
    values, attrs = recurrent(d, 4, 3, 2, peepholes=True)
    if d.chance(0.25):
        attrs["input_forget"] = 1
    return Case(values, attrs, outputs=3, depth=10, constant=(1, 2, 3, 7) if d.chance(0.5) else ())


def matrices(d, dtype, dominant):
    """Square matrices; `dominant`: far from singular."""
    n = d.extent(7)
    x = d.array(dtype, [*d.shape(0, 2, 3), n, n], -2, 2)
    return (x + (numpy.eye(n) * 3 * n if dominant else 0)).astype(dtype)


# A NaN as a pivot: every element that it reaches is one, and which are depends on the order of rows.
@operator("Det", finite=True)
def det(d):
    x = matrices(d, d.dtype(), d.chance(0.5))
    size = float(numpy.abs(numpy.linalg.det(x.astype(numpy.float64))).max(initial=1))
    return Case([x], tolerance=(2e-3, 1e-4 * size))


@operator("com.microsoft.Inverse", finite=True)
def inverse(d):
    dtype = d.choice([numpy.float32, numpy.float32, numpy.float64, numpy.float16])
    return Case([matrices(d, dtype, True)], depth=20)
