//! The published register field of a hardware instruction: bit 0 says that there is a register, bits 1–4 have the file's
//! code, bits 5–14 the number.

/// Tag of the operand, code of the file, name. Source: the register model, "SASS Instruction Register Encoding".
pub const FILES: [(u8, u8, &str); 12] = [
    (1, 0, "R (32-bit)"),
    (2, 1, "R pair (64-bit)"),
    (3, 2, "UR (uniform 32-bit)"),
    (4, 3, "UR pair (uniform 64-bit)"),
    (5, 4, "P (predicate)"),
    (6, 5, "(reserved)"),
    (7, 6, "(reserved)"),
    (8, 7, "B (barrier)"),
    (16, 8, "(extended)"),
    (32, 9, "(extended)"),
    (64, 10, "(extended pair)"),
    (128, 11, "(extended quad)"),
];

/// The field for register `number` with an operand tag; `None` for a tag that is not in the table, or more than ten bits.
pub fn field(tag: u8, number: u16) -> Option<u16> {
    let (_, code, _) = FILES.iter().find(|(t, ..)| *t == tag)?;
    (number < 1 << 10).then_some(1 | u16::from(*code) << 1 | number << 5)
}

/// The hardware's number of a register of a class. Source: the register model, "Register-Class-to-Hardware Encoding".
pub fn hardware_number(class: u32, index: u32) -> u32 {
    class * 32 + index
}

/// Where the number's bits go in the third word of an instruction: to 9–13 and to 26–28. Source: the same section.
pub fn spread(number: u32) -> u32 {
    (number << 9) & 0x3e00 | (number << 21) & 0x1c00_0000
}

pub(super) fn section() -> String {
    let line = |(tag, code, name): (u8, u8, &str)| {
        let first = field(tag, 0).unwrap_or_default();
        format!("tag {tag:>3}: code {code:>2}, field {first:#06x} + 32 * number, {name}")
    };
    let numbers = [0, 1, 2].map(|class| {
        let number = hardware_number(class, 1);
        format!("class {class}, index 1: number {number}, in the instruction {:#010x}", spread(number))
    });
    super::titled("Register fields", FILES.map(line).into_iter().chain(numbers))
}
