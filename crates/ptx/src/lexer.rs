//! Tokens of PTX source text. Lexing copies nothing: a token is a kind and a
//! byte range.

use logos::{FilterResult, Lexer, Logos};

/// Why a piece of text is no token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LexError {
    /// A character that PTX does not use.
    #[default]
    Character,
    /// `/*` without `*/`.
    OpenComment,
    /// `"` without a closing `"` on the same line.
    OpenString,
}

/// The kind of a token.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(error = LexError)]
// A form feed is a space, as for ptxas; a vertical tab is none.
#[logos(skip r"[ \t\r\n\x0C]+")]
#[logos(skip r"//[^\n\x00]*")]
// Where a preprocessor was: `# 12 "file"`, `#line 12 "file"`. Without a file it is none, for ptxas neither.
#[logos(skip(r#"\#[ \t]*(line[ \t]+)?[0-9]+[ \t]+"[^"\n]*"[^\n]*"#, allow_greedy = true))]
pub(crate) enum Token {
    /// A name: `foo`, `%r1`, `$L_1`, or an opcode.
    #[regex(r"[a-zA-Z][a-zA-Z0-9_$]*")]
    #[regex(r"[%$_][a-zA-Z0-9_$]+")]
    Ident,
    /// `_`
    #[token("_")]
    Underscore,
    /// A dotted word: a directive, a modifier (`.sp::2:4` too) or a component.
    #[regex(r"\.[a-zA-Z0-9_$]+(::[a-zA-Z0-9_]+(:[0-9]+)?)*")]
    Dot,
    /// An integer or a hexadecimal floating-point constant.
    #[regex(r"[0-9][0-9a-zA-Z]*")]
    Number,
    /// A decimal floating-point constant.
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?", priority = 9)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+", priority = 9)]
    Float,
    /// A line of DWARF as nvcc wrote it before PTX 2.0.
    #[regex(r"@@DWARF[^\n\x00]*")]
    DwarfLine,
    /// A quoted string, quotes included.
    #[token("\"", string)]
    String,
    /// A block comment; never handed out.
    #[token("/*", block_comment)]
    Comment,
    /// `,`
    #[token(",")]
    Comma,
    /// `;`
    #[token(";")]
    Semicolon,
    /// `:`
    #[token(":")]
    Colon,
    /// `(`
    #[token("(")]
    LeftParen,
    /// `)`
    #[token(")")]
    RightParen,
    /// `[`
    #[token("[")]
    LeftBracket,
    /// `]`
    #[token("]")]
    RightBracket,
    /// `{`
    #[token("{")]
    LeftBrace,
    /// `}`
    #[token("}")]
    RightBrace,
    /// `@`
    #[token("@")]
    At,
    /// `=`
    #[token("=")]
    Equals,
    /// `?`
    #[token("?")]
    Question,
    /// `!`
    #[token("!")]
    Not,
    /// `~`
    #[token("~")]
    Tilde,
    /// `+`
    #[token("+")]
    Plus,
    /// `-`
    #[token("-")]
    Minus,
    /// `*`
    #[token("*")]
    Star,
    /// `/`
    #[token("/")]
    Slash,
    /// `%` that starts no name
    #[token("%")]
    Percent,
    /// `&`
    #[token("&")]
    And,
    /// `|`
    #[token("|")]
    Or,
    /// `^`
    #[token("^")]
    Xor,
    /// `&&`
    #[token("&&")]
    AndAnd,
    /// `||`
    #[token("||")]
    OrOr,
    /// `<`
    #[token("<")]
    Less,
    /// `>`
    #[token(">")]
    Greater,
    /// `<=`
    #[token("<=")]
    LessEqual,
    /// `>=`
    #[token(">=")]
    GreaterEqual,
    /// `==`
    #[token("==")]
    EqualEqual,
    /// `!=`
    #[token("!=")]
    NotEqual,
    /// `<<`
    #[token("<<")]
    ShiftLeft,
    /// `>>`
    #[token(">>")]
    ShiftRight,
    /// Text that is no token; the parser has already reported it.
    Bad,
    /// The end of the text.
    End,
}

/// Skips a block comment; without an end it is an error that takes the rest
/// of the text.
fn block_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), LexError> {
    let rest = lexer.remainder();
    match rest.find("*/") {
        // A zero byte ends the text, for ptxas in a comment too.
        Some(end) if rest[..end].contains('\0') => {
            lexer.bump(rest.find('\0').unwrap_or(end));
            FilterResult::Error(LexError::OpenComment)
        }
        Some(end) => {
            lexer.bump(end + 2);
            FilterResult::Skip
        }
        None => {
            lexer.bump(rest.len());
            FilterResult::Error(LexError::OpenComment)
        }
    }
}

/// Takes a string up to its closing quote; a backslash protects the next
/// character.
fn string(lexer: &mut Lexer<'_, Token>) -> Result<(), LexError> {
    let bytes = lexer.remainder().as_bytes();
    let mut at = 0;
    while at < bytes.len() && !matches!(bytes[at], b'\n' | 0) {
        match bytes[at] {
            b'"' => {
                lexer.bump(at + 1);
                return Ok(());
            }
            b'\\' if bytes.get(at + 1).is_some_and(|&b| b.is_ascii() && b != b'\n') => at += 2,
            _ => at += 1,
        }
    }
    lexer.bump(at);
    Err(LexError::OpenString)
}

impl Token {
    /// How messages call the token.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Token::Ident => "a name",
            Token::Underscore => "`_`",
            Token::Dot => "a directive or modifier",
            Token::Number | Token::Float => "a number",
            Token::String => "a string",
            Token::DwarfLine => "a line of DWARF",
            Token::Comment => "a comment",
            Token::Comma => "`,`",
            Token::Semicolon => "`;`",
            Token::Colon => "`:`",
            Token::LeftParen => "`(`",
            Token::RightParen => "`)`",
            Token::LeftBracket => "`[`",
            Token::RightBracket => "`]`",
            Token::LeftBrace => "`{`",
            Token::RightBrace => "`}`",
            Token::At => "`@`",
            Token::Equals => "`=`",
            Token::Less => "`<`",
            Token::Greater => "`>`",
            Token::Bad => "an unreadable character",
            Token::End => "the end of the file",
            _ => "an operator",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Result<Token, LexError>> {
        Token::lexer(text).collect()
    }

    #[test]
    fn names_numbers_and_dots() {
        use Token::*;
        assert_eq!(kinds("ld.param::entry.u64 %rd1"), [Ident, Dot, Dot, Ident].map(Ok));
        assert_eq!(kinds("5 % 3"), [Number, Percent, Number].map(Ok));
        assert_eq!(
            kinds("%v.x _ _a 0f3F800000 1e10 1.5 0x1e+5"),
            [Ident, Dot, Underscore, Ident, Number, Float, Float, Number, Plus, Number].map(Ok)
        );
        assert_eq!(kinds("/* a * / */ x // y\n;"), [Ident, Semicolon].map(Ok));
    }

    #[test]
    fn open_ends_are_errors() {
        assert_eq!(kinds("/* a"), [Err(LexError::OpenComment)]);
        assert_eq!(kinds("\"a\n;"), [Err(LexError::OpenString), Ok(Token::Semicolon)]);
        assert_eq!(kinds("\u{1}"), [Err(LexError::Character)]);
    }
}
