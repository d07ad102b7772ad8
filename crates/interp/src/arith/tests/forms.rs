//! Every form of the corpus of PTX forms in the chapters of this module is compiled.

use std::path::Path;

use oriole_ptx::ast::{Block, Instruction, Opcode, Statement};

use super::super::compile;

/// The corpus, where it is beside the checkout.
const FORMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/ptx_forms/forms");

/// The files of the corpus whose instructions are arithmetic.
const FAMILIES: [&str; 14] = [
    "integer-arithmetic",
    "extended-precision",
    "float32",
    "float64",
    "float32x2",
    "half",
    "comparison",
    "half-comparison",
    "logic-shift",
    "mov",
    "cvt",
    "cvt-packed",
    "video",
    "special-registers",
];

/// Opcodes of these families that are no arithmetic: memory and control.
const OTHERS: [Opcode; 5] = [Opcode::Ld, Opcode::St, Opcode::Ret, Opcode::Cvta, Opcode::Call];

fn instructions<'a>(block: &'a Block, found: &mut Vec<&'a Instruction>) {
    for statement in &block.statements {
        match statement {
            Statement::Instruction(inst) => found.push(inst),
            Statement::Block(inner) => instructions(inner, found),
            _ => {}
        }
    }
}

#[test]
fn all_forms_compile() {
    if !Path::new(FORMS).exists() {
        eprintln!("skipped: no {FORMS}");
        return;
    }
    let mut refused = Vec::new();
    let mut count = 0;
    for family in FAMILIES {
        let text = std::fs::read_to_string(format!("{FORMS}/{family}.jsonl")).expect("a file of the corpus");
        for line in text.lines() {
            let form: serde_json::Value = serde_json::from_str(line).expect("a line of the corpus");
            let ptx = form["ptx"].as_str().expect("its module").replace("@TARGET@", "sm_100a");
            let module = oriole_ptx::parse(&ptx).module;
            for body in module.functions().filter_map(|function| function.body.as_ref()) {
                let mut found = Vec::new();
                instructions(body, &mut found);
                for inst in found.into_iter().filter(|inst| !OTHERS.contains(&inst.opcode)) {
                    count += 1;
                    match compile(inst) {
                        Ok(Some(_)) => {}
                        Ok(None) => refused.push(format!("{}: `{}`: no chapter", form["id"], inst.opcode)),
                        Err(error) => refused.push(format!("{}: {error}", form["id"])),
                    }
                }
            }
        }
    }
    assert!(count > 7000, "only {count} instructions in the corpus");
    assert!(refused.is_empty(), "{} of {count} refused:\n{}", refused.len(), refused.join("\n"));
}
