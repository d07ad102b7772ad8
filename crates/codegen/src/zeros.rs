//! Two neighbouring registers that become zero do so at once, as with ptxas: `CS2R R2, SRZ` (slot 81).
//!
//! This is done where registers are given: then it is known which stand side by side, whether they are halves of one value or have
//! nothing to do with each other.

use oriole_isa::{Arch, Cs2rSize, Field, Mods, Opcode, RegFile, Role, special_registers};
use oriole_ori::{Block, Function, Inst, InstFlags, InstId, Operand};
use rustc_hash::{FxHashMap, FxHashSet};

/// Joins what stands in one block, where nothing names one of the registers between the two moves.
pub(crate) fn join_zeros(func: &mut Function, arch: Arch) {
    let Some(zero) = special_registers::by_name("SRZ", arch) else { return };
    for block in func.layout().to_vec() {
        let pairs = pairs(func, block);
        if pairs.is_empty() {
            continue;
        }
        let mut gone: FxHashSet<InstId> = FxHashSet::default();
        for Pair { stays, goes, first } in pairs {
            let mods: Mods = std::iter::once(Field::CS2R_SIZE.is(Cs2rSize::X64)).collect();
            let mut inst = Inst::neutral(Opcode::CS2R, mods);
            inst.set_role(Role::D, Operand::phys_group(RegFile::R, first, 2));
            inst.set_role(Role::A, Operand::special(zero.number));
            inst.loc = func[stays].loc;
            func.edit().replace(stays, inst);
            gone.insert(goes);
        }
        func.edit().retain_insts(block, |_, inst| !gone.contains(&inst));
    }
}

/// Moves of zero to two neighbouring registers.
struct Pair {
    /// In whose place both are written.
    stays: InstId,
    goes: InstId,
    /// The lower register, an even one.
    first: u16,
}

/// A move of zero whose neighbour has not come yet.
struct Waiting {
    inst: InstId,
    /// The number of the last instruction that named the neighbour.
    at: usize,
}

fn pairs(func: &Function, block: Block) -> Vec<Pair> {
    let mut waiting: FxHashMap<u16, Waiting> = FxHashMap::default();
    // By register: the number of the last instruction that names it.
    let mut named: FxHashMap<u16, usize> = FxHashMap::default();
    let mut pairs = Vec::new();
    for (at, &inst) in func.block_insts(block).iter().enumerate() {
        if func[inst].call.is_some() {
            waiting.clear();
        }
        let zeroed = zeroed(func, inst);
        let other = zeroed.and_then(|register| waiting.remove(&(register ^ 1)));
        if let (Some(register), Some(other)) = (zeroed, other) {
            // What went before must not name the one, or what came since not the other.
            let untouched = named.get(&(register ^ 1)).is_none_or(|last| *last <= other.at);
            let unread = named.get(&register).is_none_or(|last| *last < other.at);
            if untouched || unread {
                let (stays, goes) = if untouched { (inst, other.inst) } else { (other.inst, inst) };
                pairs.push(Pair { stays, goes, first: register & !1 });
            } else {
                waiting.insert(register, Waiting { inst, at });
            }
        } else if let Some(register) = zeroed {
            waiting.insert(register, Waiting { inst, at });
        }
        for operand in &func[inst].operands {
            if let Some((RegFile::R, number, count)) = func.physical(*operand) {
                (number..number + u16::from(count)).for_each(|register| {
                    named.insert(register, at);
                });
            }
        }
    }
    pairs
}

/// The general register that a move makes zero.
fn zeroed(func: &Function, inst: InstId) -> Option<u16> {
    let data = &func[inst];
    let plain = data.is_machine() && data.opcode == Opcode::MOV && data.guard().is_none();
    let (to, from) = (*data.operands.first()?, *data.operands.get(1)?);
    let plain = plain && from.is_zero() && !from.has_flags() && !data.flags.contains(InstFlags::VOLATILE);
    let (file, number, count) = func.physical(to).filter(|_| plain)?;
    (file == RegFile::R && count == 1).then_some(number)
}
