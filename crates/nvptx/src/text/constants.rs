//! Constants.

use crate::ir::{BinaryOp, CastOp, ConstExpr, ConstId, Constant, FloatPredicate, GepFlags, IntPredicate, Type, TypeId};

use super::floats::FloatFormat;
use super::lexer::{Kind, Token};
use super::parser::{Parsed, Parser, error, span, unescape, with_help};
use super::words::Word;
use crate::wide;

impl<'a> Parser<'a> {
    /// A type and a constant of it.
    pub(super) fn typed_constant(&mut self) -> Parsed<ConstId> {
        let ty = self.ty()?;
        self.constant(ty)
    }

    /// A constant of type `ty`.
    pub(super) fn constant(&mut self, ty: TypeId) -> Parsed<ConstId> {
        match self.token.kind {
            Kind::Integer => self.integer_constant(ty),
            Kind::Word => self.word_constant(ty),
            Kind::Decimal => self.decimal(ty),
            Kind::Hex => self.hex(ty),
            Kind::SpecialFloat => self.special_float(ty),
            Kind::GlobalName | Kind::GlobalNumber => self.symbol_constant(ty),
            Kind::OpenBracket => self.array(ty),
            Kind::OpenBrace => self.structure(ty),
            Kind::Less => self.vector(ty),
            Kind::Bang | Kind::MetaName | Kind::MetaNumber if ty == TypeId::METADATA => self.metadata_constant(),
            Kind::LocalName | Kind::LocalNumber => Err(self.error("a local value cannot stand in a constant")),
            _ => Err(self.expected("a value")),
        }
    }

    pub(super) fn intern(&mut self, constant: Constant) -> ConstId {
        self.module.constants.intern(constant)
    }

    /// The error that a constant cannot be of type `ty`.
    fn mismatch(&self, token: Token, what: &str, ty: TypeId) -> Box<oriole_ptx::diag::Diagnostic> {
        error(span(token), format!("{what} cannot be of type `{}`", self.module.types.text(ty)))
    }

    fn integer_constant(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let Some(bits) = self.module.types.int_bits(ty) else {
            return Err(self.mismatch(self.token, "an integer", ty));
        };
        if bits > 128 {
            return self.wide_integer_constant(ty, bits);
        }
        let value = self.integer(bits)?;
        Ok(self.module.constants.int(ty, bits, value))
    }

    /// An integer of more than 128 bits.
    fn wide_integer_constant(&mut self, ty: TypeId, bits: u32) -> Parsed<ConstId> {
        let token = if self.at(Kind::Word) { self.bump() } else { self.expect(Kind::Integer)? };
        let text = self.text(token);
        let (digits, radix) = match text.strip_prefix("u0x").or_else(|| text.strip_prefix("s0x")) {
            Some(digits) => (digits, 16),
            None => (text.trim_start_matches(['-', '+']), 10),
        };
        let words = words(digits, radix).ok_or_else(|| error(span(token), "expected an integer"))?;
        let used = words.iter().rposition(|&word| word != 0).map_or(0, |at| at as u32 * 64 + words[at].ilog2() + 1);
        // As LLVM does, both -1 and the greatest number without a sign are taken; the least has one bit.
        let set: u32 = words.iter().map(|word| word.count_ones()).sum();
        if used > bits || text.starts_with('-') && used == bits && set > 1 {
            return Err(error(span(token), format!("the number does not fit into {bits} bits")));
        }
        let sign_at = if radix == 16 { digits.len() as u32 * 4 } else { bits };
        let fills = text.starts_with('s') && used == sign_at;
        let mut words = words;
        words.resize(bits.div_ceil(64) as usize, 0);
        if fills {
            for (at, word) in words.iter_mut().enumerate() {
                let first = (at as u32 * 64).max(sign_at) - at as u32 * 64;
                *word |= u64::MAX.checked_shl(first).unwrap_or(0);
            }
        }
        if text.starts_with('-') {
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(u64::from(carry));
            }
        }
        Ok(wide::from_words(&mut self.module, ty, bits, &words, false))
    }

    /// An integer of `bits` bits, zero-extended.
    pub(super) fn integer(&mut self, bits: u32) -> Parsed<u128> {
        if bits > 128 {
            return Err(self.error("constants of more than 128 bits are not supported"));
        }
        if self.at_word(Word::True) || self.at_word(Word::False) {
            return Ok(u128::from(self.bump().word == Word::True));
        }
        if self.at(Kind::Word) {
            return self.hex_integer(bits);
        }
        let token = self.expect(Kind::Integer)?;
        let text = self.text(token);
        let negative = text.starts_with('-');
        let digits = text.trim_start_matches(['-', '+']);
        let magnitude = match token.number {
            u64::MAX => digits.parse::<u128>().ok(),
            small => Some(u128::from(small)),
        };
        // As LLVM does, both -1 and 4294967295 are taken for 32 bits.
        let limit = if negative { 1u128 << (bits - 1) } else { mask(bits) };
        match magnitude.filter(|&magnitude| magnitude <= limit) {
            Some(magnitude) if negative => Ok(magnitude.wrapping_neg() & mask(bits)),
            Some(magnitude) => Ok(magnitude),
            None => Err(error(span(token), format!("the number does not fit into {bits} bits"))),
        }
    }

    /// The value of a case of a `switch`, which is held in 128 bits.
    pub(super) fn case(&mut self, ty: TypeId, bits: u32) -> Parsed<u128> {
        if bits <= 128 {
            return self.integer(bits);
        }
        let token = self.token;
        let id = self.wide_integer_constant(ty, bits)?;
        let too_wide = || error(span(token), "cases of more than 128 bits are not supported");
        self.module.constants.as_int(id).ok_or_else(too_wide)
    }

    /// `u0xFF`, `s0xFF`
    fn hex_integer(&mut self, bits: u32) -> Parsed<u128> {
        let text = self.text(self.token);
        let signed = text.starts_with('s');
        let digits = text.strip_prefix("u0x").or_else(|| text.strip_prefix("s0x"));
        let Some(digits) = digits.filter(|digits| !digits.is_empty()) else {
            return Err(self.expected("an integer"));
        };
        let value = u128::from_str_radix(digits, 16).map_err(|_| self.error("this is not a number of 128 bits"))?;
        let width = (digits.len() as u32 * 4).min(128);
        let token = self.bump();
        if signed && value >> (width - 1) & 1 == 1 {
            return Ok((value | !mask(width)) & mask(bits));
        }
        match value & !mask(bits) {
            0 => Ok(value),
            _ => Err(error(span(token), format!("the number does not fit into {bits} bits"))),
        }
    }

    /// A decimal floating-point number, rounded to nearest. LLVM before 23 asks that it is exact.
    fn decimal(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let token = self.bump();
        match self.format(token, ty)?.of_decimal(self.text(token)) {
            Some(bits) => Ok(self.intern(Constant::Float(ty, bits))),
            None => Err(error(span(token), format!("this is not a number of `{}`", self.module.types.text(ty)))),
        }
    }

    /// `+inf`, `-qnan`, `+nan(0x1)`, `-snan(0x1)`
    fn special_float(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let token = self.bump();
        match self.format(token, ty)?.of_special(self.text(token)) {
            Some(bits) => Ok(self.intern(Constant::Float(ty, bits))),
            None => Err(error(span(token), format!("`{}` has no such NaN", self.module.types.text(ty)))),
        }
    }

    /// `0x3FF0000000000000`, `0xH3C00`, `0xR3F80`, and `f0x3F800000` with the bits of the type itself
    fn hex(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let token = self.bump();
        let text = self.text(token);
        if let Some(b'K' | b'L' | b'M') = text.as_bytes().get(2) {
            return Err(error(span(token), "constants of 80 and 128 bits of floating point are not supported"));
        }
        let format = self.format(token, ty)?;
        let bits = |digits: &str| {
            u64::from_str_radix(digits, 16).map_err(|_| error(span(token), "this is not a number of 64 bits"))
        };
        let narrow = |only: bool, digits: &str, width: u32| match bits(digits)? {
            bits if only && u128::from(bits) <= mask(width) => Ok(bits),
            _ if only => Err(error(span(token), format!("the number does not fit into {width} bits"))),
            _ => Err(self.mismatch(token, &format!("`{text}`"), ty)),
        };
        let bits = match (text.as_bytes()[0], text.as_bytes().get(2)) {
            (b'f', _) => narrow(true, &text[3..], format.bits())?,
            (_, Some(b'H')) => narrow(ty == TypeId::HALF, &text[3..], 16)?,
            (_, Some(b'R')) => narrow(ty == TypeId::BFLOAT, &text[3..], 16)?,
            _ => {
                let wide = bits(&text[2..])?;
                format.of_double(wide).ok_or_else(|| {
                    let message = format!("the number is not exact in `{}`", self.module.types.text(ty));
                    with_help(error(span(token), message), "write the bits of the nearest `double`: `0x…`")
                })?
            }
        };
        Ok(self.intern(Constant::Float(ty, bits)))
    }

    /// The format of a floating-point type.
    fn format(&self, token: Token, ty: TypeId) -> Parsed<FloatFormat> {
        FloatFormat::of(ty).ok_or_else(|| self.mismatch(token, "a floating-point number", ty))
    }

    fn symbol_constant(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let token = self.token;
        let symbol = self.symbol()?;
        match self.module.types[ty] {
            Type::Pointer(_) => Ok(self.intern(Constant::Symbol(ty, symbol))),
            _ => Err(self.mismatch(token, "a symbol", ty)),
        }
    }

    /// Constants that start with a word.
    fn word_constant(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let token = self.token;
        let simple = match token.word {
            Word::True | Word::False => {
                if ty != TypeId::I1 {
                    return Err(self.mismatch(token, "`true` and `false`", ty));
                }
                Constant::Int(ty, u128::from(token.word == Word::True))
            }
            Word::Null => match self.module.types[ty] {
                Type::Pointer(_) => Constant::Null(ty),
                _ => return Err(self.mismatch(token, "`null`", ty)),
            },
            Word::None if ty == TypeId::TOKEN => Constant::TokenNone,
            Word::Undef | Word::Poison | Word::ZeroInitializer => {
                if matches!(self.module.types[ty], Type::Void | Type::Label | Type::Metadata | Type::Opaque(_)) {
                    return Err(self.mismatch(token, &format!("`{}`", token.word.as_str()), ty));
                }
                match token.word {
                    Word::Undef => Constant::Undef(ty),
                    Word::Poison => Constant::Poison(ty),
                    _ => self.zero(token, ty)?,
                }
            }
            _ => return self.nested(|p| p.compound_constant(ty)),
        };
        self.bump();
        Ok(self.intern(simple))
    }

    /// `zeroinitializer`, which LLVM takes for every type.
    fn zero(&self, token: Token, ty: TypeId) -> Parsed<Constant> {
        Ok(match self.module.types[ty] {
            Type::Int(..=128) => Constant::Int(ty, 0),
            Type::Half | Type::BFloat | Type::Float | Type::Double => Constant::Float(ty, 0),
            Type::Pointer(_) => Constant::Null(ty),
            Type::Vector(..) | Type::Array(..) | Type::Struct { .. } => Constant::Zero(ty),
            _ => return Err(self.mismatch(token, "`zeroinitializer`", ty)),
        })
    }

    /// Strings, addresses of blocks, `splat`, and constant expressions.
    fn compound_constant(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let start = self.token;
        let found = match start.word {
            Word::C => return self.bytes(ty),
            Word::Unknown if self.text(start).starts_with(['u', 's']) => return self.integer_constant(ty),
            Word::Asm => return Err(self.error("inline assembly can only be called")),
            Word::PtrAuth => return Err(self.error("signed pointers are not supported: no GPU has them")),
            Word::BlockAddress => self.block_address(ty)?,
            Word::Splat => self.splat(ty)?,
            Word::DsoLocalEquivalent | Word::NoCfi => {
                self.bump();
                return self.symbol_constant(ty);
            }
            _ => self.expression()?,
        };
        if self.module.constants.ty(found) == ty {
            return Ok(found);
        }
        let types = &self.module.types;
        let (is, wanted) = (types.text(self.module.constants.ty(found)), types.text(ty));
        Err(error(self.span_from(start), format!("the constant has type `{is}`, not `{wanted}`")))
    }

    /// `c"…"`
    fn bytes(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let start = self.bump();
        let token = self.expect(Kind::Text)?;
        let text = self.text(token);
        let bytes = unescape(&text[1..text.len() - 1]);
        match self.module.types[ty] {
            Type::Array(TypeId::I8, len) if len == bytes.len() as u64 => {
                Ok(self.intern(Constant::Bytes(ty, bytes.into())))
            }
            _ => Err(self.mismatch(start, &format!("a string of {} bytes", bytes.len()), ty)),
        }
    }

    /// `splat (i32 5)`
    fn splat(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let token = self.bump();
        self.expect(Kind::OpenParen)?;
        let item = self.typed_constant()?;
        self.expect(Kind::CloseParen)?;
        match self.module.types[ty] {
            Type::Vector(element, len) if element == self.module.constants.ty(item) => {
                self.aggregate(ty, vec![item; len as usize])
            }
            _ => Err(self.mismatch(token, "this `splat`", ty)),
        }
    }

    /// `[i32 1, i32 2]`
    fn array(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let start = self.bump();
        let items = self.nested(|p| p.list(Kind::CloseBracket, Parser::typed_constant))?;
        match self.module.types[ty] {
            Type::Array(..) => self.elements(start, ty, items),
            _ => Err(self.mismatch(start, "an array", ty)),
        }
    }

    /// `{ i32 1, float 2.0 }`
    fn structure(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let start = self.bump();
        let items = self.nested(|p| p.list(Kind::CloseBrace, Parser::typed_constant))?;
        match self.module.types[ty] {
            Type::Struct { packed: false, .. } => self.elements(start, ty, items),
            _ => Err(self.mismatch(start, "a structure", ty)),
        }
    }

    /// `<i32 1, i32 2>` or `<{ i8 1, i32 2 }>`
    fn vector(&mut self, ty: TypeId) -> Parsed<ConstId> {
        let start = self.bump();
        if self.eat(Kind::OpenBrace) {
            let items = self.nested(|p| p.list(Kind::CloseBrace, Parser::typed_constant))?;
            self.expect(Kind::Greater)?;
            return match self.module.types[ty] {
                Type::Struct { packed: true, .. } => self.elements(start, ty, items),
                _ => Err(self.mismatch(start, "a packed structure", ty)),
            };
        }
        let items = self.nested(|p| p.list(Kind::Greater, Parser::typed_constant))?;
        match self.module.types[ty] {
            Type::Vector(..) => self.elements(start, ty, items),
            _ => Err(self.mismatch(start, "a vector", ty)),
        }
    }

    /// An aggregate whose elements are looked at for number and type.
    fn elements(&mut self, start: Token, ty: TypeId, items: Vec<ConstId>) -> Parsed<ConstId> {
        let wanted = self.module.types.element_count(ty);
        if items.len() as u64 != wanted {
            let message = format!("`{}` has {wanted} elements, not {}", self.module.types.text(ty), items.len());
            return Err(error(self.span_from(start), message));
        }
        for (at, &item) in items.iter().enumerate() {
            let is = self.module.constants.ty(item);
            let wanted = self.module.types.element(ty, at as u64).unwrap_or(is);
            if is != wanted {
                let (is, wanted) = (self.module.types.text(is), self.module.types.text(wanted));
                let message = format!("element {at} has type `{is}`, not `{wanted}`");
                return Err(error(self.span_from(start), message));
            }
        }
        self.aggregate(ty, items)
    }

    /// An aggregate in its shortest form: all of one kind of nothing is that of the whole.
    pub(super) fn aggregate(&mut self, ty: TypeId, items: Vec<ConstId>) -> Parsed<ConstId> {
        let all = |test: fn(&Constant) -> bool| items.iter().all(|&item| test(&self.module.constants[item]));
        let whole = if all(|item| {
            matches!(item, Constant::Int(_, 0) | Constant::Float(_, 0) | Constant::Null(_) | Constant::Zero(_))
        }) {
            Constant::Zero(ty)
        } else if all(|item| matches!(item, Constant::Poison(_))) {
            Constant::Poison(ty)
        } else if all(|item| matches!(item, Constant::Undef(_))) {
            Constant::Undef(ty)
        } else {
            Constant::Aggregate(ty, items.into())
        };
        Ok(self.intern(whole))
    }

    /// `blockaddress(@f, %b)`
    fn block_address(&mut self, ty: TypeId) -> Parsed<ConstId> {
        self.bump();
        self.expect(Kind::OpenParen)?;
        let function = self.symbol()?;
        self.expect(Kind::Comma)?;
        let token = self.token;
        if !self.at(Kind::LocalName) && !self.at(Kind::LocalNumber) {
            return Err(self.expected("a block"));
        }
        self.bump();
        self.expect(Kind::CloseParen)?;
        let key = self.local_key(token)?;
        let block = self.addressed_block(function, key, span(token))?;
        Ok(self.intern(Constant::BlockAddress(ty, function, block)))
    }

    /// A constant expression.
    pub(super) fn expression(&mut self) -> Parsed<ConstId> {
        let start = self.token;
        if let Some(op) = start.word.among(Word::Add, BinaryOp::ALL) {
            self.bump();
            while matches!(self.token.word, Word::Nuw | Word::Nsw | Word::Exact | Word::Disjoint) {
                self.bump();
            }
            let [a, b] = self.operands(start)?;
            return self.fold_binary(self.span_from(start), op, a, b);
        }
        if let Some(op) = cast_op(start.word) {
            self.bump();
            while matches!(self.token.word, Word::Nuw | Word::Nsw | Word::NNeg) {
                self.bump();
            }
            self.expect(Kind::OpenParen)?;
            let value = self.typed_constant()?;
            self.expect_word(Word::To)?;
            let ty = self.ty()?;
            self.expect(Kind::CloseParen)?;
            return self.fold_cast(self.span_from(start), op, value, ty);
        }
        self.bump();
        match start.word {
            Word::GetElementPtr => self.gep_expression(start),
            Word::ICmp => {
                let predicate = self.named_member(IntPredicate::from_name, "a predicate of `icmp`")?;
                let [a, b] = self.operands(start)?;
                self.fold_icmp(self.span_from(start), predicate, a, b)
            }
            Word::FCmp => {
                let predicate = self.named_member(FloatPredicate::from_name, "a predicate of `fcmp`")?;
                let [a, b] = self.operands(start)?;
                self.fold_fcmp(self.span_from(start), predicate, a, b)
            }
            Word::Select => {
                let args = self.operands(start)?;
                self.fold_select(self.span_from(start), args)
            }
            Word::FNeg => {
                let [value] = self.operands(start)?;
                self.fold_fneg(self.span_from(start), value)
            }
            Word::ExtractElement => {
                let [vector, index] = self.operands(start)?;
                self.fold_extract_element(self.span_from(start), vector, index)
            }
            Word::InsertElement => {
                let args = self.operands(start)?;
                self.fold_insert_element(self.span_from(start), args)
            }
            Word::ShuffleVector => {
                let args = self.operands(start)?;
                self.fold_shuffle(self.span_from(start), args)
            }
            Word::ExtractValue => self.extract_value_expression(start),
            Word::InsertValue => self.insert_value_expression(start),
            _ => Err(error(span(start), format!("expected a value, found `{}`", self.text(start)))),
        }
    }

    /// `(i32 1, i32 2)`: `N` typed constants.
    fn operands<const N: usize>(&mut self, start: Token) -> Parsed<[ConstId; N]> {
        self.expect(Kind::OpenParen)?;
        let items = self.list(Kind::CloseParen, Parser::typed_constant)?;
        let message = || error(self.span_from(start), format!("the expression has {N} operands"));
        items.try_into().map_err(|_| message())
    }

    /// A word of an enum of the IR.
    pub(super) fn named_member<T>(&mut self, find: fn(&str) -> Option<T>, what: &str) -> Parsed<T> {
        let member = if self.at(Kind::Word) { find(self.text(self.token)) } else { None };
        match member {
            Some(member) => {
                self.bump();
                Ok(member)
            }
            None => Err(self.expected(what)),
        }
    }

    /// Flags behind `getelementptr`.
    pub(super) fn gep_flags(&mut self) -> Parsed<GepFlags> {
        let mut flags = GepFlags::empty();
        loop {
            match self.token.word {
                Word::InBounds => flags |= GepFlags::INBOUNDS,
                Word::Nusw => flags |= GepFlags::NUSW,
                Word::Nuw => flags |= GepFlags::NUW,
                Word::InRange => {
                    self.bump();
                    self.skip_brackets()?;
                    continue;
                }
                // `inbounds` says `nusw` too.
                _ if flags.contains(GepFlags::INBOUNDS) => return Ok(flags - GepFlags::NUSW),
                _ => return Ok(flags),
            }
            self.bump();
        }
    }

    /// `getelementptr inbounds (T, ptr @x, i64 0, i64 1)`
    fn gep_expression(&mut self, start: Token) -> Parsed<ConstId> {
        let flags = self.gep_flags()?;
        self.expect(Kind::OpenParen)?;
        let source = self.ty()?;
        self.expect(Kind::Comma)?;
        let base = self.typed_constant()?;
        let mut indices = Vec::new();
        while self.eat(Kind::Comma) {
            // Before version 19, `inrange` stood at an index.
            self.eat_word(Word::InRange);
            indices.push(self.typed_constant()?);
        }
        self.expect(Kind::CloseParen)?;
        let operand_types = std::iter::once(base).chain(indices.iter().copied());
        let operand_types: Vec<TypeId> = operand_types.map(|id| self.module.constants.ty(id)).collect();
        let ty = self.gep_type(self.span_from(start), source, &operand_types)?;
        let expr = ConstExpr::Gep { source, flags, base, indices: indices.into() };
        Ok(self.intern(Constant::Expr(ty, Box::new(expr))))
    }

    /// `(T %aggregate, 0, 1)` of constants, `extractvalue`
    fn extract_value_expression(&mut self, start: Token) -> Parsed<ConstId> {
        self.expect(Kind::OpenParen)?;
        let whole = self.typed_constant()?;
        let path = self.constant_path()?;
        self.fold_extract_value(self.span_from(start), whole, &path)
    }

    fn insert_value_expression(&mut self, start: Token) -> Parsed<ConstId> {
        self.expect(Kind::OpenParen)?;
        let whole = self.typed_constant()?;
        self.expect(Kind::Comma)?;
        let part = self.typed_constant()?;
        let path = self.constant_path()?;
        self.fold_insert_value(self.span_from(start), whole, part, &path)
    }

    /// `, 0, 1)`
    fn constant_path(&mut self) -> Parsed<Vec<u32>> {
        let mut path = Vec::new();
        while self.eat(Kind::Comma) {
            path.push(self.small()?);
        }
        self.expect(Kind::CloseParen)?;
        Ok(path)
    }
}

/// The conversion that a word names; `ptrtoaddr` differs from `ptrtoint` in nothing that GPUs have.
pub(super) fn cast_op(word: Word) -> Option<CastOp> {
    match word {
        Word::PtrToAddr => Some(CastOp::PtrToInt),
        _ => word.among(Word::Trunc, CastOp::ALL),
    }
}

/// The lowest `bits` bits.
pub(super) fn mask(bits: u32) -> u128 {
    if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
}

/// The value of digits, in words of 64 bits, the lowest first.
fn words(digits: &str, radix: u32) -> Option<Vec<u64>> {
    let mut words: Vec<u64> = Vec::new();
    for digit in digits.chars() {
        let mut carry = u128::from(digit.to_digit(radix)?);
        for word in &mut words {
            let sum = u128::from(*word) * u128::from(radix) + carry;
            (*word, carry) = (sum as u64, sum >> 64);
        }
        if carry != 0 {
            words.push(carry as u64);
        }
    }
    (!digits.is_empty()).then_some(words)
}
