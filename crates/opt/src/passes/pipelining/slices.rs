//! What the values of a loop are computed from.

use crate::passes::one_block::{OneBlock, phi_values};
use oriole_isa::Arch;
use oriole_ori::analysis::Speculation;
use oriole_ori::{Function, InstId, Operand, VReg};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The instructions of a loop of one block, and where their operands come from.
pub(super) struct Slices<'a> {
    pub(super) func: &'a Function,
    pub(super) arch: Arch,
    /// The number in the block, behind the MovPhis.
    numbers: FxHashMap<InstId, usize>,
    /// What each MovPhi takes for the next round.
    nexts: FxHashMap<VReg, Operand>,
    /// Registers that are no values, but are written here: what reads them cannot be told apart by its round.
    written: FxHashSet<VReg>,
}

/// Instructions of a round that compute something from what there is when it begins. None does more than that.
#[derive(Clone, Default)]
pub(super) struct Slice {
    pub(super) insts: FxHashSet<InstId>,
    /// The values of MovPhis that they read.
    pub(super) heads: FxHashSet<VReg>,
}

impl Slice {
    pub(super) fn extend(&mut self, other: &Slice) {
        self.insts.extend(&other.insts);
        self.heads.extend(&other.heads);
    }
}

impl<'a> Slices<'a> {
    pub(super) fn of(func: &'a Function, arch: Arch, body: OneBlock) -> Slices<'a> {
        let numbers = body.insts(func).iter().enumerate().map(|(number, inst)| (*inst, number)).collect();
        let nexts = phi_values(func, body.block, body.block).into_iter().collect();
        let mut written = FxHashSet::default();
        for inst in body.insts(func) {
            func.for_each_def(*inst, |write| {
                if !func.is_value(write.reg) {
                    written.insert(write.reg);
                }
            });
        }
        Slices { func, arch, numbers, nexts, written }
    }

    /// The number of an instruction in the block, behind the MovPhis.
    pub(super) fn number(&self, inst: InstId) -> Option<usize> {
        self.numbers.get(&inst).copied()
    }

    /// What an instruction reads.
    pub(super) fn reads(&self, inst: InstId) -> SmallVec<[VReg; 8]> {
        let mut reads = SmallVec::new();
        self.func.for_each_use(inst, |read| reads.push(read.reg));
        reads
    }

    /// The instruction of the block that gives a value, MovPhis aside.
    pub(super) fn definition(&self, value: VReg) -> Option<InstId> {
        let inst = self.func.definition(value).filter(|_| self.func.is_value(value));
        inst.filter(|inst| self.numbers.contains_key(inst))
    }

    /// What gives a MovPhi's value for the next round, if that is an instruction of the block.
    pub(super) fn next(&self, value: VReg) -> Option<InstId> {
        self.definition(self.nexts.get(&value)?.as_reg()?)
    }

    /// What computes a value in its round, if it can be computed ahead.
    pub(super) fn of_value(&self, value: VReg) -> Option<Slice> {
        let mut slice = Slice::default();
        self.add(value, &mut slice).then_some(slice)
    }

    /// What computes all that an instruction reads.
    pub(super) fn of_reads(&self, inst: InstId) -> Option<Slice> {
        let mut slice = Slice::default();
        self.reads(inst).into_iter().all(|read| self.add(read, &mut slice)).then_some(slice)
    }

    /// What computes, in the round before, the values with which a slice begins.
    pub(super) fn of_heads(&self, slice: &Slice) -> Option<Slice> {
        let mut before = Slice::default();
        let mut nexts = slice.heads.iter().filter_map(|head| self.nexts.get(head)?.as_reg());
        nexts.all(|next| self.add(next, &mut before)).then_some(before)
    }

    /// Add what computes a value. Whether that can be computed ahead.
    fn add(&self, value: VReg, slice: &mut Slice) -> bool {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if self.nexts.contains_key(&value) {
                slice.heads.insert(value);
            } else if let Some(inst) = self.definition(value) {
                if !slice.insts.insert(inst) {
                    continue;
                }
                if !Speculation::is_harmless(self.func, inst, self.arch) {
                    return false;
                }
                open.extend(self.reads(inst));
            } else if self.written.contains(&value) {
                return false;
            }
        }
        true
    }

    /// Instructions in the order of the block.
    pub(super) fn in_order(&self, insts: &FxHashSet<InstId>) -> Vec<InstId> {
        let mut insts: Vec<InstId> = insts.iter().copied().collect();
        insts.sort_by_key(|inst| self.numbers[inst]);
        insts
    }

    /// The number of the last instruction that reads what one gives: all that do stand in the block ahead of its end, and none is a MovPhi.
    pub(super) fn last_reader(&self, inst: InstId) -> Option<usize> {
        let lists = self.func.def_use()?;
        let (mut last, mut here) = (None, true);
        self.func.for_each_def(inst, |write| {
            for user in lists.users(write.reg) {
                let number = self.number(user);
                here &= number.is_some();
                last = last.max(number);
            }
        });
        last.filter(|last| here && *last + 1 < self.numbers.len())
    }
}
