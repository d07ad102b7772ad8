//! The classes of the latency tables: which one an instruction's result or operand belongs to.

use crate::{Field, Inst, Opcode, RegFile, Role, Value, mul};
use std::sync::OnceLock;

/// Where an instruction names a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
}

/// What kind of unit an instruction runs on, as far as latencies tell kinds apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    Alu,
    Fma,
    Wide,
    High,
    Half,
    HalfMatrix,
    Fp64,
    Matrix,
    Dmma,
    Cs2r,
    Vote,
    VoteUniform,
    Uniform,
    UniformMove,
    UniformLoad,
    R2ur,
    Sfu,
    Memory,
    Branch,
    Barrier,
    Other,
}

/// The spec's latency class names and their groups. Every name in the spec must be here; a test sees to it.
const GROUPS: &[(&str, Group)] = &[
    ("alu", Group::Alu),
    ("b2r", Group::Sfu),
    ("bar", Group::Barrier),
    ("bmov", Group::Sfu),
    ("branch", Group::Branch),
    ("bulk", Group::Memory),
    ("cluster", Group::Other),
    ("cs2r", Group::Cs2r),
    ("depbar", Group::Other),
    ("dmma", Group::Dmma),
    ("dsetp", Group::Fp64),
    ("elect", Group::Vote),
    ("errbar", Group::Other),
    ("fence", Group::Other),
    ("fma", Group::Fma),
    ("fp64", Group::Fp64),
    ("half", Group::Half),
    ("imad", Group::Fma),
    ("ldc", Group::Memory),
    ("ldgdepbar", Group::Other),
    ("match", Group::Sfu),
    ("membar", Group::Other),
    ("memory", Group::Memory),
    ("mma", Group::Matrix),
    ("nanosleep", Group::Branch),
    ("nop", Group::Other),
    ("query", Group::Sfu),
    ("r2p", Group::Alu),
    ("r2ur", Group::R2ur),
    ("redux", Group::Sfu),
    ("rpcmov", Group::Alu),
    ("s2r", Group::Sfu),
    ("s2ur", Group::Sfu),
    ("shared", Group::Memory),
    ("shfl", Group::Sfu),
    ("sync", Group::Sfu),
    ("uldc", Group::UniformLoad),
    ("umov", Group::UniformMove),
    ("uniform", Group::Uniform),
    ("vote", Group::Vote),
    ("voteu", Group::VoteUniform),
    ("xu", Group::Sfu),
];

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
            opcode => group_of_opcode(opcode),
        }
    }

    /// The name in the tables.
    fn name(self) -> &'static str {
        match self {
            Group::Alu => "ALU",
            Group::Fma | Group::High => "FMA",
            Group::Wide => "WIDE",
            Group::Half => "FP16",
            Group::HalfMatrix => "HFMA2.MMA",
            Group::Fp64 => "FP64",
            Group::Matrix | Group::Dmma => "MMA",
            Group::Cs2r => "CS2R",
            Group::Vote => "VOTE",
            Group::VoteUniform => "VOTEU",
            Group::Uniform => "UDP",
            Group::UniformMove => "UMOV",
            Group::UniformLoad => "ULDC",
            Group::R2ur => "R2UR",
            Group::Sfu => "sfu",
            Group::Memory => "mem",
            Group::Branch => "branch",
            Group::Barrier => "BAR",
            Group::Other => "other",
        }
    }
}

/// The group of an opcode's class, looked up once per opcode.
fn group_of_opcode(opcode: Opcode) -> Group {
    static GROUPS_BY_OPCODE: OnceLock<Vec<Group>> = OnceLock::new();
    let groups = || Opcode::ALL.iter().map(|o| group_of_class(o.info().latency)).collect();
    GROUPS_BY_OPCODE.get_or_init(groups)[opcode as usize]
}

/// HFMA2.MMA runs on the matrix unit.
fn is_hfma2_mma(inst: &Inst) -> bool {
    Field::from_name("mma").is_some_and(|field| inst.mods.get(field).is_some_and(|v| v != 0))
}

pub(crate) fn group_of_class(class: &str) -> Group {
    GROUPS.binary_search_by(|(name, _)| (*name).cmp(class)).map_or(Group::Other, |at| GROUPS[at].1)
}

/// Whether the tables know the spec's class name.
#[cfg(test)]
pub(crate) fn is_known(class: &str) -> bool {
    GROUPS.binary_search_by(|(name, _)| (*name).cmp(class)).is_ok()
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
        Group::Alu => "@ALU",
        Group::Fma | Group::High => "@FMA",
        Group::Wide => "@WIDE",
        Group::Half | Group::HalfMatrix => "@FP16",
        Group::Fp64 => "@FP64",
        Group::Matrix | Group::Dmma => "@MMA",
        Group::Branch => "@branch",
        Group::Memory => "@mem",
        Group::Sfu => "@sfu",
        Group::Uniform | Group::UniformMove | Group::UniformLoad | Group::VoteUniform => "@UDP",
        Group::Cs2r | Group::Vote | Group::R2ur | Group::Barrier | Group::Other => "@other",
    }
}

fn predicate_reader(inst: &Inst, group: Group) -> &'static str {
    match group {
        // P2R reads all predicates at once; the rows named ALU are its.
        Group::Alu if inst.opcode == Opcode::P2R => "ALU",
        Group::Alu => "ALU pred",
        Group::Fma | Group::High => "FMA pred",
        Group::Wide => "WIDE pred",
        Group::Half | Group::HalfMatrix => "*",
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
        (_, Role::Desc) => "desc",
        (Group::Memory, Role::Base | Role::UBase) => "addr",
        (Group::Memory, _) => "data",
        (Group::High, _) => "FMA",
        (Group::VoteUniform | Group::UniformLoad, _) => "UDP",
        _ => group.name(),
    }
}

fn general_reader(inst: &Inst, group: Group, role: Role, register: u8) -> &'static str {
    match (group, role) {
        (Group::Wide, Role::C) => ["WIDE c lo", "WIDE c hi"][usize::from(register.min(1))],
        (Group::Wide, _) => "WIDE a,b",
        (Group::Matrix | Group::Dmma, Role::C) => "MMA c",
        (Group::Matrix | Group::Dmma, _) => "MMA a,b",
        (Group::Memory, Role::Base) if inst.opcode == Opcode::LDC => "LDC index",
        (Group::Memory, Role::Base) => "addr",
        (Group::Memory, _) => "data",
        _ => group.name(),
    }
}

/// The row name of a read in the table of writes after reads.
pub(crate) fn war_reader(inst: &Inst, place: Slot, variable: bool) -> &'static str {
    let group = Group::of(inst);
    if place == Slot::Guard {
        return guard_reader(group);
    }
    match (group, variable) {
        (Group::Fp64, true) => "FP64!",
        (Group::Memory, true) => "mem!",
        (Group::Sfu, true) => "sfu!",
        _ => group.name(),
    }
}

/// The column name of a write.
pub(crate) fn writer(inst: &Inst, variable: bool) -> &'static str {
    match (Group::of(inst), variable) {
        (Group::Fp64, true) => "FP64!",
        (Group::Memory, true) => "mem!",
        (Group::Sfu, true) if inst.opcode == Opcode::S2UR => "S2UR!",
        (Group::Sfu, true) => "sfu!",
        (Group::R2ur, true) => "R2UR!",
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
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_has_a_latency_class() {
        let unknown: Vec<&str> =
            Opcode::ALL.into_iter().filter(|o| !is_known(o.info().latency)).map(Opcode::name).collect();
        assert!(unknown.is_empty(), "no latency class: {unknown:?}");
    }
}
