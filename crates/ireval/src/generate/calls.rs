//! Functions of the module, calls of them, and inline assembly.

use super::function::{Maker, Region};
use super::options::Kinds;
use oriole_nvptx::ir::{
    Attributes, BinaryOp, Call, Callee, CallingConvention, Constant, Function, InlineAsm, InstFlags, IntPredicate, Op,
    Param, ParamFlags, Symbol, SymbolId, SymbolKind, Tail, Type, TypeId, Value,
};
use smallvec::SmallVec;

impl Maker {
    /// A function that later functions may call.
    pub(super) fn function(&mut self, number: u32) {
        let ret = if self.chance(6) { TypeId::VOID } else { self.passed_type() };
        let mut params: Vec<Param> = (0..self.random.u32(1..5)).map(|_| self.param()).collect();
        let recursive = self.has(Kinds::RECURSION) && self.chance(8);
        if recursive {
            params.insert(0, Param { ty: TypeId::I32, attributes: Attributes::default() });
        }
        let types: Vec<TypeId> = params.iter().map(|param| param.ty).collect();
        let budget = self.random.u32(2..10);
        self.start(&types, ret, budget);
        let pointers: Vec<Region> = params
            .iter()
            .zip(&self.body.params)
            .filter_map(|(param, &value)| {
                let size = self.module.layout.size(&self.module.types, param.attributes.by_val?) as u32;
                let address = value.into();
                Some(Region {
                    address,
                    ty: param.ty,
                    size,
                    align: param.attributes.align,
                    writable: true,
                    atomic: false,
                })
            })
            .collect();
        self.pool.retain(|&(_, ty)| ty != TypeId::PTR);
        self.regions.extend(pointers);
        self.local_variables();
        if recursive {
            self.recursion(&format!("f{number}"), &params);
        }
        self.statements();
        self.return_value();
        let id = self.finish(&format!("f{number}"), params, CallingConvention::C);
        self.functions.push(id);
    }

    /// A call of the function itself, whose first parameter says how often at most.
    fn recursion(&mut self, name: &str, params: &[Param]) {
        let depth = Value::Local(self.body.params[0]);
        let [mask, zero, one] = [3, 0, 1].map(|value| Value::from(self.int_splat(TypeId::I32, value)));
        let left = self.binary(BinaryOp::And, TypeId::I32, depth, mask);
        let again = self.emit(Op::ICmp(IntPredicate::Ne, InstFlags::empty(), [left, zero]), TypeId::I1);
        let before = (self.ret != TypeId::VOID).then(|| self.value(self.ret));
        let [call, join] = [(); 2].map(|()| self.body.make_block());
        let (from, outside) = (self.block, self.pool.len());
        self.push(Op::CondBr(again, [call, join]));
        self.enter(call);
        let less = self.binary(BinaryOp::Sub, TypeId::I32, left, one);
        let id = self.module.symbol_or_new(name);
        let types: Box<[TypeId]> = params.iter().map(|param| param.ty).collect();
        let signature = self.module.types.intern(Type::Function { ret: self.ret, params: types, varargs: false });
        let (mut args, attributes) = self.arguments(params);
        args[0] = less;
        let callee = Callee::Value(self.symbol(id));
        let result = self.call(callee, signature, args, attributes, self.ret);
        self.pool.truncate(outside);
        self.push(Op::Br(join));
        self.enter(join);
        if let (Some(before), Some(result)) = (before, result) {
            self.define(Op::Phi(SmallVec::from_slice(&[(from, before), (call, result)])), self.ret);
        }
    }

    fn param(&mut self) -> Param {
        let mut attributes = Attributes::default();
        if self.has(Kinds::AGGREGATES) && self.has(Kinds::MEMORY) && self.chance(6) {
            let ty = self.aggregate_without_padding();
            attributes.align = self.module.layout.align(&self.module.types, ty).max(self.choose(&[1, 4, 8]));
            attributes.by_val = Some(ty);
            return Param { ty: TypeId::PTR, attributes };
        }
        let ty = self.passed_type();
        let narrow = self.module.types.int_bits(ty).is_some_and(|bits| bits < 32);
        if narrow && self.chance(2) {
            attributes.param |= self.choose(&[ParamFlags::SIGN_EXT, ParamFlags::ZERO_EXT]);
        }
        Param { ty, attributes }
    }

    /// A call of a function of the module.
    pub(super) fn call_statement(&mut self) {
        if self.functions.is_empty() {
            return self.arithmetic_statement();
        }
        let id = self.functions[self.random.usize(..self.functions.len())];
        let Some(function) = self.module.symbols[id].function() else { return };
        let (params, signature, ret) = (function.params.clone(), function.signature, function.ret);
        let (args, attributes) = self.arguments(&params);
        let mut callee = self.symbol(id);
        if self.has(Kinds::POINTERS) && self.chance(6) {
            // By way of memory, so that it is not known who is called.
            let slot = self.slot(TypeId::PTR, 8);
            self.store(callee, slot, 8);
            callee = self.load(slot, TypeId::PTR, 8);
        }
        self.call(Callee::Value(callee), signature, args, attributes, ret);
    }

    /// Arguments for parameters, and their attributes.
    fn arguments(&mut self, params: &[Param]) -> (SmallVec<[Value; 4]>, Vec<(u32, Attributes)>) {
        let mut args: SmallVec<[Value; 4]> = SmallVec::new();
        let mut attributes = Vec::new();
        for (index, param) in params.iter().enumerate() {
            match param.attributes.by_val {
                Some(ty) => args.push(self.argument_in_memory(ty, param.attributes.align)),
                None => args.push(self.value(param.ty)),
            }
            if param.attributes != Attributes::default() {
                attributes.push((index as u32, param.attributes.clone()));
            }
        }
        (args, attributes)
    }

    /// The address of a variable that holds a value to be passed `byval`.
    fn argument_in_memory(&mut self, ty: TypeId, align: u32) -> Value {
        let slot = self.slot(ty, align);
        // What no field of the first level covers is something too.
        let size = self.module.layout.size(&self.module.types, ty) as u32;
        for at in 0..size {
            let byte = self.module.constants.int(TypeId::I8, 8, u128::from(at)).into();
            let ptr = self.offset(slot, TypeId::PTR, at);
            self.store(byte, ptr, 1);
        }
        for (at, field, offset) in self.fields(ty) {
            let value = self.value(field);
            let ptr = self.offset(slot, TypeId::PTR, offset);
            let own = if at == 0 { align } else { align.min(1 << offset.trailing_zeros().min(4)) };
            self.store(value, ptr, own);
        }
        slot
    }

    /// Scalars and vectors at the first level of an aggregate: number, type, offset.
    fn fields(&self, ty: TypeId) -> Vec<(usize, TypeId, u32)> {
        let types = &self.module.types;
        let Type::Struct { fields, .. } = &types[ty] else { return Vec::new() };
        let place = |(at, &field): (usize, &TypeId)| {
            (!types.is_aggregate(field))
                .then(|| (at, field, self.module.layout.element_offset(types, ty, at as u64) as u32))
        };
        fields.iter().enumerate().filter_map(place).collect()
    }

    /// A symbol as an operand.
    fn symbol(&mut self, id: SymbolId) -> Value {
        self.module.constants.intern(Constant::Symbol(TypeId::PTR, id)).into()
    }

    /// Adds a call; its result, which may be read from now on, if it has one.
    fn call(
        &mut self,
        callee: Callee,
        signature: TypeId,
        args: SmallVec<[Value; 4]>,
        arg_attributes: Vec<(u32, Attributes)>,
        ret: TypeId,
    ) -> Option<Value> {
        let call = Call {
            callee,
            signature,
            args,
            attributes: Attributes::default(),
            ret_attributes: Attributes::default(),
            arg_attributes,
            convention: CallingConvention::C,
            tail: Tail::None,
            flags: InstFlags::empty(),
        };
        let op = Op::Call(Box::new(call));
        if ret == TypeId::VOID {
            self.push(op);
            return None;
        }
        let value = self.emit(op, ret);
        self.pool.push((value, ret));
        Some(value)
    }

    /// A call of a function without a body, declared when first called.
    pub(super) fn call_intrinsic(
        &mut self,
        name: &str,
        args: &[Value],
        types: &[TypeId],
        ret: TypeId,
        aligns: &[(u32, u32)],
    ) -> Option<Value> {
        let signature = self.module.types.intern(Type::Function { ret, params: types.into(), varargs: false });
        let id = self.module.symbol_or_new(name);
        if matches!(self.module.symbols[id].kind, SymbolKind::Undefined) {
            let params = types.iter().map(|&ty| Param { ty, attributes: Attributes::default() }).collect();
            let function = Function {
                signature,
                ret,
                ret_attributes: Attributes::default(),
                params,
                varargs: false,
                attributes: Attributes::default(),
                convention: CallingConvention::C,
                debug: None.into(),
                body: None,
            };
            self.module.symbols[id] =
                Symbol { kind: SymbolKind::Function(Box::new(function)), ..Symbol::undefined(name) };
        }
        let with_align = |&(index, align): &(u32, u32)| (index, Attributes { align, ..Attributes::default() });
        let attributes = aligns.iter().map(with_align).collect();
        let callee = Callee::Value(self.symbol(id));
        self.call(callee, signature, args.into(), attributes, ret)
    }

    /// A call of an intrinsic that has a result.
    pub(super) fn intrinsic(&mut self, name: &str, args: &[(Value, TypeId)], ret: TypeId) -> Value {
        let (values, types): (Vec<Value>, Vec<TypeId>) = args.iter().copied().unzip();
        match self.call_intrinsic(name, &values, &types, ret, &[]) {
            Some(value) => value,
            None => self.constant(ret).into(),
        }
    }

    /// One instruction of PTX on registers.
    pub(super) fn asm_statement(&mut self) {
        let (ty, constraint, bits) =
            self.choose(&[(TypeId::I32, 'r', 32), (TypeId::I64, 'l', 64), (TypeId::I16, 'h', 16)]);
        let (name, count, kind) = self.choose(&[
            ("add", 2, 's'),
            ("sub", 2, 'u'),
            ("xor", 2, 'b'),
            ("and", 2, 'b'),
            ("mul.lo", 2, 's'),
            ("max", 2, 's'),
            ("min", 2, 'u'),
            ("mad.lo", 3, 'u'),
            ("not", 1, 'b'),
            ("mov", 1, 'u'),
        ]);
        let operands: Vec<String> = (0..=count).map(|number| format!("${number}")).collect();
        let constraints: Vec<String> =
            std::iter::once(format!("={constraint}")).chain((0..count).map(|_| constraint.to_string())).collect();
        let asm = InlineAsm {
            text: format!("{name}.{kind}{bits} {};", operands.join(", ")).into(),
            constraints: constraints.join(",").into(),
            side_effects: self.chance(3),
        };
        let args: SmallVec<[Value; 4]> = (0..count).map(|_| self.value(ty)).collect();
        let signature = Type::Function { ret: ty, params: vec![ty; count].into(), varargs: false };
        let signature = self.module.types.intern(signature);
        self.call(Callee::Asm(Box::new(asm)), signature, args, Vec::new(), ty);
    }
}
