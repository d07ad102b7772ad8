"""PTX ISA 9.0, 9.7.4: half-precision arithmetic (f16, bf16 and their pairs), and 9.7.5: mixed-precision arithmetic."""

from bits import mask, random_of
from float import extreme, result, suffix
from formats import BF16, F16, F32, Number, added, edges, exactly, multiplied, near, negated, pairs
from table import Either, Table

SCRIPT = "half.py"
MODES = ("rn", "rz", "rm", "rp")
SUMS = {
    "add": (2, added),
    "sub": (2, lambda a, b, mode: added(a, negated(b), mode)),
    "mul": (2, lambda a, b, mode: multiplied(a, b)),
    "fma": (3, lambda a, b, c, mode: added(multiplied(a, b), c, mode)),
}


def modifiers(format, name):
    """(text, flushes, saturates, relu, needs) of each way to write the operation."""
    if format is BF16:
        needs = "sm_80" if name == "fma" else "sm_90"
        plain = [("", False, False, False, needs)]
        return plain + ([(".relu", False, False, True, "sm_80")] if name == "fma" else [])
    ways = [(suffix(ftz, sat), ftz, sat, False, None) for ftz in (False, True) for sat in (False, True)]
    if name == "fma":
        ways += [(suffix(ftz) + ".relu", ftz, False, True, "sm_80") for ftz in (False, True)]
    return ways


def calculated(format, function, count, ftz, sat, relu):
    def bits(*operands):
        number = function(*(format.decode(x, ftz) for x in operands[:count]), "rn")
        if relu and not number.is_nan and number.negative:
            return Either(0, format.sign) if number.is_zero else 0
        return result(format, number, "rn", ftz, sat)

    return bits


def both(function, format):
    """The same on the low and the high half-word."""

    def bits(*operands):
        parts = [function(*(x >> shift & mask(16) for x in operands)) for shift in (0, 16)]
        wide = [part.values if isinstance(part, Either) else (part,) for part in parts]
        every = [low | high << 16 for low in wide[0] for high in wide[1]]
        return every[0] if len(every) == 1 else Either(*every)

    return bits


def packed(rows):
    """Pairs of rows side by side."""
    other = [rows[(7 * at + 3) % len(rows)] for at in range(len(rows))]
    return [tuple(low | high << 16 for low, high in zip(row, more)) for row, more in zip(rows, other)]


def sums():
    tables = []
    for format in (F16, BF16):
        f = format.name
        t = Table(f"half/{f}", SCRIPT)
        random = random_of(f)
        some = edges(format)
        rows = pairs(random, format, 10)
        triples = [(a, b, some[(7 * at + 2) % len(some)]) for at, (a, b) in enumerate(rows)]
        one, step = format.encode(exactly(1)), 1
        triples += [
            (one + step, one + step, one | format.sign),
            (one, one, 1),
            (one + 1, one, format.encode(Number(False, format.step(exactly(1).size) / 2))),
        ]
        for width, values in (("", triples[::2] + triples[-3:]), ("x2", packed(triples)[::2])):
            t.section("9.7.4.1 add, 9.7.4.2 sub, 9.7.4.3 mul, 9.7.4.4 fma")
            t.rows(f"a:{f}{width} b:{f}{width} c:{f}{width}", values)
            lift = (lambda g: both(g, format)) if width else (lambda g: g)
            for name, (count, function) in SUMS.items():
                operands = ", ".join("abc"[:count])
                for text, ftz, sat, relu, needs in modifiers(format, name):
                    codes = [f"{name}.rn{text}.{f}{width} d, {operands};"]
                    if name != "fma":
                        codes.append(f"{name}{text}.{f}{width} d, {operands};")
                    t.form(codes, f"d:{f}{width}", lift(calculated(format, function, count, ftz, sat, relu)), needs=needs)
        tables.append(t)
    return tables


OOB = [("o", "which NaN stands for what is out of bounds is not published, so no NaN is given here")]


def out_of_bounds():
    """`.oob`: as without, for what is within bounds."""
    t = Table("half/oob", SCRIPT)
    for format in (F16, BF16):
        f = format.name
        some = [x for x in edges(format) if not format.decode(x).is_nan]
        rows = [(a, some[(5 * at + 2) % len(some)], some[(7 * at + 3) % len(some)]) for at, a in enumerate(some)]
        for width, values in (("", rows), ("x2", packed(rows))):
            t.section("9.7.4.4 fma")
            t.rows(f"a:{f}{width} b:{f}{width} c:{f}{width}", values)
            lift = (lambda g: both(g, format)) if width else (lambda g: g)
            for relu in (False, True):
                product = calculated(format, SUMS["fma"][1], 3, False, False, relu)
                code = f"fma.rn.oob{'.relu' if relu else ''}.{f}{width} d, a, b, c;"
                t.form(code, f"d:{f}{width}", lift(product), needs="sm_90", notes=OOB)
    return t


def signs():
    """neg, abs."""
    t = Table("half/signs", SCRIPT)
    for format in (F16, BF16):
        f = format.name
        t.section("9.7.4.5 neg, 9.7.4.6 abs")
        t.rows(f"a:{f}", edges(format) + [near(random_of(f), format)])
        for name, keep, flip in (("abs", 0, 0), ("neg", format.sign, format.sign)):
            for ftz in (False, True) if format is F16 else (False,):

                def changed(a):
                    number = format.decode(a)
                    if number.is_nan:
                        return "nan"
                    small = ftz and not number.is_infinite and number.size < format.least
                    return (0 if small else a & ~format.sign) | a & keep ^ flip

                needs = "sm_80" if format is BF16 else None
                t.form(f"{name}{suffix(ftz)}.{f} d, a;", f"d:{f}", changed, needs=needs)
                two = f"{{ .reg .b32 w, x; mov.b32 w, {{a, a}}; {name}{suffix(ftz)}.{f}x2 x, w; mov.b32 {{d, e}}, x; }}"
                t.form(two, f"d:{f} e:{f}", lambda a: (changed(a), changed(a)), needs=needs)
    return t


def extremes():
    t = Table("half/extremes", SCRIPT)
    for format in (F16, BF16):
        f = format.name
        rows = pairs(random_of(f"extremes {f}"), format, 6)[::2] + [(0, format.sign), (format.sign, 0), (1, format.sign | 1), (0, 1)]
        for width, values in (("", rows), ("x2", packed(rows))):
            t.section("9.7.4.7 min, 9.7.4.8 max")
            t.rows(f"a:{f}{width} b:{f}{width}", values)
            lift = (lambda g: both(g, format)) if width else (lambda g: g)
            for ftz in (False, True) if format is F16 else (False,):
                for nan in (False, True):
                    for xorsign in (False, True):
                        for name in ("min", "max"):
                            text = suffix(ftz) + (".NaN" if nan else "") + (".xorsign.abs" if xorsign else "")
                            found = lambda a, b: extreme(format, name == "max", ftz, nan, xorsign, xorsign, [a, b])
                            needs = "sm_86" if xorsign else "sm_80"
                            t.form(f"{name}{text}.{f}{width} d, a, b;", f"d:{f}{width}", lift(found), needs=needs)
    return t


def mixed():
    """add, sub, fma of f32 with f16 or bf16 factors: those are made f32 first, exactly."""
    t = Table("half/mixed", SCRIPT)
    for format in (F16, BF16):
        f = format.name
        random = random_of(f"mixed {f}")
        t.section("9.7.5.1 add, 9.7.5.2 sub, 9.7.5.3 fma")
        some, wide = edges(format), edges(F32)
        rows = [(a, some[(5 * at + 3) % len(some)], wide[(9 * at + at // 7) % len(wide)]) for at, a in enumerate(some)]
        rows += [(near(random, format), near(random, format), near(random, F32)) for _ in range(10)]
        t.rows(f"a:{f} b:{f} c:f32", rows)
        for name, count in (("add", 1), ("sub", 1), ("fma", 2)):
            for sat in (False, True):
                for mode in MODES:

                    def calculated(a, b, c):
                        x, y, z = format.decode(a), format.decode(b), F32.decode(c)
                        if name == "fma":
                            return result(F32, added(multiplied(x, y), z, mode), mode, False, sat)
                        return result(F32, added(x, negated(z) if name == "sub" else z, mode), mode, False, sat)

                    operands = "a, b, c" if count == 2 else "a, c"
                    codes = [f"{name}.{mode}{suffix(False, sat)}.f32.{f} d, {operands};"]
                    if mode == "rn" and name != "fma":
                        codes.append(f"{name}{suffix(False, sat)}.f32.{f} d, {operands};")
                    t.form(codes, "d:f32", calculated, needs="sm_100")
    return t


def mixed_pairs():
    """PTX 9.4: add, sub, mul, fma of pairs, each operand of a format of its own. Halves are made singles first, exactly.

    Of `.ftz` with halves as the result the manual says nothing more: whether subnormal halves are flushed is open. That the factors of
    `mul.f16x2.f16x2.bf16x2` are of one format before they are multiplied it says; that this rounds too, it does not: both are right.
    """
    t = Table("half/mixed_pairs", SCRIPT)
    needs = "9.4 sm_107f"
    folds = [("constants", "its code has .NP, whose meaning is not known")]
    two = lambda some, at, step, width: some[at % len(some)] << width | some[(at * step + 1) % len(some)]

    def each(function, widths, width):
        def whole(*operands):
            parts = [function(*(x >> half * w & mask(w) for x, w in zip(operands, widths))) for half in (1, 0)]
            return pack_two(*parts, width)

        return whole

    for format in (F16, BF16):
        f = format.name
        random = random_of(f"mixed pairs {f}")
        narrow = edges(format) + [near(random, format) for _ in range(8)]
        wide = edges(F32) + [near(random, F32) for _ in range(8)]
        t.section("9.7.5.1 add, 9.7.5.2 sub, 9.7.5.3 fma (PTX 9.4)")
        count = len(narrow)
        t.rows(f"a:{f}x2 b:b64 c:b64", [(two(narrow, at, 3, 16), two(wide, 5 * at + 2, 7, 32), two(wide, 9 * at + at // 7, 5, 32)) for at in range(count)])
        for mode in MODES:

            def product(a, b, c):
                return F32.encode(added(multiplied(format.decode(a), F32.decode(b)), F32.decode(c), mode), mode)

            t.form(f"fma.{mode}.f32x2.{f}x2.f32x2.f32x2 d, a, b, c;", "d:b64", each(product, (16, 32, 32), 32), needs=needs, without=folds)
            for name in ("add", "sub"):

                def total(a, b, c):
                    c = F32.decode(c)
                    return F32.encode(added(format.decode(a), negated(c) if name == "sub" else c, mode), mode)

                codes = [f"{name}.{mode}.f32x2.{f}x2.f32x2 d, a, c;"]
                if mode == "rn":
                    codes.append(f"{name}.f32x2.{f}x2.f32x2 d, a, c;")
                t.form(codes, "d:b64", each(total, (16, 32, 32), 32), needs=needs, without=folds)
        t.section("9.7.5.1 add, 9.7.5.2 sub, 9.7.5.4 mul (PTX 9.4)")
        sizes = [format.greatest, format.least, format.least * 3 / 2, format.step(1) / 2 + 1, format.least / 4, format.greatest * 2]
        singles = wide + [F32.encode(exactly(x * sign), "rz") for x in sizes for sign in (1, -1) if x <= F32.greatest]
        t.rows("a:b64 b:b64", [(two(singles, at, 3, 32), two(singles, 5 * at + 2, 7, 32)) for at in range(len(singles))])
        ftz = format is F16
        for name in ("add", "sub", "mul"):

            def result_of(a, b):
                a, b = F32.decode(a, ftz), F32.decode(b, ftz)
                b = negated(b) if name == "sub" else b
                exact = multiplied(a, b) if name == "mul" else added(a, b, "rz")
                bits = format.encode(exact, "rz")
                tiny = ftz and bits & mask(15) and bits & 0x7C00 == 0
                return Either(bits & format.sign, bits) if tiny else bits

            code = f"{name}.rz{'.ftz' if ftz else ''}.{f}x2.f32x2.f32x2 d, a, b;"
            t.form(code, f"d:{f}x2", each(result_of, (32, 32), 16), needs=needs, without=folds)
        other = BF16 if format is F16 else F16
        t.section("9.7.5.4 mul (PTX 9.4)")
        others = edges(other) + [near(random, other) for _ in range(8)]
        t.rows(f"a:{f}x2 b:{other.name}x2", [(two(narrow, at, 3, 16), two(others, 5 * at + 2, 7, 16)) for at in range(2 * count)])

        def factors(a, b):
            a, b = format.decode(a), other.decode(b)
            once = format.encode(multiplied(a, b))
            twice = format.encode(multiplied(a, format.decode(format.encode(b))))
            return once if once == twice else Either(once, twice)

        t.form(f"mul.{f}x2.{f}x2.{other.name}x2 d, a, b;", f"d:{f}x2", each(factors, (16, 16), 16), needs=needs, without=folds)
    return t


def pack_two(high, low, width):
    """Two results side by side; of several that are right each."""
    every = [a << width | b for a in alternatives(high) for b in alternatives(low)]
    return every[0] if len(every) == 1 else Either(*every)


def alternatives(result):
    return result.values if isinstance(result, Either) else (result,)


def tables():
    return [*sums(), out_of_bounds(), signs(), extremes(), mixed(), mixed_pairs()]
