//! Slot 22, on SSA form and behind slot 29, which finds the counters: loops of one block are unrolled.
//!
//! ```text
//! before:  entrance → body ⟲ → exit
//! after:   entrance → gate → rounds ⟲ → rest → exit'      exit' → exit
//!                        ↘      body ⟲  ↙        ↗
//! ```
//!
//! `rounds` has several copies of the body without the tests between them. Who goes there has so many rounds left at least: the counter
//! is that far from its bound. What is left over goes through the body as it was; `rest` asks whether there is anything.
//! `.pragma "nounroll"` is obeyed.

mod copy;
mod counter;

use super::one_block::OneBlock;
use crate::{Changed, Context, PhaseError};
use counter::Counter;
use oriole_isa::{Effects, Opcode};
use oriole_ori::analysis::{Analyses, Cfg};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, Function, InstId};

/// What is counted.
pub(crate) const RULES: &[&str] = &["loops unrolled"];

/// A loop that can be unrolled.
struct Body {
    this: OneBlock,
    rounds: Rounds,
    /// Of what is left over, so many are executed once more, ahead of the body.
    once: Option<Rounds>,
}

/// Rounds that are executed one behind the other.
struct Rounds {
    copies: usize,
    /// Tells whether so many are left.
    counter: Counter,
}

/// So many words of global memory are on the way at once, at most, because a loop was unrolled: registers must hold them.
const MOST_WORDS: usize = 30;
/// With more of them half as many copies more, for what is left over, would find no registers: their values live beside those of the rounds.
const MOST_WORDS_TWICE: usize = 16;
/// Of loops with fewer loads the rounds are short: they are executed a few times, as a rule.
const LEAST_LOADS: usize = 4;

/// Unroll what is short enough.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let knob = |name| usize::try_from(context.knobs.int(name)).unwrap_or(0);
    let (copies, limit) = (knob("unroll"), knob("unroll-limit"));
    let loops = analyses.loops(func);
    if loops.is_empty() || copies < 2 {
        return Ok(Changed::No);
    }
    func.edit().keep_def_use();
    let cfg = analyses.cfg(func);
    let alone = loops.iter().filter(|(_, data)| data.blocks.len() == 1).map(|(_, data)| data.header);
    let mut bodies: Vec<Body> = alone.filter_map(|block| Body::of(func, &cfg, block, copies, limit)).collect();
    if !bodies.is_empty() {
        // Threads with different numbers of rounds would go through the copies and through what is left over one after the other.
        let uniformity = analyses.uniformity(func, context.arch);
        bodies.retain(|body| !uniformity.is_divergent(body.this.block));
    }
    for body in &bodies {
        if !context.tally.is_open() {
            break;
        }
        copy::unroll(func, body)?;
        context.tally.count(0);
    }
    Ok(Changed::when(!bodies.is_empty() && context.tally.last().is_some()))
}

impl Body {
    fn of(func: &Function, cfg: &Cfg, block: Block, copies: usize, limit: usize) -> Option<Body> {
        if func.attributes().no_unroll.contains(&block) {
            return None;
        }
        let this = OneBlock::of(func, cfg, block)?;
        let insts = this.insts(func);
        let plain = insts.iter().all(|inst| *inst == this.branch || may_be_copied(func, *inst));
        let short = insts.len() <= limit;
        let words = loaded_words(func, insts)?;
        let copies = copies.min(MOST_WORDS / words);
        if !plain || !short || copies < 2 {
            return None;
        }
        let rounds = |copies| {
            let counter = Counter::of(func, (block, this.entrance), this.goes_on, copies)?;
            Some(Rounds { copies, counter })
        };
        let once = (words * copies <= MOST_WORDS_TWICE && copies > 3).then(|| rounds(copies / 2)).flatten();
        Some(Body { this, rounds: rounds(copies)?, once })
    }
}

/// How many words of global memory are loaded, where it pays that those of several rounds are on the way at once: nothing writes memory, so
/// that the loads may go ahead.
fn loaded_words(func: &Function, insts: &[InstId]) -> Option<usize> {
    let writes = |inst: &InstId| func[*inst].opcode.info().effects.contains(Effects::WRITES_MEMORY);
    let (mut loads, mut words) = (0, 0);
    for &inst in insts.iter().filter(|inst| func[**inst].opcode == Opcode::LDG) {
        loads += 1;
        func.for_each_def(inst, |_| words += 1);
    }
    (loads >= LEAST_LOADS && !insts.iter().any(writes)).then_some(words)
}

/// Whether several copies of the instruction, one behind the other, are as good as one that is executed several times.
fn may_be_copied(func: &Function, inst: InstId) -> bool {
    let data = &func[inst];
    let fixed = [Effects::CONVERGENT, Effects::BRANCH, Effects::SIDE_EFFECT];
    let mut own = data.call.is_none() && !is_terminator(data) && !data.is_hold();
    func.for_each_def(inst, |write| own &= func.is_value(write.reg));
    own && !fixed.iter().any(|effect| data.opcode.info().effects.contains(*effect))
}
