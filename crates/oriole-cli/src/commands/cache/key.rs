//! The name of a result: a hash of all that it depends on. This is the only place that says what that is.

use super::FORMAT;
use crate::commands::args::{CompileArgs, IrArgs};
use blake3::{Hash, Hasher};
use oriole_codegen::{CompileOptions, DebugInfo};
use std::io::Error;
use std::path::PathBuf;

/// What a result depends on beside the options of the code.
pub(crate) struct Sources<'a> {
    /// The bytes of the file.
    pub(crate) bytes: &'a [u8],
    /// It is taken for LLVM IR: by its bytes, or by its name.
    pub(crate) is_llvm: bool,
}

/// The hash of everything that the cubin and what is said of it depend on; `linked` are the contents of the files of
/// `--link`.
pub(super) fn of(
    compiler: &Hash,
    sources: &Sources<'_>,
    args: &CompileArgs,
    options: &CompileOptions,
    linked: &[Hash],
) -> Hash {
    let mut hasher = Hasher::new();
    // Each part behind its length: no two different lists of parts are the same bytes.
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(&FORMAT.to_le_bytes());
    part(compiler.as_bytes());
    part(sources.bytes);
    part(code(sources, &args.code.ir, options).as_bytes());
    part(&[u8::from(sources.is_llvm), u8::from(args.warn_on_spills), u8::from(args.warn_on_local_memory_usage)]);
    for hash in linked {
        part(hash.as_bytes());
    }
    hasher.finalize()
}

/// The hashes of the files of `--link`.
///
/// # Errors
/// One cannot be read.
pub(super) fn all_linked(paths: &[PathBuf]) -> Result<Vec<Hash>, Error> {
    paths.iter().map(|path| std::fs::read(path).map(|bytes| blake3::hash(&bytes))).collect()
}

/// The options as text. An option that is new is part of it without anybody thinking of it; taken out is what cannot
/// change a byte. The text need not stay the same from one compiler to the next: its hash is in the key as well.
fn code(sources: &Sources<'_>, ir: &IrArgs, options: &CompileOptions) -> String {
    // The name gets into line tables and compile units; a module of LLVM IR that names no source is called by it.
    let is_named = options.debug != DebugInfo::None || sources.is_llvm;
    let file_name = if is_named { options.file_name.clone() } else { String::new() };
    // Threads change the time only.
    let options = CompileOptions { jobs: 1, file_name, ..options.clone() };
    // Of the files of --link the contents count.
    let ir = IrArgs { link: Vec::new(), ..ir.clone() };
    format!("{options:?} {ir:?}")
}
