//! Typed indices of everything that a function or module holds.

use cranelift_entity::{EntityRef, SecondaryMap, entity_impl};

/// A basic block; printed `bix3`, the name that the dumps use.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u32);
entity_impl!(Block, "bix");

/// An instruction. The number is unique in its function and never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstId(u32);
entity_impl!(InstId, "inst");

/// A virtual register, of any register file and width.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VReg(u32);
entity_impl!(VReg, "v");

/// A 32-bit component of a virtual register, in the numbering of all components of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PieceId(u32);
entity_impl!(PieceId, "piece");

/// A function of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(u32);
entity_impl!(FuncId, "fn");

/// A named object of a module: a variable or a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(u32);
entity_impl!(Symbol, "sym");

/// An entry of a function's pool of symbol references (symbol, addend, part).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymRef(u32);
entity_impl!(SymRef, "ref");

/// A call site of a function: what a CALL or RET reads, writes and clobbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(u32);
entity_impl!(CallId, "call");

/// A source location of a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocId(u32);
entity_impl!(LocId, "loc");

/// A map with an entry for each of so many entities: one that starts empty grows with each new one that is written, and
/// `SecondaryMap::with_capacity` does, too.
pub fn entry_for_each<K: EntityRef, V: Clone + Default>(count: usize) -> SecondaryMap<K, V> {
    let mut map = SecondaryMap::new();
    map.resize(count);
    map
}
