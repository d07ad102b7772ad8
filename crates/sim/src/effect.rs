//! What an instruction is compiled to: a closure over resolved operands, and what it may reach when it runs.

use crate::access::{AccessLog, PhaseKind};
use crate::barrier::BarrierResult;
use crate::copies::Copies;
use crate::halt::Halt;
use crate::lanes::{Mask, WARP};
use crate::space::{Place, Spaces};
use crate::state::State;
use crate::tensor_cells::TensorMemory;
use crate::tensor_memory::Columns;
use oriole_device::Access;

/// A compiled arithmetic instruction.
pub(crate) type Compute = Box<dyn Fn(&mut State) + Send + Sync>;

/// What a family makes of an instruction: `None` if it is not one of its own.
pub(crate) type Found<T> = Result<Option<T>, Unsupported>;

/// Why an instruction cannot be executed (yet).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not simulated: {0}")]
pub(crate) struct Unsupported(
    /// What exactly: a modifier, an operand form.
    pub(crate) String,
);

/// Outside effects of one warp instruction: memory and the warp's environment.
pub(crate) struct Env<'a> {
    /// Memory.
    pub(crate) spaces: Spaces<'a>,
    /// What the block has printed.
    pub(crate) printed: &'a mut Vec<u8>,
    /// The result of the last `BAR.RED`.
    pub(crate) barrier_result: BarrierResult,
    /// Whether the block may do what depends on the order of blocks.
    pub(crate) turn: bool,
    /// See [`crate::block_state::BlockState::ordered_since`].
    pub(crate) ordered_since: &'a mut Option<u64>,
    /// Warp instructions that the block has executed.
    pub(crate) instructions: u64,
    /// See [`crate::cluster_state::ClusterState::signals`].
    pub(crate) signals: &'a mut u64,
    /// See [`crate::block_state::BlockState::register_pool`].
    pub(crate) register_pool: &'a mut u32,
    /// See [`crate::cluster_state::ClusterState::columns`].
    pub(crate) columns: &'a mut Columns,
    /// See [`crate::cluster_state::ClusterState::tensor`].
    pub(crate) tensor: &'a mut TensorMemory,
    /// A wait that tries again has to come to an end now, whether what it waits for has come or not.
    pub(crate) is_last_try: bool,
    /// Where an instruction reports what memory it touches, before it does so; `None` if nobody wants
    /// to know.
    pub(crate) log: Option<&'a mut AccessLog>,
    /// Under strict simulation: copies to shared memory that nobody has waited for.
    pub(crate) copies: Option<&'a mut Copies>,
}

impl Env<'_> {
    /// Stops a block that has no turn before it does something that depends on the order of blocks.
    pub(crate) fn require_turn(&mut self) -> Result<(), Halt> {
        self.ordered_since.get_or_insert(self.instructions);
        if self.turn { Ok(()) } else { Err(Halt::NeedsTurn) }
    }

    /// Reports an access of `lanes` to `bytes` bytes at each of their places.
    #[inline]
    pub(crate) fn report(&mut self, kind: Access, bytes: u32, lanes: Mask, places: &[Place; WARP]) {
        if let Some(log) = self.log.as_deref_mut() {
            log.push_places(kind, bytes, lanes, &places.map(|place| self.spaces.nearest(place)));
        }
    }

    /// Reports what happens to a phase of the mbarrier at `place`.
    pub(crate) fn report_phase(&mut self, place: Place, phase: bool, kind: PhaseKind) {
        if let (PhaseKind::Over, Some((rank, address))) = (kind, self.shared_place(place)) {
            self.tensor.see((rank, address, phase));
        }
        if let Some(log) = self.log.as_deref_mut() {
            log.push_phase(self.spaces.nearest(place), phase, kind);
        }
    }
}

/// A compiled instruction that needs more than registers.
pub(crate) type Effect = Box<dyn Fn(&mut State, &mut Env<'_>) -> Result<(), Halt> + Send + Sync>;
