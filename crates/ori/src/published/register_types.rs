//! The published types of registers, the classes that allocate them, and the flags of their descriptors.

/// Number of the type, name of the file, number of the allocator's class. Source: the register model, "Register File
/// Type Enum".
pub const TYPES: [(u8, &str, Option<u8>); 11] = [
    (1, "R", Some(1)),
    (2, "R (alt)", Some(2)),
    (3, "UR", Some(3)),
    (4, "UR (ext)", Some(4)),
    (5, "P / UP", Some(5)),
    (6, "Tensor/Acc", Some(6)),
    (7, "P (alt)", None),
    (8, "--", None),
    (9, "B / UB", None),
    (10, "R2", None),
    (11, "R4", None),
];

/// Sub-classes that the published statistics name. Source: the register model, the paragraph on the stat collector.
pub const SUB_CLASSES: [&str; 10] = ["R", "P", "B", "UR", "UP", "UB", "Tensor/Acc", "SRZ", "PT", "RZ"];

/// Bit and meaning. Source: the register model, "Flag Bits at +48"; bits 20–21 are the pair mode.
pub const FLAGS: [(u32, &str); 9] = [
    (9, "Pre-assigned / fixed register"),
    (10, "Coalesced source"),
    (11, "Coalesced target"),
    (12, "Base flag (set for all types)"),
    (14, "Spill marker (already spilled)"),
    (18, "Needs-spill (allocator sets when over budget)"),
    (22, "Constrained to architecture limit"),
    (23, "Hi-half of pair (predicate half-width packing)"),
    (27, "Special handling flag"),
];

pub(super) fn section() -> String {
    let types = TYPES.map(|(number, name, class)| {
        let class = class.map_or("allocated apart".to_owned(), |class| format!("class {class}"));
        format!("{number:>2} {name:<11} {class}")
    });
    let flags = FLAGS.map(|(bit, meaning)| format!("flag {:#x}: {meaning}", 1u32 << bit));
    let named = [format!("sub-classes: {}", SUB_CLASSES.join(", "))];
    super::titled("Register types", types.into_iter().chain(named).chain(flags))
}
