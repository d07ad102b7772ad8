//! The order of the source with each load where it is first needed.
//!
//! Unrolled products of matrices load all fragments ahead of all products: far more registers than the products need, whose own
//! order is good, one step of every sum after the other. Orders that are made anew to need few registers go through one sum after
//! the other, each product waiting for the one before.

use crate::dependence::Graph;
use crate::lives::Lives;
use oriole_graph::Rows;
use oriole_isa::chip::Unit;

/// The instructions in an order from first to last.
pub(crate) fn late_loads_order(graph: &Graph, lives: &Lives) -> Vec<u32> {
    let count = graph.incoming.len();
    let before = graph.waits();
    let is_load = |at: u32| graph.demands[at as usize].unit == Unit::Memory && !lives.entries(at).1.is_empty();
    let mut order = Order { before, placed: vec![false; count], insts: Vec::with_capacity(count), way: Vec::new() };
    (0..count as u32).filter(|at| !is_load(*at)).for_each(|at| order.place(at));
    // Those that nobody in the stretch reads.
    (0..count as u32).for_each(|at| order.place(at));
    order.insts
}

struct Order {
    /// By instruction: those that it waits for.
    before: Rows<u32>,
    placed: Vec<bool>,
    insts: Vec<u32>,
    /// Instructions whose place is behind what they wait for, each with how many of those have been looked at.
    way: Vec<(u32, usize)>,
}

impl Order {
    /// An instruction comes next, behind what it waits for and has no place yet.
    fn place(&mut self, at: u32) {
        if std::mem::replace(&mut self.placed[at as usize], true) {
            return;
        }
        self.way.push((at, 0));
        while let Some((at, next)) = self.way.pop() {
            let Some(&earlier) = self.before.row(at as usize).get(next) else {
                self.insts.push(at);
                continue;
            };
            self.way.push((at, next + 1));
            if !std::mem::replace(&mut self.placed[earlier as usize], true) {
                self.way.push((earlier, 0));
            }
        }
    }
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
