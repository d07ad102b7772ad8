//! Debugging directives: `.file`, `.section`, `.loc`. They are kept as data.

use super::{Parse, Parser};
use crate::ast::{FileDirective, InlinedAt, Loc, Modifier, ScalarType, Section, SectionEntry, SectionValue};
use crate::lexer::Token;

impl Parser<'_> {
    /// `.file index "name" [, timestamp, size]`
    pub(super) fn file(&mut self) -> Parse<FileDirective> {
        self.bump();
        let index = self.integer("the file index")?;
        let name = self.string()?;
        let mut stamp = None;
        if self.eat(Token::Comma) {
            let time = self.integer("the time stamp")?;
            self.expect(Token::Comma)?;
            stamp = Some((time, self.integer("the file size")?));
        }
        self.eat(Token::Semicolon);
        Ok(FileDirective { index, name, stamp })
    }

    /// `.loc file line column [, function_name label[+n], inlined_at file line column]`
    pub(super) fn loc(&mut self) -> Parse<Loc> {
        let start = self.span;
        self.bump();
        let [file, line, column] = self.position()?;
        let mut inlined = None;
        if self.eat(Token::Comma) {
            self.keyword("function_name")?;
            let function = self.name("a label")?;
            let offset = self.offset()?;
            self.expect(Token::Comma)?;
            self.keyword("inlined_at")?;
            let [file, line, column] = self.position()?;
            inlined = Some(InlinedAt { function, offset, file, line, column });
        }
        let span = self.since(start);
        self.eat(Token::Semicolon);
        Ok(Loc { file, line, column, inlined, span })
    }

    fn position(&mut self) -> Parse<[u32; 3]> {
        Ok([self.integer("the file index")?, self.integer("the line")?, self.integer("the column")?])
    }

    fn keyword(&mut self, word: &str) -> Parse<()> {
        if self.token != Token::Ident || self.slice() != word {
            return Err(self.unexpected(&format!("`{word}`")));
        }
        self.bump();
        Ok(())
    }

    /// `.section name { … }`
    pub(super) fn section(&mut self) -> Parse<Section> {
        self.bump();
        if !matches!(self.token, Token::Dot | Token::Ident) {
            return Err(self.unexpected("a section name"));
        }
        let name = self.slice().to_owned();
        self.bump();
        self.expect(Token::LeftBrace)?;
        let mut entries = Vec::new();
        while !self.eat(Token::RightBrace) {
            if self.token == Token::Ident {
                let label = self.name("a label")?;
                self.expect(Token::Colon)?;
                entries.push(SectionEntry::Label(label));
                continue;
            }
            let width = self.data_width()?;
            entries.push(SectionEntry::Data(width, self.comma_list(Self::section_value)?));
            self.eat(Token::Semicolon);
        }
        Ok(Section { name, entries })
    }

    fn data_width(&mut self) -> Parse<ScalarType> {
        if self.token == Token::Dot
            && let Some(Modifier::Type(ty @ (ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64))) =
                Modifier::from_name(&self.slice()[1..])
        {
            self.bump();
            return Ok(ty);
        }
        Err(self.unexpected("`.b8`, `.b16`, `.b32`, `.b64` or a label"))
    }

    fn section_value(&mut self) -> Parse<SectionValue> {
        match self.token {
            Token::Ident if self.slice() != "WARP_SZ" => {
                let name = self.name("a label")?;
                if self.token == Token::Minus && self.next_is_name() {
                    self.bump();
                    return Ok(SectionValue::Difference(name, self.name("a label")?));
                }
                Ok(SectionValue::Label(name, self.offset()?))
            }
            Token::Dot => {
                let section = self.slice().to_owned();
                self.bump();
                Ok(SectionValue::Section(section, self.offset()?))
            }
            _ => {
                let at = self.span;
                match self.constant()?.int_bits() {
                    Some(bits) => Ok(SectionValue::Int(bits as i64)),
                    None => self.fail(crate::diag::Diagnostic::new(at, "section data must be integers")),
                }
            }
        }
    }
}
