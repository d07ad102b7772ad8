//! Slot 21, on SSA form: what a loop keeps up from round to round.
//!
//! * Where a pointer or counter is read only to add what stays the same, the sum is taken of what it starts with.
//! * Where a counter is read behind the loop alone, and another one that arrives at its bound ends the loop, what it will be is
//!   known ahead.
//! * Where a counter only says whether there is another round, and another one goes by as much, that one says it.
//!
//! A number that runs through an array stays a number: `IMAD.WIDE` adds it to the array's address in one instruction, while a
//! pointer of its own takes two for each round.

mod counters;
mod ends;
mod starts;

use super::dead_code;
use super::sink::place_at_end;
use crate::{Changed, Context, PhaseError};
pub(crate) use counters::{Counter, Rounds, counters, gives_no_predicate, lone_test};
use oriole_isa::{Mods, Opcode, RegFile, Role};
use oriole_ori::analysis::{Analyses, Loop, LoopForest};
use oriole_ori::{Block, BuildError, Function, Inst, InstId, Operand, RegType, VReg};

/// What is counted.
pub(crate) const RULES: &[&str] =
    &["sums from the start on", "counters that are known at the end", "tests by another counter"];
const STARTS: usize = 0;
const ENDS: usize = 1;
const TESTS: usize = 2;

/// Look at every loop that is entered from one block and has one way back.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let loops = analyses.loops(func);
    if loops.is_empty() || !context.tally.is_open() {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let mut changed = false;
    for this in loops.inner_first() {
        let Some(rounds) = rounds(&loops, this) else { continue };
        let found = starts::begin_with_sums(func, context.arch, &loops, (this, rounds))?;
        context.tally.add(STARTS, found);
        let (ends, tests) = ends::known_ends(func, &loops, (context.arch, analyses), (this, rounds))?;
        context.tally.add(ENDS, ends);
        context.tally.add(TESTS, tests);
        changed |= found + ends + tests > 0;
    }
    if changed {
        dead_code::sweep(func);
    }
    Ok(Changed::when(changed))
}

fn rounds(loops: &LoopForest, this: Loop) -> Option<Rounds> {
    let data = &loops[this];
    let &[latch] = &data.latches[..] else { return None };
    Some(Rounds { header: data.header, latch, entrance: data.entrance? })
}

/// Whether a value is the same in all rounds: nothing in the loop writes it.
fn stays(func: &Function, loops: &LoopForest, this: Loop, value: VReg) -> bool {
    let definition = func.definition(value).filter(|_| func.is_value(value));
    definition.is_some_and(|inst| !is_inside(func, loops, this, inst))
}

/// Whether an instruction stands in a loop.
fn is_inside(func: &Function, loops: &LoopForest, this: Loop, inst: InstId) -> bool {
    func.def_use().and_then(|lists| lists.home(inst)).is_some_and(|home| loops.contains(this, home))
}

fn add_at_end(func: &mut Function, block: Block, inst: Inst) {
    let inst = func.edit().add(inst);
    place_at_end(func, block, &[inst]);
}

/// A value as a register: a copy at the end of a block where it is none.
pub(crate) fn in_register(func: &mut Function, block: Block, value: Operand) -> Result<Operand, BuildError> {
    if value.as_reg().is_some() {
        return Ok(value);
    }
    let register = Operand::reg(func.new_vreg(RegType::R)?);
    add_at_end(func, block, Inst::copy(RegFile::R, register, value));
    Ok(register)
}

/// The sum of two words, at the end of a block.
pub(crate) fn sum(func: &mut Function, block: Block, a: Operand, b: Operand) -> Result<Operand, BuildError> {
    let result = Operand::reg(func.new_vreg(RegType::R)?);
    let mut sum = Inst::neutral(Opcode::IADD3, Mods::new());
    [(Role::D, result), (Role::A, a), (Role::B, b)].into_iter().for_each(|(role, operand)| sum.set_role(role, operand));
    add_at_end(func, block, sum);
    Ok(result)
}

/// All who read a value, each once.
pub(crate) fn readers(func: &Function, value: VReg) -> Vec<InstId> {
    let mut readers: Vec<InstId> = func.def_use().map_or_else(Vec::new, |lists| lists.users(value).collect());
    readers.sort_unstable();
    readers.dedup();
    readers
}

/// Let those who read one value read another.
pub(crate) fn read_instead(func: &mut Function, readers: &[InstId], old: VReg, new: VReg) {
    for &reader in readers {
        func.edit().rename_regs(reader, |reg, is_def| if reg == old && !is_def { new } else { reg });
    }
}

/// A plain operand that is a register's value, a constant or zero.
fn is_plain(operand: Operand) -> bool {
    !operand.has_flags() && (operand.as_whole_reg().is_some() || operand.is_zero() || operand.as_imm().is_some())
}
