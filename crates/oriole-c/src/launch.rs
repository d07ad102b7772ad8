//! One launch on the simulator: what C says of it, as values; and what it leaves.

use crate::boundary::{copy, text};
use crate::result::{Outcome, orioleResult};
use oriole::{Direction, HostBuffer, LaunchError, LaunchReport, Simulator};
use std::ffi::{c_char, c_void};
use std::mem::offset_of;

/// Sizes in x, y and z, as CUDA's `dim3`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct orioleDim {
    /// In x.
    pub x: u32,
    /// In y; 1 where there is nothing of it.
    pub y: u32,
    /// In z; 1 where there is nothing of it.
    pub z: u32,
}

impl orioleDim {
    pub(crate) fn sizes(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// What an argument of a launch is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum orioleArgumentKind {
    /// A parameter's own bytes, as many as the parameter has: a number, a structure.
    ORIOLE_ARGUMENT_VALUE = 0,
    /// A buffer that the kernel reads; what it writes there is lost. The parameter is the buffer's address, of 8 bytes.
    ORIOLE_ARGUMENT_INPUT = 1,
    /// A buffer of zeros that the kernel writes and that is copied back.
    ORIOLE_ARGUMENT_OUTPUT = 2,
    /// A buffer that is copied there and back.
    ORIOLE_ARGUMENT_IN_OUT = 3,
}

/// One argument of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct orioleArgument {
    /// An `orioleArgumentKind`.
    pub kind: u32,
    /// The bytes on the host. Those of values and inputs are only read. Null may stand for none.
    pub data: *mut c_void,
    /// How many bytes.
    pub size: usize,
}

/// What a launch that came to its end has done. Later versions may have more fields behind these.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct orioleLaunchReport {
    /// Bytes of this structure, as the caller knows it (`sizeof`): to be set before a function gets it, and left as it is.
    pub size: usize,
    /// Blocks that ran.
    pub blocks: u64,
    /// Warps that ran.
    pub warps: u64,
    /// Instructions, each counted once per group of threads that executed it together.
    pub warp_instructions: u64,
    /// Instructions, each counted once per thread whose guard let it through.
    pub thread_instructions: u64,
    /// Cycles of the chip that the launch takes by the cycle model; 0 without `orioleSimulatorSetTiming`.
    pub cycles: u64,
    /// Warps that a multiprocessor holds, as a share (0 to 1) of those that it could hold; 0 without timing.
    pub occupancy: f64,
    /// The clock of that chip in MHz; 0 without timing.
    pub clock_mhz: u32,
    /// Nothing; 0.
    pub reserved: u32,
}

/// The report of a launch, for callers who may know less of it.
pub(crate) struct Done(orioleLaunchReport);

impl Done {
    /// Bytes that the structure had at first.
    const FIRST_SIZE: usize = offset_of!(orioleLaunchReport, reserved) + size_of::<u32>();

    /// Writes as much of it as the caller knows.
    ///
    /// # Safety
    /// `place` is null, or its `size` may be read and as many bytes may be written.
    pub(crate) unsafe fn put(&self, place: *mut orioleLaunchReport) -> Outcome {
        if place.is_null() {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        // SAFETY: it is not null, so the caller of this function says that it can be read.
        let size = unsafe { (&raw const (*place).size).read() };
        if size < Self::FIRST_SIZE {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        let report = orioleLaunchReport { size, ..self.0 };
        // What a caller knows more of than this version is zero.
        // SAFETY: `size` bytes may be written, and no more are than either structure has.
        unsafe {
            place.cast::<u8>().write_bytes(0, size);
            place.cast::<u8>().copy_from_nonoverlapping((&raw const report).cast(), size.min(size_of_val(&report)));
        }
        Ok(())
    }
}

impl From<&LaunchReport> for Done {
    fn from(report: &LaunchReport) -> Done {
        let timing = report.timing.as_ref();
        Done(orioleLaunchReport {
            size: size_of::<orioleLaunchReport>(),
            blocks: report.blocks,
            warps: report.warps,
            warp_instructions: report.warp_instructions,
            thread_instructions: report.thread_instructions,
            cycles: timing.map_or(0, |timing| timing.cycles),
            occupancy: timing.map_or(0.0, |timing| timing.occupancy),
            clock_mhz: timing.map_or(0, |timing| timing.clock_mhz),
            reserved: 0,
        })
    }
}

/// A launch as C asks for it. The caller's buffers may overlap.
pub(crate) struct Request {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    arguments: Vec<Argument>,
}

enum Argument {
    Value(Vec<u8>),
    Buffer(CallersBuffer, Direction),
}

/// A buffer of the caller's. It is read before the kernel runs and written behind it, and there is no reference to it in between:
/// other arguments may be the same bytes.
struct CallersBuffer {
    place: *mut u8,
    size: usize,
}

// SAFETY: who made it has said that the bytes may be read and written as long as it lives, by whatever thread.
unsafe impl Send for CallersBuffer {}
// SAFETY: the same; a shared one is only read.
unsafe impl Sync for CallersBuffer {}

impl HostBuffer for CallersBuffer {
    fn size(&self) -> usize {
        self.size
    }

    fn read(&self, device: &mut dyn FnMut(&[u8])) {
        if self.size > 0 {
            // SAFETY: it is not null where it has bytes, and who made it has said that they can be read.
            device(unsafe { std::slice::from_raw_parts(self.place, self.size) });
        }
    }

    fn write(&mut self, device: &mut dyn FnMut(&mut [u8])) {
        if self.size > 0 {
            // SAFETY: the same, and that they may be written. No other reference exists: each lives as long as such a call.
            device(unsafe { std::slice::from_raw_parts_mut(self.place, self.size) });
        }
    }
}

impl Request {
    /// # Safety
    /// `kernel` is null or a string; `arguments` is null or has `count` of them; as long as the request lives `size` bytes can
    /// be read at `data` of each, and written where they come back, where that is not null.
    pub(crate) unsafe fn new(
        kernel: *const c_char,
        [grid, block]: [orioleDim; 2],
        shared_bytes: u32,
        count: usize,
        arguments: *const orioleArgument,
    ) -> Outcome<Request> {
        if arguments.is_null() && count > 0 {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        // SAFETY: what this function asks of its caller; the arguments are not null where one is read.
        let arguments = (0..count).map(|index| unsafe { Argument::new(&*arguments.add(index)) });
        Ok(Request {
            arguments: arguments.collect::<Outcome<_>>()?,
            // SAFETY: the same.
            kernel: unsafe { text(kernel) }?,
            grid: grid.sizes(),
            block: block.sizes(),
            shared_bytes,
        })
    }

    /// Runs the kernel; what it writes is in the caller's buffers if it comes to its end.
    pub(crate) fn run(self, simulator: &Simulator, cluster: [u32; 3]) -> Result<LaunchReport, LaunchError> {
        let launch = simulator.kernel(&self.kernel)?.shared_bytes(self.shared_bytes).cluster(cluster);
        let launch = self.arguments.into_iter().fold(launch, |launch, argument| match argument {
            Argument::Value(bytes) => launch.bytes(bytes.as_slice()),
            Argument::Buffer(buffer, direction) => launch.buffer(buffer, direction),
        });
        launch.launch(self.grid, self.block)
    }
}

impl Argument {
    /// # Safety
    /// `size` bytes can be read at `data`, and written where they come back, where it is not null.
    unsafe fn new(argument: &orioleArgument) -> Outcome<Argument> {
        let (kind, place, size) = (argument.kind, argument.data.cast::<u8>(), argument.size);
        if place.is_null() && size > 0 {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        if isize::try_from(size).is_err() {
            // No object has so many bytes.
            return Err(orioleResult::ORIOLE_ERROR_OUT_OF_MEMORY);
        }
        let is = |known: orioleArgumentKind| kind == known as u32;
        let directions = [
            (orioleArgumentKind::ORIOLE_ARGUMENT_INPUT, Direction::In),
            (orioleArgumentKind::ORIOLE_ARGUMENT_OUTPUT, Direction::Out),
            (orioleArgumentKind::ORIOLE_ARGUMENT_IN_OUT, Direction::InOut),
        ];
        if is(orioleArgumentKind::ORIOLE_ARGUMENT_VALUE) {
            // SAFETY: what this function asks of its caller.
            return unsafe { copy(place, size) }.map(Argument::Value);
        }
        let direction = directions.into_iter().find(|(known, _)| is(*known));
        let (_, direction) = direction.ok_or(orioleResult::ORIOLE_ERROR_INVALID_INPUT)?;
        Ok(Argument::Buffer(CallersBuffer { place, size }, direction))
    }
}
