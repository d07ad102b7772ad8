//! `oriole run --engine sim`: the SASS simulator.

use super::bounds;
use super::failure::{Failure, rejected, usage};
use super::launch::{Ended, Given, Launched, Lines, bind_objects, launch_of, wrong_argument};
use super::memcheck;
use super::run_args::{AbsentLanes, RunArgs, Strict};
use oriole_codegen::LineTable;
use oriole_cubin::Cubin;
use oriole_device::Memory;
use oriole_device::argument::{self, Bound};
use oriole_sim::{CheckReport, Options, RunError, RunReport, Simulator, Statistics};

/// What a launch on the simulator leaves.
pub(crate) struct Simulated {
    pub(crate) bound: Bound,
    pub(crate) memory: Memory,
    /// What checks of memory have found.
    pub(crate) found: CheckReport,
    pub(crate) result: Result<RunReport, RunError>,
}

/// Launch a kernel on the simulator. Errors are those of the arguments.
pub(crate) fn launch(args: &RunArgs, cubin: &Cubin, given: &Given) -> Result<Simulated, Failure> {
    let options = Options {
        strict: args.strict.is_some(),
        old_values: args.strict == Some(Strict::Values),
        skips_absent: args.absent_lanes == Some(AbsentLanes::Skip),
        max_instructions: args.max_instructions.unwrap_or(Options::default().max_instructions),
        timeout: bounds::timeout(args.timeout)?,
        threads: args.threads.unwrap_or(0),
        deterministic: args.deterministic,
        timing: args.wants_timing(),
        timing_sms: args.timing_sms,
        timing_warm: args.timing_warm,
        ..Options::default()
    };
    let mut simulator = Simulator::new(cubin, options).map_err(|e| Failure::file(&args.input, e))?;
    let mut memory = Memory::with_limit(bounds::memory(args.memory)?);
    for (name, bytes) in &given.globals {
        simulator.set_variable(name, bytes, &mut memory).map_err(rejected)?;
    }
    let slots = simulator.parameters(&args.entry).map_err(|error| Failure::file(&args.input, error))?;
    let mut bound = argument::bind(&given.arguments, &slots, &mut memory).map_err(wrong_argument)?;
    bind_objects(args, &mut bound, &mut memory)?;
    simulator.set_objects(std::mem::take(&mut bound.objects));
    let launch = launch_of(args, &bound);
    let checks = args.check.as_deref().map(memcheck::parse).transpose()?;
    let (found, result) = match checks {
        Some(checks) => simulator.launch_checked(&args.entry, &launch, &mut memory, checks, &bound.undefined),
        None => (CheckReport::default(), simulator.launch(&args.entry, &launch, &mut memory)),
    };
    Ok(Simulated { bound, memory, found, result })
}

/// The same, with the lines that the code comes from; `lines` are those of the PTX, where that was compiled.
pub(crate) fn run(args: &RunArgs, cubin: &Cubin, given: &Given, lines: &LineTable) -> Result<Launched, Failure> {
    let Simulated { bound, memory, mut found, result } = launch(args, cubin, given)?;
    let lines = Lines::new(args, cubin, lines);
    memcheck::add_lines(&mut found, &lines);
    let end = match result {
        Ok(report) => Ok(Ended {
            printed: report.printed,
            warp_instructions: report.statistics.warp_instructions,
            statistics: statistics(&report.statistics),
            timing: report.timing,
        }),
        Err(RunError::Fault(mut fault)) => {
            let place = &mut fault.place;
            if place.source.is_none() && !place.instruction.is_empty() {
                place.source = lines.at(place.function.as_ref().unwrap_or(&place.kernel), place.pc);
            }
            Err(fault)
        }
        Err(error @ (RunError::NoKernel { .. } | RunError::Unbound(_))) => return Err(rejected(error)),
        Err(RunError::Launch(error)) => return Err(usage(error)),
        Err(RunError::Memory(shortage)) => return Err(Failure::Fault(format!("error: {shortage}"))),
    };
    Ok(Launched { bound, memory, found, target: cubin.target.to_string(), end })
}

fn statistics(statistics: &Statistics) -> serde_json::Value {
    let opcodes: serde_json::Map<String, serde_json::Value> =
        statistics.opcodes.iter().map(|(opcode, count)| (opcode.name().to_owned(), (*count).into())).collect();
    let lanes = statistics.group_lanes as f64 / (32.0 * statistics.warp_instructions.max(1) as f64);
    serde_json::json!({
        "blocks": statistics.blocks,
        "warps": statistics.warps,
        "warp_instructions": statistics.warp_instructions,
        "thread_instructions": statistics.thread_instructions,
        "diverged_instructions": statistics.diverged_instructions,
        "lane_utilisation": lanes,
        "opcodes": opcodes,
    })
}
