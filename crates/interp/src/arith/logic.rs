//! Logic and shifts.

use oriole_ptx::ast::{Imm, Instruction, Opcode, Operand, ScalarType, Word};
use smallvec::smallvec;

use super::function::{Arithmetic, Bits, Compiled, Results, Unsupported, gather, low, number, type_of, unsupported};

/// `and or xor not cnot lop3 shf shl shr`.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    use Opcode::{And, Cnot, Lop3, Not, Or, Shf, Shl, Shr, Xor};
    if !matches!(inst.opcode, And | Or | Xor | Not | Cnot | Lop3 | Shf | Shl | Shr) {
        return Ok(None);
    }
    let ty = type_of(inst, 0)?;
    let (width, signed) = (ty.bits(), ty.is_signed());
    Ok(Some(match inst.opcode {
        And => Arithmetic::function(ty, [ty; 2], |[a, b]| a & b),
        Or => Arithmetic::function(ty, [ty; 2], |[a, b]| a | b),
        Xor => Arithmetic::function(ty, [ty; 2], |[a, b]| a ^ b),
        Not => Arithmetic::function(ty, [ty], |[a]| !a),
        Cnot => Arithmetic::function(ty, [ty], |[a]| (a == 0).into()),
        Lop3 => lop3(inst, ty)?,
        Shf => funnel(inst, ty),
        Shl => shift(ty, |a, amount| a << amount),
        Shr => shift(ty, move |a, amount| (number(a, width, signed) >> amount) as Bits),
        _ => return Ok(None),
    }))
}

/// `shl` and `shr`: amounts above the width count as the width.
fn shift(ty: ScalarType, run: impl Fn(Bits, u32) -> Bits + Send + Sync + 'static) -> Arithmetic {
    let width = ty.bits().min(127);
    Arithmetic::function(ty, [ty, ScalarType::U32], move |[a, amount]| run(a, amount.min(width.into()) as u32))
}

/// `shf`: the high (`.l`) or low (`.r`) word of `b:a`, shifted.
fn funnel(inst: &Instruction, ty: ScalarType) -> Arithmetic {
    let left = inst.has(Word::L);
    let clamp = inst.has(Word::Clamp);
    Arithmetic::function(ty, [ty, ty, ScalarType::U32], move |[a, b, amount]| {
        let amount = if clamp { amount.min(32) } else { low(amount, 5) };
        let pair = b << 32 | a;
        if left { pair << amount >> 32 } else { pair >> amount }
    })
}

/// Three words combined by a truth table: bit `4a + 2b + c` of `table` is the result.
fn combine([a, b, c]: [Bits; 3], table: u8) -> Bits {
    let sign = |value: Bits, row: u8, bit: u8| if row & bit != 0 { value } else { !value };
    (0..8)
        .filter(|row| table >> row & 1 == 1)
        .fold(0, |result, row| result | sign(a, row, 4) & sign(b, row, 2) & sign(c, row, 1))
}

/// `lop3.b32 d, a, b, c, table` and `lop3.BoolOp.b32 d|p, a, b, c, table, q`, where `p` is
/// `(d != 0) BoolOp q`.
fn lop3(inst: &Instruction, ty: ScalarType) -> Result<Arithmetic, Unsupported> {
    let Some(table) = inst.operands.get(4).and_then(Operand::imm).and_then(Imm::int_bits) else {
        return unsupported(inst, "without a constant table");
    };
    // The lowest eight bits count, as with ptxas.
    let table = table as u8;
    let width = ty.bits();
    if !matches!(inst.operands.first(), Some(Operand::Pair(_))) {
        return Ok(Arithmetic::function(ty, [ty, ty, ty, ScalarType::U32], move |[a, b, c, _]| {
            combine([a, b, c], table)
        }));
    }
    let or = inst.has(Word::Or);
    Ok(Arithmetic {
        sources: smallvec![ty, ty, ty, ScalarType::U32, ScalarType::Pred],
        destinations: smallvec![ty, ScalarType::Pred],
        run: Box::new(move |given| {
            let [a, b, c, _, q] = gather(given.values);
            let result = low(combine([a, b, c], table), width);
            let some = Bits::from(result != 0);
            Results { values: smallvec![result, if or { some | q } else { some & q }], carry: None }
        }),
    })
}
