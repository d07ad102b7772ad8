//! Launches on a GPU: how long they take there, and whether they leave what they leave with plain code.
//!
//! Nothing comes here that the strict simulator and `oriole check` have not found right: a fault ends the device's context for the
//! whole process. What the device leaves is compared all the same, with what it leaves with plain code: model and chip are two.

use super::bench::{Code, Reason, Timed, Unfit, refused};
use super::launches::Launch;
use crate::commands::failure::{Failure, rejected, usage};
use crate::commands::gpu::{self, Placed};
use crate::cuda::{Driver, Module};
use blake3::Hash;
use std::sync::{Mutex, PoisonError};

/// A launch is made so often, and the shortest time counts: all else that happens on a machine only adds to it.
const REPETITIONS: usize = 9;

/// The device, for one launch at a time.
pub(super) struct Device {
    driver: Mutex<Driver>,
    /// By launch and buffer: what plain code leaves there; nothing where it leaves one thing one time and another the next.
    left: Vec<Vec<Option<Hash>>>,
}

/// What a launch has come to.
struct Came {
    nanoseconds: u64,
    /// By buffer: what it leaves, from memory as the launch wants it.
    left: Vec<Hash>,
}

impl Device {
    /// The first GPU of the machine, if it takes the launches.
    pub(super) fn open(launches: &[Launch]) -> Result<Device, Failure> {
        for launch in launches {
            let run = &launch.run;
            let of_the_model = [
                ("--timing-sms", run.timing_sms.is_some()),
                ("--timing-warm", run.timing_warm),
                ("--cluster", run.cluster.is_some()),
                ("--bind", !run.bind.is_empty()),
            ];
            if let Some((name, _)) = of_the_model.iter().find(|(_, is_given)| *is_given) {
                return Err(usage(format!("{}: {name} does nothing with --engine gpu", launch.name)));
            }
        }
        let driver = Driver::open().map_err(gpu::rejected)?;
        Ok(Device { driver: Mutex::new(driver), left: Vec::new() })
    }

    /// Measure plain code, and keep what it leaves.
    pub(super) fn plain(&mut self, code: &Code, launches: &[Launch]) -> Result<Vec<Timed>, Failure> {
        let mut all = Vec::new();
        for launch in launches {
            let [first, second] = [self.launch(launch, code)?, self.launch(launch, code)?];
            let is_same =
                first.left.iter().zip(&second.left).map(|(first, second)| Some(*first).filter(|_| first == second));
            self.left.push(is_same.collect());
            all.push(Timed { cost: first.nanoseconds.min(second.nanoseconds), occupancy: None });
        }
        Ok(all)
    }

    /// Measure a candidate with launch `number`.
    pub(super) fn measure(&self, number: usize, launch: &Launch, code: &Code) -> Result<Timed, Unfit> {
        let came = self.launch(launch, code).map_err(|failure| refused(Reason::Fault, failure.reason()))?;
        let differs =
            came.left.iter().zip(&self.left[number]).position(|(own, plain)| plain.is_some_and(|plain| plain != *own));
        match differs {
            Some(buffer) => Err(refused(
                Reason::Differs,
                format!("{}: on the device it leaves something else in buffer {buffer}", launch.name),
            )),
            None => Ok(Timed { cost: came.nanoseconds, occupancy: None }),
        }
    }

    /// Load the code, make the launch [`REPETITIONS`] times from the same memory, and give all back.
    fn launch(&self, launch: &Launch, code: &Code) -> Result<Came, Failure> {
        // A thread that has panicked has left nothing half done here: a driver is only called.
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        driver.enter().map_err(gpu::rejected)?;
        gpu::check_arguments(&launch.run, code.cubin(), &launch.given)?;
        let module = gpu::load(&driver, &code.bytes, code.cubin())?;
        let mut buffers: Vec<Placed> = Vec::new();
        let came = repeated(&driver, &module, launch, &mut buffers);
        let freed =
            buffers.iter().try_for_each(|buffer| driver.free(buffer.address)).and_then(|()| driver.unload(module));
        came.and_then(|came| freed.map(|()| came).map_err(gpu::rejected))
    }
}

fn repeated(driver: &Driver, module: &Module, launch: &Launch, buffers: &mut Vec<Placed>) -> Result<Came, Failure> {
    let mut keep = |_: &_, placed: Placed| buffers.push(placed);
    let mut parameters = gpu::place_all(driver, &launch.given, &mut keep)?;
    let (kernel, shape) = (&launch.run.entry, gpu::shape(&launch.run));
    let mut came: Option<Came> = None;
    for _ in 0..REPETITIONS {
        gpu::set_globals(driver, module, &launch.given)?;
        for buffer in buffers.iter() {
            driver.upload(buffer.address, &buffer.bytes).map_err(gpu::rejected)?;
        }
        let nanoseconds = driver.time(module, kernel, shape, &mut parameters).map_err(gpu::rejected)?;
        came = Some(match came {
            Some(came) => Came { nanoseconds: came.nanoseconds.min(nanoseconds), ..came },
            None => Came { nanoseconds, left: left(driver, buffers)? },
        });
    }
    came.ok_or_else(|| rejected("no launch was made"))
}

/// What the buffers have now.
fn left(driver: &Driver, buffers: &[Placed]) -> Result<Vec<Hash>, Failure> {
    let hash = |buffer: &Placed| {
        let mut bytes = vec![0; buffer.bytes.len()];
        driver.download(buffer.address, &mut bytes).map_err(gpu::rejected)?;
        Ok(blake3::hash(&bytes))
    };
    buffers.iter().map(hash).collect()
}
