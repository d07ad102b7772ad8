//! `LDTM`, `STTM`, `LDTM.STAT`: a warp's lanes of tensor memory.
//!
//! Which cell a register of a lane holds is in the figures of "tcgen05 matrix fragments" of the PTX manual; CUTLASS's
//! `Copy_Traits<SM100_TMEM_LOAD_…>` have the same in formulas.

use super::super::fragment::{Registers, registers};
use super::{TensorAddress, misuse};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{Mask, WARP, lanes_of};
use crate::state::State;
use crate::tensor_cells::{By, Part};
use oriole_isa::{Field, Inst, Role, TmShape, TmStat, TmType};

/// Lanes of tensor memory that a warp reaches.
const OWN: usize = 32;
/// Warps that have lanes of their own.
const WARPS: usize = 4;

/// Which cells an instruction moves.
#[derive(Clone, Copy, Debug)]
struct Cells {
    at: TensorAddress,
    shape: TmShape,
    /// Registers of a lane.
    count: usize,
    /// A register is the low halves of two cells.
    halves: bool,
}

impl Cells {
    fn of(inst: &Inst, registers: Registers, halves: bool) -> Result<Self, Unsupported> {
        Ok(Cells { at: TensorAddress::of(inst)?, shape: inst.get(Field::TM_SHAPE), count: registers.count, halves })
    }

    /// The threads that take part.
    fn threads(self) -> Mask {
        match self.shape {
            TmShape::DP16B32_LOW => 0x0000_ffff,
            TmShape::DP16B32_HIGH => 0xffff_0000,
            _ => Mask::MAX,
        }
    }

    /// Lanes of tensor memory.
    fn height(self) -> usize {
        if self.shape == TmShape::DP32B32 { OWN } else { OWN / 2 }
    }

    /// Columns of tensor memory.
    fn width(self) -> usize {
        let columns = match self.shape {
            TmShape::DP16B64 | TmShape::DP16B128 | TmShape::DP16B256 => 2 * self.count,
            _ => self.count,
        };
        if self.halves { 2 * columns } else { columns }
    }

    /// Lane and column of register `n` of a thread, from the instruction's address on; of two columns, half the first.
    fn place(self, thread: usize, n: usize) -> (usize, usize) {
        match self.shape {
            TmShape::DP16B64 => (thread / 4 + 8 * (thread / 2 % 2), thread % 2 + 2 * n),
            TmShape::DP16B128 => (thread / 4 + 8 * (n % 2), thread % 4 + 4 * (n / 2)),
            TmShape::DP16B256 => (thread / 4 + 8 * (n / 2 % 2), 2 * (thread % 4) + n % 2 + 8 * (n / 4)),
            TmShape::DP16B32_LOW | TmShape::DP16B32_HIGH => (thread % 16, n),
            _ => (thread, n),
        }
    }

    /// Touches them, and gives the first lane and column.
    fn touch(self, state: &State, env: &mut Env<'_>, writes: bool) -> Result<(usize, usize), Halt> {
        let (lane, column) = self.at.place(state);
        let first = state.first_active();
        let own = OWN * (state.identity.warp as usize % WARPS);
        let is_own = lane == own || lane == own + OWN / 2 && self.height() < OWN;
        if !is_own {
            let what = format!(
                "warp {} reaches lanes {own} to {} of tensor memory, not {} lanes from lane {lane} on",
                state.identity.warp,
                own + OWN - 1,
                self.height()
            );
            return Err(misuse(first, what));
        }
        let (lanes, columns) = (lane..lane + self.height(), column..column + self.width());
        let part = Part { rank: env.spaces.rank, lanes, columns };
        env.touch_tensor(By::Warp, &part, writes).map_err(|kind| Halt::fault(first, kind))?;
        Ok((lane, column))
    }

    /// Register `n` of all threads.
    fn read(self, env: &Env<'_>, (lane, column): (usize, usize), n: usize) -> [u32; WARP] {
        let cell = |thread: usize| {
            let (down, along) = self.place(thread, n);
            let at = |column| env.tensor.cell(env.spaces.rank, lane + down, column);
            match self.halves {
                true => at(column + 2 * along) & 0xffff | at(column + 2 * along + 1) << 16,
                false => at(column + along),
            }
        };
        std::array::from_fn(cell)
    }

    /// Loads all registers, and gives them.
    fn load(self, to: Registers, state: &mut State, env: &mut Env<'_>) -> Result<Vec<[u32; WARP]>, Halt> {
        let from = self.touch(state, env, false)?;
        let values: Vec<_> = (0..self.count).map(|n| self.read(env, from, n)).collect();
        let active = state.active & self.threads();
        for (n, value) in values.iter().enumerate() {
            lanes_of(active).for_each(|lane| state.set_lane(to.first + n, lane, value[lane]));
        }
        Ok(values)
    }
}

/// `LDTM`.
pub(super) fn load(inst: &Inst) -> Result<Effect, Unsupported> {
    let to = registers(inst, Role::D)?;
    let cells = Cells::of(inst, to, inst.get(Field::TM_PACK))?;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| cells.load(to, state, env).map(drop)))
}

/// `LDTM.STAT`: also the greatest or least value of each thread.
pub(super) fn load_with_statistic(inst: &Inst) -> Result<Effect, Unsupported> {
    let (to, best) = (registers(inst, Role::D)?, registers(inst, Role::D2)?.first);
    let cells = Cells::of(inst, to, false)?;
    let choose = choice(inst);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let values = cells.load(to, state, env)?;
        for lane in lanes_of(state.active & cells.threads()) {
            let chosen = values.iter().map(|value| value[lane]).reduce(&choose);
            state.set_lane(best, lane, chosen.unwrap_or_default());
        }
        Ok(())
    }))
}

/// Which of two values is chosen.
fn choice(inst: &Inst) -> impl Fn(u32, u32) -> u32 + Send + Sync + use<> {
    let (stat, kind, nan) = (inst.get(Field::TM_STAT), inst.get(Field::TM_TYPE), inst.get(Field::TM_NAN));
    let greatest = matches!(stat, TmStat::MAX | TmStat::MAXABS);
    let absolute = matches!(stat, TmStat::MAXABS | TmStat::MINABS);
    // The order of floats is that of integers whose bits below the sign are inverted where it is set; -0 is less than 0.
    let key = move |bits: u32| match kind {
        TmType::U32 => i64::from(bits),
        TmType::S32 => i64::from(bits as i32),
        _ => i64::from(bits as i32 ^ ((bits as i32 >> 31) & i32::MAX)),
    };
    let is_nan = move |bits: u32| kind == TmType::F32 && f32::from_bits(bits).is_nan();
    move |a: u32, b: u32| {
        let clear = |bits: u32| if absolute { bits & 0x7fff_ffff } else { bits };
        let (a, b) = (clear(a), clear(b));
        match (is_nan(a), is_nan(b)) {
            (true, true) => crate::exec::rounding::NAN32,
            (false, false) => {
                if (key(a) > key(b)) == greatest {
                    a
                } else {
                    b
                }
            }
            _ if nan => crate::exec::rounding::NAN32,
            (true, false) => b,
            (false, true) => a,
        }
    }
}

/// `STTM`.
pub(super) fn store(inst: &Inst) -> Result<Effect, Unsupported> {
    let from = registers(inst, Role::Data)?;
    let cells = Cells::of(inst, from, inst.get(Field::TM_EXPAND))?;
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let (lane, column) = cells.touch(state, env, true)?;
        for thread in lanes_of(state.active & cells.threads()) {
            for n in 0..cells.count {
                let value = from.word(state, n, thread);
                let (down, along) = cells.place(thread, n);
                let row = env.tensor.lane_mut(env.spaces.rank, lane + down);
                if cells.halves {
                    row[column + 2 * along] = value & 0xffff;
                    row[column + 2 * along + 1] = value >> 16;
                } else {
                    row[column + along] = value;
                }
            }
        }
        Ok(())
    }))
}
