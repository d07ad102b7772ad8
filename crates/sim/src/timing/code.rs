//! What the cycle model needs to know of each instruction, worked out once.

use crate::instruction::INSTRUCTION;
use crate::program::Program;
use crate::timing::lines::{code_line, constant_address, constant_part};
use crate::timing::trace::{BlockTrace, has_request, is_copy};
use oriole_isa::chip::{Chip, TensorProduct, Unit, tensor_access};
use oriole_isa::{
    Arch, Control, Field, Gsb, Inst, MaxregOp, Mem, Opcode, OperandFlags, Pipe, RegFile, Role, Unscheduled, Value,
    Warpgroup, latency,
};

/// What an instruction does to time beyond occupying its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing.
    None,
    /// Goes through the memory pipeline.
    Memory,
    /// `ARRIVES`: through the memory pipeline too; the arrival comes when the copies to shared memory so far are done.
    ArriveBehindCopies,
    /// Goes to the unit that copies in bulk.
    Copy,
    /// `DEPBAR.LE`: waits until at most `left` operations of a scoreboard are open.
    WaitCount {
        /// The scoreboard.
        scoreboard: u8,
        /// How many may be.
        left: u8,
    },
    /// `LDGDEPBAR`, `UTMACMDFLUSH`: ends a group of copies to shared memory, or in bulk out of it.
    EndCopies,
    /// A product of a warpgroup, which goes on after its issue.
    Product {
        /// It ends a group of products.
        commits: bool,
    },
    /// `WARPGROUP.DEPBAR`: waits until at most this many groups of products are open.
    WaitProducts(u8),
    /// `NANOSLEEP`.
    Sleep {
        /// About how long.
        nanoseconds: u32,
        /// No longer than until the phase is over that the warp looked at last.
        at_mbarrier: bool,
    },
    /// `USETMAXREG`: the registers of a thread from now on; the warp gives back the rest.
    GiveRegisters(u16),
    /// `USETMAXREG`: the registers of a thread that the warp waits for.
    TakeRegisters(u16),
    /// A product in tensor memory.
    TensorProduct(TensorProduct),
    /// A copy to tensor memory, with its cycles.
    TensorCopy(u64),
    /// `UTCBAR`: an arrival when the products and copies so far are done.
    TensorArrival,
    /// A load or a store of tensor memory.
    TensorAccess {
        /// Registers of each thread.
        registers: u16,
        /// It stores.
        stores: bool,
    },
}

/// A read of general registers by a fixed-latency instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegisterRead {
    /// The first register.
    pub(crate) register: u8,
    /// How many.
    pub(crate) width: u8,
    /// The value is kept for the next instruction.
    pub(crate) reuse: bool,
}

/// How an instruction reads a constant whose place it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantUse {
    /// As an operand, which has to be there when it issues.
    Operand {
        /// The part of the bank.
        part: u64,
    },
    /// As the value that it loads.
    Load {
        /// The part of the bank.
        part: u64,
    },
}

/// The time that an instruction takes.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    /// The unit that executes it.
    pub(crate) unit: Unit,
    /// Cycles in which the unit can take no other.
    pub(crate) cycles: u16,
    /// Cycles until the next instruction of the warp.
    pub(crate) stall: u8,
    /// Scoreboards to wait for.
    pub(crate) waits: u8,
    /// Scoreboard of its results.
    pub(crate) write_scoreboard: Option<u8>,
    /// Scoreboard of its sources.
    pub(crate) read_scoreboard: Option<u8>,
    /// Cycles from issue until the results are there, if nothing is in the way.
    pub(crate) latency: u16,
    /// Cycles from issue until the sources have been read.
    pub(crate) read_latency: u16,
    /// Cycles that wide results take beyond 32 bits, and wide data of stores.
    pub(crate) width_cycles: u16,
    /// What else it does.
    pub(crate) effect: Effect,
    /// The trace has a request for it.
    pub(crate) has_request: bool,
    /// It goes past the first-level cache.
    pub(crate) bypasses_l1: bool,
    /// It returns something.
    pub(crate) has_result: bool,
    /// Sources for the register banks: operands A, B, C.
    pub(crate) reads: [Option<RegisterRead>; 3],
    /// The constant that it reads; of `LDC` the trace knows.
    pub(crate) constant: Option<ConstantUse>,
}

/// The costs of all instructions that a launch has executed.
pub(crate) struct Code {
    start: u64,
    /// The lowest place executed; indices count from it.
    first: u32,
    costs: Vec<Option<Cost>>,
}

impl Code {
    /// The costs of what these blocks have executed.
    pub(crate) fn of(program: &Program, chip: &Chip, traces: &[BlockTrace]) -> Code {
        let runs = || traces.iter().flatten().flat_map(|warp| &warp.runs);
        let first = runs().map(|run| run.start).min().unwrap_or(0);
        let end = runs().map(|run| run.start + run.length).max().unwrap_or(0);
        let mut costs = vec![None; (end - first) as usize];
        // The longest run from each place that has been looked at: most runs repeat.
        let mut known = vec![0; costs.len()];
        for run in runs() {
            let start = (run.start - first) as usize;
            if known[start] >= run.length {
                continue;
            }
            known[start] = run.length;
            for place in run.start..run.start + run.length {
                let cost = &mut costs[(place - first) as usize];
                if cost.is_none() {
                    let inst = program.inst(program.start() + u64::from(place) * INSTRUCTION);
                    *cost = inst.map(|inst| Cost::of(inst, program.arch, chip));
                }
            }
        }
        Code { start: program.start(), first, costs }
    }

    /// Number of places, executed or not.
    pub(crate) fn len(&self) -> usize {
        self.costs.len()
    }

    /// The last line with something executed.
    pub(crate) fn last_line(&self) -> u64 {
        code_line(self.first + (self.costs.len() as u32).saturating_sub(1))
    }

    /// The code address of the instruction with that index.
    pub(crate) fn address(&self, index: usize) -> u64 {
        self.start + (u64::from(self.first) + index as u64) * INSTRUCTION
    }

    /// The index and the cost of the instruction at a place of a trace.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> Option<(usize, &Cost)> {
        let index = place.checked_sub(self.first)? as usize;
        Some((index, self.costs.get(index)?.as_ref()?))
    }
}

fn named(scoreboard: u8) -> Option<u8> {
    (scoreboard < Control::NO_SCOREBOARD - 1).then_some(scoreboard)
}

impl Cost {
    fn of(inst: &Inst, arch: Arch, chip: &Chip) -> Cost {
        let mut demand = chip.demand(inst);
        let effect = Effect::of(inst, arch, chip);
        if matches!(effect, Effect::Memory | Effect::ArriveBehindCopies) && demand.unit != Unit::Texture {
            demand.unit = Unit::Memory;
        }
        if inst.opcode == Opcode::WARPGROUP {
            // It waits for products, if for anything, not for their unit.
            demand.unit = Unit::Control;
        }
        let control = inst.control;
        // A cleared bit keeps the warp from issuing in the next cycle (Huerta et al., "Yield").
        let least = if control.stay { 1 } else { 2 };
        let words = width_of(inst, Role::D).max(width_of(inst, Role::Data));
        let per_word = 128 / chip.memory_pipe.writeback.max(1);
        Cost {
            unit: demand.unit,
            cycles: demand.cycles.max(chip.operand_cycles(inst)),
            stall: control.stall.max(least),
            waits: control.wait_mask,
            write_scoreboard: named(control.write_scoreboard),
            read_scoreboard: named(control.read_scoreboard),
            latency: chip.latency(inst),
            read_latency: read_latency(inst, chip),
            width_cycles: per_word * words.saturating_sub(1),
            effect,
            has_request: has_request(inst),
            bypasses_l1: bypasses_l1(inst),
            has_result: has_result(inst),
            reads: if latency::is_variable(inst, arch) { [None; 3] } else { register_reads(inst, arch) },
            constant: constant_use(inst),
        }
    }
}

impl Effect {
    fn of(inst: &Inst, arch: Arch, chip: &Chip) -> Effect {
        let access = tensor_access(inst).map(|(registers, stores)| Effect::TensorAccess { registers, stores });
        if let Some(effect) = TensorProduct::of(inst).map(Effect::TensorProduct).or(access) {
            return effect;
        }
        let immediate = |role| inst.opcode.position(role).and_then(|at| inst.operands.get(at)).map(|o| o.value);
        match inst.opcode {
            Opcode::HGMMA | Opcode::QGMMA | Opcode::IGMMA | Opcode::BGMMA => {
                Effect::Product { commits: inst.get(Field::GSB) == Gsb::GSB0 }
            }
            Opcode::WARPGROUP if inst.get(Field::WARPGROUP) == Warpgroup::DEPBAR => match immediate(Role::Count) {
                Some(Value::Imm(left)) => Effect::WaitProducts(left as u8),
                _ => Effect::WaitProducts(0),
            },
            Opcode::DEPBAR => match (immediate(Role::A), immediate(Role::B)) {
                (Some(Value::Reg(RegFile::SB, scoreboard)), Some(Value::Imm(left))) => {
                    Effect::WaitCount { scoreboard: (scoreboard % 6) as u8, left: left as u8 }
                }
                _ => Effect::None,
            },
            Opcode::LDGDEPBAR | Opcode::UTMACMDFLUSH => Effect::EndCopies,
            Opcode::NANOSLEEP => match immediate(Role::A) {
                Some(Value::Imm(nanoseconds)) => {
                    Effect::Sleep { nanoseconds: nanoseconds as u32, at_mbarrier: inst.get(Field::SLEEP_SYNCS) }
                }
                _ => Effect::None,
            },
            Opcode::USETMAXREG => match (immediate(Role::A), inst.get(Field::MAXREG_OP) == MaxregOp::TRY_ALLOC) {
                (Some(Value::Imm(count)), true) => Effect::TakeRegisters(count as u16),
                (Some(Value::Imm(count)), false) => Effect::GiveRegisters(count as u16),
                _ => Effect::None,
            },
            Opcode::ARRIVES => Effect::ArriveBehindCopies,
            Opcode::UTCBAR => Effect::TensorArrival,
            Opcode::UTCCP => Effect::TensorCopy(chip.tensor_copy_cycles(inst)),
            _ if is_copy(inst) => Effect::Copy,
            _ if inst.opcode.info().pipe == Pipe::Memory => Effect::Memory,
            _ if has_request(inst) && latency::is_variable(inst, arch) => Effect::Memory,
            _ => Effect::None,
        }
    }
}

/// Registers of the operand with that role.
fn width_of(inst: &Inst, role: Role) -> u16 {
    inst.opcode.position(role).map_or(0, |at| u16::from(inst.width(at)))
}

fn has_result(inst: &Inst) -> bool {
    let result = |role| inst.opcode.position(role).and_then(|at| inst.operands.get(at)).map(|o| o.value);
    let is_there = |value| !matches!(value, Value::None | Value::Reg(RegFile::R | RegFile::UR, 255));
    result(Role::D).is_some_and(is_there)
}

/// Loads that are strong at device scope or beyond see the second-level cache.
fn bypasses_l1(inst: &Inst) -> bool {
    matches!(inst.get(Field::MEM), Mem::STRONG_GPU | Mem::MMIO_GPU | Mem::STRONG_SYS | Mem::MMIO_SYS)
}

/// Cycles until the sources of a variable-latency instruction have been read.
fn read_latency(inst: &Inst, chip: &Chip) -> u16 {
    let pipe = &chip.memory_pipe;
    match inst.opcode {
        Opcode::STG | Opcode::ST | Opcode::STL | Opcode::REDG | Opcode::ATOMG | Opcode::ATOM => pipe.read_data,
        Opcode::LDG | Opcode::LD | Opcode::LDL | Opcode::LDGSTS => pipe.read_address,
        _ => pipe.read_shared,
    }
}

/// The constant that `inst` reads at a place that no register moves.
fn constant_use(inst: &Inst) -> Option<ConstantUse> {
    let place = inst.operands.iter().find_map(|operand| match operand.value {
        Value::Const { bank, offset } => Some(constant_address(bank, offset)),
        _ => None,
    });
    let base = inst.opcode.position(Role::Base).and_then(|at| inst.operands.get(at)).map(|operand| operand.value);
    let is_moved = matches!(base, Some(Value::Reg(file, number)) if file.zero() != Some(number));
    let part = constant_part(place.filter(|_| !is_moved)?);
    match inst.opcode {
        Opcode::LDC => None,
        Opcode::LDCU => Some(ConstantUse::Load { part }),
        _ => Some(ConstantUse::Operand { part }),
    }
}

/// The general registers that a fixed-latency instruction reads, by their place in the operand cache.
fn register_reads(inst: &Inst, arch: Arch) -> [Option<RegisterRead>; 3] {
    let word = Unscheduled::new(inst, arch).ok();
    let mut reads = [None; 3];
    for (source, role) in [Role::A, Role::B, Role::C].into_iter().enumerate() {
        let Some((at, operand)) = inst.opcode.position(role).and_then(|at| Some((at, inst.operands.get(at)?))) else {
            continue;
        };
        let Value::Reg(RegFile::R, register @ 0..255) = operand.value else { continue };
        let place = word.and_then(|word| word.kept_place(at, arch)).map_or(source, usize::from);
        reads[place.min(2)] = Some(RegisterRead {
            register: register as u8,
            width: inst.width(at).clamp(1, 4),
            reuse: operand.flags.contains(OperandFlags::REUSE),
        });
    }
    reads
}
