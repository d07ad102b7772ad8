"""PTX ISA 9.0, 9.7.13.5 atom and 9.7.13.6 red: one lane, one address; what is returned and what is left in memory."""

from bits import edges, mask, number, random_of
from formats import BF16, F16, F32, F64, added, edges as float_edges, near
from table import Table

SCRIPT = "atomics.py"


def operation(name, kind):
    width = int(kind[1:])
    value = lambda x: number(x, kind.replace("b", "u"))
    return {
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "exch": lambda a, b: b,
        "add": lambda a, b: a + b,
        "min": lambda a, b: min(value(a), value(b)),
        "max": lambda a, b: max(value(a), value(b)),
        "inc": lambda a, b: 0 if a >= b else a + 1,
        "dec": lambda a, b: b if a == 0 or a > b else a - 1,
    }[name]


INTEGERS = [(name, f"b{width}") for width in (32, 64) for name in ("and", "or", "xor", "exch")]
INTEGERS += [("add", kind) for kind in ("u32", "s32", "u64")] + [(name, "u32") for name in ("inc", "dec")]
INTEGERS += [(name, kind) for name in ("min", "max") for kind in ("u32", "s32", "u64", "s64")]


def in_shared(width, statement, generic=False):
    """Each row has a cell `m` of shared memory: `a` is stored there, the statement changes it, and `e` is what is left."""
    space = "" if generic else ".shared"
    address = "mov.u32 t, %tid.x; mov.u64 m, cells; mad.wide.u32 m, t, 16, m;" + (" cvta.shared.u64 m, m;" if generic else "")
    text = statement.format(space=space)
    return (
        f"{{ .reg .b64 m; .reg .b32 t; .shared .align 16 .b8 cells[512]; {address}\n"
        f"st{space}.b{width} [m], a;\n{text}\nld{space}.b{width} e, [m]; }}"
    )


def scalars():
    t = Table("atomics/integers", SCRIPT)
    for kind_width in (32, 64):
        random = random_of(f"atomics {kind_width}")
        some = edges(kind_width)
        rows = [(a, some[(3 * at + step) % 9], some[(5 * at + step) % 9]) for at, a in enumerate(some) for step in (0, 1)]
        rows += [(x, random.getrandbits(kind_width), x if at % 2 else x ^ 1) for at, x in enumerate(random.getrandbits(kind_width) for _ in range(6))]
        t.section("9.7.13.5 atom, 9.7.13.6 red")
        t.rows(f"a:b{kind_width} b:b{kind_width} c:b{kind_width}", rows)
        for name, kind in INTEGERS:
            if int(kind[1:]) != kind_width:
                continue
            result = operation(name, kind)
            both = lambda text: [in_shared(kind_width, text, generic) for generic in (False, True)]
            t.form(both(f"atom{{space}}.{name}.{kind} d, [m], b;"), f"d:b{kind_width} e:b{kind_width}", lambda a, b, c: (a, result(a, b)))
            if name != "exch":
                t.form(both(f"red{{space}}.{name}.{kind} [m], b;"), f"e:b{kind_width}", lambda a, b, c: result(a, b))
        swap = f"atom{{space}}.cas.b{kind_width} d, [m], c, b;"
        t.form(both(swap), f"d:b{kind_width} e:b{kind_width}", lambda a, b, c: (a, b if a == c else a))
    t.section("9.7.13.5 atom")
    random = random_of("cas 16")
    t.rows("a:b16 b:b16 c:b16", [(x, random.getrandbits(16), x if at % 2 else x ^ 256) for at, x in enumerate(random.getrandbits(16) for _ in range(8))])
    t.form(in_shared(16, "atom{space}.cas.b16 d, [m], c, b;"), "d:b16 e:b16", lambda a, b, c: (a, b if a == c else a))
    t.section("9.7.13.5 atom")
    rows = [(x, random.getrandbits(128), x if at % 2 else x ^ 1 << 100) for at, x in enumerate(random.getrandbits(128) for _ in range(6))]
    t.rows("a:b128 b:b128 c:b128", rows)
    t.form(in_shared(128, "atom{space}.cas.b128 d, [m], c, b;"), "d:b128 e:b128", lambda a, b, c: (a, b if a == c else a), needs="sm_90")
    t.form(in_shared(128, "atom{space}.exch.b128 d, [m], b;"), "d:b128 e:b128", lambda a, b, c: (a, b), needs="sm_90")
    return t


# Each row has a cell of global memory in the output, where the old value goes in front of it.
ENTRY = """.visible .entry k(.param .u64 in, .param .u64 out)
{{
.reg .b64 %i, %o; .reg .b32 %t; .reg .b{width} a, b, c, d;
ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;
mad.wide.u32 %i, %t, {rows}, %i; mad.wide.u32 %o, %t, {cells}, %o;
ld.global.b{width} a, [%i]; ld.global.b{width} b, [%i+{size}]; ld.global.b{width} c, [%i+{two}];
st.global.b{width} [%o+{size}], a;
{statement}
ret;
}}"""


def program(t, name, width, statement, rows, results, **more):
    """A thread for each row: the old value, or what was there before, and the cell."""
    size = width // 8
    code = ENTRY.format(width=width, rows=3 * size, cells=2 * size, size=size, two=2 * size, statement=statement)
    given = [x for row in rows for x in row]
    out = [x for row in rows for x in results(*row)]
    t.program(name, code, [("rows", f"b{width}", given, f"b{width}", out)], shape=[f"block {len(rows)}"], **more)


def globals_():
    t = Table("atomics/global", SCRIPT)
    t.section("9.7.13.5 atom, 9.7.13.6 red")
    for width in (32, 64):
        random = random_of(f"global {width}")
        some = edges(width)
        rows = [(a, some[(3 * at + 1) % 9], a if at % 2 else some[(5 * at) % 9]) for at, a in enumerate(some)] + [(random.getrandbits(width), random.getrandbits(width), 0)]
        place = width // 8
        for name, kind in INTEGERS:
            if int(kind[1:]) != width:
                continue
            result = operation(name, kind)
            program(t, f"atom.{name}.{kind}", width, f"atom.global.{name}.{kind} d, [%o+{place}], b; st.global.b{width} [%o], d;", rows, lambda a, b, c: (a, result(a, b)))
            if name != "exch":
                program(t, f"red.{name}.{kind}", width, f"red.global.{name}.{kind} [%o+{place}], b;", rows, lambda a, b, c: (0, result(a, b)))
        program(t, f"atom.cas.b{width}", width, f"atom.global.cas.b{width} d, [%o+{place}], c, b; st.global.b{width} [%o], d;", rows, lambda a, b, c: (a, b if a == c else a))
    for format in (F32, F64):
        f, width = format.name, format.width
        random = random_of(f"global {f}")
        some = float_edges(format)
        # Subnormal numbers: for f32 the manual says what implementations do, and leaves it to them.
        some = [x for x in some if format is F64 or not 0 < x & ~format.sign < 1 << format.fraction]
        rows = [(a, some[(7 * at + 3) % len(some)], 0) for at, a in enumerate(some)] + [(near(random, format), near(random, format), 0) for _ in range(6)]

        def total(a, b):
            exact = added(format.decode(a), format.decode(b))
            return "nan" if exact.is_nan else format.encode(exact)

        rows = [row for row in rows if format is F64 or total(row[0], row[1]) == "nan" or not 0 < total(row[0], row[1]) & ~format.sign < 1 << format.fraction]
        rows = [row for row in rows if not (format.decode(row[0]).is_nan or format.decode(row[1]).is_nan)]
        rows = [row for row in rows if total(row[0], row[1]) != "nan"]
        place = width // 8
        program(t, f"atom.add.{f}", width, f"atom.global.add.{f} d, [%o+{place}], b; st.global.b{width} [%o], d;", rows, lambda a, b, c: (a, total(a, b)))
        program(t, f"red.add.{f}", width, f"red.global.add.{f} [%o+{place}], b;", rows, lambda a, b, c: (0, total(a, b)))
    for format, needs in ((F16, None), (BF16, "sm_90")):
        f = format.name
        some = [x for x in float_edges(format) if not format.decode(x).is_nan]
        pairs = [(a, some[(7 * at + 3) % len(some)]) for at, a in enumerate(some)]
        pairs = [(a, b) for a, b in pairs if not added(format.decode(a), format.decode(b)).is_nan]
        one = lambda a, b: format.encode(added(format.decode(a), format.decode(b)))
        rows = [(a | c << 16, b | d << 16, 0) for (a, b), (c, d) in zip(pairs, pairs[3:] + pairs[:3])]
        both = lambda a, b: one(a & mask(16), b & mask(16)) | one(a >> 16, b >> 16) << 16
        program(t, f"atom.add.{f}x2", 32, f"atom.global.add.noftz.{f}x2 d, [%o+4], b; st.global.b32 [%o], d;", rows, lambda a, b, c: (a, both(a, b)), needs=needs)
        program(t, f"red.add.{f}x2", 32, f"red.global.add.noftz.{f}x2 [%o+4], b;", rows, lambda a, b, c: (0, both(a, b)), needs=needs)
        program(t, f"atom.add.{f}", 16, f"atom.global.add.noftz.{f} d, [%o+2], b; st.global.b16 [%o], d;", [(a, b, 0) for a, b in pairs], lambda a, b, c: (a, one(a, b)), needs=needs)
        program(t, f"red.add.{f}", 16, f"red.global.add.noftz.{f} [%o+2], b;", [(a, b, 0) for a, b in pairs], lambda a, b, c: (0, one(a, b)), needs=needs)
    return t


def tables():
    return [scalars(), globals_()]
