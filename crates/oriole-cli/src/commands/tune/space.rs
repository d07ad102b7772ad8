//! In what candidates may differ from plain -O3: dimensions by name, each with the values that are tried.
//!
//! All of them keep what a program means. What changes roundings (`contract`) is none of them: that one launch leaves the same bits with
//! it says nothing of the next.

use crate::commands::args::CodeArgs;
use fastrand::Rng;
use oriole_codegen::{CompileOptions, optional_passes};
use oriole_isa::SmDescription;
use std::collections::BTreeMap;

/// What a dimension sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lever {
    /// `--maxrregcount`.
    Registers,
    /// `--register-usage-level`.
    Usage,
    /// A knob.
    Knob(&'static str),
    /// A knob that is the seed of an order, eight bytes; its values are more than could be listed.
    Order(&'static str),
    /// An optional pass, which is left out.
    Pass(&'static str),
}

use Lever::{Knob, Order, Pass, Registers, Usage};

/// Steps of occupancy below plain -O3 that are tried.
const STEPS: usize = 3;
/// Fewer registers are no limit on any target.
const LEAST_REGISTERS: u32 = 24;
/// What a pass is set to that is left out.
const LEFT_OUT: i64 = 1;

/// The first dimensions in the order in which they are tried alone, what has been seen to matter most first. Of an order each value is a
/// byte that all blocks have: its last two bits say how far it is from the usual order.
const FIRST: &[(Lever, &[i64])] = &[
    (Order("order-seed"), &[0x10, 0x11, 0x13, 0x20, 0x21, 0x23]),
    (Knob("unroll"), &[0, 2, 8]),
    (Knob("unroll-limit"), &[12, 100, 300]),
    (Usage, &[0, 2, 7, 8, 9, 10]),
    (Order("reorder-seed"), &[0x10, 0x11, 0x12, 0x13]),
    (Knob("constant-prefetch"), &[0, 3, 16]),
    (Knob("pipelining"), &[0, 5, 30]),
    (Knob("invariant-registers"), &[0, 16, 128]),
    (Knob("predication-limit"), &[0, 8, 16, 48]),
    (Knob("speculation-limit"), &[0, 4, 16]),
    (Knob("extra-work"), &[0, 3]),
    (Knob("retries"), &[0]),
    (Knob("inline"), &[0]),
    (Knob("tail-calls"), &[0]),
    (Knob("uniform"), &[0]),
    (Knob("uniform-bases"), &[0]),
    (Knob("uniform-promotion"), &[0]),
    (Knob("predicate-selections"), &[0, 16]),
    (Knob("nested-limit"), &[0, 6]),
    (Knob("fold-offset-limit"), &[0]),
    (Knob("general-rounds"), &[1, 8]),
    (Knob("predication-block"), &[128, 2048]),
];

impl Lever {
    /// Set it so in the options of a compilation.
    fn set(self, value: i64, code: &mut CodeArgs) {
        match self {
            // The tables have small numbers.
            Registers => {
                let most = u32::try_from(value).unwrap_or(u32::MAX);
                code.maxrregcount = Some(code.maxrregcount.map_or(most, |limit| limit.min(most)));
            }
            Usage => code.register_usage_level = u8::try_from(value).ok(),
            Knob(name) | Order(name) => code.knob.push(format!("{name}={value}")),
            Pass(name) => code.disable_pass.push(name.to_owned()),
        }
    }
}

/// A dimension.
#[derive(Debug)]
struct Dimension {
    lever: Lever,
    values: Vec<i64>,
}

/// Where candidates are looked for.
#[derive(Debug)]
pub(super) struct Space(Vec<Dimension>);

/// A candidate: what differs from plain -O3, by dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point(BTreeMap<usize, i64>);

impl Space {
    /// Around code that needs so many registers.
    pub(super) fn around(registers: u32, sm: Option<&SmDescription>) -> Space {
        let first = FIRST.iter().map(|(lever, values)| (*lever, values.to_vec()));
        let budgets = sm.map(|sm| (Registers, steps_below(registers, sm)));
        let passes = optional_passes(CompileOptions::default().opt_level).map(|pass| (Pass(pass), vec![LEFT_OUT]));
        let all = first.chain(budgets).chain(passes);
        Space(all.map(|(lever, values)| Dimension { lever, values }).collect())
    }

    /// Each value of each dimension alone.
    pub(super) fn alone(&self) -> Vec<Point> {
        let of = |(at, dimension): (usize, &Dimension)| {
            let spread = |value: i64| if matches!(dimension.lever, Order(_)) { in_all_bytes(value) } else { value };
            let point = move |value: &i64| Point(BTreeMap::from([(at, spread(*value))]));
            dimension.values.iter().map(point).collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(of).collect()
    }

    /// Another point near this one.
    pub(super) fn near(&self, point: &Point, rng: &mut Rng) -> Point {
        let mut point = point.clone();
        let orders: Vec<usize> = (0..self.0.len()).filter(|at| matches!(self.0[*at].lever, Order(_))).collect();
        // One change mostly: what several do together is seldom good.
        let changes = 1 + u32::from(rng.u8(..4) == 0) + u32::from(rng.u8(..8) == 0);
        for _ in 0..changes {
            let at = if rng.bool() { rng.choice(orders.iter().copied()) } else { Some(rng.usize(..self.0.len())) };
            let Some(at) = at else { continue };
            let dimension = &self.0[at];
            let value = match dimension.lever {
                Order(_) => Some(other_order(point.0.get(&at).copied().unwrap_or(0), rng)).filter(|seed| *seed != 0),
                // One chance in so many that it is as in plain -O3.
                _ => dimension.values.get(rng.usize(..=dimension.values.len())).copied(),
            };
            match value {
                Some(value) => point.0.insert(at, value),
                None => point.0.remove(&at),
            };
        }
        point
    }

    /// The options of a candidate, with those that all have.
    pub(super) fn code(&self, point: &Point, base: &CodeArgs) -> CodeArgs {
        let mut code = base.clone();
        point.0.iter().for_each(|(at, value)| self.0[*at].lever.set(*value, &mut code));
        code
    }

    /// Points with a little less in them: one dimension as in plain -O3, or of an order the blocks of one byte.
    pub(super) fn simpler(&self, point: &Point) -> Vec<Point> {
        let with = |at: usize, value: Option<i64>| {
            let mut less = point.clone();
            match value {
                Some(value) => less.0.insert(at, value),
                None => less.0.remove(&at),
            };
            less
        };
        let mut all = Vec::new();
        for (at, value) in &point.0 {
            all.push(with(*at, None));
            if matches!(self.0[*at].lever, Order(_)) {
                let without = (0..i64::BITS).step_by(8).map(|byte| value & !(0xff << byte));
                all.extend(without.filter(|less| less != value && *less != 0).map(|less| with(*at, Some(less))));
            }
        }
        all
    }
}

impl Point {
    /// This one with what the other sets, where that is something that this one does not set so; none where it is not.
    pub(super) fn with(&self, other: &Point) -> Option<Point> {
        let mut both = self.clone();
        both.0.extend(&other.0);
        (both != *self).then_some(both)
    }
}

/// The most registers with which more warps run than with so many, step by step.
fn steps_below(registers: u32, sm: &SmDescription) -> Vec<i64> {
    let more_warps = |count: &u32| sm.warps_by_registers(*count) > sm.warps_by_registers(count + 1);
    let steps = (LEAST_REGISTERS..registers).rev().filter(more_warps).take(STEPS);
    steps.map(i64::from).collect()
}

/// A seed with the same byte for all blocks.
fn in_all_bytes(byte: i64) -> i64 {
    i64::from_le_bytes([byte as u8; size_of::<i64>()])
}

/// A seed with another order for some blocks, or for all of them.
fn other_order(seed: i64, rng: &mut Rng) -> i64 {
    let mut bytes = seed.to_le_bytes();
    match rng.u8(..8) {
        0 => bytes = rng.u64(..).to_le_bytes(),
        1 => bytes[rng.usize(..bytes.len())] = 0,
        _ => bytes[rng.usize(..bytes.len())] = rng.u8(..),
    }
    i64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_isa::Arch;
    use oriole_opt::knobs::{KNOBS, Value};
    use std::collections::BTreeSet;

    /// Knobs that are no dimension: what they change of a program's meaning or checks, and helps for tests.
    const NONE: [&str; 6] = [
        "contract",
        "emit-ldcu",
        "general-optimization",
        "published-minimum",
        "uniform-predicates",
        "uniform-registers",
    ];

    #[test]
    fn every_knob_is_a_dimension_or_known_to_be_none() {
        let named = |lever: &Lever| match lever {
            Knob(name) | Order(name) => Some(*name),
            _ => None,
        };
        let dimensions: BTreeSet<&str> = FIRST.iter().filter_map(|(lever, _)| named(lever)).collect();
        let known: BTreeSet<&str> = dimensions.iter().copied().chain(NONE).collect();
        assert_eq!(known, KNOBS.iter().map(|knob| knob.name).collect());
        assert!(NONE.iter().all(|name| !dimensions.contains(name)));
    }

    #[test]
    fn no_value_is_that_of_plain_code() {
        for (lever, values) in FIRST {
            let usual = match lever {
                Knob(name) | Order(name) => {
                    KNOBS.iter().find(|knob| knob.name == *name).map(|knob| match knob.default {
                        Value::Int(value) => value,
                        Value::Double(value) => value as i64,
                        Value::Bool(value) => value.into(),
                    })
                }
                _ => Some(5),
            };
            assert!(!values.contains(&usual.expect("there is such a knob")), "{lever:?}");
        }
    }

    #[test]
    fn steps_are_those_of_the_register_file() {
        // 65,536 registers, eight at a time for each thread: 12, 16, 20 warps with 168, 128, 96.
        assert_eq!(steps_below(200, Arch::Sm90.sm()), [168, 128, 96]);
        assert_eq!(steps_below(32, Arch::Sm90.sm()), [0i64; 0]);
    }

    /// All that comes near a point is made of values of the table, and of orders.
    #[test]
    fn neighbours_are_in_the_space() {
        let space = Space::around(64, Some(Arch::Sm80.sm()));
        let mut rng = Rng::with_seed(7);
        let mut point = Point::default();
        for _ in 0..2_000 {
            point = space.near(&point, &mut rng);
            for (at, value) in &point.0 {
                let dimension = &space.0[*at];
                let is_order = matches!(dimension.lever, Order(_)) && *value != 0;
                assert!(is_order || dimension.values.contains(value), "{dimension:?}: {value}");
            }
        }
    }

    #[test]
    fn what_is_simpler_has_less_in_it() {
        let space = Space::around(64, Some(Arch::Sm80.sm()));
        let orders = [0, 4].map(|at| (at, 0x0000_0012_0000_3400));
        let point = Point(orders.into_iter().chain([(1, 8)]).collect());
        let simpler = space.simpler(&point);
        // Each dimension, and each byte that is something.
        assert_eq!(simpler.len(), 3 + 2 * 2);
        assert!(simpler.iter().all(|less| less.with(&point).as_ref() == Some(&point)));
    }
}
