//! Slot 71, right behind slot 23: warp operations whose members all have one mask.
//!
//! Lowering allows for lanes with different masks: it takes the mask's part of a ballot, and lets the lanes of one mask execute alone
//! (`WARPSYNC.EXCLUSIVE`). Where the mask is the same in all lanes that execute the instruction, these are
//! its members, since a lane outside of its own mask is undefined: the ballot needs no mask, and nobody else is there.
//!
//! Instructions of the uniform datapath go from value to value of their lanes in a loop (`R2UR` tells the lanes whose value differs). Where the
//! value is the same in all, the loop goes round once.

use super::general::source;
use super::meeting_places;
use super::nested::decide;
use super::predicate::lone_branch;
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Cmp, Field, MatchMode, Opcode, RegFile, Role, Vote, WarpsyncMode};
use oriole_ori::analysis::{Analyses, Cfg, Uniformity};
use oriole_ori::layout::remove_unreachable;
use oriole_ori::{Block, Function, Inst, InstFlags, InstId, Operand, VReg};
use smallvec::SmallVec;

/// What is counted.
pub(crate) const RULES: &[&str] = &["one mask", "one value", "whole ballots", "tests of ballots", "nobody elsewhere"];
const ONE_MASK: usize = 0;
const ONE_VALUE: usize = 1;
const WHOLE: usize = 2;
const TESTS: usize = 3;
const NOBODY_ELSEWHERE: usize = 4;

/// Truth table of A & B in LOP3.
const A_AND_B: u32 = 0xf0 & 0xcc;

/// Find them, then change the code.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let is_masked =
        |inst: &Inst| inst.is_machine() && (is_ballot(inst) || waits_by_mask(inst) || differs(inst).is_some());
    if !func.iter_insts().any(|(_, inst)| is_masked(&func[inst])) {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let mut changed = meeting_places::run(func, context, analyses, NOBODY_ELSEWHERE);
    let uniformity = analyses.uniformity(func, context.arch);
    for block in func.layout().to_vec() {
        for exchange in exchanges(func, block) {
            changed |= one_mask(func, context, &uniformity, &exchange);
        }
        for id in func.block_insts(block).to_vec() {
            if func[id].is_machine() && context.tally.is_open() {
                changed |= one_value(func, context, &uniformity, block, id)
                    || whole_ballot(func, context, &uniformity, id)
                    || test_of_ballot(func, context, block, id);
            }
        }
    }
    if changed {
        remove_unreachable(func, &Cfg::new(func));
    }
    Ok(Changed::when(changed))
}

/// `VOTE.ANY` or `MATCH.ANY`, of all lanes that are there.
fn is_ballot(inst: &Inst) -> bool {
    let any = match inst.opcode {
        Opcode::VOTE => inst.get(Field::VOTE) == Vote::ANY,
        Opcode::MATCH => inst.get(Field::MATCH_MODE) == MatchMode::ANY,
        _ => false,
    };
    any && inst.guard().is_none()
}

/// The predicate of an `R2UR`: the lane's value is not that of the first.
fn differs(inst: &Inst) -> Option<VReg> {
    let plain = inst.opcode == Opcode::R2UR && !inst.get(Field::R2UR_OR) && inst.guard().is_none();
    source(inst, Role::PD).filter(|_| plain)?.as_reg()
}

/// `WARPSYNC.EXCLUSIVE`: the lanes of one mask go on alone.
pub(super) fn waits_by_mask(inst: &Inst) -> bool {
    inst.opcode == Opcode::WARPSYNC && inst.get(Field::WARPSYNC_MODE) == WarpsyncMode::EXCLUSIVE
}

/// A `WARPSYNC`, and what the lanes of one mask after the other execute behind it.
pub(super) struct Exchange {
    /// The wait.
    pub(super) wait: InstId,
    /// Its place in the block.
    pub(super) at: usize,
    /// The place of the last such instruction, or of the wait if there is none.
    pub(super) last: usize,
    /// They themselves.
    pub(super) insts: SmallVec<[InstId; 2]>,
}

/// The waits of a block in their order.
pub(super) fn exchanges(func: &Function, block: Block) -> Vec<Exchange> {
    let mut found: Vec<Exchange> = Vec::new();
    for (at, &inst) in func.block_insts(block).iter().enumerate() {
        if func[inst].opcode == Opcode::WARPSYNC {
            found.push(Exchange { wait: inst, at, last: at, insts: SmallVec::new() });
        } else if let Some(exchange) = found.last_mut().filter(|_| func[inst].flags.contains(InstFlags::BY_MASK)) {
            exchange.last = at;
            exchange.insts.push(inst);
        }
    }
    found
}

/// All lanes that come to a wait have one mask: they go on together, and what they exchange is the same in all of them.
fn one_mask(func: &mut Function, context: &Context, uniformity: &Uniformity, exchange: &Exchange) -> bool {
    let wait = &func[exchange.wait];
    let varies = wait.uses().any(|(_, operand)| uniformity.is_varying_operand(operand));
    if varies || exchange.insts.is_empty() && !waits_by_mask(wait) || !context.tally.is_open() {
        return false;
    }
    func.edit().update(exchange.wait, |wait| wait.mods.set(Field::WARPSYNC_MODE, WarpsyncMode::NORMAL));
    for inst in exchange.insts.iter().chain([&exchange.wait]) {
        func.edit().update(*inst, |inst| inst.flags -= InstFlags::BY_MASK | InstFlags::VOLATILE);
    }
    context.tally.count(ONE_MASK);
    true
}

/// No lane's value differs from the first one's: a loop over the values goes round once.
fn one_value(func: &mut Function, context: &Context, uniformity: &Uniformity, block: Block, id: InstId) -> bool {
    let Some(pred) = differs(&func[id]).filter(|pred| func.is_value(*pred)) else { return false };
    let varies = func[id].uses().any(|(_, operand)| uniformity.is_varying_operand(operand));
    if varies {
        return false;
    }
    func.edit().update(id, |inst| inst.set_role(Role::PD, Operand::pt()));
    let mut known = Inst::copy(RegFile::P, Operand::reg(pred), Operand::pt().not());
    known.loc = func[id].loc;
    insert_behind(func, block, id, known);
    for at in func.layout().to_vec() {
        let Some((guard, _)) = lone_branch(func, at).filter(|(guard, _)| guard.pred == pred) else { continue };
        if let &[taken, next] = func.succs(at) {
            decide(func, at, if guard.negated { taken } else { next });
        }
    }
    context.tally.count(ONE_VALUE);
    true
}

/// `ballot & mask` is the ballot where one mask holds for all lanes that came to it.
fn whole_ballot(func: &mut Function, context: &Context, uniformity: &Uniformity, id: InstId) -> bool {
    let inst = &func[id];
    let operand = |role| source(inst, role).unwrap_or_default();
    let plain = inst.opcode == Opcode::LOP3
        && inst.guard().is_none()
        && operand(Role::Lut).as_imm().is_some_and(|table| table & 0xff == A_AND_B)
        && operand(Role::PD).as_reg().is_none();
    let (ballot, mask) = (operand(Role::A), operand(Role::B));
    if !plain || uniformity.is_varying_operand(mask) || !is_ballot_under(func, ballot, mask) {
        return false;
    }
    let mut copy = Inst::copy(RegFile::R, operand(Role::D), ballot);
    copy.loc = inst.loc;
    func.edit().replace(id, copy);
    context.tally.count(WHOLE);
    true
}

/// Whether a value is a ballot that the wait for the members of `mask` comes before.
fn is_ballot_under(func: &Function, ballot: Operand, mask: Operand) -> bool {
    let made = ballot.as_reg().and_then(|value| func.definition(value));
    // Its block is looked for only then: most operands are no ballots.
    let Some(made) = made.filter(|made| is_ballot(&func[*made])) else { return false };
    let Some(&block) = func.layout().iter().find(|block| func.block_insts(**block).contains(&made)) else {
        return false;
    };
    let before = func.block_insts(block).iter().take_while(|inst| **inst != made);
    let wait = before.filter(|inst| func[**inst].opcode == Opcode::WARPSYNC).last();
    wait.is_some_and(|wait| source(&func[*wait], Role::A) == Some(mask))
}

/// Whether a ballot is empty is a vote: of any lane, or of all on the contrary.
fn test_of_ballot(func: &mut Function, context: &Context, block: Block, id: InstId) -> bool {
    let inst = &func[id];
    let operand = |role| source(inst, role).unwrap_or_default();
    let comparison = inst.get(Field::CMP);
    let plain = inst.opcode == Opcode::ISETP
        && inst.guard().is_none()
        && matches!(comparison, Cmp::NE | Cmp::EQ)
        && operand(Role::B).is_zero()
        && operand(Role::PB).as_reg().is_none()
        && operand(Role::PD2).as_reg().is_none();
    let voted = copied_from(func, operand(Role::A)).and_then(|value| func.definition(value));
    let Some(voted) = voted.filter(|vote| plain && func[*vote].opcode == Opcode::VOTE && is_ballot(&func[*vote]))
    else {
        return false;
    };
    // The vote stands where the ballot does, among the same lanes.
    if !func.block_insts(block).contains(&voted) {
        return false;
    }
    let any = comparison == Cmp::NE;
    let pred = source(&func[voted], Role::PA).unwrap_or_default();
    let mut vote = func[voted].clone();
    vote.set_role(Role::D, Operand::rz());
    vote.set_role(Role::PD, operand(Role::PD));
    vote.set_role(Role::PA, if any { pred } else { pred.with_not(!pred.is_not()) });
    vote.mods.set(Field::VOTE, if any { Vote::ANY } else { Vote::ALL });
    let ballot = operand(Role::A);
    func.edit().retain_insts(block, |_, other| other != id);
    insert_behind(func, block, voted, vote);
    sweep(func, block, ballot);
    context.tally.count(TESTS);
    true
}

/// Take out a ballot that nobody reads any more, and the copies on the way to it. Code that is dead goes elsewhere, but votes count as
/// having an effect.
fn sweep(func: &mut Function, block: Block, operand: Operand) {
    let mut next = operand.as_reg();
    while let Some(value) = next {
        let unread = func.def_use().is_some_and(|uses| uses.count(value) == 0);
        let Some(made) = func.definition(value).filter(|_| unread) else { return };
        let has_pred = source(&func[made], Role::PD).is_some_and(|pred| pred.as_reg().is_some());
        let goes = func[made].is_machine() && matches!(func[made].opcode, Opcode::MOV | Opcode::VOTE) && !has_pred;
        if !goes || !func.block_insts(block).contains(&made) {
            return;
        }
        next = source(&func[made], Role::B).and_then(|from| from.as_reg());
        func.edit().retain_insts(block, |_, other| other != made);
    }
}

/// The value that an operand is, behind copies.
fn copied_from(func: &Function, operand: Operand) -> Option<VReg> {
    let mut value = operand.as_reg()?;
    while let Some(from) = func.definition(value).and_then(|made| {
        let inst = &func[made];
        let plain = inst.is_machine() && inst.opcode == Opcode::MOV && inst.guard().is_none();
        source(inst, Role::B).filter(|from| plain && !from.has_flags())?.as_reg()
    }) {
        value = from;
    }
    Some(value)
}

fn insert_behind(func: &mut Function, block: Block, id: InstId, inst: Inst) {
    let new = func.edit().add(inst);
    let at = func.block_insts(block).iter().position(|other| *other == id).map_or(0, |at| at + 1);
    func.edit().place(block, at, &[new]);
}
