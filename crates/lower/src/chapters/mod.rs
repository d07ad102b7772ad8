//! One file per chapter of the PTX manual's instruction set; each brings a table of the opcodes that
//! it lowers.

mod addresses;
mod alu;
mod arithmetic;
mod asynchronous;
mod atomics;
mod barriers;
mod bits;
mod calls;
mod comparison;
mod control;
mod convert;
mod convert_packed;
mod division;
mod extended;
mod float32;
mod float64;
mod half;
mod integer;
mod integer_division;
mod logic;
mod memory;
mod misc;
mod moves;
mod multimem;
mod single_pair;
mod special;
mod stack;
mod surface;
mod tensor;
mod texture;
mod turns;
mod video;
mod warp;
mod wide;

pub(crate) use stack::moves_stack;

use crate::error::{Lowered, unsupported};
use crate::function::FnLower;
use oriole_ptx::ast::{Instruction, Opcode};

/// Lowers one instruction.
pub(crate) type Handler = fn(&mut FnLower<'_, '_>, &Instruction) -> Lowered;

/// The opcodes of one chapter.
pub(crate) type Chapter = &'static [(Opcode, Handler)];

/// Every chapter; an opcode stands in one of them.
const CHAPTERS: [Chapter; 23] = [
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
    misc::CHAPTER,
    moves::CHAPTER,
    multimem::CHAPTER,
    special::CHAPTER,
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

/// The error of a form that a chapter does not lower: names the opcode with its modifiers.
pub(crate) fn unknown(cx: &FnLower<'_, '_>, instruction: &Instruction) -> crate::error::LowerError {
    unsupported(instruction.opcode_span, format!("the instruction '{}'", spelled(cx, instruction)))
}

/// The opcode with its modifiers, as written.
fn spelled(cx: &FnLower<'_, '_>, instruction: &Instruction) -> String {
    let mut text = instruction.opcode.as_str().to_owned();
    for modifier in &instruction.modifiers {
        // Writing to a String cannot fail.
        let _ = modifier.write(&cx.ast.symbols, &mut text);
    }
    text
}
