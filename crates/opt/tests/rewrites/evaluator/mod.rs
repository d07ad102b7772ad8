//! Plain evaluation of Ori functions by one thread: integers, predicates, comparisons of floats, shared memory.
//!
//! What a phase must not change is what this gives: the memory at the end. A register without a value (before its
//! first write, or after an undefined-value marker) makes what is computed from it undefined too, and is an error
//! where it decides something: as a branch's guard, an address, or a stored value. Written from the meanings in
//! `crates/isa/spec`; it shares no code with the phases or the simulator.

mod arithmetic;

use oriole_isa::{Field, Opcode, RegFile, Role, mem_size};
use oriole_ori::terminator::{Exit, exit_of};
use oriole_ori::{Block, Function, Guard, Inst, InstFlags, InstId, Operand, OperandKind, VReg};
use std::collections::BTreeMap;

/// Instructions before a program counts as endless.
const FUEL: usize = 20_000;

/// Shared memory: the bytes that were written, by address.
pub(crate) type Memory = BTreeMap<u32, u8>;

/// One thread.
pub(crate) struct Thread<'f> {
    func: &'f Function,
    /// Bank 0, word by word.
    constants: &'f [u32],
    thread: u32,
    words: Vec<Vec<Option<u32>>>,
    bits: Vec<Option<bool>>,
    memory: Memory,
}

/// What the function leaves in memory, for a thread number and the words of constant bank 0.
///
/// # Errors
///
/// An instruction that is not evaluated here, an undefined value that decides something, or an endless loop.
pub(crate) fn run(func: &Function, thread: u32, constants: &[u32]) -> Result<Memory, String> {
    let words = func.vregs.values().map(|reg| vec![None; usize::from(reg.components)]).collect();
    let mut this = Thread { func, constants, thread, words, bits: vec![None; func.vregs.len()], memory: Memory::new() };
    let mut at = func.entry();
    let mut fuel = FUEL;
    while let Some(block) = at {
        at = this.block(block, &mut fuel)?;
    }
    Ok(this.memory)
}

impl<'f> Thread<'f> {
    /// Run a block; where control goes.
    fn block(&mut self, block: Block, fuel: &mut usize) -> Result<Option<Block>, String> {
        let succs = self.func.succs(block);
        for &inst in self.func.block_insts(block) {
            *fuel = fuel.checked_sub(1).ok_or("endless")?;
            let data = &self.func.insts[inst];
            let taken = self.guard(data.guard());
            match exit_of(data) {
                Exit::Branch if taken.ok_or("a branch on an undefined predicate")? => {
                    return Ok(succs.first().copied());
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

    fn guard(&self, guard: Option<Guard>) -> Option<bool> {
        guard.map_or(Some(true), |guard| self.bits[guard.pred.as_u32() as usize].map(|bit| bit != guard.negated))
    }

    fn step(&mut self, id: InstId, taken: Option<bool>) -> Result<(), String> {
        let inst = &self.func.insts[id];
        if inst.flags.contains(InstFlags::UNDEF) {
            return self.write(inst.operands[0], &[None; 4]);
        }
        match taken {
            Some(false) => return Ok(()),
            None if inst.opcode == Opcode::STS => return Err("a store under an undefined guard".to_owned()),
            _ => {}
        }
        if inst.opcode == Opcode::STS {
            return self.store(inst);
        }
        let results = self.results(inst)?;
        for (role, values) in results {
            let Some(at) = inst.opcode.position(role) else { continue };
            let values = if taken.is_none() { [None; 2] } else { values };
            self.write(inst.operands[at], &values)?;
        }
        Ok(())
    }

    /// What the instruction writes, by role: words, or a bit as a word.
    fn results(&self, inst: &Inst) -> Result<arithmetic::Results, String> {
        if inst.opcode == Opcode::LDS {
            return Ok(vec![(Role::D, self.load(inst)?)]);
        }
        if inst.opcode == Opcode::S2R {
            return Ok(vec![(Role::D, [Some(self.thread), None])]);
        }
        arithmetic::results(self, inst).ok_or_else(|| format!("{} is not evaluated", inst.opcode.name()))
    }

    fn address(&self, inst: &Inst) -> Result<u32, String> {
        let base = self.word(inst, Role::Base).ok_or("an undefined address")?;
        let offset = inst.opcode.position(Role::Offset).map(|at| inst.operands[at].kind());
        let Some(OperandKind::Imm(offset, _)) = offset else { return Err("an address without offset".to_owned()) };
        Ok(base.wrapping_add(offset))
    }

    fn store(&mut self, inst: &Inst) -> Result<(), String> {
        let address = self.address(inst)?;
        let count = if inst.get(Field::MemSize) == mem_size::B64 { 2 } else { 1 };
        for k in 0..count {
            let word = self.component(inst, Role::Data, k).ok_or("an undefined value is stored")?;
            for (i, byte) in word.to_le_bytes().into_iter().enumerate() {
                self.memory.insert(address.wrapping_add(4 * u32::from(k) + i as u32), byte);
            }
        }
        Ok(())
    }

    /// Memory that nothing has written holds a mixture of its address.
    fn load(&self, inst: &Inst) -> Result<[Option<u32>; 2], String> {
        let address = self.address(inst)?;
        let byte = |at: u32| *self.memory.get(&at).unwrap_or(&((at.wrapping_mul(0x9e37_79b9) >> 13) as u8));
        let word = |at: u32| u32::from_le_bytes(std::array::from_fn(|i| byte(at.wrapping_add(i as u32))));
        Ok([Some(word(address)), Some(word(address.wrapping_add(4)))])
    }

    fn write(&mut self, to: Operand, values: &[Option<u32>]) -> Result<(), String> {
        match to.kind() {
            OperandKind::Reg(reg, piece) => {
                let index = reg.as_u32() as usize;
                if self.func.vregs[reg].file() == RegFile::P {
                    self.bits[index] = values[0].map(|bit| bit != 0);
                } else {
                    for (k, value) in piece.range(self.func.vregs[reg].components).zip(values) {
                        self.words[index][usize::from(k)] = *value;
                    }
                }
                Ok(())
            }
            OperandKind::Rz | OperandKind::Pt | OperandKind::None => Ok(()),
            other => Err(format!("{other:?} is written")),
        }
    }

    /// A 32-bit source, without its flags.
    fn word(&self, inst: &Inst, role: Role) -> Option<u32> {
        self.component(inst, role, 0)
    }

    /// Component `k` of a source, without its flags.
    fn component(&self, inst: &Inst, role: Role, k: u8) -> Option<u32> {
        let operand = inst.operands[inst.opcode.position(role)?];
        match operand.kind() {
            OperandKind::Reg(reg, piece) => {
                let at = piece.range(self.func.vregs[reg].components).start + k;
                self.words[reg.as_u32() as usize][usize::from(at)]
            }
            OperandKind::Imm(bits, _) => Some(if k == 0 { bits } else { 0 }),
            OperandKind::Rz => Some(0),
            OperandKind::Const { offset, .. } => self.constants.get(offset as usize / 4 + usize::from(k)).copied(),
            _ => None,
        }
    }

    /// The register itself, for what reads it as a predicate, with its inversion.
    fn bit(&self, inst: &Inst, role: Role) -> Option<bool> {
        let operand = inst.operands[inst.opcode.position(role)?];
        let bit = match operand.kind() {
            OperandKind::Pt => Some(true),
            OperandKind::Reg(reg, _) => self.predicate(reg),
            _ => None,
        };
        bit.map(|bit| bit != operand.is_not())
    }

    fn predicate(&self, reg: VReg) -> Option<bool> {
        self.bits[reg.as_u32() as usize]
    }
}
