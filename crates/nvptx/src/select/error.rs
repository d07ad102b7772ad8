//! What the back end does not take.

use crate::ir;

/// Something that the back end does not take.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{what} are not supported{}", self.place(), self.text())]
pub struct Error {
    /// What it is, in the plural.
    pub what: String,
    /// The function in which it stands.
    pub function: Option<String>,
    /// The instruction.
    pub inst: Option<ir::InstId>,
    /// The instruction as text.
    pub text: Option<String>,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Error {
        Error { what: what.into(), function: None, inst: None, text: None }
    }

    fn place(&self) -> String {
        self.function.as_ref().map_or_else(String::new, |name| format!("in `@{name}`: "))
    }

    fn text(&self) -> String {
        self.text.as_ref().map_or_else(String::new, |text| format!(": `{text}`"))
    }
}
