//! Float immediates as text, the way nvdisasm prints them: 20 significant digits.

/// Significant digits of a printed float.
const DIGITS: i32 = 20;

/// A float format by its widths; values are raw bit patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    exponent: u32,
    mantissa: u32,
}

impl Format {
    pub(crate) const F16: Format = Format { exponent: 5, mantissa: 10 };
    pub(crate) const BF16: Format = Format { exponent: 8, mantissa: 7 };
    pub(crate) const F32: Format = Format { exponent: 8, mantissa: 23 };
    pub(crate) const F64: Format = Format { exponent: 11, mantissa: 52 };

    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Exact, since every format is within f64.
    fn to_f64(self, bits: u64) -> f64 {
        if self == Format::F64 {
            return f64::from_bits(bits);
        }
        let negative = bits >> (self.exponent + self.mantissa) & 1 == 1;
        let exponent = (bits >> self.mantissa) as i32 & ((1 << self.exponent) - 1);
        let fraction = (bits & ((1 << self.mantissa) - 1)) as f64;
        let unit = if exponent == 0 { fraction } else { fraction + (1u64 << self.mantissa) as f64 };
        let magnitude = unit * 2f64.powi(exponent.max(1) - self.bias() - self.mantissa as i32);
        if negative { -magnitude } else { magnitude }
    }

    /// Rounded to nearest even; too large values become infinite.
    fn round(self, value: f64) -> u64 {
        let bits = value.to_bits();
        if self == Format::F64 {
            return bits;
        }
        let sign = (bits >> 63) << (self.exponent + self.mantissa);
        let smallest = 1 - self.bias();
        let exponent = ((bits >> 52) as i32 & 0x7ff) - 1023;
        let unit = 2f64.powi(exponent.max(smallest) - self.mantissa as i32);
        let steps = (value.abs() / unit).round_ties_even() as u64;
        let base = if exponent < smallest { 0 } else { ((exponent + self.bias() - 1) as u64) << self.mantissa };
        let infinity = ((1u64 << self.exponent) - 1) << self.mantissa;
        sign | base.saturating_add(steps).min(infinity)
    }

    /// The bit pattern is a NaN.
    pub(crate) fn is_nan(self, bits: u64) -> bool {
        let infinity = ((1u64 << self.exponent) - 1) << self.mantissa;
        bits & ((1 << (self.exponent + self.mantissa)) - 1) > infinity
    }

    /// A NaN's bit pattern as that of a quiet one.
    pub(crate) fn quiet(self, bits: u64) -> u64 {
        bits | 1 << (self.mantissa - 1)
    }

    /// The text of a bit pattern; names such as `+INF` end in a space, as nvdisasm prints them.
    pub(crate) fn print(self, bits: u64) -> String {
        let sign = if bits >> (self.exponent + self.mantissa) & 1 == 1 { '-' } else { '+' };
        let fraction = bits & ((1 << self.mantissa) - 1);
        if (bits >> self.mantissa) & ((1 << self.exponent) - 1) == (1 << self.exponent) - 1 {
            let quiet = fraction >> (self.mantissa - 1) & 1 == 1;
            let name = if fraction == 0 {
                "INF"
            } else if quiet {
                "QNAN"
            } else {
                "SNAN"
            };
            return format!("{sign}{name} ");
        }
        let value = self.to_f64(bits);
        if value == 0.0 {
            return if sign == '-' { "-0.0 ".to_owned() } else { "0".to_owned() };
        }
        decimal(value)
    }

    /// The bit pattern of a printed float. NaN payloads are not part of the text.
    pub(crate) fn parse(self, text: &str) -> Option<u64> {
        let (negative, name) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let infinity = ((1u64 << self.exponent) - 1) << self.mantissa;
        let magnitude = match name {
            "INF" => infinity,
            "QNAN" => infinity | 1 << (self.mantissa - 1),
            "SNAN" => infinity | 1,
            _ if !name.starts_with(|c: char| c.is_ascii_digit() || c == '.') => return None,
            _ if self == Format::F32 => name.parse::<f32>().ok()?.to_bits().into(),
            _ => self.round(name.parse().ok()?),
        };
        Some(magnitude | u64::from(negative) << (self.exponent + self.mantissa))
    }
}

/// Values from here on are printed with an exponent and all their digits.
const LARGE: f64 = 1e9;

fn decimal(value: f64) -> String {
    let scientific = format!("{value:.*e}", DIGITS as usize);
    if value.abs() >= LARGE {
        return with_exponent(&scientific);
    }
    let shorter = format!("{value:.*e}", DIGITS as usize - 1);
    let Some((mantissa, exponent)) = shorter.split_once('e') else { return shorter };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 {
        return with_exponent(&format!("{}e{exponent}", trimmed(mantissa)));
    }
    trimmed(&format!("{value:.*}", (DIGITS - 1 - exponent).max(0) as usize)).to_owned()
}

/// Without zeros at the end of the fraction.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The exponent with a sign and two digits at least.
fn with_exponent(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn prints_what_nvdisasm_prints() {
        let cases: [(Format, u64, &str); 12] = [
            (Format::F32, 0, "0"),
            (Format::F32, 0x8000_0000, "-0.0 "),
            (Format::F32, 0x7f80_0000, "+INF "),
            (Format::F32, 0xffff_ffff, "-QNAN "),
            (Format::F32, 0x7fa0_0000, "+SNAN "),
            (Format::F32, 1, "1.4012984643248170709e-45"),
            (Format::F32, 0x3dcc_cccd, "0.10000000149011611938"),
            (Format::F32, 0x38d1_b717, "9.9999997473787516356e-05"),
            (Format::F32, 0x4e6e_6b28, "1.00000000000000000000e+09"),
            (Format::F16, 0x03ff, "6.0975551605224609375e-05"),
            (Format::BF16, 0x7f7f, "3.38953138925153547590e+38"),
            (Format::F64, 0x0010_0000_0000_0000, "2.2250738585072013831e-308"),
        ];
        for (format, bits, text) in cases {
            assert_eq!(format.print(bits), text);
        }
    }

    #[test]
    fn what_is_too_large_is_infinite() {
        for text in ["65520", "1e300", "1e999", "99999999999999999999999999999999999999999999"] {
            assert_eq!(Format::F16.parse(text), Some(0x7c00), "{text}");
        }
        assert_eq!(Format::BF16.parse("-1e999"), Some(0xff80));
    }

    #[test]
    fn every_half_survives_its_text() {
        for format in [Format::F16, Format::BF16] {
            for bits in 0..0x1_0000u64 {
                let text = format.print(bits);
                if !text.contains("NAN") {
                    assert_eq!(format.parse(text.trim_end()), Some(bits), "{text}");
                }
            }
        }
    }
}
