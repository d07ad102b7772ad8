//! Where a result goes, and where those that are in its way.

use super::{Scan, Written};
use crate::fatpoint::has;
use crate::node::{Component, Node};
use oriole_ori::CallId;
use smallvec::SmallVec;

/// Windows that are tried for one value.
const TRIES: usize = 8;
/// So far may those that move make others move.
const DEPTH: u32 = 3;
/// Of one move: what it costs that a register is where colouring has put a neighbour, or that a live node reaches over it.
const NEIGHBOUR: f32 = 0.03;
const COVERED: f32 = 0.3;
/// The same where a call changes the register in which the value lives.
const CHANGED: f32 = 0.5;

/// Nodes in the way of another.
type InTheWay = SmallVec<[Node; 4]>;

impl Scan<'_> {
    /// Give a result a window, moving others if need be. `copied` is what it is a copy of.
    pub(super) fn settle(&mut self, mut written: Written, copied: Option<Component>) -> Option<()> {
        let data = &self.scene.lines.nodes[written.node as usize];
        if let Some(base) = data.physical.filter(|_| data.fixed) {
            return self.claim_window(Written { base, ..written });
        }
        if let Some(base) = self.preferred(&written, copied) {
            written.base = base;
            self.claim(written);
            return Some(());
        }
        let price = |register, _| self.price_of_result(register);
        for base in self.windows(written.node, &written.parts, price) {
            let again = Written { node: written.node, parts: written.parts.clone(), base };
            if self.claim_window(again).is_some() {
                return Some(());
            }
        }
        None
    }

    /// Those that are where a result goes find room elsewhere; if not, nothing has changed.
    pub(super) fn claim_window(&mut self, written: Written) -> Option<()> {
        let node = written.node;
        let registers: SmallVec<[u16; 4]> =
            written.parts.iter().map(|part| self.file.register_from(written.base, *part, node)).collect();
        let before: SmallVec<[u32; 4]> =
            registers.iter().map(|register| self.claimed[usize::from(*register)]).collect();
        self.claim(written);
        if self.clear(&registers, Some(node)) {
            return Some(());
        }
        self.results.pop();
        registers.iter().zip(before).for_each(|(register, before)| self.claimed[usize::from(*register)] = before);
        None
    }

    /// What lives across a call leaves the registers that this changes.
    pub(super) fn clear_for_call(&mut self, call: CallId) -> Option<()> {
        let changed = self.scene.lines.clobbers(self.scene.func, call);
        let registers: Vec<u16> = (0..256).filter(|register| has(&changed, *register)).collect();
        registers.iter().for_each(|register| self.claimed[usize::from(*register)] = self.now);
        self.clear(&registers, None).then_some(())
    }

    /// Whether those that live on in the registers, which are claimed, but for `node`, have found room elsewhere; if not, they
    /// are where they were.
    fn clear(&mut self, registers: &[u16], node: Option<Node>) -> bool {
        let mut in_the_way = InTheWay::new();
        for part in registers.iter().filter_map(|register| self.file.holder(*register)) {
            let owner = self.graph.owner[part as usize];
            if node == Some(owner) || self.dies(part) || in_the_way.contains(&owner) {
                continue;
            }
            if self.is_pinned(owner) {
                return false;
            }
            in_the_way.push(owner);
        }
        let mark = self.moved.len();
        in_the_way.iter().for_each(|node| self.leave(*node));
        let is_done = in_the_way.iter().all(|node| self.relocate(*node, DEPTH));
        if !is_done {
            self.undo(mark);
        }
        is_done
    }

    fn claim(&mut self, written: Written) {
        for part in &written.parts {
            let register = self.file.register_from(written.base, *part, written.node);
            self.claimed[usize::from(register)] = self.now;
        }
        self.results.push(written);
    }

    /// Where a result had best be, if it can: where the next round of the loop finds it, where what it is a copy of has been, where
    /// colouring has put it, or where it was before.
    fn preferred(&self, written: &Written, copied: Option<Component>) -> Option<u16> {
        let (node, first) = (written.node, written.parts[0]);
        let base = |register: u16| register.checked_sub(self.file.index(first, node).into());
        let copied = copied.filter(|source| self.dies(*source));
        let from = copied.map(|source| self.file.register(source, self.graph.owner[source as usize]));
        let coloured = self.graph.nodes[node as usize].physical;
        let wanted = [self.promised(first).and_then(base), from.and_then(base), coloured, Some(self.file.base(node))];
        let is_open = |base: &u16| {
            self.may_begin(node, *base)
                && written.parts.iter().all(|part| {
                    let register = self.file.register_from(*base, *part, node);
                    let dies = |part| self.dies(part);
                    self.claimed[usize::from(register)] != self.now && self.file.holder(register).is_none_or(dies)
                })
        };
        wanted.into_iter().flatten().find(is_open)
    }

    /// What it costs that a result goes to a register; `None` if it cannot.
    fn price_of_result(&self, register: u16) -> Option<f32> {
        if self.claimed[usize::from(register)] == self.now {
            return None;
        }
        self.price_of_way(register, self.file.holder(register).filter(|part| !self.dies(*part)))
    }

    /// What it costs that somebody moves to a register, who `dies` with this line or lives on; `None` if that cannot be.
    fn price_of_place(&self, register: u16, dies: bool) -> Option<f32> {
        if self.claimed[usize::from(register)] == self.now && !dies {
            return None;
        }
        self.price_of_way(register, self.file.holder(register))
    }

    /// What it costs that a register becomes free where one component is in the way, or none: the node of that moves, for each of
    /// its components; `None` if it stays.
    fn price_of_way(&self, register: u16, in_the_way: Option<Component>) -> Option<f32> {
        let Some(part) = in_the_way else { return Some(if self.file.is_covered(register) { COVERED } else { 0.0 }) };
        let owner = self.graph.owner[part as usize];
        if self.is_pinned(owner) {
            return None;
        }
        // What lives through the loop has to be back when that begins anew.
        Some(if self.promised(part).is_some() { 2.0 } else { 1.0 })
    }

    /// It does not move, or has done so for this line, or is written by it.
    fn is_pinned(&self, node: Node) -> bool {
        self.scene.lines.nodes[node as usize].fixed
            || self.moved.iter().any(|(other, _)| *other == node)
            || self.results.iter().any(|written| written.node == node)
    }

    fn leave(&mut self, node: Node) {
        self.moved.push((node, self.file.base(node)));
        self.file.lift(node);
    }

    /// A place for a node that has left its own, before the line.
    fn relocate(&mut self, node: Node, depth: u32) -> bool {
        self.patience = self.patience.saturating_sub(1);
        if self.patience == 0 {
            return false;
        }
        let parts: SmallVec<[Component; 4]> = self.file.live_parts(node).collect();
        let price = |register, part| self.price_of_place(register, self.dies(part));
        for base in self.windows(node, &parts, price) {
            let mut in_the_way = InTheWay::new();
            for part in &parts {
                let holder = self.file.holder(self.file.register_from(base, *part, node));
                let owner = holder.map(|holder| self.graph.owner[holder as usize]);
                in_the_way.extend(owner.filter(|owner| !in_the_way.contains(owner)));
            }
            if depth == 0 && !in_the_way.is_empty() {
                continue;
            }
            let mark = self.moved.len();
            in_the_way.iter().for_each(|other| self.leave(*other));
            self.file.put(node, base);
            if in_the_way.iter().all(|other| self.relocate(*other, depth - 1)) {
                return true;
            }
            self.file.lift(node);
            self.undo(mark);
        }
        false
    }

    /// Where `parts` of a node may begin, those first that cost least: `price` says it of a register and a part, `None` where
    /// that cannot be there.
    fn windows(
        &self,
        node: Node,
        parts: &[Component],
        price: impl Fn(u16, Component) -> Option<f32>,
    ) -> SmallVec<[u16; TRIES]> {
        let conflicts = self.conflicts(node);
        let priced = |base: u16| {
            let prices = parts.iter().map(|part| {
                let register = self.file.register_from(base, *part, node);
                Some(price(register, *part)? + conflicts[usize::from(register)])
            });
            Some((prices.sum::<Option<f32>>()?, base))
        };
        let align = usize::from(self.scene.lines.nodes[node as usize].align.max(1));
        let mut best: SmallVec<[(f32, u16); TRIES + 1]> = SmallVec::new();
        let bases = (0..256).step_by(align).filter(|base| self.may_begin(node, *base));
        for (price, base) in bases.filter_map(priced) {
            let place = best.partition_point(|(other, _)| *other <= price);
            best.insert(place, (price, base));
            best.truncate(TRIES);
        }
        best.into_iter().map(|(_, base)| base).collect()
    }

    /// Everybody back to where they were when `mark` had moved.
    fn undo(&mut self, mark: usize) {
        let moved: Vec<(Node, u16)> = self.moved.drain(mark..).collect();
        moved.iter().for_each(|(node, _)| self.file.lift(*node));
        moved.into_iter().rev().for_each(|(node, base)| self.file.put(node, base));
    }

    /// Whether a node can be there, by its alignment and by what may be given out.
    fn may_begin(&self, node: Node, base: u16) -> bool {
        let data = &self.scene.lines.nodes[node as usize];
        let mut window = base..base + u16::from(data.width);
        base.is_multiple_of(data.align.max(1).into()) && window.all(|register| has(&self.usable, register))
    }

    /// By register: what speaks against it, since colouring has given it to somebody who meets the node, or a call changes it.
    fn conflicts(&self, node: Node) -> [f32; 256] {
        let mut conflicts = [0.0; 256];
        for part in self.graph.components(node) {
            let forbidden = self.graph.forbidden(part);
            let changed = (0..256).filter(|register| *forbidden != [0; 4] && has(forbidden, *register));
            changed.for_each(|register| conflicts[usize::from(register)] += CHANGED);
            self.graph.for_each_placed_neighbour(part, |_, register| {
                if let Some(conflict) = conflicts.get_mut(usize::from(register)) {
                    *conflict += NEIGHBOUR;
                }
            });
        }
        conflicts
    }
}
