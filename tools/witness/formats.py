"""Floating-point formats, exactly: bits to rational numbers and back, with each rounding of PTX."""

from fractions import Fraction
from math import isqrt
from typing import NamedTuple

INFINITY, NOT_A_NUMBER = "infinity", "nan"


class Number(NamedTuple):
    """Sign and magnitude: a Fraction, INFINITY or NOT_A_NUMBER."""

    negative: bool
    size: object

    @property
    def is_nan(self):
        return self.size is NOT_A_NUMBER

    @property
    def is_infinite(self):
        return self.size is INFINITY

    @property
    def is_zero(self):
        return self.size == 0

    @property
    def value(self):
        """The signed number; not of NaNs. Infinities are beyond every format."""
        size = Fraction(2) ** 5000 if self.is_infinite else self.size
        return -size if self.negative else size


NAN = Number(False, NOT_A_NUMBER)


def exactly(value, negative_zero=False):
    """A Number of a rational."""
    return Number(value < 0 or (value == 0 and negative_zero), abs(Fraction(value)))


class Format:
    """A binary format: bits of exponent and fraction; what the greatest exponent means; the bits of its canonical NaN."""

    def __init__(self, name, exponent, fraction, nan=None, infinities=True, width=None, lowest=0):
        self.name, self.exponent, self.fraction, self.nan = name, exponent, fraction, nan
        self.infinities = infinities
        self.precision_below = lowest  # bits below the format's own that its container has (tf32)
        self.width = width or 1 + exponent + fraction
        self.bias = (1 << (exponent - 1)) - 1
        self.least = Fraction(2) ** (1 - self.bias)  # the least normal number
        top = (1 << exponent) - (2 if infinities else 1)
        steps = (1 << (fraction + 1)) - 1
        if not infinities and nan is not None:
            steps -= 1  # all ones are the NaN
        self.greatest = Fraction(steps) * Fraction(2) ** (top - self.bias - fraction)

    @property
    def sign(self):
        return 1 << (self.width - 1)

    def decode(self, bits, flush=False):
        """The number that the bits are; with `flush` zero of its sign for a subnormal number."""
        bits >>= self.precision_below
        negative = bool(bits >> (self.exponent + self.fraction) & 1)
        place, part = bits >> self.fraction & ((1 << self.exponent) - 1), bits & ((1 << self.fraction) - 1)
        if self.infinities and place == (1 << self.exponent) - 1:
            return Number(negative, NOT_A_NUMBER if part else INFINITY)
        if not self.infinities and self.nan is not None and bits & (self.nan | 0) == self.nan:
            return Number(negative, NOT_A_NUMBER)
        if place == 0:
            return Number(negative, Fraction(0) if flush else Fraction(part) * self.least / (1 << self.fraction))
        return Number(negative, (1 + Fraction(part, 1 << self.fraction)) * Fraction(2) ** (place - self.bias))

    def encode(self, number, mode="rn", flush=False, satfinite=False, noise=None):
        """The bits nearest to a number. `noise`: bits added below the last place (`.rs`), and how many."""
        sign = self.sign if number.negative else 0
        if number.is_nan:
            return self.nan
        if number.is_infinite:
            return sign | (self.top(satfinite))
        size = number.size
        if size == 0:
            return sign
        if flush and self.is_tiny(number, mode):
            return sign
        step = self.step(size)
        count, rest = divmod(size, step)
        count = int(count)
        if noise is not None:
            bits, many = noise
            up = rest / step * (1 << many) // 1 + bits >= 1 << many
        else:
            up = rounds_up(mode, number.negative, count, rest, step)
        size = (count + up) * step
        if size > self.greatest:
            away = noise is not None or mode in ("rn", "rna") or mode == ("rm" if number.negative else "rp")
            return sign | (self.top(satfinite) if away else self.pack(self.greatest))
        return sign | self.pack(size)

    def is_tiny(self, number, mode):
        """Whether a result is subnormal: rounded as though the exponent had no bounds (IEEE 754, 7.5: tininess after rounding)."""
        step = Fraction(2) ** (-self.bias - self.fraction)
        if number.size >= self.least:
            return False
        count, rest = divmod(number.size, step)
        return number.size < self.least - step or (int(count) + rounds_up(mode, number.negative, int(count), rest, step)) * step < self.least

    def top(self, satfinite):
        """The bits that what is too great becomes."""
        if satfinite or not self.infinities:
            return self.pack(self.greatest)
        return ((1 << self.exponent) - 1) << (self.fraction + self.precision_below)

    def step(self, size):
        """The distance of neighbours at a number."""
        power = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** power > size:
            power -= 1
        return Fraction(2) ** (max(power, 1 - self.bias) - self.fraction)

    def pack(self, size):
        """The bits of a magnitude of the format."""
        if size < self.least:
            bits = int(size / self.least * (1 << self.fraction))
        else:
            step = self.step(size)
            power = (step * (1 << self.fraction)).numerator.bit_length() - (step * (1 << self.fraction)).denominator.bit_length()
            bits = (power + self.bias) << self.fraction | (int(size / step) - (1 << self.fraction))
        return bits << self.precision_below


def rounds_up(mode, negative, count, rest, step):
    """Whether a magnitude between `count` steps and the next goes up."""
    if rest == 0:
        return False
    if mode in ("rn", "rna"):
        return 2 * rest > step or (2 * rest == step and (mode == "rna" or count % 2 == 1))
    return mode == ("rm" if negative else "rp")


F16 = Format("f16", 5, 10, 0x7FFF)
BF16 = Format("bf16", 8, 7, 0x7FFF)
F32 = Format("f32", 8, 23, 0x7FFFFFFF)
F64 = Format("f64", 11, 52, "nan")
TF32 = Format("tf32", 8, 10, 0x7FFFE000, width=32, lowest=13)
E4M3 = Format("e4m3", 4, 3, 0x7F, infinities=False)
E5M2 = Format("e5m2", 5, 2, 0x7F)
E2M3 = Format("e2m3", 2, 3, infinities=False)
E3M2 = Format("e3m2", 3, 2, infinities=False)
E2M1 = Format("e2m1", 2, 1, infinities=False)


def added(a, b, mode="rn"):
    """a + b; a sum of zero is positive, or negative where rounding goes down, unless both are zeros of one sign."""
    if a.is_nan or b.is_nan or (a.is_infinite and b.is_infinite and a.negative != b.negative):
        return NAN
    if a.is_infinite or b.is_infinite:
        return a if a.is_infinite else b
    total = a.value + b.value
    if total == 0:
        same = a.is_zero and b.is_zero and a.negative == b.negative
        return exactly(0, a.negative if same else mode == "rm")
    return exactly(total)


def negated(a):
    return Number(not a.negative, a.size)


def multiplied(a, b):
    if a.is_nan or b.is_nan or (a.is_infinite and b.is_zero) or (a.is_zero and b.is_infinite):
        return NAN
    negative = a.negative != b.negative
    if a.is_infinite or b.is_infinite:
        return Number(negative, INFINITY)
    return Number(negative, a.size * b.size)


def divided(a, b):
    if a.is_nan or b.is_nan or (a.is_infinite and b.is_infinite) or (a.is_zero and b.is_zero):
        return NAN
    negative = a.negative != b.negative
    if a.is_infinite or b.is_zero:
        return Number(negative, INFINITY)
    return Number(negative, Fraction(0) if b.is_infinite else a.size / b.size)


def root(a):
    """The square root, or a number that is rounded as it would be."""
    if a.is_nan or (a.negative and not a.is_zero):
        return NAN
    if a.is_infinite or a.is_zero:
        return a
    scale = 4**1200
    whole = isqrt(a.size.numerator * scale // a.size.denominator)
    exact = Fraction(whole * whole, scale) == a.size
    return Number(False, Fraction(whole, 2**1200) + (0 if exact else Fraction(1, 2**1201)))


def edges(format):
    """Zeros, subnormal numbers, one and its neighbours, ties, extremes, infinities, NaNs, as bits."""
    one = format.encode(exactly(1))
    step = 1 << format.precision_below
    tops = [format.pack(format.greatest), format.pack(format.greatest) - step]
    sizes = [0, step, ((1 << format.fraction) - 1) * step, (1 << format.fraction) * step, one - step, one, one + step]
    sizes += [format.encode(exactly(x)) for x in (Fraction(1, 2), Fraction(3, 2), Fraction(5, 2), 3, 255)] + tops
    if format.infinities:
        infinity = format.top(False)
        sizes += [infinity, infinity + (1 << (format.fraction - 1)) * step, infinity + step]
    return [bits | sign for bits in sizes for sign in (0, format.sign)]


def near(random, format):
    """A random finite number whose exponent is not far from that of one."""
    exponent = random.randint(max(1, format.bias - 12), format.bias + 12)
    bits = exponent << format.fraction | random.getrandbits(format.fraction)
    return bits << format.precision_below | (format.sign if random.random() < 0.4 else 0)


def pairs(random, format, more=16):
    """Rows of two: each edge with two others, then random ones."""
    some = edges(format)
    rows = [(a, some[(at * 5 + step) % len(some)]) for at, a in enumerate(some) for step in (3, 10)]
    return rows + [(near(random, format), near(random, format)) for _ in range(more)]
