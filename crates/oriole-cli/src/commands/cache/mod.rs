//! Results kept in a folder from one process to the next, by the hash of all that they depend on (`docs/batch.md`).
//!
//! Many processes use a folder at a time, and any of them may be killed at any time. So a file of it is written under a
//! name that nobody reads and gets its own in one step, and who reads one checks that it is whole. Nothing that goes wrong
//! with the folder is an error of the compilation: the first such thing is kept for a warning, and the folder is left alone
//! from then on.

mod compiler;
mod entry;
mod key;
mod names;
mod size;

pub(crate) use key::Sources;
pub(crate) use size::{clear, contents};

use super::args::CompileArgs;
use super::batch_args::CacheArgs;
use super::failure::{Failure, usage};
use crate::product::Product;
use blake3::Hash;
use oriole_codegen::CompileOptions;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{Error, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use tempfile::NamedTempFile;

/// The version of keys and entries; another one finds nothing of this.
const FORMAT: u32 = 2;
/// The folder where the command line names none.
const FOLDER_VARIABLE: &str = "ORIOLE_CACHE";
/// Most bytes where the command line does not say.
const DEFAULT_BYTES: u64 = 1 << 30;

/// A folder of results.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    most_bytes: u64,
    compiler: Hash,
    problem: OnceLock<String>,
    hits: AtomicUsize,
    misses: AtomicUsize,
}

/// A result's place in a cache.
pub(crate) struct Place {
    key: Hash,
    linked: Vec<Hash>,
}

impl Cache {
    /// The cache that the arguments or the environment ask for.
    ///
    /// # Errors
    /// Options of a cache without one.
    pub(crate) fn open(args: &CacheArgs) -> Result<Option<Cache>, Failure> {
        let named = || std::env::var_os(FOLDER_VARIABLE).filter(|name: &OsString| !name.is_empty()).map(PathBuf::from);
        let Some(folder) = args.cache.clone().or_else(named) else {
            return match args.cache_size {
                Some(_) => Err(usage("--cache-size: needs --cache DIR")),
                None => Ok(None),
            };
        };
        let made = std::fs::create_dir_all(&folder).map_err(|error| format!("the folder cannot be made: {error}"));
        let compiler = made.and_then(|()| {
            compiler::identity(&folder).map_err(|error| format!("which compiler this is cannot be found out: {error}"))
        });
        let (compiler, problem) = match compiler {
            Ok(hash) => (hash, None),
            Err(reason) => (Hash::from_bytes([0; blake3::OUT_LEN]), Some(reason)),
        };
        let cache = Cache {
            folder,
            most_bytes: args.cache_size.unwrap_or(DEFAULT_BYTES),
            compiler,
            problem: OnceLock::new(),
            hits: AtomicUsize::new(0),
            misses: AtomicUsize::new(0),
        };
        if let Some(problem) = problem {
            cache.give_up(problem);
        }
        Ok(Some(cache))
    }

    /// Where the result of a compilation is, or will be. `None` where the folder cannot be used, or a file of `--link`
    /// cannot be read: the compilation says which.
    pub(crate) fn place(&self, sources: &Sources<'_>, args: &CompileArgs, options: &CompileOptions) -> Option<Place> {
        if self.problem.get().is_some() {
            return None;
        }
        let linked = key::all_linked(&args.code.ir.link).ok()?;
        Some(Place { key: key::of(&self.compiler, sources, args, options, &linked), linked })
    }

    /// What is kept there. What is damaged goes.
    pub(crate) fn load(&self, place: &Place) -> Option<Product> {
        let path = self.folder.join(names::entry(&place.key));
        let product = self.read(&path, &place.key);
        let count = if product.is_some() { &self.hits } else { &self.misses };
        count.fetch_add(1, Ordering::Relaxed);
        product
    }

    fn read(&self, path: &Path, key: &Hash) -> Option<Product> {
        let mut file = names::open(path, OpenOptions::new().read(true)).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let product = entry::decode(key, &bytes);
        if product.is_some() {
            // Used just now. A folder that cannot be written keeps the time at which it was filled.
            let _ = file.set_modified(SystemTime::now());
        } else {
            let _ = std::fs::remove_file(path);
        }
        product
    }

    /// Keep a result, if the files of `--link` are still those that the place is named after.
    pub(crate) fn store(&self, place: &Place, args: &CompileArgs, product: &Product) {
        let is_same = key::all_linked(&args.code.ir.link).is_ok_and(|linked| linked == place.linked);
        let Some(bytes) = entry::encode(&place.key, product).filter(|bytes| bytes.len() as u64 <= self.most_bytes)
        else {
            return;
        };
        if !is_same || self.problem.get().is_some() {
            return;
        }
        match self.write(&place.key, &bytes) {
            Ok(()) => size::added(&self.folder, bytes.len() as u64, self.most_bytes),
            Err(error) => self.give_up(format!("the folder cannot be written: {error}")),
        }
    }

    fn write(&self, key: &Hash, bytes: &[u8]) -> Result<(), Error> {
        let mut unfinished = names::unfinished(&self.folder)?;
        // The file's own errors: those of the wrapper name the temporary file.
        unfinished.file.as_file_mut().write_all(bytes)?;
        let persist = |file: NamedTempFile| file.persist(self.folder.join(names::entry(key)));
        unfinished.finish(persist).map(drop).map_err(|error| error.error)
    }

    fn give_up(&self, reason: impl Display) {
        // Another thread was first: its reason will do.
        let _ = self.problem.set(format!("cache {}: {reason}; going on without it", self.folder.display()));
    }

    /// Why the folder is not used any more, if it is not.
    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.get().map(String::as_str)
    }

    /// `N hits, N misses`.
    pub(crate) fn counts(&self) -> String {
        let [hits, misses] = [&self.hits, &self.misses].map(|count| count.load(Ordering::Relaxed));
        format!("cache: {hits} hits, {misses} misses")
    }
}
