//! A cubin is checked: everything put together.

use crate::checked::Checked;
use crate::finding::{Finding, Kind, Missing, Place};
use crate::graph::{BlockId, Graph};
use crate::program::Program;
use crate::{barrier, convergence, copies, declared, flow, pace};
use oriole_cubin::{Cubin, Function, Refusal};
use oriole_isa::Arch;
use std::collections::BTreeSet;
use thiserror::Error;

/// Why a cubin cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckError {
    /// The latencies of its target are not known.
    #[error("there are no latency tables for {0}")]
    Target(String),
    /// No such function.
    #[error("no function '{name}'; the cubin has: {}", known.join(", "))]
    NoFunction {
        /// The name that was asked for.
        name: String,
        /// The functions that there are.
        known: Vec<String>,
    },
    /// The dataflow takes too long.
    #[error("too many paths: the analysis was given up")]
    TooComplex,
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The target.
    pub arch: Arch,
    /// Functions that were checked.
    pub functions: usize,
    /// Instructions that can be reached.
    pub instructions: usize,
    /// What is wrong, by address.
    pub findings: Vec<Finding>,
    /// What could not be followed: jumps and calls to places that the file does not tell.
    pub notes: Vec<String>,
}

/// Checks the functions of a cubin named by `entries`, or all of them if there are none, with what they call.
///
/// # Errors
/// Where the target has no latency tables, a function does not exist, or the code is too tangled.
pub fn check(cubin: &Cubin, entries: &[String]) -> Result<Report, CheckError> {
    let (arch, functions) = chosen(cubin, entries)?;
    let program = Program::new(cubin, arch);
    let graph = Graph::new(&program, cubin);
    let start = |f: &&Function| graph.block_at(program.at_file_section(f.section, f.offset)?);
    let roots: Vec<BlockId> = functions.iter().filter_map(start).collect();
    let kernels: BTreeSet<BlockId> = cubin.functions.iter().filter(|f| f.is_kernel).filter_map(|f| start(&f)).collect();
    let flow = flow::solve(&program, &graph, &roots);
    if flow.gave_up {
        return Err(CheckError::TooComplex);
    }
    let checked = Checked::new(&program, &graph, &flow, cubin);
    let mut findings = checked.lapses();
    findings.extend(refused(cubin, &functions));
    findings.extend(checked.unknown_words());
    findings.extend(checked.jumps_to_nowhere());
    findings.extend(checked.control_words());
    findings.extend(declared::check(&checked, cubin));
    findings.extend(barrier::check(&checked, cubin));
    findings.extend(pace::check(&checked, cubin.maker()));
    findings.extend(copies::check(&checked, &roots, &kernels));
    findings.extend(convergence::check(&checked, &graph, &roots));
    findings.sort_by(|a, b| (&a.later, a.kind, &a.earlier).cmp(&(&b.later, b.kind, &b.earlier)));
    Ok(Report {
        arch,
        functions: functions.len(),
        instructions: checked.reached().count(),
        findings,
        notes: checked.notes(),
    })
}

/// What a driver would not load, of the file and of these functions.
fn refused(cubin: &Cubin, functions: &[&Function]) -> Vec<Finding> {
    let is_asked = |refusal: &Refusal| match &refusal.function {
        Some(name) => functions.iter().any(|function| function.name == *name),
        None => true,
    };
    let finding = |Refusal { function, reason }: Refusal| Finding {
        kind: Kind::Refused,
        earlier: None,
        later: Place { function: function.unwrap_or_default(), address: 0, text: String::new() },
        registers: Vec::new(),
        missing: Missing::Other(reason),
        path: Vec::new(),
    };
    cubin.refusals().into_iter().filter(is_asked).map(finding).collect()
}

/// The target's instructions, and the functions that `entries` name: all if there are none.
pub(crate) fn chosen<'c>(cubin: &'c Cubin, entries: &[String]) -> Result<(Arch, Vec<&'c Function>), CheckError> {
    let arch = cubin.target.to_string().parse::<Arch>().map_err(|_| CheckError::Target(cubin.target.to_string()))?;
    if arch < Arch::Sm70 {
        return Err(CheckError::Target(cubin.target.to_string()));
    }
    if let Some(missing) = entries.iter().find(|name| !cubin.functions.iter().any(|f| f.name == **name)) {
        let known = cubin.functions.iter().map(|function| function.name.clone()).collect();
        return Err(CheckError::NoFunction { name: missing.clone(), known });
    }
    Ok((arch, cubin.functions.iter().filter(|f| entries.is_empty() || entries.contains(&f.name)).collect()))
}
