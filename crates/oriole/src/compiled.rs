//! What a compilation gives.

use crate::diagnostic::{Diagnostic, Severity};
use crate::error::{CompileError, CubinError};
use oriole_codegen::{PressureInst, Report, Resources, final_pressure, kernels, resources, variable_bytes};
#[cfg(feature = "simulate")]
use oriole_cubin::LineKind;
use oriole_ori::{INST_BYTES, MemSpace};
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
    /// What ptxas says with `-v`, but for the time: the module's memory, then registers, stack and spills of each kernel, the
    /// last one first, with a line end behind each line.
    pub log: String,
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
    /// How many registers hold values at each instruction, if
    /// [`CompilerBuilder::live_registers`](crate::CompilerBuilder::live_registers) asked for it.
    pub live: Vec<LiveRegisters>,
}

/// How many registers hold values at one instruction. The instructions are those of the kernel's own code, in the order in
/// which they stand in the cubin; what it calls and padding are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LiveRegisters {
    /// Byte offset of the instruction in the kernel's section.
    pub offset: u64,
    /// The instruction in the text form of Ori (`docs/ori.md`).
    pub instruction: String,
    /// Its line in the PTX, from 1, where it is known.
    pub line: Option<u32>,
    /// Registers by file that hold a value before the instruction or behind it, whichever are more; R1, the stack pointer,
    /// does not count. A register that is first written under a guard counts from where it was written before.
    pub registers: Registers,
}

/// Registers by file. Of a [`Kernel`], for all but the first one more than the highest number used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Registers {
    /// General registers (R); of a kernel, as the launch allocates them.
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
    /// The file's own line table, read when something asks for a line. A damaged one is as none: faults are what matters.
    #[cfg(feature = "simulate")]
    lines: std::sync::OnceLock<oriole_cubin::LineTable>,
}

impl Cubin {
    /// A cubin of whatever compiler. Faults and findings name the lines of its own line table, if it has one (as
    /// `-lineinfo` and `-g` make it).
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
            #[cfg(feature = "simulate")]
            lines: std::sync::OnceLock::new(),
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

    /// General registers of a thread that a launch of a kernel allocates; `None` if there is no such kernel.
    pub fn registers(&self, kernel: &str) -> Option<u32> {
        self.kernel(kernel).map(|function| function.registers)
    }

    fn kernel(&self, name: &str) -> Option<&oriole_cubin::Function> {
        self.parsed.functions.iter().find(|function| function.is_kernel && function.name == name)
    }

    /// A kernel's parameters in their order, without textures, surfaces and samplers; `None` if there is no such kernel.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .f32 a, .param .u64 p) { ret; }";
    /// let cubin = oriole::Compiler::builder().build()?.compile_ptx(ptx)?.cubin;
    /// let parameters = cubin.parameters("k").ok_or("no kernel")?;
    /// assert_eq!((parameters[0].offset, parameters[0].size, parameters[0].ty), (0, 4, Some("f32")));
    /// assert_eq!((parameters[1].offset, parameters[1].size), (8, 8));
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "simulate")]
    pub fn parameters(&self, kernel: &str) -> Option<Vec<crate::Parameter>> {
        let function = self.kernel(kernel)?;
        let placed = function.params.iter().filter(|param| !param.is_object()).enumerate();
        let parameter = |(index, param): (usize, &oriole_cubin::Param)| crate::Parameter {
            offset: param.offset,
            size: param.size,
            ty: self.origin.parameter_type(kernel, index).map(|ty| ty.as_str()),
        };
        Some(placed.map(parameter).collect())
    }

    /// The lines of the PTX that a kernel's instructions come from, where Oriole compiled it from PTX: byte offset and
    /// line, ascending. Instructions without a line are left out.
    #[cfg(feature = "simulate")]
    pub fn lines(&self, kernel: &str) -> &[(u64, u32)] {
        self.origin.lines(kernel)
    }

    /// Name of the PTX that [`Cubin::lines`] means; empty where Oriole did not compile it in this process.
    #[cfg(feature = "simulate")]
    pub fn file_name(&self) -> &str {
        self.origin.file_name()
    }

    /// Tells a cubin that was kept as a file what its compilation knew of its kernels, so that launches check types and faults
    /// name lines of the PTX as before.
    ///
    /// # Errors
    /// A type is none of PTX.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use oriole::{Cubin, KernelOrigin};
    /// # let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .f32 a) { ret; }";
    /// let made = oriole::Compiler::builder().build()?.compile_ptx(ptx)?.cubin;
    /// let types = made.parameters("k").ok_or("no kernel")?.iter().map(|each| each.ty.map(str::to_owned)).collect();
    /// let kept = KernelOrigin { name: "k".to_owned(), types, lines: made.lines("k").to_vec() };
    /// let again = Cubin::from_bytes(made.as_bytes())?.with_origin(made.file_name(), [kept])?;
    /// assert_eq!(again.parameters("k"), made.parameters("k"));
    /// assert_eq!(again.lines("k"), made.lines("k"));
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "simulate")]
    pub fn with_origin(
        self,
        file_name: impl Into<String>,
        kernels: impl IntoIterator<Item = crate::KernelOrigin>,
    ) -> Result<Cubin, CubinError> {
        let origin = crate::origin::Origin::of_kernels(file_name.into(), kernels);
        let origin = origin.map_err(|word| CubinError(format!("'{word}' is no type of a parameter")))?;
        Ok(Cubin { origin, ..self })
    }

    /// The line of an instruction: of the PTX where Oriole compiled that, else of the cubin's own line table. The offset is one
    /// in the section of the function.
    #[cfg(feature = "simulate")]
    pub(crate) fn line(&self, function: &str, offset: u64) -> Option<oriole_device::SourceLine> {
        let (file, line) = if self.origin.lines(function).is_empty() {
            let table = self.lines.get_or_init(|| self.parsed.line_table(LineKind::Source).unwrap_or_default());
            let found = table.in_code_of(&self.parsed, function, offset)?;
            (found.file, found.line)
        } else {
            self.origin.line(function, offset)?
        };
        Some(oriole_device::SourceLine { file: file.to_owned(), line })
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

/// `file_name` is that of the PTX that places mean, where there is one; `live`: count the registers that hold values.
pub(crate) fn describe(
    compiled: &mut oriole_codegen::Compiled,
    file_name: Option<&str>,
    live: bool,
) -> Result<Compiled, CompileError> {
    let cubin = Cubin::from_bytes(std::mem::take(&mut compiled.cubin));
    let cubin = cubin.map_err(|error| CompileError::Internal(error.to_string()))?;
    let kernels = kernels(&compiled.module).filter_map(|(id, func)| {
        let resources = resources(compiled, id)?;
        let insts = live.then(|| final_pressure(compiled, id)).flatten();
        let live = insts.map_or_else(Vec::new, live_registers);
        Some(Kernel::new(func.name().to_owned(), &resources, live))
    });
    let warnings = compiled.warnings();
    Ok(Compiled {
        kernels: kernels.collect(),
        global_bytes: variable_bytes(compiled, MemSpace::Global),
        constant_bytes: variable_bytes(compiled, MemSpace::Const),
        log: Report::of(compiled).print(None),
        warnings: warnings.map(|warning| Diagnostic::new(Severity::Warning, warning.to_string())).collect(),
        cubin: cubin.made_by(compiled, file_name),
    })
}

fn live_registers(insts: Vec<PressureInst>) -> Vec<LiveRegisters> {
    let each = insts.into_iter().zip((0..).step_by(INST_BYTES as usize)).map(|(inst, offset)| {
        // In the order of `oriole_codegen::PRESSURE_FILES`.
        let [general, uniform, predicate, uniform_predicate, convergence_barrier] = inst.counts;
        LiveRegisters {
            offset,
            instruction: inst.text,
            line: inst.line,
            registers: Registers { general, uniform, predicate, uniform_predicate, convergence_barrier },
        }
    });
    each.collect()
}

impl Kernel {
    fn new(name: String, resources: &Resources, live: Vec<LiveRegisters>) -> Kernel {
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
            live,
        }
    }
}
