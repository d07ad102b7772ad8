//! Comparison and selection: `set setp selp slct`.

use crate::chapters::integer::{IntType, operands};
use crate::chapters::wide::Halves;
use crate::chapters::{float64, integer, wide};
use crate::error::{Lowered, invalid};
use crate::function::word_ops::{IntCmp, bop_of, flag};
use crate::function::{FnLower, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::{Field, Opcode, Role, bop, cmp, dcmp, fcmp, half_fmt, swizzle};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, CmpOp, Instruction, Opcode as Ptx, ScalarType, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[(Ptx::Setp, setp), (Ptx::Set, set), (Ptx::Selp, selp), (Ptx::Slct, slct)];

/// How SASS compares: PTX operator, integer comparison, float comparison. The float codes of
/// opposite comparisons add up to 15.
const COMPARISONS: [(CmpOp, u8, u8); 18] = [
    (CmpOp::Eq, cmp::EQ, fcmp::EQ),
    (CmpOp::Ne, cmp::NE, fcmp::NE),
    (CmpOp::Lt, cmp::LT, fcmp::LT),
    (CmpOp::Le, cmp::LE, fcmp::LE),
    (CmpOp::Gt, cmp::GT, fcmp::GT),
    (CmpOp::Ge, cmp::GE, fcmp::GE),
    (CmpOp::Lo, cmp::LT, fcmp::F),
    (CmpOp::Ls, cmp::LE, fcmp::F),
    (CmpOp::Hi, cmp::GT, fcmp::F),
    (CmpOp::Hs, cmp::GE, fcmp::F),
    (CmpOp::Equ, cmp::F, fcmp::EQU),
    (CmpOp::Neu, cmp::F, fcmp::NEU),
    (CmpOp::Ltu, cmp::F, fcmp::LTU),
    (CmpOp::Leu, cmp::F, fcmp::LEU),
    (CmpOp::Gtu, cmp::F, fcmp::GTU),
    (CmpOp::Geu, cmp::F, fcmp::GEU),
    (CmpOp::Num, cmp::F, fcmp::NUM),
    (CmpOp::Nan, cmp::F, fcmp::NAN),
];

/// One comparison: operator, type, how it combines with a predicate.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    int: u8,
    float: u8,
    ty: ScalarType,
    ftz: bool,
    bop: u8,
    with: Operand,
}

impl Comparison {
    /// Reads operator and combination; `with` is the predicate operand, if the form has one.
    fn of(
        f: &mut FnLower<'_, '_>,
        inst: &Instruction,
        ty: ScalarType,
        with: Option<&ast::Operand>,
    ) -> Lowered<Comparison> {
        let op = inst.cmp().ok_or_else(|| invalid(inst.span, "the comparison operator is missing"))?;
        let (_, int, float) =
            COMPARISONS.into_iter().find(|(known, ..)| *known == op).ok_or_else(|| unknown(f, inst))?;
        let exists = if ty.is_float() { float != fcmp::F } else { int != cmp::F };
        if !exists {
            return Err(invalid(inst.opcode_span, format!("type .{ty} has no comparison .{}", op.as_str())));
        }
        let word = inst.words().find(|w| matches!(w, Word::And | Word::Or | Word::Xor));
        let with = with.map(|c| f.pred(c)).transpose()?.unwrap_or(Operand::pt());
        Ok(Comparison { int, float, ty, ftz: inst.has(Word::Ftz), bop: bop_of(word), with })
    }

    /// The fields of a float comparison.
    fn float_fields(self, comparison: u8) -> [(Field, u8); 3] {
        [(Field::Fcmp, comparison), flag(Field::Ftz, self.ftz), (Field::Bop, self.bop)]
    }
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
            let (a, b) = (cx.src_f32(a)?, cx.src_f32(b)?);
            compare_with(cx, Opcode::FSETP, &how.float_fields(how.float), d, [a, b, how.with])
        }
        ScalarType::F64 => {
            let (a, b) = (float64::f64_register(cx, a)?, float64::f64_operand(cx, b)?);
            let fields = [(Field::Dcmp, how.float), (Field::Bop, how.bop)];
            compare_with(cx, Opcode::DSETP, &fields, d, [a, b, how.with])
        }
        ty if ty.is_float() => compare_half(cx, how, d, a, b),
        ty => compare_int(cx, how, d, a, b, IntType { bits: ty.bits(), signed: ty.is_signed(), packed: false }),
    }
}

fn compare_with(
    cx: &mut FnLower<'_, '_>,
    op: Opcode,
    fields: &[(Field, u8)],
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
        let (a, b) = (cx.src64(a)?, cx.src64(b)?);
        return wide::wide_setp(cx, compare, d, a, b, (how.bop, how.with));
    }
    let (a, b) = (integer::int_src(cx, a, ty)?, integer::int_src(cx, b, ty)?);
    let [cmp, sign] = compare.fields();
    compare_with(cx, Opcode::ISETP, &[cmp, sign, (Field::Bop, how.bop)], d, [a, b, how.with])
}

fn compare_half(
    cx: &mut FnLower<'_, '_>,
    how: Comparison,
    [pd, pd2]: [Operand; 2],
    a: &ast::Operand,
    b: &ast::Operand,
) -> Lowered {
    let (a, b) = (cx.src(a)?, cx.src(b)?);
    let (a, b) = (cx.in_reg(a)?, cx.in_reg(b)?);
    let format = (Field::HalfFmt, if is_bf16(how.ty) { half_fmt::BF16_V2 } else { half_fmt::F16 });
    let [fcmp, ftz, bop] = how.float_fields(how.float);
    if is_packed(how.ty) {
        return compare_with(cx, Opcode::HSETP2, &[format, fcmp, ftz, bop], [pd, pd2], [a, b, how.with]);
    }
    let low = [(Field::SwzA, swizzle::H0_H0), (Field::SwzB, swizzle::H0_H0)];
    let fields = [[format, fcmp, ftz, bop].as_slice(), &low].concat();
    compare_with(cx, Opcode::HSETP2, &fields, [pd, Operand::pt()], [a, b, how.with])?;
    if pd2 == Operand::pt() {
        return Ok(());
    }
    let opposite = (Field::Fcmp, fcmp::T - how.float);
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
fn setp(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let ty = inst.last_type().ok_or_else(|| invalid(inst.span, "the comparison has no type"))?;
    let how = Comparison::of(f, inst, ty, inst.operands.get(3))?;
    let (p, q) = match d {
        ast::Operand::Pair(pair) => (f.dst_pred(&pair[0])?, f.dst_pred(&pair[1])?),
        _ => (f.dst_pred(d)?, Operand::pt()),
    };
    // Two instructions may be needed, and the sources may be among the results.
    let single = !(ty.is_float() && ty.bits() == 16) || q == Operand::pt();
    if single {
        return compare(f, how, [p, q], a, b);
    }
    let (first, second) = (f.temp_pred()?, f.temp_pred()?);
    compare(f, how, [first, second], a, b)?;
    f.mov_pred(p, first)?;
    f.mov_pred(q, second)
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
fn set(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b] = operands(inst)?;
    let (Some(result), Some(ty)) = (inst.ty(0), inst.ty(1)) else { return Err(unknown(f, inst)) };
    let how = Comparison::of(f, inst, ty, inst.operands.get(3))?;
    if is_packed(ty) {
        return set_packed(f, result, how, [d, a, b]);
    }
    let (_, value) = TRUE_VALUES.into_iter().find(|(known, _)| *known == result).ok_or_else(|| unknown(f, inst))?;
    let p = compared(f, how, a, b)?;
    let d = f.dst(d)?;
    word_ops::select(f, d, Operand::imm(value), Operand::rz(), p)
}

/// By element: ones and zeros, or 1.0 and 0.0 where the result is of a float type.
fn set_packed(f: &mut FnLower<'_, '_>, result: ScalarType, how: Comparison, [d, a, b]: [&ast::Operand; 3]) -> Lowered {
    let (a, b) = (f.src(a)?, f.src(b)?);
    let (a, b) = (f.in_reg(a)?, f.in_reg(b)?);
    let format = (Field::HalfFmt, if is_bf16(how.ty) { half_fmt::BF16_V2 } else { half_fmt::F16 });
    let [fcmp, ftz, bop] = how.float_fields(how.float);
    let fields = [format, fcmp, ftz, bop, flag(Field::Bf, result.is_float())];
    let d = f.dst(d)?;
    f.emit(Opcode::HSET2, &fields, &[(Role::D, d), (Role::A, a), (Role::B, b), (Role::PA, how.with)])?;
    Ok(())
}

/// `selp.type d, a, b, p;`
fn selp(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, p] = operands(inst)?;
    let p = f.pred(p)?;
    choose(f, inst, [d, a, b], p)
}

/// `slct.type.ctype d, a, b, c;`: a where c >= 0, else b.
fn slct(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [d, a, b, c] = operands(inst)?;
    let p = f.temp_pred()?;
    if inst.ty(1) == Some(ScalarType::F32) {
        let c = f.src_f32(c)?;
        let fields = [(Field::Fcmp, fcmp::GE), flag(Field::Ftz, inst.has(Word::Ftz)), (Field::Bop, bop::AND)];
        compare_with(f, Opcode::FSETP, &fields, [p, Operand::pt()], [c, Operand::rz(), Operand::pt()])?;
    } else {
        let c = f.src(c)?;
        f.isetp(p, cmp::GE, true, c, Operand::rz())?;
    }
    choose(f, inst, [d, a, b], p)
}

/// `d = p ? a : b` in the instruction's first type.
fn choose(f: &mut FnLower<'_, '_>, inst: &Instruction, [d, a, b]: [&ast::Operand; 3], p: Operand) -> Lowered {
    let ty = inst.ty(0).ok_or_else(|| invalid(inst.span, "the selection has no type"))?;
    match ty {
        _ if ty.bits() == 64 => {
            let source = |f: &mut FnLower<'_, '_>, x| if ty.is_float() { f.src_f64(x) } else { f.src64(x) };
            let (a, b) = (source(f, a)?, source(f, b)?);
            let d: Halves = f.dst64_direct(d)?.into();
            wide::wide_select(f, d, a, b, p)
        }
        ScalarType::F32 => {
            let (a, b) = (f.src_f32(a)?, f.src_f32(b)?);
            let d = f.dst(d)?;
            word_ops::select(f, d, a, b, p)
        }
        _ => {
            let (a, b) = (f.src(a)?, f.src(b)?);
            let d = f.dst(d)?;
            word_ops::select(f, d, a, b, p)
        }
    }
}

/// The float comparison of [`COMPARISONS`] means the same for doubles.
const _: () = assert!(dcmp::LT == fcmp::LT && dcmp::GEU == fcmp::GEU && dcmp::NAN == fcmp::NAN);
