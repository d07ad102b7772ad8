//! Random programs.

use super::tree::{COUNT_MASK, Condition, Exchange, LANES, Mask, Op, Statement, Tree, WORDS};
use fastrand::Rng;
use oriole_cubin::Target;

/// Depth of branches and loops.
const DEEPEST: usize = 3;
/// Statements of a body.
const STATEMENTS: std::ops::RangeInclusive<usize> = 1..=5;

/// Integer reductions.
const REDUCTIONS: [&str; 9] =
    ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"];
/// Reductions of floats.
const FLOAT_REDUCTIONS: [&str; 2] = ["min.f32", "max.f32"];
/// Bits of a source that count.
const NARROW: [u32; 5] = [u32::MAX, 1, 3, 0x8000_0001, 0];

/// The random program of a seed for a target.
pub(in crate::fuzz) fn tree(name: &str, seed: u64, target: Target) -> Tree {
    let mut rng = Rng::with_seed(seed);
    let threads = [32, 32, 64, 48, 20, 96][rng.usize(..6)];
    let input = (0..threads * WORDS).map(|_| rng.u32(..)).collect();
    let mut generator = Generator { rng, target, sites: 0 };
    let body = (0..generator.rng.usize(3..=8)).map(|_| generator.statement(0, false)).collect();
    Tree { name: name.to_owned(), threads, input, seed, body }
}

struct Generator {
    rng: Rng,
    target: Target,
    sites: u32,
}

impl Generator {
    fn word(&mut self) -> usize {
        self.rng.usize(..WORDS)
    }

    fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(..from.len())]
    }

    fn condition(&mut self) -> Condition {
        match self.rng.bool() {
            true => Condition::Word { word: self.word(), bit: self.rng.u32(..u32::BITS) },
            false => Condition::Lane { bit: self.rng.u32(..LANES.ilog2()) },
        }
    }

    fn body(&mut self, depth: usize, repeats: bool) -> Vec<Statement> {
        let count = self.rng.usize(STATEMENTS);
        (0..count).map(|_| self.statement(depth, repeats)).collect()
    }

    /// `repeats`: it may be executed more than once.
    fn statement(&mut self, depth: usize, repeats: bool) -> Statement {
        match self.rng.u32(..16) {
            0 => Statement::Mix { to: self.word(), from: self.word(), constant: self.rng.u32(..) },
            1 | 2 => {
                Statement::Across { exchange: self.exchange(repeats), condition: self.condition(), other: self.word() }
            }
            3..=5 if depth < DEEPEST => Statement::If {
                condition: self.condition(),
                then: self.body(depth + 1, repeats),
                otherwise: if self.rng.bool() { self.body(depth + 1, repeats) } else { Vec::new() },
            },
            6 if depth < DEEPEST && !repeats => {
                Statement::Loop { count: self.word(), body: self.body(depth + 1, true) }
            }
            7 if self.rng.bool() => {
                Statement::Exit(Condition::Word { word: self.word(), bit: self.rng.u32(..u32::BITS) })
            }
            8 | 9 => {
                Statement::Exchange { exchange: self.exchange(repeats), guard: Some(self.condition()), call: false }
            }
            10 | 11 => Statement::Exchange { exchange: self.exchange(repeats), guard: None, call: true },
            _ => Statement::Exchange { exchange: self.exchange(repeats), guard: None, call: false },
        }
    }

    fn exchange(&mut self, repeats: bool) -> Exchange {
        let mask = match self.rng.u32(..8) {
            0 => Mask::Here,
            1 => Mask::Constant,
            2 | 3 => Mask::Tile(1 << self.rng.u32(1..=4)),
            4 => Mask::Label { word: self.word(), bits: self.rng.u32(1..=COUNT_MASK) },
            5 => Mask::Half(self.condition()),
            6 if !repeats => {
                self.sites += 1;
                Mask::Memory { site: self.sites }
            }
            _ => Mask::Alone,
        };
        Exchange { op: self.op(), mask, to: self.word(), from: self.word(), narrow: self.choose(&NARROW) }
    }

    fn op(&mut self) -> Op {
        let has_floats = self.target.sm / 10 == 10 && self.target != Target::new(self.target.sm);
        loop {
            return match self.rng.u32(..12) {
                0 => Op::Ballot,
                1 | 2 => Op::Vote(self.choose(&["all", "any", "uni"])),
                3 => Op::MatchAny { wide: self.rng.bool() },
                4 => Op::MatchAll { wide: self.rng.bool(), pred: self.rng.bool() },
                5 | 6 if self.target.sm >= 80 => Op::Reduce(self.choose(&REDUCTIONS)),
                7 if has_floats => Op::Reduce(self.choose(&FLOAT_REDUCTIONS)),
                8 if self.target.sm >= 90 => Op::Elect { pred: self.rng.bool() },
                9 => Op::Index { last: self.rng.bool() },
                10 if self.rng.bool() => Op::Butterfly(self.rng.u32(1..LANES as u32)),
                10 => Op::Shift { up: self.rng.bool(), by: self.rng.u32(1..LANES as u32) },
                11 => Op::Memory,
                _ => continue,
            };
        }
    }
}
