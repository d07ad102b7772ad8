//! Checks of memory while a kernel runs: races in shared memory, reads of what was never written, accesses outside
//! of variables, frames and heap blocks. The rules are in docs/memcheck.md.
//!
//! [`Checker::executed`] sees every instruction that goes to memory or moves threads, after it has been executed.
//! Blocks run on one host thread then, so that what is found does not depend on the host.

mod clock;
mod cluster;
mod heap;
mod places;
mod race;
mod report;
mod shadow;

pub(crate) use places::Variables;
pub use report::{CheckReport, Finding, FindingKind, Site};

use crate::access::{Access, HeapEvent};
use crate::flow::Flow;
use crate::program::{Action, Program};
use crate::state::lanes_of;
use crate::warp::{BlockState, Issued, Warp};
use cluster::ClusterShadow;
use heap::{HeapBlock, HeapBlocks};
use oriole_device::{Access as AccessKind, Launch, Memory};
use places::Lies;
use shadow::Undefined;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What to check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Races in shared memory.
    pub race: bool,
    /// Reads of bytes that were never written.
    pub init: bool,
    /// Accesses outside of variables, frames and heap blocks.
    pub bounds: bool,
}

/// What a launch is, for the checks.
pub(crate) struct Subject<'a> {
    /// What to check.
    pub(crate) checks: Checks,
    /// The launch.
    pub(crate) launch: &'a Launch,
    /// The code.
    pub(crate) program: &'a Program,
    /// Global memory.
    pub(crate) memory: &'a Memory,
    /// Variables in shared memory.
    pub(crate) shared: Variables,
    /// Variables in global memory.
    pub(crate) global: Variables,
    /// Bytes of shared memory that the system keeps at its start.
    pub(crate) reserved: u64,
    /// Bytes in it that the kernel's code reads and writes: the book of tensor memory.
    pub(crate) book: Range<u64>,
    /// Bytes of shared memory of a block.
    pub(crate) shared_size: u64,
    /// Parts of global memory without contents: address and size.
    pub(crate) undefined: &'a [(u64, u64)],
    /// The device heap: address and size.
    pub(crate) heap: Option<(u64, u64)>,
}

/// The checks of one launch.
pub(crate) struct Checker<'a> {
    subject: Subject<'a>,
    state: Mutex<Known>,
}

/// What is known so far.
#[derive(Default)]
struct Known {
    clusters: HashMap<u64, ClusterShadow>,
    undefined: Undefined,
    heap: HeapBlocks,
    /// By kind and code addresses, the later access first.
    findings: BTreeMap<(FindingKind, u64, u64), Finding>,
}

/// The instruction at hand.
pub(super) struct Moment<'m> {
    pub(super) issued: &'m Issued<'m>,
    pub(super) warp: &'m Warp,
    pub(super) block: &'m BlockState,
}

impl<'a> Checker<'a> {
    /// Nothing has run.
    pub(crate) fn new(subject: Subject<'a>) -> Self {
        let mut known = Known::default();
        for &(base, size) in subject.undefined {
            known.undefined.add(base, size);
        }
        Checker { subject, state: Mutex::new(known) }
    }

    /// A warp has executed an instruction; `block.log` has what it touched.
    pub(crate) fn executed(&self, issued: &Issued<'_>, warp: &Warp, block: &BlockState) {
        if matches!(issued.op.action, Action::Compute(_)) {
            return;
        }
        let Some(log) = &block.log else { return };
        let moment = Moment { issued, warp, block };
        let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        known.heap_events(log.heap_events(), &moment, &self.subject);
        let number = cluster::number_of(self.subject.launch, warp.state.identity.ctaid);
        let subject = &self.subject;
        let Known { clusters, .. } = &mut *known;
        let mut cluster = clusters.remove(&number).unwrap_or_else(|| ClusterShadow::new(subject));
        cluster.executed(&moment, subject, log.accesses(), &mut known);
        if !cluster.is_finished() {
            known.clusters.insert(number, cluster);
        }
    }

    /// What has been found.
    pub(crate) fn finish(self) -> CheckReport {
        let mut known = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if self.subject.checks.bounds {
            known.leaks();
        }
        CheckReport { findings: known.findings.into_values().collect() }
    }
}

impl Moment<'_> {
    /// The instruction, if it is of the flow families.
    fn flow(&self) -> Option<&Flow> {
        match &self.issued.op.action {
            Action::Flow(flow) => Some(flow),
            _ => None,
        }
    }

    /// The access of `lane` as a report names it.
    fn site(&self, lane: usize, access: &'static str, subject: &Subject<'_>) -> Site {
        let identity = &self.warp.state.identity;
        let thread = identity.warp * crate::state::WARP as u32 + lane as u32;
        site(self.issued.pc, access, identity.ctaid, thread, subject)
    }
}

/// An access as a report names it; `thread` is the linear number in its block.
pub(super) fn site(pc: u64, access: &'static str, block: [u32; 3], thread: u32, subject: &Subject<'_>) -> Site {
    let section = subject.program.section(pc);
    Site {
        pc: section.map_or(pc, |section| pc - section.base),
        function: section.map(|section| section.name.clone()).unwrap_or_default(),
        instruction: subject.program.text(pc),
        access,
        block,
        thread: subject.launch.thread_at(thread),
        source: None,
    }
}

/// What an access is called in reports.
pub(super) fn verb(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::Atomic => "atomic",
    }
}

impl Known {
    /// Notes a finding; `make` is asked for it the first time only.
    fn add(&mut self, kind: FindingKind, later: u64, earlier: u64, make: impl FnOnce() -> Finding) {
        self.findings.entry((kind, later, earlier)).or_insert_with(make).times += 1;
    }

    /// Notes a finding of one access of the instruction at hand.
    fn add_single(
        &mut self,
        kind: FindingKind,
        moment: &Moment<'_>,
        subject: &Subject<'_>,
        lane: usize,
        access: AccessKind,
        place: impl FnOnce() -> String,
    ) {
        self.add(kind, moment.issued.pc, 0, || Finding {
            kind,
            place: place(),
            earlier: None,
            later: moment.site(lane, verb(access), subject),
            times: 0,
        });
    }

    fn heap_events(&mut self, events: &[HeapEvent], moment: &Moment<'_>, subject: &Subject<'_>) {
        for event in events {
            match event.size {
                Some(_) if event.address == 0 => {}
                Some(size) => {
                    let made = (moment.issued.pc, moment.site(event.lane, "malloc", subject));
                    self.heap.add(event.address, HeapBlock { size, is_freed: false, made });
                    if subject.checks.init {
                        self.undefined.remove(event.address);
                        self.undefined.add(event.address, size);
                    }
                }
                None => self.heap.free(event.address),
            }
        }
    }

    /// Checks an access to global memory.
    fn global(&mut self, access: &Access, moment: &Moment<'_>, subject: &Subject<'_>) {
        for lane in lanes_of(access.lanes) {
            let address = access.addresses[lane];
            if subject.checks.bounds {
                self.global_bounds(access, lane, moment, subject);
            }
            if !subject.checks.init {
                continue;
            }
            if access.kind != AccessKind::Write
                && let Some(byte) = self.undefined.first_unwritten(address, access.bytes)
            {
                let place = || global_place(subject, byte);
                self.add_single(FindingKind::Uninitialised, moment, subject, lane, access.kind, place);
            }
            if access.kind != AccessKind::Read {
                self.undefined.write(address, access.bytes);
            }
        }
    }

    fn global_bounds(&mut self, access: &Access, lane: usize, moment: &Moment<'_>, subject: &Subject<'_>) {
        let (address, end) = (access.addresses[lane], access.addresses[lane].saturating_add(access.bytes.into()));
        if let Some((base, size)) = subject.heap
            && address >= base
            && address - base < size
        {
            let (kind, place) = match self.heap.before(address) {
                Some((start, block)) if end <= start + block.size && !block.is_freed => return,
                Some((start, block)) if address < start + block.size && block.is_freed => {
                    let offset = address - start;
                    (FindingKind::UseAfterFree, format!("global {address:#x}, heap block {start:#x}+{offset:#x}"))
                }
                Some((start, block)) => {
                    let (offset, size) = (address - start, block.size);
                    let place =
                        format!("global {address:#x}, heap block {start:#x}+{offset:#x}, past its {size} bytes");
                    (FindingKind::OutsideHeapBlock, place)
                }
                None => (FindingKind::OutsideHeapBlock, format!("global {address:#x}, in the device heap")),
            };
            return self.add_single(kind, moment, subject, lane, access.kind, || place);
        }
        let is_variable = subject.memory.find(address).is_some_and(|of| of.name() == crate::simulator::VARIABLES);
        if is_variable
            && !subject.global.is_empty()
            && let Lies::Outside(near) = subject.global.locate(address, access.bytes)
        {
            let place = || format!("global {address:#x}, {near}");
            self.add_single(FindingKind::OutsideVariable, moment, subject, lane, access.kind, place);
        }
    }

    fn leaks(&mut self) {
        let leaked: Vec<(u64, HeapBlock)> = self.heap.leaked().map(|(start, block)| (start, block.clone())).collect();
        for (start, HeapBlock { size, made: (pc, site), .. }) in leaked {
            let place = format!("global {start:#x}, heap block of {size} bytes");
            let kind = FindingKind::Leak;
            self.add(kind, pc, 0, || Finding { kind, place, earlier: None, later: site, times: 0 });
        }
    }
}

/// A global address with the name of what is there.
fn global_place(subject: &Subject<'_>, address: u64) -> String {
    if let Lies::Inside(name) = subject.global.locate(address, 1) {
        return format!("global {address:#x}, {name}");
    }
    match subject.memory.find(address) {
        Some(of) => format!("global {address:#x}, {}+{:#x}", of.name(), address - of.base()),
        None => format!("global {address:#x}"),
    }
}
