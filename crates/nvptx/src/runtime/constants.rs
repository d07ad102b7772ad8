//! Constant expressions that neither PTX nor an address has: computed by instructions, before selection.

use crate::ir::{Body, CastOp, ConstExpr, ConstId, Constant, InstFlags, InstId, Module, Op, SymbolId, Value};

/// Computes them where they are read, and for `phi`s at the end of the block before.
pub fn compute_constants(module: &mut Module) {
    if !module.constants.ids().any(|id| has_to_be_computed(module, id)) {
        return;
    }
    let symbols: Vec<SymbolId> = module.definitions().map(|(id, ..)| id).collect();
    for symbol in symbols {
        let taken = module.symbols[symbol].function_mut().and_then(|function| function.body.take());
        let Some(mut body) = taken else { continue };
        function(module, &mut body);
        if let Some(function) = module.symbols[symbol].function_mut() {
            function.body = Some(body);
        }
    }
}

fn function(module: &Module, body: &mut Body) {
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let old = std::mem::take(&mut body[block].insts);
        let mut insts = Vec::with_capacity(old.len());
        for inst in old {
            if !matches!(body[inst].op, Op::Phi(_)) {
                let mut op = body[inst].op.clone();
                op.for_each_value_mut(|value| *value = computed(module, body, &mut insts, inst, *value));
                body[inst].op = op;
            }
            insts.push(inst);
        }
        body[block].insts = insts;
    }
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        for index in 0..body[block].insts.len() {
            let inst = body[block].insts[index];
            let Op::Phi(mut incoming) = body[inst].op.clone() else { break };
            for (from, value) in &mut incoming {
                let Some(terminator) = body[*from].insts.pop() else { continue };
                let mut insts = std::mem::take(&mut body[*from].insts);
                *value = computed(module, body, &mut insts, terminator, *value);
                insts.push(terminator);
                body[*from].insts = insts;
            }
            body[inst].op = Op::Phi(incoming);
        }
    }
}

/// The value of an operand, with what computes it behind `insts`.
fn computed(module: &Module, body: &mut Body, insts: &mut Vec<InstId>, like: InstId, value: Value) -> Value {
    let Some(id) = value.constant().filter(|&id| has_to_be_computed(module, id)) else { return value };
    let Constant::Expr(ty, expr) = &module.constants[id] else { return value };
    let mut operand = |id: ConstId| computed(module, body, insts, like, id.into());
    let none = InstFlags::empty();
    let op = match &**expr {
        ConstExpr::Gep { source, flags, base, indices } => Op::Gep {
            source: *source,
            flags: *flags,
            base: operand(*base),
            indices: indices.iter().map(|&index| operand(index)).collect(),
        },
        ConstExpr::Cast(op, a) => Op::Cast(*op, none, operand(*a)),
        ConstExpr::Binary(op, a, b) => Op::Binary(*op, none, [operand(*a), operand(*b)]),
        ConstExpr::ICmp(predicate, a, b) => Op::ICmp(*predicate, none, [operand(*a), operand(*b)]),
        ConstExpr::FCmp(predicate, a, b) => Op::FCmp(*predicate, none, [operand(*a), operand(*b)]),
        ConstExpr::Select(a, b, c) => Op::Select(none, [operand(*a), operand(*b), operand(*c)]),
        ConstExpr::ExtractElement(a, b) => Op::ExtractElement([operand(*a), operand(*b)]),
        ConstExpr::InsertElement(a, b, c) => Op::InsertElement([operand(*a), operand(*b), operand(*c)]),
    };
    let inst = body.make_inst(op, *ty);
    body[inst].loc = body[like].loc;
    insts.push(inst);
    body[inst].result.expand().map_or(value, Value::from)
}

/// True for expressions that are no address of a symbol with bytes behind it, and no number.
fn has_to_be_computed(module: &Module, id: ConstId) -> bool {
    matches!(module.constants[id], Constant::Expr(..)) && !is_address(module, id) && !is_number(module, id)
}

fn is_address(module: &Module, id: ConstId) -> bool {
    match &module.constants[id] {
        Constant::Symbol(..) => true,
        Constant::Expr(ty, expr) => match &**expr {
            ConstExpr::Gep { base, indices, .. } => {
                is_address(module, *base) && indices.iter().all(|&index| module.constants.as_int(index).is_some())
            }
            ConstExpr::Cast(CastOp::PtrToInt, inner) => {
                let space = module.types.address_space(module.constants.ty(*inner)).unwrap_or_default();
                module.types.int_bits(*ty) == Some(module.layout.pointer_bits(space)) && is_address(module, *inner)
            }
            ConstExpr::Cast(CastOp::Bitcast | CastOp::AddrSpaceCast | CastOp::IntToPtr, inner) => {
                is_address(module, *inner)
            }
            _ => false,
        },
        _ => false,
    }
}

fn is_number(module: &Module, id: ConstId) -> bool {
    match &module.constants[id] {
        Constant::Int(..) => true,
        Constant::Expr(_, expr) => match **expr {
            ConstExpr::Cast(CastOp::IntToPtr | CastOp::PtrToInt, inner) => is_number(module, inner),
            _ => false,
        },
        _ => false,
    }
}
