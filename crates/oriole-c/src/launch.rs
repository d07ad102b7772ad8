//! One launch on the simulator: what C says of it, as values; and what it leaves.

use crate::boundary::{copy, put_bytes, room, text};
use crate::result::{Outcome, orioleResult};
use oriole::{LaunchError, LaunchReport, Simulator};
use std::ffi::{c_char, c_void};

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

/// What a launch that came to its end has done.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct orioleLaunchReport {
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
    /// The clock of that chip in MHz; 0 without timing.
    pub clock_mhz: u32,
    /// Warps that a multiprocessor holds, as a share (0 to 1) of those that it could hold; 0 without timing.
    pub occupancy: f64,
}

impl From<&LaunchReport> for orioleLaunchReport {
    fn from(report: &LaunchReport) -> orioleLaunchReport {
        let timing = report.timing.as_ref();
        orioleLaunchReport {
            blocks: report.blocks,
            warps: report.warps,
            warp_instructions: report.warp_instructions,
            thread_instructions: report.thread_instructions,
            cycles: timing.map_or(0, |timing| timing.cycles),
            clock_mhz: timing.map_or(0, |timing| timing.clock_mhz),
            occupancy: timing.map_or(0.0, |timing| timing.occupancy),
        }
    }
}

/// A launch with copies of all that it needs of the caller's memory. The caller's buffers may overlap.
pub(crate) struct Request {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    arguments: Vec<Argument>,
}

/// An argument, with the host's place of what comes back.
struct Argument {
    kind: orioleArgumentKind,
    bytes: Vec<u8>,
    place: *mut u8,
}

impl Request {
    /// # Safety
    /// `kernel` is null or a string; `arguments` is null or has `count` of them; `size` bytes can be read at `data` of
    /// each that is no output, where that is not null.
    pub(crate) unsafe fn copied(
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
        let copied = (0..count).map(|index| unsafe { Argument::copied(&*arguments.add(index)) });
        Ok(Request {
            arguments: copied.collect::<Outcome<_>>()?,
            // SAFETY: the same.
            kernel: unsafe { text(kernel) }?,
            grid: grid.sizes(),
            block: block.sizes(),
            shared_bytes,
        })
    }

    /// Runs the kernel; what it writes stays in the copies.
    pub(crate) fn run(&mut self, simulator: &Simulator, cluster: [u32; 3]) -> Result<LaunchReport, LaunchError> {
        let launch = simulator.kernel(&self.kernel)?.shared_bytes(self.shared_bytes).cluster(cluster);
        let launch = self.arguments.iter_mut().fold(launch, |launch, argument| {
            let Argument { kind, bytes, .. } = argument;
            match kind {
                orioleArgumentKind::ORIOLE_ARGUMENT_VALUE => launch.bytes(bytes.as_slice()),
                orioleArgumentKind::ORIOLE_ARGUMENT_INPUT => launch.input(bytes),
                orioleArgumentKind::ORIOLE_ARGUMENT_OUTPUT => launch.output(bytes),
                orioleArgumentKind::ORIOLE_ARGUMENT_IN_OUT => launch.in_out(bytes),
            }
        });
        launch.launch(self.grid, self.block)
    }

    /// Copies what comes back to the caller's memory.
    ///
    /// # Safety
    /// `size` bytes may be written at `data` of each argument that is an output or both, where that is not null.
    pub(crate) unsafe fn give_back(&self) -> Outcome {
        let comes_back = |argument: &&Argument| argument.kind.comes_back() && !argument.bytes.is_empty();
        // SAFETY: what this function asks of its caller.
        self.arguments
            .iter()
            .filter(comes_back)
            .try_for_each(|argument| unsafe { put_bytes(&argument.bytes, argument.place) })
    }
}

impl orioleArgumentKind {
    fn of(number: u32) -> Outcome<orioleArgumentKind> {
        use orioleArgumentKind::*;
        let all = [ORIOLE_ARGUMENT_VALUE, ORIOLE_ARGUMENT_INPUT, ORIOLE_ARGUMENT_OUTPUT, ORIOLE_ARGUMENT_IN_OUT];
        let kind = all.into_iter().find(|kind| *kind as u32 == number);
        kind.ok_or(orioleResult::ORIOLE_ERROR_INVALID_INPUT)
    }

    fn comes_back(self) -> bool {
        matches!(self, orioleArgumentKind::ORIOLE_ARGUMENT_OUTPUT | orioleArgumentKind::ORIOLE_ARGUMENT_IN_OUT)
    }
}

impl Argument {
    /// # Safety
    /// `size` bytes can be read at `data` where it is not null and it is no output.
    unsafe fn copied(argument: &orioleArgument) -> Outcome<Argument> {
        let (kind, place) = (orioleArgumentKind::of(argument.kind)?, argument.data.cast::<u8>());
        if place.is_null() && argument.size > 0 {
            return Err(orioleResult::ORIOLE_ERROR_INVALID_INPUT);
        }
        let bytes = if kind == orioleArgumentKind::ORIOLE_ARGUMENT_OUTPUT {
            let mut zeros = room(argument.size)?;
            zeros.resize(argument.size, 0);
            zeros
        } else {
            // SAFETY: what this function asks of its caller.
            unsafe { copy(place, argument.size) }?
        };
        Ok(Argument { kind, bytes, place })
    }
}
