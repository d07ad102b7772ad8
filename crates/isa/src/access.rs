//! Which registers an instruction reads and writes, and what tells that it is done with each.
//!
//! The strict simulator and the static checker judge control words by these facts. Source: what ptxas's
//! code relies on (`docs/isa/latency.md`; `docs/sources.md`, Latencies).

use crate::latency::{self, LatencyClass, Queue, Slot};
use crate::{Arch, Field, FieldId, Inst, Opcode, Pipe, RegFile, Role, Value, Warpgroup};
use smallvec::SmallVec;
use std::fmt;

/// Scoreboards that an instruction can name: the six of the control word, and [`GSB`].
pub const SCOREBOARDS: usize = 7;
/// The number here of the scoreboard `gsb0`, which counts products of a warpgroup.
pub const GSB: u8 = 6;

/// A register of one of the files whose hazards software has to avoid: R, UR, P, UP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register {
    file: RegFile,
    number: u16,
}

/// The files: name, number of registers, numbers of [`Register::index`] before them.
const FILES: [(RegFile, &str, u16, u16); 4] =
    [(RegFile::R, "R", 256, 0), (RegFile::UR, "UR", 256, 256), (RegFile::P, "P", 8, 512), (RegFile::UP, "UP", 8, 520)];

impl Register {
    /// Registers of all files together.
    pub const COUNT: usize = 256 + 256 + 8 + 8;

    /// The register, unless it always reads as zero (or true) or is of a file that needs no care.
    pub fn new(file: RegFile, number: u16) -> Option<Register> {
        let (_, _, size, _) = FILES.iter().find(|(f, ..)| *f == file)?;
        (number < *size && file.zero() != Some(number)).then_some(Register { file, number })
    }

    /// Its file.
    pub fn file(self) -> RegFile {
        self.file
    }

    /// Its number in the file.
    pub fn number(self) -> u16 {
        self.number
    }

    /// A number below [`Register::COUNT`] of its own.
    pub fn index(self) -> usize {
        // The four files are the first variants, in this order.
        let (_, _, _, before) = FILES[self.file as usize & 3];
        usize::from(before + self.number)
    }

    /// The register with that [`Register::index`].
    pub fn from_index(index: usize) -> Option<Register> {
        let index = u16::try_from(index).ok()?;
        let (file, _, size, before) = FILES.iter().rev().find(|(_, _, _, before)| *before <= index)?;
        (index - before < *size).then(|| Register { file: *file, number: index - before })
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, name, ..) = FILES[self.file as usize & 3];
        write!(f, "{name}{}", self.number)
    }
}

/// Something that instructions do one after the other: when a later one is known to be done, so are
/// the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Results of a queue.
    Results(Queue),
    /// Reading the sources, of instructions of a queue.
    Sources(Queue),
    /// Reading the sources, of all that go to memory.
    MemorySources,
    /// Products of a warpgroup.
    Products,
    /// Reading the sources, of asynchronous copies, as their groups end.
    CopySources,
}

impl Order {
    /// How many there are.
    pub const COUNT: usize = 2 * Queue::COUNT + 3;

    /// A number below [`Order::COUNT`] of its own.
    pub fn index(self) -> usize {
        match self {
            Order::Results(queue) => queue as usize,
            Order::Sources(queue) => Queue::COUNT + queue as usize,
            Order::MemorySources => 2 * Queue::COUNT,
            Order::Products => 2 * Queue::COUNT + 1,
            Order::CopySources => 2 * Queue::COUNT + 2,
        }
    }
}

/// What tells that an instruction is done with a register, where no number of cycles does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The scoreboards of the instruction that say so, a bit each: any one is enough.
    pub scoreboards: u8,
    /// The one of them whose settings `DEPBAR` counts.
    pub counted: Option<u8>,
    /// A later instruction of the order that is done says so too.
    pub order: Option<Order>,
    /// So does a barrier of the block.
    pub ends_at_barrier: bool,
}

/// One register that an instruction reads or writes.
#[derive(Clone, Debug)]
pub struct Touch {
    /// The register.
    pub register: Register,
    /// Where the instruction names it.
    pub slot: Slot,
    /// `None`: the latency tables say how long it takes.
    pub held: Option<Held>,
    /// Earlier instructions of these orders are no hindrance, a bit each: this one comes after them anyway.
    pub behind: u32,
}

/// A wait: `scoreboard` may count `left` operations that are not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Its number, below [`SCOREBOARDS`].
    pub scoreboard: u8,
    /// 0: all are done.
    pub left: u8,
    /// The wait is in the control word, which does not see a scoreboard that the instruction just before sets
    /// ([`latency::SET_TO_WAIT`]); `DEPBAR` does.
    pub in_control: bool,
}

/// What an instruction does to registers and scoreboards.
#[derive(Clone, Debug)]
pub struct Touches {
    /// Registers that it reads.
    pub reads: Vec<Touch>,
    /// Registers that it writes.
    pub writes: Vec<Touch>,
    /// What it waits for before it issues.
    pub waits: SmallVec<[Wait; 2]>,
    /// The scoreboard that is released when its results are there, and that released when its sources are read.
    pub sets: [Option<u8>; 2],
    /// The order of its results.
    pub results: Option<Order>,
    /// The order in which it reads its sources.
    pub sources: Option<Order>,
    /// The block meets at it: see [`Held::ends_at_barrier`].
    pub is_barrier: bool,
}

impl Touches {
    /// What `inst` does.
    pub fn of(inst: &Inst, arch: Arch) -> Touches {
        let control = &inst.control;
        let named = |scoreboard: u8| (usize::from(scoreboard) < SCOREBOARDS - 1).then_some(scoreboard);
        let mut touches = Touches {
            reads: Vec::new(),
            writes: Vec::new(),
            waits: waits(inst),
            sets: [named(control.write_scoreboard), named(control.read_scoreboard)],
            results: None,
            sources: None,
            is_barrier: inst.opcode == Opcode::BAR,
        };
        [touches.results, touches.sources] = orders(inst, arch);
        if is_product(inst) {
            [touches.results, touches.sources] = [Some(Order::Products); 2];
            if commits(inst) {
                touches.sets[0] = Some(GSB);
            }
        }
        let guard_file = if inst.opcode.info().guard_uniform { RegFile::UP } else { RegFile::P };
        touches.add(inst, arch, Register::new(guard_file, inst.guard.predicate.into()), Slot::Guard, false);
        touches.operands(inst, arch);
        touches.packed_predicates(inst, arch);
        touches
    }

    /// The highest number of a file that the instruction names.
    pub fn highest(&self, file: RegFile) -> Option<u16> {
        let all = self.reads.iter().chain(&self.writes).map(|touch| touch.register);
        all.filter(|register| register.file == file).map(|register| register.number).max()
    }

    fn operands(&mut self, inst: &Inst, arch: Arch) {
        for (at, spec) in inst.opcode.signature().iter().enumerate() {
            let (file, number, width) = match inst.operands.get(at).map(|operand| operand.value) {
                Some(Value::Reg(file, number)) => (file, number, width(inst, at)),
                Some(Value::ConstBindless { ureg, .. }) => (RegFile::UR, ureg, 2),
                _ => continue,
            };
            if file.zero() == Some(number) {
                continue;
            }
            for part in 0..width {
                let slot = Slot::Operand { index: at as u8, register: part };
                self.add(inst, arch, Register::new(file, number.saturating_add(part.into())), slot, spec.is_def);
            }
        }
    }

    /// The predicates that `P2R` reads or `R2P` writes, which its signature does not name.
    fn packed_predicates(&mut self, inst: &Inst, arch: Arch) {
        if !matches!(inst.opcode, Opcode::P2R | Opcode::R2P) {
            return;
        }
        let mask = immediate(inst, Role::B).unwrap_or(0x7f);
        let writes = inst.opcode == Opcode::R2P;
        let slot = if writes { Slot::Guard } else { Slot::Operand { index: 0, register: 0 } };
        for number in (0..7).filter(|number| mask >> number & 1 != 0) {
            self.add(inst, arch, Register::new(RegFile::P, number), slot, writes);
        }
    }

    fn add(&mut self, inst: &Inst, arch: Arch, register: Option<Register>, slot: Slot, is_def: bool) {
        let Some(register) = register else { return };
        let [write, read] = self.sets;
        let bit = |order: Option<Order>| order.map_or(0, |order| 1 << order.index());
        let touch = if is_def {
            // The predicate of a generic atomic says whether the address was global, before the operation is done.
            let is_early = inst.opcode == Opcode::ATOM && register.file == RegFile::P;
            let held = latency::is_variable(inst, arch).then(|| Held {
                scoreboards: mask(write) | if is_early { mask(read) } else { 0 },
                counted: write,
                order: self.results,
                ends_at_barrier: false,
            });
            Touch { register, slot, held, behind: bit(self.results) | bit(self.sources) }
        } else {
            let is_late = latency::reads_late(inst, slot, arch) || is_product_operand(inst, slot, Role::A);
            let held = is_late.then(|| Held {
                scoreboards: mask(write) | mask(read),
                counted: read.or(write),
                order: read_order(inst, self.sources),
                ends_at_barrier: self.sources == Some(Order::MemorySources) && is_read_at_barrier(inst, arch),
            });
            // An accumulator is handed from product to product.
            let behind = if is_product_operand(inst, slot, Role::C) { bit(self.results) } else { 0 };
            Touch { register, slot, held, behind }
        };
        if is_def { self.writes.push(touch) } else { self.reads.push(touch) }
    }
}

/// Registers of an operand, which the rules of the spec, a modifier at a time, cannot always say: they give the most
/// that it may be. Textures with `.SCR` put what does not fit into the two registers of A into B. The quads of accesses
/// of 256 bits have the words that the mask names, in consecutive registers.
fn width(inst: &Inst, at: usize) -> u8 {
    let signature = inst.opcode.signature();
    if matches!(inst.opcode, Opcode::LDG_256 | Opcode::STG_256) {
        let mask = immediate(inst, Role::Mask).unwrap_or(0xff);
        return match signature[at].role {
            // What is named first loads the upper half, and stores the lower.
            Role::D | Role::Data2 => (mask & 0xf0).count_ones() as u8,
            Role::D2 | Role::Data => (mask & 0x0f).count_ones() as u8,
            _ => inst.width(at),
        };
    }
    if signature[at].role != Role::B || inst.mods.get(Field::TEX_SCR) != Some(true) {
        return inst.width(at);
    }
    let unpacked = |role| {
        let position = inst.opcode.position(role).unwrap_or(at);
        signature[position].width.of(|field| if field == FieldId::TexScr { 0 } else { inst.raw(field) })
    };
    (unpacked(Role::A) + unpacked(Role::B)).saturating_sub(2).clamp(1, inst.width(at).max(1))
}

fn mask(scoreboard: Option<u8>) -> u8 {
    scoreboard.map_or(0, |number| 1 << number)
}

/// The order in which the results of an instruction come, and that in which it reads its sources, where it does so in turn with others. A
/// scoreboard for its results stands for all that is earlier in both, one for its sources for all that is earlier in the second.
pub fn orders(inst: &Inst, arch: Arch) -> [Option<Order>; 2] {
    [latency::queue(inst, arch).map(Order::Results), source_order(inst, arch)]
}

/// Instructions of one order read their sources one after the other: the second may overwrite what
/// the first reads, and a wait for the second covers the first. All that go to memory are one, but for `LDC`, which
/// goes another way: ptxas waits for what was read before it wherever it overwrites that, and takes its scoreboard for nobody
/// else's (docs/isa/latency.md, Orders).
fn source_order(inst: &Inst, arch: Arch) -> Option<Order> {
    match inst.opcode.info().pipe {
        _ if matches!(inst.opcode, Opcode::UTMACMDFLUSH | Opcode::UTMASTG) => Some(Order::CopySources),
        Pipe::Memory if inst.opcode != Opcode::LDC && !latency::holds_uniform(inst) => Some(Order::MemorySources),
        _ => latency::queue(inst, arch).map(Order::Sources),
    }
}

/// The order that says when the sources have been read: its own, but for copies out of shared memory that of the ends of their groups.
fn read_order(inst: &Inst, sources: Option<Order>) -> Option<Order> {
    if inst.opcode.copies_from_shared() { Some(Order::CopySources) } else { sources }
}

/// ptxas takes what a store reads for read when the block has met: for sm_75 of all memory (248 cases in its code of 160 modules), for sm_80 of
/// shared memory alone, for later targets never.
fn is_read_at_barrier(inst: &Inst, arch: Arch) -> bool {
    arch <= Arch::Sm75 || arch == Arch::Sm80 && inst.opcode.info().latency == LatencyClass::Shared
}

/// A product of a warpgroup: its results are there when `WARPGROUP.DEPBAR` says so.
fn is_product(inst: &Inst) -> bool {
    inst.opcode.is_warpgroup_product()
}

/// The product ends a group that `WARPGROUP.DEPBAR` counts.
fn commits(inst: &Inst) -> bool {
    inst.get(Field::GSB) != Inst::new(inst.opcode).get(Field::GSB)
}

/// The operand of a product with that role. `A` in registers is read until the product is done, as PTX has it.
fn is_product_operand(inst: &Inst, slot: Slot, role: Role) -> bool {
    let Slot::Operand { index, .. } = slot else { return false };
    is_product(inst) && inst.opcode.signature().get(usize::from(index)).is_some_and(|spec| spec.role == role)
}

fn immediate(inst: &Inst, role: Role) -> Option<u64> {
    let at = inst.opcode.position(role)?;
    match inst.operands.get(at)?.value {
        Value::Imm(value) => Some(value),
        _ => None,
    }
}

/// The wait mask, and what `DEPBAR` waits for.
fn waits(inst: &Inst) -> SmallVec<[Wait; 2]> {
    let all = |mask: u64, in_control: bool| {
        let named = (0..6).filter(move |at| mask >> at & 1 != 0);
        named.map(move |scoreboard| Wait { scoreboard, left: 0, in_control })
    };
    let mut waits: SmallVec<[Wait; 2]> = all(inst.control.wait_mask.into(), true).collect();
    let left = |role| immediate(inst, role).unwrap_or(0).min(u8::MAX.into()) as u8;
    match inst.opcode {
        Opcode::DEPBAR => {
            waits.extend(all(immediate(inst, Role::Mask).unwrap_or(0), false));
            let named = inst.opcode.position(Role::A).and_then(|at| inst.operands.get(at)).map(|a| a.value);
            if let Some(Value::Reg(RegFile::SB, scoreboard @ 0..6)) = named {
                waits.push(Wait { scoreboard: scoreboard as u8, left: left(Role::B), in_control: false });
            }
        }
        Opcode::WARPGROUP if inst.get(Field::WARPGROUP) == Warpgroup::DEPBAR => {
            waits.push(Wait { scoreboard: GSB, left: left(Role::Count), in_control: false });
        }
        _ => {}
    }
    waits
}
