//! The counter of a loop: what a round adds to it, and how far from its bound it must be for several rounds.

use crate::passes::general::{opposite_cmp, source, word};
use crate::passes::induction::{self, Rounds, in_register, lone_test, sum};
use oriole_isa::{Bop, Cmp, Field, Opcode, RegFile, Role, Sign};
use oriole_ori::{Block, BuildError, Function, Guard, Inst, Operand, OperandKind, RegType, VReg};

/// A register to which each round adds the same, and that is compared with what stays the same.
pub(super) struct Counter {
    /// What it is when a round begins.
    pub(super) value: VReg,
    /// What it is when the next one begins.
    pub(super) next: VReg,
    /// How it stands to the limit as long as so many rounds are left at least.
    cmp: Cmp,
    sign: Sign,
    limit: Limit,
}

/// The bound of a counter, less what all rounds but one add.
enum Limit {
    Known(u32),
    /// The bound, and what is to be added to it; it must not wrap.
    Computed(Operand, i32),
}

/// More than this no round adds.
const LARGEST_STEP: i32 = 1 << 20;

impl Counter {
    /// The counter by which the loop of one block goes on, if `rounds` of them can be told from it.
    pub(super) fn of(
        func: &Function,
        (block, entrance): (Block, Block),
        goes_on: Guard,
        rounds: usize,
    ) -> Option<Counter> {
        let test = &func[lone_test(func, goes_on.pred)?];
        let counted = source(test, Role::A).filter(|counted| !counted.has_flags())?.as_whole_reg()?;
        let rounds_of = Rounds { header: block, latch: block, entrance };
        let counts = |counter: &induction::Counter| {
            let known = counted == counter.value || counted == counter.next;
            known && counter.step != 0 && counter.step.abs() < LARGEST_STEP
        };
        let induction::Counter { value, next, step, .. } =
            induction::counters(func, rounds_of).into_iter().find(counts)?;
        let cmp = if goes_on.negated { opposite_cmp(test.get(Field::CMP))? } else { test.get(Field::CMP) };
        let (cmp, sign) = match (cmp, step > 0) {
            // What comes closer step by step meets no other value on the way.
            (Cmp::NE, true) => (Cmp::LT, Sign::S32),
            (Cmp::NE, false) => (Cmp::GT, Sign::S32),
            (Cmp::LT | Cmp::LE, true) | (Cmp::GT | Cmp::GE, false) => (cmp, test.get(Field::SIGN)),
            _ => return None,
        };
        let all_but_one = step.checked_mul(i32::try_from(rounds).ok()? - 1)?;
        let limit = limit(func, block, source(test, Role::B)?, sign, all_but_one)?;
        Some(Counter { value, next, cmp, sign, limit })
    }

    /// Append to a block what computes the limit, and whether the counter is on this side of it: the limit, and the predicate.
    pub(super) fn gate(
        &self,
        func: &mut Function,
        block: Block,
        first: Operand,
    ) -> Result<(Operand, Guard), BuildError> {
        let first = in_register(func, block, first)?;
        match self.limit {
            Limit::Known(bits) => {
                let limit = word(bits);
                let near = self.test(func, block, (first, self.cmp, limit), Operand::pt())?;
                Ok((limit, near))
            }
            Limit::Computed(bound, added) => {
                let bound = in_register(func, block, bound)?;
                let limit = sum(func, block, bound, Operand::imm_signed(added))?;
                let near = self.test(func, block, (first, self.cmp, limit), Operand::pt())?;
                let wrapped_not = if added < 0 { Cmp::LT } else { Cmp::GT };
                let both = self.test(func, block, (limit, wrapped_not, bound), Operand::reg(near.pred))?;
                Ok((limit, both))
            }
        }
    }

    /// Append the test whether the counter, `next`, is on this side of the limit.
    pub(super) fn again(
        &self,
        func: &mut Function,
        block: Block,
        next: Operand,
        limit: Operand,
    ) -> Result<Guard, BuildError> {
        self.test(func, block, (next, self.cmp, limit), Operand::pt())
    }

    fn test(
        &self,
        func: &mut Function,
        block: Block,
        (a, cmp, b): (Operand, Cmp, Operand),
        with: Operand,
    ) -> Result<Guard, BuildError> {
        let pred = func.new_vreg(RegType::P)?;
        let fields = [Field::CMP.is(cmp), Field::SIGN.is(self.sign), Field::BOP.is(Bop::AND)];
        let mut test = Inst::neutral(Opcode::ISETP, fields.into_iter().collect());
        let roles = [(Role::PD, Operand::reg(pred)), (Role::A, a), (Role::B, b), (Role::PA, with)];
        roles.into_iter().for_each(|(role, operand)| test.set_role(role, operand));
        func.edit().append(block, test);
        Ok(Guard { pred, negated: false })
    }
}

/// The bound less `moved`, if it stays the same throughout the loop and does not wrap.
fn limit(func: &Function, block: Block, bound: Operand, sign: Sign, moved: i32) -> Option<Limit> {
    if bound.has_flags() {
        return None;
    }
    let known = if bound.is_zero() { Some(0) } else { bound.as_imm() };
    if let Some(bits) = known {
        let number = if sign == Sign::S32 { i64::from(bits as i32) } else { i64::from(bits) };
        let limit = number - i64::from(moved);
        let fits = if sign == Sign::S32 { i32::try_from(limit).is_ok() } else { u32::try_from(limit).is_ok() };
        return fits.then_some(Limit::Known(limit as u32));
    }
    let stays = match bound.kind() {
        OperandKind::Const { .. } => true,
        OperandKind::Reg(reg, _) => {
            let home = func.definition(reg).and_then(|inst| func.def_use()?.home(inst));
            func.is_value(reg)
                && func[reg].file() == RegFile::R
                && bound.as_whole_reg().is_some()
                && home.is_some_and(|home| home != block)
        }
        _ => false,
    };
    stays.then_some(Limit::Computed(bound, -moved))
}
