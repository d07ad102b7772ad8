//! Video instructions: `vadd vsub vabsdiff vmin vmax vshl vshr vmad vset` on bytes, half-words and
//! words, and their forms on two or four lanes.
//!
//! No hardware since sm_70 has the scalar ones. In corner cases ptxas makes of them other than the PTX manual
//! says; what programs see is what ptxas computes, and so it is here (`docs/interp-arithmetic.md` lists the cases).

use crate::chapters::integer::operands;
use crate::chapters::wide::Carry;
use crate::chapters::{float32, integer, wide};
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::ops::lut;
use crate::function::word_ops::IntCmp;
use crate::function::{FnLower, destinations, ops, sources, word_ops};
use crate::handler::{Chapter, unknown};
use oriole_isa::{Absdiff, Cmp, Field, Opcode};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, CmpOp, Instruction, Lanes, Opcode as Ptx, ScalarType, Selector, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[
    (Ptx::Vadd, scalar),
    (Ptx::Vsub, scalar),
    (Ptx::Vabsdiff, scalar),
    (Ptx::Vmin, scalar),
    (Ptx::Vmax, scalar),
    (Ptx::Vshl, scalar),
    (Ptx::Vshr, scalar),
    (Ptx::Vset, scalar),
    (Ptx::Vmad, multiply_add),
    (Ptx::Vadd2, |cx, inst| lanes(cx, inst, 2)),
    (Ptx::Vsub2, |cx, inst| lanes(cx, inst, 2)),
    (Ptx::Vavrg2, |cx, inst| lanes(cx, inst, 2)),
    (Ptx::Vabsdiff2, |cx, inst| lanes(cx, inst, 2)),
    (Ptx::Vmin2, |cx, inst| lanes(cx, inst, 2)),
    (Ptx::Vmax2, |cx, inst| lanes(cx, inst, 2)),
    (Ptx::Vset2, |cx, inst| lanes(cx, inst, 2)),
    (Ptx::Vadd4, |cx, inst| lanes(cx, inst, 4)),
    (Ptx::Vsub4, |cx, inst| lanes(cx, inst, 4)),
    (Ptx::Vavrg4, |cx, inst| lanes(cx, inst, 4)),
    (Ptx::Vabsdiff4, |cx, inst| lanes(cx, inst, 4)),
    (Ptx::Vmin4, |cx, inst| lanes(cx, inst, 4)),
    (Ptx::Vmax4, |cx, inst| lanes(cx, inst, 4)),
    (Ptx::Vset4, |cx, inst| lanes(cx, inst, 4)),
];

/// What is computed, whatever the number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add,
    Sub,
    Average,
    Distance,
    Min,
    Max,
    ShiftLeft,
    ShiftRight,
    Compare(Cmp),
}

impl Operation {
    fn of(inst: &Instruction) -> Option<Operation> {
        Some(match inst.opcode {
            Ptx::Vadd | Ptx::Vadd2 | Ptx::Vadd4 => Operation::Add,
            Ptx::Vsub | Ptx::Vsub2 | Ptx::Vsub4 => Operation::Sub,
            Ptx::Vavrg2 | Ptx::Vavrg4 => Operation::Average,
            Ptx::Vabsdiff | Ptx::Vabsdiff2 | Ptx::Vabsdiff4 => Operation::Distance,
            Ptx::Vmin | Ptx::Vmin2 | Ptx::Vmin4 => Operation::Min,
            Ptx::Vmax | Ptx::Vmax2 | Ptx::Vmax4 => Operation::Max,
            Ptx::Vshl => Operation::ShiftLeft,
            Ptx::Vshr => Operation::ShiftRight,
            _ => Operation::Compare(comparison(inst.cmp()?)?),
        })
    }
}

fn comparison(op: CmpOp) -> Option<Cmp> {
    Some(match op {
        CmpOp::Eq => Cmp::EQ,
        CmpOp::Ne => Cmp::NE,
        CmpOp::Lt | CmpOp::Lo => Cmp::LT,
        CmpOp::Le | CmpOp::Ls => Cmp::LE,
        CmpOp::Gt | CmpOp::Hi => Cmp::GT,
        CmpOp::Ge | CmpOp::Hs => Cmp::GE,
        _ => return None,
    })
}

/// Result type and the types of the two sources; `vset` names only the latter, and its third source is
/// of the first's.
fn types(inst: &Instruction) -> Lowered<[ScalarType; 3]> {
    match (inst.ty(0), inst.ty(1), inst.ty(2)) {
        (Some(d), Some(a), Some(b)) => Ok([d, a, b]),
        (Some(a), Some(b), None) => Ok([a, a, b]),
        _ => Err(invalid(inst.span, "the instruction's types are missing")),
    }
}

/// An operand without its lane selector, and the selector.
fn selected(operand: &ast::Operand) -> (ast::Operand, Option<Lanes>) {
    match operand {
        ast::Operand::Part(name, Selector::Lanes(lanes)) => (ast::Operand::Name(*name), Some(*lanes)),
        other => (other.clone(), None),
    }
}

/// Width in bits of what a selector chooses.
fn lane_bits(lanes: Option<Lanes>) -> u32 {
    match lanes {
        Some(lanes) if lanes.halves => 16,
        Some(_) => 8,
        None => 32,
    }
}

/// One lane of a register, extended to a word.
fn lane_of(cx: &mut FnLower<'_, '_>, from: Operand, bits: u32, index: u32, signed: bool) -> Lowered<Operand> {
    if bits == 32 {
        return Ok(from);
    }
    let from = ops::in_reg(cx, from)?;
    let (first, last) = if bits == 16 { (2 * index, 2 * index + 1) } else { (index, index) };
    let fill = if signed { last | 8 } else { 4 };
    let second = if bits == 16 { last } else { fill };
    let d = cx.temp()?;
    ops::prmt(cx, d, from, first | second << 4 | fill << 8 | fill << 12, Operand::rz())?;
    Ok(d)
}

/// A scalar source: the chosen part, extended to a word.
fn video_source(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, ty: ScalarType) -> Lowered<Operand> {
    let (plain, chosen) = selected(operand);
    let value = sources::src(cx, &plain)?;
    lane_of(cx, value, lane_bits(chosen), chosen.map_or(0, |c| u32::from(c.index[0])), ty.is_signed())
}

/// A word extended to 64 bits.
fn widened(cx: &mut FnLower<'_, '_>, word: Operand, signed: bool) -> Lowered<Wide> {
    if !signed {
        return Ok(Wide::of_halves(word, Operand::rz()));
    }
    let high = cx.temp()?;
    word_ops::shift_right(cx, true, high, word, Operand::imm(31))?;
    Ok(Wide::of_halves(word, high))
}

/// The result of a scalar operation in 64 bits.
fn scalar_result(
    cx: &mut FnLower<'_, '_>,
    inst: &Instruction,
    operation: Operation,
    a: Wide,
    b: Wide,
) -> Lowered<Wide> {
    let (result, d) = wide::temp_wide(cx)?;
    match operation {
        Operation::Add => wide::wide_add(cx, d, a, b, Carry::default())?,
        Operation::Sub => wide::wide_sub(cx, d, a, b, Carry::default())?,
        Operation::Min | Operation::Max => wide::wide_minmax(cx, true, operation == Operation::Min, d, a, b)?,
        Operation::Distance => {
            wide::wide_sub(cx, d, a, b, Carry::default())?;
            return Ok(integer::wide_abs(cx, result)?.0);
        }
        Operation::Compare(op) => {
            let p = wide::wide_test(cx, IntCmp { cmp: op, signed: true }, a, b)?;
            wide::wide_select(cx, d, Wide::of_bits(1), Wide::of_bits(0), p)?;
        }
        Operation::ShiftLeft | Operation::ShiftRight => {
            let count = shift_count(cx, inst, b.lo)?;
            if operation == Operation::ShiftRight {
                wide::wide_shr(cx, true, d, a, count)?;
                return Ok(result);
            }
            wide::wide_shl(cx, d, a, count)?;
        }
        Operation::Average => return Err(unknown(cx, inst)),
    }
    Ok(result)
}

fn shift_count(cx: &mut FnLower<'_, '_>, inst: &Instruction, count: Operand) -> Lowered<Operand> {
    if inst.has(Word::Wrap) {
        return word_ops::logic(cx, lut::AND, count, Operand::imm(31));
    }
    let d = cx.temp()?;
    word_ops::imnmx(cx, false, true, d, count, Operand::imm(32))?;
    Ok(d)
}

/// The value clamped to the range of a word.
fn word_clamp(cx: &mut FnLower<'_, '_>, value: Wide, signed: bool) -> Lowered<Wide> {
    let (least, greatest) = if signed { (i64::from(i32::MIN), i64::from(i32::MAX)) } else { (0, i64::from(u32::MAX)) };
    let (raised, raised_d) = wide::temp_wide(cx)?;
    wide::wide_minmax(cx, true, false, raised_d, value, Wide::of_bits(least as u64))?;
    let (lowered, lowered_d) = wide::temp_wide(cx)?;
    wide::wide_minmax(cx, true, true, lowered_d, raised, Wide::of_bits(greatest as u64))?;
    Ok(lowered)
}

/// `.sat` of a scalar operation, for the part of the result that is kept. Shifts are clamped to a word, whatever part is
/// kept; of the result of `vshl` 34 bits count. Otherwise what is out of range of a byte or half-word, on either side,
/// becomes its greatest value, and an unsigned word is kept from below only.
fn video_saturated(
    cx: &mut FnLower<'_, '_>,
    operation: Operation,
    value: Wide,
    ty: ScalarType,
    part: Option<Lanes>,
) -> Lowered<Wide> {
    let bits = lane_bits(part);
    match operation {
        Operation::ShiftLeft => {
            let high = cx.temp()?;
            word_ops::op2(cx, Opcode::SGXT, &[], high, value.hi, Operand::imm(2))?;
            return word_clamp(cx, Wide::of_halves(value.lo, high), ty.is_signed());
        }
        Operation::ShiftRight => return word_clamp(cx, value, ty.is_signed()),
        _ if bits == 32 && ty.is_signed() => return word_clamp(cx, value, true),
        _ => {}
    }
    let (limited, limited_d) = wide::temp_wide(cx)?;
    if bits < 32 {
        let greatest = (1 << (bits - u32::from(ty.is_signed()))) - 1;
        wide::wide_minmax(cx, false, true, limited_d, value, Wide::of_bits(greatest))?;
    } else {
        wide::wide_minmax(cx, true, false, limited_d, value, Wide::of_bits(0))?;
    }
    Ok(limited)
}

/// The operation on one lane, whose sources are extended to words.
fn lane_result(cx: &mut FnLower<'_, '_>, operation: Operation, a: Operand, b: Operand) -> Lowered<Operand> {
    let d = cx.temp()?;
    match operation {
        Operation::Add => ops::add(cx, d, a, b)?,
        Operation::Sub => ops::add(cx, d, a, b.neg())?,
        Operation::Min | Operation::Max => word_ops::imnmx(cx, true, operation == Operation::Min, d, a, b)?,
        Operation::Distance => {
            let difference = word_ops::sum(cx, a, b.neg())?;
            word_ops::op1(cx, Opcode::IABS, &[], d, difference)?;
        }
        Operation::Average => {
            // Halves round away from zero.
            let total = word_ops::sum(cx, a, b)?;
            let negative = word_ops::test(cx, IntCmp::LT_S, total, Operand::rz())?;
            let more = word_ops::sum(cx, total, Operand::imm(1))?;
            let rounded = float32::chosen(cx, total, more, negative)?;
            word_ops::shift_right(cx, true, d, rounded, Operand::imm(1))?;
        }
        Operation::Compare(op) => {
            let p = word_ops::test(cx, IntCmp { cmp: op, signed: true }, a, b)?;
            word_ops::select(cx, d, Operand::imm(1), Operand::rz(), p)?;
        }
        Operation::ShiftLeft | Operation::ShiftRight => {
            return Err(invalid(cx.span, "internal: shifts have no lanes"));
        }
    }
    Ok(d)
}

/// A lane's result clamped to the range of a type of so many bits.
fn lane_clamped(cx: &mut FnLower<'_, '_>, value: Operand, signed: bool, bits: u32) -> Lowered<Operand> {
    let greatest = if signed { (1 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
    let least = if signed { !greatest } else { 0u32 };
    let (raised, lowered) = (cx.temp()?, cx.temp()?);
    word_ops::imnmx(cx, true, false, raised, value, Operand::imm(least))?;
    word_ops::imnmx(cx, true, true, lowered, raised, Operand::imm(greatest))?;
    Ok(lowered)
}

/// `vop.dtype.atype.btype[.sat] d[.dsel], a[.asel], b[.bsel][, c];`, with `.add`, `.min` or `.max` of c.
fn scalar(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let operation = Operation::of(inst).ok_or_else(|| unknown(cx, inst))?;
    let [result_type, a_type, b_type] = types(inst)?;
    let [d, a, b] = operands(inst)?;
    let (d, part) = selected(d);
    let a = video_source(cx, a, a_type)?;
    let a = widened(cx, a, a_type.is_signed())?;
    let b = video_source(cx, b, b_type)?;
    let b = widened(cx, b, b_type.is_signed())?;
    let mut value = scalar_result(cx, inst, operation, a, b)?;
    if inst.has(Word::Sat) {
        value = video_saturated(cx, operation, value, result_type, part)?;
    }
    let shift = matches!(operation, Operation::ShiftLeft | Operation::ShiftRight);
    if matches!(operation, Operation::Add | Operation::Sub) || shift && inst.has(Word::Sat) {
        // Sums and saturated shifts have 32 bits, which are taken as signed.
        value = widened(cx, value.lo, true)?;
    }
    // With neither a second operation nor a part of d to be written c takes no part, as in ptxas's code.
    let counts = part.is_some() || [Word::Add, Word::Min, Word::Max].into_iter().any(|word| inst.has(word));
    let Some(c) = inst.operands.get(3).filter(|_| counts) else {
        let d = destinations::dst(cx, &d)?;
        return ops::mov(cx, d, value.lo);
    };
    let c = sources::src(cx, c)?;
    let d = destinations::dst(cx, &d)?;
    match (part, inst.has(Word::Add)) {
        (Some(part), _) => ops::prmt(cx, d, c, merge_selector(part), value.lo),
        (None, true) => ops::add(cx, d, value.lo, c),
        (None, false) => {
            // Both sides have 64 bits, signed or unsigned as the result is.
            let c = widened(cx, c, result_type.is_signed())?;
            let (chosen, chosen_d) = wide::temp_wide(cx)?;
            wide::wide_minmax(cx, result_type.is_signed(), inst.has(Word::Min), chosen_d, value, c)?;
            ops::mov(cx, d, chosen.lo)
        }
    }
}

/// Selector of PRMT that puts the low byte or half-word of the second source in its place of the first; the high
/// half-word takes the high half of the result.
fn merge_selector(part: Lanes) -> u32 {
    let index = u32::from(part.index[0]);
    match (part.halves, index) {
        (true, 0) => 0x3254,
        (true, _) => 0x7610,
        (false, index) => (0x3210 & !(0xf << (4 * index))) | 4 << (4 * index),
    }
}

/// `vmad.dtype.atype.btype[.sat][.shr7|.shr15] d, [-]a, [-]b, [-]c;` and `vmad….po d, a, b, c;`: words are
/// multiplied and added as signed numbers of 64 bits, whatever their types.
fn multiply_add(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let [_, a_type, b_type] = types(inst)?;
    let [d, a, b, c] = operands(inst)?;
    let (a, a_negated) = without_sign(a);
    let (b, b_negated) = without_sign(b);
    let (c, c_negated) = without_sign(c);
    let signed = a_type.is_signed() || b_type.is_signed() || a_negated != b_negated || c_negated;
    let (a, b) = (video_source(cx, a, a_type)?, video_source(cx, b, b_type)?);
    // Unsigned bytes and half-words are extended already: as words they are not negative.
    let (a, b) = (widened(cx, a, true)?, widened(cx, b, true)?);
    let c = sources::src(cx, c)?;
    let mut c = widened(cx, c, true)?;
    let (mut product, product_d) = wide::temp_wide(cx)?;
    wide::wide_mad_lo(cx, product_d, a, b, None)?;
    if a_negated != b_negated {
        let (negative, negative_d) = wide::temp_wide(cx)?;
        wide::wide_neg(cx, negative_d, product)?;
        product = negative;
    }
    if c_negated {
        let (negative, negative_d) = wide::temp_wide(cx)?;
        wide::wide_neg(cx, negative_d, c)?;
        c = negative;
    }
    let (mut total, total_d) = wide::temp_wide(cx)?;
    let one_more = Carry { input: inst.has(Word::Po).then(Operand::pt), output: None };
    wide::wide_add(cx, total_d, product, c, one_more)?;
    let shift = if inst.has(Word::Shr7) { 7 } else { 15 };
    if inst.has(Word::Shr7) || inst.has(Word::Shr15) {
        let (shifted, shifted_d) = wide::temp_wide(cx)?;
        wide::wide_shr(cx, signed, shifted_d, total, Operand::imm(shift))?;
        total = shifted;
    }
    if inst.has(Word::Sat) {
        total = word_clamp(cx, total, signed)?;
    }
    let d = destinations::dst(cx, d)?;
    ops::mov(cx, d, total.lo)
}

fn without_sign(operand: &ast::Operand) -> (&ast::Operand, bool) {
    match operand {
        ast::Operand::Neg(inner, _) => (inner, true),
        other => (other, false),
    }
}

/// `vopN.dtype.atype.btype[.sat] d[.mask], a[.asel], b[.bsel], c;`: lanes outside of the mask are those
/// of c; with `.add` the lanes of the mask are summed onto c.
fn lanes(cx: &mut FnLower<'_, '_>, inst: &Instruction, count: usize) -> Lowered {
    let operation = Operation::of(inst).ok_or_else(|| unknown(cx, inst))?;
    let [result_type, a_type, b_type] = types(inst)?;
    let [d, a, b, c] = operands(inst)?;
    let ((d, mask), (a, a_lanes), (b, b_lanes)) = (selected(d), selected(a), selected(b));
    let (a, b, c) = (sources::src(cx, &a)?, sources::src(cx, &b)?, sources::src(cx, c)?);
    let distances = operation == Operation::Distance && count == 4 && cx.has(Opcode::VABSDIFF4);
    let kind = byte_distances([result_type, a_type, b_type]);
    if let Some(kind) = kind.filter(|_| distances && all_bytes([mask, a_lanes, b_lanes])) {
        let sums = inst.has(Word::Add);
        let d = destinations::dst(cx, &d)?;
        let fields = [Field::ABSDIFF.is(kind), Field::ACC.is(sums)];
        return word_ops::op3(cx, Opcode::VABSDIFF4, &fields, d, [a, b, if sums { c } else { Operand::rz() }]);
    }
    let bits = 32 / count as u32;
    let in_mask = |lane: usize| mask.is_none_or(|m| m.index[..usize::from(m.count)].contains(&(lane as u8)));
    let mut results = Vec::new();
    for lane in 0..count {
        if !in_mask(lane) {
            results.push(lane_of(cx, c, bits, lane as u32, false)?);
            continue;
        }
        let pick = |lanes: Option<Lanes>, default: usize| {
            lanes.map_or(default, |l| usize::from(l.index[usize::from(l.count) - 1 - lane]))
        };
        let source = |cx: &mut FnLower<'_, '_>, index: usize, ty: ScalarType| {
            let from = if index < count { a } else { b };
            lane_of(cx, from, bits, (index % count) as u32, ty.is_signed())
        };
        let x = source(cx, pick(a_lanes, lane), a_type)?;
        let y = source(cx, pick(b_lanes, lane + count), b_type)?;
        let value = lane_result(cx, operation, x, y)?;
        let clamps = inst.has(Word::Sat);
        results.push(if clamps { lane_clamped(cx, value, result_type.is_signed(), bits)? } else { value });
    }
    if inst.has(Word::Add) {
        let mut total = c;
        for (_, value) in results.iter().enumerate().filter(|(lane, _)| in_mask(*lane)) {
            total = word_ops::sum(cx, total, *value)?;
        }
        let d = destinations::dst(cx, &d)?;
        return ops::mov(cx, d, total);
    }
    join(cx, &d, &results)
}

/// As which bytes one instruction takes what `vabsdiff4` subtracts, if it can: both are of one sign, and the result is not signed (a
/// distance is 255 at most, so that it is not clamped either).
fn byte_distances([result, a, b]: [ScalarType; 3]) -> Option<Absdiff> {
    let kind = if a.is_signed() { Absdiff::S8 } else { Absdiff::U8 };
    (a.is_signed() == b.is_signed() && !result.is_signed()).then_some(kind)
}

/// Whether all bytes are taken, each in its place.
fn all_bytes(selectors: [Option<Lanes>; 3]) -> bool {
    selectors.iter().all(Option::is_none)
}

/// `d` = the low bits of the lanes, the first lowest.
fn join(cx: &mut FnLower<'_, '_>, d: &ast::Operand, lanes: &[Operand]) -> Lowered {
    match *lanes {
        [low, high] => {
            let d = destinations::dst(cx, d)?;
            ops::prmt(cx, d, low, 0x5410, high)
        }
        [first, second, third, fourth] => {
            let (low, high) = (cx.temp()?, cx.temp()?);
            ops::prmt(cx, low, first, 0x0040, second)?;
            ops::prmt(cx, high, third, 0x0040, fourth)?;
            let d = destinations::dst(cx, d)?;
            ops::prmt(cx, d, low, 0x5410, high)
        }
        _ => Err(invalid(cx.span, "internal: a vector of another size")),
    }
}
