//! Asynchronous copies, and the barriers in shared memory that count them.
//!
//! | module | subject |
//! |---|---|
//! | `copy` | `cp.async`: copies of single threads, in groups |
//! | `bulk` | `cp.async.bulk`, `cp.reduce.async.bulk`: copies of blocks of memory, their groups, prefetches |
//! | `fabric`, `fabric_threads` | `fabric`: copies of other devices' memory; atomic operations and reductions that threads do |
//! | `launch` | `clusterlaunchcontrol`: the work of other blocks |
//! | `tensor` | `cp.async.bulk.tensor`: copies of boxes of tensors |
//! | `tensor_override` | `.override::…`: what replaces their descriptions |
//! | `tensormap`, `replace` | the descriptions of tensors: prefetch, fence, copy; their fields |
//! | `mbarrier` | `mbarrier` of all kinds |
//! | `remote` | `st.async`, `red.async`: accesses to shared memory of the cluster that an mbarrier counts |

pub(crate) mod bulk;
pub(crate) mod copy;
pub(crate) mod fabric;
pub(crate) mod fabric_threads;
pub(crate) mod launch;
pub(crate) mod mbarrier;
pub(crate) mod remote;
pub(crate) mod replace;
pub(crate) mod tensor;
pub(crate) mod tensor_override;
pub(crate) mod tensormap;

use crate::chapters::memory::address;
use crate::chapters::memory::address::Addr;
use crate::error::Lowered;
use crate::function::operands::Wide;
use crate::function::uniform::constant;
use crate::function::{FnLower, operands, ops, shared};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{A, B};
use oriole_isa::{Field, L2Control, Opcode as Sass, Setting};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Address, Instruction, Opcode, Space, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[
    (Opcode::Cp, copies),
    (Opcode::Mbarrier, mbarrier::lower),
    (Opcode::Tensormap, tensormap::lower),
    (Opcode::Clusterlaunchcontrol, launch::lower),
    (Opcode::Fabric, fabric::lower),
];

/// `cp.async…` and `cp.reduce.async…`
fn copies(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !cx.has(Sass::LDGSTS) {
        return Err(unknown(cx, instruction));
    }
    match () {
        () if instruction.has(Word::Tensor) => tensor::lower(cx, instruction),
        () if instruction.has(Word::Bulk) => bulk::lower(cx, instruction),
        () if instruction.has(Word::Mbarrier) => mbarrier::arrive_after_copies(cx, instruction),
        () => copy::lower(cx, instruction),
    }
}

/// `applypriority.async.bulk…`
pub(crate) fn priority(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::Tensor) { tensor::lower(cx, instruction) } else { bulk::prefetch(cx, instruction) }
}

/// What a prefetch or a change of priority does in L2, where it is no ordinary prefetch.
fn l2_control(cx: &FnLower<'_, '_>, opcode: Sass, instruction: &Instruction) -> Lowered<Option<Setting>> {
    let control = match instruction.opcode {
        Opcode::Applypriority => L2Control::DM,
        _ if instruction.has(Word::L2EvictLast) => L2Control::PM,
        _ => return Ok(None),
    };
    let setting = Field::L2_CONTROL.is(control);
    if cx.has_with(opcode, setting) { Ok(Some(setting)) } else { Err(unknown(cx, instruction)) }
}

/// The scoreboard that counts groups of copies (`docs/sched.md`).
const GROUPS: Operand = Operand::scoreboard(0);

/// Waits until all but the last `n` groups of copies are done.
fn wait_for_groups(cx: &mut FnLower<'_, '_>, left: u64) -> Lowered {
    let most = Sass::DEPBAR.numbers(B, cx.arch()).map_or(0, |held| *held.end());
    let left = Operand::imm(left.min(most as u64) as u32);
    cx.emit(Sass::DEPBAR, &[], &[(A, GROUPS), (B, left)])?;
    Ok(())
}

/// The constant operand of `wait_group n`.
fn groups_left(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered<u64> {
    let left = operands::operand(instruction, 0)?.imm().and_then(|imm| imm.int_bits());
    left.ok_or_else(|| unknown(cx, instruction))
}

/// What only targets with clusters have, whose copies run by themselves.
fn needs_clusters(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if shared::has_clusters(cx) { Ok(()) } else { Err(unknown(cx, instruction)) }
}

/// The brackets of operand `n`.
pub(crate) fn address_of<'i>(cx: &FnLower<'_, '_>, instruction: &'i Instruction, n: usize) -> Lowered<&'i Address> {
    bracketed(cx, instruction, instruction.operands.get(n))
}

fn bracketed<'i>(
    cx: &FnLower<'_, '_>,
    instruction: &Instruction,
    operand: Option<&'i ast::Operand>,
) -> Lowered<&'i Address> {
    operand.and_then(ast::Operand::address).ok_or_else(|| unknown(cx, instruction))
}

/// An address in shared memory as one word, offset included.
pub(crate) fn shared_word(cx: &mut FnLower<'_, '_>, space: Option<Space>, address: &Address) -> Lowered<Operand> {
    let Addr { base, offset, .. } = address::resolve_shared(cx, space, address)?;
    if base.is_zero() {
        return Ok(Operand::imm(offset as u32));
    }
    if offset == 0 {
        return Ok(base);
    }
    let sum = cx.temp()?;
    ops::add(cx, sum, base, Operand::imm(offset as u32))?;
    Ok(sum)
}

/// A 64-bit address as two words, offset included.
fn wide_words(cx: &mut FnLower<'_, '_>, space: Option<Space>, address: &Address) -> Lowered<[Operand; 2]> {
    let Wide { lo, hi, .. } = address::resolve(cx, space, address)?.whole(cx)?;
    Ok([lo, hi])
}

/// `low | high << 16`: two values of 16 bits in one word.
fn in_halves(cx: &mut FnLower<'_, '_>, low: Operand, high: Operand) -> Lowered<Operand> {
    if let (Some(low), Some(high)) = (constant(low), constant(high)) {
        return Ok(Operand::imm(low & 0xffff | high << 16));
    }
    let (low, high) = (ops::in_reg(cx, low)?, ops::in_reg(cx, high)?);
    let both = cx.temp()?;
    ops::prmt(cx, both, low, 0x5410, high)?;
    Ok(both)
}
