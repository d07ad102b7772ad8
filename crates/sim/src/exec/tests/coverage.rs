//! Every arithmetic instruction that the golden vectors show has a meaning.

use oriole_isa::{Arch, Opcode};
use std::collections::BTreeMap;
use std::path::Path;

/// Families of the spec whose instructions are arithmetic.
const FAMILIES: [&str; 6] = ["integer", "float", "double", "half", "convert", "move"];

/// The vectors of each target.
const TARGETS: [(Arch, &str); 7] = [
    (Arch::Sm75, "sm_75"),
    (Arch::Sm80, "sm_80"),
    (Arch::Sm86, "sm_86"),
    (Arch::Sm89, "sm_89"),
    (Arch::Sm90, "sm_90"),
    (Arch::Sm100, "sm_100a"),
    (Arch::Sm120, "sm_120a"),
];

/// What is left out, and the reason that the simulator gives.
const LEFT_OUT: [&str; 1] = ["with a predicate result"];

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
            if !FAMILIES.contains(&inst.opcode.info().family) {
                continue;
            }
            let reason = match crate::exec::arithmetic(&inst) {
                Ok(Some(_)) => {
                    covered += 1;
                    continue;
                }
                Err(error) if LEFT_OUT.iter().any(|left_out| error.0.contains(left_out)) => continue,
                Err(error) => error.0,
                Ok(None) if matches!(inst.opcode, Opcode::S2R | Opcode::CS2R) => continue,
                Ok(None) => "no family".to_owned(),
            };
            missing.insert(inst.opcode.name().to_owned(), format!("{reason}: {}", inst.display(arch)));
        }
        assert!(missing.is_empty(), "{name}: {missing:#?}");
        assert!(covered > 1000, "{name}: only {covered} arithmetic vectors decode");
        println!("{name}: {covered} arithmetic vectors have a meaning");
    }
}
