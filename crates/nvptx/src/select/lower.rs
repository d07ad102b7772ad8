//! One function: the backward walk.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use fixedbitset::FixedBitSet;
use oriole_ptx::ast::{Sym, SymbolTable};
use rustc_hash::FxHashSet;

use super::error::Error;
use super::legal::Vt;
use super::options::Options;
use super::word_table::{Part, Word, WordTable};
use crate::ir::{self, BlockId, Body, InstId, Op, Subnormals, SymbolId, TypeId, Value, ValueId};
use crate::machine::{self, Block, Forms, Inst, Operand, Phi, Terminator, VReg};
use oriole_checkpoint::checkpoint;

/// The state of the selection of one function.
pub(crate) struct Lower<'a> {
    pub(super) ir: &'a ir::Module,
    pub(super) source: &'a ir::Function,
    /// What the module says of all functions.
    pub(super) annotations: &'a ir::Annotations,
    /// Alignments of parameters by annotations.
    pub(super) aligns: &'a [(u32, u32)],
    /// `byval` parameters that are read where they are passed.
    pub(super) direct_params: FixedBitSet,
    /// Subnormals of `float` are flushed: by option or by an attribute of the function.
    pub(super) flushes: bool,
    pub(super) body: &'a Body,
    pub(super) options: &'a Options,
    pub(super) symbols: &'a mut SymbolTable,
    pub(super) names: &'a SecondaryMap<SymbolId, Option<Sym>>,
    pub(super) taken: &'a FxHashSet<Sym>,
    pub(super) forms: &'a mut Forms,
    pub(super) out: machine::Function,
    pub(super) words: WordTable,
    /// How often each value is read.
    pub(super) uses: SecondaryMap<ValueId, u32>,
    /// The block of each instruction.
    pub(super) block_of: SecondaryMap<InstId, Option<BlockId>>,
    /// The registers that something already selected reads.
    pub(super) demanded: FixedBitSet,
    /// Registers that are another one's bits: the definition writes that one instead.
    pub(super) retarget: SecondaryMap<VReg, Option<VReg>>,
    /// Loads that write a wider register: with its sign (true) or zeros in the upper bits.
    pub(super) extending: SecondaryMap<InstId, Option<(VReg, Vt, bool)>>,
    /// Where each `alloca` of constant size lies in the frame.
    pub(super) frame_offsets: SecondaryMap<InstId, Option<u64>>,
    /// What is being emitted for the current instruction, forwards.
    pub(super) sequence: Vec<Inst>,
    /// The instructions of the current block, backwards.
    reversed: Vec<Inst>,
    pub(super) blocks: SecondaryMap<BlockId, Option<machine::BlockId>>,
    /// Edges of the IR that leave from another machine block than that of their IR block.
    pub(super) moved_edges: Vec<MovedEdge>,
    /// What blocks compute at their ends for `phi`s behind them: generic addresses of variables.
    at_ends: Vec<(machine::BlockId, Vec<Inst>)>,
    /// Edges of the IR, from and to, that a branch on a constant never takes.
    pub(super) dropped_edges: Vec<(machine::BlockId, machine::BlockId)>,
    /// The machine block being selected.
    pub(super) current: machine::BlockId,
    pub(super) is_entry: bool,
    pub(super) text: String,
}

/// An edge whose source is not the machine block of the IR block that it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MovedEdge {
    /// The machine block of the IR block.
    pub(super) origin: machine::BlockId,
    /// The machine block that has the branch.
    pub(super) from: machine::BlockId,
    /// Where it goes.
    pub(super) to: machine::BlockId,
}

/// Selects one function.
pub(super) fn function(
    ir: &ir::Module,
    id: SymbolId,
    source: &ir::Function,
    body: &Body,
    machine: &mut machine::Module,
    annotations: &ir::Annotations,
    options: &Options,
) -> Result<machine::Function, Error> {
    let machine::Module { symbols, names, taken, forms, .. } = machine;
    let name = names[id].ok_or_else(|| Error::new("functions without a PTX name"))?;
    let is_entry = annotations.is_kernel(id);
    let mut lower = Lower {
        ir,
        source,
        aligns: annotations.aligns.get(&id).map_or(&[], Vec::as_slice),
        annotations,
        direct_params: FixedBitSet::new(),
        flushes: options.ftz || source.subnormals() == Subnormals::Flushed,
        body,
        options,
        symbols,
        names,
        taken,
        forms,
        out: machine::Function::new(name, is_entry),
        words: WordTable::default(),
        uses: body.use_counts(),
        block_of: SecondaryMap::with_capacity(body.inst_count()),
        demanded: FixedBitSet::new(),
        retarget: SecondaryMap::new(),
        extending: SecondaryMap::new(),
        frame_offsets: SecondaryMap::new(),
        sequence: Vec::new(),
        reversed: Vec::new(),
        blocks: SecondaryMap::with_capacity(body.block_count()),
        moved_edges: Vec::new(),
        at_ends: Vec::new(),
        dropped_edges: Vec::new(),
        current: machine::BlockId::new(0),
        is_entry,
        text: String::new(),
    };
    lower.run()?;
    Ok(lower.out)
}

impl Lower<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let order = reverse_postorder(self.body);
        if order.is_empty() {
            return Err(Error::new("functions whose body has no block"));
        }
        for &block in &order {
            let made =
                self.out.blocks.push(Block { phis: Vec::new(), insts: Vec::new(), terminator: Terminator::Exit });
            self.blocks[block] = Some(made);
            self.out.layout.push(made);
            for &inst in &self.body[block].insts {
                self.block_of[inst] = Some(block);
            }
        }
        self.declare_params()?;
        self.assign_words(&order)?;
        self.place_allocas(&order)?;
        self.demand_phis(&order)?;
        for &block in order.iter().rev() {
            self.block(block, block == order[0])?;
        }
        for (block, insts) in std::mem::take(&mut self.at_ends) {
            self.out.blocks[block].insts.extend(insts);
        }
        self.move_edges();
        Ok(())
    }

    /// What `phi`s read is needed from the start: the walk meets a loop's `phi` last.
    fn demand_phis(&mut self, order: &[BlockId]) -> Result<(), Error> {
        for &block in order {
            for &inst in &self.body[block].insts {
                let Op::Phi(incoming) = &self.body[inst].op else { break };
                for (_, value) in incoming {
                    for word in self.words_of(*value)? {
                        self.demand(word.part);
                    }
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, block: BlockId, first: bool) -> Result<(), Error> {
        // Every block of the order has a machine block.
        self.current = self.machine_block(block)?;
        let body = self.body;
        let insts = &body[block].insts;
        let mut phis_end = 0;
        for (at, &inst) in insts.iter().enumerate() {
            match body[inst].op {
                Op::Phi(_) => phis_end = at + 1,
                _ => break,
            }
        }
        for &inst in insts[phis_end..].iter().rev() {
            checkpoint(16);
            self.sequence.clear();
            let result = if body[inst].op.is_terminator() { self.terminator(inst) } else { self.inst(inst) };
            result.map_err(|error| Error { inst: Some(inst), ..error })?;
            self.finish_sequence(body[inst].loc, Some(inst));
        }
        self.sequence.clear();
        if first {
            self.load_params()?;
        }
        for &inst in &insts[..phis_end] {
            self.phi(inst)?;
        }
        self.finish_sequence(None.into(), None);
        self.reversed.reverse();
        self.out.blocks[self.current].insts = std::mem::take(&mut self.reversed);
        Ok(())
    }

    /// Appends what was emitted for one instruction to the block, last first.
    fn finish_sequence(&mut self, loc: PackedOption<ir::MetaId>, source: Option<InstId>) {
        while let Some(mut inst) = self.sequence.pop() {
            inst.loc = loc;
            inst.source = source.into();
            self.reversed.push(inst);
        }
    }

    pub(super) fn machine_block(&self, block: BlockId) -> Result<machine::BlockId, Error> {
        self.blocks[block].ok_or_else(|| Error::new("branches to blocks that do not exist"))
    }

    /// A `phi`: one machine `phi` per word; lanes that somebody wants are unpacked behind it.
    fn phi(&mut self, inst: InstId) -> Result<(), Error> {
        let body = self.body;
        let Op::Phi(incoming) = &body[inst].op else { return Ok(()) };
        let Some(value) = body[inst].result.expand() else { return Ok(()) };
        let words: Vec<Word> = self.words.get(value).to_vec();
        for (at, word) in words.iter().enumerate() {
            self.unpack(*word)?;
            let Part::Reg(dst) = word.part else { continue };
            if !self.demanded.contains(dst.index()) {
                continue;
            }
            let mut phi = Phi { dst, incoming: Default::default() };
            for (from, value) in incoming {
                let Some(from) = self.blocks[*from] else { continue };
                let part = self.words_of(*value)?.get(at).map_or(Part::Undef, |word| word.part);
                let operand = match part {
                    Part::Symbol(_, _, Some(_)) => self.address_at_end(from, Word { part, ..*word })?,
                    part => self.phi_operand(word.vt, part),
                };
                // An edge that is taken by two ways of a switch is one machine edge.
                if !phi.incoming.iter().any(|(known, _)| *known == from) {
                    phi.incoming.push((from, operand));
                }
            }
            self.out.blocks[self.current].phis.push(phi);
        }
        Ok(())
    }

    /// The generic address of a variable, computed at the end of a block.
    fn address_at_end(&mut self, block: machine::BlockId, word: Word) -> Result<Operand, Error> {
        let kept = std::mem::take(&mut self.sequence);
        let address = self.reg(word);
        let insts = std::mem::replace(&mut self.sequence, kept);
        self.at_ends.push((block, insts));
        Ok(address?.into())
    }

    /// What a `phi` reads: constants and addresses become moves at the end of the predecessor.
    fn phi_operand(&mut self, vt: Vt, part: Part) -> Operand {
        match part {
            Part::Reg(reg) => {
                self.demanded.grow_and_insert(reg.index());
                reg.into()
            }
            Part::Bits(bits) => super::legal::immediate(vt, bits),
            Part::Symbol(sym, offset, _) => Operand::Symbol(sym, offset),
            Part::Undef => super::legal::immediate(vt, 0),
        }
    }

    /// Selects one instruction, unless nobody needs it.
    fn inst(&mut self, inst: InstId) -> Result<(), Error> {
        let body = self.body;
        let data = &body[inst];
        let words: Vec<Word> = match data.result.expand() {
            Some(value) => self.words.get(value).to_vec(),
            None => Vec::new(),
        };
        // What only regroups words of others writes none.
        let own = |word: &&Word| self.defines(inst, **word) && self.is_wanted(**word);
        let wanted = self.extending[inst].is_some() || words.iter().any(|word| own(&word));
        if self.is_removable(inst) && !wanted {
            return Ok(());
        }
        let whole = matches!(data.op, Op::Binary(..) | Op::FNeg(..) | Op::Select(..) | Op::Call(..));
        for word in &words {
            self.demand_lanes(inst, *word);
            if whole && self.defines(inst, *word) && self.is_wanted(*word) && !self.is_from_lanes(*word) {
                // Lanes are taken from the packed word.
                self.demand(word.part);
            }
        }
        self.select(inst, &words)?;
        for word in words {
            if self.defines(inst, word) {
                self.pack_or_unpack(word)?;
            }
        }
        Ok(())
    }

    /// A packed word that is put together from its lanes reads them.
    fn demand_lanes(&mut self, inst: InstId, word: Word) {
        let Part::Reg(reg) = word.part else { return };
        if self.words.from_lanes[reg] && self.is_demanded(reg) && self.defines(inst, word) {
            for part in self.words.lanes(reg).unwrap_or([Part::Undef; 4]) {
                self.demand(part);
            }
        }
    }

    /// True when a word or one of its lanes is read.
    fn is_wanted(&self, word: Word) -> bool {
        let Part::Reg(reg) = word.part else { return false };
        let wanted = |part: &Part| matches!(part, Part::Reg(reg) if self.demanded.contains(reg.index()));
        self.demanded.contains(reg.index())
            || self.words.lanes(reg).is_some_and(|lanes| lanes[..word.vt.lanes()].iter().any(wanted))
    }

    fn select(&mut self, inst: InstId, words: &[Word]) -> Result<(), Error> {
        let body = self.body;
        let ty = body[inst].ty;
        match &body[inst].op {
            Op::Binary(op, flags, args) if op.is_float() => self.float_binary(*op, *flags, *args, words, inst),
            Op::Binary(op, flags, args) => self.integer_binary(*op, *flags, *args, ty, words),
            Op::FNeg(_, value) => self.float_negate(*value, words),
            Op::Cast(op, flags, value) => self.cast(*op, *flags, *value, ty, words),
            Op::ICmp(predicate, _, args) => self.compare_integers(*predicate, *args, words),
            Op::FCmp(predicate, _, args) => self.compare_floats(*predicate, *args, words),
            Op::Select(_, args) => self.select_value(*args, words),
            Op::Load { .. } => self.load(inst, words),
            Op::Store { .. } => self.store(inst),
            Op::Alloca { .. } => self.alloca(inst, words),
            Op::Gep { .. } => self.gep(inst, words),
            Op::CmpXchg { .. } => self.compare_exchange(inst, words),
            Op::AtomicRmw { .. } => self.atomic_rmw(inst, words),
            Op::Fence(ordering, scope) => self.fence(*ordering, *scope),
            // Its packed words are put together behind it.
            Op::InsertElement([_, _, index]) if self.const_index(*index).is_some() => Ok(()),
            Op::ExtractElement([_, index]) if self.const_index(*index).is_some() => Ok(()),
            Op::ExtractElement([vector, index]) => self.extract_dynamic(*vector, *index, words),
            Op::InsertElement([vector, value, index]) => self.insert_dynamic(*vector, *value, *index, words),
            Op::Call(call) => self.call(inst, call, words),
            Op::VaArg(_) => Err(Error::new("`va_arg` instructions")),
            // Only packed words of their own remain to be put together.
            Op::Freeze(_) | Op::ExtractValue(..) | Op::InsertValue(..) | Op::Shuffle(..) => Ok(()),
            Op::Phi(_) => Err(Error::new("`phi`s behind other instructions")),
            _ => Err(Error::new("terminators inside a block")),
        }
    }

    fn terminator(&mut self, inst: InstId) -> Result<(), Error> {
        let body = self.body;
        let terminator = match &body[inst].op {
            Op::Ret(None) => Terminator::Ret,
            Op::Ret(Some(value)) => {
                self.return_value(*value)?;
                Terminator::Ret
            }
            Op::Br(to) => Terminator::Goto(self.machine_block(*to)?),
            Op::CondBr(condition, [then, otherwise]) => {
                let (then, otherwise) = (self.machine_block(*then)?, self.machine_block(*otherwise)?);
                self.branch(*condition, then, otherwise)?
            }
            Op::Switch { value, default, cases } => self.switch(*value, *default, cases)?,
            Op::IndirectBr(..) => return Err(Error::new("`indirectbr` instructions")),
            Op::Unreachable => Terminator::Exit,
            _ => return Err(Error::new("blocks without a terminator")),
        };
        self.out.blocks[self.current].terminator = terminator;
        Ok(())
    }

    /// True when an instruction whose results nobody reads may go.
    fn is_removable(&self, inst: InstId) -> bool {
        match &self.body[inst].op {
            Op::Store { .. } | Op::CmpXchg { .. } | Op::AtomicRmw { .. } | Op::Fence(..) => false,
            Op::Load { volatile, ordering, .. } => !volatile && *ordering <= ir::Ordering::Unordered,
            Op::Call(call) => self.is_removable_call(call),
            op => !op.is_terminator(),
        }
    }

    pub(super) fn type_of(&self, value: Value) -> TypeId {
        self.body.type_of(value, &self.ir.constants)
    }

    /// The instruction that defines a value read once, in the block that is being selected: its
    /// user may take it over.
    pub(super) fn single_use(&self, value: Value) -> Option<(InstId, &Op)> {
        let id = value.local()?;
        let inst = self.body.def_inst(value)?;
        let here = self.block_of[inst].and_then(|block| self.blocks[block]) == Some(self.current);
        (self.uses[id] == 1 && here).then(|| (inst, &self.body[inst].op))
    }
}

/// The reachable blocks, each before those that it dominates.
fn reverse_postorder(body: &Body) -> Vec<BlockId> {
    let Some(&entry) = body.layout.first() else { return Vec::new() };
    let mut seen = FixedBitSet::with_capacity(body.block_count());
    let mut order = Vec::with_capacity(body.layout.len());
    let mut stack = vec![(entry, body.successors(entry), 0)];
    seen.insert(entry.index());
    while let Some((block, successors, at)) = stack.last_mut() {
        match successors.get(*at) {
            Some(&next) => {
                *at += 1;
                if !seen.put(next.index()) {
                    stack.push((next, body.successors(next), 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
