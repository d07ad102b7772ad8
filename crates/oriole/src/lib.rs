//! Oriole as a library: LLVM IR or PTX in, a cubin out, and a simulator that runs it. No GPU, no NVIDIA software.
//!
//! A [`Compiler`] has the settings and compiles any number of modules; what it gives names no type of the crates behind
//! it. Everything is `Send` and `Sync`.
//!
//! # PTX to a cubin
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n
//! .visible .entry twice(.param .u64 p) {
//!     .reg .b64 %p; .reg .b32 %v;
//!     ld.param.u64 %p, [p];
//!     ld.global.u32 %v, [%p];
//!     add.u32 %v, %v, %v;
//!     st.global.u32 [%p], %v;
//!     ret;
//! }";
//! let compiler = oriole::Compiler::builder().target("sm_90").opt_level(3).build()?;
//! let compiled = compiler.compile_ptx(ptx)?;
//! for kernel in &compiled.kernels {
//!     println!("{}: {} registers, {} bytes spilled", kernel.name, kernel.registers.general, kernel.spills.stores);
//! }
//! assert_eq!(compiled.cubin.target(), "sm_90");
//! assert!(oriole::disassemble(compiled.cubin.as_bytes())?.contains("STG.E"));
//!
//! let wrong = compiler.compile_ptx(&ptx.replace("st.global.u32", "st.global.f64")).unwrap_err();
//! let oriole::CompileError::Source(diagnostics) = wrong else { panic!("the PTX is to blame") };
//! assert_eq!(diagnostics[0].span.as_ref().map(|span| span.line), Some(10));
//! # Ok(())
//! # }
//! ```
//!
//! # A kernel on the simulator
#![cfg_attr(not(feature = "simulate"), doc = "\n(Feature `simulate`.)\n\n```ignore")]
#![cfg_attr(feature = "simulate", doc = "\n```")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n
//! # .visible .entry axpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n) {
//! #     .reg .b64 %x, %y; .reg .b32 %i, %b, %s, %n; .reg .f32 %a, %v, %w; .reg .pred %p;
//! #     ld.param.f32 %a, [a]; ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u32 %n, [n];
//! #     mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, %ntid.x; mad.lo.u32 %i, %b, %s, %i;
//! #     setp.ge.u32 %p, %i, %n;
//! #     @%p ret;
//! #     mad.wide.u32 %x, %i, 4, %x; mad.wide.u32 %y, %i, 4, %y;
//! #     ld.global.f32 %v, [%x]; ld.global.f32 %w, [%y];
//! #     fma.rn.f32 %w, %a, %v, %w;
//! #     st.global.f32 [%y], %w;
//! #     ret;
//! # }";
//! use oriole::{Compiler, Simulator};
//! let cubin = Compiler::builder().target("sm_90").build()?.compile_ptx(ptx)?.cubin;
//! let (x, mut y) = (vec![1.5f32; 1000], vec![2.0f32; 1000]);
//! let simulator = Simulator::builder().strict(true).build(&cubin)?;
//! let launch = simulator.kernel("axpy")?.value(2.0f32).input(&x).in_out(&mut y).value(1000u32);
//! let report = launch.launch(4, 256)?;
//! assert_eq!(y, [5.0; 1000]);
//! assert_eq!(report.blocks, 4);
//! # Ok(())
//! # }
//! ```
//!
//! # LLVM IR to a cubin
#![cfg_attr(not(feature = "llvm"), doc = "\n(Feature `llvm`.)\n\n```ignore")]
#![cfg_attr(feature = "llvm", doc = "\n```")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ir = r#"
//! target triple = "nvptx64-nvidia-cuda"
//! define ptx_kernel void @store(ptr addrspace(1) %out, i32 %value) {
//!   store i32 %value, ptr addrspace(1) %out
//!   ret void
//! }"#;
//! let compiled = oriole::Compiler::builder().target("sm_90").build()?.compile_llvm(ir)?;
//! assert_eq!(compiled.kernels[0].name, "store");
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! * `llvm` (default): `Compiler::compile_llvm`;
//! * `simulate` (default): `Simulator`.
//!
//! # What is missing
//!
//! * Textures, surfaces, samplers and the module's variables are bound by the command line alone.
// The examples of README.md are tests.
#![cfg_attr(all(doctest, feature = "simulate"), doc = include_str!("../README.md"))]

mod compiled;
mod compiler;
mod device;
mod diagnostic;
mod disassembly;
mod error;
mod function;
mod limits;
#[cfg(feature = "llvm")]
mod llvm;
mod observer;
#[cfg(feature = "simulate")]
mod origin;
#[cfg(feature = "simulate")]
mod simulator;

pub use compiled::{Compiled, Cubin, Kernel, LiveRegisters, Registers, Spills};
pub use compiler::{Compiler, CompilerBuilder, DebugInfo, FastCompile};
pub use device::{Chip, Device};
pub use diagnostic::{Diagnostic, Note, Severity, Span};
pub use disassembly::disassemble;
pub use error::{CompileError, CubinError, SettingError};
pub use function::{Function, Instruction, Place};
pub use limits::{CancelToken, Limits};
#[cfg(feature = "llvm")]
pub use llvm::{FpContract, LlvmOptions};
pub use observer::Pass;
#[cfg(feature = "simulate")]
pub use origin::{KernelOrigin, Parameter};
#[cfg(feature = "simulate")]
pub use simulator::{
    Dim, Direction, Fault, FaultKind, Finding, HostBuffer, InnerPointer, KernelLaunch, LaunchError, LaunchReport,
    MemoryAccess, Scalar, Simulator, SimulatorBuilder, Timing,
};
#[cfg(feature = "simulate")]
pub use zerocopy;
