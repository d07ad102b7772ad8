//! Calls and inline assembly.

use smallvec::SmallVec;

use crate::ir::{
    AddressSpace, Attributes, Call, Callee, Constant, HARMLESS_BUNDLES, InlineAsm, Op, Tail, Type, TypeId, Value,
    is_annotation,
};

use super::instructions::Read;
use super::lexer::{Kind, Token};
use super::parser::{Parsed, Parser, error, span};
use super::words::Word;

/// Arguments with what belongs to them.
#[derive(Default)]
struct Arguments {
    values: SmallVec<[Value; 4]>,
    types: SmallVec<[TypeId; 8]>,
    attributes: Vec<(u32, Attributes)>,
    /// Whether one of them is metadata.
    metadata: bool,
    /// `...`: `musttail` calls of variadic functions hand on what the caller was given.
    rest: bool,
}

impl<'a> Parser<'a> {
    /// `tail call fast ptx_device noundef i32 @f(i32 %x) #1 [ "bundle"(i32 1) ]`
    pub(super) fn call(&mut self) -> Parsed<Read> {
        let start = self.token;
        let tail = match self.bump().word {
            Word::Tail => Tail::Tail,
            Word::MustTail => Tail::Must,
            Word::NoTail => Tail::Not,
            _ => Tail::None,
        };
        if tail != Tail::None {
            self.expect_word(Word::Call)?;
        }
        let flags = self.inst_flags();
        let convention = self.convention()?.unwrap_or_default();
        let ret_attributes = self.param_attributes(None)?;
        let space = if self.at_word(Word::AddrSpace) { self.address_space()? } else { AddressSpace::GENERIC };
        let written = self.any_type()?;
        let result = match self.module.types[written] {
            Type::Function { ret, .. } => ret,
            _ => written,
        };
        self.check_range(&ret_attributes, result)?;
        let callee_token = self.token;
        let callee = self.callee(space)?;
        let arguments = self.arguments()?;
        let mut attributes = Attributes::default();
        self.function_attributes(&mut attributes)?;
        self.bundles(&callee)?;
        let signature = self.call_signature(written, &callee, &arguments.types);
        if arguments.metadata && self.callee_name(&callee).is_some_and(is_annotation) {
            return Ok(Read::Nothing);
        }
        self.check_arguments(callee_token, signature, &arguments.types)?;
        if arguments.rest && (tail != Tail::Must || !self.hands_on(signature, arguments.values.len())) {
            return Err(error(span(callee_token), "`...` stands in `musttail` calls of variadic functions only"));
        }
        if matches!(self.module.types[result], Type::Label | Type::Metadata | Type::Opaque(_) | Type::Function { .. }) {
            let message = format!("a call cannot give a `{}`", self.module.types.text(result));
            return Err(error(self.span_from(start), message));
        }
        let call = Call {
            callee,
            signature,
            args: arguments.values,
            attributes,
            ret_attributes,
            arg_attributes: arguments.attributes,
            convention,
            tail,
            flags,
        };
        Ok(Read::Op(Op::Call(Box::new(call)), result))
    }

    /// What is called.
    fn callee(&mut self, space: AddressSpace) -> Parsed<Callee> {
        if self.at_word(Word::Asm) {
            return self.inline_asm().map(|asm| Callee::Asm(Box::new(asm)));
        }
        let ty = self.module.types.pointer(space);
        self.value(ty).map(Callee::Value)
    }

    /// `asm sideeffect "…", "=r,r"`
    fn inline_asm(&mut self) -> Parsed<InlineAsm> {
        self.bump();
        let mut side_effects = false;
        loop {
            match self.token.word {
                Word::SideEffect => side_effects = true,
                Word::AlignStack | Word::Unwind => {}
                Word::IntelDialect => return Err(self.error("`inteldialect` is not supported: this is PTX assembly")),
                _ => break,
            }
            self.bump();
        }
        let text = self.string()?.into();
        self.expect(Kind::Comma)?;
        let constraints = self.string()?.into();
        Ok(InlineAsm { text, constraints, side_effects })
    }

    /// `(i32 noundef %x, ptr byval(T) align 4 %p)`
    fn arguments(&mut self) -> Parsed<Arguments> {
        let mut arguments = Arguments::default();
        self.expect(Kind::OpenParen)?;
        if self.eat(Kind::CloseParen) {
            return Ok(arguments);
        }
        loop {
            if self.eat(Kind::Ellipsis) {
                arguments.rest = true;
                self.expect(Kind::CloseParen)?;
                return Ok(arguments);
            }
            self.argument(&mut arguments)?;
            if self.eat(Kind::CloseParen) {
                return Ok(arguments);
            }
            self.expect(Kind::Comma)?;
        }
    }

    fn argument(&mut self, arguments: &mut Arguments) -> Parsed<()> {
        let ty = self.ty()?;
        let value = if ty == TypeId::METADATA {
            arguments.metadata = true;
            self.metadata_argument()?
        } else {
            if self.token.kind == Kind::Word && self.token.word.is_attribute() {
                let pointee = self.pointee.take();
                let attributes = self.param_attributes(pointee)?;
                self.check_range(&attributes, ty)?;
                if attributes != Attributes::default() {
                    arguments.attributes.push((arguments.values.len() as u32, attributes));
                }
            }
            self.value(ty)?
        };
        arguments.types.push(ty);
        arguments.values.push(value);
        Ok(())
    }

    /// Metadata as an argument: `!"text"`, of which the string is kept; `!5`, `i32 %x`, `ptr @x`, `!DIArgList(i32 %a)`, which are dropped.
    fn metadata_argument(&mut self) -> Parsed<Value> {
        if matches!(self.token.kind, Kind::Bang | Kind::MetaName | Kind::MetaNumber) {
            return Ok(Value::Const(self.metadata_constant()?));
        } else {
            let ty = self.ty()?;
            match self.token.kind {
                Kind::LocalName | Kind::LocalNumber => drop(self.bump()),
                _ => drop(self.constant(ty)?),
            }
        }
        Ok(Value::Const(self.intern(Constant::Metadata)))
    }

    /// `[ "name"(i32 1), "other"() ]`
    fn bundles(&mut self, callee: &Callee) -> Parsed<()> {
        if !self.at(Kind::OpenBracket) {
            return Ok(());
        }
        let assume = self.callee_name(callee) == Some("llvm.assume");
        self.bump();
        self.list(Kind::CloseBracket, |p| {
            let token = p.token;
            let name = p.string()?;
            if !assume && !HARMLESS_BUNDLES.contains(&&*name) {
                return Err(error(span(token), format!("the operand bundle `{name}` is not supported")));
            }
            if p.at(Kind::OpenParen) { p.skip_brackets() } else { Err(p.expected("`(`")) }
        })?;
        Ok(())
    }

    /// The name of the function that is called directly.
    fn callee_name(&self, callee: &Callee) -> Option<&str> {
        let Callee::Value(value) = callee else { return None };
        match self.module.constants[value.constant()?] {
            Constant::Symbol(_, id) => Some(&self.module.symbols[id].name),
            _ => None,
        }
    }

    /// The function type of a call, from what is written before the callee: it, or its result.
    fn call_signature(&mut self, written: TypeId, callee: &Callee, args: &[TypeId]) -> TypeId {
        if let Type::Function { .. } = self.module.types[written] {
            return written;
        }
        // Most calls are of functions declared with the same types; then there is nothing to make.
        if let Callee::Value(Value::Const(id)) = callee
            && let Constant::Symbol(_, symbol) = self.module.constants[*id]
            && let Some(function) = self.module.symbols[symbol].function()
            && function.ret == written
            && !function.varargs
            && function.params.iter().map(|param| param.ty).eq(args.iter().copied())
        {
            return function.signature;
        }
        let ty = Type::Function { ret: written, params: args.into(), varargs: false };
        self.module.types.intern(ty)
    }

    /// Whether a function type is variadic and `count` arguments are those that it names.
    fn hands_on(&self, signature: TypeId, count: usize) -> bool {
        match &self.module.types[signature] {
            Type::Function { params, varargs, .. } => *varargs && params.len() == count,
            _ => false,
        }
    }

    /// Arguments must have the types of the parameters.
    fn check_arguments(&self, place: Token, signature: TypeId, args: &[TypeId]) -> Parsed<()> {
        let Type::Function { params, varargs, .. } = &self.module.types[signature] else { return Ok(()) };
        if args.len() < params.len() || (args.len() > params.len() && !varargs) {
            let message = format!("the call has {} arguments, its type {} parameters", args.len(), params.len());
            return Err(error(span(place), message));
        }
        match params.iter().zip(args).position(|(param, arg)| param != arg) {
            Some(at) => {
                let (is, wanted) = (self.module.types.text(args[at]), self.module.types.text(params[at]));
                Err(error(span(place), format!("argument {at} has type `{is}`, not `{wanted}`")))
            }
            None => Ok(()),
        }
    }
}
