//! Lines of constants that are asked for at a kernel's start.
//!
//! The first warps of a multiprocessor find the caches of constants empty. An operand `c[bank][offset]`, or a `ULDC`, whose line is
//! not there stops its warp until the line has come from the second-level cache, and the next line costs that anew. `LDC` stops
//! nobody until its result is read. So the lines that a kernel reads, but for those that it loads in its first block in any case, are
//! asked for ahead of all else by `LDC RZ`, and come side by side.

use oriole_isa::chip::CONSTANT_LINE;
use oriole_isa::{Mods, Opcode, Role};
use oriole_ori::{Function, FunctionKind, Inst, Operand, OperandKind};

/// Bytes of a line.
const LINE: u32 = CONSTANT_LINE as u32;
/// Bytes that are loaded of it.
const WORD: u32 = 4;
/// A kernel of fewer instructions would be longer by much: where it runs often enough, each counts more than the first start.
const SHORT: usize = 32;

/// Who reads a line first.
#[derive(Clone, Copy, PartialEq)]
enum Reader {
    /// A load of the first block: it asks for the line early enough.
    EarlyLoad,
    /// A load of another block, for which its user waits.
    LateLoad,
    /// An instruction that stops its warp.
    Operand,
}

/// A line: its bank, and the word of it that is read first.
struct Line {
    bank: u8,
    offset: u32,
    reader: Reader,
}

/// Asks for no more than `most` lines at the start of a kernel.
pub(crate) fn prefetch_constants(func: &mut Function, most: usize) {
    if most == 0 || func.kind() != FunctionKind::Entry || func.inst_count() < SHORT {
        return;
    }
    let Some(entry) = func.layout().first().copied() else { return };
    let mut lines = lines(func, most + 1);
    // Where nothing is loaded, the first line is waited for whatever is done.
    if lines.iter().all(|line| line.reader != Reader::EarlyLoad) {
        lines.drain(..lines.len().min(1));
    }
    let wanted = lines.iter().filter(|line| line.reader != Reader::EarlyLoad).take(most);
    let loads: Vec<_> = wanted.map(|line| func.edit().add(load(line))).collect();
    func.edit().place(entry, 0, &loads);
}

/// The lines that the function reads at places that are known, in the order of its layout; no more than `most` of those that no
/// early load reads.
fn lines(func: &Function, most: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (place, block) in func.layout().iter().enumerate() {
        for inst in func.block_insts(*block) {
            let data = &func[*inst];
            let Some((bank, offset)) = constant(data) else { continue };
            if lines.iter().any(|line| line.bank == bank && line.offset / LINE == offset / LINE) {
                continue;
            }
            let reader = match data.opcode {
                Opcode::LDC | Opcode::LDCU if place == 0 => Reader::EarlyLoad,
                Opcode::LDC | Opcode::LDCU => Reader::LateLoad,
                _ => Reader::Operand,
            };
            lines.push(Line { bank, offset: offset / WORD * WORD, reader });
            if lines.iter().filter(|line| line.reader != Reader::EarlyLoad).count() == most {
                return lines;
            }
        }
    }
    lines
}

/// The constant that an instruction reads at a place that is known.
fn constant(data: &Inst) -> Option<(u8, u32)> {
    let base = data.opcode.position(Role::Base).map(|at| data.operands[at].kind());
    let is_indexed = matches!(base, Some(OperandKind::Reg(..) | OperandKind::Phys { .. }));
    data.operands.iter().filter(|_| !is_indexed).find_map(|operand| match operand.kind() {
        OperandKind::Const { bank, offset } => Some((bank, offset)),
        _ => None,
    })
}

/// `LDC RZ, c[bank][offset]`.
fn load(line: &Line) -> Inst {
    let mut load = Inst::neutral(Opcode::LDC, Mods::new());
    load.set_role(Role::D, Operand::rz());
    load.set_role(Role::Bank, Operand::cbank(line.bank, line.offset));
    load
}
