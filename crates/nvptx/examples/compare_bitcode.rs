//! Compares what the two readers make of the same program: `compare_bitcode FILE.ll FILE.bc …`
//!
//! Says for each pair how many symbols are the same, and which are not.

#[path = "../tests/canonical/mod.rs"]
mod canonical;

use std::collections::BTreeMap;

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let mut different = 0;
    for pair in paths.chunks_exact(2) {
        match compare(&pair[0], &pair[1]) {
            Ok((same, others)) if others.is_empty() => println!("{}: {same} symbols are the same", pair[1]),
            Ok((same, others)) => {
                println!("{}: {same} symbols are the same, {} are not: {}", pair[1], others.len(), others.join(" "));
                different += 1;
            }
            Err(what) => {
                println!("{}: {what}", pair[1]);
                different += 1;
            }
        }
    }
    std::process::exit(i32::from(different > 0));
}

/// The number of symbols that are the same, and the names of the others with their first difference.
fn compare(text: &str, bitcode: &str) -> Result<(usize, Vec<String>), String> {
    let source = std::fs::read_to_string(text).map_err(|error| error.to_string())?;
    let bytes = std::fs::read(bitcode).map_err(|error| error.to_string())?;
    let text = oriole_nvptx::text::parse(&source, text).map_err(|error| error.to_string())?;
    let mut bitcode = oriole_nvptx::bitcode::read(&bytes, bitcode).map_err(|error| error.to_string())?;
    // Older bitcode has no `source_filename`.
    bitcode.name.clone_from(&text.name);
    let (text, bitcode) = (by_symbol(canonical::lines(&text)), by_symbol(canonical::lines(&bitcode)));
    let names: std::collections::BTreeSet<&String> = text.keys().chain(bitcode.keys()).collect();
    // Functions of which one reader's module has the name and the other has not: LLVM replaces old intrinsics
    // when it reads bitcode.
    let only: Vec<&String> =
        names.iter().copied().filter(|name| !text.contains_key(*name) || !bitcode.contains_key(*name)).collect();
    let mut others = Vec::new();
    let mut same = 0;
    for name in names {
        match (text.get(name), bitcode.get(name)) {
            (Some(a), Some(b)) if a == b => same += 1,
            (Some(a), Some(b)) => {
                let first = a.iter().zip(b).find(|(a, b)| a != b);
                let (first_a, first_b) = first.map_or(("", ""), |(a, b)| (a.as_str(), b.as_str()));
                let named = |name: &String| b.iter().any(|line| line.split_whitespace().any(|word| word == name));
                let replaced = if only.iter().any(|name| named(name)) { " (calls what LLVM replaces)" } else { "" };
                others.push(format!("{name}{replaced}\n< {first_a}\n> {first_b}\n"));
            }
            (a, _) => others.push(format!("{name} (only in the {})\n", if a.is_some() { "text" } else { "bitcode" })),
        }
    }
    Ok((same, others))
}

fn by_symbol(lines: Vec<String>) -> BTreeMap<String, Vec<String>> {
    let mut map: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = "module".to_owned();
    for line in lines {
        if line.starts_with(['@', '!']) {
            name = line.split_whitespace().next().unwrap_or_default().to_owned();
        }
        map.entry(name.clone()).or_default().push(line);
    }
    map
}
