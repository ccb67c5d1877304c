"""Random sizes for drawn.py and drawn_chains.py."""
import random

ELEMENTS = 1 << 25  # the most in one tensor


class Extent(int):
    """A drawn size, which a dynamic model leaves open under this name wherever an input's shape has it. `low` and `high`:
    the sizes that may take its place. Arithmetic gives plain numbers, which stay fixed."""

    def __new__(cls, value, name, low, high):
        extent = super().__new__(cls, value)
        extent.name, extent.low, extent.high = name, low, high
        return extent


class Draw:
    """Random sizes, the same for the same seed."""

    def __init__(self, seed):
        self.random, self.sizes = random.Random(seed), 0

    def size(self, low, high):
        """Log-uniform in [low, high]; a multiple of 8 or a power of two half of the time."""
        n = round(low * (high / low) ** self.random.random())
        kind = self.random.random()
        if kind < 0.25:
            n = 1 << (n.bit_length() - 1)
        elif kind < 0.5:
            n = n // 8 * 8
        self.sizes += 1
        return Extent(min(max(n, low), high), f"N{self.sizes}", low, high)

    def pick(self, *values):
        return self.random.choice(values)

    def rows(self, low=1, width=(32, 65536), most=ELEMENTS):
        """The extents of a matrix [n, m]."""
        m = self.size(*width)
        return [self.size(low, max(low, min(65536, most // m))), m]

    def image(self, channels=(3, 512), side=(7, 512), most=ELEMENTS):
        """The extents [n, c, h, w]."""
        c, h = self.size(*channels), self.size(*side)
        w = self.size(max(side[0], h // 2), min(side[1], h * 2))
        return [self.size(1, max(1, min(64, most // (c * h * w)))), c, h, w]


class Families(list):
    """Functions (draw, type) -> (name, inputs, nodes, torch's function, more of Case), one for a kind of cases."""

    def add(self, contraction=False):
        """Decorates such a function. contraction: Case's."""
        def append(function):
            self.append((function, contraction))
            return function
        return append


def text(shape):
    return "x".join(map(str, shape))
