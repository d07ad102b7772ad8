//! The PTX interpreter: every kernel of a module runs to an end, an error or a fault.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oriole_device::{Launch, Memory};
use oriole_interp::{Interpreter, Options};

/// Enough for the kernels that mutation starts from, little enough for a thousand runs a second.
const MAX_INSTRUCTIONS: u64 = 2000;

/// Bytes of each buffer that a kernel gets.
const BUFFER: u64 = 4096;

fuzz_target!(|text: &str| {
    let Ok(module) = oriole_ptx::load(text) else { return };
    let Ok(interpreter) = Interpreter::new(&module, Options { max_instructions: MAX_INSTRUCTIONS, ..Options::default() }) else { return };
    for kernel in kernels(text) {
        let Ok(slots) = interpreter.parameters(kernel) else { continue };
        let mut memory = Memory::new();
        let mut params = Vec::new();
        for slot in slots {
            params.resize(slot.offset as usize, 0);
            let argument = if slot.size == 8 { memory.allocate("buffer", BUFFER) } else { 7 };
            params.extend((0..slot.size).map(|byte| argument.checked_shr(8 * byte).unwrap_or(0) as u8));
        }
        let launch = Launch { block: [33, 1, 1], params, ..Launch::default() };
        let _ = interpreter.launch(kernel, &launch, &mut memory);
    }
});

/// The words behind `.entry`.
fn kernels(text: &str) -> impl Iterator<Item = &str> {
    text.split(".entry")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| c.is_whitespace() || c == '(').find(|name| !name.is_empty()))
}
