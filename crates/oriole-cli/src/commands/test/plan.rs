//! From manifests to cases: each launch for each target and level, with everything read that it needs.

use super::build::{Build, Kind, label};
use super::manifest::{Global, Launch, Manifest, Program, nearest, wrong};
use super::parameter::{Expected, Parameter, Prepared};
use super::value::{Dim, Level, Limit, NonNegative, Seconds};
use crate::commands::comparison::Tolerance;
use crate::commands::failure::Failure;
use crate::commands::files::ELF_MAGIC;
use crate::commands::launch::Given;
use crate::commands::run_args::{Engine, RunArgs, Strict};
use crate::commands::test_args::TestArgs;
use crate::commands::{compile, memcheck, nvptx};
use oriole_codegen::CompileOptions;
use oriole_ptx::diag::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A launch for one target at one level.
pub(super) struct Case {
    /// The launch's name and in brackets what of the matrix it is.
    pub(super) name: String,
    /// The manifest.
    pub(super) manifest: PathBuf,
    /// Where the launch stands in it.
    pub(super) place: Range<usize>,
    /// The program.
    pub(super) program: Build,
    /// The options of `oriole run` that say the same.
    pub(super) run: RunArgs,
    /// What it is given.
    pub(super) given: Given,
    /// By argument.
    pub(super) expected: Vec<(usize, Expected)>,
    /// What it is to print.
    pub(super) prints: Option<String>,
    /// The kind of fault that is to stop it.
    pub(super) fault: Option<&'static str>,
}

/// The cases of a manifest, or everything that is wrong with it.
pub(super) fn cases(args: &TestArgs, path: &Path, manifest: Manifest) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let plan = Plan { args, path, folder, programs: &manifest.programs };
    let (mut cases, mut errors, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    if manifest.launch.is_empty() {
        errors.push(wrong(0..0, "the manifest has no launch"));
    }
    for launch in manifest.launch {
        let place = launch.span();
        match plan.cases_of(launch.into_inner(), &manifest.defaults, place.clone()) {
            Ok(found) => {
                for case in &found {
                    if !names.insert(case.name.clone()) {
                        errors.push(wrong(place.clone(), format!("two launches are called '{}'", case.name)));
                    }
                }
                cases.extend(found);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(cases) } else { Err(errors) }
}

/// What the launches of a manifest have in common.
struct Plan<'a> {
    args: &'a TestArgs,
    path: &'a Path,
    folder: &'a Path,
    programs: &'a BTreeMap<String, Spanned<Program>>,
}

impl Plan<'_> {
    fn cases_of(&self, launch: Launch, defaults: &Launch, place: Range<usize>) -> Result<Vec<Case>, Diagnostic> {
        let needs_code = launch.strict == Some(true) || launch.check.is_some();
        let launch = launch.over(defaults);
        if needs_code && engine_of(&launch) == Engine::Ptx {
            return Err(wrong(place, "strict and check do nothing with the engine ptx"));
        }
        let missing = |key: &str| wrong(place.clone(), format!("the launch has no {key}"));
        let entry = launch.entry.clone().ok_or_else(|| missing("entry"))?;
        let block = launch.block.ok_or_else(|| missing("block"))?;
        let program = self.program(&launch, &place)?;
        let prepared = self.parameters(&launch)?;
        let globals = self.globals(&launch)?;
        let run = self.run_args(&launch, entry, block, &prepared)?;
        let fault = launch.fault.as_ref().map(|fault| fault.get_ref().0);
        let name = launch.name.as_ref().map_or(&run.entry, |name| name.get_ref());
        let expected: Vec<(usize, Expected)> =
            prepared.iter().enumerate().filter_map(|(at, prepared)| Some((at, prepared.expected.clone()?))).collect();
        check_purpose(&launch, !expected.is_empty(), &place)?;
        let case = |program: Build| Case {
            name: format!("{name}{}", label(&program)),
            manifest: self.path.to_owned(),
            place: place.clone(),
            run: RunArgs { input: program.path.clone(), arch: program.target.clone(), ..run.clone() },
            program,
            given: Given {
                arguments: prepared.iter().map(|prepared| prepared.argument.clone()).collect(),
                globals: globals.clone(),
            },
            expected: expected.clone(),
            prints: launch.prints.clone(),
            fault,
        };
        Ok(self.builds(&launch, program)?.into_iter().map(case).collect())
    }

    /// The launch's program; the only one, where it names none.
    fn program(&self, launch: &Launch, place: &Range<usize>) -> Result<&Spanned<Program>, Diagnostic> {
        let known = || self.programs.keys().map(String::as_str);
        let Some(name) = &launch.program else {
            let only = self.programs.values().next().filter(|_| self.programs.len() == 1);
            let listed = || known().collect::<Vec<_>>().join(", ");
            return only
                .ok_or_else(|| wrong(place.clone(), format!("the launch names no program; there are: {}", listed())));
        };
        self.programs.get(name.get_ref()).ok_or_else(|| {
            let error = wrong(name.span(), format!("[programs] has no '{}'", name.get_ref()));
            match nearest(name.get_ref(), known()) {
                Some(near) => error.help(format!("did you mean '{near}'?")),
                None => error.help(format!("it has: {}", known().collect::<Vec<_>>().join(", "))),
            }
        })
    }

    fn parameters(&self, launch: &Launch) -> Result<Vec<Prepared>, Diagnostic> {
        let value = |tolerance: Option<NonNegative>| tolerance.map_or(0.0, |NonNegative(value)| value);
        let tolerance =
            Tolerance { rtol: value(launch.rtol), atol: value(launch.atol), nan: launch.nan.unwrap_or_default() };
        let prepare = |(at, parameter): (usize, &Spanned<Parameter>)| {
            let prepared = parameter.get_ref().prepare(self.folder, tolerance);
            prepared.map_err(|reason| wrong(parameter.span(), format!("argument {at}: {reason}")))
        };
        launch.args.iter().flatten().enumerate().map(prepare).collect()
    }

    fn globals(&self, launch: &Launch) -> Result<Vec<(String, Vec<u8>)>, Diagnostic> {
        let made = |(name, global): (&String, &Spanned<Global>)| {
            let Global { contents, ty } = global.get_ref();
            let made = contents.make(ty.as_ref(), self.folder);
            let (_, bytes) = made.map_err(|reason| wrong(global.span(), format!("{name}: {reason}")))?;
            Ok((name.clone(), bytes))
        };
        launch.globals.iter().flatten().map(made).collect()
    }

    /// The launch as `oriole run` takes it.
    fn run_args(&self, launch: &Launch, entry: String, block: Dim, args: &[Prepared]) -> Result<RunArgs, Diagnostic> {
        let engine = engine_of(launch);
        if let Some(place) = launch.engine.as_ref().filter(|_| engine == Engine::Gpu) {
            return Err(wrong(place.span(), "oriole test runs on no GPU: the engines are sim and ptx"));
        }
        let is_simulated = engine == Engine::Sim;
        if let Some(check) = &launch.check {
            memcheck::parse(check.get_ref()).map_err(|failure| wrong(check.span(), failure.reason()))?;
        }
        let check = self.args.check.clone().or_else(|| launch.check.as_ref().map(|check| check.get_ref().clone()));
        Ok(RunArgs {
            entry,
            engine,
            grid: launch.grid.map_or([1; 3], |Dim(grid)| grid),
            block: Some(block.0),
            cluster: launch.cluster.map(|Dim(cluster)| cluster),
            shared: launch.shared.unwrap_or(0),
            strict: (is_simulated && (self.args.strict || launch.strict.unwrap_or(false))).then_some(Strict::Faults),
            check: check.filter(|_| is_simulated),
            timeout: launch.timeout.map(|Seconds(limit)| limit),
            max_instructions: launch.max_instructions.map(|Limit(limit)| limit),
            args: args.iter().map(|prepared| prepared.text.clone()).collect(),
            ..RunArgs::default()
        })
    }

    /// What of the program is run: each target with each level.
    fn builds(&self, launch: &Launch, program: &Spanned<Program>) -> Result<Vec<Build>, Diagnostic> {
        let Program { path, link, maxrregcount, no_fma } = program.get_ref();
        let path = self.folder.join(path);
        let cannot = |error| wrong(program.span(), format!("cannot read '{}': {error}", path.display()));
        let bytes = std::fs::read(&path).map_err(cannot)?;
        let is_llvm = nvptx::is_llvm(&path, &bytes);
        let is_interpreted = engine_of(launch) == Engine::Ptx;
        let kind = match (bytes.starts_with(ELF_MAGIC), is_interpreted) {
            (false, false) => Kind::Compiled,
            (true, false) => Kind::Cubin,
            (false, true) => Kind::Interpreted,
            (true, true) => return Err(wrong(program.span(), "a cubin cannot be run by the engine ptx")),
        };
        let acts = [
            ("link", !link.is_empty(), is_llvm && !is_interpreted),
            ("maxrregcount", maxrregcount.is_some(), kind == Kind::Compiled),
            ("no_fma", *no_fma, kind == Kind::Compiled),
        ];
        if let Some((key, ..)) = acts.iter().find(|(_, is_given, acts)| *is_given && !acts) {
            return Err(wrong(program.span(), format!("{key} does nothing with this program")));
        }
        if is_llvm && is_interpreted {
            return Err(wrong(program.span(), "the engine ptx runs PTX, not LLVM IR"));
        }
        let build = |(target, level)| Build {
            path: path.clone(),
            kind,
            link: link.iter().map(|path| self.folder.join(path)).collect(),
            maxrregcount: *maxrregcount,
            no_fma: *no_fma,
            target,
            level,
        };
        Ok(self.matrix(launch, kind)?.into_iter().map(build).collect())
    }

    /// Targets and levels. A cubin is for one target, and what is interpreted has no level.
    fn matrix(&self, launch: &Launch, kind: Kind) -> Result<Vec<(Option<String>, u8)>, Diagnostic> {
        let (targets, levels) = (self.targets(launch)?, self.levels(launch)?);
        Ok(match kind {
            Kind::Cubin => vec![(None, 0)],
            Kind::Interpreted => targets.into_iter().map(|target| (target, 0)).collect(),
            Kind::Compiled => {
                let of_target = |target: Option<String>| levels.iter().map(move |level| (target.clone(), *level));
                targets.into_iter().flat_map(of_target).collect()
            }
        })
    }

    /// None is that of the program.
    fn targets(&self, launch: &Launch) -> Result<Vec<Option<String>>, Diagnostic> {
        if !self.args.targets.is_empty() {
            return Ok(self.args.targets.iter().cloned().map(Some).collect());
        }
        let Some(targets) = &launch.targets else { return Ok(vec![None]) };
        if targets.get_ref().is_empty() {
            return Err(wrong(targets.span(), "no target: without the key it is the program's"));
        }
        let unknown = |failure: Failure| wrong(targets.span(), failure.reason());
        targets.get_ref().iter().try_for_each(|name| compile::compile_target(name).map(drop)).map_err(unknown)?;
        Ok(targets.get_ref().iter().cloned().map(Some).collect())
    }

    fn levels(&self, launch: &Launch) -> Result<Vec<u8>, Diagnostic> {
        if !self.args.levels.is_empty() {
            return Ok(self.args.levels.clone());
        }
        match &launch.levels {
            None => Ok(vec![CompileOptions::default().opt_level]),
            Some(levels) if levels.get_ref().is_empty() => Err(wrong(levels.span(), "no level: there are 0 to 3")),
            Some(levels) => Ok(levels.get_ref().iter().map(|Level(level)| *level).collect()),
        }
    }
}

/// A launch that could not fail is a mistake, and so is one that could not pass. That does not depend on `--strict` and
/// `--check`: a manifest is right or wrong by itself.
fn check_purpose(launch: &Launch, is_compared: bool, place: &Range<usize>) -> Result<(), Diagnostic> {
    let is_checked = launch.strict == Some(true) || launch.check.is_some();
    let is_judged = is_compared || launch.prints.is_some() || is_checked && engine_of(launch) == Engine::Sim;
    match &launch.fault {
        Some(fault) if is_compared => {
            Err(wrong(fault.span(), "a kernel that faults leaves no buffers: fault and expect do not go together"))
        }
        None if !is_judged => {
            Err(wrong(place.clone(), "the launch expects nothing: expect, prints, fault, check or strict is missing"))
        }
        _ => Ok(()),
    }
}

fn engine_of(launch: &Launch) -> Engine {
    launch.engine.as_ref().map_or(Engine::Sim, |engine| *engine.get_ref())
}
