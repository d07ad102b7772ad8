//! Lines of constants that are asked for at a kernel's start.

use oriole_isa::Arch;
use oriole_ori::Function;
use oriole_ori::text::inst_text;
use oriole_sched::{Options, OrderSeed, schedule};

const REGISTERS: &str = "  .reg %R0 physical=0\n  .reg %R1 physical=1\n  .reg %UR2 physical=0\n";
/// Instructions that make a function long enough, and by themselves.
const LONG: usize = 40;
const FILLER: &str = "IADD3 %R1, PT, PT, %R1, 0x1, RZ, !PT, !PT";

/// The first instructions, up to the first that asks for nothing, of a function of two blocks in its new order.
fn asked_for(kind: &str, blocks: [&[&str]; 2], arch: Arch, most: usize) -> Vec<String> {
    let lines = |insts: &[&str]| insts.iter().map(|inst| format!("    {inst}\n")).collect::<String>();
    let (first, second) = (lines(blocks[0]), lines(blocks[1]));
    let text = format!(
        ".function {kind} f\n  .frame local=0 spill=0 align=0\n{REGISTERS}bix0: -> bix1\n{first}bix1:\n{second}    EXIT PT\n.end\n"
    );
    let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    schedule(&mut func, arch, &Options { reorder: true, constant_lines: most, seed: OrderSeed::default() })
        .expect("it can be scheduled");
    let text = |inst| inst_text(&func, inst).split(" ;").next().unwrap_or_default().to_owned();
    let all: Vec<String> = func.iter_insts().map(|(_, inst)| text(inst)).collect();
    let asked: Vec<String> = all.iter().filter(|text| text.contains("LDC RZ,")).cloned().collect();
    assert_eq!(asked, all[..asked.len()], "all else comes later");
    asked
}

/// Operands of three lines, and what makes the function long.
const OPERANDS: [&str; 4] = [
    "MOV %R0, c[0][0x160], 0xf",
    "MOV %R0, c[0][0x164], 0xf",
    "IADD3 %R0, PT, PT, %R0, c[0][0x184], RZ, !PT, !PT",
    "IADD3 %R0, PT, PT, %R0, c[3][0x8], RZ, !PT, !PT",
];

fn long(insts: &[&'static str]) -> Vec<&'static str> {
    insts.iter().copied().chain([FILLER; LONG]).collect()
}

#[test]
fn each_line_but_the_first_is_asked_for_once() {
    let asked = asked_for("entry", [&OPERANDS, &[FILLER; LONG]], Arch::Sm80, 3);
    assert_eq!(asked, ["LDC RZ, RZ, c[0][0x184]", "LDC RZ, RZ, c[3][0x8]"]);
}

#[test]
fn no_more_lines_are_asked_for_than_may_be() {
    assert_eq!(asked_for("entry", [&OPERANDS, &[FILLER; LONG]], Arch::Sm80, 1), ["LDC RZ, RZ, c[0][0x184]"]);
    assert!(asked_for("entry", [&OPERANDS, &[FILLER; LONG]], Arch::Sm80, 0).is_empty());
}

#[test]
fn short_kernels_and_functions_ask_for_nothing() {
    assert!(asked_for("entry", [&OPERANDS, &[FILLER; 4]], Arch::Sm80, 3).is_empty());
    assert!(asked_for("device", [&OPERANDS, &[FILLER; LONG]], Arch::Sm80, 3).is_empty());
}

#[test]
fn a_line_that_the_first_block_loads_comes_in_any_case() {
    let first = ["LDC %R0, RZ, c[0][0x160]", "LDC %R1, RZ, c[0][0x1c0]", "ULDC %UR2, c[0][0x184], URZ"];
    assert_eq!(asked_for("entry", [&first, &[FILLER; LONG]], Arch::Sm90, 3), ["LDC RZ, RZ, c[0][0x184]"]);
}

#[test]
fn a_line_that_a_later_block_loads_is_asked_for() {
    let first = ["LDC %R0, RZ, c[0][0x380]"];
    let second = long(&["LDC %R1, RZ, c[0][0x360]"]);
    assert_eq!(asked_for("entry", [&first, &second], Arch::Sm100, 3), ["LDC RZ, RZ, c[0][0x360]"]);
}

#[test]
fn nobody_knows_the_line_of_an_indexed_load() {
    let second = long(&["LDC %R1, %R0, c[3][0x0]"]);
    assert!(asked_for("entry", [&["LDC %R0, RZ, c[0][0x380]"], &second], Arch::Sm100, 3).is_empty());
}
