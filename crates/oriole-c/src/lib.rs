//! Oriole as a C library: the functions that `include/oriole.h` declares.
//!
//! The compiler's part is shaped like NVIDIA's nvPTXCompiler, so that a program changes over by renaming. `docs/c.md`
//! says how to build, install and use it, and which of ptxas's options act.
//!
//! No function unwinds into its caller: a panic becomes `ORIOLE_ERROR_INTERNAL` (where panics unwind, as in the builds of
//! `tools/install_c.sh`; the workspace's release profile aborts). Handles are numbers of tables, not addresses: one that
//! was never given out, or was destroyed, is an error and no access to memory.

// The names are those of the C interface.
#![allow(non_camel_case_types, non_snake_case)]

mod boundary;
mod compile;
mod compiler;
mod disassembly;
mod handles;
mod launch;
mod log;
mod options;
mod result;
mod simulator;
mod version;

pub use compiler::{
    orioleCompiler, orioleCompilerCancel, orioleCompilerCompile, orioleCompilerCreate, orioleCompilerDestroy,
    orioleCompilerGetCompiledProgram, orioleCompilerGetCompiledProgramSize, orioleCompilerGetErrorLog,
    orioleCompilerGetErrorLogSize, orioleCompilerGetInfoLog, orioleCompilerGetInfoLogSize, orioleCompilerHandle,
};
pub use disassembly::{orioleDisassemble, orioleFree};
pub use launch::{orioleArgument, orioleArgumentKind, orioleDim, orioleLaunchReport};
pub use log::orioleGetLastError;
pub use result::{orioleGetResultString, orioleResult};
pub use simulator::{
    orioleSimulator, orioleSimulatorCreate, orioleSimulatorDestroy, orioleSimulatorGetErrorLog,
    orioleSimulatorGetErrorLogSize, orioleSimulatorGetPrinted, orioleSimulatorGetPrintedSize, orioleSimulatorGetReport,
    orioleSimulatorHandle, orioleSimulatorLaunch, orioleSimulatorSetCluster, orioleSimulatorSetMaxInstructions,
    orioleSimulatorSetStrict, orioleSimulatorSetThreads, orioleSimulatorSetTimeout, orioleSimulatorSetTiming,
};
pub use version::orioleCompilerGetVersion;
