//! The lexer: one token at a time, without allocation.

use super::words::Word;
use oriole_checkpoint::checkpoint;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A word: [`Token::word`] says which.
    Word,
    /// `i32`, or LLVM 23's `b32`: [`Token::number`] is the width.
    IntType,
    /// Decimal digits, perhaps with `-`: [`Token::number`] is the magnitude, saturated.
    Integer,
    /// A decimal floating-point number.
    Decimal,
    /// `0x…`, `0xH…`, `0xR…`, `f0x…`: the bits of a floating-point number.
    Hex,
    /// `+inf`, `-qnan`, `+nan(0x…)`, `+snan(0x…)`: a floating-point number that is no decimal.
    SpecialFloat,
    /// `%name`, `%"name"`
    LocalName,
    /// `%5`
    LocalNumber,
    /// `@name`, `@"name"`
    GlobalName,
    /// `@5`
    GlobalNumber,
    /// `name:`, `"name":`, `5:`
    Label,
    /// `"…"`
    Text,
    /// `#5`
    AttributeGroup,
    /// `#dbg_value`
    DebugRecord,
    /// `!name`
    MetaName,
    /// `!5`
    MetaNumber,
    /// `!` before `{` or `"`
    Bang,
    /// `$name`
    Comdat,
    /// `^5`
    Summary,
    /// `...`
    Ellipsis,
    Equal,
    Comma,
    Star,
    Bar,
    Colon,
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Less,
    Greater,
    /// The end of the text.
    End,
    /// A character that no token starts with, or a string that does not end.
    Wrong,
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) word: Word,
    /// Whether it is the first of its line.
    pub(super) new_line: bool,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) number: u64,
}

/// Classes of bytes, as bits of [`CLASS`].
const WORD: u8 = 1;
const NAME: u8 = 2;
const DIGIT: u8 = 4;

/// What each byte may be part of: a word, a name (names may hold `-`, `$` and `.` too), a number.
static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'0'..=b'9' => WORD | NAME | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => WORD | NAME,
            b'-' | b'$' | b'.' => NAME,
            _ => 0,
        };
        byte += 1;
    }
    table
};

/// Reads tokens from a text. The text is shorter than 4 GiB.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// A lexer that starts at byte `at`.
    pub(super) fn new(text: &'a str, at: usize) -> Lexer<'a> {
        Lexer { text, at }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The byte `ahead` places on; 0 after the end.
    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn is(&self, ahead: usize, class: u8) -> bool {
        CLASS[usize::from(self.peek(ahead))] & class != 0
    }

    /// Goes on while bytes are of `class`.
    fn skip(&mut self, class: u8) {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() && CLASS[usize::from(bytes[self.at])] & class != 0 {
            self.at += 1;
        }
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Token {
        checkpoint(1);
        let new_line = self.skip_blank();
        let start = self.at;
        let mut token =
            Token { kind: Kind::End, word: Word::Unknown, new_line, start: start as u32, end: 0, number: 0 };
        if start < self.text.len() {
            self.read(&mut token);
        }
        token.end = self.at as u32;
        token
    }

    /// Passes over blanks and comments; true when a line ended there.
    fn skip_blank(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let mut new_line = self.at == 0;
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | 0 => self.at += 1,
                b'\n' => {
                    new_line = true;
                    self.at += 1;
                }
                b';' => {
                    let rest = &self.text[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => break,
            }
        }
        new_line
    }

    fn read(&mut self, token: &mut Token) {
        let first = self.peek(0);
        token.kind = match first {
            b'%' => self.sigil(token, Kind::LocalName, Kind::LocalNumber),
            b'@' => self.sigil(token, Kind::GlobalName, Kind::GlobalNumber),
            b'$' => self.dollar(token),
            b'^' => self.sigil(token, Kind::Wrong, Kind::Summary),
            b'!' => self.bang(token),
            b'#' => self.sigil(token, Kind::DebugRecord, Kind::AttributeGroup),
            b'"' => self.string(),
            b'0'..=b'9' | b'-' | b'+' => self.number(token),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(token),
            b'.' => self.dots(),
            _ => self.punctuation(first),
        };
    }

    fn punctuation(&mut self, first: u8) -> Kind {
        // Beyond ASCII a character has several bytes; spans must not cut it.
        let width = self.text[self.at..].chars().next().map_or(1, char::len_utf8);
        self.at += width;
        match first {
            b'=' => Kind::Equal,
            b',' => Kind::Comma,
            b'*' => Kind::Star,
            b'|' => Kind::Bar,
            b':' => Kind::Colon,
            b'(' => Kind::OpenParen,
            b')' => Kind::CloseParen,
            b'[' => Kind::OpenBracket,
            b']' => Kind::CloseBracket,
            b'{' => Kind::OpenBrace,
            b'}' => Kind::CloseBrace,
            b'<' => Kind::Less,
            b'>' => Kind::Greater,
            _ => Kind::Wrong,
        }
    }

    /// A name or number behind a character that says what is named.
    fn sigil(&mut self, token: &mut Token, name: Kind, number: Kind) -> Kind {
        self.at += 1;
        if self.is(0, DIGIT) {
            token.number = self.digits();
            return number;
        }
        if self.peek(0) == b'"' {
            return if self.quoted() { name } else { Kind::Wrong };
        }
        let from = self.at;
        self.skip(NAME);
        if self.at == from { Kind::Wrong } else { name }
    }

    /// A comdat, or a label that starts with `$`.
    fn dollar(&mut self, token: &mut Token) -> Kind {
        let kind = self.sigil(token, Kind::Comdat, Kind::Comdat);
        if self.peek(0) == b':' {
            self.at += 1;
            return Kind::Label;
        }
        kind
    }

    /// `!5`, `!name` (which may hold `\20` and the like), or `!` alone.
    fn bang(&mut self, token: &mut Token) -> Kind {
        self.at += 1;
        if self.is(0, DIGIT) {
            token.number = self.digits();
            return Kind::MetaNumber;
        }
        let from = self.at;
        while self.is(0, NAME) || self.peek(0) == b'\\' {
            self.at += 1;
        }
        if self.at == from { Kind::Bang } else { Kind::MetaName }
    }

    /// Goes behind the string that starts here; false when it does not end.
    fn quoted(&mut self) -> bool {
        let rest = &self.text[self.at + 1..];
        let end = rest.find('"');
        self.at += 1 + end.map_or(rest.len(), |end| end + 1);
        end.is_some()
    }

    fn string(&mut self) -> Kind {
        if !self.quoted() {
            return Kind::Wrong;
        }
        if self.peek(0) == b':' {
            self.at += 1;
            return Kind::Label;
        }
        Kind::Text
    }

    /// The value of the digits that follow, saturated.
    fn digits(&mut self) -> u64 {
        let mut value = 0u64;
        while self.is(0, DIGIT) {
            value = value.saturating_mul(10).saturating_add(u64::from(self.peek(0) - b'0'));
            self.at += 1;
        }
        value
    }

    /// A number; or a label that starts as one.
    fn number(&mut self, token: &mut Token) -> Kind {
        let start = self.at;
        if !self.is(0, DIGIT) {
            self.at += 1;
            if !self.is(0, DIGIT) {
                return if self.special_float() { Kind::SpecialFloat } else { self.label_from(start) };
            }
        }
        token.number = self.digits();
        match self.peek(0) {
            b':' => {
                self.at += 1;
                Kind::Label
            }
            b'.' => self.decimal(),
            b'x' if self.at == start + 1 && token.number == 0 => {
                self.skip(WORD);
                Kind::Hex
            }
            _ if self.is(0, NAME) => self.label_from(start),
            _ => Kind::Integer,
        }
    }

    /// Passes over what stands behind the sign of a floating-point number that is no decimal, if there is one.
    fn special_float(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let name = rest.iter().take_while(|byte| CLASS[usize::from(**byte)] & NAME != 0).count();
        let payload = match &rest[..name] {
            b"inf" | b"qnan" => 0,
            b"nan" | b"snan" => match rest[name..].iter().position(|byte| *byte == b')') {
                Some(end) if rest[name..].starts_with(b"(0x") => end + 1,
                _ => return false,
            },
            _ => return false,
        };
        let end = name + payload;
        if rest.get(end) == Some(&b':') {
            return false;
        }
        self.at += end;
        true
    }

    /// The rest of a decimal floating-point number, from its point.
    fn decimal(&mut self) -> Kind {
        self.at += 1;
        self.skip(DIGIT);
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
            if self.is(1 + sign, DIGIT) {
                self.at += 1 + sign;
                self.skip(DIGIT);
            }
        }
        Kind::Decimal
    }

    /// A label that starts at `start`, or nothing that is known.
    fn label_from(&mut self, start: usize) -> Kind {
        self.at = start + 1;
        self.skip(NAME);
        if self.peek(0) == b':' {
            self.at += 1;
            return Kind::Label;
        }
        Kind::Wrong
    }

    fn dots(&mut self) -> Kind {
        if self.peek(1) == b'.' && self.peek(2) == b'.' {
            self.at += 3;
            return Kind::Ellipsis;
        }
        self.label_from(self.at)
    }

    /// A word, the type of an integer, or a label.
    fn word(&mut self, token: &mut Token) -> Kind {
        let start = self.at;
        self.skip(WORD);
        let end = self.at;
        if self.is(0, NAME) {
            self.skip(NAME);
        }
        if self.peek(0) == b':' {
            self.at += 1;
            return Kind::Label;
        }
        self.at = end;
        let text = &self.text.as_bytes()[start..end];
        if matches!(text[0], b'i' | b'b') && text.len() > 1 && text[1..].iter().all(u8::is_ascii_digit) {
            token.number = text[1..].iter().fold(0u64, |n, b| n.saturating_mul(10).saturating_add(u64::from(b - b'0')));
            return Kind::IntType;
        }
        if text.len() > 3 && text.starts_with(b"f0x") {
            return Kind::Hex;
        }
        token.word = Word::find(&self.text.as_bytes()[start..], end - start);
        Kind::Word
    }
}
