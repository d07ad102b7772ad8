//! Instructions and operands.

use smallvec::SmallVec;

use super::head::Head;
use super::{Parse, Parser};
use crate::ast::{Address, AddressBase, Guard, Instruction, Name, Opcode, Operand, Selector, Span, SpecialReg};
use crate::diag::Diagnostic;
use crate::lexer::Token;

impl Parser<'_> {
    /// Takes `@%p` or `@!%p`.
    pub(super) fn guard(&mut self) -> Parse<Guard> {
        self.expect(Token::At)?;
        let negated = self.eat(Token::Not);
        Ok(Guard { pred: self.name("a predicate register")?, negated })
    }

    /// Takes the rest of an instruction whose head, which begins at `opcode_at`, has just been taken; `start` is where
    /// its guard or opcode stands.
    pub(super) fn instruction(
        &mut self,
        head: Head,
        guard: Option<Guard>,
        start: Span,
        opcode_at: Span,
    ) -> Parse<Box<Instruction>> {
        let Head { opcode, modifiers } = head;
        let opcode_span = self.since(opcode_at);
        let operands = SmallVec::new();
        // In its place from the start: it is large to be moved.
        let mut made = Box::new(Instruction { guard, opcode, modifiers, operands, span: start, opcode_span });
        if !matches!(self.token, Token::Semicolon | Token::RightBrace) {
            self.operand(opcode, &mut made.operands)?;
            while self.eat(Token::Comma) {
                self.operand(opcode, &mut made.operands)?;
            }
        }
        if !made.operands.is_empty() && self.starts_operand() && !self.after_line_break() {
            return Err(self.unexpected("`,` or `;`"));
        }
        made.span = self.since(start);
        self.expect_semicolon()?;
        if opcode == Opcode::Call {
            self.call_shape(&made)?;
        }
        Ok(made)
    }

    /// True if an operand may start here.
    fn starts_operand(&self) -> bool {
        matches!(self.token, Token::Ident | Token::Number | Token::Float | Token::LeftBracket | Token::LeftBrace)
    }

    /// A call is `[(rets),] callee [, (args) [, prototype]]`.
    fn call_shape(&mut self, call: &Instruction) -> Parse<()> {
        let mut rest = call.operands.as_slice();
        if let [Operand::List(..), tail @ ..] = rest {
            rest = tail;
        }
        if let [Operand::Name(_), tail @ ..] = rest
            && let [] | [Operand::List(..)] | [Operand::Name(_)] | [Operand::List(..), Operand::Name(_)] = tail
        {
            return Ok(());
        }
        self.fail(
            Diagnostic::new(call.span, "malformed call").help(
                "write `call (results), function, (arguments);`, with `, prototype` at the end for an indirect call",
            ),
        )
    }

    /// Takes an operand, with its second half when it is `a|b`.
    #[inline]
    fn operand(&mut self, opcode: Opcode, out: &mut SmallVec<[Operand; 4]>) -> Parse<()> {
        let may_be_item = matches!(opcode, Opcode::Ld | Opcode::Ldu | Opcode::St);
        if self.token == Token::Ident && !may_be_item && self.slice() != "WARP_SZ" {
            // What most operands are.
            let (name, special) = self.named();
            if matches!(self.token, Token::Comma | Token::Semicolon) && special.is_none() {
                out.push(Operand::Name(name));
                return Ok(());
            }
            let first = self.named_operand(name, special)?;
            return self.second_half(first, out);
        }
        let first = match self.token {
            Token::LeftParen if opcode == Opcode::Call => {
                out.push(self.list()?);
                return Ok(());
            }
            Token::Ident if may_be_item && self.next_is(Token::LeftBracket) => self.array_item()?,
            _ => self.single_operand()?,
        };
        self.second_half(first, out)
    }

    /// Takes `|b` behind an operand, where it stands.
    fn second_half(&mut self, first: Operand, out: &mut SmallVec<[Operand; 4]>) -> Parse<()> {
        if self.token != Token::Or || matches!(first, Operand::Imm(..)) {
            out.push(first);
            return Ok(());
        }
        self.bump();
        let second = self.single_operand()?;
        out.push(Operand::Pair(Box::new([first, second])));
        Ok(())
    }

    fn single_operand(&mut self) -> Parse<Operand> {
        let start = self.span;
        match self.token {
            Token::Ident if self.slice() != "WARP_SZ" => {
                let (name, special) = self.named();
                self.named_operand(name, special)
            }
            Token::LeftBracket => self.address(),
            Token::LeftBrace => self.vector(),
            Token::Underscore => {
                self.bump();
                Ok(Operand::Sink(start))
            }
            Token::Not | Token::Minus => self.signed_operand(),
            _ if self.at_constant() => {
                let value = self.constant()?;
                Ok(Operand::Imm(value, self.since(start)))
            }
            _ => Err(self.unexpected("an operand")),
        }
    }

    /// `!%p`, `-%r`, or a constant that starts with a sign.
    fn signed_operand(&mut self) -> Parse<Operand> {
        let (sign, start) = (self.token, self.span);
        if self.next_is_name() {
            self.bump();
            let (name, special) = self.named();
            let inner = Box::new(self.named_operand(name, special)?);
            let span = self.since(start);
            return Ok(if sign == Token::Not { Operand::Not(inner, span) } else { Operand::Neg(inner, span) });
        }
        let value = self.constant()?;
        Ok(Operand::Imm(value, self.since(start)))
    }

    /// True if this token comes after the current one.
    fn next_is(&self, token: Token) -> bool {
        self.lexer.clone().next() == Some(Ok(token))
    }

    /// `array[2]`, `array[%r1]`, `array[%r1+2]`: the place of a load or store.
    fn array_item(&mut self) -> Parse<Operand> {
        let start = self.span;
        let array = self.name("an array")?;
        self.expect(Token::LeftBracket)?;
        let index = match self.token {
            Token::Ident if self.slice() != "WARP_SZ" => Some(self.name("an index")?),
            _ => None,
        };
        let offset = if index.is_some() { self.offset()? } else { self.integer("an array index")? };
        self.expect(Token::RightBracket)?;
        let span = self.since(start);
        let base = AddressBase::Item(array, index);
        Ok(Operand::Address(Box::new(Address { base, offset, rest: Vec::new(), span })))
    }

    /// True if a name comes after the current token.
    pub(super) fn next_is_name(&self) -> bool {
        let mut ahead = self.lexer.clone();
        ahead.next() == Some(Ok(Token::Ident)) && ahead.slice() != "WARP_SZ"
    }

    /// Takes the name of an operand; gives the special register that it spells, too.
    #[inline]
    fn named(&mut self) -> (Name, Option<SpecialReg>) {
        let name = Name { sym: self.intern(), span: self.span };
        let special = self.special(name.sym);
        self.bump();
        (name, special)
    }

    /// A name with what may follow it: a component, an offset or an index.
    fn named_operand(&mut self, name: Name, special: Option<SpecialReg>) -> Parse<Operand> {
        match self.token {
            Token::Dot => {
                let part = self.selector()?;
                let span = self.since(name.span);
                Ok(match special {
                    Some(reg) => Operand::Special { reg, part: Some(part), span },
                    None => Operand::Part(Name { span, ..name }, part),
                })
            }
            Token::Plus | Token::Minus => {
                let offset = self.offset()?;
                Ok(Operand::Offset { name, offset, element: false })
            }
            Token::LeftBracket => {
                self.bump();
                let offset = self.integer("an array index")?;
                self.expect(Token::RightBracket)?;
                Ok(Operand::Offset { name, offset, element: true })
            }
            _ => Ok(plain(name, special)),
        }
    }

    fn selector(&mut self) -> Parse<Selector> {
        let text = &self.slice()[1..];
        match Selector::from_name(text) {
            Some(selector) => {
                self.bump();
                Ok(selector)
            }
            None => {
                let message = format!("a register has no part `.{}`", super::shorten(text));
                let help =
                    "parts are `.x .y .z .w` (or `.r .g .b .a`), and `.b0`…`.b3`, `.h0`, `.h1` in video instructions";
                self.fail(Diagnostic::new(self.span, message).help(help))
            }
        }
    }

    /// `{a, b, _}`
    fn vector(&mut self) -> Parse<Operand> {
        let start = self.span;
        self.bump();
        let items = self.nested(|p| p.comma_list(Self::element))?;
        if self.token != Token::RightBrace {
            return Err(self.unexpected("`,` or `}`"));
        }
        self.bump();
        Ok(Operand::Vector(items.into(), self.since(start)))
    }

    /// An element of a vector, which no address is.
    fn element(&mut self) -> Parse<Operand> {
        if self.token == Token::LeftBracket {
            return Err(self.unexpected("an element or `}`"));
        }
        self.single_operand()
    }

    /// `(a, b)` of a call; may be empty.
    fn list(&mut self) -> Parse<Operand> {
        let start = self.span;
        self.expect(Token::LeftParen)?;
        let items = if self.token == Token::RightParen { Vec::new() } else { self.comma_list(Self::single_operand)? };
        if self.token != Token::RightParen {
            return Err(self.unexpected("`,` or `)`"));
        }
        self.bump();
        Ok(Operand::List(items.into(), self.since(start)))
    }

    /// `[base + offset, …]`
    fn address(&mut self) -> Parse<Operand> {
        let start = self.span;
        self.bump();
        let (base, offset) = self.address_base()?;
        let mut rest = Vec::new();
        while self.eat(Token::Comma) {
            rest.push(self.single_operand()?);
        }
        if self.token != Token::RightBracket {
            return Err(self.unexpected("`]`"));
        }
        self.bump();
        Ok(Operand::Address(Box::new(Address { base, offset, rest, span: self.since(start) })))
    }

    fn address_base(&mut self) -> Parse<(AddressBase, i64)> {
        if self.token != Token::Ident || self.slice() == "WARP_SZ" {
            if !self.at_constant() {
                return Err(self.unexpected("an address"));
            }
            let at = self.span;
            return match self.constant()?.int_bits() {
                Some(bits) => Ok((AddressBase::Absolute, bits as i64)),
                None => self.fail(Diagnostic::new(at, "an address must be an integer")),
            };
        }
        let name = self.name("an address")?;
        let base = match self.token {
            Token::Dot => AddressBase::Element(name, self.selector()?),
            _ => AddressBase::Name(name),
        };
        Ok((base, self.offset()?))
    }
}

/// A bare name: special register or not.
fn plain(name: Name, special: Option<SpecialReg>) -> Operand {
    match special {
        Some(reg) => Operand::Special { reg, part: None, span: name.span },
        None => Operand::Name(name),
    }
}
