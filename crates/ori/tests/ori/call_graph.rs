//! The order of calls against a direct reading of the calls.

use crate::common::Dice;
use oriole_isa::Arch;
use oriole_ori::analysis::{CallNode, call_groups, call_order};
use oriole_ori::*;
use std::fmt::Write;

/// A function for each list, which calls the functions with these numbers.
fn module(calls: &[Vec<usize>]) -> Module {
    let mut module = Module::new(Arch::Sm80);
    for (number, callees) in calls.iter().enumerate() {
        let (mut sites, mut code) = (String::new(), String::new());
        for (call, callee) in callees.iter().enumerate() {
            writeln!(sites, "  .call call{call} sym{callee} () -> () callee").expect("a string takes all");
            writeln!(code, "    MOV R1, c[0][0x28], 0xf ;call{call}").expect("a string takes all");
        }
        let text = format!(".function device f{number}\n  .frame local=0 spill=0 align=0\n{sites}bix0:\n{code}.end\n");
        let id = module.functions.push(text.parse().expect("it parses"));
        module.add_symbol(&format!("f{number}"), Linkage::Internal, SymbolKind::Function(id));
    }
    module
}

/// Whether a chain of calls leads from one function to another.
fn reaches(calls: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; calls.len()];
    let mut work = calls[from].clone();
    while let Some(function) = work.pop() {
        if !std::mem::replace(&mut seen[function], true) {
            work.extend(&calls[function]);
        }
    }
    seen[to]
}

#[test]
fn callees_come_before_callers_in_the_order_and_in_the_groups() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let count = 1 + dice.below(12);
        let calls: Vec<Vec<usize>> =
            (0..count).map(|_| (0..dice.below(4)).map(|_| dice.below(count)).collect()).collect();
        let module = module(&calls);
        let order: Vec<CallNode> = call_order(&module);
        let groups = call_groups(&module);
        let group_of = |function: usize| {
            groups.iter().position(|group| group.iter().any(|node| node.function.as_u32() as usize == function))
        };
        assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), count, "seed {seed}");
        let place_of = |function: usize| order.iter().position(|node| node.function.as_u32() as usize == function);
        for (caller, callees) in calls.iter().enumerate() {
            for &callee in callees {
                let circle = reaches(&calls, callee, caller);
                assert!(circle || place_of(callee) < place_of(caller), "seed {seed}: f{caller} calls f{callee}");
                // What the order lets wait, and nothing else, waits in the groups.
                let waits = place_of(callee) < place_of(caller);
                assert_eq!(waits, group_of(callee) < group_of(caller), "seed {seed}: f{caller} calls f{callee}");
            }
        }
    }
}
