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
mod cancel;
mod compile;
mod compiler;
mod compiler_results;
mod disassembly;
mod handles;
mod launch;
mod log;
mod options;
mod quiet;
mod result;
mod simulator;
mod simulator_results;
mod simulator_settings;
mod version;

pub use compiler::{
    orioleCompiler, orioleCompilerAddLibrary, orioleCompilerCancel, orioleCompilerCompile, orioleCompilerCreate,
    orioleCompilerDestroy, orioleCompilerHandle, orioleCompilerResume, orioleCompilerSetMemoryLimit,
    orioleCompilerSetTimeout,
};
pub use compiler_results::{
    orioleCompilerCopyCompiledProgram, orioleCompilerCopyErrorLog, orioleCompilerCopyInfoLog,
    orioleCompilerGetCompiledProgram, orioleCompilerGetCompiledProgramSize, orioleCompilerGetErrorLog,
    orioleCompilerGetErrorLogSize, orioleCompilerGetInfoLog, orioleCompilerGetInfoLogSize,
};
pub use disassembly::{orioleDisassemble, orioleFree};
pub use launch::{orioleArgument, orioleArgumentKind, orioleDim, orioleLaunchReport};
pub use log::orioleGetLastError;
pub use result::{orioleGetResultString, orioleResult};
pub use simulator::{
    orioleSimulator, orioleSimulatorCancel, orioleSimulatorCreate, orioleSimulatorDestroy, orioleSimulatorHandle,
    orioleSimulatorLaunch, orioleSimulatorResume,
};
pub use simulator_results::{
    orioleSimulatorCopyErrorLog, orioleSimulatorCopyPrinted, orioleSimulatorGetErrorLog,
    orioleSimulatorGetErrorLogSize, orioleSimulatorGetPrinted, orioleSimulatorGetPrintedSize, orioleSimulatorGetReport,
};
pub use simulator_settings::{
    orioleSimulatorSetCluster, orioleSimulatorSetDeterministic, orioleSimulatorSetMaxInstructions,
    orioleSimulatorSetMemoryLimit, orioleSimulatorSetStrict, orioleSimulatorSetThreads, orioleSimulatorSetTimeout,
    orioleSimulatorSetTiming,
};
pub use version::{
    ORIOLE_VERSION, ORIOLE_VERSION_MAJOR, ORIOLE_VERSION_MINOR, ORIOLE_VERSION_PATCH, orioleCompilerGetVersion,
    orioleGetVersion,
};
