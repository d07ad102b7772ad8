//! `--arch`.

use super::failure::Failure;
use oriole_isa::Arch;

/// `--arch`: an unknown name is wrong input, not wrong usage, so that callers see exit status 1.
pub(crate) fn parse_arch(name: &str) -> Result<Arch, Failure> {
    name.parse().map_err(|e| Failure::Rejected(format!("error: {e}")))
}
