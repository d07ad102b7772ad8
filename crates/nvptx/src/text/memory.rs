//! Instructions that address memory.

use oriole_ptx::ast::Span;
use smallvec::SmallVec;

use crate::ir::{AddressSpace, Op, Ordering, RmwOp, SyncScope, Type, TypeId, Value};

use super::instructions::Read;
use super::lexer::{Kind, Token};
use super::parser::{Parsed, Parser, error, span};
use super::words::Word;

/// The names of scopes. `agent`, `workgroup` and `wavefront` are AMD's words, which MLIR writes too.
const SCOPES: &[(&str, SyncScope)] = &[
    ("", SyncScope::System),
    ("system", SyncScope::System),
    ("device", SyncScope::Device),
    ("agent", SyncScope::Device),
    ("cluster", SyncScope::Cluster),
    ("block", SyncScope::Block),
    ("workgroup", SyncScope::Block),
    ("singlethread", SyncScope::Thread),
];

impl<'a> Parser<'a> {
    /// `load atomic volatile i32, ptr %p syncscope("device") acquire, align 4`
    pub(super) fn load(&mut self) -> Parsed<Read> {
        let atomic = self.eat_word(Word::Atomic);
        let volatile = self.eat_word(Word::Volatile);
        let start = self.token;
        let ty = self.ty()?;
        self.stored_type(start, ty)?;
        self.expect(Kind::Comma)?;
        let ptr = self.typed_value()?;
        let (scope, ordering) = self.atomic_operands(atomic)?;
        let align = self.align_option(ty)?;
        Ok(Read::Op(Op::Load { ptr, align, volatile, ordering, scope }, ty))
    }

    /// `store volatile i32 %x, ptr %p, align 4`
    pub(super) fn store(&mut self) -> Parsed<Read> {
        let atomic = self.eat_word(Word::Atomic);
        let volatile = self.eat_word(Word::Volatile);
        let start = self.token;
        let value = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let ptr = self.typed_value()?;
        let ty = self.type_of_value(value);
        self.stored_type(start, ty)?;
        let (scope, ordering) = self.atomic_operands(atomic)?;
        let align = self.align_option(ty)?;
        Ok(Read::Op(Op::Store { value, ptr, align, volatile, ordering, scope }, TypeId::VOID))
    }

    /// Only what has a size can be in memory.
    fn stored_type(&self, start: Token, ty: TypeId) -> Parsed<()> {
        match self.module.types[ty] {
            Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Opaque(_) => {
                let text = self.module.types.text(ty);
                Err(error(span(start), format!("a value of type `{text}` cannot be in memory")))
            }
            _ => Ok(()),
        }
    }

    /// `syncscope("device") acquire` of an atomic access.
    fn atomic_operands(&mut self, atomic: bool) -> Parsed<(SyncScope, Ordering)> {
        match atomic {
            true => Ok((self.scope()?, self.ordering()?)),
            false => Ok((SyncScope::System, Ordering::NotAtomic)),
        }
    }

    fn scope(&mut self) -> Parsed<SyncScope> {
        if !self.eat_word(Word::SyncScope) {
            return Ok(SyncScope::System);
        }
        self.expect(Kind::OpenParen)?;
        let token = self.token;
        let name = self.string()?;
        self.expect(Kind::CloseParen)?;
        let found = SCOPES.iter().find(|(other, _)| *other == name);
        found.map(|&(_, scope)| scope).ok_or_else(|| error(span(token), format!("no GPU has the scope `{name}`")))
    }

    fn ordering(&mut self) -> Parsed<Ordering> {
        let found = self.named_member(Ordering::from_name, "an ordering such as `seq_cst`")?;
        match found {
            Ordering::NotAtomic => Err(self.expected("an ordering such as `seq_cst`")),
            found => Ok(found),
        }
    }

    /// `, align 4`, or the natural alignment of `ty`.
    fn align_option(&mut self, ty: TypeId) -> Parsed<u32> {
        if self.option() {
            self.expect_word(Word::Align)?;
            let align = self.alignment()?;
            if align != 0 {
                return Ok(align);
            }
        }
        Ok(self.module.layout.align(&self.module.types, ty))
    }

    /// `alloca i32, i32 %n, align 4, addrspace(5)`
    pub(super) fn alloca(&mut self) -> Parsed<Read> {
        if self.at_word(Word::InAlloca) || self.at_word(Word::SwiftError) {
            return Err(self.error(format!("`{}` is not supported", self.token.word.as_str())));
        }
        let start = self.token;
        let element = self.ty()?;
        self.stored_type(start, element)?;
        let mut count = None;
        let mut align = self.module.layout.align(&self.module.types, element);
        let mut space = AddressSpace::GENERIC;
        while self.option() {
            match self.token.word {
                Word::Align => {
                    self.bump();
                    align = self.alignment()?.max(1);
                }
                Word::AddrSpace => space = self.address_space()?,
                _ if count.is_none() => count = Some(self.typed_value()?),
                _ => return Err(self.expected("`align` or `addrspace`")),
            }
        }
        let count = count.unwrap_or_else(|| Value::Const(self.module.constants.int(TypeId::I32, 32, 1)));
        let ty = self.module.types.pointer(space);
        Ok(Read::Op(Op::Alloca { element, count, align }, ty))
    }

    /// `getelementptr inbounds T, ptr %p, i64 %i`
    pub(super) fn gep(&mut self) -> Parsed<Read> {
        let flags = self.gep_flags()?;
        let start = self.token;
        let source = self.ty()?;
        self.expect(Kind::Comma)?;
        let base = self.typed_value()?;
        let mut indices = SmallVec::new();
        let mut types: SmallVec<[TypeId; 4]> = SmallVec::new();
        types.push(self.type_of_value(base));
        while self.option() {
            let index = self.typed_value()?;
            types.push(self.type_of_value(index));
            indices.push(index);
        }
        let ty = self.gep_type(self.span_from(start), source, &types)?;
        let constants = &self.module.constants;
        let index = |at: usize| Value::constant(indices[at]).and_then(|id| constants.as_int(id));
        self.gep_path(self.span_from(start), source, indices.len(), index)?;
        Ok(Read::Op(Op::Gep { source, flags, base, indices }, ty))
    }

    /// The type of the address that `getelementptr` makes of operands with these types.
    pub(super) fn gep_type(&mut self, place: Span, source: TypeId, operands: &[TypeId]) -> Parsed<TypeId> {
        let types = &self.module.types;
        if matches!(types[source], Type::Void | Type::Label | Type::Metadata | Type::Token | Type::Opaque(_)) {
            return Err(error(place, format!("`getelementptr` cannot step over `{}`", types.text(source))));
        }
        let base = operands[0];
        if !matches!(types[types.scalar(base)], Type::Pointer(_)) {
            return Err(error(place, format!("the base of `getelementptr` is a pointer, not `{}`", types.text(base))));
        }
        let mut len = None;
        for (at, &operand) in operands.iter().enumerate() {
            if at > 0 && !matches!(types[types.scalar(operand)], Type::Int(_)) {
                return Err(error(place, format!("an index is an integer, not `{}`", types.text(operand))));
            }
            match (types.as_vector(operand), len) {
                (Some((_, new)), None) => len = Some(new),
                (Some((_, new)), Some(old)) if new != old => {
                    return Err(error(place, format!("vectors of {old} and {new} elements in one `getelementptr`")));
                }
                _ => {}
            }
        }
        Ok(match (types.as_vector(base), len) {
            (None, Some(len)) => self.module.types.vector(base, len),
            _ => base,
        })
    }

    /// Looks whether indices lead to an element. `index` gives the constant ones.
    pub(super) fn gep_path(
        &self,
        place: Span,
        source: TypeId,
        count: usize,
        index: impl Fn(usize) -> Option<u128>,
    ) -> Parsed<()> {
        let types = &self.module.types;
        let mut ty = source;
        for at in 1..count {
            let next = match &types[ty] {
                Type::Array(element, _) | Type::Vector(element, _) => Some(*element),
                Type::Struct { .. } => match index(at) {
                    Some(field) => u64::try_from(field).ok().and_then(|field| types.element(ty, field)),
                    None => return Err(error(place, "the index into a structure is a constant")),
                },
                _ => None,
            };
            let none = || error(place, format!("index {at} leads to no element of `{}`", types.text(ty)));
            ty = next.ok_or_else(none)?;
        }
        Ok(())
    }

    /// `cmpxchg weak volatile ptr %p, i32 %a, i32 %b syncscope("device") acq_rel monotonic, align 4`
    pub(super) fn cmpxchg(&mut self) -> Parsed<Read> {
        let weak = self.eat_word(Word::Weak);
        let volatile = self.eat_word(Word::Volatile);
        let ptr = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let expected = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let new = self.typed_value()?;
        let scope = self.scope()?;
        let orderings = [self.ordering()?, self.ordering()?];
        let ty = self.type_of_value(expected);
        let align = self.align_option(ty)?;
        let result = self.module.types.intern(Type::Struct { fields: [ty, TypeId::I1].into(), packed: false });
        Ok(Read::Op(Op::CmpXchg { ptr, expected, new, align, volatile, weak, orderings, scope }, result))
    }

    /// `atomicrmw volatile add ptr %p, i32 %x syncscope("device") monotonic, align 4`
    pub(super) fn atomic_rmw(&mut self) -> Parsed<Read> {
        let volatile = self.eat_word(Word::Volatile);
        let op = self.named_member(RmwOp::from_name, "an operation of `atomicrmw`")?;
        let ptr = self.typed_value()?;
        self.expect(Kind::Comma)?;
        let value = self.typed_value()?;
        let scope = self.scope()?;
        let ordering = self.ordering()?;
        let ty = self.type_of_value(value);
        let align = self.align_option(ty)?;
        Ok(Read::Op(Op::AtomicRmw { op, ptr, value, align, volatile, ordering, scope }, ty))
    }

    /// `fence syncscope("device") seq_cst`
    pub(super) fn fence(&mut self) -> Parsed<Read> {
        let scope = self.scope()?;
        Ok(Read::Op(Op::Fence(self.ordering()?, scope), TypeId::VOID))
    }
}
