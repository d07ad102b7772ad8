//! Input buffers from their description: a splitmix64 stream shaped by a fill.

/// Bytes of one element.
pub(crate) fn size_of(kind: &str) -> usize {
    match kind {
        "u8" | "s8" => 1,
        "u16" | "s16" | "f16" | "bf16" => 2,
        "u32" | "s32" | "f32" => 4,
        _ => 8,
    }
}

/// The buffer's bytes, little-endian.
pub(crate) fn bytes(fill: &str, kind: &str, count: usize, seed: u64) -> Vec<u8> {
    let values = Stream { seed, count }.values(fill);
    values.into_iter().flat_map(|value| element(value, kind)).collect()
}

#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
    /// A bit pattern of the element's type.
    Bits(u64),
}

struct Stream {
    seed: u64,
    count: usize,
}

impl Stream {
    /// Element `i` of the splitmix64 stream.
    fn random(&self, i: usize) -> u64 {
        let step = (i as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut z = self.seed.wrapping_mul(0xD1B5_4A32_D192_ED03).wrapping_add(step);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn values(&self, fill: &str) -> Vec<Number> {
        let (name, body) = fill.split_once('(').map_or((fill, ""), |(n, b)| (n, b.trim_end_matches(')')));
        if name == "cycle" {
            let parts: Vec<Vec<Number>> =
                fill["cycle(".len()..fill.len() - 1].split(';').map(|f| self.values(f)).collect();
            return (0..self.count).map(|i| parts[i % parts.len()][i]).collect();
        }
        let arguments: Vec<f64> = body.split(',').filter_map(|a| a.trim().parse().ok()).collect();
        match name {
            "zeros" => vec![Number::Int(0); self.count],
            "bytes" => (0..self.count).map(|i| Number::Bits(self.random(i))).collect(),
            "iota" => {
                let (start, step) = if let [a, b] = arguments[..] { (a as i128, b as i128) } else { (0, 1) };
                (0..self.count).map(|i| Number::Int(start + i as i128 * step)).collect()
            }
            "integers" => (0..self.count).map(|i| Number::Int(self.integer(&arguments, i))).collect(),
            "uniform" => (0..self.count).map(|i| Number::Float(self.uniform(&arguments, i))).collect(),
            "prefix" => (0..self.count)
                .scan(0, |sum, i| {
                    let value = *sum;
                    *sum += self.integer(&arguments, i);
                    Some(Number::Int(value))
                })
                .collect(),
            _ => panic!("fill {fill:?}"),
        }
    }

    fn integer(&self, bounds: &[f64], i: usize) -> i128 {
        let (low, high) = (bounds[0] as i128, bounds[1] as i128);
        low + i128::from(self.random(i)) % (high - low)
    }

    fn uniform(&self, bounds: &[f64], i: usize) -> f64 {
        bounds[0] + (bounds[1] - bounds[0]) * ((self.random(i) >> 11) as f64 * 2f64.powi(-53))
    }
}

fn element(value: Number, kind: &str) -> Vec<u8> {
    let bits = match (value, kind) {
        (Number::Bits(bits), _) => bits,
        (value, "f16") => u64::from(half::f16::from_f64(float(value)).to_bits()),
        (value, "f32") => u64::from((float(value) as f32).to_bits()),
        (value, "f64") => float(value).to_bits(),
        (Number::Int(value), _) => value as u64,
        (Number::Float(value), _) => value as i64 as u64,
    };
    bits.to_le_bytes()[..size_of(kind)].to_vec()
}

fn float(value: Number) -> f64 {
    match value {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
        Number::Bits(bits) => f64::from_bits(bits),
    }
}
