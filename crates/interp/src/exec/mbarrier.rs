//! `mbarrier`: barriers in shared memory that count arrivals and bytes.
//!
//! The 64-bit object holds everything. Its layout is the interpreter's own, but for the place of the
//! pending count, which `mbarrier.pending_count` reads from the state that an arrival gives.

use crate::arith::Unsupported;
use crate::builder::{Builder, Location, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::lanes::lanes_of;
use crate::operand::{Destination, Source};
use crate::space::{Data, Place, RANK_SHIFT};
use oriole_device::FaultKind;
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Space, Word};

/// Bytes of the object.
const BYTES: u32 = 8;
/// The most arrivals of a phase.
const MOST: u64 = (1 << 20) - 1;
/// The same with `.layout::v1`.
const MOST_WITH_REPORTS: u64 = (1 << 9) - 1;

/// What an mbarrier of `.layout::v1` keeps of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reports {
    /// Whether something was reported in the running phase.
    running: bool,
    /// Whether something was in the phase before.
    last: bool,
    /// Whether the number of completed conditional phases is odd: those in which nothing was reported.
    odd: bool,
}

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
    /// What it keeps if it has `.layout::v1`.
    reports: Option<Reports>,
}

/// Lowest bit of each field; a field ends where the next begins.
mod bit {
    pub(super) const EXPECTED: u32 = 0;
    /// The three of [`super::Reports`], above the expected arrivals of their layout.
    pub(super) const REPORTED: u32 = 10;
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
        let is_set = |at: u32| bits >> at & 1 != 0;
        let reports = is_set(bit::REPORTS).then(|| Reports {
            running: is_set(bit::REPORTED),
            last: is_set(bit::REPORTED + 1),
            odd: is_set(bit::REPORTED + 2),
        });
        Barrier {
            expected: bits >> bit::EXPECTED & if reports.is_some() { MOST_WITH_REPORTS } else { MOST },
            pending: pending_count(bits) & MOST,
            bytes: (bits << above) as i64 >> (above + bit::BYTES),
            odd: is_set(bit::ODD),
            reports,
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
        let kept = self.reports.map_or(0, |kept| {
            let Reports { running, last, odd } = kept;
            1 << bit::REPORTS | (u64::from(running) | u64::from(last) << 1 | u64::from(odd) << 2) << bit::REPORTED
        });
        self.expected << bit::EXPECTED
            | (self.pending.wrapping_neg() & MOST) << bit::PENDING
            | bytes << bit::BYTES
            | u64::from(self.odd) << bit::ODD
            | kept
    }

    /// Begins the next phase if nothing is missing, and the next conditional one if nothing was reported.
    fn settle(mut self) -> Barrier {
        if self.pending == 0 && self.bytes == 0 {
            (self.pending, self.odd) = (self.expected, !self.odd);
            if let Some(kept) = &mut self.reports {
                kept.odd ^= !kept.running;
                (kept.last, kept.running) = (kept.running, false);
            }
        }
        self
    }

    /// Whether the number of completed phases of a kind is odd.
    fn is_odd(&self, conditional: bool) -> bool {
        self.reports.filter(|_| conditional).map_or(self.odd, |kept| kept.odd)
    }

    fn apply(mut self, change: Change) -> Result<Barrier, String> {
        /// A range of 2^20 - 1 either way.
        const MOST_BYTES: i64 = MOST as i64;
        if change.reported {
            let none = || "a report to an mbarrier that keeps none, which is not of `.layout::v1`".to_owned();
            self.reports.as_mut().ok_or_else(none)?.running = true;
        }
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

/// The bits of a shared address that name the block in the cluster.
const RANKS: u64 = 0xff << RANK_SHIFT;

/// The same place in the shared memory of a block of the cluster.
pub(super) fn in_block(address: u64, rank: usize) -> u64 {
    address & !RANKS | (rank as u64) << RANK_SHIFT
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
    /// Whether something is reported of them.
    pub(super) reported: bool,
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
    let reports = inst.has(Word::LayoutV1).then(Reports::default);
    let most = if reports.is_some() { MOST_WITH_REPORTS } else { MOST };
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
        let has_it = Barrier::initialised(bits)?.reports.is_some() == asked;
        lane.set(&to, has_it.into());
        Ok(())
    })))
}

/// `test_wait` and `try_wait`, which answers at once too. The value of a report is zero: what copies report has none.
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
    let conditional = inst.has(Word::PhaseTypeConditional);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let bits = lane.load(at.place(lane), BYTES)?.element(0, BYTES) as u64;
        let phase = lane.get(&phase) as u64;
        let asked = if parity { phase & 1 != 0 } else { Barrier::unpack(phase).odd };
        let barrier = Barrier::initialised(bits)?;
        lane.set(&to, (barrier.is_odd(conditional) != asked).into());
        let reported = barrier.reports.is_some_and(|kept| kept.last);
        report.iter().for_each(|to| lane.set(to, reported.into()));
        value.iter().for_each(|to| lane.set(to, 0));
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
    let [at, rest @ ..] = rest else { return Err(form("mbarrier.arrive")) };
    let (targets, count) = Targets::of(inst, at, rest, builder)?;
    let one = Source::Constant(1);
    let count = count.first().map_or(Ok(one), |count| builder.source(count, ScalarType::U32))?;
    let (drop, expect) = (inst.has(Word::ArriveDrop), inst.has(Word::ExpectTx));
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let count = lane.get(&count) as u64;
        let (arrivals, announced) = if expect { (1, count as i64) } else { (count, 0) };
        let dropped = if drop { arrivals } else { 0 };
        let what = Change { arrivals, dropped, announced, ..Change::default() };
        let state = targets.change(lane, what)?;
        lane.set(&to, state.into());
        Ok(())
    })))
}

/// The mbarriers of an instruction: that at an address, or those at the same place of the blocks of the cluster that a mask has.
struct Targets {
    at: Location,
    blocks: Option<Source>,
}

impl Targets {
    /// Those of `[at], …{, mask}`, and the operands between.
    fn of<'i>(
        inst: &Instruction,
        at: &Operand,
        rest: &'i [Operand],
        builder: &mut Builder<'_, '_>,
    ) -> Result<(Targets, &'i [Operand]), Unsupported> {
        if !inst.has(Word::MulticastCluster32b) {
            return Ok((Targets { at: builder.location(at, inst.space())?, blocks: None }, rest));
        }
        let (mask, between) = rest.split_last().ok_or_else(|| form("mbarrier"))?;
        let at = builder.location(at, Some(Space::SharedCluster))?;
        Ok((Targets { at, blocks: Some(builder.source(mask, ScalarType::U32)?) }, between))
    }

    /// Changes them; gives what the last one was.
    fn change(&self, lane: &mut Lane<'_, '_>, what: Change) -> Result<u64, FaultKind> {
        let Some(blocks) = &self.blocks else {
            let place = self.at.place(lane);
            return change(lane, place, what);
        };
        let address = self.at.address(lane);
        let mut before = 0;
        for rank in lanes_of(lane.get(blocks) as u32) {
            before = change(lane, self.at.space.place(in_block(address, rank)), what)?;
        }
        Ok(before)
    }
}

fn count_bytes(
    inst: &Instruction,
    builder: &mut Builder<'_, '_>,
    what: fn(i64) -> Change,
) -> Result<Action, Unsupported> {
    let [at, rest @ ..] = &inst.operands[..] else { return Err(form("mbarrier.expect_tx")) };
    let (targets, rest) = Targets::of(inst, at, rest, builder)?;
    let [count] = rest else { return Err(form("mbarrier.expect_tx")) };
    let count = builder.source(count, ScalarType::U32)?;
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let count = lane.get(&count) as i64;
        targets.change(lane, what(count)).map(|_| ())
    })))
}
