//! `compile --pressure`: registers by instruction, the peak, and what is in them there.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Loads so many words, and only then stores them elsewhere: each is in a register in between.
fn exchange(words: usize) -> String {
    let lines = |make: &dyn Fn(usize) -> String| (0..words).map(make).collect::<String>();
    let loads = lines(&|at| format!("ld.volatile.shared.u32 %r{at}, [s+{}];\n", 4 * at));
    let stores = lines(&|at| format!("st.volatile.shared.u32 [s+{}], %r{at};\n", 4 * (words + at)));
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() .maxntid 256 {{\n.shared .b32 s[64];\n\
         .reg .b32 %r<{words}>;\n{loads}{stores}ret;\n}}\n"
    )
}

fn compile(folder: &Path, ptx: &str, output: &str) -> Option<i32> {
    std::fs::write(folder.join("in.ptx"), ptx).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder).args(["compile", "in.ptx", "-o", "out.cubin", "--pressure", output]);
    command.output().expect("it runs").status.code()
}

fn function(words: usize) -> Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(compile(folder.path(), &exchange(words), "p.json"), Some(0));
    let text = std::fs::read_to_string(folder.path().join("p.json")).expect("it was written");
    let mut document: Value = serde_json::from_str(&text).expect("it is JSON");
    document["functions"][0].take()
}

#[test]
fn the_peak_is_where_all_words_are_in_registers() {
    let (few, many) = (function(8), function(40));
    let live = |function: &Value| function["peaks"]["R"]["live"].as_u64().expect("a number");
    assert_eq!(live(&many) - live(&few), 32);
    let peak = &many["peaks"]["R"];
    let values = peak["values"].as_array().expect("a list");
    assert_eq!(values.len() as u64, live(&many));
    let insts = many["instructions"].as_array().expect("a list");
    let at = peak["instruction"].as_u64().expect("a place") as usize;
    assert_eq!(insts[at]["live"]["R"], peak["live"]);
    assert!(insts.iter().all(|inst| inst["live"]["R"].as_u64() <= peak["live"].as_u64()));
    // Each word is written by a load of its own before the peak, and read by a store of its own behind it.
    let opcode = |place: &Value| {
        let place = place.as_u64()? as usize;
        insts[place]["text"].as_str()?.split([' ', '{']).next()
    };
    let words = |value: &&Value| (opcode(&value["written"]), opcode(&value["read"])) == (Some("LDS"), Some("STS"));
    assert_eq!(values.iter().filter(words).count(), 40);
    // 256 threads: 5 blocks of 8 warps with 41 to 48 registers, 6 with 40.
    assert_eq!(many["registers"].as_u64().map(|count| count.div_ceil(8)), Some(6));
    assert!(many["gain"].as_str().is_some_and(|gain| gain.ends_with("fewer: one block more")), "{}", many["gain"]);
}

#[test]
fn a_drawing_has_a_curve_for_each_file_and_other_names_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(compile(folder.path(), &exchange(8), "p.svg"), Some(0));
    let text = std::fs::read_to_string(folder.path().join("p.svg")).expect("it was written");
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"));
    // No predicate and no barrier is in use.
    let curves = ["R", "UR", "P", "UP", "B"].map(|file| text.contains(&format!(">{file}: at most ")));
    assert_eq!((curves[0], &curves[2..]), (true, &[false; 3][..]), "{text}");
    assert_eq!(text.matches("<polyline").count(), curves.iter().filter(|shown| **shown).count(), "{text}");
    assert_eq!(compile(folder.path(), &exchange(8), "p.txt"), Some(2));
    assert_eq!(compile(folder.path(), &exchange(8), "in.ptx"), Some(2));
}
