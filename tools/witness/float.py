"""PTX ISA 9.0, 9.7.3: floating-point arithmetic of f32 and f64."""

from bits import mask, random_of
from formats import F32, F64, Number, added, divided, edges, exactly, multiplied, near, negated, pairs, root
from table import Either, Table

SCRIPT = "float.py"
MODES = ("rn", "rz", "rm", "rp")
PARTS = ("constants", "the simulator does not execute ptxas's negation of one half (.NP)")
SETTINGS = {F32: [(ftz, sat) for ftz in (False, True) for sat in (False, True)], F64: [(False, False)]}


def result(format, number, mode="rn", ftz=False, sat=False):
    """The bits of an exact result. `.sat` makes 0 of what is below and of a NaN; the sign of such a zero is nowhere said."""
    if sat:
        if number.is_nan or (number.negative and not number.is_zero):
            return 0
        if not number.is_zero and (number.is_infinite or number.size > 1):
            number = exactly(1)
    bits = format.encode(number, mode, ftz)
    return Either(0, format.sign) if sat and bits == format.sign else bits


def suffix(ftz, sat=False):
    return (".ftz" if ftz else "") + (".sat" if sat else "")


def forms(t, format, name, operands, function, modes=MODES, settings=None, needs=None, unrounded=True):
    """All roundings of an instruction. `function` has the decoded operands and the mode."""
    f = format.name
    for ftz, sat in settings or SETTINGS[format]:
        for mode in modes:
            def calculated(*bits):
                numbers = [format.decode(x, ftz) for x in bits[: len(operands)]]
                return result(format, function(*numbers, mode), mode, ftz, sat)

            codes = [f"{name}.{mode}{suffix(ftz, sat)}.{f} d, {', '.join(operands)};"]
            if mode == "rn" and unrounded:
                codes.append(f"{name}{suffix(ftz, sat)}.{f} d, {', '.join(operands)};")
            t.form(codes, f"d:{f}", calculated, needs=needs)


def sums():
    tables = []
    for format in (F32, F64):
        f = format.name
        t = Table(f"float/{f}", SCRIPT)
        t.section("9.7.3.3 add, 9.7.3.4 sub, 9.7.3.5 mul, 9.7.3.8 div")
        random = random_of(f)
        rows = pairs(random, format)
        # Halfway cases: one and half of the distance to its neighbours, and the same above an odd number.
        half = format.encode(Number(False, format.step(exactly(1).size) / 2))
        one = format.encode(exactly(1))
        rows += [(one, half), (one + 1, half), (one, half | format.sign), (one + 1, half + 1), (one + 1, one + 1), (1, format.encode(exactly(0.5))), (3, format.encode(exactly(0.5)))]
        t.rows(f"a:{f} b:{f}", rows)
        forms(t, format, "add", "ab", added)
        forms(t, format, "sub", "ab", lambda a, b, mode: added(a, negated(b), mode))
        forms(t, format, "mul", "ab", lambda a, b, mode: multiplied(a, b))
        forms(t, format, "div", "ab", lambda a, b, mode: divided(a, b), settings=flushed(format), unrounded=False)
        t.section("9.7.3.6 fma, 9.7.3.7 mad")
        thirds = edges(format)
        triples = [(a, b, thirds[(7 * at + 2) % len(thirds)]) for at, (a, b) in enumerate(rows[::2])]
        triples += [(near(random, format), near(random, format), near(random, format)) for _ in range(8)]
        a = near(random, format)
        triples += [(one + 1, one + 1, one | format.sign), (a, a, format.encode(multiplied(format.decode(a), format.decode(a))) | format.sign)]
        t.rows(f"a:{f} b:{f} c:{f}", triples)
        for name in ("fma", "mad"):
            forms(t, format, name, "abc", lambda a, b, c, mode: added(multiplied(a, b), c, mode), unrounded=False)
        t.section("9.7.3.13 rcp, 9.7.3.14 sqrt")
        squares = [format.encode(exactly(n * n)) for n in (2, 3, 5, 1001)]
        t.rows(f"a:{f}", edges(format) + squares + [near(random, format) for _ in range(16)])
        one = exactly(1)
        forms(t, format, "rcp", "a", lambda a, mode: divided(one, a), settings=flushed(format), unrounded=False)
        forms(t, format, "sqrt", "a", lambda a, mode: root(a), settings=flushed(format), unrounded=False)
        tables.append(t)
    return tables


def flushed(format):
    return [(False, False), (True, False)] if format is F32 else [(False, False)]


def classes():
    """testp, copysign, abs, neg."""
    t = Table("float/signs", SCRIPT)
    for format in (F32, F64):
        f = format.name
        random = random_of(f"signs {f}")
        t.section("9.7.3.1 testp, 9.7.3.9 abs, 9.7.3.10 neg")
        t.rows(f"a:{f}", edges(format) + [random.getrandbits(format.width) for _ in range(6)])
        number = lambda a: format.decode(a)
        for name, test in (
            ("finite", lambda a: not a.is_nan and not a.is_infinite),
            ("infinite", lambda a: a.is_infinite),
            ("number", lambda a: not a.is_nan),
            ("notanumber", lambda a: a.is_nan),
            ("normal", lambda a: not a.is_nan and not a.is_infinite and (a.is_zero or a.size >= format.least)),
            ("subnormal", lambda a: not a.is_nan and not a.is_infinite and 0 < a.size < format.least),
        ):
            t.form(f"testp.{name}.{f} d, a;", "d:pred", lambda a: test(number(a)))
        for ftz in (False, True) if format is F32 else (False,):
            # Which NaN a NaN becomes is unspecified.
            def signed(a, change):
                if number(a).is_nan:
                    return "nan"
                kept = a & ~format.sign
                if ftz and not number(a).is_infinite and number(a).size < format.least:
                    kept = 0
                return kept | change(a & format.sign)

            t.form(f"abs{suffix(ftz)}.{f} d, a;", f"d:{f}", lambda a: signed(a, lambda sign: 0))
            t.form(f"neg{suffix(ftz)}.{f} d, a;", f"d:{f}", lambda a: signed(a, lambda sign: sign ^ format.sign))
        t.section("9.7.3.2 copysign")
        t.rows(f"a:{f} b:{f}", pairs(random, format, 4)[::2])
        t.form(f"copysign.{f} d, a, b;", f"d:{f}", lambda a, b: a & format.sign | b & ~format.sign)
    return t


def extreme(format, largest, ftz, nan, xorsign, magnitude, bits):
    """The manual's pseudo-code of min and max, for two operands or three."""
    sign = 0
    if xorsign:
        sign = (bits[0] ^ bits[1]) & format.sign
    if magnitude:
        bits = [x & ~format.sign for x in bits]
    numbers = [format.decode(x, ftz) for x in bits]
    some = [x for x in numbers if not x.is_nan]
    if not some or (nan and len(some) < len(numbers)):
        return format.nan
    # -0.0 is below +0.0.
    order = lambda x: (x.value, not x.negative)
    found = format.encode(max(some, key=order) if largest else min(some, key=order))
    return found & ~format.sign | sign if xorsign else found


def extremes():
    t = Table("float/extremes", SCRIPT)
    for format in (F32, F64):
        f = format.name
        random = random_of(f"extremes {f}")
        t.section("9.7.3.11 min, 9.7.3.12 max")
        rows = pairs(random, format, 6) + [(0, format.sign), (format.sign, 0), (1, format.sign | 1), (0, 1)]
        t.rows(f"a:{f} b:{f}", rows)
        for ftz in (False, True) if format is F32 else (False,):
            for nan in (False, True) if format is F32 else (False,):
                for xorsign in (False, True) if format is F32 else (False,):
                    for name in ("min", "max"):
                        modifiers = suffix(ftz) + (".NaN" if nan else "") + (".xorsign.abs" if xorsign else "")
                        found = lambda a, b: extreme(format, name == "max", ftz, nan, xorsign, xorsign, [a, b])
                        needs = "sm_86" if xorsign else "sm_80" if nan else None
                        t.form(f"{name}{modifiers}.{f} d, a, b;", f"d:{f}", found, needs=needs)
    t.section("9.7.3.11 min, 9.7.3.12 max")
    some = edges(F32)
    t.rows("a:f32 b:f32 c:f32", [(a, b, some[(11 * at + 5) % len(some)]) for at, (a, b) in enumerate(pairs(random_of("three"), F32, 6)[::2])])
    for ftz in (False, True):
        for nan in (False, True):
            for magnitude in (False, True):
                for name in ("min", "max"):
                    modifiers = suffix(ftz) + (".NaN" if nan else "") + (".abs" if magnitude else "")
                    found = lambda a, b, c: extreme(F32, name == "max", ftz, nan, False, magnitude, [a, b, c])
                    t.form(f"{name}{modifiers}.f32 d, a, b, c;", "d:f32", found, needs="sm_100")
    return t


def packed():
    """add, sub, mul, fma of f32x2: each half on its own."""
    t = Table("float/f32x2", SCRIPT)
    t.section("9.7.3.3 add, 9.7.3.4 sub, 9.7.3.5 mul, 9.7.3.6 fma")
    random = random_of("f32x2")
    rows, some = pairs(random, F32, 8), edges(F32)
    two = lambda at, k: rows[at][k] | rows[(3 * at + 1) % len(rows)][k] << 32
    thirds = [some[(5 * at) % len(some)] | some[(3 * at + 4) % len(some)] << 32 for at in range(len(rows))]
    t.rows("a:b64 b:b64 c:b64", [(two(at, 0), two(at, 1), thirds[at]) for at in range(0, len(rows), 2)])
    operations = {
        "add": (2, added),
        "sub": (2, lambda a, b, mode: added(a, negated(b), mode)),
        "mul": (2, lambda a, b, mode: multiplied(a, b)),
        "fma": (3, lambda a, b, c, mode: added(multiplied(a, b), c, mode)),
    }
    for name, (count, function) in operations.items():
        for ftz in (False, True):
            for mode in MODES:
                def each(*operands):
                    parts = []
                    for shift in (0, 32):
                        numbers = [F32.decode(x >> shift & mask(32), ftz) for x in operands[:count]]
                        parts.append(F32.encode(function(*numbers, mode), mode, ftz))
                    return parts[0] | parts[1] << 32

                code = f"{name}.{mode}{suffix(ftz)}.f32x2 d, {', '.join('abc'[:count])};"
                t.form(code, "d:b64", each, needs="sm_100", without=[PARTS])
    return t


def tables():
    return [*sums(), classes(), extremes(), packed()]
