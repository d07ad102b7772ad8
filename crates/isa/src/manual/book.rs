//! The manual as Markdown files: an index, a page per family, the special registers.

use super::page::{LEGEND, category, describe, effects, value_name};
use crate::engine::all_encodings;
use crate::{Opcode, special_registers};
use std::collections::BTreeMap;
use std::fmt::Write;

const NOTICE: &str = "<!-- Made by `oriole isa manual docs/isa/manual` from crates/isa/spec; do not edit. -->\n\n";

/// The files of the manual: name and contents.
pub fn book() -> Vec<(String, String)> {
    let mut families: BTreeMap<&str, Vec<Opcode>> = BTreeMap::new();
    for opcode in Opcode::ALL {
        families.entry(opcode.info().family.name()).or_default().push(opcode);
    }
    let mut files = vec![("index.md".to_owned(), index(&families))];
    files.extend(families.iter().map(|(family, opcodes)| (format!("{family}.md"), family_page(family, opcodes))));
    files.push(("special-registers.md".to_owned(), special_registers_page()));
    files
}

fn index(families: &BTreeMap<&str, Vec<Opcode>>) -> String {
    let mut out = format!(
        "{NOTICE}# SASS by instruction\n\n{} instructions of sm_50 to sm_120. How to read the pages: \
         [spec-language.md](../spec-language.md); where the facts come from: [method.md](../method.md); \
         [special registers](special-registers.md).\n",
        Opcode::COUNT
    );
    for (family, opcodes) in families {
        let _ = writeln!(out, "\n## [{family}]({family}.md)\n\n| | meaning | pipe | targets |\n|---|---|---|---|");
        for opcode in opcodes {
            let info = opcode.info();
            let anchor = opcode.name().to_ascii_lowercase();
            let _ = writeln!(
                out,
                "| [{}]({family}.md#{anchor}) | {} | {} | {} |",
                opcode.name(),
                cell(info.meaning),
                info.pipe.name(),
                opcode.targets()
            );
        }
    }
    out
}

fn family_page(family: &str, opcodes: &[Opcode]) -> String {
    let mut out = format!("{NOTICE}# {family}\n\nEncodings: {LEGEND}.\n");
    for opcode in opcodes {
        instruction(&mut out, *opcode);
    }
    out
}

fn instruction(out: &mut String, opcode: Opcode) {
    let info = opcode.info();
    let _ = writeln!(out, "\n## {}\n\n{}\n", opcode.name(), info.meaning);
    let mut facts = vec![
        format!("targets {}", opcode.targets()),
        format!("pipe {}", info.pipe.name()),
        format!("latency class {}", info.latency.name()),
    ];
    if opcode.signature().iter().any(|operand| operand.is_def) {
        facts.push(format!("lanes {}", opcode.lanes().name()));
    }
    facts.extend(opcode.ori_number().map(|number| format!("Ori opcode {number} (`{}`)", opcode.rot13_name())));
    facts.extend(category(opcode));
    facts.extend(info.uniform.map(|twin| format!("uniform twin {}", twin.name())));
    facts.extend(Some(effects(info)).filter(|effects| !effects.is_empty()));
    let _ = writeln!(out, "{}\n", facts.join(" · "));
    if !opcode.signature().is_empty() {
        let _ = writeln!(out, "| operand | |\n|---|---|");
        for spec in opcode.signature() {
            let _ = writeln!(out, "| `{}` | {} |", spec.role.name(), cell(&describe(spec)));
        }
        out.push('\n');
    }
    if !opcode.fields().is_empty() {
        let _ = writeln!(out, "| modifier | values | |\n|---|---|---|");
        for (field, default) in opcode.fields() {
            let values: Vec<String> = field.values().iter().map(|v| value_name(*field, v.code, *default)).collect();
            let _ = writeln!(out, "| `{}` | {} | {} |", field.name(), cell(&values.join(" ")), cell(field.doc()));
        }
        out.push('\n');
    }
    out.push_str("```\n");
    for (targets, line) in all_encodings(opcode) {
        let _ = writeln!(out, "{targets}: {line}");
    }
    out.push_str("```\n");
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn special_registers_page() -> String {
    let mut out = format!(
        "{NOTICE}# Special registers\n\nS2R reads all of them, with a latency that a scoreboard tells; CS2R reads the \
         coupled ones at a fixed latency and gives 0 for the others. Numbers without a register and bits without a field \
         read as 0. Shaders: where the register has a value; it reads as 0 elsewhere.\n\n\
         | no | name | PTX | scope | CS2R | shaders | targets | fields | meaning |\n|---|---|---|---|---|---|---|---|---|\n"
    );
    for register in special_registers::all() {
        let [number, name, rest @ ..] = register.columns().map(|text| cell(&text));
        let _ = writeln!(out, "| {number} | `{name}` | {} |", rest.join(" | "));
    }
    out
}
