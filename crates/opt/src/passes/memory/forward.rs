//! A load of what is known becomes copies.

use super::known::{AtStart, Known};
use super::places::{Event, Fact, Place, Places, WORD, olds};
use super::{Instead, LOADED, STORED, replace_accesses};
use crate::passes::general::{constant_of, narrow, source};
use crate::{Changed, Context};
use oriole_isa::{Field, Mods, Opcode, RegFile, Role};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Function, Inst, InstId, Operand, OperandKind};
use smallvec::SmallVec;

/// Facts of one place that are looked at for a load.
const MOST: usize = 64;

/// Put copies in the place of loads.
pub(super) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Changed {
    let places = Places::new(func);
    if places.facts.is_empty() || !context.tally.is_open() {
        return Changed::No;
    }
    let start = AtStart::new(func, &analyses.cfg(func), &places);
    let mut changed = false;
    for (at, block) in func.layout().to_vec().into_iter().enumerate() {
        let copied = copies_of_block(func, context, (&places, at), start.of(block));
        if copied.is_empty() {
            continue;
        }
        changed = true;
        replace_accesses(func, block, copied);
    }
    Changed::when(changed)
}

/// What stands for the loads of the block at a place of the layout, at whose start this is known.
fn copies_of_block(func: &Function, context: &Context, (places, at): (&Places, usize), mut known: Known) -> Instead {
    let mut copied = Instead::default();
    for (inst, event) in &places.events[at] {
        if let Event::Load(place, own) = *event
            && context.tally.is_open()
            && let Some((fact, copies)) = find(func, places, &known, (*inst, place, own))
        {
            context.tally.count(if fact.loaded.is_some() { LOADED } else { STORED });
            copied.insert(*inst, copies);
        }
        known.pass(places, *event, |_| ());
    }
    copied
}

/// The fact that tells what a load gives, and what stands for it.
fn find<'a>(
    func: &Function,
    places: &'a Places,
    known: &Known,
    (inst, place, own): (InstId, usize, usize),
) -> Option<(&'a Fact, SmallVec<[Inst; 4]>)> {
    let bytes = &places.places[place].bytes;
    let covers = |other: &&Place| other.bytes.start <= bytes.start && bytes.end <= other.bytes.end;
    places.overlapping(place).filter(covers).find_map(|other| {
        let near = places.nearest(other, own).take(MOST).filter(|fact| *fact != own && known.facts.contains(*fact));
        near.map(|fact| &places.facts[fact]).find_map(|fact| {
            let guarded = fact.guard.is_none() || fact.guard == func[inst].guard();
            let skipped = bytes.start - other.bytes.start;
            let copies = if guarded { copies(func, &func[inst], fact, skipped) } else { None };
            copies.map(|copies| (fact, copies))
        })
    })
}

/// A load as copies of what a fact tells, so many bytes from its start.
fn copies(func: &Function, load: &Inst, fact: &Fact, skipped: i64) -> Option<SmallVec<[Inst; 4]>> {
    let results = func.named(source(load, Role::D)?);
    let (first, byte) = ((skipped / WORD) as usize, skipped % WORD);
    let size = load.get(Field::MEM_SIZE);
    let same = fact.loaded == Some(size);
    let words = fact.words.get(first..first + results.len())?;
    let narrow = narrow(size);
    if narrow.is_none() && byte != 0 {
        // Words that lie across words.
        return None;
    }
    let extended = narrow.filter(|_| !same);
    let olds = olds(func, load, results.len())?;
    let told =
        if extended.is_none() && fact.guard == load.guard() { fact.olds.get(first..).unwrap_or_default() } else { &[] };
    let guard = load.guard().filter(|_| !stay_same(func, &olds, told));
    let mut copies = SmallVec::new();
    for (k, (result, word)) in results.into_iter().zip(words).enumerate() {
        let mut copy = match extended {
            None => Inst::copy(RegFile::R, Operand::reg(result), *word),
            Some(size) => part(Operand::reg(result), *word, byte as u32, size),
        };
        copy.loc = load.loc;
        copy.set_guard(guard);
        copy.operands.extend(guard.and_then(|_| olds.get(k).copied()));
        copies.push(copy);
    }
    Some(copies)
}

/// Whether what stays of a load, word by word, is what stays of the access that `told`, or does not matter: then the copy needs no guard.
fn stay_same(func: &Function, olds: &[Operand], told: &[Operand]) -> bool {
    let constant = |operand: &Operand| constant_of(func, operand.as_reg()?);
    olds.iter().enumerate().all(|(k, old)| {
        let same = |other: &Operand| other == old || constant(old).is_some() && constant(old) == constant(other);
        old.kind() == OperandKind::Undef || told.get(k).is_some_and(same)
    })
}

/// `d` = so many bytes of a word, with their sign above them or zeros.
fn part(d: Operand, word: Operand, byte: u32, (bytes, signed): (u32, bool)) -> Inst {
    /// Selects the byte's sign; a byte of the second source, which is zero.
    const SIGN: u32 = 8;
    const ZERO: u32 = 4;
    let last = byte + bytes - 1;
    let above = if signed { SIGN + last } else { ZERO };
    let selected = |at: u32| if at < bytes { byte + at } else { above };
    let selector = (0..4).fold(0, |selector, at| selector | selected(at) << (4 * at));
    let mut inst = Inst::neutral(Opcode::PRMT, Mods::new());
    for (role, operand) in [(Role::D, d), (Role::A, word), (Role::B, Operand::imm(selector)), (Role::C, Operand::rz())]
    {
        inst.set_role(role, operand);
    }
    inst
}
