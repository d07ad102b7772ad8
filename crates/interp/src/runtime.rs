//! Functions that the system offers to kernels: `vprintf`, `malloc`, `free`, `__assertfail`.

use crate::env::Env;
use crate::lane::Lane;
use crate::space::Place;
use crate::state::State;
use oriole_device::{FaultKind, printf};

/// A function of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// `int vprintf(const char *format, void *arguments)`.
    Vprintf,
    /// `void *malloc(size_t)`.
    Malloc,
    /// `void free(void *)`.
    Free,
    /// `void __assertfail(text, file, unsigned line, function, size_t size)`.
    AssertFail,
}

const FUNCTIONS: [(&str, System); 4] = [
    ("vprintf", System::Vprintf),
    ("malloc", System::Malloc),
    ("free", System::Free),
    ("__assertfail", System::AssertFail),
];

/// The function of that name.
pub(crate) fn by_name(name: &str) -> Option<System> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, system)| system)
}

/// Calls `system` for one thread: the bytes of its arguments one after the other, and those of its
/// result.
pub(crate) fn call(
    system: System,
    state: &mut State,
    env: &mut Env<'_>,
    lane: usize,
    args: &[u8],
) -> Result<Vec<u8>, FaultKind> {
    let thread = Lane { lane, state, env };
    let word = |at: usize, size: usize| {
        let bytes = args.iter().skip(at).take(size).enumerate();
        bytes.fold(0, |value, (i, &byte)| value | u64::from(byte) << (8 * i))
    };
    match system {
        System::Vprintf => {
            let text = formatted(&thread, word(0, 8), word(8, 8))?;
            printf::print(&mut env.block.printed, &text)?;
            Ok((text.len() as u32).to_le_bytes().to_vec())
        }
        System::Malloc => {
            let address = env.heap.as_mut().map_or(0, |heap| heap.malloc(word(0, 8)));
            Ok(address.to_le_bytes().to_vec())
        }
        System::Free => match env.heap.as_mut().is_none_or(|heap| heap.free(word(0, 8))) {
            true => Ok(Vec::new()),
            false => Err(FaultKind::Misuse(format!("free of {:#x}, which malloc has not given out", word(0, 8)))),
        },
        System::AssertFail => {
            let text = |address| c_string(&thread, address).map(|t| String::from_utf8_lossy(&t).into_owned());
            let (claim, file) = (text(word(0, 8))?, text(word(8, 8))?);
            Err(FaultKind::Assertion(format!("{file}:{}: {claim}", word(16, 4))))
        }
    }
}

/// The text of one `printf`.
fn formatted(thread: &Lane<'_, '_>, format: u64, arguments: u64) -> Result<Vec<u8>, FaultKind> {
    let format = c_string(thread, format)?;
    let size = printf::packed_size(&format) as u64;
    let packed: Result<Vec<u8>, FaultKind> = (0..size).map(|at| byte(thread, arguments.wrapping_add(at))).collect();
    printf::format(&format, &packed?, |address| c_string(thread, address).ok())
}

fn c_string(thread: &Lane<'_, '_>, address: u64) -> Result<Vec<u8>, FaultKind> {
    let mut text = Vec::new();
    for at in 0..printf::LONGEST_STRING {
        match byte(thread, address.wrapping_add(at))? {
            0 => break,
            byte => text.push(byte),
        }
    }
    Ok(text)
}

fn byte(thread: &Lane<'_, '_>, address: u64) -> Result<u8, FaultKind> {
    thread.load(Place::of_generic(address), 1).map(|data| data.element(0, 1) as u8)
}
