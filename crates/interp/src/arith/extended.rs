//! Extended precision: sums, differences and products with `CC.CF`.
//!
//! The flag is that of the adder, as in ptxas's code: the carry of `a + b`, and of `a + ~b + 1` ("no borrow") for
//! differences, whose carry in is added to `a + ~b`.

use oriole_ptx::ast::{Instruction, Opcode, Word};

use super::function::{Arithmetic, Bits, Compiled, low, number, type_of, unsupported};

/// `add.cc addc sub.cc subc mad.cc madc`.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    let writes = inst.has(Word::Cc);
    let reads = matches!(inst.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
    if !writes && !reads {
        return Ok(None);
    }
    let ty = type_of(inst, 0)?;
    let width = ty.bits();
    if !ty.is_integer() || width > 64 {
        return unsupported(inst, format_args!("with carry for type `{ty}`"));
    }
    let flag = move |carry: bool| writes.then_some(carry);
    Ok(Some(match inst.opcode {
        Opcode::Add | Opcode::Addc => Arithmetic::with_carry(ty, [ty; 2], move |[a, b], carry| {
            let sum = a + b + Bits::from(reads && carry);
            (sum, flag(sum >> width != 0))
        }),
        Opcode::Sub | Opcode::Subc => Arithmetic::with_carry(ty, [ty; 2], move |[a, b], carry| {
            let subtrahend = b + Bits::from(reads && !carry);
            (a.wrapping_sub(subtrahend), flag(a >= subtrahend))
        }),
        Opcode::Mad | Opcode::Madc => {
            let high = inst.has(Word::Hi);
            let signed = ty.is_signed();
            Arithmetic::with_carry(ty, [ty; 3], move |[a, b, c], carry| {
                let product = number(a, width, signed).wrapping_mul(number(b, width, signed)) as Bits;
                let half = low(if high { product >> width } else { product }, width);
                let sum = half + c + Bits::from(reads && carry);
                (sum, flag(sum >> width != 0))
            })
        }
        _ => return unsupported(inst, "with `.cc`"),
    }))
}
