//! The walk over a block, and atomic operations by a leader.
//!
//! `VOTEU.ANY` is who is active (and lets the operation happen, where it is under a guard), `UFLO` the highest of them, and
//! a guard on `SR_LANEID` lets it alone through. What varies in the warp is put together by `REDUX`; of what the threads
//! agree on, a sum is the value times how many they are, and the least, the greatest, the conjunction and the disjunction
//! are the value itself. Where the result is read, each thread adds the value times how many of them have lower lanes.

use super::plan::Plan;
use super::{Special, TOGETHER};
use crate::Context;
use crate::passes::general::source;
use oriole_isa::{AtomType, Cmp, Effects, Field, Mods, Mul, Opcode, Redux, RegFile, Role, Setting, Shfl, Sign, Vote};
use oriole_ori::{
    Block, BuildError, Function, Guard, Inst, InstFlags, InstId, LocId, Operand, PackedOption, RegType, VReg,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What lanes tell each other by.
const EXCHANGES: [Opcode; 4] = [Opcode::VOTE, Opcode::VOTEU, Opcode::SHFL, Opcode::REDUX];

/// The truth table of A and B.
pub(super) const AND: Operand = Operand::imm(0xc0);
/// Bound and segment of a shuffle: any lane of the warp.
pub(super) const WHOLE_WARP: Operand = Operand::imm(0x1f);

/// Threads that are active. What is asked for later than the mask is absent before.
#[derive(Clone, Copy)]
struct Active {
    /// Those for which this guard holds.
    guard: Option<Guard>,
    /// A bit each, in a uniform register.
    mask: Operand,
    /// The highest lane.
    highest: Operand,
    /// Whether the thread is the one that acts for all.
    leader: VReg,
    /// The same where shuffles can read it, not in a uniform register.
    lane: Option<Operand>,
    /// How many they are.
    count: Option<Operand>,
    /// How many of them have lower lanes.
    lower: Option<Operand>,
}

/// The walk over a block.
pub(super) struct Warp<'f> {
    pub(super) func: &'f mut Function,
    /// Where what comes next is placed: the block, or a new one that stands behind it.
    pub(super) block: Block,
    pub(super) special: Special,
    /// As found before, if they still are.
    active: Vec<Active>,
    /// Of the operation at hand.
    loc: PackedOption<LocId>,
}

impl<'f> Warp<'f> {
    pub(super) fn new(func: &'f mut Function, block: Block, special: Special) -> Self {
        Warp { func, block, special, active: Vec::new(), loc: None.into() }
    }

    /// Make one of each of these operations.
    pub(super) fn put(&mut self, context: &Context, plans: &FxHashMap<InstId, Plan>) -> Result<(), BuildError> {
        let (first, succs) = (self.block, SmallVec::<[Block; 4]>::from_slice(self.func.succs(self.block)));
        let old = self.func.edit().take_insts(first);
        self.func.edit().set_insts(first, Vec::with_capacity(old.len()));
        for id in old {
            if let Some(plan) = plans.get(&id).filter(|_| context.tally.is_open()) {
                self.loc = self.func[id].loc;
                match plan {
                    Plan::Exchange(op) => self.exchange(id, *op)?,
                    Plan::Scan => self.scan(id)?,
                    _ => self.lead(id, *plan)?,
                }
                context.tally.count(TOGETHER);
                continue;
            }
            let inst = &self.func[id];
            let effects = inst.opcode.info().effects;
            if inst.call.is_some() || effects.intersects(Effects::CONVERGENT.with(Effects::BRANCH)) {
                self.active.clear();
            }
            self.func.edit().place_last(self.block, id);
        }
        if self.block != first {
            self.func.edit().set_succs(self.block, &succs);
            for succ in succs {
                self.func.edit().rename_phi_pred(succ, first, self.block);
            }
        }
        Ok(())
    }

    /// Go on in another block.
    pub(super) fn go_on(&mut self, block: Block) {
        self.block = block;
        self.active.clear();
    }

    /// Put the values together, let the leader alone carry what comes of it, and give the others their results.
    fn lead(&mut self, id: InstId, plan: Plan) -> Result<(), BuildError> {
        let inst = &self.func[id];
        let (guard, result) = (inst.guard(), source(inst, Role::D).filter(|result| result.names_registers()));
        let data = source(inst, Role::Data).unwrap_or(Operand::rz());
        let signed = inst.get(Field::ATOM_TYPE) == AtomType::S32;
        let old = result.and(old_of(inst));
        let active = self.active(guard, result.is_some())?;
        let together = match plan {
            Plan::Times => self.times(data, active)?,
            Plan::Reduce(op) => self.reduce(data, guard, op, signed)?,
            _ => data,
        };
        let own = match result {
            Some(_) => Some(self.registers(self.func.named(data).len())?),
            None => None,
        };
        // Ahead of the operation, while nobody waits for it.
        let shares = match own {
            Some(_) => Some((self.leaders_lane(active)?, self.lower(active)?)),
            None => None,
        };
        let own_operand = own.as_ref().map(|own| self.func.tuple(own));
        self.func.edit().update(id, |inst| {
            inst.set_role(Role::Data, together);
            act_alone(inst, Guard { pred: self.active[active].leader, negated: false }, own_operand);
        });
        self.func.edit().place_last(self.block, id);
        if let (Some(own), Some((lane, lower)), Some(result)) = (own, shares, result) {
            let base =
                own.into_iter().map(|own| self.read_lane(own, lane)).collect::<Result<Vec<VReg>, BuildError>>()?;
            self.give((result, guard, old), |warp, to| warp.add_share(to, data, lower, &base))?;
        }
        Ok(())
    }

    /// The values of the threads together, in a register: of those for which the guard does not hold, what changes nothing.
    fn reduce(&mut self, data: Operand, guard: Option<Guard>, op: Redux, signed: bool) -> Result<Operand, BuildError> {
        let mut data = data;
        if let Some(guard) = guard {
            let all = Operand::reg(self.func.new_vreg(RegType::R)?);
            let roles = [(Role::D, all), (Role::A, data), (Role::B, neutral(op, signed)), (Role::PA, guard.operand())];
            self.emit(Opcode::SEL, &[], &roles);
            data = all;
        }
        let all = Operand::reg(self.func.new_vreg(RegType::Ur)?);
        let mods = [Field::REDUX.is(op), Field::REDUX_SIGNED.is(signed)];
        self.emit(Opcode::REDUX, &mods, &[(Role::D, all), (Role::A, data)]);
        let to = Operand::reg(self.func.new_vreg(RegType::R)?);
        self.add(Inst::copy(RegFile::R, to, all));
        Ok(to)
    }

    /// The value as often as there are threads: one word, or two.
    fn times(&mut self, data: Operand, active: usize) -> Result<Operand, BuildError> {
        let count = self.count(active)?;
        let words = self.registers(self.func.named(data).len())?;
        self.multiply(&words, data, count, None)?;
        Ok(self.func.tuple(&words))
    }

    /// What the leader's operation found, and what those with lower lanes add to it.
    fn add_share(&mut self, to: &[VReg], data: Operand, lower: Operand, base: &[VReg]) -> Result<(), BuildError> {
        self.multiply(to, data, lower, Some(base))
    }

    /// A value of one word or two times one word, and a sum with another, into registers.
    fn multiply(
        &mut self,
        to: &[VReg],
        data: Operand,
        times: Operand,
        addend: Option<&[VReg]>,
    ) -> Result<(), BuildError> {
        let c = addend.map_or(Operand::rz(), |addend| self.func.tuple(addend));
        let (low, high) = match (to, &self.func.named(data)[..]) {
            (&[low, high], &[first, second]) => ((low, first), Some((high, second))),
            (&[low, ..], &[first, ..]) => ((low, first), None),
            _ => return Ok(()),
        };
        let (d, a, b) = (Role::D, Role::A, Role::B);
        let Some((high, second)) = high else {
            let roles = [(d, Operand::reg(low.0)), (a, Operand::reg(low.1)), (b, times), (Role::C, c)];
            self.emit(Opcode::IMAD, &[], &roles);
            return Ok(());
        };
        let carried = self.func.new_vreg(RegType::R)?;
        let wide = self.func.tuple(&[low.0, carried]);
        let mods = [Field::MUL.is(Mul::WIDE), Field::SIGN.is(Sign::U32)];
        self.emit(Opcode::IMAD, &mods, &[(d, wide), (a, Operand::reg(low.1)), (b, times), (Role::C, c)]);
        let roles = [(d, Operand::reg(high)), (a, Operand::reg(second)), (b, times), (Role::C, Operand::reg(carried))];
        self.emit(Opcode::IMAD, &[], &roles);
        Ok(())
    }

    /// Let `make` compute the result into registers: where the guard does not hold, the old value stays.
    fn give(
        &mut self,
        (result, guard, old): (Operand, Option<Guard>, Option<Operand>),
        make: impl FnOnce(&mut Self, &[VReg]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let results = self.func.named(result);
        let old = old.filter(|old| *old != Operand::undef());
        let (Some(guard), Some(old)) = (guard, old) else { return make(self, &results) };
        let (olds, made) = (self.func.named(old), self.registers(results.len())?);
        make(self, &made)?;
        for ((result, made), old) in results.into_iter().zip(made).zip(olds) {
            let mut copy = Inst::copy(RegFile::R, Operand::reg(result), Operand::reg(made)).guarded(Some(guard));
            copy.operands.push(Operand::reg(old));
            self.add(copy);
        }
        Ok(())
    }

    /// What a register holds in another lane.
    pub(super) fn read_lane(&mut self, value: VReg, lane: Operand) -> Result<VReg, BuildError> {
        let there = self.func.new_vreg(RegType::R)?;
        let roles =
            [(Role::D, Operand::reg(there)), (Role::A, Operand::reg(value)), (Role::B, lane), (Role::C, WHOLE_WARP)];
        self.emit(Opcode::SHFL, &[Field::SHFL.is(Shfl::IDX)], &roles);
        Ok(there)
    }

    /// The thread's lane.
    pub(super) fn lane(&mut self) -> Result<Operand, BuildError> {
        self.special(self.special.lane)
    }

    fn special(&mut self, number: u8) -> Result<Operand, BuildError> {
        let to = Operand::reg(self.func.new_vreg(RegType::R)?);
        self.emit(Opcode::S2R, &[], &[(Role::D, to), (Role::A, Operand::special(number))]);
        Ok(to)
    }

    /// How many threads are active.
    fn count(&mut self, active: usize) -> Result<Operand, BuildError> {
        let Active { mask, count, .. } = self.active[active];
        if let Some(count) = count {
            return Ok(count);
        }
        // Not in a uniform register: the product with a constant is shorter, and none where it is one.
        let count = Operand::reg(self.func.new_vreg(RegType::R)?);
        self.emit(Opcode::POPC, &[], &[(Role::D, count), (Role::B, mask)]);
        self.active[active].count = Some(count);
        Ok(count)
    }

    /// The leader's lane, for shuffles.
    fn leaders_lane(&mut self, active: usize) -> Result<Operand, BuildError> {
        let Active { highest, lane, .. } = self.active[active];
        if let Some(lane) = lane {
            return Ok(lane);
        }
        let lane = Operand::reg(self.func.new_vreg(RegType::R)?);
        self.add(Inst::copy(RegFile::R, lane, highest));
        self.active[active].lane = Some(lane);
        Ok(lane)
    }

    /// How many of the active threads have lower lanes.
    fn lower(&mut self, active: usize) -> Result<Operand, BuildError> {
        let Active { mask, lower, .. } = self.active[active];
        if let Some(lower) = lower {
            return Ok(lower);
        }
        let below = self.special(self.special.lower)?;
        let both = Operand::reg(self.func.new_vreg(RegType::R)?);
        self.emit(Opcode::LOP3, &[], &[(Role::D, both), (Role::A, below), (Role::B, mask), (Role::Lut, AND)]);
        let lower = Operand::reg(self.func.new_vreg(RegType::R)?);
        self.emit(Opcode::POPC, &[], &[(Role::D, lower), (Role::B, both)]);
        self.active[active].lower = Some(lower);
        Ok(lower)
    }

    /// Who is active here, and who of them leads: its place among those that are known. Its lane may be asked for by shuffles.
    fn active(&mut self, guard: Option<Guard>, shuffles: bool) -> Result<usize, BuildError> {
        if let Some(known) = self.active.iter().position(|active| active.guard == guard) {
            return Ok(known);
        }
        let mask = Operand::reg(self.func.new_vreg(RegType::Ur)?);
        let holds = guard.map_or(Operand::pt(), Guard::operand);
        self.emit(Opcode::VOTEU, &[Field::VOTE.is(Vote::ANY)], &[(Role::D, mask), (Role::PA, holds)]);
        let (flo, kind) = if shuffles { (Opcode::FLO, RegType::R) } else { (Opcode::UFLO, RegType::Ur) };
        let highest = Operand::reg(self.func.new_vreg(kind)?);
        self.emit(flo, &[Field::SIGN.is(Sign::U32)], &[(Role::D, highest), (Role::B, mask)]);
        let own = self.lane()?;
        let leader = self.is_lane(own, highest)?;
        self.active.push(Active {
            guard,
            mask,
            highest,
            leader,
            lane: shuffles.then_some(highest),
            count: None,
            lower: None,
        });
        Ok(self.active.len() - 1)
    }

    /// Whether a lane is that one.
    pub(super) fn is_lane(&mut self, lane: Operand, that: Operand) -> Result<VReg, BuildError> {
        let is = self.func.new_vreg(RegType::P)?;
        let mods = [Field::CMP.is(Cmp::EQ), Field::SIGN.is(Sign::U32)];
        self.emit(Opcode::ISETP, &mods, &[(Role::PD, Operand::reg(is)), (Role::A, lane), (Role::B, that)]);
        Ok(is)
    }

    /// Registers for the words of a value.
    fn registers(&mut self, words: usize) -> Result<SmallVec<[VReg; 2]>, BuildError> {
        (0..words).map(|_| self.func.new_vreg(RegType::R)).collect()
    }

    pub(super) fn emit(&mut self, opcode: Opcode, mods: &[Setting], roles: &[(Role, Operand)]) {
        let mut inst = Inst::neutral(opcode, mods.iter().copied().collect::<Mods>());
        roles.iter().for_each(|(role, operand)| inst.set_role(*role, *operand));
        if EXCHANGES.contains(&opcode) {
            inst.flags |= InstFlags::ADDED;
        }
        self.add(inst);
    }

    pub(super) fn add(&mut self, mut inst: Inst) {
        inst.loc = self.loc;
        self.func.edit().append(self.block, inst);
    }
}

/// What stays in the place of the result where the operation is under a guard that does not hold.
pub(super) fn old_of(inst: &Inst) -> Option<Operand> {
    let at = inst.position(Role::D)?;
    inst.defs().zip(inst.olds()).find(|((def, _), _)| *def == at).map(|(_, old)| *old)
}

/// Let an atomic operation happen under that guard alone. Its result, if it has one, is another from now on, that nobody
/// reads where the guard does not hold.
pub(super) fn act_alone(inst: &mut Inst, guard: Guard, result: Option<Operand>) {
    inst.drop_olds();
    inst.set_guard(Some(guard));
    let Some(result) = result else { return };
    inst.set_role(Role::D, result);
    let olds = |(_, def): (usize, Operand)| if def.names_registers() { Operand::undef() } else { Operand::NONE };
    let olds: SmallVec<[Operand; 2]> = inst.defs().map(olds).collect();
    inst.operands.extend(olds);
}

/// The value that changes nothing.
fn neutral(op: Redux, signed: bool) -> Operand {
    match (op, signed) {
        (Redux::AND, _) | (Redux::MIN, false) => Operand::imm(u32::MAX),
        (Redux::MIN, true) => Operand::imm_signed(i32::MAX),
        (Redux::MAX, true) => Operand::imm_signed(i32::MIN),
        _ => Operand::rz(),
    }
}
