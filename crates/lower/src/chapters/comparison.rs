//! Comparison and selection: `set setp selp slct`.

use crate::chapters::integer::{IntType, operands};
use crate::chapters::wide::Halves;
use crate::chapters::{float64, integer, wide};
use crate::error::{Lowered, invalid};
use crate::function::word_ops::{IntCmp, bop_of};
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::{Bop, Cmp, Dcmp, Fcmp, Field, HalfFmt, Opcode, Role, Setting, Swizzle, SwzB};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, CmpOp, Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[(Ptx::Setp, setp), (Ptx::Set, set), (Ptx::Selp, selp), (Ptx::Slct, slct)];

/// How SASS compares: PTX operator, integer comparison, float comparison.
const COMPARISONS: [(CmpOp, Cmp, Fcmp); 18] = [
    (CmpOp::Eq, Cmp::EQ, Fcmp::EQ),
    (CmpOp::Ne, Cmp::NE, Fcmp::NE),
    (CmpOp::Lt, Cmp::LT, Fcmp::LT),
    (CmpOp::Le, Cmp::LE, Fcmp::LE),
    (CmpOp::Gt, Cmp::GT, Fcmp::GT),
    (CmpOp::Ge, Cmp::GE, Fcmp::GE),
    (CmpOp::Lo, Cmp::LT, Fcmp::F),
    (CmpOp::Ls, Cmp::LE, Fcmp::F),
    (CmpOp::Hi, Cmp::GT, Fcmp::F),
    (CmpOp::Hs, Cmp::GE, Fcmp::F),
    (CmpOp::Equ, Cmp::F, Fcmp::EQU),
    (CmpOp::Neu, Cmp::F, Fcmp::NEU),
    (CmpOp::Ltu, Cmp::F, Fcmp::LTU),
    (CmpOp::Leu, Cmp::F, Fcmp::LEU),
    (CmpOp::Gtu, Cmp::F, Fcmp::GTU),
    (CmpOp::Geu, Cmp::F, Fcmp::GEU),
    (CmpOp::Num, Cmp::F, Fcmp::NUM),
    (CmpOp::Nan, Cmp::F, Fcmp::NAN),
];

/// One comparison: operator, type, how it combines with a predicate.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    int: Cmp,
    float: Fcmp,
    ty: ScalarType,
    ftz: bool,
    bop: Bop,
    with: Operand,
}

impl Comparison {
    /// Reads operator and combination; `with` is the predicate operand, if the form has one.
    fn of(
        cx: &mut FnLower<'_, '_>,
        inst: &Instruction,
        ty: ScalarType,
        with: Option<&ast::Operand>,
    ) -> Lowered<Comparison> {
        let op = inst.cmp().ok_or_else(|| invalid(inst.span, "the comparison operator is missing"))?;
        let (_, int, float) =
            COMPARISONS.into_iter().find(|(known, ..)| *known == op).ok_or_else(|| unknown(cx, inst))?;
        let exists = if ty.is_float() { float != Fcmp::F } else { int != Cmp::F };
        if !exists {
            return Err(invalid(inst.opcode_span, format!("type .{ty} has no comparison .{}", op.as_str())));
        }
        let word = inst.words().find(|w| matches!(w, Word::And | Word::Or | Word::Xor));
        let with = with.map(|c| sources::pred(cx, c)).transpose()?.unwrap_or(Operand::pt());
        Ok(Comparison { int, float, ty, ftz: inst.has(Word::Ftz), bop: bop_of(word), with })
    }

    /// The fields of a float comparison.
    fn float_fields(self, comparison: Fcmp) -> [Setting; 3] {
        [Field::FCMP.is(comparison), Field::FTZ.is(self.ftz), Field::BOP.is(self.bop)]
    }
}

/// The same comparison of doubles, which has the same code.
fn of_doubles(comparison: Fcmp) -> Dcmp {
    const _: () = assert!(Dcmp::LT.code() == Fcmp::LT.code() && Dcmp::GEU.code() == Fcmp::GEU.code());
    const _: () = assert!(Dcmp::EQ.code() == Fcmp::EQ.code() && Dcmp::NAN.code() == Fcmp::NAN.code());
    Dcmp::from_code(comparison.code())
}

fn is_bf16(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2)
}

fn is_packed(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2)
}

/// `d[0] = (a cmp b) bop c`, `d[1] = !(a cmp b) bop c`; of packed halves: low and high element.
fn compare(cx: &mut FnLower<'_, '_>, how: Comparison, d: [Operand; 2], a: &ast::Operand, b: &ast::Operand) -> Lowered {
    match how.ty {
        ScalarType::F32 => {
            let (a, b) = (sources::src_f32(cx, a)?, sources::src_f32(cx, b)?);
            compare_with(cx, Opcode::FSETP, &how.float_fields(how.float), d, [a, b, how.with])
        }
        ScalarType::F64 => {
            let (a, b) = (float64::f64_register(cx, a)?, float64::f64_operand(cx, b)?);
            let fields = [Field::DCMP.is(of_doubles(how.float)), Field::BOP.is(how.bop)];
            compare_with(cx, Opcode::DSETP, &fields, d, [a, b, how.with])
        }
        ty if ty.is_float() => compare_half(cx, how, d, a, b),
        ty => compare_int(cx, how, d, a, b, IntType { bits: ty.bits(), signed: ty.is_signed(), packed: None }),
    }
}

fn compare_with(
    cx: &mut FnLower<'_, '_>,
    op: Opcode,
    fields: &[Setting],
    [pd, pd2]: [Operand; 2],
    [a, b, with]: [Operand; 3],
) -> Lowered {
    cx.emit(op, fields, &[(Role::PD, pd), (Role::PD2, pd2), (Role::A, a), (Role::B, b), (Role::PA, with)])?;
    Ok(())
}

fn compare_int(
    cx: &mut FnLower<'_, '_>,
    how: Comparison,
    d: [Operand; 2],
    a: &ast::Operand,
    b: &ast::Operand,
    ty: IntType,
) -> Lowered {
    let compare = IntCmp { cmp: how.int, signed: ty.signed };
    if ty.bits == 64 {
        let (a, b) = (sources::src64(cx, a)?, sources::src64(cx, b)?);
        return wide::wide_setp(cx, compare, d, a, b, (how.bop, how.with));
    }
    let (a, b) = (integer::int_src(cx, a, ty)?, integer::int_src(cx, b, ty)?);
    let [cmp, sign] = compare.fields();
    compare_with(cx, Opcode::ISETP, &[cmp, sign, Field::BOP.is(how.bop)], d, [a, b, how.with])
}

fn compare_half(
    cx: &mut FnLower<'_, '_>,
    how: Comparison,
    [pd, pd2]: [Operand; 2],
    a: &ast::Operand,
    b: &ast::Operand,
) -> Lowered {
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let (a, b) = (ops::in_reg(cx, a)?, ops::in_reg(cx, b)?);
    let format = Field::HALF_FMT.is(if is_bf16(how.ty) { HalfFmt::BF16_V2 } else { HalfFmt::F16 });
    let [fcmp, ftz, bop] = how.float_fields(how.float);
    if is_packed(how.ty) {
        return compare_with(cx, Opcode::HSETP2, &[format, fcmp, ftz, bop], [pd, pd2], [a, b, how.with]);
    }
    let low = [Field::SWZ_A.is(Swizzle::H0_H0), Field::SWZ_B.is(SwzB::H0_H0)];
    let fields = [[format, fcmp, ftz, bop].as_slice(), &low].concat();
    compare_with(cx, Opcode::HSETP2, &fields, [pd, Operand::pt()], [a, b, how.with])?;
    if pd2 == Operand::pt() {
        return Ok(());
    }
    let opposite = Field::FCMP.is(how.float.opposite());
    let fields = [[format, opposite, ftz, bop].as_slice(), &low].concat();
    compare_with(cx, Opcode::HSETP2, &fields, [pd2, Operand::pt()], [a, b, how.with])
}

/// A comparison's result in a temporary.
fn compared(cx: &mut FnLower<'_, '_>, how: Comparison, a: &ast::Operand, b: &ast::Operand) -> Lowered<Operand> {
    let p = cx.temp_pred()?;
    compare(cx, how, [p, Operand::pt()], a, b)?;
    Ok(p)
}

/// `setp.op[.bop].type p[|q], a, b[, c];`
fn setp(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let ty = inst.last_type().ok_or_else(|| invalid(inst.span, "the comparison has no type"))?;
    let how = Comparison::of(cx, inst, ty, inst.operands.get(3))?;
    let (p, q) = match d {
        ast::Operand::Pair(pair) => (destinations::dst_pred(cx, &pair[0])?, destinations::dst_pred(cx, &pair[1])?),
        _ => (destinations::dst_pred(cx, d)?, Operand::pt()),
    };
    // Two instructions may be needed, and the sources may be among the results.
    let single = !(ty.is_float() && ty.bits() == 16) || q == Operand::pt();
    if single {
        return compare(cx, how, [p, q], a, b);
    }
    let (first, second) = (cx.temp_pred()?, cx.temp_pred()?);
    compare(cx, how, [first, second], a, b)?;
    ops::mov_pred(cx, p, first)?;
    ops::mov_pred(cx, q, second)
}

/// Values of `set` for true by the type of the result.
const TRUE_VALUES: [(ScalarType, u32); 8] = [
    (ScalarType::F32, 0x3f80_0000),
    (ScalarType::F16, 0x3c00),
    (ScalarType::Bf16, 0x3f80),
    (ScalarType::U32, u32::MAX),
    (ScalarType::S32, u32::MAX),
    (ScalarType::U16, 0xffff),
    (ScalarType::S16, 0xffff),
    (ScalarType::B32, u32::MAX),
];

/// `set.op[.bop].dtype.stype d, a, b[, c];`
fn set(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (Some(result), Some(ty)) = (inst.ty(0), inst.ty(1)) else { return set_elements(cx, inst, [d, a, b]) };
    let how = Comparison::of(cx, inst, ty, inst.operands.get(3))?;
    if is_packed(ty) {
        return set_packed(cx, result, how, [d, a, b]);
    }
    let (_, value) = TRUE_VALUES.into_iter().find(|(known, _)| *known == result).ok_or_else(|| unknown(cx, inst))?;
    let p = compared(cx, how, a, b)?;
    let d = destinations::dst(cx, d)?;
    word_ops::select(cx, d, Operand::imm(value), Operand::rz(), p)
}

/// Of packed integers: ones in the elements where the comparison holds.
fn set_elements(cx: &mut FnLower<'_, '_>, inst: &Instruction, [d, a, b]: [&ast::Operand; 3]) -> Lowered {
    let ty = inst.last_type().ok_or_else(|| unknown(cx, inst))?;
    let how = Comparison::of(cx, inst, ty, None)?;
    let kind = integer::vector_type(ty).filter(|_| cx.has(Opcode::VISET)).ok_or_else(|| unknown(cx, inst))?;
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let d = destinations::dst(cx, d)?;
    word_ops::op2(cx, Opcode::VISET, &[Field::VTYPE.is(kind), Field::CMP.is(how.int)], d, a, b)
}

/// By element: ones and zeros, or 1.0 and 0.0 where the result is of a float type.
fn set_packed(cx: &mut FnLower<'_, '_>, result: ScalarType, how: Comparison, [d, a, b]: [&ast::Operand; 3]) -> Lowered {
    let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
    let (a, b) = (ops::in_reg(cx, a)?, ops::in_reg(cx, b)?);
    let format = Field::HALF_FMT.is(if is_bf16(how.ty) { HalfFmt::BF16_V2 } else { HalfFmt::F16 });
    let [fcmp, ftz, bop] = how.float_fields(how.float);
    let fields = [format, fcmp, ftz, bop, Field::BF.is(result.is_float())];
    let d = destinations::dst(cx, d)?;
    cx.emit(Opcode::HSET2, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, how.with)])?;
    Ok(())
}

/// `selp.type d, a, b, p;`
fn selp(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, p] = operands(inst)?;
    let p = sources::pred(cx, p)?;
    choose(cx, inst, [d, a, b], p)
}

/// `slct.type.ctype d, a, b, c;`: a where c >= 0, else b.
fn slct(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let p = cx.temp_pred()?;
    if inst.ty(1) == Some(ScalarType::F32) {
        let c = sources::src_f32(cx, c)?;
        let fields = [Field::FCMP.is(Fcmp::GE), Field::FTZ.is(inst.has(Word::Ftz)), Field::BOP.is(Bop::AND)];
        compare_with(cx, Opcode::FSETP, &fields, [p, Operand::pt()], [c, Operand::rz(), Operand::pt()])?;
    } else {
        let c = sources::src(cx, c)?;
        ops::isetp(cx, p, Cmp::GE, true, c, Operand::rz())?;
    }
    choose(cx, inst, [d, a, b], p)
}

/// `d = p ? a : b` in the instruction's first type.
fn choose(cx: &mut FnLower<'_, '_>, inst: &Instruction, [d, a, b]: [&ast::Operand; 3], p: Operand) -> Lowered {
    let ty = inst.ty(0).ok_or_else(|| invalid(inst.span, "the selection has no type"))?;
    match ty {
        _ if ty.bits() == 64 => {
            let source = |cx: &mut FnLower<'_, '_>, x| {
                if ty.is_float() { sources::src_f64(cx, x) } else { sources::src64(cx, x) }
            };
            let (a, b) = (source(cx, a)?, source(cx, b)?);
            let d: Halves = destinations::dst64_direct(cx, d)?.into();
            wide::wide_select(cx, d, a, b, p)
        }
        ScalarType::F32 => {
            let (a, b) = (sources::src_f32(cx, a)?, sources::src_f32(cx, b)?);
            let d = destinations::dst(cx, d)?;
            word_ops::select(cx, d, a, b, p)
        }
        _ => {
            let (a, b) = (sources::src(cx, a)?, sources::src(cx, b)?);
            let d = destinations::dst(cx, d)?;
            word_ops::select(cx, d, a, b, p)
        }
    }
}
