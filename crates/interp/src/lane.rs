//! One thread while it executes an instruction.

use crate::arith::Bits;
use crate::env::Env;
use crate::local_memory::LocalMemory;
use crate::memory;
use crate::operand::{Destination, Source};
use crate::space::{Data, Place};
use crate::state::State;
use oriole_device::{Access, FaultKind};

/// One thread while it executes an instruction.
pub(crate) struct Lane<'a, 'e> {
    /// Its lane in the warp.
    pub(crate) lane: usize,
    /// The warp.
    pub(crate) state: &'a mut State,
    /// What is outside of the warp.
    pub(crate) env: &'a mut Env<'e>,
}

impl Lane<'_, '_> {
    /// The value of a source.
    pub(crate) fn get(&self, source: &Source) -> Bits {
        self.state.get(source, self.lane)
    }

    /// Writes a result.
    pub(crate) fn set(&mut self, destination: &Destination, value: Bits) {
        self.state.set(destination, self.lane, value);
    }

    /// Loads `size` bytes (a power of two up to 32).
    pub(crate) fn load(&self, place: Place, size: u32) -> Result<Data, FaultKind> {
        memory::load(self.env, &self.state.local[self.lane], place, size)
    }

    /// Stores `size` bytes (a power of two up to 32).
    pub(crate) fn store(&mut self, place: Place, size: u32, data: Data) -> Result<(), FaultKind> {
        self.store_as(place, size, data, Access::Write)
    }

    /// Replaces `size` bytes (a power of two up to 32) by a function of them; gives what was there.
    pub(crate) fn update(&mut self, place: Place, size: u32, f: impl Fn(Data) -> Data) -> Result<Data, FaultKind> {
        let old = self.load(place, size).map_err(as_atomic)?;
        self.store_as(place, size, f(old), Access::Atomic)?;
        Ok(old)
    }

    fn store_as(&mut self, place: Place, size: u32, data: Data, access: Access) -> Result<(), FaultKind> {
        memory::store(self.env, &mut self.state.local[self.lane], place, size, data, access)
    }

    /// Local memory of the thread.
    pub(crate) fn local(&mut self) -> &mut LocalMemory {
        &mut self.state.local[self.lane]
    }
}

/// A fault of the reading half of an atomic operation.
fn as_atomic(kind: FaultKind) -> FaultKind {
    match kind {
        FaultKind::IllegalAddress { space, address, size, nearest, .. } => {
            FaultKind::IllegalAddress { space, access: Access::Atomic, address, size, nearest }
        }
        FaultKind::Misaligned { space, address, size, .. } => {
            FaultKind::Misaligned { space, access: Access::Atomic, address, size }
        }
        other => other,
    }
}
