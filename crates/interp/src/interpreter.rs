//! The interpreter's face: load a module, launch its kernels.

use crate::builder::parameter_slots;
use crate::code::Function;
use crate::env::Resources;
use crate::layout::{self, Home, Layout, LayoutError};
use crate::machine::Machine;
use crate::warp::Stop;
use crate::{compile, grid, initial};
use oriole_device::argument::Slot;
use oriole_device::texture::Objects;
use oriole_device::{Deadline, Fault, Heap, Launch, LaunchError, Memory, OutOfMemory, Place, Unstarted, VariableError};
use oriole_ptx::ast::{FunctionDirective, Module};
use std::sync::Arc;
use std::time::Duration;

/// How to interpret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Warp instructions that one block may execute before it counts as running for ever.
    pub max_instructions: u64,
    /// How long a launch may take on the host.
    pub timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_instructions: 1 << 40, timeout: None }
    }
}

/// Why a module cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The variables cannot be laid out.
    #[error("{0}")]
    Layout(
        /// Why.
        String,
    ),
}

impl From<LayoutError> for LoadError {
    fn from(LayoutError(reason): LayoutError) -> Self {
        LoadError::Layout(reason)
    }
}

/// Why a launch gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no kernel of that name.
    #[error("no kernel '{name}'; the module has: {}", known.join(", "))]
    NoKernel {
        /// The name.
        name: String,
        /// Names of the kernels that there are.
        known: Vec<String>,
    },
    /// The launch is impossible.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The host has no room for buffers, variables or the device heap.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The kernel stopped. [`Place::pc`] is the offset of the instruction in the text of the module.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// What a launch leaves besides memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// What the kernel has printed, block after block.
    pub printed: Vec<u8>,
    /// Instructions executed, each counted once per group of threads that executed it together.
    pub warp_instructions: u64,
    /// Instructions executed, each counted once per thread whose guard let it through.
    pub thread_instructions: u64,
}

/// A loaded module.
pub struct Interpreter<'m> {
    module: &'m Module,
    layout: Layout,
    functions: Vec<Function<'m>>,
    options: Options,
    objects: Objects,
}

impl<'m> Interpreter<'m> {
    /// Loads a checked module (see [`oriole_ptx::load`]). Instructions that are not interpreted load,
    /// and are a fault when they are reached.
    pub fn new(module: &'m Module, options: Options) -> Result<Interpreter<'m>, LoadError> {
        let (mut layout, statics) = Layout::new(module)?;
        for variable in statics {
            initial::fill(module, &mut layout, variable)?;
        }
        let functions = compile::module(module, &layout)?;
        Ok(Interpreter { module, layout, functions, options, objects: Objects::default() })
    }

    /// Textures, surfaces and samplers for the launches that follow; handles are parameters, names variables.
    pub fn set_objects(&mut self, objects: Objects) {
        self.objects = objects;
    }

    /// The places of a kernel's parameters, for [`oriole_device::argument::bind`].
    pub fn parameters(&self, kernel: &str) -> Result<Vec<Slot>, RunError> {
        Ok(parameter_slots(self.functions[self.kernel(kernel)?].declaration))
    }

    /// Puts the module's global variables into `memory`, unless they are there already. Launching does
    /// it too.
    pub fn place_variables(&self, memory: &mut Memory) {
        let contents = &self.layout.global;
        for variable in &self.layout.statics {
            let Home::Global(address) = variable.home else { continue };
            let name = format!("variable {}", variable.name);
            if variable.size > 0 && memory.place(&name, address, variable.size) {
                let start = (address - layout::global_base()) as usize;
                memory.write(address, &contents[start..start + variable.size as usize]);
            }
        }
    }

    /// Fills the variable `name`, in global or constant memory, from its start with `bytes`.
    pub fn set_variable(&mut self, name: &str, bytes: &[u8], memory: &mut Memory) -> Result<(), VariableError> {
        let variable = self.layout.statics.iter().find(|variable| variable.name == name);
        let variable = variable.ok_or_else(|| VariableError::Missing(name.to_owned()))?;
        let (home, size) = (variable.home, variable.size);
        if bytes.len() as u64 > size {
            return Err(VariableError::Size { name: name.to_owned(), size, given: bytes.len() });
        }
        match home {
            Home::Global(address) => {
                self.place_variables(memory);
                memory.write(address, bytes);
            }
            Home::Constant(offset) => {
                self.layout.constants[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
            }
            Home::Shared(_) | Home::DynamicShared | Home::Object(_) => {
                return Err(VariableError::Missing(name.to_owned()));
            }
        }
        Ok(())
    }

    /// Runs `kernel` to its end.
    pub fn launch(&self, kernel: &str, launch: &Launch, memory: &mut Memory) -> Result<RunReport, RunError> {
        let number = self.kernel(kernel)?;
        let function = &self.functions[number];
        let required = function.declaration.directives.iter().find_map(|directive| match directive {
            FunctionDirective::ReqNCtaPerCluster(shape) => Some(*shape),
            _ => None,
        });
        let cluster = self.cluster(required, launch)?;
        let launch = &Launch { cluster, ..launch.clone() };
        check(function, launch)?;
        self.place_variables(memory);
        let heap = self.functions.iter().any(|function| function.name == "malloc");
        let heap = heap.then(|| Heap::new(memory, Heap::DEFAULT_SIZE));
        memory.complete()?;
        let taken = memory.quota().taken();
        let dynamic_shared = function.shared;
        let machine = Machine {
            functions: &self.functions,
            kernel: number as u32,
            resources: Resources {
                launch,
                unstarted: Unstarted::new(launch),
                memory,
                constants: &self.layout.constants,
                objects: &self.objects,
                address_bytes: self.module.address_size / 8,
            },
            is_cluster: cluster != [1; 3] || required.is_some(),
            architecture: layout::architecture(self.module),
            shared_base: self.layout.shared_base,
            dynamic_shared,
            shared_end: dynamic_shared + launch.shared_bytes,
            handles: self.handles(),
            max_instructions: self.options.max_instructions,
            deadline: Deadline::new(self.options.timeout, None),
        };
        let outcome = grid::run(&machine, heap);
        // Blocks that a fault left unfinished are gone as well.
        let quota = machine.resources.memory.quota();
        quota.give_back(quota.taken().saturating_sub(taken));
        match outcome.fault {
            Some((block, stop)) => {
                Err(RunError::Fault(Box::new(self.fault(function, launch, block, stop, outcome.printed))))
            }
            None => Ok(RunReport {
                printed: outcome.printed,
                warp_instructions: outcome.instructions,
                thread_instructions: outcome.thread_instructions,
            }),
        }
    }

    /// The shape of the launch's clusters: that which the kernel requires, or that of the launch.
    fn cluster(&self, required: Option<[u32; 3]>, launch: &Launch) -> Result<[u32; 3], LaunchError> {
        /// More than 8 are what CUDA calls non-portable.
        const MOST_BLOCKS: u64 = 16;
        let given = launch.cluster;
        let cluster = required.unwrap_or(given);
        let refuse = |reason: String| Err(LaunchError::Cluster { cluster: given, reason });
        let blocks = Launch { cluster, ..Launch::default() }.blocks_of_cluster();
        if given != [1; 3] && given != cluster {
            return refuse(format!("the kernel requires clusters of {cluster:?}"));
        }
        if blocks > 1 && layout::architecture(self.module) < 90 {
            return refuse("targets before sm_90 have none".to_owned());
        }
        if blocks > MOST_BLOCKS {
            return refuse(format!("a cluster has at most {MOST_BLOCKS} blocks"));
        }
        Ok(cluster)
    }

    /// The handle of each variable that stands for a texture, surface or sampler; without a number where nothing is
    /// bound to it.
    fn handles(&self) -> Arc<[u64]> {
        let number = |name: &str| u64::from(self.objects.bound(name).unwrap_or(0));
        self.layout.objects.iter().map(|object| object.kind.bit() | number(&object.name)).collect()
    }

    fn kernel(&self, name: &str) -> Result<usize, RunError> {
        let kernels = || self.functions.iter().enumerate().filter(|(_, f)| f.declaration.is_entry);
        let found = kernels().find(|(_, f)| f.name == name && f.declaration.body.is_some());
        found.map(|(number, _)| number).ok_or_else(|| RunError::NoKernel {
            name: name.to_owned(),
            known: kernels().map(|(_, f)| f.name.to_owned()).collect(),
        })
    }

    /// The published form of a block's fault.
    fn fault(&self, kernel: &Function<'_>, launch: &Launch, block: u64, stop: Stop, printed: Vec<u8>) -> Fault {
        let function = &self.functions[stop.function as usize];
        let inst = function.ops.get(stop.pc as usize).and_then(|op| op.inst);
        let text = inst.map(|inst| oriole_ptx::print_instruction(inst, &self.module.symbols));
        let place = Place {
            kernel: kernel.name.to_owned(),
            block: launch.block_at(block),
            thread: launch.thread_at(stop.thread),
            pc: inst.map_or(0, |inst| u64::from(inst.span.start)),
            function: (function.name != kernel.name).then(|| function.name.to_owned()),
            instruction: text.unwrap_or_default().trim().to_owned(),
            source: None,
        };
        Fault { kind: stop.kind, place, printed }
    }
}

/// Checks a launch against what every device and the kernel take.
fn check(kernel: &Function<'_>, launch: &Launch) -> Result<(), LaunchError> {
    /// The most shared memory that a block of any target has.
    const MOST_SHARED: u64 = 228 << 10;
    launch.check()?;
    let bytes = u64::from(launch.shared_bytes);
    if bytes > MOST_SHARED {
        return Err(LaunchError::SharedTooLarge { bytes, limit: MOST_SHARED });
    }
    for directive in &kernel.declaration.directives {
        match *directive {
            FunctionDirective::ReqNTid(required) if required != launch.block => {
                return Err(LaunchError::RequiredBlock { required, given: launch.block });
            }
            FunctionDirective::MaxNTid(most) => {
                let most = most.iter().map(|&n| u64::from(n)).product::<u64>();
                let threads = launch.threads();
                if threads > most {
                    let reason = format!("the kernel was compiled for at most {most}");
                    return Err(LaunchError::BlockTooLarge { threads, reason });
                }
            }
            _ => {}
        }
    }
    Ok(())
}
