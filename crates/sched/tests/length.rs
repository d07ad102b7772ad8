//! How long blocks take as they stand: by latencies, and by what other blocks wait for.

use oriole_isa::{Arch, Opcode};
use oriole_ori::Function;
use oriole_ori::analysis::Flow;
use oriole_sched::block_cycles;

/// Cycles of each block, where global memory answers as soon as a scheduler may assume.
fn cycles(body: &str) -> Vec<u32> {
    cycles_from(body, 0)
}

/// Cycles of each block, where global memory takes so many at least.
fn cycles_from(body: &str, memory: u32) -> Vec<u32> {
    let registers: String = (0..12).map(|at| format!("  .reg %R{at}\n")).chain(["  .reg %P12\n".to_owned()]).collect();
    let text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{registers}{body}.end\n");
    let func: Function = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
    let cycles = block_cycles(&func, Arch::Sm80, &Flow::new(&func).live, memory);
    func.layout().iter().map(|block| cycles[*block]).collect()
}

fn add(result: usize, left: usize, right: usize) -> String {
    format!("    IADD3 %R{result}, PT, PT, %R{left}, %R{right}, RZ, !PT, !PT\n")
}

/// Sums of what was there before: one a cycle. Each of the one before: the fixed latency each, four cycles on sm_80.
#[test]
fn a_chain_takes_latencies_and_others_a_cycle_each() {
    let exit = "    EXIT PT\n";
    let start = "bix0:\n    MOV %R0, RZ, 0x1\n";
    for count in 1..8 {
        let apart: String = (1..=count).map(|at| add(at, 11, 11)).collect();
        assert_eq!(cycles(&format!("{start}{apart}{exit}")), [2 + count as u32]);
        let chain: String = (1..=count).map(|at| add(at, at - 1, at - 1)).collect();
        assert_eq!(cycles(&format!("{start}{chain}{exit}")), [2 + 4 * count as u32]);
    }
}

/// A load costs what it takes, in the block that reads it, or in its own where another block does; not where nobody reads it.
#[test]
fn what_is_read_elsewhere_is_waited_for() {
    let load = "    LDG %R1, [%R0], 0x0\n";
    let load = load.replace("[%R0], 0x0", "%R0, URZ, 0x0");
    let store = "    STS %R0, URZ, 0x0, %R1\n    EXIT PT\n";
    let estimate = Opcode::LDG.estimate();
    assert!(estimate > 20, "{estimate}");
    let [one] = cycles(&format!("bix0:\n{load}{store}"))[..] else { panic!("one block") };
    assert_eq!(one, estimate + 2);
    assert_eq!(cycles(&format!("bix0: -> bix1\n{load}bix1:\n{store}")), [estimate, 2]);
    let unread = store.replace("%R1", "%R2");
    assert_eq!(cycles(&format!("bix0: -> bix1\n{load}bix1:\n{unread}")), [1, 2]);
}

/// Memory that is farther away takes longer, and nothing else does: neither what is near nor sums.
#[test]
fn global_memory_may_be_farther_away() {
    for (opcode, far) in [("LDG %R1, %R0, URZ, 0x0", true), ("LDS %R1, %R0, URZ, 0x0", false)] {
        let body = format!("bix0:\n    {opcode}\n    STS %R0, URZ, 0x0, %R1\n    EXIT PT\n");
        let [near] = cycles(&body)[..] else { panic!("one block") };
        let [same] = cycles_from(&body, 5)[..] else { panic!("one block") };
        let [later] = cycles_from(&body, 500)[..] else { panic!("one block") };
        assert_eq!((same, later), (near, if far { 502 } else { near }), "{opcode}");
    }
}

/// In SSA form a guarded write names what it leaves in place, behind the operands of the hardware.
#[test]
fn old_values_are_waited_for() {
    let body =
        "bix0:\n    MOV %R0, RZ, 0x1\n    @%P12 IADD3 %R1, PT, PT, %R11, 0x2, RZ, !PT, !PT, %R0, _, _\n    EXIT PT\n";
    let apart = body.replace("%R0, _, _", "%R2, _, _");
    let [waits, does_not] = [body, &apart].map(|body| cycles(&format!("  .values 0\n{body}"))[0]);
    assert!(waits > does_not && does_not == 3, "{waits} {does_not}");
}

/// MovPhis and marks are no code, and take no time.
#[test]
fn marks_take_no_time() {
    let body = "bix0: -> bix1\n    MOV %R0, RZ, 0x1\nbix1: -> bix1, bix2\n    MOV %R1, %R0, bix0, %R2, bix1 ;phi\n\
                IADD3 %R2, PT, PT, %R1, 0x1, RZ, !PT, !PT\n    @%P12 BRA PT, bix1, _\nbix2:\n    EXIT PT\n";
    assert_eq!(cycles(&format!("  .values 0\n{body}"))[1], 2);
}
