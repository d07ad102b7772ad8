//! Constants of more than 128 bits: vectors of words as integers, which every part of the IR knows.

use super::{LIMB, WIDEST};
use crate::ir::{CastOp, ConstExpr, ConstId, Constant, Module, TypeId};

/// The integer of `bits` bits with these words of 64 bits, the lowest first; words that are missing repeat the last bit
/// where it is `signed`, else they are 0.
pub(crate) fn from_words(module: &mut Module, ty: TypeId, bits: u32, words: &[u64], signed: bool) -> ConstId {
    let negative = signed && words.last().is_some_and(|word| word >> 63 == 1);
    let above = if negative { u64::MAX } else { 0 };
    let count = bits.div_ceil(LIMB);
    let mut words: Vec<u64> = (0..count as usize).map(|at| words.get(at).copied().unwrap_or(above)).collect();
    if let Some(last) = words.last_mut().filter(|_| !bits.is_multiple_of(LIMB)) {
        *last &= (1 << (bits % LIMB)) - 1;
    }
    let small = u128::from(words[0]) | words.get(1).map_or(0, |&high| u128::from(high) << LIMB);
    if bits <= WIDEST || words[2..].iter().all(|&word| word == 0) {
        return module.constants.int(ty, bits, small);
    }
    let items = words.iter().map(|&word| module.constants.int(TypeId::I64, LIMB, word.into())).collect();
    let vector = module.types.vector(TypeId::I64, count);
    let vector = module.constants.intern(Constant::Aggregate(vector, items));
    let whole = module.types.int(count * LIMB);
    let cast = |from, to, op| Constant::Expr(to, Box::new(ConstExpr::Cast(op, from)));
    let integer = module.constants.intern(cast(vector, whole, CastOp::Bitcast));
    if whole == ty { integer } else { module.constants.intern(cast(integer, ty, CastOp::Trunc)) }
}

/// The words of such a constant, or of one that is written shorter; nothing for other expressions. Words without meaning
/// (`undef`) are 0.
pub(super) fn to_words(module: &Module, id: ConstId, bits: u32) -> Option<Vec<u64>> {
    let count = bits.div_ceil(LIMB) as usize;
    let mut words = match &module.constants[id] {
        Constant::Int(_, value) => vec![*value as u64, (*value >> LIMB) as u64],
        Constant::Undef(_) | Constant::Poison(_) | Constant::Zero(_) => Vec::new(),
        Constant::Expr(_, expr) => match **expr {
            ConstExpr::Cast(CastOp::Bitcast, vector) => match &module.constants[vector] {
                Constant::Aggregate(ty, items) if module.types.as_vector(*ty)?.0 == TypeId::I64 => {
                    items.iter().map(|&item| Some(module.constants.as_int(item)? as u64)).collect::<Option<_>>()?
                }
                _ => return None,
            },
            ConstExpr::Cast(CastOp::Trunc, inner) => {
                let from = module.types.int_bits(module.constants.ty(inner))?;
                to_words(module, inner, from)?
            }
            ConstExpr::Cast(CastOp::ZExt, inner) => {
                let from = module.types.int_bits(module.constants.ty(inner))?;
                to_words(module, inner, from)?
            }
            _ => return None,
        },
        _ => return None,
    };
    words.resize(count, 0);
    Some(words)
}
