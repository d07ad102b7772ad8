//! The verifier: what a module must be so that passes need not look.

use std::fmt;

use cranelift_entity::SecondaryMap;
use thiserror::Error;

use super::{
    BinaryOp, BlockId, Body, Call, Callee, CastOp, InstId, Module, Op, Ordering, RmwOp, SymbolId, SymbolKind, Type,
    TypeId, Types, Value,
};
use crate::analysis::{Cfg, DomTree};

/// What is wrong with a module.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub struct VerifyError {
    /// The symbol.
    pub symbol: String,
    /// The instruction, if it is one of a function.
    pub inst: Option<InstId>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`@{}`", self.symbol)?;
        if let Some(inst) = self.inst {
            write!(f, ", {inst}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// What a check gives: nothing, or what is wrong.
type Checked = Result<(), String>;

/// Looks at all of a module.
///
/// In each function, blocks are complete (`phi`s first, a terminator last, nothing else in between),
/// operands have the types that operations take, arguments those of the signature, the incoming
/// blocks of a `phi` are the predecessors of its block, and definitions dominate uses in all blocks
/// that can be reached. Symbols are declared, and initial values have the type of their variable.
///
/// # Errors
///
/// The first thing that is not so.
pub fn verify(module: &Module) -> Result<(), VerifyError> {
    for (id, symbol) in &module.symbols {
        check_symbol(module, id).map_err(|message| VerifyError {
            symbol: symbol.name.to_string(),
            inst: None,
            message,
        })?;
        if let Some(body) = symbol.function().and_then(|function| function.body.as_deref()) {
            verify_body(module, id, body)?;
        }
    }
    Ok(())
}

fn check_symbol(module: &Module, id: SymbolId) -> Checked {
    match &module.symbols[id].kind {
        SymbolKind::Undefined => Err("the symbol is not declared".into()),
        SymbolKind::Variable(variable) => match variable.init {
            Some(init) if module.constants.ty(init) != variable.ty => {
                Err("the initial value has another type than the variable".into())
            }
            _ => Ok(()),
        },
        SymbolKind::Alias(alias) => match module.types[module.constants.ty(alias.target)] {
            Type::Pointer(_) => Ok(()),
            _ => Err("an alias stands for an address".into()),
        },
        SymbolKind::Function(function) => match &module.types[function.signature] {
            Type::Function { ret, params, varargs } => {
                let same = params.iter().copied().eq(function.params.iter().map(|param| param.ty));
                expect(
                    same && *ret == function.ret && *varargs == function.varargs,
                    "the signature differs from parameters and result",
                )
            }
            _ => Err("the signature is no function type".into()),
        },
    }
}

/// Looks at one body, that of the function `id`, which need not be in the module yet.
///
/// # Errors
///
/// As [`verify`].
pub fn verify_body(module: &Module, id: SymbolId, body: &Body) -> Result<(), VerifyError> {
    let fail = |(inst, message): (Option<InstId>, String)| VerifyError {
        symbol: module.symbols[id].name.to_string(),
        inst,
        message,
    };
    let checker = Checker { module, body, ret: module.symbols[id].function().map_or(TypeId::VOID, |f| f.ret) };
    checker.blocks().map_err(fail)?;
    for (_, inst) in body.insts_in_order() {
        checker.types(inst).map_err(|message| fail((Some(inst), message)))?;
    }
    checker.edges().map_err(fail)?;
    checker.dominance().map_err(fail)
}

/// True when the conversion `op` goes from type `from` to type `to`.
#[must_use]
pub fn cast_takes(module: &Module, op: CastOp, from: TypeId, to: TypeId) -> bool {
    let types = &module.types;
    if op == CastOp::Bitcast {
        return bitcast_takes(module, from, to);
    }
    if types.as_vector(from).map(|(_, len)| len) != types.as_vector(to).map(|(_, len)| len) {
        return false;
    }
    let (from, to) = (types.scalar(from), types.scalar(to));
    let ints = |order: fn(&u32, &u32) -> bool| match (types.int_bits(from), types.int_bits(to)) {
        (Some(from), Some(to)) => order(&from, &to),
        _ => false,
    };
    let size = |ty| match types[ty] {
        Type::OtherFloat(_) => 80,
        _ => module.layout.bits(types, ty),
    };
    let floats = types.is_float(from) && types.is_float(to);
    let is_int = |ty| types.int_bits(ty).is_some();
    let is_pointer = |ty| types.address_space(ty).is_some();
    match op {
        CastOp::Trunc => ints(|from, to| from > to),
        CastOp::ZExt | CastOp::SExt => ints(|from, to| from < to),
        CastOp::FpTrunc => floats && size(from) > size(to),
        CastOp::FpExt => floats && size(from) < size(to),
        CastOp::FpToUi | CastOp::FpToSi => types.is_float(from) && is_int(to),
        CastOp::UiToFp | CastOp::SiToFp => is_int(from) && types.is_float(to),
        CastOp::PtrToInt => is_pointer(from) && is_int(to),
        CastOp::IntToPtr => is_int(from) && is_pointer(to),
        CastOp::AddrSpaceCast => is_pointer(from) && is_pointer(to),
        CastOp::Bitcast => false,
    }
}

/// The conversion that `op` is where byte types are integers: `bitcast` takes a byte to a pointer and back.
pub(crate) fn byte_cast(module: &Module, op: CastOp, from: TypeId, to: TypeId) -> CastOp {
    let [from, to] = [from, to].map(|ty| module.types.address_space(module.types.scalar(ty)).is_some());
    match (op, from, to) {
        (CastOp::Bitcast, false, true) => CastOp::IntToPtr,
        (CastOp::Bitcast, true, false) => CastOp::PtrToInt,
        _ => op,
    }
}

fn bitcast_takes(module: &Module, from: TypeId, to: TypeId) -> bool {
    let types = &module.types;
    if from == to {
        return is_value_type(types, from) && !types.is_aggregate(from);
    }
    let plain = |ty| types.int_bits(types.scalar(ty)).is_some() || types.is_float(types.scalar(ty));
    plain(from) && plain(to) && module.layout.bits(types, from) == module.layout.bits(types, to)
}

/// True for what a value may be of.
fn is_value_type(types: &Types, ty: TypeId) -> bool {
    !matches!(types[ty], Type::Void | Type::Label | Type::Opaque(_) | Type::Function { .. })
}

fn expect(holds: bool, message: &str) -> Checked {
    if holds { Ok(()) } else { Err(message.to_owned()) }
}

/// What the checks of one body look at.
struct Checker<'a> {
    module: &'a Module,
    body: &'a Body,
    ret: TypeId,
}

/// A fault and the instruction that has it.
type Fault = (Option<InstId>, String);

impl Checker<'_> {
    fn ty(&self, value: Value) -> TypeId {
        self.body.type_of(value, &self.module.constants)
    }

    fn scalar(&self, value: Value) -> TypeId {
        self.module.types.scalar(self.ty(value))
    }

    fn text(&self, ty: TypeId) -> String {
        self.module.types.text(ty)
    }

    /// The form of blocks.
    fn blocks(&self) -> Result<(), Fault> {
        if self.body.layout.is_empty() {
            return Err((None, "a function has at least one block".into()));
        }
        for &block in &self.body.layout {
            let insts = &self.body[block].insts;
            let Some((&last, others)) = insts.split_last() else {
                return Err((None, format!("{block} is empty")));
            };
            if !self.body[last].op.is_terminator() {
                return Err((Some(last), "the last instruction of a block is a terminator".into()));
            }
            let mut phis = true;
            for &inst in others {
                let op = &self.body[inst].op;
                if op.is_terminator() {
                    return Err((Some(inst), "a terminator is the last instruction of its block".into()));
                }
                let phi = matches!(op, Op::Phi(_));
                if phi && !phis {
                    return Err((Some(inst), "`phi` stands before all else in its block".into()));
                }
                phis = phi;
            }
        }
        Ok(())
    }

    /// The types of one instruction.
    fn types(&self, inst: InstId) -> Checked {
        let ty = self.body[inst].ty;
        match &self.body[inst].op {
            Op::Binary(op, _, [a, b]) => self.binary(*op, ty, *a, *b),
            Op::FNeg(_, value) => {
                self.same(ty, *value)?;
                expect(self.module.types.is_float(self.scalar(*value)), "`fneg` takes floating point")
            }
            Op::Cast(op, _, value) => {
                let from = self.ty(*value);
                let takes = cast_takes(self.module, *op, from, ty);
                let message =
                    || format!("`{}` does not go from `{}` to `{}`", op.as_str(), self.text(from), self.text(ty));
                if takes { Ok(()) } else { Err(message()) }
            }
            Op::ICmp(_, _, [a, b]) => {
                self.same(self.ty(*a), *b)?;
                let scalar = &self.module.types[self.scalar(*a)];
                expect(matches!(scalar, Type::Int(_) | Type::Pointer(_)), "`icmp` takes integers or pointers")
            }
            Op::FCmp(_, _, [a, b]) => {
                self.same(self.ty(*a), *b)?;
                expect(self.module.types.is_float(self.scalar(*a)), "`fcmp` takes floating point")
            }
            Op::Select(_, [condition, a, b]) => {
                self.same(ty, *a)?;
                self.same(ty, *b)?;
                let condition = self.ty(*condition);
                let vector = self.module.types.as_vector(condition).filter(|(element, _)| *element == TypeId::I1);
                let lengths = vector.map(|(_, len)| len) == self.module.types.as_vector(ty).map(|(_, len)| len);
                expect(condition == TypeId::I1 || (vector.is_some() && lengths), "the condition of `select` is an `i1`")
            }
            Op::Freeze(value) => self.same(ty, *value),
            Op::Load { .. }
            | Op::Store { .. }
            | Op::Alloca { .. }
            | Op::Gep { .. }
            | Op::CmpXchg { .. }
            | Op::AtomicRmw { .. } => self.memory(inst),
            Op::Fence(..) | Op::Br(_) | Op::Unreachable => Ok(()),
            Op::ExtractValue(whole, path) => self.part(*whole, path, ty),
            Op::InsertValue([whole, part], path) => {
                self.same(ty, *whole)?;
                self.part(*whole, path, self.ty(*part))
            }
            Op::ExtractElement([vector, index]) => self.lane(*vector, ty, *index),
            Op::InsertElement([vector, part, index]) => {
                self.same(ty, *vector)?;
                self.lane(*vector, self.ty(*part), *index)
            }
            Op::Shuffle([a, b], mask) => {
                self.same(self.ty(*a), *b)?;
                let limit = 2 * self.module.types.element_count(self.ty(*a));
                let fits = |&at: &i32| at == -1 || u64::try_from(at).is_ok_and(|at| at < limit);
                expect(mask.iter().all(fits), "the mask of `shufflevector` names an element that is not there")
            }
            Op::Phi(incoming) => {
                expect(is_value_type(&self.module.types, ty), "`phi` cannot be of this type")?;
                incoming.iter().try_for_each(|(_, value)| self.same(ty, *value))
            }
            Op::Call(call) => self.call(call, ty),
            Op::VaArg(list) => self.address(*list),
            Op::Ret(value) => {
                let is = value.map_or(TypeId::VOID, |value| self.ty(value));
                let message = || format!("the function gives `{}`, not `{}`", self.text(self.ret), self.text(is));
                if is == self.ret { Ok(()) } else { Err(message()) }
            }
            Op::CondBr(condition, _) => expect(self.ty(*condition) == TypeId::I1, "the condition of `br` is an `i1`"),
            Op::Switch { value, .. } => {
                expect(self.module.types.int_bits(self.ty(*value)).is_some(), "`switch` takes an integer")
            }
            Op::IndirectBr(address, _) => self.address(*address),
        }
    }

    /// Addresses and what is done with them.
    fn memory(&self, inst: InstId) -> Checked {
        let ty = self.body[inst].ty;
        match &self.body[inst].op {
            Op::Load { ptr, ordering, .. } => {
                self.address(*ptr)?;
                expect(is_value_type(&self.module.types, ty), "this cannot be loaded")?;
                let wrong = matches!(ordering, Ordering::Release | Ordering::AcqRel);
                expect(!wrong, "a load cannot release")?;
                if *ordering == Ordering::NotAtomic { Ok(()) } else { self.atomic(ty) }
            }
            Op::Store { value, ptr, ordering, .. } => {
                self.address(*ptr)?;
                expect(is_value_type(&self.module.types, self.ty(*value)), "this cannot be stored")?;
                let wrong = matches!(ordering, Ordering::Acquire | Ordering::AcqRel);
                expect(!wrong, "a store cannot acquire")?;
                if *ordering == Ordering::NotAtomic { Ok(()) } else { self.atomic(self.ty(*value)) }
            }
            Op::Alloca { count, .. } => {
                expect(self.module.types.int_bits(self.ty(*count)).is_some(), "the count of `alloca` is an integer")
            }
            Op::Gep { base, indices, .. } => {
                let base = self.scalar(*base);
                expect(self.module.types.address_space(base).is_some(), "the base of `getelementptr` is a pointer")?;
                let numbers = indices.iter().all(|&index| self.module.types.int_bits(self.scalar(index)).is_some());
                expect(numbers, "the indices of `getelementptr` are integers")
            }
            Op::CmpXchg { ptr, expected, new, .. } => {
                self.address(*ptr)?;
                self.same(self.ty(*expected), *new)?;
                let wanted = matches!(self.module.types[self.ty(*new)], Type::Int(_) | Type::Pointer(_));
                expect(wanted, "`cmpxchg` takes integers or pointers")?;
                self.atomic(self.ty(*new))
            }
            Op::AtomicRmw { op, ptr, value, .. } => {
                self.address(*ptr)?;
                self.same(ty, *value)?;
                self.rmw(*op, ty)?;
                self.atomic(ty)
            }
            _ => Ok(()),
        }
    }

    /// An atomic access is of 8, 16, 32… bits.
    fn atomic(&self, ty: TypeId) -> Checked {
        let bits = self.module.layout.bits(&self.module.types, ty);
        expect(bits >= 8 && bits.is_power_of_two(), "an atomic access is of 8 bits, or of a power of two above that")
    }

    fn rmw(&self, op: RmwOp, ty: TypeId) -> Checked {
        let types = &self.module.types;
        let (is_int, is_float) = (types.int_bits(ty).is_some(), types.is_float(types.scalar(ty)));
        let is_pointer = matches!(types[ty], Type::Pointer(_));
        match op {
            RmwOp::Xchg => expect(
                is_int || is_pointer || types.is_float(ty),
                "`atomicrmw xchg` takes an integer, a pointer or floating point",
            ),
            _ if op.is_float() => expect(is_float, "this operation of `atomicrmw` takes floating point"),
            _ => expect(is_int, "this operation of `atomicrmw` takes an integer"),
        }
    }

    fn same(&self, ty: TypeId, value: Value) -> Checked {
        let is = self.ty(value);
        if is == ty {
            return Ok(());
        }
        Err(format!("an operand has type `{}`, not `{}`", self.text(is), self.text(ty)))
    }

    fn binary(&self, op: BinaryOp, ty: TypeId, a: Value, b: Value) -> Checked {
        self.same(ty, a)?;
        self.same(ty, b)?;
        let scalar = self.module.types.scalar(ty);
        let fits = match op.is_float() {
            true => self.module.types.is_float(scalar),
            false => self.module.types.int_bits(scalar).is_some(),
        };
        if fits { Ok(()) } else { Err(format!("`{}` does not take `{}`", op.as_str(), self.text(ty))) }
    }

    fn address(&self, value: Value) -> Checked {
        let ty = self.ty(value);
        match self.module.types[ty] {
            Type::Pointer(_) => Ok(()),
            _ => Err(format!("an address is a pointer, not `{}`", self.text(ty))),
        }
    }

    fn part(&self, whole: Value, path: &[u32], part: TypeId) -> Checked {
        match self.module.types.at_path(self.ty(whole), path) {
            Some(ty) if ty == part => Ok(()),
            Some(ty) => Err(format!("the element has type `{}`, not `{}`", self.text(ty), self.text(part))),
            None => Err(format!("`{}` has no such element", self.text(self.ty(whole)))),
        }
    }

    fn lane(&self, vector: Value, element: TypeId, index: Value) -> Checked {
        let is = self.module.types.as_vector(self.ty(vector)).map(|(element, _)| element);
        expect(is == Some(element), "the element and the vector do not fit")?;
        expect(self.module.types.int_bits(self.ty(index)).is_some(), "an index is an integer")
    }

    fn call(&self, call: &Call, ty: TypeId) -> Checked {
        if let Callee::Value(callee) = &call.callee {
            self.address(*callee)?;
        }
        let Type::Function { ret, params, varargs } = &self.module.types[call.signature] else {
            return Err("the signature of a call is a function type".into());
        };
        expect(*ret == ty, "the call has another type than its signature gives")?;
        let count = call.args.len();
        expect(count == params.len() || (*varargs && count > params.len()), "the number of arguments is wrong")?;
        params.iter().zip(&call.args).try_for_each(|(&param, &arg)| self.same(param, arg))
    }

    /// `phi`s and the edges into their blocks; the entry has none.
    fn edges(&self) -> Result<(), Fault> {
        let mut seen: SecondaryMap<BlockId, u32> = SecondaryMap::with_capacity(self.body.block_count());
        let predecessors = self.body.predecessors();
        let mut ways: SecondaryMap<BlockId, usize> = SecondaryMap::with_capacity(self.body.block_count());
        for last in self.body.layout.iter().filter_map(|&block| self.body.terminator(block)) {
            self.body[last].op.for_each_successor(|to| ways[to] += 1);
        }
        let mut mark = 0u32;
        for (at, &block) in self.body.layout.iter().enumerate() {
            if at == 0 && !predecessors[block].is_empty() {
                return Err((self.body.terminator(predecessors[block][0]), "nothing may go to the entry block".into()));
            }
            for &inst in &self.body[block].insts {
                let Op::Phi(incoming) = &self.body[inst].op else { break };
                mark += 1;
                let mut distinct = 0;
                for (from, value) in incoming {
                    if seen[*from] != mark {
                        seen[*from] = mark;
                        distinct += 1;
                    } else if incoming.iter().any(|(other, differs)| other == from && differs != value) {
                        return Err((Some(inst), "`phi` has two values for one block".into()));
                    }
                }
                let all = predecessors[block].iter().all(|from| seen[*from] == mark);
                if !all || distinct != predecessors[block].len() {
                    return Err((Some(inst), "`phi` has one value for each block that comes here".into()));
                }
                if incoming.len() != ways[block] {
                    return Err((Some(inst), "`phi` has a value for each way from a block to here".into()));
                }
            }
        }
        Ok(())
    }

    /// Definitions dominate uses.
    fn dominance(&self) -> Result<(), Fault> {
        let cfg = Cfg::of_reachable(self.body);
        let tree = DomTree::dominators(&cfg);
        // Where each value is defined: its block, and its place there.
        let mut places: SecondaryMap<InstId, Option<(BlockId, u32)>> =
            SecondaryMap::with_capacity(self.body.inst_count());
        for &block in &self.body.layout {
            for (at, &inst) in (0..).zip(&self.body[block].insts) {
                places[inst] = Some((block, at));
            }
        }
        // Whether a value can be read at a place.
        let reaches = |value: Value, block: BlockId, at: u32| {
            let Some(def) = self.body.def_inst(value) else { return true };
            match places[def] {
                Some((from, place)) if from == block => place < at,
                Some((from, _)) => tree.dominates(from, block),
                None => false,
            }
        };
        for &block in cfg.rpo() {
            for (at, &inst) in (0..).zip(&self.body[block].insts) {
                let mut fine = true;
                match &self.body[inst].op {
                    Op::Phi(incoming) => {
                        let reached = incoming.iter().filter(|(from, _)| cfg.is_reachable(*from));
                        reached.for_each(|&(from, value)| fine &= reaches(value, from, u32::MAX));
                    }
                    op => op.for_each_value(|value| fine &= reaches(value, block, at)),
                }
                if !fine {
                    return Err((Some(inst), "an operand is not defined on every way to here".into()));
                }
            }
        }
        Ok(())
    }
}
