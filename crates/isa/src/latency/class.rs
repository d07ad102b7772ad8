//! The classes of the latency tables: which one an instruction's result or operand belongs to.

use super::matrix;
use crate::{Arch, Field, Inst, Opcode, RegFile, Role, Value, mul};

/// Where an instruction names a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// The guard predicate.
    Guard,
    /// A register of an operand.
    Operand {
        /// Position in the signature.
        index: u8,
        /// Which register of the operand's group, from 0.
        register: u8,
    },
}

/// An in-order queue of variable-latency instructions (digest, "In-order queues are used").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Queue {
    /// LDS, LDSM, SHFL, MOVM.
    Shared,
    /// MUFU, conversions, bit counts, FCHK.
    Transcendental,
    /// Double precision where it is scoreboarded.
    Double,
    /// S2UR.
    SpecialUniform,
    /// Matrix instructions where they are scoreboarded.
    Matrix,
    /// TEX, TLD, TLD4, TXD.
    Texture,
    /// SULD.
    Surface,
    /// LDTM.
    TensorMemory,
    /// B2R: `B2R.RESULT R7` without a scoreboard is waited for by that of a later one (ptxas's code of
    /// three `barrier.red` in a row, sm_90 and sm_100a).
    BarrierResult,
}

impl Queue {
    /// How many there are.
    pub const COUNT: usize = 9;
}

/// What kind of unit an instruction runs on, as far as latencies tell kinds apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    Alu,
    AluDual,
    Alu64,
    Fma,
    Wide,
    High,
    Half,
    HalfMatrix,
    Fp64,
    Matrix,
    Dmma,
    Gmma,
    Cs2r,
    Vote,
    VoteUniform,
    Uniform,
    UniformMove,
    UniformLoad,
    Ldcu,
    R2ur,
    Credux,
    Sfu,
    Shuffle,
    Sync,
    Memory,
    Branch,
    Barrier,
    Other,
}

/// What `spec/latency/classes.tsv` says of the class of an opcode.
struct Class {
    group: Group,
    /// The targets on which the latency is variable, a bit each in the order of `Arch::ALL`.
    variable: u16,
}

include!(concat!(env!("OUT_DIR"), "/latency_classes.rs"));

/// The results come at no fixed time.
pub(crate) fn is_variable(opcode: Opcode, arch: Arch) -> bool {
    arch.is_in(CLASSES[opcode as usize].variable)
}

impl Group {
    /// The group of an instruction; forms of one mnemonic may differ.
    pub(crate) fn of(inst: &Inst) -> Group {
        match inst.opcode {
            Opcode::IMAD => match inst.get(Field::Mul) {
                mul::WIDE => Group::Wide,
                mul::HI => Group::High,
                _ => Group::Fma,
            },
            Opcode::HFMA2 if is_hfma2_mma(inst) => Group::HalfMatrix,
            opcode => CLASSES[opcode as usize].group,
        }
    }

    /// The name in the tables.
    fn name(self) -> &'static str {
        match self {
            Group::Alu => "ALU",
            Group::AluDual => "ALU dual",
            Group::Alu64 => "ALU 64",
            Group::Fma => "FMA",
            Group::Wide | Group::High => "WIDE",
            Group::Half => "FP16",
            Group::HalfMatrix => "HFMA2.MMA",
            Group::Fp64 => "FP64",
            Group::Matrix | Group::Dmma => "MMA",
            Group::Gmma => "GMMA",
            Group::Cs2r => "CS2R",
            Group::Vote => "VOTE",
            Group::VoteUniform => "VOTEU",
            Group::Uniform => "UDP",
            Group::UniformMove => "UMOV",
            Group::UniformLoad => "ULDC",
            Group::Ldcu => "LDCU",
            Group::R2ur => "R2UR",
            Group::Credux => "CREDUX",
            Group::Sfu | Group::Shuffle => "sfu",
            Group::Sync => "sync, tmem",
            Group::Memory => "mem",
            Group::Branch => "branch",
            Group::Barrier => "BAR",
            Group::Other => "other",
        }
    }
}

/// HFMA2.MMA runs on the matrix unit.
fn is_hfma2_mma(inst: &Inst) -> bool {
    inst.mods.get(Field::Mma).is_some_and(|v| v != 0)
}

fn is_texture(inst: &Inst) -> bool {
    matches!(inst.opcode.info().family, "texture" | "surface")
}

/// The register file of a place, which names a register.
pub(crate) fn file_of(inst: &Inst, slot: Slot) -> RegFile {
    match slot {
        Slot::Guard if inst.opcode.info().guard_uniform => RegFile::UP,
        Slot::Guard => RegFile::P,
        Slot::Operand { index, .. } => match inst.operands.get(usize::from(index)).map(|o| o.value) {
            Some(Value::Reg(file, _)) => file,
            Some(Value::ConstBindless { .. }) => RegFile::UR,
            _ => RegFile::R,
        },
    }
}

/// The row name of a result.
pub(crate) fn producer(inst: &Inst, def: Slot) -> &'static str {
    let file = file_of(inst, def);
    let register = match def {
        Slot::Operand { register, .. } => register,
        Slot::Guard => 0,
    };
    match (Group::of(inst), file) {
        (Group::Wide, RegFile::P) => "WIDE pred",
        (Group::Wide, _) => ["WIDE lo", "WIDE hi"][usize::from(register.min(1))],
        (Group::High, _) => "IMAD.HI",
        (Group::Cs2r, _) if inst.width(0) == 1 => "CS2R.32",
        (Group::Cs2r, _) => ["CS2R", "CS2R hi"][usize::from(register.min(1))],
        // No pair of these was seen; their unit is the ALU's.
        (Group::Branch | Group::Barrier | Group::Other, RegFile::R | RegFile::P) => "ALU",
        (Group::Matrix, _) => matrix::row(inst),
        (group, _) => group.name(),
    }
}

/// The column name of a read.
pub(crate) fn reader(inst: &Inst, place: Slot, file: RegFile) -> &'static str {
    let group = Group::of(inst);
    let Slot::Operand { index, register } = place else { return guard_reader(group) };
    let role = inst.opcode.signature()[usize::from(index)].role;
    match file {
        RegFile::P | RegFile::UP => predicate_reader(inst, group),
        RegFile::UR => uniform_reader(inst, group, role, index),
        _ => general_reader(inst, group, role, register),
    }
}

fn guard_reader(group: Group) -> &'static str {
    match group {
        Group::Alu | Group::AluDual | Group::Alu64 => "@ALU",
        Group::Fma => "@FMA",
        Group::Wide | Group::High => "@WIDE",
        Group::Half | Group::HalfMatrix => "@FP16",
        Group::Fp64 => "@FP64",
        Group::Matrix | Group::Dmma => "@MMA",
        Group::Branch => "@branch",
        Group::Memory => "@mem",
        Group::Sfu | Group::Shuffle | Group::Credux => "@sfu",
        Group::Uniform | Group::UniformMove | Group::UniformLoad | Group::Ldcu | Group::VoteUniform => "@UDP",
        Group::Cs2r | Group::Vote | Group::R2ur | Group::Sync | Group::Gmma | Group::Barrier | Group::Other => "@other",
    }
}

fn predicate_reader(inst: &Inst, group: Group) -> &'static str {
    match group {
        // P2R reads all predicates at once; the rows named ALU are its.
        Group::Alu if inst.opcode == Opcode::P2R => "ALU",
        Group::Alu => "ALU pred",
        Group::AluDual => "ALU dual pred",
        Group::Alu64 => "ALU 64 pred",
        Group::Fma => "FMA pred",
        Group::Wide | Group::High => "WIDE pred",
        Group::Half | Group::HalfMatrix => "FP16 pred",
        Group::Fp64 => "FP64 pred",
        Group::Barrier => "BAR pred",
        Group::Vote => "VOTE pred",
        Group::VoteUniform => "VOTEU pred",
        Group::Branch => "branch pred",
        Group::Uniform | Group::UniformMove | Group::UniformLoad => "UDP pred",
        Group::Memory => "data",
        _ => "*",
    }
}

fn uniform_reader(inst: &Inst, group: Group, role: Role, index: u8) -> &'static str {
    if matches!(inst.operands[usize::from(index)].value, Value::ConstBindless { .. }) {
        return "cbuf index";
    }
    match (group, role) {
        (Group::Gmma, Role::Desc) => "gdesc",
        (_, Role::Desc) => "desc",
        (Group::Memory, Role::Base | Role::UBase) => "addr",
        (Group::Memory, _) if inst.opcode.info().latency == "bulk" => "addr",
        (Group::Memory, _) => "data",
        (Group::VoteUniform | Group::UniformLoad, _) => "UDP",
        // It reads later than the others.
        (Group::Sync, _) if inst.opcode == Opcode::SYNCSU => "SYNCS.EXCH",
        _ => group.name(),
    }
}

fn general_reader(inst: &Inst, group: Group, role: Role, register: u8) -> &'static str {
    match (group, role) {
        (Group::Wide | Group::High, Role::C) => ["WIDE c lo", "WIDE c hi"][usize::from(register.min(1))],
        (Group::Wide | Group::High, _) => "WIDE a,b",
        (Group::Matrix | Group::Dmma, Role::C) => "MMA c",
        (Group::Matrix | Group::Dmma, _) => "MMA a,b",
        // Textures, surfaces and stores to tensor memory read like MUFU, not like loads.
        (Group::Memory, _) if is_texture(inst) || inst.opcode == Opcode::STTM => "sfu",
        (Group::Memory, Role::Base) if inst.opcode == Opcode::LDC => "LDC index",
        (Group::Memory, Role::Base) => "addr",
        // SHFL and MOVM go the way of data to memory, not that of MUFU's operand.
        (Group::Memory | Group::Shuffle, _) => "data",
        (Group::Credux, _) => "sfu",
        // Of the branches only WARPSYNC reads its register late.
        (Group::Branch, _) if inst.opcode == Opcode::WARPSYNC => "WARPSYNC",
        _ => group.name(),
    }
}

/// The row name of a read in the table of writes after reads.
pub(crate) fn war_reader(inst: &Inst, place: Slot, variable: bool) -> &'static str {
    let group = Group::of(inst);
    match place {
        Slot::Guard if inst.opcode == Opcode::NOP => return "@NOP",
        Slot::Guard => return guard_reader(group),
        Slot::Operand { .. } => {}
    }
    match (group, variable) {
        (Group::Fp64, true) => "FP64!",
        (Group::Memory, true) => "mem!",
        (Group::Sfu | Group::Shuffle | Group::Sync, true) => "sfu!",
        (Group::Credux, _) => "sfu",
        // The halves of the ALU differ in what they hand on, not in when they read.
        (Group::AluDual | Group::Alu64, _) => "ALU",
        _ => group.name(),
    }
}

/// The column name of a write.
pub(crate) fn writer(inst: &Inst, variable: bool) -> &'static str {
    match (Group::of(inst), variable) {
        (Group::Fp64, true) => "FP64!",
        (Group::Memory, true) => "mem!",
        (Group::Sfu, true) if inst.opcode == Opcode::S2UR => "S2UR!",
        (Group::Sfu | Group::Shuffle | Group::Sync, true) => "sfu!",
        (Group::R2ur, true) => "R2UR!",
        (Group::Ldcu, true) => "LDCU!",
        (Group::Vote, _) if inst.opcode == Opcode::ELECT => "ELECT",
        (Group::Dmma, true) => "DMMA!",
        (Group::Matrix | Group::Gmma, true) => "MMA!",
        (Group::AluDual | Group::Alu64, _) => "ALU",
        (group, _) => group.name(),
    }
}

/// The queue of a variable-latency instruction.
pub(crate) fn queue_of(inst: &Inst, variable: bool) -> Option<Queue> {
    match inst.opcode {
        Opcode::LDS | Opcode::LDSM | Opcode::SHFL | Opcode::MOVM => Some(Queue::Shared),
        Opcode::S2UR => Some(Queue::SpecialUniform),
        _ if inst.opcode.info().latency == "xu" => Some(Queue::Transcendental),
        _ if variable && Group::of(inst) == Group::Fp64 => Some(Queue::Double),
        _ if variable && matches!(Group::of(inst), Group::Matrix | Group::Dmma) => Some(Queue::Matrix),
        Opcode::TEX | Opcode::TLD | Opcode::TLD4 | Opcode::TXD => Some(Queue::Texture),
        Opcode::SULD => Some(Queue::Surface),
        Opcode::LDTM => Some(Queue::TensorMemory),
        Opcode::B2R => Some(Queue::BarrierResult),
        _ => None,
    }
}
