//! What stands where at a point of the code: a relation between values and places, kept from both sides.

use super::names::{BITS, NOWHERE, Place, Places, REGISTERS, Value, lost};
use super::script::{Pair, bases};
use super::step::{Access, Kind, Step};
use fixedbitset::FixedBitSet;
use oriole_ori::Clobbers;
use smallvec::SmallVec;

/// What is known at the start of a block.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Where the values stand that are read later, in order of the values and then of the places.
    pub(super) stands: Vec<(Value, Place)>,
    /// Of the values that may be read before they are written: those that no path here has written.
    pub(super) undefined: FixedBitSet,
    /// Words of slots that all paths here have written.
    pub(super) stored: FixedBitSet,
}

/// Values that may be read before they are written: their numbers among themselves.
pub(super) struct Exposed {
    number: Vec<u32>,
    values: Vec<Value>,
}

impl Exposed {
    pub(super) fn new(pair: &Pair<'_>, values: impl Iterator<Item = Value>) -> Self {
        let mut exposed = Exposed { number: vec![u32::MAX; pair.values.count()], values: Vec::new() };
        for value in values {
            let number = &mut exposed.number[value as usize];
            if *number == u32::MAX {
                *number = exposed.values.len() as u32;
                exposed.values.push(value);
            }
        }
        exposed
    }

    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    /// All of them.
    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Which of them a value is.
    pub(super) fn number(&self, value: Value) -> Option<usize> {
        self.number.get(value as usize).filter(|number| **number != u32::MAX).map(|number| *number as usize)
    }
}

/// What is known at the point that a walk has come to.
pub(super) struct State<'a> {
    pair: &'a Pair<'a>,
    exposed: &'a Exposed,
    /// By place: the values that stand there.
    held: Vec<SmallVec<[Value; 2]>>,
    /// By value: where it stands.
    at: Vec<SmallVec<[Place; 2]>>,
    undefined: FixedBitSet,
    stored: FixedBitSet,
    /// By word: some of its bits may be known.
    packed: Vec<bool>,
    /// By register: the slots that are addressed from it.
    bases: Vec<Vec<Place>>,
    /// By word of a slot: a value that may be undefined went there.
    pub(super) excused: Vec<bool>,
    /// Places and values of which something may be known.
    touched: Vec<(Value, Place)>,
}

impl<'a> State<'a> {
    pub(super) fn new(pair: &'a Pair<'a>, exposed: &'a Exposed) -> Self {
        let places: &Places = &pair.places;
        let words = places.words() as usize;
        State {
            pair,
            exposed,
            held: vec![SmallVec::new(); places.count()],
            at: vec![SmallVec::new(); pair.values.count()],
            undefined: FixedBitSet::with_capacity(exposed.count()),
            stored: FixedBitSet::with_capacity(words),
            packed: vec![false; words],
            bases: bases(places),
            excused: vec![false; words],
            touched: Vec::new(),
        }
    }

    /// Begin anew with what is known.
    pub(super) fn load(&mut self, facts: &Facts) {
        for (value, place) in std::mem::take(&mut self.touched) {
            self.held[place as usize].clear();
            self.at[value as usize].clear();
        }
        if self.pair.places.packs {
            self.packed.fill(false);
        }
        facts.stands.iter().for_each(|(value, place)| self.put(*value, *place));
        self.undefined.clone_from(&facts.undefined);
        self.stored.clone_from(&facts.stored);
    }

    /// What is known here of the values `wanted`.
    pub(super) fn facts(&self, wanted: &[Value]) -> Facts {
        let mut stands = Vec::new();
        wanted.iter().for_each(|value| self.sorted(*value, &mut stands));
        Facts { stands, undefined: self.undefined.clone(), stored: self.stored.clone() }
    }

    fn sorted(&self, value: Value, stands: &mut Vec<(Value, Place)>) {
        let start = stands.len();
        stands.extend(self.at[value as usize].iter().map(|place| (value, *place)));
        stands[start..].sort_unstable();
    }

    /// Keep of `facts`, those of another path, what holds here too; whether that is less. A value that is undefined on one
    /// path stands wherever it stands on the other.
    pub(super) fn meet(&self, facts: &mut Facts, wanted: &[Value]) -> bool {
        let old = std::mem::take(&mut facts.stands);
        let (mut rest, mut changed) = (&old[..], false);
        let mut own = Vec::new();
        for value in wanted {
            let count = rest.iter().take_while(|(of, _)| of == value).count();
            let (theirs, behind) = rest.split_at(count);
            rest = behind;
            let undefined = |set: &FixedBitSet| self.exposed.number(*value).is_some_and(|number| set.contains(number));
            if undefined(&self.undefined) {
                facts.stands.extend_from_slice(theirs);
            } else if undefined(&facts.undefined) {
                self.sorted(*value, &mut facts.stands);
            } else {
                own.clear();
                self.sorted(*value, &mut own);
                let kept = facts.stands.len();
                facts.stands.extend(theirs.iter().filter(|place| own.binary_search(place).is_ok()));
                changed |= facts.stands.len() - kept != count;
            }
        }
        for (theirs, own) in [(&mut facts.undefined, &self.undefined), (&mut facts.stored, &self.stored)] {
            changed |= !theirs.is_subset(own);
            theirs.intersect_with(own);
        }
        changed
    }

    pub(super) fn stands(&self, value: Value, place: Place) -> bool {
        self.is_undefined(value) || self.at[value as usize].contains(&place)
    }

    pub(super) fn is_undefined(&self, value: Value) -> bool {
        self.exposed.number(value).is_some_and(|number| self.undefined.contains(number))
    }

    /// Whether all paths here have written a word.
    pub(super) fn is_stored(&self, word: Place) -> bool {
        self.stored.contains(word as usize)
    }

    /// The values that stand at a place.
    pub(super) fn held(&self, place: Place) -> &[Value] {
        self.held.get(place as usize).map_or(&[], |held| held)
    }

    fn put(&mut self, value: Value, place: Place) {
        if place == NOWHERE || self.at[value as usize].contains(&place) {
            return;
        }
        self.at[value as usize].push(place);
        self.held[place as usize].push(value);
        self.touched.push((value, place));
        if let Some((word, _)) = self.pair.places.word_of_bit(place) {
            self.packed[word as usize] = true;
        }
    }

    /// Nothing is known of a place any more.
    fn clear(&mut self, place: Place) {
        for value in std::mem::take(&mut self.held[place as usize]) {
            self.at[value as usize].retain(|other| *other != place);
        }
    }

    /// A word is overwritten: its bits are others, and slots that are addressed from it are elsewhere.
    fn overwrite(&mut self, word: Place) {
        if word == NOWHERE {
            return;
        }
        self.clear(word);
        if self.pair.places.packs && std::mem::take(&mut self.packed[word as usize]) {
            (0..BITS).for_each(|bit| self.clear(self.pair.places.bit(word, bit)));
        }
        if word < REGISTERS && !self.bases[word as usize].is_empty() {
            let slots = std::mem::take(&mut self.bases[word as usize]);
            for slot in &slots {
                self.overwrite(*slot);
                self.stored.remove(*slot as usize);
            }
            self.bases[word as usize] = slots;
        }
    }

    /// A value is written: what stands anywhere is an old one.
    fn forget(&mut self, value: Value) {
        for place in std::mem::take(&mut self.at[value as usize]) {
            self.held[place as usize].retain(|other| *other != value);
        }
        if let Some(number) = self.exposed.number(value) {
            self.undefined.remove(number);
        }
    }

    /// Go on behind a step.
    pub(super) fn step(&mut self, step: &Step) {
        let pair = self.pair;
        let writes = pair.script.writes(step);
        match step.kind {
            Kind::Own => self.own(step, writes),
            Kind::Copy => {
                self.transfer(writes);
                writes.iter().for_each(|write| self.forget(write.value));
                writes.iter().for_each(|write| self.put(write.value, write.place));
            }
            Kind::Gone => writes.iter().for_each(|write| {
                self.forget(write.value);
                self.put(write.value, write.from);
            }),
            Kind::GoneCopy => writes.iter().for_each(|write| self.rename(write.value, write.from)),
            Kind::Moves => self.transfer(writes),
        }
    }

    fn own(&mut self, step: &Step, writes: &[Access]) {
        if let Some(call) = step.call
            && let Clobbers::Mask(mask) = &self.pair.after[call].clobbers
        {
            lost(mask).for_each(|place| self.overwrite(place));
        }
        for write in writes {
            let stays = !write.conditional || self.stands(write.value, write.place);
            self.forget(write.value);
            self.overwrite(write.place);
            if stays {
                self.put(write.value, write.place);
                self.put(write.value, write.from);
            }
        }
    }

    /// `to` is from here on what `from` is.
    fn rename(&mut self, to: Value, from: Value) {
        if to == from {
            return;
        }
        let undefined = self.is_undefined(from);
        self.forget(to);
        for place in self.at[from as usize].clone() {
            self.put(to, place);
        }
        if let Some(number) = self.exposed.number(to).filter(|_| undefined) {
            self.undefined.insert(number);
        }
    }

    /// Each place gets what stands at another, all at once; words with their bits.
    fn transfer(&mut self, moves: &[Access]) {
        let places = &self.pair.places;
        let mut found: SmallVec<[(Value, Place); 16]> = SmallVec::new();
        for access in moves.iter().filter(|access| access.from != NOWHERE && access.place != NOWHERE) {
            found.extend(self.held[access.from as usize].iter().map(|value| (*value, access.place)));
            if access.place < places.words() && access.from < places.words() && self.packed[access.from as usize] {
                for bit in 0..BITS {
                    let held = &self.held[places.bit(access.from, bit) as usize];
                    found.extend(held.iter().map(|value| (*value, places.bit(access.place, bit))));
                }
            }
        }
        for access in moves.iter().filter(|access| access.place < places.words()) {
            self.overwrite(access.place);
            if places.slot_number(access.place).is_some() {
                self.stored.insert(access.place as usize);
            }
        }
        for (value, place) in found {
            self.put(value, place);
            if places.slot_number(place).is_some() && self.exposed.number(value).is_some() {
                self.excused[place as usize] = true;
            }
        }
    }
}
