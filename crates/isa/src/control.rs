//! The scheduling bits of a 128-bit instruction word (bits 105–125).

/// Scheduling control of one instruction, as the hardware reads it.
///
/// Bit positions as nvdisasm reads them (docs/sources.md, Encodings).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// Cycles before the next instruction of this warp may issue, 0–15 (bits 105–108).
    pub stall: u8,
    /// Bit 109. Set: stay on this warp; clear: the scheduler may switch.
    pub stay: bool,
    /// Scoreboard 0–5 that is released when the results are written; 7: none (bits 110–112).
    pub write_scoreboard: u8,
    /// Scoreboard 0–5 that is released when the sources have been read; 7: none (bits 113–115).
    pub read_scoreboard: u8,
    /// Scoreboards that must be clear before issue, one bit each (bits 116–121).
    pub wait_mask: u8,
    /// In the 64-bit words: those of the four reuse bits (81–84, the first lowest) that no operand shows as
    /// `.reuse`. Where bit 84 is set none does.
    pub spare: u8,
}

impl Control {
    /// The value of a scoreboard field that names none.
    pub const NO_SCOREBOARD: u8 = 7;
    /// No scoreboards, no waits, stall 0: what an assembler writes unless told otherwise is all
    /// bits zero except the two "none" fields.
    pub const NONE: Control =
        Control { stall: 0, stay: false, write_scoreboard: 7, read_scoreboard: 7, wait_mask: 0, spare: 0 };
    /// The least that an instruction says whose operands stay for the next one (`.reuse`): the next issues one
    /// cycle later, and on the same warp.
    pub const KEEPS: Control = Control { stall: 1, stay: true, ..Control::NONE };
}

/// Cycles that a stall count of 0 stands for, with the bit to stay clear. ptxas writes it at -O0 after matrix
/// instructions, whose results are then used by the next one (33 cycles at most), after `ERRBAR` and on the jump to
/// itself at the end of a function; 45 is what published measurements of that jump found.
const STALL_OF_ZERO: u8 = 45;

impl Control {
    /// Cycles from this instruction's issue to that of the next at the earliest.
    pub fn cycles(self) -> u8 {
        match self.stall {
            0 if !self.stay => STALL_OF_ZERO,
            stall => stall.max(1),
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Control::NONE
    }
}
