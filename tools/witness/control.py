"""PTX ISA 9.0, chapter 10: special registers whose value the launch defines; 9.7.12: control flow; 9.7.13.1: barriers; 9.7.11: the stack."""

from bits import mask, random_of
from table import Table

SCRIPT = "control.py"
HEAD = """.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .b64 %i, %o, %q; .reg .b32 %r, %t, %x, %y; .reg .pred %p;
ld.param.u64 %i, [in]; ld.param.u64 %o, [out];
"""


def registers():
    t = Table("control/registers", SCRIPT)
    t.section("10 %tid, %ntid, %ctaid, %nctaid, %laneid, %lanemask_eq, %lanemask_le, %lanemask_lt, %lanemask_ge, %lanemask_gt, %dynamic_smem_size")
    grid, block = (1, 2, 2), (5, 4, 2)
    axes = "xyz"
    names = [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in axes]
    names += ["laneid", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt"]
    threads = block[0] * block[1] * block[2]
    code = HEAD + "mov.u32 %t, %tid.z; mov.u32 %x, %ntid.y; mov.u32 %y, %tid.y; mad.lo.u32 %t, %t, %x, %y; mov.u32 %x, %ntid.x; mov.u32 %y, %tid.x; mad.lo.u32 %t, %t, %x, %y;\n"
    code += "mov.u32 %r, %ctaid.z; mov.u32 %x, %nctaid.y; mov.u32 %y, %ctaid.y; mad.lo.u32 %r, %r, %x, %y; mov.u32 %x, %nctaid.x; mov.u32 %y, %ctaid.x; mad.lo.u32 %r, %r, %x, %y;\n"
    code += f"mad.lo.u32 %t, %r, {threads}, %t; mad.wide.u32 %o, %t, {4 * (len(names) + 1)}, %o;\n"
    for at, name in enumerate(names + ["dynamic_smem_size"]):
        code += f"mov.u32 %x, %{name}; st.global.u32 [%o+{4 * at}], %x;\n"
    out = []
    for bz in range(grid[2]):
        for by in range(grid[1]):
            for bx in range(grid[0]):
                for z in range(block[2]):
                    for y in range(block[1]):
                        for x in range(block[0]):
                            lane = (x + block[0] * (y + block[1] * z)) % 32
                            below = (1 << lane) - 1
                            out += [x, y, z, *block, bx, by, bz, *grid, lane, 1 << lane, below | 1 << lane, below, mask(32) & ~below, mask(32) & ~below & ~(1 << lane), 48]
    t.program("of_a_launch", code + "ret;\n}", [("grid 1 2 2", "b32", [0], "u32", out)], shape=["grid 1 2 2", "block 5 4 2", "shared 48"])
    t.section("10 %clusterid, %nclusterid, %cluster_ctaid, %cluster_nctaid, %cluster_ctarank, %cluster_nctarank, %is_explicit_cluster")
    names = [f"{name}.{axis}" for name in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid") for axis in axes] + ["cluster_ctarank", "cluster_nctarank"]
    grid, cluster = (4, 2, 1), (2, 2, 1)
    code = HEAD + "mov.u32 %t, %ctaid.y; mov.u32 %x, %nctaid.x; mov.u32 %y, %ctaid.x; mad.lo.u32 %t, %t, %x, %y;\n"
    code += f"mad.wide.u32 %o, %t, {4 * (len(names) + 1)}, %o;\n"
    for at, name in enumerate(names):
        code += f"mov.u32 %x, %{name}; st.global.u32 [%o+{4 * at}], %x;\n"
    code += f"mov.pred %p, %is_explicit_cluster; selp.b32 %x, 1, 0, %p; st.global.u32 [%o+{4 * len(names)}], %x;\n"
    out = []
    for y in range(grid[1]):
        for x in range(grid[0]):
            inside = (x % cluster[0], y % cluster[1])
            out += [x // cluster[0], y // cluster[1], 0, 2, 1, 1, *inside, 0, *cluster, inside[0] + cluster[0] * inside[1], 4, 1]
    t.program("of_a_cluster", code + "ret;\n}", [("grid 4 2", "b32", [0], "u32", out)], shape=["grid 4 2", "block 1", "cluster 2 2"], needs="sm_90")
    return t


PLACE = "mov.u32 %t, %tid.x; mad.wide.u32 %i, %t, 4, %i; mad.wide.u32 %o, %t, 4, %o; ld.global.u32 %x, [%i];\n"


def flow():
    t = Table("control/flow", SCRIPT)
    random = random_of("flow")
    t.section("9.7.12.3 bra, 9.7.12.6 ret, 9.7.12.7 exit")
    values = [0, 1, 2, 7, 27, 97, 31, 40] * 4
    code = HEAD + PLACE + """mov.u32 %r, 0;
top: setp.le.u32 %p, %x, 1; @%p bra done;
add.u32 %r, %r, 1; and.b32 %y, %x, 1; setp.eq.u32 %p, %y, 0; @%p bra even;
mad.lo.u32 %x, %x, 3, 1; bra.uni top;
even: shr.u32 %x, %x, 1; bra top;
done: setp.gt.u32 %p, %r, 100; @%p exit;
st.global.u32 [%o], %r; ret;
}"""

    def steps(x):
        count = 0
        while x > 1:
            x, count = (3 * x + 1 if x % 2 else x // 2), count + 1
        return 0 if count > 100 else count

    t.program("steps_to_one", code, [("collatz", "u32", values, "u32", [steps(x) for x in values])], shape=["block 32"])
    t.section("9.7.12.4 brx.idx")
    code = HEAD + PLACE + """and.b32 %y, %x, 3;
cases: .branchtargets a, b, c, a;
brx.idx %y, cases;
a: add.u32 %x, %x, 100; bra done;
b: mul.lo.u32 %x, %x, 3; bra done;
c: not.b32 %x, %x;
done: st.global.u32 [%o], %x; ret;
}"""
    values = [random.getrandbits(20) for _ in range(32)]
    chosen = lambda x: (x + 100, 3 * x, ~x, x + 100)[x & 3]
    t.program("jump_table", code, [("by the low bits", "u32", values, "u32", [chosen(x) for x in values])], shape=["block 32"])
    t.section("9.7.12.5 call, 9.7.12.6 ret")
    functions = """.func (.reg .u32 r) triple(.reg .u32 a) { mul.lo.u32 r, a, 3; ret; }
.func (.param .u32 r) power(.param .u32 b, .param .u32 e)
{
.reg .u32 x, y, z; .reg .pred p;
ld.param.u32 x, [b]; ld.param.u32 y, [e]; setp.eq.u32 p, y, 0; mov.u32 z, 1; @p bra out;
{ .param .u32 s, u, v; sub.u32 y, y, 1; st.param.u32 [u], x; st.param.u32 [v], y; call (s), power, (u, v); ld.param.u32 z, [s]; }
mul.lo.u32 z, z, x;
out: st.param.u32 [r], z; ret;
}
.func (.param .u32 r) sum(.param .align 8 .b8 a[16])
{ .reg .u32 x, y; .reg .u64 z; ld.param.u32 x, [a]; ld.param.u64 z, [a+8]; cvt.u32.u64 y, z; add.u32 x, x, y; st.param.u32 [r], x; ret; }
.func (.param .u32 r) next(.param .u32 a) { .reg .u32 x; ld.param.u32 x, [a]; add.u32 x, x, 1; st.param.u32 [r], x; ret; }
.func (.param .u32 r) twice(.param .u32 a) { .reg .u32 x; ld.param.u32 x, [a]; shl.b32 x, x, 1; st.param.u32 [r], x; ret; }
.global .u64 table[2] = {next, twice};
"""
    code = functions + HEAD + PLACE + """{ call (%y), triple, (%x); st.global.u32 [%o], %y; }
{ .param .u32 s, u, v; and.b32 %y, %x, 7; st.param.u32 [u], %x; st.param.u32 [v], %y; call (s), power, (u, v); ld.param.u32 %y, [s]; st.global.u32 [%o+128], %y; }
{ .param .u32 s; .param .align 8 .b8 u[16]; .reg .u64 z; cvt.u64.u32 z, %t; st.param.u32 [u], %x; st.param.u64 [u+8], z; call (s), sum, (u); ld.param.u32 %y, [s]; st.global.u32 [%o+256], %y; }
{ .param .u32 s, u; .reg .u64 f; proto: .callprototype (.param .u32 _) _ (.param .u32 _);
and.b32 %y, %x, 1; mov.u64 f, table; mad.wide.u32 f, %y, 8, f; ld.global.u64 f, [f]; st.param.u32 [u], %x; call (s), f, (u), proto; ld.param.u32 %y, [s]; st.global.u32 [%o+384], %y; }
ret;
}"""
    values = [random.getrandbits(9) for _ in range(32)]
    out = [3 * x for x in values] + [x ** (x & 7) for x in values] + [x + lane for lane, x in enumerate(values)] + [2 * x if x & 1 else x + 1 for x in values]
    t.program("calls", code, [("direct, recursive, with an array, by a table", "u32", values, "u32", out)], shape=["block 32"])
    t.section("9.7.11 stacksave, stackrestore, alloca")
    code = HEAD + PLACE + """{ .reg .u64 s, a, b; .reg .u32 n; stacksave.u64 s; alloca.u64 a, 16; st.local.u32 [a], %x; st.local.u32 [a+4], %t;
alloca.u64 b, 32; not.b32 %y, %x; st.local.u32 [b], %y; st.local.u32 [b+28], %y; ld.local.u32 %x, [a]; ld.local.u32 %r, [a+4]; ld.local.u32 %y, [b]; stackrestore.u64 s;
xor.b32 %x, %x, %y; add.u32 %x, %x, %r; st.global.u32 [%o], %x; }
ret;
}"""
    t.program("stack", code, [("two arrays", "u32", values, "u32", [mask(32) + lane for lane in range(32)])], shape=["block 32"])
    return t


def barriers():
    t = Table("control/barriers", SCRIPT)
    t.section("9.7.13.1 bar, 9.7.13.1 barrier, 9.7.13.2 bar.warp")
    random = random_of("barriers")
    values = [random.getrandbits(32) for _ in range(96)]
    code = HEAD + PLACE + """.shared .align 4 .b32 cells[96]; .reg .b64 %s; .reg .b32 %z;
mov.u64 %s, cells; mad.wide.u32 %q, %t, 4, %s; st.shared.u32 [%q], %x; bar.sync 0;
add.u32 %y, %t, 37; rem.u32 %y, %y, 96; mad.wide.u32 %q, %y, 4, %s; ld.shared.u32 %y, [%q]; st.global.u32 [%o], %y; barrier.sync 1, 96;
setp.gt.s32 %p, %x, 0; bar.red.popc.u32 %r, 0, %p; st.global.u32 [%o+384], %r;
setp.ne.u32 %p, %t, 40; bar.red.and.pred %p, 0, %p; selp.b32 %r, 1, 0, %p; barrier.red.or.pred %p, 2, 96, %p; selp.b32 %y, 1, 0, %p; shl.b32 %y, %y, 1; or.b32 %r, %r, %y; st.global.u32 [%o+768], %r;
setp.lt.u32 %p, %t, 32; @%p bar.arrive 3, 96; @%p bra end; bar.sync 3, 96; end: bar.warp.sync -1;
ret;
}"""
    positive = sum(1 for x in values if 0 < x < 1 << 31)
    out = [values[(lane + 37) % 96] for lane in range(96)] + [positive] * 96 + [0] * 96
    t.program("exchange", code, [("three warps", "u32", values, "u32", out)], shape=["block 96"])
    # The same barriers by their other names; warp 0 only arrives, so that it cannot read what the others write.
    code = HEAD + PLACE + """.shared .align 4 .b32 cells[96]; .reg .b64 %s;
mov.u64 %s, cells; mad.wide.u32 %q, %t, 4, %s; st.shared.u32 [%q], %x; bar.cta.sync 0; xor.b32 %y, %t, 32; mad.wide.u32 %q, %y, 4, %s;
setp.lt.u32 %p, %t, 32; @%p bra first; setp.ge.u32 %p, %t, 64; @%p mad.wide.u32 %q, %t, 4, %s; ld.shared.u32 %y, [%q]; barrier.cta.sync 1, 96; barrier.sync 2, 96; barrier.cta.sync 4, 96; st.global.u32 [%o], %y; bra last;
first: ld.shared.u32 %y, [%q]; st.global.u32 [%o], %y; barrier.cta.arrive 1, 96; barrier.arrive 2, 96; bar.cta.arrive 4, 96;
last: setp.gt.s32 %p, %x, 0; bar.cta.red.popc.u32 %r, 0, %p; barrier.cta.red.popc.u32 %x, 0, !%p; shl.b32 %x, %x, 8; or.b32 %r, %r, %x; st.global.u32 [%o+384], %r;
ret;
}"""
    out = [values[lane ^ 32] if lane < 64 else values[lane] for lane in range(96)] + [positive | (96 - positive) << 8] * 96
    t.program("other_names", code, [("three warps", "u32", values, "u32", out)], shape=["block 96"])
    return t


def hints():
    """Instructions that order, wait or advise: they have no result, and what stands around them keeps its own."""
    t = Table("control/hints", SCRIPT)
    random = random_of("hints")
    values = [random.getrandbits(32) for _ in range(32)]
    keep = lambda name, needs, text: t.program(
        name, HEAD + PLACE + "st.global.u32 [%o], %x;\n" + text + "\nld.global.u32 %y, [%o]; add.u32 %y, %y, %x; st.global.u32 [%o], %y; ret;\n}",
        [("twice the input", "u32", values, "u32", [2 * x for x in values])], shape=["block 32"], needs=needs)
    t.section("9.7.13.3 membar, 9.7.13.3 fence, 9.7.19.1 nanosleep, 9.7.19.2 pmevent, 9.7.9.15 prefetch, 9.7.9.15 prefetchu")
    keep("order", None, "membar.cta; membar.gl; membar.sys; fence.sc.cta; fence.acq_rel.gpu; fence.sc.sys; fence.acq_rel.sys; nanosleep.u32 20; nanosleep.u32 0; pmevent 3;")
    keep("prefetch", None, "prefetch.global.L1 [%i]; prefetch.global.L2 [%i]; prefetch.L1 [%i]; prefetchu.L1 [%i];")
    keep("prefetch_evict", "sm_80", "prefetch.global.L2::evict_last [%i]; prefetch.global.L2::evict_normal [%i];")
    keep("order_in_clusters", "sm_90", "fence.acq_rel.cluster; fence.sc.cluster; fence.proxy.async; fence.proxy.alias; fence.mbarrier_init.release.cluster;")
    t.section("9.7.9.16 applypriority, 9.7.9.18 createpolicy, 9.7.13.9 griddepcontrol, 9.7.19.4 setmaxnreg")
    keep("priority", "sm_80", "applypriority.global.L2::evict_normal [%i], 128;")
    keep("policy", "sm_80", """{ .reg .b64 f, r, g; .reg .b32 v; createpolicy.fractional.L2::evict_last.b64 f, 0.5; createpolicy.range.global.L2::evict_first.L2::evict_unchanged.b64 r, [%i], 64, 128;
ld.global.L2::cache_hint.u32 v, [%o], f; st.global.L2::cache_hint.u32 [%o], v, r; createpolicy.fractional.L2::evict_unchanged.b64 g, 1.0; atom.global.add.L2::cache_hint.u32 v, [%o], 0, g; }""")
    keep("dependents", "sm_90", "griddepcontrol.launch_dependents; griddepcontrol.wait;")
    t.section("9.7.9.10 ldu")
    code = HEAD + "{ .reg .u16 h; .reg .u64 w; ldu.global.u32 %x, [%i]; st.global.u32 [%o], %x; ldu.global.u8 h, [%i+4]; st.global.u16 [%o+4], h; ldu.global.s8 h, [%i+4]; st.global.u16 [%o+6], h; ldu.global.v2.u32 {%x, %y}, [%i+8]; st.global.v2.u32 [%o+8], {%y, %x}; ldu.global.u64 w, [%i+8]; st.global.u64 [%o+16], w; }\nret;\n}"
    t.program("ldu", code, [("words", "u32", [5, 0x8F, 1, 2], "u32", [5, 0xFF8F008F, 2, 1, 1, 2])])
    return t


def tables():
    return [registers(), flow(), barriers(), hints()]
