//! Machine level: PTX instructions on virtual registers of the nine classes.
//!
//! | file | what it holds |
//! |---|---|
//! | [`class`] | the class table: tags, types, prefixes, copy opcodes |
//! | [`reg`] | registers and their 32-bit encoding |
//! | [`form`] | opcodes with their modifiers, interned, and what they do to memory |
//! | [`inst`] | operands, instructions, calls, inline assembly |
//! | [`function`] | blocks with `phi`s and terminators, frame, functions |
//! | [`module`] | functions with the names and forms that they share |
//! | [`passes`] | passes on functions, from verification to block layout |
//! | [`dump`] | the text that `--dump-machine` prints |

pub mod class;
pub mod dump;
pub mod form;
pub mod function;
pub mod inst;
pub mod module;
pub mod passes;
pub mod reg;

pub use class::RegClass;
pub use form::{Effects, Form, FormId, Forms};
pub use function::{Block, BlockId, Frame, Function, Phi, Terminator};
pub use inst::{Address, Asm, AsmId, AsmPiece, Base, Call, CallId, Inst, Opcode, Operand, ParamDecl, ParamMove};
pub use module::Module;
pub use reg::{PhysReg, Reg, VReg};
