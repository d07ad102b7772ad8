//! Control words of small functions against what is known of ptxas's code (docs/sources.md, Latencies).
//! Whole kernels are judged by the strict simulator (`crates/oriole-cli/tests/kernels.rs`).

use oriole_isa::{Arch, Control, Opcode};
use oriole_ori::{Function, InstId};
use oriole_sched::{Options, OrderSeed, schedule};

/// Schedule the function in `body` without changing its order; the instructions with their control words.
fn control_words(registers: &str, body: &str, arch: Arch, reorder: bool) -> Vec<(Opcode, Control)> {
    let text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{registers}{body}.end\n");
    let mut func: Function = text.parse().expect("the function is well formed");
    schedule(&mut func, arch, &Options { reorder, constant_lines: 0, seed: OrderSeed::default() })
        .expect("it can be scheduled");
    let ids: Vec<InstId> = func.iter_insts().map(|(_, id)| id).collect();
    ids.into_iter().map(|id| (func[id].opcode, func[id].control)).collect()
}

const REGISTERS: &str = "  .reg %R0 physical=0\n  .reg %R1 physical=2\n  .reg %R2 physical=3\n  .reg %D3 physical=4\n  .reg %P4 physical=0\n";

#[test]
fn a_dependent_addition_waits_for_its_operand() {
    let body = "bix0:\n    IADD3 %R0, PT, PT, %R1, 0x1, RZ, !PT, !PT\n    IADD3 %R2, PT, PT, %R0, 0x1, RZ, !PT, !PT\n    EXIT PT\n";
    let words = control_words(REGISTERS, body, Arch::Sm80, false);
    // ALU to ALU: 4 cycles (docs/sources.md, Latencies).
    assert_eq!(words[0].1.stall, 4);
    assert!(words.iter().all(|(_, c)| c.wait_mask == 0 && c.write_scoreboard == Control::NO_SCOREBOARD));
}

#[test]
fn a_load_is_waited_for_by_its_reader_only() {
    let body = "bix0:\n    LDS %R0, %R1, URZ, 0x0\n    IADD3 %R2, PT, PT, %R1, 0x1, RZ, !PT, !PT\n    IADD3 %R2, PT, PT, %R0, 0x1, RZ, !PT, !PT\n    EXIT PT\n";
    let words = control_words(REGISTERS, body, Arch::Sm90, false);
    let scoreboard = words[0].1.write_scoreboard;
    assert!(scoreboard < 6, "the load sets no scoreboard");
    assert_eq!(words[1].1.wait_mask, 0);
    assert_eq!(words[2].1.wait_mask, 1 << scoreboard);
}

#[test]
fn a_guard_waits_thirteen_cycles() {
    let body = "bix0: -> bix1, bix1\n    ISETP %P4, PT, %R0, %R1, PT, PT\n    @%P4 BRA PT, bix1\nbix1:\n    EXIT PT\n";
    let words = control_words(REGISTERS, body, Arch::Sm80, false);
    assert_eq!((words[0].0, words[0].1.stall), (Opcode::ISETP, 13));
    assert!(words[1].1.stall >= 5, "BRA stalls for at least 5");
}

#[test]
fn latency_reaches_across_blocks() {
    // The reader is the first instruction of the next block; nothing stands between.
    let body = "bix0: -> bix1\n    IMAD %R0, PT, %R1, %R1, RZ, !PT\nbix1:\n    IADD3 %R2, PT, PT, %R0, 0x1, RZ, !PT, !PT\n    EXIT PT\n";
    let words = control_words(REGISTERS, body, Arch::Sm80, false);
    // FMA to ALU: 5 cycles.
    assert_eq!(words[0].1.stall, 5);
}

#[test]
fn independent_work_moves_between_a_load_and_its_reader() {
    let body = "bix0:\n    LDS %R0, %R1, URZ, 0x0\n    IADD3 %R0, PT, PT, %R0, 0x1, RZ, !PT, !PT\n    IADD3 %R2, PT, PT, %R1, 0x1, RZ, !PT, !PT\n    EXIT PT\n";
    let words = control_words(REGISTERS, body, Arch::Sm80, true);
    let waiting = words.iter().position(|(_, c)| c.wait_mask != 0);
    assert_eq!(waiting, Some(2), "the reader should come last: {words:?}");
}

#[test]
fn a_store_keeps_its_operand_until_it_is_read() {
    let body = "bix0:\n    STS %R1, URZ, 0x0, %R0\n    IADD3 %R0, PT, PT, %R2, 0x1, RZ, !PT, !PT\n    EXIT PT\n";
    let words = control_words(REGISTERS, body, Arch::Sm80, false);
    let scoreboard = words[0].1.read_scoreboard;
    assert!(scoreboard < 6, "the store's operands are not guarded");
    assert_eq!(words[1].1.wait_mask, 1 << scoreboard);
}

#[test]
fn groups_of_copies_have_scoreboard_0_to_themselves() {
    // ptxas 13.0: LDGDEPBAR releases SB0 as a result, DEPBAR.LE SB0 waits for groups.
    let body = "bix0:\n    LDGDEPBAR\n    LDS %R0, %R1, URZ, 0x0\n    IADD3 %R2, PT, PT, %R0, 0x1, RZ, !PT, !PT\n    EXIT PT\n";
    let words = control_words(REGISTERS, body, Arch::Sm80, false);
    assert_eq!((words[0].0, words[0].1.write_scoreboard), (Opcode::LDGDEPBAR, 0));
    assert_ne!(words[1].1.write_scoreboard, 0);
    assert_eq!(words[2].1.wait_mask, 1 << words[1].1.write_scoreboard);
}

#[test]
fn what_follows_a_fence_of_the_asynchronous_proxy_waits_for_it() {
    // ptxas 13.0: MEMBAR releases a scoreboard of sources that FENCE waits for, FENCE one of results.
    let body = "bix0:\n    MEMBAR\n    FENCE\n    UTMACMDFLUSH\n    EXIT PT\n";
    let words = control_words(REGISTERS, body, Arch::Sm90, false);
    assert_eq!(words[1].1.wait_mask, 1 << words[0].1.read_scoreboard);
    assert_eq!(words[2].1.wait_mask, 1 << words[1].1.write_scoreboard);
    assert_eq!(words[2].1.read_scoreboard, 0);
}

/// From sm_100 on there are uniform registers above 62: UDP to UDP takes 4 cycles for them too (`latency.tsv`).
#[test]
fn uniform_registers_above_62_are_waited_for() {
    let sum = |d: &str, a: &str| format!("    UIADD3 {d}, UPT, UPT, {a}, 0x1, URZ, !UPT, !UPT\n");
    for (first, second) in [(4, 5), (62, 63), (70, 79)] {
        let registers = format!("  .reg %UR0 physical={first}\n  .reg %UR1 physical={second}\n");
        let body = format!("bix0:\n{}{}    EXIT PT\n", sum("%UR0", "URZ"), sum("%UR1", "%UR0"));
        let words = control_words(&registers, &body, Arch::Sm100, false);
        assert_eq!(words[0].1.stall, 4, "UR{first}");
    }
}

#[test]
fn a_wait_that_no_stall_count_holds_stands_behind_the_instruction() {
    // HMMA.16816 to ALU: 24 cycles (raw.tsv, 32x80 pairs of ptxas's code), where a count goes to 15.
    let registers = "  .reg %Q0 physical=4\n  .reg %Q1 physical=8\n  .reg %D2 physical=12\n  .reg %R3 physical=14\n";
    let body = "bix0:\n    HMMA{hmma_shape=M16N8K16} %Q0, %Q1, %D2, RZ, UPT, RZ, 0x0\n    IADD3 %R3, PT, PT, %Q0.3, 0x1, RZ, !PT, !PT\n    EXIT PT\n";
    let words = control_words(registers, body, Arch::Sm80, false);
    let reader = words.iter().position(|(opcode, _)| *opcode == Opcode::IADD3).expect("it is there");
    assert_eq!(words[0].0, Opcode::HMMA);
    assert!(reader > 1 && words[1..reader].iter().all(|(opcode, _)| *opcode == Opcode::NOP), "{words:?}");
    assert_eq!(words[..reader].iter().map(|(_, control)| u32::from(control.stall)).sum::<u32>(), 24);
}
