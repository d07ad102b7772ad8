//! What is in tensor memory (sm_100): 128 lanes of 512 columns of 32 bits for each block of a cluster.
//!
//! Products, copies and shifts are done when they issue. Strict simulation remembers which cells they touch until a thread has seen
//! the phase of an mbarrier end that their commit has arrived in; until then, loads and stores of warps there are faults. So is an
//! access to what a warp has stored and not waited for.

use crate::effect::Env;
use crate::space::Place;
use oriole_device::{FaultKind, Hazard, Quota};
use std::ops::Range;

/// Lanes of a block's tensor memory.
pub(crate) const LANES: usize = 128;
/// Columns, of 32 bits.
pub(crate) const COLUMNS: usize = 512;
/// Columns of the unit that allocation counts.
const UNIT: usize = 32;
/// Bytes of a block's tensor memory.
const BYTES: u64 = 4 * (LANES * COLUMNS) as u64;

/// A rectangle of cells in one block of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The block.
    pub(crate) rank: usize,
    /// Its lanes.
    pub(crate) lanes: Range<usize>,
    /// Its columns.
    pub(crate) columns: Range<usize>,
}

impl Part {
    fn meets(&self, other: &Part) -> bool {
        let meet = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        self.rank == other.rank && meet(&self.lanes, &other.lanes) && meet(&self.columns, &other.columns)
    }
}

/// Who touches cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// `LDTM`, `STTM` of a warp.
    Warp,
    /// Products, copies and shifts, which are in order among themselves.
    Unit,
}

/// Where a phase ends: block, shared address of the mbarrier, the phase's lowest bit.
type Phase = (usize, u64, bool);

/// Something that was started and is not known to be done.
#[derive(Clone, Debug)]
struct Started {
    by: By,
    /// The block and the warp that started it.
    owner: (usize, u32),
    /// Code address of the instruction.
    pc: u64,
    part: Part,
    writes: bool,
    /// Any of these says that it is done.
    phases: Vec<Phase>,
}

/// Tensor memory of the blocks of a cluster.
#[derive(Debug, Default)]
pub(crate) struct TensorMemory {
    /// By rank; empty where nothing was touched yet.
    blocks: Vec<Vec<u32>>,
    /// What is not known to be done is remembered.
    strict: bool,
    started: Vec<Started>,
    /// The warp at hand in its block, and the code address of its instruction.
    at: (u32, u64),
}

impl TensorMemory {
    /// `strict`: it is a fault to touch what is not known to be done.
    pub(crate) fn new(strict: bool) -> Self {
        TensorMemory { strict, ..TensorMemory::default() }
    }

    /// Bytes of the host that were counted for it.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks.iter().filter(|cells| !cells.is_empty()).count() as u64 * BYTES
    }

    /// A warp issues the instruction at a code address.
    pub(crate) fn issue(&mut self, warp: u32, pc: u64) {
        self.at = (warp, pc);
    }

    /// What the warp of the block has stored is there: it has waited.
    pub(crate) fn stored(&mut self, rank: usize, warp: u32) {
        self.started.retain(|started| started.by == By::Unit || started.owner != (rank, warp));
    }

    /// What the block has started is done when this phase is over.
    pub(crate) fn commit(&mut self, rank: usize, phase: Phase) {
        let of_block = |started: &&mut Started| started.by == By::Unit && started.owner.0 == rank;
        for started in self.started.iter_mut().filter(of_block) {
            if !started.phases.contains(&phase) {
                started.phases.push(phase);
            }
        }
    }

    /// A thread has seen that a phase is over.
    pub(crate) fn see(&mut self, phase: Phase) {
        self.started.retain(|started| !started.phases.contains(&phase));
    }

    /// The cells of a lane, from column 0 on, of a block that was touched.
    pub(crate) fn lane_mut(&mut self, rank: usize, lane: usize) -> &mut [u32] {
        self.blocks
            .get_mut(rank)
            .and_then(|cells| cells.get_mut(lane * COLUMNS..(lane + 1) * COLUMNS))
            .unwrap_or_default()
    }

    /// A cell; zero outside of blocks that were touched.
    pub(crate) fn cell(&self, rank: usize, lane: usize, column: usize) -> u32 {
        self.blocks.get(rank).and_then(|cells| cells.get(lane * COLUMNS + column)).copied().unwrap_or_default()
    }

    /// Makes room for a block's cells.
    fn touch(&mut self, rank: usize, quota: &Quota) -> Result<(), FaultKind> {
        if self.blocks.len() <= rank {
            self.blocks.resize(rank + 1, Vec::new());
        }
        if self.blocks[rank].is_empty() {
            self.blocks[rank] = oriole_device::zeros(LANES * COLUMNS, quota).map_err(FaultKind::OutOfMemory)?;
        }
        Ok(())
    }

    /// The fault of touching what is not known to be done, or the note that something was started.
    fn judge(&mut self, rank: usize, by: By, part: &Part, writes: bool) -> Result<(), FaultKind> {
        if !self.strict {
            return Ok(());
        }
        let conflicts = |started: &&Started| {
            (by == By::Warp || started.by == By::Warp) && (writes || started.writes) && started.part.meets(part)
        };
        // A warp's own stores to the same cells are in order.
        let in_order = |started: &Started| by == By::Warp && started.by == By::Warp && writes;
        if let Some(started) = self.started.iter().filter(conflicts).find(|started| !in_order(started)) {
            return Err(FaultKind::Hazard(early(started, writes)));
        }
        let is_asynchronous = by == By::Unit || writes;
        let (warp, pc) = self.at;
        let same = |started: &Started| {
            (started.by, started.writes, started.phases.is_empty()) == (by, writes, true)
                && started.owner == (rank, warp)
                && started.part == *part
        };
        if is_asynchronous && !self.started.iter().any(same) {
            let part = part.clone();
            self.started.push(Started { by, owner: (rank, warp), pc, part, writes, phases: Vec::new() });
        }
        Ok(())
    }
}

/// The fault of an access that is too early.
fn early(started: &Started, writes: bool) -> Hazard {
    Hazard {
        kind: if writes { "write before it is done" } else { "read before it is done" },
        register: "tensor memory".to_owned(),
        earlier: format!("what was started at code address {:#x}", started.pc),
        missing_cycles: 0,
        remedy: match started.by {
            By::Unit => "it needs a wait for the mbarrier of a tcgen05.commit (UTCBAR)".to_owned(),
            By::Warp => "it needs a tcgen05.wait::st (FENCE.VIEW.ASYNC.T)".to_owned(),
        },
    }
}

impl Env<'_> {
    /// Touches a part of tensor memory.
    ///
    /// # Errors
    /// It is outside of what the block holds, or too early.
    pub(crate) fn touch_tensor(&mut self, by: By, part: &Part, writes: bool) -> Result<(), FaultKind> {
        if part.lanes.end > LANES || part.columns.end > COLUMNS {
            let what = format!("{part:?}: tensor memory has {LANES} lanes and {COLUMNS} columns");
            return Err(FaultKind::Misuse(what));
        }
        let held = *self.columns.of(part.rank);
        let free = |column: &usize| held >> (column / UNIT) & 1 == 0;
        if let Some(column) = part.columns.clone().find(free) {
            let what = format!("column {column} of tensor memory, which the block of rank {} does not hold", part.rank);
            return Err(FaultKind::Misuse(what));
        }
        self.tensor.touch(part.rank, self.spaces.resources.memory.quota())?;
        self.tensor.judge(self.spaces.rank, by, part, writes)
    }

    /// The block and offset of a place in shared memory.
    pub(crate) fn shared_place(&self, place: Place) -> Option<(usize, u64)> {
        match place {
            Place::Shared(address) => Some((self.spaces.rank, address)),
            Place::Cluster { rank, address } => Some((rank, address)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(lanes: Range<usize>, columns: Range<usize>) -> Part {
        Part { rank: 0, lanes, columns }
    }

    #[test]
    fn a_product_is_there_when_its_phase_was_seen() {
        let mut memory = TensorMemory::new(true);
        memory.issue(0, 0x40);
        memory.judge(0, By::Unit, &part(0..128, 0..16), true).expect("nothing was started");
        memory.judge(0, By::Unit, &part(0..128, 0..16), true).expect("products are in order");
        memory.judge(0, By::Warp, &part(32..64, 16..32), false).expect("other columns");
        assert!(memory.judge(0, By::Warp, &part(32..64, 15..16), false).is_err());
        memory.see((0, 8, false));
        memory.commit(0, (0, 8, true));
        memory.see((0, 8, false));
        assert!(memory.judge(0, By::Warp, &part(32..64, 0..1), false).is_err(), "another phase");
        memory.see((0, 8, true));
        memory.judge(0, By::Warp, &part(32..64, 0..1), false).expect("it was seen");
    }

    #[test]
    fn a_store_is_there_when_its_warp_has_waited() {
        let mut memory = TensorMemory::new(true);
        memory.issue(1, 0x40);
        memory.judge(0, By::Warp, &part(32..64, 0..4), true).expect("nothing was started");
        memory.judge(0, By::Warp, &part(32..64, 2..4), true).expect("stores are in order");
        assert!(memory.judge(0, By::Unit, &part(0..128, 3..4), false).is_err());
        assert!(memory.judge(0, By::Warp, &part(32..64, 0..1), false).is_err());
        memory.stored(0, 0);
        assert!(memory.judge(0, By::Warp, &part(32..64, 0..1), false).is_err(), "another warp has waited");
        memory.stored(0, 1);
        memory.judge(0, By::Unit, &part(0..128, 0..4), false).expect("it has waited");
    }
}
