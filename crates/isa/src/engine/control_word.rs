//! Which control words an instruction may have: the `control` lines of the spec, and what holds for all.

use crate::{Arch, Control};

/// What the control word of an instruction may carry besides a stall count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Carries(u8);

impl Carries {
    /// Nothing.
    pub const NOTHING: Carries = Carries(0);
    /// A scoreboard that is released when the results are written.
    pub const WRITE: Carries = Carries(1);
    /// A scoreboard that is released when the sources have been read.
    pub const READ: Carries = Carries(2);
    /// Scoreboards that have to be clear before issue.
    pub const WAIT: Carries = Carries(4);

    pub(crate) const fn from_bits(bits: u8) -> Carries {
        Carries(bits)
    }

    /// Everything of `other` is in this set.
    pub const fn contains(self, other: Carries) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a control word has that its instruction must not carry. nvdisasm refuses such words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ControlFault {
    /// [`Carries::WRITE`] is missing.
    #[error("it cannot set a scoreboard for results")]
    WriteScoreboard,
    /// [`Carries::READ`] is missing.
    #[error("it cannot set a scoreboard for sources")]
    ReadScoreboard,
    /// [`Carries::WAIT`] is missing.
    #[error("it cannot wait for scoreboards")]
    Wait,
    /// The bit to stay on the warp goes with stall counts from 1 to 11 only.
    #[error("it cannot stay with that stall count")]
    Stay,
    /// Operands are kept for the next instruction of the same warp: without the bit to stay, the bits mean
    /// something else.
    #[error("it cannot keep operands (.reuse) and leave the warp")]
    Reuse,
}

/// The largest stall count with which a warp may stay.
const LONGEST_STAY: u8 = 11;

/// What of an instruction stays for the next one of its warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keeps {
    /// Operands (`.reuse`).
    pub(super) operands: bool,
    /// What the textures' field in the place of those bits says.
    pub(super) field: bool,
}

/// The first thing in a control word that must not be there, if the instruction's form may carry this.
pub(super) fn fault_of(carries: Carries, control: Control, keeps: Keeps, arch: Arch) -> Option<ControlFault> {
    // Of 64-bit words nothing is known.
    if arch.word_format().is_bundled() {
        return None;
    }
    let lacks = |what| !carries.contains(what);
    if control.write_scoreboard != Control::NO_SCOREBOARD && lacks(Carries::WRITE) {
        return Some(ControlFault::WriteScoreboard);
    }
    if control.read_scoreboard != Control::NO_SCOREBOARD && lacks(Carries::READ) {
        return Some(ControlFault::ReadScoreboard);
    }
    if control.wait_mask != 0 && lacks(Carries::WAIT) {
        return Some(ControlFault::Wait);
    }
    if control.stay {
        return (control.stall == 0 || control.stall > LONGEST_STAY).then_some(ControlFault::Stay);
    }
    // The textures' field means something without the bit to stay too.
    let field = control.stall == 0 && keeps.field;
    (keeps.operands || field).then_some(ControlFault::Reuse)
}
