//! Instructions.

use crate::entity::VReg;
use crate::entity::{CallId, LocId};
use crate::operand::{Operand, OperandKind};
use cranelift_entity::packed_option::PackedOption;
use oriole_isa::{
    Arch, Control, Effects, Field, FieldId, FieldType, Mods, Opcode, Role, Setting, TmShape, special_registers,
};
use smallvec::SmallVec;

/// The guard predicate `@%P3`, `@!%P3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The predicate.
    pub pred: VReg,
    /// Execute where the predicate is false.
    pub negated: bool,
}

impl Guard {
    /// The predicate as an operand that is true where the guard holds.
    pub fn operand(self) -> Operand {
        Operand::reg(self.pred).with_not(self.negated)
    }

    /// The guard that holds where this one does not.
    pub fn opposite(self) -> Guard {
        Guard { negated: !self.negated, ..self }
    }
}

/// What an instruction is: one of the machine's, or an operation that only Ori has. The opcode of the latter
/// says nothing, so that no rule takes them for a move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InstKind {
    /// The machine's instruction of the opcode.
    #[default]
    Machine,
    /// A MovPhi: operands dst, (source, predecessor block)*. Printed as published: `MOV` with a flag.
    Phi,
    /// One operand, a register of any type and width: from here on it has some value. Emits no code.
    Undef,
    /// Registers of any type and width, which are read: up to here they are nobody else's. Emits no code.
    Hold,
}

bitflags::bitflags! {
    /// Facts about one instruction that its opcode and modifiers do not say.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct InstFlags: u16 {
        /// Must not be removed, duplicated, merged or reordered with other volatile instructions.
        const VOLATILE = 1 << 1;
        /// Stores a register to its spill slot.
        const SPILL = 1 << 2;
        /// Loads a register from its spill slot.
        const REFILL = 1 << 3;
        /// Computes a value again instead of keeping it.
        const REMAT = 1 << 4;
        /// Loads or swaps the word around the 16 bits that an atomic operation of the program is on.
        const WORD_AROUND = 1 << 5;
        /// Spills one predicate bit to a general register.
        const BIT_SPILL = 1 << 6;
        /// Refills one predicate bit from a general register.
        const BIT_REFILL = 1 << 7;
        /// Executed by the lanes of one member mask after those of another, behind a `WARPSYNC` of these masks: what comes out is the
        /// same for lanes of one mask, not for all.
        const BY_MASK = 1 << 8;
        /// Reads memory that nothing writes while the kernel runs: may move freely.
        const INVARIANT = 1 << 9;
        /// All threads of the warp agree on its guard (`bra.uni`): no convergence point is needed.
        const UNIFORM = 1 << 10;
        /// A float product or sum of which PTX does not say how it is rounded: it may become one instruction
        /// with another that rounds once.
        const CONTRACTS = 1 << 11;
        /// A ballot of the lanes that are here, by which the members of an exchange are told to go where members come together that are
        /// at another exchange of the function.
        const MEETING = 1 << 12;
        /// Executed for the members of a mask: the exchange or the wait that a `.sync` instruction of the program is.
        const MEMBERS = 1 << 13;
        /// An exchange among the lanes of the warp that the compiler has added.
        const ADDED = 1 << 14;
        /// Initialises an mbarrier, arrives at it, or looks at its phase.
        const MBARRIER = 1 << 15;
        /// With `MBARRIER`: the arrival is a drop, the phase is told by its parity. Of a copy in bulk: bytes at the ends of its source may
        /// be out of bounds.
        const OTHER_KIND = 1 << 0;
        /// What changes no code and is only told to tools.
        const NOTES = Self::MEMBERS.bits()
            | Self::ADDED.bits()
            | Self::MBARRIER.bits()
            | Self::OTHER_KIND.bits()
            | Self::WORD_AROUND.bits();
    }
}

/// One instruction: a SASS opcode on virtual registers.
#[derive(Debug, PartialEq, Eq)]
pub struct Inst {
    /// Machine instruction, MovPhi or mark.
    pub kind: InstKind,
    /// The mnemonic; NOP for what is no machine instruction.
    pub opcode: Opcode,
    /// Facts beyond opcode and modifiers.
    pub flags: InstFlags,
    /// Explicit modifier values.
    pub mods: Mods,
    guard: Operand,
    /// Operands in the order of the opcode's signature, and as many. In SSA form an instruction that may leave old
    /// values in place ([`Inst::writes_partly`]) has these behind: one operand for each that it writes.
    pub operands: SmallVec<[Operand; 6]>,
    /// Scheduling bits; meaningful after scheduling.
    pub control: Control,
    /// Where in the source it comes from.
    pub loc: PackedOption<LocId>,
    /// For CALL and RET: what else it reads, writes and clobbers.
    pub call: PackedOption<CallId>,
}

impl Clone for Inst {
    fn clone(&self) -> Self {
        // What is derived would copy the operands one by one.
        Inst { mods: self.mods.clone(), operands: SmallVec::from_slice(&self.operands), ..*self }
    }
}

impl Inst {
    /// An unguarded instruction.
    pub fn new(opcode: Opcode, mods: Mods, operands: &[Operand]) -> Self {
        Inst {
            kind: InstKind::Machine,
            opcode,
            flags: InstFlags::empty(),
            mods,
            guard: Operand::pt(),
            operands: SmallVec::from_slice(operands),
            control: Control::NONE,
            loc: PackedOption::default(),
            call: PackedOption::default(),
        }
    }

    /// A mark that `dst`, a register or piece of one, has some value from here on.
    pub fn undef(dst: Operand) -> Self {
        Inst { kind: InstKind::Undef, ..Inst::new(Opcode::NOP, Mods::new(), &[dst]) }
    }

    /// A mark up to which registers, or pieces of some, keep what is in them.
    pub fn hold(held: &[Operand]) -> Self {
        Inst { kind: InstKind::Hold, ..Inst::new(Opcode::NOP, Mods::new(), held) }
    }

    /// A MovPhi without inputs yet.
    pub fn phi(dst: Operand) -> Self {
        Inst { kind: InstKind::Phi, ..Inst::new(Opcode::NOP, Mods::new(), &[dst]) }
    }

    /// The guard, or `None` where the instruction always executes.
    #[inline]
    pub fn guard(&self) -> Option<Guard> {
        self.guard.as_guard().map(|(pred, negated)| Guard { pred, negated })
    }

    /// Whether some threads may keep the old values of what it writes: it has a guard, or it is a load of tensor
    /// memory for the upper half of the warp. (That for the lower half comes first and counts as one for all.)
    #[inline]
    pub fn writes_partly(&self) -> bool {
        let upper_half = matches!(self.opcode, Opcode::LDTM | Opcode::LDTM_STAT)
            && self.get(Field::TM_SHAPE) == TmShape::DP16B32_HIGH;
        self.guard().is_some() || upper_half
    }

    /// Set or remove the guard.
    pub fn set_guard(&mut self, guard: Option<Guard>) {
        self.guard = guard.map_or(Operand::pt(), |g| Operand::guard(g.pred, g.negated));
    }

    /// The guard as a packed operand (`PT` when there is none).
    #[inline]
    pub fn guard_operand(&self) -> Operand {
        self.guard
    }

    /// The same instruction with a guard.
    pub fn guarded(mut self, guard: Option<Guard>) -> Self {
        self.set_guard(guard);
        self
    }

    /// The value of a modifier field, or the opcode's default where it is not given.
    #[inline]
    pub fn get<V: FieldType>(&self, field: Field<V>) -> V {
        V::from_code(self.raw(field.id()))
    }

    /// The code of the value of `field`, or of the opcode's default where it is not given.
    #[inline]
    pub fn raw(&self, field: FieldId) -> u8 {
        self.mods.raw(field).unwrap_or_else(|| self.opcode.default_code(field))
    }

    /// The settings that differ from the opcode's defaults, in field order: those of instructions that do the same are the same,
    /// whichever were given in words.
    pub fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        self.mods.iter().filter(|setting| setting.code() != self.opcode.default_code(setting.field()))
    }

    /// Registers that operand `i` occupies, counted in registers of its file; 0 for an operand that
    /// the signature lacks, and of what is no instruction of the machine.
    #[inline]
    pub fn width(&self, i: usize) -> u8 {
        if !self.is_machine() {
            return 0;
        }
        self.opcode.signature().get(i).map_or(0, |spec| spec.width.of(|field| self.raw(field)))
    }

    /// Set the operand with that role; opcodes whose signature lacks it stay as they are.
    pub fn set_role(&mut self, role: Role, operand: Operand) {
        if let Some(at) = self.position(role) {
            self.operands[at] = operand;
        }
    }

    /// Where the operand with that role stands. What is no instruction of the machine has no roles: the opcode of a mark says
    /// nothing of the operands that it has.
    #[inline]
    pub fn position(&self, role: Role) -> Option<usize> {
        self.opcode.position(role).filter(|_| self.is_machine())
    }

    /// The operand with that role; none for what is no instruction of the machine.
    #[inline]
    pub fn operand(&self, role: Role) -> Option<Operand> {
        self.operands.get(self.position(role)?).copied()
    }

    /// Whether it reads a special register that does not change while a thread runs.
    pub fn reads_constant_register(&self, arch: Arch) -> bool {
        let constant =
            |kind| matches!(kind, OperandKind::Special(number) if special_registers::is_constant(number, arch));
        matches!(self.opcode, Opcode::S2R | Opcode::CS2R)
            && self.operands.get(1).is_some_and(|operand| constant(operand.kind()))
    }

    /// Whether it always happens, and gives the same for the same operands wherever it stands: it only computes, or reads a
    /// constant bank or a special register that does not change.
    pub fn depends_on_operands_alone(&self, arch: Arch) -> bool {
        let computes = self.opcode.info().effects == Effects::NONE && self.opcode != Opcode::LEPC;
        (computes || self.opcode == Opcode::LDC || self.reads_constant_register(arch))
            && self.guard().is_none()
            && self.call.is_none()
            && !self.flags.contains(InstFlags::VOLATILE)
    }

    /// Whether it is a MovPhi.
    #[inline]
    pub fn is_phi(&self) -> bool {
        self.kind == InstKind::Phi
    }

    /// Whether it marks an undefined value.
    #[inline]
    pub fn is_undef(&self) -> bool {
        self.kind == InstKind::Undef
    }

    /// Whether it holds registers.
    #[inline]
    pub fn is_hold(&self) -> bool {
        self.kind == InstKind::Hold
    }

    /// Whether it is an instruction of the machine.
    #[inline]
    pub fn is_machine(&self) -> bool {
        self.kind == InstKind::Machine
    }

    /// The operands that are written: bit `i` for operand `i`. No signature has 32 places.
    #[inline]
    pub(crate) fn writes(&self) -> u32 {
        match self.kind {
            InstKind::Machine => self.opcode.destinations(),
            InstKind::Phi | InstKind::Undef => 1,
            InstKind::Hold => 0,
        }
    }

    /// The operands that are read; bit 31 stands for all from there on.
    #[inline]
    pub(crate) fn reads(&self) -> u32 {
        match self.kind {
            InstKind::Machine => !self.opcode.destinations() | self.opcode.sources(),
            InstKind::Phi | InstKind::Undef => !1,
            InstKind::Hold => !0,
        }
    }

    /// Whether it clears a convergence barrier and nothing gets what was in it (`BMOV.32.CLEAR RZ, Bn`).
    pub fn discards(&self) -> bool {
        let clears = self.is_machine() && self.opcode == Opcode::BMOV && self.get(Field::CLEAR);
        clears && self.operand(Role::D).is_some_and(|to| to.is_zero())
    }

    /// Whether operand `index` is written.
    #[inline]
    pub fn is_def(&self, index: usize) -> bool {
        index < 32 && self.writes() >> index & 1 == 1
    }

    /// In SSA form, what stays where a partial write does not happen: an operand for each that the signature writes,
    /// in its order (absent where that is no value). Empty otherwise.
    #[inline]
    pub fn olds(&self) -> &[Operand] {
        match self.kind {
            InstKind::Machine => self.operands.get(self.opcode.operand_count()..).unwrap_or(&[]),
            InstKind::Phi | InstKind::Undef | InstKind::Hold => &[],
        }
    }

    /// Forget the old values: the write happens in full.
    pub fn drop_olds(&mut self) {
        self.operands.truncate(self.opcode.operand_count());
    }

    /// Whether operand `index` is read. BREAK reads the barrier register that it changes.
    #[inline]
    pub fn is_use(&self, index: usize) -> bool {
        self.reads() >> index.min(31) & 1 == 1
    }

    /// The operands that are read, with their positions (not the guard).
    #[inline]
    pub fn uses(&self) -> impl Iterator<Item = (usize, Operand)> + '_ {
        let reads = self.reads();
        self.operands.iter().copied().enumerate().filter(move |(i, _)| reads >> (*i).min(31) & 1 == 1)
    }

    /// The operands that are written, with their positions.
    #[inline]
    pub fn defs(&self) -> impl Iterator<Item = (usize, Operand)> + '_ {
        let mut writes = self.writes();
        std::iter::from_fn(move || {
            if writes == 0 {
                return None;
            }
            let at = writes.trailing_zeros() as usize;
            writes &= writes - 1;
            Some((at, *self.operands.get(at)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_isa::RegFile;

    /// The opcode of a mark, a MovPhi and a hold is NOP, which has a predicate: their registers are none.
    #[test]
    fn what_is_no_instruction_of_the_machine_has_no_roles() {
        let register = Operand::reg(VReg::from_u32(3));
        for inst in [Inst::undef(register), Inst::phi(register), Inst::hold(&[register, register])] {
            for role in [Role::D, Role::A, Role::PA] {
                assert_eq!((inst.position(role), inst.operand(role)), (None, None), "{inst:?}");
            }
            assert_eq!(inst.width(0), 0, "{inst:?}");
            let mut changed = inst.clone();
            changed.set_role(Role::PA, Operand::pt());
            assert_eq!(changed, inst);
        }
        assert_eq!(Inst::neutral(Opcode::NOP, Mods::new()).operand(Role::PA), Some(Operand::pt()));
    }

    /// No instruction of the machine reads what is undefined.
    #[test]
    fn a_copy_of_what_is_undefined_is_a_mark() {
        let register = Operand::reg(VReg::from_u32(3));
        for file in [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP] {
            assert_eq!(Inst::copy(file, register, Operand::undef()), Inst::undef(register));
        }
    }

    /// Where the guard is false the old value stays: what is read then is not what the operands give.
    #[test]
    fn a_guarded_instruction_does_not_depend_on_operands_alone() {
        let unguarded = Inst::neutral(Opcode::MOV, Mods::default());
        let guarded = unguarded.clone().guarded(Some(Guard { pred: VReg::from_u32(0), negated: false }));
        assert!(unguarded.depends_on_operands_alone(Arch::Sm80));
        assert!(!guarded.depends_on_operands_alone(Arch::Sm80));
    }
}
