//! The table of opcodes: which chapter lowers which instruction.

use crate::chapters::{
    addresses, arithmetic, asynchronous, atomics, barriers, bits, cache_policy, calls, comparison, control, convert,
    execution, extended, logic, memory, moves, multimem, sparsity, stack, surface, tensor, texture, video, warp,
};
use crate::error::Lowered;
use crate::function::FnLower;
use crate::handler::{Chapter, Handler, unknown};
use oriole_ptx::ast::{Instruction, Opcode};

/// Every chapter; an opcode stands in one of them.
const CHAPTERS: [Chapter; 24] = [
    addresses::CHAPTER,
    arithmetic::CHAPTER,
    asynchronous::CHAPTER,
    atomics::CHAPTER,
    barriers::CHAPTER,
    bits::CHAPTER,
    calls::CHAPTER,
    comparison::CHAPTER,
    control::CHAPTER,
    convert::CHAPTER,
    extended::CHAPTER,
    logic::CHAPTER,
    memory::CHAPTER,
    execution::CHAPTER,
    cache_policy::CHAPTER,
    moves::CHAPTER,
    multimem::CHAPTER,
    sparsity::CHAPTER,
    stack::CHAPTER,
    surface::CHAPTER,
    tensor::CHAPTER,
    texture::CHAPTER,
    video::CHAPTER,
    warp::CHAPTER,
];

/// The handler of each opcode, by number.
static HANDLERS: [Option<Handler>; Opcode::ALL.len()] = handlers();

const fn handlers() -> [Option<Handler>; Opcode::ALL.len()] {
    let mut table = [None; Opcode::ALL.len()];
    let mut chapter = 0;
    while chapter < CHAPTERS.len() {
        let mut entry = 0;
        while entry < CHAPTERS[chapter].len() {
            let (opcode, handler): (Opcode, Handler) = CHAPTERS[chapter][entry];
            assert!(table[opcode as usize].is_none(), "an opcode stands in two chapters");
            table[opcode as usize] = Some(handler);
            entry += 1;
        }
        chapter += 1;
    }
    table
}

/// Lowers an instruction by its chapter, or says that it is not known.
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    match HANDLERS[instruction.opcode as usize] {
        Some(handler) => handler(cx, instruction),
        None => Err(unknown(cx, instruction)),
    }
}
