//! Which register holds what, at the place that has been reached.

use super::copies::Move;
use crate::node::{Component, Node, NodeData};

/// Nobody's component.
const NOBODY: Component = Component::MAX;

pub(super) struct File<'a> {
    nodes: &'a [NodeData],
    /// By register.
    holders: [Component; 256],
    /// By node: where it begins, or began when it was live last.
    bases: Vec<u16>,
    /// By component: it is live.
    live: Vec<bool>,
    /// By node: how many of its components are.
    counts: Vec<u8>,
    /// By register: how many live nodes reach over it, with components that are live or not.
    covers: [u8; 256],
    /// Nodes that have left their registers.
    out: Vec<Node>,
}

impl<'a> File<'a> {
    pub(super) fn new(nodes: &'a [NodeData], components: usize) -> Self {
        File {
            nodes,
            holders: [NOBODY; 256],
            bases: vec![0; nodes.len()],
            live: vec![false; components],
            counts: vec![0; nodes.len()],
            covers: [0; 256],
            out: Vec::new(),
        }
    }

    /// Only these are live, in these registers.
    pub(super) fn set(&mut self, entry: &[(Component, u16)], owner: &[Node]) {
        for holder in self.holders.iter_mut().map(|holder| std::mem::replace(holder, NOBODY)).filter(|c| *c != NOBODY) {
            self.live[holder as usize] = false;
            self.counts[owner[holder as usize] as usize] = 0;
        }
        self.covers = [0; 256];
        for (part, register) in entry {
            let node = owner[*part as usize];
            self.bases[node as usize] = register - u16::from(self.index(*part, node));
            self.add(*part, node);
        }
    }

    /// Which component of its node it is.
    pub(super) fn index(&self, part: Component, node: Node) -> u8 {
        (part - self.nodes[node as usize].base) as u8
    }

    /// Where a node begins, or began when it was live last.
    pub(super) fn base(&self, node: Node) -> u16 {
        self.bases[node as usize]
    }

    /// The register of a component of a live node.
    pub(super) fn register(&self, part: Component, node: Node) -> u16 {
        self.register_from(self.base(node), part, node)
    }

    /// The register that a component of a node has where that begins at `base`.
    pub(super) fn register_from(&self, base: u16, part: Component, node: Node) -> u16 {
        base + u16::from(self.index(part, node))
    }

    /// Whether a component is live.
    pub(super) fn is_live(&self, part: Component) -> bool {
        self.live[part as usize]
    }

    /// What is in a register.
    pub(super) fn holder(&self, register: u16) -> Option<Component> {
        Some(self.holders[usize::from(register)]).filter(|part| *part != NOBODY)
    }

    /// Whether some live node reaches over a register.
    pub(super) fn is_covered(&self, register: u16) -> bool {
        self.covers[usize::from(register)] > 0
    }

    /// Of a node: those that are live.
    pub(super) fn live_parts(&self, node: Node) -> impl Iterator<Item = Component> + use<'_, 'a> {
        let data = &self.nodes[node as usize];
        let count = if self.counts[node as usize] == 0 { 0 } else { data.width };
        (data.base..data.base + Component::from(count)).filter(|part| self.live[*part as usize])
    }

    /// What is live of a node goes from where it began to where it begins.
    pub(super) fn moves(&self, node: Node, from: u16, to: u16) -> impl Iterator<Item = Move> + use<'_, 'a> {
        self.live_parts(node).map(move |part| Move { node, part: self.index(part, node), from, to })
    }

    /// A component gets a value.
    pub(super) fn add(&mut self, part: Component, node: Node) {
        if !std::mem::replace(&mut self.live[part as usize], true) {
            self.counts[node as usize] += 1;
            if self.counts[node as usize] == 1 {
                self.cover(node, true);
            }
        }
        debug_assert!(self.holder(self.register(part, node)).is_none_or(|holder| holder == part));
        self.holders[usize::from(self.register(part, node))] = part;
    }

    /// Its value is not needed any more.
    pub(super) fn remove(&mut self, part: Component, node: Node) {
        if std::mem::replace(&mut self.live[part as usize], false) {
            self.empty(part, node);
            self.counts[node as usize] -= 1;
            if self.counts[node as usize] == 0 {
                self.cover(node, false);
            }
        }
    }

    /// A node leaves its registers, if it has not yet, to be [`Self::put`] elsewhere.
    pub(super) fn lift(&mut self, node: Node) {
        if self.out.contains(&node) {
            return;
        }
        self.out.push(node);
        self.each_part(node, |file, part| file.empty(part, node));
        self.cover(node, false);
    }

    /// A node that has left its registers begins there.
    pub(super) fn put(&mut self, node: Node, base: u16) {
        let Some(at) = self.out.iter().position(|other| *other == node) else { return };
        self.out.swap_remove(at);
        self.bases[node as usize] = base;
        self.each_part(node, |file, part| {
            let register = file.register(part, node);
            debug_assert!(file.holder(register).is_none_or(|holder| holder == part));
            file.holders[usize::from(register)] = part;
        });
        self.cover(node, true);
    }

    /// A node begins there from now on; what is live of it does already.
    pub(super) fn rebase(&mut self, node: Node, base: u16) {
        self.bases[node as usize] = base;
    }

    fn each_part(&mut self, node: Node, mut act: impl FnMut(&mut Self, Component)) {
        let data = &self.nodes[node as usize];
        for part in data.base..data.base + Component::from(data.width) {
            if self.live[part as usize] {
                act(self, part);
            }
        }
    }

    fn empty(&mut self, part: Component, node: Node) {
        let register = self.register(part, node);
        if self.holder(register) == Some(part) {
            self.holders[usize::from(register)] = NOBODY;
        }
    }

    fn cover(&mut self, node: Node, covers: bool) {
        let base = usize::from(self.bases[node as usize]);
        let width = usize::from(self.nodes[node as usize].width);
        for count in &mut self.covers[base..base + width] {
            *count = if covers { *count + 1 } else { *count - 1 };
        }
    }
}
