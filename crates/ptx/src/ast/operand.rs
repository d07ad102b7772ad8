//! Operands of instructions.

use super::name::{Name, Span};
use super::types::Selector;
use super::vocabulary::SpecialReg;

/// A constant. Constant expressions (`(1 << 4) | 3`, `WARP_SZ`) are already
/// folded to their value, in 64 bits as the PTX manual says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Imm {
    /// A signed integer.
    S64(i64),
    /// An unsigned integer: written with a `U`, or too large for `i64`.
    U64(u64),
    /// The bits of an f32, written `0f3F800000`.
    F32(u32),
    /// The bits of an f64, written `0d3FF0000000000000` or `1.0`.
    F64(u64),
}

impl Imm {
    /// The 64 bits of an integer constant (sign-extended); `None` for floats.
    #[must_use]
    pub const fn int_bits(self) -> Option<u64> {
        match self {
            Imm::S64(value) => Some(value as u64),
            Imm::U64(value) => Some(value),
            Imm::F32(_) | Imm::F64(_) => None,
        }
    }

    /// The value as an f64, whatever the form of the constant.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Imm::S64(value) => value as f64,
            Imm::U64(value) => value as f64,
            Imm::F32(bits) => f64::from(f32::from_bits(bits)),
            Imm::F64(bits) => f64::from_bits(bits),
        }
    }

    /// The constant as the bits of an f32: `0f` constants as they are,
    /// everything else rounded to nearest even.
    #[must_use]
    pub fn to_f32_bits(self) -> u32 {
        match self {
            Imm::F32(bits) => bits,
            Imm::S64(value) => (value as f32).to_bits(),
            Imm::U64(value) => (value as f32).to_bits(),
            Imm::F64(bits) => (f64::from_bits(bits) as f32).to_bits(),
        }
    }

    /// The constant as the bits of an f64: `0d` constants as they are,
    /// everything else converted.
    #[must_use]
    pub fn to_f64_bits(self) -> u64 {
        match self {
            Imm::F64(bits) => bits,
            other => other.to_f64().to_bits(),
        }
    }
}

/// What an address is relative to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressBase {
    /// A register, variable, parameter or texture name.
    Name(Name),
    /// An element of a vector register: `[%v.x]`.
    Element(Name, Selector),
    /// An element of an array, written without brackets around it: `array[2]`, `array[%r1+2]`. The offset of
    /// the address counts elements, and the register's value is added to it.
    Item(Name, Option<Name>),
    /// None: `[8]` is an absolute address, all of it in the offset.
    Absolute,
}

/// A bracketed operand: `[base+offset]`, `[texture, sampler, {x, y}]`,
/// `[tensor_map, {x, y, z}]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// What the offset is added to.
    pub base: AddressBase,
    /// Constant offset in bytes; in elements for [`AddressBase::Item`].
    pub offset: i64,
    /// What follows the first comma, in order: a sampler name, a coordinate
    /// vector or a coordinate register.
    pub rest: Vec<Operand>,
    /// From `[` to `]`.
    pub span: Span,
}

/// One operand of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A register, variable, parameter, function or label name.
    Name(Name),
    /// A name with a constant offset: the address in `mov.u64 %rd1, table+8;`, the sum in
    /// `st.u32 [a], %r1+8;`; or an array element `table[2]`, where the offset counts elements.
    Offset {
        /// The variable, or the register.
        name: Name,
        /// Bytes (`+8`) or elements (`[2]`).
        offset: i64,
        /// True for the `table[2]` form.
        element: bool,
    },
    /// A part of a register: `%v.x`, or `%r1.b0`, `%r1.h1` in video instructions.
    Part(Name, Selector),
    /// A special register, with its component if one is written.
    Special {
        /// Which register.
        reg: SpecialReg,
        /// `.x`, `.y`, `.z`, `.w` of a vector special register.
        part: Option<Selector>,
        /// Where it stands.
        span: Span,
    },
    /// A constant.
    Imm(Imm, Span),
    /// `!%p`: the complement of a predicate.
    Not(Box<Operand>, Span),
    /// `-%r`: the negation of a register (`vmad`, `vadd`…).
    Neg(Box<Operand>, Span),
    /// `_`: a result that is thrown away, or an absent source.
    Sink(Span),
    /// `{a, b, c, d}`
    Vector(Box<[Operand]>, Span),
    /// `(a, b)`: results or arguments of a call.
    List(Box<[Operand]>, Span),
    /// `a|b`: two results.
    Pair(Box<[Operand; 2]>),
    /// `[…]`
    Address(Box<Address>),
}

impl Operand {
    /// The operand with vector registers that are named as a whole written out as their elements, as
    /// [`Instruction::with_vectors_spread`](super::Instruction::with_vectors_spread) has it.
    #[must_use]
    pub fn with_vectors_spread(mut self, mut len: impl FnMut(Name) -> Option<usize>) -> Operand {
        self.spread(&mut len);
        self
    }

    /// Writes vector registers that are named as a whole out as their elements: `{v.x, v.y}`.
    pub(super) fn spread(&mut self, len: &mut impl FnMut(Name) -> Option<usize>) {
        const ELEMENTS: [Selector; 4] = [Selector::X, Selector::Y, Selector::Z, Selector::W];
        match self {
            Operand::Name(name) => {
                if let Some(len) = len(*name) {
                    let parts = ELEMENTS.iter().take(len).map(|part| Operand::Part(*name, *part));
                    *self = Operand::Vector(parts.collect(), name.span);
                }
            }
            Operand::List(items, _) => items.iter_mut().for_each(|item| item.spread(len)),
            Operand::Pair(pair) => pair.iter_mut().for_each(|item| item.spread(len)),
            Operand::Address(address) => address.rest.iter_mut().for_each(|item| item.spread(len)),
            _ => {}
        }
    }

    /// Where the operand stands.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Operand::Name(name) | Operand::Offset { name, .. } | Operand::Part(name, _) => name.span,
            Operand::Special { span, .. }
            | Operand::Imm(_, span)
            | Operand::Not(_, span)
            | Operand::Neg(_, span)
            | Operand::Sink(span)
            | Operand::Vector(_, span)
            | Operand::List(_, span) => *span,
            Operand::Pair(pair) => pair[0].span().to(pair[1].span()),
            Operand::Address(address) => address.span,
        }
    }

    /// The name, when the operand is a bare name.
    #[must_use]
    pub fn name(&self) -> Option<Name> {
        match self {
            Operand::Name(name) => Some(*name),
            _ => None,
        }
    }

    /// The constant, when the operand is one.
    #[must_use]
    pub fn imm(&self) -> Option<Imm> {
        match self {
            Operand::Imm(imm, _) => Some(*imm),
            _ => None,
        }
    }

    /// The address, when the operand is bracketed.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        match self {
            Operand::Address(address) => Some(address),
            _ => None,
        }
    }

    /// The elements of `{…}` or `(…)`; a single other operand is its own list.
    #[must_use]
    pub fn elements(&self) -> &[Operand] {
        match self {
            Operand::Vector(items, _) | Operand::List(items, _) => items,
            other => std::slice::from_ref(other),
        }
    }

    /// What stands alone in braces; any other operand is itself.
    #[must_use]
    pub fn single(&self) -> &Operand {
        match self {
            Operand::Vector(items, _) if items.len() == 1 => &items[0],
            other => other,
        }
    }
}
