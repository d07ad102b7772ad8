//! The text form of Ori: what is read prints to a text that reads and prints the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oriole_ori::Module;

fuzz_target!(|text: &str| {
    let Ok(module) = text.parse::<Module>() else { return };
    let printed = module.to_string();
    let again: Module = printed.parse().expect("what was printed is read");
    assert_eq!(again.to_string(), printed);
});
