//! From LLVM IR to a PTX module: the stages in order.

use std::fmt::Write;

use oriole_ptx::ast;

pub use crate::control::Control;
use crate::link::{self, Reflect};
use crate::machine::dump::Dump;
use crate::machine::passes::{self, PassFault, PassOptions};
pub use crate::select::FpContract;
use crate::{bitcode, emit, ir, machine, opt, runtime, select, text, wide};

/// What to make of a module.
#[derive(Clone, Debug)]
pub struct Options {
    /// `.target`, such as `sm_90a`.
    pub arch: String,
    /// `.version`; the least that will do when absent.
    pub ptx_version: Option<(u32, u32)>,
    /// `-O`: 0 to 3.
    pub level: u8,
    /// Names of passes that do not run, of [`optional_passes`].
    pub disabled_passes: Vec<String>,
    /// Which products and sums of floats are fused.
    pub fp_contract: FpContract,
    /// Subnormals of `float` are flushed to zero.
    pub ftz: bool,
    /// Quotients of `float` are rounded correctly.
    pub prec_div: bool,
    /// Square roots of `float` are rounded correctly.
    pub prec_sqrt: bool,
    /// Registers of 32 bits that a thread may have.
    pub max_registers: Option<u32>,
    /// Source lines as `.loc`, whatever the module's compile unit asks for.
    pub line_info: bool,
    /// Which functions are kept as text before emission.
    pub dump: DumpOf,
}

/// Which functions [`Output::dump`] has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum DumpOf {
    /// None.
    #[default]
    Nothing,
    /// All.
    All,
    /// The one of this name.
    Function(String),
}

impl Default for Options {
    fn default() -> Options {
        Options {
            arch: "sm_80".to_owned(),
            ptx_version: None,
            level: 3,
            disabled_passes: Vec::new(),
            fp_contract: FpContract::default(),
            ftz: false,
            prec_div: true,
            prec_sqrt: true,
            max_registers: None,
            line_info: false,
            dump: DumpOf::Nothing,
        }
    }
}

/// A file of which what a module needs is linked to it, such as libdevice.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// Bitcode or LLVM assembly.
    pub bytes: &'a [u8],
    /// What messages call it.
    pub file_name: &'a str,
}

/// What [`compile`] makes.
#[derive(Clone, Debug)]
pub struct Output {
    /// The module: checked, for [`oriole_ptx::print()`] or for lowering.
    pub module: ast::Module,
    /// What the readers passed over although it may have a meaning, a sentence each.
    pub warnings: Vec<String>,
    /// The machine functions that were asked for, after selection and after the machine passes.
    pub dump: String,
}

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `--arch` names no target.
    #[error("`{0}` is no target: write `sm_90` and the like")]
    Arch(String),
    /// `--arch` names a target that is too old.
    #[error("`{0}`: no PTX is made for targets before sm_{OLDEST}")]
    OldArch(String),
    /// A pass that is to be left out is none that could be.
    #[error("no pass '{name}' to leave out at this level; there are: {known}")]
    NoPass {
        /// What it was called.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// A library cannot be read.
    #[error("{error}")]
    Library {
        /// Its place among the libraries.
        library: usize,
        /// Why.
        #[source]
        error: ReadError,
    },
    /// A library does not fit the module.
    #[error(transparent)]
    Link(#[from] link::Error),
    /// The run-time library does not fit the module.
    #[error(transparent)]
    Runtime(#[from] runtime::Error),
    /// The module has what the back end does not take.
    #[error(transparent)]
    Select(#[from] select::Error),
    /// A machine pass is wrong.
    #[error("in `{function}`: {fault}")]
    Pass {
        /// The function.
        function: String,
        /// What is wrong.
        fault: PassFault,
    },
    /// The caller wanted an end.
    #[error("the compilation was stopped")]
    Stopped,
    /// The result cannot be said in PTX.
    #[error(transparent)]
    Emit(#[from] emit::Error),
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The text is wrong or has what is not supported; rendered with [`text::Diagnostic::render`].
    #[error(transparent)]
    Text(#[from] Box<text::Diagnostic>),
    /// The bitcode is.
    #[error(transparent)]
    Bitcode(#[from] bitcode::Error),
    /// Neither bitcode nor text.
    #[error("neither LLVM bitcode nor UTF-8 text")]
    Encoding,
}

/// True for LLVM bitcode, wrapped or not.
#[must_use]
pub fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xC0\xDE") || bytes.starts_with(&0x0B17_C0DEu32.to_le_bytes())
}

/// Reads LLVM bitcode or assembly, whichever the bytes are.
///
/// # Errors
///
/// What is wrong with them, and where.
pub fn read(bytes: &[u8], file_name: &str) -> Result<ir::Module, ReadError> {
    if is_bitcode(bytes) {
        return Ok(bitcode::read(bytes, file_name)?);
    }
    let content = std::str::from_utf8(bytes).map_err(|_| ReadError::Encoding)?;
    Ok(text::parse(content, file_name)?)
}

/// The target that the functions of a module were compiled for: `"target-cpu"="sm_80"`.
#[must_use]
pub fn target_of(module: &ir::Module) -> Option<&str> {
    let named = module.definitions().find_map(|(_, _, function, _)| function.attributes.string("target-cpu"));
    named.filter(|name| target_number(name).is_some())
}

/// The oldest target that PTX is made for: the first with `atom` in scopes, `atom.add.f64` and arithmetic on halves in every
/// member of its family.
const OLDEST: u32 = 60;

/// The number of a target, and whether it stands for that target or its family alone: `sm_90a`
/// gives 90 and true.
fn target_number(name: &str) -> Option<(u32, bool)> {
    let digits = name.strip_prefix("sm_")?;
    let plain = digits.trim_end_matches(['a', 'f']);
    let number = plain.parse().ok().filter(|_| plain.len() >= 2 && digits.len() - plain.len() <= 1)?;
    Some((number, plain.len() < digits.len()))
}

/// What the names of passes on machine functions start with in [`Options::disabled_passes`].
const MACHINE: &str = "machine-";

/// The names of the passes of a level that can be left out: those of the clean-up, and those on machine functions.
#[must_use]
pub fn optional_passes(level: u8) -> Vec<String> {
    let of_machine = passes::optional(level).map(|name| format!("{MACHINE}{name}"));
    opt::optional_passes(level).into_iter().map(str::to_owned).chain(of_machine).collect()
}

/// Takes from a library what a module needs.
fn link_library(module: &mut ir::Module, number: usize, library: &Library<'_>) -> Result<(), Error> {
    let unreadable = |error: ReadError| Error::Library { library: number, error };
    if is_bitcode(library.bytes) {
        let lazy = bitcode::LazyModule::open(library.bytes, library.file_name);
        let mut lazy = lazy.map_err(|error| unreadable(error.into()))?;
        return Ok(link::link_library(module, &mut lazy)?);
    }
    let other = read(library.bytes, library.file_name).map_err(unreadable)?;
    Ok(link::link(module, other, true)?)
}

/// Compiles a module, with what it needs of libraries: each may need what comes after it.
///
/// # Errors
///
/// The first thing that the back end does not take.
pub fn compile(module: ir::Module, libraries: &[Library<'_>], options: &Options) -> Result<Output, Error> {
    compile_under(Control::default(), module, libraries, options)
}

/// The same with other threads, or until the caller wants an end.
///
/// # Errors
///
/// The first thing that the back end does not take, or [`Error::Stopped`].
pub fn compile_under(
    control: Control<'_>,
    mut module: ir::Module,
    libraries: &[Library<'_>],
    options: &Options,
) -> Result<Output, Error> {
    let go_on = || if (control.is_stopped)() { Err(Error::Stopped) } else { Ok(()) };
    let (arch, arch_specific) = target_number(&options.arch).ok_or_else(|| Error::Arch(options.arch.clone()))?;
    if arch < OLDEST {
        return Err(Error::OldArch(options.arch.clone()));
    }
    let optional = optional_passes(options.level);
    if let Some(name) = options.disabled_passes.iter().find(|name| !optional.contains(name)) {
        return Err(Error::NoPass { name: name.clone(), known: optional.join(" ") });
    }
    let ftz = options.ftz.then_some(true);
    let reflect = Reflect { ftz, prec_sqrt: options.prec_sqrt, prec_div: options.prec_div, ..Reflect::new(arch) };
    let disabled = options.disabled_passes.clone();
    let clean_up = opt::Options { level: options.level, disabled, ..opt::Options::default() };
    let target = runtime::Target {
        arch,
        has_math: !libraries.is_empty(),
        splits_fmuladd: options.fp_contract == FpContract::Off,
    };
    loop {
        for (number, library) in libraries.iter().enumerate() {
            link_library(&mut module, number, library)?;
            go_on()?;
        }
        wide::expand(&mut module)?;
        module.spread_float_permissions();
        link::resolve_reflect(&mut module, &reflect);
        link::strip_unused(&mut module);
        runtime::number_blocks(&mut module);
        opt::run_until(&mut module, &clean_up, control.is_stopped);
        go_on()?;
        if !runtime::expand(&mut module, target)? {
            break;
        }
    }
    runtime::compute_constants(&mut module);

    let mut machine = machine::Module::default();
    emit::names::assign(&module, &mut machine);
    let selection = select::Options {
        arch,
        arch_specific,
        ptx_version: options.ptx_version.unwrap_or_else(oriole_ptx::newest_version),
        level: options.level,
        fp_contract: options.fp_contract,
        ftz: options.ftz,
        prec_div: options.prec_div,
        prec_sqrt: options.prec_sqrt,
    };
    select::module_until(&module, &mut machine, &selection, control.is_stopped)?;
    go_on()?;
    let mut dump = String::new();
    keep(&mut dump, &machine, options, "selection");
    let of_machine = options.disabled_passes.iter().filter_map(|name| name.strip_prefix(MACHINE)).map(str::to_owned);
    let pass_options = PassOptions {
        level: options.level,
        max_reg: options.max_registers,
        disabled: of_machine.collect(),
        ..PassOptions::default()
    };
    let machine::Module { functions, forms, symbols, .. } = &mut machine;
    passes::run_all(control, functions, forms, &pass_options).map_err(|(at, fault)| {
        let function = functions.get(at).map_or("", |(_, function)| symbols.text(function.name));
        Error::Pass { function: function.to_owned(), fault }
    })?;
    go_on()?;
    keep(&mut dump, &machine, options, "machine passes");
    let emission = emit::EmitOptions {
        arch: options.arch.clone(),
        ptx_version: options.ptx_version,
        max_registers: options.max_registers,
        line_info: options.line_info,
    };
    let warnings = std::mem::take(&mut module.warnings);
    Ok(Output { module: emit::module(&module, machine, &emission)?, warnings, dump })
}

/// Adds the functions that are asked for to the dump.
fn keep(dump: &mut String, machine: &machine::Module, options: &Options, stage: &str) {
    for (_, function) in &machine.functions {
        let name = machine.symbols.text(function.name);
        let wanted = match &options.dump {
            DumpOf::Nothing => return,
            DumpOf::All => true,
            DumpOf::Function(wanted) => name == wanted,
        };
        if wanted {
            let text = Dump { function, forms: &machine.forms, symbols: &machine.symbols };
            // Writing to a `String` cannot fail.
            let _ = writeln!(dump, "; {name} after {stage}\n{text}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_by_their_names() {
        assert_eq!(target_number("sm_90a"), Some((90, true)));
        assert_eq!(target_number("sm_120"), Some((120, false)));
        assert_eq!(target_number("sm_100f"), Some((100, true)));
        for wrong in ["sm_", "90", "sm_9", "sm_90aa", "compute_90", "sm_9x"] {
            assert_eq!(target_number(wrong), None, "{wrong}");
        }
    }
}
