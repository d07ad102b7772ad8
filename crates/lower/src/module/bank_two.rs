//! What stands where in constant bank 2: offsets of functions, tables of jumps, constants of 64 bits.
//!
//! A function that several kernels call has its tables at one place in the banks of all. Kernels have theirs behind, each in its own bank.

use oriole_isa::{Opcode, Role};
use oriole_ori::{Block, Function, FunctionKind, InstId, Literals, Module, Operand};

/// Give every table its place, and say where constants begin.
pub(crate) fn lay_out(module: &mut Module) {
    let mut end = module.function_table_bytes();
    for func in module.functions.values_mut().filter(|func| func.kind() != FunctionKind::Entry) {
        end = place_tables(func, end);
    }
    for func in module.functions.values_mut().filter(|func| func.kind() == FunctionKind::Entry) {
        let own = place_tables(func, end);
        func.literals_mut().base = own.next_multiple_of(Literals::SIZE);
    }
}

/// Place the tables of a function one behind the other from `start` on, and tell the loads; where the last one ends.
fn place_tables(func: &mut Function, start: u32) -> u32 {
    let mut end = start;
    for table in func.jump_tables_mut() {
        table.offset = end;
        end += table.bytes();
    }
    let jumps: Vec<(Block, InstId)> =
        func.iter_insts().filter(|(_, inst)| func.jump_table_of(&func[*inst]).is_some()).collect();
    for (block, jump) in jumps {
        let Some(offset) = func.jump_table_of(&func[jump]).map(|table| table.offset) else { continue };
        // Lowering has put the load right before it.
        let load = func.block_insts(block).iter().rev().copied().find(|inst| func[*inst].opcode == Opcode::LDC);
        let Some((load, at)) = load.zip(Opcode::LDC.position(Role::Bank)) else { continue };
        func.edit().set_operand(load, at, Operand::cbank(Literals::BANK, offset));
    }
    end
}
