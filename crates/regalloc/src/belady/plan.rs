//! What a plan consists of.

use crate::code::FileCode;
use crate::node::{Component, owners};
use crate::weights::BlockWeights;
use oriole_ori::{Block, InstId, SecondaryMap, VReg};
use rustc_hash::FxHashMap;

/// What happens to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    /// It goes to its home in memory.
    Store,
    /// It comes back: from memory, or it is computed again.
    Load,
}

/// Before which instruction; at the end of the block, but before what leaves it or calls there, if none is named.
pub(crate) type Anchor = Option<InstId>;

/// What is to be done in a block, in the order of its instructions; the end last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(pub(crate) Vec<(Anchor, Action, Component)>);

/// The price of a constant, as a part of that of a load.
const CONSTANT: f32 = 0.25;

/// Where components leave their registers, and where they come back.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) blocks: SecondaryMap<Block, Steps>,
    /// Components that come back by being computed again: their only definition.
    pub(crate) constants: Vec<Option<InstId>>,
    /// Components that go to their homes right behind the instruction that writes them.
    pub(crate) at_definition: FxHashMap<InstId, Vec<Component>>,
    /// Estimated executions of that.
    pub(crate) definitions: f32,
    /// Somewhere more has to stay than there is room for.
    pub(crate) short: bool,
}

impl Plan {
    /// The registers that leave or come back.
    pub(crate) fn moved(&self, lines: &FileCode) -> Vec<VReg> {
        let owner = owners(&lines.nodes);
        let parts = self.blocks.values().flat_map(|steps| &steps.0).map(|(.., component)| *component);
        let stored = self.at_definition.values().flatten().copied();
        let mut regs: Vec<VReg> =
            parts.chain(stored).map(|part| lines.nodes[owner[part as usize] as usize].vreg).collect();
        regs.sort_unstable();
        regs.dedup();
        regs
    }

    /// Estimated executions of what it adds.
    pub(crate) fn price(&self, weights: &BlockWeights) -> f32 {
        let constant = |component: Component| self.constants[component as usize].is_some();
        let price = |component| if constant(component) { CONSTANT } else { 1.0 };
        let of_block = |steps: &Steps| steps.0.iter().map(|(.., component)| price(*component)).sum::<f32>();
        self.definitions + self.blocks.iter().map(|(block, steps)| weights.of(block) * of_block(steps)).sum::<f32>()
    }

    /// Whether nothing has to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.at_definition.is_empty() && self.blocks.values().all(|steps| steps.0.is_empty())
    }
}
