//! Instructions against arithmetic of the host, of `rustc_apfloat`, and the tables of the PTX manual.

// A lane indexes the registers of a warp side by side.
#![expect(clippy::needless_range_loop)]

mod convert;
mod coverage;
mod documented;
mod double;
mod facts;
mod float;
mod half;
mod host;
mod integer;
mod logic;
mod mufu;
mod pairs;
mod special;
mod wide;

use crate::constant::ConstantBanks;
use crate::identity::WarpIdentity;
use crate::lanes::{Lanes, Mask, WARP};
use crate::state::State;
use oriole_isa::Arch;
use rustc_apfloat::Round;
use std::sync::Arc;

/// Modifier text and mode of each rounding.
const ROUNDINGS: [(&str, Round); 4] = [
    ("", Round::NearestTiesToEven),
    (".RM", Round::TowardNegative),
    (".RP", Round::TowardPositive),
    (".RZ", Round::TowardZero),
];

/// The state of a full warp in a block of its own.
pub(crate) fn warp(arch: Arch) -> State {
    let identity = WarpIdentity {
        arch,
        tid: [[0; WARP]; 3],
        ctaid: [0; 3],
        warp: 0,
        threads: WARP as u32,
        shared_size: 0,
        registers: 255,
        block: 0,
        cluster_rank: 0,
    };
    let mut state = State::new(Arc::new(ConstantBanks::new()), identity).expect("there is room");
    state.active = Mask::MAX;
    state
}

/// Executes one instruction that only computes on registers.
pub(super) fn execute(state: &mut State, text: &str) {
    let inst =
        oriole_isa::parse(text, state.identity.arch, &|_| None).unwrap_or_else(|error| panic!("{text}: {error}"));
    let compute = super::arithmetic(&inst).unwrap_or_else(|error| panic!("{text}: {error}"));
    compute.unwrap_or_else(|| panic!("{text} is not computed on registers"))(state);
}

/// A warp whose registers tests set and read.
struct Warp {
    state: State,
}

impl Warp {
    fn new(arch: Arch) -> Self {
        Warp { state: warp(arch) }
    }

    /// `R<n>` in all lanes.
    fn with(mut self, n: usize, value: Lanes) -> Self {
        self.state.set_r(n, &value);
        self
    }

    /// `R<n>`, `R<n+1>` in all lanes.
    fn with_wide(mut self, n: usize, value: [u64; WARP]) -> Self {
        self.state.set_r_wide(n, &value);
        self
    }

    /// `P<n>` in all lanes.
    fn with_predicate(mut self, n: usize, value: Mask) -> Self {
        self.state.set_p(n, value);
        self
    }

    /// Executes the instructions, one a line.
    fn run(mut self, text: &str) -> Self {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            execute(&mut self.state, line);
        }
        self
    }

    fn r(&self, n: usize) -> Lanes {
        *self.state.r(n)
    }

    fn wide(&self, n: usize) -> [u64; WARP] {
        self.state.r_wide(n)
    }

    /// `P<n>` of one lane.
    fn p(&self, n: usize, lane: usize) -> bool {
        self.state.p(n) >> lane & 1 != 0
    }
}

/// A mixed stream of 64-bit numbers; the same for the same seed.
struct Stream(u64);

impl Iterator for Stream {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ z >> 31)
    }
}

/// Random words, among them many small ones and ones near the ends of the ranges.
fn words(seed: u64) -> Lanes {
    const CORNERS: [u32; 8] = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX - 1, u32::MAX];
    let mut stream = Stream(seed);
    std::array::from_fn(|_| {
        let z = stream.next().unwrap_or_default();
        match z % 4 {
            0 => CORNERS[(z >> 8) as usize % CORNERS.len()],
            1 => (z >> 32) as u32 >> (z >> 8 & 31),
            _ => (z >> 32) as u32,
        }
    })
}

/// Random 64-bit numbers with corners in either word.
fn wide_words(seed: u64) -> [u64; WARP] {
    let (low, high) = (words(seed), words(seed ^ 0x5555));
    std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
}

/// All pairs of `values`, 32 at a time; the last chunk is filled up with the first value.
fn pairs<T: Copy>(values: &[T]) -> Vec<([T; WARP], [T; WARP])> {
    let all: Vec<(T, T)> = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).collect();
    let at = |chunk: &[(T, T)], lane: usize| chunk.get(lane).copied().unwrap_or((values[0], values[0]));
    all.chunks(WARP)
        .map(|chunk| (std::array::from_fn(|lane| at(chunk, lane).0), std::array::from_fn(|lane| at(chunk, lane).1)))
        .collect()
}
