//! `oriole diff`: what phases did, by the folder of `compile --dump-all`, against what other options say of the same code.

use oriole_prerequisites::{in_turn, is_thorough};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn oriole(folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_oriole")).current_dir(folder).args(arguments).output();
    let output = output.expect("oriole starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    output
}

fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = oriole(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The message and the status of what fails.
fn refused(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = oriole(folder, arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A folder with `phases/` of a kernel; what else the compilation prints.
fn dumped(kernel: &str, options: &[&str]) -> (tempfile::TempDir, PathBuf, Output) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx").join(kernel);
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::copy(path, folder.path().join("in.ptx")).expect("it is there");
    let arguments = [&["compile", "in.ptx", "-o", "out.cubin", "--dump-all", "phases"], options].concat();
    let output = oriole(folder.path(), &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = folder.path().to_owned();
    (folder, path, output)
}

fn json(folder: &Path, options: &[&str]) -> Vec<Value> {
    let text = printed(folder, &[&["diff", "phases", "--json"], options].concat());
    serde_json::from_str(&text).expect("an array")
}

/// The phases that are shown of a function.
fn phases(function: &Value) -> &[Value] {
    function["phases"].as_array().expect("phases")
}

/// The number behind a word of a line of `--stats`, such as `[rregs=12]`.
fn stated(stats: &str, word: &str) -> u64 {
    let (_, rest) = stats.split_once(word).unwrap_or_else(|| panic!("{word} in {stats}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

/// Figures behind the last phases are those of the other reports on the same code.
#[test]
fn figures_are_those_of_other_reports() {
    for name in ["gemm_tiled.sm_80.ptx", "sort.sm_90.ptx", "control_flow.sm_80.ptx"] {
        let (_held, folder, output) = dumped(name, &["--stats", "--pressure", "p.json"]);
        let stats = String::from_utf8_lossy(&output.stdout).into_owned();
        let stats: Vec<&str> = stats.split("# [inst=").skip(1).collect();
        let text = std::fs::read_to_string(folder.join("p.json")).expect("the report");
        let pressure: Value = serde_json::from_str(&text).expect("JSON");
        let functions = json(&folder, &["--all"]);
        assert_eq!(functions.len(), stats.len(), "{name}");
        for (at, function) in functions.iter().enumerate() {
            let steps = phases(function);
            let last = &steps.last().expect("phases")["after"];
            let context = format!("{name} {}", function["function"]);
            assert_eq!(
                last["instructions"],
                stats[at].split(']').next().expect("digits").parse::<u64>().expect("a number")
            );
            for (file, word) in [("R", "[rregs="), ("UR", "[urregs="), ("P", "[pregs="), ("UP", "[upregs=")] {
                assert_eq!(last["registers"][file], stated(stats[at], word), "{context} {file}");
            }
            let allocated = steps.iter().find(|step| step["phase"] == "AdvancedPhaseAllocReg").expect("it runs");
            let peaks = &pressure["functions"][at]["peaks"];
            for file in ["R", "UR", "P", "UP"] {
                let peak = peaks[file]["live"].as_u64().unwrap_or(0);
                assert_eq!(allocated["after"]["pressure"][file], peak, "{context} {file}");
            }
            // Up to allocation no register has a number, and what stands behind one phase stands before the next.
            assert!(allocated["before"]["registers"].is_null(), "{context}");
            assert!(steps.windows(2).all(|two| two[0]["after"] == two[1]["before"]), "{context}");
        }
    }
}

/// Rules fire as often as `--time-phases` says of all functions together, and phases that changed nothing are left out.
#[test]
fn rules_are_counted_by_function() {
    let (_held, folder, output) = dumped("sort.sm_90.ptx", &["--time-phases=json"]);
    let times: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    let optimise = times.as_array().expect("stages").iter().find(|stage| stage["name"] == "optimise").expect("a stage");
    let all = json(&folder, &["--all"]);
    let mut fired = 0;
    for pass in optimise["parts"].as_array().expect("passes") {
        let steps = all.iter().flat_map(phases).filter(|step| step["phase"] == pass["name"]);
        let mut sums = std::collections::BTreeMap::<String, u64>::new();
        for (rule, count) in steps.flat_map(|step| step["rules"].as_object().expect("rules")) {
            *sums.entry(rule.clone()).or_default() += count.as_u64().expect("a count");
        }
        fired += sums.len();
        assert_eq!(serde_json::to_value(&sums).expect("JSON"), pass["rewrites"], "{}", pass["name"]);
    }
    assert!(fired > 5, "{fired} rules show little");
    let shown = json(&folder, &[]);
    for (all, shown) in all.iter().zip(&shown) {
        let changed: Vec<&Value> = phases(all).iter().filter(|step| step["changed"] == true).collect();
        assert!(changed.len() < phases(all).len());
        assert_eq!(changed, phases(shown).iter().collect::<Vec<_>>());
    }
    let table = printed(&folder, &["diff", "phases"]);
    let rule = phases(&shown[0]).iter().find_map(|step| step["rules"].as_object()?.keys().next()).expect("a rule");
    assert!(table.lines().any(|line| line.trim_start().ends_with(rule.as_str())), "{rule}: {table}");
    assert!(table.contains("OriDoSyncronization") && !table.contains("OriRemoveNopCode"), "{table}");
    assert!(printed(&folder, &["diff", "phases", "--all"]).contains("OriRemoveNopCode"));
}

/// The text that a unified difference makes of another.
fn applied(before: &str, difference: &str) -> String {
    let lines: Vec<&str> = before.lines().collect();
    let (mut out, mut at) = (Vec::new(), 0);
    for line in difference.lines().skip(2) {
        if let Some(place) = line.strip_prefix("@@ -") {
            let start: usize = place.split([',', ' ']).next().and_then(|start| start.parse().ok()).expect("a line");
            out.extend(&lines[at..start - 1]);
            at = start - 1;
        } else if let Some(new) = line.strip_prefix('+') {
            out.push(new);
        } else {
            assert_eq!(&line[1..], lines[at], "a line that is not there");
            out.extend(line.starts_with(' ').then_some(lines[at]));
            at += 1;
        }
    }
    out.extend(&lines[at..]);
    out.join("\n") + "\n"
}

#[test]
fn the_difference_of_a_phase_leads_from_one_text_to_the_other() {
    for options in [&[][..], &["--rot13"]] {
        let (_held, folder, _) = dumped("vecadd.sm_80.ptx", options);
        let function = json(&folder, &["--all"]).remove(0);
        let name = function["function"].as_str().expect("a name");
        let text = |phase: &str| {
            let files = std::fs::read_dir(folder.join("phases")).expect("a folder");
            let (start, ending) = (format!("{name}."), format!("-{phase}.ori"));
            let names = files.map(|file| file.expect("an entry").file_name().into_string().expect("UTF-8"));
            let mut of_phase = names.filter(|file| file.starts_with(&start) && file.ends_with(&ending));
            of_phase.next().map(|file| std::fs::read_to_string(folder.join("phases").join(file)).expect("text"))
        };
        let mut now = text("Lowering").expect("what lowering made");
        for step in phases(&function) {
            let phase = step["phase"].as_str().expect("a name");
            let difference = printed(&folder, &["diff", "phases", "--function", name, "--phase", phase]);
            let of_json = json(&folder, &["--phase", phase, "--function", name]);
            assert_eq!(phases(&of_json[0])[0]["difference"], difference.as_str(), "{phase}");
            assert_eq!(difference.is_empty(), step["changed"] == false, "{phase}");
            let behind = text(phase).unwrap_or_else(|| now.clone());
            if !difference.is_empty() {
                assert_eq!(applied(&now, &difference), behind, "{phase}");
            }
            now = behind;
        }
    }
}

/// Whatever stands in a function, at any phase of any level: it can be measured. Kernels have their targets, and with them
/// the levels, in turn.
#[test]
fn every_kernel_has_a_history() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx");
    let names = std::fs::read_dir(kernels).expect("the kernels");
    let names = names.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut files = BTreeMap::<String, Vec<String>>::new();
    for name in names {
        files.entry(name.split('.').next().unwrap_or_default().to_owned()).or_default().push(name);
    }
    for (number, files) in files.values_mut().enumerate() {
        files.sort_unstable();
        for name in in_turn(number, files.iter()) {
            let levels: &[&str] = match name.contains(".sm_90.") {
                _ if is_thorough() => &["-O3", "-O0"],
                true => &["-O3"],
                false => &["-O0"],
            };
            for level in levels {
                let (_held, folder, _) = dumped(name, &[level]);
                for function in json(&folder, &["--all"]) {
                    let last = phases(&function).last().expect("phases run at every level");
                    assert!(last["after"]["instructions"].as_u64() > Some(0), "{name} {level}");
                    assert!(last["after"]["cycles"].as_f64() > Some(0.0), "{name} {level}");
                }
            }
        }
    }
}

#[test]
fn a_function_can_be_chosen() {
    let (_held, folder, _) = dumped("sort.sm_90.ptx", &[]);
    let all = json(&folder, &[]);
    assert!(all.len() > 1);
    let second = all[1]["function"].as_str().expect("a name");
    assert_eq!(json(&folder, &["--function", second]), all[1..2]);
    let table = printed(&folder, &["diff", "phases", "--function", second]);
    assert!(table.starts_with(&format!("kernel {second} for sm_90\n")), "{table}");
}

#[test]
fn the_folder_depends_on_no_threads() {
    let text = |options: &[&str]| {
        let (_held, folder, _) = dumped("sort.sm_90.ptx", options);
        std::fs::read_to_string(folder.join("phases/phases.json")).expect("the index")
    };
    assert_eq!(text(&[]), text(&["--jobs", "3"]));
}

#[test]
fn what_is_not_there_is_named() {
    let (_held, folder, _) = dumped("vecadd.sm_80.ptx", &[]);
    let index = folder.join("phases/phases.json");
    let text = std::fs::read_to_string(&index).expect("the index");
    let name = json(&folder, &[])[0]["function"].as_str().expect("a name").to_owned();
    let case = |arguments: &[&str], status: i32, words: &[&str]| {
        let (found, message) = refused(&folder, &[&["diff"], arguments].concat());
        assert_eq!(found, Some(status), "{message}");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    };
    case(&["nowhere"], 1, &["nowhere", "no such folder"]);
    case(&["."], 1, &["no phases.json", "--dump-all"]);
    case(&["phases", "--function", "other"], 1, &["no function 'other'", &name]);
    case(
        &["phases", "--phase", "Other"],
        2,
        &["no phase 'Other'", "GenerateMovPhi OptimizeSyncInstructions GeneralOptimize "],
    );
    case(&["phases", "--phase", "Lowering"], 2, &["no phase 'Lowering'", "GeneralOptimize"]);
    case(&["phases", "--phase", "GvnCse", "--all"], 2, &["--all"]);
    case(&[], 2, &["DIR"]);
    for (broken, words) in [
        (text[..text.len() / 2].to_owned(), "EOF"),
        (text.replace("\"instructions\"", "\"other\""), "instructions"),
        (text.replace("\"file\": \"", "\"file\": \"../"), "names no file"),
        (String::new(), "malformed"),
        ("[1, 2]".to_owned(), "malformed"),
    ] {
        std::fs::write(&index, broken).expect("it can be written");
        case(&["phases"], 1, &["phases.json", "malformed", words]);
    }
    std::fs::write(&index, &text).expect("it can be written");
    let gone = folder.join(format!("phases/{name}.029-GeneralOptimize.ori"));
    std::fs::remove_file(&gone).expect("it was there");
    case(&["phases", "--phase", "GeneralOptimize"], 1, &["GeneralOptimize.ori", "cannot be read"]);
    // Tables do not need it.
    assert!(printed(&folder, &["diff", "phases"]).contains("GeneralOptimize"));
}
