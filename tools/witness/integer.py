"""PTX ISA 9.0, 9.7.1: integer arithmetic."""

from bits import anything, clamp, edges, mask, number, pairs, random_of, signed
from table import Differs, Table, open_

SCRIPT = "integer.py"
WIDTHS = (16, 32, 64)
FOLDED = [("constants", "ptxas folds bfe.s32 of a constant position beyond 31 to -1 for any source")]
GARBLED = [("constants", "ptxas encodes a kernel parameter as width of szext with another bank and offset up to sm_89")]


def halves(value, kind):
    """The two half-words as numbers."""
    return [number(value >> shift, f"{kind[0]}16") for shift in (0, 16)]


def join(low, high):
    return (low & 0xFFFF) | (high & 0xFFFF) << 16


def by_halves(function, kind):
    return lambda a, b: join(*(function(x, y) for x, y in zip(halves(a, kind), halves(b, kind))))


def two(operation, kind):
    """An operation on the numbers that the bits are."""
    return lambda *operands: operation(*(number(operand, kind) for operand in operands))


def both(width):
    return f"u{width}", f"s{width}"


def sums():
    """add, sub, min, max, abs, neg."""
    t = Table("integer/sums", SCRIPT)
    for width in WIDTHS:
        u, s = both(width)
        t.section("9.7.1.1 add, 9.7.1.2 sub, 9.7.1.13 min, 9.7.1.14 max")
        t.rows(f"a:{u} b:{u}", pairs(f"sums{width}", (width, width)))
        t.form([f"add.{u} d, a, b;", f"add.{s} d, a, b;"], f"d:{u}", lambda a, b: a + b)
        t.form([f"sub.{u} d, a, b;", f"sub.{s} d, a, b;"], f"d:{u}", lambda a, b: a - b)
        for kind in (u, s):
            t.form(f"min.{kind} d, a, b;", f"d:{u}", two(min, kind))
            t.form(f"max.{kind} d, a, b;", f"d:{u}", two(max, kind))
        if width == 32:
            t.form("add.sat.s32 d, a, b;", "d:u32", two(lambda a, b: clamp(a + b, "s32"), "s32"))
            t.form("sub.sat.s32 d, a, b;", "d:u32", two(lambda a, b: clamp(a - b, "s32"), "s32"))
            t.form("min.relu.s32 d, a, b;", "d:u32", two(lambda a, b: max(min(a, b), 0), "s32"), needs="sm_90")
            t.form("max.relu.s32 d, a, b;", "d:u32", two(lambda a, b: max(a, b, 0), "s32"), needs="sm_90")
        t.section("9.7.1.11 abs, 9.7.1.12 neg")
        random = random_of(f"abs{width}")
        t.rows(f"a:{u}", edges(width) + [anything(random, width) for _ in range(12)])
        t.form(f"abs.{s} d, a;", f"d:{u}", two(abs, s))
        t.form(f"neg.{s} d, a;", f"d:{u}", two(lambda a: -a, s))
    t.section("9.7.1.1 add, 9.7.1.13 min, 9.7.1.14 max")
    random = random_of("halves")
    values = [join(x, y) for x, y in zip(edges(16), reversed(edges(16)))]
    rows = [(a, values[(at + step) % 9]) for at, a in enumerate(values) for step in (0, 1, 4)]
    t.rows("a:b32 b:b32", rows + [(random.getrandbits(32), random.getrandbits(32)) for _ in range(12)])
    t.form(["add.u16x2 d, a, b;", "add.s16x2 d, a, b;"], "d:b32", by_halves(lambda a, b: a + b, "u16"), needs="sm_90")
    for kind in ("u16", "s16"):
        t.form(f"min.{kind}x2 d, a, b;", "d:b32", by_halves(min, kind), needs="sm_90")
        t.form(f"max.{kind}x2 d, a, b;", "d:b32", by_halves(max, kind), needs="sm_90")
    t.form("min.relu.s16x2 d, a, b;", "d:b32", by_halves(lambda a, b: max(min(a, b), 0), "s16"), needs="sm_90")
    t.form("max.relu.s16x2 d, a, b;", "d:b32", by_halves(lambda a, b: max(a, b, 0), "s16"), needs="sm_90")
    return t


def elements():
    """PTX 9.2: four bytes of a word, and sums that saturate."""
    t = Table("integer/elements", SCRIPT)
    needs = "9.2 sm_107f|sm_120f"
    random = random_of("elements")
    bytes_ = [0, 1, 2, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF]
    words = [sum(bytes_[(at * step + step) % 9] << 8 * at for at in range(4)) for step in range(1, 9)]
    words += [join(x, y) for x, y in zip(edges(16), reversed(edges(16)))]
    rows = [(a, words[(at * 5 + step) % len(words)]) for at, a in enumerate(words) for step in (0, 1, 4)]
    t.section("9.7.1.1 add, 9.7.1.2 sub, 9.7.1.13 min, 9.7.1.14 max (PTX 9.4)")
    t.rows("a:b32 b:b32", rows + [(random.getrandbits(32), random.getrandbits(32)) for _ in range(12)])

    def by_element(function, kind, count):
        width = 32 // count

        def whole(a, b):
            parts = [function(*(read(word >> width * at, kind) for word in (a, b))) for at in range(count)]
            return sum((part & (1 << width) - 1) << width * at for at, part in enumerate(parts))

        return whole

    def read(word, kind):
        width = int(kind[1:])
        bits = word & (1 << width) - 1
        return bits - (1 << width) if kind[0] == "s" and bits >> width - 1 else bits

    for kind in ("u8", "s8"):
        t.form(f"add.{kind}x4 d, a, b;", "d:b32", by_element(lambda a, b: a + b, kind, 4), needs=needs)
        t.form(f"sub.{kind}x4 d, a, b;", "d:b32", by_element(lambda a, b: a - b, kind, 4), needs=needs)
        t.form(f"add.sat.{kind}x4 d, a, b;", "d:b32", by_element(lambda a, b, kind=kind: clamp(a + b, kind), kind, 4), needs=needs)
        t.form(f"sub.sat.{kind}x4 d, a, b;", "d:b32", by_element(lambda a, b, kind=kind: clamp(a - b, kind), kind, 4), needs=needs)
        t.form(f"min.{kind}x4 d, a, b;", "d:b32", by_element(min, kind, 4), needs=needs)
        t.form(f"max.{kind}x4 d, a, b;", "d:b32", by_element(max, kind, 4), needs=needs)
    t.form("min.relu.s8x4 d, a, b;", "d:b32", by_element(lambda a, b: max(min(a, b), 0), "s8", 4), needs=needs)
    t.form("max.relu.s8x4 d, a, b;", "d:b32", by_element(lambda a, b: max(a, b, 0), "s8", 4), needs=needs)
    t.form("neg.s8x4 d, a;", "d:b32", by_element(lambda a, b: -a, "s8", 4), needs=needs)
    for kind in ("u16", "s16"):
        t.form(f"add.sat.{kind}x2 d, a, b;", "d:b32", by_element(lambda a, b, kind=kind: clamp(a + b, kind), kind, 2), needs=needs)
    t.form("add.sat.u32 d, a, b;", "d:u32", lambda a, b: clamp(a + b, "u32"), needs=needs)
    return t


def products():
    """mul, mad, sad."""
    t = Table("integer/products", SCRIPT)
    for width in WIDTHS:
        u, s = both(width)
        t.section("9.7.1.3 mul, 9.7.1.4 mad, 9.7.1.7 sad")
        t.rows(f"a:{u} b:{u} c:{u}", pairs(f"products{width}", (width, width, width)))
        t.form([f"mul.lo.{u} d, a, b;", f"mul.lo.{s} d, a, b;"], f"d:{u}", lambda a, b, c: a * b)
        t.form([f"mad.lo.{u} d, a, b, c;", f"mad.lo.{s} d, a, b, c;"], f"d:{u}", lambda a, b, c: a * b + c)
        for kind in (u, s):
            high = two(lambda a, b, c: a * b >> width, kind)
            t.form(f"mul.hi.{kind} d, a, b;", f"d:{u}", high)
            t.form(f"mad.hi.{kind} d, a, b, c;", f"d:{u}", two(lambda a, b, c: (a * b >> width) + c, kind))
            distance = two(lambda a, b, c: c + (b - a if a < b else a - b), kind)
            t.form(f"sad.{kind} d, a, b, c;", f"d:{u}", distance)
            if width < 64:
                t.form(f"mul.wide.{kind} d, a, b;", f"d:u{2 * width}", two(lambda a, b, c: a * b, kind))
        if width == 32:
            t.form("mad.hi.sat.s32 d, a, b, c;", "d:u32", two(lambda a, b, c: clamp((a * b >> 32) + c, "s32"), "s32"))
        if width < 64:
            t.section("9.7.1.4 mad")
            t.rows(f"a:{u} b:{u} c:u{2 * width}", pairs(f"wide{width}", (width, width, 2 * width)))
            for kind in (u, s):
                wide = lambda a, b, c, kind=kind: number(a, kind) * number(b, kind) + c
                t.form(f"mad.wide.{kind} d, a, b, c;", f"d:u{2 * width}", wide)
    return t


def products_without_carries():
    """clmad."""
    t = Table("integer/products_without_carries", SCRIPT)
    t.section("9.7.1.5 clmad (PTX 9.4)")
    t.rows("a:u64 b:u64 c:u64", pairs("clmad", (64, 64, 64)))

    def product(a, b):
        total = 0
        for place in range(64):
            if a >> place & 1:
                total ^= b << place
        return total

    for kind in ("u64", "s64"):
        t.form(f"clmad.lo.{kind} d, a, b, c;", "d:u64", lambda a, b, c: product(a, b) & mask(64) ^ c, needs="9.3 sm_80")
        t.form(f"clmad.hi.{kind} d, a, b, c;", "d:u64", lambda a, b, c: product(a, b) >> 64 ^ c, needs="9.3 sm_80")
    return t


def products_of_24_bits():
    """mul24, mad24. Of a factor 24 bits count (CUDA's `__mul24`); the manual says nothing of the others."""
    t = Table("integer/mul24", SCRIPT)
    t.section("9.7.1.5 mul24, 9.7.1.6 mad24")
    random = random_of("mul24")
    factors = edges(24) + [0x12345678, 0xFF800000, 0x80FFFFFF]
    rows = [(a, factors[(at + step) % 12], edges(32)[(at + 2 * step) % 9]) for at, a in enumerate(factors) for step in range(3)]
    t.rows("a:u32 b:u32 c:u32", rows + [tuple(random.getrandbits(32) for _ in range(3)) for _ in range(8)])
    for kind in ("u24", "s24"):
        factor = lambda a, kind=kind: number(a, kind)
        name = f"{kind[0]}32"
        t.form(f"mul24.lo.{name} d, a, b;", "d:u32", lambda a, b, c: factor(a) * factor(b))
        t.form(f"mul24.hi.{name} d, a, b;", "d:u32", lambda a, b, c: factor(a) * factor(b) >> 16)
        t.form(f"mad24.lo.{name} d, a, b, c;", "d:u32", lambda a, b, c: factor(a) * factor(b) + c)
        t.form(f"mad24.hi.{name} d, a, b, c;", "d:u32", lambda a, b, c: (factor(a) * factor(b) >> 16) + c)
    saturated = lambda a, b, c: clamp((number(a, "s24") * number(b, "s24") >> 16) + signed(c, 32), "s32")
    t.form("mad24.hi.sat.s32 d, a, b, c;", "d:u32", saturated)
    return t


def quotients():
    """div, rem."""
    t = Table("integer/quotients", SCRIPT)
    note = [("z", "division by zero yields an unspecified, machine-specific value")]
    for width in WIDTHS:
        u, s = both(width)
        t.section("9.7.1.8 div, 9.7.1.9 rem")
        t.rows(f"a:{u} b:{u}", pairs(f"quotients{width}", (width, width), 48))
        for kind in (u, s):
            t.form(f"div.{kind} d, a, b;", f"d:{u}", two(lambda a, b: quotient(a, b)[0], kind), notes=note)
            t.form(f"rem.{kind} d, a, b;", f"d:{u}", two(lambda a, b: quotient(a, b)[1], kind), notes=note)
    return t


def quotient(a, b):
    """Quotient towards zero, and the rest."""
    if b == 0:
        return open_("z"), open_("z")
    towards_zero = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return towards_zero, a - towards_zero * b


def counts():
    """popc, clz, bfind, brev."""
    t = Table("integer/counts", SCRIPT)
    for width in (32, 64):
        t.section("9.7.1.15 popc, 9.7.1.16 clz, 9.7.1.17 bfind, 9.7.1.19 brev")
        random = random_of(f"counts{width}")
        rows = edges(width) + [1 << at for at in range(3, width, 7)] + [mask(at) for at in range(3, width, 7)]
        t.rows(f"a:b{width}", rows + [anything(random, width) for _ in range(10)])
        t.form(f"popc.b{width} d, a;", "d:u32", lambda a: bin(a).count("1"))
        t.form(f"clz.b{width} d, a;", "d:u32", lambda a: width - a.bit_length())
        t.form(f"brev.b{width} d, a;", f"d:b{width}", lambda a: int(f"{a:0{width}b}"[::-1], 2))
        for kind in both(width):
            place = lambda a, kind=kind: (~a & mask(width) if number(a, kind) < 0 else a).bit_length() - 1
            amount = lambda a, place=place: -1 if place(a) < 0 else width - 1 - place(a)
            t.form(f"bfind.{kind} d, a;", "d:u32", place)
            t.form(f"bfind.shiftamt.{kind} d, a;", "d:u32", amount)
    return t


def fns(bits, base, offset):
    """The manual's loop."""
    if base > 31:
        return open_("b")
    if offset == 0:
        return base if bits >> base & 1 else mask(32)
    left, step, at = abs(offset) - 1, 1 if offset > 0 else -1, base
    while 0 <= at < 32:
        if bits >> at & 1:
            if left == 0:
                return at
            left -= 1
        at += step
    return mask(32)


def find():
    """fns."""
    t = Table("integer/fns", SCRIPT)
    t.section("9.7.1.18 fns")
    random = random_of("fns")
    masks = [0, 1, 1 << 31, mask(32), 0xAAAAAAAA, 0x80000001]
    rows = [
        (m, base, offset)
        for m in masks
        for base, offset in (
            (0, 0),
            (0, 1),
            (31, -1),
            (31, 0),
            (3, 2),
            (2, -2),
            (0, 32),
            (31, -32),
            (0, 33),
            (5, 0x80000000),
            (5, 0x7FFFFFFF),
        )
    ]
    rows += [(random.getrandbits(32), random.randrange(32), random.randint(-12, 12)) for _ in range(20)]
    rows += [(0xF0F0F0F0, 32, 1), (0xF0F0F0F0, 0xFFFFFFFF, 0)]
    t.rows("m:b32 n:u32 o:s32", rows)

    def found(m, n, o):
        manual = fns(m, n, signed(o, 32))
        # ptxas's |offset| - 1 overflows for the least number, and is taken for zero.
        return Differs(manual, 0) if o == 0x80000000 else manual

    t.form(
        "fns.b32 d, m, n, o;",
        "d:b32",
        found,
        notes=[
            ("b", "a base above 31 is undefined"),
            ("d", "ptxas's code gives 0 for the offset -2^31, where the manual's loop finds nothing"),
        ],
    )
    return t


def fields():
    """bfe, bfi, bmsk, szext."""
    t = Table("integer/fields", SCRIPT)
    for width in (32, 64):
        random = random_of(f"fields{width}")
        places = [0, 1, 5, width // 2, width - 1, width, width + 1, 100, 255]
        lengths = [0, 1, 7, width // 2, width - 1, width, width + 1, 200, 255]
        rows = [(random.getrandbits(width), random.getrandbits(width), c, e) for c in places for e in lengths[::2]]
        rows += [
            (random.getrandbits(width), random.getrandbits(width), random.randrange(width), random.randrange(width)) for _ in range(16)
        ]
        rows += [
            (random.getrandbits(width), random.getrandbits(width), c, e)
            for c, e in ((256, 5), (3, 0x104), (0x80000003, 0x80000004), (mask(32), mask(32)))
        ]
        t.section("9.7.1.20 bfe, 9.7.1.21 bfi")
        t.rows(f"a:b{width} b:b{width} c:u32 e:u32", rows)
        notes = (
            [("w", "of 64 bits ptxas's code takes positions and lengths above 255 as they are; the manual allows none")]
            if width == 64
            else []
        )
        for kind in both(width):
            t.form(f"bfe.{kind} d, a, c, e;", f"d:u{width}", extracted(width, kind), notes=notes, without=FOLDED)
        t.form(f"bfi.b{width} d, a, b, c, e;", f"d:b{width}", inserted(width), notes=notes)
    t.section("9.7.1.22 szext, 9.7.1.23 bmsk")
    amounts = [0, 1, 2, 15, 16, 30, 31, 32, 33, 63, 64, 255, 256, mask(32), 0x80000000, 0x80000001]
    random = random_of("masks")
    rows = [(a, b) for at, a in enumerate(amounts) for b in (amounts[at], amounts[(3 * at + 1) % 16], amounts[(5 * at + 2) % 16])]
    t.rows("a:b32 b:b32", rows + [(random.getrandbits(32), random.randrange(40)) for _ in range(16)])
    for mode in ("clamp", "wrap"):
        t.form(f"bmsk.{mode}.b32 d, a, b;", "d:b32", lambda a, b: bit_mask(a, b, mode == "clamp"))
        for kind in ("u32", "s32"):
            count = lambda a, b, kind=kind: extended(a, b, mode == "clamp", kind)
            t.form(f"szext.{mode}.{kind} d, a, b;", "d:u32", count, without=GARBLED)
    return t


def extracted(width, kind):
    def field(a, at, count):
        sign = 0
        if kind[0] == "s" and count > 0:
            sign = a >> min(at + count - 1, width - 1) & 1
        bit = lambda i: a >> (at + i) & 1 if i < count and at + i < width else sign
        return sum(bit(i) << i for i in range(width))

    def result(a, b, c, e):
        manual = field(a, c & 255, e & 255)
        return Differs(manual, field(a, c, e)) if width == 64 else manual

    return result


def inserted(width):
    def field(a, b, at, count):
        for i in range(min(count, width)):
            if at + i < width:
                b = b & ~(1 << (at + i)) | (a >> i & 1) << (at + i)
        return b

    def result(a, b, c, e):
        manual = field(a, b, c & 255, e & 255)
        return Differs(manual, field(a, b, c, e)) if width == 64 else manual

    return result


def bit_mask(a, b, clamps):
    at, count = a & 31, b & 31
    above = mask(32) << at & mask(32)
    beyond = at + count >= 32
    if clamps and a >= 32:
        above, beyond = 0, True
    if clamps and b >= 32:
        beyond = True
    below = 0 if beyond else mask(32) << (at + count) & mask(32)
    if not beyond and count == 0:
        below = mask(32)
    return above & ~below


def extended(a, b, clamps, kind):
    count = b & 31
    too_large = b >= 32 and clamps
    above = 0 if too_large else mask(32) << count & mask(32)
    sign = count and not too_large and kind == "s32" and a >> (count - 1 & 31) & 1
    return a & ~above & mask(32) | (above if sign else 0)


def dots():
    """dp4a, dp2a."""
    t = Table("integer/dots", SCRIPT)
    t.section("9.7.1.24 dp4a, 9.7.1.25 dp2a")
    t.rows("a:b32 b:b32 c:b32", pairs("dots", (32, 32, 32), 44) + [(0x80808080, 0x7F7F7F7F, 5), (0x80808080, 0x80808080, mask(32))])
    parts = lambda value, kind, width: [number(value >> at, f"{kind[0]}{width}") for at in range(0, 32, width)]
    for x in ("u32", "s32"):
        for y in ("u32", "s32"):
            four = lambda a, b, c: c + sum(p * q for p, q in zip(parts(a, x, 8), parts(b, y, 8)))
            t.form(f"dp4a.{x}.{y} d, a, b, c;", "d:b32", four)
            for mode, first in (("lo", 0), ("hi", 2)):
                pair = lambda a, b, c: c + sum(p * q for p, q in zip(parts(a, x, 16), parts(b, y, 8)[first:]))
                t.form(f"dp2a.{mode}.{x}.{y} d, a, b, c;", "d:b32", pair)
    return t


def tables():
    return [sums(), elements(), products(), products_of_24_bits(), products_without_carries(), quotients(), counts(), find(), fields(), dots()]
