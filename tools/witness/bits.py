"""Integers of a fixed width, and the operands that every table has: edges and some random ones."""

import random


def mask(width):
    return (1 << width) - 1


def signed(value, width):
    """The two's complement number that the low bits are."""
    value &= mask(width)
    return value - (1 << width) if value >> (width - 1) else value


def number(value, kind):
    """The number that the bits are in `u32`, `s16`…"""
    width = int(kind[1:])
    return signed(value, width) if kind[0] == "s" else value & mask(width)


def clamp(value, kind):
    """The nearest number of the type."""
    width = int(kind[1:])
    low, high = (-(1 << (width - 1)), mask(width - 1)) if kind[0] == "s" else (0, mask(width))
    return min(max(value, low), high)


def edges(width):
    """Zero, one, two, the extremes of signed and unsigned numbers, and patterns."""
    top = 1 << (width - 1)
    return [0, 1, 2, mask(width), mask(width) - 1, top, top - 1, top + 1, 0x5555555555555555 & mask(width)]


def random_of(name):
    """A generator of its own for each table, so that a change of one leaves the others."""
    return random.Random(name)


def anything(random, width):
    """A random number, of few or of many bits."""
    return random.getrandbits(random.randint(1, width))


def pairs(name, widths, count=40):
    """Rows of operands of these widths: an edge against each other edge in turn, then random ones."""
    random = random_of(name)
    rows = []
    for at, first in enumerate(edges(widths[0])):
        for step in range(3):
            others = [edges(width)[(at + step * (k + 1) + (step and k)) % 9] for k, width in enumerate(widths[1:])]
            rows.append((first, *others))
    while len(rows) < count:
        rows.append(tuple(anything(random, width) for width in widths))
    return rows
