//! Spill slots share memory: where the value of one is needed no more, another takes its place.
//!
//! Each word of the spill area is followed from its loads up to its stores, against the flow of control. What a slot's
//! words take up, from the first place in the layout where one of them is live to the last, is the slot's range: two
//! slots whose ranges do not meet may be one. Ranges are gone through by their beginning, and a slot takes over the place
//! of one of its size that has ended.

use crate::stack::SIZES;
use oriole_graph::Rows;
use oriole_isa::{Field, Opcode, Role};
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, Function, Inst, InstFlags, InstId, Operand, OperandKind, SecondaryMap, VReg, VRegData};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of a 32-bit word of the spill area.
pub(crate) type Word = u32;

/// A load or store of spill code.
#[derive(Clone, Copy)]
pub(crate) struct Access {
    pub(crate) inst: InstId,
    pub(crate) block: Block,
    /// Its place in the layout, counted over all blocks.
    pub(crate) place: u32,
    pub(crate) first: Word,
    pub(crate) words: u32,
    /// It writes them, in any case.
    stores: bool,
}

/// Words that stand next to each other, as one access names them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    start: Word,
    words: u32,
    /// Words of its widest access, a power of two: it stays so many words from a multiple of that.
    align: u32,
    /// First and last place where it is live.
    range: (u32, u32),
}

/// What slots have in common that may be each other's places.
type Shape = (u32, u32, u32);

impl Slot {
    fn shape(&self) -> Shape {
        (self.words, self.align, self.start % self.align)
    }
}

/// Let the slots of a function that has its registers share memory.
pub(crate) fn share_slots(func: &mut Function) {
    let bounds = bounds(func);
    let accesses = accesses(func, &bounds);
    let slots = slots(func, bounds, &accesses);
    let (starts, end) = places(&slots);
    if 4 * end >= func.frame().spill_bytes {
        return;
    }
    let mut moved: FxHashMap<Word, Word> = FxHashMap::default();
    for (slot, start) in slots.iter().zip(starts) {
        moved.extend((0..slot.words).map(|word| (slot.start + word, start + word)));
    }
    accesses.iter().for_each(|access| set_word(func, access.inst, moved[&access.first]));
    move_registers(func, |word| moved.get(&word).copied());
    func.frame_mut().spill_bytes = 4 * end;
}

/// Let an instruction of spill code access the frame from that word on.
pub(crate) fn set_word(func: &mut Function, inst: InstId, word: Word) {
    if let Some(position) = func[inst].position(Role::Offset) {
        let offset = Operand::imm_signed((func.frame().local_bytes + 4 * word) as i32);
        func.edit().set_operand(inst, position, offset);
    }
}

/// Say of the registers where their slots are; nothing of one whose words are no longer side by side. `moved` says where a
/// word is now.
pub(crate) fn move_registers(func: &mut Function, moved: impl Fn(Word) -> Option<Word>) {
    let spilled = |(reg, data): (VReg, &VRegData)| Some((reg, data.spill_slot? / 4, data.components));
    let spilled: Vec<(VReg, Word, u8)> = func.regs().iter().filter_map(spilled).collect();
    for (reg, first, components) in spilled {
        let word = |k: u32| moved(first + k).and_then(|word| word.checked_sub(k));
        let start = word(0).filter(|start| (0..u32::from(components)).all(|k| word(k) == Some(*start)));
        func.edit().update_reg(reg, |data| data.spill_slot = start.map(|start| 4 * start));
    }
}

/// By block: the places before its first instruction and behind its last, counted over all blocks.
pub(crate) type Bounds = SecondaryMap<Block, (u32, u32)>;

pub(crate) fn bounds(func: &Function) -> Bounds {
    let mut bounds = Bounds::new();
    let mut start = 0;
    for &block in func.layout() {
        let end = start + func.block_insts(block).len() as u32 + 1;
        bounds[block] = (start, end);
        start = end + 1;
    }
    bounds
}

/// The spill code's accesses to local memory, in the order of the layout.
pub(crate) fn accesses(func: &Function, bounds: &Bounds) -> Vec<Access> {
    let in_block = |block: &Block| {
        let (block, first) = (*block, bounds[*block].0 + 1);
        (first..).zip(func.block_insts(block)).filter_map(move |(place, inst)| access(func, block, *inst, place))
    };
    func.layout().iter().flat_map(in_block).collect()
}

/// Whether the instruction loads or stores what is spilled.
pub(crate) fn is_spill_code(data: &Inst) -> bool {
    data.flags.intersects(InstFlags::SPILL | InstFlags::REFILL) && matches!(data.opcode, Opcode::STL | Opcode::LDL)
}

fn access(func: &Function, block: Block, inst: InstId, place: u32) -> Option<Access> {
    let (first, words) = words(func, inst)?;
    let stores = func[inst].opcode == Opcode::STL && func[inst].guard().is_none();
    Some(Access { inst, block, place, first, words, stores })
}

/// Where an access of spill code names what it loads or stores.
pub(crate) fn data_role(opcode: Opcode) -> Role {
    if opcode == Opcode::STL { Role::Data } else { Role::D }
}

/// The first word that an instruction of spill code accesses, and how many it does.
pub(crate) fn words(func: &Function, inst: InstId) -> Option<(Word, u32)> {
    let data = &func[inst];
    if !is_spill_code(data) {
        return None;
    }
    let size = data.get(Field::MEM_SIZE);
    let (words, _) = SIZES.into_iter().find(|(_, known)| *known == size)?;
    let OperandKind::Imm(offset, _) = data.operand(Role::Offset)?.kind() else { return None };
    Some((offset.checked_sub(func.frame().local_bytes)? / 4, words.into()))
}

/// The slots, in the order of their places in the spill area.
fn slots(func: &Function, bounds: Bounds, accesses: &[Access]) -> Vec<Slot> {
    let count = (func.frame().spill_bytes / 4) as usize;
    let ranges = Ranges::new(func, bounds, accesses, count).run(accesses);
    // By word: how many from it on are accessed together at most.
    let mut widest = vec![0; count];
    for access in accesses {
        let widest = &mut widest[access.first as usize];
        *widest = access.words.max(*widest);
    }
    let mut slots: Vec<Slot> = Vec::new();
    let mut open_to = 0;
    for (word, (range, wide)) in (0..).zip(ranges.into_iter().zip(widest)) {
        let Some((first, last)) = range else { continue };
        match slots.last_mut().filter(|_| word < open_to) {
            Some(slot) => {
                slot.words = word + 1 - slot.start;
                slot.align = slot.align.max(wide);
                slot.range = (slot.range.0.min(first), slot.range.1.max(last));
            }
            None => slots.push(Slot { start: word, words: 1, align: wide.max(1), range: (first, last) }),
        }
        open_to = open_to.max(word + wide);
    }
    slots
}

/// Where the slots are to begin, and how many words they take.
fn places(slots: &[Slot]) -> (Vec<Word>, u32) {
    let mut order: Vec<usize> = (0..slots.len()).collect();
    order.sort_by_key(|slot| slots[*slot].range);
    let mut starts = vec![0; slots.len()];
    let mut end: u32 = 0;
    let mut in_use: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
    let mut free: FxHashMap<Shape, Vec<Word>> = FxHashMap::default();
    for slot in order {
        let (first, last) = slots[slot].range;
        while let Some(&Reverse((ended, over))) = in_use.peek()
            && ended < first
        {
            in_use.pop();
            free.entry(slots[over].shape()).or_default().push(starts[over]);
        }
        let shape @ (words, align, apart) = slots[slot].shape();
        starts[slot] = free.get_mut(&shape).and_then(Vec::pop).unwrap_or_else(|| {
            let start = (end - end.min(apart)).next_multiple_of(align) + apart;
            end = start + words;
            start
        });
        in_use.push(Reverse((last, slot)));
    }
    (starts, end)
}

/// Follows one word after the other against the flow of control.
struct Ranges {
    cfg: Cfg,
    bounds: Bounds,
    words: Word,
    /// By word: its accesses, by number.
    of_word: Rows<u32>,
    /// By block: the word that was last found to be stored there first, live on entry, live at the end.
    stored_in: SecondaryMap<Block, Word>,
    entered_in: SecondaryMap<Block, Word>,
    left_in: SecondaryMap<Block, Word>,
}

/// No word.
const NONE: Word = u32::MAX;

impl Ranges {
    fn new(func: &Function, bounds: Bounds, accesses: &[Access], count: usize) -> Self {
        let words = |(number, access): (u32, &Access)| {
            let first = access.first;
            (0..access.words).map(move |k| (first + k, number))
        };
        let of_word = Rows::new(count, (0..).zip(accesses).flat_map(words));
        let none = || SecondaryMap::with_default(NONE);
        Ranges {
            cfg: Cfg::new(func),
            bounds,
            words: count as Word,
            of_word,
            stored_in: none(),
            entered_in: none(),
            left_in: none(),
        }
    }

    /// By word: the first and the last place where it is live; none where it is not accessed.
    fn run(mut self, accesses: &[Access]) -> Vec<Option<(u32, u32)>> {
        (0..self.words).map(|word| self.range(word, accesses)).collect()
    }

    fn range(&mut self, word: Word, accesses: &[Access]) -> Option<(u32, u32)> {
        let own: Vec<&Access> = self.of_word.row(word as usize).iter().map(|at| &accesses[*at as usize]).collect();
        let mut range = (own.first()?.place, own.last()?.place);
        let mut work: Vec<Block> = Vec::new();
        for access in own {
            if access.stores {
                self.stored_in[access.block] = word;
            } else if self.stored_in[access.block] != word && self.entered_in[access.block] != word {
                self.entered_in[access.block] = word;
                work.push(access.block);
            }
        }
        while let Some(block) = work.pop() {
            range.0 = range.0.min(self.bounds[block].0);
            for &before in self.cfg.preds(block) {
                range.1 = range.1.max(self.bounds[before].1);
                if std::mem::replace(&mut self.left_in[before], word) != word
                    && self.stored_in[before] != word
                    && std::mem::replace(&mut self.entered_in[before], word) != word
                {
                    work.push(before);
                }
            }
        }
        Some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::{Slot, places};

    fn slot(start: u32, words: u32, align: u32, range: (u32, u32)) -> Slot {
        Slot { start, words, align, range }
    }

    #[test]
    fn what_has_ended_makes_room_for_its_like() {
        let all = [
            slot(0, 1, 1, (1, 9)),
            slot(4, 4, 4, (2, 5)),
            slot(8, 1, 1, (10, 12)),
            // Still there when the first ends, and wider.
            slot(9, 1, 1, (9, 11)),
            slot(12, 4, 4, (6, 20)),
            slot(18, 2, 2, (10, 11)),
        ];
        assert_eq!(places(&all), (vec![0, 4, 0, 8, 4, 10], 12));
    }

    #[test]
    fn a_slot_keeps_its_distance_from_a_multiple() {
        // Three words, of which the last two are accessed together.
        let all = [slot(0, 1, 1, (1, 9)), slot(5, 3, 2, (2, 9)), slot(8, 4, 4, (3, 9))];
        assert_eq!(places(&all), (vec![0, 1, 4], 8));
    }
}
