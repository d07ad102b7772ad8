//! Where values are defined and used: lists that the editor keeps right while a function is in SSA form.

use super::Function;
use crate::entity::{Block, InstId, VReg, entry_for_each};
use cranelift_entity::{
    PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption, packed_option::ReservedValue,
};
use smallvec::SmallVec;

/// A mention of a register that an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Use(u32);
entity_impl!(Use, "use");

/// A member of a register's list.
#[derive(Clone, Copy, Debug)]
struct UseData {
    reg: VReg,
    inst: InstId,
    next: PackedOption<Use>,
    previous: PackedOption<Use>,
}

/// Neighbouring entries of the table of uses: those of one instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    len: u32,
    /// How many entries it may have where it stands.
    room: u32,
}

/// Definitions and uses of registers. Instructions that are in the table count from when they are added until they are
/// removed, also while they are in no block.
#[derive(Clone, Debug, Default)]
pub struct DefUse {
    /// By value: what defines it. Registers that are no values have none.
    definitions: SecondaryMap<VReg, PackedOption<InstId>>,
    first: SecondaryMap<VReg, PackedOption<Use>>,
    counts: SecondaryMap<VReg, u32>,
    uses: PrimaryMap<Use, UseData>,
    /// By instruction: its uses.
    spans: SecondaryMap<InstId, Span>,
    homes: SecondaryMap<InstId, PackedOption<Block>>,
    /// What is named by instructions that have come or gone since somebody began to ask.
    changed: Option<Vec<VReg>>,
}

impl DefUse {
    /// The lists of a function.
    pub(super) fn new(func: &Function) -> Self {
        let (regs, insts) = (func.regs().len(), func.insts().len());
        let mut lists = DefUse {
            definitions: entry_for_each(regs),
            first: entry_for_each(regs),
            counts: entry_for_each(regs),
            uses: PrimaryMap::with_capacity(2 * insts),
            spans: entry_for_each(insts),
            homes: entry_for_each(insts),
            changed: None,
        };
        for (block, inst) in func.iter_insts() {
            lists.place(inst, block);
            lists.add(func, inst);
        }
        lists
    }

    /// The instruction that defines a value; `None` for other registers, and while the instruction is out of its place.
    #[inline]
    pub fn definition(&self, value: VReg) -> Option<InstId> {
        self.definitions[value].expand()
    }

    /// How many mentions read a register.
    #[inline]
    pub fn count(&self, reg: VReg) -> u32 {
        self.counts[reg]
    }

    /// The instructions that read a register, one for each mention, the last added first.
    pub fn users(&self, reg: VReg) -> impl Iterator<Item = InstId> + '_ {
        let follow = |at: PackedOption<Use>| at.expand().map(|at| self.uses[at]);
        std::iter::successors(follow(self.first[reg]), move |at| follow(at.next)).map(|at| at.inst)
    }

    /// The block that an instruction was placed in last.
    #[inline]
    pub fn home(&self, inst: InstId) -> Option<Block> {
        self.homes[inst].expand()
    }

    /// Registers that are named by instructions that were added, removed or changed since [`super::Editor::note_changes`], one for
    /// each mention; `None` where that was never called, or the lists have been made anew since.
    pub fn changed(&self) -> Option<&[VReg]> {
        self.changed.as_deref()
    }

    /// From here on, keep what changes.
    pub(super) fn note_changes(&mut self) {
        self.changed.get_or_insert_default().clear();
    }

    /// What differs from the lists made anew; `None` where nothing does.
    pub fn difference(&self, func: &Function) -> Option<String> {
        let fresh = DefUse::new(func);
        let placed = |(_, inst): &(Block, InstId)| self.home(*inst) != fresh.home(*inst);
        if let Some((block, inst)) = func.iter_insts().find(placed) {
            return Some(format!("{inst} is in {block}, the lists say elsewhere"));
        }
        let users = |lists: &DefUse, reg| {
            let mut users: SmallVec<[InstId; 8]> = lists.users(reg).collect();
            users.sort_unstable();
            users
        };
        func.regs().keys().find_map(|reg| {
            let (definition, other) = (self.definition(reg), fresh.definition(reg));
            if definition != other {
                return Some(format!("{reg} is defined by {other:?}, the lists say {definition:?}"));
            }
            let (listed, found) = (users(self, reg), users(&fresh, reg));
            let wrong = listed != found || self.count(reg) as usize != found.len();
            wrong.then(|| format!("{reg} is read by {found:?}, the lists say {listed:?}"))
        })
    }

    #[inline]
    pub(super) fn place(&mut self, inst: InstId, block: Block) {
        self.homes[inst] = block.into();
    }

    /// Count an instruction in.
    pub(super) fn add(&mut self, func: &Function, inst: InstId) {
        let mut read: SmallVec<[VReg; 8]> = SmallVec::new();
        func.for_each_use(inst, |mention| read.push(mention.reg));
        if let Some(changed) = &mut self.changed {
            changed.extend_from_slice(&read);
            func.for_each_def(inst, |mention| changed.push(mention.reg));
        }
        let span = self.room(inst, read.len() as u32);
        for (at, reg) in (span.start..).zip(read) {
            self.link(Use(at), reg, inst);
        }
        func.for_each_def(inst, |mention| {
            if func.is_value(mention.reg) {
                self.definitions[mention.reg] = inst.into();
            }
        });
    }

    /// Count an instruction out: it must be as it was when it was counted in.
    pub(super) fn remove(&mut self, func: &Function, inst: InstId) {
        if let Some(changed) = &mut self.changed {
            func.for_each_reg(inst, |mention| changed.push(mention.reg));
        }
        let span = &mut self.spans[inst];
        let uses = span.start..span.start + std::mem::take(&mut span.len);
        uses.for_each(|at| self.unlink(Use(at)));
        func.for_each_def(inst, |mention| {
            if self.definitions[mention.reg] == inst.into() {
                self.definitions[mention.reg] = None.into();
            }
        });
    }

    /// Room for `len` uses of an instruction that has none: where its former ones stood, if they were as many.
    fn room(&mut self, inst: InstId, len: u32) -> Span {
        let unused = UseData { reg: VReg::reserved_value(), inst, next: None.into(), previous: None.into() };
        let span = &mut self.spans[inst];
        span.len = len;
        if span.room < len {
            (span.start, span.room) = (self.uses.len() as u32, len);
            (0..len).for_each(|_| {
                self.uses.push(unused);
            });
        }
        *span
    }

    /// Put a use at the start of a register's list.
    fn link(&mut self, at: Use, reg: VReg, inst: InstId) {
        let next = std::mem::replace(&mut self.first[reg], at.into());
        if let Some(next) = next.expand() {
            self.uses[next].previous = at.into();
        }
        self.uses[at] = UseData { reg, inst, next, previous: None.into() };
        self.counts[reg] += 1;
    }

    fn unlink(&mut self, at: Use) {
        let UseData { reg, next, previous, .. } = self.uses[at];
        match previous.expand() {
            Some(previous) => self.uses[previous].next = next,
            None => self.first[reg] = next,
        }
        if let Some(next) = next.expand() {
            self.uses[next].previous = previous;
        }
        self.counts[reg] -= 1;
    }
}
