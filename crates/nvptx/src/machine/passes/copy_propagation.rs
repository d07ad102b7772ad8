//! Reads the source of a copy instead of its result.
//!
//! * A copy within a class goes, whatever the class.
//! * A copy between classes is a bit cast, which PTX spells as a `mov` that has to stay; but one back to
//!   the class that the bits came from is the first register.
//! * A `phi` whose values are all one register, or itself, is that register.
//!
//! Registers that guarded instructions write have no one value; copies of them stay.

use super::cfg::Cfg;
use super::context::Context;
use super::defs::Defs;
use super::rename::Renaming;
use crate::machine::{Function, Inst, Phi, VReg};

/// Runs the pass; true when something is read elsewhere now.
pub fn run(cx: &mut Context<'_>) -> bool {
    let function = &mut *cx.function;
    let defs = Defs::new(function);
    let mut renaming = Renaming::new(function);
    for &block in Cfg::of_reachable(function).rpo() {
        for phi in &function.blocks[block].phis {
            if let Some(value) = only_value(phi, &defs, &mut renaming)
                && function.regs[value] == function.regs[phi.dst]
            {
                renaming.set(phi.dst, value);
            }
        }
        for inst in &function.blocks[block].insts {
            if let Some((from, to)) = inst.as_copy()
                && let Some(source) = source(function, &defs, &mut renaming, from, to)
            {
                renaming.set(to, source);
            }
        }
    }
    renaming.apply(function)
}

/// The register that all values of a `phi` are, but for its own.
fn only_value(phi: &Phi, defs: &Defs, renaming: &mut Renaming) -> Option<VReg> {
    defs.once(phi.dst)?;
    let mut only = None;
    for (_, value) in &phi.incoming {
        let value = renaming.of(value.vreg()?);
        if value != phi.dst && only.replace(value).is_some_and(|other| other != value) {
            return None;
        }
    }
    only.filter(|&value| defs.once(value).is_some())
}

/// What can be read in the place of `to`, a copy of `from`.
fn source(function: &Function, defs: &Defs, renaming: &mut Renaming, from: VReg, to: VReg) -> Option<VReg> {
    defs.once(to)?;
    let from = renaming.of(from);
    let place = defs.once(from)?;
    let class = function.regs[to];
    if function.regs[from] == class {
        return Some(from);
    }
    let (first, _) = place.inst(function).and_then(Inst::as_copy)?;
    let first = renaming.of(first);
    (function.regs[first] == class && defs.once(first).is_some()).then_some(first)
}
