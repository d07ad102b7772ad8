"""PTX 9.4: add, sub, mul, fma of four floats of 8 bits and less, each operand of a format of its own.

The manual's text on NaNs and on results that are too great was not found. Taken here: NaN is 0x7f, as `cvt` makes it; without `.satfinite` what is too great is
infinity, or NaN in `.e4m3`; with it the greatest number, also for infinities.
"""

from fractions import Fraction

from bits import random_of
from formats import E2M1, E2M3, E3M2, E4M3, E5M2, NAN, added, edges, exactly, multiplied, negated
from table import Table

SCRIPT = "quarter.py"
NEEDS = "9.4 sm_100a|sm_103a"
# Each type: format (None: powers of two), bits of an element, bits from one to the next.
TYPES = {
    "e4m3x4": (E4M3, 8, 8),
    "e5m2x4": (E5M2, 8, 8),
    "e2m3x4": (E2M3, 6, 8),
    "e3m2x4": (E3M2, 6, 8),
    "e2m1x4": (E2M1, 4, 4),
    "e2m1p4x4": (E2M1, 4, 8),
    "ue8m0x4": (None, 8, 8),
}
RESULTS = ("e4m3x4", "e5m2x4")
POWERS = [0x7F, 0x80, 0x7E, 0x83, 0x78, 0x00, 0xFE, 0xFF, 0x72, 0x6D]


def number(name, word, at):
    """An element as a Number."""
    format, width, stride = TYPES[name]
    bits = word >> (stride * at) & ((1 << width) - 1)
    if format is not None:
        return format.decode(bits)
    return NAN if bits == 0xFF else exactly(Fraction(2) ** (bits - 127))


def encoded(format, value, satfinite):
    """A result of 8 bits, rounded to nearest."""
    if value.is_nan:
        return 0x7F
    if satfinite:
        return format.encode(value, satfinite=True)
    bits = format.encode(value)
    if format is E4M3 and not value.is_infinite:
        # What rounds to more than the greatest number would be in a format that went on.
        last = format.step(format.greatest)
        return 0x7F if value.size > format.greatest + last / 2 else bits
    return 0x7F if format is E4M3 else bits


OPERATIONS = {
    "add": lambda a, c: added(a, c),
    "sub": lambda a, c: added(a, negated(c)),
    "mul": multiplied,
    "fma": lambda a, b, c: added(multiplied(a, b), c),
}


def four(name, result, types, satfinite):
    """The function of a row."""

    def word(*operands):
        values = [[number(ty, x, at) for ty, x in zip(types, operands, strict=True)] for at in range(4)]
        return sum(encoded(TYPES[result][0], OPERATIONS[name](*numbers), satfinite) << (8 * at) for at, numbers in enumerate(values))

    return word


def words_of(name, count, random):
    """Operands: every edge of the format somewhere, and random elements."""
    format, width, stride = TYPES[name]
    some = POWERS if format is None else edges(format) if width == 8 else list(range(1 << width))
    random.shuffle(some)
    elements = [some[at % len(some)] if at % 3 else random.getrandbits(width) for at in range(4 * count)]
    return [sum(elements[4 * at + part] << (stride * part) for part in range(4)) for at in range(count)]


def kind(name):
    return "b16" if name == "e2m1x4" else "b32"


def table():
    t = Table("half/quarters", SCRIPT)
    for a in TYPES:
        for b in (None, *TYPES):
            random = random_of(f"quarters {a} {b}")
            count = 24 if b is None else 12
            columns = [words_of(a, count, random)] + ([words_of(b, count, random)] if b else []) + [words_of(RESULTS[0], count, random)]
            t.section("9.7.6.1 add, 9.7.6.2 sub (PTX 9.4)" if b is None else "9.7.6.3 mul, 9.7.6.4 fma (PTX 9.4)")
            t.rows(f"a:{kind(a)} {f'b:{kind(b)} ' if b else ''}c:b32", list(zip(*columns)))
            for result in RESULTS:
                for satfinite in (False, True):
                    text = ".satfinite" if satfinite else ""
                    if b is None:
                        for name in ("add", "sub"):
                            codes = [f"{name}{rn}{text}.{result}.{a} d, a, c;" for rn in (".rn", "")]
                            t.form(codes, "d:b32", four(name, result, (a, result), satfinite), needs=NEEDS)
                        continue
                    rn = ".rn" if satfinite else ""
                    product = four("mul", result, (a, b), satfinite)
                    t.form(f"mul{rn}{text}.{result}.{a}.{b} d, a, b;", "d:b32", lambda a, b, c: product(a, b), needs=NEEDS)
                    t.form(f"fma.rn{text}.{result}.{a}.{b} d, a, b, c;", "d:b32", four("fma", result, (a, b, result), satfinite), needs=NEEDS)
    return t


def tables():
    return [table()]
