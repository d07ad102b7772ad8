//! Guards: an instruction is executed in half of the lanes, or in none.

use super::places::{bodies_mut, edit_instruction, instructions, is_each_engines_own, statements, with_values};
use super::{Mutant, Seed};
use oriole_ptx::ast::{
    AddressBase, Guard, Instruction, Module, Name, Opcode, Operand, ScalarType, Scope, Span, Sym, Word,
};

/// Where an instruction is executed: a predicate that no compiler can know, or the guard would be gone.
struct Gate {
    note: &'static str,
    /// Makes `%gate_p` of the thread's number in `%gate_w`; `THREADS` stands for those of the seed's launch.
    text: &'static str,
    /// It is false in half of the lanes.
    halves: bool,
    /// The halves are warps, or groups of warps, in a launch of twice as many threads.
    doubled: bool,
}

const ODD: Gate = Gate {
    note: "where the lane is odd",
    text: "and.b32 %gate_w, %gate_w, 1; setp.ne.u32 %gate_p, %gate_w, 0;",
    halves: true,
    doubled: false,
};
/// What all threads of a warp, or of several, must execute together cannot be left to half of them.
const SECOND: Gate = Gate {
    note: "in the second half of the block",
    text: "setp.ge.u32 %gate_p, %gate_w, THREADS;",
    halves: true,
    doubled: true,
};
const NOWHERE: Gate = Gate {
    note: "nowhere",
    text: "mov.u32 %gate_w, %nctaid.x; setp.ne.u32 %gate_p, %gate_w, 1;",
    halves: false,
    doubled: false,
};
const EVERYWHERE: Gate = Gate {
    note: "everywhere",
    text: "mov.u32 %gate_w, %nctaid.x; setp.eq.u32 %gate_p, %gate_w, 1;",
    halves: false,
    doubled: false,
};

/// The module of a seed with each instruction that it is there for, one at a time, under each of the guards.
pub(super) fn mutants(seed: &Seed) -> Vec<Mutant> {
    let all = instructions(&seed.module);
    // An instruction that nobody chose may decide how often the threads meet.
    let meets = !seed.chosen && all.iter().any(|instruction| is_collective(instruction));
    let gates = |at: &usize| [if meets || is_collective(all[*at]) { SECOND } else { ODD }, NOWHERE, EVERYWHERE];
    let each = seed.focus.iter().flat_map(|at| gates(at).into_iter().map(move |gate| (*at, gate)));
    each.filter_map(|(at, gate)| guarded(seed, at, &gate)).collect()
}

fn is_collective(instruction: &Instruction) -> bool {
    let together = [Word::Sync, Word::Aligned].into_iter().any(|word| instruction.has(word));
    together || matches!(instruction.opcode, Opcode::Bar | Opcode::Barrier)
}

/// Instruction number `at` under a guard; a guard that it has gives way.
fn guarded(seed: &Seed, at: usize, gate: &Gate) -> Option<Mutant> {
    let mut made = seed.module.clone();
    let pred = Name { sym: made.symbols.intern("%gate_p"), span: Span::default() };
    let guard = Guard { pred, negated: false };
    for at in [at].into_iter().chain(companions(&made, at)) {
        edit_instruction(&mut made, at, |instruction| instruction.guard = Some(guard));
    }
    let threads = seed.plan.as_ref().map_or(1, |plan| plan.block[0]);
    let text = gate.text.replace("THREADS", &threads.to_string());
    let executes = gate.note != NOWHERE.note && instructions(&made).into_iter().any(is_each_engines_own);
    let open = executes && gate.note == ODD.note;
    // What registers hold where the guard is false must be known.
    let defined = match with_values(&made) {
        Ok(_) if may_contract(&made) => Err("a product and a sum may become one operation"),
        Ok(_) if executes && !open => Err("its results are each engine's own"),
        Ok(defined) => Ok(with_gate(defined, &text)?),
        Err(reason) => Err(reason),
    };
    let module = with_gate(made, &text)?;
    let loads = oriole_ptx::load(&oriole_ptx::print(&module)).is_ok();
    let (note, halves, doubled) = (gate.note.to_owned(), gate.halves, gate.doubled);
    loads.then_some(Mutant { module, defined, note, halves, doubled, open })
}

/// What stands behind an instruction and is nothing without it: loads of a call's results from parameters, accesses of what `alloca` gives,
/// waits for those that arrived.
fn companions(module: &Module, at: usize) -> Vec<usize> {
    let all = instructions(module);
    let results = match all[at].opcode {
        Opcode::Call => all[at].call().map_or(&[][..], |call| call.rets),
        Opcode::Alloca => all[at].operands.get(..1).unwrap_or_default(),
        _ => &[],
    };
    // Places, and addresses that are made of them.
    let mut places: Vec<Sym> = results.iter().filter_map(symbol).collect();
    let mut found = Vec::new();
    for (number, other) in all.iter().enumerate().skip(at + 1) {
        let is_there = |operand: &Operand| match operand.address().map(|address| address.base) {
            Some(AddressBase::Name(name) | AddressBase::Element(name, _)) => places.contains(&name.sym),
            _ => false,
        };
        if other.operands.iter().any(is_there) || meets(all[at], other) {
            found.push(number);
        } else if other.operands.iter().skip(1).filter_map(symbol).any(|name| places.contains(&name)) {
            places.extend(other.operands.first().and_then(symbol));
        }
    }
    found
}

/// Whether a product and a sum of the module, both without a rounding, may be rounded once.
fn may_contract(module: &Module) -> bool {
    let has = |opcodes: &[Opcode]| {
        instructions(module).into_iter().any(|instruction| {
            let is_float = instruction.last_type().is_some_and(ScalarType::is_float);
            is_float && instruction.rounding().is_none() && opcodes.contains(&instruction.opcode)
        })
    };
    has(&[Opcode::Mul]) && has(&[Opcode::Add, Opcode::Sub])
}

fn symbol(operand: &Operand) -> Option<Sym> {
    Some(operand.name()?.sym)
}

/// Whether `other` waits for the threads of the cluster that arrive at `arrival`.
fn meets(arrival: &Instruction, other: &Instruction) -> bool {
    let cluster =
        |instruction: &Instruction, word| instruction.scope() == Some(Scope::Cluster) && instruction.has(word);
    cluster(arrival, Word::Arrive) && cluster(other, Word::Wait)
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
