//! Cubins: an error or a module that the simulator loads or refuses.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oriole_cubin::{Cubin, LineKind};
use oriole_sim::{Options, Simulator};

fuzz_target!(|bytes: &[u8]| {
    let Ok(cubin) = Cubin::parse(bytes) else { return };
    for kind in [LineKind::Source, LineKind::Ptx] {
        let _ = cubin.line_table(kind).map(|table| cubin.functions.iter().any(|f| table.at(f.section, f.offset).is_some()));
    }
    if let Ok(simulator) = Simulator::new(&cubin, Options::default()) {
        for function in &cubin.functions {
            let _ = simulator.parameters(&function.name);
        }
    }
});
