//! Addresses of shared memory: relative to the block's window, which carries its rank in the cluster.

use crate::error::Lowered;
use crate::function::operands::word;
use crate::function::{FnLower, ops, special};
use oriole_isa::Opcode as Sass;
use oriole_isa::Role::{A, B, C, D, Shift};
use oriole_ori::{Operand, RegType};

/// Whether blocks form clusters that reach each other's shared memory: then shared addresses carry the
/// block's rank.
pub(crate) fn has_clusters(cx: &FnLower<'_, '_>) -> bool {
    cx.sm().bank0.cluster.is_some()
}

/// What shared addresses of this block are relative to: the block's number in its cluster in
/// byte 3, on targets with clusters. Read once, at the start of the function.
pub(crate) fn shared_window(cx: &mut FnLower<'_, '_>) -> Lowered<Operand> {
    if !has_clusters(cx) {
        return Ok(Operand::rz());
    }
    if let Some(window) = cx.shared_window {
        return Ok(Operand::reg(window));
    }
    let rank = cx.temp_of(RegType::R)?;
    let window = cx.temp_of(RegType::R)?;
    let number = special::hardware_number(cx, "SR_CgaCtaId")?;
    cx.at_start(|cx| {
        special::s2r(cx, Operand::reg(rank), number)?;
        cx.emit(
            Sass::LEA,
            &[],
            &[
                (D, Operand::reg(window)),
                (A, Operand::reg(rank)),
                (B, Operand::rz()),
                (C, Operand::rz()),
                (Shift, Operand::imm(24)),
            ],
        )?;
        Ok(())
    })?;
    cx.shared_window = Some(window);
    Ok(Operand::reg(window))
}

/// The address of byte `offset` of the shared segment.
pub(crate) fn shared_address(cx: &mut FnLower<'_, '_>, offset: u32) -> Lowered<Operand> {
    let window = shared_window(cx)?;
    if window.is_zero() {
        return Ok(word(offset));
    }
    let sum = cx.temp()?;
    ops::add(cx, sum, window, word(offset))?;
    Ok(sum)
}
