//! What is touched behind each block, on any way: whether somebody asks for a release that nobody asks for in its block.

use super::{Completion, Release};
use crate::code::{AWAITED, Code, Op, REGISTERS, Reg, succs};
use oriole_ori::MachineFunction;

/// Sets of registers, as bits.
const WORDS: usize = (REGISTERS + AWAITED).div_ceil(64);
type RegSet = [u64; WORDS];

/// What is touched in a block or behind it, on any way.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Ahead {
    read: RegSet,
    written: RegSet,
    /// All that is outstanding is waited for.
    awaits_all: bool,
}

impl Ahead {
    fn of(ops: &[Op], code: &Code, has_completions: bool) -> Ahead {
        let mut ahead = Ahead::default();
        for op in ops {
            code.accesses.uses(op).iter().for_each(|access| insert(&mut ahead.read, access.reg));
            code.accesses.defs(op).iter().for_each(|access| insert(&mut ahead.written, access.reg));
            if has_completions {
                let awaited = Completion::ALL.iter().filter(|completion| completion.is_awaited_by(op));
                awaited.for_each(|completion| insert(&mut ahead.written, completion.reg()));
            }
            ahead.awaits_all |= op.awaits_all;
        }
        ahead
    }

    fn union(&mut self, other: &Ahead) {
        self.read.iter_mut().zip(other.read).for_each(|(to, from)| *to |= from);
        self.written.iter_mut().zip(other.written).for_each(|(to, from)| *to |= from);
        self.awaits_all |= other.awaits_all;
    }

    /// Whether somebody may ask for a release.
    pub(super) fn asks_for(&self, release: &Release) -> bool {
        let asks = |reg: &Reg| contains(&self.written, *reg) || release.is_result && contains(&self.read, *reg);
        self.awaits_all || release.regs.iter().any(asks)
    }
}

fn insert(set: &mut RegSet, reg: Reg) {
    set[reg as usize / 64] |= 1 << (reg % 64);
}

fn contains(set: &RegSet, reg: Reg) -> bool {
    set[reg as usize / 64] >> (reg % 64) & 1 == 1
}

/// By block: what is touched behind it; effects that are awaited as if they were registers where there are such.
pub(super) fn ahead(code: &Code, machine: &MachineFunction, has_completions: bool) -> Vec<Ahead> {
    let mut leads_to = vec![false; code.ops.len()];
    (0..code.ops.len()).flat_map(|block| succs(machine, block)).for_each(|succ| leads_to[succ] = true);
    // What nobody leads to is behind no block.
    let of = |(ops, leads_to): (&Vec<Op>, &bool)| {
        if *leads_to { Ahead::of(ops, code, has_completions) } else { Ahead::default() }
    };
    let own: Vec<Ahead> = code.ops.iter().zip(&leads_to).map(of).collect();
    let mut ahead = vec![Ahead::default(); own.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..own.len()).rev() {
            let mut now = Ahead::default();
            for succ in succs(machine, block) {
                now.union(&own[succ]);
                now.union(&ahead[succ]);
            }
            if now != ahead[block] {
                ahead[block] = now;
                changed = true;
            }
        }
    }
    ahead
}
