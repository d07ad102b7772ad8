//! Small values of a manifest, each checked where it stands.

use crate::commands::elements::Number;
use crate::commands::run_args::duration;
use oriole_device::FaultKind;
use oriole_device::array::Demand;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use std::fmt;
use std::time::Duration;

/// A size in x, y and z: a number, or one to three of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dim(pub(super) [u32; 3]);

/// Seconds above zero.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Seconds(pub(super) Duration);

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Seconds, String> {
        duration(seconds).map(Seconds)
    }
}

/// A tolerance.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct NonNegative(pub(super) f64);

impl TryFrom<f64> for NonNegative {
    type Error = String;

    fn try_from(value: f64) -> Result<NonNegative, String> {
        if value >= 0.0 { Ok(NonNegative(value)) } else { Err(format!("{value} is no tolerance: a number from 0 on")) }
    }
}

/// An optimisation level.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i64")]
pub(super) struct Level(pub(super) u8);

impl TryFrom<i64> for Level {
    type Error = String;

    fn try_from(level: i64) -> Result<Level, String> {
        let level = u8::try_from(level).ok().filter(|level| *level <= 3);
        level.map(Level).ok_or_else(|| "the optimisation levels are 0 to 3".to_owned())
    }
}

/// A number of instructions.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i64")]
pub(super) struct Limit(pub(super) u64);

impl TryFrom<i64> for Limit {
    type Error = String;

    fn try_from(limit: i64) -> Result<Limit, String> {
        let above_zero = u64::try_from(limit).ok().filter(|limit| *limit > 0);
        above_zero.map(Limit).ok_or_else(|| format!("{limit} is no limit: a number from 1 on"))
    }
}

/// The name of a kind of fault.
#[derive(Clone, Copy, Debug)]
pub(super) struct FaultName(pub(super) &'static str);

impl<'de> Deserialize<'de> for FaultName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = FaultKind::NAMES.iter().find(|known| **known == name);
        known.map(|known| FaultName(known)).ok_or_else(|| de::Error::unknown_variant(&name, &FaultKind::NAMES))
    }
}

/// An element type, with a shape or without: `f32`, `f32[64,32]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Type {
    /// As it is written.
    pub(super) text: String,
    /// What it says; none of the types of scalars that arrays do not have.
    pub(super) demand: Option<Demand>,
}

impl TryFrom<String> for Type {
    type Error = String;

    fn try_from(text: String) -> Result<Type, String> {
        let demand = Demand::parse(&text);
        let is_bits = matches!(text.as_str(), "b8" | "b16" | "b32" | "b64");
        if demand.is_none() && !is_bits {
            return Err(format!("'{text}' is no type, such as f32 or f32[64,32]"));
        }
        Ok(Type { text, demand })
    }
}

/// A number, or its text where TOML has none such: `"0x80"`, `"18446744073709551615"`, `"nan"`.
#[derive(Clone, Debug)]
pub(super) struct Scalar(pub(super) String);

/// Visits what is a scalar.
struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar(format!("{value:?}")))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// Reads a TOML integer or float.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Number>, D::Error> {
    let Scalar(text) = Scalar::deserialize(deserializer)?;
    let number = text.parse().map(Number::Integer).ok().or_else(|| text.parse().map(Number::Float).ok());
    number.map(Some).ok_or_else(|| de::Error::custom(format!("'{text}' is no number")))
}

impl<'de> Deserialize<'de> for Dim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneToThree;
        impl<'de> Visitor<'de> for OneToThree {
            type Value = Dim;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or one to three in an array, each from 1 on")
            }

            fn visit_i64<E: de::Error>(self, size: i64) -> Result<Dim, E> {
                Ok(Dim([size_of_dim(size)?, 1, 1]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sizes: A) -> Result<Dim, A::Error> {
                let mut dim = [1; 3];
                let mut count = 0;
                while let Some(size) = sizes.next_element::<i64>()? {
                    let place = dim.get_mut(count).ok_or_else(|| de::Error::invalid_length(4, &self))?;
                    *place = size_of_dim(size)?;
                    count += 1;
                }
                if count == 0 { Err(de::Error::invalid_length(0, &self)) } else { Ok(Dim(dim)) }
            }
        }
        deserializer.deserialize_any(OneToThree)
    }
}

fn size_of_dim<E: de::Error>(size: i64) -> Result<u32, E> {
    let above_zero = u32::try_from(size).ok().filter(|size| *size > 0);
    above_zero.ok_or_else(|| E::custom(format!("{size} is no size: a number from 1 on")))
}
