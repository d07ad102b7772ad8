//! Triton itself, where there is one.

use std::path::Path;
use std::process::Command;

/// Names the folder of an environment with Triton.
const ENVIRONMENT: &str = "ORIOLE_TRITON";

/// Triton calls Oriole by `TRITON_PTXAS_PATH` alone, the cubins are Oriole's, and what they compute is right.
#[test]
fn triton_compiles_its_kernels_by_oriole() {
    let Some(kernels) = oriole_prerequisites::shared("kernels/launch_triton.json") else { return };
    let Some(python) = oriole_prerequisites::tool_of(ENVIRONMENT, "python") else { return };
    assert!(kernels.is_file());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/callers/triton_kernels.py");
    let output =
        Command::new(python).arg(script).args(["--oriole", env!("CARGO_BIN_EXE_oriole")]).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("sm_90: 35 cubins by Triton, 35 of them Oriole's"), "{said}");
}
