//! A store whose bytes are stored to again in its block, with nothing between that may read them, wait, or let others see them, goes.

use super::OVERWRITTEN;
use super::places::plain_access;
use crate::{Changed, Context};
use oriole_isa::{Effects, Space};
use oriole_ori::analysis::{Base, Impact};
use oriole_ori::{Block, Function, Guard, Inst, InstFlags, InstId};
use std::ops::Range;

/// Later stores that are kept in mind.
const MOST: usize = 64;

/// Remove what is overwritten.
pub(super) fn run(func: &mut Function, context: &Context) -> Changed {
    let mut changed = false;
    for block in func.layout().to_vec() {
        let gone = overwritten(func, context, block);
        if !gone.is_empty() {
            changed = true;
            func.edit().retain_insts(block, |_, inst| !gone.contains(&inst));
        }
    }
    Changed::when(changed)
}

/// A store that is certain to happen, if its guard is true.
struct Later {
    base: Base,
    bytes: Range<i64>,
    guard: Option<Guard>,
}

/// The stores of a block that are overwritten in it.
fn overwritten(func: &Function, context: &Context, block: Block) -> Vec<InstId> {
    let mut later: Vec<Later> = Vec::new();
    let mut gone = Vec::new();
    for &inst in func.block_insts(block).iter().rev() {
        let data = &func[inst];
        let place = plain_access(func, data);
        let impact = Impact::of(data);
        match (place, impact) {
            (Some((base, bytes)), Impact::Writes(_)) => {
                let guard = data.guard();
                let covers = |other: &Later| {
                    let within = other.bytes.start <= bytes.start && bytes.end <= other.bytes.end;
                    within && other.base == base && (other.guard.is_none() || other.guard == guard)
                };
                if context.tally.is_open() && later.iter().any(covers) {
                    context.tally.count(OVERWRITTEN);
                    gone.push(inst);
                } else if later.len() < MOST && guard.is_none_or(|guard| func.is_value(guard.pred)) {
                    later.push(Later { base, bytes, guard });
                }
            }
            (Some((base, bytes)), Impact::Nothing) => later.retain(|other| is_apart(other, &base, &bytes)),
            (_, Impact::Others | Impact::All) => later.clear(),
            _ if data.opcode.info().effects.contains(Effects::BRANCH) => later.clear(),
            _ if reads(data) => later.retain(|other| !other.base.space().meets(read_space(data))),
            _ => {}
        }
    }
    gone
}

/// Whether a load from there reads nothing of a later store's bytes.
fn is_apart(store: &Later, base: &Base, bytes: &Range<i64>) -> bool {
    match store.base == *base {
        true => store.bytes.end <= bytes.start || bytes.end <= store.bytes.start,
        false => !store.base.space().meets(base.space()),
    }
}

fn reads(inst: &Inst) -> bool {
    inst.opcode.info().effects.contains(Effects::READS_MEMORY)
}

/// The memory that a load reads. Textures lie in global memory.
fn read_space(inst: &Inst) -> Space {
    if inst.flags.contains(InstFlags::INVARIANT) { Space::Global } else { inst.opcode.space() }
}
