//! Paths, calls, predicates, queues and barriers, on code written by hand. The distances are those that ptxas's
//! code relies on (docs/sources.md, Latencies).

use crate::assembled::{EXIT, Line, code, report, report_on};
use oriole_check::{CheckError, Kind, check};
use oriole_cubin::{Cubin, FunctionSpec, InnerFunctionSpec, ModuleSpec, Target, write};
use oriole_isa::Arch;

/// Kind, address of the earlier and of the later instruction.
fn found(lines: &[Line]) -> Vec<(Kind, Option<u64>, u64)> {
    let all = report(lines, None).findings;
    all.iter().map(|f| (f.kind, f.earlier.as_ref().map(|place| place.address), f.later.address)).collect()
}

#[test]
fn cycles_are_counted_over_the_shortest_path() {
    // The long way has the cycles, the branch has not: 4 are needed, the branch takes 2.
    let lines = |branch| {
        [
            ("IADD3 R4, R2, 0x1, RZ", "1"),
            ("@P0 BRA ->4", branch),
            ("NOP", "15"),
            ("NOP", "1"),
            ("IADD3 R5, R4, 0x1, RZ", "1"),
            EXIT,
        ]
    };
    assert_eq!(found(&lines("5")), []);
    // So early a branch is too early by itself.
    assert_eq!(found(&lines("2")), [(Kind::ControlWord, None, 0x10), (Kind::ReadAfterWrite, Some(0), 0x40)]);
    let path = report(&lines("2"), None).findings[1].path.clone();
    assert_eq!(path, [0, 0x40]);
}

#[test]
fn a_wait_is_needed_on_every_path() {
    let lines = |other| {
        [
            ("LDG.E R4, [R2.64]", "2:W0"),
            ("@P0 BRA ->4", "5"),
            ("NOP", "1:B0"),
            ("BRA ->5", "5"),
            ("NOP", other),
            ("IADD3 R5, R4, 0x1, RZ", "1"),
            EXIT,
        ]
    };
    assert_eq!(found(&lines("1:B0")), []);
    assert_eq!(found(&lines("1")), [(Kind::ReadAfterWrite, Some(0), 0x50)]);
}

#[test]
fn a_loop_carries_what_its_end_leaves_to_its_start() {
    let lines = |wait| [("IADD3 R5, R4, 0x1, RZ", wait), ("LDG.E R4, [R2.64]", "2:W0:R1"), ("@P0 BRA ->0", "5"), EXIT];
    assert_eq!(found(&lines("2:B0")), []);
    // Nobody waits any more before the next load into the register either.
    let both = [(Kind::ReadAfterWrite, Some(0x10), 0), (Kind::WriteAfterWrite, Some(0x10), 0x10)];
    assert_eq!(found(&lines("2")), both);
}

/// However many stores read a register on the ways to where it is written, each is over when its scoreboard is.
#[test]
fn reads_that_are_many_keep_their_scoreboards() {
    let lines = |wait| {
        let ways = (0..40).flat_map(|way| [("STL [R2], R4", ["2:R1", "2:R3"][way % 2]), ("@P0 BRA ->80", "5")]);
        ways.chain([("IADD3 R4, R6, 0x1, RZ", wait), EXIT]).collect::<Vec<Line>>()
    };
    assert_eq!(found(&lines("1:B1:B3")), []);
    let missed = found(&lines("1:B1"));
    assert!(!missed.is_empty() && missed.iter().all(|(kind, ..)| *kind == Kind::WriteAfterRead), "{missed:?}");
}

#[test]
fn opposite_guards_do_not_meet_while_the_predicate_stays() {
    let lines = |between: Line| [("@P0 LDG.E R4, [R2.64]", "2:W0"), between, ("@!P0 IADD3 R4, R2, 0x1, RZ", "5"), EXIT];
    assert_eq!(found(&lines(("NOP", "1"))), []);
    let changes = lines(("ISETP.GE.AND P0, PT, R6, R7, PT", "13"));
    assert_eq!(found(&changes), [(Kind::WriteAfterWrite, Some(0), 0x20)]);
    // What is loaded under P0 is not there where a branch on it goes on.
    let branch = [("@P0 LDG.E R4, [R2.64]", "2:W0"), ("@P0 BRA ->3", "5"), ("IADD3 R5, R4, 0x1, RZ", "5"), EXIT];
    assert_eq!(found(&branch), []);
}

#[test]
fn calls_give_each_caller_its_own_back() {
    // Two calls of one function. The first caller's load is still pending, the second's register is free.
    let lines = |wait| {
        [
            ("LDG.E R4, [R2.64]", "2:W0"),
            ("CALL.REL.NOINC ->6", "5"),
            ("IADD3 R5, R4, 0x1, RZ", wait),
            ("CALL.REL.NOINC ->6", "5"),
            ("IADD3 R4, R4, 0x1, RZ", "5"),
            EXIT,
            ("IADD3 R8, R9, 0x1, RZ", "5"),
            ("RET.REL.NODEC R20 ->0", "5"),
        ]
    };
    let kinds =
        |wait| report(&lines(wait), Some(6)).findings.iter().map(|f| (f.kind, f.later.address)).collect::<Vec<_>>();
    assert_eq!(kinds("1:B0"), []);
    assert_eq!(kinds("1")[0], (Kind::ReadAfterWrite, 0x20));
}

#[test]
fn waits_are_not_seen_too_early_and_scoreboards_are_not_forgotten() {
    let lines = |stall, wait| [("LDG.E R4, [R2.64]", stall), ("IADD3 R5, R4, 0x1, RZ", wait), EXIT];
    assert_eq!(found(&lines("2:W3", "1:B3")), []);
    assert_eq!(found(&lines("1:W3", "1:B3")), [(Kind::EarlyWait, None, 0x10)]);
    assert_eq!(found(&lines("2", "1:B3")), [(Kind::ReadAfterWrite, Some(0), 0x10)]);
    // The store reads R4 some time after it issues.
    let store = |wait| [("STG.E [R2.64], R4", "2:R1"), ("MOV R4, R6", wait), EXIT];
    assert_eq!(found(&store("1:B1")), []);
    assert_eq!(found(&store("1")), [(Kind::WriteAfterRead, Some(0), 0x10)]);
}

#[test]
fn instructions_of_one_queue_read_their_uniform_registers_in_order() {
    // As ptxas 13.0.88 has it in Triton's and CUTLASS's kernels for sm_100a: the first sets no scoreboard, the next does.
    const PRODUCT: &str = "UTCHMMA gdesc[UR16], gdesc[UR58], tmem[UR46], tmem[UR52], idesc[UR53], UPT";
    const LATER_PRODUCT: &str = "UTCHMMA gdesc[UR18], gdesc[UR4], tmem[UR46], tmem[UR54], idesc[UR55], UPT";
    const COMMIT: &str = "UTCBAR [UR16], URZ";
    const LOAD: &str = "UTMALDG.4D [UR24], [UR30], desc[UR22]";
    const PREFETCH: &str = "UTMAPF.L2.4D [UR16], [UR30]";
    const STORE: &str = "UTMASTG.5D [UR16], [UR4]";
    const LATER_STORE: &str = "UTMASTG.5D [UR32], [UR4]";
    let kinds = |first, next, wait| {
        let lines = [(first, "1"), (next, "1:R2"), ("NOP", "2"), ("UMOV UR16, 0x0", wait), EXIT];
        let findings = report_on(Target::new(100), Arch::Sm100, &lines, None).findings;
        findings.iter().map(|finding| (finding.kind, finding.later.address)).collect::<Vec<_>>()
    };
    const LOST: [(Kind, u64); 1] = [(Kind::WriteAfterRead, 0x30)];
    for (first, next) in [(PRODUCT, LATER_PRODUCT), (COMMIT, LATER_PRODUCT), (PREFETCH, LOAD), (STORE, LATER_STORE)] {
        assert_eq!(kinds(first, next, "1:B2"), [], "{first}, {next}");
        assert_eq!(kinds(first, next, "1"), LOST, "{first}, {next}: nothing waits");
    }
    for (first, other) in [(PRODUCT, LOAD), (PREFETCH, LATER_PRODUCT), (STORE, LOAD), (PRODUCT, LATER_STORE)] {
        assert_eq!(kinds(first, other, "1:B2"), LOST, "{first}, {other}: two queues");
    }
}

#[test]
fn registers_and_barriers_stay_in_what_is_declared() {
    // Of 32 registers the last two are the hardware's.
    assert_eq!(found(&[("MOV R29, R6", "5"), EXIT]), []);
    assert_eq!(found(&[("MOV R30, R6", "5"), EXIT]), [(Kind::Undeclared, None, 0)]);
    let meet = |threads| [("BAR.ARV 0x1, 0x40", "6"), (threads, "6"), EXIT];
    assert_eq!(found(&meet("BAR.SYNC 0x1, 0x40")), []);
    assert_eq!(found(&meet("BAR.SYNC 0x1, 0x60")), [(Kind::Barrier, None, 0)]);
    assert_eq!(found(&[("BAR.SYNC 0x1, 0x21", "6"), EXIT]), [(Kind::Barrier, None, 0)]);
    assert_eq!(found(&[("BAR.SYNC 0x2, 0x20", "6"), EXIT]), [(Kind::Barrier, None, 0)]);
}

#[test]
fn code_that_is_not_reached_is_not_judged_and_words_that_are_none_are_named() {
    let dead = [EXIT, ("LDG.E R4, [R2.64]", "1"), ("IADD3 R5, R4, 0x1, RZ", "1")];
    assert_eq!(found(&dead), []);
    let mut bytes = code(&[("NOP", "1"), EXIT], Arch::Sm80);
    bytes[..16].fill(0xff);
    let module =
        ModuleSpec { functions: vec![FunctionSpec::kernel("k", bytes, 8)], ..ModuleSpec::new(Target::new(80)) };
    let cubin = Cubin::parse(&write(&module).expect("a module")).expect("a cubin");
    assert_eq!(check(&cubin, &[]).expect("a known target").findings[0].kind, Kind::Unknown);
    assert_eq!(
        check(&cubin, &["other".into()]).unwrap_err(),
        CheckError::NoFunction { name: "other".into(), known: vec!["k".into()] }
    );
}

/// 100,000 instructions: many blocks, many registers pending, in a time that grows no faster than the code.
#[test]
fn large_functions_are_checked_in_seconds() {
    let mut lines: Vec<Line> = Vec::new();
    for _ in 0..12_500 {
        lines.extend([
            ("LDG.E R4, [R2.64]", "2:W0:R1"),
            ("LDG.E R6, [R2.64+0x8]", "2:W2"),
            ("@P1 IADD3 R9, R10, 0x1, RZ", "4"),
            ("FFMA R8, R9, R9, R8", "4"),
            ("@P0 BRA ->0", "5"),
            ("FADD R7, R4, R6", "4:B0:B2"),
            ("IADD3 R10, R7, 0x1, RZ", "5"),
            ("STG.E [R2.64], R10", "2:R3"),
        ]);
        let last = lines.len() - 4;
        lines[last].0 = "@P0 BRA ->0";
    }
    lines.push(EXIT);
    let started = std::time::Instant::now();
    let report = report(&lines, None);
    assert_eq!(report.instructions, 100_001);
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// Bytes at random in place of the code: findings of some kind or none, never a panic.
#[test]
fn any_words_are_survived() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let lines = [
        ("LDG.E R4, [R2.64]", "2:W0"),
        ("@P0 BRA ->0", "5"),
        ("CALL.REL.NOINC ->4", "5"),
        ("BSYNC B0", "5"),
        ("RET.REL.NODEC R20 ->0", "5"),
        ("BRX R4 -0x40", "5"),
        ("BAR.SYNC 0x1, 0x40", "5"),
        EXIT,
    ];
    let original = code(&lines, Arch::Sm80);
    for _ in 0..2000 {
        let mut bytes = original.repeat(4);
        for _ in 0..=random() % 8 {
            let at = random() as usize % bytes.len();
            bytes[at] ^= 1 << (random() % 8);
        }
        let kernel = FunctionSpec::kernel("k", bytes, 32);
        let module = ModuleSpec { functions: vec![kernel], ..ModuleSpec::new(Target::new(80)) };
        let cubin = Cubin::parse(&write(&module).expect("a module")).expect("a cubin");
        let _ = check(&cubin, &[]);
    }
}

/// A call by register of one of two functions, whose places stand in constant bank 2.
#[test]
fn calls_of_functions_that_bank_2_lists_are_followed() {
    let lines = |load: Line, stall| {
        let lines = [
            ("MOV R20, ->4", "1"),
            load,
            ("MOV R6, R8", "5:B0"),
            ("CALL.REL.NOINC R6 0x0", "5"),
            EXIT,
            ("IADD3 R5, R4, 0x1, RZ", "1"),
            ("RET.REL.NODEC R20 0x0", "5"),
            ("IADD3 R4, R2, 0x1, RZ", stall),
            ("IADD3 R5, R4, 0x1, RZ", "5"),
            ("RET.REL.NODEC R20 0x0", "5"),
        ];
        let code = code(&lines, Arch::Sm80);
        let mut kernel = FunctionSpec::kernel("k", code.clone(), 32);
        for (name, first, end) in [("$k$f", 5, 7), ("$k$g", 7, 10)] {
            let (offset, size) = (16 * first, 16 * (end - first));
            kernel.inner_functions.push(InnerFunctionSpec {
                name: name.into(),
                offset,
                size,
                frame_size: 0,
                unwind: Default::default(),
            });
        }
        kernel.literals = [1_u64, 16 * 5, 16 * 7].iter().flat_map(|place| place.to_le_bytes()).collect();
        let module = ModuleSpec { functions: vec![kernel], ..ModuleSpec::new(Target::new(80)) };
        let bytes = write(&module).expect("a module");
        check(&Cubin::parse(&bytes).expect("a cubin"), &[]).expect("a known target")
    };
    let load = ("LDC.64 R8, c[0x2][R0]", "2:W0");
    let good = lines(load, "5");
    assert_eq!((good.findings.len(), good.notes.len()), (0, 0), "{:?} {:?}", good.findings, good.notes);
    assert_eq!(lines(load, "2").findings.len(), 1);
    // What comes from memory may be any function.
    assert_eq!(lines(("LDG.E.64 R8, [R2]", "2:W0"), "5").notes.len(), 1);
}

#[test]
fn nothing_follows_a_trap() {
    let lines = |last| [("IADD3 R4, R2, 0x1, RZ", "1"), (last, "1"), ("IADD3 R5, R4, 0x1, RZ", "5"), EXIT];
    assert_eq!(found(&lines("BPT.TRAP 0x1")), []);
    assert_eq!(found(&lines("NOP")).len(), 1);
    assert_eq!(report(&lines("BPT.TRAP 0x1"), None).notes.len(), 0);
}

/// What is found in a kernel of these bytes that declares so many registers.
fn kinds(bytes: Vec<u8>, registers: u32) -> Vec<(Kind, u64)> {
    kinds_on(80, bytes, registers)
}

fn kinds_on(sm: u32, bytes: Vec<u8>, registers: u32) -> Vec<(Kind, u64)> {
    let kernel = FunctionSpec::kernel("k", bytes, registers);
    let module = ModuleSpec { functions: vec![kernel], ..ModuleSpec::new(Target::new(sm)) };
    let bytes = write(&module).expect("a module");
    let report = check(&Cubin::parse(&bytes).expect("a cubin"), &[]).expect("a known target");
    report.findings.iter().map(|finding| (finding.kind, finding.later.address)).collect()
}

#[test]
fn control_words_that_the_instruction_must_not_have_are_found() {
    let mut bytes = code(&[("NOP", "1"), EXIT], Arch::Sm80);
    assert_eq!(kinds(bytes.clone(), 8), []);
    // EXIT gets the scoreboard 1 for results, where it had none, 7 (bits 110 to 112 of the word).
    bytes[16 + 13] &= !(0b110 << 6);
    bytes[16 + 14] &= !1;
    assert_eq!(kinds(bytes, 8), [(Kind::ControlWord, 16)]);
}

#[test]
fn a_kernel_that_declares_no_register_has_none() {
    let bytes = code(&[("MOV R1, RZ", "5"), EXIT], Arch::Sm80);
    assert_eq!(kinds(bytes.clone(), 0), [(Kind::Undeclared, 0)]);
    assert_eq!(kinds(bytes.clone(), 3), [(Kind::Undeclared, 0)]);
    assert_eq!(kinds(bytes, 4), []);
}

#[test]
fn a_warp_has_the_registers_that_it_was_given_last() {
    let found = |lines: &[Line]| kinds_on(90, code(lines, Arch::Sm90), 64);
    let given = ("USETMAXREG.DEALLOC.CTAPOOL 0x28", "5");
    let taken = ("USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0x60", "5");
    assert_eq!(found(&[("MOV R38, RZ", "5"), given, ("MOV R37, RZ", "5"), EXIT]), []);
    assert_eq!(found(&[("MOV R38, RZ", "5"), given, ("MOV R38, RZ", "5"), EXIT]), [(Kind::Undeclared, 0x20)]);
    assert_eq!(found(&[taken, ("MOV R93, RZ", "5"), EXIT]), []);
    assert_eq!(found(&[("MOV R62, RZ", "5"), taken, EXIT]), [(Kind::Undeclared, 0)]);
    // On one way it has fewer.
    let either = |register| [("@P0 BRA ->2", "5"), given, (register, "5"), EXIT];
    assert_eq!(found(&either("MOV R37, RZ")), []);
    assert_eq!(found(&either("MOV R38, RZ")), [(Kind::Undeclared, 0x20)]);
}

#[test]
fn a_product_of_a_warpgroup_has_its_registers_until_the_wait() {
    let target = Target::from_name("sm_90a").expect("a target");
    let found = |touch| {
        let lines = [
            ("WARPGROUP.ARRIVE", "6"),
            ("HGMMA.64x8x16.F32 R8, R4, gdesc[UR4], R8, gsb0", "1"),
            ("NOP", "15"),
            (touch, "15"),
            ("WARPGROUP.DEPBAR.LE gsb0, 0x0", "1"),
            ("IADD3 R8, R4, R8, RZ", "15"),
            ("IADD3 R4, R4, 0x1, RZ", "15"),
            EXIT,
        ];
        let all = report_on(target, Arch::Sm90, &lines, None).findings;
        all.iter().map(|finding| (finding.kind, finding.later.address)).collect::<Vec<_>>()
    };
    assert_eq!(found("IADD3 R20, R12, 0x1, RZ"), []);
    assert_eq!(found("IADD3 R20, R9, 0x1, RZ"), [(Kind::ReadAfterWrite, 0x30)]);
    assert_eq!(found("IADD3 R11, R12, 0x1, RZ"), [(Kind::WriteAfterWrite, 0x30)]);
    // It reads A as long, which others may read too, but not write.
    assert_eq!(found("IADD3 R20, R7, 0x1, RZ"), []);
    assert_eq!(found("IADD3 R7, R12, 0x1, RZ"), [(Kind::WriteAfterRead, 0x30)]);
    // A sum goes from product to product; it is no A before it is done.
    assert_eq!(found("HGMMA.64x8x16.F32 R8, R4, gdesc[UR4], R8, gsb0"), []);
    assert_eq!(found("HGMMA.64x8x16.F32 R12, R8, gdesc[UR4], R12, gsb0"), [(Kind::ReadAfterWrite, 0x30)]);
}

/// An H200 lets a load two cycles behind `BAR` read what other warps have not yet stored, whatever stands between (docs/silicon.md).
#[test]
fn arithmetic_does_not_end_the_stall_of_a_barrier() {
    let found = |cycles| {
        let lines = [
            ("BAR.SYNC.DEFER_BLOCKING 0x0", "1"),
            ("IADD3 R4, R2, 0x1, RZ", cycles),
            ("LDS R0, [R1]", "2:W0"),
            ("IADD3 R0, R0, 0x1, RZ", "5:B0"),
            EXIT,
        ];
        let all = report(&lines, None).findings;
        all.iter().map(|finding| (finding.kind, finding.later.address)).collect::<Vec<_>>()
    };
    assert_eq!(found("5"), []);
    assert_eq!(found("4"), [(Kind::ControlWord, 0)]);
}
