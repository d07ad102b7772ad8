//! Whole kernels, written as SASS text, on the machine.
//!
//! The expected numbers are computed here from what the kernel is meant to do.

mod block_order;
mod divergence;
mod fabric;
mod faults;
mod memory;
mod waiting;

use crate::block::{BlockFault, Entry, fill_bank0};
use crate::constant::ConstantBanks;
use crate::grid::{self, Outcome};
use crate::machine::Machine;
use crate::program::Program;
use crate::resources::Resources;
use oriole_device::texture::{Image, Object, ObjectSpec, Objects};
use oriole_device::{Launch, Memory, Unstarted};
use oriole_isa::{Arch, Inst};
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
        resources: Resources {
            memory,
            heap: None,
            objects,
            unstarted: Unstarted::new(&entry.launch),
            constants: Arc::new(banks),
            max_local: 1024,
            absolute_local: 0,
        },
        program,
        max_instructions: limit,
        deadline: None,
        records: false,
        observer: None,
        skips_absent: false,
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
