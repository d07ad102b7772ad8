//! Destinations: the registers that instructions write.

use crate::error::{Lowered, invalid};
use crate::function::operands::{Wide, WideDst};
use crate::function::{FnLower, bindings, ops, word_ops};
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

/// A 64-bit integer destination, as [`dst64_direct`]; a wider register takes the sign, too, where there is one.
pub(crate) fn dst64_integer(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, signed: bool) -> Lowered<WideDst> {
    let dst = dst64_direct(cx, operand)?;
    if let Some(copy) = cx.copies_back.iter_mut().find(|copy| copy.from == dst.pair) {
        copy.signed = signed;
    }
    Ok(dst)
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
    cx.copies_back.push(CopyBack { to: reg, from: temp, signed: false });
    Ok(temp)
}

/// A copy of a temporary to a destination, which may be wider.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyBack {
    to: VReg,
    from: VReg,
    /// The words above the value are filled with its sign; else with zeros.
    signed: bool,
}

/// The register of an operand of the type that the instruction gives; a temporary where the register is wider, as the
/// checker lets it be in loads and conversions.
fn destination(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, wanted: RegType) -> Lowered<VReg> {
    let (reg, _) = bindings::register(cx, operand)?;
    let found = cx.func[reg].reg_type;
    if found == wanted {
        return Ok(reg);
    }
    if matches!((found, wanted), (RegType::Pair | RegType::Quad, RegType::R) | (RegType::Quad, RegType::Pair)) {
        return copied_back(cx, reg, wanted);
    }
    let message = format!("the destination has {}, the instruction gives {}", noun(found), noun(wanted));
    Err(invalid(operand.span(), message))
}

/// Copies results that could not be written in place.
pub(crate) fn copy_back(cx: &mut FnLower<'_, '_>) -> Lowered {
    for CopyBack { to, from, signed } in std::mem::take(&mut cx.copies_back) {
        match cx.func[to].reg_type {
            RegType::P => ops::mov_pred(cx, Operand::reg(to), Operand::reg(from))?,
            RegType::R => ops::mov(cx, Operand::reg(to), Operand::reg(from))?,
            _ => widen(cx, to, from, signed)?,
        }
    }
    Ok(())
}

/// `to` = the value in `from`, a register of as many words or fewer, extended.
pub(crate) fn widen(cx: &mut FnLower<'_, '_>, to: VReg, from: VReg, signed: bool) -> Lowered {
    let words = cx.func[from].components;
    let word = |k| if words == 1 { Operand::reg(from) } else { Operand::comp(from, k) };
    for k in 0..words {
        ops::mov(cx, Operand::comp(to, k), word(k))?;
    }
    if words < cx.func[to].components {
        fill(cx, to, words, signed)?;
    }
    Ok(())
}

/// Fills the words of `to` from number `first` on with the sign of the word below them, or with zeros.
pub(crate) fn fill(cx: &mut FnLower<'_, '_>, to: VReg, first: u8, signed: bool) -> Lowered {
    let above = if signed {
        let sign = cx.temp()?;
        word_ops::shift_right(cx, true, sign, Operand::comp(to, first - 1), Operand::imm(31))?;
        sign
    } else {
        Operand::rz()
    };
    (first..cx.func[to].components).try_for_each(|k| ops::mov(cx, Operand::comp(to, k), above))
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
