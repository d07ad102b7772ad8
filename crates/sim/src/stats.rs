//! What a launch has executed.

use crate::instruction::{Action, Op};
use crate::lanes::Mask;
use oriole_isa::Opcode;

/// Counts of one block, added up for the launch.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// Warps started.
    warps: u64,
    /// Warp instructions.
    instructions: u64,
    /// Thread instructions: lanes that the guard let through.
    thread_instructions: u64,
    /// Lanes of the executing groups, guarded off or not.
    group_lanes: u64,
    /// Warp instructions of flow families executed by less than a full warp.
    partial: u64,
    /// By opcode.
    opcodes: Vec<u64>,
}

/// What a group has executed in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row {
    /// Warp instructions.
    pub(crate) instructions: u64,
    /// Lanes that the guards of these instructions held back, added up.
    pub(crate) idle_lanes: u64,
    /// Those that do nothing.
    pub(crate) nothings: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Counts {
            warps: 0,
            instructions: 0,
            thread_instructions: 0,
            group_lanes: 0,
            partial: 0,
            opcodes: vec![0; Opcode::COUNT],
        }
    }
}

impl Counts {
    /// Counts of a block with this number of warps that has executed nothing.
    pub(crate) fn of_warps(warps: u64) -> Self {
        Counts { warps, ..Counts::default() }
    }

    /// One warp instruction of a group, of which the guard let the `active` lanes through.
    #[inline]
    pub(crate) fn record(&mut self, op: &Op, group: Mask, active: Mask) {
        self.instructions += 1;
        self.thread_instructions += u64::from(active.count_ones());
        self.group_lanes += u64::from(group.count_ones());
        if group != Mask::MAX && !matches!(op.action, Action::Nothing) {
            self.partial += 1;
        }
        self.opcode(op.opcode);
    }

    /// One warp instruction of this opcode.
    #[inline(always)]
    pub(crate) fn opcode(&mut self, opcode: Option<Opcode>) {
        if let Some(count) = opcode.and_then(|opcode| self.opcodes.get_mut(opcode as usize)) {
            *count += 1;
        }
    }

    /// The instructions of a row, but for their opcodes.
    pub(crate) fn record_row(&mut self, row: &Row, group: Mask) {
        let lanes = row.instructions * u64::from(group.count_ones());
        self.instructions += row.instructions;
        self.thread_instructions += lanes - row.idle_lanes;
        self.group_lanes += lanes;
        if group != Mask::MAX {
            self.partial += row.instructions - row.nothings;
        }
    }

    /// Adds the counts of another block.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.warps += other.warps;
        self.instructions += other.instructions;
        self.thread_instructions += other.thread_instructions;
        self.group_lanes += other.group_lanes;
        self.partial += other.partial;
        for (sum, count) in self.opcodes.iter_mut().zip(&other.opcodes) {
            *sum += count;
        }
    }

    /// The published form.
    pub(crate) fn statistics(&self, blocks: u64) -> Statistics {
        let executed = |(opcode, &count): (&Opcode, &u64)| (count > 0).then_some((*opcode, count));
        Statistics {
            blocks,
            warps: self.warps,
            warp_instructions: self.instructions,
            thread_instructions: self.thread_instructions,
            group_lanes: self.group_lanes,
            diverged_instructions: self.partial,
            opcodes: Opcode::ALL.iter().zip(&self.opcodes).filter_map(executed).collect(),
        }
    }
}

/// What a launch has executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
    /// Instructions, each counted once per group of threads that executed it together.
    pub warp_instructions: u64,
    /// Instructions, each counted once per thread whose guard let it through.
    pub thread_instructions: u64,
    /// Threads of the groups that executed the instructions, whether the guard let them through or
    /// not: divided by 32 times the warp instructions, the share of lanes in use.
    pub group_lanes: u64,
    /// Warp instructions executed by fewer than 32 threads.
    pub diverged_instructions: u64,
    /// Warp instructions by opcode, those executed only, in the order of [`Opcode::ALL`].
    pub opcodes: Vec<(Opcode, u64)>,
}
