//! Closed lists of names (opcodes, types, modifiers…) written once as data.
//!
//! [`name_table!`] turns a list of `Variant "text"` pairs into an enum with its
//! text and a constant list of all variants; [`NameIndex`] finds an entry by
//! its text in one probe of a hash table.

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
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
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

/// A read-only hash table from names to values, built once per process.
#[derive(Debug)]
pub(crate) struct NameIndex<T> {
    slots: Vec<Option<(&'static str, T)>>,
    mask: usize,
}

impl<T: Copy> NameIndex<T> {
    /// Builds the table; of two equal names the first one wins.
    pub(crate) fn new(entries: impl Iterator<Item = (&'static str, T)>) -> Self {
        let entries: Vec<_> = entries.collect();
        let size = (entries.len() * 4).next_power_of_two();
        let mut index = NameIndex { slots: vec![None; size], mask: size - 1 };
        for (name, value) in entries {
            let slot = index.probe(name);
            if index.slots[slot].is_none() {
                index.slots[slot] = Some((name, value));
            }
        }
        index
    }

    /// The value of `name`, if it is in the table.
    pub(crate) fn get(&self, name: &str) -> Option<T> {
        self.slots[self.probe(name)].map(|(_, value)| value)
    }

    /// The slot that holds `name`, or the free slot where it would go. The
    /// table is at most a quarter full, so a free slot always exists.
    fn probe(&self, name: &str) -> usize {
        let mut slot = hash(name.as_bytes()) as usize & self.mask;
        while let Some((held, _)) = &self.slots[slot] {
            if *held == name {
                break;
            }
            slot = (slot + 1) & self.mask;
        }
        slot
    }
}

/// Hash of a short name: eight bytes at a time, multiply and fold.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = (bytes.len() as u64).wrapping_mul(K);
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        state = mix(state ^ u64::from_le_bytes(*word));
        rest = tail;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(state ^ u64::from_le_bytes(last))
}

/// One multiply-and-fold round of [`hash`].
fn mix(value: u64) -> u64 {
    let wide = u128::from(value ^ 0xA076_1D64_78BD_642F) * u128::from(0xE703_7ED1_A0B4_28DBu64);
    (wide as u64) ^ ((wide >> 64) as u64)
}
