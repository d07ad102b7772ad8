//! What the checks know of global memory: bytes without contents, and the blocks of the device heap.

use super::findings::{Findings, moment_site};
use super::global_race::GlobalRaces;
use super::heap::{HeapBlock, HeapBlocks};
use super::places::Lies;
use super::report::{Finding, FindingKind};
use super::shadow::Undefined;
use super::streams::Unordered;
use super::subject::Subject;
use crate::access::{Access, HeapEvent};
use crate::lanes::lanes_of;
use crate::observer::Moment;
use crate::resources::VARIABLES;
use oriole_device::Access as AccessKind;

/// What is known of global memory.
#[derive(Default)]
pub(super) struct GlobalShadow {
    undefined: Undefined,
    heap: HeapBlocks,
    /// Accesses of all clusters.
    pub(super) races: GlobalRaces,
}

impl GlobalShadow {
    /// Global memory in which these parts, address and size, have no contents, and which launches touch that may run at the same time.
    pub(super) fn new(undefined: &[(u64, u64)], unordered: Unordered) -> Self {
        let mut shadow = GlobalShadow { races: GlobalRaces::new(unordered), ..GlobalShadow::default() };
        for &(base, size) in undefined {
            shadow.undefined.add(base, size);
        }
        shadow
    }

    /// What calls of `malloc` and `free` change.
    pub(super) fn heap_events(&mut self, events: &[HeapEvent], moment: &Moment<'_>, subject: &Subject<'_>) {
        for event in events {
            match event.size {
                Some(_) if event.address == 0 => {}
                Some(size) => {
                    let made = (moment.issued.pc, moment_site(moment, event.lane, "malloc", subject));
                    self.heap.add(event.address, HeapBlock { size, is_freed: false, made });
                    self.races.forget(event.address, size);
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
    pub(super) fn access(
        &mut self,
        access: &Access,
        moment: &Moment<'_>,
        subject: &Subject<'_>,
        findings: &mut Findings,
    ) {
        for lane in lanes_of(access.lanes) {
            let address = access.addresses[lane];
            if subject.checks.bounds {
                self.bounds(access, lane, moment, subject, findings);
            }
            if !(subject.checks.init || subject.checks.global_init) {
                continue;
            }
            if access.kind != AccessKind::Write
                && let Some(byte) = self.undefined.first_unwritten(address, access.bytes)
            {
                let place = || global_place(subject, byte);
                findings.add_single(FindingKind::Uninitialised, moment, subject, lane, access.kind, place);
            }
            if access.kind != AccessKind::Read {
                self.undefined.write(address, access.bytes);
            }
        }
    }

    /// Whether the access is to the device heap, and to no block of it: that is another mistake than a race.
    pub(super) fn is_stray(&self, access: &Access, subject: &Subject<'_>) -> bool {
        let Some((base, size)) = subject.heap else { return false };
        let is_outside = |lane: usize| {
            let (address, end) = (access.addresses[lane], access.addresses[lane].saturating_add(access.bytes.into()));
            let block = self.heap.before(address);
            let inside = block.is_some_and(|(start, block)| end <= start + block.size && !block.is_freed);
            address >= base && address - base < size && !inside
        };
        lanes_of(access.lanes).any(is_outside)
    }

    fn bounds(
        &self,
        access: &Access,
        lane: usize,
        moment: &Moment<'_>,
        subject: &Subject<'_>,
        findings: &mut Findings,
    ) {
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
            return findings.add_single(kind, moment, subject, lane, access.kind, || place);
        }
        let is_variable = subject.memory.find(address).is_some_and(|of| of.name() == VARIABLES);
        if is_variable
            && !subject.global.is_empty()
            && let Lies::Outside(near) = subject.global.locate(address, access.bytes)
        {
            let place = || format!("global {address:#x}, {near}");
            findings.add_single(FindingKind::OutsideVariable, moment, subject, lane, access.kind, place);
        }
    }

    /// Blocks of the heap that were never given back.
    pub(super) fn leaks(&self, findings: &mut Findings) {
        let leaked: Vec<(u64, HeapBlock)> = self.heap.leaked().map(|(start, block)| (start, block.clone())).collect();
        for (start, HeapBlock { size, made: (pc, site), .. }) in leaked {
            let place = format!("global {start:#x}, heap block of {size} bytes");
            let kind = FindingKind::Leak;
            findings.add(kind, pc, 0, || Finding { kind, place, earlier: None, later: site, times: 0 });
        }
    }
}

/// A global address with the name of what is there.
pub(super) fn global_place(subject: &Subject<'_>, address: u64) -> String {
    if let Lies::Inside(name) = subject.global.locate(address, 1) {
        return format!("global {address:#x}, {name}");
    }
    match subject.memory.find(address) {
        Some(of) => format!("global {address:#x}, {}+{:#x}", of.name(), address - of.base()),
        None => format!("global {address:#x}"),
    }
}
