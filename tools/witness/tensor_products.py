"""`tcgen05.mma`: D = A B + D in tensor memory (section 9.7.16.10 of the PTX manual).

Instruction descriptors are tables 9.7.16.4.2. Where D lies: 9.7.16.10.5 (layouts A to G), where scales lie: 9.7.16.10.7; CUTLASS's `tmem_frg` and
`Sm1xxBlockScaledConfig` say the same. The elements are small, so that all sums are exact.
"""

import random
from fractions import Fraction

from matrix import bits_of, coded, drawn, product
from scaled import SCALES
from table import Table
from tensor_memory import NEEDS, THREADS, WAIT, WITHOUT, Memory, descriptor, given, kernel, registers, sums
from wgmma_layouts import Tile, flipped

SCRIPT = "tensor_products.py"
TYPES = {"f16": 0, "bf16": 1, "tf32": 2, "u8": 0, "s8": 1, "e4m3": 0, "e5m2": 1}
SUMS = {"f16": 0, "f32": 1, "s32": 2}
# Columns where things are: D first, then A, then the scales.
OF_A, OF_SCALES = 32, 48


def instruction(d_kind, a_kind, b_kind, rows, columns, *, across=(0, 0), negated=(0, 0), saturated=0):
    """The descriptor of the kinds without scales."""
    fields = [(3, saturated), (4, SUMS[d_kind]), (7, TYPES[a_kind]), (10, TYPES[b_kind]), (13, negated[0]), (14, negated[1])]
    fields += [(15, across[0]), (16, across[1]), (17, columns >> 3), (24, rows >> 4)]
    return sum(value << at for at, value in fields)


def instruction_scaled(a_type, b_type, rows, columns, scale_kind, byte=0):
    """Of those with scales: the types, the first byte of the scales of A and of B, their format."""
    fields = [(4, byte), (7, a_type), (10, b_type), (17, columns >> 3), (23, int(scale_kind == "ue8m0")), (27, rows >> 7), (29, byte)]
    return sum(value << at for at, value in fields)


# Lane and column of an element of D, by its layout: rows of M, the width that is repeated.
LAYOUTS = {
    "D": lambda row, column, width: (row, column),
    "F": lambda row, column, width: (row // 16 * 32 + row % 16, column),
    "B": lambda row, column, width: (row + 64 * (column >= width // 2), column % (width // 2)),
    "E": lambda row, column, width: (row + 64 * (column >= width // 2), column % (width // 2)),
    "G": lambda row, column, width: (row + 32 * (column // (width // 4)), column % (width // 4)),
}


def start(lane, column):
    """What stands in D before: a whole number."""
    return (lane ^ column) & 31


def before(columns, kind):
    """Writes it."""
    convert = {"f32": "cvt.rn.f32.u32 %x, %w; mov.b32 {0}, %x;", "s32": "mov.b32 {0}, %w;", "f16": "cvt.rn.f16.u32 %mask, %w; mov.b32 {0}, {{%mask, %mask}};"}[kind]
    code = "".join(f"xor.b32 %w, %t, {n}; and.b32 %w, %w, 31; {convert.format(f'%v{n}')}\n" for n in range(columns))
    return code + f"tcgen05.st.sync.aligned.32x32b.x{columns}.b32 [%col], {registers(columns)}; tcgen05.wait::st.sync.aligned;\n"


def whole(columns, kind):
    """Loads a row of D as whole numbers."""
    convert = {"f32": "mov.b32 %x, {0}; cvt.rni.s32.f32 {0}, %x;", "s32": "", "f16": "mov.b32 {{%mask, _}}, {0}; cvt.f32.f16 %x, %mask; cvt.rni.s32.f32 {0}, %x;"}[kind]
    code = f"tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {registers(columns)}, [%col]; tcgen05.wait::ld.sync.aligned;\n"
    return code + "".join(convert.format(f"%v{n}") + "\n" for n in range(columns) if convert)


def program(t, name, kind, shape, kinds, *, layout="D", width=32, across=(0, 0), negated=(0, 0), saturated=0, accumulate=True, in_memory=False, scale=0, disabled=None, group=1, ws=False, need=NEEDS):
    """One product. `in_memory`: A is in tensor memory; `scale`: D is divided by 2 to it; `disabled`: lanes that stay as they are."""
    rows, columns, depth = shape
    a_kind, b_kind, d_kind = kinds
    source = random.Random(name)
    a, b = drawn(rows, depth, a_kind, source, 3), drawn(depth, columns, b_kind, source, 3)
    bits = bits_of(a_kind)
    own_rows, own_columns = rows // group, columns // group
    memories = []
    for rank in range(group):
        memory = Memory()
        lines = a[rank * own_rows : (rank + 1) * own_rows]
        places = [] if in_memory else [memory.add(Tile(coded(lines, a_kind), bits, width, not across[0]))]
        b_lines = flipped(b)[rank * own_columns : (rank + 1) * own_columns]
        places.append(memory.add(Tile(coded(b_lines, b_kind), bits, width, not across[1])))
        memories.append((memory, places, memory.words()))
    memory, places, words = memories[0]
    held = columns // {"D": 1, "F": 1, "B": 2, "E": 2, "G": 4}[layout]
    data = [word for _, _, own in memories for word in own]
    # Of A in tensor memory each lane has a row, its elements beside each other.
    body = ".reg .f32 %x; .reg .b32 %rank, %off<8>;\n"
    if group == 2:
        body += f"mov.u32 %rank, %cluster_ctarank; mad.wide.u32 %from, %rank, {4 * len(words)}, %from; mad.wide.u32 %to, %rank, {4 * THREADS}, %to; setp.ne.u32 %more, %rank, 0; @%more setp.ne.u32 %first, %t, %t;\n"
        body += "setp.eq.u32 %done, %t, 0;\n"
    code = memory.code().replace("@%first mbarrier", "@%done mbarrier") if group == 2 else memory.code()
    body += code + before(held, d_kind)
    if in_memory:
        count = depth * bits // 32
        packed = [int.from_bytes(b"".join(value.to_bytes(bits // 8, "little") for value in row)[4 * n : 4 * n + 4], "little") for row in coded(a, a_kind) for n in range(count)]
        body += f"mad.wide.u32 %p, %t, {4 * count}, %from;\n" + "".join(f"ld.global.b32 %v{n}, [%p+{4 * (len(data) + n)}];\n" for n in range(count))
        body += f"add.u32 %w, %col, {OF_A}; tcgen05.st.sync.aligned.32x32b.x{count}.b32 [%w], {registers(count)}; tcgen05.wait::st.sync.aligned;\n"
        data = data + packed
    sync = "barrier.cluster.arrive; barrier.cluster.wait;" if group == 2 else "bar.sync 0;"
    body += f"tcgen05.fence::before_thread_sync; {sync} tcgen05.fence::after_thread_sync;\n"
    operands = []
    if in_memory:
        body += f"add.u32 %s, %tm, {OF_A};\n"
        operands.append("[%s]")
    else:
        body += descriptor("%da", *places[0])
        operands.append("%da")
    body += descriptor("%db", *places[-1])
    idesc = instruction(d_kind, a_kind, b_kind, rows, columns, across=across, negated=negated, saturated=saturated)
    mask = ""
    if disabled is not None:
        mask = ", {" + ", ".join(f"%off{n}" for n in range(4 * group)) + "}"
        body += "".join(f"mov.b32 %off{n}, {disabled >> 32 * n & 0xFFFFFFFF:#x};\n" for n in range(4 * group))
    scaled = f", {scale}" if scale else ""
    predicate = "%one" if accumulate else "%none"
    instruction_name = f"tcgen05.mma{'.ws' if ws else ''}.cta_group::{group}.kind::{kind}"
    commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%w];" if group == 1 else "mov.b16 %mask, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%w], %mask;"
    body += f"mov.b32 %v0, {idesc:#x};\n@!%first bra ISSUED;\n{instruction_name} [%tm], {operands[0]}, %db, %v0{mask}, {predicate}{scaled};\nmov.u32 %w, bar; {commit}\nISSUED:\n{WAIT}"
    body += whole(held, d_kind)
    if layout == "F":
        body += "setp.ge.u32 %more, %lane, 16;\n" + "".join(f"@%more mov.b32 %v{n}, 0;\n" for n in range(held))
    body += given(held) + (f"{sync}\n" if group == 2 else "")
    sign = (-1) ** sum(negated)
    exact = product([[sign * x for x in row] for row in a], b, [[0] * columns for _ in range(rows)])
    results = []
    for rank in range(group):
        cells = [[start(lane, n) if layout != "F" or lane % 32 < 16 else 0 for n in range(held)] for lane in range(THREADS)]
        for row in range(own_rows):
            for column in range(columns):
                lane, n = LAYOUTS[layout](row, column, columns)
                if disabled is not None and disabled >> lane & 1:
                    continue
                old = Fraction(start(lane, n), 1 << scale) if accumulate else 0
                total = exact[rank * own_rows + row][column] + old
                cells[lane][n] = total if not saturated else max(-(2**31), min(2**31 - 1, total))
        # Rounded to whole numbers as the kernel does.
        results += sums([round(x) for lane in cells for x in lane], held)
    shape_lines = [f"block {THREADS}"] + (["grid 2", "cluster 2"] if group == 2 else [])
    t.program(name, kernel(body, 64, group, memory.shared()), [("small", "b32", data, "b32", results)], shape_lines, need, WITHOUT, runs=True)


def dense(t):
    t.section("9.7.16.10.9.1 tcgen05.mma, 9.7.16.12 tcgen05.commit, 9.7.16.11 tcgen05.fence")
    program(t, "f16, rows of 32 bytes", "f16", (128, 16, 16), ("f16", "f16", "f32"))
    program(t, "f16 to f16, 64 rows", "f16", (64, 8, 16), ("f16", "f16", "f16"), layout="F", width=0)
    program(t, "bf16 along M and N", "f16", (64, 16, 16), ("bf16", "bf16", "f32"), layout="F", across=(1, 1))
    program(t, "tf32, A negated", "tf32", (64, 8, 8), ("tf32", "tf32", "f32"), layout="F", negated=(1, 0))
    program(t, "bytes, saturated", "i8", (64, 8, 32), ("s8", "u8", "s32"), layout="F", saturated=1, need="sm_100a")
    program(t, "8-bit floats, D not read", "f8f6f4", (64, 8, 32), ("e4m3", "e5m2", "f32"), layout="F", accumulate=False)
    program(t, "A in tensor memory", "f16", (128, 16, 16), ("f16", "f16", "f32"), in_memory=True)
    program(t, "D divided", "f16", (64, 8, 16), ("f16", "f16", "f32"), layout="F", scale=1)
    program(t, "lanes that stay", "f16", (128, 16, 16), ("bf16", "bf16", "f32"), disabled=0x80000000_0000FFFF_12345678_00000001)


def pairs(t):
    """The memory of two blocks: each has a half of A's rows and of B's columns."""
    t.section("9.7.16.10.9.1 tcgen05.mma, of two blocks")
    program(t, "two blocks, 256 rows", "f16", (256, 32, 16), ("f16", "f16", "f32"), group=2)
    program(t, "two blocks, 128 rows", "f16", (128, 32, 16), ("f16", "f16", "f32"), group=2, layout="B")


def held_in_place(t):
    t.section("9.7.16.10.9.3 tcgen05.mma.ws")
    program(t, "ws, 32 rows", "f16", (32, 64, 16), ("f16", "f16", "f32"), layout="G", ws=True)
    program(t, "ws, 64 rows", "tf32", (64, 64, 8), ("tf32", "tf32", "f32"), layout="E", ws=True)


# Kind, how many scales for a row, how it is written, their format, depth, types of A and B.
SCALED = [
    ("mxf8f6f4", 1, ".scale_vec::1X", "ue8m0", 32, "e4m3", "e5m2", NEEDS),
    ("mxf8f6f4", 1, "", "ue8m0", 32, "e5m2", "e4m3", NEEDS),
    ("mxf4", 2, ".scale_vec::2X", "ue8m0", 64, "e2m1", "e2m1", NEEDS),
    ("mxf4nvf4", 4, ".scale_vec::4X", "ue4m3", 64, "e2m1", "e2m1", NEEDS),
    ("mxf4nvf4", 2, ".scale_vec::2X", "ue8m0", 64, "e2m1", "e2m1", NEEDS),
]



def scaled(t):
    """Scales: row r's are in lane r % 32 (of each warp's lanes the same), column r / 32, four bytes for the blocks of K."""
    t.section("9.7.16.10.7 block scaling, 9.7.16.10.9.1 tcgen05.mma")
    rows, columns = 128, 16
    for number, (kind, blocks, shown, scale_kind, depth, a_kind, b_kind, need) in enumerate(SCALED):
        source = random.Random(f"tcgen05 {kind} {number}")
        a, b = drawn(rows, depth, a_kind, source, 2), drawn(depth, columns, b_kind, source, 2)
        byte = (2 if blocks == 1 else 0) if number != 4 else 2
        # Elements of four bits two in a byte, the first below.
        bits = lambda lines, kind: coded(lines, kind) if bits_of(kind) == 8 else [[row[n] | row[n + 1] << 4 for n in range(0, depth, 2)] for row in coded(lines, kind)]
        memory = Memory()
        places = [memory.add(Tile(bits(a, a_kind), 8, 32, True)), memory.add(Tile(bits(flipped(b), b_kind), 8, 32, True))]
        words = memory.words()
        table = {lines: [[source.choice(SCALES[scale_kind]) for _ in range(4)] for _ in range(lines)] for lines in (rows, columns)}
        word = lambda lines, line: sum(code << 8 * n for n, (code, _) in enumerate(table[lines][line])) if line < lines else 0
        a_words = [word(rows, lane % 32 + 32 * n) for lane in range(32) for n in range(4)]
        b_words = [word(columns, lane) for lane in range(32)]
        body = ".reg .f32 %x;\n" + memory.code()
        body += f"mad.wide.u32 %p, %lane, 16, %from; ld.global.v4.b32 {registers(4)}, [%p+{4 * len(words)}]; add.u32 %w, %col, {OF_SCALES}; tcgen05.st.sync.aligned.32x32b.x4.b32 [%w], {registers(4)};\n"
        body += f"mad.wide.u32 %p, %lane, 4, %from; ld.global.b32 %v4, [%p+{4 * (len(words) + len(a_words))}]; add.u32 %w, %w, 4; tcgen05.st.sync.aligned.32x32b.x1.b32 [%w], {{%v4}}; tcgen05.wait::st.sync.aligned;\n"
        body += "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n" + descriptor("%da", *places[0]) + descriptor("%db", *places[1])
        types = [TYPES.get(one, 1) for one in (a_kind, b_kind)] if depth == 32 else [1, 1]
        idesc = instruction_scaled(*types, rows, columns, scale_kind, byte)
        body += f"mov.b32 %v0, {idesc:#x}; add.u32 %v1, %tm, {OF_SCALES}; add.u32 %v2, %tm, {OF_SCALES + 4};\n@!%first bra ISSUED;\n"
        body += f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale{shown} [%tm], %da, %db, %v0, [%v1], [%v2], %none;\nmov.u32 %w, bar; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%w];\nISSUED:\n{WAIT}"
        # Multiples of 1/64 as whole numbers.
        body += f"tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {registers(columns)}, [%col]; tcgen05.wait::ld.sync.aligned;\n"
        body += "".join(f"mov.b32 %x, %v{n}; mul.rn.f32 %x, %x, 64.0; cvt.rni.s32.f32 %v{n}, %x;\n" for n in range(columns)) + given(columns)
        span = depth // blocks
        results = []
        for row in range(rows):
            for column in range(columns):
                total = Fraction(0)
                for block in range(blocks):
                    part = sum(a[row][k] * b[k][column] for k in range(block * span, (block + 1) * span))
                    total += part * table[rows][row][byte + block][1] * table[columns][column][byte + block][1]
                results.append(int(total * 64))
        t.program(f"{kind}{shown}.{scale_kind}", kernel(body, 64, 1, memory.shared()), [("small", "b32", words + a_words + b_words, "b32", sums(results, columns))], [f"block {THREADS}"], need, WITHOUT, runs=True)


def tables():
    for name, *parts in (("mma", dense), ("mma_others", held_in_place, pairs), ("mma_scaled", scaled)):
        table = Table(f"tensor/{name}", SCRIPT)
        for part in parts:
            part(table)
        yield table
