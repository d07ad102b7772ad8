//! One thread, instruction by instruction.

use crate::arithmetic::{self, Results};
use crate::memory::{Access, Memory};
use oriole_isa::{Opcode, RegFile, Role};
use oriole_ori::terminator::{Exit, exit_of};
use oriole_ori::{Block, Function, Guard, Inst, InstId, Operand, OperandKind, VReg};

/// Instructions before a program counts as endless.
const FUEL: usize = 20_000;

/// First places of the physical registers of each file; virtual ones follow.
const FILES: [(RegFile, usize); 3] = [(RegFile::R, 0), (RegFile::UR, 256), (RegFile::P, 320)];
const PHYSICAL: usize = 328;
/// The stack pointer on entry.
const STACK: u32 = 0x8000;

/// One thread. A register without a value (before its first write, or after an undefined-value marker) makes what is
/// computed from it undefined too, and is an error where it decides something.
pub(crate) struct Thread<'f> {
    func: &'f Function,
    /// Bank 0, word by word.
    constants: &'f [u32],
    thread: u32,
    /// First place of each virtual register, allocated or not.
    first: Vec<usize>,
    /// Words, and predicates as 0 and 1, by place.
    values: Vec<Option<u32>>,
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
    let mut this = Thread::new(func, thread, constants);
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

impl<'f> Thread<'f> {
    fn new(func: &'f Function, thread: u32, constants: &'f [u32]) -> Self {
        let mut places = PHYSICAL;
        let first = func.vregs.values().map(|reg| {
            let file = FILES.iter().find(|(file, _)| *file == reg.file());
            match reg.physical.zip(file) {
                Some((number, (_, base))) => base + usize::from(number),
                None => {
                    places += usize::from(reg.components);
                    places - usize::from(reg.components)
                }
            }
        });
        let first: Vec<usize> = first.collect();
        let mut values = vec![None; places];
        values[1] = Some(STACK);
        Thread { func, constants, thread, first, values, memory: Memory::default() }
    }

    /// The MovPhis of a block, all at once, as control comes from another.
    fn phis(&mut self, block: Block, from: Option<Block>) -> Result<(), String> {
        let phis = self.func.block_insts(block).iter().take_while(|inst| self.func.insts[**inst].is_phi());
        let mut passed: Vec<(Operand, Option<u32>)> = Vec::new();
        for &phi in phis {
            let input = self.func.phi_inputs(phi).find(|(_, pred)| Some(*pred) == from);
            let (source, _) = input.ok_or("a MovPhi without an input for where control comes from")?;
            passed.push((self.func.insts[phi].operands[0], self.part(source, 0)));
        }
        passed.into_iter().try_for_each(|(to, value)| self.write(to, &[value]))
    }

    /// Run a block; where control goes.
    fn block(&mut self, block: Block, fuel: &mut usize) -> Result<Option<Block>, String> {
        let succs = self.func.succs(block);
        for &inst in self.func.block_insts(block) {
            *fuel = fuel.checked_sub(1).ok_or("endless")?;
            let data = &self.func.insts[inst];
            let taken = self.guard(data.guard());
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

    /// The value of a guard.
    fn guard(&self, guard: Option<Guard>) -> Option<bool> {
        guard.map_or(Some(true), |guard| self.predicate(guard.pred).map(|bit| bit != guard.negated))
    }

    fn step(&mut self, id: InstId, taken: Option<bool>) -> Result<(), String> {
        let inst = &self.func.insts[id];
        if inst.is_machine() && inst.opcode == Opcode::NOP {
            return Ok(());
        }
        if inst.is_phi() {
            return Ok(());
        }
        if inst.is_undef() {
            return self.write(inst.operands[0], &[None; 4]);
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
            self.write(inst.operands[at], &values)?;
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
        arithmetic::results(self, inst).ok_or_else(|| format!("{} is not evaluated", inst.opcode.name()))
    }

    /// 64 bits where the base is a pair, else 32.
    fn address(&self, inst: &Inst) -> Result<u64, String> {
        let undefined = "an undefined address";
        let base = self.word(inst, Role::Base).ok_or(undefined)?;
        let offset = inst.opcode.position(Role::Offset).map(|at| inst.operands[at].kind());
        let Some(OperandKind::Imm(offset, _)) = offset else { return Err("an address without offset".to_owned()) };
        if inst.opcode.position(Role::Base).is_some_and(|at| inst.width(at) == 2) {
            let high = self.component(inst, Role::Base, 1).ok_or(undefined)?;
            let base = u64::from(base) | u64::from(high) << 32;
            return Ok(base.wrapping_add_signed(i64::from(offset as i32)));
        }
        Ok(u64::from(base.wrapping_add(offset)))
    }

    fn store(&mut self, inst: &Inst, access: Access) -> Result<(), String> {
        let address = self.address(inst)?;
        let words: Option<Vec<u32>> = (0..access.words()).map(|k| self.component(inst, Role::Data, k)).collect();
        self.memory.store(access, address, &words.ok_or("an undefined value is stored")?);
        Ok(())
    }

    /// In SSA form, the results of an instruction that does not happen are the old values.
    fn keep(&mut self, inst: &Inst) -> Result<(), String> {
        for ((_, to), old) in inst.defs().zip(inst.olds()) {
            let values: Vec<Option<u32>> = (0..self.func.named(to).len() as u8).map(|k| self.part(*old, k)).collect();
            if !values.is_empty() {
                self.write(to, &values)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, to: Operand, values: &[Option<u32>]) -> Result<(), String> {
        match to.kind() {
            OperandKind::Tuple(tuple) => {
                for (reg, value) in self.func.tuple_values(tuple).iter().zip(values) {
                    self.values[self.first[reg.as_u32() as usize]] = *value;
                }
                Ok(())
            }
            OperandKind::Reg(reg, piece) => {
                for (k, value) in piece.range(self.func.vregs[reg].components).zip(values) {
                    let at = self.first[reg.as_u32() as usize] + usize::from(k);
                    self.values[at] = *value;
                }
                Ok(())
            }
            OperandKind::Phys { file: RegFile::R, number, .. } => {
                self.values[usize::from(number)] = values[0];
                Ok(())
            }
            OperandKind::Rz | OperandKind::Pt | OperandKind::None => Ok(()),
            other => Err(format!("{other:?} is written")),
        }
    }

    /// A 32-bit source, without its flags.
    pub(crate) fn word(&self, inst: &Inst, role: Role) -> Option<u32> {
        self.component(inst, role, 0)
    }

    /// Component `k` of a source, without its flags.
    pub(crate) fn component(&self, inst: &Inst, role: Role, k: u8) -> Option<u32> {
        self.part(inst.operands[inst.opcode.position(role)?], k)
    }

    /// Component `k` of an operand, without its flags.
    fn part(&self, operand: Operand, k: u8) -> Option<u32> {
        match operand.kind() {
            OperandKind::Tuple(tuple) => {
                let reg = self.func.tuple_values(tuple).get(usize::from(k))?;
                self.values[self.first[reg.as_u32() as usize]]
            }
            OperandKind::Reg(reg, piece) => {
                let at = piece.range(self.func.vregs[reg].components).start + k;
                self.values[self.first[reg.as_u32() as usize] + usize::from(at)]
            }
            OperandKind::Imm(bits, _) => Some(if k == 0 { bits } else { 0 }),
            OperandKind::Rz => Some(0),
            OperandKind::Phys { file: RegFile::R, number, .. } => self.values[usize::from(number) + usize::from(k)],
            OperandKind::Const { offset, .. } => self.constants.get(offset as usize / 4 + usize::from(k)).copied(),
            _ => None,
        }
    }

    /// The register itself, for what reads it as a predicate, with its inversion.
    pub(crate) fn bit(&self, inst: &Inst, role: Role) -> Option<bool> {
        let operand = inst.operands[inst.opcode.position(role)?];
        let bit = match operand.kind() {
            OperandKind::Pt => Some(true),
            OperandKind::Reg(reg, _) => self.predicate(reg),
            _ => None,
        };
        bit.map(|bit| bit != operand.is_not())
    }

    fn predicate(&self, reg: VReg) -> Option<bool> {
        self.values[self.first[reg.as_u32() as usize]].map(|bit| bit != 0)
    }
}

/// Where a branch goes.
fn target(inst: &Inst) -> Option<Block> {
    inst.operands.iter().find_map(|operand| match operand.kind() {
        OperandKind::Block(block) => Some(block),
        _ => None,
    })
}
