//! Walking a function's body: declarations, labels, instructions.

use crate::abi::Convention;
use crate::chapters::stack::moves_stack;
use crate::error::{LowerError, Lowered, unsupported};
use crate::function::scope::{Binding, ParamVar};
use crate::function::{
    FnLower, bindings, descriptor, destinations, finish, frame, inlined, param_words, params, recursion, sources,
};
use crate::module::context::ModuleCx;
use crate::{abi, dispatch};
use oriole_checkpoint::checkpoint;
use oriole_ori::{Attributes, Function, FunctionKind, Guard, Inst, LocId, Operand, SourceLoc};
use oriole_ptx::ast::{
    self, FunctionDirective, Instruction, Name, RegisterDecl, Space, Statement, TargetList, Variable,
};
use oriole_ptx::mentions;

/// Lowers one function. `ast` is the module that it stands in, the user's or one of the library's, with its number in the plan of
/// the user's.
pub(crate) fn lower_function<'a>(
    module: &mut ModuleCx<'a>,
    (ast, number): (&'a ast::Module, Option<usize>),
    function: &'a ast::Function,
    kind: FunctionKind,
    shared_bytes: u32,
) -> Result<Function, Vec<LowerError>> {
    let mut cx = FnLower::new(module, (ast, number), function, kind);
    cx.func.attributes_mut().shared_bytes = shared_bytes;
    let mut errors = lower_body(&mut cx, function);
    if errors.is_empty() {
        errors.extend(recursion::to_loop(&mut cx).err());
    }
    let lowered = cx.finish();
    if errors.is_empty() { Ok(lowered) } else { Err(errors) }
}

/// Lowers the function's parameters and its body, and gives all errors.
fn lower_body<'a>(cx: &mut FnLower<'_, 'a>, function: &'a ast::Function) -> Vec<LowerError> {
    if let Err(error) = begin(cx, function) {
        return vec![error];
    }
    let mut errors = Vec::new();
    if let Some(body) = &function.body {
        lower_block(cx, body, &mut errors);
    }
    let of_all = |directive: &FunctionDirective| matches!(directive, FunctionDirective::Pragma(words) if forbids_unrolling(words));
    let of_module = |item: &ast::Item| matches!(item, ast::Item::Pragma(words) if forbids_unrolling(words));
    if function.directives.iter().any(of_all) || cx.ast.items.iter().any(of_module) {
        cx.func.attributes_mut().no_unroll = cx.func.layout().to_vec();
    }
    errors.extend(finish::end_of_body(cx).err());
    errors
}

/// Everything before the body: parameters, attributes, the descriptor of global memory.
fn begin<'a>(cx: &mut FnLower<'_, 'a>, function: &'a ast::Function) -> Lowered {
    let entry = cx.new_block()?;
    cx.switch_to(entry);
    cx.scopes.enter();
    let shared_bytes = cx.func.attributes().shared_bytes;
    *cx.func.attributes_mut() = Attributes { shared_bytes, ..attributes_of(function) };
    if let Some(body) = &function.body {
        let (mut calls, mut moves) = (Vec::new(), false);
        mentions::instructions(body, &mut |instruction| {
            calls.extend(instruction.call());
            moves |= moves_stack(instruction);
        });
        let outgoing_bytes = inlined::outgoing_area(cx, body, &calls)?;
        cx.func.frame_mut().local_bytes = outgoing_bytes;
        cx.room = frame::Room::behind(outgoing_bytes);
        cx.func.frame_mut().align = 16;
        cx.func.frame_mut().dynamic = moves;
    }
    if cx.is_entry() {
        descriptor::load(cx)?;
        params::bind_kernel_params(cx, function)
    } else {
        let is_local =
            cx.func.kind() == FunctionKind::Internal && !cx.module.relocatable || cx.module.plan.is_local(function);
        let of = if is_local { Convention::of_local } else { Convention::of };
        let convention = of(&function.rets, &function.params)?;
        params::bind_device_params(cx, function, &convention)
    }
}

/// Lowers the statements of a scope; errors are gathered and the rest goes on.
pub(crate) fn lower_block<'a>(cx: &mut FnLower<'_, 'a>, block: &'a ast::Block, errors: &mut Vec<LowerError>) {
    cx.scopes.enter();
    // Most statements are one instruction.
    cx.func.edit().expect(block.statements.len());
    errors.extend(declare(cx, block).err());
    for statement in &block.statements {
        checkpoint(16);
        match statement {
            Statement::Label(name) => errors.extend(start_label(cx, *name).err()),
            Statement::Instruction(instruction) => errors.extend(lower_instruction(cx, instruction).err()),
            Statement::Block(inner) => lower_block(cx, inner, errors),
            Statement::Pragma(words) if forbids_unrolling(words) => cx.keep_rolled(),
            _ => {}
        }
    }
    cx.scopes.leave();
}

/// Declares everything of a scope before its code: labels may be used before they stand.
fn declare<'a>(cx: &mut FnLower<'_, 'a>, block: &'a ast::Block) -> Lowered {
    for statement in &block.statements {
        match statement {
            Statement::Label(name) => {
                let block = cx.new_block()?;
                bindings::bind(cx, *name, Binding::Label(block))?;
            }
            Statement::Registers(registers) => declare_registers(cx, registers)?,
            Statement::Variable(variable) => declare_variable(cx, variable)?,
            Statement::BranchTargets(list) | Statement::CallTargets(list) => declare_targets(cx, list)?,
            Statement::Prototype(prototype) => {
                cx.prototypes.push(prototype);
                bindings::bind(cx, prototype.label, Binding::Prototype(cx.prototypes.len() - 1))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A list of labels, or of functions that a call may reach.
fn declare_targets(cx: &mut FnLower<'_, '_>, list: &TargetList) -> Lowered {
    bindings::bind(cx, list.label, Binding::Targets(list.targets.clone()))
}

/// Registers one by one, or a range of them, which are made at their first use.
fn declare_registers(cx: &mut FnLower<'_, '_>, registers: &RegisterDecl) -> Lowered {
    let elements = registers.vector.map_or(1, |v| v.len());
    cx.has_vectors |= elements > 1;
    for name in &registers.names {
        match name.count {
            Some(count) => {
                let stem = cx.text(name.name);
                cx.scopes.declare_range(stem, count, registers.ty, elements);
            }
            None => bindings::bind_register(cx, name.name, registers.ty, elements)?,
        }
    }
    Ok(())
}

/// A variable of the scope: in the frame, of a call, or one that the module lays out.
fn declare_variable<'a>(cx: &mut FnLower<'_, 'a>, variable: &'a Variable) -> Lowered {
    let Some(name) = variable.name else { return Ok(()) };
    let binding = match variable.space {
        Space::Local => Binding::Frame(frame::variable(cx, variable)?),
        Space::Param => Binding::Param(call_parameter(cx, variable)?),
        Space::Shared | Space::SharedCta | Space::Global | Space::Const => {
            let key = cx.module.local_variable(name);
            Binding::Static(key.ok_or_else(|| unsupported(variable.span, "a variable in a library function"))?)
        }
        space => return Err(unsupported(variable.span, format!("a variable in .{space} space"))),
    };
    bindings::bind(cx, name, binding)
}

/// Registers for a `.param` variable of a call.
fn call_parameter(cx: &mut FnLower<'_, '_>, variable: &Variable) -> Lowered<ParamVar> {
    let (size, _) = abi::extent(variable)?;
    let words = param_words::new_words(cx, size)?;
    if cx.is_reachable() {
        // The program need not write all of it.
        for word in &words.words {
            cx.append(Inst::undef(Operand::reg(*word)))?;
        }
    }
    Ok(words)
}

/// Goes on in the block of a label.
fn start_label(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered {
    let block = bindings::label(cx, name)?;
    cx.jump(block);
    cx.switch_to(block);
    Ok(())
}

// ---- instructions ----

/// Lowers an instruction as the program has it; where no control gets, nothing.
fn lower_instruction<'a>(cx: &mut FnLower<'_, 'a>, instruction: &'a Instruction) -> Lowered {
    if !cx.is_reachable() {
        return Ok(());
    }
    if !cx.has_vectors {
        return lower_single(cx, instruction);
    }
    let mut failed = Ok(());
    let spread = instruction.with_vectors_spread(|name| {
        let len = bindings::vector_len(cx, name);
        len.unwrap_or_else(|error| {
            failed = Err(error);
            None
        })
    });
    failed?;
    lower_single(cx, &spread)
}

/// Lowers an instruction all of whose registers are single.
fn lower_single(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.span = instruction.span;
    cx.loc = location(cx);
    cx.first_temporary = usize::MAX;
    cx.guard = guard_of(cx, instruction)?;
    make_registers(cx, instruction)?;
    cx.first_temporary = cx.func.regs().len();
    let lowered = dispatch::lower(cx, instruction);
    let copied = destinations::copy_back(cx);
    cx.end_guard();
    lowered.and(copied)
}

/// The line of the instruction at hand; library functions have no lines.
fn location(cx: &mut FnLower<'_, '_>) -> Option<LocId> {
    if !std::ptr::eq(cx.ast, cx.module.ast) {
        return cx.loc;
    }
    let line = cx.module.lines.at(cx.span)?;
    Some(cx.func.source_loc(SourceLoc { file: 0, line, column: 0 }))
}

/// The guard of an instruction, on the Ori register of its predicate.
fn guard_of(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered<Option<Guard>> {
    let Some(guard) = instruction.guard else { return Ok(None) };
    let pred = sources::pred(cx, &ast::Operand::Name(guard.pred))?;
    Ok(pred.as_reg().map(|pred| Guard { pred, negated: guard.negated }))
}

/// Makes the registers that the instruction names first, so that they are no temporaries of it.
fn make_registers(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let mut made = Ok(());
    mentions::of_instruction(instruction, &mut |name| {
        if made.is_ok() {
            made = bindings::binding(cx, name).map(|_| ());
        }
    });
    made
}

/// Whether `.pragma "nounroll"` is among the words.
fn forbids_unrolling(words: &[String]) -> bool {
    words.iter().any(|word| word == "nounroll")
}

/// The directives of a function.
fn attributes_of(function: &ast::Function) -> Attributes {
    let mut attributes = Attributes::default();
    for directive in &function.directives {
        match directive {
            FunctionDirective::MaxNTid(threads) => attributes.maxntid = Some(*threads),
            FunctionDirective::ReqNTid(threads) => attributes.reqntid = Some(*threads),
            FunctionDirective::MinNCtaPerSm(blocks) => attributes.minnctapersm = Some(*blocks),
            FunctionDirective::MaxNReg(registers) => attributes.maxnreg = Some(*registers),
            FunctionDirective::ReqNCtaPerCluster(blocks) => attributes.cluster = Some(*blocks),
            FunctionDirective::MaxClusterRank(rank) => attributes.max_cluster_rank = Some(*rank),
            FunctionDirective::ExplicitCluster => attributes.explicit_cluster = true,
            FunctionDirective::NoReturn => attributes.noreturn = true,
            FunctionDirective::MinPerCtaMemory(bytes) => attributes.min_per_cta_memory = Some(*bytes),
            FunctionDirective::Language(languages) => attributes.languages.extend_from_slice(languages),
            FunctionDirective::MaxNCtaPerSm(_)
            | FunctionDirective::BlocksAreClusters
            | FunctionDirective::AbiPreserve(_)
            | FunctionDirective::AbiPreserveControl(_)
            | FunctionDirective::Pragma(_) => {}
        }
    }
    attributes.languages.sort_unstable();
    attributes.languages.dedup();
    attributes
}
