//! `oriole disasm --lines` and `--json`: the lines that nvdisasm says, and those that the PTX's `.loc` say.

use crate::scratch::{Scratch, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Code of two files, in a kernel and in a function that it calls.
const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"a.cu\"\n.file 2 \"/src/inc/b.h\"
.visible .func (.param .u32 r) f(.param .u32 a) { .reg .b32 %r<3>;
.loc 2 3 1
    ld.param.u32 %r1, [a];
.loc 2 4 1
    mul.lo.u32 %r2, %r1, %r1; st.param.u32 [r], %r2; ret; }
.visible .entry k(.param .u64 out) { .reg .b64 %rd<2>; .reg .b32 %r<5>;
.loc 1 30 2
    ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [%rd1];
.loc 2 7 9
    add.s32 %r2, %r1, 5;
{ .param .u32 x; .param .u32 y; st.param.u32 [x], %r2; call (y), f, (x); ld.param.u32 %r3, [y]; }
.loc 1 31 4
    st.global.u32 [%rd1], %r3;
.loc 1 32 1
    ret; }
";

/// Instructions of the module with the file and line of the `.loc` before them, and their line of the PTX.
const KNOWN: [(&str, (&str, u32), u32); 4] = [
    ("LDG", ("./a.cu", 30), 13),
    ("STG", ("./a.cu", 31), 18),
    ("EXIT", ("./a.cu", 32), 20),
    ("IMAD", ("/src/inc/b.h", 4), 10),
];

/// By section and address: the line that an instruction is under.
type Lines = BTreeMap<(String, u64), (String, u32)>;

/// What a listing of either disassembler says of each instruction.
fn lines_of(listing: &str) -> Lines {
    let (mut section, mut place, mut found) = (String::new(), None, Lines::new());
    for line in listing.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = line.trim().strip_prefix(".section") {
            (section, place) = (name.trim().split(',').next().unwrap_or_default().to_owned(), None);
        } else if let Some((file, number)) =
            line.trim().strip_prefix("//## File \"").and_then(|rest| rest.split_once("\", line "))
        {
            place = Some((file.to_owned(), number.parse().expect("a number")));
        } else if let (Some(address), Some(place)) = (words.first().and_then(|word| address(word)), &place) {
            found.insert((section.clone(), address), place.clone());
        }
    }
    found
}

fn address(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("/*")?.strip_suffix("*/")?, 16).ok()
}

fn nvdisasm(tool: &Path, option: &str, cubin: &Path) -> Lines {
    let output = Command::new(tool).args([option, "-c"]).arg(cubin).output().expect("nvdisasm starts");
    assert!(output.status.success(), "nvdisasm {option}: {:?}", output.status);
    lines_of(&String::from_utf8_lossy(&output.stdout))
}

/// What Oriole prints in the folder.
fn succeeds(scratch: &Scratch, words: &str) -> String {
    let output = scratch.run(words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    text(&output)
}

/// Compilers, each with what it leaves of the module in a file of that name.
fn cubins(scratch: &Scratch) -> Vec<&'static str> {
    scratch.write("in.ptx", PTX);
    // The function's label is looked for.
    let ours = [("lines.cubin", "--lineinfo --knob inline=0"), ("debug.cubin", "-g")];
    let mut made: Vec<&str> = ours
        .map(|(name, option)| {
            succeeds(scratch, &format!("compile in.ptx -o {name} {option}"));
            name
        })
        .to_vec();
    if let Some(ptxas) = oriole_prerequisites::tool("ptxas") {
        for (name, option) in [("ptxas-lines.cubin", "-lineinfo"), ("ptxas-debug.cubin", "-g")] {
            let mut command = Command::new(&ptxas);
            command.args(["-arch=sm_90", option, "-o"]).arg(scratch.path(name)).arg(scratch.path("in.ptx"));
            assert!(command.output().expect("ptxas starts").status.success(), "{option}");
            made.push(name);
        }
    }
    made
}

#[test]
fn each_instruction_is_under_the_line_that_nvdisasm_puts_it_under() {
    let scratch = Scratch::new();
    let cubins = cubins(&scratch);
    let Some(tool) = oriole_prerequisites::tool("nvdisasm") else { return };
    for name in cubins {
        for (option, of) in [("-g", "source"), ("-gp", "ptx")] {
            let want = nvdisasm(&tool, option, &scratch.path(name));
            assert!(want.len() >= 10, "{name}, {of}: nvdisasm says nothing");
            assert_eq!(lines_of(&succeeds(&scratch, &format!("disasm --lines={of} {name}"))), want, "{name}, {of}");
        }
    }
}

#[test]
fn lines_are_those_of_loc_in_the_listing_and_in_json() {
    let scratch = Scratch::new();
    for name in cubins(&scratch) {
        for (of, option) in [("source", ""), ("ptx", " --lines=ptx")] {
            let listing = succeeds(&scratch, &format!("disasm --lines={of} {name}"));
            let found: Vec<(String, u32)> = lines_of(&listing).into_values().collect();
            let json: Value =
                serde_json::from_str(&succeeds(&scratch, &format!("disasm --json{option} {name}"))).expect("JSON");
            for (mnemonic, (file, line), ptx) in KNOWN {
                let (file, line) = if of == "ptx" { (".nv_debug_ptx_txt", ptx) } else { (file, line) };
                // ptxas writes no folder where the name has none.
                let names = [file, file.trim_start_matches("./")];
                let is = |file: &str, number| names.contains(&file) && number == line;
                assert!(found.iter().any(|(file, number)| is(file, *number)), "{name}, {of}: {file}:{line}\n{listing}");
                let inst = instruction(&json, mnemonic);
                let number = inst["line"].as_u64().expect("a line") as u32;
                assert!(is(inst["file"].as_str().expect("a file"), number), "{name}: {inst}");
            }
        }
    }
}

/// The first instruction of a mnemonic in the document.
fn instruction<'a>(json: &'a Value, mnemonic: &str) -> &'a Value {
    let functions = json["functions"].as_array().expect("functions").iter();
    let mut insts = functions.flat_map(|function| function["instructions"].as_array().expect("instructions"));
    // Moves are no products of the source.
    let is = |text: &str| text.starts_with(mnemonic) && !text.starts_with("IMAD.MOV");
    let starts = |inst: &&Value| inst["text"].as_str().is_some_and(is);
    insts.find(starts).unwrap_or_else(|| panic!("no {mnemonic}"))
}

#[test]
fn the_text_of_the_lines_is_shown_where_it_is_found() {
    let scratch = Scratch::new();
    cubins(&scratch);
    let source: String = (1..=40).map(|number| format!("text of {number};\n")).collect();
    scratch.write("a.cu", source);
    let listing = succeeds(&scratch, "disasm --lines --source lines.cubin");
    for number in [30, 31, 32] {
        assert!(listing.contains(&format!("a.cu\", line {number}\n\t//   text of {number};\n")), "{listing}");
    }
    // The header is nowhere.
    assert!(listing.contains("/src/inc/b.h\", line 7\n        /*"), "{listing}");
    let of_ptx = succeeds(&scratch, "disasm --lines=ptx --source lines.cubin");
    assert!(of_ptx.contains("line 18\n\t//       st.global.u32 [%rd1], %r3;\n"), "{of_ptx}");
}

/// What the words of the document say is what `--hex` makes of them.
#[test]
fn json_has_words_text_and_control() {
    let scratch = Scratch::new();
    cubins(&scratch);
    let json: Value = serde_json::from_str(&succeeds(&scratch, "disasm --json lines.cubin")).expect("JSON");
    assert_eq!(json["target"], "sm_90");
    let function = &json["functions"][0];
    assert_eq!((&function["name"], &function["kernel"]), (&"k".into(), &true.into()));
    let insts = function["instructions"].as_array().expect("instructions");
    let word = |inst: &Value| {
        format!("{} {:x}\n", inst["word"].as_str().expect("a word"), inst["address"].as_u64().unwrap_or(0))
    };
    scratch.write("words", insts.iter().map(word).collect::<String>());
    let texts = succeeds(&scratch, "disasm --hex --arch sm_90 --control words");
    assert_eq!(texts.lines().count(), insts.len());
    for (inst, text) in insts.iter().zip(texts.lines()) {
        let (bits, text) = text.split_once(' ').expect("control and text");
        let control = &inst["control"];
        let scoreboard = |value: &Value| value.as_u64().map_or("-".to_owned(), |number| number.to_string());
        let waits: Vec<u64> = control["wait"].as_array().expect("waits").iter().filter_map(Value::as_u64).collect();
        let waits: String =
            (0..6).map(|at| if waits.contains(&at) { at.to_string() } else { "-".to_owned() }).collect();
        let stay = if control["stay"] == true { 'Y' } else { '-' };
        let (read, write) = (scoreboard(&control["read"]), scoreboard(&control["write"]));
        let stall = control["stall"].as_u64().expect("a stall count");
        assert_eq!(format!("B{waits}:R{read}:W{write}:{stay}:S{stall:02}"), bits, "{inst}");
        // Targets of branches are names in one of them and numbers in the other.
        if !text.contains("0x") {
            assert_eq!(inst["text"], text, "{inst}");
        }
    }
    assert!(insts.iter().any(|inst| inst["label"] == "$k$f"), "no label of the function inside");
}

#[test]
fn a_cubin_without_line_tables_has_no_lines_to_show() {
    let scratch = Scratch::new();
    scratch.write("in.ptx", PTX);
    succeeds(&scratch, "compile in.ptx -o k.cubin");
    assert_eq!(
        scratch.says("disasm --lines k.cubin", 1),
        "error: k.cubin: no line table: the cubin was made without --lineinfo or -g\n"
    );
    let json: Value = serde_json::from_str(&succeeds(&scratch, "disasm --json k.cubin")).expect("JSON");
    assert_eq!(instruction(&json, "STG")["line"], Value::Null);
    scratch.says("disasm --lines --hex --arch sm_90 words", 2);
    scratch.says("disasm --json --all k.cubin", 2);
}

/// What a launch of a cubin says of the code has the lines of the cubin's own table.
#[test]
fn a_launch_of_a_cubin_names_its_lines() {
    let scratch = Scratch::new();
    for name in cubins(&scratch) {
        let text = scratch.says(&format!("run {name} --entry k --block 32 zero:0"), 3);
        assert!(text.contains("illegal address") && text.contains("a.cu:30"), "{name}: {text}");
        let text = scratch.says(&format!("run {name} --entry k --block 32 --check global-init out:o.bin:4"), 3);
        assert!(text.contains("uninitialised") && text.contains("a.cu:30"), "{name}: {text}");
    }
}
