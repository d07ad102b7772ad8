//! Block-scaled products of sm_120: `mma` and `mma.sp` with `.block_scale`.

use crate::chapters::tensor::fragment;
use crate::chapters::tensor::product::{Kind, float_type, kind_in, sparsity_of};
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::uniform::{by_value, constant};
use crate::function::{FnLower, ops, sources, word_ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D, MetaId, PA, ScaleA, ScaleB, ScaleIds};
use oriole_isa::{Field, Opcode as Sass, QmmaShape, ScaleSize, ScaleType};
use oriole_ori::{Inst, Operand, RegType};
use oriole_ptx::ast::{self, Instruction, ScalarType, Word};

/// Words of A, of B (twice as many with a sparse A), of C and D.
const WORDS: [usize; 3] = [4, 2, 4];

/// Where the selectors of scales stand and what of them counts: of A byte and thread, of B byte and thread.
/// The byte is the first of those that one thread gives.
fn places_of_selectors(instruction: &Instruction) -> [(u32, u32); 4] {
    let bytes = match () {
        () if instruction.has(Word::ScaleVec4X) => 0,
        () if instruction.has(Word::ScaleVec2X) || instruction.has(Word::KindMxf4) => 2,
        () => 3,
    };
    [(0, bytes), (2, 1), (3, bytes), (5, 3)]
}

/// `mma{.sp}.sync.….block_scale… d, a, b, c{, e, f}, scale-a, {byte, thread}, scale-b, {byte, thread};`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let types: Vec<ScalarType> = instruction.types().collect();
    let ([d_type, a_type, b_type, c_type, scale], [d, a, b, c, rest @ ..]) =
        (types.as_slice(), instruction.operands.as_slice())
    else {
        return Err(unknown(cx, instruction));
    };
    let Some((metadata, [scale_a, select_a, scale_b, select_b])) = rest.split_last_chunk() else {
        return Err(unknown(cx, instruction));
    };
    let sparse = instruction.has(Word::SpOrderedMetadata);
    let kind = kind_in(instruction, *a_type).ok_or_else(|| unknown(cx, instruction))?;
    let opcode = if kind == Kind::Float4 { Sass::OMMA } else { Sass::QMMA_SF };
    let mut fields = vec![
        Field::MMA_SP.is(sparse),
        Field::QMMA_SHAPE.is(if sparse { QmmaShape::M16N8K64 } else { QmmaShape::M16N8K32 }),
        Field::FLOAT_A.is(float_type(*a_type)),
        Field::FLOAT_B.is(float_type(*b_type)),
        Field::SCALE_TYPE.is(if *scale == ScalarType::Ue4m3 { ScaleType::UE4M3 } else { ScaleType::E8 }),
        Field::SCALE_SIZE.is(if instruction.has(Word::ScaleVec4X) { ScaleSize::X4 } else { ScaleSize::X2 }),
    ];
    fields.retain(|setting| opcode.has_field(setting.field()));
    let roles = [A, B, C, D, ScaleA, ScaleB];
    let mods = fields.into_iter().collect();
    let urz = (ScaleIds, Operand::urz());
    let inst = fragment::form_with(cx, opcode, mods, &roles, &[urz]);
    let mut inst = inst.ok_or_else(|| unknown(cx, instruction))?;
    let [a_words, b_words, c_words] = WORDS;
    let a = fragment::words(cx, a, *a_type, a_words)?;
    let b = fragment::words(cx, b, *b_type, if sparse { 2 * b_words } else { b_words })?;
    let c = fragment::words(cx, c, *c_type, c_words)?;
    let (scale_a, scale_b) = (sources::src(cx, scale_a.single())?, sources::src(cx, scale_b.single())?);
    let mut first_scales = vec![scale_a];
    if let Some(sparsity) = sparsity_of(cx, instruction, metadata)? {
        first_scales.insert(0, sparsity.metadata);
        inst.set_role(MetaId, Operand::imm(sparsity.selector));
    }
    let scale_b = ops::in_reg(cx, scale_b)?;
    let (sum, words) = fragment::fresh(cx, c_words)?;
    let operands = [
        (A, fragment::together(cx, &a)?),
        (B, fragment::together(cx, &b)?),
        (C, fragment::together(cx, &c)?),
        (D, sum),
        (PA, Operand::upt()),
        (ScaleA, fragment::together(cx, &first_scales)?),
        (ScaleB, scale_b),
    ];
    for (role, operand) in operands {
        inst.set_role(role, operand);
    }
    let selectors = selectors(cx, instruction, select_a, select_b)?;
    issue(cx, inst, selectors, &words)?;
    fragment::deliver(cx, d, *d_type, &words)
}

/// Emits the product. Where threads may differ in the selectors, each value of them is for the threads that have it.
fn issue(cx: &mut FnLower<'_, '_>, mut inst: Inst, selectors: Operand, results: &[Operand]) -> Lowered {
    if let Some(selectors) = constant(selectors) {
        let ids = Operand::reg(cx.temp_of(RegType::Ur)?);
        cx.emit(Sass::UMOV, &[], &[(D, ids), (B, Operand::imm(selectors))])?;
        inst.set_role(ScaleIds, ids);
        cx.emit_inst(inst)?;
        return Ok(());
    }
    cx.guard_by_branch()?;
    for word in results {
        cx.append(Inst::undef(*word))?;
    }
    by_value(cx, &[selectors], |cx, ids, guard| {
        inst.set_role(ScaleIds, ids);
        cx.emit_inst(inst.guarded(guard))?;
        Ok(())
    })
}

/// The selectors of both scales in one word.
fn selectors(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    a: &ast::Operand,
    b: &ast::Operand,
) -> Lowered<Operand> {
    let (mut constant, mut variable) = (0, Operand::rz());
    let places = places_of_selectors(instruction);
    for (operand, (at, mask)) in a.elements().iter().chain(b.elements()).zip(places) {
        if let Some(value) = operand.imm().and_then(|imm| imm.int_bits()) {
            constant |= (value as u32 & mask) << at;
            continue;
        }
        let value = sources::src(cx, operand)?;
        let value = word_ops::logic(cx, lut::AND, value, Operand::imm(mask))?;
        let placed = cx.temp()?;
        word_ops::imad(cx, placed, value, Operand::imm(1 << at), variable)?;
        variable = placed;
    }
    if variable.is_zero() { Ok(Operand::imm(constant)) } else { word_ops::sum(cx, variable, Operand::imm(constant)) }
}
