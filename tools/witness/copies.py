"""Copies behind the threads' backs, mbarriers, clusters (sections 9.7.9.25, 9.7.13.15 and 9.7.9.14 of the PTX manual)."""

import random

import formats
from table import Table

ABI = ".visible .entry k(.param .u64 in, .param .u64 out)"
HEAD = (
    ".reg .b32 %r<24>, %lane, %at; .reg .b64 %in, %out, %d<8>; .reg .b16 %h<4>; .reg .pred %p<4>;\n"
    "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x;"
)
# Waits until the phase of the barrier at `bar` is over.
WAIT = "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0;\n@!%p3 bra WAIT;"


def kernel(variables, body):
    return f"{variables}\n{ABI}\n{{\n{HEAD}\n{body}\nret;\n}}"


def words(data):
    return [int.from_bytes(bytes(data[n : n + 4]), "little") for n in range(0, len(data), 4)]


def single(table):
    """`cp.async`: of the bytes those that the source does not have, or is told to ignore, are zero."""
    source = random.Random(80)
    table.section("9.7.9.25.3 cp.async")
    memory = [source.randrange(256) for _ in range(512)]
    for cache, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        for more, taken in (("", lambda lane: size), (", %r1", lambda lane: lane % (size + 1)), (", %p1", lambda lane: 0 if lane & 4 else size)):
            code = kernel(
                ".shared .align 16 .b8 land[512];",
                f"mov.u32 %at, land; mad.lo.u32 %at, %lane, 16, %at; mad.wide.u32 %d0, %lane, 16, %in;\n"
                f"mov.u32 %r2, -1; st.shared.v4.b32 [%at], {{%r2, %r2, %r2, %r2}};\n"
                f"rem.u32 %r1, %lane, {size + 1}; and.b32 %r3, %lane, 4; setp.ne.u32 %p1, %r3, 0;\n"
                f"cp.async.{cache}.shared.global [%at], [%d0], {size}{more};\ncp.async.commit_group; cp.async.wait_group 0;\n"
                "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%at]; mad.wide.u32 %d1, %lane, 16, %out;\n"
                "st.global.v4.b32 [%d1], {%r4, %r5, %r6, %r7};",
            )
            result = []
            for lane in range(32):
                row = memory[16 * lane : 16 * lane + 16]
                result += [row[n] if n < taken(lane) else 0 if n < size else 255 for n in range(16)]
            name = f"cp.async.{cache} {size} {'sized' if 'r1' in more else 'ignored' if 'p1' in more else 'whole'}"
            table.program(name, code, [("bytes", "b32", words(memory), "b32", words(result))], ["block 32"], "sm_80")


def counted(table):
    """`cp.async.mbarrier.arrive`: an arrival when the copies are done; `cp.async.wait_all`."""
    source = random.Random(84)
    table.section("9.7.13.15.15 cp.async.mbarrier.arrive")
    data = [source.randrange(1 << 32) for _ in range(32)]
    for more, awaited in ((".noinc", 32), ("", 32)):
        # Without .noinc an arrival adds one that is awaited, so that the lanes have to arrive themselves too.
        own = "" if more else "mbarrier.arrive.shared::cta.b64 %d2, [bar];"
        body = (
            f"mov.u32 %r5, {awaited}; setp.ne.u32 %p0, %lane, 0; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r5; bar.sync 0;\n"
            "mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out;\n"
            f"cp.async.ca.shared.global [%at], [%d0], 4; cp.async.mbarrier.arrive{more}.shared::cta.b64 [bar]; {own}\n"
            f"{WAIT.replace('try_wait', 'test_wait')}\nld.shared.b32 %r1, [%at]; st.global.b32 [%d1], %r1; cp.async.wait_all;"
        )
        table.program(f"cp.async.mbarrier.arrive{more}", kernel(".shared .align 16 .b8 land[128]; .shared .align 8 .b64 bar;", body), [("words", "b32", data, "b32", data)], ["block 32"], "sm_80")


def zeros(table):
    """`st.bulk`: zeros, a multiple of eight bytes."""
    table.section("9.7.9.13 st.bulk")
    for size in (8, 64, 128):
        body = (
            "mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; mov.u32 %r1, -1; st.shared.b32 [%at], %r1; bar.sync 0;\n"
            f"{ONE}\nmov.u64 %d0, {size}; mov.u32 %r6, land; st.bulk.weak.shared::cta [%r6], %d0, 0;\nDONE:\nbar.sync 0; ld.shared.b32 %r1, [%at]; mad.wide.u32 %d1, %lane, 4, %out; st.global.b32 [%d1], %r1;"
        )
        expected = [0 if 4 * n < size else 0xFFFFFFFF for n in range(32)]
        table.program(f"st.bulk {size}", kernel(".shared .align 16 .b8 land[128];", body), [("ones", "b32", [0], "b32", expected)], ["block 32"], "sm_100")


ONE = "setp.ne.u32 %p0, %lane, 0; @%p0 bra DONE;"


def bulk(table):
    source = random.Random(81)
    table.section("9.7.9.25.4.2 cp.async.bulk")
    memory = [source.randrange(256) for _ in range(256)]
    read = "mad.wide.u32 %d1, %lane, 4, %out; mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; ld.shared.b32 %r1, [%at]; st.global.b32 [%d1], %r1;"
    begin = "mov.u32 %r5, 1; mbarrier.init.shared::cta.b64 [bar], %r5; fence.proxy.async; mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {size};"
    variables = ".shared .align 16 .b8 land[256]; .shared .align 8 .b64 bar;"
    clear = "mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; mov.u32 %r1, 0xeeeeeeee; st.shared.b32 [%at], %r1; bar.sync 0;"
    for size in (16, 48, 256):
        body = f"{clear}\n{ONE}\n{begin.format(size=size)}\n" + (
            f"cp.async.bulk.prefetch.L2.global [%in], {size};\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [land], [%in], {size}, [bar];\n{WAIT}\nDONE:\nbar.sync 0;\n{read}"
        )
        result = [memory[n] if n < size else 0xEE for n in range(256)]
        table.program(f"cp.async.bulk in {size}", kernel(variables, body), [("bytes", "b32", words(memory), "b32", words(result))], ["block 64"], "sm_90")
    fill = "mad.wide.u32 %d0, %lane, 4, %in; ld.global.b32 %r1, [%d0]; mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; st.shared.b32 [%at], %r1; fence.proxy.async; bar.sync 0;"
    finish = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:"
    for size in (16, 64, 240):
        code = kernel(variables, f"{fill}\n{ONE}\ncp.async.bulk.global.shared::cta.bulk_group [%out], [land], {size};\n{finish}")
        table.program(f"cp.async.bulk out {size}", code, [("bytes", "b32", words(memory), "b32", words([v if n < size else 0 for n, v in enumerate(memory)]))], ["block 64"], "sm_90")
    for mask in (0x0001, 0x8000, 0xA5C3, 0xFFFF, 0):
        code = kernel(variables, f"{fill}\n{ONE}\nmov.b16 %h0, {mask:#x};\ncp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out], [land], 64, %h0;\n{finish}")
        result = [v if n < 64 and mask >> (n % 16) & 1 else 0 for n, v in enumerate(memory)]
        table.program(f"cp.async.bulk masked {mask:#x}", code, [("bytes", "b32", words(memory), "b32", words(result))], ["block 64"], "sm_100")


FLOATS = {"f16": formats.F16, "bf16": formats.BF16, "f32": formats.F32, "f64": formats.F64}


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def combined(op, kind, old, new):
    """The bits of what one element becomes."""
    width = int(kind[-2:])
    mask = (1 << width) - 1
    if kind in FLOATS:
        a, b = FLOATS[kind].decode(old), FLOATS[kind].decode(new)
        picked = formats.added(a, b) if op == "add" else (min if op == "min" else max)(a, b, key=lambda number: number.value)
        return FLOATS[kind].encode(picked)
    number = (lambda value: signed(value, width)) if kind[0] == "s" else (lambda value: value)
    a, b = number(old), number(new)
    return {
        "add": a + b, "min": min(a, b), "max": max(a, b), "and": a & b, "or": a | b, "xor": a ^ b,
        "inc": 0 if a >= b else a + 1, "dec": b if a == 0 or a > b else a - 1,
    }[op] & mask  # fmt: skip


REDUCTIONS = [(op, kind) for op in ("and", "or", "xor") for kind in ("b32", "b64")]
REDUCTIONS += [("add", kind) for kind in ("u32", "s32", "u64", "f32", "f64", "f16", "bf16")]
REDUCTIONS += [(op, kind) for op in ("min", "max") for kind in ("u32", "s32", "u64", "s64", "f16", "bf16")]
REDUCTIONS += [("inc", "u32"), ("dec", "u32")]


def elements(kind, count, source):
    width = int(kind[-2:])
    if kind in FLOATS:
        return [FLOATS[kind].encode(formats.exactly(source.randint(-60, 60))) for _ in range(count)]
    edges = [0, 1, 2, (1 << width) - 1, 1 << (width - 1), (1 << (width - 1)) - 1]
    return [source.choice([*edges, source.getrandbits(width)]) for _ in range(count)]


def reduce(table):
    source = random.Random(82)
    table.section("9.7.9.25.4.3 cp.reduce.async.bulk")
    for op, kind in REDUCTIONS:
        width = int(kind[-2:])
        count = 1024 // width
        old, new = elements(kind, count, source), elements(kind, count, source)
        bits = lambda values: sum(value << (width * n) for n, value in enumerate(values))
        split = lambda values: [bits(values) >> (32 * n) & 0xFFFFFFFF for n in range(32)]
        name = f"{op}.noftz.{kind}" if op == "add" and kind in ("f16", "bf16") else f"{op}.{kind}"
        body = (
            "mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out; ld.global.b32 %r1, [%d0]; st.global.b32 [%d1], %r1;\n"
            "ld.global.b32 %r2, [%d0+128]; mov.u32 %at, from; mad.lo.u32 %at, %lane, 4, %at; st.shared.b32 [%at], %r2;\n"
            f"fence.proxy.async; bar.sync 0;\n{ONE}\ncp.reduce.async.bulk.global.shared::cta.bulk_group.{name} [%out], [from], 128;\n"
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:"
        )
        result = [combined(op, kind, a, b) for a, b in zip(old, new)]
        table.program(f"cp.reduce.async.bulk.{name}", kernel(".shared .align 16 .b8 from[128];", body), [("edges", "b32", split(old) + split(new), "b32", split(result))], ["block 32"], "sm_90")


def barriers(table):
    """mbarriers: arrivals that are awaited, phases, bytes; by the state that each step leaves."""
    table.section("9.7.13.15 mbarrier")
    steps, expected = [], []

    def look(state, phase_over):
        steps.append(f"mbarrier.pending_count.b64 %r1, {state}; mbarrier.test_wait.shared::cta.b64 %p1, [bar], {state}; selp.u32 %r2, 1, 0, %p1; st.global.v2.b32 [%out+{8 * len(expected)}], {{%r1, %r2}};")
        expected.append(phase_over)

    # Three arrivals: the state before each says how many were pending.
    steps.append("mov.u32 %r5, 3; mbarrier.init.shared::cta.b64 [bar], %r5;")
    for pending in (3, 2, 1):
        steps.append("mbarrier.arrive.shared::cta.b64 %d0, [bar];")
        look("%d0", (pending, int(pending == 1)))
    # The second phase: two at once, then one that leaves for good; the third waits for two.
    for text, pending, over in (("mbarrier.arrive.noComplete.shared::cta.b64 %d0, [bar], 2;", 3, 0), ("mbarrier.arrive_drop.shared::cta.b64 %d0, [bar];", 1, 1), ("mbarrier.arrive.shared::cta.b64 %d0, [bar];", 2, 0), ("mbarrier.arrive.shared::cta.b64 %d0, [bar];", 1, 1)):
        steps.append(text)
        look("%d0", (pending, over))
    # Parities of the phases: after three of them the fourth is at work.
    for parity in (0, 1):
        steps.append(f"mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], {parity}; selp.u32 %r2, 1, 0, %p1; st.global.v2.b32 [%out+{8 * len(expected)}], {{%r2, %r2}};")
        expected.append(((1, 1), (0, 0))[parity])
    steps.append("mbarrier.inval.shared::cta.b64 [bar];")
    body = f"{ONE}\n" + "\n".join(steps) + "\nDONE:"
    results = [value for pair in expected for value in pair]
    table.program("arrivals and phases", kernel(".shared .align 8 .b64 bar;", body), [("steps", "b32", [0], "b32", results)], ["block 32"], "sm_80")
    steps, expected = [], []
    steps.append("mov.u32 %r5, 1; mbarrier.init.shared::cta.b64 [bar], %r5;")
    told = lambda parity, over: (steps.append(f"mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], {parity}; selp.u32 %r2, 1, 0, %p1; st.global.b32 [%out+{4 * len(expected)}], %r2;"), expected.append(over))
    # Bytes that are expected keep a phase open.
    steps.append("mbarrier.arrive.expect_tx.shared::cta.b64 %d0, [bar], 96;")
    told(0, 0)
    steps.append("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 32;")
    told(0, 0)
    steps.append("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 64;")
    told(0, 1)
    told(1, 0)
    steps.append("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16; mbarrier.arrive.shared::cta.b64 %d0, [bar];")
    told(1, 0)
    steps.append("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 16;")
    told(1, 1)
    told(0, 0)
    body = f"{ONE}\n" + "\n".join(steps) + "\nDONE:"
    table.program("bytes", kernel(".shared .align 8 .b64 bar;", body), [("steps", "b32", [0], "b32", expected)], ["block 32"], "sm_90")


def clusters(table):
    """Shared memory of other blocks: `mapa`, loads, `st.async`, `red.async`, and who is who."""
    source = random.Random(83)
    table.section("9.7.9.14 mapa, getctarank, barrier.cluster")
    join = "barrier.cluster.arrive; barrier.cluster.wait;"
    # 8 blocks in clusters of (2, 2, 1): who is who.
    registers = ["cluster_ctaid.x", "cluster_ctaid.y", "cluster_ctarank", "cluster_nctarank", "clusterid.x", "clusterid.y", "nclusterid.x", "is_explicit_cluster"]
    body = "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x; mad.lo.u32 %r1, %r2, %r3, %r1; mad.wide.u32 %d1, %r1, 32, %out;\n"
    for n, register in enumerate(registers):
        body += f"mov.u32 %r5, %{register};\n" if register != "is_explicit_cluster" else "mov.pred %p1, %is_explicit_cluster; selp.u32 %r5, 1, 0, %p1;\n"
        body += f"st.global.b32 [%d1+{4 * n}], %r5;\n"
    expected = [v for y in range(2) for x in range(4) for v in (x % 2, y % 2, y % 2 * 2 + x % 2, 4, x // 2, y // 2, 2, 1)]
    table.program("who is who", kernel("", body), [("grid", "b32", [0], "b32", expected)], ["grid 4 2 1", "block 1", "cluster 2 2 1"], "sm_90")
    # Each block reads the words of the block behind it, by both kinds of address.
    values = [source.randrange(1 << 32) for _ in range(128)]
    body = (
        "mov.u32 %r1, %cluster_ctarank; mad.lo.u32 %r2, %r1, 32, %lane; mad.wide.u32 %d0, %r2, 4, %in; ld.global.b32 %r3, [%d0];\n"
        f"mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; st.shared.b32 [%at], %r3; {join}\n"
        "add.u32 %r4, %r1, 1; and.b32 %r4, %r4, 3; mapa.shared::cluster.u32 %r5, %at, %r4; ld.shared::cluster.b32 %r6, [%r5];\n"
        "cvt.u64.u32 %d2, %at; cvta.shared.u64 %d2, %d2; mapa.u64 %d3, %d2, %r4; ld.b32 %r7, [%d3]; getctarank.shared::cluster.u32 %r8, %r5; getctarank.u64 %r9, %d3;\n"
        f"mad.wide.u32 %d1, %r2, 16, %out; st.global.v4.b32 [%d1], {{%r6, %r7, %r8, %r9}}; {join}"
    )
    expected = [v for block in range(4) for lane in range(32) for v in (values[(block + 1) % 4 * 32 + lane],) * 2 + ((block + 1) % 4,) * 2]
    table.program("mapa", kernel(".shared .align 16 .b8 land[128];", body), [("words", "b32", values, "b32", expected)], ["grid 4", "block 32", "cluster 4"], "sm_90")
    table.section("9.7.9.12 st.async, 9.7.13.7 red.async")
    begin = (
        "mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p0, %lane, 0; mov.u32 %r5, 1; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r5;\n"
        "@!%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {bytes};\n"
        "mov.u32 %at, land; mad.lo.u32 %at, %lane, {step}, %at; {first}\n"
        f"{join}\n"
        "xor.b32 %r4, %r1, 1; mapa.shared::cluster.u32 %r6, %at, %r4; mov.u32 %r7, bar; mapa.shared::cluster.u32 %r7, %r7, %r4;\n"
        "mad.lo.u32 %r2, %r1, 32, %lane; mad.wide.u32 %d0, %r2, {step}, %in; mad.wide.u32 %d1, %r2, {step}, %out;\n"
    )
    variables = ".shared .align 16 .b8 land[512]; .shared .align 8 .b64 bar;"
    swapped = lambda data: data[len(data) // 2 :] + data[: len(data) // 2]
    for suffix, count in (("b32", 1), ("v2.b32", 2), ("v4.b32", 4)):
        data = [source.randrange(1 << 32) for _ in range(64 * count)]
        regs = "%r10" if count == 1 else "{" + ", ".join(f"%r{10 + n}" for n in range(count)) + "}"
        body = begin.format(bytes=32 * 4 * count, step=4 * count, first="") + (
            f"ld.global.{suffix} {regs}, [%d0]; st.async.shared::cluster.mbarrier::complete_tx::bytes.{suffix} [%r6], {regs}, [%r7];\n{WAIT}\n"
            f"ld.shared.{suffix} {regs}, [%at]; st.global.{suffix} [%d1], {regs}; {join}"
        )
        table.program(f"st.async.{suffix}", kernel(variables, body), [("words", "b32", data, "b32", swapped(data))], ["grid 2", "block 32", "cluster 2"], "sm_90")
    words = random.Random(91)
    data = [words.randrange(1 << 32) for _ in range(256)]
    body = begin.format(bytes=512, step=16, first="") + (
        "ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%d0]; { .reg .b64 x<2>; .reg .b128 q; mov.b64 x0, {%r10, %r11}; mov.b64 x1, {%r12, %r13}; mov.b128 q, {x0, x1};\n"
        f"st.async.shared::cluster.mbarrier::complete_tx::bytes.b128 [%r6], q, [%r7]; }}\n{WAIT}\n"
        f"ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%at]; st.global.v4.b32 [%d1], {{%r10, %r11, %r12, %r13}}; {join}"
    )
    table.program("st.async.b128", kernel(variables, body), [("words", "b32", data, "b32", swapped(data))], ["grid 2", "block 32", "cluster 2"], "9.2 sm_90")
    for op, kind in [(op, "u32") for op in ("inc", "dec", "min", "max", "add")] + [(op, "s32") for op in ("min", "max", "add")] + [(op, "b32") for op in ("and", "or", "xor")]:
        old, new = 0x80000005, elements(kind, 64, source)
        body = begin.format(bytes=128, step=4, first=f"mov.u32 %r8, {old:#x}; st.shared.b32 [%at], %r8;") + (
            f"ld.global.b32 %r10, [%d0]; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op}.{kind} [%r6], %r10, [%r7];\n{WAIT}\n"
            f"ld.shared.b32 %r10, [%at]; st.global.b32 [%d1], %r10; {join}"
        )
        table.program(f"red.async.{op}.{kind}", kernel(variables, body), [("edges", "b32", new, "b32", [combined(op, kind, old, value) for value in swapped(new)])], ["grid 2", "block 32", "cluster 2"], "sm_90")


def tables():
    for name, *parts in (("copies", single, counted, bulk, zeros), ("reductions", reduce), ("barriers", barriers), ("clusters", clusters)):
        table = Table(f"async/{name}", "copies.py")
        for part in parts:
            part(table)
        yield table
