//! Checks of memory where the blocks of a cluster reach each other and where threads meet at mbarriers: kernels with one
//! mistake each and without it, compiled by ptxas. What must be found follows from the PTX manual's memory consistency
//! model. Needs ptxas in the folder that `ORIOLE_ORACLE` names.

use crate::ptxas;

use oriole_device::{Launch, Memory};
use oriole_sim::{CheckReport, Checks, FindingKind, Options, Simulator};

/// Clusters of two blocks of 64 threads: `%r0` the thread, `%r1` the rank, `%r2` the rank of the other block, `%r3` and
/// `%r4` the thread's word of `buf` here and there, `%r5` that of its neighbour in the other warp, `%d0` its word of `out`.
const PROLOGUE: &str = "mov.u32 %r0,%tid.x;mov.u32 %r1,%cluster_ctarank;xor.b32 %r2,%r1,1;\
     mov.u32 %r6,buf;shl.b32 %r7,%r0,2;add.u32 %r3,%r6,%r7;mapa.shared::cluster.u32 %r4,%r3,%r2;\
     xor.b32 %r7,%r7,128;add.u32 %r5,%r6,%r7;setp.eq.u32 %p0,%r0,0;setp.eq.u32 %p1,%r1,0;setp.lt.u32 %p2,%r0,32;\
     mov.u32 %r8,%ctaid.x;mad.lo.u32 %r8,%r8,64,%r0;ld.param.u64 %d0,[out];mul.wide.u32 %d1,%r8,4;add.u64 %d0,%d0,%d1;";
const CLUSTER_BARRIER: &str = "barrier.cluster.arrive.aligned;barrier.cluster.wait.aligned;";
/// The mbarrier expects the threads of one warp.
const INIT: &str = "@%p0 mbarrier.init.shared.b64 [bar],32;bar.sync 0;";
const ARRIVE: &str = "mbarrier.arrive.shared.b64 %d2,[bar];";
const WAIT: &str = "W: mbarrier.try_wait.parity.shared.b64 %p7,[bar],0;@!%p7 bra W;";

/// What the checks find in two blocks, if ptxas is there.
fn check(body: &str) -> Option<CheckReport> {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out){{\n\
         .reg .b32 %r<32>;.reg .b64 %d<8>;.reg .pred %p<8>;\n\
         .shared .align 8 .b64 bar;.shared .align 16 .b8 buf[256];\n{PROLOGUE}\n{body}\nret;}}\n"
    );
    let cubin = ptxas::compile("sm_90", &text)?;
    let simulator = Simulator::new(&cubin, Options::default()).expect("a module for a simulated target");
    let mut memory = Memory::new();
    let params = memory.allocate("the result", 1024).to_le_bytes().to_vec();
    let launch = Launch { grid: [2, 1, 1], cluster: [2, 1, 1], block: [64, 1, 1], params, ..Launch::default() };
    let checks = Checks { race: true, init: true, global_init: true, bounds: true, sync: true };
    let (report, result) = simulator.launch_checked("k", &launch, &mut memory, checks, &[]);
    result.unwrap_or_else(|error| panic!("{error}\n{body}"));
    Some(report)
}

/// The kinds of what is found, each once.
fn kinds(body: &str) -> Option<Vec<FindingKind>> {
    let mut kinds: Vec<FindingKind> = check(body)?.findings.iter().map(|finding| finding.kind).collect();
    kinds.dedup();
    Some(kinds)
}

/// A body, and what must be found in it.
fn expect(cases: &[(&str, String, &[FindingKind])]) {
    for (name, body, finds) in cases {
        let Some(found) = kinds(body) else { return };
        assert_eq!(found, *finds, "{name}\n{body}");
    }
}

/// Each block, and so the one with rank 0 too, is written by the other, or by one only.
#[test]
fn the_barrier_of_the_cluster_orders_what_blocks_do_to_each_other() {
    let (write, read) = ("st.shared::cluster.u32 [%r4],%r0;", "ld.shared.u32 %r9,[%r3];st.global.u32 [%d0],%r9;");
    let start = "st.shared.u32 [%r3],%r1;";
    let race: &[FindingKind] = &[FindingKind::Race];
    let mut cases = vec![
        ("both, ordered", format!("{start}{CLUSTER_BARRIER}{write}{CLUSTER_BARRIER}{read}"), &[][..]),
        ("both, not ordered", format!("{start}{CLUSTER_BARRIER}{write}{read}{CLUSTER_BARRIER}"), race),
        ("a barrier of the block is not enough", format!("{start}{CLUSTER_BARRIER}{write}bar.sync 0;{read}"), race),
    ];
    for (name, sign) in [("rank 0 writes rank 1", ""), ("rank 1 writes rank 0", "!")] {
        let write = format!("@{sign}%p1 {write}");
        cases.push((name, format!("{start}{CLUSTER_BARRIER}{write}{read}{CLUSTER_BARRIER}"), race));
        cases.push((name, format!("{start}{CLUSTER_BARRIER}{write}{CLUSTER_BARRIER}{read}"), &[]));
    }
    expect(&cases);
}

/// A race names both blocks.
#[test]
fn a_race_between_blocks_names_both() {
    let body = format!("{CLUSTER_BARRIER}@!%p1 st.shared::cluster.u32 [%r4],%r0;@%p1 st.shared.u32 [%r3],%r1;");
    let Some(report) = check(&body) else { return };
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    let mut blocks = vec![finding.later.block, finding.earlier.as_ref().expect("a race has two sides").block];
    blocks.sort_unstable();
    assert_eq!(blocks, [[0, 0, 0], [1, 0, 0]]);
}

#[test]
fn what_another_block_has_not_written_is_not_written() {
    let read = "ld.shared::cluster.u32 %r9,[%r4];st.global.u32 [%d0],%r9;";
    let mut cases = Vec::new();
    for (name, sign) in [("only rank 0 writes its own", ""), ("only rank 1 writes its own", "!")] {
        let write = format!("@{sign}%p1 st.shared.u32 [%r3],%r1;{CLUSTER_BARRIER}");
        let other = if sign.is_empty() { "!" } else { "" };
        // The block that has not written reads what the other has, and the other way round.
        let right = format!("{write}@{sign}%p1 bra E;{read}E: {CLUSTER_BARRIER}");
        let wrong = format!("{write}@{other}%p1 bra E;{read}E: {CLUSTER_BARRIER}");
        cases.push((name, right, &[][..]));
        cases.push((name, wrong, &[FindingKind::Uninitialised][..]));
    }
    expect(&cases);
}

/// The first warp writes and arrives, the second waits and reads.
#[test]
fn an_mbarrier_orders_what_came_before_an_arrival_for_those_that_wait() {
    let (write, read) = ("st.shared.u32 [%r3],%r0;", "ld.shared.u32 %r9,[%r5];st.global.u32 [%d0],%r9;");
    let race: &[FindingKind] = &[FindingKind::Race];
    let split = |first: &str, second: &str| format!("{INIT}@!%p2 bra S;{first}bra E;S: {second}E:");
    expect(&[
        ("arrival and wait", split(&format!("{write}{ARRIVE}"), &format!("{WAIT}{read}")), &[]),
        ("arrival before the write", split(&format!("{ARRIVE}{write}"), &format!("{WAIT}{read}")), race),
        ("write before the wait", split(&format!("{write}{ARRIVE}"), &format!("st.shared.u32 [%r5],%r0;{WAIT}")), race),
    ]);
}

/// The first warp of each block writes to the other block; what it arrives at says whom that tells of it.
#[test]
fn an_mbarrier_orders_for_those_that_wait_at_the_same_one() {
    let write = "st.shared::cluster.u32 [%r4],%r0;mov.u32 %r9,bar;";
    let own = "mbarrier.arrive.shared.b64 %d2,[bar];";
    let theirs = "mapa.shared::cluster.u32 %r9,%r9,%r2;\
                  mbarrier.arrive.release.cluster.shared::cluster.b64 _,[%r9];";
    let wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p7,[bar],0;@!%p7 bra W;\
                ld.shared.u32 %r9,[%r5];st.global.u32 [%d0],%r9;";
    let body = |arrive: &str| {
        let start = format!("{INIT}st.shared.u32 [%r3],%r1;{CLUSTER_BARRIER}");
        format!("{start}@!%p2 bra S;{write}{arrive}bra E;S: {wait}E: {CLUSTER_BARRIER}")
    };
    expect(&[
        ("the mbarrier of the block that is written", body(theirs), &[]),
        ("another at the same offset", body(own), &[FindingKind::Race]),
    ]);
}

/// A copy to `buf`, which `bar` counts besides arrivals of the thread that starts it and of one in the other warp.
const COPY: &str = "@%p0 mbarrier.init.shared.b64 [bar],2;bar.sync 0;setp.eq.u32 %p3,%r0,32;\
     @%p3 mbarrier.arrive.shared.b64 %d2,[bar];@!%p2 bra E;@!%p0 bra C;mov.u32 %r9,bar;\
     mbarrier.arrive.expect_tx.shared.b64 %d2,[bar],256;\
     cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6],[%d3+512],256,[%r9];C:";

/// Who waits for a phase that is over before the copy's finds it over at once.
#[test]
fn a_wait_for_an_earlier_phase_does_not_order_the_copy() {
    let body = |parity: u32| {
        format!(
            "ld.param.u64 %d3,[out];{COPY}W: mbarrier.try_wait.parity.shared.b64 %p7,[bar],{parity};@!%p7 bra W;\
             ld.shared.u32 %r9,[%r3];st.global.u32 [%d0],%r9;E:"
        )
    };
    expect(&[("its own phase", body(0), &[]), ("the phase before", body(1), &[FindingKind::Race])]);
}

/// The asynchronous proxy reads what threads have written.
#[test]
fn copies_need_a_fence_behind_the_writes_of_threads() {
    let copy = "@!%p0 bra C;ld.param.u64 %d3,[out];cp.async.bulk.global.shared::cta.bulk_group [%d3],[%r6],256;\
                cp.async.bulk.commit_group;cp.async.bulk.wait_group 0;C:";
    let body =
        |before: &str, behind: &str| format!("@!%p1 bra E;st.shared.u32 [%r3],%r0;{before}bar.sync 0;{behind}{copy}E:");
    let fence = "fence.proxy.async;";
    expect(&[
        ("no fence", body("", ""), &[FindingKind::MissingFence]),
        ("a fence of each writer", body(fence, ""), &[]),
        ("a fence of the thread that copies", body("", fence), &[]),
    ]);
}

/// An mbarrier that is made by one thread is none to others before they have met.
#[test]
fn making_an_mbarrier_is_ordered_before_its_use() {
    let init = "@%p0 mbarrier.init.shared.b64 [bar],64;";
    expect(&[
        ("behind a barrier", format!("{init}bar.sync 0;{ARRIVE}"), &[]),
        ("at once", format!("{init}{ARRIVE}"), &[FindingKind::Race]),
    ]);
}
