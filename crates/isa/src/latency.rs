//! Latencies: how long after one instruction another may issue that touches the same register.
//!
//! The numbers are in `spec/latency/*.tsv`, a row per pair of classes with its source; `docs/isa/latency.md`
//! says where they come from. The scheduler obeys them and the strict simulator enforces them.

mod class;
mod matrix;
#[cfg(test)]
mod mined;
mod table;

pub use class::{Queue, Slot};

use crate::{Arch, Control, Effects, Inst, Opcode, RegFile};
use class::Group;
use table::{Kind, lookup};

/// Distance after a write where the table has no row and the writer's class has no longest one. That is
/// every pair on sm_50 and sm_61, of which no numbers are known: NAK keeps 13 cycles there at most.
const UNKNOWN_WRITE_AFTER_WRITE: u8 = 14;
/// Distance of a write after a read where the table has no row (header of `war.tsv`).
const UNKNOWN_WRITE_AFTER_READ: u8 = 4;
/// The same after a matrix instruction.
const UNKNOWN_AFTER_MATRIX: u8 = 8;
/// What NAK keeps between control instructions and the next one before Volta.
const MAXWELL_CONTROL: u8 = 13;

/// The results come at no fixed time: whoever needs them waits for a scoreboard (or for a later
/// instruction of the same [`Queue`]).
pub fn is_variable(inst: &Inst, arch: Arch) -> bool {
    class::is_variable(inst.opcode, arch)
}

/// The register that `inst` reads at `place` is read some time after issue: overwriting it needs a scoreboard
/// wait (or a later instruction of the same queue). General registers of instructions of variable latency are;
/// uniform registers only where [`holds_uniform`] says so; predicates never.
pub fn reads_late(inst: &Inst, place: Slot, arch: Arch) -> bool {
    match class::file_of(inst, place) {
        RegFile::R => is_variable(inst, arch) && inst.opcode != Opcode::S2R,
        RegFile::UR => holds_uniform(inst),
        _ => false,
    }
}

/// Uniform sources are read late too: asynchronous copies and tensor core work of a block, and `SYNCS.EXCH`
/// (ptxas gives every one of them a read scoreboard; digest, "Opcodes that set scoreboards").
pub fn holds_uniform(inst: &Inst) -> bool {
    inst.opcode.info().latency == "bulk" || inst.opcode == Opcode::SYNCSU
}

/// Instructions of one queue finish in the order of issue: a wait for the later one covers the earlier.
pub fn queue(inst: &Inst, arch: Arch) -> Option<Queue> {
    class::queue_of(inst, is_variable(inst, arch))
}

/// Cycles from `producer` to `consumer` (issue to issue) for register `def` of the one to be readable at
/// `place` of the other. 0 where `producer` is of variable latency: a scoreboard governs it.
pub fn raw(producer: &Inst, def: Slot, consumer: &Inst, place: Slot, arch: Arch) -> u8 {
    if is_variable(producer, arch) {
        return 0;
    }
    let Row { file, first: from, second: to } = raw_row(producer, def, consumer, place);
    lookup(Kind::ReadAfterWrite, file, from, to, arch)
        .or_else(|| lookup(Kind::ReadAfterWrite, file, from, "*", arch))
        .unwrap_or(UNKNOWN_WRITE_AFTER_WRITE)
}

/// Cycles after which every reader finds register `def` of `producer` written.
pub fn longest(producer: &Inst, def: Slot, arch: Arch) -> u8 {
    if is_variable(producer, arch) {
        return 0;
    }
    let file = class::file_of(producer, def);
    let from = class::producer(producer, def);
    lookup(Kind::ReadAfterWrite, file, from, "*", arch).unwrap_or(UNKNOWN_WRITE_AFTER_WRITE)
}

/// Cycles from `first`, which writes a register as its `def`, to `second`, which writes it too. 0 where
/// `first` is of variable latency.
pub fn waw(first: &Inst, def: Slot, second: &Inst, arch: Arch) -> u8 {
    if is_variable(first, arch) {
        return 0;
    }
    let Row { file, first: from, second: to } = waw_row(first, def, second, arch);
    pair(Kind::WriteAfterWrite, file, from, to, arch).unwrap_or_else(|| longest(first, def, arch))
}

/// Cycles from `reader`, which reads a register at `place`, to `writer`, which writes it. For registers that
/// are read late this is not enough: see [`reads_late`].
pub fn war(reader: &Inst, place: Slot, writer: &Inst, arch: Arch) -> u8 {
    let info = reader.opcode.info();
    if info.effects.contains(Effects::BRANCH) || info.pipe == "barrier" {
        // What comes after a branch or barrier issues when it has decided.
        return 1;
    }
    let file = class::file_of(reader, place);
    let variable = is_variable(reader, arch);
    if variable && file != RegFile::R {
        // Guards, predicates and uniform registers of queued instructions are free at once.
        return 1;
    }
    let Row { first: from, second: to, .. } = war_row(reader, place, writer, arch);
    let unknown = if Group::of(reader) == Group::Matrix { UNKNOWN_AFTER_MATRIX } else { UNKNOWN_WRITE_AFTER_READ };
    let of_shape = if from == "MMA" { matrix::row(reader) } else { from };
    pair(Kind::WriteAfterRead, file, of_shape, to, arch)
        .or_else(|| pair(Kind::WriteAfterRead, file, from, to, arch))
        .unwrap_or(unknown)
}

/// The row of a table that a pair of instructions goes by, as `raw.tsv`, `waw.tsv` and `war.tsv` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The register's file.
    pub file: RegFile,
    /// Class of the earlier instruction.
    pub first: &'static str,
    /// Class of the later one; `!`: it is of variable latency.
    pub second: &'static str,
}

/// The row of [`raw`].
pub fn raw_row(producer: &Inst, def: Slot, consumer: &Inst, place: Slot) -> Row {
    let file = class::file_of(producer, def);
    Row { file, first: class::producer(producer, def), second: class::reader(consumer, place, file) }
}

/// The row of [`waw`].
pub fn waw_row(first: &Inst, def: Slot, second: &Inst, arch: Arch) -> Row {
    let second = class::writer(second, is_variable(second, arch));
    Row { file: class::file_of(first, def), first: class::producer(first, def), second }
}

/// The row of [`war`].
pub fn war_row(reader: &Inst, place: Slot, writer: &Inst, arch: Arch) -> Row {
    let first = class::war_reader(reader, place, is_variable(reader, arch));
    let second = class::writer(writer, is_variable(writer, arch));
    Row { file: class::file_of(reader, place), first, second }
}

/// The row for a second instruction with scoreboard (`!`), or else the one without.
fn pair(kind: Kind, file: RegFile, from: &str, to: &'static str, arch: Arch) -> Option<u8> {
    lookup(kind, file, from, to, arch).or_else(|| lookup(kind, file, from, to.trim_end_matches('!'), arch))
}

/// Fewest cycles between `inst` and the instruction after it, `None` where that may be any, whatever registers they
/// touch (digest, "Own stalls of control flow"; before Volta those of NAK).
pub fn stall_after(inst: &Inst, next: Option<&Inst>, arch: Arch) -> u8 {
    if arch <= Arch::Sm61 {
        return if matches!(Group::of(inst), Group::Branch | Group::Barrier | Group::Other) {
            MAXWELL_CONTROL
        } else {
            1
        };
    }
    let hopper = arch >= Arch::Sm90;
    match inst.opcode {
        Opcode::BRA | Opcode::EXIT | Opcode::RET | Opcode::BSYNC | Opcode::CALL | Opcode::BREAK | Opcode::BRX => 5,
        Opcode::BRXU | Opcode::JMP | Opcode::JMX | Opcode::JMXU | Opcode::ENDCOLLECTIVE => 5,
        Opcode::WARPSYNC | Opcode::NANOSLEEP | Opcode::BMOV | Opcode::YIELD if hopper => 5,
        Opcode::WARPSYNC if arch <= Arch::Sm75 => 4,
        Opcode::CCTL if arch <= Arch::Sm75 => 5,
        Opcode::DEPBAR => 4,
        Opcode::MEMBAR | Opcode::CGAERRBAR => 6,
        Opcode::BAR => match next {
            Some(next) if is_plain_arithmetic(next) => 1,
            Some(next) if next.opcode != Opcode::BAR => 6,
            _ => 6 + 2 * u8::from(hopper),
        },
        Opcode::ERRBAR => 0,
        _ => 1,
    }
}

/// The longest of all fixed distances, in cycles: what issued longer ago needs no look.
pub const LONGEST: u8 = 36;

/// Fewest cycles from an instruction that sets a scoreboard to one that waits for it.
pub const SET_TO_WAIT: u8 = 2;

fn is_plain_arithmetic(inst: &Inst) -> bool {
    let group = Group::of(inst);
    let queued =
        matches!(group, Group::Sfu | Group::Shuffle | Group::Sync | Group::Memory | Group::Branch | Group::Barrier);
    !queued && !inst.opcode.info().effects.contains(Effects::BRANCH)
}

/// Whether the control word names a scoreboard.
pub fn sets_scoreboard(control: Control) -> bool {
    control.write_scoreboard != Control::NO_SCOREBOARD || control.read_scoreboard != Control::NO_SCOREBOARD
}
