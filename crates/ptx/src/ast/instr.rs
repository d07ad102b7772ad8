//! Instructions and the questions that lowering asks of them.

use smallvec::SmallVec;

use super::name::{Name, Span};
use super::operand::Operand;
use super::shape::Shape;
use super::vocabulary::Modifier;
use super::vocabulary::{CmpOp, Opcode, Rounding, ScalarType, Scope, Semantics, Space, VectorLen, Word};

/// `@%p` or `@!%p` before an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The predicate register.
    pub pred: Name,
    /// True for `@!`.
    pub negated: bool,
}

/// One instruction, as written: modifiers and operands in source order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// The guard predicate.
    pub guard: Option<Guard>,
    /// The first word.
    pub opcode: Opcode,
    /// The dotted words after it, in order.
    pub modifiers: SmallVec<[Modifier; 5]>,
    /// The operands, destination first.
    pub operands: SmallVec<[Operand; 4]>,
    /// From the guard or opcode to before the `;`.
    pub span: Span,
    /// The opcode with its modifiers.
    pub opcode_span: Span,
}

/// A `call` taken apart: `call (rets), callee, (args), prototype;`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call<'a> {
    /// The return operands; empty when there is no list.
    pub rets: &'a [Operand],
    /// The function, or the register that holds its address.
    pub callee: &'a Operand,
    /// The arguments; empty when there is no list.
    pub args: &'a [Operand],
    /// The label of the prototype or target list of an indirect call.
    pub prototype: Option<Name>,
}

impl Instruction {
    /// True when the modifier is present.
    #[must_use]
    pub fn has(&self, word: Word) -> bool {
        self.modifiers.contains(&Modifier::Word(word))
    }

    /// The same with every vector register that is named as a whole written out as its elements; `len` says how
    /// many a name has, and is `None` for all other names.
    #[must_use]
    pub fn with_vectors_spread(&self, mut len: impl FnMut(Name) -> Option<usize>) -> Instruction {
        let mut spread = self.clone();
        spread.operands.iter_mut().for_each(|operand| operand.spread(&mut len));
        spread
    }

    /// The types, in order: `cvt.rn.f32.s32` gives `f32`, `s32`.
    pub fn types(&self) -> impl Iterator<Item = ScalarType> {
        self.modifiers.iter().filter_map(|m| match m {
            Modifier::Type(ty) => Some(*ty),
            _ => None,
        })
    }

    /// The `n`-th type, counted from 0.
    #[must_use]
    pub fn ty(&self, n: usize) -> Option<ScalarType> {
        self.types().nth(n)
    }

    /// The last type: the one that most instructions with a single type mean.
    #[must_use]
    pub fn last_type(&self) -> Option<ScalarType> {
        self.types().last()
    }

    /// The state spaces, in order (`cp.async` names two).
    pub fn spaces(&self) -> impl Iterator<Item = Space> {
        self.modifiers.iter().filter_map(|m| match m {
            Modifier::Space(space) => Some(*space),
            _ => None,
        })
    }

    /// The first state space; `None` means generic addressing.
    #[must_use]
    pub fn space(&self) -> Option<Space> {
        self.spaces().next()
    }

    /// The rounding modifier.
    #[must_use]
    pub fn rounding(&self) -> Option<Rounding> {
        self.find(|m| match m {
            Modifier::Rounding(value) => Some(value),
            _ => None,
        })
    }

    /// The comparison operator of `set`, `setp`, `vset`.
    #[must_use]
    pub fn cmp(&self) -> Option<CmpOp> {
        self.find(|m| match m {
            Modifier::Cmp(value) => Some(value),
            Modifier::Word(Word::Lo) => Some(CmpOp::Lo),
            Modifier::Word(Word::Hi) => Some(CmpOp::Hi),
            _ => None,
        })
    }

    /// `.v2`, `.v4` or `.v8`.
    #[must_use]
    pub fn vector(&self) -> Option<VectorLen> {
        self.find(|m| match m {
            Modifier::Vector(value) => Some(value),
            _ => None,
        })
    }

    /// The memory scope.
    #[must_use]
    pub fn scope(&self) -> Option<Scope> {
        self.find(|m| match m {
            Modifier::Scope(value) => Some(value),
            _ => None,
        })
    }

    /// The memory-ordering semantics.
    #[must_use]
    pub fn semantics(&self) -> Option<Semantics> {
        self.find(|m| match m {
            Modifier::Semantics(value) => Some(value),
            _ => None,
        })
    }

    /// The matrix shape.
    #[must_use]
    pub fn shape(&self) -> Option<Shape> {
        self.find(|m| match m {
            Modifier::Shape(value) => Some(value),
            _ => None,
        })
    }

    /// The remaining words in order, for instructions that dispatch on them
    /// (`atom.global.add`, `cp.async.bulk`, `mul.wide`).
    pub fn words(&self) -> impl Iterator<Item = Word> {
        self.modifiers.iter().filter_map(|m| match m {
            Modifier::Word(word) => Some(*word),
            _ => None,
        })
    }

    /// The parts of a `call`; `None` for other opcodes or a malformed call
    /// (which the parser does not let through).
    #[must_use]
    pub fn call(&self) -> Option<Call<'_>> {
        if self.opcode != Opcode::Call {
            return None;
        }
        let (rets, rest) = match self.operands.as_slice() {
            [Operand::List(rets, _), rest @ ..] => (&rets[..], rest),
            rest => (&[][..], rest),
        };
        let (callee, rest) = rest.split_first()?;
        let (args, rest) = match rest {
            [Operand::List(args, _), rest @ ..] => (&args[..], rest),
            rest => (&[][..], rest),
        };
        let prototype = rest.first().and_then(Operand::name);
        Some(Call { rets, callee, args, prototype })
    }

    fn find<T>(&self, pick: impl Fn(Modifier) -> Option<T>) -> Option<T> {
        self.modifiers.iter().find_map(|&m| pick(m))
    }
}
