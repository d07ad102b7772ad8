//! Descriptions of tensors (`CUtensorMap`): `prefetch.tensormap`, `fence.proxy.tensormap`,
//! `tensormap.cp_fenceproxy`.

use crate::chapters::asynchronous::{needs_clusters, wide_words};
use crate::chapters::memory::address::Target;
use crate::chapters::memory::{address, fences, manner};
use crate::chapters::warp;
use crate::error::Lowered;
use crate::function::descriptor::descriptor;
use crate::function::operands::Wide;
use crate::function::uniform::{one_by_one, uniform};
use crate::function::{FnLower, bindings, generic, ops, sources, special};
use oriole_isa::Role::{Base, D, Data, Desc, Mask, Offset, Src};
use oriole_isa::{AtomOp, AtomType, Field, MemSize, MembarSem, Opcode as Sass, TmaCctl};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Address, AddressBase, Instruction, Scope, Semantics, Space, Word};

/// Every scoreboard of a warp.
const ALL_SCOREBOARDS: u32 = 0x3f;

/// `tensormap.cp_fenceproxy` and `tensormap.replace`.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::CpFenceproxy) {
        copy(cx, instruction)
    } else {
        crate::chapters::asynchronous::replace::lower(cx, instruction)
    }
}

/// `prefetch{.const|.param}.tensormap [a];`
pub(crate) fn prefetch(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    cx.guard_by_branch()?;
    let address = crate::chapters::asynchronous::address_of(cx, instruction, 0)?;
    let words = generic_words(cx, instruction.space(), address)?;
    cache_control(cx, TmaCctl::PF, words)
}

/// The generic address of an address in `space`.
fn generic_words(cx: &mut FnLower<'_, '_>, space: Option<Space>, address: &Address) -> Lowered<[Operand; 2]> {
    let (Some(space), AddressBase::Name(name)) = (space, address.base) else {
        return wide_words(cx, None, address);
    };
    let operand = ast::Operand::Name(name);
    let start = match bindings::declared_type(cx, &operand)? {
        Some(_) => {
            let inside = sources::src64(cx, &operand)?;
            generic::to_generic(cx, space, inside)?
        }
        None => generic::generic_address(cx, name)?,
    };
    if address.offset == 0 {
        return Ok([start.lo, start.hi]);
    }
    let sum = cx.temp64()?;
    ops::add64(cx, sum, start, Wide::of_bits(address.offset as u64))?;
    Ok([Operand::lo(sum), Operand::hi(sum)])
}

/// One UTMACCTL for every thread.
fn cache_control(cx: &mut FnLower<'_, '_>, op: TmaCctl, words: [Operand; 2]) -> Lowered {
    one_by_one(cx, |cx| {
        let source = uniform(cx, &words)?;
        cx.emit(Sass::UTMACCTL, &[Field::TMA_CCTL.is(op)], &[(Src, source)])?;
        Ok(())
    })
}

/// `fence.proxy.tensormap::generic.release.scope;` and `….acquire.scope [a], size;`
pub(crate) fn fence(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    let scope = instruction.scope().unwrap_or(Scope::Sys);
    if instruction.semantics() == Some(Semantics::Release) {
        // The copy engine reads through the L2 cache.
        return fences::fence(cx, MembarSem::ALL, if scope == Scope::Sys { scope } else { Scope::Gpu });
    }
    cx.guard_by_branch()?;
    let words = wide_words(cx, None, crate::chapters::asynchronous::address_of(cx, instruction, 0)?)?;
    cx.emit(Sass::DEPBAR, &[], &[(Mask, Operand::imm(ALL_SCOREBOARDS))])?;
    cache_control(cx, TmaCctl::IV, words)
}

/// `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [dst], [src], 128;`:
/// each lane exchanges its word of the 128 bytes.
fn copy(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    needs_clusters(cx, instruction)?;
    warp::converge_all(cx)?;
    let to = address::resolve(cx, Some(Space::Global), crate::chapters::asynchronous::address_of(cx, instruction, 0)?)?;
    let from = address::resolve_shared(
        cx,
        Some(Space::SharedCta),
        crate::chapters::asynchronous::address_of(cx, instruction, 1)?,
    )?;
    let lane = special::hardware_register(cx, "SR_LANEID")?;
    let distance = cx.temp()?;
    ops::multiply_add(cx, distance, lane, Operand::imm(4), Operand::rz())?;
    let place = cx.temp()?;
    ops::add(cx, place, from.base, distance)?;
    let word = cx.temp()?;
    let operands = [(D, word), (Base, place), (Offset, Operand::imm_signed(from.offset))];
    cx.emit(Sass::LDS, &[Field::MEM_SIZE.is(MemSize::B32)], &operands)?;
    let target = cx.temp64()?;
    let start = to.base.as_reg().map_or(Wide::of_bits(0), Wide::of_pair);
    ops::add64(cx, target, start, Wide::of_halves(distance, Operand::rz()))?;
    debug_assert_eq!(to.target, Target::Global);
    let mods = [Field::ATOM_OP.is(AtomOp::EXCH), Field::ATOM_TYPE.is(AtomType::U32)];
    let mut exchange = Inst::neutral(Sass::ATOMG, mods.into_iter().collect());
    let scope = instruction.scope().unwrap_or(Scope::Sys);
    let visible = if scope == Scope::Sys { scope } else { Scope::Gpu };
    exchange.mods.set(Field::MEM, manner::strength(cx, visible));
    exchange.set_role(D, Operand::rz());
    exchange.set_role(Base, Operand::reg(target));
    exchange.set_role(Offset, Operand::imm_signed(to.offset));
    exchange.set_role(Desc, descriptor());
    exchange.set_role(Data, word);
    cx.emit_inst(exchange)?;
    Ok(())
}
