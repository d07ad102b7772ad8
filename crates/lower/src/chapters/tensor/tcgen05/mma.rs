//! `tcgen05.mma`: products that one thread starts, of matrices in shared and in tensor memory.

use crate::chapters::tensor::tcgen05::{pair_of, tensor_address};
use crate::chapters::tensor::warpgroup;
use crate::error::Lowered;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, Dst, Mask, Meta, PA, Scale, Shift};
use oriole_isa::{ASpace, BBuffer, Field, Opcode as Sass, ScaleVec};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Instruction, Word};

/// Kinds of elements and their instruction.
const KINDS: [(Word, Sass); 8] = [
    (Word::KindF16, Sass::UTCHMMA),
    (Word::KindTf32, Sass::UTCHMMA),
    (Word::KindTi16, Sass::UTCHMMA),
    (Word::KindI8, Sass::UTCIMMA),
    (Word::KindF8f6f4, Sass::UTCQMMA),
    (Word::KindMxf8f6f4, Sass::UTCQMMA),
    (Word::KindMxf4, Sass::UTCOMMA),
    (Word::KindMxf4nvf4, Sass::UTCOMMA),
];

/// What happens to a kept matrix: the word, whether an earlier product's is taken, whether it is kept for later ones.
type Kept = (Word, bool, bool);

const OF_A: [Kept; 3] =
    [(Word::CollectorAFill, false, true), (Word::CollectorAUse, true, true), (Word::CollectorALastuse, true, false)];

/// The same for each buffer of B; also what is not kept goes through the buffer that is named.
const OF_B: [(BBuffer, [Kept; 4]); 5] = {
    use Word::*;
    const fn kept(words: [Word; 4]) -> [Kept; 4] {
        let [discard, fill, last, again] = words;
        [(discard, false, false), (fill, false, true), (last, true, false), (again, true, true)]
    }
    [
        (BBuffer::BUFFER0, kept([CollectorBDiscard, CollectorBFill, CollectorBLastuse, CollectorBUse])),
        (BBuffer::BUFFER0, kept([CollectorB0Discard, CollectorB0Fill, CollectorB0Lastuse, CollectorB0Use])),
        (BBuffer::BUFFER1, kept([CollectorB1Discard, CollectorB1Fill, CollectorB1Lastuse, CollectorB1Use])),
        (BBuffer::BUFFER2, kept([CollectorB2Discard, CollectorB2Fill, CollectorB2Lastuse, CollectorB2Use])),
        (BBuffer::BUFFER3, kept([CollectorB3Discard, CollectorB3Fill, CollectorB3Lastuse, CollectorB3Use])),
    ]
};

/// Operands as words, to be moved to uniform registers.
struct Operands<'i> {
    d: Operand,
    a: Vec<Operand>,
    b: [Operand; 2],
    /// The address of what describes a sparse A, or of the table of B, and the description of shapes and types.
    meta: [Operand; 2],
    scales: Option<[Operand; 2]>,
    /// Lanes of the result that stay, or columns of B that are zero; empty where there are none.
    mask: Vec<Operand>,
    /// Whether the product is added to what is there.
    adds: &'i ast::Operand,
    /// What is there counts times two to the minus this.
    shift: Option<Operand>,
}

/// `tcgen05.mma{.ws}{.sp}.cta_group.kind{.block_scale…}{.ashift}{.collector…} [d], a, b{, [meta] | [table]}, idesc{, [scale-a],
/// [scale-b]}{, mask}, adds{, shift | zero-columns};`
pub(in crate::chapters::tensor) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let operands = operands(cx, instruction)?;
    let mut inst = instruction_of(cx, instruction, &operands)?;
    one_by_one(cx, |cx| {
        inst.set_role(PA, warpgroup::kept(cx, Some(operands.adds))?);
        inst.set_role(Dst, uniform(cx, &[operands.d])?);
        inst.set_role(A, uniform(cx, &operands.a)?);
        inst.set_role(B, uniform(cx, &operands.b)?);
        inst.set_role(Meta, uniform(cx, &operands.meta)?);
        if let Some(scales) = operands.scales {
            inst.set_role(Scale, uniform(cx, &scales)?);
        }
        if !operands.mask.is_empty() {
            inst.set_role(Mask, uniform(cx, &operands.mask)?);
        }
        if let Some(shift) = operands.shift {
            inst.set_role(Shift, shift);
        }
        cx.emit_inst(inst)?;
        Ok(())
    })
}

/// The address in brackets of an operand, in tensor memory.
fn address(cx: &mut FnLower<'_, '_>, instruction: &Instruction, operand: Option<&ast::Operand>) -> Lowered<Operand> {
    let found = operand.and_then(ast::Operand::address);
    tensor_address(cx, found.ok_or_else(|| unknown(cx, instruction))?)
}

fn operands<'i>(cx: &mut FnLower<'_, '_>, instruction: &'i Instruction) -> Lowered<Operands<'i>> {
    let [d, a, b, rest @ ..] = instruction.operands.as_slice() else { return Err(unknown(cx, instruction)) };
    let mut rest = rest.iter();
    let d = address(cx, instruction, Some(d))?;
    let a = match a.address() {
        Some(_) => vec![address(cx, instruction, Some(a))?],
        None => {
            let a = sources::src64(cx, a)?;
            vec![a.lo, a.hi]
        }
    };
    let b = sources::src64(cx, b)?;
    let described = instruction.has(Word::Sp) || instruction.has(Word::DecompressLutB);
    let meta = if described { address(cx, instruction, rest.next())? } else { Operand::rz() };
    let description = sources::src(cx, rest.next().ok_or_else(|| unknown(cx, instruction))?)?;
    let scales = match instruction.has(Word::BlockScale) {
        true => Some([address(cx, instruction, rest.next())?, address(cx, instruction, rest.next())?]),
        false => None,
    };
    let mut next = rest.next().ok_or_else(|| unknown(cx, instruction))?;
    let mut mask = Vec::new();
    if let ast::Operand::Vector(words, _) = next {
        for word in words {
            mask.push(sources::src(cx, word)?);
        }
        next = rest.next().ok_or_else(|| unknown(cx, instruction))?;
    }
    let mut shift = None;
    match rest.next() {
        Some(columns) if instruction.has(Word::Ws) => {
            let columns = sources::src64(cx, columns)?;
            mask = vec![columns.lo, columns.hi];
        }
        Some(amount) => {
            let bits = amount.imm().and_then(|imm| imm.int_bits()).filter(|bits| *bits < 16);
            shift = Some(Operand::imm(bits.ok_or_else(|| unknown(cx, instruction))? as u32));
        }
        None => {}
    }
    Ok(Operands { d, a, b: [b.lo, b.hi], meta: [meta, description], scales, mask, adds: next, shift })
}

/// The instruction without operands.
fn instruction_of(cx: &FnLower<'_, '_>, instruction: &Instruction, operands: &Operands<'_>) -> Lowered<Inst> {
    let kind = KINDS.iter().find(|(word, _)| instruction.has(*word));
    let opcode = kind.ok_or_else(|| unknown(cx, instruction))?.1;
    let in_tensor_memory = operands.a.len() == 1;
    let of_a = OF_A.iter().find(|(word, ..)| instruction.has(*word)).copied();
    let of_b = OF_B.iter().flat_map(|(buffer, words)| words.iter().map(move |kept| (*buffer, *kept)));
    let of_b = of_b.into_iter().find(|(_, (word, ..))| instruction.has(*word));
    let four = instruction.has(Word::ScaleVec4X) || instruction.has(Word::Block16);
    let fields = [
        pair_of(instruction),
        Field::WS.is(instruction.has(Word::Ws)),
        Field::ASHIFT.is(instruction.has(Word::Ashift)),
        Field::A_SPACE.is(if in_tensor_memory { ASpace::TMEM } else { ASpace::DESC }),
        Field::A_REUSE.is(of_a.is_some_and(|(_, reused, _)| reused)),
        Field::A_KEEP.is(of_a.is_some_and(|(.., kept)| kept)),
        Field::B_REUSE.is(of_b.is_some_and(|(_, (_, reused, _))| reused)),
        Field::B_KEEP.is(of_b.is_some_and(|(_, (.., kept))| kept)),
        Field::B_BUFFER.is(of_b.map_or(BBuffer::BUFFER0, |(buffer, _)| buffer)),
        Field::SCALE_VEC.is(if four { ScaleVec::X4 } else { ScaleVec::X2 }),
    ];
    let table = instruction.has(Word::DecompressLutB).then_some(Field::LUTB.is(true));
    let mods = fields.into_iter().chain(table).filter(|setting| opcode.has_field(setting.field())).collect();
    Ok(Inst::neutral(opcode, mods))
}
