//! `fabric`: copies to and from other devices' memory. A handle is an endpoint and an offset; as ptxas 13.5.37 has it, they make
//! an address of global memory, and the copy engine does the rest.

use crate::chapters::asynchronous::bulk::{self, Rest};
use crate::chapters::asynchronous::{
    address_of, fabric_threads, groups_left, mbarrier, shared_word, tensor, wait_for_groups,
};
use crate::error::Lowered;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, operands, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, Dst, Size, Src};
use oriole_isa::{CopyDst, CopySrc, Field, Mem, Opcode as Sass};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, AddressBase, Instruction, Space, Word};

/// The upper word of an address of the fabric: endpoints are this far apart, from there on.
const ENDPOINT_SIZE: u32 = 1 << 10;
const ENDPOINTS: u32 = 0x20_0000;

/// `fabric…`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    match () {
        () if instruction.has(Word::Submit) => submit(cx, instruction),
        () if instruction.has(Word::Wait) => wait(cx, instruction),
        () if instruction.has(Word::TryAtom) => fabric_threads::atom(cx, instruction),
        () if instruction.has(Word::TryPullred) => fabric_threads::pull(cx, instruction),
        () if instruction.has(Word::Tensor) => boxes(cx, instruction),
        // What no copy engine reaches the fabric from, stops.
        () if !cx.has_with(Sass::UBLKCP, Field::COUNTED.is(true)) => {
            cx.emit(Sass::BPT, &[], &[(A, Operand::imm(1))]).map(|_| ())
        }
        () if instruction.has(Word::TryGet) => get(cx, instruction),
        () => put(cx, instruction),
    }
}

/// `fabric.submit{.op_restrict::fetching|.commit_group};`: operations that fetch are under way already.
fn submit(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::OpRestrictFetching) {
        return Ok(());
    }
    cx.guard_by_branch()?;
    cx.emit(Sass::UTMACMDFLUSH, &[], &[])?;
    if instruction.has(Word::CommitGroup) { Ok(()) } else { wait_for_groups(cx, 0) }
}

/// `fabric.wait.sync_restrict::read{s} {n};`: a submission without groups has waited already.
fn wait(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.operands.is_empty() {
        return Ok(());
    }
    let left = groups_left(cx, instruction)?;
    wait_for_groups(cx, left)
}

/// The words of the addresses that a handle stands for: of the data, and of the counter if it has one.
pub(crate) fn handle(cx: &mut FnLower<'_, '_>, instruction: &Instruction, n: usize) -> Lowered<Vec<Operand>> {
    let address = address_of(cx, instruction, n)?;
    let AddressBase::Name(endpoint) = address.base else { return Err(unknown(cx, instruction)) };
    handle_words(cx, &ast::Operand::Name(endpoint), &address.rest)
}

/// The same of an endpoint and offsets.
pub(crate) fn handle_words(
    cx: &mut FnLower<'_, '_>,
    endpoint: &ast::Operand,
    offsets: &[ast::Operand],
) -> Lowered<Vec<Operand>> {
    let endpoint = sources::src(cx, endpoint)?;
    let base = cx.temp()?;
    ops::multiply_add(cx, base, endpoint, Operand::imm(ENDPOINT_SIZE), Operand::imm(ENDPOINTS))?;
    let mut words = Vec::new();
    for offset in offsets {
        let offset = sources::src64(cx, offset)?;
        let high = cx.temp()?;
        ops::add(cx, high, base, offset.hi)?;
        words.extend([offset.lo, high]);
    }
    Ok(words)
}

/// `fabric.try_….async.tensor…`: the mbarrier counts the units that go out, when they are under way.
fn boxes(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    tensor::lower(cx, instruction)?;
    if instruction.has(Word::TryGet) {
        return Ok(());
    }
    let bytes = sources::src(cx, operands::operand(instruction, 2)?)?;
    let units = bulk::units(cx, bytes)?;
    let counted = ops::in_reg(cx, units)?;
    mbarrier::syncs::complete(cx, instruction, 3, counted)
}

/// `fabric.try_get.async… [dst], [endpoint, offset], size, [mbar]{, policy};`
fn get(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let to = shared_word(cx, Some(Space::Shared), address_of(cx, instruction, 0)?)?;
    let from = handle(cx, instruction, 1)?;
    let bytes = sources::src(cx, operands::operand(instruction, 2)?)?;
    let mut rest = Rest::from(instruction, 3);
    let to = [to, rest.mbarrier(cx, instruction)?];
    let policy = rest.policy(cx, instruction)?;
    let size = bulk::size_word(cx, bytes, None)?;
    let mut inst = bulk::engine_inst(cx, instruction)?;
    inst.mods.set(Field::MEM, Mem::STRONG_SYS);
    inst.mods.set(Field::COPY_DST, CopyDst::S);
    inst.mods.set(Field::COPY_SRC, CopySrc::G);
    one_by_one(cx, |cx| {
        inst.set_role(Dst, uniform(cx, &to)?);
        inst.set_role(Src, uniform(cx, &from)?);
        inst.set_role(Size, uniform(cx, &[size])?);
        bulk::finish(cx, inst, policy)
    })
}

/// `fabric.try_put.async… [endpoint, offset{, counter}], [src], size, [mbar]{, mask}{, policy};`, and `fabric.try_red.async`: the
/// mbarrier counts the units when they are under way.
fn put(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let to = handle(cx, instruction, 0)?;
    let from = shared_word(cx, Some(Space::Shared), address_of(cx, instruction, 1)?)?;
    let bytes = sources::src(cx, operands::operand(instruction, 2)?)?;
    let units = bulk::units(cx, bytes)?;
    let counted = ops::in_reg(cx, units)?;
    mbarrier::syncs::complete(cx, instruction, 3, counted)?;
    let mut rest = Rest::from(instruction, 4);
    let mask = rest.byte_mask(cx, instruction)?;
    let policy = rest.policy(cx, instruction)?;
    let size = bulk::size_word(cx, bytes, mask)?;
    let mut inst = bulk::engine_inst(cx, instruction)?;
    inst.mods.set(Field::MEM, Mem::STRONG_SYS);
    inst.mods.set(Field::COPY_DST, CopyDst::G);
    inst.mods.set(Field::COUNTED, instruction.has(Word::CountedBytes));
    if inst.opcode == Sass::UBLKCP {
        inst.mods.set(Field::COPY_SRC, CopySrc::S);
        inst.mods.set(Field::BYTE_MASK, mask.is_some());
    }
    one_by_one(cx, |cx| {
        inst.set_role(Dst, uniform(cx, &to)?);
        inst.set_role(Src, uniform(cx, &[from])?);
        inst.set_role(Size, uniform(cx, &[size])?);
        bulk::finish(cx, inst, policy)
    })
}
