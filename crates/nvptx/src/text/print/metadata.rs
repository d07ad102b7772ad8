//! Metadata.

use std::fmt::Write;

use crate::ir::{Meta, MetaField};

use super::printer::{Printer, put};

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
