//! Convergence barriers, on code written by hand: what the simulator deadlocks on, or what is one word away from it.

use crate::assembled::{EXIT, Line, code, report, report_on};
use oriole_check::{Kind, Report};
use oriole_cubin::Target;
use oriole_isa::Arch;

/// Address and reason of what is found about convergence barriers; line `inner` and those after it are a function.
fn found_in(lines: &[Line], inner: Option<u32>) -> Vec<(u64, String)> {
    findings_of(report(lines, inner))
}

fn findings_of(report: Report) -> Vec<(u64, String)> {
    let findings = report.findings;
    assert!(findings.iter().all(|finding| finding.kind == Kind::Convergence), "{findings:?}");
    findings.iter().map(|finding| (finding.later.address, finding.missing.to_string())).collect()
}

fn found(lines: &[Line]) -> Vec<(u64, String)> {
    assert_eq!(code(lines, Arch::Sm80).len(), 16 * lines.len());
    found_in(lines, None)
}

fn one(address: u64, reason: &str) -> Vec<(u64, String)> {
    vec![(address, reason.to_owned())]
}

#[test]
fn a_wait_needs_its_bssy_on_every_path() {
    let lines =
        |target| [("@P0 BRA ->2", "5"), ("BSSY B0, ->5", "1"), ("@P1 BRA ->4", "5"), ("NOP", "1"), (target, "5"), EXIT];
    assert_eq!(found(&lines("BSYNC B0")), one(0x40, "B0 is not set on some path to here"));
    assert_eq!(found(&lines("BSYNC B1")), one(0x40, "B1 is not set on any path to here"));
    assert_eq!(found(&lines("NOP")), []);
}

/// The loop's header is the join of branches outside and inside: set once, waited at in every trip.
#[test]
fn a_join_that_is_passed_twice_is_found() {
    let lines = |back| {
        [("BSSY B0, ->4", "1"), ("@P0 BRA ->3", "5"), ("NOP", "1"), ("BSYNC B0", "5"), ("NOP", "1"), (back, "5"), EXIT]
    };
    assert_eq!(found(&lines("@P1 BRA ->3")), one(0x30, "B0 is not set on some path to here"));
    assert_eq!(found(&lines("@P1 BRA ->4")), []);
    assert_eq!(found(&lines("@P1 BRA ->0")), []);
}

#[test]
fn a_barrier_is_not_set_again_before_the_wait() {
    let lines = |back| [("BSSY B0, ->4", "1"), ("NOP", "1"), (back, "5"), ("BSYNC B0", "5"), EXIT];
    assert_eq!(found(&lines("@P0 BRA ->1")), []);
    assert_eq!(found(&lines("@P0 BRA ->0")), one(0, "B0 is set although it still holds threads on some path"));
}

/// Threads that leave a region take themselves out, as ptxas has it: a BREAK and a branch under one predicate.
#[test]
fn who_leaves_a_region_takes_itself_out() {
    let lines = |leave, between| {
        [
            ("BSSY B0, ->9", "1"),
            ("BSSY B1, ->7", "1"),
            (leave, "5"),
            (between, "13"),
            ("@!P0 BRA ->8", "5"),
            ("NOP", "1"),
            ("BSYNC B1", "5"),
            ("NOP", "1"),
            ("BSYNC B0", "5"),
            EXIT,
        ]
    };
    assert_eq!(found(&lines("@!P0 BREAK B1", "NOP")), []);
    let waits = "waits at B0 while B1, which was set after it, still holds the thread";
    assert_eq!(found(&lines("@!P0 BREAK B2", "NOP"))[0], (0x20, "B2 is not set on any path to here".to_owned()));
    // Who does not leave has gone, and who leaves has not.
    let wrong_side = found(&lines("@P0 BREAK B1", "NOP"));
    assert_eq!(wrong_side, one(0x60, "B1 is not set on any path to here"));
    let forgotten = found(&lines("@!P0 BREAK B1", "ISETP.GE.AND P0, PT, R6, R7, PT"));
    assert_eq!(forgotten, one(0x60, "B1 is not set on some path to here"));
    let mut nothing = lines("NOP", "NOP");
    nothing[4] = ("BRA ->8", "5");
    assert_eq!(found(&nothing), one(0x80, waits));
}

/// ptxas's code has a `BREAK` in front of the `BSYNC` of the same barrier, behind a `BRA.CONV` that whole warps take: who has left waits
/// for nobody. A `BREAK` of some threads, or one on some path, is none.
#[test]
fn who_has_left_waits_for_nobody() {
    let lines = |leave, between| [("BSSY B0, ->4", "1"), (between, "5"), (leave, "5"), ("BSYNC B0", "5"), EXIT];
    assert_eq!(found(&lines("BREAK B0", "NOP")), []);
    assert_eq!(found(&lines("BREAK B0", "@P0 BRA ->3")), one(0x30, "B0 is not set on some path to here"));
    assert_eq!(found(&lines("@P0 BREAK B0", "NOP")), one(0x30, "B0 is not set on some path to here"));
    let twice = [("BSSY B0, ->3", "1"), ("BREAK B0", "5"), ("BREAK B0", "5"), EXIT];
    assert_eq!(found(&twice), one(0x20, "B0 is not set on any path to here"));
}

#[test]
fn a_call_gives_barriers_back() {
    let lines = |function: [Line; 5]| {
        let [a, b, c, d, e] = function;
        [
            ("BSSY B6, ->4", "1"),
            ("@P0 BRA ->3", "5"),
            ("CALL.REL.NOINC ->5", "5"),
            ("BSYNC B6", "5"),
            EXIT,
            a,
            b,
            c,
            d,
            e,
            ("RET.REL.NODEC R20 ->0", "5"),
        ]
    };
    let changes = one(0x20, "the function may change B6, which holds threads here");
    let own = [("BSSY B6, ->8", "1"), ("NOP", "1"), ("BSYNC B6", "5"), ("NOP", "1"), ("NOP", "1")];
    assert_eq!(found_in(&lines(own), Some(5)), changes);
    let other = [("BSSY B0, ->8", "1"), ("NOP", "1"), ("BSYNC B0", "5"), ("NOP", "1"), ("NOP", "1")];
    assert_eq!(found_in(&lines(other), Some(5)), []);
    let saved = [
        ("BMOV.32.CLEAR R4, B6", "10:W0"),
        ("BSSY B6, ->8", "1"),
        ("BSYNC B6", "5"),
        ("BMOV.32 B6, R4", "5:B0"),
        ("NOP", "15"),
    ];
    assert_eq!(found_in(&lines(saved), Some(5)), []);
    let mut lost = saved;
    lost[2] = ("IADD3 R4, R5, 0x1, RZ", "10:B0");
    lost[3] = ("BSYNC B6", "5");
    assert_eq!(found_in(&lines(lost), Some(5)), changes);
    let left = [("BSSY B0, ->8", "1"), ("NOP", "1"), ("NOP", "1"), ("NOP", "1"), ("NOP", "1")];
    assert_eq!(found_in(&lines(left), Some(5)), one(0xa0, "B0 holds threads of the function that returns"));
}

/// Code that the file does not tell keeps B6 and up.
#[test]
fn a_call_by_register_may_change_the_lower_barriers() {
    let lines = |set, wait| [(set, "1"), ("@P0 BRA ->3", "5"), ("CALL.ABS.NOINC R2", "5"), (wait, "5"), EXIT];
    assert_eq!(found(&lines("BSSY B6, ->4", "BSYNC B6")), []);
    let changes = one(0x20, "the function may change B5, which holds threads here");
    assert_eq!(found(&lines("BSSY B5, ->4", "BSYNC B5"))[..1], changes[..]);
}

/// Who comes back from it traps: in gcc's libraries, a function that does not return. Nobody waits any more.
#[test]
fn a_call_that_does_not_return_may_change_barriers() {
    let lines = |behind| {
        [
            ("BSSY B0, ->5", "1"),
            ("@P0 BRA ->4", "5"),
            ("CALL.ABS.NOINC R2", "5"),
            (behind, "5"),
            ("BSYNC B0", "5"),
            EXIT,
        ]
    };
    assert_eq!(found(&lines("BPT.TRAP 0x1")), []);
    assert_eq!(found(&lines("NOP"))[..1], one(0x20, "the function may change B0, which holds threads here")[..]);
}

/// `BSSY` adds its threads to those that the barrier has. ptxas clears it first, everywhere.
#[test]
fn up_to_sm_75_a_barrier_is_cleared_before_it_is_set() {
    let lines = |first, second| {
        [(first, "1"), (second, "1"), ("BSSY B0, ->5", "1"), ("@P0 BRA ->4", "5"), ("BSYNC B0", "5"), EXIT]
    };
    let on = |number, arch, lines: &[Line]| findings_of(report_on(Target::new(number), arch, lines, None));
    let (clear, other) = ("BMOV.32.CLEAR RZ, B0", "BMOV.32.CLEAR RZ, B1");
    let added = one(0x20, "B0 is set and not cleared before, so threads are added that it may still hold");
    assert_eq!(on(75, Arch::Sm75, &lines(clear, "NOP")), []);
    assert_eq!(on(75, Arch::Sm75, &lines(other, "NOP")), added);
    assert_eq!(on(75, Arch::Sm75, &lines(clear, "BMOV.32 B0, R4")), added);
    assert_eq!(on(80, Arch::Sm80, &lines("NOP", "NOP")), []);
}

/// A whole warp that leaves a region leaves nobody in its barrier: by a predicate that is made of a uniform one, and by a counter that all
/// threads share, as ptxas writes it. One that lanes may see differently still holds them.
#[test]
fn a_warp_that_leaves_together_leaves_nobody_behind() {
    let lines = |value, test| {
        [
            ("MOV R0, 0x1", "1"),
            (value, "4"),
            (test, "13"),
            ("BSSY B0, ->6", "4"),
            ("@P0 BRA ->6", "5"),
            ("BSYNC B0", "5"),
            ("BSSY B0, ->8", "4"),
            ("BSYNC B0", "5"),
            EXIT,
        ]
    };
    let behind = one(0x60, "B0 is set although it still holds threads on some path");
    assert_eq!(found(&lines("NOP", "ISETP.GE.AND P0, PT, R0, 0x28, PT")), []);
    assert_eq!(found(&lines("NOP", "PLOP3.LUT P0, PT, PT, PT, UP0, 0x80, 0x0")), []);
    assert_eq!(found(&lines("NOP", "VOTE.ANY P0, P1")), []);
    assert_eq!(found(&lines("CS2R.32 R0, SR_LANEID", "ISETP.GE.AND P0, PT, R0, 0x28, PT")), behind);
    assert_eq!(found(&lines("NOP", "ISETP.GE.AND P0, PT, R2, 0x28, PT")), behind);
}
