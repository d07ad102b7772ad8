//! Every shared kernel and every instruction form parses, prints, and parses
//! again to the same tree.

use crate::corpus;

use oriole_ptx::ast::{Instruction, Modifier, Module, Statement};
use oriole_ptx::diag::SourceMap;

fn parse(name: &str, text: &str) -> Result<Module, String> {
    let parsed = oriole_ptx::parse(text);
    if parsed.errors.is_empty() {
        Ok(parsed.module)
    } else {
        Err(SourceMap::new(name, text).render_all(&parsed.errors))
    }
}

fn round_trip(name: &str, text: &str) -> Result<Module, String> {
    let module = parse(name, text)?;
    let printed = module.to_string();
    let again = parse(&format!("{name} (printed)"), &printed)?;
    if module != again {
        return Err(format!("{name}: the printed text parses to another tree:\n{printed}"));
    }
    Ok(module)
}

fn instructions(statements: &[Statement], visit: &mut impl FnMut(&Instruction)) {
    for statement in statements {
        match statement {
            Statement::Instruction(instruction) => visit(instruction),
            Statement::Block(block) => instructions(&block.statements, visit),
            _ => {}
        }
    }
}

/// Round-trips all files and requires that every modifier is a known one.
fn all(files: &[(String, String)]) {
    let mut failures = Vec::new();
    let mut count = 0;
    for (name, text) in files {
        match round_trip(name, text) {
            Err(message) => failures.push(message),
            Ok(module) => {
                for body in module.functions().filter_map(|function| function.body.as_ref()) {
                    instructions(&body.statements, &mut |instruction| {
                        count += 1;
                        for modifier in &instruction.modifiers {
                            if let Modifier::Other(sym) = modifier {
                                failures.push(format!("{name}: unknown modifier .{}", module.symbols.text(*sym)));
                            }
                        }
                    });
                }
            }
        }
    }
    println!("{} files, {count} instructions", files.len());
    let shown = &failures[..failures.len().min(12)];
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), files.len(), shown.join("\n"));
}

/// The modules of `data/accepted.ptx`, each named by its place in the file.
fn accepted_modules() -> Vec<(String, String)> {
    let modules = include_str!("data/accepted.ptx").split("// ----\n").skip(1);
    modules.enumerate().map(|(at, text)| (format!("accepted.ptx, module {}", at + 1), text.to_owned())).collect()
}

#[test]
fn less_common_syntax() {
    all(&accepted_modules());
    accepted(&accepted_modules());
}

#[test]
fn kernels() {
    all(&corpus::kernels());
}

#[test]
fn forms() {
    all(&corpus::forms());
}

/// What ptxas accepts, the checker must accept.
fn accepted(files: &[(String, String)]) {
    let mut failures = Vec::new();
    for (name, text) in files {
        if let Err(errors) = oriole_ptx::load(text) {
            failures.push(SourceMap::new(name, text).render_all(&errors));
        }
    }
    let shown = &failures[..failures.len().min(12)];
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), files.len(), shown.join("\n"));
}

#[test]
fn checker_accepts_kernels() {
    accepted(&corpus::kernels());
}

#[test]
fn checker_accepts_forms() {
    accepted(&corpus::forms());
}
