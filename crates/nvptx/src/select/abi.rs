//! How values get into and out of `.param` variables, whose shapes are those of
//! [`crate::emit::abi`].

use fixedbitset::FixedBitSet;
use oriole_ptx::ast::{ScalarType, Sym};

use super::address::Place;
use super::atomic::ORDERED_SINCE;
use super::error::Error;
use super::legal::{Vt, param_pieces};
use super::lower::Lower;
use super::memory::{Access, access_align};
use super::word_table::{Part, Word};
use crate::emit::{abi, names};
use crate::ir::{AddressSpace, Body, Op, TypeId, Value, ValueDef, ValueId};
use crate::machine::{Base, Operand, ParamDecl, PhysReg, Reg};

/// The parameters, by index, that are `byval` and only read at constant offsets: loads see the `.param` itself.
pub(super) fn direct_params(function: &crate::ir::Function, body: &Body) -> FixedBitSet {
    let mut direct = FixedBitSet::with_capacity(function.params.len());
    let mut params = rustc_hash::FxHashMap::default();
    for (index, param) in function.params.iter().enumerate() {
        if param.attributes.by_val.is_some() {
            direct.insert(index);
            params.insert(body.params[index], index);
        }
    }
    if params.is_empty() {
        return direct;
    }
    // Addresses within a parameter, and everything that is done with them. Definitions come before
    // uses in the layout but for `phi`s, which are not direct anyway.
    for (_, inst) in body.insts_in_order() {
        let data = &body[inst];
        let inside = |value: Value| value.local().and_then(|id: ValueId| params.get(&id).copied());
        match &data.op {
            Op::Gep { base, indices, .. }
                if inside(*base).is_some() && indices.iter().all(|i| i.constant().is_some()) =>
            {
                if let (Some(result), Some(index)) = (data.result.expand(), inside(*base)) {
                    params.insert(result, index);
                }
            }
            Op::Load { ptr, volatile: false, .. } if inside(*ptr).is_some() => {}
            op => op.for_each_value(|value| {
                if let Some(index) = inside(value) {
                    direct.set(index, false);
                }
            }),
        }
    }
    direct
}

/// The bytes that a parameter may have: what a kernel's parameters may have together, on any target.
const MAX_PARAM: u64 = 32_764;

/// Refuses parameters that are longer than any kernel's may be; functions copy theirs byte by byte.
pub(super) fn passable(decl: ParamDecl) -> Result<(), Error> {
    match decl.bytes {
        Some(bytes) if bytes > MAX_PARAM => Err(Error::new(format!("parameters of more than {MAX_PARAM} bytes"))),
        _ => Ok(()),
    }
}

impl Lower<'_> {
    /// Names and shapes of the parameters and the result.
    pub(super) fn declare_params(&mut self) -> Result<(), Error> {
        let source = self.source;
        let signature = abi::signature(self.ir, source, self.is_entry, self.aligns);
        for (index, decl) in signature.params.into_iter().enumerate() {
            passable(decl)?;
            let sym = names::param(self.symbols, self.taken, self.out.name, index);
            self.out.params.push((sym, decl));
        }
        if let Some(decl) = signature.ret {
            if self.is_entry {
                return Err(Error::new("kernels that return a value"));
            }
            self.out.ret = Some((names::result(self.symbols, self.taken), decl));
        }
        self.direct_params = direct_params(source, self.body);
        Ok(())
    }

    /// Loads the parameters that are read, at the start of the function.
    pub(super) fn load_params(&mut self) -> Result<(), Error> {
        let body = self.body;
        for (index, &value) in body.params.iter().enumerate() {
            let (sym, decl) = self.out.params[index];
            let words: Vec<Word> = self.words.get(value).to_vec();
            if self.source.params[index].attributes.by_val.is_some() {
                self.load_by_value(sym, decl, self.source.params[index].attributes.align, &words)?;
                continue;
            }
            self.load_from_param(sym, decl, self.source.params[index].ty, &words)?;
            for word in words {
                self.unpack(word)?;
            }
        }
        Ok(())
    }

    /// The name of the `byval` parameter of a kernel that a value is.
    pub(super) fn kernel_param(&self, value: Value) -> Option<Sym> {
        let ValueDef::Param(index) = self.body.def(value.local()?) else { return None };
        let by_value = self.source.params.get(index as usize)?.attributes.by_val.is_some();
        (self.is_entry && by_value).then(|| self.out.params[index as usize].0)
    }

    /// A `byval` parameter that is not only read at constant offsets: kernels address it where it is (those that
    /// write it have got a copy before selection) if the target can, functions copy it to the frame, aligned as is
    /// `stated`.
    fn load_by_value(&mut self, sym: Sym, decl: ParamDecl, stated: u32, words: &[Word]) -> Result<(), Error> {
        let Some(dst) = words.first().and_then(|word| self.dst(*word)) else { return Ok(()) };
        let bytes = decl.bytes.unwrap_or(0);
        if self.is_entry && self.options.arch >= ORDERED_SINCE {
            let address = self.value(format_args!("mov.b64"), Vt::I64, [Operand::Symbol(sym, 0)])?;
            return self.op(format_args!("cvta.param.u64"), dst, [address.into()]);
        }
        let offset = self.reserve_frame(bytes, decl.align.max(stated)) as i64;
        let from = Place { space: AddressSpace::PARAM, base: Base::Symbol(sym), offset: 0 };
        let spl = Base::Reg(Reg::Physical(PhysReg::Spl));
        let to = Place { space: AddressSpace::LOCAL, base: spl, offset };
        self.copy_memory(from, to, bytes, u64::from(decl.align))?;
        let base = Operand::Reg(Reg::Physical(PhysReg::Sp));
        self.op(format_args!("add.u64"), dst, [base, Operand::Imm(offset)])
    }

    /// Loads the words of a parameter that are read.
    fn load_from_param(&mut self, sym: Sym, decl: ParamDecl, ty: TypeId, words: &[Word]) -> Result<(), Error> {
        let place = Place { space: AddressSpace::PARAM, base: Base::Symbol(sym), offset: 0 };
        let wanted: Vec<_> = words.iter().map(|word| self.packed_dst(*word)).collect();
        for group in self.param_groups(decl, ty, words, true)? {
            let range = group.first..group.first + group.count;
            if wanted[range.clone()].iter().all(Option::is_none) {
                continue;
            }
            let vt = words[group.first].vt;
            if group.unaligned {
                let access = Access { place, words: ".param".to_owned(), align: u64::from(decl.align) };
                self.load_by_parts(&access, group.offset, vt.bytes(), words[group.first])?;
                continue;
            }
            if vt == Vt::Pred {
                let byte = self.value(format_args!("ld.param.u8"), Vt::I16, [place.operand(group.offset)])?;
                let bit = self.value(format_args!("and.b16"), Vt::I16, [byte.into(), Operand::Imm(1)])?;
                let dst = self.result(words[group.first])?;
                self.op(format_args!("setp.ne.s16"), dst, [bit.into(), Operand::Imm(0)])?;
                continue;
            }
            let mut dsts = Vec::with_capacity(group.count);
            for word in &words[range] {
                dsts.push(Operand::from(self.result(*word)?));
            }
            let operand = if dsts.len() == 1 { dsts.remove(0) } else { Operand::Vector(dsts.into()) };
            let text = &group.form;
            self.emit(format_args!("ld.param{text}"), 1, [operand, place.operand(group.offset)])?;
        }
        Ok(())
    }

    /// Stores the result of the function.
    pub(super) fn return_value(&mut self, value: Value) -> Result<(), Error> {
        let Some((sym, decl)) = self.out.ret else { return Ok(()) };
        let words = self.words_of(value)?;
        let place = Place { space: AddressSpace::PARAM, base: Base::Symbol(sym), offset: 0 };
        for group in self.param_groups(decl, self.source.ret, &words, false)? {
            if group.unaligned {
                let access = Access { place, words: ".param".to_owned(), align: u64::from(decl.align) };
                let word = words[group.first];
                self.store_by_parts(&access, group.offset, word.vt.bytes(), word)?;
                continue;
            }
            let mut items = Vec::with_capacity(group.count);
            for word in &words[group.first..group.first + group.count] {
                items.push(self.param_source(*word, decl)?);
            }
            let operand = if items.len() == 1 { items.remove(0) } else { Operand::Vector(items.into()) };
            let text = &group.form;
            self.emit(format_args!("st.param{text}"), 0, [place.operand(group.offset), operand])?;
        }
        Ok(())
    }

    /// A word as it is stored to a parameter: predicates as 0 or 1, integers below 32 bits widened when the
    /// parameter is.
    pub(super) fn param_source(&mut self, word: Word, decl: ParamDecl) -> Result<Operand, Error> {
        let narrow = decl.bytes.is_none() && decl.ty == ScalarType::B32;
        match word.vt {
            Vt::Pred => {
                let predicate = self.reg(word)?;
                let (t, vt) = if narrow { ("b32", Vt::I32) } else { ("b16", Vt::I16) };
                let operands = [Operand::Imm(1), Operand::Imm(0), predicate.into()];
                Ok(self.value(format_args!("selp.{t}"), vt, operands)?.into())
            }
            Vt::I8 | Vt::I16 if narrow => match word.part {
                Part::Bits(_) | Part::Undef => self.src(word),
                _ => {
                    let bits = word.vt.bytes() * 8;
                    let src = self.src(word)?;
                    Ok(self.value(format_args!("cvt.u32.u{bits}"), Vt::I32, [src])?.into())
                }
            },
            _ => Ok(self.reg(word)?.into()),
        }
    }

    /// How the words of a type are moved to or from a parameter, several at once where alignment allows.
    pub(super) fn param_groups(
        &self,
        decl: ParamDecl,
        ty: TypeId,
        words: &[Word],
        load: bool,
    ) -> Result<Vec<ParamGroup>, Error> {
        let pieces = param_pieces(&self.ir.types, &self.ir.layout, ty)?;
        let mut groups = Vec::new();
        let Some(_) = decl.bytes else {
            let vt = words.first().map_or(Vt::I32, |word| word.vt);
            let t = match (vt, load) {
                (Vt::Pred | Vt::I8, true) => "u8",
                (Vt::I16, true) => "u16",
                (Vt::F32, _) => "f32",
                (Vt::F64, _) => "f64",
                (Vt::F16 | Vt::Bf16, _) => "b16",
                (vt, _) if vt.bits() == 64 => "b64",
                _ => "b32",
            };
            groups.push(ParamGroup {
                first: 0,
                count: words.len(),
                offset: 0,
                form: format!(".{t}"),
                unaligned: false,
            });
            return Ok(groups);
        };
        let mut at = 0;
        while at < words.len() {
            let count = super::memory::run_length(&pieces[at..], u64::from(decl.align));
            let t = super::memory::memory_type(&words[at..at + count]);
            let form = if count == 1 { format!(".{t}") } else { format!(".v{count}.{t}") };
            let offset = pieces[at].offset;
            let unaligned = access_align(u64::from(decl.align), offset) < u64::from(pieces[at].vt.bytes());
            groups.push(ParamGroup { first: at, count, offset, form, unaligned });
            at += count;
        }
        Ok(groups)
    }
}

/// Words that one `ld.param` or `st.param` moves.
pub(super) struct ParamGroup {
    /// The first word.
    pub(super) first: usize,
    /// How many words.
    pub(super) count: usize,
    /// Bytes from the start of the parameter.
    pub(super) offset: u64,
    /// `.v2.b32` and the like.
    pub(super) form: String,
    /// The word is not aligned in the parameter and moves in parts.
    pub(super) unaligned: bool,
}
