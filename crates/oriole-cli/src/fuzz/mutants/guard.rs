//! Guards: an instruction is executed in half of the lanes, or in none.

use super::Mutant;
use super::places::{bodies_mut, edit_instruction, instructions, is_approximate, statements, with_values};
use oriole_ptx::ast::{Guard, Instruction, Module, Name, Opcode, Span, Word};

const NOWHERE: &str = "nowhere";

/// Guards, and what sets them ahead of all. What a compiler cannot know, or the guard would be gone.
const GUARDS: [(&str, &str); 3] = [
    ("where the lane is odd", "and.b32 %gate_w, %gate_w, 1; setp.ne.u32 %gate_p, %gate_w, 0;"),
    (NOWHERE, "mov.u32 %gate_w, %nctaid.x; setp.ne.u32 %gate_p, %gate_w, 1;"),
    ("everywhere", "mov.u32 %gate_w, %nctaid.x; setp.eq.u32 %gate_p, %gate_w, 1;"),
];

/// The module with each instruction of those numbers, one at a time, under each of the guards.
pub(super) fn mutants(module: &Module, focus: &[usize]) -> Vec<Mutant> {
    let all = instructions(module);
    let unguarded = focus.iter().filter(|at| all[**at].guard.is_none());
    // What all threads of the warp, or of the block, must execute together cannot be left to half of them.
    let guards = |at: &usize| if is_collective(all[*at]) { &GUARDS[1..] } else { &GUARDS[..] };
    let each = unguarded.flat_map(|at| guards(at).iter().map(move |guard| (*at, guard)));
    each.filter_map(|(at, (note, text))| guarded(module, at, note, text)).collect()
}

fn is_collective(instruction: &Instruction) -> bool {
    let together = [Word::Sync, Word::Aligned].into_iter().any(|word| instruction.has(word));
    together || matches!(instruction.opcode, Opcode::Bar | Opcode::Barrier)
}

fn guarded(module: &Module, at: usize, note: &str, text: &str) -> Option<Mutant> {
    let mut made = module.clone();
    let pred = Name { sym: made.symbols.intern("%gate_p"), span: Span::default() };
    edit_instruction(&mut made, at, |instruction| instruction.guard = Some(Guard { pred, negated: false }));
    // What registers hold where the guard is false must be known; what an approximation gives matters where there is one.
    let exact = note == NOWHERE || !instructions(&made).into_iter().any(is_approximate);
    let defined = match with_values(&made).filter(|_| exact) {
        Some(defined) => Some(with_gate(defined, text)?),
        None => None,
    };
    let module = with_gate(made, text)?;
    let loads = oriole_ptx::load(&oriole_ptx::print(&module)).is_ok();
    loads.then(|| Mutant { module, defined, note: note.to_owned() })
}

/// The module with the guard's predicate, which is set ahead of all.
fn with_gate(mut module: Module, text: &str) -> Option<Module> {
    let text = format!(".reg .pred %gate_p; .reg .b32 %gate_w; mov.u32 %gate_w, %tid.x; {text}");
    let ahead = statements(&mut module.symbols, &text)?;
    for block in bodies_mut(&mut module) {
        block.statements.splice(0..0, ahead.clone());
    }
    Some(module)
}
