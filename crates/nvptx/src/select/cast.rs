//! Conversions.

use smallvec::SmallVec;

use super::build::space_name;
use super::error::Error;
use super::float::one;
use super::legal::{Pieces, Vt, is_bit_packed, pieces};
use super::lower::Lower;
use super::word_table::{Part, Word};
use crate::ir::{AddressSpace, CastOp, InstFlags, Op, Ordering, TypeId, Value};
use crate::machine::{Operand, VReg};

impl Lower<'_> {
    /// A conversion of a scalar or vector.
    pub(super) fn cast(
        &mut self,
        op: CastOp,
        _flags: InstFlags,
        value: Value,
        ty: TypeId,
        words: &[Word],
    ) -> Result<(), Error> {
        let from = self.type_of(value);
        if op == CastOp::Bitcast {
            return self.bitcast(value, ty, words);
        }
        if op == CastOp::FpTrunc && self.pair_conversion(value, ty, words)? {
            return Ok(());
        }
        let bits = |this: &Self, ty: TypeId| this.ir.types.int_bits(this.ir.types.scalar(ty));
        let (from_bits, to_bits) = (bits(self, from).unwrap_or(64), bits(self, ty).unwrap_or(64));
        let (from_space, to_space) = (self.ir.types.address_space(from), self.ir.types.address_space(ty));
        if let (CastOp::AddrSpaceCast, Some(AddressSpace::LOCAL), &[word @ Word { vt: Vt::I64, .. }]) =
            (op, to_space, words)
            && let Some(offset) = self.body.def_inst(value).and_then(|inst| self.frame_offsets[inst])
        {
            return self.frame_address(word, offset, true);
        }
        if let (CastOp::SExt | CastOp::ZExt, &[word], None) = (op, words, self.ir.types.as_vector(from))
            && self.extend_load(op == CastOp::SExt, value, from_bits, word)
        {
            return Ok(());
        }
        self.each_element(ty, words, &[value], |this, args, result| {
            let source = &args[0];
            match op {
                CastOp::Trunc => this.truncate(source, result),
                CastOp::ZExt | CastOp::SExt => this.extend(source, from_bits, op == CastOp::SExt, result),
                CastOp::PtrToInt => this.extend(source, source[0].vt.bits(), false, result),
                CastOp::IntToPtr => this.extend(source, from_bits, false, result),
                CastOp::FpTrunc | CastOp::FpExt => this.convert_float(source[0], result[0]),
                CastOp::FpToSi | CastOp::FpToUi => this.float_to_int(source[0], op == CastOp::FpToSi, to_bits, result),
                CastOp::SiToFp | CastOp::UiToFp => {
                    this.int_to_float(source, from_bits, op == CastOp::SiToFp, result[0])
                }
                CastOp::AddrSpaceCast => {
                    let spaces = (from_space.unwrap_or_default(), to_space.unwrap_or_default());
                    this.convert_address(source[0], spaces, result[0])
                }
                CastOp::Bitcast => Ok(()),
            }
        })
    }

    /// Two floats to a pair of halves in one instruction, for each packed word.
    fn pair_conversion(&mut self, value: Value, ty: TypeId, words: &[Word]) -> Result<bool, Error> {
        let scalar = self.ir.types.scalar(ty);
        let Some(vt) = super::legal::scalar(&self.ir.types, &self.ir.layout, scalar)? else { return Ok(false) };
        if !self.is_pair_conversion(value, vt) || words.iter().all(|word| word.vt.lanes() == 1) {
            return Ok(false);
        }
        let source = self.words_of(value)?;
        let mut at = 0;
        for word in words {
            let lanes = word.vt.lanes();
            if let Some(dst) = self.packed_dst(*word) {
                if lanes == 2 {
                    let operands = [self.src(source[at + 1])?, self.src(source[at])?];
                    self.op(format_args!("cvt.rn.{}.f32", word.vt.typed(true)), dst, operands)?;
                } else {
                    self.float_to_half(source[at], word.vt, dst)?;
                }
            }
            at += lanes;
        }
        Ok(true)
    }

    /// The register of a word of which the whole or a lane is read.
    pub(super) fn packed_dst(&self, word: Word) -> Option<VReg> {
        let Part::Reg(reg) = word.part else { return None };
        let target = self.retarget[reg].unwrap_or(reg);
        let lane = |part: &Part| matches!(part, Part::Reg(lane) if self.is_demanded(*lane));
        let wanted = self.is_demanded(reg)
            || self.words.lanes(reg).is_some_and(|lanes| lanes[..word.vt.lanes()].iter().any(lane));
        wanted.then_some(target)
    }

    fn truncate(&mut self, source: &[Word], result: &[Word]) -> Result<(), Error> {
        let [result] = result else {
            // What stands above an odd width is not defined, so both halves are as they were.
            for (word, from) in result.iter().zip(source) {
                if let Some(dst) = self.dst(*word) {
                    self.assign(dst, *from)?;
                }
            }
            return Ok(());
        };
        let source = source[0];
        let Some(dst) = self.dst(*result) else { return Ok(()) };
        if result.vt == Vt::Pred {
            let t = source.vt.untyped();
            let operands = [self.src(source)?, Operand::Imm(1)];
            let bit = self.value(format_args!("and.{t}"), source.vt, operands)?;
            return self.op(format_args!("setp.ne.{}", source.vt.typed(true)), dst, [bit.into(), Operand::Imm(0)]);
        }
        if source.vt.class() == result.vt.class() {
            return self.assign(dst, self.retyped(source, result.vt));
        }
        let src = self.src(source)?;
        self.op(format_args!("cvt.{}.{}", result.vt.typed(false), source.vt.typed(false)), dst, [src])
    }

    fn extend(&mut self, source: &[Word], from_bits: u32, signed: bool, result: &[Word]) -> Result<(), Error> {
        if let &[low, high] = result {
            let &[word] = source else {
                let source = self.wide_extended([source[0], source[1]], from_bits, signed)?;
                self.assign(self.result(low)?, source[0])?;
                return self.assign(self.result(high)?, source[1]);
            };
            let low_dst = self.result(low)?;
            self.demand(low.part);
            self.extend_scalar(word, from_bits, signed, low, low_dst)?;
            let Some(high) = self.dst(high) else { return Ok(()) };
            return if signed {
                self.op(format_args!("shr.s64"), high, [low_dst.into(), Operand::Imm(63)])
            } else {
                self.assign(high, Word { vt: Vt::I64, part: Part::Bits(0) })
            };
        }
        match self.dst(result[0]) {
            Some(dst) => self.extend_scalar(source[0], from_bits, signed, result[0], dst),
            None => Ok(()),
        }
    }

    fn extend_scalar(&mut self, source: Word, bits: u32, signed: bool, to: Word, dst: VReg) -> Result<(), Error> {
        if source.vt == Vt::Pred {
            let ones = self.constant(to.vt, if signed { u64::MAX } else { 1 });
            let operands = [ones, Operand::Imm(0), self.reg(source)?.into()];
            return self.op(format_args!("selp.{}", to.vt.untyped()), dst, operands);
        }
        if to.vt.bits() < source.vt.bits() {
            let src = self.src(source)?;
            return self.op(format_args!("cvt.{}.{}", to.vt.typed(false), source.vt.typed(false)), dst, [src]);
        }
        let letter = if signed { 's' } else { 'u' };
        // `cvt` reads the low 8, 16 or 32 bits by itself.
        if matches!(bits, 8 | 16 | 32) && bits < to.vt.bits() {
            let src = self.src(source)?;
            return self.op(format_args!("cvt.{}.{letter}{bits}", to.vt.typed(signed)), dst, [src]);
        }
        let source = self.extended(source, bits, signed)?;
        if source.vt.class() == to.vt.class() {
            return self.assign(dst, self.retyped(source, to.vt));
        }
        let src = self.src(source)?;
        self.op(format_args!("cvt.{}.{}", to.vt.typed(signed), source.vt.typed(signed)), dst, [src])
    }

    /// A load that only an extension reads loads the wide register itself.
    fn extend_load(&mut self, signed: bool, value: Value, bits: u32, to: Word) -> bool {
        let Some(inst) = self.body.def_inst(value) else { return false };
        let Op::Load { ordering: Ordering::NotAtomic, volatile: false, align, .. } = self.body[inst].op else {
            return false;
        };
        // What takes over the extension reads the load itself, without being counted.
        let own = |word: &Word| matches!(word.part, Part::Reg(reg) if self.is_demanded(reg));
        let once = value.local().is_some_and(|id| self.uses[id] == 1 && !self.words.get(id).iter().any(own));
        let possible = once && matches!(bits, 8 | 16 | 32) && align >= bits / 8 && to.vt != Vt::Pred;
        let Some(dst) = self.dst(to).filter(|_| possible) else {
            return false;
        };
        self.extending[inst] = Some((dst, to.vt, signed));
        true
    }

    fn convert_float(&mut self, source: Word, result: Word) -> Result<(), Error> {
        let Some(dst) = self.dst(result) else { return Ok(()) };
        match (source.vt, result.vt) {
            (Vt::F32, Vt::F16 | Vt::Bf16) => self.float_to_half(source, result.vt, dst),
            (Vt::F16 | Vt::Bf16, Vt::F32) => match self.half_to_float(source)?.part {
                Part::Reg(_) => self.redirect_last(dst),
                part => self.assign(dst, Word { vt: Vt::F32, part }),
            },
            (Vt::Bf16, Vt::F64) => {
                let wide = self.half_to_float(source)?;
                let src = self.src(wide)?;
                self.op(format_args!("cvt.f64.f32"), dst, [src])
            }
            (Vt::F64, Vt::Bf16) => {
                let odd = self.round_to_odd(source)?;
                self.float_to_half(odd, Vt::Bf16, dst)
            }
            (from, to) => {
                let rounding = if to.bits() < from.bits() { ".rn" } else { "" };
                let ftz = if matches!((from, to), (Vt::F32, _) | (_, Vt::F32)) { self.ftz(Vt::F32) } else { "" };
                let src = self.src(source)?;
                self.op(format_args!("cvt{rounding}{ftz}.{}.{}", to.typed(true), from.typed(true)), dst, [src])
            }
        }
    }

    /// Lets the last instruction emitted write `dst`.
    pub(super) fn redirect_last(&mut self, dst: VReg) -> Result<(), Error> {
        match self.sequence.last_mut().and_then(|inst| inst.operands.first_mut()) {
            Some(operand) => {
                *operand = dst.into();
                Ok(())
            }
            None => Err(Error::new("conversions without an instruction")),
        }
    }

    /// A `double` as a `float` of which the last bit says that something was cut off: rounding that
    /// again gives what rounding the `double` gives.
    fn round_to_odd(&mut self, source: Word) -> Result<Word, Error> {
        let exact = self.src(source)?;
        let cut = self.value(format_args!("cvt.rz.f32.f64"), Vt::F32, [exact.clone()])?;
        let back = self.value(format_args!("cvt.f64.f32"), Vt::F64, [cut.into()])?;
        let inexact = self.value(format_args!("setp.neu.f64"), Vt::Pred, [back.into(), exact.clone()])?;
        let bits = self.value(format_args!("mov.b32"), Vt::I32, [cut.into()])?;
        let odd = self.value(format_args!("or.b32"), Vt::I32, [bits.into(), Operand::Imm(1)])?;
        let chosen = [odd.into(), bits.into(), inexact.into()];
        let chosen = self.value(format_args!("selp.b32"), Vt::I32, chosen)?;
        let float = self.value(format_args!("mov.b32"), Vt::F32, [chosen.into()])?;
        Ok(Word { vt: Vt::F32, part: Part::Reg(float) })
    }

    fn float_to_int(&mut self, source: Word, signed: bool, bits: u32, result: &[Word]) -> Result<(), Error> {
        let [result] = result else { return Err(Error::new("conversions of floats to more than 64 bits")) };
        let Some(dst) = self.dst(*result) else { return Ok(()) };
        let source = if source.vt == Vt::Bf16 { self.half_to_float(source)? } else { source };
        let src = self.src(source)?;
        let from = source.vt.typed(true);
        if bits == 1 {
            let whole = self.value(format_args!("cvt.rzi.s32.{from}"), Vt::I32, [src])?;
            return self.op(format_args!("setp.ne.s32"), dst, [whole.into(), Operand::Imm(0)]);
        }
        let ftz = self.ftz(source.vt);
        self.op(format_args!("cvt.rzi{ftz}.{}.{from}", result.vt.typed(signed)), dst, [src])
    }

    fn int_to_float(&mut self, source: &[Word], bits: u32, signed: bool, result: Word) -> Result<(), Error> {
        let &[word] = source else { return Err(Error::new("conversions of more than 64 bits to floats")) };
        let Some(dst) = self.dst(result) else { return Ok(()) };
        if word.vt == Vt::Pred {
            let sign = if signed { 1u64 << (result.vt.bits() - 1) } else { 0 };
            let value = Word { vt: result.vt, part: Part::Bits(one(result.vt) | sign) };
            let zero = Word { vt: result.vt, part: Part::Bits(0) };
            let predicate = self.reg(word)?;
            return self.select_words(dst, value, zero, predicate);
        }
        let word = self.extended(word, bits, signed)?;
        let from = word.vt.typed(signed);
        if result.vt == Vt::Bf16 && self.options.arch < 90 {
            let src = self.src(word)?;
            let wide = match word.vt {
                Vt::I8 | Vt::I16 => {
                    let float = self.value(format_args!("cvt.rn.f32.{from}"), Vt::F32, [src])?;
                    Word { vt: Vt::F32, part: Part::Reg(float) }
                }
                Vt::I32 => {
                    let double = self.value(format_args!("cvt.rn.f64.{from}"), Vt::F64, [src])?;
                    self.round_to_odd(Word { vt: Vt::F64, part: Part::Reg(double) })?
                }
                _ => return Err(Error::new("conversions of 64-bit integers to `bfloat` before sm_90")),
            };
            return self.float_to_half(wide, Vt::Bf16, dst);
        }
        let src = self.src(word)?;
        self.op(format_args!("cvt.rn.{}.{from}", result.vt.typed(true)), dst, [src])
    }

    /// `addrspacecast`
    fn convert_address(
        &mut self,
        source: Word,
        spaces: (AddressSpace, AddressSpace),
        result: Word,
    ) -> Result<(), Error> {
        let Some(dst) = self.dst(result) else { return Ok(()) };
        let (from, to) = spaces;
        let name = |space: AddressSpace| {
            space_name(space).ok_or_else(|| Error::new(format!("pointers of address space {}", space.0)))
        };
        let t = |vt: Vt| if vt == Vt::I32 { "u32" } else { "u64" };
        match (name(from)?, name(to)?) {
            ("", space) if !space.is_empty() => {
                let src: Operand = self.reg(source)?.into();
                if result.vt == Vt::I32 {
                    let wide = self.value(format_args!("cvta.to.{space}.u64"), Vt::I64, [src])?;
                    return self.op(format_args!("cvt.u32.u64"), dst, [wide.into()]);
                }
                self.op(format_args!("cvta.to.{space}.{}", t(result.vt)), dst, [src])
            }
            (space, "") if !space.is_empty() => {
                let mut source = source;
                if source.vt == Vt::I32 {
                    let narrow = self.src(source)?;
                    let wide = self.value(format_args!("cvt.u64.u32"), Vt::I64, [narrow])?;
                    source = Word { vt: Vt::I64, part: Part::Reg(wide) };
                }
                let src: Operand = self.reg(source)?.into();
                self.op(format_args!("cvta.{space}.u64"), dst, [src])
            }
            (a, b) if a == b || a.starts_with("shared") && b.starts_with("shared") => self.assign(dst, source),
            _ => Err(Error::new(format!("conversions of pointers from address space {} to {}", from.0, to.0))),
        }
    }

    /// The same bits as another type: copies between classes, and words put together or taken apart.
    fn bitcast(&mut self, value: Value, ty: TypeId, words: &[Word]) -> Result<(), Error> {
        let source = self.words_of(value)?;
        let from = pieces(&self.ir.types, &self.ir.layout, self.type_of(value))?;
        let to = pieces(&self.ir.types, &self.ir.layout, ty)?;
        let uneven = |pieces: &Pieces| pieces.iter().any(|piece| piece.vt.bytes() != pieces[0].vt.bytes());
        let regular = self.is_whole(self.type_of(value)) && self.is_whole(ty);
        if is_bit_packed(&self.ir.types, ty) || is_bit_packed(&self.ir.types, self.type_of(value)) {
            return self.bitcast_by_fields((self.type_of(value), &source), (ty, words));
        }
        if from.len() == to.len()
            && from.iter().zip(&to).all(|(a, b)| a.vt.bits() == b.vt.bits() && a.offset == b.offset)
        {
            for (at, word) in words.iter().enumerate() {
                // Lanes are taken from the source itself, where it is a register.
                let copies = matches!(word.part, Part::Reg(reg) if self.words.bits_of(reg) != reg);
                let dst = if copies { self.dst(*word) } else { self.packed_dst(*word) };
                if let Some(dst) = dst
                    && !self.produce_there(value, source[at], dst)
                {
                    self.reinterpret(dst, word.vt, source[at])?;
                }
            }
            return Ok(());
        }
        if !regular || uneven(&from) || uneven(&to) {
            return self.bitcast_by_fields((self.type_of(value), &source), (ty, words));
        }
        let bytes: SmallVec<[(u64, Word); 8]> = from.iter().zip(&source).map(|(p, word)| (p.offset, *word)).collect();
        let mut pending: Vec<(u64, Word, VReg)> = Vec::new();
        for (piece, word) in to.iter().zip(words) {
            if let Some(dst) = self.packed_dst(*word) {
                pending.push((piece.offset, *word, dst));
            }
        }
        self.regroup_bits(&bytes, &pending)
    }

    /// Lets what loads or packs the source, for this bit cast alone, write the register of the result.
    fn produce_there(&mut self, value: Value, source: Word, dst: VReg) -> bool {
        let (Part::Reg(reg), Some(id)) = (source.part, value.local()) else { return false };
        let Some(inst) = self.words.definer(reg) else { return false };
        let own = self.uses[id] == 1 && self.body.def_inst(value) == Some(inst) && !self.is_demanded(reg);
        let untyped = match self.body[inst].op {
            Op::Load { ordering: Ordering::NotAtomic, volatile: false, .. } => source.vt.bits() >= 32,
            _ => self.words.from_lanes[reg],
        };
        if own && untyped && source.vt.lanes() != 4 {
            self.retarget[reg] = Some(dst);
            self.demand(source.part);
            return true;
        }
        false
    }

    /// The same bits in a register of another class.
    pub(super) fn reinterpret(&mut self, dst: VReg, vt: Vt, source: Word) -> Result<(), Error> {
        match source.part {
            Part::Reg(reg) => {
                self.copy(dst, reg);
                Ok(())
            }
            _ => self.assign(dst, self.retyped(source, vt)),
        }
    }

    /// Writes each target from the sources that cover its bytes.
    fn regroup_bits(&mut self, source: &[(u64, Word)], targets: &[(u64, Word, VReg)]) -> Result<(), Error> {
        let mut at = 0;
        while at < targets.len() {
            let (offset, word, dst) = targets[at];
            let size = u64::from(word.vt.bytes());
            let covering = source
                .iter()
                .position(|(start, from)| *start <= offset && offset + size <= start + u64::from(from.vt.bytes()));
            match covering {
                Some(index) if u64::from(source[index].1.vt.bytes()) == size => {
                    self.reinterpret(dst, word.vt, source[index].1)?;
                    at += 1;
                }
                // A wide source: all targets within it come out of one instruction.
                Some(index) => {
                    let (start, from) = source[index];
                    let end = start + u64::from(from.vt.bytes());
                    let group: Vec<_> =
                        targets[at..].iter().take_while(|(offset, ..)| *offset < end).copied().collect();
                    self.split_word(from, start, &group, size)?;
                    at += group.len();
                }
                None => {
                    let parts: Vec<Word> = source
                        .iter()
                        .filter(|(start, _)| (offset..offset + size).contains(start))
                        .map(|(_, word)| *word)
                        .collect();
                    self.join_words(dst, word.vt, &parts)?;
                    at += 1;
                }
            }
        }
        Ok(())
    }

    fn split_word(&mut self, from: Word, start: u64, group: &[(u64, Word, VReg)], size: u64) -> Result<(), Error> {
        if size == 1 {
            let bytes: Vec<(u64, VReg)> = group.iter().map(|(offset, _, dst)| (offset - start, *dst)).collect();
            return self.split_bytes(from, &bytes);
        }
        let count = u64::from(from.vt.bytes()) / size;
        let mut items = vec![Operand::Sink; count as usize];
        for (offset, _, dst) in group {
            items[((offset - start) / size) as usize] = (*dst).into();
        }
        let src: Operand = self.reg(from)?.into();
        self.emit(format_args!("mov.{}", from.vt.untyped()), 1, [Operand::Vector(items.into()), src])
    }

    fn join_words(&mut self, dst: VReg, vt: Vt, parts: &[Word]) -> Result<(), Error> {
        if parts.iter().all(|word| word.vt == Vt::I8) {
            return self.join_bytes(dst, vt, parts);
        }
        let bytes: u32 = parts.iter().map(|word| word.vt.bytes()).sum();
        if bytes != vt.bytes() || !matches!(parts.len(), 2 | 4) || parts.iter().any(|word| word.vt == Vt::I8) {
            return Err(Error::new("bit casts between vectors of these shapes"));
        }
        let items = parts.iter().map(|word| self.reg(*word).map(Operand::from)).collect::<Result<Box<[_]>, _>>()?;
        self.op(format_args!("mov.{}", vt.untyped()), dst, [Operand::Vector(items)])
    }

    /// Takes single bytes out of a word, each by its number.
    pub(super) fn split_bytes(&mut self, from: Word, bytes: &[(u64, VReg)]) -> Result<(), Error> {
        let src = self.bits_src(from)?;
        let (wide, vt) = match from.vt.bits() {
            16 => (self.value(format_args!("cvt.u32.u16"), Vt::I32, [src])?.into(), Vt::I32),
            64 => (src, Vt::I64),
            _ => (src, Vt::I32),
        };
        let t = vt.typed(false);
        for (number, dst) in bytes {
            let place = [Operand::clone(&wide), Operand::Imm(8 * *number as i64), Operand::Imm(8)];
            let byte = self.value(format_args!("bfe.{t}"), vt, place)?;
            self.op(format_args!("cvt.u16.{t}"), *dst, [byte.into()])?;
        }
        Ok(())
    }

    /// Puts bytes together to a word.
    pub(super) fn join_bytes(&mut self, dst: VReg, to: Vt, parts: &[Word]) -> Result<(), Error> {
        let vt = if to.bits() == 64 { Vt::I64 } else { Vt::I32 };
        let (t, b) = (vt.typed(false), vt.untyped());
        let mut sum: Option<VReg> = None;
        for (number, part) in parts.iter().enumerate() {
            let src = self.src(*part)?;
            let byte = self.value(format_args!("cvt.{t}.u8"), vt, [src])?;
            sum = Some(match sum {
                None => byte,
                Some(low) => {
                    let place = [Operand::Imm(8 * number as i64), Operand::Imm(8)];
                    let operands = [byte.into(), low.into()].into_iter().chain(place);
                    self.value(format_args!("bfi.{b}"), vt, operands)?
                }
            });
        }
        match sum {
            Some(whole) if to.bits() == 16 => self.op(format_args!("cvt.u16.u32"), dst, [whole.into()]),
            Some(whole) => {
                self.copy(dst, whole);
                Ok(())
            }
            None => Ok(()),
        }
    }
}
