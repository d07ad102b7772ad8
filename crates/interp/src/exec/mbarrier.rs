//! `mbarrier`: barriers in shared memory that count arrivals and bytes.
//!
//! The 64-bit object holds everything. Its layout is the interpreter's own, but for the place of the
//! pending count, which `mbarrier.pending_count` reads from the state that an arrival gives.

use crate::arith::Unsupported;
use crate::builder::{Builder, Location, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::operand::{Destination, Source};
use crate::space::{Data, Place};
use oriole_device::FaultKind;
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Word};

/// Bytes of the object.
const BYTES: u32 = 8;
/// The most arrivals of a phase.
const MOST: u64 = (1 << 20) - 1;
/// The same with `.layout::v1`.
const MOST_WITH_REPORTS: u64 = (1 << 9) - 1;

/// The contents of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Barrier {
    /// Arrivals of every phase from the next on.
    expected: u64,
    /// Arrivals that the running phase still waits for.
    pending: u64,
    /// Bytes that it waits for; negative if more have come than were announced.
    bytes: i64,
    /// Whether the number of completed phases is odd.
    odd: bool,
    /// Whether it has `.layout::v1`. No operation that the interpreter knows reports, so that nothing else depends on it.
    reports: bool,
}

/// Lowest bit of each field; a field ends where the next begins.
mod bit {
    pub(super) const EXPECTED: u32 = 0;
    pub(super) const REPORTS: u32 = 20;
    pub(super) const BYTES: u32 = 21;
    /// Negated, modulo 2^20.
    pub(super) const PENDING: u32 = 43;
    pub(super) const ODD: u32 = 63;
}

/// What `mbarrier.pending_count` makes of a state, as ptxas compiles it.
fn pending_count(state: u64) -> u64 {
    (1 << 20) - (state >> bit::PENDING & MOST)
}

impl Barrier {
    fn unpack(bits: u64) -> Barrier {
        let above = 64 - bit::PENDING;
        Barrier {
            expected: bits >> bit::EXPECTED & MOST,
            pending: pending_count(bits) & MOST,
            bytes: (bits << above) as i64 >> (above + bit::BYTES),
            odd: bits >> bit::ODD & 1 != 0,
            reports: bits >> bit::REPORTS & 1 != 0,
        }
    }

    /// What the object holds. That of an mbarrier that waits for anything is not all zero.
    ///
    /// # Errors
    /// Where none was initialised there, or it was made invalid since.
    fn initialised(bits: u64) -> Result<Barrier, FaultKind> {
        match bits {
            0 => Err(FaultKind::Misuse("an mbarrier that is not initialised".to_owned())),
            bits => Ok(Barrier::unpack(bits)),
        }
    }

    fn pack(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << (bit::PENDING - bit::BYTES)) - 1);
        self.expected << bit::EXPECTED
            | (self.pending.wrapping_neg() & MOST) << bit::PENDING
            | bytes << bit::BYTES
            | u64::from(self.odd) << bit::ODD
            | u64::from(self.reports) << bit::REPORTS
    }

    /// Begins the next phase if nothing is missing.
    fn settle(mut self) -> Barrier {
        if self.pending == 0 && self.bytes == 0 {
            (self.pending, self.odd) = (self.expected, !self.odd);
        }
        self
    }

    fn apply(mut self, change: Change) -> Result<Barrier, String> {
        /// A range of 2^20 - 1 either way.
        const MOST_BYTES: i64 = MOST as i64;
        self.bytes += change.announced - change.arrived_bytes;
        if self.bytes.abs() > MOST_BYTES {
            return Err(format!("an mbarrier that waits for {} bytes", self.bytes));
        }
        if change.arrivals > self.pending || change.dropped > self.expected {
            let Barrier { expected, pending, .. } = self;
            let arrivals = change.arrivals;
            return Err(format!("{arrivals} arrivals at an mbarrier of {expected} that waits for {pending}"));
        }
        self.pending -= change.arrivals;
        self.expected -= change.dropped;
        Ok(if change.arrivals > 0 || change.arrived_bytes > 0 { self.settle() } else { self })
    }
}

/// What an operation does to the object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Change {
    /// Arrivals in this phase.
    pub(super) arrivals: u64,
    /// Arrivals that no later phase waits for.
    pub(super) dropped: u64,
    /// Bytes that will come.
    pub(super) announced: i64,
    /// Bytes that have come.
    pub(super) arrived_bytes: i64,
}

/// Changes the object at `place`; gives what it was.
pub(super) fn change(lane: &mut Lane<'_, '_>, place: Place, change: Change) -> Result<u64, FaultKind> {
    let old = lane.load(place, BYTES)?.element(0, BYTES) as u64;
    let new = Barrier::initialised(old)?.apply(change).map_err(FaultKind::Misuse)?;
    put(lane, place, new.pack())?;
    Ok(old)
}

fn put(lane: &mut Lane<'_, '_>, place: Place, bits: u64) -> Result<(), FaultKind> {
    let mut data = Data::default();
    data.set(0, BYTES, bits.into());
    lane.store(place, BYTES, data)
}

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    if inst.opcode != Opcode::Mbarrier {
        return Ok(None);
    }
    let word = |word| inst.has(word);
    Ok(Some(match () {
        () if word(Word::Init) => initialise(inst, builder)?,
        () if word(Word::Inval) => invalidate(inst, builder)?,
        () if word(Word::CheckLayout) => check_layout(inst, builder)?,
        () if word(Word::PendingCount) => pending(inst, builder)?,
        () if word(Word::TestWait) || word(Word::TryWait) => test(inst, builder)?,
        () if word(Word::Arrive) || word(Word::ArriveDrop) => arrive(inst, builder)?,
        () if word(Word::ExpectTx) => count_bytes(inst, builder, |n| Change { announced: n, ..Change::default() })?,
        () if word(Word::CompleteTx) => {
            count_bytes(inst, builder, |n| Change { arrived_bytes: n, ..Change::default() })?
        }
        () => return Err(form("mbarrier")),
    }))
}

fn initialise(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [at, count] = &inst.operands[..] else { return Err(form("mbarrier.init")) };
    let (at, count) = (builder.location(at, inst.space())?, builder.source(count, ScalarType::U32)?);
    let reports = inst.has(Word::LayoutV1);
    let most = if reports { MOST_WITH_REPORTS } else { MOST };
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let count = lane.get(&count) as u64;
        if count == 0 || count > most {
            return Err(FaultKind::Misuse(format!("mbarrier.init with {count} arrivals, not 1 to {most}")));
        }
        let barrier = Barrier { expected: count, pending: count, bytes: 0, odd: false, reports };
        put(lane, at.place(lane), barrier.pack())
    })))
}

fn invalidate(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [at] = &inst.operands[..] else { return Err(form("mbarrier.inval")) };
    let at = builder.location(at, inst.space())?;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| put(lane, at.place(lane), 0))))
}

fn pending(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, state] = &inst.operands[..] else { return Err(form("mbarrier.pending_count")) };
    let (to, state) = (builder.destination(to, ScalarType::U32)?, builder.source(state, ScalarType::B64)?);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let pending = pending_count(lane.get(&state) as u64);
        lane.set(&to, pending.into());
        Ok(())
    })))
}

fn check_layout(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, at] = &inst.operands[..] else { return Err(form("mbarrier.check_layout")) };
    let (to, at) = (builder.destination(to, ScalarType::Pred)?, builder.location(at, inst.space())?);
    let asked = inst.has(Word::LayoutV1);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let bits = lane.load(at.place(lane), BYTES)?.element(0, BYTES) as u64;
        let has_it = Barrier::initialised(bits)?.reports == asked;
        lane.set(&to, has_it.into());
        Ok(())
    })))
}

/// `test_wait` and `try_wait`, which answers at once too. Primary and conditional phase are one, for nothing reports.
fn test(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let (first, value, at, phase) = match &inst.operands[..] {
        [first, at @ Operand::Address(_), phase, ..] => (first, None, at, phase),
        [first, value, at, phase, ..] => (first, Some(value), at, phase),
        _ => return Err(form("mbarrier.test_wait")),
    };
    let (to, report) = match first {
        Operand::Pair(pair) => (&pair[0], Some(builder.destination(&pair[1], ScalarType::Pred)?)),
        to => (to, None),
    };
    let value = value.map(|value| builder.destination(value, ScalarType::B8)).transpose()?;
    let (to, at) = (builder.destination(to, ScalarType::Pred)?, builder.location(at, inst.space())?);
    let parity = inst.has(Word::Parity);
    let phase = builder.source(phase, if parity { ScalarType::U32 } else { ScalarType::B64 })?;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let bits = lane.load(at.place(lane), BYTES)?.element(0, BYTES) as u64;
        let phase = lane.get(&phase) as u64;
        let asked = if parity { phase & 1 != 0 } else { Barrier::unpack(phase).odd };
        let complete = Barrier::initialised(bits)?.odd != asked;
        lane.set(&to, complete.into());
        report.iter().chain(&value).for_each(|reported| lane.set(reported, 0));
        Ok(())
    })))
}

fn arrive(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let (to, rest): (Option<&Operand>, _) = match &inst.operands[..] {
        rest @ [Operand::Address(_), ..] => (None, rest),
        [to, rest @ ..] => (Some(to), rest),
        [] => return Err(form("mbarrier.arrive")),
    };
    let to = to.map_or(Ok(Destination::Sink), |to| builder.destination(to, ScalarType::B64))?;
    let [at, count @ ..] = rest else { return Err(form("mbarrier.arrive")) };
    let at: Location = builder.location(at, inst.space())?;
    let one = Source::Constant(1);
    let count = count.first().map_or(Ok(one), |count| builder.source(count, ScalarType::U32))?;
    let (drop, expect) = (inst.has(Word::ArriveDrop), inst.has(Word::ExpectTx));
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let count = lane.get(&count) as u64;
        let (arrivals, announced) = if expect { (1, count as i64) } else { (count, 0) };
        let dropped = if drop { arrivals } else { 0 };
        let place = at.place(lane);
        let state = change(lane, place, Change { arrivals, dropped, announced, arrived_bytes: 0 })?;
        lane.set(&to, state.into());
        Ok(())
    })))
}

fn count_bytes(
    inst: &Instruction,
    builder: &mut Builder<'_, '_>,
    what: fn(i64) -> Change,
) -> Result<Action, Unsupported> {
    let [at, count] = &inst.operands[..] else { return Err(form("mbarrier.expect_tx")) };
    let (at, count) = (builder.location(at, inst.space())?, builder.source(count, ScalarType::U32)?);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let (count, place) = (lane.get(&count) as i64, at.place(lane));
        change(lane, place, what(count)).map(|_| ())
    })))
}
