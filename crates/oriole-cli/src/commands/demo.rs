//! `oriole demo`: the whole way on a bundled kernel, as a user of the library goes it.

use super::args::DemoArgs;
use super::failure::Failure;
use super::files;
use oriole::{Compiler, Simulator};
use std::fmt::Write;

/// `demo/saxpy.cu` as NVRTC compiles it.
const PTX: &str = include_str!("../../demo/saxpy.ptx");
const ELEMENTS: usize = 1000;
const ALPHA: f32 = 2.0;

/// Compile the kernel, show its code, run it on the strict simulator, compare with the host.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let compiler = Compiler::builder().target(&args.arch).build();
    let compiler = compiler.map_err(|error| Failure::Rejected(format!("error: {error}")))?;
    let x: Vec<f32> = (0..ELEMENTS).map(|i| i as f32 * 0.5).collect();
    let y: Vec<f32> = (0..ELEMENTS).map(|i| 1.0 + i as f32).collect();
    let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| ALPHA.mul_add(*x, *y)).collect();
    let mut got = y;
    let mut out = show(&compiler, &x, &mut got).map_err(|e| Failure::Rejected(format!("error: demo: {e}")))?;
    let _ = writeln!(out, "y[0..5] = {:?}, y[{}] = {:?}", &got[..5], ELEMENTS - 1, got[ELEMENTS - 1]);
    let wrong = got.iter().zip(&want).filter(|(g, w)| g != w).count();
    let _ = writeln!(out, "{} of {ELEMENTS} elements equal what the host computes", ELEMENTS - wrong);
    files::print(&out)?;
    if wrong == 0 { Ok(()) } else { Err(Failure::Fault(format!("fault: {wrong} elements are wrong"))) }
}

/// Compile, and run 4 blocks of 64 threads under strict simulation; what to say of it.
fn show(compiler: &Compiler, x: &[f32], y: &mut [f32]) -> Result<String, Box<dyn std::error::Error>> {
    let cubin = compiler.compile_ptx(PTX)?.cubin;
    let code = oriole::disassemble(cubin.as_bytes())?;
    let simulator = Simulator::builder().strict(true).build(&cubin)?;
    let launch = simulator.kernel("saxpy")?.value(ALPHA).input(x).in_out(y).value(ELEMENTS as u32);
    let report = launch.launch(4, 64)?;
    let target = cubin.target();
    Ok(format!(
        "y = {ALPHA} * x + y, {ELEMENTS} elements, compiled from PTX for {target}:\n{code}\n\
         strict simulation, grid 4, block 64: {} warp instructions, no hazard\n",
        report.warp_instructions
    ))
}
