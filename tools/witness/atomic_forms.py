"""PTX ISA 9.0, 9.7.13.5 atom, 9.7.13.6 red: orders, scopes, spaces and hints of every operation; vectors; subnormal numbers.

One thread, so that order and scope change nothing; each statement has a cell that is set before it.
"""

from atomics import operation
from bits import edges, mask, random_of
from cover import covering
from formats import BF16, F16, F32, F64, added, near
from formats import edges as float_edges
from memory import HINT, POLICY, SCOPES, SHARED, bytes_as_words
from table import Either, Table

SCRIPT = "atomic_forms.py"
FLOATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
OPERATIONS = [(name, f"b{width}") for width in (32, 64) for name in ("and", "or", "xor", "exch", "cas")]
OPERATIONS += [("cas", "b16"), ("cas", "b128"), ("exch", "b128")]
OPERATIONS += [("add", kind) for kind in ("u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2")]
OPERATIONS += [(name, kind) for name in ("min", "max") for kind in ("u32", "s32", "u64", "s64")] + [("inc", "u32"), ("dec", "u32")]
HALVES = ("f16", "f16x2", "bf16", "bf16x2")


def width_of(kind):
    return 32 if kind.endswith("x2") else int("".join(c for c in kind if c.isdigit()))


def total(format, a, b):
    """The nearest sum of two finite numbers."""
    return format.encode(added(format.decode(a), format.decode(b)))


def made(name, kind, old, b, c):
    """What is left in memory."""
    if name == "cas":
        return b if old == c else old
    if name == "add" and "f" in kind:
        format = FLOATS[kind.removesuffix("x2")]
        part = lambda value, n: value >> format.width * n & mask(format.width)
        return sum(total(format, part(old, n), part(b, n)) << format.width * n for n in range(width_of(kind) // format.width))
    return operation(name, kind)(old, b) & mask(width_of(kind))


def operands(kind, random):
    """Old value, operand, comparand: half of the comparands are the old value."""
    width = width_of(kind)
    if "f" in kind:
        format = FLOATS[kind.removesuffix("x2")]
        several = lambda: sum(near(random, format) << format.width * n for n in range(width // format.width))
        return several(), several(), 0
    some = edges(min(width, 64))
    old = random.choice([random.getrandbits(width), random.choice(some)])
    return old, random.choice([random.getrandbits(width), random.choice(some)]), random.choice([old, random.getrandbits(width)])


def fits(red, order, scope, space, hint, operation):
    name, _ = operation
    if hint and space not in ("", ".global"):
        return False
    if red and (name in ("exch", "cas") or order in (".acquire", ".acq_rel")):
        return False
    return not (hint and name == "cas")


def needs(red, order, scope, space, hint, operation):
    if scope == ".cluster" or space == ".shared::cluster" or operation[1].startswith("bf16") or operation[1] == "b128":
        return "sm_90"
    return "sm_80" if hint else None


BEGIN = """.visible .entry k(.param .u64 in, .param .u64 out)
{
.shared .align 16 .b8 near[16];
.reg .b64 %i, %o, %s, %g, %gs, %pol, %a64, %b64, %c64, %d64; .reg .b16 %a16, %b16, %c16, %d16; .reg .b32 %a32, %b32, %c32, %d32; .reg .b128 %a128, %b128, %c128, %d128;
ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u64 %s, near; cvta.shared.u64 %gs, %s; cvta.global.u64 %g, %o;
"""


def scalars():
    t = Table("memory/atomics", SCRIPT)
    t.section("9.7.13.5 atom, 9.7.13.6 red")
    random = random_of("atomic forms")
    dimensions = {
        "red": [False, True],
        "order": ["", ".relaxed", ".acquire", ".release", ".acq_rel"],
        "scope": [""] + [f".{scope}" for scope in SCOPES],
        "space": ["", ".global", *SHARED],
        "hint": ["", HINT],
        "operation": OPERATIONS,
    }
    groups = {}
    for choice in covering(dimensions, fits, random, ("space", "operation")):
        groups.setdefault(needs(**choice), []).append(choice)
    for need, choices in sorted(groups.items(), key=lambda group: int((group[0] or "sm_0")[3:])):
        code, given, results = BEGIN + (POLICY if need else ""), b"", b""
        for choice in choices:
            name, kind = choice["operation"]
            width, size = width_of(kind), width_of(kind) // 8
            old, b, c = operands(kind, random)
            for letter, value in zip("abc", (old, b, c) if name == "cas" else (old, b)):
                code += f"ld.global.b{width} %{letter}{width}, [%i+{len(given)}]; "
                given += value.to_bytes(size, "little").ljust(max(size, 4), b"\0")
            at = len(results)
            space = choice["space"]
            shared = space in SHARED or (space == "" and not choice["hint"] and random.random() < 0.5)
            place = "%s" if space in SHARED else "%gs" if shared else "%g" if space == "" else "%o"
            cell = f"[{place}]" if shared else f"[{place}+{at}]"
            set_ = f"st.shared.b{width} [%s], %a{width};" if shared else f"st.global.b{width} [%o+{at}], %a{width};"
            fine = ".noftz" if kind in HALVES else ""
            form = f"{choice['order']}{choice['scope']}{space}.{name}{fine}{choice['hint']}.{kind}"
            values = f"%c{width}, %b{width}" if name == "cas" else f"%b{width}"
            policy = ", %pol" if choice["hint"] else ""
            code += f"{set_}\n{'red' if choice['red'] else 'atom'}{form} {'' if choice['red'] else f'%d{width}, '}{cell}, {values}{policy};\n"
            code += f"ld.shared.b{width} %a{width}, [%s]; st.global.b{width} [%o+{at}], %a{width}; " if shared else ""
            results += made(name, kind, old, b, c).to_bytes(size, "little").ljust(max(4, size), b"\0")
            if not choice["red"]:
                code += f"st.global.b{width} [%o+{len(results)}], %d{width};"
                results += old.to_bytes(size, "little").ljust(max(4, size), b"\0")
            code += "\n"
            # Sixteen bytes at least, so that all are aligned.
            given, results = (part.ljust(-(-len(part) // 16) * 16, b"\0") for part in (given, results))
        t.program(f"forms {need or ''}".strip(), code + "ret;\n}", [("cells", "b32", bytes_as_words(given), "b32", bytes_as_words(results))], needs=need)
    return t


def picked(name, format, a, b):
    """The least or greatest of two numbers; of zeros with both signs and of NaNs the manual says nothing for atomics."""
    x, y = format.decode(a), format.decode(b)
    if x.is_nan or y.is_nan:
        return "?n"
    if x.is_zero and y.is_zero and x.negative != y.negative:
        return Either(a, b)
    return a if (x.value <= y.value) == (name == "min") else b


def vectors():
    """Each element on its own; the vector as a whole is not one operation."""
    t = Table("memory/atomic_vectors", SCRIPT)
    t.section("9.7.13.5 atom, 9.7.13.6 red, with vectors")
    notes = [("n", "the manual says of atomics nothing about a NaN as the least or greatest, or as the sum")]
    for kind, counts in (("f32", (2, 4)), ("f16", (2, 4, 8)), ("bf16", (2, 4, 8)), ("f16x2", (2, 4)), ("bf16x2", (2, 4))):
        format = FLOATS[kind.removesuffix("x2")]
        for count in counts:
            random = random_of(f"vectors {kind} {count}")
            some = [x for x in float_edges(format) if kind != "f32" or not 0 < x & ~format.sign < 1 << format.fraction]
            total_bits = width_of(kind) * count
            elements = total_bits // format.width
            for name in ("add",) if kind == "f32" else ("add", "min", "max"):
                rows = [[(some[(7 * (row * elements + n)) % len(some)], random.choice([random.choice(some), near(random, format)])) for n in range(elements)] for row in range(3)]
                one = lambda a, b: (picked(name, format, a, b) if name != "add" else nan_or_sum(format, a, b))
                width = width_of(kind)
                registers = lambda letter: "{" + ", ".join(f"%{letter}{n}" for n in range(count)) + "}"
                fine = ".noftz" if kind != "f32" else ""
                size = total_bits // 8
                code = ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" + f".reg .b{width} %b<{count}>, %d<{count}>; .reg .b64 %i, %o, %g, %v, %pol; .reg .b16 %h;\nld.param.u64 %i, [in]; ld.param.u64 %o, [out]; {POLICY.strip()}\n"
                given, results = [], []
                for number, row in enumerate(rows):
                    at_in, at_out = 2 * size * number, 2 * size * number
                    order, scope, space = [("", "", ".global"), (".relaxed", ".gpu", ".global"), (".acq_rel", ".sys", "")][number]
                    release = {".acq_rel": ".release"}.get(order, order)
                    hint = HINT if number == 1 else ""
                    policy = ", %pol" if hint else ""
                    # Two cells: the atomic changes the second, its old value goes into the first; a reduction follows.
                    code += "".join(f"ld.global.b16 %h, [%i+{at_in + n}]; st.global.b16 [%o+{at_out + size + n}], %h; " for n in range(0, size, 2)) + "\n"
                    code += "".join(f"ld.global.b{width} %b{n}, [%i+{at_in + size + n * width // 8}]; " for n in range(count)) + f"add.u64 %g, %o, {at_out + size};\n"
                    is_atom = number != 2
                    code += f"atom{order}{scope}{space}.{name}{fine}{hint}.v{count}.{kind} {registers('d')}, [%g], {registers('b')}{policy};\n" if is_atom else f"red{release}{scope}{space}.{name}{fine}.v{count}.{kind} [%g], {registers('b')};\n"
                    code += "".join(f"st.global.b{width} [%o+{at_out + n * width // 8}], %d{n}; " for n in range(count)) + "\n" if is_atom else ""
                    given += [a for a, _ in row] + [b for _, b in row]
                    results += [a if is_atom else 0 for a, _ in row] + [one(a, b) for a, b in row]
                t.program(f"{name}.v{count}.{kind}", code + "ret;\n}", [("rows", f"b{format.width}", given, format.name, results)], needs="sm_90", notes=notes if "?n" in results else ())
    return t


def nan_or_sum(format, a, b):
    exact = added(format.decode(a), format.decode(b))
    return "?n" if exact.is_nan else format.encode(exact)


def subnormals():
    """`add.f32`: on global memory subnormal operands and results become zeros of their sign, on shared memory they count."""
    t = Table("memory/atomic_subnormals", SCRIPT)
    t.section("9.7.13.5 atom, 9.7.13.6 red, of f32 (what the manual says of current implementations)")
    random = random_of("atomic subnormals")
    least = 1 << 23
    sizes = [0, 1, least - 1, least, least + 1, least + 7, 0x3F800000]
    rows = [(a | sa << 31, b | sb << 31) for a in sizes for b in sizes for sa, sb in ((0, 1), (1, 1), (0, 0)) if (a, b) != (0x3F800000, 0x3F800000)]
    rows = random.sample(rows, 60)
    flushed = lambda a, b: F32.encode(added(F32.decode(a, True), F32.decode(b, True)), flush=True)
    kept = lambda a, b: total(F32, a, b)
    for space, more, result in (("global", "", flushed), ("shared", "", kept), ("global", ".noftz", kept), ("shared", ".noftz", kept)):
        cell = "[%o+4]" if space == "global" else "[%s]"
        for name, generic in (("named", False), ("generic", True)):
            code = ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.shared .align 16 .b8 near[1024];\n.reg .b64 %i, %o, %s, %g; .reg .f32 a, b, c, d; .reg .b32 %t;\nld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u64 %s, near; mad.wide.u32 %s, %t, 4, %s;\n"
            code += "mad.wide.u32 %i, %t, 8, %i; mad.wide.u32 %o, %t, 12, %o; ld.global.f32 a, [%i]; ld.global.f32 b, [%i+4];\n"
            code += f"st.{space}.f32 {cell}, a; {'cvta.shared.u64 %g, %s;' if space == 'shared' else 'add.u64 %g, %o, 4;'}\n"
            where = "" if generic else f".{space}"
            code += f"atom{where}.add{more}.f32 d, [%g], b;\n" if generic else f"atom{where}.add{more}.f32 d, {cell}, b;\n"
            code += f"ld.{space}.f32 c, {cell}; st.global.f32 [%o], d; st.global.f32 [%o+4], c; st.{space}.f32 {cell}, a;\n"
            code += f"red{where}.add{more}.f32 {'[%g]' if generic else cell}, b; ld.{space}.f32 d, {cell}; st.global.f32 [%o+4], c; st.global.f32 [%o+8], d; ret;\n}}"
            out = [x for a, b in rows for x in (a, result(a, b), result(a, b))]
            t.program(f"{space}{more} {name}", code, [("rows", "b32", [x for row in rows for x in row], "b32", out)], shape=[f"block {len(rows)}"], needs="9.4 sm_90" if more else None)
    return t


def tables():
    return [scalars(), vectors(), subnormals()]
