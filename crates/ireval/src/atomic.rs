//! The operations of `atomicrmw`.

use crate::fault::Fault;
use crate::float::{self, Extremum};
use crate::int_bits::{mask, signed};
use crate::value::{Value, Width, bits, each};
use oriole_nvptx::ir::{BinaryOp, InstFlags, Module, RmwOp, TypeId};

/// What is stored in the place of `old`.
pub(crate) fn update(module: &Module, op: RmwOp, ty: TypeId, old: &Value, operand: &Value) -> Result<Value, Fault> {
    if op == RmwOp::Xchg {
        return Ok(operand.clone());
    }
    let width = Width::of(module, module.types.scalar(ty))?;
    each([old, operand], &mut |[old, operand]| match width.format {
        Some(format) => floating(op, format, old, operand),
        None => Ok(bits([old, operand]).map_or_else(|unknown| unknown, |[a, b]| integer(op, width.bits, a, b))),
    })
}

fn floating(op: RmwOp, format: crate::format::Format, old: &Value, operand: &Value) -> Result<Value, Fault> {
    let extremum = |max, strict| Extremum { max, nan_wins: strict, zeros_ordered: strict }.of(format, [old, operand]);
    match op {
        RmwOp::FAdd => Ok(float::binary(BinaryOp::FAdd, InstFlags::empty(), format, [old, operand])),
        RmwOp::FSub => Ok(float::binary(BinaryOp::FSub, InstFlags::empty(), format, [old, operand])),
        RmwOp::FMax => extremum(true, false),
        RmwOp::FMin => extremum(false, false),
        RmwOp::FMaximum => extremum(true, true),
        RmwOp::FMinimum => extremum(false, true),
        RmwOp::FMaximumNum => Extremum { max: true, nan_wins: false, zeros_ordered: true }.of(format, [old, operand]),
        RmwOp::FMinimumNum => Extremum { max: false, nan_wins: false, zeros_ordered: true }.of(format, [old, operand]),
        _ => Err(Fault::invalid("an atomic operation of integers on floating-point numbers")),
    }
}

fn integer(op: RmwOp, width: u32, a: u128, b: u128) -> Value {
    let (sa, sb) = (signed(a, width), signed(b, width));
    let result = match op {
        RmwOp::Add => a.wrapping_add(b),
        RmwOp::Sub => a.wrapping_sub(b),
        RmwOp::And => a & b,
        RmwOp::Nand => !(a & b),
        RmwOp::Or => a | b,
        RmwOp::Xor => a ^ b,
        RmwOp::Max => {
            if sa > sb {
                a
            } else {
                b
            }
        }
        RmwOp::Min => {
            if sa < sb {
                a
            } else {
                b
            }
        }
        RmwOp::UMax => a.max(b),
        RmwOp::UMin => a.min(b),
        RmwOp::UIncWrap => {
            if a >= b {
                0
            } else {
                a + 1
            }
        }
        RmwOp::UDecWrap => {
            if a == 0 || a > b {
                b
            } else {
                a - 1
            }
        }
        RmwOp::USubCond => {
            if a >= b {
                a - b
            } else {
                a
            }
        }
        RmwOp::USubSat => a.saturating_sub(b),
        RmwOp::Xchg => b,
        RmwOp::FAdd | RmwOp::FSub | RmwOp::FMax | RmwOp::FMin => b,
        RmwOp::FMaximum | RmwOp::FMinimum | RmwOp::FMaximumNum | RmwOp::FMinimumNum => b,
    };
    Value::Bits(result & mask(width))
}
