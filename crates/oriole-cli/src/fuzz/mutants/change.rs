//! Random changes of a module.

use super::Mutant;
use super::places::{Registers, edit, edit_instruction, instructions, leaves, offsets};
use fastrand::Rng;
use oriole_ptx::ast::{Guard, Imm, Instruction, Modifier, Module, Name, Operand, ScalarType, Span, Statement};

/// Changes of one mutant, at most.
const MOST: usize = 4;
/// Tries to make a change that leaves a module.
const TRIES: usize = 20;

/// A mutant of a module: changes one after the other, each of which left what the checker takes. `None` where none did.
pub(super) fn mutant(rng: &mut Rng, module: &Module) -> Option<Mutant> {
    let mut best = module.clone();
    let mut notes: Vec<&'static str> = Vec::new();
    let wanted = rng.usize(1..=MOST);
    for _ in 0..TRIES {
        let mut candidate = best.clone();
        let Some(note) = changed(rng, &mut candidate) else { continue };
        if candidate != best && oriole_ptx::load(&oriole_ptx::print(&candidate)).is_ok() {
            (best, notes) = (candidate, [notes, vec![note]].concat());
        }
        if notes.len() == wanted {
            break;
        }
    }
    (!notes.is_empty()).then(|| Mutant::of(best, notes.join(", ")))
}

/// One change: what it was.
fn changed(rng: &mut Rng, module: &mut Module) -> Option<&'static str> {
    let all = instructions(module);
    if all.is_empty() {
        return None;
    }
    let (at, other) = (rng.usize(..all.len()), rng.usize(..all.len()));
    let (this, that) = (all[at].clone(), all[other].clone());
    Some(match rng.u32(..10) {
        0 | 1 => {
            edit(module, at, |statements, place| drop(statements.remove(place)));
            "deleted"
        }
        2 => {
            edit(module, other, |statements, place| statements.insert(place, Statement::Instruction(Box::new(this))));
            "doubled"
        }
        3 => {
            edit_instruction(module, at, |place| *place = that);
            edit_instruction(module, other, |place| *place = this);
            "exchanged"
        }
        4 => {
            edit_instruction(module, at, |place| retype(rng, place, &that));
            "retyped"
        }
        5..=7 => {
            let pool = Pool::of(module);
            edit_instruction(module, at, |place| rewire(rng, place, &pool));
            "rewired"
        }
        8 => {
            let pool = Pool::of(module);
            edit_instruction(module, at, |place| guard(rng, place, &pool));
            "guarded"
        }
        _ => {
            edit_instruction(module, at, |place| to_edge(rng, place));
            "put to an edge"
        }
    })
}

/// What stands in a module as an operand, and may stand elsewhere.
struct Pool {
    /// With the type, for registers.
    operands: Vec<(Operand, Option<ScalarType>)>,
    predicates: Vec<Name>,
}

impl Pool {
    fn of(module: &Module) -> Pool {
        let registers = Registers::of(module);
        let ty = |operand: &Operand| registers.ty(module.text(operand.name()?));
        let mut operands = Vec::new();
        for instruction in instructions(module) {
            let mut copy = instruction.clone();
            operands.extend(leaves(&mut copy).into_iter().map(|leaf| (leaf.clone(), ty(leaf))));
        }
        let predicate =
            |(operand, ty): &(Operand, Option<ScalarType>)| operand.name().filter(|_| *ty == Some(ScalarType::Pred));
        let predicates = operands.iter().filter_map(predicate).collect();
        Pool { operands, predicates }
    }
}

/// One of the operands becomes another one of the module, of the same type as a rule.
fn rewire(rng: &mut Rng, instruction: &mut Instruction, pool: &Pool) {
    let mut leaves = leaves(instruction);
    let count = leaves.len();
    if count == 0 || pool.operands.is_empty() {
        return;
    }
    let leaf = &mut *leaves[rng.usize(..count)];
    let ty = pool.operands.iter().find(|(operand, _)| operand == leaf).and_then(|(_, ty)| *ty);
    let like: Vec<&Operand> = match (ty, rng.u32(..5)) {
        (Some(ty), 1..) => pool.operands.iter().filter(|(_, of)| *of == Some(ty)).map(|(operand, _)| operand).collect(),
        _ => pool.operands.iter().map(|(operand, _)| operand).collect(),
    };
    *leaf = like[rng.usize(..like.len())].clone();
}

/// A type becomes another type, a modifier one of another instruction, or goes; or the opcode is another's.
fn retype(rng: &mut Rng, instruction: &mut Instruction, other: &Instruction) {
    let count = instruction.modifiers.len();
    if count == 0 || rng.u32(..8) == 0 {
        instruction.opcode = other.opcode;
        return;
    }
    let types: Vec<usize> = (0..count).filter(|at| matches!(instruction.modifiers[*at], Modifier::Type(_))).collect();
    match rng.u32(..4) {
        0 => drop(instruction.modifiers.remove(rng.usize(..count))),
        1 if !other.modifiers.is_empty() => {
            instruction.modifiers[rng.usize(..count)] = other.modifiers[rng.usize(..other.modifiers.len())];
        }
        _ if !types.is_empty() => {
            let ty = ScalarType::ALL[rng.usize(..ScalarType::ALL.len())];
            instruction.modifiers[types[rng.usize(..types.len())]] = Modifier::Type(ty);
        }
        _ => {}
    }
}

/// A guard comes, goes, or turns.
fn guard(rng: &mut Rng, instruction: &mut Instruction, pool: &Pool) {
    instruction.guard = match instruction.guard {
        Some(guard) if rng.bool() => Some(Guard { negated: !guard.negated, ..guard }),
        Some(_) if rng.bool() => None,
        _ if pool.predicates.is_empty() => return,
        _ => Some(Guard { pred: pool.predicates[rng.usize(..pool.predicates.len())], negated: rng.bool() }),
    };
}

/// A constant, an offset, or a source becomes a number at the edge of a field.
fn to_edge(rng: &mut Rng, instruction: &mut Instruction) {
    let bit = 1i64 << rng.u32(..63);
    let value = [0, 1, -1, bit, bit - 1, -bit, i64::from(i32::MIN), i64::from(u32::MAX)][rng.usize(..8)];
    let mut offsets = offsets(instruction);
    if !offsets.is_empty() && rng.bool() {
        let count = offsets.len();
        *offsets[rng.usize(..count)] = value;
        return;
    }
    let mut leaves = leaves(instruction);
    let count = leaves.len();
    if count > 1 {
        *leaves[rng.usize(1..count)] = Operand::Imm(Imm::S64(value), Span::default());
    }
}
