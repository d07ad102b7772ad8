//! Metadata. Specialised nodes are read by their form, whatever their names.

use crate::ir::{ConstId, Constant, Meta, MetaField, MetaId};

use super::lexer::Kind;
use super::parser::{Parsed, Parser, error, span, unescape};
use super::words::Word;

impl<'a> Parser<'a> {
    /// The node `!5`, which may be defined later.
    fn numbered_node(&mut self) -> Parsed<MetaId> {
        let token = self.expect(Kind::MetaNumber)?;
        if let Some(&id) = self.meta.by_number.get(&token.number) {
            return Ok(id);
        }
        let id = self.module.metadata.nodes.push(Meta::Undefined);
        self.meta.by_number.insert(token.number, id);
        self.meta.mentions.push((id, span(token)));
        Ok(id)
    }

    /// Every node must be defined.
    pub(super) fn check_metadata(&self) -> Parsed<()> {
        for &(id, place) in &self.meta.mentions {
            if self.module.metadata[id] == Meta::Undefined {
                let text = &self.source()[place.start as usize..place.end as usize];
                return Err(error(place, format!("metadata `{text}` is not defined")));
            }
        }
        Ok(())
    }

    /// `!5 = distinct !{ … }`
    pub(super) fn metadata_definition(&mut self) -> Parsed<()> {
        let token = self.token;
        let id = self.numbered_node()?;
        self.expect(Kind::Equal)?;
        // Before version 4, a type stood here.
        self.eat_word(Word::Metadata);
        let distinct = self.eat_word(Word::Distinct);
        if self.module.metadata[id] != Meta::Undefined {
            return Err(error(span(token), format!("metadata `{}` is defined twice", self.text(token))));
        }
        let meta = self.inline_node()?;
        self.module.metadata.nodes[id] = meta;
        if distinct {
            self.module.metadata.distinct.insert(id);
        }
        Ok(())
    }

    /// `!name = !{!0, !1}`
    pub(super) fn named_metadata(&mut self) -> Parsed<()> {
        let token = self.bump();
        let name = self.name(token)?.into();
        self.expect(Kind::Equal)?;
        self.expect(Kind::Bang)?;
        self.expect(Kind::OpenBrace)?;
        let nodes = self.list(Kind::CloseBrace, Parser::metadata_node)?;
        self.module.metadata.named.push((name, nodes));
        Ok(())
    }

    /// `!5`, or a node that is written out here.
    pub(super) fn metadata_node(&mut self) -> Parsed<MetaId> {
        if self.at(Kind::MetaNumber) {
            return self.numbered_node();
        }
        let distinct = self.eat_word(Word::Distinct);
        let meta = self.inline_node()?;
        let id = self.module.metadata.nodes.push(meta);
        if distinct {
            self.module.metadata.distinct.insert(id);
        }
        Ok(id)
    }

    /// `!{ … }`, `!"text"`, `!DIName(…)`
    fn inline_node(&mut self) -> Parsed<Meta> {
        match self.token.kind {
            Kind::Bang => {
                self.bump();
                if self.at(Kind::Text) {
                    return Ok(Meta::String(self.string()?.into()));
                }
                self.expect(Kind::OpenBrace)?;
                Ok(Meta::Node(self.nested(|p| p.list(Kind::CloseBrace, Parser::operand))?))
            }
            Kind::MetaName => self.special_node(),
            _ => match self.operand()? {
                MetaField::Constant(constant) => Ok(Meta::Constant(constant)),
                _ => Err(self.expected("a metadata node")),
            },
        }
    }

    /// `!DILocation(line: 1, scope: !2)`, `!DIExpression(DW_OP_deref, 4)`
    fn special_node(&mut self) -> Parsed<Meta> {
        let token = self.bump();
        let name = self.name(token)?;
        self.expect(Kind::OpenParen)?;
        let fields = self.nested(|p| {
            p.list(Kind::CloseParen, |p| {
                let key = match p.token.kind {
                    Kind::Label => {
                        let token = p.bump();
                        p.name(token)?.into()
                    }
                    _ => "".into(),
                };
                Ok((key, p.operand()?))
            })
        })?;
        Ok(Meta::Special(name.into(), fields))
    }

    /// One operand of a node.
    fn operand(&mut self) -> Parsed<MetaField> {
        match self.token.kind {
            Kind::MetaNumber => Ok(MetaField::Node(self.numbered_node()?)),
            Kind::Text => Ok(MetaField::String(self.string()?.into())),
            Kind::Integer => {
                let token = self.bump();
                let value = self.text(token).parse();
                Ok(MetaField::Int(value.map_err(|_| error(span(token), "the number does not fit into 128 bits"))?))
            }
            Kind::Bang | Kind::MetaName => Ok(match self.inline_node()? {
                Meta::String(text) => MetaField::String(text),
                node => MetaField::Node(self.module.metadata.nodes.push(node)),
            }),
            Kind::Word => self.word_operand(),
            _ => Ok(MetaField::Constant(self.constant_operand()?)),
        }
    }

    /// A constant with its type; values of functions cannot be named in nodes.
    fn constant_operand(&mut self) -> Parsed<ConstId> {
        // Before version 4, nodes were typed.
        if self.at_word(Word::Metadata) {
            self.bump();
            self.skip_metadata()?;
            return Ok(self.intern(Constant::Metadata));
        }
        self.typed_constant()
    }

    /// `null`, `true`, `DW_TAG_member`, `DIFlagPublic | DIFlagVirtual`, or a constant.
    fn word_operand(&mut self) -> Parsed<MetaField> {
        match self.token.word {
            Word::Null => {
                self.bump();
                Ok(MetaField::Null)
            }
            Word::Unknown | Word::True | Word::False | Word::None | Word::Default => {
                let token = self.bump();
                let mut text = self.text(token).to_owned();
                while self.eat(Kind::Bar) {
                    text.push_str(" | ");
                    text.push_str(self.text(self.token));
                    self.bump();
                }
                Ok(MetaField::Word(text.into()))
            }
            _ => Ok(MetaField::Constant(self.constant_operand()?)),
        }
    }

    /// Metadata as a value, of which a string is kept.
    pub(super) fn metadata_constant(&mut self) -> Parsed<ConstId> {
        let start = self.token;
        self.skip_metadata()?;
        let text = self.source()[start.start as usize..self.previous_end()].strip_prefix("!\"");
        let constant = match text.and_then(|text| text.strip_suffix('"')) {
            Some(text) => Constant::MetadataString(String::from_utf8_lossy(&unescape(text)).into()),
            None => Constant::Metadata,
        };
        Ok(self.intern(constant))
    }

    /// Passes over one piece of metadata, without keeping what only it names.
    pub(super) fn skip_metadata(&mut self) -> Parsed<()> {
        match self.token.kind {
            Kind::MetaNumber => drop(self.bump()),
            Kind::Bang => {
                self.bump();
                if !self.eat(Kind::Text) {
                    if !self.at(Kind::OpenBrace) {
                        return Err(self.expected("`{`"));
                    }
                    self.skip_brackets()?;
                }
            }
            Kind::MetaName => {
                self.bump();
                if !self.at(Kind::OpenParen) {
                    return Err(self.expected("`(`"));
                }
                self.skip_brackets()?;
            }
            _ => return Err(self.expected("metadata")),
        }
        Ok(())
    }
}
