"""Textures: `tex`, `tld4`, `txq`, `istypep` (section 9.7.10 of the PTX manual)."""

import random
from fractions import Fraction
from math import floor

import formats
from images import HALF, Image, Sampler, between_levels, blend, face, integer, single, single_bits
from table import Table, open_

THREADS = 8
CHANNELS = ("c", "what a texture gives for a component that its format does not have")
# How a kernel names the place: %r0 to %r2 are x, y, z; %r3 the layer or the sample, %r2 the sample where both are there.
PLACES = {
    "1d": "{%r0}", "2d": "{%r0, %r1}", "3d": "{%r0, %r1, %r2, %r2}", "a1d": "{%r3, %r0}", "a2d": "{%r3, %r0, %r1, %r1}",
    "cube": "{%r0, %r1, %r2, %r2}", "acube": "{%r3, %r0, %r1, %r2}", "2dms": "{%r3, %r0, %r1, %r1}", "a2dms": "{%r2, %r3, %r0, %r1}",
}  # fmt: skip
WORDS = "{%o0, %o1, %o2, %o3}"


def kernel(declarations, statements):
    """Each statement writes four words of each thread."""
    body = ""
    for n, statement in enumerate(statements):
        body += f"{statement}\nst.global.v4.b32 [%out+{16 * THREADS * n}], {WORDS};\n"
    return (
        f"{declarations}\n.visible .entry k(.param .u64 in, .param .u64 out)\n{{\n"
        ".reg .b32 %r<4>, %o<4>, %lane; .reg .b64 %in, %out, %d; .reg .pred %p;\n"
        "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;\n"
        "mad.wide.u32 %in, %lane, 16, %in; mad.wide.u32 %out, %lane, 16, %out;\n"
        f"ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%in];\n{body}ret;\n}}"
    )


class Reads:
    """A program: an image, a sampler, and lookups at places, which have the coordinates of a thread and its layer or sample."""

    def __init__(self, image, sampler, places, independent=False):
        self.image, self.sampler, self.places = image, sampler, places
        self.independent = independent
        self.object = "t, s" if independent else "t"
        self.statements, self.results = [], []

    def add(self, statement, function):
        """PTX with `[@` before the texture (and sampler), and the four results of a place."""
        self.statements.append(statement.replace("[@", f"[{self.object}"))
        for place in self.places:
            words = list(function(*place))
            self.results += words + [0] * (4 - len(words))

    def write(self, table, name, without=()):
        coordinates = []
        for *at, more in self.places:
            words = [single_bits(x) if isinstance(x, Fraction) else x for x in at]
            coordinates += words + [0] * (3 - len(words)) + [more]
        declarations = ".global .texref t;" + (" .global .samplerref s;" if self.independent else "")
        shape = [f"block {THREADS}"] + ["mode texmode_independent"] * self.independent
        shape.append(f"texture t in+{16 * THREADS} {self.image.line(*self.sampler.options)}")
        shape += [f"sampler s {','.join(self.sampler.options)}"] * self.independent
        case = ("all", "b32", coordinates + self.image.words(), "b32", self.results)
        notes = [CHANNELS] if any(result == open_("c") for result in self.results) else []
        table.program(name, kernel(declarations, self.statements), [case], shape, None, without, notes)


def padded(words, value=open_("c")):
    """The components that are there."""
    return words + [value] * (4 - len(words))


def halves(words):
    """Numbers as pairs of halves, zeros behind them."""
    bits = [formats.F16.encode(formats.exactly(word)) for word in words]
    return [bits[0] | bits[1] << 16, bits[2] | bits[3] << 16]


def texels(geometry, texel, seed=0, **more):
    """A small image of the geometry."""
    shape = {"a1d": "1d", "a2d": "2d", "2dms": "2d", "a2dms": "2d", "acube": "cube"}.get(geometry, geometry)
    size = {"1d": (8,), "2d": (4, 2), "3d": (4, 2, 2), "cube": (2, 2)}[shape]
    layers = {"a1d": 3, "a2d": 2, "acube": 2, "a2dms": 2}.get(geometry)
    return Image(shape, size, texel, layers, samples=2 if "ms" in geometry else 1, seed=seed, **more)


def whole_places(geometry, image):
    """Numbers of texels, all inside."""
    source = random.Random(geometry)
    for _ in range(THREADS):
        at = [source.randrange(side) for side in image.size]
        if geometry == "a2dms":
            at.append(source.randrange(image.samples))
        more = source.randrange(image.samples if geometry == "2dms" else image.layers or 1)
        yield (*at, more)


def real_places(geometry, image, parts=4):
    """Places inside of texels, away from where one ends."""
    source = random.Random("real " + geometry)
    for _ in range(THREADS):
        if image.shape == "cube":
            # The greatest is 1; the others are odd sixteenths, which are inside of texels of small faces.
            at = [Fraction(source.choice([-7, -5, -3, -1, 1, 3, 5, 7]), 16) for _ in range(3)]
            at[source.randrange(3)] = Fraction(source.choice([-1, 1]))
        else:
            at = [source.randrange(side) + Fraction(source.randrange(1, parts), parts) for side in image.size]
        yield (*at, source.randrange(image.layers or 1))


def found(image, geometry, at, more):
    """Place, layer and sample of coordinates: of floats the texel that they are in."""
    if image.shape == "cube":
        number, (s, t) = face(*at)
        side = image.size[0]
        return (floor(s * side), floor(t * side)), 6 * (more if geometry == "acube" else 0) + number, 0
    if geometry == "a2dms":
        return tuple(at[:2]), more, at[2]
    place = tuple(floor(x) for x in at)
    return place, (0 if geometry == "2dms" else more), (more if geometry == "2dms" else 0)


def geometries(table):
    """The nearest texel, in each geometry and of each type."""
    table.section("9.7.10.3 tex")
    for geometry in PLACES:
        for coordinate in ("f32", "s32"):
            if ("cube" in geometry and coordinate == "s32") or ("ms" in geometry and coordinate == "f32"):
                continue
            sampler = Sampler("normalized") if "cube" in geometry else Sampler("nearest")
            for texel, kinds in (("f32x4", ("f32", "f16x2")), ("u16x2", ("u32",)), ("s8x4", ("s32",)), ("u32x1", ("u32",)), ("f16x4", ("f32",))):
                if texel in ("u32x1", "f16x4") and geometry not in ("1d", "2d", "a2d"):
                    continue
                if texel == ("u16x2" if coordinate == "f32" else "s8x4") and "cube" not in geometry and "ms" not in geometry:
                    continue
                image = texels(geometry, texel)
                places = list((real_places if coordinate == "f32" else whole_places)(geometry, image))
                reads = Reads(image, sampler, places, independent=texel == "u16x2")

                def raw(*place):
                    at, piece, sample = found(image, geometry, place[:-1], place[-1])
                    return image.raw[0, piece, at, sample]

                def read(*place):
                    if image.kind == "f":
                        return padded([single(image.number(bits)) for bits in raw(*place)])
                    return padded([integer(image, bits) for bits in raw(*place)])

                for kind in kinds:
                    for base in ("", ".base") if kind == "f32" else ("",):
                        if kind == "f16x2":
                            text = f"tex{base}.{geometry}.v2.f16x2.{coordinate} {{%o0, %o1}}, [@, {PLACES[geometry]}]; mov.b32 %o2, 0; mov.b32 %o3, 0;"
                            reads.add(text, lambda *place: halves([image.number(bits) for bits in raw(*place)]))
                        elif base == "" or "ms" not in geometry:
                            reads.add(f"tex{base}.{geometry}.v4.{kind}.{coordinate} {WORDS}, [@, {PLACES[geometry]}];", read)
                reads.write(table, f"{geometry} {texel} {coordinate}")


def offsets(table):
    """Offsets in texels, residency, a guard, a component that is not wanted."""
    table.section("9.7.10.3 tex")
    image, sampler = texels("2d", "f32x4"), Sampler("nearest")
    places = [(Fraction(2 * x + 1, 2), Fraction(2 * y + 1, 2), 0) for x, y in zip(random.Random(1).choices(range(4), k=THREADS), random.Random(2).choices(range(2), k=THREADS))]
    reads = Reads(image, sampler, places)
    read = lambda x, y, offset: [single(value) for value in blend(image, sampler, (x, y), offset=offset)]
    for offset in ((1, 1), (-8, 7), (7, -8), (0, -1)):
        reads.add(f"tex.2d.v4.f32.f32 {WORDS}, [@, {PLACES['2d']}], {{{offset[0]}, {offset[1]}}};", lambda x, y, _: read(x, y, offset))
    plain = lambda x, y, _: read(x, y, (0, 0))
    reads.add(f"tex.2d.v4.f32.f32 {WORDS}|%p, [@, {PLACES['2d']}]; selp.b32 %o3, 1, 0, %p;", lambda *place: plain(*place)[:3] + [1])
    reads.add("mov.b32 %o1, 77; tex.2d.v4.f32.f32 {%o0, _, %o2, %o3}, [@, {%r0, %r1}];", lambda *place: [77 if n == 1 else word for n, word in enumerate(plain(*place))])
    guarded = "and.b32 %o0, %lane, 1; setp.ne.u32 %p, %o0, 0; mov.b32 %o0, 1; mov.b32 %o1, 2; mov.b32 %o2, 3; mov.b32 %o3, 4;\n"
    order = iter(range(THREADS))
    reads.add(f"{guarded}@%p tex.2d.v4.f32.f32 {WORDS}, [@, {{%r0, %r1}}];", lambda *place: plain(*place) if next(order) % 2 else [1, 2, 3, 4])
    reads.add(f"mov.u64 %d, t; tex.2d.v4.f32.f32 {WORDS}, [%d, {{%r0, %r1}}];", plain)
    reads.write(table, "offsets and the like")
    for geometry, offset in (("1d", (-1,)), ("3d", (1, -1, 1)), ("a1d", (2,)), ("a2d", (-1, 1))):
        image = texels(geometry, "f32x4")
        for coordinate in ("f32", "s32"):
            # The texel at the offset is inside: what integers outside mean is not said.
            inside = [tuple(s for s in range(side) if 0 <= s + shift < side) for side, shift in zip(image.size, offset)]
            source = random.Random(geometry)
            at = [[source.choice(side) for side in inside] for _ in range(THREADS)]
            places = [(*((Fraction(2 * x + 1, 2) if coordinate == "f32" else x) for x in row), source.randrange(image.layers or 1)) for row in at]
            reads = Reads(image, Sampler("nearest"), places)
            shifts = ", ".join(str(shift) for shift in offset + offset[:1] * (len(offset) == 3))
            read = lambda *place: image.raw[0, place[-1], tuple(floor(x) + shift for x, shift in zip(place, offset)), 0]
            for base, level in (("", ""), (".base", ""), (".level", "%o0, ")):
                text = f"mov.b32 %o0, 0; tex{base}.{geometry}.v4.f32.{coordinate} {WORDS}, [@, {PLACES[geometry]}], {level}{{{shifts}}};"
                reads.add(text, lambda *place: [single(image.number(bits)) for bits in read(*place)])
            reads.write(table, f"offset {geometry} {coordinate}")


def modes(table):
    """Coordinates outside, for each address mode, both filters, plain and normalised."""
    table.section("9.7.10.3 tex; CUDA C++ Programming Guide: texture memory, address modes; Texture Fetching")
    for geometry in ("1d", "2d", "3d", "a1d"):
        image = texels(geometry, "f32x4" if geometry == "1d" else "f16x2")
        source = random.Random("modes " + geometry)
        for options in [(f, *n, m) for m in ("clamp", "border", "wrap", "mirror") for f in ("nearest", "linear") for n in ((), ("normalized",))]:
            if geometry in ("3d", "a1d") and (len(options) == 2 or options[-1] == "clamp"):
                continue
            sampler = Sampler(*options)
            # Whole eighths of a texel, an odd number: their weights are exact, and no nearest texel is in doubt.
            at = lambda side: Fraction(2 * source.randrange(-5 * side * 4, 9 * side * 4) + 1, 8)
            places = []
            for _ in range(THREADS):
                row = [at(side) / (side if sampler.normalized else 1) for side in image.size]
                places.append((*row, source.randrange(image.layers or 1)))
            reads = Reads(image, sampler, places, independent=options[-1] in ("border", "wrap"))
            text = f"tex.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}];"
            reads.add(text, lambda *place: padded([single(value) for value in blend(image, sampler, place[:-1], piece=place[-1])]))
            reads.write(table, f"{geometry} {' '.join(options)}")


def weights(table):
    """Weights of every kind, of which eight bits are kept; integers that mean 0 to 1 or -1 to 1."""
    table.section("9.7.10.3 tex; CUDA C++ Programming Guide: Texture Fetching")
    source = random.Random("weights")
    image = texels("1d", "f32x4", 5)
    for name, parts in (("256ths", 256), ("1024ths", 1024)):
        places = [(Fraction(source.randrange(8 * parts), parts), 0) for _ in range(THREADS)]
        reads = Reads(image, Sampler("linear"), places)
        reads.add(f"tex.1d.v4.f32.f32 {WORDS}, [@, {{%r0}}];", lambda x, _: [single(value) for value in blend(image, Sampler("linear"), (x,))])
        reads.write(table, f"1d, {name}")
    for geometry, parts in (("2d", 16), ("3d", 8), ("a2d", 16)):
        image = texels(geometry, "f16x4", 6)
        places = list(real_places(geometry, image, parts))
        reads = Reads(image, Sampler("linear"), places)
        text = f"tex.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}];"
        reads.add(text, lambda *place: [single(value) for value in blend(image, Sampler("linear"), place[:-1], piece=place[-1])])
        reads.write(table, f"{geometry}, {parts}ths")
    for texel in ("un8x4", "sn8x4", "un16x2", "sn16x4", "un8x1"):
        edges = [0, 1, -1, 1 << 6, (1 << 7) - 1, 1 << 7, 1 << 15, (1 << 15) - 1]
        bits = int(texel[2 : texel.index("x")])
        given = lambda place, n: edges[(place[2][0] + 3 * n) % 8] & ((1 << bits) - 1)
        image = Image("1d", (8,), texel, values=given)
        for options in (("nearest",), ("linear",)):
            sampler = Sampler(*options)
            places = [(Fraction(4 * n + 1, 4), 0) for n in range(THREADS)]
            reads = Reads(image, sampler, places)
            reads.add(f"tex.1d.v4.f32.f32 {WORDS}, [@, {{%r0}}];", lambda x, _: padded([single(value) for value in blend(image, sampler, (x,))]))
            reads.write(table, f"{texel} {options[0]}")


def levels(table):
    """Levels of detail: the first, one that is given, one that gradients along one axis give."""
    table.section("9.7.10.3 tex")
    for geometry in ("1d", "2d", "3d", "a1d", "a2d"):
        shape = geometry[-2:]
        size = {"1d": (16,), "2d": (16, 8), "3d": (8, 8, 4)}[shape]
        texel = "f32x4" if shape == "1d" else "f16x2" if shape == "2d" else "f16x1"
        image = Image(shape, size, texel, 2 if geometry[0] == "a" else None, levels=4)
        source = random.Random("levels " + geometry)
        filters = ("nearest",), ("linear", "mip", "wrap"), ("linear",), ("nearest", "mip")
        first = 2 * (geometry in ("2d", "a1d"))
        for options in [(*words, "normalized") for words in filters[first : first + 2]]:
            sampler = Sampler(*options)
            places = []
            for _ in range(THREADS):
                # Odd eighths of the texels of level 0: no place is where a texel of any level ends.
                at = [Fraction(2 * source.randrange(side * 4) + 1, 8 * side) for side in size]
                places.append((*at, source.randrange(image.layers or 1)))
            reads = Reads(image, sampler, places, independent=len(options) == 2)

            def read(level, *place):
                at = lambda level: blend(image, sampler, place[:-1], level, place[-1])
                return padded([single(value) for value in between_levels(image, sampler, Fraction(level), at)])

            reads.add(f"tex.base.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}];", lambda *place: read(0, *place))
            for level in (0, 1, 3, Fraction(9, 4), Fraction(-3), Fraction(40)) if sampler.mip else (1, Fraction(7, 4), 2, Fraction(-5), Fraction(40)):
                text = f"mov.b32 %o0, 0f{single_bits(level):08x}; tex.level.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}], %o0;"
                reads.add(text, lambda *place: read(level, *place))
            for level in (0, 2, 3):
                step = f"0f{single_bits(Fraction(1 << level, size[0])):08x}"
                axes = {"1d": ("%o0", "%o1"), "2d": ("%o0, %o1", "%o1, %o1"), "3d": ("%o0, %o1, %o1, %o1", "%o1, %o1, %o1, %o1")}[shape]
                text = f"mov.b32 %o0, {step}; mov.b32 %o1, 0; tex.grad.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}], {{{axes[0]}}}, {{{axes[1]}}};"
                reads.add(text, lambda *place: read(level, *place))
            without = [] if shape != "3d" else [("ptxas@sm_90", "it calls the driver for gradients of volumes")]
            reads.write(table, f"{geometry} {' '.join(options)}", without)
    # Numbers of texels of a level.
    image = Image("2d", (16, 8), "s16x4", levels=4)
    places = [(n % 2, 0, 0) for n in range(THREADS)]
    reads = Reads(image, Sampler("nearest"), places)
    for level in range(4):
        text = f"mov.b32 %o0, {level}; tex.level.2d.v4.s32.s32 {WORDS}, [@, {PLACES['2d']}], %o0;"
        reads.add(text, lambda x, y, _: [integer(image, bits) for bits in image.raw[level, 0, (x, y), 0]])
    reads.write(table, "2d, numbers of texels")


def cubes(table):
    """Faces, each reached from many directions, between texels too; levels of cubes."""
    table.section("9.7.10.3 tex; CUDA C++ Programming Guide: Cubemap Textures")
    for geometry in ("cube", "acube"):
        image = Image("cube", (4, 4), "f16x2", 2 if geometry == "acube" else None)
        source = random.Random("cubes " + geometry)
        for options in (("nearest", "normalized"), ("linear", "normalized")):
            sampler = Sampler(*options)
            places = []
            for n in range(THREADS):
                # On a face from -1 to 1 a texel is half wide. Between the centres of texels, so that no other face takes part.
                at = [Fraction(source.choice([-9, -5, -3, -1, 1, 3, 5, 9]), 16) for _ in range(3)]
                at[n % 3] = Fraction(1 if n // 3 % 2 else -1)
                scale = source.choice([1, 2, Fraction(1, 4)])
                places.append((*(x * scale for x in at), source.randrange(image.layers or 1)))
            reads = Reads(image, sampler, places, independent=options[0] == "linear")

            def read(*place):
                number, at = face(*place[:-1])
                return padded([single(value) for value in blend(image, sampler, at, piece=6 * place[-1] + number)])

            reads.add(f"tex.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}];", read)
            reads.add(f"tex.base.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}];", read)
            reads.add(f"mov.b32 %o0, 0; tex.level.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}], %o0;", read)
            reads.write(table, f"{geometry} {options[0]}")


def gather(table):
    """`tld4`: one component of the four texels that a linear filter would blend."""
    table.section("9.7.10.4 tld4")
    for geometry, texel, kind in (("2d", "f32x4", "f32"), ("a2d", "u16x4", "u32"), ("2d", "s8x2", "s32"), ("cube", "f16x2", "f32"), ("acube", "f16x2", "f32")):
        flat = "cube" not in geometry
        image = texels(geometry, texel, 7) if flat else Image("cube", (4, 4), texel, 2 if geometry == "acube" else None, seed=7)
        source = random.Random("gather " + geometry)
        if flat:
            places = [(Fraction(2 * source.randrange(-4, 12) + 1, 4), Fraction(2 * source.randrange(-4, 8) + 1, 4), source.randrange(image.layers or 1)) for _ in range(THREADS)]
        else:
            places = []
            for n in range(THREADS):
                at = [Fraction(source.choice([-9, -5, -3, 3, 5, 9]), 16) for _ in range(3)]
                at[n % 3] = Fraction(1 if n // 3 % 2 else -1)
                places.append((*at, source.randrange(image.layers or 1)))
        reads = Reads(image, Sampler("nearest", *([] if flat else ["normalized"])), places, independent=geometry == "a2d")

        def corners(*place, component=0, shift=(0, 0)):
            piece, at = place[-1], [x for x in place[:-1]]
            if not flat:
                number, at = face(*place[:-1])
                piece, at = 6 * place[-1] + number, [x * image.size[0] for x in at]
            left, top = (floor(x - HALF) + d for x, d in zip(at, shift))
            inside = lambda x, y: tuple(min(max(i, 0), side - 1) for i, side in zip((x, y), image.size))
            for x, y in ((left, top + 1), (left + 1, top + 1), (left + 1, top), (left, top)):
                bits = image.raw[0, piece, inside(x, y), 0][component]
                yield single(image.number(bits)) if image.kind == "f" else integer(image, bits)

        for component, name in enumerate("rgba"[: image.channels]):
            reads.add(f"tld4.{name}.{geometry}.v4.{kind}.f32 {WORDS}, [@, {PLACES[geometry]}];", lambda *place: corners(*place, component=component))
        if flat:
            reads.add(f"tld4.g.{geometry}.v4.{kind}.f32 {WORDS}, [@, {PLACES[geometry]}], {{-1, 2}};", lambda *place: corners(*place, component=1, shift=(-1, 2)))
        reads.write(table, f"{geometry} {texel}")


def depth(table):
    """A depth is compared with each texel, and what comes of it (1 or 0) is filtered."""
    table.section("9.7.10.3 tex, 9.7.10.4 tld4")
    for geometry in ("1d", "2d", "a1d", "a2d", "cube", "acube"):
        image = texels(geometry, "f32x1", 8)
        places = list(real_places(geometry, image, 8))
        for options in (("nearest", "ge"), ("linear", "le")):
            if options[0] == "linear" and "cube" in geometry:
                continue
            sampler = Sampler(*options, *(["normalized"] if "cube" in geometry else []))
            reads = Reads(image, sampler, places, independent=options[0] == "linear")
            for value in (Fraction(5, 2), Fraction(-17)):
                judge = lambda texel: Fraction(value >= texel if "ge" in options else value <= texel)

                def read(*place):
                    piece, at = place[-1], place[:-1]
                    if "cube" in geometry:
                        number, at = face(*place[:-1])
                        piece = 6 * place[-1] + number
                    return padded([single(result) for result in blend(image, sampler, at, piece=piece, judge=judge)])

                text = f"mov.b32 %o0, 0f{single_bits(value):08x}; tex.{geometry}.v4.f32.f32 {WORDS}, [@, {PLACES[geometry]}], %o0;"
                reads.add(text, read)
            reads.write(table, f"{geometry} {' '.join(options)}")
    image, sampler = texels("2d", "f32x1", 8), Sampler("nearest", "ge")
    places = list(real_places("2d", image, 8))
    reads = Reads(image, sampler, places)

    def corners(x, y, _):
        left, top = floor(x - HALF), floor(y - HALF)
        for i, j in ((left, top + 1), (left + 1, top + 1), (left + 1, top), (left, top)):
            at = tuple(min(max(n, 0), side - 1) for n, side in zip((i, j), image.size))
            yield single(Fraction(3 >= image.number(image.raw[0, 0, at, 0][0])))

    reads.add(f"mov.b32 %o0, 0f40400000; tld4.r.2d.v4.f32.f32 {WORDS}, [@, {PLACES['2d']}], %o0;", corners)
    reads.write(table, "tld4 2d ge")


# Section 5.3.3: what OpenCL's numbers for types and orders of channels are.
TYPES = {"sn8": 0x10D0, "sn16": 0x10D1, "un8": 0x10D2, "un16": 0x10D3, "s8": 0x10D7, "s16": 0x10D8, "s32": 0x10D9, "u8": 0x10DA, "u16": 0x10DB, "u32": 0x10DC, "f16": 0x10DD, "f32": 0x10DE}  # fmt: skip
ORDERS = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}


def queries(table):
    """Properties that a program can ask for; the numbers of filters and address modes are nowhere said."""
    table.section("9.7.10.5 txq, 5.3")
    for geometry, texel, options, more in (
        ("1d", "u8x4", ("normalized",), {}), ("2d", "un8x2", (), {}), ("3d", "f16x1", ("normalized",), {"levels": 2}),
        ("a1d", "s16x1", (), {}), ("a2d", "f32x4", (), {"levels": 3}), ("2d", "sn16x2", (), {}), ("2d", "u32x1", (), {"levels": 4}), ("2dms", "s32x2", (), {}),
    ):  # fmt: skip
        image = texels(geometry, texel)
        if "levels" in more:
            image = Image(image.shape, image.size, texel, image.layers, levels=more["levels"])
        reads = Reads(image, Sampler(*options), [(0, 0)] * THREADS)
        sides = list(image.size)
        given = {"width": sides[0], "channel_data_type": TYPES[f"{image.kind}{image.bits}"], "channel_order": ORDERS[image.channels], "normalized_coords": int("normalized" in options), "num_mipmap_levels": image.levels}  # fmt: skip
        given |= {"height": sides[1]} if len(sides) > 1 else {}
        given |= {"depth": sides[2]} if len(sides) > 2 else {}
        given |= {"array_size": image.layers} if image.layers else {}
        given |= {"num_samples": image.samples} if image.samples > 1 else {}
        asked = list(given.items())
        for n in range(0, len(asked), 4):
            part = asked[n : n + 4]
            text = " ".join(f"txq.{name}.b32 %o{at}, [t];" for at, (name, _) in enumerate(part))
            text += "".join(f" mov.b32 %o{at}, 0;" for at in range(len(part), 4))
            reads.add(text, lambda *_: [value for _, value in part])
        for level in range(1, image.levels):
            extent = image.extent(level)
            text = " ".join(f"txq.level.{name}.b32 %o{at}, [t], {level};" for at, name in enumerate(("width", "height", "depth")[: len(extent)]))
            text += "".join(f" mov.b32 %o{at}, 0;" for at in range(len(extent), 4))
            reads.add(text, lambda *_: extent)
        reads.write(table, f"{geometry} {texel}")
    table.section("9.7.10.6 istypep")
    body = "".join(
        f"mov.u64 %d, {name}; istypep.{kind} %p, %d; selp.u32 %o{n % 4}, 1, 0, %p;" + ("\n" if n % 4 == 3 else " ")
        for n, (name, kind) in enumerate((name, kind) for name in "tu" for kind in ("texref", "surfref"))
    )
    code = kernel(".global .texref t; .global .surfref u;", [body.strip()])
    shape = [f"block {THREADS}", f"texture t in+{16 * THREADS} 1d:4:u32x1", f"surface u in+{16 * THREADS} 1d:4:u32x1"]
    table.program("kinds", code, [("all", "b32", [0] * (4 * THREADS + 8), "b32", [1, 0, 0, 1] * THREADS)], shape)


def tables():
    parts = ("geometries", geometries), ("offsets", offsets), ("modes", modes), ("weights", weights), ("levels", levels), ("cubes", cubes), ("gather", gather), ("depth", depth), ("queries", queries)
    for name, part in parts:
        table = Table(f"textures/{name}", "textures.py")
        part(table)
        yield table
