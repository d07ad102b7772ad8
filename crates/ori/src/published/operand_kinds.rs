//! The ten kinds of operand that the published allocator's verifier tells apart.

/// Number and name. Source: the document on ptxas's IR, "Operand Kinds".
pub const KINDS: [(u8, &str); 10] = [
    (1, "R/UR register"),
    (2, "P/UP register"),
    (3, "Any register"),
    (4, "Offset"),
    (5, "Regular"),
    (6, "Predicated"),
    (7, "Remat"),
    (8, "Spill-refill"),
    (9, "R2P / P2R"),
    (10, "Bit-spill"),
];

pub(super) fn section() -> String {
    super::titled("Operand kinds", KINDS.map(|(number, name)| format!("{number:>2} {name}")))
}
