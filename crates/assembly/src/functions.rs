//! The code of a cubin's functions, as nvdisasm lists it.

use crate::code::{branch_targets, control_text};
use oriole_cubin::{Cubin, Function, SectionIndex};
use oriole_isa::{Arch, Control, Inst, code, decode};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Why code cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// The instruction set of the cubin's target is not known.
    #[error(transparent)]
    Target(#[from] oriole_isa::UnknownArch),
    /// The cubin has no function of that name.
    #[error("no function '{name}'; the cubin has: {}", known.join(", "))]
    NoFunction {
        /// The name.
        name: String,
        /// The functions that there are.
        known: Vec<String>,
    },
}

/// The code of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFunction {
    /// Its name.
    pub name: String,
    /// Whether it can be launched.
    pub is_kernel: bool,
    /// The section that it is in.
    pub section: SectionIndex,
    /// Its instructions.
    pub instructions: Vec<ListedInstruction>,
}

/// An instruction of a [`ListedFunction`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedInstruction {
    /// Byte offset in the function's section.
    pub address: u64,
    /// Its bits.
    pub word: u128,
    /// The name of its address, where something branches to it or a function begins.
    pub label: Option<String>,
    /// The instruction; `??? WORD REASON` for a word that is none.
    pub text: String,
    /// The scheduling bits of an instruction.
    pub control: Option<Control>,
}

/// The code of the functions of those names, of all kernels where there are none.
///
/// # Errors
/// The target is not known, or the cubin has no such function.
pub fn read_functions(cubin: &Cubin, names: &[String]) -> Result<Vec<ListedFunction>, ListingError> {
    let arch: Arch = cubin.target.to_string().parse()?;
    if let Some(missing) = names.iter().find(|name| !cubin.functions.iter().any(|f| f.name == **name)) {
        let known = cubin.functions.iter().map(|function| function.name.clone()).collect();
        return Err(ListingError::NoFunction { name: missing.clone(), known });
    }
    let functions = cubin.functions.iter().filter(|function| wanted(function, names));
    Ok(functions.map(|function| read_function(cubin, function, arch)).collect())
}

/// The instructions of the functions of those names, of all kernels where there are none; with `control` the scheduling
/// bits of each too.
///
/// # Errors
/// The target is not known, or the cubin has no such function.
pub fn list_functions(cubin: &Cubin, names: &[String], control: bool) -> Result<String, ListingError> {
    let functions = read_functions(cubin, names)?;
    Ok(functions.iter().map(|function| function.text(control, |_| String::new())).collect())
}

/// Functions inside a kernel's section are shown as part of the kernel.
fn wanted(function: &Function, names: &[String]) -> bool {
    if names.is_empty() { function.offset == 0 } else { names.contains(&function.name) }
}

fn read_function(cubin: &Cubin, function: &Function, arch: Arch) -> ListedFunction {
    let start = function.offset;
    let words = code::words(cubin.code(function), arch).into_iter().map(|(pc, word)| (start + pc, word));
    let decoded = words.map(|(pc, word)| (pc, word, decode(word, arch, pc)));
    let insts: Vec<(u64, u128, Result<Inst, String>)> =
        decoded.map(|(pc, word, inst)| (pc, word, inst.map_err(|e| format!("??? {word:032x} {e}")))).collect();
    let labels = labels(&insts, cubin, function);
    let name = |target: i64| u64::try_from(target).ok().and_then(|target| labels.get(&target).cloned());
    let listed = insts.iter().map(|(address, word, inst)| ListedInstruction {
        address: *address,
        word: *word,
        label: labels.get(address).cloned(),
        text: match inst {
            Ok(inst) => inst.display(arch).labels(&name).to_string(),
            Err(reason) => reason.clone(),
        },
        control: inst.as_ref().ok().map(|inst| inst.control),
    });
    ListedFunction {
        name: function.name.clone(),
        is_kernel: function.is_kernel,
        section: function.section,
        instructions: listed.collect(),
    }
}

impl ListedFunction {
    /// As nvdisasm lists it, with `control` the scheduling bits of each instruction too. `above` gives whole lines that stand
    /// above an instruction.
    pub fn text(&self, control: bool, mut above: impl FnMut(&ListedInstruction) -> String) -> String {
        let mut out = format!("\n\t.section\t.text.{}\n{}:\n", self.name, self.name);
        for (index, inst) in self.instructions.iter().enumerate() {
            // The first one's label is the function's name.
            if let Some(label) = inst.label.as_ref().filter(|_| index != 0) {
                let _ = writeln!(out, "{label}:");
            }
            out.push_str(&above(inst));
            let bits = inst.control.map_or_else(String::new, control_text);
            let bits = if control { format!("{bits} ") } else { String::new() };
            let _ = writeln!(out, "        /*{:04x}*/ {bits}{} ;", inst.address, inst.text);
        }
        out
    }
}

/// Names of the addresses that are branched to, and of functions.
fn labels(insts: &[(u64, u128, Result<Inst, String>)], cubin: &Cubin, shown: &Function) -> BTreeMap<u64, String> {
    let mut labels: BTreeMap<u64, String> = BTreeMap::new();
    for function in cubin.functions.iter().filter(|f| f.section == shown.section) {
        labels.insert(function.offset, function.name.clone());
    }
    let targets = branch_targets(insts.iter().filter_map(|(_, _, inst)| inst.as_ref().ok()));
    // A target that is no instruction's address has no line to stand above.
    let is_instruction = |address: &u64| insts.binary_search_by_key(address, |(pc, ..)| *pc).is_ok();
    for target in targets.into_iter().filter(is_instruction) {
        let next = format!(".L_x_{}", labels.len());
        labels.entry(target).or_insert(next);
    }
    labels
}
