//! `oriole run --engine gpu`: the same launch through the CUDA driver.

use super::bounds;
use super::failure::Failure;
use super::files::Outputs;
use super::launch::{Given, say_what_runs, wrong_argument};
use super::run_args::RunArgs;
use crate::cuda::{DevicePointer, Driver, DriverError, Module, Shape};
use oriole_cubin::{Cubin, Param};
use oriole_device::argument::{Argument, ArgumentError, Buffer};
use oriole_device::array::ArrayType;
use oriole_device::{FaultKind, VariableError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// An output file, its device buffer and what that is.
type Output = (PathBuf, DevicePointer, ArrayType);

/// Load the cubin, launch, fetch the buffers.
pub(crate) fn run(args: &RunArgs, cubin: &[u8], parsed: &Cubin, given: &Given) -> Result<(), Failure> {
    check_arguments(args, parsed, given)?;
    let driver = Driver::open().map_err(rejected)?;
    let module = load(&driver, cubin, parsed)?;
    set_globals(&driver, &module, given)?;
    let mut outputs: Vec<Output> = Vec::new();
    let mut keep = |buffer: &Buffer, placed: Placed| {
        outputs.extend(buffer.output.clone().map(|path| (path, placed.address, placed.array)));
    };
    let mut parameters = place_all(&driver, given, &mut keep)?;
    say_what_runs(args);
    within(bounds::timeout(args.timeout)?, args, || driver.launch(&module, &args.entry, shape(args), &mut parameters))
        .map_err(|e| Failure::Fault(format!("fault: {e}")))?;
    let mut files = Outputs::default();
    for (path, address, array) in outputs {
        let mut bytes = vec![0; array.size().and_then(|size| usize::try_from(size).ok()).unwrap_or(0)];
        driver.download(address, &mut bytes).map_err(rejected)?;
        files.add(&path, &array.file(&path, bytes))?;
    }
    files.finish()
}

/// How the kernel is launched.
pub(crate) fn shape(args: &RunArgs) -> Shape {
    Shape { grid: args.grid, block: args.block.unwrap_or([1; 3]), shared: args.shared }
}

/// The cubin has the kernel, and what is given are its parameters.
pub(crate) fn check_arguments(args: &RunArgs, parsed: &Cubin, given: &Given) -> Result<(), Failure> {
    let kernel = parsed.kernel(&args.entry).ok_or_else(|| {
        let known: Vec<&str> = parsed.kernels().map(|k| k.name.as_str()).collect();
        Failure::Rejected(format!("error: no kernel '{}'; the module has: {}", args.entry, known.join(", ")))
    })?;
    let params: Vec<&Param> = kernel.params.iter().filter(|param| !param.is_object()).collect();
    check_sizes(&params, &given.arguments)
}

/// Load a cubin, or say why the device does not take it.
pub(crate) fn load(driver: &Driver, cubin: &[u8], parsed: &Cubin) -> Result<Module, Failure> {
    driver.load(cubin).map_err(|e| {
        let capability = driver.capability().map_or_else(|_| String::new(), |sm| format!(" on this sm_{sm} device"));
        Failure::Rejected(format!("error: code for {}{capability}: {e}", parsed.target))
    })
}

/// Give the module's variables what they are to have.
pub(crate) fn set_globals(driver: &Driver, module: &Module, given: &Given) -> Result<(), Failure> {
    for (name, bytes) in &given.globals {
        let (address, size) = driver.global(module, name).map_err(rejected)?;
        if bytes.len() > size {
            let error = VariableError::Size { name: name.clone(), size: size as u64, given: bytes.len() };
            return Err(Failure::Rejected(format!("error: {error}")));
        }
        driver.upload(address, bytes).map_err(rejected)?;
    }
    Ok(())
}

/// The driver reads as many bytes of each argument as its parameter has, whatever there is.
fn check_sizes(params: &[&Param], arguments: &[Argument]) -> Result<(), Failure> {
    let wrong = |error: ArgumentError| Err(Failure::Usage(format!("error: {error}")));
    if params.len() != arguments.len() {
        return wrong(ArgumentError::Count { expected: params.len(), given: arguments.len() });
    }
    let sizes = params.iter().zip(arguments).map(|(param, argument)| (param.size, argument.size()));
    match sizes.enumerate().find(|(_, (expected, given))| *expected as usize != *given) {
        Some((index, (expected, given))) => wrong(ArgumentError::Size { index, expected, given }),
        None => Ok(()),
    }
}

pub(crate) fn rejected(error: DriverError) -> Failure {
    Failure::Rejected(format!("error: {error}"))
}

/// A buffer on the device: where, and what it has before the launch.
pub(crate) struct Placed {
    pub(crate) address: DevicePointer,
    pub(crate) bytes: Vec<u8>,
    array: ArrayType,
}

/// The bytes of all parameters, with their buffers on the device, of which `keep` is told.
pub(crate) fn place_all(
    driver: &Driver,
    given: &Given,
    keep: &mut dyn FnMut(&Buffer, Placed),
) -> Result<Vec<Vec<u8>>, Failure> {
    given.arguments.iter().map(|argument| place(driver, argument, keep)).collect()
}

fn place(driver: &Driver, argument: &Argument, keep: &mut dyn FnMut(&Buffer, Placed)) -> Result<Vec<u8>, Failure> {
    match argument {
        Argument::Value(bytes) => Ok(bytes.clone()),
        Argument::Object(_) => {
            Err(Failure::Rejected("error: textures and surfaces cannot be given to --engine gpu yet".to_owned()))
        }
        Argument::Buffer(buffer) => Ok(place_buffer(driver, buffer, keep)?.to_le_bytes().to_vec()),
        Argument::Aggregate { bytes, buffers } => {
            let mut bytes = bytes.clone();
            for (offset, buffer) in buffers {
                let address = place_buffer(driver, buffer, keep)?;
                bytes[*offset..offset + 8].copy_from_slice(&address.to_le_bytes());
            }
            Ok(bytes)
        }
        // The driver's layout is its own secret: this would have to go through its encoder.
        Argument::TensorMap { .. } => Err(Failure::Rejected("error: tensor maps are for the simulator only".into())),
    }
}

fn place_buffer(
    driver: &Driver,
    buffer: &Buffer,
    keep: &mut dyn FnMut(&Buffer, Placed),
) -> Result<DevicePointer, Failure> {
    let (array, mut bytes) = buffer.contents().map_err(wrong_argument)?;
    if let Some(size) = buffer.size.or(array.size()).and_then(|size| usize::try_from(size).ok()) {
        bytes.resize(size, 0);
    }
    let address = driver.buffer(&bytes).map_err(rejected)?;
    keep(buffer, Placed { address, bytes, array });
    Ok(address)
}

/// What a launch gives, unless it takes longer than `--timeout` lets it: that ends the process with a fault, since nothing
/// else ends a launch on a device.
fn within<T>(limit: Option<Duration>, args: &RunArgs, launch: impl FnOnce() -> T) -> T {
    let Some(limit) = limit else { return launch() };
    // Set by whoever comes first: the end of the launch or that of the time.
    let is_over = Arc::new(AtomicBool::new(false));
    let (ended, end) = mpsc::channel::<()>();
    let (kernel, time_is_over) = (args.entry.clone(), is_over.clone());
    std::thread::spawn(move || {
        if end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) && !time_is_over.swap(true, Ordering::SeqCst)
        {
            let fault = format!("fault: {}\n  in kernel {kernel}", FaultKind::TimeLimit(limit));
            let _ = Failure::Fault(fault).report();
            std::process::exit(3);
        }
    });
    let result = launch();
    if is_over.swap(true, Ordering::SeqCst) {
        // The process is ending.
        loop {
            std::thread::park();
        }
    }
    drop(ended);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_the_sizes_of_the_parameters() {
        let of = |texts: &[&str]| -> Vec<Argument> {
            texts.iter().map(|text| Argument::parse(text).expect("an argument")).collect()
        };
        let param = |ordinal, offset, size| Param { ordinal, offset, size };
        let params = [param(0, 0, 8), param(1, 8, 4), param(2, 12, 16)];
        let params: Vec<&Param> = params.iter().collect();
        assert!(check_sizes(&params, &of(&["zero:4", "u32:1", "bytes:00112233445566778899aabbccddeeff"])).is_ok());
        for texts in [
            &["zero:4", "u32:1"][..],
            &["u32:1", "u32:1", "bytes:00112233445566778899aabbccddeeff"],
            &["zero:4", "u64:1", "bytes:00112233445566778899aabbccddeeff"],
            &["zero:4", "u32:1", "bytes:0011"],
        ] {
            assert!(matches!(check_sizes(&params, &of(texts)), Err(Failure::Usage(_))), "{texts:?}");
        }
    }
}
