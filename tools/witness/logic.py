"""PTX ISA 9.0, 9.7.8: logic and shifts."""

from bits import edges, mask, pairs, random_of, signed
from table import Table

SCRIPT = "logic.py"


def logic():
    t = Table("logic/logic", SCRIPT)
    t.section("9.7.8.1 and, 9.7.8.2 or, 9.7.8.3 xor, 9.7.8.4 not")
    t.rows("a:pred b:pred", [(a, b) for a in (0, 1) for b in (0, 1)])
    for mark, x in (("", lambda a: a), ("!", lambda a: 1 - a)):
        t.form(f"and.pred d, {mark}a, b;", "d:pred", lambda a, b: x(a) & b)
        t.form(f"or.pred d, a, {mark}b;", "d:pred", lambda a, b: a | x(b))
        t.form(f"xor.pred d, {mark}a, b;", "d:pred", lambda a, b: x(a) ^ b)
        t.form(f"not.pred d, {mark}a;", "d:pred", lambda a, b: 1 - x(a))
        t.form(f"mov.pred d, {mark}a;", "d:pred", lambda a, b: x(a))
    for width in (16, 32, 64):
        t.section("9.7.8.1 and, 9.7.8.2 or, 9.7.8.3 xor, 9.7.8.4 not, 9.7.8.5 cnot")
        t.rows(f"a:b{width} b:b{width}", pairs(f"logic{width}", (width, width), 36))
        t.form(f"and.b{width} d, a, b;", f"d:b{width}", lambda a, b: a & b)
        t.form(f"or.b{width} d, a, b;", f"d:b{width}", lambda a, b: a | b)
        t.form(f"xor.b{width} d, a, b;", f"d:b{width}", lambda a, b: a ^ b)
        t.form(f"not.b{width} d, a;", f"d:b{width}", lambda a, b: ~a)
        t.form(f"cnot.b{width} d, a;", f"d:b{width}", lambda a, b: int(a == 0))
    return t


def lop3():
    """All 256 tables, on words that have all eight combinations of three bits."""
    t = Table("logic/lop3", SCRIPT)
    t.section("9.7.8.6 lop3")
    random = random_of("lop3")
    rows = [(0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA, 0), (0, 0, 0, 1), (mask(32), mask(32), mask(32), 1), (mask(32), 0, mask(32), 0)]
    rows += [(random.getrandbits(32), random.getrandbits(32), random.getrandbits(32), at % 2) for at in range(3)]
    t.rows("a:b32 b:b32 c:b32 q:pred", rows)

    def function(table, a, b, c):
        bit = lambda i: table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1
        return sum(bit(i) << i for i in range(32))

    for table in range(256):
        t.form(f"lop3.b32 d, a, b, c, {table:#x};", "d:b32", lambda a, b, c, q: function(table, a, b, c))
    for table in (0, 0x3F, 0x40, 0x80, 0xE8, 0xFF):
        for name, combine in (("or", lambda x, q: bool(x or q)), ("and", lambda x, q: bool(x and q))):
            value = lambda a, b, c: function(table, a, b, c)
            t.form(f"lop3.{name}.b32 d|p, a, b, c, {table:#x}, q;", "d:b32 p:pred", lambda a, b, c, q: (value(a, b, c), combine(value(a, b, c), q)))
            t.form(f"lop3.{name}.b32 _|p, a, b, c, {table:#x}, !q;", "p:pred", lambda a, b, c, q: combine(value(a, b, c), 1 - q))
    return t


def shifts():
    t = Table("logic/shifts", SCRIPT)
    for width in (16, 32, 64):
        random = random_of(f"shifts{width}")
        amounts = [0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x10000, 0x10001, 0x80000000, mask(32)]
        rows = [(value, amount) for at, amount in enumerate(amounts) for value in (edges(width)[at % 9], random.getrandbits(width) | 1 << (width - 1))]
        rows += [(random.getrandbits(width), random.randrange(width)) for _ in range(10)]
        t.section("9.7.8.8 shl, 9.7.8.9 shr")
        t.rows(f"a:b{width} b:u32", rows)
        # "Shift amounts greater than the register width N are clamped to N."
        t.form(f"shl.b{width} d, a, b;", f"d:b{width}", lambda a, b: a << min(b, width))
        t.form([f"shr.{letter}{width} d, a, b;" for letter in "bu"], f"d:b{width}", lambda a, b: a >> min(b, width))
        t.form(f"shr.s{width} d, a, b;", f"d:b{width}", lambda a, b: signed(a, width) >> min(b, width))
    t.section("9.7.8.7 shf")
    random = random_of("shf")
    amounts = [0, 1, 5, 15, 16, 31, 32, 33, 40, 63, 64, 65, 255, 256, 0x80000000, 0x80000001, mask(32)]
    rows = [(random.getrandbits(32), random.getrandbits(32), c) for c in amounts + [random.randrange(32) for _ in range(12)]]
    t.rows("a:b32 b:b32 c:u32", rows)
    for mode in ("clamp", "wrap"):
        amount = lambda c: min(c, 32) if mode == "clamp" else c & 31
        both = lambda a, b: b << 32 | a
        t.form(f"shf.l.{mode}.b32 d, a, b, c;", "d:b32", lambda a, b, c: both(a, b) << amount(c) >> 32)
        t.form(f"shf.r.{mode}.b32 d, a, b, c;", "d:b32", lambda a, b, c: both(a, b) >> amount(c))
        same = lambda a, b, c: both(a, a) << amount(c) >> 32
        t.form(f"shf.l.{mode}.b32 d, a, a, c;", "d:b32", same)
    return t


def carries():
    """PTX ISA 9.0, 9.7.2: extended precision. The carry is read by an addition of zeros behind."""
    t = Table("logic/carries", SCRIPT)
    for width in (32, 64):
        w = f"u{width}"
        names = (f"u{width}", f"s{width}")
        full = lambda x: x >> width & 1
        t.section("9.7.2.1 add.cc, 9.7.2.2 addc, 9.7.2.3 sub.cc, 9.7.2.4 subc, 9.7.2.5 mad.cc, 9.7.2.6 madc")
        rows = [(*row, at % 2) for at, row in enumerate(pairs(f"carries{width}", (width, width, width), 44))]
        t.rows(f"a:{w} b:{w} c:{w} k:{w}", rows)
        # Sets the carry flag to k, or the borrow.
        carry, borrow = f"{{ .reg .b{width} x; add.cc.{w} x, k, -1; }}", f"{{ .reg .b{width} x; sub.cc.{w} x, 0, k; }}"
        read, left = f"addc.{w} e, 0, 0;", f"subc.{w} e, 0, 0;"
        out = f"d:{w} e:{w}"
        codes = lambda text: [text.replace("TYPE", name) for name in names]
        t.form(codes(f"add.cc.TYPE d, a, b; {read}"), out, lambda a, b, c, k: (a + b, full(a + b)))
        t.form(codes(f"{carry} addc.TYPE d, a, b;"), f"d:{w}", lambda a, b, c, k: a + b + k)
        t.form(codes(f"{carry} addc.cc.TYPE d, a, b; {read}"), out, lambda a, b, c, k: (a + b + k, full(a + b + k)))
        t.form(codes(f"sub.cc.TYPE d, a, b; {left}"), out, lambda a, b, c, k: (a - b, -int(a < b)))
        t.form(codes(f"{borrow} subc.TYPE d, a, b;"), f"d:{w}", lambda a, b, c, k: a - b - k)
        t.form(codes(f"{borrow} subc.cc.TYPE d, a, b; {left}"), out, lambda a, b, c, k: (a - b - k, -int(a < b + k)))
        for name in names:
            value = (lambda x: signed(x, width)) if name[0] == "s" else (lambda x: x)
            for half, part in (("lo", lambda a, b: value(a) * value(b) & mask(width)), ("hi", lambda a, b: value(a) * value(b) >> width & mask(width))):
                t.form(f"mad.{half}.cc.{name} d, a, b, c; {read}", out, lambda a, b, c, k: (part(a, b) + c, full(part(a, b) + c)))
                t.form(f"{carry} madc.{half}.{name} d, a, b, c;", f"d:{w}", lambda a, b, c, k: part(a, b) + c + k)
                t.form(f"{carry} madc.{half}.cc.{name} d, a, b, c; {read}", out, lambda a, b, c, k: (part(a, b) + c + k, full(part(a, b) + c + k)))
    return t


def tables():
    return [logic(), lop3(), shifts(), carries()]
