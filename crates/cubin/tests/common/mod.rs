//! What several tests share: where the shared data and the reference tools are.

#![allow(dead_code, reason = "not every test file that shares this module calls all of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use oriole_prerequisites::shared;

/// The folder of the reference tools.
pub(crate) struct Oracle(PathBuf);

/// The reference tools, or `None` with a note.
pub(crate) fn oracle() -> Option<Oracle> {
    let ptxas = oriole_prerequisites::tool("ptxas")?;
    ptxas.parent().map(|folder| Oracle(folder.to_owned()))
}

impl Oracle {
    /// The cubin that ptxas makes of a file, `None` if it refuses the file.
    pub(crate) fn ptxas(&self, file: &Path, arch: &str, options: &[&str]) -> Option<Vec<u8>> {
        let out = tempfile::NamedTempFile::new().unwrap();
        let mut command = Command::new(self.0.join("ptxas"));
        command.arg(format!("-arch={arch}")).args(options).arg(file).arg("-o").arg(out.path());
        let output = command.output().unwrap();
        output.status.success().then(|| std::fs::read(out.path()).unwrap())
    }

    /// The linked file that nvlink makes of an object file.
    pub(crate) fn nvlink(&self, object: &[u8], arch: &str) -> Option<Vec<u8>> {
        let file = tempfile::NamedTempFile::with_suffix(".o").unwrap();
        std::fs::write(file.path(), object).unwrap();
        let out = tempfile::NamedTempFile::new().unwrap();
        let mut command = Command::new(self.0.join("nvlink"));
        command.arg(format!("-arch={arch}")).arg(file.path()).arg("-o").arg(out.path());
        let output = command.output().unwrap();
        output.status.success().then(|| std::fs::read(out.path()).unwrap())
    }

    /// Standard output of a tool on a cubin; panics if the tool complains.
    pub(crate) fn dump(&self, tool: &str, options: &[&str], cubin: &[u8]) -> String {
        let file = tempfile::NamedTempFile::with_suffix(".cubin").unwrap();
        std::fs::write(file.path(), cubin).unwrap();
        let output = Command::new(self.0.join(tool)).args(options).arg(file.path()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stderr.is_empty(), "{tool}: {stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
