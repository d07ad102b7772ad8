//! Slot 44, on SSA form: an atomic operation whose result nobody reads is a reduction, and the atomic operations of a warp
//! on one address become one.
//!
//! Where all active threads name the same address, the memory unit would work on them one after the other. So the threads
//! put their values together, and one of them carries the sum; who reads a result gets it from that one, and adds what the
//! threads before it want. Which operations become one, and how, is ptxas's (13.0.88), in divergent code too:
//!
//! * by a leader (`warp`), on all targets what the threads agree on, and what `REDUX` puts together;
//! * by shuffles (`shuffles`), if all 32 threads are active: what varies where there is no `REDUX`, and sums whose results
//!   are read.
//!
//! Where a branch or the guard lets one thread of the warp through, it acts at once (ptxas looks for others there, too).
//! Fences stay around the operation, for all threads. Leader and count hold as long as the same threads are active: behind
//! whatever may change that, in the same block, they are found anew.

mod plan;
mod shuffles;
mod warp;

use crate::passes::alone::{Alone, Wrong};
use crate::passes::general::{constant_of, source};
use crate::{Changed, Context, PhaseError};
use oriole_isa::{Arch, AtomOp, AtomType, Effects, Field, Mods, Opcode, RegFile, Role, special_registers};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Block, BuildError, Function, Inst, InstId, Operand, RegType, VReg};
use plan::Plan;
use warp::Warp;

/// What is counted.
pub(crate) const RULES: &[&str] = &["results left out", "counters as sums", "counts of threads", "one for the warp"];
const UNREAD: usize = 0;
const COUNTER: usize = 1;
const THREADS: usize = 2;
const TOGETHER: usize = 3;

/// Operations that a reduction has.
const REDUCTIONS: [AtomOp; 8] =
    [AtomOp::ADD, AtomOp::MIN, AtomOp::MAX, AtomOp::INC, AtomOp::DEC, AtomOp::AND, AtomOp::OR, AtomOp::XOR];

/// All rules, over all blocks.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let is_atomic =
        |inst: InstId| matches!(func[inst].opcode, Opcode::ATOMG | Opcode::REDG | Opcode::ATOM | Opcode::ATOMS);
    let atomics: Vec<(Block, InstId)> = func.iter_insts().filter(|(_, inst)| is_atomic(*inst)).collect();
    if atomics.is_empty() {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    for (block, inst) in &atomics {
        leave_out_result(func, context, *block, *inst);
        make_sum(func, context, *block, *inst)?;
        count_threads(func, context, *inst);
    }
    if let Some(special) = special(context.arch) {
        let uniformity = analyses.uniformity(func, context.arch);
        let alone = Alone::new(func, analyses, uniformity.clone(), context.arch, Wrong::Slow);
        let planned = |(block, inst)| {
            let plan = plan::plan(func, context.arch, &uniformity, inst)?;
            (!alone.is(func, block, inst)).then_some((block, (inst, plan)))
        };
        let planned: Vec<(Block, (InstId, Plan))> = atomics.into_iter().filter_map(planned).collect();
        for of_block in planned.chunk_by(|(block, _), (next, _)| block == next) {
            let plans = of_block.iter().map(|(_, plan)| *plan).collect();
            Warp::new(func, of_block[0].0, special).put(context, &plans)?;
        }
    }
    Ok(Changed::when(context.tally.last().is_some()))
}

/// Special registers of a thread, by number.
#[derive(Clone, Copy)]
struct Special {
    /// Its lane.
    lane: u8,
    /// A bit for each lane below its own.
    lower: u8,
}

fn special(arch: Arch) -> Option<Special> {
    let number = |name| special_registers::by_name(name, arch).map(|register| register.number);
    Some(Special { lane: number("SR_LANEID")?, lower: number("SR_LTMASK")? })
}

/// Make a reduction of an atomic operation whose results nobody reads. One that acquires stays: it is done when the result is
/// there, and what comes after it waits for that.
fn leave_out_result(func: &mut Function, context: &Context, block: Block, id: InstId) {
    let inst = &func[id];
    let can = inst.opcode != Opcode::REDG && REDUCTIONS.contains(&inst.get(Field::ATOM_OP));
    if !context.tally.is_open() || !can {
        return;
    }
    let is_read = |reg: VReg| !func.is_value(reg) || func.def_use().is_none_or(|lists| lists.count(reg) > 0);
    let is_left = |operand: Operand| func.named(operand).into_iter().any(is_read);
    // A reduction on global memory is another instruction, elsewhere there is one with nothing to write to.
    let is_done = inst.opcode != Opcode::ATOMG && !has_result(inst);
    if is_done || acquires(func, block, id) || inst.call.is_some() || inst.defs().any(|(_, operand)| is_left(operand)) {
        return;
    }
    let opcode = if inst.opcode == Opcode::ATOMG { Opcode::REDG } else { inst.opcode };
    let new = with_operands_of(inst, opcode, inst.mods.clone());
    if func.is_legal(&new, context.arch) {
        func.edit().replace(id, new);
        context.tally.count(UNREAD);
    }
}

/// Whether an operation writes something.
fn has_result(inst: &Inst) -> bool {
    inst.defs().any(|(_, operand)| operand.names_registers())
}

/// Whether the lines of the cache are dropped behind an instruction, before anything else happens to memory.
fn acquires(func: &Function, block: Block, id: InstId) -> bool {
    let matters = Effects::READS_MEMORY.with(Effects::WRITES_MEMORY).with(Effects::SIDE_EFFECT);
    let mut behind = func.block_insts(block).iter().skip_while(|inst| **inst != id).skip(1);
    let next = behind.find(|inst| func[**inst].opcode.info().effects.intersects(matters));
    next.is_some_and(|inst| func[*inst].opcode == Opcode::CCTL)
}

/// The same operation on the same place by another instruction, without results.
fn with_operands_of(inst: &Inst, opcode: Opcode, mods: Mods) -> Inst {
    let mut new = Inst::neutral(opcode, mods);
    new.set_role(Role::D, Operand::rz());
    for role in [Role::Base, Role::UBase, Role::Offset, Role::Desc, Role::Data] {
        if let Some(operand) = source(inst, role) {
            new.set_role(role, operand);
        }
    }
    new.set_guard(inst.guard());
    (new.loc, new.flags) = (inst.loc, inst.flags);
    new
}

/// The constant of one word that an operation gets.
fn constant_data(func: &Function, inst: &Inst) -> Option<u32> {
    match func.named(source(inst, Role::Data)?)[..] {
        [value] => constant_of(func, value),
        _ => None,
    }
}

/// Make a sum of a counter whose limit is no limit: it begins again where a word does.
fn make_sum(func: &mut Function, context: &Context, block: Block, id: InstId) -> Result<(), BuildError> {
    let inst = &func[id];
    let addend = match inst.get(Field::ATOM_OP) {
        AtomOp::INC => 1,
        AtomOp::DEC => u32::MAX,
        _ => return Ok(()),
    };
    if !context.tally.is_open() || constant_data(func, inst) != Some(u32::MAX) {
        return Ok(());
    }
    let mut new = inst.clone();
    new.mods.set(Field::ATOM_OP, AtomOp::ADD);
    let Some(at) = func.block_insts(block).iter().position(|inst| *inst == id) else { return Ok(()) };
    let data = Operand::reg(func.new_vreg(RegType::R)?);
    new.set_role(Role::Data, data);
    let mut one = Inst::copy(RegFile::R, data, Operand::imm(addend));
    one.loc = new.loc;
    let one = func.edit().add(one);
    func.edit().place(block, at, &[one]);
    func.edit().replace(id, new);
    context.tally.count(COUNTER);
    Ok(())
}

/// Shared memory adds how many threads name an address by itself, where that is all that is wanted.
fn count_threads(func: &mut Function, context: &Context, id: InstId) {
    let inst = &func[id];
    let is_sum = inst.opcode == Opcode::ATOMS
        && inst.get(Field::ATOM_OP) == AtomOp::ADD
        && matches!(inst.get(Field::ATOM_TYPE), AtomType::U32 | AtomType::S32);
    if !context.tally.is_open() || !is_sum || has_result(inst) || constant_data(func, inst) != Some(1) {
        return;
    }
    let mut mods = inst.mods.clone();
    mods.set(Field::ATOM_OP, AtomOp::POPC_INC);
    mods.set(Field::ATOM_TYPE, AtomType::B32);
    let mut new = with_operands_of(inst, Opcode::ATOMS, mods);
    new.set_role(Role::Data, Operand::rz());
    if source(&new, Role::UBase).is_some_and(Operand::is_none) {
        new.set_role(Role::UBase, Operand::urz());
    }
    if func.is_legal(&new, context.arch) {
        func.edit().replace(id, new);
        context.tally.count(THREADS);
    }
}
