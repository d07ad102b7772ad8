//! Every arithmetic form that ptxas accepts for sm_75, sm_80 and sm_90 lowers to Ori that passes the
//! verifier, on every other of these targets, or on each with `ORIOLE_THOROUGH=1`; what does not is listed here, by the
//! start of its name.

use oriole_isa::Arch;
use oriole_prerequisites::in_turn;

/// The families of `shared/ptx_forms` that the arithmetic chapters serve.
const FAMILIES: [&str; 11] = [
    "integer-arithmetic",
    "extended-precision",
    "float32",
    "float64",
    "half",
    "comparison",
    "half-comparison",
    "logic-shift",
    "cvt",
    "cvt-packed",
    "video",
];

/// Forms that are known to be missing.
const MISSING: [&str; 0] = [];

fn lower(text: &str, arch: Arch) -> Result<(), String> {
    let render = |errors: &[oriole_ptx::diag::Diagnostic]| {
        oriole_ptx::diag::SourceMap::new("form.ptx", text)
            .render_all(errors)
            .lines()
            .take(4)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let ast = oriole_ptx::load(text).map_err(|errors| render(&errors))?;
    let options = oriole_lower::Options::new(arch);
    let module = oriole_lower::lower(&ast, &options).map_err(|errors| render(&errors))?;
    for function in module.functions.values() {
        let verified = oriole_ori::verify::verify(function, arch);
        verified.map_err(|errors| errors.first().map_or(String::new(), ToString::to_string))?;
    }
    Ok(())
}

#[test]
fn arithmetic_forms_lower() {
    let Some(folder) = oriole_prerequisites::shared("ptx_forms/forms") else { return };
    let mut failures = Vec::new();
    for family in FAMILIES {
        let lines = std::fs::read_to_string(folder.join(format!("{family}.jsonl"))).unwrap_or_default();
        let (mut tried, before) = (0, failures.len());
        for (number, line) in lines.lines().enumerate() {
            let form: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let (Some(id), Some(ptx)) = (form["id"].as_str(), form["ptx"].as_str()) else { continue };
            let targets = form["targets"].as_array().cloned().unwrap_or_default();
            let known = |arch: &Arch| targets.contains(&serde_json::Value::from(arch.to_string()));
            let archs: Vec<Arch> = [Arch::Sm75, Arch::Sm80, Arch::Sm90].into_iter().filter(known).collect();
            for arch in in_turn(number, archs) {
                let name = arch.to_string();
                if MISSING.iter().any(|m| id.starts_with(m)) {
                    continue;
                }
                tried += 1;
                if let Err(error) = lower(&ptx.replace("@TARGET@", &name), arch) {
                    failures.push(format!("{family} {id} {name}: {error}"));
                }
            }
        }
        println!("{family}: {} of {tried} lower", tried - (failures.len() - before));
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
