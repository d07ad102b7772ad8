//! `oriole run --engine gpu`: the same launch through the CUDA driver.

use super::args::RunArgs;
use super::failure::Failure;
use super::{files, run::global_setting};
use crate::driver::{DevicePointer, Driver, DriverError};
use oriole_cubin::Cubin;
use oriole_device::argument::{Argument, Buffer};
use std::path::PathBuf;

/// An output file, its device buffer and size.
type Output = (PathBuf, DevicePointer, usize);

/// Load the cubin, launch, fetch the buffers.
pub(crate) fn run(args: &RunArgs, cubin: &[u8], parsed: &Cubin, arguments: &[Argument]) -> Result<(), Failure> {
    let kernel = parsed.kernel(&args.entry).ok_or_else(|| {
        let known: Vec<&str> = parsed.kernels().map(|k| k.name.as_str()).collect();
        Failure::Rejected(format!("error: no kernel '{}'; the module has: {}", args.entry, known.join(", ")))
    })?;
    let params = kernel.params.iter().filter(|param| !param.is_object()).count();
    if params != arguments.len() {
        let counts = format!("the kernel takes {params} arguments, {} were given", arguments.len());
        return Err(Failure::Usage(format!("error: {counts}")));
    }
    let driver = Driver::open().map_err(rejected)?;
    let module = driver.load(cubin).map_err(|e| {
        let capability = driver.capability().map_or_else(|_| String::new(), |sm| format!(" on this sm_{sm} device"));
        Failure::Rejected(format!("error: code for {}{capability}: {e}", parsed.target))
    })?;
    for setting in &args.global {
        let (name, bytes) = global_setting(setting)?;
        let (address, size) = driver.global(&module, name).map_err(rejected)?;
        driver.upload(address, &bytes[..bytes.len().min(size)]).map_err(rejected)?;
    }
    let mut outputs = Vec::new();
    let mut parameters = Vec::new();
    for argument in arguments {
        parameters.push(place(&driver, argument, &mut outputs)?);
    }
    driver
        .launch(&module, &args.entry, args.grid, args.block, args.shared, &mut parameters)
        .map_err(|e| Failure::Fault(format!("fault: {e}")))?;
    for (path, address, size) in outputs {
        let mut bytes = vec![0; size];
        driver.download(address, &mut bytes).map_err(rejected)?;
        files::write(&path, &bytes)?;
    }
    Ok(())
}

fn rejected(error: DriverError) -> Failure {
    Failure::Rejected(format!("error: {error}"))
}

/// The parameter's bytes, with its buffers on the device.
fn place(driver: &Driver, argument: &Argument, outputs: &mut Vec<Output>) -> Result<Vec<u8>, Failure> {
    match argument {
        Argument::Value(bytes) => Ok(bytes.clone()),
        Argument::Object(_) => {
            Err(Failure::Rejected("error: textures and surfaces cannot be given to --engine gpu yet".to_owned()))
        }
        Argument::Buffer(buffer) => Ok(place_buffer(driver, buffer, outputs)?.to_le_bytes().to_vec()),
        Argument::Aggregate { bytes, buffers } => {
            let mut bytes = bytes.clone();
            for (offset, buffer) in buffers {
                let address = place_buffer(driver, buffer, outputs)?;
                bytes[*offset..offset + 8].copy_from_slice(&address.to_le_bytes());
            }
            Ok(bytes)
        }
        // The driver's layout is its own secret: this would have to go through its encoder.
        Argument::TensorMap { .. } => Err(Failure::Rejected("error: tensor maps are for the simulator only".into())),
    }
}

fn place_buffer(driver: &Driver, buffer: &Buffer, outputs: &mut Vec<Output>) -> Result<DevicePointer, Failure> {
    let mut bytes = buffer.input.as_deref().map(files::read).transpose()?.unwrap_or_default();
    if let Some(size) = buffer.size.and_then(|size| usize::try_from(size).ok()) {
        bytes.resize(size, 0);
    }
    let address = driver.buffer(&bytes).map_err(rejected)?;
    outputs.extend(buffer.output.clone().map(|path| (path, address, bytes.len())));
    Ok(address)
}
