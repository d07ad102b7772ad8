//! Modules that break one rule each, by chapters of the manual and as front ends and hands write them: every error is
//! at its place, the first names what is wrong, and there are no others. Where `ORIOLE_ORACLE` names a folder with
//! ptxas, it must still say what the modules tell of it. `docs/diagnostics.md` sets both side by side.

mod module;
mod page;

use std::process::Command;

use module::{Said, Wrong};
use oriole_ptx::diag::{Diagnostic, Rule, SourceMap};

/// The errors of a module.
fn errors(wrong: &Wrong) -> Vec<Diagnostic> {
    oriole_ptx::load(&wrong.text).expect_err(&wrong.name)
}

/// The first error, which must be about the fault.
fn first_is_right(wrong: &Wrong, first: &Diagnostic) -> Result<(), String> {
    let rule = first.rule.map_or("", Rule::as_str);
    if rule != wrong.rule {
        return Err(format!("{}: the rule is `{}`, not `{rule}`: {}", wrong.name, wrong.rule, first.message));
    }
    match wrong.names_the_fault(&first.message) {
        true => Ok(()),
        false => Err(format!("{}: names not all of {:?}: {}", wrong.name, wrong.names, first.message)),
    }
}

#[test]
fn each_is_rejected_at_its_place_for_its_reason() {
    let modules = module::all();
    assert!(modules.len() >= 280, "{} modules", modules.len());
    let mut faults = Vec::new();
    for wrong in &modules {
        let errors = errors(wrong);
        let map = SourceMap::new(&wrong.name, &wrong.text);
        let places: Vec<_> = errors.iter().map(|error| map.line_column(error.span.start)).collect();
        if places != wrong.places {
            faults.push(format!("{}: errors at {places:?}, not {:?}", wrong.name, wrong.places));
        }
        faults.extend(first_is_right(wrong, &errors[0]).err());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn messages() {
    let shown = |wrong: &Wrong| SourceMap::new(&wrong.name, &wrong.text).render_all(&errors(wrong));
    let shown: Vec<String> = module::all().iter().map(shown).collect();
    insta::assert_snapshot!("wrong", shown.join("\n"));
}

/// The page has what is said now; `BLESS=1` writes it.
#[test]
fn the_page_is_current() {
    let now = page::with_modules(&page::read(), &module::all());
    if std::env::var_os("BLESS").is_some() {
        page::write(&now);
    }
    let stale = page::read().lines().zip(now.lines()).find(|(old, new)| old != new).map(|(old, _)| old.to_owned());
    assert!(page::read() == now, "docs/diagnostics.md is not current; BLESS=1 writes it: {stale:?}");
}

#[test]
fn ptxas_says_what_is_told_of_it() {
    let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { return };
    let folder = std::env::temp_dir().join(format!("oriole-wrong-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for wrong in module::all() {
        // It names the file in some of its errors.
        let file = format!("{}.ptx", wrong.name);
        std::fs::write(folder.join(&file), &wrong.text).unwrap();
        let arguments = ["-arch", wrong.target(), "-o", "/dev/null", &file];
        let output = Command::new(&ptxas).args(arguments).current_dir(&folder).output().unwrap();
        assert!(!output.status.success(), "ptxas accepts {}", wrong.name);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        assert_eq!(said(&printed), wrong.ptxas, "{}", wrong.name);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The errors that ptxas has printed: `ptxas FILE, line 7; error   : TEXT`, or without a place.
fn said(printed: &str) -> Vec<Said> {
    let error = |line: &str| {
        let (head, text) = line.strip_prefix("ptxas ")?.split_once(" : ")?;
        let (place, kind) = head.split_once("; ").unwrap_or(("", head));
        let line = place.rsplit_once("line ").and_then(|(_, number)| number.parse().ok());
        let counts = matches!(kind.trim(), "error" | "fatal") && text != "Ptx assembly aborted due to errors";
        counts.then(|| Said { line, text: text.trim().to_owned() })
    };
    printed.lines().filter_map(error).collect()
}
