//! The 32-bit words of parameters: in registers, in local memory, and as operands.

use crate::error::Lowered;
use crate::function::scope::ParamVar;
use crate::function::{FnLower, bindings, ops, sources, vectors};
use oriole_isa::Opcode;
use oriole_isa::Role::{Base, D, Data, Offset};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{self, ScalarType};

/// Fresh registers for a parameter of `size` bytes.
pub(crate) fn new_words(cx: &mut FnLower<'_, '_>, size: u32) -> Lowered<ParamVar> {
    let words = (0..size.div_ceil(4)).map(|_| cx.temp_of(RegType::R)).collect::<Lowered<_>>()?;
    Ok(ParamVar { words, size })
}

/// Stores the words to local memory at `base + offset`.
pub(crate) fn store_words(cx: &mut FnLower<'_, '_>, base: Operand, offset: u32, words: &ParamVar) -> Lowered {
    let operands: Vec<Operand> = words.words.iter().map(|word| Operand::reg(*word)).collect();
    store_operands(cx, base, offset, &operands)
}

/// Stores 32-bit operands to local memory from `base + offset` on.
pub(crate) fn store_operands(cx: &mut FnLower<'_, '_>, base: Operand, offset: u32, words: &[Operand]) -> Lowered {
    for (k, word) in words.iter().enumerate() {
        let at = Operand::imm_signed((offset + 4 * k as u32) as i32);
        let data = ops::in_reg(cx, *word)?;
        cx.emit(Opcode::STL, &[], &[(Base, base), (Offset, at), (Data, data)])?;
    }
    Ok(())
}

/// Loads the words from local memory at `base + offset`.
pub(crate) fn load_words(cx: &mut FnLower<'_, '_>, base: Operand, offset: u32, words: &ParamVar) -> Lowered {
    for (k, word) in words.words.iter().enumerate() {
        let at = Operand::imm_signed((offset + 4 * k as u32) as i32);
        cx.emit(Opcode::LDL, &[], &[(D, Operand::reg(*word)), (Base, base), (Offset, at)])?;
    }
    Ok(())
}

/// `operand = words`, for a register parameter; a vector register is written out as its elements.
pub(crate) fn words_to_operand(cx: &mut FnLower<'_, '_>, words: &ParamVar, operand: &ast::Operand) -> Lowered {
    let words: Vec<Operand> = words.words.iter().map(|word| Operand::reg(*word)).collect();
    if let ast::Operand::Vector(items, _) = operand {
        let Some(first) = items.first() else { return Ok(()) };
        let bits = bindings::register(cx, first)?.1.bits();
        return vectors::unpack_words(cx, &words, bits, items);
    }
    let (reg, ty) = bindings::register(cx, operand)?;
    if ty == ScalarType::Pred {
        return match words.first() {
            Some(word) => ops::is_nonzero(cx, Operand::reg(reg), *word),
            None => Ok(()),
        };
    }
    let components = cx.func[reg].components;
    for (k, word) in words.into_iter().enumerate().take(usize::from(components)) {
        let to = if components == 1 { Operand::reg(reg) } else { Operand::comp(reg, k as u8) };
        ops::mov(cx, to, word)?;
    }
    Ok(())
}

/// The words of an operand as a parameter of type `ty`.
pub(crate) fn operand_words(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, ty: ScalarType) -> Lowered<Vec<Operand>> {
    if let ast::Operand::Vector(items, _) = operand {
        let first = items.first().map(|first| bindings::declared_type(cx, first)).transpose()?.flatten();
        return vectors::packed_words(cx, first.map_or(ty.bits(), ScalarType::bits), items);
    }
    match (ty, ty.bits()) {
        (ScalarType::Pred, _) => {
            let pred = sources::pred(cx, operand)?;
            let word = cx.temp()?;
            ops::sel(cx, word, pred.not(), Operand::rz(), Operand::imm(1))?;
            Ok(vec![word])
        }
        (ScalarType::F32, _) => Ok(vec![sources::src_f32(cx, operand)?]),
        (ScalarType::F64, _) => sources::src_f64(cx, operand).map(|wide| vec![wide.lo, wide.hi]),
        (_, 0..=32) => Ok(vec![sources::src(cx, operand)?]),
        (_, 33..=64) => sources::src64(cx, operand).map(|wide| vec![wide.lo, wide.hi]),
        _ => {
            let quad = sources::quad_register(cx, operand)?;
            Ok((0..4).map(|k| Operand::comp(quad, k)).collect())
        }
    }
}
