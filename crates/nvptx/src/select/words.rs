//! The words of values.
//!
//! The forward walk gives each value its words. What only regroups words of
//! other values gets theirs; packed words have lanes, which are registers of
//! their own when somebody asks for them.

use cranelift_entity::EntityRef;

use super::error::Error;
use super::legal::{Vt, pieces};
use super::lower::Lower;
use super::word_table::{Lanes, Part, Word, Words};
use crate::ir::{AddressSpace, BlockId, CastOp, ConstId, Constant, InstId, Op, Type, TypeId, Value, ValueId};
use crate::machine::VReg;

impl Lower<'_> {
    /// Gives every value of the reachable blocks its words.
    pub(super) fn assign_words(&mut self, order: &[BlockId]) -> Result<(), Error> {
        let body = self.body;
        for &param in &body.params {
            self.fresh(param)?;
        }
        for &block in order {
            for &inst in &body[block].insts {
                if let Some(value) = body[inst].result.expand() {
                    let before = self.out.regs.len();
                    match self.regrouped(inst)? {
                        Some(words) => self.words.set(value, &words),
                        None => self.fresh(value)?,
                    }
                    self.note_bitcast(inst, value)?;
                    for reg in (before..self.out.regs.len()).map(VReg::new) {
                        self.words.definer[reg] = Some(inst);
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes which registers a bit cast copies to another class, word by word.
    fn note_bitcast(&mut self, inst: InstId, value: ValueId) -> Result<(), Error> {
        let Op::Cast(CastOp::Bitcast, _, source) = self.body[inst].op else { return Ok(()) };
        let from = self.words_of(source)?;
        let to: Words = self.words.get(value).into();
        let whole = self.is_whole(self.type_of(source)) && self.is_whole(self.body.local_type(value));
        if from.len() != to.len() || !whole {
            return Ok(());
        }
        for (from, to) in from.iter().zip(&to) {
            if let (Part::Reg(old), Part::Reg(new)) = (from.part, to.part)
                && old != new
                && from.vt.bits() == to.vt.bits()
                && !matches!(from.vt, Vt::I8 | Vt::Pred)
            {
                self.words.cast_of[new] = Some(self.words.bits_of(old));
            }
        }
        Ok(())
    }

    /// True for the instruction that has to write the register of a word.
    pub(super) fn defines(&self, inst: InstId, word: Word) -> bool {
        matches!(word.part, Part::Reg(reg) if self.words.definer[reg] == Some(inst))
    }

    /// New registers for a value.
    fn fresh(&mut self, value: ValueId) -> Result<(), Error> {
        let words = self.fresh_words(self.body.local_type(value))?;
        self.words.set(value, &words);
        Ok(())
    }

    /// New registers for a type.
    pub(super) fn fresh_words(&mut self, ty: TypeId) -> Result<Words, Error> {
        let pieces = pieces(&self.ir.types, &self.ir.layout, ty)?;
        Ok(pieces.iter().map(|piece| Word { vt: piece.vt, part: Part::Reg(self.new_reg(piece.vt)) }).collect())
    }

    /// New registers for a vector that is computed lane by lane.
    fn fresh_lanes(&mut self, ty: TypeId) -> Result<Words, Error> {
        let mut words = self.fresh_words(ty)?;
        for word in &mut words {
            if let (Part::Reg(reg), 2..) = (word.part, word.vt.lanes()) {
                self.lanes(*word);
                self.words.from_lanes[reg] = true;
            }
        }
        Ok(words)
    }

    /// The words of what only regroups words of others; `None` for everything else.
    fn regrouped(&mut self, inst: InstId) -> Result<Option<Words>, Error> {
        let body = self.body;
        let ty = body[inst].ty;
        Ok(match &body[inst].op {
            Op::Freeze(value) => {
                let mut words = self.words_of(*value)?;
                // A frozen undefined value is the same each time it is read.
                words.iter_mut().filter(|word| word.part == Part::Undef).for_each(|word| word.part = Part::Bits(0));
                Some(words)
            }
            Op::ExtractValue(aggregate, path) => {
                let (start, len) = self.path_range(self.type_of(*aggregate), path)?;
                Some(self.words_of(*aggregate)?[start..start + len].into())
            }
            Op::InsertValue([aggregate, value], path) => {
                let (start, len) = self.path_range(self.type_of(*aggregate), path)?;
                let mut words = self.words_of(*aggregate)?;
                let new = self.words_of(*value)?;
                words[start..start + len].copy_from_slice(&new);
                Some(words)
            }
            Op::ExtractElement([vector, index]) => match self.const_index(*index) {
                // Behind the end there is poison.
                Some(index) => match self.element(*vector, index)? {
                    Some(words) => Some(words),
                    None => Some(self.undef_words(ty)?),
                },
                None => None,
            },
            Op::InsertElement([vector, value, index]) => match self.const_index(*index) {
                Some(index) => {
                    let mut elements = self.elements(*vector)?;
                    let new = self.words_of(*value)?;
                    if let Some(slot) = elements.get_mut(index) {
                        *slot = new;
                    }
                    Some(self.group(ty, &elements)?)
                }
                None => Some(self.fresh_lanes(ty)?),
            },
            Op::Shuffle([a, b], mask) => {
                let mut pool = self.elements(*a)?;
                pool.extend(self.elements(*b)?);
                let scalar = self.ir.types.scalar(ty);
                let undef = self.undef_words(scalar)?;
                let pick = |&at: &i32| usize::try_from(at).ok().and_then(|at| pool.get(at)).unwrap_or(&undef).clone();
                let elements: Vec<Words> = mask.iter().map(pick).collect();
                Some(self.group(ty, &elements)?)
            }
            Op::Cast(CastOp::Bitcast | CastOp::PtrToInt | CastOp::IntToPtr, _, value) => {
                let words = self.words_of(*value)?;
                let wanted = pieces(&self.ir.types, &self.ir.layout, ty)?;
                // Odd widths are extended, not regrouped.
                let whole = self.is_whole(ty) && self.is_whole(self.type_of(*value));
                let same = words.len() == wanted.len() && words.iter().zip(&wanted).all(|(a, b)| a.vt == b.vt);
                if same && whole { Some(words) } else { None }
            }
            // The parameter itself, which kernels may address.
            Op::Cast(CastOp::AddrSpaceCast, _, value)
                if self.ir.types.address_space(ty) == Some(AddressSpace::PARAM) =>
            {
                self.kernel_param(*value)
                    .map(|sym| Words::from_slice(&[Word { vt: Vt::I64, part: Part::Symbol(sym, 0, None) }]))
            }
            op if self.is_by_lanes(op, ty) => Some(self.fresh_lanes(ty)?),
            _ => None,
        })
    }

    /// True when every bit of the type's registers means something (pointers, `i32`, but not `i24`).
    pub(super) fn is_whole(&self, ty: TypeId) -> bool {
        match self.ir.types[self.ir.types.scalar(ty)] {
            Type::Int(bits) => matches!(bits, 1 | 8 | 16 | 32 | 64 | 128),
            _ => true,
        }
    }

    /// A constant index of an element, if it is one.
    pub(super) fn const_index(&self, index: Value) -> Option<usize> {
        usize::try_from(self.ir.constants.as_int(index.constant()?)?).ok()
    }

    /// Where in the words of `ty` the element at `path` lies: first word and number of words.
    fn path_range(&self, ty: TypeId, path: &[u32]) -> Result<(usize, usize), Error> {
        let (types, layout) = (&self.ir.types, &self.ir.layout);
        let mut start = 0;
        let mut ty = ty;
        for &index in path {
            start += match &types[ty] {
                Type::Array(element, _) => pieces(types, layout, *element)?.len() * index as usize,
                Type::Struct { fields, .. } => {
                    let before = fields.iter().take(index as usize);
                    before.map(|&field| pieces(types, layout, field).map(|p| p.len())).sum::<Result<usize, _>>()?
                }
                _ => 0,
            };
            ty = types.element(ty, u64::from(index)).ok_or_else(|| Error::new("indices beyond an aggregate"))?;
        }
        Ok((start, pieces(types, layout, ty)?.len()))
    }

    /// The words of any value.
    pub(super) fn words_of(&mut self, value: Value) -> Result<Words, Error> {
        match value {
            Value::Local(id) => Ok(self.words.get(id).into()),
            Value::Const(id) => self.const_words(id),
        }
    }

    /// The one word of a scalar.
    pub(super) fn word(&mut self, value: Value) -> Result<Word, Error> {
        let words = self.words_of(value)?;
        match words.as_slice() {
            [word] => Ok(*word),
            _ => Err(Error::new(format!("operands of type `{}` here", self.ir.types.text(self.type_of(value))))),
        }
    }

    fn undef_words(&self, ty: TypeId) -> Result<Words, Error> {
        let pieces = pieces(&self.ir.types, &self.ir.layout, ty)?;
        Ok(pieces.iter().map(|piece| Word { vt: piece.vt, part: Part::Undef }).collect())
    }

    /// The words of a constant.
    pub(super) fn const_words(&mut self, id: ConstId) -> Result<Words, Error> {
        let ir = self.ir;
        let ty = ir.constants.ty(id);
        let pieces = pieces(&ir.types, &ir.layout, ty)?;
        let all = |part: Part| pieces.iter().map(|piece| Word { vt: piece.vt, part }).collect();
        Ok(match &ir.constants[id] {
            Constant::Int(_, value) => {
                let word = |(at, piece): (usize, &super::legal::Piece)| Word {
                    vt: piece.vt,
                    part: Part::Bits((value >> (64 * at)) as u64),
                };
                pieces.iter().enumerate().map(word).collect()
            }
            Constant::Float(_, bits) => all(Part::Bits(*bits)),
            Constant::Null(_) | Constant::Zero(_) => all(Part::Bits(0)),
            Constant::Undef(_) | Constant::Poison(_) => all(Part::Undef),
            Constant::Aggregate(_, items) => {
                let elements = items.iter().map(|&item| self.const_words(item)).collect::<Result<Vec<_>, _>>()?;
                self.group(ty, &elements)?
            }
            Constant::Bytes(_, bytes) => {
                let word = |&byte: &u8| Word { vt: Vt::I8, part: Part::Bits(u64::from(byte)) };
                bytes.iter().map(word).collect()
            }
            Constant::Symbol(..) | Constant::Expr(..) => self.const_address_word(id, &pieces)?,
            Constant::BlockAddress(..) => return Err(Error::new("addresses of blocks")),
            Constant::MetadataString(_) | Constant::Metadata | Constant::TokenNone => Words::new(),
        })
    }

    /// Element `index` of a vector: its words.
    fn element(&mut self, vector: Value, index: usize) -> Result<Option<Words>, Error> {
        Ok(self.elements(vector)?.get(index).cloned())
    }

    /// The words of each element of a vector.
    pub(super) fn elements(&mut self, vector: Value) -> Result<Vec<Words>, Error> {
        let words = self.words_of(vector)?;
        self.elements_of(self.type_of(vector), &words)
    }

    /// The words of each element of a value of type `ty`; what is no vector is its own element.
    pub(super) fn elements_of(&mut self, ty: TypeId, words: &[Word]) -> Result<Vec<Words>, Error> {
        let Some((scalar, len)) = self.ir.types.as_vector(ty) else { return Ok(vec![words.into()]) };
        let each = pieces(&self.ir.types, &self.ir.layout, scalar)?.len();
        let mut elements = Vec::with_capacity(len as usize);
        if each != 1 {
            return Ok(words.chunks(each).map(Words::from).collect());
        }
        for word in words {
            if word.vt.lanes() == 1 {
                elements.push(Words::from_slice(&[*word]));
                continue;
            }
            let lanes = self.lanes(*word);
            for part in &lanes[..word.vt.lanes()] {
                elements.push(Words::from_slice(&[Word { vt: word.vt.lane(), part: *part }]));
            }
        }
        Ok(elements)
    }

    /// The lanes of a packed word; registers for them are made on the first request.
    pub(super) fn lanes(&mut self, word: Word) -> Lanes {
        let lane = word.vt.lane();
        let bits = lane.bytes() * 8;
        match word.part {
            Part::Bits(value) => {
                let part = |at: usize| Part::Bits((value >> (bits as usize * at).min(63)) & ((1 << bits) - 1));
                std::array::from_fn(part)
            }
            Part::Undef | Part::Symbol(..) => [Part::Undef; 4],
            Part::Reg(reg) => match self.words.lanes(reg) {
                Some(lanes) => lanes,
                None => {
                    let mut lanes = [Part::Undef; 4];
                    for slot in &mut lanes[..word.vt.lanes()] {
                        *slot = Part::Reg(self.new_reg(lane));
                    }
                    self.words.set_lanes(reg, lanes);
                    for part in &lanes[..word.vt.lanes()] {
                        if let Part::Reg(lane) = part {
                            self.words.owner[*lane] = Some(reg);
                        }
                    }
                    lanes
                }
            },
        }
    }

    /// Puts the words of elements together to those of the vector, array or structure `ty`.
    pub(super) fn group(&mut self, ty: TypeId, elements: &[Words]) -> Result<Words, Error> {
        let flat: Words = elements.iter().flatten().copied().collect();
        if self.ir.types.as_vector(ty).is_none() {
            return Ok(flat);
        }
        let pieces = pieces(&self.ir.types, &self.ir.layout, ty)?;
        let mut out = Words::new();
        let mut rest = flat.as_slice();
        for piece in &pieces {
            let (own, next) = rest.split_at(piece.vt.lanes().min(rest.len()));
            rest = next;
            out.push(if piece.vt.lanes() == 1 { own[0] } else { self.pack(piece.vt, own) });
        }
        Ok(out)
    }

    /// A packed word of lanes: the word that they are the lanes of already, or a new one.
    fn pack(&mut self, vt: Vt, lanes: &[Word]) -> Word {
        let mut parts = [Part::Undef; 4];
        for (slot, lane) in parts.iter_mut().zip(lanes) {
            *slot = lane.part;
        }
        let own = &parts[..vt.lanes()];
        if own.iter().all(|part| *part == Part::Undef) {
            return Word { vt, part: Part::Undef };
        }
        let bits = vt.lane().bytes() * 8;
        let constant = own.iter().rev().try_fold(0u64, |value, part| match part {
            Part::Bits(lane) => Some(value << bits | (lane & ((1 << bits) - 1))),
            Part::Undef => Some(value << bits),
            _ => None,
        });
        if let Some(value) = constant {
            return Word { vt, part: Part::Bits(value) };
        }
        if let Some(reg) = self.packed_of(own) {
            return Word { vt, part: Part::Reg(reg) };
        }
        let reg = self.new_reg(vt);
        self.words.set_lanes(reg, parts);
        self.words.from_lanes[reg] = true;
        Word { vt, part: Part::Reg(reg) }
    }

    /// The packed register of which `lanes` are the lanes in order.
    fn packed_of(&self, lanes: &[Part]) -> Option<VReg> {
        let Part::Reg(first) = lanes[0] else { return None };
        let packed = self.words.owner[first]?;
        let all = self.words.lanes(packed)?;
        (all[..lanes.len()] == *lanes).then_some(packed)
    }
}
