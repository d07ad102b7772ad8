//! Liveness per 32-bit component, in two bit sets: registers of the main datapath, and of the
//! uniform one.
//!
//! A write kills exactly the components that it writes, and only if it happens unconditionally. Only
//! components that some block reads before writing get a bit; all others are live within one block
//! only and need none. The sources of a MovPhi are live at the end of their predecessor.

use super::cfg::Cfg;
use crate::entity::{Block, InstId, VReg};
use crate::function::Function;
use cranelift_entity::SecondaryMap;
use fixedbitset::FixedBitSet;

/// One 32-bit component of a register.
pub type Component = (VReg, u8);

/// Dense numbers for the components of all registers.
#[derive(Clone, Debug)]
struct Numbering {
    base: SecondaryMap<VReg, u32>,
    total: usize,
}

impl Numbering {
    fn new(func: &Function) -> Self {
        let mut base = SecondaryMap::with_capacity(func.vregs.len());
        let mut total = 0u32;
        for (reg, data) in func.vregs.iter() {
            base[reg] = total;
            total += u32::from(data.components);
        }
        Numbering { base, total: total as usize }
    }

    fn of(&self, reg: VReg, k: u8) -> usize {
        self.base[reg] as usize + usize::from(k)
    }
}

/// Which components that live across blocks have which bit.
#[derive(Clone, Debug, Default)]
struct Bits {
    components: Vec<Component>,
}

/// One datapath's sets.
#[derive(Clone, Debug, Default)]
struct Sets {
    bits: Bits,
    live_in: SecondaryMap<Block, FixedBitSet>,
    live_out: SecondaryMap<Block, FixedBitSet>,
}

/// What a block does to the numbered components.
#[derive(Clone, Default)]
struct Transfer {
    exposed: FixedBitSet,
    killed: FixedBitSet,
    /// Sources of the successors' MovPhis.
    phi_out: FixedBitSet,
}

/// Liveness of a function at the time it was computed.
#[derive(Clone, Debug)]
pub struct Liveness {
    numbering: Numbering,
    /// Bit of a component in its datapath's sets; `u32::MAX` when it is local to a block.
    bit: Vec<u32>,
    main: Sets,
    uniform: Sets,
}

const LOCAL: u32 = u32::MAX;

impl Liveness {
    /// Compute it by iteration to the smallest solution.
    pub fn new(func: &Function, cfg: &Cfg) -> Self {
        let numbering = Numbering::new(func);
        let bit = vec![LOCAL; numbering.total];
        let mut this = Liveness { numbering, bit, main: Sets::default(), uniform: Sets::default() };
        this.number_globals(func);
        this.solve(func, cfg, false);
        this.solve(func, cfg, true);
        this
    }

    /// Give a bit to every component that is read in a block before it is written there, or by a MovPhi.
    fn number_globals(&mut self, func: &Function) {
        let mut written_in: Vec<Option<Block>> = vec![None; self.numbering.total];
        for &block in &func.layout {
            for &inst in func.block_insts(block) {
                let is_phi = func.insts[inst].is_phi();
                func.for_each_use(inst, |r| {
                    for k in r.range.clone() {
                        let at = self.numbering.of(r.reg, k);
                        if is_phi || written_in[at] != Some(block) {
                            self.assign_bit(func, r.reg, k, at);
                        }
                    }
                });
                func.for_each_def(inst, |r| {
                    for k in r.range.clone().filter(|_| !r.conditional) {
                        written_in[self.numbering.of(r.reg, k)] = Some(block);
                    }
                });
            }
        }
    }

    fn assign_bit(&mut self, func: &Function, reg: VReg, k: u8, at: usize) {
        if self.bit[at] == LOCAL {
            let uniform = func.vregs[reg].reg_type.is_uniform();
            let components = &mut if uniform { &mut self.uniform } else { &mut self.main }.bits.components;
            self.bit[at] = components.len() as u32;
            components.push((reg, k));
        }
    }

    fn transfers(&self, func: &Function, uniform: bool, width: usize) -> SecondaryMap<Block, Transfer> {
        let empty = || FixedBitSet::with_capacity(width);
        let mut all: SecondaryMap<Block, Transfer> = SecondaryMap::with_capacity(func.blocks.len());
        for &block in &func.layout {
            all[block] = Transfer { exposed: empty(), killed: empty(), phi_out: empty() };
        }
        for &block in &func.layout {
            for &inst in func.block_insts(block) {
                let is_phi = func.insts[inst].is_phi();
                if is_phi {
                    self.phi_sources(func, inst, uniform, &mut all);
                } else {
                    func.for_each_use(inst, |r| {
                        self.each_bit(func, r.reg, r.range.clone(), uniform, |bit| {
                            let t = &mut all[block];
                            if !t.killed.contains(bit) {
                                t.exposed.insert(bit);
                            }
                        });
                    });
                }
                func.for_each_def(inst, |r| {
                    if !r.conditional {
                        self.each_bit(func, r.reg, r.range.clone(), uniform, |bit| all[block].killed.insert(bit));
                    }
                });
            }
        }
        all
    }

    fn phi_sources(&self, func: &Function, inst: InstId, uniform: bool, all: &mut SecondaryMap<Block, Transfer>) {
        for (source, pred) in func.phi_inputs(inst) {
            let crate::operand::OperandKind::Reg(reg, piece) = source.kind() else { continue };
            let range = piece.range(func.vregs[reg].components);
            self.each_bit(func, reg, range, uniform, |bit| {
                if bit < all[pred].phi_out.len() {
                    all[pred].phi_out.insert(bit);
                }
            });
        }
    }

    fn each_bit(
        &self,
        func: &Function,
        reg: VReg,
        range: std::ops::Range<u8>,
        uniform: bool,
        mut f: impl FnMut(usize),
    ) {
        if func.vregs[reg].reg_type.is_uniform() != uniform {
            return;
        }
        for k in range {
            let bit = self.bit[self.numbering.of(reg, k)];
            if bit != LOCAL {
                f(bit as usize);
            }
        }
    }

    fn solve(&mut self, func: &Function, cfg: &Cfg, uniform: bool) {
        let width = if uniform { &self.uniform } else { &self.main }.bits.components.len();
        let transfers = self.transfers(func, uniform, width);
        let mut live_in: SecondaryMap<Block, FixedBitSet> = SecondaryMap::with_capacity(func.blocks.len());
        let mut live_out = live_in.clone();
        for &block in &func.layout {
            live_in[block] = transfers[block].exposed.clone();
            live_out[block] = transfers[block].phi_out.clone();
        }
        let order: Vec<Block> = cfg.rpo().iter().rev().copied().collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &block in &order {
                for succ in func.succs(block) {
                    live_out[block].union_with(&live_in[*succ]);
                }
                let mut through = live_out[block].clone();
                through.difference_with(&transfers[block].killed);
                if !through.is_subset(&live_in[block]) {
                    live_in[block].union_with(&through);
                    changed = true;
                }
            }
        }
        let sets = if uniform { &mut self.uniform } else { &mut self.main };
        sets.live_in = live_in;
        sets.live_out = live_out;
    }

    fn ones<'a>(sets: &'a Sets, set: &'a FixedBitSet) -> impl Iterator<Item = Component> + 'a {
        set.ones().map(|bit| sets.bits.components[bit])
    }

    /// Components of main-datapath registers that are live on entry to a block.
    pub fn main_live_in(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        Liveness::ones(&self.main, &self.main.live_in[block])
    }

    /// Components of main-datapath registers that are live at the end of a block.
    pub fn main_live_out(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        Liveness::ones(&self.main, &self.main.live_out[block])
    }

    /// Components of uniform registers that are live on entry to a block.
    pub fn uniform_live_in(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        Liveness::ones(&self.uniform, &self.uniform.live_in[block])
    }

    /// Components of uniform registers that are live at the end of a block.
    pub fn uniform_live_out(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        Liveness::ones(&self.uniform, &self.uniform.live_out[block])
    }

    /// Everything live on entry to a block.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        self.main_live_in(block).chain(self.uniform_live_in(block))
    }

    /// Everything live at the end of a block.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        self.main_live_out(block).chain(self.uniform_live_out(block))
    }

    /// Whether component `k` of `reg` is live on entry to `block`.
    pub fn is_live_in(&self, block: Block, reg: VReg, k: u8) -> bool {
        self.contains(reg, k, |sets, bit| sets.live_in[block].contains(bit))
    }

    /// Whether component `k` of `reg` is live at the end of `block`.
    pub fn is_live_out(&self, block: Block, reg: VReg, k: u8) -> bool {
        self.contains(reg, k, |sets, bit| sets.live_out[block].contains(bit))
    }

    fn contains(&self, reg: VReg, k: u8, test: impl Fn(&Sets, usize) -> bool) -> bool {
        let bit = self.bit[self.numbering.of(reg, k)];
        let in_sets =
            |sets: &Sets| sets.bits.components.get(bit as usize) == Some(&(reg, k)) && test(sets, bit as usize);
        bit != LOCAL && (in_sets(&self.main) || in_sets(&self.uniform))
    }

    /// Whether component `k` of `reg` is live across a block boundary.
    pub fn crosses(&self, reg: VReg, k: u8) -> bool {
        self.bit[self.numbering.of(reg, k)] != LOCAL
    }

    /// Whether any component of `reg` is live across a block boundary.
    pub fn crosses_blocks(&self, func: &Function, reg: VReg) -> bool {
        (0..func.vregs[reg].components).any(|k| self.bit[self.numbering.of(reg, k)] != LOCAL)
    }

    /// Go through a block from its end to its start. `visit` gets each instruction with the set of
    /// components live just after it; the set is then stepped over the instruction. `live` is any
    /// set of this function (its contents are replaced); what is live on entry is left in it.
    pub fn walk_back(
        &self,
        func: &Function,
        block: Block,
        live: &mut LiveSet,
        mut visit: impl FnMut(InstId, &LiveSet),
    ) {
        live.clear();
        live.extend(self.live_out(block));
        for &inst in func.block_insts(block).iter().rev() {
            visit(inst, live);
            live.step_back(func, inst);
        }
    }

    /// An empty set over this function's components. It costs time in proportion to the registers of
    /// the function: make one and use it for all blocks.
    pub fn empty_set(&self) -> LiveSet<'_> {
        LiveSet { numbering: &self.numbering, place: vec![LOCAL; self.numbering.total], members: Vec::new() }
    }
}

/// A set of live components at one point, with the order of their arrival.
#[derive(Clone, Debug)]
pub struct LiveSet<'a> {
    numbering: &'a Numbering,
    /// Position in `members`, or `LOCAL`.
    place: Vec<u32>,
    members: Vec<Component>,
}

impl LiveSet<'_> {
    /// Add a component; whether it is new.
    pub fn insert(&mut self, (reg, k): Component) -> bool {
        let at = self.numbering.of(reg, k);
        let new = self.place[at] == LOCAL;
        if new {
            self.place[at] = self.members.len() as u32;
            self.members.push((reg, k));
        }
        new
    }

    /// Take a component out; whether it was there.
    pub fn remove(&mut self, (reg, k): Component) -> bool {
        let at = self.numbering.of(reg, k);
        let place = std::mem::replace(&mut self.place[at], LOCAL);
        if place == LOCAL {
            return false;
        }
        self.members.swap_remove(place as usize);
        if let Some((moved, mk)) = self.members.get(place as usize) {
            self.place[self.numbering.of(*moved, *mk)] = place;
        }
        true
    }

    /// Whether component `k` of `reg` is live.
    pub fn contains(&self, (reg, k): Component) -> bool {
        self.place[self.numbering.of(reg, k)] != LOCAL
    }

    /// Whether any component of `reg` is live.
    pub fn contains_reg(&self, func: &Function, reg: VReg) -> bool {
        (0..func.vregs[reg].components).any(|k| self.contains((reg, k)))
    }

    /// The members, in no particular but a reproducible order.
    pub fn iter(&self) -> impl Iterator<Item = Component> + '_ {
        self.members.iter().copied()
    }

    /// How many components are live.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether nothing is live.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Take everything out.
    pub fn clear(&mut self) {
        for (reg, k) in std::mem::take(&mut self.members) {
            let at = self.numbering.of(reg, k);
            self.place[at] = LOCAL;
        }
    }

    /// From the point after an instruction to the point before it.
    pub fn step_back(&mut self, func: &Function, inst: InstId) {
        func.for_each_def(inst, |r| {
            if !r.conditional {
                for k in r.range.clone() {
                    self.remove((r.reg, k));
                }
            }
        });
        if !func.insts[inst].is_phi() {
            func.for_each_use(inst, |r| {
                for k in r.range.clone() {
                    self.insert((r.reg, k));
                }
            });
        }
    }
}

impl Extend<Component> for LiveSet<'_> {
    fn extend<I: IntoIterator<Item = Component>>(&mut self, components: I) {
        for component in components {
            self.insert(component);
        }
    }
}
