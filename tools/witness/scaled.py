"""`mma` with block scales, `mma.sp` with all selectors, and where sums leave their format.

Sections 9.7.14.3 (block scaling), 9.7.14.5 and 9.7.14.6 of the PTX manual. As in `matrix.py` all sums are exact. Where the metadata of
`mma.sp` lies is in figures of 9.7.14.6.2; CUTLASS's `reorder_meta` and `ELayout` say the same.
"""

import random
from fractions import Fraction

import formats
from fragments import LANES, columns_of, rows_of, sums_of
from matrix import FLOATS, bits_of, by_lane, code, container, drawn, kernel, product, vector
from table import Table

SCRIPT = "scaled.py"
# Scales of each format: bits, and the number that they are.
SCALES = {
    "ue8m0": [(125 + n, Fraction(2) ** (n - 2)) for n in range(5)],
    "ue4m3": [(formats.E4M3.encode(formats.exactly(x)), x) for x in (Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3))],
}


def encoded(matrix, kind):
    """The bits of exact numbers."""
    return [[FLOATS[kind].encode(formats.exactly(value)) if isinstance(value, Fraction) else code(kind, value) for value in row] for row in matrix]


def packed(place, matrix, kind, narrow):
    """Fragments of elements; with `narrow` those below a byte stand in bytes."""
    gap, shift = container(kind) if narrow else (bits_of(kind), 0)
    return place.pack([[value << shift for value in row] for row in encoded(matrix, kind)], bits_of(kind), gap)


def gap_of(kind, narrow):
    return container(kind)[0] if narrow else bits_of(kind)


class Scale:
    """A register of four scales in each lane; `thread` and `byte` say which of them count."""

    def __init__(self, kind, lanes_of, source):
        self.lanes_of = lanes_of
        self.chosen = [[source.choice(SCALES[kind]) for _ in range(4)] for _ in range(LANES)]

    def words(self):
        return [sum(bits << 8 * n for n, (bits, _) in enumerate(lane)) for lane in self.chosen]

    def value(self, line, thread, byte):
        """Of a row of A or a column of B."""
        return self.chosen[self.lanes_of(line, thread)][byte][1]


# Two threads of a quad have the scales of a row and of the row eight below; one thread those of a column.
ROW_LANE = lambda row, thread: 4 * (row % 8) + 2 * thread + row // 8
COLUMN_LANE = lambda column, thread: 4 * column + thread


def scaled_product(a, b, c, depth, blocks, scale_a, scale_b, selector):
    byte_a, thread_a, byte_b, thread_b = selector
    span = depth // blocks

    def one(i, j):
        total = Fraction(c[i][j])
        for block in range(blocks):
            part = sum(a[i][k] * b[k][j] for k in range(block * span, (block + 1) * span))
            total += part * scale_a.value(i, thread_a, byte_a + block) * scale_b.value(j, thread_b, byte_b + block)
        return total

    return [[one(i, j) for j in range(8)] for i in range(16)]


def selectors(blocks):
    """First byte and thread for A and for B: all threads, all bytes."""
    bytes_ = {1: [0, 1, 2, 3], 2: [0, 2], 4: [0]}[blocks]
    return [(bytes_[n % len(bytes_)], n // 2 % 2, bytes_[(n + n // 4) % len(bytes_)], n % 4) for n in range(8 if blocks < 4 else 4)]


# Kind, scales in a row and how it is written, type of the scales, depth, types of A and B. The first has all selectors.
DENSE = [
    ("mxf8f6f4", 1, ".scale_vec::1X", "ue8m0", 32, "e4m3", "e5m2"),
    ("mxf8f6f4", 1, "", "ue8m0", 32, "e2m1", "e3m2"),
    ("mxf8f6f4", 1, ".scale_vec::1X", "ue8m0", 32, "e2m3", "e2m1"),
    ("mxf8f6f4", 1, "", "ue8m0", 32, "e3m2", "e4m3"),
    ("mxf8f6f4", 1, "", "ue8m0", 32, "e5m2", "e2m3"),
    ("mxf4", 2, ".scale_vec::2X", "ue8m0", 64, "e2m1", "e2m1"),
    ("mxf4", 2, "", "ue8m0", 64, "e2m1", "e2m1"),
    ("mxf4nvf4", 2, ".scale_vec::2X", "ue8m0", 64, "e2m1", "e2m1"),
    ("mxf4nvf4", 4, ".scale_vec::4X", "ue4m3", 64, "e2m1", "e2m1"),
    ("mxf4nvf4", 4, ".scale_vec::4X", "ue8m0", 64, "e2m1", "e2m1"),
]


def stored(count, source, ordered=True, two=True):
    """Codes of chunks: which two of four elements are there, or which of two."""
    if not two:
        return [source.choice([0b0100, 0b1110]) for _ in range(count)]
    some = [low | high << 2 for low in range(4) for high in range(4) if low < high or (not ordered and low > high)]
    return [source.choice(some) for _ in range(count)]


def spread(row, codes, run, two):
    """A whole row of the stored elements: `run` neighbours for each index."""
    whole = []
    for n, places in enumerate(codes):
        chunk = [0] * (4 * run if two else 2)
        if two:
            for m, place in enumerate((places & 3, places >> 2)):
                chunk[run * place : run * place + run] = row[2 * run * n + run * m : 2 * run * n + run * m + run]
        else:
            chunk[places >> 3] = row[n]
        whole += chunk
    return whole


def place_of(depth, kind, narrow):
    """Lane of the quad and first bit of a chunk's code, for a row (0 or 8) and the selector; how many selectors there are."""
    chunk = {"tf32": 2, "f16": 4, "bf16": 4}.get(kind, 8 if bits_of(kind) == 4 and not narrow else 4)
    count = depth // chunk
    halves = bits_of(kind) >= 16
    if count == 4:
        return count, 4, lambda low, n, selector: (selector, 16 * low + 4 * n)
    if count == 8 and halves:
        return count, 2, lambda low, n, selector: (2 * selector + n // 4, 16 * low + 4 * (n % 4))
    if count == 8:
        return count, 2, lambda low, n, selector: (2 * selector + low, 4 * n)
    return count, 1, lambda low, n, selector: (2 * (n // 8) + low, 4 * (n % 8))


def metadata(depth, kind, narrow, source, ordered=True):
    """The register of each lane, and the whole rows of A by selector as a function of the stored ones."""
    two = kind != "tf32"
    count, choices, place = place_of(depth, kind, narrow)
    run = 2 if bits_of(kind) == 4 and not narrow else 1
    words = [sum(one << 4 * n for n, one in enumerate(stored(8, source, ordered, two))) for _ in range(LANES)]

    def whole(matrix, selector):
        rows = []
        for number, row in enumerate(matrix):
            codes = []
            for n in range(count):
                lane, bit = place(number // 8, n, selector)
                codes.append(words[4 * (number % 8) + lane] >> bit & 15)
            rows.append(spread(row, codes, run, two))
        return rows

    return words, choices, whole


def block_scaled(table):
    source = random.Random(66)
    table.section("9.7.14.3 block scaling of mma, 9.7.14.5 mma")
    for kind, blocks, shown, scale_kind, depth, a_kind, b_kind in DENSE:
        narrow = kind == "mxf8f6f4"
        a_at, b_at, c_at = rows_of(16, depth, 32 // gap_of(a_kind, narrow)), columns_of(depth, 32 // gap_of(b_kind, narrow)), sums_of(16, 1)
        a, b, c = drawn(16, depth, a_kind, source, 3), drawn(depth, 8, b_kind, source, 3), drawn(16, 8, "f32", source, 100)
        scales = Scale(scale_kind, ROW_LANE, source), Scale(scale_kind, COLUMN_LANE, source)
        name = f"mma.sync.aligned.m16n8k{depth}.row.col.kind::{kind}.block_scale{shown}.f32.{a_kind}.{b_kind}.f32.{scale_kind}"
        chosen = selectors(blocks) if shown and (blocks > 1 or a_kind == "e4m3") else [source.choice(selectors(blocks))]
        statement, expected = [], []
        for n, choice in enumerate(chosen):
            registers = "{" + ", ".join(f"%d{4 * n + i}" for i in range(4)) + "}"
            byte_a, thread_a, byte_b, thread_b = choice
            statement.append(f"{name} {registers}, {vector('a', 4)}, {vector('b', 2)}, {vector('c', 4)}, %x0, {{{byte_a}, {thread_a}}}, %x1, {{{byte_b}, {thread_b}}};")
            d = scaled_product(a, b, c, depth, blocks, *scales, choice)
            expected.append(c_at.pack(encoded(d, "f32"), 32))
        parts = [("a", 4), ("b", 2), ("c", 4), ("x", 2)]
        given = by_lane(packed(a_at, a, a_kind, narrow), packed(b_at, b, b_kind, narrow), c_at.pack(encoded(c, "f32"), 32), *(scale.words() for scale in scales))
        table.program(name, kernel(parts, "\n".join(statement), ("d", 4 * len(chosen))), [("small", "b32", given, "b32", by_lane(*expected))], ["block 32"], target_of(blocks, scale_kind))


# Depth and type; each with all selectors, the metadata ordered or not.
SPARSE = [(16, "f16", True), (32, "bf16", False), (8, "tf32", True), (16, "tf32", True), (32, "s8", True), (64, "u8", False), (64, "s4", True), (128, "u4", False), (64, "e4m3", True)]


def sparse_selectors(table):
    source = random.Random(67)
    table.section("9.7.14.6 mma.sp")
    for depth, kind, ordered in SPARSE:
        count = 32 // bits_of(kind)
        a_at, b_at = rows_of(16, depth // 2, count), columns_of(depth, count)
        c_kind = "s32" if kind[0] in "su" else "f32"
        c_at = sums_of(16, 1)
        a, b = drawn(16, depth // 2, kind, source, 3), drawn(depth, 8, kind, source, 3)
        c = [[source.randint(-50, 50) for _ in range(8)] for _ in range(16)]
        words, choices, whole = metadata(depth, kind, False, source, ordered)
        name = f"mma.sp{'::ordered_metadata' if ordered else ''}.sync.aligned.m16n8k{depth}.row.col.{c_kind}.{kind}.{kind}.{c_kind}"
        statement, expected = [], []
        for selector in range(choices):
            registers = "{" + ", ".join(f"%d{4 * selector + i}" for i in range(4)) + "}"
            statement.append(f"{name} {registers}, {vector('a', a_at.registers)}, {vector('b', b_at.registers)}, {vector('c', 4)}, %m0, {selector};")
            expected.append(c_at.pack(encoded(product(whole(a, selector), b, c), c_kind), 32))
        parts = [("a", a_at.registers), ("b", b_at.registers), ("c", 4), ("m", 1)]
        given = by_lane(packed(a_at, a, kind, False), packed(b_at, b, kind, False), c_at.pack(encoded(c, c_kind), 32), words)
        table.program(name, kernel(parts, "\n".join(statement), ("d", 4 * choices)), [("small", "b32", given, "b32", by_lane(*expected))], ["block 32"], "sm_89" if kind == "e4m3" else "sm_80")


# Kind, scales, how they are written, their type, depth, types of A and B, of C and D.
SPARSE_KINDS = [
    ("f8f6f4", 0, "", None, 64, "e2m1", "e5m2", "f32"),
    ("f8f6f4", 0, "", None, 64, "e3m2", "e2m3", "f16"),
    ("mxf8f6f4", 1, ".scale_vec::1X", "ue8m0", 64, "e4m3", "e2m1", "f32"),
    ("mxf8f6f4", 1, "", "ue8m0", 64, "e2m3", "e5m2", "f32"),
    ("mxf4", 2, "", "ue8m0", 128, "e2m1", "e2m1", "f32"),
    ("mxf4nvf4", 2, ".scale_vec::2X", "ue8m0", 128, "e2m1", "e2m1", "f32"),
    ("mxf4nvf4", 4, ".scale_vec::4X", "ue4m3", 128, "e2m1", "e2m1", "f32"),
    ("mxf4nvf4", 4, ".scale_vec::4X", "ue8m0", 128, "e2m1", "e2m1", "f32"),
]


def target_of(blocks, scale_kind):
    """The target, and PTX 9.1 where four powers of two scale a row."""
    return "9.1 sm_120a" if blocks == 4 and scale_kind == "ue8m0" else "sm_120a"



def sparse_kinds(table):
    """Elements below a byte, and scales, with a sparse A."""
    source = random.Random(68)
    table.section("9.7.14.6 mma.sp, 9.7.14.3 block scaling")
    for kind, blocks, shown, scale_kind, depth, a_kind, b_kind, c_kind in SPARSE_KINDS:
        narrow = depth == 64
        a_at, b_at = rows_of(16, depth // 2, 32 // gap_of(a_kind, narrow)), columns_of(depth, 32 // gap_of(b_kind, narrow))
        c_at = sums_of(16, 32 // bits_of(c_kind))
        a, b, c = drawn(16, depth // 2, a_kind, source, 3), drawn(depth, 8, b_kind, source, 3), drawn(16, 8, c_kind, source, 50)
        words, _, whole = metadata(depth, a_kind, narrow, source)
        name = f"mma.sp::ordered_metadata.sync.aligned.m16n8k{depth}.row.col.kind::{kind}{'.block_scale' if blocks else ''}{shown}.{c_kind}.{a_kind}.{b_kind}.{c_kind}"
        parts = [("a", 4), ("b", 4), ("c", c_at.registers), ("m", 1)]
        given = [packed(a_at, a, a_kind, narrow), packed(b_at, b, b_kind, narrow), c_at.pack(encoded(c, c_kind), bits_of(c_kind)), words]
        last, without = "", []
        if blocks:
            name += f".{scale_kind}"
            scales = Scale(scale_kind, ROW_LANE, source), Scale(scale_kind, COLUMN_LANE, source)
            choice = source.choice(selectors(blocks))
            d = scaled_product(whole(a, 0), b, c, depth, blocks, *scales, choice)
            parts.append(("x", 2))
            given += [scale.words() for scale in scales]
            last = f", %x0, {{{choice[0]}, {choice[1]}}}, %x1, {{{choice[2]}, {choice[3]}}}"
            without = [("interpreter", "does not run mma.sp with block scales yet")]
        else:
            d = product(whole(a, 0), b, c)
        statement = f"{name} {vector('d', c_at.registers)}, {vector('a', 4)}, {vector('b', 4)}, {vector('c', c_at.registers)}, %m0, 0{last};"
        expected = c_at.pack(encoded(d, c_kind), bits_of(c_kind))
        table.program(name, kernel(parts, statement, ("d", c_at.registers)), [("small", "b32", by_lane(*given), "b32", expected)], ["block 32"], target_of(blocks, scale_kind), without)


def tables():
    for name, *parts in (("mma_scaled", block_scaled), ("mma_selectors", sparse_selectors), ("mma_sparse_kinds", sparse_kinds)):
        table = Table(f"matrix/{name}", SCRIPT)
        for part in parts:
            part(table)
        yield table
