//! What passes share besides the body that they change.

use smallvec::smallvec;

use crate::analysis::View;
use crate::ir::{
    AddressSpace, Body, CastOp, Constant, GepFlags, InstFlags, InstId, KernelInfo, Module, Op, SymbolId, SymbolKind,
    Type, TypeId, Value,
};

use super::options::Options;

/// The module around a function whose body has been taken out of it.
pub struct Context<'m> {
    /// Types, constants, symbols, metadata, and the bodies of the other functions.
    pub module: &'m mut Module,
    /// The function.
    pub symbol: SymbolId,
    /// Its launch bounds, if it is a kernel.
    pub kernel: Option<&'m KernelInfo>,
    /// What was asked for.
    pub options: &'m Options,
    /// Instructions by which inlining may still make the module larger.
    pub room: usize,
}

impl Context<'_> {
    /// The body with its module, for analyses.
    #[must_use]
    pub fn view<'a>(&'a self, body: &'a Body) -> View<'a> {
        View { module: self.module, symbol: self.symbol, body }
    }

    /// The type of a value.
    #[must_use]
    pub fn ty(&self, body: &Body, value: Value) -> TypeId {
        body.type_of(value, &self.module.constants)
    }

    /// An integer of type `ty`, or a vector of it; bits above the width are dropped.
    pub fn int(&mut self, ty: TypeId, value: u128) -> Value {
        let (types, constants) = (&self.module.types, &mut self.module.constants);
        match types[ty] {
            Type::Vector(element, len) => {
                let bits = types.int_bits(element).unwrap_or(128);
                let item = constants.int(element, bits, value);
                splat(constants, ty, item, len)
            }
            _ => constants.int(ty, types.int_bits(ty).unwrap_or(128), value).into(),
        }
    }

    /// The constant 0 of any type.
    pub fn zero(&mut self, ty: TypeId) -> Value {
        let constant = match self.module.types[ty] {
            Type::Int(_) => Constant::Int(ty, 0),
            Type::Half | Type::BFloat | Type::Float | Type::Double => Constant::Float(ty, 0),
            Type::Pointer(_) => Constant::Null(ty),
            _ => Constant::Zero(ty),
        };
        self.module.constants.intern(constant).into()
    }

    /// `poison`
    pub fn poison(&mut self, ty: TypeId) -> Value {
        self.module.constants.intern(Constant::Poison(ty)).into()
    }

    /// `ptr addrspace(n)`
    pub fn pointer(&mut self, space: AddressSpace) -> TypeId {
        self.module.types.pointer(space)
    }

    /// The address some bytes behind another.
    pub fn bytes_behind(&mut self, base: Value, bytes: i64, flags: GepFlags) -> Op {
        let index = self.int(TypeId::I64, bytes as u64 as u128);
        Op::Gep { source: TypeId::I8, flags, base, indices: smallvec![index] }
    }

    /// Makes an instruction that stands nowhere yet, with the place in the source of `like`.
    pub fn make(&self, body: &mut Body, op: Op, ty: TypeId, like: InstId) -> InstId {
        let loc = body[like].loc;
        let inst = body.make_inst(op, ty);
        body[inst].loc = loc;
        inst
    }

    /// Makes a conversion that stands nowhere yet.
    pub fn cast(&self, body: &mut Body, op: CastOp, value: Value, ty: TypeId, like: InstId) -> InstId {
        self.make(body, Op::Cast(op, InstFlags::empty(), value), ty, like)
    }

    /// The function `name`, declared like `model` with another type if the module does not know it.
    pub fn declare_like(&mut self, name: &str, model: SymbolId, signature: TypeId) -> SymbolId {
        if let Some(known) = self.module.symbol(name) {
            return known;
        }
        let Type::Function { ret, params, .. } = self.module.types[signature].clone() else { return model };
        let mut symbol = self.module.symbols[model].clone();
        let SymbolKind::Function(function) = &mut symbol.kind else { return model };
        function.signature = signature;
        function.ret = ret;
        for (param, &ty) in function.params.iter_mut().zip(&params) {
            param.ty = ty;
        }
        let id = self.module.symbol_or_new(name);
        symbol.name = name.into();
        self.module.symbols[id] = symbol;
        id
    }
}

fn splat(constants: &mut crate::ir::Constants, ty: TypeId, item: crate::ir::ConstId, len: u32) -> Value {
    let constant = if constants.is_zero(item) {
        Constant::Zero(ty)
    } else {
        Constant::Aggregate(ty, vec![item; len as usize].into())
    };
    constants.intern(constant).into()
}
