//! Which operands the common instructions take, as data.
//!
//! Source: the operand sections of the PTX manual's instruction pages and its
//! tables "Operand Types" and "Operand Size Exceeding Instruction-Type Size";
//! the compatibility rules are measured with ptxas 13.0.

use crate::ast::{Instruction, Opcode, ScalarType, TypeClass, Word};

/// What one operand must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// A register of the instruction's `n`-th type, of exactly its size.
    Dst(u8),
    /// The same for a result that may be wider than the type (`ld`, `cvt`).
    WideDst(u8),
    /// A register or constant of the `n`-th type, of exactly its size.
    Src(u8),
    /// The same for a source that may be wider than the type (`st`, `cvt`).
    WideSrc(u8),
    /// Result of twice the size of the type (`mul.wide`).
    DoubleDst,
    /// Source of twice the size of the type (`mad.wide`).
    DoubleSrc,
    /// 32-bit result, whatever the instruction's type (`popc`).
    Dst32,
    /// 32-bit source, whatever the instruction's type (shift amounts).
    Src32,
    /// Predicate result, or a pair of them.
    PredDst,
    /// Predicate source, perhaps complemented.
    PredSrc,
    /// An address in brackets.
    Address,
    /// Any operand at all.
    Any,
}

/// The operands of one instruction: `required` of `slots` must be present.
pub(super) struct Rule {
    pub(super) slots: &'static [Slot],
    pub(super) required: usize,
    /// How many types the opcode must carry for the rule to apply.
    pub(super) types: usize,
}

const fn rule(types: usize, slots: &'static [Slot]) -> Rule {
    Rule { slots, required: slots.len(), types }
}

const fn optional(types: usize, required: usize, slots: &'static [Slot]) -> Rule {
    Rule { slots, required, types }
}

/// The rule for an instruction, if its opcode is one of the common ones in
/// its common form.
pub(super) fn rule_for(instruction: &Instruction) -> Option<Rule> {
    use Opcode::*;
    use Slot::*;
    let wide = instruction.has(Word::Wide);
    let found = match instruction.opcode {
        Add | Sub | Addc | Subc | Div | Rem | Min | Max | And | Or | Xor | Copysign => {
            optional(1, 3, &[Dst(0), Src(0), Src(0), Src(0)])
        }
        Mul if wide => rule(1, &[DoubleDst, Src(0), Src(0)]),
        Mad if wide => rule(1, &[DoubleDst, Src(0), Src(0), DoubleSrc]),
        Mul | Mul24 => rule(1, &[Dst(0), Src(0), Src(0)]),
        Mad | Mad24 | Madc | Fma | Sad => rule(1, &[Dst(0), Src(0), Src(0), Src(0)]),
        Neg | Abs | Not | Cnot | Brev | Sqrt | Rsqrt | Rcp | Sin | Cos | Lg2 | Ex2 | Tanh => rule(1, &[Dst(0), Src(0)]),
        Shl | Shr => rule(1, &[Dst(0), Src(0), Src32]),
        Bfe => rule(1, &[Dst(0), Src(0), Src32, Src32]),
        Bfi => rule(1, &[Dst(0), Src(0), Src(0), Src32, Src32]),
        Popc | Clz | Bfind => rule(1, &[Dst32, Src(0)]),
        Prmt | Shf => rule(1, &[Dst(0), Src(0), Src(0), Src(0)]),
        Setp => optional(1, 3, &[PredDst, Src(0), Src(0), PredSrc]),
        Set => optional(2, 3, &[Dst(0), Src(1), Src(1), PredSrc]),
        Selp => rule(1, &[Dst(0), Src(0), Src(0), PredSrc]),
        Slct => rule(2, &[Dst(0), Src(0), Src(0), Src(1)]),
        Testp => rule(1, &[PredDst, Src(0)]),
        Mov => rule(1, &[Dst(0), Src(0)]),
        // With packed types `cvt` has more operands and other containers.
        Cvt if instruction.has(Word::Pack) || instruction.types().any(|ty| ty == ScalarType::F16x2) => return None,
        Cvt => rule(2, &[WideDst(0), WideSrc(1)]),
        Ld | Ldu => optional(1, 2, &[WideDst(0), Address, Any, Any]),
        St => optional(1, 2, &[Address, WideSrc(0), Any]),
        _ => return None,
    };
    let plain = found.types == instruction.types().count() && instruction.types().all(checked);
    let extended = instruction.has(Word::Async) || instruction.has(Word::Bulk);
    (plain && !extended).then_some(found)
}

/// Types whose registers have a rule. The others live in containers of
/// several possible types.
fn checked(ty: ScalarType) -> bool {
    use ScalarType::*;
    matches!(ty, Pred | U8 | U16 | U32 | U64 | S8 | S16 | S32 | S64 | B8 | B16 | B32 | B64 | F16 | F16x2 | F32 | F64)
}

/// True if a register of type `register` can stand where an instruction has
/// type `ty`; `wider` registers are allowed in loads, stores and conversions.
pub(super) fn compatible(ty: ScalarType, register: ScalarType, wider: bool) -> bool {
    if ty == ScalarType::Pred || register == ScalarType::Pred {
        return ty == register;
    }
    let fits = if wider { register.bits() >= ty.bits() } else { register.bits() == ty.bits() };
    // ptxas treats an `.f16x2` register as 32 untyped bits.
    let untyped = register.class() == TypeClass::Bits || register == ScalarType::F16x2;
    let same_kind = match ty.class() {
        TypeClass::Bits => true,
        TypeClass::Float => register == ty || (untyped && register != ScalarType::F16x2),
        _ => untyped || register.is_integer(),
    };
    fits && same_kind
}
