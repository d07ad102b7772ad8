//! Operations that work element by element, on values of their types, and those on vectors.

use crate::fault::Fault;
use crate::float;
use crate::format::Format;
use crate::int::{self, splat_like};
use crate::value::{Unknown, Value, Width, each};
use oriole_nvptx::ir::{BinaryOp, FloatPredicate, InstFlags, IntPredicate, Module, TypeId};

/// The format of a type or of its elements.
pub(crate) fn format(module: &Module, ty: TypeId) -> Result<Format, Fault> {
    let scalar = module.types.scalar(ty);
    Format::of(&module.types[scalar])
        .ok_or_else(|| Fault::unsupported(format!("floating-point operations on {}", module.types.text(scalar))))
}

/// A binary operation whose operands and result have type `ty`.
pub(crate) fn binary(
    module: &Module,
    op: BinaryOp,
    flags: InstFlags,
    ty: TypeId,
    operands: [&Value; 2],
) -> Result<Value, Fault> {
    if op.is_float() {
        let format = format(module, ty)?;
        return each(operands, &mut |pair| Ok(float::binary(op, flags, format, pair)));
    }
    let width = Width::of(module, module.types.scalar(ty))?.bits;
    each(operands, &mut |pair| int::binary(op, flags, width, pair))
}

/// `icmp` of values of type `ty`.
pub(crate) fn icmp(
    module: &Module,
    op: IntPredicate,
    flags: InstFlags,
    ty: TypeId,
    operands: [&Value; 2],
) -> Result<Value, Fault> {
    let width = Width::of(module, module.types.scalar(ty))?.bits;
    each(operands, &mut |pair| Ok(int::compare(op, flags, width, pair)))
}

/// `fcmp` of values of type `ty`.
pub(crate) fn fcmp(
    module: &Module,
    op: FloatPredicate,
    flags: InstFlags,
    ty: TypeId,
    operands: [&Value; 2],
) -> Result<Value, Fault> {
    let format = format(module, ty)?;
    each(operands, &mut |pair| Ok(float::compare(op, flags, format, pair)))
}

/// The place that an index names: `None` when any element may be meant or there is none.
fn lane(index: &Value, len: usize) -> Result<usize, Unknown> {
    match index {
        Value::Bits(bits) => usize::try_from(*bits).ok().filter(|&at| at < len).ok_or(Unknown::Poison),
        Value::Unknown(why) => Err(*why),
        _ => Err(Unknown::Open),
    }
}

/// `extractelement`
pub(crate) fn extract_element(vector: &Value, index: &Value) -> Result<Value, Fault> {
    let elements = vector.elements()?;
    Ok(lane(index, elements.len()).map_or_else(Value::Unknown, |at| elements[at].clone()))
}

/// `insertelement`
pub(crate) fn insert_element(vector: &Value, element: Value, index: &Value) -> Result<Value, Fault> {
    let mut elements = vector.elements()?.to_vec();
    match lane(index, elements.len()) {
        Ok(at) => elements[at] = element,
        Err(why) => return Ok(splat_like(vector, why)),
    }
    Ok(Value::Many(elements))
}

/// `shufflevector`
pub(crate) fn shuffle(operands: [&Value; 2], mask: &[i32]) -> Result<Value, Fault> {
    let all = [operands[0].elements()?, operands[1].elements()?].concat();
    let pick = |&place: &i32| match usize::try_from(place) {
        Ok(at) => all.get(at).cloned().ok_or_else(|| Fault::invalid("a shuffle of an element that is not there")),
        Err(_) => Ok(Value::POISON),
    };
    mask.iter().map(pick).collect::<Result<_, _>>().map(Value::Many)
}

/// `extractvalue`
pub(crate) fn extract_value(aggregate: &Value, path: &[u32]) -> Result<Value, Fault> {
    path.iter()
        .try_fold(aggregate, |value, &index| {
            value
                .elements()?
                .get(index as usize)
                .ok_or_else(|| Fault::invalid("extractvalue of a field that is not there"))
        })
        .cloned()
}

/// `insertvalue`
pub(crate) fn insert_value(aggregate: &Value, element: &Value, path: &[u32]) -> Result<Value, Fault> {
    let Some((&first, rest)) = path.split_first() else { return Ok(element.clone()) };
    let mut elements = aggregate.elements()?.to_vec();
    let place =
        elements.get_mut(first as usize).ok_or_else(|| Fault::invalid("insertvalue of a field that is not there"))?;
    *place = insert_value(place, element, rest)?;
    Ok(Value::Many(elements))
}

/// `freeze`
pub(crate) fn freeze(value: &Value) -> Result<Value, Fault> {
    value.map(&mut |scalar| Ok(if matches!(scalar, Value::Unknown(_)) { Value::OPEN } else { scalar.clone() }))
}
