//! The pair mode of a published register descriptor, bits 20–21 of its flags.

/// Name, value, how many registers it takes. Source: the register model, "Pair Modes and Coalescing".
pub const PAIR_MODES: [(&str, u8, u8); 3] = [("Single", 0, 1), ("Lo-half", 1, 1), ("Double-width", 3, 2)];

pub(super) fn section() -> String {
    let line = |(name, value, registers)| format!("{value} {name}: registers {registers}");
    super::titled("Pair modes", PAIR_MODES.map(line))
}
