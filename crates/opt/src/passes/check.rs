//! Slot 0: what lowering made must be well formed.

use crate::{Changed, Context, PhaseError};
use oriole_ori::{Function, verify};

/// Run the verifier, where the context asks for verification.
pub(crate) fn run(func: &mut Function, context: &Context) -> Result<Changed, PhaseError> {
    if context.verify {
        verify_after(func, context, "OriCheckInitialProgram")?;
    }
    Ok(Changed::No)
}

/// Run the verifier, naming the phase that came before.
pub(crate) fn verify_after(func: &Function, context: &Context, phase: &'static str) -> Result<(), PhaseError> {
    verify::verify(func, context.arch).map_err(|faults| PhaseError::Verify {
        function: func.name.clone(),
        phase,
        fault: faults.first().map_or_else(String::new, ToString::to_string),
    })
}
