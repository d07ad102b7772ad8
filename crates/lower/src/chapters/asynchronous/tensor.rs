//! `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`: copies of boxes of tensors by the copy engine.

use crate::chapters::asynchronous::bulk::{self, Rest, finish};
use crate::chapters::asynchronous::tensor_override::Override;
use crate::chapters::asynchronous::{in_halves, needs_clusters, shared_word, wide_words};
use crate::error::Lowered;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, Dst, Src};
use oriole_isa::{Field, Im2col, Opcode as Sass, TensorDim};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Address, Instruction, Opcode, Space, Word};

/// Dimensions: the word, what SASS calls it, how many.
const DIMENSIONS: [(Word, TensorDim, usize); 5] = [
    (Word::D1d, TensorDim::D1, 1),
    (Word::D2d, TensorDim::D2, 2),
    (Word::D3d, TensorDim::D3, 3),
    (Word::D4d, TensorDim::D4, 4),
    (Word::D5d, TensorDim::D5, 5),
];

/// How the box is found, where it is not as it lies: the word, what SASS calls it.
const MODES: [(Word, Im2col); 7] = [
    (Word::Im2col, Im2col::ON),
    (Word::Im2colNoOffs, Im2col::ON),
    (Word::Im2colNoOffsW, Im2col::W),
    (Word::Im2colW, Im2col::W),
    (Word::Im2colW128, Im2col::W128),
    (Word::TileGather4, Im2col::GATHER4),
    (Word::TileScatter4, Im2col::SCATTER4),
];

/// Bits of each im2col offset in their word, by how many there are.
const OFFSET_BITS: [u32; 4] = [0, 16, 8, 5];
/// The same for the two offsets along W.
const OFFSET_BITS_W: u32 = 11;
/// Coordinates of four rows: their common column, and one for each.
const ROWS: usize = 5;

/// Which way the copy goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Load,
    Store,
    Prefetch,
}

/// `cp{.reduce}.async.bulk{.prefetch}.tensor.dim…`, `applypriority.async.bulk.tensor.dim…`, `fabric.try_….async.tensor.dim…`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    cx.guard_by_branch()?;
    let way = match () {
        () if instruction.has(Word::Prefetch) || instruction.opcode == Opcode::Applypriority => Way::Prefetch,
        () if instruction.space() == Some(Space::Global) => Way::Store,
        () if instruction.opcode == Opcode::Fabric && !instruction.has(Word::TryGet) => Way::Store,
        () => Way::Load,
    };
    // The tensor comes second in loads; in stores the shared address does.
    let (tensor_at, after) = match way {
        Way::Load => (1, 2),
        // Size and mbarrier stand behind.
        Way::Store if instruction.opcode == Opcode::Fabric => (0, 4),
        Way::Store => (0, 2),
        Way::Prefetch => (0, 1),
    };
    let tensor = crate::chapters::asynchronous::address_of(cx, instruction, tensor_at)?;
    let mut rest = Rest::from(instruction, after);
    let mut box_words = match way {
        Way::Prefetch => Vec::new(),
        _ => vec![shared_word(
            cx,
            Some(Space::Shared),
            crate::chapters::asynchronous::address_of(cx, instruction, 1 - tensor_at)?,
        )?],
    };
    if way == Way::Load {
        box_words.push(rest.mbarrier(cx, instruction)?);
    }
    let replaced = Override::of(cx, instruction, tensor)?;
    let mut inst = engine_inst(cx, instruction, way, &replaced)?;
    match &replaced.shape {
        Some(shape) => box_words.extend(&shape.sizes),
        None => box_words.extend(coordinates(cx, instruction, tensor)?),
    }
    let has_offsets = [Word::Im2col, Word::Im2colW, Word::Im2colW128].iter().any(|word| instruction.has(*word));
    let offsets = rest.next_if(cx, instruction, has_offsets)?;
    let offsets = offsets.map(|offsets| offset_word(cx, instruction, offsets)).transpose()?;
    let blocks = rest.multicast(cx, instruction)?;
    let mut extra: Vec<Operand> = match (offsets, blocks.narrow()) {
        (None, None) => Vec::new(),
        (Some(offsets), None) if blocks.wide().is_some() => vec![offsets],
        (offsets, mask) => vec![in_halves(cx, offsets.unwrap_or(Operand::rz()), mask.unwrap_or(Operand::rz()))?],
    };
    extra.extend(replaced.shape.iter().flat_map(|shape| &shape.strides));
    extra.extend(blocks.wide());
    let policy = rest.policy(cx, instruction)?;
    let mut map = wide_words(cx, None, tensor)?.to_vec();
    map.extend(replaced.address);
    if way == Way::Load {
        if replaced.shape.is_none() {
            inst.mods.set(Field::MULTICAST, blocks.narrow().is_some());
        }
        blocks.mark_wide(&mut inst);
        bulk::mark_validity(instruction, &mut inst);
        if instruction.has(Word::CtaGroup2) {
            inst.mods.set(Field::CTA_PAIR, true);
        }
    }
    one_by_one(cx, |cx| {
        inst.set_role(Dst, uniform(cx, &box_words)?);
        inst.set_role(Src, uniform(cx, &map)?);
        if !extra.is_empty() {
            inst.set_role(A, uniform(cx, &extra)?);
        }
        finish(cx, inst, policy)
    })
}

/// The instruction without operands.
fn engine_inst(cx: &FnLower<'_, '_>, instruction: &Instruction, way: Way, replaced: &Override) -> Lowered<Inst> {
    let (_, dimensions, _) = dimensions(cx, instruction)?;
    let [plain, reshaped] = match way {
        Way::Load => [Sass::UTMALDG, Sass::UTMALDG_RESHAPED],
        Way::Prefetch => [Sass::UTMAPF, Sass::UTMAPF_RESHAPED],
        Way::Store if instruction.has(Word::Reduce) || instruction.has(Word::TryRed) => {
            [Sass::UTMAREDG, Sass::UTMAREDG_RESHAPED]
        }
        Way::Store => [Sass::UTMASTG, Sass::UTMASTG_RESHAPED],
    };
    let opcode = if replaced.shape.is_some() { reshaped } else { plain };
    let mode = mode(instruction);
    let mut inst = Inst::neutral(opcode, [Field::TENSOR_DIM.is(dimensions)].into_iter().collect());
    if replaced.shape.is_none() {
        if !cx.has_with(opcode, Field::IM2COL.is(mode)) {
            return Err(unknown(cx, instruction));
        }
        inst.mods.set(Field::IM2COL, mode);
        if !replaced.address.is_empty() {
            inst.mods.set(Field::TENSOR_ADDRESS, true);
        }
    }
    if instruction.has(Word::CountedBytes) {
        inst.mods.set(Field::COUNTED, true);
    }
    if let Some(control) = super::l2_control(cx, opcode, instruction)? {
        inst.mods.apply(control);
    }
    if instruction.has(Word::Reduce) || instruction.has(Word::TryRed) {
        let (_, op) =
            crate::chapters::atomics::operation::operation(instruction).ok_or_else(|| unknown(cx, instruction))?;
        inst.mods.set(Field::ATOM_OP, op);
    }
    Ok(inst)
}

/// [`Field::IM2COL`]
fn mode(instruction: &Instruction) -> Im2col {
    MODES.iter().find(|(word, _)| instruction.has(*word)).map_or(Im2col::OFF, |(_, mode)| *mode)
}

pub(super) fn dimensions(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered<(Word, TensorDim, usize)> {
    let found = DIMENSIONS.iter().find(|(word, ..)| instruction.has(*word));
    found.copied().ok_or_else(|| unknown(cx, instruction))
}

/// The coordinates in the tensor's brackets.
fn coordinates(cx: &mut FnLower<'_, '_>, instruction: &Instruction, tensor: &Address) -> Lowered<Vec<Operand>> {
    let (.., count) = dimensions(cx, instruction)?;
    let by_rows = matches!(mode(instruction), Im2col::GATHER4 | Im2col::SCATTER4);
    let count = if by_rows { ROWS } else { count };
    let elements = tensor.rest.last().map(ast::Operand::elements).unwrap_or_default();
    if elements.len() != count {
        return Err(unknown(cx, instruction));
    }
    elements.iter().map(|element| sources::src(cx, element)).collect()
}

/// The im2col offsets in the low half of one word.
fn offset_word(cx: &mut FnLower<'_, '_>, instruction: &Instruction, offsets: &ast::Operand) -> Lowered<Operand> {
    let elements = offsets.elements();
    let bits = match mode(instruction) {
        Im2col::W | Im2col::W128 => Some(&OFFSET_BITS_W),
        _ => OFFSET_BITS.get(elements.len()),
    };
    let bits = *bits.ok_or_else(|| unknown(cx, instruction))?;
    let mut word = Operand::rz();
    // The last one is the highest.
    for element in elements.iter().rev() {
        let offset = sources::src(cx, element)?;
        let offset = ops::in_reg(cx, offset)?;
        let scale = Operand::imm(1 << bits);
        let next = cx.temp()?;
        ops::multiply_add(cx, next, word, scale, offset)?;
        word = next;
    }
    Ok(word)
}
