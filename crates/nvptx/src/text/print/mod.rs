//! Prints IR as LLVM assembly.

mod attributes;
mod constants;
mod instructions;
mod meta_numbers;
mod metadata;
mod printer;

use std::fmt::Write;

use cranelift_entity::EntityRef;

use meta_numbers::MetaNumbers;
use printer::{Printer, Scope, put};

use super::dialect;
use super::numbering::Numbers;
use crate::ir::{
    AddressSpace, BlockId, Body, CallingConvention, Function, InstId, Linkage, Module, Symbol, SymbolKind, Type,
    TypeId, ValueId, Variable, Visibility,
};

/// Prints a module.
///
/// The text reads back as the same module, and printed again it is the same text. Names of
/// structures are not kept, nor are attributes and metadata that the back end has no use for.
#[must_use]
pub fn print(module: &Module) -> String {
    print_for(module, u32::MAX)
}

/// Prints a module for tools of LLVM `version`, 17 or later: what came into the language later is
/// left out or written as it was then.
#[must_use]
pub fn print_for(module: &Module, version: u32) -> String {
    let mut printer = Printer { module, version, out: String::new(), meta: MetaNumbers::new(module) };
    printer.module();
    printer.out
}

/// The longest text of an instruction in a message, in bytes.
const MAX_INSTRUCTION: usize = 160;

/// Prints one instruction of a body on one line, without what is attached to it, and cut where it is very long.
#[must_use]
pub fn print_instruction(module: &Module, body: &Body, inst: InstId) -> String {
    let mut printer = Printer { module, version: u32::MAX, out: String::new(), meta: MetaNumbers::new(module) };
    printer.bare_inst(&Scope { body, numbers: Numbers::new(body) }, inst);
    let mut text = printer.out.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.len() > MAX_INSTRUCTION {
        text.truncate((0..=MAX_INSTRUCTION).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0));
        text.push('…');
    }
    text
}

impl Printer<'_> {
    fn module(&mut self) {
        let module = self.module;
        put!(self, "source_filename = ");
        self.quoted(module.name.as_bytes());
        put!(self, "\ntarget datalayout = \"{}\"\n", module.layout.text());
        if !module.triple.is_empty() {
            self.out.push_str("target triple = ");
            self.quoted(module.triple.as_bytes());
            self.out.push('\n');
        }
        for line in &module.asm {
            self.out.push_str("module asm ");
            self.quoted(line.as_bytes());
            self.out.push('\n');
        }
        for index in 0..module.types.len() {
            if let Type::Opaque(name) = &module.types[TypeId::new(index)] {
                self.name('%', name);
                self.out.push_str(" = type opaque\n");
            }
        }
        for symbol in module.symbols.values() {
            self.symbol(symbol);
        }
        self.metadata();
    }

    fn symbol(&mut self, symbol: &Symbol) {
        match &symbol.kind {
            SymbolKind::Function(function) => self.function(symbol, function),
            SymbolKind::Variable(variable) => self.variable(symbol, variable),
            SymbolKind::Alias(alias) => {
                self.name('@', &symbol.name);
                self.out.push_str(" = ");
                self.head(symbol);
                put!(self, "alias {}, ", self.module.types.text(alias.ty));
                self.typed_constant(alias.target);
                self.out.push('\n');
            }
            // What is not declared cannot be printed; the verifier refuses it.
            SymbolKind::Undefined => {}
        }
    }

    /// Linkage and visibility.
    fn head(&mut self, symbol: &Symbol) {
        self.out.push_str(match symbol.linkage {
            Linkage::External => "",
            Linkage::Internal => "internal ",
            Linkage::Weak => "weak ",
            Linkage::LinkOnce => "linkonce ",
            Linkage::Common => "common ",
            Linkage::AvailableExternally => "available_externally ",
            Linkage::Appending => "appending ",
            Linkage::ExternWeak => "extern_weak ",
        });
        self.out.push_str(match symbol.visibility {
            Visibility::Default => "",
            Visibility::Hidden => "hidden ",
            Visibility::Protected => "protected ",
        });
    }

    fn variable(&mut self, symbol: &Symbol, variable: &Variable) {
        self.name('@', &symbol.name);
        self.out.push_str(" = ");
        if variable.init.is_none() && symbol.linkage == Linkage::External {
            self.out.push_str("external ");
        }
        self.head(symbol);
        if variable.thread_local {
            self.out.push_str("thread_local ");
        }
        self.space(symbol.space);
        if variable.externally_initialized {
            self.out.push_str("externally_initialized ");
        }
        let word = if variable.constant { "constant" } else { "global" };
        put!(self, "{word} {}", self.module.types.text(variable.ty));
        if let Some(init) = variable.init {
            self.out.push(' ');
            self.constant(init);
        }
        self.tail(symbol, ", ");
        self.function_attributes(&variable.attributes);
        self.out.push('\n');
    }

    /// `addrspace(3) `, unless it is the generic space.
    fn space(&mut self, space: AddressSpace) {
        if space != AddressSpace::GENERIC {
            put!(self, "addrspace({}) ", space.0);
        }
    }

    /// Section and alignment, each after `before`.
    fn tail(&mut self, symbol: &Symbol, before: &str) {
        if let Some(section) = &symbol.section {
            put!(self, "{before}section ");
            self.quoted(section.as_bytes());
        }
        if symbol.align != 0 {
            put!(self, "{before}align {}", symbol.align);
        }
    }

    fn convention(&mut self, convention: CallingConvention) {
        match convention {
            CallingConvention::C => {}
            CallingConvention::Fast => self.out.push_str("fastcc "),
            CallingConvention::Cold => self.out.push_str("coldcc "),
            CallingConvention::PtxKernel => self.out.push_str("ptx_kernel "),
            CallingConvention::PtxDevice => self.out.push_str("ptx_device "),
            CallingConvention::Other(number) => {
                put!(self, "cc {number} ");
            }
        }
    }

    fn function(&mut self, symbol: &Symbol, function: &Function) {
        let scope = function.body.as_deref().map(|body| Scope { body, numbers: Numbers::new(body) });
        self.out.push_str(if scope.is_some() { "\ndefine " } else { "\ndeclare " });
        self.head(symbol);
        self.convention(function.convention);
        self.param_attributes(&function.ret_attributes, function.ret);
        put!(self, "{} ", self.module.types.text(function.ret));
        self.name('@', &symbol.name);
        self.out.push('(');
        if self.needs_size(&symbol.name, function.params.len()) {
            self.out.push_str("i64, ");
        }
        for (at, param) in function.params.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            put!(self, "{} ", self.module.types.text(param.ty));
            self.param_attributes(&param.attributes, param.ty);
            self.out.truncate(self.out.trim_end().len());
            if let Some(Scope { body, numbers }) = &scope {
                self.out.push(' ');
                self.local(body, numbers, body.params[at]);
            }
        }
        if function.varargs {
            self.out.push_str(if function.params.is_empty() { "..." } else { ", ..." });
        }
        self.out.push(')');
        if symbol.space != AddressSpace::GENERIC {
            put!(self, " addrspace({})", symbol.space.0);
        }
        self.function_attributes(&function.attributes);
        self.tail(symbol, " ");
        if let Some(scope) = &scope {
            if let Some(node) = function.debug.expand() {
                put!(self, " !dbg !{}", self.meta.number(node));
            }
            self.out.push_str(" {");
            self.body(scope);
            self.out.push('}');
        }
        self.out.push('\n');
    }

    /// `%name` or `%5`
    fn local(&mut self, body: &Body, numbers: &Numbers, value: ValueId) {
        match body.value_names.get(&value) {
            Some(name) => self.name('%', name),
            None => {
                put!(self, "%{}", numbers.value(value));
            }
        }
    }

    /// `%name` or `%5` of a block.
    fn block_name(&mut self, body: &Body, numbers: &Numbers, block: BlockId) {
        match body.block_names.get(&block) {
            Some(name) => self.name('%', name),
            None => {
                put!(self, "%{}", numbers.block(block));
            }
        }
    }

    /// Whether a lifetime without a size must be given one, of -1 for all.
    fn needs_size(&self, name: &str, operands: usize) -> bool {
        !self.has(dialect::LIFETIMES) && operands == 1 && name.starts_with("llvm.lifetime.")
    }

    /// A type.
    fn ty(&mut self, ty: TypeId) {
        match ty {
            TypeId::I32 => self.out.push_str("i32"),
            TypeId::PTR => self.out.push_str("ptr"),
            _ => self.out.push_str(&self.module.types.text(ty)),
        }
    }

    /// A name behind the character that says what it names.
    fn name(&mut self, sigil: char, name: &str) {
        self.out.push(sigil);
        self.bare_name(name);
    }

    /// A name, in quotes where it has to be.
    fn bare_name(&mut self, name: &str) {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'$' | b'.' | b'_');
        match name.bytes().all(plain) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit()) {
            true => self.out.push_str(name),
            false => self.quoted(name.as_bytes()),
        }
    }

    /// A string in quotes, with `\5C` and the like.
    fn quoted(&mut self, bytes: &[u8]) {
        self.out.push('"');
        for &byte in bytes {
            match byte {
                b'"' | b'\\' | 0..b' ' | 0x7F.. => {
                    put!(self, "\\{byte:02X}");
                }
                _ => self.out.push(byte as char),
            }
        }
        self.out.push('"');
    }
}
