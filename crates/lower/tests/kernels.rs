//! Every kernel that `first.txt` of the shared kernels names lowers to Ori that passes the verifier.

use oriole_isa::Arch;
use std::path::Path;

/// File and entry of the launch of each.
fn first_kernels(shared: &Path) -> Vec<(String, String)> {
    let read = |name: &str| std::fs::read_to_string(shared.join(name)).unwrap_or_default();
    let launches: serde_json::Value = serde_json::from_str(&read("launch.json")).unwrap_or_default();
    let first = read("first.txt");
    let names = first.lines().filter_map(|line| line.split('#').next()?.split_whitespace().next());
    names
        .filter_map(|name| {
            let launch = launches["launches"].as_array()?.iter().find(|launch| launch["name"] == name)?;
            Some((launch["file"].as_str()?.to_owned(), launch["entry"].as_str()?.to_owned()))
        })
        .collect()
}

fn lower(path: &Path, entry: &str, arch: Arch) -> Result<usize, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let render =
        |errors: &[oriole_ptx::diag::Diagnostic]| oriole_ptx::diag::SourceMap::new(&name, &text).render_all(errors);
    let ast = oriole_ptx::load(&text).map_err(|errors| render(&errors))?;
    let entries = [entry.to_owned()];
    let options = oriole_lower::Options {
        entries: Some(&entries),
        source: Some((&name, &text)),
        ..oriole_lower::Options::new(arch)
    };
    let module = oriole_lower::lower(&ast, &options).map_err(|errors| render(&errors))?;
    for function in module.functions.values() {
        let verified = oriole_ori::verify::verify(function, arch);
        verified.map_err(|errors| {
            format!("{}: {}", function.name(), errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        })?;
    }
    Ok(module.functions.values().map(|function| function.inst_count()).sum())
}

#[test]
fn first_milestone_lowers() {
    let Some(shared) = oriole_prerequisites::shared("kernels") else { return };
    let mut failures = Vec::new();
    for (file, entry) in first_kernels(&shared) {
        for arch in [Arch::Sm80, Arch::Sm90] {
            let path = shared.join("ptx").join(format!("{file}.{arch}.ptx"));
            match lower(&path, &entry, arch) {
                Ok(count) => println!("{entry} {arch}: {count} instructions"),
                Err(error) => failures.push(format!("{entry} {arch}:\n{error}")),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
