//! What a program writes: the lanes of a warp step by step, by the definitions of the PTX manual.

use super::tree::{COUNT_MASK, Condition, Exchange, LANES, MIX, Mask, Op, Statement, Tree, WORDS};
use fastrand::Rng;
use std::collections::BTreeMap;

/// What the host found.
pub(super) struct Evaluation {
    /// The output: the words of each thread.
    pub(super) output: Vec<u32>,
    /// The masks in memory: a row for each site, a word for each thread.
    pub(super) masks: Vec<Vec<u32>>,
}

impl Tree {
    pub(super) fn evaluate(&self) -> Evaluation {
        let mut rows: BTreeMap<u32, Vec<u32>> =
            self.sites().into_iter().map(|site| (site, vec![0; self.threads])).collect();
        let mut output = Vec::new();
        for first in (0..self.threads).step_by(LANES) {
            let lanes = (self.threads - first).min(LANES);
            let word = |lane: usize, word| self.input.get((first + lane) * WORDS + word).copied().unwrap_or(0);
            let mut warp = Warp {
                words: std::array::from_fn(|lane| std::array::from_fn(|at| word(lane, at))),
                live: u32::MAX >> (LANES - lanes),
                first,
                seed: self.seed,
                rows: &mut rows,
            };
            warp.run(&self.body, warp.live);
            output.extend(warp.words[..lanes].iter().flatten());
        }
        Evaluation { output, masks: rows.into_values().collect() }
    }
}

struct Warp<'r> {
    words: [[u32; WORDS]; LANES],
    live: u32,
    /// Number of its first thread.
    first: usize,
    seed: u64,
    rows: &'r mut BTreeMap<u32, Vec<u32>>,
}

fn lanes_of(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..LANES).filter(move |lane| mask >> lane & 1 == 1)
}

impl Warp<'_> {
    fn run(&mut self, body: &[Statement], lanes: u32) {
        for statement in body {
            self.step(statement, lanes & self.live);
        }
    }

    fn step(&mut self, statement: &Statement, here: u32) {
        match statement {
            Statement::Mix { to, from, constant } => {
                for lane in lanes_of(here) {
                    let value = self.words[lane][*from] ^ constant;
                    self.mix(lane, *to, value);
                }
            }
            Statement::Exchange { exchange, guard, .. } => {
                let here = guard.map_or(here, |condition| here & self.holds(condition));
                self.exchange(exchange, here, |_| exchange.from);
            }
            Statement::Across { exchange, condition, other } => {
                let there = self.holds(*condition);
                self.exchange(exchange, here, |lane| if there >> lane & 1 == 1 { *other } else { exchange.from });
            }
            Statement::If { condition, then, otherwise } => {
                let holds = self.holds(*condition);
                self.run(then, here & holds);
                self.run(otherwise, here & !holds);
            }
            Statement::Loop { count, body } => {
                let counts = self.words.map(|words| words[*count] & COUNT_MASK);
                for round in 0..COUNT_MASK {
                    let more =
                        lanes_of(here).filter(|lane| counts[*lane] > round).fold(0, |mask, lane| mask | 1 << lane);
                    self.run(body, more & self.live);
                }
            }
            Statement::Exit(condition) => self.live &= !(here & self.holds(*condition)),
        }
    }

    fn mix(&mut self, lane: usize, to: usize, value: u32) {
        let word = &mut self.words[lane][to];
        *word = word.wrapping_mul(MIX).wrapping_add(value);
    }

    /// The lanes for which a condition holds.
    fn holds(&self, condition: Condition) -> u32 {
        match condition {
            Condition::Word { word, bit } => self.lanes_where(|lane| self.words[lane][word] >> bit & 1 == 1),
            Condition::Lane { bit } => self.lanes_where(|lane| lane >> bit & 1 == 1),
        }
    }

    fn lanes_where(&self, holds: impl Fn(usize) -> bool) -> u32 {
        (0..LANES).filter(|lane| holds(*lane)).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// The members of each lane's mask among the lanes that are here.
    fn members(&mut self, mask: Mask, here: u32) -> [u32; LANES] {
        let of_lane = |lane: usize, same: &dyn Fn(usize) -> bool| {
            if here >> lane & 1 == 0 { 0 } else { here & self.lanes_where(same) }
        };
        match mask {
            Mask::Here | Mask::Constant => [here; LANES],
            Mask::Tile(size) => {
                std::array::from_fn(|lane| of_lane(lane, &|other| other / size as usize == lane / size as usize))
            }
            Mask::Label { word, bits } => {
                let label = |lane: usize| self.words[lane][word] & ((1 << bits) - 1);
                std::array::from_fn(|lane| of_lane(lane, &|other| label(other) == label(lane)))
            }
            Mask::Half(condition) => {
                let holds = self.holds(condition);
                std::array::from_fn(|lane| of_lane(lane, &|other| (holds >> other ^ holds >> lane) & 1 == 0))
            }
            Mask::Alone => std::array::from_fn(|lane| of_lane(lane, &|other| other == lane)),
            Mask::Memory { site } => {
                let mut rng = Rng::with_seed(self.seed ^ u64::from(site) << 32 ^ self.first as u64);
                let parts = rng.u32(1..=5);
                let part: [u32; LANES] = std::array::from_fn(|_| rng.u32(..parts));
                let masks = std::array::from_fn(|lane| of_lane(lane, &|other| part[other] == part[lane]));
                if let Some(row) = self.rows.get_mut(&site) {
                    lanes_of(here).for_each(|lane| row[self.first + lane] = masks[lane]);
                }
                masks
            }
        }
    }

    fn exchange(&mut self, exchange: &Exchange, here: u32, from: impl Fn(usize) -> usize) {
        let members = self.members(exchange.mask, here);
        let low = |lane: usize| self.words[lane][from(lane)] & exchange.narrow;
        let high = |lane: usize| self.words[lane][(from(lane) + 1) % WORDS] & exchange.narrow;
        let low: [u32; LANES] = std::array::from_fn(low);
        let high: [u32; LANES] = std::array::from_fn(high);
        for lane in lanes_of(here) {
            self.mix(lane, exchange.to, outcome(exchange.op, lane, members[lane], &low, &high));
        }
    }
}

/// What a lane gets of the members' values.
fn outcome(op: Op, lane: usize, members: u32, low: &[u32; LANES], high: &[u32; LANES]) -> u32 {
    let those =
        |holds: &dyn Fn(usize) -> bool| lanes_of(members).filter(|at| holds(*at)).fold(0u32, |mask, at| mask | 1 << at);
    let is_same = |wide: bool, other: usize| low[other] == low[lane] && (!wide || high[other] == high[lane]);
    let ballot = those(&|at| low[at] & 1 == 1);
    let of_member = |at: usize| if members >> at & 1 == 1 { low[at] } else { low[lane] };
    let first = lanes_of(members).next().unwrap_or(lane);
    match op {
        Op::Ballot => ballot,
        Op::Vote("all") => u32::from(ballot == members),
        Op::Vote("any") => u32::from(ballot != 0),
        Op::Vote(_) => u32::from(ballot == members || ballot == 0),
        Op::MatchAny { wide } => those(&|at| is_same(wide, at)),
        Op::MatchAll { wide, pred } => {
            let all = those(&|at| is_same(wide, at)) == members;
            if pred { u32::from(all) } else { members * u32::from(all) }
        }
        Op::Reduce(op) => reduced(op, lanes_of(members).map(|at| low[at])),
        Op::Elect { pred } => {
            if pred {
                u32::from(first == lane)
            } else {
                first as u32
            }
        }
        Op::Index { last: false } | Op::Memory => low[first],
        Op::Index { last: true } => low[lanes_of(members).last().unwrap_or(lane)],
        Op::Shift { up: true, by } => lane.checked_sub(by as usize).map_or(low[lane], of_member),
        Op::Shift { up: false, by } => Some(lane + by as usize).filter(|at| *at < LANES).map_or(low[lane], of_member),
        Op::Butterfly(bits) => of_member(lane ^ bits as usize),
    }
}

/// `redux.sync` of the values; there is at least one.
fn reduced(op: &str, values: impl Iterator<Item = u32> + Clone) -> u32 {
    let floats = || values.clone().map(f32::from_bits);
    let least = |sign: f32| {
        let key = |value: &f32| (sign * value).to_bits() as i32;
        // Numbers alone are compared, in the order of their bits with the sign: -0 is below +0.
        let order = |value: &f32| {
            if key(value) < 0 { i64::from(key(value) & i32::MAX).wrapping_neg() - 1 } else { i64::from(key(value)) }
        };
        floats().filter(|value| !value.is_nan()).min_by_key(order).map_or(0x7fff_ffff, f32::to_bits)
    };
    let found = match op {
        "add.u32" | "add.s32" => values.reduce(u32::wrapping_add),
        "and.b32" => values.reduce(|a, b| a & b),
        "or.b32" => values.reduce(|a, b| a | b),
        "xor.b32" => values.reduce(|a, b| a ^ b),
        "min.u32" => values.min(),
        "max.u32" => values.max(),
        "min.s32" => values.map(|value| value as i32).min().map(|value| value as u32),
        "max.s32" => values.map(|value| value as i32).max().map(|value| value as u32),
        "min.f32" => Some(least(1.0)),
        "max.f32" => Some(least(-1.0)),
        other => unreachable!("generate.rs makes no '{other}'"),
    };
    found.unwrap_or(0)
}
