//! Functions: blocks, instructions, registers, side tables. All is read here; what is code, is changed by the [`Editor`].

use crate::call::CallSite;
use crate::entity::{Block, CallId, InstId, LocId, SymRef, Symbol, VReg};
use crate::error::BuildError;
use crate::inst::Inst;
use crate::operand::{MAX_INDEX, Operand};
use crate::reg::{RegType, VRegData, VRegFlags};
use crate::tuple::Tuples;
use cranelift_entity::PrimaryMap;
use oriole_checkpoint::checkpoint;
use oriole_isa::{Opcode, RegFile, Role};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Index;

mod declaration;
mod def_use;
mod edit;
mod named;

pub(crate) use declaration::WARP;
pub use declaration::{Attributes, Frame, FunctionKind, JumpTable, Literals, Param};
pub use def_use::DefUse;
pub use edit::Editor;

/// Which part of a symbol's address an operand takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolPart {
    /// The lower 32 bits.
    Low,
    /// The upper 32 bits.
    High,
    /// The code address relative to the instruction: CALL, BRA to a function.
    Relative,
    /// The whole address as the field holds it (shared and constant offsets).
    Whole,
}

/// An entry of the pool of symbol references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SymbolRef {
    /// Whose address.
    pub symbol: Symbol,
    /// Added to it.
    pub addend: i64,
    /// Which part.
    pub part: SymbolPart,
}

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceLoc {
    /// Index into [`crate::Module::files`].
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
}

/// A basic block: instructions and successors.
///
/// Control flow, in full: a block may end in unguarded BRA, BRX, JMP, EXIT, RET, KILL…, or in a guarded
/// one followed by the fall-through, or in none at all. `succs` lists the targets of the branch
/// operands in order, then the fall-through if there is one. The fall-through need not be the next
/// block of the layout; [`crate::layout::make_fallthroughs_explicit`] adds the BRA at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockData {
    /// Instructions in order.
    pub insts: Vec<InstId>,
    /// Successors: branch targets, then the fall-through.
    pub succs: SmallVec<[Block; 2]>,
}

/// How often parts of a function have changed: what was worked out from a part holds while its number stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epochs {
    /// Blocks, their order and edges.
    pub flow: u32,
    /// Instructions and their places.
    pub insts: u32,
    /// Registers and what is said of them.
    pub regs: u32,
}

/// A function. Its code is changed by an [`Editor`] alone.
#[derive(Clone, Debug)]
pub struct Function {
    name: String,
    kind: FunctionKind,
    params: Vec<Param>,
    attributes: Attributes,
    frame: Frame,
    literals: Literals,
    jump_tables: Vec<JumpTable>,
    /// Blocks, also removed ones; `layout` says which exist.
    blocks: PrimaryMap<Block, BlockData>,
    layout: Vec<Block>,
    /// Instructions, also removed ones; the blocks say which exist.
    insts: PrimaryMap<InstId, Inst>,
    vregs: PrimaryMap<VReg, VRegData>,
    live_in: Vec<VReg>,
    symrefs: PrimaryMap<SymRef, SymbolRef>,
    calls: PrimaryMap<CallId, CallSite>,
    locs: PrimaryMap<LocId, SourceLoc>,
    first_value: Option<VReg>,
    epochs: Epochs,
    def_use: Option<Box<DefUse>>,
    tuples: Tuples,
    fixed: FxHashMap<(RegType, u16), VReg>,
    symref_index: FxHashMap<SymbolRef, SymRef>,
    notes: Vec<String>,
}

impl Function {
    /// An empty function without blocks.
    pub fn new(name: &str, kind: FunctionKind) -> Self {
        Function {
            name: name.to_owned(),
            kind,
            params: Vec::new(),
            attributes: Attributes::default(),
            frame: Frame::default(),
            literals: Literals::default(),
            jump_tables: Vec::new(),
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            insts: PrimaryMap::new(),
            vregs: PrimaryMap::new(),
            live_in: Vec::new(),
            symrefs: PrimaryMap::new(),
            calls: PrimaryMap::new(),
            locs: PrimaryMap::new(),
            first_value: None,
            epochs: Epochs::default(),
            def_use: None,
            tuples: Tuples::default(),
            fixed: FxHashMap::default(),
            notes: Vec::new(),
            symref_index: FxHashMap::default(),
        }
    }

    /// Changes its code.
    #[inline]
    pub fn edit(&mut self) -> Editor<'_> {
        Editor(self)
    }

    /// How often its parts have changed.
    #[inline]
    pub fn epochs(&self) -> Epochs {
        self.epochs
    }

    // ---- what it is to the outside ----

    /// Its name.
    #[inline]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is.
    #[inline]
    pub fn kind(&self) -> FunctionKind {
        self.kind
    }

    /// Parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Add a parameter behind the others.
    pub fn add_param(&mut self, param: Param) {
        self.params.push(param);
    }

    /// Directives.
    #[inline]
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Directives, to be changed.
    pub fn attributes_mut(&mut self) -> &mut Attributes {
        &mut self.attributes
    }

    /// Local memory.
    #[inline]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Local memory, to be changed.
    pub fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    /// Constants in the kernel's own bank.
    #[inline]
    pub fn literals(&self) -> &Literals {
        &self.literals
    }

    /// Constants in the kernel's own bank, to be changed.
    pub fn literals_mut(&mut self) -> &mut Literals {
        &mut self.literals
    }

    /// Tables of jumps by index.
    #[inline]
    pub fn jump_tables(&self) -> &[JumpTable] {
        &self.jump_tables
    }

    /// Tables of jumps by index, to be changed.
    pub fn jump_tables_mut(&mut self) -> &mut Vec<JumpTable> {
        &mut self.jump_tables
    }

    /// The table that an instruction jumps by, if it is a `BRX`.
    pub fn jump_table_of(&self, inst: &Inst) -> Option<&JumpTable> {
        // This is asked of every instruction.
        if self.jump_tables.is_empty() || inst.opcode != Opcode::BRX || !inst.is_machine() {
            return None;
        }
        let at = inst.position(Role::Offset)?;
        self.jump_tables.get(inst.operands[at].as_imm()? as usize)
    }

    // ---- code ----

    /// Order of the blocks; the first is the entry.
    #[inline]
    pub fn layout(&self) -> &[Block] {
        &self.layout
    }

    /// Blocks, also removed ones: the layout says which exist.
    #[inline]
    pub fn blocks(&self) -> &PrimaryMap<Block, BlockData> {
        &self.blocks
    }

    /// Instructions, also removed ones: the blocks say which exist.
    #[inline]
    pub fn insts(&self) -> &PrimaryMap<InstId, Inst> {
        &self.insts
    }

    /// The first block of the layout.
    #[inline]
    pub fn entry(&self) -> Option<Block> {
        self.layout.first().copied()
    }

    /// Number of instructions in the layout.
    pub fn inst_count(&self) -> usize {
        self.layout.iter().map(|b| self.blocks[*b].insts.len()).sum()
    }

    /// Instructions of a block.
    #[inline]
    pub fn block_insts(&self, block: Block) -> &[InstId] {
        checkpoint(1);
        &self.blocks[block].insts
    }

    /// The MovPhis at the start of a block.
    pub fn phis(&self, block: Block) -> &[InstId] {
        let insts = self.block_insts(block);
        let count = insts.iter().take_while(|id| self.insts[**id].is_phi()).count();
        &insts[..count]
    }

    /// Successors of a block: branch targets, then the fall-through.
    #[inline]
    pub fn succs(&self, block: Block) -> &[Block] {
        &self.blocks[block].succs
    }

    /// Every instruction of the layout with its block, in order.
    #[inline]
    pub fn iter_insts(&self) -> impl Iterator<Item = (Block, InstId)> + '_ {
        self.layout.iter().flat_map(|b| self.block_insts(*b).iter().map(|i| (*b, *i)))
    }

    // ---- registers ----

    /// Virtual registers.
    #[inline]
    pub fn regs(&self) -> &PrimaryMap<VReg, VRegData> {
        &self.vregs
    }

    /// Registers that have a value on entry (parameters in registers, the return address).
    pub fn live_in(&self) -> &[VReg] {
        &self.live_in
    }

    /// In SSA form, the first register that is a value: it and those after it have one definition each.
    /// `None` outside of SSA form.
    #[inline]
    pub fn first_value(&self) -> Option<VReg> {
        self.first_value
    }

    /// Whether the register is a value of SSA form: it has one definition, which dominates its uses.
    #[inline]
    pub fn is_value(&self, reg: VReg) -> bool {
        self.first_value.is_some_and(|first| reg >= first)
            && self.vregs.get(reg).is_some_and(|data| !data.is_fixed() && data.file() != RegFile::B)
    }

    /// Definitions and uses, where they are kept ([`Editor::keep_def_use`]).
    #[inline]
    pub fn def_use(&self) -> Option<&DefUse> {
        self.def_use.as_deref()
    }

    /// The instruction that defines a value, where definitions are kept.
    #[inline]
    pub fn definition(&self, value: VReg) -> Option<InstId> {
        self.def_use.as_ref()?.definition(value)
    }

    /// A fresh virtual register.
    pub fn new_vreg(&mut self, reg_type: RegType) -> Result<VReg, BuildError> {
        self.add_vreg(VRegData::new(reg_type))
    }

    /// A fresh group of `components` consecutive R registers, its first number a multiple of `align`.
    pub fn new_group(&mut self, components: u8, align: u8) -> Result<VReg, BuildError> {
        self.add_vreg(VRegData::group(components, align))
    }

    /// A fresh group of `components` consecutive uniform registers, as [`Self::new_group`].
    pub fn new_uniform_group(&mut self, components: u8, align: u8) -> Result<VReg, BuildError> {
        self.add_vreg(VRegData::group_of(RegType::UrGroup, components, align))
    }

    /// A fresh register like `reg`: type, width and alignment, not its assignment.
    pub fn new_vreg_like(&mut self, reg: VReg) -> Result<VReg, BuildError> {
        let VRegData { reg_type, components, align, .. } = self.vregs[reg];
        let data =
            if reg_type.is_group() { VRegData::group_of(reg_type, components, align) } else { VRegData::new(reg_type) };
        self.add_vreg(data)
    }

    /// Add a register with its descriptor.
    pub fn add_vreg(&mut self, data: VRegData) -> Result<VReg, BuildError> {
        if self.vregs.len() >= MAX_INDEX {
            return Err(BuildError::TooManyRegisters { function: self.name.clone() });
        }
        if let (true, Some(number)) = (data.is_fixed(), data.physical) {
            let reg = VReg::from_u32(self.vregs.len() as u32);
            self.fixed.entry((data.reg_type, number)).or_insert(reg);
        }
        self.epochs.regs += 1;
        Ok(self.vregs.push(data))
    }

    /// The virtual register that stands for physical register `number` (and those after it, for wide
    /// types). One per type and number.
    pub fn fixed_vreg(&mut self, reg_type: RegType, number: u16) -> Result<VReg, BuildError> {
        if let Some(reg) = self.fixed.get(&(reg_type, number)) {
            return Ok(*reg);
        }
        let mut data = VRegData::new(reg_type);
        data.flags |= VRegFlags::FIXED;
        data.physical = Some(number);
        self.add_vreg(data)
    }

    /// The register that [`Function::fixed_vreg`] made for a type and number, if it did.
    pub fn fixed_vreg_of(&self, reg_type: RegType, number: u16) -> Option<VReg> {
        self.fixed.get(&(reg_type, number)).copied()
    }

    /// The physical registers that an operand names: file, first number, how many. `None` for
    /// operands that are no register and for registers without assignment.
    #[inline]
    pub fn physical(&self, operand: Operand) -> Option<(RegFile, u16, u8)> {
        use crate::operand::OperandKind;
        if let Some((reg, piece)) = operand.as_piece() {
            let data = &self.vregs[reg];
            let range = piece.range(data.components);
            return data.physical.map(|base| (data.file(), base + u16::from(range.start), range.len() as u8));
        }
        match operand.kind() {
            OperandKind::Phys { file, number, count } => Some((file, number, count)),
            OperandKind::Guard { pred: reg, .. } | OperandKind::ConstBindless { handle: reg, .. } => {
                let data = &self.vregs[reg];
                data.physical.map(|base| (data.file(), base, data.components))
            }
            _ => None,
        }
    }

    // ---- side tables ----

    /// The operand that stands for (part of) a symbol's address.
    pub fn symbol_operand(&mut self, symbol: Symbol, addend: i64, part: SymbolPart) -> Result<Operand, BuildError> {
        let entry = SymbolRef { symbol, addend, part };
        if let Some(reference) = self.symref_index.get(&entry) {
            return Ok(Operand::symbol(*reference));
        }
        if self.symrefs.len() >= MAX_INDEX {
            return Err(BuildError::TooManySymbols { function: self.name.clone() });
        }
        let reference = self.symrefs.push(entry);
        self.symref_index.insert(entry, reference);
        Ok(Operand::symbol(reference))
    }

    /// A number of a source location: that of the last one if it is the same.
    pub fn source_loc(&mut self, loc: SourceLoc) -> LocId {
        match self.locs.last() {
            Some((id, last)) if *last == loc => id,
            _ => self.locs.push(loc),
        }
    }

    /// Pool of symbol references.
    pub fn symbol_refs(&self) -> &PrimaryMap<SymRef, SymbolRef> {
        &self.symrefs
    }

    /// Call sites, also of removed instructions.
    pub fn call_sites(&self) -> &PrimaryMap<CallId, CallSite> {
        &self.calls
    }

    /// What the user should know of what was made of it.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// One thing more that the user should know.
    pub fn add_note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Source locations.
    pub fn source_locs(&self) -> &PrimaryMap<LocId, SourceLoc> {
        &self.locs
    }
}

impl Index<InstId> for Function {
    type Output = Inst;

    #[inline]
    fn index(&self, at: InstId) -> &Inst {
        &self.insts[at]
    }
}

impl Index<VReg> for Function {
    type Output = VRegData;

    #[inline]
    fn index(&self, at: VReg) -> &VRegData {
        &self.vregs[at]
    }
}

impl Index<CallId> for Function {
    type Output = CallSite;

    #[inline]
    fn index(&self, at: CallId) -> &CallSite {
        &self.calls[at]
    }
}

impl Index<SymRef> for Function {
    type Output = SymbolRef;

    #[inline]
    fn index(&self, at: SymRef) -> &SymbolRef {
        &self.symrefs[at]
    }
}

impl Index<LocId> for Function {
    type Output = SourceLoc;

    #[inline]
    fn index(&self, at: LocId) -> &SourceLoc {
        &self.locs[at]
    }
}
