//! What the warps of a block share.

use crate::access::AccessLog;
use crate::barrier::{BarrierResult, Barriers};
use crate::cluster_state::ClusterState;
use crate::copies::Copies;
use crate::effect::Env;
use crate::lanes::{Mask, WARP};
use crate::resources::Resources;
use crate::space::{LocalMemory, Spaces};

/// What the warps of a block share.
pub(crate) struct BlockState {
    /// Shared memory, in words.
    pub(crate) shared: Vec<u32>,
    /// Bytes of shared memory.
    pub(crate) shared_size: u64,
    /// The barriers.
    pub(crate) barriers: Barriers,
    /// What the block has printed.
    pub(crate) printed: Vec<u8>,
    /// Whether it may do what depends on the order of blocks.
    pub(crate) turn: bool,
    /// Instructions that the block had executed when it first did something of that kind, or since
    /// it last passed on the turn.
    pub(crate) ordered_since: Option<u64>,
    /// Warp instructions executed.
    pub(crate) instructions: u64,
    /// Rank of the block in its cluster.
    pub(crate) rank: usize,
    /// What the blocks of its cluster share, while the block runs.
    pub(crate) cluster: ClusterState,
    /// Registers per thread that warps have given back, all together.
    pub(crate) register_pool: u32,
    /// Waits that try again have run out: those that look again now are told that what they wait for has not come.
    pub(crate) expired: bool,
    /// The instruction at hand is tried again.
    pub(crate) retries: bool,
    /// What memory the instruction at hand touches, for those who look at each.
    pub(crate) log: Option<Box<AccessLog>>,
    /// Under strict simulation: copies to shared memory that nobody has waited for.
    pub(crate) copies: Option<Box<Copies>>,
}

impl BlockState {
    /// A block of this rank in its cluster with that shared memory (words, and bytes of them) whose warps have these living
    /// threads, at its start.
    pub(crate) fn new((shared, shared_size): (Vec<u32>, u64), rank: usize, live: Vec<Mask>) -> Self {
        BlockState {
            shared,
            shared_size,
            barriers: Barriers::new(live),
            printed: Vec::new(),
            turn: false,
            ordered_since: None,
            instructions: 0,
            rank,
            cluster: ClusterState::default(),
            register_pool: 0,
            expired: false,
            retries: false,
            log: None,
            copies: None,
        }
    }

    /// What an instruction of a warp with this local memory can reach.
    pub(crate) fn env<'e>(
        &'e mut self,
        resources: &'e Resources<'e>,
        local: &'e mut [LocalMemory; WARP],
        barrier_result: BarrierResult,
    ) -> Env<'e> {
        let spaces = Spaces {
            resources,
            shared: &mut self.shared,
            shared_size: self.shared_size,
            rank: self.rank,
            peers: &mut self.cluster.peers,
            local,
        };
        Env {
            spaces,
            printed: &mut self.printed,
            barrier_result,
            turn: self.turn,
            ordered_since: &mut self.ordered_since,
            instructions: self.instructions,
            signals: &mut self.cluster.signals,
            register_pool: &mut self.register_pool,
            columns: &mut self.cluster.columns,
            tensor: &mut self.cluster.tensor,
            is_last_try: self.expired && self.retries,
            log: self.log.as_deref_mut(),
            copies: self.copies.as_deref_mut(),
        }
    }
}
