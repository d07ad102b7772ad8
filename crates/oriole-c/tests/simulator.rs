//! The simulator's functions, and code as text.

use crate::common;

use crate::common::{SAXPY, cubin, done, log};
use oriole_c::*;
use std::ffi::{CStr, CString};
use std::time::{Duration, Instant};
use std::{ptr, thread};

use orioleArgumentKind::*;
use orioleResult::*;

const ONE: orioleDim = orioleDim { x: 1, y: 1, z: 1 };

/// A report before a function gets it.
fn empty_report(size: usize) -> orioleLaunchReport {
    orioleLaunchReport {
        size,
        blocks: 0,
        warps: 0,
        warp_instructions: 0,
        thread_instructions: 0,
        cycles: 0,
        occupancy: 0.0,
        clock_mhz: 0,
        reserved: 0,
    }
}

/// A simulator that is destroyed at the end.
struct Simulator(orioleSimulatorHandle);

impl Simulator {
    fn new(cubin: &[u8]) -> Simulator {
        let mut handle = ptr::null_mut();
        // SAFETY: both pointers are to what they should be.
        let result = unsafe { orioleSimulatorCreate(&mut handle, cubin.len(), cubin.as_ptr().cast()) };
        assert_eq!(result, ORIOLE_SUCCESS);
        Simulator(handle)
    }

    fn launch(&self, kernel: &str, blocks: u32, threads: u32, arguments: &[orioleArgument]) -> orioleResult {
        let kernel = CString::new(kernel).expect("no zeros");
        let (grid, block) = (orioleDim { x: blocks, ..ONE }, orioleDim { x: threads, ..ONE });
        // SAFETY: the arguments of these tests are buffers that live.
        unsafe { orioleSimulatorLaunch(self.0, kernel.as_ptr(), grid, block, 0, arguments.len(), arguments.as_ptr()) }
    }

    fn error_log(&self) -> String {
        // SAFETY: `log` gives a number's place and as much room as that says.
        log(
            |size| unsafe { orioleSimulatorGetErrorLogSize(self.0, size) },
            |text| unsafe { orioleSimulatorGetErrorLog(self.0, text) },
        )
    }

    fn report(&self) -> Result<orioleLaunchReport, orioleResult> {
        let mut report = empty_report(size_of::<orioleLaunchReport>());
        // SAFETY: a report can be written there.
        done(unsafe { orioleSimulatorGetReport(self.0, &mut report) })?;
        Ok(report)
    }

    fn printed(&self) -> Vec<u8> {
        let mut size = 0;
        // SAFETY: a number can be written there.
        assert_eq!(unsafe { orioleSimulatorGetPrintedSize(self.0, &mut size) }, ORIOLE_SUCCESS);
        let mut printed = vec![0; size];
        // SAFETY: there is as much room as was asked for.
        assert_eq!(unsafe { orioleSimulatorGetPrinted(self.0, printed.as_mut_ptr().cast()) }, ORIOLE_SUCCESS);
        printed
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // SAFETY: it is a place of a handle.
        unsafe { orioleSimulatorDestroy(&mut self.0) };
    }
}

fn argument<T>(kind: orioleArgumentKind, data: &mut [T]) -> orioleArgument {
    orioleArgument { kind: kind as u32, size: size_of_val(data), data: data.as_mut_ptr().cast() }
}

/// A value that stays where it is until the program ends.
fn value<T: Copy>(value: T) -> orioleArgument {
    argument(ORIOLE_ARGUMENT_VALUE, Box::leak(Box::new([value])))
}

#[test]
fn a_kernel_runs_and_gives_its_results_back() {
    let simulator = Simulator::new(&cubin(SAXPY, &[]));
    assert_eq!(simulator.report(), Err(ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE));
    assert_eq!(orioleSimulatorSetStrict(simulator.0, 1), ORIOLE_SUCCESS);
    assert_eq!(orioleSimulatorSetThreads(simulator.0, 2), ORIOLE_SUCCESS);
    let (mut x, mut y) = (vec![1.5f32; 100], vec![2.0f32; 100]);
    let arguments = [
        value(2.0f32),
        argument(ORIOLE_ARGUMENT_INPUT, &mut x),
        argument(ORIOLE_ARGUMENT_IN_OUT, &mut y),
        value(100u32),
    ];
    let [a, input, in_out, count] = arguments;
    assert_eq!(simulator.launch("saxpy", 2, 64, &arguments), ORIOLE_SUCCESS, "{}", simulator.error_log());
    assert_eq!(y, [5.0; 100]);
    let report = simulator.report().expect("it ran");
    assert_eq!((report.blocks, report.warps, report.cycles), (2, 4, 0));

    // An output is zeros for the kernel, whatever stands there.
    assert_eq!(orioleSimulatorSetTiming(simulator.0, 1), ORIOLE_SUCCESS);
    let output = orioleArgument { kind: ORIOLE_ARGUMENT_OUTPUT as u32, ..in_out };
    assert_eq!(simulator.launch("saxpy", 2, 64, &[a, input, output, count]), ORIOLE_SUCCESS);
    assert_eq!(y, [3.0; 100]);
    let report = simulator.report().expect("it ran");
    assert!(report.cycles > 0 && report.clock_mhz > 0 && report.occupancy > 0.0, "{report:?}");

    // One buffer of the host for both.
    let twice = orioleArgument { kind: ORIOLE_ARGUMENT_INPUT as u32, ..in_out };
    assert_eq!(simulator.launch("saxpy", 2, 64, &[a, twice, in_out, count]), ORIOLE_SUCCESS);
    assert_eq!(y, [9.0; 100]);
}

/// Programs of before and after this version have a structure of another size.
#[test]
fn a_report_has_as_many_bytes_as_its_caller_knows() {
    #[repr(C)]
    struct Longer {
        report: orioleLaunchReport,
        more: [u64; 4],
        behind: u64,
    }
    let simulator = Simulator::new(&cubin(SAXPY, &[]));
    let (mut x, mut y) = ([0f32; 32], [0f32; 32]);
    let arguments =
        [value(1f32), argument(ORIOLE_ARGUMENT_INPUT, &mut x), argument(ORIOLE_ARGUMENT_IN_OUT, &mut y), value(32u32)];
    assert_eq!(simulator.launch("saxpy", 1, 32, &arguments), ORIOLE_SUCCESS);
    let size = size_of::<orioleLaunchReport>();
    let mut place = Longer { report: empty_report(size + 32), more: [!0; 4], behind: !0 };
    // SAFETY: as many bytes can be written as it says.
    assert_eq!(unsafe { orioleSimulatorGetReport(simulator.0, (&raw mut place).cast()) }, ORIOLE_SUCCESS);
    assert_eq!((place.report.size, place.report.warps, place.more, place.behind), (size + 32, 1, [0; 4], !0));
    for wrong in [0, 8, size - 1] {
        let mut report = empty_report(wrong);
        // SAFETY: the same.
        assert_eq!(unsafe { orioleSimulatorGetReport(simulator.0, &mut report) }, ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(report, empty_report(wrong));
    }
}

#[test]
fn launches_that_are_impossible_say_why() {
    let simulator = Simulator::new(&cubin(SAXPY, &[]));
    let (mut x, mut y) = (vec![1.0f32; 8], vec![1.0f32; 8]);
    let arguments =
        [value(2.0f32), argument(ORIOLE_ARGUMENT_INPUT, &mut x), argument(ORIOLE_ARGUMENT_IN_OUT, &mut y), value(8u32)];
    let wide = [arguments[0], arguments[1], arguments[2], value(8u64)];
    let cases = [
        ("daxpy", 1, &arguments[..], "no kernel 'daxpy'; the module has: saxpy"),
        ("saxpy", 1, &arguments[..3], "the kernel takes 4 arguments, 3 were given"),
        ("saxpy", 1, &wide[..], "argument 3 has 8 bytes, the kernel's parameter 4"),
        ("saxpy", 0, &arguments[..], ""),
        ("saxpy", 5000, &arguments[..], ""),
    ];
    for (kernel, threads, arguments, message) in cases {
        assert_eq!(simulator.launch(kernel, 1, threads, arguments), ORIOLE_ERROR_INVALID_LAUNCH);
        let log = simulator.error_log();
        assert!(!log.is_empty() && (message.is_empty() || log == message), "{log}");
        assert_eq!(simulator.report(), Err(ORIOLE_ERROR_COMPILER_INVOCATION_INCOMPLETE));
    }
    let nothing = orioleArgument { data: ptr::null_mut(), ..arguments[2] };
    let no_kind = orioleArgument { kind: 4, ..arguments[2] };
    let huge = orioleArgument { size: usize::MAX, ..arguments[2] };
    let cases = [
        (nothing, ORIOLE_ERROR_INVALID_INPUT),
        (no_kind, ORIOLE_ERROR_INVALID_INPUT),
        (huge, ORIOLE_ERROR_OUT_OF_MEMORY),
        (
            orioleArgument { kind: ORIOLE_ARGUMENT_OUTPUT as u32, size: usize::MAX / 2, ..huge },
            ORIOLE_ERROR_OUT_OF_MEMORY,
        ),
    ];
    for (wrong, result) in cases {
        let arguments = [arguments[0], arguments[1], wrong, arguments[3]];
        assert_eq!(simulator.launch("saxpy", 1, 8, &arguments), result);
    }
    assert_eq!(y, [1.0; 8]);
}

#[test]
fn a_fault_says_what_and_where() {
    let simulator = Simulator::new(&cubin(SAXPY, &[]));
    let (mut x, mut y) = (vec![1.0f32; 4], vec![1.0f32; 8]);
    let arguments = [
        value(2.0f32),
        argument(ORIOLE_ARGUMENT_INPUT, &mut x),
        argument(ORIOLE_ARGUMENT_IN_OUT, &mut y),
        value(4000u32),
    ];
    assert_eq!(simulator.launch("saxpy", 64, 64, &arguments), ORIOLE_ERROR_FAULT);
    let log = simulator.error_log();
    assert!(log.contains("LDG") && log.contains("thread") && log.contains("0x"), "{log}");
    assert_eq!(y, [1.0; 8]);
    // What is too long is a fault as well; and a launch behind it finds nothing of it.
    assert_eq!(orioleSimulatorSetMaxInstructions(simulator.0, 1), ORIOLE_SUCCESS);
    let arguments = [arguments[0], arguments[1], arguments[2], value(1u32)];
    assert_eq!(simulator.launch("saxpy", 1, 32, &arguments), ORIOLE_ERROR_FAULT);
    assert_ne!(simulator.error_log(), log);
    assert_eq!(orioleSimulatorSetMaxInstructions(simulator.0, 1000), ORIOLE_SUCCESS);
    assert_eq!(orioleSimulatorSetTimeout(simulator.0, 60_000), ORIOLE_SUCCESS);
    assert_eq!(simulator.launch("saxpy", 1, 32, &arguments), ORIOLE_SUCCESS);
    assert_eq!(simulator.error_log(), "");
}

/// A kernel that never ends.
const ENDLESS: &str = ".version 8.0\n.target sm_90\n.address_size 64
    .visible .entry endless(.param .u64 p) {
        .reg .b64 %p; .reg .b32 %v;
        ld.param.u64 %p, [p];
        again: ld.volatile.global.u32 %v, [%p]; add.u32 %v, %v, 1; st.volatile.global.u32 [%p], %v; bra again;
    }";

/// Nothing of another thread waits for the launch but its results.
#[test]
fn a_launch_is_ended_by_another_thread() {
    let simulator = Simulator::new(&cubin(ENDLESS, &[]));
    let handle = simulator.0.addr();
    let other = thread::spawn(move || {
        let handle = ptr::without_provenance_mut(handle);
        thread::sleep(Duration::from_millis(100));
        let begin = Instant::now();
        assert_eq!(orioleSimulatorSetTimeout(handle, 5), ORIOLE_SUCCESS);
        assert_eq!(orioleSimulatorSetStrict(handle, 1), ORIOLE_SUCCESS);
        assert_eq!(orioleSimulatorCancel(handle), ORIOLE_SUCCESS);
        assert!(begin.elapsed() < Duration::from_millis(50), "{:?}", begin.elapsed());
        begin
    });
    let mut word = [0u32];
    let arguments = [argument(ORIOLE_ARGUMENT_IN_OUT, &mut word)];
    assert_eq!(simulator.launch("endless", 100, 64, &arguments), ORIOLE_ERROR_CANCELLED, "{}", simulator.error_log());
    let end = Instant::now();
    let late = end - other.join().expect("no panic");
    assert!(late < Duration::from_millis(500), "{late:?}");
    assert!(simulator.error_log().starts_with("cancelled"), "{}", simulator.error_log());
    assert_eq!(simulator.launch("endless", 1, 1, &arguments), ORIOLE_ERROR_CANCELLED);
    // The time is what was set meanwhile.
    assert_eq!(orioleSimulatorResume(simulator.0), ORIOLE_SUCCESS);
    assert_eq!(simulator.launch("endless", 1, 1, &arguments), ORIOLE_ERROR_FAULT);
    assert!(simulator.error_log().starts_with("time limit"), "{}", simulator.error_log());
    assert_eq!(word, [0]);
}

#[test]
fn a_launch_takes_no_more_memory_than_it_may() {
    let simulator = Simulator::new(&cubin(SAXPY, &[]));
    let (mut x, mut y) = (vec![1f32; 1 << 18], vec![1f32; 1 << 18]);
    let arguments = [
        value(1f32),
        argument(ORIOLE_ARGUMENT_INPUT, &mut x),
        argument(ORIOLE_ARGUMENT_IN_OUT, &mut y),
        value(1u32 << 18),
    ];
    for (bytes, outcome) in [
        (1 << 20, ORIOLE_ERROR_OUT_OF_MEMORY),
        ((2 << 20) + 4096, ORIOLE_ERROR_OUT_OF_MEMORY),
        (64 << 20, ORIOLE_SUCCESS),
        (0, ORIOLE_SUCCESS),
    ] {
        assert_eq!(orioleSimulatorSetMemoryLimit(simulator.0, bytes), ORIOLE_SUCCESS);
        assert_eq!(simulator.launch("saxpy", 1024, 256, &arguments), outcome, "{bytes}: {}", simulator.error_log());
        assert_eq!(simulator.error_log().starts_with("out of memory"), outcome != ORIOLE_SUCCESS);
    }
    assert!(y.iter().all(|y| *y == 3.0));
    assert_eq!(orioleSimulatorSetDeterministic(simulator.0, 1), ORIOLE_SUCCESS);
    assert_eq!(orioleSimulatorSetThreads(simulator.0, u32::MAX), ORIOLE_SUCCESS);
    assert_eq!(simulator.launch("saxpy", 1024, 256, &arguments), ORIOLE_SUCCESS);
}

#[test]
fn what_a_kernel_prints_is_kept() {
    const PRINTS: &str = ".version 8.0\n.target sm_90\n.address_size 64
        .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .align 1 .b8 text[4] = {104, 105, 10, 0};
        .visible .entry prints() {
            .reg .b64 %f; .param .b64 f; .param .b64 a; .param .b32 r;
            mov.u64 %f, text; cvta.global.u64 %f, %f;
            st.param.b64 [f], %f; st.param.b64 [a], 0;
            call (r), vprintf, (f, a);
            ret;
        }";
    let simulator = Simulator::new(&cubin(PRINTS, &[]));
    assert_eq!(simulator.launch("prints", 2, 1, &[]), ORIOLE_SUCCESS, "{}", simulator.error_log());
    assert_eq!(simulator.printed(), b"hi\nhi\n");
    let (mut size, mut text) = (0, [0xaa_u8; 8]);
    // SAFETY: there is as much room as each call says.
    unsafe {
        let copy = |room, text: &mut [u8; 8], size| {
            orioleSimulatorCopyPrinted(simulator.0, room, text.as_mut_ptr().cast(), size)
        };
        assert_eq!(copy(5, &mut text, &mut size), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!((size, text), (6, [0xaa; 8]));
        assert_eq!(copy(6, &mut text, ptr::null_mut()), ORIOLE_SUCCESS);
        assert_eq!(&text, b"hi\nhi\n\xaa\xaa");
        assert_eq!(orioleSimulatorCopyErrorLog(simulator.0, 1, text.as_mut_ptr().cast(), &mut size), ORIOLE_SUCCESS);
        assert_eq!((size, text[0], text[1]), (1, 0, b'i'));
    }
}

#[test]
fn the_shape_of_clusters_can_be_set() {
    const CLUSTER: &str = ".version 8.0\n.target sm_90\n.address_size 64
        .visible .entry size(.param .u64 out) {
            .reg .b64 %out; .reg .b32 %n;
            ld.param.u64 %out, [out]; mov.u32 %n, %cluster_nctaid.x; st.global.u32 [%out], %n; ret;
        }";
    let simulator = Simulator::new(&cubin(CLUSTER, &[]));
    assert_eq!(orioleSimulatorSetCluster(simulator.0, orioleDim { x: 2, ..ONE }), ORIOLE_SUCCESS);
    let mut size = [0u32];
    assert_eq!(simulator.launch("size", 4, 1, &[argument(ORIOLE_ARGUMENT_OUTPUT, &mut size)]), ORIOLE_SUCCESS);
    assert_eq!(size, [2]);
}

#[test]
fn null_and_handles_that_are_none_are_answered() {
    let simulator = Simulator::new(&cubin(SAXPY, &[]));
    let mut handle: orioleSimulatorHandle = ptr::dangling_mut();
    let kernel = c"saxpy".as_ptr();
    // SAFETY: each pointer is null or to what it should be.
    unsafe {
        let nothing = ptr::null_mut();
        assert_eq!(orioleSimulatorCreate(ptr::null_mut(), 1, kernel.cast()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleSimulatorCreate(&mut handle, 0, ptr::null()), ORIOLE_ERROR_INVALID_INPUT);
        assert!(handle.is_null());
        let launch = |kernel, count| orioleSimulatorLaunch(simulator.0, kernel, ONE, ONE, 0, count, ptr::null());
        assert_eq!(launch(ptr::null(), 0), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(launch(kernel, 1), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleSimulatorGetErrorLogSize(simulator.0, ptr::null_mut()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleSimulatorGetErrorLog(simulator.0, nothing), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleSimulatorGetPrintedSize(simulator.0, ptr::null_mut()), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleSimulatorGetPrinted(simulator.0, nothing), ORIOLE_ERROR_INVALID_INPUT);
        assert_eq!(orioleSimulatorDestroy(ptr::null_mut()), ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE);
    }
    assert_eq!(orioleSimulatorSetThreads(simulator.0, 0), ORIOLE_ERROR_INVALID_INPUT);
    let compiler = common::Compiler::new(SAXPY);
    let mut destroyed = Simulator::new(&cubin(SAXPY, &[]));
    let handles = [ptr::null_mut(), destroyed.0, compiler.0.cast()];
    // SAFETY: a handle stands there.
    assert_eq!(unsafe { orioleSimulatorDestroy(&mut destroyed.0) }, ORIOLE_SUCCESS);
    for handle in handles {
        let mut slot = handle;
        // SAFETY: a handle may be anything; a handle stands in the slot.
        let results = unsafe {
            [
                orioleSimulatorSetStrict(handle, 1),
                orioleSimulatorSetCluster(handle, ONE),
                orioleSimulatorLaunch(handle, kernel, ONE, ONE, 0, 0, ptr::null()),
                orioleSimulatorDestroy(&mut slot),
            ]
        };
        assert_eq!(results, [ORIOLE_ERROR_INVALID_SIMULATOR_HANDLE; 4], "{handle:?}");
    }
    // A simulator's handle is no compiler's.
    assert_eq!(orioleCompilerCancel(simulator.0.cast()), ORIOLE_ERROR_INVALID_COMPILER_HANDLE);
}

#[test]
fn code_is_shown_as_text() {
    let bytes = cubin(SAXPY, &[]);
    let mut text = ptr::null_mut();
    // SAFETY: the bytes are there, and a pointer can be written; the text that comes is released once.
    unsafe {
        assert_eq!(orioleDisassemble(bytes.as_ptr().cast(), bytes.len(), &mut text), ORIOLE_SUCCESS);
        let shown = CStr::from_ptr(text).to_str().expect("UTF-8");
        assert_eq!(shown, oriole::disassemble(&bytes).expect("a cubin"));
        orioleFree(text);
        orioleFree(ptr::null_mut());
    }
}

#[test]
fn bytes_that_are_no_cubin_are_told() {
    let right = cubin(SAXPY, &[]);
    for bytes in [&b"no cubin"[..], b"", &right[..100], &right[..right.len() / 2]] {
        let (mut text, mut handle) = (ptr::dangling_mut(), ptr::dangling_mut());
        // SAFETY: the bytes are there, and pointers can be written.
        unsafe {
            let data = bytes.as_ptr().cast();
            assert_eq!(orioleDisassemble(data, bytes.len(), &mut text), ORIOLE_ERROR_INVALID_CUBIN);
            assert!(text.is_null() && !CStr::from_ptr(orioleGetLastError()).is_empty());
            assert_eq!(orioleSimulatorCreate(&mut handle, bytes.len(), data), ORIOLE_ERROR_INVALID_CUBIN);
            assert!(handle.is_null() && !CStr::from_ptr(orioleGetLastError()).is_empty());
            assert_eq!(orioleDisassemble(ptr::null(), 1, &mut text), ORIOLE_ERROR_INVALID_INPUT);
            assert_eq!(orioleDisassemble(data, bytes.len(), ptr::null_mut()), ORIOLE_ERROR_INVALID_INPUT);
        }
    }
}
