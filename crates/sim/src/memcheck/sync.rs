//! Synchronisation that is used wrongly: barriers that the threads of a warp come to at different places, numbers of threads that
//! a barrier cannot have, masks without the thread itself, shuffles from lanes that are not there, masks that name threads
//! which wait elsewhere.

use super::findings::{Findings, moment_site, site};
use super::report::{Finding, FindingKind};
use super::subject::Subject;
use crate::flow::{Count, Flow, MaskSrc};
use crate::lanes::{Mask, WARP, lanes_of};
use crate::observer::{Moment, Waiting};
use crate::threads::Wait;
use oriole_isa::{Arch, Field};
use std::collections::HashMap;

/// What is known of the threads of one block.
#[derive(Default)]
pub(super) struct SyncShadow {
    /// Where each thread has exited, by its number.
    exits: HashMap<usize, u64>,
    /// Of each warp the threads that had not exited behind its last exit.
    alive: HashMap<u32, Mask>,
    /// By warp and barrier: the arrival of a part of the warp, and of which use of the barrier.
    parts: HashMap<(u32, u8), Part>,
}

/// A part of a warp that has arrived at a barrier.
#[derive(Clone, Copy)]
struct Part {
    generation: u32,
    pc: u64,
    lane: usize,
}

impl SyncShadow {
    /// A warp of the block has executed an instruction.
    pub(super) fn executed(&mut self, moment: &Moment<'_>, subject: &Subject<'_>, findings: &mut Findings) {
        match moment.flow() {
            Some(Flow::Barrier { id, count, .. }) if moment.issued.active != 0 => {
                let id = id.scalar(moment.state);
                let count = match count {
                    Count::Operand(count) => count.scalar(moment.state),
                    Count::WithId => id >> 16 & 0xfff,
                };
                check_count(count, moment, subject, findings);
                self.arrive(id as u8 & 15, moment, subject, findings);
            }
            Some(Flow::WarpSync { mask: MaskSrc::Operand(mask), .. }) => {
                let masks = mask.bits(moment.state);
                for lane in lanes_of(moment.issued.active).filter(|&lane| masks[lane] >> lane & 1 == 0) {
                    let place = || format!("mask {:#010x} of lane {lane}", masks[lane]);
                    add(FindingKind::WrongMask, moment, lane, "wait", subject, findings, place);
                }
            }
            Some(Flow::Exit(_)) => self.note_exits(moment),
            _ => {}
        }
        for &(lane, source) in moment.log.absent() {
            self.absent(lane, source, moment, subject, findings);
        }
    }

    /// A barrier of the block: threads of one warp come to it together.
    fn arrive(&mut self, id: u8, moment: &Moment<'_>, subject: &Subject<'_>, findings: &mut Findings) {
        let issued = moment.issued;
        let warp = moment.state.identity.warp;
        let generation = moment.barriers.generation(id);
        let lane = issued.active.trailing_zeros() as usize % WARP;
        let part = Part { generation, pc: issued.pc, lane };
        match self.parts.insert((warp, id), part) {
            Some(earlier) if earlier.generation == generation && earlier.pc != issued.pc => {
                let Some(kind) = divergence(moment, subject) else { return };
                findings.add(kind, issued.pc, earlier.pc, || Finding {
                    kind,
                    place: format!("barrier {id}, which threads of one warp come to at two places"),
                    earlier: Some(moment_site_at(earlier.pc, earlier.lane, "arrival", moment, subject)),
                    later: moment_site(moment, lane, "arrival", subject),
                    times: 0,
                });
            }
            _ => {}
        }
    }

    fn note_exits(&mut self, moment: &Moment<'_>) {
        let warp = moment.state.identity.warp;
        let alive = moment.threads.alive;
        let before = self.alive.insert(warp, alive).unwrap_or(alive | moment.issued.active);
        for lane in lanes_of(before & !alive) {
            self.exits.insert(warp as usize * WARP + lane, moment.issued.pc);
        }
    }

    /// A shuffle reads the value of a lane that does not execute it.
    fn absent(&self, lane: usize, source: usize, moment: &Moment<'_>, subject: &Subject<'_>, findings: &mut Findings) {
        let kind = FindingKind::AbsentLane;
        let pc = moment.issued.pc;
        let number = moment.state.identity.warp as usize * WARP + source;
        let exit = self.exits.get(&number).copied();
        let elsewhere =
            moment.threads.groups().iter().find(|group| group.mask >> source & 1 != 0).map(|group| group.pc);
        let (what, other) = match (exit, elsewhere) {
            (Some(exit), _) => ("has exited", Some((exit, "exit"))),
            (None, None) => ("the block does not have", None),
            (None, Some(_)) if moment.issued.group >> source & 1 != 0 => ("its guard keeps from it", None),
            (None, Some(at)) => ("is elsewhere", Some((at, "at"))),
        };
        findings.add(kind, pc, other.map_or(0, |(pc, _)| pc), || Finding {
            kind,
            place: format!("lane {lane} reads lane {source}, which {what}"),
            earlier: other.map(|(pc, verb)| moment_site_at(pc, source, verb, moment, subject)),
            later: moment_site(moment, lane, "shuffle", subject),
            times: 0,
        });
    }
}

/// What it means that parts of a warp come to the barrier at different places; `None` where they may. Up to sm_89 the aligned form
/// has a modifier of its own.
fn divergence(moment: &Moment<'_>, subject: &Subject<'_>) -> Option<FindingKind> {
    let inst = moment.issued.op.inst.as_ref()?;
    match subject.program.arch < Arch::Sm90 {
        true => inst.get(Field::DEFER_BLOCKING).then_some(FindingKind::DivergentBarrier),
        false => Some(FindingKind::PartedBarrier),
    }
}

/// The number of threads of a barrier.
fn check_count(count: u32, moment: &Moment<'_>, subject: &Subject<'_>, findings: &mut Findings) {
    let threads = subject.launch.threads();
    let is_wrong = !count.is_multiple_of(WARP as u32) || u64::from(count) > threads.next_multiple_of(WARP as u64);
    if is_wrong {
        let lane = moment.issued.active.trailing_zeros() as usize % WARP;
        let place = || format!("a barrier of {count} threads in a block of {threads}");
        add(FindingKind::BarrierCount, moment, lane, "arrival", subject, findings, place);
    }
}

/// Notes a finding of one place.
fn add(
    kind: FindingKind,
    moment: &Moment<'_>,
    lane: usize,
    verb: &'static str,
    subject: &Subject<'_>,
    findings: &mut Findings,
    place: impl FnOnce() -> String,
) {
    findings.add(kind, moment.issued.pc, 0, || Finding {
        kind,
        place: place(),
        earlier: None,
        later: moment_site(moment, lane, verb, subject),
        times: 0,
    });
}

/// Another instruction of the warp at hand.
fn moment_site_at(
    pc: u64,
    lane: usize,
    verb: &'static str,
    moment: &Moment<'_>,
    subject: &Subject<'_>,
) -> super::report::Site {
    let identity = &moment.state.identity;
    site(pc, verb, identity.ctaid, identity.warp * WARP as u32 + lane as u32, subject)
}

/// No thread of a cluster can run: warp synchronisations that name threads which wait elsewhere.
pub(super) fn stuck(waiting: &[Waiting], subject: &Subject<'_>, findings: &mut Findings) {
    for at in waiting.iter().filter(|at| matches!(at.wait, Wait::WarpSync | Wait::Collective)) {
        let missing = at.members & !at.lanes;
        let same_warp = waiting.iter().filter(|other| (other.block, other.warp) == (at.block, at.warp));
        let Some(other) = same_warp.into_iter().find(|other| other.lanes & missing != 0) else { continue };
        let kind = FindingKind::WaitsElsewhere;
        let place_of = |pc: u64, lanes: Mask| {
            let thread = at.warp as u32 * WARP as u32 + lanes.trailing_zeros() % WARP as u32;
            site(pc, "wait", subject.launch.block_at(at.block), thread, subject)
        };
        findings.add(kind, at.pc, other.pc, || Finding {
            kind,
            place: format!("the mask {:#010x} names lanes {missing:#010x}, which wait elsewhere", at.members),
            earlier: Some(place_of(other.pc, other.lanes & missing)),
            later: place_of(at.pc, at.lanes),
            times: 0,
        });
    }
}
