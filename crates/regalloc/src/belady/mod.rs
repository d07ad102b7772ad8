//! Spilling by next use, ahead of colouring: where more values are live than there are registers, the one that is needed
//! last leaves, and comes back before it is needed.
//!
//! After Braun and Hack, "Register spilling and live-range splitting for SSA-form programs" (2009), which is Belady's
//! rule for pages (1966) with joins and loops: each block begins with a set of components in registers, chosen by how
//! far their next reads are; what a predecessor has not there it loads at its end. Components keep their names while
//! this is planned, so no joins have to be repaired; what a value has become in pieces gets names afterwards
//! ([`crate::webs`]). Constants are not kept in memory, they are computed again. What has to survive a call has the
//! registers that the callee leaves alone.

mod distances;
mod edges;
mod entry;
mod homes;
mod insert;
mod latches;
mod plan;
mod pressure;
mod walk;

pub(crate) use insert::{Slots, apply, ends_block};
pub(crate) use latches::split_latches;
pub(crate) use plan::{Anchor, Plan};
pub(crate) use pressure::most_live;

use crate::code::{Code, FileCode};
use crate::fatpoint::{below, count};
use crate::graph::PhysicalSet;
use crate::node::Component;
use oriole_isa::Arch;
use oriole_ori::analysis::{Flow, LoopForest};
use oriole_ori::{Block, Function, SecondaryMap};

/// What a plan goes by.
pub(crate) struct Scene<'a> {
    pub(crate) func: &'a Function,
    pub(crate) arch: Arch,
    pub(crate) code: &'a Code,
    pub(crate) lines: &'a FileCode,
    pub(crate) flow: &'a Flow,
    pub(crate) loops: &'a LoopForest,
    /// By block, how many registers there are, where that changes on the way.
    pub(crate) limits: Option<&'a SecondaryMap<Block, u16>>,
}

/// The registers that there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Those that may be given to values.
    pub(crate) usable: PhysicalSet,
    /// How many of them stay free, since wide values need neighbours.
    pub(crate) spare: u32,
    /// Nothing goes to memory: what cannot be computed again stays. Where that is not enough, the plan ends there.
    pub(crate) only_constants: bool,
}

impl Room {
    /// How many registers there are.
    pub(crate) fn all(&self) -> u32 {
        count(&self.usable)
    }

    /// How many components may be live at a time.
    pub(crate) fn size(&self) -> usize {
        self.all().saturating_sub(self.spare) as usize
    }

    /// How many may be live across a call that changes the registers `clobbers`.
    fn across(&self, clobbers: &PhysicalSet) -> usize {
        let kept: PhysicalSet = std::array::from_fn(|word| self.usable[word] & !clobbers[word]);
        count(&kept).saturating_sub(self.spare) as usize
    }
}

/// Plan where values leave and come back so that all fit the room.
pub(crate) fn plan(scene: &Scene<'_>, room: Room) -> Plan {
    walk::Walk::new(scene, room).run()
}

/// Of a component that is not read again.
const NEVER: u32 = u32::MAX;

/// So far away is what is read behind a loop, for each loop that is left on the way.
const LOOP_EXIT: u32 = 1 << 20;

impl Scene<'_> {
    /// What there is of `room` in a block.
    pub(crate) fn room(&self, room: Room, block: Block) -> Room {
        let Some(limits) = self.limits else { return room };
        let below = below(limits[block]);
        Room { usable: std::array::from_fn(|word| room.usable[word] & below[word]), ..room }
    }

    /// The component of the file, if the code names its register.
    fn component(&self, part: oriole_ori::analysis::Component) -> Option<Component> {
        self.code.component(self.func, self.lines.file, &self.lines.nodes, part)
    }

    /// What is live at the start of a block.
    pub(crate) fn live_in(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        self.flow.live.live_in(block).filter_map(|part| self.component(part))
    }

    /// What is live at the end of a block.
    pub(crate) fn live_out(&self, block: Block) -> impl Iterator<Item = Component> + '_ {
        self.flow.live.live_out(block).filter_map(|part| self.component(part))
    }
}
