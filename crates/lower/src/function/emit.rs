//! Emitting instructions: guards, source lines, legal operand forms, blocks.

use crate::error::{Lowered, invalid, unsupported};
use crate::function::operands::Wide;
use crate::function::{FnLower, ops};
use oriole_isa::{Effects, Kinds, Mods, Opcode, Role, Setting};
use oriole_ori::{Block, Guard, Inst, InstFlags, InstId, Operand, OperandKind, RegType};

impl FnLower<'_, '_> {
    /// Emits an instruction: operands by role (those not named are neutral), modifiers as given.
    ///
    /// Operands are made legal: sources go to registers where the target has no form for them. The guard of the PTX
    /// instruction is applied to whatever writes a register of the program or has an effect; temporaries are computed
    /// without it.
    pub(crate) fn emit(&mut self, opcode: Opcode, mods: &[Setting], operands: &[(Role, Operand)]) -> Lowered<InstId> {
        let mut inst = Inst::neutral(opcode, mods.iter().copied().collect::<Mods>());
        for (role, operand) in operands {
            let at = opcode.position(*role);
            let at =
                at.ok_or_else(|| invalid(self.span, format!("internal: {} has no operand {role:?}", opcode.name())))?;
            inst.operands[at] = *operand;
        }
        self.emit_inst(inst)
    }

    /// Emits a ready instruction, as [`Self::emit`] does.
    pub(crate) fn emit_inst(&mut self, mut inst: Inst) -> Lowered<InstId> {
        if !self.has(inst.opcode) {
            let what = format!("an instruction that needs `{}`, which this target does not have,", inst.opcode.name());
            return Err(unsupported(self.span, what));
        }
        self.legalise(&mut inst)?;
        if inst.guard().is_none() && self.needs_guard(&inst) {
            inst.set_guard(self.guard);
        }
        self.append(inst)
    }

    /// Emits without looking at the guard of the PTX instruction.
    pub(crate) fn append(&mut self, mut inst: Inst) -> Lowered<InstId> {
        inst.loc = self.loc.into();
        let block = self.block.ok_or_else(|| invalid(self.span, "internal: code after the end of a block"))?;
        Ok(self.func.edit().append(block, inst))
    }

    fn needs_guard(&self, inst: &Inst) -> bool {
        if self.guard.is_none() {
            return false;
        }
        if inst.opcode.info().effects != Effects::NONE || is_indexed(inst) {
            return true;
        }
        inst.defs().any(|(_, operand)| match operand.kind() {
            OperandKind::Reg(reg, _) => (reg.as_u32() as usize) < self.first_temporary,
            OperandKind::Phys { .. } => true,
            _ => false,
        })
    }

    // ---- legality ----

    /// Changes operands until the target has the form.
    fn legalise(&mut self, inst: &mut Inst) -> Lowered {
        // Registers are legal everywhere.
        let is_other = |operand: &Operand| {
            matches!(operand.kind(), OperandKind::Imm(..) | OperandKind::Const { .. } | OperandKind::Symbol(_))
        };
        if !inst.operands.iter().any(is_other) {
            return Ok(());
        }
        let fix: Vec<usize> =
            (0..inst.operands.len()).filter(|&at| !inst.is_def(at) && !self.kind_fits(inst, at)).collect();
        for at in fix {
            inst.operands[at] = self.load_operand(inst, at)?;
        }
        let wide: Vec<usize> =
            (0..inst.operands.len()).filter(|&at| !inst.is_def(at) && takes_slot(inst, at)).collect();
        // Two constants stand where there is room for both (lane and bound of a shuffle).
        if wide.len() > 1 && !self.func.is_legal(inst, self.arch()) {
            for &at in wide.iter().skip(1) {
                inst.operands[at] = self.load_operand(inst, at)?;
            }
        }
        for (base, offset) in [(Role::Base, Role::Offset), (Role::SBase, Role::SOffset)] {
            self.shorten_offset(inst, base, offset)?;
        }
        self.shorten_bank_offset(inst)
    }

    /// Adds to the index what a load from a constant bank has no room for in its offset.
    fn shorten_bank_offset(&mut self, inst: &mut Inst) -> Lowered {
        let Some(OperandKind::Const { bank, offset }) = inst.operand(Role::Bank).map(Operand::kind) else {
            return Ok(());
        };
        let held = inst.opcode.numbers(Role::Bank, self.arch());
        let Some(at) =
            inst.position(Role::Base).filter(|_| held.is_some_and(|held| !held.contains(&i64::from(offset))))
        else {
            return Ok(());
        };
        let sum = self.temp()?;
        ops::add(self, sum, inst.operands[at], Operand::imm(offset))?;
        inst.operands[at] = sum;
        inst.set_role(Role::Bank, Operand::cbank(bank, 0));
        Ok(())
    }

    /// Adds to the base what the instruction has no room for in its offset.
    fn shorten_offset(&mut self, inst: &mut Inst, base: Role, offset: Role) -> Lowered {
        let Some(OperandKind::Imm(bits, _)) = inst.operand(offset).map(Operand::kind) else { return Ok(()) };
        let held = inst.opcode.numbers(offset, self.arch());
        let far = i64::from(bits as i32);
        let Some(at) = inst.position(base).filter(|_| held.is_some_and(|held| !held.contains(&far))) else {
            return Ok(());
        };
        if self.func.is_legal(inst, self.arch()) {
            return Ok(());
        }
        let old = inst.operands[at];
        inst.operands[at] = if inst.width(at) == 2 {
            let sum = self.temp64()?;
            ops::add64(self, sum, old.as_reg().map_or(Wide::of_bits(0), Wide::of_pair), Wide::of_bits(far as u64))?;
            Operand::reg(sum)
        } else {
            let sum = self.temp()?;
            ops::add(self, sum, old, Operand::imm(bits))?;
            sum
        };
        inst.set_role(offset, Operand::imm(0));
        Ok(())
    }

    /// Whether some form of the opcode has this kind of operand there.
    fn kind_fits(&self, inst: &Inst, at: usize) -> bool {
        let spec = &inst.opcode.signature()[at];
        match inst.operands[at].kind() {
            OperandKind::Imm(..) => spec.kinds.contains(Kinds::IMM),
            OperandKind::Const { .. } => spec.kinds.contains(Kinds::CONST) && (self.reads_constants() || !is_alu(inst)),
            _ => true,
        }
    }

    /// The target's arithmetic instructions read constant banks directly.
    pub(crate) fn reads_constants(&self) -> bool {
        self.sm().constant_operands
    }

    /// Loads the immediate or constant at `at` into a register.
    fn load_operand(&mut self, inst: &Inst, at: usize) -> Lowered<Operand> {
        let operand = inst.operands[at];
        if operand.plain().is_zero() {
            return Ok(operand.flags_onto(Operand::rz()));
        }
        let temp = self.temp()?;
        self.copy_in(temp, operand.plain())?;
        Ok(operand.flags_onto(temp))
    }

    /// `to = from`, where `from` is an immediate or a constant and `to` a temporary.
    fn copy_in(&mut self, to: Operand, from: Operand) -> Lowered {
        let is_constant = matches!(from.kind(), OperandKind::Const { .. });
        if is_constant && !self.reads_constants() {
            self.emit(Opcode::LDC, &[], &[(Role::D, to), (Role::Bank, from)])?;
            return Ok(());
        }
        let mut inst = Inst::neutral(Opcode::MOV, Mods::new());
        inst.set_role(Role::D, to);
        inst.set_role(Role::B, from);
        self.append(inst)?;
        Ok(())
    }

    // ---- blocks ----

    /// Take the room for a table of so many targets in bank 2, if there is any. What kernels call has its tables in the banks of all of them, which
    /// a linker would not know.
    pub(crate) fn reserve_table(&mut self, entries: usize) -> bool {
        /// Entries of all tables in one bank, for kernels and for what they call: 16 KiB each of 64.
        const MOST: usize = 4096;
        /// Functions whose offsets stand there as well, 8 bytes each.
        const MOST_FUNCTIONS: usize = 2048;
        let own = || self.func.jump_tables().iter().map(|table| table.targets.len()).sum();
        let before: usize = if self.is_entry() { own() } else { self.module.shared_table_entries };
        let fits = before + entries <= MOST && self.module.function_symbols.len() <= MOST_FUNCTIONS;
        if self.is_entry() {
            return fits;
        }
        let fits = fits && !self.module.relocatable;
        self.module.shared_table_entries += if fits { entries } else { 0 };
        fits
    }

    /// A fresh block.
    pub(crate) fn new_block(&mut self) -> Lowered<Block> {
        let made = self.func.edit().new_detached_block();
        self.built(made)
    }

    /// The instructions of the block at hand so far.
    pub(crate) fn block_so_far(&self) -> &[InstId] {
        self.block.map_or(&[], |block| self.func.block_insts(block))
    }

    /// Goes on in `block`, which is laid out here.
    pub(crate) fn switch_to(&mut self, block: Block) {
        self.func.edit().place_block_last(block);
        self.block = Some(block);
    }

    /// A loop that the block at hand begins is not unrolled.
    pub(crate) fn keep_rolled(&mut self) {
        self.func.attributes_mut().no_unroll.extend(self.block);
    }

    /// Whether code here can be reached.
    pub(crate) fn is_reachable(&self) -> bool {
        self.block.is_some()
    }

    /// Ends the block: on to `target`.
    pub(crate) fn jump(&mut self, target: Block) {
        if let Some(block) = self.block.take() {
            self.func.edit().set_succs(block, &[target]);
        }
    }

    /// Ends the block: to `taken` where `pred` is true (or `!pred`), else to `otherwise`.
    pub(crate) fn branch(&mut self, pred: Operand, taken: Block, otherwise: Block) -> Lowered {
        self.branch_with(pred, taken, otherwise, false)
    }

    /// As [`Self::branch`]; `uniform`: the program says that all threads of the warp agree.
    pub(crate) fn branch_with(&mut self, pred: Operand, taken: Block, otherwise: Block, uniform: bool) -> Lowered {
        match guard_of(pred) {
            Some(guard) => {
                let mut bra = Inst::bra(taken).guarded(Some(guard));
                bra.flags.set(InstFlags::UNIFORM, uniform);
                self.append(bra)?;
                self.end(&[taken, otherwise]);
            }
            None => self.jump(if pred.is_not() { otherwise } else { taken }),
        }
        Ok(())
    }

    /// Ends the block with the successors as given.
    pub(crate) fn end(&mut self, succs: &[Block]) {
        if let Some(block) = self.block.take() {
            self.func.edit().set_succs(block, succs);
        }
    }

    /// Emits at the start of the entry block instead of here, without guard: for values that the whole
    /// function uses.
    pub(crate) fn at_start(&mut self, emit: impl FnOnce(&mut Self) -> Lowered) -> Lowered {
        let Some(&entry) = self.func.layout().first() else { return Ok(()) };
        let (block, guard) = (self.block.replace(entry), self.guard.take());
        let before = self.func.block_insts(entry).len();
        let emitted = emit(self);
        (self.block, self.guard) = (block, guard);
        let mut edit = self.func.edit();
        let mut insts = edit.take_insts(entry);
        let moved = insts.len() - before;
        insts.rotate_right(moved);
        edit.set_insts(entry, insts);
        emitted
    }

    /// Turns the guard of the PTX instruction into a branch around its lowering, which may then
    /// have blocks, loops and calls of its own.
    pub(crate) fn guard_by_branch(&mut self) -> Lowered {
        let Some(guard) = self.guard.take() else { return Ok(()) };
        let inside = self.new_block()?;
        let after = self.new_block()?;
        self.branch(Operand::reg(guard.pred).with_not(!guard.negated), after, inside)?;
        self.switch_to(inside);
        self.after_guard = Some(after);
        Ok(())
    }

    /// After the instruction: its guard no longer applies; where it became a branch, that goes on here.
    pub(crate) fn end_guard(&mut self) {
        self.guard = None;
        if let Some(after) = self.after_guard.take() {
            self.jump(after);
            self.switch_to(after);
        }
    }

    /// A fresh register for a value that lives across blocks of the lowering.
    pub(crate) fn variable(&mut self, reg_type: RegType) -> Lowered<Operand> {
        Ok(Operand::reg(self.temp_of(reg_type)?))
    }
}

/// The guard that a predicate operand makes; `None` for PT and !PT.
pub(crate) fn guard_of(pred: Operand) -> Option<Guard> {
    pred.as_reg().map(|reg| Guard { pred: reg, negated: pred.is_not() })
}

/// Whether the operand takes the one slot of a form that holds immediates and constants.
fn takes_slot(inst: &Inst, at: usize) -> bool {
    let spec = &inst.opcode.signature()[at];
    let shared_slot = spec.kinds.contains(Kinds::R.with(Kinds::IMM));
    shared_slot
        && matches!(inst.operands[at].kind(), OperandKind::Imm(..) | OperandKind::Const { .. } | OperandKind::Symbol(_))
}

/// Whether it reads a constant bank at an index, which faults where that is wrong: what threads have there that the guard keeps out
/// may be anything.
fn is_indexed(inst: &Inst) -> bool {
    inst.opcode == Opcode::LDC && inst.operand(Role::Base).is_some_and(|base| base != Operand::rz())
}

/// Whether the instruction takes constants as one of its many source kinds (LDC and ULDC take nothing else).
fn is_alu(inst: &Inst) -> bool {
    inst.opcode.signature().iter().any(|spec| spec.kinds.contains(Kinds::R.with(Kinds::CONST)))
}
