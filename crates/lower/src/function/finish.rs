//! Leaving functions: `ret`, `exit` and the end of the body.

use crate::abi::Place;
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::scope::Binding;
use crate::function::{FnLower, bindings, frame, inlined, ops, param_words};
use oriole_isa::{Mods, Opcode, Role};
use oriole_ori::{CallSite, Callee, Clobbers, Inst, Operand};
use oriole_ptx::ast::{self, Space};

/// Returns from the function; a kernel ends.
pub(crate) fn emit_return(cx: &mut FnLower<'_, '_>) -> Lowered {
    if !cx.inlined.is_empty() {
        return inlined::emit_return(cx);
    }
    if cx.is_entry() {
        return emit_exit(cx);
    }
    let mut args = Vec::new();
    for (variable, passed) in std::mem::take(&mut cx.returning.results) {
        hand_over(cx, variable, passed.place, &mut args)?;
        cx.returning.results.push((variable, passed));
    }
    let address = cx.fixed_pair(cx.returning.register)?;
    if let Some(kept) = cx.returning.address {
        ops::mov64(cx, address, Wide::of_pair(kept))?;
    }
    let mut inst = Inst::neutral(Opcode::RET, Mods::new());
    let at = Opcode::RET.position(Role::Base).ok_or_else(|| invalid(cx.span, "internal: RET has no operand Base"))?;
    inst.operands[at] = Operand::reg(address);
    let site =
        CallSite { callee: Callee::Return, args, results: Vec::new(), clobbers: Clobbers::Mask(Default::default()) };
    inst.call = cx.func.edit().add_site(site).into();
    cx.append(inst)?;
    cx.end(&[]);
    Ok(())
}

/// The words of a result that is in registers.
pub(crate) fn result_words(cx: &mut FnLower<'_, '_>, variable: &ast::Variable) -> Lowered<Option<Vec<Operand>>> {
    let Some(name) = variable.name else { return Ok(None) };
    Ok(match (variable.space, bindings::binding(cx, name)?) {
        (Space::Reg, _) => {
            let operand = bindings::register_operand(cx, name)?;
            Some(param_words::operand_words(cx, &operand, variable.ty)?)
        }
        (_, Some(Binding::Param(param))) => Some(param.words.iter().map(|w| Operand::reg(*w)).collect()),
        _ => None,
    })
}

/// Puts one result where the caller expects it; registers used are added to `args`.
fn hand_over(cx: &mut FnLower<'_, '_>, variable: &ast::Variable, place: Place, args: &mut Vec<Operand>) -> Lowered {
    let Some(words) = result_words(cx, variable)? else { return Ok(()) };
    match place {
        Place::Registers(first) => {
            for (k, word) in words.into_iter().enumerate() {
                let to = cx.fixed(first + k as u16)?;
                ops::mov(cx, to, word)?;
                args.push(to);
            }
            Ok(())
        }
        Place::Stack(offset) => {
            let base = frame::incoming_stack(cx)?;
            param_words::store_operands(cx, base, offset, &words)
        }
    }
}

/// Ends the thread.
pub(crate) fn emit_exit(cx: &mut FnLower<'_, '_>) -> Lowered {
    cx.append(Inst::neutral(Opcode::EXIT, Mods::new()))?;
    cx.end(&[]);
    Ok(())
}

/// Control that reaches the end of a body returns.
pub(crate) fn return_at_end(cx: &mut FnLower<'_, '_>) -> Lowered {
    if cx.is_reachable() { emit_return(cx) } else { Ok(()) }
}

/// After the body: control that reaches its end returns; labels that nothing lays out do not exist.
pub(crate) fn end_of_body(cx: &mut FnLower<'_, '_>) -> Lowered {
    return_at_end(cx)?;
    let frame = cx.func.frame_mut();
    frame.local_bytes = frame.local_bytes.next_multiple_of(8);
    Ok(())
}
