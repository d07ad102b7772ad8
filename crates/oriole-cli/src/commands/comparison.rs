//! Whether two arrays are equal, and how far they are from it.

use super::elements::{self, Class, Number};
use oriole_device::array::ArrayType;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which differences count: `|got - expected| > atol + rtol * |expected|`, as NumPy's `isclose` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tolerance {
    /// Relative.
    pub(crate) rtol: f64,
    /// Absolute.
    pub(crate) atol: f64,
    /// What of NaNs.
    pub(crate) nan: NanPolicy,
}

/// Whether NaN is equal to NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NanPolicy {
    /// Yes, whatever their bits are.
    #[default]
    Equal,
    /// No: an expected NaN is never met.
    Differ,
}

/// How two arrays differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// Element type and shape.
    #[serde(rename = "type")]
    array: String,
    elements: usize,
    /// How many elements differ.
    differ: usize,
    /// Those of them where one of the two is an infinity or no number, so that there is no error to measure.
    not_finite: usize,
    /// The first of them.
    first: Pair,
    /// The largest difference of two numbers among them, if there is any.
    max_absolute: Option<Error>,
    /// The largest difference as a share of what was expected.
    max_relative: Option<Error>,
}

/// An element of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pair {
    index: String,
    expected: String,
    got: String,
}

impl Pair {
    fn of(array: &ArrayType, element: &str, (at, got, expected): Element) -> Pair {
        let text = |value| elements::text(element, value);
        Pair { index: index(array, at), expected: text(expected), got: text(got) }
    }
}

/// How far an element is from what was expected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Error {
    error: f64,
    #[serde(flatten)]
    element: Box<Pair>,
}

/// How `got` differs from `expected`, both arrays of that type; none where all elements are equal.
pub(crate) fn compare(array: &ArrayType, got: &[u8], expected: &[u8], tolerance: Tolerance) -> Option<Difference> {
    let (element, size) = (array.element(), array.element_size());
    // Equal bits may be those of a NaN.
    let is_float = elements::class(element) == Class::Float;
    let pairs = got.chunks_exact(size).zip(expected.chunks_exact(size)).enumerate();
    let (mut differ, mut not_finite, mut first) = (0, 0, None);
    let (mut absolute, mut relative) = (Most::default(), Most::default());
    for (at, (got, expected)) in pairs.filter(|(_, (got, expected))| got != expected || is_float) {
        let (got, expected) = (elements::read(element, got), elements::read(element, expected));
        let error = error(got, expected);
        if tolerance.admits(got, expected, error) {
            continue;
        }
        differ += 1;
        not_finite += usize::from(!error.is_finite());
        first.get_or_insert((at, got, expected));
        absolute.note(error, (at, got, expected));
        relative.note(error / expected.as_f64().abs(), (at, got, expected));
    }
    let first = Pair::of(array, element, first?);
    Some(Difference {
        array: array.to_string(),
        elements: count(array),
        differ,
        not_finite,
        first,
        max_absolute: absolute.error(array, element),
        max_relative: relative.error(array, element),
    })
}

/// The place of an element, what it is, and what was expected.
type Element = (usize, Number, Number);

/// The largest error so far, and the element that has it.
#[derive(Default)]
struct Most(Option<(f64, Element)>);

impl Most {
    fn note(&mut self, error: f64, element: Element) {
        if error.is_finite() && self.0.is_none_or(|(most, _)| error > most) {
            self.0 = Some((error, element));
        }
    }

    fn error(&self, array: &ArrayType, element: &str) -> Option<Error> {
        self.0.map(|(error, at)| Error { error, element: Box::new(Pair::of(array, element, at)) })
    }
}

fn count(array: &ArrayType) -> usize {
    array.size().map_or(0, |size| size as usize / array.element_size())
}

/// Integers are subtracted exactly.
fn error(got: Number, expected: Number) -> f64 {
    match (got, expected) {
        (Number::Integer(got), Number::Integer(expected)) => (got - expected).abs() as f64,
        _ => (got.as_f64() - expected.as_f64()).abs(),
    }
}

impl Tolerance {
    fn admits(self, got: Number, expected: Number, error: f64) -> bool {
        let (got, expected) = (got.as_f64(), expected.as_f64());
        if got.is_nan() || expected.is_nan() {
            return got.is_nan() && expected.is_nan() && self.nan == NanPolicy::Equal;
        }
        // An infinity is near itself alone; the difference of two is none.
        if got.is_infinite() || expected.is_infinite() {
            return got == expected;
        }
        error <= self.atol + self.rtol * expected.abs()
    }
}

/// `[1,5]`: the place of an element in its array.
fn index(array: &ArrayType, at: usize) -> String {
    let mut rest = at as u64;
    let mut parts: Vec<String> = Vec::with_capacity(array.shape().len());
    for dim in array.shape().iter().rev() {
        parts.push((rest % dim.max(&1)).to_string());
        rest /= dim.max(&1);
    }
    parts.reverse();
    format!("[{}]", parts.join(","))
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { array, elements, differ, not_finite, first, .. } = self;
        write!(f, "{array}: {differ} of {elements} elements differ")?;
        if *not_finite > 0 {
            write!(f, ", {not_finite} of them by an infinity or NaN")?;
        }
        write!(f, "\n  first {}: expected {}, got {}", first.index, first.expected, first.got)?;
        for (name, error) in [("absolute", &self.max_absolute), ("relative", &self.max_relative)] {
            if let Some(Error { error, element }) = error {
                let Pair { index, expected, got } = &**element;
                write!(f, "\n  max {name} error {error:?} at {index}: expected {expected}, got {got}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_device::array::Demand;

    fn difference(array: &str, got: &[f32], expected: &[f32], tolerance: Tolerance) -> Option<Difference> {
        let bytes = |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|value| value.to_le_bytes()).collect() };
        let array = Demand::parse(array).and_then(|demand| demand.array()).expect("a type with a shape");
        compare(&array, &bytes(got), &bytes(expected), tolerance)
    }

    #[test]
    fn differences_are_named() {
        let found = difference("f32[2,2]", &[1.0, 2.0, 3.5, 5.0], &[1.0, 2.0, 3.0, 4.0], Tolerance::default());
        assert_eq!(
            found.expect("two differ").to_string(),
            "f32[2,2]: 2 of 4 elements differ\n  first [1,0]: expected 3.0, got 3.5\n  max absolute error 1.0 at [1,1]: expected 4.0, \
             got 5.0\n  max relative error 0.25 at [1,1]: expected 4.0, got 5.0"
        );
    }

    #[test]
    fn tolerances_nans_and_infinities() {
        let (nan, infinite) = (f32::NAN, f32::INFINITY);
        let near = Tolerance { rtol: 0.125, atol: 0.25, ..Tolerance::default() };
        let never = Tolerance { nan: NanPolicy::Differ, ..near };
        let rows = [
            (near, 2.5, 2.0, true),
            (near, 2.0 + 0.25 + 0.25, 2.0, true),
            (near, 2.53125, 2.0, false),
            (near, nan, nan, true),
            (never, nan, nan, false),
            (near, nan, 1.0, false),
            (near, 1.0, nan, false),
            (near, infinite, infinite, true),
            (near, -infinite, infinite, false),
            (near, infinite, 1.0, false),
            (near, 1e30, infinite, false),
            (Tolerance::default(), -0.0, 0.0, true),
        ];
        for (tolerance, got, expected, equal) in rows {
            assert_eq!(difference("f32[1]", &[got], &[expected], tolerance).is_none(), equal, "{got} {expected}");
        }
    }

    #[test]
    fn all_that_differ_are_counted_and_the_worst_is_shown() {
        let found =
            difference("f32[4]", &[f32::NAN, 2.5, f32::INFINITY, -4.0], &[1.0, 2.0, 3.0, 4.0], Tolerance::default());
        assert_eq!(
            found.expect("all differ").to_string(),
            "f32[4]: 4 of 4 elements differ, 2 of them by an infinity or NaN\n  first [0]: expected 1.0, got NaN\n  \
             max absolute error 8.0 at [3]: expected 4.0, got -4.0\n  max relative error 2.0 at [3]: expected 4.0, got -4.0"
        );
    }

    #[test]
    fn integers_are_compared_exactly() {
        let array = Demand::parse("u64[1]").and_then(|demand| demand.array()).expect("a type");
        let [low, high] = [u64::MAX - 1, u64::MAX].map(u64::to_le_bytes);
        assert!(compare(&array, &low, &high, Tolerance::default()).is_some());
        assert!(compare(&array, &low, &high, Tolerance { atol: 1.0, ..Tolerance::default() }).is_none());
    }
}
