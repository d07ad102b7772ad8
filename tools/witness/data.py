"""PTX ISA 9.0, 9.7.9: data movement that computes (mov of vectors, prmt, isspacep), loads and stores of all widths."""

from bits import edges, mask, number, random_of
from table import Table

SCRIPT = "data.py"


def moves():
    t = Table("data/mov", SCRIPT)
    random = random_of("mov")
    for width, half in ((32, 16), (64, 32)):
        t.section("9.7.9.3 mov")
        t.rows(f"a:b{width} b:b{half} c:b{half}", [(a, random.getrandbits(half), random.getrandbits(half)) for a in edges(width) + [random.getrandbits(width) for _ in range(5)]])
        low = lambda a: a & mask(half)
        t.form(f"mov.b{width} {{d, e}}, a;", f"d:b{half} e:b{half}", lambda a, b, c: (low(a), a >> half))
        t.form(f"mov.b{width} {{_, e}}, a;", f"e:b{half}", lambda a, b, c: a >> half)
        t.form(f"mov.b{width} d, {{b, c}};", f"d:b{width}", lambda a, b, c: b | c << half)
        t.form([f"mov.{kind}{width} d, a;" for kind in "bus" ] + ["mov.f32 d, a;" if width == 32 else "mov.f64 d, a;"], f"d:b{width}", lambda a, b, c: a)
        t.form([f"mov.{kind}{half} d, b;" for kind in "bus"], f"d:b{half}", lambda a, b, c: b)
    t.section("9.7.9.3 mov")
    t.rows("a:b64 b:b64", [(random.getrandbits(64), random.getrandbits(64)) for _ in range(6)])
    quarters = lambda a: tuple(a >> at & mask(16) for at in (0, 16, 32, 48))
    t.form("mov.b64 {d, e, f, g}, a;", "d:b16 e:b16 f:b16 g:b16", lambda a, b: quarters(a))
    t.form("{ .reg .b16 w, x, y, z; mov.b64 {w, x, y, z}, a; mov.b64 d, {z, y, x, w}; }", "d:b64",
           lambda a, b: sum(x << 16 * (3 - k) for k, x in enumerate(quarters(a))))
    t.form("{ .reg .b16 x, y; .reg .b32 w; cvt.u32.u64 w, a; { .reg .b8 p, q, r, s; mov.b32 {p, q, r, s}, w; mov.b32 d, {s, r, q, p}; } }", "d:b32",
           lambda a, b: int.from_bytes((a & mask(32)).to_bytes(4, "little"), "big"))
    t.form("{ .reg .b128 w; mov.b128 w, {a, b}; mov.b128 {d, e}, w; }", "d:b64 e:b64", lambda a, b: (a, b))
    t.form("mov.b128 d, {b, a};", "d:b128", lambda a, b: a << 64 | b)
    t.form("{ .reg .v2 .b64 v, w; mov.v2.b64 v, {a, b}; mov.v2.b64 w, v; add.u64 d, w.x, w.y; }", "d:b64", lambda a, b: a + b)
    t.section("9.7.9.3 mov")
    t.rows("a:b128", [mask(128), 1 << 127 | 1, random.getrandbits(128), random.getrandbits(128)])
    t.form("mov.b128 {d, e}, a;", "d:b64 e:b64", lambda a: (a & mask(64), a >> 64))
    t.form("mov.b128 d, a;", "d:b128", lambda a: a)
    return t


def byte(value, at):
    return value >> 8 * at & 255


# The bytes of the result, from the last to the first, by the two bits of the selector.
PRMT = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def prmt():
    t = Table("data/prmt", SCRIPT)
    t.section("9.7.9.7 prmt")
    random = random_of("prmt")
    codes = [0x3210, 0x7654, 0x0123, 0xBA98, 0xFEDC, 0x89AB, 0x7777, 0x8888, 0xF0F0, 0x1032, 0x5410, 0x7632, 0x4321, 0x6543, 0, mask(32), 0xFFFF3210, 0x80000001]
    rows = [(random.getrandbits(32), random.getrandbits(32), c) for c in codes] + [(0x80FF7F00, 0x01FE8180, c) for c in codes[:6]]
    t.rows("a:b32 b:b32 c:b32", rows + [tuple(random.getrandbits(32) for _ in range(3)) for _ in range(8)])

    def generic(a, b, c):
        result = 0
        for at in range(4):
            control = c >> 4 * at & 15
            value = byte(b << 32 | a, control & 7)
            if control & 8:
                value = 255 if value & 128 else 0
            result |= value << 8 * at
        return result

    t.form("prmt.b32 d, a, b, c;", "d:b32", generic)
    t.form("prmt.b32 d, a, a, c;", "d:b32", lambda a, b, c: generic(a, a, c))
    for mode, choices in PRMT.items():
        def permuted(a, b, c):
            return sum(byte(b << 32 | a, int(digit)) << 8 * (3 - at) for at, digit in enumerate(choices[c & 3]))

        t.form(f"prmt.b32.{mode} d, a, b, c;", "d:b32", permuted)
    return t


KINDS = [f"{letter}{width}" for width in (8, 16, 32, 64) for letter in "bus"] + ["f32", "f64"]
ENTRY = ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %i, %o, %s; .reg .b32 %t;\nld.param.u64 %i, [in]; ld.param.u64 %o, [out];\n"


def loads():
    """Narrow values in registers of all widths: extended by the sign of the type, zeros else; stores take the low bits."""
    t = Table("data/loads", SCRIPT)
    t.section("9.7.9.8 ld, 9.7.9.11 st")
    random = random_of("loads")
    words = [0x8001FF7F80FE0102, 0x7FFFFFFF80000000] + [random.getrandbits(64) for _ in range(2)]
    data = b"".join(word.to_bytes(8, "little") for word in words)
    spaces = {
        "global": ("", "%i"),
        "shared": (".shared .align 16 .b8 buffer[32];\n", "%s"),
        "local": (".local .align 16 .b8 buffer[32];\n", "%s"),
    }
    for space, (declaration, base) in spaces.items():
        # Of each type one load at each of its places, into a register of its width and the widest.
        code, results = ENTRY + declaration, []
        if declaration:
            code += "mov.u64 %s, buffer;\n" + "".join(f"{{ .reg .b64 v; ld.global.b64 v, [%i+{at}]; st.{space}.b64 [%s+{at}], v; }}\n" for at in range(0, 32, 8))
        at_out = 0
        for kind in KINDS:
            size = int(kind[1:]) // 8
            for at in range(0, 16, size):
                for register in sorted({max(16, 8 * size), 64}):
                    if kind[0] == "f" and register != 8 * size:
                        continue
                    raw = int.from_bytes(data[at : at + size], "little")
                    value = number(raw, kind) if kind[0] == "s" else raw
                    name = f".b{register}" if kind[0] != "f" else f".{kind}"
                    code += f"{{ .reg {name} v; ld.{space}.{kind} v, [{base}+{at}]; st.global.b{register} [%o+{at_out}], v; }}\n"
                    results += list((value & mask(register)).to_bytes(8, "little"))
                    if register < 64:
                        results[-(8 - register // 8) :] = [0] * (8 - register // 8)
                    at_out += 8
        t.program(f"ld_{space}", code + "ret;\n}", [("bytes", "b8", list(data), "b8", results)])
        # Vectors, and stores of narrow parts of a register.
        code, results, at_out = ENTRY + declaration, [], 0
        if declaration:
            code += "mov.u64 %s, buffer;\n" + "".join(f"{{ .reg .b64 v; ld.global.b64 v, [%i+{at}]; st.{space}.b64 [%s+{at}], v; }}\n" for at in range(0, 32, 8))
        for kind, count in (("u8", 2), ("s8", 4), ("b16", 2), ("s16", 4), ("u32", 2), ("b32", 4), ("f32", 4), ("b64", 2), ("f64", 2)):
            size = int(kind[1:]) // 8
            register = f".b{max(16, 8 * size)}" if kind[0] != "f" else f".{kind}"
            names = ["p", "q", "r", "s"][:count]
            vector = ", ".join(names)
            back = ", ".join(reversed(names))
            code += f"{{ .reg {register} {vector}; ld.{space}.v{count}.{kind} {{{vector}}}, [{base}]; st.global.v{count}.{kind} [%o+{at_out}], {{{back}}}; }}\n"
            parts = [data[k * size : (k + 1) * size] for k in range(count)]
            bytes_ = b"".join(reversed(parts))
            results += list(bytes_.ljust(16, b"\0"))
            at_out += 16
        t.program(f"vectors_{space}", code + "ret;\n}", [("bytes", "b8", list(data), "b8", results)])
    return t


def stores():
    t = Table("data/stores", SCRIPT)
    t.section("9.7.9.11 st")
    random = random_of("stores")
    word = 0xF1E2D3C4B5A69788
    spaces = {"global": ("", "%o"), "shared": (".shared .align 16 .b8 buffer[128];\n", "%s"), "local": (".local .align 16 .b8 buffer[128];\n", "%s")}
    for space, (declaration, base) in spaces.items():
        code = ENTRY + declaration + (f"mov.u64 {base}, buffer;\n" if declaration else "")
        code += ".reg .b64 %v, %z; ld.global.b64 %v, [%i]; mov.b64 %z, 0;\n"
        memory = bytearray(128)
        code += "".join(f"st.{space}.b64 [{base}+{at}], %z;\n" for at in range(0, 128, 8))
        at = 0
        for width in (8, 16, 32, 64):
            for letter in "bus":
                for step in (0, 1):
                    size = width // 8
                    place = at + step * size
                    code += f"st.{space}.{letter}{width} [{base}+{place}], %v;\n" if width < 64 or step == 0 else ""
                    if width < 64 or step == 0:
                        memory[place : place + size] = (word & mask(width)).to_bytes(size, "little")
                at += 8
        if declaration:
            code += "".join(f"ld.{space}.b64 %z, [{base}+{at}]; st.global.b64 [%o+{at}], %z;\n" for at in range(0, 128, 8))
        t.program(f"st_{space}", code + "ret;\n}", [("a word", "b64", [word], "b8", list(memory))])
    return t


def spaces():
    """isspacep, cvta, cvta.to: what the manual says of addresses of each space."""
    t = Table("data/spaces", SCRIPT)
    t.section("9.7.9.19 isspacep, 9.7.9.20 cvta")
    code = (
        ".global .align 8 .b64 g; .const .align 8 .b64 c = 5;\n" + ENTRY + ".shared .align 8 .b64 s; .local .align 8 .b64 l;\n"
        ".reg .pred %p; .reg .b64 %a, %v, %z; .reg .b32 %w; mov.b64 %v, 7; st.shared.b64 [s], %v; mov.b64 %v, 9; st.local.b64 [l], %v; mov.b64 %v, 3; st.global.b64 [g], %v;\n"
    )
    results, at = [], 0
    values = {"global": ("g", 3), "shared": ("s", 7), "local": ("l", 9), "const": ("c", 5)}
    for space, (name, value) in values.items():
        code += f"mov.u64 %a, {name}; cvta.{space}.u64 %a, %a;\n"
        for asked in values:
            code += f"isspacep.{asked} %p, %a; selp.b32 %w, 1, 0, %p; st.global.b32 [%o+{at}], %w;\n"
            results.append(int(asked == space))
            at += 4
        code += f"ld.b64 %v, [%a]; cvt.u32.u64 %w, %v; st.global.b32 [%o+{at}], %w;\n"
        code += f"cvta.to.{space}.u64 %z, %a; ld.{space}.b64 %v, [%z]; cvt.u32.u64 %w, %v; st.global.b32 [%o+{at + 4}], %w;\n"
        results += [value, value]
        at += 8
    t.program("generic_addresses", code + "ret;\n}", [("each space", "b32", [0], "b32", results)])
    return t


def tables():
    return [moves(), prmt(), loads(), stores(), spaces()]
