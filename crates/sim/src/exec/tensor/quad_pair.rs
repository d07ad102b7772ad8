//! `HMMA.884`: four 8x8x4 products at once, each of a pair of groups of four threads ("quads"): quads 0 and
//! 4, 1 and 5, 2 and 6, 3 and 7. The second quad of a pair holds rows 4 to 7 of A, C and D and columns
//! 4 to 7 of B.
//!
//! A step computes two registers of D: of an f32 D, registers 2 s and 2 s + 1 of the eight that the PTX
//! manual describes under `mma.m8n8k4`; of an f16 D, those of columns 4 s to 4 s + 3.

use super::dot::{Adder, Path};
use super::float::finite;
use super::fragment::registers;
use super::number::{F16, Term};
use crate::effect::{Compute, Unsupported};
use crate::exec::host;
use crate::lanes::WARP;
use crate::operand::Src;
use crate::state::State;
use oriole_isa::{Field, HmmaC, Inst, MmaAcc, MmaOrder, Role};

/// Rows of A, columns of B.
const LINES: usize = 8;
/// Products of an element of D.
const DEPTH: usize = 4;

/// The rows of A or columns of B of one pair of quads.
type Side = [[Term; DEPTH]; LINES];

/// The compiled form of `inst`.
pub(super) fn compile(inst: &Inst) -> Result<Compute, Unsupported> {
    let single = inst.get(Field::MMA_ACC) == MmaAcc::F32;
    let c_single = single && inst.get(Field::HMMA_C) == HmmaC::F32;
    let step = usize::from(inst.get(Field::MMA_STEP).code());
    let finite_only = inst.get(Field::SATFINITE);
    let [d, a, b, c] = [Role::D, Role::A, Role::B, Role::C].map(|role| registers(inst, role));
    let (d, a, b, c) = (d?.first, a?.first, b?.first, c?.first);
    let negated = [Role::A, Role::B, Role::C].map(|role| Src::of(inst, role).negated());
    // An element of A lies in the thread of its row if A is in rows; one of B in that of its column if B is
    // in columns.
    let a_by_line = inst.get(Field::ORDER_A) == MmaOrder::ROW;
    let b_by_line = inst.get(Field::ORDER_B) == MmaOrder::COL;
    Ok(host::compute(move |state: &mut State| {
        let adder = Adder::of(state.identity.arch, Path::Warp, F16, !single);
        let sides: [(Side, Side); 4] = std::array::from_fn(|pair| {
            (side(state, a, pair, a_by_line, negated[0]), side(state, b, pair, b_by_line, negated[1]))
        });
        let mut results = [[0; WARP]; 2];
        for lane in 0..WARP {
            let (a, b) = &sides[lane % 16 / 4];
            let count = if single { 2 } else { 4 };
            for n in 0..count {
                let element = count * step + n;
                let (row, column) = if single { single_place(lane, element) } else { half_place(lane, element) };
                let start = match (single, c_single) {
                    (true, true) => accumulator(state, c, lane, n, true),
                    // C has the elements of all four columns in the layout of halves.
                    (true, false) => {
                        let holder = lane % 16 / 4 * 4 + row % 4 + 16 * (row / 4);
                        widen(accumulator(state, c, holder, column % 4, false))
                    }
                    (false, _) => accumulator(state, c, lane, n, false),
                };
                let sign = if single { 1 << 31 } else { 1 << 15 };
                let start = if negated[2] { start ^ sign } else { start };
                let mut value = adder.add(&a[row], &b[column], 2 * F16.fraction, 0, start);
                if finite_only {
                    value = finite(value, adder.sum);
                }
                match single {
                    true => results[n][lane] = value,
                    false => results[n / 2][lane] |= value << (16 * (n % 2)),
                }
            }
        }
        state.set_r(d, &results[0]);
        state.set_r(d + 1, &results[1]);
    }))
}

/// Row and column of element `n` of eight of a lane, `f32`.
fn single_place(lane: usize, n: usize) -> (usize, usize) {
    ((lane & 1) + (n & 2) + 4 * (lane / 16), (n & 4) + (lane & 2) + (n & 1))
}

/// Row and column of element `n` of eight of a lane, `f16`.
fn half_place(lane: usize, n: usize) -> (usize, usize) {
    (lane % 4 + 4 * (lane / 16), n % 8)
}

/// Element `n` of those in the registers from `first` on.
fn accumulator(state: &State, first: usize, lane: usize, n: usize, single: bool) -> u32 {
    let (register, shift) = if single { (n, 0) } else { (n / 2, 16 * (n % 2)) };
    let word = if first == crate::state::RZ { 0 } else { state.lane(first + register, lane) };
    if single { word } else { word >> shift & 0xffff }
}

/// An `f16` as `f32`, exactly.
fn widen(bits: u32) -> u32 {
    (crate::exec::rounding::HALF.widen(bits) as f32).to_bits()
}

/// The lines of A or B of a pair of quads; with `by_line` each thread holds a line.
fn side(state: &State, first: usize, pair: usize, by_line: bool, negated: bool) -> Side {
    std::array::from_fn(|line| {
        std::array::from_fn(|k| {
            let (thread, n) = if by_line { (line % 4, k) } else { (k, line % 4) };
            let lane = 4 * pair + thread + 16 * (line / 4);
            let term = F16.term(accumulator(state, first, lane, n, false));
            if negated { term.negated() } else { term }
        })
    })
}
