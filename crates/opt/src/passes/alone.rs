//! Where at most one thread of a warp is: there is nobody to put values together with, and nobody to take turns with.

use crate::passes::general::source;
use oriole_isa::{Arch, Bop, Cmp, Field, Opcode, Role, special_registers};
use oriole_ori::analysis::{Analyses, Cfg, DomTree, LoopForest, Uniformity};
use oriole_ori::{Block, Function, FunctionKind, Guard, Inst, InstFlags, InstId, Operand, OperandKind};
use std::rc::Rc;

/// Branches that are looked at on the way up from a block.
const FARTHEST: usize = 32;
/// Conditions that are looked at behind one that is put together.
const DEEPEST: usize = 4;
/// The bits of a lane's number.
const LANE: u32 = 31;

/// What a wrong answer costs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Time: a guess will do.
    Slow,
    /// Code that does something else.
    Broken,
}

/// What tells where threads are alone.
pub(crate) struct Alone {
    cfg: Rc<Cfg>,
    dominators: Rc<DomTree>,
    loops: Rc<LoopForest>,
    uniformity: Rc<Uniformity>,
    /// The special registers that are taken for different ones in all threads of a warp.
    lanes: Vec<u8>,
    /// The kernel's blocks are of one thread.
    everywhere: bool,
}

impl Alone {
    pub(crate) fn new(
        func: &Function,
        analyses: &mut Analyses,
        uniformity: Rc<Uniformity>,
        arch: Arch,
        wrong: Wrong,
    ) -> Self {
        let number = |name| special_registers::by_name(name, arch).map(|register| register.number);
        let is_read = |number: u8| {
            let reads =
                |inst: &Inst| inst.opcode == Opcode::S2R && source(inst, Role::A) == Some(Operand::special(number));
            func.iter_insts().any(|(_, inst)| reads(&func[inst]))
        };
        let is_kernel = func.kind() == FunctionKind::Entry;
        // Who asks for y has blocks in which x comes again in a warp.
        let flat = || !["SR_TID.Y", "SR_TID.Z"].into_iter().filter_map(number).any(is_read);
        let by_x = (is_kernel && func.attributes().lanes_go_by_x()) || (wrong == Wrong::Slow && flat());
        let lanes = [Some("SR_LANEID"), by_x.then_some("SR_TID.X")].into_iter().flatten().filter_map(number).collect();
        let everywhere = is_kernel && func.attributes().block_threads() == Some(1);
        let (cfg, dominators, loops) = (analyses.cfg(func), analyses.dominators(func), analyses.loops(func));
        Alone { cfg, dominators, loops, uniformity, lanes, everywhere }
    }

    /// Whether at most one thread of a warp executes the instruction at a time: its guard or a branch on the way to its block
    /// lets one through.
    pub(crate) fn is(&self, func: &Function, block: Block, inst: InstId) -> bool {
        let guarded = func[inst].guard().is_some_and(|guard| self.lets_one_through(func, block, guard, DEEPEST));
        guarded || self.is_at(func, block)
    }

    /// The same of all that a block has.
    pub(crate) fn is_at(&self, func: &Function, block: Block) -> bool {
        let mut at = block;
        for _ in 0..FARTHEST {
            let Some(above) = self.dominators.idom(at) else { return self.everywhere };
            // Who comes back to it has come to it.
            let comes_back = |pred: &Block| *pred == above || self.dominators.dominates(at, *pred);
            let through = condition(func, above, at).filter(|_| self.cfg.preds(at).iter().all(comes_back));
            if through.is_some_and(|guard| self.lets_one_through(func, at, guard, DEEPEST)) {
                return true;
            }
            at = above;
        }
        self.everywhere
    }

    /// The condition, on which a block is entered, holds for at most one thread of those that come to it: the elected one, or that whose
    /// lane is one that all threads agree on; or it is a conjunction with such a condition.
    ///
    /// In each round of a loop it may hold for another thread: behind the loop they come together.
    fn lets_one_through(&self, func: &Function, block: Block, holds: Guard, deepest: usize) -> bool {
        let Some(id) = func.definition(holds.pred).filter(|inst| func[*inst].is_machine()) else { return false };
        let made_in = func.def_use().and_then(|uses| uses.home(id)).and_then(|home| self.loops.innermost(home));
        if made_in.is_some_and(|made_in| !self.loops.contains(made_in, block)) || !self.loops.irreducible().is_empty() {
            return false;
        }
        let inst = &func[id];
        if source(inst, Role::PD).and_then(Operand::as_reg) != Some(holds.pred) || inst.guard().is_some() {
            return false;
        }
        match inst.opcode {
            // Each member mask elects one.
            Opcode::ELECT => !holds.negated && !inst.flags.contains(InstFlags::BY_MASK),
            Opcode::ISETP => {
                self.names_lane(func, inst, holds.negated)
                    || joined(inst, holds.negated)
                        .is_some_and(|other| self.part_lets_one_through(func, block, other, !holds.negated, deepest))
            }
            Opcode::PLOP3 => forced(inst, !holds.negated).is_some_and(|parts| {
                parts
                    .into_iter()
                    .flatten()
                    .any(|(part, value)| self.part_lets_one_through(func, block, part, value, deepest))
            }),
            _ => false,
        }
    }

    /// The same of a part of a condition, which is to be `value`.
    fn part_lets_one_through(&self, func: &Function, block: Block, part: Operand, value: bool, deepest: usize) -> bool {
        let (Some(pred), Some(deepest)) = (part.as_reg(), deepest.checked_sub(1)) else { return false };
        self.lets_one_through(func, block, Guard { pred, negated: part.is_not() == value }, deepest)
    }

    /// A comparison says that the thread's lane is one that all threads agree on, if it comes out false (`negated`) or true.
    fn names_lane(&self, func: &Function, inst: &Inst, negated: bool) -> bool {
        let (alone, bop) = (source(inst, Role::PA) == Some(Operand::pt()), inst.get(Field::BOP));
        let equal = match (inst.get(Field::CMP), negated) {
            (Cmp::EQ, false) => bop == Bop::AND,
            (Cmp::NE, true) => (alone && bop == Bop::AND) || bop == Bop::OR,
            _ => false,
        };
        let (Some(a), Some(b)) = (source(inst, Role::A), source(inst, Role::B)) else { return false };
        let agreed = |operand: Operand| !self.uniformity.is_varying_operand(operand);
        equal && ((self.is_lane(func, a) && agreed(b)) || (self.is_lane(func, b) && agreed(a)))
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

/// What a comparison is put together with, if that must hold where it comes out true, or must not where it comes out false.
fn joined(inst: &Inst, negated: bool) -> Option<Operand> {
    let decides = match inst.get(Field::BOP) {
        Bop::AND => !negated,
        Bop::OR => negated,
        _ => false,
    };
    source(inst, Role::PA).filter(|_| decides)
}

/// What the inputs of a PLOP3 must be for its first result to be `value`; `None` for one that may be either.
fn forced(inst: &Inst, value: bool) -> Option<[Option<(Operand, bool)>; 3]> {
    let table = source(inst, Role::Lut).and_then(Operand::as_imm)?;
    let mut inputs = [None; 3];
    for (at, role) in [Role::PA, Role::PB, Role::PC].into_iter().enumerate() {
        let operand = source(inst, role)?;
        // The first input is the highest bit of a row's number.
        let is_set = |row: u32| row >> (2 - at) & 1 == 1;
        let rows = || (0..8).filter(|row| (table >> row & 1 == 1) == value);
        inputs[at] = match (rows().all(is_set), rows().any(is_set)) {
            (true, true) => Some((operand, true)),
            (false, false) => Some((operand, false)),
            _ => None,
        };
    }
    Some(inputs)
}

/// What holds on the way from a block to one behind it, if its branch decides.
fn condition(func: &Function, from: Block, to: Block) -> Option<Guard> {
    let last = &func[*func.block_insts(from).last()?];
    let (taken, guard) = (last.operands.iter().find_map(|operand| operand.as_block())?, last.guard()?);
    let plain = last.opcode == Opcode::BRA && func.succs(from).len() == 2 && func.succs(from)[0] != func.succs(from)[1];
    plain.then_some(Guard { pred: guard.pred, negated: guard.negated != (taken != to) })
}
