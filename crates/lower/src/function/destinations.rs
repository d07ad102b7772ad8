//! Destinations: the registers that instructions write.

use crate::error::{Lowered, invalid};
use crate::function::operands::{Wide, WideDst};
use crate::function::{FnLower, bindings, ops};
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast;

/// The destination of a value of up to 32 bits; `RZ` for `_`. Use it where the last (or only)
/// instruction of the lowering writes it: it may be one of the sources too.
pub(crate) fn dst(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    match operand {
        ast::Operand::Sink(_) => Ok(Operand::rz()),
        _ => destination(cx, operand, RegType::R).map(Operand::reg),
    }
}

/// The destination of a value of up to 32 bits that is written before all sources are read:
/// a temporary that is copied back where a source is the same register.
pub(crate) fn dst_early(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, sources: &[Operand]) -> Lowered<Operand> {
    let dst = dst(cx, operand)?;
    match dst.as_reg() {
        Some(reg) if sources.iter().any(|s| s.as_reg() == Some(reg)) => {
            copied_back(cx, reg, RegType::R).map(Operand::reg)
        }
        _ => Ok(dst),
    }
}

/// A 64-bit destination that each instruction may write as it likes: where it is also one of
/// `sources`, a temporary that is copied back in the end.
pub(crate) fn dst64(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, sources: &[Wide]) -> Lowered<WideDst> {
    let same = |reg: VReg| {
        sources.iter().any(|s| s.pair == Some(reg) || s.lo.as_reg() == Some(reg) || s.hi.as_reg() == Some(reg))
    };
    let dst = dst64_direct(cx, operand)?;
    if same(dst.pair) { Ok(WideDst::of(copied_back(cx, dst.pair, RegType::Pair)?)) } else { Ok(dst) }
}

/// A 64-bit destination where the lowering reads no half of a source after it has written the
/// same half of the destination (low word first, then high word: additions, logic, moves).
pub(crate) fn dst64_direct(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<WideDst> {
    match operand {
        ast::Operand::Sink(_) => Ok(WideDst::of(cx.temp64()?)),
        _ => destination(cx, operand, RegType::Pair).map(WideDst::of),
    }
}

/// The destination of a predicate; `PT` for `_`.
pub(crate) fn dst_pred(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    match operand {
        ast::Operand::Sink(_) => Ok(Operand::pt()),
        _ => destination(cx, operand, RegType::P).map(Operand::reg),
    }
}

/// The destination of a 128-bit value.
pub(crate) fn dst128(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<VReg> {
    match operand {
        ast::Operand::Sink(_) => cx.temp_of(RegType::Quad),
        _ => destination(cx, operand, RegType::Quad),
    }
}

/// A temporary that is copied to `reg` when the instruction is done.
pub(crate) fn copied_back(cx: &mut FnLower<'_, '_>, reg: VReg, reg_type: RegType) -> Lowered<VReg> {
    let temp = cx.temp_of(reg_type)?;
    cx.copies_back.push((reg, temp));
    Ok(temp)
}

/// The register of an operand, which must be of the type that the instruction gives.
fn destination(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, wanted: RegType) -> Lowered<VReg> {
    let (reg, _) = bindings::register(cx, operand)?;
    let found = cx.func[reg].reg_type;
    if found == wanted {
        return Ok(reg);
    }
    let message = format!("the destination has {}, the instruction gives {}", noun(found), noun(wanted));
    Err(invalid(operand.span(), message))
}

/// Copies results that could not be written in place.
pub(crate) fn copy_back(cx: &mut FnLower<'_, '_>) -> Lowered {
    for (reg, temp) in std::mem::take(&mut cx.copies_back) {
        match cx.func[reg].reg_type {
            RegType::P => ops::mov_pred(cx, Operand::reg(reg), Operand::reg(temp))?,
            RegType::R => ops::mov(cx, Operand::reg(reg), Operand::reg(temp))?,
            _ => {
                for k in 0..cx.func[reg].components {
                    ops::mov(cx, Operand::comp(reg, k), Operand::comp(temp, k))?;
                }
            }
        }
    }
    Ok(())
}

/// A register type in the words of an error.
fn noun(reg_type: RegType) -> &'static str {
    match reg_type {
        RegType::P => "a predicate",
        RegType::Pair => "64 bits",
        RegType::Quad => "128 bits",
        _ => "up to 32 bits",
    }
}
