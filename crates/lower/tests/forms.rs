//! Every PTX form of the memory, control and warp chapters lowers, or is refused by name.

use oriole_isa::Arch;
use std::collections::BTreeMap;
use std::path::Path;

/// Generations, and the name of a target of each that the forms know.
const TARGETS: [(Arch, &str); 5] = [
    (Arch::Sm75, "sm_75"),
    (Arch::Sm80, "sm_80"),
    (Arch::Sm90, "sm_90"),
    (Arch::Sm100, "sm_100a"),
    (Arch::Sm120, "sm_120a"),
];

/// Families of `../shared/ptx_forms` that these chapters lower.
const FAMILIES: [&str; 15] = [
    "mov",
    "special-registers",
    "addresses",
    "load",
    "store",
    "atom",
    "red",
    "barrier",
    "shuffle",
    "control-flow",
    "calls",
    "variables",
    "directives",
    "misc",
    "prefetch",
];

fn lower(text: &str, arch: Arch) -> Result<(), String> {
    let ast = oriole_ptx::load(text).map_err(|errors| format!("parser: {}", errors[0].message))?;
    let options = oriole_lower::Options {
        arch,
        entries: None,
        relocatable: false,
        keeps_jumps: false,
        source: Some(("form.ptx", text)),
    };
    let module = oriole_lower::lower(&ast, &options).map_err(|errors| errors[0].message.clone())?;
    for function in module.functions.values() {
        oriole_ori::verify::verify(function, arch).map_err(|errors| format!("verifier: {}", errors[0]))?;
    }
    Ok(())
}

/// Forms of one family: how many lower, and the messages of the others.
fn survey(path: &Path, arch: Arch, target: &str) -> (usize, BTreeMap<String, Vec<String>>) {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut good = 0;
    let mut bad: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let form: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        let targets = form["targets"].as_array().cloned().unwrap_or_default();
        if !targets.iter().any(|known| known == target) {
            continue;
        }
        let ptx = form["ptx"].as_str().unwrap_or_default().replace("@TARGET@", target);
        match lower(&ptx, arch) {
            Ok(()) => good += 1,
            Err(message) => bad.entry(message).or_default().push(form["id"].to_string()),
        }
    }
    (good, bad)
}

#[test]
fn forms_lower_or_are_refused_by_name() {
    let Some(folder) = oriole_prerequisites::shared("ptx_forms/forms") else { return };
    let mut internal = Vec::new();
    for (arch, target) in TARGETS {
        for family in FAMILIES {
            let (good, bad) = survey(&folder.join(format!("{family}.jsonl")), arch, target);
            let count: usize = bad.values().map(Vec::len).sum();
            println!("{target} {family}: {good} lowered, {count} refused");
            for (message, forms) in bad {
                println!("    {message} ({}: {} …)", forms.len(), forms[0]);
                if message.contains("internal") || message.starts_with("verifier") || !message.contains("support") {
                    internal.push(format!("{target} {family} {}: {message}", forms[0]));
                }
            }
        }
    }
    assert!(internal.is_empty(), "{}", internal.join("\n"));
}
