"""PTX ISA 9.0, 9.7.18: video instructions. What ptxas makes of them since sm_70 is no longer the manual's in all cases
(docs/interp-arithmetic.md lists how); there the tables have both."""

from bits import clamp, edges, mask, number, random_of, signed
from table import Differs, Table

SCRIPT = "video.py"
KINDS = ("u32", "s32")
SELECTORS = ("", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1")


def part(value, kind, selector):
    """The selected part as a number, extended by the sign of the type."""
    if not selector:
        return number(value, kind)
    size = 8 if selector[1] == "b" else 16
    return number(value >> size * int(selector[2]), f"{kind[0]}{size}")


def saturate(value, kind, selector):
    """To the range of the destination, or of the part of it that is written."""
    size = 32 if not selector else 8 if selector[1] == "b" else 16
    return clamp(value, f"{kind[0]}{size}")


def merge(value, selector, c):
    size = 8 if selector[1] == "b" else 16
    at = size * int(selector[2])
    return c & ~(mask(size) << at) & mask(32) | (value & mask(size)) << at


def second(operation, value, c, kind):
    """The second operation, on numbers of the destination's type."""
    value, c = number(value, kind), number(c, kind)
    return {"add": value + c, "min": min(value, c), "max": max(value, c)}[operation]


FOLDED = ("constants", "ptxas takes another operand for a constant or a kernel parameter of vabsdiff2 and vabsdiff4")
BASIC = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vabsdiff": lambda a, b: abs(a - b),
    "vmin": min,
    "vmax": max,
}


def rows(name, count=26):
    random = random_of(name)
    some = edges(32) + [0x80FF7F01, 0x7F80FF80, 0x00FF8000]
    values = [(a, some[(5 * at + 2) % 12], some[(7 * at + 3) % 12]) for at, a in enumerate(some)]
    return values + [tuple(random.getrandbits(32) for _ in range(3)) for _ in range(count - 12)]


def scalars():
    """Without what ptxas makes otherwise: .sat to an unsigned word or to a part, the upper half-word, second operations without .sat."""
    t = Table("video/scalar", SCRIPT)
    t.section("9.7.18.1 vadd, vsub, vabsdiff, vmin, vmax")
    t.rows("a:b32 b:b32 c:b32", rows("scalars"))
    turn = 0
    for name, operation in BASIC.items():
        for d in KINDS:
            for x in KINDS:
                for y in KINDS:
                    turn += 1
                    p, q = SELECTORS[turn % 7], SELECTORS[turn // 2 % 7]
                    value = lambda a, b: operation(part(a, x, p), part(b, y, q))
                    t.form(f"{name}.{d}.{x}.{y} d, a{p}, b{q};", "d:b32", lambda a, b, c: value(a, b))
                    t.form(f"{name}.{d}.{x}.{y} d, a, b;", "d:b32", lambda a, b, c: operation(number(a, x), number(b, y)))
                    r = (".b0", ".b1", ".b2", ".b3", ".h0")[turn % 5]
                    t.form(f"{name}.{d}.{x}.{y} d{r}, a{p}, b{q}, c;", "d:b32", lambda a, b, c: merge(value(a, b), r, c))
                    if d == "s32":
                        sat = lambda a, b: saturate(value(a, b), d, "")
                        t.form(f"{name}.{d}.{x}.{y}.sat d, a{p}, b{q};", "d:b32", lambda a, b, c: sat(a, b))
                        op = ("add", "min", "max")[turn % 3]
                        t.form(f"{name}.{d}.{x}.{y}.sat.{op} d, a{p}, b{q}, c;", "d:b32", lambda a, b, c: second(op, sat(a, b), c, d))
    t.section("9.7.18.2 vshl, vshr")
    random = random_of("shifts")
    amounts = [0, 1, 4, 15, 31, 32, 33, 63, 255, 256, 0x80000000, mask(32)]
    t.rows("a:b32 b:b32 c:b32", [(random.getrandbits(32), b, random.getrandbits(32)) for b in amounts] + [(0x80000001, 3, 5), (0x7FFFFFFF, 31, 0), (mask(32), 33, 9)])
    for name in ("vshl", "vshr"):
        for d in KINDS:
            for x in KINDS:
                for mode in ("clamp", "wrap"):
                    for p in ("", ".b1", ".h1"):
                        def shifted(a, b):
                            amount = min(b, 32) if mode == "clamp" else b & 31
                            value = part(a, x, p)
                            return value << amount if name == "vshl" else value >> amount

                        t.form(f"{name}.{d}.{x}.u32.{mode} d, a{p}, b;", "d:b32", lambda a, b, c: shifted(a, b))
                        t.form(f"{name}.{d}.{x}.u32.{mode}.add d, a{p}, b, c;", "d:b32", lambda a, b, c: shifted(a, b) + c)
    t.section("9.7.18.4 vset")
    t.rows("a:b32 b:b32 c:b32", rows("vset"))
    tests = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
    turn = 0
    for name, test in tests.items():
        for x in KINDS:
            for y in KINDS:
                turn += 1
                p, q, r = SELECTORS[turn % 7], SELECTORS[turn // 2 % 7], (".b0", ".b2", ".h0")[turn % 3]
                value = lambda a, b: int(test(part(a, x, p), part(b, y, q)))
                t.form(f"vset.{x}.{y}.{name} d, a{p}, b{q};", "d:b32", lambda a, b, c: value(a, b))
                t.form(f"vset.{x}.{y}.{name}.add d, a{p}, b{q}, c;", "d:b32", lambda a, b, c: value(a, b) + c)
                t.form(f"vset.{x}.{y}.{name} d{r}, a{p}, b{q}, c;", "d:b32", lambda a, b, c: merge(value(a, b), r, c))
    return t


def vmad():
    """Without factors and sums that ptxas takes as signed although they are not (it does for all `.u32` words)."""
    t = Table("video/vmad", SCRIPT)
    t.section("9.7.18.3 vmad")
    random = random_of("vmad")
    values = rows("vmad", 14) + [tuple(random.getrandbits(20) for _ in range(3)) for _ in range(8)]
    t.rows("a:b32 b:b32 c:b32", values)
    turn = 0
    for d in KINDS:
        for x in KINDS:
            for y in KINDS:
                for scale, amount in (("", 0), (".shr7", 7), (".shr15", 15)):
                    for negate in ("", "a", "c", "po"):
                        turn += 1
                        p, q = SELECTORS[1 + turn % 6], SELECTORS[1 + turn // 2 % 6]
                        final = x[0] == "s" or y[0] == "s" or negate in ("a", "c")
                        if not final:
                            continue

                        def manual(a, b, c):
                            product = part(a, x, p) * part(b, y, q)
                            total = number(c, "s32" if final else "u32")
                            product, total = (-product if negate == "a" else product), (-total if negate == "c" else total)
                            return (product + total + (negate == "po")) >> amount

                        first, third = ("-a" if negate == "a" else "a"), ("-c" if negate == "c" else "c")
                        po = ".po" if negate == "po" else ""
                        t.form(f"vmad.{d}.{x}.{y}{po}{scale} d, {first}{p}, b{q}, {third};", "d:b32", manual)
    return t


def chosen(a, b, selector, kind, size):
    """The parts that a selector such as `3210` names, from the last to the first: of 0 to 3 of a, then of b."""
    both = b << 32 | a
    return [number(both >> size * int(digit), f"{kind[0]}{size}") for digit in reversed(selector)]


def average(total):
    return total + 1 >> 1 if total >= 0 else total >> 1


PARALLEL = {**BASIC, "vavrg": lambda a, b: average(a + b)}


def parallel(lanes):
    size = 32 // lanes
    t = Table(f"video/by_{lanes}", SCRIPT)
    t.section(f"9.7.18.{5 if lanes == 2 else 7} vadd{lanes}, vsub{lanes}, vavrg{lanes}, vabsdiff{lanes}, vmin{lanes}, vmax{lanes}, vset{lanes}")
    t.rows("a:b32 b:b32 c:b32", rows(f"parallel {lanes}", 22))
    letter = "h" if lanes == 2 else "b"
    firsts = ("10", "32", "01", "20") if lanes == 2 else ("3210", "7654", "5230", "0123")
    seconds = ("32", "10", "13", "22") if lanes == 2 else ("7654", "3210", "1670", "4444")
    masks = ("", "0", "1", "10") if lanes == 2 else ("", "0", "210", "31", "3210")
    tests = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
    turn = 0

    def forms(text, operation, d, x, y, sat, adds):
        nonlocal turn
        turn += 1
        p, q, m = firsts[turn % 4], seconds[turn // 2 % 4], masks[turn % len(masks)]
        written = m or "3210"[4 - lanes:]

        def results(a, b, c):
            values = [operation(u, v) for u, v in zip(chosen(a, b, p, x, size), chosen(a, b, q, y, size))]
            if sat:
                values = [clamp(v, f"{d[0]}{size}") for v in values]
            if adds:
                return c + sum(v for i, v in enumerate(values) if str(i) in written)
            return sum((v & mask(size) if str(i) in written else c >> size * i & mask(size)) << size * i for i, v in enumerate(values))

        without = [FOLDED] if text.startswith("vabsdiff") else []
        t.form(f"{text} d{'.' + letter + m if m else ''}, a.{letter}{p}, b.{letter}{q}, c;", "d:b32", results, without=without)

    for name, operation in PARALLEL.items():
        for d in KINDS:
            for x in KINDS:
                for y in KINDS:
                    forms(f"{name}{lanes}.{d}.{x}.{y}", operation, d, x, y, False, False)
                    forms(f"{name}{lanes}.{d}.{x}.{y}.sat", operation, d, x, y, True, False)
                    forms(f"{name}{lanes}.{d}.{x}.{y}.add", operation, d, x, y, False, True)
    for name, test in tests.items():
        for x in KINDS:
            for y in KINDS:
                number_of = lambda a, b: int(test(a, b))
                forms(f"vset{lanes}.{x}.{y}.{name}", number_of, "u32", x, y, False, False)
                forms(f"vset{lanes}.{x}.{y}.{name}.add", number_of, "u32", x, y, False, True)
    return t


def tables():
    return [scalars(), vmad(), parallel(2), parallel(4)]
