//! Slot 49, on SSA form, memory: what a thread has stored or loaded before, and is there still, is not loaded again; what it
//! overwrites before anybody can read it is not stored.
//!
//! Places are bytes at a fixed distance from a value (`ori::analysis::address`). Two of one base are compared by their bytes; places
//! of other bases in memory that may be the same are taken to overlap. What other threads may write is known until the
//! thread may meet them (`ori::analysis::Impact`).

mod forward;
mod known;
mod overwritten;
mod places;
pub(crate) mod promote;
mod values;

use super::general;
use crate::{Changed, Context, PhaseError};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Block, Function, Inst, InstId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What is counted behind the rules of [`general::COMMON_NAMES`].
pub(crate) const RULES: &[&str] = &RULES_OF_BOTH;
const OWN: [&str; 3] = ["memory: stored values", "memory: loaded values", "memory: stores that are overwritten"];
const FIRST: usize = general::COMMON_NAMES.len();
const STORED: usize = FIRST;
const LOADED: usize = FIRST + 1;
const OVERWRITTEN: usize = FIRST + 2;

const RULES_OF_BOTH: [&str; FIRST + OWN.len()] = {
    let mut names = [""; FIRST + OWN.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = if at < FIRST { general::COMMON_NAMES[at] } else { OWN[at - FIRST] };
        at += 1;
    }
    names
};

/// Values that come from memory make other expressions equal, among them addresses: in so many rounds at most.
const ROUNDS: usize = 4;

/// Equal expressions and equal contents of memory once.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let mut changed = general::common(func, context, analyses)?;
    for _ in 0..ROUNDS {
        let known = forward::run(func, context, analyses);
        let unread = overwritten::run(func, context);
        if known == Changed::No && unread == Changed::No {
            break;
        }
        changed = Changed::Yes;
        general::common(func, context, analyses)?;
        if known == Changed::No {
            break;
        }
    }
    Ok(changed)
}

/// What stands for accesses.
type Instead = FxHashMap<InstId, SmallVec<[Inst; 4]>>;

/// Put what stands for them in the place of a block's accesses.
fn replace_accesses(func: &mut Function, block: Block, mut instead: Instead) {
    func.edit().rewrite_block(block, |func, inst, list| match instead.remove(&inst) {
        None => list.push(inst),
        Some(copies) => {
            func.edit().remove(inst);
            list.extend(copies.into_iter().map(|copy| func.edit().add(copy)));
        }
    });
}
