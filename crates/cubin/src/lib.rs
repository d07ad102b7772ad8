//! Cubin (ELF) reader and writer.
