"""PTX ISA 9.0, 9.7.9.14 multimem.ld_reduce, multimem.st, multimem.red: a multimem address behind which one copy stands.

A reduction over one copy gives what stands there; a store and a reduction change it. More copies need a launch of several devices.
"""

from bits import mask, random_of
from atomic_forms import FLOATS, made, picked, total
from formats import near
from memory import SCOPES, bytes_as_words
from table import Table

SCRIPT = "multimem.py"
PLAIN = [("add", kind) for kind in ("u32", "s32", "u64")] + [(name, kind) for name in ("min", "max") for kind in ("u32", "s32", "u64", "s64")]
PLAIN += [(name, f"b{width}") for name in ("and", "or", "xor") for width in (32, 64)]
# Operation, element, how many, and `.acc`, of which a load may have one.
LOADS = [(name, kind, 1, "") for name, kind in PLAIN] + [("add", "f32", count, "") for count in (1, 2, 4)] + [("add", "f64", 1, "")]
LOADS += [(name, kind, count, "") for name in ("add", "min", "max") for kind in ("f16x2", "bf16x2") for count in (1, 2, 4)]
LOADS += [(name, kind, count, "") for name in ("add", "min", "max") for kind in ("f16", "bf16") for count in (2, 4, 8)]
LOADS += [("add", kind, count, ".acc::f32") for kind in ("f16x2", "bf16x2") for count in (1, 2, 4)]
LOADS += [("add", kind, count, ".acc::f32") for kind in ("f16", "bf16") for count in (2, 4, 8)]
NARROW = [(name, kind, count, acc) for name, acc in (("add", ""), ("min", ""), ("max", ""), ("add", ".acc::f16")) for kind in ("e4m3x4", "e5m2x4") for count in (1, 2, 4)]
NARROW += [(name, kind, count, acc) for name, acc in (("add", ""), ("min", ""), ("max", ""), ("add", ".acc::f16")) for kind in ("e4m3x2", "e5m2x2") for count in (2, 4, 8)]
REDUCTIONS = [(*one, 1) for one in PLAIN] + [("add", "f32", count) for count in (1, 2, 4)] + [("add", "f64", 1), ("add", "f16x2", 1), ("add", "bf16x2", 1)]
REDUCTIONS += [(name, kind, count) for name in ("add", "min", "max") for kind, counts in (("f16x2", (2, 4)), ("bf16x2", (2, 4)), ("f16", (2, 4, 8)), ("bf16", (2, 4, 8))) for count in counts]
STORES = [(kind, 1) for kind in ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64", "f16x2", "bf16x2")] + [("f32", 2), ("f32", 4)]
STORES += [(kind, count) for kind in ("f16x2", "bf16x2") for count in (2, 4)] + [(kind, count) for kind in ("f16", "bf16") for count in (2, 4, 8)]
NARROW_STORES = [(kind, count) for kind in ("e4m3x4", "e5m2x4") for count in (1, 2, 4)] + [(kind, count) for kind in ("e4m3x2", "e5m2x2") for count in (2, 4, 8)]
FAMILIES = "sm_100f|sm_120f"
HEAD = ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %i, %o, %d<2>; .reg .b32 %w<4>; .reg .b16 %h<8>; .reg .f32 %f<4>; .reg .f64 %e<1>;\nld.param.u64 %i, [in]; ld.param.u64 %o, [out];\n"


def width_of(kind):
    """Bits of a register: of packed types that of the whole."""
    element, _, count = kind.partition("x")
    bits = {"e4m": 8, "e5m": 8}.get(element[:3]) or int("".join(c for c in element if c.isdigit()))
    return bits * int(count or 1)


def register(kind):
    return {"f32": "f", "f64": "e"}.get(kind) or {16: "h", 32: "w", 64: "d"}[width_of(kind)]


def vector(kind, count):
    names = ", ".join(f"%{register(kind)}{n}" for n in range(count))
    return f"{{{names}}}" if count > 1 else names


def suffix(kind, count):
    return f".v{count}.{kind}" if count > 1 else f".{kind}"


def one(random, kind):
    """Bits of a number of the type, finite and near one if it is a float."""
    base = kind.partition("x")[0]
    if base in ("e4m3", "e5m2"):
        return sum(random.choice([0x38, 0x3C, 0xB8, 0x40, 0x30, 0x01]) << 8 * n for n in range(width_of(kind) // 8))
    if base in FLOATS:
        return sum(near(random, FLOATS[base]) << FLOATS[base].width * n for n in range(width_of(kind) // FLOATS[base].width))
    return random.getrandbits(width_of(kind))


def copy(source, at, to, at_to, size):
    return " ".join(f"ld.global.b16 %h0, [{source}+{at + n}]; st.global.b16 [{to}+{at_to + n}], %h0;" for n in range(0, size, 2))


def program(t, name, statements, need):
    """Statements: text of (place in the input, place in the output), bytes that it reads, bytes that it leaves."""
    code, given, results = HEAD, b"", b""
    for text, read, left in statements:
        code += text(len(given), len(results)) + "\n"
        given, results = (part + more.ljust(-(-len(more) // 16) * 16, b"\0") for part, more in ((given, read), (results, left)))
    t.program(name, code + "ret;\n}", [("one copy", "b32", bytes_as_words(given), "b32", bytes_as_words(results))], needs=need)


def orders(random, strong, weak=True):
    """An order with its scope, `.weak` where there is such a form, or none."""
    return random.choice([""] + [".weak"] * weak + [f".{order}.{scope}" for order in ("relaxed", strong) for scope in SCOPES])


def combined(name, kind, old, new):
    base = kind.removesuffix("x2")
    if base not in ("f16", "bf16", "f32", "f64"):
        return made(name, kind, old, new, 0)
    format = FLOATS[base]
    part = lambda value, n: value >> format.width * n & mask(format.width)
    each = (total if name == "add" else lambda f, a, b: picked(name, f, a, b))
    return sum(each(format, part(old, n), part(new, n)) << format.width * n for n in range(width_of(kind) // format.width))


def tables():
    t = Table("memory/multimem", SCRIPT)
    random = random_of("multimem")
    packed = lambda values, kind: b"".join(value.to_bytes(width_of(kind) // 8, "little") for value in values)
    for part, need, all_loads, all_stores in (("", "sm_90", LOADS, STORES), (" of 8 bits", FAMILIES, NARROW, NARROW_STORES)):
        t.section("9.7.9.14 multimem.ld_reduce")
        statements = []
        for name, kind, count, acc in all_loads:
            values = packed([one(random, kind) for _ in range(count)], kind)
            form = f"multimem.ld_reduce{orders(random, 'acquire')}{random.choice(['', '.global'])}.{name}{acc}{suffix(kind, count)}"
            width = width_of(kind)
            store = lambda at, kind=kind, count=count, width=width: " ".join(f"st.global.b{width} [%o+{at + n * width // 8}], %{register(kind)}{n};" for n in range(count))
            text = lambda at, to, form=form, kind=kind, count=count, store=store: f"{form} {vector(kind, count)}, [%i+{at}]; {store(to)}"
            statements.append((text, values, values))
        program(t, f"ld_reduce{part}", statements, need)
        t.section("9.7.9.14 multimem.st")
        statements = []
        for kind, count in all_stores:
            values = packed([one(random, kind) for _ in range(count)], kind)
            form = f"multimem.st{orders(random, 'release')}{random.choice(['', '.global'])}{suffix(kind, count)}"
            width = width_of(kind)
            load = lambda at, kind=kind, count=count, width=width: " ".join(f"ld.global.b{width} %{register(kind)}{n}, [%i+{at + n * width // 8}];" for n in range(count))
            text = lambda at, to, form=form, kind=kind, count=count, load=load: f"{load(at)} {form} [%o+{to}], {vector(kind, count)};"
            statements.append((text, values, values))
        program(t, f"st{part}", statements, need)
    t.section("9.7.9.14 multimem.red")
    statements = []
    for name, kind, count in REDUCTIONS:
        old, new = ([one(random, kind) for _ in range(count)] for _ in range(2))
        size = count * width_of(kind) // 8
        form = f"multimem.red{orders(random, 'release', weak=False)}{random.choice(['', '.global'])}.{name}{suffix(kind, count)}"
        width = width_of(kind)
        load = lambda at, kind=kind, count=count, width=width: " ".join(f"ld.global.b{width} %{register(kind)}{n}, [%i+{at + n * width // 8}];" for n in range(count))
        text = lambda at, to, form=form, kind=kind, count=count, load=load, size=size: f"{copy('%i', at, '%o', to, size)} {load(at + size)} {form} [%o+{to}], {vector(kind, count)};"
        statements.append((text, packed(old, kind) + packed(new, kind), packed([combined(name, kind, a, b) for a, b in zip(old, new)], kind)))
    program(t, "red", statements, "sm_90")
    return [t]
