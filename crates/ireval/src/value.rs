//! Values while a program runs.

use crate::fault::Fault;
use crate::format::Format;
use crate::int_bits::mask;
use oriole_nvptx::ir::{Module, Type, TypeId};

/// Elements that a vector, array or structure may have as a value.
const MAX_ELEMENTS: u64 = 1 << 16;

/// Why a value is not known. The later, the less may be done with it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Unknown {
    /// One value, but LLVM does not say which: what `freeze` makes of the others, the sign of `maxnum(-0, 0)`.
    Open,
    /// `undef`: another value at each use
    Undef,
    /// `poison`
    Poison,
}

/// The value of a type of LLVM IR.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// The bits of an integer, pointer or floating-point number; those above its width are 0.
    Bits(u128),
    /// A NaN of which neither the sign nor the payload is said.
    Nan,
    /// Not known.
    Unknown(Unknown),
    /// A vector, array or structure: always element by element, even when none is known.
    Many(Vec<Value>),
}

impl Value {
    pub(crate) const POISON: Value = Value::Unknown(Unknown::Poison);
    pub(crate) const OPEN: Value = Value::Unknown(Unknown::Open);

    /// `true` or `false` of type `i1`.
    pub(crate) fn bool(value: bool) -> Value {
        Value::Bits(u128::from(value))
    }

    /// The elements.
    pub(crate) fn elements(&self) -> Result<&[Value], Fault> {
        match self {
            Value::Many(elements) => Ok(elements),
            _ => Err(Fault::invalid("a scalar where a vector or aggregate belongs")),
        }
    }

    /// The bits that decide something: where a program goes, or what it touches.
    pub(crate) fn decides(&self, what: &str) -> Result<u128, Fault> {
        match self {
            Value::Bits(bits) => Ok(*bits),
            Value::Nan | Value::Unknown(Unknown::Open) => Err(Fault::open(what)),
            Value::Unknown(unknown) => Err(Fault::undefined(format!("{what} is {unknown:?}"))),
            Value::Many(_) => Err(Fault::invalid(format!("{what} is a vector or aggregate"))),
        }
    }

    /// The value with `f` applied to every scalar in it.
    pub(crate) fn map(&self, f: &mut impl FnMut(&Value) -> Result<Value, Fault>) -> Result<Value, Fault> {
        match self {
            Value::Many(elements) => {
                elements.iter().map(|element| element.map(f)).collect::<Result<_, _>>().map(Value::Many)
            }
            scalar => f(scalar),
        }
    }

    /// True when every scalar in it satisfies `f`.
    pub(crate) fn all(&self, f: &impl Fn(&Value) -> bool) -> bool {
        match self {
            Value::Many(elements) => elements.iter().all(|element| element.all(f)),
            scalar => f(scalar),
        }
    }

    /// True when no part is `undef` or `poison`: what `noundef` demands.
    pub(crate) fn is_well_defined(&self) -> bool {
        self.all(&|value| !matches!(value, Value::Unknown(Unknown::Undef | Unknown::Poison)))
    }
}

/// Applies an operation to scalars, or to vectors of one length element by element.
pub(crate) fn each<const N: usize>(
    operands: [&Value; N],
    f: &mut impl FnMut([&Value; N]) -> Result<Value, Fault>,
) -> Result<Value, Fault> {
    let vectors = operands.iter().filter(|operand| matches!(operand, Value::Many(_))).count();
    if vectors == 0 {
        return f(operands);
    }
    let lengths = operands.map(|operand| if let Value::Many(elements) = operand { elements.len() } else { usize::MAX });
    if vectors < N || lengths.iter().any(|&length| length != lengths[0]) {
        return Err(Fault::invalid("operands of different lengths"));
    }
    let lane = |at: usize| {
        operands.map(|operand| match operand {
            Value::Many(elements) => &elements[at],
            scalar => scalar,
        })
    };
    (0..lengths[0]).map(|at| f(lane(at))).collect::<Result<_, _>>().map(Value::Many)
}

/// The bits of the operands, or what the result is because one of them is not known.
pub(crate) fn bits<const N: usize>(operands: [&Value; N]) -> Result<[u128; N], Value> {
    let mut found = [0; N];
    let mut unknown = None;
    for (bits, operand) in found.iter_mut().zip(operands) {
        match operand {
            Value::Bits(value) => *bits = *value,
            Value::Unknown(why) => unknown = unknown.max(Some(*why)),
            // The payload of a NaN as an integer; elements are taken apart before.
            Value::Nan | Value::Many(_) => unknown = unknown.max(Some(Unknown::Open)),
        }
    }
    unknown.map_or(Ok(found), |why| Err(Value::Unknown(why)))
}

/// A value of type `ty` whose scalars are all `scalar`.
pub(crate) fn splat(module: &Module, ty: TypeId, scalar: &Value) -> Result<Value, Fault> {
    let count = module.types.element_count(ty);
    if count > MAX_ELEMENTS {
        return Err(Fault::unsupported(format!("a value of type {}", module.types.text(ty))));
    }
    match &module.types[ty] {
        Type::Vector(element, _) | Type::Array(element, _) => {
            Ok(Value::Many(vec![splat(module, *element, scalar)?; count as usize]))
        }
        Type::Struct { fields, .. } => {
            fields.iter().map(|&field| splat(module, field, scalar)).collect::<Result<_, _>>().map(Value::Many)
        }
        _ => Ok(scalar.clone()),
    }
}

/// The bits of a scalar type: its width, and its format if it is a floating-point number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Width {
    pub(crate) bits: u32,
    pub(crate) format: Option<Format>,
}

impl Width {
    /// That of an integer, pointer or floating-point number of at most 128 bits.
    pub(crate) fn of(module: &Module, ty: TypeId) -> Result<Width, Fault> {
        let format = Format::of(&module.types[ty]);
        let bits = match &module.types[ty] {
            Type::Int(bits @ 1..=128) => *bits,
            Type::Pointer(space) => module.layout.pointer_bits(*space),
            _ => match format {
                Some(format) => format.bits(),
                None => return Err(Fault::unsupported(format!("values of type {}", module.types.text(ty)))),
            },
        };
        Ok(Width { bits, format })
    }

    /// All ones.
    pub(crate) const fn mask(self) -> u128 {
        mask(self.bits)
    }
}

/// Lifts a function of bits: what is not known stays so.
pub(crate) fn known<const N: usize>(operands: [&Value; N], f: impl FnOnce([u128; N]) -> Value) -> Value {
    bits(operands).map_or_else(|unknown| unknown, f)
}
