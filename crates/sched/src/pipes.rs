//! Moves on either of two pipes. The unit for integers takes an instruction every other cycle: a row of moves waits for it while the
//! one that multiplies has nothing to do. `IMAD.MOV.U32` (`RZ * RZ + x`) does the same there, as with ptxas.

use crate::units::{NOTHING, Units, demand_of};
use oriole_isa::chip::{Demand, Unit};
use oriole_isa::{Arch, Mods, Opcode, Pipe, Role};
use oriole_ori::{Function, Inst, InstId, Operand};
use rustc_hash::FxHashMap;

/// Give moves that would wait for the unit for integers to the one that multiplies, where that is free: by the order in which the
/// instructions stand, one a cycle.
pub(crate) fn balance_moves(func: &mut Function, arch: Arch) {
    if arch.chip().is_none() {
        return;
    }
    let mut demands = Demands { arch, known: FxHashMap::default() };
    let mut others: Vec<(InstId, Inst)> = Vec::new();
    for block in func.layout() {
        let (mut units, mut clock) = (Units::default(), 0);
        for &inst in func.block_insts(*block) {
            if !func.emits_code(inst) {
                continue;
            }
            let mut demand = demands.of(func[inst].opcode);
            let waits = demand.unit == Unit::Alu && units.free(Unit::Alu as usize) > clock;
            if waits
                && units.free(Unit::FmaHeavy as usize) <= clock
                && let Some(other) = multiplied(func, inst, arch)
            {
                demand = demands.of(other.opcode);
                others.push((inst, other));
            }
            clock = clock.max(units.free(demand.unit as usize));
            units.issue(demand, clock);
            clock += 1;
        }
    }
    for (inst, other) in others {
        func.edit().replace(inst, other);
    }
}

/// What opcodes take of the arithmetic units.
struct Demands {
    arch: Arch,
    known: FxHashMap<Opcode, Demand>,
}

impl Demands {
    fn of(&mut self, opcode: Opcode) -> Demand {
        let arch = self.arch;
        *self.known.entry(opcode).or_insert_with(|| match opcode.info().pipe {
            Pipe::Alu | Pipe::Fma => demand_of(&oriole_isa::Inst::new(opcode), arch),
            _ => NOTHING,
        })
    }
}

/// A move as a sum with a product of zeros.
fn multiplied(func: &Function, inst: InstId, arch: Arch) -> Option<Inst> {
    let old = &func[inst];
    if old.opcode != Opcode::MOV || !old.is_machine() {
        return None;
    }
    let place = |role| old.opcode.position(role).map(|at| old.operands[at]);
    let (to, from) = (place(Role::D)?, place(Role::B)?);
    let whole = old.operands.iter().skip(2).all(|operand| operand.as_imm().is_none_or(|mask| mask == 0xf));
    let mut new = Inst::neutral(Opcode::IMAD, Mods::new());
    for (role, operand) in [(Role::D, to), (Role::A, Operand::rz()), (Role::B, Operand::rz()), (Role::C, from)] {
        new.set_role(role, operand);
    }
    new.set_guard(old.guard());
    (new.loc, new.flags) = (old.loc, old.flags);
    (whole && func.is_legal(&new, arch)).then_some(new)
}
