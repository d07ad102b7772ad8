//! Cancelling at any moment.

use crate::by_effort;
use crate::calls::{Simulator, llvm, ptx};
use crate::common::{Compiler, cubin};
use oriole_c::*;
use std::ptr;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use orioleResult::*;

/// What is asked for is 100 ms. A machine that has other things to do, and code that is not optimised, take longer.
const LATEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5_000 } else { 1_000 });

/// Never ends.
const ENDLESS: &str = ".version 8.0\n.target sm_90\n.address_size 64
    .visible .entry endless(.param .u64 p) {
        .reg .b64 %p; .reg .b32 %v;
        ld.param.u64 %p, [p];
        again: ld.volatile.global.u32 %v, [%p]; add.u32 %v, %v, 1; st.volatile.global.u32 [%p], %v; bra again;
    }";

/// Fractions of a whole, spread evenly whatever their number: multiples of the golden ratio.
fn moments(count: u32) -> impl Iterator<Item = f64> {
    (1..=count).map(|at| (f64::from(at) * 0.618_033_988_749_895).fract())
}

pub(crate) fn what_is_cancelled_at_any_moment_ends_soon() {
    let count = by_effort([100, 400, 4000]) / 4;
    for (name, module, options) in [
        ("PTX", ptx(8, 400), &[][..]),
        ("LLVM IR", llvm(8, 400), &[]),
        ("LLVM IR on four threads", llvm(8, 400), &["--split-compile=4"]),
    ] {
        let compiler = Compiler::new(module);
        let start = Instant::now();
        assert_eq!(compiler.compile(options), ORIOLE_SUCCESS);
        let whole = start.elapsed();
        let handle = compiler.0.addr();
        let cancel = || orioleCompilerCancel(ptr::without_provenance_mut(handle));
        let late = moments(count).map(|part| {
            let (result, late) = cancelled(whole.mul_f64(part), cancel, || compiler.compile(options));
            assert!(matches!(result, ORIOLE_SUCCESS | ORIOLE_ERROR_CANCELLED), "{name}: {result:?}");
            assert_eq!(orioleCompilerResume(compiler.0), ORIOLE_SUCCESS);
            late
        });
        judge(name, whole, late.collect());
    }
    let simulator = Simulator::new(&cubin(ENDLESS, &[]));
    let handle = simulator.0.addr();
    let cancel = || orioleSimulatorCancel(ptr::without_provenance_mut(handle));
    let whole = Duration::from_millis(20);
    let late = moments(count).map(|part| {
        let launch = || simulator.launch(c"endless", [100, 64], &mut [0]);
        let (result, late) = cancelled(whole.mul_f64(part), cancel, launch);
        assert_eq!(result, ORIOLE_ERROR_CANCELLED);
        assert_eq!(orioleSimulatorResume(simulator.0), ORIOLE_SUCCESS);
        late
    });
    judge("a launch", whole, late.collect());
}

/// What the call answers that is cancelled at that time from its start on, and how long it takes from there to its end.
fn cancelled(
    after: Duration,
    cancel: impl Fn() -> orioleResult + Sync,
    call: impl FnOnce() -> orioleResult,
) -> (orioleResult, Duration) {
    let begins = &Barrier::new(2);
    let cancel = &cancel;
    thread::scope(|scope| {
        let other = scope.spawn(move || {
            begins.wait();
            thread::sleep(after);
            let now = Instant::now();
            assert_eq!(cancel(), ORIOLE_SUCCESS);
            now
        });
        begins.wait();
        let result = call();
        let end = Instant::now();
        (result, end.saturating_duration_since(other.join().expect("no panic")))
    })
}

fn judge(name: &str, whole: Duration, mut late: Vec<Duration>) {
    late.sort();
    let (Some(most), Some(usual)) = (late.last(), late.get(late.len() / 2)) else { return };
    println!("{name} ({whole:.1?} in all), cancelled {} times: ends {usual:.1?} later, {most:.1?} at most", late.len());
    assert!(*most < LATEST.max(whole / 2), "{name}: {most:?}");
}
