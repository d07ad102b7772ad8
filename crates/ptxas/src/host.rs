//! Who calls, what the caller does for ptxas's interface, and what went wrong.

use crate::messages::Message;

/// Who calls: what the same options mean depends on it where files and standard streams come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A command line ([`Asked::read`](crate::Asked::read)).
    Command,
    /// A program ([`Request::read`](crate::Request::read)).
    Library,
}

/// What the caller does.
pub trait Host {
    /// Takes a message, in the order in which ptxas has them.
    fn say(&mut self, message: Message);

    /// The text of an options file; `None` where it cannot be read.
    fn options_file(&mut self, _name: &str) -> Option<String> {
        None
    }

    /// The bytes of the file of `--nv-host`; `None` where it cannot be read.
    fn host_file(&mut self, _name: &str) -> Option<Vec<u8>> {
        None
    }
}

/// What went wrong. Why was said by messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The arguments.
    #[error("the arguments are wrong")]
    Arguments,
    /// A module is of a version of PTX that there is not.
    #[error("the version of PTX is not known")]
    Version,
    /// A module, or it cannot be compiled as the arguments ask for.
    #[error("the module cannot be compiled")]
    Module,
    /// The caller ended it.
    #[error("the compilation was cancelled")]
    Cancelled,
    /// It took longer than the caller allows.
    #[error("the compilation takes too long")]
    Time,
    /// It took more memory than the caller allows.
    #[error("the compilation takes too much memory")]
    Memory,
    /// A fault of Oriole itself.
    #[error("the compiler is at fault")]
    Internal,
}
