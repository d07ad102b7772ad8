//! Bits of a byte slice, least significant first.

use super::error::{Error, Result};

/// Where the next bit is read, and where reading must stop. Positions are bits from the start of the bitcode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    at: u64,
    end: u64,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Bits<'a> {
        Bits { bytes, at: 0, end: bytes.len() as u64 * 8 }
    }

    /// The same bytes from `at` up to `end`, which lies within them.
    pub(super) fn range(self, at: u64, end: u64) -> Bits<'a> {
        Bits { bytes: self.bytes, at, end: end.min(self.end) }
    }

    /// The position of the next bit.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The number of bits left.
    pub(super) fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// Goes to `at`, which lies behind what has been read.
    pub(super) fn go_to(&mut self, at: u64) {
        self.at = at;
    }

    /// The next `width` bits, at most 64.
    #[inline]
    pub(super) fn read(&mut self, width: u32) -> Result<u64> {
        if u64::from(width) > self.left() {
            return Err(Error::new(self.at, "the data ends within a record"));
        }
        let byte = (self.at / 8) as usize;
        let shift = (self.at % 8) as u32;
        self.at += u64::from(width);
        let low = self.word(byte) >> shift;
        let value = if shift + width <= 64 { low } else { low | self.word(byte + 8) << (64 - shift) };
        Ok(if width == 64 { value } else { value & ((1 << width) - 1) })
    }

    /// Eight bytes from `byte` on; those behind the end are 0.
    #[inline]
    fn word(&self, byte: usize) -> u64 {
        match self.bytes.get(byte..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => {
                let rest = self.bytes.get(byte..).unwrap_or_default();
                rest.iter().rev().fold(0, |word, &next| word << 8 | u64::from(next))
            }
        }
    }

    /// A number in chunks of `width` bits, 1 to 32, of which the highest says whether another follows.
    #[inline]
    pub(super) fn vbr(&mut self, width: u32) -> Result<u64> {
        let start = self.at;
        let more = 1u64 << (width - 1);
        let mut value = 0;
        let mut shift = 0;
        loop {
            let chunk = self.read(width)?;
            if shift >= 64 {
                return Err(Error::new(start, "a number of more than 64 bits"));
            }
            value |= (chunk & (more - 1)) << shift;
            if chunk & more == 0 {
                return Ok(value);
            }
            shift += width - 1;
        }
    }

    /// Goes on to the next multiple of 32 bits.
    pub(super) fn align32(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }

    /// The next `len` bytes; the position is a multiple of 8.
    pub(super) fn bytes(&mut self, len: u64) -> Result<&'a [u8]> {
        if len > self.left() / 8 {
            return Err(Error::new(self.at, format!("a blob of {len} bytes goes beyond the end of its block")));
        }
        let start = (self.at / 8) as usize;
        self.at += len * 8;
        // The length was compared with what is left, so the end neither overflows nor lies outside.
        Ok(self.bytes.get(start..start + len as usize).unwrap_or_default())
    }
}

/// A signed number as bitcode writes it: magnitude above a sign bit.
pub(super) fn signed(value: u64) -> i64 {
    match value {
        1 => i64::MIN,
        _ if value & 1 == 0 => (value >> 1) as i64,
        _ => -((value >> 1) as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_across_words() {
        let bytes: Vec<u8> = (0..24u8).map(|i| i.wrapping_mul(37).wrapping_add(11)).collect();
        let bit = |at: u64| u64::from(bytes[(at / 8) as usize] >> (at % 8) & 1);
        for start in 0..70 {
            for width in 0..=64u32 {
                let mut bits = Bits::new(&bytes).range(start, 192);
                let expected = (0..u64::from(width)).map(|i| bit(start + i) << i).sum::<u64>();
                assert_eq!(bits.read(width).unwrap(), expected, "{width} bits from bit {start}");
                assert_eq!(bits.at(), start + u64::from(width));
            }
        }
    }

    #[test]
    fn the_end_is_an_error() {
        let mut bits = Bits::new(&[0xFF; 3]);
        assert!(bits.read(25).is_err());
        assert_eq!(bits.read(24).unwrap(), 0xFF_FFFF);
        assert!(bits.read(1).is_err());
        assert!(Bits::new(&[0xFF; 64]).vbr(6).is_err(), "no last chunk within 64 bits");
    }

    #[test]
    fn variable_width() {
        // 0b1_00100 then 0b0_00011 in chunks of 6 bits: 4 + 3 * 32
        let word: u32 = 0b100100 | 0b000011 << 6;
        assert_eq!(Bits::new(&word.to_le_bytes()).vbr(6).unwrap(), 4 + 3 * 32);
    }

    #[test]
    fn signs() {
        assert_eq!([0, 2, 3, 1, 5].map(signed), [0, 1, -1, i64::MIN, -2]);
    }
}
