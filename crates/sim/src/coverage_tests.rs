//! What the simulator can execute, measured on golden words of every target.

use crate::program;
use oriole_isa::Arch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[test]
#[ignore]
fn list_refused_words() {
    let folder = PathBuf::from(std::env::var("ORIOLE_VECTORS").expect("folder of vectors"));
    for (name, arch) in [
        ("sm_75", Arch::Sm75),
        ("sm_80", Arch::Sm80),
        ("sm_90a", Arch::Sm90),
        ("sm_100a", Arch::Sm100),
        ("sm_120a", Arch::Sm120),
    ] {
        let mut refused: BTreeMap<String, (usize, String)> = BTreeMap::new();
        let text = std::fs::read_to_string(Path::new(&folder).join(format!("{name}.tsv"))).expect("vectors");
        for line in text.lines() {
            let cells: Vec<&str> = line.splitn(3, '\t').collect();
            let word = u128::from_str_radix(cells[0], 16).expect("hexadecimal");
            let Ok(inst) = oriole_isa::decode(word, arch, 0) else { continue };
            if let Err(reason) = program::action(&inst, 0) {
                refused.entry(format!("{} {reason}", inst.opcode.name())).or_insert((0, cells[2].to_owned())).0 += 1;
            }
        }
        for (reason, (count, example)) in refused {
            println!("{name} {count} {reason} e.g. {example}");
        }
    }
}
