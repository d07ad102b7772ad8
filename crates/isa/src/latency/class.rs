//! The classes of the latency tables: which one an instruction's result or operand belongs to.

use super::matrix;
use super::name::LatencyClass;
use super::table::{Earlier, Later};
use crate::{Arch, Family, Field, Inst, Mul, Opcode, RegFile, Role, Value, WarpsyncMode};

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

/// An in-order queue of variable-latency instructions (`spec/latency/queues.tsv`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Shared memory, exchange between threads, queries of address spaces.
    Shared,
    /// MUFU, conversions, bit counts, FCHK.
    Transcendental,
    /// Double precision where it is scoreboarded.
    Double,
    /// S2UR.
    SpecialUniform,
    /// Matrix instructions where they are scoreboarded.
    Matrix,
    /// REDUX.
    Reduction,
    /// TEX, TLD, TLD4, TXD.
    Texture,
    /// SULD.
    Surface,
    /// LDTM, with and without a statistic.
    TensorMemory,
    /// B2R.
    BarrierResult,
    /// UTCHMMA and the like, UTCCP, UTCBAR.
    TensorProduct,
    /// UTMALDG, UTMAPF.
    TensorLoad,
    /// SYNCS.EXCH.
    BarrierExchange,
    /// UTMACCTL.
    TensorDescriptor,
}

impl Queue {
    /// How many there are.
    pub const COUNT: usize = Queue::TensorDescriptor as usize + 1;
}

include!(concat!(env!("OUT_DIR"), "/latency_queues.rs"));

/// What `spec/latency/classes.tsv` says of the class of an opcode.
struct Class {
    group: Group,
    /// The targets on which the latency is variable, a bit each in the order of `Arch::ALL`.
    variable: u32,
}

/// What `spec/latency/groups.tsv` says of a group: the classes of its registers.
struct Classes {
    result: Earlier,
    source: Later,
    uniform: Later,
    guard: Later,
    guard_read: Earlier,
    predicate: Later,
    /// Of fixed and of variable latency.
    write: [Later; 2],
    /// The same.
    read: [Earlier; 2],
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
            Opcode::IMAD => match inst.get(Field::MUL) {
                Mul::WIDE => Group::Wide,
                Mul::HI => Group::High,
                _ => Group::Fma,
            },
            Opcode::IADD if !inst.get(Field::LONG) => Group::Alu,
            Opcode::HFMA2 if is_hfma2_mma(inst) => Group::HalfMatrix,
            opcode => CLASSES[opcode as usize].group,
        }
    }

    /// The same on a chip. sm_107 adds 32-bit integers in the half of the ALU that compares and selects, takes the extremes of three floats in the
    /// other one, and moves uniform registers like other uniform arithmetic (ptxas 13.5.37's code; docs/isa/latency.md, sm_107).
    pub(crate) fn on(inst: &Inst, arch: Arch) -> Group {
        match inst.opcode {
            _ if arch != Arch::Sm107 => Group::of(inst),
            Opcode::IADD if !inst.get(Field::LONG) => Group::AluDual,
            Opcode::FMNMX3 => Group::Alu,
            Opcode::UMOV => Group::Uniform,
            _ => Group::of(inst),
        }
    }

    fn classes(self) -> &'static Classes {
        &GROUPS[self as usize]
    }
}

/// HFMA2.MMA runs on the matrix unit.
fn is_hfma2_mma(inst: &Inst) -> bool {
    inst.mods.get(Field::MMA) == Some(true)
}

fn is_collective(inst: &Inst) -> bool {
    inst.opcode == Opcode::WARPSYNC && inst.get(Field::WARPSYNC_MODE) == WarpsyncMode::COLLECTIVE
}

fn is_texture(inst: &Inst) -> bool {
    matches!(inst.opcode.info().family, Family::Texture | Family::Surface)
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

/// The class of a result in a register of `file`.
pub(crate) fn producer(inst: &Inst, group: Group, def: Slot, file: RegFile) -> Earlier {
    let is_first = !matches!(def, Slot::Operand { register: 1.., .. });
    match group {
        Group::Wide if file == RegFile::P => Earlier::WidePred,
        Group::Wide if !is_first => Earlier::WideHi,
        Group::Cs2r if inst.width(0) == 1 => Earlier::Cs2r32,
        Group::Cs2r if !is_first => Earlier::Cs2rHi,
        // No pair of these was seen; their unit is the ALU's.
        Group::Branch | Group::Barrier | Group::Other if matches!(file, RegFile::R | RegFile::P) => Earlier::Alu,
        Group::Matrix => matrix::class(inst),
        group => group.classes().result,
    }
}

/// The class of a read of a register of `file`.
pub(crate) fn reader(inst: &Inst, group: Group, place: Slot, file: RegFile) -> Later {
    let Slot::Operand { index, register } = place else { return group.classes().guard };
    match file {
        // P2R reads all predicates at once; the rows named ALU are its.
        RegFile::P | RegFile::UP if inst.opcode == Opcode::P2R => Later::Alu,
        RegFile::P | RegFile::UP => group.classes().predicate,
        RegFile::UR => uniform_reader(inst, group, index),
        _ => general_reader(inst, group, index, register),
    }
}

fn role(inst: &Inst, index: u8) -> Role {
    inst.opcode.signature()[usize::from(index)].role
}

fn uniform_reader(inst: &Inst, group: Group, index: u8) -> Later {
    if matches!(inst.operands[usize::from(index)].value, Value::ConstBindless { .. }) {
        return Later::CbufIndex;
    }
    match (group, role(inst, index)) {
        // ptxas leaves 12 cycles between a UIMAD and the ULDC that it indexes, 5 behind a UMOV.
        (Group::UniformLoad, Role::Base) => Later::CbufIndex,
        (Group::Gmma, Role::Desc) => Later::Gdesc,
        (_, Role::Desc) => Later::Desc,
        (Group::Memory, Role::Base | Role::UBase) => Later::Addr,
        (Group::Memory, _) if inst.opcode.info().latency == LatencyClass::Bulk => Later::Addr,
        // It reads later than the others.
        (Group::Sync, _) if inst.opcode == Opcode::SYNCSU => Later::SyncsExch,
        _ => group.classes().uniform,
    }
}

fn general_reader(inst: &Inst, group: Group, index: u8, register: u8) -> Later {
    match (group, role(inst, index)) {
        (Group::Wide | Group::High, Role::C) if register == 0 => Later::WideCLo,
        (Group::Wide | Group::High, Role::C) => Later::WideCHi,
        (Group::Matrix | Group::Dmma, Role::C) => Later::MmaC,
        // Textures, surfaces and stores to tensor memory read like MUFU, not like loads.
        (Group::Memory, _) if is_texture(inst) || inst.opcode == Opcode::STTM => Later::Sfu,
        (Group::Memory, Role::Base) if inst.opcode == Opcode::LDC => Later::LdcIndex,
        (Group::Memory, Role::Base) => Later::Addr,
        // Conversions to f32 are not on the way by which halves go to each other.
        (Group::Half, _) if inst.mods.get(Field::HALF_F32) == Some(true) => Later::Fp16Alu,
        // Of the branches only WARPSYNC.COLLECTIVE reads its register late.
        (Group::Branch, _) if is_collective(inst) => Later::Warpsync,
        _ => group.classes().source,
    }
}

/// The class of a read before a write.
pub(crate) fn war_reader(inst: &Inst, group: Group, place: Slot, variable: bool) -> Earlier {
    match place {
        Slot::Guard if inst.opcode == Opcode::NOP => Earlier::GuardNop,
        Slot::Guard => group.classes().guard_read,
        Slot::Operand { .. } if group == Group::Matrix => matrix::class(inst),
        Slot::Operand { .. } => group.classes().read[usize::from(variable)],
    }
}

/// The class of a write after another access.
pub(crate) fn writer(opcode: Opcode, group: Group, variable: bool) -> Later {
    match opcode {
        Opcode::S2UR if variable => Later::S2urVariable,
        Opcode::ELECT => Later::Elect,
        _ => group.classes().write[usize::from(variable)],
    }
}

/// The queue of an instruction, by whether its latency is variable.
pub(crate) fn queue_of(opcode: Opcode, variable: bool) -> Option<Queue> {
    QUEUES[opcode as usize].filter(|_| variable)
}
