//! One thread, instruction by instruction.

use crate::arithmetic::{self, Results};
use crate::memory::{Access, Memory};
use crate::registers::Registers;
use oriole_isa::{Opcode, Role};
use oriole_ori::terminator::{Exit, exit_of};
use oriole_ori::{Block, Function, Inst, InstId, Operand, OperandKind};

/// Instructions before a program counts as endless.
const FUEL: usize = 20_000;

/// One thread.
struct Thread<'f> {
    func: &'f Function,
    /// Its number.
    thread: u32,
    registers: Registers<'f>,
    memory: Memory,
}

/// What the function leaves in global and shared memory, for a thread number and the words of constant bank 0. Registers
/// are virtual ones, or, where they have been allocated, physical ones.
///
/// # Errors
///
/// An instruction that is not evaluated, an undefined value that decides something (a branch, an address, what is
/// stored), or an endless loop.
pub fn run(func: &Function, thread: u32, constants: &[u32]) -> Result<Memory, String> {
    execute(func, thread, Registers::new(func, constants, None))
}

/// The same where the bits `before` stand in registers without a value: whether what is undefined matters shows in what comes of
/// different ones.
///
/// # Errors
///
/// An instruction that is not evaluated, or an endless loop.
pub fn run_from(func: &Function, thread: u32, constants: &[u32], before: u32) -> Result<Memory, String> {
    execute(func, thread, Registers::new(func, constants, Some(before)))
}

fn execute(func: &Function, thread: u32, registers: Registers<'_>) -> Result<Memory, String> {
    let mut this = Thread { func, thread, registers, memory: Memory::default() };
    let mut at = func.entry();
    let mut from = None;
    let mut fuel = FUEL;
    while let Some(block) = at {
        this.phis(block, from)?;
        at = this.block(block, &mut fuel)?;
        from = Some(block);
    }
    Ok(this.memory.visible())
}

impl Thread<'_> {
    /// The MovPhis of a block, all at once, as control comes from another.
    fn phis(&mut self, block: Block, from: Option<Block>) -> Result<(), String> {
        let phis = self.func.phis(block).iter();
        let mut passed: Vec<(Operand, Option<u32>)> = Vec::new();
        for &phi in phis {
            let input = self.func.phi_inputs(phi).find(|(_, pred)| Some(*pred) == from);
            let (source, _) = input.ok_or("a MovPhi without an input for where control comes from")?;
            passed.push((self.func[phi].operands[0], self.registers.part(source, 0)));
        }
        passed.into_iter().try_for_each(|(to, value)| self.registers.write(to, &[value]))
    }

    /// Run a block; where control goes.
    fn block(&mut self, block: Block, fuel: &mut usize) -> Result<Option<Block>, String> {
        let succs = self.func.succs(block);
        for &inst in self.func.block_insts(block) {
            *fuel = fuel.checked_sub(1).ok_or("endless")?;
            let data = &self.func[inst];
            let taken = self.registers.guard(data.guard());
            match exit_of(data) {
                Exit::Branch if taken.ok_or("a branch on an undefined predicate")? => {
                    return Ok(target(data));
                }
                Exit::Branch => {}
                _ if data.opcode == Opcode::EXIT => {
                    if taken.ok_or("an exit on an undefined predicate")? {
                        return Ok(None);
                    }
                }
                _ => self.step(inst, taken)?,
            }
        }
        Ok(succs.last().copied())
    }

    fn step(&mut self, id: InstId, taken: Option<bool>) -> Result<(), String> {
        let inst = &self.func[id];
        if inst.is_machine() && inst.opcode == Opcode::NOP {
            return Ok(());
        }
        if inst.is_phi() || inst.is_hold() {
            return Ok(());
        }
        if inst.is_undef() {
            return self.registers.write(inst.operands[0], &[None; 4]);
        }
        let access = Access::of(inst);
        match (taken, access) {
            (Some(false), _) => return self.keep(inst),
            (None, Some(access)) if access.is_store => return Err("a store under an undefined guard".to_owned()),
            (_, Some(access)) if access.is_store => return self.store(inst, access),
            _ => {}
        }
        for (role, values) in self.results(inst, access)? {
            let Some(at) = inst.opcode.position(role) else { continue };
            let values = if taken.is_none() { [None; 4] } else { values };
            self.registers.write(inst.operands[at], &values)?;
        }
        Ok(())
    }

    /// What the instruction writes, by role: words, or a bit as a word.
    fn results(&self, inst: &Inst, access: Option<Access>) -> Result<Results, String> {
        if let Some(access) = access {
            return Ok(vec![(Role::D, self.memory.load(access, self.address(inst)?))]);
        }
        if inst.opcode == Opcode::S2R {
            return Ok(vec![(Role::D, [Some(self.thread), None, None, None])]);
        }
        arithmetic::results(&self.registers, inst).ok_or_else(|| format!("{} is not evaluated", inst.opcode.name()))
    }

    /// 64 bits where the base is a pair, else 32.
    fn address(&self, inst: &Inst) -> Result<u64, String> {
        let undefined = "an undefined address";
        let base = self.registers.word(inst, Role::Base).ok_or(undefined)?;
        let offset = inst.opcode.position(Role::Offset).map(|at| inst.operands[at].kind());
        let Some(OperandKind::Imm(offset, _)) = offset else { return Err("an address without offset".to_owned()) };
        if inst.opcode.position(Role::Base).is_some_and(|at| inst.width(at) == 2) {
            let high = self.registers.component(inst, Role::Base, 1).ok_or(undefined)?;
            let base = u64::from(base) | u64::from(high) << 32;
            return Ok(base.wrapping_add_signed(i64::from(offset as i32)));
        }
        Ok(u64::from(base.wrapping_add(offset)))
    }

    fn store(&mut self, inst: &Inst, access: Access) -> Result<(), String> {
        let address = self.address(inst)?;
        let words: Option<Vec<u32>> =
            (0..access.words()).map(|k| self.registers.component(inst, Role::Data, k)).collect();
        self.memory.store(access, address, &words.ok_or("an undefined value is stored")?);
        Ok(())
    }

    /// In SSA form, the results of an instruction that does not happen are the old values.
    fn keep(&mut self, inst: &Inst) -> Result<(), String> {
        for ((_, to), old) in inst.defs().zip(inst.olds()) {
            let values: Vec<Option<u32>> =
                (0..self.func.named(to).len() as u8).map(|k| self.registers.part(*old, k)).collect();
            if !values.is_empty() {
                self.registers.write(to, &values)?;
            }
        }
        Ok(())
    }
}

/// Where a branch goes.
fn target(inst: &Inst) -> Option<Block> {
    inst.operands.iter().find_map(|operand| match operand.kind() {
        OperandKind::Block(block) => Some(block),
        _ => None,
    })
}
