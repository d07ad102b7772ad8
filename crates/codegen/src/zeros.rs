//! Two neighbouring registers that become zero do so at once, as with ptxas: `CS2R R2, SRZ` (slot 81).
//!
//! This is done where registers are given: then it is known which stand side by side, whether they are halves of one value or have
//! nothing to do with each other.

use oriole_isa::{Arch, RegFile};
use oriole_opt::{made_zero, zero_pair};
use oriole_ori::{Block, Function, InstId, Operand};
use rustc_hash::{FxHashMap, FxHashSet};

/// Joins what stands in one block, where nothing names one of the registers between the two moves.
pub(crate) fn join_zeros(func: &mut Function, arch: Arch) {
    for block in func.layout().to_vec() {
        let pairs = pairs(func, block);
        if pairs.is_empty() {
            continue;
        }
        let mut gone: FxHashSet<InstId> = FxHashSet::default();
        for Pair { stays, goes, first } in pairs {
            let Some(mut inst) = zero_pair(Operand::phys_group(RegFile::R, first, 2), arch) else { return };
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
    /// Its place in the block.
    at: usize,
}

fn pairs(func: &Function, block: Block) -> Vec<Pair> {
    let mut waiting: FxHashMap<u16, Waiting> = FxHashMap::default();
    // By register: the number of the last instruction that names it, of those since something has been waiting.
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
        let operands = if waiting.is_empty() { &[][..] } else { &func[inst].operands[..] };
        for operand in operands {
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
    let (file, number, count) = func.physical(made_zero(&func[inst])?)?;
    (file == RegFile::R && count == 1).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::join_zeros;
    use oriole_isa::Arch;
    use oriole_ori::Function;
    use oriole_ori::text::inst_text;

    /// The block's instructions, of a function whose registers `%R0` to `%R7` are those of these numbers.
    fn joined(code: &str) -> Vec<String> {
        let registers: String = (0..8).map(|k| format!("  .reg %R{k} physical={k}\n")).collect();
        let others = "  .reg %D8 physical=2\n  .reg %P9 physical=0\n  .call call0 sym0 () -> () callee\n";
        let lines: String = code.split("; ").map(|line| format!("    {line}\n")).collect();
        let text = format!(
            ".function entry f\n  .frame local=0 spill=0 align=16\n{registers}{others}bix0:\n{lines}    EXIT PT\n.end\n"
        );
        let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        join_zeros(&mut func, Arch::Sm80);
        let block = func.entry().expect("a block");
        func.block_insts(block).iter().map(|inst| inst_text(&func, *inst)).collect()
    }

    fn zero(register: u32) -> String {
        format!("MOV %R{register}, RZ, 0xf")
    }

    const PAIR: &str = "CS2R{cs2r_size=X64} R2:2, SRZ";

    #[test]
    fn neighbours_become_zero_at_once() {
        assert_eq!(joined(&[zero(2), zero(3)].join("; ")), [PAIR, "EXIT PT"]);
        assert_eq!(joined(&[zero(3), "STS RZ, _, s:0, %R0".to_owned(), zero(2)].join("; ")).len(), 3);
    }

    #[test]
    fn only_an_even_register_and_the_next_are_a_pair() {
        assert_eq!(joined(&[zero(1), zero(2)].join("; ")).len(), 3);
    }

    #[test]
    fn halves_of_one_value_are_neighbours_too() {
        assert_eq!(joined("MOV %D8.0, RZ, 0xf; MOV %D8.1, RZ, 0xf"), [PAIR, "EXIT PT"]);
    }

    #[test]
    fn both_stand_where_nothing_names_them_in_between() {
        // Who reads the first wants it there: the second comes along.
        let code = [zero(2), "STS RZ, _, s:0, %R2".to_owned(), zero(3)].join("; ");
        assert_eq!(joined(&code)[0], PAIR);
        // The second's register is still read: the first waits for it.
        let code = [zero(2), "STS RZ, _, s:0, %R3".to_owned(), zero(3)].join("; ");
        assert_eq!(joined(&code)[1], PAIR);
        // Both: they stay apart.
        let code = [zero(2), "STS RZ, _, s:0, %R3".to_owned(), "STS RZ, _, s:0, %R2".to_owned(), zero(3)].join("; ");
        assert_eq!(joined(&code).len(), 5);
    }

    #[test]
    fn calls_and_guards_keep_them_apart() {
        let code = [zero(2), "NOP ;call0".to_owned(), zero(3)].join("; ");
        assert_eq!(joined(&code).len(), 4);
        let code = [zero(2), format!("@%P9 {}", zero(3))].join("; ");
        assert_eq!(joined(&code).len(), 3);
    }
}
