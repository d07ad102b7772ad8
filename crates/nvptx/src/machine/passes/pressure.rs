//! How many registers are live at once.
//!
//! The classes are disjoint, so each is counted by itself. A limit (`-maxreg`) bounds what the hardware
//! holds, which is counted in registers of 32 bits over all classes together: one for 16 and 32 bits,
//! two for 64, four for 128; predicates have a file of their own and count apart.

use std::fmt;

use cranelift_entity::SecondaryMap;
use fixedbitset::FixedBitSet;

use super::cfg::Cfg;
use super::liveness::{Liveness, PhiUses};
use crate::machine::{BlockId, Function, RegClass, VReg};

/// The registers of 32 bits that a thread can have.
pub const MAX_REGISTERS: u32 = 255;

/// Live registers where most are live.
#[derive(Clone, Debug, Default)]
pub struct Pressure {
    /// The most live registers of each class, in order of [`RegClass::ALL`].
    pub by_class: [u32; 9],
    /// The most registers of 32 bits, over all classes but predicates.
    pub total: u32,
    /// The same for each block.
    pub by_block: SecondaryMap<BlockId, u32>,
}

/// How many registers of 32 bits a value of a class takes; none for predicates.
#[must_use]
pub const fn units(class: RegClass) -> u32 {
    match class {
        RegClass::Int1 | RegClass::Special => 0,
        _ => class.info().width.div_ceil(32),
    }
}

impl Pressure {
    /// Counts over the whole function.
    #[must_use]
    pub fn new(function: &Function) -> Pressure {
        let cfg = Cfg::of_reachable(function);
        let live = Liveness::new(function, &cfg, PhiUses::OnEdge);
        let mut pressure = Pressure::default();
        let mut now = Live { function, set: FixedBitSet::with_capacity(function.regs.len()), count: Count::default() };
        for &block in cfg.rpo() {
            pressure.by_block[block] = pressure.of_block(block, &live, &mut now);
            pressure.total = pressure.total.max(pressure.by_block[block]);
        }
        pressure
    }

    /// Walks a block backwards; returns the most registers of 32 bits.
    fn of_block(&mut self, block: BlockId, live: &Liveness, now: &mut Live<'_>) -> u32 {
        let content = &now.function.blocks[block];
        live.live_out(block).iter().for_each(|&reg| now.insert(reg));
        content.terminator.used().into_iter().for_each(|reg| now.insert(reg));
        let mut most = self.note(now.count);
        for inst in content.insts.iter().rev() {
            // A result that nothing reads needs a register too, for a moment.
            inst.for_each_def(|reg| now.insert(reg));
            most = most.max(self.note(now.count));
            inst.for_each_def(|reg| now.remove(reg));
            inst.for_each_use(|reg| now.insert(reg));
            most = most.max(self.note(now.count));
        }
        content.phis.iter().for_each(|phi| now.insert(phi.dst));
        most = most.max(self.note(now.count));
        content.phis.iter().for_each(|phi| now.remove(phi.dst));
        live.live_in(block).iter().for_each(|&reg| now.remove(reg));
        most
    }

    fn note(&mut self, count: Count) -> u32 {
        for (most, now) in self.by_class.iter_mut().zip(count.by_class) {
            *most = now.max(*most);
        }
        count.total
    }
}

impl fmt::Display for Pressure {
    /// `12 registers of 32 bits (%r 8, %rd 2), predicates 1`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} registers of 32 bits (", self.total)?;
        let classes = RegClass::ALL.into_iter().zip(self.by_class);
        let mut sep = "";
        for (class, most) in classes.filter(|&(class, most)| most > 0 && class != RegClass::Int1) {
            write!(f, "{sep}{} {most}", class.info().prefix)?;
            sep = ", ";
        }
        write!(f, "), predicates {}", self.by_class[0])
    }
}

#[derive(Clone, Copy, Default)]
struct Count {
    by_class: [u32; 9],
    total: u32,
}

/// What is live at one moment of the walk.
struct Live<'a> {
    function: &'a Function,
    set: FixedBitSet,
    count: Count,
}

impl Live<'_> {
    fn insert(&mut self, reg: VReg) {
        let class = self.function.regs[reg];
        if !self.set.put(reg.as_u32() as usize)
            && let Some(count) = self.count.by_class.get_mut(class as usize)
        {
            *count += 1;
            self.count.total += units(class);
        }
    }

    fn remove(&mut self, reg: VReg) {
        let class = self.function.regs[reg];
        let index = reg.as_u32() as usize;
        if self.set.contains(index)
            && let Some(count) = self.count.by_class.get_mut(class as usize)
        {
            self.set.set(index, false);
            *count -= 1;
            self.count.total -= units(class);
        }
    }
}
