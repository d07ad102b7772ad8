//! Ori as the text of a case: a function, or a module where functions call each other.

use oriole_isa::Arch;
use oriole_ori::{Function, Module, verify};

/// A function, verified.
pub(crate) fn function(text: &str, arch: Arch) -> Result<Function, String> {
    let func: Function = text.parse().map_err(|error| format!("{error}"))?;
    verified(&func, arch)?;
    Ok(func)
}

/// A module, or the module of one function, verified.
pub(crate) fn module(text: &str, arch: Arch) -> Result<Module, String> {
    if !text.starts_with(".module") {
        let mut module = Module::new(arch);
        module.functions.push(function(text, arch)?);
        return Ok(module);
    }
    let module: Module = text.parse().map_err(|error| format!("{error}"))?;
    if module.arch != arch {
        return Err(format!("the case is for {}, the file for {arch}", module.arch));
    }
    module.functions.values().try_for_each(|func| verified(func, arch))?;
    Ok(module)
}

/// What the verifier says against a function.
pub(crate) fn verified(func: &Function, arch: Arch) -> Result<(), String> {
    let said = |errors: Vec<verify::VerifyError>| errors.iter().map(|error| format!("{error}\n")).collect::<String>();
    verify::verify(func, arch).map_err(|errors| format!("{}{func}", said(errors)))
}
