//! What is wrong with a bitcode file, and where.

/// Why bitcode could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}: bit {bit}{}{place}: {what}", if place.is_empty() { "" } else { ", " })]
pub struct Error {
    /// The file's name as the caller gave it.
    pub file: String,
    /// Where: bits from the start of the bitcode (behind the wrapper, if there is one).
    pub bit: u64,
    /// The block and record, such as `FUNCTION_BLOCK INST_LOAD`; empty when it is none.
    pub place: String,
    /// What is wrong or not supported.
    pub what: String,
}

/// Shorthand for the reader.
pub(super) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(super) fn new(bit: u64, what: impl Into<String>) -> Error {
        Error { file: String::new(), bit, place: String::new(), what: what.into() }
    }

    /// The same with the name of the file.
    pub(super) fn in_file(self, file: &str) -> Error {
        Error { file: file.to_owned(), ..self }
    }
}
