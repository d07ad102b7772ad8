//! How work on a handle is ended by another thread.

use crate::handles::lock;
use oriole::CancelToken;
use std::sync::Mutex;

/// What ends the work of one handle. Nobody holds its lock for longer than it takes to look.
#[derive(Default)]
pub(crate) struct Cancel(Mutex<CancelToken>);

impl Cancel {
    /// For work that begins now.
    pub(crate) fn token(&self) -> CancelToken {
        lock(&self.0).clone()
    }

    /// Ends what is under way and what begins later.
    pub(crate) fn cancel(&self) {
        lock(&self.0).cancel();
    }

    /// What begins later goes on: it gets another token, as a token that was cancelled stays so.
    pub(crate) fn resume(&self) {
        *lock(&self.0) = CancelToken::new();
    }
}
