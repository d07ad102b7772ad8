//! How a compilation is ended early.

use crate::error::CompileError;
use crate::growth::Growth;
use crate::session::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What may end a compilation, from its start on.
pub(crate) struct Bounds {
    cancelled: Option<Arc<AtomicBool>>,
    pub(crate) limits: Limits,
    growth: Option<Growth>,
    start: Instant,
}

impl Bounds {
    /// From now on.
    pub(crate) fn new(cancelled: Option<Arc<AtomicBool>>, limits: Limits) -> Bounds {
        Bounds { cancelled, limits, growth: limits.memory.map(Growth::new), start: Instant::now() }
    }

    /// Nothing can end it.
    pub(crate) fn are_open(&self) -> bool {
        self.cancelled.is_none() && self.limits.time.is_none() && self.growth.is_none()
    }

    /// Why the compilation must not go on, if it must not.
    ///
    /// # Errors
    /// It was cancelled, its time is over, or the process has grown too much.
    pub(crate) fn poll(&self) -> Result<(), CompileError> {
        if self.cancelled.as_ref().is_some_and(|cancelled| cancelled.load(Ordering::Relaxed)) {
            return Err(CompileError::Cancelled);
        }
        if let Some(limit) = self.limits.time.filter(|limit| self.start.elapsed() >= *limit) {
            return Err(CompileError::Time(limit));
        }
        match self.growth.as_ref().and_then(Growth::exceeded) {
            Some(limit) => Err(CompileError::Memory(limit)),
            None => Ok(()),
        }
    }
}
