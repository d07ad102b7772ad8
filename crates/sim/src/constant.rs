//! Constant banks of a launch.

/// Banks that the hardware addresses.
pub(crate) const BANKS: usize = 32;

/// Contents of all constant banks during one launch.
///
/// Reads beyond a bank's end give zero; where a program could reach there, instructions look first.
#[derive(Debug, Default)]
pub(crate) struct ConstantBanks {
    banks: [Vec<u8>; BANKS],
}

impl ConstantBanks {
    /// Banks without contents.
    pub(crate) fn new() -> Self {
        ConstantBanks::default()
    }

    /// Put `bytes` at `offset` of `bank`, growing it as needed; banks above 31 do not exist.
    pub(crate) fn write(&mut self, bank: usize, offset: usize, bytes: &[u8]) {
        let Some(contents) = self.banks.get_mut(bank) else { return };
        let end = offset + bytes.len();
        if contents.len() < end {
            contents.resize(end, 0);
        }
        contents[offset..end].copy_from_slice(bytes);
    }

    /// The aligned 32-bit word at `offset` of `bank`.
    #[inline]
    pub(crate) fn word(&self, bank: usize, offset: usize) -> u32 {
        match self.banks.get(bank).and_then(|contents| contents.get(offset..offset.checked_add(4)?)) {
            Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
            _ => (0..4).fold(0, |word, i| word | u32::from(self.byte(bank, offset.saturating_add(i))) << (8 * i)),
        }
    }

    /// Bytes that `bank` holds.
    pub(crate) fn size(&self, bank: usize) -> usize {
        self.banks.get(bank).map_or(0, Vec::len)
    }

    /// Whether `bytes` bytes at `offset` lie in `bank`.
    #[inline]
    pub(crate) fn holds(&self, bank: usize, offset: usize, bytes: u32) -> bool {
        offset.saturating_add(bytes as usize) <= self.size(bank)
    }

    /// One byte of `bank`.
    pub(crate) fn byte(&self, bank: usize, offset: usize) -> u8 {
        self.banks.get(bank).and_then(|contents| contents.get(offset)).copied().unwrap_or(0)
    }

    /// A word of the bank that a bindless handle names. Handles are made by the driver for graphics
    /// and never appear in compute kernels; every one of them reads as zero.
    pub(crate) fn bindless_word(&self, handle: u64, offset: usize) -> u32 {
        let _ = (handle, offset);
        0
    }
}
