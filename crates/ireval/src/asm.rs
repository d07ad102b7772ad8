//! Inline assembly of one plain instruction on registers: `op.type $0, $1, $2;`.

use crate::fault::Fault;
use crate::int_bits::{mask, signed};
use crate::machine::Site;
use crate::value::{Value, bits};
use oriole_nvptx::ir::{InlineAsm, Module, TypeId};

/// An operation on operands of some width.
type Operation = fn(u32, &[u128]) -> u128;

/// The instructions known: name without type, operands, what it makes.
const OPERATIONS: &[(&str, usize, Operation)] = &[
    ("mov", 1, |_, v| v[0]),
    ("not", 1, |_, v| !v[0]),
    ("popc", 1, |_, v| u128::from(v[0].count_ones())),
    ("brev", 1, |width, v| v[0].reverse_bits() >> (128 - width)),
    ("add", 2, |_, v| v[0].wrapping_add(v[1])),
    ("sub", 2, |_, v| v[0].wrapping_sub(v[1])),
    ("mul.lo", 2, |_, v| v[0].wrapping_mul(v[1])),
    ("and", 2, |_, v| v[0] & v[1]),
    ("or", 2, |_, v| v[0] | v[1]),
    ("xor", 2, |_, v| v[0] ^ v[1]),
    ("mad.lo", 3, |_, v| v[0].wrapping_mul(v[1]).wrapping_add(v[2])),
];

/// Minimum and maximum, which ask for the sign in the type.
fn extremum(name: &str, sign: bool, width: u32, values: &[u128]) -> Option<u128> {
    let [a, b] = values else { return None };
    let less = if sign { signed(*a, width) < signed(*b, width) } else { a < b };
    match name {
        "min" => Some(if less { *a } else { *b }),
        "max" => Some(if less { *b } else { *a }),
        _ => None,
    }
}

/// The result of inline assembly.
///
/// # Errors
///
/// Everything but one known instruction with register operands.
pub(crate) fn evaluate(module: &Module, asm: &InlineAsm, site: &Site<'_>) -> Result<Option<Value>, Fault> {
    let unsupported = || Fault::unsupported(format!("inline assembly `{}`", asm.text));
    let text = asm.text.trim().trim_end_matches(';').trim();
    if site.ret == TypeId::VOID && (text.is_empty() || text.starts_with("//")) {
        return Ok(None);
    }
    let (name, operands) = text.split_once(char::is_whitespace).ok_or_else(unsupported)?;
    let (name, ty) = name.rsplit_once('.').ok_or_else(unsupported)?;
    let (kind, width) = ty.split_at_checked(1).ok_or_else(unsupported)?;
    let width: u32 = width.parse().ok().filter(|width| [16, 32, 64].contains(width)).ok_or_else(unsupported)?;
    let expected: Vec<String> = (0..=site.args.len()).map(|number| format!("${number}")).collect();
    let named: Vec<&str> = operands.split(',').map(str::trim).collect();
    if named != expected || !matches!(kind, "b" | "s" | "u") || module.types.int_bits(site.ret).is_none() {
        return Err(unsupported());
    }
    let mut values = Vec::new();
    for arg in &site.args {
        match bits([arg]) {
            Ok([value]) => values.push(value),
            // An instruction of PTX makes something of any register.
            Err(_) => return Ok(Some(Value::OPEN)),
        }
    }
    let found = OPERATIONS.iter().find(|(known, count, _)| *known == name && *count == values.len());
    let result = match found {
        Some((_, _, operation)) => operation(width, &values),
        None => extremum(name, kind == "s", width, &values).ok_or_else(unsupported)?,
    };
    Ok(Some(Value::Bits(result & mask(width))))
}
