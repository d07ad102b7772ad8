//! Compiled code against the PTX interpreter on random programs; `programs.rs` has those that once differed.

mod shards;

use oriole_cli::fuzz::{Campaign, Kinds};
use oriole_cubin::Target;
use oriole_prerequisites::sample;

/// Programs of each campaign, or half of them without `ORIOLE_THOROUGH=1`; `oriole fuzz` runs more.
const PROGRAMS: u64 = 60;

/// The seed: from the environment where `ORIOLE_SEED` is set, so that CI tests new programs each day.
fn seed() -> u64 {
    match std::env::var("ORIOLE_SEED") {
        Ok(text) => text.parse().expect("ORIOLE_SEED is a number"),
        Err(_) => 2026,
    }
}

fn no_differences(kinds: Kinds, targets: &[&str]) {
    let targets = targets.iter().map(|name| Target::from_name(name).expect("a known target")).collect();
    let campaign = Campaign { kinds, ..Campaign::new(seed(), sample(PROGRAMS), targets) };
    let findings = campaign.run(|_, _| {});
    let list: Vec<String> = findings.iter().map(|f| format!("{}: {}\n{}", f.number, f.difference, f.case)).collect();
    assert!(findings.is_empty(), "seed {}\n{}", seed(), list.join("\n"));
}

#[test]
fn kernels_compute_what_the_interpreter_does() {
    no_differences(Kinds::Kernels, &["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"]);
}

#[test]
fn whole_programs_compute_what_the_interpreter_does_on_sm_75() {
    no_differences(Kinds::Whole, &["sm_75"]);
}

#[test]
fn whole_programs_compute_what_the_interpreter_does_on_sm_80() {
    no_differences(Kinds::Whole, &["sm_80"]);
}

#[test]
fn whole_programs_compute_what_the_interpreter_does_on_sm_90() {
    no_differences(Kinds::Whole, &["sm_90a"]);
}

#[test]
fn whole_programs_compute_what_the_interpreter_does_on_blackwell() {
    no_differences(Kinds::Whole, &["sm_100a", "sm_120a"]);
}

#[test]
fn lanes_of_other_masks_do_not_count() {
    no_differences(Kinds::Masks, &["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"]);
}
