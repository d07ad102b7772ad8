//! Atomic operations of a whole warp by shuffles.
//!
//! If all 32 threads are active they put their values together in five steps; if not, each thread acts for itself. The way
//! is the same for all threads of the warp.

use super::warp::{AND, WHOLE_WARP, Warp, act_alone, old_of};
use crate::passes::general::source;
use oriole_isa::{AtomType, Cmp, Field, Opcode, Redux, Role, Shfl, Sign, Vote};
use oriole_ori::{Block, BuildError, Guard, Inst, InstId, Operand, RegType, VReg};

/// How far the steps reach.
const STEPS: [u32; 5] = [1, 2, 4, 8, 16];
/// The lane that has the sum of all.
const LAST: Operand = Operand::imm(31);

impl Warp<'_> {
    /// A reduction: every thread has the same in the end, and the first one carries it.
    pub(super) fn exchange(&mut self, id: InstId, op: Redux) -> Result<(), BuildError> {
        let signed = self.func[id].get(Field::ATOM_TYPE) == AtomType::S32;
        let Some(data) = source(&self.func[id], Role::Data) else { return Ok(()) };
        let whole = self.func[id].clone();
        let fork = self.fork(id, None)?;
        let mut all = data;
        for step in STEPS {
            let other = Operand::reg(self.func.new_vreg(RegType::R)?);
            self.shuffle(Shfl::BFLY, Operand::pt(), (other, all), (Operand::imm(step), WHOLE_WARP));
            let both = Operand::reg(self.func.new_vreg(RegType::R)?);
            self.join((op, signed), both, (all, other));
            all = both;
        }
        let lane = self.lane()?;
        let first = self.is_lane(lane, Operand::rz())?;
        self.carry(whole, first, all, None);
        self.meet(&fork);
        Ok(())
    }

    /// A sum whose result is read: the last thread has the sum of all, and carries it.
    pub(super) fn scan(&mut self, id: InstId) -> Result<(), BuildError> {
        let whole = self.func[id].clone();
        let (Some(data), Some(result)) = (source(&whole, Role::Data), source(&whole, Role::D)) else { return Ok(()) };
        let alone = self.func.new_vreg(RegType::R)?;
        let fork = self.fork(id, Some(alone))?;
        let mut sum = data;
        for step in STEPS {
            let (inside, lower) = (self.func.new_vreg(RegType::P)?, Operand::reg(self.func.new_vreg(RegType::R)?));
            self.shuffle(Shfl::UP, Operand::reg(inside), (lower, sum), (Operand::imm(step), Operand::rz()));
            let more = Operand::reg(self.func.new_vreg(RegType::R)?);
            let mut add = Inst::neutral(Opcode::IADD3, Default::default());
            for (role, operand) in [(Role::D, more), (Role::A, sum), (Role::B, lower)] {
                add.set_role(role, operand);
            }
            act_alone(&mut add, Guard { pred: inside, negated: false }, Some(more));
            if let Some(old) = add.operands.iter_mut().find(|operand| **operand == Operand::undef()) {
                *old = sum;
            }
            self.add(add);
            sum = more;
        }
        let lane = self.lane()?;
        let last = self.is_lane(lane, LAST)?;
        let found = self.func.new_vreg(RegType::R)?;
        self.carry(whole, last, sum, Some(Operand::reg(found)));
        let base = self.read_lane(found, LAST)?;
        let shared = self.func.new_vreg(RegType::R)?;
        let roles =
            [(Role::D, Operand::reg(shared)), (Role::A, Operand::reg(base)), (Role::B, sum), (Role::C, data.neg())];
        self.emit(Opcode::IADD3, &[], &roles);
        let way = self.block;
        self.meet(&fork);
        let mut phi = Inst::phi(result);
        let inputs = [(alone, fork.head), (shared, way)];
        phi.operands.extend(inputs.into_iter().flat_map(|(value, from)| [Operand::reg(value), Operand::block(from)]));
        self.add(phi);
        Ok(())
    }

    /// Let the threads act for themselves, unless all of them are active; go on where they are.
    fn fork(&mut self, id: InstId, result: Option<VReg>) -> Result<Fork, BuildError> {
        let guard = self.func[id].guard();
        let holds = guard.map_or(Operand::pt(), Guard::operand);
        let mask = Operand::reg(self.func.new_vreg(RegType::R)?);
        self.emit(Opcode::VOTE, &[Field::VOTE.is(Vote::ANY)], &[(Role::D, mask), (Role::PA, holds)]);
        let everybody = Operand::imm(u32::MAX);
        let all = self.is_lane(mask, everybody)?;
        let mut apart = Guard { pred: all, negated: true };
        if guard.is_some() {
            apart = Guard { pred: self.func.new_vreg(RegType::P)?, negated: false };
            let mods = [Field::CMP.is(Cmp::NE), Field::SIGN.is(Sign::U32)];
            let roles =
                [(Role::PD, Operand::reg(apart.pred)), (Role::A, mask), (Role::B, everybody), (Role::PA, holds)];
            self.emit(Opcode::ISETP, &mods, &roles);
        }
        let old = old_of(&self.func[id]);
        self.func.edit().update(id, |inst| {
            act_alone(inst, apart, result.map(Operand::reg));
            if let (Some(old), Some(of_result)) = (old, inst.olds().iter().position(|old| *old == Operand::undef())) {
                let first = inst.opcode.operand_count();
                inst.operands[first + of_result] = old;
            }
        });
        let head = self.block;
        self.func.edit().place_last(head, id);
        let together = self.func.edit().new_block_after(head)?;
        let rest = self.func.edit().new_block_after(together)?;
        self.add(Inst::bra(rest).guarded(Some(Guard { pred: all, negated: true })));
        self.func.edit().set_succs(head, &[rest, together]);
        self.go_on(together);
        Ok(Fork { head, rest })
    }

    /// The ways come together again.
    fn meet(&mut self, fork: &Fork) {
        self.func.edit().set_succs(self.block, &[fork.rest]);
        self.go_on(fork.rest);
    }

    /// The operation, by one thread for all.
    fn carry(&mut self, mut whole: Inst, by: VReg, data: Operand, result: Option<Operand>) {
        whole.set_role(Role::Data, data);
        act_alone(&mut whole, Guard { pred: by, negated: false }, result);
        self.add(whole);
    }

    fn shuffle(&mut self, how: Shfl, inside: Operand, (to, from): (Operand, Operand), (by, bound): (Operand, Operand)) {
        let roles = [(Role::PD, inside), (Role::D, to), (Role::A, from), (Role::B, by), (Role::C, bound)];
        self.emit(Opcode::SHFL, &[Field::SHFL.is(how)], &roles);
    }

    /// Two values as one.
    fn join(&mut self, (op, signed): (Redux, bool), to: Operand, (a, b): (Operand, Operand)) {
        /// Truth tables of A and B.
        const OR: Operand = Operand::imm(0xfc);
        const XOR: Operand = Operand::imm(0x3c);
        let sign = [Field::SIGN.is(if signed { Sign::S32 } else { Sign::U32 })];
        let least = |least: bool| (Opcode::IMNMX, &sign[..], Some((Role::PA, Operand::pt().with_not(!least))));
        let logic = |table| (Opcode::LOP3, &[][..], Some((Role::Lut, table)));
        let (opcode, mods, how) = match op {
            Redux::MIN => least(true),
            Redux::MAX => least(false),
            Redux::AND => logic(AND),
            Redux::OR => logic(OR),
            Redux::XOR => logic(XOR),
            _ => (Opcode::IADD3, &[][..], None),
        };
        let roles = [(Role::D, to), (Role::A, a), (Role::B, b)];
        let roles: Vec<(Role, Operand)> = roles.into_iter().chain(how).collect();
        self.emit(opcode, mods, &roles);
    }
}

/// Where the ways part, and where they meet.
struct Fork {
    head: Block,
    rest: Block,
}
