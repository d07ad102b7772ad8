//! What the command says on standard error. A result may be there all the same where nobody can be told, so that what
//! cannot be written is let go.

use std::fmt::Display;
use std::io::Write;

/// Say a line.
pub(crate) fn say(line: impl Display) {
    say_text(&format!("{line}\n"));
}

/// Say text that brings its line ends along: in one piece, whoever else writes there.
pub(crate) fn say_text(text: &str) {
    say_bytes(text.as_bytes());
}

/// The same of what may be no text.
pub(crate) fn say_bytes(bytes: &[u8]) {
    let _ = std::io::stderr().lock().write_all(bytes);
}
