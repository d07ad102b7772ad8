//! Building functions instruction by instruction.

use crate::call::CallSite;
use crate::entity::{Block, InstId, LocId, VReg};
use crate::error::BuildError;
use crate::function::Function;
use crate::inst::{Guard, Inst};
use crate::operand::Operand;
use crate::reg::RegType;
use cranelift_entity::packed_option::PackedOption;
use oriole_isa::{Mods, Opcode, RegFile, Role};
use smallvec::{SmallVec, smallvec};

/// Appends instructions to the current block of a function.
///
/// Guard and source location set here go onto every instruction emitted until they change.
pub struct FunctionBuilder<'f> {
    /// The function being built.
    pub func: &'f mut Function,
    block: Option<Block>,
    guard: Option<Guard>,
    loc: PackedOption<LocId>,
}

impl<'f> FunctionBuilder<'f> {
    /// Build into `func`; there is no current block yet.
    pub fn new(func: &'f mut Function) -> Self {
        FunctionBuilder { func, block: None, guard: None, loc: PackedOption::default() }
    }

    /// A fresh virtual register.
    pub fn vreg(&mut self, reg_type: RegType) -> Result<VReg, BuildError> {
        self.func.new_vreg(reg_type)
    }

    /// A fresh block at the end of the layout.
    pub fn new_block(&mut self) -> Result<Block, BuildError> {
        self.func.edit().new_block()
    }

    /// Append to `block` from now on.
    pub fn switch_to(&mut self, block: Block) {
        self.block = Some(block);
    }

    /// The block that instructions are appended to.
    pub fn current(&self) -> Option<Block> {
        self.block
    }

    /// The guard for what follows.
    pub fn set_guard(&mut self, guard: Option<Guard>) {
        self.guard = guard;
    }

    /// The source location for what follows.
    pub fn set_loc(&mut self, loc: Option<LocId>) {
        self.loc = loc.into();
    }

    /// Append an instruction with all operands of the opcode's signature, in order.
    pub fn emit(&mut self, opcode: Opcode, mods: Mods, operands: &[Operand]) -> Result<InstId, BuildError> {
        self.push(Inst::new(opcode, mods, operands))
    }

    /// Append an instruction, naming operands by role; those not named are the neutral ones of the
    /// signature (`RZ`, `PT`, `!PT`, absent).
    pub fn emit_roles(
        &mut self,
        opcode: Opcode,
        mods: Mods,
        operands: &[(Role, Operand)],
    ) -> Result<InstId, BuildError> {
        let mut inst = Inst::neutral(opcode, mods);
        for (role, operand) in operands {
            if let Some(at) = opcode.position(*role) {
                inst.operands[at] = *operand;
            }
        }
        self.push(inst)
    }

    /// Append a ready instruction; guard and location of the builder apply where it has none.
    pub fn push(&mut self, mut inst: Inst) -> Result<InstId, BuildError> {
        let expected = inst.opcode.signature().len();
        if inst.is_machine() && inst.operands.len() != expected {
            return Err(BuildError::Arity {
                function: self.func.name().to_owned(),
                opcode: inst.opcode.name().to_owned(),
                expected,
                found: inst.operands.len(),
            });
        }
        if inst.guard().is_none() {
            inst.set_guard(self.guard);
        }
        if inst.loc.is_none() {
            inst.loc = self.loc;
        }
        let Some(block) = self.block else {
            return Err(BuildError::BlockEnded { function: self.func.name().to_owned(), block: "no block".to_owned() });
        };
        Ok(self.func.edit().append(block, inst))
    }

    /// Append a CALL or RET with its call site.
    pub fn push_call(&mut self, mut inst: Inst, site: CallSite) -> Result<InstId, BuildError> {
        inst.call = self.func.edit().add_site(site).into();
        self.push(inst)
    }

    /// End the block: go on in `target`. No instruction is needed; the layout adds a BRA where one is.
    pub fn jump(&mut self, target: Block) -> Result<(), BuildError> {
        self.end(&[target])
    }

    /// End the block: `@guard BRA taken`, else go on in `otherwise`.
    pub fn branch(&mut self, guard: Guard, taken: Block, otherwise: Block) -> Result<InstId, BuildError> {
        let bra = Inst::bra(taken).guarded(Some(guard));
        let id = self.push(bra)?;
        self.end(&[taken, otherwise])?;
        Ok(id)
    }

    /// End the block with an instruction that leaves the function or branches by itself, with its
    /// successors (branch targets, then the fall-through).
    pub fn terminate(&mut self, inst: Inst, succs: &[Block]) -> Result<InstId, BuildError> {
        let id = self.push(inst)?;
        self.end(succs)?;
        Ok(id)
    }

    /// End the kernel here: `EXIT`.
    pub fn exit(&mut self) -> Result<InstId, BuildError> {
        self.terminate(Inst::neutral(Opcode::EXIT, Mods::new()), &[])
    }

    /// Append a MovPhi.
    pub fn phi(&mut self, dst: Operand, inputs: &[(Operand, Block)]) -> Result<InstId, BuildError> {
        let mut inst = Inst::phi(dst);
        for (source, pred) in inputs {
            inst.operands.push(*source);
            inst.operands.push(Operand::block(*pred));
        }
        self.push(inst)
    }

    /// Say that a register (or piece of one) has some value from here on, whatever it is.
    pub fn undef(&mut self, dst: Operand) -> Result<InstId, BuildError> {
        self.push(Inst::undef(dst))
    }

    fn end(&mut self, succs: &[Block]) -> Result<(), BuildError> {
        let Some(block) = self.block.take() else {
            return Err(BuildError::BlockEnded { function: self.func.name().to_owned(), block: "no block".to_owned() });
        };
        self.func.edit().set_succs(block, succs);
        Ok(())
    }
}

impl Inst {
    /// An instruction whose operands are all the neutral ones of the signature, or absent.
    pub fn neutral(opcode: Opcode, mods: Mods) -> Self {
        let mut inst = Inst::new(opcode, mods, &[]);
        inst.operands = opcode.signature().iter().map(|s| s.neutral.map_or(Operand::NONE, Operand::from_isa)).collect();
        inst
    }

    /// `to = from` in a register file; `from` may be a constant. Predicates are copied by PLOP3 and UPLOP3. A copy of what is
    /// undefined is a mark: no instruction reads that.
    pub fn copy(file: RegFile, to: Operand, from: Operand) -> Self {
        if from == Operand::undef() {
            return Inst::undef(to);
        }
        /// The truth table of a function's first input.
        const FIRST: u32 = 0xf0;
        let logic = |truth| {
            [(Role::PD, to), (Role::PA, from), (Role::PB, truth), (Role::PC, truth), (Role::Lut, Operand::imm(FIRST))]
        };
        let (opcode, roles): (Opcode, SmallVec<[(Role, Operand); 5]>) = match file {
            RegFile::UR => (Opcode::UMOV, smallvec![(Role::D, to), (Role::B, from)]),
            RegFile::P => (Opcode::PLOP3, logic(Operand::pt()).into()),
            RegFile::UP => (Opcode::UPLOP3, logic(Operand::upt()).into()),
            RegFile::R | RegFile::B | RegFile::SB => (Opcode::MOV, smallvec![(Role::D, to), (Role::B, from)]),
        };
        let mut inst = Inst::neutral(opcode, Mods::new());
        roles.into_iter().for_each(|(role, operand)| inst.set_role(role, operand));
        inst
    }

    /// `BRA target`.
    pub fn bra(target: Block) -> Self {
        use oriole_isa::Kinds;
        let mut inst = Inst::neutral(Opcode::BRA, Mods::new());
        let label = Opcode::BRA.signature().iter().position(|spec| spec.kinds.contains(Kinds::LABEL));
        if let Some(at) = label {
            inst.operands[at] = Operand::block(target);
        }
        inst
    }
}

impl Operand {
    /// The operand of a hardware instruction as Ori has it: zero and true registers become their
    /// sentinels, other registers physical ones. Code addresses and bindless constants, which only
    /// finished code has, become absent.
    pub fn from_isa(operand: oriole_isa::Operand) -> Operand {
        use oriole_isa::{OperandFlags as F, Value};
        let plain = match operand.value {
            Value::Reg(RegFile::R, 255) => Operand::rz(),
            Value::Reg(RegFile::UR, 255) => Operand::urz(),
            Value::Reg(RegFile::P, 7) => Operand::pt(),
            Value::Reg(RegFile::UP, 7) => Operand::upt(),
            Value::Reg(RegFile::SB, number) => Operand::scoreboard(number as u8),
            Value::Reg(file, number) => Operand::phys(file, number),
            Value::Imm(bits) => imm_from_isa(bits),
            Value::Const { bank, offset } => Operand::cbank(bank, u32::from(offset)),
            Value::Special(number) => Operand::special(number),
            Value::None | Value::ConstBindless { .. } | Value::Label(_) => Operand::NONE,
        };
        let has = |flag| operand.flags.contains(flag);
        plain.with_neg(has(F::NEG)).with_abs(has(F::ABS)).with_not(has(F::NOT)).with_reuse(has(F::REUSE))
    }
}

fn imm_from_isa(bits: u64) -> Operand {
    match (u32::try_from(bits), i32::try_from(bits as i64)) {
        (Ok(low), _) => Operand::imm(low),
        (_, Ok(signed)) => Operand::imm_signed(signed),
        _ => Operand::imm_high((bits >> 32) as u32),
    }
}
