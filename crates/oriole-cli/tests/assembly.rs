//! Cubins as text and back: the same bytes, patched code that runs, text that is damaged.

use crate::read_back;

use oriole_assembly::{assemble, disassemble};
use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::Cubin;
use oriole_device::{Launch, Memory, argument};
use oriole_isa::Arch;
use oriole_sim::{Options, Simulator};
use std::path::Path;

/// Every bundled kernel, compiled for a target of each layout of cubins.
fn cubins() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/kernels/ptx");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("bundled kernels").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    let compiled = files.iter().filter_map(|path| {
        let ptx = std::fs::read_to_string(path).expect("text");
        let compiled = compile(&ptx, &CompileOptions::default()).ok()?;
        read_back::cubin(&compiled.cubin);
        Some((path.display().to_string(), compiled.cubin))
    });
    let cubins: Vec<_> = compiled.collect();
    assert!(cubins.len() >= 20, "only {} kernels compile", cubins.len());
    cubins
}

#[test]
fn the_same_bytes_come_back() {
    for (name, cubin) in cubins() {
        let text = disassemble(&cubin).expect("a cubin");
        assert!(!text.contains(".word"), "{name}: not all code is text");
        assert_eq!(assemble(&text), Ok(cubin), "{name}");
    }
}

const ADD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n
.visible .entry add(.param .u64 out, .param .f32 x)
{
    .reg .f32 %f<3>;
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    .reg .pred %p;
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [x];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, 3;
again:
    add.f32 %f1, %f1, 0f3F800000;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra again;
    st.global.f32 [%rd2], %f1;
    ret;
}
";

/// What `add` stores for x = 2.
fn result(cubin: &[u8]) -> f32 {
    let cubin = Cubin::parse(cubin).expect("a cubin");
    let simulator = Simulator::new(&cubin, Options { strict: true, ..Options::default() }).expect("it loads");
    let mut memory = Memory::new();
    let out = memory.allocate_with("out", &[0; 4]);
    let value = argument::Argument::Value;
    let arguments = [value(out.to_le_bytes().to_vec()), value(2f32.to_le_bytes().to_vec())];
    let parameters = simulator.parameters("add").expect("its parameters");
    let bound = argument::bind(&arguments, &parameters, &mut memory).expect("arguments fit");
    let launch = Launch { grid: [1, 1, 1], block: [1, 1, 1], params: bound.params, ..Launch::default() };
    simulator.launch("add", &launch, &mut memory).expect("it runs");
    let bytes = memory.read(out, 4).expect("the buffer");
    f32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

fn listing() -> (Vec<u8>, String) {
    let options = CompileOptions { target: Some(Arch::Sm90.into()), ..CompileOptions::default() };
    let cubin = compile(ADD, &options).expect("it compiles").cubin;
    let text = disassemble(&cubin).expect("a cubin");
    (cubin, text)
}

#[test]
fn a_patched_constant_changes_the_result() {
    let (cubin, text) = listing();
    assert_eq!(result(&cubin), 5.0);
    let line = text.lines().find(|line| line.contains("FADD")).expect("an addition");
    let patched = text.replace(line, &line.replace(", 1 ;", ", 10 ;"));
    assert_ne!(patched, text);
    assert_eq!(result(&assemble(&patched).expect("it assembles")), 32.0);
}

/// An addition in the loop makes the code longer: the branch, the symbol, the offsets of `EXIT` in
/// `.nv.info` and all sections behind follow.
#[test]
fn an_added_instruction_moves_the_rest() {
    let (cubin, text) = listing();
    let line = text.lines().find(|line| line.contains("FADD")).expect("an addition");
    let (_, body) = line.split_once("*/ B").expect("an address and control");
    let (_, body) = body.split_once(' ').expect("an instruction behind its control");
    let copies = format!("        B------:R-:W-:-:S15 {body}\n").repeat(9);
    // The strict simulator sees to it that the first of them leaves time for its result.
    let stall = line.find(":S").expect("a stall count") + 2;
    let first = format!("{}15{}", &line[..stall], &line[stall + 2..]);
    let longer = assemble(&text.replace(line, &format!("{first}\n{copies}"))).expect("it assembles");
    assert_eq!(result(&longer), 2.0 + 3.0 * 10.0);
    let (before, after) = (Cubin::parse(&cubin).expect("a cubin"), Cubin::parse(&longer).expect("a cubin"));
    assert_eq!(after.functions[0].size, before.functions[0].size + 9 * 16);
    let exits = |cubin: &Cubin| {
        let records =
            cubin.functions[0].info.iter().filter(|a| a.eiattr().is_some_and(|e| e.name == "EXIT_INSTR_OFFSETS"));
        records.flat_map(|record| record.as_words()).collect::<Vec<u32>>()
    };
    assert!(!exits(&before).is_empty());
    assert_eq!(exits(&after), exits(&before).iter().map(|at| at + 9 * 16).collect::<Vec<_>>());
    // Its own text is a fixed point again.
    assert_eq!(assemble(&disassemble(&longer).expect("a cubin")), Ok(longer));
}

#[test]
fn errors_name_the_line() {
    let (_, text) = listing();
    let at = text.lines().position(|line| line.contains("FADD")).expect("an addition");
    let error = assemble(&text.replace("FADD", "FADDLE")).expect_err("no such instruction");
    assert_eq!(error.line, at + 1);
    assert!(error.message.contains("FADDLE"), "{error}");
    for (text, said) in
        [("", "no '.elf' line"), ("EXIT ;", "disasm --all"), (".elf size=9999999999", "larger than any file")]
    {
        let error = assemble(text).expect_err("no cubin");
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// Numbers that would make a large file out of a short text.
#[test]
fn files_are_not_mostly_gaps() {
    let (_, text) = listing();
    let refused = |text: &str, said: &str| {
        let error = assemble(text).expect_err("too large");
        assert!(error.message.contains(said), "{error}");
    };
    let header = text.lines().find(|line| line.contains(".elf ")).expect("the first line");
    for field in ["size", "phoff", "shoff"] {
        let word = header.split_whitespace().find(|word| word.starts_with(field)).expect("a field");
        refused(&text.replacen(word, &format!("{field}=0x3fffffff"), 1), "the text gives only");
    }
    let section = text.lines().find(|line| line.contains(".section ") && line.contains("offset=")).expect("a section");
    let offset = section.split_whitespace().find(|word| word.starts_with("offset")).expect("a field");
    let moved = section.replace(offset, "offset=0x3fffffff");
    refused(&text.replacen(section, &moved, 1), "the text gives only");
    refused(&format!("{text}\n{}", ".zero 200000000\n".repeat(2)), "'.zero' lines");
}

/// Any line lost, doubled or cut gives an error or a file.
#[test]
fn damaged_text_does_not_panic() {
    let (_, text) = listing();
    let lines: Vec<&str> = text.lines().collect();
    for at in 0..lines.len() {
        let mut damaged = lines.clone();
        damaged.remove(at);
        let _ = assemble(&damaged.join("\n"));
        damaged.insert(at, &lines[at][..lines[at].len() / 2]);
        let _ = assemble(&damaged.join("\n"));
        damaged[at] = lines[(at * 7 + 3) % lines.len()];
        let _ = assemble(&damaged.join("\n"));
    }
}

/// Any byte changed gives an error or a text.
#[test]
fn damaged_cubins_do_not_panic() {
    let (cubin, _) = listing();
    for at in (0..cubin.len()).step_by(3) {
        let mut damaged = cubin.clone();
        damaged[at] ^= 0xff;
        if let Ok(text) = disassemble(&damaged) {
            let _ = assemble(&text);
        }
        let _ = disassemble(&cubin[..at]);
    }
}
