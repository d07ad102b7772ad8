//! Where at most one thread of a warp is: there is nobody to put values together with.

use crate::passes::general::source;
use oriole_isa::{Arch, Bop, Cmp, Field, Opcode, Role, special_registers};
use oriole_ori::analysis::{Analyses, Cfg, DomTree, Uniformity};
use oriole_ori::{Block, Function, Guard, Inst, InstId, Operand, OperandKind};
use std::rc::Rc;

/// Branches that are looked at on the way up from a block.
const FARTHEST: usize = 32;
/// The bits of a lane's number.
const LANE: u32 = 31;

/// What tells where threads are alone.
pub(super) struct Alone {
    cfg: Rc<Cfg>,
    dominators: Rc<DomTree>,
    uniformity: Rc<Uniformity>,
    /// The special registers that are taken for different ones in all threads of a warp.
    lanes: Vec<u8>,
}

impl Alone {
    pub(super) fn new(func: &Function, analyses: &mut Analyses, uniformity: Rc<Uniformity>, arch: Arch) -> Self {
        let number = |name| special_registers::by_name(name, arch).map(|register| register.number);
        let is_read = |number: u8| {
            let reads =
                |inst: &Inst| inst.opcode == Opcode::S2R && source(inst, Role::A) == Some(Operand::special(number));
            func.iter_insts().any(|(_, inst)| reads(&func[inst]))
        };
        // Who asks for y has blocks in which x comes again in a warp; if he is wrong it costs time alone.
        let flat = !["SR_TID.Y", "SR_TID.Z"].into_iter().filter_map(number).any(is_read);
        let lanes = [Some("SR_LANEID"), flat.then_some("SR_TID.X")].into_iter().flatten().filter_map(number).collect();
        Alone { cfg: analyses.cfg(func), dominators: analyses.dominators(func), uniformity, lanes }
    }

    /// Whether at most one thread of a warp executes the instruction at a time: its guard or a branch on the way to its block
    /// wants a certain lane.
    pub(super) fn is(&self, func: &Function, block: Block, inst: InstId) -> bool {
        if func[inst].guard().is_some_and(|guard| self.names_lane(func, guard)) {
            return true;
        }
        let mut at = block;
        for _ in 0..FARTHEST {
            let Some(above) = self.dominators.idom(at) else { return false };
            let through = condition(func, above, at).filter(|_| *self.cfg.preds(at) == [above]);
            if through.is_some_and(|guard| self.names_lane(func, guard)) {
                return true;
            }
            at = above;
        }
        false
    }

    /// The condition is that the thread's lane is one that all threads agree on.
    fn names_lane(&self, func: &Function, holds: Guard) -> bool {
        let Some(inst) =
            func.definition(holds.pred).map(|inst| &func[inst]).filter(|inst| inst.opcode == Opcode::ISETP)
        else {
            return false;
        };
        let alone = source(inst, Role::PA) == Some(Operand::pt());
        let equal = match (inst.get(Field::CMP), holds.negated) {
            (Cmp::EQ, false) => inst.get(Field::BOP) == Bop::AND,
            (Cmp::NE, true) => alone && inst.get(Field::BOP) == Bop::AND,
            _ => false,
        };
        let (Some(a), Some(b)) = (source(inst, Role::A), source(inst, Role::B)) else { return false };
        let is_first = source(inst, Role::PD).and_then(Operand::as_reg) == Some(holds.pred);
        let agreed = |operand: Operand| !self.uniformity.is_varying_operand(operand);
        equal && is_first && ((self.is_lane(func, a) && agreed(b)) || (self.is_lane(func, b) && agreed(a)))
    }

    /// The value is another in each thread of a warp.
    fn is_lane(&self, func: &Function, value: Operand) -> bool {
        let defined = |operand: Operand| Some(&func[func.definition(operand.as_whole_reg()?)?]);
        let Some(mut inst) = defined(value) else { return false };
        let table = source(inst, Role::Lut).and_then(Operand::as_imm);
        if inst.opcode == Opcode::LOP3 && table == Some(0xc0) {
            let mask = source(inst, Role::B).and_then(Operand::as_imm);
            let Some(masked) = source(inst, Role::A).and_then(defined) else { return false };
            if mask.is_none_or(|mask| mask & LANE != LANE) {
                return false;
            }
            inst = masked;
        }
        let special = match source(inst, Role::A).map(Operand::kind) {
            Some(OperandKind::Special(number)) => number,
            _ => return false,
        };
        inst.opcode == Opcode::S2R && self.lanes.contains(&special)
    }
}

/// What holds on the way from a block to one behind it, if its branch decides.
fn condition(func: &Function, from: Block, to: Block) -> Option<Guard> {
    let last = &func[*func.block_insts(from).last()?];
    let (taken, guard) = (last.operands.iter().find_map(|operand| operand.as_block())?, last.guard()?);
    let plain = last.opcode == Opcode::BRA && func.succs(from).len() == 2 && func.succs(from)[0] != func.succs(from)[1];
    plain.then_some(Guard { pred: guard.pred, negated: guard.negated != (taken != to) })
}
