//! Functions that the system offers to kernels: `vprintf`, `malloc`, `free`, `__assertfail`, those that read textures
//! with gradients; those that launch other kernels are known by name and are faults when they are called.
//!
//! The loader gives each an address outside of all code. Arguments are passed as CUDA's ABI passes
//! them to any function: from `R4` on, 64-bit ones in aligned pairs; the result comes back in `R4`.

use crate::access::HeapEvent;
use crate::effect::Env;
use crate::gradient_call::GradientCall;
use crate::halt::Halt;
use crate::space::Named;
use crate::state::State;
use oriole_device::{FaultKind, printf};

/// Address of the first function; the others follow at distances of [`STEP`].
const BASE: u64 = 0x5_0000_0000;
const STEP: u64 = 16;
/// Number of the first function that reads textures with gradients.
const FIRST_GRADIENT: u64 = 64;

/// A function of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// `int vprintf(const char *format, void *arguments)`.
    Vprintf,
    /// `void *malloc(size_t)`.
    Malloc,
    /// `void free(void *)`.
    Free,
    /// `void __assertfail(text, file, line, function, char size)`.
    AssertFail,
    /// A function that launches kernels from kernels, which is not done here.
    Launches(&'static str),
    /// A function that reads a texture with gradients.
    Gradient(GradientCall),
}

const FUNCTIONS: [(&str, Function); 10] = [
    ("vprintf", Function::Vprintf),
    ("malloc", Function::Malloc),
    ("free", Function::Free),
    ("__assertfail", Function::AssertFail),
    ("cudaGetParameterBuffer", Function::Launches("cudaGetParameterBuffer")),
    ("cudaGetParameterBufferV2", Function::Launches("cudaGetParameterBufferV2")),
    ("cudaLaunchDevice", Function::Launches("cudaLaunchDevice")),
    ("cudaLaunchDeviceV2", Function::Launches("cudaLaunchDeviceV2")),
    ("cudaDeviceSynchronize", Function::Launches("cudaDeviceSynchronize")),
    ("__cudaCDP2DeviceSynchronize", Function::Launches("__cudaCDP2DeviceSynchronize")),
];

/// Register of the first argument, and of the result.
const FIRST_ARGUMENT: usize = 4;

/// Address of the function of that name.
pub(crate) fn address(name: &str) -> Option<u64> {
    let listed = FUNCTIONS.iter().position(|(known, _)| *known == name).map(|at| at as u64);
    let number = listed.or_else(|| Some(FIRST_GRADIENT + GradientCall::named(name)?.number()))?;
    Some(BASE + STEP * number)
}

/// The function at a code address.
pub(crate) fn at(address: u64) -> Option<Function> {
    let distance = address.checked_sub(BASE).filter(|distance| distance.is_multiple_of(STEP))?;
    let number = distance / STEP;
    match number.checked_sub(FIRST_GRADIENT) {
        Some(number) => GradientCall::numbered(number).map(Function::Gradient),
        None => FUNCTIONS.get(usize::try_from(number).ok()?).map(|&(_, function)| function),
    }
}

/// Calls `function` for the active lanes, lowest first.
pub(crate) fn call(function: Function, state: &mut State, env: &mut Env<'_>) -> Result<(), Halt> {
    if matches!(function, Function::Malloc | Function::Free) {
        env.require_turn()?;
    }
    for lane in state.active_lanes() {
        let argument = |n: usize| state.lane_wide(FIRST_ARGUMENT + 2 * n, lane);
        match function {
            Function::Vprintf => {
                let text = formatted(env, lane, argument(0), argument(1))?;
                printf::print(env.printed, &text).map_err(|kind| Halt::fault(lane, kind))?;
                state.set_lane(FIRST_ARGUMENT, lane, text.len() as u32);
            }
            Function::Malloc => {
                let size = argument(0);
                let address = with_heap(env, |heap| heap.malloc(size));
                report(env, HeapEvent { lane, address, size: Some(size) });
                state.set_lane(FIRST_ARGUMENT, lane, address as u32);
                state.set_lane(FIRST_ARGUMENT + 1, lane, (address >> 32) as u32);
            }
            Function::Free => {
                let address = argument(0);
                if with_heap(env, |heap| u64::from(heap.free(address))) == 0 {
                    let rule = format!("free of {address:#x}, which malloc has not given out");
                    return Err(Halt::fault(lane, FaultKind::Misuse(rule)));
                }
                report(env, HeapEvent { lane, address, size: None });
            }
            Function::Gradient(call) => call.call(state, env, lane)?,
            Function::Launches(name) => {
                let what = format!("a kernel that launches kernels ({name})");
                return Err(Halt::fault(lane, FaultKind::Unsupported(what)));
            }
            Function::AssertFail => {
                let text = |address| c_string(env, lane, address).map(|t| String::from_utf8_lossy(&t).into_owned());
                let line = state.lane(FIRST_ARGUMENT + 4, lane);
                let (claim, file) = (text(argument(0))?, text(argument(1))?);
                return Err(Halt::fault(lane, FaultKind::Assertion(format!("{file}:{line}: {claim}"))));
            }
        }
    }
    Ok(())
}

/// Reports what has become of the heap to whoever checks memory.
fn report(env: &mut Env<'_>, event: HeapEvent) {
    if let Some(log) = env.log.as_deref_mut() {
        log.push_heap(event);
    }
}

/// Does something with the heap; 0 without one, or after a panic while it was held.
fn with_heap(env: &Env<'_>, f: impl FnOnce(&mut oriole_device::Heap) -> u64) -> u64 {
    let heap = env.spaces.resources.heap.as_ref();
    heap.and_then(|heap| heap.lock().ok().map(|mut heap| f(&mut heap))).unwrap_or(0)
}

/// The text of one `printf`.
fn formatted(env: &Env<'_>, lane: usize, format: u64, arguments: u64) -> Result<Vec<u8>, Halt> {
    let format = c_string(env, lane, format)?;
    let size = printf::packed_size(&format) as u64;
    let packed: Result<Vec<u8>, Halt> = (0..size).map(|at| byte(env, lane, arguments.wrapping_add(at))).collect();
    let text = printf::format(&format, &packed?, |address| c_string(env, lane, address).ok());
    text.map_err(|kind| Halt::fault(lane, kind))
}

fn c_string(env: &Env<'_>, lane: usize, address: u64) -> Result<Vec<u8>, Halt> {
    let mut text = Vec::new();
    for at in 0..printf::LONGEST_STRING {
        match byte(env, lane, address.wrapping_add(at))? {
            0 => break,
            byte => text.push(byte),
        }
    }
    Ok(text)
}

fn byte(env: &Env<'_>, lane: usize, address: u64) -> Result<u8, Halt> {
    let loaded = env.spaces.load(Named::Generic.place(address), 1, lane);
    loaded.map(|words| words[0] as u8).map_err(|kind| Halt::fault(lane, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_functions_belong_together() {
        for (name, function) in FUNCTIONS {
            assert_eq!(address(name).and_then(at), Some(function));
        }
        let name = "__cuda_syscall_tex_grad_3d_v4_f32_f32_offset";
        assert_eq!(address(name).and_then(at), GradientCall::named(name).map(Function::Gradient));
        assert_eq!(address("fork"), None);
        assert_eq!(at(BASE + 8), None);
        assert_eq!(at(0), None);
    }
}
