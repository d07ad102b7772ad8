//! Wrong modules, by chapter of the manual: each breaks one rule, and the
//! first error names it, at its place. The comments at the start of each file
//! say which; they were written before the checker was asked. Where
//! `ORIOLE_ORACLE` names a folder with ptxas, it must reject each of them too.

use std::path::{Path, PathBuf};
use std::process::Command;

use oriole_ptx::diag::{Rule, SourceMap};

/// One file: what its comments say.
struct Wrong {
    name: String,
    text: String,
    rule: String,
    place: (usize, usize),
}

fn modules() -> Vec<Wrong> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/wrong");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Wrong {
    let text = std::fs::read_to_string(path).unwrap();
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim().to_owned();
    let at = value("// at:");
    let (line, column) = at.split_once(':').unwrap();
    Wrong {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        rule: value("// rule:"),
        place: (line.parse().unwrap(), column.parse().unwrap()),
        text,
    }
}

#[test]
fn each_is_rejected_at_its_place_for_its_reason() {
    let modules = modules();
    assert!(modules.len() >= 60, "{} modules", modules.len());
    for wrong in &modules {
        let errors = oriole_ptx::load(&wrong.text).expect_err(&wrong.name);
        let map = SourceMap::new(&wrong.name, &wrong.text);
        let first = &errors[0];
        assert_eq!(map.line_column(first.span.start), wrong.place, "{}: {}", wrong.name, first.message);
        assert_eq!(first.rule.map_or("", Rule::as_str), wrong.rule, "{}: {}", wrong.name, first.message);
    }
}

#[test]
fn messages() {
    let shown: Vec<String> = modules()
        .iter()
        .map(|wrong| match oriole_ptx::load(&wrong.text) {
            Ok(_) => format!("{}: no error\n", wrong.name),
            Err(errors) => SourceMap::new(&wrong.name, &wrong.text).render_all(&errors),
        })
        .collect();
    insta::assert_snapshot!("wrong", shown.join("\n"));
}

#[test]
fn ptxas_rejects_each() {
    let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { return };
    for wrong in modules() {
        let target = wrong.text.lines().find_map(|line| line.strip_prefix(".target ")).unwrap();
        let file = std::env::temp_dir().join(format!("oriole-wrong-{}-{}.ptx", std::process::id(), wrong.name));
        std::fs::write(&file, &wrong.text).unwrap();
        let output =
            Command::new(&ptxas).args(["-arch", known(target), "-o", "/dev/null"]).arg(&file).output().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(!output.status.success(), "ptxas accepts {}", wrong.name);
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("error") || said.contains("fatal"), "{}: {said}", wrong.name);
    }
}

/// A target that ptxas knows, so that it reads the file.
fn known(target: &str) -> &str {
    if target == "sm_85" { "sm_90" } else { target }
}
