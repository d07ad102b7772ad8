//! LLVM bitcode: reader.
