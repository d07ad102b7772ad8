//! Vectors with structured sparsity: `spcompress`, `spdecompress`.

use crate::chapters::tensor::fragment;
use crate::error::Lowered;
use crate::function::uniform::uniform;
use crate::function::{FnLower, operands, sources};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{A, B, D, D2, Desc};
use oriole_isa::{Field, Opcode as Sass, Setting, SpGroup, SpIndex, SpKept, SpNum, SpSize};
use oriole_ptx::ast::{Instruction, Opcode as Ptx, ScalarType, Sparsity, Word};

/// The opcodes of this file.
pub(crate) const CHAPTER: Chapter = &[(Ptx::Spcompress, compress), (Ptx::Spdecompress, decompress)];

/// `.xN`: how often.
const REPETITIONS: [(Word, SpNum); 7] = [
    (Word::X1, SpNum::X1),
    (Word::X2, SpNum::X2),
    (Word::X4, SpNum::X4),
    (Word::X8, SpNum::X8),
    (Word::X16, SpNum::X16),
    (Word::X32, SpNum::X32),
    (Word::X64, SpNum::X64),
];

/// What both instructions say of the vectors.
fn fields(inst: &Instruction, sparsity: Sparsity) -> Option<[Setting; 3]> {
    let size = if sparsity.element == 16 { SpSize::B16 } else { SpSize::B8 };
    let index = if sparsity.place == 4 { SpIndex::U4 } else { SpIndex::U2 };
    let (_, times) = REPETITIONS.into_iter().find(|(word, _)| inst.has(*word))?;
    Some([Field::SP_SIZE.is(size), Field::SP_INDEX.is(index), Field::SP_NUM.is(times)])
}

/// `spcompress.elemsize.idxsize.sp::2:4.num places, kept, data, descriptor;`
fn compress(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let sparsity = Sparsity::of(inst).filter(|_| cx.has(Sass::SPCOMPRESS)).ok_or_else(|| unknown(cx, inst))?;
    let fields = fields(inst, sparsity).ok_or_else(|| unknown(cx, inst))?;
    let data = fragment::words(cx, operands::operand(inst, 2)?, ScalarType::B32, sparsity.group_registers())?;
    let data = fragment::together(cx, &data)?;
    let descriptor = sources::src(cx, operands::operand(inst, 3)?)?;
    let descriptor = uniform(cx, &[descriptor])?;
    let (places, place_words) = fragment::fresh(cx, sparsity.place_registers())?;
    let (kept, kept_words) = fragment::fresh(cx, sparsity.kept_registers())?;
    cx.emit(Sass::SPCOMPRESS, &fields, &[(D2, places), (D, kept), (A, data), (Desc, descriptor)])?;
    fragment::deliver(cx, operands::operand(inst, 0)?, ScalarType::B32, &place_words)?;
    fragment::deliver(cx, operands::operand(inst, 1)?, ScalarType::B32, &kept_words)
}

/// `spdecompress.elemsize.idxsize.spfactor.num data, places, kept;`
fn decompress(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let sparsity = Sparsity::of(inst).filter(|_| cx.has(Sass::SPDECOMPRESS)).ok_or_else(|| unknown(cx, inst))?;
    let [size, index, times] = fields(inst, sparsity).ok_or_else(|| unknown(cx, inst))?;
    let kept_of = match sparsity.kept {
        1 => SpKept::N1,
        2 => SpKept::N2,
        _ => SpKept::N4,
    };
    let group = match sparsity.group {
        2 => SpGroup::M2,
        4 => SpGroup::M4,
        8 => SpGroup::M8,
        _ => SpGroup::M16,
    };
    let fields = [size, index, Field::SP_KEPT.is(kept_of), Field::SP_GROUP.is(group), times];
    let places = fragment::words(cx, operands::operand(inst, 1)?, ScalarType::B32, sparsity.place_registers())?;
    let kept = fragment::words(cx, operands::operand(inst, 2)?, ScalarType::B32, sparsity.kept_registers())?;
    let (places, kept) = (fragment::together(cx, &places)?, fragment::together(cx, &kept)?);
    let (data, words) = fragment::fresh(cx, sparsity.group_registers())?;
    cx.emit(Sass::SPDECOMPRESS, &fields, &[(D, data), (A, kept), (B, places)])?;
    fragment::deliver(cx, operands::operand(inst, 0)?, ScalarType::B32, &words)
}
