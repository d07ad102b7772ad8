//! LLVM IR as input.

use crate::compiled::{self, Compiled};
use crate::compiler::Compiler;
use crate::diagnostic::{Diagnostic, Severity};
use crate::error::CompileError;
use oriole_codegen::{DebugInfo, Session};
use oriole_nvptx::driver::{self, Control, Library, Options, ReadError};
use oriole_passes::Workers;
use oriole_ptx::diag::SourceMap;

/// The target of a module that names none where the compiler names none either.
const DEFAULT_TARGET: &str = "sm_80";

/// Which products and sums of floats become one operation with one rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FpContract {
    /// None.
    Off,
    /// Those that the IR allows, by the flag `contract` or by `llvm.fmuladd`.
    #[default]
    On,
    /// All.
    Fast,
}

/// How LLVM IR becomes PTX.
#[derive(Clone, Debug)]
#[must_use]
pub struct LlvmOptions {
    options: Options,
    libraries: Vec<(Vec<u8>, String)>,
}

impl Default for LlvmOptions {
    fn default() -> Self {
        LlvmOptions { options: Options::default(), libraries: Vec::new() }.fp_contract(FpContract::default())
    }
}

impl LlvmOptions {
    /// Which products and sums are fused.
    pub fn fp_contract(mut self, contract: FpContract) -> Self {
        self.options.fp_contract = match contract {
            FpContract::Off => driver::FpContract::Off,
            FpContract::On => driver::FpContract::On,
            FpContract::Fast => driver::FpContract::Fast,
        };
        self
    }

    /// Subnormals of `float` become zero (`--ftz`); else they stay.
    pub fn flush_subnormals(mut self, flush: bool) -> Self {
        self.options.ftz = flush;
        self
    }

    /// Quotients of `float` are rounded correctly; else so.
    pub fn precise_division(mut self, precise: bool) -> Self {
        self.options.prec_div = precise;
        self
    }

    /// Square roots of `float` are rounded correctly; else so.
    pub fn precise_square_roots(mut self, precise: bool) -> Self {
        self.options.prec_sqrt = precise;
        self
    }

    /// A module of which what is called is linked, such as libdevice: text or bitcode, and what messages call it.
    pub fn library(mut self, bytes: impl Into<Vec<u8>>, file_name: impl Into<String>) -> Self {
        self.libraries.push((bytes.into(), file_name.into()));
        self
    }
}

/// What messages call LLVM IR that the caller gave no name.
const UNNAMED_LLVM: &str = "<llvm>";

impl Compiler {
    /// Compiles LLVM IR, text or bitcode, with the default [`LlvmOptions`].
    ///
    /// # Errors
    /// The first thing that is wrong or not supported; or why there is no code for it.
    pub fn compile_llvm(&self, ir: impl AsRef<[u8]>) -> Result<Compiled, CompileError> {
        self.compile_llvm_with(ir, &LlvmOptions::default())
    }

    /// Compiles LLVM IR, text or bitcode.
    ///
    /// # Errors
    /// The first thing that is wrong or not supported; or why there is no code for it.
    pub fn compile_llvm_with(&self, ir: impl AsRef<[u8]>, llvm: &LlvmOptions) -> Result<Compiled, CompileError> {
        self.in_session(|session| {
            let (ptx, warnings) = self.ptx_module(ir.as_ref(), llvm, session)?;
            let compiled = oriole_codegen::compile_module_in(&ptx, &self.options, session);
            let mut compiled = compiled.map_err(|error| CompileError::from_codegen(error, None))?;
            let mut described = compiled::describe(&mut compiled, None, self.live)?;
            described.warnings.splice(..0, warnings.into_iter().map(|text| Diagnostic::new(Severity::Warning, text)));
            Ok(described)
        })
    }

    /// The PTX that LLVM IR, text or bitcode, becomes: for this compiler's target, level and bound of registers, with source
    /// lines where debuggers are to be told of them.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let ir = "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k() {\n  ret void\n}\n";
    /// let ptx = oriole::Compiler::builder().target("sm_90").build()?.llvm_to_ptx(ir, &oriole::LlvmOptions::default())?;
    /// assert!(ptx.contains(".entry k"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first thing that is wrong or not supported.
    pub fn llvm_to_ptx(&self, ir: impl AsRef<[u8]>, llvm: &LlvmOptions) -> Result<String, CompileError> {
        self.in_session(|session| Ok(oriole_ptx::print(&self.ptx_module(ir.as_ref(), llvm, session)?.0)))
    }

    /// The PTX, and what the reader warns of.
    fn ptx_module(
        &self,
        ir: &[u8],
        llvm: &LlvmOptions,
        session: &Session<'_>,
    ) -> Result<(oriole_ptx::ast::Module, Vec<String>), CompileError> {
        let go_on = || session.poll().map_err(|error| CompileError::from_codegen(error, None));
        go_on()?;
        let module = driver::read(ir, self.file_name_or(UNNAMED_LLVM)).map_err(|error| unreadable(&error, ir))?;
        let named = driver::target_of(&module).unwrap_or(DEFAULT_TARGET).to_owned();
        let libraries = llvm.libraries.iter().map(|(bytes, file_name)| Library { bytes, file_name });
        let options = Options {
            arch: self.options.target.map_or(named, |target| target.to_string()),
            level: self.options.opt_level,
            max_registers: self.options.maxrregcount,
            line_info: self.options.debug != DebugInfo::None,
            ..llvm.options.clone()
        };
        let control = Control { workers: &Workers::new(self.options.jobs), is_stopped: &|| session.poll().is_err() };
        let output = driver::compile_under(control, module, &libraries.collect::<Vec<_>>(), &options);
        go_on()?;
        let output = output.map_err(|error| match error {
            driver::Error::Library { library, error } => unreadable(&error, &llvm.libraries[library].0),
            error => CompileError::Source(vec![Diagnostic::new(Severity::Error, error.to_string())]),
        })?;
        Ok((output.module, output.warnings))
    }
}

fn unreadable(error: &ReadError, bytes: &[u8]) -> CompileError {
    CompileError::Source(vec![match error {
        ReadError::Text(error) => {
            let text = String::from_utf8_lossy(bytes);
            Diagnostic::of_ptx(&error.report, Some(&SourceMap::new(&error.file, &text)))
        }
        error => Diagnostic::new(Severity::Error, error.to_string()),
    }])
}
