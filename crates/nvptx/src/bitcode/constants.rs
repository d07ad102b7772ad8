//! Constants of a module or function.

use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

use crate::ir::{
    BinaryOp, BlockId, CastOp, ConstExpr, ConstId, Constant, FloatPredicate, GepFlags, InlineAsm, IntPredicate,
    SymbolId, Type, TypeId,
};
use crate::wide;

use super::LazyModule;
use super::bits::signed;
use super::codes::constant;
use super::error::Result;
use super::inst::{binary_op, cast_op, float_predicate, gep_flags, int_predicate};
use super::stream::{Block, BlockHead, Fields, Item, Record, text};
use super::type_table::TypeIndex;
use super::values::{Asm, Nesting, Slot, What};

/// How deep constants may be nested.
const MAX_DEPTH: u16 = 256;

/// How many constants a constant may be made of.
const MAX_WEIGHT: u32 = 1 << 24;

/// A constant made of others.
#[derive(Clone, Debug)]
struct Draft {
    ty: TypeIndex,
    shape: Shape,
    /// The value numbers of the others.
    operands: Vec<u64>,
    /// The record, without operands, for messages.
    place: Record<'static>,
}

/// How the operands of a [`Draft`] belong together.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Aggregate,
    Gep(Option<TypeIndex>, GepFlags),
    Cast(CastOp),
    Binary(BinaryOp),
    ICmp(IntPredicate),
    FCmp(FloatPredicate),
    Select,
    ExtractElement,
    InsertElement,
}

/// What a record gives.
enum Read {
    Constant(Constant),
    Asm(Asm),
    Draft(Draft),
}

impl LazyModule<'_> {
    /// Reads a block of constants; each is the next value.
    pub(super) fn read_constants(&mut self, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        let mut drafts = FxHashMap::default();
        let mut ty = self.table.of(TypeId::I32, &self.module.types);
        loop {
            match block.next(&mut record)? {
                Item::End => break,
                Item::Block(_) => {}
                Item::Record if record.code == constant::SETTYPE => {
                    ty = self.table.index(record.fields().next("type")?, &record)?;
                }
                Item::Record => {
                    let what = match self.constant(&record, ty)? {
                        Read::Constant(constant) => What::Const(self.module.constants.intern(constant), Nesting::NONE),
                        Read::Asm(asm) => {
                            self.values.asms.push(asm);
                            What::Asm(self.values.asms.len() as u32 - 1)
                        }
                        Read::Draft(draft) => match self.finish(&draft)? {
                            Some(what) => what,
                            None => {
                                drafts.insert(self.values.len() as u64, draft);
                                What::Pending
                            }
                        },
                    };
                    self.values.push(ty, what);
                }
            }
        }
        self.resolve(drafts)
    }

    /// Makes the constants that refer to later ones. An explicit stack, because chains may be long.
    fn resolve(&mut self, drafts: FxHashMap<u64, Draft>) -> Result<()> {
        let mut numbers: Vec<u64> = drafts.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            // Each level: a number, and how many of its operands have been looked at.
            let mut stack = vec![(number, 0usize)];
            while let Some(&mut (number, ref mut next)) = stack.last_mut() {
                let draft = &drafts[&number];
                let pending = |operand: &u64| self.values.get(*operand).is_some_and(|slot| slot.what == What::Pending);
                match draft.operands[*next..].iter().position(pending) {
                    _ if self.values.list[number as usize].what != What::Pending => {
                        stack.pop();
                    }
                    Some(ahead) => {
                        *next += ahead;
                        let operand = draft.operands[*next];
                        if stack.len() > usize::from(MAX_DEPTH) || !drafts.contains_key(&operand) {
                            return Err(draft.place.fault("a constant that contains itself, or is nested too deep"));
                        }
                        stack.push((operand, 0));
                    }
                    None => {
                        let what = self.finish(draft)?;
                        let what = what.ok_or_else(|| draft.place.fault("an operand that is no constant"))?;
                        self.values.list[number as usize].what = what;
                        stack.pop();
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a record of the current type.
    fn constant(&mut self, record: &Record, ty: TypeIndex) -> Result<Read> {
        let id = self.table.id(ty);
        let mut fields = record.fields();
        Ok(Read::Constant(match record.code {
            constant::NULL => self.null(id, record)?,
            constant::UNDEF => Constant::Undef(id),
            constant::POISON => Constant::Poison(id),
            constant::INTEGER | constant::WIDE_INTEGER | constant::BYTE | constant::WIDE_BYTE | constant::FLOAT => {
                self.number(id, record)?
            }
            constant::STRING => self.bytes(id, record.ops.iter().map(|&byte| byte as u8).collect(), record)?,
            constant::CSTRING => {
                let bytes = record.ops.iter().map(|&byte| byte as u8).chain([0]);
                self.bytes(id, bytes.collect(), record)?
            }
            constant::DATA => self.data(id, record)?,
            constant::BLOCKADDRESS => {
                self.table.index(fields.next("function type")?, record)?;
                let function = fields.next("function")?;
                let symbol = self.values.constant(function).map(|(id, _)| &self.module.constants[id]);
                let Some(&Constant::Symbol(ty, symbol)) = symbol else {
                    return Err(record.fault("an address of a block of what is no function"));
                };
                let block = fields.next_u32("block")?.min(u32::MAX - 1);
                let block = BlockId::from_u32(block);
                self.note_block_address(symbol, block, record)?;
                Constant::BlockAddress(ty, symbol, block)
            }
            constant::INLINEASM_OLD | constant::INLINEASM_OLD2 | constant::INLINEASM_OLD3 | constant::INLINEASM => {
                return self.inline_asm(record).map(Read::Asm);
            }
            _ => return self.draft(record, ty).map(Read::Draft),
        }))
    }

    /// A number; of a vector, which LLVM 23 writes so, all elements have it.
    fn number(&mut self, id: TypeId, record: &Record) -> Result<Constant> {
        let mut fields = record.fields();
        match self.module.types[id] {
            Type::Vector(element, len) => {
                self.budget.spend(len as usize * size_of::<ConstId>(), record)?;
                let number = self.number(element, record)?;
                let number = self.module.constants.intern(number);
                Ok(Constant::Aggregate(id, vec![number; len as usize].into()))
            }
            Type::Int(_) => match record.code {
                constant::INTEGER | constant::BYTE => self.integer(id, &[fields.next("value")?], false, record),
                constant::WIDE_INTEGER | constant::WIDE_BYTE => self.integer(id, fields.rest(), true, record),
                _ => Err(self.unsupported(id, record)),
            },
            ref ty if record.code == constant::FLOAT => {
                let mask = match ty {
                    Type::Half | Type::BFloat => 0xFFFF,
                    Type::Float => 0xFFFF_FFFF,
                    Type::Double => u64::MAX,
                    _ => return Err(self.unsupported(id, record)),
                };
                Ok(Constant::Float(id, fields.next("value")? & mask))
            }
            _ => Err(self.unsupported(id, record)),
        }
    }

    /// Sees to it that blocks whose addresses are taken are there; those of bodies that were not read yet later.
    fn note_block_address(&mut self, symbol: SymbolId, block: BlockId, record: &Record) -> Result<()> {
        let body = self.module.symbols[symbol].function().and_then(|function| function.body.as_deref());
        if body.is_some_and(|body| block.index() >= body.block_count()) {
            return Err(record.fault("a block that is not there"));
        }
        let last = self.block_addresses.entry(symbol).or_insert(block);
        *last = block.max(*last);
        Ok(())
    }

    fn unsupported(&self, id: TypeId, record: &Record) -> super::Error {
        record.fault(format!("a constant of type `{}`", self.module.types.text(id)))
    }

    fn null(&self, id: TypeId, record: &Record) -> Result<Constant> {
        Ok(match self.module.types[id] {
            Type::Int(_) => Constant::Int(id, 0),
            Type::Half | Type::BFloat | Type::Float | Type::Double => Constant::Float(id, 0),
            Type::Pointer(_) => Constant::Null(id),
            Type::Vector(..) | Type::Array(..) | Type::Struct { .. } => Constant::Zero(id),
            Type::Token => Constant::TokenNone,
            _ => return Err(self.unsupported(id, record)),
        })
    }

    /// An integer from its words, the lowest first; those that are missing of a wide one are 0.
    fn integer(&mut self, id: TypeId, words: &[u64], is_wide: bool, record: &Record) -> Result<Constant> {
        let bits = self.module.types.int_bits(id).ok_or_else(|| self.unsupported(id, record))?;
        if words.is_empty() {
            return Err(record.fault("an integer without a value"));
        }
        if words.len() > bits.div_ceil(64) as usize {
            return Err(record.fault("an integer of more words than its type has"));
        }
        let words: Vec<u64> = words.iter().map(|&word| signed(word) as u64).collect();
        let constant = wide::from_words(&mut self.module, id, bits, &words, !is_wide);
        Ok(self.module.constants[constant].clone())
    }

    fn bytes(&self, id: TypeId, bytes: Box<[u8]>, record: &Record) -> Result<Constant> {
        match self.module.types[id] {
            Type::Array(TypeId::I8, len) if len == bytes.len() as u64 => Ok(Constant::Bytes(id, bytes)),
            _ => Err(record.fault(format!("{} bytes for the type `{}`", bytes.len(), self.module.types.text(id)))),
        }
    }

    /// An array or vector of numbers.
    fn data(&mut self, id: TypeId, record: &Record) -> Result<Constant> {
        let types = &self.module.types;
        let count = types.element_count(id);
        let element = types.element(id, 0).filter(|_| count == record.ops.len() as u64);
        let Some(element) = element.filter(|_| !matches!(types[id], Type::Struct { .. })) else {
            return Err(record.fault(format!("{} numbers for the type `{}`", record.ops.len(), types.text(id))));
        };
        if matches!(types[id], Type::Array(..)) && element == TypeId::I8 {
            return self.bytes(id, record.ops.iter().map(|&byte| byte as u8).collect(), record);
        }
        let (bits, float) = match types[element] {
            Type::Int(bits) if bits <= 64 => (bits, false),
            Type::Half | Type::BFloat => (16, true),
            Type::Float => (32, true),
            Type::Double => (64, true),
            _ => return Err(self.unsupported(id, record)),
        };
        let constants = &mut self.module.constants;
        let items = record.ops.iter().map(|&value| {
            let value = if bits == 64 { value } else { value & ((1 << bits) - 1) };
            let item = if float { Constant::Float(element, value) } else { Constant::Int(element, value.into()) };
            constants.intern(item)
        });
        let items = items.collect();
        Ok(Constant::Aggregate(id, items))
    }

    fn inline_asm(&self, record: &Record) -> Result<Asm> {
        let mut fields = record.fields();
        let signature = match record.code {
            constant::INLINEASM => Some(self.table.index(fields.next("function type")?, record)?),
            _ => None,
        };
        let flags = fields.next("flags")?;
        let code = text(fields.counted("assembly")?);
        let constraints = text(fields.counted("constraints")?);
        let asm = InlineAsm { text: code.into(), constraints: constraints.into(), side_effects: flags & 1 == 1 };
        Ok(Asm { asm, signature })
    }

    /// Reads a record that refers to other constants.
    fn draft(&self, record: &Record, ty: TypeIndex) -> Result<Draft> {
        let mut fields = record.fields();
        let (shape, operands) = match record.code {
            constant::AGGREGATE => (Shape::Aggregate, record.ops.clone()),
            constant::CE_BINOP => {
                let float = self.module.types.is_float(self.module.types.scalar(self.table.id(ty)));
                let op = binary_op(fields.next("operation")?, float, record)?;
                (Shape::Binary(op), vec![fields.next("operand")?, fields.next("operand")?])
            }
            constant::CE_CAST => {
                let op = cast_op(fields.next("operation")?, record)?;
                fields.next("operand's type")?;
                (Shape::Cast(op), vec![fields.next("operand")?])
            }
            constant::CE_SELECT => (Shape::Select, take(&mut fields, 3)?),
            constant::CE_EXTRACTELT => {
                fields.next("vector's type")?;
                let mut operands = vec![fields.next("vector")?];
                // The index has its type before it since LLVM 3.4.
                operands.push(match *fields.rest() {
                    [index] | [_, index, ..] => index,
                    [] => return Err(record.fault("no operand for the index")),
                });
                (Shape::ExtractElement, operands)
            }
            constant::CE_INSERTELT => {
                let mut operands = vec![fields.next("vector")?, fields.next("element")?];
                operands.push(match *fields.rest() {
                    [index] | [_, index, ..] => index,
                    [] => return Err(record.fault("no operand for the index")),
                });
                (Shape::InsertElement, operands)
            }
            constant::CE_CMP => {
                let operand_type = self.table.index(fields.next("operands' type")?, record)?;
                let operands = take(&mut fields, 2)?;
                let predicate = fields.next("predicate")?;
                let types = &self.module.types;
                let shape = if types.is_float(types.scalar(self.table.id(operand_type))) {
                    Shape::FCmp(float_predicate(predicate, record)?)
                } else {
                    Shape::ICmp(int_predicate(predicate, record)?)
                };
                (shape, operands)
            }
            constant::CE_GEP_OLD
            | constant::CE_INBOUNDS_GEP
            | constant::CE_GEP_INRANGE_INDEX
            | constant::CE_GEP_INRANGE
            | constant::CE_GEP => self.gep(record)?,
            _ => return Err(record.fault("constants of this kind are not supported")),
        };
        let place = Record { ops: Vec::new(), blob: &[], ..*record };
        Ok(Draft { ty, shape, operands, place })
    }

    /// Reads a `getelementptr`: a type unless the number of operands is even, flags since LLVM 4 or so, and
    /// pairs of type and value.
    fn gep(&self, record: &Record) -> Result<(Shape, Vec<u64>)> {
        let mut fields = record.fields();
        let old = matches!(record.code, constant::CE_GEP_OLD | constant::CE_INBOUNDS_GEP);
        let mut source = None;
        if !old || fields.left() % 2 == 1 {
            source = Some(self.table.index(fields.next("source type")?, record)?);
        }
        let flags = match record.code {
            constant::CE_GEP_OLD => GepFlags::empty(),
            constant::CE_INBOUNDS_GEP => GepFlags::INBOUNDS,
            // Bit 0 is `inbounds`, the others the number of the operand with `inrange`.
            constant::CE_GEP_INRANGE_INDEX => gep_flags(fields.next("flags")? & 1),
            _ => gep_flags(fields.next("flags")?),
        };
        if record.code == constant::CE_GEP_INRANGE {
            let bits = fields.next_u32("width of the range")?;
            let words = if bits <= 64 {
                2
            } else {
                let words = fields.next("number of words")?;
                (words & 0xFFFF_FFFF) + (words >> 32)
            };
            for _ in 0..words {
                fields.next("bound of the range")?;
            }
        }
        let operands: Vec<u64> = fields.rest().chunks_exact(2).map(|pair| pair[1]).collect();
        if operands.is_empty() {
            return Err(record.fault("an address of nothing"));
        }
        Ok((Shape::Gep(source, flags), operands))
    }

    /// Makes a constant of which all operands are known; `None` when one is not yet.
    fn finish(&mut self, draft: &Draft) -> Result<Option<What>> {
        let mut slots = Vec::with_capacity(draft.operands.len());
        let mut ids = Vec::with_capacity(draft.operands.len());
        let mut nesting = Nesting::NONE;
        for &operand in &draft.operands {
            match self.values.get(operand) {
                Some(slot @ Slot { what: What::Const(id, own), .. }) => {
                    nesting = nesting.with(own);
                    ids.push(id);
                    slots.push(slot);
                }
                // Beyond what has been read: later in the block, if it is anything.
                None | Some(Slot { what: What::Pending, .. }) => return Ok(None),
                Some(_) => return Err(draft.place.fault("an operand that is no constant")),
            }
        }
        if nesting.depth > MAX_DEPTH || nesting.weight > MAX_WEIGHT {
            let Nesting { depth, weight } = nesting;
            let what = format!("a constant {depth} levels deep, made of {weight} constants, is not supported");
            return Err(draft.place.fault(what));
        }
        let constant = match self.compose(draft, &slots, ids)? {
            Ok(constant) => self.module.constants.intern(constant),
            Err(operand) => operand,
        };
        Ok(Some(What::Const(constant, nesting)))
    }

    /// The constant of a draft, or the one that it is the same as.
    fn compose(
        &mut self,
        draft: &Draft,
        slots: &[Slot],
        ids: Vec<ConstId>,
    ) -> Result<std::result::Result<Constant, ConstId>> {
        let ty = self.table.id(draft.ty);
        let types = &self.module.types;
        let expr = match (draft.shape, &*ids) {
            (Shape::Aggregate, _) => {
                if !(types.is_aggregate(ty) || types.as_vector(ty).is_some())
                    || types.element_count(ty) != ids.len() as u64
                {
                    let what = format!("{} elements for the type `{}`", ids.len(), types.text(ty));
                    return Err(draft.place.fault(what));
                }
                return Ok(Ok(Constant::Aggregate(ty, ids.into())));
            }
            (Shape::Gep(source, flags), [base, indices @ ..]) => {
                // `finish` gives as many slots as ids.
                let source = source.or_else(|| self.table.pointee(slots[0].ty, types));
                let source = source.ok_or_else(|| draft.place.fault("no source type"))?;
                ConstExpr::Gep { source: self.table.id(source), flags, base: *base, indices: indices.into() }
            }
            // Pointers to different types are the same type here.
            (Shape::Cast(CastOp::Bitcast), &[operand]) if self.module.constants.ty(operand) == ty => {
                return Ok(Err(operand));
            }
            (Shape::Cast(op), &[operand]) => ConstExpr::Cast(op, operand),
            (Shape::Binary(op), &[left, right]) => ConstExpr::Binary(op, left, right),
            (Shape::ICmp(predicate), &[left, right]) => ConstExpr::ICmp(predicate, left, right),
            (Shape::FCmp(predicate), &[left, right]) => ConstExpr::FCmp(predicate, left, right),
            (Shape::Select, &[condition, yes, no]) => ConstExpr::Select(condition, yes, no),
            (Shape::ExtractElement, &[vector, index]) => ConstExpr::ExtractElement(vector, index),
            (Shape::InsertElement, &[vector, element, index]) => ConstExpr::InsertElement(vector, element, index),
            _ => return Err(draft.place.fault("operands are missing")),
        };
        Ok(Ok(Constant::Expr(ty, Box::new(expr))))
    }
}

/// The next `count` operands.
fn take(fields: &mut Fields, count: usize) -> Result<Vec<u64>> {
    (0..count).map(|_| fields.next("operand")).collect()
}
