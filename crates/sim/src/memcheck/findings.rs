//! Findings as they are made: each pair of instructions once, with how often it was found.

use super::report::{CheckReport, Finding, FindingKind, Site};
use super::subject::Subject;
use crate::lanes::WARP;
use crate::observer::Moment;
use crate::program::Program;
use oriole_device::Access as AccessKind;
use std::collections::BTreeMap;

/// What has been found so far, by kind and code addresses, the later access first.
#[derive(Default)]
pub(super) struct Findings(BTreeMap<(FindingKind, u64, u64), Finding>);

impl Findings {
    /// Notes a finding; `make` is asked for it the first time only.
    pub(super) fn add(&mut self, kind: FindingKind, later: u64, earlier: u64, make: impl FnOnce() -> Finding) {
        self.0.entry((kind, later, earlier)).or_insert_with(make).times += 1;
    }

    /// Notes a finding of one access of the instruction at hand.
    pub(super) fn add_single(
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
            later: moment_site(moment, lane, verb(access), subject),
            times: 0,
        });
    }

    /// All of them.
    pub(super) fn finish(self) -> CheckReport {
        CheckReport { findings: self.0.into_values().collect() }
    }
}

/// The access of `lane` of the instruction at hand as a report names it.
pub(super) fn moment_site(moment: &Moment<'_>, lane: usize, access: &'static str, subject: &Subject<'_>) -> Site {
    let identity = &moment.state.identity;
    let thread = identity.warp * WARP as u32 + lane as u32;
    site(moment.issued.pc, access, identity.ctaid, thread, subject)
}

/// An access as a report names it; `thread` is the linear number in its block.
pub(super) fn site(pc: u64, access: &'static str, block: [u32; 3], thread: u32, subject: &Subject<'_>) -> Site {
    CodePlace::at(pc, subject.program).site(access, block, subject.launch.thread_at(thread))
}

/// An instruction as a report names it.
#[derive(Clone, Debug)]
pub(super) struct CodePlace {
    /// Byte offset in the function.
    pc: u64,
    function: String,
    instruction: String,
}

impl CodePlace {
    /// The instruction at a code address.
    pub(super) fn at(pc: u64, program: &Program) -> Self {
        let section = program.section(pc);
        CodePlace {
            pc: section.map_or(pc, |section| pc - section.base),
            function: section.map(|section| section.name.clone()).unwrap_or_default(),
            instruction: program.text(pc),
        }
    }

    /// An access by it.
    pub(super) fn site(self, access: &'static str, block: [u32; 3], thread: [u32; 3]) -> Site {
        let CodePlace { pc, function, instruction } = self;
        Site { pc, function, instruction, access, block, thread, launch: None, source: None }
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
