//! What an array holds: a file's elements, a list, or what is made by a rule.

use super::value::{Scalar, Type, number};
use crate::commands::elements::{self, Class, Number};
use crate::commands::expect::of_file;
use oriole_device::array::{ArrayType, Demand};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::path::{Path, PathBuf};

/// The rules, and the keys that each goes by.
const FILLS: [(&str, &[&str]); 5] = [
    ("zeros", &[]),
    ("constant", &["value"]),
    ("iota", &["start", "step"]),
    ("uniform", &["low", "high", "seed"]),
    ("normal", &["mean", "std", "seed"]),
];

/// What an array holds.
#[derive(Clone, Debug)]
pub(super) enum Contents {
    /// Of this file: a `.npy` file, or the bytes as they are.
    File(PathBuf),
    /// These elements.
    List(Vec<Scalar>),
    /// Made by a rule.
    Fill(Box<Fill>),
}

/// A rule: `{ fill = "uniform", low = -1, high = 1, seed = 7 }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "FillTable")]
pub(super) struct Fill(FillTable);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FillTable {
    fill: String,
    value: Option<Scalar>,
    #[serde(default, deserialize_with = "number")]
    start: Option<Number>,
    #[serde(default, deserialize_with = "number")]
    step: Option<Number>,
    #[serde(default, deserialize_with = "number")]
    low: Option<Number>,
    #[serde(default, deserialize_with = "number")]
    high: Option<Number>,
    #[serde(default, deserialize_with = "number")]
    mean: Option<Number>,
    #[serde(default, deserialize_with = "number")]
    std: Option<Number>,
    seed: Option<u64>,
}

impl TryFrom<FillTable> for Fill {
    type Error = String;

    fn try_from(table: FillTable) -> Result<Fill, String> {
        let Some((fill, keys)) = FILLS.iter().find(|(name, _)| *name == table.fill) else {
            let known: Vec<&str> = FILLS.iter().map(|(name, _)| *name).collect();
            return Err(format!("no fill '{}'; there are {}", table.fill, known.join(", ")));
        };
        let given = [
            ("value", table.value.is_some()),
            ("start", table.start.is_some()),
            ("step", table.step.is_some()),
            ("low", table.low.is_some()),
            ("high", table.high.is_some()),
            ("mean", table.mean.is_some()),
            ("std", table.std.is_some()),
            ("seed", table.seed.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(key, is_given)| *is_given && !keys.contains(key)) {
            return Err(format!("the fill '{fill}' does not go by '{key}'"));
        }
        let needed = |key: &str| matches!(key, "value" | "low" | "high") && keys.contains(&key);
        match given.iter().find(|(key, is_given)| !is_given && needed(key)) {
            Some((key, _)) => Err(format!("the fill '{fill}' needs '{key}'")),
            None => Ok(Fill(table)),
        }
    }
}

impl Contents {
    /// The array, with its bytes; paths begin at `folder`.
    pub(super) fn make(&self, ty: Option<&Type>, folder: &Path) -> Result<(ArrayType, Vec<u8>), String> {
        let demand = ty.and_then(|ty| ty.demand.as_ref());
        let needed = || demand.ok_or("elements need a type, such as type = \"f32[1000]\"");
        match self {
            Contents::File(path) => {
                let path = folder.join(path);
                let file =
                    std::fs::read(&path).map_err(|error| format!("cannot read '{}': {error}", path.display()))?;
                of_file(&path, file, demand).map_err(|reason| format!("'{}': {reason}", path.display()))
            }
            Contents::List(list) => of_list(list, needed()?),
            Contents::Fill(fill) => {
                let Fill(fill) = fill.as_ref();
                let array = needed()?.array().ok_or("what is filled needs a shape, such as type = \"f32[1000]\"")?;
                let bytes = fill.bytes(&array)?;
                Ok((array, bytes))
            }
        }
    }
}

fn of_list(list: &[Scalar], demand: &Demand) -> Result<(ArrayType, Vec<u8>), String> {
    let element = demand.element();
    let parse = |(at, Scalar(text)): (usize, &Scalar)| {
        elements::parse(element, text).map_err(|reason| format!("element {at} of the list: {reason}"))
    };
    let bytes = list.iter().enumerate().map(parse).collect::<Result<Vec<_>, _>>()?.concat();
    let array = demand.of_size(bytes.len() as u64);
    array.map(|array| (array, bytes)).ok_or_else(|| format!("a list of {} elements is no {demand}", list.len()))
}

impl FillTable {
    fn bytes(&self, array: &ArrayType) -> Result<Vec<u8>, String> {
        let (element, size) = (array.element(), array.element_size());
        let bytes = array.size().ok_or_else(|| format!("{array} is too large"))? as usize;
        if self.fill == "zeros" {
            return Ok(vec![0; bytes]);
        }
        if let Some(Scalar(value)) = &self.value {
            return Ok(elements::parse(element, value)?.repeat(bytes / size));
        }
        let mut random = fastrand::Rng::with_seed(self.seed.unwrap_or(0));
        let mut out = Vec::with_capacity(bytes);
        for at in 0..bytes / size {
            let value = match self.fill.as_str() {
                "iota" => self.iota(at),
                "uniform" => self.uniform(&mut random, element)?,
                _ => self.normal(&mut random, element)?,
            };
            let written = elements::write(element, size, value);
            out.extend(written.ok_or_else(|| format!("element {at}, {value:?}, is no {element}"))?);
        }
        Ok(out)
    }

    fn iota(&self, at: usize) -> Number {
        let (start, step) = (self.start.unwrap_or(Number::Integer(0)), self.step.unwrap_or(Number::Integer(1)));
        match (start, step) {
            (Number::Integer(start), Number::Integer(step)) => {
                Number::Integer(start.saturating_add(step.saturating_mul(at as i128)))
            }
            _ => Number::Float(start.as_f64() + step.as_f64() * at as f64),
        }
    }

    /// `low <= value < high`.
    fn uniform(&self, random: &mut fastrand::Rng, element: &str) -> Result<Number, String> {
        let (low, high) = (self.low.unwrap_or(Number::Integer(0)), self.high.unwrap_or(Number::Integer(1)));
        let is_range = low.as_f64() < high.as_f64();
        let none = || format!("low = {:?} is not below high = {:?}", low.as_f64(), high.as_f64());
        match (elements::class(element), low, high) {
            _ if !is_range => Err(none()),
            (Class::Float, ..) => {
                let (low, high) = (low.as_f64(), high.as_f64());
                Ok(Number::Float(low + (high - low) * random.f64()))
            }
            (_, Number::Integer(low), Number::Integer(high)) => Ok(Number::Integer(random.i128(low..high))),
            _ => Err(format!("low and high of {element} are integers")),
        }
    }

    /// By Box and Muller.
    fn normal(&self, random: &mut fastrand::Rng, element: &str) -> Result<Number, String> {
        if elements::class(element) != Class::Float {
            return Err(format!("the fill 'normal' makes floats, not {element}"));
        }
        let (mean, std) = (self.mean.map_or(0.0, Number::as_f64), self.std.map_or(1.0, Number::as_f64));
        // The logarithm of what is never 0.
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        Ok(Number::Float(mean + std * radius * (std::f64::consts::TAU * random.f64()).cos()))
    }
}

impl<'de> Deserialize<'de> for Contents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PathListOrTable;
        impl<'de> Visitor<'de> for PathListOrTable {
            type Value = Contents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, a list of numbers, or a table with fill")
            }

            fn visit_str<E: de::Error>(self, path: &str) -> Result<Contents, E> {
                Ok(Contents::File(path.into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Contents, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Contents::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Contents, A::Error> {
                Fill::deserialize(MapAccessDeserializer::new(map)).map(|fill| Contents::Fill(Box::new(fill)))
            }
        }
        deserializer.deserialize_any(PathListOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Row {
        ty: Type,
        a: Contents,
    }

    fn make(ty: &str, contents: &str) -> Result<Vec<u8>, String> {
        let row: Row = toml::from_str(&format!("ty = '{ty}'\na = {contents}\n")).map_err(|e| e.message().to_owned())?;
        row.a.make(Some(&row.ty), Path::new(".")).map(|(_, bytes)| bytes)
    }

    #[test]
    fn rules_make_elements() {
        assert_eq!(make("u16[2]", "{ fill = 'zeros' }"), Ok(vec![0; 4]));
        assert_eq!(make("u16[2]", "{ fill = 'constant', value = 258 }"), Ok(vec![2, 1, 2, 1]));
        assert_eq!(make("s8[3]", "{ fill = 'iota', start = 1, step = -1 }"), Ok(vec![1, 0, 255]));
        let halves: Vec<u8> = [0.0f32, 0.5, 1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(make("f32[3]", "{ fill = 'iota', step = 0.5 }"), Ok(halves));
        assert_eq!(make("u64", "['18446744073709551615', '0x10', 3]").map(|bytes| bytes.len()), Ok(24));
        let random = |seed: u64| make("f64[100]", &format!("{{ fill = 'normal', seed = {seed} }}"));
        assert_eq!(random(1), random(1));
        assert_ne!(random(1), random(2));
    }

    /// The mean of the numbers and of their squares are those of the distributions, within five standard errors.
    #[test]
    fn random_numbers_are_distributed_as_asked() {
        const COUNT: usize = 10_000;
        let moments = |contents: &str| {
            let bytes = make(&format!("f64[{COUNT}]"), contents).expect("right");
            let values = bytes.chunks_exact(8).map(|bytes| elements::read("f64", bytes).as_f64());
            values.fold((0.0, 0.0), |(sum, squares), value| {
                (sum + value / COUNT as f64, squares + value * value / COUNT as f64)
            })
        };
        let (mean, square) = moments("{ fill = 'normal', mean = 2, std = 3 }");
        assert!((mean - 2.0).abs() < 0.15 && (square - 13.0).abs() < 1.0, "{mean} {square}");
        let (mean, square) = moments("{ fill = 'uniform', low = -1, high = 1 }");
        assert!(mean.abs() < 0.03 && (square - 1.0 / 3.0).abs() < 0.015, "{mean} {square}");
        let dice = make("u8[6000]", "{ fill = 'uniform', low = 1, high = 7 }").expect("right");
        let count = |face: u8| dice.iter().filter(|value| **value == face).count();
        assert!((1..7).all(|face| (850..1150).contains(&count(face))) && count(0) + count(7) == 0);
    }

    #[test]
    fn what_cannot_be_made_is_refused() {
        for (ty, contents, reason) in [
            ("u8[300]", "{ fill = 'iota' }", "element 256"),
            ("u64[2]", "{ fill = 'iota', step = '170141183460469231731687303715884105727' }", "element 1"),
            ("u64[3]", "{ fill = 'iota', step = '170141183460469231731687303715884105727' }", "element 1"),
            ("u8[2]", "{ fill = 'zeros', seed = 1 }", "does not go by 'seed'"),
            ("u8[2]", "{ fill = 'constant' }", "needs 'value'"),
            ("u8[2]", "{ fill = 'constant', value = -300 }", "does not fit"),
            ("u8[2]", "{ fill = 'normal' }", "makes floats"),
            ("u8[2]", "{ fill = 'uniform', low = 2, high = 2 }", "not below"),
            ("u8[2]", "{ fill = 'uniform', low = 0.5, high = 2 }", "integers"),
            ("u8", "{ fill = 'zeros' }", "needs a shape"),
            ("u8[3]", "[1, 2]", "a list of 2 elements is no u8[3]"),
            ("u8", "[1, 256]", "element 1 of the list"),
            ("u8", "'no-such-file'", "no-such-file"),
            ("u8[2]", "{ fill = 'ones' }", "no fill 'ones'"),
        ] {
            let error = make(ty, contents).expect_err(reason);
            assert!(error.contains(reason), "{error}");
        }
    }
}
