//! Calls of intrinsics that passes make.

use super::Context;
use crate::analysis::intrinsics::is_pure_name;
use crate::ir::{
    Attributes, Body, Call, Callee, CallingConvention, Constant, FnFlags, Function, InstFlags, MemoryEffects, Op,
    Param, SymbolKind, Tail, Type, TypeId, Value,
};

/// A call of the intrinsic `name` with the types that its result and arguments have; declared if it is not yet.
pub(crate) fn call(cx: &mut Context<'_>, name: &str, ret: TypeId, body: &Body, args: &[Value]) -> Op {
    let params: Vec<TypeId> = args.iter().map(|&arg| cx.ty(body, arg)).collect();
    let signature = cx.module.types.intern(Type::Function { ret, params: params.as_slice().into(), varargs: false });
    let known = cx.module.symbol(name);
    let symbol = cx.module.symbol_or_new(name);
    if known.is_none() {
        let memory = if is_pure_name(name) { MemoryEffects::None } else { MemoryEffects::Args };
        let function = FnFlags::NO_UNWIND | FnFlags::WILL_RETURN;
        cx.module.symbols[symbol].kind = SymbolKind::Function(Box::new(Function {
            signature,
            ret,
            ret_attributes: Attributes::default(),
            params: params.iter().map(|&ty| Param { ty, attributes: Attributes::default() }).collect(),
            varargs: false,
            attributes: Attributes { function, memory, ..Attributes::default() },
            convention: CallingConvention::C,
            debug: Default::default(),
            body: None,
        }));
    }
    let callee = cx.module.constants.intern(Constant::Symbol(TypeId::PTR, symbol));
    Op::Call(Box::new(Call {
        callee: Callee::Value(callee.into()),
        signature,
        args: args.into(),
        attributes: Attributes::default(),
        ret_attributes: Attributes::default(),
        arg_attributes: Vec::new(),
        convention: CallingConvention::C,
        tail: Tail::None,
        flags: InstFlags::empty(),
    }))
}
