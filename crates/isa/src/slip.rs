//! What a control word alone can be wrong in, beside the instruction after it: own stalls, stale operands, groups of copies that
//! nothing counts.

use crate::access::{Register, Touches};
use crate::engine::{Cached, cached};
use crate::{Arch, Effects, Guard, Inst, Opcode, OperandFlags, Pipe, RegFile, latency};
use smallvec::SmallVec;
use std::fmt;

/// The scoreboard that counts groups of copies to shared memory: ptxas gives it to all 6,233 `LDGDEPBAR` of 2,500 cubins, and to all 132
/// `UTMACMDFLUSH` of 400, which count copies in bulk out of it.
pub const COPIES: u8 = 0;

/// A control word that does not do for its instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slip {
    /// An instruction behind it issues too early, whatever registers it touches (`spec/latency/stalls.tsv`).
    Stall {
        /// Cycles until that issues.
        passed: u8,
        /// Cycles that the instruction needs.
        needed: u8,
    },
    /// An operand is kept for the next instruction (`.reuse`) that the instruction overwrites: ptxas does so nowhere.
    Stale {
        /// The general register.
        register: u16,
    },
    /// An operand that is kept (`.reuse`) is overwritten, and the next instruction that would find it in the operand cache reads it.
    Outdated {
        /// The general register.
        register: u16,
        /// How many instructions behind it stands that reads it.
        distance: usize,
    },
    /// An operand that is kept (`.reuse`) is still in the operand cache where the flow may leave, or code jumps to: ptxas does so nowhere.
    Carried {
        /// The general register.
        register: u16,
        /// How many instructions behind it stands the jump, or what code jumps to.
        distance: usize,
    },
    /// The end of a group of copies to shared memory, or in bulk out of it, does not set the scoreboard that counts them.
    Uncounted,
}

impl Slip {
    /// What is wrong with the control word of `inst`, if these stand after it, in a straight line.
    pub fn of<'a>(
        inst: &Inst,
        following: impl IntoIterator<Item = &'a Inst, IntoIter: Clone>,
        arch: Arch,
    ) -> Option<Slip> {
        // Of 64-bit words nothing is known.
        if arch < Arch::Sm70 {
            return None;
        }
        let counted = match inst.opcode {
            Opcode::LDGDEPBAR => inst.control.write_scoreboard,
            Opcode::UTMACMDFLUSH => inst.control.read_scoreboard,
            _ => COPIES,
        };
        if counted != COPIES {
            return Some(Slip::Uncounted);
        }
        let following = following.into_iter();
        if let Some(slip) = too_early(inst, following.clone(), arch) {
            return Some(slip);
        }
        stale(inst, arch).map(|register| Slip::Stale { register }).or_else(|| outdated(inst, following, arch))
    }

    /// What is wrong with the control word of `inst` if these stand after it and code jumps to behind them.
    pub fn before_label<'a>(inst: &Inst, following: impl IntoIterator<Item = &'a Inst>, arch: Arch) -> Option<Slip> {
        let mut kept = Kept::of(inst, arch)?;
        let mut distance = 1;
        for next in following {
            kept.left.first()?;
            kept.pass(next, distance, arch);
            distance += 1;
        }
        kept.at_jump(distance)
    }
}

impl fmt::Display for Slip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slip::Stall { passed, needed } => {
                write!(f, "an instruction behind it issues {passed} cycles later, where {needed} are needed")
            }
            Slip::Stale { register } => {
                write!(f, "R{register} is kept for the next instruction (.reuse), and this one overwrites it")
            }
            Slip::Outdated { register, distance } => {
                write!(
                    f,
                    "R{register} is kept (.reuse) and overwritten, and the instruction {distance} behind it finds the old value"
                )
            }
            Slip::Carried { register, distance } => {
                write!(
                    f,
                    "R{register} is kept (.reuse), and nothing finds it before the jump or label {distance} behind it"
                )
            }
            Slip::Uncounted => {
                write!(f, "the group of copies is not counted: it sets another scoreboard than SB{COPIES}, or none")
            }
        }
    }
}

/// The first instruction that issues before the own stall of `inst` is over. Arithmetic that a barrier lets pass does not end the stall
/// for what comes behind it: an H200 lets a load two cycles behind `BAR` read what other warps have not yet stored.
fn too_early<'a>(inst: &Inst, mut following: impl Iterator<Item = &'a Inst>, arch: Arch) -> Option<Slip> {
    let longest = latency::stall_after(inst, None, arch);
    let mut passed = inst.control.cycles();
    loop {
        let next = following.next();
        let needed = own_stall(inst, next, arch);
        if passed < needed {
            return Some(Slip::Stall { passed, needed });
        }
        passed = passed.saturating_add(next?.control.cycles());
        if passed >= longest {
            return None;
        }
    }
}

/// [`latency::stall_after`], but that a call under a guard, which ptxas writes in place of a jump, waits for nothing.
fn own_stall(inst: &Inst, next: Option<&Inst>, arch: Arch) -> u8 {
    match latency::stall_after(inst, next, arch) {
        _ if inst.opcode == Opcode::CALL && inst.guard != Guard::ALWAYS => 1,
        stall => stall,
    }
}

/// A register that `inst` keeps and writes.
fn stale(inst: &Inst, arch: Arch) -> Option<u16> {
    let kept = Kept::of(inst, arch)?;
    let writes = Touches::of(inst, arch).writes;
    let is_written = |one: &Cached| writes.iter().any(|write| write.register == one.register);
    kept.left.iter().map(|(one, _)| one).find(|one| is_written(one)).map(|one| one.register.number())
}

/// Instructions that are looked at behind one that keeps an operand.
const KEPT_AT_MOST: usize = 64;

/// A register that `inst` keeps, and that is overwritten before it is found, or not found before a jump.
fn outdated<'a>(inst: &Inst, following: impl Iterator<Item = &'a Inst>, arch: Arch) -> Option<Slip> {
    let mut kept = Kept::of(inst, arch)?;
    for (distance, next) in (1..KEPT_AT_MOST).zip(following) {
        kept.left.first()?;
        if let Some(slip) = kept.pass(next, distance, arch) {
            return Some(slip);
        }
    }
    None
}

/// The registers that an instruction keeps. One is kept in its place of the word until an instruction with the same cache reads a register of its
/// bank (even or odd) there, under a guard too. In ptxas's code of 3,284 modules none of 151,000 registers that are kept is overwritten before
/// that. None is still kept at a jump, at `BSYNC` or where code jumps to, where 27,000, 3,900 and 7,300 could be; of 20,000 that could be over
/// `BSSY`, `WARPSYNC`, `YIELD`, `BREAK` or `BAR` 9,100 are.
struct Kept {
    cache: Pipe,
    /// Those that are kept still, each alone, and whether it has been overwritten.
    left: SmallVec<[(Cached, bool); 4]>,
}

impl Kept {
    /// What `inst` keeps.
    fn of(inst: &Inst, arch: Arch) -> Option<Kept> {
        let keeps = inst.operands.iter().any(|operand| operand.flags.contains(OperandFlags::REUSE));
        let cache = inst.opcode.operand_cache().filter(|_| keeps)?;
        let alone = |one: Cached| {
            let numbers = (0..one.width).map(move |word| one.register.number() + word);
            let registers = numbers.filter_map(|number| Register::new(RegFile::R, number));
            registers.map(move |register| (Cached { register, width: 1, ..one }, false))
        };
        let left = cached(inst, arch).into_iter().filter(|one| one.stays).flat_map(alone).collect();
        Some(Kept { cache, left })
    }

    /// Goes on behind `next`, which stands `distance` behind the one that keeps them.
    fn pass(&mut self, next: &Inst, distance: usize, arch: Arch) -> Option<Slip> {
        if next.opcode.info().effects.contains(Effects::BRANCH) || next.opcode == Opcode::BSYNC {
            return self.at_jump(distance);
        }
        if next.opcode.operand_cache() == Some(self.cache) {
            let reads = cached(next, arch);
            let met = |one: &Cached| reads.iter().find(|read| read.meets(one));
            let finds = |(one, is_old): &&(Cached, bool)| *is_old && met(one).is_some_and(|read| read.reads(one));
            if let Some((one, _)) = self.left.iter().find(finds) {
                return Some(Slip::Outdated { register: one.register.number(), distance });
            }
            self.left.retain(|(one, _)| met(one).is_none());
        }
        if !self.left.is_empty() {
            for write in Touches::of(next, arch).writes {
                let same = self.left.iter_mut().filter(|(one, _)| one.register == write.register);
                same.for_each(|(_, is_old)| *is_old = true);
            }
        }
        None
    }

    /// The slip if a jump, or where code jumps to, comes now.
    fn at_jump(&self, distance: usize) -> Option<Slip> {
        self.left.first().map(|(one, _)| Slip::Carried { register: one.register.number(), distance })
    }
}
