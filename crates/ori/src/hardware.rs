//! Ori with physical registers, as hardware instructions.

use crate::entity::{Block, InstId};
use crate::function::Function;
use crate::operand::{ImmKind, Operand, OperandKind};
use oriole_isa::{Guard, Inst, OperandFlags, RegFile, Value};

/// What an operand of an allocated function cannot say by itself.
pub trait Addresses {
    /// Byte address of a block in its section.
    fn block(&self, block: Block) -> i64;
    /// The value of an operand that refers to a symbol, as the field holds it.
    fn symbol(&self, reference: crate::SymRef) -> Value;
}

/// Stands in where only registers and modifiers matter (latencies, legality): every address is 0.
#[derive(Clone, Copy, Debug)]
pub struct NoAddresses;

impl Addresses for NoAddresses {
    fn block(&self, _: Block) -> i64 {
        0
    }

    fn symbol(&self, _: crate::SymRef) -> Value {
        Value::Imm(0)
    }
}

/// A virtual register without a physical one: an internal fault, as the allocator gives each a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("function '{function}': instruction {inst:?} ({opcode}) names a register that has no physical one")]
pub struct Unallocated {
    /// The function.
    pub function: String,
    /// The instruction.
    pub inst: InstId,
    /// Its mnemonic.
    pub opcode: &'static str,
}

impl Function {
    /// The hardware instruction of an allocated instruction.
    pub fn hardware(&self, id: InstId, addresses: &impl Addresses) -> Result<Inst, Unallocated> {
        let data = &self.insts[id];
        let fault = || Unallocated { function: self.name.clone(), inst: id, opcode: data.opcode.name() };
        let mut inst = Inst::new(data.opcode);
        inst.mods = data.mods.clone();
        inst.control = data.control;
        inst.guard = self.hardware_guard(data.guard_operand()).ok_or_else(fault)?;
        inst.operands.clear();
        for operand in &data.operands {
            let value = self.hardware_value(*operand, addresses).ok_or_else(fault)?;
            inst.operands.push(oriole_isa::Operand { value, flags: flags_of(*operand) });
        }
        Ok(inst)
    }

    fn hardware_guard(&self, guard: Operand) -> Option<Guard> {
        match guard.kind() {
            OperandKind::Guard { pred, negated } => {
                let predicate = u8::try_from(self.vregs[pred].physical?).ok()?;
                Some(Guard { predicate, negated })
            }
            _ => Some(Guard { predicate: 7, negated: guard.is_not() }),
        }
    }

    fn hardware_value(&self, operand: Operand, addresses: &impl Addresses) -> Option<Value> {
        Some(match operand.kind() {
            OperandKind::None | OperandKind::Guard { .. } => Value::None,
            OperandKind::Reg(..) | OperandKind::Phys { .. } => {
                let (file, number, _) = self.physical(operand)?;
                Value::Reg(file, number)
            }
            OperandKind::Imm(bits, kind) => Value::Imm(match kind {
                ImmKind::Bits => u64::from(bits),
                ImmKind::Signed => i64::from(bits as i32) as u64,
                ImmKind::High => u64::from(bits) << 32,
            }),
            OperandKind::Block(block) => Value::Label(addresses.block(block)),
            OperandKind::Const { bank, offset } => Value::Const { bank, offset: u16::try_from(offset).ok()? },
            OperandKind::ConstBindless { handle, offset } => {
                Value::ConstBindless { ureg: self.vregs[handle].physical?, offset: u16::try_from(offset).ok()? }
            }
            OperandKind::Symbol(reference) => addresses.symbol(reference),
            OperandKind::Rz => Value::Reg(RegFile::R, 255),
            OperandKind::Urz => Value::Reg(RegFile::UR, 63),
            OperandKind::Pt => Value::Reg(RegFile::P, 7),
            OperandKind::Upt => Value::Reg(RegFile::UP, 7),
            OperandKind::Special(number) => Value::Special(number),
            OperandKind::Scoreboard(number) => Value::Reg(RegFile::SB, u16::from(number)),
        })
    }
}

fn flags_of(operand: Operand) -> OperandFlags {
    let pairs = [
        (operand.is_neg(), OperandFlags::NEG),
        (operand.is_abs(), OperandFlags::ABS),
        (operand.is_not(), OperandFlags::NOT),
        (operand.is_reuse(), OperandFlags::REUSE),
    ];
    pairs.into_iter().filter(|(set, _)| *set).fold(OperandFlags::empty(), |all, (_, flag)| all.with(flag))
}
