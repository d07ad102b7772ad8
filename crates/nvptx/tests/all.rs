//! All tests of LLVM IR and its way to PTX from outside, in one program: one is linked sooner than many, and takes less room.

mod bitcode;
mod canonical;
#[path = "emit/main.rs"]
mod emit;
mod link;
#[path = "machine_passes/main.rs"]
mod machine_passes;
#[path = "nvvm/main.rs"]
mod nvvm;
mod opt;
mod opt_random;
mod opt_rules;
mod register_classes;
#[path = "runtime/main.rs"]
mod runtime;
#[path = "select/main.rs"]
mod select;
mod small_integers;
#[path = "text/main.rs"]
mod text;
