//! Waits for groups of copies to shared memory: `DEPBAR` names a scoreboard that something sets, and waits for something. And waits for
//! fences of the asynchronous proxy, which copies and barriers have to find done.
//!
//! A dataflow of three facts: which scoreboards may have been set on some way to a place, how many groups of copies may be on their way there
//! at most, and which fences may not be done.

use crate::checked::Checked;
use crate::finding::{Finding, Kind};
use crate::graph::{BlockId, End};
use crate::program::{Line, LineId};
use oriole_isa::access::Wait;
use oriole_isa::{COPIES, Field, Guard, Opcode, TensorCopy};
use std::collections::BTreeSet;

/// More groups than this are not counted.
const MANY: u8 = 64;
/// Instructions between the wait for copies and the barrier that shows them to the block.
const NEAR: u32 = 4;

/// Shared, global and tensor memory.
const FENCE_SPACES: usize = 3;
/// Stands for the scoreboard of a fence that has none.
const NO_SCOREBOARD: u8 = 7;
/// What has to find the fences before it done: asynchronous copies, and what tells other threads that they may start some. So it is in ptxas's
/// code: of 1,150 fences 1,144 have a scoreboard and are waited for before these, and six have another one behind that is. ptxas 13.5 forgets
/// three of 1,155, on the way back of a loop. Loads and stores pass a fence.
fn needs_fences(opcode: Opcode) -> bool {
    let tells = matches!(opcode, Opcode::SYNCS | Opcode::SYNCSU | Opcode::BAR | Opcode::UCGABAR_ARV);
    tells || opcode.copies_from_shared() || opcode.tensor_copy() == Some(TensorCopy::Load)
}

/// What may be so at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Facts {
    /// Scoreboards that something has set, a bit each.
    set: u8,
    /// Those that results of an in-order queue have set: what `DEPBAR` can leave some of.
    in_order: u8,
    /// Groups of copies that nobody has waited for, at most.
    groups: u8,
    /// Scoreboards of fences that nobody has waited for, a bit each, by `FenceSpace`; the last fence stands for those before it of its space. ptxas
    /// gives each a scoreboard where two of different spaces follow each other.
    fences: [u8; FENCE_SPACES],
}

impl Facts {
    /// Where everything may be: behind code that the file does not tell.
    const ANYTHING: Facts = Facts { set: 0x3f, in_order: 0x3f, groups: MANY, fences: [0; FENCE_SPACES] };

    fn join(self, other: Facts) -> Facts {
        Facts {
            set: self.set | other.set,
            in_order: self.in_order | other.in_order,
            groups: self.groups.max(other.groups),
            fences: std::array::from_fn(|space| self.fences[space] | other.fences[space]),
        }
    }

    fn after(mut self, line: &Line) -> Facts {
        for wait in line.touches.waits.iter().filter(|wait| wait.scoreboard == COPIES) {
            self.groups = self.groups.min(wait.left);
        }
        self.fences = self.fences_before(line);
        if line.inst.opcode == Opcode::FENCE {
            let own = 1 << line.touches.sets[0].unwrap_or(NO_SCOREBOARD);
            let fences = &mut self.fences[usize::from(line.inst.raw(Field::FENCE_SPACE.id()))];
            *fences = if line.inst.guard == Guard::ALWAYS { own } else { own | *fences };
        }
        for scoreboard in line.touches.sets.into_iter().flatten() {
            self.set |= 1 << scoreboard;
        }
        if let ([Some(write), _], Some(_)) = (line.touches.sets, line.touches.results) {
            self.in_order |= 1 << write;
        }
        if line.inst.opcode == Opcode::LDGDEPBAR {
            self.groups = (self.groups + 1).min(MANY);
        }
        self
    }

    /// The fences that may not be done when the instruction begins.
    fn fences_before(self, line: &Line) -> [u8; FENCE_SPACES] {
        let waits = line.touches.waits.iter().filter(|wait| wait.left == 0);
        let mask = waits.fold(0u8, |mask, wait| mask | 1 << wait.scoreboard);
        self.fences.map(|fences| fences & !mask)
    }
}

/// `DEPBAR`s that name the wrong scoreboard, or too many groups; fences that nobody waits for.
pub(crate) fn check(checked: &Checked<'_>, roots: &[BlockId], kernels: &BTreeSet<BlockId>) -> Vec<Finding> {
    let entry = solve(checked, roots, kernels);
    let mut findings = Vec::new();
    for (block, facts) in checked.graph.blocks.iter().zip(entry) {
        let Some(mut facts) = facts else { continue };
        for at in block.first..block.end {
            let line = &checked.program.lines[at as usize];
            let waits = || line.touches.waits.iter().filter(|wait| !wait.in_control);
            // One that waits for a set of scoreboards, whatever is on them, as `tcgen05.wait::ld` does, is no mistake.
            for wait in waits().filter(|_| waits().count() == 1) {
                let reason = lapse(wait, facts, || shows_block(checked, at, block.end));
                findings.extend(reason.map(|reason| checked.single(Kind::ControlWord, at, Vec::new(), reason)));
            }
            if facts.fences_before(line) != [0; FENCE_SPACES] && needs_fences(line.inst.opcode) {
                let reason = "the fence of the asynchronous proxy before it is not waited for".to_owned();
                findings.push(checked.single(Kind::ControlWord, at, Vec::new(), reason));
            }
            facts = facts.after(line);
        }
    }
    findings
}

/// What is wrong with a wait by `DEPBAR`. Programs that wait for all groups but one where there is only one are met in the wild; those that
/// leave more, and have the block meet at once to see what has come, have a reason to wait.
fn lapse(wait: &Wait, facts: Facts, shows: impl Fn() -> bool) -> Option<String> {
    let Wait { scoreboard, left, .. } = *wait;
    if scoreboard >= 6 {
        return None;
    }
    if scoreboard != COPIES {
        let (known, what) = match left {
            0 => (facts.set, "nothing sets"),
            _ => (facts.in_order, "nothing sets whose results come in order"),
        };
        let is_set = known >> scoreboard & 1 != 0;
        return (!is_set).then(|| format!("waits for SB{scoreboard}, which {what} on any path to here"));
    }
    let is_idle = left > 1 && facts.groups > 0 && facts.groups <= left;
    (is_idle && shows())
        .then(|| format!("waits for nothing: at most {} groups of copies are on their way here", facts.groups))
}

/// The block meets soon after the instruction, to see what has been copied.
fn shows_block(checked: &Checked<'_>, at: LineId, end: LineId) -> bool {
    let mut near = at + 1..end.min(at + 1 + NEAR);
    near.any(|line| checked.program.lines[line as usize].inst.opcode == Opcode::BAR)
}

/// The facts at the starts of all blocks.
fn solve(checked: &Checked<'_>, roots: &[BlockId], kernels: &BTreeSet<BlockId>) -> Vec<Option<Facts>> {
    let graph = checked.graph;
    let mut entry: Vec<Option<Facts>> = vec![None; graph.blocks.len()];
    let mut work = BTreeSet::new();
    let arrive = |to: BlockId, facts: Facts, work: &mut BTreeSet<BlockId>, entry: &mut Vec<Option<Facts>>| {
        let known = &mut entry[to as usize];
        let joined = known.map_or(facts, |known| known.join(facts));
        if *known != Some(joined) {
            *known = Some(joined);
            work.insert(to);
        }
    };
    for root in roots {
        let facts = if kernels.contains(root) { Facts::default() } else { Facts::ANYTHING };
        arrive(*root, facts, &mut work, &mut entry);
    }
    while let Some(at) = work.pop_first() {
        let block = &graph.blocks[at as usize];
        let Some(before) = entry[at as usize] else { continue };
        let lines = &checked.program.lines[block.first as usize..block.end as usize];
        let after = lines.iter().fold(before, |facts, line| facts.after(line));
        for edge in &block.edges {
            arrive(edge.to, after, &mut work, &mut entry);
        }
        match block.ends {
            End::Plain => {}
            End::Call { known: false, back: Some(back) } => arrive(back, Facts::ANYTHING, &mut work, &mut entry),
            End::Call { .. } => {}
            End::Return => {
                for caller in &graph.returns[at as usize] {
                    if let End::Call { back: Some(back), .. } = graph.blocks[*caller as usize].ends {
                        arrive(back, after, &mut work, &mut entry);
                    }
                }
            }
        }
    }
    entry
}
