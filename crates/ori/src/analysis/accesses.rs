//! What instructions access in memory: where, and what may lie between two accesses.

use super::speculation::writes_own_values;
use crate::entity::{InstId, VReg};
use crate::function::Function;
use crate::inst::{Inst, InstFlags};
use crate::operand::OperandKind;
use oriole_isa::{Effects, Field, Mem, MemSize, Opcode, RegFile, Role, Space};
use smallvec::SmallVec;
use std::ops::Range;

/// What no load goes ahead of.
const FIXED: Effects =
    Effects::CONVERGENT.with(Effects::BRANCH).with(Effects::SIDE_EFFECT).with(Effects::VOLATILE).with(Effects::TRAP);

/// What an offset is added to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Base {
    pub(super) space: Space,
    /// Modifiers that say how the registers become an address.
    form: (u8, u8),
    pub(super) base: SmallVec<[VReg; 2]>,
    pub(super) uniform: SmallVec<[VReg; 2]>,
    /// The frame's register stands for `base`.
    pub(super) of_frame: bool,
}

impl Base {
    /// The memory that it is in.
    pub fn space(&self) -> Space {
        self.space
    }

    /// Whether it is the function's frame.
    pub fn is_frame(&self) -> bool {
        self.of_frame
    }
}

/// What an instruction does to what a thread knows of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impact {
    /// Nothing.
    Nothing,
    /// It writes such memory.
    Writes(Space),
    /// It waits for other threads or for copies, or what it does has an order that they see: behind it memory that they can
    /// write may hold anything.
    Others,
    /// Any memory may hold anything.
    All,
}

impl Impact {
    /// Of an instruction. Another thread's plain stores tell nothing before both have met, so that only what lets them meet counts.
    pub fn of(inst: &Inst) -> Impact {
        let effects = inst.opcode.info().effects;
        let (reads, writes) = (effects.contains(Effects::READS_MEMORY), effects.contains(Effects::WRITES_MEMORY));
        let space = inst.opcode.space();
        if inst.call.is_some() || writes && !is_free(inst) && space.meets(Space::Local) {
            return Impact::All;
        }
        let waits = effects.contains(Effects::SIDE_EFFECT) && !effects.contains(Effects::BRANCH);
        match (reads, writes) {
            _ if waits => Impact::Others,
            (true, true) => Impact::Others,
            (true, false) | (false, true) if !is_free(inst) => Impact::Others,
            (false, true) => Impact::Writes(space),
            _ => Impact::Nothing,
        }
    }
}

/// What a load goes ahead of: a stretch of code, passed instruction by instruction.
#[derive(Default)]
pub struct Passed {
    /// Something may wait for others, or end the thread, or be said to keep its place.
    closed: bool,
    /// Which memory is written.
    written: SmallVec<[Space; 2]>,
}

impl Passed {
    /// The stretch goes on with this instruction.
    pub fn add(&mut self, inst: &Inst) {
        let effects = inst.opcode.info().effects;
        self.closed |= inst.call.is_some() || !is_free(inst) || effects.intersects(FIXED);
        if effects.contains(Effects::WRITES_MEMORY) {
            self.written.push(inst.opcode.space());
        }
    }

    /// Whether a load ahead of the stretch, in place of behind it, happens as surely and gives the same.
    pub fn lets_pass(&self, load: &Inst) -> bool {
        let space = load.opcode.space();
        !self.closed && !self.written.iter().any(|written| written.meets(space))
    }
}

/// Whether nothing is said about the instruction's order among others.
pub fn is_free(inst: &Inst) -> bool {
    !inst.flags.contains(InstFlags::VOLATILE) && matches!(inst.get(Field::MEM), Mem::WEAK | Mem::CONSTANT)
}

/// Whether the instruction is a plain load, of memory or of a constant bank: one of which nothing is said about order, and without
/// a guard.
pub fn is_load(func: &Function, inst: InstId) -> bool {
    let data = &func[inst];
    let is_load = matches!(data.opcode, Opcode::LD | Opcode::LDG | Opcode::LDS | Opcode::LDL | Opcode::LDC);
    is_load && data.guard().is_none() && is_free(data) && writes_own_values(func, inst)
}

/// What a load or a store accesses, where that is a fixed distance from a value, from the frame, or from 0.
pub fn address(func: &Function, inst: &Inst) -> Option<(Base, Range<i64>)> {
    let loads = matches!(inst.opcode, Opcode::LD | Opcode::LDG | Opcode::LDS | Opcode::LDL);
    let stores = matches!(inst.opcode, Opcode::ST | Opcode::STG | Opcode::STS | Opcode::STL);
    if !(loads || stores) {
        return None;
    }
    let OperandKind::Imm(offset, _) = role(inst, Role::Offset)? else { return None };
    let named = |role| {
        let operand = inst.operand(role)?;
        let regs = func.named(operand);
        let plain = !operand.has_flags() && regs.iter().all(|reg| func.is_value(*reg));
        let known =
            !regs.is_empty() || matches!(operand.kind(), OperandKind::Rz | OperandKind::Urz | OperandKind::None);
        (plain && known).then(|| SmallVec::from_slice(&regs))
    };
    let frame = OperandKind::Phys { file: RegFile::R, number: func.frame().base(), count: 1 };
    let of_frame = role(inst, Role::Base) == Some(frame);
    let base = Base {
        space: inst.opcode.space(),
        form: (inst.raw(Field::BASE_SIZE.id()), inst.raw(Field::BASE_SCALE.id())),
        base: if of_frame { SmallVec::new() } else { named(Role::Base)? },
        uniform: named(Role::UBase)?,
        of_frame,
    };
    let start = i64::from(offset as i32);
    Some((base, start..start + size(inst)))
}

/// Bytes of a load or a store.
fn size(inst: &Inst) -> i64 {
    match inst.get(Field::MEM_SIZE) {
        MemSize::U8 | MemSize::S8 => 1,
        MemSize::U16 | MemSize::S16 => 2,
        MemSize::B64 => 8,
        MemSize::B128 | MemSize::U128 => 16,
        _ => 4,
    }
}

pub(super) fn role(inst: &Inst, role: Role) -> Option<OperandKind> {
    inst.operand(role).map(|operand| operand.kind())
}
