//! Every kind of call that works.

use crate::common::{Compiler, SAXPY, cubin};
use oriole_c::*;
use std::ptr;

use orioleArgumentKind::*;
use orioleResult::*;

/// PTX with so many kernels, each with sums of so many values.
pub(crate) fn ptx(kernels: usize, values: usize) -> String {
    let kernel = |number: usize| {
        let sums = (1..values).map(|at| format!("add.u32 %v{at}, %v{}, %v{};\n", at - 1, at / 2));
        format!(
            ".visible .entry k{number}(.param .u64 p) {{\n.reg .b64 %p; .reg .b32 %v<{values}>;\nld.param.u64 %p, [p];\n\
             ld.global.u32 %v0, [%p];\n{}st.global.u32 [%p], %v{};\nret;\n}}\n",
            sums.collect::<String>(),
            values - 1
        )
    };
    format!(".version 8.0\n.target sm_90\n.address_size 64\n{}", (0..kernels).map(kernel).collect::<String>())
}

/// The same as LLVM IR.
pub(crate) fn llvm(kernels: usize, values: usize) -> String {
    let kernel = |number: usize| {
        let sums = (1..values).map(|at| format!("  %v{at} = add i32 %v{}, %v{}\n", at - 1, at / 2));
        format!(
            "define ptx_kernel void @k{number}(ptr addrspace(1) %p) {{\n  %v0 = load i32, ptr addrspace(1) %p\n{}  store i32 \
             %v{}, ptr addrspace(1) %p\n  ret void\n}}\n",
            sums.collect::<String>(),
            values - 1
        )
    };
    format!("target triple = \"nvptx64-nvidia-cuda\"\n{}", (0..kernels).map(kernel).collect::<String>())
}

/// A simulator that is destroyed at the end.
pub(crate) struct Simulator(pub(crate) orioleSimulatorHandle);

impl Simulator {
    pub(crate) fn new(cubin: &[u8]) -> Simulator {
        let mut handle = ptr::null_mut();
        // SAFETY: both pointers are to what they should be.
        assert_eq!(unsafe { orioleSimulatorCreate(&mut handle, cubin.len(), cubin.as_ptr().cast()) }, ORIOLE_SUCCESS);
        Simulator(handle)
    }

    /// Launches the first kernel of a cubin with one buffer.
    pub(crate) fn launch(
        &self,
        kernel: &std::ffi::CStr,
        [blocks, threads]: [u32; 2],
        buffer: &mut [u32],
    ) -> orioleResult {
        let size = size_of_val(buffer);
        let argument = orioleArgument { kind: ORIOLE_ARGUMENT_IN_OUT as u32, data: buffer.as_mut_ptr().cast(), size };
        let dim = |x| orioleDim { x, y: 1, z: 1 };
        // SAFETY: the kernel's name ends with a zero, and the buffer lives.
        unsafe { orioleSimulatorLaunch(self.0, kernel.as_ptr(), dim(blocks), dim(threads), 0, 1, &argument) }
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // SAFETY: it is a place of a handle.
        unsafe { orioleSimulatorDestroy(&mut self.0) };
    }
}

/// `k0` adds its values: 1 becomes this.
fn expected(values: usize) -> u32 {
    let mut all = vec![1u32];
    (1..values).for_each(|at| all.push(all[at - 1].wrapping_add(all[at / 2])));
    all[values - 1]
}

fn compile(module: &str, options: &[&str]) {
    assert_eq!(&cubin(module, options)[..4], b"\x7fELF");
}

fn launch(threads: u32, timing: i32) {
    let simulator = Simulator::new(&cubin(ptx(1, 20), &[]));
    assert_eq!(orioleSimulatorSetThreads(simulator.0, threads), ORIOLE_SUCCESS);
    assert_eq!(orioleSimulatorSetTiming(simulator.0, timing), ORIOLE_SUCCESS);
    let mut word = [1];
    assert_eq!(simulator.launch(c"k0", [1, 1], &mut word), ORIOLE_SUCCESS);
    assert_eq!(word, [expected(20)]);
    assert_eq!(simulator.launch(c"k0", [40, 64], &mut word), ORIOLE_SUCCESS);
}

fn in_rust() {
    let compiled = oriole::Compiler::builder().build().expect("settings").compile_ptx(SAXPY).expect("it compiles");
    let simulator = oriole::Simulator::new(&compiled.cubin).expect("it loads");
    let (x, mut y) = ([2f32; 64], [1f32; 64]);
    let launch = simulator.kernel("saxpy").expect("it is there").value(3f32).input(&x).in_out(&mut y).value(64u32);
    launch.launch(2, 32).expect("it runs");
    assert_eq!(y, [7.0; 64]);
}

/// What is compiled in Rust.
fn compile_in_rust(module: &str) {
    let compiler = oriole::Compiler::builder().build().expect("settings");
    let is_llvm = module.starts_with("target triple");
    let compiled = if is_llvm { compiler.compile_llvm(module.as_bytes()) } else { compiler.compile_ptx(module) };
    assert_eq!(&compiled.expect("it compiles").cubin.as_bytes()[..4], b"\x7fELF");
}

/// Kernels and values of a module of 130 KB.
const LARGE: [usize; 2] = [16, 260];

/// What fails has its own ways.
fn fail() {
    let compiler = Compiler::new(SAXPY.replace("add.f32", "add.f33"));
    assert_eq!(compiler.compile(&[]), ORIOLE_ERROR_COMPILATION_FAILURE);
    assert!(!compiler.error_log().is_empty());
}

/// Every kind of call, with its name.
pub(crate) const CALLS: [(&str, fn()); 11] = [
    ("PTX", || compile(SAXPY, &[])),
    ("PTX on four threads", || compile(&ptx(6, 20), &["--split-compile=4"])),
    ("LLVM IR", || compile(&llvm(6, 20), &[])),
    ("LLVM IR on four threads", || compile(&llvm(6, 20), &["--split-compile=4"])),
    ("a launch on four threads", || launch(4, 0)),
    ("a launch with the cycle model", || launch(2, 1)),
    ("a compilation and a launch in Rust", in_rust),
    ("PTX of 130 KB", || compile(&ptx(LARGE[0], LARGE[1]), &[])),
    ("PTX of 130 KB in Rust", || compile_in_rust(&ptx(LARGE[0], LARGE[1]))),
    ("LLVM IR in Rust", || compile_in_rust(&llvm(6, 20))),
    ("an error", fail),
];
