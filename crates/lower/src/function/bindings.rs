//! What names stand for: declaring them in the innermost scope, and looking them up.

use crate::error::{Lowered, invalid};
use crate::function::FnLower;
use crate::function::scope::{Binding, PtxReg};
use oriole_ori::{Block, RegType, VReg};
use oriole_ptx::ast::{self, Name, ScalarType};

// ---- declaring ----

/// Binds a name in the innermost scope.
pub(crate) fn bind(cx: &mut FnLower<'_, '_>, name: Name, binding: Binding) -> Lowered {
    if cx.scopes.bind(name.sym, binding) {
        Ok(())
    } else {
        Err(invalid(name.span, format!("'{}' is declared twice", cx.text(name))))
    }
}

/// Binds one register with fresh Ori registers, one for each element.
pub(crate) fn bind_register(cx: &mut FnLower<'_, '_>, name: Name, ty: ScalarType, elements: usize) -> Lowered {
    cx.has_vectors |= elements > 1;
    let made = (0..elements).map(|_| cx.temp_of(reg_type_of(ty))).collect::<Lowered<_>>()?;
    bind(cx, name, Binding::Reg(PtxReg { ty, elements: made }))
}

/// The Ori register type that holds a value of a PTX type.
pub(crate) fn reg_type_of(ty: ScalarType) -> RegType {
    match ty.bits() {
        _ if ty == ScalarType::Pred => RegType::P,
        0..=32 => RegType::R,
        33..=64 => RegType::Pair,
        _ => RegType::Quad,
    }
}

// ---- looking up ----

/// What a name stands for in this function; `None` when it is no name of the function.
#[inline]
pub(crate) fn binding<'c>(cx: &'c mut FnLower<'_, '_>, name: Name) -> Lowered<Option<&'c Binding>> {
    if cx.scopes.known(name.sym).is_some() {
        return Ok(cx.scopes.known(name.sym));
    }
    search(cx, name)
}

/// The same for a name that is used for the first time in its scope.
fn search<'c>(cx: &'c mut FnLower<'_, '_>, name: Name) -> Lowered<Option<&'c Binding>> {
    let FnLower { scopes, func, ast, .. } = cx;
    let mut failed = None;
    let found = scopes.search(name.sym, &ast.symbols, |ty, vector| {
        let elements = (0..vector).filter_map(|_| func.new_vreg(reg_type_of(ty)).map_err(|e| failed = Some(e)).ok());
        PtxReg { ty, elements: elements.collect() }
    });
    match failed {
        Some(error) => Err(invalid(name.span, error.to_string())),
        None => Ok(found),
    }
}

/// The block of a label.
pub(crate) fn label(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<Block> {
    match binding(cx, name)? {
        Some(Binding::Label(block)) => Ok(*block),
        _ => Err(invalid(name.span, format!("there is no label '{}' here", cx.text(name)))),
    }
}

/// A call prototype of the body.
pub(crate) fn prototype<'a>(cx: &FnLower<'_, 'a>, index: usize) -> Option<&'a ast::Prototype> {
    cx.prototypes.get(index).copied()
}

/// The Ori register of a register operand (`%r1`, `%v.x`) and its declared type.
pub(crate) fn register(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<(VReg, ScalarType)> {
    let (name, element) = match operand {
        ast::Operand::Name(name) => (*name, 0),
        ast::Operand::Part(name, selector) => (*name, selector.element().unwrap_or(0)),
        other => return Err(invalid(other.span(), "a register is needed here")),
    };
    let Some(Binding::Reg(register)) = binding(cx, name)? else {
        return Err(invalid(name.span, format!("'{}' is not a register", cx.text(name))));
    };
    let reg = register.elements.get(element).copied();
    let ty = register.ty;
    let reg = reg.ok_or_else(|| invalid(operand.span(), "the register has no such element"))?;
    Ok((reg, ty))
}

/// The Ori register of a name and its declared type; `None` when it is not the name of a register.
pub(crate) fn named_register(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<Option<(VReg, ScalarType)>> {
    Ok(match binding(cx, name)? {
        Some(Binding::Reg(register)) => register.elements.first().map(|reg| (*reg, register.ty)),
        _ => None,
    })
}

/// Whether the name is that of a register.
pub(crate) fn is_register(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<bool> {
    Ok(matches!(binding(cx, name)?, Some(Binding::Reg(_))))
}

/// How many elements a vector register has; `None` for all other names.
pub(crate) fn vector_len(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<Option<usize>> {
    Ok(match binding(cx, name)? {
        Some(Binding::Reg(register)) if register.elements.len() > 1 => Some(register.elements.len()),
        _ => None,
    })
}

/// Bytes of an element of an array.
pub(crate) fn element_bytes(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<u32> {
    let key = match binding(cx, name)? {
        Some(Binding::Frame(variable)) => return Ok(variable.element),
        Some(Binding::Static(key)) => Some(*key),
        Some(_) => None,
        None => cx.module.global_variable(name.sym),
    };
    let key = key.ok_or_else(|| invalid(name.span, format!("'{}' is not an array", cx.text(name))))?;
    Ok(cx.module.variable(key).ty.bytes())
}

/// Name and byte offset of `table+8` or `table[2]`.
pub(crate) fn name_and_offset(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<(Name, i64)> {
    match operand {
        ast::Operand::Offset { name, offset, element } => {
            let scale = if *element { i64::from(element_bytes(cx, *name)?) } else { 1 };
            Ok((*name, offset.wrapping_mul(scale)))
        }
        ast::Operand::Name(name) => Ok((*name, 0)),
        other => Err(invalid(other.span(), "a variable is needed here")),
    }
}

/// The type of a register operand; `None` when it is no register.
pub(crate) fn declared_type(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Option<ScalarType>> {
    let name = match operand {
        ast::Operand::Name(name) | ast::Operand::Part(name, _) => *name,
        _ => return Ok(None),
    };
    Ok(match binding(cx, name)? {
        Some(Binding::Reg(register)) => Some(register.ty),
        _ => None,
    })
}

/// A register parameter or result of this function as an operand, written out if it is a vector.
pub(crate) fn register_operand(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<ast::Operand> {
    let len = vector_len(cx, name)?;
    Ok(ast::Operand::Name(name).with_vectors_spread(|_| len))
}
