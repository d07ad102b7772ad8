//! Control words with one thing wrong, a kind each: `oriole check` and strict simulation report it, and say nothing of the words as they
//! have to be. What they have to be is what ptxas's code keeps to everywhere (docs/isa/latency.md). With old values the wrong word
//! gives the wrong result that it would give on hardware.

use oriole_check::check;
use oriole_cubin::{Cubin, FunctionSpec, ModuleSpec, Target, write};
use oriole_device::{FaultKind, Launch, Memory};
use oriole_isa::Arch;
use oriole_sim::{Options, RunError, Simulator};
use words::{Line, code};

#[path = "../../check/tests/assembled/words.rs"]
mod words;

fn cubin(arch: Arch, number: u32, lines: &[Line]) -> Cubin {
    let kernel = FunctionSpec { barriers: 1, shared_size: 1024, ..FunctionSpec::kernel("k", code(lines, arch), 32) };
    let module = ModuleSpec { functions: vec![kernel], ..ModuleSpec::new(Target::new(number)) };
    Cubin::parse(&write(&module).expect("a module")).expect("a cubin")
}

/// Words of the buffer that the kernel gets the address of: what it reads at 0, and what it leaves at 0x100.
const INPUT: u32 = 7;
const OUTPUT: usize = 0x100;

/// What the kernel leaves, or the hazard that stops it.
fn run(cubin: &Cubin, options: Options) -> Result<u32, String> {
    let simulator = Simulator::new(cubin, Options { max_instructions: 100_000, ..options }).expect("it loads");
    let mut memory = Memory::new();
    let mut bytes = vec![0; 0x200];
    bytes[..4].copy_from_slice(&INPUT.to_le_bytes());
    let buffer = memory.allocate_with("buffer", &bytes);
    let launch =
        Launch { grid: [1, 1, 1], block: [32, 1, 1], params: buffer.to_le_bytes().to_vec(), ..Launch::default() };
    match simulator.launch("k", &launch, &mut memory) {
        Err(RunError::Fault(fault)) => match fault.kind {
            FaultKind::Hazard(hazard) => Err(format!("{}: {}", hazard.kind, hazard.remedy)),
            kind => panic!("{kind}"),
        },
        Err(error) => panic!("{error}"),
        Ok(_) => {
            let left = memory.read(buffer + OUTPUT as u64, 4).expect("the buffer");
            Ok(u32::from_le_bytes(left.try_into().expect("four bytes")))
        }
    }
}

fn strict() -> Options {
    Options { strict: true, ..Options::default() }
}

fn old_values() -> Options {
    Options { old_values: true, ..strict() }
}

fn findings(cubin: &Cubin) -> Vec<String> {
    check(cubin, &[]).expect("known latencies").findings.iter().map(ToString::to_string).collect()
}

/// Both judges say nothing of the lines, and each something of the lines with one in place of another.
fn judges_tell(arch: Arch, number: u32, right: &[Line], at: usize, wrong: Line) -> Cubin {
    let as_it_is = cubin(arch, number, right);
    assert_eq!(findings(&as_it_is), Vec::<String>::new(), "{arch} {wrong:?}");
    assert!(run(&as_it_is, strict()).is_ok(), "{arch} {wrong:?}: {:?}", run(&as_it_is, strict()));
    let mut lines = right.to_vec();
    lines[at] = wrong;
    let broken = cubin(arch, number, &lines);
    assert!(!findings(&broken).is_empty(), "{arch} {wrong:?}: check finds nothing");
    assert!(run(&broken, strict()).is_err(), "{arch} {wrong:?}: strict simulation finds nothing");
    broken
}

const EXIT: Line = ("EXIT", "5");

/// The address of the buffer to R2 and R3, by targets up to sm_89.
const BUFFER: [Line; 2] =
    [("IMAD.MOV.U32 R2, RZ, RZ, c[0x0][0x160]", "1"), ("IMAD.MOV.U32 R3, RZ, RZ, c[0x0][0x164]", "5")];

/// Each thread copies a word to shared memory, and the block waits for it.
fn copies() -> Vec<Line> {
    let mut lines = vec![("S2R R0, SR_TID.X", "2:W1")];
    lines.extend(BUFFER);
    lines.extend([
        ("IMAD.SHL.U32 R4, R0, 0x4, RZ", "5:B1"),
        ("LDGSTS.E [R4], [R2.64]", "2:R2"),
        ("LDGDEPBAR", "2:W0"),
        ("DEPBAR.LE SB0, 0x0", "4"),
        ("BAR.SYNC 0x0", "6"),
        ("LDS R5, [R4]", "2:W3"),
        ("STG.E [R2.64+0x100], R5", "2:B3"),
        EXIT,
    ]);
    lines
}

#[test]
fn groups_of_copies_are_waited_for() {
    assert_eq!(run(&cubin(Arch::Sm80, 80, &copies()), old_values()), Ok(INPUT));
    for (at, wrong) in [(5, ("LDGDEPBAR", "2")), (5, ("LDGDEPBAR", "2:W4")), (6, ("DEPBAR.LE SB4, 0x0", "4"))] {
        let broken = judges_tell(Arch::Sm80, 80, &copies(), at, wrong);
        // What nobody has waited for is not there.
        if at == 6 {
            assert_eq!(run(&broken, old_values()), Ok(0), "{wrong:?}");
        }
    }
}

/// Of two groups the first is waited for, or none.
#[test]
fn only_groups_that_are_waited_for_are_read() {
    let lines = |left| {
        let mut lines = copies();
        let second = [("LDGSTS.E [R4+0x80], [R2.64]", "2:R2"), ("LDGDEPBAR", "2:W0")];
        lines.splice(6..7, second.into_iter().chain([(left, "4")]));
        lines
    };
    let code = |left| cubin(Arch::Sm80, 80, &lines(left));
    assert_eq!(run(&code("DEPBAR.LE SB0, 0x1"), strict()), Ok(INPUT));
    assert_eq!(findings(&code("DEPBAR.LE SB0, 0x1")), Vec::<String>::new());
    let broken = code("DEPBAR.LE SB0, 0x2");
    assert!(run(&broken, strict()).is_err_and(|hazard| hazard.contains("wait by DEPBAR")));
    assert_eq!(run(&broken, old_values()), Ok(0));
    assert!(findings(&broken).iter().any(|finding| finding.contains("waits for nothing")));
    // Of one group alone the checker does not know that it is needed.
    let mut alone = copies();
    alone[6] = ("DEPBAR.LE SB0, 0x1", "4");
    assert!(run(&cubin(Arch::Sm80, 80, &alone), strict()).is_err_and(|hazard| hazard.contains("wait by DEPBAR")));
}

/// Loads from constant banks go another way than stores, which may not have read what they overwrite.
#[test]
fn a_constant_load_does_not_come_after_a_store() {
    let right = [
        ("LDC.64 R2, c[0x0][0x210]", "2:W0"),
        ("IMAD.MOV.U32 R6, RZ, RZ, 0x3", "5"),
        ("STG.E [R2.64+0x100], R6", "2:R1:B0"),
        ("LDC R6, c[0x0][0x210]", "2:W2:B1"),
        ("IADD3 R7, R6, 0x1, RZ", "5:B2"),
        EXIT,
    ];
    judges_tell(Arch::Sm90, 90, &right, 3, ("LDC R6, c[0x0][0x210]", "2:W2"));
    // Nor does its scoreboard say anything of the store.
    let mut covered = right;
    covered[2] = ("STG.E [R2.64+0x100], R6", "2:B0");
    covered[3] = ("LDC R8, c[0x0][0x210]", "2:R1:W2");
    covered[4] = ("IADD3 R6, R8, 0x1, RZ", "5:B1:B2");
    assert!(!findings(&cubin(Arch::Sm90, 90, &covered)).is_empty());
    assert!(run(&cubin(Arch::Sm90, 90, &covered), strict()).is_err());
}

/// Up to sm_75 a barrier tells that all stores have read their sources, on sm_80 that those to shared memory have.
#[test]
fn a_barrier_does_not_end_the_reading_of_sources() {
    let lines = |store, overwrites| {
        let mut lines = vec![("S2R R0, SR_TID.X", "2:W1")];
        lines.extend(BUFFER);
        lines.extend([
            ("IMAD.SHL.U32 R4, R0, 0x4, RZ", "5:B1"),
            (store, "2:R0"),
            ("BAR.SYNC 0x0", "6"),
            ("IADD3 R4, R4, 0x1, RZ", overwrites),
            EXIT,
        ]);
        lines
    };
    let (global, shared) = ("STG.E [R2.64+0x100], R4", "STS [R4], R4");
    judges_tell(Arch::Sm80, 80, &lines(global, "5:B0"), 6, ("IADD3 R4, R4, 0x1, RZ", "5"));
    judges_tell(Arch::Sm86, 86, &lines(shared, "5:B0"), 6, ("IADD3 R4, R4, 0x1, RZ", "5"));
    let code = cubin(Arch::Sm80, 80, &lines(shared, "5"));
    assert_eq!(findings(&code), Vec::<String>::new());
    assert!(run(&code, strict()).is_ok());
}

#[test]
fn an_operand_that_is_overwritten_is_not_kept() {
    let right = [("IADD3 R4, R4, 0x1, RZ", "5"), ("IADD3 R5, R4, 0x1, RZ", "5"), EXIT];
    judges_tell(Arch::Sm80, 80, &right, 0, ("IADD3 R4, R4.reuse, 0x1, RZ", "5"));
}

/// What is kept stays until an instruction reads a register of its bank (even or odd) in the same place, or a pair.
#[test]
fn an_operand_that_is_kept_is_not_overwritten_before_it_is_read() {
    let lines = |between| {
        vec![
            ("IADD3 R6, R4, 0x1, RZ", "5"),
            ("IADD3 R4, RZ, 0x1, R8", "5"),
            between,
            ("IADD3 R10, R4, 0x1, RZ", "5"),
            EXIT,
        ]
    };
    let kept = ("IADD3 R6, R4.reuse, 0x1, RZ", "5");
    for between in [("NOP", "1"), ("IADD3 R12, R5, 0x1, RZ", "5"), ("IADD3 R12, R9, 0x1, R4", "5")] {
        judges_tell(Arch::Sm80, 80, &lines(between), 0, kept);
    }
    let mut ended = lines(("IADD3 R12, R8, 0x1, RZ", "5"));
    ended[0] = kept;
    assert_eq!(findings(&cubin(Arch::Sm80, 80, &ended)), Vec::<String>::new());
}

/// ptxas keeps no operand over a jump, taken or not. The second source of `FADD` stays where `FFMA` has its third.
#[test]
fn an_operand_that_is_kept_is_found_before_a_jump() {
    let jump = ("@P0 BRA -> 4", "5");
    let found = ("FFMA R6, R8, R8, R5", "5");
    let right = vec![("FADD R4, R4, R5", "5"), ("FFMA R6, R8, R5, R8", "5"), jump, ("NOP", "1"), EXIT];
    let kept = ("FADD R4, R4, R5.reuse", "5");
    judges_tell(Arch::Sm80, 80, &right, 0, kept);
    let other_place = [vec![kept, found], right[2..].to_vec()].concat();
    assert_eq!(findings(&cubin(Arch::Sm80, 80, &other_place)), Vec::<String>::new());
}

/// Nor over a wait of threads for each other, where they come from elsewhere, nor to where code jumps to.
#[test]
fn an_operand_that_is_kept_is_found_before_threads_meet() {
    let (as_it_is, kept) = (("FADD R4, R4, R5", "5"), ("FADD R4, R4, R5.reuse", "5"));
    let found = ("FADD R6, R8, R5", "5");
    let meeting = [("BSSY B0, -> 2", "1"), as_it_is, ("BSYNC B0", "5"), found, EXIT];
    judges_tell(Arch::Sm80, 80, &meeting, 1, kept);
    let label = |first| findings(&cubin(Arch::Sm80, 80, &[first, found, ("@P0 BRA -> 1", "5"), EXIT]));
    assert_eq!(label(as_it_is), Vec::<String>::new());
    assert!(label(kept).iter().any(|text| text.contains("label 1 behind it")), "{:?}", label(kept));
    for passes in [("WARPSYNC 0xffffffff", "5"), ("YIELD", "5"), ("BAR.SYNC 0x0", "6"), ("BSSY B0, -> 3", "1")] {
        let lines = [kept, passes, found, ("NOP", "5"), EXIT];
        let findings = findings(&cubin(Arch::Sm80, 80, &lines));
        assert!(!findings.iter().any(|text| text.contains("is kept")), "{findings:?}");
    }
}

/// What doubles and matrix products keep, all words of it, is found by their like alone, and so is what others keep.
#[test]
fn doubles_and_products_keep_operands_of_their_own() {
    let products = |kept| {
        let overwrites = ("IADD3 R7, R20, 0x1, RZ", "8");
        vec![(kept, "15"), overwrites, ("HMMA.16816.F32 R16, R4, R12, R16", "15"), ("NOP", "15"), EXIT]
    };
    let right = products("HMMA.16816.F32 R8, R4, R12, R8");
    judges_tell(Arch::Sm80, 80, &right, 0, ("HMMA.16816.F32 R8, R4.reuse, R12, R8", "11"));
    let doubles = |kept| vec![(kept, "15"), ("IADD3 R5, R20, 0x1, RZ", "8"), ("DFMA R16, R4, R6, R16", "15"), EXIT];
    let right = doubles("DFMA R8, R4, R6, R8");
    judges_tell(Arch::Sm90, 90, &right, 0, ("DFMA R8, R4.reuse, R6, R8", "11"));
    judges_tell(Arch::Sm90, 90, &doubles("DFMA R4, R4, R6, R8"), 0, ("DFMA R4, R4.reuse, R6, R8", "11"));
    let others = |between| {
        let last = ("IADD3 R10, R4, 0x1, RZ", "5");
        vec![("IADD3 R6, R4, 0x1, RZ", "5"), ("IADD3 R4, RZ, 0x1, R8", "5"), between, last, EXIT]
    };
    let kept = ("IADD3 R6, R4.reuse, 0x1, RZ", "5");
    judges_tell(Arch::Sm90, 90, &others(("DADD R12, R20, R22", "15")), 0, kept);
    judges_tell(Arch::Sm90, 90, &others(("STS [RZ], R20", "15:R0")), 0, kept);
}

/// A fence of the asynchronous proxy is waited for before other threads may start copies; a later one stands for it.
#[test]
fn fences_of_the_asynchronous_proxy_are_waited_for() {
    let lines = |fences: &[&'static str], barrier| {
        let fences = fences.iter().map(|control| ("FENCE.VIEW.ASYNC.S", *control));
        fences.chain([("LDS R4, [RZ]", "2:W3"), ("BAR.SYNC.DEFER_BLOCKING 0x0", barrier), EXIT]).collect::<Vec<_>>()
    };
    let found =
        |lines: &[Line]| findings(&cubin(Arch::Sm90, 90, lines)).iter().any(|text| text.contains("fence of the async"));
    assert!(!found(&lines(&["2:W1"], "6:B1")));
    assert!(!found(&lines(&["2", "2:W1"], "6:B1")));
    for (fences, barrier) in
        [(["2", "2:W1"], "6"), (["2:W1", "2"], "6:B1"), (["2", "2"], "6"), (["2:W1", "2:W2"], "6:B1")]
    {
        assert!(found(&lines(&fences, barrier)), "{fences:?} {barrier}");
    }
}

/// A fence of another memory does not stand for it.
#[test]
fn fences_of_two_memories_are_both_waited_for() {
    let found = |first| {
        let fences = [("FENCE.VIEW.ASYNC.S", first), ("FENCE.VIEW.ASYNC.G", "2:W1")];
        let lines = [fences[0], fences[1], ("BAR.SYNC.DEFER_BLOCKING 0x0", "6:B1"), EXIT];
        findings(&cubin(Arch::Sm90, 90, &lines)).iter().any(|text| text.contains("fence of the async"))
    };
    assert!(!found("2:W1"));
    assert!(found("2") && found("2:W2"));
}

/// A wait that leaves some counts what comes in order: a group of copies may be done before a load, which shares its scoreboard.
#[test]
fn a_load_is_not_counted_among_copies() {
    let found = |first, depbar| {
        let reads = ("IADD3 R5, R4, 0x1, RZ", "5");
        let lines = [first, ("LDGDEPBAR", "2:W0"), ("LDGDEPBAR", "2:W0"), (depbar, "4"), reads, EXIT];
        findings(&cubin(Arch::Sm80, 80, &lines)).iter().any(|text| text.contains("read after write R4"))
    };
    let load = ("LDG.E R4, [R2.64]", "2:W0");
    assert!(found(load, "DEPBAR.LE SB0, 0x1"));
    assert!(!found(load, "DEPBAR.LE SB0, 0x0"));
}

/// What ends a group of copies in bulk counts it.
#[test]
fn groups_of_bulk_copies_are_counted() {
    let found = |control| {
        let lines = [("UTMACMDFLUSH", control), ("DEPBAR.LE SB0, 0x0", "4"), EXIT];
        findings(&cubin(Arch::Sm90, 90, &lines)).iter().any(|text| text.contains("is not counted"))
    };
    assert!(!found("2:R0"));
    assert!(found("2") && found("2:R1"));
}

/// A barrier that counts reads its register late.
#[test]
fn registers_of_barriers_are_kept() {
    let lines = |barrier, behind| {
        vec![
            ("S2R R4, SR_TID.X", "2:W1"),
            ("BAR.RED.POPC.DEFER_BLOCKING R4, R4, PT", barrier),
            ("IADD3 R4, R4, 0x1, RZ", behind),
            EXIT,
        ]
    };
    for (barrier, behind) in [("6:R2:B1", "5"), ("6:B1", "5")] {
        let broken = lines(barrier, behind);
        assert!(!findings(&cubin(Arch::Sm90, 90, &broken)).is_empty(), "{barrier} {behind}");
    }
    assert_eq!(findings(&cubin(Arch::Sm90, 90, &lines("6:R2:B1", "5:B2"))), Vec::<String>::new());
}

/// A product of integers comes late: what is written behind it must come later.
#[test]
fn what_a_product_would_overwrite_is_written_late() {
    let lines = |product| {
        vec![("IMMA.16832.S8.S8 R4, R12.ROW, R20.COL, R4", product), ("NOP", "1"), ("HFMA2 R6, R2, R2, R2", "5"), EXIT]
    };
    let found = |product| !findings(&cubin(Arch::Sm100, 100, &lines(product))).is_empty();
    assert!(!found("15"), "{:?}", findings(&cubin(Arch::Sm100, 100, &lines("15"))));
    assert!(found("11") && found("8"));
}

/// The instruction behind one on 64 bits waits for both halves.
#[test]
fn arithmetic_of_64_bits_takes_two_cycles() {
    for line in [
        "MOV.64 R12, R10",
        "SEL.64 R12, R10, R8, P0",
        "IADD.64 R12, R10, R8",
        "ISETP.GE.U64.AND P0, PT, R10, R8, PT",
        "IMNMX.S64 PT, PT, R12, R10, R8, P0, !PT",
    ] {
        let found = |control| {
            let lines = [(line, control), ("NOP", "1"), EXIT];
            findings(&cubin(Arch::Sm120, 120, &lines)).iter().any(|text| text.contains("where 2 are needed"))
        };
        assert!(found("1") && !found("2"), "{line}");
    }
    let narrow = [("IADD R12, R10, R8", "1"), ("NOP", "1"), EXIT];
    assert_eq!(findings(&cubin(Arch::Sm120, 120, &narrow)), Vec::<String>::new());
}

/// Whatever copies out of shared memory finds the fences done, a box whose shape is in operands too.
#[test]
fn copies_out_of_shared_memory_wait_for_fences() {
    const RESHAPED: &str = "UTMASTG.2D.TENSOR_GADDR.TENSOR_STRIDE_SIZE_MAX256 [UR8], [UR12], UR4";
    for copy in ["UTMASTG.2D [UR8], [UR4]", RESHAPED] {
        let findings = |control| {
            let lines = [("FENCE.VIEW.ASYNC.S", "2:W1"), ("LDS R4, [RZ]", "2:W3"), (copy, control), EXIT];
            findings(&cubin(Arch::Sm107, 107, &lines))
        };
        assert!(!findings("5:B1").iter().any(|text| text.contains("fence of the async")), "{copy}");
        assert!(findings("5").iter().any(|text| text.contains("fence of the async")), "{copy}");
    }
}

/// A product of a warpgroup is not waited for at once; who arrives for the next one may come at once.
#[test]
fn products_of_warpgroups_are_waited_for_late() {
    let found = |next| {
        let lines = [("HGMMA.64x64x16.F32 R24, R196, gdesc[UR4].tnspB, R24, gsb0", "1"), (next, "8"), EXIT];
        findings(&cubin(Arch::Sm90, 90, &lines)).iter().any(|text| text.contains("issues 1 cycles later"))
    };
    assert!(found("WARPGROUP.DEPBAR.LE gsb0, 0x0"));
    assert!(!found("WARPGROUP.ARRIVE"));
}

/// A distance that ptxas's code never falls below holds, where no published number speaks for it too.
#[test]
fn distances_that_were_seen_hold() {
    // Behind the stall one more cycle passes.
    for (arch, number, first, second, [right, wrong]) in [
        (Arch::Sm75, 75, "LOP3.LUT R8, R18, 0x3c, RZ, 0xc0, !PT", "LDC R7, c[0x3][R8]", ["5", "4"]),
        (Arch::Sm89, 89, "IMAD.MOV.U32 R19, RZ, RZ, R30", "HMMA.1688.F16 R44, R18, R12, R44", ["6", "5"]),
        (Arch::Sm80, 80, "IMMA.16816.S8.S8 R4, R12.ROW, R20.COL, R4", "IADD3 R8, R4, 0x1, RZ", ["15", "14"]),
    ] {
        let found = |stall| {
            let lines = [(first, stall), ("NOP", "1"), (second, "15"), ("NOP", "15"), EXIT];
            findings(&cubin(arch, number, &lines)).iter().any(|text| text.contains("read after write"))
        };
        assert!(!found(right) && found(wrong), "{first}");
    }
}

#[test]
fn control_flow_waits_by_itself() {
    let alone = |line| vec![line, EXIT];
    for (arch, number, right, at, wrong) in [
        (Arch::Sm80, 80, alone(("NOP", "1")), 1, ("EXIT", "4")),
        (Arch::Sm90, 90, alone(("BRA -> 1", "5")), 0, ("BRA -> 1", "4")),
        (Arch::Sm80, 80, alone(("DEPBAR.LE SB0, 0x0", "4")), 0, ("DEPBAR.LE SB0, 0x0", "3")),
        (Arch::Sm75, 75, alone(("MEMBAR.SC.GPU", "5")), 0, ("MEMBAR.SC.GPU", "4")),
        (Arch::Sm80, 80, alone(("MEMBAR.SC.GPU", "6")), 0, ("MEMBAR.SC.GPU", "5")),
        (Arch::Sm100, 100, alone(("WARPSYNC.ALL", "5")), 0, ("WARPSYNC.ALL", "4")),
        (Arch::Sm75, 75, alone(("BAR.SYNC 0x0", "5")), 0, ("BAR.SYNC 0x0", "4")),
        (Arch::Sm90, 90, alone(("BAR.SYNC.DEFER_BLOCKING 0x0", "6")), 0, ("BAR.SYNC.DEFER_BLOCKING 0x0", "5")),
        (Arch::Sm90, 90, vec![("CGAERRBAR", "8"), ("UCGABAR_ARV", "2"), EXIT], 0, ("CGAERRBAR", "7")),
        (Arch::Sm80, 80, vec![("BSSY B0, -> 2", "1"), ("BSYNC B0", "5"), EXIT], 1, ("BSYNC B0", "4")),
        (
            Arch::Sm90,
            90,
            vec![("BSSY B0, -> 4", "1"), ("@P0 BREAK B0", "5"), ("@P0 BRA -> 4", "5"), ("BSYNC B0", "5"), EXIT],
            1,
            ("@P0 BREAK B0", "4"),
        ),
    ] {
        judges_tell(arch, number, &right, at, wrong);
    }
}

/// What is read too early is what was there before.
#[test]
fn a_register_that_is_read_too_early_has_its_old_value() {
    let lines = |stall| {
        let mut lines = BUFFER.to_vec();
        lines.extend([
            ("IMAD.MOV.U32 R4, RZ, RZ, 0x1", "5"),
            ("IADD3 R4, R4, 0x20, RZ", stall),
            ("IADD3 R5, R4, 0x4, RZ", "6"),
            ("STG.E [R2.64+0x100], R5", "2"),
            EXIT,
        ]);
        lines
    };
    let code = |stall| cubin(Arch::Sm80, 80, &lines(stall));
    assert_eq!(run(&code("5"), old_values()), Ok(0x25));
    assert_eq!(run(&code("1"), old_values()), Ok(0x5));
    assert!(run(&code("1"), strict()).is_err());
    let load = |wait| {
        let mut lines = BUFFER.to_vec();
        lines.extend([
            ("IMAD.MOV.U32 R4, RZ, RZ, 0x1", "12"),
            ("LDG.E R4, [R2.64]", "2:W0"),
            ("STG.E [R2.64+0x100], R4", wait),
            EXIT,
        ]);
        cubin(Arch::Sm80, 80, &lines)
    };
    assert_eq!(run(&load("2:B0"), old_values()), Ok(INPUT));
    assert_eq!(run(&load("2"), old_values()), Ok(1));
}

/// Of two writes the one that takes longer comes last, and a guard is as old as any register.
#[test]
fn early_writes_are_lost_and_early_guards_are_old() {
    let code = |middle: &[Line]| {
        let mut lines = BUFFER.to_vec();
        lines.extend([("IMAD.MOV.U32 R4, RZ, RZ, 0x1", "5"), ("ISETP.EQ.AND P0, PT, RZ, RZ, PT", "13")]);
        lines.extend(middle);
        lines.extend([("STG.E [R2.64+0x100], R4", "2:B0"), EXIT]);
        cubin(Arch::Sm80, 80, &lines)
    };
    let overtaken = |wait| code(&[("LDG.E R4, [R2.64]", "2:W0"), ("IMAD.MOV.U32 R4, RZ, RZ, 0x2", wait)]);
    assert_eq!(run(&overtaken("5:B0"), old_values()), Ok(2));
    assert_eq!(run(&overtaken("5"), old_values()), Ok(INPUT));
    let guarded =
        |stall| code(&[("ISETP.NE.AND P0, PT, RZ, RZ, PT", stall), ("@P0 IMAD.MOV.U32 R4, RZ, RZ, 0x2", "5")]);
    assert_eq!(run(&guarded("13"), old_values()), Ok(1));
    assert_eq!(run(&guarded("1"), old_values()), Ok(2));
}
