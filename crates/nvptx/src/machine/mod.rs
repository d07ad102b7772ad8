//! Machine instructions on virtual registers of nine classes.
