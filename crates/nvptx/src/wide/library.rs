//! Calls of the functions in `ir/integer.ll`, for what has many operations.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::{definitions, wide_bits};
use crate::ir::{
    Attributes, Call, Callee, CallingConvention, Constant, Function, InstFlags, Module, Op, Param, SymbolId,
    SymbolKind, Tail, Type, TypeId, Value,
};
use crate::select::Error;
use crate::{link, text};

/// With `$N` for the width, `$D` for twice of it, `$S` for the sign's bit.
const TEXT: &str = include_str!("ir/integer.ll");

/// Intrinsics that are limbs' own affair.
const IN_PLACE: [&str; 5] = ["bswap", "bitreverse", "ctpop", "ctlz", "cttz"];

/// Puts calls of the library for divisions and intrinsics, and takes what they need, until nothing is missing.
pub(super) fn call(module: &mut Module) -> Result<(), Error> {
    loop {
        // The functions of the library need others of it in their turn.
        let mut widths = BTreeSet::new();
        for symbol in definitions(module) {
            call_library(module, symbol, &mut widths);
        }
        if widths.is_empty() {
            break;
        }
        for bits in widths {
            link_width(module, bits)?;
        }
    }
    let missing = module.symbols.values().find(|symbol| symbol.name.starts_with(PREFIX) && !symbol.is_definition());
    match missing {
        Some(symbol) => {
            let name = symbol.name.trim_start_matches(PREFIX);
            Err(Error::new(format!("`llvm.{name}` and the like on integers of more than 128 bits")))
        }
        None => Ok(()),
    }
}

/// Takes what is missing of the functions for one width.
fn link_width(module: &mut Module, bits: u32) -> Result<(), Error> {
    let words = [("$N", bits), ("$D", bits.saturating_mul(2)), ("$S", bits - 1)];
    let text = words.iter().fold(TEXT.to_owned(), |text, (word, value)| text.replace(word, &value.to_string()));
    let failed = |error: String| Error::new(format!("integers of {bits} bits ({error})"));
    let mut library = text::parse(&text, "integer.ll").map_err(|error| failed(error.to_string()))?;
    library.layout = module.layout.clone();
    link::link(module, library, true).map_err(|error| failed(error.to_string()))
}

/// What names of the library start with.
const PREFIX: &str = "oriole.wide.";

/// Rewrites one function; adds the widths of what it calls.
fn call_library(module: &mut Module, symbol: SymbolId, widths: &mut BTreeSet<u32>) {
    let Some(mut body) = module.symbols[symbol].function_mut().and_then(|function| function.body.take()) else {
        return;
    };
    let insts: Vec<_> = body.insts_in_order().map(|(_, inst)| inst).collect();
    for inst in insts {
        let ty = body[inst].ty;
        match &body[inst].op {
            Op::Binary(op, _, args) if op.is_int_division() => {
                let Some(bits) = wide_bits(module, ty) else { continue };
                widths.insert(bits);
                let (name, args) = (format!("{PREFIX}{}.i{bits}", op.as_str()), args.iter().copied().collect());
                body[inst].op = call_of(module, &name, &[ty, ty], ty, args);
            }
            Op::Call(call) => {
                let types = call.args.iter().map(|&arg| body.type_of(arg, &module.constants)).chain([ty]);
                let Some(bits) = types.into_iter().find_map(|ty| wide_bits(module, ty)) else { continue };
                let Callee::Value(value) = call.callee else { continue };
                let Some(Constant::Symbol(_, id)) = value.constant().map(|id| &module.constants[id]) else { continue };
                let Some(name) = module.symbols[*id].name.strip_prefix("llvm.").map(str::to_owned) else { continue };
                if IN_PLACE.contains(&name.split('.').next().unwrap_or_default()) {
                    continue;
                }
                widths.insert(bits);
                let (signature, args) = (call.signature, call.args.clone());
                let Type::Function { ret, params, .. } = module.types[signature].clone() else { continue };
                body[inst].op = call_of(module, &format!("{PREFIX}{name}"), &params, ret, args);
            }
            _ => {}
        }
    }
    if let Some(function) = module.symbols[symbol].function_mut() {
        function.body = Some(body);
    }
}

/// A call of the function `name`, which is declared if the module does not know it.
pub(super) fn call_of(
    module: &mut Module,
    name: &str,
    params: &[TypeId],
    ret: TypeId,
    args: SmallVec<[Value; 4]>,
) -> Op {
    let signature = module.types.intern(Type::Function { ret, params: params.into(), varargs: false });
    let symbol = module.symbol_or_new(name);
    if matches!(module.symbols[symbol].kind, SymbolKind::Undefined) {
        let param = |&ty: &TypeId| Param { ty, attributes: Attributes::default() };
        module.symbols[symbol].kind = SymbolKind::Function(Box::new(Function {
            signature,
            ret,
            ret_attributes: Attributes::default(),
            params: params.iter().map(param).collect(),
            varargs: false,
            attributes: Attributes::default(),
            convention: CallingConvention::default(),
            debug: None.into(),
            body: None,
        }));
    }
    let callee = module.constants.intern(Constant::Symbol(TypeId::PTR, symbol));
    Op::Call(Box::new(Call {
        callee: Callee::Value(callee.into()),
        signature,
        args,
        attributes: Attributes::default(),
        ret_attributes: Attributes::default(),
        arg_attributes: Vec::new(),
        convention: CallingConvention::default(),
        tail: Tail::None,
        flags: InstFlags::empty(),
    }))
}
