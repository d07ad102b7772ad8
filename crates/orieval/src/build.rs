//! What functions under test begin and end with: inputs from memory, results into memory.

use oriole_isa::{Cmp, Field, MemSize, Mods, Opcode, Role, Sign};
use oriole_ori::{BuildError, Function, FunctionBuilder, Inst, Operand, RegType, VReg};

/// Where the words of constant bank 0 that functions read begin, in bytes.
pub const PARAMETERS: u32 = 0x160;

/// The words of bank 0 with these parameters.
#[must_use]
pub fn bank(parameters: &[u32]) -> Vec<u32> {
    let mut words = vec![0; PARAMETERS as usize / 4];
    words.extend(parameters);
    words
}

/// An instruction with neutral operands; an addend that has none is zero.
pub fn blank(opcode: Opcode, mods: Mods) -> Inst {
    let mut inst = Inst::neutral(opcode, mods);
    if opcode == Opcode::IMAD {
        inst.set_role(Role::C, Operand::rz());
    }
    inst
}

/// A source of an instruction under test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// An input register, read from the parameters.
    Input(u32),
    /// A constant, put into a register before.
    Copied(u32),
    /// The zero register.
    Zero,
}

/// Three inputs, their registers and a predicate, at the head of a function.
pub struct Head<'f> {
    /// At the end of the entry block.
    pub b: FunctionBuilder<'f>,
    /// What two parameters hold, in registers of which no phase knows the value.
    pub inputs: [VReg; 2],
    /// The first input is below the second.
    pub pred: VReg,
}

/// A function that has read its inputs, through shared memory: a parameter would be taken for a constant operand.
///
/// # Errors
///
/// A limit of the IR.
pub fn head(func: &mut Function) -> Result<Head<'_>, BuildError> {
    let mut b = FunctionBuilder::new(func);
    let entry = b.new_block()?;
    b.switch_to(entry);
    let inputs = [b.vreg(RegType::R)?, b.vreg(RegType::R)?];
    let pred = b.vreg(RegType::P)?;
    for (k, reg) in inputs.into_iter().enumerate() {
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
    let mods: Mods = [Field::CMP.is(Cmp::LT), Field::SIGN.is(Sign::U32)].into_iter().collect();
    let operands = [(Role::PD, pred.into()), (Role::A, inputs[0].into()), (Role::B, inputs[1].into())];
    b.emit_roles(Opcode::ISETP, mods, &operands)?;
    Ok(Head { b, inputs, pred })
}

impl Head<'_> {
    /// The operand for a source.
    ///
    /// # Errors
    ///
    /// A limit of the IR.
    pub fn source(&mut self, source: Source) -> Result<Operand, BuildError> {
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
    ///
    /// # Errors
    ///
    /// A limit of the IR.
    pub fn store(&mut self, reg: VReg, kind: RegType, at: i32) -> Result<(), BuildError> {
        let (data, mods) = match kind {
            RegType::P => {
                let word = self.b.vreg(RegType::R)?;
                let one = self.source(Source::Copied(1))?;
                let operands =
                    [(Role::D, word.into()), (Role::A, one), (Role::B, Operand::rz()), (Role::PA, reg.into())];
                self.b.emit_roles(Opcode::SEL, Mods::new(), &operands)?;
                (word, Mods::new())
            }
            RegType::Pair => (reg, [Field::MEM_SIZE.is(MemSize::B64)].into_iter().collect()),
            _ => (reg, Mods::new()),
        };
        let operands = [(Role::Offset, Operand::imm_signed(at)), (Role::Data, data.into())];
        self.b.emit_roles(Opcode::STS, mods, &operands).map(|_| ())
    }
}
