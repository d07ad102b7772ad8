//! The one way to change the code of a function.

use super::{BlockData, DefUse, Function};
use crate::call::{CallSite, Clobbers};
use crate::entity::{Block, CallId, InstId, LocId, VReg};
use crate::error::BuildError;
use crate::inst::Inst;
use crate::operand::{MAX_INDEX, Operand, OperandKind};
use crate::reg::VRegData;
use cranelift_entity::{EntitySet, PrimaryMap};
use oriole_checkpoint::checkpoint;
use oriole_isa::Control;
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// Changes instructions, blocks and registers of a function ([`Function::edit`]). Whatever is known of the code
/// beside the code itself is kept here: the epochs, by which analyses see whether they still hold, and, where somebody
/// has asked for them, the lists of definitions and uses.
pub struct Editor<'f>(pub(super) &'f mut Function);

impl Deref for Editor<'_> {
    type Target = Function;

    fn deref(&self) -> &Function {
        self.0
    }
}

impl DerefMut for Editor<'_> {
    fn deref_mut(&mut self) -> &mut Function {
        self.0
    }
}

/// Instructions.
impl Editor<'_> {
    /// Add an instruction to the table, in no block yet.
    pub fn add(&mut self, inst: Inst) -> InstId {
        checkpoint(1);
        let id = self.0.insts.push(inst);
        self.count_in(id);
        id
    }

    /// Make room in the table for so many more instructions.
    pub fn expect(&mut self, insts: usize) {
        self.0.insts.reserve(insts);
    }

    /// Forget an instruction that has been taken out of its block, or will be.
    pub fn remove(&mut self, id: InstId) {
        self.count_out(id);
    }

    /// Add a call site, for an instruction that names it.
    pub fn add_site(&mut self, site: CallSite) -> CallId {
        self.0.calls.push(site)
    }

    /// Append an instruction to a block.
    pub fn append(&mut self, block: Block, inst: Inst) -> InstId {
        let id = self.add(inst);
        self.place_last(block, id);
        id
    }

    /// Append an instruction of the table, which is in no block, to a block.
    pub fn place_last(&mut self, block: Block, inst: InstId) {
        self.0.epochs.insts += 1;
        self.0.blocks[block].insts.push(inst);
        self.placed(block, &[inst]);
    }

    /// Put instructions of the table, which are in no block, before number `at` of a block.
    pub fn place(&mut self, block: Block, at: usize, insts: &[InstId]) {
        self.0.epochs.insts += 1;
        self.0.blocks[block].insts.splice(at..at, insts.iter().copied());
        self.placed(block, insts);
    }

    /// Remove the last instruction of a block.
    pub fn pop(&mut self, block: Block) -> Option<InstId> {
        self.0.epochs.insts += 1;
        let last = self.0.blocks[block].insts.pop();
        last.into_iter().for_each(|inst| self.remove(inst));
        last
    }

    /// Put another instruction in the place of one: the old one.
    pub fn replace(&mut self, id: InstId, inst: Inst) -> Inst {
        self.update(id, |old| std::mem::replace(old, inst))
    }

    /// Change an instruction in its place.
    pub fn update<T>(&mut self, id: InstId, change: impl FnOnce(&mut Inst) -> T) -> T {
        self.0.epochs.insts += 1;
        self.count_out(id);
        let done = change(&mut self.0.insts[id]);
        self.count_in(id);
        done
    }

    /// Give an instruction another operand.
    pub fn set_operand(&mut self, id: InstId, at: usize, operand: Operand) {
        self.update(id, |inst| inst.operands[at] = operand);
    }

    /// Change the call site of an instruction, if it has one.
    pub fn update_call(&mut self, id: InstId, change: impl FnOnce(&mut CallSite)) {
        let Some(call) = self.0.insts[id].call.expand() else { return };
        self.0.epochs.insts += 1;
        self.count_out(id);
        change(&mut self.0.calls[call]);
        self.count_in(id);
    }

    /// Say which registers a call may change.
    pub fn set_clobbers(&mut self, call: CallId, clobbers: Clobbers) {
        self.0.epochs.insts += 1;
        self.0.calls[call].clobbers = clobbers;
    }

    /// Set the scheduling bits, of which no analysis knows.
    pub fn set_control(&mut self, id: InstId, control: Control) {
        self.0.insts[id].control = control;
    }

    /// Set the place in the source, of which no analysis knows.
    pub fn set_loc(&mut self, id: InstId, loc: Option<LocId>) {
        self.0.insts[id].loc = loc.into();
    }

    /// Give every mention of a register another register: `rename` gets the register and whether it
    /// is written. Pieces and flags stay.
    pub fn rename_regs(&mut self, inst: InstId, mut rename: impl FnMut(VReg, bool) -> VReg) {
        self.0.epochs.insts += 1;
        self.count_out(inst);
        let Function { insts, tuples, .. } = &mut *self.0;
        let data = &mut insts[inst];
        let writes: SmallVec<[bool; 8]> = (0..data.operands.len()).map(|i| data.is_def(i)).collect();
        if let Some(mut guard) = data.guard() {
            guard.pred = rename(guard.pred, false);
            data.set_guard(Some(guard));
        }
        for (operand, is_def) in data.operands.iter_mut().zip(writes) {
            match operand.kind() {
                OperandKind::Tuple(tuple) => {
                    let values: SmallVec<[VReg; 8]> =
                        tuples.get(tuple).iter().map(|value| rename(*value, is_def)).collect();
                    *operand = operand.with_tuple(tuples.add(&values));
                }
                OperandKind::Reg(reg, _) => *operand = operand.with_reg(rename(reg, is_def)),
                OperandKind::ConstBindless { handle, .. } => *operand = operand.with_reg(rename(handle, false)),
                _ => {}
            }
        }
        self.count_in(inst);
    }
}

/// Definitions and uses.
impl Editor<'_> {
    /// From here on, know where values are defined and used.
    pub fn keep_def_use(&mut self) {
        if self.0.def_use.is_none() {
            self.0.def_use = Some(Box::new(DefUse::new(self.0)));
        }
    }

    /// From here on, know what has changed ([`DefUse::changed`]), where definitions and uses are kept.
    pub fn note_changes(&mut self) {
        if let Some(lists) = &mut self.0.def_use {
            lists.note_changes();
        }
    }

    /// No longer keep definitions and uses: what they are now.
    pub fn take_def_use(&mut self) -> Option<Box<DefUse>> {
        self.0.def_use.take()
    }

    #[inline]
    fn count_in(&mut self, id: InstId) {
        if let Some(mut lists) = self.0.def_use.take() {
            lists.add(self.0, id);
            self.0.def_use = Some(lists);
        }
    }

    #[inline]
    fn count_out(&mut self, id: InstId) {
        if let Some(mut lists) = self.0.def_use.take() {
            lists.remove(self.0, id);
            self.0.def_use = Some(lists);
        }
    }

    #[inline]
    fn placed(&mut self, block: Block, insts: &[InstId]) {
        if let Some(lists) = &mut self.0.def_use {
            insts.iter().for_each(|inst| lists.place(*inst, block));
        }
    }
}

/// Lists of instructions.
impl Editor<'_> {
    /// Take all instructions out of a block, to be placed again or removed.
    pub fn take_insts(&mut self, block: Block) -> Vec<InstId> {
        self.0.epochs.insts += 1;
        std::mem::take(&mut self.0.blocks[block].insts)
    }

    /// Give an empty block its instructions.
    pub fn set_insts(&mut self, block: Block, insts: Vec<InstId>) {
        self.0.epochs.insts += 1;
        self.placed(block, &insts);
        self.0.blocks[block].insts = insts;
    }

    /// Put some instructions of a block, from number `at` on, in another order: `insts` names them all.
    pub fn reorder(&mut self, block: Block, at: usize, insts: &[InstId]) {
        self.0.epochs.insts += 1;
        self.0.blocks[block].insts[at..at + insts.len()].copy_from_slice(insts);
    }

    /// Rebuild a block's instruction list in one pass: `rewrite` gets the function, the instruction
    /// and the new list, and pushes what shall stand in its place (itself, others).
    pub fn rewrite_block(&mut self, block: Block, mut rewrite: impl FnMut(&mut Function, InstId, &mut Vec<InstId>)) {
        let old = self.take_insts(block);
        let mut new = Vec::with_capacity(old.len());
        for id in old {
            rewrite(self.0, id, &mut new);
        }
        self.set_insts(block, new);
    }

    /// Remove the instructions of a block for which `keep` does not say that they stay.
    pub fn retain_insts(&mut self, block: Block, mut keep: impl FnMut(&Function, InstId) -> bool) {
        let mut list = std::mem::take(&mut self.0.blocks[block].insts);
        let before = list.len();
        list.retain(|id| {
            let stays = keep(self.0, *id);
            if !stays {
                self.count_out(*id);
            }
            stays
        });
        self.0.epochs.insts += u32::from(list.len() < before);
        self.0.blocks[block].insts = list;
    }
}

/// Blocks and edges.
impl Editor<'_> {
    /// A fresh block at the end of the layout.
    pub fn new_block(&mut self) -> Result<Block, BuildError> {
        let block = self.new_detached_block()?;
        self.place_block_last(block);
        Ok(block)
    }

    /// A fresh block right after `after` in the layout.
    pub fn new_block_after(&mut self, after: Block) -> Result<Block, BuildError> {
        let block = self.new_detached_block()?;
        let layout = &mut self.0.layout;
        let at = layout.iter().position(|b| *b == after).map_or(layout.len(), |at| at + 1);
        layout.insert(at, block);
        Ok(block)
    }

    /// A fresh block that is not in the layout yet.
    pub fn new_detached_block(&mut self) -> Result<Block, BuildError> {
        if self.0.blocks.len() >= MAX_INDEX {
            return Err(BuildError::TooManyBlocks { function: self.0.name.clone() });
        }
        self.0.epochs.flow += 1;
        Ok(self.0.blocks.push(BlockData::default()))
    }

    /// Put a block that is not in the layout at its end.
    pub fn place_block_last(&mut self, block: Block) {
        self.0.epochs.flow += 1;
        self.0.layout.push(block);
    }

    /// Put a block that is not in the layout at its start: it is the entry.
    pub fn place_block_first(&mut self, block: Block) {
        self.0.epochs.flow += 1;
        self.0.layout.insert(0, block);
    }

    /// Keep the blocks of the layout for which `keep` says so. Edges to others are the caller's business.
    pub fn retain_blocks(&mut self, mut keep: impl FnMut(Block) -> bool) {
        self.0.epochs.flow += 1;
        self.0.layout.retain(|block| keep(*block));
    }

    /// Put the blocks in another order, or leave some out.
    pub fn set_layout(&mut self, layout: Vec<Block>) {
        self.0.epochs.flow += 1;
        self.0.layout = layout;
    }

    /// Say where a block goes on: branch targets, then the fall-through.
    pub fn set_succs(&mut self, block: Block, succs: &[Block]) {
        self.0.epochs.flow += 1;
        self.0.blocks[block].succs = succs.into();
    }

    /// Redirect the edges `from → old` to `new`: successors and branch operands.
    pub fn redirect(&mut self, from: Block, old: Block, new: Block) {
        self.0.epochs.flow += 1;
        let Function { blocks, insts, .. } = &mut *self.0;
        let data = &mut blocks[from];
        data.succs.iter_mut().filter(|succ| **succ == old).for_each(|succ| *succ = new);
        for id in &data.insts {
            let inst = &mut insts[*id];
            if crate::terminator::is_terminator(inst) {
                rename_blocks(inst, old, new);
            }
        }
    }

    /// Put a fresh empty block on the edge `from → to`, right after `from` in the layout. MovPhi
    /// operands in `to` that name `from` then name the new block.
    pub fn split_edge(&mut self, from: Block, to: Block) -> Result<Block, BuildError> {
        let middle = self.new_block_after(from)?;
        self.redirect(from, to, middle);
        self.set_succs(middle, &[to]);
        self.rename_phi_pred(to, from, middle);
        Ok(middle)
    }

    /// Cut a block before instruction `at` of its list: the rest, with the successors, moves to a
    /// fresh block that follows it.
    pub fn split_block(&mut self, block: Block, at: usize) -> Result<Block, BuildError> {
        let rest = self.new_block_after(block)?;
        let data = &mut self.0.blocks[block];
        let insts = data.insts.split_off(at.min(data.insts.len()));
        let succs = std::mem::replace(&mut data.succs, SmallVec::from_slice(&[rest]));
        for succ in &succs {
            self.rename_phi_pred(*succ, block, rest);
        }
        self.placed(rest, &insts);
        self.0.blocks[rest] = BlockData { insts, succs };
        Ok(rest)
    }

    /// In the MovPhis at the start of `block`, name predecessor `new` instead of `old`.
    pub fn rename_phi_pred(&mut self, block: Block, old: Block, new: Block) {
        let Function { blocks, insts, .. } = &mut *self.0;
        for id in &blocks[block].insts {
            let inst = &mut insts[*id];
            if !inst.is_phi() {
                break;
            }
            rename_blocks(inst, old, new);
        }
    }

    /// Empty a block, which has no edges from then on: what it held, to be placed elsewhere. Edges to it, and its place
    /// in the layout, are the caller's business.
    pub fn take_block(&mut self, block: Block) -> BlockData {
        self.0.epochs.flow += 1;
        self.0.epochs.insts += 1;
        std::mem::take(&mut self.0.blocks[block])
    }

    /// Empty a block for good. Edges to it, and its place in the layout, are the caller's business.
    pub fn clear_block(&mut self, block: Block) {
        for inst in self.take_block(block).insts {
            self.remove(inst);
        }
    }

    /// Take a block out of the layout. Edges to it are the caller's business.
    pub fn remove_block(&mut self, block: Block) {
        self.clear_block(block);
        self.0.layout.retain(|b| *b != block);
    }
}

fn rename_blocks(inst: &mut Inst, old: Block, new: Block) {
    for operand in inst.operands.iter_mut().filter(|operand| operand.as_block() == Some(old)) {
        *operand = Operand::block(new);
    }
}

/// Registers.
impl Editor<'_> {
    /// Change a register's descriptor.
    pub fn update_reg<T>(&mut self, reg: VReg, change: impl FnOnce(&mut VRegData) -> T) -> T {
        self.0.epochs.regs += 1;
        change(&mut self.0.vregs[reg])
    }

    /// Say that a register has a value on entry.
    pub fn add_live_in(&mut self, reg: VReg) {
        self.0.epochs.insts += 1;
        self.0.live_in.push(reg);
    }

    /// Say from which register on registers are values of SSA form, or that the function is not in it.
    pub fn set_first_value(&mut self, first: Option<VReg>) {
        self.0.epochs.regs += 1;
        self.0.first_value = first;
    }
}

/// All registers at once.
impl Editor<'_> {
    /// Exchange the table of registers, for those who give all of them new numbers.
    pub(crate) fn swap_regs(&mut self, regs: &mut PrimaryMap<VReg, VRegData>) {
        self.0.epochs.regs += 1;
        std::mem::swap(&mut self.0.vregs, regs);
    }

    /// Give the registers that are known beside the code new numbers: those that live on entry and the fixed ones.
    pub(crate) fn renumber_roots(&mut self, new: impl Fn(VReg) -> VReg) {
        self.0.live_in.iter_mut().for_each(|reg| *reg = new(*reg));
        self.0.fixed.values_mut().for_each(|reg| *reg = new(*reg));
    }

    /// Forget all tuples: no operand names one.
    pub(crate) fn forget_tuples(&mut self) {
        self.0.tuples.clear();
    }

    /// Add a register that was there before under another number.
    pub(crate) fn renew_reg(&mut self, data: VRegData) -> VReg {
        self.0.vregs.push(data)
    }

    /// Forget what the call sites name that belong to no instruction any more.
    pub(crate) fn clear_sites_but(&mut self, used: &EntitySet<CallId>) {
        for (_, site) in self.0.calls.iter_mut().filter(|(call, _)| !used.contains(*call)) {
            site.args.clear();
            site.results.clear();
        }
    }
}
