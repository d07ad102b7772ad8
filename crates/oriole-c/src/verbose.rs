//! What the info log says of the code, in ptxas's words.

use crate::options::Settings;
use oriole::{Compiled, Kernel};
use std::fmt::Write;

/// The lines of ptxas's `-v`: the module's memory, then each kernel, the last one first.
pub(crate) fn resources(compiled: &Compiled) -> String {
    let constant = match compiled.constant_bytes {
        0 => String::new(),
        bytes => format!(", {bytes} bytes cmem[3]"),
    };
    let mut out = format!("ptxas info    : {} bytes gmem{constant}\n", compiled.global_bytes);
    let target = compiled.cubin.target();
    for kernel in compiled.kernels.iter().rev() {
        let Kernel { name, spills, .. } = kernel;
        // Writing to a string does not fail.
        let _ = write!(
            out,
            "ptxas info    : Compiling entry function '{name}' for '{target}'\n\
             ptxas info    : Function properties for {name}\n    \
             {} bytes stack frame, {} bytes spill stores, {} bytes spill loads\n\
             ptxas info    : {}\n",
            kernel.frame_bytes,
            spills.stores,
            spills.loads,
            used(kernel)
        );
    }
    out
}

fn used(kernel: &Kernel) -> String {
    let mut text = format!("Used {} registers, used {} barriers", kernel.registers.general, kernel.barriers);
    let rest =
        [(kernel.stack_bytes, "cumulative stack size"), (kernel.shared_bytes, "smem"), (kernel.bank0_bytes, "cmem[0]")];
    for (bytes, what) in rest.into_iter().filter(|(bytes, _)| *bytes > 0) {
        let _ = write!(text, ", {bytes} bytes {what}");
    }
    text
}

/// What the compiler warns of, and what `--warn-on-spills` and `--warn-on-local-memory-usage` find in kernels.
pub(crate) fn warnings(compiled: &Compiled, settings: &Settings) -> Vec<String> {
    let mut warnings: Vec<String> = compiled.warnings.iter().map(|warning| warning.message.clone()).collect();
    for Kernel { name, frame_bytes, spills, .. } in &compiled.kernels {
        if settings.warn_on_local_memory && *frame_bytes > 0 {
            warnings.push(format!("Local memory used for function '{name}', size of stack frame: {frame_bytes} bytes"));
        }
        if settings.warn_on_spills && (spills.stores > 0 || spills.loads > 0) {
            warnings.push(format!(
                "Registers are spilled to local memory in function '{name}', {} bytes spill stores, {} bytes spill loads",
                spills.stores, spills.loads
            ));
        }
    }
    warnings
}
