"""Copies in bulk with scopes and to multimem addresses, layouts and phases of mbarriers, loads and stores by other proxies (PTX ISA 9.4,
sections 9.7.10.28.4, 9.7.15.16, 9.7.10.8, 9.7.10.11, 9.7.10.13, 9.7.10.15 and 9.7.10.16). Behind a multimem address stands one copy.
"""

import random

from copies import ABI, ONE, REDUCTIONS, WAIT, combined, elements, kernel, words
from table import Table

SCRIPT = "scopes.py"
SCOPES = ("cta", "cluster", "gpu", "sys")
VARIABLES = ".shared .align 16 .b8 land[256]; .shared .align 8 .b64 bar;"
CLEAR = "mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; mov.u32 %r1, 0xeeeeeeee; st.shared.b32 [%at], %r1; bar.sync 0;"
BEGIN = "mov.u32 %r5, 1; mbarrier.init.shared::cta.b64 [bar], %r5; fence.proxy.async; mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {size};"
READ = "mad.wide.u32 %d1, %lane, 4, %out; mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; ld.shared.b32 %r1, [%at]; st.global.b32 [%d1], %r1;"
FILL = "mad.wide.u32 %d0, %lane, 4, %in; ld.global.b32 %r1, [%d0]; mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; st.shared.b32 [%at], %r1; fence.proxy.async; bar.sync 0;"
FINISH = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:"


def memory_of(seed):
    source = random.Random(seed)
    return [source.randrange(256) for _ in range(256)]


def inward(table):
    """From global memory into the block: every manner copies the same bytes."""
    table.section("9.7.10.28.4.1 cp.async.bulk")
    memory = memory_of(901)
    hint = "createpolicy.fractional.L2::evict_last.b64 %d3;"
    forms = [("cta", ".weak", "", "", "", "9.3 sm_90"), ("cluster", ".weak", "", "", "", "9.3 sm_90")]
    forms += [("cta", f".relaxed.{scope}", "", ".b128", "", "9.3 sm_90") for scope in SCOPES]
    forms += [("cluster", f".relaxed.{scope}", "", ".b128", "", "9.3 sm_90a|sm_100f|sm_110f") for scope in SCOPES]
    forms += [("cta", ".relaxed.gpu", ".L2::cache_hint", ".b128", ", %d3", "9.3 sm_90"), ("cta", ".weak", ".L2::cache_hint", "", ", %d3", "9.3 sm_90")]
    for to, sem, level, kind, more, needs in forms:
        name = f"cp.async.bulk{sem}.shared::{to}.global.mbarrier::complete_tx::bytes{level}{kind}"
        body = f"{CLEAR}\n{ONE}\n{BEGIN.format(size=48)}\n{hint}\n{name} [land], [%in], 48, [bar]{more};\n{WAIT}\nDONE:\nbar.sync 0;\n{READ}"
        result = [memory[n] if n < 48 else 0xEE for n in range(256)]
        table.program(name, kernel(VARIABLES, body), [("bytes", "b32", words(memory), "b32", words(result))], ["block 64"], needs)


def ignoring(table):
    """Bytes at the ends of the source that may be out of bounds: what is between them is copied. The rest is masked out here."""
    table.section("9.7.10.28.4.1 cp.async.bulk .ignore_oob")
    memory = memory_of(902)
    for sem, kind, needs in (("", "", "9.2 sm_90"), (".weak", "", "9.3 sm_90"), (".relaxed.sys", ".b128", "9.3 sm_90")):
        for left, right, in_registers in ((0, 0, False), (3, 5, False), (15, 15, True), (0, 9, True)):
            defined = [left <= n < 64 - right for n in range(64)] + [True] * 192
            mask = words([255 if known else 0 for known in defined])
            ends = f"{left}, {right}"
            if in_registers:
                ends = "%r6, %r7"
            name = f"cp.async.bulk{sem}.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob{kind}"
            body = (
                f"{CLEAR}\n{ONE}\n{BEGIN.format(size=64)}\nmov.u32 %r6, {left}; mov.u32 %r7, {right};\n{name} [land], [%in], 64, {ends}, [bar];\n{WAIT}\nDONE:\nbar.sync 0;\n"
                "mad.wide.u32 %d0, %lane, 4, %in; ld.global.b32 %r8, [%d0+256]; mad.wide.u32 %d1, %lane, 4, %out; mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at;\n"
                "ld.shared.b32 %r1, [%at]; and.b32 %r1, %r1, %r8; st.global.b32 [%d1], %r1;"
            )
            result = [(memory[n] if n < 64 else 0xEE) if defined[n] else 0 for n in range(256)]
            table.program(f"{name} {left} {right}", kernel(VARIABLES, body), [("bytes", "b32", words(memory) + mask, "b32", words(result))], ["block 64"], needs)


def outward(table):
    """From the block to global memory and to multimem addresses."""
    table.section("9.7.10.28.4.1 cp.async.bulk, 9.7.10.28.4.4 multimem.cp.async.bulk")
    memory = memory_of(903)
    for prefix, plain in (("", "9.3"), ("multimem.", "9.1")):
        forms = [(".weak", "", "9.3 sm_90")] + [(f".relaxed.{scope}", ".b128", "9.3 sm_90") for scope in SCOPES]
        if prefix:
            forms.append(("", "", f"{plain} sm_90"))
        for sem, kind, needs in forms:
            name = f"{prefix}cp.async.bulk{sem}.global.shared::cta.bulk_group{kind}"
            code = kernel(VARIABLES, f"{FILL}\n{ONE}\n{name} [%out], [land], 64;\n{FINISH}")
            result = [value if n < 64 else 0 for n, value in enumerate(memory)]
            table.program(name, code, [("bytes", "b32", words(memory), "b32", words(result))], ["block 64"], needs)
        masked = [(".weak", "", "9.3 sm_100"), (".relaxed.sys", ".b128", "9.3 sm_100")] + ([("", "", "9.1 sm_100")] if prefix else [])
        for sem, kind, needs in masked:
            for mask in (0x8001, 0x5A3C):
                name = f"{prefix}cp.async.bulk{sem}.global.shared::cta.bulk_group.cp_mask{kind}"
                code = kernel(VARIABLES, f"{FILL}\n{ONE}\nmov.b16 %h0, {mask:#x};\n{name} [%out], [land], 64, %h0;\n{FINISH}")
                result = [value if n < 64 and mask >> (n % 16) & 1 else 0 for n, value in enumerate(memory)]
                table.program(f"{name} {mask:#x}", code, [("bytes", "b32", words(memory), "b32", words(result))], ["block 64"], needs)


def across(table):
    """Between two blocks of a cluster: each sends its words to the other."""
    table.section("9.7.10.28.4.1 cp.async.bulk, 9.7.10.28.4.2 cp.reduce.async.bulk: from shared memory to the cluster's")
    source = random.Random(904)
    join = "barrier.cluster.arrive; barrier.cluster.wait;"
    variables = ".shared .align 16 .b8 from[128]; .shared .align 16 .b8 land[128]; .shared .align 8 .b64 bar;"
    forms = [("cp.async.bulk.weak", "", None, "9.3"), ("cp.async.bulk.relaxed.cta", ".b128", None, "9.3"), ("cp.async.bulk.relaxed.cluster", ".b128", None, "9.3")]
    forms += [(f"cp.reduce.async.bulk.relaxed.{scope}", f".{op}.{kind}", (op, kind), "9.3") for scope in ("cta", "cluster") for op, kind in (("add", "u32"), ("min", "s32"), ("inc", "u32"), ("xor", "b32"))]
    for name, last, how, version in forms:
        data = [source.randrange(1 << 32) for _ in range(64)]
        old = 0x80000007
        code = f"{name}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{last}"
        body = (
            "mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p0, %lane, 0; mov.u32 %r5, 1; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r5;\n"
            "@!%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], 128;\n"
            f"mov.u32 %at, land; mad.lo.u32 %at, %lane, 4, %at; mov.u32 %r8, {old:#x}; st.shared.b32 [%at], %r8;\n"
            "mad.lo.u32 %r2, %r1, 32, %lane; mad.wide.u32 %d0, %r2, 4, %in; mad.wide.u32 %d1, %r2, 4, %out; ld.global.b32 %r3, [%d0];\n"
            f"mov.u32 %r4, from; mad.lo.u32 %r4, %lane, 4, %r4; st.shared.b32 [%r4], %r3; fence.proxy.async; {join}\n"
            "xor.b32 %r9, %r1, 1; mov.u32 %r6, land; mapa.shared::cluster.u32 %r6, %r6, %r9; mov.u32 %r7, bar; mapa.shared::cluster.u32 %r7, %r7, %r9;\n"
            f"@!%p0 {code} [%r6], [from], 128, [%r7];\n{WAIT}\nld.shared.b32 %r10, [%at]; st.global.b32 [%d1], %r10; {join}"
        )
        swapped = data[32:] + data[:32]
        expected = swapped if how is None else [combined(*how, old, value) for value in swapped]
        table.program(code, kernel(variables, body), [("words", "b32", data, "b32", expected)], ["grid 2", "block 32", "cluster 2"], f"{version} sm_90")


def reductions(table):
    """Reductions in bulk: all of multimem, some with a scope, and singles that keep subnormals."""
    source = random.Random(905)
    table.section("9.7.10.28.4.2 cp.reduce.async.bulk, 9.7.10.28.4.5 multimem.cp.reduce.async.bulk")

    def one(name, op, kind, suffix, old, new, needs):
        width = int(kind[-2:])
        bits = lambda values: sum(value << (width * n) for n, value in enumerate(values))
        split = lambda values: [bits(values) >> (32 * n) & 0xFFFFFFFF for n in range(32)]
        body = (
            "mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out; ld.global.b32 %r1, [%d0]; st.global.b32 [%d1], %r1;\n"
            "ld.global.b32 %r2, [%d0+128]; mov.u32 %at, from; mad.lo.u32 %at, %lane, 4, %at; st.shared.b32 [%at], %r2;\n"
            f"fence.proxy.async; bar.sync 0;\n{ONE}\n{name}.global.shared::cta.bulk_group.{suffix} [%out], [from], 128;\n{FINISH}"
        )
        result = [combined(op, kind, a, b) for a, b in zip(old, new)]
        table.program(f"{name}.{suffix}", kernel(".shared .align 16 .b8 from[128];", body), [("edges", "b32", split(old) + split(new), "b32", split(result))], ["block 32"], needs)

    for op, kind in REDUCTIONS:
        count = 1024 // int(kind[-2:])
        suffix = f"{op}.noftz.{kind}" if op == "add" and kind in ("f16", "bf16") else f"{op}.{kind}"
        one("multimem.cp.reduce.async.bulk", op, kind, suffix, elements(kind, count, source), elements(kind, count, source), "9.1 sm_90")
    for name in ("cp.reduce.async.bulk", "multimem.cp.reduce.async.bulk"):
        for scope, (op, kind) in zip(SCOPES, (("add", "u64"), ("max", "s32"), ("dec", "u32"), ("or", "b64"))):
            count = 1024 // int(kind[-2:])
            one(f"{name}.relaxed.{scope}", op, kind, f"{op}.{kind}", elements(kind, count, source), elements(kind, count, source), "9.3 sm_90")
        # Sums of subnormals, which an addition without .noftz keeps too.
        small = lambda: [source.choice([0, 0x80000000]) | source.getrandbits(23) for _ in range(32)]
        for sem, suffix, needs in (("", "add.noftz.f32", "9.4 sm_90"), (".relaxed.gpu", "add.noftz.f32", "9.4 sm_90"), ("", "add.f32", "9.1 sm_90")):
            one(f"{name}{sem}", "add", "f32", suffix, small(), small(), needs)


def layouts(table):
    """Layouts of mbarriers, and phases: nothing here reports, so that reports are zero and conditional phases go with primary ones."""
    table.section("9.7.15.16 mbarrier.init .layout, mbarrier.check_layout, mbarrier.test_wait and mbarrier.try_wait .phase_type")
    for layout, by_register in ((0, False), (1, False), (1, True), (None, False)):
        steps, expected = [], []

        def put(code, value):
            steps.append(f"{code} st.global.b32 [%out+{4 * len(expected)}], %r2;")
            expected.append(value)

        given = "" if layout is None else f".layout::v{layout}"
        steps.append(f"mov.u32 %r5, 2; mbarrier.init{given}.shared::cta.b64 [bar], {'%r5' if by_register else 2}; cvt.u64.u32 %d5, %r6; cvta.shared.u64 %d5, %d5;")
        flag = "selp.u32 %r2, 1, 0, %p1;"
        for asked in (0, 1):
            for place in (".shared::cta.b64 %p1, [bar];", ".b64 %p1, [%d5];"):
                put(f"mbarrier.check_layout.layout::v{asked}{place} {flag}", int(asked == (layout or 0)))
        for arrival in range(2):
            steps.append("mbarrier.arrive.shared::cta.b64 %d0, [bar];")
            over = arrival
            both = f"selp.u32 %r3, 2, 0, %p2; {flag} or.b32 %r2, %r2, %r3;"
            with_value = f"{both} cvt.u32.u8 %r3, %c0; shl.b32 %r3, %r3, 8; or.b32 %r2, %r2, %r3;"
            preset = "setp.eq.u32 %p2, 0, 1; mov.b32 {%c0, %c1, %c2, %c3}, %r4;" if over else ""
            # What a report says before the phase is over is open: it is asked for only after.
            for wait, phase in (("test_wait", "%d0"), ("try_wait", "%d0"), ("test_wait.parity", "0"), ("try_wait.parity", "0")):
                put(f"mbarrier.{wait}.phase_type::primary.shared::cta.b64 %p1, [bar], {phase}; {flag}", over)
                put(f"mbarrier.{wait}.phase_type::primary.relaxed.cluster.shared::cta.b64 %p1, [bar], {phase}; {flag}", over)
                if "parity" in wait:
                    put(f"mbarrier.{wait}.phase_type::conditional.shared::cta.b64 %p1, [bar], {phase}; {flag}", over)
                    put(f"mbarrier.{wait}.phase_type::conditional.acquire.cluster.b64 %p1, [%d5], {phase}; {flag}", over)
                if over:
                    put(f"{preset} mbarrier.{wait}.phase_type::primary.shared::cta.b64 %p1|%p2, [bar], {phase}; {both}", 1)
                    put(f"{preset} mbarrier.{wait}.phase_type::primary.acquire.cta.shared::cta.b64 %p1|%p2, %c0, [bar], {phase}; {with_value}", 1)
                    put(f"{preset} mbarrier.{wait}.phase_type::primary.b64 %p1, %c0, [%d5], {phase}; setp.eq.u32 %p2, 0, 1; {with_value}", 1)
        steps.append("mbarrier.try_wait.parity.phase_type::primary.shared::cta.b64 %p1|%p2, %c0, [bar], 0, 100; " + flag)
        put("", 1)
        # The layout is still there in the second phase.
        put(f"mbarrier.check_layout.layout::v1.shared::cta.b64 %p1, [bar]; {flag}", int(layout == 1))
        steps.append("mbarrier.inval.shared::cta.b64 [bar];")
        body = f".reg .b8 %c<4>; mov.u32 %r4, -1; mov.u32 %r6, bar;\n{ONE}\n" + "\n".join(steps) + "\nDONE:"
        name = f"layout {'unsaid' if layout is None else layout}{' of a register' if by_register else ''}"
        table.program(name, kernel(".shared .align 8 .b64 bar;", body), [("steps", "b32", [0], "b32", expected)], ["block 32"], "9.3 sm_90")
    # Counting: pending_count of what noComplete gives.
    body = f"{ONE}\nmov.u32 %r5, 5; mbarrier.init.layout::v0.shared::cta.b64 [bar], %r5;\n"
    for n, pending in enumerate((5, 3)):
        body += f"mbarrier.arrive.noComplete.shared::cta.b64 %d0, [bar], 2; mbarrier.pending_count.layout::v0.b64 %r1, %d0; st.global.b32 [%out+{4 * n}], %r1;\n"
    table.program("pending", kernel(".shared .align 8 .b64 bar;", body + "DONE:"), [("steps", "b32", [0], "b32", [5, 3])], ["block 32"], "9.3 sm_90")


def proxies(table):
    """Loads by the read-only proxy and of devices' memory, prefetches that touch, fences: the values are those of plain loads."""
    source = random.Random(906)
    table.section("9.7.10.8 ld .proxy::readonly, .mmio.acquire; 9.7.10.11 st .mmio.release; 9.7.10.16 prefetch .valid_addr; 9.7.15.4 fence")
    data = [source.randrange(1 << 32) for _ in range(256)]
    count = lambda suffix: int(suffix[1]) if suffix.startswith("v") else 1
    registers = lambda n: "%r10" if n == 1 else "{" + ", ".join(f"%r{10 + k}" for k in range(n)) + "}"
    for suffix in ("b32", "v2.u32", "v4.b32", "v8.b32"):
        n = count(suffix)
        for space in (".global", ""):
            for nc in ("", ".nc") if space else ("",):
                name = f"ld{space}{nc}.{suffix}.proxy::readonly"
                stores = " ".join(f"st.global.b32 [%d1+{4 * k}], %r{10 + k};" for k in range(n))
                body = f"mad.wide.u32 %d0, %lane, {4 * n}, %in; mad.wide.u32 %d1, %lane, {4 * n}, %out; {name} {registers(n)}, [%d0]; {stores}"
                table.program(name, kernel("", body), [("words", "b32", data[: 32 * n], "b32", data[: 32 * n])], ["block 32"], "9.4 sm_100" if n == 8 else "9.4 sm_90")
    for kind, size, extend in (("u8", 1, lambda v: v & 0xFF), ("s16", 2, lambda v: (v & 0xFFFF) - ((v & 0x8000) << 1))):
        body = f"mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out; ld.{kind}.proxy::readonly %r10, [%d0]; st.global.b32 [%d1], %r10;"
        table.program(f"ld.{kind}.proxy::readonly", kernel("", body), [("words", "b32", data[:32], "b32", [extend(v) & 0xFFFFFFFF for v in data[:32]])], ["block 32"], "9.4 sm_90")
    for space in (".global", ""):
        for order in (".mmio.acquire.sys", ".acquire.mmio.sys"):
            body = f"mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out; ld{order}{space}.b32 %r10, [%d0]; st.mmio.release.sys{space}.b32 [%d1], %r10;"
            table.program(f"ld{order}{space}, st.mmio.release", kernel("", body), [("words", "b32", data[:32], "b32", data[:32])], ["block 32"], "9.3 sm_75")
        body = f"mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out; prefetch{space}.L1::32B.valid_addr [%d0+4]; ld.global.b32 %r10, [%d0]; st.global.b32 [%d1], %r10;"
        table.program(f"prefetch{space}.valid_addr", kernel("", body), [("words", "b32", data[:33], "b32", data[:32])], ["block 32"], "9.4 sm_90")
    restricted = "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;"
    fabric = [f"fence.proxy.{way}.alias.{sem}.sys;" for way in ("generic::fabric", "fabric::generic", "fabric::fabric") for sem in ("acquire", "release")]
    for name, code, needs in (("reads of the cluster", restricted, "9.4 sm_90"), ("reads", "fence.alias.release.sync_restrict::read.sys;", "9.5 sm_90"), ("fabric", " ".join(fabric), "9.3 sm_100")):
        body = f"mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out; ld.global.b32 %r10, [%d0]; {code} st.global.b32 [%d1], %r10;"
        table.program(f"fence {name}", kernel("", body), [("words", "b32", data[:32], "b32", data[:32])], ["block 32"], needs)
    table.section("9.7.10.13 multimem.st.async, 9.7.15.9 multimem.red.async")
    for scope in ("gpu", "sys"):
        for space in (".global", ""):
            for kind, mask in (("b8", 0xFF), ("u16", 0xFFFF), ("s32", 0xFFFFFFFF)):
                body = f"mad.wide.u32 %d0, %lane, 4, %in; mad.wide.u32 %d1, %lane, 4, %out; ld.global.b32 %r10, [%d0]; multimem.st.async.release.{scope}{space}.{kind} [%d1], %r10;"
                table.program(f"multimem.st.async.release.{scope}{space}.{kind}", kernel("", body), [("words", "b32", data[:32], "b32", [v & mask for v in data[:32]])], ["block 32"], "9.3 sm_100")
            for kind in ("u32", "s32"):
                body = f"mad.wide.u32 %d0, %lane, 4, %in; and.b32 %r3, %lane, 3; mad.wide.u32 %d1, %r3, 4, %out; ld.global.b32 %r10, [%d0]; multimem.red.async.release.{scope}{space}.add.{kind} [%d1], %r10;"
                sums = [sum(data[k:32:4]) & 0xFFFFFFFF for k in range(4)]
                table.program(f"multimem.red.async.release.{scope}{space}.add.{kind}", kernel("", body), [("words", "b32", data[:32], "b32", sums)], ["block 32"], "9.3 sm_100")
            body = f"mad.wide.u32 %d0, %lane, 8, %in; ld.global.b64 %d2, [%d0]; multimem.red.async.release.{scope}{space}.add.u64 [%out], %d2;"
            wide = [source.getrandbits(64) for _ in range(32)]
            total = sum(wide) & (1 << 64) - 1
            table.program(f"multimem.red.async.release.{scope}{space}.add.u64", kernel("", body), [("words", "b64", wide, "b64", [total])], ["block 32"], "9.3 sm_100")


def memory_of_blocks(table):
    """Memory that a block has of its own: a driver without such memory says that there are 0 bytes of it, and all blocks are at one place."""
    table.section("10.34 %perctamemoryoffset, 10.35 %perctamemorysize, 11.4.10 .minperctamemory, 11.8.2 .language")
    body = (
        "mov.u32 %r1, %ctaid.x; mad.wide.u32 %d1, %r1, 16, %out; mov.u32 %r2, %perctamemorysize; mov.u64 %d2, %perctamemoryoffset; st.global.b32 [%d1], %r2;\n"
        "st.global.b64 [%d1+8], %d2;"
    )
    code = kernel("", body).replace(ABI, f'{ABI} .minperctamemory 64 .language "nvvm", 3')
    table.program("memory of blocks", code, [("none", "b32", [0], "b32", [0] * 16)], ["grid 4", "block 1"], "9.4 sm_80")


def tables():
    for name, *parts in (("async/scopes", inward, ignoring, outward, across, reductions), ("async/layouts", layouts), ("memory/proxies", proxies, memory_of_blocks)):
        table = Table(name, SCRIPT)
        for part in parts:
            part(table)
        yield table
