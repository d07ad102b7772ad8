//! Where registers are defined.

use cranelift_entity::{EntityRef, SecondaryMap};

use crate::machine::{BlockId, Function, Inst, VReg};

/// Lists of items by register, in one piece of memory.
#[derive(Clone, Debug)]
pub struct ByReg<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> ByReg<T> {
    /// Sorts pairs by register; items of one register stay in their order.
    #[must_use]
    pub fn new(regs: usize, pairs: &[(VReg, T)]) -> ByReg<T> {
        let mut starts = vec![0u32; regs + 1];
        for (reg, _) in pairs {
            starts[reg.index()] += 1;
        }
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let mut items: Vec<T> = pairs.iter().map(|&(_, item)| item).collect();
        for &(reg, item) in pairs.iter().rev() {
            let start = &mut starts[reg.index()];
            *start -= 1;
            items[*start as usize] = item;
        }
        ByReg { starts, items }
    }

    /// The items of a register.
    #[must_use]
    pub fn of(&self, reg: VReg) -> &[T] {
        match self.starts.get(reg.index()..reg.index() + 2) {
            Some(&[start, end]) => &self.items[start as usize..end as usize],
            _ => &[],
        }
    }
}

/// A `phi` or instruction: by its block and its number there, the `phi`s first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The block.
    pub block: BlockId,
    /// The number.
    pub index: u32,
}

impl Place {
    /// The instruction at the place, unless it is a `phi`.
    #[must_use]
    pub fn inst(self, function: &Function) -> Option<&Inst> {
        let block = &function.blocks[self.block];
        block.insts.get((self.index as usize).checked_sub(block.phis.len())?)
    }
}

/// All definitions.
#[derive(Clone, Debug)]
pub struct Defs {
    lists: ByReg<(Place, bool)>,
}

impl Defs {
    /// Collects the definitions of all blocks in the layout.
    #[must_use]
    pub fn new(function: &Function) -> Defs {
        let mut pairs = Vec::with_capacity(function.regs.len());
        for &block in &function.layout {
            let content = &function.blocks[block];
            for (index, phi) in (0..).zip(&content.phis) {
                pairs.push((phi.dst, (Place { block, index }, true)));
            }
            for (index, inst) in (content.phis.len() as u32..).zip(&content.insts) {
                inst.for_each_def(|reg| pairs.push((reg, (Place { block, index }, inst.guard.is_none()))));
            }
        }
        Defs { lists: ByReg::new(function.regs.len(), &pairs) }
    }

    /// The places that write a register.
    pub fn of(&self, reg: VReg) -> impl Iterator<Item = Place> + '_ {
        self.lists.of(reg).iter().map(|&(place, _)| place)
    }

    /// The only place that writes a register, and does so whatever its guard: then the register is a value.
    #[must_use]
    pub fn once(&self, reg: VReg) -> Option<Place> {
        match self.lists.of(reg) {
            [(place, true)] => Some(*place),
            _ => None,
        }
    }
}

/// How often each register is read.
#[must_use]
pub fn count_uses(function: &Function) -> SecondaryMap<VReg, u32> {
    let mut counts = SecondaryMap::with_capacity(function.regs.len());
    counts.resize(function.regs.len());
    for &block in &function.layout {
        let content = &function.blocks[block];
        for (_, value) in content.phis.iter().flat_map(|phi| &phi.incoming) {
            value.for_each_reg(&mut |reg| reg.vreg().into_iter().for_each(|reg| counts[reg] += 1));
        }
        for inst in &content.insts {
            inst.for_each_use(|reg| counts[reg] += 1);
        }
        if let Some(reg) = content.terminator.used() {
            counts[reg] += 1;
        }
    }
    counts
}
