//! What is wrong with a file.

/// Why a file could not be read, or an image not be unpacked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("offset {offset:#x}: {reason}")]
pub struct FatbinError {
    /// Bytes from the start of the file to what is wrong.
    pub offset: usize,
    /// What is wrong.
    pub reason: Reason,
}

impl FatbinError {
    pub(crate) fn new(offset: usize, reason: Reason) -> FatbinError {
        FatbinError { offset, reason }
    }
}

/// What is wrong at an offset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The file ends inside a structure.
    #[error("the {what} needs {needed} bytes, of which {there} are there")]
    Short {
        /// The structure.
        what: &'static str,
        /// Bytes that it says it has.
        needed: u64,
        /// Bytes that there are.
        there: usize,
    },
    /// A field has a value that it cannot have.
    #[error("the {what} is {value}, which it cannot be")]
    Field {
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// The host file around it.
    #[error("the {form} cannot be read: {error}")]
    Host {
        /// What the file is.
        form: &'static str,
        /// What the reader of such files says.
        error: String,
    },
    /// Packed bytes do not unpack.
    #[error("the {method} data cannot be unpacked: {error}")]
    Packed {
        /// How they are packed.
        method: &'static str,
        /// What the unpacker says.
        error: String,
    },
    /// LTO code whose key only NVIDIA's linker has.
    #[error("the image is obfuscated")]
    Obfuscated,
}
