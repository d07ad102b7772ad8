//! What functions under test begin and end with: inputs from memory, results into memory.

use crate::PARAMETERS;
use oriole_isa::{Field, Mods, Opcode, Role, cmp, mem_size, sign};
use oriole_ori::{BuildError, Function, FunctionBuilder, Inst, Operand, RegType, VReg};

/// An instruction with neutral operands; an addend that has none is zero.
pub(crate) fn blank(opcode: Opcode, mods: Mods) -> Inst {
    let mut inst = Inst::neutral(opcode, mods);
    if opcode == Opcode::IMAD {
        inst.set_role(Role::C, Operand::rz());
    }
    inst
}

/// A source of an instruction under test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    /// An input register, read from the parameters.
    Input(u32),
    /// A constant, put into a register before.
    Copied(u32),
    /// The zero register.
    Zero,
}

/// Three inputs, their registers and a predicate, at the head of a function.
pub(crate) struct Head<'f> {
    pub(crate) b: FunctionBuilder<'f>,
    pub(crate) inputs: [VReg; 2],
    pub(crate) pred: VReg,
}

pub(crate) fn head(func: &mut Function) -> Result<Head<'_>, BuildError> {
    let mut b = FunctionBuilder::new(func);
    let entry = b.new_block()?;
    b.switch_to(entry);
    let inputs = [b.vreg(RegType::R)?, b.vreg(RegType::R)?];
    let pred = b.vreg(RegType::P)?;
    for (k, reg) in inputs.into_iter().enumerate() {
        // Through memory: a parameter would be taken for a constant operand.
        let address = b.vreg(RegType::R)?;
        b.emit_roles(
            Opcode::MOV,
            Mods::new(),
            &[(Role::D, address.into()), (Role::B, Operand::cbank(0, PARAMETERS + 4 * k as u32))],
        )?;
        let at = Operand::imm_signed(0x100 + 4 * k as i32);
        b.emit_roles(Opcode::STS, Mods::new(), &[(Role::Offset, at), (Role::Data, address.into())])?;
        b.emit_roles(Opcode::LDS, Mods::new(), &[(Role::D, reg.into()), (Role::Offset, at)])?;
    }
    let mods: Mods = [(Field::Cmp, cmp::LT), (Field::Sign, sign::U32)].into_iter().collect();
    let operands = [(Role::PD, pred.into()), (Role::A, inputs[0].into()), (Role::B, inputs[1].into())];
    b.emit_roles(Opcode::ISETP, mods, &operands)?;
    Ok(Head { b, inputs, pred })
}

impl Head<'_> {
    pub(crate) fn source(&mut self, source: Source) -> Result<Operand, BuildError> {
        match source {
            Source::Input(k) => Ok(self.inputs[k as usize].into()),
            Source::Zero => Ok(Operand::rz()),
            Source::Copied(bits) => {
                let reg = self.b.vreg(RegType::R)?;
                let operands = [(Role::D, reg.into()), (Role::B, Operand::imm(bits))];
                self.b.emit_roles(Opcode::MOV, Mods::new(), &operands)?;
                Ok(reg.into())
            }
        }
    }

    /// Store a register, or a predicate as 0 or 1.
    pub(crate) fn store(&mut self, reg: VReg, kind: RegType, at: i32) -> Result<(), BuildError> {
        let (data, mods) = match kind {
            RegType::P => {
                let word = self.b.vreg(RegType::R)?;
                let one = self.source(Source::Copied(1))?;
                let operands =
                    [(Role::D, word.into()), (Role::A, one), (Role::B, Operand::rz()), (Role::PA, reg.into())];
                self.b.emit_roles(Opcode::SEL, Mods::new(), &operands)?;
                (word, Mods::new())
            }
            RegType::Pair => (reg, [(Field::MemSize, mem_size::B64)].into_iter().collect()),
            _ => (reg, Mods::new()),
        };
        let operands = [(Role::Offset, Operand::imm_signed(at)), (Role::Data, data.into())];
        self.b.emit_roles(Opcode::STS, mods, &operands).map(|_| ())
    }
}
