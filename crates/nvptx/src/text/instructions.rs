//! Instructions without memory and calls; and the steps that all have in common.

use smallvec::SmallVec;

use crate::ir::{
    Attachment, BinaryOp, BlockId, CastOp, FloatPredicate, InstFlags, IntPredicate, MetaId, Op, Type, TypeId, Value,
    byte_cast,
};

use super::constants::cast_op;
use super::lexer::{Kind, Token};
use super::names::Key;
use super::parser::{Parsed, Parser, error, span, with_help};
use super::words::Word;

/// What an instruction reads as.
pub(super) enum Read {
    /// An operation and the type of its result.
    Op(Op, TypeId),
    /// Another name for a value: a bit cast between pointers.
    Same(Value),
    /// Nothing: a call that only says something about the program.
    Nothing,
}

/// Words that are flags of instructions.
pub(super) const FLAGS: &[(Word, InstFlags)] = &[
    (Word::Nuw, InstFlags::NUW),
    (Word::Nsw, InstFlags::NSW),
    (Word::Exact, InstFlags::EXACT),
    (Word::Disjoint, InstFlags::DISJOINT),
    (Word::NNeg, InstFlags::NNEG),
    (Word::SameSign, InstFlags::SAME_SIGN),
    (Word::NNan, InstFlags::NO_NANS),
    (Word::NInf, InstFlags::NO_INFS),
    (Word::Nsz, InstFlags::NO_SIGNED_ZEROS),
    (Word::Arcp, InstFlags::ALLOW_RECIPROCAL),
    (Word::Contract, InstFlags::CONTRACT),
    (Word::Afn, InstFlags::APPROX_FUNC),
    (Word::Reassoc, InstFlags::REASSOC),
    (Word::Fast, InstFlags::FAST),
];

/// Flags that integer operations have.
const INT_FLAGS: InstFlags = InstFlags::NUW.union(InstFlags::NSW).union(InstFlags::EXACT).union(InstFlags::DISJOINT);

impl<'a> Parser<'a> {
    /// One instruction of `block`; true when it is a terminator.
    pub(super) fn instruction(&mut self, block: BlockId) -> Parsed<bool> {
        let start = self.token;
        let name = matches!(start.kind, Kind::LocalName | Kind::LocalNumber);
        if name {
            self.bump();
            self.expect(Kind::Equal)?;
        }
        let (op, ty) = match self.operation()? {
            Read::Op(op, ty) => (op, ty),
            Read::Same(value) => {
                self.skip_attachments()?;
                let ty = self.type_of_value(value);
                let key = self.result_key(name.then_some(start))?;
                self.define_value(start, key, value, ty)?;
                return Ok(false);
            }
            Read::Nothing => {
                self.skip_attachments()?;
                return Ok(false);
            }
        };
        let terminator = op.is_terminator();
        let inst = self.body.push(block, op, ty);
        self.note_inst(inst, start);
        if let Some(result) = self.body[inst].result.expand() {
            let key = self.result_key(name.then_some(start))?;
            self.define_value(start, key, Value::Local(result), ty)?;
        } else if name {
            return Err(error(span(start), "this instruction has no result to name"));
        }
        if self.at(Kind::Comma) || self.at(Kind::MetaName) {
            self.attachments(|p, kind, node| {
                p.body.attachments.entry(inst).or_default().push((kind, node));
            })?;
            if let Some(loc) = self.locals.loc.take() {
                self.body[inst].loc = loc.into();
            }
        }
        Ok(terminator)
    }

    /// The name of a result: the next number, when none is written.
    fn result_key(&self, name: Option<Token>) -> Parsed<Key<'a>> {
        match name {
            Some(token) => self.local_key(token),
            None => Ok(self.next_number()),
        }
    }

    /// True behind a comma that attachments do not follow: an option of the instruction is next.
    pub(super) fn option(&mut self) -> bool {
        self.eat(Kind::Comma) && !self.at(Kind::MetaName)
    }

    /// `, !dbg !5, !tbaa !6`; the first comma may have been taken.
    fn attachments(&mut self, mut keep: impl FnMut(&mut Parser<'a>, Attachment, MetaId)) -> Parsed<()> {
        self.eat(Kind::Comma);
        loop {
            let token = self.expect(Kind::MetaName)?;
            let name = self.name(token)?;
            if name == "dbg" {
                let node = self.metadata_node()?;
                self.locals.loc = Some(node);
            } else if let Some(kind) = Attachment::from_name(&name) {
                let node = self.metadata_node()?;
                keep(self, kind, node);
            } else {
                self.skip_metadata()?;
            }
            if !self.eat(Kind::Comma) {
                return Ok(());
            }
        }
    }

    /// Attachments of an instruction that is not kept.
    fn skip_attachments(&mut self) -> Parsed<()> {
        self.eat(Kind::Comma);
        while self.at(Kind::MetaName) {
            self.bump();
            self.skip_metadata()?;
            self.eat(Kind::Comma);
        }
        Ok(())
    }

    /// What an instruction does, up to its attachments.
    fn operation(&mut self) -> Parsed<Read> {
        let start = self.token;
        if start.kind != Kind::Word {
            return Err(self.expected("an instruction"));
        }
        if let Some(op) = start.word.among(Word::Add, BinaryOp::ALL) {
            self.bump();
            return self.binary(op);
        }
        if let Some(op) = cast_op(start.word) {
            self.bump();
            return self.cast(start, op);
        }
        let rule: fn(&mut Parser<'a>) -> Parsed<Read> = match start.word {
            Word::Load => Parser::load,
            Word::Store => Parser::store,
            Word::GetElementPtr => Parser::gep,
            Word::Tail | Word::MustTail | Word::NoTail | Word::Call => return self.call(),
            Word::Phi => Parser::phi,
            Word::Br => Parser::br,
            Word::ICmp => Parser::icmp,
            Word::FCmp => Parser::fcmp,
            Word::Select => Parser::select,
            Word::FNeg => Parser::fneg,
            Word::ExtractValue => Parser::extract_value,
            Word::InsertValue => Parser::insert_value,
            Word::ExtractElement => Parser::extract_element,
            Word::InsertElement => Parser::insert_element,
            Word::ShuffleVector => Parser::shuffle,
            Word::Freeze => Parser::freeze,
            Word::Alloca => Parser::alloca,
            Word::AtomicRmw => Parser::atomic_rmw,
            Word::CmpXchg => Parser::cmpxchg,
            Word::Fence => Parser::fence,
            Word::Ret => Parser::ret,
            Word::Switch => Parser::switch,
            Word::IndirectBr => Parser::indirect_br,
            Word::VaArg => Parser::va_arg,
            Word::Unreachable => |_| Ok(Read::Op(Op::Unreachable, TypeId::VOID)),
            Word::Invoke
            | Word::LandingPad
            | Word::Resume
            | Word::CatchSwitch
            | Word::CatchRet
            | Word::CatchPad
            | Word::CleanupRet
            | Word::CleanupPad => {
                let message = format!("`{}` is not supported: GPUs have no exceptions", start.word.as_str());
                return Err(with_help(self.error(message), "compile with `-fno-exceptions`"));
            }
            Word::CallBr => return Err(self.error("`callbr` is not supported: PTX assembly has no outer labels")),
            _ => return Err(self.expected("an instruction")),
        };
        self.bump();
        rule(self)
    }

    /// The flags that stand here.
    pub(super) fn inst_flags(&mut self) -> InstFlags {
        let mut flags = InstFlags::empty();
        while self.token.word >= Word::Nuw && self.token.word <= Word::Fast {
            let found = FLAGS[self.token.word as usize - Word::Nuw as usize];
            debug_assert_eq!(found.0, self.token.word);
            flags |= found.1;
            self.bump();
        }
        flags
    }

    /// `add nuw i32 %a, %b`
    fn binary(&mut self, op: BinaryOp) -> Parsed<Read> {
        let start = self.token;
        let flags = self.inst_flags();
        if op.is_float() && flags.intersects(INT_FLAGS) {
            return Err(error(span(start), format!("`{}` has no such flag", op.as_str())));
        }
        let (ty, args) = self.pair()?;
        Ok(Read::Op(Op::Binary(op, flags, args), ty))
    }

    /// `i32 %a, %b`
    fn pair(&mut self) -> Parsed<(TypeId, [Value; 2])> {
        let ty = self.ty()?;
        let a = self.value(ty)?;
        self.expect(Kind::Comma)?;
        let b = self.value(ty)?;
        Ok((ty, [a, b]))
    }

    /// `i32 %a to i64`
    fn cast(&mut self, start: Token, op: CastOp) -> Parsed<Read> {
        let flags = self.inst_flags();
        let value = self.typed_value()?;
        self.expect_word(Word::To)?;
        let to = self.ty()?;
        let from = self.type_of_value(value);
        let op = if self.has_bytes { byte_cast(&self.module, op, from, to) } else { op };
        if !crate::ir::cast_takes(&self.module, op, from, to) {
            let (from, to) = (self.module.types.text(from), self.module.types.text(to));
            let message = format!("`{}` does not go from `{from}` to `{to}`", op.as_str());
            return Err(error(self.span_from(start), message));
        }
        let is_pointer = self.module.types.address_space(to).is_some();
        if op == CastOp::Bitcast && from == to && is_pointer && !Parser::is_forward(value) {
            return Ok(Read::Same(value));
        }
        Ok(Read::Op(Op::Cast(op, flags, value), to))
    }

    fn icmp(&mut self) -> Parsed<Read> {
        let flags = self.inst_flags();
        let how = self.named_member(IntPredicate::from_name, "a predicate of `icmp`")?;
        let (ty, args) = self.pair()?;
        let ty = self.truth_type(ty);
        Ok(Read::Op(Op::ICmp(how, flags, args), ty))
    }

    fn fcmp(&mut self) -> Parsed<Read> {
        let flags = self.inst_flags();
        let how = self.named_member(FloatPredicate::from_name, "a predicate of `fcmp`")?;
        let (ty, args) = self.pair()?;
        let ty = self.truth_type(ty);
        Ok(Read::Op(Op::FCmp(how, flags, args), ty))
    }

    fn select(&mut self) -> Parsed<Read> {
        let flags = self.inst_flags();
        let condition = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let ty = self.ty()?;
        let a = self.value(ty)?;
        self.expect(Kind::Comma)?;
        let b = self.typed_value()?;
        Ok(Read::Op(Op::Select(flags, [condition, a, b]), ty))
    }

    fn fneg(&mut self) -> Parsed<Read> {
        let flags = self.inst_flags();
        let ty = self.ty()?;
        Ok(Read::Op(Op::FNeg(flags, self.value(ty)?), ty))
    }

    fn freeze(&mut self) -> Parsed<Read> {
        let ty = self.ty()?;
        Ok(Read::Op(Op::Freeze(self.value(ty)?), ty))
    }

    /// `, 0, 1` and whether attachments follow the last comma.
    fn path(&mut self) -> Parsed<SmallVec<[u32; 2]>> {
        let mut path = SmallVec::new();
        while self.option() {
            path.push(self.small()?);
        }
        if path.is_empty() {
            return Err(self.expected("`,` and an index"));
        }
        Ok(path)
    }

    fn extract_value(&mut self) -> Parsed<Read> {
        let start = self.token;
        let whole = self.typed_value()?;
        let path = self.path()?;
        let ty = self.part_type(start, whole, &path)?;
        Ok(Read::Op(Op::ExtractValue(whole, path), ty))
    }

    fn insert_value(&mut self) -> Parsed<Read> {
        let start = self.token;
        let whole = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let part = self.typed_value()?;
        let path = self.path()?;
        let ty = self.part_type(start, whole, &path)?;
        if ty != self.type_of_value(part) {
            return Err(error(self.span_from(start), format!("the element has type `{}`", self.module.types.text(ty))));
        }
        let result = self.type_of_value(whole);
        Ok(Read::Op(Op::InsertValue([whole, part], path), result))
    }

    /// The type of the element at `path` of an array or structure.
    fn part_type(&self, start: Token, whole: Value, path: &[u32]) -> Parsed<TypeId> {
        let types = &self.module.types;
        let whole = self.type_of_value(whole);
        let part = path
            .iter()
            .try_fold(whole, |ty, &at| if types.is_aggregate(ty) { types.element(ty, u64::from(at)) } else { None });
        part.ok_or_else(|| error(self.span_from(start), format!("`{}` has no such element", types.text(whole))))
    }

    fn extract_element(&mut self) -> Parsed<Read> {
        let start = self.token;
        let vector = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let index = self.typed_value()?;
        match self.module.types.as_vector(self.type_of_value(vector)) {
            Some((element, _)) => Ok(Read::Op(Op::ExtractElement([vector, index]), element)),
            None => Err(error(self.span_from(start), "`extractelement` takes a vector")),
        }
    }

    fn insert_element(&mut self) -> Parsed<Read> {
        let vector = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let part = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let index = self.typed_value()?;
        let ty = self.type_of_value(vector);
        Ok(Read::Op(Op::InsertElement([vector, part, index]), ty))
    }

    fn shuffle(&mut self) -> Parsed<Read> {
        let start = self.token;
        let a = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let b = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let mask = self.typed_constant()?;
        let ty = self.type_of_value(a);
        let Some((element, _)) = self.module.types.as_vector(ty) else {
            return Err(error(self.span_from(start), "`shufflevector` takes vectors"));
        };
        let mask = self.mask_for(self.span_from(start), ty, mask)?;
        let result = self.module.types.vector(element, mask.len() as u32);
        Ok(Read::Op(Op::Shuffle([a, b], mask), result))
    }

    fn phi(&mut self) -> Parsed<Read> {
        self.inst_flags();
        let ty = self.ty()?;
        let mut incoming = SmallVec::new();
        loop {
            self.expect(Kind::OpenBracket)?;
            let value = self.value(ty)?;
            self.expect(Kind::Comma)?;
            let block = self.block_name()?;
            self.expect(Kind::CloseBracket)?;
            incoming.push((block, value));
            if !self.option() {
                return Ok(Read::Op(Op::Phi(incoming), ty));
            }
        }
    }

    fn ret(&mut self) -> Parsed<Read> {
        let ty = self.ty()?;
        let value = if ty == TypeId::VOID { None } else { Some(self.value(ty)?) };
        Ok(Read::Op(Op::Ret(value), TypeId::VOID))
    }

    fn br(&mut self) -> Parsed<Read> {
        if self.at_word(Word::Label) {
            return Ok(Read::Op(Op::Br(self.label()?), TypeId::VOID));
        }
        let condition = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let yes = self.label()?;
        self.expect(Kind::Comma)?;
        let no = self.label()?;
        Ok(Read::Op(Op::CondBr(condition, [yes, no]), TypeId::VOID))
    }

    /// `switch i32 %x, label %default [ i32 1, label %a … ]`
    fn switch(&mut self) -> Parsed<Read> {
        let start = self.token;
        let ty = self.ty()?;
        let Type::Int(bits) = self.module.types[ty] else {
            return Err(error(self.span_from(start), "`switch` takes an integer"));
        };
        let value = self.value(ty)?;
        self.expect(Kind::Comma)?;
        let default = self.label()?;
        self.expect(Kind::OpenBracket)?;
        let mut cases = Vec::new();
        while !self.eat(Kind::CloseBracket) {
            let place = self.token;
            if self.ty()? != ty {
                return Err(error(span(place), "the cases of `switch` have the type of its value"));
            }
            let case = self.case(ty, bits)?;
            self.expect(Kind::Comma)?;
            cases.push((case, self.label()?));
        }
        Ok(Read::Op(Op::Switch { value, default, cases }, TypeId::VOID))
    }

    /// `indirectbr ptr %x, [label %a, label %b]`
    fn indirect_br(&mut self) -> Parsed<Read> {
        let address = self.typed_value()?;
        self.expect(Kind::Comma)?;
        self.expect(Kind::OpenBracket)?;
        let blocks = self.list(Kind::CloseBracket, Parser::label)?;
        Ok(Read::Op(Op::IndirectBr(address, blocks), TypeId::VOID))
    }

    fn va_arg(&mut self) -> Parsed<Read> {
        let list = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let ty = self.ty()?;
        Ok(Read::Op(Op::VaArg(list), ty))
    }
}
