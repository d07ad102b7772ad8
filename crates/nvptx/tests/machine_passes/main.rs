//! Passes on machine functions keep what functions do.

mod eval;
mod random;
mod rules;
mod text;

use std::collections::HashMap;

use oriole_nvptx::machine::passes::verify::{Stage, verify};
use oriole_nvptx::machine::passes::{Context, PASSES, PassOptions};
use oriole_nvptx::machine::{Forms, Function};
use oriole_prerequisites::is_thorough;

const INPUTS: [u64; 3] = [1, 2, 3];

fn traces(function: &Function, forms: &Forms) -> Result<Vec<eval::Trace>, String> {
    INPUTS.iter().map(|&input| eval::run(function, forms, input)).collect()
}

/// After every pass, random functions are as the verifier wants them and do what they did before.
#[test]
fn random_functions_keep_their_results() {
    let (mut stores, mut ended) = (0, 0);
    let mut changes: HashMap<&str, usize> = HashMap::new();
    let count = if is_thorough() { 3_000_u64 } else { 750 };
    for seed in 0..count {
        let mut built = random::function(seed);
        let before = || random::function(seed).dump();
        verify(&built.function, Stage::Ssa).unwrap_or_else(|fault| panic!("seed {seed}: {fault}\n{}", before()));
        let expected =
            traces(&built.function, &built.forms).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", before()));
        stores += expected.iter().map(|trace| trace.stores.len()).sum::<usize>();
        ended += expected.iter().filter(|trace| trace.end.is_some()).count();
        // With few registers, values are computed again.
        let max_reg = Some(4 + seed as u32 % 12).filter(|_| seed % 3 == 0);
        let options = PassOptions { level: 3, max_reg, ..PassOptions::default() };
        for pass in PASSES {
            let random::Builder { function, forms, .. } = &mut built;
            if (pass.run)(&mut Context { function, forms, options: &options }) {
                *changes.entry(pass.name).or_default() += 1;
            }
            let at = pass.name;
            verify(&built.function, pass.leaves)
                .unwrap_or_else(|fault| panic!("seed {seed}, {at}: {fault}\n{}\n{}", before(), built.dump()));
            let found = traces(&built.function, &built.forms)
                .unwrap_or_else(|e| panic!("seed {seed}, {at}: {e}\n{}", before()));
            let agree = found.iter().zip(&expected).all(|(found, expected)| found.agrees(expected));
            assert!(agree, "seed {seed}, {at}:\n{}\n{}\n{expected:?}\n{found:?}", before(), built.dump());
        }
    }
    for pass in PASSES {
        assert!(changes.get(pass.name).is_some_and(|&count| count > 7), "{} has hardly anything to do", pass.name);
    }
    // The functions do something, and most of them come to an end.
    assert!(stores > 10 * count as usize && 2 * ended > 3 * count as usize, "{stores} stores, {ended} runs that ended");
}
