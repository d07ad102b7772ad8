//! The examples as a C and a C++ compiler build them of the header and the shared library; and what the header and the
//! manual say of the functions.

use std::path::{Path, PathBuf};
use std::process::Command;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of the shared library. Cargo makes it for the tests of its crate and puts it beside them.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test is a file");
    let folders = test.ancestors().skip(1).take(2);
    let name = format!("{}oriole_c{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let found = folders.map(Path::to_path_buf).find(|folder| folder.join(&name).is_file());
    found.unwrap_or_else(|| panic!("no {name} beside {}", test.display()))
}

/// Builds an example, runs it, and gives what it prints.
fn output_of(compiler: &Path, standard: &str, example: &str) -> String {
    let (library, program) = (library(), Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("example-{example}")));
    let built = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", standard, "-I"])
        .arg(Path::new(CRATE).join("include"))
        .arg(Path::new(CRATE).join("examples").join(example))
        .arg("-L")
        .arg(&library)
        .args(["-loriole_c", "-o"])
        .arg(&program)
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .output()
        .expect("the compiler can be started");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).output().expect("the example can be started");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{text}{}", String::from_utf8_lossy(&ran.stderr));
    text
}

#[test]
fn the_example_in_c_compiles_and_runs_a_kernel() {
    let Some(compiler) = oriole_prerequisites::program("/usr/bin/cc") else { return };
    let text = output_of(&compiler, "-std=c11", "compile_and_run.c");
    for part in ["registers: ", "FFMA", "4 blocks, 32 warps", "all 1000 results are right"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

/// A program that needs no shared library, with the libraries that `pkg-config --static` names (`tools/install_c.sh`).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_static_library_makes_static_programs() {
    let Some(compiler) = oriole_prerequisites::program("/usr/bin/cc") else { return };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example-static");
    let built = Command::new(compiler)
        .args(["-std=c11", "-static", "-I"])
        .arg(Path::new(CRATE).join("include"))
        .arg(Path::new(CRATE).join("examples/compile_and_run.c"))
        .arg(library().join("liboriole_c.a"))
        .args(["-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc", "-o"])
        .arg(&program)
        .output()
        .expect("the compiler can be started");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).output().expect("the example can be started");
    assert!(ran.status.success() && String::from_utf8_lossy(&ran.stdout).contains("all 1000 results are right"));
}

#[test]
fn the_example_in_cpp_shows_the_error_log() {
    let Some(compiler) = oriole_prerequisites::program("/usr/bin/c++") else { return };
    let text = output_of(&compiler, "-std=c++17", "compile.cpp");
    for part in ["bytes of cubin", "ORIOLE_ERROR_COMPILATION_FAILURE", "input.ptx:7:", "%seven"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

/// Programs are of all ages. The newest standards have other names with compilers that are older than they are, and those that a
/// compiler does not know at all are left out.
#[test]
fn the_header_is_right_in_every_standard() {
    const PROGRAM: &str = "#include <oriole.h>
int main(void) {
    orioleLaunchReport report;
    report.size = sizeof report;
    return orioleGetVersion() == ORIOLE_VERSION && report.size > 0 ? 0 : 1;
}
";
    let languages = [
        ("/usr/bin/cc", "c", &[&["c89"][..], &["iso9899:199409"], &["c99"], &["c11"], &["c17"], &["c23", "c2x"]][..]),
        (
            "/usr/bin/c++",
            "cpp",
            &[&["c++98"], &["c++03"], &["c++11"], &["c++14"], &["c++17"], &["c++20"], &["c++23", "c++2b"]],
        ),
    ];
    for (compiler, extension, standards) in languages {
        let Some(compiler) = oriole_prerequisites::program(compiler) else { continue };
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("standards.{extension}"));
        std::fs::write(&source, PROGRAM).expect("it can be written");
        let is_known = |standard: &str| {
            let mut command = Command::new(&compiler);
            command.args(["-Wall", "-Wextra", "-Werror", "-pedantic-errors", "-fsyntax-only", "-I"]);
            command.arg(Path::new(CRATE).join("include")).arg(format!("-std={standard}")).arg(&source);
            let done = command.output().expect("the compiler can be started");
            let said = String::from_utf8_lossy(&done.stderr);
            let is_unknown = said.contains("unrecognized command-line option") || said.contains("invalid value");
            assert!(done.status.success() || is_unknown, "{standard}: {said}");
            !is_unknown
        };
        for names in standards {
            match names.iter().find(|name| is_known(name)) {
                Some(name) => println!("right in {name}"),
                None => println!("skipped: {} does not know {}", compiler.display(), names[0]),
            }
        }
    }
}

/// `tools/c_header.sh --check` compares all of the header, where there is cbindgen.
#[test]
fn every_function_is_in_the_header_and_in_the_manual() {
    let read = |path: PathBuf| std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let header = read(Path::new(CRATE).join("include/oriole.h"));
    let manual = read(Path::new(CRATE).join("../../docs/c.md"));
    let sources = std::fs::read_dir(Path::new(CRATE).join("src")).expect("a folder");
    let mut functions = 0;
    for source in sources.map(|entry| read(entry.expect("an entry").path())) {
        for (_, rest) in source.match_indices("extern \"C\" fn ").map(|(at, found)| source.split_at(at + found.len())) {
            let name = rest.split('(').next().unwrap_or_default();
            assert!(header.contains(&format!("{name}(")), "the header lacks {name}: tools/c_header.sh");
            assert!(manual.contains(&format!("`{name}`")), "docs/c.md lacks {name}");
            functions += 1;
        }
    }
    assert_eq!(functions, 43);
}
