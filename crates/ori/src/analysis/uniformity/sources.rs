//! What an instruction brings by itself, whatever its registers hold: threads differ by their place, by memory that others
//! write, by what lanes get of each other; and what the kernel's directives say of its threads.

use super::{Sameness, physical};
use crate::call::Callee;
use crate::entity::InstId;
use crate::function::{Function, FunctionKind, WARP};
use crate::inst::{Inst, InstFlags};
use crate::operand::{Operand, OperandKind};
pub(super) use oriole_isa::Lanes;
use oriole_isa::special_registers::{self, Scope, SpecialRegister};
use oriole_isa::{Arch, Effects, Field, Opcode, Role, Shfl, SyncsOp};

/// How the results of an instruction differ: what all lanes take from one of them is the same in all.
pub(super) fn lanes(inst: &Inst) -> Lanes {
    /// Lanes up to the last one, in one segment.
    const WHOLE_WARP: u32 = 0x1f;
    let constant = |role| {
        let lane = inst.operand(role)?;
        if lane.is_zero() { Some(0) } else { lane.as_imm() }
    };
    let is_shuffle = inst.is_machine() && inst.opcode == Opcode::SHFL && inst.get(Field::SHFL) == Shfl::IDX;
    let from_one = is_shuffle && constant(Role::B).is_some() && constant(Role::C) == Some(WHOLE_WARP);
    // An arrival's state is each thread's own. A look at a phase is a read: what threads see that look at one phase together is the same.
    let is_phase = inst.is_machine() && inst.opcode == Opcode::SYNCS && inst.get(Field::SYNCS_OP) == SyncsOp::PHASECHK;
    match inst.opcode.lanes() {
        _ if from_one => Lanes::Warp,
        _ if is_phase => Lanes::Same,
        lanes => lanes,
    }
}

/// Whether it reads memory in a way that lets others write between the threads' reads.
pub(super) fn is_volatile_read(inst: &Inst) -> bool {
    let effects = effects(inst);
    let volatile = effects.contains(Effects::VOLATILE) || inst.flags.contains(InstFlags::VOLATILE);
    volatile && effects.contains(Effects::READS_MEMORY)
}

/// Whether results come from a function that is called.
pub(super) fn is_call(func: &Function, inst: &Inst) -> bool {
    inst.call.expand().is_some_and(|call| func[call].callee != Callee::Return)
}

/// The opcode of what is no machine instruction says nothing.
fn effects(inst: &Inst) -> Effects {
    if inst.is_machine() { inst.opcode.info().effects } else { Effects::NONE }
}

/// What memory that others write, and other things that change with time, leave the same: one read is the warp's.
fn outside(inst: &Inst) -> Sameness {
    let effects = effects(inst);
    let reads = effects.contains(Effects::READS_MEMORY) && !inst.flags.contains(InstFlags::INVARIANT);
    if reads || effects.contains(Effects::SIDE_EFFECT) { Sameness::Warp } else { Sameness::Grid }
}

/// What holds in the whole function.
pub(super) struct Facts {
    arch: Arch,
    /// A block is one warp, or less.
    one_warp: bool,
    /// Of the thread's place in its block: x, y, z.
    place: [Sameness; 3],
    /// Threads in a row are in the order of their lanes: of x no bit above the lane's varies.
    x_by_lane: bool,
}

impl Facts {
    pub(super) fn new(func: &Function, arch: Arch) -> Self {
        // Directives are the kernel's: a function that is called does not know by which.
        let is_kernel = func.kind() == FunctionKind::Entry;
        let shape = func.attributes().reqntid.filter(|_| is_kernel);
        let threads = func.attributes().block_threads().filter(|_| is_kernel);
        Facts {
            arch,
            one_warp: threads.is_some_and(|threads| threads <= WARP),
            place: shape.map_or([Sameness::Varying; 3], places),
            x_by_lane: is_kernel && func.attributes().lanes_go_by_x(),
        }
    }

    /// Warps are blocks where a block has one.
    pub(super) fn narrowed(&self, level: Sameness) -> Sameness {
        if self.one_warp && level == Sameness::Warp { Sameness::Block } else { level }
    }

    /// What the results of an instruction are at best if all registers that it reads are the same in the grid.
    #[inline]
    pub(super) fn of_itself(&self, func: &Function, id: InstId) -> Sameness {
        let inst = &func[id];
        if is_call(func, inst) || inst.flags.contains(InstFlags::BY_MASK) {
            return Sameness::Varying;
        }
        let effects = effects(inst);
        match lanes(inst) {
            Lanes::Own => Sameness::Varying,
            // What the threads that are there make of it together depends on which are there.
            Lanes::Warp if effects.contains(Effects::CONVERGENT) => Sameness::Warp,
            Lanes::Warp => outside(inst).max(self.operands(inst)).min(Sameness::Warp),
            Lanes::Same if is_volatile_read(inst) => Sameness::Varying,
            Lanes::Same => outside(inst).max(self.operands(inst)),
        }
    }

    /// Of what an instruction reads besides virtual registers.
    #[inline]
    fn operands(&self, inst: &Inst) -> Sameness {
        let others = inst.uses().filter(|(_, operand)| operand.as_reg().is_none());
        others.fold(Sameness::Grid, |level, (_, operand)| level.max(self.of_operand(operand)))
    }

    fn of_operand(&self, operand: Operand) -> Sameness {
        match operand.kind() {
            OperandKind::Special(number) => special_registers::by_number(number, self.arch)
                .map_or(Sameness::Grid, |register| self.special(register)),
            OperandKind::Phys { file, number, .. } => physical(file, number),
            _ => Sameness::Grid,
        }
    }

    fn special(&self, register: &SpecialRegister) -> Sameness {
        let axis = ["%tid.x", "%tid.y", "%tid.z"].iter().position(|name| register.ptx == Some(name));
        match (axis, register.shared_by()) {
            (Some(axis), _) => self.place[axis],
            (None, Scope::Thread) => Sameness::Varying,
            (None, Scope::Warp | Scope::Sm) => Sameness::Warp,
            (None, Scope::Cta) => Sameness::Block,
            (None, Scope::Grid | Scope::Global) => Sameness::Grid,
        }
    }

    /// The bits that vary of what an instruction writes, where others do not: it reads a special register with the lane in
    /// some bits and what is the warp's in others.
    pub(super) fn varying_bits(&self, inst: &Inst) -> Option<u32> {
        if inst.opcode != Opcode::S2R || !inst.is_machine() || inst.guard().is_some() {
            return None;
        }
        let number = inst.uses().find_map(|(_, operand)| match operand.kind() {
            OperandKind::Special(number) => Some(number),
            _ => None,
        })?;
        let register = special_registers::by_number(number, self.arch)?;
        let by_lane = self.x_by_lane && register.ptx == Some("%tid.x");
        let bits = if by_lane { WARP - 1 } else { register.varying_bits() };
        (bits != 0 && bits != register.mask()).then_some(bits)
    }
}

/// Of the thread's place in a block of that shape. Warps are taken from the threads in their order, x the fastest: rows
/// of whole warps have the same y in each.
fn places([x, y, z]: [u32; 3]) -> [Sameness; 3] {
    let place = |extent: u32, before: u64| match extent {
        1 => Sameness::Grid,
        _ if before.is_multiple_of(WARP.into()) => Sameness::Warp,
        _ => Sameness::Varying,
    };
    [place(x, 1), place(y, x.into()), place(z, u64::from(x) * u64::from(y))]
}
