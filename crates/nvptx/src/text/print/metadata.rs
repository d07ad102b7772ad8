//! Metadata.

use std::fmt::Write;

use cranelift_entity::SecondaryMap;

use crate::ir::{Meta, MetaField, MetaId, Module};

use super::{Printer, put};

/// The numbers that nodes are printed with: by their first mention in the text, so that reading
/// it back gives them the same order.
pub(super) struct MetaNumbers {
    /// One more than the number; 0 for none yet.
    numbers: SecondaryMap<MetaId, u32>,
    order: Vec<MetaId>,
}

impl MetaNumbers {
    pub(super) fn new(module: &Module) -> MetaNumbers {
        let mut numbers = MetaNumbers { numbers: SecondaryMap::new(), order: Vec::new() };
        for (_, _, function, body) in module.definitions() {
            function.debug.expand().into_iter().for_each(|id| numbers.mention(id));
            for (_, inst) in body.insts_in_order() {
                body[inst].loc.expand().into_iter().for_each(|id| numbers.mention(id));
                body.attachments.get(&inst).into_iter().flatten().for_each(|&(_, id)| numbers.mention(id));
            }
        }
        for (_, nodes) in &module.metadata.named {
            nodes.iter().for_each(|&id| numbers.mention(id));
        }
        // Those that are named by other nodes, then what nothing names.
        let (mut at, mut rest) = (0, module.metadata.nodes.keys());
        loop {
            while let Some(&id) = numbers.order.get(at) {
                at += 1;
                for_each_node(&module.metadata[id], |id| numbers.mention(id));
            }
            match rest.next() {
                Some(id) => numbers.mention(id),
                None => return numbers,
            }
        }
    }

    fn mention(&mut self, id: MetaId) {
        if self.numbers[id] == 0 {
            self.order.push(id);
            self.numbers[id] = self.order.len() as u32;
        }
    }

    pub(super) fn number(&self, id: MetaId) -> u32 {
        self.numbers[id].saturating_sub(1)
    }
}

/// Calls `f` with the nodes that a node names.
fn for_each_node(meta: &Meta, mut f: impl FnMut(MetaId)) {
    let mut field = |field: &MetaField| {
        if let MetaField::Node(id) = field {
            f(*id);
        }
    };
    match meta {
        Meta::Node(fields) => fields.iter().for_each(field),
        Meta::Special(_, fields) => fields.iter().for_each(|(_, value)| field(value)),
        Meta::Undefined | Meta::String(_) | Meta::Constant(_) => {}
    }
}

impl Printer<'_> {
    /// Named metadata, and all nodes.
    pub(super) fn metadata(&mut self) {
        let metadata = &self.module.metadata;
        self.out.push('\n');
        for (name, nodes) in &metadata.named {
            self.meta_name(name);
            self.out.push_str(" = !{");
            for (at, &node) in nodes.iter().enumerate() {
                put!(self, "{}!{}", if at > 0 { ", " } else { "" }, self.meta.number(node));
            }
            self.out.push_str("}\n");
        }
        for (number, id) in std::mem::take(&mut self.meta.order).into_iter().enumerate() {
            let distinct = if metadata.distinct.contains(id) { "distinct " } else { "" };
            put!(self, "!{number} = {distinct}");
            self.meta(&metadata[id]);
            self.out.push('\n');
        }
    }

    /// `!name`, with `\20` and the like.
    fn meta_name(&mut self, name: &str) {
        self.out.push('!');
        for (at, byte) in name.bytes().enumerate() {
            match byte {
                b'-' | b'$' | b'.' | b'_' | b'a'..=b'z' | b'A'..=b'Z' => self.out.push(byte as char),
                b'0'..=b'9' if at > 0 => self.out.push(byte as char),
                _ => {
                    put!(self, "\\{byte:02X}");
                }
            }
        }
    }

    fn meta(&mut self, meta: &Meta) {
        match meta {
            // The reader leaves none.
            Meta::Undefined => self.out.push_str("!{}"),
            Meta::Node(fields) => {
                self.out.push_str("!{");
                for (at, field) in fields.iter().enumerate() {
                    self.out.push_str(if at > 0 { ", " } else { "" });
                    if matches!(field, MetaField::String(_)) {
                        self.out.push('!');
                    }
                    self.field(field);
                }
                self.out.push('}');
            }
            Meta::Special(name, fields) => {
                self.meta_name(name);
                self.out.push('(');
                for (at, (key, field)) in fields.iter().enumerate() {
                    self.out.push_str(if at > 0 { ", " } else { "" });
                    if !key.is_empty() {
                        put!(self, "{key}: ");
                    }
                    self.field(field);
                }
                self.out.push(')');
            }
            Meta::String(text) => {
                self.out.push('!');
                self.quoted(text.as_bytes());
            }
            Meta::Constant(id) => self.typed_constant(*id),
        }
    }

    fn field(&mut self, field: &MetaField) {
        match field {
            MetaField::Null => self.out.push_str("null"),
            MetaField::Node(id) => {
                put!(self, "!{}", self.meta.number(*id));
            }
            MetaField::String(text) => self.quoted(text.as_bytes()),
            MetaField::Constant(id) => self.typed_constant(*id),
            MetaField::Int(value) => {
                put!(self, "{value}");
            }
            MetaField::Word(word) => self.out.push_str(word),
        }
    }
}
