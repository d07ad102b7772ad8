//! Predicates: logic on them, and packing them into registers; the return address registers.

use super::host;
use super::logic::{Truth, signs};
use crate::effect::{Compute, Unsupported};
use crate::lanes::{Mask, by_lane};
use crate::operand::{Dst, PredSrc, Src, operand};
use crate::state::{PT, State};
use oriole_isa::{Field, Inst, Opcode, RegFile, Role, RpcHalf, RpcSize, Value};

/// The compiled form of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst, opcode: Opcode) -> Result<Option<Compute>, Unsupported> {
    Ok(Some(match opcode {
        Opcode::RPCMOV => move_return_address(inst),
        Opcode::PLOP3 => plop3(inst)?,
        Opcode::P2R => to_register(inst),
        Opcode::R2P => from_register(inst),
        _ => return Ok(None),
    }))
}

/// `RPCMOV`: a word of the return address, or all of it, to or from a register.
fn move_return_address(inst: &Inst) -> Compute {
    let (d, a) = (Dst::of(inst, Role::D), Src::of(inst, Role::A));
    let wide = inst.get(Field::RPC_SIZE) == RpcSize::X64;
    let shift = if inst.get(Field::RPC_HALF) == RpcHalf::HI { 32 } else { 0 };
    if operand(inst, Role::A).value == Value::None {
        return host::compute(move |state: &mut State| match wide {
            true => d.set_wide(state, &{ state.return_address }),
            false => d.set(state, &state.return_address.map(|v| (v >> shift) as u32)),
        });
    }
    host::compute(move |state: &mut State| {
        let value = if wide { a.wide_bits(state) } else { a.bits(state).map(u64::from) };
        for lane in state.active_lanes() {
            let kept = if wide { 0 } else { state.return_address[lane] & !(0xffff_ffff << shift) };
            state.return_address[lane] = kept | value[lane] << if wide { 0 } else { shift };
        }
    })
}

/// A variable of `PLOP3`: a predicate, or the sign of a word.
#[derive(Clone, Copy)]
enum Variable {
    Predicate(PredSrc),
    Sign(Src, bool),
}

impl Variable {
    fn of(inst: &Inst, role: Role) -> Self {
        match operand(inst, role).value {
            Value::Reg(RegFile::R | RegFile::UR, _) | Value::Const { .. } | Value::ConstBindless { .. } => {
                let source = Src::of(inst, role);
                Variable::Sign(source, source.inverted())
            }
            _ => Variable::Predicate(PredSrc::of(inst, role)),
        }
    }

    fn mask(&self, state: &State) -> Mask {
        match self {
            Variable::Predicate(predicate) => predicate.mask(state),
            Variable::Sign(source, false) => signs(source, state),
            Variable::Sign(source, true) => !signs(source, state),
        }
    }
}

/// `PLOP3`: two functions of three predicates.
fn plop3(inst: &Inst) -> Result<Compute, Unsupported> {
    let (first, second) = (Truth::of(inst, Role::Lut)?, Truth::of(inst, Role::Lut2)?);
    let (pd, pd2) = (Dst::of(inst, Role::PD), Dst::of(inst, Role::PD2));
    let [a, b, c] = [Role::PA, Role::PB, Role::PC].map(|role| Variable::of(inst, role));
    Ok(host::compute(move |state: &mut State| {
        let (a, b, c) = (a.mask(state), b.mask(state), c.mask(state));
        pd.set_mask(state, first.apply(a, b, c));
        pd2.set_mask(state, second.apply(a, b, c));
    }))
}

/// `P2R`: the bits of `A` that the mask names, counted from the given byte, become predicates.
fn to_register(inst: &Inst) -> Compute {
    let (d, a, b) = (Dst::of(inst, Role::D), Src::of(inst, Role::A), Src::of(inst, Role::B));
    let at = 8 * u32::from(inst.get(Field::P2R_BYTE).code());
    host::compute(move |state: &mut State| {
        let (a, names) = (a.bits(state), b.bits(state));
        let predicates: [Mask; PT] = std::array::from_fn(|n| state.p(n));
        let packed = |lane: usize| (0..PT).fold(0, |bits, n| bits | (predicates[n] >> lane & 1) << n);
        let value = |lane: usize| {
            let names = names[lane] & 0x7f;
            a[lane] & !(names << at) | (packed(lane) & names) << at
        };
        d.set(state, &by_lane(value));
    })
}

/// `R2P`: the named predicates become bits of one byte of `A`.
fn from_register(inst: &Inst) -> Compute {
    let (a, b) = (Src::of(inst, Role::A), Src::of(inst, Role::B));
    let at = 8 * u32::from(inst.get(Field::P2R_BYTE).code());
    host::compute(move |state: &mut State| {
        let (a, names) = (a.bits(state), b.bits(state));
        for n in 0..PT {
            let named = super::lanewise::mask_of(&names.map(|v| v >> n & 1 != 0));
            let value = super::lanewise::mask_of(&a.map(|v| v >> at >> n & 1 != 0));
            let old = state.p(n);
            state.set_p(n, old & !named | value & named);
        }
    })
}
