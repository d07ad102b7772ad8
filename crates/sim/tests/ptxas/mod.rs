//! Modules that ptxas compiles for a test.

use oriole_cubin::Cubin;
use std::path::PathBuf;
use std::process::Command;

/// The cubin that ptxas makes of `ptx` for `arch`; `None`, said aloud, where `ORIOLE_ORACLE` names no folder with ptxas.
pub(crate) fn compile(arch: &str, ptx: &str) -> Option<Cubin> {
    let Some(folder) = std::env::var_os("ORIOLE_ORACLE") else {
        println!("skipped: ORIOLE_ORACLE does not name a folder with ptxas");
        return None;
    };
    let ptxas = PathBuf::from(folder).join("ptxas");
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (source, cubin) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&source, ptx).expect("the test's folder is writable");
    let output = Command::new(ptxas).arg(format!("-arch={arch}")).arg(&source).arg("-o").arg(&cubin).output();
    let output = output.expect("ptxas starts");
    assert!(output.status.success(), "{}\n{ptx}", String::from_utf8_lossy(&output.stderr));
    Some(Cubin::parse(&std::fs::read(&cubin).expect("ptxas has written it")).expect("a cubin"))
}
