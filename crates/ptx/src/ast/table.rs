//! Closed lists of names (opcodes, types, modifiers…), which `spec/*.grammar` has and the build script writes.
//!
//! [`name_table!`] turns a list of `Variant "text"` pairs into an enum with its
//! text and a constant list of all variants; [`NameIndex`] finds a name in a list.
//! None of it has addresses, which would have to be relocated when the program starts.

use super::hash::{bucket, hash, slot};

/// Makes an enum whose variants are names of the PTX language.
macro_rules! name_table {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($variant:ident $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u16)]
        $vis enum $name {
            $(#[doc = concat!("Written `", $text, "`.")] $variant,)+
        }

        impl $name {
            /// Every member, in the order of the table.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The PTX spelling, without a leading dot or percent sign.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                /// All spellings, one after the other.
                const TEXT: &str = concat!($($text),+);
                static ENDS: [u16; $name::ALL.len() + 1] = $crate::ast::table::ends([$($text),+]);
                let at = self as usize;
                &TEXT[usize::from(ENDS[at])..usize::from(ENDS[at + 1])]
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use name_table;

/// Where each of some texts ends when they stand one after the other; the first entry is 0.
pub(crate) const fn ends<const N: usize, const ENDS: usize>(texts: [&str; N]) -> [u16; ENDS] {
    let mut ends = [0; ENDS];
    let mut at = 0;
    while at < N {
        let end = ends[at] as usize + texts[at].len();
        assert!(end <= u16::MAX as usize, "the texts are too long together");
        ends[at + 1] = end as u16;
        at += 1;
    }
    ends
}

/// A perfect hash table that gives each name of a list its place there.
#[derive(Debug)]
pub(crate) struct NameIndex<const BUCKETS: usize, const SLOTS: usize> {
    /// By bucket: what moves its names to slots of their own.
    pub(crate) moves: [u8; BUCKETS],
    /// By slot: a place in the list.
    pub(crate) slots: [u16; SLOTS],
}

impl<const BUCKETS: usize, const SLOTS: usize> NameIndex<BUCKETS, SLOTS> {
    /// The place where `name` stands if it is in the list at all.
    pub(crate) fn place(&self, name: &str) -> usize {
        let hash = hash(name.as_bytes());
        usize::from(self.slots[slot(hash, self.moves[bucket(hash, BUCKETS)], SLOTS)])
    }
}
