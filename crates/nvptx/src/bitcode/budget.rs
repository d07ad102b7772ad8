//! Bounds what small records unpack to.

use std::cell::Cell;

use super::error::Result;
use super::stream::Record;

/// Bytes that may still be copied out of tables.
///
/// A record of a few bits may name a long string, an attribute list or a function type of thousands of parameters,
/// and each symbol or call gets a copy. Real files stay below their own length; a file made to fill the memory is
/// refused.
#[derive(Clone, Debug)]
pub(super) struct Budget(Cell<u64>);

impl Budget {
    /// The budget of a file of `len` bytes.
    pub(super) fn new(len: usize) -> Budget {
        Budget(Cell::new((len as u64).saturating_mul(64).saturating_add(1 << 20)))
    }

    /// Takes `bytes` that `record` asks for.
    pub(super) fn spend(&self, bytes: usize, record: &Record) -> Result<()> {
        match self.0.get().checked_sub(bytes as u64) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => Err(record.fault("the file unpacks to more than 64 times its length")),
        }
    }
}
