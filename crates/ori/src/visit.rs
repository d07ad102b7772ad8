//! Visitors over the virtual registers that an instruction touches.

use crate::analysis::Component;
use crate::entity::{Block, InstId, VReg};
use crate::function::Function;
use crate::operand::{Operand, OperandKind};
use oriole_checkpoint::checkpoint;
use oriole_isa::RegFile;
use std::ops::Range;

/// Where an instruction names a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// The guard predicate.
    Guard,
    /// Operand `i`.
    Operand(usize),
    /// Argument `i` of its call site.
    CallArg(usize),
    /// Result `i` of its call site.
    CallResult(usize),
}

/// One mention of a virtual register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegRef {
    /// The register.
    pub reg: VReg,
    /// The 32-bit components concerned.
    pub range: Range<u8>,
    /// Written rather than read.
    pub is_def: bool,
    /// The write happens only where the guard is true: the old value may stay.
    pub conditional: bool,
    /// Where the instruction names it.
    pub slot: Slot,
}

impl RegRef {
    /// The components, each with its register.
    pub fn components(&self) -> impl Iterator<Item = Component> + use<> {
        let reg = self.reg;
        self.range.clone().map(move |k| (reg, k))
    }
}

/// One mention of physical registers, for code that has been allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhysRef {
    /// The register file.
    pub file: RegFile,
    /// The first register.
    pub number: u16,
    /// How many consecutive registers.
    pub count: u8,
    /// Written rather than read.
    pub is_def: bool,
    /// Where the instruction names it.
    pub slot: Slot,
}

impl Function {
    /// Call `visit` for every mention of registers in `inst` as physical ones, reads first: guard,
    /// operands (physical ones too), bindless handles, arguments and results of its call site. Virtual
    /// registers without assignment are passed over; what a call clobbers is in its call site.
    pub fn for_each_phys(&self, inst: InstId, mut visit: impl FnMut(PhysRef)) {
        let data = &self[inst];
        let mut mention = |operand: Operand, is_def: bool, slot: Slot| {
            if let Some((file, number, count)) = self.physical(operand) {
                visit(PhysRef { file, number, count, is_def, slot });
            }
        };
        mention(data.guard_operand(), false, Slot::Guard);
        let is_read = |i: usize, o: Operand| data.is_use(i) || matches!(o.kind(), OperandKind::ConstBindless { .. });
        for (i, operand) in data.operands.iter().enumerate().filter(|(i, o)| is_read(*i, **o)) {
            mention(*operand, false, Slot::Operand(i));
        }
        let call = data.call.expand().map(|call| &self[call]);
        for (i, operand) in call.iter().flat_map(|c| c.args.iter().enumerate()) {
            mention(*operand, false, Slot::CallArg(i));
        }
        for (i, operand) in data.defs() {
            mention(operand, true, Slot::Operand(i));
        }
        for (i, operand) in call.iter().flat_map(|c| c.results.iter().enumerate()) {
            mention(*operand, true, Slot::CallResult(i));
        }
    }

    /// Call `visit` for every mention of a virtual register in `inst`: the guard and all reads first,
    /// then all writes. The sources of a MovPhi are reported as reads (see [`Function::phi_inputs`]).
    pub fn for_each_reg(&self, inst: InstId, mut visit: impl FnMut(RegRef)) {
        self.for_each_use(inst, &mut visit);
        self.for_each_def(inst, &mut visit);
    }

    /// The reads of `inst`, guard first.
    #[inline(always)]
    pub fn for_each_use(&self, inst: InstId, mut visit: impl FnMut(RegRef)) {
        checkpoint(1);
        let data = &self[inst];
        if let Some(guard) = data.guard() {
            visit(RegRef { reg: guard.pred, range: 0..1, is_def: false, conditional: false, slot: Slot::Guard });
        }
        let reads = data.reads();
        for (i, operand) in data.operands.iter().enumerate().filter(|(_, operand)| operand.names_registers()) {
            // A bindless constant's handle is read wherever it stands.
            if reads >> i.min(31) & 1 == 1 || operand.is_const_bank() {
                self.mention(*operand, false, false, Slot::Operand(i), &mut visit);
            }
        }
        if let Some(call) = data.call.expand() {
            for (i, operand) in self[call].args.iter().enumerate() {
                self.mention(*operand, false, false, Slot::CallArg(i), &mut visit);
            }
        }
    }

    /// The writes of `inst`.
    #[inline(always)]
    pub fn for_each_def(&self, inst: InstId, mut visit: impl FnMut(RegRef)) {
        let data = &self[inst];
        let partly = data.writes_partly();
        let olds = if partly { data.olds() } else { &[] };
        for (n, (i, operand)) in data.defs().enumerate() {
            // Where the old value is an operand, the result is a new one in full.
            let conditional = partly && olds.get(n).is_none_or(|old| old.is_none());
            self.mention(operand, true, conditional, Slot::Operand(i), &mut visit);
        }
        if let Some(call) = data.call.expand() {
            for (i, operand) in self[call].results.iter().enumerate() {
                self.mention(*operand, true, partly, Slot::CallResult(i), &mut visit);
            }
        }
    }

    // Every walk over code goes through here: called, it takes 2 % of all instructions of a compilation.
    #[inline(always)]
    fn mention(&self, operand: Operand, is_def: bool, conditional: bool, slot: Slot, visit: &mut impl FnMut(RegRef)) {
        if let Some((reg, piece)) = operand.as_piece() {
            let range = piece.range(self[reg].components);
            visit(RegRef { reg, range, is_def, conditional, slot });
        } else if let Some(tuple) = operand.as_tuple() {
            for &reg in self.tuple_values(tuple) {
                visit(RegRef { reg, range: 0..1, is_def, conditional, slot });
            }
        } else if let Some(reg) = operand.as_handle() {
            visit(RegRef { reg, range: 0..self[reg].components, is_def, conditional, slot });
        }
    }

    /// The (source, predecessor block) pairs of a MovPhi; nothing for other instructions.
    pub fn phi_inputs(&self, inst: InstId) -> impl Iterator<Item = (Operand, Block)> + '_ {
        let data = &self[inst];
        let inputs = if data.is_phi() { data.operands.get(1..).unwrap_or(&[]) } else { &[] };
        inputs.chunks_exact(2).filter_map(|pair| pair[1].as_block().map(|block| (pair[0], block)))
    }
}
