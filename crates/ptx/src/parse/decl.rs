//! Declarations: variables, parameters, initial values and registers.

use super::{Parse, Parser};
use crate::ast::{
    Attribute, Imm, Init, Linkage, Modifier, Name, Property, PropertyValue, PtrInfo, RegisterDecl, RegisterName,
    ScalarType, Space, Span, TypeClass, Variable, VectorLen,
};
use crate::diag::Diagnostic;
use crate::grammar;
use crate::lexer::Token;

/// The state space that a directive (with its dot) names, if variables may be
/// declared in it.
pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        ".reg" => Space::Reg,
        ".sreg" => Space::Sreg,
        ".const" => Space::Const,
        ".global" => Space::Global,
        ".local" => Space::Local,
        ".param" => Space::Param,
        ".shared" => Space::Shared,
        ".tex" => Space::Tex,
        _ => return None,
    })
}

/// The linkage that a directive (with its dot) names.
pub(super) fn linkage(word: &str) -> Option<Linkage> {
    Some(match word {
        ".extern" => Linkage::Extern,
        ".visible" => Linkage::Visible,
        ".weak" => Linkage::Weak,
        ".common" => Linkage::Common,
        _ => return None,
    })
}

/// True for linkage directives.
pub(super) fn is_linkage(word: &str) -> bool {
    linkage(word).is_some()
}

/// What stands before the declared name: shared by all names of one
/// declaration.
#[derive(Default)]
struct Specifiers {
    attributes: Vec<Attribute>,
    align: Option<u32>,
    ty: Option<ScalarType>,
    vector: Option<VectorLen>,
    ptr: Option<PtrInfo>,
}

/// The last constant bank.
const LAST_BANK: u32 = 10;
/// Since then there are others than the first.
const BANKS_OF_OTHERS: (u32, u32) = (1, 5);

impl Parser<'_> {
    /// Takes `[linkage] .space specifiers a [dims] [= init], b …;`.
    pub(super) fn variables(&mut self, out: &mut Vec<Variable>) -> Parse<()> {
        let start = self.span;
        let linkage = self.linkage();
        let space = self.space()?;
        let bank = if space == Space::Const { self.constant_bank()? } else { 0 };
        let specifiers = self.specifiers(start)?;
        loop {
            let mut variable = self.declarator(linkage, space, &specifiers, start)?;
            if space == Space::Const {
                self.bank_of(&variable, bank);
            }
            if variable.dims.is_empty() && self.token == Token::Less {
                self.numbered(&variable, out)?;
                if self.eat(Token::Comma) {
                    continue;
                }
                return self.expect_semicolon();
            }
            if self.eat(Token::Equals) {
                if variable.ty.class() == TypeClass::Opaque && self.token == Token::LeftBrace {
                    variable.properties = self.properties(!variable.dims.is_empty())?;
                } else {
                    variable.init = Some(self.initialiser()?);
                }
                variable.span = self.since(start);
            }
            out.push(variable);
            if !self.eat(Token::Comma) {
                return self.expect_semicolon();
            }
        }
    }

    /// `<n>` behind a name: variables `name0` to `name(n-1)`.
    fn numbered(&mut self, variable: &Variable, out: &mut Vec<Variable>) -> Parse<()> {
        /// Each gets a node: more of them are a mistake.
        const MOST: u32 = 1 << 20;
        let at = self.span;
        let Some(stem) = variable.name else { return Err(self.unexpected("`,` or `;`")) };
        let count = self.count("variables")?;
        if count > MOST {
            return self.fail(Diagnostic::new(at, format!("{count} variables are more than {MOST}")));
        }
        let text = self.symbols.text(stem.sym).to_owned();
        for number in 0..count {
            let name = Name { sym: self.intern_text(&format!("{text}{number}")), ..stem };
            out.push(Variable { name: Some(name), ..variable.clone() });
        }
        Ok(())
    }

    /// Takes a linkage directive, if there is one.
    pub(super) fn linkage(&mut self) -> Linkage {
        let found = if self.token == Token::Dot { linkage(self.slice()) } else { None };
        if found.is_some() {
            self.bump();
        }
        found.unwrap_or(Linkage::None)
    }

    fn space(&mut self) -> Parse<Space> {
        let found = if self.token == Token::Dot { space(self.slice()) } else { None };
        match found {
            Some(space) => {
                self.bump();
                Ok(space)
            }
            None => Err(self.unexpected("a state space")),
        }
    }

    /// Takes the number of a bank behind `.const`, if there is one: `.const[0]` is what `.const` is.
    pub(super) fn constant_bank(&mut self) -> Parse<u32> {
        let start = self.span;
        if !self.eat(Token::LeftBracket) {
            return Ok(0);
        }
        let bank: u32 = self.integer("the number of a bank")?;
        self.expect(Token::RightBracket)?;
        let ended = grammar::directive("constant_banks").filter(|need| need.has_ended(self.version, None));
        if let Some(((major, minor), _)) = ended.and_then(|need| need.end) {
            let message = format!("`.const[{bank}]` ended with PTX {major}.{minor}");
            self.error(Diagnostic::new(start, message).help("write `.const`"));
        } else if bank > LAST_BANK {
            let message = format!("there is no constant bank {bank}");
            self.error(Diagnostic::new(start, message).help(format!("the last one is {LAST_BANK}")));
        } else if bank > 0 && self.version < BANKS_OF_OTHERS {
            let (major, minor) = BANKS_OF_OTHERS;
            self.error(Diagnostic::new(start, format!("`.const[{bank}]` needs `.version {major}.{minor}` or later")));
        }
        Ok(bank)
    }

    /// Banks but the first hold external arrays of unknown size, and such arrays are in no other.
    fn bank_of(&mut self, variable: &Variable, bank: u32) {
        let is_unknown = variable.linkage == Linkage::Extern && matches!(variable.dims.first(), Some(None | Some(0)));
        let has_banks = grammar::directive("constant_banks").is_some_and(|need| !need.has_ended(self.version, None));
        let message = match (bank > 0, is_unknown) {
            (true, false) => format!("the constant bank {bank} has external arrays of unknown size alone"),
            (false, true) if has_banks => "an external array of unknown size is in a constant bank".to_owned(),
            _ => return,
        };
        let help = format!("banks 1 to {LAST_BANK} have such arrays: `.extern .const[1] .b32 a[];`");
        self.error(Diagnostic::new(variable.span, message).help(help));
    }

    /// Takes the parameter list `( … )`, if there is one.
    pub(super) fn optional_parameters(&mut self) -> Parse<Vec<Variable>> {
        if !self.eat(Token::LeftParen) {
            return Ok(Vec::new());
        }
        if self.eat(Token::RightParen) {
            return Ok(Vec::new());
        }
        let params = self.comma_list(Self::parameter)?;
        if self.token != Token::RightParen {
            return Err(self.unexpected("`,` or `)`"));
        }
        self.bump();
        Ok(params)
    }

    fn parameter(&mut self) -> Parse<Variable> {
        let start = self.span;
        let hidden = self.token == Token::Dot && self.slice() == ".hidden";
        if hidden {
            self.bump();
        }
        let space = self.space()?;
        let specifiers = self.specifiers(start)?;
        self.declarator(if hidden { Linkage::Hidden } else { Linkage::None }, space, &specifiers, start)
    }

    /// Takes the dotted words between the state space and the name.
    fn specifiers(&mut self, start: Span) -> Parse<Specifiers> {
        let mut found = Specifiers::default();
        while self.token == Token::Dot {
            match self.slice() {
                ".align" => {
                    self.bump();
                    found.align = Some(self.alignment()?);
                }
                ".attribute" => found.attributes.extend(self.attributes()?),
                ".ptr" => found.ptr = Some(self.pointer()?),
                word => match Modifier::from_name(&word[1..]) {
                    Some(Modifier::Type(ty)) if found.ty.is_none() => {
                        found.ty = Some(ty);
                        self.bump();
                    }
                    Some(Modifier::Vector(vector)) => {
                        found.vector = Some(vector);
                        self.bump();
                    }
                    _ if space(word).is_some() => {
                        let message = format!("a variable has one state space: `{word}` cannot stand here");
                        return self.fail(Diagnostic::new(self.span, message).help("keep one of them"));
                    }
                    _ => return Err(self.unexpected("a type or a name")),
                },
            }
        }
        if found.ty.is_none() {
            let message = "the declaration names no type";
            return self.fail(Diagnostic::new(self.since(start), message).help("add a type such as `.b32`"));
        }
        Ok(found)
    }

    fn alignment(&mut self) -> Parse<u32> {
        let at = self.span;
        let align: u32 = self.integer("the alignment")?;
        if align.is_power_of_two() {
            return Ok(align);
        }
        self.fail(Diagnostic::new(at, format!("the alignment {align} is not a power of two")))
    }

    /// `.ptr [.space] [.align n]`
    fn pointer(&mut self) -> Parse<PtrInfo> {
        self.bump();
        let named = if self.token == Token::Dot { space(self.slice()) } else { None };
        if named.is_some() {
            self.bump();
        }
        let align = if self.eat_word(".align") { Some(self.alignment()?) } else { None };
        Ok(PtrInfo { space: named, align })
    }

    /// `.attribute(.managed, .unified(a, b))`
    pub(super) fn attributes(&mut self) -> Parse<Vec<Attribute>> {
        self.bump();
        self.expect(Token::LeftParen)?;
        let found = self.comma_list(|p| {
            if p.eat_word(".managed") {
                return Ok(Attribute::Managed);
            }
            if !p.eat_word(".unified") {
                return Err(p.unexpected("`.managed` or `.unified`"));
            }
            p.expect(Token::LeftParen)?;
            let first = p.unsigned_word()?;
            p.expect(Token::Comma)?;
            let second = p.unsigned_word()?;
            p.expect(Token::RightParen)?;
            Ok(Attribute::Unified(first, second))
        })?;
        self.expect(Token::RightParen)?;
        Ok(found)
    }

    /// A 64-bit integer of any sign, as its bits.
    fn unsigned_word(&mut self) -> Parse<u64> {
        let at = self.span;
        match self.constant()?.int_bits() {
            Some(bits) => Ok(bits),
            None => self.fail(Diagnostic::new(at, "expected an integer")),
        }
    }

    /// Takes the name with its array dimensions.
    fn declarator(&mut self, linkage: Linkage, space: Space, from: &Specifiers, start: Span) -> Parse<Variable> {
        let name = if self.eat(Token::Underscore) { None } else { Some(self.name("a name")?) };
        let mut dims = Vec::new();
        while self.eat(Token::LeftBracket) {
            let open = self.token == Token::RightBracket;
            dims.push(if open { None } else { Some(self.integer("an array dimension")?) });
            self.expect(Token::RightBracket)?;
        }
        Ok(Variable {
            linkage,
            space,
            attributes: from.attributes.clone(),
            align: from.align,
            // `specifiers` has made sure that there is a type.
            ty: from.ty.unwrap_or(ScalarType::B32),
            vector: from.vector,
            ptr: from.ptr,
            name,
            dims,
            init: None,
            properties: Vec::new(),
            span: self.since(start),
        })
    }

    /// Takes an initial value.
    fn initialiser(&mut self) -> Parse<Init> {
        let start = self.span;
        match self.token {
            Token::LeftBrace => {
                self.bump();
                let items = self.nested(|p| {
                    if p.token == Token::RightBrace { Ok(Vec::new()) } else { p.comma_list(Self::initialiser) }
                })?;
                if self.token != Token::RightBrace {
                    return Err(self.unexpected("`,` or `}`"));
                }
                self.bump();
                Ok(Init::List(items, self.since(start)))
            }
            Token::String => Ok(Init::Text(self.string()?, start)),
            Token::Ident if self.slice() != "WARP_SZ" => self.address_value(None),
            _ => {
                let value = self.constant()?;
                let mask = match value {
                    Imm::S64(_) | Imm::U64(_) if self.eat(Token::LeftParen) => value.int_bits(),
                    _ => return Ok(Init::Imm(value, self.since(start))),
                };
                let address = self.address_value(mask)?;
                self.expect(Token::RightParen)?;
                Ok(address)
            }
        }
    }

    /// `{property = word, property = number}` of an opaque variable, or a list
    /// of such lists for an array.
    fn properties(&mut self, is_array: bool) -> Parse<Vec<Vec<Property>>> {
        if !is_array {
            return Ok(vec![self.braced(Self::property)?]);
        }
        self.braced(|p| p.braced(Self::property))
    }

    /// `{a, b, c}`
    fn braced<T>(&mut self, item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        self.expect(Token::LeftBrace)?;
        let found = self.comma_list(item)?;
        if self.token != Token::RightBrace {
            return Err(self.unexpected("`,` or `}`"));
        }
        self.bump();
        Ok(found)
    }

    fn property(&mut self) -> Parse<Property> {
        if self.token != Token::Ident {
            return Err(self.unexpected("a property such as `filter_mode`"));
        }
        let name = self.slice().to_owned();
        self.bump();
        self.expect(Token::Equals)?;
        if self.token == Token::Ident && self.slice() != "WARP_SZ" {
            let word = self.slice().to_owned();
            self.bump();
            return Ok(Property { name, value: PropertyValue::Word(word) });
        }
        let value = self.integer(&format!("`{}`", super::shorten(&name)))?;
        Ok(Property { name, value: PropertyValue::Int(value) })
    }

    /// `name + offset` or `generic(name) + offset`.
    fn address_value(&mut self, mask: Option<u64>) -> Parse<Init> {
        let generic = self.slice() == "generic";
        let mut name = self.name("a variable or function name")?;
        let generic = generic && self.eat(Token::LeftParen);
        if generic {
            name = self.name("a variable or function name")?;
            let inner = self.offset()?;
            self.expect(Token::RightParen)?;
            let offset = inner.wrapping_add(self.offset()?);
            return Ok(Init::Address { name, offset, generic, mask });
        }
        Ok(Init::Address { name, offset: self.offset()?, generic, mask })
    }

    /// `.reg [.v4] .type a, b<n>;`
    pub(super) fn registers(&mut self) -> Parse<RegisterDecl> {
        let start = self.span;
        self.bump();
        let from = self.specifiers(start)?;
        let names = self.comma_list(Self::register_name)?;
        if self.token == Token::Equals {
            let message = "a register has no initial value";
            return self.fail(Diagnostic::new(self.span, message).help("set it with `mov`"));
        }
        self.expect_semicolon()?;
        let ty = from.ty.unwrap_or(ScalarType::B32);
        Ok(RegisterDecl { ty, vector: from.vector, names, span: self.since(start) })
    }

    fn register_name(&mut self) -> Parse<RegisterName> {
        // `%` alone can be the stem of a range.
        let name = if self.token == Token::Percent {
            let name = Name { sym: self.intern_text("%"), span: self.span };
            self.bump();
            name
        } else {
            self.name("a register name")?
        };
        // A declared register hides a special register of the same name.
        if let Some(special) = name.sym.index().checked_sub(self.known).and_then(|at| self.specials.get_mut(at)) {
            *special = None;
        }
        if self.token != Token::Less {
            return Ok(RegisterName { name, count: None });
        }
        Ok(RegisterName { name, count: Some(self.count("registers")?) })
    }

    /// `<n>`: a plain number, since `>` must not be read as a comparison.
    fn count(&mut self, what: &str) -> Parse<u32> {
        self.expect(Token::Less)?;
        let (at, text) = (self.span, self.slice());
        if self.token != Token::Number {
            return Err(self.unexpected(&format!("the number of {what}")));
        }
        let value = self.primary()?.int_bits().and_then(|bits| u32::try_from(bits).ok());
        self.expect(Token::Greater)?;
        match value {
            Some(count) => Ok(count),
            None => self.fail(Diagnostic::new(at, format!("`{}` is no number of {what}", super::shorten(text)))),
        }
    }
}
