//! What is written once goes to its home where it is written, if that is no dearer than storing it wherever it leaves.

use super::plan::Action;
use super::walk::Walk;
use crate::node::Component;
use crate::weights::BlockWeights;
use oriole_ori::{Block, InstId};

/// The only write of a component.
#[derive(Clone, Copy)]
struct Definition {
    inst: InstId,
    block: Block,
}

impl Walk<'_> {
    /// Once it is known where components leave: a value that is stored in several places, at the ends of blocks for those
    /// behind them most of all, is stored once.
    pub(super) fn store_at_definitions(&mut self) {
        let weights = BlockWeights::new(self.scene.func, self.scene.loops);
        let mut prices: Vec<f32> = vec![0.0; self.writes.len()];
        for (block, steps) in self.plan.blocks.iter() {
            for (_, action, component) in &steps.0 {
                if *action == Action::Store {
                    prices[*component as usize] += weights.of(block);
                }
            }
        }
        let mut moved = vec![false; prices.len()];
        for (component, definition) in (0..).zip(self.definitions()) {
            let price = prices[component as usize];
            if let Some(definition) = definition.filter(|definition| weights.of(definition.block) < price) {
                self.plan.at_definition.entry(definition.inst).or_default().push(component);
                self.plan.definitions += weights.of(definition.block);
                moved[component as usize] = true;
            }
        }
        for steps in self.plan.blocks.values_mut() {
            steps.0.retain(|(_, action, component)| *action != Action::Store || !moved[*component as usize]);
        }
    }

    /// By component: its only write, if there is one that always happens, and something may be put behind it.
    fn definitions(&self) -> Vec<Option<Definition>> {
        let mut found: Vec<Option<Definition>> = vec![None; self.writes.len()];
        let once = |component: Component| self.writes[component as usize] == 1;
        for (place, block) in self.scene.func.layout().iter().enumerate() {
            for access in self.scene.lines.lines(place) {
                let inst = access.line.inst;
                if access.line.partly || access.line.call.is_some() {
                    continue;
                }
                for component in access.writes.iter().flat_map(|write| write.components()).filter(|part| once(*part)) {
                    found[component as usize] = Some(Definition { inst, block: *block });
                }
            }
        }
        found
    }
}
