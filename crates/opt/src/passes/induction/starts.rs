//! Pointers and counters that are read only to add to them what stays the same.
//!
//! ```text
//! before:  p = phi(p0, p + 32)    a = p + 8 * i       load [a]
//! after:   p = phi(p0 + 8 * i, p + 32)                load [p]
//! ```

use super::counters::{Pointer, Rounds, added, carries_to, counters, gives_no_predicate, is_read_by, pointers};
use super::{in_register, is_inside, is_plain, read_instead, readers, stays};
use crate::passes::general::{may_be_shared, source};
use crate::passes::sink::{place_at_end, take_out};
use oriole_isa::{Arch, Field, Mul, Opcode, Role};
use oriole_ori::analysis::{Loop, LoopForest, Speculation};
use oriole_ori::{BuildError, Function, InstId, Operand, VReg};
use smallvec::{SmallVec, smallvec};

/// Words of a number that is kept up.
type Words<T> = SmallVec<[T; 2]>;

/// What is kept up, and what is read of it instead.
struct Sum {
    /// The MovPhis of its words, and their values.
    phis: Words<InstId>,
    words: Words<VReg>,
    /// What computes the sum, the low word first, and its words.
    insts: Words<InstId>,
    results: Words<VReg>,
}

/// Take the sums of what pointers and counters of a loop start with. Gives how many.
pub(super) fn begin_with_sums(
    func: &mut Function,
    arch: Arch,
    loops: &LoopForest,
    at: (Loop, Rounds),
) -> Result<u32, BuildError> {
    let mut found = 0;
    // What has become a start may be one of another sum.
    loop {
        let next = wide_sums(func, loops, at).or_else(|| narrow_sums(func, loops, at));
        let harmless = |inst: &InstId| Speculation::is_harmless(func, *inst, arch);
        let inside = |result: &VReg| readers(func, *result).into_iter().all(|inst| is_inside(func, loops, at.0, inst));
        // Behind the loop the sum would be needed beside that of the next round.
        let pays = |sum: &Sum| sum.insts.iter().all(harmless) && sum.results.iter().all(inside);
        let Some(sum) = next.filter(pays) else { return Ok(found) };
        begin_with(func, at.1, &sum)?;
        found += 1;
    }
}

/// A pointer of the loop that nobody reads but such a sum.
fn wide_sums(func: &Function, loops: &LoopForest, (this, rounds): (Loop, Rounds)) -> Option<Sum> {
    pointers(func, rounds).into_iter().find_map(|pointer| {
        let Pointer { phis, words, sums, .. } = pointer;
        let next = |sum: InstId| source(&func[sum], Role::D).and_then(Operand::as_reg);
        let is_kept_up = pointer.firsts.iter().all(|first| is_plain(*first))
            && sums.iter().all(|sum| next(*sum).is_some_and(|next| is_read_by(func, next, &phis)));
        let low = other_reader(func, words[0], sums[0]).filter(|_| is_kept_up)?;
        let high = other_reader(func, words[1], sums[1])?;
        let (insts, results): (Words<InstId>, _) = if low == high {
            (smallvec![low], product_and_sum(func, low, words)?)
        } else {
            (smallvec![low, high], sum_of_words(func, [low, high], words)?)
        };
        let own = |reg: VReg| words.contains(&reg) || insts[..1].iter().any(|inst| writes(func, *inst, reg));
        let added = insts.iter().all(|inst| adds_what_stays(func, loops, this, *inst, own));
        added.then(|| Sum { phis: phis.into(), words: words.into(), insts, results: results.into() })
    })
}

/// A counter of the loop that nobody reads but such a sum.
fn narrow_sums(func: &Function, loops: &LoopForest, (this, rounds): (Loop, Rounds)) -> Option<Sum> {
    counters(func, rounds).into_iter().find_map(|counter| {
        let phi = func
            .definition(counter.value)
            .filter(|phi| is_read_by(func, counter.next, &[*phi]) && is_plain(counter.first))?;
        let id = other_reader(func, counter.value, counter.sum)?;
        let sum = &func[id];
        let value = Operand::reg(counter.value);
        let adds = match sum.opcode {
            Opcode::IADD3 => [Role::A, Role::B, Role::C].into_iter().any(|role| source(sum, role) == Some(value)),
            Opcode::IMAD => sum.get(Field::MUL) == Mul::LO && source(sum, Role::C) == Some(value),
            _ => false,
        };
        let plain = adds && !sum.get(Field::X) && gives_no_predicate(sum);
        let result = source(sum, Role::D)?.as_whole_reg().filter(|result| plain && func.is_value(*result))?;
        let stays = adds_what_stays(func, loops, this, id, |reg| reg == counter.value);
        let one = |inst: InstId, value: VReg| (smallvec![inst], smallvec![value]);
        let ((phis, words), (insts, results)) = (one(phi, counter.value), one(id, result));
        stays.then_some(Sum { phis, words, insts, results })
    })
}

/// The words of `IMAD.WIDE` that adds a product to a pointer.
fn product_and_sum(func: &Function, id: InstId, words: [VReg; 2]) -> Option<[VReg; 2]> {
    let sum = &func[id];
    let plain = sum.opcode == Opcode::IMAD && sum.get(Field::MUL) == Mul::WIDE && !sum.get(Field::X);
    let added = func.tuple_values(source(sum, Role::C)?.as_tuple()?);
    let adds = plain && gives_no_predicate(sum) && added == words && !source(sum, Role::C)?.has_flags();
    let results = *func.tuple_values(source(sum, Role::D)?.as_tuple()?).first_chunk::<2>()?;
    (adds && results.iter().all(|word| func.is_value(*word))).then_some(results)
}

/// The words of the sum of a pointer and something else in two instructions.
fn sum_of_words(func: &Function, [low, high]: [InstId; 2], words: [VReg; 2]) -> Option<[VReg; 2]> {
    let results = [low, high].map(|inst| source(&func[inst], Role::D).and_then(Operand::as_whole_reg));
    let [Some(of_low), Some(of_high)] = results else { return None };
    added(func, words[0], of_low)?;
    added(func, words[1], of_high)?;
    carries_to(func, low, high).then_some([of_low, of_high])
}

/// Whether an instruction writes a register.
fn writes(func: &Function, inst: InstId, reg: VReg) -> bool {
    func.definition(reg) == Some(inst)
}

/// Whether an instruction computes, always, from what the loop does not write and `own` alone.
fn adds_what_stays(func: &Function, loops: &LoopForest, this: Loop, inst: InstId, own: impl Fn(VReg) -> bool) -> bool {
    let data = &func[inst];
    let mut stay = data.is_machine() && data.guard().is_none() && may_be_shared(data.opcode);
    func.for_each_use(inst, |read| stay &= own(read.reg) || stays(func, loops, this, read.reg));
    stay && is_inside(func, loops, this, inst)
}

/// Who reads a value besides one, if it is one, and once.
fn other_reader(func: &Function, value: VReg, one: InstId) -> Option<InstId> {
    let mut others = func.def_use()?.users(value).filter(|user| *user != one);
    let other = others.next()?;
    others.next().is_none().then_some(other)
}

/// Put the sum ahead of the loop, and let what is kept up start from there.
fn begin_with(func: &mut Function, rounds: Rounds, sum: &Sum) -> Result<(), BuildError> {
    let homes = sum.insts.iter().filter_map(|inst| func.def_use()?.home(*inst)).collect();
    take_out(func, sum.insts.iter().copied().collect(), homes);
    for (at, phi) in sum.phis.iter().enumerate() {
        let (word, result) = (sum.words[at], sum.results[at]);
        let readers = readers(func, result);
        read_instead(func, &readers, result, word);
        let from_entrance = func[*phi].operands.iter().position(|operand| operand.as_block() == Some(rounds.entrance));
        let Some(at) = from_entrance.and_then(|block| block.checked_sub(1)) else { continue };
        let first = in_register(func, rounds.entrance, func[*phi].operands[at])?;
        first.as_reg().into_iter().for_each(|first| read_instead(func, &sum.insts, word, first));
        func.edit().set_operand(*phi, at, Operand::reg(result));
    }
    place_at_end(func, rounds.entrance, &sum.insts);
    Ok(())
}
