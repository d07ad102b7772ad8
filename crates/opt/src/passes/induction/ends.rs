//! Counters whose last value is known, and those that only say whether there is another round.
//!
//! Where counter `c` ends the loop by arriving at a bound, and `x` goes on by `k` times as much in the other direction, `x` is
//! `x0 + k * (c0 - bound)` then.

use super::counters::{Counter, Rounds, counters, lone_test};
use super::{add_at_end, in_register, is_inside, is_plain, read_instead, readers, stays, sum};
use crate::passes::general::{constant_of, opposite_cmp, source, word};
use crate::passes::predicate::lone_branch;
use oriole_isa::{Arch, Cmp, Field, Mods, Opcode, Role};
use oriole_ori::analysis::{Analyses, Loop, LoopForest};
use oriole_ori::{BuildError, Function, Inst, InstId, Operand, RegType, VReg};

/// A counter that ends the loop, the only thing that does, when it arrives at a bound.
struct Ending {
    counter: Counter,
    bound: Operand,
    test: InstId,
}

/// Replace what can be. Gives how many values at the end are known, and how many tests are another counter's.
pub(super) fn known_ends(
    func: &mut Function,
    loops: &LoopForest,
    (arch, analyses): (Arch, &mut Analyses),
    (this, rounds): (Loop, Rounds),
) -> Result<(u32, u32), BuildError> {
    let counters = counters(func, rounds);
    let ending = |counter: &Counter| ending(func, loops, (this, rounds), *counter);
    let Some(ending) = counters.iter().find_map(ending) else { return Ok((0, 0)) };
    let mut ends = 0;
    let others = |counter: &&Counter| counter.value != ending.counter.value;
    for counter in counters.iter().filter(others) {
        let outside = outside_readers(func, loops, this, *counter);
        let goes_along = times(*counter, ending.counter).filter(|_| !outside.is_empty());
        if let Some(last) = goes_along.map(|times| last(func, rounds, *counter, &ending, times)).transpose()?.flatten()
        {
            read_instead(func, &outside, counter.next, last);
            ends += 1;
        }
    }
    let mut tests = counters.iter().filter(others).filter(|counter| may_test(func, &ending, **counter)).peekable();
    if tests.peek().is_none() {
        return Ok((ends, 0));
    }
    // Branches on what varies need barriers.
    let uniformity = analyses.uniformity(func, arch);
    let varies = |counter: &Counter| uniformity.is_varying(counter.next);
    let Some(counter) = tests.find(|counter| varies(&ending.counter) || !varies(counter)).copied() else {
        return Ok((ends, 0));
    };
    let times = times(counter, ending.counter).unwrap_or(1);
    let Some(last) = last(func, rounds, counter, &ending, times)? else { return Ok((ends, 0)) };
    let bound = constant_of(func, last).map_or(Operand::reg(last), word);
    func.edit().update(ending.test, |test| {
        test.set_role(Role::A, Operand::reg(counter.next));
        test.set_role(Role::B, bound);
    });
    Ok((ends, 1))
}

/// Whether the loop ends when a counter arrives at what stays the same, and only then.
fn ending(func: &Function, loops: &LoopForest, (this, rounds): (Loop, Rounds), counter: Counter) -> Option<Ending> {
    let [(from, to)] = loops[this].exits[..] else { return None };
    let (guard, _) = lone_branch(func, rounds.latch).filter(|_| from == rounds.latch)?;
    let test = lone_test(func, guard.pred)?;
    let data = &func[test];
    let counts = source(data, Role::A)? == Operand::reg(counter.next);
    // The way that is taken stands first.
    let leaves_if = if func.succs(rounds.latch).first() == Some(&to) { !guard.negated } else { guard.negated };
    let cmp = if leaves_if { data.get(Field::CMP) } else { opposite_cmp(data.get(Field::CMP))? };
    let bound = source(data, Role::B).filter(|bound| is_plain(*bound))?;
    let fixed = bound.as_whole_reg().is_none_or(|bound| stays(func, loops, this, bound));
    (counts && fixed && cmp == Cmp::EQ).then_some(Ending { counter, bound, test })
}

/// How many times as far a counter goes as another one goes back.
fn times(counter: Counter, ending: Counter) -> Option<i32> {
    let back = ending.step.checked_neg().filter(|back| *back != 0)?;
    (counter.step.checked_rem(back)? == 0 && counter.step != 0).then(|| counter.step / back)
}

/// Those behind the loop who read what a counter is there, if nobody in the loop does but to count.
fn outside_readers(func: &Function, loops: &LoopForest, this: Loop, counter: Counter) -> Vec<InstId> {
    let phi = func.definition(counter.value);
    let counts_only = readers(func, counter.value).into_iter().all(|reader| reader == counter.sum);
    let (own, outside): (Vec<InstId>, Vec<InstId>) =
        readers(func, counter.next).into_iter().partition(|reader| is_inside(func, loops, this, *reader));
    let alone = counts_only && own.into_iter().all(|reader| Some(reader) == phi);
    if alone { outside } else { Vec::new() }
}

/// Whether a counter can say whether there is another round, in place of one that nobody needs for anything else.
fn may_test(func: &Function, ending: &Ending, counter: Counter) -> bool {
    let only_tests = readers(func, ending.counter.value).into_iter().all(|reader| reader == ending.counter.sum)
        && readers(func, ending.counter.next)
            .into_iter()
            .all(|reader| reader == ending.test || Some(reader) == func.definition(ending.counter.value));
    // Arriving at the bound is the same for both if they go by as much: twice as much comes by it sooner.
    let as_far = times(counter, ending.counter).is_some_and(|times| times.abs() == 1);
    let needed = readers(func, counter.value).into_iter().any(|reader| reader != counter.sum)
        || readers(func, counter.next).into_iter().any(|reader| Some(reader) != func.definition(counter.value));
    only_tests && as_far && needed && stands_ahead(func, counter.sum, ending.test)
}

/// Whether one instruction, which every round executes, has been executed where the other stands.
fn stands_ahead(func: &Function, first: InstId, second: InstId) -> bool {
    let Some(lists) = func.def_use() else { return false };
    let (Some(from), Some(to)) = (lists.home(first), lists.home(second)) else { return false };
    let place = |inst: InstId| func.block_insts(from).iter().position(|other| *other == inst);
    from == to && place(first) < place(second)
}

/// Compute ahead of the loop what a counter is at its end, if it takes no more than a few instructions.
fn last(
    func: &mut Function,
    rounds: Rounds,
    counter: Counter,
    ending: &Ending,
    times: i32,
) -> Result<Option<VReg>, BuildError> {
    let firsts = [counter.first, ending.counter.first];
    if !firsts.iter().all(|first| is_plain(*first)) {
        return Ok(None);
    }
    let known = |func: &Function, operand: Operand| match operand.as_whole_reg() {
        Some(value) => constant_of(func, value),
        None if operand.is_zero() => Some(0),
        None => operand.as_imm(),
    };
    let [start, from, to] = [firsts[0], firsts[1], ending.bound].map(|operand| known(func, operand).ok_or(operand));
    let distance = match (from, to) {
        (Ok(from), Ok(to)) => Ok(from.wrapping_sub(to)),
        (Err(from), Ok(0)) => Err(from),
        (Err(from), Ok(to)) => Err(sum(func, rounds.entrance, from, word(to.wrapping_neg()))?),
        (from, Err(to)) => {
            let from = in_register(func, rounds.entrance, from.map_or_else(|operand| operand, word))?;
            Err(sum(func, rounds.entrance, from, to.neg())?)
        }
    };
    let moved = match distance {
        Ok(distance) => Ok(distance.wrapping_mul(times as u32)),
        Err(distance) if times == 1 => Err(distance),
        Err(distance) => Err(product(func, rounds, distance, times)?),
    };
    let last = match (moved, start) {
        (Ok(moved), Ok(start)) => in_register(func, rounds.entrance, word(moved.wrapping_add(start)))?,
        (Err(moved), Ok(0)) => moved,
        (Err(value), Ok(known)) | (Ok(known), Err(value)) => sum(func, rounds.entrance, value, word(known))?,
        (Err(moved), Err(start)) => sum(func, rounds.entrance, moved, start)?,
    };
    Ok(last.as_whole_reg())
}

fn product(func: &mut Function, rounds: Rounds, a: Operand, times: i32) -> Result<Operand, BuildError> {
    let result = Operand::reg(func.new_vreg(RegType::R)?);
    let mut product = Inst::neutral(Opcode::IMAD, Mods::new());
    [(Role::D, result), (Role::A, a), (Role::B, Operand::imm_signed(times)), (Role::C, Operand::rz())]
        .into_iter()
        .for_each(|(role, operand)| product.set_role(role, operand));
    add_at_end(func, rounds.entrance, product);
    Ok(result)
}
