//! The clean-up of the IR on the corpus: what comes out is valid IR.

use oriole_nvptx::ir::verify;
use oriole_nvptx::opt::{Options, run};
use oriole_nvptx::text::parse;
use oriole_prerequisites::in_turn;

/// Files have the levels in turn.
#[test]
fn corpus_stays_valid_at_every_level() {
    let Some(folder) = oriole_prerequisites::shared("kernels/ll") else { return };
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ll"));
    for (number, path) in paths.iter().enumerate() {
        let text = std::fs::read_to_string(path).expect("the file is there");
        let name = path.display().to_string();
        let Ok(module) = parse(&text, &name) else { continue };
        for level in in_turn(number, [0, 1, 2]) {
            let mut module = module.clone();
            run(&mut module, &Options { level, ..Options::default() });
            if let Err(error) = verify(&module) {
                panic!("{name} -O{level}: {error}");
            }
        }
    }
}
