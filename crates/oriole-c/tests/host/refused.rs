//! Memory that runs out.

use crate::calls::{Simulator, llvm, ptx};
use crate::common::{Compiler, cubin};
use crate::forked::{all_calls, in_child};
use oriole_c::*;
use std::thread;

use orioleResult::*;

/// Each thread touches the far end of 400,000 bytes of its own.
const LOCAL: &str = ".version 8.0\n.target sm_90\n.address_size 64
    .visible .entry local(.param .u64 p) {
        .local .align 4 .b8 a[400000]; .reg .b64 %p, %a, %b, %o; .reg .b32 %v, %w;
        ld.param.u64 %p, [p]; ld.global.u32 %v, [%p]; ld.global.u32 %w, [%p+4];
        mov.u64 %a, a; mul.wide.u32 %o, %v, 4; add.u64 %b, %a, %o; st.local.u32 [%b], %v;
        mul.wide.u32 %o, %w, 4; add.u64 %b, %a, %o; ld.local.u32 %v, [%b];
        st.global.u32 [%p], %v; ret;
    }";

/// So many bytes more than now are all that this process gets.
fn limit_memory(more: u64) {
    let status = std::fs::read_to_string("/proc/self/status").expect("it says what the process holds");
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("its size");
    let kilobytes: u64 = size.trim().trim_end_matches("kB").trim().parse().expect("a number");
    let most = 1024 * kilobytes + more;
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the structure is one of a limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

pub(crate) fn memory_that_runs_out_in_a_launch_is_an_error() {
    in_child("a limit of memory", || {
        let simple = Simulator::new(&cubin(ptx(1, 4), &[]));
        let local = Simulator::new(&cubin(LOCAL, &[]));
        for simulator in [&simple, &local] {
            assert_eq!(orioleSimulatorSetThreads(simulator.0, 1), ORIOLE_SUCCESS);
        }
        let mut buffer = vec![1u32; 48 << 20];
        limit_memory(96 << 20);
        assert_eq!(simple.launch(c"k0", [1, 1], &mut buffer), ORIOLE_ERROR_OUT_OF_MEMORY);
        assert_eq!(buffer[0], 1);
        // 1024 threads want 400 MB.
        let mut word = [0, 0];
        assert_eq!(local.launch(c"local", [1, 1024], &mut word), ORIOLE_ERROR_OUT_OF_MEMORY);
        // The process goes on, and so do launches for which there is room.
        assert_eq!(simple.launch(c"k0", [1, 1], &mut buffer[..1024]), ORIOLE_SUCCESS);
        assert_eq!(local.launch(c"local", [1, 32], &mut word), ORIOLE_SUCCESS);
    });
}

/// Threads that cannot be had are no error: work goes on with the one that calls.
pub(crate) fn calls_work_with_the_thread_that_there_is() {
    in_child("a limit of threads", || {
        let limit = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        // SAFETY: the structure is one of a limit. It is none for root, so that this child becomes `nobody` where it may.
        unsafe {
            assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &limit), 0);
            libc::setuid(65_534);
        }
        if thread::Builder::new().spawn(|| ()).is_ok() {
            println!("skipped: threads are not refused here");
            return;
        }
        all_calls();
    });
}

pub(crate) fn a_compilation_that_grows_too_much_ends() {
    for module in [ptx(4, 20_000), llvm(4, 20_000)] {
        let compiler = Compiler::new(module);
        assert_eq!(orioleCompilerSetMemoryLimit(compiler.0, 4 << 20), ORIOLE_SUCCESS);
        assert_eq!(compiler.compile(&[]), ORIOLE_ERROR_OUT_OF_MEMORY, "{}", compiler.error_log());
    }
}
