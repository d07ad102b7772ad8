//! `tests/programs/*.ptx` on all sides that are there: the interpreter, our code on the strict simulator, at every other
//! level or with `ORIOLE_THOROUGH=1` at each, and ptxas's where `ORIOLE_ORACLE` names its folder. All must write the same
//! bytes, and what the file expects.

use oriole_cli::fuzz::{Case, Side, Tools};
use oriole_cli::nvdisasm::Nvdisasm;
use oriole_cubin::Target;
use oriole_prerequisites::in_turn;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let entries = std::fs::read_dir(&folder).expect("the folder is committed");
    let paths = entries.map(|entry| entry.expect("a readable folder").path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|ext| ext == "ptx")).collect();
    files.sort();
    files
}

/// The levels that we compile at.
const LEVELS: [u8; 4] = [0, 1, 2, 3];

/// What is wrong with the program of a file, the one of this number, a line each. Targets have the levels in turn.
fn faults(number: usize, path: &Path, sides: &[Side], tools: &Tools) -> Vec<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(path).expect("PTX is text");
    let case = match Case::parse(&text) {
        Ok(case) => case,
        Err(reason) => return vec![format!("{name}: {reason}")],
    };
    let on = |(at, &target): (usize, &Target)| {
        let levels = in_turn(number + at, LEVELS).map(Side::level);
        let sides: Vec<Side> = sides.iter().copied().chain(levels).collect();
        let faults = case.faults(&case.outcomes(target, &sides, tools));
        faults.into_iter().map(|fault| format!("{name}: {target}: {fault}")).collect::<Vec<_>>()
    };
    case.targets.iter().enumerate().flat_map(on).collect()
}

#[test]
fn all_sides_agree_on_every_program() {
    let nvdisasm = oriole_prerequisites::tool("nvdisasm").map(Nvdisasm::at);
    let tools = Tools { ptxas: oriole_prerequisites::tool("ptxas"), nvdisasm };
    let mut sides = vec![Side::Interpreter];
    if tools.ptxas.is_some() {
        sides.extend([Side::Ptxas(0), Side::Ptxas(3)]);
    }
    let files = files();
    assert!(files.len() >= 4, "{} programs", files.len());
    let faults: Vec<String> =
        files.par_iter().enumerate().flat_map_iter(|(number, path)| faults(number, path, &sides, &tools)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
