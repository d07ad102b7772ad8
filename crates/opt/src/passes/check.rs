//! Slot 0: what lowering made must be well formed.

use crate::{Changed, Context, PhaseError};
use oriole_isa::Arch;
use oriole_ori::analysis::{Analyses, Liveness};
use oriole_ori::{Function, Inst, Operand, VReg, verify};

/// Give registers that may be read before they are written some value at the entry (PTX allows such
/// reads).
pub(crate) fn run(func: &mut Function, _: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let undefined = undefined_at_entry(func, &analyses.live(func));
    let marks: Vec<_> = undefined.iter().map(|reg| func.edit().add(Inst::undef(Operand::reg(*reg)))).collect();
    if let Some(entry) = func.entry() {
        func.edit().place(entry, 0, &marks);
    }
    Ok(Changed::when(!undefined.is_empty()))
}

/// Registers that are live at the entry though the function does not receive them, in order.
fn undefined_at_entry(func: &Function, live: &Liveness) -> Vec<VReg> {
    let Some(entry) = func.entry() else { return Vec::new() };
    let received = |reg: VReg| func.live_in().contains(&reg) || func[reg].is_fixed();
    let mut regs: Vec<VReg> = live.live_in(entry).map(|(reg, _)| reg).filter(|reg| !received(*reg)).collect();
    regs.sort_unstable();
    regs.dedup();
    regs
}

/// Run the verifier, naming the phase that came before, and compute the analyses that are held anew.
pub(crate) fn verify_after(
    func: &Function,
    arch: Arch,
    phase: &'static str,
    analyses: &Analyses,
) -> Result<(), PhaseError> {
    let fault = |fault: String| PhaseError::Verify { function: func.name().to_owned(), phase, fault };
    verify::verify(func, arch).map_err(|faults| fault(faults.first().map_or_else(String::new, ToString::to_string)))?;
    if let Some(difference) = func.def_use().and_then(|lists| lists.difference(func)) {
        return Err(fault(format!("definitions and uses were to be kept: {difference}")));
    }
    match analyses.stale(func, arch) {
        Some(name) => Err(fault(format!("the {name} was to hold and does not"))),
        None => Ok(()),
    }
}
