//! Known bits against host arithmetic.

use super::*;
use crate::ir::{BlockId, Body, Module, SymbolId, TypeId};

const OPS: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::UDiv,
    BinaryOp::URem,
    BinaryOp::SDiv,
    BinaryOp::SRem,
    BinaryOp::Shl,
    BinaryOp::LShr,
    BinaryOp::AShr,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
];

/// The operation on six-bit integers, in host arithmetic; `None` where it is undefined.
fn compute(op: BinaryOp, a: u8, b: u8) -> Option<u8> {
    let signed = |value: u8| (value << 2) as i8 >> 2;
    let (x, y) = (i32::from(signed(a)), i32::from(signed(b)));
    Some(
        match op {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::UDiv => a.checked_div(b)?,
            BinaryOp::URem => a.checked_rem(b)?,
            BinaryOp::SDiv => x.checked_div(y).filter(|&quotient| quotient < 32)? as u8,
            BinaryOp::SRem => x.checked_rem(y).filter(|_| !(x == -32 && y == -1))? as u8,
            BinaryOp::Shl if b < 6 => a << b,
            BinaryOp::LShr if b < 6 => a >> b,
            BinaryOp::AShr if b < 6 => (signed(a) >> b) as u8,
            BinaryOp::And => a & b,
            BinaryOp::Or => a | b,
            BinaryOp::Xor => a ^ b,
            _ => return None,
        } & 63,
    )
}

fn masked(module: &mut Module, body: &mut Body, block: BlockId, masks: (u8, u8)) -> Value {
    let ty = module.types.int(6);
    let param = body.add_param(ty);
    let [clear, set] = [masks.0, masks.1].map(|mask| module.constants.int(ty, 6, mask.into()).into());
    let cleared = body.push(block, Op::Binary(BinaryOp::And, InstFlags::empty(), [param.into(), clear]), ty);
    let op = Op::Binary(BinaryOp::Or, InstFlags::empty(), [body.result(cleared).into(), set]);
    let inst = body.push(block, op, ty);
    body.result(inst).into()
}

#[test]
fn binary_operations_of_six_bits_exhaustively() {
    let mut rng = fastrand::Rng::with_seed(7);
    for round in 0..400 {
        let op = OPS[round % OPS.len()];
        let mut module = Module::default();
        let symbol: SymbolId = module.symbol_or_new("f");
        let mut body = Body::default();
        let block = body.add_block();
        let masks: [(u8, u8); 2] = std::array::from_fn(|_| (rng.u8(..) & 63, rng.u8(..) & rng.u8(..) & 63));
        let [a, b] = masks.map(|masks| masked(&mut module, &mut body, block, masks));
        let ty = module.types.int(6);
        let inst = body.push(block, Op::Binary(op, InstFlags::empty(), [a, b]), ty);
        let result = Value::Local(body.result(inst));
        let wide = body.push(block, Op::Cast(CastOp::SExt, InstFlags::empty(), result), TypeId::I16);
        let wide = Value::Local(body.result(wide));
        let view = View { module: &module, symbol, body: &body };
        let (known, signs) = (known_bits(view, result), sign_bits(view, result));
        assert_eq!(sign_bits(view, wide), (signs + 10).max(11));
        let wide = known_bits(view, wide);
        for (x, y) in (0..64u8).flat_map(|x| (0..64u8).map(move |y| (x, y))) {
            let [x, y] = [(x & masks[0].0) | masks[0].1, (y & masks[1].0) | masks[1].1];
            let Some(value) = compute(op, x, y) else { continue };
            assert_eq!(u128::from(value) & known.zero, 0, "{op:?} {x} {y} {known:?}");
            assert_eq!(!u128::from(value) & known.one, 0, "{op:?} {x} {y} {known:?}");
            let extended = (((value << 2) as i8) >> 2) as i16 as u16;
            assert_eq!(u128::from(extended) & wide.zero | !u128::from(extended) & wide.one, 0, "{op:?}");
            let spread = (value << 2) as i8;
            let real = if spread < 0 { spread.leading_ones() } else { spread.leading_zeros() }.min(6);
            assert!(real >= signs, "{op:?} {x} {y}: {real} {signs}");
        }
    }
}
