//! Programs that call ptxas, themselves, where they are installed: each is told where ptxas is as its users tell it, and what comes
//! out is Oriole's and computes what it should. The scripts are in tools/callers.

use oriole_prerequisites::{is_thorough, program, shared, tool, tool_of};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the folder of a Python environment with Triton.
const TRITON: &str = "ORIOLE_TRITON";

/// Names the folder of a Python environment with Triton, PyTorch and Oriole's Python package.
const TUTORIALS_PYTHON: &str = "ORIOLE_TRITON_TORCH";

/// Names the folder of a Python environment with CuPy.
const CUPY: &str = "ORIOLE_CUPY";

/// Names the folder with the environments of tools/callers/run_all.py.
const CALLERS: &str = "ORIOLE_CALLERS";

/// What a script of tools/callers prints, run by a Python.
fn said(python: &Path, script: &str, words: &[&OsStr]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/callers").join(script);
    let output = Command::new(python).arg(script).args(words).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The words that name Oriole to a script.
fn oriole() -> [&'static OsStr; 2] {
    [OsStr::new("--oriole"), OsStr::new(env!("CARGO_BIN_EXE_oriole"))]
}

/// The folder of the CUDA toolkit that has the tools.
fn toolkit() -> Option<PathBuf> {
    Some(tool("nvcc")?.parent()?.parent()?.to_path_buf())
}

/// The versions of callers that tools/callers/versions.toml pins, those that are installed.
#[test]
fn pinned_callers_compile_by_oriole() {
    let Some(_kernels) = shared("kernels/launch.json") else { return };
    let Some(python) = program("/usr/bin/python3") else { return };
    let Some(newest) = tool_of(CALLERS, "triton-3.9.0/bin/python") else { return };
    let folder = newest.ancestors().nth(3).expect("a folder of environments");
    let words = [OsStr::new("--installed"), OsStr::new("--into"), folder.as_os_str()];
    let targets = [OsStr::new("--targets"), OsStr::new("sm_80,sm_90")];
    let chosen = if is_thorough() { &[][..] } else { &targets };
    let said = said(&python, "run_all.py", &[&oriole()[..], &words, chosen].concat());
    assert!(said.contains("triton 3.9.0: right"), "{said}");
}

/// Triton calls Oriole by `TRITON_PTXAS_PATH` alone.
#[test]
fn triton_compiles_its_kernels_by_oriole() {
    let Some(_kernels) = shared("kernels/launch_triton.json") else { return };
    let Some(python) = tool_of(TRITON, "python") else { return };
    let said = said(&python, "triton_kernels.py", &oriole());
    assert!(said.contains("sm_90: 35 cubins by Triton, 35 of them Oriole's"), "{said}");
}

/// Triton's published tutorials run unchanged, compiled and simulated by the Python package.
#[test]
fn tutorials_of_triton_run_without_a_device() {
    let Some(python) = tool_of(TUTORIALS_PYTHON, "python") else { return };
    let Some(tutorials) = tool_of("ORIOLE_TRITON_TUTORIALS", "01-vector-add.py") else { return };
    let said = said(&python, "triton_tutorials.py", &[tutorials.parent().expect("a folder").as_os_str()]);
    assert!(said.contains("03-matrix-multiplication sm_90: ") && said.contains("cubins"), "{said}");
}

/// nvcc, with nvlink, cuobjdump and CuPy's use of both.
#[test]
fn nvcc_compiles_and_links_by_oriole() {
    let Some(_kernels) = shared("kernels/launch.json") else { return };
    let Some(python) = program("/usr/bin/python3") else { return };
    let Some(toolkit) = toolkit() else { return };
    let mut words: Vec<OsString> = oriole().map(OsString::from).to_vec();
    words.extend([OsString::from("--toolkit"), toolkit.into_os_string()]);
    if let Some(cupy) = tool_of(CUPY, "python") {
        words.extend([OsString::from("--cupy"), cupy.into_os_string()]);
    }
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let said = said(&python, "nvcc_kernels.py", &words);
    assert!(said.contains("host object: right") && said.contains("sm_90, two files by nvlink: right"), "{said}");
}

/// clang, by `--ptxas-path` alone.
#[test]
fn clang_compiles_by_oriole() {
    let Some(_kernels) = shared("kernels/launch.json") else { return };
    let Some(python) = program("/usr/bin/python3") else { return };
    let Some(clang) = program("/usr/bin/clang-19") else { return };
    let Some(toolkit) = toolkit() else { return };
    let libdevice = toolkit.join("nvvm/libdevice/libdevice.10.bc");
    let words = [OsStr::new("--clang"), clang.as_os_str(), OsStr::new("--libdevice"), libdevice.as_os_str()];
    let said = said(&python, "clang_kernels.py", &[&oriole()[..], &words].concat());
    assert!(said.contains("sm_90: 45 cubins by clang, 45 of them Oriole's"), "{said}");
}
