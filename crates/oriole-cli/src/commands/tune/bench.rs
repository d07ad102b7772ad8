//! What a candidate is worth: its code, how long the launches take with it, and whether they leave what those of plain -O3 leave.

use super::clock::Clock;
use super::device::Device;
use super::launches::Launch;
use super::left::Left;
use crate::commands::args::CodeArgs;
use crate::commands::failure::{Failure, rejected, stopped, usage};
use crate::commands::launch::check_types;
use crate::commands::run_args::{RunArgs, Strict};
use crate::commands::simulate::Simulated;
use crate::commands::{compile, memcheck, simulate};
use oriole_codegen::{kernels, resources};
use oriole_cubin::Cubin;
use oriole_device::FaultKind;
use oriole_isa::{Arch, SmDescription};
use oriole_sim::{RunError, RunReport};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// So many times the instructions that a launch executes with plain -O3 it may execute with a candidate.
const MORE_INSTRUCTIONS: u64 = 8;
/// On a device a candidate is better if it takes less by one part of so many.
const NOISE: u64 = 100;

/// Code, and what is said of it.
#[derive(Clone)]
pub(super) struct Code {
    pub(super) bytes: Vec<u8>,
    cubin: Cubin,
    /// R registers of each kernel.
    pub(super) registers: Vec<u32>,
}

impl Code {
    pub(super) fn cubin(&self) -> &Cubin {
        &self.cubin
    }

    /// The target's name.
    pub(super) fn target(&self) -> String {
        self.cubin.target.to_string()
    }

    /// What a multiprocessor of the target has; none of one for which no code is made.
    pub(super) fn sm(&self) -> Option<&'static SmDescription> {
        Arch::of_capability(self.cubin.target.sm).map(Arch::sm)
    }
}

/// What costs are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Of the cycle model.
    Cycles,
    /// Of a GPU's clock.
    Nanoseconds,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Cycles => "cycles",
            Unit::Nanoseconds => "nanoseconds",
        }
    }
}

/// What is known of a launch.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    /// How long it takes, in the bench's [`Unit`].
    pub(super) cost: u64,
    /// Warps on a multiprocessor, as a part of those that there can be, where the cycle model says it.
    pub(super) occupancy: Option<f64>,
}

/// All launches with one code.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) launches: Vec<Timed>,
}

impl Measured {
    /// What candidates are compared by: what a program waits that makes one launch after the other.
    pub(super) fn cost(&self) -> u64 {
        self.launches.iter().map(|launch| launch.cost).sum()
    }
}

/// Why a candidate does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reason {
    /// There is no code for the options.
    NotCompiled,
    /// A launch faults, or cannot be made.
    Fault,
    /// A launch leaves something else.
    Differs,
    /// Strict simulation finds a register that is read too early.
    Hazard,
    /// `oriole check` finds something.
    Finding,
    /// The cycle model could not follow all warps: its figure is too low.
    NotModelled,
}

impl Reason {
    /// In a sentence that begins with a number of candidates.
    pub(super) fn words(self) -> &'static str {
        match self {
            Reason::NotCompiled => "not compiled",
            Reason::Fault => "faulted",
            Reason::Differs => "wrong",
            Reason::Hazard => "with a hazard",
            Reason::Finding => "with a finding of check",
            Reason::NotModelled => "not followed by the cycle model",
        }
    }
}

/// That a candidate does not count.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// Why there are no figures of a candidate.
pub(super) enum Unfit {
    Refused(Refusal),
    /// The time was over.
    Late,
}

pub(super) fn refused(reason: Reason, message: impl ToString) -> Unfit {
    Unfit::Refused(Refusal { reason, message: message.to_string() })
}

/// How a launch is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// By the cycle model.
    Timed,
    /// By the strict simulator, with the checks of memory that the launch asks for.
    Strict,
}

/// What a launch with plain -O3 leaves, and how much it executes.
struct Expected {
    left: Left,
    instructions: u64,
}

/// What measures candidates.
pub(super) struct Bench<'a> {
    input: &'a Path,
    bytes: &'a [u8],
    launches: &'a [Launch],
    clock: &'a Clock,
    expected: Vec<Expected>,
    /// Measures what has been proved; else the cycle model does before.
    device: Option<Device>,
}

impl<'a> Bench<'a> {
    /// With what the launches leave with the code of `plain`, the options of all candidates.
    ///
    /// # Errors
    /// Plain code that is no measure: it cannot be compiled, faults, is not what is expected, is not proved right.
    pub(super) fn new(
        (input, bytes): (&'a Path, &'a [u8]),
        launches: &'a [Launch],
        plain: &CodeArgs,
        clock: &'a Clock,
        device: Option<Device>,
    ) -> Result<(Bench<'a>, Code, Measured), Failure> {
        let mut bench = Bench { input, bytes, launches, clock, expected: Vec::new(), device };
        let code = bench.compile_plain(plain)?;
        let mut measured = Measured { launches: Vec::new() };
        for launch in launches {
            let strict = simulate::launch(&bench.run_args(launch, Look::Strict, None), &code.cubin, &launch.given)?;
            let report = plain_report(launch, &strict)?;
            let left = Left::by(&strict.memory, &report.printed);
            bench.expected.push(Expected { left, instructions: report.statistics.warp_instructions });
            if bench.device.is_none() {
                let simulated =
                    simulate::launch(&bench.run_args(launch, Look::Timed, None), &code.cubin, &launch.given)?;
                let timed = timed(plain_report(launch, &simulated)?);
                let timed = timed.map_err(|message| rejected(format!("plain -O3, {}: {message}", launch.name)))?;
                measured.launches.push(timed);
            }
        }
        if let Some(device) = &mut bench.device {
            measured.launches = device.plain(&code, launches)?;
        }
        match bench.proven(&code) {
            Err(Unfit::Refused(refusal)) => Err(rejected(format!("plain -O3 is no measure: {}", refusal.message))),
            Err(Unfit::Late) | Ok(()) => Ok((bench, code, measured)),
        }
    }

    fn compile_plain(&self, plain: &CodeArgs) -> Result<Code, Failure> {
        let (code, compiled) = self.compiled(plain)?;
        self.launches.iter().try_for_each(|launch| check_types(&launch.run, &compiled.parameters))?;
        Ok(code)
    }

    fn compiled(&self, code: &CodeArgs) -> Result<(Code, oriole_codegen::Compiled), Failure> {
        let mut compiled = compile::compile_bytes(self.input, self.bytes, code)?;
        let cubin = Cubin::parse(&compiled.cubin).map_err(|error| Failure::file(self.input, error))?;
        let registers = kernels(&compiled.module).filter_map(|(id, _)| resources(&compiled, id));
        let registers = registers.map(|needs| needs.registers).collect();
        Ok((Code { bytes: std::mem::take(&mut compiled.cubin), cubin, registers }, compiled))
    }

    /// The code of a candidate.
    pub(super) fn compile(&self, code: &CodeArgs) -> Result<Code, Refusal> {
        let refusal = |failure: Failure| Refusal { reason: Reason::NotCompiled, message: failure.reason().to_owned() };
        self.compiled(code).map(|(code, _)| code).map_err(refusal)
    }

    /// What costs are counted in.
    pub(super) fn unit(&self) -> Unit {
        if self.device.is_some() { Unit::Nanoseconds } else { Unit::Cycles }
    }

    /// Whether one costs less than the other: on a device by more than what two measurements of one code differ by.
    pub(super) fn is_better(&self, measured: &Measured, than: &Measured) -> bool {
        let noise = if self.device.is_some() { than.cost() / NOISE } else { 0 };
        measured.cost() < than.cost() - noise
    }

    /// How long the launches take with a candidate that leaves what plain code leaves.
    pub(super) fn measure(&self, code: &Code) -> Result<Measured, Unfit> {
        if let Some(device) = &self.device {
            self.simulated(code)?;
            let launches = self.launches.iter().enumerate();
            let launches = launches.map(|(number, launch)| device.measure(number, launch, code));
            return Ok(Measured { launches: launches.collect::<Result<_, _>>()? });
        }
        let mut launches = Vec::new();
        for (launch, expected) in self.launches.iter().zip(&self.expected) {
            let report = self.launch(launch, expected, code, Look::Timed)?;
            launches.push(timed(&report).map_err(|message| refused(Reason::NotModelled, message))?);
        }
        Ok(Measured { launches })
    }

    /// Whether a candidate that was measured is right for the strict simulator and for `oriole check`, too. That is never too late.
    pub(super) fn prove(&self, code: &Code) -> Result<(), Unfit> {
        match self.device {
            // It would not have been measured else.
            Some(_) => Ok(()),
            None => self.simulated(code),
        }
    }

    fn simulated(&self, code: &Code) -> Result<(), Unfit> {
        for (launch, expected) in self.launches.iter().zip(&self.expected) {
            self.launch(launch, expected, code, Look::Strict)?;
        }
        self.proven(code)
    }

    /// `oriole check`.
    fn proven(&self, code: &Code) -> Result<(), Unfit> {
        let report = oriole_check::check(&code.cubin, &[]).map_err(|error| refused(Reason::Finding, error))?;
        report.findings.first().map_or(Ok(()), |finding| Err(refused(Reason::Finding, finding)))
    }

    /// Make a launch, and compare what it leaves.
    fn launch(&self, launch: &Launch, expected: &Expected, code: &Code, look: Look) -> Result<RunReport, Unfit> {
        let args = self.run_args(launch, look, Some(expected));
        let simulated = simulate::launch(&args, &code.cubin, &launch.given);
        let Simulated { memory, found, result, .. } =
            simulated.map_err(|failure| refused(Reason::Fault, failure.reason()))?;
        if found.errors() > 0 {
            return Err(refused(Reason::Fault, "the checks of memory have found errors"));
        }
        let report = match result {
            Ok(report) => report,
            Err(RunError::Fault(fault)) => {
                return Err(match fault.kind {
                    FaultKind::TimeLimit(_) if look == Look::Timed && self.clock.is_over() => Unfit::Late,
                    _ if fault.kind.name() == "hazard" => refused(Reason::Hazard, fault),
                    _ => refused(Reason::Fault, fault),
                });
            }
            Err(error) => return Err(refused(Reason::Fault, error)),
        };
        match Left::by(&memory, &report.printed).difference(&expected.left) {
            Some(difference) => Err(refused(Reason::Differs, format!("{}: {difference}", launch.name))),
            None => Ok(report),
        }
    }

    /// The options of `oriole run` for a launch.
    fn run_args(&self, launch: &Launch, look: Look, expected: Option<&Expected>) -> RunArgs {
        let most = expected.map(|expected| expected.instructions.saturating_mul(MORE_INSTRUCTIONS));
        let timeout = expected.filter(|_| look == Look::Timed).and_then(|_| self.clock.left());
        RunArgs {
            timing: look == Look::Timed,
            strict: (look == Look::Strict).then_some(Strict::Faults),
            check: launch.run.check.clone().filter(|_| look == Look::Strict),
            max_instructions: launch.run.max_instructions.or(most),
            timeout: [launch.run.timeout, timeout].into_iter().flatten().min(),
            threads: Some(1),
            ..launch.run.clone()
        }
    }
}

/// The report of a launch with plain code, which has to come to its end and to be right.
fn plain_report<'s>(launch: &Launch, simulated: &'s Simulated) -> Result<&'s RunReport, Failure> {
    let report = match &simulated.result {
        Ok(report) => report,
        Err(RunError::Fault(fault)) => return Err(stopped(fault)),
        Err(RunError::Launch(error)) => return Err(usage(error)),
        Err(error) => return Err(rejected(error)),
    };
    memcheck::verdict(&simulated.found)?;
    let wrong = launch.expected.iter().filter_map(|expected| expected.judge(&simulated.bound, &simulated.memory));
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() { Ok(report) } else { Err(Failure::Rejected(wrong.join("\n"))) }
}

fn timed(report: &RunReport) -> Result<Timed, String> {
    let timing = report.timing.as_ref().ok_or("the cycle model says nothing")?;
    match timing.unfinished_warps {
        0 => Ok(Timed { cost: timing.cycles, occupancy: Some(timing.occupancy.theoretical()) }),
        warps => Err(format!("the cycle model could not replay {warps} warps to their ends")),
    }
}
