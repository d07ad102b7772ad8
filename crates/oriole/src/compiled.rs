//! What a compilation gives.

use crate::diagnostic::{Diagnostic, Severity};
use crate::error::{CompileError, CubinError};
use oriole_codegen::{Resources, kernels, resources, variable_bytes};
use oriole_ori::MemSpace;
use std::fmt;

/// A compiled module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// The cubin.
    pub cubin: Cubin,
    /// Its kernels, in the order of the module.
    pub kernels: Vec<Kernel>,
    /// Bytes of the module's variables in global memory.
    pub global_bytes: u64,
    /// Bytes of its variables in constant memory.
    pub constant_bytes: u64,
    /// What may not be what was meant.
    pub warnings: Vec<Diagnostic>,
}

impl Compiled {
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// What one kernel needs, with the functions that it calls in its module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// Name.
    pub name: String,
    /// Registers of a thread.
    pub registers: Registers,
    /// What allocation put into local memory.
    pub spills: Spills,
    /// Bytes of the kernel's own stack frame.
    pub frame_bytes: u32,
    /// Bytes of stack with the deepest chain of calls, as far as it is known.
    pub stack_bytes: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Barriers of the block (`bar.sync`).
    pub barriers: u32,
    /// Bytes of constant bank 0 with the parameters; 0 from sm_100 on, where ptxas does not say it either.
    pub bank0_bytes: u32,
    /// Bytes of code.
    pub code_bytes: usize,
}

/// Registers by file: for all but the first one more than the highest number used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registers {
    /// General registers (R), as the launch allocates them.
    pub general: u32,
    /// Uniform registers (UR), which a warp shares.
    pub uniform: u32,
    /// Predicates (P).
    pub predicate: u32,
    /// Uniform predicates (UP).
    pub uniform_predicate: u32,
    /// Convergence barriers (B).
    pub convergence_barrier: u32,
}

/// Bytes of the instructions that spill, without those of the functions called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spills {
    /// Stored.
    pub stores: u32,
    /// Loaded.
    pub loads: u32,
}

/// A cubin, with what its compilation knows of it besides: types of parameters, source lines.
#[derive(Clone)]
pub struct Cubin {
    bytes: Vec<u8>,
    parsed: oriole_cubin::Cubin,
    #[cfg(feature = "simulate")]
    pub(crate) origin: crate::origin::Origin,
}

impl Cubin {
    /// A cubin of whatever compiler.
    ///
    /// # Errors
    /// The bytes are no cubin, or its tables lead out of it.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Cubin, CubinError> {
        let bytes = bytes.into();
        let parsed = oriole_cubin::Cubin::parse(&bytes).map_err(|error| CubinError(error.to_string()))?;
        Ok(Cubin {
            bytes,
            parsed,
            #[cfg(feature = "simulate")]
            origin: crate::origin::Origin::default(),
        })
    }

    /// The file's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The file's bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Name of the target, such as `sm_90a`.
    pub fn target(&self) -> String {
        self.parsed.target.to_string()
    }

    /// Names of the kernels, in the order of the file.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.parsed.functions.iter().filter(|function| function.is_kernel).map(|function| function.name.as_str())
    }

    /// The same with what is known of where it came from.
    #[cfg(feature = "simulate")]
    fn made_by(self, compiled: &oriole_codegen::Compiled, file_name: Option<&str>) -> Cubin {
        Cubin { origin: crate::origin::Origin::new(compiled, file_name), ..self }
    }

    #[cfg(not(feature = "simulate"))]
    fn made_by(self, _: &oriole_codegen::Compiled, _: Option<&str>) -> Cubin {
        self
    }

    #[cfg(feature = "simulate")]
    pub(crate) fn parsed(&self) -> &oriole_cubin::Cubin {
        &self.parsed
    }
}

impl AsRef<[u8]> for Cubin {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for Cubin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cubin({}, {} bytes)", self.target(), self.bytes.len())
    }
}

/// `file_name` is that of the PTX that places mean, where there is one.
pub(crate) fn describe(
    compiled: &mut oriole_codegen::Compiled,
    file_name: Option<&str>,
) -> Result<Compiled, CompileError> {
    let cubin = Cubin::from_bytes(std::mem::take(&mut compiled.cubin));
    let cubin = cubin.map_err(|error| CompileError::Internal(error.to_string()))?;
    let kernels = kernels(&compiled.module).filter_map(|(id, func)| {
        let resources = resources(compiled, id)?;
        Some(Kernel::new(func.name().to_owned(), &resources))
    });
    let warnings = compiled.allocation.warnings();
    Ok(Compiled {
        kernels: kernels.collect(),
        global_bytes: variable_bytes(compiled, MemSpace::Global),
        constant_bytes: variable_bytes(compiled, MemSpace::Const),
        warnings: warnings.map(|warning| Diagnostic::new(Severity::Warning, warning.to_string())).collect(),
        cubin: cubin.made_by(compiled, file_name),
    })
}

impl Kernel {
    fn new(name: String, resources: &Resources) -> Kernel {
        Kernel {
            name,
            registers: Registers {
                general: resources.registers,
                uniform: resources.uniform_registers,
                predicate: resources.predicates,
                uniform_predicate: resources.uniform_predicates,
                convergence_barrier: resources.convergence_barriers,
            },
            spills: Spills { stores: resources.spills.stores, loads: resources.spills.loads },
            frame_bytes: resources.frame_bytes,
            stack_bytes: resources.stack_bytes,
            shared_bytes: resources.shared_bytes,
            barriers: resources.barriers,
            bank0_bytes: resources.bank0_bytes,
            code_bytes: resources.code_bytes,
        }
    }
}
