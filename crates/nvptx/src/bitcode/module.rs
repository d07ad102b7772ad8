//! What is outside of functions.

use rustc_hash::FxHashMap;

use crate::ir::{
    AddressSpace, Alias, Attributes, Constant, DataLayout, Function, Linkage, Module, Param, Symbol, SymbolId,
    SymbolKind, SyncScope, Type, TypeId, Variable, Visibility, verify,
};

use super::LazyModule;
use super::attribute_list::AttributeList;
use super::budget::Budget;
use super::call::convention;
use super::codes::{block, module};
use super::error::{Error, Result};
use super::memory::alignment;
use super::stream::{Block, BlockHead, BlockInfo, Fields, Item, Record};
use super::type_table::TypeIndex;
use super::values::{Nesting, What};

const MAGIC: [u8; 4] = *b"BC\xC0\xDE";
const WRAPPER_MAGIC: [u8; 4] = 0x0B17_C0DE_u32.to_le_bytes();

/// Longer files are refused, so that value numbers and bit positions fit their types.
const MAX_BYTES: usize = 256 << 20;

/// What stands directly in the module block.
#[derive(Default)]
struct Outline {
    /// Records of variables, functions and aliases.
    symbols: Vec<Record<'static>>,
    blocks: Vec<BlockHead>,
    sections: Vec<Box<str>>,
    version: u64,
    layout: String,
}

/// Symbols before their initial values are known.
#[derive(Default)]
struct Symbols {
    /// Functions that have a body, in order.
    defined: Vec<SymbolId>,
    /// Variables and the numbers of their initial values.
    initial: Vec<(SymbolId, u64)>,
    /// Aliases, with types and the numbers of what they stand for.
    aliases: Vec<(SymbolId, TypeId, u64)>,
    unnamed: u32,
}

impl<'a> LazyModule<'a> {
    /// Reads everything but bodies; errors lack the file's name.
    pub(super) fn open_module(bytes: &'a [u8], file: &str) -> Result<LazyModule<'a>> {
        let bytes = unwrap(bytes)?;
        let mut info = BlockInfo::default();
        let (head, strings) = top_level(bytes, &mut info)?;
        let mut lazy = LazyModule {
            file: file.to_owned(),
            bytes,
            info,
            module: Module::default(),
            table: Default::default(),
            groups: Default::default(),
            attributes: Vec::new(),
            values: Default::default(),
            metadata: Default::default(),
            scopes: vec![Ok(SyncScope::Thread), Ok(SyncScope::System)],
            bundle_tags: Vec::new(),
            alloca_space: AddressSpace::GENERIC,
            relative: false,
            signatures: FxHashMap::default(),
            bodies: FxHashMap::default(),
            block_addresses: FxHashMap::default(),
            budget: Budget::new(bytes.len()),
        };
        lazy.module.name = file.to_owned();
        lazy.read_module(head, strings)?;
        // As long as there are no bodies, that looks at the symbols.
        verify(&lazy.module).map_err(|error| head.fault(error.to_string()))?;
        Ok(lazy)
    }

    fn read_module(&mut self, head: BlockHead, strings: &[u8]) -> Result<()> {
        let outline = self.outline(head)?;
        self.relative = outline.version >= 1;
        if !outline.layout.is_empty() {
            self.module.layout = DataLayout::parse(&outline.layout).map_err(|what| head.fault(what))?;
        }
        let allocas = outline.layout.split('-').find_map(|part| part.strip_prefix('A')?.parse().ok());
        self.alloca_space = AddressSpace(allocas.unwrap_or(0));

        let each = |id: u32| outline.blocks.iter().copied().filter(move |head| head.id == id);
        each(block::TYPE_BLOCK).try_for_each(|head| self.read_types(head))?;
        each(block::PARAMATTR_GROUP_BLOCK).try_for_each(|head| self.read_attribute_groups(head))?;
        each(block::PARAMATTR_BLOCK).try_for_each(|head| self.read_attribute_lists(head))?;
        each(block::OPERAND_BUNDLE_TAGS).try_for_each(|head| self.read_bundle_tags(head))?;
        each(block::SYNC_SCOPE_NAMES).try_for_each(|head| self.read_scopes(head))?;

        let mut names = FxHashMap::default();
        if outline.version < 2 {
            for head in each(block::VALUE_SYMTAB) {
                names.extend(self.read_symbol_names(head)?);
            }
        }
        let mut symbols = Symbols::default();
        for record in &outline.symbols {
            let mut fields = record.fields();
            let name = if outline.version >= 2 {
                string_at(strings, fields.next("name")?, fields.next("length of the name")?, record)?
            } else {
                names.remove(&(self.values.len() as u64)).unwrap_or_default()
            };
            self.symbol(name, fields, &outline.sections, &mut symbols)?;
        }
        each(block::CONSTANTS_BLOCK).try_for_each(|head| self.read_constants(head))?;
        self.resolve_symbols(&symbols, head)?;
        each(block::METADATA_KIND_BLOCK).try_for_each(|head| self.read_metadata_kinds(head))?;
        each(block::METADATA_BLOCK).try_for_each(|head| self.read_metadata(head))?;

        // Bodies stand in the order of the functions' records.
        let bodies: Vec<BlockHead> = each(block::FUNCTION_BLOCK).collect();
        if bodies.len() != symbols.defined.len() {
            return Err(head.fault(format!("{} functions with {} bodies", symbols.defined.len(), bodies.len())));
        }
        self.bodies = symbols.defined.into_iter().zip(bodies).collect();
        match self.block_addresses.keys().find(|symbol| !self.bodies.contains_key(symbol)) {
            Some(_) => Err(head.fault("the address is taken of a block of a function without a body")),
            None => Ok(()),
        }
    }

    /// Reads the records of the module and notes its blocks.
    fn outline(&mut self, head: BlockHead) -> Result<Outline> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        let mut outline = Outline::default();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(outline),
                Item::Block(nested) if nested.id == block::BLOCKINFO => self.info.read(self.bytes, nested)?,
                Item::Block(nested) => outline.blocks.push(nested),
                Item::Record => match record.code {
                    module::VERSION => match record.fields().next("version")? {
                        version @ 0..=2 => outline.version = version,
                        version => return Err(record.fault(format!("version {version} is not supported"))),
                    },
                    module::TRIPLE => self.module.triple = record.text(0),
                    module::DATALAYOUT => outline.layout = record.text(0),
                    module::SOURCE_FILENAME => self.module.name = record.text(0),
                    module::ASM => self.module.asm = record.text(0).lines().map(Into::into).collect(),
                    module::SECTIONNAME => outline.sections.push(record.text(0).into()),
                    module::GLOBALVAR | module::FUNCTION | module::ALIAS | module::ALIAS_OLD | module::IFUNC => {
                        let ops = record.ops.clone();
                        outline.symbols.push(Record { ops, blob: &[], ..record });
                    }
                    _ => {}
                },
            }
        }
    }

    fn read_bundle_tags(&mut self, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(()),
                Item::Block(_) => {}
                Item::Record => self.bundle_tags.push(record.text(0)),
            }
        }
    }

    fn read_scopes(&mut self, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        self.scopes.clear();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(()),
                Item::Block(_) => {}
                Item::Record => {
                    let name = record.text(0);
                    self.scopes.push(match &*name {
                        "" => Ok(SyncScope::System),
                        "device" | "agent" => Ok(SyncScope::Device),
                        "cluster" => Ok(SyncScope::Cluster),
                        "block" | "workgroup" => Ok(SyncScope::Block),
                        "singlethread" => Ok(SyncScope::Thread),
                        _ => Err(name.into()),
                    });
                }
            }
        }
    }

    /// Adds a symbol, which is the next value.
    fn symbol(&mut self, name: String, fields: Fields, sections: &[Box<str>], symbols: &mut Symbols) -> Result<()> {
        let record = fields.record;
        self.budget.spend(name.len(), record)?;
        let name = if name.is_empty() { self.free_name(&mut symbols.unnamed) } else { name };
        if self.module.symbol(&name).is_some() {
            return Err(record.fault(format!("a second symbol called `{name}`")));
        }
        let id = self.module.symbol_or_new(&name);
        let value_type = match record.code {
            module::GLOBALVAR => self.variable(id, fields, sections, symbols)?,
            module::FUNCTION => self.function(id, fields, sections, symbols)?,
            module::ALIAS | module::ALIAS_OLD => self.alias(id, fields, symbols)?,
            _ => return Err(record.fault(format!("`{name}`: symbols of this kind are not supported"))),
        };
        let space = self.module.symbols[id].space;
        let ty = self.module.types.pointer(space);
        let constant = self.module.constants.intern(Constant::Symbol(ty, id));
        let index = self.table.pointer_to(value_type, space, &mut self.module.types);
        self.values.push(index, What::Const(constant, Nesting::NONE));
        Ok(())
    }

    fn free_name(&self, unnamed: &mut u32) -> String {
        loop {
            let name = format!("__unnamed_{unnamed}");
            *unnamed += 1;
            if self.module.symbol(&name).is_none() {
                return name;
            }
        }
    }

    fn variable(
        &mut self,
        id: SymbolId,
        mut fields: Fields,
        sections: &[Box<str>],
        symbols: &mut Symbols,
    ) -> Result<TypeIndex> {
        const CONSTANT: u64 = 1;
        const EXPLICIT_TYPE: u64 = 2;
        let record = fields.record;
        let mut ty = self.table.index(fields.next("type")?, record)?;
        let flags = fields.next("flags")?;
        let mut space = AddressSpace((flags >> 2) as u32);
        if flags & EXPLICIT_TYPE == 0 {
            (ty, space) = self.pointee_and_space(ty, record)?;
        }
        let initial = fields.next("initial value")?;
        if let Some(number) = initial.checked_sub(1) {
            symbols.initial.push((id, number));
        }
        let linkage = fields.next("linkage")?;
        let align = alignment(fields.next("alignment")?, record)?.unwrap_or(0);
        let section = self.section(fields.next("section")?, sections, record)?;
        let visibility = fields.opt().unwrap_or(0);
        let thread_local = fields.opt().unwrap_or(0) != 0;
        let _unnamed_addr = fields.opt();
        let externally_initialized = fields.opt().unwrap_or(0) != 0;
        let _dll_storage = fields.opt();
        let _comdat = fields.opt();
        let list = self.attribute_list(fields.opt().unwrap_or(0), record)?;
        let attributes = list.map(|list| list.function.clone()).unwrap_or_default();
        let variable = Variable {
            ty: self.table.id(ty),
            constant: flags & CONSTANT != 0,
            init: None,
            thread_local,
            externally_initialized,
            attributes,
        };
        self.set_symbol(id, linkage, visibility, space, SymbolKind::Variable(variable));
        self.module.symbols[id].align = align;
        self.module.symbols[id].section = section;
        Ok(ty)
    }

    fn function(
        &mut self,
        id: SymbolId,
        mut fields: Fields,
        sections: &[Box<str>],
        symbols: &mut Symbols,
    ) -> Result<TypeIndex> {
        let record = fields.record;
        let mut ty = self.table.index(fields.next("type")?, record)?;
        let mut space = AddressSpace::GENERIC;
        if !matches!(self.module.types[self.table.id(ty)], Type::Function { .. }) {
            (ty, space) = self.pointee_and_space(ty, record)?;
        }
        let signature = self.table.id(ty);
        let Type::Function { ret, varargs, .. } = self.module.types[signature] else {
            return Err(record.fault("a function whose type is that of none"));
        };
        let convention = convention(fields.next("calling convention")?);
        if fields.next("prototype flag")? == 0 {
            symbols.defined.push(id);
        }
        let linkage = fields.next("linkage")?;
        let list = fields.next("attributes")?;
        let align = alignment(fields.next("alignment")?, record)?.unwrap_or(0);
        let section = self.section(fields.next("section")?, sections, record)?;
        let visibility = fields.opt().unwrap_or(0);
        // The address space comes after eight operands that say nothing about the code.
        if let Some(&number) = fields.rest().get(8) {
            space = AddressSpace(number as u32);
        }
        self.budget.spend(self.table.parts(ty).len() * size_of::<Param>(), record)?;
        let list = self.attribute_list(list, record)?;
        let param = |(index, &ty): (usize, &TypeIndex)| {
            let pointee = self.table.pointee(ty, &self.module.types).map(|ty| self.table.id(ty));
            let part = list.and_then(|list| list.param(index as u32));
            Param { ty: self.table.id(ty), attributes: part.map(|part| part.of_param(pointee)).unwrap_or_default() }
        };
        let function = Function {
            signature,
            ret,
            ret_attributes: list.map(|list| list.ret.clone()).unwrap_or_default(),
            params: self.table.parts(ty).iter().skip(1).enumerate().map(param).collect(),
            varargs,
            attributes: list.map_or_else(Attributes::default, |list| list.function.clone()),
            convention,
            debug: None.into(),
            body: None,
        };
        self.set_symbol(id, linkage, visibility, space, SymbolKind::Function(Box::new(function)));
        self.module.symbols[id].align = align;
        self.module.symbols[id].section = section;
        self.signatures.insert(id, ty);
        Ok(ty)
    }

    fn alias(&mut self, id: SymbolId, mut fields: Fields, symbols: &mut Symbols) -> Result<TypeIndex> {
        let record = fields.record;
        let mut ty = self.table.index(fields.next("type")?, record)?;
        let space;
        if record.code == module::ALIAS_OLD {
            (ty, space) = self.pointee_and_space(ty, record)?;
        } else {
            space = AddressSpace(fields.next_u32("address space")?);
        }
        let target = fields.next("aliasee")?;
        let linkage = fields.next("linkage")?;
        let visibility = fields.opt().unwrap_or(0);
        self.set_symbol(id, linkage, visibility, space, SymbolKind::Undefined);
        symbols.aliases.push((id, self.table.id(ty), target));
        Ok(ty)
    }

    fn set_symbol(&mut self, id: SymbolId, linkage: u64, visibility: u64, space: AddressSpace, kind: SymbolKind) {
        let name = std::mem::take(&mut self.module.symbols[id].name);
        let linkage = self::linkage(linkage);
        self.module.symbols[id] = Symbol {
            linkage,
            visibility: match visibility {
                1 if linkage != Linkage::Internal => Visibility::Hidden,
                2 if linkage != Linkage::Internal => Visibility::Protected,
                _ => Visibility::Default,
            },
            space,
            kind,
            ..Symbol::undefined(&name)
        };
    }

    fn resolve_symbols(&mut self, symbols: &Symbols, head: BlockHead) -> Result<()> {
        let constant = |number: u64| {
            let constant = self.values.constant(number).map(|(id, _)| id);
            constant.ok_or_else(|| head.fault(format!("value {number} as an initial value or aliasee")))
        };
        for &(id, number) in &symbols.initial {
            let init = constant(number)?;
            if let SymbolKind::Variable(variable) = &mut self.module.symbols[id].kind {
                variable.init = Some(init);
            }
        }
        for &(id, ty, number) in &symbols.aliases {
            self.module.symbols[id].kind = SymbolKind::Alias(Alias { target: constant(number)?, ty });
        }
        Ok(())
    }

    /// What a typed pointer points to, and its space.
    fn pointee_and_space(&self, ty: TypeIndex, record: &Record) -> Result<(TypeIndex, AddressSpace)> {
        let pointee = self.table.pointee(ty, &self.module.types);
        let space = self.module.types.address_space(self.table.id(ty));
        pointee.zip(space).ok_or_else(|| record.fault("a symbol whose type is no typed pointer"))
    }

    /// The section of a number, counted from 1; none for 0.
    fn section(&self, number: u64, sections: &[Box<str>], record: &Record) -> Result<Option<Box<str>>> {
        let Some(index) = number.checked_sub(1) else { return Ok(None) };
        let name = usize::try_from(index).ok().and_then(|index| sections.get(index));
        let name = name.ok_or_else(|| record.fault(format!("section {number} has no name")))?;
        self.budget.spend(name.len(), record)?;
        Ok(Some(name.clone()))
    }

    /// The list of a number, counted from 1; none for 0. The caller copies it.
    pub(super) fn attribute_list(&self, number: u64, record: &Record) -> Result<Option<&AttributeList>> {
        let Some(index) = number.checked_sub(1) else { return Ok(None) };
        let list = usize::try_from(index).ok().and_then(|index| self.attributes.get(index));
        let list = list.ok_or_else(|| record.fault(format!("attribute list {number} of {}", self.attributes.len())))?;
        self.budget.spend(list.bytes, record)?;
        Ok(Some(list))
    }
}

/// The bitcode within a wrapper, or as it is.
fn unwrap(bytes: &[u8]) -> Result<&[u8]> {
    if bytes.len() > MAX_BYTES {
        return Err(Error::new(0, format!("{} bytes; more than {MAX_BYTES} are not supported", bytes.len())));
    }
    let mut inner = bytes;
    if bytes.starts_with(&WRAPPER_MAGIC) {
        let word = |at: usize| bytes.get(at..at + 4)?.first_chunk().map(|word| u32::from_le_bytes(*word) as usize);
        let content = word(8).zip(word(12)).and_then(|(offset, size)| bytes.get(offset..offset.checked_add(size)?));
        inner = content.ok_or_else(|| Error::new(0, "the wrapper speaks of bytes that are not there"))?;
    }
    if !inner.starts_with(&MAGIC) {
        return Err(Error::new(0, "no bitcode: it must start with the bytes 42 43 C0 DE"));
    }
    Ok(inner)
}

/// The first module, and its string table.
fn top_level<'a>(bytes: &'a [u8], info: &mut BlockInfo) -> Result<(BlockHead, &'a [u8])> {
    let mut top = Block::top(bytes, MAGIC.len() as u64);
    let mut record = Record::default();
    let mut module = None;
    loop {
        match (top.next(&mut record), module) {
            // What is behind the module, such as padding, is of no concern.
            (Ok(Item::End | Item::Record) | Err(_), Some(module)) => return Ok((module, &[])),
            (Err(error), None) => return Err(error),
            (Ok(Item::End), None) => return Err(Error::new(bytes.len() as u64 * 8, "no module")),
            (Ok(Item::Record), None) => return Err(record.fault("a record outside of blocks")),
            (Ok(Item::Block(head)), Some(module)) if head.id == block::STRTAB => {
                return Ok((module, blob(bytes, head, info)?));
            }
            (Ok(Item::Block(head)), None) => match head.id {
                block::MODULE_BLOCK => module = Some(head),
                block::BLOCKINFO => info.read(bytes, head)?,
                block::IDENTIFICATION_BLOCK => check_epoch(bytes, head, info)?,
                _ => {}
            },
            (Ok(Item::Block(_)), Some(_)) => {}
        }
    }
}

/// The epoch changes when old readers cannot read new files at all; it is still 0.
fn check_epoch(bytes: &[u8], head: BlockHead, info: &BlockInfo) -> Result<()> {
    const EPOCH: u32 = 2;
    let mut block = Block::open(bytes, head, info);
    let mut record = Record::default();
    loop {
        match block.next(&mut record)? {
            Item::End => return Ok(()),
            Item::Record if record.code == EPOCH && record.ops.first().is_some_and(|&epoch| epoch != 0) => {
                return Err(record.fault(format!("epoch {} is not supported", record.ops[0])));
            }
            _ => {}
        }
    }
}

/// The blob of the string table.
fn blob<'a>(bytes: &'a [u8], head: BlockHead, info: &BlockInfo) -> Result<&'a [u8]> {
    let mut block = Block::open(bytes, head, info);
    let mut record = Record::default();
    loop {
        match block.next(&mut record)? {
            Item::End => return Ok(&[]),
            Item::Record => return Ok(record.blob),
            Item::Block(_) => {}
        }
    }
}

fn string_at(strings: &[u8], offset: u64, len: u64, record: &Record) -> Result<String> {
    let range = usize::try_from(offset).ok().zip(offset.checked_add(len).and_then(|end| usize::try_from(end).ok()));
    let bytes = range.and_then(|(start, end)| strings.get(start..end));
    let bytes = bytes.ok_or_else(|| record.fault("a name outside of the string table"))?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// A linkage by number; those that other object formats had are what they have become.
fn linkage(number: u64) -> Linkage {
    match number {
        1 | 10 | 16 | 17 => Linkage::Weak,
        2 => Linkage::Appending,
        3 | 9 | 13 | 14 => Linkage::Internal,
        4 | 11 | 18 | 19 => Linkage::LinkOnce,
        7 => Linkage::ExternWeak,
        8 => Linkage::Common,
        12 => Linkage::AvailableExternally,
        _ => Linkage::External,
    }
}
