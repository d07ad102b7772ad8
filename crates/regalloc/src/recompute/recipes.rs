//! How a value is made, and what it takes to make it once more somewhere else.

use super::{Chosen, general};
use oriole_isa::{Arch, RegFile, latency};
use oriole_ori::analysis::{DomTree, Flow};
use oriole_ori::{Block, Function, InstId, SecondaryMap, VReg};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::cell::RefCell;

/// Widest value, in 32-bit components.
const WIDEST: u8 = 2;
/// Instructions that a value takes in one block at most.
const MOST: u32 = 12;
/// Of what takes its time: reads of constant banks and of special registers.
const SLOW: u32 = 2;
/// So many values are computed from each other at most.
const DEEPEST: usize = 8;

/// A write of a register: which instruction, and its place.
#[derive(Clone, Copy)]
pub(super) struct Write {
    pub(super) inst: InstId,
    block: Block,
    place: u32,
    /// The components, as bits.
    mask: u128,
    /// It happens in any case.
    sure: bool,
}

/// The first place in a block where a register is read.
#[derive(Clone, Copy)]
struct Reads {
    block: Block,
    first: u32,
}

/// What it takes to compute a value again.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// The blocks where that is to be done.
    pub(super) blocks: Vec<Block>,
    /// How many instructions each of them needs.
    pub(super) costs: Vec<u32>,
    /// Registers that have to live longer for it.
    pub(super) longer: SmallVec<[VReg; 3]>,
    /// Registers that are read in a block.
    pub(super) read: Vec<(VReg, Block)>,
}

impl Needs {
    /// Nothing is read that may change.
    pub(super) fn is_closed(&self) -> bool {
        self.read.is_empty()
    }
}

/// Where what a value is computed from comes from.
#[derive(Clone, Copy)]
enum Source {
    /// It has a register there.
    Register,
    /// It could have one.
    Longer,
    /// It is made again, too.
    Again,
}

/// A function's registers: who writes and who reads them.
pub(super) struct Recipes<'a> {
    func: &'a Function,
    arch: Arch,
    flow: &'a Flow,
    dominators: DomTree,
    writes: SecondaryMap<VReg, SmallVec<[Write; 1]>>,
    /// By register: the blocks that read it, in the order of the layout.
    reads: SecondaryMap<VReg, Vec<Reads>>,
    /// By register, once it was asked: whether it has a recipe.
    has_recipe: RefCell<SecondaryMap<VReg, Option<bool>>>,
    /// By instruction, once it was asked: what it costs if it is cheap.
    costs: RefCell<SecondaryMap<InstId, Option<Option<u32>>>>,
}

impl<'a> Recipes<'a> {
    pub(super) fn new(func: &'a Function, arch: Arch, flow: &'a Flow, dominators: DomTree) -> Self {
        let (writes, reads) = (SecondaryMap::new(), SecondaryMap::new());
        let (has_recipe, costs) = Default::default();
        let mut recipes = Recipes { func, arch, flow, dominators, writes, reads, has_recipe, costs };
        for block in func.layout() {
            for (place, inst) in (0..).zip(func.block_insts(*block)) {
                recipes.mentions(*block, place, *inst);
            }
        }
        recipes
    }

    fn mentions(&mut self, block: Block, place: u32, inst: InstId) {
        let func = self.func;
        func.for_each_use(inst, |read| {
            let blocks = &mut self.reads[read.reg];
            if blocks.last().is_none_or(|last| last.block != block) {
                blocks.push(Reads { block, first: place });
            }
        });
        func.for_each_def(inst, |write| {
            let mask = write.range.clone().fold(0, |mask: u128, k| mask | 1 << k);
            self.writes[write.reg].push(Write { inst, block, place, mask, sure: !write.conditional });
        });
    }

    /// What it takes to compute `reg` again in each block that reads it, and in those where it is `needed`, with what is
    /// `chosen` to be computed again already.
    pub(super) fn needs(&self, reg: VReg, needed: &[Block], chosen: &Chosen) -> Option<Needs> {
        let writes = self.recipe(reg)?;
        let (home, last) = (writes[0].block, writes.iter().map(|write| write.place).max()?);
        let mut needs = Needs::default();
        for read in &self.reads[reg] {
            if read.block == home {
                if read.first <= last {
                    return None;
                }
                continue;
            }
            needs.blocks.push(read.block);
        }
        let others = needed.iter().filter(|block| **block != home);
        needs.blocks.extend(others);
        needs.blocks.sort_unstable();
        needs.blocks.dedup();
        if !needs.blocks.iter().all(|block| self.dominators.dominates(home, *block)) {
            return None;
        }
        for at in 0..needs.blocks.len() {
            let block = needs.blocks[at];
            let mut walk = Walk { most: MOST, ..Walk::new(self, block, chosen) };
            walk.make(reg, &mut Vec::new())?;
            needs.costs.push(walk.cost);
            needs.longer.extend(walk.longer);
            needs.read.extend(walk.read.into_iter().map(|source| (source, block)));
        }
        needs.longer.sort_unstable();
        needs.longer.dedup();
        Some(needs)
    }

    /// Where `source`, from which the last value of `path` is computed, each of the others from the next, comes from in `block`.
    fn source(&self, source: VReg, block: Block, path: &[VReg], chosen: &Chosen) -> Option<Source> {
        let can_be_made = || self.recipe(source).is_some();
        if chosen.gone[source] {
            return can_be_made().then_some(Source::Again);
        }
        let components = 0..self.func[source].components;
        let lives = || components.clone().all(|k| self.flow.live.is_live_in(block, source, k));
        let holds = || path.iter().all(|value| self.is_steady(source, *value));
        if lives() && holds() {
            return Some(Source::Register);
        }
        let (first, data) = (path.first()?, &self.func[source]);
        if chosen.longer.contains(&(*first, source)) && holds() {
            return Some(Source::Longer);
        }
        if can_be_made() {
            return Some(Source::Again);
        }
        (data.file() == RegFile::R && holds()).then_some(Source::Longer)
    }

    /// The instructions that make `reg`, in order, if they stand in one block, always happen, are cheap, and nothing else
    /// ever writes it.
    fn recipe(&self, reg: VReg) -> Option<&[Write]> {
        let known = self.has_recipe.borrow()[reg];
        let has_recipe = known.unwrap_or_else(|| {
            let found = self.is_made_cheaply(reg);
            self.has_recipe.borrow_mut()[reg] = Some(found);
            found
        });
        has_recipe.then(|| self.writes[reg].as_slice())
    }

    fn is_made_cheaply(&self, reg: VReg) -> bool {
        let (data, writes) = (&self.func[reg], self.writes[reg].as_slice());
        let Some(home) = writes.first().map(|write| write.block) else { return false };
        let file = matches!(data.file(), RegFile::R | RegFile::P | RegFile::UR);
        if !file || data.is_fixed() || data.components > WIDEST {
            return false;
        }
        let mut written = 0;
        for write in writes {
            if !write.sure || write.block != home || written & write.mask != 0 || self.cost(write.inst).is_none() {
                return false;
            }
            written |= write.mask;
        }
        written.count_ones() == u32::from(data.components)
    }

    /// Whether `source` holds all through the life of `reg` what it has where that is written: wherever `reg` lives nobody
    /// writes it.
    fn is_steady(&self, source: VReg, reg: VReg) -> bool {
        let data = &self.func[source];
        let home = &self.writes[reg];
        let apart = |other: &Write| {
            let in_life = (0..self.func[reg].components).any(|k| self.flow.live.is_live_in(other.block, reg, k));
            let ahead = |write: &Write| other.block != write.block || other.place < write.place;
            !in_life && home.iter().all(ahead)
        };
        source != reg && !data.is_fixed() && self.writes[source].iter().all(apart)
    }

    /// The block where `reg` is made, if it can be made again.
    pub(super) fn home(&self, reg: VReg) -> Option<Block> {
        Some(self.recipe(reg)?[0].block)
    }

    /// Of a cheap instruction: one of few results, computed from registers alone in fixed time, or read from what never
    /// changes.
    fn cost(&self, inst: InstId) -> Option<u32> {
        let known = self.costs.borrow()[inst];
        known.unwrap_or_else(|| {
            let cost = self.cost_of(inst);
            self.costs.borrow_mut()[inst] = Some(cost);
            cost
        })
    }

    fn cost_of(&self, inst: InstId) -> Option<u32> {
        let data = &self.func[inst];
        if let Some(twin) = general::twin(data, self.arch) {
            return Some(if latency::is_variable_opcode(twin.opcode, self.arch) { SLOW } else { 1 });
        }
        let results = data.defs().filter(|(_, to)| to.as_reg().is_some());
        // What is computed in uniform registers stays there.
        let is_uniform = data.defs().any(|(_, to)| to.as_reg().is_some_and(|reg| self.func[reg].reg_type.is_uniform()));
        if is_uniform || !data.depends_on_operands_alone(self.arch) || data.is_undef() || results.count() > 2 {
            return None;
        }
        let machine = self.func.with_stand_ins(data)?;
        if !latency::is_variable(&machine, self.arch) {
            return Some(1);
        }
        let mut reads = false;
        self.func.for_each_use(inst, |_| reads = true);
        (!reads).then_some(SLOW)
    }
}

/// An instruction that is repeated in a block.
pub(super) struct Step {
    pub(super) inst: InstId,
    /// What it reads of that which is made there; the rest it reads as it is.
    pub(super) made: SmallVec<[VReg; 4]>,
}

/// Makes values in a block.
pub(super) struct Walk<'w, 'a> {
    recipes: &'w Recipes<'a>,
    block: Block,
    chosen: &'w Chosen,
    made: FxHashSet<InstId>,
    /// What has to be repeated, in order.
    pub(super) steps: Vec<Step>,
    /// What that costs, and may cost.
    cost: u32,
    most: u32,
    longer: SmallVec<[VReg; 3]>,
    /// Registers that are read.
    read: SmallVec<[VReg; 4]>,
}

impl<'w, 'a> Walk<'w, 'a> {
    pub(super) fn new(recipes: &'w Recipes<'a>, block: Block, chosen: &'w Chosen) -> Self {
        let (longer, read) = (SmallVec::new(), SmallVec::new());
        Walk {
            recipes,
            block,
            chosen,
            made: FxHashSet::default(),
            steps: Vec::new(),
            cost: 0,
            most: u32::MAX,
            longer,
            read,
        }
    }

    /// Make `reg`, for the last value of `path` if there is one; `None` where that cannot be done, or takes too much.
    pub(super) fn make(&mut self, reg: VReg, path: &mut Vec<VReg>) -> Option<()> {
        let recipe = self.recipes.recipe(reg)?;
        path.push(reg);
        for inst in recipe.iter().map(|write| write.inst) {
            if !self.made.insert(inst) {
                continue;
            }
            self.cost += self.recipes.cost(inst)?;
            if path.len() > DEEPEST || self.cost > self.most {
                return None;
            }
            let mut sources: SmallVec<[VReg; 4]> = SmallVec::new();
            self.recipes.func.for_each_use(inst, |read| sources.push(read.reg));
            for source in &sources {
                self.source(*source, path)?;
            }
            // Of a register that another result of an instruction is in, only a part may be made.
            sources.retain(|source| self.is_made(*source));
            self.steps.push(Step { inst, made: sources });
        }
        path.pop();
        Some(())
    }

    /// Whether all that writes a register is repeated.
    pub(super) fn is_made(&self, reg: VReg) -> bool {
        let writes = &self.recipes.writes[reg];
        !writes.is_empty() && writes.iter().all(|write| self.made.contains(&write.inst))
    }

    fn source(&mut self, source: VReg, path: &mut Vec<VReg>) -> Option<()> {
        // The other half, or the carry out of the lower one.
        if self.is_made(source) {
            return Some(());
        }
        if path.contains(&source) {
            return None;
        }
        match self.recipes.source(source, self.block, path, self.chosen)? {
            Source::Again => return self.make(source, path),
            Source::Longer => self.longer.push(source),
            Source::Register => {}
        }
        self.read.push(source);
        Some(())
    }
}
