//! Opcodes, their signatures, fields and facts. The data comes from `spec/*.isa`.

use crate::latency::LatencyClass;
use crate::{Arch, FieldId, Operand, OperandFlags, RegFile, Value};

include!(concat!(env!("OUT_DIR"), "/names.rs"));

/// A set of the kinds of thing that an operand may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u16);

impl Kinds {
    /// Nothing.
    pub const EMPTY: Kinds = Kinds(0);
    /// The operand may be absent ([`Value::None`]).
    pub const NONE: Kinds = Kinds(1 << 0);
    /// A general register.
    pub const R: Kinds = Kinds(1 << 1);
    /// A uniform register.
    pub const UR: Kinds = Kinds(1 << 2);
    /// A predicate.
    pub const P: Kinds = Kinds(1 << 3);
    /// A uniform predicate.
    pub const UP: Kinds = Kinds(1 << 4);
    /// A convergence barrier.
    pub const B: Kinds = Kinds(1 << 5);
    /// A scoreboard.
    pub const SB: Kinds = Kinds(1 << 6);
    /// An immediate.
    pub const IMM: Kinds = Kinds(1 << 7);
    /// A constant bank `c[bank][offset]`.
    pub const CONST: Kinds = Kinds(1 << 8);
    /// A bindless constant bank `cx[UR][offset]`.
    pub const CONST_BINDLESS: Kinds = Kinds(1 << 9);
    /// A special register.
    pub const SPECIAL: Kinds = Kinds(1 << 10);
    /// A code address.
    pub const LABEL: Kinds = Kinds(1 << 11);

    /// Union.
    pub const fn with(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// Every kind of `other` is in this set.
    #[inline]
    pub const fn contains(self, other: Kinds) -> bool {
        self.0 & other.0 == other.0
    }

    /// No kind is in both.
    pub const fn is_disjoint(self, other: Kinds) -> bool {
        self.0 & other.0 == 0
    }

    /// A number below 16 for the kind of `value`.
    pub(crate) const fn code(value: Value) -> u64 {
        Kinds::of(value).0.trailing_zeros() as u64
    }

    /// The set that holds just the kind of `value`.
    pub const fn of(value: Value) -> Kinds {
        match value {
            Value::None => Kinds::NONE,
            Value::Reg(file, _) => Kinds::of_file(file),
            Value::Imm(_) => Kinds::IMM,
            Value::Const { .. } => Kinds::CONST,
            Value::ConstBindless { .. } => Kinds::CONST_BINDLESS,
            Value::Special(_) => Kinds::SPECIAL,
            Value::Label(_) => Kinds::LABEL,
        }
    }

    /// The set that holds just the registers of `file`.
    pub const fn of_file(file: RegFile) -> Kinds {
        match file {
            RegFile::R => Kinds::R,
            RegFile::UR => Kinds::UR,
            RegFile::P => Kinds::P,
            RegFile::UP => Kinds::UP,
            RegFile::B => Kinds::B,
            RegFile::SB => Kinds::SB,
        }
    }
}

/// How many registers an operand occupies, in registers of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Always the same.
    Fixed(u8),
    /// It depends on modifiers.
    By {
        /// In order: of those that say what the width is, the first that has a case decides, with what was
        /// added before it; then the factors.
        rules: &'static [WidthRule],
        /// Width where none decides, without what is added.
        otherwise: u8,
    },
}

/// How a modifier changes the width of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WidthRule {
    /// The modifier.
    pub field: FieldId,
    /// What its numbers do.
    pub step: WidthStep,
    /// Numbers at the values that are not ordinary.
    pub cases: &'static [(u8, u8)],
}

/// What the number of a width rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WidthStep {
    /// It is the width, unless an earlier rule decided.
    Is,
    /// It is added to what later rules say.
    Add,
    /// The width is multiplied with it.
    Multiply,
    /// The width is divided by it; a register that is filled in part counts.
    Divide,
}

impl Width {
    /// The width where the modifiers have these values.
    #[inline]
    pub fn of(&self, value: impl Fn(FieldId) -> u8) -> u8 {
        match self {
            Width::Fixed(width) => *width,
            Width::By { rules, otherwise } => Width::by_rules(rules, *otherwise, value),
        }
    }

    fn by_rules(rules: &[WidthRule], otherwise: u8, value: impl Fn(FieldId) -> u8) -> u8 {
        let cases = rules.iter().filter_map(|rule| {
            let now = value(rule.field);
            rule.cases.iter().find(|(v, _)| *v == now).map(|(_, number)| (rule.step, *number))
        });
        let (mut width, mut added, mut decided, mut scales) = (otherwise, 0, false, false);
        for (step, number) in cases.clone() {
            match step {
                WidthStep::Is if !decided => (width, decided) = (number, true),
                WidthStep::Add if !decided => added += number,
                WidthStep::Is | WidthStep::Add => {}
                WidthStep::Multiply | WidthStep::Divide => scales = true,
            }
        }
        if !scales {
            return width + added;
        }
        cases.fold(width + added, |width, (step, number)| match step {
            WidthStep::Multiply => width.saturating_mul(number),
            WidthStep::Divide => width.div_ceil(number.max(1)),
            WidthStep::Is | WidthStep::Add => width,
        })
    }
}

/// How an operand's immediate is printed, and its width in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImmFormat {
    /// Hexadecimal with a sign.
    Signed(u8),
    /// Hexadecimal, unsigned.
    Unsigned(u8),
    /// A single.
    F32,
    /// A double.
    F64,
    /// Two halves, f16 or bf16 as the instruction's format says.
    Half,
    /// The two signs of each of four lanes, such as `ZPZPPPPP`; two bits a lane.
    Swizzle,
}

/// One operand of a signature.
#[derive(Clone, Copy, Debug)]
pub struct OperandSpec {
    /// What it is to the instruction.
    pub role: Role,
    /// What it may be, over all forms; whether a combination exists is [`crate::legal`]'s answer.
    pub kinds: Kinds,
    /// The instruction writes it.
    pub is_def: bool,
    /// Flags that some form has for it (`.reuse` apart, which follows from the slot).
    pub flags: OperandFlags,
    /// Registers that it occupies.
    pub width: Width,
    /// How its immediate is printed (meaningless where `kinds` has none).
    pub imm: ImmFormat,
    /// The operand that means "nothing", for operands that may be left out.
    pub neutral: Option<Operand>,
}

/// What an instruction does besides computing its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Effects(u8);

impl Effects {
    /// Nothing else.
    pub const NONE: Effects = Effects(0);
    /// It reads memory that others may write.
    pub const READS_MEMORY: Effects = Effects(1);
    /// It writes memory.
    pub const WRITES_MEMORY: Effects = Effects(2);
    /// Its result depends on which threads of the warp execute it together.
    pub const CONVERGENT: Effects = Effects(4);
    /// It may change the program counter.
    pub const BRANCH: Effects = Effects(8);
    /// It must not be removed, repeated or reordered with others that have this effect.
    pub const SIDE_EFFECT: Effects = Effects(16);
    /// Its result may differ each time (clocks, counters).
    pub const VOLATILE: Effects = Effects(32);

    /// It may stop the kernel by itself (breakpoints, traps).
    pub const TRAP: Effects = Effects(64);
    /// Done twice in a row with the same operands it leaves what it leaves when it is done once, where nobody reads its results. A copy
    /// that counts its bytes at an mbarrier is none, which its modifiers tell.
    pub const IDEMPOTENT: Effects = Effects(128);

    /// What an instruction stays for whose results nobody reads.
    pub const WANTED: Effects =
        Effects::WRITES_MEMORY.with(Effects::CONVERGENT).with(Effects::BRANCH).with(Effects::SIDE_EFFECT);

    /// Union.
    pub const fn with(self, other: Effects) -> Effects {
        Effects(self.0 | other.0)
    }

    /// Whether it has one of the effects of `others`.
    #[inline]
    pub const fn intersects(self, others: Effects) -> bool {
        self.0 & others.0 != 0
    }

    /// It may end the kernel: any access to memory may fault.
    pub const fn can_trap(self) -> bool {
        self.0 & (Effects::READS_MEMORY.0 | Effects::WRITES_MEMORY.0 | Effects::TRAP.0) != 0
    }

    /// Every effect of `other` is in this set.
    #[inline]
    pub const fn contains(self, other: Effects) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What the spec says of one opcode.
#[derive(Clone, Copy, Debug)]
pub struct OpcodeInfo {
    /// One line of meaning.
    pub meaning: &'static str,
    /// The family: the chapter of the manual.
    pub family: Family,
    /// The execution pipe.
    pub pipe: Pipe,
    /// Its class in the latency tables.
    pub latency: LatencyClass,
    /// What it does besides computing.
    pub effects: Effects,
    /// Its counterpart in the uniform datapath.
    pub uniform: Option<Opcode>,
    /// Its guard is a uniform predicate.
    pub guard_uniform: bool,
    /// It has no guard: the bits of one are zero.
    pub unguarded: bool,
    /// Only the architecture-specific variants of its targets (`sm_90a`) have it.
    pub specific: bool,
    number: Option<u16>,
    category: Option<(u16, u16)>,
    targets: u32,
    rot13: &'static str,
    signature: &'static [OperandSpec],
    fields: &'static [(FieldId, u8)],
}

/// What an instruction does with a box of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorCopy {
    /// Copies it from global to shared memory.
    Load,
    /// Copies it from shared to global memory.
    Store,
    /// Combines it in global memory with what is in shared memory.
    Reduce,
    /// Brings it into the second-level cache.
    Prefetch,
}

impl Opcode {
    /// Everything that the spec says of it.
    #[inline]
    pub fn info(self) -> &'static OpcodeInfo {
        &INFO[self as usize]
    }

    /// It is a product of a warpgroup: it goes on after its issue, until `WARPGROUP.DEPBAR` says that it is done.
    #[inline]
    pub fn is_warpgroup_product(self) -> bool {
        self.info().latency == LatencyClass::Gmma
    }

    /// What it does with a box of a tensor, if that is what it copies: with or without the tensor's shape in operands.
    #[inline]
    pub fn tensor_copy(self) -> Option<TensorCopy> {
        Some(match self {
            Opcode::UTMALDG | Opcode::UTMALDG_RESHAPED => TensorCopy::Load,
            Opcode::UTMASTG | Opcode::UTMASTG_RESHAPED => TensorCopy::Store,
            Opcode::UTMAREDG | Opcode::UTMAREDG_RESHAPED => TensorCopy::Reduce,
            Opcode::UTMAPF | Opcode::UTMAPF_RESHAPED => TensorCopy::Prefetch,
            _ => return None,
        })
    }

    /// It reads shared memory by the asynchronous proxy, on its own way to memory: copies in bulk out of it.
    #[inline]
    pub fn copies_from_shared(self) -> bool {
        let copies_box = matches!(self.tensor_copy(), Some(TensorCopy::Store | TensorCopy::Reduce));
        copies_box || matches!(self, Opcode::UBLKCP | Opcode::UBLKRED)
    }

    /// Its operands, the same on every target.
    #[inline]
    pub fn signature(self) -> &'static [OperandSpec] {
        self.info().signature
    }

    /// Its modifier fields with their default values, in field order.
    #[inline]
    pub fn fields(self) -> &'static [(FieldId, u8)] {
        self.info().fields
    }

    /// It has the modifier field.
    pub fn has_field(self, field: impl Into<FieldId>) -> bool {
        let field = field.into();
        self.fields().iter().any(|(of_opcode, _)| *of_opcode == field)
    }

    /// The code of the value that `field` has where it is not given; 0 for a field that the opcode lacks.
    pub fn default_code(self, field: FieldId) -> u8 {
        self.fields().iter().find(|(f, _)| *f == field).map_or(0, |(_, v)| *v)
    }

    /// The opcode of that mnemonic.
    pub fn from_name(name: &str) -> Option<Opcode> {
        Opcode::NAMES.binary_search(&name).ok().map(|at| Opcode::ALL[at])
    }

    /// The opcode whose [`Opcode::rot13_name`] this is.
    pub fn from_rot13(name: &str) -> Option<Opcode> {
        Opcode::ALL.into_iter().find(|opcode| opcode.rot13_name() == name)
    }

    /// The mnemonic as the published opcode table spells it, letters turned by 13.
    pub fn rot13_name(self) -> &'static str {
        self.info().rot13
    }

    /// Its number in the published Ori opcode table, where that is known.
    pub fn ori_number(self) -> Option<u16> {
        self.info().number
    }

    /// First and last number of its published encoding categories, which choose the format of the word
    /// in the published register model (the numbers run from 0 to 542), where that gives them.
    pub fn category(self) -> Option<(u16, u16)> {
        self.info().category
    }

    /// The target has the instruction: some form of it.
    pub fn exists_on(self, arch: Arch) -> bool {
        arch.is_in(self.info().targets)
    }

    /// Position of the operand with that role in the signature.
    #[inline]
    pub fn position(self, role: Role) -> Option<usize> {
        self.signature().iter().position(|o| o.role == role)
    }
}
