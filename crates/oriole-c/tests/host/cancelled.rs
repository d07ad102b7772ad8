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

/// What a thread may do until it has ended, in time of its own: a machine that has other things to do takes longer. Code that is not
/// optimised takes ten times as long.
const LATEST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 1_000 } else { 100 });

/// The modules that are long where few are tried, and where many are.
const LONG: [u32; 3] = [1_000, 4_000, 30_000];

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
    let count = by_effort([100, 400, 4000]) / 10;
    for (name, module, options) in modules() {
        let compiler = Compiler::new(module);
        let whole = whole(&compiler, name, options);
        let handle = compiler.0.addr();
        let cancel = || orioleCompilerCancel(ptr::without_provenance_mut(handle));
        let late = moments(count).map(|part| {
            let (result, late) = cancelled(whole.mul_f64(part), cancel, || compiler.compile(options));
            assert!(matches!(result, ORIOLE_SUCCESS | ORIOLE_ERROR_CANCELLED), "{name}: {result:?}");
            assert_eq!(orioleCompilerResume(compiler.0), ORIOLE_SUCCESS);
            late
        });
        judge(name, whole, late.collect());
        // What was ended has left nothing behind.
        assert_eq!(compiler.compile(options), ORIOLE_SUCCESS, "{name}");
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

/// The same where the time is over.
pub(crate) fn compilations_end_when_their_time_is_over() {
    let count = by_effort([20, 100, 400]) / 10;
    for (name, module, options) in modules() {
        let compiler = Compiler::new(module);
        let whole = whole(&compiler, name, options);
        for part in moments(count) {
            let limit = Duration::from_millis(1 + whole.mul_f64(part).as_millis() as u64);
            assert_eq!(orioleCompilerSetTimeout(compiler.0, limit.as_millis() as u64), ORIOLE_SUCCESS);
            let before = own_time();
            let result = compiler.compile(options);
            // What a thread has done is no more than the time that has gone by.
            let most = (limit + LATEST) * if options.contains(&SPLIT) { 4 } else { 1 };
            assert!(own_time() - before < most, "{name}: {limit:?}");
            assert!(matches!(result, ORIOLE_SUCCESS | ORIOLE_ERROR_TIMEOUT), "{name}: {result:?}");
        }
    }
}

/// How long a compilation takes that nobody ends: the shorter of two, as the machine may have other things to do.
fn whole(compiler: &Compiler, name: &str, options: &[&str]) -> Duration {
    let took = [(); 2].map(|()| {
        let start = Instant::now();
        assert_eq!(compiler.compile(options), ORIOLE_SUCCESS, "{name}: {}", compiler.error_log());
        start.elapsed()
    });
    took[0].min(took[1])
}

/// The option by which several threads work.
const SPLIT: &str = "--split-compile=4";

/// Modules by what they are, and options of ptxas.
fn modules() -> Vec<(&'static str, String, &'static [&'static str])> {
    let long = by_effort(LONG) as usize;
    vec![
        ("PTX", ptx(8, 400), &[]),
        ("LLVM IR", llvm(8, 400), &[]),
        ("LLVM IR on four threads", llvm(8, 400), &[SPLIT]),
        ("PTX, one long function whose values live on", ptx(1, long), &[]),
        ("the same without optimisation", ptx(1, long), &["-O0"]),
        ("LLVM IR, one long function whose values live on", llvm(1, long), &[]),
        ("PTX, one function of many blocks", branches(long / 10), &[]),
        ("PTX, many small functions", ptx(long / 10, 4), &[]),
        ("PTX, all values of a function at a time", at_a_time(long / 4), &[]),
    ]
}

/// PTX with so many places where the way parts and meets again.
fn branches(count: usize) -> String {
    let place = |at: usize| {
        let [a, b, c] = [at % 16, at * 7 % 16, at * 5 % 16];
        format!(
            "setp.gt.s32 %c, %v{a}, %v{b};\n@%c bra T{at};\nadd.s32 %v{c}, %v{a}, {at};\nst.global.u32 [%p+{}], %v{c};\n\
             bra J{at};\nT{at}:\nmad.lo.s32 %v{c}, %v{b}, {at}, %v{a};\nJ{at}:\n",
            4 * b
        )
    };
    let loads = (0..16).map(|at| format!("ld.global.u32 %v{at}, [%p+{}];\n", 4 * at)).collect::<String>();
    kernel(16, &(loads + &(0..count).map(place).collect::<String>()))
}

/// PTX that loads so many values before it adds the first two.
fn at_a_time(count: usize) -> String {
    let loads = (0..count).map(|at| format!("ld.global.u32 %v{at}, [%p+{}];\n", 4 * at));
    let sums = (1..count).map(|at| format!("mad.lo.u32 %v{at}, %v{}, %v{}, %v{at};\n", at - 1, count - at));
    kernel(count, &loads.chain(sums).chain([format!("st.global.u32 [%p], %v{};\n", count - 1)]).collect::<String>())
}

/// PTX of one kernel with so many values.
fn kernel(values: usize, body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a) {{\n\
         .reg .b64 %p; .reg .pred %c; .reg .b32 %v<{values}>;\nld.param.u64 %p, [a];\n{body}ret;\n}}\n"
    )
}

/// How long it took from a moment to another.
#[derive(Clone, Copy, Debug, Default)]
struct Late {
    /// The clock's time.
    wall: Duration,
    /// That of all threads of the process.
    own: Duration,
}

/// What all threads of the process have taken so far.
fn own_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `time`.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) }, 0);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// What the call answers that is cancelled at that time from its start on, and how long it takes from there to its end.
fn cancelled(
    after: Duration,
    cancel: impl Fn() -> orioleResult + Sync,
    call: impl FnOnce() -> orioleResult,
) -> (orioleResult, Late) {
    let begins = &Barrier::new(2);
    let cancel = &cancel;
    thread::scope(|scope| {
        let other = scope.spawn(move || {
            begins.wait();
            thread::sleep(after);
            let now = (Instant::now(), own_time());
            assert_eq!(cancel(), ORIOLE_SUCCESS);
            now
        });
        begins.wait();
        let result = call();
        let (end, own) = (Instant::now(), own_time());
        let (cancelled, own_then) = other.join().expect("no panic");
        // What has ended before was not late.
        let late = Late { wall: end.saturating_duration_since(cancelled), own: own.saturating_sub(own_then) };
        (result, late)
    })
}

fn judge(name: &str, whole: Duration, mut late: Vec<Late>) {
    late.sort_by_key(|late| late.wall);
    let (Some(most), Some(usual)) = (late.last(), late.get(late.len() / 2)) else { return };
    let own = late.iter().map(|late| late.own).max().unwrap_or_default();
    println!(
        "{name} ({whole:.1?} in all), cancelled {} times: ends {:.1?} later, {:.1?} at most, of its own time {own:.1?} at most",
        late.len(),
        usual.wall,
        most.wall
    );
    assert!(own < LATEST, "{name}: {own:?}");
}
