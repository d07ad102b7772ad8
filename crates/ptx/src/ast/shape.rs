//! Matrix shapes. The build script reads their names too.

/// A matrix shape such as `.m16n8k16`; `k` is 0 in `.m8n8`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// Rows.
    pub m: u16,
    /// Columns.
    pub n: u16,
    /// Depth, or 0 when the shape names none.
    pub k: u16,
}

impl Shape {
    /// Reads `m16n8k16` or `m8n8`.
    pub(crate) fn from_name(name: &str) -> Option<Shape> {
        let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k').map_or((rest, None), |(n, k)| (n, Some(k)));
        let size = |text: &str| {
            let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
            if plain { text.parse::<u16>().ok() } else { None }
        };
        Some(Shape { m: size(m)?, n: size(n)?, k: k.map_or(Some(0), size)? })
    }
}
