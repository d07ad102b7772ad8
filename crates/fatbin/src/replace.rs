//! Fatbinaries in the place of others.

use crate::container::Form;
use std::ops::Range;

/// A fatbinary is too large for the place of the one that it is to replace in a host file, where the linker has put something behind it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("offset {:#x}: the new fatbinary has {needed} bytes, its place has {}", place.start, place.len())]
pub struct NoRoom {
    /// Where the old one is in the file.
    pub place: Range<usize>,
    /// Bytes of the new one.
    pub needed: usize,
}

/// A file with fatbinaries replaced, which are at these places, in order. In host files and archives all else stays where it is, and
/// what is left of a place becomes zeros, over which drivers and cuobjdump go; a file of fatbinaries becomes as long as they are.
///
/// # Errors
/// The first that has no room.
pub fn replace(bytes: &[u8], form: Form, new: &[(Range<usize>, Vec<u8>)]) -> Result<Vec<u8>, NoRoom> {
    if form == Form::Fatbinary {
        return Ok(new.iter().flat_map(|(_, fatbinary)| fatbinary).copied().collect());
    }
    let mut out = bytes.to_vec();
    for (place, fatbinary) in new {
        let no_room = || NoRoom { place: place.clone(), needed: fatbinary.len() };
        let room = out.get_mut(place.clone()).filter(|room| room.len() >= fatbinary.len()).ok_or_else(no_room)?;
        let (filled, left) = room.split_at_mut(fatbinary.len());
        filled.copy_from_slice(fatbinary);
        left.fill(0);
    }
    Ok(out)
}
