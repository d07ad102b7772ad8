//! Calls: of functions of the module, of library routines, through pointers, of the run-time system.

use crate::abi::{self, Convention, Passed, Place, STACK_POINTER_ARGUMENT};
use crate::chapters::{calls, stack};
use crate::error::{Lowered, invalid, unsupported};
use crate::function::operands::Wide;
use crate::function::scope::Binding;
use crate::function::{FnLower, bindings, finish, frame, inlined, ops, param_words, place, sources};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{self, Bank, Base, D, Offset};
use oriole_isa::{CallMode, Field, MemSize, Mods, Opcode as Sass};
use oriole_ori::{Block, CallSite, Callee, Clobbers, Inst, Linkage, Operand, RegType, Symbol, SymbolPart, VReg};
use oriole_ptx::ast::{self, Instruction, Name, Opcode, Space, Span, Variable};
use oriole_ptx::diag::Rule;

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Call, call)];

/// Functions that the run-time system brings: declared in PTX, defined by the driver.
const RUNTIME: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Constant bank with the code offsets of the functions whose addresses are taken.
const FUNCTION_BANK: u8 = 2;

/// What a call goes to.
enum Way {
    /// A function of this module.
    Direct(Symbol),
    /// A function of the run-time system.
    Runtime(Symbol),
    /// The function whose number (in an object file: address) is in a register pair.
    Indirect(Wide),
}

/// `call (rets), f, (args);`
fn call(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    cx.guard_by_branch()?;
    let Some(parts) = instruction.call() else { return Err(unknown(cx, instruction)) };
    if let Some(function) = inlined::function(cx, &parts)? {
        return inlined::call(cx, instruction, &parts, function);
    }
    let Target { way, rets, params, is_local, noreturn } = callee(cx, &parts)?;
    let (rets, params): (&[Variable], &[Variable]) = (&rets, &params);
    check_counts(instruction, &parts, [params.len(), rets.len()])?;
    let convention = if is_local { Convention::of_local(rets, params)? } else { Convention::of(rets, params)? };
    let mut site =
        CallSite { callee: Callee::Indirect, args: Vec::new(), results: Vec::new(), clobbers: Clobbers::ByCallee };
    for ((arg, param), passed) in parts.args.iter().zip(params).zip(&convention.params) {
        pass(cx, arg, param, *passed, &mut site.args)?;
    }
    if convention.uses_stack() {
        let pointer = cx.fixed(STACK_POINTER_ARGUMENT)?;
        let stack = frame::base(cx);
        ops::mov(cx, pointer, stack)?;
        site.args.push(pointer);
    }
    result_registers(cx, &convention, &mut site.results)?;
    transfer(cx, way, site, convention.return_address)?;
    if noreturn {
        return finish::emit_exit(cx);
    }
    for ((ret, variable), passed) in parts.rets.iter().zip(rets).zip(&convention.rets) {
        take(cx, ret, variable, *passed)?;
    }
    Ok(())
}

/// A call has as many arguments and results as the function.
pub(crate) fn check_counts(instruction: &Instruction, parts: &ast::Call<'_>, [params, rets]: [usize; 2]) -> Lowered {
    if parts.args.len() == params && parts.rets.len() == rets {
        return Ok(());
    }
    let message = format!("the function takes {params} arguments and gives {rets} results");
    Err(invalid(instruction.span, message))
}

/// What is called.
struct Target {
    way: Way,
    rets: Vec<Variable>,
    params: Vec<Variable>,
    /// All its calls are direct ones.
    is_local: bool,
    /// It never returns.
    noreturn: bool,
}

fn callee(cx: &mut FnLower<'_, '_>, parts: &ast::Call<'_>) -> Lowered<Target> {
    if let Some(name) = parts.callee.name()
        && bindings::binding(cx, name)?.is_none()
        && let Some((index, function)) = cx.module.function(name.sym)
    {
        let symbol = cx.module.function_symbol(index);
        let noreturn = crate::module::plan::is_noreturn(function);
        let way = if function.body.is_some() { Way::Direct(symbol) } else { Way::Runtime(runtime(cx, name, symbol)?) };
        let is_local = cx.module.plan.is_local(function);
        return Ok(Target { way, rets: function.rets.clone(), params: function.params.clone(), is_local, noreturn });
    }
    let Some(label) = parts.prototype else {
        return Err(unsupported(parts.callee.span(), "a call through a register without a prototype"));
    };
    let address = sources::src64(cx, parts.callee)?;
    let (rets, params) = prototype(cx, label)?;
    Ok(Target { way: Way::Indirect(address), rets, params, is_local: false, noreturn: false })
}

fn runtime(cx: &FnLower<'_, '_>, name: Name, symbol: Symbol) -> Lowered<Symbol> {
    let text = cx.text(name);
    if cx.module.relocatable || RUNTIME.contains(&text) {
        return Ok(symbol);
    }
    let error = unsupported(name.span, format!("the external function '{text}'")).rule(Rule::Linkage);
    Err(Box::new(error.help(format!(
        "only object files (-c) leave functions to a linker; of the run-time system there are {}",
        RUNTIME.join(", ")
    ))))
}

/// Results and parameters by `.callprototype`, or of the first of `.calltargets`.
fn prototype(cx: &mut FnLower<'_, '_>, label: Name) -> Lowered<(Vec<Variable>, Vec<Variable>)> {
    let missing = |span: Span| invalid(span, "a call prototype is needed here");
    match bindings::binding(cx, label)? {
        Some(Binding::Prototype(index)) => {
            let index = *index;
            let prototype = bindings::prototype(cx, index).ok_or_else(|| missing(label.span))?;
            Ok((prototype.rets.clone(), prototype.params.clone()))
        }
        Some(Binding::Targets(targets)) => {
            let first = targets.first().copied().ok_or_else(|| missing(label.span))?;
            let (_, function) = cx.module.function(first.sym).ok_or_else(|| missing(first.span))?;
            Ok((function.rets.clone(), function.params.clone()))
        }
        _ => Err(missing(label.span)),
    }
}

/// Puts one argument where the callee expects it.
fn pass(
    cx: &mut FnLower<'_, '_>,
    arg: &ast::Operand,
    param: &Variable,
    passed: Passed,
    args: &mut Vec<Operand>,
) -> Lowered {
    let words = argument_words(cx, arg, param)?;
    match passed.place {
        Place::Registers(first) => {
            for (k, word) in words.into_iter().enumerate().take(passed.words() as usize) {
                let to = cx.fixed(first + k as u16)?;
                ops::mov(cx, to, word)?;
                args.push(to);
            }
            Ok(())
        }
        Place::Stack(offset) => {
            let stack = frame::base(cx);
            param_words::store_operands(cx, stack, offset, &words)
        }
    }
}

/// The words of an argument: a `.param` variable, a register or a constant.
pub(crate) fn argument_words(cx: &mut FnLower<'_, '_>, arg: &ast::Operand, param: &Variable) -> Lowered<Vec<Operand>> {
    if let Some(name) = arg.name()
        && let Some(Binding::Param(words)) = bindings::binding(cx, name)?
    {
        return Ok(words.words.iter().map(|word| Operand::reg(*word)).collect());
    }
    if param.dims.is_empty() {
        return param_words::operand_words(cx, arg, param.ty);
    }
    Err(unsupported(arg.span(), "this argument for an array parameter"))
}

fn result_registers(cx: &mut FnLower<'_, '_>, convention: &Convention, results: &mut Vec<Operand>) -> Lowered {
    for passed in &convention.rets {
        if let Place::Registers(first) = passed.place {
            for k in 0..passed.words() as u16 {
                results.push(cx.fixed(first + k)?);
            }
        }
    }
    Ok(())
}

/// Takes one result to its `.param` variable or register.
fn take(cx: &mut FnLower<'_, '_>, ret: &ast::Operand, variable: &Variable, passed: Passed) -> Lowered {
    let mut words = Vec::new();
    match passed.place {
        Place::Registers(first) => {
            for k in 0..passed.words() as u16 {
                words.push(cx.fixed(first + k)?);
            }
        }
        Place::Stack(offset) => {
            let fresh = param_words::new_words(cx, passed.size)?;
            let stack = frame::base(cx);
            param_words::load_words(cx, stack, offset, &fresh)?;
            words.extend(fresh.words.iter().map(|word| Operand::reg(*word)));
        }
    }
    give(cx, ret, variable, words)
}

/// Puts the words of a result into its `.param` variable or register.
pub(crate) fn give(cx: &mut FnLower<'_, '_>, ret: &ast::Operand, variable: &Variable, words: Vec<Operand>) -> Lowered {
    if matches!(ret, ast::Operand::Sink(_)) {
        return Ok(());
    }
    if let Some(name) = ret.name()
        && let Some(Binding::Param(param)) = bindings::binding(cx, name)?
    {
        let to = param.words.clone();
        return to.iter().zip(words).try_for_each(|(to, word)| ops::mov(cx, Operand::reg(*to), word));
    }
    if variable.space != Space::Reg && !variable.dims.is_empty() {
        return Err(unsupported(ret.span(), "this destination for an array result"));
    }
    let fresh = param_words::new_words(cx, abi::extent(variable)?.0)?;
    for (to, word) in fresh.words.iter().zip(words) {
        ops::mov(cx, Operand::reg(*to), word)?;
    }
    param_words::words_to_operand(cx, &fresh, ret)
}

/// Sets the return address, in the pair from the register `address` on, and jumps; code goes on in the block of the return
/// point.
fn transfer(cx: &mut FnLower<'_, '_>, way: Way, mut site: CallSite, address: u16) -> Lowered {
    let back = cx.new_block()?;
    let address = cx.fixed_pair(address)?;
    let mut inst = Inst::neutral(Sass::CALL, Mods::new());
    match (way, cx.module.relocatable) {
        (Way::Direct(symbol), false) => {
            section_relative(cx, Wide::of_pair(address), back)?;
            site.callee = Callee::Direct(symbol);
            let made = cx.func.symbol_operand(symbol, 0, SymbolPart::Relative);
            inst.set_role(Role::Target, cx.built(made)?);
        }
        (Way::Indirect(target), false) => {
            let offset = code_offset(cx, target)?;
            section_relative(cx, Wide::of_pair(address), back)?;
            inst.set_role(Base, offset);
        }
        (Way::Runtime(symbol), false) => {
            let target = place::symbol_address(cx, symbol, 0)?;
            absolute_return(cx, address, back)?;
            site.callee = Callee::Direct(symbol);
            inst.mods.set(Field::CALL_MODE, CallMode::ABS);
            inst.set_role(Base, ops::in_pair(cx, target)?);
        }
        (Way::Direct(symbol) | Way::Runtime(symbol), true) => {
            absolute_return(cx, address, back)?;
            // What the linker takes for a weak function may change other registers.
            if cx.module.out.symbols[symbol].linkage != Linkage::Weak {
                site.callee = Callee::Direct(symbol);
            }
            inst.mods.set(Field::CALL_MODE, CallMode::ABS);
            let made = cx.func.symbol_operand(symbol, 0, SymbolPart::Whole);
            inst.set_role(Role::Target, cx.built(made)?);
        }
        (Way::Indirect(target), true) => {
            absolute_return(cx, address, back)?;
            inst.mods.set(Field::CALL_MODE, CallMode::ABS);
            inst.set_role(Base, ops::in_pair(cx, target)?);
            if cx.sm().unified_functions {
                let unified = cx.module.unified_offset();
                let made = cx.func.symbol_operand(unified, 0, SymbolPart::Whole);
                inst.set_role(Offset, cx.built(made)?);
            }
        }
    }
    site.args.push(Operand::reg(address));
    stack::push_base(cx)?;
    inst.call = cx.func.edit().add_site(site).into();
    cx.append(inst)?;
    cx.jump(back);
    cx.switch_to(back);
    stack::pop_base(cx)
}

/// The offset in the kernel's code of the function with this number: the kernel's bank 2 has it.
fn code_offset(cx: &mut FnLower<'_, '_>, number: Wide) -> Lowered<Operand> {
    let number = ops::in_reg(cx, number.lo)?;
    let offset = cx.temp64()?;
    let operands = [(D, Operand::reg(offset)), (Base, number), (Bank, Operand::cbank(FUNCTION_BANK, 0))];
    cx.emit(Sass::LDC, &[Field::MEM_SIZE.is(MemSize::B64)], &operands)?;
    Ok(Operand::reg(offset))
}

/// The return address of functions in the same code section: a byte offset in it.
fn section_relative(cx: &mut FnLower<'_, '_>, address: Wide, back: Block) -> Lowered {
    ops::mov(cx, address.lo, Operand::block(back))?;
    ops::mov(cx, address.hi, Operand::rz())
}

/// Calls a routine of the library with arguments as 32-bit words, in order; gives the words of its
/// results. The guard of the PTX instruction becomes a branch.
pub(crate) fn call_library(cx: &mut FnLower<'_, '_>, name: &str, args: &[Operand]) -> Lowered<Vec<Operand>> {
    cx.guard_by_branch()?;
    let (routine, symbol) = cx.module.library_symbol(name, cx.span)?;
    let of = if cx.module.relocatable { Convention::of } else { Convention::of_local };
    let convention = of(&routine.function.rets, &routine.function.params)?;
    let mut site =
        CallSite { callee: Callee::Indirect, args: Vec::new(), results: Vec::new(), clobbers: Clobbers::ByCallee };
    let mut words = args.iter();
    for passed in &convention.params {
        let Place::Registers(first) = passed.place else {
            return Err(unsupported(cx.span, format!("the routine '{name}' with arguments on the stack")));
        };
        for (k, word) in (0..passed.words() as u16).zip(words.by_ref()) {
            let to = cx.fixed(first + k)?;
            ops::mov(cx, to, *word)?;
            site.args.push(to);
        }
    }
    result_registers(cx, &convention, &mut site.results)?;
    let fixed = site.results.clone();
    transfer(cx, Way::Direct(symbol), site, convention.return_address)?;
    let mut results = Vec::new();
    for from in fixed {
        let to = cx.temp()?;
        ops::mov(cx, to, from)?;
        results.push(to);
    }
    Ok(results)
}

/// `address` = the absolute address of `back`, for functions outside of the section.
///
/// Before sm_90 LEPC gives its own address only. It stands alone in a block, which both its own
/// label and that of the next block keep apart, and the distance is added.
fn absolute_return(cx: &mut FnLower<'_, '_>, address: VReg, back: Block) -> Lowered {
    if Sass::LEPC.places(Role::Target, cx.arch()) {
        cx.emit(Sass::LEPC, &[], &[(D, Operand::reg(address)), (Role::Target, Operand::block(back))])?;
        return Ok(());
    }
    let (here, next) = (cx.new_block()?, cx.new_block()?);
    cx.jump(here);
    cx.switch_to(here);
    let own = cx.temp64()?;
    cx.emit(Sass::LEPC, &[], &[(D, Operand::reg(own))])?;
    cx.jump(next);
    cx.switch_to(next);
    let ahead = distance(cx, back, next)?;
    let step = distance(cx, next, here)?;
    let total = cx.temp64()?;
    ops::add(cx, Operand::lo(total), ahead, step)?;
    ops::extend_sign(cx, total)?;
    ops::add64(cx, address, Wide::of_pair(own), Wide::of_pair(total))
}

/// Bytes from one block to another.
fn distance(cx: &mut FnLower<'_, '_>, to: Block, from: Block) -> Lowered<Operand> {
    let to = ops::in_reg(cx, Operand::block(to))?;
    let from = ops::in_reg(cx, Operand::block(from))?;
    let bytes = cx.temp()?;
    ops::add(cx, bytes, to, from.neg())?;
    Ok(bytes)
}

/// Calls a routine of the library: arguments are words and pairs, the result is one or the other.
pub(crate) fn call_routine(cx: &mut FnLower<'_, '_>, name: &str, arguments: &[Operand]) -> Lowered<Operand> {
    let mut words = Vec::new();
    for argument in arguments {
        match argument.as_whole_reg().filter(|reg| cx.func[*reg].reg_type == RegType::Pair) {
            Some(pair) => words.extend([Operand::lo(pair), Operand::hi(pair)]),
            None => words.push(*argument),
        }
    }
    let results = calls::call_library(cx, name, &words)?;
    match results.as_slice() {
        [word] => Ok(*word),
        [low, high] => {
            let pair = cx.temp64()?;
            ops::mov64(cx, pair, Wide::of_halves(*low, *high))?;
            Ok(Operand::reg(pair))
        }
        _ => Err(invalid(cx.span, format!("internal: the routine '{name}' has another kind of result"))),
    }
}
