//! One launch: arguments, then the run.

use super::Simulator;
use super::argument::{Argument, Inner, Scalar, Value};
use super::buffer::{Direction, HostBuffer, Input, Output};
use super::fault::LaunchError;
use super::finding::Finding;
use super::report::LaunchReport;
use oriole_codegen::Meaning;
use oriole_device::argument::Slot;
use oriole_device::{Launch, Memory};
use oriole_sim::{CheckReport, Checks, RunError, RunReport};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Sizes in x, y and z; made of one number, two or three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim(pub [u32; 3]);

impl From<u32> for Dim {
    fn from(x: u32) -> Dim {
        Dim([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim {
    fn from((x, y): (u32, u32)) -> Dim {
        Dim([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim {
    fn from((x, y, z): (u32, u32, u32)) -> Dim {
        Dim([x, y, z])
    }
}

impl From<[u32; 3]> for Dim {
    fn from(sizes: [u32; 3]) -> Dim {
        Dim(sizes)
    }
}

/// A launch that is being put together. Arguments come in the order of the kernel's parameters; whether they fit is
/// checked before anything runs.
///
/// Slices become buffers of device memory that live as long as the launch, and their addresses the arguments. Their
/// elements are plain data: numbers, arrays of them, and structures that derive the traits of [`zerocopy`].
#[must_use = "nothing runs before `launch`"]
pub struct KernelLaunch<'a> {
    simulator: &'a Simulator,
    kernel: &'a str,
    slots: Vec<Slot>,
    arguments: Vec<Argument<'a>>,
    memories: Vec<(String, &'a mut [u8])>,
    hidden: Vec<(u32, Value<'a>)>,
    shared_bytes: u32,
    cluster: Dim,
}

impl Simulator {
    /// Begins a launch of the kernel of that name: its arguments follow.
    ///
    /// # Errors
    /// The cubin has no such kernel.
    pub fn kernel<'a>(&'a self, name: &'a str) -> Result<KernelLaunch<'a>, LaunchError> {
        let slots = self.inner.parameters(name).map_err(|error| LaunchError::new(error, &self.cubin))?;
        Ok(KernelLaunch::new(self, name, slots))
    }
}

impl<'a> KernelLaunch<'a> {
    pub(super) fn new(simulator: &'a Simulator, kernel: &'a str, slots: Vec<Slot>) -> KernelLaunch<'a> {
        let (arguments, memories, hidden) = (Vec::new(), Vec::new(), Vec::new());
        KernelLaunch { simulator, kernel, slots, arguments, memories, hidden, shared_bytes: 0, cluster: Dim([1; 3]) }
    }

    fn with(mut self, meaning: Meaning<'static>, name: String, value: Value<'a>) -> Self {
        self.arguments.push(Argument { meaning, name, value });
        self
    }

    /// A number. Where the types of the parameters are known, which is where Oriole compiled the cubin, it must be of
    /// that kind: an integer for an integer, a float for a float of its format.
    pub fn value<T: Scalar>(self, value: T) -> Self {
        let meaning = if T::IS_FLOAT { Meaning::Float(T::NAME) } else { Meaning::Integer };
        self.with(meaning, T::NAME.to_owned(), Value::Bytes(value.bytes()))
    }

    /// A parameter byte by byte: an aggregate, a half.
    pub fn bytes<T: IntoBytes + Immutable + ?Sized>(self, value: &T) -> Self {
        let bytes = value.as_bytes().to_vec();
        self.with(Meaning::Bits, format!("{} bytes", bytes.len()), Value::Bytes(bytes))
    }

    /// A buffer that the kernel reads. What it writes there is lost.
    pub fn input<T: IntoBytes + Immutable>(self, data: &'a [T]) -> Self {
        self.buffer(Input(data.as_bytes()), Direction::In)
    }

    /// A buffer of zeros that the kernel writes; `data` gets what is in it afterwards.
    pub fn output<T: IntoBytes + FromBytes>(self, data: &'a mut [T]) -> Self {
        self.buffer(Output(data.as_mut_bytes()), Direction::Out)
    }

    /// A buffer that the kernel reads and writes; `data` gets what is in it afterwards.
    pub fn in_out<T: IntoBytes + FromBytes>(self, data: &'a mut [T]) -> Self {
        self.buffer(Output(data.as_mut_bytes()), Direction::InOut)
    }

    /// A buffer of the host that is no slice.
    pub fn buffer(self, buffer: impl HostBuffer + 'a, direction: Direction) -> Self {
        let value = Value::Buffer(Box::new(buffer), direction);
        self.with(Meaning::Integer, "the address of a buffer".to_owned(), value)
    }

    /// The buffer of the argument at position `index`, an earlier one: both parameters get its address. Whether there is
    /// one is checked with everything else.
    pub fn again(self, index: usize) -> Self {
        self.with(Meaning::Integer, "the address of a buffer".to_owned(), Value::Again(index))
    }

    /// Memory that is no argument itself: arguments point into it ([`KernelLaunch::pointer`]), as several do where they
    /// are parts of one thing. The kernel reads and writes it; `data` gets what is in it afterwards. `name` is what faults
    /// call it. Memories are numbered from 0 in the order of these calls.
    pub fn memory<T: IntoBytes + FromBytes>(mut self, name: impl Into<String>, data: &'a mut [T]) -> Self {
        self.memories.push((name.into(), data.as_mut_bytes()));
        self
    }

    /// The address `offset` bytes into the memory of that number. Whether there is one is checked with everything else;
    /// the offset is not: one behind the end is a pointer too, and reading there is a fault.
    pub fn pointer(self, memory: usize, offset: u64) -> Self {
        self.with(Meaning::Integer, "an address".to_owned(), Value::Pointer { memory, offset })
    }

    /// A parameter byte by byte that has addresses within: a view with its pointer and its strides, a tensor map. Whether
    /// the memories are there, and the places inside of the bytes, is checked with everything else.
    pub fn aggregate(self, bytes: Vec<u8>, pointers: Vec<Inner>) -> Self {
        let name = format!("{} bytes", bytes.len());
        self.with(Meaning::Bits, name, Value::Aggregate { bytes, pointers })
    }

    /// A parameter that the cubin has no record of, since a language's runtime fills it in (`.hidden` of PTX): where it begins
    /// among the parameters, its bytes, and the addresses within.
    pub fn hidden(mut self, offset: u32, bytes: Vec<u8>, pointers: Vec<Inner>) -> Self {
        self.hidden.push((offset, Value::Aggregate { bytes, pointers }));
        self
    }

    /// Bytes of dynamic shared memory.
    pub fn shared_bytes(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// Blocks of a cluster (sm_90 and later), where the kernel does not say it itself.
    pub fn cluster(mut self, blocks: impl Into<Dim>) -> Self {
        self.cluster = blocks.into();
        self
    }

    /// Runs so many blocks of so many threads to their end.
    ///
    /// # Errors
    /// The arguments do not fit, the launch is impossible, or the kernel faulted; then the slices are as they were.
    pub fn launch(self, grid: impl Into<Dim>, block: impl Into<Dim>) -> Result<LaunchReport, LaunchError> {
        let KernelLaunch { simulator, kernel, slots, arguments, memories, hidden, .. } = self;
        if arguments.len() != slots.len() {
            return Err(LaunchError::ArgumentCount { expected: slots.len(), given: arguments.len() });
        }
        let mut placed = Placed::new(simulator.memory, memories);
        let (mut params, given) = (Vec::new(), slots.len());
        for (index, (argument, slot)) in arguments.into_iter().zip(slots).enumerate() {
            argument.check(index, slot, simulator.cubin.origin.parameter_type(kernel, index))?;
            let bytes = placed.place(index, argument.value)?;
            put(&mut params, slot.offset, &bytes);
        }
        for (index, (offset, value)) in hidden.into_iter().enumerate() {
            let bytes = placed.place(given + index, value)?;
            put(&mut params, offset, &bytes);
        }
        let launch = Launch {
            grid: grid.into().0,
            block: block.into().0,
            cluster: self.cluster.0,
            shared_bytes: self.shared_bytes,
            params,
        };
        let (found, report) = simulator.run(kernel, &launch, &mut placed);
        let report = report.map_err(|error| LaunchError::new(error, &simulator.cubin))?;
        placed.write_back();
        Ok(LaunchReport::new(report, found.findings.into_iter().map(|found| Finding::new(found, &simulator.cubin))))
    }
}

impl Simulator {
    fn run(
        &self,
        kernel: &str,
        launch: &Launch,
        placed: &mut Placed<'_>,
    ) -> (CheckReport, Result<RunReport, RunError>) {
        if !self.checks_memory {
            return (CheckReport::default(), self.inner.launch(kernel, launch, &mut placed.memory));
        }
        let checks = Checks { race: true, init: true, global_init: true, bounds: true, sync: true };
        self.inner.launch_checked(kernel, launch, &mut placed.memory, checks, &placed.undefined)
    }
}

/// Puts a parameter's bytes among the parameters.
fn put(params: &mut Vec<u8>, offset: u32, bytes: &[u8]) {
    let start = offset as usize;
    let end = start + bytes.len();
    params.resize(end.max(params.len()), 0);
    params[start..end].copy_from_slice(bytes);
}

/// Arguments in device memory.
struct Placed<'a> {
    memory: Memory,
    /// Where the memories lie that are no arguments.
    memories: Vec<u64>,
    /// By argument: the address, where it is a buffer.
    addresses: Vec<Option<u64>>,
    /// Where results lie, and where they go.
    results: Vec<(u64, Box<dyn HostBuffer + 'a>)>,
    /// Parts of memory that nobody has given contents: address and size.
    undefined: Vec<(u64, u64)>,
}

impl<'a> Placed<'a> {
    /// `limit`: bytes of the host that the launch may take.
    fn new(limit: Option<u64>, memories: Vec<(String, &'a mut [u8])>) -> Placed<'a> {
        let memory = Memory::with_limit(limit);
        let (addresses, results, undefined) = (Vec::new(), Vec::new(), Vec::new());
        let mut placed = Placed { memory, memories: Vec::new(), addresses, results, undefined };
        for (name, data) in memories {
            let address = placed.buffer(&name, Box::new(Output(data)), Direction::InOut);
            placed.memories.push(address);
        }
        placed
    }

    /// Puts a buffer into device memory; its address.
    fn buffer(&mut self, name: &str, buffer: Box<dyn HostBuffer + 'a>, direction: Direction) -> u64 {
        let size = buffer.size() as u64;
        let address = self.memory.allocate(name, size);
        match direction {
            Direction::Out => self.undefined.push((address, size)),
            // Where there is no room for it, the launch says so.
            Direction::In | Direction::InOut => buffer.read(&mut |bytes| {
                self.memory.write(address, bytes);
            }),
        }
        if direction != Direction::In {
            self.results.push((address, buffer));
        }
        address
    }

    /// Puts an argument into device memory; its bytes among the parameters.
    fn place(&mut self, index: usize, value: Value<'a>) -> Result<Vec<u8>, LaunchError> {
        let address = match value {
            Value::Bytes(bytes) => {
                self.addresses.push(None);
                return Ok(bytes);
            }
            Value::Aggregate { mut bytes, pointers } => {
                for Inner { at, memory, offset } in pointers {
                    let address = self.memories.get(memory).ok_or(LaunchError::NoMemory { index, memory })?;
                    let end = at.saturating_add(size_of::<u64>());
                    let given = bytes.len();
                    let place = bytes.get_mut(at..end);
                    let place = place.ok_or(LaunchError::ArgumentSize { index, expected: end, given })?;
                    place.copy_from_slice(&address.wrapping_add(offset).to_le_bytes());
                }
                self.addresses.push(None);
                return Ok(bytes);
            }
            Value::Buffer(buffer, direction) => self.buffer(&format!("argument {index}"), buffer, direction),
            Value::Again(earlier) => {
                let address = self.addresses.get(earlier).copied().flatten();
                address.ok_or(LaunchError::NoBuffer { index, earlier })?
            }
            Value::Pointer { memory, offset } => {
                let address = self.memories.get(memory).ok_or(LaunchError::NoMemory { index, memory })?;
                address.wrapping_add(offset)
            }
        };
        self.addresses.push(Some(address));
        Ok(address.to_le_bytes().to_vec())
    }

    fn write_back(self) {
        for (address, mut buffer) in self.results {
            // Nothing takes allocations away.
            buffer.write(&mut |bytes| {
                self.memory.read_into(address, bytes);
            });
        }
    }
}
