//! The corpus: a folder of `FAMILY.jsonl` files with a module per line, each with one instruction of interest.

use serde_json::Value;
use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

/// A module with one instruction of interest and the kernel `k(in, out)`.
pub(crate) struct Form {
    /// Its place in the corpus, by which files about it are named.
    pub(crate) index: usize,
    pub(crate) id: String,
    pub(crate) family: String,
    /// `@TARGET@` stands for the target.
    ptx: String,
    /// The targets that accept it.
    pub(crate) targets: Vec<String>,
    /// Bytes that a thread reads and writes.
    pub(crate) in_bytes: u64,
    pub(crate) out_bytes: u64,
    /// Threads of the block.
    pub(crate) threads: u32,
    /// The output depends on the input alone; else the form may not even be launched.
    pub(crate) deterministic: bool,
}

impl Form {
    fn of(index: usize, line: &Value) -> Option<Self> {
        let text = |field: &str| Some(line.get(field)?.as_str()?.to_owned());
        let number = |field: &str| line.get(field).and_then(Value::as_u64);
        let targets = line.get("targets")?.as_array()?.iter().filter_map(|t| Some(t.as_str()?.to_owned()));
        Some(Form {
            index,
            id: text("id")?,
            family: text("family")?,
            ptx: text("ptx")?,
            targets: targets.collect(),
            in_bytes: number("in_bytes")?,
            out_bytes: number("out_bytes")?,
            threads: u32::try_from(number("threads").unwrap_or(32)).ok()?,
            deterministic: line.get("deterministic").and_then(Value::as_bool).unwrap_or(true),
        })
    }

    /// The module for a target that accepts it.
    pub(crate) fn ptx(&self, target: &str) -> Option<String> {
        self.targets.iter().any(|t| t == target).then(|| self.ptx.replace("@TARGET@", target))
    }

    /// The first two words of the instruction: `tcgen05.mma`.
    pub(crate) fn instruction(&self) -> String {
        let opcode = self.id.split([' ', '+', '#']).next().unwrap_or_default();
        opcode.split('.').take(2).collect::<Vec<_>>().join(".")
    }
}

/// Every form of the folder, in the order of its files' names.
pub(crate) fn read(folder: &Path) -> Result<Vec<Form>, Box<dyn Error>> {
    let files: BTreeSet<_> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    let mut forms = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "jsonl")) {
        for line in std::fs::read_to_string(file)?.lines() {
            forms.push(Form::of(forms.len(), &serde_json::from_str(line)?).ok_or("a form without its fields")?);
        }
    }
    Ok(forms)
}
