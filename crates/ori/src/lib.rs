//! Ori, Oriole's SASS-level intermediate representation.
