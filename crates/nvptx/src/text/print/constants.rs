//! Constants.

use std::fmt::Write;

use crate::ir::{BlockId, ConstExpr, ConstId, Constant, SymbolId, TypeId};

use super::super::numbering::Numbers;
use super::attributes::signed;
use super::instructions::gep_flags;
use super::printer::{Printer, put};

impl Printer<'_> {
    /// A constant with its type.
    pub(super) fn typed_constant(&mut self, id: ConstId) {
        self.ty(self.module.constants.ty(id));
        self.out.push(' ');
        self.constant(id);
    }

    /// A constant without its type.
    pub(super) fn constant(&mut self, id: ConstId) {
        let module = self.module;
        match &module.constants[id] {
            Constant::Int(TypeId::I1, value) => self.out.push_str(if *value == 0 { "false" } else { "true" }),
            Constant::Int(ty, value) => {
                let value = signed(module.types.int_bits(*ty).unwrap_or(128), *value);
                put!(self, "{value}");
            }
            Constant::Float(ty, bits) => self.float(*ty, *bits),
            Constant::Null(_) => self.out.push_str("null"),
            Constant::Zero(_) => self.out.push_str("zeroinitializer"),
            Constant::Undef(_) => self.out.push_str("undef"),
            Constant::Poison(_) => self.out.push_str("poison"),
            Constant::Aggregate(ty, items) => {
                let (open, close) = brackets(&module.types[*ty]);
                self.out.push_str(open);
                self.constants(items);
                self.out.push_str(close);
            }
            Constant::Bytes(_, bytes) => {
                self.out.push('c');
                self.quoted(bytes);
            }
            Constant::Symbol(_, symbol) => self.name('@', &module.symbols[*symbol].name),
            Constant::BlockAddress(_, function, block) => self.block_address(*function, *block),
            Constant::Expr(ty, expr) => self.expression(*ty, expr),
            Constant::MetadataString(text) => {
                self.out.push('!');
                self.quoted(text.as_bytes());
            }
            Constant::Metadata => self.out.push_str("!{}"),
            Constant::TokenNone => self.out.push_str("none"),
        }
    }

    /// Constants with their types, with commas between.
    fn constants(&mut self, items: &[ConstId]) {
        for (at, &item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.typed_constant(item);
        }
    }

    /// The bits of a floating-point number; those of a `float` as the `double` that is the same.
    fn float(&mut self, ty: TypeId, bits: u64) {
        match ty {
            TypeId::HALF => {
                put!(self, "0xH{bits:04X}");
            }
            TypeId::BFLOAT => {
                put!(self, "0xR{bits:04X}");
            }
            TypeId::FLOAT => {
                put!(self, "0x{:016X}", double_bits(bits as u32));
            }
            _ => {
                put!(self, "0x{bits:016X}");
            }
        }
    }

    fn block_address(&mut self, function: SymbolId, block: BlockId) {
        let symbol = &self.module.symbols[function];
        self.out.push_str("blockaddress(");
        self.name('@', &symbol.name);
        self.out.push_str(", ");
        if let Some(body) = symbol.function().and_then(|function| function.body.as_deref()) {
            self.block_name(body, &Numbers::new(body), block);
        }
        self.out.push(')');
    }

    fn expression(&mut self, ty: TypeId, expr: &ConstExpr) {
        match expr {
            ConstExpr::Gep { source, flags, base, indices } => {
                put!(self, "getelementptr{} ({}, ", gep_flags(*flags, self.version), self.module.types.text(*source));
                self.typed_constant(*base);
                for &index in indices {
                    self.out.push_str(", ");
                    self.typed_constant(index);
                }
            }
            ConstExpr::Cast(op, value) => {
                put!(self, "{} (", op.as_str());
                self.typed_constant(*value);
                put!(self, " to {}", self.module.types.text(ty));
            }
            ConstExpr::Binary(op, a, b) => self.operation(op.as_str(), &[*a, *b]),
            ConstExpr::ICmp(how, a, b) => self.operation(&format!("icmp {}", how.as_str()), &[*a, *b]),
            ConstExpr::FCmp(how, a, b) => self.operation(&format!("fcmp {}", how.as_str()), &[*a, *b]),
            ConstExpr::Select(condition, a, b) => self.operation("select", &[*condition, *a, *b]),
            ConstExpr::ExtractElement(vector, index) => self.operation("extractelement", &[*vector, *index]),
            ConstExpr::InsertElement(vector, part, index) => {
                self.operation("insertelement", &[*vector, *part, *index]);
            }
        }
        self.out.push(')');
    }

    /// The name of an operation and its operands, but for the last parenthesis.
    fn operation(&mut self, name: &str, operands: &[ConstId]) {
        put!(self, "{name} (");
        self.constants(operands);
    }
}

/// What stands around the elements of an aggregate.
fn brackets(ty: &crate::ir::Type) -> (&'static str, &'static str) {
    match ty {
        crate::ir::Type::Vector(..) => ("<", ">"),
        crate::ir::Type::Array(..) => ("[", "]"),
        crate::ir::Type::Struct { packed: true, .. } => ("<{ ", " }>"),
        _ => ("{ ", " }"),
    }
}

/// The bits of the `double` with the value of a `float`; by bits for a NaN, which a conversion
/// would make quiet.
fn double_bits(bits: u32) -> u64 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        let (sign, payload) = (u64::from(bits >> 31), u64::from(bits & 0x7F_FFFF));
        return sign << 63 | 0x7FF << 52 | payload << 29;
    }
    f64::from(value).to_bits()
}
