//! Cutting a mutant down.

use super::Mutant;
use super::places::{edit, instructions};
use oriole_ptx::ast::Module;

/// Tries that a mutant is worth.
const TRIES: usize = 300;

/// The smallest mutant found for which `shows` still holds: runs of instructions go, longer ones first.
pub(super) fn reduced(mutant: &Mutant, shows: &dyn Fn(&Mutant) -> bool) -> Mutant {
    let as_mutant = |module: Module| Mutant::of(module, mutant.note.clone());
    let mut best = as_mutant(mutant.module.clone());
    let mut tries = TRIES;
    let mut chunk = instructions(&best.module).len().div_ceil(2);
    while chunk > 0 {
        let mut end = instructions(&best.module).len();
        while end > 0 && tries > 0 {
            let start = end.saturating_sub(chunk);
            let mut module = best.module.clone();
            (start..end).rev().for_each(|at| edit(&mut module, at, |statements, place| drop(statements.remove(place))));
            let candidate = as_mutant(module);
            tries -= 1;
            if shows(&candidate) {
                best = candidate;
            }
            end = start;
        }
        chunk /= 2;
    }
    best
}
