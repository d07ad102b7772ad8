//! Memory of Python's objects, read and written without Python's lock.
//!
//! All unsafe code of the package that touches memory is here. Other Python threads may write to the memory meanwhile, as they may while numpy
//! copies it: so there is no slice of it, and bytes are copied from and to addresses alone.
#![expect(unsafe_code, reason = "memory is known by its address: the stable ABI of Python 3.9 has no buffers")]

use pyo3::prelude::*;
use std::collections::TryReserveError;

/// Memory of one or several objects that Python's half of the package (`_held.py`) holds for the time of a launch: until then
/// nobody frees it or moves it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct HostMemory {
    /// What faults call it.
    pub(crate) name: String,
    address: usize,
    size: usize,
    /// The parts that may be written: where each begins and ends, in bytes; ascending and apart.
    writeable: Vec<(usize, usize)>,
}

impl HostMemory {
    /// What is in it.
    ///
    /// # Errors
    /// There is not so much memory for a copy.
    pub(crate) fn read(&self) -> Result<Vec<u8>, TryReserveError> {
        let mut contents = Vec::new();
        contents.try_reserve_exact(self.size)?;
        contents.resize(self.size, 0);
        self.copy_from(0, &mut contents);
        Ok(contents)
    }

    /// A copy of its contents, if there are parts that may not be written; else none of them.
    ///
    /// # Errors
    /// There is not so much memory.
    pub(crate) fn kept(&self, contents: &[u8]) -> Result<Vec<u8>, TryReserveError> {
        let mut kept = Vec::new();
        if self.read_only_parts().next().is_some() {
            kept.try_reserve_exact(contents.len())?;
            kept.extend_from_slice(contents);
        }
        Ok(kept)
    }

    /// The first byte that differs from what was kept, among those that may not be written.
    pub(crate) fn first_change(&self, kept: &[u8], after: &[u8]) -> Option<usize> {
        let (start, end) = self.read_only_parts().find(|&(start, end)| kept[start..end] != after[start..end])?;
        (start..end).find(|&at| kept[at] != after[at])
    }

    /// Where each of the parts begins and ends that may not be written.
    fn read_only_parts(&self) -> impl Iterator<Item = (usize, usize)> {
        let (starts, ends) = self.writeable.iter().copied().unzip::<_, _, Vec<_>, Vec<_>>();
        let parts = std::iter::once(0).chain(ends).zip(starts.into_iter().chain([self.size]));
        parts.filter(|(start, end)| start < end)
    }

    /// Writes what is in `contents`, as many bytes as it has, into the parts that may be written.
    pub(crate) fn write(&self, contents: &[u8]) {
        for &(start, end) in &self.writeable {
            self.copy_to(start, &contents[start..end]);
        }
    }

    fn copy_from(&self, start: usize, to: &mut [u8]) {
        assert!(start + to.len() <= self.size, "a part of the memory");
        let from = std::ptr::with_exposed_provenance::<u8>(self.address + start);
        // SAFETY: `start` and the length lie inside of memory that is held; what is copied to is no Python object's.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
    }

    fn copy_to(&self, start: usize, from: &[u8]) {
        assert!(start + from.len() <= self.size, "a part of the memory");
        let to = std::ptr::with_exposed_provenance_mut::<u8>(self.address + start);
        // SAFETY: as above, and Python says of this part that it may be written.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}
