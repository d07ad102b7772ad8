"""`tcgen05`: tensor memory (section 9.7.16 of the PTX manual): how loads and stores lay it out, copies into it, products in it.

Fragments of `tcgen05.ld` and the places of D in tensor memory are in figures of 9.7.16.2.3 and 9.7.16.10.5; CUTLASS's `Copy_Traits` of
`SM100_TMEM_LOAD_*` and its `tmem_frg` say the same in formulas. Descriptors: 9.7.16.4.
"""

from bits import random_of
from matrix import ABI
from table import Either, Table
from wgmma_layouts import Tile

SCRIPT = "tensor_memory.py"
WITHOUT = [("interpreter", "does not run tcgen05 yet")]
NEEDS = "sm_100a|sm_103a"
THREADS = 128
# What the descriptor's three highest bits say of how many bytes of a row are swizzled.
SWIZZLES = {0: 0, 128: 2, 64: 4, 32: 6}

HEAD = f"""{ABI}
{{
.reg .b32 %t, %lane, %warp, %w, %s, %tm, %col, %v<34>; .reg .b64 %from, %to, %p, %da, %db, %tile; .reg .pred %first, %one, %none, %more, %done; .reg .b16 %mask;
ld.param.u64 %from, [in]; ld.param.u64 %to, [out]; mov.u32 %t, %tid.x; and.b32 %lane, %t, 31; shr.u32 %warp, %t, 5;
setp.eq.u32 %first, %t, 0; setp.eq.u32 %one, %t, %t; setp.ne.u32 %none, %t, %t; setp.ne.u32 %more, %warp, 0;
@%more bra RESERVED;
mov.u32 %s, place; tcgen05.alloc.cta_group::GROUP.sync.aligned.shared::cta.b32 [%s], COLUMNS; tcgen05.relinquish_alloc_permit.cta_group::GROUP.sync.aligned;
RESERVED:
tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
ld.shared.b32 %tm, [place]; shl.b32 %w, %warp, 21; add.u32 %col, %tm, %w;
"""
TAIL = """bar.sync 0;
setp.ne.u32 %more, %warp, 0;
@%more bra FREED;
tcgen05.dealloc.cta_group::GROUP.sync.aligned.b32 %tm, COLUMNS;
FREED:
ret;
}"""


def kernel(body, columns=32, group=1, shared=""):
    variables = f".shared .align 8 .b64 bar; .shared .align 4 .b32 place; {shared}\n"
    return (variables + HEAD + body + TAIL).replace("GROUP", str(group)).replace("COLUMNS", str(columns))


def given(count):
    """Each thread gives the sum of its registers, the n-th times 2 n + 1."""
    code = "mov.u32 %s, 0;\n" + "".join(f"mad.lo.u32 %s, %v{n}, {2 * n + 1}, %s;\n" for n in range(count))
    return code + "mad.wide.u32 %to, %t, 4, %to; st.global.b32 [%to], %s;\n"


def sums(words, count):
    """The same of the words of all threads."""
    return [sum((2 * n + 1) * words[at + n] for n in range(count)) & 0xFFFFFFFF for at in range(0, len(words), count)]


def registers(count, first=0):
    return "{" + ", ".join(f"%v{n + first}" for n in range(count)) + "}"


# Of a shape: registers for one step, columns of one step, and the lane and column of a thread's register.
SHAPES = {
    "32x32b": (1, 1, lambda lane, r: (lane, r)),
    "16x64b": (1, 2, lambda lane, r: (lane // 4 + 8 * (lane // 2 % 2), lane % 2 + 2 * r)),
    "16x128b": (2, 4, lambda lane, r: (lane // 4 + 8 * (r % 2), lane % 4 + 4 * (r // 2))),
    "16x256b": (4, 8, lambda lane, r: (lane // 4 + 8 * (r // 2 % 2), 2 * (lane % 4) + r % 2 + 8 * (r // 4))),
}


def loads(t):
    """All of tensor memory is written by `32x32b`, a word for each lane and column; then read by another shape, or the other way."""
    t.section("9.7.16.8.1 tcgen05.ld, 9.7.16.8.2 tcgen05.st, 9.7.16.8.3 tcgen05.wait, 9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc")
    # The word of a cell is a number of its own, so that every place can be told.
    cell = lambda lane, column: (lane << 16 | column << 4 | 0xA0000005) & 0xFFFFFFFF
    fill = "shl.b32 %w, %t, 16; or.b32 %v0, %w, 0xa0000005;\n" + "".join(f"add.u32 %v{n}, %v{n - 1}, 16;{' ' if n % 4 else chr(10)}" for n in range(1, 32)) + "\n"
    fill += f"tcgen05.st.sync.aligned.32x32b.x32.b32 [%col], {registers(32)}; tcgen05.wait::st.sync.aligned;\n"
    for shape, (step, width, place) in SHAPES.items():
        for times, below, pack in ((1, 0, False), (2, 16, False), (4, 0, False), (2, 0, True)):
            count = step * times
            if count > 8 or width * times * (2 if pack else 1) > 32:
                continue
            below = 0 if shape == "32x32b" else below
            body = fill + f"add.u32 %col, %col, {below << 16:#x};\n"
            body += f"tcgen05.ld.sync.aligned.{shape}.x{times}{'.pack::16b' if pack else ''}.b32 {registers(count)}, [%col]; tcgen05.wait::ld.sync.aligned;\n" + given(count)
            results = []
            for thread in range(THREADS):
                for r in range(count):
                    lane, column = place(thread % 32, r)
                    lane += thread // 32 * 32 + below
                    # Packed, a register has the low halves of two neighbours.
                    two = [cell(lane, 2 * column + n) & 0xFFFF for n in range(2)]
                    results.append(two[0] | two[1] << 16 if pack else cell(lane, column))
            name = f"ld {shape}.x{times}{' packed' if pack else ''}{' lanes 16 to 31' if below else ''}"
            t.program(name, kernel(body), [("cells", "b32", [0], "b32", sums(results, count))], [f"block {THREADS}"], NEEDS, WITHOUT)
    # Two halves, the second so many columns further.
    body = fill + f"tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {registers(2)}, [%col], 5; tcgen05.wait::ld.sync.aligned;\n" + given(2)
    results = [cell(thread // 32 * 32 + thread % 16, r + 5 * (thread % 32 // 16)) for thread in range(THREADS) for r in range(2)]
    t.program("ld 16x32bx2", kernel(body), [("cells", "b32", [0], "b32", sums(results, 2))], [f"block {THREADS}"], NEEDS, WITHOUT)
    stores(t, fill, cell)
    reductions(t, fill, cell)


def stores(t, fill, cell):
    for shape, (step, width, place) in SHAPES.items():
        for unpack in (False, True):
            times = 8 // width if not unpack else max(1, 4 // width)
            if unpack and width > 4:
                continue
            count = step * times
            body = fill + "shl.b32 %w, %t, 16; shl.b32 %s, %t, 4; xor.b32 %w, %w, 0x50001000; or.b32 %w, %w, %s;\n" + "".join(f"or.b32 %v{n}, %w, {n}; " for n in range(count)) + "\n"
            # Of unpacked cells the high half is not said; it is read by packing.
            body += f"tcgen05.st.sync.aligned.{shape}.x{times}{'.unpack::16b' if unpack else ''}.b32 [%col], {registers(count)}; tcgen05.wait::st.sync.aligned;\n"
            body += f"tcgen05.ld.sync.aligned.32x32b.x{8 if not unpack else 4}{'.pack::16b' if unpack else ''}.b32 {registers(8 if not unpack else 4)}, [%col]; tcgen05.wait::ld.sync.aligned;\n"
            body += "".join(f"mov.u32 %v{n}, 0;\n" for n in range(4, 8)) if unpack else ""
            word = lambda thread, n: ((0x50001000 | n) ^ thread << 16) | thread << 4
            cells = {(lane, column): cell(lane, column) for lane in range(THREADS) for column in range(8)}
            for thread in range(THREADS):
                for r in range(count):
                    lane, column = place(thread % 32, r)
                    lane += thread // 32 * 32
                    if unpack:
                        cells[lane, 2 * column], cells[lane, 2 * column + 1] = word(thread, r) & 0xFFFF, word(thread, r) >> 16
                    else:
                        cells[lane, column] = word(thread, r)
            pair = lambda lane, n: (cells[lane, 2 * n] & 0xFFFF) | (cells[lane, 2 * n + 1] & 0xFFFF) << 16
            results = [x for lane in range(THREADS) for x in ([pair(lane, n) for n in range(4)] + [0] * 4 if unpack else [cells[lane, n] for n in range(8)])]
            t.program(f"st {shape}.x{times}{' unpacked' if unpack else ''}", kernel(body + given(8)), [("cells", "b32", [0], "b32", sums(results, 8))], [f"block {THREADS}"], NEEDS, WITHOUT)


def reductions(t, fill, cell):
    """`.red`: the least or greatest of what a thread has loaded, beside it."""
    for op, kind in (("min", "u32"), ("max", "s32")):
        body = fill.replace("0xa0000005", "0x20000005") if kind == "s32" else fill
        body += f"tcgen05.ld.red.sync.aligned.32x32b.x4.{op}.{kind} {registers(4)}, %v4, [%col+3]; tcgen05.wait::ld.sync.aligned;\n"
        body = body.replace("[%col+3]", "[%s]").replace("tcgen05.ld.red", "add.u32 %s, %col, 3; tcgen05.ld.red")
        body += "mad.wide.u32 %to, %t, 4, %to; st.global.b32 [%to], %v4;\n"
        value = lambda lane, column: cell(lane, column) & (0x2FFFFFFF if kind == "s32" else 0xFFFFFFFF)
        results = [(min if op == "min" else max)(value(lane, 3 + n) for n in range(4)) for lane in range(THREADS)]
        t.program(f"ld.red {op}.{kind}", kernel(body), [("cells", "b32", [0], "b32", results)], [f"block {THREADS}"], "sm_103a", WITHOUT)


class Memory:
    """Tiles in shared memory, and the code that brings them there from the input."""

    def __init__(self):
        self.data = bytearray()

    def add(self, tile):
        """The descriptor without its address, and the address."""
        align = max(8 * tile.width, 128)
        begin = -(-len(self.data) // align) * align
        self.data.extend(bytes(begin + tile.size - len(self.data)))
        for at, byte in tile.data.items():
            self.data[begin + at] = byte
        return SWIZZLES[tile.width] << 61 | 1 << 46 | (tile.stride >> 4) << 32 | (tile.leading >> 4) << 16, begin

    def words(self):
        self.data.extend(bytes(-len(self.data) % 16))
        return [int.from_bytes(self.data[at : at + 4], "little") for at in range(0, len(self.data), 4)]

    def shared(self):
        return f".shared .align 1024 .b8 tiles[{len(self.data)}];"

    def code(self):
        """Also the barrier that `tcgen05.commit` arrives at."""
        return f"""mov.u32 %v0, %t;
COPY:
setp.ge.u32 %more, %v0, {len(self.data) // 4}; @%more bra COPIED;
mad.wide.u32 %p, %v0, 4, %from; ld.global.b32 %w, [%p]; mov.u32 %s, tiles; mad.lo.u32 %s, %v0, 4, %s; st.shared.b32 [%s], %w; add.u32 %v0, %v0, {THREADS}; bra COPY;
COPIED:
mov.u32 %w, 1; @%first mbarrier.init.shared::cta.b64 [bar], %w;
fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0;
mov.u32 %s, tiles; shr.u32 %s, %s, 4; cvt.u64.u32 %tile, %s;
"""


def descriptor(register, form, at):
    return f"add.u64 {register}, %tile, {at >> 4}; or.b64 {register}, {register}, {form:#x};\n"


WAIT = """WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %done, [bar], 0;
@!%done bra WAIT;
tcgen05.fence::after_thread_sync;
"""


def copies(t):
    """`tcgen05.cp`: rows of a matrix in shared memory to lanes, four bytes a column."""
    t.section("9.7.16.9 tcgen05.cp")
    random = random_of("tcgen05.cp")
    for shape, more, rows, width in (("128x256b", "", 128, 32), ("128x128b", "", 128, 16), ("64x128b", ".warpx2::02_13", 64, 16), ("64x128b", ".warpx2::01_23", 64, 16), ("32x128b", ".warpx4", 32, 16)):
        matrix = [[random.getrandbits(8) for _ in range(width)] for _ in range(rows)]
        memory = Memory()
        form, at = memory.add(Tile(matrix, 8, 0, True))
        row_of = {"": lambda lane: lane, ".warpx2::02_13": lambda lane: lane % 64, ".warpx2::01_23": lambda lane: lane % 32 + lane // 64 * 32, ".warpx4": lambda lane: lane % 32}[more]
        columns = width // 4
        words = memory.words()
        body = memory.code() + descriptor("%da", form, at)
        body += f"@!%first bra ISSUED;\ntcgen05.cp.cta_group::1.{shape}{more} [%tm], %da;\nmov.u32 %w, bar; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%w];\nISSUED:\n{WAIT}"
        body += f"tcgen05.ld.sync.aligned.32x32b.x{columns}.b32 {registers(columns)}, [%col]; tcgen05.wait::ld.sync.aligned;\n" + given(columns)
        results = [int.from_bytes(bytes(matrix[row_of(lane)][4 * n : 4 * n + 4]), "little") for lane in range(THREADS) for n in range(columns)]
        t.program(f"cp {shape}{more}", kernel(body, shared=memory.shared()), [("bytes", "b32", words, "b32", sums(results, columns))], [f"block {THREADS}"], NEEDS, WITHOUT)


def shifts(t):
    """`tcgen05.shift.down`: 32 bytes of each row of a warp's 32 go one row on; the text does not say from which neighbour."""
    t.section("9.7.16.9 tcgen05.shift")
    cell = lambda lane, column: lane << 8 | column
    body = "".join(f"shl.b32 %v{n}, %t, 8; or.b32 %v{n}, %v{n}, {n};\n" for n in range(8))
    body += f"tcgen05.st.sync.aligned.32x32b.x8.b32 [%col], {registers(8)}; tcgen05.wait::st.sync.aligned;\n@%first mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster; tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n"
    body += f"@!%first bra ISSUED;\ntcgen05.shift.cta_group::1.down [%tm]; mov.u32 %w, bar; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%w];\nISSUED:\n{WAIT}"
    body += f"tcgen05.ld.sync.aligned.32x32b.x8.b32 {registers(8)}, [%col]; tcgen05.wait::ld.sync.aligned;\nmad.wide.u32 %to, %t, 8, %to; st.global.v2.b32 [%to], {{%v0, %v7}};\n"
    near = lambda lane: sorted({max(lane - 1, 0), min(lane + 1, 31)} | ({lane} if lane in (0, 31) else set())) if lane < 32 else [lane]
    results = [Either(*(cell(one, n) for one in near(lane))) if lane < 32 else cell(lane, n) for lane in range(THREADS) for n in (0, 7)]
    t.program("shift.down", kernel(body), [("cells", "b32", [0], "b32", results)], [f"block {THREADS}"], NEEDS, WITHOUT)


def tables():
    for name, *parts in (("loads", loads), ("copies", copies, shifts)):
        table = Table(f"tensor/{name}", SCRIPT)
        for part in parts:
            part(table)
        yield table
