//! Packed operands: 8 bytes each, behind a typed API. The layout is nobody else's business; how the published listing
//! packs operands stands in [`crate::published::operand_words`].
//!
//! Word 0: index in bits 0–19, modifiers in bits 20–27, type in bits 28–30, sign in bit 31.
//! Word 1: auxiliary data in bits 0–23, constant-bank flag in bit 24, `.reuse` in bit 25, absolute
//! value in bit 26, inversion in bit 27. Types:
//!
//! | type | operand | index | modifiers | word 1 |
//! |---|---|---|---|---|
//! | 0 | none: the form lacks it | 0 | 0 | 0 |
//! | 1 | virtual register | register | bit 24: the piece is a pair | aux 0–7 first component, 8–15 how many (0: the whole register) |
//! | 2 | immediate | 0 | 20–21 kind, 22 absolute, 23 inverted | the 32-bit value |
//! | 3 | physical register | number | 20–22 file, bit 24: a pair | aux 8–15 how many registers |
//! | 4 | block | block | 0 | 0 |
//! | 5 | constant `c[b][o]` (CB flag) | byte offset | 0 | aux: bank |
//! | 5 | constant `cx[UR][o]` (CB flag) | virtual register | bit 20 | aux: byte offset |
//! | 5 | symbol reference | pool entry | 0 | 0 |
//! | 6 | special | see [`OperandKind`] | 20–23 which | guard: aux bit 0 is the sense |
//! | 7 | tuple of values | how many | 0 | aux: place of the first in [`crate::Function`]'s pool |
//!
//! Bit 31 negates every type.

use crate::entity::{Block, SymRef, VReg};
use cranelift_entity::EntityRef;
use oriole_isa::RegFile;

/// Registers, blocks and pool entries that one function may have: the index has 20 bits.
pub const MAX_INDEX: usize = 1 << 20;

const INDEX_MASK: u32 = 0xf_ffff;
const TYPE_SHIFT: u32 = 28;
const SIGN: u32 = 1 << 31;
const MOD_SHIFT: u32 = 20;
const PAIR_EXTENSION: u32 = 1 << 24;
const AUX_MASK: u32 = 0xff_ffff;
const CONST_BANK: u32 = 1 << 24;
const REUSE: u32 = 1 << 25;
const ABS: u32 = 1 << 26;
const NOT: u32 = 1 << 27;
const IMM_ABS: u32 = 1 << 22;
const IMM_NOT: u32 = 1 << 23;
const BINDLESS: u32 = 1 << 20;
const GUARD_NEGATED: u32 = 1;

/// The type field of a packed operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Tag {
    None = 0,
    Reg = 1,
    Imm = 2,
    Phys = 3,
    Block = 4,
    Const = 5,
    Special = 6,
    Tuple = 7,
}

const TAGS: [Tag; 8] = [Tag::None, Tag::Reg, Tag::Imm, Tag::Phys, Tag::Block, Tag::Const, Tag::Special, Tag::Tuple];

/// The kinds of special operand, in modifier bits 20–23.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum SpecialTag {
    Rz = 0,
    Urz = 1,
    Pt = 2,
    Upt = 3,
    Register = 4,
    Guard = 5,
    Scoreboard = 6,
    Undef = 7,
}

const SPECIAL_TAGS: [SpecialTag; 8] = [
    SpecialTag::Rz,
    SpecialTag::Urz,
    SpecialTag::Pt,
    SpecialTag::Upt,
    SpecialTag::Register,
    SpecialTag::Guard,
    SpecialTag::Scoreboard,
    SpecialTag::Undef,
];

const FILES: [RegFile; 6] = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP, RegFile::B, RegFile::SB];

/// How the 32 bits of an immediate become a 64-bit value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum ImmKind {
    /// Zero-extended: integers, 32-bit floats, bit patterns.
    Bits = 0,
    /// Sign-extended: address offsets and other signed fields.
    Signed = 1,
    /// The upper word of a 64-bit float whose lower word is zero.
    High = 2,
}

/// A piece of a virtual register: `count` components from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// First 32-bit component.
    pub first: u8,
    /// How many; 0 means the whole register.
    pub count: u8,
}

impl Piece {
    /// The whole register.
    pub const WHOLE: Piece = Piece { first: 0, count: 0 };

    /// The components it covers in a register of `components` components.
    #[inline]
    pub fn range(self, components: u8) -> std::ops::Range<u8> {
        if self.count == 0 { 0..components } else { self.first..self.first.saturating_add(self.count) }
    }
}

/// Values that stand side by side in a wide operand: an entry of the function's pool ([`crate::Function::tuple`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TupleRef {
    /// Place of the first value in the pool.
    pub(crate) start: u32,
    /// How many 32-bit values, at least two.
    pub(crate) len: u8,
}

impl TupleRef {
    /// How many 32-bit values.
    pub fn len(self) -> usize {
        usize::from(self.len)
    }

    /// Never: a tuple has at least two values.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// What an operand is; `match operand.kind()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// The form of the instruction lacks this operand of the signature.
    None,
    /// A virtual register, or a piece of a wide one.
    Reg(VReg, Piece),
    /// Several values, which allocation puts side by side (SSA form).
    Tuple(TupleRef),
    /// Some value, whichever: an input of a MovPhi, or what a register held before a guarded write (SSA form).
    Undef,
    /// An immediate of 32 bits.
    Imm(u32, ImmKind),
    /// A physical register: `number` and the `count - 1` after it. For registers that no allocator
    /// gives (R1, ABI scratch) and for code written after allocation.
    Phys {
        /// The register file.
        file: RegFile,
        /// Number of the first register.
        number: u16,
        /// How many consecutive registers.
        count: u8,
    },
    /// A block of this function, as a branch or BSSY target.
    Block(Block),
    /// `c[bank][offset]`.
    Const {
        /// Constant bank, 0–31.
        bank: u8,
        /// Byte offset.
        offset: u32,
    },
    /// `cx[UR][offset]`: a bindless constant bank.
    ConstBindless {
        /// The uniform register pair that holds the bank's handle.
        handle: VReg,
        /// Byte offset.
        offset: u32,
    },
    /// A reference to a symbol: an entry of [`crate::Function::symbol_refs`].
    Symbol(SymRef),
    /// `RZ`.
    Rz,
    /// `URZ`.
    Urz,
    /// `PT`.
    Pt,
    /// `UPT`.
    Upt,
    /// A special register by number, for S2R and CS2R.
    Special(u8),
    /// A scoreboard `SBn`, for DEPBAR.
    Scoreboard(u8),
    /// A guard predicate; only in an instruction's guard slot.
    Guard {
        /// The predicate.
        pred: VReg,
        /// Execute where the predicate is false.
        negated: bool,
    },
}

/// A packed operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C)]
pub struct Operand {
    words: [u32; 2],
}

impl Operand {
    /// The operand that a form lacks.
    pub const NONE: Operand = Operand { words: [0, 0] };

    const fn pack(tag: Tag, index: u32, modifiers: u32, word1: u32) -> Self {
        Operand { words: [((tag as u32) << TYPE_SHIFT) | modifiers | (index & INDEX_MASK), word1] }
    }

    const fn special_of(tag: SpecialTag, index: u32, aux: u32) -> Self {
        Operand::pack(Tag::Special, index, (tag as u32) << MOD_SHIFT, aux)
    }

    /// A whole virtual register.
    #[inline]
    pub fn reg(reg: VReg) -> Self {
        Operand::pack(Tag::Reg, reg.as_u32(), 0, 0)
    }

    /// Components `first .. first + count` of a wide register.
    pub fn piece(reg: VReg, first: u8, count: u8) -> Self {
        let extension = if count == 2 { PAIR_EXTENSION } else { 0 };
        Operand::pack(Tag::Reg, reg.as_u32(), extension, u32::from(first) | u32::from(count) << 8)
    }

    /// Component `k` of a wide register.
    pub fn comp(reg: VReg, k: u8) -> Self {
        Operand::piece(reg, k, 1)
    }

    /// The low half of a pair.
    pub fn lo(reg: VReg) -> Self {
        Operand::comp(reg, 0)
    }

    /// The high half of a pair.
    pub fn hi(reg: VReg) -> Self {
        Operand::comp(reg, 1)
    }

    /// A 32-bit immediate: an integer, a float's bits, a bit pattern.
    pub const fn imm(bits: u32) -> Self {
        Operand::imm_of(bits, ImmKind::Bits)
    }

    /// A signed immediate, for address offsets.
    pub const fn imm_signed(value: i32) -> Self {
        Operand::imm_of(value as u32, ImmKind::Signed)
    }

    /// The upper word of a 64-bit float whose lower word is zero.
    pub const fn imm_high(upper: u32) -> Self {
        Operand::imm_of(upper, ImmKind::High)
    }

    /// An immediate of a given kind.
    pub const fn imm_of(bits: u32, kind: ImmKind) -> Self {
        Operand::pack(Tag::Imm, 0, (kind as u32) << MOD_SHIFT, bits)
    }

    /// Several values side by side.
    pub(crate) const fn tuple(tuple: TupleRef) -> Self {
        Operand::pack(Tag::Tuple, tuple.len as u32, 0, tuple.start & AUX_MASK)
    }

    /// Some value, whichever.
    pub const fn undef() -> Self {
        Operand::special_of(SpecialTag::Undef, 0, 0)
    }

    /// One physical register.
    pub fn phys(file: RegFile, number: u16) -> Self {
        Operand::phys_group(file, number, 1)
    }

    /// `count` consecutive physical registers.
    pub fn phys_group(file: RegFile, number: u16, count: u8) -> Self {
        let extension = if count == 2 { PAIR_EXTENSION } else { 0 };
        let modifiers = (file as u32) << MOD_SHIFT | extension;
        Operand::pack(Tag::Phys, u32::from(number), modifiers, u32::from(count) << 8)
    }

    /// A block.
    pub fn block(block: Block) -> Self {
        Operand::pack(Tag::Block, block.as_u32(), 0, 0)
    }

    /// `c[bank][offset]`; `offset` in bytes, below 2^20.
    pub const fn cbank(bank: u8, offset: u32) -> Self {
        Operand::pack(Tag::Const, offset, 0, CONST_BANK | bank as u32)
    }

    /// `cx[handle][offset]`.
    pub fn cbank_bindless(handle: VReg, offset: u32) -> Self {
        Operand::pack(Tag::Const, handle.as_u32(), BINDLESS, CONST_BANK | (offset & AUX_MASK))
    }

    /// A symbol reference of the function's pool.
    pub fn symbol(reference: SymRef) -> Self {
        Operand::pack(Tag::Const, reference.as_u32(), 0, 0)
    }

    /// The zero register `RZ`.
    pub const fn rz() -> Self {
        Operand::special_of(SpecialTag::Rz, 0, 0)
    }

    /// The uniform zero register `URZ`.
    pub const fn urz() -> Self {
        Operand::special_of(SpecialTag::Urz, 0, 0)
    }

    /// The true predicate `PT`.
    pub const fn pt() -> Self {
        Operand::special_of(SpecialTag::Pt, 0, 0)
    }

    /// The uniform true predicate `UPT`.
    pub const fn upt() -> Self {
        Operand::special_of(SpecialTag::Upt, 0, 0)
    }

    /// A special register by number.
    pub const fn special(number: u8) -> Self {
        Operand::special_of(SpecialTag::Register, number as u32, 0)
    }

    /// A scoreboard `SBn`.
    pub const fn scoreboard(number: u8) -> Self {
        Operand::special_of(SpecialTag::Scoreboard, number as u32, 0)
    }

    /// A guard predicate.
    pub fn guard(pred: VReg, negated: bool) -> Self {
        Operand::special_of(SpecialTag::Guard, pred.as_u32(), u32::from(negated) * GUARD_NEGATED)
    }

    #[inline]
    fn is_tag(self, tag: Tag) -> bool {
        self.words[0] >> TYPE_SHIFT & 7 == tag as u32
    }

    #[inline]
    fn is_special(self, tag: SpecialTag) -> bool {
        self.is_tag(Tag::Special) && self.mods() & 15 == tag as u32
    }

    #[inline]
    fn tag(self) -> Tag {
        TAGS[(self.words[0] >> TYPE_SHIFT & 7) as usize]
    }

    #[inline]
    fn index(self) -> usize {
        (self.words[0] & INDEX_MASK) as usize
    }

    #[inline]
    fn mods(self) -> u32 {
        self.words[0] >> MOD_SHIFT & 0xff
    }

    #[inline]
    fn aux(self) -> u32 {
        self.words[1] & AUX_MASK
    }

    /// What it is, without flags. Words that mean nothing read as [`OperandKind::None`].
    #[inline(always)]
    pub fn kind(self) -> OperandKind {
        match self.tag() {
            Tag::None => OperandKind::None,
            Tag::Tuple => OperandKind::Tuple(TupleRef { start: self.aux(), len: self.index() as u8 }),
            Tag::Reg => {
                let piece = Piece { first: self.aux() as u8, count: (self.aux() >> 8) as u8 };
                OperandKind::Reg(VReg::new(self.index()), piece)
            }
            Tag::Imm => OperandKind::Imm(self.words[1], self.imm_kind()),
            Tag::Phys => OperandKind::Phys {
                file: FILES[(self.mods() as usize & 7).min(FILES.len() - 1)],
                number: self.index() as u16,
                count: (self.aux() >> 8) as u8,
            },
            Tag::Block => OperandKind::Block(Block::new(self.index())),
            Tag::Const => self.const_kind(),
            Tag::Special => self.special_kind(),
        }
    }

    #[inline(always)]
    fn imm_kind(self) -> ImmKind {
        match self.mods() & 3 {
            0 => ImmKind::Bits,
            1 => ImmKind::Signed,
            _ => ImmKind::High,
        }
    }

    #[inline(always)]
    fn const_kind(self) -> OperandKind {
        if self.words[1] & CONST_BANK == 0 {
            OperandKind::Symbol(SymRef::new(self.index()))
        } else if self.words[0] & BINDLESS != 0 {
            OperandKind::ConstBindless { handle: VReg::new(self.index()), offset: self.aux() }
        } else {
            OperandKind::Const { bank: self.aux() as u8, offset: self.index() as u32 }
        }
    }

    #[inline(always)]
    fn special_kind(self) -> OperandKind {
        match SPECIAL_TAGS.get(self.mods() as usize & 15) {
            Some(SpecialTag::Rz) => OperandKind::Rz,
            Some(SpecialTag::Urz) => OperandKind::Urz,
            Some(SpecialTag::Pt) => OperandKind::Pt,
            Some(SpecialTag::Upt) => OperandKind::Upt,
            Some(SpecialTag::Register) => OperandKind::Special(self.index() as u8),
            Some(SpecialTag::Scoreboard) => OperandKind::Scoreboard(self.index() as u8),
            Some(SpecialTag::Undef) => OperandKind::Undef,
            Some(SpecialTag::Guard) => {
                OperandKind::Guard { pred: VReg::new(self.index()), negated: self.aux() & GUARD_NEGATED != 0 }
            }
            None => OperandKind::None,
        }
    }

    #[inline]
    fn toggled(mut self, word: usize, bit: u32, on: bool) -> Self {
        if on {
            self.words[word] |= bit;
        } else {
            self.words[word] &= !bit;
        }
        self
    }

    #[inline]
    fn flag_place(self, word1_bit: u32, imm_bit: u32) -> (usize, u32) {
        if self.is_tag(Tag::Imm) { (0, imm_bit) } else { (1, word1_bit) }
    }

    /// Negated; twice negated is as before.
    #[expect(clippy::should_implement_trait, reason = "chained on operands without importing a trait")]
    pub fn neg(self) -> Self {
        self.with_neg(!self.is_neg())
    }

    /// Its absolute value; a sign inside is lost, as `|-x|` is `|x|`.
    pub fn abs(self) -> Self {
        self.with_neg(false).with_abs(true)
    }

    /// Inverted (`!p`, `~x`); twice inverted is as before.
    #[expect(clippy::should_implement_trait, reason = "chained on operands without importing a trait")]
    pub fn not(self) -> Self {
        self.with_not(!self.is_not())
    }

    /// With the sign flag as given.
    #[inline]
    pub fn with_neg(self, on: bool) -> Self {
        self.toggled(0, SIGN, on)
    }

    /// With the absolute-value flag as given.
    #[inline]
    pub fn with_abs(self, on: bool) -> Self {
        let (word, bit) = self.flag_place(ABS, IMM_ABS);
        self.toggled(word, bit, on)
    }

    /// With the inversion flag as given.
    #[inline]
    pub fn with_not(self, on: bool) -> Self {
        let (word, bit) = self.flag_place(NOT, IMM_NOT);
        self.toggled(word, bit, on)
    }

    /// With the `.reuse` flag as given; only registers take it, other operands stay as they are.
    #[inline]
    pub fn with_reuse(self, on: bool) -> Self {
        match self.tag() {
            Tag::Reg | Tag::Phys => self.toggled(1, REUSE, on),
            _ => self,
        }
    }

    /// Whether it is negated.
    #[inline]
    pub fn is_neg(self) -> bool {
        self.words[0] & SIGN != 0
    }

    /// Whether the absolute value is taken.
    #[inline]
    pub fn is_abs(self) -> bool {
        let (word, bit) = self.flag_place(ABS, IMM_ABS);
        self.words[word] & bit != 0
    }

    /// Whether it is inverted.
    #[inline]
    pub fn is_not(self) -> bool {
        let (word, bit) = self.flag_place(NOT, IMM_NOT);
        self.words[word] & bit != 0
    }

    /// Whether it carries `.reuse`.
    #[inline]
    pub fn is_reuse(self) -> bool {
        matches!(self.tag(), Tag::Reg | Tag::Phys) && self.words[1] & REUSE != 0
    }

    /// Whether any of negation, absolute value, inversion and reuse is set: what pattern matchers
    /// look at before they touch an operand.
    #[inline]
    pub fn has_flags(self) -> bool {
        // By tag: the bits of the words that are flags. They are looked at together.
        const FLAGS: [[u32; 2]; TAGS.len()] = {
            let mut flags = [[SIGN, ABS | NOT]; TAGS.len()];
            flags[Tag::Imm as usize] = [SIGN | IMM_ABS | IMM_NOT, 0];
            flags[Tag::Reg as usize][1] |= REUSE;
            flags[Tag::Phys as usize][1] |= REUSE;
            flags
        };
        let flags = FLAGS[(self.words[0] >> TYPE_SHIFT & 7) as usize];
        (self.words[0] & flags[0]) | (self.words[1] & flags[1]) != 0
    }

    /// The same operand without flags.
    #[inline]
    pub fn plain(self) -> Self {
        self.with_neg(false).with_abs(false).with_not(false).with_reuse(false)
    }

    /// `value` with this operand's negation, absolute value and inversion.
    #[inline]
    pub fn flags_onto(self, value: Operand) -> Operand {
        if !self.is_tag(Tag::Imm) && !value.is_tag(Tag::Imm) {
            const FLAGS: [u32; 2] = [SIGN, ABS | NOT];
            let word = |at: usize| value.words[at] & !FLAGS[at] | self.words[at] & FLAGS[at];
            return Operand { words: [word(0), word(1)] };
        }
        value.with_neg(self.is_neg()).with_abs(self.is_abs()).with_not(self.is_not())
    }

    /// Whether the form lacks it.
    #[inline]
    pub fn is_none(self) -> bool {
        self.is_tag(Tag::None)
    }

    /// Whether it is a virtual register, whole or a piece.
    #[inline]
    pub fn is_reg(self) -> bool {
        self.is_tag(Tag::Reg)
    }

    /// Whether it names a physical register.
    #[inline]
    pub fn is_physical(self) -> bool {
        self.is_tag(Tag::Phys)
    }

    /// Whether it names virtual registers, other than as a guard: [`OperandKind::Reg`], [`OperandKind::Tuple`] or
    /// [`OperandKind::ConstBindless`].
    #[inline]
    pub fn names_registers(self) -> bool {
        const NAMING: u32 = 1 << Tag::Reg as u32 | 1 << Tag::Tuple as u32;
        NAMING >> (self.words[0] >> TYPE_SHIFT & 7) & 1 == 1 || self.as_handle().is_some()
    }

    /// The register, if it is a virtual register (whole or piece).
    #[inline]
    pub fn as_reg(self) -> Option<VReg> {
        (self.is_tag(Tag::Reg)).then(|| VReg::new(self.index()))
    }

    /// The register and its piece, if it is a virtual register (whole or piece).
    #[inline]
    pub fn as_piece(self) -> Option<(VReg, Piece)> {
        let piece = Piece { first: self.aux() as u8, count: (self.aux() >> 8) as u8 };
        (self.is_tag(Tag::Reg)).then(|| (VReg::new(self.index()), piece))
    }

    /// The handle, if it is a bindless constant.
    #[inline]
    pub fn as_handle(self) -> Option<VReg> {
        let bindless = self.is_const_bank() && self.words[0] & BINDLESS != 0;
        bindless.then(|| VReg::new(self.index()))
    }

    /// The values, if it is a tuple of them.
    #[inline]
    pub fn as_tuple(self) -> Option<TupleRef> {
        (self.is_tag(Tag::Tuple)).then(|| TupleRef { start: self.aux(), len: self.index() as u8 })
    }

    /// The register, if it is a whole virtual register.
    #[inline]
    pub fn as_whole_reg(self) -> Option<VReg> {
        (self.is_tag(Tag::Reg) && self.aux() & 0xffff == 0).then(|| VReg::new(self.index()))
    }

    /// The 32 bits, if it is an immediate without flags.
    #[inline]
    pub fn as_imm(self) -> Option<u32> {
        (self.is_tag(Tag::Imm) && !self.has_flags()).then_some(self.words[1])
    }

    /// The predicate and whether it is negated, if it is a guard.
    #[inline]
    pub fn as_guard(self) -> Option<(VReg, bool)> {
        let negated = self.aux() & GUARD_NEGATED != 0;
        self.is_special(SpecialTag::Guard).then(|| (VReg::new(self.index()), negated))
    }

    /// The block, if it is one.
    #[inline]
    pub fn as_block(self) -> Option<Block> {
        (self.is_tag(Tag::Block)).then(|| Block::new(self.index()))
    }

    /// Whether it is `RZ`, `URZ` or an immediate zero.
    #[inline]
    pub fn is_zero(self) -> bool {
        self.is_special(SpecialTag::Rz) || self.is_special(SpecialTag::Urz) || self.as_imm() == Some(0)
    }

    /// Whether it references a constant bank (the CB flag).
    #[inline]
    pub fn is_const_bank(self) -> bool {
        self.is_tag(Tag::Const) && self.words[1] & CONST_BANK != 0
    }

    /// The same operand, a tuple, naming other values.
    pub(crate) fn with_tuple(self, to: TupleRef) -> Self {
        let tuple = Operand::tuple(to);
        let (sign, flags) = (self.words[0] & SIGN, self.words[1] & !AUX_MASK);
        Operand { words: [tuple.words[0] | sign, tuple.words[1] | flags] }
    }

    /// The same operand naming register `to` instead of its own (same piece, same flags).
    pub fn with_reg(self, to: VReg) -> Self {
        let has_reg =
            matches!(self.kind(), OperandKind::Reg(..) | OperandKind::ConstBindless { .. } | OperandKind::Guard { .. });
        if !has_reg {
            return self;
        }
        Operand { words: [(self.words[0] & !INDEX_MASK) | (to.as_u32() & INDEX_MASK), self.words[1]] }
    }
}

impl From<VReg> for Operand {
    fn from(reg: VReg) -> Self {
        Operand::reg(reg)
    }
}

impl From<Block> for Operand {
    fn from(block: Block) -> Self {
        Operand::block(block)
    }
}
