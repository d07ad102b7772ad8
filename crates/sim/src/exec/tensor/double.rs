//! `DMMA`: D = A B + C of doubles, a chain of fused multiply-adds along K.

use super::fragment::{COLUMNS, Lines, Registers, check_depth, place, registers};
use crate::effect::{Compute, Unsupported};
use crate::exec::double::{quiet, soft_fma};
use crate::exec::host;
use crate::exec::rounding::Rounding;
use crate::lanes::{WARP, WideLanes, map3};
use crate::operand::{PredSrc, Src};
use crate::state::{RZ, State};
use oriole_isa::{Inst, Role};

/// An operand of doubles, two registers each.
#[derive(Clone, Copy, Debug)]
struct Doubles {
    registers: Registers,
    keep: u64,
    flip: u64,
}

impl Doubles {
    fn of(inst: &Inst, role: Role) -> Result<Self, Unsupported> {
        let source = Src::of(inst, role);
        let sign = 1u64 << 63;
        Ok(Doubles {
            registers: registers(inst, role)?,
            keep: if source.absolute() { !sign } else { u64::MAX },
            flip: if source.negated() { sign } else { 0 },
        })
    }

    /// How many a lane has.
    fn count(self) -> usize {
        self.registers.count / 2
    }

    /// Doubles of a line.
    fn length(self, lines: usize) -> usize {
        self.count() / (lines / 8) * 4
    }

    /// Number `n` of each lane.
    fn read(self, state: &State, n: usize) -> WideLanes {
        let first = if self.registers.first == RZ { RZ } else { self.registers.first + 2 * n };
        state.r_wide(first).map(|bits| (bits & self.keep) ^ self.flip)
    }

    /// Lines of A or B, as [`Registers::lines`] gives those of narrower elements.
    fn lines(self, state: &State, lines: usize) -> Lines<u64> {
        let stacked = lines / 8;
        let mut matrix = Lines::new(lines, self.length(lines));
        for n in 0..self.count() / stacked * stacked {
            for (lane, bits) in self.read(state, n).into_iter().enumerate() {
                matrix.line_mut(lane / 4 + 8 * (n % stacked))[4 * (n / stacked) + lane % 4] = bits;
            }
        }
        matrix
    }
}

/// The compiled form of `inst`.
pub(super) fn compile(inst: &Inst) -> Result<Compute, Unsupported> {
    let to = registers(inst, Role::D)?;
    let [a, b, c] = [Role::A, Role::B, Role::C].map(|role| Doubles::of(inst, role));
    let (a, b, c) = (a?, b?, c?);
    let counts = PredSrc::of(inst, Role::PA);
    let rounding = Rounding::of(inst);
    let rows = if to.count == 4 { 8 } else { 16 };
    check_depth(a.length(rows), b.length(COLUMNS), false)?;
    Ok(host::compute(move |state: &mut State| {
        let (a, b) = (a.lines(state, rows), b.lines(state, COLUMNS));
        let results: Vec<WideLanes> = (0..to.count / 2)
            .map(|n| {
                let start = if counts.mask(state) == 0 { [0; WARP] } else { c.read(state, n) };
                (0..a.line(0).len()).fold(start, |sum, k| {
                    let factor = |lines: &Lines<u64>, line: usize| lines.line(line)[k];
                    let a = std::array::from_fn(|lane| factor(&a, place(lane, n).0));
                    let b = std::array::from_fn(|lane| factor(&b, place(lane, n).1));
                    multiply_add(&a, &b, &sum, rounding)
                })
            })
            .collect();
        for (n, result) in results.iter().enumerate() {
            state.set_r_wide(if to.first == RZ { RZ } else { to.first + 2 * n }, result);
        }
    }))
}

/// `a * b + c` in each lane.
#[inline(always)]
fn multiply_add(a: &WideLanes, b: &WideLanes, c: &WideLanes, rounding: Rounding) -> WideLanes {
    if rounding == Rounding::Nearest {
        return map3(a, b, c, |a, b, c| {
            quiet(&[a, b, c], f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)))
        });
    }
    map3(a, b, c, soft_fma(rounding))
}
