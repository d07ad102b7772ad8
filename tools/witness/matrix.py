"""Matrices: `mma`, `mma.sp`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix` (section 9.7.14 of the PTX manual).

The elements are small integers and the sums exact in every format on the way, so that the order and the precision of the
additions, which the manual leaves open, do not matter.
"""

import random

import formats
from fragments import LANES, Fragment, columns_of, group, rows_of, sums_of
from table import Table

FLOATS = {f.name: f for f in (formats.F16, formats.BF16, formats.F32, formats.F64, formats.TF32, formats.E4M3,
                              formats.E5M2, formats.E2M3, formats.E3M2, formats.E2M1)}  # fmt: skip
SMALL = {"e2m1": [-2, -1, 0, 1, 2, 3, 4], "e2m3": [-3, -2, -1, 0, 1, 2, 3], "e3m2": [-4, -3, -2, 0, 1, 2, 3]}
ABI = ".visible .entry k(.param .u64 in, .param .u64 out)"


def bits_of(kind):
    return FLOATS[kind].width if kind in FLOATS else int(kind[1:])


def code(kind, value):
    """The bits of a small integer."""
    if kind in FLOATS:
        return FLOATS[kind].encode(formats.exactly(value))
    return value & ((1 << int(kind[1:])) - 1)


def draw(kind, source, limit=4):
    """A small integer of the type, its greatest and least now and then."""
    if kind in SMALL:
        return source.choice(SMALL[kind])
    if kind in FLOATS:
        return source.randint(-limit, limit)
    width = int(kind[1:])
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind[0] == "s" else (0, (1 << width) - 1)
    return source.choice([low, high, 0, 1, source.randint(low, high)])


def drawn(rows, columns, kind, source, limit=4):
    return [[draw(kind, source, limit) for _ in range(columns)] for _ in range(rows)]


def product(a, b, c):
    return [[sum(x * y for x, y in zip(row, column)) + c[i][j] for j, column in enumerate(zip(*b))]
            for i, row in enumerate(a)]  # fmt: skip


def coded(matrix, kind):
    return [[code(kind, value) for value in row] for row in matrix]


def vector(name, count):
    return "{" + ", ".join(f"%{name}{n}" for n in range(count)) + "}"


def kernel(parts, statement, results, size=32, more=""):
    """A kernel whose lanes load `parts` (name, registers), execute the statement and store `results`."""
    total = sum(count for _, count in parts)
    step = size // 8
    lines = [f"{ABI} {{", ".reg .b32 %lane, %s, %u; .reg .b64 %from, %to, %p; .reg .pred %t;"]
    lines += [f".reg .b{size} %{name}<{count}>;" for name, count in [*parts, results] if count]
    lines += ["mov.u32 %lane, %tid.x; ld.param.u64 %from, [in]; ld.param.u64 %to, [out];"]
    lines += [f"mad.wide.u32 %from, %lane, {total * step}, %from; mad.wide.u32 %to, %lane, {results[1] * step}, %to;"]
    at = 0
    for name, count in parts:
        lines += [f"ld.global.b{size} %{name}{n}, [%from+{at + n * step}];" for n in range(count)]
        at += count * step
    lines += [more] if more else []
    lines += statement.split("\n")
    lines += [f"st.global.b{size} [%to+{n * step}], %{results[0]}{n};" for n in range(results[1])]
    return "\n".join([*lines, "ret; }"])


def by_lane(*fragments):
    """The registers of several fragments, lane by lane."""
    each = [(words, len(words) // LANES) for words in fragments]
    return [word for lane in range(LANES) for words, count in each for word in words[lane * count : (lane + 1) * count]]


# Shape of A by rows, element types of A, of B, of C and D, depth, what needs it, more of the name.
DENSE = []
for k in (8, 16):
    DENSE += [(16, "f16", "f16", c, d, k, "sm_75" if k == 8 else "sm_80", "") for c in ("f16", "f32") for d in (c,)]
    DENSE += [(16, "bf16", "bf16", "f32", "f32", k, "sm_80", "")]
DENSE += [(16, "tf32", "tf32", "f32", "f32", k, "sm_80", "") for k in (4, 8)]
DENSE += [(8, "f64", "f64", "f64", "f64", 4, "sm_80", "")]
DENSE += [(16, "f64", "f64", "f64", "f64", k, "sm_90", "") for k in (4, 8, 16)]
# Each combination of signs at one depth, some of them saturated.
SIGNS = list(enumerate((a, b) for a in "us" for b in "us"))
END = ("", ".satfinite")
DENSE += [(8, f"{a}8", f"{b}8", "s32", "s32", 16, "sm_75", END[n % 2]) for n, (a, b) in SIGNS]
DENSE += [(8, f"{a}4", f"{b}4", "s32", "s32", 32, "sm_75", END[n // 2]) for n, (a, b) in SIGNS]
DENSE += [(16, f"{a}8", f"{b}8", "s32", "s32", (16, 32)[n % 2], "sm_80", END[(n + n // 2) % 2]) for n, (a, b) in SIGNS]
DENSE += [(16, f"{a}4", f"{b}4", "s32", "s32", (64, 32)[n % 2], "sm_80", END[n // 2]) for n, (a, b) in SIGNS]
E8 = ("e4m3", "e5m2")
DENSE += [(16, a, b, c, c, (16, 32)[n], "sm_89", "") for n, a in enumerate(E8) for b in E8 for c in ("f16", "f32")]
NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
WIDE_F8F6F4 = [
    (16, a, NARROW[(n + step) % 5], c, c, 32, "sm_120a", "kind::f8f6f4")
    for n, a in enumerate(NARROW)
    for step, c in ((0, "f32"), (1, "f16"), (3, "f32"))
]


def container(kind):
    """Bits from one element to the next, and where in them it stands (9.7.14.5.10, `.kind::f8f6f4`: four bits in the middle)."""
    return {"e3m2": (8, 0), "e2m3": (8, 0), "e2m1": (8, 2)}.get(kind, (bits_of(kind), 0))


def placed(matrix, kind, shift):
    return [[value << shift for value in row] for row in coded(matrix, kind)]


def dense(table):
    source = random.Random(60)
    table.section("9.7.14.5 mma")
    for rows, a_kind, b_kind, c_kind, d_kind, depth, needs, more in DENSE + WIDE_F8F6F4:
        wide = a_kind == "f64"
        size = 64 if wide else 32
        (a_gap, a_shift), (b_gap, b_shift) = (container(a_kind), container(b_kind)) if more.startswith("kind") else ((bits_of(a_kind), 0), (bits_of(b_kind), 0))
        a_count, b_count = size // a_gap, size // b_gap
        c_count = size // bits_of(c_kind)
        a_at, b_at, c_at = rows_of(rows, depth, a_count), columns_of(depth, b_count), sums_of(rows, c_count)
        a, b = drawn(rows, depth, a_kind, source, 3), drawn(depth, 8, b_kind, source, 3)
        c = drawn(rows, 8, c_kind, source, 100)
        if c_kind == "s32":
            c = [[source.choice([0, 1, -1, 2**31 - 1, -(2**31), source.randint(-(2**31), 2**31 - 1)]) for _ in row] for row in c]
        d = product(a, b, c)
        if more == ".satfinite":
            d = [[max(-(2**31), min(2**31 - 1, value)) for value in row] for row in d]
        name = f"mma.sync.aligned.m{rows}n8k{depth}.row.col"
        name += f".{more}" if more.startswith("kind") else more
        name += f".{d_kind}.{a_kind}.{b_kind}.{c_kind}"
        parts = [("a", a_at.registers), ("b", b_at.registers), ("c", c_at.registers)]
        statement = f"{name} {vector('d', c_at.registers)}, {vector('a', a_at.registers)}, {vector('b', b_at.registers)}, {vector('c', c_at.registers)};"
        given = by_lane(a_at.pack(placed(a, a_kind, a_shift), bits_of(a_kind), a_gap), b_at.pack(placed(b, b_kind, b_shift), bits_of(b_kind), b_gap), c_at.pack(coded(c, c_kind), bits_of(c_kind)))
        expected = c_at.pack(coded(d, d_kind), bits_of(d_kind))
        kind = f"b{size}"
        table.program(name, kernel(parts, statement, ("d", c_at.registers), size), [("small", kind, given, kind, expected)], ["block 32"], needs)


def bits_products(table):
    source = random.Random(61)
    table.section("9.7.14.5 mma, .b1")
    for rows, depth, needs in ((8, 128, "sm_75"), (16, 128, "sm_80"), (16, 256, "sm_80")):
        for op in ("xor", "and"):
            a_at, b_at, c_at = rows_of(rows, depth, 32), columns_of(depth, 32), sums_of(rows, 1)
            a, b = drawn(rows, depth, "u1", source), drawn(depth, 8, "u1", source)
            c = [[source.choice([0, 7, 2**31 - 1, -5]) for _ in range(8)] for _ in range(rows)]
            combine = (lambda x, y: x ^ y) if op == "xor" else (lambda x, y: x & y)
            d = [[sum(combine(x, y) for x, y in zip(row, column)) + c[i][j] for j, column in enumerate(zip(*b))] for i, row in enumerate(a)]
            name = f"mma.sync.aligned.m{rows}n8k{depth}.row.col.s32.b1.b1.s32.{op}.popc"
            parts = [("a", a_at.registers), ("b", b_at.registers), ("c", c_at.registers)]
            statement = f"{name} {vector('d', c_at.registers)}, {vector('a', a_at.registers)}, {vector('b', b_at.registers)}, {vector('c', c_at.registers)};"
            given = by_lane(a_at.pack(a, 1), b_at.pack(b, 1), c_at.pack(coded(c, "s32"), 32))
            table.program(name, kernel(parts, statement, ("d", c_at.registers)), [("small", "b32", given, "b32", c_at.pack(coded(d, "s32"), 32))], ["block 32"], "sm_80" if op == "and" else needs)


def quads(table):
    """`mma.m8n8k4` of halves: four products, each of the lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3."""
    source = random.Random(62)
    table.section("9.7.14.5.1 mma.m8n8k4 with .f16")
    high = lambda lane: 4 * (lane >= 16)
    along = lambda lane, register: [(lane % 4 + high(lane), 2 * register + i) for i in range(2)]
    across = lambda lane, register: [(2 * register + i + high(lane), lane % 4) for i in range(2)]
    quarter = lambda lane: lane % 16 // 4
    for a_order in ("row", "col"):
        for b_order in ("row", "col"):
            for c_kind in ("f16", "f32"):
                matrices = [(drawn(8, 4, "f16", source, 3), drawn(4, 8, "f16", source, 3), drawn(8, 8, c_kind, source, 20)) for _ in range(4)]
                results = [product(*one) for one in matrices]
                a_place = along if a_order == "row" else across
                flipped = lambda place: lambda lane, register: [(column, row) for row, column in place(lane, register)]
                b_place = flipped(along) if b_order == "col" else flipped(across)
                if c_kind == "f16":
                    c_place, count, registers = (lambda lane, register: [(lane % 4 + high(lane), 2 * register + i) for i in range(2)]), 2, 4
                else:
                    c_place, count, registers = (lambda lane, i: [((lane & 1) + (i & 2) + high(lane), (i & 4) + (lane & 2) + (i & 1))]), 1, 8
                pick = lambda which, place, kind, registers: [
                    word for lane in range(LANES) for word in
                    [sum(code(kind, (matrices[quarter(lane)][which] if which < 3 else results[quarter(lane)])[r][c]) << (bits_of(kind) * n)
                         for n, (r, c) in enumerate(place(lane, register))) for register in range(registers)]]  # fmt: skip
                name = f"mma.sync.aligned.m8n8k4.{a_order}.{b_order}.{c_kind}.f16.f16.{c_kind}"
                parts = [("a", 2), ("b", 2), ("c", registers)]
                statement = f"{name} {vector('d', registers)}, {vector('a', 2)}, {vector('b', 2)}, {vector('c', registers)};"
                given = by_lane(pick(0, a_place, "f16", 2), pick(1, b_place, "f16", 2), pick(2, c_place, c_kind, registers))
                table.program(name, kernel(parts, statement, ("d", registers)), [("small", "b32", given, "b32", pick(3, c_place, c_kind, registers))], ["block 32"], "sm_75")


# Depth of B and type.
SPARSE = [(16, "f16"), (32, "f16"), (16, "bf16"), (32, "bf16"), (8, "tf32"), (16, "tf32"), (32, "s8"), (64, "s8"), (32, "u8"), (64, "u8"), (64, "s4"), (128, "s4"), (64, "u4"), (128, "u4"), (64, "e4m3"), (64, "e5m2")]


def sparse(table):
    """`mma.sp` whose metadata is the same everywhere, so that it does not matter which lane's counts."""
    source = random.Random(63)
    table.section("9.7.14.6 mma.sp")
    for depth, kind in SPARSE:
        width = bits_of(kind)
        count = 32 // width
        a_at, b_at = rows_of(16, depth // 2, count), columns_of(depth, count)
        sums = ["s32"] if kind[0] in "su" else ["f32", "f16"] if kind == "f16" else ["f32"]
        # Two of four elements; of tf32 one of two, of four bits two pairs of four pairs.
        for low, high in ((1, 3), (0, 2)) if kind != "tf32" else ((0, 1), (2, 3)):
            for c_kind in sums:
                stored = drawn(16, depth // 2, kind, source, 3)
                a = [[0] * depth for _ in range(16)]
                for row in range(16):
                    if kind == "tf32":
                        # Indices 0b0100 and 0b1110 name the first and the second element of each pair.
                        for n in range(depth // 2):
                            a[row][2 * n + (0 if (low, high) == (0, 1) else 1)] = stored[row][n]
                        continue
                    run = 2 if width == 4 else 1
                    for quad in range(depth // (4 * run)):
                        for n, place in enumerate((low, high)):
                            for i in range(run):
                                a[row][4 * run * quad + run * place + i] = stored[row][2 * run * quad + run * n + i]
                b = drawn(depth, 8, kind, source, 3)
                c_at = sums_of(16, 32 // bits_of(c_kind))
                c = drawn(16, 8, c_kind, source, 50) if c_kind != "s32" else [[source.randint(-1000, 1000) for _ in range(8)] for _ in range(16)]
                metadata = sum((low | high << 2) << (4 * n) for n in range(8))
                needs = "sm_89" if kind in E8 else "sm_80"
                name = f"mma.sp::ordered_metadata.sync.aligned.m16n8k{depth}.row.col.{c_kind}.{kind}.{kind}.{c_kind}"
                parts = [("a", a_at.registers), ("b", b_at.registers), ("c", c_at.registers)]
                registers = c_at.registers
                statement = f"mov.u32 %s, {metadata:#x};\n{name} {vector('d', registers)}, {vector('a', a_at.registers)}, {vector('b', b_at.registers)}, {vector('c', registers)}, %s, 0x0;"
                given = by_lane(a_at.pack(coded(stored, kind), width), b_at.pack(coded(b, kind), width), c_at.pack(coded(c, c_kind), bits_of(c_kind)))
                expected = c_at.pack(coded(product(a, b, c), c_kind), bits_of(c_kind))
                table.program(f"{name} {low}{high}", kernel(parts, statement, ("d", registers)), [("small", "b32", given, "b32", expected)], ["block 32"], needs)


def moves(table):
    """`ldmatrix`, `stmatrix`, `movmatrix`: rows of 16 bytes that lanes name."""
    source = random.Random(64)
    table.section("9.7.14.5.15 ldmatrix")
    memory = [source.randrange(256) for _ in range(512)]
    words = lambda data: [int.from_bytes(bytes(data[n : n + 4]), "little") for n in range(0, len(data), 4)]
    place = ".shared .align 128 .b8 tile[512];\n"
    fill = "mov.u32 %s, tile; mad.lo.u32 %s, %lane, 16, %s; st.shared.v4.b32 [%s], {%a0, %a1, %a2, %a3}; bar.warp.sync -1;"
    # Lane n gives the address of the row 16 n; rows of matrix m are those of lanes 8 m on, of 16 rows 16 m on.
    row = lambda n: memory[16 * n : 16 * n + 16]
    narrow = lambda n, bits: [int.from_bytes(bytes(row(n)), "little") >> (bits * i) & ((1 << bits) - 1) for i in range(16)]
    cases = []
    for count in (1, 2, 4):
        cases += [(f"m8n8.x{count}.shared.b16", count, "sm_75", lambda lane, r, b: row(8 * r + lane // 4)[4 * (lane % 4) + b])]
        cases += [(f"m8n8.x{count}.trans.shared.b16", count, "sm_75", lambda lane, r, b: row(8 * r + 2 * (lane % 4) + b // 2)[2 * (lane // 4) + b % 2])]
        for name, bits in (("b6x16_p32", 6), ("b4x16_p64", 4)):
            cases += [(f"m8n16.x{count}.shared.b8x16.{name}", count, "sm_100a|sm_120a", lambda lane, r, b, bits=bits: narrow(8 * r + lane // 4, bits)[4 * (lane % 4) + b])]
    # PTX 9.4: rows of eight bytes without padding; elements keep their sign.
    signed = lambda n, i: (memory[8 * n + i // 2] >> (4 * (i % 2)) & 0xF ^ 8) - 8 & 0xFF
    for count in (1, 2, 4):
        cases += [(f"m8n16.x{count}.shared.s8.s4", count, "9.4 sm_90a|sm_100f|sm_120f", lambda lane, r, b: signed(8 * r + lane // 4, 4 * (lane % 4) + b))]
    for count in (1, 2):
        for name, bits in (("b8", 8), ("b8x16.b6x16_p32", 6), ("b8x16.b4x16_p64", 4)):
            cases += [(f"m16n16.x{count}.trans.shared.{name}", 2 * count, "sm_100a|sm_120a", lambda lane, r, b, bits=bits: narrow(16 * (r // 2) + 4 * (lane % 4) + b, bits)[lane // 4 + 8 * (r % 2)])]
    for name, registers, needs, at in cases:
        expected = [sum(at(lane, r, b) << (8 * b) for b in range(4)) for lane in range(LANES) for r in range(registers)]
        stride = "mov.u32 %s, tile; mad.lo.u32 %s, %lane, 8, %s;\n" if name.endswith("s4") else ""
        statement = f"{fill}\n{stride}ldmatrix.sync.aligned.{name} {vector('d', registers)}, [%s];"
        table.program(f"ldmatrix.{name}", place + kernel([("a", 4)], statement, ("d", registers)), [("bytes", "b32", words(memory), "b32", expected)], ["block 32"], needs)
    table.section("9.7.14.5.16 stmatrix")
    stored = [(f"m8n8.x{count}{trans}.shared.b16", count, "sm_90", at) for count in (1, 2, 4) for trans, at in (("", lambda lane, r, b: (8 * r + lane // 4, 4 * (lane % 4) + b)), (".trans", lambda lane, r, b: (8 * r + 2 * (lane % 4) + b // 2, 2 * (lane // 4) + b % 2)))]
    stored += [(f"m16n8.x{count}.trans.shared.b8", count, "sm_100a|sm_120a", lambda lane, r, b: (8 * r + 2 * (lane % 4) + b % 2, lane // 4 + 8 * (b // 2))) for count in (1, 2, 4)]
    for name, registers, needs, at in stored:
        result = [0] * 512
        values = [source.randrange(1 << 32) for _ in range(LANES * registers)]
        for lane in range(LANES):
            for r in range(registers):
                for b in range(4):
                    to, column = at(lane, r, b)
                    result[16 * to + column] = values[lane * registers + r] >> (8 * b) & 255
        clear = "mov.b32 %u, 0; mov.u32 %s, tile; mad.lo.u32 %s, %lane, 16, %s; st.shared.v4.b32 [%s], {%u, %u, %u, %u}; bar.warp.sync -1;"
        statement = f"{clear}\nstmatrix.sync.aligned.{name} [%s], {vector('a', registers)};\nbar.warp.sync -1; ld.shared.v4.b32 {vector('d', 4)}, [%s];"
        table.program(f"stmatrix.{name}", place + kernel([("a", registers)], statement, ("d", 4)), [("words", "b32", values, "b32", words(result))], ["block 32"], needs)
    table.section("9.7.14.5.17 movmatrix")
    halves = [[source.randrange(1 << 16) for _ in range(8)] for _ in range(8)]
    packed = lambda matrix: [matrix[lane // 4][2 * (lane % 4)] | matrix[lane // 4][2 * (lane % 4) + 1] << 16 for lane in range(LANES)]
    flipped = [list(column) for column in zip(*halves)]
    table.program("movmatrix", kernel([("a", 1)], "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;", ("d", 1)), [("halves", "b32", packed(halves), "b32", packed(flipped))], ["block 32"], "sm_75")


def tables():
    for name, *parts in (("mma", dense), ("mma_narrow", bits_products, quads), ("mma_sparse", sparse), ("moves", moves)):
        table = Table(f"matrix/{name}", "matrix.py")
        for part in parts:
            part(table)
        yield table
