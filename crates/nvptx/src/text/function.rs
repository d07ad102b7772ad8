//! Bodies of functions: blocks, and the names of local values.

use oriole_ptx::ast::Span;

use crate::ir::{BlockId, Body, InstId, SymbolId, TypeId, Value, ValueId};

use super::lexer::{Kind, Token};
use super::names::{Forward, Key, Local, Locals};
use super::numbering::Numbers;
use super::parser::{Parsed, Parser, error, span};
use super::words::Word;

/// A value used before its definition has an id from here on, until the body has been read.
const FIRST_FORWARD: u32 = 1 << 30;

/// How many numbers may be left out at a time.
const MAX_GAP: u64 = 1 << 12;

impl<'a> Parser<'a> {
    /// `{ … }`
    pub(super) fn function_body(&mut self, id: SymbolId, names: &[Option<Token>]) -> Parsed<Body> {
        self.body = Body::default();
        self.locals = Locals::default();
        self.current = Some(id);
        self.make_addressed(id);
        self.add_params(id, names)?;
        self.expect(Kind::OpenBrace)?;
        self.locals.places.clear();
        if self.at(Kind::CloseBrace) {
            return Err(self.error("a function has at least one block"));
        }
        while !self.at(Kind::CloseBrace) && !self.at_word(Word::UseListOrder) {
            self.block()?;
        }
        while self.at_word(Word::UseListOrder) {
            self.skip_use_list_order()?;
        }
        let end = self.expect(Kind::CloseBrace)?;
        self.current = None;
        self.finish_locals()?;
        let body = std::mem::take(&mut self.body);
        crate::ir::verify_body(&self.module, id, &body).map_err(|fault| {
            let at = fault.inst.and_then(|inst| self.locals.places.get(inst.as_u32() as usize));
            let place = at.map_or(span(end), |&at| self.line_span(at));
            error(place, fault.message)
        })?;
        Ok(body)
    }

    /// From byte `at` to the end of its line.
    fn line_span(&self, at: u32) -> Span {
        let rest = &self.source()[at as usize..];
        let len = rest.find('\n').unwrap_or(rest.len());
        Span::new(at, at + rest[..len].trim_end().len() as u32)
    }

    fn add_params(&mut self, id: SymbolId, names: &[Option<Token>]) -> Parsed<()> {
        let function = self.module.symbols[id].function();
        let types: Vec<TypeId> = function.map_or_else(Vec::new, |f| f.params.iter().map(|param| param.ty).collect());
        for (ty, name) in types.into_iter().zip(names) {
            let value = self.body.add_param(ty);
            let key = match name {
                Some(token) => self.local_key(*token)?,
                None => self.next_number(),
            };
            self.define_value(name.unwrap_or(self.token), key, Value::Local(value), ty)?;
        }
        Ok(())
    }

    /// The name in a token such as `%x` or `%5`.
    pub(super) fn local_key(&self, token: Token) -> Parsed<Key<'a>> {
        match token.kind {
            Kind::LocalNumber => Ok(Key::Number(token.number)),
            _ => Ok(Key::Name(self.name(token)?)),
        }
    }

    /// The name of the next value or block that is not named.
    pub(super) fn next_number(&self) -> Key<'a> {
        Key::Number(self.locals.numbered.len() as u64)
    }

    fn known(&self, key: &Key<'a>) -> Local {
        match key {
            Key::Number(number) => {
                let number = usize::try_from(*number).unwrap_or(usize::MAX);
                self.locals.numbered.get(number).copied().unwrap_or(Local::Vacant)
            }
            Key::Name(name) => self.locals.named.get(name).copied().unwrap_or(Local::Vacant),
        }
    }

    /// Gives a name its meaning.
    fn define_local(&mut self, token: Token, key: Key<'a>, local: Local) -> Parsed<()> {
        match key {
            Key::Number(number) => {
                let next = self.locals.numbered.len() as u64;
                if number < next {
                    return Err(error(span(token), format!("the next number is {next}, not {number}")));
                }
                if number - next > MAX_GAP {
                    return Err(error(span(token), format!("more than {MAX_GAP} numbers are left out here")));
                }
                self.locals.numbered.resize(number as usize, Local::Vacant);
                self.locals.numbered.push(local);
            }
            Key::Name(name) => {
                if self.locals.named.insert(name.clone(), local).is_some() {
                    return Err(error(span(token), format!("`%{name}` is defined twice")));
                }
            }
        }
        Ok(())
    }

    /// Names a value.
    pub(super) fn define_value(&mut self, token: Token, key: Key<'a>, value: Value, ty: TypeId) -> Parsed<()> {
        if let (Key::Name(name), Some(id)) = (&key, value.local()) {
            self.body.value_names.entry(id).or_insert_with(|| (&**name).into());
        }
        if !self.locals.waiting.is_empty()
            && let Some(at) = self.locals.waiting.remove(&key)
        {
            let forward = &mut self.locals.forward[at as usize];
            forward.value = Some(value);
            if forward.ty != ty {
                let (is, used) = (self.module.types.text(ty), self.module.types.text(forward.ty));
                return Err(error(forward.place, format!("the value has type `{is}`, but is used as `{used}`")));
            }
        }
        if self.locals.waiting_blocks.contains_key(&key) {
            return Err(error(span(token), "this is used as the name of a block"));
        }
        self.define_local(token, key, Local::Value(value))
    }

    /// A value of type `ty`: a local name or a constant.
    pub(super) fn value(&mut self, ty: TypeId) -> Parsed<Value> {
        let token = self.token;
        let local = match token.kind {
            Kind::LocalNumber => {
                let number = usize::try_from(token.number).unwrap_or(usize::MAX);
                self.locals.numbered.get(number).copied().unwrap_or(Local::Vacant)
            }
            Kind::LocalName => {
                let name = self.name(token)?;
                self.locals.named.get(&name).copied().unwrap_or(Local::Vacant)
            }
            _ => return self.constant(ty).map(Value::Const),
        };
        let value = match local {
            Local::Value(value) => value,
            Local::Vacant => self.forward_value(token, ty)?,
            Local::Block(_) => return Err(error(span(token), format!("`{}` is a block", self.text(token)))),
        };
        let is = self.type_of_value(value);
        if is != ty {
            let (is, used) = (self.module.types.text(is), self.module.types.text(ty));
            return Err(error(span(token), format!("`{}` has type `{is}`, not `{used}`", self.text(token))));
        }
        self.bump();
        Ok(value)
    }

    /// The type of a value, also of one that is not defined yet.
    pub(super) fn type_of_value(&self, value: Value) -> TypeId {
        match value {
            Value::Local(id) if id.as_u32() >= FIRST_FORWARD => {
                self.locals.forward[(id.as_u32() - FIRST_FORWARD) as usize].ty
            }
            _ => self.body.type_of(value, &self.module.constants),
        }
    }

    /// True for a value that is not defined yet.
    pub(super) fn is_forward(value: Value) -> bool {
        value.local().is_some_and(|id| id.as_u32() >= FIRST_FORWARD)
    }

    /// A value that is defined further on.
    fn forward_value(&mut self, token: Token, ty: TypeId) -> Parsed<Value> {
        let key = self.local_key(token)?;
        let next = self.locals.forward.len() as u32;
        let at = *self.locals.waiting.entry(key).or_insert(next);
        if at == next {
            self.locals.forward.push(Forward { place: span(token), ty, value: None });
        }
        self.locals.patch = true;
        Ok(Value::Local(ValueId::from_u32(FIRST_FORWARD + at)))
    }

    /// A type and a value of it.
    pub(super) fn typed_value(&mut self) -> Parsed<Value> {
        let ty = self.ty()?;
        self.value(ty)
    }

    /// `label %b`
    pub(super) fn label(&mut self) -> Parsed<BlockId> {
        self.expect_word(Word::Label)?;
        self.block_name()
    }

    /// `%b`, the name of a block.
    pub(super) fn block_name(&mut self) -> Parsed<BlockId> {
        if !self.at(Kind::LocalName) && !self.at(Kind::LocalNumber) {
            return Err(self.expected("a block"));
        }
        let token = self.bump();
        let key = self.local_key(token)?;
        self.block_of(key, span(token))
    }

    /// The block that a name of this function stands for, which may follow further on.
    fn block_of(&mut self, key: Key<'a>, place: Span) -> Parsed<BlockId> {
        match self.known(&key) {
            Local::Block(block) => Ok(block),
            Local::Value(_) => Err(error(place, "this is a value, not a block")),
            Local::Vacant => {
                let body = &mut self.body;
                let entry = self.locals.waiting_blocks.entry(key);
                Ok(entry.or_insert_with(|| (body.make_block(), place)).0)
            }
        }
    }

    /// The block whose address a constant takes.
    pub(super) fn addressed_block(&mut self, function: SymbolId, key: Key<'a>, place: Span) -> Parsed<BlockId> {
        if self.current == Some(function) {
            return self.block_of(key, place);
        }
        if let Some(body) = self.module.symbols[function].function().and_then(|function| function.body.as_deref()) {
            let found = match &key {
                Key::Name(name) => body.block_names.iter().find(|(_, other)| ***other == **name).map(|(id, _)| *id),
                Key::Number(number) => {
                    let numbers = Numbers::new(body);
                    let unnamed = |id: &BlockId| !body.block_names.contains_key(id);
                    let is = |id: &BlockId| unnamed(id) && u64::from(numbers.block(*id)) == *number;
                    body.layout.iter().copied().find(is)
                }
            };
            return found.ok_or_else(|| error(place, "the function has no such block"));
        }
        let known = self.addressed.entry(function).or_default();
        let next = BlockId::from_u32(known.places.len() as u32);
        let block = *known.blocks.entry(key.clone()).or_insert(next);
        if block == next {
            known.places.push((key, place));
        }
        Ok(block)
    }

    /// Makes the blocks whose addresses have been taken before.
    fn make_addressed(&mut self, function: SymbolId) {
        for (key, place) in self.addressed.remove(&function).unwrap_or_default().places {
            let block = self.body.make_block();
            self.locals.waiting_blocks.insert(key, (block, place));
        }
    }

    /// No address may be left of a block whose function has no body.
    pub(super) fn check_addressed(&self) -> Parsed<()> {
        let places = self.addressed.values().flat_map(|blocks| blocks.places.iter().map(|(_, place)| *place));
        match places.min_by_key(|place| place.start) {
            Some(place) => Err(error(place, "the function of this block has no body")),
            None => Ok(()),
        }
    }

    /// A block: its label, and instructions up to a terminator.
    fn block(&mut self) -> Parsed<()> {
        let token = self.token;
        let key = match token.kind {
            Kind::Label => {
                self.bump();
                let text = self.text(token);
                match text[..text.len() - 1].parse() {
                    Ok(number) => Key::Number(number),
                    Err(_) => Key::Name(self.name(token)?),
                }
            }
            _ => self.next_number(),
        };
        let block = match self.locals.waiting_blocks.remove(&key) {
            Some((block, _)) => block,
            None => self.body.make_block(),
        };
        if self.locals.waiting.contains_key(&key) {
            return Err(error(span(token), "this is used as the name of a value"));
        }
        if let Key::Name(name) = &key {
            self.body.block_names.insert(block, (&**name).into());
        }
        self.define_local(token, key, Local::Block(block))?;
        self.body.layout.push(block);
        loop {
            match self.token.kind {
                Kind::DebugRecord => self.skip_debug_record()?,
                Kind::Label | Kind::CloseBrace => {
                    return Err(self.error("the block before does not end with a terminator"));
                }
                Kind::End => return Err(self.expected("`}`")),
                _ => {
                    if self.instruction(block)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// `#dbg_value(…)`
    fn skip_debug_record(&mut self) -> Parsed<()> {
        self.bump();
        if self.at(Kind::OpenParen) { self.skip_brackets() } else { Err(self.expected("`(`")) }
    }

    /// Notes where an instruction starts, and that it reads values that are not defined yet.
    pub(super) fn note_inst(&mut self, inst: InstId, start: Token) {
        self.locals.places.push(start.start);
        if std::mem::take(&mut self.locals.patch) {
            self.locals.patches.push(inst);
        }
    }

    /// Puts the values that were used before their definition in their places.
    fn finish_locals(&mut self) -> Parsed<()> {
        if let Some((_, place)) = self.locals.waiting_blocks.values().min_by_key(|(_, place)| place.start) {
            let text = &self.source()[place.start as usize..place.end as usize];
            return Err(error(*place, format!("block `{text}` is not defined")));
        }
        let undefined = self.locals.forward.iter().find(|forward| forward.value.is_none());
        if let Some(Forward { place, .. }) = undefined {
            let text = &self.source()[place.start as usize..place.end as usize];
            return Err(error(*place, format!("`{text}` is not defined")));
        }
        let forward = &self.locals.forward;
        for &inst in &self.locals.patches {
            self.body[inst].op.for_each_value_mut(|value| {
                let at = value.local().and_then(|id| id.as_u32().checked_sub(FIRST_FORWARD));
                if let Some(defined) = at.and_then(|at| forward[at as usize].value) {
                    *value = defined;
                }
            });
        }
        Ok(())
    }
}
