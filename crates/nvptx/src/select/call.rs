//! Calls of functions.

use smallvec::SmallVec;

use super::address::Place;
use super::error::Error;
use super::legal::Vt;
use super::lower::Lower;
use super::memory::{parts, whole_of};
use super::word_table::{Part, Word};
use crate::emit::abi;
use crate::ir::{
    AddressSpace, Attributes, Call, Callee, Constant, FnFlags, Function, InstId, MemoryEffects, SymbolId, SymbolKind,
    Type, Value,
};
use crate::machine::{self, Base, Opcode, Operand, ParamDecl, ParamMove, PhysReg, Reg, VReg};

impl Lower<'_> {
    /// The function that a call names, if it names one.
    pub(super) fn direct_callee(&self, call: &Call) -> Option<SymbolId> {
        let Callee::Value(Value::Const(id)) = call.callee else { return None };
        let (symbol, offset, _) = self.const_address(id)?;
        let is_function = matches!(self.ir.symbols[symbol].kind, SymbolKind::Function(_) | SymbolKind::Alias(_));
        (offset == 0 && is_function).then_some(symbol)
    }

    /// The name of the intrinsic that a call names, without `llvm.`.
    pub(super) fn intrinsic_name(&self, call: &Call) -> Option<&str> {
        // The module outlives the walk; the symbol is one of its own.
        let ir = self.ir;
        ir.symbols[self.direct_callee(call)?].name.strip_prefix("llvm.")
    }

    /// True when a call whose result nobody reads may go.
    pub(super) fn is_removable_call(&self, call: &Call) -> bool {
        if let Callee::Asm(asm) = &call.callee {
            return !asm.side_effects;
        }
        if let Some(name) = self.intrinsic_name(call) {
            return self.is_pure_intrinsic(name, call);
        }
        let own = call.attributes.memory;
        let declared = self.direct_callee(call).and_then(|symbol| self.ir.symbols[symbol].function());
        let memory = match declared {
            Some(function) if own == MemoryEffects::Any => function.attributes.memory,
            _ => own,
        };
        let flags = declared.map_or(call.attributes.function, |f| f.attributes.function | call.attributes.function);
        memory.writes_nothing() && flags.contains(FnFlags::WILL_RETURN | FnFlags::NO_UNWIND)
    }

    /// A call of any kind.
    pub(super) fn call(&mut self, inst: InstId, call: &Call, words: &[Word]) -> Result<(), Error> {
        if let Callee::Asm(asm) = &call.callee {
            return self.inline_asm(inst, call, asm, words);
        }
        let ir = self.ir;
        let callee = self.direct_callee(call);
        if let Some(symbol) = callee
            && let Some(name) = ir.symbols[symbol].name.strip_prefix("llvm.")
        {
            if !self.has_own_types(name, call, inst) {
                return Err(Error::new(format!("calls of `llvm.{name}` with these types")));
            }
            if self.truth_intrinsic(name, call, words)? || self.wide_reduction(name, call, words)? {
                return Ok(());
            }
            self.intrinsic(name, call, inst, words)?;
            // An intrinsic of another type than its own may have no result where the call has one.
            return match words.iter().all(|word| self.is_written(*word)) {
                true => Ok(()),
                false => Err(Error::new(format!("calls of `llvm.{name}` with a result of this type"))),
            };
        }
        self.function_call(call, callee, words)
    }

    /// True when the instructions emitted write a scalar word, or nobody reads it.
    fn is_written(&self, word: Word) -> bool {
        let Some(dst) = self.dst(word).filter(|_| word.vt.lanes() == 1) else { return true };
        let mut found = false;
        self.sequence.iter().for_each(|inst| inst.for_each_def(|def| found |= def == dst));
        found
    }

    /// A call by the ABI: of a function by name, or through a pointer.
    fn function_call(&mut self, call: &Call, callee: Option<SymbolId>, words: &[Word]) -> Result<(), Error> {
        let ir = self.ir;
        let Type::Function { ret, params, varargs } = &ir.types[call.signature] else {
            return Err(Error::new("calls of what is no function"));
        };
        let own_symbol = callee.and_then(|symbol| ir.behind_alias(symbol));
        let declared = own_symbol.and_then(|symbol| ir.symbols[symbol].function());
        let mut made = machine::Call {
            callee: match callee {
                Some(symbol) => {
                    Some(self.names[symbol].ok_or_else(|| Error::new("calls of functions without a PTX name"))?)
                }
                None => None,
            },
            params: Vec::new(),
            ret: None,
            results: Vec::new(),
            args: Vec::new(),
            no_return: self.never_returns(call, declared),
            varargs: *varargs,
        };
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        let mut defs = 0;
        let mut behind = Behind::default();
        let aligns = own_symbol.and_then(|symbol| self.annotations.aligns.get(&symbol)).map_or(&[][..], Vec::as_slice);
        let noted = |slot: usize| aligns.iter().find(|(at, _)| *at as usize == slot).map_or(0, |(_, align)| *align);
        let ret_attributes = declared.map_or(&call.ret_attributes, |f| &f.ret_attributes);
        if let Some(decl) = abi::result(ir, *ret, ret_attributes, noted(0)) {
            made.ret = Some(decl);
            behind = self.call_results(decl, *ret, words, &mut made, &mut operands)?;
            defs = operands.len() as u16;
        }
        for (index, &arg) in call.args.iter().take(params.len()).enumerate() {
            let attributes = argument_attributes(call, declared, index);
            let decl = abi::param(ir, params[index], &attributes, false, noted(index + 1));
            self.call_argument(arg, decl, &attributes, &mut made, &mut operands)?;
        }
        if *varargs {
            self.variadic_arguments(&call.args[params.len().min(call.args.len())..], &mut made, &mut operands)?;
        }
        if callee.is_none()
            && let Callee::Value(value) = call.callee
        {
            let word = self.word(value)?;
            operands.push(self.reg(word)?.into());
        }
        if let Some(function) = declared {
            let own = abi::signature(ir, function, false, aligns);
            if own_symbol.is_some_and(|symbol| self.annotations.is_kernel(symbol)) {
                return Err(Error::new("calls of kernels"));
            }
            if own.params != made.params || own.ret != made.ret {
                return Err(Error::new("calls of a function by another type than its own"));
            }
        }
        let id = self.out.calls.push(made);
        self.push(Opcode::Call(id), defs, operands);
        for (word, parts) in behind.in_parts {
            self.join_parts(word, &parts)?;
        }
        for (number, word) in behind.predicates {
            let bit = self.value(format_args!("and.b16"), Vt::I16, [number.into(), Operand::Imm(1)])?;
            let dst = self.result(word)?;
            self.op(format_args!("setp.ne.s16"), dst, [bit.into(), Operand::Imm(0)])?;
        }
        Ok(())
    }

    fn never_returns(&self, call: &Call, declared: Option<&Function>) -> bool {
        let flags = declared.map_or(call.attributes.function, |f| f.attributes.function | call.attributes.function);
        flags.contains(FnFlags::NO_RETURN)
    }

    /// How the result is loaded, and what is left to do behind the call.
    fn call_results(
        &mut self,
        decl: ParamDecl,
        ty: crate::ir::TypeId,
        words: &[Word],
        made: &mut machine::Call,
        operands: &mut SmallVec<[Operand; 4]>,
    ) -> Result<Behind, Error> {
        let mut behind = Behind::default();
        for group in self.param_groups(decl, ty, words, true)? {
            let first = words[group.first];
            if group.unaligned {
                let mut loaded = Vec::new();
                for (at, size) in parts(u64::from(decl.align), group.offset, first.vt.bytes()) {
                    let form = self.form(format_args!("ld.param.u{}", size * 8))?;
                    made.results.push(ParamMove { param: 0, offset: group.offset + u64::from(at), form });
                    let reg = self.new_reg(whole_of(first.vt));
                    self.demand(Part::Reg(reg));
                    operands.push(reg.into());
                    loaded.push((at, reg));
                }
                behind.in_parts.push((first, loaded));
                continue;
            }
            let form = self.form(format_args!("ld.param{}", group.form))?;
            made.results.push(ParamMove { param: 0, offset: group.offset, form });
            let mut items = Vec::with_capacity(group.count);
            for word in &words[group.first..group.first + group.count] {
                items.push(match word.vt {
                    Vt::Pred => {
                        let number = self.new_reg(Vt::I16);
                        behind.predicates.push((number, *word));
                        Operand::from(number)
                    }
                    _ => self.result(*word)?.into(),
                });
            }
            operands.push(if items.len() == 1 { items.remove(0) } else { Operand::Vector(items.into()) });
        }
        Ok(behind)
    }

    /// How one argument is stored.
    fn call_argument(
        &mut self,
        arg: Value,
        decl: ParamDecl,
        attributes: &Attributes,
        made: &mut machine::Call,
        operands: &mut SmallVec<[Operand; 4]>,
    ) -> Result<(), Error> {
        let param = made.params.len() as u32;
        super::abi::passable(decl)?;
        made.params.push(decl);
        if let Some(copied) = attributes.by_val {
            return self.by_value_argument(arg, copied, decl, param, made, operands);
        }
        let words = self.words_of(arg)?;
        let ty = self.type_of(arg);
        for group in self.param_groups(decl, ty, &words, false)? {
            let first = words[group.first];
            if group.unaligned {
                let align = u64::from(decl.align);
                for (at, t, value) in self.split_word_in_parts(align, group.offset, first.vt.bytes(), first)? {
                    let form = self.form(format_args!("st.param.{t}"))?;
                    made.args.push(ParamMove { param, offset: group.offset + u64::from(at), form });
                    operands.push(value);
                }
                continue;
            }
            let form = self.form(format_args!("st.param{}", group.form))?;
            made.args.push(ParamMove { param, offset: group.offset, form });
            let mut items = Vec::with_capacity(group.count);
            for word in &words[group.first..group.first + group.count] {
                items.push(self.param_source(*word, decl)?);
            }
            operands.push(if items.len() == 1 { items.remove(0) } else { Operand::Vector(items.into()) });
        }
        Ok(())
    }

    /// A `byval` argument: the bytes that the pointer points to.
    fn by_value_argument(
        &mut self,
        arg: Value,
        copied: crate::ir::TypeId,
        decl: ParamDecl,
        param: u32,
        made: &mut machine::Call,
        operands: &mut SmallVec<[Operand; 4]>,
    ) -> Result<(), Error> {
        let bytes = self.ir.layout.size(&self.ir.types, copied);
        let place = self.place(arg)?;
        let space = super::build::space_name(place.space).unwrap_or_default();
        let dot = if space.is_empty() { "" } else { "." };
        let align = u64::from(decl.align.max(1));
        let mut done = 0;
        while done < bytes {
            let part = super::memory::copy_part(align, done, bytes - done);
            let vt = if part == 8 { Vt::I64 } else { Vt::I32 };
            let value = self.value(format_args!("ld{dot}{space}.b{}", part * 8), vt, [place.operand(done)])?;
            let form = self.form(format_args!("st.param.b{}", part * 8))?;
            made.args.push(ParamMove { param, offset: done, form });
            operands.push(value.into());
            done += part;
        }
        Ok(())
    }

    /// Arguments beyond the declared ones: stored one after the other in the frame, each in its natural place
    /// and at least four bytes; the function gets their address.
    fn variadic_arguments(
        &mut self,
        args: &[Value],
        made: &mut machine::Call,
        operands: &mut SmallVec<[Operand; 4]>,
    ) -> Result<(), Error> {
        let mut offsets = Vec::with_capacity(args.len());
        let mut size = 0u64;
        for &arg in args {
            let ty = self.type_of(arg);
            let align = u64::from(self.ir.layout.align(&self.ir.types, ty).max(4));
            let start = size.next_multiple_of(align);
            offsets.push((arg, start, align));
            size = start + self.ir.layout.size(&self.ir.types, ty).max(4);
        }
        let frame = self.reserve_frame(size.max(8), 16) as i64;
        for (arg, start, align) in offsets {
            let place = Place {
                space: AddressSpace::LOCAL,
                base: Base::Reg(Reg::Physical(PhysReg::Spl)),
                offset: frame + start as i64,
            };
            self.store_value(place, arg, align.min(16))?;
        }
        let base = Operand::Reg(Reg::Physical(PhysReg::Sp));
        let address = self.value(format_args!("add.u64"), Vt::I64, [base, Operand::Imm(frame)])?;
        let decl = abi::varargs(self.ir);
        let form = self.form(format_args!("st.param.b64"))?;
        made.args.push(ParamMove { param: made.params.len() as u32, offset: 0, form });
        made.params.push(decl);
        operands.push(address.into());
        Ok(())
    }

    /// The constant that a value is, if it is one.
    pub(super) fn constant_of(&self, value: Value) -> Option<&Constant> {
        value.constant().map(|id| &self.ir.constants[id])
    }
}

/// What is done with a result behind the call.
#[derive(Default)]
struct Behind {
    /// Predicates come as numbers.
    predicates: Vec<(VReg, Word)>,
    /// Words that are not aligned come in parts.
    in_parts: Vec<(Word, Vec<(u32, VReg)>)>,
}

/// The attributes of an argument: those of the call, and `byval` of the declaration.
fn argument_attributes(call: &Call, declared: Option<&Function>, index: usize) -> Attributes {
    let own = call.arg_attributes.iter().find(|(at, _)| *at as usize == index).map(|(_, attributes)| attributes);
    let mut attributes = own.cloned().unwrap_or_default();
    if let Some(param) = declared.and_then(|function| function.params.get(index)) {
        attributes.by_val = param.attributes.by_val;
        attributes.align = param.attributes.align;
        attributes.stack_align = param.attributes.stack_align;
    }
    attributes
}
