//! Cache policies: `createpolicy`.

use crate::chapters::asynchronous::fabric;
use crate::chapters::calls;
use crate::chapters::memory::address;
use crate::error::{Lowered, invalid};
use crate::function::{FnLower, destinations, operands, ops, sources};
use crate::handler::{Chapter, unknown};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, Opcode, Space, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Createpolicy, create_policy)];

/// Priorities of a cache policy, as its upper word has them.
const PRIORITIES: [(Word, u32); 4] =
    [(Word::L2EvictUnchanged, 0), (Word::L2EvictFirst, 1), (Word::L2EvictLast, 2), (Word::L2EvictNormal, 3)];

/// `createpolicy.fractional.L2::a.L2::b.b64 d{, fraction};`, `createpolicy.range{.global}.L2::a.L2::b.b64 d, [a],
/// primary, total;`, `createpolicy.cvt.L2.b64 d, property;`. The values are read off ptxas's code; accesses take them
/// as a hint and Oriole's drop it.
fn create_policy(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !instruction.has(Word::Fractional) && !instruction.has(Word::Range) {
        // An access property of CUDA's headers is such a policy already.
        let property = sources::src64(cx, operands::operand(instruction, 1)?)?;
        let to = destinations::dst64(cx, operands::operand(instruction, 0)?, &[property])?;
        return ops::mov64(cx, to.pair, property);
    }
    let mut priorities = instruction.words().filter_map(|word| PRIORITIES.iter().find(|(known, _)| *known == word));
    let primary = priorities.next().ok_or_else(|| unknown(cx, instruction))?.1;
    let secondary = priorities.next().map_or(0, |(_, code)| *code);
    let priorities = primary << 25 | secondary << 24;
    if instruction.has(Word::Range) {
        policy_of_range(cx, instruction, priorities)
    } else {
        policy_of_fraction(cx, instruction, priorities)
    }
}

/// The words of the address where a range begins, in global memory or behind a handle of the fabric.
fn start_of_range(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<[Operand; 2]> {
    if instruction.has(Word::Fabric) {
        let words = fabric::handle(cx, instruction, 1)?;
        return words.try_into().map_err(|_| unknown(cx, instruction));
    }
    let Some(address) = operands::operand(instruction, 1)?.address() else { return Err(unknown(cx, instruction)) };
    let start = address::resolve(cx, Some(Space::Global), address)?.whole(cx)?;
    Ok([start.lo, start.hi])
}

fn policy_of_range(cx: &mut FnLower<'_, '_>, instruction: &Instruction, priorities: u32) -> Lowered {
    let start = start_of_range(cx, instruction)?;
    let (primary, total) =
        (sources::src(cx, operands::operand(instruction, 2)?)?, sources::src(cx, operands::operand(instruction, 3)?)?);
    let args = [start[0], start[1], primary, total, Operand::imm(0x1800_0000 | priorities)];
    let policy = calls::call_library(cx, "__oriole_policy_range", &args)?;
    let [low, high] = policy.as_slice() else { return Err(unknown(cx, instruction)) };
    let to = destinations::dst64_direct(cx, operands::operand(instruction, 0)?)?;
    ops::mov(cx, to.lo, *low)?;
    ops::mov(cx, to.hi, *high)
}

fn policy_of_fraction(cx: &mut FnLower<'_, '_>, instruction: &Instruction, priorities: u32) -> Lowered {
    let fraction = match instruction.operands.get(1) {
        None => 1.0,
        Some(operand) => operand.imm().ok_or_else(|| unknown(cx, instruction))?.to_f64(),
    };
    if !(0.0..=1.0).contains(&fraction) {
        return Err(invalid(instruction.span, "the fraction is between 0 and 1"));
    }
    let sixteenths = ((fraction * 16.0) as u32).clamp(1, 16) - 1;
    let upper = 0x1000_0000 | priorities | sixteenths << 20;
    let to = destinations::dst64_direct(cx, operands::operand(instruction, 0)?)?;
    ops::mov(cx, to.lo, Operand::rz())?;
    ops::mov(cx, to.hi, Operand::imm(upper))
}
