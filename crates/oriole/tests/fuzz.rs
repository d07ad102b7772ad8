//! Compiled code against the PTX interpreter on random programs; `programs.rs` has those that once differed.

use oriole::fuzz::Campaign;
use oriole_isa::Arch;

/// Programs of each campaign; `oriole fuzz` runs more.
const PROGRAMS: u64 = 64;

fn no_differences(arch: Arch, opt_level: u8) {
    let campaign = Campaign {
        seed: 2026,
        first: 0,
        count: PROGRAMS,
        target: arch.into(),
        opt_level,
        statements: 40,
        ptxas: None,
        interpreter: true,
        compiler: true,
    };
    let findings = campaign.run(|_| {});
    let list: Vec<String> = findings.iter().map(|f| format!("{}: {}\n{}", f.number, f.difference, f.case)).collect();
    assert!(findings.is_empty(), "{}", list.join("\n"));
}

#[test]
fn optimised_code_computes_what_the_interpreter_does_on_sm_90() {
    no_differences(Arch::Sm90, 3);
}

#[test]
fn optimised_code_computes_what_the_interpreter_does_on_sm_75() {
    no_differences(Arch::Sm75, 3);
}

#[test]
fn optimised_code_computes_what_the_interpreter_does_on_blackwell() {
    no_differences(Arch::Sm100, 3);
    no_differences(Arch::Sm120, 3);
}

#[test]
fn plain_code_computes_what_the_interpreter_does_on_sm_80() {
    no_differences(Arch::Sm80, 0);
}
