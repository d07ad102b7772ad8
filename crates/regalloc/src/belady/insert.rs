//! The code of a plan.

use super::plan::{Action, Anchor, Plan, Steps};
use crate::code::FileCode;
use crate::constants::compute_again;
use crate::node::{Component, Node, owners};
use crate::spill::{SpillBytes, new_slot};
use crate::stack::{SlotAccess, load_slot, store_slot};
use oriole_ori::{Block, Function, InstId, SecondaryMap, VReg, terminator::is_terminator};

/// The homes in memory: by register, the byte offset in the spill area.
pub(crate) type Slots = SecondaryMap<VReg, Option<u32>>;

/// Put the stores and loads of `plan` into the code.
pub(crate) fn apply(func: &mut Function, lines: &FileCode, plan: &Plan, slots: &mut Slots, bytes: &mut SpillBytes) {
    let mut writer = Writer { func, lines, plan, owner: owners(&lines.nodes), slots, bytes };
    for block in writer.func.layout().to_vec() {
        let stores = |inst: &InstId| plan.at_definition.contains_key(inst);
        if !plan.blocks[block].0.is_empty() || writer.func.block_insts(block).iter().any(stores) {
            writer.block(block, &plan.blocks[block]);
        }
    }
}

/// A call goes on at the start of the next block.
pub(crate) fn ends_block(func: &Function, inst: InstId) -> bool {
    is_terminator(&func[inst]) || func[inst].call.is_some()
}

struct Writer<'a> {
    func: &'a mut Function,
    lines: &'a FileCode,
    plan: &'a Plan,
    owner: Vec<Node>,
    slots: &'a mut Slots,
    bytes: &'a mut SpillBytes,
}

impl Writer<'_> {
    fn block(&mut self, block: Block, steps: &Steps) {
        let old = self.func.edit().take_insts(block);
        let ends = old.iter().rev().take_while(|inst| ends_block(self.func, **inst)).count();
        let mut new = Vec::with_capacity(old.len() + steps.0.len());
        let mut rest = &steps.0[..];
        for (at, inst) in old.iter().enumerate() {
            if at + ends == old.len() {
                // A branch may read a register, too.
                let here = rest.iter().take_while(|(anchor, ..)| anchor.is_some()).count();
                let (own, end) = rest.split_at(here);
                self.steps(own, &mut new);
                self.steps(end, &mut new);
                rest = &[];
            }
            let here = rest.iter().take_while(|(anchor, ..)| *anchor == Some(*inst)).count();
            self.steps(&rest[..here], &mut new);
            rest = &rest[here..];
            new.push(*inst);
            if let Some(parts) = self.plan.at_definition.get(inst) {
                self.each_reg(parts.clone(), Action::Store, &mut new);
            }
        }
        self.steps(rest, &mut new);
        self.func.edit().set_insts(block, new);
    }

    /// All that is done at one place: what leaves makes room for what comes.
    fn steps(&mut self, steps: &[(Anchor, Action, Component)], new: &mut Vec<InstId>) {
        for action in [Action::Store, Action::Load] {
            let mut parts: Vec<Component> =
                steps.iter().filter(|(_, wanted, _)| *wanted == action).map(|(.., component)| *component).collect();
            parts.sort_unstable();
            parts.dedup();
            self.each_reg(parts, action, new);
        }
    }

    /// The components, in order, those of a register together.
    fn each_reg(&mut self, mut parts: Vec<Component>, action: Action, new: &mut Vec<InstId>) {
        while let Some(first) = parts.first() {
            let reg = self.reg(*first);
            let own = parts.iter().take_while(|part| self.reg(**part) == reg).count();
            let group: Vec<Component> = parts.drain(..own).collect();
            match action {
                Action::Store => self.store(&group, new),
                Action::Load => self.load(&group, new),
            }
        }
    }

    fn reg(&self, part: Component) -> VReg {
        self.lines.nodes[self.owner[part as usize] as usize].vreg
    }

    fn mask(&self, parts: &[Component]) -> u128 {
        let node = |part: Component| &self.lines.nodes[self.owner[part as usize] as usize];
        parts.iter().fold(0, |mask, part| mask | 1 << (part - node(*part).base))
    }

    fn slot(&mut self, reg: VReg) -> SlotAccess {
        let offset = match self.slots[reg] {
            Some(offset) => offset,
            None => new_slot(self.func, reg),
        };
        self.slots[reg] = Some(offset);
        let frame = self.func.frame();
        SlotAccess { base: frame.base(), offset: frame.local_bytes + offset, components: self.func[reg].components }
    }

    /// Components of one register.
    fn store(&mut self, parts: &[Component], new: &mut Vec<InstId>) {
        let reg = self.reg(parts[0]);
        let slot = self.slot(reg);
        for (inst, stored) in store_slot(reg, slot, self.mask(parts)) {
            new.push(self.func.edit().add(inst));
            self.bytes.stores += 4 * u32::from(stored);
        }
    }

    fn load(&mut self, parts: &[Component], new: &mut Vec<InstId>) {
        let reg = self.reg(parts[0]);
        let constant = |part: &Component| self.plan.constants[*part as usize];
        let (computed, stored): (Vec<Component>, Vec<Component>) =
            parts.iter().partition(|part| constant(part).is_some());
        for group in computed.chunk_by(|a, b| constant(a) == constant(b)) {
            if let Some(inst) = constant(&group[0]) {
                let again = compute_again(self.func, inst, self.mask(group));
                new.push(self.func.edit().add(again));
            }
        }
        if !stored.is_empty() {
            let slot = self.slot(reg);
            for (inst, loaded) in load_slot(reg, slot, self.mask(&stored)) {
                new.push(self.func.edit().add(inst));
                self.bytes.loads += 4 * u32::from(loaded);
            }
        }
    }
}
