//! Cubins of code written by hand.

mod words;

use oriole_check::{Report, check};
use oriole_cubin::{Cubin, FunctionSpec, InnerFunctionSpec, ModuleSpec, Target, write};
use oriole_isa::Arch;
pub(crate) use words::{Line, code};

/// A kernel of these lines; from line `inner` on they are a function that it calls.
pub(crate) fn report(lines: &[Line], inner: Option<u32>) -> Report {
    report_on(Target::new(80), Arch::Sm80, lines, inner)
}

/// The same for another target.
pub(crate) fn report_on(target: Target, arch: Arch, lines: &[Line], inner: Option<u32>) -> Report {
    check(&cubin(target, arch, lines, inner), &[]).expect("a known target")
}

/// Barriers that the kernel says it uses.
const BARRIERS: u32 = 2;

/// A cubin with such a kernel.
pub(crate) fn cubin(target: Target, arch: Arch, lines: &[Line], inner: Option<u32>) -> Cubin {
    let code = code(lines, arch);
    let mut kernel = FunctionSpec { barriers: BARRIERS, ..FunctionSpec::kernel("k", code.clone(), 32) };
    kernel.inner_functions.extend(inner.map(|line| {
        let (offset, size) = (16 * line, code.len() as u32 - 16 * line);
        InnerFunctionSpec { name: "$k$f".into(), offset, size, frame_size: 0, unwind: Default::default() }
    }));
    let module = ModuleSpec { functions: vec![kernel], ..ModuleSpec::new(target) };
    let bytes = write(&module).expect("a module");
    Cubin::parse(&bytes).expect("a cubin")
}

/// The end of the kernel.
pub(crate) const EXIT: Line = ("EXIT", "5");
