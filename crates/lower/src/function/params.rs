//! Parameters: of kernels in constant bank 0, of device functions and their calls in registers and
//! on the stack.

use crate::abi;
use crate::abi::{Convention, Passed, Place, STACK_POINTER_ARGUMENT};
use crate::error::{Lowered, invalid};
use crate::function::FnLower;
use crate::function::operands::Wide;
use crate::function::scope::{Binding, FrameVar, ParamVar};
use crate::module::names;
use oriole_isa::Role::{Bank, Base, D, Data, Desc, Offset};
use oriole_isa::{Field, Opcode, RegFile, mem_size};
use oriole_ori::{Inst, OBJECT_PARAM, Operand, Param, RegType};
use oriole_ptx::ast::{self, Name, ScalarType, Space, Sym, Variable};
use rustc_hash::FxHashSet;

impl<'a> FnLower<'_, 'a> {
    // ---- kernels ----

    /// UR36:UR37 = the descriptor of global memory, for the whole kernel.
    pub(super) fn load_descriptor(&mut self) -> Lowered {
        let Some(offset) = self.sm().bank0.global_descriptor else { return Ok(()) };
        let operands = [(D, descriptor()), (Bank, Operand::cbank(0, u32::from(offset)))];
        let opcode = if self.has(Opcode::LDCU) { Opcode::LDCU } else { Opcode::ULDC };
        self.emit(opcode, &[(Field::MemSize, mem_size::B64)], &operands)?;
        Ok(())
    }

    /// Has an access of global memory name the descriptor, on targets that have one.
    pub(crate) fn describe(&self, inst: &mut Inst) {
        if self.sm().bank0.global_descriptor.is_some() {
            inst.set_role(Desc, descriptor());
        }
    }

    /// Lays the parameters of a kernel out in constant bank 0.
    pub(super) fn bind_kernel_params(&mut self, function: &'a ast::Function) -> Lowered {
        let limit = u64::from(self.sm().max_parameter_bytes);
        let (offsets, end) = abi::layout(function);
        let mut places = Vec::new();
        for (variable, offset) in function.params.iter().zip(offsets) {
            let Some(name) = variable.name else { continue };
            let Some(offset) = offset else {
                self.bind_object(variable, name, self.text(function.name))?;
                continue;
            };
            let (size, align) = (variable.size().unwrap_or(u64::MAX), variable.alignment());
            if offset.saturating_add(size) > limit {
                return Err(invalid(variable.span, format!("kernel parameters need more than {limit} bytes")));
            }
            let (offset, size) = (offset as u32, size as u32);
            self.func.params.push(Param { name: self.text(name).to_owned(), offset, size, align });
            places.push((name, offset));
        }
        let base = u32::from(self.sm().bank0.parameters_of(end as u32));
        places.into_iter().try_for_each(|(name, offset)| self.bind(name, Binding::KernelParam(base + offset)))
    }

    /// A parameter that is a texture, sampler or surface.
    fn bind_object(&mut self, variable: &Variable, name: Name, kernel: &str) -> Lowered {
        let Some(kind) = crate::abi::object_kind(variable.ty) else { return Ok(()) };
        let symbol = self.module.object_parameter(variable, kind, self.text(name), kernel);
        let name_of_symbol = self.module.out.symbols[symbol].name.clone();
        self.func.params.push(Param { name: name_of_symbol, offset: OBJECT_PARAM, size: 0, align: 1 });
        self.bind(name, Binding::Object(symbol))
    }

    // ---- device functions ----

    /// Takes the arguments out of their registers.
    pub(super) fn bind_device_params(&mut self, function: &'a ast::Function, convention: &Convention) -> Lowered {
        self.keep_return_address(function)?;
        if convention.uses_stack() {
            let pointer = self.incoming(STACK_POINTER_ARGUMENT)?;
            let kept = self.temp_of(RegType::R)?;
            self.mov(Operand::reg(kept), pointer)?;
            self.incoming_stack = Some(kept);
        }
        let by_address = names_by_address(function);
        for (variable, passed) in function.params.iter().zip(&convention.params) {
            self.bind_param(variable, *passed, &by_address)?;
        }
        for (variable, passed) in function.rets.iter().zip(&convention.rets) {
            self.bind_result(variable, *passed)?;
        }
        Ok(())
    }

    fn keep_return_address(&mut self, function: &ast::Function) -> Lowered {
        let address = self.return_address()?;
        self.func.live_in.push(address);
        let mut calls = false;
        if let Some(body) = &function.body {
            names::instructions(body, &mut |i| calls |= !matches!(i.opcode, ast::Opcode::Ret | ast::Opcode::Bra));
        }
        if calls {
            let kept = self.temp64()?;
            self.mov64(kept, Wide::of_pair(address))?;
            self.returning.address = Some(kept);
        }
        Ok(())
    }

    /// The fixed register `number`, with a value on entry.
    fn incoming(&mut self, number: u16) -> Lowered<Operand> {
        let made = self.func.fixed_vreg(RegType::R, number);
        let reg = self.built(made)?;
        if !self.func.live_in.contains(&reg) {
            self.func.live_in.push(reg);
        }
        Ok(Operand::reg(reg))
    }

    fn bind_param(&mut self, variable: &Variable, passed: Passed, by_address: &FxHashSet<Sym>) -> Lowered {
        let first = match passed.place {
            Place::Registers(first) => first,
            Place::Stack(offset) => return self.bind_stack(variable, offset, true),
        };
        let mut words = ParamVar { words: Default::default(), size: passed.size };
        for k in 0..passed.words() as u16 {
            let source = self.incoming(first + k)?;
            let word = self.temp_of(RegType::R)?;
            self.mov(Operand::reg(word), source)?;
            words.words.push(word);
        }
        let Some(name) = variable.name else { return Ok(()) };
        if variable.space == Space::Reg {
            self.bind_register(name, variable.ty, variable.vector.map_or(1, |v| v.len()))?;
            let operand = self.register_operand(name)?;
            return self.words_to_operand(&words, &operand);
        }
        if !by_address.contains(&name.sym) {
            return self.bind(name, Binding::Param(words));
        }
        let offset = self.func.frame.local_bytes.next_multiple_of(passed.align.max(4));
        self.func.frame.local_bytes = offset + 4 * passed.words();
        self.func.frame.align = self.func.frame.align.max(passed.align);
        let stack = self.frame_base();
        self.store_words(stack, offset, &words)?;
        self.bind(name, Binding::Frame(FrameVar { offset, element: variable.ty.bytes() }))
    }

    fn bind_stack(&mut self, variable: &Variable, offset: u32, load: bool) -> Lowered {
        let Some(name) = variable.name else { return Ok(()) };
        if variable.space != Space::Reg {
            return self.bind(name, Binding::Incoming(offset));
        }
        self.bind_register(name, variable.ty, variable.vector.map_or(1, |v| v.len()))?;
        if load {
            let words = self.load_stack_words(offset, variable)?;
            let operand = self.register_operand(name)?;
            self.words_to_operand(&words, &operand)?;
        }
        Ok(())
    }

    fn bind_result(&mut self, variable: &'a Variable, passed: Passed) -> Lowered {
        self.returning.results.push((variable, passed));
        match passed.place {
            Place::Stack(offset) => self.bind_stack(variable, offset, false),
            Place::Registers(_) => {
                let Some(name) = variable.name else { return Ok(()) };
                if variable.space == Space::Reg {
                    return self.bind_register(name, variable.ty, variable.vector.map_or(1, |v| v.len()));
                }
                let words = self.new_words(passed.size)?;
                self.bind(name, Binding::Param(words))
            }
        }
    }

    /// Fresh registers for a parameter of `size` bytes.
    pub(crate) fn new_words(&mut self, size: u32) -> Lowered<ParamVar> {
        let words = (0..size.div_ceil(4)).map(|_| self.temp_of(RegType::R)).collect::<Lowered<_>>()?;
        Ok(ParamVar { words, size })
    }

    /// Local address of what the caller passes on the stack.
    pub(crate) fn incoming_stack(&mut self) -> Lowered<Operand> {
        self.incoming_stack
            .map(Operand::reg)
            .ok_or_else(|| invalid(self.span, "internal: nothing is passed on the stack"))
    }

    fn load_stack_words(&mut self, offset: u32, variable: &Variable) -> Lowered<ParamVar> {
        let (size, _) = crate::abi::extent(variable)?;
        let words = self.new_words(size)?;
        let base = self.incoming_stack()?;
        self.load_words(base, offset, &words)?;
        Ok(words)
    }

    // ---- words and registers ----

    /// Stores the words to local memory at `base + offset`.
    pub(crate) fn store_words(&mut self, base: Operand, offset: u32, words: &ParamVar) -> Lowered {
        let operands: Vec<Operand> = words.words.iter().map(|word| Operand::reg(*word)).collect();
        self.store_operands(base, offset, &operands)
    }

    /// Stores 32-bit operands to local memory from `base + offset` on.
    pub(crate) fn store_operands(&mut self, base: Operand, offset: u32, words: &[Operand]) -> Lowered {
        for (k, word) in words.iter().enumerate() {
            let at = Operand::imm_signed((offset + 4 * k as u32) as i32);
            let data = self.in_reg(*word)?;
            self.emit(Opcode::STL, &[], &[(Base, base), (Offset, at), (Data, data)])?;
        }
        Ok(())
    }

    /// Loads the words from local memory at `base + offset`.
    pub(crate) fn load_words(&mut self, base: Operand, offset: u32, words: &ParamVar) -> Lowered {
        for (k, word) in words.words.iter().enumerate() {
            let at = Operand::imm_signed((offset + 4 * k as u32) as i32);
            self.emit(Opcode::LDL, &[], &[(D, Operand::reg(*word)), (Base, base), (Offset, at)])?;
        }
        Ok(())
    }

    /// `operand = words`, for a register parameter; a vector register is written out as its elements.
    pub(crate) fn words_to_operand(&mut self, words: &ParamVar, operand: &ast::Operand) -> Lowered {
        let words: Vec<Operand> = words.words.iter().map(|word| Operand::reg(*word)).collect();
        if let ast::Operand::Vector(items, _) = operand {
            let Some(first) = items.first() else { return Ok(()) };
            let bits = self.register(first)?.1.bits();
            return self.unpack_words(&words, bits, items);
        }
        let (reg, ty) = self.register(operand)?;
        if ty == ScalarType::Pred {
            return match words.first() {
                Some(word) => self.is_nonzero(Operand::reg(reg), *word),
                None => Ok(()),
            };
        }
        let components = self.func.vregs[reg].components;
        for (k, word) in words.into_iter().enumerate().take(usize::from(components)) {
            let to = if components == 1 { Operand::reg(reg) } else { Operand::comp(reg, k as u8) };
            self.mov(to, word)?;
        }
        Ok(())
    }

    /// A register parameter or result of this function as an operand, written out if it is a vector.
    pub(super) fn register_operand(&mut self, name: Name) -> Lowered<ast::Operand> {
        let len = self.vector_len(name)?;
        Ok(ast::Operand::Name(name).with_vectors_spread(|_| len))
    }

    /// The words of an operand as a parameter of type `ty`.
    pub(crate) fn operand_words(&mut self, operand: &ast::Operand, ty: ScalarType) -> Lowered<Vec<Operand>> {
        if let ast::Operand::Vector(items, _) = operand {
            let first = items.first().map(|first| self.declared_type(first)).transpose()?.flatten();
            return self.packed_words(first.map_or(ty.bits(), ScalarType::bits), items);
        }
        match (ty, ty.bits()) {
            (ScalarType::Pred, _) => {
                let pred = self.pred(operand)?;
                let word = self.temp()?;
                self.sel(word, pred.not(), Operand::rz(), Operand::imm(1))?;
                Ok(vec![word])
            }
            (ScalarType::F32, _) => Ok(vec![self.src_f32(operand)?]),
            (ScalarType::F64, _) => self.src_f64(operand).map(|wide| vec![wide.lo, wide.hi]),
            (_, 0..=32) => Ok(vec![self.src(operand)?]),
            (_, 33..=64) => self.src64(operand).map(|wide| vec![wide.lo, wide.hi]),
            _ => {
                let quad = self.quad_register(operand)?;
                Ok((0..4).map(|k| Operand::comp(quad, k)).collect())
            }
        }
    }
}

/// The descriptor of global memory: UR36:UR37, never allocated.
pub(crate) fn descriptor() -> Operand {
    Operand::phys_group(RegFile::UR, 36, 2)
}

/// Parameters whose address the body takes: named other than in an address of ld.param or st.param.
fn names_by_address(function: &ast::Function) -> FxHashSet<Sym> {
    let mut taken = FxHashSet::default();
    let Some(body) = &function.body else { return taken };
    names::instructions(body, &mut |instruction| {
        let is_access = matches!(instruction.opcode, ast::Opcode::Ld | ast::Opcode::St)
            && instruction.space().is_some_and(|s| matches!(s, Space::Param | Space::ParamFunc | Space::ParamEntry));
        if !is_access && instruction.opcode != ast::Opcode::Call {
            names::of_instruction(instruction, &mut |name| {
                taken.insert(name.sym);
            });
        }
    });
    taken
}
