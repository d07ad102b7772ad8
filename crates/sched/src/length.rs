//! How long each block takes in the order in which it stands, on virtual registers or behind allocation.

use crate::code::Op;
use crate::dependence::GraphBuilder;
use crate::values::Values;
use oriole_isa::{Arch, Space};
use oriole_ori::analysis::Liveness;
use oriole_ori::{Block, Function, InstId, SecondaryMap, entry_for_each};

/// Cycles that one warp takes for each block, alone on a multiprocessor whose units are always free: an instruction issues when
/// its operands are there, by the latencies that a scheduler may assume, one a cycle, and the block ends when the last has issued
/// and what other blocks read of it has come. What is loaded of global memory takes `memory` cycles at least: how far away it is
/// decides whether loads one behind the other matter.
pub fn block_cycles(func: &Function, arch: Arch, live: &Liveness, memory: u32) -> SecondaryMap<Block, u32> {
    let mut values = Values::new(func, arch);
    let mut graphs = GraphBuilder::of(values.registers());
    let mut cycles = entry_for_each(func.blocks().len());
    for &block in func.layout() {
        let ops = values.ops(func.block_insts(block));
        let graph = graphs.build(&ops, &values.accesses);
        let mut earliest = vec![0; ops.len()];
        let (mut now, mut end) = (0, 0);
        for (at, op) in ops.iter().enumerate() {
            // Marks and MovPhis are no instructions of the code: nobody waits for them.
            if !func.emits_code(op.id) {
                continue;
            }
            now = earliest[at].max(now);
            let estimate = op.opcode.estimate();
            let comes = if Space::Global.meets(op.opcode.space()) { estimate.max(memory) } else { estimate };
            for edge in graph.edges.row(at) {
                let to = &mut earliest[edge.to as usize];
                let is_result = op.variable && edge.latency == estimate;
                let latency = if is_result { comes } else { edge.latency };
                *to = (now + latency).max(*to);
            }
            if op.variable && leaves_block(func, op, block, live) {
                end = end.max(now + comes);
            }
            now += 1;
        }
        cycles[block] = end.max(now);
    }
    cycles
}

/// Whether another block may read a result of the instruction.
fn leaves_block(func: &Function, op: &Op<InstId>, block: Block, live: &Liveness) -> bool {
    let mut leaves = false;
    func.for_each_def(op.id, |write| {
        leaves |= write.range.clone().any(|k| live.is_live_out(block, write.reg, k));
    });
    leaves
}
