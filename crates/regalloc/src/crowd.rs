//! Spilling ahead of colouring, where so many values are live at once that the interference graph would be quadratic.
//!
//! Colouring decides better what to spill, but all values that are live together meet each other. Beyond [`CROWD`]
//! components nearly all of them go to memory anyway: those are chosen here, in one walk, by what their spilling costs and
//! how far their next use is.

use crate::code::{Code, FileCode};
use crate::live_set::LiveSet;
use crate::node::{Component, Node, owners};
use oriole_ori::{Function, VReg, analysis::Liveness};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Live components from which on a function is crowded: four times what a thread can have.
const CROWD: usize = 1024;

/// Registers that are left for what reads and writes the spilled, so that colouring need not fail and start again.
const SPARE: usize = 8;

/// What to spill of a crowded function, so that some less than `limit` components are live everywhere; nothing of others.
pub(crate) fn crowd(func: &Function, code: &Code, lines: &FileCode, live: &Liveness, limit: u16) -> Vec<VReg> {
    if (lines.components as usize) <= CROWD {
        return Vec::new();
    }
    let mut walk = Walk::new(func, code, lines, live);
    walk.run(|_| {});
    if walk.most <= CROWD {
        return Vec::new();
    }
    let mut walk = Walk::new(func, code, lines, live);
    walk.run(|walk| walk.shrink(usize::from(limit).saturating_sub(SPARE)));
    let spilled = lines.nodes.iter().zip(&walk.nodes).filter(|(_, state)| state.spilled);
    spilled.map(|(node, _)| node.vreg).collect()
}

/// Of one node.
#[derive(Clone, Copy, Default)]
struct State {
    /// The moment at which it was put into the queue last, from 1.
    queued: u32,
    spilled: bool,
}

struct Walk<'c> {
    func: &'c Function,
    code: &'c Code,
    lines: &'c FileCode,
    live: &'c Liveness,
    /// The node of each component.
    owner: Vec<Node>,
    nodes: Vec<State>,
    set: LiveSet,
    /// The most components that were live at once.
    most: usize,
    /// Nodes that may be spilled: the cheapest first; of equal ones that whose next use is farthest.
    queue: BinaryHeap<Reverse<(u32, u32, Node)>>,
    /// Counts what is put into the queue.
    now: u32,
    /// The moment at which the block began.
    begin: u32,
}

impl<'c> Walk<'c> {
    fn new(func: &'c Function, code: &'c Code, lines: &'c FileCode, live: &'c Liveness) -> Self {
        let count = lines.components as usize;
        Walk {
            func,
            code,
            lines,
            live,
            owner: owners(&lines.nodes),
            nodes: vec![State::default(); lines.nodes.len()],
            set: LiveSet::new(count),
            most: 0,
            queue: BinaryHeap::new(),
            now: 0,
            begin: 0,
        }
    }

    /// Every block from its end; `at_line` is called between instructions.
    fn run(&mut self, mut at_line: impl FnMut(&mut Self)) {
        let (func, lines, live) = (self.func, self.lines, self.live);
        for (at, block) in func.layout().iter().enumerate() {
            self.begin();
            for component in live.live_out(*block) {
                if let Some(component) = self.code.component(func, lines.file, &lines.nodes, component) {
                    self.insert(component);
                }
            }
            at_line(self);
            for access in lines.lines_backwards(at) {
                if !access.line.partly {
                    access.writes.iter().flat_map(|write| write.components()).for_each(|part| self.set.remove(part, 0));
                }
                access.reads.iter().flat_map(|read| read.components()).for_each(|part| self.insert(part));
                at_line(self);
            }
        }
    }

    fn begin(&mut self) {
        self.set.clear();
        self.queue.clear();
        self.begin = self.now;
    }

    fn insert(&mut self, component: Component) {
        let number = self.owner[component as usize];
        let state = &mut self.nodes[number as usize];
        if state.spilled {
            return;
        }
        self.set.insert(component, 0);
        self.most = self.most.max(self.set.members.len());
        let node = &self.lines.nodes[number as usize];
        if state.queued <= self.begin && !node.fixed && node.spill_cost.is_finite() {
            self.now += 1;
            state.queued = self.now;
            // Costs are not negative: their bits are in their order.
            self.queue.push(Reverse((node.spill_cost.to_bits(), self.now, number)));
        }
    }

    /// Spill until no more than `limit` components are live.
    fn shrink(&mut self, limit: usize) {
        while self.set.members.len() > limit {
            let Some(Reverse((_, queued, number))) = self.queue.pop() else { return };
            let node = &self.lines.nodes[number as usize];
            let parts = node.base..node.base + Component::from(node.width);
            let state = &mut self.nodes[number as usize];
            if state.queued != queued {
                continue;
            }
            // It may be queued again.
            state.queued = 0;
            if parts.clone().any(|part| self.set.contains(part)) {
                state.spilled = true;
                parts.for_each(|part| self.set.remove(part, 0));
            }
        }
    }
}
