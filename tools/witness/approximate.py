"""PTX ISA 9.0, 9.7.3 and 9.7.4: approximations. What the manual gives is a bound of the error, so a table has the least and the greatest
result that is within it; exact are the results for zeros, infinities and NaNs."""

from fractions import Fraction

import mpmath

from bits import mask, random_of
from formats import BF16, F16, F32, F64, divided, edges, exactly, near
from table import Between, Either, Table

SCRIPT = "approximate.py"
mpmath.mp.prec = 400


def to_fraction(x):
    sign, man, exp, _ = mpmath.mpf(x)._mpf_
    return Fraction(-int(man) if sign else int(man)) * Fraction(2) ** exp


def floor_bits(format, value):
    return format.encode(exactly(value), "rm")


def ceil_bits(format, value):
    return format.encode(exactly(value), "rp")


def within(format, exact, error, flush=False):
    """The floats that are not farther from an exact number than this; the nearest one in any case. With `flush` a subnormal result is zero."""
    low, high = ceil_bits(format, exact - error), floor_bits(format, exact + error)
    nearest = format.encode(exactly(exact), "rn")
    order = lambda bits: -(bits & ~format.sign) if bits & format.sign else bits
    low, high = min(low, nearest, key=order), max(high, nearest, key=order)
    span = Between(low, high)
    if flush and abs(exact) - error < format.least:
        zero = format.sign if exact < 0 else 0
        return Either(zero, span) if abs(exact) + error >= format.least else zero
    return span


def units(format, exact, count):
    """So many units in the last place of the number."""
    return format.step(abs(exact)) * count if exact else 0


def unary(t, text, format, special, function, error, ftz, needs=None, notes=(), width=""):
    """`special` gives bits where the manual's table does, `function` the exact value (a Fraction), `error` the bound of that."""
    def result(a):
        number = format.decode(a, ftz)
        fixed = special(number)
        if fixed is not None:
            return fixed
        exact = function(number.value)
        return within(format, exact, error(number.value, exact), ftz)

    t.form(text, f"d:{format.name}", result, needs=needs, notes=notes)


def infinity(format, negative=False):
    return format.top(False) | (format.sign if negative else 0)


def roots(t, format):
    f, nan = format.name, "nan"
    sqrt = lambda x: to_fraction(mpmath.sqrt(mpmath.mpf(x.numerator) / x.denominator))

    def of_reciprocal(x):
        if x.is_nan:
            return nan
        if x.is_zero:
            return infinity(format, x.negative)
        return format.sign if x.is_infinite and x.negative else 0 if x.is_infinite else None

    def of_root(x):
        if x.is_nan or (x.negative and not x.is_zero):
            return nan
        if x.is_zero:
            return format.sign if x.negative else 0
        return infinity(format) if x.is_infinite else None

    def of_inverse_root(x):
        if x.is_nan or (x.negative and not x.is_zero):
            return nan
        if x.is_zero:
            return infinity(format, x.negative)
        return 0 if x.is_infinite else None

    for ftz in (False, True):
        tail = ".ftz" if ftz else ""
        unary(t, f"rcp.approx{tail}.{f} d, a;", format, of_reciprocal, lambda x: 1 / x, lambda x, exact: units(format, exact, 1), ftz)
        unary(t, f"sqrt.approx{tail}.{f} d, a;", format, of_root, sqrt, lambda x, exact: exact / 2**23, ftz)
        unary(t, f"rsqrt.approx{tail}.{f} d, a;", format, of_inverse_root, lambda x: 1 / sqrt(x), lambda x, exact: exact * to_fraction(mpmath.mpf(2) ** mpmath.mpf("-22.9")), ftz)


def powers(t):
    log2 = lambda x: to_fraction(mpmath.log(mpmath.mpf(x.numerator) / x.denominator, 2))

    def of_logarithm(x):
        if x.is_nan or (x.negative and not x.is_zero):
            return "nan"
        if x.is_zero:
            return infinity(F32, True)
        return infinity(F32) if x.is_infinite else 0 if x.size == 1 else None

    def of_power(x):
        if x.is_nan:
            return "nan"
        if x.is_infinite or abs(x.value) > 200:
            return 0 if x.negative else infinity(F32)
        if x.value >= 128:
            return infinity(F32)
        return F32.encode(exactly(1)) if x.is_zero else None

    def log_error(x, exact):
        near_one = Fraction(1, 2) < x < 2
        return Fraction(1, 2**22) if near_one else abs(exact) / 2**22

    power = lambda x: to_fraction(mpmath.mpf(2) ** (mpmath.mpf(x.numerator) / x.denominator))
    for ftz in (False, True):
        tail = ".ftz" if ftz else ""
        unary(t, f"lg2.approx{tail}.f32 d, a;", F32, of_logarithm, log2, log_error, ftz)
        unary(t, f"ex2.approx{tail}.f32 d, a;", F32, of_power, power, lambda x, exact: max(exact / 2**22, F32.step(exact)), ftz)


def angles(t):
    for name in ("sin", "cos"):
        exactly_of = lambda x: to_fraction(getattr(mpmath, name)(mpmath.mpf(x.numerator) / x.denominator))

        def special(x):
            if x.is_nan or x.is_infinite:
                return "nan"
            if x.is_zero:
                return F32.encode(exactly(1)) if name == "cos" else F32.sign if x.negative else 0
            return None

        def error(x, exact):
            turns = abs(x) / to_fraction(mpmath.pi)
            return to_fraction(mpmath.mpf(2) ** mpmath.mpf("-20.5" if turns <= 2 else "-14.7"))

        for tail in ("", ".ftz"):
            unary(t, f"{name}.approx{tail}.f32 d, a;", F32, special, exactly_of, error, False, notes=[("b", "bounds hold up to 2 pi and 100 pi; no row is beyond")])


def singles():
    t = Table("approximate/f32", SCRIPT)
    random = random_of("approximate f32")
    t.section("9.7.3.13 rcp, 9.7.3.15 sqrt, 9.7.3.16 rsqrt, 9.7.3.19 lg2, 9.7.3.20 ex2")
    t.rows("a:f32", edges(F32) + [near(random, F32) for _ in range(24)] + [F32.encode(exactly(Fraction(x))) for x in (-126, -127, "-130.5", -149, 127, "127.75", 128, 1001, "0.999")])
    roots(t, F32)
    powers(t)
    t.section("9.7.3.17 sin, 9.7.3.18 cos")
    angles_ = [0, "0.5", 1, "1.5", "1.5703125", 3, "3.140625", 5, "6.25", 7, 20, 100, 200, 300, Fraction(1, 2**20), Fraction(1, 2**100)]
    t.rows("a:f32", [F32.encode(exactly(Fraction(x) * sign, sign < 0)) for x in angles_ for sign in (1, -1)] + [F32.top(False), F32.nan] + [F32.encode(exactly(random.uniform(-6, 6))) for _ in range(12)])
    angles(t)
    t.section("9.7.3.21 tanh")
    tanh = lambda x: to_fraction(mpmath.tanh(mpmath.mpf(x.numerator) / x.denominator))
    one = lambda format, x: format.encode(exactly(1)) | (format.sign if x.negative else 0)
    t.rows("a:f32", edges(F32) + [F32.encode(exactly(random.uniform(-4, 4))) for _ in range(16)])

    def of_tangent(x):
        if x.is_nan:
            return "nan"
        if x.is_zero:
            return F32.sign if x.negative else 0
        return one(F32, x) if x.is_infinite else None

    def tangent(x):
        return tanh(x) if abs(x) < 50 else Fraction(1 if x > 0 else -1)

    unary(t, "tanh.approx.f32 d, a;", F32, of_tangent, tangent, lambda x, exact: abs(exact) / 2**11, False)
    t.section("9.7.3.8 div")
    pairs = [(near(random, F32), near(random, F32)) for _ in range(20)]
    some = edges(F32)
    pairs += [(a, some[(7 * at + 4) % len(some)]) for at, a in enumerate(some)]
    t.rows("a:f32 b:f32", pairs)
    for mode in ("approx", "full"):
        for ftz in (False, True):
            def quotient(a, b):
                x, y = F32.decode(a, ftz), F32.decode(b, ftz)
                exact = divided(x, y)
                if exact.is_nan:
                    return "nan"
                if mode == "approx" and not y.is_infinite and y.size > 2**126:
                    return "nan" if x.is_infinite else Either(0, F32.sign)
                if exact.is_infinite or exact.is_zero or x.is_infinite:
                    return F32.encode(exact)
                if mode == "approx" and y.size < F32.least:
                    return "?s"
                if exact.size < 2 * F32.least or exact.size > F32.greatest / 2:
                    return "?s"
                return within(F32, exact.value, units(F32, exact.value, 2), ftz)

            t.form(f"div.{mode}{'.ftz' if ftz else ''}.f32 d, a, b;", "d:f32", quotient, notes=[("s", "subnormal operands and results, and those at the end of the range, are not within the manual's bound")])
    return t


def halves():
    t = Table("approximate/halves", SCRIPT)
    for format, needs, power_error, tanh_error in ((F16, "sm_75", "-9.9", "-10.987"), (BF16, "sm_90", "-7", "-8")):
        f = format.name
        random = random_of(f"approximate {f}")
        t.section("9.7.4.9 tanh, 9.7.4.10 ex2")
        t.rows(f"a:{f}", edges(format) + [format.encode(exactly(random.uniform(-5, 5))) for _ in range(16)])

        def power(a, flush):
            x = format.decode(a, flush)
            if x.is_nan:
                return "nan"
            if x.is_infinite or abs(x.value) > 200:
                return 0 if x.negative else infinity(format)
            exact = to_fraction(mpmath.mpf(2) ** (mpmath.mpf(x.value.numerator) / x.value.denominator))
            if exact > format.greatest:
                return infinity(format)
            error = max(exact * to_fraction(mpmath.mpf(2) ** mpmath.mpf(power_error)), format.step(exact))
            return within(format, exact, error, flush)

        def tangent(a):
            x = format.decode(a)
            if x.is_nan:
                return "nan"
            if x.is_infinite or abs(x.value) > 50:
                return format.encode(exactly(1)) | (format.sign if x.negative else 0)
            if x.is_zero:
                return a
            exact = to_fraction(mpmath.tanh(mpmath.mpf(x.value.numerator) / x.value.denominator))
            return within(format, exact, to_fraction(mpmath.mpf(2) ** mpmath.mpf(tanh_error)))

        two = lambda text: f"{{ .reg .b32 w; mov.b32 w, {{a, a}}; {text} w, w; mov.b32 {{d, e}}, w; }}"
        ftz = ".ftz" if format is BF16 else ""
        t.form(f"ex2.approx{ftz}.{f} d, a;", f"d:{f}", lambda a: power(a, bool(ftz)), needs=needs)
        folded = [("constants", "the decoder does not know MUFU of two bf16 constants, which ptxas makes")] if format is BF16 else []
        t.form(two(f"ex2.approx{ftz}.{f}x2"), f"d:{f} e:{f}", lambda a: (power(a, bool(ftz)),) * 2, needs=needs, without=folded)
        t.form(f"tanh.approx.{f} d, a;", f"d:{f}", tangent, needs=needs)
        t.form(two(f"tanh.approx.{f}x2"), f"d:{f} e:{f}", lambda a: (tangent(a),) * 2, needs=needs)
    return t


def doubles():
    """Of `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` the upper word counts: 20 bits of the fraction, the lower word is zero."""
    t = Table("approximate/f64", SCRIPT)
    random = random_of("approximate f64")
    t.section("9.7.3.14 rcp, 9.7.3.16 rsqrt")
    t.rows("a:f64", edges(F64) + [near(random, F64) for _ in range(12)])
    sqrt = lambda x: to_fraction(mpmath.sqrt(mpmath.mpf(x.numerator) / x.denominator))
    for name, function in (("rcp", lambda x: 1 / x), ("rsqrt", lambda x: 1 / sqrt(x))):
        def result(a):
            x = F64.decode(a & ~mask(32), True)  # the upper word alone
            if x.is_nan or (name == "rsqrt" and x.negative and not x.is_zero):
                return "nan", 0
            if x.is_zero:
                return infinity(F64, x.negative), 0
            if x.is_infinite:
                return (F64.sign if x.negative else 0), 0
            exact = function(x.value)
            return within(F64, exact, abs(exact) / 2**19, True), 0

        note = [("l", "the lower word of a NaN is nowhere said")]
        t.form(f"{name}.approx.ftz.f64 d, a; {{ .reg .b32 h; mov.b64 {{e, h}}, d; }}", "d:f64 e:b32", lambda a: (result(a)[0], "?l" if result(a)[0] == "nan" else 0), notes=note)

    def inverse_root(a):
        x = F64.decode(a)
        if x.is_nan or (x.negative and not x.is_zero):
            return "nan"
        if x.is_zero:
            return infinity(F64, x.negative)
        if x.is_infinite:
            return 0
        exact = 1 / sqrt(x.value)
        return within(F64, exact, exact / 2**22)

    t.form("rsqrt.approx.f64 d, a;", "d:f64", inverse_root, notes=[("b", "the manual gives no bound; this one is that of f32")])
    return t


def tables():
    return [singles(), halves(), doubles()]
