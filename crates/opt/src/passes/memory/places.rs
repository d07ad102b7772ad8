//! The places that a function accesses, and what each access tells of them.

use crate::passes::general::source;
use oriole_isa::{Field, MemSize, RegFile, Role, Space};
use oriole_ori::analysis::{Base, Impact, address, is_free};
use oriole_ori::{Block, Function, Guard, Inst, InstFlags, InstId, Operand, OperandKind, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;

/// Bytes of a word.
pub(super) const WORD: i64 = 4;
/// The most bytes that are accessed at once.
const WIDEST: i64 = 16;

/// What an access tells: from it on, the bytes hold this.
pub(super) struct Fact {
    /// Where in the function the access stands.
    order: usize,
    pub(super) guard: Option<Guard>,
    /// Of a load: what its words are where the guard is false.
    pub(super) olds: Olds,
    /// The words; of less than a word, its lower bytes.
    pub(super) words: SmallVec<[Operand; 4]>,
    /// Of a load: how it fills a word.
    pub(super) loaded: Option<MemSize>,
}

/// Word by word, what stays where a guarded load does not happen; nothing where it always does.
pub(super) type Olds = SmallVec<[Operand; 4]>;

/// Bytes from a base on, with the facts about exactly these.
pub(super) struct Place {
    base: usize,
    pub(super) bytes: Range<i64>,
    pub(super) facts: Range<usize>,
}

/// What an instruction does, as far as it matters to what is known.
#[derive(Clone, Copy)]
pub(super) enum Event {
    /// A plain load from a place, with its fact.
    Load(usize, usize),
    /// A plain store to a place, with its fact where its data are values.
    Store(usize, Option<usize>),
    /// A store to some place of such memory.
    Writes(Space),
    /// See [`Impact::Others`].
    Others,
    /// See [`Impact::All`].
    All,
}

/// Facts stand side by side: those of a place, the places of a base by their bytes, the bases of a space. So what is to be forgotten
/// together has neighbouring numbers.
#[derive(Default)]
pub(super) struct Places {
    pub(super) facts: Vec<Fact>,
    pub(super) places: Vec<Place>,
    /// By base: its places.
    bases: Vec<(Space, Range<usize>)>,
    /// Per space of which there are facts.
    spaces: Vec<(Space, Range<usize>)>,
    /// Per block, by its place in the layout: what its instructions do, in order.
    pub(super) events: Vec<Vec<(InstId, Event)>>,
}

/// An access before it has its numbers.
struct Access {
    base: usize,
    bytes: Range<i64>,
    fact: Option<Fact>,
    stores: bool,
}

impl Places {
    /// What a function's accesses tell; empty where no load can profit.
    pub(super) fn new(func: &Function) -> Places {
        let mut survey = Survey::default();
        func.layout().iter().for_each(|block| survey.block(func, *block));
        survey.numbered()
    }

    /// The facts about a space.
    pub(super) fn of_space(&self, space: Space) -> impl Iterator<Item = Range<usize>> + '_ {
        self.spaces.iter().filter(move |(other, _)| other.meets(space)).map(|(_, facts)| facts.clone())
    }

    /// The facts about what other threads can write.
    pub(super) fn of_others(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.spaces.iter().filter(|(space, _)| *space != Space::Local).map(|(_, facts)| facts.clone())
    }

    /// The space of a place, and the facts about all places of its base.
    pub(super) fn base_of(&self, place: usize) -> (Space, Range<usize>) {
        let (space, places) = &self.bases[self.places[place].base];
        (*space, self.places[places.start].facts.start..self.places[places.end - 1].facts.end)
    }

    /// The places of the same base that share a byte with it.
    pub(super) fn overlapping(&self, place: usize) -> impl Iterator<Item = &Place> {
        let bytes = &self.places[place].bytes;
        let (_, of_base) = &self.bases[self.places[place].base];
        let of_base = &self.places[of_base.clone()];
        let first = of_base.partition_point(|other| other.bytes.start <= bytes.start - WIDEST);
        let near = of_base[first..].iter().take_while(|other| other.bytes.start < bytes.end);
        near.filter(|other| other.bytes.end > bytes.start)
    }

    /// The facts of a place, those before a fact first, the nearest ones ahead.
    pub(super) fn nearest(&self, place: &Place, to: usize) -> impl Iterator<Item = usize> + use<> {
        let order = self.facts[to].order;
        let facts = place.facts.clone();
        let middle = facts.start + self.facts[facts.clone()].partition_point(|fact| fact.order < order);
        (facts.start..middle).rev().chain(middle..facts.end)
    }
}

/// What is found while a function is looked through.
#[derive(Default)]
struct Survey {
    bases: FxHashMap<Base, usize>,
    /// By base: its space, loads from it, and stores to it.
    counts: Vec<(Space, u32, u32)>,
    accesses: Vec<Access>,
    events: Vec<Vec<(InstId, Seen)>>,
}

/// An event before accesses have their numbers.
#[derive(Clone, Copy)]
enum Seen {
    /// A plain access, by its place in the list.
    Access(usize),
    /// Something else.
    Event(Event),
}

impl Survey {
    fn block(&mut self, func: &Function, block: Block) {
        let mut events = Vec::new();
        for &inst in func.block_insts(block) {
            let data = &func[inst];
            let event = match (plain_access(func, data), Impact::of(data)) {
                (Some((base, bytes)), impact) => Seen::Access(self.access(func, data, (base, bytes), impact)),
                (None, Impact::Nothing) => continue,
                (None, Impact::Writes(space)) => Seen::Event(Event::Writes(space)),
                (None, Impact::Others) => Seen::Event(Event::Others),
                (None, Impact::All) => Seen::Event(Event::All),
            };
            events.push((inst, event));
        }
        self.events.push(events);
    }

    fn access(&mut self, func: &Function, inst: &Inst, (base, bytes): (Base, Range<i64>), impact: Impact) -> usize {
        let order = self.accesses.len();
        let stores = impact != Impact::Nothing;
        let space = base.space();
        let base = *self.bases.entry(base).or_insert_with(|| {
            self.counts.push((space, 0, 0));
            self.counts.len() - 1
        });
        let fact = fact(func, inst, order, stores);
        let (_, loads, others) = &mut self.counts[base];
        *if stores || fact.is_none() { others } else { loads } += 1;
        self.accesses.push(Access { base, bytes, fact, stores });
        order
    }

    /// Numbers in the order that [`Places`] asks for. Of a base that is loaded from once and never stored to, or never loaded from,
    /// nothing is to be gained.
    fn numbered(mut self) -> Places {
        let matters: Vec<bool> =
            self.counts.iter().map(|(_, loads, stores)| *loads > 0 && loads + stores > 1).collect();
        let mut order: Vec<usize> = (0..self.accesses.len()).filter(|at| matters[self.accesses[*at].base]).collect();
        order.sort_by_key(|at| {
            let Access { base, bytes, .. } = &self.accesses[*at];
            (self.counts[*base].0 as u32, *base, bytes.start, bytes.end, *at)
        });
        let mut places = Places::default();
        let mut numbers: Vec<Option<(usize, Option<usize>)>> = vec![None; self.accesses.len()];
        let mut last_base = None;
        for at in order {
            let access = &mut self.accesses[at];
            let space = self.counts[access.base].0;
            let number = access.fact.take().map(|fact| places.add(fact));
            let is_new = last_base.replace(access.base) != Some(access.base);
            places.extend(space, is_new, &access.bytes, number);
            numbers[at] = Some((places.places.len() - 1, number));
        }
        let numbered = |seen: Seen| match seen {
            Seen::Event(event) => Some(event),
            Seen::Access(at) => match (numbers[at], self.accesses[at].stores) {
                (Some((place, number)), true) => Some(Event::Store(place, number)),
                (Some((place, number)), false) => number.map(|number| Event::Load(place, number)),
                (None, true) => Some(Event::Writes(self.counts[self.accesses[at].base].0)),
                (None, false) => None,
            },
        };
        let of_block = |events: &Vec<(InstId, Seen)>| {
            events.iter().filter_map(|(inst, seen)| Some((*inst, numbered(*seen)?))).collect()
        };
        places.events = self.events.iter().map(of_block).collect();
        places
    }
}

impl Places {
    fn add(&mut self, fact: Fact) -> usize {
        self.facts.push(fact);
        self.facts.len() - 1
    }

    /// The last base, place and space grow by an access, or begin with it.
    fn extend(&mut self, space: Space, of_new_base: bool, bytes: &Range<i64>, fact: Option<usize>) {
        let end = self.facts.len();
        let start = fact.unwrap_or(end);
        if of_new_base {
            self.bases.push((space, self.places.len()..self.places.len()));
        }
        let base = self.bases.len() - 1;
        match self.places.last_mut().filter(|place| place.base == base && place.bytes == *bytes) {
            Some(place) => place.facts.end = end,
            None => self.places.push(Place { base, bytes: bytes.clone(), facts: start..end }),
        }
        self.bases[base].1.end = self.places.len();
        match self.spaces.last_mut().filter(|(last, _)| *last == space) {
            Some((_, facts)) => facts.end = end,
            None => self.spaces.push((space, start..end)),
        }
    }
}

/// Where a load or a store of which nothing else is said accesses memory that may change.
pub(super) fn plain_access(func: &Function, inst: &Inst) -> Option<(Base, Range<i64>)> {
    let plain = inst.is_machine() && inst.call.is_none() && is_free(inst) && !inst.flags.contains(InstFlags::INVARIANT);
    if plain { address(func, inst) } else { None }
}

/// What an access tells, if what it loads or stores are values.
fn fact(func: &Function, inst: &Inst, order: usize, stores: bool) -> Option<Fact> {
    let words = words(func, inst, stores)?;
    let guard = inst.guard();
    let known = guard.is_none_or(|guard| func.is_value(guard.pred));
    let olds = olds(func, inst, words.len())?;
    let loaded = (!stores).then(|| inst.get(Field::MEM_SIZE));
    known.then_some(Fact { order, guard, olds, words, loaded })
}

/// What a load or a store moves, word by word, if that are values.
pub(super) fn words(func: &Function, inst: &Inst, stores: bool) -> Option<SmallVec<[Operand; 4]>> {
    let data = source(inst, if stores { Role::Data } else { Role::D })?;
    let values = func.named(data);
    let count = match inst.get(Field::MEM_SIZE) {
        MemSize::B64 => 2,
        MemSize::B128 | MemSize::U128 => 4,
        _ => 1,
    };
    let is_value = |value: &VReg| func.is_value(*value) && func[*value].file() == RegFile::R;
    match data.kind() {
        OperandKind::Rz if stores => Some(SmallVec::from_elem(Operand::rz(), count)),
        _ if data.has_flags() || values.len() != count || !values.iter().all(is_value) => None,
        _ => Some(values.into_iter().map(Operand::reg).collect()),
    }
}

/// The old values of a load of so many words.
pub(super) fn olds(func: &Function, load: &Inst, words: usize) -> Option<Olds> {
    match load.olds() {
        [] => Some(Olds::new()),
        [old] if old.kind() == OperandKind::Undef => Some(Olds::from_elem(*old, words)),
        [old] => {
            let values = func.named(*old);
            (values.len() == words).then(|| values.into_iter().map(Operand::reg).collect())
        }
        _ => None,
    }
}
