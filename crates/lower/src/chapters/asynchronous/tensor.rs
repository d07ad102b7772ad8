//! `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`: copies of boxes of tensors by the copy engine.

use crate::chapters::asynchronous::bulk::{Rest, finish};
use crate::chapters::asynchronous::{in_halves, needs_clusters, shared_word, wide_words};
use crate::error::Lowered;
use crate::function::FnLower;
use crate::function::uniform::{one_by_one, uniform};
use crate::handler::unknown;
use oriole_isa::Role::{A, Dst, Src};
use oriole_isa::{Field, Opcode as Sass, im2col, tensor_dim};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Address, Instruction, Space, Word};

/// Dimensions: the word, what SASS calls it, how many.
const DIMENSIONS: [(Word, u8, usize); 5] = [
    (Word::D1d, tensor_dim::D1, 1),
    (Word::D2d, tensor_dim::D2, 2),
    (Word::D3d, tensor_dim::D3, 3),
    (Word::D4d, tensor_dim::D4, 4),
    (Word::D5d, tensor_dim::D5, 5),
];

/// How the box is found, where it is not as it lies: the word, what SASS calls it.
const MODES: [(Word, u8); 6] = [
    (Word::Im2col, im2col::ON),
    (Word::Im2colNoOffs, im2col::ON),
    (Word::Im2colW, im2col::W),
    (Word::Im2colW128, im2col::W128),
    (Word::TileGather4, im2col::GATHER4),
    (Word::TileScatter4, im2col::SCATTER4),
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

/// `cp{.reduce}.async.bulk{.prefetch}.tensor.dim…`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    cx.guard_by_branch()?;
    let way = match () {
        () if instruction.has(Word::Prefetch) => Way::Prefetch,
        () if instruction.space() == Some(Space::Global) => Way::Store,
        () => Way::Load,
    };
    // The tensor comes second in loads; in stores the shared address does.
    let (tensor_at, after) = match way {
        Way::Load => (1, 2),
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
    let mut inst = engine_inst(cx, instruction, way)?;
    box_words.extend(coordinates(cx, instruction, tensor)?);
    let has_offsets = [Word::Im2col, Word::Im2colW, Word::Im2colW128].iter().any(|word| instruction.has(*word));
    let offsets = rest.next_if(cx, instruction, has_offsets)?;
    let offsets = offsets.map(|offsets| offset_word(cx, instruction, offsets)).transpose()?;
    let mask = rest.multicast(cx, instruction)?;
    let extra = match (offsets, mask) {
        (None, None) => None,
        (offsets, mask) => Some(in_halves(cx, offsets.unwrap_or(Operand::rz()), mask.unwrap_or(Operand::rz()))?),
    };
    let policy = rest.policy(cx, instruction)?;
    let map = wide_words(cx, None, tensor)?;
    if way == Way::Load {
        inst.mods.set(Field::Multicast, u8::from(mask.is_some()));
        if instruction.has(Word::CtaGroup2) {
            inst.mods.set(Field::CtaPair, 1);
        }
    }
    one_by_one(cx, |cx| {
        inst.set_role(Dst, uniform(cx, &box_words)?);
        inst.set_role(Src, uniform(cx, &map)?);
        if let Some(extra) = extra {
            inst.set_role(A, uniform(cx, &[extra])?);
        }
        finish(cx, inst, policy)
    })
}

/// The instruction without operands.
fn engine_inst(cx: &FnLower<'_, '_>, instruction: &Instruction, way: Way) -> Lowered<Inst> {
    let (_, dimensions, _) = dimensions(cx, instruction)?;
    let opcode = match way {
        Way::Load => Sass::UTMALDG,
        Way::Prefetch => Sass::UTMAPF,
        Way::Store if instruction.has(Word::Reduce) => Sass::UTMAREDG,
        Way::Store => Sass::UTMASTG,
    };
    let mode = mode(instruction);
    if !cx.has_with(opcode, Field::Im2col, mode) {
        return Err(unknown(cx, instruction));
    }
    let mut inst = Inst::neutral(opcode, [(Field::TensorDim, dimensions)].into_iter().collect());
    inst.mods.set(Field::Im2col, mode);
    if opcode == Sass::UTMAREDG {
        let (_, op) =
            crate::chapters::atomics::operation::operation(instruction).ok_or_else(|| unknown(cx, instruction))?;
        inst.mods.set(Field::AtomOp, op);
    }
    Ok(inst)
}

/// [`Field::Im2col`]
fn mode(instruction: &Instruction) -> u8 {
    MODES.iter().find(|(word, _)| instruction.has(*word)).map_or(im2col::OFF, |(_, mode)| *mode)
}

fn dimensions(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered<(Word, u8, usize)> {
    let found = DIMENSIONS.iter().find(|(word, ..)| instruction.has(*word));
    found.copied().ok_or_else(|| unknown(cx, instruction))
}

/// The coordinates in the tensor's brackets.
fn coordinates(cx: &mut FnLower<'_, '_>, instruction: &Instruction, tensor: &Address) -> Lowered<Vec<Operand>> {
    let (.., count) = dimensions(cx, instruction)?;
    let by_rows = matches!(mode(instruction), im2col::GATHER4 | im2col::SCATTER4);
    let count = if by_rows { ROWS } else { count };
    let elements: Vec<&ast::Operand> = tensor.rest.iter().flat_map(ast::Operand::elements).collect();
    if elements.len() != count {
        return Err(unknown(cx, instruction));
    }
    elements.into_iter().map(|element| cx.src(element)).collect()
}

/// The im2col offsets in the low half of one word.
fn offset_word(cx: &mut FnLower<'_, '_>, instruction: &Instruction, offsets: &ast::Operand) -> Lowered<Operand> {
    let elements = offsets.elements();
    let bits = match mode(instruction) {
        im2col::W | im2col::W128 => Some(&OFFSET_BITS_W),
        _ => OFFSET_BITS.get(elements.len()),
    };
    let bits = *bits.ok_or_else(|| unknown(cx, instruction))?;
    let mut word = Operand::rz();
    // The last one is the highest.
    for element in elements.iter().rev() {
        let offset = cx.src(element)?;
        let offset = cx.in_reg(offset)?;
        let scale = Operand::imm(1 << bits);
        let next = cx.temp()?;
        cx.multiply_add(next, word, scale, offset)?;
        word = next;
    }
    Ok(word)
}
