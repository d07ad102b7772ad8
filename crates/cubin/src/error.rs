//! What can go wrong when a cubin is read or written.

/// Why a cubin could not be read. Offsets are bytes from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CubinError {
    /// The bytes are not a 64-bit little-endian ELF file, or its tables do not hold together.
    #[error("not a readable ELF file: {0}")]
    Elf(String),
    /// An ELF file, but for another machine.
    #[error("ELF machine {machine} is not CUDA (190)")]
    NotCuda {
        /// `e_machine` of the file.
        machine: u16,
    },
    /// A structure inside the file is malformed.
    #[error("offset {offset:#x}: {what}")]
    Malformed {
        /// Where the structure starts in the file.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A relocation cannot be applied.
    #[error("relocation at offset {offset:#x} of section `{section}`: {what}")]
    Relocation {
        /// Name of the section that is patched.
        section: String,
        /// Byte offset of the patched place in that section.
        offset: u64,
        /// What is wrong with it.
        what: String,
    },
}

/// Why a description could not be written as a cubin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// No row for this SM in the writer's target table.
    #[error("no cubin layout is known for {0}")]
    UnknownTarget(String),
    /// Two functions or variables have the same name.
    #[error("symbol `{0}` is defined twice")]
    DuplicateSymbol(String),
    /// A relocation or call names something that is neither defined nor declared external.
    #[error("symbol `{name}`, used by `{user}`, is not declared")]
    UndefinedSymbol {
        /// The missing symbol.
        name: String,
        /// The function or variable that uses it.
        user: String,
    },
    /// A number is out of the range that the format can hold.
    #[error("`{owner}`: {what}")]
    OutOfRange {
        /// The function or variable concerned.
        owner: String,
        /// What does not fit.
        what: String,
    },
    /// The ELF library refused the layout.
    #[error("ELF: {0}")]
    Elf(String),
}
