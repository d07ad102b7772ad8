//! Which registers become one.
//!
//! Registers are coalesced in webs (congruence classes) when no two of them interfere: when neither is
//! live where the other is written, or both hold the same value there. The rules of the register
//! classes come on top: only registers of one class, and never of a class that is not to be
//! coalesced ([`ClassInfo::coalesceable`](crate::machine::class::ClassInfo)). Copies between classes
//! are bit casts and survive.
//!
//! The test of two webs walks both in the order of the dominator tree once and asks only about each
//! register and its nearest dominating one, with the chains of equal values of Boissinot and others.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap};

use super::values::{Affinity, Values};
use crate::machine::{Function, VReg};

/// Webs of this size, together, are always compared.
const SMALL: usize = 256;
/// How many members of larger webs may be compared, for each copy of the function. What is beyond keeps
/// its copies, so that the time does not grow with the square of a web that goes through everything.
const WORK_PER_COPY: usize = 50;

/// Registers in webs.
pub(super) struct Webs<'a> {
    values: Values<'a>,
    /// The web of each register: an index into [`Webs::members`].
    web: SecondaryMap<VReg, Option<u32>>,
    /// In the order in which they are written.
    members: Vec<Vec<VReg>>,
    /// The nearest dominating member of the own web with the same value that is live there.
    equal_above: SecondaryMap<VReg, PackedOption<VReg>>,
    /// The same, of the web that is being tried.
    equal_across: SecondaryMap<VReg, PackedOption<VReg>>,
    /// What is left of the comparisons of large webs.
    work: usize,
}

impl<'a> Webs<'a> {
    /// Each register alone.
    pub(super) fn new(values: Values<'a>) -> Webs<'a> {
        Webs {
            values,
            web: SecondaryMap::new(),
            members: Vec::new(),
            equal_above: SecondaryMap::new(),
            equal_across: SecondaryMap::new(),
            work: 0,
        }
    }

    /// Makes one web of the results and operands of each `phi`: cut off as they are, they do not interfere.
    pub(super) fn join_phis(&mut self, function: &Function) {
        for &block in &function.layout {
            for phi in &function.blocks[block].phis {
                let mut members = vec![phi.dst];
                members.extend(phi.incoming.iter().filter_map(|(_, value)| value.vreg()));
                members.sort_unstable_by_key(|&reg| self.values.order(reg));
                let web = self.members.len() as u32;
                members.iter().for_each(|&reg| self.web[reg] = Some(web));
                self.members.push(members);
            }
        }
    }

    /// Joins the webs of both sides of copies where that is possible, inner loops first.
    pub(super) fn coalesce(&mut self, mut affinities: Vec<Affinity>) {
        affinities.sort_by_key(|affinity| std::cmp::Reverse(affinity.depth));
        self.work = WORK_PER_COPY * affinities.len();
        for Affinity { to, from, .. } in affinities {
            let (to, from) = (self.web_of(to), self.web_of(from));
            if to != from {
                self.try_join(to, from);
            }
        }
    }

    /// The name of each register of the function: the first of its web.
    pub(super) fn names(&self, function: &Function) -> PrimaryMap<VReg, VReg> {
        let mut names: PrimaryMap<VReg, VReg> = function.regs.keys().collect();
        for members in &self.members {
            let Some(&first) = members.iter().min() else { continue };
            members.iter().for_each(|&reg| names[reg] = first);
        }
        names
    }

    fn web_of(&mut self, reg: VReg) -> u32 {
        *self.web[reg].get_or_insert_with(|| {
            self.members.push(vec![reg]);
            self.members.len() as u32 - 1
        })
    }

    fn try_join(&mut self, left: u32, right: u32) {
        let size = self.members[left as usize].len() + self.members[right as usize].len();
        if size > SMALL {
            let Some(work) = self.work.checked_sub(size) else { return };
            self.work = work;
        }
        let merged = self.merge(left, right);
        if self.interfere(&merged, left) {
            return;
        }
        for &reg in &merged {
            let (above, across) = (self.equal_above[reg].expand(), self.equal_across[reg].expand());
            self.equal_above[reg] = self.later(above, across).into();
        }
        let (kept, gone) = (left.min(right), left.max(right));
        for reg in std::mem::take(&mut self.members[gone as usize]) {
            self.web[reg] = Some(kept);
        }
        self.members[kept as usize] = merged;
    }

    /// The members of both webs, in the order in which they are written.
    fn merge(&self, left: u32, right: u32) -> Vec<VReg> {
        let (mut left, mut right) = (&self.members[left as usize][..], &self.members[right as usize][..]);
        let mut merged = Vec::with_capacity(left.len() + right.len());
        while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
            if self.values.order(*a) <= self.values.order(*b) {
                merged.push(*a);
                left = left_rest;
            } else {
                merged.push(*b);
                right = right_rest;
            }
        }
        merged.extend_from_slice(left);
        merged.extend_from_slice(right);
        merged
    }

    /// True when a member of one web interferes with one of the other. Leaves [`Webs::equal_across`]
    /// of all members right when it is false.
    fn interfere(&mut self, merged: &[VReg], left: u32) -> bool {
        // The members that are written on all ways to the current one.
        let mut above: Vec<VReg> = Vec::new();
        for &reg in merged {
            while above.pop_if(|top| !self.values.dominates(*top, reg)).is_some() {}
            self.equal_across[reg] = None.into();
            if let Some(&nearest) = above.last() {
                let same_web = (self.web[nearest] == Some(left)) == (self.web[reg] == Some(left));
                let other = if same_web { self.equal_across[nearest].expand() } else { Some(nearest) };
                if other.is_some_and(|other| self.interferes(reg, other)) {
                    return true;
                }
            }
            above.push(reg);
        }
        false
    }

    /// True when `reg` interferes with `other` or with one of the same value that is live with it: a
    /// member of the other web that dominates it. If the values are equal, remembers which is live.
    fn interferes(&mut self, reg: VReg, other: VReg) -> bool {
        let mut live = Some(other);
        while let Some(above) = live.filter(|&above| !self.values.intersect(reg, above)) {
            live = self.equal_above[above].expand();
        }
        if self.values.same(reg, other) {
            self.equal_across[reg] = live.into();
            return false;
        }
        live.is_some()
    }

    fn later(&self, a: Option<VReg>, b: Option<VReg>) -> Option<VReg> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if self.values.order(a) >= self.values.order(b) { a } else { b }),
            (a, b) => a.or(b),
        }
    }
}
