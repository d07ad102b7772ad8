//! Function bodies: blocks, value numbers, names, locations.

use cranelift_entity::{EntityRef, EntitySet};
use rustc_hash::FxHashMap;
use smallvec::smallvec;

use crate::ir::{BlockId, Body, Constant, InstId, MetaId, Op, SymbolId, TypeId, Value, ValueId, verify_body};

use super::LazyModule;
use super::codes::{block, function};
use super::error::{Error, Result};
use super::metadata_table::{Entry, Location};
use super::stream::{Block, BlockHead, Fields, Item, Record};
use super::type_table::TypeIndex;
use super::values::{Slot, What};

/// Reads one body.
pub(super) struct BodyReader<'m, 'a> {
    pub(super) module: &'m mut LazyModule<'a>,
    pub(super) body: Body,
    /// The number of the first parameter.
    first_param: usize,
    /// The number of the first instruction's result; set when the constants have been read.
    first_result: usize,
    /// No value number is farther than this from the first: a value takes at least a bit.
    max_values: u64,
    /// Which block instructions go to.
    current: usize,
    /// Uses of values before their definition: place, value, type that the record gives.
    forwards: Vec<(u64, ValueId, TypeId)>,
    /// The tags of operand bundles that came before the next call.
    pub(super) bundles: Vec<u64>,
    location: Option<MetaId>,
    /// Conversions of pointers to pointers of another type, which are the same here, and what they convert.
    copies: FxHashMap<ValueId, Value>,
    /// What takes the first element of a pair, with the instruction that gives the pair, and its type.
    pairs: FxHashMap<InstId, (Op, TypeId)>,
    /// Instructions that go at the end; until then attachments count them.
    dropped: EntitySet<InstId>,
}

impl<'a> LazyModule<'a> {
    /// Reads a body and gives it to its function.
    pub(super) fn read_body(&mut self, symbol: SymbolId, head: BlockHead) -> Result<()> {
        let values = self.values.len();
        let asms = self.values.asms.len();
        let metadata = self.metadata.len();
        let mut reader = BodyReader {
            body: Body::default(),
            first_param: values,
            first_result: values,
            max_values: head.bits(),
            current: 0,
            forwards: Vec::new(),
            bundles: Vec::new(),
            dropped: EntitySet::new(),
            pairs: FxHashMap::default(),
            location: None,
            copies: FxHashMap::default(),
            module: self,
        };
        let read = reader.run(symbol, head);
        let body = reader.body;
        // The function's own values and nodes have no numbers outside of it.
        self.values.list.truncate(values);
        self.values.asms.truncate(asms);
        self.metadata.truncate(metadata);
        read?;
        if self.block_addresses.get(&symbol).is_some_and(|last| last.index() >= body.block_count()) {
            return Err(head.fault("the address is taken of a block that is not there"));
        }
        // What the records give is typed, but may still make no sense.
        verify_body(&self.module, symbol, &body).map_err(|error| head.fault(error.to_string()))?;
        if let Some(function) = self.module.symbols[symbol].function_mut() {
            function.body = Some(Box::new(body));
        }
        Ok(())
    }
}

impl<'a> BodyReader<'_, 'a> {
    fn run(&mut self, symbol: SymbolId, head: BlockHead) -> Result<()> {
        let signature = self.module.signatures.get(&symbol).copied();
        let signature = signature.ok_or_else(|| head.fault("a body for what is no function"))?;
        for at in 1..self.module.table.parts(signature).len() {
            let ty = self.module.table.parts(signature)[at];
            let value = self.body.add_param(self.module.table.id(ty));
            self.module.values.push(ty, What::Local(value));
        }
        self.first_result = self.module.values.len();

        let mut block = Block::open(self.module.bytes, head, &self.module.info);
        let mut record = Record::default();
        // Names and attachments speak of instructions that come before or after them.
        let mut later = Vec::new();
        loop {
            match block.next(&mut record)? {
                Item::End => break,
                Item::Record => self.record(&record, block.bits_left())?,
                Item::Block(nested) => match nested.id {
                    block::CONSTANTS_BLOCK => {
                        if self.body.inst_count() > 0 {
                            return Err(nested.fault("constants behind instructions"));
                        }
                        self.module.read_constants(nested)?;
                        self.first_result = self.module.values.len();
                    }
                    block::METADATA_BLOCK => self.module.read_metadata(nested)?,
                    block::VALUE_SYMTAB | block::METADATA_ATTACHMENT => later.push(nested),
                    _ => {}
                },
            }
        }
        for nested in later {
            match nested.id {
                block::VALUE_SYMTAB => self.read_names(nested)?,
                _ => self.read_attachments(symbol, nested)?,
            }
        }
        self.check(head)?;
        self.place_pairs();
        self.drop_instructions();
        Ok(())
    }

    fn drop_instructions(&mut self) {
        if self.dropped.is_empty() {
            return;
        }
        for at in 0..self.body.layout.len() {
            let block = self.body.layout[at];
            let mut insts = std::mem::take(&mut self.body[block].insts);
            insts.retain(|&inst| !self.dropped.contains(inst));
            self.body[block].insts = insts;
        }
        self.body.value_names.retain(|value, _| !self.copies.contains_key(value));
        self.body.replace_values(&self.copies);
    }

    /// What can only be said at the end: blocks are complete, and what was used early came later.
    fn check(&self, head: BlockHead) -> Result<()> {
        if self.current != self.body.block_count() {
            return Err(head.fault(format!("{} blocks announced, {} there", self.body.block_count(), self.current)));
        }
        for &(at, value, ty) in &self.forwards {
            if value.index() >= self.body.value_count() {
                return Err(Error::new(at, format!("value {} is never defined", value.index())));
            }
            if self.body.local_type(value) != ty {
                return Err(Error::new(at, "a value of another type than its later definition"));
            }
        }
        Ok(())
    }

    fn record(&mut self, record: &Record, bits_left: u64) -> Result<()> {
        match record.code {
            function::DECLAREBLOCKS => {
                let count = record.fields().next("number of blocks")?;
                // The shortest terminator is an abbreviation's number, of two bits.
                if count == 0 || count > bits_left / 2 || self.body.block_count() > 0 {
                    return Err(record.fault(format!("{count} blocks")));
                }
                for _ in 0..count {
                    self.body.add_block();
                }
            }
            function::DEBUG_LOC => {
                self.location = self.location(record)?;
                self.locate();
            }
            function::DEBUG_LOC_AGAIN => self.locate(),
            function::OPERAND_BUNDLE => self.bundles.push(record.fields().next("tag")?),
            function::BLOCKADDR_USERS
            | function::DEBUG_RECORD_VALUE
            | function::DEBUG_RECORD_DECLARE
            | function::DEBUG_RECORD_ASSIGN
            | function::DEBUG_RECORD_VALUE_SIMPLE
            | function::DEBUG_RECORD_LABEL
            | function::DEBUG_RECORD_DECLARE_VALUE => {}
            _ => return self.instruction(record),
        }
        Ok(())
    }

    /// Notes that the last instruction's result is the same as `value`.
    pub(super) fn copy_of(&mut self, value: Value) {
        if let Some(last) = self.body.value_count().checked_sub(1) {
            self.copies.insert(ValueId::new(last), value);
            self.drop_last();
        }
    }

    /// Notes that the last instruction says nothing.
    pub(super) fn drop_last(&mut self) {
        if let Some(last) = self.body.inst_count().checked_sub(1) {
            self.dropped.insert(InstId::new(last));
        }
    }

    /// Gives the last instruction the current location.
    fn locate(&mut self) {
        if let Some(last) = self.body.inst_count().checked_sub(1) {
            self.body[InstId::new(last)].loc = self.location.into();
        }
    }

    /// Adds an instruction whose result has the type of an entry.
    pub(super) fn define(&mut self, record: &Record, op: Op, ty: TypeIndex) -> Result<()> {
        let Some(&block) = self.body.layout.get(self.current) else {
            return Err(record.fault("an instruction behind the last block"));
        };
        let terminator = op.is_terminator();
        let inst = self.body.push(block, op, self.module.table.id(ty));
        if let Some(result) = self.body[inst].result.expand() {
            self.module.values.push(ty, What::Local(result));
        }
        self.current += usize::from(terminator);
        Ok(())
    }

    /// Adds an instruction whose result has type `pair`, and takes its first element, of type `ty`, for the result of
    /// the record. Only the element has a number in the file, so the instruction itself is made at the end.
    pub(super) fn define_first_of(&mut self, record: &Record, op: Op, pair: TypeIndex, ty: TypeIndex) -> Result<()> {
        let pair = self.module.table.id(pair);
        let unknown = self.module.module.constants.intern(Constant::Undef(pair));
        let element = InstId::new(self.body.inst_count());
        self.define(record, Op::ExtractValue(unknown.into(), smallvec![0]), ty)?;
        self.pairs.insert(element, (op, pair));
        Ok(())
    }

    /// Puts the instructions of [`BodyReader::define_first_of`] before what takes their first elements.
    fn place_pairs(&mut self) {
        if self.pairs.is_empty() {
            return;
        }
        for at in 0..self.body.layout.len() {
            let block = self.body.layout[at];
            let mut insts = Vec::with_capacity(self.body[block].insts.len());
            for element in std::mem::take(&mut self.body[block].insts) {
                if let Some((op, ty)) = self.pairs.remove(&element) {
                    let inst = self.body.make_inst(op, ty);
                    self.body[inst].loc = self.body[element].loc;
                    self.body[element].op = Op::ExtractValue(self.body.result(inst).into(), smallvec![0]);
                    insts.push(inst);
                }
                insts.push(element);
            }
            self.body[block].insts = insts;
        }
    }

    /// Adds an instruction without a result.
    pub(super) fn effect(&mut self, record: &Record, op: Op) -> Result<()> {
        let void = self.module.table.of(TypeId::VOID, &self.module.module.types);
        self.define(record, op, void)
    }

    /// The block that an operand names.
    pub(super) fn block(&self, operand: u64, record: &Record) -> Result<BlockId> {
        match usize::try_from(operand).ok().filter(|&index| index < self.body.block_count()) {
            Some(index) => Ok(BlockId::new(index)),
            None => Err(record.fault(format!("block {operand} of {}", self.body.block_count()))),
        }
    }

    /// The type that an operand names.
    pub(super) fn ty(&self, fields: &mut Fields, what: &str) -> Result<TypeIndex> {
        let operand = fields.next(what)?;
        self.module.table.index(operand, fields.record)
    }

    /// The value number that an operand means.
    fn number(&self, operand: u64) -> u64 {
        if self.module.relative {
            // Forward references are negative, in 32 bits.
            u64::from((self.module.values.len() as u32).wrapping_sub(operand as u32))
        } else {
            operand
        }
    }

    /// A value whose type follows if it is not defined yet.
    pub(super) fn slot(&mut self, fields: &mut Fields, what: &str) -> Result<Slot> {
        let number = self.number(fields.next(what)?);
        match self.module.values.get(number) {
            Some(slot) => Ok(slot),
            None => {
                let ty = self.ty(fields, what)?;
                self.forward(number, ty, fields.record)
            }
        }
    }

    /// A value and its type's entry.
    pub(super) fn value(&mut self, fields: &mut Fields, what: &str) -> Result<(Value, TypeIndex)> {
        let slot = self.slot(fields, what)?;
        Ok((self.plain(slot, fields.record)?, slot.ty))
    }

    /// A value of a type that is known.
    pub(super) fn value_of(&mut self, fields: &mut Fields, ty: TypeIndex, what: &str) -> Result<Value> {
        let operand = fields.next(what)?;
        if self.module.table.id(ty) == TypeId::METADATA {
            let constant = match self.module.metadata.get(self.number(operand)) {
                Some(Entry::String(text)) => Constant::MetadataString(text.clone()),
                _ => Constant::Metadata,
            };
            return Ok(self.module.module.constants.intern(constant).into());
        }
        self.value_numbered(self.number(operand), ty, fields.record)
    }

    /// The value of a number, of a type that is known.
    pub(super) fn value_numbered(&mut self, number: u64, ty: TypeIndex, record: &Record) -> Result<Value> {
        let slot = match self.module.values.get(number) {
            Some(slot) => slot,
            None => self.forward(number, ty, record)?,
        };
        let (own, wanted) = (self.module.table.id(slot.ty), self.module.table.id(ty));
        if own != wanted {
            let types = &self.module.module.types;
            return Err(record.fault(format!("a value of type `{}`, not `{}`", types.text(own), types.text(wanted))));
        }
        self.plain(slot, record)
    }

    /// A value that is not inline assembly.
    pub(super) fn plain(&self, slot: Slot, record: &Record) -> Result<Value> {
        match slot.what {
            What::Const(id, _) => Ok(id.into()),
            What::Local(id) => Ok(id.into()),
            What::Asm(_) => Err(record.fault("inline assembly that is not called")),
            What::Pending => Err(record.fault("a constant that was not read")),
        }
    }

    /// A result that comes later. Results are numbered in the order in which the body numbers them too.
    fn forward(&mut self, number: u64, ty: TypeIndex, record: &Record) -> Result<Slot> {
        match self.local(number) {
            Some(value) => {
                self.forwards.push((record.at, value, self.module.table.id(ty)));
                Ok(Slot { ty, what: What::Local(value) })
            }
            None => Err(record.fault(format!("value {number} is not defined"))),
        }
    }

    /// The parameter or result of a number, whether it has been defined yet or not.
    fn local(&self, number: u64) -> Option<ValueId> {
        let params = self.body.params.len();
        if let Some(result) = number.checked_sub(self.first_result as u64) {
            return (result < self.max_values).then(|| ValueId::new(params + result as usize));
        }
        let param = number.checked_sub(self.first_param as u64)?;
        (param < params as u64).then(|| ValueId::new(param as usize))
    }

    /// `!dbg` of the instruction before.
    fn location(&mut self, record: &Record) -> Result<Option<MetaId>> {
        let mut fields = record.fields();
        let line = fields.next("line")?;
        let column = fields.next("column")?;
        let scope = fields.next("scope")?;
        let inlined_at = fields.next("inlined-at location")?;
        let implicit = fields.opt().unwrap_or(0);
        let table = &self.module.metadata;
        let node = |operand: u64| match operand.checked_sub(1) {
            None => Ok(None),
            Some(number) => match table.node(number) {
                None => Err(record.fault(format!("metadata {number} is no node"))),
                node => Ok(node),
            },
        };
        let location =
            Location { line, column, scope: node(scope)?, inlined_at: node(inlined_at)?, implicit: implicit != 0 };
        Ok(Some(self.module.location(location)))
    }

    fn read_names(&mut self, head: BlockHead) -> Result<()> {
        use super::codes::symtab;
        let mut block = Block::open(self.module.bytes, head, &self.module.info);
        let mut record = Record::default();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(()),
                Item::Block(_) => {}
                Item::Record => {
                    let number = record.fields().next("number")?;
                    let name = record.text(1).into();
                    match record.code {
                        symtab::ENTRY => {
                            let value = self.local(number).filter(|value| value.index() < self.body.value_count());
                            let value = value.ok_or_else(|| record.fault(format!("a name for value {number}")))?;
                            self.body.value_names.insert(value, name);
                        }
                        symtab::BBENTRY => {
                            let block = self.block(number, &record)?;
                            self.body.block_names.insert(block, name);
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    fn read_attachments(&mut self, symbol: SymbolId, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.module.bytes, head, &self.module.info);
        let mut record = Record::default();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(()),
                Item::Record if record.ops.len() % 2 == 1 => {
                    let inst = record.ops[0];
                    if inst >= self.body.inst_count() as u64 {
                        return Err(record.fault(format!("metadata for instruction {inst}")));
                    }
                    let inst = InstId::new(inst as usize);
                    for pair in record.ops[1..].chunks_exact(2) {
                        if let Some((kind, node)) = self.module.attachment(pair[0], pair[1], &record)? {
                            self.body.attachments.entry(inst).or_default().push((kind, node));
                        }
                    }
                }
                Item::Record => self.module.attach_to_symbol(symbol, &record.ops, &record)?,
                Item::Block(_) => {}
            }
        }
    }
}
