//! Tensor memory in time: products that go on after their issue, the arrival that tells of them, loads and stores. The traces are written by
//! hand: what the instructions compute does not matter here.

use super::{Arch, Bench, Held, Needs, StallReason, TimingReport, assemble, replay, stalled};
use crate::access::PhaseKind;
use crate::constant::ConstantBanks;
use crate::timing::phase::{PhaseName, PhaseStep};
use crate::timing::request::Request;
use crate::timing::trace::{Run, WarpTrace};

/// The time of a warp that executes `text` in a line: products of this shape, and these steps of phases.
fn time(text: &str, shape: u32, steps: &[(u64, PhaseKind)]) -> TimingReport {
    let bench = Bench::on(Arch::Sm100);
    let program = assemble(text, bench.arch);
    let length = text.lines().filter(|line| !line.trim().is_empty()).count() as u32;
    let step = |&(at, kind)| PhaseStep { at, phase: PhaseName::default(), kind };
    let trace = WarpTrace {
        runs: vec![Run { start: 0, length }],
        requests: vec![Request::default(); length as usize],
        shapes: vec![shape; length as usize],
        phases: steps.iter().map(step).collect(),
        ..WarpTrace::default()
    };
    let needs = Needs { threads: 32, registers: 128, shared: 0, cluster: 1 };
    let held = Held::cold(&ConstantBanks::new());
    replay(&program, &bench.chip, &needs, vec![vec![trace]], &held, 1, None).expect("it has no limit")
}

/// M of 128 and N of 256, dense halves.
const SHAPE: u32 = 128 >> 4 << 24 | 256 >> 3 << 17;

/// Products of 128 cycles each (4096 multiply-adds a cycle) queue up; who waits at the mbarrier that `UTCBAR` arrives at waits for
/// all of them, the drain and the way to the mbarrier.
#[test]
fn an_mbarrier_is_told_when_the_products_are_done() {
    let waited = |count: u64| {
        let product = "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UPT\n";
        let text = format!(
            "{}UTCBAR [UR4], URZ\nSYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R1 & W2 S2\nEXIT & S5 B2",
            product.repeat(count as usize)
        );
        let report = time(&text, SHAPE, &[(count, PhaseKind::Arrive), (count + 1, PhaseKind::Over)]);
        stalled(&report, StallReason::Barrier)
    };
    let (four, eight) = (waited(4), waited(8));
    // Each product is issued meanwhile, in a cycle or two.
    assert!((4 * 126..=4 * 128).contains(&(eight - four)), "{four} {eight}");
    let figures = &Arch::Sm100.chip().expect("a chip with data");
    let most = 4 * 128 + u64::from(figures.tensor_memory.drain) + u64::from(figures.latencies.arrival);
    assert!((most - 20..=most).contains(&four), "{four} of {most}");
}

/// B200: 179 cycles for 64 registers of a thread from tensor memory, 64 cycles for storing them (facebookexperimental/triton's model).
#[test]
fn accesses_to_tensor_memory_take_their_registers() {
    let cycles =
        |access: &str| time(&format!("{access} & W0\nEXIT & S5 B0"), 0, &[]).cycles - time("EXIT & S5", 0, &[]).cycles;
    assert_eq!(cycles("LDTM.x64 R4, tmem[UR6]"), 179);
    assert_eq!(cycles("STTM.x64 tmem[UR6], R4"), 64);
}
