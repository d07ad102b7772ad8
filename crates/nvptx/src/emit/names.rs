//! PTX names of symbols.
//!
//! PTX identifiers are letters, digits, `_` and `$`; LLVM's may be anything. As LLVM's own NVPTX back
//! end, what PTX does not have becomes `_$_`. Names that others see (of symbols that are not
//! internal) keep their spelling wherever PTX allows it; internal ones step aside.

use oriole_ptx::ast::{Sym, SymbolTable};
use rustc_hash::FxHashSet;

use crate::ir::{self, Linkage, SymbolId};
use crate::machine;

const RESULT: &str = "func_retval0";

/// What stands for characters that PTX names do not have.
const STAND_IN: &str = "_$_";

/// Words that ptxas 13.0 takes for something else wherever a name may stand (measured with all
/// opcodes, modifiers and directives as names; it takes the others), and `generic`, which means
/// the operator in initial values.
const RESERVED: [&str; 4] = ["WARP_SZ", "function_name", "inlined_at", "generic"];

/// Gives every symbol of `ir` its PTX name, in [`machine::Module::names`]. Intrinsics and the
/// variables that only LLVM reads (`llvm.…`) get none.
pub fn assign(ir: &ir::Module, machine: &mut machine::Module) {
    let mut taken = FxHashSet::default();
    let mut later = Vec::new();
    for (id, symbol) in ir.symbols.iter() {
        let name = symbol.name.strip_prefix('\u{1}').unwrap_or(&symbol.name);
        if name.starts_with("llvm.") {
            continue;
        }
        let clean = clean(name);
        if symbol.linkage == Linkage::Internal || clean != name {
            later.push((id, clean));
        } else {
            give(machine, &mut taken, id, clean);
        }
    }
    // A stable sort: exported names that had to change come before internal ones.
    later.sort_by_key(|(id, _)| ir.symbols[*id].linkage == Linkage::Internal);
    for (id, clean) in later {
        let internal = ir.symbols[id].linkage == Linkage::Internal;
        let mut name = clean.clone();
        let mut number = 1;
        while taken.contains(name.as_str()) || (internal && has_own_meaning(&name)) {
            name = format!("{clean}{STAND_IN}{number}");
            number += 1;
        }
        give(machine, &mut taken, id, name);
    }
}

/// A name for what a function declares itself: `name`, unless a variable or function of the module has it.
pub fn own(symbols: &mut SymbolTable, taken: &FxHashSet<Sym>, mut name: String) -> Sym {
    let mut sym = symbols.intern(&name);
    while taken.contains(&sym) {
        name.push_str(STAND_IN);
        sym = symbols.intern(&name);
    }
    sym
}

/// The name of parameter `index`, counted from 0, of a function: `NAME_param_0`.
pub fn param(symbols: &mut SymbolTable, taken: &FxHashSet<Sym>, function: Sym, index: usize) -> Sym {
    let name = format!("{}_param_{index}", symbols.text(function));
    own(symbols, taken, name)
}

/// The name of the `.param` that a function returns its result in.
pub fn result(symbols: &mut SymbolTable, taken: &FxHashSet<Sym>) -> Sym {
    own(symbols, taken, RESULT.to_owned())
}

fn give(machine: &mut machine::Module, taken: &mut FxHashSet<String>, id: SymbolId, name: String) {
    let sym = machine.symbols.intern(&name);
    machine.names[id] = Some(sym);
    machine.taken.insert(sym);
    taken.insert(name);
}

/// The name with what PTX allows in it.
fn clean(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for char in name.chars() {
        match char {
            'a'..='z' | 'A'..='Z' | '_' | '$' => text.push(char),
            '0'..='9' if !text.is_empty() => text.push(char),
            '0'..='9' => {
                text.push_str(STAND_IN);
                text.push(char);
            }
            _ => text.push_str(STAND_IN),
        }
    }
    // `_` and `$` want something behind them.
    if RESERVED.contains(&text.as_str()) || text.is_empty() || text == "_" || text == "$" {
        text.push_str(STAND_IN);
    }
    text
}

/// True for names that emission makes itself: of parameters, results, frames, labels and prototypes.
fn has_own_meaning(name: &str) -> bool {
    let numbered =
        |stem: &str| name.rsplit_once(stem).is_some_and(|(_, rest)| rest.bytes().all(|b| b.is_ascii_digit()));
    name == RESULT
        || name.starts_with("$L_")
        || numbered("_param_")
        || ["param", "retval", "prototype_", "__local_depot"]
            .iter()
            .any(|stem| name.starts_with(stem) && numbered(stem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine;

    fn names(symbols: &[(&str, Linkage)]) -> Vec<String> {
        let mut module = ir::Module::default();
        for (name, linkage) in symbols {
            let id = module.symbol_or_new(name);
            module.symbols[id].linkage = *linkage;
        }
        let mut machine = machine::Module::default();
        assign(&module, &mut machine);
        let text = |id| machine.names[id].map_or("", |sym| machine.symbols.text(sym)).to_owned();
        module.symbols.keys().map(text).collect()
    }

    #[test]
    fn what_ptx_does_not_have_becomes_a_stand_in() {
        let given = names(&[(".str", Linkage::Internal), ("a@b-c", Linkage::External), ("1x", Linkage::Weak)]);
        assert_eq!(given, ["_$_str", "a_$_b_$_c", "_$_1x"]);
        let special = [("llvm.used", Linkage::Appending), ("\u{1}raw", Linkage::External), ("é", Linkage::Internal)];
        assert_eq!(names(&special), ["", "raw", "_$_"]);
    }

    #[test]
    fn exported_names_stay_and_internal_ones_step_aside() {
        let given = names(&[
            ("a.b", Linkage::Internal),
            ("a@b", Linkage::External),
            ("a_$_b", Linkage::External),
            ("WARP_SZ", Linkage::External),
            ("k_param_0", Linkage::Internal),
            ("add", Linkage::External),
        ]);
        assert_eq!(given, ["a_$_b_$_2", "a_$_b_$_1", "a_$_b", "WARP_SZ_$_", "k_param_0_$_1", "add"]);
    }

    #[test]
    fn every_name_reads_as_one_identifier() {
        for name in ["", "_", "$", "%r1", "9", "a b", "function_name", "tid"] {
            let text =
                format!(".version 8.0\n.target sm_90\n.address_size 64\n.func {}()\n{{\nret;\n}}\n", clean(name));
            assert!(oriole_ptx::load(&text).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_parameter_is_no_variable() {
        let mut module = ir::Module::default();
        module.symbol_or_new("f");
        let variable = module.symbol_or_new("f_param_0");
        let mut machine = machine::Module::default();
        assign(&module, &mut machine);
        let function = machine.symbols.get("f").unwrap();
        let first = param(&mut machine.symbols, &machine.taken, function, 0);
        assert_ne!(Some(first), machine.names[variable]);
        assert_eq!(param(&mut machine.symbols, &machine.taken, function, 0), first);
        let second = param(&mut machine.symbols, &machine.taken, function, 1);
        assert_eq!(machine.symbols.text(second), "f_param_1");
    }
}
