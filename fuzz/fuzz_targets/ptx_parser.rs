//! PTX: what is accepted prints to a text that parses to the same tree; what is not has errors within the text.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match oriole_ptx::load(text) {
        Ok(module) => assert_eq!(oriole_ptx::parse(&module.to_string()).module, module),
        Err(errors) => assert!(errors.iter().all(|error| error.span.end as usize <= text.len())),
    }
});
