//! Timelines of code written by hand, against cycles counted by hand and the latencies of the tables.

use crate::assembled::{EXIT, Line, cubin};
use oriole_check::{BlockTimeline, Reason, timeline};
use oriole_isa::{Arch, Opcode};

fn blocks(lines: &[Line]) -> Vec<BlockTimeline> {
    let mut all =
        timeline(&cubin(oriole_cubin::Target::new(80), Arch::Sm80, lines, None), &[]).expect("a known target");
    assert_eq!(all.len(), 1);
    all.remove(0).blocks
}

fn cycles(block: &BlockTimeline) -> Vec<u32> {
    block.instructions.iter().map(|issue| issue.cycle).collect()
}

#[test]
fn stall_counts_are_explained_by_results() {
    let lines = [("IADD3 R0, R1, R2, RZ", "4"), ("IADD3 R3, R0, R2, RZ", "1"), ("IADD3 R4, R1, R2, RZ", "3"), EXIT];
    let blocks = blocks(&lines);
    assert_eq!(cycles(&blocks[0]), [0, 4, 5, 8]);
    let reasons: Vec<_> = blocks[0].instructions.iter().map(|issue| issue.reason).collect();
    assert_eq!(reasons, [None, Some(Reason::Latency { of: 0 }), None, Some(Reason::StallCount)]);
    let stalled: Vec<_> = blocks[0].instructions.iter().map(|issue| issue.stalled).collect();
    assert_eq!(stalled, [0, 3, 0, 2]);
    let bound = &blocks[0].instructions[1].bounds[0];
    assert_eq!((bound.on, bound.register.as_str(), bound.kind.name(), bound.from), (0, "R0", "read", 4));
    assert_eq!((blocks[0].address, blocks[0].cycles), (0, 13));
}

#[test]
fn waits_end_with_the_last_that_is_outstanding() {
    let lines = [
        ("LDG.E R4, [R2]", "1:W0"),
        ("LDG.E R5, [R2+0x4]", "1:W0"),
        ("IADD3 R8, R9, R9, RZ", "2"),
        ("IADD3 R6, R4, R8, RZ", "4:B0"),
        ("IADD3 R7, R6, R5, RZ", "1"),
        EXIT,
    ];
    let blocks = blocks(&lines);
    let there = 1 + Opcode::LDG.estimate();
    assert_eq!(cycles(&blocks[0]), [0, 1, 2, there, there + 4, there + 5]);
    let reason = Some(Reason::Scoreboard { scoreboard: 0, of: 1, sources: false });
    assert_eq!(blocks[0].instructions[3].reason, reason);
    assert_eq!(blocks[0].instructions[3].stalled, there - 3);
    assert_eq!(blocks[0].critical, [0, 1, 3, 4, 5], "the second load is what is waited for");
}

#[test]
fn sources_are_waited_for_less_long() {
    let lines = [("STG.E [R2], R4", "2:R3"), ("IADD3 R4, R9, R9, RZ", "1:B3"), EXIT];
    let blocks = blocks(&lines);
    let issue = &blocks[0].instructions[1];
    assert_eq!(issue.reason, Some(Reason::Scoreboard { scoreboard: 3, of: 0, sources: true }));
    assert!(issue.cycle > 2 && issue.cycle < Opcode::LDG.estimate(), "{issue:?}");
    assert_eq!((issue.bounds[0].kind.name(), issue.bounds[0].register.as_str()), ("write-after-read", "R4"));
    assert_eq!(blocks[0].instructions[0].done, None);
}

#[test]
fn each_block_begins_at_zero() {
    let lines = [("IADD3 R0, R0, 0x1, RZ", "4"), ("@P0 BRA ->0", "5"), ("IADD3 R1, R0, R0, RZ", "1"), EXIT];
    let blocks = blocks(&lines);
    let starts: Vec<_> = blocks.iter().map(|block| (block.address, block.instructions[0].cycle)).collect();
    assert_eq!(starts, [(0, 0), (0x20, 0)]);
    assert!(blocks[1].instructions[0].bounds.is_empty(), "other blocks' instructions are not its own");
}

#[test]
fn what_there_is_none_of() {
    let cubin = cubin(oriole_cubin::Target::new(80), Arch::Sm80, &[EXIT], None);
    let error = timeline(&cubin, &["nobody".to_owned()]).expect_err("no such kernel");
    assert!(error.to_string().contains("nobody"), "{error}");
}
