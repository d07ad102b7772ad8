//! `--shard I/N`: one of N slices of a long run, for machines that know nothing of each other; `oriole merge` puts their reports
//! together (`docs/machines.md`).

use super::failure::{Failure, rejected};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// One of so many slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    /// From 1 to `count`.
    number: u32,
    count: u32,
}

/// The commands that take `--shard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Work {
    Test,
    Fuzz,
    Tune,
}

/// What the report of a shard says about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) command: Work,
    #[serde(flatten)]
    shard: Shard,
    /// Pieces of the whole run: launches, programs, searches.
    items: u64,
    /// A hash of what chooses the pieces: shards of one run have the same.
    run: String,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers =
            text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        let (number, count): (u32, u32) =
            numbers.ok_or_else(|| format!("'{text}' is no shard: I/N, such as 2/4 for the second of four"))?;
        if number == 0 || number > count {
            return Err(format!("there is no shard {number} of {count}: they are numbered from 1"));
        }
        Ok(Shard { number, count })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl Shard {
    /// Its items of so many: neighbours, as many as in every other shard or one more. The shards in order have each item once, in
    /// order.
    pub(crate) fn slice(self, items: u64) -> Range<u64> {
        // No more than `items`.
        let bound = |shard: u32| (u128::from(items) * u128::from(shard) / u128::from(self.count)) as u64;
        bound(self.number - 1)..bound(self.number)
    }

    /// What its report says: `run` chooses the pieces.
    pub(crate) fn part(self, command: Work, items: u64, run: &impl fmt::Debug) -> Part {
        let run = blake3::hash(format!("{run:?}").as_bytes());
        Part { command, shard: self, items, run: run.to_hex().to_string() }
    }
}

/// Reports of shards in order, once it is sure that they are one whole run.
///
/// # Errors
/// A shard is missing or there twice, or they are of different runs.
pub(crate) fn in_order<R>(mut reports: Vec<(Part, R)>) -> Result<Vec<R>, Failure> {
    reports.sort_by_key(|(part, _)| part.shard.number);
    let Some((first, _)) = reports.first() else { return Ok(Vec::new()) };
    let of_run = |part: &Part| (part.command, part.shard.count, part.items, part.run.clone());
    if let Some((other, _)) = reports.iter().find(|(part, _)| of_run(part) != of_run(first)) {
        let [one, other] = [first.shard, other.shard];
        return Err(rejected(format!("shards {one} and {other} are not of the same run")));
    }
    for number in 1..=first.shard.count {
        let shard = Shard { number, ..first.shard };
        match reports.iter().filter(|(part, _)| part.shard == shard).count() {
            1 => {}
            0 => return Err(rejected(format!("the report of shard {shard} is missing"))),
            _ => return Err(rejected(format!("there are two reports of shard {shard}"))),
        }
    }
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(text: &str) -> Shard {
        text.parse().expect("a shard")
    }

    #[test]
    fn shards_have_each_item_once_in_order() {
        for count in [1, 2, 3, 7, 16] {
            for items in [0, 1, 2, 6, 7, 8, 100, u64::MAX] {
                let slices: Vec<Range<u64>> =
                    (1..=count).map(|number| shard(&format!("{number}/{count}")).slice(items)).collect();
                assert_eq!((slices[0].start, slices[slices.len() - 1].end), (0, items));
                assert!(slices.windows(2).all(|pair| pair[0].end == pair[1].start), "{slices:?}");
                let lengths: Vec<u64> = slices.iter().map(|slice| slice.end - slice.start).collect();
                assert!(lengths.iter().max().unwrap_or(&0) - lengths.iter().min().unwrap_or(&0) <= 1, "{lengths:?}");
            }
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        for text in ["", "1", "/", "1/", "/2", "0/2", "3/2", "1/0", "0/0", "-1/2", "1/2/3", "1.5/2", "1/4294967296"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn reports_are_put_in_order_if_they_are_one_run() {
        let report = |text: &str, run: &str| (shard(text).part(Work::Test, 5, &run), text.to_owned());
        let order = in_order(vec![report("3/3", "a"), report("1/3", "a"), report("2/3", "a")]).expect("all are there");
        assert_eq!(order, ["1/3", "2/3", "3/3"]);
        let refused = |reports| in_order(reports).expect_err("it is no whole run").message().to_owned();
        assert!(refused(vec![report("1/2", "a")]).contains("2/2 is missing"));
        assert!(
            refused(vec![report("1/2", "a"), report("1/2", "a"), report("2/2", "a")])
                .contains("two reports of shard 1/2")
        );
        assert!(refused(vec![report("1/2", "a"), report("2/2", "b")]).contains("not of the same run"));
        assert!(refused(vec![report("1/2", "a"), report("2/3", "a")]).contains("not of the same run"));
    }
}
