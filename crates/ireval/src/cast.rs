//! Conversions and address computation.

use crate::fault::Fault;
use crate::float::{numbers, promised};
use crate::format::Format;
use crate::int_bits::{mask, signed};
use crate::layout;
use crate::memory::{Memory, cast_address};
use crate::value::{Value, Width, bits, each};
use oriole_nvptx::ir::{CastOp, GepFlags, InstFlags, Module, Type, TypeId};
use rustc_apfloat::Round;

/// A conversion from one type to another.
pub(crate) fn cast(
    module: &Module,
    op: CastOp,
    flags: InstFlags,
    from: TypeId,
    to: TypeId,
    value: &Value,
) -> Result<Value, Fault> {
    if op == CastOp::Bitcast {
        return layout::bitcast(module, from, to, value);
    }
    let (from, to) = (module.types.scalar(from), module.types.scalar(to));
    if op == CastOp::AddrSpaceCast {
        let space = |ty| module.types.address_space(ty).ok_or_else(|| Fault::invalid("addrspacecast of no pointer"));
        let (from, to) = (space(from)?, space(to)?);
        return each([value], &mut |[value]| {
            Ok(bits([value]).map_or_else(|unknown| unknown, |[address]| cast_address(from, to, address as u64)))
        });
    }
    let (from, to) = (Width::of(module, from)?, Width::of(module, to)?);
    each([value], &mut |[value]| scalar(op, flags, from, to, value))
}

fn scalar(op: CastOp, flags: InstFlags, from: Width, to: Width, value: &Value) -> Result<Value, Fault> {
    let format = |width: Width| width.format.ok_or_else(|| Fault::invalid(format!("{} of other types", op.as_str())));
    match op {
        CastOp::FpTrunc | CastOp::FpExt => {
            let (from, to) = (format(from)?, format(to)?);
            Ok(match numbers(from, [value]) {
                Ok([number]) => {
                    let result = to.result(to.convert(from, number, Round::NearestTiesToEven));
                    match result {
                        Value::Bits(bits) => promised(flags, to, &[bits], result),
                        _ => promised(flags, to, &[to.quiet_nan()], result),
                    }
                }
                Err(unknown) => unknown,
            })
        }
        CastOp::FpToUi | CastOp::FpToSi => {
            let from = format(from)?;
            Ok(match numbers(from, [value]) {
                Ok([number]) => match from.to_int(number, to.bits, op == CastOp::FpToSi, Round::TowardZero) {
                    (result, true) => Value::Bits(result),
                    (_, false) => Value::POISON,
                },
                Err(unknown) => unknown,
            })
        }
        CastOp::UiToFp | CastOp::SiToFp => {
            let to = format(to)?;
            Ok(bits([value]).map_or_else(
                |unknown| unknown,
                |[int]| match op {
                    CastOp::UiToFp if is_broken_nneg(flags, from, int) => Value::POISON,
                    CastOp::UiToFp => to.result(to.of_unsigned(int, Round::NearestTiesToEven)),
                    _ => to.result(to.of_signed(signed(int, from.bits), Round::NearestTiesToEven)),
                },
            ))
        }
        _ => Ok(bits([value]).map_or_else(|unknown| unknown, |[int]| integer(op, flags, from, to, int))),
    }
}

/// A conversion between integers, or integers and pointers.
fn integer(op: CastOp, flags: InstFlags, from: Width, to: Width, value: u128) -> Value {
    let cut = value & to.mask();
    let lost = match op {
        CastOp::Trunc => {
            flags.contains(InstFlags::NUW) && cut != value
                || flags.contains(InstFlags::NSW) && signed(cut, to.bits) != signed(value, from.bits)
        }
        CastOp::ZExt => is_broken_nneg(flags, from, value),
        _ => false,
    };
    match op {
        _ if lost => Value::POISON,
        CastOp::SExt => Value::Bits(signed(value, from.bits) as u128 & to.mask()),
        _ => Value::Bits(cut),
    }
}

fn is_broken_nneg(flags: InstFlags, from: Width, value: u128) -> bool {
    flags.contains(InstFlags::NNEG) && signed(value, from.bits) < 0
}

/// `getelementptr` of a pointer or a vector of them; indices with their types.
pub(crate) fn gep(
    module: &Module,
    memory: &Memory,
    source: TypeId,
    flags: GepFlags,
    base: (TypeId, &Value),
    indices: &[(TypeId, Value)],
) -> Result<Value, Fault> {
    let lanes = std::iter::once(base.1).chain(indices.iter().map(|(_, index)| index));
    let lanes =
        lanes.filter_map(|value| if let Value::Many(elements) = value { Some(elements.len()) } else { None }).max();
    let Some(lanes) = lanes else { return one_address(module, memory, source, flags, base, indices) };
    let element = |value: &Value, at: usize| match value {
        Value::Many(elements) => {
            elements.get(at).cloned().ok_or_else(|| Fault::invalid("vectors of different lengths"))
        }
        scalar => Ok(scalar.clone()),
    };
    let address = |at: usize| {
        let own: Vec<_> = indices
            .iter()
            .map(|(ty, index)| Ok((module.types.scalar(*ty), element(index, at)?)))
            .collect::<Result<_, Fault>>()?;
        one_address(module, memory, source, flags, (module.types.scalar(base.0), &element(base.1, at)?), &own)
    };
    (0..lanes).map(address).collect::<Result<_, _>>().map(Value::Many)
}

fn one_address(
    module: &Module,
    memory: &Memory,
    source: TypeId,
    flags: GepFlags,
    (base_type, base): (TypeId, &Value),
    indices: &[(TypeId, Value)],
) -> Result<Value, Fault> {
    let (types, layout) = (&module.types, &module.layout);
    let space = types.address_space(base_type).ok_or_else(|| Fault::invalid("getelementptr of no pointer"))?;
    let width = layout.pointer_bits(space);
    let mut ty = source;
    let mut offset = 0i128;
    let mut unknown = None;
    for (number, (index_type, index)) in indices.iter().enumerate() {
        let index = match bits([index]) {
            Ok([index]) => signed(index, Width::of(module, *index_type)?.bits),
            Err(Value::Unknown(why)) => {
                unknown = unknown.max(Some(why));
                0
            }
            Err(_) => return Err(Fault::invalid("an index that is no integer")),
        };
        let step = if number == 0 {
            i128::from(layout.size(types, ty)).checked_mul(index)
        } else {
            let next = match &types[ty] {
                Type::Struct { .. } => u64::try_from(index).ok().and_then(|at| types.element(ty, at)),
                Type::Array(element, _) | Type::Vector(element, _) => Some(*element),
                _ => None,
            };
            let next = next.ok_or_else(|| Fault::invalid("getelementptr into a scalar"))?;
            let step = match &types[ty] {
                Type::Struct { .. } => Some(i128::from(layout.element_offset(types, ty, index as u64))),
                Type::Vector(..) => i128::from(layout.element_offset(types, ty, 1)).checked_mul(index),
                _ => i128::from(layout.size(types, next)).checked_mul(index),
            };
            ty = next;
            step
        };
        offset = step
            .and_then(|step| offset.checked_add(step))
            .ok_or_else(|| Fault::undefined("an offset beyond 128 bits"))?;
    }
    let base = match (bits([base]), unknown) {
        (Ok([base]), None) => base,
        (Ok(_), Some(why)) => return Ok(Value::Unknown(why)),
        (Err(value), _) => return Ok(value),
    };
    let address = base.wrapping_add(offset as u128) & mask(width);
    let leaves =
        flags.contains(GepFlags::INBOUNDS) && offset != 0 && !memory.same_buffer(space, base as u64, address as u64);
    let wraps = flags.contains(GepFlags::NUW)
        && (base as i128).checked_add(offset).is_none_or(|sum| sum < 0 || sum as u128 > mask(width));
    Ok(if leaves || wraps { Value::POISON } else { Value::Bits(address) })
}

/// A saturating conversion to an integer: `llvm.fptosi.sat`.
pub(crate) fn saturate(from: Format, to: u32, sign: bool, value: &Value) -> Value {
    match numbers(from, [value]) {
        Ok([number]) => Value::Bits(from.to_int(number, to, sign, Round::TowardZero).0),
        Err(unknown) => unknown,
    }
}
