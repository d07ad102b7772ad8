//! Files against cuobjdump itself: the bundled ones, those that nvcc makes here, those of the folder that `ORIOLE_BINARIES` names.

use crate::{bundled, listing};
use oriole_fatbin::Container;
use oriole_prerequisites::{is_thorough, tool};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names a folder with more files, in whatever folders of it.
const BINARIES: &str = "ORIOLE_BINARIES";

#[test]
fn listings_and_extraction_are_as_cuobjdump_s_now() {
    let Some(cuobjdump) = tool("cuobjdump") else { return };
    let made = tempfile::tempdir().unwrap();
    let mut files = bundled::files();
    files.extend(tool("nvcc").map(|nvcc| make(&nvcc, made.path())).unwrap_or_default());
    if let Some(folder) = std::env::var_os(BINARIES) {
        walk(Path::new(&folder), &mut files);
    }
    let compared = files.iter().filter(|path| compare(&cuobjdump, path)).count();
    eprintln!("{compared} of {} files with device code compared with cuobjdump", files.len());
    assert!(compared >= bundled::files().len());
}

/// Whether both find device code, and the same.
fn compare(cuobjdump: &Path, path: &Path) -> bool {
    let say = |options: &[&str], folder: &Path| {
        Command::new(cuobjdump).args(options).arg(path).current_dir(folder).output().unwrap()
    };
    let out = tempfile::tempdir().unwrap();
    let listed = say(&["-lelf", "-lptx"], out.path());
    let bytes = std::fs::read(path).unwrap();
    let read = Container::read(&bytes);
    if !listed.status.success() {
        // cuobjdump 13 fails at cubins of CUDA 12.0 to 12.2, whose entries are read here.
        eprintln!("{}: cuobjdump: {}", path.display(), String::from_utf8_lossy(&listed.stderr).trim());
        return false;
    }
    let Some(container) = read.unwrap() else {
        assert_eq!(lines(&listed.stdout, path), Vec::<String>::new(), "{}", path.display());
        return false;
    };
    let same = |said: String, options: &[&str]| {
        let theirs = lines(&say(options, out.path()).stdout, path);
        assert_eq!(lines(said.as_bytes(), path), theirs, "{} {options:?}", path.display());
    };
    same(listing::names(&container, path, false), &["-lelf", "-lptx"]);
    same(listing::names(&container, path, true), &["-all", "-lelf", "-lptx"]);
    same(listing::facts(&container, path), &["-all"]);
    assert!(say(&["-all", "-xelf", "all", "-xptx", "all"], out.path()).status.success());
    let theirs: BTreeMap<String, Vec<u8>> = std::fs::read_dir(out.path())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect();
    let ours = listing::extracted(&container, path);
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{}", path.display());
    let differs = ours.iter().find(|(name, data)| theirs[*name] != **data);
    assert_eq!(differs.map(|(name, _)| name), None, "{}", path.display());
    !ours.is_empty()
}

/// What is said, without empty lines, cuobjdump's remarks, and the folder of the file.
fn lines(text: &[u8], path: &Path) -> Vec<String> {
    let folder = format!("{}/", path.parent().unwrap().display());
    let text = String::from_utf8_lossy(text).replace(&folder, "");
    text.lines().filter(|line| !line.is_empty() && !line.starts_with("cuobjdump ")).map(str::to_owned).collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut inside: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inside.sort();
    for path in inside {
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

/// Files of all kinds by nvcc; those that this nvcc does not make, for want of a host compiler say, are not there.
fn make(nvcc: &Path, folder: &Path) -> Vec<PathBuf> {
    const FEW: &str = "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]";
    const ALL: &str = "-gencode arch=compute_75,code=sm_75 -gencode arch=compute_90a,code=[sm_90a,compute_90a] \
                       -gencode arch=compute_100f,code=[sm_100f,compute_100f] -gencode arch=compute_120a,code=sm_120a";
    let rows = [
        ("default.fatbin", "-fatbin saxpy.cu", FEW),
        ("balance.fatbin", "-fatbin saxpy.cu -Xfatbin=-compress-all --compress-mode=balance", ALL),
        ("speed.fatbin", "-fatbin saxpy.cu --compress-mode=speed", ALL),
        ("none.fatbin", "-fatbin saxpy.cu --compress-mode=none", ALL),
        ("debug.fatbin", "-fatbin saxpy.cu -G", FEW),
        ("lines.fatbin", "-fatbin -dc dev.cu -lineinfo", FEW),
        ("plain.cubin", "-cubin saxpy.cu", "-arch=sm_90a"),
        ("plain.ptx", "-ptx saxpy.cu", "-arch=compute_90"),
        ("saxpy.o", "-c saxpy.cu -Xfatbin=-compress-all", ALL),
        ("uses.o", "-dc uses.cu", FEW),
        ("library.a", "-lib saxpy.cu main.cu", ALL),
        ("relocatable.a", "-lib -rdc=true dev.cu uses.cu", FEW),
        ("host", "main.cu saxpy.cu", ALL),
        ("host-lines", "main.cu saxpy.cu -lineinfo", FEW),
        ("host-rdc", "-rdc=true main.cu dev.cu uses.cu -Xfatbin=-compress-all", FEW),
        ("libshared.so", "-shared -Xcompiler -fPIC saxpy.cu main.cu", ALL),
    ];
    let mut made = Vec::new();
    // They take nvcc a minute.
    let step = if is_thorough() { 1 } else { 5 };
    for (name, what, targets) in rows.into_iter().step_by(step) {
        let output = folder.join(name);
        // No runtime: the package index has it apart.
        let words = format!("{what} {targets} -cudart=none -Xlinker --unresolved-symbols=ignore-all");
        let mut command = Command::new(nvcc);
        command.args(words.split_ascii_whitespace()).arg("-o").arg(&output).current_dir(bundled::folder());
        if command.output().unwrap().status.success() {
            made.push(output);
        } else {
            eprintln!("nvcc does not make {name}");
        }
    }
    made
}
