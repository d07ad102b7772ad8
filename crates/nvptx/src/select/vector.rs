//! Vectors: what is done element by element, and packed words.

use super::address::Place;
use super::error::Error;
use super::legal::{Vt, immediate};
use super::lower::Lower;
use super::word_table::{Lanes, Part, Word, Words};
use crate::ir::{AddressSpace, BinaryOp, CastOp, Op, TypeId, Value};
use crate::machine::{Base, Operand, PhysReg, Reg, RegClass, VReg};

/// How many elements are picked from by comparisons of a variable index; of more by local memory.
const MAX_SELECTED: usize = 8;

impl Lower<'_> {
    /// True for operations on packed vectors that PTX does not have on whole words.
    pub(super) fn is_by_lanes(&self, op: &Op, ty: TypeId) -> bool {
        let Some((element, _)) = self.ir.types.as_vector(ty) else { return false };
        let Ok(Some(vt)) = super::legal::scalar(&self.ir.types, &self.ir.layout, element) else { return false };
        if !matches!(vt, Vt::I8 | Vt::I16 | Vt::F16 | Vt::Bf16) {
            return false;
        }
        match op {
            Op::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, ..) => false,
            Op::Binary(op, ..) => !self.has_packed(*op, vt),
            Op::FNeg(..) => !self.has_packed_negate(vt),
            Op::Cast(CastOp::Bitcast, ..) => false,
            Op::Cast(CastOp::FpTrunc, _, value) => !self.is_pair_conversion(*value, vt),
            Op::Cast(..) => true,
            Op::InsertElement(_) => true,
            Op::Select(_, [condition, ..]) => self.ir.types.as_vector(self.type_of(*condition)).is_some(),
            Op::Call(call) => self.is_lane_intrinsic(call, vt),
            _ => false,
        }
    }

    /// True when PTX has the operation on packed words for the target.
    pub(super) fn has_packed(&self, op: BinaryOp, vt: Vt) -> bool {
        let arch = self.options.arch;
        match (op, vt) {
            (BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul, Vt::F16) => true,
            (BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul, Vt::Bf16) => arch >= 90,
            (BinaryOp::Add, Vt::I16) => arch >= 90,
            _ => false,
        }
    }

    pub(super) fn has_packed_negate(&self, vt: Vt) -> bool {
        vt == Vt::F16 || vt == Vt::Bf16 && self.options.arch >= 80
    }

    /// `cvt.rn.f16x2.f32 d, high, low` makes a pair of two floats.
    pub(super) fn is_pair_conversion(&self, value: Value, vt: Vt) -> bool {
        let from = self.ir.types.scalar(self.type_of(value));
        matches!(vt, Vt::F16 | Vt::Bf16) && from == TypeId::FLOAT && self.options.arch >= 80
    }

    /// Runs `f` for each element: with the words of the arguments, and those of the result.
    /// Elements that nobody reads are left out.
    pub(super) fn each_element(
        &mut self,
        ty: TypeId,
        results: &[Word],
        args: &[Value],
        mut f: impl FnMut(&mut Self, &[Words], &[Word]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let results = self.elements_of(ty, results)?;
        let args = args.iter().map(|&arg| self.elements(arg)).collect::<Result<Vec<_>, _>>()?;
        for (at, result) in results.iter().enumerate() {
            if !result.iter().any(|word| self.dst(*word).is_some()) {
                continue;
            }
            let own: Option<Vec<Words>> = args.iter().map(|elements| elements.get(at).cloned()).collect();
            let own = own.ok_or_else(|| Error::new("vectors of different lengths"))?;
            f(self, &own, result)?;
        }
        Ok(())
    }

    /// Puts lanes together to a packed register.
    pub(super) fn pack_lanes(&mut self, vt: Vt, dst: VReg, lanes: &Lanes) -> Result<(), Error> {
        let lane = vt.lane();
        let mut regs = [None; 4];
        for (slot, part) in regs.iter_mut().zip(lanes).take(vt.lanes()) {
            *slot = Some(self.reg(Word { vt: lane, part: *part })?);
        }
        let pair =
            |a: Option<VReg>, b: Option<VReg>| Operand::Vector(a.into_iter().chain(b).map(Operand::from).collect());
        if vt.lanes() == 2 {
            return self.op(format_args!("mov.b32"), dst, [pair(regs[0], regs[1])]);
        }
        let low = self.value(format_args!("mov.b32"), Vt::I32, [pair(regs[0], regs[1])])?;
        let high = self.value(format_args!("mov.b32"), Vt::I32, [pair(regs[2], regs[3])])?;
        self.op(format_args!("prmt.b32"), dst, [low.into(), high.into(), Operand::Imm(0x6420)])
    }

    /// Takes a packed register apart into those of its lanes that are read.
    pub(super) fn unpack_lanes(&mut self, vt: Vt, src: VReg, lanes: &Lanes) -> Result<(), Error> {
        let wanted = |this: &Self, part: Part| this.dst(Word { vt: vt.lane(), part });
        let regs: Vec<Option<VReg>> = lanes[..vt.lanes()].iter().map(|&part| wanted(self, part)).collect();
        if regs.iter().all(Option::is_none) {
            return Ok(());
        }
        let bits = self.words.bits_of(self.retarget[src].unwrap_or(src));
        // What a bit cast copies may itself be written to the register of the cast.
        let mut src = self.retarget[bits].unwrap_or(bits);
        self.demand(Part::Reg(src));
        // Bytes are taken out by arithmetic, which takes no floats.
        if vt.lanes() == 4 && self.out.regs[src] == RegClass::Float32 {
            src = self.copied(Vt::I32, src);
        }
        if vt.lanes() == 2 {
            let items = regs.iter().map(|reg| reg.map_or(Operand::Sink, Operand::from)).collect();
            return self.emit(format_args!("mov.b32"), 1, [Operand::Vector(items), src.into()]);
        }
        for (at, reg) in regs.into_iter().enumerate() {
            if let Some(reg) = reg {
                let place = [src.into(), Operand::Imm(8 * at as i64), Operand::Imm(8)];
                let byte = self.value(format_args!("bfe.u32"), Vt::I32, place)?;
                self.op(format_args!("cvt.u16.u32"), reg, [byte.into()])?;
            }
        }
        Ok(())
    }

    /// `extractelement` of a variable index: a chain of selections, or by way of local memory.
    pub(super) fn extract_dynamic(&mut self, vector: Value, index: Value, words: &[Word]) -> Result<(), Error> {
        let elements = self.elements(vector)?;
        if elements.len() > MAX_SELECTED {
            let (place, _) = self.spill(vector, index)?;
            return self.load_words(
                &super::memory::Access::plain(self, place, 1)?,
                self.scalar_of(vector),
                words,
                true,
            );
        }
        let index = self.word(index)?;
        for (at, word) in words.iter().enumerate() {
            let Some(dst) = self.dst(*word) else { continue };
            let mut value = elements.first().map(|first| first[at]).unwrap_or(*word);
            for (number, element) in elements.iter().enumerate().skip(1) {
                let hit = self.compare_index(index, number)?;
                let last = number + 1 == elements.len();
                let to = if last { dst } else { self.fresh_reg(word.vt) };
                self.select_words(to, element[at], value, hit)?;
                value = Word { vt: word.vt, part: Part::Reg(to) };
            }
            if elements.len() == 1 {
                self.assign(dst, value)?;
            }
        }
        Ok(())
    }

    /// `insertelement` at a variable index: each element is the new one or the old one; of long vectors by way
    /// of local memory.
    pub(super) fn insert_dynamic(
        &mut self,
        vector: Value,
        value: Value,
        index: Value,
        words: &[Word],
    ) -> Result<(), Error> {
        let ty = self.type_of(vector);
        let old = self.elements(vector)?;
        let results = self.elements_of(ty, words)?;
        if old.len() > MAX_SELECTED {
            let (place, whole) = self.spill(vector, index)?;
            self.store_value(place, value, 1)?;
            let scalar = self.scalar_of(vector);
            let size = self.ir.layout.bits(&self.ir.types, scalar) / 8;
            for (number, result) in results.iter().enumerate() {
                let offset = whole.offset + (number as u64 * size) as i64;
                let access = super::memory::Access::plain(self, Place { offset, ..whole }, size)?;
                self.load_words(&access, scalar, result, true)?;
            }
            return Ok(());
        }
        let new = self.words_of(value)?;
        let index = self.word(index)?;
        for (number, (result, old)) in results.iter().zip(&old).enumerate() {
            for (at, word) in result.iter().enumerate() {
                let Part::Reg(lane) = word.part else { continue };
                self.demand(word.part);
                let hit = self.compare_index(index, number)?;
                self.select_words(lane, new[at], old[at], hit)?;
            }
        }
        Ok(())
    }

    fn scalar_of(&self, vector: Value) -> TypeId {
        self.ir.types.scalar(self.type_of(vector))
    }

    /// Stores a vector to the frame: the place of the element at `index`, and of the first.
    fn spill(&mut self, vector: Value, index: Value) -> Result<(Place, Place), Error> {
        let ty = self.type_of(vector);
        let bytes = self.ir.layout.size(&self.ir.types, ty);
        let offset = self.reserve_frame(bytes, 16) as i64;
        let base = Base::Reg(Reg::Physical(PhysReg::Spl));
        let whole = Place { space: AddressSpace::LOCAL, base, offset };
        self.store_value(whole, vector, 16)?;
        let size = self.ir.layout.bits(&self.ir.types, self.scalar_of(vector)) / 8;
        let start = [Operand::Reg(Reg::Physical(PhysReg::Spl)), Operand::Imm(offset)];
        let start = self.value(format_args!("add.u64"), Vt::I64, start)?;
        let index = self.index_word(index, Vt::I64)?;
        let operands = [self.src(index)?, Operand::Imm(size as i64), start.into()];
        let element = self.value(format_args!("mad.lo.s64"), Vt::I64, operands)?;
        Ok((Place { space: AddressSpace::LOCAL, base: Base::Reg(element.into()), offset: 0 }, whole))
    }

    fn compare_index(&mut self, index: Word, number: usize) -> Result<VReg, Error> {
        let args = [self.reg(index)?.into(), Operand::Imm(number as i64)];
        self.value(format_args!("setp.eq.{}", index.vt.typed(false)), Vt::Pred, args)
    }

    fn fresh_reg(&mut self, vt: Vt) -> VReg {
        let reg = self.new_reg(vt);
        self.demand(Part::Reg(reg));
        reg
    }

    /// `a` where the predicate is true, else `b`.
    pub(super) fn select_words(&mut self, dst: VReg, a: Word, b: Word, predicate: VReg) -> Result<(), Error> {
        self.demand(Part::Reg(predicate));
        if a.vt == Vt::Pred {
            return self.select_predicates(dst, a, b, predicate);
        }
        let t = match a.vt {
            Vt::F32 => "f32",
            Vt::F64 => "f64",
            other => other.untyped(),
        };
        let args = [self.bits_src(a)?, self.bits_src(b)?, predicate.into()];
        self.op(format_args!("selp.{t}"), dst, args)
    }

    /// Selection of predicates, which `selp` does not take: by logic.
    fn select_predicates(&mut self, dst: VReg, a: Word, b: Word, predicate: VReg) -> Result<(), Error> {
        match (a.part, b.part) {
            // p ? true : b
            (Part::Bits(1), _) => {
                let b = self.reg(b)?;
                self.op(format_args!("or.pred"), dst, [predicate.into(), b.into()])
            }
            // p ? a : false
            (_, Part::Bits(0)) => {
                let a = self.reg(a)?;
                self.op(format_args!("and.pred"), dst, [predicate.into(), a.into()])
            }
            _ => {
                let (a, b) = (self.reg(a)?, self.reg(b)?);
                let other = self.value(format_args!("not.pred"), Vt::Pred, [predicate.into()])?;
                let first = self.value(format_args!("and.pred"), Vt::Pred, [predicate.into(), a.into()])?;
                let second = self.value(format_args!("and.pred"), Vt::Pred, [other.into(), b.into()])?;
                self.op(format_args!("or.pred"), dst, [first.into(), second.into()])
            }
        }
    }

    /// `select`
    pub(super) fn select_value(&mut self, args: [Value; 3], words: &[Word]) -> Result<(), Error> {
        let [condition, a, b] = args;
        if self.ir.types.as_vector(self.type_of(condition)).is_some() {
            let ty = self.type_of(a);
            return self.each_element(ty, words, &args, |this, args, result| {
                let predicate = this.reg(args[0][0])?;
                for (at, word) in result.iter().enumerate() {
                    if let Some(dst) = this.dst(*word) {
                        this.select_words(dst, args[1][at], args[2][at], predicate)?;
                    }
                }
                Ok(())
            });
        }
        let (a, b) = (self.words_of(a)?, self.words_of(b)?);
        let (condition, negated) = self.peel_not(condition);
        let condition = self.word(condition)?;
        let predicate = self.reg(condition)?;
        for (at, word) in words.iter().enumerate() {
            if let Some(dst) = self.dst(*word) {
                let (a, b) = if negated { (b[at], a[at]) } else { (a[at], b[at]) };
                self.select_words(dst, a, b, predicate)?;
            }
        }
        Ok(())
    }

    /// The condition without an `xor` with true around it, and whether there was one.
    pub(super) fn peel_not(&self, value: Value) -> (Value, bool) {
        let Some(Op::Binary(BinaryOp::Xor, _, [inner, mask])) = self.body.def_op(value) else { return (value, false) };
        let is_true = mask.constant().and_then(|id| self.ir.constants.as_int(id)) == Some(1);
        if is_true && self.type_of(value) == TypeId::I1 { (*inner, true) } else { (value, false) }
    }

    /// A constant of the width of a word.
    pub(super) fn constant(&self, vt: Vt, bits: u64) -> Operand {
        immediate(vt, bits)
    }
}
