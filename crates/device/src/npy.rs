//! The header of NumPy's `.npy` files, as NumPy's format description has it (versions 1.0 to 3.0): a magic, the
//! version, a length, and a Python dictionary of three entries.
//!
//! Read here and not by a library: `npyz` parses any Python literal, with a call for each bracket and unchecked
//! products, and brings sixteen crates and a C compiler for it.

use std::fmt::Display;

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Bytes of the longest header that is read; NumPy's own are 128 for plain arrays.
const LONGEST: usize = 1 << 12;
/// What the elements' place in the file is a multiple of, in bytes.
const ALIGNMENT: usize = 64;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Byte order and type of the elements, such as `<f4`.
    pub(crate) descr: String,
    /// The first index runs fastest.
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
}

impl Header {
    /// The header of a file, and what follows it.
    pub(crate) fn read(file: &[u8]) -> Result<(Header, &[u8]), String> {
        let too_short = || "it is too short".to_owned();
        let rest = file.strip_prefix(MAGIC).ok_or("it does not begin as one")?;
        let (version, rest) = rest.split_at_checked(2).ok_or_else(too_short)?;
        let digits = match version[0] {
            1 => 2,
            2 | 3 => 4,
            other => return Err(format!("version {other} of the format is not known")),
        };
        let (length, rest) = rest.split_at_checked(digits).ok_or_else(too_short)?;
        let length = length.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if length > LONGEST {
            return Err("its header is too long".to_owned());
        }
        let (header, elements) = rest.split_at_checked(length).ok_or_else(too_short)?;
        let header = str::from_utf8(header).map_err(|error| format!("its header is no text: {error}"))?;
        Ok((Literal { rest: header }.header()?, elements))
    }

    /// The bytes of the header, in version 1.0.
    pub(crate) fn write(&self) -> Vec<u8> {
        let order = if self.fortran_order { "True" } else { "False" };
        let dims: String = self.shape.iter().map(|dim| format!("{dim}, ")).collect();
        // One dimension needs its comma, several have one between each two.
        let dims = if self.shape.len() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
        let text = format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': ({dims}), }}", self.descr);
        // Magic, version, length and the line's end besides the text.
        let length = (MAGIC.len() + 4 + text.len() + 1).next_multiple_of(ALIGNMENT) - MAGIC.len() - 4;
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((length as u16).to_le_bytes());
        file.extend(format!("{text:<width$}\n", width = length - 1).into_bytes());
        file
    }
}

/// A Python literal, as far as it has not been read.
struct Literal<'a> {
    rest: &'a str,
}

impl<'a> Literal<'a> {
    /// The dictionary.
    fn header(mut self) -> Result<Header, String> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.takes('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => descr = Some(self.string()?.to_owned()),
                "fortran_order" => fortran_order = Some(self.truth()?),
                "shape" => shape = Some(self.numbers()?),
                _ => return Err(format!("its header has an entry '{key}'")),
            }
            if !self.takes(',') {
                self.expect('}')?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(self.unexpected("the header's end"));
        }
        let missing = |entry: &str| format!("its header has no entry '{entry}'");
        Ok(Header {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// Whether the next character is this one, which is then read.
    fn takes(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.strip_prefix(wanted).map(|rest| self.rest = rest).is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.takes(wanted) { Ok(()) } else { Err(self.unexpected(wanted)) }
    }

    fn unexpected(&self, wanted: impl Display) -> String {
        let found: String = self.rest.chars().take(8).collect();
        format!("its header has `{found}` where {wanted} is expected")
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.takes('\'') { '\'' } else { '"' };
        if quote == '"' && !self.takes('"') {
            return Err(self.unexpected("a string"));
        }
        let (text, rest) = self.rest.split_once(quote).ok_or_else(|| self.unexpected("a string's end"))?;
        self.rest = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.rest = self.rest.trim_start();
        for (text, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(text) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    /// A tuple of numbers.
    fn numbers(&mut self) -> Result<Vec<u64>, String> {
        let mut numbers = Vec::new();
        self.expect('(')?;
        while !self.takes(')') {
            numbers.push(self.number()?);
            if !self.takes(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(numbers)
    }

    fn number(&mut self) -> Result<u64, String> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let number = digits.parse().map_err(|_| self.unexpected("a number of 64 bits"))?;
        // Python 2 marked long numbers.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first bytes of what NumPy 1.26's `numpy.save` writes for arrays of these shapes, but for how far it fills up
    /// with spaces.
    #[test]
    fn headers_are_numpys() {
        for (descr, fortran_order, shape, text) in [
            ("<f4", false, vec![3, 2], "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"),
            ("|u1", false, vec![5], "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }"),
            ("<i8", true, vec![2, 3, 4], "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 3, 4), }"),
            ("<f8", false, vec![], "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"),
        ] {
            let header = Header { descr: descr.to_owned(), fortran_order, shape };
            let mut file = header.write();
            assert_eq!((file.len() % ALIGNMENT, file.last()), (0, Some(&b'\n')));
            assert!(file.starts_with(b"\x93NUMPY\x01\x00"));
            assert_eq!(usize::from(u16::from_le_bytes([file[8], file[9]])) + 10, file.len());
            assert!(file[10..].starts_with(text.as_bytes()), "{text}");
            file.push(7);
            assert_eq!(Header::read(&file), Ok((header, &[7][..])));
        }
    }

    #[test]
    fn what_other_writers_do() {
        let right = Header { descr: "<f4".to_owned(), fortran_order: false, shape: vec![2, 3] };
        for text in [
            "{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
            "{\"shape\": (2L, 3L,), \"descr\": \"<f4\", \"fortran_order\": False}   \n",
            " { 'fortran_order' : False , 'descr' : '<f4' , 'shape' : ( 2 , 3 ) , } ",
        ] {
            for (version, digits) in [(1, 2), (2, 4), (3, 4)] {
                let mut file = MAGIC.to_vec();
                file.extend([version, 0]);
                file.extend(&(text.len() as u32).to_le_bytes()[..digits]);
                file.extend(text.as_bytes());
                assert_eq!(Header::read(&file), Ok((right.clone(), &[][..])), "{text} in version {version}");
            }
        }
    }

    #[test]
    fn errors_say_what_is_wrong() {
        for (text, wanted) in [
            ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "a string"),
            ("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "True or False"),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (-1,)}", "a number"),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (99999999999999999999,)}", "a number"),
            ("{'descr': '<f4', 'fortran_order': True}", "no entry 'shape'"),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': (), 'more': 1}", "an entry 'more'"),
            ("{'descr': '<f4', 'fortran_order': True, 'shape': ()} x", "the header's end"),
        ] {
            let mut file = b"\x93NUMPY\x01\x00".to_vec();
            file.extend((text.len() as u16).to_le_bytes());
            file.extend(text.as_bytes());
            let error = Header::read(&file).expect_err(text);
            assert!(error.contains(wanted), "{error}");
        }
        assert!(Header::read(b"\x93NUMPY\x04\x00\x00\x00").expect_err("unknown").contains("version 4"));
    }
}
