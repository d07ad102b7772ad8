//! The type table.
//!
//! Bitcode before LLVM 15 has typed pointers. The IR has none, but records of
//! that age leave out types that follow from a pointer, so an entry keeps what
//! it is made of, and every value is known by its entry, not by its IR type.

use super::type_table::{Entry, MAX_DEPTH, MAX_WEIGHT, TypeIndex, TypeTable};

use crate::ir::{AddressSpace, Type, TypeId, Types};

use super::codes::{block, ty};
use super::error::Result;
use super::stream::{Block, BlockHead, Item, Record};
use super::{LazyModule, codes};

/// A type record that refers to others, before those are known.
struct Draft {
    record: Record<'static>,
    name: Option<String>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Open,
    Done,
}

impl LazyModule<'_> {
    /// Reads the type block.
    pub(super) fn read_types(&mut self, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        let mut drafts = Vec::new();
        let mut name = None;
        loop {
            match block.next(&mut record)? {
                Item::End => break,
                Item::Block(_) => {}
                Item::Record => match record.code {
                    ty::NUMENTRY => {}
                    ty::STRUCT_NAME => name = Some(record.text(0)),
                    code => {
                        let named = matches!(code, ty::STRUCT_NAMED | ty::OPAQUE);
                        let ops = record.ops.clone();
                        let record = Record { ops, blob: &[], ..record };
                        let name = if named { name.take() } else { None };
                        drafts.push(Draft { record, name, state: State::Waiting });
                    }
                },
            }
        }
        Resolver { drafts, table: &mut self.table, types: &mut self.module.types }.run()
    }
}

/// Makes the entries. A structure may have a field whose type comes later, so they are made on demand.
struct Resolver<'a> {
    drafts: Vec<Draft>,
    table: &'a mut TypeTable,
    types: &'a mut Types,
}

impl Resolver<'_> {
    fn run(mut self) -> Result<()> {
        let unknown = Entry { id: TypeId::VOID, parts: Box::default(), depth: 0, weight: 1 };
        self.table.entries = vec![unknown; self.drafts.len()];
        for index in 0..self.drafts.len() {
            self.resolve(index, 0)?;
        }
        Ok(())
    }

    fn resolve(&mut self, index: usize, depth: u32) -> Result<()> {
        let draft = &mut self.drafts[index];
        match draft.state {
            State::Done => return Ok(()),
            State::Open => return Err(draft.record.fault("a type that contains itself")),
            State::Waiting => draft.state = State::Open,
        }
        if depth >= MAX_DEPTH {
            return Err(draft.record.fault(format!("types nested deeper than {MAX_DEPTH}")));
        }
        let record = std::mem::take(&mut draft.record);
        let name = draft.name.take();
        let typed_pointer = record.code == ty::POINTER;
        let parts = self.parts(&record)?;
        // What a pointer points to may contain the pointer.
        let held: &[TypeIndex] = if typed_pointer { &[] } else { &parts };
        for &part in held {
            self.resolve(part as usize, depth + 1)?;
        }
        let (depth, weight) = self.table.nesting(held);
        if depth >= MAX_DEPTH || weight > MAX_WEIGHT {
            return Err(record.fault(format!("a type {depth} levels deep, made of {weight} types, is not supported")));
        }
        let ty = self.ty(&record, name, &parts)?;
        let space = if let Type::Pointer(space) = ty { Some(space) } else { None };
        let id = self.types.intern(ty);
        if let (true, Some(space), Some(&pointee)) = (typed_pointer, space, parts.first()) {
            self.table.pointers.entry((pointee, space)).or_insert(index as TypeIndex);
        } else {
            self.table.by_id.entry(id).or_insert(index as TypeIndex);
        }
        self.table.entries[index] = Entry { id, parts: parts.into(), depth, weight };
        self.drafts[index].state = State::Done;
        Ok(())
    }

    /// The entries that a record refers to.
    fn parts(&self, record: &Record) -> Result<Vec<TypeIndex>> {
        let skipped = match record.code {
            ty::POINTER => return self.indices(record, record.ops.get(..1)),
            ty::ARRAY | ty::VECTOR => return self.indices(record, record.ops.get(1..2)),
            ty::STRUCT_ANON | ty::STRUCT_NAMED | ty::FUNCTION => 1,
            ty::FUNCTION_OLD => 2,
            _ => return Ok(Vec::new()),
        };
        self.indices(record, record.ops.get(skipped..))
    }

    fn indices(&self, record: &Record, operands: Option<&[u64]>) -> Result<Vec<TypeIndex>> {
        let operands = operands.ok_or_else(|| record.fault("operands are missing"))?;
        operands.iter().map(|&operand| self.table.index(operand, record)).collect()
    }

    fn ty(&self, record: &Record, name: Option<String>, parts: &[TypeIndex]) -> Result<Type> {
        let mut fields = record.fields();
        let ids = || parts.iter().map(|&part| self.table.id(part)).collect::<Box<[TypeId]>>();
        // An array, vector or function without its first part was refused by `parts`, but for functions.
        let first = || ids().first().copied().ok_or_else(|| record.fault("operands are missing"));
        Ok(match record.code {
            ty::VOID => Type::Void,
            ty::FLOAT => Type::Float,
            ty::DOUBLE => Type::Double,
            ty::HALF => Type::Half,
            ty::BFLOAT => Type::BFloat,
            ty::X86_FP80 => Type::OtherFloat("x86_fp80"),
            ty::FP128 => Type::OtherFloat("fp128"),
            ty::PPC_FP128 => Type::OtherFloat("ppc_fp128"),
            ty::LABEL => Type::Label,
            ty::METADATA => Type::Metadata,
            ty::TOKEN => Type::Token,
            ty::OPAQUE => Type::Opaque(name.unwrap_or_default().into()),
            // Byte types are integers here.
            ty::INTEGER | ty::BYTE => match fields.next_u32("width")? {
                bits @ 1..=0x80_0000 => Type::Int(bits),
                bits => return Err(record.fault(format!("an integer of {bits} bits"))),
            },
            ty::POINTER => {
                fields.next("pointee")?;
                Type::Pointer(AddressSpace(fields.opt().unwrap_or(0) as u32))
            }
            ty::OPAQUE_POINTER => Type::Pointer(AddressSpace(fields.next_u32("address space")?)),
            ty::ARRAY => Type::Array(first()?, fields.next("length")?),
            ty::VECTOR => {
                let len = fields.next_u32("length")?;
                fields.next("element type")?;
                if fields.opt().unwrap_or(0) != 0 {
                    return Err(record.fault("scalable vectors are not supported"));
                }
                Type::Vector(first()?, len)
            }
            ty::STRUCT_ANON | ty::STRUCT_NAMED => Type::Struct { fields: ids(), packed: fields.next("packing")? != 0 },
            ty::FUNCTION | ty::FUNCTION_OLD => {
                let varargs = fields.next("variadic flag")? != 0;
                Type::Function { ret: first()?, params: ids()[1..].into(), varargs }
            }
            code => {
                let name = codes::record_name(block::TYPE_BLOCK, code);
                return Err(record.fault(format!("types of kind {name} are not supported")));
            }
        })
    }
}
