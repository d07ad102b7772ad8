//! The published predicate operand of a hardware instruction.

/// Widths of its fields in bits. Source: the register model, "SASS Instruction Register Encoding".
pub const FIELDS: [(&str, u32); 3] = [("predicate type", 2), ("predicate condition", 3), ("value", 8)];
/// The byte that marks the true predicate PT. Source: the same paragraph.
pub const TRUE: u8 = 14;
/// Indices of the predicates that are never allocated. Source: the register model, "Packed Operand Format".
pub const ARCHITECTURAL: std::ops::RangeInclusive<u32> = 41..=44;

pub(super) fn section() -> String {
    let fields = FIELDS.map(|(name, bits)| format!("{name}: {bits} bits"));
    let (first, last) = (ARCHITECTURAL.start(), ARCHITECTURAL.end());
    let rest = [format!("PT: {TRUE}"), format!("architectural predicates, never allocated: {first}-{last}")];
    super::titled("Predicate operands", fields.into_iter().chain(rest))
}
