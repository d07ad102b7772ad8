//! Loads and stores.

use super::address::Place;
use super::atomic::{ORDERED_SINCE, scope_name};
use super::build::space_name;
use super::error::Error;
use super::legal::{Vt, pieces};
use super::lower::Lower;
use super::word_table::{Part, Word};
use crate::ir::{AddressSpace, Attachment, Call, InstId, Op, Ordering, SyncScope, TypeId, Value};
use crate::machine::{Operand, RegClass, VReg};

/// The widest access, in bytes.
const MAX_ACCESS: u64 = 16;

/// How an access is made: what stands between `ld` and the type.
pub(super) struct Access {
    pub(super) place: Place,
    /// `.global`, `.relaxed.gpu.shared`…
    pub(super) words: String,
    pub(super) align: u64,
}

impl Access {
    /// An access to memory that needs no order.
    pub(super) fn plain(lower: &Lower<'_>, place: Place, align: u64) -> Result<Access, Error> {
        Ok(Access { place, words: lower.access_space(place.space)?, align })
    }
}

/// Parts of a copy that are loaded before they are stored: enough to hide some of the loads' latency.
const COPIED_AT_ONCE: usize = 4;

impl Lower<'_> {
    /// `load`
    pub(super) fn load(&mut self, inst: InstId, words: &[Word]) -> Result<(), Error> {
        let body = self.body;
        let Op::Load { ptr, align, volatile, ordering, scope } = body[inst].op else { return Ok(()) };
        let place = self.place(ptr)?;
        let shared = is_shared_by_threads(place.space);
        if shared && is_atomic(ordering, words.len()) {
            // What is sequentially consistent has a fence before it, and acquires.
            let own = if ordering == Ordering::SeqCst { Ordering::Acquire } else { ordering };
            let access = self.atomic_access(place, body[inst].ty, align, own, scope)?;
            self.order_before(ordering, scope)?;
            match *words {
                [low, high] => {
                    let whole = self.wide_reg();
                    self.op(format_args!("ld{}.b128", access.words), whole, [access.place.operand(0)])?;
                    self.split(whole, [low, high])?;
                }
                _ => self.load_words(&access, body[inst].ty, words, false)?,
            }
            return self.order_after(ordering, scope);
        }
        let strength = if volatile && shared { ".volatile".to_owned() } else { String::new() };
        let space = self.access_space(place.space)?;
        let plain = strength.is_empty();
        let constant =
            plain && place.space == AddressSpace::GLOBAL && body.attachment(inst, Attachment::InvariantLoad).is_some();
        let nc = if constant { ".nc" } else { "" };
        let access = Access { place, words: format!("{strength}{space}{nc}"), align: u64::from(align.max(1)) };
        if let Some((dst, vt, signed)) = self.extending[inst] {
            return self.load_extended(&access, words[0].vt, dst, vt, signed);
        }
        self.load_words(&access, body[inst].ty, words, plain && !volatile)
    }

    /// `ld.global.nc` or `ldu.global`: a load of what nobody writes, whose address may be spelled as generic.
    pub(super) fn constant_load(&mut self, how: &str, call: &Call, ty: TypeId, words: &[Word]) -> Result<(), Error> {
        let &[ptr, align] = call.args.as_slice() else { return Err(Error::new("constant loads without an alignment")) };
        let align = align.constant().and_then(|id| self.ir.constants.as_int(id));
        let align = align.and_then(|align| u64::try_from(align).ok()).filter(|align| align.is_power_of_two());
        let align = align.unwrap_or_else(|| u64::from(self.ir.layout.align(&self.ir.types, ty)));
        let access = Access { place: self.place(ptr)?, words: how.to_owned(), align };
        self.load_words(&access, ty, words, true)
    }

    fn access_space(&self, space: AddressSpace) -> Result<String, Error> {
        let name = space_name(space).ok_or_else(|| Error::new(format!("accesses to address space {}", space.0)))?;
        Ok(if name.is_empty() { String::new() } else { format!(".{name}") })
    }

    fn load_extended(&mut self, access: &Access, from: Vt, dst: VReg, _to: Vt, signed: bool) -> Result<(), Error> {
        let bits = from.bytes() * 8;
        let letter = if signed { 's' } else { 'u' };
        self.op(format_args!("ld{}.{letter}{bits}", access.words), dst, [access.place.operand(0)])
    }

    /// Loads the words of a type, several at once where alignment allows.
    pub(super) fn load_words(&mut self, access: &Access, ty: TypeId, words: &[Word], widen: bool) -> Result<(), Error> {
        let part = |this: &mut Self, access: &Access, ty, words: &[Word]| this.load_words(access, ty, words, widen);
        if self.each_part(access, ty, words, part)? || self.load_fields(access, ty, words)? {
            return Ok(());
        }
        let pieces = pieces(&self.ir.types, &self.ir.layout, ty)?;
        let mut at = 0;
        while at < words.len() {
            let count = if widen { run_length(&pieces[at..], access.align) } else { 1 };
            let dsts: Vec<Option<VReg>> = words[at..at + count].iter().map(|word| self.packed_dst(*word)).collect();
            let offset = pieces[at].offset;
            if dsts.iter().all(Option::is_none) && widen {
                at += count;
                continue;
            }
            let vt = words[at].vt;
            let bytes = self.store_bytes(ty, vt);
            if vt == Vt::Pred {
                self.load_predicate(access, offset, words[at])?;
            } else if bytes != vt.bytes() || access_align(access.align, offset) < u64::from(vt.bytes()) {
                self.load_by_parts(access, offset, bytes, words[at])?;
            } else if count == 1 {
                let dst = dsts[0].map_or_else(|| self.result(words[at]), Ok)?;
                let t = memory_type(&words[at..=at]);
                self.op(format_args!("ld{}.{t}", access.words), dst, [access.place.operand(offset)])?;
            } else {
                let t = memory_type(&words[at..at + count]);
                let mut items = Vec::with_capacity(count);
                for (word, dst) in words[at..at + count].iter().zip(&dsts) {
                    items.push(match dst {
                        Some(dst) => (*dst).into(),
                        None => self.result(*word)?.into(),
                    });
                }
                let operands = [Operand::Vector(items.into()), access.place.operand(offset)];
                self.emit(format_args!("ld{}.v{count}.{t}", access.words), 1, operands)?;
            }
            at += count;
        }
        Ok(())
    }

    /// Bytes that a word of a value of type `ty` has in memory: those of an integer of an odd width are fewer
    /// than those of its register.
    fn store_bytes(&self, ty: TypeId, vt: Vt) -> u32 {
        match self.ir.types.int_bits(self.ir.types.scalar(ty)) {
            Some(bits) if bits <= 64 && vt.lanes() == 1 => bits.div_ceil(8),
            _ => vt.bytes(),
        }
    }

    /// An integer of an odd width as memory has it: with zeros above.
    fn with_zeros_above(&mut self, ty: TypeId, word: Word) -> Result<Word, Error> {
        match self.ir.types.int_bits(ty) {
            Some(bits) if word.vt != Vt::Pred && !self.is_whole(ty) => self.extended(word, bits, false),
            _ => Ok(word),
        }
    }

    fn load_predicate(&mut self, access: &Access, offset: u64, word: Word) -> Result<(), Error> {
        let byte = self.value(format_args!("ld{}.u8", access.words), Vt::I16, [access.place.operand(offset)])?;
        let bit = self.value(format_args!("and.b16"), Vt::I16, [byte.into(), Operand::Imm(1)])?;
        let dst = self.result(word)?;
        self.op(format_args!("setp.ne.s16"), dst, [bit.into(), Operand::Imm(0)])
    }

    /// A word that is not aligned, or has an odd number of bytes: loaded in parts and put together.
    pub(super) fn load_by_parts(&mut self, access: &Access, offset: u64, bytes: u32, word: Word) -> Result<(), Error> {
        let whole = whole_of(word.vt);
        let mut loaded = Vec::new();
        for (at, size) in parts(access.align, offset, bytes) {
            let place = access.place.operand(offset + u64::from(at));
            loaded.push((at, self.value(format_args!("ld{}.u{}", access.words, size * 8), whole, [place])?));
        }
        self.join_parts(word, &loaded)
    }

    /// Puts a word together from its bytes: each part is a register with zeros above, and the byte where it starts.
    pub(super) fn join_parts(&mut self, word: Word, parts: &[(u32, VReg)]) -> Result<(), Error> {
        let dst = self.result(word)?;
        let whole = whole_of(word.vt);
        let mut sum: Option<VReg> = None;
        for &(at, part) in parts {
            sum = Some(match sum {
                None => part,
                Some(low) => {
                    let amount = Operand::Imm(i64::from(at * 8));
                    let high = self.value(format_args!("shl.{}", whole.untyped()), whole, [part.into(), amount])?;
                    self.value(format_args!("or.{}", whole.untyped()), whole, [low.into(), high.into()])?
                }
            });
        }
        let Some(sum) = sum else { return Ok(()) };
        match word.vt.class() {
            RegClass::Int16 => self.op(format_args!("cvt.u16.{}", whole.typed(false)), dst, [sum.into()]),
            RegClass::Int16Half => {
                let bits = self.value(format_args!("cvt.u16.{}", whole.typed(false)), Vt::I16, [sum.into()])?;
                self.copy(dst, bits);
                Ok(())
            }
            _ => {
                self.copy(dst, sum);
                Ok(())
            }
        }
    }

    /// `store`
    pub(super) fn store(&mut self, inst: InstId) -> Result<(), Error> {
        let body = self.body;
        let Op::Store { value, ptr, align, volatile, ordering, scope } = body[inst].op else { return Ok(()) };
        let place = self.place(ptr)?;
        if place.space == AddressSpace::PARAM || place.space == AddressSpace::CONSTANT {
            return Err(Error::new("stores to constant memory"));
        }
        let ty = self.type_of(value);
        let words = self.words_of(value)?;
        let shared = is_shared_by_threads(place.space);
        if shared && is_atomic(ordering, words.len()) {
            let access = self.atomic_access(place, ty, align, ordering, scope)?;
            self.order_before(ordering, scope)?;
            match words.len() {
                2 => {
                    let operands = [access.place.operand(0), self.joined(&words)?.into()];
                    self.emit(format_args!("st{}.b128", access.words), 0, operands)?;
                }
                _ => self.store_words(&access, ty, &words, false)?,
            }
            // What a later access is ordered by stands before that.
            return Ok(());
        }
        let strength = if volatile && shared { ".volatile" } else { "" };
        let space = self.access_space(place.space)?;
        let access = Access { place, words: format!("{strength}{space}"), align: u64::from(align.max(1)) };
        self.store_words(&access, ty, &words, !volatile)
    }

    /// How an atomic load or store is made: in one piece, or not at all.
    fn atomic_access(
        &self,
        place: Place,
        ty: TypeId,
        align: u32,
        ordering: Ordering,
        scope: SyncScope,
    ) -> Result<Access, Error> {
        let (types, layout) = (&self.ir.types, &self.ir.layout);
        let bytes = layout.size(types, ty);
        let words = pieces(types, layout, ty)?.len();
        let ordered = self.options.arch >= ORDERED_SINCE;
        let fits = words == 1 || types.int_bits(ty) == Some(128) && ordered;
        if u64::from(align) < bytes || !fits {
            let text = types.text(ty);
            return Err(Error::new(format!("atomic accesses to `{text}` aligned to {align} on this target")));
        }
        let scope = scope_name(scope);
        let strength = match ordering {
            _ if !ordered => ".volatile".to_owned(),
            Ordering::Acquire => format!(".acquire.{scope}"),
            Ordering::Release => format!(".release.{scope}"),
            _ => format!(".relaxed.{scope}"),
        };
        let space = self.access_space(place.space)?;
        Ok(Access { place, words: format!("{strength}{space}"), align: u64::from(align) })
    }

    /// Stores a value to a place of a known alignment.
    pub(super) fn store_value(&mut self, place: Place, value: Value, align: u64) -> Result<(), Error> {
        let access = Access::plain(self, place, align)?;
        let words = self.words_of(value)?;
        self.store_words(&access, self.type_of(value), &words, true)
    }

    /// Stores the words of a type, several at once where alignment allows.
    fn store_words(&mut self, access: &Access, ty: TypeId, words: &[Word], widen: bool) -> Result<(), Error> {
        let part = |this: &mut Self, access: &Access, ty, words: &[Word]| this.store_words(access, ty, words, widen);
        if self.each_part(access, ty, words, part)? || self.store_fields(access, ty, words)? {
            return Ok(());
        }
        let pieces = pieces(&self.ir.types, &self.ir.layout, ty)?;
        let mut at = 0;
        while at < words.len() {
            let count = if widen { run_length(&pieces[at..], access.align) } else { 1 };
            let offset = pieces[at].offset;
            let word = self.with_zeros_above(ty, words[at])?;
            let bytes = self.store_bytes(ty, word.vt);
            if word.vt == Vt::Pred {
                let predicate = self.reg(word)?;
                let args = [Operand::Imm(1), Operand::Imm(0), predicate.into()];
                let byte = self.value(format_args!("selp.b16"), Vt::I16, args)?;
                self.emit(format_args!("st{}.b8", access.words), 0, [access.place.operand(offset), byte.into()])?;
            } else if bytes != word.vt.bytes() || access_align(access.align, offset) < u64::from(word.vt.bytes()) {
                self.store_by_parts(access, offset, bytes, word)?;
            } else if count == 1 {
                let t = memory_type(&words[at..=at]);
                let operands = [access.place.operand(offset), self.bits_src(word)?];
                self.emit(format_args!("st{}.{t}", access.words), 0, operands)?;
            } else {
                let t = memory_type(&words[at..at + count]);
                let mut items = Vec::with_capacity(count);
                for word in &words[at..at + count] {
                    items.push(Operand::from(self.reg(*word)?));
                }
                let operands = [access.place.operand(offset), Operand::Vector(items.into())];
                self.emit(format_args!("st{}.v{count}.{t}", access.words), 0, operands)?;
            }
            at += count;
        }
        Ok(())
    }

    pub(super) fn store_by_parts(&mut self, access: &Access, offset: u64, bytes: u32, word: Word) -> Result<(), Error> {
        for (at, t, value) in self.split_word_in_parts(access.align, offset, bytes, word)? {
            let place = access.place.operand(offset + u64::from(at));
            self.emit(format_args!("st{}.{t}", access.words), 0, [place, value])?;
        }
        Ok(())
    }

    /// The parts of a word that is stored where it is not aligned: the byte where each starts, its type, and the value.
    pub(super) fn split_word_in_parts(
        &mut self,
        align: u64,
        offset: u64,
        bytes: u32,
        word: Word,
    ) -> Result<Vec<(u32, &'static str, Operand)>, Error> {
        let lane = word.vt.lane();
        let mut out = Vec::new();
        if word.vt.lanes() > 1 && access_align(align, offset) >= u64::from(lane.bytes()) {
            let lanes = self.lanes(word);
            for (at, part) in (0..).zip(&lanes[..word.vt.lanes()]) {
                out.push((at * lane.bytes(), lane.memory(), self.bits_src(Word { vt: lane, part: *part })?));
            }
            return Ok(out);
        }
        let whole = whole_of(word.vt);
        let src = self.reg(word)?;
        let source = match word.vt.class() {
            RegClass::Int16 => self.value(format_args!("cvt.u32.u16"), Vt::I32, [src.into()])?,
            RegClass::Int16Half => {
                let bits = self.copied(Vt::I16, src);
                self.value(format_args!("cvt.u32.u16"), Vt::I32, [bits.into()])?
            }
            class if class == whole.class() => src,
            _ => self.copied(whole, src),
        };
        for (at, size) in parts(align, offset, bytes) {
            let shifted = match at {
                0 => source,
                _ => {
                    let amount = Operand::Imm(i64::from(at * 8));
                    self.value(format_args!("shr.{}", whole.typed(false)), whole, [source.into(), amount])?
                }
            };
            let t = match size {
                1 => "b8",
                2 => "b16",
                4 => "b32",
                _ => "b64",
            };
            out.push((at, t, shifted.into()));
        }
        Ok(out)
    }

    /// The bits of a register in one of another class.
    pub(super) fn copied(&mut self, vt: Vt, source: VReg) -> VReg {
        let bits = self.new_reg(vt);
        self.demand(Part::Reg(bits));
        self.copy(bits, source);
        bits
    }

    /// Copies the words of a type from one place to another.
    pub(super) fn copy_memory(&mut self, from: Place, to: Place, bytes: u64, align: u64) -> Result<(), Error> {
        self.copy_in_turns(from, to, bytes, align, COPIED_AT_ONCE)
    }

    /// Copies bytes that may overlap: all are loaded before the first is stored.
    pub(super) fn move_memory(&mut self, from: Place, to: Place, bytes: u64, align: u64) -> Result<(), Error> {
        self.copy_in_turns(from, to, bytes, align, usize::MAX)
    }

    /// Loads up to `turn` parts, stores them, and goes on with the next ones.
    fn copy_in_turns(&mut self, from: Place, to: Place, bytes: u64, align: u64, turn: usize) -> Result<(), Error> {
        let (source, target) = (self.access_space(from.space)?, self.access_space(to.space)?);
        let mut loaded: Vec<(u64, u64, Operand)> = Vec::new();
        let mut done = 0;
        while done < bytes {
            let part = match copy_part(align, done, bytes - done) {
                8 if access_align(align, done) >= 16 && bytes - done >= 16 => 16,
                part => part,
            };
            loaded.push((done, part, self.load_part(&source, from, done, part)?));
            done += part;
            if loaded.len() >= turn || done >= bytes {
                for (at, part, value) in loaded.drain(..) {
                    self.store_part(&target, to, at, part, value)?;
                }
            }
        }
        Ok(())
    }

    /// Loads 1, 2, 4, 8 or 16 bytes, the latter as two words.
    fn load_part(&mut self, space: &str, from: Place, at: u64, part: u64) -> Result<Operand, Error> {
        if part < 16 {
            let vt = if part == 8 { Vt::I64 } else { Vt::I32 };
            return Ok(self.value(format_args!("ld{space}.b{}", part * 8), vt, [from.operand(at)])?.into());
        }
        let words: Vec<Operand> = (0..2).map(|_| self.demanded_reg(Vt::I64).into()).collect();
        let value = Operand::Vector(words.into());
        self.emit(format_args!("ld{space}.v2.b64"), 1, [value.clone(), from.operand(at)])?;
        Ok(value)
    }

    fn store_part(&mut self, space: &str, to: Place, at: u64, part: u64, value: Operand) -> Result<(), Error> {
        let operands = [to.operand(at), value];
        match part {
            16 => self.emit(format_args!("st{space}.v2.b64"), 0, operands),
            _ => self.emit(format_args!("st{space}.b{}", part * 8), 0, operands),
        }
    }

    /// Fills memory with a byte, spread over 64 bits.
    pub(super) fn fill_memory(&mut self, to: Place, pattern: Word, bytes: u64, align: u64) -> Result<(), Error> {
        let target = self.access_space(to.space)?;
        let whole = self.src(pattern)?;
        let mut done = 0;
        while done < bytes {
            let part = copy_part(align, done, bytes - done);
            let own = match pattern.part {
                Part::Bits(bits) => Operand::Imm((bits & (u64::MAX >> (64 - 8 * part))) as i64),
                _ => whole.clone(),
            };
            self.emit(format_args!("st{target}.b{}", part * 8), 0, [to.operand(done), own])?;
            done += part;
        }
        Ok(())
    }
}

/// True for accesses that PTX must know to be atomic. An `unordered` one only must not be torn.
fn is_atomic(ordering: Ordering, words: usize) -> bool {
    ordering > Ordering::Unordered || ordering == Ordering::Unordered && words > 1
}

/// True for memory that others may read and write while a thread does: elsewhere `volatile` says nothing to PTX.
const fn is_shared_by_threads(space: AddressSpace) -> bool {
    matches!(space, AddressSpace::GENERIC | AddressSpace::GLOBAL | AddressSpace::SHARED | AddressSpace::SHARED_CLUSTER)
}

/// The alignment of the bytes at `offset` behind an address aligned to `align`.
pub(super) fn access_align(align: u64, offset: u64) -> u64 {
    if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) }
}

/// The parts by which `bytes` bytes are moved, `offset` bytes behind an address of the alignment: first byte and size of each.
pub(super) fn parts(align: u64, offset: u64, bytes: u32) -> impl Iterator<Item = (u32, u32)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = done;
        (at < bytes).then(|| {
            let size = part_size(access_align(align, offset + u64::from(at)), bytes - at);
            done += size;
            (at, size)
        })
    })
}

/// The integer by which a word is moved in parts.
pub(super) fn whole_of(vt: Vt) -> Vt {
    if vt.bits() == 64 { Vt::I64 } else { Vt::I32 }
}

/// The largest power of two that is aligned and not longer than what is left.
fn part_size(align: u64, left: u32) -> u32 {
    let fitting = 1 << left.ilog2();
    (align.min(8) as u32).min(fitting)
}

/// How many bytes a copy moves by one word, `done` bytes behind an address of the alignment.
pub(super) fn copy_part(align: u64, done: u64, left: u64) -> u64 {
    u64::from(part_size(access_align(align, done), left.min(8) as u32))
}

/// How many words from the first on one access takes: 4, 2 or 1 of the same width, one after the other.
pub(super) fn run_length(pieces: &[super::legal::Piece], align: u64) -> usize {
    let first = pieces[0];
    let size = u64::from(first.vt.bytes());
    if matches!(first.vt, Vt::Pred) {
        return 1;
    }
    for count in [4usize, 2] {
        let fits = count <= pieces.len() && size * count as u64 <= MAX_ACCESS;
        let aligned = access_align(align, first.offset) >= size * count as u64;
        let mut run = pieces[..count.min(pieces.len())].iter().enumerate();
        if fits
            && aligned
            && run.all(|(at, piece)| {
                u64::from(piece.vt.bytes()) == size
                    && piece.vt != Vt::Pred
                    && piece.offset == first.offset + at as u64 * size
            })
        {
            return count;
        }
    }
    1
}

/// The type of an access to words of one width: theirs, or bits when they differ.
pub(super) fn memory_type(words: &[Word]) -> &'static str {
    let first = words[0].vt;
    if first == Vt::I8 {
        return "u8";
    }
    match words.iter().all(|word| word.vt == first) {
        true => first.memory(),
        false => first.untyped(),
    }
}
