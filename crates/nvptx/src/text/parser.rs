//! The steps that all rules are made of.

use std::borrow::Cow;

use oriole_ptx::ast::Span;
use oriole_ptx::diag::Diagnostic as Report;
use rustc_hash::FxHashMap;

use crate::ir::{Attributes, Body, Module, SymbolId, TypeId};

use super::lexer::{Kind, Lexer, Token};
use super::names::{AddressedBlocks, Locals, MetaNames, NamedTypes, Pointee};
use super::words::Word;

/// What a rule gives.
pub(super) type Parsed<T> = Result<T, Box<Report>>;

/// How deep types, constants and metadata may be nested.
const MAX_DEPTH: u32 = 128;

/// The reader's state.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token that is looked at.
    pub(super) token: Token,
    /// The end of the token before.
    last_end: u32,
    /// What has been read so far.
    pub(super) module: Module,
    /// Types by name.
    pub(super) types: NamedTypes<'a>,
    /// What the typed pointer read last points to.
    pub(super) pointee: Option<Pointee<'a>>,
    /// There are byte types. They are integers here; what tells them apart is that `bitcast` takes them to pointers and back.
    pub(super) has_bytes: bool,
    /// The type of the `range` attribute read last.
    pub(super) range_type: Option<TypeId>,
    /// Attribute groups by number; read at the first mention of one.
    pub(super) groups: Option<FxHashMap<u64, Attributes>>,
    /// Metadata by number.
    pub(super) meta: MetaNames,
    /// Where each symbol was mentioned first.
    pub(super) mentions: Vec<Span>,
    /// The symbols in order of their definitions and declarations.
    pub(super) order: Vec<SymbolId>,
    /// Blocks whose address was taken before their function was read.
    pub(super) addressed: FxHashMap<SymbolId, AddressedBlocks<'a>>,
    /// The function that is being read.
    pub(super) current: Option<SymbolId>,
    /// Its body.
    pub(super) body: Body,
    /// Its names.
    pub(super) locals: Locals<'a>,
    depth: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parsed<Parser<'a>> {
        if u32::try_from(text.len()).is_err() {
            return Err(Box::new(Report::new(Span::new(0, 0), "the file is larger than 4 GiB")));
        }
        let mut lexer = Lexer::new(text, 0);
        let token = lexer.next();
        Ok(Parser {
            lexer,
            token,
            last_end: 0,
            module: Module::default(),
            types: NamedTypes::default(),
            pointee: None,
            has_bytes: false,
            range_type: None,
            groups: None,
            meta: MetaNames::default(),
            mentions: Vec::new(),
            order: Vec::new(),
            addressed: FxHashMap::default(),
            current: None,
            body: Body::default(),
            locals: Locals::default(),
            depth: 0,
        })
    }

    /// The whole text.
    pub(super) fn source(&self) -> &'a str {
        self.lexer.text()
    }

    /// Takes the token and goes to the next.
    pub(super) fn bump(&mut self) -> Token {
        let token = self.token;
        self.last_end = token.end;
        self.token = self.lexer.next();
        token
    }

    /// Goes on at byte `at`, which must be behind the token that is looked at.
    pub(super) fn skip_to(&mut self, at: usize) {
        self.lexer = Lexer::new(self.source(), at);
        self.last_end = at as u32;
        self.token = self.lexer.next();
    }

    /// Reads at byte `at` with `rule`, and comes back here.
    pub(super) fn elsewhere<T>(&mut self, at: u32, rule: impl FnOnce(&mut Parser<'a>) -> Parsed<T>) -> Parsed<T> {
        let saved = (self.lexer.clone(), self.token, self.last_end);
        self.lexer = Lexer::new(self.source(), at as usize);
        self.token = self.lexer.next();
        let result = rule(self);
        (self.lexer, self.token, self.last_end) = saved;
        result
    }

    /// Counts a level of nesting around `rule`.
    pub(super) fn nested<T>(&mut self, rule: impl FnOnce(&mut Parser<'a>) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(format!("nested more than {MAX_DEPTH} levels deep")));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    pub(super) fn at(&self, kind: Kind) -> bool {
        self.token.kind == kind
    }

    pub(super) fn at_word(&self, word: Word) -> bool {
        self.token.word == word
    }

    /// Takes the token if it is of `kind`.
    pub(super) fn eat(&mut self, kind: Kind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Takes the token if it is `word`.
    pub(super) fn eat_word(&mut self, word: Word) -> bool {
        let found = self.token.word == word;
        if found {
            self.bump();
        }
        found
    }

    /// Takes the token, which must be of `kind`.
    pub(super) fn expect(&mut self, kind: Kind) -> Parsed<Token> {
        match self.at(kind) {
            true => Ok(self.bump()),
            false => Err(self.expected(kind.name())),
        }
    }

    /// Takes the token, which must be `word`.
    pub(super) fn expect_word(&mut self, word: Word) -> Parsed<()> {
        match self.eat_word(word) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{}`", word.as_str()))),
        }
    }

    /// Reads `rule` until `close`, which is taken, with commas between.
    pub(super) fn list<T>(
        &mut self,
        close: Kind,
        mut rule: impl FnMut(&mut Parser<'a>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(rule(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(Kind::Comma) {
                return Err(self.expected(&format!("`,` or {}", close.name())));
            }
        }
    }

    /// Passes over a bracket that opens here, with all that it holds.
    pub(super) fn skip_brackets(&mut self) -> Parsed<()> {
        let start = self.token;
        let mut depth = 0u32;
        loop {
            match self.token.kind {
                Kind::OpenParen | Kind::OpenBracket | Kind::OpenBrace => depth += 1,
                Kind::CloseParen | Kind::CloseBracket | Kind::CloseBrace => depth = depth.saturating_sub(1),
                Kind::End => return Err(error(span(start), "this bracket is not closed")),
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// The bytes of the token.
    pub(super) fn text(&self, token: Token) -> &'a str {
        &self.source()[token.start as usize..token.end as usize]
    }

    /// Where the token that was taken last ends.
    pub(super) fn previous_end(&self) -> usize {
        self.last_end as usize
    }

    /// From `start` to the end of the token that was taken last.
    pub(super) fn span_from(&self, start: Token) -> Span {
        Span::new(start.start, self.last_end.max(start.start))
    }

    /// The name in a token such as `%name`, `@"na\\me"` or `!name`, without what is around it.
    pub(super) fn name(&self, token: Token) -> Parsed<Cow<'a, str>> {
        let text = self.text(token);
        let text = text.strip_suffix(':').filter(|_| token.kind == Kind::Label).unwrap_or(text);
        let text = match token.kind {
            Kind::Label | Kind::Text => text,
            _ => &text[1..],
        };
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match quoted.unwrap_or(text) {
            plain if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
            escaped => String::from_utf8(unescape(escaped))
                .map(Cow::Owned)
                .map_err(|_| error(span(token), "a name that is not UTF-8 is not supported")),
        }
    }

    /// A string; bytes that are not UTF-8 become U+FFFD.
    pub(super) fn string(&mut self) -> Parsed<Cow<'a, str>> {
        let token = self.expect(Kind::Text)?;
        let text = self.text(token);
        Ok(match &text[1..text.len() - 1] {
            plain if !plain.contains('\\') => Cow::Borrowed(plain),
            escaped => Cow::Owned(String::from_utf8_lossy(&unescape(escaped)).into_owned()),
        })
    }

    /// A number that fits into 32 bits.
    pub(super) fn small(&mut self) -> Parsed<u32> {
        let token = self.token;
        let value = self.unsigned()?;
        u32::try_from(value).map_err(|_| error(span(token), "the number does not fit into 32 bits"))
    }

    /// A number that fits into 64 bits.
    pub(super) fn unsigned(&mut self) -> Parsed<u64> {
        let token = self.expect(Kind::Integer)?;
        let text = self.text(token);
        match text.parse() {
            Ok(value) => Ok(value),
            Err(_) if text.starts_with('-') => Err(error(span(token), "the number must not be negative")),
            Err(_) => Err(error(span(token), "the number does not fit into 64 bits")),
        }
    }

    /// An alignment: a power of two, below 2^32.
    pub(super) fn alignment(&mut self) -> Parsed<u32> {
        let token = self.token;
        match self.unsigned()? {
            value if value.is_power_of_two() && value < 1 << 32 => Ok(value as u32),
            0 => Ok(0),
            _ => Err(error(span(token), "an alignment is a power of two below 2^32")),
        }
    }

    /// `(N)` or, in an attribute group, `=N`, or ` N`, of an alignment.
    pub(super) fn alignment_operand(&mut self) -> Parsed<u32> {
        if self.eat(Kind::OpenParen) {
            let value = self.alignment()?;
            self.expect(Kind::CloseParen)?;
            return Ok(value);
        }
        self.eat(Kind::Equal);
        self.alignment()
    }

    /// An error at the token that is looked at.
    pub(super) fn error(&self, message: impl Into<String>) -> Box<Report> {
        error(span(self.token), message)
    }

    /// The error that something else should stand here.
    pub(super) fn expected(&self, what: &str) -> Box<Report> {
        let found = match self.token.kind {
            Kind::End => "the end of the file".to_owned(),
            Kind::Wrong if self.text(self.token).starts_with(['"', '%', '@']) => {
                return self.error("this string does not end, or a name is missing");
            }
            _ => format!("`{}`", self.text(self.token).chars().take(40).collect::<String>()),
        };
        self.error(format!("expected {what}, found {found}"))
    }
}

/// Where a token stands.
pub(super) fn span(token: Token) -> Span {
    Span::new(token.start, token.end)
}

/// An error at a place.
pub(super) fn error(span: Span, message: impl Into<String>) -> Box<Report> {
    Box::new(Report::new(span, message))
}

/// The error with advice.
pub(super) fn with_help(mut report: Box<Report>, help: &str) -> Box<Report> {
    report.help = Some(help.to_owned());
    report
}

/// What `\5C`, `\\` and the like stand for.
pub(super) fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |ahead: usize| bytes.get(at + ahead).and_then(|&byte| (byte as char).to_digit(16));
        match (bytes[at], digit(1), digit(2)) {
            (b'\\', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (b'\\', ..) if bytes.get(at + 1) == Some(&b'\\') => {
                out.push(b'\\');
                at += 2;
            }
            (byte, ..) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

impl Kind {
    /// What messages call a token of this kind.
    fn name(self) -> &'static str {
        match self {
            Kind::Word => "a word",
            Kind::IntType => "an integer type",
            Kind::Integer => "a number",
            Kind::Decimal | Kind::Hex | Kind::SpecialFloat => "a floating-point number",
            Kind::LocalName | Kind::LocalNumber => "a local name",
            Kind::GlobalName | Kind::GlobalNumber => "a global name",
            Kind::Label => "a label",
            Kind::Text => "a string",
            Kind::AttributeGroup => "an attribute group",
            Kind::DebugRecord => "a debug record",
            Kind::MetaName => "a name of metadata",
            Kind::MetaNumber => "a number of metadata",
            Kind::Bang => "`!`",
            Kind::Comdat => "a comdat",
            Kind::Summary => "a summary entry",
            Kind::Ellipsis => "`...`",
            Kind::Equal => "`=`",
            Kind::Comma => "`,`",
            Kind::Star => "`*`",
            Kind::Bar => "`|`",
            Kind::Colon => "`:`",
            Kind::OpenParen => "`(`",
            Kind::CloseParen => "`)`",
            Kind::OpenBracket => "`[`",
            Kind::CloseBracket => "`]`",
            Kind::OpenBrace => "`{`",
            Kind::CloseBrace => "`}`",
            Kind::Less => "`<`",
            Kind::Greater => "`>`",
            Kind::End => "the end of the file",
            Kind::Wrong => "a token",
        }
    }
}
