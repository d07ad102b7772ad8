//! Judging an output buffer.

use super::fill::size_of;
use serde_json::Value;

/// `Err` says in a sentence how `got` falls short of `want` under `check`.
pub(crate) fn compare(got: &[u8], want: &[u8], kind: &str, check: &Value) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} bytes, not {}", got.len(), want.len()));
    }
    let size = size_of(kind);
    let exact = check["mode"] == "exact";
    let wrong: Vec<usize> = got
        .chunks(size)
        .zip(want.chunks(size))
        .enumerate()
        .filter(|(_, (a, b))| a != b && (exact || !close(number(a, kind), number(b, kind), check)))
        .map(|(i, _)| i)
        .collect();
    let allowed = check["misses"].as_f64().unwrap_or(0.0) * (want.len() / size) as f64;
    if wrong.len() as f64 <= allowed {
        return Ok(());
    }
    let (i, at) = (wrong[0], wrong[0] * size);
    let (a, b) = (&got[at..at + size], &want[at..at + size]);
    Err(format!("{} elements differ, first [{i}] {} for {}", wrong.len(), number(a, kind), number(b, kind)))
}

/// `|got - want| <= abs + rel * |want|`; NaN equals NaN, infinities must agree.
fn close(got: f64, want: f64, check: &Value) -> bool {
    let (rel, abs) = (check["rel"].as_f64().unwrap_or(0.0), check["abs"].as_f64().unwrap_or(0.0));
    got == want
        || (got.is_nan() && want.is_nan())
        || (got.is_finite() && want.is_finite() && (got - want).abs() <= abs + rel * want.abs())
}

fn number(bytes: &[u8], kind: &str) -> f64 {
    let mut word = [0u8; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    match kind {
        "f16" => half::f16::from_bits(bits as u16).to_f64(),
        "f32" => f64::from(f32::from_bits(bits as u32)),
        "f64" => f64::from_bits(bits),
        "s32" => f64::from(bits as u32 as i32),
        "s64" => bits as i64 as f64,
        _ => bits as f64,
    }
}
