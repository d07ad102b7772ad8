//! The passes on all functions of a module, several at a time.
//!
//! Functions share nothing but the table of forms, to which passes add. Each group of functions works on a copy of the
//! table; what was added to it gets its place in the module's afterwards.

use super::context::PassOptions;
use super::{PassFault, run_until};
use crate::control::Control;
use crate::ir::SymbolId;
use crate::machine::form::FormId;
use crate::machine::{Forms, Function, Opcode};

/// Instructions of a module from which it is worth to start threads.
const MANY: usize = 4000;
/// Groups for each thread, so that one with a long function does not keep the others waiting.
const GROUPS: usize = 4;

/// Runs the passes of a level on functions in SSA form, in any order; not all of them if the caller wants an end.
///
/// # Errors
///
/// [`PassFault`] of the first function that has one, with its index; never without [`PassOptions::verify`].
pub fn run_all(
    control: Control<'_>,
    functions: &mut [(SymbolId, Function)],
    forms: &mut Forms,
    options: &PassOptions,
) -> Result<(), (usize, PassFault)> {
    let size: usize =
        functions.iter().flat_map(|(_, function)| function.blocks.values()).map(|block| block.insts.len()).sum();
    if functions.len() < 2 || size < MANY || control.workers.count() < 2 {
        return group(control, functions, forms, options, 0);
    }
    let length = functions.len().div_ceil(control.workers.count() * GROUPS);
    let given = forms.len();
    let groups: Vec<_> = functions.chunks_mut(length).enumerate().collect();
    let own: Vec<Result<Forms, (usize, PassFault)>> = control.workers.each(groups, |(number, functions)| {
        let mut own = forms.clone();
        group(control, functions, &mut own, options, number * length).map(|()| own)
    });
    for (functions, own) in functions.chunks_mut(length).zip(own) {
        adopt(functions, forms, &own?, given);
    }
    Ok(())
}

fn group(
    control: Control<'_>,
    functions: &mut [(SymbolId, Function)],
    forms: &mut Forms,
    options: &PassOptions,
    first: usize,
) -> Result<(), (usize, PassFault)> {
    for (at, (_, function)) in functions.iter_mut().enumerate() {
        run_until(function, forms, options, control.is_stopped).map_err(|fault| (first + at, fault))?;
    }
    Ok(())
}

/// Gives the forms that functions have from their own table, from number `given` on, their places in the common one.
fn adopt(functions: &mut [(SymbolId, Function)], forms: &mut Forms, own: &Forms, given: usize) {
    let places: Vec<Option<FormId>> = own.iter().skip(given).map(|form| forms.intern(&form.text)).collect();
    if places.is_empty() {
        return;
    }
    let blocks = functions.iter_mut().flat_map(|(_, function)| function.blocks.values_mut());
    for inst in blocks.flat_map(|block| &mut block.insts) {
        if let Opcode::Form(form) = &mut inst.opcode
            && let Some(place) = (form.as_u32() as usize).checked_sub(given).and_then(|at| places[at])
        {
            *form = place;
        }
    }
}
