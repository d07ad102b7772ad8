//! Arguments, and whether they fit the kernel's parameters.

use super::buffer::{Direction, HostBuffer};
use super::fault::LaunchError;
use oriole_codegen::Meaning;
use oriole_device::argument::Slot;
use oriole_ptx::ast::ScalarType;

/// A number of the host that can be a kernel's parameter.
pub trait Scalar: private::Number {}

/// Nobody else says what the bits of a number mean.
mod private {
    /// A number with its bytes.
    pub trait Number: Copy {
        /// Name of the type.
        const NAME: &'static str;
        /// Whether it is a float.
        const IS_FLOAT: bool;
        /// Its bytes, the lowest first.
        fn bytes(self) -> Vec<u8>;
    }
}

pub(super) use private::Number;

macro_rules! scalars {
    ($($name:ident is_float $is_float:literal;)*) => {$(
        impl Scalar for $name {}

        impl Number for $name {
            const NAME: &'static str = stringify!($name);
            const IS_FLOAT: bool = $is_float;

            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}

scalars! {
    u8 is_float false;
    i8 is_float false;
    u16 is_float false;
    i16 is_float false;
    u32 is_float false;
    i32 is_float false;
    u64 is_float false;
    i64 is_float false;
    f32 is_float true;
    f64 is_float true;
}

/// An address within an aggregate: the byte `offset` of the memory of that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inner {
    /// Where its eight bytes lie in the aggregate.
    pub at: usize,
    /// Number of the memory ([`super::KernelLaunch::memory`]).
    pub memory: usize,
    /// Bytes from the memory's first.
    pub offset: u64,
}

/// One argument.
pub(super) struct Argument<'a> {
    pub(super) meaning: Meaning<'static>,
    /// What messages call its type.
    pub(super) name: String,
    pub(super) value: Value<'a>,
}

/// Where the bytes of an argument come from and go.
pub(super) enum Value<'a> {
    Bytes(Vec<u8>),
    /// Bytes, with addresses in some of their places.
    Aggregate {
        bytes: Vec<u8>,
        pointers: Vec<Inner>,
    },
    Buffer(Box<dyn HostBuffer + 'a>, Direction),
    /// The address that the argument at this position got.
    Again(usize),
    /// The address of a byte of the memory of that number.
    Pointer {
        memory: usize,
        offset: u64,
    },
}

impl Argument<'_> {
    fn size(&self) -> usize {
        match &self.value {
            Value::Bytes(bytes) | Value::Aggregate { bytes, .. } => bytes.len(),
            Value::Buffer(..) | Value::Again(_) | Value::Pointer { .. } => size_of::<u64>(),
        }
    }

    /// Whether it can be the parameter at that place, of that type where one is known.
    pub(super) fn check(&self, index: usize, slot: Slot, ty: Option<ScalarType>) -> Result<(), LaunchError> {
        if let Some(ty) = ty.filter(|ty| !self.meaning.suits(*ty)) {
            let expected = ty.as_str().to_owned();
            return Err(LaunchError::ArgumentType { index, expected, given: self.name.clone() });
        }
        if self.size() != slot.size as usize {
            return Err(LaunchError::ArgumentSize { index, expected: slot.size as usize, given: self.size() });
        }
        Ok(())
    }
}
