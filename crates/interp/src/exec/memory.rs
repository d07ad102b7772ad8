//! Loads and stores of all spaces and widths.

use crate::arith::Unsupported;
use crate::builder::{Builder, Location, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::operand::{Destination, Source};
use crate::space::{Data, Named, Place, SHARED_MASK};
use oriole_device::{Access, FaultKind, Space};
use oriole_ptx::ast::{Instruction, Opcode, ScalarType, Word};
use smallvec::SmallVec;

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::Ld | Opcode::Ldu => load(inst, builder)?,
        Opcode::St if inst.has(Word::Bulk) => fill(inst, builder)?,
        Opcode::St if inst.has(Word::Async) => return Ok(None),
        Opcode::St => store(inst, builder)?,
        // Behind a multimem address stands one copy: what combining all gives, and all that a store reaches.
        Opcode::Multimem if inst.has(Word::LdReduce) => load(inst, builder)?,
        Opcode::Multimem if inst.has(Word::St) => store(inst, builder)?,
        Opcode::Discard => Action::Nothing,
        _ => return Ok(None),
    }))
}

/// The type of one element, their number and the bytes of all.
pub(super) fn shape(inst: &Instruction) -> Result<(ScalarType, usize, u32), Unsupported> {
    let ty = inst.last_type().ok_or_else(|| form(inst.opcode.as_str()))?;
    let count = inst.vector().map_or(1, |vector| vector.len());
    let bytes = ty.bytes() * count as u32;
    if bytes as usize > Data::BYTES || !bytes.is_power_of_two() {
        return Err(Unsupported(format!("an access of {count} times {ty}")));
    }
    Ok((ty, count, bytes))
}

fn load(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let (ty, count, bytes) = shape(inst)?;
    let [to, from, ..] = &inst.operands[..] else { return Err(form("ld")) };
    let location = builder.location(from, inst.space())?;
    let to: SmallVec<[Destination; 4]> = builder.destinations(to, ty)?;
    if to.len() != count {
        return Err(form("ld"));
    }
    let element = ty.bytes();
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let data = lane.load(location.place(lane), bytes)?;
        for (index, to) in to.iter().enumerate() {
            lane.set(to, data.element(index, element));
        }
        Ok(())
    })))
}

fn store(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let (ty, count, bytes) = shape(inst)?;
    let [to, from, ..] = &inst.operands[..] else { return Err(form("st")) };
    let location = builder.location(to, inst.space())?;
    if builder.is_read_only(inst.space(), &location) {
        return Ok(Action::Nothing);
    }
    let from: SmallVec<[Source; 4]> = builder.sources(from, ty)?;
    if from.len() != count {
        return Err(form("st"));
    }
    let element = ty.bytes();
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let mut data = Data::default();
        for (index, from) in from.iter().enumerate() {
            data.set(index, element, lane.get(from));
        }
        lane.store(location.place(lane), bytes, data)
    })))
}

/// `st.bulk [a], size, 0;`: zeros.
fn fill(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, size, _] = &inst.operands[..] else { return Err(form("st.bulk")) };
    let location = builder.location(to, inst.space())?;
    let size = builder.source(size, ScalarType::U64)?;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let start = location.address(lane);
        // PTX has it in shared memory alone. An address beyond the window names none.
        let in_window = start <= SHARED_MASK || !matches!(location.space, Named::Shared);
        if !in_window || !matches!(location.place(lane), Place::Shared(_) | Place::Cluster(_)) {
            let (space, access) = (Space::Shared, Access::Write);
            return Err(FaultKind::IllegalAddress { space, access, address: start, size: 8, nearest: None });
        }
        // Shared memory has no more than its window.
        let size = (lane.get(&size) as u64).min(1 << 24);
        (0..size)
            .step_by(8)
            .try_for_each(|at| lane.store(location.space.place(start.wrapping_add(at)), 8, Data::default()))
    })))
}

impl Location {
    /// The address that one thread gives.
    pub(crate) fn address(&self, lane: &Lane<'_, '_>) -> u64 {
        let index = self.index.map_or(0, |index| lane.get(&index) as u64);
        (lane.get(&self.base) as u64).wrapping_add(self.offset).wrapping_add(index)
    }

    /// Where that leads.
    pub(crate) fn place(&self, lane: &Lane<'_, '_>) -> Place {
        let address = self.address(lane);
        match self.space {
            Named::Generic if lane.env.resources.address_bytes == 4 => Named::Generic.place(address & 0xffff_ffff),
            space => space.place(address),
        }
    }
}
