"""What sm_107f adds to copies and mbarriers (PTX ISA 9.4): reports of what is copied, conditional phases, what goes to the blocks of a cluster that a mask of
32 bits has, tensors whose address, sizes and strides are operands (sections 9.7.10.28.1.3, 9.7.10.28.4, 9.7.10.28.5 and 9.7.15.16).

Which element of 16 bytes is looked at for a negative zero the manual leaves open: all are negative zeros here, or none is.
"""

import random

import tensors
from copies import ONE, WAIT, kernel, words
from table import Table
from tensors import HEAD, NO_INTERPRETER, UNTOUCHED, Tensor, results, vector

SCRIPT = "reports.py"
NEEDS = "9.4 sm_107f"
# What is looked for: the width of an element in bits, and the element.
VALIDITY = {
    "per_16bytes::80000000": (32, 0x80000000),
    "per_16bytes::8000": (16, 0x8000),
    "per_16bytes::80": (8, 0x80),
    "per_16bytes::8": (4, 0x8),
    "per_element::ff": (8, 0xFF),
}
# In which of the copies something is reported, one phase each.
PHASES = (False, True, True, False, False)
UNITS = 4
FLAG = "selp.u32 %r2, 1, 0, %p1;"


def elements(data, width):
    whole = int.from_bytes(bytes(data), "little")
    return [whole >> at & ((1 << width) - 1) for at in range(0, 8 * len(data), width)]


def copied(name, reported, source):
    """Bytes of one copy."""
    width, pattern = VALIDITY[name]
    while True:
        data = [source.randrange(256) for _ in range(16 * UNITS)]
        if pattern not in elements(data, width):
            break
    if reported and name == "per_element::ff":
        data[source.randrange(len(data))] = 0xFF
    elif reported:
        unit = source.randrange(UNITS)
        data[16 * unit : 16 * unit + 16] = list((sum(pattern << at for at in range(0, 128, width))).to_bytes(16, "little"))
    return data


def phases(copy, reports, results_at):
    """Copies, one a phase, and what waits say after each; and what is expected of them."""
    text, expected, conditional = "", [], 0
    for phase, reported in enumerate(reports):
        at = lambda n: f"[%out+{results_at + 4 * (len(expected) + n)}]"
        parity = phase & 1
        text += f"mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {16 * UNITS};\n{copy(phase)}\n"
        text += f"WAIT{phase}:\nmbarrier.try_wait.parity.phase_type::primary.shared::cta.b64 %p3, [bar], {parity};\n@!%p3 bra WAIT{phase};\n"
        text += f"mbarrier.test_wait.parity.phase_type::primary.shared::cta.b64 %p1|%p2, %c0, [bar], {parity}; {FLAG} selp.u32 %r3, 2, 0, %p2; or.b32 %r2, %r2, %r3; cvt.u32.u8 %r3, %c0; shl.b32 %r3, %r3, 8; or.b32 %r2, %r2, %r3; st.global.b32 {at(0)}, %r2;\n"
        text += f"mbarrier.try_wait.phase_type::primary.shared::cta.b64 %p1|%p2, [bar], %d2; {FLAG} selp.u32 %r3, 2, 0, %p2; or.b32 %r2, %r2, %r3; st.global.b32 {at(1)}, %r2;\n"
        for n, wait in enumerate(("test_wait", "try_wait")):
            text += f"mbarrier.{wait}.parity.phase_type::conditional.shared::cta.b64 %p1, [bar], {conditional}; {FLAG} st.global.b32 {at(2 + n)}, %r2;\n"
        expected += [1 + 2 * reported] * 2 + [int(not reported)] * 2
        conditional ^= not reported
    return text, expected


def begin(layout=1):
    return f".reg .b8 %c<8>;\n{ONE}\nmbarrier.init.layout::v{layout}.shared::cta.b64 [bar], 1; fence.proxy.async;\n"


def bulk(table):
    table.section("9.7.10.28.4.1 cp.async.bulk, 9.7.15.16 mbarrier.test_wait, mbarrier.try_wait: reports")
    for number, name in enumerate(VALIDITY):
        for to, disabled in (("cta", False), ("cluster", False), ("cta", True)):
            source = random.Random(1000 + number)
            memory = sum((copied(name, reported, source) for reported in PHASES), [])
            report = "disabled" if disabled else f"validity::{name}"
            copy = lambda phase: f"cp.async.bulk.shared::{to}.global.mbarrier::complete_tx::bytes.mbarrier::report::{report} [land], [%d3+{16 * UNITS * phase}], {16 * UNITS}, [bar];"
            steps, expected = phases(copy, [reported and not disabled for reported in PHASES], 16 * UNITS)
            variables = ".shared .align 16 .b8 land[64]; .shared .align 8 .b64 bar;"
            body = f"{begin()}mov.b64 %d3, %in;\n{steps}" + "".join(f"ld.shared.b32 %r1, [land+{4 * n}]; st.global.b32 [%out+{4 * n}], %r1;\n" for n in range(4 * UNITS))
            land = words(memory[-16 * UNITS :])
            table.program(f"{report} {name if disabled else ''} {to}", kernel(variables, f"{body}DONE:"), [("bytes", "b32", words(memory), "b32", land + expected)], ["block 32"], NEEDS)


def boxes(table):
    """The same of tensors."""
    table.section("9.7.10.28.5.3 cp.async.bulk.tensor: reports")
    for name, kind in (("per_16bytes::80000000", "f32"), ("per_16bytes::8000", "f16"), ("per_16bytes::80", "u8"), ("per_element::ff", "u8")):
        source = random.Random(f"boxes {name} {kind}")
        width = tensors.WIDTHS[kind] // 8
        tensor = Tensor(kind, (16 * UNITS * len(PHASES) // width,), (16 * UNITS // width,))
        memory = sum((copied(name, reported, source) for reported in PHASES), [])
        tensor.bytes[:] = bytes(memory)
        copy = lambda phase: f"mov.u32 %r4, {16 * UNITS // width * phase}; cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes.mbarrier::report::validity::{name} [%r8], [%map, {{%r4}}], [bar];"
        steps, expected = phases(copy, PHASES, 0)
        text = f".shared .align 128 .b8 land[128]; .shared .align 8 .b64 bar;\n{HEAD}".replace("%p<3>", "%p<4>").replace("%lane, %tid.x;", "%lane, %tid.x; mov.u32 %r8, land;")
        text += f"{begin()}{steps}DONE:\nret;\n}}"
        table.program(f"{name} of {kind}", text, [("all", "b32", words(memory), "b32", expected)], ["block 32", tensor.line("in+0")], NEEDS, [NO_INTERPRETER])


RANKS, MASK = 4, 0b1011
JOIN = "barrier.cluster.arrive; barrier.cluster.wait;"


def barriers(table):
    """The first block operates on the mbarriers of those blocks that the mask has."""
    table.section("9.7.15.16 mbarrier.arrive, mbarrier.arrive_drop, mbarrier.expect_tx, mbarrier.complete_tx: .multicast::cluster::32b")
    own = "mbarrier.arrive.shared::cta.b64 %d2, [bar];"
    chosen = [MASK >> rank & 1 for rank in range(RANKS)]
    all_of = lambda *values: [[values[0][rank], *[value[rank] for value in values[1:]]] for rank in range(RANKS)]
    nobody, everybody, others = [0] * RANKS, [1] * RANKS, [1 - is_chosen for is_chosen in chosen]
    # What the first block does before each look at the phase with this parity, what each does then, and whether it is over.
    cases = [
        ("arrive", 1, [("mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 _, [bar], %r9;", "", 0, chosen)]),
        ("arrive of three", 3, [("mbarrier.arrive.shared::cluster.multicast::cluster::32b.b64 _, [bar], 3, %r9;", "", 0, chosen)]),
        ("arrive of a register", 5, [("mov.u32 %r10, 5; mbarrier.arrive.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 _, [bar+0], %r10, %r9;", "", 0, chosen)]),
        ("arrive_drop", 2, [("mbarrier.arrive_drop.shared::cluster.multicast::cluster::32b.b64 _, [bar], %r9;", own, 0, chosen), ("", own, 1, chosen)]),
        ("arrive_drop of two", 3, [("mbarrier.arrive_drop.shared::cluster.multicast::cluster::32b.b64 _, [bar], 2, %r9;", own, 0, chosen), ("", own, 0, nobody)]),  # phase 1 of those chosen is over, phase 0 of the others not
        ("expect_tx", 1, [("mbarrier.expect_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 [bar], 16, %r9;", own, 0, others), ("mbarrier.complete_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 [bar], 16, %r9;", "", 0, everybody)]),
        ("arrive.expect_tx", 1, [("mbarrier.arrive.expect_tx.shared::cluster.multicast::cluster::32b.b64 _, [bar], 32, %r9;", "", 0, nobody), ("mbarrier.complete_tx.shared::cluster.multicast::cluster::32b.b64 [bar], 32, %r9;", "", 0, chosen)]),
        ("arrive_drop.expect_tx", 2, [("mbarrier.arrive_drop.expect_tx.shared::cluster.multicast::cluster::32b.b64 _, [bar], 32, %r9; mbarrier.complete_tx.shared::cluster.multicast::cluster::32b.b64 [bar], 32, %r9;", own, 0, chosen), ("", own, 1, chosen)]),
        ("generic", 1, [("cvt.u64.u32 %d5, %r8; cvta.shared.u64 %d5, %d5; mbarrier.arrive.multicast::cluster::32b.b64 _, [%d5], %r9;", "", 0, chosen)]),
    ]  # fmt: skip
    for name, count, steps in cases:
        looks = all_of(*(over for *_, over in steps))
        body = f"mov.u32 %r8, bar; mov.u32 %r9, {MASK:#x}; mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p0, %lane, 0; setp.ne.u32 %p2, %r1, 0; or.pred %p2, %p2, %p0; mad.wide.u32 %d1, %r1, {4 * len(steps)}, %out;\n"
        body += f"mov.u32 %r5, {count}; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r5; fence.mbarrier_init.release.cluster; {JOIN}\n"
        for n, (first, each, parity, _) in enumerate(steps):
            body += f"@%p2 bra LATER{n};\n{first}\nLATER{n}:\n{JOIN}\n@%p0 bra OTHERS{n};\n{each}\nmbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], {parity}; {FLAG} st.global.b32 [%d1+{4 * n}], %r2;\nOTHERS{n}:\n{JOIN}\n"
        table.program(name, kernel(".shared .align 8 .b64 bar;", body), [("ranks", "b32", [0], "b32", sum(looks, []))], [f"grid {RANKS}", "block 32", f"cluster {RANKS}"], NEEDS)
    # All threads of a warp, each with another mask: 8 of the 32 arrive at each mbarrier.
    body = f"shr.u32 %r9, %lane, 3; mov.u32 %r10, 1; shl.b32 %r9, %r10, %r9; mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p0, %lane, 0; setp.ne.u32 %p2, %r1, 0; mad.wide.u32 %d1, %r1, 8, %out;\n"
    body += f"mov.u32 %r5, 8; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r5; fence.mbarrier_init.release.cluster; {JOIN}\n"
    for n, (guard, over) in enumerate((("setp.gt.u32 %p3, %lane, 27; or.pred %p3, %p3, %p2;", [1, 1, 1, 0]), ("setp.lt.u32 %p3, %lane, 28; or.pred %p3, %p3, %p2;", [1] * 4))):
        body += f"{guard}\n@!%p3 mbarrier.arrive.shared::cluster.multicast::cluster::32b.b64 _, [bar], %r9;\n{JOIN}\n@!%p0 mbarrier.test_wait.parity.shared::cta.b64 %p1, [bar], 0; {FLAG} @!%p0 st.global.b32 [%d1+{4 * n}], %r2;\n{JOIN}\n"
    table.program("each thread its own mask", kernel(".shared .align 8 .b64 bar;", body), [("ranks", "b32", [0], "b32", [1, 1, 1, 1, 1, 1, 0, 1])], [f"grid {RANKS}", "block 32", f"cluster {RANKS}"], NEEDS)


def spread(table):
    """Copies of the first block to those that the mask has."""
    table.section("9.7.10.28.4.1 cp.async.bulk, 9.7.10.28.5.3 cp.async.bulk.tensor: .multicast::cluster::32b")
    source = random.Random(1100)
    memory = [source.randrange(256) for _ in range(128)]
    tensor = Tensor("u32", (32,), (32,))
    tensor.bytes[:] = bytes(memory)
    hint = "createpolicy.fractional.L2::evict_last.b64 %d3;"
    to = ".shared::cluster.global.mbarrier::complete_tx::bytes"
    forms = [
        (f"cp.async.bulk{to}.multicast::cluster::32b [%r8], [%in], 128, [bar], %r9;", False),
        (f"cp.async.bulk.weak{to}.multicast::cluster::32b.L2::cache_hint [%r8], [%in], 128, [bar], %r9, %d3;", False),
        (f"cp.async.bulk.relaxed.sys{to}.multicast::cluster::32b.b128 [%r8], [%in], 128, [bar], {MASK:#x};", False),
        (f"mov.u32 %r4, 0; cp.async.bulk.tensor.1d{to}.multicast::cluster::32b [%r8], [%map, {{%r4}}], [bar], %r9;", True),
    ]
    for number, (code, is_tensor) in enumerate(forms):
        expected = sum((words(memory) if MASK >> rank & 1 else [UNTOUCHED * 0x01010101] * 32 for rank in range(RANKS)), [])
        body = f"mov.u32 %r9, {MASK:#x}; mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p0, %lane, 0; setp.ne.u32 %p2, %r1, 0; or.pred %p2, %p2, %p0; mad.lo.u32 %r2, %r1, 32, %lane; mad.wide.u32 %d1, %r2, 4, %out; {hint}\n"
        body += f"mov.u32 %r8, land; mad.lo.u32 %at, %lane, 4, %r8; mov.u32 %r7, {UNTOUCHED * 0x01010101:#x}; st.shared.b32 [%at], %r7; mov.u32 %r5, 1; @!%p0 mbarrier.init.shared::cta.b64 [bar], %r5; shr.u32 %r6, %r9, %r1; and.b32 %r6, %r6, 1; setp.eq.u32 %p3, %r6, 0;\n"
        body += f"@!%p0 mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], 128; fence.proxy.async; fence.mbarrier_init.release.cluster; {JOIN}\n@%p2 bra LATER;\n{code}\nLATER:\n@%p3 bra DONE;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\nDONE:\n{JOIN} ld.shared.b32 %r7, [%at]; st.global.b32 [%d1], %r7;"
        variables = ".shared .align 128 .b8 land[128]; .shared .align 8 .b64 bar;"
        shape = [f"grid {RANKS}", "block 32", f"cluster {RANKS}"]
        if is_tensor:
            text = f"{variables}\n{HEAD.replace('%p<3>', '%p<4>')}{body}\nret;\n}}"
            table.program(f"tensor {number}", text, [("bytes", "b32", words(memory), "b32", expected)], shape + [tensor.line("in+0")], NEEDS, [NO_INTERPRETER])
        else:
            table.program(f"bulk {number}", kernel(variables, body), [("bytes", "b32", words(memory), "b32", expected)], shape, NEEDS)


def replacement(tensor, address, small):
    """Code that makes the operands of an override, and the operands: sizes in the low bytes of registers whose rest is noise."""
    rank = len(tensor.sizes)
    code = f"mov.b64 %d4, {address};\n"
    if small:
        pairs = [tensor.sizes[at : at + 4] + (0,) * (4 - len(tensor.sizes[at : at + 4])) for at in range(0, rank, 4)]
        for n, sizes in enumerate(pairs):
            code += f"mov.b32 %r12, {sum(size << (8 * k) for k, size in enumerate(sizes)):#x}; mov.b32 {{%c{4 * n}, %c{4 * n + 1}, %c{4 * n + 2}, %c{4 * n + 3}}}, %r12;\n"
    else:
        code += "".join(f"mov.b16 %s{n}, {size | 0xA500:#x};\n" for n, size in enumerate(tensor.sizes))
    inside = ["%d4", vector(rank, 0, "c" if small else "s")]
    units = [stride >> 4 for stride in tensor.strides[1:]]
    if rank > 1:
        code += "".join(f"mov.b32 %l{n}, {unit & 0xFFFFFFFF:#x};\n" for n, unit in enumerate(units))
        code += f"mov.b16 %u0, {sum((unit >> 32) << (4 * n) for n, unit in enumerate(units)):#x};\n"
        inside += [vector(rank - 1, 0, "l"), "%u0"]
    attribute = "override::global_dim" if rank == 1 else "override::global_dim_stride"
    return code, ", ".join(inside), f".override::global_address.{attribute}"


REGISTERS = ".reg .b8 %c<8>; .reg .b16 %s<8>, %u<1>; .reg .b32 %l<4>;\n"


def overrides(table):
    """Maps of other tensors: of the same one elsewhere, and of one with other sizes and strides."""
    table.section("9.7.10.28.5 cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, cp.async.bulk.prefetch.tensor: .override")
    # The tensor, and one of other sizes that the map is of; the box reaches over the ends of the first.
    shapes = [
        ("u32", (10,), (40,), (16,)), ("f16", (24, 5), (8, 2), (16, 8)), ("u8", (48, 3, 2), (16, 9, 7), (32, 2, 3)), ("s32", (4, 3, 2, 3), (8, 8, 8, 8), (4, 2, 3, 2)),
        ("u16", (8, 3, 2, 2, 3), (16, 1, 2, 5, 1), (8, 2, 2, 1, 4)), ("u32", (255, 2), (4, 1), (32, 3)),
    ]  # fmt: skip
    for number, (kind, sizes, others, box) in enumerate(shapes):
        rank = len(sizes)
        tensor, other = Tensor(kind, sizes, box, gap=16 * number), Tensor(kind, others, box)
        size = len(list(tensor.tile((0,) * rank))) * tensor.width
        total = -(-size // 128) * 128
        given = [0] * 32
        for small in (False, True):
            for where in ("shared::cta", "shared::cluster"):
                land = [UNTOUCHED] * total
                tensor.load(land, 0, tensor.tile((0,) * rank))
                code, inside, override = replacement(tensor, "%d3", small)
                text = f".shared .align 1024 .b8 land[{total}]; .shared .align 8 .b64 bar;\n{HEAD}{REGISTERS}mov.u32 %r8, land; add.u64 %d3, %in, {4 * len(given)}; mov.u32 %r7, 0;\n{code}"
                text += f"mov.u32 %r0, {UNTOUCHED * 0x01010101:#x}; st.shared.b32 [%at], %r0; fence.proxy.async; bar.sync 0;\nsetp.ne.u32 %p0, %lane, 0; @%p0 bra DONE;\nmov.u32 %r0, 1; mbarrier.init.shared::cta.b64 [bar], %r0; fence.proxy.async;\nmbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {size};\n"
                zero = "{" + ", ".join(["%r7"] * rank) + "}"
                text += f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global{override} [%map, {inside}, {zero}];\n"
                text += f"cp.async.bulk.tensor.{rank}d.{where}.global.mbarrier::complete_tx::bytes{override} [%r8], [%map, {inside}, {zero}], [bar];\n"
                text += f"WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\nDONE:\nbar.sync 0; ld.shared.b32 %r0, [%at]; st.global.b32 [%d1], %r0;\nret;\n}}"
                result, expected = results(land, tensor)
                table.program(f"load {number} {'b8' if small else 'b16'} {where}", text, [("all", "b32", given + words(tensor.bytes), result, expected)], [f"block {total // 4}", other.line("in+0")], NEEDS, [NO_INTERPRETER])
        for op in (None, "add"):
            changed = Tensor(kind, sizes, box, gap=16 * number)
            filled = tensors.anything(kind, total // tensor.width, random.Random(f"{number} {op}"))
            land = [byte for value in filled for byte in value.to_bytes(tensor.width, "little")]
            before = words(changed.bytes)
            if op and kind in ("u8", "u16"):
                continue
            changed.store(land, changed.tile((0,) * rank), op)
            code, inside, override = replacement(changed, "%out", False)
            name = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{op}.bulk_group" if op else f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group"
            zero = "{" + ", ".join(["0"] * rank) + "}"
            text = f".shared .align 1024 .b8 land[{total}];\n{HEAD}{REGISTERS}ld.global.b32 %r0, [%d0+128]; st.shared.b32 [%at], %r0; fence.proxy.async; bar.sync 0;\nsetp.ne.u32 %p0, %lane, 0; @%p0 bra DONE; mov.u32 %r8, land;\n{code}"
            text += f"{name}{override} [%map, {inside}, {zero}], [%r8];\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:\nret;\n}}"
            table.program(f"{op or 'store'} {number}", text, [("all", "b32", given + words(land), "b32", words(changed.bytes), ("b32", before))], [f"block {total // 4}", other.line("in+0")], NEEDS, [NO_INTERPRETER])
        # The address alone: coordinates are as ever.
        start = tuple(1 if n == rank - 1 else 0 for n in range(rank))
        land = [UNTOUCHED] * total
        tensor.load(land, 0, tensor.tile(start))
        text = f".shared .align 1024 .b8 land[{total}]; .shared .align 8 .b64 bar;\n{HEAD}mov.u32 %r8, land; add.u64 %d3, %in, {4 * len(given)};\n"
        text += f"mov.u32 %r0, {UNTOUCHED * 0x01010101:#x}; st.shared.b32 [%at], %r0; fence.proxy.async; bar.sync 0;\nsetp.ne.u32 %p0, %lane, 0; @%p0 bra DONE;\nmov.u32 %r0, 1; mbarrier.init.shared::cta.b64 [bar], %r0; fence.proxy.async;\nmbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], {size};\n"
        text += "".join(f"mov.u32 %r{n}, {x}; " for n, x in enumerate(start)) + f"\ncp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes.override::global_address [%r8], [%map, %d3, {vector(rank)}], [bar];\n"
        text += "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\nDONE:\nbar.sync 0; ld.shared.b32 %r0, [%at]; st.global.b32 [%d1], %r0;\nret;\n}"
        result, expected = results(land, tensor)
        table.program(f"address {number}", text, [("all", "b32", given + words(tensor.bytes), result, expected)], [f"block {total // 4}", tensor.line("in+0")], NEEDS, [NO_INTERPRETER])


def tables():
    for name, *parts in (("async/reports", bulk, boxes), ("async/multicast32", barriers, spread), ("tensors/overrides", overrides)):
        table = Table(name, SCRIPT)
        for part in parts:
            part(table)
        yield table
