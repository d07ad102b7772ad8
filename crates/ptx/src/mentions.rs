//! The names that a function's body and a variable's initial value mention, and what a body declares.

use crate::ast::{Address, AddressBase, Block, Init, Instruction, Name, Operand, Prototype, Statement, Variable};

/// How a name is mentioned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mention {
    /// As what a call goes to, or its prototype.
    Callee,
    /// As anything else.
    Other,
}

/// Calls `visit` for every name that an operand of the block mentions: registers, labels,
/// variables, functions.
pub fn of_block(block: &Block, visit: &mut impl FnMut(Name, Mention)) {
    for statement in &block.statements {
        match statement {
            Statement::Instruction(instruction) => match instruction.call() {
                Some(call) => {
                    let operands = call.rets.iter().chain(call.args);
                    operands.for_each(|operand| of_operand(operand, &mut |name| visit(name, Mention::Other)));
                    of_operand(call.callee, &mut |name| visit(name, Mention::Callee));
                    call.prototype.into_iter().for_each(|name| visit(name, Mention::Callee));
                }
                None => of_instruction(instruction, &mut |name| visit(name, Mention::Other)),
            },
            Statement::Block(inner) => of_block(inner, visit),
            Statement::CallTargets(list) => list.targets.iter().for_each(|name| visit(*name, Mention::Other)),
            Statement::Variable(variable) => of_variable(variable, &mut |name| visit(name, Mention::Other)),
            _ => {}
        }
    }
}

/// The names in a variable's initial value.
pub fn of_variable(variable: &Variable, visit: &mut impl FnMut(Name)) {
    if let Some(init) = &variable.init {
        of_init(init, visit);
    }
}

/// Calls `visit` for every variable that the block declares, at any depth.
pub fn variables<'a>(block: &'a Block, visit: &mut impl FnMut(&'a Variable)) {
    for statement in &block.statements {
        match statement {
            Statement::Variable(variable) => visit(variable),
            Statement::Block(inner) => variables(inner, visit),
            _ => {}
        }
    }
}

/// Calls `visit` for every instruction of the block, at any depth.
pub fn instructions<'a>(block: &'a Block, visit: &mut impl FnMut(&'a Instruction)) {
    for statement in &block.statements {
        match statement {
            Statement::Instruction(instruction) => visit(instruction),
            Statement::Block(inner) => instructions(inner, visit),
            _ => {}
        }
    }
}

/// Calls `visit` for every call prototype of the block, at any depth.
pub fn prototypes<'a>(block: &'a Block, visit: &mut impl FnMut(&'a Prototype)) {
    for statement in &block.statements {
        match statement {
            Statement::Prototype(prototype) => visit(prototype),
            Statement::Block(inner) => prototypes(inner, visit),
            _ => {}
        }
    }
}

fn of_init(init: &Init, visit: &mut impl FnMut(Name)) {
    match init {
        Init::Address { name, .. } => visit(*name),
        Init::List(items, _) => items.iter().for_each(|item| of_init(item, visit)),
        Init::Imm(..) | Init::Text(..) => {}
    }
}

/// The names that one instruction mentions (not its guard).
pub fn of_instruction(instruction: &Instruction, visit: &mut impl FnMut(Name)) {
    instruction.operands.iter().for_each(|operand| of_operand(operand, visit));
}

#[inline]
fn of_operand(operand: &Operand, visit: &mut impl FnMut(Name)) {
    match operand {
        // What most operands are.
        Operand::Name(name) => visit(*name),
        _ => of_other(operand, visit),
    }
}

fn of_other(operand: &Operand, visit: &mut impl FnMut(Name)) {
    match operand {
        Operand::Name(name) | Operand::Offset { name, .. } | Operand::Part(name, _) => visit(*name),
        Operand::Not(inner, _) | Operand::Neg(inner, _) => of_operand(inner, visit),
        Operand::Vector(items, _) | Operand::List(items, _) => items.iter().for_each(|item| of_operand(item, visit)),
        Operand::Pair(pair) => pair.iter().for_each(|item| of_operand(item, visit)),
        Operand::Address(address) => of_address(address, visit),
        Operand::Special { .. } | Operand::Imm(..) | Operand::Sink(_) => {}
    }
}

fn of_address(address: &Address, visit: &mut impl FnMut(Name)) {
    match address.base {
        AddressBase::Name(name) | AddressBase::Element(name, _) => visit(name),
        AddressBase::Item(array, index) => {
            visit(array);
            index.into_iter().for_each(&mut *visit);
        }
        AddressBase::Absolute => {}
    }
    address.rest.iter().for_each(|operand| of_operand(operand, visit));
}
