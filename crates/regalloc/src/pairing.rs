//! What is spilled or comes back close together, in registers side by side, goes by one access.
//!
//! Values of one word get slots of their own, wherever those lie, and which of the values stand in an even register and the
//! next is known once registers are given. Then slots that go together most often become neighbours, and the accesses that
//! name both become one of twice the width: first words in pairs, then pairs in fours.

use crate::belady::ends_block;
use crate::slots::{Access, Bounds, Word, accesses, bounds, data_role, move_registers, set_word, words};
use crate::stack::{SIZES, access};
use crate::weights::BlockWeights;
use oriole_isa::{Opcode, RegFile};
use oriole_ori::{Block, Function, InstId, Operand};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Instructions between two accesses that may become one, at most.
const REACH: usize = 16;

/// Join the accesses of spill code in a function that has its registers.
pub(crate) fn join_accesses(func: &mut Function, weights: &BlockWeights) {
    for width in [1, 2] {
        let bounds = bounds(func);
        let accesses = accesses(func, &bounds);
        let units = Units::new(func, width, &bounds, &accesses);
        let joints = units.joints(func);
        let neighbours = chosen(&joints, weights);
        if !neighbours.is_empty() {
            make_neighbours(func, width, &accesses, &neighbours);
            join(func, width, &joints, &neighbours);
        }
    }
}

/// Two accesses of a block that may become one.
struct Joint {
    block: Block,
    /// Places in the block, in order.
    places: (usize, usize),
    /// The words of the lower register, and of the higher.
    words: Neighbours,
}

/// The first words of two slots, of which one shall stand right behind the other.
type Neighbours = (Word, Word);

/// An access of one width to registers that may be one half of twice as many.
#[derive(Clone, Copy)]
struct Unit {
    place: usize,
    word: Word,
    /// Number of the first register.
    register: u16,
    stores: bool,
}

/// The accesses to slots that are always accessed with one width.
struct Units {
    width: u32,
    /// In the order of the layout.
    by_block: Vec<(Block, Vec<Unit>)>,
}

impl Units {
    fn new(func: &Function, width: u32, bounds: &Bounds, accesses: &[Access]) -> Self {
        // By so many words: whether they are a slot that is accessed as a whole alone.
        let mut whole: FxHashMap<u32, bool> = FxHashMap::default();
        for access in accesses {
            let fits = access.words == width && access.first % width == 0;
            for word in access.first..access.first + access.words {
                *whole.entry(word / width).or_insert(true) &= fits;
            }
        }
        let mut by_block: Vec<(Block, Vec<Unit>)> = Vec::new();
        for access in accesses.iter().filter(|access| whole[&(access.first / width)]) {
            let Some(register) = register(func, access.inst).filter(|first| u32::from(*first) % width == 0) else {
                continue;
            };
            let place = (access.place - bounds[access.block].0 - 1) as usize;
            let stores = func[access.inst].opcode == Opcode::STL;
            let unit = Unit { place, word: access.first, register, stores };
            match by_block.last_mut() {
                Some((block, units)) if *block == access.block => units.push(unit),
                _ => by_block.push((access.block, vec![unit])),
            }
        }
        Units { width, by_block }
    }

    /// Accesses that may become one: each with the nearest before it.
    fn joints(&self, func: &Function) -> Vec<Joint> {
        let mut joints = Vec::new();
        for (block, units) in &self.by_block {
            let insts: Vec<Option<InstId>> = func.block_insts(*block).iter().copied().map(Some).collect();
            let mut free = vec![true; units.len()];
            for (n, later) in units.iter().enumerate() {
                let near =
                    units[..n].iter().enumerate().rev().take_while(|(_, unit)| later.place - unit.place <= REACH);
                let mate = |(m, unit): &(usize, &Unit)| {
                    let together = unit.stores == later.stores && unit.word != later.word;
                    free[*m] && together && u32::from(unit.register ^ later.register) == self.width
                };
                let places = |unit: &Unit| (unit.place, later.place);
                let found =
                    near.filter(mate).find(|(_, unit)| meeting(func, &insts, places(unit)).is_some()).map(|(m, _)| m);
                let Some(m) = found else { continue };
                (free[m], free[n]) = (false, false);
                let (low, high) =
                    if units[m].register < later.register { (&units[m], later) } else { (later, &units[m]) };
                joints.push(Joint { block: *block, places: places(&units[m]), words: (low.word, high.word) });
            }
        }
        joints
    }
}

/// The first register that an access of spill code loads or stores.
fn register(func: &Function, inst: InstId) -> Option<u16> {
    let data = &func[inst];
    let operand = data.operand(data_role(data.opcode))?;
    let (file, first, _) = func.physical(operand).filter(|_| data.guard().is_none())?;
    (file == RegFile::R).then_some(first)
}

/// At which of two places both accesses may happen, if at any.
fn meeting(func: &Function, insts: &[Option<InstId>], (first, second): (usize, usize)) -> Option<usize> {
    let between = &insts[first + 1..second];
    let moves = |(from, _): &(usize, usize)| insts[*from].is_some_and(|moved| may_pass(func, moved, between));
    [(first, second), (second, first)].into_iter().find(moves).map(|(_, to)| to)
}

/// Whether an access may happen on the other side of some instructions.
fn may_pass(func: &Function, moved: InstId, between: &[Option<InstId>]) -> bool {
    let (Some(own), Some(number)) = (accessed(func, moved), register(func, moved)) else { return false };
    let registers = u32::from(number)..u32::from(number) + own.len() as u32;
    let stores = func[moved].opcode == Opcode::STL;
    let meet = |a: &Range<u32>, b: &Range<u32>| a.start < b.end && b.start < a.end;
    between.iter().flatten().all(|&inst| {
        let mut passes = !ends_block(func, inst);
        func.for_each_phys(inst, |mention| {
            let named = u32::from(mention.number)..u32::from(mention.number) + u32::from(mention.count);
            passes &= mention.file != RegFile::R || stores && !mention.is_def || !meet(&named, &registers);
        });
        // Two loads of one word may change places.
        let both_load = !stores && func[inst].opcode == Opcode::LDL;
        passes && accessed(func, inst).is_none_or(|words| both_load || !meet(&words, &own))
    })
}

/// The words of the frame that an instruction of spill code accesses.
fn accessed(func: &Function, inst: InstId) -> Option<Range<Word>> {
    let (first, words) = words(func, inst)?;
    Some(first..first + words)
}

/// Which slots become neighbours: those that go together most often first, each once.
fn chosen(joints: &[Joint], weights: &BlockWeights) -> Vec<Neighbours> {
    let mut gains: FxHashMap<Neighbours, f32> = FxHashMap::default();
    for joint in joints {
        *gains.entry(joint.words).or_default() += weights.of(joint.block);
    }
    let mut gains: Vec<(Neighbours, f32)> = gains.into_iter().collect();
    gains.sort_unstable_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
    let mut taken: FxHashSet<Word> = FxHashSet::default();
    let mut is_free = |(low, high): &Neighbours| {
        let free = !taken.contains(low) && !taken.contains(high);
        taken.extend([low, high].into_iter().filter(|_| free));
        free
    };
    gains.into_iter().map(|(pair, _)| pair).filter(|pair| is_free(pair)).collect()
}

/// Move the slots, of so many words each, to where they stand side by side.
fn make_neighbours(func: &mut Function, width: u32, accesses: &[Access], neighbours: &[Neighbours]) {
    let mut moved: FxHashMap<Word, Word> = FxHashMap::default();
    for (low, high) in neighbours {
        let start = func.frame_mut().add_slot(4 * 2 * width) / 4;
        for k in 0..width {
            moved.extend([(low + k, start + k), (high + k, start + width + k)]);
        }
    }
    for access in accesses {
        if let Some(word) = moved.get(&access.first) {
            set_word(func, access.inst, *word);
        }
    }
    move_registers(func, |word| Some(moved.get(&word).copied().unwrap_or(word)));
}

/// Put one access in the place of two where their slots have become neighbours.
fn join(func: &mut Function, width: u32, joints: &[Joint], neighbours: &[Neighbours]) {
    let neighbours: FxHashMap<Word, Word> = neighbours.iter().copied().collect();
    let Some((_, size)) = SIZES.into_iter().find(|(components, _)| u32::from(*components) == 2 * width) else { return };
    for joints in joints.chunk_by(|a, b| a.block == b.block) {
        let block = joints[0].block;
        let mut insts: Vec<Option<InstId>> = func.block_insts(block).iter().copied().map(Some).collect();
        for joint in joints.iter().filter(|joint| neighbours.get(&joint.words.0) == Some(&joint.words.1)) {
            let (first, second) = joint.places;
            // What was joined before may stand in the way.
            let (Some(one), Some(other)) = (insts[first], insts[second]) else { continue };
            let Some(place) = meeting(func, &insts, joint.places) else { continue };
            let lower = if register(func, one) < register(func, other) { one } else { other };
            let (Some((word, _)), Some(number)) = (words(func, lower), register(func, lower)) else {
                continue;
            };
            let (opcode, frame) = (func[one].opcode, func.frame());
            let mut joined = access(opcode, frame.base(), frame.local_bytes + 4 * word, size);
            joined.set_role(data_role(opcode), Operand::phys_group(RegFile::R, number, 2 * width as u8));
            joined.flags = func[one].flags | func[other].flags;
            (insts[first], insts[second]) = (None, None);
            insts[place] = Some(func.edit().add(joined));
        }
        let insts = insts.into_iter().flatten().collect();
        func.edit().take_insts(block);
        func.edit().set_insts(block, insts);
    }
}
