//! Guards: an instruction is executed in half of the lanes, or in none.

use super::Mutant;
use super::places::bodies_mut;
use super::places::{defined, edit_instruction, instructions, statements};
use oriole_ptx::ast::{Guard, Module, Name, Span, SymbolTable};

/// Guards, and what sets them ahead of all. What a compiler cannot know, or the guard would be gone.
const GUARDS: [(&str, &str); 3] = [
    ("where the lane is odd", "and.b32 %gate_w, %gate_w, 1; setp.ne.u32 %gate_p, %gate_w, 0;"),
    ("nowhere", "mov.u32 %gate_w, %nctaid.x; setp.ne.u32 %gate_p, %gate_w, 1;"),
    ("everywhere", "mov.u32 %gate_w, %nctaid.x; setp.eq.u32 %gate_p, %gate_w, 1;"),
];

/// The module with each instruction of those numbers, one at a time, under each of the guards.
pub(super) fn mutants(module: &Module, focus: &[usize]) -> Vec<Mutant> {
    let all = instructions(module);
    let unguarded = focus.iter().filter(|at| all[**at].guard.is_none());
    let each = unguarded.flat_map(|at| GUARDS.iter().map(move |guard| (*at, guard)));
    each.filter_map(|(at, (note, text))| guarded(module, at, note, text)).collect()
}

fn guarded(module: &Module, at: usize, note: &str, text: &str) -> Option<Mutant> {
    let mut made = module.clone();
    let guard = |symbols: &mut SymbolTable| {
        let pred = Name { sym: symbols.intern("%gate_p"), span: Span::default() };
        Guard { pred, negated: false }
    };
    let guard = guard(&mut made.symbols);
    edit_instruction(&mut made, at, |instruction| instruction.guard = Some(guard));
    // What registers hold where the guard is false must be known.
    let mut made = defined(&made)?;
    let text = format!(".reg .pred %gate_p; .reg .b32 %gate_w; mov.u32 %gate_w, %tid.x; {text}");
    let mut symbols = std::mem::take(&mut made.symbols);
    let ahead = statements(&mut symbols, &text)?;
    for block in bodies_mut(&mut made) {
        block.statements.splice(0..0, ahead.clone());
    }
    made.symbols = symbols;
    let loads = oriole_ptx::load(&oriole_ptx::print(&made)).is_ok();
    loads.then(|| Mutant { module: made.clone(), defined: Some(made), note: note.to_owned() })
}
