//! Whole kernels, written as SASS text, on the machine: divergence, barriers, faults, determinism.
//!
//! The expected numbers are computed here from what the kernel is meant to do.

use crate::block::{BlockFault, Entry, fill_bank0};
use crate::constant::{BANKS, ConstantBanks};
use crate::grid::{self, Outcome};
use crate::machine::Machine;
use crate::program::Program;
use crate::state::Mask;
use crate::stats::Counts;
use crate::warp::Step;
use oriole_device::texture::{Image, Object, ObjectSpec, Objects};
use oriole_device::{Access, FaultKind, Launch, Memory, Space};
use oriole_isa::{Arch, Inst, Opcode};
use std::sync::Arc;

const ARCH: Arch = Arch::Sm80;
const CODE: u64 = 0x4_0000_0000;

/// Instructions of a text: one a line, `name:` before those that branches name.
fn assemble(text: &str, arch: Arch) -> Program {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut labels = Vec::new();
    let mut code = Vec::new();
    for line in lines {
        match line.strip_suffix(':') {
            Some(label) => labels.push((label, 16 * code.len() as i64)),
            None => code.push(line),
        }
    }
    let resolve = |name: &str| labels.iter().find(|(label, _)| *label == name).map(|(_, at)| *at);
    let inst = |line: &&str| oriole_isa::parse(line, arch, &resolve).unwrap_or_else(|error| panic!("{line}: {error}"));
    let insts: Vec<Inst> = code.iter().map(inst).collect();
    Program::of_insts(arch, CODE, insts)
}

/// What `run` makes of a launch.
fn launch_on<T>(
    program: &Program,
    memory: &Memory,
    objects: &Objects,
    launch: Launch,
    limit: u64,
    run: impl FnOnce(&Entry, &Machine<'_>) -> T,
) -> T {
    let entry = Entry {
        launch,
        pc: CODE,
        registers: 32,
        shared_size: 1024,
        has_tensor_book: false,
        is_cluster: false,
        grid_workspace: 0,
    };
    let mut banks = ConstantBanks::new();
    fill_bank0(&mut banks, &entry, program.arch);
    let machine = Machine {
        memory,
        heap: None,
        objects,
        constants: Arc::new(banks),
        program,
        max_local: 1024,
        max_instructions: limit,
        deadline: None,
        records: false,
        checker: None,
    };
    run(&entry, &machine)
}

/// A launch of a text with one parameter, a buffer of `words` words.
pub(crate) struct Run {
    grid: u32,
    block: u32,
    words: u64,
    workers: usize,
    limit: u64,
    arch: Arch,
}

impl Default for Run {
    fn default() -> Self {
        Run { grid: 1, block: 32, words: 64, workers: 1, limit: 1_000_000, arch: ARCH }
    }
}

impl Run {
    /// The words of the buffer, which has these at first, after a launch with one texture, which has handle 1.
    pub(crate) fn with_texture(text: &str, spec: &str, texels: &[u8], words: &[u32]) -> Vec<u32> {
        let run = Run::default();
        let program = assemble(text, run.arch);
        let mut memory = Memory::new();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let buffer = memory.allocate_with("the buffer", &bytes);
        let spec = ObjectSpec::parse(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
        assert_eq!(spec.image.bytes(), texels.len() as u64);
        let address = memory.allocate_with("the texture", texels);
        let mut objects = Objects::default();
        objects.add(Object { image: Image { address, ..spec.image }, sampler: spec.sampler });
        let launch = Launch { block: [run.block, 1, 1], params: buffer.to_le_bytes().to_vec(), ..Launch::default() };
        let grid = |entry: &Entry, machine: &Machine<'_>| grid::run(entry, machine, run.workers);
        let outcome = launch_on(&program, &memory, &objects, launch, run.limit, grid);
        assert!(outcome.fault.is_none(), "{:?}", outcome.fault);
        let read = memory.read(buffer, bytes.len() as u64).expect("the buffer is there");
        read.chunks(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    }

    fn of(&self, text: &str) -> (Outcome, Vec<u32>) {
        self.with(text, |entry, machine| grid::run(entry, machine, self.workers))
    }

    /// What `run` makes of the launch, and the words of the buffer afterwards.
    fn with<T>(&self, text: &str, run: impl FnOnce(&Entry, &Machine<'_>) -> T) -> (T, Vec<u32>) {
        let program = assemble(text, self.arch);
        let mut memory = Memory::new();
        let buffer = memory.allocate("the buffer", 4 * self.words);
        let launch = Launch {
            grid: [self.grid, 1, 1],
            block: [self.block, 1, 1],
            params: buffer.to_le_bytes().to_vec(),
            ..Launch::default()
        };
        let outcome = launch_on(&program, &memory, &Objects::default(), launch, self.limit, run);
        let bytes = memory.read(buffer, 4 * self.words).expect("it is ours");
        let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        (outcome, words.collect())
    }

    fn words(&self, text: &str) -> Vec<u32> {
        let (outcome, words) = self.of(text);
        assert!(outcome.fault.is_none(), "{:?}", outcome.fault);
        words
    }

    fn fault(&self, text: &str) -> BlockFault {
        self.of(text).0.fault.expect("a fault")
    }
}

/// R0: thread, R2: address of its word.
const PROLOGUE: &str = "
    S2R R0, SR_TID.X
    S2R R1, SR_CTAID.X
    MOV R2, c[0x0][0x160]
    MOV R3, c[0x0][0x164]
    MOV R10, R2
    MOV R11, R3
    IMAD.WIDE.U32 R2, R0, 0x4, R2
";

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
fn generic_addresses_take_negative_offsets() {
    let text = format!(
        "{PROLOGUE}
        IADD3 R12, P0, R2, 0x4, RZ
        IADD3.X R13, R3, RZ, RZ, P0, !PT
        ST.E [R12.64+-0x4], R0
        LD.E R4, [R12.64+-0x4]
        IADD3 R4, R4, 0x1, RZ
        STG.E [R12.64+-0x4], R4
        EXIT"
    );
    assert_eq!(Run::default().words(&text)[..32], (1..33).collect::<Vec<u32>>());
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

#[test]
fn an_endless_loop_meets_the_limit() {
    let fault = Run { limit: 1000, ..Run::default() }.fault("loop:\nBRA `(loop)");
    assert_eq!(fault.kind, FaultKind::InstructionLimit(1000));
}

#[test]
fn a_store_past_the_buffer_names_the_lane() {
    let text = format!("{PROLOGUE}\nSTG.E [R2.64+0xc0], R0\nEXIT");
    let fault = Run::default().fault(&text);
    assert_eq!(fault.thread, 16);
    let FaultKind::IllegalAddress { nearest, .. } = &fault.kind else { panic!("{:?}", fault.kind) };
    assert_eq!(nearest.as_ref().map(|nearest| nearest.name.as_str()), Some("the buffer"));
}

#[test]
fn running_off_the_code_is_a_bad_jump() {
    let fault = Run::default().fault("NOP");
    assert_eq!(fault.kind, FaultKind::BadJump(CODE + 16));
}

#[test]
fn a_jump_to_nowhere_names_the_instruction_that_jumps() {
    let text = "
        S2R R0, SR_LANEID
        ISETP.EQ.U32.AND P0, PT, R0, 0x5, PT
        MOV R4, 0x1230
        MOV R5, 0x7
        @P0 CALL.ABS.NOINC R4
        EXIT";
    let fault = Run::default().fault(text);
    assert_eq!((fault.kind, fault.pc, fault.thread), (FaultKind::BadJump(0x7_0000_1230), Some(CODE + 64), 5));
}

#[test]
fn a_read_past_a_constant_bank_is_a_fault_in_the_lanes_that_read() {
    let text = "
        S2R R0, SR_LANEID
        ISETP.GE.U32.AND P0, PT, R0, 0x3, PT
        @P0 LDC R4, c[0x3][R0]
        EXIT";
    let fault = Run::default().fault(text);
    let kind =
        FaultKind::IllegalAddress { space: Space::Constant, access: Access::Read, address: 3, size: 4, nearest: None };
    assert_eq!((fault.kind, fault.thread), (kind, 3));
}

#[test]
fn an_operand_past_its_constant_bank_is_a_fault_where_it_is_reached() {
    let insts = ["@!PT MOV R4, c[0x3][0x10]", "MOV R4, c[0x3][0xc]", "MOV R4, c[0x3][0x10]"];
    let words = insts.map(|text| oriole_isa::parse(text, ARCH, &|_| None).expect("an instruction"));
    let words = words.iter().flat_map(|inst| oriole_isa::encode(inst, ARCH, 0).expect("it has a word").to_le_bytes());
    let mut banks = [0; BANKS];
    (banks[0], banks[3]) = (u64::MAX, 0x10);
    let program = Program::new(ARCH, false, banks, [("k".to_owned(), CODE, words.collect())]);
    let run = |entry: &Entry, machine: &Machine<'_>| grid::run(entry, machine, 1);
    let outcome = launch_on(&program, &Memory::new(), &Objects::default(), Launch::default(), 10, run);
    let fault = outcome.fault.expect("the last one");
    assert_eq!(fault.pc, Some(CODE + 32));
    assert!(matches!(fault.kind, FaultKind::IllegalAddress { space: Space::Constant, address: 0x10, .. }));
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

#[test]
fn a_copy_whose_source_is_ignored_leaves_zeros() {
    // Lanes below 8 ignore the source, with ZFILL and without; the places of lanes below 4 are not touched at all.
    for fills in ["", ".ZFILL"] {
        let text = format!(
            "{PROLOGUE}
            MOV R4, 0x777
            SHF.L.U32 R5, R0, 0x3, RZ
            STS [R5], R4
            STS [R5+0x4], R4
            STG.E [R2.64], R0
            IMAD.WIDE.U32 R6, R0, 0x8, R10
            ISETP.GE.U32.AND P0, PT, R0, 0x8, PT
            ISETP.GE.U32.AND P1, PT, R0, 0x4, PT
            @P1 LDGSTS.E.64{fills} [R5], [R6.64], P0
            LDGDEPBAR
            DEPBAR.LE SB0, 0x0
            LDS.64 R8, [R5]
            IMAD R9, R9, 0x3e8, R8
            STG.E [R2.64+0x80], R9
            EXIT"
        );
        let words = Run::default().words(&text);
        let expected = |lane: u32| match lane {
            0..4 => 0x777 * 1001,
            4..8 => 0,
            // Words 2 * lane and 2 * lane + 1 of the buffer, whose first 32 count.
            8..16 => (2 * lane + 1) * 1000 + 2 * lane,
            _ => 0,
        };
        assert_eq!(words[32..64], (0..32).map(expected).collect::<Vec<u32>>(), "{fills}");
    }
}

#[test]
fn the_words_of_a_mask_lie_in_consecutive_registers() {
    // Mask 0xd5: words 0 and 2 of the lower half in R12 and R13, 0, 2 and 3 of the upper in R16, R17 and R18.
    let text = "
        S2R R0, SR_TID.X
        MOV R2, c[0x0][0x380]
        MOV R3, c[0x0][0x384]
        IMAD.WIDE.U32 R4, R0, 0x4, R2
        STG.E [R4.64], R0
        MOV R14, 0x63
        MOV R15, 0x63
        MOV R19, 0x63
        LDG.E.ENL2.256 R16, R12, [R2.64], 0xd5
        ISETP.EQ.U32.AND P0, PT, R0, 0x0, PT
        @P0 STG.E.128 [R2.64+0x80], R12
        @P0 STG.E.128 [R2.64+0x90], R16
        @P0 STG.E.ENL2.256 [R2.64+0xa0], R12, R16, 0xd5
        EXIT";
    let words = Run { arch: Arch::Sm100, ..Run::default() }.words(text);
    assert_eq!(words[32..40], [0, 2, 0x63, 0x63, 4, 6, 7, 0x63]);
    assert_eq!(words[40..48], [0, 0, 2, 0, 4, 0, 6, 7]);
}

#[test]
fn tickets_are_given_in_the_order_of_blocks_on_any_number_of_threads() {
    // Word b = the ticket that block b draws; word 63 counts.
    let text = "
        S2R R1, SR_CTAID.X
        MOV R2, c[0x0][0x160]
        MOV R3, c[0x0][0x164]
        MOV R4, 0x1
        ATOMG.E.ADD.STRONG.GPU PT, R5, [R2.64+0xfc], R4
        IMAD.WIDE.U32 R2, R1, 0x4, R2
        STG.E [R2.64], R5
        EXIT";
    for workers in [1, 2, 5] {
        let words = Run { grid: 40, block: 1, workers, ..Run::default() }.words(text);
        assert_eq!(words[..40], (0..40).collect::<Vec<u32>>());
    }
}

#[test]
fn a_barrier_of_the_whole_grid_is_passed() {
    // Every block adds one to word 63 and waits until all have; then each writes what it sees.
    let text = "
        S2R R1, SR_CTAID.X
        MOV R2, c[0x0][0x160]
        MOV R3, c[0x0][0x164]
        MOV R4, 0x1
        ATOMG.E.ADD.STRONG.GPU PT, R5, [R2.64+0xfc], R4
        wait:
        LDG.E.STRONG.GPU R6, [R2.64+0xfc]
        ISETP.NE.U32.AND P0, PT, R6, c[0x0][0xc], PT
        @P0 BRA `(wait)
        IMAD.WIDE.U32 R2, R1, 0x4, R2
        STG.E [R2.64], R6
        EXIT";
    for workers in [1, 4] {
        let run = Run { grid: 8, block: 1, workers, limit: 100_000_000, ..Run::default() };
        assert_eq!(run.words(text)[..8], [8; 8]);
    }
}

#[test]
fn float_sums_are_in_the_order_of_blocks_on_any_number_of_threads() {
    // Block b adds the float with bits 0x3f800000 + b * 0x300000: rounding depends on the order.
    let text = "
        S2R R1, SR_CTAID.X
        MOV R2, c[0x0][0x160]
        MOV R3, c[0x0][0x164]
        IMAD R5, R1, 0x300000, RZ
        IADD3 R5, R5, 0x3f800000, RZ
        RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R5
        EXIT";
    let values = (0..60u32).map(|block| f32::from_bits(0x3f80_0000 + block * 0x30_0000));
    let expected = values.clone().fold(0.0f32, |sum, value| sum + value);
    assert_ne!(expected, values.rev().fold(0.0f32, |sum, value| sum + value), "the order matters");
    for workers in [1, 2, 7] {
        let words = Run { grid: 60, block: 1, workers, ..Run::default() }.words(text);
        assert_eq!(f32::from_bits(words[0]), expected);
    }
}

#[test]
fn a_warp_is_driven_instruction_by_instruction() {
    let text = format!("{PROLOGUE}\n ISETP.LT.U32.AND P0, PT, R0, 0xa, PT\n @P0 STG.E [R2.64+0x8], R0\n EXIT");
    let drive = |entry: &Entry, machine: &Machine<'_>| {
        let (mut warps, mut block) = entry.start(0, 0, machine);
        block.log = Some(Box::default());
        let mut seen = Vec::new();
        let mut counts = Counts::default();
        while let Step::Issued(issued) = warps[0].step_one(machine, &mut block, &mut counts).expect("no fault") {
            let accesses = block.log.as_ref().expect("we gave one").accesses().to_vec();
            seen.push((issued.op.inst.as_ref().expect("decoded").opcode, issued.active, accesses));
        }
        (entry.launch.params.clone(), seen)
    };
    let ((params, seen), _) = Run::default().with(&text, drive);
    let buffer = u64::from_le_bytes(params.try_into().expect("one address"));
    let opcodes: Vec<Opcode> = seen.iter().map(|(opcode, ..)| *opcode).collect();
    assert_eq!(opcodes[7..], [Opcode::ISETP, Opcode::STG, Opcode::EXIT]);
    for (opcode, active, accesses) in seen {
        if opcode != Opcode::STG {
            assert_eq!((active, accesses.len()), (Mask::MAX, 0), "{opcode:?}");
            continue;
        }
        let [access] = &accesses[..] else { panic!("{accesses:?}") };
        assert_eq!((active, access.lanes, access.bytes), (0x3ff, 0x3ff, 4));
        assert_eq!((access.space, access.kind), (Space::Global, oriole_device::Access::Write));
        let expected: Vec<u64> = (0..10).map(|thread| buffer + 4 * thread + 8).collect();
        assert_eq!(access.addresses[..10], expected);
    }
}

#[test]
fn lanes_of_one_load_may_go_to_several_spaces() {
    let text = format!(
        "{PROLOGUE}
        IMAD R4, R0, 0x3, RZ
        STG.E [R2.64], R4
        IADD3 R6, R4, 0x64, RZ
        SHF.L.U32 R5, R0, 0x2, RZ
        STS [R5], R6
        MOV R8, R2
        MOV R9, R3
        ISETP.LT.U32.AND P0, PT, R0, 0xa, PT
        @P0 MOV R8, R5
        @P0 MOV R9, 0x1
        LD.E R7, [R8.64]
        STG.E [R2.64], R7
        EXIT"
    );
    let words = Run::default().words(&text);
    let expected: Vec<u32> = (0..32).map(|thread| 3 * thread + if thread < 10 { 100 } else { 0 }).collect();
    assert_eq!(words[..32], expected);
}

#[test]
fn vectors_and_parts_of_words_come_to_their_lanes() {
    // Each thread stores four words to shared memory and loads its right neighbour's, backwards, and
    // one byte of the second of them.
    let text = format!(
        "{PROLOGUE}
        IMAD R4, R0, 0x4, RZ
        IADD3 R5, R4, 0x101, RZ
        IADD3 R6, R4, 0x202, RZ
        IADD3 R7, R4, 0x303, RZ
        SHF.L.U32 R12, R0, 0x4, RZ
        STS.128 [R12], R4
        IADD3 R13, R12, 0x10, RZ
        LOP3.LUT R13, R13, 0x1ff, RZ, 0xc0, !PT
        LDS.128 R16, [R13]
        LDS.U8 R20, [R13+0x4]
        LDS.S16 R21, [R13+0xc]
        IADD3 R22, R16, R17, R18
        IADD3 R22, R22, R19, R20
        IADD3 R22, R22, R21, RZ
        STG.E [R2.64], R22
        EXIT"
    );
    let words = Run::default().words(&text);
    let expected = |thread: u32| {
        let first = 4 * ((thread + 1) % 32);
        4 * first + 0x606 + ((first + 0x101) & 0xff) + first + 0x303
    };
    assert_eq!(words[..32], (0..32).map(expected).collect::<Vec<u32>>());
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
