//! All tests of the lowering from outside, in one program: one is linked sooner than many, and takes less room.

mod arithmetic_forms;
mod asynchronous;
mod blackwell;
mod chapters;
mod forms;
mod kernels;
mod library;
mod library_model;
mod modifiers;
mod multiplier;
mod statements;
mod tensor;
