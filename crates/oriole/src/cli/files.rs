//! Input and output files: `-` is a standard stream, and an output appears whole or not at all.

use super::failure::Failure;
use std::io::{Read, Write};
use std::path::Path;

/// All bytes of a file, or of standard input for `-`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(|e| Failure::file(path, e))?;
        return Ok(bytes);
    }
    std::fs::read(path).map_err(|e| Failure::file(path, format!("cannot be read: {e}")))
}

/// Write a file through a temporary one beside it, or standard output for `-`.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        return match std::io::stdout().write_all(bytes) {
            // The reader has seen enough (`| head`).
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            done => done.map_err(|e| Failure::file(path, e)),
        };
    }
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        // A device such as /dev/null cannot be replaced by renaming.
        return std::fs::write(path, bytes).map_err(|e| Failure::file(path, format!("cannot be written: {e}")));
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = || {
        let mut file = tempfile::Builder::new().permissions(default_permissions()).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    whole().map_err(|e: std::io::Error| Failure::file(path, format!("cannot be written: {e}")))
}

/// What a newly created file gets: readable and writable by all, less the process's umask.
fn default_permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o666)
}
