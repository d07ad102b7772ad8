//! The simulator's face: load a module, launch its kernels.

use crate::block::{BlockFault, Entry, fill_bank0};
use crate::constant::{BANKS, ConstantBanks};
use crate::look::{Checking, Found, Look};
use crate::machine::Machine;
use crate::memcheck::{CheckReport, Checker, Checks, StreamPlace, Streams, Subject, Variables};
use crate::observer::{Observer, Spectator, Watched};
use crate::program::{BankSizes, Program};
use crate::resources::{Resources, VARIABLES};
use crate::space::{CONSTANT_WINDOW, LOCAL_WINDOW, SHARED_WINDOW};
use crate::stats::Statistics;
use crate::timing::lines::Held;
use crate::timing::occupancy::Needs;
use crate::timing::{self, TimingReport};
use crate::{grid, properties, syscall, tensor_memory};
use oriole_cubin::image::{Bases, Image, Placement};
use oriole_cubin::reloc::{RelocValue, SAMP_HEADER_INDEX};
use oriole_cubin::{
    ConstantBank, Cubin, CubinError, FileKind, Function, Refusal, SectionIndex, SectionKind, Symbol, SymbolIndex,
};
use oriole_device::argument::Slot;
use oriole_device::texture::Objects;
use oriole_device::{Deadline, Fault, Heap, Launch, LaunchError, Memory, OutOfMemory, Place, Unstarted, VariableError};
use oriole_isa::chip::Chip;
use oriole_isa::{Arch, RegFile, Value};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Code address of the first function.
const CODE_BASE: u64 = 0x4_0000_0000;
/// Address of the module's first global variable.
const GLOBAL_BASE: u64 = 0x6_0000_0000;

/// Blocks that a cluster may have; more than 8 are what CUDA calls non-portable.
const MAX_CLUSTER: u64 = 16;

/// How to simulate.
#[derive(Clone, Debug)]
pub struct Options {
    /// Fault where a register is read before its producer's latency has passed or without the
    /// scoreboard wait that it needs.
    pub strict: bool,
    /// With [`strict`](Options::strict): rather than fault, give what is read too early its old value, as the hardware would: registers, and
    /// shared memory that copies have not come to.
    pub old_values: bool,
    /// A warp synchronisation whose mask names threads that wait elsewhere goes on without these when nothing else can run, as
    /// hardware evidently does; else that is a deadlock.
    pub skips_absent: bool,
    /// Warp instructions that one block may execute before it counts as running for ever.
    pub max_instructions: u64,
    /// How long a launch may take on the host.
    pub timeout: Option<Duration>,
    /// A launch ends with a fault soon after this becomes true.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// Host threads; 0: as many as the host has cores.
    pub threads: usize,
    /// One order of all accesses to memory, whatever the number of threads: the blocks run on one. Only results of blocks
    /// that race for global memory with plain loads and stores depend on it.
    pub deterministic: bool,
    /// Also estimate how long the launch would take on a device.
    pub timing: bool,
    /// Cut the device to this many multiprocessors, with caches and bandwidth in proportion.
    pub timing_sms: Option<u32>,
    /// Time a launch whose code, constants and buffers the second-level cache already holds, as far as they fit.
    pub timing_warm: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            strict: false,
            old_values: false,
            skips_absent: false,
            max_instructions: 1 << 40,
            timeout: None,
            cancelled: None,
            threads: 0,
            deterministic: false,
            timing: false,
            timing_sms: None,
            timing_warm: false,
        }
    }
}

/// Why a module cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The code is for a target that is not simulated.
    #[error("code for {0} cannot be simulated")]
    Target(
        /// The target's name.
        String,
    ),
    /// The cubin is broken, or a symbol that it needs does not exist.
    #[error(transparent)]
    Cubin(#[from] CubinError),
    /// A driver would not load it.
    #[error("a driver would not load it: {0}")]
    Refused(
        /// The first reason.
        Refusal,
    ),
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
    /// A variable of the module stands for a texture, surface or sampler that nothing was bound to.
    #[error("nothing is bound to the texture, surface or sampler '{0}'")]
    Unbound(
        /// The variable's name.
        String,
    ),
    /// The host has no room for buffers, variables or the device heap.
    #[error(transparent)]
    Memory(#[from] OutOfMemory),
    /// The kernel stopped.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// What a launch leaves besides memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// What the kernel has printed, block after block.
    pub printed: Vec<u8>,
    /// What was executed.
    pub statistics: Statistics,
    /// How long it would take, if that was asked for.
    pub timing: Option<TimingReport>,
}

/// A loaded module.
pub struct Simulator {
    program: Program,
    cubin: Cubin,
    image: Image,
    options: Options,
    objects: Objects,
}

/// The greatest sizes of the constant banks that the cubin fills. What bank 0 holds, the driver says.
fn bank_sizes(cubin: &Cubin, image: &Image) -> BankSizes {
    let mut sizes = [0; BANKS];
    for bank in &cubin.constant_banks {
        if let Some(size) = sizes.get_mut(bank.bank as usize) {
            *size = image.section_address(bank.section).saturating_add(bank.size).max(*size);
        }
    }
    sizes[0] = u64::MAX;
    sizes
}

/// What code for a linker adds to addresses that it takes from its table of functions; here they are plain addresses.
const UNIFIED_OFFSET: &str = "__UFT_OFFSET";

/// Where external functions are, and the windows of generic addresses.
struct Windows;

impl Placement for Windows {
    fn external(&self, name: &str) -> Option<u64> {
        let offset = (name == UNIFIED_OFFSET).then_some(0);
        offset.or_else(|| syscall::address(name)).or_else(|| properties::entry_size(name))
    }

    fn generic(&self, kind: &SectionKind, address: u64) -> u64 {
        match kind {
            SectionKind::Shared | SectionKind::SharedReserved => SHARED_WINDOW + address,
            SectionKind::Local => LOCAL_WINDOW + address,
            SectionKind::Constant { .. } => CONSTANT_WINDOW + address,
            _ => address,
        }
    }
}

impl Simulator {
    /// Loads a module.
    pub fn new(cubin: &Cubin, options: Options) -> Result<Simulator, LoadError> {
        let arch = Arch::of_capability(cubin.target.sm).filter(|arch| Arch::MODELLED.contains(arch));
        let arch = arch.ok_or_else(|| LoadError::Target(cubin.target.to_string()))?;
        if let Some(refusal) = cubin.refusals().into_iter().next() {
            return Err(LoadError::Refused(refusal));
        }
        let image = Image::link(cubin, Bases { code: CODE_BASE, global: GLOBAL_BASE }, &Windows)?;
        let texts = cubin.sections.iter().enumerate().filter(|(_, section)| section.kind == SectionKind::Text);
        let sections = texts.map(|(index, section)| {
            let name = section.name.strip_prefix(".text.").unwrap_or(&section.name).to_owned();
            (name, image.addresses[index], image.contents[index].clone())
        });
        let mut program = Program::new(arch, options.strict, bank_sizes(cubin, &image), sections);
        program.old_values = options.old_values;
        program.maker = cubin.maker();
        Ok(Simulator { program, cubin: cubin.clone(), image, options, objects: Objects::default() })
    }

    /// The instructions of the module that cannot be executed: text, and why. They are faults when they are
    /// reached; nothing else of the module is concerned.
    pub fn not_simulated(&self) -> Vec<(String, String)> {
        self.program.impossible()
    }

    /// Textures, surfaces and samplers for the launches that follow; handles are parameters, names variables.
    pub fn set_objects(&mut self, objects: Objects) {
        self.objects = objects;
    }

    /// The places of a kernel's parameters, for [`oriole_device::argument::bind`].
    pub fn parameters(&self, kernel: &str) -> Result<Vec<Slot>, RunError> {
        let function = self.kernel(kernel)?;
        Ok(function
            .params
            .iter()
            .filter(|param| !param.is_object())
            .map(|param| Slot { offset: param.offset, size: param.size })
            .collect())
    }

    /// Puts the module's global variables into `memory`, unless they are there already. Launching
    /// does it too.
    pub fn place_variables(&self, memory: &mut Memory) {
        for (index, section) in self.cubin.sections.iter().enumerate() {
            let is_global = matches!(section.kind, SectionKind::Global | SectionKind::GlobalInit);
            let address = self.image.addresses[index];
            if is_global && section.size > 0 && memory.place(VARIABLES, address, section.size) {
                memory.write(address, &self.image.contents[index]);
            }
        }
        let common = &self.image.common;
        if !common.is_empty() {
            memory.place(VARIABLES, common.start, common.end - common.start);
        }
    }

    /// Fills the variable `name`, in global or constant memory, from its start with `bytes`.
    pub fn set_variable(&mut self, name: &str, bytes: &[u8], memory: &mut Memory) -> Result<(), VariableError> {
        let defines = |symbol: &Symbol| symbol.name == name && (symbol.section.is_some() || symbol.is_common);
        let missing = || VariableError::Missing(name.to_owned());
        let index = self.cubin.symbols.iter().position(defines).ok_or_else(missing)?;
        let symbol = &self.cubin.symbols[index];
        if bytes.len() as u64 > symbol.size {
            return Err(VariableError::Size { name: name.to_owned(), size: symbol.size, given: bytes.len() });
        }
        let section = symbol.section.unwrap_or(0);
        match self.cubin.sections.get(section).map(|section| &section.kind) {
            _ if symbol.is_common => self.set_global(index, bytes, memory),
            Some(SectionKind::Global | SectionKind::GlobalInit) => self.set_global(index, bytes, memory),
            Some(SectionKind::Constant { .. }) => {
                let start = symbol.value as usize;
                let end = start.checked_add(bytes.len()).ok_or_else(missing)?;
                let place = self.image.contents[section].get_mut(start..end);
                place.ok_or_else(missing)?.copy_from_slice(bytes);
            }
            _ => return Err(missing()),
        }
        Ok(())
    }

    fn set_global(&self, symbol: SymbolIndex, bytes: &[u8], memory: &mut Memory) {
        self.place_variables(memory);
        memory.write(self.image.symbols[symbol], bytes);
    }

    /// Runs `kernel` to its end.
    pub fn launch(&self, kernel: &str, launch: &Launch, memory: &mut Memory) -> Result<RunReport, RunError> {
        self.run(kernel, launch, memory, Look::Nobody, &mut Found::default())
    }

    /// Runs `kernel` like [`Simulator::launch`] and shows what each of its own instructions leaves in registers.
    pub fn launch_watched(
        &self,
        kernel: &str,
        launch: &Launch,
        memory: &mut Memory,
        spectator: &dyn Spectator,
    ) -> Result<RunReport, RunError> {
        self.run(kernel, launch, memory, Look::Spectator(spectator), &mut Found::default())
    }

    /// Runs `kernel` like [`Simulator::launch`] and checks what it does to memory. Parts of memory (address, size)
    /// that are `undefined` count as never written. What was found until a fault is reported too.
    pub fn launch_checked(
        &self,
        kernel: &str,
        launch: &Launch,
        memory: &mut Memory,
        checks: Checks,
        undefined: &[(u64, u64)],
    ) -> (CheckReport, Result<RunReport, RunError>) {
        let mut found = Found::default();
        let look = Look::Checks(Checking { checks, undefined, among: None });
        let result = self.run(kernel, launch, memory, look, &mut found);
        (found.report, result)
    }

    /// Runs `kernel` like [`Simulator::launch_checked`], as one of several launches that share `memory`. Races with those of them
    /// that may run at the same time are found too.
    #[allow(clippy::too_many_arguments, reason = "a launch, what is checked of it, and its place among others")]
    pub fn launch_in_stream(
        &self,
        kernel: &str,
        launch: &Launch,
        memory: &mut Memory,
        checks: Checks,
        undefined: &[(u64, u64)],
        streams: &mut Streams,
        place: StreamPlace,
    ) -> (CheckReport, Result<RunReport, RunError>) {
        let unordered = streams.unordered(place);
        let mut found = Found::default();
        let look = Look::Checks(Checking { checks, undefined, among: Some((place, &unordered)) });
        let result = self.run(kernel, launch, memory, look, &mut found);
        if let Some(past) = found.past {
            streams.add(past);
        }
        (found.report, result)
    }

    fn run(
        &self,
        kernel: &str,
        launch: &Launch,
        memory: &mut Memory,
        look: Look<'_>,
        found: &mut Found,
    ) -> Result<RunReport, RunError> {
        let function = self.kernel(kernel)?;
        let cluster = self.cluster(function, launch)?;
        let launch = &Launch { cluster, ..launch.clone() };
        let entry = self.entry(function, launch)?;
        let chip = self.chip()?;
        self.place_variables(memory);
        let mut constants = self.constants(function, &entry);
        self.bind_objects(function, &mut constants, memory)?;
        let held = match self.options.timing_warm {
            true => Held::warm(&self.program, &constants, memory),
            false => Held::cold(&constants),
        };
        let heap = self.cubin.symbols.iter().any(|symbol| symbol.name == "malloc" && symbol.section.is_none());
        let heap_base = memory.next_address();
        let heap = heap.then(|| Mutex::new(Heap::new(memory, Heap::DEFAULT_SIZE)));
        memory.complete()?;
        let taken = memory.quota().taken();
        let most_local = self.program.arch.sm().max_local_per_thread;
        let absolute_local = self.cubin.absolute_local_of(function).min(most_local);
        let checking = look.checks();
        let checker = checking.map(|Checking { checks, undefined, among }| {
            let unordered = among.map(|(_, unordered)| unordered.clone()).unwrap_or_default();
            let subject = Subject {
                checks,
                launch,
                program: &self.program,
                memory,
                shared: Variables::shared(&self.cubin, &self.image, function),
                global: Variables::global(&self.cubin, &self.image),
                reserved: u64::from(self.program.arch.sm().shared_base),
                book: if entry.has_tensor_book { tensor_memory::book(self.program.arch) } else { 0..0 },
                shared_size: entry.shared_size,
                absolute_local,
                undefined,
                heap: heap.is_some().then_some((heap_base, Heap::DEFAULT_SIZE)),
            };
            Checker::new(subject, unordered)
        });
        let watched = look.spectator().map(|spectator| Watched { spectator, start: entry.pc });
        let checks = checker.as_ref().map(|checker| checker as &dyn Observer);
        let machine = Machine {
            resources: Resources {
                memory,
                heap,
                objects: &self.objects,
                unstarted: Unstarted::new(launch),
                constants: Arc::new(constants),
                max_local: self.stack_limit(function),
                absolute_local,
            },
            program: &self.program,
            max_instructions: self.options.max_instructions,
            deadline: Deadline::new(self.options.timeout, self.options.cancelled.clone()),
            records: self.options.timing,
            observer: checks.or(watched.as_ref().map(|watched| watched as &dyn Observer)),
            skips_absent: self.options.skips_absent,
        };
        let workers = match self.options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            given => given,
        };
        // What is known of global memory depends on the order of blocks, and so does who takes whose work over.
        let takes_over = self.program.takes_work_over();
        let is_in_order = self.options.deterministic || machine.observer.is_some() || takes_over;
        let outcome = grid::run(&entry, &machine, if is_in_order { 1 } else { workers });
        // Blocks that a fault left unfinished are gone as well.
        let quota = machine.resources.memory.quota();
        quota.give_back(quota.taken().saturating_sub(taken));
        let deadline = machine.deadline;
        if let Some(checker) = checker {
            let place = checking.and_then(|checking| checking.among).map(|(place, _)| (kernel, place));
            *found = checker.finish(place);
        }
        if let Some(fault) = outcome.fault {
            let fault = self.fault(kernel, function, launch, fault, outcome.printed);
            return Err(RunError::Fault(Box::new(fault)));
        }
        let statistics = outcome.counts.statistics(launch.blocks());
        let timing = chip.as_ref().map(|chip| {
            let reserved = self.program.arch.sm().shared_base;
            let needs = Needs {
                threads: launch.threads() as u32,
                registers: entry.registers,
                shared: (entry.shared_size as u32).saturating_sub(reserved),
                cluster: launch.cluster.iter().product(),
            };
            let traces = outcome.traces;
            timing::launch::replay(&self.program, chip, &needs, traces, &held, workers, deadline.as_ref())
        });
        let timing = timing.transpose().map_err(|kind| {
            let fault = BlockFault { block: 0, pc: None, thread: 0, kind };
            Box::new(self.fault(kernel, function, launch, fault, outcome.printed.clone()))
        })?;
        Ok(RunReport { printed: outcome.printed, statistics, timing })
    }

    /// Bytes of local memory that a thread has. Under strict simulation those that the kernel declares, where its
    /// own frame is all that it needs; what recursive and indirect calls need no cubin says.
    fn stack_limit(&self, kernel: &Function) -> u32 {
        let limit = self.program.arch.sm().max_local_per_thread;
        let has_inner = self.cubin.functions.iter().any(|f| f.section == kernel.section && f.symbol != kernel.symbol);
        let calls = self.cubin.calls.iter().any(|(caller, _)| *caller == kernel.symbol);
        let open = has_inner || calls || self.moves_stack_pointer(kernel);
        if !self.options.strict || open { limit } else { kernel.min_stack_size.min(limit) }
    }

    /// Whether the code moves `R1`, the stack pointer, as `alloca` does: by another register, or by a constant
    /// where no frame is declared.
    fn moves_stack_pointer(&self, kernel: &Function) -> bool {
        const STACK_POINTER: Value = Value::Reg(RegFile::R, 1);
        let frameless = kernel.min_stack_size == 0;
        let moves = |value: Value| match value {
            Value::Reg(RegFile::R, 1) => frameless,
            Value::Reg(RegFile::R, number) => number != 255,
            _ => false,
        };
        let section = self.program.section(self.image.section_address(kernel.section));
        let mut insts =
            section.into_iter().flat_map(|section| self.program.ops(section)).filter_map(|op| op.inst.as_deref());
        insts.any(|inst| {
            let mut operands = inst.opcode.signature().iter().zip(&inst.operands);
            let sets = operands.clone().any(|(spec, operand)| spec.is_def && operand.value == STACK_POINTER);
            sets && operands.any(|(spec, operand)| !spec.is_def && moves(operand.value))
        })
    }

    /// The chip of the cycle model, if the model is asked for.
    fn chip(&self) -> Result<Option<Chip>, LaunchError> {
        if !self.options.timing {
            return Ok(None);
        }
        let missing = LaunchError::Unsupported { what: "the time on a chip of this target" };
        let chip = self.program.arch.chip().ok_or(missing)?;
        Ok(Some(self.options.timing_sms.map_or_else(|| chip.clone(), |sms| chip.with_sms(sms))))
    }

    fn kernel(&self, name: &str) -> Result<&Function, RunError> {
        let kernels = || self.cubin.functions.iter().filter(|function| function.is_kernel);
        kernels().find(|function| function.name == name).ok_or_else(|| RunError::NoKernel {
            name: name.to_owned(),
            known: kernels().map(|function| function.name.clone()).collect(),
        })
    }

    /// The shape of the launch's clusters: the kernel's own, if it has one, or that of the launch.
    fn cluster(&self, function: &Function, launch: &Launch) -> Result<[u32; 3], LaunchError> {
        let required = function.limits.cluster.filter(|shape| *shape != [0; 3]);
        let given = launch.cluster;
        let blocks: u64 = required.unwrap_or(given).iter().map(|&size| u64::from(size)).product();
        let refuse = |reason: String| Err(LaunchError::Cluster { cluster: given, reason });
        match required {
            Some(required) if given != [1; 3] && given != required => {
                refuse(format!("the kernel was compiled for clusters of {required:?}"))
            }
            _ if blocks > 1 && self.program.arch < Arch::Sm90 => refuse(format!("{} has none", self.program.arch)),
            _ if blocks > MAX_CLUSTER => refuse(format!("a cluster has at most {MAX_CLUSTER} blocks")),
            _ => Ok(required.unwrap_or(given)),
        }
    }

    /// Checks a launch against the kernel's and the target's limits.
    fn entry(&self, function: &Function, launch: &Launch) -> Result<Entry, LaunchError> {
        launch.check()?;
        if let Some(required) = function.limits.required_threads
            && required != launch.block
        {
            return Err(LaunchError::RequiredBlock { required, given: launch.block });
        }
        let most = function.limits.max_threads.map(|max| max.iter().map(|&n| u64::from(n)).product::<u64>());
        if let Some(most) = most.filter(|&most| launch.threads() > most) {
            let reason = format!("the kernel was compiled for at most {most}");
            return Err(LaunchError::BlockTooLarge { threads: launch.threads(), reason });
        }
        let sm = self.program.arch.sm();
        let shared_size = self
            .image
            .shared_size(&self.cubin, function)
            .max(u64::from(sm.shared_base))
            .saturating_add(u64::from(launch.shared_bytes));
        let limit = u64::from(sm.max_shared_per_cta) + u64::from(sm.shared_base);
        if shared_size > limit {
            return Err(LaunchError::SharedTooLarge { bytes: shared_size, limit });
        }
        Ok(Entry {
            launch: launch.clone(),
            pc: self.image.section_address(function.section) + function.offset,
            registers: function.registers,
            shared_size,
            has_tensor_book: tensor_memory::has_book(function),
            is_cluster: launch.cluster != [1; 3] || function.limits.cluster.is_some(),
            grid_workspace: 0,
        })
    }

    /// The constant banks that `function` sees.
    fn constants(&self, function: &Function, entry: &Entry) -> ConstantBanks {
        let mut banks = ConstantBanks::new();
        // What is still to be linked has parts for functions that several kernels may call, each at its own place.
        let is_open = |bank: &ConstantBank| self.cubin.kind == FileKind::Relocatable && bank.bank != 0;
        let owns = |owner: &Option<String>| owner.as_ref().is_none_or(|name| *name == function.name);
        for bank in self.cubin.constant_banks.iter().filter(|bank| is_open(bank) || owns(&bank.function)) {
            let start = self.image.section_address(bank.section) as usize;
            banks.write(bank.bank as usize, start, self.contents(bank.section));
        }
        fill_bank0(&mut banks, entry, self.program.arch);
        banks
    }

    /// Gives the kernel's variables of textures, samplers and surfaces the numbers of what is bound to them, and
    /// puts the tables of properties into memory.
    fn bind_objects(
        &self,
        function: &Function,
        banks: &mut ConstantBanks,
        memory: &mut Memory,
    ) -> Result<(), RunError> {
        let own = |section: SectionIndex| {
            let mut banks = self.cubin.constant_banks.iter().filter(|bank| bank.section == section);
            banks.find(|bank| bank.function.as_ref().is_none_or(|name| *name == function.name)).map(|bank| bank.bank)
        };
        for relocation in &self.cubin.relocations {
            let kind = relocation.kind.filter(|kind| kind.value == RelocValue::Object);
            let (Some(kind), Some(bank)) = (kind, own(relocation.section)) else { continue };
            let name = &self.cubin.symbols[relocation.symbol].name;
            let number = self.objects.bound(name).ok_or_else(|| RunError::Unbound(name.clone()))?;
            // One word has the texture's number and above it the sampler's; from sm_90 on (`…_0`) each has its own.
            let joins = kind.number == SAMP_HEADER_INDEX.number;
            let (bank, offset) = (bank as usize, relocation.offset as usize);
            let word = banks.word(bank, offset) | if joins { number << 20 } else { number };
            banks.write(bank, offset, &word.to_le_bytes());
        }
        let needs_tables = self.cubin.symbols.iter().any(|symbol| properties::entry_size(&symbol.name).is_some());
        if needs_tables {
            let offsets = self.program.arch.sm().bank0.property_tables;
            for (table, offset) in properties::tables(&self.objects).iter().zip(offsets) {
                let address = memory.allocate_with("properties of textures and surfaces", table);
                banks.write(0, usize::from(offset), &address.to_le_bytes());
            }
        }
        Ok(())
    }

    fn contents(&self, section: SectionIndex) -> &[u8] {
        self.image.contents.get(section).map_or(&[], Vec::as_slice)
    }

    /// The published form of a block's fault.
    fn fault(&self, kernel: &str, function: &Function, launch: &Launch, fault: BlockFault, printed: Vec<u8>) -> Fault {
        let section = fault.pc.and_then(|pc| self.program.section(pc));
        let offset = match (fault.pc, section) {
            (Some(pc), Some(section)) => pc - section.base,
            (pc, _) => pc.unwrap_or(0),
        };
        let own = self.image.section_address(function.section);
        let place = Place {
            kernel: kernel.to_owned(),
            block: launch.block_at(fault.block),
            thread: launch.thread_at(fault.thread),
            pc: offset,
            function: section.filter(|section| section.base != own).map(|section| section.name.clone()),
            instruction: fault.pc.map(|pc| self.program.text(pc)).unwrap_or_default(),
            source: None,
        };
        Fault { kind: fault.kind, place, printed }
    }
}
