//! Which facts hold at the start of each block: those that all ways to it bring along.

use super::places::{Event, Places};
use fixedbitset::FixedBitSet;
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, Function, SecondaryMap};
use std::ops::Range;

/// Bits for all blocks together: of a function that has more, facts end with their blocks.
const MOST_BITS: usize = 1 << 26;

/// Facts that hold at some point.
pub(super) struct Known {
    pub(super) facts: FixedBitSet,
}

impl Known {
    /// What an event does to what is known. What is forgotten is given to `forget`, too.
    pub(super) fn pass(&mut self, places: &Places, event: Event, mut forget: impl FnMut(Range<usize>)) {
        let mut ends = |facts: Range<usize>| {
            self.facts.set_range(facts.clone(), false);
            forget(facts);
        };
        match event {
            Event::Load(_, fact) => self.facts.insert(fact),
            Event::Store(place, fact) => {
                let (space, own) = places.base_of(place);
                for facts in places.of_space(space) {
                    // Those of the base itself lie within, or in another space.
                    let (start, end) = (own.start.clamp(facts.start, facts.end), own.end.clamp(facts.start, facts.end));
                    ends(facts.start..start);
                    ends(end..facts.end);
                }
                places.overlapping(place).for_each(|other| ends(other.facts.clone()));
                fact.into_iter().for_each(|fact| self.facts.insert(fact));
            }
            Event::Writes(space) => places.of_space(space).for_each(ends),
            Event::Others => places.of_others().for_each(ends),
            Event::All => ends(0..places.facts.len()),
        }
    }
}

/// What holds at the start of blocks.
pub(super) struct AtStart {
    /// By block; absent where nothing does.
    known: SecondaryMap<Block, Option<FixedBitSet>>,
    facts: usize,
}

impl AtStart {
    /// Over all ways to each block. A fact goes round a loop unless something in it ends it.
    pub(super) fn new(func: &Function, cfg: &Cfg, places: &Places) -> AtStart {
        let facts = places.facts.len();
        let mut start = AtStart { known: SecondaryMap::new(), facts };
        let blocks = func.layout().len();
        if facts * blocks * 3 > MOST_BITS || blocks == 1 {
            return start;
        }
        let effects: SecondaryMap<Block, Option<Effect>> = effects_of_blocks(func, places);
        // At the end of a block; of one that was not come to yet, everything.
        let mut ends: SecondaryMap<Block, Option<FixedBitSet>> = SecondaryMap::new();
        loop {
            let mut changed = false;
            for &block in cfg.rpo() {
                let mut known = meet(cfg, &ends, block, facts);
                start.known[block] = Some(known.clone());
                if let Some(effect) = &effects[block] {
                    known.difference_with(&effect.ended);
                    known.union_with(&effect.told);
                }
                changed |= ends[block].as_ref() != Some(&known);
                ends[block] = Some(known);
            }
            if !changed {
                return start;
            }
        }
    }

    /// At the start of a block.
    pub(super) fn of(&self, block: Block) -> Known {
        let nothing = || FixedBitSet::with_capacity(self.facts);
        Known { facts: self.known[block].clone().unwrap_or_else(nothing) }
    }
}

/// What a block does to what is known.
#[derive(Clone)]
struct Effect {
    told: FixedBitSet,
    ended: FixedBitSet,
}

fn effects_of_blocks(func: &Function, places: &Places) -> SecondaryMap<Block, Option<Effect>> {
    let mut effects = SecondaryMap::new();
    let facts = places.facts.len();
    for (block, events) in func.layout().iter().zip(&places.events).filter(|(_, events)| !events.is_empty()) {
        let mut told = Known { facts: FixedBitSet::with_capacity(facts) };
        let mut ended = FixedBitSet::with_capacity(facts);
        for (_, event) in events {
            told.pass(places, *event, |facts| ended.set_range(facts, true));
        }
        effects[*block] = Some(Effect { told: told.facts, ended });
    }
    effects
}

/// What the ends of all blocks before one have in common.
fn meet(cfg: &Cfg, ends: &SecondaryMap<Block, Option<FixedBitSet>>, block: Block, facts: usize) -> FixedBitSet {
    let mut known: Option<FixedBitSet> = None;
    // Nothing is known where the function is entered.
    let is_entry = cfg.rpo().first() == Some(&block);
    for end in cfg.preds(block).iter().filter(|_| !is_entry).filter_map(|before| ends[*before].as_ref()) {
        match &mut known {
            Some(known) => known.intersect_with(end),
            None => known = Some(end.clone()),
        }
    }
    known.unwrap_or_else(|| FixedBitSet::with_capacity(facts))
}
