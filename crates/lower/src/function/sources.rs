//! Reading source operands.

use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::place::{Place, word};
use crate::function::scope::Binding;
use crate::function::{FnLower, handle, shared, special};
use crate::module::plan::VarKey;
use oriole_isa::RegFile;
use oriole_ori::{ADDRESS_BANK, Operand, RegType, Symbol, SymbolPart, VReg};
use oriole_ptx::ast::{self, Imm, Name, ScalarType, Space};

impl FnLower<'_, '_> {
    /// A source of up to 32 bits: a register, an integer or float constant (as its 32 bits), a
    /// special register, the address of a shared, constant or local variable.
    pub(crate) fn src(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        match operand {
            ast::Operand::Imm(imm, _) => Ok(word(imm_bits32(*imm))),
            ast::Operand::Special { .. } => special::special32(self, operand),
            ast::Operand::Name(name) => match self.name_kind(*name)? {
                NameKind::Register => self.src_register(operand, RegType::R),
                NameKind::Place => self.address32(*name, 0),
            },
            ast::Operand::Offset { .. } => {
                let (name, offset) = self.name_and_offset(operand)?;
                match self.name_kind(name)? {
                    NameKind::Register => self.register_sum(name, offset),
                    NameKind::Place => self.address32(name, offset),
                }
            }
            ast::Operand::Sink(_) => Ok(Operand::rz()),
            _ => self.src_register(operand, RegType::R),
        }
    }

    /// A source of type f32: as [`Self::src`], constants of any form rounded to f32.
    pub(crate) fn src_f32(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        match operand {
            ast::Operand::Imm(imm, _) => Ok(word(imm.to_f32_bits())),
            _ => self.src(operand),
        }
    }

    /// A 64-bit source: a register, a constant (sign-extended as written), an address.
    pub(crate) fn src64(&mut self, operand: &ast::Operand) -> Lowered<Wide> {
        match operand {
            ast::Operand::Imm(imm, _) => Ok(wide_constant(imm_bits64(*imm))),
            ast::Operand::Special { .. } => special::special64(self, operand),
            ast::Operand::Name(name) => match self.name_kind(*name)? {
                NameKind::Register => Ok(Wide::of_pair(self.pair_register(operand)?)),
                NameKind::Place => self.address64(*name, 0),
            },
            ast::Operand::Offset { .. } => {
                let (name, offset) = self.name_and_offset(operand)?;
                match self.name_kind(name)? {
                    NameKind::Register => self.register_sum64(name, offset),
                    NameKind::Place => self.address64(name, offset),
                }
            }
            _ => Ok(Wide::of_pair(self.pair_register(operand)?)),
        }
    }

    /// A source of type f64: as [`Self::src64`], constants of any form converted to f64.
    pub(crate) fn src_f64(&mut self, operand: &ast::Operand) -> Lowered<Wide> {
        match operand {
            ast::Operand::Imm(imm, _) => Ok(wide_constant(imm.to_f64_bits())),
            _ => self.src64(operand),
        }
    }

    /// A predicate source: `%p`, `!%p`, or a constant.
    pub(crate) fn pred(&mut self, operand: &ast::Operand) -> Lowered<Operand> {
        match operand {
            ast::Operand::Not(inner, _) => Ok(self.pred(inner)?.not()),
            ast::Operand::Imm(imm, _) => Ok(Operand::pt().with_not(imm.int_bits() == Some(0))),
            ast::Operand::Special { .. } => special::special_pred(self, operand),
            _ => self.src_register(operand, RegType::P),
        }
    }

    /// The low 32 bits of an integer register plus a constant.
    fn register_sum(&mut self, name: Name, constant: i64) -> Lowered<Operand> {
        let (reg, _) = self.register(&ast::Operand::Name(name))?;
        let base = if self.func.vregs[reg].components == 1 { Operand::reg(reg) } else { Operand::lo(reg) };
        self.moved(base, constant as u32)
    }

    /// A 64-bit integer register plus a constant.
    fn register_sum64(&mut self, name: Name, constant: i64) -> Lowered<Wide> {
        let pair = self.pair_register(&ast::Operand::Name(name))?;
        let sum = self.temp64()?;
        self.add64(sum, Wide::of_pair(pair), Wide::of_bits(constant as u64))?;
        Ok(Wide::of_pair(sum))
    }

    fn src_register(&mut self, operand: &ast::Operand, wanted: RegType) -> Lowered<Operand> {
        let (reg, ty) = self.register(operand)?;
        if self.func.vregs[reg].reg_type == wanted {
            return Ok(Operand::reg(reg));
        }
        let needed = if wanted == RegType::P { "a predicate" } else { "up to 32 bits" };
        Err(invalid(operand.span(), format!("a register of type .{ty} stands where {needed} is needed")))
    }

    fn pair_register(&mut self, operand: &ast::Operand) -> Lowered<VReg> {
        let (reg, ty) = self.register(operand)?;
        if self.func.vregs[reg].reg_type == RegType::Pair {
            return Ok(reg);
        }
        Err(invalid(operand.span(), format!("a register of type .{ty} stands where 64 bits are needed")))
    }

    /// A 128-bit register.
    pub(crate) fn quad_register(&mut self, operand: &ast::Operand) -> Lowered<VReg> {
        let (reg, ty) = self.register(operand)?;
        if self.func.vregs[reg].reg_type == RegType::Quad {
            return Ok(reg);
        }
        Err(invalid(operand.span(), format!("a register of type .{ty} stands where 128 bits are needed")))
    }

    // ---- into registers ----

    /// The operand in a register (or RZ), without flags.
    pub(crate) fn in_reg(&mut self, operand: Operand) -> Lowered<Operand> {
        if operand.as_reg().is_some() && !operand.has_flags() {
            return Ok(operand);
        }
        if operand.is_zero() {
            return Ok(Operand::rz());
        }
        let temp = self.temp()?;
        self.mov(temp, operand)?;
        Ok(temp)
    }

    /// The value in a register pair (or RZ, which stands for a pair of zeros too).
    pub(crate) fn in_pair(&mut self, wide: Wide) -> Lowered<Operand> {
        if let Some(pair) = wide.pair {
            return Ok(Operand::reg(pair));
        }
        if wide.lo.is_zero() && wide.hi.is_zero() {
            return Ok(Operand::rz());
        }
        let pair = self.temp64()?;
        self.mov(Operand::lo(pair), wide.lo)?;
        self.mov(Operand::hi(pair), wide.hi)?;
        Ok(Operand::reg(pair))
    }

    // ---- names and addresses ----

    fn name_kind(&mut self, name: Name) -> Lowered<NameKind> {
        Ok(match self.binding(name)? {
            Some(Binding::Reg(_)) => NameKind::Register,
            _ => NameKind::Place,
        })
    }

    /// Whether the name is that of a register.
    pub(crate) fn is_register(&mut self, name: Name) -> Lowered<bool> {
        Ok(matches!(self.name_kind(name)?, NameKind::Register))
    }

    /// Name and byte offset of `table+8` or `table[2]`.
    pub(crate) fn name_and_offset(&mut self, operand: &ast::Operand) -> Lowered<(Name, i64)> {
        match operand {
            ast::Operand::Offset { name, offset, element } => {
                let scale = if *element { i64::from(self.element_bytes(*name)?) } else { 1 };
                Ok((*name, offset.wrapping_mul(scale)))
            }
            ast::Operand::Name(name) => Ok((*name, 0)),
            other => Err(invalid(other.span(), "a variable is needed here")),
        }
    }

    /// Bytes of an element of an array.
    pub(crate) fn element_bytes(&mut self, name: Name) -> Lowered<u32> {
        let key = match self.binding(name)? {
            Some(Binding::Frame(variable)) => return Ok(variable.element),
            Some(Binding::Static(key)) => Some(*key),
            Some(_) => None,
            None => self.module.global_variable(name.sym),
        };
        let key = key.ok_or_else(|| invalid(name.span, format!("'{}' is not an array", self.text(name))))?;
        Ok(self.module.variable(key).ty.bytes())
    }

    /// Where the thing lies that a name stands for.
    pub(crate) fn place(&mut self, name: Name) -> Lowered<Place> {
        match self.binding(name)? {
            Some(Binding::KernelParam(offset)) => Ok(Place::KernelParam(*offset)),
            Some(Binding::Frame(variable)) => Ok(Place::Frame(variable.offset)),
            Some(Binding::Param(_)) => Ok(Place::Param),
            Some(Binding::Object(symbol)) => Ok(Place::Object(*symbol)),
            Some(Binding::Incoming(offset)) => Ok(Place::Incoming(*offset)),
            Some(Binding::Static(key)) => {
                let key = *key;
                self.variable_place(key)
            }
            Some(Binding::Reg(_) | Binding::Label(_) | Binding::Targets(_) | Binding::Prototype(_)) => {
                Err(invalid(name.span, format!("'{}' has no address", self.text(name))))
            }
            None => self.module_place(name),
        }
    }

    fn module_place(&mut self, name: Name) -> Lowered<Place> {
        if std::ptr::eq(self.ast, self.module.ast) {
            if let Some(key) = self.module.global_variable(name.sym) {
                return self.variable_place(key);
            }
            if self.module.function(name.sym).is_some() {
                return Ok(Place::Symbol(self.module.symbol_of(name)?));
            }
        }
        Err(invalid(name.span, format!("'{}' is not declared", self.text(name))))
    }

    fn variable_place(&mut self, key: VarKey) -> Lowered<Place> {
        match self.module.variable(key).space {
            Space::Shared | Space::SharedCta if self.module.relocatable => {
                Ok(Place::LinkedShared(self.module.variable_symbol(key)?))
            }
            Space::Const if self.module.relocatable => Ok(Place::LinkedConst(self.module.variable_symbol(key)?)),
            Space::Shared | Space::SharedCta => Ok(Place::Shared(self.module.shared_offset(key)?)),
            Space::Const => {
                let symbol = self.module.variable_symbol(key)?;
                let offset = self.module.out.variable(symbol).and_then(|v| v.offset).unwrap_or(0);
                Ok(Place::Const(offset as u32))
            }
            _ if crate::abi::object_kind(self.module.variable(key).ty).is_some() => {
                Ok(Place::Object(self.module.variable_symbol(key)?))
            }
            _ => Ok(Place::Symbol(self.module.variable_symbol(key)?)),
        }
    }

    /// The 32-bit address of a variable in its own space (shared, const, local, kernel parameter).
    pub(crate) fn address32(&mut self, name: Name, offset: i64) -> Lowered<Operand> {
        let add = |base: u32| base.wrapping_add(offset as u32);
        match self.place(name)? {
            Place::KernelParam(at) | Place::Const(at) => Ok(word(add(at))),
            Place::Shared(at) => shared::shared_address(self, add(at)),
            Place::Frame(at) => self.stack_address(add(at)),
            Place::Incoming(at) => {
                let base = self.incoming_stack()?;
                let temp = self.temp()?;
                self.add(temp, base, word(add(at)))?;
                Ok(temp)
            }
            Place::Param => Err(invalid(
                name.span,
                format!("the address of the parameter '{}' is not supported here", self.text(name)),
            )),
            Place::Symbol(symbol) => Ok(self.symbol_address(symbol, offset)?.lo),
            Place::Object(symbol) => Ok(handle::object_handle(self, symbol)?.lo),
            Place::LinkedShared(symbol) => {
                let base = self.linked_shared(symbol)?;
                self.moved(base, add(self.arch().sm().shared_base))
            }
            Place::LinkedConst(symbol) => {
                let base = self.linked_offset(symbol)?;
                self.moved(base, add(0))
            }
        }
    }

    /// `base + bytes`.
    fn moved(&mut self, base: Operand, bytes: u32) -> Lowered<Operand> {
        if bytes == 0 {
            return Ok(base);
        }
        let temp = self.temp()?;
        self.add(temp, base, word(bytes))?;
        Ok(temp)
    }

    /// The offset of a variable in the shared segment or in constant bank 3, put in by the linker.
    pub(crate) fn linked_offset(&mut self, symbol: Symbol) -> Lowered<Operand> {
        let made = self.func.symbol_operand(symbol, 0, SymbolPart::Whole);
        let offset = self.built(made)?;
        let temp = self.temp()?;
        self.mov(temp, offset)?;
        Ok(temp)
    }

    /// The address of a shared variable less the bytes that the system keeps: linkers leave them out.
    pub(crate) fn linked_shared(&mut self, symbol: Symbol) -> Lowered<Operand> {
        let offset = self.linked_offset(symbol)?;
        let window = shared::shared_window(self)?;
        if window.is_zero() {
            return Ok(offset);
        }
        let temp = self.temp()?;
        self.add(temp, window, offset)?;
        Ok(temp)
    }

    /// The 64-bit address of a variable or function in its own space.
    pub(crate) fn address64(&mut self, name: Name, offset: i64) -> Lowered<Wide> {
        match self.place(name)? {
            Place::Symbol(symbol) => self.symbol_address(symbol, offset),
            Place::Object(symbol) => handle::object_handle(self, symbol),
            _ => Ok(Wide::of_halves(self.address32(name, offset)?, Operand::rz())),
        }
    }

    /// The frame's base plus a number of bytes.
    pub(crate) fn stack_address(&mut self, offset: u32) -> Lowered<Operand> {
        let stack = self.frame_base();
        let temp = self.temp()?;
        match offset {
            0 => self.mov(temp, stack)?,
            _ => self.add(temp, stack, Operand::imm(offset))?,
        }
        Ok(temp)
    }

    /// What the places of the frame are relative to.
    pub(crate) fn frame_base(&self) -> Operand {
        Operand::phys(RegFile::R, self.func.frame.base())
    }

    /// The address of a global variable or function: the number of a device function, else from constant
    /// bank 4.
    pub(crate) fn symbol_address(&mut self, symbol: Symbol, offset: i64) -> Lowered<Wide> {
        if let Some(number) = self.module.function_number(symbol) {
            return Ok(Wide::of_bits(number.wrapping_add(offset as u64)));
        }
        let pair = self.temp64()?;
        if self.module.relocatable {
            for (half, part) in [(Operand::lo(pair), SymbolPart::Low), (Operand::hi(pair), SymbolPart::High)] {
                let made = self.func.symbol_operand(symbol, offset, part);
                let address = self.built(made)?;
                self.mov(half, address)?;
            }
            return Ok(Wide::of_pair(pair));
        }
        let slot = self.module.out.address_slot(symbol);
        self.read_constant64(pair, ADDRESS_BANK, slot)?;
        let base = Wide::of_pair(pair);
        if offset == 0 {
            return Ok(base);
        }
        let sum = self.temp64()?;
        self.add64(sum, base, Wide::of_bits(offset as u64))?;
        Ok(Wide::of_pair(sum))
    }

    /// The type of a register operand; `None` when it is no register.
    pub(crate) fn declared_type(&mut self, operand: &ast::Operand) -> Lowered<Option<ScalarType>> {
        let name = match operand {
            ast::Operand::Name(name) | ast::Operand::Part(name, _) => *name,
            _ => return Ok(None),
        };
        Ok(match self.binding(name)? {
            Some(Binding::Reg(register)) => Some(register.ty),
            _ => None,
        })
    }

    /// The operand at `index` of the instruction.
    pub(crate) fn operand<'i>(&self, instruction: &'i ast::Instruction, index: usize) -> Lowered<&'i ast::Operand> {
        let missing = || invalid(instruction.span, format!("the instruction needs at least {} operands", index + 1));
        instruction.operands.get(index).ok_or_else(missing)
    }
}

enum NameKind {
    Register,
    Place,
}

fn wide_constant(bits: u64) -> Wide {
    Wide::of_halves(word(bits as u32), word((bits >> 32) as u32))
}

fn imm_bits32(imm: Imm) -> u32 {
    match imm {
        Imm::F32(bits) => bits,
        other => imm_bits64(other) as u32,
    }
}

fn imm_bits64(imm: Imm) -> u64 {
    match imm {
        Imm::S64(value) => value as u64,
        Imm::U64(value) => value,
        Imm::F32(bits) => u64::from(bits),
        Imm::F64(bits) => bits,
    }
}
