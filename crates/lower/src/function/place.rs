//! Where what a name stands for lies, and its address in its own space.

use crate::error::{Lowered, invalid};
use crate::function::operands::{Wide, word};
use crate::function::scope::Binding;
use crate::function::{FnLower, bindings, frame, handle, ops, shared};
use crate::module::plan::VarKey;
use oriole_ori::{ADDRESS_BANK, Operand, Symbol, SymbolPart};
use oriole_ptx::ast::{Name, Space};

/// The address of something that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In constant bank 0: a kernel parameter, at this offset from the start of the bank.
    KernelParam(u32),
    /// Byte offset above the frame's base.
    Frame(u32),
    /// Byte offset in the shared segment.
    Shared(u32),
    /// Byte offset in constant bank 3.
    Const(u32),
    /// A shared variable whose offset in the shared segment the linker knows.
    LinkedShared(Symbol),
    /// A variable whose offset in constant bank 3 the linker knows.
    LinkedConst(Symbol),
    /// A global variable or function, whose address is in bank 4.
    Symbol(Symbol),
    /// A texture, sampler or surface, whose number is in constant bank 0.
    Object(Symbol),
    /// A parameter in registers: it has no address.
    Param,
    /// A parameter in the caller's argument area, at this byte offset.
    Incoming(u32),
}

/// True for the spaces of parameters.
pub(crate) fn is_parameter(space: Option<Space>) -> bool {
    matches!(space, Some(Space::Param | Space::ParamEntry | Space::ParamFunc))
}

// ---- places ----

/// Where the thing lies that a name stands for.
pub(crate) fn of(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<Place> {
    match bindings::binding(cx, name)? {
        Some(Binding::KernelParam(offset)) => Ok(Place::KernelParam(*offset)),
        Some(Binding::Frame(variable)) => Ok(Place::Frame(variable.offset)),
        Some(Binding::Param(_)) => Ok(Place::Param),
        Some(Binding::Object(symbol)) => Ok(Place::Object(*symbol)),
        Some(Binding::Incoming(offset)) => Ok(Place::Incoming(*offset)),
        Some(Binding::Static(key)) => {
            let key = *key;
            variable_place(cx, key)
        }
        Some(Binding::Reg(_) | Binding::Label(_) | Binding::Targets(_) | Binding::Prototype(_)) => {
            Err(invalid(name.span, format!("'{}' has no address", cx.text(name))))
        }
        None => module_place(cx, name),
    }
}

/// Where a variable or function of the module lies.
fn module_place(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<Place> {
    if std::ptr::eq(cx.ast, cx.module.ast) {
        if let Some(key) = cx.module.global_variable(name.sym) {
            return variable_place(cx, key);
        }
        if cx.module.function(name.sym).is_some() {
            return Ok(Place::Symbol(cx.module.symbol_of(name)?));
        }
    }
    Err(invalid(name.span, format!("'{}' is not declared", cx.text(name))))
}

/// Where a variable lies, by its space.
fn variable_place(cx: &mut FnLower<'_, '_>, key: VarKey) -> Lowered<Place> {
    match cx.module.variable(key).space {
        Space::Shared | Space::SharedCta if cx.module.relocatable => {
            Ok(Place::LinkedShared(cx.module.variable_symbol(key)?))
        }
        Space::Const if cx.module.relocatable => Ok(Place::LinkedConst(cx.module.variable_symbol(key)?)),
        Space::Shared | Space::SharedCta => Ok(Place::Shared(cx.module.shared_offset(key)?)),
        Space::Const => {
            let symbol = cx.module.variable_symbol(key)?;
            let offset = cx.module.out.variable(symbol).and_then(|v| v.offset).unwrap_or(0);
            Ok(Place::Const(offset as u32))
        }
        _ if crate::abi::object_kind(cx.module.variable(key).ty).is_some() => {
            Ok(Place::Object(cx.module.variable_symbol(key)?))
        }
        _ => Ok(Place::Symbol(cx.module.variable_symbol(key)?)),
    }
}

// ---- addresses ----

/// The 32-bit address of a variable in its own space (shared, const, local, kernel parameter).
pub(crate) fn address32(cx: &mut FnLower<'_, '_>, name: Name, offset: i64) -> Lowered<Operand> {
    let add = |base: u32| base.wrapping_add(offset as u32);
    match of(cx, name)? {
        Place::KernelParam(at) | Place::Const(at) => Ok(word(add(at))),
        Place::Shared(at) => shared::shared_address(cx, add(at)),
        Place::Frame(at) => frame::stack_address(cx, add(at)),
        Place::Incoming(at) => {
            let base = frame::incoming_stack(cx)?;
            let temp = cx.temp()?;
            ops::add(cx, temp, base, word(add(at)))?;
            Ok(temp)
        }
        Place::Param => {
            Err(invalid(name.span, format!("the address of the parameter '{}' is not supported here", cx.text(name))))
        }
        Place::Symbol(symbol) => Ok(symbol_address(cx, symbol, offset)?.lo),
        Place::Object(symbol) => Ok(handle::object_handle(cx, symbol)?.lo),
        Place::LinkedShared(symbol) => {
            let base = linked_shared(cx, symbol)?;
            ops::moved(cx, base, add(cx.arch().sm().shared_base))
        }
        Place::LinkedConst(symbol) => {
            let base = linked_offset(cx, symbol)?;
            ops::moved(cx, base, add(0))
        }
    }
}

/// The 64-bit address of a variable or function in its own space.
pub(crate) fn address64(cx: &mut FnLower<'_, '_>, name: Name, offset: i64) -> Lowered<Wide> {
    match of(cx, name)? {
        Place::Symbol(symbol) => symbol_address(cx, symbol, offset),
        Place::Object(symbol) => handle::object_handle(cx, symbol),
        _ => Ok(Wide::of_halves(address32(cx, name, offset)?, Operand::rz())),
    }
}

/// The address of a global variable or function: the number of a device function, else from constant
/// bank 4.
pub(crate) fn symbol_address(cx: &mut FnLower<'_, '_>, symbol: Symbol, offset: i64) -> Lowered<Wide> {
    if let Some(number) = cx.module.function_number(symbol) {
        return Ok(Wide::of_bits(number.wrapping_add(offset as u64)));
    }
    let pair = cx.temp64()?;
    if cx.module.relocatable {
        for (half, part) in [(Operand::lo(pair), SymbolPart::Low), (Operand::hi(pair), SymbolPart::High)] {
            let made = cx.func.symbol_operand(symbol, offset, part);
            let address = cx.built(made)?;
            ops::mov(cx, half, address)?;
        }
        return Ok(Wide::of_pair(pair));
    }
    let slot = cx.module.out.address_slot(symbol);
    ops::read_constant64(cx, pair, ADDRESS_BANK, slot)?;
    let base = Wide::of_pair(pair);
    if offset == 0 {
        return Ok(base);
    }
    let sum = cx.temp64()?;
    ops::add64(cx, sum, base, Wide::of_bits(offset as u64))?;
    Ok(Wide::of_pair(sum))
}

/// The offset of a variable in the shared segment or in constant bank 3, put in by the linker.
pub(crate) fn linked_offset(cx: &mut FnLower<'_, '_>, symbol: Symbol) -> Lowered<Operand> {
    let made = cx.func.symbol_operand(symbol, 0, SymbolPart::Whole);
    let offset = cx.built(made)?;
    let temp = cx.temp()?;
    ops::mov(cx, temp, offset)?;
    Ok(temp)
}

/// The address of a shared variable less the bytes that the system keeps: linkers leave them out.
pub(crate) fn linked_shared(cx: &mut FnLower<'_, '_>, symbol: Symbol) -> Lowered<Operand> {
    let offset = linked_offset(cx, symbol)?;
    let window = shared::shared_window(cx)?;
    if window.is_zero() {
        return Ok(offset);
    }
    let temp = cx.temp()?;
    ops::add(cx, temp, window, offset)?;
    Ok(temp)
}
