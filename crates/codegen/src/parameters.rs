//! The types of kernels' parameters, and what values suit them.

use oriole_ptx::ast::{Module, ScalarType, TypeClass, Variable};
use std::collections::BTreeMap;

/// The type of a kernel parameter, as PTX declares it; `None` for aggregates, which have none.
pub type ParameterType = Option<ScalarType>;

/// By kernel: the types of its parameters in order, without the textures, samplers and surfaces, which have no place.
pub fn parameter_types(ast: &Module) -> BTreeMap<String, Vec<ParameterType>> {
    let has_place = |param: &&Variable| param.ty.class() != TypeClass::Opaque;
    let of = |param: &Variable| (param.dims.is_empty() && param.vector.is_none()).then_some(param.ty);
    let kernels = ast.functions().filter(|function| function.is_entry);
    kernels.map(|k| (ast.text(k.name).to_owned(), k.params.iter().filter(has_place).map(of).collect())).collect()
}

/// What the bits of a value mean that somebody gives for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// Only the giver knows.
    Bits,
    /// An integer or an address.
    Integer,
    /// A float of the format with this name in PTX.
    Float(&'a str),
}

impl Meaning<'_> {
    /// Whether such a value can be a parameter of that type, if the sizes are equal: bits suit everything, integers every
    /// integer, floats are of one format each.
    pub fn suits(self, ty: ScalarType) -> bool {
        match ty.class() {
            TypeClass::Float => self == Meaning::Bits || self == Meaning::Float(ty.as_str()),
            TypeClass::Signed | TypeClass::Unsigned => !matches!(self, Meaning::Float(_)),
            TypeClass::Bits | TypeClass::Predicate | TypeClass::Opaque => true,
        }
    }
}
