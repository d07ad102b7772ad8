//! Races between launches on one memory: in streams, behind events, and with launches that begin before others have ended. What must be found
//! follows from CUDA's programming guide.

use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::Cubin;
use oriole_device::{Launch, Memory};
use oriole_sim::{CheckReport, Checks, FindingKind, Options, Simulator, StreamPlace, Streams};

const HEADER: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";
/// Kernels of 64 threads on the words of `at`: `write` writes each its own word, `read` reads that of its neighbour and writes a
/// word far behind, `add` adds by atomics; the others read before and behind the wait for the launches in front.
const BODIES: [(&str, &str); 6] = [
    ("write", "st.global.u32 [%d0],%r0;"),
    ("read", "ld.global.u32 %r2,[%d1];st.global.u32 [%d0+4096],%r2;"),
    ("add", "red.global.add.u32 [%d0],1;"),
    ("early", "ld.global.u32 %r2,[%d1];griddepcontrol.wait;st.global.u32 [%d0+8192],%r2;"),
    ("waits", "griddepcontrol.wait;ld.global.u32 %r2,[%d1];st.global.u32 [%d0+8192],%r2;"),
    (
        "one_waits",
        "setp.lt.u32 %p0,%r0,32;@!%p0 bra B;griddepcontrol.wait;B: bar.sync 0;ld.global.u32 %r2,[%d1];st.global.u32 [%d0+8192],%r2;",
    ),
];

/// The launches on one memory so far.
struct Programs {
    simulator: Simulator,
    memory: Memory,
    at: u64,
    streams: Streams,
}

impl Programs {
    fn new() -> Self {
        let kernels = BODIES.map(|(name, body)| {
            format!(
                ".visible .entry {name}(.param .u64 at){{.reg .b32 %r<4>;.reg .b64 %d<4>;.reg .pred %p<2>;\n\
                 mov.u32 %r0,%tid.x;xor.b32 %r1,%r0,1;ld.param.u64 %d0,[at];mul.wide.u32 %d1,%r1,4;add.u64 %d1,%d0,%d1;\n\
                 mul.wide.u32 %d2,%r0,4;add.u64 %d0,%d0,%d2;\n{body}\nret;}}\n"
            )
        });
        let text = format!("{HEADER}{}", kernels.concat());
        let bytes = compile(&text, &CompileOptions::default()).expect("kernels that compile").cubin;
        let cubin = Cubin::parse(&bytes).expect("a cubin of ours");
        let simulator = Simulator::new(&cubin, Options::default()).expect("a target that is simulated");
        let mut memory = Memory::new();
        let at = memory.allocate("the words", 16384);
        Programs { simulator, memory, at, streams: Streams::default() }
    }

    fn report(&mut self, kernel: &str, stream: u64, starts_early: bool) -> CheckReport {
        let params = self.at.to_le_bytes().to_vec();
        let launch = Launch { block: [64, 1, 1], params, ..Launch::default() };
        let checks = Checks { race: true, ..Checks::default() };
        let place = StreamPlace { stream, starts_early };
        let (report, result) =
            self.simulator.launch_in_stream(kernel, &launch, &mut self.memory, checks, &[], &mut self.streams, place);
        result.unwrap_or_else(|error| panic!("{kernel}: {error}"));
        report
    }

    /// Whether the launch races with an earlier one; nothing else may be found.
    fn races(&mut self, kernel: &str, stream: u64, starts_early: bool) -> bool {
        let kinds: Vec<FindingKind> =
            self.report(kernel, stream, starts_early).findings.iter().map(|f| f.kind).collect();
        assert!(kinds.iter().all(|kind| *kind == FindingKind::LaunchRace), "{kernel}: {kinds:?}");
        !kinds.is_empty()
    }
}

#[test]
fn launches_of_one_stream_are_ordered_and_those_of_two_are_not() {
    let mut one = Programs::new();
    assert!(!one.races("write", 1, false));
    assert!(!one.races("read", 1, false));
    assert!(one.races("read", 2, false), "a read behind a write of another stream");
    let mut back = Programs::new();
    assert!(!back.races("read", 1, false));
    assert!(back.races("write", 2, false), "a write behind a read of another stream");
    let mut atomics = Programs::new();
    assert!(!atomics.races("add", 1, false));
    assert!(!atomics.races("add", 2, false), "atomics may meet");
    assert!(atomics.races("read", 3, false));
}

/// Both launches are named, with instruction, block and thread.
#[test]
fn a_race_names_both_launches() {
    let mut programs = Programs::new();
    programs.report("write", 7, false);
    let report = programs.report("read", 8, false);
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    let earlier = finding.earlier.as_ref().expect("a race has two sides");
    assert_eq!(earlier.launch.as_deref(), Some("launch 1, kernel 'write', stream 7"));
    assert_eq!((earlier.function.as_str(), earlier.access), ("write", "write"));
    assert_eq!((finding.later.function.as_str(), finding.later.access), ("read", "read"));
    // Thread 0 is the first, and it reads what thread 1 has written.
    assert_eq!((finding.later.thread, earlier.thread), ([0, 0, 0], [1, 0, 0]));
    assert_eq!(finding.times, 64);
    assert!(finding.to_string().contains("launch 1, kernel 'write', stream 7"), "{finding}");
}

#[test]
fn an_event_orders_what_was_launched_before_it() {
    let mut programs = Programs::new();
    programs.report("write", 1, false);
    let event = programs.streams.record(1);
    programs.streams.wait(2, &event);
    assert!(!programs.races("read", 2, false));
    // What the second stream has waited for, its own events hand on.
    let event = programs.streams.record(2);
    programs.streams.wait(3, &event);
    assert!(!programs.races("read", 3, false));
    assert!(programs.races("read", 4, false), "a stream that has waited for nothing");
    let mut late = Programs::new();
    let event = late.streams.record(1);
    late.report("write", 1, false);
    late.streams.wait(2, &event);
    assert!(late.races("read", 2, false), "the event is before the write");
}

#[test]
fn the_host_orders_what_it_waits_for() {
    let mut all = Programs::new();
    all.report("write", 1, false);
    all.streams.synchronize();
    assert!(!all.races("read", 2, false));
    let mut one = Programs::new();
    one.report("write", 1, false);
    one.report("add", 3, false);
    one.streams.synchronize_stream(3);
    assert!(one.races("read", 2, false), "the host waited for another stream");
    one.streams.synchronize_stream(1);
    assert!(!one.races("read", 4, false));
    let mut freed = Programs::new();
    freed.report("write", 1, false);
    let at = freed.at;
    freed.streams.forget(at, 256);
    assert!(!freed.races("read", 2, false), "the memory is another's now");
}

#[test]
fn a_launch_that_begins_early_has_to_wait() {
    for (kernel, starts_early, races) in [
        ("early", false, false),
        ("early", true, true),
        ("waits", true, false),
        ("one_waits", true, false),
        ("read", true, true),
    ] {
        let mut programs = Programs::new();
        programs.report("write", 1, false);
        assert_eq!(programs.races(kernel, 1, starts_early), races, "{kernel}");
    }
    // The one in the middle may begin early too: the third may run beside the first.
    let mut chain = Programs::new();
    chain.report("write", 1, false);
    chain.report("waits", 1, true);
    assert!(chain.races("early", 1, true));
    let mut broken = Programs::new();
    broken.report("write", 1, false);
    broken.report("waits", 1, false);
    assert!(!broken.races("early", 1, true));
}
