//! The code of a cubin's functions, as nvdisasm lists it.

use crate::code::{branch_targets, control_text};
use oriole_cubin::{Cubin, Function};
use oriole_isa::{Arch, Inst, code, decode};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Why code cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// The instruction set of the cubin's target is not known.
    #[error(transparent)]
    Target(#[from] oriole_isa::UnknownArch),
    /// The cubin has no function of that name.
    #[error("no function '{0}'")]
    NoFunction(
        /// The name.
        String,
    ),
}

/// The instructions of the functions of those names, of all kernels where there are none; with `control` the scheduling
/// bits of each too.
///
/// # Errors
/// The target is not known, or the cubin has no such function.
pub fn list_functions(cubin: &Cubin, names: &[String], control: bool) -> Result<String, ListingError> {
    let arch: Arch = cubin.target.to_string().parse()?;
    if let Some(missing) = names.iter().find(|name| !cubin.functions.iter().any(|f| f.name == **name)) {
        return Err(ListingError::NoFunction(missing.clone()));
    }
    let mut out = String::new();
    for function in cubin.functions.iter().filter(|f| wanted(f, names)) {
        show_function(cubin, function, arch, control, &mut out);
    }
    Ok(out)
}

/// Functions inside a kernel's section are shown as part of the kernel.
fn wanted(function: &Function, names: &[String]) -> bool {
    if names.is_empty() { function.offset == 0 } else { names.contains(&function.name) }
}

fn show_function(cubin: &Cubin, function: &Function, arch: Arch, control: bool, out: &mut String) {
    let start = function.offset;
    let words = code::words(cubin.code(function), arch).into_iter().map(|(pc, word)| (start + pc, word));
    let insts: Vec<(u64, Result<Inst, String>)> =
        words.map(|(pc, word)| (pc, decode(word, arch, pc).map_err(|e| format!("??? {word:032x} {e}")))).collect();
    let labels = labels(&insts, cubin, function);
    let _ = writeln!(out, "\n\t.section\t.text.{}\n{}:", function.name, function.name);
    for (pc, inst) in &insts {
        if let Some(label) = labels.get(pc).filter(|_| *pc != start) {
            let _ = writeln!(out, "{label}:");
        }
        let text = match inst {
            Ok(inst) => {
                let name = |target: i64| u64::try_from(target).ok().and_then(|t| labels.get(&t).cloned());
                inst.display(arch).labels(&name).to_string()
            }
            Err(reason) => reason.clone(),
        };
        let bits = inst.as_ref().map_or_else(|_| String::new(), |i| control_text(i.control));
        let bits = if control { format!("{bits} ") } else { String::new() };
        let _ = writeln!(out, "        /*{pc:04x}*/ {bits}{text} ;");
    }
}

/// Names of the addresses that are branched to, and of functions.
fn labels(insts: &[(u64, Result<Inst, String>)], cubin: &Cubin, shown: &Function) -> BTreeMap<u64, String> {
    let mut labels: BTreeMap<u64, String> = BTreeMap::new();
    for function in cubin.functions.iter().filter(|f| f.section == shown.section) {
        labels.insert(function.offset, function.name.clone());
    }
    let targets = branch_targets(insts.iter().filter_map(|(_, inst)| inst.as_ref().ok()));
    for target in targets {
        let next = format!(".L_x_{}", labels.len());
        labels.entry(target).or_insert(next);
    }
    labels
}
