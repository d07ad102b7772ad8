//! Copies and reductions in bulk: `UBLKCP`, `UBLKRED`. Zeros in bulk: `UMEMSETS`.
//!
//! Operands as ptxas's code has them: the size register holds the number of 16-byte units in its low
//! half and a mask in its high half, of the cluster's blocks for `MULTICAST` and of the bytes of each
//! unit for `DST_G_BYTE_MASK`; for `MULTICAST32` the mask is in the register after it. A shared destination is followed by the address of its mbarrier.

use super::super::address::{Address, AddressWidth};
use super::super::atomic::Atomic;
use super::{syncs, validity};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{WARP, lanes_of};
use crate::operand::Src;
use crate::space::{Place, Words, refuse_fabric};
use crate::state::State;
use oriole_device::Access;
use oriole_isa::{AtomOp, AtomType, BulkType, CopyDst, CopySrc, Field, Inst, Opcode, Role};

/// Bytes of a unit.
const UNIT: u32 = 16;

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::UBLKCP => copy(inst)?,
        Opcode::UBLKRED => reduce(inst)?,
        Opcode::UMEMSETS => clear(inst)?,
        _ => return Ok(None),
    }))
}

/// The operands of one instruction.
#[derive(Clone, Copy, Debug)]
struct Operands {
    to: usize,
    to_shared: bool,
    from: usize,
    from_shared: bool,
    size: Src,
}

/// Where a copy goes when it runs.
struct Transfer {
    to: Place,
    from: Place,
    units: u32,
    mask: u32,
    /// Shared address of the mbarrier that counts it.
    mbarrier: u32,
}

impl Operands {
    fn of(inst: &Inst) -> Result<Operands, Unsupported> {
        Ok(Operands {
            to: uniform_register(inst, Role::Dst)?,
            to_shared: inst.get(Field::COPY_DST) == CopyDst::S,
            from: uniform_register(inst, Role::Src)?,
            from_shared: inst.opcode == Opcode::UBLKRED || inst.get(Field::COPY_SRC) == CopySrc::S,
            size: Src::of(inst, Role::Size),
        })
    }

    fn transfer(&self, state: &State) -> Transfer {
        let place = |register: usize, is_shared: bool| match is_shared {
            true => Place::cluster(state.ur(register)),
            false => Place::Global(state.ur_wide(register)),
        };
        let size = self.size.scalar(state);
        Transfer {
            to: place(self.to, self.to_shared),
            from: place(self.from, self.from_shared),
            units: size & 0xffff,
            mask: size >> 16,
            mbarrier: state.ur(self.to + 1),
        }
    }
}

/// The place `bytes` after another.
pub(super) fn after(place: Place, bytes: u64) -> Place {
    match place {
        Place::Global(address) => Place::Global(address.wrapping_add(bytes)),
        Place::Shared(address) => Place::Shared(address + bytes),
        Place::Cluster { rank, address } => Place::Cluster { rank, address: address + bytes },
        Place::Local(address) => Place::Local(address + bytes),
        Place::Constant { bank, offset } => Place::Constant { bank, offset: offset + bytes as usize },
    }
}

/// The place in the shared memory of another block of the cluster.
pub(super) fn in_block(place: Place, rank: usize) -> Place {
    match place {
        Place::Cluster { address, .. } | Place::Shared(address) => Place::Cluster { rank, address },
        other => other,
    }
}

/// Reports an access of one lane to many bytes.
pub(super) fn report(env: &mut Env<'_>, kind: Access, lane: usize, place: Place, bytes: u32) {
    env.report(kind, bytes, 1 << lane, &[place; WARP]);
}

/// Bytes of the unit of `UMEMSETS`: for 64 bytes ptxas writes 8.
const CLEARED_UNIT: u32 = 8;

/// `UMEMSETS`, at a shared address.
fn clear(inst: &Inst) -> Result<Effect, Unsupported> {
    let address = Address::of(inst, AddressWidth::Narrow)?;
    let size = Src::of(inst, Role::Size);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let place = Place::cluster(address.lanes(state)[lane] as u32);
        let units = size.scalar(state);
        report(env, Access::Write, lane, place, units.saturating_mul(CLEARED_UNIT));
        for unit in 0..units {
            let place = after(place, u64::from(unit) * u64::from(CLEARED_UNIT));
            let stored = env.spaces.store(place, CLEARED_UNIT, lane, [0; 4]);
            stored.map_err(|kind| Halt::fault(lane, kind))?;
        }
        Ok(())
    }))
}

/// `UBLKCP`.
fn copy(inst: &Inst) -> Result<Effect, Unsupported> {
    let operands = Operands::of(inst)?;
    let (narrow, wide) = (inst.get(Field::MULTICAST), inst.get(Field::MULTICAST32));
    let by_bytes = inst.get(Field::BYTE_MASK);
    let check = validity::check(inst);
    if inst.get(Field::COUNTED) {
        return Err(Unsupported("a copy that is counted".into()));
    }
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let transfer = operands.transfer(state);
        refuse_fabric(transfer.to).map_err(|kind| Halt::fault(lane, kind))?;
        refuse_fabric(transfer.from).map_err(|kind| Halt::fault(lane, kind))?;
        let bytes = transfer.units * UNIT;
        let own = (transfer.mbarrier >> 24) as usize;
        report(env, Access::Read, lane, transfer.from, bytes);
        let data = read(env, lane, transfer.from, transfer.units)?;
        let reported = check.is_some_and(|check| data.iter().any(check));
        let targets: Vec<Option<usize>> = match () {
            () if wide => lanes_of((operands.size.wide_scalar(state) >> 32) as u32).map(Some).collect(),
            () if narrow => lanes_of(transfer.mask).map(Some).collect(),
            () => vec![None],
        };
        for target in targets {
            let to = target.map_or(transfer.to, |rank| in_block(transfer.to, rank));
            let mask = if by_bytes { transfer.mask } else { 0xffff };
            report(env, Access::Write, lane, to, bytes);
            write(env, lane, to, &data, mask)?;
            if operands.to_shared {
                let mbarrier = transfer.mbarrier & 0xff_ffff | (target.unwrap_or(own) as u32) << 24;
                if reported {
                    syncs::report(env, lane, mbarrier)?;
                }
                syncs::complete(env, lane, mbarrier, u64::from(bytes))?;
            }
        }
        Ok(())
    }))
}

fn read(env: &Env<'_>, lane: usize, from: Place, units: u32) -> Result<Vec<Words>, Halt> {
    let unit = |i: u32| env.spaces.load(after(from, u64::from(i * UNIT)), UNIT, lane);
    (0..units).map(unit).collect::<Result<_, _>>().map_err(|kind| Halt::fault(lane, kind))
}

/// Writes units; of each those bytes that are in `mask`.
fn write(env: &mut Env<'_>, lane: usize, to: Place, data: &[Words], mask: u32) -> Result<(), Halt> {
    let fault = |kind| Halt::fault(lane, kind);
    for (i, words) in data.iter().enumerate() {
        let to = after(to, i as u64 * u64::from(UNIT));
        if mask == 0xffff {
            env.spaces.store(to, UNIT, lane, *words).map_err(fault)?;
            continue;
        }
        for byte in (0..UNIT).filter(|byte| mask >> byte & 1 != 0) {
            let value = words[byte as usize / 4] >> (8 * (byte % 4));
            env.spaces.store(after(to, u64::from(byte)), 1, lane, [value, 0, 0, 0]).map_err(fault)?;
        }
    }
    Ok(())
}

/// `UBLKRED`.
fn reduce(inst: &Inst) -> Result<Effect, Unsupported> {
    let operands = Operands::of(inst)?;
    let (format, element) = match inst.get(Field::BULK_TYPE) {
        BulkType::U32 => (AtomType::U32, 4),
        BulkType::S32 => (AtomType::S32, 4),
        BulkType::U64 => (AtomType::U64, 8),
        BulkType::S64 => (AtomType::S64, 8),
        BulkType::F16 => (AtomType::F16X2, 4),
        BulkType::BF16 => (AtomType::BF16X2, 4),
        BulkType::F32 => (AtomType::F32_IEEE, 4),
        BulkType::F32_FTZ => (AtomType::F32, 4),
        BulkType::F64 => (AtomType::F64, 8),
        other => return Err(Unsupported(format!("type {other} of a reduction in bulk"))),
    };
    let op = inst.get(Field::ATOM_OP);
    let atomic = Atomic::of(format, op)?;
    // The order of other blocks cannot be seen in these, as in REDG.
    let commutes = matches!(format, AtomType::U32 | AtomType::S32) && !matches!(op, AtomOp::INC | AtomOp::DEC);
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let lane = state.first_active();
        let transfer = operands.transfer(state);
        refuse_fabric(transfer.to).map_err(|kind| Halt::fault(lane, kind))?;
        if !operands.to_shared && !commutes {
            env.require_turn()?;
        }
        let bytes = transfer.units * UNIT;
        report(env, Access::Read, lane, transfer.from, bytes);
        report(env, Access::Atomic, lane, transfer.to, bytes);
        for (i, words) in read(env, lane, transfer.from, transfer.units)?.into_iter().enumerate() {
            for at in (0..UNIT).step_by(element) {
                let word = at as usize / 4;
                let data = [words[word], if element == 8 { words[word + 1] } else { 0 }, 0, 0];
                let to = after(transfer.to, i as u64 * u64::from(UNIT) + u64::from(at));
                atomic.execute(env, to, lane, data, [0; 4])?;
            }
        }
        if operands.to_shared {
            syncs::complete(env, lane, transfer.mbarrier, u64::from(bytes))?;
        }
        Ok(())
    }))
}

/// The first of the uniform registers that an operand names.
pub(super) fn uniform_register(inst: &Inst, role: oriole_isa::Role) -> Result<usize, Unsupported> {
    match crate::operand::operand(inst, role).value {
        oriole_isa::Value::Reg(oriole_isa::RegFile::UR, n) => Ok(usize::from(n)),
        other => Err(Unsupported(format!("{other:?} in the place of a uniform register"))),
    }
}
