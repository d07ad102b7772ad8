//! Slow units: how many cycles after one of their instructions the next one may issue, whatever registers the two touch.

use super::LatencyClass;
use crate::chip::Unit;
use crate::{Arch, Inst, Opcode};

/// What an instruction does to a slow unit. Within a block another instruction of the unit issues no earlier; from block to block
/// ptxas keeps no such distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The unit.
    pub unit: Unit,
    /// Cycles, from issue to issue, until the next instruction of the unit.
    pub cycles: u16,
}

include!(concat!(env!("OUT_DIR"), "/latency_pace.rs"));

/// The slow unit of an instruction, by `spec/latency/pace.tsv`; `None` where nothing has to be kept.
pub fn pace(inst: &Inst, arch: Arch) -> Option<Pace> {
    let [narrow, wide] = PACES[arch as usize][inst.opcode as usize];
    if narrow == wide || !has_wide_operand(inst) { narrow } else { wide }
}

/// A conversion from or to 64 bits.
fn has_wide_operand(inst: &Inst) -> bool {
    inst.opcode.info().latency == LatencyClass::Xu && (0..inst.opcode.signature().len()).any(|at| inst.width(at) > 1)
}
