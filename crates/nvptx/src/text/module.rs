//! The top level.

use crate::ir::{DataLayout, Module, SymbolKind, Type};

use super::lexer::Kind;
use super::parser::{Parsed, Parser, error, span};
use super::words::Word;

impl<'a> Parser<'a> {
    /// All of the file.
    pub(super) fn module(mut self, file_name: &str) -> Parsed<Module> {
        self.module.name = file_name.to_owned();
        while !self.at(Kind::End) {
            self.entity()?;
        }
        self.check_symbols()?;
        self.check_addressed()?;
        self.check_metadata()?;
        self.rename_intrinsics();
        // Ids are given at the first mention; the module has them in order of the text.
        if !self.order.is_sorted() {
            self.module.reorder_symbols(&self.order);
        }
        Ok(self.module)
    }

    /// One thing of the top level.
    fn entity(&mut self) -> Parsed<()> {
        match self.token.kind {
            Kind::Word => self.word_entity(),
            Kind::GlobalName | Kind::GlobalNumber => self.global(),
            Kind::LocalName | Kind::LocalNumber => self.type_definition(),
            Kind::MetaNumber => self.metadata_definition(),
            Kind::MetaName => self.named_metadata(),
            Kind::Comdat => {
                self.bump();
                self.expect(Kind::Equal)?;
                self.expect_word(Word::Comdat)?;
                self.bump();
                Ok(())
            }
            Kind::Summary => {
                self.bump();
                self.expect(Kind::Equal)?;
                self.expect(Kind::Label)?;
                self.skip_summary()
            }
            _ => Err(self.expected("a function, a variable, a type or metadata")),
        }
    }

    /// The value of a summary entry: one word, or brackets.
    fn skip_summary(&mut self) -> Parsed<()> {
        if self.at(Kind::OpenParen) {
            return self.skip_brackets();
        }
        self.bump();
        Ok(())
    }

    fn word_entity(&mut self) -> Parsed<()> {
        match self.token.word {
            Word::Define => self.define(),
            Word::Declare => self.declare(),
            Word::SourceFilename => {
                self.bump();
                self.expect(Kind::Equal)?;
                self.module.name = self.string()?.into_owned();
                Ok(())
            }
            Word::Target => self.target(),
            Word::Module => {
                self.bump();
                self.expect_word(Word::Asm)?;
                let line = self.string()?;
                self.module.asm.push(line.into());
                Ok(())
            }
            Word::Attributes => {
                self.bump();
                self.expect(Kind::AttributeGroup)?;
                self.expect(Kind::Equal)?;
                if self.at(Kind::OpenBrace) { self.skip_brackets() } else { Err(self.expected("`{`")) }
            }
            Word::UseListOrder | Word::UseListOrderBb => self.skip_use_list_order(),
            _ => Err(self.expected("a function, a variable, a type or metadata")),
        }
    }

    /// `target triple = "…"`, `target datalayout = "…"`
    fn target(&mut self) -> Parsed<()> {
        self.bump();
        if self.eat_word(Word::Triple) {
            self.expect(Kind::Equal)?;
            self.module.triple = self.string()?.into_owned();
            return Ok(());
        }
        self.expect_word(Word::DataLayout)?;
        self.expect(Kind::Equal)?;
        let place = self.token;
        let text = self.string()?;
        self.module.layout = DataLayout::parse(&text).map_err(|message| error(span(place), message))?;
        Ok(())
    }

    /// `uselistorder ptr @x, { 1, 0 }`: an order of uses, which we do not keep.
    pub(super) fn skip_use_list_order(&mut self) -> Parsed<()> {
        if self.bump().word == Word::UseListOrder {
            self.any_type()?;
        }
        while !self.at(Kind::OpenBrace) {
            match self.token.kind {
                Kind::End => return Err(self.expected("`{`")),
                Kind::OpenParen | Kind::OpenBracket => self.skip_brackets()?,
                _ => drop(self.bump()),
            }
        }
        self.skip_brackets()
    }

    /// Gives intrinsics of older text the names that they have with opaque pointers.
    fn rename_intrinsics(&mut self) {
        for id in self.module.symbols.keys() {
            let newer = opaque_pointers(&self.module.symbols[id].name);
            if let Some(name) = newer.filter(|name| self.module.symbol(name).is_none()) {
                self.module.rename(id, &name);
            }
        }
    }

    /// Every symbol must be declared, and constants must name it by a pointer into its space.
    fn check_symbols(&mut self) -> Parsed<()> {
        for (id, symbol) in &self.module.symbols {
            let place = self.mentions[id.as_u32() as usize];
            if let SymbolKind::Undefined = symbol.kind {
                return Err(error(place, format!("`@{}` is not declared", symbol.name)));
            }
        }
        for (ty, id) in self.module.constants.symbols() {
            let symbol = &self.module.symbols[id];
            if self.module.types[ty] != Type::Pointer(symbol.space) {
                let place = self.mentions[id.as_u32() as usize];
                let text = self.module.types.text(ty);
                let message =
                    format!("`@{}` is in address space {}, but used as `{text}`", symbol.name, symbol.space.0);
                return Err(error(place, message));
            }
        }
        Ok(())
    }
}

/// The name of an intrinsic with typed pointers as it is with opaque ones: `llvm.lifetime.start.p0i8`
/// is `llvm.lifetime.start.p0`. None for other names.
fn opaque_pointers(name: &str) -> Option<String> {
    if !name.starts_with("llvm.") || !name.contains(".p") {
        return None;
    }
    let part = |part: &str| {
        let digits = part.strip_prefix('p')?.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0).then(|| part[..=digits].to_owned())
    };
    let newer: Vec<String> = name.split('.').map(|text| part(text).unwrap_or_else(|| text.to_owned())).collect();
    let newer = newer.join(".");
    (newer != name).then_some(newer)
}
