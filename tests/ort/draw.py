"""Random choices for test cases, and the table of generators: one function per family of operators.

A generator is `def softmax(d): ... return Case(...)`, registered with @operator("Softmax"), or with a domain in front
("com.microsoft.Gelu"). It reads d.op and d.opset and draws everything else from `d`. It need not avoid what ONNX or ONNX
Runtime refuse: such a draw is repeated. ONNX Runtime's own operators have no schema here: d.schema is None. An operator
with graphs returns a Model.

Of the draws of an operator some have a flavour, which Draw itself sees to: DEGENERATE ones draw axes of one element and
empty axes, SPECIAL ones strew NaN, infinities and both zeros into arrays of floats. A generator turns that off where a
value would have no defined meaning: d.array(..., finite=True) for one array (nan=False: infinities only), d.shape(...,
empty=None) for one shape, and @operator(..., finite=True) or plain=True for all of the operator, with a comment that
says what ONNX Runtime does there."""
import dataclasses

import ml_dtypes
import numpy
import onnx

NUMPY = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(double)": numpy.float64,
         "tensor(int8)": numpy.int8, "tensor(int16)": numpy.int16, "tensor(int32)": numpy.int32,
         "tensor(int64)": numpy.int64, "tensor(uint8)": numpy.uint8, "tensor(uint16)": numpy.uint16,
         "tensor(uint32)": numpy.uint32, "tensor(uint64)": numpy.uint64, "tensor(bool)": numpy.bool_}
# Types that NumPy lacks: Draw.types() never returns them, but a generator can ask for them.
NARROW = {"tensor(int4)": ml_dtypes.int4, "tensor(uint4)": ml_dtypes.uint4, "tensor(int2)": ml_dtypes.int2,
          "tensor(uint2)": ml_dtypes.uint2}
POWER = ml_dtypes.float8_e8m0fnu
FLOATS = (numpy.float32, numpy.float16, numpy.float64)
GENERATORS = {}
PLAIN = set()   # operators without flavours
FINITE = set()  # operators without special values
TIMES = {}      # number of cases, as a multiple of the others'
ORDINARY, DEGENERATE, SPECIAL = "ordinary", "degenerate", "special"
STREWN = (numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0)


@dataclasses.dataclass
class Case:
    inputs: list                 # arrays; None: an optional input left out
    attrs: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    constant: tuple = ()         # inputs that are initializers
    depth: int = 1               # how many terms an output element sums: widens the tolerance
    tolerance: tuple = None      # (rtol, atol) instead of the usual ones
    version: int = 1             # of the operator's domain, unless that is ONNX's own
    results: list = None         # the expected outputs, for operators that ONNX Runtime lacks
    domain: str = None           # the node's, if it differs from the one in the operator's name


@dataclasses.dataclass
class Model(Case):
    """A whole graph, for operators that a single node does not test. Inputs are x0, x1 ..., outputs y0,
    y1 ...; extents of inputs that are equal have one name."""
    nodes: list = dataclasses.field(default_factory=list)  # NodeProtos
    functions: list = dataclasses.field(default_factory=list)
    domains: tuple = ()          # of the functions
    fixed: bool = False          # extents have no names
    shapes: list = None          # of each input, with names; else named after their values
    again: list = dataclasses.field(default_factory=list)  # further lists of inputs for the same model


def has_schema(op):
    """True if ONNX itself has the operator, named with its domain."""
    return "." not in op and onnx.defs.has(op)


def operator(*names, plain=False, finite=False, times=1):
    """Registers a generator for operators. `plain`: no case is degenerate or has special values; `finite`: none has special
    values. `times`: number of cases, as a multiple of the others'."""
    def register(generate):
        for name in names:
            GENERATORS[name] = generate
            TIMES[name] = times
        PLAIN.update(names if plain else ())
        FINITE.update(names if finite else ())
        return generate
    return register


class Draw:
    def __init__(self, op, opset, seed, flavour=ORDINARY):
        self.domain, _, self.op = op.rpartition(".")
        self.opset, self.flavour = opset, flavour
        self.rng = numpy.random.default_rng(seed)
        self.schema = onnx.defs.get_schema(self.op, opset, "") if has_schema(op) else None

    def integer(self, low, high):
        """Uniform in [low, high]."""
        return int(self.rng.integers(low, high + 1))

    def real(self, low, high):
        return float(numpy.float32(self.rng.uniform(low, high)))

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def choice(self, options):
        return options[self.integer(0, len(options) - 1)]

    def some(self, low, high, count):
        return [self.integer(low, high) for _ in range(count)]

    def extent(self, largest=7):
        return 1 if self.chance(0.5 if self.flavour == DEGENERATE else 0.15) else self.integer(2, largest)

    def shape(self, low=1, high=4, largest=7, empty=0.06):
        """A shape of a rank in [low, high]; sometimes with an empty axis. `empty` None: never."""
        shape = [self.extent(largest) for _ in range(self.integer(low, high))]
        if self.flavour == DEGENERATE and empty is not None:
            empty = 0.4
        if shape and empty and self.chance(empty):
            shape[self.integer(0, len(shape) - 1)] = 0
        return shape

    def axis(self, rank):
        """An axis, counted from either end."""
        return self.integer(-rank, rank - 1)

    def axes(self, rank, least=0):
        """Different axes in any order, each counted from either end."""
        picked = self.rng.permutation(rank)[:self.integer(min(least, rank), rank)]
        return [int(axis) - (rank if self.chance(0.3) else 0) for axis in picked]

    def allowed(self, index):
        wanted = self.schema.inputs[min(index, len(self.schema.inputs) - 1)].type_str
        for constraint in self.schema.type_constraints:
            if constraint.type_param_str == wanted:
                return constraint.allowed_type_strs
        return [wanted]

    def types(self, index=0):
        """The numpy types that the operator's input `index` may have."""
        allowed = self.allowed(index)
        return [NUMPY[t] for t in NUMPY if t in allowed]

    def narrow(self, index=0):
        """The integers narrower than a byte that the operator's input `index` may have; none in old versions."""
        allowed = self.allowed(index) if self.schema else list(NARROW)[:2]
        return [NARROW[t] for t in NARROW if t in allowed]

    def dtype(self, index=0, among=None):
        """A type of input `index`: half of the time f32, if that is allowed."""
        types = [t for t in self.types(index) if among is None or t in among]
        return numpy.float32 if numpy.float32 in types and self.chance(0.5) else self.choice(types)

    def array(self, dtype, shape, low=-5, high=5, special=(), finite=False, nan=True):
        """Uniform values in [low, high]; floats include some `special` values. `finite`: none; `nan` False: no NaN unless it
        is in `special`."""
        dtype = numpy.dtype(dtype)
        if dtype == numpy.bool_:
            return numpy.asarray(self.rng.random(shape) < 0.5)
        if is_integer(dtype):
            least, most = limits(dtype)
            return numpy.asarray(self.rng.integers(max(low, least), min(high, most), shape, endpoint=True)).astype(dtype)
        values = self.rng.uniform(low, high, shape).astype(dtype)
        if self.flavour == SPECIAL and not special and not finite:
            special = STREWN if nan else STREWN[1:]
        if special:
            strewn = self.rng.random(shape) < 0.1
            values = numpy.where(strewn, self.rng.choice(numpy.array(special, dtype), shape), values)
        return numpy.asarray(values, dtype)

    def full_range(self, dtype, shape):
        """All values of an integer type."""
        if dtype in NARROW.values():
            return numpy.asarray(self.rng.integers(*limits(dtype), shape, endpoint=True)).astype(dtype)
        return numpy.asarray(self.rng.integers(*limits(dtype), shape, dtype=dtype, endpoint=True))

    def shrunk(self, shape):
        """A shape that broadcasts to `shape`: some axes 1, some leading axes missing."""
        kept = [1 if self.chance(0.3) else extent for extent in shape]
        return kept[self.integer(0, len(kept)):] if self.chance(0.4) else kept


def is_integer(dtype):
    return numpy.dtype(dtype).kind in "iu" or numpy.dtype(dtype) in [numpy.dtype(t) for t in NARROW.values()]


def limits(dtype):
    """The least and the greatest number of an integer type."""
    info = ml_dtypes.iinfo(dtype) if numpy.dtype(dtype).kind == "V" else numpy.iinfo(dtype)
    return int(info.min), int(info.max)


def i64(values):
    return numpy.array(values, numpy.int64)
