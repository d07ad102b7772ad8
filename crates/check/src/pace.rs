//! Slow units: whether the next instruction of one leaves it the time that its pace asks for. Within a block alone: from block to block
//! ptxas keeps none. Where the result was waited for, the unit is free: so ptxas's code at -O0 goes by scoreboards alone.

use crate::checked::Checked;
use crate::finding::{Finding, Kind, Missing};
use crate::graph::BlockId;
use crate::program::LineId;
use oriole_isa::chip::Unit;
use oriole_isa::latency;

/// The last instruction of a unit, its write scoreboard, and the cycle of its block from which on the unit takes another.
type Taken = Option<(LineId, Option<u8>, u32)>;

/// What comes too early for its unit.
pub(crate) fn check(checked: &Checked<'_>) -> Vec<Finding> {
    let blocks = (0..checked.graph.blocks.len()).filter(|block| checked.is_reached(*block as BlockId));
    let mut found = Vec::new();
    blocks.for_each(|block| in_block(checked, block, &mut found));
    found
}

fn in_block(checked: &Checked<'_>, block: usize, found: &mut Vec<Finding>) {
    let program = checked.program;
    let lines = checked.graph.blocks[block].first..checked.graph.blocks[block].end;
    let mut taken: [Taken; Unit::COUNT] = [None; Unit::COUNT];
    let mut now = 0;
    for at in lines {
        let line = &program.lines[at as usize];
        for wait in &line.touches.waits {
            for unit in
                taken.iter_mut().filter(|unit| matches!(unit, Some((_, Some(set), _)) if *set == wait.scoreboard))
            {
                *unit = None;
            }
        }
        if let Some(pace) = latency::pace(&line.inst, program.arch) {
            let unit = &mut taken[pace.unit as usize];
            if let Some((earlier, _, free)) = unit.filter(|(_, _, free)| *free > now) {
                found.push(Finding {
                    kind: Kind::Pace,
                    earlier: Some(checked.place(earlier)),
                    later: checked.place(at),
                    registers: Vec::new(),
                    missing: Missing::Other(format!(
                        "the unit {} is taken for {} more cycles",
                        pace.unit.name(),
                        free - now
                    )),
                    path: Vec::new(),
                });
            }
            *unit = Some((at, line.touches.sets[0], now + u32::from(pace.cycles)));
        }
        now += u32::from(line.inst.control.cycles());
    }
}
