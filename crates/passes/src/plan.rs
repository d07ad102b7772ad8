//! Running a pipeline.

use crate::{Changed, Dump, Pass, Record, Repetition, Settings, Tally};
use std::ops::Range;
use std::time::{Duration, Instant};

/// What a pipeline works on: a function with what its passes share.
pub trait Unit<R> {
    /// Why a pass, or its verification, fails.
    type Error;

    /// Runs a pass. What counts its rewrites does so in [`Unit::tally`].
    ///
    /// # Errors
    /// The pass met what it cannot deal with.
    fn run(&mut self, pass: &Pass<R>) -> Result<Changed, Self::Error>;

    /// Checks the unit after a pass that changed it, and after the first of the list.
    ///
    /// # Errors
    /// What does not hold, with the name of the pass.
    fn verify(&mut self, pass: &Pass<R>) -> Result<(), Self::Error>;

    /// Where rewrites are counted.
    fn tally(&self) -> &Tally;

    /// Its name and its text, for dumps.
    fn dump(&self) -> (String, String);

    /// Whether passes that can be left out are, from now on.
    fn is_stopped(&self) -> bool {
        false
    }

    /// At the place of each pass, whether it has run (and for how long) or not.
    ///
    /// # Errors
    /// What looks on there fails.
    fn after(&mut self, _pass: &Pass<R>, _ran: Option<(Changed, Duration)>) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A pipeline as the settings let it run.
#[derive(Debug)]
pub struct Plan<'s, R: 'static> {
    list: &'static [Pass<R>],
    settings: &'s Settings,
    /// Where entries of the range run at the level: the number among the optional ones, or none.
    due: Vec<(usize, Option<u64>)>,
}

impl<'s, R> Plan<'s, R> {
    /// Entries `range` of a list.
    pub fn new(list: &'static [Pass<R>], range: Range<usize>, settings: &'s Settings) -> Plan<'s, R> {
        let mut optional = 0;
        let at_level = range.filter(|at| list[*at].level <= settings.level);
        let due = at_level.map(|at| {
            let number = (!list[at].needed).then_some(optional);
            optional += u64::from(number.is_some());
            (at, number)
        });
        Plan { list, settings, due: due.collect() }
    }

    /// The optional passes that each unit has numbers of runs for.
    pub fn optional(&self) -> Vec<&'static str> {
        self.due.iter().filter(|(_, number)| number.is_some()).map(|(at, _)| self.list[*at].name).collect()
    }

    /// Runs the passes on a unit before which there are `before` numbers of runs.
    ///
    /// # Errors
    /// The first failure of a pass or of a verification.
    pub fn run<U: Unit<R>>(&self, before: u64, unit: &mut U, record: &mut Record) -> Result<(), U::Error> {
        // Entries that have changed the unit, for those that run after them.
        let mut active: Vec<&'static str> = Vec::new();
        for &(at, optional) in &self.due {
            let pass = &self.list[at];
            let is_due = match pass.repetition {
                Repetition::After(earlier) => active.contains(&earlier),
                Repetition::Once | Repetition::Settle => true,
            };
            let rewrites = match optional {
                None => Some(u64::MAX),
                Some(_) if !self.settings.enables(pass) || unit.is_stopped() => None,
                Some(number) => self.rewrites(before + number),
            };
            let is_last = optional.is_some_and(|number| self.is_last(before + number));
            let ran = match rewrites.filter(|_| is_due) {
                Some(rewrites) => Some(self.run_one(at, rewrites, unit, record)?),
                None => None,
            };
            if is_last {
                let tally = ran.map(|_| unit.tally());
                let rule = tally.and_then(Tally::last).and_then(|rule| pass.rules.get(rule)).copied();
                record.last = Some((tally.map_or(0, Tally::all), rule));
            }
            active.extend(ran.filter(|(changed, _)| *changed == Changed::Yes).map(|_| pass.name));
            unit.after(pass, ran)?;
        }
        Ok(())
    }

    fn run_one<U: Unit<R>>(
        &self,
        at: usize,
        rewrites: u64,
        unit: &mut U,
        record: &mut Record,
    ) -> Result<(Changed, Duration), U::Error> {
        let pass = &self.list[at];
        unit.tally().start(rewrites);
        let start = Instant::now();
        let changed = unit.run(pass)?;
        let time = start.elapsed();
        record.note(at, pass, changed, time, unit.tally());
        if self.settings.verify && (changed == Changed::Yes || at == 0) {
            unit.verify(pass)?;
        }
        if self.settings.shows(pass.name, changed) {
            let (name, text) = unit.dump();
            record.dumps.push(Dump { unit: name, number: number(pass, at), pass: pass.name, text });
        }
        Ok((changed, time))
    }

    /// How many rewrites the run of that number (from 0) may make; `None` if it may not happen.
    fn rewrites(&self, run: u64) -> Option<u64> {
        let Some(limit) = self.settings.limit else { return Some(u64::MAX) };
        let last = self.is_last(run);
        (run < limit.runs).then(|| limit.rewrites.filter(|_| last).unwrap_or(u64::MAX))
    }

    fn is_last(&self, run: u64) -> bool {
        self.settings.limit.is_some_and(|limit| run + 1 == limit.runs)
    }
}

/// The published number of the pass that is entry `at`, or its place.
fn number<R>(pass: &Pass<R>, at: usize) -> u16 {
    // Pipelines are short lists.
    if pass.slots.is_empty() { at as u16 } else { pass.number() }
}
