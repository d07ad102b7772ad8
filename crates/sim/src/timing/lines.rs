//! Line numbers: those of device memory, and where code, constants and local memory stand beside them.

use crate::constant::{BANKS, ConstantBanks};
use crate::instruction::INSTRUCTION;
use crate::program::Program;
use oriole_device::Memory;
use oriole_isa::chip::{CONSTANT_LINE, LINE};
use std::ops::Range;

/// Lines of local memory stand from here on: above all device addresses.
pub(crate) const LOCAL_LINES: u64 = 1 << 52;
/// Lines of code.
const CODE_LINES: u64 = 1 << 53;
/// Lines of constant banks.
const CONSTANT_LINES: u64 = 1 << 54;
/// Bits of an address in a constant bank below the number of the bank, as accesses are logged.
const BANK_SHIFT: u32 = 32;

/// The line of the instruction at a place of a trace.
#[inline]
pub(crate) fn code_line(place: u32) -> u64 {
    CODE_LINES + u64::from(place) * INSTRUCTION / LINE
}

/// The part of a constant bank that the first level holds as a line, by the address that is logged for it.
pub(crate) fn constant_part(address: u64) -> u64 {
    address / CONSTANT_LINE
}

/// The address that is logged for an offset in a constant bank.
pub(crate) fn constant_address(bank: u8, offset: u16) -> u64 {
    u64::from(bank) << BANK_SHIFT | u64::from(offset)
}

/// The line that a part of a constant bank is in.
pub(crate) fn constant_line(part: u64) -> u64 {
    CONSTANT_LINES + part * CONSTANT_LINE / LINE
}

/// The parts of constant banks in a line; none in other lines.
pub(crate) fn constant_parts(line: u64) -> Range<u64> {
    let parts = LINE / CONSTANT_LINE;
    line.checked_sub(CONSTANT_LINES).map_or(0..0, |line| line * parts..(line + 1) * parts)
}

/// What the second level holds, clean, when a launch begins: ranges of lines, the most important first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held(Vec<Range<u64>>);

impl Held {
    /// Only what the launch itself has just written: bank 0 with the parameters.
    pub(crate) fn cold(constants: &ConstantBanks) -> Held {
        Held(vec![bank_lines(constants, 0)])
    }

    /// That, the code, the other constants, and all allocations of device memory.
    pub(crate) fn warm(program: &Program, constants: &ConstantBanks, memory: &Memory) -> Held {
        let end = ((program.end() - program.start()) / INSTRUCTION) as u32;
        let mut lines = vec![bank_lines(constants, 0), code_line(0)..code_line(end) + 1];
        lines.extend((1..BANKS).map(|bank| bank_lines(constants, bank)));
        let allocation = |(base, size): (u64, u64)| base / LINE..(base + size).div_ceil(LINE);
        lines.extend(memory.allocations().iter().map(|known| allocation((known.base(), known.size()))));
        Held(lines)
    }

    /// The lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(Clone::clone)
    }
}

fn bank_lines(constants: &ConstantBanks, bank: usize) -> Range<u64> {
    let first = constant_line(constant_part((bank as u64) << BANK_SHIFT));
    first..first + (constants.size(bank) as u64).div_ceil(LINE)
}
