//! Functions at machine level.

use cranelift_entity::{PrimaryMap, entity_impl};
use oriole_ptx::ast::{ScalarType, Sym};
use smallvec::SmallVec;

use super::class::RegClass;
use super::form::{Effects, Forms};
use super::inst::{Asm, AsmId, Call, CallId, Inst, Opcode, Operand, ParamDecl};
use super::reg::VReg;

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(u32);
entity_impl!(BlockId, "bb");

/// `dst = phi(…)`: gone after the way out of SSA.
#[derive(Clone, PartialEq, Debug)]
pub struct Phi {
    /// The register that gets the value.
    pub dst: VReg,
    /// From each predecessor, in any order, its value: a register or a constant.
    pub incoming: SmallVec<[(BlockId, Operand); 2]>,
}

/// How a block ends.
#[derive(Clone, PartialEq, Debug)]
pub enum Terminator {
    /// To one block.
    Goto(BlockId),
    /// By a predicate; with `negated`, to `then` when it is false.
    Branch {
        /// The predicate.
        pred: VReg,
        /// Reads it the other way round.
        negated: bool,
        /// Where to if so.
        then: BlockId,
        /// Where to otherwise.
        otherwise: BlockId,
    },
    /// `brx.idx`: the index is known to be within the table.
    Table {
        /// The index, a 32-bit register.
        index: VReg,
        /// The targets.
        targets: Vec<BlockId>,
    },
    /// `ret`, of a kernel or function.
    Ret,
    /// `exit`: of the thread, behind what never returns.
    Exit,
    /// `trap`, then `exit`.
    Trap,
}

/// A basic block.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// The `phi`s.
    pub phis: Vec<Phi>,
    /// The instructions.
    pub insts: Vec<Inst>,
    /// How it ends.
    pub terminator: Terminator,
}

/// The local frame: `__local_depot`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// Bytes; 0 when there is no frame.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u32,
}

/// A kernel or device function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Sym,
    /// `.entry`
    pub is_entry: bool,
    /// The class of each virtual register.
    pub regs: PrimaryMap<VReg, RegClass>,
    /// Blocks.
    pub blocks: PrimaryMap<BlockId, Block>,
    /// The blocks in order of emission; the first is the entry.
    pub layout: Vec<BlockId>,
    /// The local frame.
    pub frame: Frame,
    /// Names and shapes of the parameters.
    pub params: Vec<(Sym, ParamDecl)>,
    /// Name and shape of the `.param` that returns the result.
    pub ret: Option<(Sym, ParamDecl)>,
    /// Calls.
    pub calls: PrimaryMap<CallId, Call>,
    /// Inline assembly.
    pub asms: PrimaryMap<AsmId, Asm>,
}

impl Terminator {
    /// Calls `f` with each block that may follow; a block may come twice.
    pub fn for_each_successor(&self, mut f: impl FnMut(BlockId)) {
        match self {
            Terminator::Goto(to) => f(*to),
            Terminator::Branch { then, otherwise, .. } => {
                f(*then);
                f(*otherwise);
            }
            Terminator::Table { targets, .. } => targets.iter().copied().for_each(f),
            Terminator::Ret | Terminator::Exit | Terminator::Trap => {}
        }
    }

    /// Calls `f` with each block that may follow, to change it.
    pub fn for_each_successor_mut(&mut self, mut f: impl FnMut(&mut BlockId)) {
        match self {
            Terminator::Goto(to) => f(to),
            Terminator::Branch { then, otherwise, .. } => {
                f(then);
                f(otherwise);
            }
            Terminator::Table { targets, .. } => targets.iter_mut().for_each(f),
            Terminator::Ret | Terminator::Exit | Terminator::Trap => {}
        }
    }

    /// The register that is read.
    #[must_use]
    pub fn used(&self) -> Option<VReg> {
        match self {
            Terminator::Branch { pred, .. } => Some(*pred),
            Terminator::Table { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// The register that is read, to change it.
    pub fn used_mut(&mut self) -> Option<&mut VReg> {
        match self {
            Terminator::Branch { pred, .. } => Some(pred),
            Terminator::Table { index, .. } => Some(index),
            _ => None,
        }
    }
}

impl Function {
    /// A function without blocks.
    #[must_use]
    pub fn new(name: Sym, is_entry: bool) -> Function {
        Function {
            name,
            is_entry,
            regs: PrimaryMap::new(),
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            frame: Frame { bytes: 0, align: 1 },
            params: Vec::new(),
            ret: None,
            calls: PrimaryMap::new(),
            asms: PrimaryMap::new(),
        }
    }

    /// Makes the edge from one block to another lead to a third, which leads there alone: in the
    /// `phi`s of `to` it takes the place of `from`.
    pub fn redirect(&mut self, from: BlockId, to: BlockId, by: BlockId) {
        let change = |block: &mut BlockId, old, new| {
            if *block == old {
                *block = new;
            }
        };
        self.blocks[from].terminator.for_each_successor_mut(|target| change(target, to, by));
        for (pred, _) in self.blocks[to].phis.iter_mut().flat_map(|phi| &mut phi.incoming) {
            change(pred, from, by);
        }
    }

    /// What an instruction does besides computing its results.
    #[must_use]
    pub fn effects(&self, forms: &Forms, inst: &Inst) -> Effects {
        match inst.opcode {
            Opcode::Copy => Effects::empty(),
            Opcode::Form(form) => {
                let varies = inst.uses().iter().any(Operand::varies_by_itself);
                forms[form].effects | if varies { Effects::FIXED } else { Effects::empty() }
            }
            Opcode::Call(_) => Effects::all(),
            Opcode::Asm(asm) => {
                let Asm { side_effects, convergent, memory, .. } = self.asms[asm];
                let mut effects = Effects::empty();
                effects.set(Effects::FIXED, side_effects);
                effects.set(Effects::CONVERGENT, convergent);
                effects.set(Effects::READS | Effects::WRITES, memory);
                effects
            }
        }
    }

    /// For each register in turn, its number among those of its class that `used` says are used:
    /// the index of its encoding. Others keep `None`.
    #[must_use]
    pub fn number_by_class(&self, used: impl Fn(VReg) -> bool) -> PrimaryMap<VReg, Option<u32>> {
        let mut next = [0u32; 10];
        self.regs
            .iter()
            .map(|(reg, &class)| {
                used(reg).then(|| {
                    let number = next[class as usize];
                    next[class as usize] += 1;
                    number
                })
            })
            .collect()
    }
}

impl ParamDecl {
    /// A scalar parameter.
    #[must_use]
    pub const fn scalar(ty: ScalarType) -> ParamDecl {
        ParamDecl { bytes: None, ty, align: 0 }
    }

    /// An aggregate: an array of bytes.
    #[must_use]
    pub const fn aggregate(bytes: u64, align: u32) -> ParamDecl {
        ParamDecl { bytes: Some(bytes), ty: ScalarType::B8, align }
    }
}

impl Operand {
    /// The virtual registers of the operand, in order.
    #[must_use]
    pub fn vregs(&self) -> SmallVec<[VReg; 4]> {
        let mut found = SmallVec::new();
        self.for_each_reg(&mut |reg| found.extend(reg.vreg()));
        found
    }
}
