//! What the checker calls things by: the values of the function before allocation (a component of a register each), and
//! the places of the function after it (registers, words of spill slots, bits of both, recipes).

use super::recipe::Recipe;
use oriole_isa::RegFile;
use oriole_ori::{Function, Operand, OperandKind, RegMask, VReg, text::reg_name};
use rustc_hash::FxHashMap;

/// A component of a register before allocation. Registers that have their place from the start are known by the place.
pub(super) type Value = u32;

/// Where a value can stand.
pub(super) type Place = u32;

/// No place: of what was given no register.
pub(super) const NOWHERE: Place = u32::MAX;

/// The registers of each file that are followed: R0–R254, UR0–UR79 (UR62 below sm_100), P0–P6, UP0–UP6, B0–B15.
const FILES: [(RegFile, Place, u16); 5] =
    [(RegFile::R, 0, 255), (RegFile::UR, 255, 80), (RegFile::P, 335, 7), (RegFile::UP, 342, 7), (RegFile::B, 349, 16)];

/// Registers of all files.
pub(super) const REGISTERS: Place = 365;

/// Bits of a word: its 32, and whether it is anything but zero.
pub(super) const BITS: Place = 33;
/// The last of them.
pub(super) const TRUTH: Place = 32;

/// The place of a physical register.
pub(super) fn register(file: RegFile, number: u16) -> Option<Place> {
    let (_, base, count) = FILES.iter().find(|(other, ..)| *other == file)?;
    (number < *count).then(|| base + Place::from(number))
}

/// What each function gives back as it found it, though it may name it: the stack pointer, and the descriptor of global memory.
const GIVEN_BACK: [(RegFile, u16); 3] = [(RegFile::R, 1), (RegFile::UR, 36), (RegFile::UR, 37)];

/// Registers that a call with these clobbers may change.
pub(super) fn lost(mask: &RegMask) -> impl Iterator<Item = Place> {
    let changed = |file, number| mask.contains(file, number) && !GIVEN_BACK.contains(&(file, number));
    registers().filter(move |(file, number, _)| changed(*file, *number)).map(|(.., place)| place)
}

/// The registers of all files with their places.
fn registers() -> impl Iterator<Item = (RegFile, u16, Place)> {
    FILES.into_iter().flat_map(|(file, base, count)| (0..count).map(move |n| (file, n, base + Place::from(n))))
}

fn register_name(place: Place) -> String {
    let file = FILES.iter().rev().find(|(_, base, _)| *base <= place);
    file.map_or_else(String::new, |(file, base, _)| format!("{file:?}{}", place - base))
}

/// A word of a slot: the register that it is addressed from, `None` for none, and the byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SlotWord {
    /// In shared memory, not in local memory.
    pub(super) shared: bool,
    pub(super) base: Option<u16>,
    pub(super) offset: i64,
}

impl SlotWord {
    /// The place of the register that it is addressed from.
    pub(super) fn base_place(&self) -> Option<Place> {
        register(RegFile::R, self.base?)
    }
}

/// The values of a function before allocation.
pub(super) struct Values {
    /// By register: the number of its first component.
    first: Vec<Value>,
    /// How many values there are; from here on those of registers with a fixed place.
    fixed: Value,
}

impl Values {
    pub(super) fn new(before: &Function) -> Self {
        let mut fixed = 0;
        let mut first = Vec::with_capacity(before.regs().len());
        for data in before.regs().values() {
            first.push(fixed);
            fixed += Value::from(data.components);
        }
        Values { first, fixed }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        (self.fixed + REGISTERS) as usize
    }

    /// Component `k` of a register.
    pub(super) fn of(&self, before: &Function, reg: VReg, k: u8) -> Value {
        let data = &before[reg];
        let own = data.physical.filter(|_| data.is_fixed());
        match own.and_then(|first| register(data.file(), first + u16::from(k))) {
            Some(place) => self.of_register(place),
            None => self.first[reg.as_u32() as usize] + Value::from(k),
        }
    }

    /// The value of a register that has its place from the start.
    pub(super) fn of_register(&self, place: Place) -> Value {
        self.fixed + place
    }

    /// The place of a value that has it from the start.
    pub(super) fn fixed_place(&self, value: Value) -> Option<Place> {
        value.checked_sub(self.fixed)
    }

    /// As the text form has it.
    pub(super) fn name(&self, before: &Function, value: Value) -> String {
        if let Some(place) = self.fixed_place(value) {
            return register_name(place);
        }
        let reg = VReg::from_u32(self.first.partition_point(|first| *first <= value).saturating_sub(1) as u32);
        let k = value - self.first[reg.as_u32() as usize];
        let name = reg_name(before, reg);
        if before[reg].components > 1 { format!("{name}.{k}") } else { name }
    }
}

/// The places of a function after allocation, beyond its registers.
#[derive(Default)]
pub(super) struct Places {
    slots: Vec<SlotWord>,
    slot_index: FxHashMap<SlotWord, Place>,
    recipes: FxHashMap<Recipe, Place>,
    /// Some word keeps predicates.
    pub(super) packs: bool,
}

impl Places {
    /// Learn of a word of a slot. Slots are learnt before recipes.
    pub(super) fn add_slot(&mut self, word: SlotWord) {
        let next = REGISTERS + self.slots.len() as Place;
        if *self.slot_index.entry(word).or_insert(next) == next {
            self.slots.push(word);
        }
    }

    /// Learn of a recipe.
    pub(super) fn add_recipe(&mut self, recipe: Recipe) {
        let next = self.words() + self.recipes.len() as Place;
        self.recipes.entry(recipe).or_insert(next);
    }

    pub(super) fn slot(&self, word: SlotWord) -> Place {
        self.slot_index.get(&word).copied().unwrap_or(NOWHERE)
    }

    pub(super) fn has_recipes(&self) -> bool {
        !self.recipes.is_empty()
    }

    pub(super) fn recipe(&self, recipe: &Recipe) -> Place {
        self.recipes.get(recipe).copied().unwrap_or(NOWHERE)
    }

    /// Registers and words of slots come first.
    pub(super) fn words(&self) -> Place {
        REGISTERS + self.slots.len() as Place
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        let bits = if self.packs { self.words() * BITS } else { 0 };
        (self.first_bit() + bits) as usize
    }

    fn first_bit(&self) -> Place {
        self.words() + self.recipes.len() as Place
    }

    /// A bit of a word.
    pub(super) fn bit(&self, word: Place, bit: Place) -> Place {
        if word == NOWHERE || !self.packs { NOWHERE } else { self.first_bit() + word * BITS + bit }
    }

    /// The word and the number of a bit.
    pub(super) fn word_of_bit(&self, place: Place) -> Option<(Place, Place)> {
        let bit = place.checked_sub(self.first_bit()).filter(|_| place != NOWHERE)?;
        Some((bit / BITS, bit % BITS))
    }

    /// The slots' words with their places.
    pub(super) fn slots(&self) -> impl Iterator<Item = (&SlotWord, Place)> {
        self.slots.iter().zip(REGISTERS..)
    }

    /// Which slot word a place is, counted from zero.
    pub(super) fn slot_number(&self, place: Place) -> Option<usize> {
        (REGISTERS..self.words()).contains(&place).then(|| (place - REGISTERS) as usize)
    }

    /// A register or a slot in words.
    pub(super) fn name(&self, place: Place) -> String {
        if let Some(number) = self.slot_number(place) {
            let SlotWord { shared, base, offset } = self.slots[number];
            let space = if shared { "shared" } else { "local" };
            return base.map_or(format!("{space}[{offset:#x}]"), |base| format!("{space}[R{base}+{offset:#x}]"));
        }
        match self.word_of_bit(place) {
            Some((word, TRUTH)) => format!("{} != 0", self.name(word)),
            Some((word, bit)) => format!("bit {bit} of {}", self.name(word)),
            None if place < REGISTERS => register_name(place),
            None => "no register".to_owned(),
        }
    }
}

/// The words that an operand occupies after allocation: nothing for what is no register, `NOWHERE` for what has none.
pub(super) fn words_of(after: &Function, operand: Operand) -> impl Iterator<Item = Place> {
    let found = after.physical(operand);
    let missing = match operand.kind() {
        OperandKind::Reg(reg, piece) if found.is_none() => piece.range(after[reg].components).len(),
        _ => 0,
    };
    let known = found.into_iter().flat_map(|(file, first, count)| {
        (first..first + u16::from(count)).map(move |number| register(file, number).unwrap_or(NOWHERE))
    });
    known.chain(std::iter::repeat_n(NOWHERE, missing))
}
