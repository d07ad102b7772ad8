//! What operands of a text are made of: registers, numbers, places in constant banks.

use super::float_text::Format;
use super::print::{WARP_STATE, swizzle};
use super::scan::{Scan, is_word};
use crate::arch::URZ;
use crate::{Arch, RegFile, Value};

/// Predicate, negation, and the file if one is named: `@!UP0 `.
pub(super) fn guard(scan: &mut Scan<'_>) -> Option<(u8, bool, Option<bool>)> {
    if !scan.take('@') {
        return Some((7, false, None));
    }
    let negated = scan.take('!');
    let (file, number) = register(scan)?;
    let uniform = match file {
        RegFile::P => false,
        RegFile::UP => true,
        _ => return None,
    };
    scan.skip_space();
    Some((u8::try_from(number).ok()?, negated, Some(uniform)))
}

/// A register by its name, `RZ` and its like included: file and number.
pub(super) fn register(scan: &mut Scan<'_>) -> Option<(RegFile, u16)> {
    const ZERO: [(&str, RegFile, u16); 4] =
        [("RZ", RegFile::R, 255), ("URZ", RegFile::UR, URZ), ("PT", RegFile::P, 7), ("UPT", RegFile::UP, 7)];
    const FILES: [(&str, RegFile, u16); 6] = [
        ("R", RegFile::R, 254),
        ("UR", RegFile::UR, 254),
        ("P", RegFile::P, 6),
        ("UP", RegFile::UP, 6),
        ("B", RegFile::B, 15),
        ("SB", RegFile::SB, 5),
    ];
    for (name, file, number) in ZERO {
        if scan.word_is(name) {
            return Some((file, number));
        }
    }
    if let Some(state) = WARP_STATE.iter().position(|name| scan.word_is(name)) {
        return Some((RegFile::B, 16 + u16::try_from(state).ok()?));
    }
    FILES.iter().find_map(|(prefix, file, last)| {
        let mut ahead = *scan;
        let number = ahead.numbered(prefix).filter(|n| n <= last)?;
        *scan = ahead;
        Some((*file, number))
    })
}

/// `.reuse`, if it is there.
pub(super) fn reuse(scan: &mut Scan<'_>) -> bool {
    let mut ahead = *scan;
    let found = ahead.take('.') && ahead.word_is("reuse");
    if found {
        *scan = ahead;
    }
    found
}

/// Four pairs of letters, the last lane first.
pub(super) fn lane_signs(scan: &mut Scan<'_>, arch: Arch) -> Option<u64> {
    let word = scan.while_in(is_word);
    let lanes: Option<Vec<u64>> = (0..4)
        .map(|at| {
            let pair = word.get(2 * at..2 * at + 2)?;
            swizzle(arch).iter().position(|s| *s == pair).map(|code| code as u64)
        })
        .collect();
    (word.len() == 8).then(|| lanes.map(|l| l.iter().fold(0, |all, lane| all << 2 | lane)))?
}

/// A number as it is printed, or its bits in hexadecimal.
pub(super) fn float(scan: &mut Scan<'_>, format: Format) -> Option<u64> {
    if scan.literal("0x") {
        return u64::from_str_radix(scan.while_in(|c| c.is_ascii_hexdigit()), 16).ok();
    }
    format.parse(scan.float())
}

/// `{5,0}` as a mask.
pub(super) fn number_set(scan: &mut Scan<'_>) -> Option<u64> {
    scan.skip_space();
    if !scan.take('{') {
        return None;
    }
    let mut mask = 0;
    loop {
        mask |= 1u64.checked_shl(u32::try_from(scan.integer()?).ok()?)?;
        if !scan.take(',') {
            return scan.take('}').then_some(mask);
        }
    }
}

/// `c[bank][offset]` or `cx[UR][offset]`.
pub(super) fn constant(scan: &mut Scan<'_>) -> Option<Value> {
    let mut ahead = *scan;
    let bindless = ahead.literal("cx[");
    if !bindless && !ahead.literal("c[") {
        return None;
    }
    let bank = if bindless { register(&mut ahead).filter(|(f, _)| *f == RegFile::UR)?.1 } else { small(&mut ahead)? };
    if !ahead.literal("] [") {
        return None;
    }
    let offset = bank_offset(&mut ahead)?;
    if !ahead.take(']') {
        return None;
    }
    *scan = ahead;
    match bindless {
        true => Some(Value::ConstBindless { ureg: bank, offset }),
        false => Some(Value::Const { bank: u8::try_from(bank).ok()?, offset }),
    }
}

/// The signed value that `value` is, if it was written as an unsigned one of `bits` bits.
pub(super) fn narrow(value: i64, bits: impl Into<u32>) -> i64 {
    let unused = 64 - bits.into();
    if (value as u64) << unused >> unused == value as u64 { value << unused >> unused } else { value }
}

/// 16 bits, with or without a sign.
pub(super) fn bank_offset(scan: &mut Scan<'_>) -> Option<u16> {
    let value = scan.integer()?;
    i16::try_from(value).map(|offset| offset as u16).or_else(|_| u16::try_from(value)).ok()
}

/// A number of 16 bits.
pub(super) fn small(scan: &mut Scan<'_>) -> Option<u16> {
    scan.integer().and_then(|value| u16::try_from(value).ok())
}
