//! What the instructions that allocation puts in do: copies, spills and refills, predicates packed and unpacked, values
//! computed again. Whatever is none of these leaves something unknown in what it writes.

use super::names::{BITS, NOWHERE, Place, Places, SlotWord, TRUTH, register, words_of};
use super::recipe::recipes;
use super::step::Access;
use oriole_isa::{Arch, Bop, Cmp, Effects, Field, MemSize, Opcode, R2urMode, RegFile, Role};
use oriole_ori::{Function, Inst, InstFlags, InstId, Operand, OperandKind, terminator::is_terminator};
use smallvec::SmallVec;

/// Places and what they get.
pub(super) type Transfers = SmallVec<[Access; 8]>;

/// How many predicates P2R and R2P can name.
const PACKED: u32 = 7;

/// What the instruction puts where; `None` if it does what no instruction of an allocation may.
pub(super) fn transfers(after: &Function, inst: InstId, arch: Arch, places: &Places) -> Option<Transfers> {
    let data = &after[inst];
    let known = match () {
        () if data.guard().is_some() => None,
        () if copied(data).is_some() => copy(after, data),
        () if data.opcode == Opcode::R2UR => to_uniform(after, data),
        () if data.flags.intersects(InstFlags::SPILL | InstFlags::REFILL) => memory(after, data, places),
        () if data.flags.contains(InstFlags::REMAT) => Some(again(after, inst, arch, places)),
        () => bits(after, data, places),
    };
    known.or_else(|| unknown(after, data, places))
}

/// Destination and source of an unguarded copy of a register, of either function.
pub(super) fn copied(data: &Inst) -> Option<(Operand, Operand)> {
    let (file, to, from) = match data.opcode {
        Opcode::MOV => (RegFile::R, Role::D, Role::B),
        Opcode::UMOV => (RegFile::UR, Role::D, Role::B),
        Opcode::PLOP3 => (RegFile::P, Role::PD, Role::PA),
        Opcode::UPLOP3 => (RegFile::UP, Role::PD, Role::PA),
        _ => return None,
    };
    let (to, from) = (operand(data, to)?, operand(data, from)?);
    let is_register = |operand: Operand| operand.is_reg() || matches!(operand.kind(), OperandKind::Phys { .. });
    let plain = is_register(to) && is_register(from) && !from.has_flags() && data.guard().is_none();
    (plain && data.is_machine() && data.operands == Inst::copy(file, to, from).operands).then_some((to, from))
}

fn operand(data: &Inst, role: Role) -> Option<Operand> {
    data.operand(role)
}

fn copy(after: &Function, data: &Inst) -> Option<Transfers> {
    let (to, from) = copied(data)?;
    Some(words_of(after, to).zip(words_of(after, from)).map(|(to, from)| Access::transfer(to, from)).collect())
}

fn again(after: &Function, inst: InstId, arch: Arch, places: &Places) -> Transfers {
    let data = &after[inst];
    let recipes = recipes(after, inst, arch);
    let results = data.defs().flat_map(|(_, to)| words_of(after, to));
    results
        .enumerate()
        .map(|(k, to)| Access::transfer(to, recipes.get(k).map_or(NOWHERE, |r| places.recipe(r))))
        .collect()
}

/// The words of a slot that a spill or refill accesses.
pub(super) fn slot_words(after: &Function, data: &Inst) -> Option<impl Iterator<Item = SlotWord> + use<>> {
    let shared = match data.opcode {
        Opcode::STL | Opcode::LDL => false,
        Opcode::STS | Opcode::LDS => true,
        _ => return None,
    };
    let count = match data.get(Field::MEM_SIZE) {
        MemSize::B32 => 1,
        MemSize::B64 => 2,
        MemSize::B128 => 4,
        _ => return None,
    };
    let base = operand(data, Role::Base)?;
    let base = match after.physical(base) {
        Some((_, number, _)) => Some(number),
        None if base.is_zero() => None,
        None => return None,
    };
    let uniform = operand(data, Role::UBase)?;
    let OperandKind::Imm(offset, _) = operand(data, Role::Offset)?.kind() else { return None };
    let word = move |k: i64| SlotWord { shared, base, offset: i64::from(offset as i32) + 4 * k };
    (uniform.is_none() || uniform.is_zero()).then(|| (0..count).map(word))
}

fn memory(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    let slots = slot_words(after, data)?.map(|word| places.slot(word));
    let stores = matches!(data.opcode, Opcode::STL | Opcode::STS);
    let register = operand(data, if stores { Role::Data } else { Role::D })?;
    let pairs = slots.zip(words_of(after, register));
    Some(
        pairs
            .map(|(slot, word)| if stores { Access::transfer(slot, word) } else { Access::transfer(word, slot) })
            .collect(),
    )
}

/// `R2UR`: what was saved in all threads is the same in whichever it is taken from.
fn to_uniform(after: &Function, data: &Inst) -> Option<Transfers> {
    let plain = data.get(Field::R2UR_MODE) == R2urMode::FIRST && !data.get(Field::R2UR_OR);
    let marks_nobody = !operand(data, Role::PD)?.is_reg();
    let (to, from) = (word(after, data, Role::D)?, word(after, data, Role::A)?);
    (plain && marks_nobody).then(|| SmallVec::from_slice(&[Access::transfer(to, from)]))
}

/// Predicates that go to registers and come back.
fn bits(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    match data.opcode {
        Opcode::P2R => pack(after, data, places),
        Opcode::R2P => unpack(after, data, places),
        Opcode::SEL | Opcode::USEL if data.flags.contains(InstFlags::BIT_SPILL) => select(after, data, places),
        Opcode::LOP3 if data.flags.contains(InstFlags::BIT_SPILL) => put_bits(after, data, places),
        Opcode::LOP3 if data.flags.contains(InstFlags::BIT_REFILL) => test_bit(after, data, places),
        Opcode::ISETP | Opcode::UISETP if data.flags.contains(InstFlags::BIT_REFILL) => test(after, data, places),
        _ => None,
    }
}

fn word(after: &Function, data: &Inst, role: Role) -> Option<Place> {
    words_of(after, operand(data, role)?).next()
}

/// The predicates that P2R or R2P names, each with the number of its bit.
fn packed(data: &Inst) -> Option<impl Iterator<Item = (Place, Place)> + use<>> {
    let mask = operand(data, Role::B)?.as_imm()?;
    let byte = Place::from(data.raw(Field::P2R_BYTE.id()));
    let named = move |n: &u32| mask >> n & 1 == 1;
    Some((0..PACKED).filter(named).map(move |n| (register(RegFile::P, n as u16).unwrap_or(NOWHERE), 8 * byte + n)))
}

/// `P2R`: the bits that it does not name stay those of `A`.
fn pack(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    let (to, old) = (word(after, data, Role::D)?, word(after, data, Role::A).unwrap_or(NOWHERE));
    let mut found: Transfers = SmallVec::from_slice(&[Access::transfer(to, NOWHERE)]);
    found.extend((0..TRUTH).map(|bit| Access::transfer(places.bit(to, bit), places.bit(old, bit))));
    for (predicate, bit) in packed(data)? {
        found[1 + bit as usize].from = predicate;
    }
    Some(found)
}

fn unpack(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    let from = word(after, data, Role::A).unwrap_or(NOWHERE);
    Some(packed(data)?.map(|(predicate, bit)| Access::transfer(predicate, places.bit(from, bit))).collect())
}

/// `SEL D, RZ, bits, !p`, on either datapath: the bits where `p` is true, else nothing.
fn select(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    let to = word(after, data, Role::D)?;
    let set = operand(data, Role::B)?.as_imm().filter(|set| *set != 0)?;
    let condition = operand(data, Role::PA).filter(|condition| condition.is_not())?;
    let predicate = words_of(after, condition).next()?;
    if !operand(data, Role::A)?.is_zero() {
        return None;
    }
    let mut found: Transfers = SmallVec::from_slice(&[Access::transfer(to, NOWHERE)]);
    let holds = |bit: &Place| *bit == TRUTH || set >> bit & 1 == 1;
    found.extend((0..BITS).filter(holds).map(|bit| Access::transfer(places.bit(to, bit), predicate)));
    Some(found)
}

/// `LOP3 D, A, mask, C` that takes the bits of the mask from `A`, the others from `C`.
fn put_bits(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    const SELECT: u32 = 0xf0 & 0xcc | 0xaa & !0xcc;
    let (to, kept) = (word(after, data, Role::D)?, word(after, data, Role::A)?);
    let (mask, put) = (operand(data, Role::B)?.as_imm()?, word(after, data, Role::C)?);
    if table(data)? != SELECT & 0xff {
        return None;
    }
    let from = |bit: Place| if mask >> bit & 1 == 1 { kept } else { put };
    let mut found: Transfers = SmallVec::from_slice(&[Access::transfer(to, NOWHERE)]);
    found.extend((0..TRUTH).map(|bit| Access::transfer(places.bit(to, bit), places.bit(from(bit), bit))));
    Some(found)
}

/// `LOP3 p, RZ, A, bit, RZ`: whether the bit is set.
fn test_bit(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    let bit = operand(data, Role::B)?.as_imm().filter(|bit| bit.is_power_of_two())?.trailing_zeros();
    let (to, from) = (word(after, data, Role::PD)?, word(after, data, Role::A)?);
    let nothing_else = operand(data, Role::D)?.is_zero()
        && operand(data, Role::PA).is_some_and(|operand| operand.kind() == OperandKind::Pt && operand.is_not());
    (nothing_else && table(data)? == 0xf0 & 0xcc)
        .then(|| SmallVec::from_slice(&[Access::transfer(to, places.bit(from, bit))]))
}

/// The truth table of a `LOP3`.
fn table(data: &Inst) -> Option<u32> {
    operand(data, Role::Lut)?.as_imm()
}

/// `ISETP.NE p, A, RZ`, on either datapath.
fn test(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    let is_true = |operand: Operand| matches!(operand.kind(), OperandKind::Pt | OperandKind::Upt) && !operand.is_not();
    let neutral = |role| operand(data, role).is_some_and(is_true);
    let is_test = data.get(Field::CMP) == Cmp::NE
        && data.get(Field::BOP) == Bop::AND
        && operand(data, Role::B)?.is_zero()
        && neutral(Role::PA)
        && neutral(Role::PD2);
    let (to, from) = (word(after, data, Role::PD)?, word(after, data, Role::A)?);
    is_test.then(|| SmallVec::from_slice(&[Access::transfer(to, places.bit(from, TRUTH))]))
}

/// All that it writes is unknown afterwards; nothing else may it do.
fn unknown(after: &Function, data: &Inst, places: &Places) -> Option<Transfers> {
    let mut found: Transfers =
        data.defs().flat_map(|(_, to)| words_of(after, to)).map(|to| Access::transfer(to, NOWHERE)).collect();
    if data.opcode == Opcode::R2P {
        found.extend(registers_of_r2p());
    }
    if data.flags.contains(InstFlags::SPILL) {
        let slots = slot_words(after, data).into_iter().flatten();
        found.extend(slots.map(|slot| Access::transfer(places.slot(slot), NOWHERE)));
        return Some(found);
    }
    let harmless = data.opcode.info().effects == Effects::NONE
        || data.flags.intersects(InstFlags::REFILL | InstFlags::REMAT)
        || matches!(data.opcode, Opcode::P2R | Opcode::R2P);
    (data.call.is_none() && (harmless || is_terminator(data) || !data.is_machine())).then_some(found)
}

/// Under a guard, or with a mask that is not known, R2P may write each predicate.
fn registers_of_r2p() -> impl Iterator<Item = Access> {
    (0..PACKED as u16).filter_map(|n| register(RegFile::P, n)).map(|to| Access::transfer(to, NOWHERE))
}
