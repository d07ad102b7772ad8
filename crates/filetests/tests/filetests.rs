//! The folders of cases, and that they have what they are to have.

use oriole_filetests::{Header, Test, Tested, bless, run};
use oriole_opt::pipeline::PIPELINE;
use oriole_ptx::ast::Opcode;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How many cases each pass, allocation, scheduling and emission have at least.
const EACH: usize = 6;

/// The other runs of the general bundle, whose rules the cases of the first show.
const AGAIN: [&str; 2] = ["GeneralOptimizeMid", "GeneralOptimizeLate2"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests").join(name)
}

/// The files of a folder, after all their cases have passed; each has the folder's kind of test.
fn pass(name: &str, is_kind: fn(Test) -> bool) -> Vec<Tested> {
    let files = run(&folder(name), bless()).unwrap_or_else(|wrong| {
        let lines: Vec<String> = wrong.iter().map(ToString::to_string).collect();
        panic!("{}\n(BLESS=1 writes what comes out into the files)", lines.join("\n"))
    });
    let stray: Vec<_> = files.iter().filter(|file| !is_kind(file.header.test)).map(|file| &file.path).collect();
    assert!(stray.is_empty(), "not of this folder: {stray:?}");
    files
}

fn cases(files: &[Tested]) -> usize {
    files.iter().map(|file| file.inputs.len()).sum()
}

/// The first word of a line's instruction.
fn opcode(line: &str) -> Option<Opcode> {
    let words = line.split([' ', '.', ';']).skip_while(|word| word.starts_with('@'));
    words.filter(|word| !word.is_empty()).find_map(Opcode::from_name)
}

#[test]
fn lower() {
    let files = pass("lower", |test| matches!(test, Test::Lower));
    let words: BTreeSet<Opcode> =
        files.iter().flat_map(|file| &file.inputs).flat_map(|text| text.lines()).filter_map(opcode).collect();
    let idle: Vec<&str> = Opcode::ALL.iter().filter(|word| !words.contains(word)).map(|word| word.as_str()).collect();
    assert!(idle.is_empty(), "instructions without a case: {idle:?}");
    // `FAMILY.ptx`, or `FAMILY.TARGET.ptx` where a family needs several.
    let family = |path: &Path| path.file_name()?.to_str()?.split('.').next().map(str::to_owned);
    let have: Vec<String> = files.iter().filter_map(|file| family(&file.path)).collect();
    let Some(forms) = oriole_prerequisites::shared("ptx_forms/forms") else { return };
    let families = std::fs::read_dir(forms).expect("a folder of families");
    let families = families.map(|entry| family(&entry.expect("it is listed").path()).expect("a name"));
    let missing: Vec<String> = families.filter(|name| !have.contains(name)).collect();
    assert!(missing.is_empty(), "families of PTX without a case: {missing:?}");
}

#[test]
fn passes() {
    let files = pass("passes", |test| matches!(test, Test::Pass(_)));
    let mut rules: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut have: BTreeMap<&str, usize> = PIPELINE.iter().map(|pass| (pass.name, 0)).collect();
    for file in &files {
        let Test::Pass(pass) = file.header.test else { continue };
        assert!(file.path.parent().is_some_and(|folder| folder.ends_with(pass.name)), "{}", file.path.display());
        *have.entry(pass.name).or_default() += file.inputs.len();
        rules.entry(pass.name).or_default().extend(&file.rules);
    }
    have.retain(|_, cases| *cases < EACH);
    assert!(have.is_empty(), "passes with less than {EACH} cases: {have:?}");
    for pass in PIPELINE.iter().filter(|pass| !AGAIN.contains(&pass.name)) {
        let used = rules.get(pass.name).cloned().unwrap_or_default();
        let idle: Vec<_> = pass.rules.iter().filter(|rule| !used.contains(*rule)).collect();
        assert!(idle.is_empty(), "rules of {} that no case uses: {idle:?}", pass.name);
    }
}

#[test]
fn regalloc() {
    let files = pass("regalloc", |test| matches!(test, Test::Regalloc(_)));
    assert!(cases(&files) >= EACH);
}

#[test]
fn sched() {
    let files = pass("sched", |test| matches!(test, Test::Sched { .. }));
    assert!(cases(&files) >= EACH);
}

#[test]
fn emit() {
    let files = pass("emit", |test| matches!(test, Test::Emit { .. }));
    assert!(cases(&files) >= EACH);
    for target in ["sm_75", "sm_80", "sm_90a", "sm_100a"] {
        assert!(files.iter().any(|file| file.header.target == target), "nothing for {target}");
    }
}

#[test]
fn a_wrong_first_line_is_said() {
    let wrong = [
        ("", "the first line is not '// test KIND [PASS] on TARGET [NAME=VALUE…]'"),
        ("// test lower", "the first line is not '// test KIND [PASS] on TARGET [NAME=VALUE…]'"),
        ("// test weave on sm_80", "there is no test 'weave': lower, pass NAME, regalloc, sched, emit"),
        ("// test pass Weave on sm_80", "the pipeline has no pass 'Weave'"),
        ("// test lower on sm_81", "unknown target 'sm_81'"),
        ("// test lower on sm_50", "no code is made for sm_50"),
        ("// test regalloc on sm_80 registers=x", "registers=x: not a number that fits"),
        ("// test lower on sm_80 registers=9", "'lower' has no setting 'registers'"),
        ("// test sched on sm_80 order=any", "order=any: only 'kept' can be asked for"),
        ("// test sched on sm_80 kept", "'kept' is not NAME=VALUE"),
    ];
    for (line, what) in wrong {
        let said = Header::parse(line).map_or_else(|said| said, |header| format!("{header:?}"));
        assert!(said.starts_with(what), "{line}: {said}");
    }
}

#[test]
fn a_wrong_case_is_said_with_its_line() {
    let folder = tempfile::tempdir().expect("a writable temporary folder");
    let file = folder.path().join("case.ori");
    let body = "  .frame local=0 spill=0 align=16\nbix0:\n    EXIT PT\n";
    let case = |input: &str, output: &str| {
        format!(
            "// test pass OriRemoveNopCode on sm_80\n\n// Says so.\n.function entry {input}\n{body}.end\n// expect\n.function entry {output}\n{body}.end\n"
        )
    };
    for (text, line) in [
        (case("f", "f"), None),
        (case("f", "g"), Some(10)),
        (case("f g", "f"), Some(3)),
        ("// test pass OriRemoveNopCode on sm_80\n".to_owned(), Some(1)),
        ("// test\n".to_owned(), Some(1)),
    ] {
        std::fs::write(&file, &text).expect("a writable temporary folder");
        let lines =
            run(folder.path(), false).err().map(|wrong| wrong.iter().map(|wrong| wrong.line).collect::<Vec<_>>());
        assert_eq!(lines, line.map(|line| vec![line]), "{text}");
    }
}
