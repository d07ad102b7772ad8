//! What a control word alone can be wrong in, beside the instruction after it: own stalls, stale operands, groups of copies that
//! nothing counts.

use crate::access::{Register, Touches};
use crate::engine::{Cached, cached};
use crate::{Arch, Effects, Guard, Inst, Opcode, OperandFlags, Pipe, RegFile, Value, latency};
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
    /// An operand that is kept (`.reuse`) is still in the operand cache where the flow may leave: ptxas does so nowhere.
    Carried {
        /// The general register.
        register: u16,
        /// How many instructions behind it stands the jump.
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
        if !inst.operands.iter().any(|operand| operand.flags.contains(OperandFlags::REUSE)) {
            return None;
        }
        stale(inst, arch).map(|register| Slip::Stale { register }).or_else(|| outdated(inst, following, arch))
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
                write!(f, "R{register} is kept (.reuse), and nothing finds it before the jump {distance} behind it")
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

/// The register that `inst` keeps and writes.
fn stale(inst: &Inst, arch: Arch) -> Option<u16> {
    let kept = inst.operands.iter().filter(|operand| operand.flags.contains(OperandFlags::REUSE));
    let mut kept = kept.filter_map(|operand| match operand.value {
        Value::Reg(RegFile::R, number) => Some(number),
        _ => None,
    });
    let first = kept.next()?;
    let writes = Touches::of(inst, arch).writes;
    let is_written = |number: &u16| {
        let register = Register::new(RegFile::R, *number);
        writes.iter().any(|write| Some(write.register) == register)
    };
    std::iter::once(first).chain(kept).find(is_written)
}

/// Instructions that are looked at behind one that keeps an operand.
const KEPT_AT_MOST: usize = 64;

/// The arithmetic that shares the operand cache: of other pipes it is not known whose reads end what is kept.
fn shares_cache(inst: &Inst) -> bool {
    matches!(inst.opcode.info().pipe, Pipe::Alu | Pipe::Fma)
}

/// A register that `inst` keeps, that is overwritten behind it, and that the next one reads which finds it kept. What is kept in a place of the
/// word stays until an instruction reads a register of the same bank (even or odd) there. So it is in ptxas's code: of 260,000 operands that
/// it keeps none is overwritten before that. What other pipes read may be found there or not. Whether a jump ends what is kept is not known, and
/// of 350,000 none is still there at one.
fn outdated<'a>(inst: &Inst, following: impl Iterator<Item = &'a Inst>, arch: Arch) -> Option<Slip> {
    if !shares_cache(inst) {
        return None;
    }
    let mut kept: SmallVec<[(Cached, bool); 4]> =
        cached(inst, arch).into_iter().filter(|one| one.stays).map(|one| (one, false)).collect();
    for (distance, next) in (1..KEPT_AT_MOST).zip(following) {
        let (one, _) = kept.first()?;
        if next.opcode.info().effects.contains(Effects::BRANCH) {
            return Some(Slip::Carried { register: one.register.number(), distance });
        }
        let touches = Touches::of(next, arch);
        if shares_cache(next) {
            let reads = cached(next, arch);
            let met = |one: &Cached| reads.iter().find(|read| read.meets(one));
            let finds = |(one, is_old): &&(Cached, bool)| *is_old && met(one).is_some_and(|read| read.reads(one));
            if let Some((one, _)) = kept.iter().find(finds) {
                return Some(Slip::Outdated { register: one.register.number(), distance });
            }
            kept.retain(|(one, _)| met(one).is_none());
        } else {
            kept.retain(|(one, _)| !touches.reads.iter().any(|read| read.register == one.register));
        }
        for write in touches.writes {
            kept.iter_mut().filter(|(one, _)| one.register == write.register).for_each(|(_, is_old)| *is_old = true);
        }
    }
    None
}
