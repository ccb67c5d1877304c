"""Random cases of the operators with recurrences."""
import numpy

from draw import Case, operator

PLAIN_FUNCTIONS = ["Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"]
ALPHA = {"LeakyRelu": (0.01, 0.5), "ThresholdedRelu": (0.1, 1.0), "Elu": (0.5, 1.5)}
BOTH = {"Affine": ((0.5, 1.0), (-0.5, 0.5)), "ScaledTanh": ((0.5, 1.5), (0.5, 1.5)), "HardSigmoid": ((0.1, 0.5), (0.2, 0.8))}


def activations(d, count, functions):
    """Names of activations, and parameters of those that take some. If there are several, the first is for gates: bounded, so
    that states do not grow from step to step."""
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


# ONNX Runtime's activations do not propagate every NaN, and it does not support layout 1.
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


@operator("com.microsoft.DynamicQuantizeLSTM", plain=True)
def quantized_lstm(d):
    (x, w, r, b, lens, *states), attrs = recurrent(d, 4, 3, 2, peepholes=True)
    dtype = d.choice([numpy.int8, numpy.uint8])
    values = [x, d.full_range(dtype, w.transpose(0, 2, 1).shape), d.full_range(dtype, r.transpose(0, 2, 1).shape), b, lens,
              *states]
    for weights in values[1:3]:
        shape = [weights.shape[0], weights.shape[2]] if d.chance(0.4) else [weights.shape[0]]
        values.append((numpy.abs(d.array(numpy.float32, shape)) / 2000 + 0.001).astype(numpy.float32))
        # ONNX Runtime has one for the whole direction
        zero = d.full_range(dtype, [shape[0]])
        values.append(numpy.repeat(zero[:, None], shape[1], 1) if len(shape) == 2 else zero)
    if d.chance(0.25):
        attrs["input_forget"] = 1
    # a value on a quantisation boundary may round either way
    return Case(values, attrs, outputs=3, tolerance=(5e-2, 5e-2), constant=(1, 2, 8, 9, 10, 11))


@operator("com.microsoft.LinearAttention", finite=True)
def linear_attention(d):
    dtype = d.choice([numpy.float32, numpy.float32, numpy.float16])
    batch, steps, heads, dk, dv = d.extent(3), d.integer(1, 6), d.extent(3), d.extent(6), d.extent(6)
    queries = heads * d.integer(1, 3)
    rule, window = d.choice(["linear", "gated", "delta", "gated_delta"]), d.integer(1, 4) if d.chance(0.3) else 0

    def packed(columns, low=-1, high=1):
        return d.array(dtype, [batch, steps, columns], low, high)

    state = [batch, heads, dk, dv] if not window else [window, batch, heads, dk, dv]
    gated, delta = "gated" in rule, "delta" in rule
    attrs = {"q_num_heads": queries, "kv_num_heads": heads, "update_rule": rule}
    attrs.update({"scale": d.real(0.2, 2)} if d.chance(0.5) else {})
    attrs.update({"state_window": window} if window else {})
    values = [packed(queries * dk), packed(heads * dk, -0.5, 0.5), packed(heads * dv),
              d.array(dtype, state, -1, 1) if d.chance(0.5) else None,
              packed(heads * (dk if d.chance(0.5) else 1), -1, 0) if gated else None,
              packed(heads if d.chance(0.6) else 1, 0, 1) if delta else None]
    return Case(values, attrs, outputs=2, depth=30)
