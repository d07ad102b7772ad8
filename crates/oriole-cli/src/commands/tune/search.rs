//! The search: each value of each dimension alone, then what helped together, then by chance around the best.
//!
//! It goes by rounds of a fixed size, whose candidates follow from what was known before them: what is found does not depend on
//! how many are worked on at a time, and a limit of time only cuts the sequence off.

use super::bench::{Bench, Code, Measured, Refusal, Unfit};
use super::clock::Clock;
use super::space::{Point, Space};
use crate::commands::args::CodeArgs;
use blake3::Hash;
use fastrand::Rng;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};

/// Candidates of a round.
pub(super) const ROUND: usize = 8;
/// The best so many codes have others tried around them: around one alone a search stays where it is.
const PARENTS: usize = 4;
/// With so many new points in a row that have been tried before there are none left.
const STALE: usize = 1_000;

/// The best so far.
#[derive(Clone)]
pub(super) struct Best {
    pub(super) point: Point,
    pub(super) code: Code,
    pub(super) measured: Measured,
}

/// An improvement on the way.
pub(super) struct Step {
    /// How many had been tried with it.
    pub(super) trial: u64,
    pub(super) point: Point,
    pub(super) measured: Measured,
    pub(super) registers: Vec<u32>,
}

/// A candidate that does not count.
pub(super) struct Refused {
    pub(super) point: Point,
    pub(super) refusal: Refusal,
}

/// What has been tried.
#[derive(Default)]
pub(super) struct Tried {
    /// Candidates.
    pub(super) candidates: u64,
    /// Different codes among them, that of plain -O3 too.
    pub(super) codes: u64,
    pub(super) refused: Vec<Refused>,
    pub(super) steps: Vec<Step>,
}

/// A search.
pub(super) struct Search<'a> {
    pub(super) bench: &'a Bench<'a>,
    pub(super) space: &'a Space,
    /// The options of all candidates.
    pub(super) base: &'a CodeArgs,
    pub(super) clock: &'a Clock,
    /// Candidates in all.
    pub(super) trials: Option<u64>,
    /// Threads, of a candidate each: the same ones all the time.
    pub(super) workers: &'a ThreadPool,
    /// Called behind each round.
    pub(super) watch: &'a dyn Fn(&Tried, &Best),
}

/// How far a search is.
struct State {
    best: Best,
    tried: Tried,
    points: BTreeSet<Point>,
    /// By hash.
    codes: HashSet<Hash>,
    /// What is right as far as what measures sees, the least cost first; of equals the older.
    ranked: Vec<(u64, Point)>,
}

impl Search<'_> {
    /// Search from plain code on, which is the best at first.
    pub(super) fn run(&self, plain: Best, rng: &mut Rng) -> (Best, Tried) {
        let cost = plain.measured.cost();
        let mut state = State {
            codes: HashSet::from([blake3::hash(&plain.code.bytes)]),
            points: BTreeSet::from([plain.point.clone()]),
            ranked: vec![(cost, plain.point.clone())],
            tried: Tried { codes: 1, ..Tried::default() },
            best: plain,
        };
        for round in self.space.alone().chunks(ROUND) {
            self.round(&mut state, round);
        }
        self.together(&mut state, cost);
        while !self.is_over(&state) {
            let points = self.around(&state, rng);
            if points.is_empty() {
                break;
            }
            self.round(&mut state, &points);
        }
        state.best = self.simplified(state.best);
        (state.best, state.tried)
    }

    fn is_over(&self, state: &State) -> bool {
        self.clock.is_over() || self.trials.is_some_and(|trials| state.tried.candidates >= trials)
    }

    /// What was better than plain code alone is added to the best, whichever of it is best with it, as long as that helps.
    fn together(&self, state: &mut State, plain: u64) {
        let helped = state.ranked.iter().take_while(|(cost, _)| *cost < plain);
        let helped: Vec<Point> = helped.map(|(_, point)| point.clone()).take(2 * ROUND).collect();
        loop {
            let before = state.best.point.clone();
            let points: Vec<Point> = helped.iter().filter_map(|point| before.with(point)).collect();
            for round in points.chunks(ROUND) {
                self.round(state, round);
            }
            if state.best.point == before || self.is_over(state) {
                return;
            }
        }
    }

    /// New points near the best.
    fn around(&self, state: &State, rng: &mut Rng) -> Vec<Point> {
        let mut points: Vec<Point> = Vec::new();
        let mut stale = 0;
        while points.len() < ROUND && stale < STALE {
            // Half of them near the very best.
            let parents = &state.ranked[..state.ranked.len().min(PARENTS)];
            let parent = if rng.bool() { &state.best.point } else { &parents[rng.usize(..parents.len())].1 };
            let point = self.space.near(parent, rng);
            if state.points.contains(&point) || points.contains(&point) {
                stale += 1;
            } else {
                stale = 0;
                points.push(point);
            }
        }
        points
    }

    /// Try the points that are new, and take the best of them if it is better than all before.
    fn round(&self, state: &mut State, points: &[Point]) {
        let fresh = self.compiled(state, points);
        let measured = self.each(&fresh, |(_, code)| match self.bench.measure(code) {
            Err(Unfit::Late) => None,
            Err(Unfit::Refused(refusal)) => Some(Err(refusal)),
            Ok(measured) => Some(Ok(measured)),
        });
        let mut better: Vec<Best> = Vec::new();
        for ((point, code), measured) in fresh.into_iter().zip(measured) {
            match measured {
                // The time was over.
                None => {}
                Some(Err(refusal)) => state.refuse(&point, refusal),
                Some(Ok(measured)) => {
                    state.rank(measured.cost(), &point);
                    if self.bench.is_better(&measured, &state.best.measured) {
                        better.push(Best { point, code, measured });
                    }
                }
            }
        }
        self.take_best(state, better);
        (self.watch)(&state.tried, &state.best);
    }

    /// Code that there was none like before, of the points that are new.
    fn compiled(&self, state: &mut State, points: &[Point]) -> Vec<(Point, Code)> {
        let left = self.trials.map_or(u64::MAX, |trials| trials - state.tried.candidates);
        let mut new: Vec<&Point> = Vec::new();
        for point in points {
            if (new.len() as u64) < left && state.points.insert(point.clone()) {
                new.push(point);
            }
        }
        let compiled = self.each(&new, |point| Some(self.bench.compile(&self.space.code(point, self.base))));
        let mut fresh = Vec::new();
        for (point, code) in new.into_iter().zip(compiled) {
            let Some(code) = code else { continue };
            state.tried.candidates += 1;
            match code {
                Ok(code) if state.codes.insert(blake3::hash(&code.bytes)) => fresh.push((point.clone(), code)),
                Ok(_) => {}
                Err(refusal) => state.refuse(point, refusal),
            }
        }
        state.tried.codes += fresh.len() as u64;
        fresh
    }

    /// The first of those that are better that is proved to be right is the best from now on.
    fn take_best(&self, state: &mut State, mut better: Vec<Best>) {
        better.sort_by_key(|candidate| candidate.measured.cost());
        for candidate in better {
            match self.bench.prove(&candidate.code) {
                Ok(()) => {
                    state.tried.steps.push(Step {
                        trial: state.tried.candidates,
                        point: candidate.point.clone(),
                        measured: candidate.measured.clone(),
                        registers: candidate.code.registers.clone(),
                    });
                    state.best = candidate;
                    return;
                }
                Err(Unfit::Refused(refusal)) => state.refuse(&candidate.point, refusal),
                Err(Unfit::Late) => {}
            }
        }
    }

    /// The same code with fewer options: each that does nothing is left out, as far as there is time.
    fn simplified(&self, mut best: Best) -> Best {
        let mut needed = 0;
        while let Some(point) = self.space.simpler(&best.point).into_iter().nth(needed)
            && !self.clock.is_far_over()
        {
            let code = self.bench.compile(&self.space.code(&point, self.base));
            match code.is_ok_and(|code| code.bytes == best.code.bytes) {
                // What comes behind it has its place now.
                true => best.point = point,
                false => needed += 1,
            }
        }
        best
    }

    /// What comes of each, in order; nothing of what has not begun when the time is over.
    fn each<T: Sync, R: Send>(&self, pieces: &[T], work: impl Fn(&T) -> Option<R> + Sync) -> Vec<Option<R>> {
        let (clock, work) = (self.clock, &work);
        let piece = |piece: &T| if clock.is_over() { None } else { work(piece) };
        self.workers.install(|| pieces.par_iter().with_max_len(1).map(piece).collect())
    }
}

impl State {
    fn rank(&mut self, cost: u64, point: &Point) {
        let place = self.ranked.partition_point(|(other, _)| *other <= cost);
        self.ranked.insert(place, (cost, point.clone()));
    }

    /// It does not count, and nothing is tried around it.
    fn refuse(&mut self, point: &Point, refusal: Refusal) {
        self.ranked.retain(|(_, ranked)| ranked != point);
        self.tried.refused.push(Refused { point: point.clone(), refusal });
    }
}
