//! Reads the notation of one operand.

use super::model::{Constants, Operand, Spec, Vocabulary};
use super::read::Read;

/// One operand without what follows a slash: `[=] kind flags [?]`.
pub(crate) fn operand(spec: &Spec, text: &str) -> Read<Operand> {
    let (result, text) = text.strip_prefix('=').map_or((false, text), |rest| (true, rest));
    let (optional, text) = text.strip_suffix('?').map_or((false, text), |rest| (true, rest));
    let (kind, mut flags) = kind(spec, text)?;
    let mut found = Operand { kind, result, optional, ..Operand::default() };
    while let Some(flag) = flags.chars().next() {
        flags = &flags[flag.len_utf8()..];
        match flag {
            '!' => found.constants = Constants::Refused,
            '#' => found.constants = Constants::Required,
            '~' => found.wider = true,
            '_' => found.sink = true,
            '-' => found.negated = true,
            '&' => found.symbol = true,
            '%' => found.special = true,
            '^' => found.braces = true,
            '$' => {
                let end = flags.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(flags.len());
                found.parts = parts(&flags[..end])?;
                flags = &flags[end..];
            }
            '|' | '+' => {
                let end = flags.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(flags.len());
                found.pair = Some((ty(spec, &flags[..end])?, flag == '+'));
                flags = &flags[end..];
            }
            '(' => {
                let (bounds, rest) = flags.split_once(')').ok_or("`(` without `)`")?;
                found.range = Some(range(bounds)?);
                flags = rest;
            }
            other => return Err(format!("no operand flag `{other}`")),
        }
    }
    Ok(found)
}

/// `0..31`, `24..256*8` (from 24 in steps of 8), `4..16^` (powers of two).
fn range(bounds: &str) -> Read<String> {
    let (low, high) = bounds.split_once("..").ok_or("a range is `low..high`")?;
    let (high, step) = match (high.split_once('*'), high.strip_suffix('^')) {
        (Some((high, step)), _) => (high, format!("Of({})", number::<std::num::NonZeroU32>(step)?)),
        (None, Some(high)) => (high, "PowerOfTwo".to_owned()),
        (None, None) => (high, "Of(1)".to_owned()),
    };
    let (low, high) = (number::<i64>(low)?, number::<i64>(high)?);
    Ok(format!("Bounds {{ low: {low}, high: {high}, step: Step::{step} }}"))
}

/// What may be selected of a register, by its name behind `$`.
fn parts(name: &str) -> Read<&'static str> {
    Ok(match name {
        "1" => "One",
        "2" => "Halves",
        "4" => "Bytes",
        "m2" => "SomeHalves",
        "m4" => "SomeBytes",
        _ => return Err(format!("no parts `{name}`")),
    })
}

/// The kind of operand at the start of `text`, and the flags after it.
fn kind<'a>(spec: &Spec, text: &'a str) -> Read<(String, &'a str)> {
    let closed = |close: char| text[1..].split_once(close).ok_or_else(|| format!("no `{close}`"));
    match text.as_bytes().first() {
        Some(b'{') => {
            let (inner, flags) = closed('}')?;
            let (element, count) = match inner.split_once(':') {
                Some((element, count)) => (element, self::count(count)?),
                None => return Err(format!("`{{{inner}}}` says no number of elements")),
            };
            Ok((format!("Kind::Vector({}, {count})", ty(spec, element)?), flags))
        }
        Some(b'<') => {
            let (inner, flags) = closed('>')?;
            Ok((format!("Kind::Elements({})", ty(spec, inner)?), flags))
        }
        Some(b'[') => {
            let (inner, flags) = closed(']')?;
            Ok((format!("Kind::Address({})", address(spec, inner)?), flags))
        }
        _ => {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '*').unwrap_or(text.len());
            let (name, flags) = text.split_at(end);
            let kind = match name {
                "label" => "Kind::Label".to_owned(),
                "sink" => "Kind::Sink".to_owned(),
                "texel" => "Kind::Texel".to_owned(),
                "pack" => "Kind::Pack(Ty::Nth(0))".to_owned(),
                name => format!("Kind::Value({})", ty(spec, name)?),
            };
            Ok((kind, flags))
        }
    }
}

/// `4`, `x2` (twice the number of `.x4`), `n2` (a half of the shape's n), `g` (as many as gradients of the texture have),
/// `i` (of the tensor's dimensions all but two), or as structured sparsity says: `group`, `kept`, `places`.
fn count(text: &str) -> Read<String> {
    match text {
        "g" => return Ok("Count::Gradient".to_owned()),
        "i" => return Ok("Count::Im2col".to_owned()),
        "group" => return Ok("Count::SparseGroup".to_owned()),
        "kept" => return Ok("Count::SparseKept".to_owned()),
        "places" => return Ok("Count::SparsePlaces".to_owned()),
        _ => {}
    }
    let (kind, digits) = match text.as_bytes().first() {
        Some(b'x') => ("TimesX", &text[1..]),
        Some(b'n') => ("PartOfN", &text[1..]),
        _ => ("Is", text),
    };
    Ok(format!("Count::{kind}({})", number::<u16>(digits)?))
}

/// `S`, `S2`, `global`, `tex`, `map`, each with `,n` or `,n..m` operands after it.
fn address(spec: &Spec, inner: &str) -> Read<String> {
    let (space, rest) = inner.split_once(',').map_or((inner, None), |(space, rest)| (space, Some(rest)));
    let (low, high) = match rest.map(|rest| rest.split_once("..").unwrap_or((rest, rest))) {
        Some((low, high)) => (number::<u8>(low)?, number::<u8>(high)?),
        None => (0, 0),
    };
    let space = match space {
        "S" => "Nth(0)".to_owned(),
        "S2" => "Nth(1)".to_owned(),
        "tex" => "Opaque(Handle::Texture)".to_owned(),
        "samp" => "Opaque(Handle::Sampler)".to_owned(),
        "texsamp" => "Opaque(Handle::TextureOrSampler)".to_owned(),
        "surf" => "Opaque(Handle::Surface)".to_owned(),
        "tmem" => "Tensor".to_owned(),
        "map" => "TensorMap".to_owned(),
        "fabric" => "Fabric".to_owned(),
        "any" => "Any".to_owned(),
        name => {
            format!("Is({})", spec.member(Vocabulary::Space, name).ok_or_else(|| format!("no state space `{name}`"))?)
        }
    };
    Ok(format!("AddressSpec {{ space: AddressSpace::{space}, rest: ({low}, {high}) }}"))
}

/// `T`, `T2`, `T*2` (twice the width) or a type's name.
fn ty(spec: &Spec, name: &str) -> Read<String> {
    Ok(match name {
        "T" => "Ty::Nth(0)".to_owned(),
        "T2" => "Ty::Nth(1)".to_owned(),
        "T3" => "Ty::Nth(2)".to_owned(),
        "T4" => "Ty::Nth(3)".to_owned(),
        "T*2" => "Ty::Double(0)".to_owned(),
        name => format!("Ty::Is({})", spec.member(Vocabulary::Type, name).ok_or_else(|| format!("no type `{name}`"))?),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Read<T> {
    text.parse().map_err(|_| format!("no number `{text}`"))
}
