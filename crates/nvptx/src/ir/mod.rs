//! LLVM IR in memory.
//!
//! Everything is held in dense arrays with typed indices. Types and constants
//! are interned in the [`Module`], so that equal ones have equal ids; local
//! values, instructions and blocks belong to a function [`Body`].
//!
//! Pointers are opaque, as in LLVM since version 15. Readers of older text
//! drop what a pointer points to, after they have used it for `byval` and
//! `sret` attributes without a type of their own.
//!
//! There are no use lists: a pass that needs uses counts them, and replaces
//! values by a map that is applied once ([`Body::replace_values`]).

/// Makes an enum whose variants have the spelling of LLVM text.
macro_rules! spelled {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum $name { $(#[doc = concat!("`", $text, "`")] $(#[$doc])* $variant),+ }

        impl $name {
            /// Every member.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The spelling in LLVM text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }

            /// The member that LLVM text spells `text`.
            #[must_use]
            pub fn from_name(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$variant),)+ _ => None }
            }
        }
    };
}

mod annotations;
mod attributes;
mod body;
mod constant;
mod float_mode;
mod ids;
mod inst;
mod layout;
mod linkage;
mod metadata;
mod module;
mod ops;
mod types;
mod verify;

pub use annotations::{Annotations, HandleKind, KernelInfo};
pub use attributes::{Attributes, FnFlags, MemoryEffects, ParamFlags};
pub use body::{Block, Body, ValueDef};
pub use constant::{ConstExpr, Constant, Constants};
pub(crate) use float_mode::SUBNORMALS;
pub use float_mode::Subnormals;
pub use ids::{BlockId, ConstId, InstId, MetaId, SymbolId, Value, ValueId};
pub use inst::{Call, Callee, HARMLESS_BUNDLES, InlineAsm, Inst, Op, Tail, is_annotation};
pub use layout::DataLayout;
pub use linkage::{CallingConvention, Linkage, Visibility};
pub use metadata::{Attachment, Meta, MetaField, Metadata};
pub use module::{Alias, Function, Module, Param, Symbol, SymbolKind, Variable};
pub use ops::{BinaryOp, CastOp, FloatPredicate, GepFlags, InstFlags, IntPredicate, Ordering, RmwOp, SyncScope};
pub use types::{AddressSpace, Type, TypeId, Types};
pub(crate) use verify::byte_cast;
pub use verify::{VerifyError, cast_takes, verify, verify_body};
