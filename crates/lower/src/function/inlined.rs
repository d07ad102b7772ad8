//! Functions whose code stands in place of a call: parameters and results are registers of the caller, `ret` is a jump.

use crate::abi;
use crate::body::lower_block;
use crate::chapters::calls;
use crate::error::Lowered;
use crate::function::scope::ParamVar;
use crate::function::{FnLower, bindings, finish, frame, ops, param_words, params};
use crate::module::inlining::DEEPEST;
use oriole_ori::{Block, Operand};
use oriole_ptx::ast::{self, Call, Function, Instruction, Sym, Variable};
use oriole_ptx::mentions;
use rustc_hash::FxHashSet;

/// A function that stands in place of a call.
#[derive(Debug)]
pub(crate) struct Inlined<'a> {
    /// Where the caller goes on.
    after: Block,
    /// Results, with the registers that they are left in.
    results: Vec<(&'a Variable, ParamVar)>,
}

/// The function that stands in place of the call, if one does.
pub(crate) fn function<'a>(cx: &mut FnLower<'_, 'a>, call: &Call<'_>) -> Lowered<Option<&'a Function>> {
    let Some(name) = call.callee.name() else { return Ok(None) };
    let is_near = cx.inlined.len() < DEEPEST && bindings::binding(cx, name)?.is_none();
    Ok(if is_near { of_name(cx, name) } else { None })
}

/// The function of that name, if it stands in place of its calls here.
fn of_name<'a>(cx: &FnLower<'_, 'a>, name: ast::Name) -> Option<&'a Function> {
    let (callee, function) = cx.module.function(name.sym)?;
    cx.number.is_some_and(|caller| cx.module.inlining.is_inlined(caller, callee)).then_some(function)
}

/// Lowers the function in place of the call.
pub(crate) fn call<'a>(
    cx: &mut FnLower<'_, 'a>,
    instruction: &Instruction,
    call: &Call<'_>,
    function: &'a Function,
) -> Lowered {
    calls::check_counts(instruction, call, [function.params.len(), function.rets.len()])?;
    let mut arguments = Vec::new();
    for (argument, param) in call.args.iter().zip(&function.params) {
        arguments.push(calls::argument_words(cx, argument, param)?);
    }
    let after = cx.new_block()?;
    let mut results = Vec::new();
    for variable in &function.rets {
        let size = abi::extent(variable)?.0;
        results.push((variable, param_words::new_words(cx, size)?));
    }
    let words: Vec<ParamVar> = results.iter().map(|(_, words)| words.clone()).collect();
    let caller = (cx.span, cx.loc, cx.first_temporary, cx.after_guard.take());
    cx.inlined.push(Inlined { after, results });
    let room = cx.room;
    cx.room = function.body.as_ref().map_or(room, |body| room.of_call(body));
    let hidden = cx.scopes.enter_function();
    let lowered = body(cx, function, &arguments);
    cx.scopes.leave_function(hidden);
    cx.room = room.after(cx.room);
    cx.inlined.pop();
    (cx.span, cx.loc, cx.first_temporary, cx.after_guard) = caller;
    lowered?;
    cx.switch_to(after);
    for ((ret, variable), words) in call.rets.iter().zip(&function.rets).zip(words) {
        let words = words.words.iter().map(|word| Operand::reg(*word)).collect();
        calls::give(cx, ret, variable, words)?;
    }
    Ok(())
}

/// Lowers the body with these words as its arguments.
fn body<'a>(cx: &mut FnLower<'_, 'a>, function: &'a Function, arguments: &[Vec<Operand>]) -> Lowered {
    let by_address = params::names_by_address(function);
    for (variable, words) in function.params.iter().zip(arguments) {
        params::bind_words(cx, variable, words, &by_address)?;
    }
    for variable in &function.rets {
        params::bind_result_words(cx, variable)?;
    }
    let mut errors = Vec::new();
    if let Some(body) = &function.body {
        lower_block(cx, body, &mut errors);
    }
    match errors.into_iter().next() {
        Some(error) => Err(error),
        None => finish::return_at_end(cx),
    }
}

/// `ret` of a function that stands in place of a call: leaves its results, and goes on behind the call.
pub(crate) fn emit_return(cx: &mut FnLower<'_, '_>) -> Lowered {
    let Some(Inlined { after, results }) = cx.inlined.last() else { return Ok(()) };
    let (after, results) = (*after, results.clone());
    for (variable, left) in results {
        let Some(words) = finish::result_words(cx, variable)? else { continue };
        for (to, word) in left.words.iter().zip(words) {
            ops::mov(cx, Operand::reg(*to), word)?;
        }
    }
    cx.jump(after);
    Ok(())
}

/// Bytes at the bottom of the frame for the calls of a body, and of the functions that stand in place of some.
pub(crate) fn outgoing_area<'a>(cx: &FnLower<'_, 'a>, body: &'a ast::Block, calls: &[Call<'a>]) -> Lowered<u32> {
    let mut bytes = frame::outgoing_area(cx, body, calls)?;
    let mut pending = calls_inlined(cx, calls);
    let mut seen: FxHashSet<Sym> = FxHashSet::default();
    while let Some(function) = pending.pop() {
        let Some(body) = function.body.as_ref().filter(|_| seen.insert(function.name.sym)) else { continue };
        let mut calls = Vec::new();
        mentions::instructions(body, &mut |instruction| calls.extend(instruction.call()));
        bytes = bytes.max(frame::outgoing_area(cx, body, &calls)?);
        pending.extend(calls_inlined(cx, &calls));
    }
    Ok(bytes)
}

/// The functions that stand in place of these calls.
fn calls_inlined<'a>(cx: &FnLower<'_, 'a>, calls: &[Call<'a>]) -> Vec<&'a Function> {
    calls.iter().filter_map(|call| of_name(cx, call.callee.name()?)).collect()
}
