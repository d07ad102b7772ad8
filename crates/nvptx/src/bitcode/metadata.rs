//! Metadata: strings, nodes, named nodes, attachments.

use super::metadata_table::{Entry, Location};

use crate::ir::{Attachment, Constant, Meta, MetaField, MetaId, SymbolId, TypeId};

use super::bits::Bits;
use super::codes::metadata;
use super::error::Result;
use super::stream::{Block, BlockHead, Item, Record};
use super::{LazyModule, debug};

/// A node whose operands may come later.
struct Draft {
    node: MetaId,
    record: Record<'static>,
}

impl LazyModule<'_> {
    /// Reads the names of the kinds of attachments.
    pub(super) fn read_metadata_kinds(&mut self, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(()),
                Item::Record if record.code == metadata::KIND => self.add_kind(&record)?,
                _ => {}
            }
        }
    }

    fn add_kind(&mut self, record: &Record) -> Result<()> {
        let kind = record.fields().next("kind")?;
        self.metadata.kinds.insert(kind, record.text(1));
        Ok(())
    }

    /// Reads a block of metadata, of the module or of a function.
    pub(super) fn read_metadata(&mut self, head: BlockHead) -> Result<()> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        let mut drafts = Vec::new();
        let mut named = Vec::new();
        let mut attachments = Vec::new();
        let mut name = String::new();
        loop {
            match block.next(&mut record)? {
                Item::End => break,
                Item::Block(_) => {}
                Item::Record => match record.code {
                    metadata::STRINGS => self.strings(&record)?,
                    metadata::STRING_OLD => self.metadata.entries.push(Entry::String(record.text(0).into())),
                    metadata::VALUE => {
                        let mut fields = record.fields();
                        fields.next("type")?;
                        self.metadata.entries.push(Entry::Value(fields.next("value")?));
                    }
                    metadata::KIND => self.add_kind(&record)?,
                    metadata::NAME => name = record.text(0),
                    metadata::NAMED_NODE => named.push((std::mem::take(&mut name), owned(&record))),
                    metadata::GLOBAL_DECL_ATTACHMENT => attachments.push(owned(&record)),
                    metadata::INDEX_OFFSET | metadata::INDEX => {}
                    _ => {
                        let node = self.module.metadata.nodes.push(Meta::Undefined);
                        self.metadata.entries.push(Entry::Node(node));
                        if is_distinct(&record) {
                            self.module.metadata.distinct.insert(node);
                        }
                        drafts.push(Draft { node, record: owned(&record) });
                    }
                },
            }
        }
        for Draft { node, record } in drafts {
            self.module.metadata.nodes[node] = self.node(&record)?;
            if record.code == metadata::LOCATION && !is_distinct(&record) {
                self.add_location(node, &record);
            }
        }
        for (name, record) in named {
            let node = |&number: &u64| {
                let node = self.metadata.node(number);
                node.ok_or_else(|| record.fault(format!("metadata {number} is no node")))
            };
            let nodes = record.ops.iter().map(node).collect::<Result<_>>()?;
            self.module.metadata.named.push((name.into(), nodes));
        }
        for record in attachments {
            let Some((&value, pairs)) = record.ops.split_first() else { continue };
            let symbol = self.values.constant(value).map(|(id, _)| &self.module.constants[id]);
            if let Some(&Constant::Symbol(_, symbol)) = symbol {
                self.attach_to_symbol(symbol, pairs, &record)?;
            }
        }
        Ok(())
    }

    /// Notes which place a node stands for.
    fn add_location(&mut self, node: MetaId, record: &Record) {
        let operand = |at: usize| record.ops.get(at).copied().unwrap_or(0);
        let location = Location {
            line: operand(1),
            column: operand(2),
            scope: self.metadata.node(operand(3)),
            inlined_at: operand(4).checked_sub(1).and_then(|number| self.metadata.node(number)),
            implicit: operand(5) != 0,
        };
        self.metadata.locations.entry(location).or_insert(node);
    }

    /// The node of a place in the source.
    pub(super) fn location(&mut self, location: Location) -> MetaId {
        let nodes = &mut self.module.metadata.nodes;
        *self.metadata.locations.entry(location).or_insert_with(|| {
            let mut fields: Vec<(Box<str>, MetaField)> = vec![("line".into(), MetaField::Int(location.line.into()))];
            if location.column != 0 {
                fields.push(("column".into(), MetaField::Int(location.column.into())));
            }
            fields.extend(location.scope.map(|node| ("scope".into(), MetaField::Node(node))));
            fields.extend(location.inlined_at.map(|node| ("inlinedAt".into(), MetaField::Node(node))));
            if location.implicit {
                fields.push(("isImplicitCode".into(), MetaField::Word("true".into())));
            }
            nodes.push(Meta::Special("DILocation".into(), fields))
        })
    }

    /// Reads many strings: their lengths, and all characters, in one blob.
    fn strings(&mut self, record: &Record) -> Result<()> {
        let mut fields = record.fields();
        let count = fields.next("number of strings")?;
        let start = fields.next("start of the characters")?;
        let start = usize::try_from(start).ok().filter(|&start| start <= record.blob.len());
        let start = start.ok_or_else(|| record.fault("characters beyond the end of the blob"))?;
        let (lengths, mut chars) = record.blob.split_at(start);
        if count > lengths.len() as u64 * 8 / 6 {
            return Err(record.fault(format!("{count} strings are more than there are lengths")));
        }
        let mut lengths = Bits::new(lengths);
        for _ in 0..count {
            let len = lengths.vbr(6)?;
            let len = usize::try_from(len).ok().filter(|&len| len <= chars.len());
            let len = len.ok_or_else(|| record.fault("a string beyond the end of the blob"))?;
            let (string, rest) = chars.split_at(len);
            self.metadata.entries.push(Entry::String(String::from_utf8_lossy(string).into()));
            chars = rest;
        }
        Ok(())
    }

    /// The node of a record.
    fn node(&self, record: &Record) -> Result<Meta> {
        Ok(match record.code {
            metadata::NODE | metadata::DISTINCT_NODE => {
                let fields = record.ops.iter().map(|&number| self.field(number, record));
                Meta::Node(fields.collect::<Result<_>>()?)
            }
            metadata::OLD_NODE | metadata::OLD_FN_NODE => {
                let field = |pair: &[u64]| {
                    let ty = self.table.index(pair[0], record)?;
                    Ok(match self.table.id(ty) {
                        TypeId::METADATA => self.field(pair[1] + 1, record)?,
                        _ => self.value_field(pair[1]),
                    })
                };
                Meta::Node(record.ops.chunks_exact(2).map(field).collect::<Result<_>>()?)
            }
            _ => debug::node(record, |number| self.field(number, record))?,
        })
    }

    /// An operand of a node: one more than a number, or 0 for `null`.
    fn field(&self, operand: u64, record: &Record) -> Result<MetaField> {
        let Some(number) = operand.checked_sub(1) else { return Ok(MetaField::Null) };
        match self.metadata.get(number) {
            Some(Entry::String(text)) => {
                self.budget.spend(text.len(), record)?;
                Ok(MetaField::String(text.clone()))
            }
            Some(Entry::Node(id)) => Ok(MetaField::Node(*id)),
            Some(Entry::Value(value)) => Ok(self.value_field(*value)),
            None => Err(record.fault(format!("metadata {number} is not defined"))),
        }
    }

    /// A constant as an operand; local values are dropped.
    fn value_field(&self, number: u64) -> MetaField {
        self.values.constant(number).map_or(MetaField::Null, |(id, _)| MetaField::Constant(id))
    }

    /// The kind and node of an attachment, if the back end knows the kind.
    pub(super) fn attachment(&self, kind: u64, node: u64, record: &Record) -> Result<Option<(Attachment, MetaId)>> {
        let Some(kind) = self.metadata.kinds.get(&kind).and_then(|name| Attachment::from_name(name)) else {
            return Ok(None);
        };
        let id = self.metadata.node(node).ok_or_else(|| record.fault(format!("metadata {node} is no node")))?;
        Ok(Some((kind, id)))
    }

    /// Metadata of a symbol, as pairs of kind and node: `!dbg` of a function is kept.
    pub(super) fn attach_to_symbol(&mut self, symbol: SymbolId, pairs: &[u64], record: &Record) -> Result<()> {
        for pair in pairs.chunks_exact(2) {
            if self.metadata.kinds.get(&pair[0]).is_some_and(|name| name == "dbg") {
                let node = self.metadata.node(pair[1]);
                let node = node.ok_or_else(|| record.fault(format!("metadata {} is no node", pair[1])))?;
                if let Some(function) = self.module.symbols[symbol].function_mut() {
                    function.debug = node.into();
                }
            }
        }
        Ok(())
    }
}

/// Specialised nodes say in the first bit whether they are distinct.
fn is_distinct(record: &Record) -> bool {
    match record.code {
        metadata::DISTINCT_NODE => true,
        metadata::NODE | metadata::OLD_NODE | metadata::OLD_FN_NODE | metadata::ARG_LIST => false,
        _ => record.ops.first().is_some_and(|first| first & 1 == 1),
    }
}

/// A copy that does not borrow from the file.
fn owned(record: &Record) -> Record<'static> {
    Record { ops: record.ops.clone(), blob: &[], ..*record }
}
