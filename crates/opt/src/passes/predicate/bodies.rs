//! Short blocks under a branch become guarded instructions.
//!
//! `@p BRA join; body; join:` becomes the body under `@!p`, and a block that then has one predecessor
//! joins it. Results that only the body reads are computed without a guard where that does no harm: fewer
//! partial writes. A value that goes into a MovPhi of the join is written over the one that came the other way: the
//! guarded instruction names that as what it leaves in place, or a guarded copy does.

use super::{BODIES, EXITS, can_be_guarded, lone_branch};
use crate::passes::launch_constants::PLACES_IN_BLOCK;
use crate::{Context, PhaseError};
use oriole_isa::{Arch, Opcode, Pipe, RegFile, special_registers};
use oriole_ori::analysis::{Analyses, Cfg, Speculation};
use oriole_ori::layout::address_taken;
use oriole_ori::terminator::{Exit, exit_of};
use oriole_ori::{
    Block, BuildError, EntitySet, Function, Guard, Inst, InstId, Operand, OperandKind, PackedOption, SecondaryMap,
    VReg, entry_for_each,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Longest code that is guarded where the number of the thread decides: neighbours agree, so that most warps pass the branch as a
/// whole, and would execute for nothing what is guarded.
const LIMIT_BY_THREAD: usize = 8;
/// Instructions that are looked through from a predicate to the number of a thread.
const MOST_STEPS: u32 = 5;

/// Predicate what is short enough.
pub(super) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<(), PhaseError> {
    // What is short stands behind one, and so does what ends in an exit.
    if !func.layout().iter().any(|block| lone_branch(func, *block).is_some()) {
        return Ok(());
    }
    let cfg = analyses.cfg(func);
    let mut pass = Pass {
        uses: Uses::new(func),
        inputs: Inputs::default(),
        arch: context.arch,
        places: PLACES_IN_BLOCK
            .into_iter()
            .filter_map(|name| special_registers::by_name(name, context.arch))
            .map(|register| Operand::special(register.number))
            .collect(),
        preds: vec![0; func.blocks().len()],
        taken: address_taken(func),
        removed: EntitySet::new(),
        limit: usize::try_from(context.knobs.int("predication-limit")).unwrap_or(0),
        block_limit: usize::try_from(context.knobs.int("predication-block")).unwrap_or(0),
    };
    for block in func.layout() {
        for succ in func.succs(*block) {
            pass.preds[succ.as_u32() as usize] += 1;
        }
    }
    let tally = &context.tally;
    for &block in cfg.rpo() {
        if pass.removed.contains(block) {
            continue;
        }
        tally.add(EXITS, (tally.is_open() && pass.exit_at_once(func, &cfg, block)).into());
        while let Some(shape) = pass.shape(func, block).filter(|_| tally.is_open()) {
            pass.flatten(func, block, &shape)?;
            tally.count(BODIES);
            tally.add(EXITS, (tally.is_open() && pass.exit_at_once(func, &cfg, block)).into());
        }
    }
    pass.inputs.settle_all(func);
    func.edit().retain_blocks(|block| !pass.removed.contains(block));
    Ok(())
}

/// Where values are defined and read, at the start of the pass.
struct Uses {
    /// The instruction that defines a value.
    definition: SecondaryMap<VReg, PackedOption<InstId>>,
    /// How many mentions read it.
    reads: SecondaryMap<VReg, u32>,
    /// The block of all of them, where it is one.
    reader: SecondaryMap<VReg, PackedOption<Block>>,
}

impl Uses {
    fn new(func: &Function) -> Self {
        let mut uses = Uses {
            definition: entry_for_each(func.regs().len()),
            reads: entry_for_each(func.regs().len()),
            reader: entry_for_each(func.regs().len()),
        };
        for (block, inst) in func.iter_insts() {
            func.for_each_use(inst, |mention| {
                let (reads, reader) = (&mut uses.reads[mention.reg], &mut uses.reader[mention.reg]);
                *reader = if *reads == 0 || *reader == Some(block).into() { Some(block).into() } else { None.into() };
                *reads += 1;
            });
            func.for_each_def(inst, |mention| uses.definition[mention.reg] = inst.into());
        }
        uses
    }

    /// Whether the value is read in one block alone.
    fn is_only_in(&self, reg: VReg, block: Block) -> bool {
        self.reads[reg] == 0 || self.reader[reg].expand() == Some(block)
    }
}

/// A branch around one or two bodies that meet.
struct Shape {
    /// The bodies, each with the guard under which it runs.
    bodies: SmallVec<[(Block, Guard); 2]>,
    join: Block,
    /// What the join's MovPhis make of the two ways.
    choices: Vec<Choice>,
}

/// What a MovPhi of the join takes from the two ways.
struct Choice {
    /// The value of the first body.
    first: Operand,
    /// The value of the second body, or of the branch itself.
    second: Operand,
    how: How,
}

/// How two values become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// They are the same, or the second is as good.
    Second,
    /// The first is as good.
    First,
    /// The first body's instruction leaves the second value in place.
    OverSecond,
    /// The second body's instruction leaves the first value in place.
    OverFirst,
    /// By a guarded copy.
    Copy,
}

struct Pass {
    uses: Uses,
    inputs: Inputs,
    arch: Arch,
    /// The number of a thread in its block.
    places: SmallVec<[Operand; 3]>,
    /// Edges into each block.
    preds: Vec<u32>,
    taken: EntitySet<Block>,
    removed: EntitySet<Block>,
    /// Most instructions of the bodies.
    limit: usize,
    /// Most instructions of a block that is to take in more.
    block_limit: usize,
}

impl Pass {
    /// A branch to a block that does nothing but exit becomes a guarded EXIT. (Not at the end of a loop, where
    /// the branch goes back.)
    fn exit_at_once(&mut self, func: &mut Function, cfg: &Cfg, block: Block) -> bool {
        let (&[taken, next], Some((guard, branch))) = (func.succs(block), lone_branch(func, block)) else {
            return false;
        };
        let not = guard.opposite();
        let ways = [(taken, next, guard), (next, taken, not)];
        let leaves = |out: Block, stay: Block| {
            out != stay && only_exits(func, out) && cfg.rpo_number(stay) > cfg.rpo_number(block)
        };
        let Some((out, stay, guard)) = ways.into_iter().find(|(out, stay, _)| leaves(*out, *stay)) else {
            return false;
        };
        let mut exit = func[func.block_insts(out)[0]].clone();
        exit.set_guard(Some(guard));
        exit.loc = func[branch].loc;
        func.edit().replace(branch, exit);
        func.edit().set_succs(block, &[stay]);
        let edges = &mut self.preds[out.as_u32() as usize];
        *edges -= 1;
        if *edges == 0 && !self.taken.contains(out) {
            func.edit().clear_block(out);
            self.removed.insert(out);
        }
        true
    }

    /// What the branch at the end of the block goes around, if it may be flattened.
    fn shape(&mut self, func: &Function, block: Block) -> Option<Shape> {
        let &[taken, next] = func.succs(block) else { return None };
        let (guard, _) = lone_branch(func, block)?;
        if taken == next {
            return None;
        }
        let not = guard.opposite();
        let only = |body: Block| match func.succs(body)[..] {
            [join] if join != body && join != block => Some(join),
            _ => None,
        };
        let (bodies, join): (SmallVec<[(Block, Guard); 2]>, Block) = match (only(taken), only(next)) {
            (_, Some(join)) if join == taken => (SmallVec::from_slice(&[(next, not)]), join),
            (Some(join), _) if join == next => (SmallVec::from_slice(&[(taken, guard)]), join),
            (Some(join), Some(other)) if join == other => (SmallVec::from_slice(&[(taken, guard), (next, not)]), join),
            _ => return None,
        };
        let possible = bodies.iter().all(|(body, _)| self.may_guard(func, *body));
        let room = func.block_insts(block).len() <= self.block_limit;
        if !possible || !room {
            return None;
        }
        let choices = self.choices(func, block, &bodies, join)?;
        let copies = choices.iter().filter(|choice| choice.how == How::Copy).count();
        let instructions: usize = bodies.iter().map(|(body, _)| func.block_insts(*body).len()).sum();
        let limit = if self.is_by_thread(func, guard.pred) { self.limit.min(LIMIT_BY_THREAD) } else { self.limit };
        (instructions + copies <= limit).then_some(Shape { bodies, join, choices })
    }

    /// Whether a predicate comes of the number of the thread in its block by arithmetic.
    fn is_by_thread(&self, func: &Function, pred: VReg) -> bool {
        let mut open: SmallVec<[(VReg, u32); 8]> = SmallVec::from_slice(&[(pred, 0)]);
        while let Some((value, steps)) = open.pop() {
            let Some(inst) = self.uses.definition[value].expand() else { continue };
            if func[inst].opcode == Opcode::S2R && func[inst].operands.iter().any(|from| self.places.contains(from)) {
                return true;
            }
            if steps < MOST_STEPS && func[inst].opcode.info().pipe != Pipe::Memory {
                func.for_each_use(inst, |mention| open.push((mention.reg, steps + 1)));
            }
        }
        false
    }

    /// What the join's MovPhis take from the two ways; `None` where a choice is not possible.
    fn choices(
        &mut self,
        func: &Function,
        block: Block,
        bodies: &[(Block, Guard)],
        join: Block,
    ) -> Option<Vec<Choice>> {
        let (first, second) = (bodies[0].0, bodies.get(1).map_or(block, |(body, _)| *body));
        let phis = func.phis(join).iter();
        phis.map(|phi| {
            let (a, b) = (self.inputs.from(func, *phi, first)?, self.inputs.from(func, *phi, second)?);
            let how = match (a.kind(), b.kind()) {
                _ if a == b => How::Second,
                (OperandKind::Undef, _) => How::Second,
                (_, OperandKind::Undef) => How::First,
                _ if self.is_made_for_phi(func, a, first) && !self.is_defined_in(func, b, second, bodies) => {
                    How::OverSecond
                }
                _ if bodies.len() == 2 && self.is_made_for_phi(func, b, second) => How::OverFirst,
                _ => How::Copy,
            };
            let file = func[func[*phi].operands[0].as_reg()?].file();
            let possible = matches!(how, How::First | How::Second) || matches!(file, RegFile::R | RegFile::P);
            possible.then_some(Choice { first: a, second: b, how })
        })
        .collect()
    }

    /// Whether an instruction of the body writes the value, and one MovPhi alone reads it besides the body. (Where the
    /// guard is false, the body's reads do not matter.)
    fn is_made_for_phi(&self, func: &Function, value: Operand, body: Block) -> bool {
        let Some(reg) = value.as_reg() else { return false };
        let definition = self.uses.definition[reg].expand();
        let here = definition.is_some_and(|inst| func[inst].is_machine() && func.block_insts(body).contains(&inst));
        let mut outside = self.uses.reads[reg];
        if here && outside > 1 {
            for &inst in func.block_insts(body) {
                func.for_each_use(inst, |mention| outside -= u32::from(mention.reg == reg));
            }
        }
        here && outside == 1
    }

    /// Whether the value comes from the second of two bodies.
    fn is_defined_in(&self, func: &Function, value: Operand, body: Block, bodies: &[(Block, Guard)]) -> bool {
        let definition = value.as_reg().and_then(|reg| self.uses.definition[reg].expand());
        bodies.len() == 2 && definition.is_some_and(|inst| func.block_insts(body).contains(&inst))
    }

    fn may_guard(&self, func: &Function, body: Block) -> bool {
        let alone = self.preds[body.as_u32() as usize] == 1 && !self.taken.contains(body) && func.entry() != Some(body);
        alone && func.block_insts(body).iter().all(|inst| can_be_guarded(func, *inst))
    }

    /// Put the bodies, guarded, into the block, and the join too if nobody else goes there.
    fn flatten(&mut self, func: &mut Function, block: Block, shape: &Shape) -> Result<(), BuildError> {
        func.edit().pop(block);
        let mut over: FxHashMap<VReg, VReg> = FxHashMap::default();
        for choice in &shape.choices {
            let pair = match choice.how {
                How::OverSecond => (choice.first, choice.second),
                How::OverFirst => (choice.second, choice.first),
                How::First | How::Second | How::Copy => continue,
            };
            over.extend(pair.0.as_reg().zip(pair.1.as_reg()));
        }
        for (body, guard) in &shape.bodies {
            let insts = func.edit().take_block(*body).insts;
            self.removed.insert(*body);
            self.guard_all(func, block, *body, insts, *guard, &over)?;
        }
        let mut values: Vec<Operand> = Vec::with_capacity(shape.choices.len());
        for choice in &shape.choices {
            values.push(match choice.how {
                How::First | How::OverSecond => choice.first,
                How::Second | How::OverFirst => choice.second,
                How::Copy => guarded_copy(func, block, choice, shape.bodies[0].1)?,
            });
        }
        self.inputs.pass_on(func, block, shape, &values);
        func.edit().set_succs(block, &[shape.join]);
        // One edge is left of those that the branch and the bodies had.
        let edges = &mut self.preds[shape.join.as_u32() as usize];
        *edges -= 1;
        let alone = *edges == 1 && !self.taken.contains(shape.join) && func.entry() != Some(shape.join);
        if alone && shape.join != block {
            let join = func.edit().take_block(shape.join);
            let phis = join.insts.iter().take_while(|inst| func[**inst].is_phi()).copied();
            for inst in phis.collect::<Vec<_>>() {
                self.inputs.settle(func, inst);
                let copy = only_input(func, inst);
                func.edit().replace(inst, copy);
            }
            let end = func.block_insts(block).len();
            func.edit().place(block, end, &join.insts);
            for succ in &join.succs {
                func.edit().rename_phi_pred(*succ, shape.join, block);
                self.inputs.rename(func, *succ, shape.join, block);
            }
            func.edit().set_succs(block, &join.succs);
            self.removed.insert(shape.join);
        }
        Ok(())
    }

    /// Append the instructions of a body to the block under the guard. `over` says which results leave which values in
    /// place.
    fn guard_all(
        &self,
        func: &mut Function,
        block: Block,
        body: Block,
        insts: Vec<InstId>,
        guard: Guard,
        over: &FxHashMap<VReg, VReg>,
    ) -> Result<(), BuildError> {
        let mut partial: EntitySet<VReg> = EntitySet::new();
        for inst in insts {
            if exit_of(&func[inst]) == Exit::Branch {
                func.edit().remove(inst);
                continue;
            }
            let mut local = true;
            let mut reads_partial = false;
            func.for_each_def(inst, |m| local &= func.is_value(m.reg) && self.uses.is_only_in(m.reg, body));
            func.for_each_use(inst, |m| reads_partial |= partial.contains(m.reg));
            let harmless = local && !reads_partial && Speculation::is_harmless(func, inst, self.arch);
            if func[inst].is_machine() && !harmless {
                func.for_each_def(inst, |m| {
                    partial.insert(m.reg);
                });
                func.edit().update(inst, |inst| inst.set_guard(Some(guard)));
                name_olds(func, block, inst, over)?;
            }
            func.edit().place_last(block, inst);
        }
        Ok(())
    }
}

/// Say what the results of a guarded instruction leave in place; most of them nothing that matters.
fn name_olds(func: &mut Function, block: Block, inst: InstId, over: &FxHashMap<VReg, VReg>) -> Result<(), BuildError> {
    let defs: SmallVec<[Operand; 4]> = func[inst].defs().map(|(_, operand)| operand).collect();
    if !defs.iter().any(|def| func.named(*def).iter().any(|reg| func.is_value(*reg))) {
        return Ok(());
    }
    for def in defs {
        let values = func.named(def);
        let old = if values.iter().all(|value| !func.is_value(*value)) {
            Operand::NONE
        } else if values.iter().all(|value| !over.contains_key(value)) {
            Operand::undef()
        } else {
            let mut olds: SmallVec<[VReg; 4]> = SmallVec::new();
            for value in values {
                olds.push(match over.get(&value) {
                    Some(old) => *old,
                    None => {
                        let old = func.new_vreg_like(value)?;
                        func.edit().append(block, Inst::undef(Operand::reg(old)));
                        old
                    }
                });
            }
            func.tuple(&olds)
        };
        func.edit().update(inst, |inst| inst.operands.push(old));
    }
    Ok(())
}

/// `value = @guard first, else second`
fn guarded_copy(func: &mut Function, block: Block, choice: &Choice, guard: Guard) -> Result<Operand, BuildError> {
    let (Some(first), second) = (choice.first.as_reg(), choice.second) else { return Ok(choice.second) };
    let value = Operand::reg(func.new_vreg_like(first)?);
    let mut copy = Inst::copy(func[first].file(), value, choice.first).guarded(Some(guard));
    let olds: SmallVec<[Operand; 4]> =
        copy.defs().map(|(_, def)| if def == value { second } else { Operand::NONE }).collect();
    copy.operands.extend(olds);
    func.edit().append(block, copy);
    Ok(value)
}

/// The inputs of MovPhis by predecessor, of those that have been asked for: thousands of branches may join in one block.
#[derive(Default)]
struct Inputs {
    by_pred: FxHashMap<InstId, FxHashMap<Block, Operand>>,
    /// MovPhis in the order in which they were asked for.
    asked: Vec<InstId>,
}

impl Inputs {
    fn of(&mut self, func: &Function, phi: InstId) -> &mut FxHashMap<Block, Operand> {
        self.by_pred.entry(phi).or_insert_with(|| {
            self.asked.push(phi);
            func.phi_inputs(phi).map(|(source, pred)| (pred, source)).collect()
        })
    }

    /// What a MovPhi takes from a predecessor.
    fn from(&mut self, func: &Function, phi: InstId, pred: Block) -> Option<Operand> {
        self.of(func, phi).get(&pred).copied()
    }

    /// The join's MovPhis take these values from the block, and nothing from the bodies.
    fn pass_on(&mut self, func: &Function, block: Block, shape: &Shape, values: &[Operand]) {
        let phis = func.phis(shape.join).iter();
        for (phi, value) in phis.zip(values) {
            let inputs = self.of(func, *phi);
            shape.bodies.iter().for_each(|(body, _)| {
                inputs.remove(body);
            });
            inputs.insert(block, *value);
        }
    }

    /// The MovPhis of a block name another predecessor.
    fn rename(&mut self, func: &Function, block: Block, old: Block, new: Block) {
        for phi in func.phis(block).iter() {
            let inputs = self.by_pred.get_mut(phi);
            if let Some((inputs, value)) = inputs.and_then(|inputs| inputs.remove(&old).map(|value| (inputs, value))) {
                inputs.insert(new, value);
            }
        }
    }

    /// Write the inputs of a MovPhi into its operands: those that stay in their order, then new predecessors.
    fn settle(&mut self, func: &mut Function, phi: InstId) {
        let Some(mut inputs) = self.by_pred.remove(&phi).filter(|_| func[phi].is_phi()) else { return };
        let stay: Vec<Block> = func.phi_inputs(phi).map(|(_, pred)| pred).collect();
        let mut operands: Vec<Operand> = Vec::with_capacity(2 * inputs.len());
        for pred in stay {
            if let Some(source) = inputs.remove(&pred) {
                operands.extend([source, Operand::block(pred)]);
            }
        }
        let mut others: Vec<(Block, Operand)> = inputs.into_iter().collect();
        others.sort_unstable_by_key(|(pred, _)| *pred);
        operands.extend(others.into_iter().flat_map(|(pred, source)| [source, Operand::block(pred)]));
        func.edit().update(phi, |inst| {
            inst.operands.truncate(1);
            inst.operands.extend(operands);
        });
    }

    fn settle_all(&mut self, func: &mut Function) {
        for phi in std::mem::take(&mut self.asked) {
            self.settle(func, phi);
        }
    }
}

/// What a MovPhi with one predecessor is.
fn only_input(func: &Function, phi: InstId) -> Inst {
    let result = func[phi].operands[0];
    let source = func.phi_inputs(phi).next().map_or(Operand::undef(), |(source, _)| source);
    match source.as_reg() {
        Some(reg) => Inst::copy(func[reg].file(), result, source),
        None => Inst::undef(result),
    }
}

/// Whether the block is one EXIT.
fn only_exits(func: &Function, block: Block) -> bool {
    match func.block_insts(block) {
        [inst] => {
            let data = &func[*inst];
            data.opcode == Opcode::EXIT && data.guard().is_none() && func.succs(block).is_empty()
        }
        _ => false,
    }
}
