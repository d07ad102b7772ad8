"""Waiting for a phase that is over (section 9.7.13.15.16 of the PTX manual), and blocks that take the place of others (9.7.13.17, 9.7.13.18)."""

from copies import ONE, kernel
from table import Table


def waits(table):
    """`mbarrier.try_wait`: true at once of a phase that is over, false at last of one that nobody ends."""
    table.section("9.7.13.15.16 mbarrier.try_wait")
    for ordering, needs in (("", "sm_90"), (".acquire.cta", "sm_90"), (".acquire.cluster", "sm_90"), (".relaxed.cta", "sm_90"), (".relaxed.cluster", "sm_90")):
        steps, expected = ["mov.u32 %r5, 1; mbarrier.init.shared::cta.b64 [bar], %r5;"], []

        def ask(instruction, over):
            steps.append(f"mbarrier.try_wait{instruction}; selp.u32 %r2, 1, 0, %p1; st.global.b32 [%out+{4 * len(expected)}], %r2;")
            expected.append(over)

        # Of a new barrier the phase before the first one, with parity 1, counts as over.
        ask(f".parity{ordering}.shared::cta.b64 %p1, [bar], 1", 1)
        ask(f".parity{ordering}.shared::cta.b64 %p1, [bar], 0, 16", 0)
        steps.append("mbarrier.arrive.shared::cta.b64 %d0, [bar];")
        ask(f"{ordering}.shared::cta.b64 %p1, [bar], %d0", 1)
        ask(f"{ordering}.b64 %p1, [%d3], %d0, 1000", 1)
        ask(f".parity{ordering}.shared::cta.b64 %p1, [bar], 0", 1)
        ask(f".parity{ordering}.shared::cta.b64 %p1, [bar], 1, 0", 0)
        steps.append("mbarrier.arrive.shared::cta.b64 %d0, [bar];")
        ask(f".parity{ordering}.b64 %p1, [%d3], 1", 1)
        ask(f"{ordering}.shared::cta.b64 %p1, [bar], %d0, 0x989680", 1)
        body = f"{ONE}\nmov.u64 %d3, bar; cvta.shared.u64 %d3, %d3;\n" + "\n".join(steps) + "\nDONE:"
        table.program(f"try_wait{ordering}", kernel(".shared .align 8 .b64 bar;", body), [("steps", "b32", [0], "b32", expected)], ["block 32"], needs)


def cancelled(table):
    """A block asks for the place of one that has not started, does its work, and asks again. Which block does what is open;
    that each is done once is not."""
    table.section("9.7.13.17 clusterlaunchcontrol.try_cancel, 9.7.13.18 clusterlaunchcontrol.query_cancel")
    variables = ".shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;"
    ask = (
        "mbarrier.arrive.expect_tx.shared::cta.b64 %d2, [bar], 16;\n"
        "clusterlaunchcontrol.try_cancel.async{space}.mbarrier::complete_tx::bytes.b128 [{answer}], [{bar}];\n"
        "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], %r9;\n@!%p3 bra WAIT;\nxor.b32 %r9, %r9, 1;\n"
        "ld.shared.b128 %q, [answer]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q;\n"
    )
    generic = "mov.u64 %d3, answer; cvta.shared.u64 %d3, %d3; mov.u64 %d4, bar; cvta.shared.u64 %d4, %d4;\n"
    init = f".reg .b128 %q;\n{ONE}\nmov.u32 %r5, 1; mbarrier.init.shared::cta.b64 [bar], %r5; fence.proxy.async; mov.u32 %r9, 0;\n{generic}"
    shared, pointed = {"space": ".shared::cta", "answer": "answer", "bar": "bar"}, {"space": "", "answer": "%d3", "bar": "%d4"}
    for name, names in (("shared", shared), ("generic", pointed)):
        # The only cluster cannot be cancelled.
        body = init + ask.format(**names) + "selp.u32 %r2, 1, 0, %p1; st.global.b32 [%out], %r2;\nDONE:"
        table.program(f"alone, {name}", kernel(variables, body), [("all", "b32", [0], "b32", [0])], ["block 32"], "sm_100")
    for name, query in (
        ("vector", "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %q;"),
        ("each", " ".join(f"clusterlaunchcontrol.query_cancel.get_first_ctaid::{axis}.b32.b128 %r{n}, %q;" for n, axis in ((1, "x"), (2, "y"), (3, "z")))),
    ):
        body = f"{init}mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;\n"
        body += "WORK:\nmad.lo.u32 %r4, %r3, 3, %r2; mad.lo.u32 %r4, %r4, 5, %r1; mad.wide.u32 %d1, %r4, 4, %out; add.u32 %r4, %r4, 1; red.global.add.u32 [%d1], %r4;\n"
        body += ask.format(**shared) + f"@!%p1 bra DONE;\n{query}\nfence.proxy.async; bra WORK;\nDONE:"
        results = [n + 1 for n in range(5 * 3 * 2)]
        table.program(f"all work, {name}", kernel(variables, body), [("all", "b32", [0], "b32", results)], ["grid 5 3 2", "block 32"], "sm_100")
    # One block asks for its whole cluster: the answer, the first block of another cluster, comes to all blocks at the same place.
    join = "barrier.cluster.arrive; barrier.cluster.wait;"
    work = "mad.lo.u32 %r4, %r3, 2, %r2; mad.lo.u32 %r4, %r4, 6, %r1; mad.wide.u32 %d1, %r4, 4, %out; add.u32 %r4, %r4, 1; red.global.add.u32 [%d1], %r4;"
    others = ".reg .b32 %x, %y; mov.u32 %x, %cluster_ctaid.x; mov.u32 %y, %cluster_ctaid.y; mov.u32 %r8, %cluster_ctarank; setp.eq.u32 %p2, %r8, 1;"
    request = ask.format(**shared).replace(".b128 [", ".multicast::cluster::all.b128 [", 1).replace("clusterlaunchcontrol.try", "@%p2 clusterlaunchcontrol.try", 1)
    for name, grid, cluster in (("one cluster", (2, 1, 1), (2, 1, 1)), ("six clusters", (6, 2, 2), (2, 2, 1)), ("rows", (6, 2, 1), (3, 1, 1))):
        body = f"{init}{others}\nmov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;\n{join}\n"
        body += f"WORK:\n{work}\n{request}@!%p1 bra DONE;\n"
        body += "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %q;\nadd.u32 %r1, %r1, %x; add.u32 %r2, %r2, %y;\n"
        body += f"{join}\nfence.proxy.async; bra WORK;\nDONE:"
        blocks = [x + 6 * (y + 2 * z) for x in range(grid[0]) for y in range(grid[1]) for z in range(grid[2])]
        results = [n + 1 if n in blocks else 0 for n in range(24)]
        shape = ["grid {} {} {}".format(*grid), "block 32", "cluster {} {} {}".format(*cluster)]
        table.program(f"multicast, {name}", kernel(variables, body), [("all", "b32", [0], "b32", results)], shape, "sm_100f|sm_110f|sm_120f")


def tables():
    for name, part in (("waits", waits), ("cancelled", cancelled)):
        table = Table(f"async/{name}", "launches.py")
        part(table)
        yield table
