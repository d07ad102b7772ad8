"""PTX ISA 9.0, 9.7.9.8 ld to 9.7.9.11 st: all modifiers of loads and stores, every two that may stand together, for one thread.

What is loaded is what stands there, whatever a modifier says of order, scope and caches; narrow types fill wider registers with
zeros, signed ones with their sign; stores take the low bits.
"""

from bits import mask, number, random_of
from cover import covering
from table import Table

SCRIPT = "memory.py"
TYPES = [f"{letter}{width}" for width in (8, 16, 32, 64) for letter in "bus"] + ["f32", "f64", "b128"]
SCOPES = ("cta", "cluster", "gpu", "sys")
EVICT1 = [""] + [f".L1::{way}" for way in ("evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")]
EVICT2 = [""] + [f".L2::{way}" for way in ("evict_normal", "evict_first", "evict_last")]
SHARED = (".shared", ".shared::cta", ".shared::cluster")
HINT = ".L2::cache_hint"
BUFFER = 128
ABI = ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
REGISTERS = (
    ".reg .b64 %i, %o, %s, %l, %c, %gg, %gs, %gl, %gc, %pol, %d<9>; .reg .b16 %h<8>; .reg .b32 %w<9>; .reg .b128 %q<1>; .reg .f32 %f<8>; .reg .f64 %e<4>;\n"
    "ld.param.u64 %i, [in]; ld.param.u64 %o, [out];\n"
)
# Registers by their width; of floats for the last two types.
NAMES = {16: "h", 32: "w", 64: "d", 128: "q"}


def size_of(kind):
    return int(kind[1:]) // 8


def bytes_as_words(data):
    return [int.from_bytes(bytes(data[at : at + 4]), "little") for at in range(0, len(data), 4)]


def vector(name, count):
    return f"{{{', '.join(f'%{name}{n}' for n in range(count))}}}" if count > 1 else f"%{name}0"


def fits(order, space, evict2, hint, count, kind, cache="", evict1="", fetch=""):
    """What the manual says of the modifiers that loads and stores share."""
    wide = size_of(kind) * count == 32
    in_global = space in ("", ".global")
    if kind == "b128" and (count > 1 or cache or evict1 or evict2 or hint or fetch):
        return False
    if size_of(kind) * count > 32 or (wide and not in_global) or (count == 8 and size_of(kind) != 4):
        return False
    if (evict1 or evict2 or hint or fetch) and not in_global:
        return False
    if evict2 and not wide or (evict1 and cache):
        return False
    if order == ".mmio.relaxed.sys":
        return in_global and count == 1 and not (evict1 or evict2 or hint or cache or fetch)
    if order == ".volatile" and (evict1 or hint):
        return False
    strong = order not in ("", ".weak")
    return not (strong and (cache or space not in ("", ".global", *SHARED)))


def needs(order, space, evict2, hint, count, kind, fetch="", **_):
    if evict2 or size_of(kind) * count == 32:
        return "sm_100"
    if ".cluster" in order or space == ".shared::cluster":
        return "sm_90"
    return "sm_80" if hint or fetch == ".L2::256B" else None


def by_needs(choices, is_wrong, random):
    """The choices, each with the width of its registers, by the targets that have them and whether ptxas 13.0.88 compiles them wrongly."""
    groups = {}
    for choice in choices:
        width = widths(choice["kind"], random)
        groups.setdefault((needs(**choice), is_wrong(width=width, **choice)), []).append((choice, width))
    return sorted(groups.items(), key=lambda group: (int((group[0][0] or "sm_0")[3:]), group[0][1]))


def is_wider(kind, count, width, **_):
    """A vector in registers that are wider than its elements."""
    return count > 1 and width > max(16, 8 * size_of(kind))


def widths(kind, random):
    """A register that takes the type: its own width or a wider one."""
    own = max(16, 8 * size_of(kind))
    return own if kind[0] == "f" or own == 128 else random.choice([width for width in (16, 32, 64) if width >= own])


def setup(data, spaces_of):
    """Copies of the input in every space, and their generic addresses."""
    code = f".const .align 32 .b8 constant[{BUFFER}] = {{{', '.join(map(str, data))}}};\n" if "const" in spaces_of else ""
    code += ABI + REGISTERS
    code += f".shared .align 32 .b8 near[{BUFFER}]; .local .align 32 .b8 own[{BUFFER}];\nmov.u64 %s, near; mov.u64 %l, own; cvta.global.u64 %gg, %i; cvta.shared.u64 %gs, %s; cvta.local.u64 %gl, %l;\n"
    code += "mov.u64 %c, constant; cvta.const.u64 %gc, %c;\n" if "const" in spaces_of else ""
    for at in range(0, BUFFER, 8):
        code += f"ld.global.b64 %d0, [%i+{at}]; st.shared.b64 [%s+{at}], %d0; st.local.b64 [%l+{at}], %d0;\n"
    return code


POLICY = "createpolicy.fractional.L2::evict_last.b64 %pol, 0.5;\n"
# The register that holds the address of a copy; generic addresses point to one of several.
PLACES = {".global": "%i", ".shared": "%s", ".shared::cta": "%s", ".shared::cluster": "%s", ".local": "%l", ".const": "%c"}
GENERIC = {True: ["%gg", "%gs"], False: ["%gg", "%gs", "%gl", "%gc"]}


def kept(name, count, width, at):
    """Stores of `count` registers, at most 16 bytes each."""
    size = width // 8
    step = min(count, 16 // size)
    parts = []
    for first in range(0, count, step):
        names = ", ".join(f"%{name}{n}" for n in range(first, first + step))
        form = f"v{step}.b{width} [%o+{at + first * size}], {{{names}}}" if step > 1 else f"b{width} [%o+{at + first * size}], {names}"
        parts.append(f"st.global.{form};")
    return " ".join(parts)


WRONG = [("ptxas", "ptxas 13.0.88 compiles it wrongly: wider registers of a vector are taken for narrow ones, of 256 bits at the scope of a cluster it makes nothing")]


def named(name, need, is_wrong):
    return " ".join([name] + [need] * bool(need) + ["that ptxas has wrong"] * is_wrong)


def is_dropped(order, kind, count, **_):
    """256 bits at the scope of a cluster."""
    return ".cluster" in order and size_of(kind) * count == 32


def load_choices(random):
    orders = ["", ".weak", ".volatile", ".mmio.relaxed.sys"] + [f".{order}.{scope}" for order in ("relaxed", "acquire") for scope in SCOPES]
    dimensions = {
        "order": orders,
        "space": ["", ".global", ".local", ".const", *SHARED],
        "cache": ["", ".ca", ".cg", ".cs", ".lu", ".cv", ".nc", ".ca.nc", ".cg.nc", ".cs.nc"],
        "evict1": EVICT1,
        "evict2": EVICT2,
        "hint": ["", HINT],
        "fetch": ["", ".L2::64B", ".L2::128B", ".L2::256B"],
        "count": [1, 2, 4, 8],
        "kind": TYPES,
    }

    def valid(order, space, cache, evict1, evict2, hint, fetch, count, kind):
        if ".nc" in cache:
            # `.nc` is of global memory by name, and weak; b128 stands alone with it.
            if order or space != ".global" or (kind == "b128" and cache != ".nc"):
                return False
            return fits("", space, evict2, hint, count, kind, cache.replace(".nc", ""), evict1, fetch)
        return fits(order, space, evict2, hint, count, kind, cache, evict1, fetch)

    return covering(dimensions, valid, random, ("kind", "count", "space"))


def loads():
    t = Table("memory/loads", SCRIPT)
    t.section("9.7.9.8 ld, 9.7.9.9 ld.global.nc")
    random = random_of("memory loads")
    data = random.randbytes(BUFFER)
    # Of `v8` in wider registers ptxas extends the first element alone.
    wrong = lambda count, **more: (count == 8 and is_wider(count=count, **more)) or is_dropped(count=count, **more)
    for (need, is_wrong), choices in by_needs(load_choices(random), wrong, random):
        code, results = setup(data, ["const"]) + (POLICY if need else ""), b""
        for choice, width in choices:
            kind, count, order, space = choice["kind"], choice["count"], choice["order"], choice["space"]
            strong = order not in ("", ".weak")
            # In generic memory what only global memory has is taken from there.
            only_global = choice["evict1"] or choice["evict2"] or choice["hint"] or choice["fetch"] or size_of(kind) * count == 32 or "mmio" in order
            base = PLACES.get(space) or ("%gg" if only_global else random.choice(GENERIC[strong]))
            size = size_of(kind)
            at = random.randrange(BUFFER // (size * count)) * size * count
            name = {"f32": "f", "f64": "e"}.get(kind, NAMES[width])
            middle = "".join(choice[part] for part in ("cache", "evict1", "evict2", "hint", "fetch"))
            form = f"ld{order}{space}{middle}{f'.v{count}' if count > 1 else ''}.{kind}"
            policy = ", %pol" if choice["hint"] else ""
            code += f"{form} {vector(name, count)}, [{base}+{at}]{policy}; {kept(name, count, width, len(results))}\n"
            for n in range(count):
                raw = int.from_bytes(data[at + n * size : at + (n + 1) * size], "little")
                value = number(raw, kind) if kind[0] == "s" else raw
                results += (value & mask(width)).to_bytes(width // 8, "little")
            results = results.ljust(-(-len(results) // 16) * 16, b"\0")
        t.program(named("ld", need, is_wrong), code + "ret;\n}", [("bytes", "b32", bytes_as_words(data), "b32", bytes_as_words(results))], needs=need, without=WRONG * is_wrong)
    return t


def others():
    """`ldu`; elements that are not wanted; parameters of kernels and functions, also written."""
    t = Table("memory/others", SCRIPT)
    t.section("9.7.9.10 ldu")
    random = random_of("memory others")
    data = random.randbytes(BUFFER)
    cases = lambda results: [("bytes", "b32", bytes_as_words(data), "b32", bytes_as_words(results))]
    code, results = ABI + REGISTERS + "cvta.global.u64 %gg, %i;\n", b""
    for number_, (kind, count) in enumerate((k, c) for k in TYPES for c in (1, 2, 4)):
        size = size_of(kind)
        if size * count > 16:
            continue
        width = widths(kind, random)
        name = {"f32": "f", "f64": "e"}.get(kind, NAMES[width])
        at = random.randrange(BUFFER // (size * count)) * size * count
        space, base = (".global", "%i") if number_ % 2 else ("", "%gg")
        code += f"ldu{space}{f'.v{count}' if count > 1 else ''}.{kind} {vector(name, count)}, [{base}+{at}]; {kept(name, count, width, len(results))}\n"
        for n in range(count):
            raw = int.from_bytes(data[at + n * size : at + (n + 1) * size], "little")
            results += ((number(raw, kind) if kind[0] == "s" else raw) & mask(width)).to_bytes(width // 8, "little")
        results = results.ljust(-(-len(results) // 16) * 16, b"\0")
    t.program("ldu", code + "ret;\n}", cases(results))
    t.section("9.7.9.8 ld, elements that are not wanted")
    for need, forms in ((None, [("b32", 4), ("u16", 2), ("s8", 4), ("b64", 2)]), ("sm_100", [("b32", 8), ("f32", 8), ("u64", 4)])):
        code, results = ABI + REGISTERS, b""
        for kind, count in forms:
            size, width = size_of(kind), max(16, 8 * size_of(kind))
            for wanted in (0b1, 0b10, 0b1001, 0b0110, 0b10101010, 0b11010011):
                wanted &= mask(count)
                name = {"f32": "f"}.get(kind, NAMES[width])
                elements = ", ".join(f"%{name}{n}" if wanted >> n & 1 else "_" for n in range(count))
                code += f"ld.global.v{count}.{kind} {{{elements}}}, [%i+32];\n" if wanted else ""
                for n in range(count):
                    if wanted >> n & 1:
                        code += f"st.global.b{width} [%o+{len(results)}], %{name}{n};\n"
                        raw = int.from_bytes(data[32 + n * size : 32 + (n + 1) * size], "little")
                        results += ((number(raw, kind) if kind[0] == "s" else raw) & mask(width)).to_bytes(width // 8, "little")
                        results = results.ljust(-(-len(results) // 8) * 8, b"\0")
        t.program(f"some elements {need or ''}".strip(), code + "ret;\n}", cases(results), needs=need)
    parameters(t, random, data)
    quads(t, data)
    return t


def parameters(t, random, data):
    """A function that takes 128 bytes, reads them by every width, and gives 32 back; the address that a kernel's parameter holds."""
    t.section("9.7.9.8 ld, 9.7.9.11 st, of parameters")
    body, results = "", b""
    for number_, (kind, count) in enumerate((k, c) for k in TYPES[:-1] for c in (1, 2, 4)):
        size = size_of(kind)
        if size * count > 16:
            continue
        width = widths(kind, random)
        name = {"f32": "f", "f64": "e"}.get(kind, NAMES[width])
        at = random.randrange(BUFFER // (size * count)) * size * count
        space = (".param", ".param::func")[number_ % 2]
        weak, cache = ("", ".weak")[number_ // 2 % 2], ("", ".ca", ".cs")[number_ % 3]
        body += f"ld{weak}{space}{cache}{f'.v{count}' if count > 1 else ''}.{kind} {vector(name, count)}, [p+{at}]; {kept(name, count, width, len(results))}\n"
        for n in range(count):
            raw = int.from_bytes(data[at + n * size : at + (n + 1) * size], "little")
            results += ((number(raw, kind) if kind[0] == "s" else raw) & mask(width)).to_bytes(width // 8, "little")
        results = results.ljust(-(-len(results) // 16) * 16, b"\0")
    registers = REGISTERS.split("\n")[0]
    code = f".func (.param .align 16 .b8 r[32]) f(.param .align 16 .b8 p[{BUFFER}], .param .b64 to)\n{{\n{registers}\nld.param.b64 %o, [to];\n{body}"
    # What comes back: parts of what was given, stored by several widths.
    back = bytearray(32)
    for at, kind, count, name in ((0, "b64", 2, "d"), (16, "u8", 1, "w"), (17, "s8", 1, "d"), (18, "b16", 1, "h"), (20, "f32", 1, "f"), (24, "u16", 4, "h")):
        size = size_of(kind)
        width = {"d": 64, "w": 32, "h": 16, "f": 32}[name]
        for n in range(count):
            start = 40 + 8 * n
            code += f"ld.param.b{width} %{name}{n}, [p+{start}];\n"
            back[at + n * size : at + (n + 1) * size] = data[start : start + size]
        code += f"st.param{'::func' if at % 4 else ''}{f'.v{count}' if count > 1 else ''}.{kind} [r+{at}], {vector(name, count)};\n"
    code += f"ret;\n}}\n{ABI}{REGISTERS}{{\n.param .align 16 .b8 p[{BUFFER}]; .param .b64 to; .param .align 16 .b8 r[32];\n"
    stores_ = [("b64", 2), ("u32", 4), ("v", 0), ("b16", 4), ("f32", 2), ("s64", 1)]
    at = 0
    while at < BUFFER:
        kind, count = stores_[(at // 8) % len(stores_)]
        kind, count = ("b64", 1) if not count or at % (size_of(kind) * count) else (kind, count)
        width = 8 * size_of(kind)
        name = {"f32": "f"}.get(kind, NAMES[width])
        for n in range(count):
            code += f"ld.global.b{width} %{name}{n}, [%i+{at + n * width // 8}];\n"
        code += f"st.param{f'.v{count}' if count > 1 else ''}.{kind} [p+{at}], {vector(name, count)};\n"
        at += count * width // 8
    code += "st.param.b64 [to], %o;\ncall (r), f, (p, to);\n"
    for at in (0, 16):
        code += f"ld.param.v4.b32 {vector('w', 4)}, [r+{at}]; st.global.v4.b32 [%o+{len(results)}], {vector('w', 4)};\n"
        results += bytes(back[at : at + 16])
    # The address in the kernel's first parameter, piece by piece, less the address as a whole.
    code += "}\n"
    for kind, name in (("u8", "d"), ("u16", "d"), ("b32", "d"), ("b64", "d")):
        size = size_of(kind)
        code += "mov.b64 %d8, 0;\n"
        for at in range(0, 8, size):
            space = (".param", ".param::entry")[at // size % 2]
            code += f"ld{space}.{kind} %d0, [in+{at}]; shl.b64 %d0, %d0, {8 * at}; or.b64 %d8, %d8, %d0;\n"
        code += f"sub.u64 %d8, %d8, %i; st.global.b64 [%o+{len(results)}], %d8;\n"
        results += bytes(8)
    t.program("parameters", code + "ret;\n}", [("bytes", "b32", bytes_as_words(data), "b32", bytes_as_words(results))])


def quads(t, data):
    """`b128` to and from a function."""
    code = ".func (.param .align 16 .b8 r[16]) f(.param .align 16 .b8 p[32], .param .b64 to)\n{\n.reg .b128 %q, %r; .reg .b64 %o;\nld.param.b64 %o, [to]; ld.weak.param.b128 %q, [p+16]; ld.param::func.b128 %r, [p];\n"
    code += f"st.global.b128 [%o], %q; st.param.b128 [r], %r; ret;\n}}\n{ABI}{REGISTERS}.reg .b128 %r;\n{{\n.param .align 16 .b8 p[32]; .param .b64 to; .param .align 16 .b8 r[16];\n"
    code += "ld.global.b128 %q0, [%i]; ld.global.b128 %r, [%i+16]; st.param.b128 [p], %q0; st.param::func.b128 [p+16], %r; st.param.b64 [to], %o;\ncall (r), f, (p, to);\nld.param.b128 %r, [r]; st.global.b128 [%o+16], %r;\n}\nret;\n}"
    without = [("ptxas", "of b128 in a function's parameters ptxas 13.0.88 reads and writes 64 bits")]
    t.program("parameters of b128", code, [("bytes", "b32", bytes_as_words(data[:32]), "b32", bytes_as_words(data[16:32] + data[:16]))], without=without)


def store_choices(random):
    orders = ["", ".weak", ".volatile", ".mmio.relaxed.sys"] + [f".{order}.{scope}" for order in ("relaxed", "release") for scope in SCOPES]
    dimensions = {
        "order": orders,
        "space": ["", ".global", ".local", *SHARED],
        "cache": ["", ".wb", ".cg", ".cs", ".wt"],
        "evict1": EVICT1,
        "evict2": EVICT2,
        "hint": ["", HINT],
        "count": [1, 2, 4, 8],
        "kind": TYPES,
    }
    return covering(dimensions, fits, random, ("kind", "count", "space"))


def stores():
    t = Table("memory/stores", SCRIPT)
    t.section("9.7.9.11 st")
    random = random_of("memory stores")
    data = random.randbytes(BUFFER)
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, BUFFER, 8)]
    # ptxas takes the upper part of such a register for its own, also where a wider value lives on in it.
    wrong = lambda **choice: is_wider(**choice) or is_dropped(**choice)
    for (need, is_wrong), choices in by_needs(store_choices(random), wrong, random):
        room = 32 * len(choices)
        code = ABI + REGISTERS + f".shared .align 32 .b8 near[{room}]; .local .align 32 .b8 own[{room}];\nmov.u64 %s, near; mov.u64 %l, own; cvta.global.u64 %gg, %o; cvta.shared.u64 %gs, %s; cvta.local.u64 %gl, %l;\n"
        code += POLICY if need else ""
        # Registers of all widths with what the input has, the narrow ones its low bits.
        for n in range(8):
            code += f"ld.global.b64 %d{n}, [%i+{8 * n}]; cvt.u32.u64 %w{n}, %d{n}; cvt.u16.u64 %h{n}, %d{n}; mov.b32 %f{n}, %w{n};" + (f" mov.b64 %e{n}, %d{n};\n" if n < 4 else "\n")
        code += "mov.b128 %q0, {%d0, %d1}; mov.b64 %d8, 0;\n"
        memory = bytearray(room)
        for n, (choice, width) in enumerate(choices):
            kind, count, order, space = choice["kind"], choice["count"], choice["order"], choice["space"]
            size = size_of(kind)
            strong = order not in ("", ".weak")
            only_global = choice["evict1"] or choice["evict2"] or choice["hint"] or size * count == 32 or "mmio" in order
            base = {**PLACES, ".global": "%o"}.get(space) or ("%gg" if only_global else random.choice(["%gg", "%gs"] + ["%gl"] * (not strong)))
            at = 32 * n + random.randrange(32 // (size * count)) * size * count
            name = {"f32": "f", "f64": "e"}.get(kind, NAMES[width])
            middle = "".join(choice[part] for part in ("cache", "evict1", "evict2", "hint"))
            form = f"st{order}{space}{middle}{f'.v{count}' if count > 1 else ''}.{kind}"
            if base in ("%s", "%gs", "%l", "%gl"):
                own = "near" if base in ("%s", "%gs") else "own"
                place = ("shared.b64 [%s" if own == "near" else "local.b64 [%l")
                code += "".join(f"st.{place}+{32 * n + k}], %d8; " for k in range(0, 32, 8)) + "\n"
            code += f"{form} [{base}+{at}], {vector(name, count)}{', %pol' if choice['hint'] else ''};\n"
            if base in ("%s", "%gs", "%l", "%gl"):
                place = ("shared.v2.b64 {%e0, %e1}, [%s" if own == "near" else "local.v2.b64 {%e0, %e1}, [%l")
                code += ".reg .b64 %x<2>;\n" if "%x<2>" not in code else ""
                code += "".join(f"ld.{place.replace('%e', '%x')}+{32 * n + k}]; st.global.v2.b64 [%o+{32 * n + k}], {{%x0, %x1}}; " for k in (0, 16)) + "\n"
            for element in range(count):
                value = words[0] | words[1] << 64 if kind == "b128" else words[element]
                memory[at + element * size : at + (element + 1) * size] = (value & mask(8 * size)).to_bytes(size, "little")
        t.program(named("st", need, is_wrong), code + "ret;\n}", [("bytes", "b32", bytes_as_words(data), "b32", bytes_as_words(memory))], needs=need, without=WRONG * is_wrong)
    return t


def tables():
    return [loads(), others(), stores()]
