//! Checks all cubins of folders, and sums up what is found by pairs of instructions.
//!
//! cargo run --release -p oriole-check --features examples --example corpus -- DIR... [--show]

use oriole_check::{Finding, Missing, check};
use oriole_cubin::Cubin;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn cubins(folder: &Path, all: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return all.push(folder.to_owned()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            cubins(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "cubin") {
            all.push(path);
        }
    }
}

fn opcode(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = usize::from(words.first().is_some_and(|word| word.starts_with('@')));
    format!("{}{}", if at == 1 { "@ " } else { "" }, words.get(at).copied().unwrap_or_default())
}

fn sort(finding: &Finding) -> String {
    let register = finding.registers.first().map_or("", |r| r.trim_end_matches(|c: char| c.is_ascii_digit()));
    let earlier = finding.earlier.as_ref().map(|place| opcode(&place.text)).unwrap_or_default();
    format!("{} {register}: {earlier} -> {}", finding.kind.name(), opcode(&finding.later.text))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let show = arguments.iter().any(|argument| argument == "--show");
    let mut files = Vec::new();
    arguments.iter().filter(|argument| *argument != "--show").for_each(|folder| cubins(Path::new(folder), &mut files));
    let (mut clean, mut instructions, mut failed) = (0, 0, BTreeMap::<String, (usize, String)>::new());
    let mut sorts: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    let mut notes = 0;
    for file in &files {
        let bytes = std::fs::read(file).expect("a readable file");
        let name = file.display().to_string();
        let report = match Cubin::parse(&bytes)
            .map_err(|e| e.to_string())
            .and_then(|cubin| check(&cubin, &[]).map_err(|e| e.to_string()))
        {
            Ok(report) => report,
            Err(error) => {
                failed.entry(error).or_insert((0, name)).0 += 1;
                continue;
            }
        };
        instructions += report.instructions;
        notes += report.notes.len();
        clean += usize::from(report.findings.is_empty());
        let mut seen = std::collections::BTreeSet::new();
        for finding in &report.findings {
            if show {
                println!("{name}: {finding}");
                if let Missing::Cycles { passed, needed, row: Some(row) } = &finding.missing {
                    let kind = finding.kind.name();
                    println!(
                        "ROW\t{kind}\t{:?}\t{}\t{}\t{passed}\t{needed}\t{}\t{}\t{name}",
                        row.file,
                        row.first.name(),
                        row.second.name(),
                        report.arch,
                        finding.path.len(),
                    );
                }
            }
            let sort = sort(finding);
            let entry = sorts.entry(sort.clone()).or_insert_with(|| (0, 0, format!("{name}: {finding}")));
            entry.0 += 1;
            entry.1 += usize::from(seen.insert(sort));
        }
    }
    println!("{} files, {clean} clean, {instructions} instructions, {notes} notes", files.len());
    let mut sorts: Vec<_> = sorts.into_iter().collect();
    sorts.sort_by_key(|(_, (_, files, _))| std::cmp::Reverse(*files));
    for (sort, (count, files, example)) in sorts {
        println!("{count} in {files} files: {sort}\n  {example}");
    }
    for (error, (count, example)) in failed {
        println!("{count} failed: {error} ({example})");
    }
}
