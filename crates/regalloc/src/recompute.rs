//! Ahead of the order: values that live through blocks where more are live than there are registers, and that one cheap
//! instruction computes from what lives there all the same, are computed again where they are read.
//!
//! The order of a block cannot help what lives through it, and the plan by next uses ([`crate::belady`]) computes nothing
//! again but constants. Addresses and bounds at fixed distances from each other are the rest: `IADD3 R20, R19, -3` needs no
//! register of its own where R19 has one.

use crate::AllocError;
use crate::limits::RegisterBudget;
use crate::weights::BlockWeights;
use oriole_isa::{Arch, RegFile, latency};
use oriole_ori::analysis::{DomTree, Flow, LoopForest};
use oriole_ori::{Block, Function, InstId, SecondaryMap, VReg};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Registers that stay for what lives within a block, beyond what lives through it: for its instructions, so that an order
/// finds room, for the stack pointer, and for gaps before wide values.
const OWN_NEED: u32 = 11;
/// Widest value, in 32-bit components.
const WIDEST: u8 = 2;

/// Compute again what can be, where `func` needs more registers than `budget` gives. The function's flow, if it had to be
/// looked at and has not changed.
///
/// # Errors
/// There is no name left for a register.
pub fn recompute(func: &mut Function, arch: Arch, budget: &RegisterBudget) -> Result<Option<Flow>, AllocError> {
    if !budget.may_be_short(func) {
        return Ok(None);
    }
    let flow = Flow::new(func);
    let mut excess = through(func, &flow);
    for block in func.layout() {
        let room = budget.in_block(*block).saturating_sub(OWN_NEED);
        excess[*block] = excess[*block].saturating_sub(room);
    }
    if excess.values().all(|missing| *missing == 0) {
        return Ok(Some(flow));
    }
    let chosen = Search::new(func, arch, &flow).choose(excess);
    if chosen.is_empty() {
        return Ok(Some(flow));
    }
    carry_out(func, &chosen)?;
    Ok(None)
}

/// A number of R components.
type ByBlock = SecondaryMap<Block, u32>;

/// Those that live at the start of a block or at its end.
fn through(func: &Function, flow: &Flow) -> ByBlock {
    let mut counts = ByBlock::new();
    let general = |(reg, _): &(VReg, u8)| func[*reg].file() == RegFile::R;
    for block in func.layout() {
        let at_start = flow.live.main_live_in(*block).filter(general).count();
        let at_end = flow.live.main_live_out(*block).filter(general).count();
        counts[*block] = at_start.max(at_end) as u32;
    }
    counts
}

/// A write of a register: which instruction, and its place.
#[derive(Clone, Copy)]
struct Write {
    inst: InstId,
    block: Block,
    place: u32,
    /// All components are written in any case.
    whole: bool,
}

/// A value that can be computed again.
struct Value {
    reg: VReg,
    inst: InstId,
    /// Where that stands.
    home: Block,
    /// Registers that it is computed from.
    sources: SmallVec<[VReg; 3]>,
    /// Those of them that live longer for it.
    extended: SmallVec<[VReg; 3]>,
    /// By block other than `home` that reads it: its first read there.
    reads: Vec<(Block, InstId)>,
    /// Blocks through which it lives.
    lives_through: Vec<Block>,
}

struct Search<'a> {
    func: &'a Function,
    arch: Arch,
    flow: &'a Flow,
    weights: BlockWeights,
    dominators: DomTree,
    writes: SecondaryMap<VReg, SmallVec<[Write; 1]>>,
    /// By register: the blocks that read it, in the order of the layout.
    reads: SecondaryMap<VReg, Vec<Reads>>,
}

/// The first and the last place in a block where a register is read.
#[derive(Clone, Copy)]
struct Reads {
    block: Block,
    /// The block's place in the layout.
    at: u32,
    first: (u32, InstId),
    last: u32,
}

impl<'a> Search<'a> {
    fn new(func: &'a Function, arch: Arch, flow: &'a Flow) -> Self {
        let dominators = DomTree::dominators(&flow.cfg);
        let weights = BlockWeights::new(func, &LoopForest::new(&flow.cfg, &dominators));
        let (writes, reads) = (SecondaryMap::new(), SecondaryMap::new());
        let mut search = Search { func, arch, flow, weights, dominators, writes, reads };
        for (at, block) in (0..).zip(func.layout()) {
            for (place, inst) in (0..).zip(func.block_insts(*block)) {
                search.mentions((at, *block), place, *inst);
            }
        }
        search
    }

    fn mentions(&mut self, (at, block): (u32, Block), place: u32, inst: InstId) {
        let func = self.func;
        func.for_each_use(inst, |read| {
            let blocks = &mut self.reads[read.reg];
            match blocks.last_mut().filter(|last| last.block == block) {
                Some(last) => last.last = place,
                None => blocks.push(Reads { block, at, first: (place, inst), last: place }),
            }
        });
        func.for_each_def(inst, |write| {
            let whole = !write.conditional && write.range.len() == usize::from(func[write.reg].components);
            self.writes[write.reg].push(Write { inst, block, place, whole });
        });
    }

    /// What is computed again so that nowhere registers are missing, which are by `excess` now: the cheapest first.
    fn choose(&self, mut excess: ByBlock) -> Vec<Value> {
        let mut values: Vec<(f32, Value)> = self
            .values(&excess)
            .into_iter()
            .map(|value| (self.price(&value) / self.relief(&value, &excess), value))
            .collect();
        values.sort_by(|(a, left), (b, right)| a.total_cmp(b).then(left.reg.cmp(&right.reg)));
        let mut kept: SecondaryMap<VReg, bool> = SecondaryMap::new();
        let mut gone: SecondaryMap<VReg, bool> = SecondaryMap::new();
        let mut chosen = Vec::new();
        for (_, value) in values {
            let helps = value.lives_through.iter().any(|block| excess[*block] > 0);
            if !helps || kept[value.reg] || value.sources.iter().any(|source| gone[*source]) {
                continue;
            }
            let width = self.width(&value, |source| kept[source]);
            value.lives_through.iter().for_each(|block| excess[*block] = excess[*block].saturating_sub(width));
            value.sources.iter().for_each(|source| kept[*source] = true);
            gone[value.reg] = true;
            chosen.push(value);
        }
        chosen
    }

    /// Instructions that are executed more than before.
    fn price(&self, value: &Value) -> f32 {
        value.reads.iter().map(|(block, _)| self.weights.of(*block)).sum()
    }

    /// How often registers become free where there are not enough.
    fn relief(&self, value: &Value, excess: &ByBlock) -> f32 {
        let freed = value.lives_through.iter().filter(|block| excess[**block] > 0).map(|block| self.weights.of(*block));
        self.width(value, |_| false) as f32 * freed.sum::<f32>()
    }

    /// Values that live through blocks with too many, and that can be computed wherever they are read.
    fn values(&self, excess: &ByBlock) -> Vec<Value> {
        let mut lives_through: SecondaryMap<VReg, Vec<Block>> = SecondaryMap::new();
        for block in self.func.layout().iter().filter(|block| self.flow.cfg.is_reachable(**block)) {
            for (reg, _) in self.flow.live.main_live_in(*block).filter(|(_, k)| *k == 0) {
                lives_through[reg].push(*block);
            }
        }
        let crowded = |blocks: &[Block]| blocks.iter().any(|block| excess[*block] > 0);
        let regs = self.func.regs().keys().filter(|reg| crowded(&lives_through[*reg]));
        regs.filter_map(|reg| self.value(reg, &lives_through[reg])).collect()
    }

    fn value(&self, reg: VReg, lives_through: &[Block]) -> Option<Value> {
        let data = &self.func[reg];
        let &[write] = self.writes[reg].as_slice() else { return None };
        if data.file() != RegFile::R || data.is_fixed() || data.components > WIDEST {
            return None;
        }
        if !write.whole || !self.is_cheap(write.inst) {
            return None;
        }
        let mut sources: SmallVec<[VReg; 3]> = SmallVec::new();
        self.func.for_each_use(write.inst, |read| sources.push(read.reg));
        sources.sort_unstable();
        sources.dedup();
        if !sources.iter().all(|source| self.is_steady(*source, reg, write)) {
            return None;
        }
        let mut reads = Vec::new();
        let mut extended: SmallVec<[VReg; 3]> = SmallVec::new();
        for read in &self.reads[reg] {
            if read.block == write.block {
                if read.first.0 <= write.place {
                    return None;
                }
                continue;
            }
            if !self.dominators.dominates(write.block, read.block) {
                return None;
            }
            extended.extend(sources.iter().filter(|source| !self.lives_at(**source, read)).copied());
            reads.push((read.block, read.first.1));
        }
        extended.sort_unstable();
        extended.dedup();
        let value = Value {
            reg,
            inst: write.inst,
            home: write.block,
            sources,
            extended,
            reads,
            lives_through: lives_through.to_vec(),
        };
        (self.width(&value, |_| false) > 0).then_some(value)
    }

    /// How many registers become free where the value lives through; sources that are `kept` already cost none.
    fn width(&self, value: &Value, kept: impl Fn(VReg) -> bool) -> u32 {
        let longer = value.extended.iter().filter(|source| !kept(**source));
        let longer: u32 = longer.map(|source| u32::from(self.func[*source].components)).sum();
        u32::from(self.func[value.reg].components).saturating_sub(longer)
    }

    /// Whether `source` holds all through the life of `reg` what it has where that is written: wherever `reg` lives nobody
    /// writes it.
    fn is_steady(&self, source: VReg, reg: VReg, write: Write) -> bool {
        let data = &self.func[source];
        let apart = |other: &Write| {
            let in_life = (0..self.func[reg].components).any(|k| self.flow.live.is_live_in(other.block, reg, k));
            !in_life && (other.block != write.block || other.place < write.place)
        };
        source != reg && data.file() == RegFile::R && !data.is_fixed() && self.writes[source].iter().all(apart)
    }

    /// One instruction with one result, of fixed latency.
    fn is_cheap(&self, inst: InstId) -> bool {
        let data = &self.func[inst];
        data.depends_on_operands_alone(self.arch)
            && !data.is_undef()
            && data.defs().filter(|(_, to)| to.as_reg().is_some()).count() == 1
            && self.func.with_stand_ins(data).is_some_and(|inst| !latency::is_variable(&inst, self.arch))
    }

    /// Whether a register is needed, at or behind the first read of another in a block.
    fn lives_at(&self, source: VReg, read: &Reads) -> bool {
        let components = 0..self.func[source].components;
        let live = &self.flow.live;
        let reads = &self.reads[source];
        let own = reads.binary_search_by_key(&read.at, |own| own.at).ok().map(|found| reads[found]);
        components.clone().all(|k| live.is_live_in(read.block, source, k))
            && (components.clone().all(|k| live.is_live_out(read.block, source, k))
                || own.is_some_and(|own| own.last >= read.first.0))
    }
}

/// Compute the values again in each block that reads them, and no more where they were if nobody reads them there. None is
/// computed from another.
fn carry_out(func: &mut Function, values: &[Value]) -> Result<(), AllocError> {
    let mut by_block: SecondaryMap<Block, Vec<Again>> = SecondaryMap::new();
    for value in values {
        for (block, first) in &value.reads {
            let name = func.new_vreg_like(value.reg)?;
            by_block[*block].push(Again { first: *first, inst: value.inst, reg: value.reg, name });
        }
    }
    for block in func.layout().to_vec() {
        if !by_block[block].is_empty() {
            compute_in_block(func, block, &by_block[block]);
        }
    }
    remove_unread(func, values);
    Ok(())
}

/// Ahead of instruction `first`, `inst` computes `reg` again, which is `name` from there on to the end of the block.
#[derive(Clone, Copy)]
struct Again {
    first: InstId,
    inst: InstId,
    reg: VReg,
    name: VReg,
}

fn compute_in_block(func: &mut Function, block: Block, values: &[Again]) {
    let mut ahead: FxHashMap<InstId, SmallVec<[Again; 1]>> = FxHashMap::default();
    values.iter().for_each(|value| ahead.entry(value.first).or_default().push(*value));
    // What reads a value here stands behind its first read.
    let names: FxHashMap<VReg, VReg> = values.iter().map(|value| (value.reg, value.name)).collect();
    let insts = func.edit().take_insts(block);
    let mut edited = Vec::with_capacity(insts.len() + values.len());
    for inst in insts {
        for value in ahead.remove(&inst).into_iter().flatten() {
            let again = func[value.inst].clone();
            let again = func.edit().add(again);
            func.edit().rename_regs(again, |reg, is_def| if is_def && reg == value.reg { value.name } else { reg });
            edited.push(again);
        }
        func.edit().rename_regs(inst, |reg, is_def| if is_def { reg } else { *names.get(&reg).unwrap_or(&reg) });
        edited.push(inst);
    }
    func.edit().set_insts(block, edited);
}

/// Take out what computed the values, where nobody reads them any more.
fn remove_unread(func: &mut Function, values: &[Value]) {
    let mut unread: FxHashMap<VReg, InstId> = values.iter().map(|value| (value.reg, value.inst)).collect();
    let homes: FxHashSet<Block> = values.iter().map(|value| value.home).collect();
    for inst in homes.iter().flat_map(|home| func.block_insts(*home)) {
        func.for_each_use(*inst, |read| {
            unread.remove(&read.reg);
        });
    }
    let gone: FxHashSet<InstId> = unread.into_values().collect();
    for home in homes {
        func.edit().retain_insts(home, |_, inst| !gone.contains(&inst));
    }
}
