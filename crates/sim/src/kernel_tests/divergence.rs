//! Threads of a warp that part and join again.

use super::{PROLOGUE, Run};

#[test]
fn an_if_runs_both_sides_and_joins() {
    let text = format!(
        "{PROLOGUE}
        ISETP.LT.U32.AND P0, PT, R0, 0xa, PT
        BSSY B0, `(join)
        @P0 BRA `(small)
        MOV R4, 0x64
        BRA `(end)
        small:
        MOV R4, 0xc8
        end:
        BSYNC B0
        join:
        VOTE.ANY R5, PT, PT
        ISETP.EQ.U32.AND P1, PT, R5, -0x1, PT
        @P1 IADD3 R4, R4, 0x1, RZ
        STG.E [R2.64], R4
        EXIT"
    );
    let words = Run::default().words(&text);
    let expected: Vec<u32> = (0..32).map(|thread| if thread < 10 { 201 } else { 101 }).collect();
    assert_eq!(words[..32], expected);
}

#[test]
fn divergent_loops_count_for_each_thread() {
    let text = format!(
        "{PROLOGUE}
        MOV R4, RZ
        MOV R5, RZ
        BSSY B0, `(join)
        loop:
        IADD3 R4, R4, R5, RZ
        IADD3 R5, R5, 0x1, RZ
        ISETP.LE.U32.AND P0, PT, R5, R0, PT
        @P0 BRA `(loop)
        BSYNC B0
        join:
        STG.E [R2.64], R4
        EXIT"
    );
    let expected: Vec<u32> = (0..32).map(|thread: u32| (0..=thread).sum()).collect();
    assert_eq!(Run::default().words(&text)[..32], expected);
}

#[test]
fn a_lock_taken_by_diverged_threads_is_passed_on() {
    // Each thread takes the lock (word 40), adds one to word 41 without an atomic, and lets go.
    let text = format!(
        "{PROLOGUE}
        spin:
        MOV R6, RZ
        MOV R7, 0x1
        ATOMG.E.CAS.STRONG.GPU PT, R8, [R10.64+0xa0], R6, R7
        ISETP.NE.U32.AND P0, PT, R8, RZ, PT
        @P0 BRA `(spin)
        LDG.E.STRONG.GPU R9, [R10.64+0xa4]
        IADD3 R9, R9, 0x1, RZ
        STG.E.STRONG.GPU [R10.64+0xa4], R9
        STG.E.STRONG.GPU [R10.64+0xa0], RZ
        EXIT"
    );
    for workers in [1, 3] {
        let run = Run { grid: 3, block: 64, workers, ..Run::default() };
        assert_eq!(run.words(&text)[40..42], [0, 3 * 64]);
    }
}

#[test]
fn threads_at_another_synchronisation_are_waited_for() {
    // The odd lanes wait for all when the even ones meet each other first.
    let text = format!(
        "{PROLOGUE}
        LOP3.LUT R6, R0, 0x1, RZ, 0xc0, !PT
        ISETP.EQ.U32.AND P0, PT, R6, RZ, PT
        @P0 BRA `(even)
        BRA `(join)
        even:
        MOV R9, 0x55555555
        WARPSYNC R9
        join:
        WARPSYNC.ALL
        VOTE.ANY R5, PT, PT
        STG.E [R2.64], R5
        EXIT"
    );
    assert_eq!(Run::default().words(&text)[..32], [u32::MAX; 32]);
}

#[test]
fn a_loop_serves_the_values_of_a_register_one_after_the_other() {
    // What ptxas makes of an operand that differs between threads and must be uniform.
    let text = "
        S2R R0, SR_LANEID
        LOP3.LUT R1, R0, 0x3, RZ, 0xc0, !PT
        MOV R2, c[0x0][0x160]
        MOV R3, c[0x0][0x164]
        IMAD.WIDE R2, R0, 0x4, R2
        PLOP3.LUT P1, PT, PT, PT, PT, 0x80, 0x0
        round:
        PLOP3.LUT P0, PT, PT, PT, PT, 0x80, 0x0
        @P1 R2UR P0, UR4, R1
        @!P0 MOV R5, UR4
        @P1 PLOP3.LUT P1, PT, P0, PT, PT, 0x80, 0x0
        @P1 BRA.U.ANY `(round)
        STG.E [R2.64], R5
        EXIT";
    let words = Run::default().words(text);
    let expected: Vec<u32> = (0..32).map(|lane| lane & 3).collect();
    assert_eq!(words[..32], expected);
}

/// What ptxas makes of `@p bra` over a body with a convergence barrier of its own: the first branch is for
/// the case that nobody enters it. Whoever took it alone would miss the `BSYNC` and be apart at the SHFL.
#[test]
fn a_unanimous_branch_is_taken_by_all_lanes_or_none() {
    let text = |bound: u32| {
        format!(
            "
        S2R R0, SR_LANEID
        MOV R2, c[0x0][0x160]
        MOV R3, c[0x0][0x164]
        IMAD.WIDE R2, R0, 0x4, R2
        ISETP.GE.AND P0, PT, R0, {bound:#x}, PT
        MOV R5, 0x7
        @P0 BRA.U `(end)
        MOV R5, 0x8
        BSSY B0, `(end)
        @P0 BRA `(join)
        MOV R5, 0x9
        join:
        BSYNC B0
        end:
        SHFL.IDX PT, R5, R5, 0x1f, 0x1f
        STG.E [R2.64], R5
        EXIT"
        )
    };
    for (bound, expected) in [(0, 7), (4, 8), (32, 9)] {
        assert_eq!(Run::default().words(&text(bound))[..32], [expected; 32], "below {bound}");
    }
}
