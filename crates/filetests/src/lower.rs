//! `test lower`: PTX, and the Ori that lowering makes of it.

use crate::header::Header;
use crate::ori::verified;
use crate::pass::apply;
use crate::ptx::module;
use oriole_opt::pipeline::PIPELINE;
use oriole_ori::{Function, FunctionKind, Module};
use oriole_ptx::diag::{Diagnostic, SourceMap};

/// The module without the bodies of library functions. Where PTX or lowering refuses it, what they say is an error.
pub(crate) fn run(header: &Header, input: &str) -> Result<String, String> {
    let text = module(header, input);
    let said = |errors: Vec<Diagnostic>| SourceMap::new("the case", &text).render_all(&errors);
    let tree = oriole_ptx::load(&text).map_err(said)?;
    oriole_ptx::check_target(&tree, &header.target).map_err(|error| said(vec![error]))?;
    let options = oriole_lower::Options::new(header.arch);
    let lowered = oriole_lower::lower(&tree, &options).map_err(said)?;
    lowered.functions.values().try_for_each(|func| well_formed(func, header))?;
    Ok(shown(&lowered))
}

/// Verified as in the pipeline, where the first pass has given registers that nobody writes some value.
fn well_formed(func: &Function, header: &Header) -> Result<(), String> {
    let mut func = func.clone();
    apply(&mut func, &PIPELINE[0], header.arch)?;
    verified(&func, header.arch)
}

/// The text of the module up to its functions, and of those that the case itself has.
fn shown(module: &Module) -> String {
    let whole = module.to_string();
    let head = whole.split(".function").next().unwrap_or_default();
    // The first line repeats the header.
    let head = head.split_once('\n').map_or("", |(_, rest)| rest);
    let own = module.functions.values().filter(|func| func.kind() != FunctionKind::Internal);
    own.fold(head.to_owned(), |text, func| text + &func.to_string())
}
