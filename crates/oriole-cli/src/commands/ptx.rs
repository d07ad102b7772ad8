//! `oriole ptx`.

use super::args::{PtxArgs, PtxCommand};
use super::diagnostics::Record;
use super::failure::Failure;
use super::files;
use super::images::{self, ImageArgs, Taken, Wanted, Wish};
use crate::console;
use oriole_ptx::ast::Module;
use oriole_ptx::diag::{Diagnostic, SourceMap};
use std::path::{Path, PathBuf};

/// Work on PTX itself.
pub(crate) fn run(args: &PtxArgs) -> Result<(), Failure> {
    match &args.what {
        PtxCommand::Check { files, arch } => check(files, arch.as_deref()),
    }
}

/// Report the errors of all files.
fn check(paths: &[PathBuf], arch: Option<&str>) -> Result<(), Failure> {
    if let Some(arch) = arch {
        crate::commands::arch::parse_arch(arch)?;
    }
    let mut report = String::new();
    for path in paths {
        for Taken { path, bytes, .. } in modules(path)? {
            let text = text(&path, &bytes)?;
            if let Err(errors) = check_text(&path, text, arch) {
                report.push_str(&render(&path, text, &errors));
                report.push('\n');
            }
        }
    }
    if report.is_empty() { Ok(()) } else { Err(Failure::Rejected(report)) }
}

/// The PTX of a file.
fn modules(path: &Path) -> Result<Vec<Taken>, Failure> {
    let image = &ImageArgs::default();
    let wish = Wish { path, chip: None, chip_picks_only: false, image, entries: &[], wanted: Wanted::Ptx };
    images::taken(&wish, files::read(path)?)
}

fn check_text(path: &Path, text: &str, arch: Option<&str>) -> Result<(), Vec<Diagnostic>> {
    let module = oriole_ptx::load(text)?;
    warn_of_version(path, &module);
    match arch {
        Some(arch) => oriole_ptx::check_target(&module, arch).map_err(|error| vec![error]),
        None => Ok(()),
    }
}

/// Says that a module's `.version` is newer than those known here, if it is.
pub(crate) fn warn_of_version(path: &Path, module: &Module) {
    if let Some(warning) = oriole_ptx::newer_version(module) {
        console::say(format_args!("warning: {}: {}", path.display(), warning.message));
    }
}

/// PTX is text.
pub(crate) fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        Failure::file(path, format!("line {line}: not PTX: the file is not UTF-8 text"))
    })
}

/// Diagnostics as text, in colour where standard error has any.
pub(crate) fn render(path: &Path, text: &str, diagnostics: &[Diagnostic]) -> String {
    let name = path.display().to_string();
    let map = SourceMap::new(&name, text);
    if super::colour::on_stderr() {
        diagnostics.iter().map(|d| map.render_coloured(d)).collect()
    } else {
        map.render_all(diagnostics)
    }
}

/// The failure that they are.
pub(crate) fn failure(path: &Path, text: &str, diagnostics: &[Diagnostic]) -> Failure {
    let name = path.display().to_string();
    let map = SourceMap::new(&name, text);
    let records = diagnostics.iter().map(|diagnostic| Record::of_ptx(&map, path, diagnostic)).collect();
    Failure::Diagnosed(render(path, text, diagnostics), records)
}
