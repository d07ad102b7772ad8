"""PTX ISA 9.0, 9.7.6: comparison and selection, and 9.7.7: comparison of halves."""

from bits import anything, edges, mask, number, random_of, signed
from formats import BF16, F16, F32, F64, near
from formats import edges as float_edges
from table import Table

SCRIPT = "compare.py"
ORDERED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
FLOATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
BOOLEAN = {"and": lambda t, c: t and c, "or": lambda t, c: t or c, "xor": lambda t, c: t != c}


def comparisons(kind):
    """The comparisons of a type by name, as functions of bits; with `.ftz` too where there is one."""
    if kind not in FLOATS:
        read = lambda a: number(a, "u" + kind[1:] if kind[0] == "b" else kind)
        names = {name: name for name in ORDERED} if kind[0] != "b" else {"eq": "eq", "ne": "ne"}
        if kind[0] == "u":
            names |= UNSIGNED
        return {name: (lambda a, b, test=ORDERED[base]: test(read(a), read(b))) for name, base in names.items()}
    format = FLOATS[kind]
    tests = {}
    for ftz in (False, True) if kind in ("f16", "f32") else (False,):
        tail = ".ftz" if ftz else ""
        nans = lambda a, b: format.decode(a).is_nan or format.decode(b).is_nan
        value = lambda a, ftz=ftz: format.decode(a, ftz).value
        for name, test in ORDERED.items():
            tests[name + tail] = lambda a, b, test=test, value=value: not nans(a, b) and test(value(a), value(b))
            tests[name + "u" + tail] = lambda a, b, test=test, value=value: nans(a, b) or test(value(a), value(b))
        tests["num" + tail] = lambda a, b: not nans(a, b)
        tests["nan" + tail] = lambda a, b: nans(a, b)
    return tests


def split(name):
    base, _, tail = name.partition(".")
    return base, f".{tail}" if tail else ""


def rows_of(kind, count=24):
    """Pairs of which many are equal or near each other."""
    random = random_of(f"compare {kind}")
    if kind not in FLOATS:
        width = int(kind[1:])
        some = edges(width)
        extra = [anything(random, width) for _ in range(3)]
    else:
        format = FLOATS[kind]
        some, extra = float_edges(format), [near(random, format) for _ in range(2)]
    rows = [(a, some[(at + step * 3) % len(some)]) for at, a in enumerate(some) for step in (0, 1, 4)]
    return rows[:: max(1, len(rows) // count)] + [(a, a) for a in extra] + [(a, a ^ 1) for a in extra]


def with_predicate(rows):
    return [(*row, at % 2) for at, row in enumerate(rows)] + [(*rows[at], 1 - at % 2) for at in range(0, len(rows), 3)]


SCALARS = [f"{letter}{width}" for width in (16, 32, 64) for letter in "bus"] + ["f32", "f64"]


def setp():
    t = Table("compare/setp", SCRIPT)
    for kind in SCALARS + ["f16", "bf16"]:
        t.section("9.7.6.2 setp" if kind in SCALARS else "9.7.7.2 setp")
        t.rows(f"a:{kind} b:{kind} c:pred", with_predicate(rows_of(kind, 16)))
        needs = "sm_90" if kind == "bf16" else None
        for full, test in comparisons(kind).items():
            name, tail = split(full)
            q = kind in SCALARS
            results = (lambda t: (bool(t), not t)) if q else (lambda t: bool(t))
            t.form(
                f"setp.{name}{tail}.{kind} {'p|q' if q else 'p'}, a, b;",
                "p:pred q:pred" if q else "p:pred",
                lambda a, b, c: results(test(a, b)),
                needs=needs,
            )
            for operator, combine in BOOLEAN.items():
                negations = (("", bool), ("!", lambda c: not c))
                for mark, given in negations if name in ("lt", "neu") else negations[:1]:
                    both = lambda a, b, c: (combine(test(a, b), given(c)), combine(not test(a, b), given(c)))
                    t.form(
                        f"setp.{name}.{operator}{tail}.{kind} {'p|q' if q else 'p'}, a, b, {mark}c;",
                        "p:pred q:pred" if q else "p:pred",
                        (lambda *x: both(*x)) if q else (lambda *x: both(*x)[0]),
                        needs=needs,
                    )
    return t


TRUE = {"u32": mask(32), "s32": mask(32), "u16": mask(16), "s16": mask(16), "f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


def set_():
    """Every comparison to every result type; the Boolean operators and the negation of the predicate go round."""
    t = Table("compare/set", SCRIPT)
    for kind in SCALARS + ["f16", "bf16"]:
        t.section("9.7.6.1 set" if kind in SCALARS else "9.7.7.1 set")
        t.rows(f"a:{kind} b:{kind} c:pred", with_predicate(rows_of(kind, 6)))
        targets = [("u32", "s32"), ("f32",), ("f16",), ("bf16",)]
        if kind in ("f16", "bf16"):
            targets = [("u32", "s32"), ("u16", "s16"), ("f16",), ("bf16",)]
        for at, (full, test) in enumerate(comparisons(kind).items()):
            name, tail = split(full)
            for place, same in enumerate(targets):
                if same == ("bf16",) and tail or (same, kind) == (("f16",), "bf16"):
                    continue
                needs, true = "sm_90" if "bf16" in (*same, kind) else None, TRUE[same[0]]
                codes = [f"set.{name}{tail}.{target}.{kind} d, a, b;" for target in same]
                t.form(codes, f"d:{same[0]}", lambda a, b, c: true if test(a, b) else 0, needs=needs)
                operator = list(BOOLEAN)[(at + place) % 3]
                mark, given = (("", bool), ("!", lambda c: not c))[(at + place) // 3 % 2]
                combined = lambda a, b, c: true if BOOLEAN[operator](test(a, b), given(c)) else 0
                codes = [f"set.{name}.{operator}{tail}.{target}.{kind} d, a, b, {mark}c;" for target in same]
                t.form(codes, f"d:{same[0]}", combined, needs=needs)
    return t


def halves():
    """setp and set of two halves at once."""
    t = Table("compare/pairs", SCRIPT)
    for kind in ("f16", "bf16"):
        needs = "sm_90" if kind == "bf16" else None
        rows = rows_of(kind, 12)
        other = [rows[(5 * at + 2) % len(rows)] for at in range(len(rows))]
        values = [(a | c << 16, b | d << 16) for (a, b), (c, d) in zip(rows, other)]
        t.section("9.7.7.1 set, 9.7.7.2 setp")
        t.rows(f"a:{kind}x2 b:{kind}x2 c:pred", with_predicate(values))
        parts = lambda a: (a & mask(16), a >> 16)
        for at, (full, test) in enumerate(comparisons(kind).items()):
            name, tail = split(full)
            two = lambda a, b: [test(x, y) for x, y in zip(parts(a), parts(b))]
            operator = list(BOOLEAN)[at % 3]
            combine = BOOLEAN[operator]
            t.form(f"setp.{name}{tail}.{kind}x2 p|q, a, b;", "p:pred q:pred", lambda a, b, c: tuple(map(bool, two(a, b))), needs=needs)
            t.form(
                f"setp.{name}.{operator}{tail}.{kind}x2 p|q, a, b, c;",
                "p:pred q:pred",
                lambda a, b, c: tuple(combine(bool(x), bool(c)) for x in two(a, b)),
                needs=needs,
            )
            one = TRUE[kind]
            t.form(
                f"set.{name}{tail}.{kind}x2.{kind}x2 d, a, b;",
                f"d:{kind}x2",
                lambda a, b, c: sum((one if x else 0) << 16 * k for k, x in enumerate(two(a, b))),
                needs=needs,
            )
            t.form(
                [f"set.{name}{tail}.{word}.{kind}x2 d, a, b;" for word in ("u32", "s32")],
                "d:b32",
                lambda a, b, c: sum((mask(16) if x else 0) << 16 * k for k, x in enumerate(two(a, b))),
                needs=needs,
            )
    return t


def selections():
    t = Table("compare/select", SCRIPT)
    for width in (16, 32, 64):
        random = random_of(f"select{width}")
        kinds = [f"{letter}{width}" for letter in "bus"] + ([f"f{width}"] if width > 16 else [])
        t.section("9.7.6.3 selp")
        t.rows(f"a:b{width} b:b{width} c:pred", [(random.getrandbits(width), random.getrandbits(width), at % 2) for at in range(10)])
        t.form([f"selp.{kind} d, a, b, c;" for kind in kinds], f"d:b{width}", lambda a, b, c: a if c else b)
        t.section("9.7.6.4 slct")
        some = edges(32) + float_edges(F32)
        t.rows(f"a:b{width} b:b{width} c:b32", [(random.getrandbits(width), random.getrandbits(width), c) for c in some])
        folded = [("constants", "ptxas folds slct by the constant -2^31 as if that were not negative")]
        t.form(
            [f"slct.{kind}.s32 d, a, b, c;" for kind in kinds],
            f"d:b{width}",
            lambda a, b, c: a if signed(c, 32) >= 0 else b,
            without=folded,
        )
        for tail in ("", ".ftz"):
            # -0.0 equals 0; an unordered comparison fails.
            def chosen(a, b, c):
                number = F32.decode(c, bool(tail))
                return a if not number.is_nan and number.value >= 0 else b

            t.form([f"slct{tail}.{kind}.f32 d, a, b, c;" for kind in kinds], f"d:b{width}", chosen)
    return t


def set_elements():
    """PTX 9.4: `set` of the bytes and half-words of a word."""
    t = Table("compare/set_elements", SCRIPT)
    random = random_of("set elements")
    parts = [0, 1, 2, 0x7E, 0x7F, 0x80, 0x81, 0xFE, 0xFF]
    words = [sum(parts[(at * step + step) % 9] << 8 * at for at in range(4)) for step in range(1, 9)]
    words += [low | high << 16 for low, high in zip(edges(16), reversed(edges(16)))]
    rows = [(a, words[(at * 5 + step) % len(words)]) for at, a in enumerate(words) for step in (0, 1, 4)]
    rows += [(a, a ^ 1 << random.randrange(32)) for a in (random.getrandbits(32) for _ in range(12))]
    t.section("9.7.7.1 set (PTX 9.4)")
    t.rows("a:b32 b:b32", rows)
    relations = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
    }
    unsigned = {"lt": "lo", "le": "ls", "gt": "hi", "ge": "hs"}
    for kind, count in (("u8", 4), ("s8", 4), ("u16", 2), ("s16", 2)):
        width = 32 // count
        for name, relation in relations.items():

            def whole(a, b):
                holds = lambda at: relation(*(element(word >> width * at & mask(width), kind) for word in (a, b)))
                return sum(mask(width) << width * at for at in range(count) if holds(at))

            codes = [f"set.{name}.{kind}x{count} d, a, b;"]
            if kind[0] == "u" and name in unsigned:
                codes.append(f"set.{unsigned[name]}.{kind}x{count} d, a, b;")
            without = [("constants", "it stops with an internal error")] if count == 4 else ()
            t.form(codes, "d:b32", whole, needs="9.4 sm_107f", without=without)
    return t


def element(bits, kind):
    width = int(kind[1:])
    return bits - (1 << width) if kind[0] == "s" and bits >> width - 1 else bits


def tables():
    return [setp(), set_(), halves(), set_elements(), selections()]
