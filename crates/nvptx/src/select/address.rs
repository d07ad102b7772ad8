//! Addresses: what folds into `[base+offset]`, and what has to be computed.

use cranelift_entity::EntityRef;

use super::error::Error;
use super::legal::{Piece, Vt};
use super::lower::Lower;
use super::word_table::{Part, Word, Words};
use crate::ir::{
    AddressSpace, BlockId, CastOp, ConstExpr, ConstId, Constant, InstId, Op, SymbolKind, Type, TypeId, Value, ValueDef,
};
use crate::machine::{Base, Operand, PhysReg, Reg, VReg};

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(super) space: AddressSpace,
    pub(super) base: Base,
    pub(super) offset: i64,
}

impl Place {
    /// The operand for the bytes from `at` on.
    pub(super) fn operand(&self, at: u64) -> Operand {
        Operand::address(self.base, self.offset.wrapping_add(at as i64))
    }

    /// The place so many bytes further on.
    pub(super) fn behind(self, bytes: u64) -> Place {
        Place { offset: self.offset.wrapping_add(bytes as i64), ..self }
    }
}

/// How many address computations are looked through for one access.
const MAX_FOLDED: u32 = 32;

impl Lower<'_> {
    /// Gives each `alloca` of constant size in the entry block its place in the frame.
    pub(super) fn place_allocas(&mut self, order: &[BlockId]) -> Result<(), Error> {
        let body = self.body;
        for &block in order {
            for &inst in &body[block].insts {
                let Op::Alloca { element, count, align } = &body[inst].op else { continue };
                let count = count.constant().and_then(|id| self.ir.constants.as_int(id));
                let (Some(count), true) = (count, block == order[0]) else { continue };
                let size = u128::from(self.ir.layout.size(&self.ir.types, *element)).saturating_mul(count);
                let size = u64::try_from(size).ok().filter(|size| *size < 1 << 32);
                let size = size.ok_or_else(|| Error::new("local variables of more than 4 GiB"))?;
                let align = (*align).max(self.ir.layout.align(&self.ir.types, *element));
                let offset = self.reserve_frame(size, align);
                self.frame_offsets[inst] = Some(offset);
            }
        }
        Ok(())
    }

    /// Reserves bytes of the local frame.
    pub(super) fn reserve_frame(&mut self, size: u64, align: u32) -> u64 {
        let frame = &mut self.out.frame;
        let align = align.max(1);
        let offset = frame.bytes.next_multiple_of(u64::from(align));
        frame.bytes = offset + size;
        frame.align = frame.align.max(align);
        offset
    }

    /// The place that a pointer points to, with constant offsets folded and the most exact space.
    pub(super) fn place(&mut self, pointer: Value) -> Result<Place, Error> {
        let mut at = pointer;
        let mut offset = 0i64;
        let mut space = self.space_of(pointer);
        for _ in 0..MAX_FOLDED {
            let Some(inst) = self.body.def_inst(at) else { break };
            match &self.body[inst].op {
                Op::Gep { source, base, indices, .. } => {
                    let Some(constant) = self.constant_offset(*source, indices) else { break };
                    let Some(sum) = offset.checked_add(constant).filter(|sum| i32::try_from(*sum).is_ok()) else {
                        break;
                    };
                    offset = sum;
                    at = *base;
                }
                // What is accessed does not need to be generic.
                Op::Cast(CastOp::AddrSpaceCast, _, inner) if space == AddressSpace::GENERIC => {
                    space = self.space_of(*inner);
                    at = *inner;
                }
                Op::Alloca { .. } => {
                    let Some(start) = self.frame_offsets[inst] else { break };
                    let base = Base::Reg(Reg::Physical(PhysReg::Spl));
                    return Ok(Place { space: AddressSpace::LOCAL, base, offset: offset + start as i64 });
                }
                _ => break,
            }
        }
        if let Some(index) = self.direct_param(at) {
            let base = Base::Symbol(self.out.params[index].0);
            return Ok(Place { space: AddressSpace::PARAM, base, offset });
        }
        if let Value::Const(id) = at
            && let Some((symbol, bytes, own)) = self.const_address(id)
            && let Some(name) = self.names[symbol]
        {
            return Ok(Place { space: own, base: Base::Symbol(name), offset: offset.wrapping_add(bytes) });
        }
        let word = self.word(at)?;
        let base = match word.part {
            // PTX has numbers for addresses in local memory only.
            Part::Bits(bits) if space == AddressSpace::LOCAL => {
                return Ok(Place { space, base: Base::Absolute, offset: offset.wrapping_add(bits as i64) });
            }
            _ => Base::Reg(self.reg(word)?.into()),
        };
        Ok(Place { space, base, offset })
    }

    pub(super) fn space_of(&self, pointer: Value) -> AddressSpace {
        self.ir.types.address_space(self.type_of(pointer)).unwrap_or_default()
    }

    /// The index of a `byval` parameter that is read where it is passed.
    pub(super) fn direct_param(&self, value: Value) -> Option<usize> {
        let ValueDef::Param(index) = self.body.def(value.local()?) else { return None };
        let index = index as usize;
        self.direct_params.contains(index).then_some(index)
    }

    /// Bytes that constant indices add; `None` when one varies.
    fn constant_offset(&self, source: TypeId, indices: &[Value]) -> Option<i64> {
        let (mut offset, terms) = self.split_indices(source, indices)?;
        for (value, scale) in terms {
            let id = value.constant()?;
            let bits = self.ir.types.int_bits(self.ir.constants.ty(id))?;
            let index = self.ir.constants.as_int(id)?;
            let index = ((index << (128 - bits.min(128))) as i128 >> (128 - bits.min(128))) as i64;
            offset = offset.checked_add(index.checked_mul(i64::try_from(scale).ok()?)?)?;
        }
        Some(offset)
    }

    /// The bytes of structure fields, and the other indices each with the bytes that it counts.
    fn split_indices(&self, source: TypeId, indices: &[Value]) -> Option<(i64, Vec<(Value, u64)>)> {
        let (types, layout) = (&self.ir.types, &self.ir.layout);
        let mut terms = Vec::with_capacity(indices.len());
        let mut offset = 0i64;
        let mut ty = source;
        for (at, &index) in indices.iter().enumerate() {
            if at == 0 {
                terms.push((index, layout.size(types, ty)));
                continue;
            }
            match &types[ty] {
                Type::Struct { fields, packed } => {
                    let field = usize::try_from(self.ir.constants.as_int(index.constant()?)?).ok()?;
                    offset = offset.checked_add(layout.field_offset(types, fields, *packed, field) as i64)?;
                    ty = *fields.get(field)?;
                }
                Type::Array(element, _) | Type::Vector(element, _) => {
                    let element = *element;
                    let is_vector = matches!(types[ty], Type::Vector(..));
                    let size = if is_vector { layout.bits(types, element) / 8 } else { layout.size(types, element) };
                    terms.push((index, size));
                    ty = element;
                }
                _ => return None,
            }
        }
        Some((offset, terms))
    }

    /// `getelementptr` whose result is needed as a number.
    pub(super) fn gep(&mut self, inst: InstId, words: &[Word]) -> Result<(), Error> {
        let body = self.body;
        let Op::Gep { source, base, indices, .. } = &body[inst].op else { return Ok(()) };
        if self.ir.types.as_vector(body[inst].ty).is_some() {
            return Err(Error::new("vectors of addresses"));
        }
        let [word] = words else { return Ok(()) };
        let Some(dst) = self.dst(*word) else { return Ok(()) };
        let (mut offset, terms) = self
            .split_indices(*source, indices)
            .ok_or_else(|| Error::new("`getelementptr` instructions of this shape"))?;
        let mut varying = Vec::new();
        for (value, scale) in terms {
            match value.constant().and_then(|id| self.signed_constant(id)) {
                Some(index) => offset = offset.wrapping_add(index.wrapping_mul(scale as i64)),
                None => varying.push((value, scale)),
            }
        }
        let mut sum = self.base_word(*base)?;
        // The last instruction writes the result, whichever it is.
        let steps = varying.len() + usize::from(offset != 0);
        if steps == 0 {
            return self.assign(dst, sum);
        }
        for (at, (value, scale)) in varying.iter().enumerate() {
            let to = if at + 1 == steps { dst } else { self.demanded_reg(word.vt) };
            self.add_scaled(to, sum, *value, *scale)?;
            sum = Word { vt: word.vt, part: Part::Reg(to) };
        }
        if offset != 0 {
            let operands = [self.reg(sum)?.into(), Operand::Imm(offset)];
            self.op(format_args!("add.{}", word.vt.typed(true)), dst, operands)?;
        }
        Ok(())
    }

    /// The word of the pointer that a `getelementptr` starts from.
    fn base_word(&mut self, base: Value) -> Result<Word, Error> {
        self.word(base)
    }

    pub(super) fn demanded_reg(&mut self, vt: Vt) -> VReg {
        let reg = self.new_reg(vt);
        self.demanded.grow_and_insert(reg.index());
        reg
    }

    fn signed_constant(&self, id: ConstId) -> Option<i64> {
        let bits = self.ir.types.int_bits(self.ir.constants.ty(id))?.min(128);
        let value = self.ir.constants.as_int(id)?;
        Some(((value << (128 - bits)) as i128 >> (128 - bits)) as i64)
    }

    /// `to = sum + index * scale`, the index sign-extended.
    fn add_scaled(&mut self, to: VReg, sum: Word, index: Value, scale: u64) -> Result<(), Error> {
        let base: Operand = self.reg(sum)?.into();
        let wide = sum.vt == Vt::I64;
        let factor = scale as i64;
        if wide && i32::try_from(factor).is_ok() {
            let narrow = match self.extension_of(index, 32) {
                Some((signed, inner)) => Some((signed, inner)),
                None if self.type_of(index) == TypeId::I32 => Some((true, index)),
                None => None,
            };
            if let Some((signed, inner)) = narrow {
                let t = if signed { "s32" } else { "u32" };
                let value = self.arg(inner)?;
                return self.op(format_args!("mad.wide.{t}"), to, [value, Operand::Imm(factor), base]);
            }
        }
        let index = self.index_word(index, sum.vt)?;
        let t = sum.vt.typed(true);
        let index = self.src(index)?;
        match scale {
            1 => self.op(format_args!("add.{t}"), to, [base, index]),
            _ if scale.is_power_of_two() => {
                let amount = Operand::Imm(i64::from(scale.trailing_zeros()));
                let scaled = self.value(format_args!("shl.{}", sum.vt.untyped()), sum.vt, [index, amount])?;
                self.op(format_args!("add.{t}"), to, [base, scaled.into()])
            }
            _ => self.op(format_args!("mad.lo.{t}"), to, [index, Operand::Imm(factor), base]),
        }
    }

    /// An index in the width of pointers.
    pub(super) fn index_word(&mut self, index: Value, vt: Vt) -> Result<Word, Error> {
        let bits = self.ir.types.int_bits(self.type_of(index)).unwrap_or(64);
        let words = self.words_of(index)?;
        if words[0].vt == Vt::Pred {
            let operands = [Operand::Imm(-1), Operand::Imm(0), self.reg(words[0])?.into()];
            return Ok(Word { vt, part: Part::Reg(self.value(format_args!("selp.{}", vt.untyped()), vt, operands)?) });
        }
        let word = self.extended(words[0], bits, true)?;
        if word.vt == vt {
            return Ok(word);
        }
        let src = self.src(word)?;
        let reg = self.value(format_args!("cvt.{}.{}", vt.typed(true), word.vt.typed(true)), vt, [src])?;
        Ok(Word { vt, part: Part::Reg(reg) })
    }

    /// `alloca`: the generic address of its place in the frame.
    pub(super) fn alloca(&mut self, inst: InstId, words: &[Word]) -> Result<(), Error> {
        let Some(offset) = self.frame_offsets[inst] else {
            return self.dynamic_alloca(inst, words);
        };
        let Some(&word) = words.first() else { return Ok(()) };
        let local = self.space_of(Value::Local(self.body.result(inst))) == AddressSpace::LOCAL;
        self.frame_address(word, offset, local)
    }

    /// The local or generic address of a byte of the frame.
    pub(super) fn frame_address(&mut self, word: Word, offset: u64, local: bool) -> Result<(), Error> {
        let Some(dst) = self.dst(word) else { return Ok(()) };
        let base = Operand::Reg(Reg::Physical(if local { PhysReg::Spl } else { PhysReg::Sp }));
        self.op(format_args!("add.u64"), dst, [base, Operand::Imm(offset as i64)])
    }

    /// `alloca` of a variable size, or outside the entry block: PTX has an instruction for it.
    fn dynamic_alloca(&mut self, inst: InstId, words: &[Word]) -> Result<(), Error> {
        let Op::Alloca { element, count, align } = self.body[inst].op else { return Ok(()) };
        let word = *words.first().ok_or_else(|| Error::new("local variables without an address"))?;
        let dst = self.result(word)?;
        let size = self.ir.layout.size(&self.ir.types, element);
        let count = self.index_word(count, Vt::I64)?;
        let operands = [self.src(count)?, Operand::Imm(size as i64)];
        let bytes = self.value(format_args!("mul.lo.s64"), Vt::I64, operands)?;
        let align = i64::from(align.max(self.ir.layout.align(&self.ir.types, element)).max(8));
        let local = self.value(format_args!("alloca.u64"), Vt::I64, [bytes.into(), Operand::Imm(align)])?;
        if self.space_of(Value::Local(self.body.result(inst))) == AddressSpace::LOCAL {
            self.copy(dst, local);
            return Ok(());
        }
        self.op(format_args!("cvta.local.u64"), dst, [local.into()])
    }

    /// The variable or function that a constant is the address of, the bytes behind it, and the
    /// space of the variable itself, whatever it was cast to.
    pub(super) fn const_address(&self, id: ConstId) -> Option<(crate::ir::SymbolId, i64, AddressSpace)> {
        let constants = &self.ir.constants;
        let mut at = id;
        let mut offset = 0i64;
        // Constants are acyclic: each step goes to one that was made before.
        loop {
            match &constants[at] {
                Constant::Symbol(_, symbol) => {
                    let entry = &self.ir.symbols[*symbol];
                    let space = match &entry.kind {
                        SymbolKind::Variable(_) if entry.space == AddressSpace::GENERIC => AddressSpace::GLOBAL,
                        _ => entry.space,
                    };
                    return Some((*symbol, offset, space));
                }
                Constant::Expr(_, expr) => match &**expr {
                    ConstExpr::Gep { source, base, indices, .. } => {
                        let indices: Vec<Value> = indices.iter().map(|&index| Value::Const(index)).collect();
                        offset = offset.checked_add(self.constant_offset(*source, &indices)?)?;
                        at = *base;
                    }
                    ConstExpr::Cast(
                        CastOp::Bitcast | CastOp::AddrSpaceCast | CastOp::PtrToInt | CastOp::IntToPtr,
                        inner,
                    ) => at = *inner,
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    /// The word of a constant that is an address or made of addresses.
    pub(super) fn const_address_word(&mut self, id: ConstId, pieces: &[Piece]) -> Result<Words, Error> {
        let &[Piece { vt, .. }] = pieces else { return Err(Error::new("constant expressions of aggregates")) };
        let constants = &self.ir.constants;
        if let Some(bits) = self.number_behind_casts(id) {
            return Ok(Words::from_slice(&[Word { vt, part: Part::Bits(bits) }]));
        }
        let (symbol, offset, own) =
            self.const_address(id).ok_or_else(|| Error::new("constant expressions that are not addresses"))?;
        let name = self.names[symbol].ok_or_else(|| Error::new("addresses of symbols without a PTX name"))?;
        // The number wanted is generic unless the type says the variable's own space. Functions
        // have addresses of their own.
        let wanted = self.pointer_space(id).or_else(|| self.ir.types.address_space(constants.ty(id)));
        let is_function = matches!(self.ir.symbols[symbol].kind, SymbolKind::Function(_) | SymbolKind::Alias(_));
        let generic = wanted == Some(AddressSpace::GENERIC) && !is_function && own != AddressSpace::GENERIC;
        let part = Part::Symbol(name, offset, generic.then_some(own));
        Ok(Words::from_slice(&[Word { vt, part }]))
    }

    /// The number that an `inttoptr` constant is made of.
    fn number_behind_casts(&self, id: ConstId) -> Option<u64> {
        match &self.ir.constants[id] {
            Constant::Int(_, value) => u64::try_from(*value).ok(),
            Constant::Expr(_, expr) => match **expr {
                ConstExpr::Cast(CastOp::IntToPtr | CastOp::PtrToInt, inner) => self.number_behind_casts(inner),
                _ => None,
            },
            _ => None,
        }
    }

    /// The space of the pointer that a `ptrtoint` constant starts from.
    fn pointer_space(&self, id: ConstId) -> Option<AddressSpace> {
        match &self.ir.constants[id] {
            Constant::Expr(_, expr) => match &**expr {
                ConstExpr::Cast(CastOp::PtrToInt, inner) => self.ir.types.address_space(self.ir.constants.ty(*inner)),
                _ => None,
            },
            _ => None,
        }
    }
}
