//! Register numbers stay below what the kernel has.

use crate::checked::Checked;
use crate::finding::{Finding, Kind};
use crate::program::{Line, LineId};
use oriole_cubin::Cubin;
use oriole_isa::{KEPT_REGISTERS, Opcode, RegFile, Role, Value};
use rustc_hash::FxHashMap;

/// Instructions that name a register which their kernel does not have.
pub(crate) fn check(checked: &Checked<'_>, cubin: &Cubin) -> Vec<Finding> {
    let program = checked.program;
    let uniform = program.arch.sm().uniform_registers;
    let mut limits: FxHashMap<u32, u32> = FxHashMap::default();
    // A kernel always says how many it has, even if it says none.
    for function in cubin.functions.iter().filter(|function| function.is_kernel || function.registers != 0) {
        let Some(line) = program.at_file_section(function.section, function.offset) else { continue };
        let limit = limits.entry(program.lines[line as usize].section).or_default();
        *limit = (*limit).max(function.registers);
    }
    for line in checked.reached().map(|line| &program.lines[line as usize]) {
        // USETMAXREG changes how many there are.
        if let (Some(limit), Some(registers)) = (limits.get_mut(&line.section), set_registers(line)) {
            *limit = (*limit).max(registers);
        }
    }
    let beyond = |at: LineId| {
        let line = &program.lines[at as usize];
        let limit = limits.get(&line.section).copied();
        let general = line
            .touches
            .highest(RegFile::R)
            .filter(|r| limit.is_some_and(|limit| u32::from(*r) + KEPT_REGISTERS >= limit));
        if let (Some(register), Some(limit)) = (general, limit) {
            return Some((
                format!("R{register}"),
                format!("the kernel has {limit} registers, of which {KEPT_REGISTERS} are the hardware's"),
            ));
        }
        let register = line.touches.highest(RegFile::UR).filter(|register| u32::from(*register) >= uniform)?;
        Some((format!("UR{register}"), format!("there are {uniform} uniform registers")))
    };
    let finding = |line: LineId| {
        let (register, reason) = beyond(line)?;
        Some(checked.single(Kind::Undeclared, line, vec![register], reason))
    };
    checked.reached().filter_map(finding).collect()
}

/// The number of registers that an instruction asks for.
fn set_registers(line: &Line) -> Option<u32> {
    if line.inst.opcode != Opcode::USETMAXREG {
        return None;
    }
    let at = line.inst.opcode.position(Role::A)?;
    match line.inst.operands.get(at)?.value {
        Value::Imm(registers) => u32::try_from(registers).ok(),
        _ => None,
    }
}
