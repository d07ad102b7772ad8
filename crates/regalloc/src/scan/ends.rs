//! From the end of a block to the starts of those behind it.

use super::Scan;
use super::copies::{Move, in_turn};
use crate::belady::ends_block;
use crate::node::{Component, Node};
use oriole_isa::RegFile;
use oriole_ori::{Block, Function};
use smallvec::SmallVec;

impl Scan<'_> {
    /// What blocks behind this one have been promised comes to its place; those that nobody has come from yet begin as this ends.
    pub(super) fn end(&mut self, block: Block) -> Option<()> {
        let mut succs: SmallVec<[Block; 2]> = self.scene.func.succs(block).into();
        succs.sort_unstable();
        succs.dedup();
        // Back to the start of the loop before all others: there it is done most often.
        succs.sort_by(|a, b| self.weights.of(*b).total_cmp(&self.weights.of(*a)));
        let mut at_end = may_copy_at_end(self.scene.func, block);
        for succ in &succs {
            let Some(moves) = self.moves_to(*succ)? else { continue };
            let whole = self.whole(&moves);
            if moves.is_empty() {
                // All is there.
            } else if at_end && self.find_room(&whole) {
                self.copy_at_end(block, whole)?;
            } else {
                self.copy_between(block, *succ, moves)?;
            }
            // What goes to another block from here on finds all where it is now.
            at_end = false;
        }
        for succ in succs {
            if self.entries[succ].is_none() {
                let parts: Vec<Component> = self.scene.live_in(succ).collect();
                if !parts.iter().all(|part| self.file.is_live(*part)) {
                    return None;
                }
                let place = |part| (part, self.file.register(part, self.graph.owner[part as usize]));
                self.entries[succ] = Some(parts.into_iter().map(place).collect());
            }
        }
        Some(())
    }

    /// What has to move for the start of a block, if that has been promised something; the outer `None` if what it needs is
    /// nowhere.
    fn moves_to(&self, succ: Block) -> Option<Option<Vec<Move>>> {
        let Some(entry) = &self.entries[succ] else { return Some(None) };
        let mut moves = Vec::new();
        for (part, register) in entry {
            let node = self.graph.owner[*part as usize];
            if !self.file.is_live(*part) {
                return None;
            }
            let (part, from) = (self.file.index(*part, node), self.file.base(node));
            let to = register - u16::from(part);
            if from != to {
                moves.push(Move { node, part, from, to });
            }
        }
        Some(Some(moves))
    }

    /// The moves with all that is live of the same nodes.
    fn whole(&self, moves: &[Move]) -> Vec<Move> {
        let mut nodes: Vec<(Node, u16)> = moves.iter().map(|m| (m.node, m.to)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes.into_iter().flat_map(|(node, to)| self.file.moves(node, self.file.base(node), to)).collect()
    }

    /// Where the moves lead is nothing that stays, and no two lead to the same.
    fn find_room(&self, moves: &[Move]) -> bool {
        let target = |m: &Move| m.to + u16::from(m.part);
        let holder = |register| self.file.holder(register).map(|part| self.graph.owner[part as usize]);
        let is_free = |register| holder(register).is_none_or(|node| moves.iter().any(|m| m.node == node));
        let mut targets: SmallVec<[u16; 8]> = moves.iter().map(target).collect();
        targets.sort_unstable();
        targets.windows(2).all(|pair| pair[0] != pair[1]) && targets.iter().all(|register| is_free(*register))
    }

    fn copy_at_end(&mut self, block: Block, moves: Vec<Move>) -> Option<()> {
        moves.iter().for_each(|m| self.file.lift(m.node));
        moves.iter().for_each(|m| self.file.put(m.node, m.to));
        let copies = in_turn(moves, self.usable, |register| self.file.holder(register).is_none())?;
        self.placement.copies[block].extend(copies.into_iter().map(|copy| (None, copy)));
        Some(())
    }

    /// On the way from one block to another, where both have other ways.
    fn copy_between(&mut self, block: Block, succ: Block, moves: Vec<Move>) -> Option<()> {
        // More than two ways out are those of a table.
        if self.scene.func.succs(block).len() > 2 {
            return None;
        }
        let copies = in_turn(moves, self.usable, |register| self.file.holder(register).is_none())?;
        self.placement.edges.push((block, succ, copies));
        Some(())
    }
}

/// What leaves the block names no register of the file, and is no call: copies go before it.
fn may_copy_at_end(func: &Function, block: Block) -> bool {
    let mut ends = func.block_insts(block).iter().rev().take_while(|inst| ends_block(func, **inst));
    ends.all(|inst| {
        let mut named = false;
        func.for_each_reg(*inst, |mention| named |= func[mention.reg].file() == RegFile::R);
        !named && func[*inst].call.is_none()
    })
}
