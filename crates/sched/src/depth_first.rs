//! An order that needs few registers where the source's is good but for what it computes too early: what something waits for
//! comes right before the first that waits for it.

use crate::dependence::Graph;
use oriole_checkpoint::checkpoint;

/// The instructions in an order from first to last: those that nothing waits for as in the source, each behind what it waits
/// for and what that waits for.
pub(crate) fn depth_first_order(graph: &Graph) -> Vec<u32> {
    let last = |at: &u32| graph.edges.row(*at as usize).is_empty();
    behind_what_they_wait_for(graph, (0..graph.incoming.len() as u32).filter(last))
}

/// These instructions as they come, each behind what it waits for and what that waits for; each instruction once.
pub(crate) fn behind_what_they_wait_for(graph: &Graph, insts: impl Iterator<Item = u32>) -> Vec<u32> {
    let count = graph.incoming.len();
    let before = graph.waits();
    let mut order = Vec::with_capacity(count);
    let mut reached = vec![false; count];
    let mut way: Vec<(u32, usize)> = Vec::new();
    for inst in insts {
        if std::mem::replace(&mut reached[inst as usize], true) {
            continue;
        }
        way.push((inst, 0));
        while let Some((at, next)) = way.pop() {
            checkpoint(1);
            let Some(earlier) = before.row(at as usize).get(next) else {
                order.push(at);
                continue;
            };
            way.push((at, next + 1));
            if !std::mem::replace(&mut reached[*earlier as usize], true) {
                way.push((*earlier, 0));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::depth_first_order;
    use crate::sample::{Sample, each_allows};

    #[test]
    fn nothing_stands_before_what_it_waits_for() {
        each_allows(|sample| depth_first_order(&sample.graph));
    }

    #[test]
    fn what_one_waits_for_stands_right_before_it() {
        // Twelve values are made, then each is read.
        let made = (0..12).map(|value| (vec![], vec![value]));
        let read = (0..12).map(|value| (vec![value], vec![]));
        let sample = Sample::of(&made.chain(read).collect::<Vec<_>>(), &[], &[]);
        let order = depth_first_order(&sample.graph);
        assert_eq!(order, (0..12).flat_map(|value| [value, 12 + value]).collect::<Vec<u32>>());
        assert_eq!(sample.peak(order), 1);
    }
}
