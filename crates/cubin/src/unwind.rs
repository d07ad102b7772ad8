//! Where the caller of a function has its frame, and where what it had in registers is: what `.debug_frame` says.

/// What debuggers are told of a function, from its first instruction on. There the caller's frame lies at R1, and all registers hold what
/// they held in the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unwind {
    /// Where it returns to.
    pub return_address: ReturnAddress,
    /// What changes, by ascending offset.
    pub rows: Vec<UnwindRow>,
}

/// What a function has its return address in when it is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReturnAddress {
    /// It is a kernel.
    #[default]
    None,
    /// In this general register and the next: an address of code.
    Absolute(u16),
    /// In this general register: bytes from the first instruction of the section on.
    InSection(u16),
}

/// A change, from an instruction on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwindRow {
    /// Byte offset of that instruction in the function: the one behind what makes the change.
    pub offset: u32,
    /// What changes.
    pub rule: UnwindRule,
}

/// What is told of a place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnwindRule {
    /// The frame of the caller, its R1, lies this number of bytes above what this general register holds.
    Frame {
        /// Its number.
        register: u16,
        /// Bytes.
        bytes: u32,
    },
    /// What the general register of this number held in the caller is there.
    Register {
        /// Its number.
        register: u16,
        /// Where.
        place: Place,
    },
}

/// Where a word of the caller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where it was.
    Same,
    /// In this general register.
    Register(u16),
    /// In local memory, this number of bytes below the caller's frame.
    Below(u32),
    /// Nowhere.
    Lost,
}
