//! Lines of constants that are asked for at a kernel's start.
//!
//! The first warps of a multiprocessor find the caches of constants empty. An operand `c[bank][offset]`, or a `ULDC`, whose line is
//! not there stops its warp until the line has come from the second-level cache, and the next line costs that anew. `LDC` stops
//! nobody until its result is read. So the lines that a kernel reads, but for those that it loads in its first block in any case, are
//! asked for ahead of all else by `LDC RZ`, and come side by side.

use oriole_isa::chip::CONSTANT_LINE;
use oriole_isa::{Mods, Opcode, Role};
use oriole_ori::{Block, Function, FunctionKind, Inst, Operand, OperandKind};
use rustc_hash::FxHashSet;

/// Bytes of a line.
const LINE: u32 = CONSTANT_LINE as u32;
/// Bytes that are loaded of it.
const WORD: u32 = 4;
/// A kernel of fewer instructions would be longer by much: where it runs often enough, each counts more than the first start.
const SHORT: usize = 32;

/// Asks for no more than `most` lines at the start of a kernel.
pub(crate) fn prefetch_constants(func: &mut Function, most: usize) {
    if most == 0 || func.kind() != FunctionKind::Entry || func.inst_count() < SHORT {
        return;
    }
    let Some(entry) = func.entry() else { return };
    let wanted = lines(func, entry, most);
    let loads: Vec<_> = wanted.into_iter().map(|(bank, offset)| func.edit().add(load(bank, offset))).collect();
    func.edit().place(entry, 0, &loads);
}

/// The first `most` lines that the function reads at places that are known, but for those that the entry loads: bank, and offset of a
/// word. Where the entry loads none, the first line is waited for whatever is done.
fn lines(func: &Function, entry: Block, most: usize) -> Vec<(u8, u32)> {
    let mut seen: FxHashSet<(u8, u32)> = FxHashSet::default();
    let (mut wanted, mut loads_early) = (Vec::new(), false);
    'function: for &block in func.layout() {
        for inst in func.block_insts(block) {
            let data = &func[*inst];
            let Some((bank, offset)) = constant(data).filter(|(bank, offset)| seen.insert((*bank, offset / LINE)))
            else {
                continue;
            };
            if block == entry && matches!(data.opcode, Opcode::LDC | Opcode::LDCU) {
                loads_early = true;
                continue;
            }
            wanted.push((bank, offset / WORD * WORD));
            if wanted.len() > most {
                break 'function;
            }
        }
    }
    if !loads_early {
        wanted.drain(..wanted.len().min(1));
    }
    wanted.truncate(most);
    wanted
}

/// The constant that an instruction reads at a place that is known.
fn constant(data: &Inst) -> Option<(u8, u32)> {
    let base = data.operand(Role::Base).map(Operand::kind);
    let is_indexed = matches!(base, Some(OperandKind::Reg(..) | OperandKind::Phys { .. }));
    data.operands.iter().filter(|_| !is_indexed).find_map(|operand| match operand.kind() {
        OperandKind::Const { bank, offset } => Some((bank, offset)),
        _ => None,
    })
}

/// `LDC RZ, c[bank][offset]`.
fn load(bank: u8, offset: u32) -> Inst {
    let mut load = Inst::neutral(Opcode::LDC, Mods::new());
    load.set_role(Role::D, Operand::rz());
    load.set_role(Role::Bank, Operand::cbank(bank, offset));
    load
}
