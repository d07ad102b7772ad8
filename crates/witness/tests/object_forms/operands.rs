//! What the registers of a form stand for: the forms say how they are loaded, not what they are.

use super::random::Random;
use std::collections::BTreeMap;

/// What an operand stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The handle of the only image.
    Handle,
    /// A layer or sample.
    Layer,
    /// A coordinate that numbers texels.
    Integer,
    /// A coordinate in units of texels, or 0 to 1.
    Single,
    /// The first coordinate of a surface, in units of an access.
    Column,
    Level,
    Gradient,
    Offset,
    Depth,
    /// Bytes of a copy.
    Size,
}

/// How an image is read or changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// Coordinates from 0 to 1 span the image.
    pub(super) normalized: bool,
    /// Coordinates are singles.
    pub(super) singles: bool,
    /// What the first coordinate of a surface is a multiple of.
    pub(super) unit: i64,
    /// An access outside is a fault.
    pub(super) traps: bool,
}

impl Role {
    /// Bits of a number that suits: inside and outside of the image, unless that is a fault.
    pub(super) fn number(self, setting: &Setting, random: &mut Random) -> u64 {
        let single = |value: f64| u64::from((value as f32).to_bits());
        let integer = |value: i64| u64::from(value as u32);
        match self {
            Role::Handle => 1,
            Role::Layer | Role::Integer if setting.traps => integer(random.within(0, 2)),
            Role::Column if setting.traps => integer(random.within(0, 8) * setting.unit),
            Role::Column => integer(random.within(-2, 10) * setting.unit),
            Role::Layer => integer(random.within(-1, 5)),
            Role::Integer => integer(random.within(-3, 11)),
            Role::Single if setting.normalized => single(random.between(-2, 3)),
            Role::Single => single(random.between(-4, 12)),
            Role::Level if setting.singles => single(random.between(-1, 4)),
            Role::Level => integer(random.within(-1, 4)),
            Role::Gradient => single(1.3 * f64::powi(2.0, random.within(-6, 3) as i32)),
            Role::Offset => integer(random.within(-8, 8)),
            Role::Depth => single(random.between(-2, 2)),
            Role::Size => integer(16 * random.within(0, 17)),
        }
    }
}

/// The parts between commas that are in no braces and brackets.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let at_top = |letter: char| {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    };
    text.split(at_top).map(str::trim).collect()
}

/// The elements of a vector, or the operand itself.
fn elements(operand: &str) -> impl Iterator<Item = &str> {
    operand.trim_matches(['{', '}']).split(',')
}

/// What the registers of a copy are: sources, but for the size behind two addresses.
pub(super) fn roles_of_copy(operands: &str) -> BTreeMap<&str, Role> {
    split(operands).get(2).filter(|size| size.starts_with("%i")).map(|size| (*size, Role::Size)).into_iter().collect()
}

/// What each register of an instruction on an image is; `has` tells which words its opcode has, `operands` follow it.
pub(super) fn roles<'f>(operands: &'f str, has: impl Fn(&str) -> bool, is_surface: bool) -> BTreeMap<&'f str, Role> {
    let mut roles = BTreeMap::new();
    let operands = split(operands);
    let Some(at) = operands.iter().position(|operand| operand.starts_with('[')) else { return roles };
    let inner = split(operands[at].trim_matches(['[', ']']));
    roles.insert(inner[0], Role::Handle);
    let mut note = |operand: &'f str, role| {
        for register in elements(operand) {
            roles.entry(register).or_insert(role);
        }
    };
    if let [_, .., place] = inner[..] {
        // Layer and sample come first.
        let before = [["a1d", "a2d", "acube", "a2dms"], ["2dms", "a2dms", "", ""]];
        let before = before.iter().filter(|words| words.iter().any(|word| has(word))).count();
        for (n, register) in elements(place).enumerate() {
            let role = match n {
                _ if n < before => Role::Layer,
                _ if is_surface && n == before => Role::Column,
                _ if has("single") => Role::Single,
                _ => Role::Integer,
            };
            note(register, role);
        }
    }
    let mut rest = operands[at + 1..].iter().copied();
    if is_surface {
        return roles;
    }
    rest.by_ref().take(usize::from(has("level"))).for_each(|level| note(level, Role::Level));
    rest.by_ref().take(if has("grad") { 2 } else { 0 }).for_each(|step| note(step, Role::Gradient));
    rest.for_each(|operand| note(operand, if operand.starts_with('{') { Role::Offset } else { Role::Depth }));
    roles
}
