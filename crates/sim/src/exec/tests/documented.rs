//! `docs/sim.md` lists what is not simulated; here the code is held to it, and it to the code.

use crate::exec::action;
use crate::hostile_tests::Random;
use oriole_isa::{Arch, Inst, Opcode};
use std::collections::BTreeSet;

/// The words in backticks of the section of `docs/sim.md` with this heading.
pub(super) fn listed(heading: &str) -> BTreeSet<&'static str> {
    const TEXT: &str = include_str!("../../../../../docs/sim.md");
    let (_, section) = TEXT.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = section.split("\n## ").next().unwrap_or(section);
    section.split('`').skip(1).step_by(2).collect()
}

/// Random forms of an opcode, of which one has to be executable.
const FORMS: u32 = 1000;

/// A random form, in which about half of the operands that can be left out are left out.
fn form(opcode: Opcode, random: &mut Random) -> Inst {
    let mut inst = random.inst(opcode);
    for (operand, spec) in inst.operands.iter_mut().zip(opcode.signature()) {
        if let Some(neutral) = spec.neutral.filter(|_| random.below(2) == 0) {
            *operand = neutral;
        }
    }
    inst
}

/// An opcode of a simulated target has a meaning in some form, or stands in the list; none does both.
#[test]
fn every_opcode_has_a_meaning_or_is_listed() {
    let mut random = Random(7);
    let mut has_meaning = |opcode: Opcode| (0..FORMS).any(|_| action(&form(opcode, &mut random), 0).is_ok());
    let exists = |opcode: &Opcode| Arch::MODELLED.iter().any(|&arch| opcode.exists_on(arch));
    let opcodes = Opcode::ALL.into_iter().filter(exists);
    let without: BTreeSet<&str> = opcodes.filter(|&opcode| !has_meaning(opcode)).map(|opcode| opcode.name()).collect();
    let listed = listed("Instructions that are not simulated");
    let unlisted: Vec<_> = without.difference(&listed).collect();
    let simulated: Vec<_> = listed.difference(&without).collect();
    assert!(unlisted.is_empty() && simulated.is_empty(), "not in the list: {unlisted:?}; simulated: {simulated:?}");
}
