//! Every arithmetic and matrix instruction that the golden vectors show has a meaning.

use crate::effect::Unsupported;
use oriole_isa::{Arch, Inst, Opcode};
use std::collections::BTreeMap;
use std::path::Path;

/// Families of the spec whose instructions are arithmetic or multiply matrices.
const FAMILIES: [&str; 7] = ["integer", "float", "double", "half", "convert", "move", "tensor"];

/// The vectors of each target.
const TARGETS: [(Arch, &str); 8] = [
    (Arch::Sm75, "sm_75"),
    (Arch::Sm80, "sm_80"),
    (Arch::Sm86, "sm_86"),
    (Arch::Sm89, "sm_89"),
    (Arch::Sm90, "sm_90"),
    (Arch::Sm90, "sm_90a"),
    (Arch::Sm100, "sm_100a"),
    (Arch::Sm120, "sm_120a"),
];

/// What is left out, and the reason that the simulator gives.
const LEFT_OUT: [&str; 1] = ["with a predicate result"];

/// The instruction is arithmetic, or a product of matrices that are in memory.
fn has_meaning(inst: &Inst) -> Result<bool, Unsupported> {
    Ok(crate::exec::arithmetic(inst)?.is_some() || crate::exec::effect(inst)?.is_some())
}

#[test]
fn every_arithmetic_vector_has_a_meaning() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    for (arch, name) in TARGETS {
        let Ok(text) = std::fs::read_to_string(vectors.join(format!("{name}.tsv"))) else {
            println!("skipped: no vectors of {name}");
            continue;
        };
        let mut missing: BTreeMap<String, String> = BTreeMap::new();
        let mut covered = 0;
        for line in text.lines() {
            let mut columns = line.split('\t');
            let (Some(word), Some(offset)) = (columns.next(), columns.next()) else { continue };
            let (Ok(word), Ok(offset)) = (u128::from_str_radix(word, 16), u64::from_str_radix(offset, 16)) else {
                continue;
            };
            let Ok(inst) = oriole_isa::decode(word, arch, offset) else { continue };
            if !FAMILIES.contains(&inst.opcode.info().family.name()) {
                continue;
            }
            let reason = match has_meaning(&inst) {
                Ok(true) => {
                    covered += 1;
                    continue;
                }
                Err(error) if LEFT_OUT.iter().any(|left_out| error.0.contains(left_out)) => continue,
                Err(error) => error.0,
                Ok(false) if matches!(inst.opcode, Opcode::S2R | Opcode::CS2R) => continue,
                Ok(false) => "no family".to_owned(),
            };
            missing.insert(inst.opcode.name().to_owned(), format!("{reason}: {}", inst.display(arch)));
        }
        assert!(missing.is_empty(), "{name}: {missing:#?}");
        assert!(covered > 1000, "{name}: only {covered} arithmetic vectors decode");
        println!("{name}: {covered} arithmetic vectors have a meaning");
    }
}
