//! The parser: recursive descent with one token of lookahead, recovery at the
//! next statement and a bound on nesting.
//!
//! | file | parses |
//! |---|---|
//! | `item` | modules, functions and their directives |
//! | `debug` | `.file`, `.section`, `.loc` |
//! | `decl` | variables, parameters, initial values, registers |
//! | `stmt` | function bodies |
//! | `head` | opcodes with their modifiers |
//! | `instr` | instructions and operands |
//! | `expr` | constant expressions |

mod debug;
mod decl;
mod expr;
mod head;
mod instr;
mod item;
mod stmt;

use logos::Logos;

use head::Heads;
use item::Header;

use crate::ast::{Imm, Item, Module, Name, Span, SpecialReg, Statement, Sym, SymbolTable};
use crate::diag::Diagnostic;
use crate::lexer::{LexError, Token};
use crate::suggest::closest;
use oriole_checkpoint::checkpoint;

/// How deeply blocks, expressions and operand lists may nest.
pub const MAX_NESTING: u32 = 200;

/// How many errors are kept; a last one says that there are more.
pub const MAX_ERRORS: usize = 100;

/// What the parser makes of a file.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Everything that could be read.
    pub module: Module,
    /// All syntax errors, in order of their place.
    pub errors: Vec<Diagnostic>,
    /// True when an error may have hidden a declaration, so that a name which
    /// seems undefined may not be.
    pub lost_declarations: bool,
}

/// Parses a whole file. The module holds what could be read, whatever the
/// errors; without errors it is the whole file.
#[must_use]
pub fn parse(text: &str) -> Parsed {
    if text.len() >= u32::MAX as usize {
        let mut parser = Parser::new("");
        parser.error(Diagnostic::new(Span::default(), "the file is larger than 4 GiB"));
        return parser.finish(Header::new(), Vec::new());
    }
    let mut parsed = Parser::new(text).module();
    if !text.is_ascii()
        && let Some(at) = text.find(|c: char| !c.is_ascii())
    {
        not_ascii(text, at, &mut parsed.errors);
    }
    parsed
}

/// Reports the first character that is not ASCII, which ptxas refuses in comments and strings too.
#[cold]
fn not_ascii(text: &str, at: usize, errors: &mut Vec<Diagnostic>) {
    const UNEXPECTED: &str = "unexpected character";
    // Outside of comments and strings it has been reported.
    if errors.iter().any(|error| error.message.starts_with(UNEXPECTED)) {
        return;
    }
    let place = errors.partition_point(|error| (error.span.start as usize) < at);
    let found = text[at..].chars().next().unwrap_or_default();
    let span = Span::new(at as u32, (at + found.len_utf8()) as u32);
    let message = format!("{UNEXPECTED} `{found}`: PTX is ASCII, in comments and strings too");
    errors.insert(place, Diagnostic::new(span, message).label("not used in PTX"));
}

/// Parses statements that are to stand in a function body: the text of inline assembly. Its names
/// go to `symbols`, those of the module; places are counted from `first_place`.
///
/// # Errors
///
/// All syntax errors, with places counted from 0.
pub fn parse_statements(
    text: &str,
    first_place: u32,
    symbols: &mut SymbolTable,
) -> Result<Vec<Statement>, Vec<Diagnostic>> {
    part(text, first_place, symbols, Parser::statements)
}

/// Parses what is to stand at file level: the text of assembly outside of functions, without
/// `.version`, `.target` and `.address_size`. Otherwise as [`parse_statements`].
///
/// # Errors
///
/// As [`parse_statements`].
pub fn parse_items(text: &str, first_place: u32, symbols: &mut SymbolTable) -> Result<Vec<Item>, Vec<Diagnostic>> {
    part(text, first_place, symbols, Parser::items)
}

/// Parses a part of a module.
fn part<'t, T: Default>(
    text: &'t str,
    first_place: u32,
    symbols: &mut SymbolTable,
    parse: impl FnOnce(&mut Parser<'t>, &mut T),
) -> Result<T, Vec<Diagnostic>> {
    let fits = u32::try_from(text.len()).ok().and_then(|len| first_place.checked_add(len)).is_some();
    if !fits {
        return Err(vec![Diagnostic::new(Span::default(), "the text is larger than 4 GiB")]);
    }
    let mut parser = Parser::within(text, first_place, std::mem::take(symbols));
    let mut found = T::default();
    parse(&mut parser, &mut found);
    let Parser { errors, symbols: names, .. } = parser;
    *symbols = names;
    if errors.is_empty() { Ok(found) } else { Err(errors.into_iter().map(|e| e.moved_back(first_place)).collect()) }
}

/// Marks that parsing of the current construct stopped; the diagnostic is
/// already recorded.
#[derive(Debug)]
struct Failed;

type Parse<T> = Result<T, Failed>;

/// The state of the parser.
struct Parser<'s> {
    text: &'s str,
    lexer: logos::Lexer<'s, Token>,
    /// Where places in the text are counted from.
    first_place: u32,
    /// The current token and its place.
    token: Token,
    span: Span,
    /// The end of the token before the current one.
    previous_end: u32,
    symbols: SymbolTable,
    /// How many symbols there were before this text.
    known: usize,
    /// For each symbol of this text: the special register that it spells.
    specials: Vec<Option<SpecialReg>>,
    /// The heads of instructions seen so far.
    heads: Heads<'s>,
    /// Up to where the lines of bodies have been counted in the text.
    counted_to: usize,
    errors: Vec<Diagnostic>,
    unreported: usize,
    depth: u32,
    lost_declarations: bool,
    /// True once a comment has taken the rest of the text.
    cut_short: bool,
    /// `.version`, once it has been read.
    version: (u32, u32),
}

impl<'s> Parser<'s> {
    fn new(text: &'s str) -> Parser<'s> {
        Parser::within(text, 0, SymbolTable::new())
    }

    /// A parser of a part of a module: places are counted from `first_place`, names are added to `symbols`.
    fn within(text: &'s str, first_place: u32, symbols: SymbolTable) -> Parser<'s> {
        let mut parser = Parser {
            text,
            lexer: Token::lexer(text),
            first_place,
            token: Token::End,
            span: Span::new(first_place, first_place),
            previous_end: first_place,
            known: symbols.len(),
            symbols,
            specials: Vec::new(),
            heads: Heads::default(),
            counted_to: 0,
            errors: Vec::new(),
            unreported: 0,
            depth: 0,
            lost_declarations: false,
            cut_short: false,
            version: (0, 0),
        };
        parser.bump();
        parser
    }

    fn finish(mut self, header: Header, items: Vec<Item>) -> Parsed {
        if self.unreported > 0 {
            let message = format!("{} more errors are not shown", self.unreported);
            self.errors.push(Diagnostic::new(self.span, message));
        }
        let Header { version, target, address_size, places, .. } = header;
        let module = Module { version, target, address_size, header: places, items, symbols: self.symbols };
        Parsed { module, errors: self.errors, lost_declarations: self.lost_declarations }
    }

    /// Goes to the next token; text that is no token is reported here, once
    /// per run of such text.
    fn bump(&mut self) {
        checkpoint(1);
        self.previous_end = self.span.end;
        let was_bad = self.token == Token::Bad;
        let next = self.lexer.next();
        let range = self.lexer.span();
        self.span = Span::new(self.first_place + range.start as u32, self.first_place + range.end as u32);
        self.token = match next {
            Some(Ok(token)) => token,
            None => Token::End,
            Some(Err(error)) => {
                if !was_bad || error != LexError::Character {
                    self.lexical_error(error);
                }
                Token::Bad
            }
        };
    }

    /// Takes the current token and the `bytes` behind it, which are known to be whole tokens.
    fn bump_by(&mut self, bytes: usize) {
        self.lexer.bump(bytes);
        self.span.end += bytes as u32;
        self.bump();
    }

    #[cold]
    fn lexical_error(&mut self, error: LexError) {
        let diagnostic = match error {
            LexError::Character => {
                // The lexer may have read on in search of a longer token.
                let found = self.slice().chars().next().unwrap_or_default();
                let at = Span::new(self.span.start, self.span.start + found.len_utf8() as u32);
                Diagnostic::new(at, format!("unexpected character `{}`", found.escape_debug())).label("not used in PTX")
            }
            LexError::OpenComment => {
                self.cut_short = true;
                Diagnostic::new(Span::new(self.span.start, self.span.start + 2), "comment is never closed")
                    .label("starts here")
                    .help("add `*/`")
            }
            LexError::OpenString => Diagnostic::new(self.span, "string is not closed on its line").help("add `\"`"),
        };
        self.error(diagnostic);
    }

    /// The text of the current token.
    fn slice(&self) -> &'s str {
        self.lexer.slice()
    }

    /// A place as an index into the text.
    fn within_text(&self, place: u32) -> usize {
        (place - self.first_place) as usize
    }

    /// Moves on if the current token is `token`.
    fn eat(&mut self, token: Token) -> bool {
        let found = self.token == token;
        if found {
            self.bump();
        }
        found
    }

    /// Requires `token`.
    fn expect(&mut self, token: Token) -> Parse<()> {
        if self.eat(token) { Ok(()) } else { Err(self.unexpected(token.describe())) }
    }

    /// Moves on if the current token is the directive `word` (with its dot).
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// True if the current token is the directive `word` (with its dot).
    fn at_word(&self, word: &str) -> bool {
        self.token == Token::Dot && self.slice() == word
    }

    /// Ends a statement. A forgotten `;` at the end of a line is reported and
    /// assumed.
    fn expect_semicolon(&mut self) -> Parse<()> {
        if self.eat(Token::Semicolon) {
            return Ok(());
        }
        if self.token == Token::Bad || !(self.after_line_break() || self.token == Token::RightBrace) {
            return Err(self.unexpected("`;`"));
        }
        let at = Span::new(self.previous_end.saturating_sub(1), self.previous_end);
        self.error(Diagnostic::new(at, "expected `;` at the end of the statement").help("add `;`"));
        Ok(())
    }

    /// True if the current token stands on another line than the one before it.
    fn after_line_break(&self) -> bool {
        self.text[self.within_text(self.previous_end)..self.within_text(self.span.start)].contains('\n')
    }

    /// Reports a directive that cannot stand here; `known` are those that can.
    #[cold]
    fn unknown_directive<T>(&mut self, (word, at): (&str, Span), place: &str, known: &[&str]) -> Parse<T> {
        let diagnostic = Diagnostic::new(at, format!("`{}` is no directive of {place}", shorten(word)));
        self.fail(match closest(word, known.iter().copied()) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic,
        })
    }

    /// Reports that something else was expected here.
    #[cold]
    fn unexpected(&mut self, expected: &str) -> Failed {
        // What the lexer refused is already reported.
        if self.token != Token::Bad {
            let found = match self.token {
                Token::End => "the end of the file".to_owned(),
                _ => format!("`{}`", shorten(self.slice())),
            };
            let message = format!("expected {expected}, found {found}");
            self.error(Diagnostic::new(self.span, message).label(format!("expected {expected}")));
        }
        Failed
    }

    /// Records an error; a second one at the same place adds nothing.
    #[cold]
    fn error(&mut self, diagnostic: Diagnostic) {
        let repeated = self.errors.last().is_some_and(|last| last.span.start == diagnostic.span.start);
        if repeated && self.errors.len() < MAX_ERRORS {
            return;
        }
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(diagnostic);
        } else {
            self.unreported += 1;
        }
    }

    /// Records an error and stops the construct.
    #[cold]
    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parse<T> {
        self.error(diagnostic);
        Err(Failed)
    }

    /// Runs `inner` one level deeper, or fails when that is too deep.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_NESTING {
            let message = format!("nested more than {MAX_NESTING} levels deep");
            return self.fail(Diagnostic::new(self.span, message).help("take the expression or block apart"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Skips to the end of a broken statement: past its `;`, or to the `}`
    /// that closes the block around it. The `}` of an operand vector is not
    /// such an end.
    fn recover(&mut self) {
        loop {
            match self.token {
                Token::End => return,
                Token::Semicolon => return self.bump(),
                Token::RightBrace if !self.closes_vector() => return,
                _ => self.bump(),
            }
        }
    }

    /// True if the current `}` is followed by what can only follow an operand.
    fn closes_vector(&self) -> bool {
        let next = self.lexer.clone().next();
        matches!(next, Some(Ok(Token::Comma | Token::Semicolon | Token::Or | Token::RightBracket)))
    }

    /// Skips a `{ … }` with everything in it.
    fn skip_block(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.token {
                Token::End => return,
                Token::LeftBrace => depth += 1,
                Token::RightBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    /// Interns the text of the current token, which is an identifier.
    fn intern(&mut self) -> Sym {
        self.intern_text(self.slice())
    }

    /// Interns a name.
    #[inline]
    fn intern_text(&mut self, text: &str) -> Sym {
        // Most names have occurred before.
        self.symbols.get(text).unwrap_or_else(|| self.new_symbol(text))
    }

    #[cold]
    fn new_symbol(&mut self, text: &str) -> Sym {
        let sym = self.symbols.intern(text);
        if sym.index() == self.known + self.specials.len() {
            self.specials.push(text.strip_prefix('%').and_then(SpecialReg::from_name));
        }
        sym
    }

    /// The special register that a name spells, unless it is declared as something else.
    fn special(&self, sym: Sym) -> Option<SpecialReg> {
        match sym.index().checked_sub(self.known) {
            Some(new) => self.specials[new],
            None => self.symbols.text(sym).strip_prefix('%').and_then(SpecialReg::from_name),
        }
    }

    /// Takes a name.
    fn name(&mut self, expected: &str) -> Parse<Name> {
        if self.token != Token::Ident {
            return Err(self.unexpected(expected));
        }
        let name = Name { sym: self.intern(), span: self.span };
        self.bump();
        Ok(name)
    }

    /// Takes a list of one or more things, separated by commas.
    fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(Token::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Takes a string and gives what is between its quotes.
    fn string(&mut self) -> Parse<String> {
        if self.token != Token::String {
            return Err(self.unexpected("a string"));
        }
        let text = self.slice();
        let inner = text[1..text.len() - 1].to_owned();
        self.bump();
        Ok(inner)
    }

    /// Takes a constant expression that must give an integer within `T`.
    fn integer<T: TryFrom<i128>>(&mut self, what: &str) -> Parse<T> {
        let start = self.span;
        let value = match self.constant()? {
            Imm::S64(value) => i128::from(value),
            Imm::U64(value) => i128::from(value),
            Imm::F32(_) | Imm::F64(_) => {
                return self.fail(Diagnostic::new(start, format!("{what} must be an integer")));
            }
        };
        match T::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => self.fail(Diagnostic::new(start, format!("{what} is out of range: {value}"))),
        }
    }

    /// The span from `start` to the end of the last token taken.
    fn since(&self, start: Span) -> Span {
        Span::new(start.start, self.previous_end.max(start.start))
    }
}

/// Text for a message, cut when it is long.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
