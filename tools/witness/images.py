"""Images, and how a texture reads them: section 5.3 of the PTX manual, and of the CUDA C++ Programming Guide the sections on texture memory
(address modes), "Texture Fetching" (filters) and "Cubemap Textures" (faces)."""

import itertools
import random
import struct
from fractions import Fraction
from math import floor

import formats
from table import Between, Either

HALF = Fraction(1, 2)
FACES = 6


class Image:
    """Texels made of a seed, in the order level, layer or face, slice, row, texel, sample."""

    def __init__(self, shape, size, texel, layers=None, levels=1, samples=1, seed=0, values=None):
        """`texel` is such as `f32x4`, `un8x2`; `values` gives a raw number for a component (level, slice, place, number)."""
        self.shape, self.size, self.layers, self.levels, self.samples = shape, size, layers, levels, samples
        self.texel = texel
        kind, channels = texel.split("x")
        self.kind, self.bits = kind.rstrip("0123456789"), int(kind.lstrip("unsf"))
        self.channels = int(channels)
        source = random.Random(f"{texel} {shape} {size} {seed}")
        self.raw = {}
        for place in self.places():
            self.raw[place] = [values(place, n) if values else self.anything(source) for n in range(self.channels)]

    def anything(self, source):
        if self.kind == "f":
            # Integers and halves that every format has, so that the blends of few of them are exact.
            return self.encode(Fraction(source.randint(-120, 120), 2))
        return source.getrandbits(self.bits)

    def encode(self, value):
        """The bits of a component."""
        if self.kind == "f":
            return (formats.F32 if self.bits == 32 else formats.F16).encode(formats.exactly(value))
        return int(value) & ((1 << self.bits) - 1)

    def number(self, bits):
        """What a component means when a texture reads it as a float: unsigned integers span 0 to 1, signed ones -1 to 1."""
        signed = bits - (1 << self.bits) if bits >> (self.bits - 1) else bits
        if self.kind == "f":
            return (formats.F32 if self.bits == 32 else formats.F16).decode(bits).value
        if self.kind == "un":
            return Fraction(bits, (1 << self.bits) - 1)
        return max(Fraction(signed, (1 << (self.bits - 1)) - 1), Fraction(-1))

    def extent(self, level):
        return tuple(max(1, side >> level) for side in self.size)

    @property
    def slices(self):
        return (self.layers or 1) * (FACES if self.shape == "cube" else 1)

    def places(self):
        """Level, layer or face, place, sample; in the order of memory."""
        for level in range(self.levels):
            sides = self.extent(level)
            for piece in range(self.slices):
                for place in itertools.product(*(range(side) for side in reversed(sides))):
                    for sample in range(self.samples):
                        yield level, piece, tuple(reversed(place)), sample

    def data(self):
        """The bytes in memory."""
        step = self.bits // 8
        return b"".join(bits.to_bytes(step, "little") for place in self.places() for bits in self.raw[place])

    def words(self):
        data = self.data()
        data += bytes(-len(data) % 4)
        return [int.from_bytes(data[n : n + 4], "little") for n in range(0, len(data), 4)]

    def line(self, *options):
        """How a table names it."""
        more = [*options]
        more += [f"layers={self.layers}"] if self.layers else []
        more += [f"levels={self.levels}"] if self.levels > 1 else []
        more += [f"samples={self.samples}"] if self.samples > 1 else []
        size = "x".join(str(side) for side in (self.size[:1] if self.shape == "cube" else self.size))
        return f"{self.shape}:{size}:{self.texel}" + (":" + ",".join(more) if more else "")


class Sampler:
    """How a texture is read; `options` are those of a table."""

    def __init__(self, *options):
        self.options = options
        self.linear, self.normalized, self.mip = "linear" in options, "normalized" in options, "mip" in options
        modes = [mode for mode in ("wrap", "mirror", "border") if mode in options]
        self.mode = modes[0] if modes else "clamp"
        # Only normalised coordinates repeat.
        if not self.normalized and self.mode in ("wrap", "mirror"):
            self.mode = "clamp"

    def index(self, i, size):
        """The texel that number `i` means; None is the border."""
        if 0 <= i < size:
            return i
        if self.mode == "wrap":
            return i % size
        if self.mode == "mirror":
            i %= 2 * size
            return min(i, 2 * size - 1 - i)
        return None if self.mode == "border" else min(max(i, 0), size - 1)

    def taps(self, at, size, offset, rounded):
        """Texels of one axis and their weights, of which 8 bits behind the point are kept; `rounded` is floor or ceiling."""
        at = (at * size if self.normalized else at) + offset
        if not self.linear:
            return [(Fraction(1), self.index(floor(at), size))]
        first = floor(at - HALF)
        weight = Fraction(rounded((at - HALF - first) * 256), 256)
        return [(1 - weight, self.index(first, size)), (weight, self.index(first + 1, size))]


def up(value):
    return -floor(-value)


def blend(image, sampler, at, level=0, piece=0, offset=(0, 0, 0), judge=None, sample=0):
    """Of each component the value: a rational, or the least and the greatest where the guide leaves the rounding of weights open."""
    both = []
    for rounded in (floor, up):
        axes = [sampler.taps(x, side, shift, rounded) for x, side, shift in zip(at, image.extent(level), offset)]
        sums = [Fraction(0)] * image.channels
        for taps in itertools.product(*axes):
            weight = Fraction(1)
            for tap in taps:
                weight *= tap[0]
            place = tuple(index for _, index in taps)
            inside = None not in place
            for n in range(image.channels):
                value = image.number(image.raw[level, piece, place, sample][n]) if inside else Fraction(0)
                sums[n] += weight * (judge(value) if judge else value)
        both.append(sums)
    return [low if low == high else (min(low, high), max(low, high)) for low, high in zip(*both)]


def between_levels(image, sampler, level, read):
    """`read(level)` of the level or levels that a level of detail means. The guide says: it is clamped; the nearest, or both weighted."""
    level = min(max(level, Fraction(0)), Fraction(image.levels - 1))
    if not sampler.mip:
        return read(floor(level + HALF))
    first = floor(level)
    weight = level - first
    if not weight:
        return read(first)
    return [(1 - weight) * a + weight * b for a, b in zip(read(first), read(first + 1))]


def face(x, y, z):
    """The face of a cube in this direction, and the place on it from 0 to 1."""
    size = max(abs(x), abs(y), abs(z))
    if abs(x) == size:
        number, s, t = (0, -z, -y) if x >= 0 else (1, z, -y)
    elif abs(y) == size:
        number, s, t = (2, x, z) if y >= 0 else (3, x, -z)
    else:
        number, s, t = (4, x, -y) if z >= 0 else (5, -x, -y)
    return number, ((s / size + 1) / 2, (t / size + 1) / 2)


# How far from the exact result a blend may be that no float is: the guide says nothing of its rounding.
ULPS = 2


def single(value):
    """Bits of the f32 of a rational, or of those near it."""
    if isinstance(value, tuple):
        low, high = (single(end) for end in value)
        return Between(low.low if isinstance(low, Between) else low, high.high if isinstance(high, Between) else high)
    bits = struct.unpack("<I", struct.pack("<f", float(value)))[0]
    if Fraction(struct.unpack("<f", struct.pack("<I", bits))[0]) == value:
        return Either(bits, 0x80000000) if bits == 0 else bits
    low, high = bits - ULPS, bits + ULPS
    return Between(low, high) if value > 0 else Between(high, low)


def single_bits(value):
    """Bits of a coordinate, which has to be a float."""
    bits = struct.unpack("<I", struct.pack("<f", float(value)))[0]
    assert Fraction(struct.unpack("<f", struct.pack("<I", bits))[0]) == Fraction(value), value
    return bits


def integer(image, bits):
    """A component of an integer format in a register of 32 bits."""
    if image.kind == "s" and bits >> (image.bits - 1):
        bits -= 1 << image.bits
    return bits & 0xFFFFFFFF
