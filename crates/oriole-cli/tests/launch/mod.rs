//! Launches of `tests/data/kernels/launch.json`: the same input streams and the same checks as
//! `../shared/tools/run_kernels.py` (its header defines both), written again in Rust so that
//! `cargo test` proves the kernels without Python.

mod check;
mod fill;

pub(crate) use check::compare;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The folder with the committed kernels.
pub(crate) fn kernels_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels")
}

/// One launch of the list.
pub(crate) struct Launch(Value);

/// An output buffer: where `oriole run` wrote it, and how it is judged.
pub(crate) struct Output {
    /// Number among the outputs; `expected/NAME.I.bin`.
    pub(crate) index: usize,
    /// File that the run writes.
    pub(crate) path: PathBuf,
    /// Element type.
    pub(crate) kind: String,
    /// The launch's check object.
    pub(crate) check: Value,
}

/// Every launch, easiest first.
pub(crate) fn launches() -> Vec<Launch> {
    let text = std::fs::read_to_string(kernels_folder().join("launch.json")).expect("launch.json is committed");
    let list: Value = serde_json::from_str(&text).expect("launch.json is JSON");
    list["launches"].as_array().expect("a list of launches").iter().cloned().map(Launch).collect()
}

impl Launch {
    /// The launch's name.
    pub(crate) fn name(&self) -> &str {
        self.text("name")
    }

    /// The kernel's name.
    pub(crate) fn entry(&self) -> &str {
        self.text("entry")
    }

    /// The committed PTX for `target`.
    pub(crate) fn ptx(&self, target: &str) -> PathBuf {
        kernels_folder().join("ptx").join(format!("{}.{target}.ptx", self.text("file")))
    }

    /// The committed LLVM IR, where there is some.
    pub(crate) fn llvm(&self) -> Option<PathBuf> {
        Some(kernels_folder().join("ll").join(format!("{}.ll", self.text("file")))).filter(|path| path.exists())
    }

    /// What output `index` must be.
    pub(crate) fn expected(&self, index: usize) -> Vec<u8> {
        let path = kernels_folder().join("expected").join(format!("{}.{index}.bin", self.name()));
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Write the input files into `folder`; the arguments of `oriole run` after the file name, and the outputs.
    pub(crate) fn arguments(&self, folder: &Path) -> (Vec<String>, Vec<Output>) {
        let mut words: Vec<String> = Vec::new();
        for (option, field) in [("--grid", "grid"), ("--block", "block")] {
            let dims: Vec<String> =
                self.0[field].as_array().expect("three numbers").iter().map(Value::to_string).collect();
            words.extend([option.to_owned(), dims.join(",")]);
        }
        words.extend(["--entry".to_owned(), self.entry().to_owned()]);
        if let Some(bytes) = self.0["shared"].as_u64().filter(|b| *b > 0) {
            words.extend(["--shared".to_owned(), bytes.to_string()]);
        }
        let mut outputs = Vec::new();
        for (i, arg) in self.0["args"].as_array().expect("a list of arguments").iter().enumerate() {
            words.push(self.argument(i, arg, folder, &mut outputs));
        }
        (words, outputs)
    }

    fn argument(&self, i: usize, arg: &Value, folder: &Path, outputs: &mut Vec<Output>) -> String {
        let kind = arg["type"].as_str().expect("a type");
        let role = arg["kind"].as_str().expect("a kind");
        if role == "value" {
            return format!("{kind}:{}", arg["value"]);
        }
        let (input, output) = (folder.join(format!("arg{i}.in")), folder.join(format!("arg{i}.out")));
        let count = arg["count"].as_u64().expect("a count") as usize;
        if role != "in" {
            let check = self.0["check"].clone();
            outputs.push(Output { index: outputs.len(), path: output.clone(), kind: kind.to_owned(), check });
        }
        if role == "out" {
            return format!("out:{}:{}", output.display(), count * fill::size_of(kind));
        }
        let seed = arg["seed"].as_u64().unwrap_or(0);
        let bytes = fill::bytes(arg["fill"].as_str().expect("a fill"), kind, count, seed);
        std::fs::write(&input, bytes).expect("the folder can be written");
        match role {
            "in" => format!("in:{}", input.display()),
            _ => format!("inout:{}:{}", input.display(), output.display()),
        }
    }

    fn text(&self, field: &str) -> &str {
        self.0[field].as_str().expect("a text field")
    }
}
