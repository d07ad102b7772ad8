//! Functions: blocks, instructions, registers, side tables.

use crate::call::CallSite;
use crate::entity::{Block, CallId, InstId, LocId, SymRef, Symbol, VReg};
use crate::error::BuildError;
use crate::inst::Inst;
use crate::operand::{MAX_INDEX, Operand};
use crate::reg::{RegType, VRegData, VRegFlags};
use crate::tuple::Tuples;
use cranelift_entity::PrimaryMap;
use oriole_isa::RegFile;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// What a function is to the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// A kernel (`.entry`).
    Entry,
    /// A device function (`.func`), called with the standard interface.
    Device,
    /// A routine that the compiler itself brings (division, square root).
    Internal,
}

/// A kernel parameter in constant bank 0, or a device function's in the ABI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Byte offset from the start of the parameters.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
}

/// Launch and resource directives of a function; `None` and zero: not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `.maxntid`: most threads in x, y, z.
    pub maxntid: Option<[u32; 3]>,
    /// `.reqntid`: exact threads in x, y, z.
    pub reqntid: Option<[u32; 3]>,
    /// `.minnctapersm`: blocks that must fit on an SM.
    pub minnctapersm: Option<u32>,
    /// `.maxnreg`: most registers per thread.
    pub maxnreg: Option<u32>,
    /// `.reqnctapercluster`: blocks of a cluster in x, y, z.
    pub cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`.
    pub max_cluster_rank: Option<u32>,
    /// `.explicitcluster`.
    pub explicit_cluster: bool,
    /// `.noreturn`.
    pub noreturn: bool,
    /// Named barriers used: the highest number plus one.
    pub barriers: u32,
    /// Of a kernel: bytes of static shared memory that it and its callees use; dynamic shared memory follows.
    pub shared_bytes: u32,
    /// Tensor memory is accessed or allocated.
    pub tensor_memory: bool,
    /// Blocks that work on tensor memory together (`.cta_group`): 1 or 2.
    pub tensor_blocks: Option<u32>,
    /// Tensor memory is allocated, given back, or the right to allocate is: the driver opens the book of it, in the
    /// shared memory that the system keeps, before the first instruction.
    pub tensor_book: bool,
}

/// The function's part of local memory, below the stack pointer R1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of local arrays (the depot), from the stack pointer up.
    pub local_bytes: u32,
    /// Bytes of spill slots, after the local arrays.
    pub spill_bytes: u32,
    /// Alignment of the frame in bytes.
    pub align: u32,
    /// The code moves R1 (`alloca`), so a copy of its first value addresses the frame.
    pub dynamic: bool,
}

impl Frame {
    /// Number of the general register that addresses the frame: R1, or R2 in a dynamic frame. It has one value
    /// from the prologue on.
    pub fn base(&self) -> u16 {
        if self.dynamic { 2 } else { 1 }
    }

    /// All bytes, rounded up to the alignment.
    pub fn size(&self) -> u32 {
        (self.local_bytes + self.spill_bytes).next_multiple_of(self.align.max(1))
    }
}

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

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: FunctionKind,
    /// Parameters, in order.
    pub params: Vec<Param>,
    /// Directives.
    pub attributes: Attributes,
    /// Local memory.
    pub frame: Frame,
    /// Blocks, also removed ones; `layout` says which exist.
    pub blocks: PrimaryMap<Block, BlockData>,
    /// Order of the blocks; the first is the entry.
    pub layout: Vec<Block>,
    /// Instructions, also removed ones; the blocks say which exist.
    pub insts: PrimaryMap<InstId, Inst>,
    /// Virtual registers.
    pub vregs: PrimaryMap<VReg, VRegData>,
    /// Registers that have a value on entry (parameters in registers, the return address).
    pub live_in: Vec<VReg>,
    /// Pool of symbol references.
    pub symrefs: PrimaryMap<SymRef, SymbolRef>,
    /// Call sites.
    pub calls: PrimaryMap<CallId, CallSite>,
    /// Source locations.
    pub locs: PrimaryMap<LocId, SourceLoc>,
    /// In SSA form, the first register that is a value: it and those after it have one definition each.
    /// `None` outside of SSA form.
    pub first_value: Option<VReg>,
    pub(crate) tuples: Tuples,
    pub(crate) fixed: FxHashMap<(RegType, u16), VReg>,
    symref_index: FxHashMap<SymbolRef, SymRef>,
    loc_index: FxHashMap<SourceLoc, LocId>,
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
            blocks: PrimaryMap::new(),
            layout: Vec::new(),
            insts: PrimaryMap::new(),
            vregs: PrimaryMap::new(),
            live_in: Vec::new(),
            symrefs: PrimaryMap::new(),
            calls: PrimaryMap::new(),
            locs: PrimaryMap::new(),
            first_value: None,
            tuples: Tuples::default(),
            fixed: FxHashMap::default(),
            symref_index: FxHashMap::default(),
            loc_index: FxHashMap::default(),
        }
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
        &self.blocks[block].insts
    }

    /// Successors of a block: branch targets, then the fall-through.
    #[inline]
    pub fn succs(&self, block: Block) -> &[Block] {
        &self.blocks[block].succs
    }

    /// Every instruction of the layout with its block, in order.
    #[inline]
    pub fn iter_insts(&self) -> impl Iterator<Item = (Block, InstId)> + '_ {
        self.layout.iter().flat_map(|b| self.blocks[*b].insts.iter().map(|i| (*b, *i)))
    }

    // ---- registers ----

    /// Whether the register is a value of SSA form: it has one definition, which dominates its uses.
    #[inline]
    pub fn is_value(&self, reg: VReg) -> bool {
        self.first_value.is_some_and(|first| reg >= first)
            && self.vregs.get(reg).is_some_and(|data| !data.is_fixed() && data.file() != RegFile::B)
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
        match operand.kind() {
            OperandKind::Phys { file, number, count } => Some((file, number, count)),
            OperandKind::Reg(reg, piece) => {
                let data = &self.vregs[reg];
                let range = piece.range(data.components);
                data.physical.map(|base| (data.file(), base + u16::from(range.start), range.len() as u8))
            }
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

    /// The number of a source location.
    pub fn source_loc(&mut self, loc: SourceLoc) -> LocId {
        let locs = &mut self.locs;
        *self.loc_index.entry(loc).or_insert_with(|| locs.push(loc))
    }

    // ---- control flow ----

    /// A fresh block at the end of the layout.
    pub fn new_block(&mut self) -> Result<Block, BuildError> {
        let block = self.new_detached_block()?;
        self.layout.push(block);
        Ok(block)
    }

    /// A fresh block right after `after` in the layout.
    pub fn new_block_after(&mut self, after: Block) -> Result<Block, BuildError> {
        let block = self.new_detached_block()?;
        let at = self.layout.iter().position(|b| *b == after).map_or(self.layout.len(), |at| at + 1);
        self.layout.insert(at, block);
        Ok(block)
    }

    /// A fresh block that is not in the layout yet.
    pub fn new_detached_block(&mut self) -> Result<Block, BuildError> {
        if self.blocks.len() >= MAX_INDEX {
            return Err(BuildError::TooManyBlocks { function: self.name.clone() });
        }
        Ok(self.blocks.push(BlockData::default()))
    }

    /// Add an instruction to the table, in no block yet.
    pub fn add_inst(&mut self, inst: Inst) -> InstId {
        self.insts.push(inst)
    }

    /// Append an instruction to a block.
    pub fn append(&mut self, block: Block, inst: Inst) -> InstId {
        let id = self.insts.push(inst);
        self.blocks[block].insts.push(id);
        id
    }

    /// Rebuild a block's instruction list in one pass: `rewrite` gets the function, the instruction
    /// and the new list, and pushes what shall stand in its place (nothing, itself, others).
    pub fn rewrite_block(&mut self, block: Block, mut rewrite: impl FnMut(&mut Function, InstId, &mut Vec<InstId>)) {
        let old = std::mem::take(&mut self.blocks[block].insts);
        let mut new = Vec::with_capacity(old.len());
        for id in old {
            rewrite(self, id, &mut new);
        }
        self.blocks[block].insts = new;
    }

    /// Keep the instructions of a block for which `keep` says so.
    pub fn retain_insts(&mut self, block: Block, mut keep: impl FnMut(&Function, InstId) -> bool) {
        let mut list = std::mem::take(&mut self.blocks[block].insts);
        list.retain(|id| keep(self, *id));
        self.blocks[block].insts = list;
    }

    /// Redirect the edges `from → old` to `new`: successors and branch operands.
    pub fn redirect(&mut self, from: Block, old: Block, new: Block) {
        for succ in &mut self.blocks[from].succs {
            if *succ == old {
                *succ = new;
            }
        }
        for id in self.blocks[from].insts.clone() {
            let inst = &mut self.insts[id];
            if crate::terminator::is_terminator(inst) {
                for operand in &mut inst.operands {
                    if operand.as_block() == Some(old) {
                        *operand = Operand::block(new);
                    }
                }
            }
        }
    }

    /// Put a fresh empty block on the edge `from → to`, right after `from` in the layout. MovPhi
    /// operands in `to` that name `from` then name the new block.
    pub fn split_edge(&mut self, from: Block, to: Block) -> Result<Block, BuildError> {
        let middle = self.new_block_after(from)?;
        self.redirect(from, to, middle);
        self.blocks[middle].succs.push(to);
        for id in self.blocks[to].insts.clone() {
            let inst = &mut self.insts[id];
            if !inst.is_phi() {
                break;
            }
            for operand in &mut inst.operands {
                if operand.as_block() == Some(from) {
                    *operand = Operand::block(middle);
                }
            }
        }
        Ok(middle)
    }

    /// Cut a block before instruction `at` of its list: the rest, with the successors, moves to a
    /// fresh block that follows it.
    pub fn split_block(&mut self, block: Block, at: usize) -> Result<Block, BuildError> {
        let rest = self.new_block_after(block)?;
        let data = &mut self.blocks[block];
        let tail = data.insts.split_off(at.min(data.insts.len()));
        let succs = std::mem::replace(&mut data.succs, SmallVec::from_slice(&[rest]));
        for succ in &succs {
            self.rename_phi_pred(*succ, block, rest);
        }
        self.blocks[rest] = BlockData { insts: tail, succs };
        Ok(rest)
    }

    /// In the MovPhis at the start of `block`, name predecessor `new` instead of `old`.
    pub fn rename_phi_pred(&mut self, block: Block, old: Block, new: Block) {
        for id in self.blocks[block].insts.clone() {
            let inst = &mut self.insts[id];
            if !inst.is_phi() {
                break;
            }
            for operand in &mut inst.operands {
                if operand.as_block() == Some(old) {
                    *operand = Operand::block(new);
                }
            }
        }
    }

    /// Take a block out of the layout. Its edges are the caller's business.
    pub fn remove_block(&mut self, block: Block) {
        self.layout.retain(|b| *b != block);
        self.blocks[block] = BlockData::default();
    }
}
