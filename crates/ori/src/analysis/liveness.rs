//! Liveness per 32-bit component, of registers of the main datapath and of the uniform one.
//!
//! A write kills exactly the components that it writes, and only if it happens unconditionally. Only
//! components that some block reads before writing get a number; all others are live within one block
//! only and need none. The sources of a MovPhi are live at the end of their predecessor.
//!
//! Each numbered component is followed from its reads up to its writes, and each block gets a list of what is live at
//! its start and its end: time and memory are in proportion to these lists, not to blocks times components.

use super::cfg::Cfg;
use crate::entity::{Block, InstId, VReg, entry_for_each};
use crate::function::Function;
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use oriole_graph::Rows;

/// One 32-bit component of a register.
pub type Component = (VReg, u8);

/// Dense numbers for the components of all registers.
#[derive(Clone, Debug)]
pub struct Numbering {
    base: SecondaryMap<VReg, u32>,
    total: usize,
}

impl Numbering {
    /// Of the registers that a function has now.
    pub fn new(func: &Function) -> Self {
        let mut base = entry_for_each(func.regs().len());
        let mut total = 0u32;
        for (reg, data) in func.regs().iter() {
            base[reg] = total;
            total += u32::from(data.components);
        }
        Numbering { base, total: total as usize }
    }

    /// How many components there are.
    pub fn count(&self) -> usize {
        self.total
    }

    /// The components of a register.
    pub fn width(&self, reg: VReg) -> u8 {
        let next = self.base.get(VReg::from_u32(reg.as_u32() + 1)).map_or(self.total, |next| *next as usize);
        (next - self.of(reg, 0)) as u8
    }

    /// The number of a register's component; those of one register follow each other.
    #[inline]
    pub fn of(&self, reg: VReg, k: u8) -> usize {
        self.base[reg] as usize + usize::from(k)
    }
}

/// A component that lives across blocks.
#[derive(Clone, Copy, Debug)]
struct Global {
    component: Component,
    uniform: bool,
}

/// What the blocks do to components, by place in the numbering.
struct Events {
    /// The last block that reads it before it is written, and that which writes it for certain.
    last: Vec<Last>,
    /// (place, block) where it is read before it is written, each pair once.
    exposed: Vec<(u32, Block)>,
    /// The same where it is written for certain, beside the last block: few are in several.
    killed: Vec<(u32, Block)>,
    /// The same where it is read by a MovPhi of a successor.
    phi_out: Vec<(u32, Block)>,
    /// By number of a global: its place.
    places: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Last {
    exposed_in: PackedOption<Block>,
    written_in: PackedOption<Block>,
}

/// Liveness of a function at the time it was computed.
#[derive(Clone, Debug)]
pub struct Liveness {
    numbering: Numbering,
    /// Index of a component in `globals`; `u32::MAX` when it is local to a block.
    global: Vec<u32>,
    globals: Vec<Global>,
    /// By block: indices into `globals`, ascending.
    live_in: Rows<u32>,
    live_out: Rows<u32>,
}

const LOCAL: u32 = u32::MAX;

impl Liveness {
    /// Follow every component from its reads to its writes.
    pub fn new(func: &Function, cfg: &Cfg) -> Self {
        let numbering = Numbering::new(func);
        let global = vec![LOCAL; numbering.total];
        let mut this =
            Liveness { numbering, global, globals: Vec::new(), live_in: Rows::default(), live_out: Rows::default() };
        if is_one_block_of_values(func) {
            return this;
        }
        let events = this.read(func);
        if this.globals.is_empty() {
            return this;
        }
        let mut walk = Walk::new(cfg);
        walk.all(&events, &this.global, this.globals.len());
        let by_block = |pairs: &[(u32, Block)]| {
            Rows::new(func.blocks().len(), pairs.iter().map(|(global, block)| (block.as_u32(), *global)))
        };
        this.live_in = by_block(&walk.entered);
        this.live_out = by_block(&walk.left);
        this
    }

    /// Go through the function once: what its blocks do, and a number for every component that is read in a block
    /// before it is written there, or by a MovPhi.
    fn read(&mut self, func: &Function) -> Events {
        let last = vec![Last::default(); self.numbering.total];
        let mut events = Events { last, exposed: vec![], killed: vec![], phi_out: vec![], places: vec![] };
        for &block in func.layout() {
            let here = PackedOption::from(block);
            for &inst in func.block_insts(block) {
                if func[inst].is_phi() {
                    self.phi_sources(func, inst, &mut events);
                } else {
                    func.for_each_use(inst, |r| {
                        let first = self.numbering.of(r.reg, 0);
                        for k in r.range {
                            let at = first + usize::from(k);
                            let last = &mut events.last[at];
                            if last.written_in != here && last.exposed_in != here {
                                last.exposed_in = here;
                                events.exposed.push((at as u32, block));
                                self.number(func, (r.reg, k), at, &mut events.places);
                            }
                        }
                    });
                }
                func.for_each_def(inst, |r| {
                    let first = self.numbering.of(r.reg, 0);
                    for at in r.range.filter(|_| !r.conditional).map(|k| first + usize::from(k)) {
                        let before = std::mem::replace(&mut events.last[at].written_in, here);
                        if let Some(other) = before.expand()
                            && other != block
                        {
                            events.killed.push((at as u32, other));
                        }
                    }
                });
            }
        }
        events
    }

    fn number(&mut self, func: &Function, component: Component, at: usize, places: &mut Vec<u32>) {
        if self.global[at] == LOCAL {
            self.global[at] = self.globals.len() as u32;
            places.push(at as u32);
            let uniform = func[component.0].reg_type.is_uniform();
            self.globals.push(Global { component, uniform });
        }
    }

    fn phi_sources(&mut self, func: &Function, inst: InstId, events: &mut Events) {
        func.for_each_use(inst, |r| {
            for (reg, k) in r.components() {
                self.number(func, (reg, k), self.numbering.of(reg, k), &mut events.places);
            }
        });
        for (source, pred) in func.phi_inputs(inst) {
            let crate::operand::OperandKind::Reg(reg, piece) = source.kind() else { continue };
            for k in piece.range(func[reg].components) {
                events.phi_out.push((self.numbering.of(reg, k) as u32, pred));
            }
        }
    }

    fn members<'a>(&'a self, rows: &'a Rows<u32>, block: Block, uniform: bool) -> impl Iterator<Item = Component> + 'a {
        let globals = rows.row(block.index()).iter().map(|global| self.globals[*global as usize]);
        globals.filter(move |global| global.uniform == uniform).map(|global| global.component)
    }

    /// Components of main-datapath registers that are live on entry to a block.
    pub fn main_live_in(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        self.members(&self.live_in, block, false)
    }

    /// Components of main-datapath registers that are live at the end of a block.
    pub fn main_live_out(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        self.members(&self.live_out, block, false)
    }

    /// Components of uniform registers that are live on entry to a block.
    pub fn uniform_live_in(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        self.members(&self.live_in, block, true)
    }

    /// Components of uniform registers that are live at the end of a block.
    pub fn uniform_live_out(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        self.members(&self.live_out, block, true)
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
        self.live_in.row(block.index()).binary_search(&self.global[self.numbering.of(reg, k)]).is_ok()
    }

    /// Whether component `k` of `reg` is live at the end of `block`.
    pub fn is_live_out(&self, block: Block, reg: VReg, k: u8) -> bool {
        self.live_out.row(block.index()).binary_search(&self.global[self.numbering.of(reg, k)]).is_ok()
    }

    /// Whether component `k` of `reg` is live across a block boundary.
    pub fn crosses(&self, reg: VReg, k: u8) -> bool {
        self.global[self.numbering.of(reg, k)] != LOCAL
    }

    /// Whether any component of `reg` is live across a block boundary.
    pub fn crosses_blocks(&self, func: &Function, reg: VReg) -> bool {
        (0..func[reg].components).any(|k| self.crosses(reg, k))
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

/// Whether nothing can be live at the start or the end of a block, since there is but one, and each register is a value: written once,
/// ahead of those who read it.
fn is_one_block_of_values(func: &Function) -> bool {
    let alone = |block: &Block| func.succs(*block).is_empty();
    func.layout().len() == 1
        && func.layout().iter().all(alone)
        && func.live_in().is_empty()
        && func.first_value().is_some()
        && func.regs().keys().all(|reg| func.is_value(reg))
}

/// Follows one component after the other against the flow of control.
struct Walk<'a> {
    cfg: &'a Cfg,
    /// By block: the component that was last found to be written, live on entry, live at the end.
    killed_in: Vec<u32>,
    entered_in: Vec<u32>,
    left_in: Vec<u32>,
    /// Blocks on whose entry the component was found live, and whose predecessors have not been looked at.
    work: Vec<Block>,
    /// (component, block) where it is live on entry, and at the end.
    entered: Vec<(u32, Block)>,
    left: Vec<(u32, Block)>,
}

impl<'a> Walk<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        let none = || vec![LOCAL; cfg.bound()];
        let (killed_in, entered_in, left_in) = (none(), none(), none());
        Walk { cfg, killed_in, entered_in, left_in, work: Vec::new(), entered: Vec::new(), left: Vec::new() }
    }

    fn all(&mut self, events: &Events, global: &[u32], count: usize) {
        let of_globals = |events: &[(u32, Block)]| {
            let numbered = events.iter().map(|(at, block)| (global[*at as usize], *block));
            Rows::new(count, numbered.filter(|(global, _)| *global != LOCAL))
        };
        let (exposed, killed, phi_out) =
            (of_globals(&events.exposed), of_globals(&events.killed), of_globals(&events.phi_out));
        for global in 0..count {
            let number = global as u32;
            let last = events.last[events.places[global] as usize].written_in.expand();
            killed.row(global).iter().chain(&last).for_each(|block| self.killed_in[block.index()] = number);
            phi_out.row(global).iter().for_each(|block| self.leave(number, *block));
            exposed.row(global).iter().for_each(|block| self.enter(number, *block));
            while let Some(block) = self.work.pop() {
                let cfg = self.cfg;
                for pred in cfg.preds(block).iter().filter(|pred| cfg.is_reachable(**pred)) {
                    self.leave(number, *pred);
                }
            }
        }
    }

    /// The component is live at the end of `block`.
    fn leave(&mut self, number: u32, block: Block) {
        if std::mem::replace(&mut self.left_in[block.index()], number) != number {
            self.left.push((number, block));
            if self.killed_in[block.index()] != number && self.cfg.is_reachable(block) {
                self.enter(number, block);
            }
        }
    }

    /// The component is live on entry to `block`.
    fn enter(&mut self, number: u32, block: Block) {
        if std::mem::replace(&mut self.entered_in[block.index()], number) != number {
            self.entered.push((number, block));
            self.work.push(block);
        }
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
        (0..func[reg].components).any(|k| self.contains((reg, k)))
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
        if !func[inst].is_phi() {
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
