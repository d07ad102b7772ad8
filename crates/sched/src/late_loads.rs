//! The order of the source with each load where it is first needed.
//!
//! Unrolled products of matrices load all fragments ahead of all products: far more registers than the products need, whose own
//! order is good, one step of every sum after the other. Orders that are made anew to need few registers go through one sum after
//! the other, each product waiting for the one before.

use crate::dependence::Graph;
use crate::depth_first::behind_what_they_wait_for;
use crate::lives::Lives;
use oriole_isa::chip::Unit;

/// The instructions in an order from first to last.
pub(crate) fn late_loads_order(graph: &Graph, lives: &Lives) -> Vec<u32> {
    let all = 0..graph.incoming.len() as u32;
    let is_load = |at: u32| graph.demands[at as usize].unit == Unit::Memory && !lives.entries(at).1.is_empty();
    // Behind the others come the loads that nobody in the stretch reads.
    behind_what_they_wait_for(graph, all.clone().filter(|at| !is_load(*at)).chain(all))
}

#[cfg(test)]
mod tests {
    use super::late_loads_order;
    use crate::sample::each_allows;

    #[test]
    fn nothing_stands_before_what_it_waits_for() {
        each_allows(|sample| late_loads_order(&sample.graph, &sample.lives));
    }
}
