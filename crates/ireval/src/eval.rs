//! The evaluator: functions, blocks and instructions.

use crate::fault::Fault;
use crate::machine::{Machine, Site};
use crate::memory::Memory;
use crate::settings::Settings;
use crate::value::{Value, each};
use crate::{asm, atomic, cast, constant, float, int, intrinsic, layout, program, scalar};
use cranelift_entity::EntityRef;
use oriole_nvptx::ir::{
    AddressSpace, BlockId, Body, Call, Callee, ConstId, Constant, Function, Inst, InstId, Module, Op, ParamFlags,
    SymbolId, SymbolKind, TypeId, ValueId,
};
use rustc_hash::FxHashMap;

/// One evaluation.
pub(crate) struct Evaluator<'a> {
    machine: Machine<'a>,
    constants: FxHashMap<ConstId, Value>,
    steps: u64,
    depth: u32,
}

/// A function that runs.
struct Frame<'a> {
    name: &'a str,
    body: &'a Body,
    values: Vec<Option<Value>>,
    /// Its memory, which ends with it: spaces and addresses.
    locals: Vec<(AddressSpace, u64)>,
}

/// Where a block's end leads.
enum Next {
    Block(BlockId),
    Return(Option<Value>),
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(module: &'a Module, memory: &'a mut Memory, settings: &'a Settings) -> Evaluator<'a> {
        let steps = settings.steps;
        let machine = Machine { module, memory, settings };
        Evaluator { machine, constants: FxHashMap::default(), steps, depth: 0 }
    }

    /// Calls a function that the module defines.
    pub(crate) fn call_function(&mut self, symbol: SymbolId, args: Vec<Value>) -> Result<Option<Value>, Fault> {
        let module = self.machine.module;
        let symbol = module.symbols.get(symbol).ok_or_else(|| Fault::invalid("no such symbol"))?;
        let function = symbol.function().ok_or_else(|| Fault::invalid(format!("@{} is no function", symbol.name)))?;
        let Some(body) = function.body.as_deref() else {
            return Err(Fault::unsupported(format!("@{} without a body", symbol.name)));
        };
        if function.varargs || args.len() != body.params.len() || function.params.len() != args.len() {
            return Err(Fault::unsupported(format!("@{} with {} arguments", symbol.name, args.len())));
        }
        if self.depth == self.machine.settings.depth {
            return Err(Fault::limit("depth of calls"));
        }
        self.depth += 1;
        let mut frame = Frame { name: &symbol.name, body, values: vec![None; body.value_count()], locals: Vec::new() };
        let result = self.enter(&mut frame, function, args).and_then(|()| self.execute(&mut frame));
        self.depth -= 1;
        for (space, address) in frame.locals {
            self.machine.memory.free(space, address);
        }
        let result = result?;
        let broken = function.ret_attributes.param.contains(ParamFlags::NO_UNDEF)
            && result.as_ref().is_some_and(|value| !value.is_well_defined());
        if broken { Err(Fault::undefined(format!("@{} returns what is not defined", symbol.name))) } else { Ok(result) }
    }

    /// Puts the arguments, with copies of what is passed by value.
    fn enter(&mut self, frame: &mut Frame<'a>, function: &'a Function, args: Vec<Value>) -> Result<(), Fault> {
        for ((param, value), &id) in function.params.iter().zip(args).zip(&frame.body.params) {
            if param.attributes.param.contains(ParamFlags::NO_UNDEF) && !value.is_well_defined() {
                return Err(Fault::undefined("a `noundef` argument that is not defined"));
            }
            let value = match param.attributes.by_val {
                Some(ty) => self.copy_argument(frame, param.ty, ty, param.attributes.align, &value)?,
                None => value,
            };
            frame.values[id.index()] = Some(value);
        }
        Ok(())
    }

    /// The address of a copy of an argument passed `byval`. What lies between its fields is not copied.
    fn copy_argument(
        &mut self,
        frame: &mut Frame<'a>,
        pointer: TypeId,
        ty: TypeId,
        align: u32,
        from: &Value,
    ) -> Result<Value, Fault> {
        let space = self.space(pointer)?;
        let from = from.decides("the address of an argument")? as u64;
        let value = layout::load(self.machine.module, self.machine.memory, ty, space, from)?;
        let size = self.machine.module.layout.size(&self.machine.module.types, ty);
        let align = u64::from(align.max(self.machine.module.layout.align(&self.machine.module.types, ty)));
        // A generic address may be one of any space; the copy lies where local variables do.
        let own = if space == AddressSpace::GENERIC { AddressSpace::LOCAL } else { space };
        let address = self.machine.memory.reserve(own, size, align, false)?;
        layout::store(self.machine.module, self.machine.memory, ty, &value, own, address)?;
        frame.locals.push((own, address));
        Ok(crate::memory::cast_address(own, space, address))
    }

    fn execute(&mut self, frame: &mut Frame<'a>) -> Result<Option<Value>, Fault> {
        let entry = frame.body.layout.first().ok_or_else(|| Fault::invalid("a function without blocks"))?;
        let (mut block, mut from) = (*entry, None);
        loop {
            match self.block(frame, block, from)? {
                Next::Return(value) => return Ok(value),
                Next::Block(next) => (block, from) = (next, Some(block)),
            }
        }
    }

    fn block(&mut self, frame: &mut Frame<'a>, block: BlockId, from: Option<BlockId>) -> Result<Next, Fault> {
        let body = frame.body;
        let insts = &body[block].insts;
        let phis = insts.iter().take_while(|&&inst| matches!(body[inst].op, Op::Phi(_))).count();
        // All of a block's phis read before any writes.
        let mut incoming = Vec::with_capacity(phis);
        for &inst in &insts[..phis] {
            let located = |fault: Fault| fault.at(frame.name, inst.index());
            self.step().map_err(located)?;
            incoming.push(self.phi(frame, &body[inst], from).map_err(located)?);
        }
        for (&inst, value) in insts[..phis].iter().zip(incoming) {
            self.define(frame, inst, Some(value))?;
        }
        for &inst in &insts[phis..] {
            let located = |fault: Fault| fault.at(frame.name, inst.index());
            self.step().map_err(located)?;
            if body[inst].op.is_terminator() {
                return self.terminator(frame, &body[inst].op).map_err(located);
            }
            let value = self.instruction(frame, inst).map_err(located)?;
            self.define(frame, inst, value)?;
        }
        Err(Fault::invalid("a block without an end").at(frame.name, 0))
    }

    fn step(&mut self) -> Result<(), Fault> {
        self.steps = self.steps.checked_sub(1).ok_or_else(|| Fault::limit("steps"))?;
        Ok(())
    }

    fn define(&self, frame: &mut Frame<'a>, inst: InstId, value: Option<Value>) -> Result<(), Fault> {
        if let Some(result) = frame.body[inst].result.expand() {
            let missing = || Fault::invalid("an instruction without its result").at(frame.name, inst.index());
            frame.values[result.index()] = Some(value.ok_or_else(missing)?);
        }
        Ok(())
    }

    fn phi(&mut self, frame: &Frame<'a>, inst: &Inst, from: Option<BlockId>) -> Result<Value, Fault> {
        let Op::Phi(incoming) = &inst.op else { return Err(Fault::invalid("no phi")) };
        let found = incoming.iter().find(|(block, _)| Some(*block) == from);
        let &(_, value) = found.ok_or_else(|| Fault::invalid("a phi without the block that came before"))?;
        self.operand(frame, value)
    }

    fn terminator(&mut self, frame: &Frame<'a>, op: &Op) -> Result<Next, Fault> {
        match op {
            Op::Ret(None) => Ok(Next::Return(None)),
            Op::Ret(Some(value)) => Ok(Next::Return(Some(self.operand(frame, *value)?))),
            Op::Br(block) => Ok(Next::Block(*block)),
            Op::CondBr(condition, [yes, no]) => {
                let taken = self.operand(frame, *condition)?.decides("a branch condition")? & 1 == 1;
                Ok(Next::Block(if taken { *yes } else { *no }))
            }
            Op::Switch { value, default, cases } => {
                let value = self.operand(frame, *value)?.decides("the value of a switch")?;
                Ok(Next::Block(cases.iter().find(|(case, _)| *case == value).map_or(*default, |&(_, block)| block)))
            }
            Op::Unreachable => Err(Fault::undefined("`unreachable` is reached")),
            _ => Err(Fault::unsupported("indirectbr")),
        }
    }

    /// The value of an operand.
    fn operand(&mut self, frame: &Frame<'a>, value: oriole_nvptx::ir::Value) -> Result<Value, Fault> {
        match value {
            oriole_nvptx::ir::Value::Local(id) => self.local(frame, id),
            oriole_nvptx::ir::Value::Const(id) => self.constant(id),
        }
    }

    fn local(&self, frame: &Frame<'a>, id: ValueId) -> Result<Value, Fault> {
        let value = frame.values.get(id.index()).and_then(Option::as_ref);
        value
            .cloned()
            .ok_or_else(|| Fault::invalid(format!("%{} is read before it is defined", frame.body.value_name(id))))
    }

    fn constant(&mut self, id: ConstId) -> Result<Value, Fault> {
        if let Some(value) = self.constants.get(&id) {
            return Ok(value.clone());
        }
        let value = constant::value(self.machine.module, self.machine.memory, id)?;
        self.constants.insert(id, value.clone());
        Ok(value)
    }

    fn operands<const N: usize>(
        &mut self,
        frame: &Frame<'a>,
        values: [oriole_nvptx::ir::Value; N],
    ) -> Result<[Value; N], Fault> {
        let mut found = [const { Value::POISON }; N];
        for (place, value) in found.iter_mut().zip(values) {
            *place = self.operand(frame, value)?;
        }
        Ok(found)
    }

    fn type_of(&self, frame: &Frame<'a>, value: oriole_nvptx::ir::Value) -> TypeId {
        frame.body.type_of(value, &self.machine.module.constants)
    }

    fn space(&self, ty: TypeId) -> Result<AddressSpace, Fault> {
        self.machine.module.types.address_space(ty).ok_or_else(|| Fault::invalid("an address that is no pointer"))
    }

    /// The place that an access touches; its alignment is checked.
    fn place(
        &mut self,
        frame: &Frame<'a>,
        ptr: oriole_nvptx::ir::Value,
        align: u32,
    ) -> Result<(AddressSpace, u64), Fault> {
        let space = self.space(self.type_of(frame, ptr))?;
        let address = self.operand(frame, ptr)?.decides("an address")? as u64;
        if align > 1 && !address.is_multiple_of(u64::from(align)) {
            return Err(Fault::undefined(format!("{address:#x} is not aligned to {align} bytes")));
        }
        Ok((space, address))
    }

    /// An instruction that is neither a phi nor a terminator.
    fn instruction(&mut self, frame: &mut Frame<'a>, id: InstId) -> Result<Option<Value>, Fault> {
        let module = self.machine.module;
        let inst = &frame.body[id];
        let value = match &inst.op {
            Op::Binary(op, flags, args) => {
                let [a, b] = self.operands(frame, *args)?;
                scalar::binary(module, *op, *flags, inst.ty, [&a, &b])?
            }
            Op::FNeg(flags, arg) => {
                let format = scalar::format(module, inst.ty)?;
                each([&self.operand(frame, *arg)?], &mut |[a]| Ok(float::negate(*flags, format, a)))?
            }
            Op::Cast(op, flags, arg) => {
                let from = self.type_of(frame, *arg);
                cast::cast(module, *op, *flags, from, inst.ty, &self.operand(frame, *arg)?)?
            }
            Op::ICmp(op, flags, args) => {
                let [a, b] = self.operands(frame, *args)?;
                scalar::icmp(module, *op, *flags, self.type_of(frame, args[0]), [&a, &b])?
            }
            Op::FCmp(op, flags, args) => {
                let [a, b] = self.operands(frame, *args)?;
                scalar::fcmp(module, *op, *flags, self.type_of(frame, args[0]), [&a, &b])?
            }
            Op::Select(_, args) => {
                let [condition, yes, no] = self.operands(frame, *args)?;
                match &condition {
                    Value::Many(_) => each([&condition, &yes, &no], &mut |[c, y, n]| Ok(int::select(c, y, n)))?,
                    one => int::select(one, &yes, &no),
                }
            }
            Op::Freeze(arg) => scalar::freeze(&self.operand(frame, *arg)?)?,
            Op::Alloca { element, count, align } => self.alloca(frame, inst.ty, *element, *count, *align)?,
            Op::Gep { source, flags, base, indices } => {
                let base = (self.type_of(frame, *base), self.operand(frame, *base)?);
                let indices =
                    indices.iter().map(|&index| Ok((self.type_of(frame, index), self.operand(frame, index)?)));
                let indices: Vec<_> = indices.collect::<Result<_, Fault>>()?;
                cast::gep(module, self.machine.memory, *source, *flags, (base.0, &base.1), &indices)?
            }
            Op::ExtractValue(aggregate, path) => scalar::extract_value(&self.operand(frame, *aggregate)?, path)?,
            Op::InsertValue(args, path) => {
                let [aggregate, element] = self.operands(frame, *args)?;
                scalar::insert_value(&aggregate, &element, path)?
            }
            Op::ExtractElement(args) => {
                let [vector, index] = self.operands(frame, *args)?;
                scalar::extract_element(&vector, &index)?
            }
            Op::InsertElement(args) => {
                let [vector, element, index] = self.operands(frame, *args)?;
                scalar::insert_element(&vector, element, &index)?
            }
            Op::Shuffle(args, mask) => {
                let [a, b] = self.operands(frame, *args)?;
                scalar::shuffle([&a, &b], mask)?
            }
            Op::Call(call) => return self.call(frame, call, inst.ty),
            Op::VaArg(_) => return Err(Fault::unsupported("va_arg")),
            _ => return self.access(frame, inst),
        };
        Ok(Some(value))
    }

    fn alloca(
        &mut self,
        frame: &mut Frame<'a>,
        ty: TypeId,
        element: TypeId,
        count: oriole_nvptx::ir::Value,
        align: u32,
    ) -> Result<Value, Fault> {
        let space = self.space(ty)?;
        let count = self.operand(frame, count)?.decides("the length of an alloca")?;
        let size = u64::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(self.machine.module.layout.size(&self.machine.module.types, element)));
        let size = size.ok_or_else(|| Fault::limit("memory"))?;
        let own = if space == AddressSpace::GENERIC { AddressSpace::LOCAL } else { space };
        let address = self.machine.memory.reserve(own, size, u64::from(align), false)?;
        frame.locals.push((own, address));
        Ok(crate::memory::cast_address(own, space, address))
    }

    /// Instructions that touch memory, but for calls.
    fn access(&mut self, frame: &Frame<'a>, inst: &Inst) -> Result<Option<Value>, Fault> {
        let module = self.machine.module;
        match &inst.op {
            Op::Load { ptr, align, .. } => {
                let (space, address) = self.place(frame, *ptr, *align)?;
                layout::load(module, self.machine.memory, inst.ty, space, address).map(Some)
            }
            Op::Store { value, ptr, align, .. } => {
                let (space, address) = self.place(frame, *ptr, *align)?;
                let ty = self.type_of(frame, *value);
                let value = self.operand(frame, *value)?;
                layout::store(module, self.machine.memory, ty, &value, space, address).map(|()| None)
            }
            Op::AtomicRmw { op, ptr, value, align, .. } => {
                let (space, address) = self.place(frame, *ptr, *align)?;
                let old = layout::load(module, self.machine.memory, inst.ty, space, address)?;
                let new = atomic::update(module, *op, inst.ty, &old, &self.operand(frame, *value)?)?;
                layout::store(module, self.machine.memory, inst.ty, &new, space, address)?;
                Ok(Some(old))
            }
            Op::CmpXchg { ptr, expected, new, align, .. } => {
                let (space, address) = self.place(frame, *ptr, *align)?;
                let ty = self.type_of(frame, *new);
                let [expected, new] = self.operands(frame, [*expected, *new])?;
                let old = layout::load(module, self.machine.memory, ty, space, address)?;
                let equal = old.decides("the value that cmpxchg finds")?
                    == expected.decides("the value that cmpxchg expects")?;
                if equal {
                    layout::store(module, self.machine.memory, ty, &new, space, address)?;
                }
                Ok(Some(Value::Many(vec![old, Value::bool(equal)])))
            }
            Op::Fence(..) => Ok(None),
            _ => Err(Fault::invalid("an instruction at the wrong place")),
        }
    }

    fn call(&mut self, frame: &Frame<'a>, call: &'a Call, ret: TypeId) -> Result<Option<Value>, Fault> {
        let args = call.args.iter().map(|&arg| self.operand(frame, arg)).collect::<Result<Vec<_>, _>>()?;
        let types = call.args.iter().map(|&arg| self.type_of(frame, arg)).collect();
        for (index, attributes) in &call.arg_attributes {
            let value = args.get(*index as usize);
            if attributes.param.contains(ParamFlags::NO_UNDEF) && value.is_some_and(|value| !value.is_well_defined()) {
                return Err(Fault::undefined("a `noundef` argument that is not defined"));
            }
        }
        let site = Site { call, args, types, ret };
        let result = match &call.callee {
            Callee::Asm(text) => return asm::evaluate(self.machine.module, text, &site),
            Callee::Value(callee) => self.call_value(frame, *callee, site)?,
        };
        let Some((low, high)) = call.ret_attributes.range.filter(|_| result.is_some()) else { return Ok(result) };
        Ok(result.map(|value| within(value, low, high)))
    }

    fn call_value(
        &mut self,
        frame: &Frame<'a>,
        callee: oriole_nvptx::ir::Value,
        site: Site<'_>,
    ) -> Result<Option<Value>, Fault> {
        let direct = callee.constant().map(|id| &self.machine.module.constants[id]);
        let symbol = match direct {
            Some(Constant::Symbol(_, symbol))
                if matches!(self.machine.module.symbols[*symbol].kind, SymbolKind::Function(_)) =>
            {
                *symbol
            }
            _ => {
                let address = self.operand(frame, callee)?.decides("the function called")? as u64;
                program::function_at(self.machine.module, address)
                    .ok_or_else(|| Fault::undefined("a call of what is no function"))?
            }
        };
        let callee = &self.machine.module.symbols[symbol];
        let function = callee.function().ok_or_else(|| Fault::invalid("a call of a variable"))?;
        if function.body.is_none() {
            return intrinsic::evaluate(&mut self.machine, &callee.name, &site);
        }
        if function.signature != site.call.signature {
            return Err(Fault::undefined(format!("@{} is called as if it had another type", callee.name)));
        }
        self.call_function(symbol, site.args)
    }
}

/// A value that must lie in `low..high`, modulo its width; poison otherwise.
fn within(value: Value, low: u128, high: u128) -> Value {
    match value {
        Value::Bits(bits) if low <= high && (bits < low || bits >= high) => Value::POISON,
        Value::Bits(bits) if low > high && bits < low && bits >= high => Value::POISON,
        other => other,
    }
}
