//! Strongly connected components.

use crate::Node;

/// What is known of a node in Tarjan's search.
#[derive(Clone, Copy, Default)]
struct Visit {
    /// One more than the order of the first visit; 0: not seen.
    order: u32,
    low: u32,
    waits: bool,
}

/// The strongly connected components of what can be reached from `roots`, each after those that it leads to.
/// All numbers of nodes are below `bound`; `successors` says where a node leads.
pub fn components<N: Node, I: Iterator<Item = N>>(
    bound: usize,
    roots: impl Iterator<Item = N>,
    successors: impl Fn(N) -> I,
) -> Vec<Vec<N>> {
    let mut visits = vec![Visit::default(); bound];
    let (mut components, mut waiting, mut clock) = (Vec::new(), Vec::new(), 0);
    let mut stack: Vec<(N, I)> = Vec::new();
    for root in roots {
        let mut enter = Some(root).filter(|root| visits[root.index()].order == 0);
        while enter.is_some() || !stack.is_empty() {
            if let Some(node) = enter.take() {
                clock += 1;
                visits[node.index()] = Visit { order: clock, low: clock, waits: true };
                waiting.push(node);
                stack.push((node, successors(node)));
            }
            let Some((node, rest)) = stack.last_mut() else { break };
            let node = *node;
            if let Some(next) = rest.next() {
                let other = visits[next.index()];
                match other {
                    Visit { order: 0, .. } => enter = Some(next),
                    Visit { waits: true, order, .. } => {
                        let low = &mut visits[node.index()].low;
                        *low = order.min(*low);
                    }
                    _ => {}
                }
                continue;
            }
            stack.pop();
            let own = visits[node.index()];
            if let Some((above, _)) = stack.last() {
                let low = &mut visits[above.index()].low;
                *low = own.low.min(*low);
            }
            if own.low == own.order {
                let start = waiting.iter().rposition(|one| *one == node).unwrap_or(0);
                let component = waiting.split_off(start);
                component.iter().for_each(|one| visits[one.index()].waits = false);
                components.push(component);
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::components;
    use crate::random::{graphs, node};

    #[test]
    fn nodes_share_a_component_if_each_reaches_the_other() {
        for graph in graphs() {
            let count = graph.count();
            let found = components(count, (0..count).map(node), |at| graph.edges_of(at.as_u32() as usize).map(node));
            let place = |at: usize| found.iter().position(|component| component.contains(&node(at)));
            assert_eq!(found.iter().map(Vec::len).sum::<usize>(), count);
            for a in 0..count {
                let reach = graph.reach(a, None);
                for (b, reached) in reach.into_iter().enumerate() {
                    let both = reached && graph.reach(b, None)[a];
                    assert_eq!(place(a) == place(b), both, "{graph:?} {a} {b}");
                    assert!(!reached || place(b) <= place(a), "{graph:?} {a} {b}");
                }
            }
        }
    }
}
