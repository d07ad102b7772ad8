//! The notes of a cubin about the tool that made it and about the target: what the writer writes and the driver looks for.

/// A note: a section of its own, known by its name and by the type of the one note in it.
#[derive(Clone, Copy)]
pub(crate) struct Note {
    /// Name of the section.
    pub(crate) section: &'static str,
    /// Type of the note.
    pub(crate) kind: u32,
}

/// The note about the tool, as ptxas 12 and 13 name it.
pub(crate) const TKINFO: Note = Note { section: ".note.nv.tkinfo", kind: 2000 };

/// Layout version of the note about the tool since a note about the target stands beside it: ptxas 12.9's files do without.
pub(crate) const TKINFO_VERSION: u32 = 2;

/// The note about the target.
pub(crate) const CUINFO: Note = Note { section: ".note.nv.cuinfo", kind: 1000 };
