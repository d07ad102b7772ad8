//! A cursor over the text of one instruction.

/// Remaining text; copies are cheap, so that the parser can go back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a> {
    text: &'a str,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Scan { text }
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.text
    }

    pub(crate) fn skip_space(&mut self) {
        self.text = self.text.trim_start();
    }

    /// Take literal text; a space in it stands for any number of spaces.
    pub(crate) fn literal(&mut self, literal: &str) -> bool {
        let mut scan = *self;
        for c in literal.chars() {
            scan.skip_space();
            if c == ' ' {
                continue;
            }
            match scan.text.strip_prefix(c) {
                Some(rest) => scan.text = rest,
                None => return false,
            }
        }
        *self = scan;
        true
    }

    /// Take exactly this, with nothing of a word after it.
    pub(crate) fn word_is(&mut self, word: &str) -> bool {
        match self.text.strip_prefix(word) {
            Some(rest) if !rest.starts_with(is_word) => {
                self.text = rest;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn take(&mut self, c: char) -> bool {
        match self.text.strip_prefix(c) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }

    /// Take characters while `keep` holds.
    pub(crate) fn while_in(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.text.find(|c| !keep(c)).unwrap_or(self.text.len());
        let (word, rest) = self.text.split_at(end);
        self.text = rest;
        word
    }

    /// A decimal number right after a prefix such as `R`.
    pub(crate) fn numbered(&mut self, prefix: &str) -> Option<u16> {
        let rest = self.text.strip_prefix(prefix)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse().ok()?;
        if rest[end..].starts_with(is_word) {
            return None;
        }
        self.text = &rest[end..];
        Some(number)
    }

    /// `0x…` or a decimal number, perhaps negative.
    pub(crate) fn integer(&mut self) -> Option<i64> {
        let mut scan = *self;
        let negative = scan.take('-');
        let magnitude = match scan.text.strip_prefix("0x") {
            Some(rest) => {
                scan.text = rest;
                u64::from_str_radix(scan.while_in(|c| c.is_ascii_hexdigit()), 16).ok()?
            }
            None => scan.while_in(|c| c.is_ascii_digit()).parse().ok()?,
        };
        if scan.text.starts_with(is_word) {
            return None;
        }
        *self = scan;
        let value = magnitude as i64;
        Some(if negative { value.wrapping_neg() } else { value })
    }

    /// A float as printed: digits with exponent, or a sign and a name.
    pub(crate) fn float(&mut self) -> &'a str {
        let text = self.text;
        let mut previous = ' ';
        let end = text
            .char_indices()
            .find(|(at, c)| {
                let sign = (*c == '-' || *c == '+') && (*at == 0 || previous == 'e');
                // `2.NEG` is a number and a flag.
                let point = *c == '.' && !text[at + 1..].starts_with(|c: char| c.is_ascii_uppercase());
                let stop = !(sign || c.is_ascii_alphanumeric() || point);
                previous = *c;
                stop
            })
            .map_or(text.len(), |(at, _)| at);
        self.text = &text[end..];
        &text[..end]
    }
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
