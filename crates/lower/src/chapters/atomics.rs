//! Atomic operations: `atom`, `red`.
//!
//! What the memory system has is one instruction; the rest is a loop around compare-and-swap.

pub(crate) mod cas_loop;
pub(crate) mod combine;
pub(crate) mod operation;
pub(crate) mod vector;

use crate::chapters::atomics::operation::{
    Atomic, atomic_inst, codes, is_native, operation, result_register, value_of,
};
use crate::chapters::memory::address::Target;
use crate::chapters::memory::{address, fences, manner};
use crate::error::Lowered;
use crate::function::{FnLower, operands};
use crate::handler::{Chapter, unknown};
use oriole_isa::Opcode as Sass;
use oriole_isa::Role::{D, Data, Data2};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Instruction, Opcode, Scope, Semantics, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Atom, atom), (Opcode::Red, atom)];

/// `atom{.sem}{.scope}{.space}.op.type d, [a], b{, c};` and `red`.
fn atom(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::MbarrierCompleteTxBytes) {
        return crate::chapters::asynchronous::remote::reduce(cx, instruction);
    }
    let op = operation(instruction).map(|(word, _)| word);
    let (Some(op), Some(ty)) = (op, instruction.last_type()) else { return Err(unknown(cx, instruction)) };
    let first = usize::from(instruction.opcode == Opcode::Atom);
    let Some(address) = operands::operand(instruction, first)?.address() else { return Err(unknown(cx, instruction)) };
    let wanted = if op == Word::Cas { 2 } else { 1 };
    let values = instruction.operands.get(first + 1..first + 1 + wanted).ok_or_else(|| unknown(cx, instruction))?;
    let result = instruction.operands.first().filter(|operand| first == 1 && !matches!(operand, ast::Operand::Sink(_)));
    let space = instruction.space();
    let scope = instruction.scope().unwrap_or(Scope::Gpu);
    let semantics = instruction.semantics().unwrap_or(Semantics::Relaxed);
    let fences = [Semantics::AcqRel, Semantics::Sc].contains(&semantics);
    let is_vector = instruction.vector().is_some();
    let needs_loop = !is_vector && !is_native(cx, op, ty, address::target_of(cx, space, address)?);
    if needs_loop {
        cx.guard_by_branch()?;
    }
    let addr = address::resolve(cx, space, address)?;
    let mem = manner::strong(cx, instruction, scope);
    let atomic = Atomic { op, ty, addr, scope, mem, result, values };
    if fences || manner::has_semantics(instruction, Semantics::Release) {
        fences::release_fence(cx, scope)?;
    }
    if is_vector {
        vector::lower(cx, instruction, &atomic)?;
    } else if needs_loop {
        cas_loop::lower(cx, instruction, &atomic)?;
    } else {
        native(cx, instruction, &atomic)?;
    }
    if (fences || semantics == Semantics::Acquire) && addr.target != Target::Shared {
        fences::acquire_fence(cx, scope)?;
    }
    Ok(())
}

/// One atomic instruction.
fn native(cx: &mut FnLower<'_, '_>, instruction: &Instruction, atomic: &Atomic<'_>) -> Lowered {
    let (op, ty) = codes(cx, instruction, atomic)?;
    let mut values = Vec::new();
    for value in atomic.values {
        values.push(value_of(cx, atomic.ty, value)?);
    }
    let no_result = atomic.result.is_none() && atomic.op != Word::Exch;
    let opcode = match atomic.addr.target {
        Target::Global if no_result && atomic.op != Word::Cas => Sass::REDG,
        Target::Global => Sass::ATOMG,
        Target::Generic => Sass::ATOM,
        Target::Shared => Sass::ATOMS,
        Target::Local | Target::Constant(_) => return Err(unknown(cx, instruction)),
    };
    let result = match atomic.result {
        None => Operand::rz(),
        Some(result) => Operand::reg(result_register(cx, atomic.ty, result)?),
    };
    let mut inst = atomic_inst(cx, atomic, opcode, op, ty);
    inst.set_role(D, result);
    inst.set_role(Data, values[0]);
    if let Some(second) = values.get(1) {
        inst.set_role(Data2, *second);
    }
    cx.emit_inst(inst)?;
    Ok(())
}
