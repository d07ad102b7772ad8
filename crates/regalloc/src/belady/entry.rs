//! What is in registers at the start of a block.

use super::walk::{State, Walk};
use super::{LOOP_EXIT, NEVER};
use crate::node::Component;
use oriole_ori::Block;

/// A component that is live at the start of a block.
struct Candidate {
    component: Component,
    distance: u32,
    /// All predecessors that are known have it in a register.
    everywhere: bool,
    /// Those that have not can load it at their ends, as they go nowhere else.
    obtainable: bool,
}

impl Walk<'_> {
    pub(super) fn choose_entry(&self, block: Block) -> State {
        let start = self.distances.at_start(block);
        if self.scene.func.entry() == Some(block) {
            // Arguments, and what is undefined.
            let mut regs: Vec<Component> = start.iter().map(|(component, _)| *component).collect();
            regs.sort_unstable();
            return State { memory: Vec::new(), regs };
        }
        let preds = self.scene.flow.cfg.preds(block);
        let known: Vec<(Block, &State)> =
            preds.iter().filter_map(|pred| Some((*pred, self.exits[*pred].as_ref()?))).collect();
        let is_header = known.len() < preds.len();
        let candidates: Vec<Candidate> =
            start.iter().map(|(component, distance)| self.candidate(*component, *distance, &known)).collect();
        let mut regs = if is_header { self.of_loop(block, &candidates) } else { self.of_join(block, &candidates) };
        regs.sort_unstable();
        let in_memory = |component: &Component| {
            let kept = |(_, state): &(Block, &State)| state.keeps(*component);
            match regs.binary_search(component) {
                // In a loop it may be written.
                Ok(_) => known.iter().all(kept) && (!is_header || self.writes[*component as usize] <= 1),
                Err(_) => known.iter().any(|pred| kept(pred) || pred.1.has(*component)),
            }
        };
        let mut memory: Vec<Component> = start.iter().map(|(component, _)| *component).filter(in_memory).collect();
        memory.sort_unstable();
        State { regs, memory }
    }

    fn candidate(&self, component: Component, distance: u32, known: &[(Block, &State)]) -> Candidate {
        let lacking = known.iter().filter(|(_, state)| !state.has(component));
        let loads = |(pred, state): &(Block, &State)| {
            self.may_load_at_end(*pred) && (state.keeps(component) || self.is_constant(component))
        };
        let (missing, loaded) =
            lacking.fold((0, 0), |(missing, loaded), pred| (missing + 1, loaded + usize::from(loads(pred))));
        Candidate {
            component,
            distance,
            everywhere: missing == 0,
            obtainable: missing == loaded && missing < known.len(),
        }
    }

    fn may_load_at_end(&self, block: Block) -> bool {
        let func = self.scene.func;
        let calls = func.block_insts(block).last().is_some_and(|inst| func[*inst].call.is_some());
        func.succs(block).len() == 1 && !calls
    }

    /// What stays in its register in any case, and as many more as there is room for, the next to be read first.
    fn of_join(&self, block: Block, candidates: &[Candidate]) -> Vec<Component> {
        let mut regs = self.staying(candidates);
        self.take(&mut regs, candidates, self.size(block), |candidate| {
            candidate.everywhere && candidate.distance != NEVER
        });
        self.take(&mut regs, candidates, self.size(block), |candidate| {
            !candidate.everywhere && candidate.obtainable && candidate.distance < LOOP_EXIT
        });
        regs
    }

    /// First what the loop reads; what it does not read only where there is room everywhere in it.
    fn of_loop(&self, block: Block, candidates: &[Candidate]) -> Vec<Component> {
        let mut regs = self.staying(candidates);
        let read = |candidate: &Candidate| candidate.distance < LOOP_EXIT;
        self.take(&mut regs, candidates, self.size(block), |candidate| {
            read(candidate) && (candidate.everywhere || candidate.obtainable)
        });
        let through = candidates.iter().filter(|candidate| !read(candidate)).count();
        let needed = (self.most[block] as usize).saturating_sub(through);
        let room = regs.len() + self.size(block).saturating_sub(needed.max(regs.len()));
        self.take(&mut regs, candidates, room.min(self.size(block)), |candidate| {
            !read(candidate) && candidate.everywhere
        });
        regs
    }

    fn staying(&self, candidates: &[Candidate]) -> Vec<Component> {
        candidates.iter().map(|candidate| candidate.component).filter(|component| !self.may_leave(*component)).collect()
    }

    fn take(
        &self,
        regs: &mut Vec<Component>,
        candidates: &[Candidate],
        most: usize,
        wanted: impl Fn(&Candidate) -> bool,
    ) {
        let free = candidates.iter().filter(|candidate| self.may_leave(candidate.component));
        let mut found: Vec<&Candidate> = free.filter(|candidate| wanted(candidate)).collect();
        found.sort_by_key(|candidate| (candidate.distance, candidate.component));
        let count = most.saturating_sub(regs.len());
        regs.extend(found.iter().take(count).map(|candidate| candidate.component));
    }
}
