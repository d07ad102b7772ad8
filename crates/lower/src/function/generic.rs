//! Generic addresses of what lies in a space, and back.

use crate::error::{Lowered, invalid, unsupported};
use crate::function::operands::Wide;
use crate::function::place::Place;
use crate::function::{FnLower, handle, ops, place, shared, special};
use oriole_ori::Operand;
use oriole_ptx::ast::{Name, Space};

/// The generic address of an address in `space`.
pub(crate) fn to_generic(cx: &mut FnLower<'_, '_>, space: Space, source: Wide) -> Lowered<Wide> {
    if space == Space::Global {
        return Ok(source);
    }
    let sum = cx.temp64()?;
    if is_shared(space) && shared::has_clusters(cx) {
        ops::mov(cx, Operand::lo(sum), source.lo)?;
        let high = special::hardware_register(cx, "SR_SWINHI")?;
        ops::mov(cx, Operand::hi(sum), high)?;
    } else {
        let (base, offset) = window(cx, space)?;
        ops::add64(cx, sum, source, base)?;
        if offset != 0 {
            let moved = cx.temp64()?;
            ops::add64(cx, moved, Wide::of_pair(sum), Wide::of_bits(offset as u64))?;
            return Ok(Wide::of_pair(moved));
        }
    }
    Ok(Wide::of_pair(sum))
}

/// The address in `space` of a generic address that lies in it.
pub(crate) fn from_generic(cx: &mut FnLower<'_, '_>, space: Space, source: Wide) -> Lowered<Wide> {
    if space == Space::Global {
        return Ok(source);
    }
    if is_shared(space) && shared::has_clusters(cx) {
        return Ok(Wide::of_halves(source.lo, Operand::rz()));
    }
    let (base, offset) = window(cx, space)?;
    let difference = cx.temp64()?;
    ops::sub64(cx, difference, source, base)?;
    if offset == 0 {
        return Ok(Wide::of_pair(difference));
    }
    let moved = cx.temp64()?;
    ops::add64(cx, moved, Wide::of_pair(difference), Wide::of_bits((offset as u64).wrapping_neg()))?;
    Ok(Wide::of_pair(moved))
}

pub(crate) fn is_shared(space: Space) -> bool {
    matches!(space, Space::Shared | Space::SharedCta | Space::SharedCluster)
}

/// The generic address of address 0 of `space`: 64 bits of constant bank 0 and what to add to them.
///
/// A parameter's address in its space is its offset in the bank ([`Place::KernelParam`]).
pub(crate) fn window(cx: &mut FnLower<'_, '_>, space: Space) -> Lowered<(Wide, i64)> {
    let bank = &cx.arch().sm().bank0;
    let parameters = i64::from(bank.parameters);
    let (at, offset) = match space {
        Space::Local => (Some(bank.local_window), 0),
        Space::Const => (Some(bank.constant_window), 0),
        space if is_shared(space) => (bank.shared_window, 0),
        space if place::is_parameter(Some(space)) => match bank.bank_window {
            Some(window) => (Some(window), 0),
            None => (bank.parameter_window, -parameters),
        },
        _ => (None, 0),
    };
    let at = at.ok_or_else(|| unsupported(cx.span, format!("a generic address of .{space} space")))?;
    let pair = cx.temp64()?;
    ops::read_constant64(cx, pair, 0, u32::from(at))?;
    Ok((Wide::of_pair(pair), offset))
}

/// The generic address of a variable.
pub(crate) fn generic_address(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<Wide> {
    let space = match place::of(cx, name)? {
        Place::Symbol(_) => Space::Global,
        Place::Shared(_) | Place::LinkedShared(_) => Space::Shared,
        Place::Const(_) | Place::LinkedConst(_) => Space::Const,
        Place::KernelParam(_) => Space::Param,
        Place::Frame(_) | Place::Incoming(_) => Space::Local,
        Place::Object(symbol) => return handle::object_handle(cx, symbol),
        Place::Param => return Err(invalid(name.span, format!("'{}' has no address", cx.text(name)))),
    };
    let address = place::address64(cx, name, 0)?;
    to_generic(cx, space, address)
}
