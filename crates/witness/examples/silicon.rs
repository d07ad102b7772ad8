//! The tables on a GPU: `silicon pack FILE [PTXAS]` writes launches and cubins for `tools/silicon/pack.py`, one JSON value a
//! line; `silicon judge FILE` reads what came back, a JSON value a line, and prints what is not as a table has it.

use oriole_cubin::Target;
use oriole_device::tensor_map::{Shape, TensorMap};
use oriole_witness::{Engine, Job, Kernel, Module, cubin, modules, runs, tables};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The chip that the cubins are for.
const CHIP: [&str; 2] = ["sm_90", "sm_90a"];
/// Faults that are told of one kernel.
const TOLD: usize = 3;

/// The compilers whose code is launched, ours and ptxas's, at these levels.
fn engines(ptxas: &Path, constants: bool) -> Vec<Engine> {
    let levels: &[u8] = if constants { &[3] } else { &[3, 0] };
    let ours = levels.iter().map(|level| Engine::Oriole(*level));
    ours.chain(levels.iter().map(|level| Engine::Ptxas(ptxas.to_owned(), *level))).collect()
}

/// Modules that the chip runs, each with its target and what its kernels are called.
fn chosen() -> Vec<(String, Target, Module)> {
    let tables = tables().expect("the tables are committed");
    let every = tables.iter().flat_map(|table| modules(table, 0));
    let targets = CHIP.map(|name| Target::from_name(name).expect("a target"));
    let on_chip = every.enumerate().filter_map(|(number, module)| {
        let target = targets.into_iter().find(|target| module.targets.contains(target))?;
        Some((format!("witness {number}"), target, module))
    });
    on_chip.collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// A tensor map as the driver's functions want it.
fn tensor_map(map: &TensorMap) -> Value {
    let shape = match map.shape {
        Shape::Tile(sizes) => json!({ "box": &sizes[..map.rank] }),
        Shape::Im2col { lower, upper, channels, pixels } => {
            let spatial = map.spatial();
            json!({ "lower": &lower[..spatial], "upper": &upper[..spatial], "channels": channels, "pixels": pixels })
        }
    };
    json!({
        "element": format!("{:?}", map.element), "rank": map.rank, "dims": &map.dims[..map.rank], "strides": &map.strides[..map.rank - 1],
        "steps": &map.element_strides[..map.rank], "swizzle": format!("{:?}", map.swizzle), "fill": format!("{:?}", map.fill), "shape": shape,
    })
}

/// The launches of some kernels of a module by one compiler; where they do not compile together, each alone.
fn pack(name: &str, engine: &Engine, target: Target, jobs: &[(usize, &Job)]) -> Vec<Value> {
    let kernels: Vec<&Kernel> = jobs.iter().map(|(_, job)| &job.kernel).collect();
    match cubin(engine, target, &kernels) {
        Ok(cubin) => vec![json!({ "cubin": hex(&cubin), "jobs": jobs.iter().filter_map(|(number, job)| {
            let launch = job.kernel.recorded().ok()??;
            Some(json!({
                "id": format!("{name} {number} {engine}"), "entry": job.kernel.name, "shape": launch.shape, "shared": launch.shared,
                "buffers": launch.buffers.iter().map(|bytes| hex(bytes)).collect::<Vec<_>>(),
                "params": launch.params.iter().map(|bytes| hex(bytes)).collect::<Vec<_>>(), "addresses": launch.addresses,
                "maps": launch.maps.iter().map(tensor_map).collect::<Vec<_>>(),
            }))
        }).collect::<Vec<_>>() })],
        Err(_) if jobs.len() > 1 => jobs.iter().flat_map(|job| pack(name, engine, target, &[*job])).collect(),
        Err(why) => {
            eprintln!("{}: {engine}: {why}", jobs[0].1.label);
            Vec::new()
        }
    }
}

fn judge(results: &BTreeMap<String, Value>) {
    let (mut right, mut wrong) = (BTreeMap::new(), BTreeMap::new());
    for (name, target, module) in chosen() {
        for engine in engines(Path::new(""), module.constants) {
            for (number, job) in module.jobs.iter().enumerate() {
                let Some(result) = results.get(&format!("{name} {number} {engine}")) else { continue };
                let faults = match result["out"].as_str().and_then(unhex) {
                    Some(output) => job.kernel.faults(&output),
                    None => vec![result["error"].to_string()],
                };
                let known = if runs(&engine, target, module.constants, job) { "" } else { " (known)" };
                let count = if faults.is_empty() { &mut right } else { &mut wrong };
                *count.entry(format!("{engine}{known}")).or_insert(0) += 1;
                let more = faults.len().saturating_sub(TOLD);
                for fault in faults.iter().take(TOLD) {
                    println!("{}: {engine}{known}: {fault} (and {more} more)", job.label);
                }
            }
        }
    }
    println!("right {right:?}, wrong {wrong:?}");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [_, "pack", file, ptxas] => {
            let ptxas = PathBuf::from(ptxas);
            let made: Vec<Value> = chosen()
                .par_iter()
                .flat_map_iter(|(name, target, module)| {
                    let jobs: Vec<(usize, &Job)> = module.jobs.iter().enumerate().collect();
                    let of = |engine: &Engine| pack(name, engine, *target, &jobs);
                    engines(&ptxas, module.constants).iter().flat_map(of).collect::<Vec<_>>()
                })
                .collect();
            let mut file = BufWriter::new(std::fs::File::create(file).expect("a place for the launches"));
            made.iter().for_each(|value| writeln!(file, "{value}").expect("room for the launches"));
        }
        [_, "judge", file] => {
            let lines = BufReader::new(std::fs::File::open(file).expect("the results")).lines();
            let read = |line: std::io::Result<String>| {
                let value: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
                (value["id"].as_str().unwrap_or_default().to_owned(), value)
            };
            judge(&lines.map(read).collect());
        }
        _ => eprintln!("silicon pack FILE PTXAS | silicon judge FILE"),
    }
}
