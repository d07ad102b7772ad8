//! Addresses of blocks, which PTX has not: a block's address is its number, and a jump to one a `switch`.

use crate::ir::{BlockId, CastOp, ConstExpr, Constant, InstFlags, Module, Op, SymbolId, TypeId, Value};

use cranelift_entity::EntityRef;

/// The number that stands for the address of a block: not 0, which is no address.
fn number(block: BlockId) -> u128 {
    block.index() as u128 + 1
}

/// Replaces the addresses of blocks, in functions and initial values, and the jumps to them.
pub fn number_blocks(module: &mut Module) {
    let symbols: Vec<SymbolId> = module.definitions().map(|(id, ..)| id).collect();
    for symbol in symbols {
        jumps(module, symbol);
    }
    let addresses: Vec<_> = module.constants.block_addresses().collect();
    for (id, ty, block) in addresses {
        let value = module.constants.int(TypeId::I64, 64, number(block));
        module.constants.replace(id, Constant::Expr(ty, Box::new(ConstExpr::Cast(CastOp::IntToPtr, value))));
    }
}

/// Makes the jumps of one function switches. The last destination is the default: an address that is none of them has
/// no meaning.
fn jumps(module: &mut Module, symbol: SymbolId) {
    let Some(body) = module.symbols[symbol].function_mut().and_then(|function| function.body.as_mut()) else { return };
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let Some(inst) = body.terminator(block) else { continue };
        let Op::IndirectBr(address, targets) = body[inst].op.clone() else { continue };
        let Some((&default, others)) = targets.split_last() else { continue };
        let loc = body[inst].loc;
        let cast = body.make_inst(Op::Cast(CastOp::PtrToInt, InstFlags::empty(), address), TypeId::I64);
        body[cast].loc = loc;
        let Some(value) = body[cast].result.expand().map(Value::from) else { continue };
        let place = body[block].insts.len() - 1;
        body[block].insts.insert(place, cast);
        let mut cases: Vec<(u128, BlockId)> = others.iter().map(|&target| (number(target), target)).collect();
        cases.sort_unstable_by_key(|case| case.0);
        cases.dedup();
        body[inst].op = Op::Switch { value, default, cases };
    }
}
