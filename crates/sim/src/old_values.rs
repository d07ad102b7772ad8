//! `--strict=values`: a register that is read too early has the value that it had before the write which is not done yet, and one that is
//! written too early keeps what the earlier write puts there in the end.

use crate::lanes::{Lanes, Mask, WARP, lanes_of};
use crate::state::State;
use crate::strict::Watch;
use oriole_isa::RegFile;
use oriole_isa::access::Register;

/// What an instruction does too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Early {
    /// The register.
    pub(crate) register: Register,
    /// The threads for which the earlier write is not done.
    pub(crate) threads: Mask,
    /// It writes the register, rather than reads it.
    pub(crate) writes: bool,
}

/// The values of a warp's registers before their last writes.
#[derive(Debug)]
pub(crate) struct OldValues {
    before: Vec<Option<Lanes>>,
    /// What registers hold again after the instruction at hand, and in which threads.
    after: Vec<(Register, Mask, Lanes)>,
}

impl OldValues {
    /// Of a warp that has executed nothing.
    pub(crate) fn new() -> Self {
        OldValues { before: vec![None; Register::COUNT], after: Vec::new() }
    }

    /// An instruction is about to be executed for the `active` threads.
    pub(crate) fn begin(&mut self, state: &mut State, watch: &Watch, early: &[Early], active: Mask) {
        self.after.clear();
        let written: Vec<(Register, Lanes)> = match active {
            0 => Vec::new(),
            _ => watch.writes().map(|register| (register, read(state, register))).collect(),
        };
        for late in early.iter().filter(|early| early.writes) {
            self.after.push((late.register, late.threads & active, read(state, late.register)));
        }
        for late in early.iter().filter(|early| !early.writes) {
            let Some(old) = self.before[late.register.index()] else { continue };
            // What the instruction writes itself stays.
            let own = if written.iter().any(|(register, _)| *register == late.register) { active } else { 0 };
            self.after.push((late.register, late.threads & !own, read(state, late.register)));
            write(state, late.register, late.threads, &old);
        }
        for (register, value) in written {
            self.before[register.index()] = Some(value);
        }
    }

    /// The instruction has been executed.
    pub(crate) fn end(&mut self, state: &mut State) {
        // Of two about one register the first has what it held.
        while let Some((register, threads, value)) = self.after.pop() {
            write(state, register, threads, &value);
        }
    }
}

/// A register, a value for each lane; of predicates 0 or 1.
fn read(state: &State, register: Register) -> Lanes {
    let number = usize::from(register.number());
    match register.file() {
        RegFile::P => std::array::from_fn(|lane| state.p(number) >> lane & 1),
        RegFile::UR => [state.ur(number); WARP],
        RegFile::UP => [u32::from(state.up(number)); WARP],
        _ => *state.r(number),
    }
}

fn write(state: &mut State, register: Register, threads: Mask, value: &Lanes) {
    let number = usize::from(register.number());
    let Some(first) = lanes_of(threads).next() else { return };
    match register.file() {
        RegFile::P => {
            let all = lanes_of(Mask::MAX).fold(0, |all, lane| all | (value[lane] & 1) << lane);
            let active = std::mem::replace(&mut state.active, threads);
            state.set_p(number, all);
            state.active = active;
        }
        RegFile::UR => state.set_ur(number, value[first]),
        RegFile::UP => state.set_up(number, value[first] != 0),
        _ => lanes_of(threads).for_each(|lane| state.set_lane(number, lane, value[lane])),
    }
}
