//! The launches by which candidates are judged: one behind `--`, or those of a program in a manifest.

use crate::commands::args::CodeArgs;
use crate::commands::expect::Expectation;
use crate::commands::failure::{Failure, usage};
use crate::commands::launch::{Given, behind_dashes};
use crate::commands::run_args::RunArgs;
use crate::commands::test::{self, Measured};
use crate::commands::test_args::TestArgs;
use crate::commands::tune_args::TuneArgs;
use oriole_device::argument::Argument;
use std::path::Path;

/// A launch.
pub(super) struct Launch {
    /// What reports call it.
    pub(super) name: String,
    pub(super) run: RunArgs,
    pub(super) given: Given,
    /// What it is to leave besides being right.
    pub(super) expected: Vec<Expectation>,
}

/// The options that all candidates have, and the launches.
pub(super) fn launches(args: &TuneArgs) -> Result<(CodeArgs, Vec<Launch>), Failure> {
    let (mut code, launches) = match &args.manifest {
        Some(manifest) => of_manifest(args, manifest)?,
        None => {
            let code = CodeArgs { arch: args.arch.clone(), ir: args.ir.clone(), ..CodeArgs::default() };
            (code, vec![behind(&args.input, &args.launch)?])
        }
    };
    // What is not launched is not judged, and so not in the cubin.
    code.opt_level = None;
    code.entry = Vec::new();
    for launch in &launches {
        if !code.entry.contains(&launch.run.entry) {
            code.entry.push(launch.run.entry.clone());
        }
    }
    Ok((code, launches))
}

fn behind(input: &Path, words: &[String]) -> Result<Launch, Failure> {
    let (run, given) = behind_dashes(input, words, true)?;
    let idle = [
        ("--timing-detail", run.timing_detail),
        ("--timing-file", run.timing_file.is_some()),
        ("--check-report", run.check_report.is_some()),
        ("--stats", run.stats.is_some()),
    ];
    if let Some((name, _)) = idle.iter().find(|(_, is_given)| *is_given) {
        return Err(usage(format!("the launch behind -- is made many times: no {name}")));
    }
    let expected =
        run.expect.iter().map(|text| Expectation::parse(text, &given.arguments)).collect::<Result<_, _>>()?;
    Ok(Launch { name: run.entry.clone(), run, given, expected })
}

fn of_manifest(args: &TuneArgs, manifest: &Path) -> Result<(CodeArgs, Vec<Launch>), Failure> {
    let chosen = TestArgs {
        manifests: vec![manifest.to_owned()],
        filter: args.filter.clone(),
        targets: args.arch.iter().cloned().collect(),
        levels: vec![3],
        ..TestArgs::default()
    };
    let (code, measured) = test::passing(&chosen, &args.input)?;
    let launch = |Measured { name, run, given }: Measured| {
        let run = RunArgs { timing: true, ..run };
        Launch { name, run, given, expected: Vec::new() }
    };
    Ok((code, measured.into_iter().map(launch).collect()))
}

impl Launch {
    /// Files that it reads.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        let buffers = self.given.arguments.iter().flat_map(Argument::buffers);
        let globals = self.run.global.iter().filter_map(|setting| Some(Path::new(setting.split_once('=')?.1)));
        buffers.filter_map(|buffer| buffer.input()).chain(globals).chain(self.expected.iter().map(Expectation::path))
    }
}
