//! Why an argument cannot be used.

use std::path::PathBuf;

/// Why an argument cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentError {
    /// The text is no argument.
    #[error("argument '{text}': {reason}")]
    Syntax {
        /// The argument as given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The number of arguments is not the kernel's number of parameters.
    #[error("the kernel takes {expected} arguments, {given} were given")]
    Count {
        /// Parameters of the kernel.
        expected: usize,
        /// Arguments given.
        given: usize,
    },
    /// An argument's size is not its parameter's.
    #[error("argument {index} has {given} bytes, the kernel's parameter {expected}")]
    Size {
        /// Position from 0.
        index: usize,
        /// Bytes of the parameter.
        expected: u32,
        /// Bytes of the argument.
        given: usize,
    },
    /// A file has more bytes than what it is for.
    #[error("'{}' has {given} bytes, which do not fit into {size}", path.display())]
    FileSize {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        given: u64,
        /// Bytes that there is room for.
        size: u64,
    },
    /// A `.npy` file cannot be used.
    #[error("'{}': {reason}", path.display())]
    Array {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A tensor map is not possible.
    #[error("argument {index}: {reason}")]
    TensorMap {
        /// Position from 0.
        index: usize,
        /// Why.
        reason: String,
    },
    /// A file cannot be read.
    #[error("cannot read '{}': {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
