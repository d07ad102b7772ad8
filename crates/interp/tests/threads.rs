//! Divergence, reconvergence, member masks, barriers: what threads see of each other.

use crate::common::{fault, run};
use oriole_device::FaultKind;

#[test]
fn threads_meet_behind_a_branch() {
    // Three ways; the fourth exits. Behind them the living threads are together again.
    let body = "and.b32 %r1, %lane, 3; setp.eq.u32 %p1, %r1, 0; @%p1 bra A; setp.eq.u32 %p2, %r1, 1; @%p2 bra B;
        setp.eq.u32 %p3, %r1, 2; @%p3 exit; mov.u32 %r2, 300; bra M;
        A: mov.u32 %r2, 100; bra M;
        B: mov.u32 %r2, 200;
        M: activemask.b32 %r3; add.u32 %r3, %r3, %r2; st.global.u32 [%at], %r3; ret;";
    let out = run("", body, 32).out;
    let alive = (0..32).filter(|lane| lane % 4 != 2).fold(0u32, |mask, lane| mask | 1 << lane);
    for (lane, &word) in out.iter().enumerate() {
        let expected = [100, 200, 0, 300][lane % 4];
        assert_eq!(word, if lane % 4 == 2 { 0 } else { alive.wrapping_add(expected) }, "lane {lane}");
    }
}

#[test]
fn a_loop_is_left_together() {
    // Lane n goes round n + 1 times; within the loop the remaining lanes are together.
    let body = "mov.u32 %r1, 0; mov.u32 %r4, 0;
        L: activemask.b32 %r2; popc.b32 %r3, %r2; add.u32 %r4, %r4, %r3; add.u32 %r1, %r1, 1;
        setp.le.u32 %p1, %r1, %lane; @%p1 bra L;
        vote.sync.ballot.b32 %r5, 1, -1; xor.b32 %r4, %r4, %r5; st.global.u32 [%at], %r4; ret;";
    for (lane, &word) in run("", body, 32).out.iter().enumerate() {
        let together: u32 = (0..=lane as u32).map(|round| 32 - round).sum();
        assert_eq!(word, together ^ u32::MAX, "lane {lane}");
    }
}

#[test]
fn calls_and_early_returns_meet_behind_the_call() {
    let head = ".func (.reg .b32 %o) f(.reg .b32 %i) { .reg .pred %p; .reg .b32 %t; mov.u32 %o, 7;
        setp.lt.u32 %p, %i, 5; @%p ret; and.b32 %t, %i, 1; setp.eq.u32 %p, %t, 0; @%p bra E; mov.u32 %o, 9; ret;
        E: mov.u32 %o, 8; ret; }";
    let body = "setp.lt.u32 %p1, %lane, 30; mov.u32 %r1, 1; @%p1 call (%r1), f, (%lane); activemask.b32 %r2;
        setp.eq.u32 %p2, %r2, -1; selp.u32 %r2, 100, 0, %p2; add.u32 %r1, %r1, %r2; st.global.u32 [%at], %r1; ret;";
    let expected = |lane: u32| match lane {
        0..5 => 107,
        30.. => 101,
        odd if odd % 2 == 1 => 109,
        _ => 108,
    };
    assert_eq!(run(head, body, 32).out, (0..32).map(expected).collect::<Vec<u32>>());
}

#[test]
fn a_shuffle_waits_for_its_members_wherever_they_are() {
    // The two halves of the warp stand at different instructions.
    let body = "setp.lt.u32 %p1, %lane, 16; @%p1 bra A;
        add.u32 %r1, %lane, 1000; shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; bra M;
        A: add.u32 %r1, %lane, 2000; shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
        M: st.global.u32 [%at], %r2; ret;";
    let expected = |lane: u32| (lane ^ 16) + if lane < 16 { 1000 } else { 2000 };
    assert_eq!(run("", body, 32).out, (0..32).map(expected).collect::<Vec<u32>>());
}

#[test]
fn each_mask_is_its_own_exchange() {
    // Masks in registers: four groups of eight lanes in one instruction; members may have exited.
    let body = "shr.u32 %r1, %lane, 3; shl.b32 %r1, %r1, 3; mov.u32 %r2, 255; shl.b32 %r2, %r2, %r1;
        setp.eq.u32 %p1, %lane, 9; @%p1 exit;
        redux.sync.add.u32 %r3, %lane, %r2; st.global.u32 [%at], %r3; ret;";
    let expected = |lane: u32| match lane {
        9 => 0,
        _ => (lane / 8 * 8..lane / 8 * 8 + 8).filter(|&other| other != 9).sum(),
    };
    assert_eq!(run("", body, 32).out, (0..32).map(expected).collect::<Vec<u32>>());
}

#[test]
fn who_waits_for_an_exit_gets_on() {
    // Lane 0 waits for all; the others exit, later and by another way.
    let body = "setp.eq.u32 %p1, %lane, 0; @%p1 bra A; mov.u32 %r1, 0;
        L: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 1000; @%p2 bra L; exit;
        A: vote.sync.ballot.b32 %r2, 1, -1; st.global.u32 [%at], %r2; ret;";
    assert_eq!(run("", body, 32).out[0], 1);
}

#[test]
fn a_lock_within_a_warp_makes_progress() {
    // The threads of a warp take a spin lock one after the other: the one that has it stands behind the
    // loop, where the others are to meet it.
    let head = ".global .u32 lock; .global .u32 count;";
    let body = "L: atom.global.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra L;
        ld.global.u32 %r2, [count]; add.u32 %r3, %r2, 1; st.global.u32 [count], %r3; membar.gl;
        atom.global.exch.b32 %r4, [lock], 0; st.global.u32 [%at], %r2; ret;";
    let mut out = run(head, body, 64).out;
    out.sort_unstable();
    assert_eq!(out, (0..64).collect::<Vec<u32>>());
}

#[test]
fn a_flag_within_a_warp_is_seen() {
    // Lane 0 waits for what lane 1 does behind the meeting point.
    let body = "setp.ne.u32 %p1, %lane, 0; @%p1 bra M;
        L: ld.volatile.global.u32 %r1, [%out+4]; setp.eq.u32 %p2, %r1, 0; @%p2 bra L;
        M: add.u32 %r2, %lane, 5; st.volatile.global.u32 [%at], %r2; ret;";
    assert_eq!(run("", body, 2).out, [5, 6]);
}

#[test]
fn blocks_that_wait_for_each_other_get_on() {
    use crate::common::{module, try_run};
    use oriole_device::Launch;
    // Each block waits for the next one's flag.
    let body = "mov.u32 %r1, %ctaid.x; add.u32 %r2, %r1, 1; mov.u32 %r3, %nctaid.x; mad.wide.u32 %at, %r1, 4, %out;
        setp.eq.u32 %p1, %r2, %r3; @%p1 bra S;
        L: ld.acquire.gpu.global.u32 %r4, [%at+4]; setp.eq.u32 %p2, %r4, 0; @%p2 bra L; add.u32 %r2, %r4, 1;
        S: st.release.gpu.global.u32 [%at], %r2; ret;";
    let launch = Launch { grid: [20, 1, 1], ..Launch::default() };
    let out = try_run(&module("", body), 20, launch, Default::default()).expect("no fault").out;
    assert_eq!(out, (0..20).map(|block| 39 - block).collect::<Vec<u32>>());
}

#[test]
fn barriers_count_threads_and_judge() {
    // Warps 0 and 1 exchange over barrier 1; all vote at barrier 0. 80 threads: the last warp is half.
    let head = ".shared .u32 box[64];";
    let body = "setp.ge.u32 %p1, %t, 64; @%p1 bra V; mov.u64 %rd1, box; mad.wide.u32 %rd2, %t, 4, %rd1;
        mul.lo.u32 %r1, %t, 3; st.shared.u32 [%rd2], %r1; barrier.sync 1, 64; xor.b32 %r2, %t, 32;
        mad.wide.u32 %rd2, %r2, 4, %rd1; ld.shared.u32 %r3, [%rd2];
        V: setp.lt.u32 %p2, %t, 70; bar.red.popc.u32 %r4, 0, %p2; bar.red.or.pred %p3, 0, %p1;
        bar.red.and.pred %p4, 0, %p2; selp.u32 %r5, 1000, 0, %p3; selp.u32 %r6, 10000, 0, %p4;
        add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6; @!%p1 mov.u32 %r4, %r3; st.global.u32 [%at], %r4; ret;";
    let expected = |tid: u32| if tid < 64 { (tid ^ 32) * 3 } else { 70 + 1000 };
    assert_eq!(run(head, body, 80).out, (0..80).map(expected).collect::<Vec<u32>>());
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let head = ".shared .u32 box[32];";
    let body = "mov.u64 %rd1, box; mad.wide.u32 %rd2, %lane, 4, %rd1; setp.ge.u32 %p1, %t, 32; @%p1 bra C;
        add.u32 %r1, %lane, 50; st.shared.u32 [%rd2], %r1; bar.arrive 3, 64; ret;
        C: bar.sync 3, 64; ld.shared.u32 %r2, [%rd2]; st.global.u32 [%at], %r2; ret;";
    assert_eq!(run(head, body, 64).out[32..], (50..82).collect::<Vec<u32>>());
}

#[test]
fn what_never_comes_is_a_deadlock() {
    let stuck = fault("", "setp.lt.u32 %p1, %t, 32; @%p1 bra E; bar.sync 2, 128; E: ret;", 64);
    let FaultKind::Deadlock(waiting) = &stuck.kind else { panic!("{stuck}") };
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].threads, (32..64).collect::<Vec<u32>>());
    assert!(waiting[0].at.contains("barrier 2, where 32 of 128"), "{stuck}");
    let mask = fault("", "setp.lt.u32 %p1, %lane, 4; @%p1 bra E; bar.warp.sync -1; E: bar.sync 0; ret;", 32);
    assert!(matches!(mask.kind, FaultKind::Deadlock(_)), "{mask}");
}

#[test]
fn endless_loops_and_broken_rules_are_faults() {
    let endless = fault("", "L: bra L;", 1);
    assert_eq!(endless.kind, FaultKind::InstructionLimit(100_000));
    let rule = |body| match fault("", body, 32).kind {
        FaultKind::Misuse(rule) => rule,
        other => panic!("{other}"),
    };
    assert!(rule("shfl.sync.idx.b32 %r1, %lane, 0, 31, 1; ret;").contains("lane 1"));
    assert!(rule("mov.u32 %r1, 33; bar.sync 0, %r1; ret;").contains("33 threads"));
    assert!(rule("mov.u32 %r1, 16; bar.sync %r1; ret;").contains("barrier 16"));
    assert!(rule("T: .branchtargets A; brx.idx %lane, T; A: ret;").contains("branch 1 of a table of 1"));
}
