//! Slot 32, with the published ConvertMemoryToRegisterOrUniform, on SSA form: words of the frame live in registers, and the frame is as
//! large as what is left.
//!
//! That is done where every mention of the frame's register is the base of a plain load or store at a constant offset: nobody else has
//! an address in it then. Words that are only accessed whole become values, with MovPhis where ways with different ones meet; slot 74
//! finds those that are the same in a warp. What is read before it was written is undefined.

use super::places::{olds, plain_access, words};
use super::values::Values;
use crate::{Changed, Context, PhaseError};
use oriole_isa::{RegFile, Role};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Block, Function, InstId, Operand, OperandKind};
use std::ops::Range;

/// What is counted.
pub(crate) const RULES: &[&str] = &["words in registers", "frames that shrink"];
const WORDS: usize = 0;
const FRAMES: usize = 1;

/// Bytes of a word.
const WORD: u32 = 4;
/// So many words at most: more would be spilled to where they were.
const MOST_WORDS: usize = 64;
/// Bytes that keep their neighbours when the frame shrinks: no access is wider.
const CHUNK: u32 = 16;

/// Put words into registers, and what is left closer together.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let enabled = context.knobs.is_set("general-optimization") && context.tally.is_open();
    if func.frame().local_bytes == 0 || func.frame().dynamic || !enabled {
        return Ok(Changed::No);
    }
    let Some(mut accesses) = accesses(func) else { return Ok(Changed::No) };
    func.edit().keep_def_use();
    let variables = Variables::new(func.frame().local_bytes, &accesses);
    let cfg = analyses.cfg(func);
    // The words that a function begins with are undefined: they have no place among the inputs of a MovPhi.
    let is_entered_again = cfg.rpo().first().is_some_and(|entry| !cfg.preds(*entry).is_empty());
    let promotes = (1..=MOST_WORDS).contains(&variables.count) && !is_entered_again;
    if promotes {
        Values::new(func, &cfg, &variables).put(&accesses)?;
        context.tally.add(WORDS, variables.count as u32);
        accesses.retain(|access| variables.of(access.words().start).is_none());
    }
    let shrinks = context.tally.is_open() && compact(func, &accesses);
    context.tally.add(FRAMES, shrinks.into());
    Ok(Changed::when(promotes || shrinks))
}

/// A load or a store of bytes of the frame.
pub(super) struct Access {
    pub(super) block: Block,
    pub(super) inst: InstId,
    bytes: Range<u32>,
    pub(super) stores: bool,
}

impl Access {
    /// The numbers of its words.
    pub(super) fn words(&self) -> Range<u32> {
        self.bytes.start / WORD..self.bytes.end.div_ceil(WORD)
    }

    fn is_whole(&self) -> bool {
        self.bytes.start.is_multiple_of(WORD) && self.bytes.end.is_multiple_of(WORD)
    }
}

/// The accesses to the frame; `None` where its address goes elsewhere, or what is done there is not plain.
fn accesses(func: &Function) -> Option<Vec<Access>> {
    let base = func.frame().base();
    let names_base = |operand: &&Operand| match operand.kind() {
        OperandKind::Phys { file: RegFile::R, number, count } => (number..number + u16::from(count)).contains(&base),
        _ => false,
    };
    let mut accesses = Vec::new();
    for (block, inst) in func.iter_insts() {
        let data = &func[inst];
        let site = data.call.expand().map(|call| &func[call]);
        let passed = site.into_iter().flat_map(|site| site.args.iter().chain(&site.results));
        match data.operands.iter().chain(passed).filter(names_base).count() {
            0 => continue,
            1 => {}
            _ => return None,
        }
        let (_, bytes) = plain_access(func, data).filter(|(place, _)| place.is_frame())?;
        let bytes = u32::try_from(bytes.start).ok()?..u32::try_from(bytes.end).ok()?;
        let stores = data.position(Role::Data).is_some();
        olds(func, data, words(func, data, stores)?.len())?;
        if bytes.end > func.frame().local_bytes || data.guard().is_some_and(|guard| !func.is_value(guard.pred)) {
            return None;
        }
        accesses.push(Access { block, inst, bytes, stores });
    }
    Some(accesses)
}

/// The words that can live in registers, numbered.
pub(super) struct Variables {
    /// By word of the frame.
    numbers: Vec<Option<usize>>,
    count: usize,
}

impl Variables {
    /// Words of which all accesses are whole, and go along with no word of which that is not so.
    fn new(frame: u32, accesses: &[Access]) -> Variables {
        let mut whole = vec![true; frame.div_ceil(WORD) as usize];
        let mut accessed = vec![false; whole.len()];
        loop {
            let mut changed = false;
            for access in accesses {
                let words = access.words().start as usize..access.words().end as usize;
                accessed[words.clone()].fill(true);
                if !access.is_whole() || !whole[words.clone()].iter().all(|whole| *whole) {
                    changed |= whole[words.clone()].contains(&true);
                    whole[words].fill(false);
                }
            }
            if !changed {
                break;
            }
        }
        let mut count = 0;
        let number = |(whole, accessed)| {
            (whole && accessed).then(|| {
                count += 1;
                count - 1
            })
        };
        Variables { numbers: whole.into_iter().zip(accessed).map(number).collect(), count }
    }

    /// The number of a word.
    pub(super) fn of(&self, word: u32) -> Option<usize> {
        self.numbers.get(word as usize).copied().flatten()
    }
}

/// Close up what is left of the frame, if its address is in no register; says whether it shrinks.
fn compact(func: &mut Function, accesses: &[Access]) -> bool {
    let (bytes, align) = (func.frame().local_bytes, func.frame().align);
    let mut used = vec![false; bytes.div_ceil(CHUNK) as usize];
    accesses.iter().for_each(|access| used[(access.bytes.start / CHUNK) as usize] = true);
    let straddles = |access: &Access| access.bytes.start / CHUNK != (access.bytes.end - 1) / CHUNK;
    let less = bytes.saturating_sub(CHUNK * used.iter().filter(|used| **used).count() as u32);
    if less == 0 || !accesses.is_empty() && align > CHUNK || accesses.iter().any(straddles) {
        return false;
    }
    let mut next = 0;
    let mut place = |used| {
        let at = next;
        next += if used { CHUNK } else { 0 };
        at
    };
    let places: Vec<u32> = used.into_iter().map(&mut place).collect();
    for access in accesses {
        let offset = places[(access.bytes.start / CHUNK) as usize] + access.bytes.start % CHUNK;
        func.edit().update(access.inst, |inst| inst.set_role(Role::Offset, Operand::imm_signed(offset as i32)));
    }
    func.frame_mut().local_bytes = bytes - less;
    true
}
