//! The frame of a function in local memory: its variables, the arguments of its calls; and what its caller
//! passes it there.

use crate::abi::Convention;
use crate::error::{Lowered, invalid};
use crate::function::scope::FrameVar;
use crate::function::{FnLower, ops};
use oriole_isa::RegFile;
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Call, Space, Variable};
use oriole_ptx::mentions;

/// What the places of the frame are relative to.
pub(crate) fn base(cx: &FnLower<'_, '_>) -> Operand {
    Operand::phys(RegFile::R, cx.func.frame().base())
}

/// The frame's base plus a number of bytes.
pub(crate) fn stack_address(cx: &mut FnLower<'_, '_>, offset: u32) -> Lowered<Operand> {
    let stack = base(cx);
    let temp = cx.temp()?;
    match offset {
        0 => ops::mov(cx, temp, stack)?,
        _ => ops::add(cx, temp, stack, Operand::imm(offset))?,
    }
    Ok(temp)
}

/// Local address of what the caller passes on the stack.
pub(crate) fn incoming_stack(cx: &mut FnLower<'_, '_>) -> Lowered<Operand> {
    cx.incoming_stack.map(Operand::reg).ok_or_else(|| invalid(cx.span, "internal: nothing is passed on the stack"))
}

/// Room in the frame for a `.local` variable.
pub(crate) fn variable(cx: &mut FnLower<'_, '_>, variable: &Variable) -> Lowered<FrameVar> {
    let size = variable.size().and_then(|size| u32::try_from(size).ok());
    let frame = cx.func.frame_mut();
    let align = variable.alignment();
    let offset = frame.local_bytes.checked_next_multiple_of(align);
    let end = offset.zip(size).and_then(|(offset, size)| offset.checked_add(size));
    let limit = cx.module.arch().sm().max_local_per_thread;
    match (offset, end) {
        (Some(offset), Some(end)) if end <= limit => {
            frame.local_bytes = end;
            frame.align = frame.align.max(align);
            Ok(FrameVar { offset, element: variable.ty.bytes() })
        }
        _ => Err(invalid(variable.span, format!("local variables need more than {limit} bytes"))),
    }
}

/// Bytes at the bottom of the frame that the calls of the body need.
pub(crate) fn outgoing_area<'a>(cx: &FnLower<'_, 'a>, body: &'a ast::Block, calls: &[Call<'a>]) -> Lowered<u32> {
    if calls.is_empty() {
        return Ok(0);
    }
    let mut prototypes = Vec::new();
    mentions::prototypes(body, &mut |prototype| prototypes.push(prototype));
    let mut bytes = 0;
    for call in calls {
        let declared = call.callee.name().and_then(|name| cx.module.function(name.sym));
        let convention = match (declared, call.prototype) {
            (Some((_, function)), _) => Convention::of(&function.rets, &function.params)?,
            (None, Some(label)) => match prototypes.iter().find(|p| p.label.sym == label.sym) {
                Some(prototype) => Convention::of(&prototype.rets, &prototype.params)?,
                None => continue,
            },
            (None, None) => continue,
        };
        let variadic = variadic_bytes(&convention, body).filter(|most| *most <= cx.sm().max_local_per_thread);
        let variadic = variadic.ok_or_else(|| invalid(call.callee.span(), "the arguments are too large"))?;
        bytes = bytes.max(convention.stack_bytes + variadic);
    }
    Ok(bytes)
}

/// Room for the unsized last parameter of a variadic function: at most the largest parameter that
/// the body declares.
fn variadic_bytes(convention: &Convention, body: &ast::Block) -> Option<u32> {
    if convention.params.last().is_none_or(|last| last.size != 0) {
        return Some(0);
    }
    let mut most = 0;
    mentions::variables(body, &mut |variable| {
        if variable.space == Space::Param {
            most = most.max(variable.size().unwrap_or(u64::MAX));
        }
    });
    u32::try_from(most).ok()?.checked_next_multiple_of(16)
}
