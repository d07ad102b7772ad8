//! Slot 64, on SSA form: loads of neighbouring words of shared memory become one of 64 or 128 bits.
//!
//! They stand in one block, near to each other, have one base whose alignment is known (`low_zeros`), and fill an aligned place that wide;
//! nothing between them writes shared memory, waits, or may end the thread. The one that loads them all stands where the first stood.
//! Global memory is left as it is: ptxas does so too.

use super::dead_code::SWEPT;
use super::general::source;
use super::low_zeros::low_zeros;
use crate::{Changed, Context, PhaseError};
use oriole_isa::{BaseScale, Field, MemSize, Opcode, Role};
use oriole_ori::analysis::{Analyses, Passed, is_load};
use oriole_ori::{Block, Function, InstId, Operand, OperandKind, VReg};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// What is counted.
pub(crate) const RULES: &[&str] = &["loads joined"];

/// Loads farther apart stay: the words of the last would live long.
const WINDOW: usize = 48;
/// How many definitions tell of an address's alignment.
const DEPTH: u32 = 6;
/// Bytes of a word.
const WORD: i64 = 4;

/// Join what can be.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let loads = |(_, inst): (Block, InstId)| func[inst].opcode == Opcode::LDS;
    if func.iter_insts().filter(|item| loads(*item)).nth(1).is_none() {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let is_swept = analyses.is_settled(SWEPT, func);
    let mut changed = false;
    for block in func.layout().to_vec() {
        let mut gone: FxHashSet<InstId> = FxHashSet::default();
        for run in runs(func, block) {
            if !context.tally.is_open() {
                break;
            }
            join(func, &run);
            context.tally.count(0);
            gone.extend(run.rest);
        }
        if !gone.is_empty() {
            func.edit().retain_insts(block, |_, inst| !gone.contains(&inst));
            changed = true;
        }
    }
    if is_swept {
        // Who read a word reads it still.
        analyses.settle(SWEPT, func);
    }
    Ok(Changed::when(changed))
}

/// A load of words of shared memory.
#[derive(Clone)]
struct Load {
    inst: InstId,
    /// Its number in the block.
    at: usize,
    offset: i64,
    words: SmallVec<[VReg; 2]>,
}

/// Loads that become one.
struct Run {
    /// The first, in whose place it stands.
    first: InstId,
    rest: Vec<InstId>,
    offset: i64,
    words: SmallVec<[VReg; 4]>,
}

/// What the offset of a shared address is added to.
type Base = (Operand, BaseScale);

/// The loads of a block that can become wider ones.
fn runs(func: &Function, block: Block) -> Vec<Run> {
    let mut open: FxHashMap<Base, Vec<Load>> = FxHashMap::default();
    let mut order: Vec<Base> = Vec::new();
    let mut found = Vec::new();
    let mut passed = Passed::default();
    for (at, &inst) in func.block_insts(block).iter().enumerate() {
        if let Some((base, load)) = load_of(func, inst, at) {
            if !passed.lets_pass(&func[inst]) {
                passed = Passed::default();
                order
                    .drain(..)
                    .for_each(|base| found.extend(joined(func, base, open.remove(&base).unwrap_or_default())));
            }
            open.entry(base)
                .or_insert_with(|| {
                    order.push(base);
                    Vec::new()
                })
                .push(load);
        }
        passed.add(&func[inst]);
    }
    order.into_iter().for_each(|base| found.extend(joined(func, base, open.remove(&base).unwrap_or_default())));
    found
}

fn load_of(func: &Function, inst: InstId, at: usize) -> Option<(Base, Load)> {
    let data = &func[inst];
    if data.opcode != Opcode::LDS || !is_load(func, inst) || data.get(Field::LDS_U) {
        return None;
    }
    let (base, uniform, offset) = (source(data, Role::Base)?, source(data, Role::UBase)?, source(data, Role::Offset)?);
    let known = base.is_zero() || base.as_whole_reg().is_some_and(|reg| func.is_value(reg));
    let words: SmallVec<[VReg; 2]> = func.named(source(data, Role::D)?).into_iter().collect();
    let wide = match data.get(Field::MEM_SIZE) {
        MemSize::B32 => 1,
        MemSize::B64 => 2,
        _ => return None,
    };
    let OperandKind::Imm(offset, _) = offset.kind() else { return None };
    let plain = known && uniform.is_none() && words.len() == wide && words.iter().all(|word| func.is_value(*word));
    let load = Load { inst, at, offset: i64::from(offset as i32), words };
    plain.then(|| ((base.plain(), data.get(Field::BASE_SCALE)), load))
}

/// The loads of one base that fill aligned places of 128 and 64 bits.
fn joined(func: &Function, (base, scale): Base, mut loads: Vec<Load>) -> Vec<Run> {
    if loads.len() < 2 {
        return Vec::new();
    }
    let scaled = match scale {
        BaseScale::X4 => 2,
        BaseScale::X8 => 3,
        BaseScale::X16 => 4,
        _ => 0,
    };
    let zeros = low_zeros(func, base, DEPTH) + scaled;
    loads.sort_by_key(|load| (load.offset, load.at));
    let mut found = Vec::new();
    for words in [4, 2] {
        let bytes = WORD * words;
        if zeros < bytes.trailing_zeros() {
            continue;
        }
        let mut left = Vec::new();
        for place in loads.chunk_by(|a, b| a.offset.div_euclid(bytes) == b.offset.div_euclid(bytes)) {
            match filled(place, bytes) {
                Some(run) => found.push(run),
                None => left.extend_from_slice(place),
            }
        }
        loads = left;
    }
    found
}

/// The loads of an aligned place, if they are several, fill it, and stand near to each other.
fn filled(place: &[Load], bytes: i64) -> Option<Run> {
    let start = place[0].offset;
    let mut words: SmallVec<[VReg; 4]> = SmallVec::new();
    for load in place {
        if load.offset != start + WORD * words.len() as i64 {
            return None;
        }
        words.extend_from_slice(&load.words);
    }
    let whole = start.rem_euclid(bytes) == 0 && words.len() as i64 * WORD == bytes && place.len() > 1;
    let first = place.iter().min_by_key(|load| load.at)?;
    let last = place.iter().map(|load| load.at).max()?;
    let near = last - first.at <= WINDOW;
    let rest = place.iter().map(|load| load.inst).filter(|inst| *inst != first.inst).collect();
    (whole && near).then_some(Run { first: first.inst, rest, offset: start, words })
}

fn join(func: &mut Function, run: &Run) {
    for inst in &run.rest {
        func.edit().remove(*inst);
    }
    let result = func.tuple(&run.words);
    let mut inst = func[run.first].clone();
    inst.mods.set(Field::MEM_SIZE, if run.words.len() == 4 { MemSize::B128 } else { MemSize::B64 });
    inst.set_role(Role::D, result);
    // An offset lies between those of loads that were there.
    inst.set_role(Role::Offset, Operand::imm_signed(run.offset as i32));
    func.edit().replace(run.first, inst);
}
