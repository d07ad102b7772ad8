//! Instructions of the uniform datapath act once for a warp, on uniform registers; in PTX every thread has
//! operands and an effect of its own. So the active threads take turns.

use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::Role::{A, B, D, PD};
use oriole_isa::{Opcode as Sass, RegFile};
use oriole_ori::{Operand, RegType};

/// Emits what `turn` emits so that it runs once for every active thread, with that thread alone.
///
/// ```text
/// header: ELECT p; @!p BRA latch
///         …                       only the elected thread
/// latch:  @!p BRA header
/// ```
///
/// The elected thread waits at the latch for the others, so that each round elects another.
pub(super) fn one_by_one(cx: &mut FnLower<'_, '_>, turn: impl FnOnce(&mut FnLower<'_, '_>) -> Lowered) -> Lowered {
    cx.guard_by_branch()?;
    let (header, body) = (cx.new_block()?, cx.new_block()?);
    let (latch, after) = (cx.new_block()?, cx.new_block()?);
    cx.jump(header);
    cx.switch_to(header);
    let elected = cx.variable(RegType::P)?;
    cx.emit(Sass::ELECT, &[], &[(PD, elected)])?;
    cx.branch(elected.not(), latch, body)?;
    cx.switch_to(body);
    turn(cx)?;
    cx.jump(latch);
    cx.switch_to(latch);
    cx.branch(elected.not(), header, after)?;
    cx.switch_to(after);
    Ok(())
}

/// The words in consecutive uniform registers, aligned to the next power of two: the values of the one
/// active thread.
pub(super) fn uniform(cx: &mut FnLower<'_, '_>, words: &[Operand]) -> Lowered<Operand> {
    let count = words.len() as u8;
    let group = match RegType::of_width(RegFile::UR, count) {
        Some(RegType::UrGroup) | None => {
            let made = cx.func.new_uniform_group(count, count.next_power_of_two());
            cx.built(made)?
        }
        Some(reg_type) => cx.temp_of(reg_type)?,
    };
    for (k, word) in words.iter().enumerate() {
        let to = if count == 1 { Operand::reg(group) } else { Operand::comp(group, k as u8) };
        match super::constant(*word) {
            Some(bits) => cx.emit(Sass::UMOV, &[], &[(D, to), (B, Operand::imm(bits))])?,
            None => {
                let word = cx.in_reg(*word)?;
                cx.emit(Sass::R2UR, &[], &[(D, to), (A, word)])?
            }
        };
    }
    Ok(Operand::reg(group))
}
