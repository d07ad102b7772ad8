"""Surfaces: `suld`, `sust`, `sured`, `suq` (section 9.7.11 of the PTX manual)."""

import random
from fractions import Fraction

import formats
from images import Image, single_bits
from table import Table, open_
from textures import ORDERS, THREADS, TYPES

GEOMETRIES = {
    "1d": ("{%x}", (8,), None), "2d": ("{%x, %r1}", (4, 2), None), "3d": ("{%x, %r1, %r2, %r2}", (4, 2, 2), None),
    "a1d": ("{%r3, %x}", (4,), 2), "a2d": ("{%r3, %x, %r1, %r1}", (4, 2), 2),
}  # fmt: skip
COUNTS = {"": 1, ".v2": 2, ".v4": 4}


def kernel(names, statements):
    """%r0 to %r3 are the place of a thread, %r4 to %r7 its data, also as %d0 and %d1, and the low halves of each as %h0 to %h3."""
    refs = " ".join(f".global .surfref {name};" for name in names)
    halves = " ".join(f"cvt.u16.u32 %h{n}, %r{4 + n};" for n in range(4))
    return (
        f"{refs}\n.visible .entry k(.param .u64 in, .param .u64 out)\n{{\n"
        ".reg .b32 %r<8>, %o<4>, %x, %lane; .reg .b16 %h<4>; .reg .b64 %in, %out, %d<2>;\n"
        "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n"
        "mad.wide.u32 %in, %lane, 32, %in; mad.wide.u32 %out, %lane, 16, %out;\n"
        "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%in]; ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%in+16];\n"
        f"mov.b64 %d0, {{%r4, %r5}}; mov.b64 %d1, {{%r6, %r7}}; {halves}\n" + "\n".join(statements) + "\nret;\n}"
    )


def registers(vector, width):
    """The registers of an access."""
    count = COUNTS[vector]
    names = [f"%{ {8: 'h', 16: 'h', 32: 'r', 64: 'd'}[width] }{n + (4 if width == 32 else 0)}" for n in range(count)]
    return names[0] if count == 1 else "{" + ", ".join(names) + "}"


class Space:
    """The bytes of an image, and which of them a place means."""

    def __init__(self, image):
        self.image = image
        self.bytes = bytearray(image.data())
        self.row = image.size[0] * image.channels * image.bits // 8

    def at(self, place, size, mode):
        """The first byte of an access at x (in bytes), y, z, layer; None where it does nothing."""
        sides = (*self.image.size[1:], 1, 1)[:2]
        x, y, z, layer = place
        y, z = (n if len(self.image.size) > axis else 0 for axis, n in ((1, y), (2, z)))
        inside = 0 <= x <= self.row - size and 0 <= y < sides[0] and 0 <= z < sides[1]
        if not inside and mode != "clamp":
            assert mode == "zero", "a trap"
            return None
        x, y, z = min(max(x, 0), self.row - size), min(max(y, 0), sides[0] - 1), min(max(z, 0), sides[1] - 1)
        return (((layer if self.image.layers else 0) * sides[1] + z) * sides[0] + y) * self.row + x

    def words(self):
        data = bytes(self.bytes) + bytes(-len(self.bytes) % 4)
        return [int.from_bytes(data[n : n + 4], "little") for n in range(0, len(data), 4)]


def places(source, image, size, inside):
    """Places in units of an access of that size, and some outside; each with four words of data."""
    row = image.size[0] * image.channels * image.bits // 8 // size
    beyond = 0 if inside else 2
    for _ in range(THREADS):
        sides = [row, *image.size[1:], 1, 1][:3]
        at = [source.randrange(-beyond, side + beyond) for side in sides]
        yield at + [source.randrange(image.layers or 1)], [source.getrandbits(32) for _ in range(4)]


def given(rows):
    return [word for at, data in rows for word in (*at, *data)]


def split(value, count):
    return [value >> (32 * n) & 0xFFFFFFFF for n in range(count)]


def loads(table):
    """Bytes as they are, of each width; outside the nearest, or zero."""
    table.section("9.7.11.1 suld")
    forms = [(v, w) for v in COUNTS for w in (8, 16, 32, 64) if (v, w) != (".v4", 64)]
    for geometry, (coordinates, sides, layers) in GEOMETRIES.items():
        shape = geometry[-2:]
        image = Image(shape, sides, "u32x2", layers, seed=geometry)
        space = Space(image)
        for mode in ("trap", "clamp", "zero"):
            source = random.Random(f"loads {geometry} {mode}")
            # A place in units of 16 bytes of rows of 32 or 64, which other widths take as units of theirs.
            rows = list(places(source, image, 16, mode == "trap"))
            chosen = forms if geometry in ("1d", "2d") else random.Random(geometry + mode).sample(forms, 4)
            statements, results = [], []
            for n, (vector, width) in enumerate(chosen):
                size = COUNTS[vector] * width // 8
                cache = ("", ".ca", ".cg", ".cs", ".cv")[n % 5] if mode != "clamp" else ""
                text = f"mul.lo.s32 %x, %r0, {size}; suld.b.{geometry}{cache}{vector}.b{width}.{mode} {registers(vector, width)}, [s, {coordinates}];"
                used = size // 4 if width > 16 else COUNTS[vector]
                kind = {8: "cvt.u32.u8 %o{0}, %h{0};", 16: "cvt.u32.u16 %o{0}, %h{0};", 32: "mov.b32 %o{0}, %r{1};", 64: ""}[width]
                text += " " + " ".join(kind.format(i, 4 + i) for i in range(used))
                if width == 64:
                    text += " ".join(f"mov.b64 {{%o{2 * i}, %o{2 * i + 1}}}, %d{i};" for i in range(COUNTS[vector]))
                text += "".join(f" mov.b32 %o{i}, 0;" for i in range(used, 4))
                statements += [text, f"st.global.v4.b32 [%out+{16 * THREADS * n}], {{%o0, %o1, %o2, %o3}};"]
                for (x, y, z, layer), _ in rows:
                    at = space.at((x * size, y, z, layer), size, mode)
                    bits = 0 if at is None else int.from_bytes(space.bytes[at : at + size], "little")
                    parts = [bits >> (width * i) & ((1 << width) - 1) for i in range(COUNTS[vector])] if width < 64 else split(bits, used)
                    results += parts + [0] * (4 - len(parts))
            objects = [f"block {THREADS}", f"surface s in+{32 * THREADS} {image.line()}"]
            case = ("all", "b32", given(rows) + image.words(), "b32", results)
            table.program(f"{geometry} {mode}", kernel("s", statements), [case], objects)


def once(space, rows, size, mode):
    """Rows without those whose place another one before them has."""
    seen, kept = set(), []
    for at, data in rows:
        start = space.at((at[0] * size, *at[1:]), size, mode)
        if start is not None and start in seen:
            continue
        seen.add(start)
        kept.append((at, data))
    return kept


def stores(table):
    """Bytes as they are: `sust.b`."""
    table.section("9.7.11.2 sust")
    forms = [(v, w) for v in COUNTS for w in (8, 16, 32, 64) if (v, w) != (".v4", 64)]
    for geometry, (coordinates, sides, layers) in GEOMETRIES.items():
        for mode in ("trap", "clamp", "zero"):
            chosen = forms if geometry == "1d" else random.Random(geometry + mode).sample(forms, 4)
            image = Image(geometry[-2:], sides, "u32x2", layers, seed=mode)
            bytes_of_one = len(image.data())
            source = random.Random(f"stores {geometry} {mode}")
            # All widths write at the same places; whole rows in units of 16 bytes are in all of them.
            rows = once(Space(image), list(places(source, image, 16, mode == "trap")), 16, mode)
            statements, objects, results = [], [f"block {len(rows)}"], []
            for n, (vector, width) in enumerate(chosen):
                size, space = COUNTS[vector] * width // 8, Space(image)
                cache = ("", ".wb", ".cg", ".cs", ".wt")[n % 5] if mode != "clamp" else ""
                # Units of 16 bytes, so that no two threads meet in the narrow forms either.
                statements.append(f"mul.lo.s32 %x, %r0, 16; sust.b.{geometry}{cache}{vector}.b{width}.{mode} [s{n}, {coordinates}], {registers(vector, width)};")
                objects.append(f"surface s{n} out+{bytes_of_one * n} {image.line()}")
                for (x, y, z, layer), data in rows:
                    at = space.at((16 * x, y, z, layer), size, mode)
                    low = [word & ((1 << width) - 1) for word in data[: COUNTS[vector]]]
                    bits = sum(word << (width * i) for i, word in enumerate(low)) if width < 64 else sum(word << (32 * i) for i, word in enumerate(data[: size // 4]))
                    if at is not None:
                        space.bytes[at : at + size] = bits.to_bytes(size, "little")
                results += space.words()
            case = ("all", "b32", given(rows), "b32", results, ("b32", image.words() * len(chosen)))
            table.program(f"{geometry} {mode}", kernel([f"s{n}" for n in range(len(chosen))], statements), [case], objects)


def formatted(table):
    """Numbers that become those of the surface's format: `sust.p`. Only numbers that the format has: the manual does not say how others are rounded."""
    table.section("9.7.11.2 sust")
    note = ("v", "components of the surface that the store does not have are unpredictable")
    for n, texel in enumerate(("f32x4", "f32x1", "u32x2", "s32x1", "f16x4", "u8x4", "s16x2", "s8x1", "u16x4", "un8x4", "sn16x2", "un16x1")):
        geometry = ("1d", "2d", "3d")[n % 3]
        coordinates, sides, _ = GEOMETRIES[geometry]
        image = Image(geometry, sides, texel, seed="formatted")
        source = random.Random(f"formatted {texel}")
        size = image.channels * image.bits // 8
        modes = ("trap", "clamp", "zero")
        statements, objects, results, before, rows = [], [], [], [], None
        for m, vector in enumerate(COUNTS):
            mode = modes[(n + m) % 3]
            if rows is None:
                rows = [(at, data_of(image, source)) for at, _ in once(Space(image), list(places(source, image, size, True)), size, "zero")]
            space = Space(image)
            name = f"s{m}"
            statements.append(f"sust.p.{geometry}{vector}.b32.{mode} [{name}, {coordinates.replace('%x', '%r0')}], {registers(vector, 32)};")
            words = len(image.words())
            objects.append(f"surface {name} out+{4 * words * m} {image.line()}")
            unknown = set()
            for (x, y, z, layer), data in rows:
                at = space.at((x * size, y, z, layer), size, mode)
                for c in range(image.channels):
                    start = at + c * image.bits // 8
                    if c < COUNTS[vector]:
                        space.bytes[start : start + image.bits // 8] = encoded(image, data[c]).to_bytes(image.bits // 8, "little")
                    else:
                        unknown |= {start + i for i in range(image.bits // 8)}
            results += [open_("v") if unknown & set(range(4 * w, 4 * w + 4)) else word for w, word in enumerate(space.words())]
            before += image.words()
        case = ("all", "b32", given(rows), "b32", results, ("b32", before))
        notes = [note] if open_("v") in results else []
        table.program(f"{geometry} {texel}", kernel(["s0", "s1", "s2"], statements), [case], [f"block {len(rows)}"] + objects, None, notes=notes)


def data_of(image, source):
    """Four words of numbers that the format has: floats, or integers of its kind."""
    if image.kind == "f":
        return [single_bits(Fraction(source.randint(-100, 100), 4)) for _ in range(4)]
    if image.kind == "un":
        return [single_bits(source.choice([0, 1])) for _ in range(4)]
    if image.kind == "sn":
        return [single_bits(source.choice([-1, 0, 1])) for _ in range(4)]
    low = -(1 << (image.bits - 1)) if image.kind == "s" else 0
    return [source.randrange(low, low + (1 << image.bits)) & 0xFFFFFFFF for _ in range(4)]


def encoded(image, word):
    """A component in memory."""
    if image.kind in ("u", "s"):
        return word & ((1 << image.bits) - 1)
    number = formats.F32.decode(word)
    if image.kind == "f":
        return (formats.F32 if image.bits == 32 else formats.F16).encode(number)
    whole = (1 << (image.bits - (image.kind == "sn"))) - 1
    return int(number.value * whole) & ((1 << image.bits) - 1)


def combined(op, kind, old, new):
    width = int(kind[1:])
    number = lambda value: value - (1 << width) if kind[0] == "s" and value >> (width - 1) else value
    a, b = number(old), number(new)
    return {"add": a + b, "min": min(a, b), "max": max(a, b), "and": a & b, "or": a | b}[op] & ((1 << width) - 1)


def reductions(table):
    """All threads that meet at a place take part: the operations commute."""
    table.section("9.7.11.3 sured")
    by_bytes = [(op, kind) for op in ("add", "min", "max") for kind in ("u32", "s32")] + [("add", "u64")]
    by_bytes += [(op, kind) for op in ("min", "max") for kind in ("u64", "s64")] + [("and", "b32"), ("or", "b32")]
    by_samples = [(op, kind) for op in ("add", "min", "max", "and", "or") for kind in ("u32", "s32")]
    cases = [("sured.b", by_bytes, None), ("sured.p", [row for row in by_samples if row[1] == "u32"], "u32x1"), ("sured.p", [row for row in by_samples if row[1] == "s32"], "s32x1")]
    for geometry in ("1d", "2d", "3d"):
        coordinates, sides, _ = GEOMETRIES[geometry]
        for name, forms, texel in cases:
            for mode in ("trap", "clamp", "zero"):
                chosen = forms if geometry == "1d" else random.Random(geometry + mode + name).sample(forms, 3)
                image = Image(geometry, sides, texel or "u32x2", seed=f"reduced {mode}")
                unit = 8 if texel is None else 4
                source = random.Random(f"reduce {geometry} {mode} {name} {texel}")
                rows = list(places(source, image, unit, mode == "trap"))
                statements, objects, results = [], [f"block {THREADS}"], []
                for n, (op, kind) in enumerate(chosen):
                    size, space = int(kind[1:]) // 8, Space(image)
                    scaled = f"mul.lo.s32 %x, %r0, {unit if name == 'sured.b' else 1};"
                    word = {"sured.b": kind, "sured.p": "b32"}[name]
                    statements.append(f"{scaled} {name}.{op}.{geometry}.{word}.{mode} [s{n}, {coordinates}], {'%d0' if size == 8 else '%r4'};")
                    objects.append(f"surface s{n} out+{len(image.data()) * n} {image.line()}")
                    for (x, y, z, layer), data in rows:
                        at = space.at((x * unit, y, z, layer), size, mode)
                        new = data[0] if size == 4 else data[0] | data[1] << 32
                        if at is not None:
                            old = int.from_bytes(space.bytes[at : at + size], "little")
                            space.bytes[at : at + size] = combined(op, kind, old, new).to_bytes(size, "little")
                    results += space.words()
                case = ("all", "b32", given(rows), "b32", results, ("b32", image.words() * len(chosen)))
                program = f"{name} {geometry} {texel or 'bytes'} {mode}"
                table.program(program, kernel([f"s{n}" for n in range(len(chosen))], statements), [case], objects)


def queries(table):
    """Properties that a program can ask for; how memory is laid out is the driver's."""
    table.section("9.7.11.4 suq, 5.3")
    for geometry, texel in (("1d", "u8x4"), ("2d", "f16x2"), ("3d", "s32x1"), ("a1d", "u16x2"), ("a2d", "f32x4")):
        _, sides, layers = GEOMETRIES[geometry]
        image = Image(geometry[-2:], sides, texel, layers)
        asked = {"width": sides[0], "channel_data_type": TYPES[f"{image.kind}{image.bits}"], "channel_order": ORDERS[image.channels]}
        asked |= {"height": sides[1]} if len(sides) > 1 else {}
        asked |= {"depth": sides[2]} if len(sides) > 2 else {}
        asked |= {"array_size": layers} if layers else {}
        statements = [f"suq.{name}.b32 %o0, [s]; st.global.b32 [%out+{4 * n}], %o0;" for n, name in enumerate(asked)]
        objects = ["block 1", f"surface s in+32 {image.line()}"]
        case = ("all", "b32", [0] * 8 + image.words(), "b32", list(asked.values()))
        table.program(f"{geometry} {texel}", kernel("s", statements), [case], objects)


def tables():
    for name, part in (("loads", loads), ("stores", stores), ("formatted", formatted), ("reductions", reductions), ("queries", queries)):
        table = Table(f"surfaces/{name}", "surfaces.py")
        part(table)
        yield table
