//! Kinds of scalar types.

/// What the bits of a [`ScalarType`](super::ScalarType) mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TypeClass {
    /// `.pred`
    Predicate,
    /// `.uN`, and packed unsigned integers
    Unsigned,
    /// `.sN`, and packed signed integers
    Signed,
    /// `.bN`, and packed containers of untyped bits
    Bits,
    /// floating point of any format, packed or not
    Float,
    /// `.texref`, `.samplerref`, `.surfref`
    Opaque,
}
