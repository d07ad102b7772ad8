//! Calls by register whose callees the file lists.
//!
//! Where a kernel takes addresses of functions, ptxas numbers them: a pointer is an offset into constant bank 2 of
//! the kernel's section, where their places in the section stand, 8 bytes each (the first is 1, for the null pointer).
//! The code loads the place, `LDC.64 R12, c[0x2][R0]`, and calls it.

use crate::program::{LineId, Program};
use oriole_cubin::{Cubin, SectionKind};
use oriole_isa::{Inst, Opcode, RegFile, Role, Value};
use smallvec::SmallVec;

/// The bank of places of functions.
const BANK: u8 = 2;

/// The functions that the call `at` may reach; empty if the file does not tell. `starts` are the instructions, in
/// order, that control may come to from elsewhere than the one before.
pub(crate) fn callees(program: &Program, cubin: &Cubin, starts: &[LineId], at: LineId) -> SmallVec<[LineId; 1]> {
    if comes_from_bank(program, starts, at) { functions_in_bank(program, cubin, starts, at) } else { SmallVec::new() }
}

/// On the only way to the call its register is loaded from the bank and, at most, copied. That its upper half comes
/// from the same load is taken for granted.
fn comes_from_bank(program: &Program, starts: &[LineId], call: LineId) -> bool {
    let register = |line: LineId, role| match operand(&program.lines[line as usize].inst, role) {
        Some(Value::Reg(RegFile::R, number)) => Some(number),
        _ => None,
    };
    let Some(mut wanted) = register(call, Role::Base) else { return false };
    let mut at = call;
    while starts.binary_search(&at).is_err() && at > 0 {
        at -= 1;
        let line = &program.lines[at as usize];
        let touches = |number| move |r: oriole_isa::access::Register| r.file() == RegFile::R && r.number() == number;
        if line.never || !line.touches.writes.iter().map(|touch| touch.register).any(touches(wanted)) {
            continue;
        }
        match (line.inst.opcode, operand(&line.inst, Role::Bank)) {
            _ if line.guard.is_known() => return false,
            (Opcode::LDC, Some(Value::Const { bank: BANK, .. })) => return true,
            (Opcode::MOV, _) => match register(at, Role::B) {
                Some(source) => wanted = source,
                None => return false,
            },
            _ => return false,
        }
    }
    false
}

/// The functions whose places stand in the bank of the call's section.
fn functions_in_bank(program: &Program, cubin: &Cubin, starts: &[LineId], call: LineId) -> SmallVec<[LineId; 1]> {
    let section = program.lines[call as usize].section;
    let of_section = |target: Option<usize>| target.is_some_and(|index| program.number_of(index) == Some(section));
    let banks = cubin.sections.iter().filter(|bank| bank.kind == SectionKind::Constant { bank: BANK.into() });
    let places = banks.filter(|bank| of_section(bank.target)).flat_map(|bank| bank.data.chunks_exact(8));
    let line = |place: &[u8]| program.at(section, place.try_into().map(u64::from_le_bytes).ok()?);
    let mut lines: SmallVec<[LineId; 1]> = places.filter_map(line).collect();
    lines.retain(|line| starts.binary_search(line).is_ok());
    lines.sort_unstable();
    lines.dedup();
    lines
}

fn operand(inst: &Inst, role: Role) -> Option<Value> {
    Some(inst.operands.get(inst.opcode.position(role)?)?.value)
}
