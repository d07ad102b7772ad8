//! The order of a block: list scheduling by critical path.
//!
//! Of the instructions whose predecessors have issued and whose operands are ready, the one with the
//! longest way to the block's end issues next; original order breaks ties. Where nothing is ready the
//! clock moves on.

use crate::code::{ByRegister, Code, Op};
use crate::dependence::{Graph, build};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Reorder every block.
pub(crate) fn reorder(code: &mut Code) {
    let mut regs = ByRegister::new();
    for ops in code.ops.iter_mut().filter(|ops| ops.len() > 1) {
        let order = list_schedule(ops, &build(ops, &code.accesses, &mut regs));
        *ops = order.iter().map(|at| ops[*at as usize].clone()).collect();
    }
}

/// Cycles from each instruction's issue to the end of the block.
pub(crate) fn heights(graph: &Graph) -> Vec<u32> {
    let mut heights = vec![1u32; graph.incoming.len()];
    for at in (0..heights.len()).rev() {
        // Edges go forward, so the targets are done.
        let longest = graph.edges.row(at).iter().map(|e| e.latency + heights[e.to as usize]).max();
        heights[at] = longest.unwrap_or(1);
    }
    heights
}

fn list_schedule(ops: &[Op], graph: &Graph) -> Vec<u32> {
    let mut heights = heights(graph);
    // What comes at no fixed time and is read in other blocks is begun early.
    for (height, op) in heights.iter_mut().zip(ops).filter(|(_, op)| op.variable && !op.defs.is_empty()) {
        *height = (*height).max(op.opcode.estimate());
    }
    let mut incoming = graph.incoming.clone();
    let mut earliest = vec![0u32; heights.len()];
    let mut waiting: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut ready: BinaryHeap<(u32, Reverse<u32>)> = BinaryHeap::new();
    let roots = (0..heights.len() as u32).filter(|at| incoming[*at as usize] == 0);
    ready.extend(roots.map(|at| (heights[at as usize], Reverse(at))));
    let mut order = Vec::with_capacity(heights.len());
    let mut clock = 0;
    loop {
        while let Some(Reverse((time, at))) = waiting.peek().copied() {
            if time > clock {
                break;
            }
            waiting.pop();
            ready.push((heights[at as usize], Reverse(at)));
        }
        let Some((_, Reverse(at))) = ready.pop() else {
            match waiting.peek() {
                Some(Reverse((time, _))) => clock = *time,
                None => return order,
            }
            continue;
        };
        order.push(at);
        for edge in graph.edges.row(at as usize) {
            let to = edge.to as usize;
            earliest[to] = earliest[to].max(clock + edge.latency);
            incoming[to] -= 1;
            if incoming[to] == 0 {
                waiting.push(Reverse((earliest[to], edge.to)));
            }
        }
        clock += 1;
    }
}
