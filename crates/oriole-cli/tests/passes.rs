//! What options say about passes: times and counts, limits, the search for the rewrite that changes a result.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn oriole(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder).args(arguments).output().expect("oriole starts")
}

/// A folder with this as `in.ptx`.
fn folder_with(ptx: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("in.ptx"), ptx).expect("it can be written");
    let path = folder.path().to_owned();
    (folder, path)
}

/// Two products with sums whose roundings PTX leaves open: they are fused, and round otherwise then.
const PRODUCTS: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
    .reg .f32 %f<8>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [in];
    cvta.to.global.u64 %rd4, %rd3;
    ld.global.f32 %f1, [%rd4];
    ld.global.f32 %f2, [%rd4+4];
    mul.f32 %f3, %f1, %f2;
    add.f32 %f4, %f3, %f2;
    mul.f32 %f5, %f4, %f1;
    sub.f32 %f6, %f5, %f2;
    st.global.f32 [%rd2], %f6;
    ret;
}
";

/// The part of that name, wherever it is in the tree.
fn find<'v>(parts: &'v Value, name: &str) -> Option<&'v Value> {
    let mut parts = parts.as_array()?.iter();
    parts.find_map(|part| if part["name"] == name { Some(part) } else { find(&part["parts"], name) })
}

fn times(folder: &Path, options: &[&str]) -> Value {
    let arguments = [&["compile", "in.ptx", "-o", "out.cubin", "--time-phases=json"], options].concat();
    let output = oriole(folder, &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stderr).expect("JSON")
}

#[test]
fn times_are_a_tree_with_what_rules_did() {
    let (_held, folder) = folder_with(PRODUCTS);
    let all = times(&folder, &[]);
    let stages: Vec<&str> = all.as_array().into_iter().flatten().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(stages[..3], ["parse", "lower", "optimise"]);
    let general = find(&all, "GeneralOptimize").expect("the pass ran");
    assert_eq!((&general["runs"], &general["changed"]), (&1.into(), &1.into()));
    assert_eq!(general["rewrites"]["contract: product and sum"], 2, "{general:#}");
    let without = times(&folder, &["--no-fma"]);
    let general = find(&without, "GeneralOptimize").expect("the pass ran");
    assert!(general["rewrites"].get("contract: product and sum").is_none(), "{general:#}");
    // What does not run has no line.
    assert!(find(&times(&folder, &["-O0"]), "GeneralOptimize").is_none());
    let table = oriole(&folder, &["compile", "in.ptx", "-o", "out.cubin", "--time-phases"]).stderr;
    let table = String::from_utf8_lossy(&table).into_owned();
    let line = |name: &str| table.lines().find(|line| line.trim_start().starts_with(name)).map(str::to_owned);
    assert!(line("optimise").is_some_and(|line| line.starts_with("optimise")), "{table}");
    assert!(line("GvnCse").is_some_and(|line| line.starts_with("  GvnCse")), "{table}");
    assert!(line("contract:").is_some_and(|line| line.starts_with("    ") && line.ends_with(" 2")), "{table}");
}

fn listing(folder: &Path, options: &[&str]) -> String {
    let output = oriole(folder, &[&["compile", "in.ptx", "-o", "out.cubin"], options].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&oriole(folder, &["disasm", "out.cubin"]).stdout).into_owned()
}

/// Rewrites are switched on one by one: none of them, and all of them, are the run left out and the run in full.
#[test]
fn a_limit_goes_by_rewrites_too() {
    let (_held, folder) = folder_with(PRODUCTS);
    // The runs before slot 29's are 10, 11, 15, 16 and 71.
    let fused = |limit: &str| listing(&folder, &["--pass-limit", limit]).matches("FFMA").count();
    let counts: Vec<usize> = (0..40).map(|rewrites| fused(&format!("6:{rewrites}"))).collect();
    assert!(counts.is_sorted(), "{counts:?}");
    assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&2)), "{counts:?}");
    assert!(counts.contains(&1), "both at once: {counts:?}");
    assert_eq!(fused("6"), 2);
    assert_eq!(fused("5"), 0);
    let said = oriole(&folder, &["compile", "in.ptx", "-o", "out.cubin", "--pass-limit", "6:2"]).stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("GeneralOptimize of function 'k', with 2 rewrites"), "{said}");
    assert_eq!(
        oriole(&folder, &["compile", "in.ptx", "-o", "out.cubin", "--pass-limit", "5:x"]).status.code(),
        Some(2)
    );
}

/// What `oriole bisect` prints of it, with its status.
fn bisect(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = oriole(folder, &[&["bisect", "in.ptx"], arguments].concat());
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Products that are rounded, or not, before they go into sums: the results differ. What is wrong for who takes the code of
/// `-O0` for right is the fusing.
#[test]
fn a_launch_finds_the_rewrite() {
    let (_held, folder) = folder_with(PRODUCTS);
    let (a, b) = (1.1_f32, 3.3_f32);
    let rounded = ((a * b + b) * a) - b;
    let fused = a.mul_add(b, b).mul_add(a, -b);
    assert_ne!(rounded, fused, "these values show nothing");
    std::fs::write(folder.join("in.bin"), [a.to_le_bytes(), b.to_le_bytes()].concat()).expect("it can be written");
    let (status, text) = bisect(&folder, &["--", "--entry", "k", "--strict", "out:out.bin:4", "in:in.bin"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("GeneralOptimize on function 'k'\n"), "{text}");
    assert!(text.contains(": contract: product and sum\n"), "{text}");
    assert!(text.contains("\n+     FFMA"), "{text}");
    assert!(!folder.join("out.bin").exists(), "the search writes no buffers");
    let (status, text) = bisect(&folder, &["--no-fma", "--", "--entry", "k", "out:out.bin:4", "in:in.bin"]);
    assert!(status == Some(1) && text.contains("there is nothing to find"), "{text}");
}

#[test]
fn a_command_finds_the_rewrite() {
    let (_held, folder) = folder_with(PRODUCTS);
    let oriole = env!("CARGO_BIN_EXE_oriole");
    // The second product is fused second.
    let judge = format!("test $('{oriole}' disasm $CUBIN | grep -c FFMA) -lt 2");
    let (status, text) = bisect(&folder, &["--judge", &judge]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("pass 6 of ") && text.contains(": contract: product and sum\n"), "{text}");
    // What it says holds for `compile`.
    let limit = |word: &str| {
        let (_, rest) = text.split_once(&format!("{word} with --pass-limit ")).expect("a limit");
        rest.split([',', ' ']).next().map(|limit| limit.trim_end_matches(':').to_owned()).expect("a limit")
    };
    let fused = |limit: &str| listing(&folder, &["--pass-limit", limit]).matches("FFMA").count();
    assert_eq!((fused(&limit("right")), fused(&limit("wrong"))), (1, 2), "{text}");
    let wrong_before = bisect(&folder, &["--judge", "false"]);
    assert!(wrong_before.0 == Some(1) && wrong_before.1.contains("without any optional pass"), "{}", wrong_before.1);
    for wrong in
        [&["--judge", "true", "-O0"][..], &["--pass-limit", "3", "--judge", "true"], &[], &["--", "--grid", "x"]]
    {
        assert_eq!(bisect(&folder, wrong).0, Some(2), "{wrong:?}");
    }
}
