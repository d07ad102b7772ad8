//! The instructions of a function, one by one.

use cranelift_entity::SecondaryMap;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::constant::to_words;
use super::limbs::{Limbs, Writer};
use super::{LIMB, WIDEST, types, wide_bits};
use crate::analysis::Cfg;
use crate::ir::{
    BinaryOp, BlockId, Body, Call, Callee, CastOp, Constant, GepFlags, InstFlags, InstId, Module, Op, Ordering,
    SymbolId, Type, TypeId, Value, ValueId,
};
use crate::select::Error;
use crate::text::print_instruction;

/// Takes a function apart.
pub(super) fn split(module: &mut Module, symbol: SymbolId) -> Result<(), Error> {
    let Some(mut body) = module.symbols[symbol].function_mut().and_then(|function| function.body.take()) else {
        return Ok(());
    };
    let result = match mentions_wide(module, &body) {
        true => Split::new(module, &mut body).run(),
        false => Ok(()),
    };
    let name = module.symbols[symbol].name.to_string();
    if let Some(function) = module.symbols[symbol].function_mut() {
        function.body = Some(body);
    }
    result.map_err(|error| Error { function: Some(name), ..error })
}

fn mentions_wide(module: &Module, body: &Body) -> bool {
    let params = body.params.iter().any(|&param| types::has_wide(module, body.local_type(param)));
    params
        || body.insts_in_order().any(|(_, inst)| {
            let mut wide = types::has_wide(module, body[inst].ty);
            body[inst]
                .op
                .for_each_value(|value| wide |= types::has_wide(module, body.type_of(value, &module.constants)));
            body[inst].op.clone().for_each_type_mut(|ty| wide |= types::has_wide(module, *ty));
            wide
        })
}

/// A function on its way.
struct Split<'a> {
    writer: Writer<'a>,
    /// The limbs of the values so far.
    limbs: FxHashMap<ValueId, Limbs>,
    /// `phi`s of wide integers: the old one, and those of its limbs.
    phis: Vec<(InstId, Vec<InstId>)>,
}

impl<'a> Split<'a> {
    fn new(module: &'a mut Module, body: &'a mut Body) -> Self {
        let writer = Writer { module, body, insts: Vec::new(), loc: None.into() };
        Split { writer, limbs: FxHashMap::default(), phis: Vec::new() }
    }

    fn run(mut self) -> Result<(), Error> {
        let cfg = Cfg::new(self.writer.body);
        let order: Vec<BlockId> = cfg.rpo().to_vec();
        self.drop_unreachable(&order);
        for (at, &block) in order.iter().enumerate() {
            let insts = std::mem::take(&mut self.writer.body[block].insts);
            let first = insts.iter().position(|&inst| !matches!(self.writer.body[inst].op, Op::Phi(_)));
            let (phis, rest) = insts.split_at(first.unwrap_or(insts.len()));
            phis.iter().for_each(|&phi| self.phi(phi));
            if at == 0 {
                self.params();
            }
            for &inst in rest {
                self.writer.loc = self.writer.body[inst].loc;
                if !self.inst(inst).map_err(|error| self.placed(error, inst))? {
                    self.writer.insts.push(inst);
                }
            }
            self.writer.body[block].insts = std::mem::take(&mut self.writer.insts);
        }
        for (phi, parts) in std::mem::take(&mut self.phis) {
            self.incoming(phi, &parts).map_err(|error| self.placed(error, phi))?;
        }
        self.types()
    }

    fn placed(&self, error: Error, inst: InstId) -> Error {
        let text = print_instruction(self.writer.module, self.writer.body, inst);
        Error { inst: Some(inst), text: Some(text), ..error }
    }

    /// Blocks that nothing reaches may use values that nothing defines.
    fn drop_unreachable(&mut self, order: &[BlockId]) {
        let body = &mut *self.writer.body;
        let mut reached: SecondaryMap<BlockId, bool> = SecondaryMap::new();
        order.iter().for_each(|&block| reached[block] = true);
        body.layout.retain(|&block| reached[block]);
        for &block in order {
            for at in 0..body[block].insts.len() {
                let inst = body[block].insts[at];
                let Op::Phi(incoming) = &mut body[inst].op else { break };
                incoming.retain(|(from, _)| reached[*from]);
            }
        }
    }

    /// Limbs of parameters, out of the arrays that they are passed as.
    fn params(&mut self) {
        for param in self.writer.body.params.clone() {
            let ty = self.writer.body.local_type(param);
            if let Some(bits) = wide_bits(self.writer.module, ty) {
                let limbs = self.limbs_at(param.into(), &[], bits);
                self.limbs.insert(param, limbs);
            }
        }
    }

    fn phi(&mut self, phi: InstId) {
        let Some(bits) = wide_bits(self.writer.module, self.writer.body[phi].ty) else {
            return self.writer.insts.push(phi);
        };
        self.writer.loc = self.writer.body[phi].loc;
        let count = bits.div_ceil(LIMB) as usize;
        let parts: Vec<InstId> =
            (0..count).map(|_| self.writer.effect(Op::Phi(SmallVec::new()), TypeId::I64)).collect();
        let limbs = parts.iter().map(|&part| self.writer.body.result(part).into()).collect();
        self.limbs.insert(self.writer.body.result(phi), limbs);
        self.phis.push((phi, parts));
    }

    fn incoming(&mut self, phi: InstId, parts: &[InstId]) -> Result<(), Error> {
        let Op::Phi(incoming) = self.writer.body[phi].op.clone() else { return Ok(()) };
        for (from, value) in incoming {
            let limbs = self.limbs_of(value)?;
            for (&part, limb) in parts.iter().zip(limbs) {
                if let Op::Phi(incoming) = &mut self.writer.body[part].op {
                    incoming.push((from, limb));
                }
            }
        }
        Ok(())
    }

    /// Arrays for integers in the types and constants that are left.
    fn types(&mut self) -> Result<(), Error> {
        let Writer { module, body, .. } = &mut self.writer;
        let mut failed = None;
        let insts: Vec<InstId> = body.insts_in_order().map(|(_, inst)| inst).collect();
        for inst in insts {
            let mut op = body[inst].op.clone();
            op.for_each_value_mut(|value| {
                if let Value::Const(id) = value {
                    match types::map_constant(module, *id) {
                        Ok(mapped) => *id = mapped,
                        Err(error) => failed = failed.take().or(Some(error)),
                    }
                }
            });
            body[inst].op = op;
        }
        body.for_each_type_mut(|ty| types::map(module, ty));
        failed.map_or(Ok(()), Err)
    }

    fn wide(&self, value: Value) -> Option<u32> {
        wide_bits(self.writer.module, self.type_of(value))
    }

    fn type_of(&self, value: Value) -> TypeId {
        self.writer.body.type_of(value, &self.writer.module.constants)
    }

    /// The limbs of a wide value. A value that is not defined before its use has no meaning.
    fn limbs_of(&mut self, value: Value) -> Result<Limbs, Error> {
        let bits = self.wide(value).ok_or_else(|| Error::new("operands of such types"))?;
        let words = match value {
            Value::Local(id) => match self.limbs.get(&id) {
                Some(limbs) => return Ok(limbs.clone()),
                None => vec![0; bits.div_ceil(LIMB) as usize],
            },
            Value::Const(id) => to_words(self.writer.module, id, bits).ok_or_else(types::unsupported)?,
        };
        Ok(words.into_iter().map(|word| self.writer.int(word)).collect())
    }

    /// The limbs of an integer at `path` of an aggregate.
    fn limbs_at(&mut self, aggregate: Value, path: &[u32], bits: u32) -> Limbs {
        let (unit, width) = types::unit(self.writer.module);
        let mut limbs = Limbs::new();
        for at in 0..bits.div_ceil(width) {
            let path = path.iter().copied().chain([at]).collect();
            let part = self.writer.push(Op::ExtractValue(aggregate, path), unit);
            limbs.extend(self.writer.limbs_of_narrow(part, width, false));
        }
        limbs.truncate(bits.div_ceil(LIMB) as usize);
        limbs
    }

    /// `aggregate` with an integer at `path`, as an array.
    fn with_limbs_at(&mut self, aggregate: Value, path: &[u32], limbs: &[Value]) -> Value {
        let (_, width) = types::unit(self.writer.module);
        let mut ty = self.type_of(aggregate);
        types::map(self.writer.module, &mut ty);
        let zero = self.writer.int(0);
        let parts = limbs.chunks((width / LIMB) as usize).enumerate();
        parts.fold(aggregate, |aggregate, (at, part)| {
            let part = match width {
                WIDEST => self.writer.joined(part[0], part.get(1).copied().unwrap_or(zero)),
                _ => part[0],
            };
            let path = path.iter().copied().chain([at as u32]).collect();
            self.writer.push(Op::InsertValue([aggregate, part], path), ty)
        })
    }

    /// The array that stands for a wide value.
    fn array_of(&mut self, value: Value) -> Result<Value, Error> {
        let bits = self.wide(value).unwrap_or(WIDEST);
        let limbs = self.limbs_of(value)?;
        let limbs = self.writer.extended(&limbs, bits, false);
        let mut ty = self.type_of(value);
        types::map(self.writer.module, &mut ty);
        let poison = self.writer.module.constants.intern(Constant::Poison(ty));
        Ok(self.with_limbs_at(poison.into(), &[], &limbs))
    }

    /// Replaces an instruction that has to do with wide integers; false for all others.
    fn inst(&mut self, inst: InstId) -> Result<bool, Error> {
        let op = self.writer.body[inst].op.clone();
        let ty = self.writer.body[inst].ty;
        let result = wide_bits(self.writer.module, ty);
        let mut operand = None;
        op.for_each_value(|value| operand = operand.or(self.wide(value)));
        self.refuse_vectors(&op, ty)?;
        let Some(bits) = result.or(operand) else { return Ok(false) };
        let narrow = |split: &mut Self, value: Value| split.replace(inst, value);
        match &op {
            Op::Binary(op, _, [a, b]) => {
                let limbs = self.binary(*op, bits, *a, *b)?;
                self.define(inst, limbs);
            }
            Op::ICmp(predicate, _, [a, b]) => {
                let (a, b) = (self.limbs_of(*a)?, self.limbs_of(*b)?);
                let value = self.writer.ordered(*predicate, &a, &b, bits);
                narrow(self, value);
            }
            Op::Select(_, [condition, a, b]) => {
                let (a, b) = (self.limbs_of(*a)?, self.limbs_of(*b)?);
                let limbs = self.writer.choose(*condition, &a, &b);
                self.define(inst, limbs);
            }
            Op::Freeze(value) => {
                let limbs = self.limbs_of(*value)?;
                let limbs = limbs.into_iter().map(|limb| self.writer.push(Op::Freeze(limb), TypeId::I64)).collect();
                self.define(inst, limbs);
            }
            Op::Cast(op, _, value) => self.cast(inst, *op, *value)?,
            Op::Load { ptr, align, volatile, ordering: Ordering::NotAtomic, .. } => {
                let limbs = self.load(*ptr, *align, *volatile, bits);
                self.define(inst, limbs);
            }
            Op::Store { value, ptr, align, volatile, ordering: Ordering::NotAtomic, .. } => {
                let limbs = self.limbs_of(*value)?;
                self.store(&limbs, *ptr, *align, *volatile, bits);
            }
            Op::ExtractValue(aggregate, path) => {
                let limbs = self.limbs_at(*aggregate, path, bits);
                self.define(inst, limbs);
            }
            Op::InsertValue([aggregate, value], path) => {
                let limbs = self.limbs_of(*value)?;
                let limbs = self.writer.extended(&limbs, bits, false);
                let value = self.with_limbs_at(*aggregate, path, &limbs);
                narrow(self, value);
            }
            Op::Call(call) => self.call(inst, call)?,
            Op::Ret(Some(value)) => {
                let value = self.array_of(*value)?;
                self.writer.effect(Op::Ret(Some(value)), TypeId::VOID);
            }
            Op::Gep { source, flags, base, indices } => {
                let indices = indices.iter().map(|&index| self.index(index)).collect::<Result<_, _>>()?;
                let op = Op::Gep { source: *source, flags: *flags, base: *base, indices };
                let value = self.writer.push(op, ty);
                narrow(self, value);
            }
            _ => return Err(Error::new("such instructions on integers of more than 128 bits")),
        }
        Ok(true)
    }

    fn refuse_vectors(&self, op: &Op, ty: TypeId) -> Result<(), Error> {
        let module = &*self.writer.module;
        let is_one = |ty| matches!(module.types[ty], Type::Vector(..)) && types::has_wide(module, ty);
        let mut found = is_one(ty);
        op.for_each_value(|value| found |= is_one(self.type_of(value)));
        if found { Err(Error::new("vectors of integers of more than 128 bits")) } else { Ok(()) }
    }

    fn define(&mut self, inst: InstId, limbs: Limbs) {
        let result = self.writer.body.result(inst);
        self.limbs.insert(result, limbs);
    }

    /// Lets the result of an instruction be `value`, of a type that stays.
    fn replace(&mut self, inst: InstId, value: Value) {
        let ty = self.writer.body[inst].ty;
        // The old result is the one that is read; freezing a value of a few bits costs nothing.
        let no = InstFlags::empty();
        self.writer.body[inst].op = match self.writer.module.types[ty] {
            Type::Int(_) => {
                let zero = self.writer.module.constants.int(ty, 1, 0).into();
                Op::Binary(BinaryOp::Or, no, [value, zero])
            }
            _ => Op::Freeze(value),
        };
        self.writer.insts.push(inst);
    }

    /// An index as a number of 64 bits.
    fn index(&mut self, value: Value) -> Result<Value, Error> {
        Ok(if self.wide(value).is_some() { self.limbs_of(value)?[0] } else { value })
    }

    fn binary(&mut self, op: BinaryOp, bits: u32, a: Value, b: Value) -> Result<Limbs, Error> {
        let (a, b) = (self.limbs_of(a)?, self.limbs_of(b)?);
        Ok(match op {
            BinaryOp::Add => self.writer.add(&a, &b),
            BinaryOp::Sub => self.writer.sub(&a, &b),
            BinaryOp::Mul => self.writer.mul(&a, &b),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => self.writer.each(op, &a, &b),
            BinaryOp::Shl | BinaryOp::LShr | BinaryOp::AShr => self.writer.shift(op, &a, b[0], bits),
            _ => return Err(Error::new("such instructions on integers of more than 128 bits")),
        })
    }

    fn cast(&mut self, inst: InstId, op: CastOp, value: Value) -> Result<(), Error> {
        let to = self.writer.body[inst].ty;
        let from = self.type_of(value);
        let width = |split: &Self, ty| split.writer.module.types.int_bits(ty);
        match (op, width(self, from), width(self, to)) {
            (CastOp::Trunc | CastOp::ZExt | CastOp::SExt, Some(from), Some(to_bits)) => {
                let signed = op == CastOp::SExt;
                let limbs = match self.wide(value) {
                    Some(_) => self.limbs_of(value)?,
                    None => self.writer.limbs_of_narrow(value, from, signed),
                };
                let own = if from > WIDEST { from } else { limbs.len() as u32 * LIMB };
                let limbs = self.writer.resized(&limbs, own, to_bits, signed);
                self.finish(inst, limbs, to, to_bits);
            }
            (CastOp::PtrToInt, _, Some(to_bits)) => {
                let address = self.writer.cast(CastOp::PtrToInt, value, TypeId::I64);
                let limbs = self.writer.resized(&[address], LIMB, to_bits, false);
                self.finish(inst, limbs, to, to_bits);
            }
            (CastOp::IntToPtr, ..) => {
                let low = self.limbs_of(value)?[0];
                self.writer.body[inst].op = Op::Cast(CastOp::IntToPtr, InstFlags::empty(), low);
                self.writer.insts.push(inst);
            }
            (CastOp::Bitcast, Some(bits), None) if bits.is_multiple_of(LIMB) => {
                let limbs = self.limbs_of(value)?;
                let vector = self.vector_of(&limbs);
                self.writer.body[inst].op = Op::Cast(CastOp::Bitcast, InstFlags::empty(), vector);
                self.writer.insts.push(inst);
            }
            (CastOp::Bitcast, None, Some(bits)) if bits.is_multiple_of(LIMB) => {
                let vector = self.writer.module.types.vector(TypeId::I64, bits / LIMB);
                let vector = self.writer.cast(CastOp::Bitcast, value, vector);
                let limb = |split: &mut Self, at: u32| {
                    let index = split.lane(at);
                    split.writer.push(Op::ExtractElement([vector, index]), TypeId::I64)
                };
                let limbs = (0..bits / LIMB).map(|at| limb(self, at)).collect();
                self.define(inst, limbs);
            }
            _ => return Err(Error::new("such conversions of integers of more than 128 bits")),
        }
        Ok(())
    }

    /// Lets the result of a conversion to `bits` bits be `limbs`.
    fn finish(&mut self, inst: InstId, limbs: Limbs, to: TypeId, bits: u32) {
        if bits > WIDEST {
            return self.define(inst, limbs);
        }
        let value = if bits > LIMB { self.writer.joined(limbs[0], limbs[1]) } else { limbs[0] };
        if bits == WIDEST || bits == LIMB {
            return self.replace(inst, value);
        }
        self.writer.body[inst].op = Op::Cast(CastOp::Trunc, InstFlags::empty(), value);
        self.writer.body.retype(inst, to);
        self.writer.insts.push(inst);
    }

    fn lane(&mut self, at: u32) -> Value {
        self.writer.module.constants.int(TypeId::I32, 32, at.into()).into()
    }

    fn vector_of(&mut self, limbs: &[Value]) -> Value {
        let ty = self.writer.module.types.vector(TypeId::I64, limbs.len() as u32);
        let poison = self.writer.module.constants.intern(Constant::Poison(ty));
        let whole = limbs.iter().enumerate();
        whole.fold(poison.into(), |vector, (at, &limb)| {
            let index = self.lane(at as u32);
            self.writer.push(Op::InsertElement([vector, limb, index]), ty)
        })
    }

    /// The bytes of each limb in memory: offset, bytes, alignment.
    fn parts(bits: u32, align: u32) -> impl Iterator<Item = (u64, u32, u32)> {
        let bytes = bits.div_ceil(8);
        (0..bytes).step_by(8).map(move |at| {
            let own = if at == 0 { align } else { align.min(1 << at.trailing_zeros()) };
            (at.into(), (bytes - at).min(8), own)
        })
    }

    fn address(&mut self, ptr: Value, offset: u64) -> Value {
        if offset == 0 {
            return ptr;
        }
        let index = self.writer.int(offset);
        let indices = [index].into_iter().collect();
        let ty = self.type_of(ptr);
        self.writer.push(Op::Gep { source: TypeId::I8, flags: GepFlags::empty(), base: ptr, indices }, ty)
    }

    fn load(&mut self, ptr: Value, align: u32, volatile: bool, bits: u32) -> Limbs {
        let mut limbs = Limbs::new();
        for (offset, bytes, align) in Self::parts(bits, align) {
            let ptr = self.address(ptr, offset);
            let ty = self.writer.module.types.int(8 * bytes);
            let mut op = Op::load(ptr, align);
            if let Op::Load { volatile: kept, .. } = &mut op {
                *kept = volatile;
            }
            let part = self.writer.push(op, ty);
            limbs.push(self.writer.cast(CastOp::ZExt, part, TypeId::I64));
        }
        limbs
    }

    /// Bits above the width are 0 in memory.
    fn store(&mut self, limbs: &[Value], ptr: Value, align: u32, volatile: bool, bits: u32) {
        let limbs = self.writer.extended(limbs, bits, false);
        for ((offset, bytes, align), limb) in Self::parts(bits, align).zip(limbs) {
            let ptr = self.address(ptr, offset);
            let ty = self.writer.module.types.int(8 * bytes);
            let part = self.writer.cast(CastOp::Trunc, limb, ty);
            let mut op = Op::store(part, ptr, align);
            if let Op::Store { volatile: kept, .. } = &mut op {
                *kept = volatile;
            }
            self.writer.effect(op, TypeId::VOID);
        }
    }

    fn call(&mut self, inst: InstId, call: &Call) -> Result<(), Error> {
        let ty = self.writer.body[inst].ty;
        if let Some(limbs) = self.intrinsic(call)? {
            self.define(inst, limbs);
            return Ok(());
        }
        if matches!(call.callee, Callee::Asm(_)) {
            return Err(Error::new("operands of inline assembly of more than 128 bits"));
        }
        let mut call = call.clone();
        for arg in &mut call.args {
            if self.wide(*arg).is_some() {
                *arg = self.array_of(*arg)?;
            }
        }
        let Some(bits) = wide_bits(self.writer.module, ty) else {
            self.writer.body[inst].op = Op::Call(Box::new(call));
            self.writer.insts.push(inst);
            return Ok(());
        };
        let mut array = ty;
        types::map(self.writer.module, &mut array);
        let value = self.writer.push(Op::Call(Box::new(call)), array);
        let limbs = self.limbs_at(value, &[], bits);
        self.define(inst, limbs);
        Ok(())
    }

    /// The intrinsics that limbs know.
    fn intrinsic(&mut self, call: &Call) -> Result<Option<Limbs>, Error> {
        let Callee::Value(Value::Const(callee)) = call.callee else { return Ok(None) };
        let Constant::Symbol(_, symbol) = self.writer.module.constants[callee] else { return Ok(None) };
        let name = self.writer.module.symbols[symbol].name.to_string();
        let Some(name) = name.strip_prefix("llvm.").and_then(|name| name.split('.').next()) else { return Ok(None) };
        let (Some(&value), Some(bits)) = (call.args.first(), call.args.first().and_then(|&arg| self.wide(arg))) else {
            return Ok(None);
        };
        let limbs = self.limbs_of(value)?;
        Ok(match name {
            "ctpop" => Some(self.writer.population(&limbs, bits)),
            "ctlz" => Some(self.writer.leading_zeros(&limbs, bits)),
            "cttz" => Some(self.writer.trailing_zeros(&limbs, bits)),
            "bswap" | "bitreverse" => Some(self.writer.reversed(name, &limbs, bits)),
            _ => None,
        })
    }
}
