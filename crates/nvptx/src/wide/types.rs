//! Arrays that stand for wide integers in types and constants.

use super::constant::to_words;
use super::{LIMB, WIDEST, wide_bits};
use crate::ir::{ConstId, Constant, Module, Type, TypeId};
use crate::select::Error;

/// The type of the elements of the array that stands for an integer: what has its alignment. And their bits.
pub(super) fn unit(module: &Module) -> (TypeId, u32) {
    if module.layout.i128_align >= WIDEST / 8 { (TypeId::I128, WIDEST) } else { (TypeId::I64, LIMB) }
}

/// Whether a type is or has a wide integer.
pub(super) fn has_wide(module: &Module, ty: TypeId) -> bool {
    match &module.types[ty] {
        Type::Int(bits) => *bits > WIDEST,
        Type::Array(element, _) | Type::Vector(element, _) => has_wide(module, *element),
        Type::Struct { fields, .. } => fields.iter().any(|&field| has_wide(module, field)),
        Type::Function { ret, params, .. } => {
            has_wide(module, *ret) || params.iter().any(|&param| has_wide(module, param))
        }
        _ => false,
    }
}

/// Puts arrays for the wide integers of a type.
pub(super) fn map(module: &mut Module, ty: &mut TypeId) {
    if !has_wide(module, *ty) {
        return;
    }
    let mapped = match module.types[*ty].clone() {
        Type::Int(bits) => {
            let (unit, width) = unit(module);
            Type::Array(unit, bits.div_ceil(width).into())
        }
        Type::Array(mut element, count) => {
            map(module, &mut element);
            Type::Array(element, count)
        }
        Type::Struct { mut fields, packed } => {
            fields.iter_mut().for_each(|field| map(module, field));
            Type::Struct { fields, packed }
        }
        Type::Function { mut ret, mut params, varargs } => {
            map(module, &mut ret);
            params.iter_mut().for_each(|param| map(module, param));
            Type::Function { ret, params, varargs }
        }
        other => other,
    };
    *ty = module.types.intern(mapped);
}

/// The same constant with arrays for the wide integers in it.
pub(super) fn map_constant(module: &mut Module, id: ConstId) -> Result<ConstId, Error> {
    let old = module.constants.ty(id);
    if !has_wide(module, old) {
        return Ok(id);
    }
    let mut ty = old;
    map(module, &mut ty);
    let mapped = match module.constants[id].clone() {
        Constant::Zero(_) => Constant::Zero(ty),
        Constant::Undef(_) => Constant::Undef(ty),
        Constant::Poison(_) => Constant::Poison(ty),
        Constant::Aggregate(_, mut items) => {
            for item in &mut items {
                *item = map_constant(module, *item)?;
            }
            Constant::Aggregate(ty, items)
        }
        _ => {
            let bits = wide_bits(module, old).ok_or_else(|| Error::new("constants of such types"))?;
            let words = to_words(module, id, bits).ok_or_else(unsupported)?;
            let (unit, width) = unit(module);
            let value = |words: &[u64]| words.iter().rev().fold(0u128, |sum, &word| sum << LIMB | u128::from(word));
            let units: Vec<u128> = words.chunks((width / LIMB) as usize).map(value).collect();
            Constant::Aggregate(ty, units.into_iter().map(|value| module.constants.int(unit, width, value)).collect())
        }
    };
    Ok(module.constants.intern(mapped))
}

/// What is wrong with constants that are neither numbers nor vectors of words.
pub(super) fn unsupported() -> Error {
    Error::new("constant expressions of more than 128 bits")
}
