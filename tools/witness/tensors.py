"""Tensor copies (sections 5.5, 9.7.9.25.5 and 9.7.9.26 of the PTX manual; the arguments of maps by cuTensorMapEncodeTiled and
cuTensorMapEncodeIm2col of the driver's manual)."""

import itertools
import random

from copies import combined, elements
from table import NAN, Table, open_

WIDTHS = {"u8": 8, "u16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64, "f16": 16, "f32": 32, "f64": 64, "bf16": 16, "tf32": 32}
FLOATS = ("f16", "bf16", "f32", "f64", "tf32")
NO_INTERPRETER = ("interpreter", "it has no tensor copies yet")
NO_PTXAS = ("ptxas@sm_120a", "it calls the driver for copies to the shared memory of a cluster")
# Shared memory that is not written has this in each byte.
UNTOUCHED = 0xEE
# Which bits of the row are added to the number of a unit of 16 bytes.
SPANS = {None: 0, "swizzle32": 1, "swizzle64": 3, "swizzle128": 7}
# The parameter, as a generic address.
MAP = "mov.b64 %map, map; cvta.param.u64 %map, %map;"
HEAD = (
    ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])\n{\n"
    ".reg .b32 %r<16>, %at, %lane; .reg .b64 %in, %out, %map, %d<6>; .reg .b16 %h<4>; .reg .pred %p<3>;\n"
    f"ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x; {MAP}\n"
    "mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out; mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at;\n"
)
WAIT = "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;"


def anything(kind, count, source):
    """Elements of a type: of floats such that sums are exact."""
    if kind in FLOATS:
        return elements("f32" if kind == "tf32" else kind, count, source)
    return [source.getrandbits(WIDTHS[kind]) for _ in range(count)]


class Tensor:
    """A tensor with random elements, and the map of a box in it."""

    def __init__(self, kind, sizes, box, steps=None, swizzle=None, nan=False, gap=0, seed=0, corners=None):
        """`box` has the elements of each dimension, innermost first; with `corners` (lower, upper) channels and pixels of a column."""
        self.kind, self.sizes, self.box, self.swizzle, self.nan = kind, sizes, box, swizzle, nan
        self.corners = corners
        self.steps = steps or (1,) * len(sizes)
        self.width = WIDTHS[kind] // 8
        # Bytes from one element to the next: rows are multiples of 16 bytes.
        self.strides, stride = [self.width], self.width
        for size in sizes[:-1]:
            stride = -(-(stride * size) // 16) * 16 + gap
            self.strides.append(stride)
        source = random.Random(f"{kind} {sizes} {seed}")
        self.bytes = bytearray(source.randrange(256) for _ in range(stride * sizes[-1]))
        for at in self.places():
            value = anything(kind, 1, source)[0]
            start = self.address(at)
            self.bytes[start : start + self.width] = value.to_bytes(self.width, "little")

    def places(self):
        for at in itertools.product(*(range(size) for size in reversed(self.sizes))):
            yield tuple(reversed(at))

    def address(self, at):
        return sum(x * stride for x, stride in zip(at, self.strides))

    def inside(self, at):
        return all(0 <= x < size for x, size in zip(at, self.sizes))

    def line(self, place):
        """The line of a table that makes the map."""
        numbers = lambda values: ",".join(str(value) for value in values)
        box = numbers(self.box)
        if self.corners:
            box = "/".join([*(numbers(corner) for corner in self.corners), str(self.box[0]), str(self.box[1])])
        words = [self.kind, numbers(self.sizes), numbers(self.strides[1:]) or "-", box]
        words += [self.swizzle] if self.swizzle else []
        words += ["nan"] if self.nan else []
        words += [numbers(self.steps)] if any(step > 1 for step in self.steps) else []
        return f"tensor {place} {':'.join(words)}"

    def tile(self, start):
        """Elements of the box at these coordinates, innermost dimension first. A step of s takes every s-th of the box."""
        counts = [-(-size // step) for size, step in zip(self.box, self.steps)]
        for at in itertools.product(*(range(count) for count in reversed(counts))):
            yield tuple(x + n * step for x, n, step in zip(start, reversed(at), self.steps))

    def column(self, start, offsets):
        """Pixels from `start` on, each with its channels. They go through the bounding box, from its lower to its upper corner in
        each image; the offsets are added to where they are."""
        lower, upper = self.corners
        space = list(start[1:-1])
        image = start[-1]
        for _ in range(self.box[1]):
            pixel = [x + offset for x, offset in zip(space, offsets)]
            for channel in range(self.box[0]):
                yield (start[0] + channel, *pixel, image)
            for axis in range(len(space)):
                space[axis] += self.steps[axis + 1]
                if space[axis] <= self.sizes[axis + 1] - 1 + upper[axis]:
                    break
                space[axis] = lower[axis]
            else:
                image += 1

    def swizzled(self, byte):
        """Where a byte of the box goes: units of 16 bytes change places within each 128 bytes."""
        unit, row = byte // 16 % 8, byte // 128
        return byte // 128 * 128 + (unit ^ (row & SPANS[self.swizzle])) * 16 + byte % 16

    def load(self, land, base, places):
        """Writes elements behind each other; None are elements of which only is known that they are a NaN."""
        for n, at in enumerate(places):
            for byte in range(self.width):
                to = base + self.swizzled(n * self.width + byte)
                if self.inside(at):
                    land[to] = self.bytes[self.address(at) + byte]
                else:
                    land[to] = None if self.nan and self.kind in FLOATS else 0

    def store(self, land, places, op=None):
        """Elements back from shared memory: written, or combined with what is there. Outside nothing happens."""
        for n, at in enumerate(places):
            if not self.inside(at):
                continue
            new = int.from_bytes(bytes(land[self.swizzled(n * self.width + byte)] for byte in range(self.width)), "little")
            start = self.address(at)
            if op:
                new = combined(op, self.kind, int.from_bytes(self.bytes[start : start + self.width], "little"), new)
            self.bytes[start : start + self.width] = new.to_bytes(self.width, "little")


def words(data):
    return [int.from_bytes(bytes(data[n : n + 4]), "little") for n in range(0, len(data), 4)]


def results(land, tensor):
    """Type and elements of what stands in shared memory."""
    width = tensor.width
    kind = {"f16": "f16", "bf16": "bf16", "f32": "f32", "tf32": "f32", "f64": "f64"}.get(tensor.kind, "b32") if tensor.nan else "b32"
    step = 4 if kind == "b32" else width
    value = lambda part: NAN if None in part else int.from_bytes(bytes(part), "little")
    return kind, [value(land[n : n + step]) for n in range(0, len(land), step)]


def coordinates(dimensions, copy):
    """Loads the coordinates of a copy to %r0 and on."""
    return " ".join(f"ld.global.b32 %r{n}, [%in+{4 * (dimensions * copy + n)}];" for n in range(dimensions))


def vector(count, first=0, name="r"):
    return "{" + ", ".join(f"%{name}{first + n}" for n in range(count)) + "}"


def into(table, name, tensor, starts, mode="", dimensions=None, offsets=None, needs="sm_90", where="shared::cluster", places=None):
    """Copies from global memory, one for each start, behind each other in shared memory."""
    rank = len(tensor.sizes)
    dimensions = dimensions or rank
    without = [NO_INTERPRETER] + [NO_PTXAS] * (where == "shared::cluster")
    find = places or ((lambda start: tensor.column(start, offsets or (0,) * (rank - 2))) if tensor.corners else tensor.tile)
    size = len(list(find(starts[0]))) * tensor.width
    step = -(-size // 1024) * 1024 if tensor.swizzle else -(-size // 128) * 128
    total = step * len(starts) + 64
    land = [UNTOUCHED] * total
    for n, start in enumerate(starts):
        tensor.load(land, step * n, find(start))
    text = f".shared .align 1024 .b8 land[{total}]; .shared .align 8 .b64 bar;\n{HEAD}"
    text += f"mov.u32 %r0, 0x{UNTOUCHED:02x}{UNTOUCHED:02x}{UNTOUCHED:02x}{UNTOUCHED:02x}; st.shared.b32 [%at], %r0; fence.proxy.async; bar.sync 0;\n"
    text += f"setp.ne.u32 %p0, %lane, 0; @%p0 bra DONE;\nmov.u32 %r0, 1; mbarrier.init.shared::cta.b64 [bar], %r0; fence.proxy.async;\nmbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {size * len(starts)};\n"
    info = ""
    if offsets is not None:
        text += " ".join(f"mov.b16 %h{n}, {offset};" for n, offset in enumerate(offsets)) + "\n"
        info = ", " + vector(len(offsets), 0, "h")
    for n in range(len(starts)):
        text += coordinates(dimensions, n) + f"\nmov.u32 %r8, land; add.u32 %r8, %r8, {step * n};\n"
        if n == 0:
            text += f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global{mode} [%map, {vector(dimensions)}]{info};\n"
        text += f"cp.async.bulk.tensor.{rank}d.{where}.global{mode}.mbarrier::complete_tx::bytes [%r8], [%map, {vector(dimensions)}], [bar]{info};\n"
    text += f"{WAIT}\nDONE:\nbar.sync 0; ld.shared.b32 %r0, [%at]; st.global.b32 [%d1], %r0;\nret;\n}}"
    given = [x for start in starts for x in start]
    given += [0] * (-len(given) % 32)
    kind, expected = results(land, tensor)
    case = ("all", "b32", given + words(tensor.bytes), kind, expected)
    shape = [f"block {total // 4}", tensor.line(f"in+{4 * len(given)}")]
    table.program(name, text, [case], shape, needs, without)


def out_of(table, name, tensor, starts, mode="", dimensions=None, op=None, needs="sm_90", places=None):
    """Copies to global memory; the boxes of several starts are apart from each other."""
    rank = len(tensor.sizes)
    dimensions = dimensions or rank
    find = places or ((lambda start: tensor.column(start, (0,) * (rank - 2))) if tensor.corners else tensor.tile)
    size = len(list(find(starts[0]))) * tensor.width
    # With a swizzle a box may end in the middle of a pattern: whole patterns are there.
    total = -(-size // 1024) * 1024 if tensor.swizzle else -(-size // 128) * 128
    filled = anything(tensor.kind, total // tensor.width, random.Random(name))
    land = [byte for value in filled for byte in value.to_bytes(tensor.width, "little")]
    before = words(tensor.bytes)
    for start in starts:
        tensor.store(land, find(start), op)
    instruction = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{op}{mode}.bulk_group" if op else f"cp.async.bulk.tensor.{rank}d.global.shared::cta{mode}.bulk_group"
    text = f".shared .align 1024 .b8 land[{total}];\n{HEAD}"
    text += "ld.global.b32 %r0, [%d0+128]; st.shared.b32 [%at], %r0; fence.proxy.async; bar.sync 0;\nsetp.ne.u32 %p0, %lane, 0; @%p0 bra DONE; mov.u32 %r8, land;\n"
    for n in range(len(starts)):
        text += f"{coordinates(dimensions, n)}\n{instruction} [%map, {vector(dimensions)}], [%r8];\n"
    text += "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:\nret;\n}"
    given = [x for start in starts for x in start]
    given += [0] * (32 - len(given))
    case = ("all", "b32", given + words(land), "b32", words(tensor.bytes), ("b32", before))
    table.program(name, text, [case], [f"block {total // 4}", tensor.line("out+0")], needs, [NO_INTERPRETER])


def tiles(table):
    """Boxes in one to five dimensions: inside, across each edge, wholly outside, with negative coordinates."""
    table.section("9.7.9.25.5.2 cp.async.bulk.tensor, 9.7.9.25.5.4 cp.async.bulk.prefetch.tensor")
    for kind, sizes, box, starts in (
        ("u32", (40,), (16,), [(0,), (20,), (30,), (-5,), (40,), (-16,)]),
        ("u8", (64, 5), (32, 2), [(16, 1), (48, 4), (-16, -1), (0, 5)]),
        ("f16", (20, 7), (8, 4), [(0, 0), (3, 2), (16, 5), (-3, -2)]),
        ("s64", (6, 5, 3), (2, 3, 2), [(1, 1, 1), (5, 4, 2), (-1, -2, -1)]),
        ("bf16", (16, 3, 3, 2), (8, 2, 2, 2), [(4, 1, 1, 0), (12, 2, -1, 1)]),
        ("f32", (4, 3, 2, 2, 2), (4, 2, 1, 2, 1), [(0, 1, 1, 0, 1), (-2, 2, 1, 1, 0), (1, -1, 0, -1, 1)]),
        ("f64", (3, 4), (2, 2), [(0, 1), (2, 3)]), ("tf32", (8, 4), (4, 2), [(1, 1), (6, 3)]), ("u16", (24, 2), (8, 2), [(5, 0), (20, 1)]),
    ):  # fmt: skip
        into(table, f"{kind}, {len(sizes)} dimensions", Tensor(kind, sizes, box), starts, gap_mode(kind), where="shared::cta" if kind in ("f64", "u8") else "shared::cluster")
    for kind in ("f16", "bf16", "f32", "f64", "u32"):
        size = 16 // (WIDTHS[kind] // 8)
        into(table, f"{kind}, NaN outside", Tensor(kind, (size + 1, 3), (size, 2), nan=True), [(1, 0), (size - 1, 2), (-1, -1)])
    for steps in ((1, 2), (1, 3)):
        into(table, f"every {steps[1]}. row", Tensor("u32", (8, 9), (4, 4), steps), [(0, 0), (2, 3), (6, 6)], ".tile")
    into(table, "steps in three dimensions", Tensor("u16", (16, 5, 6), (8, 4, 3), (1, 2, 3)), [(0, 0, 0), (8, 1, 2), (-2, -1, 4)])
    into(table, "rows apart", Tensor("u32", (6, 4, 3), (4, 2, 2), gap=32), [(1, 1, 0), (4, 3, 2)])
    for rows in ((0, 3, 1, 6), (5, 5, -1, 7)):
        gathered = lambda start: ((start[0] + n, row) for row in start[1:] for n in range(8))
        into(table, f"gather4 {rows}", Tensor("u32", (12, 7), (8, 1)), [(2, *rows), (-1, *rows)], ".tile::gather4", 5, None, "sm_100a|sm_103a", places=gathered)


def gap_mode(kind):
    return ".tile" if kind in ("u32", "bf16") else ""


def swizzles(table):
    """The units of 16 bytes in the boxes of each swizzle."""
    table.section("5.5.7, 9.7.9.25.5.2 cp.async.bulk.tensor")
    for swizzle, span in (("swizzle32", 32), ("swizzle64", 64), ("swizzle128", 128)):
        rows = 9 * 128 // span
        into(table, f"{swizzle} f16 in", Tensor("f16", (span // 2 + 8, rows), (span // 2, rows), swizzle=swizzle), [(8, 1)])
        rows = 8 * 128 // span
        out_of(table, f"{swizzle} u32 out", Tensor("u32", (span // 4 + 4, rows), (span // 4, rows), swizzle=swizzle), [(8, 0)])
    tensor = Tensor("f16", (64, 2, 3), (64, 2, 4), swizzle="swizzle128")
    into(table, "swizzle128, three dimensions", tensor, [(0, 0, 0)])


def columns(table):
    """im2col: pixels that a convolution reads, with offsets, steps and edges."""
    table.section("5.5.4, 9.7.9.25.5.2 cp.async.bulk.tensor, 9.7.9.25.5.4 cp.async.bulk.prefetch.tensor")
    for kind, sizes, corners, box, steps, starts, offsets in (
        ("f16", (16, 5, 3), ((0,), (0,)), (8, 8), None, [(0, 0, 0), (8, 3, 1)], (0,)),
        ("f16", (16, 5, 3), ((-1,), (-1,)), (8, 8), None, [(0, -1, 0), (8, 2, 1)], (2,)),
        ("u8", (16, 4, 4, 2), ((-1, -1), (-1, -1)), (16, 9), None, [(0, -1, -1, 0), (0, 1, 2, 0)], (1, 2)),
        ("u32", (8, 5, 4, 2), ((0, 0), (-2, -2)), (4, 7), None, [(0, 1, 0, 0), (4, 2, 1, 1)], (2, 2)),
        ("f32", (4, 8, 6, 2), ((-1, -1), (-1, -1)), (4, 10), (1, 2, 2, 1), [(0, -1, -1, 0), (0, 1, 3, 1)], (1, 1)),
        ("bf16", (8, 3, 3, 2, 2), ((-1, -1, -1), (0, 0, 0)), (8, 16), None, [(0, -1, -1, -1, 0), (0, 1, 2, 1, 1)], (1, 0, 1)),
    ):  # fmt: skip
        tensor = Tensor(kind, sizes, box, steps and steps + (1,) * (len(sizes) - len(steps)), corners=corners)
        name = f"{kind} {len(sizes)} dimensions, corners {corners}" + (" by two" if steps else "")
        into(table, name, tensor, starts, ".im2col", None, offsets, where="shared::cta" if kind == "u8" else "shared::cluster")
    for kind, sizes, box, starts in (("u32", (8, 5, 3), (4, 7), [(0, 1, 0), (4, 2, 1)]), ("f16", (8, 4, 3, 2), (8, 9), [(0, 1, 0, 0)])):
        inner = len(sizes) - 2
        tensor = Tensor(kind, sizes, box, corners=((0,) * inner, (0,) * inner))
        out_of(table, f"{kind} {len(sizes)} dimensions out", tensor, starts, ".im2col_no_offs")
        tensor = Tensor(kind, sizes, box, corners=((0,) * inner, (0,) * inner), seed=1)
        out_of(table, f"{kind} {len(sizes)} dimensions added", tensor, starts[:1], ".im2col_no_offs", op="add")
    tensor = Tensor("f32", (4, 3, 3), (4, 8), nan=True, corners=((-1,), (0,)))
    into(table, "NaN outside", tensor, [(0, -1, 1)], ".im2col", None, (0,))


def stores(table):
    """Boxes that are written: what is outside is left out."""
    table.section("9.7.9.25.5.2 cp.async.bulk.tensor")
    for kind, sizes, box, starts in (
        ("u32", (40,), (16,), [(0,), (16,), (34,)]), ("u8", (64, 5), (32, 2), [(16, 1), (48, 4)]), ("f16", (20, 7), (8, 4), [(3, 2), (16, 5)]),
        ("u64", (6, 5, 3), (2, 3, 2), [(1, 1, 1), (5, 4, 2)]), ("bf16", (16, 3, 3, 2), (8, 2, 2, 2), [(4, 1, 1, 0)]),
        ("f32", (4, 3, 2, 2, 2), (4, 2, 1, 2, 1), [(0, 1, 1, 0, 1), (1, 0, 0, 1, 0)]),
    ):  # fmt: skip
        out_of(table, f"{kind}, {len(sizes)} dimensions", Tensor(kind, sizes, box), starts, ".tile" if kind == "u8" else "")
    out_of(table, "every second row", Tensor("u32", (8, 9), (4, 4), (1, 2)), [(0, 0), (4, 3)])
    rows = (0, 3, 7, 6)
    scattered = lambda start: ((start[0] + n, row) for row in start[1:] for n in range(8))
    out_of(table, f"scatter4 {rows}", Tensor("u32", (12, 7), (8, 1)), [(2, *rows)], ".tile::scatter4", 5, needs="sm_100a|sm_103a", places=scattered)


REDUCTIONS = [("add", kind) for kind in ("u32", "s32", "u64", "f32", "f16", "bf16")]
REDUCTIONS += [(op, kind) for op in ("min", "max") for kind in ("u32", "s32", "u64", "s64", "f16", "bf16")]
REDUCTIONS += [("inc", "u32"), ("dec", "u32")] + [(op, kind) for op in ("and", "or", "xor") for kind in ("u32", "u64", "s32", "s64")]


def reductions(table):
    """Every operation on each type that it has, a box across an edge."""
    table.section("9.7.9.25.5.3 cp.reduce.async.bulk.tensor")
    for op, kind in REDUCTIONS:
        width = WIDTHS[kind] // 8
        inner = 32 // width
        tensor = Tensor(kind, (inner + 1, 3), (inner, 2), seed=op)
        edges = elements(kind, tensor.sizes[0] * tensor.sizes[1], random.Random(f"{op} {kind}"))
        for at, value in zip(tensor.places(), edges):
            tensor.bytes[tensor.address(at) : tensor.address(at) + width] = value.to_bytes(width, "little")
        out_of(table, f"{op} {kind}", tensor, [(1, 0), (0, 2)], ".tile" if op == "min" else "", op=op)


def together(table):
    """Copies to several blocks of a cluster, each of which is told on its own barrier."""
    table.section("9.7.9.25.5.2 cp.async.bulk.tensor")
    tensor = Tensor("u32", (8, 6), (4, 2))
    for name, mask, group, needs in (("both", 3, "", "sm_90"), ("the other one", 2, "", "sm_90"), ("both, cta_group::1", 3, ".cta_group::1", "sm_100a|sm_103a")):
        land = [[UNTOUCHED] * 64 for _ in range(2)]
        for block in range(2):
            if mask >> block & 1:
                tensor.load(land[block], 0, tensor.tile((1, 2)))
        filled = UNTOUCHED * 0x01010101
        text = f".shared .align 128 .b8 land[64]; .shared .align 8 .b64 bar;\n{HEAD}"
        text += (
            f"mov.u32 %r0, {filled:#x}; st.shared.b32 [%at], %r0; fence.proxy.async;\n"
            "mov.u32 %r9, %cluster_ctarank; mad.wide.u32 %d1, %r9, 64, %d1; setp.ne.u32 %p0, %lane, 0;\n"
            f"mov.u32 %r0, 1; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r0; mov.b16 %h0, {mask}; shr.u32 %r10, {mask}, %r9; and.b32 %r10, %r10, 1; mul.lo.u32 %r10, %r10, 32;\n"
            "@!%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], %r10;\n"
            "barrier.cluster.arrive; barrier.cluster.wait;\n"
            f"or.b32 %r11, %r9, %lane; setp.ne.u32 %p2, %r11, 0; @%p2 bra WAIT; mov.u32 %r8, land; {coordinates(2, 0)}\n"
            f"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{group} [%r8], [%map, {{%r0, %r1}}], [bar], %h0;\n"
            f"{WAIT}\nbar.sync 0; ld.shared.b32 %r0, [%at]; st.global.b32 [%d1], %r0; barrier.cluster.arrive; barrier.cluster.wait;\nret;\n}}"
        )
        case = ("all", "b32", [1, 2] + [0] * 30 + words(tensor.bytes), "b32", words(land[0]) + words(land[1]))
        table.program(name, text, [case], ["grid 2", "block 16", "cluster 2", tensor.line("in+128")], needs, [NO_INTERPRETER, NO_PTXAS])
    # One block copies to both, and its barrier counts the bytes of both.
    land = [UNTOUCHED] * 64
    tensor.load(land, 0, tensor.tile((1, 2)))
    for teller in (0, 1):
        text = f".shared .align 128 .b8 land[64]; .shared .align 8 .b64 bar;\n{HEAD}" + (
            f"mov.u32 %r0, {UNTOUCHED * 0x01010101:#x}; st.shared.b32 [%at], %r0; fence.proxy.async;\n"
            f"mov.u32 %r9, %cluster_ctarank; mad.wide.u32 %d1, %r9, 64, %d1; setp.ne.u32 %p0, %lane, 0; xor.b32 %r11, %r9, {teller};\n"
            "mov.u32 %r0, 1; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r0; xor.b32 %r10, %r11, 1; mul.lo.u32 %r10, %r10, 64; mov.b16 %h0, 3;\n"
            "@!%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], %r10;\nbarrier.cluster.arrive; barrier.cluster.wait;\n"
            f"or.b32 %r11, %r11, %lane; setp.ne.u32 %p2, %r11, 0; mov.u32 %r8, land; {coordinates(2, 0)}\n"
            "@!%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2 [%r8], [%map, {%r0, %r1}], [bar], %h0;\n"
            f"{WAIT}\nbarrier.cluster.arrive; barrier.cluster.wait; ld.shared.b32 %r0, [%at]; st.global.b32 [%d1], %r0;\nret;\n}}"
        )
        case = ("all", "b32", [1, 2] + [0] * 30 + words(tensor.bytes), "b32", words(land) * 2)
        table.program(f"cta_group::2, both, told to {teller}", text, [case], ["grid 2", "block 16", "cluster 2", tensor.line("in+128")], "sm_100a|sm_103a", [NO_INTERPRETER])
    # The block with the odd number copies to itself and tells its partner.
    land = [UNTOUCHED] * 64
    tensor.load(land, 0, tensor.tile((1, 2)))
    text = f".shared .align 128 .b8 land[64]; .shared .align 8 .b64 bar;\n{HEAD}" + (
        f"mov.u32 %r0, {UNTOUCHED * 0x01010101:#x}; st.shared.b32 [%at], %r0; fence.proxy.async;\n"
        "mov.u32 %r9, %cluster_ctarank; mad.wide.u32 %d1, %r9, 64, %d1; setp.ne.u32 %p0, %lane, 0;\n"
        "mov.u32 %r0, 1; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r0; xor.b32 %r10, %r9, 1; mul.lo.u32 %r10, %r10, 32;\n"
        "@!%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], %r10;\nbarrier.cluster.arrive; barrier.cluster.wait;\n"
        f"mov.u32 %r12, bar; mov.u32 %r13, 0; mapa.shared::cluster.u32 %r12, %r12, %r13; mov.u32 %r8, land; mapa.shared::cluster.u32 %r8, %r8, %r9; {coordinates(2, 0)}\n"
        "xor.b32 %r11, %r9, 1; or.b32 %r11, %r11, %lane; setp.ne.u32 %p2, %r11, 0;\n"
        "@!%p2 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%r8], [%map, {%r0, %r1}], [%r12];\n"
        f"{WAIT}\nbarrier.cluster.arrive; barrier.cluster.wait; ld.shared.b32 %r0, [%at]; st.global.b32 [%d1], %r0;\nret;\n}}"
    )
    case = ("all", "b32", [1, 2] + [0] * 30 + words(tensor.bytes), "b32", words([UNTOUCHED] * 64) + words(land))
    table.program("cta_group::2", text, [case], ["grid 2", "block 16", "cluster 2", tensor.line("in+128")], "sm_100a|sm_103a", [NO_INTERPRETER])


def replaced(table):
    """A map of other things becomes that of a tensor, field by field: in shared memory, and in global memory."""
    table.section("9.7.9.26 tensormap.replace, 9.7.13.16 tensormap.cp_fenceproxy")
    numbers = {"u8": 0, "u16": 1, "u32": 2, "s32": 3, "u64": 4, "s64": 5, "f16": 6, "f32": 7, "f64": 9, "bf16": 10, "tf32": 11}
    other = Tensor("u8", (32,), (16,))
    full = Tensor("u8", (16, 3, 3, 3, 3), (16, 1, 1, 1, 1))
    cases = [
        (Tensor("u32", (8, 6), (4, 2)), [(1, 2), (6, 5)], full), (Tensor("f16", (64, 5, 2), (64, 3, 2), swizzle="swizzle128"), [(0, 1, 0)], other),
        (Tensor("f32", (8, 9), (4, 4), (1, 2), nan=True), [(6, 3)], other), (Tensor("s64", (4, 3, 2, 2, 2), (2, 2, 1, 2, 1)), [(1, 1, 1, 0, 1)], other),
        (Tensor("u8", (64, 3), (32, 2), swizzle="swizzle32"), [(32, 1)], full), (Tensor("bf16", (64, 4), (32, 2), swizzle="swizzle64", nan=True), [(48, 3)], full),
    ]  # fmt: skip
    for tensor, starts, before in cases:
        for space in ("shared::cta", "global"):
            rank = len(tensor.sizes)
            size = len(list(tensor.tile(starts[0]))) * tensor.width
            step = -(-size // 1024) * 1024 if tensor.swizzle else -(-size // 128) * 128
            total = step * len(starts)
            land = [UNTOUCHED] * total
            for n, start in enumerate(starts):
                tensor.load(land, step * n, tensor.tile(start))
            at = "%r8" if space == "shared::cta" else "%out"
            swizzle = {None: 0, "swizzle32": 1, "swizzle64": 2, "swizzle128": 3}[tensor.swizzle]
            replace = lambda field, kind, value, ord="": f"tensormap.replace.tile.{field}.{space}.b1024.{kind} [{at}], {ord}{value};\n"
            fields = replace("global_address", "b64", "%d3") + f"mov.u32 %r0, {rank - 1}; " + replace("rank", "b32", "%r0")
            fields += replace("elemtype", "b32", numbers[tensor.kind]) + replace("interleave_layout", "b32", 0) + replace("swizzle_mode", "b32", swizzle) + replace("fill_mode", "b32", int(tensor.nan))
            for n in range(rank):
                for field, value in (("box_dim", tensor.box[n]), ("global_dim", tensor.sizes[n]), ("element_stride", tensor.steps[n])):
                    fields += f"mov.u32 %r0, {value}; " + replace(field, "b32", "%r0", f"{n}, ")
            for n, stride in enumerate(tensor.strides[1:]):
                fields += f"mov.u64 %d4, {stride}; " + replace("global_stride", "b64", "%d4", f"{n}, ")
            given = [x for start in starts for x in start]
            given += [0] * (32 - len(given))
            # The first warp brings the map to where it is changed, 16 bytes a lane.
            bring = "mad.wide.u32 %d5, %lane, 16, %map; setp.gt.u32 %p0, %lane, 7; @!%p0 ld.v4.b32 {%r0, %r1, %r2, %r3}, [%d5];\n"
            if space == "global":
                bring += "mad.wide.u32 %d5, %lane, 16, %out; @!%p0 st.global.v4.b32 [%d5], {%r0, %r1, %r2, %r3};\n"
                pass_on = "fence.proxy.tensormap::generic.release.gpu;\n"
            else:
                bring += "mov.u32 %r8, changed; mad.lo.u32 %r9, %lane, 16, %r8; @!%p0 st.shared.v4.b32 [%r9], {%r0, %r1, %r2, %r3};\n"
                pass_on = "mov.u32 %r8, changed; setp.gt.u32 %p0, %lane, 31; @%p0 bra LATER; tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%out], [%r8], 128;\nLATER:\n"
            text = f".shared .align 1024 .b8 land[{total}]; .shared .align 128 .b8 changed[128]; .shared .align 8 .b64 bar;\n{HEAD}"
            text += f"mov.u32 %r0, {UNTOUCHED * 0x01010101:#x}; st.shared.b32 [%at], %r0; fence.proxy.async;\n{bring}bar.sync 0;\n"
            text += f"mov.u32 %r8, changed; add.u64 %d3, %in, {4 * len(given)}; setp.ne.u32 %p0, %lane, 0; @%p0 bra CHANGED;\n{fields}CHANGED:\nbar.sync 0;\n{pass_on}bar.sync 0;\n"
            text += f"setp.ne.u32 %p0, %lane, 0; @%p0 bra DONE;\nfence.proxy.tensormap::generic.acquire.gpu [%out], 128;\nmov.u32 %r0, 1; mbarrier.init.shared::cta.b64 [bar], %r0; fence.proxy.async;\nmbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {size * len(starts)};\n"
            for n in range(len(starts)):
                text += f"{coordinates(rank, n)}\nmov.u32 %r8, land; add.u32 %r8, %r8, {step * n};\ncp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%out, {vector(rank)}], [bar];\n"
            text += f"{WAIT}\nDONE:\nbar.sync 0; ld.shared.b32 %r0, [%at]; st.global.b32 [%d1+128], %r0;\nret;\n}}"
            kind, expected = results(land, tensor)
            opaque = [open_("m")] * (128 * len(expected) // total)
            case = ("all", "b32", given + words(tensor.bytes), kind, opaque + expected)
            shape = [f"block {total // 4}", before.line("in+0")]
            table.program(f"{tensor.kind} {rank} dimensions {space}", text, [case], shape, "sm_90a|sm_100a|sm_103a|sm_120a", [NO_INTERPRETER, NO_PTXAS], [("m", "the map itself is opaque")])


def tables():
    parts = ("tiles", tiles), ("swizzles", swizzles), ("columns", columns), ("stores", stores), ("reductions", reductions), ("together", together), ("replaced", replaced)
    for name, part in parts:
        table = Table(f"tensors/{name}", "tensors.py")
        part(table)
        yield table
