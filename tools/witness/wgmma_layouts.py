"""`wgmma.mma_async` with matrices along K and along M or N, in all swizzles, sparse, scaled (section 9.7.15 of the PTX manual).

Each thread adds up what it has of D, register i times 2 i + 1, so that a table has one word for each thread and instruction. The
canonical layouts are those of 9.7.15.5.1 and of CUTLASS (`mma_sm90_desc.hpp`), in units of 16 bytes.
"""

import random

from fragments import rows_of
from matrix import ABI, bits_of, coded, drawn, product
from scaled import metadata
from table import Table
from wgmma import SWIZZLES, THREADS, WITHOUT, place, swizzled

SCRIPT = "wgmma_layouts.py"


class Tile:
    """A matrix in shared memory: where its bytes are, from the tile's start, and its descriptor without the address."""

    def __init__(self, matrix, bits, width, along_k, start=0, base=0, gap=0):
        """`matrix[line][k]`: lines of A are its rows, of B its columns. `gap`: bytes left out between repeated parts."""
        self.width, self.start, self.base = width, start, base
        self.data = {}
        row = width or 16  # bytes of a line of the pattern
        atom = 8 * row + gap
        lines, depth = len(matrix), len(matrix[0])
        size = bits // 8
        if along_k:
            # Eight lines beside each other; without a swizzle the parts of 16 bytes follow each other.
            self.leading, self.stride = (atom, depth * size // 16 * atom) if not width else (16, atom)
        elif width:
            # Pieces of `width` bytes along the lines, eight k of them; then the next k, then the next pieces.
            self.leading, self.stride = depth // 8 * atom, atom
        else:
            self.leading, self.stride = lines * size // 16 * atom, atom
        for line in range(lines):
            for k in range(depth):
                if along_k and width:
                    at = line // 8 * self.stride + line % 8 * width + k * size
                elif along_k:
                    at = line // 8 * self.stride + k * size // 16 * self.leading + line % 8 * 16 + k * size % 16
                elif width:
                    across = line * size
                    at = across // width * self.leading + k // 8 * self.stride + k % 8 * width + across % width
                else:
                    across = line * size
                    at = across // 16 * self.stride + k // 8 * self.leading + k % 8 * 16 + across % 16
                at += start
                at = swizzled(at, width) if width else at
                for n, byte in enumerate(matrix[line][k].to_bytes(size, "little")):
                    self.data[at + n] = byte
        self.size = max(self.data) + 1

    def descriptor(self):
        return SWIZZLES[self.width] << 62 | self.base << 49 | (self.stride >> 4) << 32 | (self.leading >> 4) << 16


def expected(matrix, n):
    """The sum of each thread, with a matrix of whole numbers."""
    sums = []
    for thread in range(THREADS):
        total = 0
        for i in range(n // 2):
            row, column = place(thread, i, 1)[0]
            total += matrix[row][column] * (2 * i + 1)
        sums.append(total & 0xFFFFFFFF)
    return sums


def start_sums(n):
    """C: a whole number of thread and register."""
    c = [[0] * n for _ in range(64)]
    for thread in range(THREADS):
        for i in range(n // 2):
            row, column = place(thread, i, 1)[0]
            c[row][column] = (thread ^ i) & 31
    return c


class Kernel:
    """Tiles one behind the other, and instructions on them."""

    def __init__(self, n, c_kind="f32"):
        self.n, self.c_kind = n, c_kind
        self.memory, self.own = bytearray(), []
        # By identity: what has a place is held, so that nothing that is made later gets its identity.
        self.places, self.held = {}, []
        self.steps, self.results = [], []

    def add(self, tile):
        """The address of a tile: at the start of the swizzle's pattern, or so many lines of 128 bytes behind it."""
        if id(tile) in self.places:
            return self.places[id(tile)]
        align = max(8 * tile.width, 128)
        begin = -(-len(self.memory) // align) * align + 128 * tile.base
        self.memory.extend(bytes(begin + tile.size - len(self.memory)))
        for at, byte in tile.data.items():
            self.memory[begin + at] = byte
        self.places[id(tile)] = f"{tile.descriptor():#x}", begin + tile.start
        self.held.append(tile)
        return self.places[id(tile)]

    def registers(self, words):
        """A fragment of A or metadata: words for each thread; gives the place of a thread's first word."""
        count = len(words) // THREADS
        if id(words) not in self.places:
            self.places[id(words)] = len(self.own)
            self.held.append(words)
            self.own += words
        return self.places[id(words)], count

    def step(self, name, a, b, tail, d, *, clear=False, meta=None):
        """One instruction: A is a tile or words of registers; D has the values that `d` says."""
        n = self.n
        text = "".join(f"xor.b32 %w, %t, {i}; and.b32 %w, %w, 31; " + (f"cvt.rn.f32.u32 %f{i}, %w;\n" if self.c_kind == "f32" else f"mov.b32 %f{i}, %w;\n") for i in range(n // 2))
        if isinstance(a, list):
            at, count = self.registers(a)
            text += f"mad.wide.u32 %p, %t, {4 * count}, %own; ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%p+{4 * at}];\n"
            first = "{%a0, %a1, %a2, %a3}"
        else:
            form, at = self.add(a)
            text += f"add.u64 %da, %tile, {at >> 4}; or.b64 %da, %da, {form};\n"
            first = "%da"
        form, at = self.add(b)
        text += f"add.u64 %db, %tile, {at >> 4}; or.b64 %db, %db, {form};\n"
        between = ""
        if meta:
            at, _ = self.registers(meta[0])
            text += f"mad.wide.u32 %p, %t, 4, %own; ld.global.b32 %m, [%p+{4 * at}];\n"
            between = f"%m, {meta[1]}, "
        accumulators = "{" + ", ".join(f"%f{i}" for i in range(n // 2)) + "}"
        predicate = "%none" if clear else "%one"
        text += f"wgmma.fence.sync.aligned;\n{name} {accumulators}, {first}, %db, {between}{predicate}{tail};\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\nmov.b32 %s, 0;\n"
        text += "".join((f"cvt.rni.s32.f32 %w, %f{i};" if self.c_kind == "f32" else f"mov.b32 %w, %f{i};") + f" mad.lo.s32 %s, %w, {2 * i + 1}, %s;\n" for i in range(n // 2))
        text += f"st.global.b32 [%to+{4 * THREADS * len(self.steps)}], %s;\n"
        self.steps.append(text)
        self.results += expected(d, n)

    def program(self, table, name):
        self.memory.extend(bytes(-len(self.memory) % 4))
        words = [int.from_bytes(self.memory[at : at + 4], "little") for at in range(0, len(self.memory), 4)]
        code = f""".shared .align 1024 .b8 tiles[{len(self.memory)}];
{ABI} {{
.reg .b32 %t, %i, %w, %s, %m, %a<4>; .reg .{self.c_kind} %f<{self.n // 2}>; .reg .b64 %from, %to, %own, %p, %tile, %da, %db; .reg .pred %one, %none, %more;
ld.param.u64 %from, [in]; ld.param.u64 %to, [out]; mov.u32 %t, %tid.x; mov.u32 %i, %t;
COPY:
setp.ge.u32 %more, %i, {len(words)}; @%more bra COPIED;
mad.wide.u32 %p, %i, 4, %from; ld.global.b32 %w, [%p]; mov.u32 %s, tiles; mad.lo.u32 %s, %i, 4, %s; st.shared.b32 [%s], %w;
add.u32 %i, %i, {THREADS}; bra COPY;
COPIED:
fence.proxy.async; bar.sync 0;
add.u64 %own, %from, {4 * len(words)}; mad.wide.u32 %to, %t, 4, %to; mov.u32 %s, tiles; shr.u32 %s, %s, 4; cvt.u64.u32 %tile, %s;
setp.eq.u32 %one, %s, %s; setp.ne.u32 %none, %s, %s;
"""
        code += "".join(self.steps) + "ret; }"
        table.program(name, code, [("small", "b32", words + self.own, "b32", self.results)], [f"block {THREADS}"], "sm_90a", WITHOUT, runs=True)


def flipped(matrix):
    return [list(column) for column in zip(*matrix)]


def by_warps(matrix, depth, bits):
    fragments = rows_of(16, depth, 32 // bits)
    return [word for warp in range(4) for word in fragments.pack(matrix[16 * warp : 16 * warp + 16], bits)]


def majors(table):
    """A and B along K or along M and N; rows that are as wide as each swizzle needs."""
    table.section("9.7.15.5.1 wgmma, matrices in shared memory")
    for width, n, kind in ((0, 16, "f16"), (32, 32, "bf16"), (64, 32, "f16"), (128, 64, "bf16")):
        source = random.Random(f"majors {width}")
        a, b = drawn(64, 16, kind, source, 3), drawn(16, n, kind, source, 3)
        bits_a, bits_b = coded(a, kind), coded(flipped(b), kind)
        kernel = Kernel(n)
        name = f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{kind}.{kind}"
        d = product(a, b, start_sums(n))
        a_tiles = [Tile(bits_a, 16, width, along) for along in (True, False)]
        b_tiles = [Tile(bits_b, 16, width, along) for along in (True, False)]
        for across_a, across_b in ((1, 0), (0, 1)) if width == 64 else ((1, 1),):
            kernel.step(name, a_tiles[across_a], b_tiles[across_b], f", 1, 1, {across_a}, {across_b}", d)
        if width == 32:
            kernel.step(name, by_warps(bits_a, 16, 16), b_tiles[1], ", 1, 1, 1", d)
        kernel.program(table, f"along M and N, swizzle {width}")


def scales(table):
    """D that is not read, A and B with the sign changed, parts of a wider row, patterns that begin between their bounds."""
    source = random.Random("scales")
    kind, n = "f16", 8
    a, b = drawn(64, 16, kind, source, 3), drawn(16, n, kind, source, 3)
    bits_a, bits_b = coded(a, kind), coded(flipped(b), kind)
    kernel = Kernel(n)
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"
    c = start_sums(n)
    plain, other = Tile(bits_a, 16, 32, True), Tile(bits_b, 16, 32, True)
    negative = lambda matrix: [[-value for value in row] for row in matrix]
    own = by_warps(bits_a, 16, 16)
    kernel.step(name, plain, other, ", 1, 1, 0, 0", product(a, b, [[0] * n] * 64), clear=True)
    kernel.step(name, own, other, ", -1, 1, 0", product(negative(a), b, c))
    kernel.step(name, own, other, ", -1, -1, 0", product(a, b, c))
    kernel.step(name, own, other, ", 1, -1, 0", product(a, negative(b), [[0] * n] * 64), clear=True)
    kernel.program(table, "scales and signs")
    # The second 32 bytes of rows of 64 and of 128 bytes: the swizzle is that of the address.
    for width, start in ((64, 32), (128, 96)):
        kernel = Kernel(n)
        kernel.step(name, Tile(bits_a, 16, width, True, start=start), Tile(bits_b, 16, width, True, start=start), ", 1, 1, 0, 0", product(a, b, c))
        kernel.program(table, f"a part of rows of {width}")
    # The pattern begins so many lines of 128 bytes behind its bound, which the base offset says.
    kernel = Kernel(n)
    kernel.step(name, Tile(bits_a, 16, 32, True, base=1), Tile(bits_b, 16, 128, True, base=3), ", 1, 1, 0, 0", product(a, b, c))
    kernel.program(table, "patterns between their bounds")


SPARSE = [("f16", 32, ", 1, 1, 0, 0"), ("tf32", 16, ", 1, 1"), ("e4m3", 64, ", 1, 1"), ("s8", 64, "")]


def sparse(table):
    """A sparse A, in shared memory and in registers, with each selector; the metadata as those of `mma.sp`, 16 rows in a warp."""
    table.section("9.7.15.6 wgmma.sp")
    for kind, depth, tail in SPARSE:
        source = random.Random(f"sparse {kind}")
        n, bits = 8, bits_of(kind)
        a, b = drawn(64, depth // 2, kind, source, 3), drawn(depth, n, kind, source, 3)
        bits_a, bits_b = coded(a, kind), coded(flipped(b), kind)
        c_kind = "s32" if kind == "s8" else "f32"
        kernel = Kernel(n, c_kind)
        name = f"wgmma.mma_async.sp.sync.aligned.m64n{n}k{depth}.{c_kind}.{kind}.{kind}"
        warps = [metadata(depth, kind, False, source) for _ in range(4)]
        words = [word for own, _, _ in warps for word in own]
        for selector in range(min(warps[0][1], 2)):
            whole = [row for warp, (_, _, rows) in enumerate(warps) for row in rows(a[16 * warp : 16 * warp + 16], selector)]
            d = product(whole, b, start_sums(n))
            b_tile = Tile(bits_b, bits, 64, True)
            if selector == 0:
                kernel.step(name, Tile(bits_a, bits, 32, True), b_tile, tail, d, meta=(words, selector))
            else:
                kernel.step(name, by_warps(bits_a, depth // 2, bits), b_tile, tail.removesuffix(", 0") if kind == "f16" else tail, d, meta=(words, selector))
        kernel.program(table, f"sparse {kind}")


def integers(table):
    """Saturation, bits."""
    table.section("9.7.15.5 wgmma, of integers and bits")
    source = random.Random("integers")
    n = 8
    c = start_sums(n)
    a, b = drawn(64, 32, "u8", source), drawn(32, n, "s8", source)
    kernel = Kernel(n, "s32")
    tiles = Tile(coded(a, "u8"), 8, 32, True), Tile(coded(flipped(b), "s8"), 8, 32, True)
    kernel.step(f"wgmma.mma_async.sync.aligned.m64n{n}k32.s32.u8.s8", *tiles, "", product(a, b, c))
    kernel.step(f"wgmma.mma_async.sync.aligned.m64n{n}k32.satfinite.s32.u8.s8", *tiles, "", product(a, b, [[0] * n] * 64), clear=True)
    kernel.program(table, "bytes")
    bit_rows = lambda lines: [[source.getrandbits(8) for _ in range(32)] for _ in range(lines)]
    a, b = bit_rows(64), bit_rows(n)
    d = [[c[i][j] + sum((x & y).bit_count() for x, y in zip(a[i], b[j])) for j in range(n)] for i in range(64)]
    kernel = Kernel(n, "s32")
    kernel.step(f"wgmma.mma_async.sync.aligned.m64n{n}k256.s32.b1.b1.and.popc", Tile(a, 8, 32, True), Tile(b, 8, 32, True), "", d)
    kernel.program(table, "bits")


def tables():
    for name, *parts in (("wgmma_layouts", majors, scales), ("wgmma_sparse", sparse, integers)):
        table = Table(f"matrix/{name}", SCRIPT)
        for part in parts:
            part(table)
        yield table
