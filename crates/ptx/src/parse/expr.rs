//! Constant expressions, evaluated while they are read: 64-bit integers,
//! signed or unsigned by the rules of the PTX manual (section "Constant
//! Expressions"), and doubles.

use super::{Failed, Parse, Parser};
use crate::ast::{Imm, Span};
use crate::diag::Diagnostic;
use crate::lexer::Token;

/// The value of the predefined constant `WARP_SZ`.
const WARP_SZ: i64 = 32;

/// Binding strength of the loosest binary operator, `||`.
const LOOSEST: u8 = 1;
/// Binding strength of `+` and `-`.
const ADDITIVE: u8 = 9;

/// Binding strength of a binary operator; larger binds tighter.
const fn strength(token: Token) -> Option<u8> {
    Some(match token {
        Token::OrOr => LOOSEST,
        Token::AndAnd => 2,
        Token::Or => 3,
        Token::Xor => 4,
        Token::And => 5,
        Token::EqualEqual | Token::NotEqual => 6,
        Token::Less | Token::LessEqual | Token::Greater | Token::GreaterEqual => 7,
        Token::ShiftLeft | Token::ShiftRight => 8,
        Token::Plus | Token::Minus => ADDITIVE,
        Token::Star | Token::Slash | Token::Percent => 10,
        _ => return None,
    })
}

impl Parser<'_> {
    /// True if the current token can start a constant expression.
    pub(super) fn at_constant(&self) -> bool {
        match self.token {
            Token::Number
            | Token::Float
            | Token::LeftParen
            | Token::Minus
            | Token::Plus
            | Token::Tilde
            | Token::Not => true,
            Token::Ident => self.slice() == "WARP_SZ",
            Token::Dot => decimal_fraction(self.slice()),
            _ => false,
        }
    }

    /// Takes a constant expression and gives its value.
    pub(super) fn constant(&mut self) -> Parse<Imm> {
        self.nested(|p| {
            let condition = p.binary(LOOSEST)?;
            if !p.eat(Token::Question) {
                return Ok(condition);
            }
            let then = p.constant()?;
            p.expect(Token::Colon)?;
            let otherwise = p.constant()?;
            Ok(if truth(condition) { then } else { otherwise })
        })
    }

    /// Takes any number of `+ term` and `- term`: the offset after a name.
    pub(super) fn offset(&mut self) -> Parse<i64> {
        let mut total = 0i64;
        while matches!(self.token, Token::Plus | Token::Minus) {
            let minus = self.token == Token::Minus;
            self.bump();
            let start = self.span;
            let term = self.binary(ADDITIVE + 1)?;
            let Some(bits) = term.int_bits() else {
                return self.fail(Diagnostic::new(start, "an address offset must be an integer"));
            };
            let term = bits as i64;
            total = if minus { total.wrapping_sub(term) } else { total.wrapping_add(term) };
        }
        Ok(total)
    }

    /// Operators that bind at least as tight as `least`.
    fn binary(&mut self, least: u8) -> Parse<Imm> {
        let mut left = self.unary()?;
        while let Some(level) = strength(self.token).filter(|&level| level >= least) {
            let (operator, place) = (self.token, self.span);
            self.bump();
            let right = self.nested(|p| p.binary(level + 1))?;
            left = self.apply(operator, left, right, place)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parse<Imm> {
        let operator = self.token;
        if !matches!(operator, Token::Minus | Token::Plus | Token::Tilde | Token::Not) {
            return self.primary();
        }
        let place = self.span;
        self.bump();
        let value = self.nested(Self::unary)?;
        match (operator, value) {
            (Token::Plus, value) => Ok(value),
            (Token::Minus, Imm::S64(v)) => Ok(Imm::S64(v.wrapping_neg())),
            (Token::Minus, Imm::U64(v)) => Ok(Imm::U64(v.wrapping_neg())),
            (Token::Minus, Imm::F32(v)) => Ok(Imm::F32(v ^ (1 << 31))),
            (Token::Minus, Imm::F64(v)) => Ok(Imm::F64(v ^ (1 << 63))),
            (Token::Tilde, Imm::S64(v)) => Ok(Imm::S64(!v)),
            (Token::Tilde, Imm::U64(v)) => Ok(Imm::U64(!v)),
            (Token::Not, value) if value.int_bits().is_some() => Ok(Imm::S64(i64::from(!truth(value)))),
            _ => self.fail(Diagnostic::new(place, "this operator needs an integer")),
        }
    }

    /// A number, or an expression in parentheses.
    pub(super) fn primary(&mut self) -> Parse<Imm> {
        let (text, place) = (self.slice(), self.span);
        match self.token {
            Token::Number => {
                self.bump();
                match number(text) {
                    Ok(value) => Ok(value),
                    Err(reason) => self.fail(Diagnostic::new(place, format!("`{}` {reason}", super::shorten(text)))),
                }
            }
            Token::Float => {
                self.bump();
                self.decimal(text, place)
            }
            Token::Dot if decimal_fraction(text) => {
                self.bump();
                self.decimal(text, place)
            }
            Token::LeftParen => {
                self.bump();
                self.parenthesised()
            }
            Token::Ident if text == "WARP_SZ" => {
                self.bump();
                Ok(Imm::S64(WARP_SZ))
            }
            _ => Err(self.unexpected("a constant")),
        }
    }

    fn decimal(&mut self, text: &str, place: Span) -> Parse<Imm> {
        match text.parse::<f64>() {
            Ok(value) if value.is_infinite() => {
                self.fail(Diagnostic::new(place, format!("`{}` is too large", super::shorten(text))))
            }
            Ok(value) => Ok(Imm::F64(value.to_bits())),
            Err(_) => self.fail(Diagnostic::new(place, "not a floating-point constant")),
        }
    }

    /// What follows `(`: a cast `(.s64) value` or an expression in parentheses.
    fn parenthesised(&mut self) -> Parse<Imm> {
        let unsigned = self.at_word(".u64");
        if unsigned || self.at_word(".s64") {
            let place = self.span;
            self.bump();
            self.expect(Token::RightParen)?;
            let value = self.nested(Self::unary)?;
            return match value.int_bits() {
                Some(bits) if unsigned => Ok(Imm::U64(bits)),
                Some(bits) => Ok(Imm::S64(bits as i64)),
                None => self.fail(Diagnostic::new(place, "only integers can be cast")),
            };
        }
        let value = self.constant()?;
        self.expect(Token::RightParen)?;
        Ok(value)
    }

    fn apply(&mut self, operator: Token, left: Imm, right: Imm, place: Span) -> Parse<Imm> {
        let (Some(a), Some(b)) = (left.int_bits(), right.int_bits()) else {
            return self.apply_float(operator, left, right, place);
        };
        let signed = matches!((left, right), (Imm::S64(_), Imm::S64(_)));
        let (x, y) = (a as i64, b as i64);
        let same = |bits: u64| if signed { Imm::S64(bits as i64) } else { Imm::U64(bits) };
        let flag = |value: bool| Ok(Imm::S64(i64::from(value)));
        let less = if signed { x < y } else { a < b };
        match operator {
            Token::OrOr => flag(a != 0 || b != 0),
            Token::AndAnd => flag(a != 0 && b != 0),
            Token::Or => Ok(same(a | b)),
            Token::Xor => Ok(same(a ^ b)),
            Token::And => Ok(same(a & b)),
            Token::EqualEqual => flag(a == b),
            Token::NotEqual => flag(a != b),
            Token::Less => flag(less),
            Token::GreaterEqual => flag(!less),
            Token::LessEqual => flag(less || a == b),
            Token::Greater => flag(!less && a != b),
            Token::ShiftLeft => Ok(shift(left, b, |v, n| v << n, |v, n| v << n)),
            Token::ShiftRight => Ok(shift(left, b, |v, n| v >> n, |v, n| v >> n)),
            Token::Plus => Ok(same(a.wrapping_add(b))),
            Token::Minus => Ok(same(a.wrapping_sub(b))),
            Token::Star => Ok(same(a.wrapping_mul(b))),
            Token::Slash | Token::Percent if b == 0 => {
                self.fail(Diagnostic::new(place, "division by zero in a constant expression"))
            }
            Token::Slash if signed => Ok(Imm::S64(x.wrapping_div(y))),
            Token::Slash => Ok(Imm::U64(a / b)),
            // As in ptxas, remainders are those of the unsigned values: -7 % 3 is 0.
            Token::Percent => Ok(same(a % b)),
            _ => Err(Failed),
        }
    }

    fn apply_float(&mut self, operator: Token, left: Imm, right: Imm, place: Span) -> Parse<Imm> {
        let (x, y) = (left.to_f64(), right.to_f64());
        let number = |value: f64| Ok(Imm::F64(value.to_bits()));
        let flag = |value: bool| Ok(Imm::S64(i64::from(value)));
        match operator {
            Token::Plus => number(x + y),
            Token::Minus => number(x - y),
            Token::Star => number(x * y),
            Token::Slash => number(x / y),
            Token::Less => flag(x < y),
            Token::LessEqual => flag(x <= y),
            Token::Greater => flag(x > y),
            Token::GreaterEqual => flag(x >= y),
            Token::EqualEqual => flag(x == y),
            Token::NotEqual => flag(x != y),
            _ => self.fail(Diagnostic::new(place, "this operator needs integers")),
        }
    }
}

/// Shifts by `count` bits, of which the lowest six count, as in ptxas; the result has the type of the left side.
fn shift(left: Imm, count: u64, signed: impl Fn(i64, u32) -> i64, unsigned: impl Fn(u64, u32) -> u64) -> Imm {
    let by = (count & 63) as u32;
    match left {
        Imm::U64(v) => Imm::U64(unsigned(v, by)),
        other => Imm::S64(signed(other.int_bits().unwrap_or(0) as i64, by)),
    }
}

/// Whether a condition holds.
fn truth(value: Imm) -> bool {
    match value.int_bits() {
        Some(bits) => bits != 0,
        None => value.to_f64() != 0.0,
    }
}

/// `.5` and the like: a decimal constant that lexes as a dotted word.
fn decimal_fraction(text: &str) -> bool {
    text.len() > 1 && text[1..].bytes().all(|b| b.is_ascii_digit())
}

/// Reads a number without a decimal point.
fn number(text: &str) -> Result<Imm, &'static str> {
    let bytes = text.as_bytes();
    match (bytes[0], bytes.get(1)) {
        (b'0', Some(b'f' | b'F')) => hex_float(&text[2..], 8).map(|bits| Imm::F32(bits as u32)),
        (b'0', Some(b'd' | b'D')) => hex_float(&text[2..], 16).map(Imm::F64),
        (b'0', Some(b'x' | b'X')) => integer(&text[2..], 16),
        (b'0', Some(b'b' | b'B')) => integer(&text[2..], 2),
        (b'0', Some(b'0'..=b'9')) => integer(&text[1..], 8),
        _ => integer(text, 10),
    }
}

fn hex_float(digits: &str, count: usize) -> Result<u64, &'static str> {
    if digits.len() != count {
        return Err("has the wrong number of digits: `0f` takes 8 and `0d` takes 16");
    }
    u64::from_str_radix(digits, 16).map_err(|_| "is not a hexadecimal number")
}

fn integer(digits: &str, radix: u32) -> Result<Imm, &'static str> {
    let (digits, unsigned) = match digits.strip_suffix(['U', 'u']) {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err("is not a number");
    }
    let value = u64::from_str_radix(digits, radix).map_err(|_| "does not fit in 64 bits")?;
    Ok(match i64::try_from(value) {
        Ok(value) if !unsigned => Imm::S64(value),
        _ => Imm::U64(value),
    })
}
