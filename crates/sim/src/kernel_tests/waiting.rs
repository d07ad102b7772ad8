//! Barriers of blocks and mbarriers, and waits without an end.

use super::{PROLOGUE, Run};
use oriole_device::FaultKind;
use oriole_isa::Arch;

#[test]
fn shared_memory_passes_values_across_a_barrier() {
    let text = format!(
        "{PROLOGUE}
        SHF.L.U32 R4, R0, 0x2, RZ
        STS [R4], R0
        BAR.SYNC.DEFER_BLOCKING 0x0
        IADD3 R5, -R4, 0xfc, RZ
        LDS R6, [R5]
        STG.E [R2.64], R6
        EXIT"
    );
    let expected: Vec<u32> = (0..64).rev().collect();
    assert_eq!(Run { block: 64, ..Run::default() }.words(&text), expected);
}

#[test]
fn a_barrier_that_cannot_be_complete_is_a_deadlock() {
    let text = "
        S2R R0, SR_TID.X
        ISETP.GE.U32.AND P0, PT, R0, 0x20, PT
        @P0 BRA `(other)
        BAR.SYNC.DEFER_BLOCKING 0x1
        EXIT
        other:
        BAR.SYNC.DEFER_BLOCKING 0x2
        EXIT";
    let fault = Run { block: 64, ..Run::default() }.fault(text);
    let FaultKind::Deadlock(waiting) = fault.kind else { panic!("{:?}", fault.kind) };
    let threads: Vec<_> = waiting.iter().map(|group| (group.threads.len(), group.threads[0])).collect();
    assert_eq!(threads, [(32, 0), (32, 32)]);
    assert!(waiting[1].at.contains("barrier 2"), "{}", waiting[1].at);
}

/// Makes an mbarrier of one arrival at shared address 0x100, as ptxas does.
const MBARRIER: &str = "
    UMOV UR6, 0x100
    UMOV UR4, 0x1ffffe
    UMOV UR5, 0x7ffff800
    SYNCS.EXCH.64 URZ, [UR6], UR4
";

#[test]
fn diverged_threads_that_all_wait_for_mbarriers_are_a_deadlock() {
    let text = format!(
        "{MBARRIER}
        S2R R0, SR_TID.X
        ISETP.LT.U32.AND P1, PT, R0, 0x10, PT
        @P1 BRA `(other)
        first:
        SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR6], RZ
        @!P0 BRA `(first)
        EXIT
        other:
        SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR6], RZ
        @!P0 BRA `(other)
        EXIT"
    );
    let fault = Run { arch: Arch::Sm90, ..Run::default() }.fault(&text);
    let FaultKind::Deadlock(waiting) = fault.kind else { panic!("{:?}", fault.kind) };
    let mut threads: Vec<u32> = waiting.iter().flat_map(|group| group.threads.clone()).collect();
    threads.sort_unstable();
    assert_eq!((waiting.len(), threads), (2, (0..32).collect()));
}

#[test]
fn one_half_of_a_warp_lets_the_other_pass_its_mbarrier() {
    let text = format!(
        "{MBARRIER}
        S2R R0, SR_TID.X
        MOV R2, c[0x0][0x210]
        MOV R3, c[0x0][0x214]
        IMAD.WIDE.U32 R2, R0, 0x4, R2
        ISETP.NE.U32.AND P1, PT, R0, RZ, PT
        @P1 BRA `(wait)
        SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR6], RZ
        wait:
        SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR6], RZ
        @!P0 BRA `(wait)
        STG.E [R2.64], R0
        EXIT"
    );
    let words = Run { arch: Arch::Sm90, ..Run::default() }.words(&text);
    assert_eq!(words[..32], (0..32).collect::<Vec<u32>>());
}

/// A mbarrier of 32 arrivals, at which the warp arrives once for all its threads, and then with a count in a uniform register.
#[test]
fn a_warp_arrives_for_its_threads_on_sm_107() {
    let text = "
        UMOV UR6, 0x100
        UMOV UR4, 0x1fffc0
        UMOV UR5, 0x7fff0000
        USYNCS.EXCH.64 URZ, [UR6], UR4
        S2R R0, SR_TID.X
        LDC.64 R2, c[0x0][0x380]
        LDCU.64 UR8, c[0x0][0x358]
        IMAD.WIDE.U32 R2, R0, 0x4, R2
        UMOV UR7, 0x0
        USYNCS.PHASECHK.TRANS64 UP0, [UR6], UR7
        PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x8
        USYNCS.ARRIVE.TRANS64.ACT0 URZ, [UR6], UR7
        USYNCS.PHASECHK.TRANS64.TRYWAIT UP1, [UR6], UR7
        UMOV UR7, 0x20
        USYNCS.ARRIVE.TRANS64.ART0 URZ, [UR6], UR7
        UMOV UR7, 0x80000000
        USYNCS.PHASECHK.TRANS64.TRYWAIT UP2, [UR6], UR7
        PLOP3.LUT P1, PT, PT, PT, UP1, 0x80, 0x8
        PLOP3.LUT P2, PT, PT, PT, UP2, 0x80, 0x8
        SEL R1, RZ, 0x1, !P0
        @P1 IADD3 R1, PT, PT, R1, 0x2, RZ
        @P2 IADD3 R1, PT, PT, R1, 0x4, RZ
        STG.E desc[UR8][R2.64], R1
        EXIT";
    let words = Run { arch: Arch::Sm107, ..Run::default() }.words(text);
    // Not over before; over when the warp has arrived; the second phase too.
    assert_eq!(words[..32], [6; 32]);
}

/// Mbarriers of 3 and of 1 arrivals: threads 29 to 31 arrive at the first, thread 31 at the second, of which it gets the state; no thread
/// arrives where the guard lets none through.
#[test]
fn threads_arrive_under_a_guard_of_their_own_on_sm_107() {
    let text = "
        UMOV UR6, 0x100
        UMOV UR4, 0x1ffffa
        UMOV UR5, 0x7fffe800
        USYNCS.EXCH.64 URZ, [UR6], UR4
        UMOV UR4, 0x1ffffe
        UMOV UR5, 0x7ffff800
        USYNCS.EXCH.64 URZ, [UR6+0x8], UR4
        S2R R0, SR_TID.X
        LDC.64 R2, c[0x0][0x380]
        LDCU.64 UR8, c[0x0][0x358]
        IMAD.WIDE.U32 R2, R0, 0x4, R2
        ISETP.GT.U32.AND P0, PT, R0, 0x1c, PT
        ISETP.GT.U32.AND P1, PT, R0, 0x1e, PT
        ISETP.GT.U32.AND P2, PT, R0, 0x1f, PT
        UMOV UR7, 0x0
        @P2 SYNCSU.ARRIVE.TRANS64.A1T0 URZ, [UR6+0x8]
        USYNCS.PHASECHK.TRANS64 UP0, [UR6+0x8], UR7
        @P0 SYNCSU.ARRIVE.TRANS64.A1T0 URZ, [UR6]
        USYNCS.PHASECHK.TRANS64 UP1, [UR6], UR7
        @P1 SYNCSU.ARRIVE.TRANS64.A1T0 UR10, [UR6+0x8]
        USYNCS.PHASECHK.TRANS64 UP2, [UR6+0x8], UR7
        PLOP3.LUT P3, PT, PT, PT, UP0, 0x80, 0x8
        PLOP3.LUT P4, PT, PT, PT, UP1, 0x80, 0x8
        PLOP3.LUT P5, PT, PT, PT, UP2, 0x80, 0x8
        MOV R1, UR11
        @P3 IADD3 R1, PT, PT, R1, 0x1, RZ
        @P4 IADD3 R1, PT, PT, R1, 0x2, RZ
        @P5 IADD3 R1, PT, PT, R1, 0x4, RZ
        STG.E desc[UR8][R2.64], R1
        EXIT";
    let words = Run { arch: Arch::Sm107, ..Run::default() }.words(text);
    // The second one is not over without an arrival; both are with theirs. The state is the upper word that was there before.
    assert_eq!(words[..32], [0x7fff_f800 + 6; 32]);
}
