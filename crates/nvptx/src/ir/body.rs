//! The body of a function: values, instructions and blocks.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::constant::Constants;
use super::ids::{BlockId, ConstId, InstId, MetaId, Value, ValueId};
use super::inst::{Inst, Op};
use super::metadata::Attachment;
use super::types::TypeId;
use oriole_checkpoint::checkpoint;

/// Where a local value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueDef {
    /// Parameter `n`, counted from 0.
    Param(u32),
    /// The result of an instruction.
    Inst(InstId),
}

#[derive(Clone, Copy, Debug)]
struct ValueData {
    ty: TypeId,
    def: ValueDef,
}

/// A basic block: `phi`s first, a terminator last.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The instructions in order.
    pub insts: Vec<InstId>,
}

/// The body of a function. The first block of [`Body::layout`] is the entry.
#[derive(Clone, Debug, Default)]
pub struct Body {
    values: PrimaryMap<ValueId, ValueData>,
    insts: PrimaryMap<InstId, Inst>,
    blocks: PrimaryMap<BlockId, Block>,
    /// The blocks in order of the text; blocks that are not here do not exist any more.
    pub layout: Vec<BlockId>,
    /// The parameters.
    pub params: Vec<ValueId>,
    /// Names of values, for dumps; values without one print their number.
    pub value_names: FxHashMap<ValueId, Box<str>>,
    /// Names of blocks.
    pub block_names: FxHashMap<BlockId, Box<str>>,
    /// Metadata attached to instructions, but for `!dbg`.
    pub attachments: FxHashMap<InstId, SmallVec<[(Attachment, MetaId); 2]>>,
}

impl std::ops::Index<InstId> for Body {
    type Output = Inst;

    fn index(&self, id: InstId) -> &Inst {
        &self.insts[id]
    }
}

impl std::ops::IndexMut<InstId> for Body {
    fn index_mut(&mut self, id: InstId) -> &mut Inst {
        &mut self.insts[id]
    }
}

impl std::ops::Index<BlockId> for Body {
    type Output = Block;

    fn index(&self, id: BlockId) -> &Block {
        &self.blocks[id]
    }
}

impl std::ops::IndexMut<BlockId> for Body {
    fn index_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.blocks[id]
    }
}

impl Body {
    /// Adds the next parameter.
    pub fn add_param(&mut self, ty: TypeId) -> ValueId {
        let def = ValueDef::Param(self.params.len() as u32);
        let id = self.values.push(ValueData { ty, def });
        self.params.push(id);
        id
    }

    /// Makes a block that has no place in [`Body::layout`] yet.
    pub fn make_block(&mut self) -> BlockId {
        self.blocks.push(Block::default())
    }

    /// Makes a block at the end of [`Body::layout`].
    pub fn add_block(&mut self) -> BlockId {
        let block = self.make_block();
        self.layout.push(block);
        block
    }

    /// Makes an instruction that stands in no block yet, and its result unless `ty` is `void`.
    pub fn make_inst(&mut self, op: Op, ty: TypeId) -> InstId {
        let inst = self.insts.push(Inst { op, ty, result: PackedOption::default(), loc: PackedOption::default() });
        if ty != TypeId::VOID {
            self.insts[inst].result = self.values.push(ValueData { ty, def: ValueDef::Inst(inst) }).into();
        }
        inst
    }

    /// Gives the result of an instruction another type, neither of them `void`.
    pub fn retype(&mut self, inst: InstId, ty: TypeId) {
        self.insts[inst].ty = ty;
        if let Some(value) = self.insts[inst].result.expand() {
            self.values[value].ty = ty;
        }
    }

    /// Makes an instruction at the end of `block`.
    pub fn push(&mut self, block: BlockId, op: Op, ty: TypeId) -> InstId {
        let inst = self.make_inst(op, ty);
        self.blocks[block].insts.push(inst);
        inst
    }

    /// The result of an instruction that has one.
    ///
    /// # Panics
    ///
    /// When its type is `void`.
    #[must_use]
    pub fn result(&self, inst: InstId) -> ValueId {
        self.insts[inst].result.expect("an instruction of a type other than void has a result")
    }

    /// Where a local value comes from.
    #[must_use]
    pub fn def(&self, value: ValueId) -> ValueDef {
        checkpoint(1);
        self.values[value].def
    }

    /// The instruction that a value is the result of.
    #[must_use]
    pub fn def_inst(&self, value: Value) -> Option<InstId> {
        checkpoint(1);
        match self.values[value.local()?].def {
            ValueDef::Inst(inst) => Some(inst),
            ValueDef::Param(_) => None,
        }
    }

    /// The operation that a value is the result of.
    #[must_use]
    pub fn def_op(&self, value: Value) -> Option<&Op> {
        self.def_inst(value).map(|inst| &self.insts[inst].op)
    }

    /// The type of a local value.
    #[must_use]
    pub fn local_type(&self, value: ValueId) -> TypeId {
        self.values[value].ty
    }

    /// The type of a value.
    #[must_use]
    pub fn type_of(&self, value: Value, constants: &Constants) -> TypeId {
        match value {
            Value::Local(id) => self.values[id].ty,
            Value::Const(id) => constants.ty(id),
        }
    }

    /// The last instruction of a block that is complete.
    #[must_use]
    pub fn terminator(&self, block: BlockId) -> Option<InstId> {
        self.blocks[block].insts.last().copied().filter(|&inst| self.insts[inst].op.is_terminator())
    }

    /// The blocks that `block` may go to, without repetition, in order of first mention.
    #[must_use]
    pub fn successors(&self, block: BlockId) -> SmallVec<[BlockId; 2]> {
        let mut found = SmallVec::new();
        if let Some(inst) = self.terminator(block) {
            self.insts[inst].op.for_each_successor(|next| {
                if !found.contains(&next) {
                    found.push(next);
                }
            });
        }
        found
    }

    /// For each block, the blocks that may go to it, without repetition.
    #[must_use]
    pub fn predecessors(&self) -> SecondaryMap<BlockId, SmallVec<[BlockId; 2]>> {
        let mut map: SecondaryMap<BlockId, SmallVec<[BlockId; 2]>> = SecondaryMap::with_capacity(self.blocks.len());
        for &block in &self.layout {
            for next in self.successors(block) {
                map[next].push(block);
            }
        }
        map
    }

    /// How often each local value is read.
    #[must_use]
    pub fn use_counts(&self) -> SecondaryMap<ValueId, u32> {
        let mut counts = SecondaryMap::with_capacity(self.values.len());
        for inst in self.layout.iter().flat_map(|&block| &self.blocks[block].insts) {
            self.insts[*inst].op.for_each_value(|value| {
                if let Value::Local(id) = value {
                    counts[id] += 1;
                }
            });
        }
        counts
    }

    /// Puts `map[v]` for every use of a local value `v` that the map has. Chains are followed.
    pub fn replace_values(&mut self, map: &FxHashMap<ValueId, Value>) {
        if map.is_empty() {
            return;
        }
        let resolve = |mut value: Value| {
            // A chain cannot be longer than the map, unless it is a circle of values without meaning.
            for _ in 0..=map.len() {
                match value.local().and_then(|id| map.get(&id)) {
                    Some(&next) => value = next,
                    None => break,
                }
            }
            value
        };
        for block in &self.layout {
            for &inst in &self.blocks[*block].insts {
                self.insts[inst].op.for_each_value_mut(|value| *value = resolve(*value));
            }
        }
    }

    /// Calls `f` with each type of a value or instruction, to change it: what moves a body into another module.
    pub fn for_each_type_mut(&mut self, mut f: impl FnMut(&mut TypeId)) {
        self.values.values_mut().for_each(|value| f(&mut value.ty));
        for inst in self.insts.values_mut() {
            f(&mut inst.ty);
            inst.op.for_each_type_mut(&mut f);
        }
    }

    /// Calls `f` with each constant that an instruction reads, to change it.
    pub fn for_each_constant_mut(&mut self, mut f: impl FnMut(&mut ConstId)) {
        for inst in self.insts.values_mut() {
            inst.op.for_each_value_mut(|value| {
                if let Value::Const(id) = value {
                    f(id);
                }
            });
        }
    }

    /// Calls `f` with each metadata node that an instruction names, to change it.
    pub fn for_each_node_mut(&mut self, mut f: impl FnMut(&mut MetaId)) {
        for inst in self.insts.values_mut() {
            if let Some(mut node) = inst.loc.expand() {
                f(&mut node);
                inst.loc = node.into();
            }
        }
        self.attachments.values_mut().flatten().for_each(|(_, node)| f(node));
    }

    /// The instructions that stand in blocks, in order of the layout.
    pub fn insts_in_order(&self) -> impl Iterator<Item = (BlockId, InstId)> + '_ {
        self.layout.iter().flat_map(|&block| self.blocks[block].insts.iter().map(move |&inst| (block, inst)))
    }

    /// The number of values ever made: the length of dense arrays by [`ValueId`].
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// The number of instructions ever made.
    #[must_use]
    pub fn inst_count(&self) -> usize {
        self.insts.len()
    }

    /// The number of blocks ever made.
    #[must_use]
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The metadata of kind `kind` attached to an instruction.
    #[must_use]
    pub fn attachment(&self, inst: InstId, kind: Attachment) -> Option<MetaId> {
        self.attachments.get(&inst)?.iter().find(|(name, _)| *name == kind).map(|(_, node)| *node)
    }

    /// The name of a value in LLVM text, without its `%`: its own, or its number among all values.
    #[must_use]
    pub fn value_name(&self, value: ValueId) -> String {
        self.value_names.get(&value).map_or_else(|| value.index().to_string(), ToString::to_string)
    }
}
