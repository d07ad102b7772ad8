//! What the ends of blocks have to do so that the blocks behind them find what they begin with.

use super::plan::{Action, Plan};
use super::walk::{State, Walk};
use crate::node::Component;
use oriole_ori::Block;

impl Walk<'_> {
    /// Once it is known how all blocks begin and end.
    pub(super) fn join_edges(&mut self) {
        for block in self.scene.flow.cfg.rpo() {
            let Some(entry) = &self.entries[*block] else { continue };
            for pred in self.scene.flow.cfg.preds(*block) {
                let Some(exit) = &self.exits[*pred] else { continue };
                for (component, _) in self.distances.at_start(*block) {
                    let constant = self.plan.constants[*component as usize].is_some();
                    if let Some(action) = wanted(*component, entry, exit, constant) {
                        self.plan.at_end(*pred, action, *component);
                    }
                }
            }
        }
        self.plan.sort_ends();
    }
}

/// What the end of a block has to do with a component.
fn wanted(component: Component, entry: &State, exit: &State, constant: bool) -> Option<Action> {
    let kept = constant || exit.keeps(component);
    match (entry.has(component), exit.has(component)) {
        (true, false) => kept.then_some(Action::Load),
        (true, true) => (!kept && entry.keeps(component)).then_some(Action::Store),
        (false, true) => (!kept).then_some(Action::Store),
        (false, false) => None,
    }
}

impl Plan {
    fn at_end(&mut self, block: Block, action: Action, component: Component) {
        self.blocks[block].0.push((None, action, component));
    }

    /// Each thing once at the end of a block, and stores before loads.
    fn sort_ends(&mut self) {
        for steps in self.blocks.values_mut() {
            let first = steps.0.partition_point(|(anchor, ..)| anchor.is_some());
            let mut end = steps.0.split_off(first);
            end.sort_unstable_by_key(|(_, action, component)| (*action, *component));
            end.dedup();
            steps.0.extend(end);
        }
    }
}
