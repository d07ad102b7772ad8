//! Debugging directives: `.file`, `.section`, `.loc`, `.nv_intermediate_source_section`. They are kept as data.

use super::{Parse, Parser};
use crate::ast::{
    CodeBlock, FileDirective, Imm, InlinedAt, IntermediateSource, Loc, Modifier, ScalarType, Section, SectionEntry,
    SectionValue,
};
use crate::diag::Diagnostic;
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
        Ok(Loc { file, line, column, inlined, is_intermediate: false, span })
    }

    /// `.loc_intermediate file line column`
    pub(super) fn intermediate(&mut self) -> Parse<Loc> {
        let start = self.span;
        self.bump();
        let [file, line, column] = self.position()?;
        Ok(Loc { file, line, column, inlined: None, is_intermediate: true, span: self.since(start) })
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
        let start = self.span;
        self.bump();
        if self.token != Token::Dot {
            return Err(self.unexpected("a section name such as `.debug_info`"));
        }
        let name = self.slice().to_owned();
        self.bump();
        let span = self.since(start);
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
            entries.push(SectionEntry::Data(width, self.comma_list(|p| p.section_value(width))?));
        }
        Ok(Section { name, entries, span })
    }

    /// `.nv_intermediate_source_section { .code_block { … } … }`
    pub(super) fn intermediate_source(&mut self) -> Parse<IntermediateSource> {
        let start = self.span;
        self.bump();
        let span = self.since(start);
        self.expect(Token::LeftBrace)?;
        let mut blocks = Vec::new();
        while !self.eat(Token::RightBrace) {
            self.dotted(".code_block")?;
            self.expect(Token::LeftBrace)?;
            blocks.push(self.code_block()?);
            self.expect(Token::RightBrace)?;
        }
        Ok(IntermediateSource { blocks, span })
    }

    fn code_block(&mut self) -> Parse<CodeBlock> {
        self.field(".ir_name")?;
        let language = self.string()?;
        self.field(".sourceFileName")?;
        let start = self.span;
        let file = self.integer("the file index")?;
        let span = self.since(start);
        let text = self.source()?;
        Ok(CodeBlock { language, file, text, span })
    }

    /// `name:`, without space.
    fn field(&mut self, name: &str) -> Parse<()> {
        self.dotted(name)?;
        if self.token == Token::Colon && self.span.start != self.previous_end {
            return Err(self.unexpected(&format!("`:` directly behind `{name}`")));
        }
        self.expect(Token::Colon)
    }

    fn dotted(&mut self, word: &str) -> Parse<()> {
        if self.token != Token::Dot || self.slice() != word {
            return Err(self.unexpected(&format!("`{word}`")));
        }
        self.bump();
        Ok(())
    }

    /// The lines between `.source_begin` and `.source_end`, which stand on lines of their own; they are no tokens.
    fn source(&mut self) -> Parse<String> {
        const BLANK: [char; 2] = [' ', '\t'];
        if self.token != Token::Dot || self.slice() != ".source_begin" {
            return Err(self.unexpected("`.source_begin`"));
        }
        let rest = self.lexer.remainder();
        let Some(first) = rest.find('\n').filter(|end| rest[..*end].trim_matches(BLANK).is_empty()) else {
            let message = "`.source_begin` stands on a line of its own";
            return self.fail(Diagnostic::new(self.span, message));
        };
        let mut end = first + 1;
        for line in rest[end..].split_inclusive('\n') {
            if line.strip_suffix('\n').is_some_and(|line| line.trim_matches(BLANK) == ".source_end") {
                let text = rest[first + 1..end].to_owned();
                self.bump_by(end + line.len());
                return Ok(text);
            }
            end += line.len();
        }
        self.cut_short = true;
        let diagnostic = Diagnostic::new(self.span, "source text is never closed").label("starts here");
        self.fail(diagnostic.help("add `.source_end` on a line of its own"))
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

    /// A number, or the place of a label or section with a number added to it; no other expression.
    fn section_value(&mut self, width: ScalarType) -> Parse<SectionValue> {
        let start = self.span;
        let value = match self.token {
            Token::Ident => {
                let name = self.name("a label")?;
                if self.eat(Token::Minus) {
                    SectionValue::Difference(name, self.name("a label")?)
                } else {
                    SectionValue::Label(name, self.added()?)
                }
            }
            Token::Dot => {
                let section = self.slice().to_owned();
                self.bump();
                SectionValue::Section(section, self.added()?)
            }
            _ => return self.section_number(width),
        };
        if width.bits() < 32 {
            let message = format!("`.{width}` does not hold a place in a section");
            self.error(Diagnostic::new(start, message).help("write `.b32` or `.b64`"));
        }
        Ok(value)
    }

    /// `+ number`, or nothing.
    fn added(&mut self) -> Parse<i64> {
        if !self.eat(Token::Plus) {
            return Ok(0);
        }
        let at = self.span;
        let value = self.plain_number()?;
        i64::try_from(value)
            .or_else(|_| self.fail(Diagnostic::new(at, format!("the number added is out of range: {value}"))))
    }

    fn section_number(&mut self, width: ScalarType) -> Parse<SectionValue> {
        let at = self.span;
        let sign = if self.eat(Token::Minus) { -1 } else { 1 };
        let value = sign * self.plain_number()?;
        let most = 1i128 << width.bits();
        // ptxas 13.0 takes what is too large for 32 bits, and keeps the low ones.
        let fits = value >= -most / 2 && (value < most || width == ScalarType::B32);
        if !fits {
            self.error(Diagnostic::new(at, format!("{value} does not fit in `.{width}`")));
        }
        Ok(SectionValue::Int(value))
    }

    /// An integer without a sign.
    fn plain_number(&mut self) -> Parse<i128> {
        let at = self.span;
        if self.token != Token::Number {
            return Err(self.unexpected("a number"));
        }
        match self.primary()? {
            Imm::S64(value) => Ok(value.into()),
            Imm::U64(value) => Ok(value.into()),
            Imm::F32(_) | Imm::F64(_) => self.fail(Diagnostic::new(at, "section data must be integers")),
        }
    }
}
