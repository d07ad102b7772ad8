//! Phases on small functions: the `.ori` files of this folder.
//!
//! The first line of a file is `// PHASE on TARGET`. Then come functions in pairs: what goes into the phase,
//! and after `// expect` what comes out. `ORIOLE_BLESS=1` writes what came out into the file, to be read before
//! it is committed. Every function must pass the verifier before and after.

use oriole_isa::Arch;
use oriole_opt::pipeline::{Code, PIPELINE};
use oriole_opt::{CallBarriers, Context, knobs::Knobs, synchronise};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Function, verify};
use oriole_passes::Tally;
use std::path::{Path, PathBuf};

const EXPECT: &str = "// expect";

/// The functions of a file, as text.
fn functions(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with(".function") {
            inside = true;
            found.push(String::new());
        }
        if let (true, Some(function)) = (inside, found.last_mut()) {
            function.push_str(line);
            function.push('\n');
        }
        inside &= line != ".end";
    }
    found
}

fn context(arch: Arch) -> Context {
    Context { arch, knobs: Knobs::default(), tally: Tally::default() }
}

fn verified(func: &Function, arch: Arch) -> Result<(), String> {
    verify::verify(func, arch).map_err(|errors| errors.iter().map(|e| format!("{e}\n")).collect())
}

/// What the phase makes of a function.
fn after(text: &str, phase: &str, arch: Arch) -> Result<String, String> {
    let mut func: Function = text.parse().map_err(|e| format!("{e}"))?;
    verified(&func, arch)?;
    if func.first_value.is_none() && WINDOW.contains(&number_of(phase)) {
        run(&mut func, "GenerateMovPhi", arch)?;
        verified(&func, arch)?;
    }
    run(&mut func, phase, arch)?;
    verified(&func, arch)?;
    Ok(func.to_string())
}

/// Slots between which functions are in SSA form: input that is not is brought into it before.
const WINDOW: std::ops::Range<u16> = 24..74;

fn number_of(phase: &str) -> u16 {
    PIPELINE.iter().find(|p| p.name == phase).map_or(0, |p| p.number())
}

fn run(func: &mut Function, phase: &str, arch: Arch) -> Result<(), String> {
    let phase = PIPELINE.iter().find(|p| p.name == phase).ok_or_else(|| format!("no phase {phase}"))?;
    let done = match phase.run {
        Code::Function { run, .. } => run(func, &context(arch), &mut Analyses::default()),
        Code::Module(_) => synchronise(func, arch, CallBarriers::STANDARD),
    };
    done.map(drop).map_err(|e| e.to_string())
}

/// Check one file, or write its expectations. Gives what is wrong.
fn check(path: &Path, bless: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let header = text.lines().next().unwrap_or_default();
    let words: Vec<&str> = header.split_whitespace().collect();
    let ["//", phase, "on", arch] = words[..] else {
        return Err("the first line is not '// PHASE on TARGET'".to_owned());
    };
    let arch: Arch = arch.parse().map_err(|e| format!("{e}"))?;
    let mut new = format!("{header}\n");
    let mut wrong = String::new();
    for case in text.split("\n\n").filter(|case| case.contains(".function")) {
        let pair = functions(case);
        let found = after(&pair[0], phase, arch).map_err(|e| format!("{}\n{e}", pair[0]))?;
        let comments: String = case
            .lines()
            .take_while(|l| !l.starts_with(".function"))
            .filter(|l| *l != header)
            .map(|l| format!("{l}\n"))
            .collect();
        new.push_str(&format!("\n{comments}{}{EXPECT}\n{found}", pair[0]));
        if pair.get(1).is_none_or(|expected| expected.trim() != found.trim()) {
            wrong.push_str(&format!("{comments}{}gives\n{found}", pair[0]));
        }
    }
    if bless {
        return std::fs::write(path, new).map_err(|e| e.to_string());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

#[test]
fn files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let entries = std::fs::read_dir(&folder).map(|list| list.flatten().map(|e| e.path()).collect::<Vec<PathBuf>>());
    let files: Vec<PathBuf> =
        entries.unwrap_or_default().into_iter().filter(|p| p.extension().is_some_and(|e| e == "ori")).collect();
    assert!(!files.is_empty(), "no .ori files in {}", folder.display());
    let bless = std::env::var_os("ORIOLE_BLESS").is_some();
    let failures: Vec<String> =
        files.iter().filter_map(|f| check(f, bless).err().map(|e| format!("{}:\n{e}", f.display()))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
