"""PTX 9.4: `cvt` to narrow floats towards zero, with positive zeros, divided by one scale; `.ue5m3`.

Of what a chip does beyond the manual nothing is known: with `.ue5m3` the sign is lost as with `.ue8m0`, so that rounding is that of the magnitude; without
`.satfinite` what is too great is NaN, or, towards zero, either NaN or the greatest number.
"""

from fractions import Fraction

from bits import mask
from convert import SMALL, packed, power, relu_of, times, values_for
from formats import BF16, F16, F32, TF32, Format, Number, divided, edges, exactly
from table import Either, Table

SCRIPT = "narrow.py"
# ptxas 13.5.37 at constant operands.
STOPS = [("constants", "it stops with an internal error")]
FORGETS = [("constants", "it forgets .pzo")]
FAMILY = "9.4 sm_107f"
UE5M3 = Format("ue5m3", 5, 3, 0xFF, infinities=False, width=9)
SCALES = [0x7F, 0x80, 0x7E, 0x85, 0x70, 0x01, 0xFE, 0xFF, 0x00]


def converted(source, format, mode, relu, pzo, satfinite=True, scale=None):
    """One conversion: bits to bits."""

    def one(bits, s=None):
        value = source.decode(bits, flush=scale is not None)
        if scale is not None:
            value = divided(value, power(s))
        zero = relu and value.is_zero and value.negative and not pzo
        if relu:
            value = relu_of(value)
        if value.is_nan and format.nan is None:
            return format.pack(format.greatest)
        result = format.encode(value, mode, satfinite=satfinite)
        if pzo and result == format.sign:
            return 0
        return Either(0, format.sign) if zero else result

    return one


def operands(source):
    return "a:f32 b:f32" if source is F32 else f"a:{source.name}x2"


def statement(text, name, source, scaled):
    """The statement, through a register of a byte where operands have one."""
    register = "x" if name == "e2m1" else "d"
    last = ", t" if scaled else ""
    code = f"{text}.{name}x2.{source.name}{'' if source is F32 else 'x2'} {register}, a{', b' if source is F32 else ''}{last};"
    before = ".reg .b8 x; " if name == "e2m1" else ""
    after = " cvt.u16.u8 d, x;" if name == "e2m1" else ""
    if scaled:
        before, code = before + ".reg .b8 t; ", "cvt.u8.u16 t, s; " + code
    return f"{{ {before}{code}{after} }}" if before else code


def rows_of(source, values, scaled):
    some = [(a, values[(5 * at + 2) % len(values)]) for at, a in enumerate(values)]
    if source is not F32:
        some = [(a << 16 | b,) for a, b in some]
    return [(*row, SCALES[at % len(SCALES)]) for at, row in enumerate(some)] if scaled else some


def of_two(source, one, size, scaled):
    """The function of a row."""

    def result(*row):
        row, last = (row[:-1], row[-1:]) if scaled else (row, ())
        a, b = row if source is F32 else (row[0] >> 16, row[0] & mask(16))
        return packed(one(a, *last), one(b, *last), size)

    return result


def small():
    """To e4m3, e5m2, e2m3, e3m2, e2m1."""
    t = Table("convert/narrow_modes", SCRIPT)
    for name, (format, size, _) in SMALL.items():
        for source in (F32, F16, BF16):
            values = values_for(format, source) + [source.encode(exactly(source.least / 2)), source.encode(exactly(-source.least))]
            for scaled in (False, True):
                t.section("9.7.10.24 cvt (PTX 9.4)")
                t.rows(operands(source) + (" s:b16" if scaled else ""), rows_of(source, values, scaled))
                for mode in ("rn", "rz"):
                    for relu in (False, True):
                        for pzo in (False, True):
                            if mode == "rn" and not pzo and not scaled:
                                continue  # older
                            text = f"cvt.{mode}.satfinite{'.relu' if relu else ''}{'.pzo' if pzo else ''}{'.scaled::n1::ue8m0' if scaled else ''}"
                            one = converted(source, format, mode, relu, pzo, scale=scaled or None)
                            code = statement(text, name, source, scaled)
                            t.form(code, "d:b16", of_two(source, one, size, scaled), needs=FAMILY, without=STOPS if scaled else ())
    return t


def positive_zeros():
    """`.pzo` of conversions to halves and tf32."""
    t = Table("convert/positive_zeros", SCRIPT)
    values = edges(F32) + [F32.encode(exactly(x * sign)) for x in (Fraction(1, 2**26), BF16.least / 2**9, Fraction(1, 3)) for sign in (1, -1)]
    t.section("9.7.10.24 cvt (PTX 9.4)")
    t.rows("a:f32 b:f32", [(a, values[(7 * at + 3) % len(values)]) for at, a in enumerate(values)])
    for format in (F16, BF16, TF32):
        f = format.name
        for mode in ("rn", "rz"):
            for relu in (False, True):
                for satfinite in (False, True):
                    text = f"cvt.{mode}{'.relu' if relu else ''}{'.satfinite' if satfinite else ''}.pzo"
                    one = converted(F32, format, mode, relu, True, satfinite)
                    store = "d:b32" if format is TF32 else f"d:{f}"
                    t.form(f"{text}.{f}.f32 d, a;", store, lambda a, b: one(a), needs=FAMILY)
                    if format is not TF32:
                        t.form(f"{text}.{f}x2.f32 d, a, b;", f"d:{f}x2", lambda a, b: packed(one(a), one(b), 16), needs=FAMILY, without=FORGETS)
    return t


def unsigned():
    """To and from ue5m3."""
    t = Table("convert/ue5m3", SCRIPT)
    for source in (F32, F16, BF16):
        values = values_for(UE5M3, source) if source is not F16 else values_for(F16, F16)
        values += [source.encode(exactly(x)) for x in (Fraction(1, 2**17), Fraction(3, 2**18), Fraction(-5, 2**19), -3, Fraction(33, 32))]
        for scaled in (False, True):
            t.section("9.7.10.24 cvt (PTX 9.4)")
            t.rows(operands(source) + (" s:b16" if scaled else ""), rows_of(source, values, scaled))
            for mode in ("rn", "rz") if scaled else ("rn", "rz", "rp"):
                for satfinite in (False, True):

                    def one(bits, s=0x7F):
                        value = divided(source.decode(bits, flush=scaled), power(s))
                        if value.is_nan:
                            return 0xFF
                        value = Number(False, value.size)
                        if satfinite:
                            return UE5M3.encode(value, mode, satfinite=True)
                        if value.is_infinite:
                            return 0xFF
                        # Rounded as if there were greater numbers.
                        count, rest = divmod(value.size, UE5M3.step(value.size))
                        up = rest and (mode == "rp" or mode == "rn" and (2 * rest, count % 2) > (UE5M3.step(value.size), 0))
                        beyond = (count + bool(up)) * UE5M3.step(value.size) > UE5M3.greatest
                        if beyond:
                            return Either(0xFF, 0xFE) if mode == "rz" else 0xFF
                        return UE5M3.encode(value, mode)

                    text = f"cvt.{mode}{'.satfinite' if satfinite else ''}{'.scaled::n1::ue8m0' if scaled else ''}"
                    code = statement(text, "ue5m3", source, scaled)
                    t.form(code, "d:b16", of_two(source, one, 8, scaled), needs=FAMILY, without=STOPS if scaled else ())
    t.section("9.7.10.24 cvt (PTX 9.4)")
    scales = [0x7F7F, 0x7E80, 0x0001, 0xFE00, 0xFF7F, 0xFEFE, 0x7FFF, 0x70FD]
    t.rows("a:b16 s:b16", [(a << 8 | (5 * a + 3) % 256, scales[(a + step) % 8]) for a in range(256) for step in (0, 3)])
    half = lambda bits: F16.encode(UE5M3.decode(bits))
    t.form("cvt.rn.f16x2.ue5m3x2 d, a;", "d:f16x2", lambda a, s: packed(half(a >> 8), half(a & 255), 16), needs=FAMILY)
    for satfinite in (False, True):
        tail = ".satfinite" if satfinite else ""
        for scaled in (False, True):

            def both(a, s):
                s = s if scaled else 0x7F7F
                wide = lambda bits, scale: times(UE5M3.decode(bits), scale, False, satfinite)
                return packed(wide(a >> 8, s >> 8), wide(a & 255, s & 255), 16)

            modifier, last = (".scaled::n2::ue8m0", ", s") if scaled else ("", "")
            t.form(f"cvt.rn{tail}{modifier}.bf16x2.ue5m3x2 d, a{last};", "d:bf16x2", both, needs=FAMILY)
    return t


def fixed_point():
    """To s2f6 towards zero."""
    t = Table("convert/fixed_point_modes", SCRIPT)
    scales = [0x7F7F, 0x7E80, 0x807D, 0x7FFF, 0x7C82, 0x7F81]
    parts = [Fraction(n, 128) for n in (-300, -257, -256, -255, -254, -129, -128, -127, -65, -64, -3, -2, -1, 0, 1, 2, 3, 5, 7, 127, 129, 252, 253, 254, 255, 256, 300)]
    for source in (F32, BF16):
        values = [source.encode(exactly(x)) for x in parts] + [source.top(False), source.top(False) | source.sign, source.nan]
        some = [(a, values[(5 * at + 2) % len(values)]) for at, a in enumerate(values)]
        t.section("9.7.10.24 cvt (PTX 9.4)")
        if source is F32:
            t.rows("a:f32 b:f32 s:b16", [(a, b, scales[at % 6]) for at, (a, b) in enumerate(some)])
        else:
            t.rows("a:bf16x2 s:b16", [(a << 16 | b, scales[at % 6]) for at, (a, b) in enumerate(some)])
        for relu in (False, True):
            for scaled in (False, True):

                def fixed(bits, scale):
                    quotient = divided(source.decode(bits), power(scale))
                    if quotient.is_nan:
                        return 0x7F
                    size = min(abs(quotient.value) * 64 // 1, 128)
                    steps = max(-128, min(127, -size if quotient.negative else size))
                    return (max(steps, 0) if relu else steps) & 255

                def two(*row):
                    *row, s = row
                    a, b = row if source is F32 else (row[0] >> 16, row[0] & mask(16))
                    s = s if scaled else 0x7F7F
                    return fixed(a, s >> 8) << 8 | fixed(b, s & 255)

                text = f"cvt.rz.satfinite{'.relu' if relu else ''}{'.scaled::n2::ue8m0' if scaled else ''}.s2f6x2"
                code = f"{text}.{source.name}{' d, a, b' if source is F32 else 'x2 d, a'}{', s' if scaled else ''};"
                t.form(code, "d:b16", two, needs="9.4 sm_107a", without=STOPS if scaled and source is F32 else ())
    return t


def tables():
    return [small(), positive_zeros(), unsigned(), fixed_point()]
