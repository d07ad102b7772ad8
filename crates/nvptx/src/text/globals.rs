//! Variables, aliases, and the heads of functions.

use crate::ir::{
    AddressSpace, Alias, Attributes, CallingConvention, ConstId, Function, Linkage, Param, Symbol, SymbolId,
    SymbolKind, Type, TypeId, Variable, Visibility,
};

use super::lexer::{Kind, Token};
use super::parser::{Parsed, Parser, error, span};
use super::words::Word;

/// What stands before the type of a symbol.
#[derive(Default)]
struct Head {
    linkage: Linkage,
    visibility: Visibility,
    thread_local: bool,
    convention: CallingConvention,
    /// `external`, `extern_weak`: no value follows.
    declaration: bool,
}

/// Words of linkage.
const LINKAGES: &[(Word, Linkage)] = &[
    (Word::Private, Linkage::Internal),
    (Word::Internal, Linkage::Internal),
    (Word::Weak, Linkage::Weak),
    (Word::WeakOdr, Linkage::Weak),
    (Word::LinkOnce, Linkage::LinkOnce),
    (Word::LinkOnceOdr, Linkage::LinkOnce),
    (Word::Common, Linkage::Common),
    (Word::AvailableExternally, Linkage::AvailableExternally),
    (Word::Appending, Linkage::Appending),
    (Word::ExternWeak, Linkage::ExternWeak),
    (Word::External, Linkage::External),
];

impl<'a> Parser<'a> {
    /// The symbol named here.
    pub(super) fn symbol(&mut self) -> Parsed<SymbolId> {
        let token = self.token;
        let id = match token.kind {
            Kind::GlobalName => {
                let name = self.name(token)?;
                self.module.symbol_or_new(&name)
            }
            Kind::GlobalNumber => self.module.symbol_or_new(&format!("__unnamed_{}", token.number)),
            _ => return Err(self.expected("a global name")),
        };
        self.bump();
        if id.as_u32() as usize == self.mentions.len() {
            self.mentions.push(span(token));
        }
        Ok(id)
    }

    /// Gives a symbol that is defined here what it is.
    fn define_symbol(&mut self, token: Token, id: SymbolId, mut symbol: Symbol) -> Parsed<()> {
        let known = &mut self.module.symbols[id];
        if !matches!(known.kind, SymbolKind::Undefined) {
            let message = format!("`@{}` is defined twice", known.name);
            return Err(Box::new(
                (*error(span(token), message)).related(self.mentions[id.as_u32() as usize], "here too"),
            ));
        }
        symbol.name = std::mem::take(&mut known.name);
        *known = symbol;
        self.order.push(id);
        Ok(())
    }

    /// `@x = …`
    pub(super) fn global(&mut self) -> Parsed<()> {
        let token = self.token;
        let id = self.symbol()?;
        self.expect(Kind::Equal)?;
        let head = self.head()?;
        if self.at_word(Word::Alias) {
            return self.alias(token, id, &head);
        }
        if self.at_word(Word::IFunc) {
            return Err(self.error("`ifunc` is not supported: no GPU resolves symbols when it loads"));
        }
        let symbol = self.variable(&head)?;
        self.define_symbol(token, id, symbol)
    }

    /// Linkage, visibility and the like, up to a type or `global`.
    fn head(&mut self) -> Parsed<Head> {
        let mut head = Head::default();
        loop {
            let word = self.token.word;
            if let Some(&(_, linkage)) = LINKAGES.iter().find(|(name, _)| *name == word) {
                head.linkage = linkage;
                head.declaration |= matches!(word, Word::External | Word::ExternWeak);
                self.bump();
                continue;
            }
            match word {
                Word::Hidden => head.visibility = Visibility::Hidden,
                Word::Protected => head.visibility = Visibility::Protected,
                Word::ThreadLocal => {
                    head.thread_local = true;
                    self.bump();
                    if self.at(Kind::OpenParen) {
                        self.skip_brackets()?;
                    }
                    continue;
                }
                Word::Default
                | Word::DllImport
                | Word::DllExport
                | Word::DsoLocal
                | Word::DsoPreemptable
                | Word::UnnamedAddr
                | Word::LocalUnnamedAddr => {}
                _ => match self.convention()? {
                    Some(convention) => {
                        head.convention = convention;
                        continue;
                    }
                    None => return Ok(head),
                },
            }
            self.bump();
        }
    }

    /// A calling convention, if one stands here.
    pub(super) fn convention(&mut self) -> Parsed<Option<CallingConvention>> {
        let convention = match self.token.word {
            Word::Ccc => CallingConvention::C,
            Word::FastCc => CallingConvention::Fast,
            Word::ColdCc => CallingConvention::Cold,
            Word::PtxKernel => CallingConvention::PtxKernel,
            Word::PtxDevice => CallingConvention::PtxDevice,
            Word::Cc => {
                self.bump();
                return self.small().map(|number| Some(numbered_convention(number)));
            }
            // `cc71` is one word.
            Word::Unknown if self.at(Kind::Word) => {
                match self.text(self.token).strip_prefix("cc").and_then(|digits| digits.parse().ok()) {
                    Some(number) => numbered_convention(number),
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(convention))
    }

    fn alias(&mut self, token: Token, id: SymbolId, head: &Head) -> Parsed<()> {
        self.bump();
        let ty = self.any_type()?;
        self.expect(Kind::Comma)?;
        let start = self.token;
        // Bit casts of older text stand here without their type.
        let is_typed = !matches!(self.token.word, Word::Bitcast | Word::AddrSpaceCast | Word::GetElementPtr);
        let target = if is_typed { self.typed_constant()? } else { self.untyped_target()? };
        while self.eat(Kind::Comma) {
            self.expect_word(Word::Partition)?;
            self.string()?;
        }
        let Some(space) = self.module.types.address_space(self.module.constants.ty(target)) else {
            return Err(error(span(start), "an alias stands for an address"));
        };
        let kind = SymbolKind::Alias(Alias { target, ty });
        let symbol = Symbol { space, ..self.symbol_with(head, kind) };
        self.define_symbol(token, id, symbol)
    }

    /// A constant expression whose type follows from itself.
    fn untyped_target(&mut self) -> Parsed<ConstId> {
        self.nested(Parser::expression)
    }

    /// A symbol without name, alignment and section.
    fn symbol_with(&self, head: &Head, kind: SymbolKind) -> Symbol {
        Symbol { linkage: head.linkage, visibility: head.visibility, kind, ..Symbol::undefined("") }
    }

    /// `addrspace(1) externally_initialized global [4 x i32] zeroinitializer, align 4`
    fn variable(&mut self, head: &Head) -> Parsed<Symbol> {
        let space = if self.at_word(Word::AddrSpace) { self.address_space()? } else { AddressSpace::GENERIC };
        let externally_initialized = self.eat_word(Word::ExternallyInitialized);
        let constant = match self.token.word {
            Word::Global => false,
            Word::Constant => true,
            _ => return Err(self.expected("`global` or `constant`")),
        };
        self.bump();
        let start = self.token;
        let ty = self.ty()?;
        if matches!(self.module.types[ty], Type::Void | Type::Label | Type::Metadata | Type::Token) {
            let message = format!("a variable cannot be of type `{}`", self.module.types.text(ty));
            return Err(error(span(start), message));
        }
        let init = if head.declaration { None } else { Some(self.constant(ty)?) };
        let variable = Variable {
            ty,
            constant,
            init,
            thread_local: head.thread_local,
            externally_initialized,
            attributes: Attributes::default(),
        };
        let mut symbol = Symbol { space, ..self.symbol_with(head, SymbolKind::Variable(variable)) };
        let attributes = self.variable_tail(&mut symbol)?;
        if let SymbolKind::Variable(variable) = &mut symbol.kind {
            variable.attributes = attributes;
        }
        Ok(symbol)
    }

    /// `, section "…", align 4, !dbg !5 #0`
    fn variable_tail(&mut self, symbol: &mut Symbol) -> Parsed<Attributes> {
        while self.eat(Kind::Comma) {
            match (self.token.kind, self.token.word) {
                (Kind::MetaName, _) => {
                    self.bump();
                    self.skip_metadata()?;
                }
                (_, Word::Align) => {
                    self.bump();
                    symbol.align = self.alignment()?;
                }
                (_, Word::Section) => symbol.section = Some(self.section()?),
                (_, Word::Partition | Word::CodeModel) => {
                    self.bump();
                    self.string()?;
                }
                (_, Word::Comdat) => self.comdat()?,
                // `no_sanitize_address` and the like.
                (Kind::Word, Word::Unknown) => drop(self.bump()),
                _ => return Err(self.expected("`section`, `align`, `comdat` or metadata")),
            }
        }
        let mut attributes = Attributes::default();
        if self.at(Kind::AttributeGroup) || (self.at(Kind::Text) && !self.token.new_line) {
            self.function_attributes(&mut attributes)?;
        }
        Ok(attributes)
    }

    /// `section "…"`
    fn section(&mut self) -> Parsed<Box<str>> {
        self.bump();
        Ok(self.string()?.into())
    }

    /// `comdat`, `comdat($x)`
    fn comdat(&mut self) -> Parsed<()> {
        self.bump();
        if self.at(Kind::OpenParen) { self.skip_brackets() } else { Ok(()) }
    }

    /// `declare … @f(…)`
    pub(super) fn declare(&mut self) -> Parsed<()> {
        self.bump();
        // Attachments of declarations stand before all else.
        while self.at(Kind::MetaName) {
            self.bump();
            self.skip_metadata()?;
        }
        let (token, id, symbol, _) = self.function_head()?;
        self.define_symbol(token, id, symbol)
    }

    /// `define … @f(…) { … }`
    pub(super) fn define(&mut self) -> Parsed<()> {
        self.bump();
        let (token, id, symbol, names) = self.function_head()?;
        self.define_symbol(token, id, symbol)?;
        while self.at(Kind::MetaName) {
            let kind = self.bump();
            if self.text(kind) == "!dbg" {
                let node = self.metadata_node()?;
                if let Some(function) = self.module.symbols[id].function_mut() {
                    function.debug = node.into();
                }
            } else {
                self.skip_metadata()?;
            }
        }
        if !self.at(Kind::OpenBrace) {
            return Err(self.expected("`{`"));
        }
        let body = self.function_body(id, &names)?;
        if let Some(function) = self.module.symbols[id].function_mut() {
            function.body = Some(Box::new(body));
        }
        Ok(())
    }

    /// All of a function before its body, and the names of its parameters.
    fn function_head(&mut self) -> Parsed<(Token, SymbolId, Symbol, Vec<Option<Token>>)> {
        let head = self.head()?;
        let ret_attributes = self.param_attributes(None)?;
        let start = self.token;
        let ret = self.ty()?;
        self.check_range(&ret_attributes, ret)?;
        if ret_attributes.sret.is_some() || ret_attributes.by_val.is_some() {
            return Err(error(span(start), "`sret` and `byval` are attributes of parameters"));
        }
        let token = self.token;
        let id = self.symbol()?;
        self.expect(Kind::OpenParen)?;
        let (mut params, mut names, mut varargs) = (Vec::new(), Vec::new(), false);
        self.list(Kind::CloseParen, |p| {
            if varargs {
                return Err(p.expected("`)`"));
            }
            varargs = p.eat(Kind::Ellipsis);
            if !varargs {
                let (param, name) = p.param()?;
                params.push(param);
                names.push(name);
            }
            Ok(())
        })?;
        let types: Vec<TypeId> = params.iter().map(|param: &Param| param.ty).collect();
        let signature = self.module.types.intern(Type::Function { ret, params: types.into(), varargs });
        let function = Function {
            signature,
            ret,
            ret_attributes,
            params,
            varargs,
            attributes: Attributes::default(),
            convention: head.convention,
            debug: None.into(),
            body: None,
        };
        let mut symbol = self.symbol_with(&head, SymbolKind::Function(Box::new(function)));
        self.function_tail(&mut symbol)?;
        Ok((token, id, symbol, names))
    }

    /// `i32 noundef %x`
    fn param(&mut self) -> Parsed<(Param, Option<Token>)> {
        let start = self.token;
        let ty = self.ty()?;
        if matches!(self.module.types[ty], Type::Void | Type::Opaque(_)) {
            let message = format!("a parameter cannot be of type `{}`", self.module.types.text(ty));
            return Err(error(span(start), message));
        }
        let pointee = self.pointee.take();
        let attributes = self.param_attributes(pointee)?;
        self.check_range(&attributes, ty)?;
        let name = matches!(self.token.kind, Kind::LocalName | Kind::LocalNumber).then(|| self.bump());
        Ok((Param { ty, attributes }, name))
    }

    /// What stands behind the parameters of a function.
    fn function_tail(&mut self, symbol: &mut Symbol) -> Parsed<()> {
        let mut attributes = Attributes::default();
        loop {
            match self.token.word {
                Word::UnnamedAddr | Word::LocalUnnamedAddr => drop(self.bump()),
                Word::AddrSpace => symbol.space = self.address_space()?,
                Word::Section => symbol.section = Some(self.section()?),
                Word::Partition | Word::Gc => {
                    self.bump();
                    self.string()?;
                }
                Word::Comdat => self.comdat()?,
                Word::Align => {
                    self.bump();
                    symbol.align = self.alignment_operand()?;
                }
                Word::Prefix | Word::Prologue | Word::Personality => {
                    self.bump();
                    self.typed_constant()?;
                }
                _ => {
                    let before = self.token.start;
                    self.function_attributes(&mut attributes)?;
                    if before == self.token.start {
                        break;
                    }
                }
            }
        }
        if let SymbolKind::Function(function) = &mut symbol.kind {
            function.attributes = attributes;
        }
        Ok(())
    }
}

fn numbered_convention(number: u32) -> CallingConvention {
    match number {
        0 => CallingConvention::C,
        8 => CallingConvention::Fast,
        9 => CallingConvention::Cold,
        71 => CallingConvention::PtxKernel,
        72 => CallingConvention::PtxDevice,
        other => CallingConvention::Other(other),
    }
}
