//! The PTX ABI: how values are passed in `.param` space.
//!
//! One `.param` for each parameter of the IR, in order. Source: "PTX Writer's Guide to
//! Interoperability", and what LLVM 19 and libNVVM print (halves are arrays of two bytes, as C++
//! has them; kernel parameters keep their size, others are widened to 32 bits).

use oriole_ptx::ast::ScalarType;

use crate::ir::{self, Attributes, Type, TypeId};
use crate::machine::ParamDecl;

/// The parameters and result of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// The parameters; that of a variadic function's further arguments (their address) comes last.
    pub params: Vec<ParamDecl>,
    /// The result, unless there is none.
    pub ret: Option<ParamDecl>,
}

/// The signature of a function or kernel. `aligns` are its entries in
/// [`ir::Annotations::aligns`].
#[must_use]
pub fn signature(ir: &ir::Module, function: &ir::Function, is_kernel: bool, aligns: &[(u32, u32)]) -> Signature {
    let noted = |slot: usize| aligns.iter().find(|(at, _)| *at as usize == slot).map_or(0, |(_, align)| *align);
    let params = function.params.iter().enumerate();
    let mut params: Vec<_> = params.map(|(at, p)| param(ir, p.ty, &p.attributes, is_kernel, noted(at + 1))).collect();
    if function.varargs {
        params.push(varargs(ir));
    }
    Signature { params, ret: result(ir, function.ret, &function.ret_attributes, noted(0)) }
}

/// One parameter. `noted` is its alignment in bytes by `!nvvm.annotations`, or 0.
#[must_use]
pub fn param(ir: &ir::Module, ty: TypeId, attributes: &Attributes, is_kernel: bool, noted: u32) -> ParamDecl {
    match attributes.by_val {
        Some(pointee) => {
            let natural = ir.layout.align(&ir.types, pointee).max(attributes.align);
            aggregate(ir, pointee, stated(attributes, noted).unwrap_or(natural), is_kernel)
        }
        None => value(ir, ty, attributes, is_kernel, noted),
    }
}

/// The result; `None` for `void`.
#[must_use]
pub fn result(ir: &ir::Module, ty: TypeId, attributes: &Attributes, noted: u32) -> Option<ParamDecl> {
    (ty != TypeId::VOID).then(|| value(ir, ty, attributes, false, noted))
}

/// The parameter of a variadic function that holds the address of the further arguments.
#[must_use]
pub fn varargs(ir: &ir::Module) -> ParamDecl {
    ParamDecl::scalar(unsigned_or_bits(ir.layout.default_pointer_bits, false))
}

fn value(ir: &ir::Module, ty: TypeId, attributes: &Attributes, is_kernel: bool, noted: u32) -> ParamDecl {
    match ir.types[ty] {
        Type::Int(bits @ 0..=64) => ParamDecl::scalar(unsigned_or_bits(bits, is_kernel)),
        Type::Pointer(space) => ParamDecl::scalar(unsigned_or_bits(ir.layout.pointer_bits(space), is_kernel)),
        Type::Float => ParamDecl::scalar(if is_kernel { ScalarType::F32 } else { ScalarType::B32 }),
        Type::Double => ParamDecl::scalar(if is_kernel { ScalarType::F64 } else { ScalarType::B64 }),
        _ => {
            let align = stated(attributes, noted).unwrap_or_else(|| ir.layout.align(&ir.types, ty));
            aggregate(ir, ty, align, is_kernel)
        }
    }
}

/// The alignment that the module asks for.
fn stated(attributes: &Attributes, noted: u32) -> Option<u32> {
    [attributes.stack_align, noted].into_iter().find(|&align| align > 0)
}

/// The greatest alignment that PTX has for parameters and results of functions; kernels have none.
const MAX_ALIGN: u32 = 128;

/// An array of bytes. PTX has no empty ones: what has no size takes one byte. Vectors of odd integers take more than in
/// memory; LLVM 19 has no way to pass them.
fn aggregate(ir: &ir::Module, ty: TypeId, align: u32, is_kernel: bool) -> ParamDecl {
    let spread = crate::select::spread_size(&ir.types, &ir.layout, ty).unwrap_or(0);
    let align = if is_kernel { align } else { align.min(MAX_ALIGN) };
    ParamDecl::aggregate(ir.layout.size(&ir.types, ty).max(spread).max(1), align.next_power_of_two())
}

fn unsigned_or_bits(bits: u32, is_kernel: bool) -> ScalarType {
    match (is_kernel, bits) {
        (true, 0..=8) => ScalarType::U8,
        (true, 9..=16) => ScalarType::U16,
        (true, 17..=32) => ScalarType::U32,
        (true, _) => ScalarType::U64,
        (false, 0..=32) => ScalarType::B32,
        (false, _) => ScalarType::B64,
    }
}
