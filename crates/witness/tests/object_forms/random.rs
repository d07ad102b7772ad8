//! Numbers that a form's name decides.

/// A stream of numbers (xorshift).
pub(super) struct Random(u64);

impl Random {
    /// The stream of a text.
    pub(super) fn of(text: &str) -> Random {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Random(text.bytes().fold(0x9e37_79b9_7f4a_7c15, mix))
    }

    /// 53 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// An integer from `from` on, below `to`.
    pub(super) fn within(&mut self, from: i64, to: i64) -> i64 {
        from + (self.next() % (to - from) as u64) as i64
    }

    /// A multiple of a millionth from `from` on, below `to`.
    pub(super) fn between(&mut self, from: i64, to: i64) -> f64 {
        self.within(from * 1_000_000, to * 1_000_000) as f64 / 1e6
    }

    /// One of several words.
    pub(super) fn one_of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[(self.next() % choices.len() as u64) as usize]
    }

    /// So many bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
