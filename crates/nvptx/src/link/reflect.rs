//! `__nvvm_reflect`: what a library asks about the compilation.

use cranelift_entity::EntitySet;
use rustc_hash::FxHashMap;

use crate::ir::{Body, Callee, CastOp, ConstExpr, ConstId, Constant, InstId, MetaField, Module, Op, Value};

/// What the questions are answered with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reflect {
    /// `__CUDA_ARCH`: ten times the number of the target, 800 for `sm_80`.
    pub arch: u32,
    /// `__CUDA_FTZ`: denormal numbers of `float` count as 0. `None`: as the module flag `nvvm-reflect-ftz` says.
    pub ftz: Option<bool>,
    /// `__CUDA_PREC_SQRT`: square roots of `float` are rounded correctly.
    pub prec_sqrt: bool,
    /// `__CUDA_PREC_DIV`: quotients of `float` are rounded correctly.
    pub prec_div: bool,
}

impl Reflect {
    /// nvcc's defaults for the target `sm`, 80 for `sm_80`.
    #[must_use]
    pub const fn new(sm: u32) -> Reflect {
        Reflect { arch: sm * 10, ftz: None, prec_sqrt: true, prec_div: true }
    }

    /// The answer to a question; 0 for those that are not known.
    fn answer(&self, question: &[u8], module_ftz: u128) -> u128 {
        match question {
            b"__CUDA_ARCH" => self.arch.into(),
            b"__CUDA_FTZ" => self.ftz.map_or(module_ftz, u128::from),
            b"__CUDA_PREC_SQRT" => self.prec_sqrt.into(),
            b"__CUDA_PREC_DIV" => self.prec_div.into(),
            _ => 0,
        }
    }
}

/// Puts a constant for each call of `__nvvm_reflect`, `__nvvm_reflect_ocl` and `llvm.nvvm.reflect…`.
/// Calls whose question cannot be seen stay. Gives the number of calls that are gone.
pub fn resolve_reflect(module: &mut Module, reflect: &Reflect) -> usize {
    let asks =
        |name: &str| matches!(name, "__nvvm_reflect" | "__nvvm_reflect_ocl") || name.starts_with("llvm.nvvm.reflect");
    if !module.symbols.values().any(|symbol| asks(&symbol.name)) {
        return 0;
    }
    let module_ftz = flag(module, "nvvm-reflect-ftz").unwrap_or(0);
    let mut gone = 0;
    for id in module.symbols.keys() {
        // The body is taken out while constants are added to the module.
        let Some(mut body) = module.symbols[id].function_mut().and_then(|function| function.body.take()) else {
            continue;
        };
        let mut found = Vec::new();
        for (_, inst) in body.insts_in_order() {
            let Op::Call(call) = &body[inst].op else { continue };
            let Some(name) = callee(module, &call.callee) else { continue };
            if asks(name)
                && let Some(question) = call.args.first().and_then(|&arg| question(module, &body, arg))
            {
                found.push((inst, reflect.answer(question, module_ftz)));
            }
        }
        gone += found.len();
        replace(module, &mut body, &found);
        if let Some(function) = module.symbols[id].function_mut() {
            function.body = Some(body);
        }
    }
    gone
}

/// Puts constants for the results of instructions, and takes these away.
fn replace(module: &mut Module, body: &mut Body, found: &[(InstId, u128)]) {
    if found.is_empty() {
        return;
    }
    let mut map = FxHashMap::default();
    for &(inst, answer) in found {
        let ty = body[inst].ty;
        let bits = module.types.int_bits(ty).unwrap_or(32);
        if let Some(result) = body[inst].result.expand() {
            map.insert(result, module.constants.int(ty, bits, answer).into());
        }
    }
    let mut gone = EntitySet::new();
    gone.extend(found.iter().map(|(inst, _)| *inst));
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        body[block].insts.retain(|inst| !gone.contains(*inst));
    }
    body.replace_values(&map);
}

/// The name of the function that is called.
fn callee<'a>(module: &'a Module, callee: &Callee) -> Option<&'a str> {
    match callee {
        Callee::Value(Value::Const(id)) => match &module.constants[*id] {
            Constant::Symbol(_, symbol) => Some(&module.symbols[*symbol].name),
            _ => None,
        },
        _ => None,
    }
}

/// The string that a value points to, up to its 0.
fn question<'a>(module: &'a Module, body: &Body, mut value: Value) -> Option<&'a [u8]> {
    let zero = |value: Value| value.constant().is_some_and(|id| module.constants.is_zero(id));
    // Conversions of the pointer may be instructions.
    let constant = loop {
        value = match value {
            Value::Const(id) => break id,
            Value::Local(_) => match body.def_op(value)? {
                Op::Cast(CastOp::AddrSpaceCast | CastOp::Bitcast, _, operand) => *operand,
                Op::Gep { base, indices, .. } if indices.iter().all(|&index| zero(index)) => *base,
                Op::Call(call) if callee(module, &call.callee)?.starts_with("llvm.nvvm.ptr.constant.to.gen") => {
                    *call.args.first()?
                }
                _ => return None,
            },
        };
    };
    let bytes = string(module, constant)?;
    bytes.split(|&byte| byte == 0).next()
}

/// The initial value of the string that a constant points to.
fn string(module: &Module, mut constant: ConstId) -> Option<&[u8]> {
    loop {
        constant = match &module.constants[constant] {
            Constant::Expr(_, expr) => match &**expr {
                ConstExpr::Cast(CastOp::AddrSpaceCast | CastOp::Bitcast, operand) => *operand,
                ConstExpr::Gep { base, indices, .. }
                    if indices.iter().all(|&index| module.constants.is_zero(index)) =>
                {
                    *base
                }
                _ => return None,
            },
            Constant::Symbol(_, symbol) => {
                let init = module.symbols[*symbol].variable()?.init?;
                return match &module.constants[init] {
                    Constant::Bytes(_, bytes) => Some(bytes),
                    _ => None,
                };
            }
            _ => return None,
        };
    }
}

/// The value of a module flag that is an integer.
fn flag(module: &Module, name: &str) -> Option<u128> {
    module.metadata.named("llvm.module.flags").find_map(|node| match module.metadata[node].operands() {
        [_, MetaField::String(key), MetaField::Constant(value)] if &**key == name => module.constants.as_int(*value),
        _ => None,
    })
}
