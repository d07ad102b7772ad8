//! From allocated Ori to the ISA's instructions.

use crate::entity::{Block, InstId, VReg};
use crate::function::{Function, SymbolRef};
use crate::inst::Inst;
use crate::operand::{ImmKind, Operand, OperandKind, Piece};
use crate::text::inst_text;
use oriole_isa::{Arch, Kinds, Opcode, OperandFlags, OperandSpec, RegFile, Value};
use smallvec::SmallVec;

mod code;
mod function;

pub use code::{CodeTable, INST_BYTES, MachineCode};
pub use function::{MachineBlock, MachineData, MachineFunction, MachineId};

/// A hardware instruction and the symbols that its operands still wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineInst {
    /// The instruction; operands that wait for a symbol hold the addend.
    pub inst: oriole_isa::Inst,
    /// Operand position and the symbol whose address goes there.
    pub relocs: SmallVec<[(usize, SymbolRef); 1]>,
}

impl MachineInst {
    /// The labels that name places in the function itself; those of symbols do not.
    fn own_labels(&mut self) -> impl Iterator<Item = &mut i64> {
        let relocs = &self.relocs;
        let operands = self.inst.operands.iter_mut().enumerate();
        operands.filter_map(|(at, operand)| match &mut operand.value {
            Value::Label(label) if relocs.iter().all(|(other, _)| *other != at) => Some(label),
            _ => None,
        })
    }
}

/// Why an instruction has no hardware form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("function '{function}', {inst} '{text}': {message}")]
pub struct MachineError {
    /// The function's name.
    pub function: String,
    /// The instruction.
    pub inst: InstId,
    /// Its text.
    pub text: String,
    /// What is missing.
    pub message: String,
}

fn fault(func: &Function, inst: InstId, message: String) -> MachineError {
    MachineError { function: func.name().to_owned(), inst, text: inst_text(func, inst), message }
}

impl Function {
    /// Whether the instruction becomes a hardware instruction: MovPhis and marks do not.
    pub fn emits_code(&self, inst: InstId) -> bool {
        self[inst].is_machine()
    }

    /// The hardware instruction; every register must have its physical number. `address` gives the
    /// byte address of a block in the function's code.
    pub fn machine_inst(&self, inst: InstId, address: impl Fn(Block) -> i64) -> Result<MachineInst, MachineError> {
        let mut made = MachineInst { inst: oriole_isa::Inst::bare(Opcode::NOP), relocs: SmallVec::new() };
        self.put_machine_inst(inst, address, &mut made)?;
        Ok(made)
    }

    /// The same in the place of another.
    fn put_machine_inst(
        &self,
        inst: InstId,
        address: impl Fn(Block) -> i64,
        into: &mut MachineInst,
    ) -> Result<(), MachineError> {
        let data = &self[inst];
        let fail = |message: String| fault(self, inst, message);
        let MachineInst { inst: made, relocs } = into;
        relocs.clear();
        made.become_bare(data.opcode, &data.mods);
        (made.guard, made.control) = (self.machine_guard(data).map_err(fail)?, data.control);
        for (i, (operand, spec)) in data.operands.iter().zip(data.opcode.signature()).enumerate() {
            if let OperandKind::Symbol(reference) = operand.kind() {
                relocs.push((i, self[reference]));
            }
            let value = self.machine_value(*operand, spec, &address, &|o| self.physical(o)).map_err(fail)?;
            made.operands.push(oriole_isa::Operand { value, flags: flags_of(*operand) });
        }
        Ok(())
    }

    /// Whether the target has a form for an instruction of this function, whatever registers it gets.
    pub fn is_legal(&self, inst: &Inst, arch: Arch) -> bool {
        self.with_stand_ins(inst).is_some_and(|inst| oriole_isa::legal(&inst, arch).is_ok())
    }

    /// The hardware instruction with registers that stand for those which allocation will choose, of the same files; without
    /// its guard, and with 0 for addresses. `None` for what is no hardware instruction.
    pub fn with_stand_ins(&self, inst: &Inst) -> Option<oriole_isa::Inst> {
        let mut made = oriole_isa::Inst::bare(inst.opcode);
        self.put_stand_ins(inst, &mut made).then_some(made)
    }

    /// The same in the place of another instruction. Whether it is one of the hardware.
    pub fn put_stand_ins(&self, inst: &Inst, into: &mut oriole_isa::Inst) -> bool {
        let stand_in = |operand| self.stand_in(operand);
        into.become_bare(inst.opcode, &inst.mods);
        into.control = inst.control;
        for (operand, spec) in inst.operands.iter().zip(inst.opcode.signature()) {
            let value = match operand.as_piece() {
                // Most are such, and are looked at most.
                Some((reg, piece)) => self.stand_in_piece(reg, piece),
                None => match self.machine_value(*operand, spec, &|_| 0, &stand_in) {
                    Ok(value) => value,
                    Err(_) => return false,
                },
            };
            into.operands.push(oriole_isa::Operand { value, flags: flags_of(*operand) });
        }
        true
    }

    /// A physical register of a virtual one's file that suits every width: number 0, or the piece's place from there.
    fn stand_in_piece(&self, reg: VReg, piece: Piece) -> Value {
        let data = &self[reg];
        let first = piece.range(data.components).start;
        Value::Reg(data.file(), data.physical.unwrap_or(0) + u16::from(first))
    }

    /// The same for an operand of another kind that names registers.
    fn stand_in(&self, operand: Operand) -> Option<(RegFile, u16, u8)> {
        self.physical(operand).or_else(|| {
            let reg = match operand.kind() {
                OperandKind::ConstBindless { handle, .. } => handle,
                OperandKind::Tuple(tuple) => *self.tuple_values(tuple).first()?,
                _ => return None,
            };
            Some((self[reg].file(), 0, 1))
        })
    }

    fn machine_guard(&self, data: &Inst) -> Result<oriole_isa::Guard, String> {
        let Some(guard) = data.guard() else { return Ok(oriole_isa::Guard::ALWAYS) };
        let number = self[guard.pred].physical.ok_or("the guard has no physical register")?;
        let predicate = u8::try_from(number).map_err(|_| "the guard's number is out of range")?;
        Ok(oriole_isa::Guard { predicate, negated: guard.negated })
    }

    fn machine_value(
        &self,
        operand: Operand,
        spec: &OperandSpec,
        address: &impl Fn(Block) -> i64,
        place: &impl Fn(Operand) -> Option<(RegFile, u16, u8)>,
    ) -> Result<Value, String> {
        let register = || place(operand).ok_or_else(|| self.unassigned(operand));
        Ok(match operand.kind() {
            OperandKind::None => Value::None,
            OperandKind::Reg(..) | OperandKind::Phys { .. } | OperandKind::Tuple(_) => {
                let (file, number, _) = register()?;
                Value::Reg(file, number)
            }
            OperandKind::Imm(bits, kind) => Value::Imm(extend(bits, kind)),
            OperandKind::Block(block) => Value::Label(address(block)),
            OperandKind::Const { bank, offset } => {
                let offset = u16::try_from(offset).map_err(|_| "constant offset out of range")?;
                Value::Const { bank, offset }
            }
            OperandKind::ConstBindless { offset, .. } => {
                let (_, ureg, _) = register()?;
                let offset = u16::try_from(offset).map_err(|_| "constant offset out of range")?;
                Value::ConstBindless { ureg, offset }
            }
            OperandKind::Symbol(reference) => {
                let addend = self[reference].addend;
                if spec.kinds.contains(Kinds::LABEL) { Value::Label(addend) } else { Value::Imm(addend as u64) }
            }
            OperandKind::Rz => Value::Reg(RegFile::R, 255),
            OperandKind::Urz => Value::Reg(RegFile::UR, 255),
            OperandKind::Pt => Value::Reg(RegFile::P, 7),
            OperandKind::Upt => Value::Reg(RegFile::UP, 7),
            OperandKind::Special(number) => Value::Special(number),
            OperandKind::Scoreboard(number) => Value::Reg(RegFile::SB, u16::from(number)),
            OperandKind::Undef => return Err("an undefined value among the operands".to_owned()),
            OperandKind::Guard { .. } => return Err("a guard among the operands".to_owned()),
        })
    }

    fn unassigned(&self, operand: Operand) -> String {
        format!("{} has no physical register", crate::text::operand_text(self, operand))
    }
}

fn extend(bits: u32, kind: ImmKind) -> u64 {
    match kind {
        ImmKind::Bits => u64::from(bits),
        ImmKind::Signed => bits as i32 as i64 as u64,
        ImmKind::High => u64::from(bits) << 32,
    }
}

fn flags_of(operand: Operand) -> OperandFlags {
    if !operand.has_flags() {
        return OperandFlags::empty();
    }
    let flags = [
        (operand.is_neg(), OperandFlags::NEG),
        (operand.is_abs(), OperandFlags::ABS),
        (operand.is_not(), OperandFlags::NOT),
        (operand.is_reuse(), OperandFlags::REUSE),
    ];
    flags.into_iter().filter(|(set, _)| *set).fold(OperandFlags::empty(), |all, (_, flag)| all.with(flag))
}
