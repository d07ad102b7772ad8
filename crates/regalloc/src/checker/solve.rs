//! What is known at the start of each block, on all paths: carried with the flow until nothing changes.

use super::names::Value;
use super::reach::Reach;
use super::script::Pair;
use super::state::{Exposed, Facts, State};
use super::step::Kind;
use fixedbitset::FixedBitSet;
use oriole_ori::{Block, EntityRef, SecondaryMap};

/// What is known, and of which values.
pub(super) struct Solution {
    pub(super) exposed: Exposed,
    pub(super) reach: Reach,
    /// By block: what is known at its start; `None` where nothing leads.
    pub(super) entries: SecondaryMap<Block, Option<Facts>>,
    /// By word of a slot: a value that may be undefined went there.
    pub(super) excused: Vec<bool>,
}

impl Solution {
    pub(super) fn new(pair: &Pair<'_>) -> Self {
        let reach = Reach::new(pair);
        let exposed = exposed(pair, &reach);
        let entries = SecondaryMap::with_default(None);
        let mut solution = Solution { exposed, reach, entries, excused: Vec::new() };
        solution.carry(pair);
        solution
    }

    fn carry(&mut self, pair: &Pair<'_>) {
        let Solution { exposed, reach, entries, excused } = self;
        let Some(first) = pair.cfg.rpo().first() else { return };
        let mut state = State::new(pair, exposed);
        entries[*first] = Some(at_entry(pair, exposed, reach.wanted(*first)));
        let mut waiting = vec![false; pair.after.blocks().len()];
        waiting[first.index()] = true;
        while waiting.contains(&true) {
            for block in pair.cfg.rpo() {
                if !std::mem::take(&mut waiting[block.index()]) {
                    continue;
                }
                let Some(facts) = &entries[*block] else { continue };
                state.load(facts);
                pair.script.steps(*block).iter().for_each(|step| state.step(step));
                for succ in pair.cfg.succs(*block) {
                    let wanted = reach.wanted(*succ);
                    let changed = match &mut entries[*succ] {
                        Some(facts) => state.meet(facts, wanted),
                        unknown => {
                            *unknown = Some(state.facts(wanted));
                            true
                        }
                    };
                    waiting[succ.index()] |= changed;
                }
            }
        }
        *excused = std::mem::take(&mut state.excused);
    }
}

/// Values that are read before they are written on some path, and those that can become undefined by a copy of such.
fn exposed(pair: &Pair<'_>, reach: &Reach) -> Exposed {
    let Some(first) = pair.after.entry() else { return Exposed::new(pair, std::iter::empty()) };
    let given = given(pair);
    let is_given = |value: &Value| pair.values.fixed_place(*value).is_some() || given.iter().any(|(of, _)| of == value);
    let early = reach.wanted(first).iter().copied().filter(|value| !is_given(value));
    let steps = pair.after.layout().iter().flat_map(|block| pair.script.steps(*block));
    let copies = steps.filter(|step| step.kind == Kind::GoneCopy);
    let copied = copies.flat_map(|step| pair.script.writes(step)).map(|write| write.value);
    Exposed::new(pair, early.chain(copied.filter(|value| pair.values.fixed_place(*value).is_none())))
}

/// What the function receives, and where.
fn given(pair: &Pair<'_>) -> Vec<(Value, u32)> {
    let regs = pair.after.live_in().iter().filter(|reg| pair.before.regs().is_valid(**reg));
    let parts = regs.flat_map(|reg| {
        let places = super::names::words_of(pair.after, (*reg).into());
        (0..pair.before[*reg].components).map(|k| pair.values.of(pair.before, *reg, k)).zip(places)
    });
    parts.filter(|(_, place)| *place != super::names::NOWHERE).collect()
}

fn at_entry(pair: &Pair<'_>, exposed: &Exposed, wanted: &[Value]) -> Facts {
    let mut stands = given(pair);
    stands.retain(|(value, _)| wanted.binary_search(value).is_ok());
    stands.extend(wanted.iter().filter_map(|value| Some((*value, pair.values.fixed_place(*value)?))));
    stands.sort_unstable();
    stands.dedup();
    let stored = FixedBitSet::with_capacity(pair.places.words() as usize);
    let mut undefined = FixedBitSet::with_capacity(exposed.count());
    undefined.insert_range(..);
    stands.iter().filter_map(|(value, _)| exposed.number(*value)).for_each(|number| undefined.remove(number));
    Facts { stands, undefined, stored }
}
