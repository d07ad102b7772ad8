//! The simulator as a library: slices as buffers, arguments that do not fit, faults and their places, timing, cancellation.
#![cfg(feature = "simulate")]

use oriole::zerocopy::{FromBytes, Immutable, IntoBytes};
use oriole::{
    CancelToken, Compiler, Cubin, DebugInfo, Direction, FaultKind, HostBuffer, KernelLaunch, LaunchError, Simulator,
};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// `out[i] = a * in[first + i] + bias[0] * 256 + bias[1]`, `i` the number of the thread.
const AFFINE: &str = ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry affine(.param .u64 out, .param .u64 in, .param .f32 a, .param .align 1 .b8 bias[2], .param .s64 first) {
    .reg .b64 %out, %in, %first; .reg .b32 %i, %b, %s, %x, %y; .reg .f32 %a, %v, %w;
    ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; ld.param.f32 %a, [a]; ld.param.s64 %first, [first];
    ld.param.u8 %x, [bias]; ld.param.u8 %y, [bias+1];
    mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mad.lo.u32 %i, %b, %s, %i;
    mad.lo.u32 %x, %x, 256, %y;
    cvt.rn.f32.u32 %w, %x;
    shl.b64 %first, %first, 2; add.u64 %in, %in, %first;
    mad.wide.u32 %in, %i, 4, %in; mad.wide.u32 %out, %i, 4, %out;
    ld.global.f32 %v, [%in];
    fma.rn.f32 %w, %a, %v, %w;
    st.global.f32 [%out], %w;
    ret;
}";

fn compiled(ptx: &str) -> Cubin {
    let compiler = Compiler::builder().target("sm_90").file_name("k.ptx").build().expect("a target");
    compiler.compile_ptx(ptx).expect("it compiles").cubin
}

fn affine(simulator: &Simulator) -> KernelLaunch<'_> {
    simulator.kernel("affine").expect("it is there")
}

#[derive(IntoBytes, Immutable)]
#[zerocopy(crate = "oriole::zerocopy")]
#[repr(C)]
struct Bias {
    high: u8,
    low: u8,
}

#[test]
fn slices_are_buffers() {
    let cubin = compiled(AFFINE);
    let input: Vec<f32> = (0..130).map(|i| i as f32 * 0.25).collect();
    // Of a file nobody knows the types of the parameters; the results are the same.
    let again = Cubin::from_bytes(cubin.as_bytes()).expect("a cubin");
    for cubin in [cubin, again] {
        let simulator = Simulator::builder().strict(true).build(&cubin).expect("it loads");
        let mut out = [-1.0f32; 128];
        let launch = affine(&simulator).output(&mut out).input(&input).value(0.5f32);
        let report = launch.bytes(&Bias { high: 1, low: 2 }).value(2i64).launch(4, 32).expect("it runs");
        assert_eq!((report.blocks, report.warps), (4, 4));
        assert!(report.warp_instructions > 4 && report.thread_instructions > 128);
        assert_eq!(report.timing, None);
        for (i, got) in out.iter().enumerate() {
            assert_eq!(*got, 0.5f32.mul_add(input[i + 2], 258.0), "{i}");
        }
    }
}

#[test]
fn elements_are_plain_data() {
    #[derive(IntoBytes, FromBytes, Immutable, Clone, Copy, PartialEq, Debug)]
    #[zerocopy(crate = "oriole::zerocopy")]
    #[repr(C)]
    struct Point {
        x: f32,
        y: f32,
    }
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    let data: Vec<Point> = (0..16).map(|i| Point { x: i as f32, y: -(i as f32) }).collect();
    let mut out = vec![Point { x: 0.0, y: 0.0 }; 16];
    let launch = affine(&simulator).output(&mut out).input(&data);
    launch.value(3f32).bytes(&[0u8; 2]).value(0i64).launch(1, 32).expect("it runs");
    assert!(out.iter().zip(&data).all(|(got, from)| *got == Point { x: 3.0 * from.x, y: 3.0 * from.y }));
}

#[test]
fn what_is_written_to_an_input_is_lost_and_what_is_left_of_a_buffer_stays() {
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    let (mut out, data) = ([9f32; 40], [1f32; 32]);
    affine(&simulator)
        .in_out(&mut out)
        .input(&data)
        .value(1f32)
        .bytes(&[0u8; 2])
        .value(0i64)
        .launch(1, 32)
        .expect("it runs");
    assert_eq!(out[..32], [1f32; 32]);
    assert_eq!(out[32..], [9f32; 8]);
    let kept = [5f32; 32];
    affine(&simulator)
        .input(&kept)
        .input(&data)
        .value(1f32)
        .bytes(&[0u8; 2])
        .value(0i64)
        .launch(1, 32)
        .expect("it runs");
    assert_eq!(kept, [5f32; 32]);
}

/// Five arguments that fit, but for those that are given.
struct Given<A, B, C> {
    a: A,
    bias: B,
    first: C,
}

impl<A: oriole::Scalar, C: oriole::Scalar> Given<A, Vec<u8>, C> {
    fn error(self, simulator: &Simulator) -> LaunchError {
        let data = [0f32; 4];
        let launch = affine(simulator).input(&data).input(&data).value(self.a).bytes(&self.bias[..]);
        launch.value(self.first).launch(1, 1).expect_err("it does not fit")
    }
}

#[test]
fn arguments_that_do_not_fit_are_errors() {
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    let count = |given| LaunchError::ArgumentCount { expected: 5, given };
    let few = affine(&simulator).value(0u64).launch(1, 1).expect_err("too few");
    let many = (0..9).fold(affine(&simulator), |launch, _| launch.value(0u64)).launch(1, 1).expect_err("too many");
    assert_eq!((few, many), (count(1), count(9)));
    let kind = |index, expected: &str, given: &str| {
        let (expected, given) = (expected.to_owned(), given.to_owned());
        LaunchError::ArgumentType { index, expected, given }
    };
    let bias = || vec![0u8; 2];
    let error = Given { a: 1u32, bias: bias(), first: 0i64 }.error(&simulator);
    assert_eq!(error, kind(2, "f32", "u32"));
    let error = Given { a: 1f32, bias: bias(), first: 0f64 }.error(&simulator);
    assert_eq!(error, kind(4, "s64", "f64"));
    let error = Given { a: 1f64, bias: bias(), first: 0i64 }.error(&simulator);
    assert_eq!(error, kind(2, "f32", "f64"));
    let size = |index, expected, given| LaunchError::ArgumentSize { index, expected, given };
    let error = Given { a: 1f32, bias: vec![0; 3], first: 0i64 }.error(&simulator);
    assert_eq!(error, size(3, 2, 3));
    let error = Given { a: 1f32, bias: bias(), first: 0u32 }.error(&simulator);
    assert_eq!(error, size(4, 8, 4));
    let data = [0f32; 4];
    let error = affine(&simulator).input(&data).input(&data).input(&data).bytes(&[0u8; 2]).value(0i64).launch(1, 1);
    assert_eq!(error.expect_err("an address is no float"), kind(2, "f32", "the address of a buffer"));
    let error = simulator.kernel("other").map(drop).expect_err("there is none");
    assert_eq!(error, LaunchError::NoKernel { name: "other".to_owned(), known: vec!["affine".to_owned()] });
}

#[test]
fn impossible_launches_are_errors() {
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    let data = [0f32; 4];
    let mut out = [7f32; 4];
    let shapes: [([u32; 3], [u32; 3], u32); 4] =
        [([0, 1, 1], [1; 3], 0), ([1; 3], [1025, 1, 1], 0), ([1; 3], [1, 1, 65], 0), ([1; 3], [1; 3], u32::MAX)];
    for (grid, block, shared) in shapes {
        let launch = affine(&simulator).shared_bytes(shared).in_out(&mut out).input(&data).value(0f32);
        let error = launch.bytes(&[0u8; 2]).value(0i64).launch(grid, block).expect_err("no device could");
        assert!(matches!(error, LaunchError::Shape(_)), "{error:?}");
    }
    assert_eq!(out, [7.0; 4]);
}

#[test]
fn faults_have_their_places() {
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    let data = [0f32; 40];
    let mut out = [3f32; 64];
    let launch = affine(&simulator).in_out(&mut out).input(&data).value(0f32).bytes(&[0u8; 2]).value(0i64);
    let error = launch.launch(2, 32).expect_err("the input ends before");
    let fault = error.fault().expect("it ran");
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert_eq!((fault.block, fault.thread), ([1, 0, 0], [8, 0, 0]));
    assert_eq!(fault.kernel, "affine");
    let address = fault.address.expect("of an access");
    assert!(fault.message.contains(&format!("{address:#x}")), "{}", fault.message);
    assert!(fault.message.contains("argument 1 (160 bytes"), "{}", fault.message);
    assert!(fault.instruction.contains("LDG"), "{}", fault.instruction);
    let line = AFFINE.lines().position(|line| line.contains("ld.global")).expect("it loads") as u32 + 1;
    assert_eq!(fault.source, Some(("k.ptx".to_owned(), line)));
    assert!(fault.to_string().contains(&format!("k.ptx:{line}")), "{fault}");
    assert_eq!(out, [3.0; 64], "the slices are as they were");
}

/// PTX that came from no file has a name in messages all the same.
#[test]
fn a_fault_in_text_without_a_name_has_its_place() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry t() {\ntrap;\n}\n";
    let compiled = oriole::Compiler::builder().build().expect("settings").compile_ptx(ptx).expect("it compiles");
    let simulator = Simulator::new(&compiled.cubin).expect("it loads");
    let error = simulator.kernel("t").expect("it is there").launch(1, 1).expect_err("it traps");
    let fault = error.fault().expect("it ran");
    assert_eq!(fault.source, Some(("<ptx>".to_owned(), 5)));
    assert!(fault.to_string().contains("<ptx>:5"), "{fault}");
}

#[test]
fn two_parameters_may_have_one_buffer() {
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    let mut data: Vec<f32> = (0..32).map(|i| i as f32).collect();
    let launch = affine(&simulator).in_out(&mut data).again(0).value(2f32);
    launch.bytes(&[0u8, 1]).value(0i64).launch(1, 32).expect("it runs");
    assert!(data.iter().enumerate().all(|(i, got)| *got == 2.0 * i as f32 + 1.0));
    for (index, earlier) in [(1, 1), (1, 2), (4, 2)] {
        let launch = match index {
            1 => affine(&simulator).in_out(&mut data).again(earlier).value(2f32).bytes(&[0u8; 2]).value(0i64),
            _ => affine(&simulator).in_out(&mut data).again(0).value(2f32).bytes(&[0u8; 2]).again(earlier),
        };
        assert_eq!(launch.launch(1, 32).expect_err("no buffer"), LaunchError::NoBuffer { index, earlier });
    }
}

#[test]
fn parameters_may_point_into_one_memory() {
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    let mut data: Vec<f32> = (0..40).map(|i| i as f32).collect();
    let mut run = |offset: u64, memory: usize| {
        let launch = affine(&simulator).memory("all", &mut data).pointer(0, offset).pointer(memory, 0).value(2f32);
        launch.bytes(&[0u8, 1]).value(0i64).launch(1, 32)
    };
    run(32, 0).expect("it runs");
    assert_eq!(run(0, 1).expect_err("one memory"), LaunchError::NoMemory { index: 1, memory: 1 });
    let Err(LaunchError::Fault(fault)) = run(160, 0) else { panic!("behind the end") };
    assert!(fault.to_string().contains("the end of all (160 bytes"), "{fault}");
    // Which of the two is read and which is written, AFFINE says: all threads load before one stores.
    let wanted = |i: usize| if i < 8 { i as f32 } else { 2.0 * (i - 8) as f32 + 1.0 };
    assert!(data.iter().enumerate().all(|(i, got)| *got == wanted(i)), "{data:?}");
    assert!(compiled(AFFINE).registers("affine").is_some_and(|count| count >= 4));
}

#[test]
fn memory_is_checked_on_request() {
    let cubin = compiled(AFFINE);
    let run = |checks: bool| {
        let simulator = Simulator::builder().check_memory(checks).build(&cubin).expect("it loads");
        let (mut out, mut nothing) = ([0f32; 32], [0f32; 32]);
        let launch = affine(&simulator).output(&mut out).output(&mut nothing).value(1f32);
        launch.bytes(&[0u8; 2]).value(0i64).launch(1, 32).expect("it runs").findings
    };
    assert_eq!(run(false), []);
    let found = run(true);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!((finding.kind, finding.is_error, finding.earlier.is_none()), ("uninitialised", true, true));
    assert_eq!((finding.access.function.as_str(), finding.access.access), ("affine", "read"));
    assert!(finding.access.instruction.contains("LDG"), "{finding}");
    let line = AFFINE.lines().position(|line| line.contains("ld.global")).expect("it loads") as u32 + 1;
    assert_eq!(finding.access.source, Some(("k.ptx".to_owned(), line)));
    assert!(finding.to_string().contains(&format!("k.ptx:{line}")), "{finding}");
}

/// A cubin that was read from bytes says the lines of its own table, those of `.loc`; without one, none.
#[test]
fn cubins_from_bytes_have_the_lines_of_their_table() {
    let with_loc = AFFINE
        .replace(".visible .entry", ".file 1 \"/src/affine.cu\"\n.visible .entry")
        .replace("ld.global.f32", ".loc 1 77 3\n ld.global.f32")
        .replace("fma.rn.f32", ".loc 1 78 3\n fma.rn.f32");
    for (debug, want) in [(DebugInfo::Lines, Some(("/src/affine.cu".to_owned(), 77))), (DebugInfo::None, None)] {
        let compiler =
            Compiler::builder().target("sm_90").file_name("k.ptx").debug_info(debug).build().expect("a target");
        let bytes = compiler.compile_ptx(&with_loc).expect("it compiles").cubin.into_bytes();
        let cubin = Cubin::from_bytes(bytes).expect("a cubin");
        let simulator = Simulator::builder().check_memory(true).build(&cubin).expect("it loads");
        let (mut out, mut short) = ([0f32; 64], [0f32; 8]);
        let launch = affine(&simulator).in_out(&mut out).input(&short).value(0f32).bytes(&[0u8; 2]).value(0i64);
        let error = launch.launch(2, 32).expect_err("the input ends before");
        let fault = error.fault().expect("it ran");
        assert_eq!(fault.source, want, "{debug:?}");
        assert_eq!(fault.to_string().contains("/src/affine.cu:77"), want.is_some(), "{fault}");
        let launch = affine(&simulator).in_out(&mut out).output(&mut short).value(0f32).bytes(&[0u8; 2]).value(0i64);
        let findings = launch.launch(1, 8).expect("it runs").findings;
        assert_eq!(findings.first().expect("it reads what nobody wrote").access.source, want, "{debug:?}");
    }
}

#[test]
fn parameters_and_lines_are_known() {
    let cubin = compiled(AFFINE);
    let places = |cubin: &Cubin| -> Vec<(u32, u32, Option<&str>)> {
        let parameters = cubin.parameters("affine").expect("it is there");
        parameters.iter().map(|parameter| (parameter.offset, parameter.size, parameter.ty)).collect()
    };
    let known = [(0, 8, Some("u64")), (8, 8, Some("u64")), (16, 4, Some("f32")), (20, 2, None), (24, 8, Some("s64"))];
    assert_eq!(places(&cubin), known);
    assert_eq!(cubin.parameters("other"), None);
    let store = AFFINE.lines().position(|line| line.contains("st.global")).expect("it stores") as u32 + 1;
    assert!(cubin.lines("affine").iter().any(|(_, line)| *line == store));
    assert!(cubin.lines("affine").is_sorted_by_key(|(offset, _)| *offset));
    // Of a file only places are known.
    let again = Cubin::from_bytes(cubin.as_bytes()).expect("a cubin");
    assert_eq!(places(&again), known.map(|(offset, size, _)| (offset, size, None)));
    assert_eq!(again.lines("affine"), []);
}

const STOPS: &str = ".version 8.0\n.target sm_80\n.address_size 64
.visible .entry endless() { again: bra again; }
.visible .entry traps() { trap; }";

#[test]
fn what_does_not_end_is_ended() {
    let cubin = compiled(STOPS);
    let kind = |simulator: oriole::SimulatorBuilder, kernel: &str| {
        let simulator = simulator.build(&cubin).expect("it loads");
        let error = simulator.kernel(kernel).expect("it is there").launch(1, 32).expect_err("a fault");
        error.fault().expect("it ran").kind
    };
    assert_eq!(kind(Simulator::builder(), "traps"), FaultKind::Trap);
    assert_eq!(kind(Simulator::builder().max_instructions(1000), "endless"), FaultKind::InstructionLimit);
    assert_eq!(kind(Simulator::builder().timeout(Duration::from_millis(5)), "endless"), FaultKind::TimeLimit);
    let token = CancelToken::new();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let later = token.clone();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            later.cancel();
        });
        assert_eq!(kind(Simulator::builder().cancel(token.clone()), "endless"), FaultKind::Cancelled);
    });
    assert!(start.elapsed() >= Duration::from_millis(20));
    assert_eq!(kind(Simulator::builder().cancel(token), "traps"), FaultKind::Cancelled);
}

/// Bytes that others may see while a launch runs.
struct Shared<'a>(&'a Mutex<Vec<u8>>);

impl HostBuffer for Shared<'_> {
    fn size(&self) -> usize {
        self.0.lock().expect("whole").len()
    }

    fn read(&self, device: &mut dyn FnMut(&[u8])) {
        device(&self.0.lock().expect("whole"));
    }

    fn write(&mut self, device: &mut dyn FnMut(&mut [u8])) {
        device(&mut self.0.lock().expect("whole"));
    }
}

#[test]
fn buffers_need_not_be_slices() {
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    let bytes = Mutex::new([3f32; 32].map(f32::to_le_bytes).concat());
    let launched = |direction| {
        // Both parameters mean the same bytes of the host, each a buffer of its own on the device.
        let launch = affine(&simulator).buffer(Shared(&bytes), direction).buffer(Shared(&bytes), Direction::In);
        launch.value(2f32).bytes(&[0u8, 1]).value(0i64).launch(1, 32).expect("it runs");
        bytes.lock().expect("whole").clone()
    };
    let all = |value: f32| [value; 32].map(f32::to_le_bytes).concat();
    assert_eq!(launched(Direction::In), all(3.0));
    assert_eq!(launched(Direction::Out), all(7.0));
    assert_eq!(launched(Direction::InOut), all(15.0));
}

#[test]
fn a_launch_takes_no_more_memory_than_it_may() {
    let cubin = compiled(AFFINE);
    let launched = |bytes: u64| {
        let simulator = Simulator::builder().memory(bytes).threads(NonZeroUsize::MIN).build(&cubin).expect("it loads");
        let (mut out, data) = ([0f32; 1024], [1f32; 1024]);
        let launch = affine(&simulator).output(&mut out).input(&data).value(1f32).bytes(&[0u8; 2]).value(0i64);
        launch.launch(1, 1024).map(|report| report.warps)
    };
    // Two buffers of 4 KiB, and 32 warps of 256 registers of 32 lanes.
    let error = launched(8191).expect_err("the buffers are larger");
    assert!(matches!(error, LaunchError::OutOfMemory(_)), "{error}");
    assert_eq!(error.to_string(), "out of memory: the launch needs more than the 8191 bytes that it may have");
    let error = launched(1 << 20).expect_err("the registers are larger");
    assert_eq!(error.fault().map(|fault| fault.kind), Some(FaultKind::OutOfMemory), "{error}");
    assert_eq!(launched(2 << 20), Ok(32));
}

#[test]
fn time_is_estimated_on_request() {
    let simulator = Simulator::builder().timing(true).build(&compiled(AFFINE)).expect("it loads");
    let (mut out, data) = ([0f32; 128], [1f32; 128]);
    let launch = affine(&simulator).output(&mut out).input(&data).value(1f32).bytes(&[0u8; 2]).value(0i64);
    let report = launch.launch([2, 1, 1], (32, 2)).expect("it runs");
    let timing = report.timing.expect("asked for");
    assert_eq!(timing.instructions, report.warp_instructions);
    // A load from memory alone takes hundreds of cycles.
    assert!(timing.cycles > 200 && timing.clock_mhz > 500, "{timing:?}");
    assert!(timing.occupancy > 0.0 && timing.occupancy <= 1.0);
}

#[test]
fn threads_may_launch_at_a_time() {
    let simulator = Simulator::new(&compiled(AFFINE)).expect("it loads");
    std::thread::scope(|scope| {
        for a in 0..4u8 {
            let simulator = &simulator;
            scope.spawn(move || {
                let (mut out, data) = ([0f32; 64], [2f32; 64]);
                let launch = affine(simulator).output(&mut out).input(&data).value(f32::from(a));
                launch.bytes(&[0u8; 2]).value(0i64).launch(2, 32).expect("it runs");
                assert_eq!(out, [2.0 * f32::from(a); 64]);
            });
        }
    });
}
