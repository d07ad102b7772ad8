//! What each round of a loop adds the same to.

use crate::passes::general::{source, two_summands};
use oriole_isa::{Bop, Field, Opcode, Role};
use oriole_ori::{Block, Function, Inst, InstId, Operand, VReg};
use smallvec::SmallVec;

/// A loop that is entered from one block and goes round through one.
#[derive(Clone, Copy)]
pub(crate) struct Rounds {
    /// Where a round begins.
    pub(crate) header: Block,
    /// Where it ends, if another follows.
    pub(crate) latch: Block,
    /// From where the first one is entered.
    pub(crate) entrance: Block,
}

/// A register to which each round adds the same number.
#[derive(Clone, Copy)]
pub(crate) struct Counter {
    /// What it is in the first round.
    pub(crate) first: Operand,
    /// What it is when a round begins: a MovPhi's.
    pub(crate) value: VReg,
    /// What it is when the next one begins.
    pub(crate) next: VReg,
    /// The sum of both.
    pub(crate) sum: InstId,
    pub(crate) step: i32,
}

/// A 64-bit number in two registers to which each round adds the same.
pub(super) struct Pointer {
    /// The MovPhis of its words.
    pub(super) phis: [InstId; 2],
    /// What its words are in the first round.
    pub(super) firsts: [Operand; 2],
    /// What its words are when a round begins.
    pub(super) words: [VReg; 2],
    /// The sums of the words.
    pub(super) sums: [InstId; 2],
}

/// What a MovPhi gives, takes from the entrance, and takes from the latch.
fn ways(func: &Function, rounds: Rounds, phi: InstId) -> Option<(VReg, Operand, VReg)> {
    let from = |block: Block| func.phi_inputs(phi).find(|(_, pred)| *pred == block).map(|(input, _)| input);
    let only = func.phi_inputs(phi).count() == 2;
    let (first, next) = (from(rounds.entrance).filter(|_| only)?, from(rounds.latch)?.as_whole_reg()?);
    Some((func[phi].operands[0].as_reg()?, first, next))
}

/// The sum that is the next round's value of a MovPhi, and what it adds to the value.
pub(super) fn added(func: &Function, value: VReg, next: VReg) -> Option<(InstId, Operand)> {
    let id = func.definition(next).filter(|_| func.is_value(next))?;
    let sum = &func[id];
    let plain = sum.opcode == Opcode::IADD3 && sum.is_machine() && sum.guard().is_none();
    let [a, b] = two_summands(sum).filter(|_| plain && source(sum, Role::D) == Some(Operand::reg(next)))?;
    let value = Operand::reg(value);
    if a == value { Some((id, b)) } else { (b == value).then_some((id, a)) }
}

/// Whether an instruction gives no carry, and nothing else as a predicate.
pub(crate) fn gives_no_predicate(inst: &Inst) -> bool {
    [Role::PD, Role::PD2].into_iter().filter_map(|role| source(inst, role)).all(|given| given == Operand::pt())
}

/// Whether two sums are one of two words: the upper one alone reads the carry of the lower one, and gives none itself.
pub(super) fn carries_to(func: &Function, low: InstId, high: InstId) -> bool {
    let (low, high_sum) = (&func[low], &func[high]);
    let carry = source(low, Role::PD).and_then(Operand::as_reg).filter(|_| !low.get(Field::X));
    let one_carry = source(high_sum, Role::PB) == Some(Operand::pt().not());
    let lone = source(low, Role::PD2) == Some(Operand::pt()) && one_carry && gives_no_predicate(high_sum);
    let read =
        |carry: VReg| source(high_sum, Role::PA) == Some(Operand::reg(carry)) && is_read_by(func, carry, &[high]);
    lone && high_sum.get(Field::X) && carry.is_some_and(read)
}

/// Whether nothing but these reads a value.
pub(super) fn is_read_by(func: &Function, value: VReg, all: &[InstId]) -> bool {
    func.def_use().is_some_and(|lists| lists.users(value).all(|user| all.contains(&user)))
}

/// The comparison of two words that gives a predicate, and nothing else.
pub(crate) fn lone_test(func: &Function, pred: VReg) -> Option<InstId> {
    let id = func.definition(pred)?;
    let test = &func[id];
    let plain = test.opcode == Opcode::ISETP && test.is_machine() && test.guard().is_none();
    let narrow = plain && !test.get(Field::EX) && !test.get(Field::LONG) && test.get(Field::BOP) == Bop::AND;
    let alone = narrow && source(test, Role::PA)? == Operand::pt() && source(test, Role::PD)?.as_reg() == Some(pred);
    alone.then_some(id)
}

/// The counters of a loop.
pub(crate) fn counters(func: &Function, rounds: Rounds) -> Vec<Counter> {
    let counter = |phi: &InstId| {
        let (value, first, next) = ways(func, rounds, *phi)?;
        let (sum, step) = added(func, value, next)?;
        let plain = !func[sum].get(Field::X) && gives_no_predicate(&func[sum]);
        let step = step.as_imm().filter(|_| plain)? as i32;
        Some(Counter { first, value, next, sum, step })
    };
    func.phis(rounds.header).iter().filter_map(counter).collect()
}

/// The pointers of a loop.
pub(super) fn pointers(func: &Function, rounds: Rounds) -> Vec<Pointer> {
    let ways = |phi: &InstId| Some((*phi, ways(func, rounds, *phi)?));
    let phis: SmallVec<[_; 16]> = func.phis(rounds.header).iter().filter_map(ways).collect();
    let pointer = |(phi, (low, first, next)): &(InstId, (VReg, Operand, VReg))| {
        let (sum, step) = added(func, *low, *next)?;
        let carry = source(&func[sum], Role::PD)?.as_reg().filter(|_| step.as_imm().is_some())?;
        let high_sum = func.def_use()?.users(carry).next().filter(|high| carries_to(func, sum, *high))?;
        let next = source(&func[high_sum], Role::D)?.as_reg()?;
        let (high_phi, (high, high_first, _)) = *phis.iter().find(|(_, (_, _, of_phi))| *of_phi == next)?;
        let (_, upper) = added(func, high, next)?;
        let fixed = upper.is_zero() || upper.as_imm().is_some();
        let (phis, firsts) = ([*phi, high_phi], [*first, high_first]);
        let pointer = Pointer { phis, firsts, words: [*low, high], sums: [sum, high_sum] };
        fixed.then_some(pointer)
    };
    phis.iter().filter_map(pointer).collect()
}
