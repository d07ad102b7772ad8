//! LLVM assembly: reader and printer.
