//! Makes the ISA tables from the text files in `spec/` (language: `docs/isa/spec-language.md`).

#[path = "build/distances.rs"]
mod distances;
#[path = "build/emit.rs"]
mod emit;
#[path = "build/facts.rs"]
mod facts;
#[path = "build/fields.rs"]
mod fields;
#[path = "build/forms.rs"]
mod forms;
#[path = "build/latency.rs"]
mod latency;
#[path = "build/matrix.rs"]
mod matrix;
#[path = "build/model.rs"]
mod model;
#[path = "build/pace.rs"]
mod pace;
#[path = "build/parse.rs"]
mod parse;
#[path = "build/pool.rs"]
mod pool;
#[path = "build/queues.rs"]
mod queues;
#[path = "build/special.rs"]
mod special;
#[path = "build/stalls.rs"]
mod stalls;
#[path = "build/tables.rs"]
mod tables;
#[path = "build/targets.rs"]
mod targets;
#[path = "build/template.rs"]
mod template;
#[path = "build/tsv.rs"]
mod tsv;

use std::path::{Path, PathBuf};
use std::{env, fs, process};

fn main() {
    if let Err(message) = run() {
        eprintln!("{message}");
        process::exit(1);
    }
}

fn run() -> Result<(), String> {
    println!("cargo::rerun-if-changed=spec");
    println!("cargo::rerun-if-changed=build");
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("spec");
    let mut spec = model::Spec::default();
    for path in spec_files(&folder)? {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        parse::file(&mut spec, &path.display().to_string(), &text)?;
    }
    spec.apply_extensions()?;
    spec.expand_phrases()?;
    spec.check()?;
    let out = PathBuf::from(variable("OUT_DIR")?);
    let special = folder.join("special_registers.tsv");
    let text = fs::read_to_string(&special).map_err(|e| format!("{}: {e}", special.display()))?;
    let special = special::table(&special.display().to_string(), &text)?;
    fs::write(out.join("special_registers.rs"), special).map_err(|e| e.to_string())?;
    latencies(&spec, &folder.join("latency"), &out)?;
    let forms = forms::forms(&spec)?;
    fs::write(out.join("names.rs"), emit::names(&spec, &forms)?).map_err(|e| e.to_string())?;
    fs::write(out.join("fields.rs"), fields::fields(&spec)?).map_err(|e| e.to_string())?;
    fs::write(out.join("facts.rs"), facts::facts(&spec)?).map_err(|e| e.to_string())?;
    fs::write(out.join("tables.rs"), tables::tables(&spec, &forms)?).map_err(|e| e.to_string())
}

/// The classes of instructions and the distances between them.
fn latencies(spec: &model::Spec, folder: &Path, out: &Path) -> Result<(), String> {
    let read = |name| tsv::Tsv::read(&folder.join(name));
    let (classes, groups, products) = (read("classes.tsv")?, read("groups.tsv")?, read("matrix.tsv")?);
    let groups = latency::groups(&groups)?;
    let classes = latency::read_classes(&classes, &groups)?;
    let texts = distances::Texts::read(folder)?;
    let distances = distances::Distances::new(&texts, &groups)?;
    let write = |name, text| fs::write(out.join(name), text).map_err(|e| format!("{name}: {e}"));
    write("latency_class.rs", latency::class_names(&classes))?;
    write("latency_classes.rs", latency::classes(spec, &classes, &groups)?)?;
    write("latency_stalls.rs", stalls::table(spec, &read("stalls.tsv")?, &classes)?)?;
    write("latency_pace.rs", pace::table(spec, &read("pace.tsv")?)?)?;
    write("latency_queues.rs", queues::table(spec, &read("queues.tsv")?, &classes)?)?;
    write("latency_matrix.rs", matrix::table(spec, &products, &distances.earlier)?)?;
    write("latency_tables.rs", distances.write()?)
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|e| format!("{name}: {e}"))
}

fn spec_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "isa"))
        .collect();
    files.sort();
    Ok(files)
}
