//! A function body beside the module that it belongs to.

use crate::ir::{
    Body, Call, Callee, Constant, Function, InstId, Module, Op, Symbol, SymbolId, Type, TypeId, Value, ValueDef,
};

/// What analyses look at. The body need not stand in the module: passes take it out to change it.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Types, constants, symbols and metadata.
    pub module: &'a Module,
    /// The function.
    pub symbol: SymbolId,
    /// Its body.
    pub body: &'a Body,
}

impl<'a> View<'a> {
    /// Views a function that has a body in the module.
    #[must_use]
    pub fn of(module: &'a Module, symbol: SymbolId) -> Option<View<'a>> {
        let body = module.symbols[symbol].function()?.body.as_deref()?;
        Some(View { module, symbol, body })
    }

    /// The function's declaration.
    #[must_use]
    pub fn function(&self) -> Option<&'a Function> {
        self.module.symbols[self.symbol].function()
    }

    /// The type of a value.
    #[must_use]
    pub fn ty(&self, value: Value) -> TypeId {
        self.body.type_of(value, &self.module.constants)
    }

    /// The operation that makes a value.
    #[must_use]
    pub fn op(&self, value: Value) -> Option<&'a Op> {
        self.body.def_op(value)
    }

    /// The constant that a value is.
    #[must_use]
    pub fn constant(&self, value: Value) -> Option<&'a Constant> {
        value.constant().map(|id| &self.module.constants[id])
    }

    /// The integer that a value is, zero-extended; a null pointer is 0.
    #[must_use]
    pub fn int(&self, value: Value) -> Option<u128> {
        self.module.constants.as_int(value.constant()?)
    }

    /// The integer of at most 64 bits that a value is, sign-extended.
    #[must_use]
    pub fn signed(&self, value: Value) -> Option<i64> {
        let bits = self.module.types.int_bits(self.ty(value)).filter(|&bits| bits <= 64)?;
        Some(((self.int(value)? as u64) << (64 - bits)) as i64 >> (64 - bits))
    }

    /// The integer that a value is, or that every element of a vector is.
    #[must_use]
    pub fn splat_int(&self, value: Value) -> Option<u128> {
        match self.constant(value)? {
            Constant::Int(_, value) => Some(*value),
            Constant::Null(_) => Some(0),
            Constant::Zero(ty) if matches!(self.module.types[*ty], Type::Vector(..)) => Some(0),
            Constant::Aggregate(ty, items) if matches!(self.module.types[*ty], Type::Vector(..)) => {
                let first = *items.first()?;
                items.iter().all(|&item| item == first).then(|| self.module.constants.as_int(first))?
            }
            _ => None,
        }
    }

    /// Width in bits of an integer or pointer, or of the elements of a vector of them; none for more than 128, which
    /// nothing computes with.
    #[must_use]
    pub fn scalar_bits(&self, ty: TypeId) -> Option<u32> {
        match self.module.types[self.module.types.scalar(ty)] {
            Type::Int(bits) => (bits <= 128).then_some(bits),
            Type::Pointer(space) => Some(self.module.layout.pointer_bits(space)),
            _ => None,
        }
    }

    /// The parameter that a value is, counted from 0.
    #[must_use]
    pub fn param(&self, value: Value) -> Option<u32> {
        match self.body.def(value.local()?) {
            ValueDef::Param(index) => Some(index),
            ValueDef::Inst(_) => None,
        }
    }

    /// The function that a call names, if it names one.
    #[must_use]
    pub fn callee(&self, call: &Call) -> Option<&'a Symbol> {
        self.callee_id(call).map(|id| &self.module.symbols[id])
    }

    /// The function that a call names, if it names one.
    #[must_use]
    pub fn callee_id(&self, call: &Call) -> Option<SymbolId> {
        match &call.callee {
            Callee::Value(value) => match self.constant(*value)? {
                Constant::Symbol(_, symbol) => Some(*symbol),
                _ => None,
            },
            Callee::Asm(_) => None,
        }
    }

    /// The call that an instruction is.
    #[must_use]
    pub fn call(&self, inst: InstId) -> Option<&'a Call> {
        match &self.body[inst].op {
            Op::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The type of a call's result.
    #[must_use]
    pub fn result_type(&self, call: &Call) -> TypeId {
        match self.module.types[call.signature] {
            Type::Function { ret, .. } => ret,
            _ => TypeId::VOID,
        }
    }

    /// Width in bits of the integer offset of pointers of this type.
    #[must_use]
    pub fn index_bits(&self, pointer: TypeId) -> u32 {
        self.scalar_bits(pointer).unwrap_or(64)
    }
}
