//! NVIDIA's disassembler as a judge of what we write: it reads every cubin of ours, or says what it refuses.
//! It is for tests and measurements; nothing of the compiler needs it.

use crate::temporary;
use oriole_cubin::{Cubin, SectionKind};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// nvdisasm, where it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvdisasm(PathBuf);

/// First number of the targets that it is asked for with their architecture-specific instructions (`SM90a`).
const SPECIFIC: u32 = 90;

impl Nvdisasm {
    /// The program at that path.
    pub fn at(path: PathBuf) -> Nvdisasm {
        Nvdisasm(path)
    }

    /// That in the folder which the environment variable `ORIOLE_ORACLE` names, or in its `bin`.
    pub fn from_environment() -> Option<Nvdisasm> {
        let folder = PathBuf::from(std::env::var_os("ORIOLE_ORACLE")?);
        let places = [folder.join("nvdisasm"), folder.join("bin/nvdisasm")];
        places.into_iter().find(|path| path.is_file()).map(Nvdisasm)
    }

    /// Reads a cubin with all that it has.
    ///
    /// # Errors
    /// What nvdisasm says against it, or why it could not be asked.
    pub fn read(&self, cubin: &[u8]) -> Result<(), String> {
        let done = self.run(&[], cubin)?;
        if done.status.success() && done.stderr.is_empty() { Ok(()) } else { Err(complaint(&done)) }
    }

    /// Reads the instructions of many cubins at once, which takes hardly longer than those of one. Gives the
    /// positions of those with instructions that it refuses, and what it says of them.
    ///
    /// # Errors
    /// A cubin cannot be parsed, or nvdisasm cannot be asked.
    pub fn read_code(&self, cubins: &[&[u8]]) -> Result<Vec<(usize, String)>, String> {
        let mut images: BTreeMap<u32, Code> = BTreeMap::new();
        for (at, bytes) in cubins.iter().enumerate() {
            let cubin = Cubin::parse(bytes).map_err(|error| format!("cubin {at}: {error}"))?;
            let code = images.entry(cubin.target.sm).or_default();
            code.starts.push((code.bytes.len(), at));
            let sections = cubin.sections.iter().filter(|section| section.kind == SectionKind::Text);
            sections.for_each(|section| code.bytes.extend_from_slice(&section.data));
        }
        let mut refused = Vec::new();
        for (sm, code) in images {
            refused.extend(self.read_words(sm, &code)?);
        }
        refused.sort();
        refused.dedup_by_key(|(at, _)| *at);
        Ok(refused)
    }

    fn read_words(&self, sm: u32, code: &Code) -> Result<Vec<(usize, String)>, String> {
        let name = format!("SM{sm}{}", if sm >= SPECIFIC { "a" } else { "" });
        let done = self.run(&["--binary", &name], &code.bytes)?;
        if done.status.success() {
            return Ok(Vec::new());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let named: Vec<_> = said.lines().filter_map(|line| Some((code.of(address(line)?)?, line.to_owned()))).collect();
        if named.is_empty() { Err(complaint(&done)) } else { Ok(named) }
    }

    fn run(&self, options: &[&str], bytes: &[u8]) -> Result<Output, String> {
        let why = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        let folder = temporary::folder()?;
        let file = folder.path().join("code");
        std::fs::write(&file, bytes).map_err(|error| format!("code for nvdisasm: {error}"))?;
        Command::new(&self.0).args(options).arg(&file).output().map_err(|error| why(&self.0, error))
    }
}

/// The code of cubins for one target, one after the other.
#[derive(Default)]
struct Code {
    bytes: Vec<u8>,
    /// Where the code of each begins, and its position among the cubins.
    starts: Vec<(usize, usize)>,
}

impl Code {
    /// The cubin that the byte is of.
    fn of(&self, address: usize) -> Option<usize> {
        let after = self.starts.partition_point(|(start, _)| *start <= address);
        self.starts[..after].last().map(|(_, at)| *at)
    }
}

/// The address in `… at address 0x00000010`.
fn address(line: &str) -> Option<usize> {
    let (_, digits) = line.split_once("address 0x")?;
    usize::from_str_radix(digits.trim_end_matches(['.', ' ']), 16).ok()
}

fn complaint(done: &Output) -> String {
    let said = String::from_utf8_lossy(&done.stderr);
    format!("nvdisasm refuses it: {}", said.lines().next().unwrap_or("without a word").trim())
}
