//! What is live where, before the code is put in order: the most registers that are needed at a time, and the stretches
//! of code that another order may help.

use crate::code::Reg;
use crate::lives::{Class, Counts};
use crate::values::Values;
use oriole_checkpoint::checkpoint;
use oriole_isa::{Arch, latency};
use oriole_ori::analysis::Liveness;
use oriole_ori::{Block, Function, InstId};
use std::ops::Range;

/// Instructions of a stretch: more is not gained by looking farther, and the tables stay in the processor's cache.
const LENGTH: usize = 2048;
/// Fewer instructions have no order to choose from.
const SHORTEST: usize = 4;
/// In blocks with fewer instructions the order finds a place for each test.
const TESTS: usize = 128;
/// Predicates that there are.
const PREDICATES: i32 = 7;

/// A piece of a block, to be put in order.
pub(crate) struct Stretch {
    pub(crate) block: Block,
    /// Places of its instructions in the block.
    pub(crate) places: Range<usize>,
    /// Registers in use before it.
    pub(crate) live: Counts,
    /// Most registers in use at a time.
    pub(crate) peak: Counts,
    /// What is in use behind it.
    pub(crate) live_out: Vec<Reg>,
}

/// A block that is too long to be looked at as a whole, or has more predicates at a time than there are.
pub(crate) struct LongBlock {
    pub(crate) block: Block,
    /// Most registers in use at a time.
    pub(crate) peak: Counts,
    /// What is in use behind it.
    pub(crate) live_out: Vec<Reg>,
}

/// A function as it stands: what is live where, and what another order may help.
pub struct Survey {
    /// Most registers in use at a time.
    pub(crate) peak: Counts,
    /// The most of general and uniform registers together: what general ones there would be without uniform ones.
    with_uniform: i32,
    /// The same as `peak` outside of the stretches.
    pub(crate) peak_elsewhere: Counts,
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) long_blocks: Vec<LongBlock>,
}

/// Whether some block may gain by another order.
pub(crate) fn may_gain(func: &Function, arch: Arch) -> bool {
    func.layout().iter().any(|block| gains(func, func.block_insts(*block), arch))
}

/// There is another order.
pub(crate) fn has_choice(insts: &[InstId]) -> bool {
    insts.len() >= SHORTEST
}

/// Something makes others wait that may have work to do meanwhile.
fn gains(func: &Function, insts: &[InstId], arch: Arch) -> bool {
    has_choice(insts) && insts.iter().any(|inst| latency::is_variable_opcode(func[*inst].opcode, arch))
}

impl Survey {
    /// With the stretches that may gain by another order. `live` must be the function's.
    pub fn of(func: &Function, arch: Arch, live: &Liveness) -> Self {
        Survey::new(&Values::new(func, arch), func, live, |insts| gains(func, insts, arch))
    }

    /// General registers that the function would need if it had no uniform ones. So many are given to it: what has gone to
    /// uniform registers leaves room for an order, and must not take some away.
    pub fn general_need(&self) -> u32 {
        self.with_uniform.max(0) as u32
    }

    /// Uniform registers in use at a time at most.
    pub(crate) fn uniform_peak(&self) -> u32 {
        self.peak.0[Class::Uniform as usize].max(0) as u32
    }

    /// With the stretches that are `wanted`.
    pub(crate) fn new(
        values: &Values<'_>,
        func: &Function,
        live: &Liveness,
        wanted: impl Fn(&[InstId]) -> bool,
    ) -> Self {
        let now = Live::new(values.registers());
        let mut walk = Walk { values, func, now, peak: Counts::default(), with_uniform: 0 };
        let (mut stretches, mut long_blocks) = (Vec::new(), Vec::new());
        let (mut peak, mut peak_elsewhere) = (Counts::default(), Counts::default());
        for &block in func.layout() {
            walk.now.clear();
            live.live_out(block).for_each(|(reg, k)| walk.insert(values.component(reg, k)));
            let mut in_block = Counts::default();
            let insts = func.block_insts(block);
            let at_end = (insts.len() > TESTS).then(|| walk.now.members.clone());
            for from in (0..insts.len()).step_by(LENGTH).rev() {
                checkpoint(LENGTH as u32);
                let places = from..insts.len().min(from + LENGTH);
                let wanted = wanted(&insts[places.clone()]);
                let live_out = if wanted { walk.now.members.clone() } else { Vec::new() };
                walk.peak = walk.now.counts;
                insts[places.clone()].iter().rev().for_each(|inst| walk.step_back(*inst));
                if wanted {
                    stretches.push(Stretch { block, places, live: walk.now.counts, peak: walk.peak, live_out });
                } else {
                    peak_elsewhere = peak_elsewhere.max(walk.peak);
                }
                in_block = in_block.max(walk.peak);
            }
            peak = peak.max(in_block);
            let sinks = insts.len() > LENGTH || in_block.0[Class::Predicate as usize] > PREDICATES;
            long_blocks.extend(at_end.filter(|_| sinks).map(|live_out| LongBlock { block, peak: in_block, live_out }));
        }
        let with_uniform = walk.with_uniform;
        Survey { peak, with_uniform, peak_elsewhere, stretches, long_blocks }
    }
}

/// The live registers: a set that can be gone through.
struct Live {
    members: Vec<Reg>,
    /// By register: its place among the members, if the member there is it.
    places: Vec<u32>,
    counts: Counts,
}

impl Live {
    fn new(registers: usize) -> Self {
        Live { members: Vec::new(), places: vec![0; registers], counts: Counts::default() }
    }

    fn clear(&mut self) {
        self.members.clear();
        self.counts = Counts::default();
    }

    fn place(&self, reg: Reg) -> Option<usize> {
        let place = self.places[reg as usize] as usize;
        (self.members.get(place) == Some(&reg)).then_some(place)
    }
}

/// A walk from the ends of blocks to their starts.
struct Walk<'w, 'f> {
    values: &'w Values<'f>,
    func: &'f Function,
    now: Live,
    /// Most registers in use at a time in this stretch.
    peak: Counts,
    /// Of general and uniform ones together, in the function.
    with_uniform: i32,
}

impl Walk<'_, '_> {
    fn insert(&mut self, reg: Reg) {
        if self.now.place(reg).is_none() {
            self.now.places[reg as usize] = self.now.members.len() as u32;
            self.now.members.push(reg);
            self.now.counts.add(self.values.class(reg), 1);
        }
    }

    fn remove(&mut self, reg: Reg) {
        if let Some(place) = self.now.place(reg) {
            self.now.members.swap_remove(place);
            if let Some(moved) = self.now.members.get(place) {
                self.now.places[*moved as usize] = place as u32;
            }
            self.now.counts.add(self.values.class(reg), -1);
        }
    }

    fn step_back(&mut self, inst: InstId) {
        let (func, values) = (self.func, self.values);
        func.for_each_def(inst, |write| {
            if !write.conditional {
                write.range.clone().for_each(|k| self.remove(values.component(write.reg, k)));
            }
        });
        func.for_each_use(inst, |read| {
            read.range.clone().for_each(|k| self.insert(values.component(read.reg, k)));
        });
        self.peak = self.peak.max(self.now.counts);
        let Counts(counts) = self.now.counts;
        let both = counts[Class::General as usize] + counts[Class::Uniform as usize];
        self.with_uniform = self.with_uniform.max(both);
    }
}
