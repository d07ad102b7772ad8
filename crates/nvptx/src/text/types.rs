//! Types.

use std::borrow::Cow;

use super::names::{NamedType, Pointee, RECENT, State};
use crate::ir::{AddressSpace, Type, TypeId};

use super::lexer::{Kind, Token};
use super::parser::{Parsed, Parser, error, span, with_help};
use super::words::Word;

/// The widest integer of LLVM, in bits.
const MAX_INT_BITS: u64 = 1 << 23;

/// The longest vector taken.
const MAX_VECTOR: u64 = 1 << 16;

/// How many parts a type may have, counted with repetition. Keeps types whose text grows without
/// bounds (`%a = type { %b, %b }`, and so on) from passes that walk over all of a type.
const MAX_PARTS: u32 = 1 << 16;

impl<'a> Parser<'a> {
    /// A type that is not a function. Afterwards [`Parser::pointee`] says what a typed pointer
    /// points to.
    pub(super) fn ty(&mut self) -> Parsed<TypeId> {
        let start = self.token;
        let ty = self.any_type()?;
        match self.module.types[ty] {
            Type::Function { .. } => Err(error(self.span_from(start), "a function type cannot stand here")),
            _ => Ok(ty),
        }
    }

    /// A type.
    pub(super) fn any_type(&mut self) -> Parsed<TypeId> {
        self.pointee = None;
        if self.at(Kind::LocalName) || self.at(Kind::LocalNumber) {
            return self.named();
        }
        let base = self.base_type()?;
        self.type_suffixes(base)
    }

    /// `*`, `addrspace(n)*` and `(…)` behind a type.
    fn type_suffixes(&mut self, mut ty: TypeId) -> Parsed<TypeId> {
        loop {
            match self.token.kind {
                Kind::Star => {
                    self.bump();
                    self.pointee = Some(Pointee::Type(ty));
                    ty = TypeId::PTR;
                }
                Kind::Word if self.at_word(Word::AddrSpace) => {
                    let space = self.address_space()?;
                    self.expect(Kind::Star)?;
                    self.pointee = Some(Pointee::Type(ty));
                    ty = self.module.types.pointer(space);
                }
                Kind::OpenParen => ty = self.nested(|p| p.function_type(ty))?,
                _ => return Ok(ty),
            }
        }
    }

    /// A named type; behind a pointer it need not be known.
    fn named(&mut self) -> Parsed<TypeId> {
        let token = self.bump();
        let name = self.name(token)?;
        let space = match self.token.kind {
            Kind::Star => AddressSpace::GENERIC,
            Kind::Word if self.at_word(Word::AddrSpace) => self.address_space()?,
            _ => {
                let ty = self.named_type(&name, token)?;
                return self.type_suffixes(ty);
            }
        };
        self.expect(Kind::Star)?;
        let ty = self.module.types.pointer(space);
        let pointee = Pointee::Named(name, token);
        if self.at(Kind::Star) || self.at(Kind::OpenParen) || self.at_word(Word::AddrSpace) {
            return self.type_suffixes(ty);
        }
        self.pointee = Some(pointee);
        Ok(ty)
    }

    fn base_type(&mut self) -> Parsed<TypeId> {
        match self.token.kind {
            Kind::IntType => self.int_type(),
            Kind::Word => self.word_type(),
            Kind::OpenBracket | Kind::OpenBrace | Kind::Less => self.recent_type(),
            _ => Err(self.expected("a type")),
        }
    }

    /// A type with brackets, at once if the same text has been read lately.
    fn recent_type(&mut self) -> Parsed<TypeId> {
        let start = self.token;
        let rest = &self.source()[start.start as usize..];
        let known = self.types.recent.iter().flatten().find(|(text, _)| rest.starts_with(text));
        if let Some(&(text, ty)) = known {
            self.skip_to(start.start as usize + text.len());
            return Ok(ty);
        }
        let ty = self.bracket_type()?;
        let text = &self.source()[start.start as usize..self.previous_end()];
        // Names may mean something else while their definition is being read.
        if !text.contains('%') {
            self.types.recent[self.types.oldest] = Some((text, ty));
            self.types.oldest = (self.types.oldest + 1) % RECENT;
        }
        Ok(ty)
    }

    fn bracket_type(&mut self) -> Parsed<TypeId> {
        match self.bump().kind {
            Kind::OpenBracket => self.nested(Parser::array_type),
            Kind::OpenBrace => self.nested(|p| p.struct_type(false)),
            _ if !self.eat(Kind::OpenBrace) => self.nested(Parser::vector_type),
            _ => {
                let ty = self.nested(|p| p.struct_type(true))?;
                self.expect(Kind::Greater)?;
                Ok(ty)
            }
        }
    }

    fn int_type(&mut self) -> Parsed<TypeId> {
        self.has_bytes |= self.text(self.token).starts_with('b');
        let ty = match self.token.number {
            1 => TypeId::I1,
            8 => TypeId::I8,
            16 => TypeId::I16,
            32 => TypeId::I32,
            64 => TypeId::I64,
            128 => TypeId::I128,
            bits @ 1..=MAX_INT_BITS => self.module.types.int(bits as u32),
            _ => return Err(self.error(format!("integers have 1 to {MAX_INT_BITS} bits"))),
        };
        self.bump();
        Ok(ty)
    }

    fn word_type(&mut self) -> Parsed<TypeId> {
        let other = |name| Type::OtherFloat(name);
        let ty = match self.token.word {
            Word::Ptr => {
                self.bump();
                return Ok(match self.at_word(Word::AddrSpace) {
                    true => {
                        let space = self.address_space()?;
                        self.module.types.pointer(space)
                    }
                    false => TypeId::PTR,
                });
            }
            Word::Void => TypeId::VOID,
            Word::Half => TypeId::HALF,
            Word::BFloat => TypeId::BFLOAT,
            Word::Float => TypeId::FLOAT,
            Word::Double => TypeId::DOUBLE,
            Word::Label => TypeId::LABEL,
            Word::Metadata => TypeId::METADATA,
            Word::Token => TypeId::TOKEN,
            Word::Fp128 => self.module.types.intern(other("fp128")),
            Word::X86Fp80 => self.module.types.intern(other("x86_fp80")),
            Word::PpcFp128 => self.module.types.intern(other("ppc_fp128")),
            Word::X86Amx | Word::X86Mmx => {
                return Err(self.error(format!("`{}` is a type that no GPU has", self.token.word.as_str())));
            }
            Word::Target => return Err(self.error("target extension types are not supported")),
            _ => return Err(self.expected("a type")),
        };
        self.bump();
        Ok(ty)
    }

    /// `addrspace(n)`
    pub(super) fn address_space(&mut self) -> Parsed<AddressSpace> {
        self.expect_word(Word::AddrSpace)?;
        self.expect(Kind::OpenParen)?;
        if self.at(Kind::Text) {
            return Err(with_help(self.error("address spaces by name are not supported"), "write the number"));
        }
        let space = AddressSpace(self.small()?);
        self.expect(Kind::CloseParen)?;
        Ok(space)
    }

    fn function_type(&mut self, ret: TypeId) -> Parsed<TypeId> {
        self.expect(Kind::OpenParen)?;
        let mut params = Vec::new();
        let mut varargs = false;
        self.list(Kind::CloseParen, |p| {
            if varargs {
                return Err(p.expected("`)`"));
            }
            varargs = p.eat(Kind::Ellipsis);
            if !varargs {
                params.push(p.ty()?);
            }
            Ok(())
        })?;
        self.pointee = None;
        Ok(self.module.types.intern(Type::Function { ret, params: params.into(), varargs }))
    }

    /// `4 x i32]`
    fn array_type(&mut self) -> Parsed<TypeId> {
        let start = self.token;
        let len = self.unsigned()?;
        self.expect_word(Word::X)?;
        let element = self.ty()?;
        self.expect(Kind::CloseBracket)?;
        self.pointee = None;
        self.sized_parts(start, Type::Array(element, len), &[element])
    }

    /// `4 x i32>`
    fn vector_type(&mut self) -> Parsed<TypeId> {
        let start = self.token;
        if self.at_word(Word::VScale) {
            return Err(self.error("scalable vectors are not supported: no GPU has them"));
        }
        let len = self.unsigned()?;
        if len == 0 || len > MAX_VECTOR {
            return Err(error(span(start), format!("vectors have 1 to {MAX_VECTOR} elements")));
        }
        self.expect_word(Word::X)?;
        let element = self.ty()?;
        self.expect(Kind::Greater)?;
        self.pointee = None;
        match self.module.types[element] {
            Type::Int(_) | Type::Pointer(_) => {}
            _ if self.module.types.is_float(element) => {}
            _ => return Err(error(self.span_from(start), "a vector holds integers, floats or pointers")),
        }
        Ok(self.module.types.vector(element, len as u32))
    }

    /// `i32, float }`
    fn struct_type(&mut self, packed: bool) -> Parsed<TypeId> {
        let start = self.token;
        let fields = self.list(Kind::CloseBrace, Parser::ty)?;
        self.pointee = None;
        let ty = Type::Struct { fields: fields.as_slice().into(), packed };
        self.sized_parts(start, ty, &fields)
    }

    /// Adds a type that holds others, which must have a size.
    fn sized_parts(&mut self, start: Token, ty: Type, parts: &[TypeId]) -> Parsed<TypeId> {
        let mut sum = 1u32;
        for &part in parts {
            match self.module.types[part] {
                Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Opaque(_) | Type::Function { .. } => {
                    let text = self.module.types.text(part);
                    return Err(error(self.span_from(start), format!("an element cannot be of type `{text}`")));
                }
                Type::Array(..) | Type::Struct { .. } => {
                    sum = sum.saturating_add(self.types.parts.get(&part).copied().unwrap_or(1));
                }
                _ => sum = sum.saturating_add(1),
            }
        }
        if sum > MAX_PARTS {
            return Err(error(self.span_from(start), format!("a type of more than {MAX_PARTS} parts")));
        }
        let id = self.module.types.intern(ty);
        self.types.parts.insert(id, sum);
        Ok(id)
    }

    /// The type that a pointer of older text points to.
    pub(super) fn pointee_type(&mut self, pointee: Pointee<'a>) -> Parsed<TypeId> {
        match pointee {
            Pointee::Type(ty) => Ok(ty),
            Pointee::Named(name, token) => self.named_type(&name, token),
        }
    }

    /// The type called `name`, whose definition may follow further on.
    fn named_type(&mut self, name: &str, token: Token) -> Parsed<TypeId> {
        if !self.types.by_name.contains_key(name) && !self.types.searched {
            self.find_definitions()?;
        }
        let found = self.types.by_name.get(name).copied();
        let Some(NamedType { place, state }) = found else {
            return Err(error(span(token), format!("type `%{name}` is not defined")));
        };
        match state {
            State::Read(ty) => Ok(ty),
            // Inside of itself a type may only be behind a pointer, and then it does not matter.
            State::Busy => Ok(self.module.types.intern(Type::Opaque(name.into()))),
            State::Unread => {
                let owned: Cow<'a, str> = Cow::Owned(name.to_owned());
                self.nested(|p| p.elsewhere(place, |p| p.type_body(owned, place)))
            }
        }
    }

    /// What stands behind `%name = type`.
    fn type_body(&mut self, name: Cow<'a, str>, place: u32) -> Parsed<TypeId> {
        let pointee = self.pointee.take();
        self.types.by_name.insert(name.clone(), NamedType { place, state: State::Busy });
        let ty = match self.eat_word(Word::Opaque) {
            true => self.module.types.intern(Type::Opaque((&*name).into())),
            false => self.any_type()?,
        };
        self.types.by_name.insert(name, NamedType { place, state: State::Read(ty) });
        self.pointee = pointee;
        Ok(ty)
    }

    /// `%name = type …`
    pub(super) fn type_definition(&mut self) -> Parsed<()> {
        let token = self.bump();
        let name = self.name(token)?;
        self.expect(Kind::Equal)?;
        self.expect_word(Word::Type)?;
        let place = self.token.start;
        match self.types.by_name.get(&name) {
            Some(known) if known.place != place => Err(error(span(token), format!("type `%{name}` is defined twice"))),
            // Read before, when it was needed: once more, to come behind it.
            Some(NamedType { state: State::Read(_), .. }) => {
                self.eat_word(Word::Opaque).then_some(()).map_or_else(|| self.any_type().map(drop), Ok)
            }
            _ => self.type_body(name, place).map(drop),
        }
    }

    /// Looks for the definitions of types in all lines.
    fn find_definitions(&mut self) -> Parsed<()> {
        self.types.searched = true;
        let text = self.source();
        let mut from = 0;
        while let Some(found) = text[from..].find("\n%") {
            let at = from + found + 1;
            from = at;
            let definition = self.elsewhere(at as u32, |p| {
                let token = p.bump();
                let is_type = p.eat(Kind::Equal) && p.eat_word(Word::Type);
                Ok(is_type.then_some((token, p.token.start)))
            })?;
            if let Some((token, place)) = definition {
                let name = self.name(token)?;
                self.types.by_name.entry(name).or_insert(NamedType { place, state: State::Unread });
            }
        }
        Ok(())
    }
}
