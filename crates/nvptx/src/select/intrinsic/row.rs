//! The rows of the tables of intrinsics, as text.
//!
//! A row is `NAME FORM OPERANDS`. `(a|b=c)` in a name stands for one row with `a` and one with `b`; `<1>` in what
//! follows is what the first such group stands for: `a`, or `c` for `b=c`. `@5:1` behind a name says that the row is for calls whose argument 5 is
//! the constant 1; one that a call has not counts as 0. In a form `.*` is the state space of the first address, `#` the width of the result in bits,
//! and a leading `!` says that the instruction stays though nobody reads its result.

use oriole_ptx::ast::{Selector, SpecialReg};

/// One operand of a row.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Slot {
    /// `d`: the next result.
    Result,
    /// `{d}`: all results.
    Results,
    /// `{d*}`: all results but the last.
    ResultsButLast,
    /// `_`
    Sink,
    /// `d|d`
    ResultPair,
    /// `$0`
    Arg(usize),
    /// `$0?1`: argument 0 if argument 1 is the constant 1, else nothing.
    ArgIf(usize, usize),
    /// `[$0]`
    Address(usize),
    /// `[$0 $1 {$2 $3}]`: a texture or surface, its sampler, coordinates.
    Handle(Vec<usize>, Vec<usize>),
    /// `{$0..4}`: arguments from one number to before another, or to the end.
    Args(usize, usize),
    /// `{$0 $1 $1}`
    List(Vec<usize>),
    /// `%tid.x`
    Special(SpecialReg, Option<Selector>),
    /// `5`
    Number(i64),
}

/// A row of a table.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row {
    /// `fma.rn.f32`, with `.*` and `#`.
    pub(super) form: String,
    pub(super) slots: Vec<Slot>,
    /// Arguments that are these constants.
    pub(super) when: Vec<(usize, u128)>,
    /// May go when nobody reads its results.
    pub(super) pure: bool,
}

/// The names, each with its row, that a line stands for; `None` for one that cannot be read. Empty lines and comments
/// stand for none.
pub(super) fn read_line(line: &str) -> Option<Vec<(String, Row)>> {
    let line = line.split_once('#').filter(|(before, _)| before.is_empty()).map_or(line, |_| "").trim();
    if line.is_empty() {
        return Some(Vec::new());
    }
    let (pattern, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let row = |(name, groups): (String, Vec<&str>)| {
        let mut rest = rest.to_owned();
        for (index, group) in groups.iter().enumerate() {
            rest = rest.replace(&format!("<{}>", index + 1), group);
        }
        let (name, conditions) = name.split_once('@').map_or((name.as_str(), ""), |(name, rest)| (name, rest));
        let conditions = conditions.split('@').filter(|text| !text.is_empty());
        let when = conditions.map(|text| {
            let (argument, value) = text.split_once(':')?;
            Some((argument.parse().ok()?, value.parse().ok()?))
        });
        Some((name.to_owned(), Row { when: when.collect::<Option<_>>()?, ..read_row(rest.trim())? }))
    };
    expand(pattern).into_iter().map(row).collect()
}

/// The first word, up to a dot, of the names that a line stands for.
pub(super) fn families(line: &str) -> Vec<String> {
    let pattern = line.split(char::is_whitespace).next().unwrap_or_default();
    let mut depth = 0;
    let end = pattern.find(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == '.' && depth == 0
    });
    let mut families: Vec<String> = Vec::new();
    for (name, _) in expand(&pattern[..end.unwrap_or(pattern.len())]) {
        let family = name.split('.').next().unwrap_or_default().split('@').next().unwrap_or_default();
        families.push(family.to_owned());
    }
    families.sort_unstable();
    families.dedup();
    families
}

/// All names that a pattern stands for, with what its groups stand for in each.
fn expand(pattern: &str) -> Vec<(String, Vec<&str>)> {
    let mut names = vec![(String::new(), Vec::new())];
    let mut rest = pattern;
    while let Some((before, (group, after))) =
        rest.split_once('(').and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
    {
        let mut longer = Vec::new();
        for (name, groups) in names {
            for way in group.split('|') {
                let (own, value) = way.split_once('=').unwrap_or((way, way));
                let mut groups: Vec<&str> = groups.clone();
                groups.push(value);
                longer.push((format!("{name}{before}{own}"), groups));
            }
        }
        names = longer;
        rest = after;
    }
    names.iter_mut().for_each(|(name, _)| name.push_str(rest));
    names
}

/// `FORM OPERANDS`
fn read_row(text: &str) -> Option<Row> {
    let (form, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let operands = operands.split(',').map(str::trim).filter(|text| !text.is_empty());
    let slots = operands.map(read_slot).collect::<Option<Vec<Slot>>>()?;
    Some(Row { form: form.trim_start_matches('!').to_owned(), slots, when: Vec::new(), pure: !form.starts_with('!') })
}

fn read_slot(text: &str) -> Option<Slot> {
    Some(match text {
        "d" => Slot::Result,
        "{d}" => Slot::Results,
        "{d*}" => Slot::ResultsButLast,
        "_" => Slot::Sink,
        "d|d" => Slot::ResultPair,
        _ if text.starts_with('$') => match text.split_once('?') {
            Some((value, flag)) => Slot::ArgIf(argument(value)?, flag.parse().ok()?),
            None => Slot::Arg(argument(text)?),
        },
        _ if text.starts_with('[') => {
            let inner = text.strip_prefix('[')?.strip_suffix(']')?;
            match inner.split_once('{') {
                None if inner.contains(' ') => return None,
                None => Slot::Address(argument(inner)?),
                Some((handles, coordinates)) => {
                    Slot::Handle(arguments(handles)?, arguments(coordinates.strip_suffix('}')?)?)
                }
            }
        }
        _ if text.starts_with('{') => {
            let inner = text.strip_prefix('{')?.strip_suffix('}')?;
            match inner.split_once("..") {
                Some((from, "")) => Slot::Args(argument(from)?, usize::MAX),
                Some((from, to)) => Slot::Args(argument(from)?, to.parse().ok()?),
                None => Slot::List(arguments(inner)?),
            }
        }
        _ => match text.strip_prefix('%') {
            Some(name) => {
                let (name, part) = name.split_once('.').map_or((name, None), |(name, part)| (name, Some(part)));
                let part = match part {
                    None => None,
                    Some("x") => Some(Selector::X),
                    Some("y") => Some(Selector::Y),
                    Some("z") => Some(Selector::Z),
                    Some("w") => Some(Selector::W),
                    Some(_) => return None,
                };
                Slot::Special(SpecialReg::from_name(name)?, part)
            }
            None => Slot::Number(text.parse().ok()?),
        },
    })
}

/// `$3`
fn argument(text: &str) -> Option<usize> {
    text.trim().strip_prefix('$')?.parse().ok()
}

/// `$3 $4`
fn arguments(text: &str) -> Option<Vec<usize>> {
    text.split_whitespace().map(argument).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stand_for_rows() {
        let rows = read_line("(fmin=min|fmax=max)(|.ftz).f  <1><2>.f32  d, $0, $1").unwrap_or_default();
        let names: Vec<_> = rows.iter().map(|(name, row)| (name.as_str(), row.form.as_str())).collect();
        assert_eq!(
            names,
            [
                ("fmin.f", "min.f32"),
                ("fmin.ftz.f", "min.ftz.f32"),
                ("fmax.f", "max.f32"),
                ("fmax.ftz.f", "max.ftz.f32")
            ]
        );
        let rows = read_line("cp.x@2:(0=|1=.hint)@3:7  !cp<1>  [$0], $1?2").unwrap_or_default();
        let rows: Vec<_> =
            rows.iter().map(|(name, row)| (name.as_str(), row.form.as_str(), row.when.clone())).collect();
        assert_eq!(rows, [("cp.x", "cp", vec![(2, 0), (3, 7)]), ("cp.x", "cp.hint", vec![(2, 1), (3, 7)])]);
        assert_eq!(families("(fmin=min|fmax=max)(|.ftz).f  x"), ["fmax", "fmin"]);
        assert_eq!(families("brev(32|64) x"), ["brev32", "brev64"]);
        assert_eq!(families("tex.1d.v4(f32|s32).(s32|f32) x"), ["tex"]);
    }

    #[test]
    fn operands() {
        assert_eq!(read_slot("[$0 $1 {$2 $3}]"), Some(Slot::Handle(vec![0, 1], vec![2, 3])));
        assert_eq!(read_slot("{$2..}"), Some(Slot::Args(2, usize::MAX)));
        assert_eq!(read_slot("{$2 $2}"), Some(Slot::List(vec![2, 2])));
        assert_eq!(read_slot("$4?6"), Some(Slot::ArgIf(4, 6)));
        assert_eq!(read_slot("%tid.x"), Some(Slot::Special(SpecialReg::Tid, Some(Selector::X))));
        for wrong in ["", "$", "[$0", "{$0..x}", "%nothing", "%tid.q", "[$0 $1]"] {
            assert_eq!(read_slot(wrong), None, "{wrong}");
        }
    }
}
