//! `oriole demo`: the whole way on a bundled kernel.

use super::args::DemoArgs;
use super::failure::Failure;
use super::{compile, files};
use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::Cubin;
use oriole_device::{Launch, Memory, argument};
use oriole_sim::{Options, Simulator};
use std::fmt::Write;
use std::path::Path;

/// `demo/saxpy.cu` as NVRTC compiles it.
const PTX: &str = include_str!("../../demo/saxpy.ptx");
const ELEMENTS: usize = 1000;
const ALPHA: f32 = 2.0;

/// Compile the kernel, show its code, run it on the strict simulator, compare with the host.
pub(crate) fn run(args: &DemoArgs) -> Result<(), Failure> {
    let target = compile::compile_target(&args.arch)?;
    let failed = |e: &dyn std::fmt::Display| Failure::Rejected(format!("error: demo: {e}"));
    let options = CompileOptions { target: Some(target), ..CompileOptions::default() };
    let compiled = compile(PTX, &options).map_err(|e| failed(&e))?;
    let cubin = Cubin::parse(&compiled.cubin).map_err(|e| failed(&e))?;
    let mut out = format!("y = {ALPHA} * x + y, {ELEMENTS} elements, compiled from PTX for {target}:\n");
    out.push_str(&oriole_assembly::list_functions(&cubin, &[], true).map_err(|e| failed(&e))?);

    let x: Vec<f32> = (0..ELEMENTS).map(|i| i as f32 * 0.5).collect();
    let y: Vec<f32> = (0..ELEMENTS).map(|i| 1.0 + i as f32).collect();
    let (bytes, printed) = simulate(&cubin, &x, &y).map_err(|e| failed(&e))?;
    out.push_str(&printed);
    let got: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| ALPHA.mul_add(*x, *y)).collect();
    let _ = writeln!(out, "y[0..5] = {:?}, y[{}] = {:?}", &got[..5], ELEMENTS - 1, got[ELEMENTS - 1]);
    let wrong = got.iter().zip(&want).filter(|(g, w)| g != w).count();
    let _ = writeln!(out, "{} of {ELEMENTS} elements equal what the host computes", ELEMENTS - wrong);
    files::write(Path::new("-"), out.as_bytes())?;
    if wrong == 0 { Ok(()) } else { Err(Failure::Fault(format!("fault: {wrong} elements are wrong"))) }
}

/// Run 4 blocks of 64 threads under strict simulation: the bytes of `y` afterwards, and what to say of the run.
fn simulate(cubin: &Cubin, x: &[f32], y: &[f32]) -> Result<(Vec<u8>, String), Box<dyn std::error::Error>> {
    let simulator = Simulator::new(cubin, Options { strict: true, ..Options::default() })?;
    let mut memory = Memory::new();
    let bytes = |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
    let x_address = memory.allocate_with("x", &bytes(x));
    let y_address = memory.allocate_with("y", &bytes(y));
    let arguments = [
        argument::Argument::Value(ALPHA.to_le_bytes().to_vec()),
        argument::Argument::Value(x_address.to_le_bytes().to_vec()),
        argument::Argument::Value(y_address.to_le_bytes().to_vec()),
        argument::Argument::Value((y.len() as u32).to_le_bytes().to_vec()),
    ];
    let bound = argument::bind(&arguments, &simulator.parameters("saxpy")?, &mut memory)?;
    let launch = Launch { grid: [4, 1, 1], block: [64, 1, 1], params: bound.params, ..Launch::default() };
    let report = simulator.launch("saxpy", &launch, &mut memory)?;
    let said = format!(
        "\nstrict simulation, grid 4, block 64: {} warp instructions, no hazard\n",
        report.statistics.warp_instructions
    );
    let result = memory.read(y_address, 4 * y.len() as u64).ok_or("the buffer is gone")?;
    Ok((result, said))
}
