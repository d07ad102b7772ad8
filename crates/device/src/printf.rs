//! The text of a device-side `printf`.
//!
//! The compiler packs the variable arguments into a buffer, each at a multiple of its size: 4 bytes
//! for integers up to `int`, 8 for `long`, `long long`, pointers and `double` (CUDA C++ guide,
//! "Formatted output"; `float` is promoted as in C).

use crate::FaultKind;

/// One conversion such as `%-08.3lf`.
#[derive(Clone, Copy, Debug, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// The argument takes 8 bytes.
    long: bool,
    /// Length `h`: 2 bytes, `hh`: 1 byte of an int.
    short_bytes: u8,
}

/// Widths and precisions beyond this are cut down to it, so that a wild format cannot eat memory.
const WIDEST: usize = 4096;

/// Bytes of text that one launch may print: sixteen times what CUDA keeps by default (`cudaLimitPrintfFifoSize`).
pub const MOST_OUTPUT: usize = 16 << 20;
/// The longest string that is read from memory.
pub const LONGEST_STRING: u64 = 1 << 20;
/// Bytes of packed arguments that are read for one format.
const MOST_ARGUMENTS: usize = 4096;

/// Adds `text` to what a block has printed. The fault where that is more than is kept.
pub fn print(printed: &mut Vec<u8>, text: &[u8]) -> Result<(), FaultKind> {
    if printed.len() + text.len() > MOST_OUTPUT {
        return Err(too_much());
    }
    printed.extend_from_slice(text);
    Ok(())
}

/// The fault of a kernel that prints more than [`MOST_OUTPUT`].
pub fn too_much() -> FaultKind {
    FaultKind::OutputLimit(MOST_OUTPUT)
}

/// Reads packed arguments one after another; missing ones read as zero.
struct Packed<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Packed<'_> {
    fn take(&mut self, size: usize) -> u64 {
        self.at = self.at.next_multiple_of(size);
        let byte = |i: usize| u64::from(self.bytes.get(self.at + i).copied().unwrap_or(0));
        let value = (0..size).fold(0, |value, i| value | byte(i) << (8 * i));
        self.at += size;
        value
    }

    fn int(&mut self) -> i32 {
        self.take(4) as u32 as i32
    }
}

/// The text that `format` with the packed arguments `args` prints. `string` fetches the
/// zero-terminated string at a device address, for `%s`. The fault where the text is longer than is kept.
pub fn format(format: &[u8], args: &[u8], string: impl Fn(u64) -> Option<Vec<u8>>) -> Result<Vec<u8>, FaultKind> {
    let mut args = Packed { bytes: args, at: 0 };
    let mut out = Vec::with_capacity(format.len());
    let mut rest = format;
    while let Some(percent) = rest.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&rest[..percent]);
        let start = &rest[percent..];
        let mut cursor = &start[1..];
        let spec = Spec::parse(&mut cursor, &mut args);
        let Some((&conversion, after)) = cursor.split_first() else {
            out.extend_from_slice(start);
            return Ok(out);
        };
        match convert(spec, conversion, &mut args, &string) {
            Some(text) => out.extend_from_slice(&text),
            None => out.extend_from_slice(&start[..start.len() - after.len()]),
        }
        rest = after;
        if out.len() > MOST_OUTPUT {
            return Err(too_much());
        }
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// How many bytes of packed arguments `format` consumes at most (each `*` counts), as far as they are read.
pub fn packed_size(format: &[u8]) -> usize {
    let mut args = Packed { bytes: &[], at: 0 };
    let mut rest = format;
    while let Some(percent) = rest.iter().position(|&byte| byte == b'%') {
        let mut cursor = &rest[percent + 1..];
        let spec = Spec::parse(&mut cursor, &mut args);
        let Some((&conversion, after)) = cursor.split_first() else { break };
        // Only the position matters here; the text is dropped.
        let narrow = Spec { width: 0, precision: Some(0), ..spec };
        let _ = convert(narrow, conversion, &mut args, &|_| None);
        rest = after;
    }
    args.at.min(MOST_ARGUMENTS)
}

impl Spec {
    fn parse(cursor: &mut &[u8], args: &mut Packed<'_>) -> Spec {
        let mut spec = Spec::default();
        while let Some((&flag, after)) = cursor.split_first() {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            *cursor = after;
        }
        if let Some(width) = number(cursor, args) {
            spec.left |= width < 0;
            spec.width = (width.unsigned_abs() as usize).min(WIDEST);
        }
        if let Some(after) = cursor.strip_prefix(b".") {
            *cursor = after;
            let precision = number(cursor, args).unwrap_or(0);
            spec.precision = usize::try_from(precision).ok().map(|p| p.min(WIDEST));
        }
        while let Some((&length, after)) = cursor.split_first() {
            match length {
                b'l' | b'z' | b'j' | b't' => spec.long = true,
                b'h' => spec.short_bytes = if spec.short_bytes == 2 { 1 } else { 2 },
                b'L' => {}
                _ => break,
            }
            *cursor = after;
        }
        spec
    }

    /// Pads `sign` and `digits` to the width.
    fn pad(&self, sign: &str, digits: &str, zeros: bool) -> Vec<u8> {
        let fill = self.width.saturating_sub(sign.len() + digits.len());
        let (blank, zero) = (" ".repeat(fill), "0".repeat(fill));
        match (self.left, zeros && self.zero) {
            (true, _) => format!("{sign}{digits}{blank}"),
            (false, true) => format!("{sign}{zero}{digits}"),
            (false, false) => format!("{blank}{sign}{digits}"),
        }
        .into_bytes()
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    fn pad_bytes(&self, text: &[u8]) -> Vec<u8> {
        let fill = vec![b' '; self.width.saturating_sub(text.len())];
        if self.left { [text, &fill].concat() } else { [&fill, text].concat() }
    }
}

/// A decimal number or `*`.
fn number(cursor: &mut &[u8], args: &mut Packed<'_>) -> Option<i32> {
    if let Some(after) = cursor.strip_prefix(b"*") {
        *cursor = after;
        return Some(args.int());
    }
    let digits = cursor.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (text, after) = cursor.split_at(digits);
    *cursor = after;
    (digits > 0).then(|| text.iter().fold(0i32, |n, d| n.saturating_mul(10).saturating_add(i32::from(d - b'0'))))
}

fn convert(
    spec: Spec,
    conversion: u8,
    args: &mut Packed<'_>,
    string: &impl Fn(u64) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    Some(match conversion {
        b'%' => b"%".to_vec(),
        b'c' => spec.pad_bytes(&[args.take(4) as u8]),
        b's' => {
            let text = string(args.take(8)).unwrap_or_else(|| b"(null)".to_vec());
            let length = spec.precision.unwrap_or(text.len()).min(text.len());
            spec.pad_bytes(&text[..length])
        }
        b'p' => spec.pad("", &format!("{:#x}", args.take(8)), false),
        b'd' | b'i' => signed(spec, args),
        b'u' | b'o' | b'x' | b'X' => unsigned(spec, conversion, args),
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => float(spec, conversion, f64::from_bits(args.take(8))),
        _ => return None,
    })
}

fn signed(spec: Spec, args: &mut Packed<'_>) -> Vec<u8> {
    let value = match (spec.long, spec.short_bytes) {
        (true, _) => args.take(8) as i64,
        (false, 2) => i64::from(args.int() as i16),
        (false, 1) => i64::from(args.int() as i8),
        _ => i64::from(args.int()),
    };
    spec.pad(spec.sign(value < 0), &digits(spec, value.unsigned_abs().to_string()), spec.precision.is_none())
}

fn unsigned(spec: Spec, conversion: u8, args: &mut Packed<'_>) -> Vec<u8> {
    let value = match (spec.long, spec.short_bytes) {
        (true, _) => args.take(8),
        (false, 2) => args.take(4) & 0xffff,
        (false, 1) => args.take(4) & 0xff,
        _ => args.take(4),
    };
    let (prefix, text) = match conversion {
        b'u' => ("", value.to_string()),
        b'o' => (if spec.alternate { "0" } else { "" }, format!("{value:o}")),
        b'x' => (if spec.alternate && value != 0 { "0x" } else { "" }, format!("{value:x}")),
        _ => (if spec.alternate && value != 0 { "0X" } else { "" }, format!("{value:X}")),
    };
    spec.pad(prefix, &digits(spec, text), spec.precision.is_none())
}

/// An integer's digits with the precision applied: a least number of digits, and none for zero with
/// precision zero.
fn digits(spec: Spec, text: String) -> String {
    match spec.precision {
        Some(0) if text == "0" => String::new(),
        Some(least) if least > text.len() => "0".repeat(least - text.len()) + &text,
        _ => text,
    }
}

fn float(spec: Spec, conversion: u8, value: f64) -> Vec<u8> {
    let magnitude = value.abs();
    let text = match conversion.to_ascii_lowercase() {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => "inf".to_owned(),
        b'f' => {
            let precision = spec.precision.unwrap_or(6);
            format!("{magnitude:.precision$}{}", if spec.alternate && precision == 0 { "." } else { "" })
        }
        b'e' => exponential(magnitude, spec.precision.unwrap_or(6)),
        b'g' => general(magnitude, spec.precision.unwrap_or(6).max(1), spec.alternate),
        _ => hexadecimal(magnitude, spec.precision),
    };
    let text = if conversion.is_ascii_uppercase() { text.to_uppercase() } else { text };
    let sign = spec.sign(value.is_sign_negative() && !value.is_nan());
    spec.pad(sign, &text, value.is_finite())
}

/// `d.ddde±dd` as C writes it: at least two digits of exponent.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    // Rust always writes the `e`.
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// `%g`: the shorter of `%e` and `%f`, trailing zeros removed.
fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let scientific = exponential(value, precision - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') && !keep_zeros {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if power < -4 || power >= precision as i32 {
        return format!("{}e{exponent}", trim(mantissa));
    }
    // -4 <= power < precision, so the difference is not negative.
    let decimals = (precision as i32 - 1 - power) as usize;
    trim(&format!("{value:.decimals$}"))
}

/// `%a`: `0x1.8p+1`.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut lead, mut fraction) = (u64::from(bits >> 52 != 0), bits & ((1 << 52) - 1));
    let exponent = match bits >> 52 {
        0 if fraction == 0 => 0,
        0 => -1022,
        biased => biased as i64 - 1023,
    };
    if let Some(digits) = precision.filter(|&digits| digits < 13) {
        let dropped = 52 - 4 * digits as u32;
        let (half, whole) = (1u64 << (dropped - 1), (lead << 52 | fraction) >> dropped);
        let remainder = (lead << 52 | fraction) & ((1u64 << dropped) - 1);
        let up = remainder > half || remainder == half && whole & 1 == 1;
        let rounded = (whole + u64::from(up)) << dropped;
        (lead, fraction) = (rounded >> 52, rounded & ((1 << 52) - 1));
    }
    let all = format!("{fraction:013x}");
    let shown = match precision {
        Some(digits) => format!("{all:0<digits$}")[..digits.max(all.len()).min(digits)].to_owned(),
        None => all.trim_end_matches('0').to_owned(),
    };
    let point = if shown.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{shown}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs as a compiler does: each argument at a multiple of its size.
    fn pack(args: &[(usize, u64)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &(size, value) in args {
            bytes.resize(bytes.len().next_multiple_of(size), 0);
            bytes.extend_from_slice(&value.to_le_bytes()[..size]);
        }
        bytes
    }

    fn print(text: &str, args: &[(usize, u64)]) -> String {
        let strings = |address| (address == 0x100).then(|| b"warp".to_vec());
        let text = format(text.as_bytes(), &pack(args), strings).expect("it is short");
        String::from_utf8(text).expect("ASCII in, ASCII out")
    }

    fn double(value: f64) -> (usize, u64) {
        (8, value.to_bits())
    }

    #[test]
    fn integers_as_c_prints_them() {
        assert_eq!(print("%d %5d|%-5d|%05d %+d", &[(4, 7); 5]), "7     7|7    |00007 +7");
        assert_eq!(print("%d %u", &[(4, u64::MAX), (4, u64::MAX)]), "-1 4294967295");
        assert_eq!(print("%x %#X %o %p", &[(4, 255), (4, 255), (4, 8), (8, 0x1000)]), "ff 0XFF 10 0x1000");
        assert_eq!(print("%d %lld %hhd", &[(4, 1), (8, u64::MAX - 1), (4, 0x1ff)]), "1 -2 -1");
        assert_eq!(print("[%*d] [%-*d] %.3d", &[(4, 4), (4, 9), (4, 3), (4, 8), (4, 5)]), "[   9] [8  ] 005");
    }

    #[test]
    fn floats_as_c_prints_them() {
        assert_eq!(print("%f %.2f %8.3f", &[double(1.5), double(2.675), double(-3.25)]), "1.500000 2.67   -3.250");
        assert_eq!(print("%e %.0E", &[double(12345.678), double(0.00015)]), "1.234568e+04 1E-04");
        assert_eq!(
            print("%g %g %g %g", &[double(0.0001), double(1e-5), double(123456.0), double(1234567.0)]),
            "0.0001 1e-05 123456 1.23457e+06"
        );
        assert_eq!(
            print("%f %F %5.1f", &[double(f64::INFINITY), double(f64::NAN), double(f64::NEG_INFINITY)]),
            "inf NAN  -inf"
        );
        assert_eq!(print("%a %.1a %a", &[double(3.0), double(1.96875), double(0.0)]), "0x1.8p+1 0x2.0p+0 0x0p+0");
    }

    #[test]
    fn strings_and_odd_formats() {
        assert_eq!(print("%s|%6s|%.2s|%c|%%", &[(8, 0x100), (8, 0x100), (8, 0x100), (4, 65)]), "warp|  warp|wa|A|%");
        assert_eq!(print("%s", &[(8, 0)]), "(null)");
        assert_eq!(print("%y %", &[]), "%y %");
        assert_eq!(print("missing %d", &[]), "missing 0");
    }

    #[test]
    fn what_is_printed_has_a_limit() {
        let long = |_| Some(vec![b'x'; LONGEST_STRING as usize]);
        let text = format(&b"%s".repeat(15), &[], long).expect("15 MiB");
        let mut printed = Vec::new();
        super::print(&mut printed, &text).expect("all of them");
        assert_eq!(super::print(&mut printed, &text), Err(too_much()));
        assert_eq!(printed.len(), text.len(), "nothing of what is too much");
        assert_eq!(format(&b"%s".repeat(1 << 19), &[], long), Err(too_much()));
        assert_eq!(packed_size(&b"%d".repeat(1 << 19)), MOST_ARGUMENTS);
    }

    #[test]
    fn the_packed_size_follows_alignment() {
        assert_eq!(packed_size(b"plain"), 0);
        assert_eq!(packed_size(b"%d %f %d"), 20);
        assert_eq!(packed_size(b"%d%d%s"), 16);
    }
}
