//! Strict simulation of uniform registers: they are the warp's, and threads of a warp that have gone different ways
//! write over each other's.
//!
//! A thread that reads one must find what it wrote itself, or what stood there when nobody had parted. What other threads of the
//! warp have put there since is taken for a fault, unless it is the same value (ptxas loads a descriptor wherever it is
//! needed). ptxas's code keeps to that: `docs/uniform.md`.

use crate::lanes::{Mask, WARP};
use crate::state::State;
use crate::strict::Watch;
use oriole_device::Hazard;
use oriole_isa::RegFile;
use oriole_isa::access::Register;

/// Uniform registers and predicates, by [`Register::index`] from the first uniform register on.
const REGISTERS: usize = 256 + 8 + 8;

/// What each thread of a warp takes to be in the uniform registers.
pub(crate) struct WarpValues {
    /// By register and lane.
    seen: Box<[[u32; WARP]]>,
    /// By register: the code address of the last write.
    written_at: Box<[u64]>,
}

/// The place of a register in the tables, if it is one of the warp's.
fn place(register: Register) -> Option<usize> {
    matches!(register.file(), RegFile::UR | RegFile::UP).then(|| register.index() - 256)
}

fn value(state: &State, register: Register) -> u32 {
    match register.file() {
        RegFile::UP => state.up(register.number().into()).into(),
        _ => state.ur(register.number().into()),
    }
}

impl WarpValues {
    /// Of a warp in which nothing has been written.
    pub(crate) fn new() -> Self {
        WarpValues { seen: vec![[0; WARP]; REGISTERS].into(), written_at: vec![0; REGISTERS].into() }
    }

    /// Judge what an instruction of the threads `active` reads.
    ///
    /// # Errors
    /// The first register that holds what others of the warp wrote.
    pub(crate) fn judge(&self, state: &State, watch: &Watch, active: Mask) -> Result<(), Hazard> {
        for register in watch.reads() {
            let Some(at) = place(register) else { continue };
            let now = value(state, register);
            let stranger = (0..WARP).find(|lane| active >> lane & 1 != 0 && self.seen[at][*lane] != now);
            if let Some(lane) = stranger {
                return Err(Hazard {
                    kind: "read of another path's value",
                    register: register.to_string(),
                    earlier: format!(
                        "the write at code address {:#x}, which lane {lane} had no part in",
                        self.written_at[at]
                    ),
                    missing_cycles: 0,
                    remedy: "threads that are apart need different uniform registers".into(),
                });
            }
        }
        Ok(())
    }

    /// Note what an instruction has written to which the threads `together` have come together, whether their guard holds or not.
    pub(crate) fn note(&mut self, state: &State, watch: &Watch, together: Mask, pc: u64) {
        for register in watch.writes() {
            let Some(at) = place(register) else { continue };
            let now = value(state, register);
            (0..WARP).filter(|lane| together >> lane & 1 != 0).for_each(|lane| self.seen[at][lane] = now);
            self.written_at[at] = pc;
        }
    }
}
