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

/// Bytes: the variables of a function in place of a call share their room with those of earlier calls if they are larger. Slot 32 puts no
/// frame of more words into registers. A smaller one would stay in memory if two functions used its words in different widths.
const LARGE_FRAME: u64 = 256;

/// Where the variables of the function whose code is lowered go, and of those that stand in place of calls in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    /// The end of what is in use until the function returns.
    end: u32,
    /// The end of what calls have had so far. Its own later variables are behind that: in a loop they may be in use during the call.
    high: u32,
}

impl Room {
    /// Behind this number of bytes.
    pub(crate) fn behind(bytes: u32) -> Room {
        Room { end: bytes, high: bytes }
    }

    /// For a function that stands in place of a call: large variables have room that other calls have had before.
    pub(crate) fn of_call(self, body: &ast::Block) -> Room {
        let mut bytes = 0u64;
        mentions::variables(body, &mut |variable| {
            if variable.space == Space::Local {
                bytes = bytes.saturating_add(variable.size().unwrap_or(0));
            }
        });
        Room::behind(if bytes > LARGE_FRAME { self.end } else { self.high })
    }

    /// Behind such a call, whose variables are no longer in use.
    pub(crate) fn after(self, call: Room) -> Room {
        Room { end: self.end, high: self.high.max(call.high) }
    }
}

/// Room in the frame for a `.local` variable.
pub(crate) fn variable(cx: &mut FnLower<'_, '_>, variable: &Variable) -> Lowered<FrameVar> {
    let size = variable.size().and_then(|size| u32::try_from(size).ok());
    let offset = size.and_then(|size| place(cx, size, variable.alignment()));
    let limit = cx.module.arch().sm().max_local_per_thread;
    let too_large = || invalid(variable.span, format!("local variables need more than {limit} bytes"));
    Ok(FrameVar { offset: offset.ok_or_else(too_large)?, element: variable.ty.bytes() })
}

/// The offset of a new part of the frame, of `size` bytes; `None` where local memory has no room for them.
pub(crate) fn place(cx: &mut FnLower<'_, '_>, size: u32, align: u32) -> Option<u32> {
    let offset = cx.room.high.checked_next_multiple_of(align)?;
    let limit = cx.module.arch().sm().max_local_per_thread;
    let end = offset.checked_add(size).filter(|end| *end <= limit)?;
    cx.room = Room::behind(end);
    let frame = cx.func.frame_mut();
    frame.local_bytes = frame.local_bytes.max(end);
    frame.align = frame.align.max(align);
    Some(offset)
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
