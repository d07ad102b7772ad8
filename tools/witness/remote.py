"""PTX ISA 9.0, 9.7.9.12 st.async, 9.7.13.7 red.async of all types; 9.7.9.19 isspacep, 9.7.9.20 cvta, 9.7.9.23 mapa of all spaces;
9.7.9.15 to 9.7.9.18: hints, which give nothing and must not fault."""

from bits import edges, mask, random_of
from copies import WAIT, kernel
from memory import bytes_as_words
from table import Table

SCRIPT = "remote.py"
JOIN = "barrier.cluster.arrive; barrier.cluster.wait;"
# Two blocks of 32: each lane writes to the same place of the other block, whose mbarrier counts the bytes.
BEGIN = (
    "mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p0, %lane, 0; mov.u32 %r5, 1; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r5;\n"
    "@!%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {bytes};\n"
    "mov.u32 %at, land; mad.lo.u32 %at, %lane, {step}, %at; {first}\n"
    f"{JOIN}\n"
    "xor.b32 %r4, %r1, 1; mapa.shared::cluster.u32 %r6, %at, %r4; mov.u32 %r7, bar; mapa.shared::cluster.u32 %r7, %r7, %r4;\n"
    "mad.lo.u32 %r2, %r1, 32, %lane; mad.wide.u32 %d0, %r2, {step}, %in; mad.wide.u32 %d1, %r2, {step}, %out;\n"
)
PAIR = ["grid 2", "block 32", "cluster 2"]
VARIABLES = ".shared .align 16 .b8 land[512]; .shared .align 8 .b64 bar;"
COMPLETE = ".mbarrier::complete_tx::bytes"


# Forms to global memory: those that ptxas 13.0.88 compiles, and those of which it makes nothing.
MMIO = [
    ("global", [".release.gpu", ".release.sys", ".mmio.release.sys"], ()),
    ("global, mmio of a device", [".mmio.release.gpu"], [("ptxas", "ptxas 13.0.88 makes nothing of .mmio.release.gpu")]),
]


def swapped(data):
    return data[len(data) // 2 :] + data[: len(data) // 2]


def stores():
    t = Table("memory/async_stores", SCRIPT)
    t.section("9.7.9.12 st.async, of all types")
    random = random_of("async stores")
    # Generic addresses and the weak form go round.
    for number, (kind, count) in enumerate([("u32", 1), ("s32", 2), ("f32", 4), ("b64", 1), ("u64", 2), ("s64", 1), ("f64", 2), ("f32", 1)]):
        size = int(kind[1:]) // 8 * count
        letter = {"f32": ".reg .f32 %x<4>", "f64": ".reg .f64 %x<4>"}.get(kind, f".reg .b{kind[1:]} %x<4>")
        names = "%x0" if count == 1 else "{" + ", ".join(f"%x{n}" for n in range(count)) + "}"
        suffix = f"v{count}.{kind}" if count > 1 else kind
        words = [random.getrandbits(32) for _ in range(64 * size // 4)]
        generic = number % 3 == 2
        to = "cvt.u64.u32 %d3, %at; cvta.shared.u64 %d3, %d3; mapa.u64 %d3, %d3, %r4; mov.u64 %d4, bar; cvta.shared.u64 %d4, %d4; mapa.u64 %d4, %d4, %r4;\n" if generic else ""
        address, bar = ("%d3", "%d4") if generic else ("%r6", "%r7")
        form = f"st.async{('', '.weak')[number % 2]}{'' if generic else '.shared::cluster'}{COMPLETE}.{suffix}"
        body = f"{letter};\n" + BEGIN.format(bytes=32 * size, step=size, first="") + to
        body += f"ld.global.{suffix} {names}, [%d0]; {form} [{address}], {names}, [{bar}];\n{WAIT}\nld.shared.{suffix} {names}, [%at]; st.global.{suffix} [%d1], {names}; {JOIN}"
        t.program(form, kernel(VARIABLES, body), [("words", "b32", words, "b32", swapped(words))], PAIR, "sm_90")
    t.section("9.7.9.12 st.async, to global memory")
    for name, forms, without in MMIO:
        body, given, results = ".reg .f32 %x; .reg .f64 %y; .reg .b8 %z;\n", b"", b""
        for number, kind in enumerate(["b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64"]):
            size = int(kind[1:]) // 8
            value = random.getrandbits(64)
            register = {"f32": "%x", "f64": "%y"}.get(kind, {1: "%z", 2: "%h0", 4: "%r1", 8: "%d0"}[size])
            body += f"ld.global.b{8 * size} {register}, [%in+{len(given)}]; st.async{forms[number % len(forms)]}{('', '.global')[number // 4 % 2]}.{kind} [%out+{len(results)}], {register};\n"
            given += value.to_bytes(8, "little")
            results += (value & mask(8 * size)).to_bytes(8, "little")
        t.program(f"st.async {name}", kernel("", body), [("words", "b32", bytes_as_words(given), "b32", bytes_as_words(results))], needs="sm_100", without=without)
    return t


def reductions():
    t = Table("memory/async_reductions", SCRIPT)
    t.section("9.7.13.7 red.async, of 64 bits and to global memory")
    random = random_of("async reductions")
    old, new = (1 << 63) + 5, (edges(64) * 8)[:64]
    body = BEGIN.format(bytes=256, step=8, first=f"mov.b64 %d3, {old:#x}; st.shared.b64 [%at], %d3;")
    body += f"ld.global.b64 %d3, [%d0]; red.async.relaxed.cluster.shared::cluster{COMPLETE}.add.u64 [%r6], %d3, [%r7];\n{WAIT}\nld.shared.b64 %d3, [%at]; st.global.b64 [%d1], %d3; {JOIN}"
    t.program("red.async.add.u64", kernel(VARIABLES, body), [("edges", "b64", new, "b64", [old + x for x in swapped(new)])], PAIR, "sm_90")
    for name, forms, without in MMIO:
        body, given, results = "", [], []
        for number, (kind, form) in enumerate((kind, form) for kind in ("u32", "s32", "u64", "s64") for form in forms):
            width = int(kind[1:])
            a, b = random.getrandbits(width), random.choice([random.getrandbits(width), 1 << (width - 1), mask(width)])
            value, register = (("%r1", "%r2"), ("%d0", "%d1"))[width == 64]
            body += f"ld.global.b{width} {value}, [%in+{8 * len(given)}]; ld.global.b{width} {register}, [%in+{8 * len(given) + 8}]; st.global.b{width} [%out+{8 * number}], {value};\n"
            body += f"red.async{form}{('', '.global')[number % 2]}.add.{kind} [%out+{8 * number}], {register};\n"
            given += [a, b]
            results.append(a + b & mask(width))
        t.program(f"red.async {name}", kernel("", body), [("sums", "b64", given, "b64", results)], needs="sm_100", without=without)
    return t


def spaces():
    """Which addresses are in which space; an address goes to generic form and back."""
    t = Table("memory/spaces", SCRIPT)
    t.section("9.7.9.19 isspacep, 9.7.9.20 cvta, 9.7.9.23 mapa, 9.7.9.24 getctarank")
    # Of an own variable of each space.
    places = {"global": "g", "shared": "s", "shared::cta": "s", "local": "l", "const": "c"}
    code = ".global .align 8 .b64 g; .const .align 8 .b64 c = 5;\n"
    code += ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.shared .align 8 .b64 s; .local .align 8 .b64 l;\n.reg .pred %p; .reg .b64 %o, %a, %v, %z; .reg .b32 %w;\nld.param.u64 %o, [out]; mov.b64 %v, 7; st.shared.b64 [s], %v; mov.b64 %v, 9; st.local.b64 [l], %v; mov.b64 %v, 3; st.global.b64 [g], %v;\n"
    results = []
    give = lambda register: f"st.global.b32 [%o+{4 * len(results)}], {register};\n"
    values = {"g": 3, "s": 7, "l": 9, "c": 5}
    for space, name in places.items():
        code += f"cvta.{space}.u64 %a, {name};\n"
        for asked in (*places, "param", "param::entry"):
            code += f"isspacep.{asked} %p, %a; selp.b32 %w, 1, 0, %p; " + give("%w")
            results.append(int(places.get(asked) == name))
        code += f"cvta.to.{space}.u64 %z, %a; ld.{space}.b64 %v, [%z]; cvt.u32.u64 %w, %v; " + give("%w")
        results.append(values[name])
        code += "ld.b64 %v, [%a]; cvt.u32.u64 %w, %v; " + give("%w")
        results.append(values[name])
    # A parameter of the kernel: it holds the address of the output.
    for space in ("param", "param::entry"):
        code += f"cvta.{space}.u64 %a, out; ld.b64 %v, [%a]; sub.u64 %v, %v, %o; cvt.u32.u64 %w, %v; " + give("%w")
        results.append(0)
        code += f"cvta.to.{space}.u64 %z, %a; ld.{space}.b64 %v, [%z]; sub.u64 %v, %v, %o; cvt.u32.u64 %w, %v; " + give("%w")
        results.append(0)
        for asked in ("global", "shared", "local"):
            code += f"isspacep.{asked} %p, %a; selp.b32 %w, 1, 0, %p; " + give("%w")
            results.append(0)
        for asked in ("param", "param::entry"):
            code += f"isspacep.{asked} %p, %a; selp.b32 %w, 1, 0, %p; " + give("%w")
            results.append(1)
    t.program("own", code + "ret;\n}", [("each space", "b32", [0], "b32", results)])
    # Blocks of a cluster: `shared::cluster` holds the memory of all, `shared::cta` and `shared` that of the own block.
    body = (
        f"mov.u32 %r1, %cluster_ctarank; add.u32 %r3, %r1, 100; st.shared.u32 [land], %r3; {JOIN}\nmov.u64 %d0, land; cvta.shared::cta.u64 %d0, %d0; mul.lo.u32 %r2, %r1, 96; cvt.u64.u32 %d5, %r2; add.u64 %out, %out, %d5;\n"
    )
    results = []
    for rank in range(2):
        body += f"mapa.u64 %d1, %d0, {rank}; mapa.shared::cluster.u64 %d2, land, {rank}; cvta.shared::cluster.u64 %d3, %d2; cvta.to.shared::cluster.u64 %d4, %d1;\n"
        steps = [f"isspacep.{asked} %p0, %d1; selp.b32 %r5, 1, 0, %p0;" for asked in ("shared", "shared::cta", "shared::cluster", "global", "local")]
        steps += ["ld.u32 %r5, [%d1];", "ld.shared::cluster.u32 %r5, [%d2];", "ld.u32 %r5, [%d3];", "ld.shared::cluster.u32 %r5, [%d4];"]
        steps += ["getctarank.u64 %r5, %d1;", "getctarank.shared::cluster.u64 %r5, %d2;", "mov.b32 %r5, 0;"]
        body += "".join(f"{step} st.global.b32 [%out+{48 * rank + 4 * n}], %r5;\n" for n, step in enumerate(steps))
    for own in range(2):
        for rank in range(2):
            results += [int(own == rank)] * 2 + [1, 0, 0] + [100 + rank] * 4 + [rank] * 2 + [0]
    t.program("of a cluster", kernel(".shared .align 8 .b32 land;", body + JOIN), [("two blocks", "b32", [0], "b32", results)], ["grid 2", "block 1", "cluster 2"], "sm_90")
    return t


def hints():
    """Loads behind each hint still find what stands there."""
    t = Table("memory/hints", SCRIPT)
    t.section("9.7.9.15 prefetch, 9.7.9.15 prefetchu, 9.7.9.16 applypriority, 9.7.9.18 createpolicy")
    random = random_of("hints")
    words = [random.getrandbits(32) for _ in range(32)]
    plain = ["prefetch.L1 [%d0];", "prefetch.L2 [%d0];", "prefetch.global.L1 [%in];", "prefetch.global.L2 [%in+64];", "prefetch.local.L1 [%d1];", "prefetch.local.L2 [%d1];", "prefetchu.L1 [%d0];"]
    ways = ("evict_last", "evict_normal", "evict_first", "evict_unchanged")
    later = [f"prefetch{space}.L2::{way} [{at}];" for space, at in ((".global", "%in"), ("", "%d0")) for way in ("evict_last", "evict_normal")]
    later += ["applypriority.global.L2::evict_normal [%d3], 128;", "applypriority.L2::evict_normal [%d4], 128;"]
    policies = [f"createpolicy.fractional.L2::{way}{second}.b64 %d2{fraction};" for way in ways for second in ("", ".L2::evict_first", ".L2::evict_unchanged") for fraction in ("", ", 0.25")]
    policies += [f"createpolicy.range{space}.L2::{way}{second}.b64 %d2, [{at}], 64, 128;" for way in ways for second, space, at in (("", ".global", "%in"), (".L2::evict_unchanged", "", "%d0"), (".L2::evict_first", ".global", "%in"))]
    begin = ".reg .f32 %x;\ncvta.global.u64 %d0, %in; mov.u64 %d1, own; and.b64 %d3, %in, -128; cvta.global.u64 %d4, %d3; mov.b32 %r1, 0x1234; st.local.b32 [own], %r1;\n"
    for name, need, steps, form in (
        ("prefetch", None, plain, "ld.global.b32 %r1, [%in+{at}]"),
        ("prefetch, applypriority", "sm_80", later, "ld.global.b32 %r1, [%in+{at}]"),
        ("createpolicy", "sm_80", policies, "ld.global.L2::cache_hint.b32 %r1, [%in+{at}], %d2"),
    ):
        body = begin + "".join(f"{step} {form.format(at=4 * (n % 32))}; st.global.b32 [%out+{4 * n}], %r1;\n" for n, step in enumerate(steps))
        body += f"ld.local.b32 %r1, [own]; st.global.b32 [%out+{4 * len(steps)}], %r1;"
        code = kernel("", body).replace("{\n", "{\n.local .align 16 .b8 own[16];\n", 1)
        results = [words[n % 32] for n in range(len(steps))] + [0x1234]
        t.program(name, code, [("words", "b32", words, "b32", results)], needs=need)
    return t


def tables():
    return [stores(), reductions(), spaces(), hints()]
