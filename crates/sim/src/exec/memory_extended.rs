//! Accesses to global memory that only some targets have: of 256 bits, by the uniform datapath, and to
//! multicast addresses.

use super::address::{Address, AddressWidth};
use super::memory::{read_registers, size_of, write_registers};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::WARP;
use crate::operand::{Dst, Src, operand};
use crate::space::{Named, Place};
use crate::state::{RZ, State};
use oriole_device::Access;
use oriole_isa::{Field, Inst, Opcode, Role, UredType, Value};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::LDG_256 => load(inst)?,
        Opcode::STG_256 => store(inst)?,
        Opcode::USTGR => uniform_store(inst),
        Opcode::UREDGR => uniform_reduction(inst),
        Opcode::LDGMC => multicast_load(inst)?,
        Opcode::CCTL_LDCU => Box::new(|_: &mut State, _: &mut Env<'_>| Ok(())),
        _ => return Ok(None),
    }))
}

/// Bytes of each half of an access of 256 bits.
const HALF: u32 = 16;

/// The words of either half that take part, by their number in it. They lie in consecutive registers: with the mask
/// 0xd the quad that starts at R8 has words 0, 2 and 3 in R8, R9 and R10 (ptxas's code of `ld.v8` with `_` elements).
fn words_of_halves(inst: &Inst) -> [Vec<usize>; 2] {
    let mask = match operand(inst, Role::Mask).value {
        Value::Imm(mask) => mask,
        _ => 0xff,
    };
    [0, 4].map(|from| (0..4).filter(|word| mask >> (from + word) & 1 != 0).collect())
}

/// Where both halves of an access are.
fn halves(address: &Address, state: &State) -> [[Place; WARP]; 2] {
    let addresses = address.lanes(state);
    [0, u64::from(HALF)].map(|plus| addresses.map(|address| Named::Global.place(address.wrapping_add(plus))))
}

/// `LDG.256`.
fn load(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Wide)?;
    // The quad that is named first takes the upper half: `LDG.256 R8, R4` loads eight registers from R4 on.
    let to = [Role::D2, Role::D].map(|role| Dst::of(inst, role));
    let wanted = words_of_halves(inst);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let places = halves(&address, state);
        env.report(Access::Read, 2 * HALF, state.active, &places[0]);
        for (places, (to, wanted)) in places.iter().zip(to.iter().zip(&wanted)) {
            let Dst::Register(first) = *to else { continue };
            for lane in state.active_lanes() {
                let words = env.spaces.load(places[lane], HALF, lane).map_err(|kind| Halt::fault(lane, kind))?;
                for (register, &word) in (first..RZ).zip(wanted) {
                    state.set_lane(register, lane, words[word]);
                }
            }
        }
        Ok(())
    }))
}

/// `STG.256`.
fn store(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Wide)?;
    let from = [Role::Data, Role::Data2].map(|role| Src::of(inst, role));
    let wanted = words_of_halves(inst);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let places = halves(&address, state);
        env.report(Access::Write, 2 * HALF, state.active, &places[0]);
        for lane in state.active_lanes() {
            for (places, (from, wanted)) in places.iter().zip(from.iter().zip(&wanted)) {
                let words = read_registers(state, *from, HALF, lane);
                let Place::Global(start) = places[lane] else { continue };
                for (value, &word) in words.into_iter().zip(wanted) {
                    let place = Place::Global(start.wrapping_add(4 * word as u64));
                    env.spaces.store(place, 4, lane, [value, 0, 0, 0]).map_err(|kind| Halt::fault(lane, kind))?;
                }
            }
        }
        Ok(())
    }))
}

/// The address of an instruction of the uniform datapath.
fn uniform_address(inst: &Inst) -> impl Fn(&State) -> u64 + use<> {
    let (base, offset) = (Src::of(inst, Role::Base), Src::of(inst, Role::Offset));
    move |state: &State| base.wide_scalar(state).wrapping_add(offset.wide_scalar(state))
}

/// `USTGR`: one store for the warp.
fn uniform_store(inst: &Inst) -> Effect {
    let (address, data) = (uniform_address(inst), Src::of(inst, Role::Data));
    let (size, _) = size_of(inst);
    Box::new(move |state: &mut State, env: &mut Env<'_>| {
        env.require_turn()?;
        let (lane, value) = (state.first_active(), data.wide_scalar(state));
        let place = Place::Global(address(state));
        env.report(Access::Write, size, 1 << lane, &[place; WARP]);
        let words = [value as u32, (value >> 32) as u32, 0, 0];
        env.spaces.store(place, size, lane, words).map_err(|kind| Halt::fault(lane, kind))
    })
}

/// `UREDGR`: one addition for the warp.
fn uniform_reduction(inst: &Inst) -> Effect {
    let (address, data) = (uniform_address(inst), Src::of(inst, Role::Data));
    let wide = inst.get(Field::URED_TYPE) == UredType::X64;
    Box::new(move |state: &mut State, env: &mut Env<'_>| {
        env.require_turn()?;
        let (lane, value) = (state.first_active(), data.wide_scalar(state));
        let place = Place::Global(address(state));
        env.report(Access::Atomic, if wide { 8 } else { 4 }, 1 << lane, &[place; WARP]);
        let fault = |kind| Halt::fault(lane, kind);
        if wide {
            let sum = |old: [u32; 4]| {
                let sum = (u64::from(old[0]) | u64::from(old[1]) << 32).wrapping_add(value);
                [sum as u32, (sum >> 32) as u32, 0, 0]
            };
            env.spaces.update_wide(place, 8, lane, sum).map_err(fault)?;
        } else {
            env.spaces.update32(place, lane, |old| old.wrapping_add(value as u32)).map_err(fault)?;
        }
        Ok(())
    })
}

/// `LDGMC`: there is one device, whose value is the combination of those of all.
fn multicast_load(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Wide)?;
    let size = 4 * inst.opcode.position(Role::D).map_or(1, |at| u32::from(inst.width(at)));
    let Dst::Register(to) = Dst::of(inst, Role::D) else {
        return Err(Unsupported("LDGMC without a register".into()));
    };
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        env.require_turn()?;
        let places = address.lanes(state).map(Place::Global);
        env.report(Access::Read, size, state.active, &places);
        let mut values = [[0; WARP]; 4];
        for lane in state.active_lanes() {
            let words = env.spaces.load(places[lane], size, lane).map_err(|kind| Halt::fault(lane, kind))?;
            for (value, word) in values.iter_mut().zip(words) {
                value[lane] = word;
            }
        }
        write_registers(state, to, size, &values);
        Ok(())
    }))
}
