//! `tcgen05`: the tensor memory of sm_100 and the products that it takes part in.
//!
//! | module | subject |
//! |---|---|
//! | `allocation` | `tcgen05.alloc`, `.dealloc`, `.relinquish_alloc_permit` |
//! | `access` | `tcgen05.ld`, `tcgen05.st` and their waits |
//! | `mma` | `tcgen05.mma` of all kinds |
//!
//! Here: copies from shared memory, shifts, the arrival of what was started at an mbarrier.

pub(crate) mod access;
pub(crate) mod allocation;
pub(crate) mod mma;

use crate::chapters::asynchronous::{address_of, shared_word};
use crate::error::Lowered;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, operands, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, Mask, Src, UBase};
use oriole_isa::{CpShape, CpUnpack, Field, Opcode as Sass, Setting};
use oriole_ori::Operand;
use oriole_ptx::ast::{Address, Instruction, ScalarType, Space, Word};

/// `tcgen05…`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !cx.has(Sass::LDTM) {
        return Err(unknown(cx, instruction));
    }
    note_use(cx, instruction);
    match () {
        () if instruction.has(Word::Alloc) => allocation::allocate(cx, instruction),
        () if instruction.has(Word::Dealloc) => allocation::give_back(cx, instruction),
        () if instruction.has(Word::RelinquishAllocPermit) => allocation::relinquish(cx, instruction),
        () if instruction.has(Word::Mma) => mma::lower(cx, instruction),
        () if instruction.has(Word::Ld) => access::load(cx, instruction),
        () if instruction.has(Word::St) => access::store(cx, instruction),
        () if instruction.has(Word::WaitLd) => access::wait_for_loads(cx),
        () if instruction.has(Word::WaitSt) => access::wait_for_stores(cx),
        () if instruction.has(Word::Cp) => copy(cx, instruction),
        () if instruction.has(Word::Shift) => shift(cx, instruction),
        () if instruction.has(Word::Commit) => commit(cx, instruction),
        // What was started before a barrier among threads stays before it: instructions with effects keep their order.
        () if instruction.has(Word::FenceBeforeThreadSync) || instruction.has(Word::FenceAfterThreadSync) => Ok(()),
        () => Err(unknown(cx, instruction)),
    }
}

/// Notes in the function's attributes what the driver has to know of its tensor memory.
fn note_use(cx: &mut FnLower<'_, '_>, instruction: &Instruction) {
    /// They access no tensor memory.
    const ORDERING: [Word; 4] = [Word::WaitLd, Word::WaitSt, Word::FenceBeforeThreadSync, Word::FenceAfterThreadSync];
    let groups = [(Word::CtaGroup1, 1), (Word::CtaGroup2, 2)];
    let blocks = groups.iter().find(|(word, _)| instruction.has(*word)).map(|(_, blocks)| *blocks);
    let attributes = cx.func.attributes_mut();
    attributes.tensor_memory |=
        !ORDERING.iter().chain(&[Word::RelinquishAllocPermit]).any(|word| instruction.has(*word));
    attributes.tensor_blocks = attributes.tensor_blocks.max(blocks);
}

/// An address in tensor memory: a register, and what is added.
fn tensor_address(cx: &mut FnLower<'_, '_>, address: &Address) -> Lowered<Operand> {
    shared_word(cx, Some(Space::Shared), address)
}

/// [`Field::CTA_PAIR`]
fn pair_of(instruction: &Instruction) -> Setting {
    Field::CTA_PAIR.is(instruction.has(Word::CtaGroup2))
}

/// Shapes of copies.
const SHAPES: [(Word, CpShape); 6] = [
    (Word::D128x256b, CpShape::DP128B256),
    (Word::D4x256b, CpShape::DP4B256),
    (Word::D128x128b, CpShape::DP128B128),
    (Word::Warpx202_13, CpShape::DP64_02_13),
    (Word::Warpx201_23, CpShape::DP64_01_23),
    (Word::Warpx4, CpShape::DP32),
];

/// `tcgen05.cp.cta_group.shape{.multicast}{.b8x16.packed} [taddr], descriptor;`
fn copy(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let shape = SHAPES.iter().find(|(word, _)| instruction.has(*word)).ok_or_else(|| unknown(cx, instruction))?.1;
    let packed = match instruction.last_type() {
        None => CpUnpack::NONE,
        Some(ScalarType::B4x16P64) => CpUnpack::U4X16P64,
        Some(ScalarType::B6x16P32) => CpUnpack::U6X16P32,
        Some(_) => return Err(unknown(cx, instruction)),
    };
    let to = tensor_address(cx, address_of(cx, instruction, 0)?)?;
    let from = sources::src64(cx, operands::operand(instruction, 1)?)?;
    let mods = [pair_of(instruction), Field::CP_SHAPE.is(shape), Field::CP_UNPACK.is(packed)];
    one_by_one(cx, |cx| {
        let (to, from) = (uniform(cx, &[to])?, uniform(cx, &[from.lo, from.hi])?);
        cx.emit(Sass::UTCCP, &mods, &[(UBase, to), (Src, from)])?;
        Ok(())
    })
}

/// `tcgen05.shift.cta_group.down [taddr];`
fn shift(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let at = tensor_address(cx, address_of(cx, instruction, 0)?)?;
    one_by_one(cx, |cx| {
        let at = uniform(cx, &[at])?;
        cx.emit(Sass::UTCSHIFT, &[pair_of(instruction)], &[(UBase, at)])?;
        Ok(())
    })
}

/// `tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [mbar]{, mask};`
fn commit(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let mbarrier = shared_word(cx, instruction.space(), address_of(cx, instruction, 0)?)?;
    let multicast = instruction.has(Word::MulticastCluster) || instruction.has(Word::MulticastCluster32b);
    let blocks = match multicast {
        true => Some(sources::src(cx, operands::operand(instruction, 1)?)?),
        false => None,
    };
    let mut mods = vec![pair_of(instruction), Field::MULTICAST.is(multicast)];
    mods.extend(instruction.has(Word::SyncRestrictSharedReadMmaA).then_some(Field::BAR_A.is(true)));
    one_by_one(cx, |cx| {
        let at = uniform(cx, &[mbarrier])?;
        let blocks = blocks.map(|blocks| uniform(cx, &[blocks])).transpose()?.unwrap_or(Operand::urz());
        cx.emit(Sass::UTCBAR, &mods, &[(UBase, at), (A, Operand::urz()), (Mask, blocks)])?;
        Ok(())
    })
}
