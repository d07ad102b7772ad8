//! Every PTX form of the memory, control and warp chapters lowers, or is refused by name: on every other of its targets,
//! or on each with `ORIOLE_THOROUGH=1`.

use oriole_isa::Arch;
use oriole_prerequisites::in_turn;
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
    let options = oriole_lower::Options { source: Some(("form.ptx", text)), ..oriole_lower::Options::new(arch) };
    let module = oriole_lower::lower(&ast, &options).map_err(|errors| errors[0].message.clone())?;
    for function in module.functions.values() {
        oriole_ori::verify::verify(function, arch).map_err(|errors| format!("verifier: {}", errors[0]))?;
    }
    Ok(())
}

/// The forms of one family.
fn forms(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect()
}

/// How many of the forms that a target has, and whose turn is there, lower, and the messages of the others.
fn survey(forms: &[serde_json::Value], arch: Arch, target: &str) -> (usize, BTreeMap<String, Vec<String>>) {
    let mut good = 0;
    let mut bad: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, form) in forms.iter().enumerate() {
        let known = form["targets"].as_array().map_or(&[][..], Vec::as_slice);
        let own: Vec<&str> =
            TARGETS.iter().map(|(_, name)| *name).filter(|name| known.iter().any(|k| k == name)).collect();
        if !in_turn(number, own).any(|name| name == target) {
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
    for family in FAMILIES {
        let forms = forms(&folder.join(format!("{family}.jsonl")));
        for (arch, target) in TARGETS {
            let (good, bad) = survey(&forms, arch, target);
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
