//! Slow units: whether the next instruction of one leaves it the time that its pace asks for. Within a block alone: from block to block
//! ptxas keeps none.

use crate::checked::Checked;
use crate::finding::{Finding, Kind, Missing};
use crate::graph::BlockId;
use oriole_isa::latency::{Release, SlowUnits};

/// What comes too early for its unit, in code that a tool of this release made.
pub(crate) fn check(checked: &Checked<'_>, maker: Option<Release>) -> Vec<Finding> {
    let blocks = (0..checked.graph.blocks.len()).filter(|block| checked.is_reached(*block as BlockId));
    let mut found = Vec::new();
    blocks.for_each(|block| in_block(checked, maker, block, &mut found));
    found
}

fn in_block(checked: &Checked<'_>, maker: Option<Release>, block: usize, found: &mut Vec<Finding>) {
    let program = checked.program;
    let mut units = SlowUnits::new(maker);
    for at in checked.graph.blocks[block].first..checked.graph.blocks[block].end {
        let line = &program.lines[at as usize];
        if let Some(early) = units.issue(at, &line.inst, &line.touches, program.arch) {
            found.push(Finding {
                kind: Kind::Pace,
                earlier: Some(checked.place(early.behind)),
                later: checked.place(at),
                registers: Vec::new(),
                missing: Missing::Other(early.to_string()),
                path: Vec::new(),
            });
        }
    }
}
