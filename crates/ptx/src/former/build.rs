//! Statements that stand in no text.

use super::shared::{Kind, Own};
use crate::ast::{
    Address, AddressBase, Imm, Instruction, Linkage, Modifier, Name, Opcode, Operand, RegisterDecl, RegisterName,
    ScalarType, Space, Span, Statement, Variable, VectorLen,
};

/// An instruction with these types.
pub(super) fn plain(opcode: Opcode, types: &[ScalarType], operands: impl IntoIterator<Item = Operand>) -> Statement {
    made(opcode, types.iter().copied().map(Modifier::Type), operands)
}

fn made(
    opcode: Opcode,
    modifiers: impl IntoIterator<Item = Modifier>,
    operands: impl IntoIterator<Item = Operand>,
) -> Statement {
    Statement::Instruction(Box::new(Instruction {
        guard: None,
        opcode,
        modifiers: modifiers.into_iter().collect(),
        operands: operands.into_iter().collect(),
        span: Span::default(),
        opcode_span: Span::default(),
    }))
}

/// A whole number.
pub(super) fn constant(value: i64) -> Operand {
    Operand::Imm(Imm::S64(value), Span::default())
}

/// The declaration of one register.
pub(super) fn register(name: Name, ty: ScalarType, vector: Option<VectorLen>) -> Statement {
    let names = vec![RegisterName { name, count: None }];
    Statement::Registers(RegisterDecl { ty, vector, names, span: name.span })
}

/// A variable or parameter without more.
pub(super) fn variable(name: Name, space: Space, ty: ScalarType) -> Variable {
    Variable {
        linkage: Linkage::None,
        space,
        attributes: Vec::new(),
        align: None,
        ty,
        vector: None,
        ptr: None,
        name: Some(name),
        dims: Vec::new(),
        init: None,
        properties: Vec::new(),
        span: name.span,
    }
}

/// Loads a register from its place behind `at`; a predicate by `word`. Memory stays where it is.
pub(super) fn load(own: &Own, at: Name, word: Name, out: &mut Vec<Statement>) {
    match own.kind {
        Kind::Register(ScalarType::Pred, _) => {
            out.push(access(Opcode::Ld, ScalarType::U32, None, [Operand::Name(word), place(at, own.place)]));
            let modifiers = [Modifier::Cmp(crate::ast::CmpOp::Ne), Modifier::Type(ScalarType::U32)];
            out.push(made(Opcode::Setp, modifiers, [Operand::Name(own.name), Operand::Name(word), constant(0)]));
        }
        Kind::Register(ty, vector) => {
            out.push(access(Opcode::Ld, ty, vector, [Operand::Name(own.name), place(at, own.place)]));
        }
        Kind::Memory(_) => {}
    }
}

/// Stores it there.
pub(super) fn store(own: &Own, at: Name, word: Name, out: &mut Vec<Statement>) {
    match own.kind {
        Kind::Register(ScalarType::Pred, _) => {
            let operands = [Operand::Name(word), constant(1), constant(0), Operand::Name(own.name)];
            out.push(plain(Opcode::Selp, &[ScalarType::U32], operands));
            out.push(access(Opcode::St, ScalarType::U32, None, [place(at, own.place), Operand::Name(word)]));
        }
        Kind::Register(ty, vector) => {
            out.push(access(Opcode::St, ty, vector, [place(at, own.place), Operand::Name(own.name)]));
        }
        Kind::Memory(_) => {}
    }
}

fn access(opcode: Opcode, ty: ScalarType, vector: Option<VectorLen>, operands: [Operand; 2]) -> Statement {
    let space = [Modifier::Space(Space::Local)].into_iter();
    made(opcode, space.chain(vector.map(Modifier::Vector)).chain([Modifier::Type(ty)]), operands)
}

fn place(at: Name, offset: i64) -> Operand {
    Operand::Address(Box::new(Address { base: AddressBase::Name(at), offset, rest: Vec::new(), span: Span::default() }))
}
