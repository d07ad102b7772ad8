//! The parameters of the function at hand: of kernels in constant bank 0, of device functions in registers and
//! on the stack.

use crate::abi;
use crate::abi::{Convention, Passed, Place, STACK_POINTER_ARGUMENT};
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::scope::{Binding, FrameVar, ParamVar};
use crate::function::{FnLower, bindings, frame, ops, param_words};
use oriole_ori::{OBJECT_PARAM, Operand, Param, RegType};
use oriole_ptx::ast::{self, Linkage, Name, Space, Sym, Variable};
use oriole_ptx::mentions;
use rustc_hash::FxHashSet;

/// Lays the parameters of a kernel out in constant bank 0.
pub(crate) fn bind_kernel_params<'a>(cx: &mut FnLower<'_, 'a>, function: &'a ast::Function) -> Lowered {
    let limit = u64::from(cx.sm().max_parameter_bytes);
    let (offsets, end) = abi::layout(function, &cx.sm().bank0);
    let mut places = Vec::new();
    for (variable, offset) in function.params.iter().zip(offsets) {
        let Some(name) = variable.name else { continue };
        let Some(offset) = offset else {
            bind_object(cx, variable, name, cx.text(function.name))?;
            continue;
        };
        let (size, align) = (variable.size().unwrap_or(u64::MAX), variable.alignment());
        if offset.saturating_add(size) > limit {
            return Err(invalid(variable.span, format!("kernel parameters need more than {limit} bytes")));
        }
        let (offset, size) = (offset as u32, size as u32);
        let hidden = variable.linkage == Linkage::Hidden;
        cx.func.add_param(Param { name: cx.text(name).to_owned(), offset, size, align, hidden });
        places.push((name, offset));
    }
    let base = u32::from(cx.sm().bank0.parameters_of(end as u32));
    places.into_iter().try_for_each(|(name, offset)| bindings::bind(cx, name, Binding::KernelParam(base + offset)))
}

/// A parameter that is a texture, sampler or surface.
fn bind_object(cx: &mut FnLower<'_, '_>, variable: &Variable, name: Name, kernel: &str) -> Lowered {
    let Some(kind) = abi::object_kind(variable.ty) else { return Ok(()) };
    let symbol = cx.module.object_parameter(variable, kind, cx.text(name), kernel);
    let name_of_symbol = cx.module.out.symbols[symbol].name.clone();
    cx.func.add_param(Param { name: name_of_symbol, offset: OBJECT_PARAM, size: 0, align: 1, hidden: false });
    bindings::bind(cx, name, Binding::Object(symbol))
}

/// Takes the arguments out of their registers.
pub(crate) fn bind_device_params<'a>(
    cx: &mut FnLower<'_, 'a>,
    function: &'a ast::Function,
    convention: &Convention,
) -> Lowered {
    cx.returning.register = convention.return_address;
    keep_return_address(cx, function)?;
    if convention.uses_stack() {
        let pointer = incoming(cx, STACK_POINTER_ARGUMENT)?;
        let kept = cx.temp_of(RegType::R)?;
        ops::mov(cx, Operand::reg(kept), pointer)?;
        cx.incoming_stack = Some(kept);
    }
    let by_address = names_by_address(function);
    for (variable, passed) in function.params.iter().zip(&convention.params) {
        bind_param(cx, variable, *passed, &by_address)?;
    }
    for (variable, passed) in function.rets.iter().zip(&convention.rets) {
        bind_result(cx, variable, *passed)?;
    }
    Ok(())
}

/// Copies the return address on entry, where calls of the body overwrite its register.
fn keep_return_address(cx: &mut FnLower<'_, '_>, function: &ast::Function) -> Lowered {
    let address = cx.fixed_pair(cx.returning.register)?;
    cx.func.edit().add_live_in(address);
    let mut calls = false;
    if let Some(body) = &function.body {
        mentions::instructions(body, &mut |i| calls |= !matches!(i.opcode, ast::Opcode::Ret | ast::Opcode::Bra));
    }
    if calls {
        let kept = cx.temp64()?;
        ops::mov64(cx, kept, Wide::of_pair(address))?;
        cx.returning.address = Some(kept);
    }
    Ok(())
}

/// The fixed register `number`, with a value on entry.
fn incoming(cx: &mut FnLower<'_, '_>, number: u16) -> Lowered<Operand> {
    let made = cx.func.fixed_vreg(RegType::R, number);
    let reg = cx.built(made)?;
    if !cx.func.live_in().contains(&reg) {
        cx.func.edit().add_live_in(reg);
    }
    Ok(Operand::reg(reg))
}

/// Takes one argument from where the convention passes it.
fn bind_param(cx: &mut FnLower<'_, '_>, variable: &Variable, passed: Passed, by_address: &FxHashSet<Sym>) -> Lowered {
    let first = match passed.place {
        Place::Registers(first) => first,
        Place::Stack(offset) => return bind_stack(cx, variable, offset, true),
    };
    let sources = (0..passed.words() as u16).map(|k| incoming(cx, first + k)).collect::<Lowered<Vec<_>>>()?;
    bind_words(cx, variable, &sources, by_address)
}

/// Gives a parameter the value of these words.
pub(crate) fn bind_words(
    cx: &mut FnLower<'_, '_>,
    variable: &Variable,
    sources: &[Operand],
    by_address: &FxHashSet<Sym>,
) -> Lowered {
    let (size, align) = abi::extent(variable)?;
    let words = param_words::new_words(cx, size)?;
    for (word, source) in words.words.iter().zip(sources) {
        ops::mov(cx, Operand::reg(*word), *source)?;
    }
    let Some(name) = variable.name else { return Ok(()) };
    if variable.space == Space::Reg {
        bindings::bind_register(cx, name, variable.ty, variable.vector.map_or(1, |v| v.len()))?;
        let operand = bindings::register_operand(cx, name)?;
        return param_words::words_to_operand(cx, &words, &operand);
    }
    if !by_address.contains(&name.sym) {
        return bindings::bind(cx, name, Binding::Param(words));
    }
    let offset = frame::place(cx, size.next_multiple_of(4), align.max(4));
    let offset = offset.ok_or_else(|| invalid(variable.span, "the parameter has no room in local memory"))?;
    let stack = frame::base(cx);
    param_words::store_words(cx, stack, offset, &words)?;
    bindings::bind(cx, name, Binding::Frame(FrameVar { offset, element: variable.ty.bytes() }))
}

/// A parameter or result at byte `offset` of the caller's argument area; `load`: its value is there on entry.
fn bind_stack(cx: &mut FnLower<'_, '_>, variable: &Variable, offset: u32, load: bool) -> Lowered {
    let Some(name) = variable.name else { return Ok(()) };
    if variable.space != Space::Reg {
        return bindings::bind(cx, name, Binding::Incoming(offset));
    }
    bindings::bind_register(cx, name, variable.ty, variable.vector.map_or(1, |v| v.len()))?;
    if load {
        let words = load_stack_words(cx, offset, variable)?;
        let operand = bindings::register_operand(cx, name)?;
        param_words::words_to_operand(cx, &words, &operand)?;
    }
    Ok(())
}

/// Where the body writes one result; `ret` hands it over.
fn bind_result<'a>(cx: &mut FnLower<'_, 'a>, variable: &'a Variable, passed: Passed) -> Lowered {
    cx.returning.results.push((variable, passed));
    match passed.place {
        Place::Stack(offset) => bind_stack(cx, variable, offset, false),
        Place::Registers(_) => bind_result_words(cx, variable),
    }
}

/// Registers for one result.
pub(crate) fn bind_result_words(cx: &mut FnLower<'_, '_>, variable: &Variable) -> Lowered {
    let Some(name) = variable.name else { return Ok(()) };
    if variable.space == Space::Reg {
        return bindings::bind_register(cx, name, variable.ty, variable.vector.map_or(1, |v| v.len()));
    }
    let (size, _) = abi::extent(variable)?;
    let words = param_words::new_words(cx, size)?;
    bindings::bind(cx, name, Binding::Param(words))
}

/// The words of a parameter from the caller's argument area.
fn load_stack_words(cx: &mut FnLower<'_, '_>, offset: u32, variable: &Variable) -> Lowered<ParamVar> {
    let (size, _) = abi::extent(variable)?;
    let words = param_words::new_words(cx, size)?;
    let base = frame::incoming_stack(cx)?;
    param_words::load_words(cx, base, offset, &words)?;
    Ok(words)
}

/// Parameters whose address the body takes: named other than in an address of ld.param or st.param.
pub(crate) fn names_by_address(function: &ast::Function) -> FxHashSet<Sym> {
    let mut taken = FxHashSet::default();
    let Some(body) = &function.body else { return taken };
    mentions::instructions(body, &mut |instruction| {
        let is_access = matches!(instruction.opcode, ast::Opcode::Ld | ast::Opcode::St)
            && instruction.space().is_some_and(|s| matches!(s, Space::Param | Space::ParamFunc | Space::ParamEntry));
        if !is_access && instruction.opcode != ast::Opcode::Call {
            mentions::of_instruction(instruction, &mut |name| {
                taken.insert(name.sym);
            });
        }
    });
    taken
}
